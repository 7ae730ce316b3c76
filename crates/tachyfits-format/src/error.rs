//! Errors and warnings: code, place, expected and actual value, advice. The list of codes is in
//! [`crate::code`]; the engine, which knows the file name, adds it in front.
//!
//! An error and a warning both contain a [`Problem`]; strict mode converts warnings to errors.

use std::fmt;

use tachyfits_memory::NoMemory;

use crate::code::{Code, Kind};

/// Place of a problem; each part only if it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Index of the HDU, 0 is the primary HDU.
    pub hdu: Option<usize>,
    /// Index of the 80-byte record in its header, 0-based.
    pub card: Option<usize>,
    /// Keyword of the card.
    pub keyword: Option<String>,
    /// Byte offset in the file.
    pub offset: Option<u64>,
    /// Row of a table, from 1.
    pub row: Option<u64>,
    /// Column of a table: its number from 1, and its name.
    pub column: Option<(usize, String)>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(hdu) = self.hdu {
            parts.push(format!("HDU {hdu} (0-based)"));
        }
        if let Some(keyword) = &self.keyword {
            parts.push(format!("keyword {keyword}"));
        }
        if let Some(card) = self.card {
            parts.push(format!("card {card} (0-based)"));
        }
        if let Some((number, name)) = &self.column {
            parts.push(format!("column {number} (from 1) {}", quoted(name)));
        }
        if let Some(row) = self.row {
            parts.push(format!("row {row} (from 1)"));
        }
        if let Some(offset) = self.offset {
            parts.push(format!("byte {offset}"));
        }
        f.write_str(&parts.join(", "))
    }
}

/// One fault: the common content of [`FormatError`] and [`Warning`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Code of the problem.
    pub code: Code,
    /// Place of the problem.
    pub place: Place,
    /// The expected value, as words that follow "expected".
    pub expected: String,
    /// The actual value, as words that follow "found".
    pub found: String,
    /// Number of further problems with the same code in the same header that are not listed.
    pub repeats: usize,
}

impl Problem {
    pub(crate) fn new(
        code: Code,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Problem { code, place, expected: expected.into(), found: found.into(), repeats: 0 }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.to_string();
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        write!(f, "expected {}, found {}", self.expected, self.found)?;
        if self.repeats > 0 {
            write!(f, " (and {} similar ones in this header)", self.repeats)?;
        }
        write!(f, " [{}]", self.code.as_str())?;
        if f.alternate() { write!(f, "\nhint: {}", self.code.hint()) } else { Ok(()) }
    }
}

/// Reason why something cannot be read or done. Boxed, so that results stay small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError(Box<Problem>);

impl FormatError {
    pub(crate) fn new(
        code: Code,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        FormatError(Box::new(Problem::new(code, place, expected, found)))
    }

    /// Code of the problem.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Kind of the error: a warning that strict mode made an error counts as [`Kind::Format`].
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.0.code.kind() {
            Kind::Warning => Kind::Format,
            kind => kind,
        }
    }

    /// Place, expected value and actual value.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.0
    }

    /// Advice.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        self.0.code.hint()
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for FormatError {}

impl From<NoMemory> for FormatError {
    fn from(NoMemory { what, bytes }: NoMemory) -> Self {
        let (expected, found) = (format!("memory for {what}"), format!("{bytes} bytes needed"));
        FormatError::new(Code::NoMemory, Place::default(), expected, found)
    }
}

impl From<Warning> for FormatError {
    fn from(warning: Warning) -> Self {
        FormatError(Box::new(warning.0))
    }
}

/// A fault that breaks the Standard but was tolerated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning(Problem);

impl Warning {
    pub(crate) fn new(
        code: Code,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Warning(Problem::new(code, place, expected, found))
    }

    /// Code of the problem.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Place, expected value and actual value.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.0
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An error that does not end the walk is kept as a warning: the HDUs before it stay readable.
impl From<FormatError> for Warning {
    fn from(error: FormatError) -> Self {
        Warning(*error.0)
    }
}

/// Maximum number of listed warnings per code and header; further ones are only counted. A damaged
/// header of 300 000 cards must not produce 300 000 messages.
const WARNINGS_PER_CODE: usize = 16;

/// Collects the warnings of one header.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    list: Vec<Warning>,
}

impl Warnings {
    pub(crate) fn push(&mut self, warning: Warning) {
        let code = warning.code();
        let mut same = self.list.iter_mut().filter(|entry| entry.code() == code);
        // Text in another encoding is one fault, however many cards have it.
        let most = if code == Code::IllegalByte { 1 } else { WARNINGS_PER_CODE };
        match same.nth(most - 1) {
            Some(last) => last.0.repeats += 1,
            None => self.list.push(warning),
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Warning> {
        self.list
    }
}

/// Shortens text from a file and makes it printable, for a message.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
