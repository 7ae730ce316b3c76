//! The table of reserved keywords (Appendix C, Table 22, Sect. 9 and 10): pattern, type of the value, and HDUs in which
//! the keyword has a meaning. A new keyword needs one row.
//!
//! In a pattern the lower-case letters `i j k n m` represent a number, and a final `a` the optional letter of an
//! alternate description of the axes.

/// Required type of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeywordType {
    Logical,
    Integer,
    /// Real number; integers are accepted.
    Real,
    Text,
    /// Text with a date.
    Date,
    /// Text with a unit.
    Unit,
    /// An integer in binary tables, text in ASCII tables.
    Null,
    /// Any number or text, by convention.
    Any,
}

/// HDUs in which the keyword has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Anywhere,
    /// Only the primary header.
    Primary,
    /// Only headers of extensions.
    Extension,
    /// Arrays.
    Array,
    Groups,
    Table,
    Ascii,
    Binary,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) pattern: &'static str,
    pub(crate) value_type: KeywordType,
    pub(crate) home: Home,
}

/// A keyword that matches a row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match {
    pub(crate) reserved: &'static Reserved,
    /// Numbers in the keyword.
    pub(crate) numbers: [Option<u32>; 2],
    /// Letter of the alternate description; 0 for the primary description.
    pub(crate) alternative: u8,
    /// Whether a number begins with 0.
    pub(crate) leading_zero: bool,
}

macro_rules! reserved {
    ($($value_type:ident $home:ident: $($pattern:literal)+;)+) => {
        const RESERVED: &[Reserved] = &[
            $($(Reserved { pattern: $pattern, value_type: KeywordType::$value_type, home: Home::$home },)+)+
        ];
    };
}

reserved! {
    Logical Primary: "SIMPLE" "EXTEND" "BLOCKED";
    Text Extension: "XTENSION";
    Logical Extension: "INHERIT";
    Integer Anywhere: "BITPIX" "NAXIS" "NAXISn" "PCOUNT" "GCOUNT" "EXTVER" "EXTLEVEL";
    Text Anywhere: "EXTNAME" "DATASUM" "CHECKSUM" "ORIGIN" "AUTHOR" "REFERENC" "OBJECT" "OBSERVER" "TELESCOP" "INSTRUME";
    Date Anywhere: "DATE" "DATE-OBS" "DATE-AVG" "DATE-BEG" "DATE-END" "DATEREF";
    Real Array: "BSCALE" "BZERO" "DATAMAX" "DATAMIN";
    Integer Array: "BLANK";
    Unit Array: "BUNIT";
    Logical Groups: "GROUPS";
    Text Groups: "PTYPEn";
    Real Groups: "PSCALn" "PZEROn";
    Integer Table: "TFIELDS";
    Text Table: "TTYPEn" "TFORMn" "TDISPn";
    Unit Table: "TUNITn";
    Real Table: "TSCALn" "TZEROn" "TDMINn" "TDMAXn" "TLMINn" "TLMAXn";
    Null Table: "TNULLn";
    Integer Ascii: "TBCOLn";
    Integer Binary: "THEAP";
    Text Binary: "TDIMn";
    Integer Anywhere: "WCSAXESa" "VELREF";
    Text Anywhere: "WCSNAMEa" "CTYPEia" "CNAMEia" "RADESYSa" "RADECSYS" "SPECSYSa" "SSYSOBSa" "SSYSSRCa" "PSi_ma";
    Unit Anywhere: "CUNITia" "TIMEUNIT";
    Real Anywhere: "CRPIXja" "CRVALia" "CDELTia" "CROTAi" "PCi_ja" "CDi_ja" "PVi_ma" "CRDERia" "CSYERia" "CZPHSia"
        "CPERIia" "LONPOLEa" "LATPOLEa" "EQUINOXa" "EPOCH" "RESTFRQa" "RESTFREQ" "RESTWAVa" "VELOSYSa" "ZSOURCEa"
        "VELANGLa" "OBSGEO-X" "OBSGEO-Y" "OBSGEO-Z" "OBSGEO-B" "OBSGEO-L" "OBSGEO-H" "MJD-OBS" "MJD-AVG" "MJD-BEG"
        "MJD-END" "BEPOCH" "JEPOCH" "TSTART" "TSTOP" "XPOSURE" "TELAPSE" "MJDREF" "MJDREFI" "MJDREFF" "JDREF" "JDREFI"
        "JDREFF" "TIMEOFFS" "TIMSYER" "TIMRDER" "TIMEDEL" "TIMEPIXR";
    Text Anywhere: "TIMESYS" "TREFPOS" "TREFDIR" "PLEPHEM" "OBSORBIT";
    Text Table: "TCTYPn" "TRPOSn" "TRDIRn";
    Unit Table: "TCUNIn";
    Real Table: "TCRVLn" "TCDLTn" "TCRPXn" "TCROTn" "TCRDn" "TCSYn" "TCZPHn" "TCPERn";
    Logical Binary: "ZIMAGE" "ZTABLE" "ZSIMPLE" "ZEXTEND" "ZBLOCKED";
    Text Binary: "ZCMPTYPE" "ZNAMEi" "ZMASKCMP" "ZQUANTIZ" "ZTENSION" "ZHECKSUM" "ZDATASUM" "ZFORMn" "ZCTYPn";
    Integer Binary: "ZBITPIX" "ZNAXIS" "ZNAXISn" "ZTILEn" "ZTILELEN" "ZPCOUNT" "ZGCOUNT" "ZTHEAP" "ZDITHER0" "ZBLANK";
    Any Binary: "ZVALi";
}

