//! Sides of comparisons that are not evaluated in f64: exact integers, and strings.

use std::borrow::Cow;
use std::cmp::Ordering;

use tachyfits_format::TextEncoding;
use tachyfits_format::text::{TextError, is_null_text, significant};
use tachyfits_kernels::{Binary, PixelType};

use super::super::read_text::{BadText, TextNumbers};
use super::operand::{ConditionLeaf, RowChunk};
use crate::error::Error;
use crate::expression::pattern::Pattern;

/// Source of an integer per row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Whole {
    /// The same in all rows.
    Constant(i128),
    /// The number of the row, from 1.
    Row,
    /// A column of a binary table.
    Stored { at: u64, pixel: PixelType, null: Option<i64> },
    /// A column of an ASCII table.
    Parsed(TextField),
    /// Bitwise and (`&`) or or (`|`) of two integers.
    Bits(Binary, Box<[Whole; 2]>),
}

/// A field of an ASCII table with a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextField {
    pub(super) column: usize,
    pub(super) at: u64,
    pub(super) numbers: TextNumbers,
}

/// Source of a string per row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Text {
    /// The same in all rows: UTF-8 without trailing blanks.
    Constant(Vec<u8>),
    Field(StringField),
}

/// A field with a string.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StringField {
    pub(super) column: usize,
    pub(super) at: u64,
    pub(super) width: usize,
    /// TNULLn of an ASCII table.
    pub(super) null: Option<String>,
    /// Encoding of bytes outside ASCII; `None` if it does not matter, as in comparisons with ASCII
    /// text, which sorts before them.
    pub(super) encoding: Option<TextEncoding>,
}

/// A decimal literal, which f64 may only approximate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    /// The greatest integer not above the number; [`Decimal::FAR`] stands for all greater integers.
    floor: i128,
    is_whole: bool,
}

impl Decimal {
    /// An integer beyond the range of any column.
    const FAR: i128 = 1 << 100;
    /// Maximum digits before the point; numbers with more are beyond [`Decimal::FAR`].
    const MOST_DIGITS: usize = 30;

    /// Parses a number without sign: digits, possibly a point and a power of ten.
    pub(super) fn of_text(text: &str) -> Option<Decimal> {
        let (digits, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (before, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let digits = format!("{before}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Decimal { floor: 0, is_whole: true });
        }
        // Number of significant digits before the point. A power beyond i64 saturates: no text has
        // enough digits to make up for it.
        let power = power.parse::<i64>().unwrap_or(if power.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        });
        let places = before.len() as i64 - (digits.len() - significant.len()) as i64;
        let places = places.saturating_add(power);
        if places > Decimal::MOST_DIGITS as i64 {
            return Some(Decimal { floor: Decimal::FAR, is_whole: true });
        }
        let places = usize::try_from(places).unwrap_or(0);
        let (whole, rest) = significant.split_at(places.min(significant.len()));
        let zeros = places - whole.len();
        let floor = format!("0{whole}{:0<zeros$}", "").parse().ok()?;
        Some(Decimal { floor, is_whole: rest.bytes().all(|digit| digit == b'0') })
    }

    /// Returns the number with the opposite sign.
    pub(super) fn negated(self) -> Decimal {
        let floor = if self.is_whole { -self.floor } else { -self.floor - 1 };
        Decimal { floor, ..self }
    }

    /// Returns the comparison of integers with this number.
    pub(super) fn compared(self, comparison: Binary, whole: &Whole) -> ConditionLeaf {
        use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual};
        let floor = || Whole::Constant(self.floor);
        let (comparison, other) = match comparison {
            _ if self.is_whole => (comparison, floor()),
            Less | LessEqual => (LessEqual, floor()),
            Greater | GreaterEqual => (Greater, floor()),
            // Never true, or true of all that are not null: compare the integers with themselves.
            Equal => (Less, whole.clone()),
            _ => (Equal, whole.clone()),
        };
        ConditionLeaf::Wholes(comparison, [whole.clone(), other])
    }
}

impl Whole {
    /// Whether it is a long integer that may differ from row to row.
    pub(super) fn is_long_of_rows(&self) -> bool {
        self.is_long() && !matches!(self, Whole::Constant(_))
    }

    /// Whether f64 cannot represent all values, so that they must be compared as integers.
    pub(super) fn is_long(&self) -> bool {
        match self {
            Whole::Constant(value) => value.unsigned_abs() > 1 << 53,
            Whole::Row => false,
            Whole::Stored { pixel, .. } => pixel.bytes() == 8,
            Whole::Parsed(field) => field.numbers.width > 15,
            Whole::Bits(_, sides) => sides.iter().any(Whole::is_long),
        }
    }

    /// Calls `field` with the offset and size of each field of a row that it needs.
    pub(super) fn fields(&self, field: &mut impl FnMut(u64, usize)) {
        match self {
            Whole::Stored { at, pixel, .. } => field(*at, pixel.bytes()),
            Whole::Parsed(parsed) => field(parsed.at, parsed.numbers.width),
            Whole::Bits(_, sides) => sides.iter().for_each(|side| side.fields(field)),
            Whole::Constant(_) | Whole::Row => {}
        }
    }

