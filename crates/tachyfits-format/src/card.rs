//! One card: a keyword with its value and comment, and its raw records. [`crate::scan`] parses its fields,
//! [`crate::card_writer`] formats them.
//!
//! The raw bytes are authoritative; the parsed fields are derived from them. An unchanged card is written exactly as it
//! was read.

use crate::card_writer;
use crate::code::Code;
use crate::error::{FormatError, quoted};
use crate::limits::CARD_BYTES;
use crate::scan::{self, Issue};
use crate::value::Value;

/// A card of a header: one 80-byte record, or several if a string continues.
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
    /// One record, as for nearly all cards: stored inline, to avoid an allocation per card.
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
    /// Creates a card with a value. Strings that do not fit in one record continue. A comment may use the padding of
    /// the fixed format, continues in CONTINUE records if permitted, and is truncated otherwise: see [`Card::cuts`].
    ///
    /// # Errors
    /// [`Code::CardText`] for a keyword or text that is not valid in a header, [`Code::CardTooLong`].
    pub fn new(keyword: &str, value: impl Into<Value>, comment: &str) -> Result<Card, FormatError> {
        card_writer::check_text(keyword, comment)?;
        let raw = card_writer::records(keyword, &value.into(), comment.trim().as_bytes())?;
        Ok(Card::from_raw(&raw, &mut Vec::new()))
    }

    /// Whether the card has only the first part of the comment that was passed to its constructor.
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
        let comment = comment.trim();
        comment != self.comment && comment.starts_with(&self.comment)
    }

    /// Returns a card with this keyword and value and the comment of `self`, whose bytes stay unchanged even outside
    /// ASCII.
    ///
    /// # Errors
    /// See [`Card::new`].
    pub fn with_value(&self, keyword: &str, value: impl Into<Value>) -> Result<Card, FormatError> {
        let comment = self.comment.as_bytes();
        let is_stored_so = self.raw().windows(comment.len().max(1)).any(|bytes| bytes == comment);
        let raw = match is_stored_so || self.comment.chars().any(|c| c > '\u{ff}') {
            true => card_writer::records(keyword, &value.into(), comment),
            // The comment was decoded as Latin-1.
            false => {
                let comment: Vec<u8> = self.comment.chars().map(|c| c as u8).collect();
                card_writer::records(keyword, &value.into(), &comment)
            }
        };
        Ok(Card::from_raw(&raw?, &mut Vec::new()))
    }

    /// Parses the records of one card as stored in a file: a record and its continuations. `None` if they are not
    /// exactly one card.
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

    /// Parses all records of one card.
    fn from_raw(raw: &[u8], issues: &mut Vec<Issue>) -> Card {
        let (records, _) = raw.as_chunks::<CARD_BYTES>();
        let mut card = Card::from_record(&records[0], issues);
        card.extend(&records[1..], issues);
        card
    }

    /// Returns a blank card, which reserves space.
    #[must_use]
    pub fn blank() -> Card {
        Card::from_record(&[b' '; CARD_BYTES], &mut Vec::new())
    }

    /// Returns cards of COMMENT, HISTORY or blank keyword: as many as the text needs, 72 characters each.
    ///
    /// # Errors
    /// [`Code::CardText`] for another keyword, or text that is not printable ASCII.
    pub fn commentary(keyword: &str, text: &str) -> Result<Vec<Card>, FormatError> {
        let bytes = card_writer::commentary(keyword, text)?;
        let (records, _) = bytes.as_chunks::<CARD_BYTES>();
        Ok(records.iter().map(|record| Card::from_record(record, &mut Vec::new())).collect())
    }

    /// Parses one record. [`Card::extend`] adds the continuations of a string.
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

    /// Whether the string may continue in the next record. Mandatory keywords never continue (Sect. 4.2.1.2).
    pub(crate) fn may_continue(&self) -> bool {
        matches!(&self.value, Some(Value::Text(text)) if text.ends_with('&'))
            && !card_writer::is_mandatory(&self.keyword)
    }

    /// Appends the CONTINUE records at the start of `records`; returns their number.
    pub(crate) fn extend(
        &mut self,
        records: &[[u8; CARD_BYTES]],
        issues: &mut Vec<Issue>,
    ) -> usize {
        let Some(Value::Text(text)) = &mut self.value else { return 0 };
        let mut count = 0;
        for record in records {
            if !text.ends_with('&') {
                break;
            }
            let Some((more, comment)) = scan::continuation(record) else { break };
            check_bytes(record, issues);
            text.pop();
            text.push_str(&more);
            // Blanks may separate the ampersand and the quote (Sect. 4.2.1.2, item 3).
            let content = more.trim_end();
            if content.ends_with('&') {
                text.truncate(text.len() - (more.len() - content.len()));
            }
            if !self.comment.is_empty() && !comment.is_empty() {
                self.comment.push(' ');
            }
            self.comment.push_str(&comment);
            self.raw.push(record);
            count += 1;
        }
        let significant = crate::value::significant(text).len();
        text.truncate(significant);
        count
    }

    /// The keyword: `NAXIS1`, `` if blank, `ESO DET CHIP1 ID` for a HIERARCH card (`HIERARCH ABC` if it is one word of
    /// at most 8 characters, which an ordinary keyword could be too).
    #[must_use]
    pub fn keyword(&self) -> &str {
        &self.keyword
    }

    /// The value; `None` for commentary cards.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// The comment without surrounding blanks; for a commentary card its text from byte 9.
    #[must_use]
    pub fn comment(&self) -> &str {
        &self.comment
    }

    /// Whether the card has no value: COMMENT, HISTORY, a blank keyword, or no value indicator.
    #[must_use]
    pub fn is_commentary(&self) -> bool {
        self.value.is_none()
    }

    /// Whether all bytes are blank, which reserves space for cards (Sect. 4.4.2.4).
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.raw().iter().all(|&byte| byte == b' ')
    }

    /// The 80 bytes as stored in the file, followed by those of the CONTINUE records.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        self.raw.bytes()
    }

    /// Number of CONTINUE records.
    #[must_use]
    pub fn continuations(&self) -> usize {
        self.raw().len() / CARD_BYTES - 1
    }

    /// Returns the card with another keyword of at most 8 characters: value and comment keep their bytes.
    pub(crate) fn renamed(&self, keyword: &str) -> Card {
        let mut card = self.clone();
        for (at, byte) in card.raw.bytes_mut()[..8].iter_mut().enumerate() {
            *byte = keyword.as_bytes().get(at).copied().unwrap_or(b' ');
        }
        keyword.clone_into(&mut card.keyword);
        card
    }
}

