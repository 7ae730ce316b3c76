//! Concatenated bytes of records: their positions in the file, and reading them.
//!
//! Short records are read together, markers included, into a block that stays in the cache, and copied from there; long
//! records are read directly to their destination. Bytes of numbers are swapped while they are copied.

use std::cell::RefCell;
use std::ops::Range;

use tachyfits_io::{IoError, PlacedBuffer, Storage};
use tachyfits_kernels::{Fields, Tier, Transfer, swap_in_place};
use tachyfits_memory::{self as memory, NoMemory};

use crate::index::{RecordIndex, RecordRun};
use crate::layout::{BLOCK_BYTES, RecordField};

/// Records below this size are read together.
const SHORT_RECORD: u64 = 16 << 10;

/// Page size, and the range of offset differences within a page at which the kernel copies slowly.
const PAGE_BYTES: u64 = 4096;
const SLOW_SHIFT: u64 = 32;

thread_local! {
    /// Block of this thread.
    static BLOCK: RefCell<PlacedBuffer> = RefCell::new(PlacedBuffer::default());
}

/// Payload of a range of records.
#[derive(Debug)]
pub(crate) struct Payload<'a> {
    storage: &'a dyn Storage,
    runs: &'a [RecordRun],
    /// Position in the payload at which each run begins, followed by the end of the last run.
    starts: Vec<u64>,
    /// Number of the first record within the first run, and number of records used of the last run.
    skipped: u64,
}

/// Records of a run that are read together.
pub(crate) struct Together<'a> {
    pub(crate) run: &'a RecordRun,
    /// First record, by its number within the run.
    pub(crate) first: u64,
    pub(crate) count: u64,
}

