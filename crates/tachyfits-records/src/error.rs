//! Errors of records: a table of codes with kind, meaning and hint, and the position of the problem
//! in the file.

use std::fmt;

use tachyfits_io::{ErrorKind, IoError};
use tachyfits_memory::NoMemory;

macro_rules! codes {
    ($($name:ident = $text:literal, $kind:ident, $meaning:literal, hint $hint:literal;)+) => {
        /// A stable name of one problem of records, or of a request for them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $meaning] $name,)+
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$name),+];

            /// The stable text of the code.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text),+ }
            }

            /// Kind of the error.
            pub fn kind(self) -> ErrorKind {
                match self { $(Code::$name => ErrorKind::$kind),+ }
            }

            /// Meaning, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning),+ }
            }

            /// Advice; `{a|b}` contains the wordings for Python and for the command line.
            pub fn hint(self) -> &'static str {
                match self { $(Code::$name => $hint),+ }
            }
        }
    };
}

codes! {
    Markers = "record-markers", Format,
        "The markers before and after a record of a Fortran file disagree.",
        hint "the file is damaged here, or the given marker width or byte order is wrong; records before this one can be read; {recover=True|--recover} continues with the next whole record";
    Cut = "record-cut", Format,
        "A Fortran file ends within a record.",
        hint "fetch the file again, or give other {markers=|--markers} (for direct access {record_bytes=|--record-bytes}) if it is complete; records before this one can be read; \
            {recover=True|--recover} continues with the next whole record";
    Framing = "record-framing", Format,
        "No width and byte order of markers fits the first record of a Fortran file.",
        hint "for direct or stream access, which have no markers, give {access=|--access}; decompress formats other than gzip first; to read records before damage, give {markers= and order=|--markers and --order}";
    FramingAmbiguous = "record-framing-ambiguous", Format,
        "Markers of several widths or byte orders fit a Fortran file.",
        hint "give {markers=4 or 8, and order=\"big\" or \"little\"|--markers 4 or 8, and --order big or little}";
    IndexTooLarge = "record-index-too-large", Limit,
        "The records of a Fortran file change their length, or are damaged, more often than the limit.",
        hint "read it with {access=\"stream\"|--access stream}";
    Form = "record-form", Usage,
        "A record form is invalid, or does not match the record.",
        hint "write items such as i4, 3f8, c16, l4, a16, x8, 9(i4,f8), separated by commas; *f8 fills the record";
    Records = "records", Usage,
        "Records are outside a Fortran file.",
        hint "count records from 0, below the number of records of the file";
    Type = "record-type", Usage,
        "Records of a Fortran file cannot be read or written as these numbers.",
        hint "use numbers of 1, 2, 4, 8 or 16 bytes that fill the records; the index shows the length of each record";
    Length = "record-length", Usage,
        "A direct-access record has another length than the others.",
        hint "pad all records to record_bytes, or use sequential or stream access";
    Precision = "precision", Usage,
        "A number is too large for the shorter type.",
        hint "keep the precision of these records, or scale the numbers first";
    Array = "record-array", Usage,
        "An array does not have the bytes of the records.",
        hint "give an array with the bytes of all items";
}

/// One fault of records, of a form, or of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Code of the problem.
    pub code: Code,
    /// Name of the file; empty if unknown.
    pub file: String,
    /// Number of the record, from 1.
    pub record: Option<u64>,
    /// Byte offset in the file.
    pub offset: Option<u64>,
    /// The expected value, as words that follow "expected".
    pub expected: String,
    /// Actual value, as words that follow "found".
    pub found: String,
}

impl Problem {
    /// Creates a problem without a place.
    pub fn new(code: Code, expected: impl Into<String>, found: impl Into<String>) -> Problem {
        let (expected, found) = (expected.into(), found.into());
        Problem { code, file: String::new(), record: None, offset: None, expected, found }
    }

    /// Adds record and offset.
    pub(crate) fn at(self, record: u64, offset: u64) -> Problem {
        Problem { record: Some(record), offset: Some(offset), ..self }
    }

    /// Adds the name of the file.
    pub fn in_file(self, file: &str) -> Problem {
        Problem { file: file.to_owned(), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        match (self.record, self.offset) {
            (Some(record), Some(offset)) => write!(f, "record {record} (from 1), byte {offset}: ")?,
            (Some(record), None) => write!(f, "record {record} (from 1): ")?,
            (None, Some(offset)) => write!(f, "byte {offset}: ")?,
            (None, None) => {}
        }
        let (code, hint) = (self.code.as_str(), self.code.hint());
        write!(f, "expected {}, found {} [{code}]", self.expected, self.found)?;
        if f.alternate() { write!(f, "\nhint: {hint}") } else { Ok(()) }
    }
}

impl std::error::Error for Problem {}

/// Reason why an operation on records failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An I/O error.
    Io(IoError),
    /// Invalid records, or an invalid request.
    Problem(Box<Problem>),
}

impl Error {
    pub(crate) fn refused(
        code: Code,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        Problem::new(code, expected, found).into()
    }

    /// Adds the name of the file.
    pub(crate) fn in_file(self, file: &str) -> Error {
        match self {
            Error::Problem(problem) => problem.in_file(file).into(),
            other => other,
        }
    }

    /// Kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Io(error) => error.kind(),
            Error::Problem(problem) => problem.code.kind(),
        }
    }

    /// Stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Io(error) => error.code(),
            Error::Problem(problem) => problem.code.as_str(),
        }
    }

    /// Whether the file changed during the operation, which may succeed if repeated.
    pub(crate) fn is_changed(&self) -> bool {
        matches!(self, Error::Io(IoError::Changed { .. }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::Problem(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(error) => error.source(),
            Error::Problem(_) => None,
        }
    }
}

impl From<IoError> for Error {
    fn from(error: IoError) -> Error {
        Error::Io(error)
    }
}

impl From<NoMemory> for Error {
    fn from(error: NoMemory) -> Error {
        Error::Io(error.into())
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error::Problem(Box::new(problem))
    }
}

/// Shortens text from a user or a file and makes it printable, for a message.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
