//! The table of verification rules, beyond the problems that reading detects ([`crate::Code`]): stable code, severity,
//! section of the Standard, meaning and advice.
//!
//! A new rule needs a row here, and a function in the list of header checks or in the engine's data checks.

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// The Standard permits it but advises against it, or it is probably unintended.
    Warning,
    /// The Standard forbids it.
    Error,
}

impl Severity {
    /// "error" or "warning".
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

macro_rules! rules {
    ($(
        $name:ident = $text:literal, $severity:ident, $section:literal,
        $meaning:literal, hint $hint:literal;
    )+) => {
        /// A rule of the Standard that verification checks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $meaning] $name,)+
        }

        impl Rule {
            /// Every rule, in the order of the table.
            pub const ALL: &'static [Rule] = &[$(Rule::$name),+];

            /// The stable text of the rule.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Rule::$name => $text),+ }
            }

            /// Severity of breaking the rule.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Rule::$name => Severity::$severity),+ }
            }

            /// Section of the FITS Standard 4.0.
            #[must_use]
            pub const fn section(self) -> &'static str {
                match self { $(Rule::$name => $section),+ }
            }

            /// Meaning of the fault, in one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Rule::$name => $meaning),+ }
            }

            /// Advice.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Rule::$name => $hint),+ }
            }
        }
    };
}

