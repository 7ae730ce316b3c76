//! Reads records ahead of the walk over the markers: records that probably have one length are read as if the walk had
//! confirmed it, and their markers are checked on the way.
//!
//! Walking first and reading afterwards would load the bytes of short records twice, and loading is nearly all the work
//! if the file is cached. If any marker differs, the walk decides, and reports records or faults. So the results are
//! the same as with the walk.

use std::ops::Range;

use tachyfits_io::operation::RunOptions;
use tachyfits_io::{Id, IoError, Profile, Report, Storage};
use tachyfits_kernels::{Fields, Tier, Transfer};

use crate::error::Error;
use crate::file::RecordFile;
use crate::layout::{BLOCK_BYTES, RecordLayout};
use crate::markers::{FileOrder, RecordMarkers};
use crate::payload::{read_numbers, with_block};
use crate::read::fill;

/// Records above this size are read directly to their destination.
const SHORT_RECORD: u64 = 16 << 10;

/// Records that are expected but not confirmed.
#[derive(Clone, Copy, Debug)]
struct Guess {
    markers: RecordMarkers,
    /// Offset of the first leading marker.
    offset: u64,
    /// Bytes of a record, and distance from one record to the next.
    bytes: u64,
    stride: u64,
    /// Maximum number of records that fit in the file.
    room: u64,
}

impl RecordFile {
    /// Predicts records from `first` of one length, from the marker of the first record and the size of the file:
    /// returns their number, exactly `most` unless they reach the end of the file, and their bytes.
    ///
    /// Returns `None` if a prediction has no advantage: the index exists already, or must be built.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn ahead(&self, first: u64, most: u64) -> Result<Option<(u64, u64)>, Error> {
        let Some(guess) = self.guess(first)? else { return Ok(None) };
        let count = guess.room.min(most);
        let end = guess.offset + count * guess.stride;
        let all = count == most || end == self.bytes();
        Ok((all && count > 0).then_some((count, guess.bytes)))
    }

    /// Reads records like [`RecordFile::read`], if they have the length that [`RecordFile::ahead`] predicts; `None` if
    /// not, or if items differ from plain numbers. The content of `out` is then invalid.
    ///
    /// # Errors
    /// Returns an error only if the job ends it; [`RecordFile::read`] reports all other errors.
    pub fn read_ahead(
        &self,
        first: u64,
        count: u64,
        layout: &RecordLayout,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<Option<Report>, Error> {
        let tier = Tier::current();
        let (Some(guess), Some(size)) = (self.guess(first)?, layout.is_plain()) else {
            return Ok(None);
        };
        let out_bytes = u128::from(count) * u128::from(guess.bytes);
        if layout.check().is_err()
            || guess.bytes != layout.record_bytes
            || count > guess.room
            || out_bytes != out.len() as u128
        {
            return Ok(None);
        }
        let swap = if self.order() == FileOrder::NATIVE { 1 } else { size };
        let view = AheadView { storage: self.storage(), guess, count, swap, tier };
        let block = (BLOCK_BYTES / guess.stride).max(1) * guess.bytes;
        match fill(&view, 0, out, block, options) {
            Ok(report) => Ok(self.pass(first, count, guess).then_some(report)),
            Err(error @ (IoError::Cancelled | IoError::Budget { .. })) => Err(error.into()),
            Err(_) => Ok(None),
        }
    }

    fn guess(&self, first: u64) -> Result<Option<Guess>, Error> {
        let Some(markers) = self.markers() else { return Ok(None) };
        let width = markers.bytes() as u64;
        let mut walk = self.walked();
        if self.is_indexed() {
            return Ok(None);
        }
        let walker = walk.get_or_insert_with(|| self.walker(markers));
        let Some(at) = walker.before_record() else { return Ok(None) };
        let index = walker.so_far();
        let last = index.runs().last().filter(|run| run.pieces.is_empty());
        let (offset, bytes) = if first == index.len() {
            if self.bytes() - at < 2 * width {
                return Ok(None);
            }
            let mut marker = [0; 8];
            let marker = &mut marker[..markers.bytes()];
            self.storage().read_exact_at(at, marker)?;
            (at, u64::try_from(markers.read(marker)).unwrap_or(0))
        } else if let Some(run) = last.filter(|run| (run.first..index.len()).contains(&first)) {
            (run.offset - width + (first - run.first) * run.stride, run.bytes)
        } else {
            return Ok(None);
        };
        let stride = bytes.saturating_add(2 * width);
        let room = (self.bytes() - offset) / stride;
        let worth = bytes > 0 && stride <= BLOCK_BYTES;
        Ok(worth.then_some(Guess { markers, offset, bytes, stride, room }))
    }

    /// Moves the walk past the verified records; returns whether its state is consistent with them.
    fn pass(&self, first: u64, count: u64, guess: Guess) -> bool {
        let mut walk = self.walked();
        // Another thread may have moved the walk meanwhile, or finished it.
        let Some(walker) = walk.as_mut() else { return true };
        let records = walker.so_far().len();
        let within = (first..first + count).contains(&records);
        let place =
            guess.offset.wrapping_add(records.wrapping_sub(first).wrapping_mul(guess.stride));
        if !within || walker.before_record() != Some(place) {
            return true;
        }
        walker.pass(guess.bytes, first + count - records)
    }
}

