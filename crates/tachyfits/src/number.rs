//! The types of numbers that nodes compute with, so that each is written once for all: native f32 and f64, and f32 as it
//! lies in a file.

use tachyfits_kernels::{
    Encoding, PixelType, Stencil, Tier, encode_f32, encode_f64, smooth_rows_big_endian_f32,
    smooth_rows_f32, smooth_rows_f64,
};

use crate::computed::{Feed, Node, Scratch, Window};

/// What computed numbers are stored as when they come from pixels of this encoding: f32 for those of up to 16 bits and f32,
/// f64 for the others.
pub(crate) fn float_encoding(from: &Encoding) -> Encoding {
    Encoding::plain(if is_short(from) { PixelType::F32 } else { PixelType::F64 })
}

/// Whether every physical value of the encoding is a number of f32.
pub(crate) fn is_exact_in_f32(from: &Encoding) -> bool {
    is_short(from) && from.scaling.is_none()
}

fn is_short(encoding: &Encoding) -> bool {
    encoding.pixel == PixelType::F32 || encoding.pixel_bytes() <= 2
}

/// f32, f64, or the big-endian bytes of f32.
pub(crate) trait Number: Copy + Send + Sync + 'static {
    const NAN: Self;
    /// The number, rounded.
    fn from_f64(value: f64) -> Self;
    /// A buffer of this length with any content.
    fn take(scratch: &mut Scratch, length: usize) -> Vec<Self>;
    fn give_back(scratch: &mut Scratch, buffer: Vec<Self>);
    /// Weighted sums of rows.
    fn smooth(rows: &[&[Self]], stencil: &Stencil<'_>, tier: Tier, out: &mut [Self]);
    /// Weighted sums of rows, as big-endian bytes in an encoding of floats.
    fn smooth_into(
        rows: &[&[Self]],
        stencil: &Stencil<'_>,
        encoding: &Encoding,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) {
        let mut sums = Self::take(feed.scratch, out.len() / encoding.pixel_bytes());
        Self::smooth(rows, stencil, feed.tier, &mut sums);
        Self::encode(&sums, encoding, feed.tier, out);
        Self::give_back(feed.scratch, sums);
    }
    /// Big-endian bytes of the values, in an encoding of floats.
    fn encode(values: &[Self], encoding: &Encoding, tier: Tier, out: &mut [u8]);
}

/// f32 or f64.
pub(crate) trait Native: Number {
    /// The values of a box.
    fn values(node: &dyn Node, window: &Window, feed: &mut Feed<'_>, out: &mut [Self]);
}

macro_rules! number {
    ($type:ty, $take:ident $give_back:ident $values:ident $smooth:ident $encode:ident) => {
        impl Native for $type {
            fn values(node: &dyn Node, window: &Window, feed: &mut Feed<'_>, out: &mut [$type]) {
                node.$values(window, feed, out);
            }
        }

        impl Number for $type {
            const NAN: $type = <$type>::NAN;
            fn from_f64(value: f64) -> $type {
                value as $type
            }
            fn take(scratch: &mut Scratch, length: usize) -> Vec<$type> {
                scratch.$take(length)
            }
            fn give_back(scratch: &mut Scratch, buffer: Vec<$type>) {
                scratch.$give_back(buffer);
            }
            fn smooth(rows: &[&[$type]], stencil: &Stencil<'_>, tier: Tier, out: &mut [$type]) {
                $smooth(rows, stencil, tier, out);
            }
            fn encode(values: &[$type], encoding: &Encoding, tier: Tier, out: &mut [u8]) {
                // Every number has a floating-point encoding.
                let refused = $encode(values, encoding, tier, out);
                debug_assert_eq!(refused, 0);
            }
        }
    };
}

number!(f32, f32s give_back_f32s values_f32 smooth_rows_f32 encode_f32);
number!(f64, f64s give_back_f64s values_f64 smooth_rows_f64 encode_f64);

impl Number for [u8; 4] {
    const NAN: [u8; 4] = f32::NAN.to_be_bytes();
    fn from_f64(value: f64) -> [u8; 4] {
        (value as f32).to_be_bytes()
    }
    fn take(scratch: &mut Scratch, length: usize) -> Vec<[u8; 4]> {
        scratch.big_endian_f32s(length)
    }
    fn give_back(scratch: &mut Scratch, buffer: Vec<[u8; 4]>) {
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
    ) {
        debug_assert_eq!(*encoding, Encoding::plain(PixelType::F32));
        Self::smooth(rows, stencil, feed.tier, out.as_chunks_mut().0);
    }
    fn encode(values: &[[u8; 4]], encoding: &Encoding, _tier: Tier, out: &mut [u8]) {
        debug_assert_eq!(*encoding, Encoding::plain(PixelType::F32));
        out.copy_from_slice(values.as_flattened());
    }
}
