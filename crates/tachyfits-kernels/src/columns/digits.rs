//! Integers that tables store as text: many fields at a time, in vector code.
//!
//! The characters of a field are right-aligned in one or two 64-bit words padded with blanks, eight characters each,
//! the first in the lowest byte. Branch-free operations on whole words then locate the sign and the digits, so the
//! words of many fields go through the same few operations in parallel.

#![allow(clippy::needless_range_loop, reason = "indexed loops become vector code on every tier")]

use super::Fields;
use crate::isa::{self, Kernel, Tier};

/// Maximum width of a field for [`integers_of_text`].
pub const TEXT_INTEGER_WIDTH: usize = 16;

/// Fields whose words are processed together: as many as fit in a few vectors.
const GROUP: usize = 64;

/// Returns a word with the same character in every byte.
const fn all(character: u8) -> u64 {
    u64::from_ne_bytes([character; 8])
}

/// Reads the integers in fields of `elements` characters, at most [`TEXT_INTEGER_WIDTH`], as most programs write them:
/// blanks, an optional minus, and digits up to the end of the field; a blank field is 0. `out` receives 64-bit integers
/// in the machine's byte order; its length gives the number of rows. Returns `false` if any field has another form; the
/// content of `out` is then unspecified.
///
/// ```
/// use tachyfits_kernels::{Fields, Tier, integers_of_text};
/// let fields = Fields { offset: 1, stride: 6, elements: 5 };
/// let mut out = [[0; 8]; 3];
/// assert!(integers_of_text(b"   -12|99999|     ", fields, Tier::SCALAR, &mut out));
/// assert_eq!(out.map(i64::from_ne_bytes), [-12, 99999, 0]);
/// let left = Fields { offset: 0, ..fields };
/// assert!(!integers_of_text(b"  12 ", left, Tier::SCALAR, &mut out[..1]));
/// ```
///
/// # Panics
/// If the rows are too short for the fields, or fields are longer than the maximum or overlap the next row's.
pub fn integers_of_text(rows: &[u8], fields: Fields, tier: Tier, out: &mut [[u8; 8]]) -> bool {
    let Fields { offset, stride, elements: width } = fields;
    assert!((1..=TEXT_INTEGER_WIDTH).contains(&width), "fields of 1 to 16 characters");
    assert!(stride >= width || out.len() < 2, "fields do not overlap");
    let Some(last) = out.len().checked_sub(1) else { return true };
    assert!(rows.len() >= offset + last * stride + width, "rows that hold the fields");
    match (width <= 8, tier.counts_in_words()) {
        (true, true) => isa::dispatch(tier, TextIntegers::<1, true> { rows, fields, out }),
        (true, false) => isa::dispatch(tier, TextIntegers::<1, false> { rows, fields, out }),
        (false, true) => isa::dispatch(tier, TextIntegers::<2, true> { rows, fields, out }),
        (false, false) => isa::dispatch(tier, TextIntegers::<2, false> { rows, fields, out }),
    }
}

/// Fields of `WORDS` words, for tiers that count in words or do not: see [`Tier::counts_in_words`].
pub(crate) struct TextIntegers<'a, const WORDS: usize, const COUNTS: bool> {
    rows: &'a [u8],
    fields: Fields,
    out: &'a mut [[u8; 8]],
}

impl<const WORDS: usize, const COUNTS: bool> Kernel for TextIntegers<'_, WORDS, COUNTS> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Fields { offset, stride, elements: width } = self.fields;
        let mut words = [[all(b' '); GROUP]; WORDS];
        let mut first = offset;
        let (groups, rest) = self.out.as_chunks_mut::<GROUP>();
        for group in groups {
            load(&self.rows[first..], self.fields, GROUP, &mut words);
            first += GROUP * stride;
            if !integers::<WORDS, COUNTS>(&words, width, group) {
                return false;
            }
        }
        if rest.is_empty() {
            return true;
        }
        load(&self.rows[first..], self.fields, rest.len(), &mut words);
        // Unused words keep the previous group, which is valid input.
        let mut group = [[0; 8]; GROUP];
        let all_fit = integers::<WORDS, COUNTS>(&words, width, &mut group);
        rest.copy_from_slice(&group[..rest.len()]);
        all_fit
    }
}

/// Loads the fields of some rows into words, left-aligned; `rows` begins with the first field.
#[inline(always)]
fn load<const WORDS: usize>(
    rows: &[u8],
    fields: Fields,
    count: usize,
    words: &mut [[u64; GROUP]; WORDS],
) {
    let Fields { stride, elements: width, .. } = fields;
    for (word, words) in words.iter_mut().enumerate() {
        let (begin, characters) = place::<WORDS>(word, width);
        let mut done = 0;
        // Rows with at least eight characters from here on: the check before the loop removes the checks inside.
        if stride >= 8 {
            let rows = rows[begin..].chunks_exact(stride);
            for (word, row) in words[..count].iter_mut().zip(rows) {
                *word = row.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
                done += 1;
            }
        }
        for row in done..count {
            let characters = rows[row * stride + begin..].iter().take(characters).enumerate();
            words[row] = characters.fold(0, |word, (at, &byte)| word | u64::from(byte) << (8 * at));
        }
    }
}

