//! Assignment of tasks to threads and the order of merging results: the shared state of a run,
//! under one lock.
//!
//! Tasks are claimed in ascending order, so when a task fails, every task below it has been claimed and will be
//! finished. Therefore a run reports the error of the lowest failing task, and merges exactly the tasks below it, for
//! any number of threads. The *horizon* implements this rule: tasks at or above it are neither started nor merged. It
//! starts at the number of tasks, drops to a failing task, and to zero if the run is stopped or panics.
//!
//! A task is claimed only within a window above the merged tasks, which limits the results and blocks in memory.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::IoError;
use crate::fetch::Block;

/// Interval at which the callback of a waiting thread, which may have to see Ctrl-C, is called.
const BETWEEN_IDLE_CALLS: Duration = Duration::from_millis(50);

/// Next step of a worker.
pub(crate) enum Next<T> {
    /// Work on a task.
    Task(T),
    /// Call [`Coordinator::wait`], then ask again.
    Later,
    /// Nothing.
    End,
}

/// Shared state of a run.
pub(crate) struct Coordinator<'s, R, E> {
    state: Mutex<State<'s, R, E>>,
    /// Signals workers: a task, a block that was read, or the end.
    changed: Condvar,
    /// Signals readers: a free block, or the end.
    room: Condvar,
    window: u64,
    /// Number of workers.
    workers: usize,
    /// Number of free blocks at which an idle reader is woken: several, because each wake-up takes a processor from a
    /// worker.
    refill: usize,
}

struct State<'s, R, E> {
    /// Next task to claim.
    next: u64,
    /// Next task to merge; all tasks below are merged.
    merged: u64,
    horizon: u64,
    /// Results that wait for a lower task.
    results: BTreeMap<u64, R>,
    /// Whether a thread is merging; it also merges results that become ready meanwhile.
    merging: bool,
    failure: Option<(u64, E)>,
    /// Reason for stopping the run.
    stopped: Option<IoError>,
    /// Blocks that are read and wait for a worker (with read-ahead).
    ready: BTreeMap<u64, Block<'s>>,
    /// Blocks that wait for a reader.
    free: Vec<Block<'s>>,
    /// Number of tasks being read, the start of the current period of reading, and the duration of earlier ones.
    reading: usize,
    reading_since: Instant,
    read: Duration,
    /// Numbers of waiting workers and readers, so that no system call is made if none waits.
    waiting: usize,
    waiting_readers: usize,
}

