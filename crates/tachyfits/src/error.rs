//! The four kinds of error and the engine's own codes. Errors of the lower crates keep their text;
//! the engine prepends the name of the file.

use std::fmt;
use std::ops::Range;

use tachyfits_format::Kind;
pub use tachyfits_format::{Code, FormatError, Place, Warning};
use tachyfits_io::{ErrorKind, IoError};
use tachyfits_memory::NoMemory;

/// Reason for a failed operation. `{}` formats one line: location, expected and actual value.
/// `{:#}` adds a hint and shows the position in an expression.
///
/// ```
/// use tachyfits::{ErrorKind, FitsFile, OpenOptions};
/// let error = FitsFile::open("no/such/cube.fits", &OpenOptions::default()).unwrap_err();
/// assert_eq!((error.kind(), error.code()), (ErrorKind::Io, "io-not-found"));
/// assert_eq!(error.to_string(), "no/such/cube.fits: no such file [io-not-found]");
/// assert!(format!("{error:#}").ends_with("\nhint: check the name and the current directory"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    Io(IoError),
    /// A header, or a request about it, is invalid.
    Format {
        /// Name of the file.
        file: String,
        /// The problem.
        error: FormatError,
    },
    /// The engine rejected the request.
    Refused(Box<Refusal>),
    /// An expression cannot be computed; the text shows the position.
    Expression(Box<ExpressionError>),
}

/// Details of a rejected request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// Reason of the rejection.
    pub reason: Reason,
    /// Name of the file, if any.
    pub file: String,
    /// The HDU, counted from 0.
    pub hdu: Option<usize>,
    /// The expected value, as words that follow "expected".
    pub expected: String,
    /// The value found, as words that follow "found".
    pub found: String,
}

/// An error at some position of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpressionError {
    /// [`Reason::Expression`] or [`Reason::ExpressionInput`].
    pub reason: Reason,
    /// The expression.
    pub expression: String,
    /// The faulty bytes of the expression; empty if there is no single position.
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
        /// Reasons of the engine to reject a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $meaning] $name,)+
        }

        impl Reason {
            /// All reasons.
            pub const ALL: &'static [Reason] = &[$(Reason::$name),+];

            /// Stable code of the reason.
            pub fn code(self) -> &'static str {
                match self { $(Reason::$name => $text),+ }
            }

            /// Kind of the error.
            pub fn kind(self) -> ErrorKind {
                match self { $(Reason::$name => ErrorKind::$kind),+ }
            }

            /// Meaning of the reason, as a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Reason::$name => $meaning),+ }
            }

            /// The hint; `{a|b}` contains the wordings for Python and for the command line.
            pub fn hint(self) -> &'static str {
                match self { $(Reason::$name => $hint),+ }
            }
        }
    };
}