/// Finds the row of the table that matches a keyword.
pub(crate) fn recognise(keyword: &str) -> Option<Match> {
    if keyword.len() > 8 {
        return None;
    }
    RESERVED.iter().find_map(|reserved| matched(reserved, keyword.as_bytes()))
}

/// Whether the Standard defines the keyword.
pub(crate) fn is_reserved(keyword: &str) -> bool {
    recognise(keyword).is_some()
}

/// Whether the Standard defines an integer value for the keyword.
pub(crate) fn has_integer(keyword: &str) -> bool {
    let value_type = recognise(keyword).map(|row| row.reserved.value_type);
    matches!(value_type, Some(KeywordType::Integer | KeywordType::Null))
}

fn matched(reserved: &'static Reserved, keyword: &[u8]) -> Option<Match> {
    let mut row = Match { reserved, numbers: [None; 2], alternative: 0, leading_zero: false };
    let (mut rest, mut numbers) = (keyword, 0);
    for &letter in reserved.pattern.as_bytes() {
        match letter {
            b'a' => {
                if let [letter @ b'A'..=b'Z'] = rest {
                    row.alternative = *letter;
                    rest = &[];
                }
            }
            b'i' | b'j' | b'k' | b'm' | b'n' => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (number, later) = rest.split_at(digits);
                row.leading_zero |= number.len() > 1 && number[0] == b'0';
                row.numbers[numbers] = str::from_utf8(number).ok()?.parse().ok();
                row.numbers[numbers]?;
                numbers += 1;
                rest = later;
            }
            literal => rest = rest.strip_prefix(&[literal])?,
        }
    }
    rest.is_empty().then_some(row)
}

#[cfg(test)]
mod tests {
    use super::{RESERVED, recognise};

    #[test]
    fn keywords_are_recognised_with_their_numbers_and_letters() {
        let row = |keyword| {
            recognise(keyword).map(|row| (row.reserved.pattern, row.numbers, row.alternative))
        };
        assert_eq!(row("NAXIS"), Some(("NAXIS", [None; 2], 0)));
        assert_eq!(row("NAXIS12"), Some(("NAXISn", [Some(12), None], 0)));
        assert_eq!(row("PC1_2A"), Some(("PCi_ja", [Some(1), Some(2)], b'A')));
        assert_eq!(row("RADESYSB"), Some(("RADESYSa", [None; 2], b'B')));
        assert_eq!(row("CD1"), None);
        assert_eq!(row("NAXISX"), None);
        assert_eq!(row("TFORM99999999999"), None);
        assert!(recognise("TTYPE01").is_some_and(|row| row.leading_zero));
    }

    #[test]
    fn no_keyword_has_two_rows() {
        for (at, row) in RESERVED.iter().enumerate() {
            assert!(RESERVED[..at].iter().all(|other| other.pattern != row.pattern), "{row:?}");
            assert!(row.pattern.len() <= 8, "{row:?}");
        }
    }
}
