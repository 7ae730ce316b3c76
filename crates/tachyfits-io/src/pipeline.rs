//! The block pipeline: reads the bytes of each task, computes on several threads, merges in the order of the tasks.
//!
//! There are three arrangements. *Borrowed*: workers use the bytes in place, in memory or in the page cache, if the
//! storage finds that faster than a copy. *Inline*: each worker reads its own block and computes on it while it is in
//! the second-level cache. This is the best way to copy from the page cache, because it costs less than passing a block
//! from core to core.
//! *Ahead*: reader threads fetch blocks while the workers compute on earlier ones. This is the best way to read from a
//! device. [`Buffering::Auto`] checks the page cache to choose. The choice never changes a result: all arrangements
//! merge in the order of the tasks.

mod sample;

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::memory::MemoryStorage;
use crate::coordinator::{Coordinator, Next};
use crate::error::IoError;
use crate::executor::{self, Job, Team, Threads, Worker, work_together};
use crate::fetch::{Block, Extent, Fetched};
use crate::profile::Latency;
use crate::report::Report;
use crate::storage::{Storage, unless_changed};
use sample::Sample;

/// Default number of blocks read ahead, and of tasks announced to the kernel: enough that workers
/// continue while readers wait for a processor, fewer for large blocks, and one per reader for the
/// largest.
const AHEAD: u64 = 8;
const AHEAD_BYTES: u64 = 32 << 20;
const FEW_AHEAD: u64 = 4;
const FEW_AHEAD_BYTES: u64 = 64 << 20;

/// Tasks of fewer bytes are fetched together if each request waits for a network: 16 requests of 20 ms each give 3
/// GB/s.
const REQUEST_BYTES: u64 = 4 << 20;

/// Bytes in memory that a single thread processes: a second thread would start only after they are done.
const FOR_ONE_THREAD: u64 = 1 << 20;

/// Units of work, each needing some byte ranges of the storage.
///
/// About 1 MiB per task is right: small enough for the cache, large enough for the device. A task is never split.
pub trait Tasks: Sync {
    /// Returns the number of tasks.
    fn len(&self) -> u64;

    /// Whether there are no tasks.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the byte ranges that task `index` needs, in any order; they may overlap and may be empty. Called more
    /// than once per task, from any thread; the result must be the same.
    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>);

    /// Returns the extent of task `index` if its work uses [`Fetched::lent`] when the storage lends all of its bytes:
    /// listing many short ranges takes longer than processing them.
    fn extent(&self, index: u64) -> Option<Extent> {
        let _ = index;
        None
    }
}

/// A number of tasks that read nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoReads(pub u64);

impl Tasks for NoReads {
    fn len(&self) -> u64 {
        self.0
    }

    fn ranges(&self, _index: u64, _ranges: &mut Vec<Range<u64>>) {}
}

/// Observer of a run's progress.
pub trait Watch: Sync {
    /// Called after each task, and regularly by a waiting thread, with the bytes of all finished tasks. It is called on
    /// any thread (including the calling thread), by one thread at a time, and the number never decreases.
    fn progress(&self, bytes_done: u64);
}

/// Arrangement of reading and computing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Buffering {
    /// `Double` unless the bytes seem to be in the page cache. Cached bytes are borrowed, or copied as by `Single`,
    /// whichever the storage finds faster.
    #[default]
    Auto,
    /// Each worker reads its own block.
    Single,
    /// Reader threads fetch blocks ahead of the workers.
    Double,
}

options! {
    /// Options of a run.
    #[derive(Clone, Copy, Default)]
    pub struct PipelineOptions<'a> {
        /// Number of workers, limited by the permits of the executor; 0 means one per permit. A single worker is the
        /// calling thread itself.
        pub threads: usize,
        /// Arrangement of reading and computing.
        pub buffering: Buffering,
        /// Number of blocks that reader threads read ahead of the workers; 0 means the default: 8 blocks of up to 4
        /// MiB, 4 of 8 to 16 MiB and 2 of larger ones.
        pub ahead: usize,
        /// Number of finished tasks that may wait for a lower one to be merged, for results that are unusually large or
        /// small; 0 means the default, about three per thread.
        pub waiting: usize,
        /// Observer of the progress.
        pub watch: Option<&'a dyn Watch>,
        /// Request that the run is part of. `None` means the request of the enclosing run, or else the executor of the
        /// process without limits.
        pub job: Option<&'a Job>,
    }
}

