//! Restores the original header of a compressed image from the cards of its table, as funpack and astropy do (Sect.
//! 10.1.2).

use crate::card::{Card, numbered};
use crate::error::FormatError;
use crate::hdu::{Hdu, HduKind};
use crate::header::Header;
use crate::tile_keywords::{KEPT, TileContent};
use crate::value::Value;

/// EXTNAME of a compressed image whose original had no name.
pub(super) const NO_NAME: &str = "COMPRESSED_IMAGE";

/// Keywords that only a table has, also with a number.
pub(super) const OF_TABLE: [&str; 11] = [
    "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "TFIELDS", "THEAP", "CHECKSUM", "DATASUM",
    "SIMPLE", "EXTEND",
];
pub(super) const NUMBERED: [&str; 3] = ["NAXIS", "TTYPE", "TFORM"];

/// The header that an image had before compression.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RestoredHeader {
    /// The header.
    pub header: Header,
    /// Whether it is the header of the primary HDU, which replaces the preceding HDU.
    pub is_primary: bool,
    /// Keywords of the primary HDU that the image has with another value; the primary's cards are omitted.
    pub others: Vec<String>,
}

impl Hdu {
    /// Restores the original header of a compressed image. CHECKSUM and DATASUM are those of the original: they match
    /// again only if the compression is lossless.
    ///
    /// `primary` is the first HDU of the file. If it has no data and the image was the primary one (ZSIMPLE), the
    /// result is a primary header with the other cards of that HDU at its end.
    ///
    /// # Errors
    /// [`crate::Code::KeywordMissing`] and similar codes if the cards do not define the image.
    pub fn restored_header(&self, primary: Option<&Hdu>) -> Result<RestoredHeader, FormatError> {
        let tiled = &self.header;
        let layout = self.tiled_image()?;
        let layout_axes = layout.image.axes.len();
        let primary = primary.filter(|primary| {
            self.index == 1 && primary.kind == HduKind::Primary && primary.data_bytes == 0
        });
        let is_primary = primary.is_some() && tiled.get("ZSIMPLE").is_some();
        let mut cards = mandatory(tiled, is_primary, layout_axes)?;
        for card in tiled.cards() {
            cards.extend(restored(card, is_primary));
        }
        let mut header = Header::from_cards(cards);
        keep_blank(tiled, layout.quantisation.is_some(), &mut header)?;
        let others = match primary.filter(|_| is_primary) {
            Some(primary) => add_cards_of_primary(&primary.header, &mut header),
            None => Vec::new(),
        };
        Ok(RestoredHeader { header, is_primary, others })
    }
}

/// Returns the mandatory cards at the start of the HDU.
fn mandatory(tiled: &Header, is_primary: bool, axes: usize) -> Result<Vec<Card>, FormatError> {
    let renamed = |source: &str, keyword: &str| {
        tiled.position(source).map(|at| tiled.cards()[at].renamed(keyword))
    };
    let or_new = |card: Option<Card>, keyword: &str, value: Value| match card {
        Some(card) => Ok(card),
        None => Card::new(keyword, value, ""),
    };
    let mut cards = vec![match is_primary {
        true => or_new(renamed("ZSIMPLE", "SIMPLE"), "SIMPLE", true.into())?,
        false => or_new(renamed("ZTENSION", "XTENSION"), "XTENSION", "IMAGE".into())?,
    }];
    cards.extend(renamed("ZBITPIX", "BITPIX"));
    cards.extend(renamed("ZNAXIS", "NAXIS"));
    cards.extend((1..=axes).filter_map(|n| renamed(&format!("ZNAXIS{n}"), &format!("NAXIS{n}"))));
    if !is_primary {
        cards.push(or_new(renamed("ZPCOUNT", "PCOUNT"), "PCOUNT", 0.into())?);
        cards.push(or_new(renamed("ZGCOUNT", "GCOUNT"), "GCOUNT", 1.into())?);
    }
    Ok(cards)
}

/// Converts a card of the table to its form in the image; `None` for cards of the table and for mandatory cards.
fn restored(card: &Card, is_primary: bool) -> Option<Card> {
    let keyword = card.keyword().to_ascii_uppercase();
    let (root, _) = numbered(&keyword);
    let of_primary = matches!(&*keyword, "ZEXTEND" | "ZBLOCKED");
    match &*keyword {
        "ZEXTEND" | "ZBLOCKED" | "ZHECKSUM" | "ZDATASUM" => {
            let (original, _) = KEPT.iter().find(|(_, name)| *name == keyword)?;
            (is_primary || !of_primary).then(|| card.renamed(original))
        }
        "EXTNAME" if card.value().and_then(Value::as_text) == Some(NO_NAME) => None,
        // A primary array has no header to inherit from (Sect. 4.4.2.6).
        "INHERIT" if is_primary => None,
        "BLOCKED" => None,
        _ if OF_TABLE.contains(&&*keyword) || TileContent::Image.has(&keyword) => None,
        _ if root.len() < keyword.len() && NUMBERED.contains(&root) => None,
        _ => Some(card.clone()),
    }
}

/// Sets BLANK of integers from ZBLANK if it is absent. Removes BLANK of quantised floats, which belonged to their
/// tiles.
fn keep_blank(tiled: &Header, is_quantised: bool, header: &mut Header) -> Result<(), FormatError> {
    let is_integer = header.get_i64("BITPIX")?.is_some_and(|bitpix| bitpix > 0);
    let has_blank = header.get("BLANK").is_some();
    match tiled.get_i64("ZBLANK")? {
        Some(blank) if is_integer && !has_blank => {
            header.set("BLANK", blank, "pixel that is undefined")
        }
        None if is_quantised && has_blank => {
            header.remove("BLANK");
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Text that CFITSIO writes to every new primary header.
const BOILERPLATE: [&str; 2] = [
    "  FITS (Flexible Image Transport System) format is defined in 'Astronomy",
    "  and Astrophysics', volume 376, page 359; bibcode: 2001A&A...376..359H",
];

/// Adds the cards of an empty primary HDU that the header of the primary array lacks, commentary included. Returns the
/// keywords that the header has with another value, whose cards are omitted.
fn add_cards_of_primary(primary: &Header, header: &mut Header) -> Vec<String> {
    let mut others = Vec::new();
    for card in primary.cards() {
        let keyword = card.keyword().to_ascii_uppercase();
        let (root, _) = numbered(&keyword);
        let is_own = OF_TABLE.contains(&&*keyword)
            || root == "NAXIS"
            || matches!(&*keyword, "NEXTEND" | "BLOCKED" | "END")
            || card.is_blank();
        let text = String::from_utf8_lossy(card.raw());
        if is_own || BOILERPLATE.iter().any(|text_of_it| text.contains(text_of_it)) {
            continue;
        }
        if card.is_commentary() {
            if header.cards().iter().all(|own| own.raw() != card.raw()) {
                header.push(card.clone());
            }
            continue;
        }
        match header.position(&keyword) {
            None => header.push(card.clone()),
            Some(at) if header.cards()[at].value() == card.value() => {}
            Some(_) => others.push(keyword),
        }
    }
    others
}
