//! The header that a compressed image had before, as funpack and astropy restore it (Sect. 10.1.2), from the cards of its
//! table.

use crate::card::{Card, numbered};
use crate::error::FormatError;
use crate::hdu::{Hdu, HduKind};
use crate::header::Header;
use crate::value::Value;

/// The name of a compressed image that had none.
pub(super) const NO_NAME: &str = "COMPRESSED_IMAGE";

/// Keywords of an image, and the keywords that keep them in the table.
pub(super) const KEPT: [(&str, &str); 11] = [
    ("SIMPLE", "ZSIMPLE"),
    ("XTENSION", "ZTENSION"),
    ("BITPIX", "ZBITPIX"),
    ("NAXIS", "ZNAXIS"),
    ("EXTEND", "ZEXTEND"),
    ("BLOCKED", "ZBLOCKED"),
    ("PCOUNT", "ZPCOUNT"),
    ("GCOUNT", "ZGCOUNT"),
    ("CHECKSUM", "ZHECKSUM"),
    ("DATASUM", "ZDATASUM"),
    // Of tables.
    ("THEAP", "ZTHEAP"),
];

/// Cards of the table alone; those with a number too.
pub(super) const OF_TABLE: [&str; 21] = [
    "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "TFIELDS", "THEAP", "CHECKSUM", "DATASUM",
    "ZIMAGE", "ZCMPTYPE", "ZQUANTIZ", "ZDITHER0", "ZBLANK", "ZSCALE", "ZZERO", "ZMASKCMP",
    "SIMPLE", "EXTEND", "BLOCKED", "ZTHEAP",
];
pub(super) const NUMBERED: [&str; 6] = ["NAXIS", "TTYPE", "TFORM", "ZTILE", "ZNAME", "ZVAL"];

/// A header as it was before the image was compressed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RestoredHeader {
    /// Its cards.
    pub header: Header,
    /// It is the header of the primary HDU, which takes the place of the one before it.
    pub is_primary: bool,
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
        let layout_axes = self.tiled_image()?.image.axes.len();
        let primary = primary.filter(|primary| {
            self.index == 1 && primary.kind == HduKind::Primary && primary.data_bytes == 0
        });
        let is_primary = primary.is_some() && tiled.get("ZSIMPLE").is_some();
        let mut cards = mandatory(tiled, is_primary, layout_axes)?;
        for card in tiled.cards() {
            cards.extend(restored(card, is_primary));
        }
        let mut header = Header::from_cards(cards);
        keep_blank(tiled, &mut header)?;
        if let Some(primary) = primary.filter(|_| is_primary) {
            add_others(&primary.header, &mut header);
        }
        Ok(RestoredHeader { header, is_primary })
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
        _ if OF_TABLE.contains(&&*keyword) || KEPT.iter().any(|(_, kept)| *kept == keyword) => None,
        _ if root.len() < keyword.len() && (NUMBERED.contains(&root) || root == "ZNAXIS") => None,
        _ => Some(card.clone()),
    }
}

/// ZBLANK of integers is what BLANK means, where there is none.
fn keep_blank(tiled: &Header, header: &mut Header) -> Result<(), FormatError> {
    let is_integer = header.get_i64("BITPIX")?.is_some_and(|bitpix| bitpix > 0);
    match tiled.get_i64("ZBLANK")? {
        Some(blank) if is_integer && header.get("BLANK").is_none() => {
            header.set("BLANK", blank, "pixel that is undefined")
        }
        _ => Ok(()),
    }
}

/// Adds the cards of the empty primary HDU that the image does not have.
fn add_others(primary: &Header, header: &mut Header) {
    for card in primary.cards() {
        let keyword = card.keyword().to_ascii_uppercase();
        let (root, _) = numbered(&keyword);
        let is_own = OF_TABLE.contains(&&*keyword) || root == "NAXIS" || keyword == "NEXTEND";
        if !card.is_commentary() && !is_own && header.get(&keyword).is_none() {
            header.push(card.clone());
        }
    }
}
