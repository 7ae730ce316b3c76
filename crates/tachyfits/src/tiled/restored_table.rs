//! A compressed table as it was before, as data of an HDU: the columns that are wanted are decoded, each of a tile once as
//! long as the cache has room; the arrays of the heap are at their old offsets.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tachyfits_format::{
    CodecScratch, CompressedTable, Field, FormatError, Hdu, StoredArray, StoredArrays,
};
use tachyfits_io::{Id, IoError, Profile, Request, Storage, fetch};

use super::tile_cache::{Claims, Lookup, TileCache, Weighed};
use crate::hdu_storage::{HduStorage, MadeData, split};

/// Decoded bytes that are worked on at a time.
const BATCH_BYTES: u64 = 512 << 10;
/// Decoded columns of tiles are kept up to this many bytes, or one tile if it has more.
const CACHE_BYTES: u64 = 128 << 20;
/// Arrays that were used in part are kept up to this many bytes.
const ARRAY_CACHE_BYTES: u64 = 32 << 20;

/// A compressed table as the HDU that it was.
#[derive(Clone, Debug)]
pub(crate) struct RestoredTable {
    id: Id,
    header: Vec<u8>,
    tiles: Arc<TableTiles>,
}

/// The tiles of a compressed table, and what of them is decoded.
#[derive(Debug)]
struct TableTiles {
    storage: Arc<dyn Storage>,
    layout: CompressedTable,
    slabs: TileCache<SlabKey, ColumnSlab>,
    arrays: TileCache<ArrayKey>,
    /// Where the arrays of columns lie, as far as it was needed.
    extents: Mutex<BTreeMap<usize, Arc<Vec<Extent>>>>,
    /// Memory that threads reuse.
    scratch: Mutex<Vec<CodecScratch>>,
}

/// The bytes of some columns of a table; others are 0.
#[derive(Debug)]
struct TableData {
    tiles: Arc<TableTiles>,
    /// Numbers of the wanted columns, ascending.
    columns: Vec<usize>,
}

/// A column in the rows of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct SlabKey {
    tile: u64,
    column: usize,
}

/// An array of such a column, by its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ArrayKey {
    slab: SlabKey,
    index: usize,
}

/// The decoded fields of a column in the rows of a tile, end to end, and the arrays that they refer to.
#[derive(Debug, Default)]
struct ColumnSlab {
    fields: Vec<u8>,
    /// Those with bytes, by their place in the heap.
    arrays: Vec<StoredArray>,
    /// Where the last of the arrays up to each one ends: arrays may share bytes.
    ends: Vec<u64>,
}

impl Weighed for ColumnSlab {
    fn bytes(&self) -> u64 {
        let array = size_of::<StoredArray>() + size_of::<u64>();
        (self.fields.len() + self.arrays.len() * array) as u64
    }
}

/// Where in the heap the arrays of a column in a tile lie.
#[derive(Clone, Debug)]
enum Extent {
    Known(Range<u64>),
    /// The column is damaged in this tile.
    Damaged(FormatError),
}

/// Wanted bytes of rows or of the heap: the first one, from the first row or the beginning of the heap, and where they go.
struct WantedBytes<'a> {
    first: u64,
    out: &'a mut [u8],
}

impl WantedBytes<'_> {
    fn range(&self) -> Range<u64> {
        self.first..self.first + self.out.len() as u64
    }
}

/// A column of a tile, and the parts that want it.
struct WantedSlab<'a> {
    key: SlabKey,
    parts: &'a [usize],
}

impl RestoredTable {
    /// The table of a layout, whose compressed form `storage` has; `id` names it.
    pub(crate) fn new(
        id: Id,
        storage: Arc<dyn Storage>,
        layout: CompressedTable,
    ) -> (Hdu, RestoredTable) {
        let hdu = layout.original.clone();
        let header = hdu.header.to_bytes();
        let tile_bytes = layout.tile_rows.min(layout.layout.rows) * layout.layout.row_bytes;
        let tiles = TableTiles {
            storage,
            // A row of a column of arrays weighs more than its field.
            slabs: TileCache::new(CACHE_BYTES.max(tile_bytes.saturating_mul(6))),
            layout,
            arrays: TileCache::new(ARRAY_CACHE_BYTES),
            extents: Mutex::default(),
            scratch: Mutex::default(),
        };
        (hdu, RestoredTable { id, header, tiles: Arc::new(tiles) })
    }

