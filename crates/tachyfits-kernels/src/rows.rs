//! Reductions across rows: many outputs side by side, each fed one pixel per row (the image of a channel range, say).
//!
//! A state holds one array per quantity, indexed by output. Rows are added in order, so the bits of an output depend on
//! the order of rows alone. A row is decoded a piece at a time into the first-level cache, and a flat loop over the
//! piece updates the quantities: elementwise loops of this form vectorise on every tier, where a loop over blocks of
//! lanes was turned into gathers (rustc 1.95 with AVX-512, 7 GB/s instead of 50).

mod common_rows;
pub(crate) mod extrema_rows;
pub(crate) mod moment_rows;
pub(crate) mod slab;
pub(crate) mod spectral_rows;

pub use extrema_rows::ExtremaRows;
pub use moment_rows::MomentRows;
pub use spectral_rows::SpectralRows;

use crate::common_value::Common;
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};
use common_rows::CommonRows;

/// Outputs whose states stay in the first-level cache while the rows of a slab pass over them.
pub const TILE_PIXELS: usize = 1024;

/// Pixels of a row that are decoded at a time.
const DECODED: usize = 256;

/// Takes a piece of a row: the pixels of the outputs from `at` on.
pub(crate) trait RowStep {
    fn step(&mut self, at: usize, x: &[f64]);
}

/// Adds one row whose pixels go to the outputs from `at` on.
fn add_row<T: RowStep>(bytes: &[u8], encoding: &Encoding, tier: Tier, at: usize, step: T) {
    encoding.visit(OnRow { bytes, tier, at, step });
}

pub(crate) struct OnRow<'a, T> {
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

pub(crate) struct RowKernel<'a, S, T> {
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
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, SumRows, Tier};
/// let mut image = SumRows::new(3);
/// for row in [[1, 2, 3], [10, 20, 30]] {
///     image.accumulate(0, &row, &Encoding::plain(PixelType::U8), Tier::SCALAR);
/// }
/// assert_eq!((image.count(), image.sum()), (&[2, 2, 2][..], &[11.0, 22.0, 33.0][..]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SumRows {
    count: Vec<u64>,
    sum: Vec<f64>,
    common: CommonRows,
}

impl SumRows {
    /// States of `outputs` empty outputs.
    pub fn new(outputs: usize) -> SumRows {
        SumRows {
            count: vec![0; outputs],
            sum: vec![0.0; outputs],
            common: CommonRows::new(outputs),
        }
    }

    /// Adds a row: its pixels go to the outputs from `at` on.
    pub fn accumulate(&mut self, at: usize, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        self.common.accumulate(at, bytes, encoding, tier);
        let step = SumStep { count: &mut self.count, sum: &mut self.sum };
        add_row(bytes, encoding, tier, at, step);
    }

    /// Adds the states of later rows.
    pub fn merge(&mut self, later: &SumRows) {
        add_all(&mut self.count, &later.count);
        add_all(&mut self.sum, &later.sum);
        self.common.merge(&later.common);
    }

    /// Defined pixels of each output.
    pub fn count(&self) -> &[u64] {
        &self.count
    }

    /// Sum of each output.
    pub fn sum(&self) -> &[f64] {
        &self.sum
    }

    /// The common value of the defined pixels of an output; not computed where sums are exact.
    pub fn common(&self, output: usize) -> Common {
        self.common.get(output)
    }
}

pub(crate) struct SumStep<'a> {
    count: &'a mut [u64],
    sum: &'a mut [f64],
}

impl RowStep for SumStep<'_> {
    #[inline(always)]
    fn step(&mut self, at: usize, x: &[f64]) {
        let outputs = at..at + x.len();
        let (count, sum) = (&mut self.count[outputs.clone()], &mut self.sum[outputs]);
        for at in 0..x.len() {
            count[at] = count[at].wrapping_add(u64::from(!x[at].is_nan()));
        }
        for at in 0..x.len() {
            sum[at] += if x[at].is_nan() { 0.0 } else { x[at] };
        }
    }
}

/// Adds one array to another.
fn add_all<T: Copy + std::ops::AddAssign>(to: &mut [T], from: &[T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to += from;
    }
}
