//! Exact moments of integers of up to 16 bits: the sum and the sum of squares of the stored values are integers, scaled
//! once for all pixels of a call. A single pass over vectors of 16-bit numbers is enough, and the order of addition
//! does not matter.
//!
//! The low and high bytes of the values are added separately, so that the sums of a leaf fit in 16 bits. Neighbours are
//! multiplied and added in pairs, one instruction on x86-64; the 32-bit results are added in separate halves as well.

#![expect(clippy::needless_range_loop, reason = "indexed loops become vector code on every tier")]

use crate::LEAF_PIXELS;
use crate::common_value::Common;
use crate::compensated::Compensated;
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, SHORTS, Source, Visitor};

const PAIRS: usize = SHORTS / 2;

const _: () =
    assert!(LEAF_PIXELS / SHORTS * 0xff <= u16::MAX as usize, "lanes have room for a leaf");

/// Range of scales that keep the products and squares of 16-bit numbers far from overflow and underflow.
const LEAST_SCALE: f64 = 1e-100;
const GREATEST_SCALE: f64 = 1e100;

impl Encoding {
    /// Whether pixels have exact moments: integers of up to 16 bits with a moderate scale or none.
    pub(crate) fn has_exact_moments(&self) -> bool {
        let (scale, zero) = self.scaling.unwrap_or((1.0, 0.0));
        let usual = (LEAST_SCALE..=GREATEST_SCALE).contains(&scale.abs());
        self.pixel_bytes() <= 2 && usual && zero.abs() <= GREATEST_SCALE
    }
}

/// Result of a pass over stored values, without undefined pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IntegerMoments {
    pub(crate) count: u64,
    pub(crate) undefined: u64,
    sum: i64,
    squares: i128,
    /// Least and greatest value; `min > max` if no pixel is defined.
    min: i16,
    max: i16,
    /// Index of the first pixel of the leaf where the physical value of `min` occurs first.
    min_leaf: usize,
    max_leaf: usize,
}

impl IntegerMoments {
    const NONE: IntegerMoments = IntegerMoments {
        count: 0,
        undefined: 0,
        sum: 0,
        squares: 0,
        min: i16::MAX,
        max: i16::MIN,
        min_leaf: 0,
        max_leaf: 0,
    };

    /// Returns the moments of all pixels of `bytes`, if they can be computed exactly.
    pub(crate) fn of(bytes: &[u8], encoding: &Encoding, tier: Tier) -> Option<IntegerMoments> {
        encoding
            .has_exact_moments()
            .then(|| encoding.visit(IntegersOnBytes { bytes, encoding, tier }))
    }

    /// Adds one pixel.
    fn add(&mut self, pixel: i16, blank: Option<i16>) {
        if blank == Some(pixel) {
            self.undefined += 1;
            return;
        }
        self.count += 1;
        self.sum += i64::from(pixel);
        self.squares += i128::from(pixel) * i128::from(pixel);
        self.min = self.min.min(pixel);
        self.max = self.max.max(pixel);
    }

    /// Merges the moments of a later leaf, whose first pixel has the index `leaf`. Different stored values may have the
    /// same physical value.
    fn merge(&mut self, later: &IntegerMoments, leaf: usize, encoding: &Encoding) {
        let value = |pixel| scaled(pixel, encoding);
        if later.count > 0 {
            let first = self.count == 0;
            if first || (later.min < self.min && value(later.min) != value(self.min)) {
                self.min_leaf = leaf;
            }
            if first || (later.max > self.max && value(later.max) != value(self.max)) {
                self.max_leaf = leaf;
            }
        }
        self.count += later.count;
        self.undefined += later.undefined;
        self.sum += later.sum;
        self.squares += later.squares;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
    }

    /// Returns the sum of physical values: scale times sum plus zero times count, each product exact as two numbers,
    /// added with compensation.
    pub(crate) fn scaled_sum(&self, encoding: &Encoding) -> Compensated {
        let (scale, zero) = encoding.scaling.unwrap_or((1.0, 0.0));
        let (_, flip) = encoding.pixel.in_f64();
        let count = self.count as f64;
        let sum = self.sum as f64 + count * flip;
        let products = [scale * sum, zero * count];
        let rounded = [scale.mul_add(sum, -products[0]), zero.mul_add(count, -products[1])];
        let mut total = Compensated::default();
        products.into_iter().chain(rounded).for_each(|term| total.add(term));
        total
    }

