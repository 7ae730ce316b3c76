//! Bytes of one task: fetched into a reused, aligned buffer, or borrowed if the storage has them in memory.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use tachyfits_memory as memory;

use crate::aligned::{AlignedBuffer, CACHE_LINE};
use crate::backend::entered::{MOST_ENTERED, entered_bytes};
use crate::backend::mmap::{AROUND, enter, enter_all};
use crate::coalesce::Plan;
use crate::error::IoError;
use crate::executor;
use crate::storage::{Request, Storage};

/// Step size for reading sparse segments: a step stays in the second-level cache while pieces are copied from it.
const STAGING_BYTES: u64 = 256 << 10;

/// Extent of the ranges of a task, which has at least one byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Total bytes of all ranges; bytes in several ranges count several times.
    pub bytes: u64,
    /// From the lowest byte to the highest one.
    pub within: Range<u64>,
}

/// Bytes of the ranges that a task requested, in the order of the request.
pub struct Fetched<'a> {
    places: &'a [Place<'a>],
    bytes: &'a [u8],
    /// All bytes of the storage.
    all: Option<&'a [u8]>,
    /// Reports whether the run of the task was cancelled; without it, the state of the current thread counts.
    pub(crate) cancelled: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl fmt::Debug for Fetched<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched").field("places", &self.places).finish_non_exhaustive()
    }
}

impl Fetched<'_> {
    /// Returns the bytes of range `index` of the task.
    ///
    /// # Panics
    /// If the task has no range with this index.
    pub fn piece(&self, index: usize) -> &[u8] {
        match &self.places[index] {
            Place::Borrowed(bytes) => bytes,
            Place::Buffer(range) => &self.bytes[range.clone()],
        }
    }

    /// Returns the bytes of a range within the [`Extent`] of the task, if the storage lends all of its bytes; there are
    /// no pieces in this case. `is_dense`: whether all of the bytes will be used.
    #[inline]
    pub fn lent(&self, range: Range<u64>, is_dense: bool) -> Option<&[u8]> {
        let bytes = self.all?.get(range.start as usize..range.end as usize)?;
        if is_dense && bytes.len() > AROUND {
            enter(bytes);
        }
        Some(bytes)
    }

    /// Returns some of the ranges.
    pub(crate) fn part(&self, pieces: Range<usize>) -> Fetched<'_> {
        Fetched { places: &self.places[pieces], ..*self }
    }

    /// Returns the number of ranges of the task.
    pub fn pieces(&self) -> usize {
        self.places.len()
    }

    /// Whether the work was cancelled. A task that takes longer than some hundredths of a second should check this
    /// regularly; after a cancellation it may return any result, which is discarded.
    pub fn is_cancelled(&self) -> bool {
        match self.cancelled {
            Some(cancelled) => cancelled(),
            None => executor::check_current().is_err(),
        }
    }
}

/// Fetches some ranges on the calling thread and passes them to `use_them`: for few bytes, without the cost of a
/// [`crate::run`]. Within a run they count as its bytes.
///
/// ```
/// use tachyfits_io::{MemoryStorage, fetch};
/// let storage = MemoryStorage::new("example", b"SIMPLE  =".to_vec());
/// let ask = |ranges: &mut Vec<std::ops::Range<u64>>| ranges.extend([3..6, 0..3]);
/// let joined = fetch(&storage, ask, |fetched| [fetched.piece(0), fetched.piece(1)].concat())?;
/// assert_eq!(joined, b"PLESIM");
/// # Ok::<(), tachyfits_io::IoError>(())
/// ```
///
/// # Errors
/// If the storage ends before, reading fails or memory is insufficient, and as [`crate::run`] if the work is cancelled
/// or exceeds a limit.
pub fn fetch<R>(
    storage: &dyn Storage,
    ask: impl FnOnce(&mut Vec<Range<u64>>),
    use_them: impl FnOnce(&Fetched<'_>) -> R,
) -> Result<R, IoError> {
    let mut block = Block::default();
    ask(&mut block.ranges);
    if !storage.computes() {
        executor::charge_current(block.wanted())?;
    }
    let cached = block.is_picked() && {
        let is_free = block.ranges.iter().step_by(block.ranges.len().div_ceil(LOOKS));
        let is_free = is_free.cloned().all(|range| storage.is_resident(range));
        storage.lends_cached(is_free, 0)
    };
    if cached {
        storage.prepare_to_lend();
    }
    block.fetch(storage, cached)?;
    let used = use_them(&block.fetched());
    if cached {
        block.intact(storage)?;
    }
    executor::check_current().map(|()| used)
}

/// Number of ranges that are checked for being in the page cache before any is borrowed from it.
const LOOKS: usize = 4;

/// Limits below which ranges count as picked: the average bytes per range, and the share of the bytes between the first
/// and the last range. Copying these would mostly copy gaps.
const PICKED_BYTES: u64 = 1 << 10;
const PICKED_SHARE: u64 = 8;

/// Position of the bytes of a range.
#[derive(Clone, Debug)]
enum Place<'s> {
    Borrowed(&'s [u8]),
    Buffer(Range<usize>),
}

/// State that is reused from task to task for fetching bytes.
#[derive(Debug, Default)]
pub(crate) struct Block<'s> {
    /// Ranges of the task, as requested.
    pub(crate) ranges: Vec<Range<u64>>,
    /// All bytes of the storage, and the task's extent in them, if its ranges were not listed.
    all: Option<(&'s [u8], Extent)>,
    plan: Plan,
    places: Vec<Place<'s>>,
    /// For each segment of the plan: the range to read, and its position in the buffer if the segment is read as a
    /// whole.
    reads: Vec<(Range<u64>, usize)>,
    buffer: AlignedBuffer,
    staging: AlignedBuffer,
}

/// Bytes of large pages that a task may map per requested byte, if they exceed [`MOST_ENTERED`].
const ENTERED_FOR_EACH: u64 = 2;

/// Maximum bytes of a buffer that a thread keeps for its next run.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    /// Buffer of this thread's last run: the system would clear new memory, which takes as long as reading.
    static KEPT: Cell<AlignedBuffer> = Cell::new(AlignedBuffer::default());
}