    /// The bytes of the HDU. Only the columns that have one of these bytes of a row are decoded, and with them their
    /// arrays; other bytes are 0. `None` asks for all columns.
    pub(crate) fn storage(&self, fields: Option<&[Range<u64>]>) -> Arc<dyn Storage> {
        let layout = &self.tiles.layout.layout;
        let is_wanted = |column: &usize| {
            let found = &layout.columns[*column];
            let (start, end) = (found.offset, found.offset + found.field.row_bytes());
            let touches = |field: &Range<u64>| field.start < end && start < field.end;
            self.tiles.layout.columns[*column].is_some()
                && fields.is_none_or(|fields| fields.iter().any(touches))
        };
        let columns: Vec<usize> = (0..layout.columns.len()).filter(is_wanted).collect();
        // Without a version: the bytes of other columns are not those of the table.
        let id = match fields {
            Some(_) => Id::new(self.id.name().to_owned(), None),
            None => self.id.clone(),
        };
        let data = TableData { tiles: Arc::clone(&self.tiles), columns };
        Arc::new(HduStorage::new(id, self.header.clone(), data))
    }
}

impl TableTiles {
    /// Hands over slabs, in any order, each with its place in `keys`. They are decoded a few at a time, so that threads that
    /// want the same tile share its columns.
    fn slabs(
        &self,
        keys: &[SlabKey],
        take: &mut dyn FnMut(usize, &ColumnSlab) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        let mut waiting = Vec::new();
        let mut next = 0;
        while next < keys.len() {
            let mut claims = Claims::new(&self.slabs);
            let (mut wanted, mut bytes) = (Vec::new(), 0);
            while next < keys.len() && bytes < BATCH_BYTES {
                match self.slabs.claim(keys[next]) {
                    Lookup::Decoded(slab) => take(next, &slab)?,
                    Lookup::UnderWay => waiting.push(next),
                    Lookup::Claimed => {
                        claims.add(keys[next]);
                        wanted.push(next);
                        let field = self.layout.layout.columns[keys[next].column].field.row_bytes();
                        let (_, rows) = self.layout.rows_of_tile(keys[next].tile);
                        bytes = field.saturating_mul(rows).saturating_add(bytes);
                    }
                }
                next += 1;
            }
            self.decode(keys, &wanted, &mut claims, take)?;
        }
        // Claims of its own are settled, so that no two threads wait for each other.
        let mut claims = Claims::new(&self.slabs);
        for index in waiting {
            match self.slabs.wait(keys[index]) {
                Some(slab) => take(index, &slab)?,
                None => self.decode(keys, &[index], &mut claims, take)?,
            }
        }
        Ok(())
    }

    /// Decodes the slabs of some keys and hands them over; those that are claimed are kept.
    fn decode(
        &self,
        keys: &[SlabKey],
        wanted: &[usize],
        claims: &mut Claims<'_, SlabKey, ColumnSlab>,
        take: &mut dyn FnMut(usize, &ColumnSlab) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        if wanted.is_empty() {
            return Ok(());
        }
        let wanted_keys: Vec<SlabKey> = wanted.iter().map(|&index| keys[index]).collect();
        let streams = self.streams(&wanted_keys)?;
        self.with_scratch(|scratch| {
            let ask = |ranges: &mut Vec<Range<u64>>| ranges.extend(streams.iter().cloned());
            fetch(&*self.storage, ask, |fetched| {
                for (piece, (&index, &key)) in wanted.iter().zip(&wanted_keys).enumerate() {
                    let stream = (streams[piece].start, fetched.piece(piece));
                    let slab = Arc::new(self.decode_slab(key, stream, scratch)?);
                    claims.settle(key, || Arc::clone(&slab));
                    take(index, &slab)?;
                }
                Ok(())
            })?
        })
    }

