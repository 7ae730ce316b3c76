//! The cards of a table's columns when columns are added, removed or moved: all keywords that the Standard indexes by
//! column follow their column, with comments, and so do those of archives (TDBINn, TCOMMn, TUCDn). Other keywords stay
//! unchanged.

use super::Header;
use crate::card::Card;
use crate::card_writer::KEYWORD_BYTES;
use crate::code::Code;
use crate::error::FormatError;
use crate::new_table::{NewColumn, NewTable};
use crate::table::TableKind;
use tachyfits_memory as memory;

/// Forms of keywords that belong to a column, each with its words.
///
/// Sect. 7.2 and 7.3; Tables 22 and 23 and Sect. 8.2.1 for coordinates (for vectors in cells they begin with the number
/// of an axis, for pixel lists with T); Table 35 and Sect. 9 for times; Sect. 10.3 for compressed tables. TDBIN, CDL
/// and letters after the long words come from X-ray archives, TCOMM, TUCD, TUTYP, TDESC, TDOC and TCCLS from others;
/// TSSTR is defined by this library ([`crate::Substrings`]).
const FORMS: [(CardForm, &[&str]); 6] = [
    (
        CardForm { axes: 0, behind: Behind::Nothing, letter: false },
        &[
            "TTYPE", "TFORM", "TUNIT", "TSCAL", "TZERO", "TNULL", "TDISP", "TDIM", "TBCOL",
            "TDMIN", "TDMAX", "TLMIN", "TLMAX", "TDBIN", "TRPOS", "TRDIR", "ZFORM", "ZCTYP",
            "DOBS", "MJDOB", "DAVG", "MJDA", "OBSGX", "OBSGY", "OBSGZ", "TCOMM", "TUCD", "TUTYP",
            "TDESC", "TDOC", "TCCLS", "TSSTR",
        ],
    ),
    (
        CardForm { axes: 0, behind: Behind::Nothing, letter: true },
        &[
            "TCTYP", "TCTY", "TCUNI", "TCUN", "TCRVL", "TCRV", "TCDLT", "TCDE", "TCDL", "TCRPX",
            "TCRP", "TCROT", "TCNA", "TCRD", "TCSY", "TCZPH", "TCZP", "TCPER", "TCPR", "TWCS",
            "WCS", "WCST", "WCSX", "WCSN", "WCAX", "LONP", "LATP", "EQUI", "RADE", "RFRQ", "RWAV",
            "SPEC", "SOBS", "SSRC", "VSYS", "ZSOU", "VANG",
        ],
    ),
    (CardForm { axes: 0, behind: Behind::Column, letter: true }, &["TP", "TPC", "TC", "TCD"]),
    (CardForm { axes: 0, behind: Behind::Parameter, letter: true }, &["TV", "TPV", "TS", "TPS"]),
    (
        CardForm { axes: 1, behind: Behind::Nothing, letter: true },
        &[
            "CTYP", "CTY", "CUNI", "CUN", "CRVL", "CRV", "CDLT", "CDE", "CDL", "CRPX", "CRP",
            "CROT", "CNA", "CRD", "CSY", "CZPH", "CZP", "CPER", "CPR",
        ],
    ),
    (CardForm { axes: 1, behind: Behind::Parameter, letter: true }, &["V", "PV", "S", "PS"]),
];

/// Matrices of vectors in cells: the word follows the digits of two axes.
const MATRICES: [&str; 2] = ["PC", "CD"];

/// Composition of the keywords of some words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CardForm {
    /// Minimum number of axis digits before the word; 0: none allowed.
    axes: usize,
    behind: Behind,
    /// Whether the letter of an alternate description may follow.
    letter: bool,
}

/// The part after an underscore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    Nothing,
    /// Number of a parameter, or X for an array of all.
    Parameter,
    /// Number of another column.
    Column,
}

