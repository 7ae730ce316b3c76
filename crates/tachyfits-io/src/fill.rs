//! Reading a range directly into its destination, without an intermediate block: one copy in memory less than
//! [`crate::run`]. For pixels that only need their bytes swapped, in place or while copying.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::aligned::LARGE_PAGE;
use crate::error::IoError;
use crate::executor::{self, Job, Team, Threads, Worker, work_together};
use crate::pipeline::PipelineOptions;
use crate::profile::{Latency, Profile};
use crate::report::Report;
use crate::storage::{Request, Storage, unless_changed};

/// Smallest number of bytes per thread: starting a thread takes as long as copying tens of thousands of bytes.
const WORTH_A_THREAD: usize = 256 << 10;

/// Bytes that are read without a permit, because acquiring one takes about as long as reading them.
const LITTLE: usize = 64 << 10;

/// Whether so few bytes are read at once by the calling thread without a permit: they are in a local file.
pub fn fills_at_once(storage: &dyn Storage, bytes: u64) -> bool {
    bytes <= LITTLE as u64 && storage.profile().latency != Latency::Network && !storage.computes()
}

/// Fills `out` with the bytes from `offset` on, in blocks of at most `block_bytes`, a multiple of every element's size;
/// the thread that read a block passes it to `work` while it is in that core's cache.
///
/// ```
/// use tachyfits_io::{MemoryStorage, PipelineOptions, fill};
/// let storage = MemoryStorage::new("example", vec![1, 2, 3, 4, 5, 6, 7, 8]);
/// let mut out = [0; 6];
/// fill(&storage, 2, &mut out, 2, &PipelineOptions::default(), |pair| pair.reverse())?;
/// assert_eq!(out, [4, 3, 6, 5, 8, 7]);
/// # Ok::<(), tachyfits_io::IoError>(())
/// ```
///
/// # Errors
/// If the storage ends before, reading fails, or the job ends the run; the content of `out` is then invalid.
pub fn fill(
    storage: &dyn Storage,
    offset: u64,
    out: &mut [u8],
    block_bytes: usize,
    options: &PipelineOptions<'_>,
    work: impl Fn(&mut [u8]) + Sync,
) -> Result<Report, IoError> {
    let start = Instant::now();
    let bytes = out.len() as u64;
    storage.check_within(offset, bytes)?;
    let block_bytes = block_bytes.max(1);
    if out.len() <= block_bytes && fills_at_once(storage, bytes) {
        return fill_at_once(storage, offset, out, options, work);
    }
    let profile = storage.profile();
    let threads = executor::threads_of(options.job, options.threads);
    let (threads, mut share_bytes) = shares(out.len(), block_bytes, threads);
    let together = profile.latency == Latency::Network;
    if together {
        // A thread has as many concurrent requests as the profile allows.
        let most = profile.request_bytes.saturating_mul(profile.in_flight as u64);
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(block_bytes);
        share_bytes = out.len().div_ceil(threads).min(most);
    }
    let waits = !storage.computes() && (together || !storage.is_resident(offset..offset + bytes));
    let shared = Filling {
        storage,
        block_bytes,
        share_bytes,
        together: together.then_some(profile),
        divides_rest: storage.computes().then_some(2 * threads),
        rest: Mutex::new((offset, out)),
        work,
        waits,
        options,
        failed: AtomicBool::new(false),
        done: Mutex::new(0),
        read_bytes: AtomicU64::new(0),
        io: AtomicU64::new(0),
        compute: AtomicU64::new(0),
    };
    let requested = options.threads;
    let threads_of_run = Threads { workers: threads, requested, ..Threads::default() };
    let outcome = work_together(&shared, options.job, threads_of_run).into_iter().collect();
    match outcome {
        Err(error @ (IoError::Cancelled | IoError::Budget { .. })) => return Err(error),
        outcome => unless_changed(storage, outcome)?,
    }
    let per_lane = |nanoseconds: &AtomicU64| {
        Duration::from_nanos(nanoseconds.load(Ordering::Relaxed)).as_secs_f64() / threads as f64
    };
    Ok(Report {
        bytes,
        read_bytes: shared.read_bytes.load(Ordering::Relaxed),
        io_seconds: per_lane(&shared.io),
        compute_seconds: per_lane(&shared.compute),
        write_seconds: 0.0,
        wall_seconds: start.elapsed().as_secs_f64(),
        threads,
        buffering: "inline",
        storage: storage.kind(),
        rounding: 0.0,
    })
}

