//! Presents a compressed table as the original HDU. Only requested columns are decoded, each column
//! of a tile once as long as it fits in the cache; the arrays of the heap are at their original
//! offsets.

use std::ops::Range;
use std::sync::Arc;

use tachyfits_format::{CompressedTable, Field, Hdu};
use tachyfits_io::{Id, IoError, Profile, Request, Storage};

use super::damage::OnDamage;
use super::table_tiles::{ArrayKey, ColumnSlab, Extent, SlabKey, TableTiles, WantedBytes};
use crate::hdu_storage::{HduStorage, MadeData, split};

/// A compressed table, presented as the original HDU.
#[derive(Clone, Debug)]
pub(crate) struct RestoredTable {
    id: Id,
    header: Vec<u8>,
    tiles: Arc<TableTiles>,
}

/// Bytes of some columns of a table; all others are 0.
#[derive(Debug)]
struct TableData {
    tiles: Arc<TableTiles>,
    /// Numbers of the requested columns, ascending.
    columns: Vec<usize>,
}

/// A column of a tile, and the parts that request it.
struct WantedSlab<'a> {
    key: SlabKey,
    parts: &'a [usize],
}

impl RestoredTable {
    /// Creates the table of a layout, whose compressed form is in `storage`, under the name `id`.
    pub(crate) fn new(
        id: Id,
        storage: Arc<dyn Storage>,
        layout: CompressedTable,
        on_damage: OnDamage,
    ) -> (Hdu, RestoredTable) {
        let hdu = layout.original.clone();
        let header = hdu.header.to_bytes();
        let tiles = TableTiles::new(storage, layout, on_damage);
        (hdu, RestoredTable { id, header, tiles: Arc::new(tiles) })
    }

    /// Returns the bytes of the HDU. Decodes only the columns that overlap one of these byte ranges
    /// of a row, with their arrays; other bytes are 0. `None` selects all columns.
    pub(crate) fn storage(&self, fields: Option<&[Range<u64>]>) -> Arc<dyn Storage> {
        let layout = &self.tiles.layout.layout;
        let is_selected = |column: &usize| {
            let definition = &layout.columns[*column];
            let (start, end) =
                (definition.offset, definition.offset + definition.field.row_bytes());
            let touches = |field: &Range<u64>| field.start < end && start < field.end;
            self.tiles.layout.columns[*column].is_some()
                && fields.is_none_or(|fields| fields.iter().any(touches))
        };
        let columns: Vec<usize> = (0..layout.columns.len()).filter(is_selected).collect();
        // No version in the name, because the bytes of other columns differ from the table.
        let id = match fields {
            Some(_) => Id::new(self.id.name().to_owned(), None),
            None => self.id.clone(),
        };
        let data = TableData { tiles: Arc::clone(&self.tiles), columns };
        Arc::new(HduStorage::new(id, self.header.clone(), data))
    }
}

impl TableData {
    /// Fills parts of the rows.
    fn fill_rows(&self, parts: &mut [WantedBytes<'_>]) -> Result<(), IoError> {
        let layout = &self.tiles.layout;
        let tile_bytes = (layout.tile_rows.saturating_mul(layout.layout.row_bytes)).max(1);
        let mut pieces = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let range = part.range();
            let tiles = range.start / tile_bytes..range.end.div_ceil(tile_bytes);
            pieces.extend(tiles.map(|tile| (tile, index)));
        }
        pieces.sort_unstable();
        let (tiles, numbers): (Vec<u64>, Vec<usize>) = pieces.into_iter().unzip();
        let mut slabs = Vec::new();
        let mut first = 0;
        for run in tiles.chunk_by(|a, b| a == b) {
            let group = &numbers[first..first + run.len()];
            first += run.len();
            for &column in &self.columns {
                if group.iter().any(|&part| self.touches(column, &parts[part].range())) {
                    slabs.push(WantedSlab { key: SlabKey { tile: run[0], column }, parts: group });
                }
            }
        }
        let keys: Vec<SlabKey> = slabs.iter().map(|slab| slab.key).collect();
        self.tiles.slabs(&keys, &mut |index, slab| {
            let WantedSlab { key, parts: numbers } = slabs[index];
            numbers.iter().for_each(|&part| self.place_fields(key, slab, &mut parts[part]));
            Ok(())
        })
    }

    /// Whether a byte range of the rows overlaps a column.
    fn touches(&self, column: usize, range: &Range<u64>) -> bool {
        let layout = &self.tiles.layout.layout;
        let definition = &layout.columns[column];
        let (row, start) = (range.start / layout.row_bytes, range.start % layout.row_bytes);
        let end = range.end - row * layout.row_bytes;
        let next = layout.row_bytes + definition.offset;
        let last = definition.offset + definition.field.row_bytes();
        (definition.offset < end && start < last) || next < end
    }

