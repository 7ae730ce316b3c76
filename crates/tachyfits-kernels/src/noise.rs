//! Noise of a tile, measured as CFITSIO does to choose the quantisation step: from medians of differences between
//! neighbouring pixels, which ignore slopes and sources.
//!
//! The search for a median begins with the few differences close to the median of the row before, and falls back to all
//! differences. Ignored differences have keys below all others, so no loop has to drop them.

use std::collections::TryReserveError;

use crate::isa::{self, Kernel, Tier};

/// Range and noise of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Least defined pixel; infinite if no pixel is defined.
    pub least: f64,
    /// Greatest defined pixel.
    pub greatest: f64,
    /// Number of pixels that are not NaN.
    pub defined: usize,
    /// Whether some pixels are infinite.
    pub has_infinite: bool,
    /// Standard deviation of the noise: the least nonzero value of three estimates, or 0.
    pub deviation: f64,
}

/// Factors from the medians of the three differences to standard deviations, for normally distributed noise.
const SCALES: [f64; 3] = [1.048_357_9, 0.605_269_7, 0.177_204_8];

/// Pixels spanned by the widest difference.
const SPAN: usize = 9;

/// Lanes that each keep their own extremes. Their number determines which of 0.0 and -0.0 is returned.
const LANES: usize = 16;

/// Relative distance from the previous row's median that the quick search covers: medians of 1000 differences vary by 4
/// per cent.
const NEAR: f64 = 0.125;

/// Pixel type whose noise can be measured. Differences are computed in the type itself.
pub trait NoisePixel: Copy + PartialEq + Sealed {
    /// Sort key of a difference.
    type Key: NoiseKey;
    /// Whether the pixel is not NaN.
    fn is_defined(self) -> bool;
    /// Returns the value.
    fn value(self) -> f64;
    /// Returns the keys of |d - c|, |2c - b - d| and |6c - 4b - 4d + a + e|, for pixels two apart.
    fn differences(pixels: [Self; 5]) -> [Self::Key; 3];
}

/// Sort key of a difference: its bits, which have the order of the differences. A negative key means no difference.
pub trait NoiseKey: Copy + Default + Ord + Sealed {
    /// Key that means no difference.
    const NONE: Self;
    /// Returns the key of a difference, rounded to the type.
    fn of(difference: f64) -> Self;
    /// Returns the difference.
    fn value(self) -> f64;
    /// Interpolates between this key and a greater one; `share` is from 0 to 1.
    fn towards(self, last: Self, share: f64) -> Self;
    /// Increments a counter of keys if the condition is true.
    fn plus(self, condition: bool) -> Self;
    /// Returns the value of a counter of keys.
    fn count(self) -> usize;
}

/// Prevents implementations outside this crate.
pub trait Sealed {}

macro_rules! keys {
    ($($key:ty, $bits:ty, $float:ty;)+) => {$(
        impl Sealed for $key {}
        impl NoiseKey for $key {
            const NONE: Self = -1;

            #[inline(always)]
            fn of(difference: f64) -> Self {
                (difference as $float).to_bits() as $key
            }

            #[inline(always)]
            fn value(self) -> f64 {
                <$float>::from_bits(self as $bits).into()
            }

            #[inline(always)]
            fn towards(self, last: Self, share: f64) -> Self {
                self + ((last - self) as f64 * share) as $key
            }

            #[inline(always)]
            fn plus(self, condition: bool) -> Self {
                self + <$key>::from(condition)
            }

            #[inline(always)]
            fn count(self) -> usize {
                self as usize
            }
        }
    )+};
}
keys! { i32, u32, f32; i64, u64, f64; }

