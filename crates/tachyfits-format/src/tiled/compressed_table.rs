//! Compressed tables (ZTABLE = T, Sect. 10.3): for each column of the original table, a row of the compressed table
//! contains the fields of one tile of rows.

use crate::card::{Card, numbered};
use crate::code::Code;
use crate::codec::{CodecError, CodecScratch, MOST_RATIO, SlabAlgorithm, SlabCodec, sized};
use crate::error::{FormatError, Place, Warning, quoted};
use crate::hdu::{Hdu, HduKind};
use crate::header::Header;
use crate::limits::padded;
use crate::table::{Descriptor, Element, Field, Heap, TableLayout, stored_pair};
use crate::tile_keywords::TileContent;
use crate::value::Value;
use tachyfits_memory as memory;

/// Layout of a compressed table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompressedTable {
    /// The compressed table as stored in the file.
    pub table: TableLayout,
    /// The original table, as an HDU at offset 0 of a separate file.
    pub original: Hdu,
    /// Layout of the original table.
    pub layout: TableLayout,
    /// Rows per tile (ZTILELEN); the last tile may have fewer.
    pub tile_rows: u64,
    /// Codec of each column; `None` for columns without bytes.
    pub columns: Vec<Option<SlabCodec>>,
    /// Warnings about tolerated faults of the compression; `layout` has those about columns.
    pub warnings: Vec<Warning>,
}

/// The array of one cell of the original table, and the position of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredArray {
    /// The array in the heap of the original table.
    pub plain: Descriptor,
    /// Bytes of the array in the heap of the original table.
    pub plain_bytes: u64,
    /// Byte offset of its stream in the file.
    pub offset: u64,
    /// Bytes of its stream: equal to the length of the array if it is not compressed.
    pub bytes: u64,
}

/// The arrays of a column in the rows of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredArrays {
    /// Fields of the column in the original table: concatenated descriptors.
    pub fields: Vec<u8>,
    /// The array of each row.
    pub arrays: Vec<StoredArray>,
}

/// Bytes of a descriptor of the compressed arrays.
const WIDE: usize = 16;

impl Hdu {
    /// Whether the table is compressed (ZTABLE = T).
    #[must_use]
    pub fn is_compressed_table(&self) -> bool {
        self.kind == HduKind::BinaryTable
            && self.header.get("ZTABLE") == Some(&Value::Logical(true))
    }

    /// End of a compressed table if PCOUNT omits the gap before its heap; `None` if that is not later.
    pub(crate) fn end_after_gap(&self) -> Option<u64> {
        if !self.is_compressed_table() {
            return None;
        }
        let start = u64::try_from(self.header.get_i64("THEAP").ok()??).ok()?;
        let bytes = padded(start.checked_add(self.parameter_count)?);
        let end = self.data_offset.checked_add(bytes)?;
        (end > self.end_offset()).then_some(end)
    }

    /// Returns the layout of a compressed table.
    ///
    /// # Errors
    /// [`Code::NotATable`] if it is not one; [`Code::CodecUnknown`], [`Code::KeywordMissing`], [`Code::KeywordRange`]
    /// and similar codes if keywords do not define it.
    pub fn compressed_table(&self) -> Result<CompressedTable, FormatError> {
        if !self.is_compressed_table() {
            let found = self.kind.as_str();
            return Err(FormatError::new(Code::NotATable, self.place(), "ZTABLE = T", found));
        }
        let header = &self.header;
        let mut table = self.table()?;
        let original = Hdu::of_header(original_header(header)?, self.index)?;
        let layout = original.table()?;
        // Keywords of columns refer to the original columns.
        table.warnings.clear();
        let mut warnings = Vec::new();
        place_heap(self, &mut table, &mut warnings)?;
        if layout.columns.len() != table.columns.len() {
            return Err(header.out_of_range("TFIELDS", "as many columns as the original table"));
        }
        let tile_rows = tile_rows(header)?;
        if layout.rows.div_ceil(tile_rows) != table.rows && layout.rows > 0 {
            let expected = format!("{} rows, one for each tile", layout.rows.div_ceil(tile_rows));
            return Err(header.out_of_range("NAXIS2", &expected));
        }
        check_bytes(self, original.data_bytes)?;
        let columns = (0..layout.columns.len())
            .map(|index| column_codec(header, &table, &layout, index))
            .collect::<Result<_, _>>()?;
        Ok(CompressedTable { table, original, layout, tile_rows, columns, warnings })
    }
}