/// Fills a single block on the calling thread.
fn fill_at_once(
    storage: &dyn Storage,
    offset: u64,
    out: &mut [u8],
    options: &PipelineOptions<'_>,
    work: impl Fn(&mut [u8]),
) -> Result<Report, IoError> {
    let (start, bytes, job) = (Instant::now(), out.len() as u64, options.job);
    job.map_or_else(|| executor::charge_current(bytes), |job| job.charge(bytes))?;
    let outcome = storage.read_exact_at(offset, out);
    let read_time = start.elapsed();
    if outcome.is_ok() {
        work(out);
        if let Some(watch) = options.watch {
            watch.progress(bytes);
        }
    }
    job.map_or_else(executor::check_current, Job::check)?;
    unless_changed(storage, outcome)?;
    let all = start.elapsed();
    Ok(Report {
        bytes,
        read_bytes: bytes,
        io_seconds: read_time.as_secs_f64(),
        compute_seconds: (all - read_time).as_secs_f64(),
        write_seconds: 0.0,
        wall_seconds: all.as_secs_f64(),
        threads: 1,
        buffering: "inline",
        storage: storage.kind(),
        rounding: 0.0,
    })
}

/// Returns the number of threads, and the approximate bytes that each takes at a time. Shares smaller than a large page
/// per thread would not get large pages. A thread takes the bytes of one large page, because two threads that first
/// touch a new page would both clear it.
fn shares(bytes: usize, block_bytes: usize, threads: usize) -> (usize, usize) {
    let most = bytes / WORTH_A_THREAD.max(block_bytes);
    let threads = threads.clamp(1, most.max(1));
    (threads, bytes.div_ceil(threads).min(LARGE_PAGE))
}

/// Touches the large pages that begin within memory to be written later, because two threads that first touch one would
/// both clear it. The content is lost.
pub fn enter_large_pages(bytes: &mut [u8]) {
    let first = bytes.as_ptr().align_offset(LARGE_PAGE);
    for byte in bytes.iter_mut().skip(first).step_by(LARGE_PAGE) {
        *byte = std::hint::black_box(0);
    }
}

/// State shared by the threads.
struct Filling<'a, 'b, W> {
    storage: &'a dyn Storage,
    block_bytes: usize,
    /// Approximate bytes that a thread takes at a time; whole large pages if these are used.
    share_bytes: usize,
    /// Profile of a storage whose shares are read as a whole, by concurrent requests.
    together: Option<Profile>,
    /// Minimum number of shares for the rest if computing takes long, so that no thread waits for another one at the
    /// end.
    divides_rest: Option<usize>,
    /// Bytes that no thread has taken yet, and their offset in the storage.
    rest: Mutex<(u64, &'b mut [u8])>,
    work: W,
    /// Whether reading may wait for a device.
    waits: bool,
    options: &'a PipelineOptions<'a>,
    /// Whether another thread reported an error.
    failed: AtomicBool,
    done: Mutex<u64>,
    read_bytes: AtomicU64,
    io: AtomicU64,
    compute: AtomicU64,
}

impl<W: Fn(&mut [u8]) + Sync> Team for Filling<'_, '_, W> {
    type Output = Result<(), IoError>;

    fn work(&self, worker: &Worker<'_>) -> Result<(), IoError> {
        let outcome = self.fill(worker);
        if outcome.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn is_stopped(&self) -> bool {
        self.progress(0).is_err() || self.failed.load(Ordering::Relaxed)
    }
}

impl<'b, W: Fn(&mut [u8]) + Sync> Filling<'_, 'b, W> {
    fn fill(&self, worker: &Worker<'_>) -> Result<(), IoError> {
        while worker.works() {
            let Some((mut offset, share)) = self.take() else { return Ok(()) };
            if !self.storage.computes() {
                executor::charge_current(share.len() as u64)?;
            }
            if let Some(profile) = &self.together {
                worker.reading(true, || self.read_together(offset, share, profile))?;
            }
            for block in share.chunks_mut(self.block_bytes) {
                if self.failed.load(Ordering::Relaxed) {
                    return Ok(());
                }
                self.block(worker, offset, block)?;
                offset += block.len() as u64;
            }
            worker.between_tasks();
        }
        // No share is left, or another thread reports the error.
        self.progress(0)
    }

