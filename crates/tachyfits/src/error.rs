//! The four kinds of error and the engine's own codes. Errors of the lower crates keep their text;
//! the engine adds the name of the file in front.

use std::fmt;
use std::ops::Range;

use tachyfits_format::{Code, FormatError, Kind};
use tachyfits_io::IoError;
use tachyfits_kernels::UnknownTier;

/// The kind of error: Python has one exception class for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The bytes could not be had or written.
    Io,
    /// The bytes are not what the FITS Standard asks for.
    Format,
    /// The request does not fit the data.
    Usage,
    /// The request exceeds a limit or the available memory.
    Limit,
}

impl ErrorKind {
    /// The kind in lower case, for lists.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Io => "io",
            ErrorKind::Format => "format",
            ErrorKind::Usage => "usage",
            ErrorKind::Limit => "limit",
        }
    }
}

/// Why an operation failed. Its text is one line that says where, what was expected and what was found, and a second
/// line that says what to do.
///
/// ```
/// use tachyfits::{ErrorKind, FitsFile, OpenOptions};
/// let error = FitsFile::open("no/such/cube.fits".as_ref(), &OpenOptions::default()).unwrap_err();
/// assert_eq!((error.kind(), error.code()), (ErrorKind::Io, "io-not-found"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    Io(IoError),
    /// A header or a request about it is wrong.
    Format {
        /// The file.
        file: String,
        /// The problem.
        error: FormatError,
    },
    /// The engine itself refused.
    Refused(Box<Refusal>),
    /// An expression cannot be computed; the text shows the place.
    Expression(Box<ExpressionError>),
}

/// Why the engine refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which problem it is.
    pub reason: Reason,
    /// The file, where one is concerned.
    pub file: String,
    /// The HDU, counted from 0.
    pub hdu: Option<usize>,
    /// The expected value, as words that follow "expected".
    pub expected: String,
    /// The value found, as words that follow "found".
    pub found: String,
}

/// A problem at some position of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// [`Reason::Expression`] or [`Reason::ExpressionInput`].
    pub reason: Reason,
    /// The expression.
    pub expression: String,
    /// The bytes of the expression at fault; empty without a single position.
    pub at: Range<usize>,
    /// The expected syntax there, as words that follow "expected".
    pub expected: String,
    /// The syntax found, as words that follow "found".
    pub found: String,
    /// The hint.
    pub hint: String,
}

macro_rules! reasons {
    ($($name:ident = $text:literal, $kind:ident, $meaning:literal, hint $hint:literal;)+) => {
        /// Reasons of the engine to refuse a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $meaning] $name,)+
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &'static [Reason] = &[$(Reason::$name),+];

            /// Its stable code.
            pub fn code(self) -> &'static str {
                match self { $(Reason::$name => $text),+ }
            }

            /// Its kind.
            pub fn kind(self) -> ErrorKind {
                match self { $(Reason::$name => ErrorKind::$kind),+ }
            }

            /// Its meaning.
            pub fn meaning(self) -> &'static str {
                match self { $(Reason::$name => $meaning),+ }
            }

            /// The hint; `{a|b}` holds the wordings for Python and for the command line.
            pub fn hint(self) -> &'static str {
                match self { $(Reason::$name => $hint),+ }
            }
        }
    };
}

