//! Sequential output to a file, collected in memory blocks that match the pages of the file.
//!
//! A byte has the same offset in its page in memory as in the file. The kernel then copies each
//! page once, from start to start (`python -m bench --only 25`).

use std::ops::Range;
use std::sync::Mutex;

use crate::aligned::{AlignedBuffer, PAGE};
use crate::made::{BLOCKS, Made};
use crate::operation::RunOptions;

/// Bytes of a block: half of a second-level cache, which leaves room for the source of the bytes.
pub(crate) const BLOCK: u64 = 256 << 10;

/// Smallest size for which a second thread fills blocks ahead: starting the thread takes about one per cent of that
/// time.
const WORTH_A_THREAD: u64 = 4 << 20;

/// Writer that appends to a file.
///
/// ```
/// use tachyfits_io::operation::RunOptions;
/// use tachyfits_io::{AppendBlock, OutputFile};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("out.txt");
/// let output = OutputFile::create(&path, false)?;
/// let write = |offset: u64, bytes: &[u8]| output.write_all_at(offset, bytes);
/// let mut end = AppendBlock::new(0);
/// for word in ["one", " two"] {
///     let make = |part: std::ops::Range<u64>, room: &mut [u8]| {
///         let bytes = &word.as_bytes()[part.start as usize..part.end as usize];
///         room[AppendBlock::SLACK..][..bytes.len()].copy_from_slice(bytes);
///     };
///     end.append(word.len() as u64, &RunOptions::default(), make, write)?;
/// }
/// end.flush(write)?;
/// output.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"one two");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AppendBlock {
    block: UnwrittenBlock,
    made: Made,
    /// Offset of the next byte.
    end: u64,
    /// Offset of the first unwritten byte, in the block of `end`.
    written: u64,
}

impl AppendBlock {
    /// Bytes before and after a part that `make` may overwrite in its buffer, for functions whose output exceeds the
    /// part.
    pub const SLACK: usize = 64;

    /// Returns a writer that begins at byte `at` of a file.
    pub fn new(at: u64) -> AppendBlock {
        AppendBlock {
            block: UnwrittenBlock::default(),
            made: Made::default(),
            end: at,
            written: at,
        }
    }

    /// Returns the offset of the next byte.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Appends `bytes` bytes, and writes full blocks.
    ///
    /// `make` receives a range of these bytes, counted from 0, and a buffer for it with [`AppendBlock::SLACK`] extra
    /// bytes on both sides. Parts may be requested in any order, from two threads if the options allow it and the data
    /// are large enough.
    ///
    /// # Errors
    /// Errors of `write`, which receives an offset and bytes. The file is then incomplete and must be discarded.
    pub fn append<E>(
        &mut self,
        bytes: u64,
        options: &RunOptions<'_>,
        make: impl Fn(Range<u64>, &mut [u8]) + Sync,
        mut write: impl FnMut(u64, &[u8]) -> Result<(), E> + Send,
    ) -> Result<(), E>
    where
        E: Send,
    {
        let at = self.end;
        let of_file =
            |part: Range<u64>, room: &mut [u8]| make(part.start - at..part.end - at, room);
        if bytes >= WORTH_A_THREAD && options.workers() > 1 {
            self.flush(&mut write)?;
            self.made.write(at..at + bytes, options.job, of_file, write)?;
            self.go_on_at(at + bytes);
            return Ok(());
        }
        while self.end < at + bytes {
            let part = self.end..(at + bytes).min(end_of_block(self.end));
            of_file(part.clone(), self.block.room(&part));
            self.end = part.end;
            if self.end.is_multiple_of(BLOCK) {
                self.flush(&mut write)?;
            }
        }
        Ok(())
    }

    /// Writes the remaining bytes.
    ///
    /// # Errors
    /// As [`AppendBlock::append`].
    pub fn flush<E>(&mut self, write: impl FnOnce(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        if self.written < self.end {
            write(self.written, self.block.bytes(&(self.written..self.end)))?;
        }
        self.written = self.end;
        Ok(())
    }

    /// Continues at another byte of the file.
    ///
    /// # Panics
    /// If unwritten bytes remain.
    pub fn go_on_at(&mut self, at: u64) {
        assert_eq!(self.written, self.end, "what was put before is written");
        (self.end, self.written) = (at, at);
    }
}

/// Returns the end of the block that contains a byte of the file.
pub(crate) fn end_of_block(at: u64) -> u64 {
    (at / BLOCK + 1) * BLOCK
}

/// Memory for one block of a file, reused for later blocks: the system provides memory one page at a time, so
/// allocating a block takes as long as writing it.
#[derive(Debug, Default)]
pub(crate) struct UnwrittenBlock {
    memory: AlignedBuffer,
}

/// Spare buffers; one is enough for a file. The lock is only tried, because a process forked while another thread held
/// it would wait for ever.
static SPARE: Mutex<Vec<AlignedBuffer>> = Mutex::new(Vec::new());

impl Drop for UnwrittenBlock {
    fn drop(&mut self) {
        let Ok(mut spare) = SPARE.try_lock() else { return };
        if spare.len() <= BLOCKS && !self.memory.bytes().is_empty() {
            spare.push(std::mem::take(&mut self.memory));
        }
    }
}

impl UnwrittenBlock {
    /// Returns the buffer for a part of the file within one block, including the slack on both sides.
    pub(crate) fn room(&mut self, part: &Range<u64>) -> &mut [u8] {
        if self.memory.bytes().is_empty() {
            let spare = SPARE.try_lock().ok();
            self.memory = spare.and_then(|mut spare| spare.pop()).unwrap_or_default();
        }
        let is_available = self.memory.ensure(PAGE + BLOCK as usize + AppendBlock::SLACK, PAGE);
        assert!(is_available, "there is memory for a block");
        let Range { start, end } = within(part);
        self.memory.part_mut(start - AppendBlock::SLACK..end + AppendBlock::SLACK)
    }

