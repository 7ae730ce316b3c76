//! A header: its cards in order, lookup by keyword, changes, and formatting as blocks. [`crate::hdu`] and the modules
//! that use it interpret the keywords.
//!
//! Unchanged cards keep their bytes: an unmodified header is written as the blocks it was read from.

mod column_cards;
mod edit;
mod keyword_index;

use std::collections::HashMap;

use tachyfits_memory::{self as memory, NoMemory};

pub use column_cards::{ColumnKeyword, column_keyword};
pub use edit::is_structural;

use crate::card::Card;
use crate::card_writer;
use crate::code::Code;
use crate::error::{FormatError, Place, Warning, Warnings, quoted};
use crate::header::keyword_index::KeywordIndex;
use crate::limits::{BLOCK_BYTES, CARD_BYTES, CARDS_PER_BLOCK};
use crate::reserved::has_integer;
use crate::scan;
use crate::value::{Real, Value};

/// Position of a header, for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Index of the HDU, 0 is the primary HDU.
    pub hdu: usize,
    /// Byte offset of the header in the file.
    pub offset: u64,
}

/// The cards of one HDU, in order.
///
/// ```
/// use tachyfits_format::{Header, Value};
/// let mut header = Header::new();
/// header.set("EXPTIME", 30.0, "seconds")?;
/// header.push_commentary("HISTORY", "made by hand")?;
/// assert_eq!(header.get_f64("EXPTIME")?, Some(30.0));
/// assert_eq!(header.to_bytes().len(), 2880);
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Header {
    cards: Vec<Card>,
    /// END and the rest of its block, as read; `None` once the cards have changed.
    tail: Option<Vec<u8>>,
    context: Context,
    index: KeywordIndex,
}

/// Headers are equal if they write the same bytes.
impl PartialEq for Header {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl Header {
    /// Creates a header without cards.
    #[must_use]
    pub fn new() -> Self {
        Header::default()
    }

    /// Creates a header of these cards.
    #[must_use]
    pub fn from_cards(cards: Vec<Card>) -> Self {
        let index = KeywordIndex::of(&cards);
        Header { cards, index, ..Header::default() }
    }

    /// Parses the header at the start of `bytes`, up to the end of the block with its END card.
    ///
    /// # Errors
    /// [`Code::EndMissing`] if there is no END card. Every other fault is a warning.
    ///
    /// ```
    /// use tachyfits_format::{Context, Header};
    /// let mut bytes = b"OBJECT  = 'M 31'".to_vec();
    /// bytes.resize(80, b' ');
    /// bytes.extend(b"END");
    /// bytes.resize(2880, b' ');
    /// let (header, warnings) = Header::parse(&bytes, Context::default())?;
    /// assert_eq!(header.get_text("OBJECT")?, Some("M 31"));
    /// assert!(warnings.is_empty());
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn parse(bytes: &[u8], context: Context) -> Result<(Header, Vec<Warning>), FormatError> {
        let (records, _) = bytes.as_chunks::<CARD_BYTES>();
        let Some(end) = records.iter().position(is_end) else {
            let place = Place {
                hdu: Some(context.hdu),
                offset: Some(context.offset + bytes.len() as u64),
                ..Place::default()
            };
            let found = format!("none in {} cards", records.len());
            return Err(FormatError::new(Code::EndMissing, place, "an END card", found));
        };
        let mut reader = Reader { context, warnings: Warnings::default() };
        let (cards, index) = reader.cards(&records[..end])?;
        let stop = (end / CARDS_PER_BLOCK + 1) * BLOCK_BYTES;
        let tail = &bytes[end * CARD_BYTES..stop.min(bytes.len())];
        reader.check_tail(tail, end);
        let header = Header { cards, tail: Some(tail.to_vec()), context, index };
        Ok((header, reader.warnings.into_vec()))
    }

    /// The cards in order, without END.
    #[must_use]
    pub fn cards(&self) -> &[Card] {
        &self.cards
    }

    /// Offset of the header in its file.
    #[must_use]
    pub fn context(&self) -> Context {
        self.context
    }

    /// Returns the same header at another position, for messages.
    pub(crate) fn at(mut self, context: Context) -> Header {
        self.context = context;
        self
    }

