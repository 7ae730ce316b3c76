//! Notation of the items of a record, and their positions.
//!
//! Items are separated by commas. An item is a count (1 by default; `*` once to fill the record)
//! and a type: `i1 i2 i4 i8 i16` integers, `f2 f4 f8 f16` reals (`r` is the same), `c8 c16 c32`
//! complex numbers of two reals, `l1 l2 l4 l8` logical values, `aN` text of N characters, `xN` N
//! bytes to skip. Sizes are in bytes, as in `real(8)`; only those of complex cover both parts, as
//! in NumPy.
//!
//! Items in parentheses form a group, which has a count like an item: `1000(3f8,i4)` is an array of 1000 derived types.
//! Groups may be nested; `*` is not permitted inside a group, but may be its count.

use crate::error::{Code, Error, Problem, quoted};

/// Maximum number of items written in a form. Each costs some bytes and a copy.
const MOST_ITEMS: usize = 1 << 20;

/// Maximum nesting depth of groups.
const MOST_DEPTH: usize = 16;

/// Type of an item.
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
    /// Bytes to skip.
    Skip,
    /// Items in parentheses.
    Group,
}

impl ItemKind {
    /// Letter of the type; for a group the parenthesis.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            ItemKind::Integer => 'i',
            ItemKind::Real => 'f',
            ItemKind::Complex => 'c',
            ItemKind::Logical => 'l',
            ItemKind::Character => 'a',
            ItemKind::Skip => 'x',
            ItemKind::Group => '(',
        }
    }
}

/// An item with its position in a record, or in a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RecordItem {
    /// Type of the item.
    pub kind: ItemKind,
    /// Bytes of one element: both parts of a complex number, one text, all items of a group.
    pub size: u64,
    /// Number of elements.
    pub count: u64,
    /// Offset in the record, or in each group.
    pub offset: u64,
    /// Items of a group.
    pub parts: Vec<RecordItem>,
}

impl RecordItem {
    /// Bytes of the numbers to swap: 1 for text, and for groups.
    #[must_use]
    pub const fn number_bytes(&self) -> u64 {
        match self.kind {
            ItemKind::Complex => self.size / 2,
            ItemKind::Character | ItemKind::Skip | ItemKind::Group => 1,
            _ => self.size,
        }
    }

    /// Bytes of all elements.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.size * self.count
    }
}

/// The items of a record.
///
/// ```
/// use tachyfits_records::RecordForm;
/// let items = RecordForm::parse("i4,*f8,2(i2,f4)")?.items(40)?;
/// let places: Vec<_> = items.iter().map(|item| (item.offset, item.count, item.size)).collect();
/// assert_eq!(places, [(0, 1, 4), (4, 3, 8), (28, 2, 6)]);
/// assert_eq!(items[2].parts[1].offset, 2);
/// # Ok::<(), tachyfits_records::Problem>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordForm {
    text: String,
    /// Items of a record in which the filling item has a count of 0.
    items: Vec<RecordItem>,
    /// Index of the filling item.
    filling: Option<usize>,
    least_bytes: u64,
}

impl RecordForm {
    /// Parses the notation.
    ///
    /// # Errors
    /// Returns an error if the text is not a form.
    pub fn parse(text: &str) -> Result<RecordForm, Problem> {
        let mut parser = Parser { text, at: 0, items: 0, filling: None };
        let (items, least_bytes) = parser.items(0)?;
        match parser.rest().chars().next() {
            None => {
                let filling = parser.filling;
                Ok(RecordForm { text: text.to_owned(), items, filling, least_bytes })
            }
            Some(_) => Err(parser.problem("no ) without a (", parser.at, 1)),
        }
    }

    /// Returns the items and their positions in a record of `record_bytes` bytes.
    ///
    /// # Errors
    /// Returns an error if the items do not fill such a record exactly.
    pub fn items(&self, record_bytes: u64) -> Result<Vec<RecordItem>, Problem> {
        let Some(rest) = record_bytes.checked_sub(self.least_bytes) else {
            return Err(self.misfit(record_bytes));
        };
        let mut items = self.items.clone();
        match self.filling.map(|at| items[at..].split_at_mut(1)) {
            None if rest == 0 => {}
            Some(([filling], behind)) if rest.is_multiple_of(filling.size) => {
                filling.count = rest / filling.size;
                behind.iter_mut().for_each(|item| item.offset += rest);
            }
            _ => return Err(self.misfit(record_bytes)),
        }
        Ok(items)
    }

    /// Whether one item fills the record.
    #[must_use]
    pub fn fills(&self) -> bool {
        self.filling.is_some()
    }

    /// Bytes of a record of this form, without the filling item.
    #[must_use]
    pub fn least_bytes(&self) -> u64 {
        self.least_bytes
    }

    fn misfit(&self, record_bytes: u64) -> Problem {
        let filler = if self.fills() { " and what * fills" } else { "" };
        let least = self.least_bytes;
        let expected = format!("a record of {least} bytes{filler}, for {}", quoted(&self.text));
        problem(expected, format!("one of {record_bytes} bytes"))
    }
}

fn problem(expected: impl Into<String>, found: impl Into<String>) -> Problem {
    Problem::new(Code::Form, expected, found)
}

/// Returns the items of a record of `record_bytes` bytes, by its form.
///
/// # Errors
/// Returns an error if the form is invalid or does not match the length.
pub fn record_items(form: &str, record_bytes: u64) -> Result<Vec<RecordItem>, Error> {
    let items = RecordForm::parse(form).and_then(|form| form.items(record_bytes));
    items.map_err(of_form)
}

