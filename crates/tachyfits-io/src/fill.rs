//! Reading a range straight into its destination: no block between, so that a copy in memory costs one trip less than
//! through [`crate::run`]. For pixels that only need their bytes turned where they are.

use std::ops::ControlFlow;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::aligned::LARGE_PAGE;
use crate::error::IoError;
use crate::pipeline::{RunOptions, threads_or_all};
use crate::report::Report;
use crate::storage::{Storage, check_within};

/// Less than this is not worth a thread: it takes as long to start one as to copy a few ten thousand bytes.
const WORTH_A_THREAD: usize = 256 << 10;

/// Fills `out` with the bytes from `offset` on, in blocks of at most `block_bytes`, a multiple of every element's size;
/// each is handed to `work` by the thread that read it, while it is in that core's cache.
///
/// ```
/// use tachyfits_io::{MemoryStorage, RunOptions, fill};
/// let storage = MemoryStorage::new("example", vec![1, 2, 3, 4, 5, 6, 7, 8]);
/// let mut out = [0; 6];
/// fill(&storage, 2, &mut out, 2, &RunOptions::default(), |pair| pair.reverse())?;
/// assert_eq!(out, [4, 3, 6, 5, 8, 7]);
/// # Ok::<(), tachyfits_io::IoError>(())
/// ```
///
/// # Errors
/// If the storage ends before, reading fails, or the watch stops it; what is in `out` is then of no use.
pub fn fill(
    storage: &dyn Storage,
    offset: u64,
    out: &mut [u8],
    block_bytes: usize,
    options: &RunOptions<'_>,
    work: impl Fn(&mut [u8]) + Sync,
) -> Result<Report, IoError> {
    let begun = Instant::now();
    let bytes = out.len() as u64;
    check_within(storage, offset, bytes)?;
    let block_bytes = block_bytes.max(1);
    let (threads, share_bytes) = shares(out.len(), block_bytes, options.threads);
    let shared = Shared {
        storage,
        block_bytes,
        share_bytes,
        rest: Mutex::new((offset, out)),
        work,
        options,
        failed: AtomicBool::new(false),
        done: Mutex::new(0),
        io: AtomicU64::new(0),
        compute: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads)
            .map(|_| {
                let name = "tachyfits-work".to_owned();
                thread::Builder::new().name(name).spawn_scoped(scope, || shared.run())
            })
            .collect();
        let mut result = shared.run();
        for helper in helpers {
            let helper = helper.map_err(|source| IoError::Threads { source });
            let ended = helper.and_then(|helper| match helper.join() {
                Ok(ended) => ended,
                Err(payload) => panic::resume_unwind(payload),
            });
            result = result.and(ended);
        }
        result
    })?;
    let per_lane = |nanoseconds: &AtomicU64| {
        Duration::from_nanos(nanoseconds.load(Ordering::Relaxed)).as_secs_f64() / threads as f64
    };
    Ok(Report {
        bytes,
        read_bytes: bytes,
        io_seconds: per_lane(&shared.io),
        compute_seconds: per_lane(&shared.compute),
        write_seconds: 0.0,
        wall_seconds: begun.elapsed().as_secs_f64(),
        threads,
        buffering: "inline",
        storage: storage.kind(),
    })
}

/// How many threads are worth their while, and about how much each takes at a time: what is shorter than a large page for
/// each of them does not get large pages. A thread takes what lies in one: were two to touch a new page first, both would
/// make one and clear it, and one of them in vain.
fn shares(bytes: usize, block_bytes: usize, threads: usize) -> (usize, usize) {
    let most = bytes / WORTH_A_THREAD.max(block_bytes);
    let threads = threads_or_all(threads).clamp(1, most.max(1));
    (threads, bytes.div_ceil(threads).min(LARGE_PAGE))
}

/// Enters the large pages that begin within memory that is written to later, when two threads may be the first in one: both
/// would make it and clear it, and one of them in vain. What is there is lost.
pub fn enter_large_pages(bytes: &mut [u8]) {
    let first = bytes.as_ptr().align_offset(LARGE_PAGE);
    for byte in bytes.iter_mut().skip(first).step_by(LARGE_PAGE) {
        *byte = std::hint::black_box(0);
    }
}

