//! Full statistics in one read of the bytes: count, NaN, sum, mean, second moment, minimum and maximum with positions.
//!
//! A leaf is processed in two passes: the first computes sum and extremes and leaves the decoded values in the
//! first-level cache; the second computes the squares about the leaf's own mean. Moments of integers of up to 16 bits
//! are exact instead, and scaled once for all pixels of a call. Leaves are merged by the formula of Chan, Golub and
//! LeVeque (1983). The centre of a state has a high and a low part, because the difference of two centres must be
//! accurate relative to the spread of the data, not to its offset.

#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

use std::marker::PhantomData;

use crate::common_value::Common;
use crate::compensated::{Compensated, SMALL_PIXEL, Unit};
use crate::decode::decode_f64;
use crate::fold::{Accumulator, PairwiseRuns, add_lanes, fold, fold_decoded, fold_tail};
use crate::integers::IntegerMoments;
use crate::isa::{self, Kernel, Tier};
use crate::pixel::PixelType;
use crate::source::{Encoding, Source, Visitor};
use crate::sum::{AllLanes, DefinedLanes, Holes, LaneSums, large_sum};
use crate::total::{Total, in_unit};
use crate::{LANES, LEAF_PIXELS};

/// Minimum or maximum, with the index of its first pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremum {
    /// The value.
    pub value: f64,
    /// Index of the pixel, in the caller's numbering.
    pub position: u64,
}

/// Mergeable state of the full statistics. NaN and BLANK are only counted.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, Stats, Tier};
/// let encoding = Encoding { blank: Some(-1), ..Encoding::plain(PixelType::I16) };
/// let bytes: Vec<u8> = [2i16, -1, 4, 9].iter().flat_map(|x| x.to_be_bytes()).collect();
/// let mut stats = Stats::default();
/// stats.accumulate(&bytes, &encoding, Tier::SCALAR, 0);
/// assert_eq!((stats.count, stats.nan, stats.mean()), (3, 1, 5.0));
/// assert_eq!(stats.std(1), 13f64.sqrt());
/// assert_eq!(stats.max.map(|max| (max.value, max.position)), Some((9.0, 3)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Number of defined pixels.
    pub count: u64,
    /// Number of pixels that are NaN or BLANK.
    pub nan: u64,
    /// Sum of the defined pixels, with the same bits as [`crate::Sum`].
    pub sum: Total,
    /// Common value of the defined pixels.
    pub common: Common,
    /// Centre of the squares: the mean, to more than f64's precision.
    pub center: Compensated,
    /// Sum of squared differences from the centre.
    pub squares: Compensated,
    /// Unit of the centre; the squares have its square. It differs from 1 if f64 cannot represent the squares of the
    /// pixels.
    pub unit: Unit,
    /// Smallest defined value; `None` if no pixel is defined.
    pub min: Option<Extremum>,
    /// Largest defined value.
    pub max: Option<Extremum>,
}

/// Pixels checked to guess whether the first leaf has undefined pixels.
const PEEKED: usize = 64;

