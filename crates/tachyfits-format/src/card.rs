//! One card: a keyword with its value and comment, and its raw records. Not the reading of fields
//! ([`crate::scan`]) and not their layout when written ([`crate::card_writer`]).
//!
//! The raw bytes are the card; what is parsed from them is a view. A card that is not changed is
//! written as it was read.

use crate::card_writer;
use crate::code::Code;
use crate::error::{FormatError, quoted};
use crate::limits::CARD_BYTES;
use crate::scan::{self, Issue};
use crate::value::Value;

/// A card of a header: one 80-byte record, or more when a string continues.
///
/// ```
/// use tachyfits_format::{Card, Value};
/// let card = Card::new("OBJECT", "M 31", "target").unwrap();
/// assert!(card.raw().starts_with(b"OBJECT  = 'M 31    '           / target"));
/// assert_eq!(card.value(), Some(&Value::Text("M 31".into())));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    raw: Raw,
    keyword: String,
    value: Option<Value>,
    comment: String,
}

/// The bytes of a card.
#[derive(Clone, Debug, PartialEq)]
enum Raw {
    /// One record. Nearly all cards are: a header of many is read faster without a piece of memory for each.
    One([u8; CARD_BYTES]),
    /// A record and its CONTINUE records.
    Many(Vec<u8>),
}

impl Raw {
    fn bytes(&self) -> &[u8] {
        match self {
            Raw::One(record) => record,
            Raw::Many(records) => records,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Raw::One(record) => record,
            Raw::Many(records) => records,
        }
    }

    fn push(&mut self, record: &[u8; CARD_BYTES]) {
        match self {
            Raw::One(first) => *self = Raw::Many([*first, *record].concat()),
            Raw::Many(records) => records.extend(record),
        }
    }
}

impl Card {
    /// A card with a value. Strings that do not fit one record continue. A comment takes room from the blanks of the fixed
    /// format, goes on in CONTINUE records where it may, and is cut elsewhere: see [`Card::cuts`].
    ///
    /// # Errors
    /// [`Code::CardText`] for a keyword or text that a header cannot hold, [`Code::CardTooLong`].
    pub fn new(keyword: &str, value: impl Into<Value>, comment: &str) -> Result<Card, FormatError> {
        card_writer::check_text(keyword, comment)?;
        let raw = card_writer::records(keyword, &value.into(), comment.trim().as_bytes())?;
        Ok(Card::from_raw(&raw, &mut Vec::new()))
    }

    /// Whether the card has only the first part of a comment that it was made with.
    ///
    /// ```
    /// use tachyfits_format::Card;
    /// let comment = "seconds of exposure ".repeat(5);
    /// assert!(Card::new("EXPTIME", 30.0, &comment)?.cuts(&comment));
    /// assert!(!Card::new("MYSTRING", "text", &comment)?.cuts(&comment));
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    #[must_use]
    pub fn cuts(&self, comment: &str) -> bool {
        let wanted = comment.trim();
        wanted != self.comment && wanted.starts_with(&self.comment)
    }

    /// A card of this keyword and value with the comment of this card, whose bytes stay as they are even outside ASCII.
    ///
    /// # Errors
    /// See [`Card::new`].
    pub fn with_value(&self, keyword: &str, value: impl Into<Value>) -> Result<Card, FormatError> {
        let comment = self.comment.as_bytes();
        let is_stored_so = self.raw().windows(comment.len().max(1)).any(|bytes| bytes == comment);
        let raw = match is_stored_so || self.comment.chars().any(|c| c > '\u{ff}') {
            true => card_writer::records(keyword, &value.into(), comment),
            // Read as Latin-1.
            false => {
                let comment: Vec<u8> = self.comment.chars().map(|c| c as u8).collect();
                card_writer::records(keyword, &value.into(), &comment)
            }
        };
        Ok(Card::from_raw(&raw?, &mut Vec::new()))
    }

    /// The card of these records, as a file has them: a record, and those that continue it. `None` if they are not one card.
    ///
    /// ```
    /// use tachyfits_format::Card;
    /// let record = format!("{:<80}", "a.b     = 5 / not a keyword of the Standard");
    /// assert_eq!(Card::from_records(record.as_bytes()).unwrap().comment(), "not a keyword of the Standard");
    /// assert!(Card::from_records(&record.repeat(2).as_bytes()).is_none());
    /// ```
    #[must_use]
    pub fn from_records(bytes: &[u8]) -> Option<Card> {
        let is_whole = !bytes.is_empty() && bytes.len().is_multiple_of(CARD_BYTES);
        let card = is_whole.then(|| Card::from_raw(bytes, &mut Vec::new()))?;
        (card.raw().len() == bytes.len()).then_some(card)
    }

    /// A card of all its records.
    fn from_raw(raw: &[u8], issues: &mut Vec<Issue>) -> Card {
        let (records, _) = raw.as_chunks::<CARD_BYTES>();
        let mut card = Card::from_record(&records[0], issues);
        card.extend(&records[1..], issues);
        card
    }

    /// A card of blanks: space for one to come.
    #[must_use]
    pub fn blank() -> Card {
        Card::from_record(&[b' '; CARD_BYTES], &mut Vec::new())
    }

    /// Cards of COMMENT, HISTORY or blank keyword: as many as the text needs, 72 characters each.
    ///
    /// # Errors
    /// [`Code::CardText`] for another keyword, or text that is not printable ASCII.
    pub fn commentary(keyword: &str, text: &str) -> Result<Vec<Card>, FormatError> {
        let bytes = card_writer::commentary(keyword, text)?;
        let (records, _) = bytes.as_chunks::<CARD_BYTES>();
        Ok(records.iter().map(|record| Card::from_record(record, &mut Vec::new())).collect())
    }