/// Records bytes outside printable ASCII as issues (Sect. 4.1.2.3).
fn check_bytes(record: &[u8], issues: &mut Vec<Issue>) {
    let illegal = record.iter().enumerate().find(|(_, byte)| !matches!(byte, b' '..=b'~'));
    if let Some((at, byte)) = illegal {
        issues.push((Code::IllegalByte, format!("0x{byte:02x} at byte {at} of the card")));
    }
}

/// Records an issue if the keyword field is not left-justified or has illegal characters (Sect. 4.1.2.1).
fn check_keyword(field: &[u8], keyword: &str, issues: &mut Vec<Issue>) {
    let legal = |byte: u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_');
    let starts = keyword.is_empty() || !scan::is_blank(field[0]);
    if !starts || !keyword.bytes().all(legal) {
        issues.push((Code::IllegalKeyword, quoted(&scan::decode(field))));
    }
}

/// Whether a keyword changes the meaning of the data: without a value indicator it would be ignored silently.
fn needs_value(keyword: &str) -> bool {
    card_writer::is_mandatory(keyword) || matches!(keyword, "BSCALE" | "BZERO" | "BLANK")
}

/// Splits a keyword into its root and the digits at its end.
pub(crate) fn numbered(keyword: &str) -> (&str, &str) {
    let root = keyword.trim_end_matches(|letter: char| letter.is_ascii_digit());
    keyword.split_at(root.len())
}