reasons! {
    DataMissing = "data-missing", Format,
        "The file ends before the requested pixels.",
        hint "the file is truncated: fetch it again, or read a section within the remaining pixels";
    NoSuchHdu = "no-such-hdu", Usage,
        "No HDU has this number.",
        hint "count HDUs from 0; see the list of HDUs";
    Column = "column", Usage,
        "No column has this name or number.",
        hint "see the list of columns; names may be in either case";
    Rows = "rows", Usage,
        "Rows are outside the table.",
        hint "count rows from 0, below the number of rows of the table";
    ColumnKind = "column-kind", Usage,
        "A column cannot be read in this way.",
        hint "read variable-length arrays as such, and other columns as cells of one size";
    CellText = "cell-text", Format,
        "A field of an ASCII table is not a number of its format.",
        hint "read the stored text (raw), or set TNULLn to the text of undefined numbers";
    NoSuchAxis = "no-such-axis", Usage,
        "An axis does not exist, or is named twice.",
        hint "name each axis once, within the number of axes of the image";
    Section = "section", Usage,
        "A section extends beyond the image.",
        hint "give a start, count and step for each axis that stay within it; the step must not be 0";
    Region = "region", Usage,
        "A region is invalid, or cannot be used here.",
        hint "use sizes of 0 or more and finite numbers up to 1e12, and reduce NAXIS1 and NAXIS2";
    Weights = "weights", Usage,
        "A region has no exact shares of pixels.",
        hint "use one circle, ellipse, box or polygon, or a ring whose hole is inside";
    Statistic = "statistic", Usage,
        "No statistic has this name.",
        hint "use one of these names";
    HistogramRange = "histogram-range", Usage,
        "The range of a histogram is empty or not finite, or the number of bins is out of range.",
        hint "give low < high, both finite, and between 1 and 16777216 bins";
    Percentile = "percentile", Usage,
        "A percentile is not between 0 and 100.",
        hint "give percentiles from 0 to 100: 50 is the median";
    Moment = "moment", Usage,
        "A moment cannot be computed with these coordinates.",
        hint "use order 0, 1 or 2, with one finite coordinate per pixel along the axis and a finite width";
    Fit = "fit", Usage,
        "A spectrum cannot be fitted with this model or these coordinates.",
        hint "use 1 to 3 Gaussians, a baseline of a low order, limits from low to high, and one finite coordinate per channel";
    Smoothing = "smoothing", Usage,
        "The weights of a smoothing are invalid.",
        hint "give a width within these limits, or an odd number of finite weights, the middle one for the pixel itself; and a step of 1 or more";
    TileCompression = "tile-compression", Usage,
        "An image cannot be compressed in this way.",
        hint "choose another codec, shape of tiles or quantisation; GZIP_2 keeps any pixels as they are";
    NewPixels = "new-pixels", Usage,
        "Pixels cannot be written as this type, or with this scaling or BLANK.",
        hint "use a finite BSCALE other than 0; use scaling and BLANK only with BITPIX 8, 16, 32 and 64, and a BLANK in range";
    ValueRange = "value-range", Usage,
        "A value cannot be represented by the pixels to be written.",
        hint "choose BSCALE and BZERO that cover the values, a wider type, or a BLANK that no value equals";
    AxisOrder = "axis-order", Usage,
        "An axis order does not name each axis once.",
        hint "name every axis of the image once, in the new order";
    Rebinning = "rebinning", Usage,
        "Blocks of this shape are invalid.",
        hint "give the block size along each axis, from 1 to the length of the axis; reduce along the axes instead of using blocks of millions of pixels";
    Path = "path", Usage,
        "A cut cannot be made along this path.",
        hint "give two or more different points in pixels{, 0-based,|, counted from 1,} within 1e6 of the image and some of the path on it, a width of 1 to 1024 pixels and a spacing above 0";
    Expression = "expression", Usage,
        "An expression is invalid.",
        hint "correct the expression at the marked position";
    ExpressionInput = "expression-input", Usage,
        "The inputs do not match the expression, or the shapes of the images cannot be broadcast.",
        hint "give one image or number for each name of the expression, with shapes that can be broadcast";
    CellValues = "cell-values", Usage,
        "Cells do not match the columns or the rows.",
        hint "give cells of the type that reading the column returns, with values that its form, TSCAL, TZERO and TNULL can hold";
    Edit = "edit", Usage,
        "A file cannot be edited in this way.",
        hint "decompress a compressed file or table first; do not move unreadable HDUs or random groups";
    Structure = "structure", Usage,
        "A structural card cannot be changed by itself.",
        hint "change the data (rows, columns, HDUs), which updates these cards";
    Output = "output", Usage,
        "The output array does not match the section.",
        hint "give an array of the size of the section and of the type to read";
    PixelKind = "pixel-kind", Usage,
        "The pixels cannot be read as this type.",
        hint "read scaled or floating-point pixels as float32 or float64, or use \"raw\" for stored values";
    Memory = "memory", Limit,
        "There is too little memory for a result, regions, or a step of the operation.",
        hint "reduce more axes, or use a smaller section, smaller regions or fewer threads";
}