macro_rules! floats {
    ($($float:ty, $key:ty;)+) => {$(
        impl Sealed for $float {}
        impl NoisePixel for $float {
            type Key = $key;

            #[inline(always)]
            fn is_defined(self) -> bool {
                !self.is_nan()
            }

            #[inline(always)]
            fn value(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn differences([a, b, c, d, e]: [Self; 5]) -> [$key; 3] {
                let fifth = 6.0 * c - 4.0 * b - 4.0 * d + a + e;
                [c - d, 2.0 * c - b - d, fifth].map(|difference| difference.abs().to_bits() as $key)
            }
        }
    )+};
}
floats! { f32, i32; f64, i64; }

impl NoisePixel for i32 {
    type Key = i64;

    #[inline(always)]
    fn is_defined(self) -> bool {
        true
    }

    #[inline(always)]
    fn value(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn differences(pixels: [Self; 5]) -> [i64; 3] {
        let [a, b, c, d, e] = pixels.map(i64::from);
        let all = [c - d, 2 * c - b - d, 6 * c - 4 * b - 4 * d + a + e];
        all.map(|difference| NoiseKey::of(difference.abs() as f64))
    }
}

/// Measures noise. It reuses memory, and the medians of one row speed up the next one; results do not depend on earlier
/// pixels.
#[derive(Clone, Debug)]
pub struct NoiseMeter<P: NoisePixel> {
    /// Pixels of a row that are not NaN.
    defined: Vec<P>,
    /// Keys of a row's differences, per kind of difference.
    keys: [Vec<P::Key>; 3],
    /// Keys close to the expected median.
    near: Vec<P::Key>,
    /// Medians of the rows, per kind of difference.
    medians: [Vec<f64>; 3],
    /// Median of the previous row, per kind of difference.
    expected: [Option<f64>; 3],
}

impl<P: NoisePixel> Default for NoiseMeter<P> {
    fn default() -> Self {
        NoiseMeter {
            defined: Vec::new(),
            keys: Default::default(),
            near: Vec::new(),
            medians: Default::default(),
            expected: [None; 3],
        }
    }
}

impl<P: NoisePixel> NoiseMeter<P> {
    /// Reserves memory for measuring `pixels` pixels in rows of `row`, so that too little memory is an error.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn reserve(&mut self, pixels: usize, row: usize) -> Result<(), TryReserveError> {
        let row = if row < SPAN { pixels.max(1) } else { row };
        let longest = row.min(pixels);
        self.defined.clear();
        self.defined.try_reserve_exact(longest)?;
        for keys in self.keys.iter_mut().chain([&mut self.near]) {
            keys.try_reserve_exact((longest + 1).saturating_sub(keys.len()))?;
        }
        for medians in &mut self.medians {
            medians.clear();
            medians.try_reserve_exact(pixels.div_ceil(row))?;
        }
        Ok(())
    }

    /// Measures pixels in rows of `row` pixels.
    ///
    /// # Panics
    /// If `row` is 0.
    ///
    /// ```
    /// use tachyfits_kernels::{NoiseMeter, Tier};
    /// let mut meter = NoiseMeter::default();
    /// let alternating: Vec<f32> = (0..100).map(|at| if at % 4 < 2 { 5.0 } else { 9.0 }).collect();
    /// let found = meter.measure(&alternating, 50, Tier::SCALAR);
    /// assert_eq!((found.least, found.greatest, found.defined), (5.0, 9.0, 100));
    /// assert_eq!(meter.measure(&[1.5f32; 100], 50, Tier::SCALAR).deviation, 0.0);
    /// ```
    pub fn measure(&mut self, pixels: &[P], row: usize, tier: Tier) -> Noise {
        let mut range = Range::none();
        self.medians.iter_mut().for_each(Vec::clear);
        // Pixels in rows too short for a difference count as one row.
        let row = if row < SPAN { pixels.len().max(1) } else { row };
        for row in pixels.chunks(row) {
            let of_row = isa::dispatch(tier, RangeKernel { pixels: row });
            range.merge(of_row);
            if of_row.defined == row.len() {
                self.measure_row(row, tier);
                continue;
            }
            let mut defined = std::mem::take(&mut self.defined);
            defined.clear();
            defined.extend(row.iter().copied().filter(|pixel| pixel.is_defined()));
            self.measure_row(&defined, tier);
            self.defined = defined;
        }
        let [second, third, fifth] =
            std::array::from_fn(|kind| SCALES[kind] * middle(&mut self.medians[kind]));
        let deviation = [second, fifth]
            .into_iter()
            .fold(third, |least, other| if other != 0.0 && other < least { other } else { least });
        let Range { least, greatest, defined } = range;
        let has_infinite = least == f64::NEG_INFINITY || greatest == f64::INFINITY;
        Noise { least, greatest, defined, has_infinite, deviation }
    }

    /// Adds the medians of the differences of a row without NaN.
    fn measure_row(&mut self, row: &[P], tier: Tier) {
        let Some(count) = row.len().checked_sub(SPAN - 1).filter(|&count| count > 0) else {
            return;
        };
        for keys in &mut self.keys {
            // Within the reserved capacity.
            keys.resize(count.max(keys.len()), P::Key::NONE);
        }
        // Within the reserved capacity.
        self.near.resize((count + 1).max(self.near.len()), P::Key::NONE);
        let keys = self.keys.each_mut().map(|keys| &mut keys[..count]);
        let none = isa::dispatch(tier, DifferenceKernel { pixels: row, keys });
        for (kind, none) in none.into_iter().enumerate() {
            if none == count {
                continue;
            }
            // The lower of the two middle differences.
            let rank = none + (count - none - 1) / 2;
            let keys = &mut self.keys[kind][..count];
            let median = ranked(keys, rank, self.expected[kind], &mut self.near, tier).value();
            self.expected[kind] = Some(median);
            self.medians[kind].push(median);
        }
    }
}

/// Returns the key of a rank.
fn ranked<K: NoiseKey>(
    keys: &mut [K],
    rank: usize,
    expected: Option<f64>,
    near: &mut [K],
    tier: Tier,
) -> K {
    if let Some(expected) = expected {
        let bounds =
            Bounds { first: K::of(expected * (1.0 - NEAR)), last: K::of(expected * (1.0 + NEAR)) };
        if let Some(key) = isa::dispatch(tier, RankKernel { keys, rank, bounds, near }) {
            return key;
        }
    }
    *keys.select_nth_unstable(rank).1
}

/// Range of keys, both ends included.
#[derive(Clone, Copy)]
struct Bounds<K> {
    first: K,
    last: K,
}

/// Kernel that searches the key of a rank within bounds by counting keys: counting takes a fraction of a cycle per key,
/// collecting several cycles.
pub(crate) struct RankKernel<'a, K> {
    keys: &'a [K],
    rank: usize,
    bounds: Bounds<K>,
    /// Work space for one key more than `keys`.
    near: &'a mut [K],
}

