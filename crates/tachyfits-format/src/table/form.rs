//! Converts TFORMn and TDIMn to the description of a field, and back (Sect. 7.2.1, 7.3.1, 7.3.2). [`super::column`]
//! reads the other keywords of a column.

use super::{Element, Field, Substrings, TextForm};
use crate::hdu::StoredType;
use crate::image::{ValueType, native_type};

/// Content of TFORMn.
pub(crate) struct Form {
    /// The field, with numbers in the signedness of the stored type.
    pub(crate) field: Field,
    /// Separator of strings of any length in a field of characters.
    pub(crate) substrings: Option<Substrings>,
    /// Whether the form violates the Standard, but is unambiguous.
    pub(crate) irregular: bool,
}

/// Parses a form of a binary table: `rT`, `rAw`, `rPT(max)` or `rQT(max)`. Text after the type is ignored (Sect.
/// 7.3.1); `None` if it is not a form, or its bytes exceed 64 bits.
pub(crate) fn binary(text: &str) -> Option<Form> {
    let form = binary_without_blanks(text.trim())?;
    // Leading blanks are significant in strings.
    Some(Form { irregular: form.irregular || text.starts_with(' '), ..form })
}

fn binary_without_blanks(text: &str) -> Option<Form> {
    let (repeat, rest) = split_number(text.as_bytes());
    let repeat = if repeat.is_empty() { 1 } else { number(repeat)? };
    let (&letter, rest) = rest.split_first()?;
    let irregular = letter.is_ascii_lowercase();
    let wide = match letter.to_ascii_uppercase() {
        b'P' => false,
        b'Q' => true,
        letter => {
            let element = element(letter)?;
            element.total_bytes(repeat)?;
            let substrings = rest.strip_prefix(b":").and_then(Substrings::of);
            let substrings = substrings.filter(|_| element == Element::Character);
            let irregular = irregular || substrings.is_some_and(Substrings::is_odd);
            let width = match element {
                Element::Character if substrings.is_none() => string_width(repeat, rest),
                Element::Character => repeat,
                _ => 1,
            };
            let field = Field::Fixed { element, repeat, width };
            return Some(Form { field, substrings, irregular });
        }
    };
    let (&letter, rest) = rest.split_first().filter(|_| repeat <= 1)?;
    let element = element(letter.to_ascii_uppercase())?;
    let length = rest.trim_ascii_start();
    let is_odd_length = length.starts_with(b"(") && !is_length(length);
    let irregular = irregular || letter.is_ascii_lowercase() || is_odd_length;
    let field = Field::Variable { element, wide, repeat, most: most(rest) };
    Some(Form { field, substrings: None, irregular })
}

/// Returns an irregular form in the notation of the Standard, if only its case or a missing `.0` is irregular.
///
/// ```text
/// 1pe(8)  1PE(8)
/// f8      F8.0
/// ```
pub(crate) fn regular(text: &str, parse: fn(&str) -> Option<Form>) -> Option<String> {
    let form = parse(text).filter(|form| form.irregular)?;
    let upper = text.trim().to_ascii_uppercase();
    // `:sstr` in lower case declares no separator; a repair must not change that.
    let is_same =
        |new: &Form| !new.irregular && new.field == form.field && new.substrings == form.substrings;
    let with_point = matches!(form.field, Field::Text { .. }).then(|| format!("{upper}.0"));
    let compact = upper.replace(' ', "");
    let mut candidates = [upper, compact].into_iter().chain(with_point);
    candidates.find(|new| parse(new).as_ref().is_some_and(is_same))
}

fn element(letter: u8) -> Option<Element> {
    Some(match letter {
        b'L' => Element::Logical,
        b'X' => Element::Bit,
        b'A' => Element::Character,
        b'C' => Element::Complex32,
        b'M' => Element::Complex64,
        _ => Element::Number(native_type(stored_type(letter)?)),
    })
}

const fn stored_type(letter: u8) -> Option<StoredType> {
    Some(match letter {
        b'B' => StoredType::U8,
        b'I' => StoredType::I16,
        b'J' => StoredType::I32,
        b'K' => StoredType::I64,
        b'E' => StoredType::F32,
        b'D' => StoredType::F64,
        _ => return None,
    })
}

