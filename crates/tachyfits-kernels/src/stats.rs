//! Full statistics in one read of the bytes: count, NaN, sum, mean, second moment, minimum and maximum with positions.
//!
//! A leaf is decoded twice while it is in the first-level cache: once for count, sum and extremes, once for the squares
//! about the leaf's own mean. Leaves are merged by Chan, Golub and LeVeque's formula (1983). The centre of a state is
//! carried as high + low parts, because the difference of two centres must be good to the spread of the data, not to
//! its offset.

#![expect(
    clippy::needless_range_loop,
    reason = "loops over lanes index several arrays of LANES alike: the form that becomes vector code on every tier"
)]

use crate::compensated::Compensated;
use crate::fold::{Accumulator, add_lanes, fold};
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};
use crate::{LANES, LEAF_PIXELS};

/// A minimum or maximum and the index of the first pixel that has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremum {
    /// The value.
    pub value: f64,
    /// Index of the pixel, in the numbering that the caller accumulates with.
    pub position: u64,
}

/// Mergeable state of the full statistics. NaN and BLANK are counted and otherwise ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Pixels that are defined.
    pub count: u64,
    /// Pixels that are NaN or BLANK.
    pub nan: u64,
    /// Sum of the defined ones, the same bits as [`crate::Sum`] gives.
    pub sum: Compensated,
    /// Point that the squares are taken about: the mean, to more than f64's precision.
    pub center: Compensated,
    /// Sum of squared differences from the centre.
    pub squares: Compensated,
    /// The smallest defined value; `None` when there is none.
    pub min: Option<Extremum>,
    /// The largest.
    pub max: Option<Extremum>,
}

impl Stats {
    /// Adds the pixels of `bytes`, the first of which has the index `position`.
    pub fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier, position: u64) {
        let mut position = position;
        for bytes in bytes.chunks(LEAF_PIXELS * encoding.pixel_bytes()) {
            let leaf = Leaf::new(bytes, encoding, tier);
            let pixels = (bytes.len() / encoding.pixel_bytes()) as u64;
            self.add_leaf(&leaf, pixels, |value| {
                let (index, value) = encoding.visit(Locate { bytes, tier, value });
                Extremum { value, position: position + index as u64 }
            });
            position += pixels;
        }
    }

    /// Merges one leaf; `locate` finds the first pixel of a value, and is asked only when the leaf sets a new extreme.
    fn add_leaf(&mut self, leaf: &Leaf, pixels: u64, locate: impl Fn(f64) -> Extremum) {
        let mut state = Stats {
            count: leaf.count,
            nan: pixels - leaf.count,
            sum: Compensated { high: leaf.sum, low: 0.0 },
            ..Stats::default()
        };
        if leaf.count > 0 {
            let n = leaf.count as f64;
            state.center = Compensated::new(leaf.mean, leaf.differences / n);
            // The corrected two-pass formula: what the rounded mean is off by is taken out again.
            let squares = leaf.squares - leaf.differences * leaf.differences / n;
            state.squares = Compensated { high: squares, low: 0.0 };
            if self.min.is_none_or(|min| leaf.min < min.value) {
                state.min = Some(locate(leaf.min));
            }
            if self.max.is_none_or(|max| leaf.max > max.value) {
                state.max = Some(locate(leaf.max));
            }
        }
        self.merge(&state);
    }

    /// Adds the state of pixels that come later. The order of merging is part of the result's last bits.
    pub fn merge(&mut self, later: &Stats) {
        if later.count > 0 {
            self.merge_moments(later);
        }
        self.nan += later.nan;
        self.count += later.count;
        self.sum.merge(later.sum);
        let smaller = |a: f64, b: f64| a < b;
        let larger = |a: f64, b: f64| a > b;
        self.min = better(self.min, later.min, smaller);
        self.max = better(self.max, later.max, larger);
    }

    fn merge_moments(&mut self, later: &Stats) {
        if self.count == 0 {
            self.center = later.center;
            self.squares = later.squares;
            return;
        }
        let (n, m) = (self.count as f64, later.count as f64);
        let delta = later.center.minus(self.center);
        self.center.add(delta * (m / (n + m)));
        self.squares.merge(later.squares);
        self.squares.add(delta * delta * (n * (m / (n + m))));
    }

    /// Sum over count, rounded once; NaN without pixels.
    pub fn mean(&self) -> f64 {
        let n = self.count as f64;
        let mean = self.sum.value() / n;
        // One Newton step on the quotient: the remainder is exact enough in f64 because it is small.
        let remainder = (-mean).mul_add(n, self.sum.high) + self.sum.low;
        if remainder.is_finite() { mean + remainder / n } else { mean }
    }

    /// Square root of the mean square, about zero; NaN without pixels, infinite with an infinite one.
    pub fn rms(&self) -> f64 {
        if self.count == 0 {
            return f64::NAN;
        }
        if [self.min, self.max].iter().flatten().any(|extreme| extreme.value.is_infinite()) {
            return f64::INFINITY;
        }
        let mean = self.center.value();
        (self.variance(self.count) + mean * mean).sqrt()
    }

    /// Standard deviation about the mean with `count - ddof` in the denominator; NaN when that is not positive.
    pub fn std(&self, ddof: u64) -> f64 {
        if self.count <= ddof {
            return f64::NAN;
        }
        self.variance(self.count - ddof).sqrt()
    }

    /// Squares over a count. Rounding may leave a sum of squares of equal pixels a hair below zero; NaN stays NaN.
    fn variance(&self, count: u64) -> f64 {
        let squares = self.squares.value();
        (if squares < 0.0 { 0.0 } else { squares }) / count as f64
    }
}