/// Reads the ranges of every task, passes the bytes to `work` on several threads and the results to `merge`, which is
/// called strictly in the order of the tasks, one call at a time, on any of the threads.
///
/// `scratch` creates the reusable state of one worker, on its thread. Ranges with gaps up to 32 KiB are read together.
/// Memory use is limited: blocks and results exist only for a window of tasks.
///
/// ```
/// use std::ops::Range;
/// use tachyfits_io::{IoError, MemoryStorage, PipelineOptions, Tasks, run};
///
/// /// Ten bytes each.
/// struct Tens;
/// impl Tasks for Tens {
///     fn len(&self) -> u64 {
///         10
///     }
///     fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
///         ranges.push(index * 10..index * 10 + 10);
///     }
/// }
///
/// let storage = MemoryStorage::new("example", (0..100).collect::<Vec<u8>>());
/// let mut sums = Vec::new();
/// let report = run(
///     &storage,
///     &Tens,
///     &PipelineOptions::default(),
///     || (),
///     |(), _index, fetched| Ok(fetched.piece(0).iter().map(|&byte| u64::from(byte)).sum::<u64>()),
///     |_index, sum| {
///         sums.push(sum);
///         Ok::<(), IoError>(())
///     },
/// )?;
/// assert_eq!((sums[0], sums[9], report.bytes), (45, 945, 100));
/// # Ok::<(), IoError>(())
/// ```
///
/// # Errors
/// The error of the lowest task that fails in reading, `work` or `merge`, for any number of threads; exactly the tasks
/// below it have been merged. [`IoError::Cancelled`] and [`IoError::Budget`] if the job ends the run, and
/// [`IoError::Changed`] if another process changed the file since it was opened: the merged results are then invalid.
///
/// # Panics
/// If a closure panics: the other threads stop, and the panic continues in the calling thread.
pub fn run<W, R, E>(
    storage: &dyn Storage,
    tasks: &dyn Tasks,
    options: &PipelineOptions<'_>,
    scratch: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, u64, &Fetched<'_>) -> Result<R, E> + Sync,
    merge: impl FnMut(u64, R) -> Result<(), E> + Send,
) -> Result<Report, E>
where
    R: Send,
    E: From<IoError> + Send,
{
    let begun = Instant::now();
    let arrangement = Arrangement::choose(storage, tasks, options);
    if arrangement.cached {
        storage.prepare_to_lend();
    }
    let coordinator = Coordinator::new(
        tasks.len().div_ceil(arrangement.together),
        arrangement.window(),
        arrangement.threads,
        arrangement.blocks(),
    );
    let line = Line {
        feed: Feed {
            storage,
            tasks,
            cached: arrangement.cached,
            hints: arrangement.hints,
            waits: arrangement.waits,
            together: arrangement.together,
            read_bytes: AtomicU64::new(0),
        },
        coordinator,
        readers: arrangement.readers(),
        scratch,
        work,
        merge: Mutex::new(merge),
        watch: options.watch,
        bytes_done: Mutex::new(0),
    };
    let threads = Threads {
        workers: arrangement.threads,
        requested: options.threads,
        readers: line.readers,
        readers_compute: storage.computes(),
    };
    let mut spent = Spent::default();
    for output in work_together(&line, options.job, threads) {
        spent.io += output.io;
        spent.compute += output.compute;
    }
    let bytes = *line.bytes_done.lock().unwrap_or_else(PoisonError::into_inner);
    let read_bytes = line.feed.read_bytes.into_inner();
    let io_seconds = match arrangement.ahead {
        0 => spent.io.as_secs_f64() / arrangement.threads as f64,
        _ => line.coordinator.read_time().as_secs_f64(),
    };
    let stopped = line.coordinator.is_stopped();
    let outcome = line.coordinator.outcome();
    if stopped { outcome } else { unless_changed(storage, outcome) }?;
    Ok(Report {
        bytes,
        read_bytes,
        io_seconds,
        compute_seconds: spent.compute.as_secs_f64() / arrangement.threads as f64,
        write_seconds: 0.0,
        wall_seconds: begun.elapsed().as_secs_f64(),
        threads: arrangement.threads,
        buffering: arrangement.name(),
        storage: storage.kind(),
        rounding: 0.0,
    })
}

/// Does the same as [`run`], for tasks that read nothing.
///
/// # Errors
/// See [`run`].
///
/// # Panics
/// See [`run`].
pub fn run_tasks<W, R, E>(
    count: u64,
    options: &PipelineOptions<'_>,
    scratch: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, u64) -> Result<R, E> + Sync,
    merge: impl FnMut(u64, R) -> Result<(), E> + Send,
) -> Result<Report, E>
where
    R: Send,
    E: From<IoError> + Send,
{
    let nothing = MemoryStorage::new("memory", []);
    let work = |scratch: &mut W, task: u64, _: &Fetched<'_>| work(scratch, task);
    run(&nothing, &NoReads(count), options, scratch, work, merge)
}

