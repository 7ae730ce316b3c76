//! Loops over the outputs of a slab, sixteen columns at a time: their accumulators stay in
//! registers for a few rows, and in the first-level cache for all rows.
//!
//! Rows of a cube are often a power of two apart, and then share a cache set with few ways (12 in
//! the first level, 16 in the second, for example). Processing all rows at once would evict lines
//! before they are used. So a few rows are processed at a time for some columns, while the next
//! rows are fetched (`python -m bench --only 13`).

use crate::LANES;
use crate::fold::Accumulator;
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};

/// Rows processed together.
const ROWS: usize = 4;

/// Columns for which they are: what is accumulated for them, and the rows, fit in the first-level cache.
pub(crate) const COLUMNS: usize = 32;

/// The operation on the columns.
pub(crate) trait ColumnStep {
    /// Takes the next columns. Must be `#[inline(always)]`, or the tier would not reach it.
    fn take<S: Source>(&mut self, columns: &Columns<'_, S>);
}

/// Accumulator of a column, row after row.
pub(crate) trait RowAccumulator: Copy {
    /// Takes sixteen pixels of a row. Must be `#[inline(always)]`, with one loop per statistic.
    fn row(&mut self, row: usize, x: &[f64; LANES]);
}

impl<A: Accumulator> RowAccumulator for A {
    #[inline(always)]
    fn row(&mut self, _row: usize, x: &[f64; LANES]) {
        self.step(x);
    }
}

/// Hands over the columns of a slab, whose rows have at least `outputs` pixels each, from the first output on.
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
            // The last pixels of each row, made up to sixteen with pixels that belong to no output.
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

/// The loop over columns of rows that begin with the output `first`. It is one kernel with what is done for a column: a call
/// for each took a quarter of the time.
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

/// Some columns: the pixels that begin `at` bytes into each row.
pub(crate) struct Columns<'a, S> {
    rows: &'a [&'a [u8]],
    /// The first output.
    pub(crate) first: usize,
    /// How many outputs there are; the lanes of the last column beyond them belong to none.
    pub(crate) outputs: usize,
    at: usize,
    source: S,
}

impl<S: Source> Columns<'_, S> {
    /// How many rows there are.
    #[inline(always)]
    pub(crate) fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// How many columns there are.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.outputs.div_ceil(LANES)
    }

    /// The first output of each column, and how many it has.
    #[inline(always)]
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let (first, outputs) = (self.first, self.outputs);
        (0..outputs).step_by(LANES).map(move |at| (first + at, LANES.min(outputs - at)))
    }

    /// The same columns of the first rows alone.
    #[inline(always)]
    pub(crate) fn first_rows(&self, rows: usize) -> Columns<'_, S> {
        Columns { rows: &self.rows[..rows.min(self.rows.len())], ..*self }
    }

    /// Gives the pixels of row after row to the accumulator of each column.
    #[inline(always)]
    pub(crate) fn fold<A: RowAccumulator>(&self, accumulators: &mut [A; COLUMNS]) {
        let accumulators = &mut accumulators[..self.count()];
        let (groups, rest) = self.rows.as_chunks::<ROWS>();
        for (group, rows) in groups.iter().enumerate() {
            // After the last rows come the first ones, of the next columns.
            let (next, ahead) = match groups.get(group + 1) {
                Some(next) => (next, 0),
                None => (&groups[0], COLUMNS * S::CHUNK),
            };
            for (column, kept) in accumulators.iter_mut().enumerate() {
                let bytes = self.at + column * S::CHUNK..self.at + (column + 1) * S::CHUNK;
                let mut accumulator = *kept;
                for row in 0..ROWS {
                    isa::prefetch(&next[row][bytes.clone()], ahead);
                    let lanes = self.source.lanes(&rows[row][bytes.clone()]);
                    accumulator.row(group * ROWS + row, &lanes);
                }
                *kept = accumulator;
            }
        }
        for (row, bytes) in rest.iter().enumerate() {
            let chunks = bytes[self.at..].chunks_exact(S::CHUNK);
            for (kept, chunk) in accumulators.iter_mut().zip(chunks) {
                let mut accumulator = *kept;
                accumulator.row(groups.len() * ROWS + row, &self.source.lanes(chunk));
                *kept = accumulator;
            }
        }
    }
}