/// Returns the form of a word, in upper case, that follows `axes` digits.
fn form_of(axes: usize, word: &str) -> Option<CardForm> {
    if axes > 1 && MATRICES.contains(&word) {
        return Some(CardForm { axes: 2, behind: Behind::Nothing, letter: true });
    }
    let mut forms = FORMS.iter().filter(|(form, _)| (form.axes > 0) == (axes > 0));
    forms.find(|(_, words)| words.contains(&word)).map(|(form, _)| *form)
}

/// A keyword of a column: the part before the number, the number, the part after an underscore, and the letter of a
/// coordinate description. Letters keep their case: among cards that differ only in case, the case decides which one is
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnKeyword<'a> {
    head: &'a str,
    column: usize,
    second: Option<&'a str>,
    letter: &'a str,
    behind: Behind,
}

impl<'a> ColumnKeyword<'a> {
    /// Parses a keyword; `None` if it does not belong to a column.
    ///
    /// ```
    /// use tachyfits_format::ColumnKeyword;
    /// let parts = |keyword| ColumnKeyword::of(keyword).map(|found| (found.column(), found.pattern()));
    /// assert_eq!(parts("TLMIN12"), Some((12, Some("TLMIN#".to_owned()))));
    /// assert_eq!(parts("1CDL3P"), Some((3, Some("1CDL#P".to_owned()))));
    /// assert_eq!(parts("TPC2_1"), Some((2, None)));
    /// assert_eq!(parts("TEMP2"), None);
    /// ```
    #[must_use]
    pub fn of(keyword: &'a str) -> Option<ColumnKeyword<'a>> {
        // Only HIERARCH cards have longer keywords.
        if keyword.len() > KEYWORD_BYTES {
            return None;
        }
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let axes = digits(keyword);
        let rest = &keyword[axes..];
        let word = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (head, numbers) = (&keyword[..axes + word], &rest[word..]);
        let form = form_of(axes, &rest[..word].to_ascii_uppercase())?;
        let length = digits(numbers);
        let column = number_of_column(&numbers[..length])?;
        let tail = &numbers[length..];
        let (second, letter) = match tail.strip_prefix('_') {
            None => (None, tail),
            Some(tail) => {
                let is_array = form.behind == Behind::Parameter && axes > 0;
                let length = match tail.bytes().next() {
                    Some(b'X' | b'x') if is_array => 1,
                    _ => digits(tail),
                };
                (Some(&tail[..length]), &tail[length..])
            }
        };
        let fits = match (form.behind, second) {
            (Behind::Nothing, None) => true,
            (Behind::Nothing, Some(_)) | (_, None) => false,
            (_, Some(second)) => !second.is_empty(),
        };
        let described = match letter.as_bytes() {
            [] => true,
            [b'A'..=b'Z' | b'a'..=b'z'] => form.letter,
            _ => false,
        };
        let is_valid = fits && described;
        is_valid.then_some(ColumnKeyword { head, column, second, letter, behind: form.behind })
    }

    /// Number of the column, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// Returns the keyword with `#` in place of the number; `None` if it also names another column.
    #[must_use]
    pub fn pattern(&self) -> Option<String> {
        let ColumnKeyword { head, second, letter, .. } = self;
        let second = second.map_or_else(String::new, |second| format!("_{second}"));
        (self.behind != Behind::Column).then(|| format!("{head}#{second}{letter}"))
    }

    /// Returns the keyword with the new column numbers; `None` if one of its columns is removed.
    fn renumbered(self, place: &impl Fn(usize) -> Option<usize>) -> Option<String> {
        let ColumnKeyword { head, column, second, letter, behind } = self;
        let column = place(column)?;
        let second = match second {
            None => String::new(),
            // Verification reports a number that no column can have.
            Some(second) => match number_of_column(second).filter(|_| behind == Behind::Column) {
                Some(other) => format!("_{}", place(other)?),
                None => format!("_{second}"),
            },
        };
        Some(format!("{head}{column}{second}{letter}"))
    }
}

/// Parses a valid column number (Sect. 7.2.1).
fn number_of_column(digits: &str) -> Option<usize> {
    let number = digits.parse().ok().filter(|column| (1..=999).contains(column));
    number.filter(|_| !digits.starts_with('0'))
}

/// Renumbers a keyword, in either case, that belongs to a column of a table; `place` maps old to new column numbers
/// (both from 1). Returns `None` if it does not belong to a column, and `Some(None)` if a column that it names is
/// removed.
///
/// ```
/// use tachyfits_format::column_keyword;
/// let place = |column| (column > 1).then(|| column - 1);
/// assert_eq!(column_keyword("TTYPE2", place), Some(Some("TTYPE1".to_owned())));
/// assert_eq!(column_keyword("TPC2_1", place), Some(None));
/// assert_eq!(column_keyword("TEMP2", place), None);
/// ```
pub fn column_keyword(
    keyword: &str,
    place: impl Fn(usize) -> Option<usize>,
) -> Option<Option<String>> {
    ColumnKeyword::of(keyword).map(|indexed| indexed.renumbered(&place))
}

impl Header {
    /// Renumbers every card of a column by `place` (both from 1), and removes the cards of columns without a place.
    /// TFIELDS is not changed.
    ///
    /// # Errors
    /// [`crate::Code::CardText`] if a keyword would be longer than eight characters.
    ///
    /// ```
    /// use tachyfits_format::Header;
    /// let mut header = Header::new();
    /// header.set("TTYPE2", "RA", "right ascension")?;
    /// header.set("TEMP2", 3, "no keyword of a column")?;
    /// header.renumber_columns(|column| (column > 1).then(|| column - 1))?;
    /// assert_eq!(header.get_text("TTYPE1")?, Some("RA"));
    /// assert_eq!(header.get_i64("TEMP2")?, Some(3));
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn renumber_columns(
        &mut self,
        place: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), FormatError> {
        let mut cards = memory::with_room(self.cards.len(), "the cards of a header")?;
        for card in &self.cards {
            let Some(indexed) = ColumnKeyword::of(card.keyword()).filter(|_| !card.is_commentary())
            else {
                cards.push(card.clone());
                continue;
            };
            match indexed.renumbered(&place) {
                Some(keyword) if keyword == card.keyword() => cards.push(card.clone()),
                Some(keyword) if keyword.len() <= KEYWORD_BYTES => {
                    cards.push(card.renamed(&keyword));
                }
                Some(keyword) => {
                    let place = self.place(card.keyword());
                    let expected = format!("room for {keyword}, its new name");
                    let found = format!("{KEYWORD_BYTES} characters for a keyword");
                    return Err(FormatError::new(Code::CardText, place, expected, found));
                }
                None => {}
            }
        }
        if cards != self.cards {
            self.cards = cards;
            self.changed();
        }
        Ok(())
    }

