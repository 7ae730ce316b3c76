//! Fast path of formatting numbers, for typical values; `None` requests the slow path ([`super::slow`]).

use super::decimal::{Binary, TENS};
use super::text_error::TextError;
use crate::table::TextForm;

/// Buffer length for the digits of a 64-bit number, in whole words.
const LONGEST: usize = 24;
/// Maximum decimals of a number in exponent form: with 18 digits, the number before the last rounding fits 64 bits.
const MOST_DECIMALS: u32 = 17;

#[inline(always)]
pub(super) fn integer(value: i64, field: &mut [u8]) -> Result<(), TextError> {
    if short_integer(value, field) { Ok(()) } else { long_integer(value, field) }
}

/// Writes an integer of at most eight digits as one word of eight characters: blanks, an optional minus, digits.
/// Returns false if the integer is longer or the field too narrow.
#[inline(always)]
fn short_integer(value: i64, field: &mut [u8]) -> bool {
    const BLANKS: u64 = 0x2020_2020_2020_2020;
    let size = value.unsigned_abs();
    let (minus, width) = (usize::from(value < 0), field.len());
    if size >= 100_000_000 {
        return false;
    }
    let digits = u64::from_le_bytes(eight(size));
    // The first character is the lowest byte. Zero is written as one digit.
    let zeros = ((digits ^ 0x3030_3030_3030_3030) | 1 << 56).trailing_zeros() as usize / 8;
    // A minus takes one of the eight characters.
    if zeros < minus || 8 - zeros + minus > width {
        return false;
    }
    let before = (1u64 << (8 * zeros)) - 1;
    let sign = u64::from(b' ' ^ b'-') * minus as u64;
    let word = (digits & !before | BLANKS & before) ^ (sign << (8 * zeros) >> 8);
    match width {
        0..4 => field.copy_from_slice(&word.to_le_bytes()[8 - width..]),
        4..8 => {
            // Two halves that overlap in some characters.
            let first = (word >> (8 * (8 - width))) as u32;
            let last = (word >> 32) as u32;
            field[..4].copy_from_slice(&first.to_le_bytes());
            field[width - 4..].copy_from_slice(&last.to_le_bytes());
        }
        _ => {
            fill_with_blanks(field);
            field[width - 8..].copy_from_slice(&word.to_le_bytes());
        }
    }
    true
}

fn long_integer(value: i64, field: &mut [u8]) -> Result<(), TextError> {
    let digits = Digits::new(value.unsigned_abs());
    let mut end = End::new(field);
    end.put(&digits.text[LONGEST - digits.count..]);
    if value < 0 {
        end.put_one(b'-');
    }
    end.finish()
}

#[inline(always)]
pub(super) fn real(
    value: f64,
    form: TextForm,
    decimals: u32,
    field: &mut [u8],
) -> Option<Result<(), TextError>> {
    if !value.is_finite() {
        return None;
    }
    match form {
        TextForm::Fixed => fixed(value, decimals, field),
        TextForm::Double => exponent(value, b'D', decimals, field),
        _ => exponent(value, b'E', decimals, field),
    }
}

/// Writes the form `-12.500`.
fn fixed(value: f64, decimals: u32, field: &mut [u8]) -> Option<Result<(), TextError>> {
    if decimals > MOST_DECIMALS {
        return None;
    }
    let number = Binary::new(value.abs()).times_ten_to(decimals as i32)?;
    let digits = Digits::new(number);
    let decimals = decimals as usize;
    let point = LONGEST - decimals;
    let mut end = End::new(field);
    let minus = usize::from(value.is_sign_negative());
    if decimals > 0 {
        end.put(&digits.text[point..]);
        end.put_one(b'.');
    } else if digits.count + minus < end.room() {
        // The Standard deprecates numbers without a point (Sect. 7.2.5).
        end.put_one(b'.');
    }
    // A zero before the point may be omitted.
    let optional = decimals > 0 && digits.count <= decimals && end.room() == minus;
    if !optional {
        end.put(&digits.text[point.min(LONGEST - digits.count).min(point - 1)..point]);
    }
    if minus > 0 {
        end.put_one(b'-');
    }
    Some(end.finish())
}