impl Error {
    pub(crate) fn refused(
        reason: Reason,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        Error::Refused(Box::new(Refusal::new(reason, expected, found)))
    }

    /// Adds the file and the HDU to the error.
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

    /// Kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Io(error) => error.kind(),
            Error::Format { error, .. } => match error.kind() {
                Kind::Format | Kind::Warning => ErrorKind::Format,
                Kind::Usage => ErrorKind::Usage,
                Kind::Limit => ErrorKind::Limit,
            },
            Error::Refused(refusal) => refusal.reason.kind(),
            Error::Expression(error) => error.reason.kind(),
        }
    }

    /// Stable code, for programs and for the documentation.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Io(error) => error.code(),
            Error::Format { error, .. } => error.code().as_str(),
            Error::Refused(refusal) => refusal.reason.code(),
            Error::Expression(error) => error.reason.code(),
        }
    }

    /// Whether the file changed during the operation, which may succeed if it is repeated.
    pub(crate) fn is_changed(&self) -> bool {
        matches!(self, Error::Io(IoError::Changed { .. }))
    }
}

impl Refusal {
    /// Creates a refusal without file and HDU.
    pub fn new(reason: Reason, expected: impl Into<String>, found: impl Into<String>) -> Refusal {
        let (expected, found) = (expected.into(), found.into());
        Refusal { reason, file: String::new(), hdu: None, expected, found }
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
        write!(f, "expected {}, found {} [{code}]", self.expected, self.found)?;
        if f.alternate() { write!(f, "\nhint: {hint}") } else { Ok(()) }
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
        write!(f, "expression{place}: expected {expected}, found {found} [{}]", reason.code())?;
        if !f.alternate() {
            return Ok(());
        }
        writeln!(f)?;
        let skipped = begin.saturating_sub(SHOWN);
        let excerpt = expression.chars().skip(skipped).take(length + 2 * SHOWN);
        // Control characters become blanks, so that the excerpt is one line.
        let line: String = excerpt.map(|c| if c.is_control() { ' ' } else { c }).collect();
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
            Error::Format { file, error } => {
                write!(f, "{file}: ")?;
                error.fmt(f)
            }
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Expression(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The text of the inner error is part of this error's text.
        match self {
            Error::Io(error) => error.source(),
            Error::Format { .. } | Error::Refused(_) | Error::Expression(_) => None,
        }
    }
}

impl From<IoError> for Error {
    /// A fault in the content of a storage keeps its own kind and code.
    fn from(error: IoError) -> Error {
        match error {
            IoError::Content { name, source } => match source.downcast::<FormatError>() {
                Ok(error) => Error::Format { file: name, error: *error },
                Err(source) => Error::Io(IoError::Content { name, source }),
            },
            error => Error::Io(error),
        }
    }
}

impl From<NoMemory> for Error {
    fn from(NoMemory { what, bytes }: NoMemory) -> Error {
        let (expected, found) = (format!("memory for {what}"), format!("{bytes} bytes needed"));
        Error::refused(Reason::Memory, expected, found)
    }
}

/// A row in the list of error and warning codes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorCode {
    /// The stable code.
    pub code: &'static str,
    /// "io", "format", "usage", "limit" or "warning".
    pub kind: &'static str,
    /// Meaning of the code, or an example.
    pub meaning: String,
    /// The hint.
    pub hint: String,
}

/// Returns every code of errors and warnings.
///
/// ```
/// assert!(tachyfits::error::error_codes().iter().any(|row| row.code == "data-missing"));
/// ```
pub fn error_codes() -> Vec<ErrorCode> {
    let reasons = Reason::ALL.iter().map(|reason| ErrorCode {
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
    reasons.chain(format).chain(io).collect()
}
