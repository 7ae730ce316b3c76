//! A bounded cache of blocks of a storage that takes long to answer, and reading ahead in it: for walks over headers, each
//! of which says where the next one is.
//!
//! Bytes in memory and on local devices are read as they are: the system reads ahead and caches for them.

use std::collections::HashMap;
use std::ops::Range;

use tachyfits_memory as memory;

use crate::error::IoError;
use crate::profile::{Latency, Profile};
use crate::storage::{Request, Storage};

/// Bytes of a block: more than most headers have.
const BLOCK_BYTES: u64 = 32 << 10;

/// The most bytes that the cache keeps.
const BUDGET_BYTES: u64 = 8 << 20;

/// The most bytes that are read ahead of a walk in small steps.
const MOST_AHEAD: u64 = 1 << 20;

/// The places of a walk that were at one distance so often are expected to go on so.
const SAME_STEPS: usize = 2;

/// Reads a storage from place to place, by few requests.
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
    /// How much is read ahead of the next place, if it is near.
    ahead: u64,
    /// Where the last read ended, and the last places that were read from after a step.
    end: u64,
    place: u64,
    step: u64,
    same_steps: usize,
}

impl<'a> ReadAhead<'a> {
    /// Begins before the first byte.
    pub fn new(storage: &'a dyn Storage) -> ReadAhead<'a> {
        let cache = BlockCache::new(BUDGET_BYTES);
        let profile = storage.profile();
        let ahead = 2 * BLOCK_BYTES;
        ReadAhead { storage, profile, cache, ahead, end: 0, place: 0, step: 0, same_steps: 0 }
    }

    /// Fills `buffer` from `offset` on.
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
        if self.cache.lacks(&range) {
            let ranges = self.expected(&range);
            self.cache.fetch(self.storage, &ranges)?;
        }
        self.end = range.end;
        self.cache.copy(offset, buffer);
        Ok(())
    }

    /// The wanted range first, then what a walk is expected to want next.
    fn expected(&mut self, range: &Range<u64>) -> Vec<Range<u64>> {
        let near = range.start.saturating_sub(self.end) <= self.profile.gap_bytes;
        if range.start == 0 || (near && range.start >= self.end) {
            // Small steps: twice as much with each miss.
            let ahead = range.start..range.end.max(range.start.saturating_add(self.ahead));
            self.ahead = (2 * self.ahead).min(MOST_AHEAD);
            self.place = range.start;
            return Vec::from([ahead]);
        }
        let step = range.start.saturating_sub(self.place);
        self.same_steps = if step == self.step { self.same_steps + 1 } else { 0 };
        (self.place, self.step) = (range.start, step);
        let guesses = if self.same_steps >= SAME_STEPS { self.profile.in_flight as u64 } else { 1 };
        if guesses > 1 {
            self.place = range.start.saturating_add((guesses - 1).saturating_mul(step));
        }
        let length = range.end - range.start;
        (0..guesses)
            .map(|guess| range.start.saturating_add(guess.saturating_mul(step)))
            .map(|start| start..start.saturating_add(length))
            .collect()
    }
}

/// Blocks of a storage, of which those that were used longest ago give way.
#[derive(Debug)]
struct BlockCache {
    /// By number: the bytes, and when they were used.
    blocks: HashMap<u64, (Vec<u8>, u64)>,
    bytes: u64,
    budget: u64,
    uses: u64,
}

/// The blocks that a range lies in.
fn blocks(range: &Range<u64>) -> Range<u64> {
    range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES)
}

impl BlockCache {
    fn new(budget: u64) -> BlockCache {
        BlockCache { blocks: HashMap::new(), bytes: 0, budget, uses: 0 }
    }

    /// Returns whether blocks of a range are missing. The others count as used, so that they do not give way to those that are
    /// fetched with them.
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

    /// Reads the blocks of the ranges that it lacks by one call: the first range whole, of the others what the budget allows.
    fn fetch(&mut self, storage: &dyn Storage, ranges: &[Range<u64>]) -> Result<(), IoError> {
        let end = storage.bytes();
        let mut wanted: Vec<u64> = Vec::new();
        for (index, range) in ranges.iter().enumerate() {
            let within = range.start.min(end)..range.end.min(end);
            for block in blocks(&within).filter(|_| !within.is_empty()) {
                let fits = (wanted.len() as u64 + 1) * BLOCK_BYTES <= self.budget / 2;
                if (index == 0 || fits)
                    && !self.blocks.contains_key(&block)
                    && !wanted.contains(&block)
                {
                    wanted.push(block);
                }
            }
        }
        wanted.sort_unstable();
        let length = |block: u64| (end - block * BLOCK_BYTES).min(BLOCK_BYTES);
        // Blocks after one another are one request.
        let runs: Vec<&[u64]> = wanted.chunk_by(|a, b| a + 1 == *b).collect();
        let bytes = |run: &&[u64]| run.iter().map(|&block| length(block)).sum::<u64>();
        let room = |run| memory::filled(bytes(run) as usize, 0, "headers read ahead");
        let mut read: Vec<Vec<u8>> = runs.iter().map(room).collect::<Result<_, _>>()?;
        let mut requests: Vec<Request<'_>> = runs
            .iter()
            .zip(&mut read)
            .map(|(run, buffer)| Request { offset: run[0] * BLOCK_BYTES, buffer })
            .collect();
        storage.read_ranges(&mut requests)?;
        for (run, read) in runs.iter().zip(&read) {
            for (&block, bytes) in run.iter().zip(read.chunks(BLOCK_BYTES as usize)) {
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

    /// Copies bytes whose blocks are there.
    fn copy(&mut self, offset: u64, out: &mut [u8]) {
        self.uses += 1;
        for block in blocks(&(offset..offset + out.len() as u64)) {
            let Some((bytes, used)) = self.blocks.get_mut(&block) else { continue };
            *used = self.uses;
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

    /// Reads `count` times 2880 bytes, each so far from the one before; gives the calls, the requests and the bytes.
    fn walk(bytes: u64, step: u64, count: u64) -> (usize, usize, u64) {
        let far = Far { bytes, ..Far::default() };
        let mut ahead = ReadAhead::new(&far);
        let mut header = vec![0; 2880];
        for offset in (0..count).map(|place| place * step) {
            ahead.read_exact_at(offset, &mut header).unwrap();
            assert!((offset..).zip(&header).all(|(place, &byte)| byte == value(place)));
            assert!(ahead.cache.bytes <= BUDGET_BYTES);
        }
        far.calls.into_inner().unwrap()
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
        // The cache is full. Of the next range, it has the blocks that were used longest ago.
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
        let mut left = |block: u64| !cache.lacks(&byte_of(block));
        assert_eq!([0, 1, 2, 3, 9].map(&mut left), [true, false, true, true, true]);
    }
}