impl<'a> Payload<'a> {
    /// Creates the payload of existing records.
    pub(crate) fn new(
        storage: &'a dyn Storage,
        index: &'a RecordIndex,
        records: Range<u64>,
    ) -> Result<Payload<'a>, NoMemory> {
        let ends = index.find(records.start).zip(index.find(records.end.wrapping_sub(1)));
        let Some(((first, skipped), (last, _))) = ends.filter(|_| !records.is_empty()) else {
            return Ok(Payload { storage, runs: &[], starts: vec![0], skipped: 0 });
        };
        let runs = &index.runs()[first..=last];
        let mut starts = memory::with_room(runs.len() + 1, "the runs of records")?;
        starts.push(0);
        let mut all = 0;
        for run in runs {
            let begin = run.first.max(records.start);
            let end = (run.first + run.count).min(records.end);
            all += (end - begin) * run.bytes;
            starts.push(all);
        }
        Ok(Payload { storage, runs, starts, skipped })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    pub(crate) fn storage(&self) -> &'a dyn Storage {
        self.storage
    }

    /// Offset in the file of a payload byte.
    pub(crate) fn place(&self, position: u64) -> u64 {
        let Some((run, within)) = self.find(position) else { return 0 };
        let (record, offset) = (within / run.bytes, within % run.bytes);
        let mut rest = offset;
        for piece in run.payload(record) {
            if rest < piece.end - piece.start {
                return piece.start + rest;
            }
            rest -= piece.end - piece.start;
        }
        run.offset
    }

    /// Finds the run of a payload byte, and the byte's position in the payload of the whole run.
    fn find(&self, position: u64) -> Option<(&'a RecordRun, u64)> {
        // Runs without bytes begin where the next run does: the last run that begins here is used.
        let at = self.starts.partition_point(|&start| start <= position).checked_sub(1)?;
        let run = self.runs.get(at)?;
        let skipped = if at == 0 { self.skipped * run.bytes } else { 0 };
        Some((run, position - self.starts[at] + skipped))
    }

    /// Reads bytes of the payload; if `swap` is more than 1, they are numbers of `swap` bytes, which are swapped.
    ///
    /// Position, length and each record contain whole numbers of that size.
    pub(crate) fn read(
        &self,
        position: u64,
        out: &mut [u8],
        swap: u64,
        tier: Tier,
    ) -> Result<(), IoError> {
        let (mut position, mut out) = (position, out);
        while !out.is_empty() {
            let Some((run, within)) = self.find(position) else {
                return Err(self.ends(position, out.len()));
            };
            let at = self.starts.partition_point(|&start| start <= position);
            let of_run = (self.starts[at] - position).min(out.len() as u64);
            let (record, offset) = (within / run.bytes, within % run.bytes);
            let short = run.pieces.is_empty() && run.stride <= SHORT_RECORD;
            let bytes = match short {
                true => {
                    let most = (BLOCK_BYTES / run.stride).max(1) * run.bytes;
                    of_run.min(most - offset.min(most - 1))
                }
                false => of_run.min(run.bytes - offset),
            };
            let (part, later) = out.split_at_mut(bytes as usize);
            match short {
                true => self.pick(run, within, part, swap, tier)?,
                false if run.pieces.is_empty() => {
                    let numbers = part.len();
                    read_numbers(self.storage, self.place(position), part, numbers, swap, tier)?;
                }
                // A subrecord may end within a number.
                false => {
                    self.read_record(run, record, offset, part)?;
                    swap_in_place(part, swap as usize, tier);
                }
            }
            position += bytes;
            out = later;
        }
        Ok(())
    }

    /// Reads unchanged bytes of one record.
    fn read_record(
        &self,
        run: &RecordRun,
        record: u64,
        offset: u64,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let (mut skip, mut out) = (offset, out);
        for piece in run.payload(record) {
            let bytes = piece.end - piece.start;
            if skip >= bytes {
                skip -= bytes;
                continue;
            }
            let count = (bytes - skip).min(out.len() as u64) as usize;
            let (part, later) = out.split_at_mut(count);
            read_exact(self.storage, piece.start + skip, part)?;
            (skip, out) = (0, later);
            if out.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Reads bytes of short records, from one block of the file.
    fn pick(
        &self,
        run: &RecordRun,
        within: u64,
        out: &mut [u8],
        swap: u64,
        tier: Tier,
    ) -> Result<(), IoError> {
        with_block(self.storage, file_range(run, within, out.len()), |block| {
            let count = out.len();
            each_transfer(run, within, count, swap, |transfer| transfer.run(block, out, tier));
        })
    }

    /// Reads whole records of equal length into items: copies each field to its place, swapped if requested.
    pub(crate) fn read_items(
        &self,
        together: &Together<'_>,
        fields: &[RecordField],
        item_bytes: u64,
        swap: bool,
        tier: Tier,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let Together { run, first, count } = *together;
        let mut gathered = Vec::new();
        let mut move_all = |block: &[u8], stride: u64| {
            for field in fields {
                let from = (block, field.in_records(0, stride));
                let to = (&mut *out, field.in_items(item_bytes));
                field.run(count, swap, from, to, tier);
            }
        };
        if !run.pieces.is_empty() {
            memory::resize(&mut gathered, run.bytes as usize, 0, "a record")?;
            self.read_record(run, first, 0, &mut gathered)?;
            move_all(&gathered, run.bytes);
            return Ok(());
        }
        let start = run.offset + first * run.stride;
        let end = start + (count - 1) * run.stride + run.bytes;
        with_block(self.storage, start..end, |block| move_all(block, run.stride))
    }

    /// Returns the whole records, from position `within` the payload, that are read together: at most `most`.
    pub(crate) fn together(&self, position: u64, most: u64) -> Option<Together<'a>> {
        let (run, within) = self.find(position)?;
        let at = self.starts.partition_point(|&start| start <= position);
        let rest = (self.starts[at] - position) / run.bytes.max(1);
        let block = (BLOCK_BYTES / run.stride.max(1)).max(1);
        let count = rest.min(most).min(block);
        (count > 0).then_some(Together { run, first: within / run.bytes.max(1), count })
    }

    fn ends(&self, offset: u64, expected: usize) -> IoError {
        let (name, size) = (self.storage.name().to_owned(), self.bytes());
        IoError::Short { name, offset, expected: expected as u64, size }
    }
}

/// Range in the file of payload bytes of a run, including the markers between them.
fn file_range(run: &RecordRun, within: u64, count: usize) -> Range<u64> {
    let place = |at: u64| run.offset + at / run.bytes * run.stride + at % run.bytes;
    place(within)..place(within + count as u64 - 1) + 1
}

/// Passes each transfer that makes the payload of a run contiguous, from its range of the file.
fn each_transfer(
    run: &RecordRun,
    within: u64,
    count: usize,
    swap: u64,
    mut each: impl FnMut(Transfer),
) {
    let mut done = 0;
    let mut offset = within % run.bytes;
    let first = within / run.bytes * run.stride + offset;
    while done < count {
        let rest = (count - done) as u64;
        // The rest of a record, whole records, and the first part of the last record.
        let (bytes, records) = match (offset, rest / run.bytes) {
            (0, 0) => (rest, 1),
            (0, whole) => (run.bytes, whole),
            (offset, _) => ((run.bytes - offset).min(rest), 1),
        };
        let size = swap.max(1);
        let elements = (bytes / size) as usize;
        let from = (within + done as u64) / run.bytes * run.stride + offset - first;
        each(Transfer {
            size: size as usize,
            swap: swap > 1,
            count: records as usize,
            from: Fields { offset: from as usize, stride: run.stride as usize, elements },
            to: Fields { offset: done, stride: run.bytes as usize, elements },
        });
        done += (bytes * records) as usize;
        offset = 0;
    }
}

