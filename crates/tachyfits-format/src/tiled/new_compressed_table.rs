//! A new compressed table: its header, and the cells of columns of arrays.

use crate::card::{Card, numbered};
use crate::codec::{CodecError, CodecScratch, SlabAlgorithm, SlabCodec, sized};
use crate::error::FormatError;
use crate::header::Header;
use crate::table::{Element, Field, TableLayout};
use crate::tile_keywords::is_of_compression;
use crate::value::Value;

/// A new compressed table.
#[derive(Clone, Debug)]
pub struct NewCompressedTable<'a> {
    /// Layout of the original table.
    pub original: &'a TableLayout,
    /// Codec of each column; columns without bytes are not compressed.
    pub columns: Vec<SlabCodec>,
    /// ZTILELEN.
    pub tile_rows: u64,
    /// Bytes of the heap.
    pub heap_bytes: u64,
}

/// Approximate bytes of the rows of a tile, as fpack chooses.
const TILE_BYTES: u64 = 10_000_000;

/// Bytes of a descriptor in the compressed table.
const WIDE: u64 = 16;

impl<'a> NewCompressedTable<'a> {
    /// Returns a compressed table with the codecs and tiles that fpack chooses.
    #[must_use]
    pub fn of(original: &'a TableLayout) -> Self {
        let element = |field| match field {
            Field::Fixed { element, .. } | Field::Variable { element, .. } => element,
            Field::Text { .. } => Element::Character,
        };
        let codecs =
            original.columns.iter().map(|column| SlabCodec::of_element(element(column.field)));
        NewCompressedTable {
            original,
            columns: codecs.collect(),
            tile_rows: (TILE_BYTES / original.row_bytes.max(1)).max(1),
            heap_bytes: 0,
        }
    }

    /// Number of rows of the compressed table.
    #[must_use]
    pub fn tiles(&self) -> u64 {
        self.original.rows.div_ceil(self.tile_rows)
    }

    /// Creates the header: cards of the original table in their order, columns as `1QB`, and the compression at the
    /// end.
    ///
    /// # Errors
    /// Returns an error if a card cannot be written.
    pub fn header(&self, original: &Header) -> Result<Header, FormatError> {
        let mut cards = Vec::new();
        let mut originals = Vec::new();
        for card in original.cards().iter().filter(|card| !is_of_compression(card)) {
            let keyword = card.keyword().to_ascii_uppercase();
            let (root, number) = numbered(&keyword);
            let mut replaced = |new_keyword: &str, value: Value| {
                originals.push(card.renamed(new_keyword));
                card.with_value(card.keyword(), value)
            };
            cards.push(match (&*keyword, root) {
                ("NAXIS1", _) => {
                    replaced("ZNAXIS1", (self.original.columns.len() as u64 * WIDE).into())?
                }
                ("NAXIS2", _) => replaced("ZNAXIS2", self.tiles().into())?,
                ("PCOUNT", _) => replaced("ZPCOUNT", self.heap_bytes.into())?,
                (_, "TFORM") if !number.is_empty() => {
                    replaced(&format!("ZFORM{number}"), "1QB".into())?
                }
                ("CHECKSUM", _) => card.renamed("ZHECKSUM"),
                ("DATASUM", _) => card.renamed("ZDATASUM"),
                ("THEAP", _) => card.renamed("ZTHEAP"),
                _ => card.clone(),
            });
        }
        cards.push(Card::new("ZTABLE", true, "this is a compressed table")?);
        cards.push(Card::new("ZTILELEN", self.tile_rows, "rows of a tile")?);
        cards.extend(originals);
        for (number, (column, codec)) in (1..).zip(self.original.columns.iter().zip(&self.columns))
        {
            if column.field.row_bytes() > 0 {
                let name = codec.algorithm.as_str();
                cards.push(Card::new(
                    &format!("ZCTYP{number}"),
                    name,
                    "how the column is compressed",
                )?);
            }
        }
        Ok(Header::from_cards(cards))
    }
}

/// Appends the cell of a column of arrays: `fields`, the concatenated descriptors of the original table, followed by
/// the descriptors of the compressed arrays, in the order of CFITSIO. `stored` contains length and offset of each array
/// in the heap of the compressed table.
///
/// # Errors
/// Returns the errors of [`SlabCodec::encode`].
pub fn encode_descriptors(
    fields: &[u8],
    stored: &[(u64, u64)],
    scratch: &mut CodecScratch,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let stored_bytes = stored.len() * WIDE as usize;
    let stored =
        stored.iter().flat_map(|&(bytes, offset)| [bytes, offset]).flat_map(u64::to_be_bytes);
    let mut bytes = Vec::new();
    sized(&mut bytes, fields.len() + stored_bytes)?;
    bytes.clear();
    bytes.extend(fields.iter().copied().chain(stored));
    let codec = SlabCodec { algorithm: SlabAlgorithm::Gzip, element: Element::Character };
    codec.encode(&bytes, scratch, out)
}