/// Plan of a run.
#[derive(Debug)]
struct Arrangement {
    threads: usize,
    /// Number of blocks that readers read ahead; 0 if workers read by themselves.
    ahead: usize,
    /// Maximum number of reader threads.
    in_flight: usize,
    /// Whether the storage lends its bytes.
    borrowed: bool,
    /// Whether the storage lends bytes of the page cache.
    cached: bool,
    /// Number of tasks announced ahead to the kernel.
    hints: u64,
    /// Whether workers that read by themselves may wait for a device.
    waits: bool,
    /// Number of tasks per block.
    together: u64,
    /// Number of results that may wait to be merged; 0 means the default.
    waiting: usize,
}

impl Arrangement {
    fn choose(
        storage: &dyn Storage,
        tasks: &dyn Tasks,
        options: &PipelineOptions<'_>,
    ) -> Arrangement {
        let length = usize::try_from(tasks.len()).unwrap_or(usize::MAX);
        let threads = executor::threads_of(options.job, options.threads);
        // A caller that chooses a buffering gets buffers.
        let may_lend = options.buffering == Buffering::Auto;
        let Sample { borrowed, cached, resident, in_order, scans, bytes, all_bytes } =
            Sample::of(storage, tasks, may_lend);
        // A caller that chooses the buffering, or the read-ahead, computes much per byte.
        let is_quick = may_lend && options.ahead == 0;
        // Tasks without bytes may compute for any time.
        let is_little = is_quick && (1..=FOR_ONE_THREAD).contains(&all_bytes);
        let is_little = is_little && (borrowed || cached);
        let threads = if is_little { 1 } else { threads };
        let ahead = match options.buffering {
            Buffering::Auto => !resident,
            Buffering::Single => false,
            Buffering::Double => true,
        };
        let profile = storage.profile();
        let together = match profile.latency {
            // Short runs are still divided among all requests.
            Latency::Network if scans && ahead && !storage.computes() => (REQUEST_BYTES
                / bytes.max(1))
            .min(tasks.len().div_ceil(profile.in_flight.max(1) as u64))
            .max(1),
            _ => 1,
        };
        let bytes = bytes.saturating_mul(together);
        let length = length.div_ceil(usize::try_from(together).unwrap_or(usize::MAX));
        let several = (AHEAD_BYTES / bytes.max(1)).min(AHEAD);
        let few = FEW_AHEAD_BYTES / bytes.max(1);
        let in_flight = match profile.latency {
            Latency::Network => (few as usize).clamp(2, profile.in_flight.max(2)),
            Latency::Memory | Latency::Device => profile.in_flight,
        };
        // Bytes in memory need no reader, and a single task has no other to overlap with.
        let ahead = match options.ahead {
            _ if !ahead || borrowed || cached || length < 2 => 0,
            // Readers that compute need permits, for which a nested run does not wait.
            _ if storage.computes() && executor::is_nested() => 0,
            0 => (several.max(few.min(FEW_AHEAD)) as usize).max(in_flight),
            ahead => ahead,
        };
        Arrangement {
            threads: threads.clamp(1, length.max(1)),
            ahead: ahead.min(length),
            in_flight,
            borrowed: borrowed || cached,
            cached,
            // A kernel that reads far ahead detects sequential reads by itself. Announcing them makes it cache the file
            // in the smallest pages, which slows down every later read.
            hints: match resident || (in_order && storage.reads_far_ahead()) {
                true => 0,
                false => several.max(1),
            },
            waits: !(resident || storage.computes()) || profile.latency == Latency::Network,
            together,
            waiting: options.waiting,
        }
    }

    fn readers(&self) -> usize {
        self.ahead.min(self.in_flight)
    }

    /// Returns how far beyond the merged tasks one may be claimed: enough that one slow task does not stop the others.
    fn window(&self) -> usize {
        let waiting = if self.waiting == 0 { 3 * self.threads } else { self.waiting };
        self.threads + self.ahead + waiting
    }

    /// Returns the number of blocks: one per worker, and those that are read ahead.
    fn blocks(&self) -> usize {
        if self.ahead > 0 { self.threads + self.ahead } else { 0 }
    }

