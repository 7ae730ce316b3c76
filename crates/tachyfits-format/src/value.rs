//! Values of keywords with the types of the Standard (Sect. 4.2), each number with its exact text. The layout of a card
//! is in [`crate::card`].
//!
//! The Standard limits neither the range of integers nor the digits of reals, so a number is stored as text; the
//! accessors document their rounding. This preserves `-0.0`, 30-digit integers and `9.223372036854775808E18`.

use std::fmt;

/// The value of a keyword.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `T` or `F`.
    Logical(bool),
    /// A decimal integer of any length.
    Integer(Integer),
    /// A decimal number with a point or an exponent.
    Real(Real),
    /// `(1, -2)`.
    ComplexInteger(Integer, Integer),
    /// `(1.5, -2.0)`.
    Complex(Real, Real),
    /// A string without its quotes: `''` is "" (null string), `'  '` is " " (empty string); other trailing blanks are
    /// not significant and removed (Sect. 4.2.1.1). Bytes outside ASCII are decoded as UTF-8 if valid, otherwise as
    /// Latin-1.
    Text(String),
    /// A blank value field.
    Undefined,
    /// Text of a value field that has no FITS type; parsing it gave a warning.
    Invalid(String),
}

impl Value {
    /// Name of the type, for messages.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Value::Logical(_) => "a logical",
            Value::Integer(_) => "an integer",
            Value::Real(_) => "a real number",
            Value::ComplexInteger(..) => "a complex integer",
            Value::Complex(..) => "a complex number",
            Value::Text(_) => "a string",
            Value::Undefined => "no value",
            Value::Invalid(_) => "text that is not a FITS value",
        }
    }

    /// Returns an integer or real as the nearest f64.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Integer(integer) => Some(integer.as_f64()),
            Value::Real(real) => Some(real.as_f64()),
            _ => None,
        }
    }

    /// Returns an integer that fits in 64 bits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Integer(integer) => integer.as_i64(),
            _ => None,
        }
    }

    /// Returns an integer, or a real number without a fraction, if it fits. All real integers of 53 bits are exact.
    #[must_use]
    pub fn as_whole(&self) -> Option<i64> {
        let whole = |value: &f64| value.fract() == 0.0 && value.abs() < 9e15;
        match self {
            Value::Real(real) => Some(real.as_f64()).filter(whole).map(|value| value as i64),
            _ => self.as_i64(),
        }
    }

    /// Returns the string of a text value.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the boolean of a logical value.
    #[must_use]
    pub const fn as_logical(&self) -> Option<bool> {
        match self {
            Value::Logical(logical) => Some(*logical),
            _ => None,
        }
    }
}

/// Writes strings in quotes, numbers as written, and nothing for an undefined value.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Logical(logical) => f.write_str(if *logical { "T" } else { "F" }),
            Value::Integer(integer) => f.write_str(integer.text()),
            Value::Real(real) => f.write_str(real.text()),
            Value::ComplexInteger(re, im) => write!(f, "({}, {})", re.text(), im.text()),
            Value::Complex(re, im) => write!(f, "({}, {})", re.text(), im.text()),
            Value::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Value::Undefined => Ok(()),
            Value::Invalid(text) => f.write_str(text),
        }
    }
}

/// An integer of any length, with its original text.
///
/// ```
/// use tachyfits_format::Integer;
/// let big = Integer::parse("123456789012345678901234567890").unwrap();
/// assert_eq!(big.as_i64(), None);
/// assert_eq!(big.as_i128(), Some(123_456_789_012_345_678_901_234_567_890));
/// assert_eq!(Integer::parse("00012").unwrap().as_i64(), Some(12));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Integer(String);

impl Integer {
    /// Parses `+12`, `-7`, `00012`: an optional sign and digits (Sect. 4.2.3), nothing else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        all_digits.then(|| Integer(text.to_owned()))
    }

    /// Original text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns the number if it fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// Returns the number if it fits.
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        self.0.parse().ok()
    }

    /// Returns the nearest f64, infinite beyond its range.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0.parse().expect("signed digits are a number")
    }
}

/// A real number, with its original text and the nearest f64.
///
/// ```
/// use tachyfits_format::Real;
/// assert_eq!(Real::parse("1.5D+03").unwrap().as_f64(), 1500.0);
/// assert!(Real::parse("-0.0").unwrap().as_f64().is_sign_negative());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Real {
    text: String,
    value: f64,
}

impl Real {
    /// Parses a decimal number with or without a point, and an optional exponent after E or D in either case (Sect.
    /// 4.2.4).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (number, exponent) = match unsigned.find(['E', 'D', 'e', 'd']) {
            Some(letter) => (&unsigned[..letter], Some(&unsigned[letter + 1..])),
            None => (unsigned, None),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let right = digits(whole)
            && digits(fraction)
            && !(whole.is_empty() && fraction.is_empty())
            && exponent.is_none_or(|exponent| Integer::parse(exponent).is_some());
        if !right {
            return None;
        }
        let value = text.replace(['D', 'd'], "E").parse().ok()?;
        Some(Real { text: text.to_owned(), value })
    }

    /// Formats `value` as the shortest text that parses back to it; `None` for NaN and infinities, which FITS cannot
    /// represent.
    ///
    /// ```
    /// use tachyfits_format::Real;
    /// assert_eq!(Real::from_f64(1e20).unwrap().text(), "1.0E20");
    /// assert_eq!(Real::from_f64(f64::NAN), None);
    /// ```
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let mut text = format!("{value:?}").replace('e', "E");
        if !text.contains('.') {
            let point = text.find('E').unwrap_or(text.len());
            text.insert_str(point, ".0");
        }
        Some(Real { text, value })
    }

    /// Original text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the nearest f64, infinite beyond its range.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.value
    }
}

impl From<bool> for Value {
    fn from(logical: bool) -> Self {
        Value::Logical(logical)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(significant(text).to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::from(text.as_str())
    }
}

/// NaN and infinities become [`Value::Undefined`]: FITS has no keyword value for them.
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Real::from_f64(value).map_or(Value::Undefined, Value::Real)
    }
}

macro_rules! from_integers {
    ($($integer:ty)+) => {$(
        impl From<$integer> for Value {
            fn from(value: $integer) -> Self {
                Value::Integer(Integer(value.to_string()))
            }
        }
    )+};
}
from_integers!(i32 i64 i128 u32 u64 usize);

/// Removes the trailing blanks that are not significant: the null string stays null, and a string of blanks becomes one
/// blank (Sect. 4.2.1.1). Trailing NULs count as blanks: C programs write them.
pub(crate) fn significant(text: &str) -> &str {
    let trimmed = text.trim_end_matches([' ', '\0']);
    match (trimmed.is_empty(), text.starts_with(' ')) {
        (true, true) => " ",
        _ => trimmed,
    }
}
