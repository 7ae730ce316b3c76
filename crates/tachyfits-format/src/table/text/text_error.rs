//! Why a field has no number, or a number no field.

use std::fmt;

/// The reason why a field cannot be read as a number, or a number does not fit in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextError {
    /// The characters are no number of the form.
    NotANumber,
    /// The integer does not fit 64 bits, or the real number is beyond f64.
    OutOfRange,
    /// The number needs more characters than the field has.
    TooWide,
    /// NaN and infinities have no text in FITS; a null value (TNULLn) may stand for them.
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
