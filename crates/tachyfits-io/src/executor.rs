//! Permits to compute, shared by all runs of a process, so that many concurrent requests use no more cores than one.
//!
//! A thread that computes for a run has a permit. The calling thread works too; it waits for a permit if all are in
//! use. Further threads are started when permits are free. Runs of higher priority get permits first, runs of equal
//! priority get the same number. If there are more runs than permits, they take turns. Between two tasks a thread
//! checks whether it must return its permit, which costs one atomic load.
//!
//! Two rules exclude deadlocks. A thread that waits for a block or for a device returns its permit meanwhile. A run
//! started within a run (by a callback, or by a storage that reads others) uses the permit of its calling thread and
//! never waits for one.

mod job;
mod team;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::IoError;
use crate::notes::Notes;
pub use job::{CancelToken, Job, Priority};
pub(crate) use team::{Team, Threads, Worker, work_together};

/// Time that a run computes before it yields to an equal run without a permit: many times the cost of a switch.
const TURN: Duration = Duration::from_millis(5);

/// Interval at which a thread waiting for a permit checks whether its run was cancelled.
const BETWEEN_CHECKS: Duration = Duration::from_millis(50);

/// Pool of permits to compute. Clones share the permits.
///
/// ```
/// use tachyfits_io::{Executor, Job, PipelineOptions};
///
/// let executor = Executor::new(4);
/// let job = Job::on(&executor);
/// // Any number of runs with this job keep at most four threads busy.
/// let options = PipelineOptions::default().job(Some(&job));
/// assert_eq!(executor.permits(), 4);
/// let _ = options;
/// ```
#[derive(Clone)]
pub struct Executor(Arc<Pool>);

struct Pool {
    /// Whether runs that request more threads than there are permits get them: a user may decide about the cores of a
    /// process, a request to a server may not.
    grows: bool,
    permits: usize,
    state: Mutex<Permits>,
}

struct Permits {
    permits: usize,
    turn: Duration,
    /// Permits in use.
    held: usize,
    /// Runs in the order of their turns.
    runs: Vec<Entry>,
}

/// A run that has or needs permits.
struct Entry {
    run: Arc<ActiveRun>,
    priority: Priority,
    /// Number of threads that could compute now: smaller while threads wait for something other than a permit.
    most: usize,
    /// Number of threads that the user requested; 0 if unspecified.
    requested: usize,
    held: usize,
    /// Threads waiting for a permit.
    waiting: usize,
    /// Number of permits that the run should have now.
    share: usize,
    /// Time at which the run received its first permit.
    since: Instant,
}

/// A run, as its threads see it.
pub(crate) struct ActiveRun {
    executor: Executor,
    job: Option<Job>,
    /// Whether its threads must call the executor because the number of permits should change.
    attention: AtomicBool,
    /// Threads of this run wait here for a permit.
    granted: Condvar,
    /// Whether no task is left to start.
    ended: AtomicBool,
    /// Whether its calling thread belongs to another run.
    is_nested: bool,
}

impl Executor {
    /// Returns a pool with a number of permits; 0 means one per processor.
    pub fn new(permits: usize) -> Executor {
        Executor::build(permits, false, TURN)
    }

    fn build(permits: usize, grows: bool, turn: Duration) -> Executor {
        let permits = if permits == 0 { processors() } else { permits };
        let state = Permits { permits, turn, held: 0, runs: Vec::new() };
        Executor(Arc::new(Pool { grows, permits, state: Mutex::new(state) }))
    }

    /// Returns the pool of runs without a [`Job`], with one permit per processor. A run that requests more threads gets
    /// them, because threads that wait for a device need no processor.
    pub fn of_process() -> Executor {
        // After a fork, the process does not have the threads that hold permits in its copy of the pool.
        static POOL: Mutex<Option<(u32, Executor)>> = Mutex::new(None);
        let new = || Executor::build(0, true, TURN);
        // For the same reason, the lock may be held for ever.
        for _ in 0..1000 {
            if let Ok(mut pool) = POOL.try_lock() {
                let id = process::id();
                return match &*pool {
                    Some((owner, executor)) if *owner == id => executor.clone(),
                    _ => pool.insert((id, new())).1.clone(),
                };
            }
            thread::yield_now();
        }
        new()
    }

