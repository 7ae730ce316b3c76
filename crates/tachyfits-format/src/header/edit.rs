//! Changes of a header that keep the bytes of all other cards: insert and rename cards, recognise structural cards,
//! keep or use space before END, and convert the mandatory cards of a primary HDU to those of an IMAGE extension and
//! back.

use super::Header;
use crate::card::Card;
use crate::card_writer;
use crate::error::FormatError;
use crate::limits::{BLOCK_BYTES, CARD_BYTES};
use crate::value::Value;
use tachyfits_memory as memory;

impl Header {
    /// Inserts a card before the card of index `at`, or at the end.
    pub fn insert(&mut self, at: usize, card: Card) {
        self.cards.insert(at.min(self.cards.len()), card);
        self.changed();
    }

    /// Replaces the card of index `at`.
    ///
    /// # Panics
    /// Panics if no card has this index.
    pub fn replace(&mut self, at: usize, card: Card) {
        self.cards[at] = card;
        self.changed();
    }

    /// Renames the keyword of its first card; value and comment stay. Returns false if the card is missing.
    ///
    /// # Errors
    /// [`crate::Code::CardText`] if the new keyword cannot have a value.
    ///
    /// ```
    /// use tachyfits_format::Header;
    /// let mut header = Header::new();
    /// header.set("OBJEKT", "M 31", "the target")?;
    /// assert!(header.rename("OBJEKT", "OBJECT")?);
    /// assert_eq!(header.cards()[0].comment(), "the target");
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn rename(&mut self, keyword: &str, to: &str) -> Result<bool, FormatError> {
        let Some(at) = self.position(keyword) else { return Ok(false) };
        let card = &self.cards[at];
        // Also validates the new keyword.
        let template = Card::new(to, Value::Undefined, "")?;
        self.cards[at] = match is_plain(card.keyword()) && is_plain(template.keyword()) {
            true => card.renamed(to),
            false => card.with_value(to, card.value().cloned().unwrap_or(Value::Undefined))?,
        };
        self.changed();
        Ok(true)
    }

    /// Replaces the comment of a keyword's first card; the value keeps every digit. Returns false if the card
    /// is missing or is commentary.
    ///
    /// # Errors
    /// See [`Card::new`].
    ///
    /// ```
    /// use tachyfits_format::{Header, Real, Value};
    /// let mut header = Header::new();
    /// header.set("EXPTIME", Value::Real(Real::parse("30.500").unwrap()), "seconds")?;
    /// assert!(header.comment("EXPTIME", "of one exposure")?);
    /// assert!(String::from_utf8_lossy(header.cards()[0].raw()).contains("  30.500 / of one exposure  "));
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn comment(&mut self, keyword: &str, comment: &str) -> Result<bool, FormatError> {
        let Some(at) = self.position(keyword) else { return Ok(false) };
        let card = &self.cards[at];
        let Some(value) = card.value().cloned() else { return Ok(false) };
        let keyword = card.keyword().to_owned();
        let new = match is_plain(&keyword) {
            // A keyword in lower case is accepted in existing cards, not in new ones.
            true => Card::new(&keyword.to_ascii_uppercase(), value, comment)?.renamed(&keyword),
            false => Card::new(&keyword, value, comment)?,
        };
        self.replace(at, new);
        Ok(true)
    }

    /// Changes the length of the header to `bytes`, if removing or adding blank cards before END suffices: the data
    /// after it in a file then stay in place.
    pub fn fit(&mut self, bytes: u64) {
        let is_longer = |header: &Header| header.block_bytes() > bytes;
        while is_longer(self) && self.cards.last().is_some_and(Card::is_blank) {
            self.cards.pop();
            self.tail = None;
        }
        let target = bytes / CARD_BYTES as u64;
        let records = self.record_index(self.cards.len()) as u64 + 1;
        // END must be in the last block, at any position.
        let per_block = (BLOCK_BYTES / CARD_BYTES) as u64;
        let missing = (target + 1).saturating_sub(per_block).saturating_sub(records);
        if target >= per_block && missing > 0 {
            self.tail = None;
            self.cards.extend((0..missing).map(|_| Card::blank()));
        }
    }