rules! {
    FixedFormat = "fixed-format", Error, "4.2",
        "The value of a mandatory keyword is not in fixed format.",
        hint "end logicals and numbers in byte 30, begin strings in byte 11";
    XtensionPadding = "xtension-padding", Error, "4.2.1.1",
        "The value of XTENSION has fewer than 8 characters.",
        hint "fill the name up with blanks before the closing quote";
    IndexZeros = "index-zeros", Error, "4.1.2.1",
        "The number at the end of a reserved keyword begins with 0.",
        hint "write NAXIS1: NAXIS001 is another keyword, which no program reads";
    ContinueForbidden = "continue-forbidden", Error, "4.2.1.2",
        "The string of a mandatory or reserved keyword continues in CONTINUE.",
        hint "shorten the string to 68 characters, or use a keyword that is not reserved";
    UndefinedValue = "undefined-value", Warning, "4.1.2.3",
        "A keyword has no value.",
        hint "this is legal and means that the value is unknown; remove the card if that is not intended";
    RepeatedKeyword = "repeated-keyword", Warning, "4.1.2.3",
        "A keyword is repeated with the same value.",
        hint "remove the later card: a program that edits only one of them makes the value indeterminate";
    DateForm = "date-form", Error, "9.1.1",
        "A date is not of the form YYYY-MM-DD or YYYY-MM-DDThh:mm:ss[.sss].",
        hint "write the date in the ISO-8601 form, without a time zone";
    OldDate = "old-date", Warning, "4.4.2.1",
        "A date has the form DD/MM/YY, whose years are 1900 to 1999.",
        hint "write it as YYYY-MM-DD; files written from 2000 on must";
    Deprecated = "deprecated-keyword", Warning, "4.4.2, 8.2",
        "A keyword is deprecated.",
        hint "use EQUINOX for EPOCH, PCi_j or CDi_j for CROTAi, RADESYS for RADECSYS, RESTFRQ for RESTFREQ; remove BLOCKED";
    UnitBrackets = "unit-brackets", Warning, "4.3.1",
        "A unit has unmatched brackets, or operators without operands.",
        hint "write units as in erg/(s cm**2)";
    ValueRange = "value-range-keyword", Error, "4.4.2, 7.3.2, 8.2",
        "A reserved keyword has a forbidden value.",
        hint "correct the card with a header editor";
    ReservedValue = "reserved-type", Error, "4.4.2",
        "A reserved keyword has a value of another type than the Standard gives it.",
        hint "correct the card with a header editor";
    ForbiddenKeyword = "forbidden-keyword", Error, "4.4.1, 4.4.2",
        "A keyword must not be used in an HDU of this kind.",
        hint "remove the card";
    MisplacedKeyword = "misplaced-keyword", Warning, "4.4.2.5, 6.1, 7",
        "A reserved keyword has no meaning in an HDU of this kind.",
        hint "remove the card, or use another keyword";
    IndexRange = "index-range", Error, "4.4.1.1, 7.2.1, 7.3.1",
        "The number of a keyword is 0, or exceeds NAXIS, TFIELDS, PCOUNT or WCSAXES.",
        hint "remove the card, or correct the keyword that gives their number";
    ExtensionShape = "extension-shape", Error, "7.1.1, 7.2.1, 7.3.1",
        "A standard extension has a forbidden BITPIX, NAXIS, PCOUNT or GCOUNT.",
        hint "tables have BITPIX = 8, NAXIS = 2, GCOUNT = 1; IMAGE and TABLE have PCOUNT = 0";
    FieldsPlace = "fields-place", Error, "7.2.1, 7.3.1",
        "TFIELDS does not directly follow GCOUNT.",
        hint "move the card after GCOUNT";
    InheritPlace = "inherit-place", Error, "4.4.2.6",
        "INHERIT does not directly follow the mandatory keywords.",
        hint "move the card after the mandatory keywords";
    UnregisteredExtension = "unregistered-extension", Error, "4.4.1.2",
        "XTENSION is not a registered name.",
        hint "use IMAGE, TABLE or BINTABLE, or register the name";
    CompressedKeyword = "compressed-keyword", Error, "10.1.1, 10.3.1",
        "A compressed image or table lacks a required keyword.",
        hint "compress the original again: it cannot be restored without this keyword";
    ColumnForm = "column-form", Error, "7.2.1, 7.3.1",
        "TFORMn is not a column format of the Standard.",
        hint "correct the card with a header editor";
    ColumnUnnamed = "column-unnamed", Warning, "7.3.2",
        "A column has no name.",
        hint "set TTYPEn: most programs find columns by name";
    ColumnName = "column-name", Warning, "7.3.2",
        "The name of a column has characters other than letters, digits and underscores.",
        hint "rename it: programs cannot use this name for a variable";
    DisplayForm = "display-form", Error, "7.2.2, 7.3.4",
        "TDISPn is not a display format for this type of column.",
        hint "use Aw, Lw, Iw.m, Bw.m, Ow.m, Zw.m, Fw.d, Ew.dEe, ENw.d, ESw.d, Gw.dEe or Dw.dEe";
    DimensionsForm = "dimensions-form", Error, "7.3.2",
        "TDIMn begins with a blank, which is significant in strings.",
        hint "begin it with the bracket, as in '(3,4)'";
    ColumnKeyword = "column-keyword", Error, "7.2.2, 7.3.2",
        "TSCALn, TZEROn or TNULLn is forbidden for columns of this type.",
        hint "remove the card with a header editor: strings, logicals and bits have no scale, and only integers a \
            TNULLn";
    HeapKeyword = "heap-keyword", Error, "7.3.2",
        "The header has THEAP, but the table has no heap (PCOUNT = 0).",
        hint "remove the card";
    HeapUnused = "heap-unused", Warning, "7.3.5",
        "The table has a heap (PCOUNT > 0), but no column of variable-length arrays.",
        hint "remove it with {compact_heap() of the table in tachyfits.edit|tachyfits.edit in Python}";
    ScaleZero = "scale-zero", Warning, "7.2.2, 7.3.2",
        "TSCALn is 0, so all values of the column are TZEROn.",
        hint "correct the card: 1 means no scaling";
    WcsAxesPlace = "wcsaxes-place", Error, "8.2",
        "WCSAXES does not precede the other WCS keywords.",
        hint "move the card before the first of them";
    WcsMatrices = "wcs-matrices", Error, "8.2",
        "PCi_j and CDi_j are mixed, or CROTAi with PCi_j.",
        hint "keep one of the descriptions of the axes: CDi_j, or PCi_j with CDELTi";
    WcsSingular = "wcs-singular", Warning, "8.2",
        "The matrix of PCi_j or CDi_j is singular: two axes have the same coordinates.",
        hint "add the missing elements; if any CDi_j is present, missing ones are 0";
    WcsType = "wcs-type", Warning, "8.2, 8.3",
        "CTYPEi does not have the 4-3 form, or longitude and latitude do not match.",
        hint "use a pair of celestial axes of one projection, such as RA---TAN and DEC--TAN";
    WcsUnit = "wcs-unit", Error, "8.2",
        "The unit of a celestial axis is not deg.",
        hint "give CRVAL, CDELT and CD in degrees and CUNIT = 'deg'";
    WcsAlternate = "wcs-alternate", Warning, "8.2.1",
        "The axes have an alternative description, but no primary one.",
        hint "remove the letter at the end of its keywords";
    NameRepeated = "name-repeated", Warning, "4.4.2.6",
        "Two HDUs have the same XTENSION, EXTNAME, EXTVER and EXTLEVEL.",
        hint "give each its own EXTVER";
    ExtensionsDenied = "extensions-denied", Warning, "4.4.2.1",
        "EXTEND = F forbids extensions, but the file has some.",
        hint "set EXTEND to T with a header editor, because programs may ignore the extensions";
    ExtensionCount = "extension-count", Warning, "",
        "NEXTEND (not in the Standard) differs from the number of extensions.",
        hint "check whether extensions are missing; otherwise correct the card with a header editor";
    LogicalValue = "logical-value", Error, "7.3.3.1",
        "A logical field holds a byte other than T, F and 0.",
        hint "write the values again: readers disagree on the meaning of such bytes";
    BitFill = "bit-fill", Error, "7.3.3.1",
        "The unused bits of an X field are not 0.",
        hint "write the column again; no value depends on these bits";
    TextValue = "text-value", Error, "7.3.3.1",
        "A character field holds a byte that is not printable ASCII before its first NUL.",
        hint "replace the character; FITS text is ASCII from 32 to 126";
    DescriptorLength = "descriptor-length", Error, "7.3.5",
        "An array has more elements than the maximum in TFORMn.",
        hint "correct the number in brackets of TFORMn: programs may allocate memory by it";
    AsciiEntry = "ascii-entry", Error, "7.2.5",
        "A numeric field of an ASCII table is not a number.",
        hint "write the number again, or use the text of TNULLn for undefined values";
    AsciiPoint = "ascii-point", Warning, "7.2.5",
        "A number of a real field of an ASCII table has no decimal point.",
        hint "the last d digits of Fw.d are its fraction; write the point, as other programs may not put it there";
    AsciiText = "ascii-text", Error, "7.2.5",
        "A character field of an ASCII table holds a byte that is not printable ASCII.",
        hint "replace the character; FITS text is ASCII from 32 to 126";
    AsciiGap = "ascii-gap", Error, "7.2.4",
        "A byte between the fields of an ASCII table is not 7-bit ASCII.",
        hint "replace the byte by a blank";
    DataFill = "data-fill", Error, "3.3.2, 7.2.3",
        "The data are not padded to 2880 bytes with zeros (an ASCII table: with blanks).",
        hint "write the file again; no value depends on these bytes";
    Datasum = "datasum", Warning, "4.4.2.7",
        "The data do not match DATASUM.",
        hint "the data have changed since it was written: compare with the origin of the file; if the \
            change was meant, {update_checksums() of tachyfits.edit|tachyfits checksum FILE --update} states the new sum";
    DecodedSum = "decoded-sum", Warning, "10.1.2",
        "The data that compressed tiles hold do not match ZDATASUM, although the compression loses nothing.",
        hint "data were changed before they were compressed, or bytes between the arrays of a table were not \
            kept; fetch the file again to be sure";
    Checksum = "checksum", Warning, "4.4.2.7",
        "The HDU does not match CHECKSUM.",
        hint "something was changed since it was written, the header alone if DATASUM is right; \
            {update_checksums() of tachyfits.edit|tachyfits checksum FILE --update} states the new sum";
    NotChecked = "not-checked", Warning, "",
        "A part of the file could not be checked.",
        hint "repair the fault that prevents the check, and verify again";
}
