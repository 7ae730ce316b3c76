//! IEEE numbers of 2 and of 16 bytes, which no processor here computes with and FITS does not have, as float64.
//!
//! Reals of 2 bytes are exact in float64. Reals of 16 bytes are rounded once, to nearest with ties
//! to even, as the processor rounds float64 to float32.

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
/// If there are not as many bytes as values need.
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
/// If there are not as many bytes as values need.
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
        // A multiple of the least one, 2^-24.
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
        // Of what NaN carries the upper part is kept; none of it must not make it infinite.
        _ if exponent == 0x7fff => {
            f64::NAN.to_bits() | (fraction >> (QUAD_FRACTION - FRACTION)) as u64
        }
        large if large > BIAS => f64::INFINITY.to_bits(),
        power => {
            let significand = fraction | 1 << QUAD_FRACTION;
            // A subnormal number has fewer digits, and its stored exponent is 0.
            let missing = (1 - BIAS - power).max(0) as u32;
            let dropped = QUAD_FRACTION - FRACTION + missing;
            // The first digit carries 1 into the exponent, and so does rounding up to the next power of 2.
            let exponent = (power + BIAS - 1).max(0) as u64;
            (exponent << FRACTION) + rounded(significand, dropped)
        }
    };
    f64::from_bits(sign | magnitude)
}

/// A number without its last binary digits, rounded to the nearest, to even between two.
fn rounded(number: u128, digits: u32) -> u64 {
    // Of 113 digits nothing is left, not even a half.
    if digits > QUAD_FRACTION + 1 {
        return 0;
    }
    let kept = (number >> digits) as u64;
    let rest = number & ((1 << digits) - 1);
    let half = 1 << (digits - 1);
    kept + u64::from(rest > half || (rest == half && kept & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Digits and a power of 2 as a number of 16 bytes, where it has room for them.
    fn quad_of(value: f64) -> u128 {
        let bits = value.to_bits();
        let sign = u128::from(bits >> 63) << 127;
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let (power, fraction) = match exponent {
            0 if fraction == 0 => return sign,
            0 => {
                let above = fraction.leading_zeros() as i32 - 11;
                (1 - BIAS - above, fraction << above & ((1 << 52) - 1))
            }
            0x7ff => (QUAD_BIAS + 1, fraction),
            _ => (exponent - BIAS, fraction),
        };
        sign | ((power + QUAD_BIAS) as u128) << 112 | u128::from(fraction) << 60
    }

    #[test]
    fn every_half_is_its_digits_times_a_power_of_two() {
        for bits in 0..=u16::MAX {
            let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, f64::from(bits & 1023));
            let magnitude = match exponent {
                0 => fraction * 2f64.powi(-24),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
            };
            let expected = if sign == 1 { -magnitude } else { magnitude };
            let mut found = [0.0; 2];
            let bytes = [bits.to_ne_bytes(), bits.to_ne_bytes()].concat();
            decode_halves(&bytes, ByteOrder::Native, &mut found);
            assert!(
                found[0].to_bits() == expected.to_bits() || found[1].is_nan() && expected.is_nan()
            );
        }
    }

    proptest! {
        #[test]
        fn a_quad_that_is_a_float64_is_that_one(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            let found = quad(quad_of(value));
            prop_assert!(found.to_bits() == bits || found.is_nan() && value.is_nan());
        }

        #[test]
        fn a_quad_between_two_is_the_nearer_one(bits in 0..0x7fef_ffff_ffff_ffffu64, above in 0..1u128 << 60) {
            let (low, high) = (f64::from_bits(bits), f64::from_bits(bits + 1));
            // Between neighbours numbers of 16 bytes lie evenly: the middle is the mean of theirs.
            let (from, to) = (quad_of(low), quad_of(high));
            prop_assume!(low >= f64::MIN_POSITIVE);
            let middle = from + (to - from) / 2;
            let even = if bits & 1 == 0 { low } else { high };
            prop_assert_eq!(quad(middle), even);
            prop_assert_eq!(quad(middle - 1), low);
            prop_assert_eq!(quad(middle + 1), high);
            let any = from + above % (to - from);
            prop_assert_eq!(quad(any), if any < middle { low } else if any > middle { high } else { even });
            prop_assert_eq!(quad(any | 1 << 127), -quad(any));
        }
    }

    #[test]
    fn the_ends_of_float64() {
        let least = quad_of(f64::from_bits(1));
        // A half of the least one is 0, the even one; what is more is the least one, what is less 0.
        let half = least - (1 << 112);
        assert_eq!((quad(half), quad(half + 1).to_bits(), quad(half - 1)), (0.0, 1, 0.0));
        assert_eq!(quad(1 << 127 | (half - 1)).to_bits(), (-0.0f64).to_bits());
        let one_and_a_half = least + (1 << 111);
        assert_eq!(quad(one_and_a_half).to_bits(), 2);
        assert_eq!(quad(one_and_a_half - 1).to_bits(), 1);
        // The largest subnormal and the least normal one.
        assert_eq!(quad(quad_of(f64::MIN_POSITIVE) - 1), f64::MIN_POSITIVE);
        let most = quad_of(f64::MAX);
        assert_eq!(quad(most + (1 << 59) - 1), f64::MAX);
        assert_eq!(quad(most + (1 << 59)), f64::INFINITY);
        assert_eq!(quad((0x7fff << 112) - 1), f64::INFINITY);
        assert_eq!([quad(0), quad(1), quad(1 << 111)], [0.0; 3]);
        assert!(quad(0x7fff << 112 | 1).is_nan() && quad(0xffff << 112 | 1 << 111).is_nan());
    }
}