/// Bytes of the expected records, optionally swapped; read in whole records.
#[derive(Debug)]
struct AheadView<'a> {
    storage: &'a dyn Storage,
    guess: Guess,
    count: u64,
    /// Bytes per number to swap; 1 for none.
    swap: u64,
    tier: Tier,
}

impl Storage for AheadView<'_> {
    fn id(&self) -> &Id {
        self.storage.id()
    }

    fn profile(&self) -> Profile {
        Profile { alignment: 1, ..self.storage.profile() }
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.storage.check_unchanged()
    }

    fn bytes(&self) -> u64 {
        self.count * self.guess.bytes
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let Guess { offset: begin, bytes, stride, .. } = self.guess;
        let at = begin + offset / bytes * stride;
        let right = match stride <= SHORT_RECORD {
            _ if !self.is_whole(offset, buffer.len()) => false,
            true => self.pick(at, buffer)?,
            false => self.read_each(at, buffer)?,
        };
        if right {
            return Ok(());
        }
        let (name, expected) = (self.name().to_owned(), buffer.len() as u64);
        Err(IoError::Short { name, offset, expected, size: self.bytes() })
    }

    fn kind(&self) -> &'static str {
        self.storage.kind()
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        let Guess { offset, bytes, stride, .. } = self.guess;
        let place = |position: u64| offset + position.div_ceil(bytes) * stride;
        self.storage.is_resident(place(range.start)..place(range.end))
    }
}

impl AheadView<'_> {
    /// Reads short records through one block; returns whether their markers are right.
    fn pick(&self, at: u64, out: &mut [u8]) -> Result<bool, IoError> {
        let file = at..at + out.len() as u64 / self.guess.bytes * self.guess.stride;
        with_block(self.storage, file, |block| {
            let transfer = self.transfer(block, out.len());
            transfer.map(|transfer| transfer.run(block, out, self.tier)).is_some()
        })
    }

    /// Returns the transfer that makes records contiguous, if their markers are right.
    fn transfer(&self, block: &[u8], out_bytes: usize) -> Option<Transfer> {
        let Guess { markers, bytes, stride, .. } = self.guess;
        let count = out_bytes as u64 / bytes;
        let elements = (bytes / self.swap) as usize;
        let place =
            |offset: usize, stride: u64| Fields { offset, stride: stride as usize, elements };
        let transfer = Transfer {
            size: self.swap as usize,
            swap: self.swap > 1,
            count: count as usize,
            from: place(markers.bytes(), stride),
            to: place(0, bytes),
        };
        (markers.equal_records(block, bytes) == count).then_some(transfer)
    }

    /// Whether offset and length are multiples of a record.
    fn is_whole(&self, offset: u64, count: usize) -> bool {
        let bytes = self.guess.bytes;
        offset.is_multiple_of(bytes) && (count as u64).is_multiple_of(bytes)
    }

    /// Reads longer records one by one; returns whether their markers are right.
    ///
    /// The gap between a record and the expected start of the next is read along: that takes one read instead of two.
    fn read_each(&self, at: u64, out: &mut [u8]) -> Result<bool, IoError> {
        let Guess { markers, bytes, stride, .. } = self.guess;
        let (width, bytes) = (markers.bytes(), bytes as usize);
        let marker = &markers.write(bytes as i64)[..width];
        let mut edge = [0; 8];
        self.storage.read_exact_at(at, &mut edge[..width])?;
        let mut right = &edge[..width] == marker;
        let mut from = at + width as u64;
        let mut begin = 0;
        while right && begin < out.len() {
            let end = begin + bytes;
            match out.get_mut(begin..end + 2 * width) {
                Some(more) => {
                    read_numbers(self.storage, from, more, bytes, self.swap, self.tier)?;
                    right = more[bytes..].chunks_exact(width).all(|mark| mark == marker);
                }
                None => {
                    let out = &mut out[begin..end];
                    read_numbers(self.storage, from, out, bytes, self.swap, self.tier)?;
                    self.storage.read_exact_at(from + bytes as u64, &mut edge[..width])?;
                    right = &edge[..width] == marker;
                }
            }
            (from, begin) = (from + stride, end);
        }
        Ok(right)
    }
}
