//! Going over the outputs of a slab sixteen at a time: all its rows for them, with what is accumulated in registers.

use crate::LANES;
use crate::fold::Accumulator;
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};

/// What is made of sixteen outputs.
pub(crate) trait ColumnStep {
    /// Takes the outputs from `at` on; those of the column beyond the first `outputs` belong to none.
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
        for output in (0..whole).step_by(LANES) {
            step.column(output, LANES, &Column { rows, at: output * S::BYTES, source, tier });
        }
        if whole < outputs {
            // The last pixels of each row, made up to sixteen with pixels that belong to no output.
            let mut padded = vec![0; rows.len() * S::CHUNK];
            for (padded, row) in padded.chunks_exact_mut(S::CHUNK).zip(rows) {
                let rest = &row[whole * S::BYTES..outputs * S::BYTES];
                padded[..rest.len()].copy_from_slice(rest);
            }
            let rows: Vec<&[u8]> = padded.chunks_exact(S::CHUNK).collect();
            step.column(whole, outputs - whole, &Column { rows: &rows, at: 0, source, tier });
        }
    }
}

/// Sixteen outputs: the pixels that begin `at` bytes into each row.
pub(crate) struct Column<'a, S> {
    rows: &'a [&'a [u8]],
    at: usize,
    source: S,
    tier: Tier,
}

impl<S: Source> Column<'_, S> {
    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Gives the pixels of row after row to an accumulator.
    pub(crate) fn fold<A: Accumulator>(&self, accumulator: A) -> A {
        let Column { rows, at, source, tier } = *self;
        isa::dispatch(tier, ColumnKernel { rows, at, source, accumulator })
    }
}

/// The loop over the rows of a column.
pub(crate) struct ColumnKernel<'a, S, A> {
    rows: &'a [&'a [u8]],
    at: usize,
    source: S,
    accumulator: A,
}

impl<S: Source, A: Accumulator> Kernel for ColumnKernel<'_, S, A> {
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        let mut accumulator = self.accumulator;
        for row in self.rows {
            let chunk = &row[self.at..self.at + S::CHUNK];
            accumulator.step(&self.source.lanes(chunk));
        }
        accumulator
    }
}
