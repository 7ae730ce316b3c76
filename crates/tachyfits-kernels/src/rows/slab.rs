//! Loops over the outputs of a slab, sixteen columns at a time: their accumulators stay in
//! registers for a few rows, and in the first-level cache for all rows.
//!
//! The distance between rows of a cube is often a power of two; the rows then share a cache set
//! with few ways (for example 12 in the first level, 16 in the second). Processing all rows at once
//! would evict lines before they are used. So a few rows are processed at a time for some columns,
//! while the next rows are fetched (`python -m bench --only 13`).

use crate::LANES;
use crate::fold::Accumulator;
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};

/// Rows processed together.
const ROWS: usize = 4;

/// Columns processed together: their accumulators and rows fit in the first-level cache.
pub(crate) const COLUMNS: usize = 32;

/// Operation on the columns.
pub(crate) trait ColumnStep {
    /// Processes the next columns. Must be `#[inline(always)]`, or the tier would not reach it.
    fn take<S: Source>(&mut self, columns: &Columns<'_, S>);
}

/// Accumulator of a column over rows.
pub(crate) trait RowAccumulator: Copy {
    /// Adds sixteen pixels of a row. Must be `#[inline(always)]`, with one loop per statistic.
    fn row(&mut self, row: usize, x: &[f64; LANES]);
}

impl<A: Accumulator> RowAccumulator for A {
    #[inline(always)]
    fn row(&mut self, _row: usize, x: &[f64; LANES]) {
        self.step(x);
    }
}

/// Runs `step` on the columns of a slab, from the first output on; rows have at least `outputs` pixels each.
pub(crate) fn each_column<T: ColumnStep>(
    outputs: usize,
    rows: &[&[u8]],
    encoding: &Encoding,
    tier: Tier,
    step: &mut T,
) {
    encoding.visit(OnSlab { outputs, rows, tier, step });
}

struct OnSlab<'a, T> {
    outputs: usize,
    rows: &'a [&'a [u8]],
    tier: Tier,
    step: &'a mut T,
}

impl<T: ColumnStep> Visitor for OnSlab<'_, T> {
    type Output = ();
    fn visit<S: Source>(self, source: S) {
        let OnSlab { outputs, rows, tier, step } = self;
        let whole = outputs - outputs % LANES;
        isa::dispatch(tier, SlabKernel { rows, first: 0, outputs: whole, source, step });
        if whole < outputs {
            // The last pixels of each row, padded to sixteen.
            let mut padded = vec![0; rows.len() * S::CHUNK];
            for (padded, row) in padded.chunks_exact_mut(S::CHUNK).zip(rows) {
                let rest = &row[whole * S::BYTES..outputs * S::BYTES];
                padded[..rest.len()].copy_from_slice(rest);
            }
            let rows: Vec<&[u8]> = padded.chunks_exact(S::CHUNK).collect();
            let rest =
                SlabKernel { rows: &rows, first: whole, outputs: outputs - whole, source, step };
            isa::dispatch(tier, rest);
        }
    }
}

/// Kernel that loops over the columns of rows, which begin with the output `first`. The operation on a column is part
/// of the kernel: a call per column took a quarter of the time.
pub(crate) struct SlabKernel<'a, S, T> {
    rows: &'a [&'a [u8]],
    first: usize,
    outputs: usize,
    source: S,
    step: &'a mut T,
}

impl<S: Source, T: ColumnStep> Kernel for SlabKernel<'_, S, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let SlabKernel { rows, first, outputs, source, step } = self;
        for output in (0..outputs).step_by(COLUMNS * LANES) {
            let outputs = (COLUMNS * LANES).min(outputs - output);
            let at = output * S::BYTES;
            step.take(&Columns { rows, first: first + output, outputs, at, source });
        }
    }
}

/// Group of columns: the pixels `at` bytes after the start of each row.
pub(crate) struct Columns<'a, S> {
    rows: &'a [&'a [u8]],
    /// First output.
    pub(crate) first: usize,
    /// Number of outputs; further lanes of the last column are padding.
    pub(crate) outputs: usize,
    at: usize,
    source: S,
}

impl<S: Source> Columns<'_, S> {
    /// Returns the number of rows.
    #[inline(always)]
    pub(crate) fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Returns the number of columns.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.outputs.div_ceil(LANES)
    }

    /// Iterates over the columns: the first output of each, and its number of outputs.
    #[inline(always)]
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let (first, outputs) = (self.first, self.outputs);
        (0..outputs).step_by(LANES).map(move |at| (first + at, LANES.min(outputs - at)))
    }

    /// Returns the same columns of the first rows.
    #[inline(always)]
    pub(crate) fn first_rows(&self, rows: usize) -> Columns<'_, S> {
        Columns { rows: &self.rows[..rows.min(self.rows.len())], ..*self }
    }

    /// Adds the pixels of each row in turn to the accumulator of each column.
    #[inline(always)]
    pub(crate) fn fold<A: RowAccumulator>(&self, accumulators: &mut [A; COLUMNS]) {
        let accumulators = &mut accumulators[..self.count()];
        let (groups, rest) = self.rows.as_chunks::<ROWS>();
        for (group, rows) in groups.iter().enumerate() {
            // The last rows are followed by the first rows of the next columns.
            let (next, ahead) = match groups.get(group + 1) {
                Some(next) => (next, 0),
                None => (&groups[0], COLUMNS * S::CHUNK),
            };
            for (column, column_accumulator) in accumulators.iter_mut().enumerate() {
                let bytes = self.at + column * S::CHUNK..self.at + (column + 1) * S::CHUNK;
                let mut accumulator = *column_accumulator;
                for row in 0..ROWS {
                    isa::prefetch(&next[row][bytes.clone()], ahead);
                    let lanes = self.source.lanes(&rows[row][bytes.clone()]);
                    accumulator.row(group * ROWS + row, &lanes);
                }
                *column_accumulator = accumulator;
            }
        }
        for (row, bytes) in rest.iter().enumerate() {
            let chunks = bytes[self.at..].chunks_exact(S::CHUNK);
            for (column_accumulator, chunk) in accumulators.iter_mut().zip(chunks) {
                let mut accumulator = *column_accumulator;
                accumulator.row(groups.len() * ROWS + row, &self.source.lanes(chunk));
                *column_accumulator = accumulator;
            }
        }
    }
}