    /// Returns the value of the first card that has the keyword and a value. HIERARCH keywords are written as `ESO DET
    /// CHIP1 ID`. If no keyword matches exactly, the other case is tried.
    #[must_use]
    pub fn get(&self, keyword: &str) -> Option<&Value> {
        self.cards[self.position(keyword)?].value()
    }

    /// Index in [`Header::cards`] of the card that [`Header::get`] reads.
    #[must_use]
    pub fn position(&self, keyword: &str) -> Option<usize> {
        let (word, name) = keyword.split_at_checked("HIERARCH ".len()).unwrap_or_default();
        let is_long = name.contains(' ') || name.len() > 8;
        let is_hierarch = is_long && word.eq_ignore_ascii_case("HIERARCH ");
        let keyword = if is_hierarch { name } else { keyword };
        self.index.first(&self.cards, keyword)
    }

    /// Index of the card that a user means by a keyword: [`Header::position`], or if no card matches, the HIERARCH card
    /// of this one word. Structure is never read from a HIERARCH card.
    ///
    /// ```
    /// use tachyfits_format::Header;
    /// let mut header = Header::new();
    /// header.set("HIERARCH key", 2, "")?;
    /// assert_eq!((header.position("KEY"), header.meant("KEY")), (None, Some(0)));
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    #[must_use]
    pub fn meant(&self, keyword: &str) -> Option<usize> {
        let hierarch = || self.index.first(&self.cards, &format!("HIERARCH {keyword}"));
        self.position(keyword).or_else(hierarch)
    }

    /// Index of the first 80-byte record of a card: cards before it may have CONTINUE records.
    #[must_use]
    pub fn record_index(&self, card: usize) -> usize {
        self.cards.iter().take(card).map(|card| card.continuations() + 1).sum()
    }

    /// Returns an integer, which may be written as a real number without a fraction; `None` if absent or undefined.
    ///
    /// # Errors
    /// [`Code::KeywordType`], [`Code::NumericText`], [`Code::KeywordRange`] if it is not a 64-bit integer.
    pub fn get_i64(&self, keyword: &str) -> Result<Option<i64>, FormatError> {
        match self.get(keyword) {
            None | Some(Value::Undefined) => Ok(None),
            Some(value) => match (value.as_whole(), value) {
                (Some(whole), _) => Ok(Some(whole)),
                (None, Value::Integer(_)) => Err(self.out_of_range(keyword, "a 64-bit integer")),
                (None, other) => Err(self.wrong_type(keyword, "an integer", other)),
            },
        }
    }

    /// Returns a real number or an integer, as the nearest f64; `None` if absent or undefined.
    ///
    /// # Errors
    /// [`Code::KeywordType`], [`Code::NumericText`], [`Code::KeywordRange`] if it is not a number in the range of f64.
    pub fn get_f64(&self, keyword: &str) -> Result<Option<f64>, FormatError> {
        self.number_of(keyword, self.get(keyword))
    }