reasons! {
    DataMissing = "data-missing", Format,
        "The file ends before the pixels that were asked for.",
        hint "the file is cut short: fetch it again, or ask for a section within the pixels that are there";
    NoSuchHdu = "no-such-hdu", Usage,
        "There is no HDU of this number.",
        hint "HDUs are counted from 0; the list of HDUs shows which there are";
    Column = "column", Usage,
        "There is no column of this name or number.",
        hint "names may be in either case; the list of columns shows which there are";
    Rows = "rows", Usage,
        "Rows do not lie within the table.",
        hint "rows are counted from 0; ask for rows below the number that the table has";
    ColumnKind = "column-kind", Usage,
        "A column cannot be read so.",
        hint "read columns of arrays in the heap as variable-length arrays, and others as cells of one size";
    CellText = "cell-text", Format,
        "The text of a field of an ASCII table is no number of its form.",
        hint "the stored text can be read (raw); a TNULLn card says which text means that there is no number";
    NoSuchAxis = "no-such-axis", Usage,
        "There is no axis of this number, or it is named twice.",
        hint "name each axis once, within the number of axes of the image";
    Section = "section", Usage,
        "A section does not lie within the image.",
        hint "give one start, count and step per axis that stay within the axis; the step is not 0";
    Region = "region", Usage,
        "A region is no region, or cannot be used here.",
        hint "sizes are 0 or more, numbers finite and at most 1e12; regions need NAXIS1 and NAXIS2 among the axes reduced";
    Statistic = "statistic", Usage,
        "There is no statistic of this name.",
        hint "use one of: count, nan, sum, mean, rms, std, min, max, min_position, max_position";
    HistogramRange = "histogram-range", Usage,
        "The range of a histogram is empty or not finite, or the number of bins is out of range.",
        hint "give low < high, both finite, and between 1 and 16777216 bins";
    Percentile = "percentile", Usage,
        "A percentile is not between 0 and 100.",
        hint "give percentiles from 0 to 100: 50 is the median";
    Moment = "moment", Usage,
        "A moment cannot be computed with these coordinates.",
        hint "the order is 0, 1 or 2; give one finite coordinate per pixel along the axis, and a finite width";
    Smoothing = "smoothing", Usage,
        "A smoothing has weights that cannot be used.",
        hint "give an odd number of finite weights, the middle one for the pixel itself, and keep every 1st, 2nd, ... result";
    NewPixels = "new-pixels", Usage,
        "Pixels cannot be written as this type, or with this scaling or BLANK.",
        hint "BSCALE is finite and not 0; scaling and BLANK are for BITPIX 8, 16, 32 and 64, and BLANK is a number of the type";
    ValueRange = "value-range", Usage,
        "A value cannot be represented by the pixels to be written.",
        hint "choose BSCALE and BZERO that cover the values, a wider type, or a BLANK for undefined pixels that no value becomes";
    AxisOrder = "axis-order", Usage,
        "An order of axes does not name each axis once.",
        hint "name every axis of the image once, the new first axis first";
    Rebinning = "rebinning", Usage,
        "Pixels cannot be made of blocks of this shape.",
        hint "give the pixels of a block along each axis, from 1 to the length of the axis; for blocks of millions of pixels reduce along the axes instead";
    Path = "path", Usage,
        "A cut cannot be made along this path.",
        hint "give two or more different points, 0-based pixels of NAXIS1 and NAXIS2 within 1e6 of the image and some of the path on it, a width of 1 to 1024 pixels and a spacing above 0";
    Expression = "expression", Usage,
        "An expression cannot be understood.",
        hint "correct the expression at the place that is shown";
    ExpressionInput = "expression-input", Usage,
        "The inputs do not fit the expression, or the shapes of the images do not go together.",
        hint "give one image or number for each name of the expression, with shapes that go together";
    CellValues = "cell-values", Usage,
        "Cells that are to be written do not fit the columns, or the rows.",
        hint "give each column the cells that reading it would give, with values that its form, TSCAL, TZERO and TNULL can hold";
    Edit = "edit", Usage,
        "A file cannot be edited in this way.",
        hint "inflate a compressed file, or restore a compressed table, first; what cannot be read, and random groups, stay where they are";
    Structure = "structure", Usage,
        "A card that says where the data are and how they lie cannot be changed by itself.",
        hint "change the data (rows, columns, HDUs): these cards follow";
    Output = "output", Usage,
        "The array to read into has another size than the section.",
        hint "make the array as large as the section, of the type that is read";
    PixelKind = "pixel-kind", Usage,
        "The pixels cannot be read as this type.",
        hint "read scaled or floating-point pixels as float32 or float64; \"raw\" gives the stored values of any";
    Records = "records", Usage,
        "Records do not lie within a Fortran file.",
        hint "records are counted from 0 here; ask for records below the number that the file has";
    RecordType = "record-type", Usage,
        "Records of a Fortran file cannot be read or written as these numbers.",
        hint "numbers have 1, 2, 4, 8 or 16 bytes and fill the records; the index shows the length of each record";
    RecordLength = "record-length", Usage,
        "A record is to be written with direct access and has another length than all others.",
        hint "make all records record_bytes long, blanks or zeros at the end, or write them with sequential or stream access";
    Precision = "precision", Usage,
        "A number is too large for the shorter type that it is to be written as.",
        hint "keep the precision of these records, or scale the numbers first";
    Tier = "tier", Usage,
        "TACHYFITS_TIER names no vector tier of this machine.",
        hint "unset TACHYFITS_TIER to let tachyfits choose";
    Memory = "memory", Limit,
        "The result, or the regions, do not fit in memory.",
        hint "reduce more axes, or ask for a smaller section or smaller regions";
}

impl Error {
    pub(crate) fn refused(
        reason: Reason,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        let (expected, found) = (expected.into(), found.into());
        Error::Refused(Box::new(Refusal {
            reason,
            file: String::new(),
            hdu: None,
            expected,
            found,
        }))
    }

    /// The same, with the name of a file that has no HDUs.
    pub(crate) fn of_file(self, file: &str) -> Error {
        match self {
            Error::Refused(mut refusal) => {
                refusal.file = file.to_owned();
                Error::Refused(refusal)
            }
            other => other,
        }
    }