    /// Whether the first card has this keyword, in either case. SIMPLE or XTENSION there determines the HDU, whatever
    /// later cards say.
    ///
    /// ```
    /// assert!(tachyfits_format::Header::empty_primary().begins_with("SIMPLE"));
    /// ```
    #[must_use]
    pub fn begins_with(&self, keyword: &str) -> bool {
        self.cards.first().is_some_and(|card| card.keyword().eq_ignore_ascii_case(keyword))
    }

    /// Converts the mandatory cards of a primary HDU to those of an IMAGE extension; a header that does not begin with
    /// SIMPLE stays unchanged.
    ///
    /// # Errors
    /// Returns an error if NAXIS is not an integer.
    pub fn into_extension(self) -> Result<Header, FormatError> {
        if !self.begins_with("SIMPLE") {
            return Ok(self);
        }
        let first = Card::new("XTENSION", "IMAGE", "image extension")?;
        let primary = ["EXTEND", "NEXTEND", "BLOCKED", "GROUPS", "PCOUNT", "GCOUNT"];
        let (mut header, after) = self.begun_with(first, &primary)?;
        header.insert(after, Card::new("PCOUNT", 0, "number of parameters")?);
        header.insert(after + 1, Card::new("GCOUNT", 1, "number of groups")?);
        Ok(header)
    }

    /// Converts the mandatory cards of an IMAGE extension to those of a primary HDU; a header that does not begin with
    /// XTENSION stays unchanged.
    ///
    /// # Errors
    /// Returns an error if NAXIS is not an integer.
    pub fn into_primary(self) -> Result<Header, FormatError> {
        if !self.begins_with("XTENSION") {
            return Ok(self);
        }
        let first = Card::new("SIMPLE", true, "conforms to the FITS Standard")?;
        let extension = ["PCOUNT", "GCOUNT", "INHERIT", "EXTEND"];
        let (mut header, after) = self.begun_with(first, &extension)?;
        header.insert(after, Card::new("EXTEND", true, "extensions may be present")?);
        Ok(header)
    }

    /// Moves the mandatory cards to their places (Tables 7 and 10), and adds PCOUNT and GCOUNT of an extension if
    /// missing. Values and comments stay.
    ///
    /// # Errors
    /// Returns an error if NAXIS is not an integer.
    pub fn with_mandatory_first(self) -> Result<Header, FormatError> {
        let naxis = self.get_i64("NAXIS")?.unwrap_or(0).clamp(0, 999);
        let is_extension = self.begins_with("XTENSION");
        let first = if is_extension { "XTENSION" } else { "SIMPLE" };
        let mut order = vec![first.to_owned(), "BITPIX".to_owned(), "NAXIS".to_owned()];
        order.extend((1..=naxis).map(|axis| format!("NAXIS{axis}")));
        if is_extension {
            order.extend(["PCOUNT".to_owned(), "GCOUNT".to_owned()]);
        }
        let is_at = |(at, keyword): (usize, &String)| self.position(keyword) == Some(at);
        if order.iter().enumerate().all(is_at) {
            return Ok(self);
        }
        let room = self.cards.len().saturating_add(order.len());
        let mut cards = memory::with_room(room, "the cards of a header")?;
        for keyword in &order {
            match self.position(keyword) {
                Some(at) => cards.push(self.cards[at].clone()),
                None => cards.push(Card::new(keyword, i64::from(keyword == "GCOUNT"), "")?),
            }
        }
        let is_placed = |card: &Card| order.contains(&card.keyword().to_ascii_uppercase());
        cards.extend(self.cards.iter().filter(|card| !is_placed(card)).cloned());
        Ok(Header::from_cards(cards))
    }

    /// Replaces the first card, and drops cards of the keywords `without` and later cards that would define the kind of
    /// the HDU; returns the index of the card after its axes.
    fn begun_with(mut self, first: Card, without: &[&str]) -> Result<(Header, usize), FormatError> {
        let mut cards = self.cards.split_off(1);
        cards.retain(|card| {
            let keyword = &*card.keyword().to_ascii_uppercase();
            !without.contains(&keyword) && !["SIMPLE", "XTENSION"].contains(&keyword)
        });
        self.cards[0] = first;
        self.cards.append(&mut cards);
        self.changed();
        let after = self.after_axes()?;
        Ok((self, after))
    }