/// Locates the heap: fpack copies THEAP of the original table and writes the heap there, but PCOUNT excludes the gap.
fn place_heap(
    hdu: &Hdu,
    table: &mut TableLayout,
    warnings: &mut Vec<Warning>,
) -> Result<(), FormatError> {
    let Some(start) = hdu.header.get_i64("THEAP")? else { return Ok(()) };
    let rows = table.row_bytes * table.rows;
    let Some(start) = u64::try_from(start).ok().filter(|start| *start > rows) else {
        return Ok(());
    };
    let expected = format!("no THEAP, or {rows}, in a compressed table");
    warnings.push(Warning::new(
        Code::HeapPlace,
        hdu.header.place("THEAP"),
        expected,
        start.to_string(),
    ));
    let offset = hdu.data_offset.checked_add(start);
    let offset = offset.ok_or_else(|| hdu.header.out_of_range("THEAP", "a place in the file"))?;
    let bytes = hdu.parameter_count;
    table.heap = Heap { offset, bytes, bytes_present: bytes };
    table.heap_error = None;
    Ok(())
}

/// Maximum bytes of a heap that belong to no array, and so to no stream.
const UNUSED_BYTES: u64 = 64 << 20;

/// Limits the claimed size: gaps between columns and arrays have no stream, so a damaged header could make a small file
/// huge.
fn check_bytes(hdu: &Hdu, claimed: u64) -> Result<(), FormatError> {
    if claimed.saturating_sub(UNUSED_BYTES) / MOST_RATIO <= hdu.data_bytes {
        return Ok(());
    }
    let expected = format!("a table that {} compressed bytes can have", hdu.data_bytes);
    let (place, found) = (hdu.header.place("ZNAXIS1"), format!("a table of {claimed} bytes"));
    Err(FormatError::new(Code::DataTooLarge, place, expected, found))
}

fn tile_rows(header: &Header) -> Result<u64, FormatError> {
    match header.get_i64("ZTILELEN")? {
        Some(rows) => {
            let rows = u64::try_from(rows).ok().filter(|rows| *rows > 0);
            rows.ok_or_else(|| header.out_of_range("ZTILELEN", "1 row or more"))
        }
        None => Err(header.missing("ZTILELEN", "the rows of a tile")),
    }
}

fn column_codec(
    header: &Header,
    table: &TableLayout,
    layout: &TableLayout,
    index: usize,
) -> Result<Option<SlabCodec>, FormatError> {
    let column = &layout.columns[index];
    let element = match column.field {
        Field::Fixed { element, .. } | Field::Variable { element, .. } => element,
        Field::Text { .. } => unreachable!("a binary table has no text fields"),
    };
    if column.field.row_bytes() == 0 {
        return Ok(None);
    }
    if !matches!(table.columns[index].field, Field::Variable { repeat: 1, .. }) {
        let (place, form) = (table.place(index, None), &table.columns[index].form);
        return Err(FormatError::new(
            Code::ColumnForm,
            place,
            "a column of form 1QB",
            quoted(form),
        ));
    }
    let keyword = format!("ZCTYP{}", index + 1);
    let name = header.get_text(&keyword)?.unwrap_or("GZIP_2");
    let codec = SlabAlgorithm::of_name(name).map(|algorithm| SlabCodec { algorithm, element });
    match codec.filter(SlabCodec::is_possible) {
        Some(codec) => Ok(Some(codec)),
        None => {
            let expected = "GZIP_1, GZIP_2, or RICE_1 of integers of up to 32 bits";
            let place = header.place(&keyword);
            Err(FormatError::new(Code::CodecUnknown, place, expected, quoted(name)))
        }
    }
}

