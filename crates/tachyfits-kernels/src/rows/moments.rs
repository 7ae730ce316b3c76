//! Count, mean and second moment over rows.

#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

use super::SumRows;
use super::columns::{Column, ColumnStep, each_column};
use crate::LANES;
use crate::compensated::Compensated;
use crate::fold::Accumulator;
use crate::isa::Tier;
use crate::source::{Encoding, Source};
use crate::sum::{AllLanes, DefinedLanes};

/// Count, sum and second moment per output: rows come in slabs, each read twice while in cache.
///
/// ```
/// use tachyfits_kernels::{Encoding, MomentRows, PixelType, Tier};
/// let encoding = Encoding::plain(PixelType::U8);
/// let mut moments = MomentRows::slab(2, &[&[1, 5], &[3, 5]], &encoding, Tier::SCALAR);
/// moments.merge(&MomentRows::slab(2, &[&[5, 5]], &encoding, Tier::SCALAR));
/// assert_eq!(moments.center(), [3.0, 5.0]);
/// assert_eq!(moments.squares().collect::<Vec<_>>(), [8.0, 0.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MomentRows {
    sums: SumRows,
    /// The mean, as high and low part (see [`crate::Stats`]).
    center: Vec<f64>,
    center_low: Vec<f64>,
    squares: Vec<f64>,
}

impl MomentRows {
    /// States of `outputs` empty outputs.
    pub fn new(outputs: usize) -> MomentRows {
        let zeros = vec![0.0; outputs];
        MomentRows {
            sums: SumRows::new(outputs),
            center: zeros.clone(),
            center_low: zeros.clone(),
            squares: zeros,
        }
    }

    /// The state of one slab: rows of `outputs` pixels each. Slabs are joined by [`MomentRows::merge`].
    pub fn slab(outputs: usize, rows: &[&[u8]], encoding: &Encoding, tier: Tier) -> MomentRows {
        let mut state = MomentRows::new(outputs);
        let mut step = MomentStep { state: &mut state, holes: false };
        each_column(outputs, rows, encoding, tier, &mut step);
        state
    }

    /// Sets `outputs` outputs from `at` on.
    #[inline(always)]
    fn set(&mut self, at: usize, outputs: usize, moments: &Moments) {
        for (lane, output) in (at..at + outputs).enumerate() {
            let n = moments.count[lane];
            self.sums.count[output] = n;
            self.sums.sum[output] = moments.sum[lane];
            if n > 0 {
                // The corrected two-pass formula: what the rounded mean is off by is taken out again.
                let off = moments.differences[lane] / n as f64;
                self.center[output] = moments.mean[lane];
                self.center_low[output] = off;
                let differences = moments.differences[lane];
                self.squares[output] = moments.squares[lane] - differences * differences / n as f64;
            }
        }
    }

    /// Adds the states of later rows, by Chan's formula.
    pub fn merge(&mut self, later: &MomentRows) {
        for output in 0..self.center.len() {
            self.merge_output(later, output);
        }
        self.sums.merge(&later.sums);
    }

    fn merge_output(&mut self, later: &MomentRows, output: usize) {
        let n = self.sums.count[output] as f64;
        let m = later.sums.count[output] as f64;
        if m == 0.0 {
            return;
        }
        let mut center = self.center_of(output);
        if n == 0.0 {
            center = later.center_of(output);
            self.squares[output] = later.squares[output];
        } else {
            let delta = later.center_of(output).minus(center);
            let share = m / (n + m);
            center.add(delta * share);
            self.squares[output] += later.squares[output] + delta * delta * (n * share);
        }
        self.center[output] = center.high;
        self.center_low[output] = center.low;
    }

    fn center_of(&self, output: usize) -> Compensated {
        Compensated { high: self.center[output], low: self.center_low[output] }
    }

    /// Count and sum of each output.
    pub fn sums(&self) -> &SumRows {
        &self.sums
    }

    /// The mean of each output, high part: what squares are about.
    pub fn center(&self) -> &[f64] {
        &self.center
    }

    /// Sum of squared differences from the mean of each output; never negative.
    pub fn squares(&self) -> impl Iterator<Item = f64> {
        self.squares.iter().map(|&x| if x < 0.0 { 0.0 } else { x })
    }
}

/// What each column adds to the state.
pub(crate) struct MomentStep<'a> {
    state: &'a mut MomentRows,
    /// Whether the outputs before had undefined pixels, so that these probably have some, too.
    holes: bool,
}

impl ColumnStep for MomentStep<'_> {
    #[inline(always)]
    fn column<S: Source>(&mut self, at: usize, outputs: usize, column: &Column<'_, S>) {
        self.state.set(at, outputs, &moments(column, &mut self.holes));
    }
}

/// What the two passes give for sixteen outputs.
struct Moments {
    count: [u64; LANES],
    sum: [f64; LANES],
    mean: [f64; LANES],
    differences: [f64; LANES],
    squares: [f64; LANES],
}

/// Both passes over a column; `holes` as in [`MomentStep`].
#[inline(always)]
fn moments<S: Source>(column: &Column<'_, S>, holes: &mut bool) -> Moments {
    let rows = column.rows();
    let mut defined = !*holes;
    let (mut count, mut sum) = ([rows; LANES], [f64::NAN; LANES]);
    if defined {
        sum = column.fold(AllLanes::default()).sum;
        // An undefined pixel makes the sum of its output NaN.
        defined = !sum.iter().any(|sum| sum.is_nan());
    }
    if !defined {
        DefinedLanes { count, sum } = column.fold(DefinedLanes::default());
        defined = count == [rows; LANES];
        *holes = !defined;
    }
    let mut mean = [0.0; LANES];
    for lane in 0..LANES {
        mean[lane] = if count[lane] > 0 { sum[lane] / count[lane] as f64 } else { 0.0 };
    }
    let second = SecondPass { mean, differences: [0.0; LANES], squares: [0.0; LANES] };
    let second =
        if defined { column.fold(second) } else { column.fold(DefinedSecondPass(second)).0 };
    let SecondPass { differences, squares, .. } = second;
    Moments { count, sum, mean, differences, squares }
}

/// Differences of each output from its own mean, and their squares, where every pixel is defined.
#[derive(Clone, Copy)]
pub(crate) struct SecondPass {
    mean: [f64; LANES],
    differences: [f64; LANES],
    squares: [f64; LANES],
}

impl SecondPass {
    #[inline(always)]
    fn add(&mut self, difference: &[f64; LANES]) {
        for lane in 0..LANES {
            self.differences[lane] += difference[lane];
        }
        for lane in 0..LANES {
            self.squares[lane] += difference[lane] * difference[lane];
        }
    }
}

impl Accumulator for SecondPass {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        let mut differences = [0.0; LANES];
        for lane in 0..x.len() {
            differences[lane] = x[lane] - self.mean[lane];
        }
        self.add(&differences);
    }
}

/// The same where some are not: they differ by nothing.
#[derive(Clone, Copy)]
pub(crate) struct DefinedSecondPass(SecondPass);

impl Accumulator for DefinedSecondPass {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        let mut differences = [0.0; LANES];
        for lane in 0..x.len() {
            let difference = x[lane] - self.0.mean[lane];
            differences[lane] = if x[lane].is_nan() { 0.0 } else { difference };
        }
        self.0.add(&differences);
    }
}