    /// Returns the bytes of a part that was filled before.
    pub(crate) fn bytes(&self, part: &Range<u64>) -> &[u8] {
        &self.memory.bytes()[within(part)]
    }
}

/// Returns the position of a part of the file in the memory of its block, which begins after one page of slack.
fn within(part: &Range<u64>) -> Range<usize> {
    let start = PAGE + (part.start % BLOCK) as usize;
    start..start + (part.end - part.start) as usize
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::{AppendBlock, BLOCK, BLOCKS, SPARE, UnwrittenBlock, WORTH_A_THREAD};
    use crate::error::IoError;
    use crate::executor::{Executor, Job};
    use crate::operation::RunOptions;

    /// Returns the expected byte `at` of the file.
    fn content(at: u64) -> u8 {
        (at % 251) as u8
    }

    /// Writes bytes of the file from `before` bytes before the part, as whole 16-byte elements.
    fn put(before: u64, part: Range<u64>, room: &mut [u8]) {
        let first = part.start / 16 * 16;
        let end = part.end.next_multiple_of(16);
        for at in first..end {
            room[(at + AppendBlock::SLACK as u64 - part.start) as usize] = content(before + at);
        }
    }

    #[test]
    fn memory_of_blocks_is_kept_for_one_file_and_no_more() {
        for _ in 0..2 {
            let mut blocks: Vec<UnwrittenBlock> =
                (0..2 * BLOCKS).map(|_| UnwrittenBlock::default()).collect();
            for (number, block) in (0..).zip(&mut blocks) {
                block.room(&(0..5)).fill(number);
            }
            // Blocks do not share memory.
            for (number, block) in (0..).zip(&blocks) {
                assert_eq!(block.bytes(&(0..5)), [number; 5]);
            }
            drop(blocks);
            // Concurrent tests may use some of the spare buffers.
            assert!(SPARE.lock().unwrap().len() <= BLOCKS + 1);
        }
    }

    #[test]
    fn the_spare_buffer_is_never_waited_for() {
        let spare = SPARE.lock().unwrap();
        let mut block = UnwrittenBlock::default();
        block.room(&(0..5)).fill(7);
        assert_eq!(block.bytes(&(0..5)), [7; 5]);
        drop(block);
        drop(spare);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn bytes_are_written_once_in_whole_blocks(
            at in 0u64..3 * BLOCK,
            parts in prop::collection::vec((0u64..BLOCK / 16 + 9, any::<bool>(), 0u64..20), 1..20),
            threads in 1usize..4,
        ) {
            let file = Mutex::new(vec![]);
            let job = Job::on(&Executor::new(threads));
            let options = RunOptions { job: Some(&job), ..RunOptions::default() };
            let write = |offset: u64, bytes: &[u8]| -> Result<(), IoError> {
                let mut file = file.lock().unwrap();
                assert_eq!(offset, at + file.len() as u64);
                file.extend_from_slice(bytes);
                Ok(())
            };
            let mut end = AppendBlock::new(at);
            for (elements, flush, long) in parts {
                let before = end.end() - at;
                let bytes = if long == 0 { WORTH_A_THREAD + elements } else { elements };
                let bytes = 16 * bytes;
                let make = |part: Range<u64>, room: &mut [u8]| put(before, part, room);
                end.append(bytes, &options, make, write).unwrap();
                prop_assert_eq!(end.end(), at + before + bytes);
                let waiting = end.end() - at - file.lock().unwrap().len() as u64;
                prop_assert!(waiting <= end.end() % BLOCK);
                if flush {
                    end.flush(write).unwrap();
                    prop_assert_eq!(file.lock().unwrap().len() as u64, before + bytes);
                }
            }
            end.flush(write).unwrap();
            let file = file.into_inner().unwrap();
            prop_assert!((0..).map(content).zip(&file).all(|(expected, &actual)| expected == actual));
            end.go_on_at(7);
            prop_assert_eq!(end.end(), 7);
        }
    }

    #[test]
    fn an_error_of_writing_ends_it() {
        for (bytes, threads) in [(BLOCK, 1), (3 * WORTH_A_THREAD, 1), (3 * WORTH_A_THREAD, 2)] {
            for bad in 0..3 {
                let mut end = AppendBlock::new(0);
                let mut blocks = 0;
                let job = Job::on(&Executor::new(threads));
                let options = RunOptions { job: Some(&job), ..RunOptions::default() };
                let result = end.append(
                    bytes,
                    &options,
                    |_, _: &mut [u8]| (),
                    |_, _| {
                        blocks += 1;
                        if blocks > bad { Err("full") } else { Ok(()) }
                    },
                );
                assert_eq!(result, if bytes == BLOCK && bad > 0 { Ok(()) } else { Err("full") });
                assert_eq!(blocks, if result.is_ok() { 1 } else { bad + 1 });
            }
        }
    }

    #[test]
    #[should_panic(expected = "made its block")]
    fn a_panic_in_the_other_thread_is_one_here() {
        let caller = std::thread::current().id();
        let make = |_: Range<u64>, _: &mut [u8]| {
            assert_eq!(std::thread::current().id(), caller, "not here");
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        let write = |_: u64, _: &[u8]| Ok::<(), IoError>(());
        let job = Job::on(&Executor::new(2));
        let options = RunOptions { job: Some(&job), ..RunOptions::default() };
        AppendBlock::new(0).append(64 * WORTH_A_THREAD, &options, make, write).unwrap();
    }
}