impl Stats {
    /// Adds the pixels of `bytes`, the first with the index `position`.
    pub fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier, position: u64) {
        if let Some(moments) = IntegerMoments::of(bytes, encoding, tier) {
            self.add_integers(&moments, bytes, encoding, tier, position);
            return;
        }
        let pixels = bytes.len() / encoding.pixel_bytes();
        let mut holes = Holes::default();
        if let Some(first) = bytes.get(..PEEKED * encoding.pixel_bytes()) {
            let mut peeked = [0.0; PEEKED];
            decode_f64(first, encoding, tier, &mut peeked);
            holes = Holes { expected: peeked.iter().any(|x| x.is_nan()) };
        }
        let (leaf, line) = (pixels.min(LEAF_PIXELS), 64 / size_of::<f64>());
        // Vectors that cross the end of a cache line cost two accesses.
        let mut decoded = vec![0.0; leaf + line];
        let aligned = decoded.as_ptr().align_offset(64).min(line);
        let decoded = &mut decoded[aligned..aligned + leaf];
        let mut position = position;
        for bytes in bytes.chunks(LEAF_PIXELS * encoding.pixel_bytes()) {
            let values = &mut decoded[..bytes.len() / encoding.pixel_bytes()];
            let mut pixels = LeafPixels { bytes, encoding, tier, values };
            let leaf = StatsLeaf::new(&mut pixels, &mut holes);
            self.add_leaf(&leaf, pixels, position);
            position += values.len() as u64;
        }
    }

    /// Merges one leaf. Positions of its extremes are searched only if they improve the state.
    fn add_leaf(&mut self, leaf: &StatsLeaf, mut pixels: LeafPixels<'_>, position: u64) {
        let mut state = Stats {
            count: leaf.count,
            nan: pixels.values.len() as u64 - leaf.count,
            sum: Total::of_leaf(leaf.sum, || large_sum(pixels.bytes, pixels.encoding, pixels.tier)),
            ..Stats::default()
        };
        if leaf.count > 0 {
            state.common = Common::Value(leaf.min).and(leaf.max);
            let moments = leaf.moments();
            let unit = match moments.is_finite() {
                false => Unit::Large,
                true if leaf.is_small() => Unit::Small,
                true => Unit::One,
            };
            match if unit == Unit::One { None } else { pixels.moments_in(unit) } {
                Some(moments) => state.set_moments(moments, unit),
                None => state.set_moments(moments, Unit::One),
            }
            if self.min.is_none_or(|min| leaf.min < min.value) {
                state.min = Some(pixels.first_that_equals(leaf.min, position));
            }
            if self.max.is_none_or(|max| leaf.max > max.value) {
                state.max = Some(pixels.first_that_equals(leaf.max, position));
            }
        }
        self.merge(&state);
    }

    /// Merges exact moments. Positions of the extremes are searched only if they improve the state.
    fn add_integers(
        &mut self,
        moments: &IntegerMoments,
        bytes: &[u8],
        encoding: &Encoding,
        tier: Tier,
        position: u64,
    ) {
        let sum = moments.scaled_sum(encoding);
        let mut state = Stats {
            count: moments.count,
            nan: moments.undefined,
            sum: sum.into(),
            ..Stats::default()
        };
        if moments.count > 0 {
            let n = moments.count as f64;
            let mean = sum.value() / n;
            // Rounding error of the mean.
            let rest = (-mean).mul_add(n, sum.high) + sum.low;
            state.center = Compensated::new(mean, rest / n);
            let squares = moments.scaled_squares(encoding);
            state.squares = Compensated { high: squares, low: 0.0 };
            state.common = moments.common(encoding);
            let [(min, min_leaf), (max, max_leaf)] = moments.scaled_extremes(encoding);
            let mut decoded = [0.0; LEAF_PIXELS];
            let mut locate = |value, leaf: usize| {
                let rest = &bytes[leaf * encoding.pixel_bytes()..];
                let pixels = LEAF_PIXELS.min(rest.len() / encoding.pixel_bytes());
                let values = &mut decoded[..pixels];
                decode_f64(rest, encoding, tier, values);
                let index = index_of(value, values, tier).unwrap_or(0);
                Some(Extremum { value: values[index], position: position + (leaf + index) as u64 })
            };
            if self.min.is_none_or(|extremum| min < extremum.value) {
                state.min = locate(min, min_leaf);
            }
            if self.max.is_none_or(|extremum| max > extremum.value) {
                state.max = locate(max, max_leaf);
            }
        }
        self.merge(&state);
    }

    /// Merges the state of later pixels. The order of merging affects the last bits of the result.
    pub fn merge(&mut self, later: &Stats) {
        if later.count > 0 {
            self.merge_moments(later);
        }
        self.nan += later.nan;
        self.count += later.count;
        self.sum.merge(later.sum);
        self.common = self.common.merge(later.common);
        let smaller = |a: f64, b: f64| a < b;
        let larger = |a: f64, b: f64| a > b;
        self.min = better(self.min, later.min, smaller);
        self.max = better(self.max, later.max, larger);
    }

    fn merge_moments(&mut self, later: &Stats) {
        if self.count == 0 {
            self.set_moments(later.moments(), later.unit);
            return;
        }
        let merged = self.moments().merged(later.moments());
        if self.unit == later.unit && (self.unit != Unit::One || merged.is_finite()) {
            self.set_moments(merged, self.unit);
        } else {
            self.merge_in_common_unit(later, merged);
        }
    }

    /// Merges moments of different units, or moments in unit 1 whose merged values are not finite.
    #[cold]
    fn merge_in_common_unit(&mut self, later: &Stats, merged: CentralMoments) {
        let unit = match (self.unit, later.unit) {
            // Zeros are the same in any unit.
            (Unit::Small, Unit::One) if later.moments().are_zero() => Unit::Small,
            (Unit::One, Unit::Small) if self.moments().are_zero() => Unit::Small,
            (Unit::Small, Unit::One) | (Unit::One, Unit::Small) => Unit::One,
            _ => Unit::Large,
        };
        let common = self.moments_in(unit).merged(later.moments_in(unit));
        let is_plain = self.unit == Unit::One && later.unit == Unit::One;
        if is_plain && !common.is_finite() {
            self.set_moments(merged, Unit::One);
        } else {
            self.set_moments(common, unit);
        }
    }

    fn moments(&self) -> CentralMoments {
        CentralMoments { count: self.count, center: self.center, squares: self.squares }
    }

    fn set_moments(&mut self, moments: CentralMoments, unit: Unit) {
        (self.center, self.squares, self.unit) = (moments.center, moments.squares, unit);
    }

    fn moments_in(&self, unit: Unit) -> CentralMoments {
        let factor = self.unit.value() / unit.value();
        CentralMoments {
            count: self.count,
            center: self.center.times(factor),
            squares: self.squares.times(factor).times(factor),
        }
    }

    /// Returns the sum of the defined pixels; NaN without defined pixels.
    pub fn total(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.sum.value() }
    }

    /// Returns sum over count, rounded once; the common value if all pixels are equal; NaN without pixels.
    pub fn mean(&self) -> f64 {
        self.common.mean_or(self.sum.mean(self.count))
    }

    /// Returns the root mean square about zero; NaN without pixels, infinite if a pixel is infinite.
    pub fn rms(&self) -> f64 {
        if self.count == 0 {
            return f64::NAN;
        }
        if [self.min, self.max].iter().flatten().any(|extreme| extreme.value.is_infinite()) {
            return f64::INFINITY;
        }
        let (variance, mean) = (self.variance(self.count), self.center.value());
        let square = variance + mean * mean;
        // Squares of values above 1e154 overflow f64, and those below 1e-154 lose digits.
        let rms = if square.is_normal() { square.sqrt() } else { variance.sqrt().hypot(mean) };
        rms * self.unit.value()
    }

    /// Returns the standard deviation about the mean with the denominator `count - ddof`; NaN if that is not positive.
    pub fn std(&self, ddof: u64) -> f64 {
        if self.count <= ddof {
            return f64::NAN;
        }
        self.variance(self.count - ddof).sqrt() * self.unit.value()
    }

    /// Returns the squares over a count, in their unit. Rounding may leave a slightly negative sum of squares for equal
    /// pixels, which becomes 0; NaN stays NaN.
    fn variance(&self, count: u64) -> f64 {
        let squares = self.squares.value();
        (if squares < 0.0 { 0.0 } else { squares }) / count as f64
    }
}