    /// Returns the header of a primary HDU without data.
    ///
    /// ```
    /// let header = tachyfits_format::Header::empty_primary();
    /// assert_eq!(header.get_i64("NAXIS").unwrap(), Some(0));
    /// ```
    #[must_use]
    pub fn empty_primary() -> Header {
        let card = |text: &str| {
            let mut record = [b' '; CARD_BYTES];
            record[..text.len()].copy_from_slice(text.as_bytes());
            Card::from_record(&record, &mut Vec::new())
        };
        Header::from_cards(vec![
            card("SIMPLE  =                    T / conforms to the FITS Standard"),
            card("BITPIX  =                    8 / bits per pixel"),
            card("NAXIS   =                    0 / no data"),
            card("EXTEND  =                    T / extensions may be present"),
        ])
    }

    /// Returns the index of the card after NAXIS and its NAXISn.
    ///
    /// # Errors
    /// Returns an error if NAXIS is not an integer.
    pub fn after_axes(&self) -> Result<usize, FormatError> {
        let naxis = self.get_i64("NAXIS")?.unwrap_or(0);
        let last = match naxis {
            1..=999 => self.position(&format!("NAXIS{naxis}")),
            _ => self.position("NAXIS"),
        };
        Ok(last.map_or(0, |at| at + 1))
    }
}

/// Whether a keyword, in either case, describes position and layout of the data of its HDU (Sect. 4.4.1, 6.1, 7.2.1,
/// 7.3.1): such a card changes only with the data.
///
/// ```
/// use tachyfits_format::is_structural;
/// assert!(is_structural("NAXIS2") && is_structural("theap") && !is_structural("TTYPE1"));
/// ```
#[must_use]
pub fn is_structural(keyword: &str) -> bool {
    let keyword = &*keyword.to_ascii_uppercase();
    matches!(keyword, "THEAP" | "END") || card_writer::is_mandatory(keyword)
}

/// Whether the keyword fits in the keyword field: only a HIERARCH card has a longer one.
fn is_plain(keyword: &str) -> bool {
    keyword.len() <= card_writer::KEYWORD_BYTES && !keyword.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a header of these cards, with keywords in upper or in lower case.
    fn header(cards: &str, lower: bool) -> Header {
        let card = |text: &str| {
            let (keyword, value) = text.split_once('=').unwrap_or((text, "0"));
            let text = format!("{keyword:<8}= {value:>20}");
            let mut record = [b' '; CARD_BYTES];
            record[..text.len()].copy_from_slice(text.as_bytes());
            if lower {
                record[..8].make_ascii_lowercase();
            }
            Card::from_record(&record, &mut Vec::new())
        };
        Header::from_cards(cards.split(' ').map(card).collect())
    }

    /// Returns the keywords in upper case.
    fn keywords(header: &Header) -> String {
        let each = header.cards().iter().map(|card| card.keyword().to_ascii_uppercase());
        each.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn mandatory_cards_are_those_of_the_other_kind_in_either_case() {
        let after = "OBJECT XTENSION='IMAGE' SIMPLE=T INHERIT=T DATE";
        let primary = format!(
            "SIMPLE=T BITPIX=8 NAXIS=1 NAXIS1=3 EXTEND=T GROUPS=F PCOUNT GCOUNT BLOCKED=T NEXTEND=4 {after}"
        );
        let extension =
            format!("XTENSION='IMAGE' BITPIX=8 NAXIS=1 NAXIS1=3 PCOUNT GCOUNT=1 EXTEND=F {after}");
        for lower in [false, true] {
            let result = header(&primary, lower).into_extension().unwrap();
            let axes = "BITPIX NAXIS NAXIS1";
            assert_eq!(
                keywords(&result),
                format!("XTENSION {axes} PCOUNT GCOUNT OBJECT INHERIT DATE")
            );
            let values =
                (result.get_text("XTENSION"), result.get_i64("PCOUNT"), result.get_i64("GCOUNT"));
            assert_eq!(values, (Ok(Some("IMAGE")), Ok(Some(0)), Ok(Some(1))));
            let result = header(&extension, lower).into_primary().unwrap();
            assert_eq!(keywords(&result), format!("SIMPLE {axes} EXTEND OBJECT DATE"));
            assert_eq!(
                (result.get_logical("SIMPLE"), result.get_logical("EXTEND")),
                (Ok(Some(true)), Ok(Some(true)))
            );
            for (there, is_primary) in [(&primary, true), (&extension, false)] {
                let there = header(there, lower);
                let same = if is_primary { Header::into_primary } else { Header::into_extension };
                assert_eq!(same(there.clone()).unwrap(), there);
            }
        }
    }
}
