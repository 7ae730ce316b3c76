//! Folding pixels into accumulators of [`LANES`] lanes: the loop that every whole-array reduction shares.
//!
//! The accumulator goes in and comes out by value, and the last pixels, fewer than a chunk, are taken by a separate
//! function that is never inlined. Both matter: with the tail in the same function, rustc 1.95 keeps the lanes in
//! memory and falls back to scalar code (seen with f32 on every tier; the assembly test holds the line).

use crate::LANES;
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};

/// Accumulators of [`LANES`] lanes.
pub(crate) trait Accumulator: Copy {
    /// Takes up to sixteen pixels, the first into lane 0. Must be `#[inline(always)]`, with one loop per statistic:
    /// interleaved per pixel, the compiler gives up on vectors for some tiers.
    fn step(&mut self, x: &[f64]);
}

/// Folds the pixels of `bytes` into `accumulator`.
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

/// The loop over bytes.
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
        for chunk in self.bytes.chunks_exact(S::CHUNK) {
            isa::prefetch(chunk, isa::PAGE_AHEAD);
            accumulator.step(&self.source.lanes(chunk));
        }
        accumulator
    }
}

/// Folds pixels that are decoded already: the same order, the same bits.
pub(crate) fn fold_decoded<A: Accumulator>(values: &[f64], tier: Tier, accumulator: A) -> A {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let accumulator = isa::dispatch(tier, DecodedKernel { chunks, accumulator });
    if rest.is_empty() { accumulator } else { fold_tail(rest, accumulator) }
}

/// The loop over decoded pixels.
pub(crate) struct DecodedKernel<'a, A> {
    chunks: &'a [[f64; LANES]],
    accumulator: A,
}

impl<A: Accumulator> Kernel for DecodedKernel<'_, A> {
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        let mut accumulator = self.accumulator;
        for chunk in self.chunks {
            accumulator.step(chunk);
        }
        accumulator
    }
}

/// Takes the last pixels, fewer than a chunk.
#[inline(never)]
pub(crate) fn fold_tail<A: Accumulator>(rest: &[f64], mut accumulator: A) -> A {
    accumulator.step(rest);
    accumulator
}

/// Adds the lanes pairwise, in an order that is part of the result.
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