    /// Returns the number of permits.
    pub fn permits(&self) -> usize {
        self.0.permits
    }

    /// Returns the number of permits in use.
    pub fn in_use(&self) -> usize {
        self.lock().held
    }

    /// Returns the number of threads of a run that requests a number, 0 for all.
    fn threads(&self, requested: usize) -> usize {
        match requested {
            0 => self.permits(),
            more if self.0.grows => more,
            some => some.min(self.permits()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Permits> {
        // No code of a caller runs under the lock.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executor({} permits)", self.permits())
    }
}

/// Returns the maximum number of threads of a job's run: the requested number, 0 for all, limited by the executor's
/// permits.
pub(crate) fn threads_of(job: Option<&Job>, requested: usize) -> usize {
    match (current(), job) {
        (Some(outer), _) => outer.executor.threads(requested),
        (None, Some(job)) => job.executor.threads(requested),
        (None, None) if requested == 0 => processors(),
        (None, None) => requested,
    }
}

/// Returns the number of processors, queried once: it reads files of control groups, which takes longer than a small
/// run.
pub(crate) fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

impl Permits {
    /// Returns the number of permits that may be in use: more than the pool has if a user requested more threads.
    fn capacity(&self, grows: bool) -> usize {
        match grows {
            true => self.runs.iter().map(|entry| entry.requested).fold(self.permits, usize::max),
            false => self.permits,
        }
    }

    fn place(&self, run: &ActiveRun) -> Option<usize> {
        self.runs.iter().position(|entry| std::ptr::eq(&*entry.run, run))
    }

    /// Whether the run may take another permit.
    fn is_free(&self, place: usize, grows: bool) -> bool {
        let entry = &self.runs[place];
        entry.held < entry.share && self.held < self.capacity(grows)
    }

    fn take(&mut self, place: usize) {
        let entry = &mut self.runs[place];
        if entry.held == 0 {
            entry.since = Instant::now();
        }
        entry.held += 1;
        self.held += 1;
    }

    fn give_back(&mut self, place: usize) {
        self.runs[place].held -= 1;
        self.held -= 1;
    }

    /// Whether a run of this priority waits for its turn.
    fn is_turn_wanted(&self, priority: Priority) -> bool {
        let waits = |entry: &Entry| entry.priority == priority && entry.share == 0;
        self.runs.iter().any(|entry| waits(entry) && entry.waiting > 0)
    }

    /// Redistributes the permits after a change, and notifies the affected runs.
    fn settle(&mut self, grows: bool) {
        let capacity = self.capacity(grows);
        let mut remaining = capacity;
        for priority in Priority::ALL {
            remaining = self.share_out(priority, remaining);
        }
        let wants_turn = Priority::ALL.map(|priority| self.is_turn_wanted(priority));
        let is_free = self.held < capacity;
        for entry in &self.runs {
            let takes = is_free && entry.held < entry.share;
            if takes && entry.waiting > 0 {
                entry.run.granted.notify_all();
            }
            let gives =
                entry.held > entry.share || (entry.held > 0 && wants_turn[entry.priority as usize]);
            let attention = gives || (takes && entry.waiting == 0);
            entry.run.attention.store(attention, Ordering::Relaxed);
        }
    }

    /// Distributes permits equally among the runs of a priority, up to the number that each can use; returns the rest.
    fn share_out(&mut self, priority: Priority, mut remaining: usize) -> usize {
        self.runs
            .iter_mut()
            .filter(|entry| entry.priority == priority)
            .for_each(|entry| entry.share = 0);
        loop {
            let wants = |entry: &&mut Entry| entry.priority == priority && entry.share < entry.most;
            let count = self.runs.iter_mut().filter(wants).count();
            if remaining == 0 || count == 0 {
                return remaining;
            }
            let each = (remaining / count).max(1);
            for entry in self.runs.iter_mut().filter(wants) {
                let more = each.min(entry.most - entry.share).min(remaining);
                entry.share += more;
                remaining -= more;
            }
        }
    }
}

/// Next step of a thread that gave its permit to another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Wait,
    End,
}

impl ActiveRun {
    /// Begins a run of at most `most` computing threads, and gives the calling thread a permit if one is free, so that
    /// a small run only calls the executor twice. A calling thread that belongs to a run needs no permit.
    fn begin(job: Option<&Job>, most: usize, requested: usize) -> (Arc<ActiveRun>, bool) {
        let outer = current();
        let executor = match (&outer, job) {
            (Some(outer), _) => outer.executor.clone(),
            (None, Some(job)) => job.executor.clone(),
            (None, None) => Executor::of_process(),
        };
        let job = job.cloned().or_else(|| outer.as_ref().and_then(|outer| outer.job.clone()));
        let (is_nested, priority) = (outer.is_some(), job.as_ref().map(|job| job.priority));
        let run = Arc::new(ActiveRun {
            executor,
            job,
            attention: AtomicBool::new(false),
            granted: Condvar::new(),
            ended: AtomicBool::new(false),
            is_nested,
        });
        let most = most - usize::from(is_nested && most > 0);
        let mut has_permit = false;
        if most > 0 {
            let entry = Entry {
                run: Arc::clone(&run),
                priority: priority.unwrap_or_default(),
                most,
                requested,
                held: 0,
                waiting: 0,
                share: 0,
                since: Instant::now(),
            };
            let grows = run.executor.0.grows;
            has_permit = run.change(|state| {
                state.runs.push(entry);
                if is_nested {
                    return false;
                }
                state.settle(grows);
                let place = state.runs.len() - 1;
                let is_free = state.is_free(place, grows);
                if is_free {
                    state.take(place);
                }
                is_free
            });
        }
        (run, has_permit)
    }

    /// Changes the state of the executor.
    fn change<T>(&self, change: impl FnOnce(&mut Permits) -> T) -> T {
        let mut state = self.executor.lock();
        let result = change(&mut state);
        state.settle(self.executor.0.grows);
        result
    }

    /// Changes the entry of this run, if it has one.
    fn change_entry(&self, change: impl FnOnce(&mut Permits, usize)) {
        self.change(|state| {
            if let Some(place) = state.place(self) {
                change(state, place);
            }
        });
    }

    /// Waits for a permit. Returns `false` without one if the run was stopped, which is checked regularly, or at its
    /// end if `gives_up_at_end`.
    fn acquire(&self, gives_up_at_end: bool, is_stopped: &dyn Fn() -> bool) -> bool {
        self.change_entry(|state, place| state.runs[place].waiting += 1);
        self.wait(gives_up_at_end, is_stopped)
    }

    /// Does the same as [`ActiveRun::acquire`] for a thread that is already counted as waiting.
    fn wait(&self, gives_up_at_end: bool, is_stopped: &dyn Fn() -> bool) -> bool {
        let grows = self.executor.0.grows;
        let mut state = self.executor.lock();
        let mut stopped = false;
        loop {
            let Some(place) = state.place(self) else { return false };
            let is_free = state.is_free(place, grows);
            let gives_up = gives_up_at_end && self.ended.load(Ordering::Relaxed);
            if is_free || gives_up || stopped {
                state.runs[place].waiting -= 1;
                if is_free {
                    state.take(place);
                }
                state.settle(grows);
                return is_free;
            }
            let waited = self.granted.wait_timeout(state, BETWEEN_CHECKS);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if timeout.timed_out() {
                drop(state);
                stopped = is_stopped();
                state = self.executor.lock();
            }
        }
    }

    /// Runs a closure that does not compute, without the permit of this thread, if it has one of this run.
    fn without_permit<T>(
        &self,
        gives_up_at_end: bool,
        is_stopped: &dyn Fn() -> bool,
        work: impl FnOnce() -> T,
    ) -> T {
        if !Permit::is_held() {
            return work();
        }
        Permit::replace(Permit::Paused);
        self.change_entry(|state, place| {
            state.give_back(place);
            state.runs[place].most -= 1;
        });
        let result = work();
        Permit::replace(Permit::None);
        self.change_entry(|state, place| state.runs[place].most += 1);
        Permit::set(self.acquire(gives_up_at_end, is_stopped));
        result
    }

    /// Returns the permit of a thread if another run should have it; `false` if not.
    fn give_way(&self, then: Then) -> bool {
        let grows = self.executor.0.grows;
        self.change(|state| {
            let Some(mut place) = state.place(self) else { return false };
            let entry = &state.runs[place];
            if state.is_turn_wanted(entry.priority) && entry.since.elapsed() >= state.turn {
                let entry = state.runs.remove(place);
                state.runs.push(entry);
                place = state.runs.len() - 1;
                state.runs[place].since = Instant::now();
                state.settle(grows);
            }
            let gives = state.runs[place].held > state.runs[place].share;
            if gives {
                state.give_back(place);
                state.runs[place].waiting += usize::from(then == Then::Wait);
            }
            gives
        })
    }

    /// Takes free permits for at most `most` further threads; returns their number.
    fn enlist(&self, most: usize) -> usize {
        let grows = self.executor.0.grows;
        self.change(|state| {
            let Some(place) = state.place(self) else { return 0 };
            let mut count = 0;
            while count < most && state.runs[place].waiting == 0 && state.is_free(place, grows) {
                state.take(place);
                count += 1;
            }
            count
        })
    }

    /// Wakes the threads that wait for a permit, because no task is left.
    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        // Under the lock, so that no thread misses it between checking and sleeping.
        let _state = self.executor.lock();
        self.granted.notify_all();
    }

    fn leave(&self) {
        self.change(|state| {
            if let Some(place) = state.place(self) {
                let entry = state.runs.remove(place);
                state.held -= entry.held;
            }
        });
    }

    pub(crate) fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }
}