/// Passes bytes of a file, read into this thread's block unless the storage lends them.
pub(crate) fn with_block<R>(
    storage: &dyn Storage,
    range: Range<u64>,
    take: impl FnOnce(&[u8]) -> R,
) -> Result<R, IoError> {
    if let Some(lent) = storage.slice(range.clone()) {
        return Ok(take(lent));
    }
    with_own_block(|block| {
        let bytes = range.end - range.start;
        let Some(room) = block.prepare(range.start, bytes as usize) else {
            return Err(IoError::Memory { name: storage.name().to_owned(), bytes });
        };
        storage.read_exact_at(range.start, room)?;
        Ok(take(block.bytes()))
    })
}

/// Passes the block of this thread, taken from its cell: a storage may read records while it is read.
fn with_own_block<R>(work: impl FnOnce(&mut PlacedBuffer) -> R) -> R {
    let mut block = BLOCK.take();
    let result = work(&mut block);
    BLOCK.set(block);
    result
}

/// Reads bytes to their destination.
fn read_exact(storage: &dyn Storage, offset: u64, out: &mut [u8]) -> Result<(), IoError> {
    read_numbers(storage, offset, out, 0, 1, Tier::SCALAR)
}

/// Reads bytes to their destination, through a block if the kernel would copy slowly.
///
/// The first `numbers` bytes are numbers of `swap` bytes, which are swapped if that is more than 1.
pub(crate) fn read_numbers(
    storage: &dyn Storage,
    offset: u64,
    out: &mut [u8],
    numbers: usize,
    swap: u64,
    tier: Tier,
) -> Result<(), IoError> {
    let size = swap as usize;
    if !is_slow(offset, out) {
        storage.read_exact_at(offset, out)?;
        swap_in_place(&mut out[..numbers], size, tier);
        return Ok(());
    }
    with_own_block(|block| {
        let (mut offset, mut numbers) = (offset, numbers);
        for out in out.chunks_mut(BLOCK_BYTES as usize) {
            // Half a page away from the file's offset within a page, and so from the destination's.
            let Some(room) = block.prepare(offset + PAGE_BYTES / 2, out.len()) else {
                let bytes = out.len() as u64;
                return Err(IoError::Memory { name: storage.name().to_owned(), bytes });
            };
            storage.read_exact_at(offset, room)?;
            offset += out.len() as u64;
            let (head, rest) = out.split_at_mut(numbers.min(out.len()));
            let (from, tail) = block.bytes().split_at(head.len());
            let all = Fields { offset: 0, stride: head.len(), elements: head.len() / size };
            Transfer { size, swap: size > 1, count: 1, from: all, to: all }.run(from, head, tier);
            rest.copy_from_slice(tail);
            numbers -= head.len();
        }
        Ok(())
    })
}