/// Restores the header of the original table.
fn original_header(header: &Header) -> Result<Header, FormatError> {
    let mut cards = Vec::new();
    for card in header.cards() {
        let keyword = card.keyword().to_ascii_uppercase();
        let (root, number) = numbered(&keyword);
        let new_card = match (&*keyword, root) {
            ("CHECKSUM" | "DATASUM" | "END", _) => continue,
            ("THEAP", _) if header.get("ZTHEAP").is_some() => continue,
            ("NAXIS1", _) => original(header, card, "ZNAXIS1")?,
            ("NAXIS2", _) => original(header, card, "ZNAXIS2")?,
            ("PCOUNT", _) => original(header, card, "ZPCOUNT")?,
            (_, "TFORM") if !number.is_empty() => {
                original(header, card, &format!("ZFORM{number}"))?
            }
            ("ZHECKSUM", _) => card.renamed("CHECKSUM"),
            ("ZDATASUM", _) => card.renamed("DATASUM"),
            ("ZTHEAP", _) => card.renamed("THEAP"),
            _ if TileContent::Table.has(&keyword) => continue,
            _ => card.clone(),
        };
        cards.push(new_card);
    }
    Ok(Header::from_cards(cards))
}

/// Restores a card of the original table, at the place of `card` of the compressed table.
fn original(header: &Header, card: &Card, source: &str) -> Result<Card, FormatError> {
    match header.position(source) {
        Some(at) => Ok(header.cards()[at].renamed(card.keyword())),
        None => Err(header.missing(source, "a card of the original table")),
    }
}

impl CompressedTable {
    /// Returns the first row of a tile, from 0, and its number of rows.
    #[must_use]
    pub fn rows_of_tile(&self, tile: u64) -> (u64, u64) {
        let first = tile.saturating_mul(self.tile_rows).min(self.layout.rows);
        (first, self.tile_rows.min(self.layout.rows - first))
    }

    /// Returns byte offset in the file and length of the stream of a column in a tile; `row` contains the tile's table
    /// row.
    ///
    /// # Errors
    /// [`Code::DescriptorRange`] if it is outside of the heap.
    ///
    /// # Panics
    /// Panics if the column does not exist, or `row` is shorter than a row of the table.
    pub fn slab(&self, column: usize, tile: u64, row: &[u8]) -> Result<(u64, u64), FormatError> {
        let definition = &self.table.columns[column];
        let field = &row[definition.offset as usize..][..definition.field.row_bytes() as usize];
        let descriptor = self.table.descriptor(column, tile, field)?;
        let Field::Variable { element, .. } = definition.field else { unreachable!("checked") };
        let bytes = element.total_bytes(descriptor.count).expect("checked against the heap");
        Ok((self.table.heap.offset + descriptor.offset, bytes))
    }

    /// Returns the bytes of the fields of a column in a tile, if a stream at this offset with this length can decode to
    /// them.
    ///
    /// # Errors
    /// [`Code::TileStream`] if it cannot, so that nothing is allocated for it.
    pub fn slab_bytes(
        &self,
        column: usize,
        tile: u64,
        (stream_offset, stream_bytes): (u64, u64),
    ) -> Result<usize, FormatError> {
        let (_, rows) = self.rows_of_tile(tile);
        let field = self.layout.columns[column].field;
        let stored = if matches!(field, Field::Variable { .. }) { WIDE as u64 } else { 0 };
        self.decoded_bytes(stream_bytes, rows.checked_mul(field.row_bytes() + stored)).ok_or_else(
            || {
                let expected = format!("the fields of {rows} rows");
                let error = CodecError::stream(0, expected, format!("{stream_bytes} bytes"));
                self.slab_error(column, tile, stream_offset, error)
            },
        )
    }

    /// Returns the bytes of an array, if its stream can decode to them.
    ///
    /// # Errors
    /// See [`CompressedTable::slab_bytes`].
    pub fn array_bytes(
        &self,
        column: usize,
        tile: u64,
        array: &StoredArray,
    ) -> Result<usize, FormatError> {
        self.decoded_bytes(array.bytes, Some(array.plain_bytes)).ok_or_else(|| {
            let expected = format!("an array of {} bytes", array.plain_bytes);
            let error = CodecError::stream(0, expected, format!("{} bytes", array.bytes));
            self.slab_error(column, tile, array.offset, error)
        })
    }

    /// Limits the decoded size: no column codec exceeds the ratio of DEFLATE.
    fn decoded_bytes(&self, stream_bytes: u64, plain_bytes: Option<u64>) -> Option<usize> {
        let bytes = plain_bytes.filter(|&bytes| bytes.div_ceil(MOST_RATIO) <= stream_bytes)?;
        usize::try_from(bytes).ok()
    }

