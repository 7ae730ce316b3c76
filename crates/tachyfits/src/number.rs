//! Number types for the computations of nodes, so that each node is generic over them: native f32
//! and f64, and f32 as stored in a file.

use tachyfits_io::IoError;
use tachyfits_kernels::{
    Encoding, PixelType, Stencil, Tier, decode_f64, encode_f32, smooth_rows_big_endian_f32,
    smooth_rows_f32, smooth_rows_f64,
};
use tachyfits_memory::{self as memory, NoMemory};

use crate::computed::{Feed, Node, NodeScratch, Window};

/// Encoding of computed numbers from pixels of this encoding, at most `gain` times as large: f32
/// for f32 and integers of up to 16 bits, unless scaling exceeds its range; f64 otherwise.
pub(crate) fn float_encoding(from: &Encoding, gain: f64) -> Encoding {
    let fits = largest(from) * gain <= f64::from(f32::MAX);
    // The range of f32 pixels is only known when they are read.
    let in_range = match (from.pixel, from.scaling) {
        (PixelType::F32, None) => true,
        (PixelType::F32, Some((scale, zero))) => scale.abs().max(zero.abs()) <= f64::from(f32::MAX),
        _ => fits,
    };
    Encoding::plain(if is_short(from) && in_range { PixelType::F32 } else { PixelType::F64 })
}

/// Whether every weighted sum of defined pixels fits f32. Requires weights of 0 or more, so that
/// without its undefined pixels, a sum remains a mean of the others.
pub(crate) fn sums_stay_in_f32(from: &Encoding, weights: &[f64]) -> bool {
    let gain: f64 = weights.iter().map(|weight| weight.abs()).sum();
    let positive = weights.iter().all(|&weight| weight >= 0.0);
    // Rounding to the nearest tolerates half a unit in the last place.
    let most = f64::from(f32::MAX) * (1.0 + f64::from(f32::EPSILON) / 8.0);
    is_exact_in_f32(from) && positive && largest(from) * gain <= most
}

/// Whether every finite value of the encoding is within the range of f32.
pub(crate) fn fits_f32(from: &Encoding) -> bool {
    largest(from) <= f64::from(f32::MAX)
}

/// Returns an upper bound on the finite values of the encoding.
fn largest(from: &Encoding) -> f64 {
    let stored = match from.pixel {
        PixelType::F32 => f64::from(f32::MAX),
        PixelType::F64 => f64::MAX,
        _ => 2f64.powi(8 * from.pixel_bytes() as i32),
    };
    let (scale, zero) = from.scaling.unwrap_or((1.0, 0.0));
    zero.abs() + scale.abs() * stored
}

