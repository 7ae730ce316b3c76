//! A cache of limited size for blocks of a storage with high latency, and read-ahead: for walks over headers, each of
//! which determines the position of the next one.
//!
//! Bytes in memory and on local devices are read directly: the system reads ahead and caches for them.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use tachyfits_memory as memory;

use crate::error::IoError;
use crate::profile::{Latency, Profile};
use crate::storage::{Request, Storage};

/// Bytes of a block: the size of most headers.
const BLOCK_BYTES: u64 = 16 << 10;

/// Maximum bytes in the cache.
const BUDGET_BYTES: u64 = 8 << 20;

/// Maximum read-ahead of a walk in small steps.
const MOST_AHEAD: u64 = 1 << 20;

/// Maximum bytes read at an expected position, and maximum margin before and after them: together a short request.
const MOST_LENGTH: u64 = 32 << 10;
const MOST_AROUND: u64 = 16 << 10;

/// Steps belong to one run if they differ from its mean by at most this: sizes of compressed images differ slightly.
const STEP_TOLERANCE: u64 = 32 << 10;

/// Minimum expected difference between steps: a FITS block.
const STEP_SPREAD: u64 = 2880;

/// Reader for scattered positions of a storage that makes few requests.
///
/// ```
/// use tachyfits_io::{MemoryStorage, ReadAhead};
///
/// let storage = MemoryStorage::new("example", b"SIMPLE  =".to_vec());
/// let mut keyword = [0; 6];
/// ReadAhead::new(&storage).read_exact_at(0, &mut keyword)?;
/// assert_eq!(&keyword, b"SIMPLE");
/// # Ok::<(), tachyfits_io::IoError>(())
/// ```
#[derive(Debug)]
pub struct ReadAhead<'a> {
    storage: &'a dyn Storage,
    profile: Profile,
    cache: BlockCache,
    /// Number of bytes to read ahead if the next position is near.
    ahead: u64,
    /// End of the last read.
    end: u64,
    strides: Strides,
}

impl<'a> ReadAhead<'a> {
    /// Returns a reader for a storage.
    pub fn new(storage: &'a dyn Storage) -> ReadAhead<'a> {
        let cache = BlockCache::new(BUDGET_BYTES);
        let profile = storage.profile();
        let strides = Strides::new(profile.in_flight);
        ReadAhead { storage, profile, cache, ahead: 64 << 10, end: 0, strides }
    }

    /// Fills `buffer` with the bytes at `offset`.
    ///
    /// # Errors
    /// As [`Storage::read_ranges`].
    pub fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let length = buffer.len() as u64;
        if self.profile.latency != Latency::Network || length > BUDGET_BYTES / 2 {
            return self.storage.read_exact_at(offset, buffer);
        }
        self.storage.check_within(offset, length)?;
        let range = offset..offset + length;
        self.strides.visit(&range);
        let end = std::mem::replace(&mut self.end, range.end);
        if self.storage.is_resident(range.clone()) {
            return self.storage.read_exact_at(offset, buffer);
        }
        if self.cache.lacks(&range) {
            let ranges = self.expected(range, end);
            self.cache.fetch(self.storage, &ranges)?;
        }
        self.cache.copy(offset, buffer);
        Ok(())
    }

    /// Passes the blocks that were used to the storage, unless they are too many: see [`Storage::keep`].
    pub fn finish(self) {
        let parts = self.cache.used_parts();
        if !parts.is_empty() {
            self.storage.keep(parts);
        }
    }

    /// Returns the range, followed by the ranges that a walk is expected to read next. `end`: end of the previous read.
    fn expected(&mut self, range: Range<u64>, end: u64) -> Vec<Range<u64>> {
        let is_near =
            range.start >= end && range.start.saturating_sub(end) <= self.profile.gap_bytes;
        if range.start == 0 || is_near {
            // Small steps: double the read-ahead with each miss.
            let ahead = range.start..range.end.max(range.start.saturating_add(self.ahead));
            self.ahead = (2 * self.ahead).min(MOST_AHEAD);
            return Vec::from([ahead]);
        }
        let mut ranges = Vec::from([range]);
        ranges.extend(self.strides.next_windows());
        ranges
    }
}

/// Positions of a walk, and a prediction of the next ones from the steps so far.
#[derive(Debug)]
struct Strides {
    /// Last position, end of the reads from there, and maximum bytes read from one position.
    place: u64,
    end: u64,
    length: u64,
    /// Start of the run of similar steps, their number, the shortest and the longest one.
    first: u64,
    count: u64,
    shortest: u64,
    longest: u64,
    /// Number of positions to read at the next miss, and once two steps are similar.
    next: u64,
    in_flight: u64,
}

