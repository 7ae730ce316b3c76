//! Reductions across rows: many outputs side by side, each fed one pixel per row (the image of a channel range, say).
//!
//! A state holds one array per quantity, indexed by output. Rows are added in order, so the bits of an output depend on
//! the order of rows alone. A row is decoded a tile at a time into the first-level cache, and then each quantity has a
//! flat loop of its own over the tile: elementwise loops of this form vectorise on every tier, where a loop over blocks
//! of lanes was turned into gathers (rustc 1.95 with AVX-512, 7 GB/s instead of 50).

use crate::compensated::Compensated;
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};

/// Outputs whose states stay in the first-level cache while the rows of a slab pass over them.
pub const TILE_PIXELS: usize = 1024;

/// Pixels of a row that are decoded at a time.
const DECODED: usize = 256;

/// Takes a piece of a row: the pixels of the outputs from `at` on.
trait RowStep {
    fn step(&mut self, at: usize, x: &[f64]);
}

/// Adds one row whose pixels go to the outputs from `at` on.
fn add_row<T: RowStep>(bytes: &[u8], encoding: &Encoding, tier: Tier, at: usize, step: T) {
    encoding.visit(OnRow { bytes, tier, at, step });
}

struct OnRow<'a, T> {
    bytes: &'a [u8],
    tier: Tier,
    at: usize,
    step: T,
}

impl<T: RowStep> Visitor for OnRow<'_, T> {
    type Output = ();
    fn visit<S: Source>(self, source: S) {
        isa::dispatch(self.tier, RowKernel { row: self, source });
    }
}

struct RowKernel<'a, S, T> {
    row: OnRow<'a, T>,
    source: S,
}

impl<S: Source, T: RowStep> Kernel for RowKernel<'_, S, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let OnRow { bytes, mut at, mut step, .. } = self.row;
        let mut decoded = [0.0; DECODED];
        for piece in bytes.chunks(DECODED * S::BYTES) {
            let decoded = &mut decoded[..piece.len() / S::BYTES];
            self.source.values(piece, decoded);
            step.step(at, decoded);
            at += decoded.len();
        }
    }
}

/// Count and sum per output.
#[derive(Clone, Debug, PartialEq)]
pub struct SumRows {
    count: Vec<u64>,
    sum: Vec<f64>,
}

impl SumRows {
    /// States of `outputs` empty outputs.
    pub fn new(outputs: usize) -> SumRows {
        SumRows { count: vec![0; outputs], sum: vec![0.0; outputs] }
    }

    /// Adds a row: its pixels go to the outputs from `at` on.
    pub fn accumulate(&mut self, at: usize, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        let step = SumStep { count: &mut self.count, sum: &mut self.sum };
        add_row(bytes, encoding, tier, at, step);
    }

    /// Adds the states of later rows.
    pub fn merge(&mut self, later: &SumRows) {
        add_all(&mut self.count, &later.count);
        add_all(&mut self.sum, &later.sum);
    }

    /// Defined pixels of each output.
    pub fn count(&self) -> &[u64] {
        &self.count
    }

    /// Sum of each output.
    pub fn sum(&self) -> &[f64] {
        &self.sum
    }
}

struct SumStep<'a> {
    count: &'a mut [u64],
    sum: &'a mut [f64],
}

impl RowStep for SumStep<'_> {
    #[inline(always)]
    fn step(&mut self, at: usize, x: &[f64]) {
        let outputs = at..at + x.len();
        for (count, x) in self.count[outputs.clone()].iter_mut().zip(x) {
            *count += u64::from(!x.is_nan());
        }
        for (sum, &x) in self.sum[outputs].iter_mut().zip(x) {
            *sum += if x.is_nan() { 0.0 } else { x };
        }
    }
}