/// Returns the largest difference between values and the integers written for them; 0 if it is only
/// floating-point rounding.
pub(crate) fn rounding(
    values: &[f64],
    from: &Encoding,
    written: &[u8],
    to: &Encoding,
    tier: Tier,
) -> Result<f64, NoMemory> {
    if to.pixel.is_float()
        || (!from.pixel.is_float() && from.scaling.is_none() && to.scaling.is_none())
    {
        return Ok(0.0);
    }
    let unit = if is_short(from) { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let zero = to.scaling.map_or(0.0, |(_, zero)| zero.abs());
    let mut restored = memory::filled(values.len(), 0.0, "the rounding of pixels")?;
    decode_f64(written, to, tier, &mut restored);
    let error = |(&value, &restored): (&f64, &f64)| {
        let error = (value - restored).abs();
        if error > 4.0 * unit * (value.abs() + zero) { error } else { 0.0 }
    };
    Ok(values.iter().zip(&restored).map(error).fold(0.0, f64::max))
}

/// Whether f32 represents every physical value of the encoding exactly.
pub(crate) fn is_exact_in_f32(from: &Encoding) -> bool {
    is_short(from) && from.scaling.is_none()
}

fn is_short(encoding: &Encoding) -> bool {
    encoding.pixel == PixelType::F32 || encoding.pixel_bytes() <= 2
}

/// f32, f64, or the big-endian bytes of f32.
pub(crate) trait Number: Copy + Send + Sync + 'static {
    const NAN: Self;
    /// Converts a number with rounding.
    fn from_f64(value: f64) -> Self;
    /// Takes a buffer of this length with arbitrary content.
    fn take(scratch: &mut NodeScratch, length: usize) -> Result<Vec<Self>, IoError>;
    fn give_back(scratch: &mut NodeScratch, buffer: Vec<Self>);
    /// Computes weighted sums of rows.
    fn smooth(rows: &[&[Self]], stencil: &Stencil<'_>, tier: Tier, out: &mut [Self]);
    /// Computes weighted sums of rows, as big-endian bytes in an encoding of floats.
    fn smooth_into(
        rows: &[&[Self]],
        stencil: &Stencil<'_>,
        encoding: &Encoding,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let mut sums = Self::take(feed.scratch, out.len() / encoding.pixel_bytes())?;
        Self::smooth(rows, stencil, feed.tier, &mut sums);
        Self::encode(&sums, encoding, feed, out)?;
        Self::give_back(feed.scratch, sums);
        Ok(())
    }
    /// Encodes values as big-endian bytes in an encoding of floats.
    fn encode(
        values: &[Self],
        encoding: &Encoding,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError>;
}

/// f32 or f64.
pub(crate) trait Native: Number {
    /// Computes the values of a box.
    fn values(
        node: &dyn Node,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [Self],
    ) -> Result<(), IoError>;
}

macro_rules! number {
    ($type:ty, $take:ident $give_back:ident $values:ident $smooth:ident $encode:ident) => {
        impl Native for $type {
            fn values(
                node: &dyn Node,
                window: &Window,
                feed: &mut Feed<'_>,
                out: &mut [$type],
            ) -> Result<(), IoError> {
                node.$values(window, feed, out)
            }
        }

        impl Number for $type {
            const NAN: $type = <$type>::NAN;
            fn from_f64(value: f64) -> $type {
                value as $type
            }
            fn take(scratch: &mut NodeScratch, length: usize) -> Result<Vec<$type>, IoError> {
                scratch.$take(length)
            }
            fn give_back(scratch: &mut NodeScratch, buffer: Vec<$type>) {
                scratch.$give_back(buffer);
            }
            fn smooth(rows: &[&[$type]], stencil: &Stencil<'_>, tier: Tier, out: &mut [$type]) {
                $smooth(rows, stencil, tier, out);
            }
            fn encode(
                values: &[$type],
                encoding: &Encoding,
                feed: &mut Feed<'_>,
                out: &mut [u8],
            ) -> Result<(), IoError> {
                $encode(values, encoding, feed, out)
            }
        }
    };
}

/// Encodes f32 numbers as floats, which can represent all of them.
fn encode_singles(
    values: &[f32],
    encoding: &Encoding,
    feed: &mut Feed<'_>,
    out: &mut [u8],
) -> Result<(), IoError> {
    let refused = encode_f32(values, encoding, feed.tier, out);
    debug_assert_eq!(refused, 0, "every f32 has an encoding of floats");
    Ok(())
}

fn encode_doubles(
    values: &[f64],
    encoding: &Encoding,
    feed: &mut Feed<'_>,
    out: &mut [u8],
) -> Result<(), IoError> {
    feed.encode(values, encoding, out)
}

number!(f32, f32s give_back_f32s values_f32 smooth_rows_f32 encode_singles);
number!(f64, f64s give_back_f64s values_f64 smooth_rows_f64 encode_doubles);

impl Number for [u8; 4] {
    const NAN: [u8; 4] = f32::NAN.to_be_bytes();
    fn from_f64(value: f64) -> [u8; 4] {
        (value as f32).to_be_bytes()
    }
    fn take(scratch: &mut NodeScratch, length: usize) -> Result<Vec<[u8; 4]>, IoError> {
        scratch.big_endian_f32s(length)
    }
    fn give_back(scratch: &mut NodeScratch, buffer: Vec<[u8; 4]>) {
        scratch.give_back_big_endian_f32s(buffer);
    }
    fn smooth(rows: &[&[[u8; 4]]], stencil: &Stencil<'_>, tier: Tier, out: &mut [[u8; 4]]) {
        smooth_rows_big_endian_f32(rows, stencil, tier, out);
    }
    fn smooth_into(
        rows: &[&[[u8; 4]]],
        stencil: &Stencil<'_>,
        encoding: &Encoding,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        debug_assert_eq!(*encoding, Encoding::plain(PixelType::F32));
        Self::smooth(rows, stencil, feed.tier, out.as_chunks_mut().0);
        Ok(())
    }
    fn encode(
        values: &[[u8; 4]],
        encoding: &Encoding,
        _feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        debug_assert_eq!(*encoding, Encoding::plain(PixelType::F32));
        out.copy_from_slice(values.as_flattened());
        Ok(())
    }
}
