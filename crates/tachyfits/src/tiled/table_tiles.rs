//! Decodes the tiles of a compressed table: each column of a tile once as long as it fits in the
//! cache, and each array of the heap on request.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tachyfits_format::{
    Code, CodecScratch, CompressedTable, Field, FormatError, StoredArray, StoredArrays,
};
use tachyfits_io::{IoError, Storage, fetch};
use tachyfits_memory::{self as memory, NoMemory};

use super::damage::{DamageList, OnDamage};
use super::tile_cache::{Claims, Lookup, TileCache, Weighed};

/// Decoded bytes per batch.
const BATCH_BYTES: u64 = 512 << 10;
/// Maximum bytes of cached columns of tiles; at least one tile fits.
const CACHE_BYTES: u64 = 128 << 20;
/// Maximum bytes of cached arrays that were read in part.
const ARRAY_CACHE_BYTES: u64 = 32 << 20;

/// The tiles of a compressed table, with a cache of decoded ones.
#[derive(Debug)]
pub(super) struct TableTiles {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) layout: CompressedTable,
    /// List for damage, which is an error otherwise.
    damage: Option<Arc<DamageList>>,
    slabs: TileCache<SlabKey, ColumnSlab>,
    arrays: TileCache<ArrayKey>,
    /// Extents of the arrays of a column, once requested.
    extents: Mutex<BTreeMap<usize, Arc<Vec<Extent>>>>,
    /// Buffers that threads reuse.
    scratch: Mutex<Vec<CodecScratch>>,
}

/// A column in the rows of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SlabKey {
    pub(super) tile: u64,
    pub(super) column: usize,
}

/// An array of such a column, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ArrayKey {
    pub(super) slab: SlabKey,
    pub(super) index: usize,
}

/// The decoded fields of a column in the rows of a tile, contiguous, and the arrays that they refer to.
#[derive(Debug, Default)]
pub(super) struct ColumnSlab {
    pub(super) fields: Vec<u8>,
    /// Arrays that are not empty, ordered by offset in the heap.
    arrays: Vec<StoredArray>,
    /// For each array, the largest end of the arrays up to it: arrays may share bytes.
    ends: Vec<u64>,
}

impl Weighed for ColumnSlab {
    fn bytes(&self) -> u64 {
        let array = size_of::<StoredArray>() + size_of::<u64>();
        (self.fields.len() + self.arrays.len() * array) as u64
    }
}

/// Extent in the heap of the arrays of a column in a tile.
#[derive(Clone, Debug)]
pub(super) enum Extent {
    Known(Range<u64>),
    /// The column is damaged in this tile.
    Damaged(FormatError),
}

/// Requested bytes of the rows or of the heap: offset of the first byte from the start of the rows
/// or of the heap, and the output.
pub(super) struct WantedBytes<'a> {
    pub(super) first: u64,
    pub(super) out: &'a mut [u8],
}

impl WantedBytes<'_> {
    pub(super) fn range(&self) -> Range<u64> {
        self.first..self.first + self.out.len() as u64
    }
}