    /// Copies the fields of a column in a tile to their positions in the rows.
    fn place_fields(&self, key: SlabKey, slab: &ColumnSlab, part: &mut WantedBytes<'_>) {
        if slab.fields.is_empty() {
            // The column is damaged, which is listed; its bytes stay 0.
            return;
        }
        let layout = &self.tiles.layout.layout;
        let definition = &layout.columns[key.column];
        let (row_bytes, width) = (layout.row_bytes, definition.field.row_bytes());
        let (first_row, rows) = self.tiles.layout.rows_of_tile(key.tile);
        let range = part.range();
        // Rows of the tile that overlap the part.
        let from = (range.start / row_bytes).max(first_row);
        let to = range.end.div_ceil(row_bytes).min(first_row + rows);
        let mut row = from;
        while row < to {
            let at = row * row_bytes + definition.offset;
            let field = &slab.fields[((row - first_row) * width) as usize..];
            if range.start <= at && at + width <= range.end {
                // All following fields, except the last one, are whole too.
                let count = ((range.end - at - width) / row_bytes + 1).min(to - row);
                let out = &mut part.out[(at - range.start) as usize..];
                copy_fields(field, width as usize, count as usize, out, row_bytes as usize);
                row += count;
                continue;
            }
            let (start, end) = (at.max(range.start), (at + width).min(range.end));
            if start < end {
                let out = (start - range.start) as usize..(end - range.start) as usize;
                part.out[out].copy_from_slice(&field[(start - at) as usize..(end - at) as usize]);
            }
            row += 1;
        }
    }

    /// Fills parts of the heap.
    fn fill_heap(&self, parts: &mut [WantedBytes<'_>]) -> Result<(), IoError> {
        let layout = &self.tiles.layout.layout;
        let mut keys = Vec::new();
        let mut damaged = None;
        for &column in &self.columns {
            if !matches!(layout.columns[column].field, Field::Variable { .. }) {
                continue;
            }
            let extents = self.tiles.extents(column)?;
            for (tile, extent) in extents.iter().enumerate() {
                let key = SlabKey { tile: tile as u64, column };
                match extent {
                    Extent::Damaged(error) => damaged = damaged.or(Some(error.clone())),
                    Extent::Known(extent) => {
                        let touches = |part: &WantedBytes<'_>| {
                            part.first < extent.end && extent.start < part.range().end
                        };
                        if parts.iter().any(touches) {
                            keys.push(key);
                        }
                    }
                }
            }
        }
        let mut covered: Vec<Range<u64>> = Vec::new();
        let notes_covered = damaged.is_some();
        self.tiles.slabs(&keys, &mut |index, slab| {
            self.tiles.with_scratch(|scratch| {
                for part in parts.iter_mut() {
                    for (place, array) in slab.touching(&part.range()) {
                        let key = ArrayKey { slab: keys[index], index: place };
                        self.tiles.place_array(key, array, part, scratch)?;
                        if notes_covered {
                            let start = array.plain.offset;
                            covered.push(start..start + array.plain_bytes);
                        }
                    }
                }
                Ok(())
            })
        })?;
        // Bytes outside all arrays are 0, unless they may belong to an array that could not be located.
        match damaged {
            Some(error) if parts.iter().any(|part| !is_covered(&mut covered, part.range())) => {
                Err(self.tiles.content(error))
            }
            _ => Ok(()),
        }
    }
}

/// Copies contiguous fields to rows of `stride` bytes.
fn copy_fields(fields: &[u8], width: usize, count: usize, rows: &mut [u8], stride: usize) {
    fn of_width<const N: usize>(fields: &[u8], count: usize, rows: &mut [u8], stride: usize) {
        let (fields, _) = fields.as_chunks::<N>();
        for (field, row) in fields[..count].iter().zip(rows.chunks_mut(stride)) {
            row[..N].copy_from_slice(field);
        }
    }
    match width {
        1 => of_width::<1>(fields, count, rows, stride),
        2 => of_width::<2>(fields, count, rows, stride),
        4 => of_width::<4>(fields, count, rows, stride),
        8 => of_width::<8>(fields, count, rows, stride),
        16 => of_width::<16>(fields, count, rows, stride),
        _ => {
            let fields = fields.chunks_exact(width).take(count);
            for (field, row) in fields.zip(rows.chunks_mut(stride)) {
                row[..width].copy_from_slice(field);
            }
        }
    }
}