thread_local! {
    /// The run that this thread works for.
    static CURRENT: RefCell<Option<Arc<ActiveRun>>> = const { RefCell::new(None) };
}

fn current() -> Option<Arc<ActiveRun>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Whether a run started by this thread would be nested in another one.
pub(crate) fn is_nested() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Returns an error if the current work of this thread must end.
pub(crate) fn check_current() -> Result<(), IoError> {
    // A token may call functions that start runs.
    match current().as_ref().and_then(|run| run.job()) {
        Some(job) => job.check(),
        None => Ok(()),
    }
}

/// Takes bytes from the budget of the current work of this thread.
pub(crate) fn charge_current(bytes: u64) -> Result<(), IoError> {
    CURRENT.with_borrow(|run| match run.as_ref().and_then(|run| run.job()) {
        Some(job) => job.charge(bytes),
        None => Ok(()),
    })
}

/// Returns the collector of notes for the current work of this thread.
pub(crate) fn current_notes() -> Option<Notes> {
    CURRENT.with_borrow(|run| run.as_ref()?.job.as_ref()?.notes.clone())
}

/// Runs a closure that does not compute, within a task, such as a function that may wait for other threads. The caller
/// must not hold a lock that these need.
pub fn without_permit<T>(work: impl FnOnce() -> T) -> T {
    let Some(run) = current() else { return work() };
    let is_stopped = || run.job().is_some_and(|job| job.check().is_err());
    run.without_permit(false, &is_stopped, work)
}

/// Permit of this thread, from the run that it works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Permit {
    None,
    Held,
    /// Returned until a closure that does not compute has ended.
    Paused,
}

thread_local! {
    static PERMIT: Cell<Permit> = const { Cell::new(Permit::None) };
}

impl Permit {
    fn is_held() -> bool {
        PERMIT.get() == Permit::Held
    }

    fn set(is_held: bool) {
        PERMIT.set(if is_held { Permit::Held } else { Permit::None });
    }

    fn replace(permit: Permit) -> Permit {
        PERMIT.replace(permit)
    }
}

/// Sets the run that this thread works for, until it is dropped.
struct Entered(Option<Arc<ActiveRun>>, Permit);

impl Entered {
    fn new(run: &Arc<ActiveRun>) -> Entered {
        Entered(CURRENT.replace(Some(Arc::clone(run))), Permit::replace(Permit::None))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
        PERMIT.set(self.1);
    }
}

#[cfg(test)]
mod tests;