    /// Where the streams of slabs are, from the rows of the compressed table.
    fn streams(&self, keys: &[SlabKey]) -> Result<Vec<Range<u64>>, IoError> {
        let table = &self.layout.table;
        let mut tiles: Vec<u64> = keys.iter().map(|key| key.tile).collect();
        tiles.sort_unstable();
        tiles.dedup();
        let runs: Vec<&[u64]> = tiles.chunk_by(|a, b| a + 1 == *b).collect();
        let ask = |ranges: &mut Vec<Range<u64>>| {
            ranges.extend(runs.iter().map(|run| {
                let start = table.data_offset + run[0] * table.row_bytes;
                start..start + run.len() as u64 * table.row_bytes
            }));
        };
        fetch(&*self.storage, ask, |fetched| {
            let row = |tile: u64| {
                let run = runs.partition_point(|run| run[0] <= tile) - 1;
                let at = (tile - runs[run][0]) * table.row_bytes;
                &fetched.piece(run)[at as usize..][..table.row_bytes as usize]
            };
            let place = |key: &SlabKey| {
                let (offset, bytes) = self.layout.slab(key.column, key.tile, row(key.tile))?;
                Ok(offset..offset + bytes)
            };
            keys.iter().map(place).collect::<Result<_, FormatError>>()
        })?
        .map_err(|error| self.content(error))
    }

    /// Decodes a stream that begins at an offset of the file.
    fn decode_slab(
        &self,
        key: SlabKey,
        (offset, stream): (u64, &[u8]),
        scratch: &mut CodecScratch,
    ) -> Result<ColumnSlab, IoError> {
        let SlabKey { tile, column } = key;
        let layout = &self.layout;
        let bytes = layout.slab_bytes(column, tile, (offset, stream.len() as u64));
        let bytes = bytes.map_err(|error| self.content(error))?;
        if matches!(layout.layout.columns[column].field, Field::Variable { .. }) {
            // An error instead of an abort if memory for the descriptors is short.
            drop(self.room(bytes)?);
            let found = layout.arrays(column, tile, stream, offset, scratch);
            return Ok(ColumnSlab::of_arrays(found.map_err(|error| self.content(error))?));
        }
        let mut fields = self.room(bytes)?;
        let Some(codec) = layout.columns[column] else { return Ok(ColumnSlab::default()) };
        let decoded = codec.decode(stream, scratch, &mut fields);
        decoded.map_err(|error| self.content(layout.slab_error(column, tile, offset, error)))?;
        Ok(ColumnSlab { fields, ..ColumnSlab::default() })
    }

    /// Bytes of 0, or an error if memory is short.
    fn room(&self, bytes: usize) -> Result<Vec<u8>, IoError> {
        let mut room = Vec::new();
        room.try_reserve_exact(bytes).map_err(|_| IoError::Memory {
            name: self.storage.name().to_owned(),
            bytes: bytes as u64,
        })?;
        room.resize(bytes, 0);
        Ok(room)
    }

    /// An error of the table's content, as one of reading.
    fn content(&self, error: FormatError) -> IoError {
        IoError::Content { name: self.storage.name().to_owned(), source: Box::new(error) }
    }

    fn with_scratch<R>(&self, work: impl FnOnce(&mut CodecScratch) -> R) -> R {
        let lock = || self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = lock().pop().unwrap_or_default();
        let done = work(&mut scratch);
        lock().push(scratch);
        done
    }

    /// Where the arrays of a column lie, tile by tile. The first thread that asks decodes the descriptors of all tiles.
    fn extents(&self, column: usize) -> Result<Arc<Vec<Extent>>, IoError> {
        let mut known = self.extents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(extents) = known.get(&column) {
            return Ok(Arc::clone(extents));
        }
        let mut extents = Vec::new();
        for tile in 0..self.layout.layout.rows.div_ceil(self.layout.tile_rows) {
            let mut extent = Extent::Known(0..0);
            let decoded = self.slabs(&[SlabKey { tile, column }], &mut |_, slab| {
                extent = Extent::Known(slab.extent());
                Ok(())
            });
            if let Err(error) = decoded {
                extent = Extent::Damaged(damage(error)?);
            }
            extents.push(extent);
        }
        let extents = Arc::new(extents);
        known.insert(column, Arc::clone(&extents));
        Ok(extents)
    }

