//! Count, mean and second moment over rows.

#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

use super::common_rows::CommonLanes;
use super::slab::{COLUMNS, ColumnStep, Columns, each_column};
use super::sum_rows::{SumPass, SumRows};
use crate::LANES;
use crate::compensated::Compensated;
use crate::fold::Accumulator;
use crate::isa::Tier;
use crate::source::{Encoding, Source};
use crate::sum::DefinedLanes;

/// Count, sum and second moment per output. Rows come in slabs, each read twice while in cache.
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
    /// Mean, as high and low part (see [`crate::Stats`]).
    center: Vec<f64>,
    center_low: Vec<f64>,
    squares: Vec<f64>,
}

impl MomentRows {
    /// Returns the states of `outputs` empty outputs.
    pub fn new(outputs: usize) -> MomentRows {
        let zeros = vec![0.0; outputs];
        MomentRows {
            sums: SumRows::new(outputs),
            center: zeros.clone(),
            center_low: zeros.clone(),
            squares: zeros,
        }
    }

    /// Returns the state of one slab: rows of `outputs` pixels each. [`MomentRows::merge`] combines slabs.
    pub fn slab(outputs: usize, rows: &[&[u8]], encoding: &Encoding, tier: Tier) -> MomentRows {
        let mut state = MomentRows::new(outputs);
        let looks = !encoding.adds_exactly();
        let mut step = MomentStep { state: &mut state, pass: SumPass::default(), looks };
        each_column(outputs, rows, encoding, tier, &mut step);
        state
    }

    /// Sets `outputs` outputs from `at` on to the results of the two passes.
    #[inline(always)]
    fn set(&mut self, at: usize, outputs: usize, sums: &DefinedLanes, second: &RowsSecondPass) {
        for (lane, output) in (at..at + outputs).enumerate() {
            let n = sums.count[lane];
            self.sums.count[output] = n;
            self.sums.sum[output] = sums.sum[lane];
            if n > 0 {
                // Corrected two-pass formula: it removes the rounding error of the mean.
                let differences = second.differences[lane];
                self.center[output] = second.mean[lane];
                self.center_low[output] = differences / n as f64;
                self.squares[output] = second.squares[lane] - differences * differences / n as f64;
            }
        }
    }

    /// Merges the states of later rows, by Chan's formula.
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

    /// Returns count and sum of each output.
    pub fn sums(&self) -> &SumRows {
        &self.sums
    }

    /// Returns the high part of each output's mean, about which the squares are taken.
    pub fn center(&self) -> &[f64] {
        &self.center
    }

    /// Returns the sum of squared differences from the mean of each output; never negative.
    pub fn squares(&self) -> impl Iterator<Item = f64> {
        self.squares.iter().map(|&x| if x < 0.0 { 0.0 } else { x })
    }
}

/// Operation on each column.
pub(crate) struct MomentStep<'a> {
    state: &'a mut MomentRows,
    pass: SumPass,
    /// Whether to search for outputs whose pixels are all equal: their rounded mean may differ from that value.
    looks: bool,
}

impl ColumnStep for MomentStep<'_> {
    #[inline(always)]
    fn take<S: Source>(&mut self, columns: &Columns<'_, S>) {
        let (sums, defined) = self.pass.take(columns);
        let second = sums.map(|sums| RowsSecondPass {
            mean: std::array::from_fn(|lane| match sums.count[lane] {
                0 => 0.0,
                count => sums.sum[lane] / count as f64,
            }),
            differences: [0.0; LANES],
            squares: [0.0; LANES],
        });
        let second = if defined {
            let mut second = second;
            columns.fold(&mut second);
            second
        } else {
            let mut second = second.map(DefinedRowsSecondPass);
            columns.fold(&mut second);
            second.map(|second| second.0)
        };
        let mut common = [CommonLanes::NOT_LOOKED; COLUMNS];
        if self.looks && may_be_constant(&sums, &second, columns.count()) {
            common = [CommonLanes::UNKNOWN; COLUMNS];
            columns.fold(&mut common);
        }
        let results = sums.iter().zip(&second).zip(&common);
        for (((sums, second), common), (first, lanes)) in results.zip(columns.places()) {
            self.state.set(first, lanes, sums, second);
            for lane in 0..lanes {
                let value = if sums.count[lane] == 0 { f64::NAN } else { common.value[lane] };
                self.state.sums.common.set(first + lane, value);
            }
        }
    }
}

/// Whether the pixels of an output differ from their mean by no more than its rounding error: then all may be equal.
#[inline(always)]
fn may_be_constant(
    sums: &[DefinedLanes; COLUMNS],
    second: &[RowsSecondPass; COLUMNS],
    columns: usize,
) -> bool {
    let mut any = false;
    for (sums, second) in sums.iter().zip(second).take(columns) {
        for lane in 0..LANES {
            let n = sums.count[lane] as f64;
            let rounding = n * f64::EPSILON * second.mean[lane];
            any |= (second.squares[lane] <= n * rounding * rounding) & (second.mean[lane] != 0.0);
        }
    }
    any
}

/// Differences from the output's mean, and their squares, if every pixel is defined.
#[derive(Clone, Copy)]
pub(crate) struct RowsSecondPass {
    mean: [f64; LANES],
    differences: [f64; LANES],
    squares: [f64; LANES],
}

impl RowsSecondPass {
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

impl Accumulator for RowsSecondPass {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        let mut differences = [0.0; LANES];
        for lane in 0..x.len() {
            differences[lane] = x[lane] - self.mean[lane];
        }
        self.add(&differences);
    }
}

/// The same for outputs with undefined pixels, which contribute 0.
#[derive(Clone, Copy)]
pub(crate) struct DefinedRowsSecondPass(RowsSecondPass);

impl Accumulator for DefinedRowsSecondPass {
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
