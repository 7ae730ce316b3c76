//! Going over the outputs of a slab sixteen at a time: all its rows for them, with what is accumulated in registers.

use crate::LANES;
use crate::fold::Accumulator;
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};

/// How far ahead in each row the next pixels are fetched: a processor follows fewer streams than a slab has rows. A tenth
/// less time for rows in memory than without; 256 and 1024 bytes are no worse.
const BYTES_AHEAD: usize = 512;

/// What is made of sixteen outputs.
pub(crate) trait ColumnStep {
    /// Takes the outputs from `at` on; those of the column beyond the first `outputs` belong to none. Must be
    /// `#[inline(always)]`, or the tier would not reach it.
    fn column<S: Source>(&mut self, at: usize, outputs: usize, column: &Column<'_, S>);
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
        for output in (0..outputs).step_by(LANES) {
            let column = Column { rows, at: output * S::BYTES, source };
            step.column(first + output, LANES.min(outputs - output), &column);
        }
    }
}

/// Sixteen outputs: the pixels that begin `at` bytes into each row.
pub(crate) struct Column<'a, S> {
    rows: &'a [&'a [u8]],
    at: usize,
    source: S,
}

impl<S: Source> Column<'_, S> {
    /// How many rows there are.
    #[inline(always)]
    pub(crate) fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Gives the pixels of row after row to an accumulator.
    #[inline(always)]
    pub(crate) fn fold<A: Accumulator>(&self, mut accumulator: A) -> A {
        for row in self.rows {
            let chunk = &row[self.at..self.at + S::CHUNK];
            isa::prefetch(chunk, BYTES_AHEAD);
            accumulator.step(&self.source.lanes(chunk));
        }
        accumulator
    }
}