impl<'s> Block<'s> {
    /// Returns a block that reuses the memory of this thread's last block.
    pub(crate) fn of_this_thread() -> Block<'s> {
        Block { buffer: KEPT.take(), ..Block::default() }
    }

    /// Keeps the memory for the next block.
    pub(crate) fn keep(self) {
        if self.buffer.bytes().len() <= KEPT_BYTES {
            KEPT.set(self.buffer);
        }
    }

    /// Borrows all bytes of the storage for a task with an extent, if the storage lends them. Otherwise fill
    /// [`Block::ranges`] next.
    pub(crate) fn take_all(
        &mut self,
        storage: &'s dyn Storage,
        cached: bool,
        extent: impl FnOnce() -> Option<Extent>,
    ) -> bool {
        let all = if cached { storage.all_mapped() } else { storage.all_in_memory() };
        let is_there = |all: &[u8], extent: &Extent| extent.within.end <= all.len() as u64;
        self.all = all
            .and_then(|all| extent().map(|extent| (all, extent)))
            .filter(|(all, extent)| is_there(all, extent));
        self.all.is_some()
    }

    /// Fetches the bytes of [`Block::ranges`]; returns the number of bytes read, including gaps, 0 if borrowed.
    /// `cached`: whether to borrow from a map; call [`Block::intact`] afterwards.
    pub(crate) fn fetch(&mut self, storage: &'s dyn Storage, cached: bool) -> Result<u64, IoError> {
        if self.all.is_some() || self.borrow(storage, cached) {
            return Ok(0);
        }
        // Checked before allocating: a range beyond the end may have any size.
        for range in self.ranges.iter().filter(|range| !range.is_empty()) {
            storage.check_within(range.start, range.end - range.start)?;
        }
        self.plan.reserve(self.ranges.len())?;
        self.plan.make(&self.ranges, &storage.profile());
        self.places.clear();
        memory::reserve(&mut self.places, self.ranges.len(), "the ranges to read")?;
        let length = self.place(storage);
        ensure(&mut self.buffer, storage, length)?;
        let mut bytes_read = self.read_whole(storage, length as usize)?;
        for index in 0..self.plan.segments.len() {
            if self.plan.is_sparse(index) {
                bytes_read += self.read_sparse(storage, index)?;
            }
        }
        Ok(bytes_read)
    }

    /// Returns the bytes that were fetched last.
    pub(crate) fn fetched(&self) -> Fetched<'_> {
        let all = self.all.as_ref().map(|(all, _)| *all);
        let places = if all.is_some() { &[][..] } else { &self.places };
        Fetched { places, bytes: self.buffer.bytes(), all, cancelled: None }
    }

    /// Returns the number of bytes requested.
    pub(crate) fn wanted(&self) -> u64 {
        if let Some((_, extent)) = &self.all {
            return extent.bytes;
        }
        let bytes = |range: &Range<u64>| range.end.saturating_sub(range.start);
        self.ranges.iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// Whether the ranges pick short pieces out of many more bytes.
    fn is_picked(&self) -> bool {
        let used = self.ranges.iter().filter(|range| !range.is_empty());
        let start = used.clone().map(|range| range.start).min().unwrap_or(0);
        let end = used.map(|range| range.end).max().unwrap_or(0);
        let requested = self.wanted();
        requested < PICKED_BYTES.saturating_mul(self.ranges.len() as u64)
            && requested.saturating_mul(PICKED_SHARE) < end - start
    }

    /// Returns the reads for the ranges, so that they can be announced, without reading.
    pub(crate) fn planned(&mut self, storage: &dyn Storage) -> impl Iterator<Item = Range<u64>> {
        self.plan.make(&self.ranges, &storage.profile());
        self.plan.segments.iter().map(|segment| segment.range.clone())
    }

    /// Checks that borrowed bytes existed until they were used.
    pub(crate) fn intact(&self, storage: &dyn Storage) -> Result<(), IoError> {
        if let Some((_, extent)) = &self.all {
            return storage.intact(extent.within.clone());
        }
        let is_borrowed =
            |place: &Place<'_>| matches!(place, Place::Borrowed(bytes) if !bytes.is_empty());
        if !self.places.iter().any(is_borrowed) {
            return Ok(());
        }
        let used = self.ranges.iter().filter(|range| !range.is_empty());
        let start = used.clone().map(|range| range.start).min().unwrap_or(0);
        storage.intact(start..used.map(|range| range.end).max().unwrap_or(0))
    }

    /// Borrows every range from the memory of the storage, or none.
    fn borrow(&mut self, storage: &'s dyn Storage, cached: bool) -> bool {
        self.places.clear();
        // Called only to borrow, because a storage may map the file for it.
        if cached && let Some(all) = storage.all_mapped() {
            return self.borrow_of(all);
        }
        // Any access maps a whole page, so a box of many planes would seem to need many times its size.
        let most = MOST_ENTERED.max(self.wanted().saturating_mul(ENTERED_FOR_EACH));
        let cached = cached && entered_bytes(&self.ranges) <= most;
        for range in &self.ranges {
            let lent = match cached {
                _ if range.is_empty() => Some(&[][..]),
                true => storage.cached(range.clone()),
                false => storage.slice(range.clone()),
            };
            match lent {
                Some(bytes) => self.places.push(Place::Borrowed(bytes)),
                None => return false,
            }
        }
        true
    }

    /// Borrows every range from all bytes of the storage, and maps its pages in a separate loop, in which the processor
    /// waits for many of them at once.
    fn borrow_of(&mut self, all: &'s [u8]) -> bool {
        for range in &self.ranges {
            let bytes = match range.is_empty() {
                true => Some(&[][..]),
                false => all.get(range.start as usize..range.end as usize),
            };
            match bytes {
                Some(bytes) => self.places.push(Place::Borrowed(bytes)),
                None => return false,
            }
        }
        enter_all(self.places.iter().filter_map(|place| match place {
            Place::Borrowed(bytes) => Some(*bytes),
            Place::Buffer(_) => None,
        }));
        true
    }

    /// Assigns every range its position in the buffer; returns the required length of the buffer.
    fn place(&mut self, storage: &dyn Storage) -> u64 {
        self.places.clear();
        // Within the reserved capacity.
        self.places.resize(self.ranges.len(), Place::Buffer(0..0));
        self.reads.clear();
        let alignment = buffer_alignment(storage) as u64;
        let mut end = 0u64;
        for (index, segment) in self.plan.segments.iter().enumerate() {
            let range_read = widen(&segment.range, storage);
            let base = end.next_multiple_of(alignment);
            end = base + (range_read.end - range_read.start);
            let sparse = self.plan.is_sparse(index);
            if sparse {
                end = base;
            }
            for &index in &self.plan.order[segment.members.clone()] {
                let range = &self.ranges[index];
                let length = range.end - range.start;
                let start = if sparse { end } else { base + (range.start - range_read.start) };
                if sparse {
                    end += length;
                }
                self.places[index] = Place::Buffer(start as usize..(start + length) as usize);
            }
            self.reads.push((range_read, base as usize));
        }
        end
    }

    /// Reads all segments that are not sparse, including gaps, into the buffer.
    fn read_whole(&mut self, storage: &dyn Storage, end: usize) -> Result<u64, IoError> {
        let most = usize::try_from(storage.profile().request_bytes).unwrap_or(usize::MAX);
        let (mut rest, mut at) = (self.buffer.part_mut(0..end), 0);
        let (mut requests, mut total) = (Vec::new(), 0);
        for (index, (read, base)) in self.reads.iter().enumerate() {
            if self.plan.is_sparse(index) {
                continue;
            }
            let (_, from) = std::mem::take(&mut rest).split_at_mut(base - at);
            let (part, later) = from.split_at_mut(length(read));
            (rest, at) = (later, base + length(read));
            total += part.len() as u64;
            let offsets = (read.start..).step_by(most);
            let pieces = part.chunks_mut(most).zip(offsets);
            requests.extend(pieces.map(|(buffer, offset)| Request { offset, buffer }));
        }
        if !requests.is_empty() {
            storage.read_ranges(&mut requests)?;
        }
        Ok(total)
    }

    /// Reads a segment step by step and keeps only the requested pieces.
    fn read_sparse(&mut self, storage: &dyn Storage, index: usize) -> Result<u64, IoError> {
        let members = &self.plan.order[self.plan.segments[index].members.clone()];
        let mut rest = members;
        let mut total = 0;
        while let Some((&first, _)) = rest.split_first() {
            let start = self.ranges[first].start;
            let fits =
                |&&index: &&usize| self.ranges[index].end <= start.saturating_add(STAGING_BYTES);
            let count = rest.iter().take_while(fits).count();
            if count == 0 {
                // Longer than a step: read directly to its position.
                let range = &self.ranges[first];
                storage
                    .read_exact_at(range.start, place_of(&mut self.buffer, &self.places[first]))?;
                total += range.end - range.start;
                rest = &rest[1..];
                continue;
            }
            let (step, later) = rest.split_at(count);
            let end = step.iter().map(|&index| self.ranges[index].end).max().unwrap_or(start);
            let range_read = widen(&(start..end), storage);
            let length = (range_read.end - range_read.start) as usize;
            ensure(&mut self.staging, storage, length as u64)?;
            storage.read_exact_at(range_read.start, self.staging.part_mut(0..length))?;
            for &index in step {
                let range = &self.ranges[index];
                let from = (range.start - range_read.start) as usize;
                let piece = place_of(&mut self.buffer, &self.places[index]);
                piece.copy_from_slice(&self.staging.bytes()[from..from + piece.len()]);
            }
            total += length as u64;
            rest = later;
        }
        Ok(total)
    }
}

