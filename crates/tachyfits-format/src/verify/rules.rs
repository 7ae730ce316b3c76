//! The one table of the rules that verification adds to what reading notices ([`crate::Code`]): a stable code, how bad it
//! is, the section of the Standard, what it means, and what to do. Each row names the function that looks for it in a
//! header; what is looked for in data is the engine's and has none here.
//!
//! A new rule is one row here and one function.

use super::subject::{Report, Subject};
use super::{Severity, cards, columns, structure, wcs};

/// Looks for one thing in a header.
pub(super) type Check = fn(&Subject<'_>, &mut Report);

macro_rules! rules {
    ($(
        $name:ident = $text:literal, $severity:ident, $section:literal, $check:expr,
        $meaning:literal, hint $hint:literal;
    )+) => {
        /// A rule of the Standard that verification looks for.
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

            /// How bad it is to break it.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Rule::$name => Severity::$severity),+ }
            }

            /// The section of the Standard 4.0.
            #[must_use]
            pub const fn section(self) -> &'static str {
                match self { $(Rule::$name => $section),+ }
            }

            /// The fault, in one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Rule::$name => $meaning),+ }
            }

            /// The hint.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Rule::$name => $hint),+ }
            }

            /// The function that looks for it in a header; none for rules of data and of whole files.
            pub(super) fn check(self) -> Option<Check> {
                match self { $(Rule::$name => $check),+ }
            }
        }
    };
}