impl Strides {
    fn new(in_flight: usize) -> Strides {
        let in_flight = in_flight as u64;
        // Before any step is known, half of the requests are speculative: most files have images of one size.
        let (place, end, length, next) = (0, 0, 0, in_flight / 2);
        let (first, count, shortest, longest) = (0, 0, 0, 0);
        Strides { place, end, length, first, count, shortest, longest, next, in_flight }
    }

    /// Returns the mean step of the run.
    fn mean(&self) -> u64 {
        self.place.saturating_sub(self.first).checked_div(self.count).unwrap_or(0)
    }

    /// Records a read.
    fn visit(&mut self, range: &Range<u64>) {
        if range.start != self.end {
            self.step_to(range.start);
        }
        // A long header is read in several pieces.
        self.end = range.end;
        self.length = self.length.max(self.end - self.place).min(MOST_LENGTH);
    }

    fn step_to(&mut self, place: u64) {
        let step = place.saturating_sub(self.place);
        if self.count > 0 && step.abs_diff(self.mean()) <= STEP_TOLERANCE {
            self.count += 1;
            (self.shortest, self.longest) = (self.shortest.min(step), self.longest.max(step));
            self.next = if self.next <= 1 { self.in_flight } else { self.next };
        } else {
            if self.count > 0 {
                self.next = 1;
            }
            (self.first, self.count) = (self.place, 1);
            (self.shortest, self.longest) = (step, step);
        }
        self.place = place;
    }

    /// Returns the ranges around the next positions. They widen with the number of steps ahead and the spread of
    /// earlier steps; the prediction ends where they become too wide.
    fn next_windows(&mut self) -> impl Iterator<Item = Range<u64>> + use<> {
        let (place, length, count, mean) =
            (self.place, self.length, self.count.max(1), self.mean());
        let spread = (self.longest - self.shortest).max(STEP_SPREAD);
        // The error of the mean accumulates; differences from the mean partly cancel, as in a random walk.
        let around = move |steps: u64| spread * steps / count + spread * steps.isqrt() / 2;
        let steps = 1..self.next;
        self.next = (2 * self.next).min(2 * self.in_flight);
        let is_narrow = move |steps: &u64| around(*steps) <= MOST_AROUND;
        steps.take_while(is_narrow).map(move |steps| {
            let start = place.saturating_add(steps.saturating_mul(mean));
            let end = start.saturating_add(length).saturating_add(around(steps));
            start.saturating_sub(around(steps))..end
        })
    }
}

/// Least-recently-used cache of blocks of a storage.
#[derive(Debug)]
struct BlockCache {
    /// By number: the bytes, and the time of last use.
    blocks: HashMap<u64, (Vec<u8>, u64)>,
    /// Numbers of the blocks that were copied from.
    copied: BTreeSet<u64>,
    bytes: u64,
    budget: u64,
    uses: u64,
}

/// Returns the blocks that contain a range.
fn blocks(range: &Range<u64>) -> Range<u64> {
    range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES)
}

impl BlockCache {
    fn new(budget: u64) -> BlockCache {
        BlockCache { blocks: HashMap::new(), copied: BTreeSet::new(), bytes: 0, budget, uses: 0 }
    }

    /// Returns whether blocks of a range are missing. Marks the others as used, so that fetching the missing ones does
    /// not evict them.
    fn lacks(&mut self, range: &Range<u64>) -> bool {
        self.uses += 1;
        let mut lacks = false;
        for block in blocks(range) {
            match self.blocks.get_mut(&block) {
                Some((_, used)) => *used = self.uses,
                None => lacks = true,
            }
        }
        lacks
    }

