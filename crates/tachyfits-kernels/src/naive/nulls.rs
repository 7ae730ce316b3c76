//! The twin of `decode_elements`.

use super::decode_f64;
use crate::{Encoding, NullCounts, NullRule, PixelType};

/// Decodes element by element; null elements become `value`, or keep the content of `out`. Returns the flags too.
pub fn decode_elements(
    bytes: &[u8],
    encoding: &Encoding,
    rule: NullRule,
    element: PixelType,
    value: Option<u64>,
    out: &mut [u8],
) -> (NullCounts, Vec<u8>) {
    let (size, width) = (encoding.pixel_bytes(), element.bytes());
    let (mut counts, mut flags) = (NullCounts::default(), Vec::new());
    for (pixel, out) in bytes.chunks_exact(size).zip(out.chunks_exact_mut(width)) {
        let is_null = is_null(pixel, encoding, rule);
        flags.push(is_null.into());
        if is_null {
            counts.nulls += 1;
            if let Some(value) = value {
                out.copy_from_slice(&lowest(value, width));
            }
            continue;
        }
        let mut pixel = pixel.to_vec();
        if rule == NullRule::NotFinite && is_small(&pixel, encoding.pixel) {
            pixel.fill(0);
        }
        let encoding = Encoding { blank: None, ..*encoding };
        if encoding.scaling.is_none() && encoding.pixel == element {
            let bits = pixel.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
            let flips =
                matches!(element, PixelType::I8 | PixelType::U16 | PixelType::U32 | PixelType::U64);
            let sign = if flips { 1 << (8 * width - 1) } else { 0 };
            out.copy_from_slice(&lowest(bits ^ sign, width));
            continue;
        }
        let is_zero = rule == NullRule::NotFinite
            && encoding.pixel.is_float()
            && pixel.iter().all(|&byte| byte == 0);
        let decoded = decode_f64(&pixel, &encoding)[0];
        let decoded = match encoding.scaling {
            Some((_, zero)) if is_zero => zero,
            _ => decoded,
        };
        let (bits, is_clipped, is_odd) = match element {
            PixelType::F32 if encoding.scaling.is_none() => {
                (super::decode_f32(&pixel, &encoding)[0].to_bits().into(), false, false)
            }
            PixelType::F32 => ((decoded as f32).to_bits().into(), false, false),
            PixelType::F64 => (decoded.to_bits(), false, false),
            integer => integer_of(decoded, integer),
        };
        counts.clipped += u64::from(is_clipped);
        counts.odd += u64::from(is_odd);
        out.copy_from_slice(&lowest(bits, width));
    }
    (counts, flags)
}

fn is_null(pixel: &[u8], encoding: &Encoding, rule: NullRule) -> bool {
    let plain = Encoding { scaling: None, blank: None, ..*encoding };
    if rule == NullRule::Nothing {
        return false;
    }
    if encoding.pixel.is_float() {
        let value = decode_f64(pixel, &plain)[0];
        return value.is_nan() || (rule == NullRule::NotFinite && value.is_infinite());
    }
    let bits = pixel.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
    let stored = match encoding.pixel {
        PixelType::I16 | PixelType::U16 => (bits as i16).into(),
        PixelType::I32 | PixelType::U32 => (bits as i32).into(),
        _ => bits as i64,
    };
    encoding.blank == Some(stored)
}

/// Whether a float is 0 or subnormal.
fn is_small(pixel: &[u8], kind: PixelType) -> bool {
    let value = decode_f64(pixel, &Encoding::plain(kind))[0].abs();
    match kind {
        PixelType::F32 => value < f32::MIN_POSITIVE.into(),
        PixelType::F64 => value < f64::MIN_POSITIVE,
        _ => false,
    }
}

/// Returns (bits, clipped, odd) of a value as an integer.
fn integer_of(value: f64, kind: PixelType) -> (u64, bool, bool) {
    let (low, high): (i128, i128) = match kind {
        PixelType::U8 => (0, u8::MAX.into()),
        PixelType::I8 => (i8::MIN.into(), i8::MAX.into()),
        PixelType::U16 => (0, u16::MAX.into()),
        PixelType::I16 => (i16::MIN.into(), i16::MAX.into()),
        PixelType::U32 => (0, u32::MAX.into()),
        PixelType::I32 => (i32::MIN.into(), i32::MAX.into()),
        PixelType::U64 => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    };
    let is_wide = kind.bytes() == 8;
    let is_odd = value.is_nan() || (is_wide && value.abs() >= 9_223_372_036_854_774_784.0);
    let is_clipped = value < low as f64 - 0.49 || (!is_wide && value > high as f64 + 0.49);
    let is_clipped = is_clipped && kind != PixelType::I64;
    ((value.trunc() as i128).clamp(low, high) as u64, is_clipped, is_odd)
}

/// Returns the lowest bytes of a word, in the machine's byte order.
fn lowest(bits: u64, width: usize) -> Vec<u8> {
    let bytes = bits.to_be_bytes()[8 - width..].to_vec();
    if cfg!(target_endian = "little") { bytes.into_iter().rev().collect() } else { bytes }
}
