//! The table of every possible problem of a header, an HDU or a request: stable code, kind,
//! meaning, example and advice. [`crate::error`] describes the place of a problem.
//!
//! A new problem needs one row here. A test provokes every row, so unused codes are detected.

/// Kind of problem of a [`Code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The bytes violate the FITS Standard and cannot be read safely.
    Format,
    /// The request is invalid for these data.
    Usage,
    /// The file exceeds a limit of [`crate::Limits`].
    Limit,
    /// The bytes violate the Standard but can be read; an error in strict mode.
    Warning,
}

impl Kind {
    /// Name of the kind in lower-case words, for lists.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Format => "format",
            Kind::Usage => "usage",
            Kind::Limit => "limit",
            Kind::Warning => "warning",
        }
    }
}

macro_rules! codes {
    ($(
        $name:ident = $text:literal, $kind:ident, $meaning:literal,
        example $example:literal, hint $hint:literal;
    )+) => {
        /// A stable name of one problem; the text of [`Code::as_str`] never changes after a
        /// release.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $meaning] $name,)+
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$name),+];

            /// The stable text of the code.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text),+ }
            }

            /// Kind: an error of the file, of the request or of a limit, or a warning.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self { $(Code::$name => Kind::$kind),+ }
            }

            /// Meaning, in one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning),+ }
            }

            /// A card, a file or a request that provokes the problem.
            #[must_use]
            pub const fn example(self) -> &'static str {
                match self { $(Code::$name => $example),+ }
            }

            /// Advice; `{a|b}` contains the wordings for Python and for the command line.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Code::$name => $hint),+ }
            }
        }
    };
}