    /// Inserts the cards of a new column, whose number (from 1) must be unused, after the cards of the columns before
    /// it; `offset` is the start of its field in the row, for TBCOLn.
    ///
    /// # Errors
    /// Returns the errors of [`NewTable::header`].
    pub fn insert_column_cards(
        &mut self,
        number: usize,
        column: &NewColumn,
        kind: TableKind,
        offset: u64,
    ) -> Result<(), FormatError> {
        let mut column = column.clone();
        column.start = Some(offset);
        let header = NewTable::new(kind, vec![column]).header(&Header::new())?;
        let new = header.cards().iter().filter_map(|card| {
            let indexed = ColumnKeyword::of(card.keyword())?;
            Some(card.renamed(&format!("{}{number}", indexed.head)))
        });
        let column_of =
            |card: &Card| ColumnKeyword::of(card.keyword()).map(|indexed| indexed.column);
        let later = |card: &Card| column_of(card).is_some_and(|column| column > number);
        let last_before = self.cards.iter().rposition(|card| {
            card.keyword().eq_ignore_ascii_case("TFIELDS")
                || column_of(card).is_some_and(|column| column < number)
        });
        let first_later = self.cards.iter().position(later);
        let at = match (first_later, last_before) {
            (Some(later), Some(before)) if later > before => later,
            (_, Some(before)) => before + 1,
            (Some(later), None) => later,
            (None, None) => self.cards.len(),
        };
        let new: Vec<Card> = new.collect();
        self.cards.splice(at..at, new);
        self.changed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Element, Field};

