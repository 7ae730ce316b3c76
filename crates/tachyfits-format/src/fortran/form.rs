//! What a record is made of, in a short notation, and where each item lies.
//!
//! Items are separated by commas. An item is a count (1 where there is none; `*` for as many as fill the
//! record, once) and a type: `i1 i2 i4 i8 i16` integers, `f2 f4 f8 f16` reals (`r` is the same), `c8 c16 c32`
//! complex numbers of two reals, `l1 l2 l4 l8` logical values, `aN` text of N characters, `xN` N bytes
//! that are passed over. Sizes are in bytes, as in `real(8)`; only those of complex are of both parts, as
//! NumPy has them.

use crate::code::Code;
use crate::error::{FormatError, Place, quoted};

/// The most items of a form: enough for arrays of some hundred thousand derived types. Each costs some bytes and a move.
const MOST_ITEMS: usize = 1 << 20;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// `integer`, signed.
    Integer,
    /// `real`.
    Real,
    /// `complex`: real and imaginary part.
    Complex,
    /// `logical`: any bit set is true.
    Logical,
    /// `character`.
    Character,
    /// Bytes that are passed over.
    Skip,
}

impl ItemKind {
    /// Its letter.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            ItemKind::Integer => 'i',
            ItemKind::Real => 'f',
            ItemKind::Complex => 'c',
            ItemKind::Logical => 'l',
            ItemKind::Character => 'a',
            ItemKind::Skip => 'x',
        }
    }
}

/// An item at its place in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordItem {
    /// What it is.
    pub kind: ItemKind,
    /// Bytes of one element: of both parts of a complex number, of one text.
    pub size: u64,
    /// How many elements.
    pub count: u64,
    /// Where it begins in the record.
    pub offset: u64,
}

impl RecordItem {
    /// Bytes of the numbers that change with the byte order: 1 for text.
    #[must_use]
    pub const fn number_bytes(&self) -> u64 {
        match self.kind {
            ItemKind::Complex => self.size / 2,
            ItemKind::Character | ItemKind::Skip => 1,
            _ => self.size,
        }
    }

    /// Bytes of all of it.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.size * self.count
    }
}

/// The items of a record.
///
/// ```
/// use tachyfits_format::RecordForm;
/// let items = RecordForm::parse("i4,*f8,a2")?.items(30)?;
/// let places: Vec<_> = items.iter().map(|item| (item.offset, item.count)).collect();
/// assert_eq!(places, [(0, 1), (4, 3), (28, 1)]);
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordForm {
    text: String,
    /// Kind, size and count of each; no count for the one that fills the record.
    items: Vec<(ItemKind, u64, Option<u64>)>,
}

impl RecordForm {
    /// Reads the notation.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<RecordForm, FormatError> {
        let mut items = Vec::new();
        for item in text.split(',') {
            let parsed = parse_item(item.trim());
            let parsed = parsed.ok_or_else(|| {
                let expected = "items such as i4, 3f8, *f8, c16, l4, a16, x8, separated by commas";
                problem(expected, format!("{} in {}", quoted(item.trim()), quoted(text)))
            })?;
            items.push(parsed);
            if items.len() > MOST_ITEMS {
                return Err(problem(format!("at most {MOST_ITEMS} items"), "more"));
            }
        }
        if items.iter().filter(|item| item.2.is_none()).count() > 1 {
            return Err(problem("one item with * at most", quoted(text)));
        }
        let form = RecordForm { text: text.to_owned(), items };
        match form.fixed_bytes() {
            Some(_) => Ok(form),
            None => Err(problem("items of fewer than 2^60 bytes", quoted(text))),
        }
    }

    /// The items at their places in a record of so many bytes.
    ///
    /// # Errors
    /// If the items do not fill such a record.
    pub fn items(&self, record_bytes: u64) -> Result<Vec<RecordItem>, FormatError> {
        let fixed = self.fixed_bytes().unwrap_or(u64::MAX);
        let rest = record_bytes.checked_sub(fixed);
        let mut offset = 0;
        let mut items = Vec::with_capacity(self.items.len());
        for &(kind, size, count) in &self.items {
            let filling = || rest.filter(|rest| rest.is_multiple_of(size)).map(|rest| rest / size);
            let Some(count) = count.or_else(filling) else { return Err(self.misfit(record_bytes)) };
            items.push(RecordItem { kind, size, count, offset });
            offset += size * count;
        }
        if offset == record_bytes { Ok(items) } else { Err(self.misfit(record_bytes)) }
    }

    /// Whether there is an item that fills the record.
    #[must_use]
    pub fn fills(&self) -> bool {
        self.items.iter().any(|item| item.2.is_none())
    }

    /// Bytes of a record of this form, without those of the item that fills it; `None` if they are too many.
    fn fixed_bytes(&self) -> Option<u64> {
        let bytes = self.items.iter().try_fold(0u64, |all, &(_, size, count)| {
            size.checked_mul(count.unwrap_or(0))?.checked_add(all)
        });
        bytes.filter(|&bytes| bytes < 1 << 60)
    }

    fn misfit(&self, record_bytes: u64) -> FormatError {
        let fixed = self.fixed_bytes().unwrap_or(0);
        let filler = if self.fills() { " and what * fills" } else { "" };
        let expected = format!("a record of {fixed} bytes{filler}, for {}", quoted(&self.text));
        problem(expected, format!("one of {record_bytes} bytes"))
    }
}

fn problem(expected: impl Into<String>, found: impl Into<String>) -> FormatError {
    FormatError::new(Code::RecordForm, Place::default(), expected, found)
}

fn parse_item(text: &str) -> Option<(ItemKind, u64, Option<u64>)> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (count, typed) = text.split_at(at);
    let count = match count {
        "" => Some(1),
        "*" => None,
        digits => Some(number(digits)?),
    };
    let (letter, size) = typed.split_at(1);
    let size = number(size)?;
    let (kind, sizes): (ItemKind, &[u64]) = match letter {
        "i" => (ItemKind::Integer, &[1, 2, 4, 8, 16]),
        "f" | "r" => (ItemKind::Real, &[2, 4, 8, 16]),
        "c" => (ItemKind::Complex, &[8, 16, 32]),
        "l" => (ItemKind::Logical, &[1, 2, 4, 8]),
        "a" if size > 0 => return Some((ItemKind::Character, size, count)),
        "x" if size > 0 => return Some((ItemKind::Skip, size, count)),
        _ => return None,
    };
    sizes.contains(&size).then_some((kind, size, count))
}

/// Digits as a number.
fn number(digits: &str) -> Option<u64> {
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if all { digits.parse().ok() } else { None }
}