    /// Fills a part of the heap with an array.
    fn place_array(
        &self,
        key: ArrayKey,
        array: &StoredArray,
        part: &mut WantedBytes<'_>,
        scratch: &mut CodecScratch,
    ) -> Result<(), IoError> {
        let start = array.plain.offset;
        let whole = start..start + array.plain_bytes;
        let wanted = part.range();
        if wanted.start <= whole.start && whole.end <= wanted.end {
            let at = (whole.start - wanted.start) as usize;
            let out = &mut part.out[at..at + array.plain_bytes as usize];
            return self.decode_array(key, array, out, scratch);
        }
        let mut put = |bytes: &[u8]| {
            let (from, to) = (whole.start.max(wanted.start), whole.end.min(wanted.end));
            let out = &mut part.out[(from - wanted.start) as usize..(to - wanted.start) as usize];
            out.copy_from_slice(&bytes[(from - start) as usize..(to - start) as usize]);
        };
        let decoded = match self.arrays.claim(key) {
            Lookup::Decoded(bytes) => Some(bytes),
            Lookup::UnderWay => self.arrays.wait(key),
            Lookup::Claimed => None,
        };
        if let Some(bytes) = decoded {
            put(&bytes);
            return Ok(());
        }
        let decoded = self.layout.array_bytes(key.slab.column, key.slab.tile, array);
        let decoded = decoded.map_err(|error| self.content(error)).and_then(|bytes| {
            let mut bytes = self.room(bytes)?;
            self.decode_array(key, array, &mut bytes, scratch).map(|()| bytes)
        });
        match decoded {
            Ok(bytes) => {
                put(&bytes);
                self.arrays.put(key, Arc::new(bytes));
                Ok(())
            }
            Err(error) => {
                self.arrays.give_up(key);
                Err(error)
            }
        }
    }

    fn decode_array(
        &self,
        key: ArrayKey,
        array: &StoredArray,
        out: &mut [u8],
        scratch: &mut CodecScratch,
    ) -> Result<(), IoError> {
        let SlabKey { tile, column } = key.slab;
        let Some(codec) = self.layout.columns[column] else { return Ok(()) };
        let ask =
            |ranges: &mut Vec<Range<u64>>| ranges.push(array.offset..array.offset + array.bytes);
        fetch(&*self.storage, ask, |fetched| {
            codec.decode_array(fetched.piece(0), scratch, out).map_err(|error| {
                self.content(self.layout.slab_error(column, tile, array.offset, error))
            })
        })?
    }
}

/// The damage in a file that an error of decoding tells; other errors stay errors.
fn damage(error: IoError) -> Result<FormatError, IoError> {
    match error {
        IoError::Content { name, source } => match source.downcast::<FormatError>() {
            Ok(found) => Ok(*found),
            Err(source) => Err(IoError::Content { name, source }),
        },
        other => Err(other),
    }
}

impl ColumnSlab {
    fn of_arrays(found: StoredArrays) -> ColumnSlab {
        let StoredArrays { fields, mut arrays } = found;
        arrays.retain(|array| array.plain_bytes > 0);
        arrays.sort_by_key(|array| array.plain.offset);
        let mut last = 0;
        let end = |array: &StoredArray| {
            last = (array.plain.offset + array.plain_bytes).max(last);
            last
        };
        let ends = arrays.iter().map(end).collect();
        ColumnSlab { fields, arrays, ends }
    }

    fn extent(&self) -> Range<u64> {
        match (self.arrays.first(), self.ends.last()) {
            (Some(first), Some(&end)) => first.plain.offset..end,
            _ => 0..0,
        }
    }

