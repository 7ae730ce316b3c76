//! Decoding of 2-byte and 16-byte IEEE numbers to float64. FITS does not have these types, and processors do not
//! compute with them.
//!
//! 2-byte numbers are exact in float64. 16-byte numbers are rounded once, to nearest with ties to even, as the
//! processor rounds float64 to float32.

use crate::source::ByteOrder;

/// Bits of the fraction of float64, and of numbers of 2 and 16 bytes.
const FRACTION: u32 = 52;
const HALF_FRACTION: u32 = 10;
const QUAD_FRACTION: u32 = 112;

/// Bias of the exponent.
const BIAS: i32 = 1023;
const HALF_BIAS: i32 = 15;
const QUAD_BIAS: i32 = 16383;

/// Decodes numbers of 2 bytes, exactly.
///
/// ```
/// use tachyfits_kernels::{ByteOrder, decode_halves};
/// let mut values = [0.0; 2];
/// decode_halves(&[0x3e, 0x00, 0xfc, 0x00], ByteOrder::BigEndian, &mut values);
/// assert_eq!(values, [1.5, f64::NEG_INFINITY]);
/// ```
///
/// # Panics
/// If `bytes` is not twice as long as `values`.
pub fn decode_halves(bytes: &[u8], order: ByteOrder, values: &mut [f64]) {
    let (pairs, rest) = bytes.as_chunks::<2>();
    assert!(rest.is_empty() && pairs.len() == values.len(), "2 bytes for each value");
    for (value, &pair) in values.iter_mut().zip(pairs) {
        *value = half(match order {
            ByteOrder::BigEndian => u16::from_be_bytes(pair),
            ByteOrder::Native => u16::from_ne_bytes(pair),
        });
    }
}

/// Decodes numbers of 16 bytes, rounded once. Numbers above the range become infinite, numbers
/// below it 0.
///
/// ```
/// use tachyfits_kernels::{ByteOrder, decode_quads};
/// let mut number = [0; 16];
/// number[..3].copy_from_slice(&[0x3f, 0xff, 0x80]);
/// let mut values = [0.0];
/// decode_quads(&number, ByteOrder::BigEndian, &mut values);
/// assert_eq!(values, [1.5]);
/// ```
///
/// # Panics
/// If `bytes` is not 16 times as long as `values`.
pub fn decode_quads(bytes: &[u8], order: ByteOrder, values: &mut [f64]) {
    let (numbers, rest) = bytes.as_chunks::<16>();
    assert!(rest.is_empty() && numbers.len() == values.len(), "16 bytes for each value");
    for (value, &number) in values.iter_mut().zip(numbers) {
        *value = quad(match order {
            ByteOrder::BigEndian => u128::from_be_bytes(number),
            ByteOrder::Native => u128::from_ne_bytes(number),
        });
    }
}

fn half(bits: u16) -> f64 {
    let sign = u64::from(bits >> 15) << 63;
    let exponent = i32::from(bits >> HALF_FRACTION & 0x1f);
    let fraction = u64::from(bits & 0x3ff);
    let magnitude = match exponent {
        // A multiple of the smallest number, 2^-24.
        0 => (fraction as f64 / f64::from(1 << 24)).to_bits(),
        0x1f => 0x7ff << FRACTION | fraction << (FRACTION - HALF_FRACTION),
        _ => {
            let exponent = (exponent - HALF_BIAS + BIAS) as u64;
            exponent << FRACTION | fraction << (FRACTION - HALF_FRACTION)
        }
    };
    f64::from_bits(sign | magnitude)
}

fn quad(bits: u128) -> f64 {
    let sign = ((bits >> 127) as u64) << 63;
    let exponent = (bits >> QUAD_FRACTION) as i32 & 0x7fff;
    let fraction = bits & ((1 << QUAD_FRACTION) - 1);
    let magnitude = match exponent - QUAD_BIAS {
        _ if exponent == 0x7fff && fraction == 0 => f64::INFINITY.to_bits(),
        // Keep the upper part of the NaN payload; a payload of 0 must not turn NaN into infinity.
        _ if exponent == 0x7fff => {
            f64::NAN.to_bits() | (fraction >> (QUAD_FRACTION - FRACTION)) as u64
        }
        large if large > BIAS => f64::INFINITY.to_bits(),
        power => {
            let significand = fraction | 1 << QUAD_FRACTION;
            // A subnormal number has fewer digits, and its stored exponent is 0.
            let missing = (1 - BIAS - power).max(0) as u32;
            let dropped = QUAD_FRACTION - FRACTION + missing;
            // The leading digit carries 1 into the exponent, and so does rounding up to the next power of 2.
            let exponent = (power + BIAS - 1).max(0) as u64;
            (exponent << FRACTION) + rounded(significand, dropped)
        }
    };
    f64::from_bits(sign | magnitude)
}

/// Drops the last binary digits of a number, rounding to nearest, ties to even.
fn rounded(number: u128, digits: u32) -> u64 {
    // All 113 digits are dropped, and the number is less than a half.
    if digits > QUAD_FRACTION + 1 {
        return 0;
    }
    let result = (number >> digits) as u64;
    let rest = number & ((1 << digits) - 1);
    let half = 1 << (digits - 1);
    result + u64::from(rest > half || (rest == half && result & 1 == 1))
}