impl<'s, R, E: From<IoError>> Coordinator<'s, R, E> {
    /// Returns the state before the first of `tasks` tasks, with `blocks` blocks for readers.
    pub(crate) fn new(
        tasks: u64,
        window: usize,
        workers: usize,
        blocks: usize,
    ) -> Coordinator<'s, R, E> {
        let state = State {
            next: 0,
            merged: 0,
            horizon: tasks,
            results: BTreeMap::new(),
            merging: false,
            failure: None,
            stopped: None,
            ready: BTreeMap::new(),
            free: (0..blocks).map(|_| Block::default()).collect(),
            reading: 0,
            reading_since: Instant::now(),
            read: Duration::ZERO,
            waiting: 0,
            waiting_readers: 0,
        };
        Coordinator {
            state: Mutex::new(state),
            changed: Condvar::new(),
            room: Condvar::new(),
            window: window as u64,
            workers,
            refill: (blocks.saturating_sub(workers) / 2).max(1),
        }
    }

    /// Returns the next task for a worker that reads by itself.
    pub(crate) fn claim(&self) -> Next<u64> {
        let mut state = self.lock();
        match state.next < state.horizon {
            true if self.is_in_window(&state) => {
                state.next += 1;
                Next::Task(state.next - 1)
            }
            true => Next::Later,
            false => Next::End,
        }
    }

    fn is_in_window(&self, state: &State<'s, R, E>) -> bool {
        state.next < state.merged + self.window
    }

    /// Waits until there is a task for a worker, a block if others read, or the end. Calls `idle` regularly.
    pub(crate) fn wait(&self, others_read: bool, idle: &dyn Fn()) {
        let mut state = self.lock();
        loop {
            let waits = match others_read {
                true => !state.has_ready() && !state.is_read(),
                false => state.next < state.horizon && !self.is_in_window(&state),
            };
            if !waits {
                return;
            }
            state = self.sleep(state, idle);
        }
    }

    /// Waits for the next task for a reader and a block to read it into; returns `None` at the end.
    ///
    /// The first reader (number 0) reads whenever a block is free. The others help only if workers may have to wait:
    /// while one reader stays ahead of the workers, a second one would only take processors from them.
    pub(crate) fn claim_read(&self, reader: usize) -> Option<(u64, Block<'s>)> {
        let mut state = self.lock();
        let mut least = 1;
        while state.next < state.horizon {
            let starving = state.ready.len() < self.workers;
            if (starving || (reader == 0 && state.free.len() >= least))
                && self.is_in_window(&state)
                && let Some(block) = state.free.pop()
            {
                state.next += 1;
                state.begin_reading();
                return Some((state.next - 1, block));
            }
            least = self.refill;
            state.waiting_readers += 1;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting_readers -= 1;
        }
        None
    }

    /// Passes a block that was read to the workers.
    pub(crate) fn deliver(&self, index: u64, block: Block<'s>) {
        let mut state = self.lock();
        state.end_reading();
        state.ready.insert(index, block);
        self.wake(&state);
    }

    /// Records that a block could not be read.
    pub(crate) fn fail_read(&self, index: u64, error: E) {
        self.lock().end_reading();
        self.fail(index, error);
    }

    /// Returns the time in which at least one reader was reading.
    pub(crate) fn read_time(&self) -> Duration {
        self.lock().read
    }

    /// Returns the lowest task that was read, for a worker.
    pub(crate) fn take(&self) -> Next<(u64, Block<'s>)> {
        let mut state = self.lock();
        if state.has_ready()
            && let Some(entry) = state.ready.first_entry()
        {
            let entry = entry.remove_entry();
            self.wake_readers(&state);
            return Next::Task(entry);
        }
        if state.is_read() { Next::End } else { Next::Later }
    }

    /// Waits until the last result is merged, or for a failure or the end before it. Calls `idle` regularly.
    pub(crate) fn finish(&self, idle: &dyn Fn()) {
        let mut state = self.lock();
        while state.merged < state.horizon {
            state = self.sleep(state, idle);
        }
    }

    /// Returns a block to the readers.
    pub(crate) fn recycle(&self, block: Block<'s>) {
        let mut state = self.lock();
        state.free.push(block);
        self.wake_readers(&state);
    }

    /// Records the failure of a task; the lowest failing task counts.
    pub(crate) fn fail(&self, index: u64, error: E) {
        let mut state = self.lock();
        if state.failure.as_ref().is_none_or(|(lowest, _)| index < *lowest) {
            state.failure = Some((index, error));
        }
        state.horizon = state.horizon.min(index);
        self.wake(&state);
    }

    /// Adds the result of a task. The thread that closes a gap merges all results that are ready, in order, one at a
    /// time.
    pub(crate) fn complete(&self, index: u64, result: R, merge: impl Fn(u64, R) -> Result<(), E>) {
        let mut state = self.lock();
        state.results.insert(index, result);
        if state.merging {
            return;
        }
        state.merging = true;
        while state.merged < state.horizon {
            let index = state.merged;
            let Some(result) = state.results.remove(&index) else { break };
            drop(state);
            let outcome = merge(index, result);
            if let Err(error) = outcome {
                self.fail(index, error);
                state = self.lock();
                break;
            }
            state = self.lock();
            state.merged += 1;
            self.wake(&state);
        }
        state.merging = false;
    }

    /// Whether [`Coordinator::stop`] was called.
    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().stopped.is_some()
    }

    /// Whether no further results are needed.
    pub(crate) fn is_ended(&self) -> bool {
        self.lock().horizon == 0
    }

    /// Stops the run: no task is started or merged afterwards. The first reason counts.
    pub(crate) fn stop(&self, reason: IoError) {
        self.lock().stopped.get_or_insert(reason);
        self.end();
    }

    /// Returns the outcome of the run.
    pub(crate) fn outcome(self) -> Result<(), E> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (state.stopped, state.failure) {
            (Some(reason), _) => Err(E::from(reason)),
            (None, Some((_, error))) => Err(error),
            (None, None) => Ok(()),
        }
    }

    /// Returns a guard that stops the other threads if this one panics, so that the panic is reported and no thread
    /// waits for it.
    pub(crate) fn stop_on_panic(&self) -> StopOnPanic<'_, 's, R, E> {
        StopOnPanic(self)
    }

    fn end(&self) {
        let mut state = self.lock();
        state.horizon = 0;
        self.wake(&state);
    }

    /// Locks the state, which is consistent even after a panic: no code of the caller runs under the lock.
    fn lock(&self) -> MutexGuard<'_, State<'s, R, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'g>(
        &'g self,
        mut state: MutexGuard<'g, State<'s, R, E>>,
        idle: &dyn Fn(),
    ) -> MutexGuard<'g, State<'s, R, E>> {
        state.waiting += 1;
        let waited = self.changed.wait_timeout(state, BETWEEN_IDLE_CALLS);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        // The caller's code may need the lock.
        drop(state);
        idle();
        self.lock()
    }

    fn wake(&self, state: &State<'s, R, E>) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
        self.wake_readers(state);
    }

    /// Wakes the readers if they can continue.
    fn wake_readers(&self, state: &State<'s, R, E>) {
        let free = state.free.len();
        let room = free >= self.refill || (free > 0 && state.ready.len() < self.workers);
        if state.waiting_readers > 0 && (room || state.next >= state.horizon) {
            self.room.notify_all();
        }
    }
}