/// Returns the first character of a field that a word holds, and their number. The last word ends where the field does.
#[inline(always)]
fn place<const WORDS: usize>(word: usize, width: usize) -> (usize, usize) {
    let end = width.saturating_sub(8 * (WORDS - 1 - word));
    let begin = end.saturating_sub(8);
    (begin, end - begin)
}

/// Converts words to integers; returns whether all of them are integers.
#[inline(always)]
fn integers<const WORDS: usize, const COUNTS: bool>(
    words: &[[u64; GROUP]; WORDS],
    width: usize,
    values: &mut [[u8; 8]; GROUP],
) -> bool {
    let high = place::<WORDS>(0, width).1;
    let low = place::<WORDS>(WORDS - 1, width).1;
    let mut wrong = 0;
    for row in 0..GROUP {
        let pair = [padded(words[0][row], high), padded(words[WORDS - 1][row], low)];
        let (value, error) = integer::<COUNTS>(pair, WORDS == 1);
        values[row] = value.to_ne_bytes();
        wrong |= error;
    }
    wrong == 0
}

/// Moves the first `count` of a word's eight characters to the end of a word of blanks.
#[inline(always)]
fn padded(characters: u64, count: usize) -> u64 {
    // In two steps, because shifting a word by all of its bits overflows.
    let blanks = all(b' ') >> (4 * count) >> (4 * count);
    characters << (64 - 8 * count) | blanks
}

/// Returns the number in two words (or in the second alone), and a second number that is 0 if the words contain nothing
/// else.
#[inline(always)]
fn integer<const COUNTS: bool>([high, low]: [u64; 2], alone: bool) -> (i64, u64) {
    let low_others = others::<COUNTS>(low);
    // All ones if the digits begin in the second word.
    let begins_low = if alone { u64::MAX } else { mask(low_others != 0) };
    let high_others = if alone { 0 } else { others::<COUNTS>(high) | begins_low };
    let millions = if alone { 0 } else { number::<COUNTS>(high, high_others) };
    let number = millions * 100_000_000 + number::<COUNTS>(low, low_others);
    // Bytes before the digits; XOR turns blanks into zeros.
    let before_low = (low ^ all(b' ')) & low_others;
    let before_high = (high ^ all(b' ')) & high_others;
    // The only other byte allowed is a minus right before the first digit.
    let minus = all(b' ' ^ b'-');
    let minus_low = minus & (low_others ^ (low_others >> 8));
    let minus_high = minus & (high_others ^ (high_others >> 8)) & !begins_low;
    let fits = mask((before_low == minus_low) & (before_high == minus_high));
    let before = before_low | before_high;
    let negative = mask(before != 0);
    let value = (number ^ negative).wrapping_sub(negative);
    // An error unless the last character is a digit or everything is blank.
    (value as i64, (before & !fits) | (before_low >> 56))
}

#[inline(always)]
fn mask(truth: bool) -> u64 {
    u64::from(truth).wrapping_neg()
}

/// Returns a mask of all bytes up to the last one that is not a digit.
#[inline(always)]
fn others<const COUNTS: bool>(word: u64) -> u64 {
    let digits = word ^ all(b'0');
    // Adding 0x76 to seven bits does not carry into the next byte; values above 9 set the eighth bit.
    let odd = (((digits & all(0x7f)) + all(0x76)) | digits) & all(0x80);
    if COUNTS {
        return u64::MAX.checked_shr(odd.leading_zeros()).unwrap_or(0);
    }
    let odd = odd | (odd >> 8);
    let odd = odd | (odd >> 16);
    let odd = odd | (odd >> 32);
    (odd << 1).wrapping_sub(odd >> 7)
}

/// Returns the number formed by the digits outside the mask `others`, combining neighbours to pairs, pairs to fours and
/// fours to eight. Each multiplication adds ten times the first of two neighbours to the second.
#[inline(always)]
fn number<const COUNTS: bool>(word: u64, others: u64) -> u64 {
    let digits = (word ^ all(b'0')) & !others;
    if COUNTS {
        let pairs = (digits.wrapping_mul((10 << 8) | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
        let fours = (pairs.wrapping_mul((100 << 16) | 1) >> 16) & 0x0000_ffff_0000_ffff;
        return fours.wrapping_mul((10_000 << 32) | 1) >> 32;
    }
    // Every tier can multiply 32-bit numbers.
    let fours = |half: u32| {
        let pairs = (half.wrapping_mul((10 << 8) | 1) >> 8) & 0x00ff_00ff;
        u64::from(pairs.wrapping_mul((100 << 16) | 1) >> 16)
    };
    fours(digits as u32) * 10_000 + fours((digits >> 32) as u32)
}

/// Returns the address of the code for fields of `WORDS` words.
#[cfg(target_arch = "x86_64")]
pub(crate) fn address(words: usize, tier: Tier) -> Option<usize> {
    match (words, tier.counts_in_words()) {
        (1, true) => isa::address::<TextIntegers<'static, 1, true>>(tier),
        (1, false) => isa::address::<TextIntegers<'static, 1, false>>(tier),
        (_, true) => isa::address::<TextIntegers<'static, 2, true>>(tier),
        (_, false) => isa::address::<TextIntegers<'static, 2, false>>(tier),
    }
}