rules! {
    FixedFormat = "fixed-format", Error, "4.2", Some(cards::fixed_format),
        "The value of a mandatory keyword is not in fixed format.",
        hint "end logicals and numbers in byte 30, begin strings in byte 11";
    XtensionPadding = "xtension-padding", Error, "4.2.1.1", Some(cards::xtension_padding),
        "The value of XTENSION has fewer than 8 characters.",
        hint "fill the name up with blanks before the closing quote";
    IndexZeros = "index-zeros", Error, "4.1.2.1", Some(cards::index_zeros),
        "The number at the end of a reserved keyword begins with 0.",
        hint "NAXIS1 is the keyword, NAXIS001 is another that nobody looks for";
    ContinueForbidden = "continue-forbidden", Error, "4.2.1.2", Some(cards::continue_forbidden),
        "A mandatory or reserved keyword has a string that goes on in CONTINUE.",
        hint "shorten the string to 68 characters, or put it under a keyword of your own";
    UndefinedValue = "undefined-value", Warning, "4.1.2.3", Some(cards::undefined_value),
        "A keyword has no value.",
        hint "this is legal and says that the value is not known; remove the card if that is not meant";
    DateForm = "date-form", Error, "9.1.1", Some(cards::date_form),
        "A date is not of the form YYYY-MM-DD or YYYY-MM-DDThh:mm:ss[.sss].",
        hint "write the date in the ISO-8601 form, without a time zone";
    OldDate = "old-date", Warning, "4.4.2.1", Some(cards::old_date),
        "A date is of the form DD/MM/YY, which means years from 1900 to 1999.",
        hint "write it as YYYY-MM-DD; files written from 2000 on must";
    Deprecated = "deprecated-keyword", Warning, "4.4.2, 8.2", Some(cards::deprecated),
        "A keyword is deprecated.",
        hint "use EQUINOX for EPOCH, PCi_j or CDi_j for CROTAi, RADESYS for RADECSYS, RESTFRQ for \
            RESTFREQ; leave BLOCKED out";
    UnitBrackets = "unit-brackets", Warning, "4.3.1", Some(cards::unit_brackets),
        "A unit has brackets that do not close, or operators with nothing beside them.",
        hint "write units as in erg/(s cm**2)";
    ValueRange = "value-range-keyword", Error, "4.4.2, 7.3.2, 8.2", Some(cards::value_range),
        "A reserved keyword has a value that it must not have.",
        hint "correct the card with a header editor";
    ReservedValue = "reserved-type", Error, "4.4.2", Some(cards::reserved_value),
        "A reserved keyword has a value of another type than the Standard gives it.",
        hint "correct the card with a header editor";
    ForbiddenKeyword = "forbidden-keyword", Error, "4.4.1, 4.4.2", Some(structure::forbidden_keyword),
        "A keyword must not be used in an HDU of this kind.",
        hint "remove the card";
    MisplacedKeyword = "misplaced-keyword", Warning, "4.4.2.5, 6.1, 7", Some(structure::misplaced_keyword),
        "A reserved keyword has no meaning in an HDU of this kind.",
        hint "remove the card, or use another keyword";
    IndexRange = "index-range", Error, "4.4.1.1, 7.2.1, 7.3.1", Some(structure::index_range),
        "The number of a keyword is beyond NAXIS, TFIELDS, PCOUNT or WCSAXES, or 0.",
        hint "remove the card, or correct the keyword that says how many there are";
    ExtensionShape = "extension-shape", Error, "7.1.1, 7.2.1, 7.3.1", Some(structure::extension_shape),
        "A standard extension has a BITPIX, NAXIS, PCOUNT or GCOUNT that it must not have.",
        hint "tables have BITPIX = 8, NAXIS = 2, GCOUNT = 1; IMAGE and TABLE have PCOUNT = 0";
    FieldsPlace = "fields-place", Error, "7.2.1, 7.3.1", Some(structure::fields_place),
        "TFIELDS does not follow GCOUNT at once.",
        hint "move the card behind GCOUNT";
    InheritPlace = "inherit-place", Error, "4.4.2.6", Some(structure::inherit_place),
        "INHERIT does not follow the mandatory keywords at once.",
        hint "move the card behind the mandatory keywords";
    UnregisteredExtension = "unregistered-extension", Error, "4.4.1.2", Some(structure::unregistered),
        "XTENSION is none of the registered names.",
        hint "use IMAGE, TABLE or BINTABLE, or register the name";
    CompressedKeyword = "compressed-keyword", Error, "10.1.1, 10.3.1", Some(structure::compressed),
        "A compressed image or table lacks a keyword that it must have.",
        hint "the original cannot be restored without it; compress it again";
    ColumnForm = "column-form", Error, "7.2.1, 7.3.1", Some(columns::form),
        "TFORMn is no form of a column that the Standard has.",
        hint "correct the card with a header editor";
    ColumnUnnamed = "column-unnamed", Warning, "7.3.2", Some(columns::unnamed),
        "A column has no name.",
        hint "give it one with TTYPEn: most programs find columns by name";
    ColumnName = "column-name", Warning, "7.3.2", Some(columns::name),
        "The name of a column has other characters than letters, digits and underscores.",
        hint "programs that make variables of the names cannot do so with this one";
    DisplayForm = "display-form", Error, "7.2.2, 7.3.4", Some(columns::display),
        "TDISPn is no display format, or not one for this type of column.",
        hint "use Aw, Lw, Iw.m, Bw.m, Ow.m, Zw.m, Fw.d, Ew.dEe, ENw.d, ESw.d, Gw.dEe or Dw.dEe";
    DimensionsForm = "dimensions-form", Error, "7.3.2", Some(columns::dimensions),
        "TDIMn begins with a blank, which is significant in strings.",
        hint "begin it with the bracket, as in '(3,4)'";
    ColumnKeyword = "column-keyword", Error, "7.2.2, 7.3.2", Some(columns::keyword),
        "TSCALn, TZEROn or TNULLn stands at a column of a type that must not have it.",
        hint "remove the card with a header editor: strings, logicals and bits have no scale, and only integers a \
            TNULLn";
    HeapKeyword = "heap-keyword", Error, "7.3.2", Some(columns::heap_keyword),
        "THEAP is there although there is no heap (PCOUNT = 0).",
        hint "remove the card";
    HeapUnused = "heap-unused", Warning, "7.3.5", Some(columns::heap_unused),
        "There is a heap (PCOUNT > 0), and no column whose arrays could be in it.",
        hint "no cell reaches it; {compact_heap() of the table in tachyfits.edit|in Python tachyfits.edit} removes it";
    ScaleZero = "scale-zero", Warning, "7.2.2, 7.3.2", Some(columns::scale_zero),
        "TSCALn is 0, so that all values of the column are TZEROn.",
        hint "correct the card: 1 means that values are as they are stored";
    WcsAxesPlace = "wcsaxes-place", Error, "8.2", Some(wcs::axes_place),
        "WCSAXES does not precede the other WCS keywords.",
        hint "move the card before the first of them";
    WcsMatrices = "wcs-matrices", Error, "8.2", Some(wcs::matrices),
        "PCi_j and CDi_j are mixed, or CROTAi with PCi_j.",
        hint "keep one of the descriptions of the axes: CDi_j, or PCi_j with CDELTi";
    WcsSingular = "wcs-singular", Warning, "8.2", Some(wcs::singular),
        "The matrix of PCi_j or CDi_j is singular: two axes have the same coordinates.",
        hint "give the missing elements; absent CDi_j are 0 where there is any CDi_j";
    WcsType = "wcs-type", Warning, "8.2, 8.3", Some(wcs::types),
        "CTYPEi is not of the 4-3 form, or longitude and latitude do not go together.",
        hint "celestial axes come in pairs of one projection, such as RA---TAN and DEC--TAN";
    WcsUnit = "wcs-unit", Error, "8.2", Some(wcs::units),
        "The unit of a celestial axis is not deg.",
        hint "give CRVAL, CDELT and CD in degrees and CUNIT = 'deg'";
    WcsAlternate = "wcs-alternate", Warning, "8.2.1", Some(wcs::alternates),
        "There is an alternative description of the axes without a primary one.",
        hint "leave the letter at the end of its keywords out";
    NameRepeated = "name-repeated", Warning, "4.4.2.6", None,
        "Two HDUs have the same XTENSION, EXTNAME, EXTVER and EXTLEVEL.",
        hint "give each its own EXTVER, so that it can be named";
    ExtensionsDenied = "extensions-denied", Warning, "4.4.2.1", None,
        "EXTEND = F says that no extensions may follow, and there are some.",
        hint "set EXTEND to T with a header editor; programs may not look for what it denies";
    ExtensionCount = "extension-count", Warning, "", None,
        "NEXTEND, which the Standard does not have, is not the number of extensions that follow.",
        hint "if the file was cut or put together, see what is missing; else correct the card with a \
            header editor";
    LogicalValue = "logical-value", Error, "7.3.3.1", None,
        "A logical field holds a byte other than T, F and 0.",
        hint "write the values again; readers take such bytes for true, false or undefined as they like";
    BitFill = "bit-fill", Error, "7.3.3.1", None,
        "The bits behind the last one of an X field are not 0.",
        hint "no value depends on them; writing the column again puts them right";
    TextValue = "text-value", Error, "7.3.3.1", None,
        "A character field holds a byte that is not printable ASCII before its first NUL.",
        hint "replace the character; FITS text is ASCII from 32 to 126";
    DescriptorLength = "descriptor-length", Error, "7.3.5", None,
        "An array has more elements than TFORMn says the longest has.",
        hint "correct the number in brackets of TFORMn: programs may set aside memory by it";
    AsciiEntry = "ascii-entry", Error, "7.2.5", None,
        "A numeric field of an ASCII table is no number.",
        hint "write the number again, or use the text of TNULLn for undefined ones";
    AsciiPoint = "ascii-point", Warning, "7.2.5", None,
        "A number of a real field of an ASCII table has no decimal point.",
        hint "the last d digits of Fw.d are its fraction; write the point, as other programs may not put it there";
    AsciiText = "ascii-text", Error, "7.2.5", None,
        "A character field of an ASCII table holds a byte that is not printable ASCII.",
        hint "replace the character; FITS text is ASCII from 32 to 126";
    AsciiGap = "ascii-gap", Error, "7.2.4", None,
        "A byte between the fields of an ASCII table is not 7-bit ASCII.",
        hint "replace the byte by a blank";
    DataFill = "data-fill", Error, "3.3.2, 7.2.3", None,
        "The data are not filled up with zeros (an ASCII table: with blanks) to 2880 bytes.",
        hint "no value depends on it; writing the file again puts it right";
    Datasum = "datasum", Warning, "4.4.2.7", None,
        "The data do not have the sum that DATASUM states.",
        hint "the data have changed since it was written: compare with the origin of the file; if the \
            change was meant, {update_checksums() of tachyfits.edit|tachyfits checksum FILE --update} states the new sum";
    Checksum = "checksum", Warning, "4.4.2.7", None,
        "The HDU does not have the sum that CHECKSUM states.",
        hint "something was changed since it was written, the header alone if DATASUM is right; \
            {update_checksums() of tachyfits.edit|tachyfits checksum FILE --update} states the new sum";
    NotChecked = "not-checked", Warning, "", None,
        "A part of the file could not be checked.",
        hint "repair what is said to be in the way, and verify again";
}