    #[test]
    fn keywords_of_columns_are_known_from_others() {
        let renumber = |keyword: &str| {
            let place = |column| match column {
                3 => None,
                column => Some(column + 10),
            };
            ColumnKeyword::of(keyword).map(|indexed| indexed.renumbered(&place))
        };
        for (keyword, new) in [
            ("TTYPE1", "TTYPE11"),
            ("TFORM12", "TFORM22"),
            ("TDIM999", "TDIM1009"),
            ("TCTYP5", "TCTYP15"),
            ("TCTY5A", "TCTY15A"),
            ("TCRPX5", "TCRPX15"),
            ("TLMIN5", "TLMIN15"),
            ("TP1_2", "TP11_12"),
            ("TC1_2B", "TC11_12B"),
            ("TC1_0", "TC11_0"),
            ("TC1_1000", "TC11_1000"),
            ("TPC1_2", "TPC11_12"),
            ("TV1_3", "TV11_3"),
            ("TPS1_3Z", "TPS11_3Z"),
            ("2CTYP4", "2CTYP14"),
            ("12PC4", "12PC14"),
            ("11PC4A", "11PC14A"),
            ("1V4_3", "1V14_3"),
            ("WCSN4", "WCSN14"),
            ("MJDOB4", "MJDOB14"),
            ("TCOMM4", "TCOMM14"),
            ("TUCD4", "TUCD14"),
            ("TDBIN4", "TDBIN14"),
            ("1CDL4P", "1CDL14P"),
            ("1CRV4P", "1CRV14P"),
            ("1CDE4A", "1CDE14A"),
            ("TCDL4P", "TCDL14P"),
            ("TCRVL4P", "TCRVL14P"),
            ("WCST4A", "WCST14A"),
            ("WCSX4", "WCSX14"),
            ("WCS4A", "WCS14A"),
            ("1V4_X", "1V14_X"),
            ("2PV4_12B", "2PV14_12B"),
            ("1PS4_0", "1PS14_0"),
            ("RADE4Z", "RADE14Z"),
            ("3CZPH4", "3CZPH14"),
            ("OBSGZ4", "OBSGZ14"),
            ("tscal4", "tscal14"),
            ("Tpc1_2b", "Tpc11_12b"),
            ("tps1_3", "tps11_3"),
            ("2ctyp4", "2ctyp14"),
        ] {
            assert_eq!(renumber(keyword), Some(Some(new.to_owned())), "{keyword}");
        }
        for keyword in ["TTYPE3", "TP3_1", "TP1_3", "TCRVL3", "1CRVL3", "TV3_1", "tform3", "tp1_3"]
        {
            assert_eq!(renumber(keyword), Some(None), "{keyword}");
        }
    }

    #[test]
    fn other_keywords_are_of_no_column() {
        let keywords = [
            "TFIELDS",
            "THEAP",
            "TEMP1",
            "NAXIS1",
            "TTYPE",
            "TTYPE0",
            "TTYPE01",
            "TTYPEA",
            "TC1",
            "TP1",
            "TTYPE1A",
            "TTYPE1_2",
            "T1",
            "1",
            "",
            "TV1_",
            "PC1_1",
            "CTYPE1",
            "CRVAL1",
            "TTYPE1000",
            "2MASS1",
            "1PC1",
            "1CTYP1_2",
            "TV1_X",
            "TDBIN1A",
            "1V1",
            "1CTYP01",
            "TP1_2AB",
            "OBSGX1A",
            "É1",
            "TIME1",
            "V1_2",
        ];
        for keyword in keywords {
            assert_eq!(ColumnKeyword::of(keyword), None, "{keyword}");
        }
    }

