//! Slow path: checks the text character by character, and converts numbers with the standard library, which rounds
//! correctly. It is the specification of the fast path, and handles rare forms.

use super::text_error::TextError;
use super::write::End;
use crate::scan;
use crate::table::TextForm;
use std::fmt::{self, Write};

/// More digits than needed to distinguish any two neighbouring f64 (767); further digits only matter if one is not 0.
const MOST_DIGITS: usize = 800;

/// Returns the field without surrounding blanks; NULs and tabs count as blanks, as in headers.
fn trimmed(field: &[u8]) -> &[u8] {
    scan::trim(field)
}

fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    }
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

#[cold]
pub(super) fn integer(field: &[u8]) -> Result<i64, TextError> {
    let text = trimmed(field);
    if text.is_empty() {
        return Ok(0);
    }
    let (_, unsigned) = split_sign(text);
    let (digits, rest) = split_digits(unsigned);
    if digits.is_empty() || !rest.is_empty() {
        return Err(TextError::NotANumber);
    }
    let text = str::from_utf8(text).expect("a sign and digits are ASCII");
    text.parse().map_err(|_| TextError::OutOfRange)
}

#[cold]
pub(super) fn real(field: &[u8], decimals: u32) -> Result<f64, TextError> {
    let text = trimmed(field);
    if text.is_empty() {
        return Ok(0.0);
    }
    let (minus, unsigned) = split_sign(text);
    let (whole, rest) = split_digits(unsigned);
    let (fraction, rest) = match rest.split_first() {
        Some((b'.', rest)) => split_digits(rest),
        // The point is implied.
        _ => (&[][..], rest),
    };
    let has_point = unsigned.get(whole.len()) == Some(&b'.');
    if whole.is_empty() && fraction.is_empty() {
        return special(unsigned).map(|value| if minus { -value } else { value });
    }
    let shift = if has_point { fraction.len() as i64 } else { i64::from(decimals) };
    let value = nearest(whole, fraction, power(rest)? - shift);
    if value.is_infinite() {
        return Err(TextError::OutOfRange);
    }
    Ok(if minus { -value } else { value })
}

/// Parses the notations that programs use for NaN and infinities.
fn special(text: &[u8]) -> Result<f64, TextError> {
    let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    match () {
        () if is("nan") => Ok(f64::NAN),
        () if is("inf") || is("infinity") => Ok(f64::INFINITY),
        () => Err(TextError::NotANumber),
    }
}

/// Parses the exponent: of any size, because its number may be 0; the excess over 10^9 has no effect.
fn power(text: &[u8]) -> Result<i64, TextError> {
    let after = match text.split_first() {
        None => return Ok(0),
        Some((b'E' | b'D' | b'e' | b'd', rest)) => rest,
        Some((b'+' | b'-', _)) => text,
        Some(_) => return Err(TextError::NotANumber),
    };
    let (minus, unsigned) = split_sign(after);
    let (digits, rest) = split_digits(unsigned);
    if digits.is_empty() || !rest.is_empty() {
        return Err(TextError::NotANumber);
    }
    let add = |power: i64, digit: &u8| (power * 10 + i64::from(digit - b'0')).min(1_000_000_000);
    let power = digits.iter().fold(0, add);
    Ok(if minus { -power } else { power })
}

/// Returns the f64 nearest to digits times a power of ten.
fn nearest(whole: &[u8], fraction: &[u8], mut power: i64) -> f64 {
    let mut text = Buffer::new();
    let mut more = false;
    for &digit in whole.iter().chain(fraction) {
        if text.used == 0 && digit == b'0' {
            continue;
        }
        if text.used < MOST_DIGITS {
            text.bytes[text.used] = digit;
            text.used += 1;
        } else {
            more |= digit != b'0';
            power += 1;
        }
    }
    if text.used == 0 {
        return 0.0;
    }
    // An additional digit represents the digits that were cut off.
    let end = if more { "1" } else { "" };
    write!(text, "{end}E{}", power - end.len() as i64).expect("there is room for an exponent");
    text.as_str().parse().expect("digits and an exponent are a number")
}

#[cold]
pub(super) fn write_real(
    value: f64,
    form: TextForm,
    decimals: u32,
    field: &mut [u8],
) -> Result<(), TextError> {
    /// Every f64 has fewer decimals.
    const MOST_DECIMALS: usize = 1100;
    let decimals = decimals as usize;
    let mut end = End::new(field);
    if !value.is_finite() {
        return end.refuse(TextError::NotFinite);
    }
    if decimals > end.room() {
        return end.refuse(TextError::TooWide);
    }
    let precision = decimals.min(MOST_DECIMALS);
    let mut text = Buffer::new();
    if form == TextForm::Fixed {
        write!(text, "{value:.precision$}").expect("there is room for every f64");
    } else {
        write!(text, "{value:.precision$E}").expect("there is room for every f64");
        put_power(form, &mut text, &mut end);
    }
    for _ in precision..decimals {
        end.put_one(b'0');
    }
    let text = text.as_str();
    if decimals == 0 && text.len() < end.room() {
        end.put_one(b'.');
    }
    let number = text.strip_prefix('-').unwrap_or(text);
    let without = number.strip_prefix("0.").filter(|_| text.len() == end.room() + 1);
    match without.filter(|_| form == TextForm::Fixed) {
        // A zero before the point may be omitted.
        Some(decimals) => {
            end.put(decimals.as_bytes());
            end.put(if value.is_sign_negative() { b"-." } else { b"." });
        }
        None => end.put(text.as_bytes()),
    }
    end.finish()
}

/// Removes the exponent in Rust's notation from the end of `text`, and writes it in FITS notation: a sign and at least
/// two digits.
fn put_power(form: TextForm, text: &mut Buffer, end: &mut End<'_>) {
    let (digits, power) = text.as_str().split_once('E').expect("the form has an exponent");
    let power: i32 = power.parse().expect("an exponent is an integer");
    let sign = if power < 0 { '-' } else { '+' };
    let mut fits = Buffer::new();
    write!(fits, "{}{sign}{:02}", form.letter(), power.abs()).expect("there is room for it");
    end.put(fits.as_str().as_bytes());
    text.used = digits.len();
}

/// A text of limited length.
struct Buffer {
    bytes: [u8; 1500],
    used: usize,
}

impl Buffer {
    fn new() -> Self {
        Buffer { bytes: [0; 1500], used: 0 }
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.used]).expect("only text is written")
    }
}

impl fmt::Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.used + text.len();
        self.bytes.get_mut(self.used..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}
