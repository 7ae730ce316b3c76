//! 2-byte and 16-byte numbers, against their definition.

use proptest::prelude::*;
use tachyfits_kernels::{ByteOrder, decode_halves, decode_quads};

/// Bias of the exponent of float64 and of 16-byte numbers.
const BIAS: i32 = 1023;
const QUAD_BIAS: i32 = 16383;

fn quad(bits: u128) -> f64 {
    let mut value = [0.0];
    decode_quads(&bits.to_ne_bytes(), ByteOrder::Native, &mut value);
    value[0]
}

/// Encodes digits and a power of 2 as a 16-byte number, if they fit.
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
        let mut result = [0.0; 2];
        let bytes = [bits.to_ne_bytes(), bits.to_ne_bytes()].concat();
        decode_halves(&bytes, ByteOrder::Native, &mut result);
        assert!(
            result[0].to_bits() == expected.to_bits() || result[1].is_nan() && expected.is_nan()
        );
    }
}

proptest! {
    #[test]
    fn a_quad_that_is_a_float64_is_that_one(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        let result = quad(quad_of(value));
        prop_assert!(result.to_bits() == bits || result.is_nan() && value.is_nan());
    }

    #[test]
    fn a_quad_between_two_is_the_nearer_one(bits in 0..0x7fef_ffff_ffff_ffffu64, above in 0..1u128 << 60) {
        let (low, high) = (f64::from_bits(bits), f64::from_bits(bits + 1));
        // 16-byte numbers are evenly spaced between float64 neighbours: the middle is the mean of their bits.
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
    // Half of the smallest number rounds to the even 0; more rounds to the smallest number, less to 0.
    let half = least - (1 << 112);
    assert_eq!((quad(half), quad(half + 1).to_bits(), quad(half - 1)), (0.0, 1, 0.0));
    assert_eq!(quad(1 << 127 | (half - 1)).to_bits(), (-0.0f64).to_bits());
    let one_and_a_half = least + (1 << 111);
    assert_eq!(quad(one_and_a_half).to_bits(), 2);
    assert_eq!(quad(one_and_a_half - 1).to_bits(), 1);
    // The largest subnormal number rounds to the smallest normal one.
    assert_eq!(quad(quad_of(f64::MIN_POSITIVE) - 1), f64::MIN_POSITIVE);
    let most = quad_of(f64::MAX);
    assert_eq!(quad(most + (1 << 59) - 1), f64::MAX);
    assert_eq!(quad(most + (1 << 59)), f64::INFINITY);
    assert_eq!(quad((0x7fff << 112) - 1), f64::INFINITY);
    assert_eq!([quad(0), quad(1), quad(1 << 111)], [0.0; 3]);
    assert!(quad(0x7fff << 112 | 1).is_nan() && quad(0xffff << 112 | 1 << 111).is_nan());
}
