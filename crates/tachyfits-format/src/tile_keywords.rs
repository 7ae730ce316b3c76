//! Keywords of compressed HDUs (Sect. 10.1 and 10.3): the only list of the cards that a compressed HDU has in addition
//! to the cards of the image or table in its tiles. Headers copied from compressed HDUs contain them, but only the form
//! in which an HDU is written determines them.

use crate::card::{Card, numbered};
use crate::header::Header;
use crate::value::Value;

/// Keywords of an image or a table, and the keywords that preserve them in the compressed HDU.
pub(crate) const KEPT: [(&str, &str); 11] = [
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
    // Keywords of tables.
    ("THEAP", "ZTHEAP"),
];

/// Other keywords of compressed images, without and with a number.
const OF_IMAGES: [&str; 8] =
    ["ZIMAGE", "ZCMPTYPE", "ZQUANTIZ", "ZDITHER0", "ZBLANK", "ZSCALE", "ZZERO", "ZMASKCMP"];
const NUMBERED_OF_IMAGES: [&str; 4] = ["ZNAXIS", "ZTILE", "ZNAME", "ZVAL"];

/// Other keywords of compressed tables, without and with a number.
const OF_TABLES: [&str; 2] = ["ZTABLE", "ZTILELEN"];
const NUMBERED_OF_TABLES: [&str; 3] = ["ZNAXIS", "ZFORM", "ZCTYP"];

/// Content of the tiles of a compressed HDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileContent {
    Image,
    Table,
}

impl TileContent {
    /// Whether a keyword, in upper case, belongs to HDUs with this content in tiles.
    pub(crate) fn has(self, keyword: &str) -> bool {
        let (root, number) = numbered(keyword);
        let (plain, indexed) = match self {
            TileContent::Image => (&OF_IMAGES[..], &NUMBERED_OF_IMAGES[..]),
            TileContent::Table => (&OF_TABLES[..], &NUMBERED_OF_TABLES[..]),
        };
        KEPT.iter().any(|(_, name)| *name == keyword)
            || plain.contains(&keyword)
            || (!number.is_empty() && indexed.contains(&root))
    }
}

/// Whether a card describes the compression of an image or a table.
pub(crate) fn is_of_compression(card: &Card) -> bool {
    let keyword = card.keyword().to_ascii_uppercase();
    [TileContent::Image, TileContent::Table].iter().any(|content| content.has(&keyword))
}

/// Whether a header claims that its HDU is compressed.
pub(crate) fn claims_tiles(header: &Header) -> bool {
    let is_true = |keyword| header.get(keyword) == Some(&Value::Logical(true));
    is_true("ZIMAGE") || is_true("ZTABLE")
}