    /// Converts a card's value like [`Header::get_f64`].
    pub(crate) fn number_of(
        &self,
        keyword: &str,
        value: Option<&Value>,
    ) -> Result<Option<f64>, FormatError> {
        match value {
            None | Some(Value::Undefined) => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) if number.is_finite() => Ok(Some(number)),
                Some(_) => Err(self.out_of_range(keyword, "a number within the range of f64")),
                None => Err(self.wrong_type(keyword, "a number", value)),
            },
        }
    }

    /// Returns a string; `None` if absent or undefined.
    ///
    /// # Errors
    /// [`Code::KeywordType`] if it is not a string.
    pub fn get_text(&self, keyword: &str) -> Result<Option<&str>, FormatError> {
        match self.get(keyword) {
            None | Some(Value::Undefined) => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_type(keyword, "a string", other)),
        }
    }

    /// Returns a logical; `None` if absent or undefined.
    ///
    /// # Errors
    /// [`Code::KeywordType`] if it is not a logical.
    pub fn get_logical(&self, keyword: &str) -> Result<Option<bool>, FormatError> {
        match self.get(keyword) {
            None | Some(Value::Undefined) => Ok(None),
            Some(Value::Logical(logical)) => Ok(Some(*logical)),
            Some(other) => Err(self.wrong_type(keyword, "a logical", other)),
        }
    }

    /// Position of the card of a keyword, for messages.
    #[must_use]
    pub fn place(&self, keyword: &str) -> Place {
        let card = self.position(keyword).map(|card| self.record_index(card));
        Place {
            hdu: Some(self.context.hdu),
            card,
            keyword: Some(keyword.to_owned()),
            offset: card.map(|card| self.context.offset + (card * CARD_BYTES) as u64),
            ..Place::default()
        }
    }

    pub(crate) fn wrong_type(&self, keyword: &str, expected: &str, found: &Value) -> FormatError {
        let number = expected.contains("integer") || expected.contains("number");
        let code = match found {
            Value::Text(_) if number => Code::NumericText,
            _ => Code::KeywordType,
        };
        let label = match found {
            Value::Text(text) | Value::Invalid(text) => quoted(text),
            other => other.to_string(),
        };
        let found = format!("{} {label}", found.type_name());
        FormatError::new(code, self.place(keyword), expected, found.trim_end())
    }

    pub(crate) fn out_of_range(&self, keyword: &str, expected: &str) -> FormatError {
        let found = self.get(keyword).map_or_else(|| "nothing".to_owned(), Value::to_string);
        FormatError::new(Code::KeywordRange, self.place(keyword), expected, found)
    }

    /// Returns the error of a mandatory keyword that is absent or has no value.
    pub(crate) fn missing(&self, keyword: &str, expected: &str) -> FormatError {
        let found = if self.get(keyword).is_some() { "an empty value" } else { "no such card" };
        FormatError::new(Code::KeywordMissing, self.place(keyword), expected, found)
    }

    /// Sets a keyword: replaces its first card in place, or adds a card at the end, where it replaces a blank card if
    /// there is one. An empty comment keeps the existing comment.
    ///
    /// # Errors
    /// See [`Card::new`].
    pub fn set(
        &mut self,
        keyword: &str,
        value: impl Into<Value>,
        comment: &str,
    ) -> Result<(), FormatError> {
        let Some(at) = self.position(keyword) else {
            self.push(Card::new(keyword, value, comment)?);
            return Ok(());
        };
        self.cards[at] = match comment {
            "" => self.cards[at].with_value(keyword, value)?,
            _ => Card::new(keyword, value, comment)?,
        };
        self.changed();
        Ok(())
    }

    /// Replaces the first card of the same keyword, or adds the card at the end, as [`Header::set`] does; its bytes
    /// stay unchanged. A card without a comment takes over the existing comment if there is room.
    pub fn set_card(&mut self, card: Card) {
        let at = self.position(card.keyword()).filter(|_| !card.is_commentary());
        let Some(at) = at else { return self.push(card) };
        let value = card.value().filter(|_| card.comment().is_empty());
        let old = &self.cards[at];
        let replacement =
            value.and_then(|value| old.with_value(card.keyword(), value.clone()).ok());
        self.replace(at, replacement.unwrap_or(card));
    }

    /// Adds a card after the others, before the blank cards that reserve space.
    pub fn push(&mut self, card: Card) {
        let blanks = self.cards.iter().rev().take_while(|card| card.is_blank()).count();
        let used = blanks.min(card.raw().len() / CARD_BYTES);
        let at = self.cards.len() - blanks;
        self.cards.splice(at..at + used, [card]);
        self.tail = None;
        self.index.add(&self.cards, at);
    }

    /// Adds COMMENT, HISTORY or blank-keyword cards, as many as the text needs.
    ///
    /// # Errors
    /// See [`Card::commentary`].
    pub fn push_commentary(&mut self, keyword: &str, text: &str) -> Result<(), FormatError> {
        for card in Card::commentary(keyword, text)? {
            self.push(card);
        }
        Ok(())
    }

    /// Removes all cards of a keyword, in either case, so that [`Header::get`] does not find it any more; returns their
    /// number.
    ///
    /// ```
    /// use tachyfits_format::Header;
    /// let mut header = Header::new();
    /// header.set("ESO DET DIT", 1.5, "")?;
    /// header.push_commentary("HISTORY", "made")?;
    /// assert_eq!(header.remove("HIERARCH eso det dit") + header.remove("history"), 2);
    /// assert_eq!(header.remove("NONE"), 0);
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn remove(&mut self, keyword: &str) -> usize {
        let spelling = self.position(keyword).map(|at| self.cards[at].keyword().to_owned());
        let keyword = spelling.as_deref().unwrap_or(keyword);
        self.retain(|card| !card.keyword().eq_ignore_ascii_case(keyword))
    }

    /// Keeps the cards for which `keep` returns true; returns the number of removed cards.
    pub fn retain(&mut self, keep: impl FnMut(&Card) -> bool) -> usize {
        let before = self.cards.len();
        self.cards.retain(keep);
        let count = before - self.cards.len();
        if count > 0 {
            self.changed();
        }
        count
    }

    /// Formats the header as blocks of 2880 bytes: the original bytes if nothing has changed, otherwise its cards, END
    /// and blanks.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::new();
        for card in &self.cards {
            bytes.extend(card.raw());
        }
        match &self.tail {
            Some(tail) => bytes.extend(tail),
            None => bytes.extend(b"END"),
        }
        // At most one more block.
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), b' ');
        bytes
    }

    /// Bytes of the header in a file, whole blocks.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        let records = self.record_index(self.cards.len()) + 1;
        (records.div_ceil(CARDS_PER_BLOCK) * BLOCK_BYTES) as u64
    }

    /// Discards the bytes after END, which no longer complete a block, and rebuilds the index.
    fn changed(&mut self) {
        self.tail = None;
        self.index = KeywordIndex::of(&self.cards);
    }
}