/// What the threads share.
struct Shared<'a, 'b, W> {
    storage: &'a dyn Storage,
    block_bytes: usize,
    /// About how much a thread takes at a time; from large pages whole ones.
    share_bytes: usize,
    /// What no thread has taken yet, and its offset in the storage.
    rest: Mutex<(u64, &'b mut [u8])>,
    work: W,
    options: &'a RunOptions<'a>,
    /// Another thread has met an error.
    failed: AtomicBool,
    done: Mutex<u64>,
    io: AtomicU64,
    compute: AtomicU64,
}

impl<'b, W: Fn(&mut [u8]) + Sync> Shared<'_, 'b, W> {
    fn run(&self) -> Result<(), IoError> {
        while let Some((mut offset, share)) = self.take() {
            for block in share.chunks_mut(self.block_bytes) {
                if self.failed.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if let Err(error) = self.block(offset, block) {
                    self.failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
                offset += block.len() as u64;
            }
        }
        Ok(())
    }

    /// The next share, of pages up to the end of one, in whole blocks: a block must not end within an element.
    fn take(&self) -> Option<(u64, &'b mut [u8])> {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let (offset, out) = std::mem::take(&mut *rest);
        if out.is_empty() {
            return None;
        }
        let share = match self.share_bytes {
            LARGE_PAGE => LARGE_PAGE - out.as_ptr().addr() % LARGE_PAGE,
            less => less,
        };
        let blocks = share.div_ceil(self.block_bytes);
        let (share, later) = out.split_at_mut((blocks * self.block_bytes).min(out.len()));
        *rest = (offset + share.len() as u64, later);
        Some((offset, share))
    }

    fn block(&self, offset: u64, block: &mut [u8]) -> Result<(), IoError> {
        let begun = Instant::now();
        self.storage.read_exact_at(offset, block)?;
        let read = begun.elapsed();
        (self.work)(block);
        let worked = begun.elapsed() - read;
        self.io.fetch_add(read.as_nanos() as u64, Ordering::Relaxed);
        self.compute.fetch_add(worked.as_nanos() as u64, Ordering::Relaxed);
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += block.len() as u64;
        match self.options.watch.map(|watch| watch.progress(*done)) {
            Some(ControlFlow::Break(())) => Err(IoError::Cancelled),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStorage;
    use crate::pipeline::Watch;

    #[test]
    fn large_pages_are_entered_where_they_begin_alone() {
        let mut memory = vec![7; 4 * LARGE_PAGE];
        let page = memory.as_ptr().align_offset(LARGE_PAGE);
        let from = page + 1;
        enter_large_pages(&mut memory[from..page + 2 * LARGE_PAGE]);
        let places: Vec<usize> = (0..memory.len()).filter(|&at| memory[at] != 7).collect();
        assert_eq!(places, [page + LARGE_PAGE]);
        enter_large_pages(&mut memory[from..page + LARGE_PAGE]);
        enter_large_pages(&mut []);
        assert_eq!(memory.iter().filter(|&&byte| byte != 7).count(), 1);
    }

    #[test]
    fn every_block_is_read_and_worked_on_once_for_any_threads() {
        // For one thread, for a part of a large page for each, and for several large pages.
        for (length, threads) in
            [(99_000, 8), (1 << 20, 1), (1 << 20, 2), (1 << 20, 8), (9 << 20, 3)]
        {
            let content: Vec<u8> =
                (0..length as u32 + 1003).map(|place| (place % 251) as u8).collect();
            let expected: Vec<u8> = content[1003..].iter().map(|byte| !byte).collect();
            let storage = MemoryStorage::new("content", content);
            for block in [1000, 4096, 1 << 20] {
                let options = RunOptions { threads, ..RunOptions::default() };
                let mut out = vec![0; length];
                let flip = |bytes: &mut [u8]| bytes.iter_mut().for_each(|byte| *byte = !*byte);
                let report = fill(&storage, 1003, &mut out, block, &options, flip).unwrap();
                assert!(out == expected);
                assert_eq!(report.bytes, length as u64);
                assert_eq!(report.threads, threads.min((length / block.max(256 << 10)).max(1)));
            }
        }
    }

    #[test]
    fn a_range_beyond_the_end_is_refused() {
        let storage = MemoryStorage::new("short", vec![0; 10]);
        let error = fill(&storage, 5, &mut [0; 6], 2, &RunOptions::default(), |_| ()).unwrap_err();
        assert_eq!(error.code(), "io-short");
    }

    #[test]
    fn a_watch_stops_it() {
        struct Stop;
        impl Watch for Stop {
            fn progress(&self, _bytes_done: u64) -> ControlFlow<()> {
                ControlFlow::Break(())
            }
        }
        let storage = MemoryStorage::new("content", vec![0; 100]);
        let options = RunOptions { watch: Some(&Stop), ..RunOptions::default() };
        let error = fill(&storage, 0, &mut [0; 100], 2, &options, |_| ()).unwrap_err();
        assert_eq!(error.code(), "io-cancelled");
    }
}
