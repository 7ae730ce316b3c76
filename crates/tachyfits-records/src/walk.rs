//! Walks from marker to marker through a sequential file: determines the bytes to read next, and finally the index.
//!
//! The walk reads only markers. For short records it requests whole blocks and walks through them; for long records it
//! requests the two adjacent markers between records. Blocks grow while the markers are close together, up to a limit.
//!
//! After damage, recovery first tries the position that the leading marker of the damaged record points to: often the
//! marker itself is intact. Then it tries every byte as the start of a record. A candidate counts if its markers agree,
//! it has bytes, and another such record or the end of the file follows; a few records without bytes, which look like
//! any zeros, may be between. To bound the work, the candidate's length must have occurred before, or be short enough
//! to end within the searched block.

use std::ops::Range;

use tachyfits_memory::{self as memory, NoMemory};

use crate::bytes::{Bytes, Fault, Need, Stop};
use crate::error::{Code, Problem};
use crate::index::{RUNS, RecordIndex};
use crate::markers::RecordMarkers;

const SMALLEST_BLOCK: usize = 64;
const LARGEST_BLOCK: usize = 1 << 20;

/// Number of record lengths that recovery remembers.
const LENGTHS: usize = 16;

/// Maximum number of records without bytes that recovery skips between two records with bytes.
const EMPTY_BETWEEN: usize = 64;

/// Request of a [`RecordWalker`] or a [`super::MarkerDetector`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordStep {
    /// Supply these bytes with `supply`.
    Read {
        /// Byte offset in the file.
        offset: u64,
        /// Number of bytes, all within the file as it was when the walk began.
        bytes: usize,
    },
    /// Nothing more.
    Done,
}

impl From<Need> for RecordStep {
    fn from(need: Need) -> RecordStep {
        RecordStep::Read { offset: need.offset, bytes: need.bytes }
    }
}

tachyfits_io::options! {
    /// Limits of a walk.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RecordLimits {
        /// Runs of the index, including subrecords: 2^25 take 2 GB.
        pub max_runs: usize,
        /// Damaged ranges that recovery skips, each with its reason: 2^16 take 20 MB.
        pub max_skipped: usize,
        /// Maximum gap between records that is read along; larger gaps are skipped by a separate read.
        pub near_bytes: u64,
    }
}

impl Default for RecordLimits {
    fn default() -> Self {
        RecordLimits { max_runs: 1 << 25, max_skipped: 1 << 16, near_bytes: 4096 }
    }
}

/// Walks over the records of a file of known size.
///
/// ```
/// use tachyfits_records::{FileOrder, RecordLimits, RecordMarkers, RecordStep, RecordWalker};
/// let file = [0, 0, 0, 2, 7, 9, 0, 0, 0, 2];
/// let markers = RecordMarkers::new(4, FileOrder::Big).unwrap();
/// let mut walker = RecordWalker::new(markers, file.len() as u64, RecordLimits::default(), false);
/// while let RecordStep::Read { offset, bytes } = walker.step() {
///     walker.supply(&file[offset as usize..][..bytes]);
/// }
/// let index = walker.finish();
/// assert_eq!((index.len(), index.payload(0)), (1, vec![4..6]));
/// ```
#[derive(Debug)]
pub struct RecordWalker {
    markers: RecordMarkers,
    /// Set if there was too little memory for the index.
    shortage: Option<NoMemory>,
    limits: RecordLimits,
    recover: bool,
    bytes: Bytes,
    index: RecordIndex,
    /// Offset of the next leading marker.
    at: u64,
    /// Subrecords of the incomplete record.
    pieces: Vec<Range<u64>>,
    pieces_kept: usize,
    /// End of the last read, and length of the next one.
    read_end: u64,
    block: usize,
    /// Search for the next record after damage.
    search: Option<Search>,
    /// Offset where recovery last continued: it must not return there.
    recovered: u64,
    finished: bool,
}