/// Count, sum and second moment per output: rows come in slabs, each read twice while in cache.
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
        for start in (0..outputs).step_by(TILE_PIXELS) {
            let tile = start..outputs.min(start + TILE_PIXELS);
            let bytes = start * encoding.pixel_bytes()..tile.end * encoding.pixel_bytes();
            for row in rows {
                state.sums.accumulate(start, &row[bytes.clone()], encoding, tier);
            }
            tile.clone().for_each(|output| state.set_center(output));
            for row in rows {
                let step = MomentStep {
                    center: &state.center,
                    differences: &mut state.center_low,
                    squares: &mut state.squares,
                };
                add_row(&row[bytes.clone()], encoding, tier, start, step);
            }
            tile.for_each(|output| state.correct(output));
        }
        state
    }

    /// After the first pass: the mean, about which the second pass takes squares.
    fn set_center(&mut self, output: usize) {
        let count = self.sums.count[output];
        if count > 0 {
            self.center[output] = self.sums.sum[output] / count as f64;
        }
    }

    /// After the second pass: takes out what the rounded mean is off by.
    fn correct(&mut self, output: usize) {
        let n = self.sums.count[output] as f64;
        if n > 0.0 {
            let differences = self.center_low[output];
            self.squares[output] -= differences * differences / n;
            self.center_low[output] = differences / n;
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

struct MomentStep<'a> {
    center: &'a [f64],
    differences: &'a mut [f64],
    squares: &'a mut [f64],
}

impl RowStep for MomentStep<'_> {
    #[inline(always)]
    fn step(&mut self, at: usize, x: &[f64]) {
        let outputs = at..at + x.len();
        let mut difference = [0.0; DECODED];
        let difference = &mut difference[..x.len()];
        for ((difference, &x), center) in
            difference.iter_mut().zip(x).zip(&self.center[outputs.clone()])
        {
            *difference = if x.is_nan() { 0.0 } else { x - center };
        }
        for (sum, difference) in self.differences[outputs.clone()].iter_mut().zip(&*difference) {
            *sum += difference;
        }
        for (sum, difference) in self.squares[outputs].iter_mut().zip(&*difference) {
            *sum += difference * difference;
        }
    }
}

/// Minimum and maximum per output, and the number of the row that has each first.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtremaRows {
    min: Vec<f64>,
    max: Vec<f64>,
    min_row: Vec<u64>,
    max_row: Vec<u64>,
}

impl ExtremaRows {
    /// The row number of an output that has no defined pixel.
    pub const NO_ROW: u64 = u64::MAX;

    /// States of `outputs` empty outputs.
    pub fn new(outputs: usize) -> ExtremaRows {
        ExtremaRows {
            min: vec![f64::NAN; outputs],
            max: vec![f64::NAN; outputs],
            min_row: vec![Self::NO_ROW; outputs],
            max_row: vec![Self::NO_ROW; outputs],
        }
    }

    /// Adds row number `row`: its pixels go to the outputs from `at` on.
    pub fn accumulate(
        &mut self,
        at: usize,
        bytes: &[u8],
        encoding: &Encoding,
        tier: Tier,
        row: u64,
    ) {
        let step = ExtremaStep { state: self, row };
        add_row(bytes, encoding, tier, at, step);
    }

    /// Adds the states of later rows.
    pub fn merge(&mut self, later: &ExtremaRows) {
        for output in 0..self.min.len() {
            if beats_min(later.min[output], self.min[output]) {
                self.min[output] = later.min[output];
                self.min_row[output] = later.min_row[output];
            }
            if beats_max(later.max[output], self.max[output]) {
                self.max[output] = later.max[output];
                self.max_row[output] = later.max_row[output];
            }
        }
    }

    /// The smallest defined pixel of each output; NaN where there is none.
    pub fn min(&self) -> &[f64] {
        &self.min
    }

    /// The largest.
    pub fn max(&self) -> &[f64] {
        &self.max
    }

