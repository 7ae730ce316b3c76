//! Converts the header of an image to the header of the table with its compressed tiles (Sect. 10.1).

use super::quantised::Dither;
use super::restored::NO_NAME;
use crate::card::{Card, numbered};
use crate::code::Code;
use crate::codec::TileCodec;
use crate::error::FormatError;
use crate::header::Header;
use crate::image::ValueType;
use crate::new_image::NO_CHECKSUM;
use crate::new_table::{NewColumn, NewTable, is_of_any_table, is_of_pixels};
use crate::table::{Element, Field, TableKind};
use crate::tile_keywords::{KEPT, is_of_compression};
use crate::value::{Integer, Value};

/// A new compressed image.
#[derive(Clone, Debug)]
pub struct NewTiledImage<'a> {
    /// ZTILEn: one size per axis of the image.
    pub tile: Vec<u64>,
    /// Codec of COMPRESSED_DATA.
    pub codec: &'a dyn TileCodec,
    /// Quantisation of floating-point pixels, stored in the columns ZSCALE and ZZERO; `None` if they are not quantised.
    pub quantisation: Option<NewQuantisation>,
    /// Whether it has the column GZIP_COMPRESSED_DATA, for tiles that the codec cannot store.
    pub gzip_column: bool,
    /// ZMASKCMP, the codec of the column NULL_PIXEL_MASK, if it has this column.
    pub mask: Option<&'a str>,
    /// Number of tiles, which are the rows.
    pub tiles: u64,
    /// Bytes of the heap.
    pub heap_bytes: u64,
    /// Whether descriptors have 64 bits: the heap may exceed 2 GiB.
    pub wide: bool,
    /// Whether to reserve DATASUM and CHECKSUM cards, valid for no data.
    pub checksum: bool,
}

/// Quantisation of floating-point pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewQuantisation {
    /// ZQUANTIZ.
    pub dither: Dither,
    /// ZDITHER0: 1 to 10000.
    pub seed: u64,
    /// ZBLANK, if some pixels are NaN.
    pub blank: Option<i64>,
}