#[derive(Debug)]
struct Search {
    /// Offset of the damaged record.
    from: u64,
    error: Problem,
    /// Offset of the marker that points past the damaged record, until it was followed; whether the search is at its
    /// target.
    pointer: Option<u64>,
    is_pointed_to: bool,
    /// Candidate offset; offset of the record after the candidate, once the candidate is verified; number of records
    /// without bytes skipped after it.
    at: u64,
    second: Option<u64>,
    passed: usize,
    lengths: Vec<u64>,
}

impl RecordWalker {
    /// Creates a walk over a file of `file_bytes`; with `recover` it continues after damage.
    #[must_use]
    pub fn new(
        markers: RecordMarkers,
        file_bytes: u64,
        limits: RecordLimits,
        recover: bool,
    ) -> RecordWalker {
        RecordWalker {
            markers,
            shortage: None,
            limits,
            recover,
            bytes: Bytes::new(file_bytes),
            index: RecordIndex::default(),
            at: 0,
            pieces: Vec::new(),
            pieces_kept: 0,
            read_end: 0,
            block: SMALLEST_BLOCK,
            search: None,
            recovered: 0,
            finished: false,
        }
    }

    /// Continues as far as the supplied bytes allow.
    pub fn step(&mut self) -> RecordStep {
        while !self.finished {
            let need = match self.search {
                None => self.walk(),
                Some(_) => self.look(),
            };
            if let Some(need) = need {
                return need;
            }
        }
        RecordStep::Done
    }

    /// Supplies the bytes of the latest [`RecordStep::Read`].
    pub fn supply(&mut self, bytes: &[u8]) {
        self.bytes.supply(bytes);
    }

