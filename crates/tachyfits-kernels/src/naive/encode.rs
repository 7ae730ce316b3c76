//! Twins of encoding: one value after another, integers exact.

use super::offset;
use crate::{Encoding, PixelType};

/// Twin of [`crate::encode_f64`]: the bytes, and the number of lost values.
pub fn encode_f64(values: &[f64], encoding: &Encoding) -> (Vec<u8>, u64) {
    let mut out = Vec::new();
    let mut lost = 0;
    for &value in values {
        let (bytes, is_lost) = encode(value, encoding);
        out.extend(bytes);
        lost += u64::from(is_lost);
    }
    (out, lost)
}

/// Twin of [`crate::encode_f32`].
pub fn encode_f32(values: &[f32], encoding: &Encoding) -> (Vec<u8>, u64) {
    if encoding.pixel == PixelType::F32 && encoding.scaling.is_none() {
        return (values.iter().flat_map(|x| x.to_bits().to_be_bytes()).collect(), 0);
    }
    let values: Vec<f64> = values.iter().map(|&x| x.into()).collect();
    encode_f64(&values, encoding)
}

/// Returns the bytes of one value, and whether the value is lost.
fn encode(value: f64, encoding: &Encoding) -> (Vec<u8>, bool) {
    let unscaled = match encoding.scaling {
        Some((scale, zero)) => (value - zero) / scale,
        None => value,
    };
    let stays = |stored: f64| {
        if value.is_finite() { stored.is_finite() } else { stored.is_nan() == value.is_nan() }
    };
    match encoding.pixel {
        PixelType::F32 => {
            let rounded = unscaled as f32;
            (rounded.to_be_bytes().to_vec(), !stays(rounded.into()))
        }
        PixelType::F64 => (unscaled.to_be_bytes().to_vec(), !stays(unscaled)),
        _ => integer(value, unscaled, encoding),
    }
}

fn integer(value: f64, unscaled: f64, encoding: &Encoding) -> (Vec<u8>, bool) {
    let bytes = encoding.pixel_bytes();
    let (least, most) = match encoding.pixel {
        PixelType::U8 | PixelType::I8 => (0, 255),
        _ => (-1i128 << (8 * bytes - 1), (1i128 << (8 * bytes - 1)) - 1),
    };
    let blank = encoding.blank.map(i128::from).filter(|blank| (least..=most).contains(blank));
    let (stored, lost) = match blank {
        Some(blank) if value.is_nan() => (blank, false),
        _ => {
            // `as` saturates far outside the range of any pixel, and gives 0 for NaN.
            let exact = (unscaled.round_ties_even() as i128).saturating_sub(offset(encoding.pixel));
            let stored = exact.clamp(least, most);
            (stored, unscaled.is_nan() || stored != exact || Some(stored) == blank)
        }
    };
    (stored.to_be_bytes()[16 - bytes..].to_vec(), lost)
}

/// Twin of [`crate::encode_native`].
pub fn encode_native(bytes: &[u8], pixel: PixelType) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for bytes in bytes.chunks_exact(pixel.bytes()) {
        let mut bytes = bytes.to_vec();
        if cfg!(target_endian = "little") {
            bytes.reverse();
        }
        if offset(pixel) != 0 {
            bytes[0] ^= 0x80;
        }
        out.extend(bytes);
    }
    out
}