    /// Returns the sum of squared differences of physical values from their mean.
    pub(crate) fn scaled_squares(&self, encoding: &Encoding) -> f64 {
        let (scale, _) = encoding.scaling.unwrap_or((1.0, 0.0));
        let (count, sum) = (i128::from(self.count), i128::from(self.sum));
        let spread = count * self.squares - sum * sum;
        scale * (scale * (spread as f64 / self.count as f64))
    }

    /// Returns the least and the greatest physical value, each with the index of the first pixel of the leaf where it
    /// occurs first. Meaningful only if pixels are defined.
    pub(crate) fn scaled_extremes(&self, encoding: &Encoding) -> [(f64, usize); 2] {
        let low = (scaled(self.min, encoding), self.min_leaf);
        let high = (scaled(self.max, encoding), self.max_leaf);
        let is_reversed = encoding.scaling.is_some_and(|(scale, _)| scale < 0.0);
        if is_reversed { [high, low] } else { [low, high] }
    }

    /// Returns the common physical value, if there is one.
    pub(crate) fn common(&self, encoding: &Encoding) -> Common {
        let [(min, _), (max, _)] = self.scaled_extremes(encoding);
        if self.count == 0 { Common::Unknown } else { Common::Value(min).and(max) }
    }
}

/// Converts a stored value to its physical value, as a [`Source`] does.
fn scaled(pixel: i16, encoding: &Encoding) -> f64 {
    let (scale, zero) = encoding.scaling.unwrap_or((1.0, 0.0));
    let (_, flip) = encoding.pixel.in_f64();
    zero + scale * (f64::from(pixel) + flip)
}

struct IntegersOnBytes<'a> {
    bytes: &'a [u8],
    encoding: &'a Encoding,
    tier: Tier,
}

impl Visitor for IntegersOnBytes<'_> {
    type Output = IntegerMoments;
    fn visit<S: Source>(self, source: S) -> IntegerMoments {
        let mut moments = IntegerMoments::NONE;
        if S::IS_SHORT {
            for (number, leaf) in self.bytes.chunks(LEAF_PIXELS * S::BYTES).enumerate() {
                let later = isa::dispatch(self.tier, IntegerKernel { leaf, source });
                moments.merge(&later, number * LEAF_PIXELS, self.encoding);
            }
        }
        moments
    }
}

/// Kernel of the pass over a leaf.
pub(crate) struct IntegerKernel<'a, S> {
    leaf: &'a [u8],
    source: S,
}

impl<S: Source> Kernel for IntegerKernel<'_, S> {
    type Output = IntegerMoments;

    #[inline(always)]
    fn run(self) -> IntegerMoments {
        let IntegerKernel { leaf, source } = self;
        match source.short_blank() {
            Some(blank) => fold::<S, true>(leaf, source, blank),
            None => fold::<S, false>(leaf, source, 0),
        }
    }
}

#[inline(always)]
fn fold<S: Source, const BLANKS: bool>(leaf: &[u8], source: S, blank: i16) -> IntegerMoments {
    let mut lanes = IntegerLanes::NONE;
    let chunks = leaf.chunks_exact(2 * S::CHUNK);
    let rest = chunks.remainder();
    for chunk in chunks {
        isa::prefetch(chunk, isa::PAGE_AHEAD);
        lanes.step::<BLANKS>(&source.shorts(chunk), blank);
    }
    // A copy, so that the lanes themselves stay in registers.
    let IntegerLanes { undefined, low_bytes, high_bytes, low_squares, high_squares, min, max } =
        lanes;
    let mut moments =
        IntegerLanes { undefined, low_bytes, high_bytes, low_squares, high_squares, min, max }
            .joined();
    moments.count = ((leaf.len() - rest.len()) / S::BYTES) as u64 - moments.undefined;
    if !rest.is_empty() {
        let mut padded = [0; 2 * SHORTS];
        padded[..rest.len()].copy_from_slice(rest);
        let pixels = source.shorts(&padded[..2 * S::CHUNK]);
        let blank = BLANKS.then_some(blank);
        pixels[..rest.len() / S::BYTES].iter().for_each(|&pixel| moments.add(pixel, blank));
    }
    moments
}