    /// Number of bytes of the file that the walk has passed.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.search.as_ref().map_or(self.at, |search| search.at)
    }

    /// Offset of the next record, if the walk is between records: not within a record of several subrecords, not
    /// searching after damage, and not finished.
    #[must_use]
    pub fn before_record(&self) -> Option<u64> {
        let within = self.search.is_some() || !self.pieces.is_empty();
        (!within && !self.finished).then_some(self.at)
    }

    /// Records that the walk has passed.
    #[must_use]
    pub fn so_far(&self) -> &RecordIndex {
        &self.index
    }

    /// Skips `count` records of `bytes` bytes each, whose markers the caller has checked; returns false, without
    /// effect, unless the walk is between records and the number of runs stays within its limit. Saves the walk for a
    /// caller that reads the records anyway.
    ///
    /// ```
    /// use tachyfits_records::{FileOrder, RecordLimits, RecordMarkers, RecordStep, RecordWalker};
    /// let file = [0, 0, 0, 1, 7, 0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 1];
    /// let markers = RecordMarkers::new(4, FileOrder::Big).unwrap();
    /// let mut walker = RecordWalker::new(markers, 18, RecordLimits::default(), false);
    /// assert_eq!(markers.equal_records(&file, 1), 2);
    /// assert!(walker.pass(1, 2));
    /// assert_eq!(walker.step(), RecordStep::Done);
    /// assert_eq!(walker.finish().payload(1), [13..14]);
    /// ```
    pub fn pass(&mut self, bytes: u64, count: u64) -> bool {
        let Some(at) = self.before_record() else { return false };
        let width = self.markers.bytes() as u64;
        let stride = bytes + 2 * width;
        let room = (self.bytes.file_bytes - at) / stride;
        if count > room || self.index.runs().len() + self.pieces_kept >= self.limits.max_runs {
            return false;
        }
        if self.index.reserve().is_err() {
            return false;
        }
        self.index.push(at + width, bytes, stride, count);
        self.at = at + count * stride;
        self.index.end = self.at;
        true
    }

    /// Checks that memory for the index has been sufficient.
    ///
    /// # Errors
    /// Returns an error if it was not; the walk is over then.
    pub fn check_memory(&self) -> Result<(), NoMemory> {
        self.shortage.map_or(Ok(()), Err)
    }

    /// Returns the index; [`RecordIndex::damage`] states why it ends before the file does.
    #[must_use]
    pub fn finish(self) -> RecordIndex {
        self.index
    }

    /// Indexes records until bytes are missing, the file ends, or damage occurs.
    fn walk(&mut self) -> Option<RecordStep> {
        if self.at == self.bytes.file_bytes && self.pieces.is_empty() {
            self.finished = true;
            return None;
        }
        let reserved = self.index.reserve();
        let reserved = reserved.and_then(|()| memory::reserve(&mut self.pieces, 1, RUNS));
        if let Err(error) = reserved {
            self.shortage = Some(error);
            self.too_large(&format!("memory for {}", error.what), "less");
            return None;
        }
        match self.bytes.subrecord(self.markers, self.at, !self.pieces.is_empty()) {
            Ok(whole) => {
                let alone = self.pieces.is_empty() && !whole.goes_on;
                let at = std::mem::replace(&mut self.at, whole.next);
                if alone {
                    self.take_equal(at, whole.payload.end - whole.payload.start);
                } else {
                    self.pieces.push(whole.payload);
                    self.pieces_kept += 1;
                    if !whole.goes_on {
                        self.index.push_pieces(std::mem::take(&mut self.pieces));
                        self.index.end = self.at;
                    }
                }
                let most = self.limits.max_runs;
                if self.index.runs().len() + self.pieces_kept > most {
                    self.too_many(most, "runs of records of equal length");
                }
                None
            }
            Err(Stop::Need(need)) => Some(self.read(need)),
            Err(Stop::Fault(fault)) => {
                self.damaged(&fault);
                None
            }
        }
    }

    /// Indexes a record at an offset, and the following records of equal length in memory.
    fn take_equal(&mut self, offset: u64, bytes: u64) {
        let width = self.markers.bytes();
        let stride = bytes + 2 * width as u64;
        let count = self.markers.equal_records(self.bytes.at_hand(offset), bytes);
        let count = count.max(1);
        self.index.push(offset + width as u64, bytes, stride, count);
        self.at = offset + count * stride;
        self.index.end = self.at;
    }

    /// Requests the bytes from a marker on: a longer block if the last one ended close by.
    fn read(&mut self, need: Need) -> RecordStep {
        let near = need.offset <= self.read_end.saturating_add(self.limits.near_bytes);
        self.block = if near { (self.block * 4).min(LARGEST_BLOCK) } else { SMALLEST_BLOCK };
        let need = self.bytes.want(Need { bytes: need.bytes.max(self.block), ..need }, false);
        self.read_end = need.offset + need.bytes as u64;
        need.into()
    }

    fn problem(&self, code: Code, offset: u64, expected: &str, found: &str) -> Problem {
        Problem::new(code, expected, found).at(self.index.len() + 1, offset)
    }

    fn too_many(&mut self, most: usize, what: &str) {
        self.too_large(&format!("at most {most} {what}"), "one more");
    }

    fn too_large(&mut self, expected: &str, found: &str) {
        let problem = self.problem(Code::IndexTooLarge, self.at, expected, found);
        self.index.damage = Some(problem);
        self.finished = true;
    }

    fn damaged(&mut self, fault: &Fault) {
        let code = if fault.cut { Code::Cut } else { Code::Markers };
        let error = self.problem(code, fault.offset, &fault.expected, &fault.found);
        let from = self.index.end.max(self.recovered);
        let most = self.limits.max_skipped;
        self.pieces.clear();
        if !self.recover {
            self.index.damage = Some(error);
            self.finished = true;
            return;
        }
        if self.index.skipped.len() >= most {
            self.too_many(most, "damaged stretches");
            return;
        }
        let mut lengths = Vec::new();
        for run in self.index.runs().iter().rev().take(4 * LENGTHS) {
            if run.bytes > 0 && !lengths.contains(&run.bytes) && lengths.len() < LENGTHS {
                lengths.push(run.bytes);
            }
        }
        self.search = Some(Search {
            from,
            error,
            pointer: Some(self.at),
            is_pointed_to: false,
            at: from + 1,
            second: None,
            passed: 0,
            lengths,
        });
    }

    /// Searches for the next whole record.
    fn look(&mut self) -> Option<RecordStep> {
        let mut search = self.search.take()?;
        let width = self.markers.bytes();
        loop {
            if !search.is_pointed_to
                && self.bytes.file_bytes.saturating_sub(search.at) < 2 * width as u64
            {
                let end = self.bytes.file_bytes;
                self.index.skipped.push((search.from..end, search.error));
                self.finished = true;
                return None;
            }
            let begins = match search.pointer {
                Some(pointer) => self.follow(pointer, &mut search),
                None => self.begins_record(&mut search),
            };
            match begins {
                Ok(true) => {
                    self.index.skipped.push((search.from..search.at, search.error));
                    (self.at, self.recovered) = (search.at, search.at);
                    return None;
                }
                // The pointer was followed: its target is tried next.
                Ok(false) if search.pointer.take().is_some() => {}
                Ok(false) => {
                    let from = if search.is_pointed_to { search.from } else { search.at };
                    (search.at, search.is_pointed_to, search.second) = (from + 1, false, None);
                }
                Err(need) => {
                    // The searched bytes stay in memory while the end of a record is checked.
                    let elsewhere = need.offset != search.at;
                    self.search = Some(search);
                    return Some(self.bytes.want(need, elsewhere).into());
                }
            }
        }
    }

    /// Moves the search to the next record according to the marker at `pointer`, if that is in the file; returns
    /// whether the file ends there.
    fn follow(&self, pointer: u64, search: &mut Search) -> Result<bool, Need> {
        let markers = 2 * self.markers.bytes() as u64;
        let file_bytes = self.bytes.file_bytes;
        if file_bytes.saturating_sub(pointer) < markers {
            return Ok(false);
        }
        let leading = self.bytes.leading(self.markers, pointer)?.unsigned_abs();
        let next = pointer.saturating_add(leading).saturating_add(markers);
        // Too few remaining bytes cannot form a record.
        let is_end = next == file_bytes;
        if leading == 0 || !(is_end || next.saturating_add(markers) <= file_bytes) {
            return Ok(false);
        }
        (search.at, search.is_pointed_to) = (next, true);
        Ok(is_end)
    }

    /// Whether a record begins at the search position, followed by another record or the end of the file.
    fn begins_record(&self, search: &mut Search) -> Result<bool, Need> {
        let file_bytes = self.bytes.file_bytes;
        let block = self.bytes.at_hand(search.at).len();
        if block < LARGEST_BLOCK / 2 && search.at + (block as u64) < file_bytes {
            return Err(Need { offset: search.at, bytes: LARGEST_BLOCK });
        }
        if search.second.is_none() {
            let markers = 2 * self.markers.bytes() as u64;
            let width = self.markers.bytes();
            let leading = self.markers.read(self.bytes.view(search.at, width)?).unsigned_abs();
            let ends_in_block = leading.saturating_add(markers) <= block as u64;
            // Zeros count as a record only at an expected position.
            let may_be_one = leading != 0 || search.is_pointed_to;
            if !(may_be_one && (ends_in_block || search.lengths.contains(&leading))) {
                return Ok(false);
            }
            match self.bytes.subrecord(self.markers, search.at, false) {
                Ok(whole) if whole.goes_on || whole.next == file_bytes => return Ok(true),
                Ok(whole) => (search.second, search.passed) = (Some(whole.next), 0),
                Err(stop) => return self.unless_faulty(stop),
            }
        }
        while let Some(second) = search.second {
            match self.bytes.subrecord(self.markers, second, false) {
                Ok(whole) if !whole.payload.is_empty() || whole.next == file_bytes => {
                    return Ok(true);
                }
                Ok(_) if search.passed == EMPTY_BETWEEN => break,
                Ok(whole) => (search.second, search.passed) = (Some(whole.next), search.passed + 1),
                Err(stop) => return self.unless_faulty(stop),
            }
        }
        Ok(false)
    }

    fn unless_faulty(&self, stop: Stop) -> Result<bool, Need> {
        match stop {
            Stop::Need(need) => Err(Need { bytes: need.bytes.max(SMALLEST_BLOCK), ..need }),
            Stop::Fault(_) => Ok(false),
        }
    }
}