    /// Takes the next share, up to a page boundary, in whole blocks: a block must not end within an element.
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
        let share = match self.divides_rest {
            Some(shares) => share.min(out.len() / shares).max(1),
            None => share,
        };
        let blocks = share.div_ceil(self.block_bytes);
        let (share, later) = out.split_at_mut((blocks * self.block_bytes).min(out.len()));
        *rest = (offset + share.len() as u64, later);
        Some((offset, share))
    }

    /// Reads a share with the requests of one call.
    fn read_together(
        &self,
        offset: u64,
        share: &mut [u8],
        profile: &Profile,
    ) -> Result<(), IoError> {
        let start = Instant::now();
        let each = share.len().div_ceil(profile.in_flight.max(1)).max(self.block_bytes);
        let each = each.min(usize::try_from(profile.request_bytes).unwrap_or(usize::MAX));
        let pieces = share.chunks_mut(each).zip((offset..).step_by(each));
        let mut requests: Vec<_> =
            pieces.map(|(buffer, offset)| Request { offset, buffer }).collect();
        self.storage.read_ranges(&mut requests)?;
        self.read_bytes.fetch_add(share.len() as u64, Ordering::Relaxed);
        self.io.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn block(&self, worker: &Worker<'_>, offset: u64, block: &mut [u8]) -> Result<(), IoError> {
        let start = Instant::now();
        let mut read_time = Duration::ZERO;
        if self.together.is_none() {
            worker.reading(self.waits, || self.storage.read_exact_at(offset, block))?;
            self.read_bytes.fetch_add(block.len() as u64, Ordering::Relaxed);
            read_time = start.elapsed();
        }
        (self.work)(block);
        let all = start.elapsed();
        self.io.fetch_add(read_time.as_nanos() as u64, Ordering::Relaxed);
        self.compute.fetch_add((all - read_time).as_nanos() as u64, Ordering::Relaxed);
        self.progress(block.len() as u64)
    }

    /// Reports further bytes to the watch; returns an error if the job must end.
    fn progress(&self, bytes: u64) -> Result<(), IoError> {
        {
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += bytes;
            if let Some(watch) = self.options.watch {
                watch.progress(*done);
            }
        }
        executor::check_current()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::memory::MemoryStorage;
    use crate::executor::{Executor, Job};

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
        // One block on one thread; a part of a large page per thread; several large pages.
        for (length, threads) in [
            (0, 1),
            (9_000, 8),
            (99_000, 8),
            (1 << 20, 1),
            (1 << 20, 2),
            (1 << 20, 8),
            (9 << 20, 3),
        ] {
            let content: Vec<u8> =
                (0..length as u32 + 1003).map(|place| (place % 251) as u8).collect();
            let expected: Vec<u8> = content[1003..].iter().map(|byte| !byte).collect();
            let storage = MemoryStorage::new("content", content);
            for block in [1000, 4096, 1 << 20] {
                let options = PipelineOptions { threads, ..PipelineOptions::default() };
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
        let error =
            fill(&storage, 5, &mut [0; 6], 2, &PipelineOptions::default(), |_| ()).unwrap_err();
        assert_eq!(error.code(), "io-short");
    }

    #[test]
    fn its_job_ends_it() {
        let storage = MemoryStorage::new("content", vec![0; 100]);
        // In many blocks, and in one.
        for block in [2, 100] {
            let end = |job: &Job| {
                let options = PipelineOptions { job: Some(job), ..PipelineOptions::default() };
                fill(&storage, 0, &mut [0; 100], block, &options, |_| ()).unwrap_err().code()
            };
            let job = Job::on(&Executor::new(1));
            assert_eq!(end(&job.clone().with_bytes(99)), "io-budget");
            assert_eq!(end(&job.clone().with_time(Duration::ZERO)), "io-budget");
            job.token().cancel();
            assert_eq!(end(&job), "io-cancelled");
            assert_eq!(job.executor().in_use(), 0);
        }
    }
}