    /// Row of the minimum; [`ExtremaRows::NO_ROW`] where there is none.
    pub fn min_row(&self) -> &[u64] {
        &self.min_row
    }

    /// Row of the maximum.
    pub fn max_row(&self) -> &[u64] {
        &self.max_row
    }
}

struct ExtremaStep<'a> {
    state: &'a mut ExtremaRows,
    row: u64,
}

/// Whether `x` is a new minimum: smaller, or the first that is not NaN.
#[inline(always)]
fn beats_min(x: f64, min: f64) -> bool {
    (x < min) | (min.is_nan() & !x.is_nan())
}

/// Whether `x` is a new maximum.
#[inline(always)]
fn beats_max(x: f64, max: f64) -> bool {
    (x > max) | (max.is_nan() & !x.is_nan())
}

impl RowStep for ExtremaStep<'_> {
    #[inline(always)]
    fn step(&mut self, at: usize, x: &[f64]) {
        let outputs = at..at + x.len();
        let state = &mut *self.state;
        let min = state.min[outputs.clone()].iter_mut();
        let min_row = state.min_row[outputs.clone()].iter_mut();
        for ((min, row), &x) in min.zip(min_row).zip(x) {
            let wins = beats_min(x, *min);
            *min = if wins { x } else { *min };
            *row = if wins { self.row } else { *row };
        }
        let max = state.max[outputs.clone()].iter_mut();
        let max_row = state.max_row[outputs].iter_mut();
        for ((max, row), &x) in max.zip(max_row).zip(x) {
            let wins = beats_max(x, *max);
            *max = if wins { x } else { *max };
            *row = if wins { self.row } else { *row };
        }
    }
}

/// Sums weighted with powers of a coordinate, per output: what spectral moments are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct SpectralRows {
    count: Vec<u64>,
    sums: [Vec<f64>; 3],
}

impl SpectralRows {
    /// States of `outputs` empty outputs.
    pub fn new(outputs: usize) -> SpectralRows {
        let sums = std::array::from_fn(|_| vec![0.0; outputs]);
        SpectralRows { count: vec![0; outputs], sums }
    }

    /// Adds a row of the coordinate `u`: its pixels go to the outputs from `at` on.
    pub fn accumulate(&mut self, at: usize, bytes: &[u8], encoding: &Encoding, tier: Tier, u: f64) {
        add_row(bytes, encoding, tier, at, SpectralStep { state: self, u });
    }

    /// Adds the states of later rows.
    pub fn merge(&mut self, later: &SpectralRows) {
        add_all(&mut self.count, &later.count);
        for (sum, more) in self.sums.iter_mut().zip(&later.sums) {
            add_all(sum, more);
        }
    }

    /// Defined pixels of each output.
    pub fn count(&self) -> &[u64] {
        &self.count
    }

    /// Sum over rows of pixel times `u` to the power of 0, 1 or 2.
    pub fn sum(&self, power: usize) -> &[f64] {
        &self.sums[power]
    }
}

struct SpectralStep<'a> {
    state: &'a mut SpectralRows,
    u: f64,
}

impl RowStep for SpectralStep<'_> {
    #[inline(always)]
    fn step(&mut self, at: usize, x: &[f64]) {
        let outputs = at..at + x.len();
        let state = &mut *self.state;
        for (count, x) in state.count[outputs.clone()].iter_mut().zip(x) {
            *count += u64::from(!x.is_nan());
        }
        let mut term = [0.0; DECODED];
        let term = &mut term[..x.len()];
        term.copy_from_slice(x);
        for sum in &mut state.sums {
            for ((sum, term), x) in sum[outputs.clone()].iter_mut().zip(&mut *term).zip(x) {
                *sum = if x.is_nan() { *sum } else { *sum + *term };
                *term *= self.u;
            }
        }
    }
}

/// Adds one array to another.
fn add_all<T: Copy + std::ops::AddAssign>(to: &mut [T], from: &[T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to += from;
    }
}
