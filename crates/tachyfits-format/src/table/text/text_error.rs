//! Errors of parsing a field as a number, and of formatting a number.

use std::fmt;

/// Reason why a field is not a number, or a number does not fit in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextError {
    /// The characters are not a number of this form.
    NotANumber,
    /// The integer exceeds 64 bits, or the real number exceeds f64.
    OutOfRange,
    /// The number needs more characters than the field has.
    TooWide,
    /// NaN and infinities have no text in FITS; a null value (TNULLn) may represent them.
    NotFinite,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TextError::NotANumber => "not a number of this form",
            TextError::OutOfRange => "beyond the range of 64 bits",
            TextError::TooWide => "wider than the field",
            TextError::NotFinite => "not finite",
        })
    }
}

impl std::error::Error for TextError {}