    /// Reads missing blocks of the ranges with one call: the whole first range, and as much of the others as the budget
    /// allows.
    fn fetch(&mut self, storage: &dyn Storage, ranges: &[Range<u64>]) -> Result<(), IoError> {
        let end = storage.bytes();
        let mut missing: Vec<u64> = Vec::new();
        for (index, range) in ranges.iter().enumerate() {
            let within = range.start.min(end)..range.end.min(end);
            for block in blocks(&within).filter(|_| !within.is_empty()) {
                let fits = (missing.len() as u64 + 1) * BLOCK_BYTES <= self.budget / 2;
                if (index == 0 || fits)
                    && !self.blocks.contains_key(&block)
                    && !missing.contains(&block)
                {
                    missing.push(block);
                }
            }
        }
        missing.sort_unstable();
        let length = |block: u64| (end - block * BLOCK_BYTES).min(BLOCK_BYTES);
        // Consecutive blocks are one request.
        let runs: Vec<&[u64]> = missing.chunk_by(|a, b| a + 1 == *b).collect();
        let bytes = |run: &&[u64]| run.iter().map(|&block| length(block)).sum::<u64>();
        let room = |run| memory::filled(bytes(run) as usize, 0, "headers read ahead");
        let mut buffers: Vec<Vec<u8>> = runs.iter().map(room).collect::<Result<_, _>>()?;
        let mut requests: Vec<Request<'_>> = runs
            .iter()
            .zip(&mut buffers)
            .map(|(run, buffer)| Request { offset: run[0] * BLOCK_BYTES, buffer })
            .collect();
        storage.read_ranges(&mut requests)?;
        for (run, buffer) in runs.iter().zip(&buffers) {
            for (&block, bytes) in run.iter().zip(buffer.chunks(BLOCK_BYTES as usize)) {
                self.insert(block, bytes.to_vec());
            }
        }
        Ok(())
    }

    fn insert(&mut self, block: u64, bytes: Vec<u8>) {
        self.uses += 1;
        self.bytes += bytes.len() as u64;
        self.blocks.insert(block, (bytes, self.uses));
        while self.bytes > self.budget {
            let oldest = self.blocks.iter().min_by_key(|(_, (_, used))| *used);
            let Some((&oldest, _)) = oldest else { break };
            let removed = self.blocks.remove(&oldest);
            self.bytes -= removed.map_or(0, |(bytes, _)| bytes.len() as u64);
        }
    }

    /// Returns the bytes of the blocks that were copied from, with consecutive blocks merged; nothing if some were
    /// evicted.
    fn used_parts(mut self) -> Vec<(u64, Vec<u8>)> {
        let mut parts: Vec<(u64, Vec<u8>)> = Vec::new();
        for block in std::mem::take(&mut self.copied) {
            let Some((bytes, _)) = self.blocks.remove(&block) else { return Vec::new() };
            let offset = block * BLOCK_BYTES;
            match parts.last_mut() {
                // Within the budget.
                Some((first, part)) if *first + part.len() as u64 == offset => part.extend(bytes),
                _ => parts.push((offset, bytes)),
            }
        }
        parts
    }

