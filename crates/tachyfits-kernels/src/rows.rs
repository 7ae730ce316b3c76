//! Reductions across rows: many outputs, each of which has one pixel per row (for example the image of a channel
//! range).
//!
//! A state has one array per quantity, indexed by output. Rows come in slabs and are added in order, so the bits of an
//! output depend only on the order of rows.

mod common_rows;
pub(crate) mod extrema_rows;
pub(crate) mod moment_rows;
pub(crate) mod slab;
pub(crate) mod spectral_rows;
pub(crate) mod sum_rows;

pub use extrema_rows::ExtremaRows;
pub use moment_rows::MomentRows;
pub use spectral_rows::SpectralRows;
pub use sum_rows::SumRows;

/// Adds one array to another.
fn add_all<T: Copy + std::ops::AddAssign>(to: &mut [T], from: &[T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to += from;
    }
}