    /// The arrays that have bytes of a range of the heap, with their places.
    fn touching(&self, range: &Range<u64>) -> impl Iterator<Item = (usize, &StoredArray)> {
        let first = self.ends.partition_point(|&end| end <= range.start);
        let last = self.arrays.partition_point(|array| array.plain.offset < range.end);
        let start = range.start;
        let found = self.arrays.iter().enumerate().take(last).skip(first);
        found.filter(move |(_, array)| array.plain.offset + array.plain_bytes > start)
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
        let mut wanted = Vec::new();
        let mut first = 0;
        for run in tiles.chunk_by(|a, b| a == b) {
            let group = &numbers[first..first + run.len()];
            first += run.len();
            for &column in &self.columns {
                if group.iter().any(|&part| self.touches(column, &parts[part].range())) {
                    wanted.push(WantedSlab { key: SlabKey { tile: run[0], column }, parts: group });
                }
            }
        }
        let keys: Vec<SlabKey> = wanted.iter().map(|slab| slab.key).collect();
        self.tiles.slabs(&keys, &mut |index, slab| {
            let WantedSlab { key, parts: numbers } = wanted[index];
            numbers.iter().for_each(|&part| self.place_fields(key, slab, &mut parts[part]));
            Ok(())
        })
    }

    /// Whether bytes of rows have bytes of a column.
    fn touches(&self, column: usize, range: &Range<u64>) -> bool {
        let layout = &self.tiles.layout.layout;
        let found = &layout.columns[column];
        let (row, start) = (range.start / layout.row_bytes, range.start % layout.row_bytes);
        let end = range.end - row * layout.row_bytes;
        let next = layout.row_bytes + found.offset;
        let last = found.offset + found.field.row_bytes();
        (found.offset < end && start < last) || next < end
    }

    /// Copies the fields of a column in a tile to their places in rows.
    fn place_fields(&self, key: SlabKey, slab: &ColumnSlab, part: &mut WantedBytes<'_>) {
        let layout = &self.tiles.layout.layout;
        let found = &layout.columns[key.column];
        let (row_bytes, width) = (layout.row_bytes, found.field.row_bytes());
        let (first_row, rows) = self.tiles.layout.rows_of_tile(key.tile);
        let range = part.range();
        // Rows of the tile that have bytes in the part.
        let from = (range.start / row_bytes).max(first_row);
        let to = range.end.div_ceil(row_bytes).min(first_row + rows);
        let mut row = from;
        while row < to {
            let at = row * row_bytes + found.offset;
            let field = &slab.fields[((row - first_row) * width) as usize..];
            if range.start <= at && at + width <= range.end {
                // All fields that follow, but for the last one, are whole too.
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
        let mut found = Vec::new();
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
                            found.push(key);
                        }
                    }
                }
            }
        }
        let mut covered: Vec<Range<u64>> = Vec::new();
        let notes_covered = damaged.is_some();
        self.tiles.slabs(&found, &mut |index, slab| {
            self.tiles.with_scratch(|scratch| {
                for part in parts.iter_mut() {
                    for (place, array) in slab.touching(&part.range()) {
                        let key = ArrayKey { slab: found[index], index: place };
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
        // Bytes of no array are 0, unless they may be those of an array that is not known.
        match damaged {
            Some(error) if parts.iter().any(|part| !is_covered(&mut covered, part.range())) => {
                Err(self.tiles.content(error))
            }
            _ => Ok(()),
        }
    }
}

/// Copies fields that are end to end to rows of `stride` bytes.
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

/// Whether every byte of a range is in one of others.
fn is_covered(covered: &mut [Range<u64>], range: Range<u64>) -> bool {
    covered.sort_unstable_by_key(|range| range.start);
    let mut reached = range.start;
    for part in covered.iter().filter(|part| part.end > range.start) {
        if part.start > reached {
            break;
        }
        reached = reached.max(part.end);
    }
    reached >= range.end
}

impl MadeData for TableData {
    const KIND: &'static str = "decompressed";

    /// Nothing beside the wanted bytes is decoded.
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
            // Columns that are not wanted, and gaps between arrays.
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
        // Streams are about where their share of the heap is.
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

    /// A compressed table of fpack, and the file that funpack makes of it.
    fn files() -> [FitsFile; 2] {
        let packed = &include_bytes!("../../../../tests/data/compressed/tables.fits.fz.gz")[..];
        let plain = &include_bytes!("../../../../tests/data/compressed/tables.fits.gz")[..];
        [packed, plain]
            .map(|gzip| FitsFile::from_bytes("table", gzip, &OpenOptions::default()).unwrap())
    }

    /// The data of the table, from a storage.
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
                let found = read(&packed, &**packed.storage_of(1), range.clone());
                prop_assert!(found == read(&plain, &**plain.storage_of(1), range));
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
