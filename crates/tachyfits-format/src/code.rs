//! The one table of everything that can be wrong with a header, an HDU or a request: a stable code,
//! its kind, what it means, an example, and what to do about it. Not the places where things go
//! wrong: those are in [`crate::error`].
//!
//! A new problem is one row here. A test provokes every row, so a code that nothing raises cannot
//! stay.

/// The kind of problem of a [`Code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The bytes are not what the FITS Standard asks for, and no safe reading exists.
    Format,
    /// The request does not fit the data.
    Usage,
    /// The file asks for more than [`crate::Limits`] allows.
    Limit,
    /// The bytes break the Standard but can be read; strict mode makes it an error.
    Warning,
}

impl Kind {
    /// The kind in lower-case words, for lists.
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
        /// A stable name of one problem; the text of [`Code::as_str`] never changes once released.
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

            /// Whether it is an error of the file, of the request, of a limit, or a warning.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self { $(Code::$name => Kind::$kind),+ }
            }

            /// Its meaning, in one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning),+ }
            }

            /// A card, a file or a request that provokes it.
            #[must_use]
            pub const fn example(self) -> &'static str {
                match self { $(Code::$name => $example),+ }
            }

            /// The hint; `{a|b}` holds the wordings for Python and for the command line.
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
        hint "the file is cut off or damaged here; fetch it again, the HDUs before this one \
            can be read";
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
        hint "correct the card with a header editor; the value cannot be used as it stands";
    NumericText = "numeric-text", Format,
        "A number is written as a character string.",
        example "BZERO   = '32768   '",
        hint "remove the quotes with a header editor; guessing here could give wrong pixel values";
    ImageGroups = "image-groups", Format,
        "An IMAGE extension has PCOUNT other than 0 or GCOUNT other than 1.",
        example "PCOUNT  =                    4 in an IMAGE extension",
        hint "where its pixels start is not defined; correct PCOUNT and GCOUNT with a header \
            editor";
    HeaderTooLong = "header-too-long", Limit,
        "A header is longer than the limit.",
        example "9000 blocks without END where 8192 are allowed",
        hint "the file is probably damaged: no real header is as long; fetch it again";
    TooManyHdus = "too-many-hdus", Limit,
        "The file has more HDUs than the limit.",
        example "65537 HDUs where 65536 are allowed",
        hint "split the file: no more HDUs than that are read";
    DataTooLarge = "data-too-large", Limit,
        "The declared data are larger than the limit.",
        example "NAXIS1 = NAXIS2 = 1099511627776",
        hint "the header is probably damaged; correct NAXISn, PCOUNT or GCOUNT";
    TooManyParameters = "too-many-parameters", Limit,
        "Random groups have more parameters than keywords can name.",
        example "PCOUNT = 1000 with GROUPS = T",
        hint "PTYPEn can name 999 parameters; the header is probably damaged";
    NotAnImage = "not-an-image", Usage,
        "An image was asked of an HDU that holds none.",
        example "the image of a binary table",
        hint "choose an HDU of pixels; the list of HDUs shows the kind of each";
    ColumnForm = "column-form", Format,
        "TFORMn is no form of a column that the Standard has.",
        example "TFORM1  = '1Z      '",
        hint "the columns cannot be located without it; correct the card with a header editor";
    ColumnOutside = "column-outside", Format,
        "A column reaches beyond the end of the row.",
        example "TFORM1 = '2J' with NAXIS1 = 4",
        hint "correct NAXIS1, TFORMn or TBCOLn with a header editor; what would be read are bytes of \
            other rows";
    HeapPlace = "heap-place", Format,
        "THEAP does not place the heap between the rows and the end of the data.",
        example "THEAP = 4 with NAXIS1 = 8",
        hint "columns in the rows can be read; for those of variable length correct THEAP with a header \
            editor, or remove it if the heap follows the rows at once";
    DescriptorRange = "descriptor-range", Format,
        "The array of a cell does not lie within the heap.",
        example "3 elements of 2 bytes at byte 8 of a heap of 10",
        hint "the file is damaged here, or PCOUNT or THEAP is wrong; other rows and columns can be read";
    NotATable = "not-a-table", Usage,
        "A table was asked of an HDU that holds none.",
        example "the columns of an image",
        hint "choose an HDU of a table; the list of HDUs shows the kind of each";
    NotVariable = "not-variable", Usage,
        "The arrays of the heap were asked of a column whose values are in the rows.",
        example "the descriptors of a column of TFORM '1J'",
        hint "read the column as one of fixed size";
    NewColumn = "new-column", Usage,
        "A new table cannot have a column as it was asked for.",
        example "a null value of a floating-point column",
        hint "give a form, scaling, null and dimensions that fit each other; a table has at most 999 columns";
    RecordMarkers = "record-markers", Format,
        "The markers before and after a record of a Fortran file disagree.",
        example "a record that begins with the length 80 and ends with 81",
        hint "records before it can be read; the file is damaged here, or its markers have another width or \
            byte order than was given; {recover=True|--recover} goes on with the next whole record";
    RecordCut = "record-cut", Format,
        "A Fortran file ends before a record does.",
        example "a marker of 800 with 100 bytes after it",
        hint "records before it can be read; fetch the file again, or, if it is whole, give other \
            {markers=|--markers}, or for direct access another {record_bytes=|--record-bytes}; \
            {recover=True|--recover} goes on with the next whole record";
    RecordFraming = "record-framing", Format,
        "No width and byte order of markers fits the first record of a Fortran file.",
        example "a text file",
        hint "if it has direct or stream access, which has no markers, give {access=|--access}; if it is compressed \
            other than by gzip, decompress it first; to read records before damage, give {markers= and order=|--markers \
            and --order}";
    RecordFramingAmbiguous = "record-framing-ambiguous", Format,
        "Markers of several widths or byte orders fit a Fortran file.",
        example "16 bytes of 0: two empty records, or one",
        hint "give {markers=4 or 8, and order=\"big\" or \"little\"|--markers 4 or 8, and --order big or little}";
    RecordIndexTooLarge = "record-index-too-large", Limit,
        "A Fortran file has more changes of the length of records than the limit.",
        example "records of 1, 2, 1, 2, ... bytes, more than the limit",
        hint "read it as {access=\"stream\"|--access stream}: the index of its records is too large";
    RecordForm = "record-form", Usage,
        "A description of a record cannot be understood, or does not fit the record.",
        example "i4,3f8 for a record of 24 bytes",
        hint "write items such as i4, 3f8, c16, l4, a16, x8, 9(i4,f8), separated by commas; *f8 takes as many as fill the record";
    NotRandomGroups = "not-random-groups", Usage,
        "Random groups were asked of an HDU that holds none.",
        example "the group parameters of an image",
        hint "only a primary HDU with NAXIS1 = 0 and GROUPS = T holds random groups";
    SectionRange = "section-range", Usage,
        "A section does not lie within the image.",
        example "pixels 90 to 109 of an axis of 100",
        hint "give one start, count and step per axis that stay within the axis; the step is not 0";
    AxisNumber = "axis-number", Usage,
        "An axis of this number does not exist.",
        example "axis 4 of an image with NAXIS = 3",
        hint "axes count from 1 in FITS order, NAXIS1 first";
    AxisKept = "axis-kept", Usage,
        "An axis cannot be left out: it has several pixels, or no axis would remain.",
        example "leaving out an axis of 100 pixels",
        hint "only axes of one pixel can be left out, and one axis must be kept";
    AxisCoupled = "axis-coupled", Usage,
        "An axis cannot be left out or moved because other axes need it at its place.",
        example "leaving out the first axis of an image with SIP distortion",
        hint "keep the axis, with one pixel if need be, at its place";
    PixelDistortion = "pixel-distortion", Usage,
        "The coordinates depend on polynomials or tables that would no longer fit the pixels.",
        example "every second pixel of an image with A_ORDER = 3, or CPDIS1 = 'LOOKUP'",
        hint "take every pixel (step 1) of an image with SIP distortion; apply or remove \
            CPDIS, CQDIS, D2IMDIS and -TAB before cutting out, reordering or rebinning";
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
        hint "the bytes are kept as they are; replace them with a header editor";
    IllegalKeyword = "illegal-keyword", Warning,
        "A keyword has characters other than A-Z 0-9 - _, or is not left-justified.",
        example "foo     =                    3",
        hint "it can be looked up as it stands; rename it with a header editor";
    InvalidValue = "invalid-value", Warning,
        "A value is of no FITS type.",
        example "CRVAL1  =                  NaN",
        hint "its text is kept; write undefined values as an empty field";
    UnterminatedString = "unterminated-string", Warning,
        "A string has no closing quote.",
        example "OBJECT  = 'M 31",
        hint "the text up to the end of the card is taken; add the quote with a header editor";
    MissingSlash = "missing-slash", Warning,
        "Text follows a value without a slash.",
        example "EXPTIME =                 30.0 seconds",
        hint "it is taken as the comment; put a slash before it";
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
        hint "it is taken as commentary; end the string before it with '&' if it belongs to it";
    DuplicateKeyword = "duplicate-keyword", Warning,
        "A keyword appears more than once with different values; records such as \
            DP1 = 'NAXES: 2' are many by design.",
        example "EXPTIME = 1 and EXPTIME = 2",
        hint "the first is used; remove the others with a header editor";
    ValueIndicator = "value-indicator", Warning,
        "A keyword that must have a value lacks the '= ' in bytes 9 and 10, so it has none.",
        example "BZERO   =32768",
        hint "the card is taken as commentary, as the Standard says; put '= ' into bytes 9 and 10";
    HeaderFill = "header-fill", Warning,
        "What follows END is not blanks.",
        example "a header filled up with NUL bytes",
        hint "it is ignored; writing the header again fills it with blanks";
    HeaderPadding = "header-padding", Warning,
        "The file ends inside the last block of a header.",
        example "a header of 5 cards and no fill",
        hint "the header is whole; writing the file again pads it to 2880 bytes";
    SimpleFalse = "simple-false", Warning,
        "SIMPLE is not T: the file says that it does not conform to the Standard.",
        example "SIMPLE  =                    F",
        hint "it is read as if it did; compare the result with its documentation";
    MandatoryOrder = "mandatory-order", Warning,
        "A mandatory keyword is not at its place.",
        example "BITPIX after NAXIS",
        hint "it is found where it is; writing the header again puts it right";
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
        "The file ends before the data do.",
        example "4000 bytes declared, 1000 in the file",
        hint "only what is in the file can be read; fetch the file again";
    DataPadding = "data-padding", Warning,
        "The file ends right after the data, without fill up to 2880 bytes.",
        example "8 bytes of data and then the end of the file",
        hint "the data are whole; writing the file again pads them";
    TrailingBytes = "trailing-bytes", Warning,
        "Bytes that are no HDU follow the last HDU.",
        example "100 bytes of 0x1a after the data",
        hint "they are ignored; if an extension should be here, the one before it has a wrong size";
    BlankIgnored = "blank-ignored", Warning,
        "BLANK has no meaning here and is ignored.",
        example "BLANK = -1 with BITPIX = -32",
        hint "undefined pixels of floating-point images are NaN; remove the card";
    ColumnFormIrregular = "column-form-irregular", Warning,
        "TFORMn is written in a way that the Standard does not have, but can only mean one thing.",
        example "TFORM1  = '1j      '",
        hint "it is read so; write it in upper case and with all its parts";
    RowWidth = "row-width", Warning,
        "NAXIS1 is not the sum of the columns' bytes.",
        example "NAXIS1 = 10 with one column '1J'",
        hint "columns are taken as TFORMn places them and rows as NAXIS1 does; check the values";
    DuplicateColumn = "duplicate-column", Warning,
        "A column has the name of an earlier one.",
        example "TTYPE1 = 'Time' and TTYPE2 = 'TIME'",
        hint "a name gives the first that is spelled so; others are reached by their number";
    DimensionsIgnored = "dimensions-ignored", Warning,
        "TDIMn does not describe the elements that the column has, and is ignored.",
        example "TDIM1 = '(3,3)' with TFORM1 = '6I'",
        hint "the elements are given as one row; correct the card with a header editor";
    NullIgnored = "null-ignored", Warning,
        "TNULLn has no meaning here and is ignored.",
        example "TNULL1 = -1 with TFORM1 = '1E'",
        hint "undefined floating-point values are NaN; an integer must be one that the column can hold";
    ScalingIgnored = "scaling-ignored", Warning,
        "TSCALn or TZEROn stands at a column that has no numbers, and is ignored.",
        example "TSCAL1 = 2.0 with TFORM1 = '8A'",
        hint "remove the card with a header editor";
}

/// Every code with its kind, meaning, example and hint, as a list for documentation and `tachyfits
/// errors`.
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