impl TableTiles {
    /// Creates the tiles of a layout, which are in `storage`.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        layout: CompressedTable,
        on_damage: OnDamage,
    ) -> TableTiles {
        let tile_bytes = layout.tile_rows.min(layout.layout.rows) * layout.layout.row_bytes;
        let damage = match on_damage {
            OnDamage::List(list) => Some(list),
            // Few column types have a value for missing elements.
            OnDamage::Refuse | OnDamage::Undefine(_) => None,
        };
        TableTiles {
            storage,
            // A row of a column of arrays needs more memory than its field.
            slabs: TileCache::new(CACHE_BYTES.max(tile_bytes.saturating_mul(6))),
            layout,
            damage,
            arrays: TileCache::new(ARRAY_CACHE_BYTES),
            extents: Mutex::default(),
            scratch: Mutex::default(),
        }
    }

    /// Calls `take` with slabs, in any order, each with its index in `keys`. They are decoded a few
    /// at a time, so that threads that read the same tile share its columns.
    pub(super) fn slabs(
        &self,
        keys: &[SlabKey],
        take: &mut dyn FnMut(usize, &ColumnSlab) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        let mut waiting = Vec::new();
        let mut next = 0;
        while next < keys.len() {
            let mut claims = Claims::new(&self.slabs);
            let (mut claimed, mut bytes) = (Vec::new(), 0);
            while next < keys.len() && bytes < BATCH_BYTES {
                match self.slabs.claim(keys[next]) {
                    Lookup::Decoded(slab) => take(next, &slab)?,
                    Lookup::UnderWay => waiting.push(next),
                    Lookup::Claimed => {
                        claims.add(keys[next]);
                        claimed.push(next);
                        let field = self.layout.layout.columns[keys[next].column].field.row_bytes();
                        let (_, rows) = self.layout.rows_of_tile(keys[next].tile);
                        bytes = field.saturating_mul(rows).saturating_add(bytes);
                    }
                }
                next += 1;
            }
            self.decode(keys, &claimed, &mut claims, take)?;
        }
        // All claims of this thread are settled before it waits, so that no two threads wait for each other.
        let mut claims = Claims::new(&self.slabs);
        for index in waiting {
            match self.slabs.wait(keys[index]) {
                Some(slab) => take(index, &slab)?,
                None => self.decode(keys, &[index], &mut claims, take)?,
            }
        }
        Ok(())
    }

    /// Decodes the slabs at some indices of `keys` and passes them to `take`; claimed slabs are cached.
    fn decode(
        &self,
        keys: &[SlabKey],
        indices: &[usize],
        claims: &mut Claims<'_, SlabKey, ColumnSlab>,
        take: &mut dyn FnMut(usize, &ColumnSlab) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        if indices.is_empty() {
            return Ok(());
        }
        let slab_keys: Vec<SlabKey> = indices.iter().map(|&index| keys[index]).collect();
        let streams = self.streams(&slab_keys)?;
        self.with_scratch(|scratch| {
            let list = |ranges: &mut Vec<Range<u64>>| ranges.extend(streams.iter().cloned());
            fetch(&*self.storage, list, |fetched| {
                for (piece, (&index, &key)) in indices.iter().zip(&slab_keys).enumerate() {
                    let stream = (streams[piece].start, fetched.piece(piece));
                    let slab = Arc::new(match self.decode_slab(key, stream, scratch) {
                        Ok(slab) => slab,
                        Err(error) => {
                            self.list(key, None, error)?;
                            ColumnSlab::default()
                        }
                    });
                    claims.settle(key, || Some(Arc::clone(&slab)));
                    take(index, &slab)?;
                }
                Ok(())
            })?
        })
    }

    /// Lists the damage of a slab or of one of its arrays; returns the error if there is no list.
    fn list(&self, key: SlabKey, array: Option<usize>, error: IoError) -> Result<(), IoError> {
        let Some(list) = &self.damage else { return Err(error) };
        list.add((key.tile, key.column, array), damage(error)?);
        Ok(())
    }

    /// Locates the streams of slabs in the rows of the compressed table; a missing stream is empty.
    fn streams(&self, keys: &[SlabKey]) -> Result<Vec<Range<u64>>, IoError> {
        let table = &self.layout.table;
        let mut tiles: Vec<u64> = keys.iter().map(|key| key.tile).collect();
        tiles.sort_unstable();
        tiles.dedup();
        let runs: Vec<&[u64]> = tiles.chunk_by(|a, b| a + 1 == *b).collect();
        let list = |ranges: &mut Vec<Range<u64>>| {
            ranges.extend(runs.iter().map(|run| {
                let start = table.data_offset + run[0] * table.row_bytes;
                start..start + run.len() as u64 * table.row_bytes
            }));
        };
        fetch(&*self.storage, list, |fetched| {
            let row = |tile: u64| {
                let run = runs.partition_point(|run| run[0] <= tile) - 1;
                let at = (tile - runs[run][0]) * table.row_bytes;
                &fetched.piece(run)[at as usize..][..table.row_bytes as usize]
            };
            let place = |key: &SlabKey| {
                let (offset, bytes) = self.layout.slab(key.column, key.tile, row(key.tile))?;
                Ok(offset..offset + bytes)
            };
            let range_of = |key: &SlabKey| match place(key) {
                Ok(range) => Ok(range),
                Err(error) => self.list(*key, None, self.content(error)).map(|()| 0..0),
            };
            keys.iter().map(range_of).collect::<Result<_, IoError>>()
        })?
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
            // Fail here instead of aborting if memory for the descriptors is short.
            drop(self.room(bytes)?);
            let arrays = layout.arrays(column, tile, stream, offset, scratch);
            return Ok(ColumnSlab::of_arrays(arrays.map_err(|error| self.content(error))?)?);
        }
        let mut fields = self.room(bytes)?;
        let Some(codec) = layout.columns[column] else { return Ok(ColumnSlab::default()) };
        let result = codec.decode(stream, scratch, &mut fields);
        result.map_err(|error| self.content(layout.slab_error(column, tile, offset, error)))?;
        Ok(ColumnSlab { fields, ..ColumnSlab::default() })
    }

    /// Allocates zeroed bytes; fails if memory is short.
    fn room(&self, bytes: usize) -> Result<Vec<u8>, IoError> {
        Ok(memory::filled(bytes, 0, "a column of a tile")?)
    }

    /// Converts an error in the table's content to an I/O error.
    pub(super) fn content(&self, error: FormatError) -> IoError {
        IoError::Content { name: self.storage.name().to_owned(), source: Box::new(error) }
    }

    pub(super) fn with_scratch<R>(&self, work: impl FnOnce(&mut CodecScratch) -> R) -> R {
        let lock = || self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = lock().pop().unwrap_or_default();
        let result = work(&mut scratch);
        lock().push(scratch);
        result
    }

    /// Returns the extents of the arrays of a column, tile by tile. The first call decodes the
    /// descriptors of all tiles.
    pub(super) fn extents(&self, column: usize) -> Result<Arc<Vec<Extent>>, IoError> {
        let mut cache = self.extents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(extents) = cache.get(&column) {
            return Ok(Arc::clone(extents));
        }
        let mut extents = Vec::new();
        for tile in 0..self.layout.layout.rows.div_ceil(self.layout.tile_rows) {
            let mut extent = Extent::Known(0..0);
            let result = self.slabs(&[SlabKey { tile, column }], &mut |_, slab| {
                extent = Extent::Known(slab.extent());
                Ok(())
            });
            if let Err(error) = result {
                extent = Extent::Damaged(damage(error)?);
            }
            extents.push(extent);
        }
        let extents = Arc::new(extents);
        cache.insert(column, Arc::clone(&extents));
        Ok(extents)
    }

    /// Copies an array into a part of the heap.
    pub(super) fn place_array(
        &self,
        key: ArrayKey,
        array: &StoredArray,
        part: &mut WantedBytes<'_>,
        scratch: &mut CodecScratch,
    ) -> Result<(), IoError> {
        let result = self.place_whole_array(key, array, part, scratch);
        result.or_else(|error| self.list(key.slab, Some(key.index), error))
    }

    fn place_whole_array(
        &self,
        key: ArrayKey,
        array: &StoredArray,
        part: &mut WantedBytes<'_>,
        scratch: &mut CodecScratch,
    ) -> Result<(), IoError> {
        let start = array.plain.offset;
        let whole = start..start + array.plain_bytes;
        let range = part.range();
        if range.start <= whole.start && whole.end <= range.end {
            let at = (whole.start - range.start) as usize;
            let out = &mut part.out[at..at + array.plain_bytes as usize];
            return self.decode_array(key, array, out, scratch);
        }
        let mut put = |bytes: &[u8]| {
            let (from, to) = (whole.start.max(range.start), whole.end.min(range.end));
            let out = &mut part.out[(from - range.start) as usize..(to - range.start) as usize];
            out.copy_from_slice(&bytes[(from - start) as usize..(to - start) as usize]);
        };
        let cached = match self.arrays.claim(key) {
            Lookup::Decoded(bytes) => Some(bytes),
            Lookup::UnderWay => self.arrays.wait(key),
            Lookup::Claimed => None,
        };
        if let Some(bytes) = cached {
            put(&bytes);
            return Ok(());
        }
        let size = self.layout.array_bytes(key.slab.column, key.slab.tile, array);
        let result = size.map_err(|error| self.content(error)).and_then(|bytes| {
            let mut bytes = self.room(bytes)?;
            self.decode_array(key, array, &mut bytes, scratch).map(|()| bytes)
        });
        match result {
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
        let list =
            |ranges: &mut Vec<Range<u64>>| ranges.push(array.offset..array.offset + array.bytes);
        fetch(&*self.storage, list, |fetched| {
            codec.decode_array(fetched.piece(0), scratch, out).map_err(|error| {
                self.content(self.layout.slab_error(column, tile, array.offset, error))
            })
        })?
    }
}