impl NewTiledImage<'_> {
    /// Creates the header of the table: its columns, the compression, then the cards of the image in their order.
    ///
    /// # Errors
    /// [`Code::KeywordMissing`] if `image` is not the header of an image with as many axes as the tiles have.
    ///
    /// ```
    /// use tachyfits_format::{Header, NewImage, NewTiledImage, Rice, StoredType};
    /// let image = NewImage { axes: vec![300, 20], stored: StoredType::I16, scaling: None, blank: None, checksum: false };
    /// let image = image.header(&Header::new())?;
    /// let tiled = NewTiledImage {
    ///     tile: vec![300, 1], codec: &Rice::for_width(2), quantisation: None, gzip_column: false, mask: None,
    ///     tiles: 20, heap_bytes: 1234, wide: false, checksum: false,
    /// };
    /// let header = tiled.header(&image)?;
    /// assert_eq!((header.get_i64("ZBITPIX")?, header.get_i64("ZNAXIS1")?), (Some(16), Some(300)));
    /// assert_eq!((header.get_text("ZCMPTYPE")?, header.get_i64("ZVAL2")?), (Some("RICE_1"), Some(2)));
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn header(&self, image: &Header) -> Result<Header, FormatError> {
        let axes = image.get_i64("NAXIS")?;
        if axes.and_then(|axes| usize::try_from(axes).ok()) != Some(self.tile.len()) {
            let expected = format!("an image of {} axes, as its tiles have", self.tile.len());
            let found = axes.map_or_else(|| "no such card".to_owned(), |axes| axes.to_string());
            let place = image.place("NAXIS");
            return Err(FormatError::new(Code::KeywordMissing, place, expected, found));
        }
        let table = NewTable::new(TableKind::Binary, self.columns())
            .rows(self.tiles)
            .heap_bytes(self.heap_bytes);
        let mut cards = table.header(&Header::new())?.cards().to_vec();
        cards.extend(self.compression()?);
        // Cards of compression describe an earlier compression of the image: this header states its own.
        for card in image.cards().iter().filter(|card| !is_of_compression(card)) {
            let card = kept(card);
            let counts_hdus = card.keyword().eq_ignore_ascii_case("NEXTEND");
            if is_of_any_table(&card) || is_of_pixels(&card) || counts_hdus {
                cards.push(card);
            }
        }
        let mut header = Header::from_cards(cards);
        if header.get("EXTNAME").is_none() {
            header.push(Card::new("EXTNAME", NO_NAME, "name of an image without one")?);
        }
        if self.checksum {
            header.set("DATASUM", "0", "sum of the data")?;
            header.set("CHECKSUM", NO_CHECKSUM, "sum of the HDU")?;
        }
        Ok(header)
    }

    /// Returns the columns of the table, in the order of their bytes in a row.
    fn columns(&self) -> Vec<NewColumn> {
        let array = |name: &str, element| {
            let field = Field::Variable { element, wide: self.wide, repeat: 1, most: None };
            NewColumn::new(name, field)
        };
        let number = |name: &str| {
            let element = Element::Number(ValueType::F64);
            NewColumn::new(name, Field::Fixed { element, repeat: 1, width: 1 })
        };
        let bytes = Element::Number(ValueType::U8);
        let is_list = self.codec.name() == "PLIO_1";
        let compressed = if is_list { Element::Number(ValueType::I16) } else { bytes };
        let mut columns = vec![array("COMPRESSED_DATA", compressed)];
        if self.gzip_column {
            columns.push(array("GZIP_COMPRESSED_DATA", bytes));
        }
        if self.quantisation.is_some() {
            columns.extend([number("ZSCALE"), number("ZZERO")]);
        }
        if self.mask.is_some() {
            columns.push(array("NULL_PIXEL_MASK", bytes));
        }
        columns
    }

    /// Returns the cards about the compression.
    fn compression(&self) -> Result<Vec<Card>, FormatError> {
        let mut cards = vec![Card::new("ZIMAGE", true, "the table is a compressed image")?];
        for (number, &size) in (1..).zip(&self.tile) {
            cards.push(Card::new(&format!("ZTILE{number}"), size, "size of a tile")?);
        }
        cards.push(Card::new("ZCMPTYPE", self.codec.name(), "how tiles are compressed")?);
        for (number, (name, value)) in (1..).zip(self.codec.parameters()) {
            cards.push(Card::new(&format!("ZNAME{number}"), name, "")?);
            cards.push(Card::new(&format!("ZVAL{number}"), whole(value), "")?);
        }
        if let Some(mask) = self.mask {
            cards.push(Card::new("ZMASKCMP", mask, "how masks are compressed")?);
        }
        if let Some(how) = self.quantisation {
            cards.push(Card::new("ZQUANTIZ", how.dither.as_str(), "how floats became integers")?);
            if how.dither != Dither::None {
                cards.push(Card::new("ZDITHER0", how.seed, "where random numbers begin")?);
            }
            if let Some(blank) = how.blank {
                cards.push(Card::new("ZBLANK", blank, "integer that means NaN")?);
            }
        }
        Ok(cards)
    }
}

/// Converts a whole number to an integer value.
fn whole(value: f64) -> Value {
    let integer = (value.fract() == 0.0).then(|| Integer::parse(&format!("{value:.0}"))).flatten();
    integer.map_or(value.into(), Value::Integer)
}

/// Converts a card of the image to its form in the table.
fn kept(card: &Card) -> Card {
    let keyword = card.keyword().to_ascii_uppercase();
    let (root, number) = numbered(&keyword);
    match KEPT.iter().find(|(original, _)| *original == keyword) {
        Some(("THEAP", _)) => card.clone(),
        Some((_, keyword)) => card.renamed(keyword),
        None if root == "NAXIS" && !number.is_empty() => card.renamed(&format!("ZNAXIS{number}")),
        None => card.clone(),
    }
}