/// Count, centre and squares of pixels, in one unit.
#[derive(Clone, Copy)]
struct CentralMoments {
    count: u64,
    center: Compensated,
    squares: Compensated,
}

impl CentralMoments {
    fn merged(mut self, later: CentralMoments) -> CentralMoments {
        let (n, m) = (self.count as f64, later.count as f64);
        let delta = later.center.minus(self.center);
        self.center.add(delta * (m / (n + m)));
        self.squares.merge(later.squares);
        self.squares.add(delta * delta * (n * (m / (n + m))));
        self
    }

    fn are_zero(&self) -> bool {
        self.center.value() == 0.0 && self.squares.value() == 0.0
    }

    fn is_finite(&self) -> bool {
        self.center.value().is_finite() && self.squares.value().is_finite()
    }
}

/// Returns the earlier extremum unless the later one is strictly better.
fn better(
    earlier: Option<Extremum>,
    later: Option<Extremum>,
    beats: impl Fn(f64, f64) -> bool,
) -> Option<Extremum> {
    match (earlier, later) {
        (Some(a), Some(b)) => Some(if beats(b.value, a.value) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Returns the index of the first number that equals a value.
fn index_of(value: f64, values: &[f64], tier: Tier) -> Option<usize> {
    let (chunks, _) = values.as_chunks::<LANES>();
    let before = isa::dispatch(tier, LocateKernel { chunks, value }) * LANES;
    values[before..].iter().position(|&x| x == value).map(|index| before + index)
}

/// Pixels of a leaf as bytes and, unless they are as wide as f64, as values decoded by the first pass. Bytes and values
/// of wide pixels together would exceed the first-level cache, so these pixels are decoded again.
struct LeafPixels<'a> {
    bytes: &'a [u8],
    encoding: &'a Encoding,
    tier: Tier,
    values: &'a mut [f64],
}

impl LeafPixels<'_> {
    fn keeps_values(&self) -> bool {
        self.encoding.pixel_bytes() < size_of::<f64>()
    }

    fn first_pass<A: LaneSums>(&mut self) -> FirstPass<A> {
        if self.keeps_values() {
            let LeafPixels { bytes, encoding, tier, values } = self;
            encoding.visit(Decode { bytes, tier: *tier, values, sums: PhantomData })
        } else {
            fold(self.bytes, self.encoding, self.tier, FirstPass::new(A::default()))
        }
    }

    fn pass<A: Accumulator>(&self, accumulator: A) -> A {
        if self.keeps_values() {
            fold_decoded(self.values, self.tier, accumulator)
        } else {
            fold(self.bytes, self.encoding, self.tier, accumulator)
        }
    }

    /// Returns the moments in a unit; `None` if they are not finite either, because pixels are infinite.
    #[cold]
    fn moments_in(&self, unit: Unit) -> Option<CentralMoments> {
        let bytes = in_unit(self.bytes, self.encoding, self.tier, unit);
        let encoding = Encoding::plain(PixelType::F64);
        let mut values = vec![0.0; self.values.len()];
        let values = &mut values[..];
        let mut pixels = LeafPixels { bytes: &bytes, encoding: &encoding, tier: self.tier, values };
        let moments = StatsLeaf::new(&mut pixels, &mut Holes { expected: true }).moments();
        moments.is_finite().then_some(moments)
    }

    /// Returns the first pixel that equals a value; pixels begin at index `position`. Reads the value from the pixel,
    /// because lanes do not distinguish the equal numbers 0.0 and -0.0.
    fn first_that_equals(&mut self, value: f64, position: u64) -> Extremum {
        if !self.keeps_values() {
            decode_f64(self.bytes, self.encoding, self.tier, self.values);
        }
        let index = index_of(value, self.values, self.tier).unwrap_or(0);
        Extremum { value: self.values[index], position: position + index as u64 }
    }
}

/// Result of the two passes over a leaf.
struct StatsLeaf {
    count: u64,
    sum: f64,
    mean: f64,
    differences: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl StatsLeaf {
    fn moments(&self) -> CentralMoments {
        let n = self.count as f64;
        // Corrected two-pass formula: it removes the rounding error of the mean.
        let squares = self.squares - self.differences * self.differences / n;
        CentralMoments {
            count: self.count,
            center: Compensated::new(self.mean, self.differences / n),
            squares: Compensated { high: squares, low: 0.0 },
        }
    }

    /// Whether the squares of all nonzero pixels lose digits in f64.
    fn is_small(&self) -> bool {
        let magnitude = self.max.max(-self.min);
        magnitude > 0.0 && magnitude < SMALL_PIXEL
    }

    fn new(pixels: &mut LeafPixels<'_>, holes: &mut Holes) -> StatsLeaf {
        let all = pixels.values.len() as u64;
        let (count, sum, min, max);
        if holes.expected {
            let first = pixels.first_pass::<DefinedLanes>();
            (min, max) = first.extremes();
            (count, sum) = holes.count_and_sum(all, || f64::NAN, || first.sums.count_and_sum());
        } else {
            let first = pixels.first_pass::<AllLanes>();
            (min, max) = first.extremes();
            let defined = || pixels.pass(DefinedLanes::default()).count_and_sum();
            (count, sum) = holes.count_and_sum(all, || add_lanes(&first.sums.sum), defined);
        }
        let mean = if count > 0 { sum / count as f64 } else { 0.0 };
        let second = SecondPass { mean, differences: [0.0; LANES], squares: [0.0; LANES] };
        let second = if count == all {
            pixels.pass(second)
        } else {
            pixels.pass(DefinedSecondPass(second)).0
        };
        let (differences, squares) = (add_lanes(&second.differences), add_lanes(&second.squares));
        StatsLeaf { count, sum, mean, differences, squares, min, max }
    }
}

/// Sums, and the extremes, which ignore NaN.
#[derive(Clone, Copy)]
pub(crate) struct FirstPass<A> {
    sums: A,
    min: [f64; LANES],
    max: [f64; LANES],
}

impl<A> FirstPass<A> {
    fn new(sums: A) -> Self {
        FirstPass { sums, min: [f64::INFINITY; LANES], max: [f64::NEG_INFINITY; LANES] }
    }

    fn extremes(&self) -> (f64, f64) {
        let (mut min, mut max) = (self.min, self.max);
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                let (low, high) = (min[lane + width], max[lane + width]);
                min[lane] = if low < min[lane] { low } else { min[lane] };
                max[lane] = if high > max[lane] { high } else { max[lane] };
            }
            width /= 2;
        }
        (min[0], max[0])
    }
}