/// Whether a record is END: the word alone in the keyword field. END has no value, so the following bytes never make it
/// a keyword.
pub(crate) fn is_end(record: &[u8; CARD_BYTES]) -> bool {
    record.starts_with(b"END") && record[3..8].iter().all(|&byte| scan::is_blank(byte))
}

/// Parses records into cards, and converts their issues to warnings.
struct Reader {
    context: Context,
    warnings: Warnings,
}

impl Reader {
    /// Parses the cards, and indexes the first of each keyword.
    fn cards(
        &mut self,
        records: &[[u8; CARD_BYTES]],
    ) -> Result<(Vec<Card>, KeywordIndex), NoMemory> {
        let mut cards: Vec<Card> = memory::with_room(records.len(), "the cards of a header")?;
        let mut index = KeywordIndex::with_room(records.len())?;
        let mut fields = HashMap::new();
        let mut at = 0;
        while at < records.len() {
            let mut issues = Vec::new();
            let mut card = Card::from_record(&records[at], &mut issues);
            let mut used = 1;
            if card.may_continue() {
                used += card.extend(&records[at + 1..], &mut issues);
            }
            if card.keyword() == "CONTINUE" && card.is_commentary() {
                issues.push((Code::OrphanContinue, quoted(card.comment())));
            }
            if !card.is_commentary() {
                if let Some(first) = index.as_written(&cards, card.keyword()) {
                    let first = record_twin(&card, &cards, first, &mut fields);
                    self.duplicate(at, &card, first.map(|first| &cards[first]));
                }
                if matches!(card.value(), Some(value @ Value::Real(_)) if value.as_whole().is_some())
                    && has_integer(card.keyword())
                {
                    let found = card.value().map_or_else(String::new, Value::to_string);
                    issues.push((Code::WholeReal, found));
                }
            }
            for (code, found) in issues {
                self.warn(code, at, card.keyword(), expected(code), found);
            }
            cards.push(card);
            index.add(&cards, cards.len() - 1);
            at += used;
        }
        Ok((cards, index))
    }

    /// Reports a repeated card. The same value is harmless, except where the Standard says "must not" (Sect. 4.1.2.3).
    fn duplicate(&mut self, at: usize, card: &Card, first: Option<&Card>) {
        let Some(first) = first else { return };
        if is_same_value(card, first) && !card_writer::is_mandatory(card.keyword()) {
            return;
        }
        let text = |card: &Card| card.value().map_or_else(String::new, Value::to_string);
        let found = format!("{} after {}", quoted(&text(card)), quoted(&text(first)));
        self.warn(Code::DuplicateKeyword, at, card.keyword(), "one card of this keyword", found);
    }