    /// Reads the integers of the rows of a chunk; `None` if null.
    pub(super) fn values(
        &self,
        chunk: &RowChunk<'_>,
        out: &mut Vec<Option<i128>>,
        count: usize,
    ) -> Result<(), Error> {
        out.clear();
        match self {
            // At most a chunk of rows.
            Whole::Constant(value) => out.resize(count, Some(*value)),
            Whole::Row => {
                out.extend((0..count).map(|row| Some(i128::from(chunk.row) + row as i128 + 1)))
            }
            Whole::Stored { at, pixel, null } => {
                let values = chunk.fields(*at, pixel.bytes(), count);
                out.extend(values.map(|bytes| stored(bytes, *pixel, *null)));
            }
            Whole::Parsed(field) => {
                for (row, text) in field.texts(chunk, count).enumerate() {
                    let value = field.numbers.integer(text);
                    let value = value.map_err(|error| field.bad(chunk, row, text, error))?;
                    out.push(value.map(i128::from));
                }
            }
            Whole::Bits(binary, sides) => {
                let mut right = Vec::new();
                sides[0].values(chunk, out, count)?;
                sides[1].values(chunk, &mut right, count)?;
                for (left, right) in out.iter_mut().zip(right) {
                    *left = left.zip(right).map(|(left, right)| match binary {
                        Binary::And => left & right,
                        _ => left | right,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Compares 64-bit integers of a binary table with a constant: equals [`Whole::values`] and
/// [`holds`], without 128-bit arithmetic. Returns `false` for other sides.
pub(super) fn compare_long(
    chunk: &RowChunk<'_>,
    comparison: Binary,
    sides: &[Whole; 2],
    out: &mut [f64],
) -> bool {
    let [Whole::Stored { at, pixel, null }, Whole::Constant(constant)] = sides else {
        return false;
    };
    // Unsigned integers are stored minus 2^63, which preserves their order.
    let offset = match pixel {
        PixelType::I64 => 0,
        PixelType::U64 => 1i128 << 63,
        _ => return false,
    };
    let constant = constant.checked_sub(offset).and_then(|shifted| i64::try_from(shifted).ok());
    let Some(constant) = constant else { return false };
    let fields = chunk.fields(*at, 8, out.len());
    for (out, field) in out.iter_mut().zip(fields) {
        let value = field.first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes));
        let truth = holds(comparison, value.cmp(&constant)) && Some(value) != *null;
        *out = f64::from(u8::from(truth));
    }
    true
}

/// Decodes a stored integer, after the conventions for unsigned integers; `None` if null.
fn stored(bytes: &[u8], pixel: PixelType, null: Option<i64>) -> Option<i128> {
    let mut wide = [if bytes[0] & 0x80 == 0 { 0 } else { 0xff }; 8];
    wide[8 - bytes.len()..].copy_from_slice(bytes);
    let signed = i64::from_be_bytes(wide);
    let signed = if bytes.len() == 1 { i64::from(bytes[0]) } else { signed };
    if null == Some(signed) {
        return None;
    }
    let offset = match pixel {
        PixelType::I8 => -128,
        PixelType::U16 => 1 << 15,
        PixelType::U32 => 1 << 31,
        PixelType::U64 => 1 << 63,
        _ => 0,
    };
    Some(i128::from(signed) + offset)
}

impl TextField {
    /// Iterates over the fields of the rows of a chunk.
    fn texts<'a>(&self, chunk: &'a RowChunk<'_>, count: usize) -> impl Iterator<Item = &'a [u8]> {
        chunk.fields(self.at, self.numbers.width, count)
    }

    /// Reads the numbers of the rows of a chunk.
    pub(super) fn values(&self, chunk: &RowChunk<'_>, out: &mut [f64]) -> Result<(), Error> {
        let texts = self.texts(chunk, out.len());
        for (row, (out, text)) in out.iter_mut().zip(texts).enumerate() {
            *out = self.numbers.real(text).map_err(|error| self.bad(chunk, row, text, error))?;
        }
        Ok(())
    }

    /// Creates the error for text that is not a number.
    #[cold]
    fn bad(&self, chunk: &RowChunk<'_>, row: usize, text: &[u8], error: TextError) -> Error {
        let found = format!("{:?}", String::from_utf8_lossy(text));
        let bad = BadText { row, found, error };
        chunk.table.bad_text(self.column, chunk.row + row as u64, &bad)
    }
}

/// Whether the field equals a string; `text` is [`significant`].
fn is_same(field: &[u8], text: &[u8]) -> bool {
    match (field.first(), text.first()) {
        // Most fields differ in the first byte.
        (Some(first), Some(other)) if first != other => false,
        _ => field.strip_prefix(text).is_some_and(|rest| {
            // Only blanks up to the first NUL.
            rest.iter().find(|&&byte| byte != b' ').is_none_or(|&byte| byte == 0)
        }),
    }
}

/// Compares strings; a comparison with a null is false.
pub(super) fn compare_texts(
    chunk: &RowChunk<'_>,
    comparison: Binary,
    [left, right]: [&Text; 2],
    out: &mut [f64],
) {
    let count = out.len();
    match (left, right, comparison) {
        (
            Text::Field(StringField { at, width, null: None, encoding: None, .. }),
            Text::Constant(text),
            Binary::Equal | Binary::NotEqual,
        ) => {
            let is_equal = comparison == Binary::Equal;
            let fields = chunk.fields(*at, *width, count);
            out.iter_mut()
                .zip(fields)
                .for_each(|(out, field)| *out = number(is_same(field, text) == is_equal));
        }
        _ => {
            let (left, right) = (left.values(chunk, count), right.values(chunk, count));
            for (out, sides) in out.iter_mut().zip(left.zip(right)) {
                *out = number(match sides {
                    (Some(left), Some(right)) => holds(comparison, left.cmp(&right)),
                    _ => false,
                });
            }
        }
    }
}

/// Tests whether strings match a pattern, or do not match (`is_like` false); both are false for a null.
pub(super) fn match_texts(
    chunk: &RowChunk<'_>,
    text: &Text,
    (pattern, is_like): (&Pattern, bool),
    out: &mut [f64],
) {
    let values = text.values(chunk, out.len());
    for (out, text) in out.iter_mut().zip(values) {
        *out = number(text.is_some_and(|text| pattern.matches(&text) == is_like));
    }
}

/// Tests whether strings are null or empty.
pub(super) fn have_no_text(chunk: &RowChunk<'_>, text: &Text, out: &mut [f64]) {
    let values = text.values(chunk, out.len());
    out.iter_mut()
        .zip(values)
        .for_each(|(out, text)| *out = number(text.is_none_or(|text| text.is_empty())));
}

fn number(truth: bool) -> f64 {
    f64::from(u8::from(truth))
}

impl Text {
    /// Whether it is ASCII text that is the same in all rows.
    pub(super) fn is_ascii(&self) -> bool {
        matches!(self, Text::Constant(text) if text.is_ascii())
    }

    /// Returns the field, if it has one.
    pub(super) fn field(&self) -> Option<&StringField> {
        match self {
            Text::Constant(_) => None,
            Text::Field(field) => Some(field),
        }
    }

    /// Iterates over the strings of the rows of a chunk, in UTF-8 if the encoding is set; `None` if null.
    fn values<'a>(
        &'a self,
        chunk: &'a RowChunk<'_>,
        count: usize,
    ) -> impl Iterator<Item = Option<Cow<'a, [u8]>>> {
        let field = self.field();
        let constant = match self {
            Text::Constant(text) => Some(text.as_slice()),
            Text::Field(_) => None,
        };
        let (at, width) = field.map_or((0, 0), |field| (field.at, field.width));
        chunk.fields(at, width, count).map(move |bytes| match field {
            Some(field) => field.value(bytes),
            None => constant.map(Cow::Borrowed),
        })
    }
}

impl StringField {
    fn value<'a>(&self, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let text = significant(bytes);
        if self.null.as_deref().is_some_and(|null| is_null_text(text, null)) {
            return None;
        }
        Some(match self.encoding {
            Some(encoding) if !text.is_ascii() => match encoding.decode(text) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            _ => Cow::Borrowed(text),
        })
    }
}

/// Returns whether a comparison holds for operands in this order.
#[inline(always)]
pub(super) fn holds(comparison: Binary, order: Ordering) -> bool {
    match comparison {
        Binary::Less => order.is_lt(),
        Binary::LessEqual => order.is_le(),
        Binary::Greater => order.is_gt(),
        Binary::GreaterEqual => order.is_ge(),
        Binary::Equal => order.is_eq(),
        _ => order.is_ne(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let of = |text| {
            let Decimal { floor, is_whole } = Decimal::of_text(text).unwrap();
            (floor, is_whole)
        };
        assert_eq!(of("0"), (0, true));
        assert_eq!(of("000.000"), (0, true));
        assert_eq!(of("9007199254740993.5"), (9_007_199_254_740_993, false));
        assert_eq!(of("9007199254740993.0"), (9_007_199_254_740_993, true));
        assert_eq!(of("9.007199254740993e15"), (9_007_199_254_740_993, true));
        assert_eq!(of("90071992547409935E-1"), (9_007_199_254_740_993, false));
        assert_eq!(of(".5"), (0, false));
        assert_eq!(of("0.005e3"), (5, true));
        assert_eq!(of("5e-400"), (0, false));
        assert_eq!(of("1e300"), (Decimal::FAR, true));
        assert_eq!(of("1e29"), (10i128.pow(29), true));
        assert_eq!(of("12."), (12, true));
        assert_eq!(of("1e99999999999999999999"), (Decimal::FAR, true));
        assert_eq!(of("1e-99999999999999999999"), (0, false));
        assert_eq!(Decimal::of_text("inf"), None);
        assert_eq!(Decimal::of_text("."), None);
        let negated = |text| Decimal::of_text(text).unwrap().negated().floor;
        assert_eq!((negated("1.5"), negated("1.0"), negated("0")), (-2, -1, 0));
    }
}
