//! Kernels between bytes and numbers: loops that decode big-endian pixels in registers and consume them there, and
//! loops that encode results.
//!
//! This crate knows pixel types, byte orders and vector tiers. It knows nothing of FITS headers, files or threads.
//! Everything it offers is built from three ideas:
//!
//! * an [`Encoding`] describes the bytes of a pixel and creates a [`Source`], which yields sixteen pixels at a time as
//!   `[f64; LANES]`, undefined ones as NaN;
//! * a kernel is a small safe struct with one `#[inline(always)]` body, generic over the source;
//! * [`isa::dispatch`] runs that body compiled for the chosen [`Tier`].
//!
//! The lane count fixes the bits of a sum, the tier does not: every tier runs the same operations in the same order,
//! without fused multiply-add, so every tier gives the same bits. [`naive`] holds the slow twin of each kernel.

mod byte_order;
mod checksum;
mod columns;
mod common_value;
mod compensated;
mod decode;
mod elementwise;
mod encode;
mod exact;
mod fit;
mod fold;
mod histogram;
mod integers;
pub mod isa;
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub mod machine_code;
pub mod naive;
mod noise;
mod nulls;
mod order_statistics;
mod pixel;
mod quantised;
mod reals;
mod reduction;
mod rice_lanes;
mod rows;
mod source;
mod spectral;
mod stats;
mod stencil;
mod sum;
mod total;
mod transpose;
pub mod wide_integers;

pub use checksum::{OnesComplement, add_words, encode_checksum};
pub use columns::digits::{TEXT_INTEGER_WIDTH, integers_of_text};
pub use columns::transfer::{Transfer, swap_in_place};
pub use columns::values::{
    add_to_real_parts, decode_logical, encode_logical, mark_nulls, narrow_text, pack_bits,
    put_nulls, trim_text, unpack_bits, widen_text,
};
pub use columns::{
    Fields, gather_field_bytes, gather_fields, scatter_field_bytes, scatter_fields, stream_fields,
};
pub use common_value::Common;
pub use compensated::{Compensated, LARGE_UNIT, Unit};
pub use decode::{decode_f32, decode_f64, decode_native, gather, native_in_place};
pub use elementwise::{
    Binary, Operand, Unary, binary, binary_reversed, round_to_f32, select, unary, unify_nan,
};
pub use encode::{encode_f32, encode_f64, encode_native};
pub use fit::{
    BaselineFit, FitFlag, GaussianFit, GaussianModel, MOST_COMPONENTS, MOST_JOINT_ORDER,
    MOST_ORDER, ParameterLimits, exponential,
};
pub use histogram::{Histogram, HistogramRange};
pub use isa::{CACHES_BYTES, Streaming, Tier, UnknownTier, prefetch_all, streaming};
pub use noise::{Noise, NoiseKey, NoiseMeter, NoisePixel};
pub use nulls::{NullCounts, NullOutput, NullRule, decode_elements, finite_in_place};
pub use order_statistics::{
    CellCounts, Cells, KeyBins, KeyCuts, Split, deviate, key_of, split, value_of_key,
};
pub use pixel::{Pixel, PixelType};
pub use quantised::{
    EXACT_ZERO, Quantiser, RANDOM_NUMBERS, dequantise_f32, dequantise_f64, quantise_f32,
    quantise_f64, random_numbers,
};
pub use reals::{decode_halves, decode_quads};
#[cfg(feature = "conformance")]
pub use reduction::MeanAbs;
pub use reduction::{
    Definition, Finish, Needs, OutputState, Reduction, ReductionRows, Shape, Statistic,
    StatisticUnit, StatisticValue, UnknownStatistic,
};
pub use rice_lanes::{RICE_LANES, RicePixel, decode_rice_lanes, has_rice_lanes};
pub use rows::{ExtremaRows, MomentRows, SpectralRows, SumRows};
pub use source::{ByteOrder, Encoding, Source};
pub use spectral::SpectralSum;
pub use stats::{Extremum, Stats};
pub use stencil::{
    BLOCK, Blanks, Blocks, Stencil, smooth_blocks_f64, smooth_rows_big_endian_f32, smooth_rows_f32,
    smooth_rows_f64,
};
pub use sum::Sum;
pub use total::Total;
pub use transpose::transpose;

/// Pixels decoded at a time by a kernel. It fixes the order of every floating-point sum.
pub const LANES: usize = 16;

/// Pixels of a leaf. Within a leaf a kernel makes its second pass while the bytes are in the first-level cache (32 KiB
/// for f64, the widest type); sums are carried from leaf to leaf with compensation.
pub const LEAF_PIXELS: usize = 4096;

/// Chunks of [`LANES`] pixels per run: lanes are added plainly within a run and pairwise between runs. Shorter runs
/// cost time, longer runs digits.
pub(crate) const RUN_CHUNKS: usize = 16;