/// Returns the minimum bytes of a record of a form: those of all items except the filling one.
///
/// # Errors
/// Returns an error if the form is invalid.
pub fn record_least_bytes(form: &str) -> Result<u64, Error> {
    RecordForm::parse(form).map(|form| form.least_bytes()).map_err(of_form)
}

fn of_form(problem: Problem) -> Error {
    problem.in_file("a form of records").into()
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    items: usize,
    filling: Option<usize>,
}

impl<'a> Parser<'a> {
    /// Parses items separated by commas, up to the end or to the closing parenthesis of a group, and counts their
    /// bytes.
    fn items(&mut self, depth: usize) -> Result<(Vec<RecordItem>, u64), Problem> {
        let mut items: Vec<RecordItem> = Vec::new();
        let mut offset = 0;
        loop {
            let begin = self.at + self.rest().len() - self.rest().trim_start().len();
            let (count, mut item) = self.item(depth)?;
            if count.is_none() && (depth > 0 || self.filling.replace(items.len()).is_some()) {
                return Err(self.problem("at most one item with *, outside groups", begin, 1));
            }
            item.count = count.unwrap_or(0);
            item.offset = offset;
            let end = item.size.checked_mul(item.count).and_then(|bytes| bytes.checked_add(offset));
            offset = end.filter(|&end| end < 1 << 60).ok_or_else(|| {
                self.problem("items of fewer than 2^60 bytes", begin, self.at - begin)
            })?;
            items.push(item);
            match self.rest().strip_prefix(',') {
                Some(_) => self.at += 1,
                None => return Ok((items, offset)),
            }
        }
    }

    /// Parses an item or a group with its count.
    fn item(&mut self, depth: usize) -> Result<(Option<u64>, RecordItem), Problem> {
        self.items += 1;
        if self.items > MOST_ITEMS {
            return Err(problem(format!("at most {MOST_ITEMS} items"), "more"));
        }
        let begin = self.at;
        let rest = self.rest();
        let (token, behind) = rest.split_at(rest.find([',', '(', ')']).unwrap_or(rest.len()));
        self.at += token.len();
        let refused = || {
            let expected =
                "items such as i4, 3f8, *f8, c16, l4, a16, x8, 9(i4,f8), separated by commas";
            let blanks = token.len() - token.trim_start().len();
            self.problem(expected, begin + blanks, token.trim().len())
        };
        if !behind.starts_with('(') {
            let (count, kind, size) = parse_item(token.trim()).ok_or_else(refused)?;
            return Ok((count, RecordItem { kind, size, count: 0, offset: 0, parts: Vec::new() }));
        }
        let count = parse_count(token.trim()).ok_or_else(refused)?;
        let open = self.at;
        if depth == MOST_DEPTH {
            let expected = format!("groups at most {MOST_DEPTH} deep in each other");
            return Err(self.problem(expected, open, 1));
        }
        self.at += 1;
        let (parts, size) = self.items(depth + 1)?;
        if !self.rest().starts_with(')') {
            return Err(self.problem("a ) for each (", open, 1));
        }
        self.at += 1;
        if size == 0 {
            return Err(self.problem("a group of some bytes", open, self.at - open));
        }
        // Blanks after it are ignored.
        self.at += self.rest().len() - self.rest().trim_start().len();
        if !self.rest().is_empty() && !self.rest().starts_with([',', ')']) {
            return Err(self.problem("a comma after a group", self.at, 1));
        }
        Ok((count, RecordItem { kind: ItemKind::Group, size, count: 0, offset: 0, parts }))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Returns the error about `bytes` bytes of the text at `at`.
    fn problem(&self, expected: impl Into<String>, at: usize, bytes: usize) -> Problem {
        let (before, rest) = self.text.split_at(at);
        let what: String =
            rest.char_indices().take_while(|&(n, _)| n < bytes).map(|(_, c)| c).collect();
        let place = before.chars().count() + 1;
        let what = if what.is_empty() { "nothing".to_owned() } else { quoted(&what) };
        problem(expected, format!("{what} at character {place} of {}", quoted(self.text)))
    }
}

/// Parses the count of an item; `Some(None)` for `*`, which fills the record.
fn parse_count(text: &str) -> Option<Option<u64>> {
    match text {
        "" => Some(Some(1)),
        "*" => Some(None),
        digits => number(digits).map(Some),
    }
}

/// Parses count, type and size of an item that is not a group.
fn parse_item(text: &str) -> Option<(Option<u64>, ItemKind, u64)> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (count, typed) = text.split_at(at);
    let count = parse_count(count)?;
    let (letter, size) = typed.split_at(1);
    let size = number(size)?;
    let (kind, sizes): (ItemKind, &[u64]) = match letter {
        "i" => (ItemKind::Integer, &[1, 2, 4, 8, 16]),
        "f" | "r" => (ItemKind::Real, &[2, 4, 8, 16]),
        "c" => (ItemKind::Complex, &[8, 16, 32]),
        "l" => (ItemKind::Logical, &[1, 2, 4, 8]),
        "a" if size > 0 => return Some((count, ItemKind::Character, size)),
        "x" if size > 0 => return Some((count, ItemKind::Skip, size)),
        _ => return None,
    };
    sizes.contains(&size).then_some((count, kind, size))
}

/// Parses digits as a number.
fn number(digits: &str) -> Option<u64> {
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if all { digits.parse().ok() } else { None }
}