/// Whether the offset within a page is slightly larger in memory than in the file: the processor then confuses stores
/// with later loads (4K aliasing). A record after a 4-byte marker and a NumPy array, which begins 16 bytes after a page
/// start, are in this relation (`python -m bench --only 25`).
fn is_slow(offset: u64, out: &[u8]) -> bool {
    let shift = (out.as_ptr().addr() as u64).wrapping_sub(offset) % PAGE_BYTES;
    out.len() as u64 >= PAGE_BYTES && (1..SLOW_SHIFT).contains(&shift)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::markers::{FileOrder, RecordMarkers};
    use tachyfits_io::{Id, MemoryStorage, Profile};

    use crate::file::{RecordFile, RecordOptions};
    use crate::layout::RecordLayout;
    use tachyfits_io::operation::RunOptions;

    const BLOCK: usize = BLOCK_BYTES as usize;
    const PAGE: usize = PAGE_BYTES as usize;

    /// Creates bytes that differ between neighbours, and between places a page or a block apart.
    fn content(count: usize) -> Vec<u8> {
        (0..count as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 21) as u8).collect()
    }

    /// Memory for an array that begins anywhere in its first page.
    struct Pages(Vec<u8>, usize);

    impl Pages {
        fn new(bytes: usize) -> Pages {
            let memory = vec![0xa5; bytes + 3 * PAGE];
            let page = memory.as_ptr().align_offset(PAGE);
            Pages(memory, page)
        }

        fn at(&mut self, offset: usize, bytes: usize) -> &mut [u8] {
            &mut self.0[self.1 + offset..][..bytes]
        }

        /// Whether the memory around an array is unchanged; resets the array.
        fn is_clean_around(&mut self, offset: usize, bytes: usize) -> bool {
            self.at(offset, bytes).fill(0xa5);
            self.0.iter().all(|&byte| byte == 0xa5)
        }
    }

    #[test]
    fn bytes_are_the_same_wherever_they_go_in_a_page() {
        let file = content(2 * BLOCK + 2 * PAGE);
        let storage = MemoryStorage::new("made.dat", file.clone());
        let mut pages = Pages::new(2 * BLOCK + PAGE);
        let mut slow = 0;
        for from in [0, 4, 8, PAGE - 4, BLOCK - 3] {
            for length in [1, PAGE - 1, PAGE, PAGE + 1, BLOCK - 1, BLOCK, BLOCK + 1] {
                for to in 0..64 {
                    let out = pages.at(to, length);
                    slow += u32::from(is_slow(from as u64, out));
                    read_exact(&storage, from as u64, out).unwrap();
                    assert!(out == &file[from..from + length], "{length} from {from} to {to}");
                }
            }
        }
        // Both paths were used. Offsets 4 and 3 bytes before a page have 28 and 29 slow destinations, the others 31.
        assert_eq!(slow, 5 * (31 + 31 + 31 + 28 + 29));
        let mut pages = Pages::new(2 * BLOCK + PAGE);
        for length in [2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 1] {
            let out = pages.at(20, length);
            assert!(is_slow(4, out));
            read_exact(&storage, 4, out).unwrap();
            assert!(out == &file[4..4 + length]);
            assert!(pages.is_clean_around(20, length));
        }
    }

    /// Reads bytes of another storage through the thread's block, like a file object that itself consists of records.
    #[derive(Debug)]
    struct Nested<'a>(MemoryStorage<'a>);

    impl Storage for Nested<'_> {
        fn id(&self) -> &Id {
            self.0.id()
        }

        fn bytes(&self) -> u64 {
            self.0.bytes()
        }

        fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
            let mut inner = vec![0; BLOCK + PAGE];
            let from = inner.as_ptr().align_offset(PAGE) + 4;
            read_exact(&self.0, 0, &mut inner[from..from + BLOCK - PAGE])?;
            self.0.read_exact_at(offset, buffer)
        }

        fn profile(&self) -> Profile {
            self.0.profile()
        }
    }

    #[test]
    fn a_storage_may_read_records_while_it_is_read() {
        let memory = MemoryStorage::new("made.dat", content(2 * BLOCK));
        let nested = Nested(memory);
        let mut pages = Pages::new(2 * BLOCK + PAGE);
        let out = pages.at(4, BLOCK);
        read_exact(&nested, 0, out).unwrap();
        assert!(out == &content(2 * BLOCK)[..BLOCK]);
        let bytes = with_block(&nested, 3..70, <[u8]>::to_vec).unwrap();
        assert!(bytes == content(70)[3..]);
    }

    #[test]
    fn missing_bytes_are_an_error_either_way() {
        let storage = MemoryStorage::new("made.dat", content(2 * BLOCK));
        let mut pages = Pages::new(2 * BLOCK + PAGE);
        for to in [0, 20] {
            let result = read_exact(&storage, 4, pages.at(to, 2 * BLOCK));
            assert!(matches!(result, Err(IoError::Short { .. })), "{result:?}");
        }
    }

    #[test]
    fn records_are_the_same_wherever_they_go_in_a_page() {
        for markers in RecordMarkers::ALL {
            // Too long to be read together, one to three records each.
            for (bytes, count) in [(BLOCK + 8, 1), (BLOCK - 8, 2), (20 << 10, 3)] {
                let payload = content(bytes * count);
                let mut file = Vec::new();
                for record in payload.chunks(bytes) {
                    let marker = markers.write(bytes as i64);
                    file.extend_from_slice(&marker[..markers.bytes()]);
                    file.extend_from_slice(record);
                    file.extend_from_slice(&marker[..markers.bytes()]);
                }
                let mut native = payload;
                if markers.order() != FileOrder::NATIVE {
                    native.chunks_exact_mut(8).for_each(<[u8]>::reverse);
                }
                let options = RecordOptions {
                    marker_bytes: Some(markers.bytes()),
                    order: Some(markers.order()),
                    ..RecordOptions::default()
                };
                let layout = RecordLayout::plain(bytes as u64, 8);
                let run = RunOptions::default().threads(1);
                let open = || RecordFile::from_bytes("made.dat", file.clone(), &options).unwrap();
                let indexed = open();
                let mut pages = Pages::new(bytes * count);
                for to in 0..64 {
                    let out = pages.at(to, bytes * count);
                    indexed.read(0, count as u64, &layout, out, &run).unwrap();
                    assert!(out == native, "{count} records to {to}");
                    assert!(pages.is_clean_around(to, bytes * count));
                    let out = pages.at(to, bytes * count);
                    let ahead = open().read_ahead(0, count as u64, &layout, out, &run).unwrap();
                    assert_eq!(ahead.is_some(), bytes + 2 * markers.bytes() <= BLOCK, "{bytes}");
                    assert!(ahead.is_none() || out == native, "{count} records ahead to {to}");
                    assert!(pages.is_clean_around(to, bytes * count));
                }
            }
        }
    }
}