/// The earlier one unless the later one is strictly better.
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

/// What the two passes over a leaf give.
struct Leaf {
    count: u64,
    sum: f64,
    mean: f64,
    differences: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Leaf {
    fn new(bytes: &[u8], encoding: &Encoding, tier: Tier) -> Leaf {
        let first = fold(bytes, encoding, tier, FirstPass::new());
        let count = first.count.iter().sum();
        let sum = add_lanes(&first.sum);
        let mean = if count > 0 { sum / count as f64 } else { 0.0 };
        let second = SecondPass { mean, differences: [0.0; LANES], squares: [0.0; LANES] };
        let second = fold(bytes, encoding, tier, second);
        Leaf {
            count,
            sum,
            mean,
            differences: add_lanes(&second.differences),
            squares: add_lanes(&second.squares),
            min: first.min.iter().fold(f64::INFINITY, |a, &b| if b < a { b } else { a }),
            max: first.max.iter().fold(f64::NEG_INFINITY, |a, &b| if b > a { b } else { a }),
        }
    }
}

#[derive(Clone, Copy)]
struct FirstPass {
    count: [u64; LANES],
    sum: [f64; LANES],
    min: [f64; LANES],
    max: [f64; LANES],
}

impl FirstPass {
    fn new() -> Self {
        FirstPass {
            count: [0; LANES],
            sum: [0.0; LANES],
            min: [f64::INFINITY; LANES],
            max: [f64::NEG_INFINITY; LANES],
        }
    }
}

impl Accumulator for FirstPass {
    #[inline(always)]
    fn step(&mut self, x: &[f64; LANES]) {
        for lane in 0..LANES {
            self.count[lane] += u64::from(!x[lane].is_nan());
        }
        for lane in 0..LANES {
            let sum = self.sum[lane] + x[lane];
            self.sum[lane] = if x[lane].is_nan() { self.sum[lane] } else { sum };
        }
        for lane in 0..LANES {
            self.min[lane] = if x[lane] < self.min[lane] { x[lane] } else { self.min[lane] };
        }
        for lane in 0..LANES {
            self.max[lane] = if x[lane] > self.max[lane] { x[lane] } else { self.max[lane] };
        }
    }
}

#[derive(Clone, Copy)]
struct SecondPass {
    mean: f64,
    differences: [f64; LANES],
    squares: [f64; LANES],
}

impl Accumulator for SecondPass {
    #[inline(always)]
    fn step(&mut self, x: &[f64; LANES]) {
        let mut difference = [0.0; LANES];
        for lane in 0..LANES {
            difference[lane] = if x[lane].is_nan() { 0.0 } else { x[lane] - self.mean };
        }
        for lane in 0..LANES {
            self.differences[lane] += difference[lane];
        }
        for lane in 0..LANES {
            self.squares[lane] += difference[lane] * difference[lane];
        }
    }
}

/// Finds the first pixel that equals a value. It gives the pixel's own value too: lanes do not remember which of 0.0
/// and -0.0, which are equal, came first.
struct Locate<'a> {
    bytes: &'a [u8],
    tier: Tier,
    value: f64,
}

impl Visitor for Locate<'_> {
    type Output = (usize, f64);
    fn visit<S: Source>(self, source: S) -> (usize, f64) {
        let kernel = LocateKernel { bytes: self.bytes, source, value: self.value };
        let before = isa::dispatch(self.tier, kernel);
        let chunk = &self.bytes[before * S::BYTES..];
        let lanes = source.tail(&chunk[..chunk.len().min(S::CHUNK)]);
        let lane = lanes.iter().position(|&x| x == self.value).unwrap_or(0);
        (before + lane, lanes[lane])
    }
}

/// Gives the number of pixels before the chunk that has the value.
struct LocateKernel<'a, S> {
    bytes: &'a [u8],
    source: S,
    value: f64,
}

impl<S: Source> Kernel for LocateKernel<'_, S> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let mut before = 0;
        for chunk in self.bytes.chunks_exact(S::CHUNK) {
            let x = self.source.lanes(chunk);
            let mut any = false;
            for lane in 0..LANES {
                any |= x[lane] == self.value;
            }
            if any {
                break;
            }
            before += LANES;
        }
        before
    }
}