/// Maximum number of keys within bounds to collect.
const FEW: usize = 24;
/// Maximum number of times that bounds are narrowed.
const ROUNDS: usize = 4;

impl<K: NoiseKey> Kernel for RankKernel<'_, K> {
    /// Key; `None` if it is outside the bounds.
    type Output = Option<K>;

    #[inline(always)]
    fn run(self) -> Option<K> {
        let RankKernel { keys, rank, mut bounds, near } = self;
        let (mut below, end) = counts(keys, bounds);
        if !(below..end).contains(&rank) {
            return None;
        }
        let mut inside = end - below;
        for _ in 0..ROUNDS {
            if inside <= FEW {
                break;
            }
            // Assumes evenly spread keys, with a margin of three standard deviations of the rank on both sides.
            let share = ((rank - below) as f64 + 0.5) / inside as f64;
            let margin = 1.5 / (inside as f64).sqrt();
            let at = |share: f64| bounds.first.towards(bounds.last, share.clamp(0.0, 1.0));
            let narrow = Bounds { first: at(share - margin), last: at(share + margin) };
            let (first, end) = counts(keys, narrow);
            if !(first..end).contains(&rank) {
                break;
            }
            (bounds, below, inside) = (narrow, first, end - first);
        }
        let near = collected(keys, bounds, near);
        Some(*near.select_nth_unstable(rank - below).1)
    }
}

/// Counts the keys below the first one, and the keys up to the last one.
#[inline(always)]
fn counts<K: NoiseKey>(keys: &[K], Bounds { first, last }: Bounds<K>) -> (usize, usize) {
    let (mut below, mut within) = (K::default(), K::default());
    for &key in keys {
        below = below.plus(key < first);
        within = within.plus(key <= last);
    }
    (below.count(), within.count())
}