    /// Adds the place to an error of a codec: column and rows of the original table, and the byte of the stream in the
    /// file.
    #[must_use]
    pub fn slab_error(
        &self,
        column: usize,
        tile: u64,
        stream_offset: u64,
        error: CodecError,
    ) -> FormatError {
        let (first, rows) = self.rows_of_tile(tile);
        let place = Place { offset: Some(stream_offset), ..self.layout.place(column, Some(first)) };
        let found = match rows {
            0 | 1 => error.found,
            _ => format!("{}, in the tile of rows {} to {}", error.found, first + 1, first + rows),
        };
        CodecError { found, ..error }.at(place, stream_offset)
    }

    /// Decodes the arrays of the cells of a column in a tile, from the stream of the column.
    ///
    /// CFITSIO writes the descriptors of the original table before those of the compressed arrays; the Standard
    /// specifies the reverse. The valid order is the one in which all arrays are within their heaps.
    ///
    /// # Errors
    /// [`Code::TileStream`] if the stream is damaged or arrays are outside of the heaps in either order.
    ///
    /// # Panics
    /// Panics if the column has no arrays.
    pub fn arrays(
        &self,
        column: usize,
        tile: u64,
        stream: &[u8],
        stream_offset: u64,
        scratch: &mut CodecScratch,
    ) -> Result<StoredArrays, FormatError> {
        let Field::Variable { element, wide, .. } = self.layout.columns[column].field else {
            panic!("column {column} has no arrays")
        };
        let (_, rows) = self.rows_of_tile(tile);
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let width = if wide { WIDE } else { WIDE / 2 };
        let place = |error| self.slab_error(column, tile, stream_offset, error);
        let count = self.slab_bytes(column, tile, (stream_offset, stream.len() as u64))?;
        let mut bytes = Vec::new();
        sized(&mut bytes, count).map_err(place)?;
        let algorithm = SlabAlgorithm::Gzip;
        let pairs = SlabCodec { algorithm, element: Element::Character };
        pairs.decode(stream, scratch, &mut bytes).map_err(place)?;
        let split = |plain: &[u8], stored: &[u8]| -> Result<_, FormatError> {
            let reserved = memory::with_room(rows, "the arrays of a tile");
            let mut arrays = reserved.map_err(|_| place(CodecError::no_memory(rows)))?;
            for row in 0..rows {
                match self.array(element, wide, &plain[row * width..], &stored[row * WIDE..]) {
                    Some(array) => arrays.push(array),
                    None => return Ok(None),
                }
            }
            Ok(Some(arrays))
        };
        let (plain, stored) = bytes.split_at(rows * width);
        if let Some(arrays) = split(plain, stored)? {
            bytes.truncate(rows * width);
            return Ok(StoredArrays { fields: bytes, arrays });
        }
        let (stored, plain) = bytes.split_at(rows * WIDE);
        match split(plain, stored)? {
            Some(arrays) => {
                bytes.drain(..rows * WIDE);
                Ok(StoredArrays { fields: bytes, arrays })
            }
            None => {
                let expected = "arrays within the heaps of the compressed and the original table";
                Err(place(CodecError::stream(0, expected, "some outside")))
            }
        }
    }

    /// Returns the array of a pair of descriptors; `None` if it is outside of a heap.
    fn array(
        &self,
        element: Element,
        wide: bool,
        plain: &[u8],
        stored: &[u8],
    ) -> Option<StoredArray> {
        let unsigned = |value: i64| u64::try_from(value).ok();
        let [count, at] = stored_pair(plain, wide, self.layout.heap.bytes);
        let [bytes, offset] = stored_pair(stored, true, self.table.heap.bytes);
        let (count, bytes) = (unsigned(count)?, unsigned(bytes)?);
        if count == 0 {
            return (bytes == 0).then_some(StoredArray {
                plain: Descriptor::default(),
                plain_bytes: 0,
                offset: self.table.heap.offset,
                bytes: 0,
            });
        }
        let (at, offset) = (unsigned(at)?, unsigned(offset)?);
        let plain_bytes = element.total_bytes(count)?;
        let fits = |at: u64, bytes: u64, heap: Heap| {
            at.checked_add(bytes).is_some_and(|end| end <= heap.bytes)
        };
        let is_there =
            fits(at, plain_bytes, self.layout.heap) && fits(offset, bytes, self.table.heap);
        is_there.then_some(StoredArray {
            plain: Descriptor { count, offset: at },
            plain_bytes,
            offset: self.table.heap.offset + offset,
            bytes,
        })
    }
}
