//! Plain sum: the number of defined pixels, and their sum. The cheapest reduction, and the reference for the speed of
//! others.

#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

use crate::common_value::Common;
use crate::compensated::Unit;
use crate::fold::{Accumulator, add_lanes, fold};
use crate::integers::IntegerMoments;
use crate::isa::{self, Kernel, Tier};
use crate::pixel::PixelType;
use crate::source::{Encoding, Source, Visitor};
use crate::total::{Total, in_unit};
use crate::{LANES, LEAF_PIXELS};

/// Mergeable state of a plain sum.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, Sum, Tier};
/// let bytes: Vec<u8> = [1.5f32, f32::NAN, 2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
/// let mut sum = Sum::default();
/// sum.accumulate(&bytes, &Encoding::plain(PixelType::F32), Tier::SCALAR);
/// assert_eq!((sum.count, sum.nan, sum.sum.value()), (2, 1, 3.5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Number of defined pixels.
    pub count: u64,
    /// Number of pixels that are NaN or BLANK.
    pub nan: u64,
    /// Sum of the defined pixels: in sixteen lanes within a leaf, compensated between leaves. For integers of up to 16
    /// bits it is exact, and scaled once per call.
    pub sum: Total,
    /// Common value of the defined pixels; not computed if their sum is exact.
    pub common: Common,
}

impl Sum {
    /// Adds the pixels of `bytes`, leaf by leaf. Trailing bytes that do not fill a pixel are ignored.
    pub fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        if encoding.is_scaled()
            && let Some(moments) = IntegerMoments::of(bytes, encoding, tier)
        {
            self.count += moments.count;
            self.nan += moments.undefined;
            self.sum.merge(moments.scaled_sum(encoding).into());
            self.common = self.common.merge(moments.common(encoding));
            return;
        }
        let mut holes = Holes::default();
        for leaf in bytes.chunks(LEAF_PIXELS * encoding.pixel_bytes()) {
            let pixels = (leaf.len() / encoding.pixel_bytes()) as u64;
            if !encoding.pixel.is_float()
                && let Some(sum) = encoding.visit(ExactSum { leaf, tier })
            {
                self.count += pixels;
                self.sum.add(sum);
                continue;
            }
            self.common.accumulate(leaf, encoding, tier);
            let all = || add_lanes(&fold(leaf, encoding, tier, AllLanes::default()).sum);
            let defined = || fold(leaf, encoding, tier, DefinedLanes::default()).count_and_sum();
            let (count, sum) = holes.count_and_sum(pixels, all, defined);
            self.count += count;
            self.nan += pixels - count;
            self.sum.merge(Total::of_leaf(sum, || large_sum(leaf, encoding, tier)));
        }
    }

    /// Merges the state of later pixels.
    pub fn merge(&mut self, later: &Sum) {
        self.count += later.count;
        self.nan += later.nan;
        self.sum.merge(later.sum);
        self.common = self.common.merge(later.common);
    }
}

/// Sums a leaf in large units.
#[cold]
pub(crate) fn large_sum(leaf: &[u8], encoding: &Encoding, tier: Tier) -> f64 {
    let large = in_unit(leaf, encoding, tier, Unit::Large);
    let encoding = Encoding::plain(PixelType::F64);
    fold(&large, &encoding, tier, DefinedLanes::default()).count_and_sum().1
}

/// Sums a leaf of integers as integers, if that is exact.
struct ExactSum<'a> {
    leaf: &'a [u8],
    tier: Tier,
}

impl Visitor for ExactSum<'_> {
    type Output = Option<f64>;
    fn visit<S: Source>(self, source: S) -> Option<f64> {
        isa::dispatch(self.tier, ExactKernel { leaf: self.leaf, source })
    }
}

pub(crate) struct ExactKernel<'a, S> {
    leaf: &'a [u8],
    source: S,
}

impl<S: Source> Kernel for ExactKernel<'_, S> {
    type Output = Option<f64>;

    #[inline(always)]
    fn run(self) -> Option<f64> {
        self.source.exact_sum(self.leaf)
    }
}

/// Whether the previous leaf had undefined pixels, so that the next one probably has some. The guess only affects time:
/// both ways of summing a leaf give the same bits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Holes {
    pub(crate) expected: bool,
}

impl Holes {
    /// Returns count and sum of the defined pixels of a leaf: `all` sums as if every pixel were defined, `defined`
    /// checks each pixel.
    #[inline]
    pub(crate) fn count_and_sum(
        &mut self,
        pixels: u64,
        all: impl FnOnce() -> f64,
        defined: impl FnOnce() -> (u64, f64),
    ) -> (u64, f64) {
        if !self.expected {
            let sum = all();
            // An undefined pixel makes the sum NaN. So do infinities of both signs, which then only cost time.
            if !sum.is_nan() {
                return (pixels, sum);
            }
        }
        let (count, sum) = defined();
        self.expected = count < pixels;
        (count, sum)
    }
}

/// Sums in lanes.
pub(crate) trait LaneSums: Accumulator + Default {
    /// Whether each pixel is checked for NaN.
    const ASKS: bool;
    /// Returns lanes with these counts and sums.
    fn of(count: [u64; LANES], sum: [f64; LANES]) -> Self;
}

impl LaneSums for AllLanes {
    const ASKS: bool = false;
    #[inline(always)]
    fn of(_count: [u64; LANES], sum: [f64; LANES]) -> AllLanes {
        AllLanes { sum }
    }
}

impl LaneSums for DefinedLanes {
    const ASKS: bool = true;
    #[inline(always)]
    fn of(count: [u64; LANES], sum: [f64; LANES]) -> DefinedLanes {
        DefinedLanes { count, sum }
    }
}

/// Sums as if every pixel were defined. An undefined pixel makes its lane NaN, and the leaf is summed again: checking
/// each pixel of a leaf without NaN costs more than the sum.
#[derive(Clone, Copy, Default)]
pub(crate) struct AllLanes {
    pub(crate) sum: [f64; LANES],
}

impl Accumulator for AllLanes {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        for lane in 0..x.len() {
            self.sum[lane] += x[lane];
        }
    }

    #[inline(always)]
    fn sums(&mut self) -> Option<&mut [f64; LANES]> {
        Some(&mut self.sum)
    }
}

/// Counts and sums of the defined pixels.
#[derive(Clone, Copy, Default)]
pub(crate) struct DefinedLanes {
    pub(crate) count: [u64; LANES],
    pub(crate) sum: [f64; LANES],
}

impl DefinedLanes {
    pub(crate) fn count_and_sum(&self) -> (u64, f64) {
        (self.count.iter().sum(), add_lanes(&self.sum))
    }
}

impl Accumulator for DefinedLanes {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        for lane in 0..x.len() {
            self.count[lane] = self.count[lane].wrapping_add(u64::from(!x[lane].is_nan()));
        }
        for lane in 0..x.len() {
            let sum = self.sum[lane] + x[lane];
            self.sum[lane] = if x[lane].is_nan() { self.sum[lane] } else { sum };
        }
    }

    #[inline(always)]
    fn sums(&mut self) -> Option<&mut [f64; LANES]> {
        Some(&mut self.sum)
    }
}
