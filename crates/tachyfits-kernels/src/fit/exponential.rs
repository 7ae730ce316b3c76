//! Exponential function of negative numbers, sixteen at a time.

use crate::LANES;

/// Adding this to a number below 2^51 leaves the nearest integer in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Natural logarithm of 2 in two parts; products of the first with integers below 2^11 are exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Smallest argument: below it, the result would be denormal and is set to 0.
const LEAST: f64 = -708.0;

/// Inverse factorials from 13 to 0: the terms beyond are below the rounding error for |r| ≤ ln 2 / 2.
const TERMS: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// Computes e to the power of each number, none of which is positive; 0 below -708. Relative errors are below 4e-16.
#[inline(always)]
pub(crate) fn exponentials(numbers: &[f64; LANES]) -> [f64; LANES] {
    let mut results = [0.0; LANES];
    for (result, &number) in results.iter_mut().zip(numbers) {
        let clamped = if number > LEAST { number } else { LEAST };
        let rounded = clamped * std::f64::consts::LOG2_E + ROUND;
        let power = rounded - ROUND;
        let rest = (clamped - power * LN_2_HIGH) - power * LN_2_LOW;
        let mut sum = TERMS[0];
        for term in &TERMS[1..] {
            sum = sum * rest + term;
        }
        // The low bits of `rounded` are the exponent of the power of two.
        let scale = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
        *result = if number > LEAST { sum * scale } else { 0.0 };
    }
    results
}

/// Computes e to the power of a number that is not positive, as the fits do.
///
/// ```
/// use tachyfits_kernels::exponential;
/// assert_eq!((exponential(0.0), exponential(-1000.0)), (1.0, 0.0));
/// assert!((exponential(-1.0) - (-1.0f64).exp()).abs() < 1e-16);
/// ```
pub fn exponential(number: f64) -> f64 {
    exponentials(&[number; LANES])[0]
}