    /// Reads one record. Strings that continue are completed by [`Card::extend`].
    pub(crate) fn from_record(record: &[u8; CARD_BYTES], issues: &mut Vec<Issue>) -> Card {
        check_bytes(record, issues);
        let raw = Raw::One(*record);
        if let Some((keyword, start)) = scan::hierarch(record) {
            let field = scan::value_field(&record[start..], issues);
            return Card { raw, keyword, value: Some(field.value), comment: field.comment };
        }
        let keyword = scan::decode(scan::trim(&record[..8]));
        check_keyword(&record[..8], &keyword, issues);
        let indicator = record[8] == b'=' && scan::is_blank(record[9]);
        if !indicator || card_writer::is_commentary(&keyword) {
            if record[8] == b'=' && needs_value(&keyword) {
                issues.push((Code::ValueIndicator, quoted(&scan::decode(&record[..16]))));
            }
            let comment = scan::decode(scan::trim_end(&record[8..]));
            return Card { raw, keyword, value: None, comment };
        }
        let field = scan::value_field(&record[10..], issues);
        Card { raw, keyword, value: Some(field.value), comment: field.comment }
    }

    /// The string may go on in the next record. Mandatory keywords never do (Sect. 4.2.1.2).
    pub(crate) fn may_continue(&self) -> bool {
        matches!(&self.value, Some(Value::Text(text)) if text.ends_with('&'))
            && !card_writer::is_mandatory(&self.keyword)
    }

    /// Joins the CONTINUE records at the start of `records`; gives how many there were.
    pub(crate) fn extend(
        &mut self,
        records: &[[u8; CARD_BYTES]],
        issues: &mut Vec<Issue>,
    ) -> usize {
        let Some(Value::Text(text)) = &mut self.value else { return 0 };
        let mut joined = 0;
        for record in records {
            if !text.ends_with('&') {
                break;
            }
            let Some((more, comment)) = scan::continuation(record) else { break };
            check_bytes(record, issues);
            text.pop();
            text.push_str(&more);
            // Blanks may separate the ampersand and the quote (Sect. 4.2.1.2, item 3).
            let ended = more.trim_end();
            if ended.ends_with('&') {
                text.truncate(text.len() - (more.len() - ended.len()));
            }
            if !self.comment.is_empty() && !comment.is_empty() {
                self.comment.push(' ');
            }
            self.comment.push_str(&comment);
            self.raw.push(record);
            joined += 1;
        }
        let significant = crate::value::significant(text).len();
        text.truncate(significant);
        joined
    }

    /// The keyword: `NAXIS1`, `` for a blank one, `ESO DET CHIP1 ID` for a HIERARCH card (`HIERARCH
    /// ABC` if it is one word of at most 8 characters, which an ordinary keyword could be too).
    #[must_use]
    pub fn keyword(&self) -> &str {
        &self.keyword
    }

    /// The value; `None` for commentary cards, which have none.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// The comment without blanks around it; of a commentary card its text from byte 9 on.
    #[must_use]
    pub fn comment(&self) -> &str {
        &self.comment
    }

    /// The card has no value: COMMENT, HISTORY, a blank keyword, or no value indicator.
    #[must_use]
    pub fn is_commentary(&self) -> bool {
        self.value.is_none()
    }

    /// All bytes are blank: space kept for cards to come (Sect. 4.4.2.4).
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.raw().iter().all(|&byte| byte == b' ')
    }

    /// The 80 bytes as they are in the file, and those of the CONTINUE records.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        self.raw.bytes()
    }

    /// How many CONTINUE records the card has.
    #[must_use]
    pub fn continuations(&self) -> usize {
        self.raw().len() / CARD_BYTES - 1
    }

    /// The same card under another keyword of at most 8 characters: value and comment keep their
    /// bytes.
    pub(crate) fn renamed(&self, keyword: &str) -> Card {
        let mut card = self.clone();
        for (at, byte) in card.raw.bytes_mut()[..8].iter_mut().enumerate() {
            *byte = keyword.as_bytes().get(at).copied().unwrap_or(b' ');
        }
        keyword.clone_into(&mut card.keyword);
        card
    }
}

/// Notes bytes outside printable ASCII (Sect. 4.1.2.3).
fn check_bytes(record: &[u8], issues: &mut Vec<Issue>) {
    let illegal = record.iter().enumerate().find(|(_, byte)| !matches!(byte, b' '..=b'~'));
    if let Some((at, byte)) = illegal {
        issues.push((Code::IllegalByte, format!("0x{byte:02x} at byte {at} of the card")));
    }
}

/// Notes a keyword field that is not left-justified or has other characters than it may (Sect.
/// 4.1.2.1).
fn check_keyword(field: &[u8], keyword: &str, issues: &mut Vec<Issue>) {
    let legal = |byte: u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_');
    let starts = keyword.is_empty() || !scan::is_blank(field[0]);
    if !starts || !keyword.bytes().all(legal) {
        issues.push((Code::IllegalKeyword, quoted(&scan::decode(field))));
    }
}

/// Keywords that change the meaning of the data: without a value indicator they would be ignored
/// silently.
fn needs_value(keyword: &str) -> bool {
    card_writer::is_mandatory(keyword) || matches!(keyword, "BSCALE" | "BZERO" | "BLANK")
}

/// A keyword without the digits at its end, and these.
pub(crate) fn numbered(keyword: &str) -> (&str, &str) {
    let root = keyword.trim_end_matches(|letter: char| letter.is_ascii_digit());
    keyword.split_at(root.len())
}