    fn name(&self) -> &'static str {
        match self {
            Arrangement { borrowed: true, .. } => "borrowed",
            Arrangement { ahead: 0, .. } => "inline",
            _ => "ahead",
        }
    }
}

/// Time spent by one thread, or by all.
#[derive(Clone, Copy, Default)]
struct Spent {
    io: Duration,
    compute: Duration,
}

/// Source of the bytes.
struct Feed<'s> {
    storage: &'s dyn Storage,
    tasks: &'s dyn Tasks,
    /// Whether to borrow bytes of the page cache.
    cached: bool,
    hints: u64,
    /// Whether reading may wait for a device.
    waits: bool,
    /// Number of tasks per block.
    together: u64,
    read_bytes: AtomicU64,
}

impl<'s> Feed<'s> {
    /// Fetches the bytes of a task.
    fn fetch(&self, index: u64, block: &mut Block<'s>, spent: &mut Spent) -> Result<(), IoError> {
        let begun = Instant::now();
        if self.hints > 0 {
            self.announce(index, block);
        }
        let extent = || if self.together == 1 { self.tasks.extent(index) } else { None };
        if !block.take_all(self.storage, self.cached, extent) {
            block.ranges.clear();
            self.ranges(index, &mut block.ranges);
        }
        if !self.storage.computes() {
            executor::charge_current(block.wanted())?;
        }
        let read = block.fetch(self.storage, self.cached);
        spent.io += begun.elapsed();
        self.read_bytes.fetch_add(read?, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the tasks of a block.
    fn tasks_of(&self, block: u64) -> Range<u64> {
        let first = block * self.together;
        first..first.saturating_add(self.together).min(self.tasks.len())
    }

    /// Appends the ranges of all tasks of a block.
    fn ranges(&self, block: u64, ranges: &mut Vec<Range<u64>>) {
        for task in self.tasks_of(block) {
            self.tasks.ranges(task, ranges);
        }
    }

    /// Announces the ranges of later blocks: the first block announces several, each other block one.
    fn announce(&self, index: u64, block: &mut Block<'s>) {
        let last = index.saturating_add(self.hints);
        let first = if index == 0 { 1 } else { last };
        let end = self.tasks.len().div_ceil(self.together);
        for later in first..last.saturating_add(1).min(end) {
            block.ranges.clear();
            self.ranges(later, &mut block.ranges);
            block.planned(self.storage).for_each(|range| self.storage.will_need(range));
        }
    }
}

/// Results of the work on a block.
enum Results<R, E> {
    One(R),
    /// Results of several tasks, up to one that failed.
    Several(Vec<R>, Option<E>),
}

/// State shared by the threads of a run.
struct Line<'s, R, E, S, K, M> {
    feed: Feed<'s>,
    coordinator: Coordinator<'s, Results<R, E>, E>,
    readers: usize,
    scratch: S,
    work: K,
    merge: Mutex<M>,
    watch: Option<&'s dyn Watch>,
    bytes_done: Mutex<u64>,
}

impl<W, R, E, S, K, M> Team for Line<'_, R, E, S, K, M>
where
    R: Send,
    E: From<IoError> + Send,
    S: Fn() -> W + Sync,
    K: Fn(&mut W, u64, &Fetched<'_>) -> Result<R, E> + Sync,
    M: FnMut(u64, R) -> Result<(), E> + Send,
{
    type Output = Spent;

    /// Computes on blocks that were read, or reads by itself.
    fn work(&self, worker: &Worker<'_>) -> Spent {
        let _guard = self.coordinator.stop_on_panic();
        let mut scratch = (self.scratch)();
        let mut spent = Spent::default();
        if self.readers > 0 {
            while let Some((index, block)) = self.next(worker, Coordinator::take) {
                self.compute(index, &block, &mut scratch, &mut spent);
                self.coordinator.recycle(block);
                worker.between_tasks();
            }
        } else {
            let mut block = Block::of_this_thread();
            while let Some(index) = self.next(worker, Coordinator::claim) {
                let fetch = || self.feed.fetch(index, &mut block, &mut spent);
                match worker.reading(self.feed.waits, fetch) {
                    // A claimed task must be completed, even if there is no permit because the run was stopped.
                    Ok(()) if worker.works() => {
                        self.compute(index, &block, &mut scratch, &mut spent);
                    }
                    Ok(()) => break,
                    Err(error) => self.coordinator.fail(index, error.into()),
                }
                worker.between_tasks();
            }
            block.keep();
        }
        spent
    }

    fn is_stopped(&self) -> bool {
        self.progress(0);
        self.coordinator.is_ended()
    }

    /// Runs a reader: fetches blocks in order.
    fn read_ahead(&self, reader: usize, worker: &Worker<'_>) -> Spent {
        let _guard = self.coordinator.stop_on_panic();
        let mut spent = Spent::default();
        while let Some((index, mut block)) = self.coordinator.claim_read(reader) {
            match worker.computing(|| self.feed.fetch(index, &mut block, &mut spent)) {
                Some(Ok(())) => self.coordinator.deliver(index, block),
                Some(Err(error)) => self.coordinator.fail_read(index, error.into()),
                None => self.coordinator.fail_read(index, IoError::Cancelled.into()),
            }
        }
        spent
    }

    fn no_reader(&self, source: io::Error) {
        self.coordinator.fail(0, IoError::Threads { source }.into());
    }

    fn finish(&self) {
        // The watch may have to be called on this thread, which must not sleep while others work.
        self.coordinator.finish(&|| self.progress(0));
    }
}

impl<'s, W, R, E, S, K, M> Line<'s, R, E, S, K, M>
where
    R: Send,
    E: From<IoError> + Send,
    S: Fn() -> W + Sync,
    K: Fn(&mut W, u64, &Fetched<'_>) -> Result<R, E> + Sync,
    M: FnMut(u64, R) -> Result<(), E> + Send,
{
    /// Returns the next task for a worker, waiting for it without a permit.
    fn next<T>(
        &self,
        worker: &Worker<'_>,
        take: impl Fn(&Coordinator<'s, Results<R, E>, E>) -> Next<T>,
    ) -> Option<T> {
        while worker.works() {
            match take(&self.coordinator) {
                Next::Task(task) => return Some(task),
                Next::Later => {
                    let idle = || self.progress(0);
                    worker.while_idle(|| self.coordinator.wait(self.readers > 0, &idle));
                }
                Next::End => return None,
            }
        }
        None
    }

    fn compute(&self, index: u64, block: &Block<'_>, scratch: &mut W, spent: &mut Spent) {
        let begun = Instant::now();
        let cancelled = || self.is_cancelled();
        let mut fetched = block.fetched();
        fetched.cancelled = Some(&cancelled);
        let made = match self.feed.together {
            1 => (self.work)(scratch, index, &fetched).map(Results::One),
            _ => Ok(self.compute_several(index, &fetched, scratch)),
        };
        // Missing bytes take precedence over an error of the work, because they explain it.
        match block.intact(self.feed.storage).map_err(E::from).and(made) {
            Ok(result) => self.coordinator.complete(index, result, |merged, result| {
                let outcome = self.merge(merged, result);
                // Merging results of other threads may keep this one busy for long.
                if merged != index {
                    self.progress(0);
                }
                outcome
            }),
            Err(error) => self.coordinator.fail(index, error),
        }
        spent.compute += begun.elapsed();
        self.progress(block.wanted());
    }

    /// Computes on each task of a block.
    fn compute_several(&self, block: u64, fetched: &Fetched<'_>, scratch: &mut W) -> Results<R, E> {
        let (mut results, mut ranges, mut first) = (Vec::new(), Vec::new(), 0);
        for task in self.feed.tasks_of(block) {
            ranges.clear();
            self.feed.tasks.ranges(task, &mut ranges);
            let end = first + ranges.len();
            match (self.work)(scratch, task, &fetched.part(first..end)) {
                Ok(result) => results.push(result),
                Err(error) => return Results::Several(results, Some(error)),
            }
            first = end;
        }
        Results::Several(results, None)
    }

    /// Merges the results of a block, task by task.
    fn merge(&self, block: u64, results: Results<R, E>) -> Result<(), E> {
        let mut merge = self.merge.lock().unwrap_or_else(PoisonError::into_inner);
        match results {
            Results::One(result) => (*merge)(block, result),
            Results::Several(results, error) => {
                for (task, result) in self.feed.tasks_of(block).zip(results) {
                    (*merge)(task, result)?;
                }
                error.map_or(Ok(()), Err)
            }
        }
    }

    /// Whether the job has stopped the run.
    fn is_cancelled(&self) -> bool {
        self.progress(0);
        self.coordinator.is_stopped()
    }

    /// Reports further bytes to the watch, and stops the run if its job must end.
    fn progress(&self, bytes: u64) {
        {
            let mut done = self.bytes_done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += bytes;
            if let Some(watch) = self.watch {
                watch.progress(*done);
            }
        }
        if let Err(error) = executor::check_current() {
            self.coordinator.stop(error);
        }
    }
}

#[cfg(test)]
mod tests;