/// Returns the bytes of one string of `rAw`, or of the older `rA:SSTRw` (FITS 3.0, Appendix C.2). Some programs write a
/// width after `rA` that exceeds the field; it is ignored.
fn string_width(repeat: u64, rest: &[u8]) -> u64 {
    let (digits, _) = match rest.strip_prefix(b":SSTR").map(split_number) {
        Some((width, after)) if after.trim_ascii().is_empty() => (width, after),
        Some(_) => return repeat,
        None => split_number(rest),
    };
    number(digits).filter(|width| (1..=repeat).contains(width)).unwrap_or(repeat)
}

impl Substrings {
    /// Parses `SSTRw/nnn`; `None` for any other text.
    pub(crate) fn of(text: &[u8]) -> Option<Substrings> {
        let (width, rest) = split_number(text.strip_prefix(b"SSTR")?);
        let (code, rest) = split_number(rest.strip_prefix(b"/")?);
        let delimiter = number(code).and_then(|code| u8::try_from(code).ok());
        // NUL ends the last string, so it cannot separate strings.
        let delimiter = delimiter.filter(|delimiter| *delimiter > 0)?;
        let most = number(width).filter(|_| rest.trim_ascii().is_empty())?;
        Some(Substrings { most, delimiter })
    }

    /// Whether the delimiter is unprintable, which the convention forbids.
    const fn is_odd(self) -> bool {
        !matches!(self.delimiter, b' '..=b'~')
    }
}

impl std::fmt::Display for Substrings {
    /// `SSTRw/nnn`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "SSTR{}/{:03}", self.most, self.delimiter)
    }
}

/// Parses `(max)`.
fn most(rest: &[u8]) -> Option<u64> {
    let inside = rest.trim_ascii_start().strip_prefix(b"(")?;
    number(inside.split(|&byte| byte == b')').next()?.trim_ascii())
}

/// Whether the text begins with `(max)` without blanks, as in the Standard.
fn is_length(text: &[u8]) -> bool {
    let (digits, after) = split_number(text.strip_prefix(b"(").unwrap_or_default());
    !digits.is_empty() && after.starts_with(b")")
}

/// Parses a form of an ASCII table: `Aw`, `Iw`, `Fw.d`, `Ew.d`, `Dw.d`.
pub(crate) fn ascii(text: &str) -> Option<Form> {
    let compact = text.replace(' ', "");
    let form = ascii_without_blanks(&compact)?;
    Some(Form { irregular: form.irregular || compact != text.trim_end(), ..form })
}

fn ascii_without_blanks(text: &str) -> Option<Form> {
    let (&letter, rest) = text.as_bytes().split_first()?;
    let (width, mut rest) = split_number(rest);
    let width = u32::try_from(number(width)?).ok()?;
    let text = match letter.to_ascii_uppercase() {
        b'A' => TextForm::Characters,
        b'I' => TextForm::Integer,
        b'F' => TextForm::Fixed,
        b'E' => TextForm::Exponent,
        b'D' => TextForm::Double,
        _ => return None,
    };
    // Strings without characters are written like `0A` in a binary table; a number has at least one character.
    if width == 0 && text != TextForm::Characters {
        return None;
    }
    let mut irregular = letter.is_ascii_lowercase() || width == 0;
    let mut decimals = 0;
    if text.has_decimals() {
        let fraction = rest.strip_prefix(b".").map(split_number);
        // Some programs write "F8" for "F8.0".
        irregular |= fraction.is_none();
        let (digits, after) = fraction.unwrap_or((b"0", rest));
        decimals = u32::try_from(number(digits)?).ok()?;
        // The point takes one character.
        irregular |= decimals >= width;
        rest = after;
    }
    irregular |= !rest.is_empty();
    Some(Form { field: Field::Text { text, width, decimals }, substrings: None, irregular })
}

/// Parses TDIMn: `(l,m,n)`, the first the fastest; `None` for any other text.
pub(crate) fn dimensions(text: &str) -> Option<Vec<u64>> {
    /// Maximum number of axes of an array.
    const MOST: usize = 999;
    let inside = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let sizes: Option<Vec<u64>> =
        inside.split(',').take(MOST + 1).map(|size| number(size.trim().as_bytes())).collect();
    sizes.filter(|sizes| sizes.len() <= MOST)
}

/// Returns the product; `None` beyond 64 bits.
pub(crate) fn product(dimensions: &[u64]) -> Option<u64> {
    if dimensions.contains(&0) {
        return Some(0);
    }
    dimensions.iter().try_fold(1u64, |product, &size| product.checked_mul(size))
}

/// Splits `bytes` after the leading digits.
fn split_number(bytes: &[u8]) -> (&[u8], &[u8]) {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    bytes.split_at(digits)
}