/// Returns the damage in a file that caused a decoding error; other errors stay errors.
fn damage(error: IoError) -> Result<FormatError, IoError> {
    match error {
        IoError::Content { name, source } => match source.downcast::<FormatError>() {
            Ok(damage) if damage.code() == Code::NoMemory => {
                Err(IoError::Content { name, source: damage })
            }
            Ok(damage) => Ok(*damage),
            Err(source) => Err(IoError::Content { name, source }),
        },
        other => Err(other),
    }
}

impl ColumnSlab {
    fn of_arrays(stored: StoredArrays) -> Result<ColumnSlab, NoMemory> {
        let StoredArrays { fields, mut arrays } = stored;
        arrays.retain(|array| array.plain_bytes > 0);
        // Unstable, because a stable sort allocates memory.
        arrays.sort_unstable_by_key(|array| (array.plain.offset, array.plain_bytes, array.offset));
        let mut last = 0;
        let end = |array: &StoredArray| {
            last = (array.plain.offset + array.plain_bytes).max(last);
            last
        };
        let ends = memory::collected(arrays.iter().map(end), "the arrays of a tile")?;
        Ok(ColumnSlab { fields, arrays, ends })
    }

    fn extent(&self) -> Range<u64> {
        match (self.arrays.first(), self.ends.last()) {
            (Some(first), Some(&end)) => first.plain.offset..end,
            _ => 0..0,
        }
    }

    /// Iterates over the arrays that overlap a range of the heap, with their indices.
    pub(super) fn touching(
        &self,
        range: &Range<u64>,
    ) -> impl Iterator<Item = (usize, &StoredArray)> {
        let first = self.ends.partition_point(|&end| end <= range.start);
        let last = self.arrays.partition_point(|array| array.plain.offset < range.end);
        let start = range.start;
        let candidates = self.arrays.iter().enumerate().take(last).skip(first);
        candidates.filter(move |(_, array)| array.plain.offset + array.plain_bytes > start)
    }
}