codes! {
    NotFits = "not-fits", Format,
        "The file does not begin with a SIMPLE card.",
        example "a file that begins with the text of a web page",
        hint "check that this is a FITS file; decompress .Z and .zip files first";
    EndMissing = "end-missing", Format,
        "A header has no END card before the file ends.",
        example "a file cut off in the middle of a header",
        hint "the file is truncated or damaged here; fetch it again, or read the HDUs before this one";
    KeywordMissing = "keyword-missing", Format,
        "A keyword that the structure depends on is absent.",
        example "NAXIS = 2 without NAXIS2",
        hint "the HDU cannot be located without it; add the card with a header editor";
    KeywordType = "keyword-type", Format,
        "A keyword has a value of another type than it must have.",
        example "BITPIX  =                 16.5",
        hint "correct the card with a header editor";
    KeywordRange = "keyword-range", Format,
        "A keyword has a value outside its allowed range.",
        example "NAXIS1  =                   -5",
        hint "correct the card with a header editor";
    NumericText = "numeric-text", Format,
        "A number is written as a character string.",
        example "BZERO   = '32768   '",
        hint "remove the quotes with a header editor; guessing here could give wrong pixel values";
    ImageGroups = "image-groups", Format,
        "An IMAGE extension has PCOUNT other than 0 or GCOUNT other than 1.",
        example "PCOUNT  =                    4 in an IMAGE extension",
        hint "the position of its pixels is undefined; correct PCOUNT and GCOUNT with a header editor";
    HeaderTooLong = "header-too-long", Limit,
        "A header is longer than the limit.",
        example "9000 blocks without END where 8192 are allowed",
        hint "the file is probably damaged, because no real header is as long; fetch it again";
    TooManyHdus = "too-many-hdus", Limit,
        "The file has more HDUs than the limit.",
        example "65537 HDUs where 65536 are allowed",
        hint "split the file";
    DataTooLarge = "data-too-large", Limit,
        "The declared data are larger than the limit.",
        example "NAXIS1 = NAXIS2 = 1099511627776",
        hint "the header is probably damaged; correct NAXISn, PCOUNT or GCOUNT";
    NoMemory = "too-little-memory", Limit,
        "There is too little memory for a header, descriptors or a tile.",
        example "a header of 24 MB where 10 MB of memory are left",
        hint "close other programs, or open the file on a machine with more memory";
    TooManyParameters = "too-many-parameters", Limit,
        "Random groups have more parameters than keywords can name.",
        example "PCOUNT = 1000 with GROUPS = T",
        hint "the header is probably damaged; PTYPEn can name 999 parameters";
    NotAnImage = "not-an-image", Usage,
        "The HDU has no image.",
        example "the image of a binary table",
        hint "choose an HDU with pixels; the list of HDUs shows the kind of each";
    ColumnForm = "column-form", Format,
        "TFORMn is not a column format of the Standard.",
        example "TFORM1  = '1Z      '",
        hint "the columns cannot be located without it; correct the card with a header editor";
    ColumnOutside = "column-outside", Format,
        "A column extends beyond the end of the row.",
        example "TFORM1 = '2J' with NAXIS1 = 4",
        hint "correct NAXIS1, TFORMn or TBCOLn with a header editor";
    HeapPlace = "heap-place", Format,
        "THEAP does not place the heap between the rows and the end of the data.",
        example "THEAP = 4 with NAXIS1 = 8",
        hint "correct THEAP with a header editor, or remove it if the heap follows the rows directly; columns without arrays in the heap can be read";
    DescriptorRange = "descriptor-range", Format,
        "The array of a cell extends beyond the heap.",
        example "3 elements of 2 bytes at byte 8 of a heap of 10",
        hint "the file is damaged here, or PCOUNT or THEAP is wrong; read other rows or columns";
    CodecUnknown = "codec-unknown", Format,
        "A compressed HDU uses a codec, or a parameter of one, that no document defines or that is not supported.",
        example "ZCMPTYPE= 'BZIP2_1 '",
        hint "decompress the file with the program that wrote it, or with funpack";
    TileStream = "tile-stream", Format,
        "The compressed bytes of a tile are damaged.",
        example "a stream of RICE_1 that ends before the last pixel",
        hint "the file is damaged here; other tiles can be read, or fetch the file again";
    TileValue = "tile-value", Format,
        "A tile has numbers or a shape that its pixels or its codec cannot hold.",
        example "the value 70000 in a tile of an image with ZBITPIX = 16",
        hint "use a codec and a pixel type that can hold all values";
    NotATable = "not-a-table", Usage,
        "The HDU has no table.",
        example "the columns of an image",
        hint "choose a table HDU; the list of HDUs shows the kind of each";
    NotVariable = "not-variable", Usage,
        "The column has no variable-length arrays.",
        example "the descriptors of a column of TFORM '1J'",
        hint "read the column as one of fixed size";
    NewColumn = "new-column", Usage,
        "A column of a new table has invalid properties.",
        example "a null value of a floating-point column",
        hint "give a form, scaling, null and dimensions that match; a table has at most 999 columns";
    NotRandomGroups = "not-random-groups", Usage,
        "The HDU has no random groups.",
        example "the group parameters of an image",
        hint "only a primary HDU with NAXIS1 = 0 and GROUPS = T holds random groups";
    SectionRange = "section-range", Usage,
        "A section extends beyond the image.",
        example "pixels 90 to 109 of an axis of 100",
        hint "give a start, count and step for each axis that stay within it; the step must not be 0";
    AxisNumber = "axis-number", Usage,
        "An axis of this number does not exist.",
        example "axis 4 of an image with NAXIS = 3",
        hint "count axes from 1 in FITS order, NAXIS1 first";
    AxisKept = "axis-kept", Usage,
        "An axis cannot be removed: it has several pixels, or no axis would remain.",
        example "leaving out an axis of 100 pixels",
        hint "remove only axes of one pixel, and keep at least one axis";
    AxisCoupled = "axis-coupled", Usage,
        "An axis cannot be removed or moved because other axes depend on its position.",
        example "leaving out the first axis of an image with SIP distortion",
        hint "keep the axis in its position, if necessary with one pixel";
    PixelDistortion = "pixel-distortion", Usage,
        "The coordinates depend on polynomials or tables that would no longer match the pixels.",
        example "every second pixel of an image with A_ORDER = 3, or CPDIS1 = 'LOOKUP'",
        hint "take every pixel (step 1) of an image with SIP distortion; apply or remove \
            CPDIS, CQDIS and D2IMDIS before cutting out, reordering or rebinning";
    CardText = "card-text", Usage,
        "A card cannot hold this keyword, value or comment.",
        example "a comment with a letter outside ASCII",
        hint "keywords are 1 to 8 of A-Z 0-9 - _, or HIERARCH words; text is printable ASCII";
    CardTooLong = "card-too-long", Usage,
        "A keyword and its value do not fit in 80 bytes.",
        example "a HIERARCH keyword of 75 characters",
        hint "shorten the keyword or the value; only strings continue over cards, and not those of \
            mandatory keywords";
    IllegalByte = "illegal-byte", Warning,
        "A card has a byte that is not printable ASCII.",
        example "OBJECT  = 'caf\\xe9'",
        hint "the bytes are kept; replace them with a header editor";
    IllegalKeyword = "illegal-keyword", Warning,
        "A keyword has characters other than A-Z 0-9 - _, or is not left-justified.",
        example "foo     =                    3",
        hint "look it up as it is spelled, or rename it with a header editor";
    InvalidValue = "invalid-value", Warning,
        "A value has no FITS type.",
        example "CRVAL1  =                  NaN",
        hint "its text is kept; write undefined values as an empty field";
    UnterminatedString = "unterminated-string", Warning,
        "A string has no closing quote.",
        example "OBJECT  = 'M 31",
        hint "the string extends to the end of the card; add the quote with a header editor";
    MissingSlash = "missing-slash", Warning,
        "Text follows a value without a slash.",
        example "EXPTIME =                 30.0 seconds",
        hint "it is read as the comment; put a slash before it";
    LowerCaseExponent = "lower-case-exponent", Warning,
        "A number has a lower-case exponent letter.",
        example "CRVAL1  =              1.5e+03",
        hint "it is read as E; write E or D";
    WholeReal = "whole-real", Warning,
        "A keyword that must have an integer has a real number without a fraction.",
        example "GCOUNT  =               12151.",
        hint "it is read as the integer; write it without a point, as {repair()|tachyfits verify --fix} does";
    OrphanContinue = "orphan-continue", Warning,
        "A CONTINUE card follows no string that ends in '&'.",
        example "CONTINUE  'text' after an integer",
        hint "it is read as commentary; end the string before it with '&' if it continues that string";
    DuplicateKeyword = "duplicate-keyword", Warning,
        "A keyword is repeated with different values; only records such as DP1 = 'NAXES: 2' may repeat.",
        example "EXPTIME = 1 and EXPTIME = 2",
        hint "the first is used; remove the others with a header editor";
    ValueIndicator = "value-indicator", Warning,
        "A keyword that must have a value lacks the '= ' in bytes 9 and 10, so it has none.",
        example "BZERO   =32768",
        hint "the card is read as commentary, as the Standard requires; put '= ' into bytes 9 and 10";
    HeaderFill = "header-fill", Warning,
        "Bytes after END are not blank.",
        example "a header filled up with NUL bytes",
        hint "they are ignored; writing the header again replaces them with blanks";
    HeaderPadding = "header-padding", Warning,
        "The file ends inside the last block of a header.",
        example "a header of 5 cards and no fill",
        hint "the header is complete; writing the file again pads it to 2880 bytes";
    SimpleFalse = "simple-false", Warning,
        "SIMPLE is not T: the file declares that it does not conform to the Standard.",
        example "SIMPLE  =                    F",
        hint "it is read as a conforming file; compare the result with its documentation";
    MandatoryOrder = "mandatory-order", Warning,
        "A mandatory keyword is in the wrong position.",
        example "BITPIX after NAXIS",
        hint "its value is used; writing the header again corrects the order";
    MandatoryDefault = "mandatory-default", Warning,
        "PCOUNT or GCOUNT is absent where it is mandatory.",
        example "an IMAGE extension without PCOUNT",
        hint "PCOUNT = 0 and GCOUNT = 1 are assumed; add the cards";
    ReservedType = "reserved-type", Warning,
        "A reserved keyword has a value of another type than the Standard gives it, and \
            is ignored.",
        example "EXTNAME =                    7",
        hint "correct the card with a header editor";
    TruncatedData = "truncated-data", Warning,
        "The file ends within the data.",
        example "4000 bytes declared, 1000 in the file",
        hint "fetch the file again; the data before its end can be read";
    DataPadding = "data-padding", Warning,
        "The file ends directly after the data, without padding to 2880 bytes.",
        example "8 bytes of data and then the end of the file",
        hint "the data are complete; writing the file again pads them";
    TrailingBytes = "trailing-bytes", Warning,
        "The last HDU is followed by bytes that are not an HDU.",
        example "100 bytes of 0x1a after the data",
        hint "they are ignored; if an extension should be here, the size of the HDU before it is wrong";
    BlankIgnored = "blank-ignored", Warning,
        "BLANK has no meaning here and is ignored.",
        example "BLANK = -1 with BITPIX = -32",
        hint "undefined pixels of floating-point images are NaN; remove the card";
    ColumnFormIrregular = "column-form-irregular", Warning,
        "TFORMn is not written as the Standard requires, but has one meaning.",
        example "TFORM1  = '1j      '",
        hint "it is read with that meaning; write it in upper case with all its parts";
    RowWidth = "row-width", Warning,
        "NAXIS1 is not the sum of the columns' bytes.",
        example "NAXIS1 = 10 with one column '1J'",
        hint "columns follow TFORMn and rows NAXIS1; check the values";
    DuplicateColumn = "duplicate-column", Warning,
        "A column has the name of an earlier one.",
        example "TTYPE1 = 'Time' and TTYPE2 = 'TIME'",
        hint "the name selects the first column; use numbers for the others";
    DimensionsIgnored = "dimensions-ignored", Warning,
        "TDIMn does not match the elements of the column and is ignored.",
        example "TDIM1 = '(3,3)' with TFORM1 = '6I'",
        hint "cells have one axis; correct the card with a header editor";
    DimensionsShort = "dimensions-short", Warning,
        "TDIMn, or rAw in TFORMn, describes fewer characters than the field has.",
        example "TDIM1 = '(4,3)' with TFORM1 = '20A'",
        hint "raw values have all of them; correct the card with a header editor";
    NullIgnored = "null-ignored", Warning,
        "TNULLn has no meaning here and is ignored.",
        example "TNULL1 = -1 with TFORM1 = '1E'",
        hint "undefined floating-point values are NaN; for integers use a value that the column can hold";
    ScalingIgnored = "scaling-ignored", Warning,
        "TSCALn or TZEROn describes a column without numbers and is ignored.",
        example "TSCAL1 = 2.0 with TFORM1 = '8A'",
        hint "remove the card with a header editor";
}

/// Returns every code, for lists of kind, meaning, example and advice in documentation and
/// `tachyfits errors`.
///
/// ```
/// let codes = tachyfits_format::codes();
/// assert!(codes.iter().any(|code| code.as_str() == "end-missing"));
/// assert!(codes.iter().all(|code| !code.example().is_empty()));
/// ```
#[must_use]
pub const fn codes() -> &'static [Code] {
    Code::ALL
}
