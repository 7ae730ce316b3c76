//! Stored types of pixels in FITS.

use tachyfits_format::{NewImage, StoredType};
use tachyfits_kernels::{Encoding, PixelType};

/// Returns the stored type of pixels, and the scaling of the unsigned and signed-byte conventions
/// (Standard 4.0, table 11).
pub(crate) fn stored_type_of(pixel: PixelType) -> (StoredType, Option<(f64, f64)>) {
    let with_zero = |stored, zero: f64| (stored, Some((1.0, zero)));
    match pixel {
        PixelType::U8 => (StoredType::U8, None),
        PixelType::I8 => with_zero(StoredType::U8, -128.0),
        PixelType::I16 => (StoredType::I16, None),
        PixelType::U16 => with_zero(StoredType::I16, 32_768.0),
        PixelType::I32 => (StoredType::I32, None),
        PixelType::U32 => with_zero(StoredType::I32, 2_147_483_648.0),
        PixelType::I64 => (StoredType::I64, None),
        PixelType::U64 => with_zero(StoredType::I64, 9_223_372_036_854_775_808.0),
        PixelType::F32 => (StoredType::F32, None),
        PixelType::F64 => (StoredType::F64, None),
    }
}

/// Creates a new image with pixels of an encoding.
pub(crate) fn new_image(axes: &[u64], encoding: &Encoding, checksum: bool) -> NewImage {
    let (stored, flip) = stored_type_of(encoding.pixel);
    let scaling = encoding.scaling.or(flip);
    NewImage { axes: axes.to_vec(), stored, scaling, blank: encoding.blank, checksum }
}

/// Whether an integer is within the range of a stored type.
pub(crate) fn holds(stored: StoredType, integer: i64) -> bool {
    match stored {
        StoredType::U8 => u8::try_from(integer).is_ok(),
        StoredType::I16 => i16::try_from(integer).is_ok(),
        StoredType::I32 => i32::try_from(integer).is_ok(),
        StoredType::I64 => true,
        StoredType::F32 | StoredType::F64 => false,
    }
}