impl<R, E> State<'_, R, E> {
    /// Whether a block is ready for a worker.
    fn has_ready(&self) -> bool {
        self.ready.first_key_value().is_some_and(|(&index, _)| index < self.horizon)
    }

    /// Whether no further block will come: at horizon zero none is used, and a reader that panicked never delivers one.
    fn is_read(&self) -> bool {
        self.horizon == 0 || (self.next >= self.horizon && self.reading == 0)
    }

    fn begin_reading(&mut self) {
        if self.reading == 0 {
            self.reading_since = Instant::now();
        }
        self.reading += 1;
    }

    fn end_reading(&mut self) {
        self.reading -= 1;
        if self.reading == 0 {
            self.read += self.reading_since.elapsed();
        }
    }
}

/// See [`Coordinator::stop_on_panic`].
pub(crate) struct StopOnPanic<'c, 's, R, E: From<IoError>>(&'c Coordinator<'s, R, E>);

impl<R, E: From<IoError>> Drop for StopOnPanic<'_, '_, R, E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Coordinator, Next};
    use crate::error::IoError;
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::thread;
    use std::time::{Duration, Instant};

    /// Time within which nothing may happen in the first case, and something must happen in the second.
    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(20);

    /// Returns a coordinator of `workers` workers, with `ahead` blocks to read ahead.
    fn coordinator(workers: usize, ahead: usize) -> Coordinator<'static, (), IoError> {
        Coordinator::new(20, 20, workers, workers + ahead)
    }

    /// Returns the claims of a waiting reader after each of two steps.
    fn claims(
        line: &Coordinator<'static, (), IoError>,
        reader: usize,
        steps: [&dyn Fn(); 2],
    ) -> [Result<u64, RecvTimeoutError>; 2] {
        let (sender, claimed) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| line.claim_read(reader).map(|(index, _)| sender.send(index)));
            while line.lock().waiting_readers == 0 {
                thread::yield_now();
            }
            steps[0]();
            let early = claimed.recv_timeout(SHORT);
            steps[1]();
            let late = claimed.recv_timeout(LONG);
            line.stop(IoError::Cancelled);
            [early, late]
        })
    }

    #[test]
    fn the_second_reader_helps_while_workers_have_too_little() {
        let line = coordinator(1, 4);
        let (first, block) = line.claim_read(1).unwrap();
        line.deliver(first, block);
        // The only worker has a task: only the first reader continues.
        let take = || assert!(matches!(line.take(), Next::Task(_)));
        assert_eq!(claims(&line, 1, [&|| (), &take]), [Err(RecvTimeoutError::Timeout), Ok(1)]);
    }

    #[test]
    fn a_reader_without_a_block_waits_for_several() {
        let line = coordinator(1, 4);
        for _ in 0..5 {
            let (index, block) = line.claim_read(0).unwrap();
            line.deliver(index, block);
        }
        let work = || {
            let Next::Task((_, block)) = line.take() else { panic!("a block is read") };
            line.recycle(block);
        };
        assert_eq!(claims(&line, 0, [&work, &work]), [Err(RecvTimeoutError::Timeout), Ok(5)]);
    }

    #[test]
    fn two_that_read_at_once_take_the_time_of_one() {
        let line = coordinator(2, 4);
        let start = Instant::now();
        let blocks = [0, 1].map(|reader| line.claim_read(reader).unwrap());
        thread::sleep(Duration::from_millis(20));
        blocks.into_iter().for_each(|(index, block)| line.deliver(index, block));
        let read_time = line.read_time();
        assert!(
            read_time >= Duration::from_millis(20) && read_time <= start.elapsed(),
            "{read_time:?}"
        );
    }
}