/// Whether other ranges cover a range completely.
fn is_covered(covered: &mut [Range<u64>], range: Range<u64>) -> bool {
    covered.sort_unstable_by_key(|range| range.start);
    let mut covered_end = range.start;
    for part in covered.iter().filter(|part| part.end > range.start) {
        if part.start > covered_end {
            break;
        }
        covered_end = covered_end.max(part.end);
    }
    covered_end >= range.end
}

impl MadeData for TableData {
    const KIND: &'static str = "decompressed";

    /// No gap: only requested bytes are decoded.
    const PROFILE: Profile = Profile { gap_bytes: 0, ..Profile::DEVICE };

    fn bytes(&self) -> u64 {
        self.tiles.layout.original.data_bytes
    }

    fn fill(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        let layout = &self.tiles.layout.layout;
        let rows_end = layout.rows * layout.row_bytes;
        let heap = layout.heap.offset - layout.data_offset;
        let (mut of_rows, mut of_heap) = (Vec::new(), Vec::new());
        for Request { offset, buffer } in requests {
            // Columns that are not requested, and gaps between arrays, are 0.
            buffer.fill(0);
            let (rows, rest) = split(buffer, rows_end.saturating_sub(*offset));
            if !rows.is_empty() {
                of_rows.push(WantedBytes { first: *offset, out: rows });
            }
            let begin = (*offset).max(rows_end);
            let (_gap, arrays) = split(rest, heap.saturating_sub(begin));
            if !arrays.is_empty() && heap >= rows_end {
                of_heap.push(WantedBytes { first: begin.max(heap) - heap, out: arrays });
            }
        }
        self.fill_rows(&mut of_rows)?;
        if of_heap.is_empty() { Ok(()) } else { self.fill_heap(&mut of_heap) }
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.tiles.storage.check_unchanged()
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        // The stream of a tile lies roughly at its share of the heap.
        let heap = &self.tiles.layout.table.heap;
        let share = |byte: u64| byte as f64 / self.bytes().max(1) as f64;
        let place = |byte: u64| heap.offset + (heap.bytes as f64 * share(byte).min(1.0)) as u64;
        let start = place(range.start);
        self.tiles.storage.is_resident(start..place(range.end).max(start + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FitsFile, OpenOptions};
    use proptest::prelude::*;

    /// A table compressed by fpack, and the file that funpack restores from it.
    fn files() -> [FitsFile; 2] {
        let packed = &include_bytes!("../../../../tests/data/compressed/tables.fits.fz.gz")[..];
        let plain = &include_bytes!("../../../../tests/data/compressed/tables.fits.gz")[..];
        [packed, plain]
            .map(|gzip| FitsFile::from_bytes("table", gzip, &OpenOptions::default()).unwrap())
    }

    /// Reads data of the table from a storage.
    fn read(file: &FitsFile, storage: &dyn Storage, range: Range<u64>) -> Vec<u8> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        storage.read_exact_at(file.hdus()[1].data_offset + range.start, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn any_bytes_are_those_of_the_plain_table(
            reads in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
        ) {
            let [packed, plain] = files();
            let bytes = plain.hdus()[1].data_bytes as usize;
            prop_assert_eq!(packed.hdus()[1].data_bytes as usize, bytes);
            for (a, b) in reads {
                let (a, b) = (a.index(bytes + 1) as u64, b.index(bytes + 1) as u64);
                let range = a.min(b)..a.max(b);
                let bytes = read(&packed, &**packed.storage_of(1), range.clone());
                prop_assert!(bytes == read(&plain, &**plain.storage_of(1), range));
            }
        }
    }

    #[test]
    fn columns_that_are_not_wanted_are_zeros() {
        let [packed, plain] = files();
        let layout = plain.hdus()[1].table().unwrap();
        let rows = 0..layout.rows * layout.row_bytes;
        let expected = read(&plain, &**plain.storage_of(1), rows.clone());
        let restored = packed.restored_table(1).unwrap();
        for column in &layout.columns {
            let field = column.offset..column.offset + column.field.row_bytes();
            let storage = restored.storage(Some(std::slice::from_ref(&field)));
            let mut expected = expected.clone();
            for row in expected.chunks_mut(layout.row_bytes as usize) {
                row[..field.start as usize].fill(0);
                row[field.end as usize..].fill(0);
            }
            assert!(read(&packed, &*storage, rows.clone()) == expected, "{}", column.name);
        }
    }

    #[test]
    fn ranges_are_covered_by_those_that_leave_nothing_out() {
        let covered = &mut [5..9, 0..4, 4..5, 20..30];
        assert!(
            is_covered(covered, 0..9) && is_covered(covered, 3..7) && is_covered(covered, 7..7)
        );
        assert!(!is_covered(covered, 3..10) && !is_covered(covered, 9..20));
    }
}