/// Moments in lanes.
struct IntegerLanes {
    undefined: [i16; SHORTS],
    low_bytes: [u16; SHORTS],
    high_bytes: [i16; SHORTS],
    low_squares: [u32; PAIRS],
    high_squares: [u32; PAIRS],
    min: [i16; SHORTS],
    max: [i16; SHORTS],
}

impl IntegerLanes {
    const NONE: IntegerLanes = IntegerLanes {
        undefined: [0; SHORTS],
        low_bytes: [0; SHORTS],
        high_bytes: [0; SHORTS],
        low_squares: [0; PAIRS],
        high_squares: [0; PAIRS],
        min: [i16::MAX; SHORTS],
        max: [i16::MIN; SHORTS],
    };

    #[inline(always)]
    fn step<const BLANKS: bool>(&mut self, pixels: &[i16; SHORTS], blank: i16) {
        let mut values = *pixels;
        let mut undefined = [false; SHORTS];
        for lane in 0..SHORTS {
            undefined[lane] = BLANKS & (pixels[lane] == blank);
            values[lane] = if undefined[lane] { 0 } else { pixels[lane] };
            self.undefined[lane] += i16::from(undefined[lane]);
        }
        for lane in 0..SHORTS {
            let min = self.min[lane].min(pixels[lane]);
            self.min[lane] = if undefined[lane] { self.min[lane] } else { min };
        }
        for lane in 0..SHORTS {
            let max = self.max[lane].max(pixels[lane]);
            self.max[lane] = if undefined[lane] { self.max[lane] } else { max };
        }
        for lane in 0..SHORTS {
            self.low_bytes[lane] += (values[lane] & 0xff) as u16;
        }
        for lane in 0..SHORTS {
            self.high_bytes[lane] += values[lane] >> 8;
        }
        for pair in 0..PAIRS {
            let (x, y) = (i32::from(values[2 * pair]), i32::from(values[2 * pair + 1]));
            // At most 2^31, which fits in 32 bits without sign.
            let squares = (x * x).wrapping_add(y * y) as u32;
            self.low_squares[pair] += squares & 0xffff;
            self.high_squares[pair] += squares >> 16;
        }
    }

    /// Merges the lanes. A separate function, because the compiler would otherwise carry the order of this addition
    /// into the loop of the caller.
    #[inline(never)]
    fn joined(&self) -> IntegerMoments {
        let mut moments = IntegerMoments::NONE;
        for lane in 0..SHORTS {
            moments.undefined += self.undefined[lane] as u64;
            moments.min = moments.min.min(self.min[lane]);
            moments.max = moments.max.max(self.max[lane]);
        }
        let low: i64 = self.low_bytes.iter().map(|&sum| i64::from(sum)).sum();
        let high: i64 = self.high_bytes.iter().map(|&sum| i64::from(sum)).sum();
        moments.sum = low + (high << 8);
        let total = |halves: &[u32; PAIRS]| halves.iter().map(|&half| u64::from(half)).sum::<u64>();
        moments.squares = (total(&self.low_squares) + (total(&self.high_squares) << 16)).into();
        moments
    }
}

/// Returns the address of the code of the pass over scaled i16.
#[cfg(target_arch = "x86_64")]
pub(crate) fn address(tier: Tier) -> Option<usize> {
    struct Address(Tier);
    impl Visitor for Address {
        type Output = Option<usize>;
        fn visit<S: Source>(self, _: S) -> Option<usize> {
            isa::address::<IntegerKernel<'static, S>>(self.0)
        }
    }
    let encoding = Encoding { blank: Some(0), ..Encoding::plain(crate::PixelType::I16) };
    encoding.visit(Address(tier))
}