impl<A: Accumulator> Accumulator for FirstPass<A> {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        self.sums.step(x);
        for lane in 0..x.len() {
            self.min[lane] = if x[lane] < self.min[lane] { x[lane] } else { self.min[lane] };
        }
        for lane in 0..x.len() {
            self.max[lane] = if x[lane] > self.max[lane] { x[lane] } else { self.max[lane] };
        }
    }

    #[inline(always)]
    fn sums(&mut self) -> Option<&mut [f64; LANES]> {
        self.sums.sums()
    }
}

/// First pass over a leaf that stores the decoded values.
struct Decode<'a, A> {
    bytes: &'a [u8],
    tier: Tier,
    values: &'a mut [f64],
    sums: PhantomData<A>,
}

impl<A: LaneSums> Visitor for Decode<'_, A> {
    type Output = FirstPass<A>;
    fn visit<S: Source>(self, source: S) -> FirstPass<A> {
        let (values, last_values) = self.values.as_chunks_mut::<LANES>();
        let (bytes, last_bytes) = self.bytes.split_at(values.len() * S::CHUNK);
        let sums = self.sums;
        let first = match S::IS_SINGLE {
            true => isa::dispatch(self.tier, SingleKernel { bytes, source, values, sums }),
            false => isa::dispatch(self.tier, DecodeKernel { bytes, source, values, sums }),
        };
        if last_bytes.is_empty() {
            return first;
        }
        last_values.copy_from_slice(&source.tail(last_bytes)[..last_values.len()]);
        fold_tail(last_values, first)
    }
}