    /// The same, with its place.
    pub(crate) fn at(self, file: &str, hdu: usize) -> Error {
        match self {
            Error::Refused(mut refusal) => {
                refusal.file = file.to_owned();
                refusal.hdu = Some(hdu);
                Error::Refused(refusal)
            }
            other => other,
        }
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Io(IoError::Limit { .. } | IoError::Memory { .. }) => ErrorKind::Limit,
            Error::Io(IoError::Values { .. }) => ErrorKind::Usage,
            Error::Io(_) => ErrorKind::Io,
            Error::Format { error, .. } => match error.kind() {
                Kind::Format | Kind::Warning => ErrorKind::Format,
                Kind::Usage => ErrorKind::Usage,
                Kind::Limit => ErrorKind::Limit,
            },
            Error::Refused(refusal) => refusal.reason.kind(),
            Error::Expression(error) => error.reason.kind(),
        }
    }

    /// The stable code, for programs and for the documentation.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Io(error) => error.code(),
            Error::Format { error, .. } => error.code().as_str(),
            Error::Refused(refusal) => refusal.reason.code(),
            Error::Expression(error) => error.reason.code(),
        }
    }

    /// The error number of the operating system, where it said one.
    pub fn os_code(&self) -> Option<i32> {
        match self {
            Error::Io(error) => error.raw_os_error(),
            _ => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        if let Some(hdu) = self.hdu {
            write!(f, "HDU {hdu} (0-based): ")?;
        }
        let (code, hint) = (self.reason.code(), self.reason.hint());
        write!(f, "expected {}, found {} [{code}]\nhint: {hint}", self.expected, self.found)
    }
}

/// Number of characters of a long expression shown before and after the position.
const SHOWN: usize = 50;

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExpressionError { reason, expression, at, expected, found, hint } = self;
        // Counted in visible characters.
        let count = |text: Option<&str>| text.map_or(0, |text| text.chars().count());
        let begin = count(expression.get(..at.start));
        let length = count(expression.get(at.clone())).clamp(1, SHOWN);
        let place = if at.is_empty() && at.start == 0 {
            String::new()
        } else {
            format!(", character {} (from 1)", begin + 1)
        };
        writeln!(f, "expression{place}: expected {expected}, found {found} [{}]", reason.code())?;
        let skipped = begin.saturating_sub(SHOWN);
        let shown = expression.chars().skip(skipped).take(length + 2 * SHOWN);
        // One line, whatever blanks it has.
        let line: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
        let lead = if skipped > 0 { "... " } else { "" };
        writeln!(f, "    {lead}{}", line.trim_end())?;
        if !place.is_empty() {
            let blanks = " ".repeat(lead.len() + begin - skipped);
            writeln!(f, "    {blanks}{}", "^".repeat(length))?;
        }
        write!(f, "hint: {hint}")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::Format { file, error } => write!(f, "{file}: {error}"),
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Expression(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(error) => Some(error),
            Error::Format { error, .. } => Some(error),
            Error::Refused(_) | Error::Expression(_) => None,
        }
    }
}

impl From<IoError> for Error {
    fn from(error: IoError) -> Error {
        Error::Io(error)
    }
}

impl From<UnknownTier> for Error {
    fn from(error: UnknownTier) -> Error {
        Error::refused(
            Reason::Tier,
            format!("one of: {}", error.available.join(", ")),
            format!("TACHYFITS_TIER={:?}", error.asked),
        )
    }
}

/// One line of the list of errors and warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// The stable code.
    pub code: &'static str,
    /// "io", "format", "usage", "limit" or "warning".
    pub kind: &'static str,
    /// Its meaning, or an example.
    pub meaning: String,
    /// The hint.
    pub hint: String,
}

/// Every code that an error or a warning can have.
///
/// ```
/// assert!(tachyfits::error_codes().iter().any(|row| row.code == "data-missing"));
/// ```
pub fn error_codes() -> Vec<ErrorCode> {
    let refused = Reason::ALL.iter().map(|reason| ErrorCode {
        code: reason.code(),
        kind: reason.kind().as_str(),
        meaning: reason.meaning().to_owned(),
        hint: reason.hint().to_owned(),
    });
    let format = tachyfits_format::codes().iter().map(|code: &Code| ErrorCode {
        code: code.as_str(),
        kind: code.kind().as_str(),
        meaning: code.meaning().to_owned(),
        hint: code.hint().to_owned(),
    });
    let io = IoError::examples().into_iter().map(|error| {
        let (code, meaning, hint) = (error.code(), error.message(), error.hint().to_owned());
        ErrorCode { code, kind: Error::Io(error).kind().as_str(), meaning, hint }
    });
    refused.chain(format).chain(io).collect()
}