    fn check_tail(&mut self, tail: &[u8], end: usize) {
        if let Some(at) = tail[3..].iter().position(|&byte| byte != b' ') {
            let found = format!("0x{:02x} {} bytes after it", tail[3 + at], at);
            self.warn(Code::HeaderFill, end, "END", "blanks after END", found);
        }
        if !(end * CARD_BYTES + tail.len()).is_multiple_of(BLOCK_BYTES) {
            let found = format!("{} bytes of it", tail.len());
            self.warn(Code::HeaderPadding, end, "END", "a whole block of 2880 bytes", found);
        }
    }

    fn warn(&mut self, code: Code, card: usize, keyword: &str, expected: &str, found: String) {
        let place = Place {
            hdu: Some(self.context.hdu),
            card: Some(card),
            keyword: Some(keyword.to_owned()).filter(|keyword| !keyword.is_empty()),
            offset: Some(self.context.offset + (card * CARD_BYTES) as u64),
            ..Place::default()
        };
        self.warnings.push(Warning::new(code, place, expected, found));
    }
}

/// Returns the earlier card with the same keyword. Record-valued cards, `DP1 = 'NAXES: 2'`, may repeat a keyword (WCS
/// Paper IV, Sect. 3.3): for these it is the card with the same field. `fields` maps keyword and field to the card.
fn record_twin(
    card: &Card,
    cards: &[Card],
    first: usize,
    fields: &mut HashMap<(String, String), usize>,
) -> Option<usize> {
    let key = |card: &Card, field: &str| (card.keyword().to_owned(), field.to_owned());
    let (Some((field, _)), Some((first_field, _))) = (record(card), record(&cards[first])) else {
        return Some(first);
    };
    fields.entry(key(card, first_field)).or_insert(first);
    let twin = *fields.entry(key(card, field)).or_insert(cards.len());
    (twin < cards.len()).then_some(twin)
}

/// Parses field and number of a record: dotted words, a colon, blanks, a number.
pub(crate) fn record(card: &Card) -> Option<(&str, f64)> {
    let (field, number) = card.value()?.as_text()?.split_once(':')?;
    let word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let number = number.strip_prefix(' ')?.trim();
    let number = Value::Real(Real::parse(number)?).as_f64()?;
    field.split('.').all(word).then_some((field, number))
}

/// Returns the real part of a number, and the imaginary part if it is complex.
fn numbers(value: &Value) -> Option<(f64, Option<f64>)> {
    match value {
        Value::ComplexInteger(re, im) => Some((re.as_f64(), Some(im.as_f64()))),
        Value::Complex(re, im) => Some((re.as_f64(), Some(im.as_f64()))),
        _ => value.as_f64().map(|number| (number, None)),
    }
}

/// Whether two cards have equal values: numbers in any notation, and records of equal numbers.
pub(crate) fn is_same_value(card: &Card, other: &Card) -> bool {
    let (Some(a), Some(b)) = (card.value(), other.value()) else { return false };
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) if a.as_i128().is_some() => {
            a.as_i128() == b.as_i128()
        }
        (Value::Text(_), Value::Text(_)) => {
            a == b || (record(card).is_some() && record(card) == record(other))
        }
        _ => a == b || (numbers(a).is_some() && numbers(a) == numbers(b)),
    }
}

/// Expected content of a record, for each issue.
fn expected(code: Code) -> &'static str {
    match code {
        Code::IllegalByte => "printable ASCII",
        Code::IllegalKeyword => "a left-justified keyword of A-Z 0-9 - _",
        Code::UnterminatedString => "a closing quote",
        Code::MissingSlash => "a slash before the comment",
        Code::LowerCaseExponent => "an upper-case exponent letter",
        Code::WholeReal => "an integer",
        Code::OrphanContinue => "a string that ends in '&' before it",
        Code::ValueIndicator => "'= ' in bytes 9 and 10",
        _ => "a string, logical or number",
    }
}