    #[test]
    fn a_new_column_follows_those_before_it() {
        let mut header = Header::new();
        for keyword in ["TFIELDS", "TTYPE1", "TFORM1", "TTYPE3", "TFORM3", "EXTNAME", "TUNIT3"] {
            header.set(keyword, "x", "").unwrap();
        }
        use crate::image::ValueType;
        use crate::table::{Element, Field};
        let field = Field::Fixed { element: Element::Number(ValueType::U16), repeat: 1, width: 1 };
        let column = NewColumn::new("NEW", field);
        header.insert_column_cards(2, &column, TableKind::Binary, 0).unwrap();
        let keywords: Vec<&str> = header.cards().iter().map(Card::keyword).collect();
        let expected = [
            "TFIELDS", "TTYPE1", "TFORM1", "TTYPE2", "TFORM2", "TSCAL2", "TZERO2", "TTYPE3",
            "TFORM3", "EXTNAME", "TUNIT3",
        ];
        assert_eq!(keywords, expected);
    }

    #[test]
    fn a_keyword_too_long_for_its_new_number_is_refused() {
        let mut header = Header::new();
        header.set("TPC98_99", 0.5, "").unwrap();
        let error = header.renumber_columns(|column| Some(column + 1)).unwrap_err();
        assert_eq!(error.code(), Code::CardText);
        assert!(error.to_string().contains("TPC99_100"), "{error}");
        assert_eq!(header.get_f64("TPC98_99"), Ok(Some(0.5)));
        // A keyword that names another column is removed with that column.
        header.renumber_columns(|column| (column != 99).then_some(column)).unwrap();
        assert_eq!(header.cards(), []);
    }

    #[test]
    fn words_of_hierarch_are_of_no_column() {
        let mut header = Header::new();
        header.set("TPC100_98", 0.5, "by HIERARCH").unwrap();
        header.set("HIERARCH TTYPE3", 7, "").unwrap();
        let before = header.clone();
        header.renumber_columns(|column| (column > 3).then(|| column - 3)).unwrap();
        assert_eq!(header, before);
    }

    #[test]
    fn cards_of_a_new_column_follow_those_of_others_in_either_case() {
        let element = Field::Fixed { element: Element::Complex32, repeat: 1, width: 1 };
        let new = NewColumn::new("X", element);
        let inserted = |cards: &str, lower: bool| {
            let card = |keyword: &str| match lower {
                true => Card::new(keyword, 0, "").unwrap().renamed(&keyword.to_ascii_lowercase()),
                false => Card::new(keyword, 0, "").unwrap(),
            };
            let mut header = Header::from_cards(cards.split(' ').map(card).collect());
            header.insert_column_cards(3, &new, TableKind::Binary, 0).unwrap();
            let keywords = header.cards().iter().map(|card| card.keyword().to_ascii_uppercase());
            keywords.collect::<Vec<_>>().join(" ")
        };
        for lower in [false, true] {
            let before_next = inserted("TFIELDS TTYPE1 TUNIT2 OBJECT TTYPE4 DATE", lower);
            assert_eq!(before_next, "TFIELDS TTYPE1 TUNIT2 OBJECT TTYPE3 TFORM3 TTYPE4 DATE");
            let behind_last = inserted("TFIELDS TTYPE1 TUNIT2 OBJECT", lower);
            assert_eq!(behind_last, "TFIELDS TTYPE1 TUNIT2 TTYPE3 TFORM3 OBJECT");
            let behind_count = inserted("TFIELDS OBJECT", lower);
            assert_eq!(behind_count, "TFIELDS TTYPE3 TFORM3 OBJECT");
        }
    }
}
