//! Folding pixels into accumulators of [`LANES`] lanes: the loop that every whole-array reduction shares.
//!
//! The accumulator is passed and returned by value, and a separate function, never inlined, adds the last pixels, fewer
//! than a chunk. Both matter: with the tail in the same function, rustc 1.95 keeps the lanes in memory and falls back
//! to scalar code (with f32 on every tier; the assembly test checks this).
#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};
use crate::{LANES, LEAF_PIXELS, RUN_CHUNKS};

/// Accumulators of [`LANES`] lanes.
pub(crate) trait Accumulator: Copy {
    /// Adds up to sixteen pixels, the first to lane 0. Must be `#[inline(always)]`, with one loop per statistic: the
    /// compiler does not vectorise statistics interleaved per pixel on some tiers.
    fn step(&mut self, x: &[f64]);

    /// Returns the lanes that are added plainly within a run of [`RUN_CHUNKS`] chunks and pairwise between runs; `None`
    /// if lanes are added plainly throughout. The lanes must be 0.0 before the first step.
    #[inline(always)]
    fn sums(&mut self) -> Option<&mut [f64; LANES]> {
        None
    }
}

/// Levels in the pairwise sum of a leaf's runs.
const LEVELS: usize = (LEAF_PIXELS / (LANES * RUN_CHUNKS)).ilog2() as usize + 1;

/// Pairwise sum of runs: each level holds the sum of a power of two of runs, or is unused. The rounding error grows
/// with the logarithm of the number of pixels, and equal runs are added without error (N. J. Higham, "The accuracy of
/// floating point summation", 1993).
pub(crate) struct PairwiseRuns {
    levels: [[f64; LANES]; LEVELS],
    runs: usize,
}

impl PairwiseRuns {
    #[inline(always)]
    pub(crate) fn new() -> PairwiseRuns {
        PairwiseRuns { levels: [[0.0; LANES]; LEVELS], runs: 0 }
    }

    /// Ends a run if `chunk`, a number within the leaf, is its last chunk.
    #[inline(always)]
    pub(crate) fn after_chunk(&mut self, chunk: usize, sums: Option<&mut [f64; LANES]>) {
        if let Some(sums) = sums
            && chunk % RUN_CHUNKS == RUN_CHUNKS - 1
        {
            rarely();
            self.end_run(sums);
        }
    }

    /// Adds the lanes of a run to the levels, and resets the lanes to 0.0.
    #[inline(always)]
    fn end_run(&mut self, sums: &mut [f64; LANES]) {
        let mut level = 0;
        while (self.runs >> level) & 1 == 1 {
            self.add_level(level, sums);
            level += 1;
        }
        self.levels[level] = *sums;
        *sums = [0.0; LANES];
        self.runs += 1;
    }

    /// Adds all runs to the lanes of the last one.
    #[inline(always)]
    pub(crate) fn finish(&self, sums: Option<&mut [f64; LANES]>) {
        let Some(sums) = sums else { return };
        for level in 0..LEVELS {
            if (self.runs >> level) & 1 == 1 {
                self.add_level(level, sums);
            }
        }
    }

    #[inline(always)]
    fn add_level(&self, level: usize, sums: &mut [f64; LANES]) {
        for lane in 0..LANES {
            sums[lane] += self.levels[level][lane];
        }
    }
}

/// Marks a branch of a loop as rare, so that the lanes stay in registers in the other branches.
#[cold]
fn rarely() {}

/// Folds the pixels of `bytes` into `accumulator`: at most one leaf if it sums runs.
pub(crate) fn fold<A: Accumulator>(
    bytes: &[u8],
    encoding: &Encoding,
    tier: Tier,
    accumulator: A,
) -> A {
    encoding.visit(Fold { bytes, tier, accumulator })
}

struct Fold<'a, A> {
    bytes: &'a [u8],
    tier: Tier,
    accumulator: A,
}

impl<A: Accumulator> Visitor for Fold<'_, A> {
    type Output = A;
    fn visit<S: Source>(self, source: S) -> A {
        let chunks = self.bytes.chunks_exact(S::CHUNK);
        let rest = chunks.remainder();
        let bytes = &self.bytes[..self.bytes.len() - rest.len()];
        let kernel = FoldKernel { bytes, source, accumulator: self.accumulator };
        let accumulator = isa::dispatch(self.tier, kernel);
        if rest.is_empty() {
            return accumulator;
        }
        fold_tail(&source.tail(rest)[..rest.len() / S::BYTES], accumulator)
    }
}

/// Kernel that folds bytes.
pub(crate) struct FoldKernel<'a, S, A> {
    bytes: &'a [u8],
    source: S,
    accumulator: A,
}

impl<S: Source, A: Accumulator> Kernel for FoldKernel<'_, S, A> {
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        let mut accumulator = self.accumulator;
        let mut runs = PairwiseRuns::new();
        for (number, chunk) in self.bytes.chunks_exact(S::CHUNK).enumerate() {
            isa::prefetch(chunk, isa::PAGE_AHEAD);
            accumulator.step(&self.source.lanes(chunk));
            runs.after_chunk(number, accumulator.sums());
        }
        runs.finish(accumulator.sums());
        accumulator
    }
}

/// Folds decoded pixels, in the same order and with the same bits as [`fold`].
pub(crate) fn fold_decoded<A: Accumulator>(values: &[f64], tier: Tier, accumulator: A) -> A {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let accumulator = isa::dispatch(tier, DecodedKernel { chunks, accumulator });
    if rest.is_empty() { accumulator } else { fold_tail(rest, accumulator) }
}

/// Kernel that folds decoded pixels.
pub(crate) struct DecodedKernel<'a, A> {
    chunks: &'a [[f64; LANES]],
    accumulator: A,
}

impl<A: Accumulator> Kernel for DecodedKernel<'_, A> {
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        let mut accumulator = self.accumulator;
        let mut runs = PairwiseRuns::new();
        for (number, chunk) in self.chunks.iter().enumerate() {
            accumulator.step(chunk);
            runs.after_chunk(number, accumulator.sums());
        }
        runs.finish(accumulator.sums());
        accumulator
    }
}

/// Adds the last pixels, fewer than a chunk.
#[inline(never)]
pub(crate) fn fold_tail<A: Accumulator>(rest: &[f64], mut accumulator: A) -> A {
    accumulator.step(rest);
    accumulator
}

/// Adds the lanes pairwise, in a fixed order that is part of the result.
pub(crate) fn add_lanes(lanes: &[f64; LANES]) -> f64 {
    let mut lanes = *lanes;
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}