/// Kernel that loops over whole chunks.
pub(crate) struct DecodeKernel<'a, S, A> {
    bytes: &'a [u8],
    source: S,
    values: &'a mut [[f64; LANES]],
    sums: PhantomData<A>,
}

impl<S: Source, A: LaneSums> Kernel for DecodeKernel<'_, S, A> {
    type Output = FirstPass<A>;

    #[inline(always)]
    fn run(self) -> FirstPass<A> {
        let DecodeKernel { bytes, source, values, .. } = self;
        let bytes = &bytes[..values.len() * S::CHUNK];
        let mut first = FirstPass::new(A::default());
        let mut runs = PairwiseRuns::new();
        for chunk in 0..values.len() {
            let pixels = &bytes[chunk * S::CHUNK..(chunk + 1) * S::CHUNK];
            isa::prefetch(pixels, isa::PAGE_AHEAD);
            let x = source.lanes(pixels);
            first.step(&x);
            values[chunk] = x;
            runs.after_chunk(chunk, first.sums());
        }
        runs.finish(first.sums());
        first
    }
}

/// First pass over f32: extremes are computed in f32, with twice as many numbers per vector.
pub(crate) struct SingleKernel<'a, S, A> {
    bytes: &'a [u8],
    source: S,
    values: &'a mut [[f64; LANES]],
    sums: PhantomData<A>,
}

impl<S: Source, A: LaneSums> Kernel for SingleKernel<'_, S, A> {
    type Output = FirstPass<A>;

    #[inline(always)]
    fn run(self) -> FirstPass<A> {
        let SingleKernel { bytes, source, values, .. } = self;
        let mut lanes = SingleLanes {
            undefined: [0; LANES],
            sum: [0.0; LANES],
            min: [f32::INFINITY; LANES],
            max: [f32::NEG_INFINITY; LANES],
        };
        let mut runs = PairwiseRuns::new();
        for (number, (chunk, values)) in bytes.chunks_exact(S::CHUNK).zip(&mut *values).enumerate()
        {
            isa::prefetch(chunk, isa::PAGE_AHEAD);
            let x = source.singles(chunk);
            lanes.compare(&x);
            *values = widen(&x);
            if A::ASKS {
                lanes.count(&x);
                lanes.add_defined(values);
            } else {
                lanes.add(values);
            }
            runs.after_chunk(number, Some(&mut lanes.sum));
        }
        runs.finish(Some(&mut lanes.sum));
        let pixels = values.len() as u64;
        let count = lanes.undefined.map(|undefined| pixels - u64::from(undefined));
        let (min, max) = (lanes.min.map(f64::from), lanes.max.map(f64::from));
        FirstPass { sums: A::of(count, lanes.sum), min, max }
    }
}