    /// Copies bytes whose blocks are in the cache.
    fn copy(&mut self, offset: u64, out: &mut [u8]) {
        self.uses += 1;
        for block in blocks(&(offset..offset + out.len() as u64)) {
            let Some((bytes, used)) = self.blocks.get_mut(&block) else { continue };
            *used = self.uses;
            self.copied.insert(block);
            let begin = block * BLOCK_BYTES;
            let (from, to) = (offset.saturating_sub(begin), begin.saturating_sub(offset) as usize);
            let part = &bytes[from as usize..];
            let count = part.len().min(out.len() - to);
            out[to..to + count].copy_from_slice(&part[..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, BUDGET_BYTES, BlockCache, ReadAhead};
    use crate::error::IoError;
    use crate::profile::Profile;
    use crate::storage::{Id, Request, Storage};
    use std::sync::Mutex;

    /// A server that counts calls and bytes.
    #[derive(Debug, Default)]
    struct Far {
        bytes: u64,
        calls: Mutex<(usize, usize, u64)>,
    }

    impl Storage for Far {
        fn id(&self) -> &Id {
            static ID: Id = Id::named("far");
            &ID
        }

        fn bytes(&self) -> u64 {
            self.bytes
        }

        fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
            self.read_ranges(&mut [Request { offset, buffer }])
        }

        fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
            let mut calls = self.calls.lock().unwrap();
            calls.0 += 1;
            for Request { offset, buffer } in requests {
                self.check_within(*offset, buffer.len() as u64)?;
                calls.1 += 1;
                calls.2 += buffer.len() as u64;
                (*offset..).zip(buffer.iter_mut()).for_each(|(place, byte)| *byte = value(place));
            }
            Ok(())
        }

        fn profile(&self) -> Profile {
            Profile::NETWORK
        }
    }

    fn value(place: u64) -> u8 {
        (place ^ (place / 251)) as u8
    }

    /// Reads 2880 bytes at each of these positions; returns the numbers of calls, requests and bytes.
    fn walk_to(bytes: u64, places: impl IntoIterator<Item = u64>) -> (usize, usize, u64) {
        let far = Far { bytes, ..Far::default() };
        let mut ahead = ReadAhead::new(&far);
        let mut header = vec![0; 2880];
        for offset in places {
            ahead.read_exact_at(offset, &mut header).unwrap();
            assert!((offset..).zip(&header).all(|(place, &byte)| byte == value(place)));
            assert!(ahead.cache.bytes <= BUDGET_BYTES);
        }
        far.calls.into_inner().unwrap()
    }

    /// Does the same for `count` positions at a fixed step.
    fn walk(bytes: u64, step: u64, count: u64) -> (usize, usize, u64) {
        walk_to(bytes, (0..count).map(|place| place * step))
    }

    /// Returns the positions of a walk with steps between `step - spread` and `step`, in whole blocks.
    fn places(count: u64, step: u64, spread: u64) -> Vec<u64> {
        let shorter = (0..count).map(|n| n * n * 7919 % (spread + 1));
        let steps = shorter.scan(0, |place, less| {
            let before = *place;
            *place += (step - less) / 2880 * 2880;
            Some(before)
        });
        steps.collect()
    }

    #[test]
    fn headers_near_each_other_take_few_requests_of_no_more_bytes_than_there_are() {
        let (calls, requests, bytes) = walk(57_600_000, 5760, 10_000);
        assert!(calls <= 64 && requests == calls && bytes <= 57_600_000, "{calls} {bytes}");
    }

    #[test]
    fn headers_at_equal_steps_are_guessed() {
        let (calls, requests, bytes) = walk(1 << 40, 10 << 20, 1000);
        assert!(calls <= 70, "{calls}");
        assert!(requests <= 1100 && bytes <= 1100 * 3 * BLOCK_BYTES, "{requests} {bytes}");
    }

    #[test]
    fn headers_at_about_equal_steps_are_guessed() {
        let (calls, _, bytes) = walk_to(1 << 30, places(60, 550_080, 2880));
        assert!(calls <= 8 && bytes <= 60 * 4 * BLOCK_BYTES, "{calls} {bytes}");
    }

    #[test]
    fn bytes_of_guesses_that_may_be_wrong_are_few() {
        for spread in [10_000, 100_000, 500_000] {
            let (calls, _, bytes) = walk_to(1 << 30, places(200, 900_000, spread));
            assert!(calls <= 201 && bytes <= 201 * 6 * BLOCK_BYTES, "{spread} {calls} {bytes}");
        }
    }

    #[test]
    fn the_end_of_the_storage_is_not_passed() {
        assert_eq!(walk(2880, 5760, 1), (1, 1, 2880));
        let far = Far { bytes: 100_000, ..Far::default() };
        let mut ahead = ReadAhead::new(&far);
        let error = ahead.read_exact_at(99_999, &mut [0; 2]).unwrap_err();
        assert_eq!(error.code(), "io-short");
        ahead.read_exact_at(99_999, &mut [0; 1]).unwrap();
    }

    #[test]
    fn blocks_of_a_range_do_not_give_way_to_its_others() {
        let far = Far { bytes: 1 << 30, ..Far::default() };
        let mut ahead = ReadAhead::new(&far);
        let mut buffer = vec![0; (BUDGET_BYTES / 2) as usize];
        for place in (1..9).rev() {
            ahead.read_exact_at(place << 25, &mut buffer[..1 << 20]).unwrap();
        }
        // The cache is full. Of the next range, it contains the least recently used blocks.
        let offset = 8 << 25;
        ahead.read_exact_at(offset, &mut buffer).unwrap();
        assert!((offset..).zip(&buffer).all(|(place, &byte)| byte == value(place)));
        assert!(ahead.cache.bytes <= BUDGET_BYTES);
    }

    #[test]
    fn blocks_used_longest_ago_give_way() {
        let far = Far { bytes: 1 << 30, ..Far::default() };
        let byte_of = |block: u64| block * BLOCK_BYTES..block * BLOCK_BYTES + 1;
        let mut cache = BlockCache::new(4 * BLOCK_BYTES);
        for block in 0..4 {
            cache.fetch(&far, std::slice::from_ref(&byte_of(block))).unwrap();
        }
        cache.copy(5, &mut [0; 3]);
        cache.fetch(&far, std::slice::from_ref(&byte_of(9))).unwrap();
        let mut in_cache = |block: u64| !cache.lacks(&byte_of(block));
        assert_eq!([0, 1, 2, 3, 9].map(&mut in_cache), [true, false, true, true, true]);
    }
}
