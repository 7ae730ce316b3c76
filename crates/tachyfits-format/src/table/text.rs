//! Parsing and formatting of text fields, mainly numbers in ASCII tables (Sect. 7.2.5): fields of a fixed width to
//! integers and f64, and back. For the form of a column see [`crate::TextForm`].
//!
//! Typical content (up to 19 digits, exponents near 0) is read eight characters at a time and converted with 128-bit
//! integers, whose result is exact before it is rounded once. Everything else uses the standard library (`slow`), which
//! is also the specification that tests compare with. Neither path allocates.

mod decimal;
mod parse;
mod slow;
mod text_error;
mod window;
mod write;

use super::TextForm;

pub use text_error::TextError;

/// Parses the integer in an `Iw` field: an optional sign and digits, surrounded by blanks; 0 if the field is blank.
///
/// # Errors
/// [`TextError::NotANumber`]; [`TextError::OutOfRange`] beyond 64 bits: integers are never wrapped or rounded.
///
/// ```
/// use tachyfits_format::text::{TextError, parse_integer};
/// assert_eq!(parse_integer(b"   -12 "), Ok(-12));
/// assert_eq!(parse_integer(b"       "), Ok(0));
/// assert_eq!(parse_integer(b"  1.5  "), Err(TextError::NotANumber));
/// ```
#[inline]
pub fn parse_integer(field: &[u8]) -> Result<i64, TextError> {
    match parse::integer(field) {
        Some(value) => Ok(value),
        None => slow::integer(field),
    }
}

/// Parses the number in an `Fw.d`, `Ew.d` or `Dw.d` field as the nearest f64: digits with or without a point, and an
/// optional exponent that begins with `E`, `D` (in either case) or a sign. Without a point the last `decimals` digits
/// are the fraction. Returns 0 if the field is blank. `-0` keeps its sign. `NaN` and `Inf`, which are not in the
/// Standard but occur in files, are accepted.
///
/// # Errors
/// [`TextError::NotANumber`]; [`TextError::OutOfRange`] beyond the range of f64.
///
/// ```
/// use tachyfits_format::text::parse_real;
/// assert_eq!(parse_real(b" 1.5+3  ", 0), Ok(1500.0));
/// assert_eq!(parse_real(b" 12345  ", 3), Ok(12.345));
/// assert_eq!(parse_real(b"-1.5D-01", 2), Ok(-0.15));
/// ```
#[inline]
pub fn parse_real(field: &[u8], decimals: u32) -> Result<f64, TextError> {
    match parse::real(field, decimals) {
        Some(value) => Ok(value),
        None => slow::real(field, decimals),
    }
}

/// Whether the field contains the text of TNULLn. Blanks on both sides are ignored: the Standard pads the text to the
/// width of the field without specifying a side (Sect. 7.2.2), and numbers end at the right.
///
/// ```
/// use tachyfits_format::text::is_null_text;
/// assert!(is_null_text(b"***  ", "***") && is_null_text(b" *** ", "***  "));
/// assert!(is_null_text(b"   ", "") && !is_null_text(b"**** ", "***"));
/// ```
#[must_use]
#[inline]
pub fn is_null_text(field: &[u8], null: &str) -> bool {
    without_blanks(field) == without_blanks(null.as_bytes())
}

/// Returns the string in a field: up to its first NUL, without trailing blanks (Sect. 7.3.3.1).
///
/// ```
/// use tachyfits_format::text::significant;
/// assert_eq!(significant(b" a b  \0c"), b" a b");
/// ```
#[must_use]
pub fn significant(field: &[u8]) -> &[u8] {
    let text = field.iter().position(|&byte| byte == 0).map_or(field, |end| &field[..end]);
    let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
}

#[inline]
fn without_blanks(mut text: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] | [rest @ .., b' '] = text {
        text = rest;
    }
    text
}

/// Writes an integer right-justified into an `Iw` field.
///
/// # Errors
/// [`TextError::TooWide`]; the field is then filled with `*`.
///
/// ```
/// use tachyfits_format::text::write_integer;
/// let mut field = [0; 6];
/// write_integer(-12, &mut field)?;
/// assert_eq!(&field, b"   -12");
/// # Ok::<(), tachyfits_format::text::TextError>(())
/// ```
#[inline]
pub fn write_integer(value: i64, field: &mut [u8]) -> Result<(), TextError> {
    write::integer(value, field)
}

/// Writes a number right-justified into an `Fw.d` (`-12.500`), `Ew.d` or `Dw.d` (`-1.250E+01`) field, rounded once to
/// `decimals` digits after the point, halves to even. If an `Fw.d` field is too narrow, the zero before the point or a
/// point at the end is omitted. Other notations are not written.
///
/// # Errors
/// [`TextError::TooWide`], [`TextError::NotFinite`]; the field is then filled with `*`.
///
/// ```
/// use tachyfits_format::{TextForm, text::write_real};
/// let mut field = [0; 10];
/// write_real(-12.5, TextForm::Exponent, 3, &mut field)?;
/// assert_eq!(&field, b"-1.250E+01");
/// # Ok::<(), tachyfits_format::text::TextError>(())
/// ```
///
/// # Panics
/// Panics if `form` is `Characters` or `Integer`.
#[inline]
pub fn write_real(
    value: f64,
    form: TextForm,
    decimals: u32,
    field: &mut [u8],
) -> Result<(), TextError> {
    assert!(form.has_decimals(), "a real number in a field of form {}", form.letter());
    match write::real(value, form, decimals, field) {
        Some(result) => result,
        None => slow::write_real(value, form, decimals, field),
    }
}

#[cfg(test)]
mod tests;