/// State of each lane.
struct SingleLanes {
    undefined: [u32; LANES],
    sum: [f64; LANES],
    min: [f32; LANES],
    max: [f32; LANES],
}

impl SingleLanes {
    #[inline(always)]
    fn compare(&mut self, x: &[f32; LANES]) {
        for lane in 0..LANES {
            self.min[lane] = if x[lane] < self.min[lane] { x[lane] } else { self.min[lane] };
        }
        for lane in 0..LANES {
            self.max[lane] = if x[lane] > self.max[lane] { x[lane] } else { self.max[lane] };
        }
    }

    #[inline(always)]
    fn count(&mut self, x: &[f32; LANES]) {
        for lane in 0..LANES {
            self.undefined[lane] += u32::from(x[lane].is_nan());
        }
    }

    #[inline(always)]
    fn add(&mut self, x: &[f64; LANES]) {
        for lane in 0..LANES {
            self.sum[lane] += x[lane];
        }
    }

    #[inline(always)]
    fn add_defined(&mut self, x: &[f64; LANES]) {
        for lane in 0..LANES {
            // The sum is never -0.0, so adding 0.0 does not change it.
            self.sum[lane] += if x[lane].is_nan() { 0.0 } else { x[lane] };
        }
    }
}

/// Returns the address of the pass over big-endian f32 that checks each pixel for NaN.
#[cfg(target_arch = "x86_64")]
pub(crate) fn single_address(tier: Tier) -> Option<usize> {
    struct Address(Tier);
    impl Visitor for Address {
        type Output = Option<usize>;
        fn visit<S: Source>(self, _: S) -> Option<usize> {
            isa::address::<SingleKernel<'static, S, DefinedLanes>>(self.0)
        }
    }
    Encoding::plain(crate::PixelType::F32).visit(Address(tier))
}

#[inline(always)]
fn widen(x: &[f32; LANES]) -> [f64; LANES] {
    let mut wide = [0.0; LANES];
    for lane in 0..LANES {
        wide[lane] = x[lane].into();
    }
    wide
}

/// Differences from the mean of the first pass, and their squares, if every pixel is defined.
#[derive(Clone, Copy)]
pub(crate) struct SecondPass {
    mean: f64,
    differences: [f64; LANES],
    squares: [f64; LANES],
}

impl SecondPass {
    /// Adds up to sixteen differences.
    #[inline(always)]
    fn add(&mut self, difference: &[f64]) {
        for lane in 0..difference.len() {
            self.differences[lane] += difference[lane];
        }
        for lane in 0..difference.len() {
            self.squares[lane] += difference[lane] * difference[lane];
        }
    }
}

impl Accumulator for SecondPass {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        let mut differences = [0.0; LANES];
        for lane in 0..x.len() {
            differences[lane] = x[lane] - self.mean;
        }
        self.add(&differences[..x.len()]);
    }
}

/// The same with undefined pixels, which contribute 0.
#[derive(Clone, Copy)]
pub(crate) struct DefinedSecondPass(SecondPass);

impl Accumulator for DefinedSecondPass {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        let mut differences = [0.0; LANES];
        for lane in 0..x.len() {
            differences[lane] = if x[lane].is_nan() { 0.0 } else { x[lane] - self.0.mean };
        }
        self.0.add(&differences[..x.len()]);
    }
}

/// Kernel that counts the chunks before the first one that contains a value.
struct LocateKernel<'a> {
    chunks: &'a [[f64; LANES]],
    value: f64,
}

impl Kernel for LocateKernel<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let mut before = 0;
        for chunk in self.chunks {
            let mut any = false;
            for &x in chunk {
                any |= x == self.value;
            }
            if any {
                break;
            }
            before += 1;
        }
        before
    }
}