/// Parses digits as a 64-bit number; `None` if there are no digits or too many.
fn number(digits: &[u8]) -> Option<u64> {
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    str::from_utf8(digits).ok().filter(|_| all)?.parse().ok()
}

impl TextForm {
    /// Whether the form has digits after a point.
    #[must_use]
    pub const fn has_decimals(self) -> bool {
        matches!(self, TextForm::Fixed | TextForm::Exponent | TextForm::Double)
    }

    /// Letter of TFORMn.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            TextForm::Characters => 'A',
            TextForm::Integer => 'I',
            TextForm::Fixed => 'F',
            TextForm::Exponent => 'E',
            TextForm::Double => 'D',
        }
    }
}

impl Element {
    /// Letter of TFORMn (Table 18); for unsigned types the letter of the stored integers.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Element::Logical => 'L',
            Element::Bit => 'X',
            Element::Character => 'A',
            Element::Complex32 => 'C',
            Element::Complex64 => 'M',
            Element::Number(value) => match value {
                ValueType::U8 | ValueType::I8 => 'B',
                ValueType::I16 | ValueType::U16 => 'I',
                ValueType::I32 | ValueType::U32 => 'J',
                ValueType::I64 | ValueType::U64 => 'K',
                ValueType::F32 => 'E',
                ValueType::F64 => 'D',
            },
        }
    }

    /// Stored type of a number.
    #[must_use]
    pub const fn stored(self) -> Option<StoredType> {
        match self {
            Element::Number(_) => stored_type(self.letter() as u8),
            _ => None,
        }
    }
}

impl Field {
    /// Parses the field of a binary table's form, including the letters of CFITSIO: U, V and W for unsigned integers of
    /// 16, 32 and 64 bits, S for signed bytes.
    ///
    /// ```
    /// use tachyfits_format::{Element, Field, ValueType};
    /// let field = Field::of_binary_form("2U").unwrap();
    /// assert_eq!(field, Field::Fixed { element: Element::Number(ValueType::U16), repeat: 2, width: 1 });
    /// assert_eq!(Field::of_binary_form("2Z"), None);
    /// ```
    #[must_use]
    pub fn of_binary_form(text: &str) -> Option<Field> {
        let conventions = [
            ('U', 'I', ValueType::U16),
            ('V', 'J', ValueType::U32),
            ('W', 'K', ValueType::U64),
            ('S', 'B', ValueType::I8),
        ];
        let letter = text.chars().rfind(char::is_ascii_alphabetic)?.to_ascii_uppercase();
        let convention = conventions.iter().find(|(unsigned, ..)| *unsigned == letter);
        let Some(&(unsigned, signed, value)) = convention else {
            return Some(binary(text)?.field);
        };
        let plain = text.to_ascii_uppercase().replacen(unsigned, &signed.to_string(), 1);
        Some(match binary(&plain)?.field {
            Field::Fixed { repeat, width, .. } => {
                Field::Fixed { element: Element::Number(value), repeat, width }
            }
            Field::Variable { wide, repeat, most, .. } => {
                Field::Variable { element: Element::Number(value), wide, repeat, most }
            }
            text @ Field::Text { .. } => text,
        })
    }

    /// Formats TFORMn. Strings of one width are written as `rAw` if `dimensions` (TDIMn) do not state the width.
    ///
    /// ```
    /// use tachyfits_format::{Element, Field};
    /// let strings = Field::Fixed { element: Element::Character, repeat: 60, width: 5 };
    /// assert_eq!(strings.form(&[]), "60A5");
    /// assert_eq!(strings.form(&[5, 4, 3]), "60A");
    /// ```
    #[must_use]
    pub fn form(self, dimensions: &[u64]) -> String {
        match self {
            Field::Fixed { element, repeat, width } => {
                let apart = element == Element::Character && width != repeat;
                let width =
                    if apart && dimensions.is_empty() { width.to_string() } else { String::new() };
                format!("{repeat}{}{width}", element.letter())
            }
            Field::Variable { element, wide, repeat, most } => {
                let most = most.map_or_else(String::new, |most| format!("({most})"));
                format!("{repeat}{}{}{most}", if wide { 'Q' } else { 'P' }, element.letter())
            }
            Field::Text { text, width, decimals } if text.has_decimals() => {
                format!("{}{width}.{decimals}", text.letter())
            }
            Field::Text { text, width, .. } => format!("{}{width}", text.letter()),
        }
    }
}
