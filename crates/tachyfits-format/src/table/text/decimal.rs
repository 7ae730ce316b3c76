//! Exact conversion between decimal and binary in 128-bit integers, rounded once, halves to even. `None` if an exponent
//! is too large for it.

/// 5^27 is the largest power of 5 below 2^63.
const MOST_FIVES: u32 = 27;

/// 10^0 to 10^22: the powers that f64 represents exactly.
const FLOAT_TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// 10^0 to 10^18.
pub(super) const TENS: [u64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = 10 * powers[at - 1];
        at += 1;
    }
    powers
};

const FIVES: [u64; MOST_FIVES as usize + 1] = {
    let mut powers = [1; MOST_FIVES as usize + 1];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = 5 * powers[at - 1];
        at += 1;
    }
    powers
};

/// Returns the f64 nearest to `digits` times 10 to the power of `exponent`.
#[inline(always)]
pub(super) fn to_f64(digits: u64, exponent: i32) -> Option<f64> {
    let power = exponent.unsigned_abs();
    if digits < 1 << 53 && power < FLOAT_TENS.len() as u32 {
        // Both operands are exact, so the single operation rounds once.
        let ten = FLOAT_TENS[power as usize];
        return Some(if exponent < 0 { digits as f64 / ten } else { digits as f64 * ten });
    }
    if digits == 0 {
        return Some(0.0);
    }
    if power > MOST_FIVES {
        return None;
    }
    let five = FIVES[power as usize];
    if exponent >= 0 {
        let exact = u128::from(digits) * u128::from(five);
        return Some(exact as f64 * power_of_two(exponent));
    }
    // Both have their highest bit set, so the quotient has 63 or 64 bits; its lowest bit records a remainder.
    let (above, below) = (digits.leading_zeros(), five.leading_zeros());
    let numerator = u128::from(digits << above) << 63;
    let denominator = u128::from(five << below);
    let quotient = numerator / denominator;
    let rest = u64::from(quotient * denominator != numerator);
    Some(
        (quotient as u64 | rest) as f64 * power_of_two(below as i32 - above as i32 - 63 + exponent),
    )
}

/// Returns 2 to a power within the range of normal numbers.
const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// A finite f64 that is not negative, as `fraction * 2^exponent`.
#[derive(Clone, Copy)]
pub(super) struct Binary {
    fraction: u64,
    exponent: i32,
}

impl Binary {
    #[inline(always)]
    pub(super) const fn new(value: f64) -> Self {
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        match ((bits >> 52) & 0x7ff) as i32 {
            0 => Binary { fraction, exponent: -1074 },
            exponent => Binary { fraction: fraction | 1 << 52, exponent: exponent - 1075 },
        }
    }

    /// Returns the exponent of the largest power of ten not above the number, or less by one or two; unspecified for 0.
    #[inline(always)]
    pub(super) const fn power_of_ten(self) -> i32 {
        let highest_bit = self.exponent + 63 - self.fraction.leading_zeros() as i32;
        // log10(2) is between these over 2^18; the result must not be too large.
        (highest_bit * if highest_bit < 0 { 78_914 } else { 78_913 }) >> 18
    }

    /// Whether the number is less than 10 to the power of -`ten`, for `ten` up to 22.
    pub(super) const fn is_below_ten_to_minus(self, ten: u32) -> bool {
        let exact = self.fraction as u128 * FIVES[ten as usize] as u128;
        exact < 1 << -(self.exponent + ten as i32)
    }

    /// Returns the number times 10 to the power of `ten`, rounded to the nearest integer.
    #[inline(always)]
    pub(super) fn times_ten_to(self, ten: i32) -> Option<u64> {
        let five = *FIVES.get(ten.unsigned_abs() as usize)?;
        let shift = self.exponent + ten;
        if ten >= 0 {
            let exact = u128::from(self.fraction) * u128::from(five);
            return if shift >= 0 { left(exact, shift) } else { Some(right(exact, -shift)?) };
        }
        let (numerator, denominator) = match shift {
            0..=74 => (u128::from(self.fraction) << shift, u128::from(five)),
            -63..0 => (u128::from(self.fraction), u128::from(five) << -shift),
            _ => return None,
        };
        let quotient = numerator / denominator;
        // Both operands are below 2^127.
        let twice = 2 * (numerator - quotient * denominator);
        let up = twice > denominator || (twice == denominator && quotient & 1 == 1);
        u64::try_from(quotient + u128::from(up)).ok()
    }
}

#[inline(always)]
fn left(exact: u128, shift: i32) -> Option<u64> {
    let room = exact.leading_zeros() as i32 - 64;
    (shift <= room).then(|| (exact << shift) as u64)
}

#[inline(always)]
fn right(exact: u128, shift: i32) -> Option<u64> {
    // A number below 2^53 * 5^27 is less than half of this.
    if shift > 120 {
        return Some(0);
    }
    let quotient = exact >> shift;
    let rest = exact - (quotient << shift);
    let half = 1u128 << (shift - 1);
    let up = rest > half || (rest == half && quotient & 1 == 1);
    u64::try_from(quotient + u128::from(up)).ok()
}