/// Collects the keys within bounds.
#[inline(always)]
fn collected<'a, K: NoiseKey>(
    keys: &[K],
    Bounds { first, last }: Bounds<K>,
    near: &'a mut [K],
) -> &'a mut [K] {
    let is_inside = |key: K| (key >= first) & (key <= last);
    let near = &mut near[..=keys.len()];
    let mut count = 0;
    let mut collect = |keys: &[K]| {
        for &key in keys {
            near[count] = key;
            count += usize::from(is_inside(key));
        }
    };
    let (blocks, rest) = keys.as_chunks::<LANES>();
    for block in blocks {
        // Most blocks have no key within bounds.
        if block.iter().fold(false, |any, &key| any | is_inside(key)) {
            collect(block);
        }
    }
    collect(rest);
    &mut near[..count]
}

/// Returns the mean of the two middle numbers; 0 without numbers.
fn middle(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    match numbers.len() {
        0 => 0.0,
        count => (numbers[(count - 1) / 2] + numbers[count / 2]) / 2.0,
    }
}

/// Extremes and number of defined pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    least: f64,
    greatest: f64,
    defined: usize,
}

impl Range {
    const fn none() -> Range {
        Range { least: f64::INFINITY, greatest: f64::NEG_INFINITY, defined: 0 }
    }

    fn merge(&mut self, later: Range) {
        self.least = lesser(self.least, later.least);
        self.greatest = -lesser(-self.greatest, -later.greatest);
        self.defined += later.defined;
    }
}

/// Returns the lesser number: the first of equal numbers, and the other one if one is NaN.
#[inline(always)]
fn lesser(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

pub(crate) struct RangeKernel<'a, P> {
    pixels: &'a [P],
}

impl<P: NoisePixel> Kernel for RangeKernel<'_, P> {
    type Output = Range;

    #[inline(always)]
    fn run(self) -> Range {
        let mut least = [f64::INFINITY; LANES];
        let mut most = [f64::INFINITY; LANES];
        let mut defined = [0u32; LANES];
        let (blocks, rest) = self.pixels.as_chunks::<LANES>();
        let mut undefined_of_rest = 0;
        let mut range = Range::none();
        for block in blocks {
            for lane in 0..LANES {
                let value = block[lane].value();
                least[lane] = lesser(least[lane], value);
                most[lane] = lesser(most[lane], -value);
                defined[lane] += u32::from(block[lane].is_defined());
            }
        }
        for pixel in rest {
            range.least = lesser(range.least, pixel.value());
            range.greatest = -lesser(-range.greatest, -pixel.value());
            undefined_of_rest += usize::from(!pixel.is_defined());
        }
        range.defined = rest.len() - undefined_of_rest;
        for lane in 0..LANES {
            let defined = defined[lane] as usize;
            range.merge(Range { least: least[lane], greatest: -most[lane], defined });
        }
        range
    }
}

pub(crate) struct DifferenceKernel<'a, P: NoisePixel> {
    pixels: &'a [P],
    keys: [&'a mut [P::Key]; 3],
}

impl<P: NoisePixel> Kernel for DifferenceKernel<'_, P> {
    /// Number of differences of each kind that are ignored because the pixels are equal.
    type Output = [usize; 3];

    #[inline(always)]
    fn run(self) -> [usize; 3] {
        let [second, third, fifth] = self.keys;
        let count = second.len();
        let (third, fifth) = (&mut third[..count], &mut fifth[..count]);
        let [a, b, c, d, e] = [0, 2, 4, 6, 8].map(|first| &self.pixels[first..][..count]);
        let [between_b_c, between_c_d] = [3, 5].map(|first| &self.pixels[first..][..count]);
        let (mut equal_three, mut equal_five) = (0u32, 0u32);
        for at in 0..count {
            let keys = P::differences([a[at], b[at], c[at], d[at], e[at]]);
            let three = (c[at] == between_c_d[at]) & (between_c_d[at] == d[at]);
            let five = three & (b[at] == between_b_c[at]) & (between_b_c[at] == c[at]);
            second[at] = if three { P::Key::NONE } else { keys[0] };
            third[at] = if five { P::Key::NONE } else { keys[1] };
            fifth[at] = if five { P::Key::NONE } else { keys[2] };
            equal_three += u32::from(three);
            equal_five += u32::from(five);
        }
        [equal_three, equal_five, equal_five].map(|count| count as usize)
    }
}