fn length(range: &Range<u64>) -> usize {
    (range.end - range.start) as usize
}

/// Returns the part of the buffer that a place refers to.
fn place_of<'b>(buffer: &'b mut AlignedBuffer, place: &Place<'_>) -> &'b mut [u8] {
    match place {
        Place::Buffer(range) => buffer.part_mut(range.clone()),
        Place::Borrowed(_) => &mut [],
    }
}

/// Widens a read to the alignment of the storage, but not beyond its end.
fn widen(range: &Range<u64>, storage: &dyn Storage) -> Range<u64> {
    let alignment = storage.profile().alignment as u64;
    let end = range.end.div_ceil(alignment).saturating_mul(alignment);
    range.start - range.start % alignment..end.min(storage.bytes())
}

fn buffer_alignment(storage: &dyn Storage) -> usize {
    storage.profile().alignment.max(CACHE_LINE)
}

fn ensure(buffer: &mut AlignedBuffer, storage: &dyn Storage, length: u64) -> Result<(), IoError> {
    let available = usize::try_from(length)
        .is_ok_and(|length| buffer.ensure(length, buffer_alignment(storage)));
    match available {
        true => Ok(()),
        false => Err(IoError::Memory { name: storage.name().to_owned(), bytes: length }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, STAGING_BYTES};
    use crate::conformance::temporary_file;
    use crate::{CachedStorage, DirectStorage, FileStorage, IoError, MemoryStorage, Storage};
    use proptest::prelude::*;
    use std::ops::Range;

    fn content() -> Vec<u8> {
        (0..2_000_003usize).map(|index| (index ^ (index / 251)) as u8).collect()
    }

    fn storages(content: &[u8]) -> (tempfile::TempDir, Vec<Box<dyn Storage>>) {
        let (directory, path) = temporary_file(content);
        let mut storages: Vec<Box<dyn Storage>> = vec![
            Box::new(FileStorage::open(&path).unwrap()),
            Box::new(CachedStorage::mapped(&path, FileStorage::open(&path).unwrap()).unwrap()),
            Box::new(MemoryStorage::new("memory", content.to_vec())),
        ];
        match DirectStorage::open(&path) {
            Ok(storage) => storages.push(Box::new(storage)),
            Err(error) => assert_eq!(error.code(), "io-direct"),
        }
        (directory, storages)
    }

    fn check(block: &mut Block<'_>, ranges: &[Range<u64>], content: &[u8]) {
        let fetched = block.fetched();
        assert_eq!(fetched.pieces(), ranges.len());
        for (index, range) in ranges.iter().enumerate() {
            let expected = &content[range.start as usize..range.end as usize];
            assert!(fetched.piece(index) == expected, "range {index}: {range:?}");
        }
    }

    #[test]
    fn sparse_ranges_take_little_memory_and_long_ones_their_own_read() {
        let content = content();
        let (_directory, storages) = storages(&content);
        // One pixel per row of 8 KiB, and in the middle a piece longer than the staging buffer.
        let long = 700_000..700_000 + STAGING_BYTES + 5;
        let mut ranges: Vec<_> = (0..240).map(|row| row * 8192 + 3..row * 8192 + 7).collect();
        ranges.insert(0, long);
        for storage in &storages {
            let mut block = Block { ranges: ranges.clone(), ..Block::default() };
            block.fetch(&**storage, false).unwrap();
            check(&mut block, &ranges, &content);
            assert!(block.buffer.bytes().len() < 300_000);
            assert!(block.staging.bytes().len() < 300_000);
        }
    }

    #[test]
    fn memory_is_lent_not_read() {
        let storage = MemoryStorage::new("memory", content());
        let mut block = Block { ranges: vec![5..10, 100..200_000], ..Block::default() };
        assert_eq!(block.fetch(&storage, false).unwrap(), 0);
        let expected = crate::Lend::slice(&storage, 100..200_000).unwrap().as_ptr();
        assert_eq!(block.fetched().piece(1).as_ptr(), expected);
    }

    #[test]
    fn a_task_that_would_enter_many_pages_is_copied() {
        const PAGE: u64 = crate::aligned::LARGE_PAGE as u64;
        const MOST: u64 = crate::backend::entered::MOST_ENTERED / PAGE;
        use crate::backend::cached::MOST_KEPT;
        let (_directory, path) = temporary_file(b"");
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let bytes_read = |pages: u64, bytes: u64| {
            let storage = CachedStorage::mapped(&path, FileStorage::open(&path).unwrap()).unwrap();
            let ranges = (0..pages).map(|page| page * PAGE..page * PAGE + bytes).collect();
            Block { ranges, ..Block::default() }.fetch(&storage, true).unwrap()
        };
        file.set_len(MOST_KEPT + 1).unwrap();
        assert_eq!((bytes_read(MOST, 100), bytes_read(MOST + 1, 100)), (0, (MOST + 1) * 100));
        // Unless the task requests much of each page, or the pages stay mapped anyway.
        assert_eq!(bytes_read(MOST + 1, PAGE / 2), 0);
        file.set_len(MOST_KEPT).unwrap();
        assert_eq!(bytes_read(MOST + 1, 100), 0);
    }

    #[test]
    fn a_range_beyond_the_end_is_refused_before_any_allocation() {
        let (_directory, path) = temporary_file(&[1; 100]);
        let storage = FileStorage::open(&path).unwrap();
        for range in [0..u64::MAX, 50..101, u64::MAX - 1..u64::MAX] {
            let mut block = Block { ranges: vec![0..10, range], ..Block::default() };
            assert!(matches!(block.fetch(&storage, false), Err(IoError::Short { size: 100, .. })));
            assert!(block.buffer.bytes().is_empty());
        }
    }

    proptest! {
        #[test]
        fn any_ranges_give_their_bytes(
            tasks in prop::collection::vec(
                prop::collection::vec((0u64..2_000_003, 0u64..100_000, any::<bool>()), 0..30),
                1..4,
            ),
        ) {
            let content = content();
            let (_directory, storages) = storages(&content);
            for storage in &storages {
                // The block is reused, as in the pipeline.
                let mut block = Block::default();
                for task in &tasks {
                    block.ranges = task
                        .iter()
                        .map(|&(start, length, short)| {
                            let length = if short { length % 9 } else { length };
                            start..(start + length).min(2_000_003)
                        })
                        .collect();
                    let ranges = block.ranges.clone();
                    for cached in [false, true] {
                        block.fetch(&**storage, cached).unwrap();
                        check(&mut block, &ranges, &content);
                        block.intact(&**storage).unwrap();
                    }
                }
            }
        }
    }
}
