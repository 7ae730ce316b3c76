//! The header that a compressed image had before, as funpack and astropy restore it (Sect. 10.1.2), from the cards of its
//! table.

use crate::card::{Card, numbered};
use crate::error::FormatError;
use crate::hdu::{Hdu, HduKind};
use crate::header::Header;
use crate::tile_keywords::{KEPT, TileContent};
use crate::value::Value;

/// The name of a compressed image that had none.
pub(super) const NO_NAME: &str = "COMPRESSED_IMAGE";

/// Cards of a table alone; those with a number too.
pub(super) const OF_TABLE: [&str; 11] = [
    "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "TFIELDS", "THEAP", "CHECKSUM", "DATASUM",
    "SIMPLE", "EXTEND",
];
pub(super) const NUMBERED: [&str; 3] = ["NAXIS", "TTYPE", "TFORM"];

/// A header as it was before the image was compressed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RestoredHeader {
    /// Its cards.
    pub header: Header,
    /// It is the header of the primary HDU, which takes the place of the one before it.
    pub is_primary: bool,
    /// Keywords of that HDU which the image has with another value; they are left out.
    pub others: Vec<String>,
}

impl Hdu {
    /// The header of a compressed image as it was before. CHECKSUM and DATASUM are those of the original: they match again
    /// only if the compression is lossless.
    ///
    /// `primary` is the first HDU of the file. If it has no data and the image was the primary one (ZSIMPLE), the result is
    /// a primary header with the other cards of that HDU at its end.
    ///
    /// # Errors
    /// [`crate::Code::KeywordMissing`] and the like if the cards do not define the image.
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

/// The cards that an HDU begins with.
fn mandatory(tiled: &Header, is_primary: bool, axes: usize) -> Result<Vec<Card>, FormatError> {
    let kept = |kept: &str, keyword: &str| {
        tiled.position(kept).map(|at| tiled.cards()[at].renamed(keyword))
    };
    let or_new = |found: Option<Card>, keyword: &str, value: Value| match found {
        Some(card) => Ok(card),
        None => Card::new(keyword, value, ""),
    };
    let mut cards = vec![match is_primary {
        true => or_new(kept("ZSIMPLE", "SIMPLE"), "SIMPLE", true.into())?,
        false => or_new(kept("ZTENSION", "XTENSION"), "XTENSION", "IMAGE".into())?,
    }];
    cards.extend(kept("ZBITPIX", "BITPIX"));
    cards.extend(kept("ZNAXIS", "NAXIS"));
    cards.extend((1..=axes).filter_map(|n| kept(&format!("ZNAXIS{n}"), &format!("NAXIS{n}"))));
    if !is_primary {
        cards.push(or_new(kept("ZPCOUNT", "PCOUNT"), "PCOUNT", 0.into())?);
        cards.push(or_new(kept("ZGCOUNT", "GCOUNT"), "GCOUNT", 1.into())?);
    }
    Ok(cards)
}

/// A card of the table as the image has it; `None` of cards that are not the image's, or that come first.
fn restored(card: &Card, is_primary: bool) -> Option<Card> {
    let keyword = card.keyword().to_ascii_uppercase();
    let (root, _) = numbered(&keyword);
    let of_primary = matches!(&*keyword, "ZEXTEND" | "ZBLOCKED");
    match &*keyword {
        "ZEXTEND" | "ZBLOCKED" | "ZHECKSUM" | "ZDATASUM" => {
            let (original, _) = KEPT.iter().find(|(_, kept)| *kept == keyword)?;
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

/// Integers without BLANK take ZBLANK as their BLANK. Quantised floats lose BLANK, which belonged to their tiles.
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

/// The text that CFITSIO writes to every new primary header.
const BOILERPLATE: [&str; 2] = [
    "  FITS (Flexible Image Transport System) format is defined in 'Astronomy",
    "  and Astrophysics', volume 376, page 359; bibcode: 2001A&A...376..359H",
];

/// Adds the cards of an empty primary HDU that the header of the primary array does not have, commentary too. Gives the
/// keywords of cards that it has with another value, which are left out.
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