/// Writes the form `-1.250E+01`.
fn exponent(
    value: f64,
    letter: u8,
    decimals: u32,
    field: &mut [u8],
) -> Option<Result<(), TextError>> {
    if decimals > MOST_DECIMALS {
        return None;
    }
    let (number, power) = significant(value.abs(), decimals)?;
    if usual(number, power, value.is_sign_negative(), letter, decimals as usize, field) {
        return Some(Ok(()));
    }
    let mut end = End::new(field);
    let size = power.unsigned_abs();
    let pair = |number: u32| [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
    end.put(&pair(size % 100));
    if size >= 100 {
        end.put_one(b'0' + (size / 100) as u8);
    }
    end.put(&[letter, if power < 0 { b'-' } else { b'+' }]);
    let digits = Digits::new(number);
    let point = LONGEST - decimals as usize;
    if decimals > 0 {
        end.put(&digits.text[point..]);
        end.put_one(b'.');
    } else if 1 + usize::from(value.is_sign_negative()) < end.room() {
        end.put_one(b'.');
    }
    end.put_one(digits.text[point - 1]);
    if value.is_sign_negative() {
        end.put_one(b'-');
    }
    Some(end.finish())
}

/// Writes a number with a two-digit exponent into a field with room for a sign: positions are fixed, so digits are
/// written eight at a time without a search. Returns false if the number or the field is not of this kind.
#[inline(always)]
fn usual(
    number: u64,
    power: i32,
    minus: bool,
    letter: u8,
    decimals: usize,
    field: &mut [u8],
) -> bool {
    let width = field.len();
    let minimum = if decimals <= 8 { 12 } else { 20 };
    if !(1..=15).contains(&decimals) || !(minimum..=32).contains(&width) || width < decimals + 7 {
        return false;
    }
    let size = power.unsigned_abs();
    if size > 99 {
        return false;
    }
    fill_with_blanks(field);
    let end = width - 4;
    let low = eight(number % 100_000_000);
    let high = eight(number / 100_000_000);
    if decimals > 8 {
        put_last(&mut field[..end - 8], high, decimals - 8);
    }
    put_last(&mut field[..end], low, decimals.min(8));
    // The digit before the fraction.
    let first = if decimals < 8 { low[7 - decimals] } else { high[15 - decimals] };
    let (tens, ones) = (b'0' + (size / 10) as u8, b'0' + (size % 10) as u8);
    field[end..].copy_from_slice(&[letter, if power < 0 { b'-' } else { b'+' }, tens, ones]);
    let start = end - decimals - 3;
    field[start] = if minus { b'-' } else { b' ' };
    field[start + 1] = first;
    field[start + 2] = b'.';
    true
}

/// Rounds a number to `decimals` digits after the first; returns it as an integer, with the power of ten of its first
/// digit.
#[inline(always)]
fn significant(value: f64, decimals: u32) -> Option<(u64, i32)> {
    if value == 0.0 {
        return Some((0, 0));
    }
    let binary = Binary::new(value);
    let mut power = binary.power_of_ten();
    if at_least_ten_to(value, power + 1) {
        power += 1;
    }
    loop {
        let number = binary.times_ten_to(decimals as i32 - power)?;
        if number < TENS[decimals as usize + 1] {
            return Some((number, power));
        }
        // The power was too small by one, or rounding reached a power of ten.
        power += 1;
    }
}

/// Whether a number is at least 10 to this power; false if unknown.
#[inline(always)]
fn at_least_ten_to(value: f64, power: i32) -> bool {
    LEAST.get((power + 22) as usize).is_some_and(|least| value >= *least)
}

/// Smallest f64 not below 10^-22, 10^-21, ... 10^22.
const LEAST: [f64; 45] = {
    const NEAREST: [f64; 45] = [
        1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10,
        1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6,
        1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
        1e22,
    ];
    let mut least = NEAREST;
    let mut power = 1;
    while power <= 22 {
        let nearest = NEAREST[22 - power];
        if Binary::new(nearest).is_below_ten_to_minus(power as u32) {
            least[22 - power] = f64::from_bits(nearest.to_bits() + 1);
        }
        power += 1;
    }
    least
};

/// Writes the last `count` of eight digits at the end of a field.
#[inline(always)]
fn put_last(field: &mut [u8], digits: [u8; 8], count: usize) {
    let blank = u64::MAX.checked_shr(8 * count as u32).unwrap_or(0);
    let word = (u64::from_le_bytes(digits) & !blank) | (0x2020_2020_2020_2020 & blank);
    if let Some(last) = field.last_chunk_mut() {
        *last = word.to_le_bytes();
    }
}

/// Fills with blanks; inlined, because a field has few characters.
#[inline(always)]
fn fill_with_blanks(field: &mut [u8]) {
    match field.len() {
        16..=32 => {
            field[..16].copy_from_slice(&[b' '; 16]);
            let start = field.len() - 16;
            field[start..].copy_from_slice(&[b' '; 16]);
        }
        8..16 => {
            field[..8].copy_from_slice(&[b' '; 8]);
            let start = field.len() - 8;
            field[start..].copy_from_slice(&[b' '; 8]);
        }
        _ => field.fill(b' '),
    }
}

/// The decimal digits of a number at the end of a text, with leading zeros.
struct Digits {
    text: [u8; LONGEST],
    /// Number of digits, at least 1.
    count: usize,
}

impl Digits {
    #[inline(always)]
    fn new(number: u64) -> Self {
        const EIGHT: u64 = 100_000_000;
        let mut text = [b'0'; LONGEST];
        let (above, low) = (number / EIGHT, number % EIGHT);
        text[16..].copy_from_slice(&eight(low));
        if above > 0 {
            let (above, middle) = (above / EIGHT, above % EIGHT);
            text[8..16].copy_from_slice(&eight(middle));
            if above > 0 {
                text[..8].copy_from_slice(&eight(above));
            }
        }
        Digits { text, count: number.checked_ilog10().unwrap_or(0) as usize + 1 }
    }
}

/// Returns the eight digits of a number: splits it into fours, fours into pairs and pairs into digits, in parallel
/// lanes.
#[inline(always)]
const fn eight(number: u64) -> [u8; 8] {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // Divides numbers below 10 000 by 100, and numbers below 100 by 10, by multiplication.
    let hundredths = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundredths | ((fours - 100 * hundredths) << 16);
    let tenths = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    let digits = tenths | ((pairs - 10 * tenths) << 8);
    (digits | 0x3030_3030_3030_3030).to_le_bytes()
}

/// Writes a field from its end.
pub(super) struct End<'a> {
    field: &'a mut [u8],
    /// Characters not yet written.
    free: usize,
    full: bool,
}

impl<'a> End<'a> {
    #[inline(always)]
    pub(super) fn new(field: &'a mut [u8]) -> Self {
        End { free: field.len(), field, full: false }
    }

    /// Number of characters not yet written.
    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        self.free
    }

    #[inline(always)]
    pub(super) fn put(&mut self, text: &[u8]) {
        match self.free.checked_sub(text.len()) {
            Some(start) => {
                self.field[start..self.free].copy_from_slice(text);
                self.free = start;
            }
            None => self.full = true,
        }
    }

    #[inline(always)]
    pub(super) fn put_one(&mut self, character: u8) {
        self.put(&[character]);
    }

    /// Pads the rest with blanks, or fills the field with stars if the number did not fit.
    #[inline(always)]
    pub(super) fn finish(self) -> Result<(), TextError> {
        if self.full {
            return self.refuse(TextError::TooWide);
        }
        self.field[..self.free].fill(b' ');
        Ok(())
    }

    /// Fills the field with stars, and returns the error.
    #[cold]
    pub(super) fn refuse(self, error: TextError) -> Result<(), TextError> {
        self.field.fill(b'*');
        Err(error)
    }
}
