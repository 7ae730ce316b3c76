//! Permits to compute, which all runs of a process share, so that many requests at once keep no more cores busy than
//! one.
//!
//! A thread that computes for a run holds a permit. The calling thread works itself; it waits for its permit while others
//! hold them all. Further threads are started when permits are free. Higher priorities get permits first, equal ones the
//! same number each. If there are more runs than permits, they take turns. A thread looks between two tasks whether it has
//! to give its permit back, which costs one atomic load.
//!
//! Two rules exclude deadlocks. A thread that waits, for a block or for a device, gives its permit back meanwhile. A
//! run that is started within a run (by a callback, or by a storage that reads others) uses the permit of its calling
//! thread and never waits for one.

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

/// How long a run computes before it makes room for an equal one that has no permit: many times what a change costs.
const TURN: Duration = Duration::from_millis(5);

/// A thread that waits for a permit looks this often whether its run was cancelled.
const BETWEEN_CHECKS: Duration = Duration::from_millis(50);

/// A pool of permits to compute. Clones share the permits.
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
    /// Whether a run that requests more threads than there are permits gets them: the user of a process decides about
    /// its cores, a request to a server does not.
    grows: bool,
    permits: usize,
    state: Mutex<Permits>,
}

struct Permits {
    permits: usize,
    turn: Duration,
    /// Permits in use.
    held: usize,
    /// In the order of their turns.
    runs: Vec<Entry>,
}

/// A run that has permits or wants some.
struct Entry {
    run: Arc<ActiveRun>,
    priority: Priority,
    /// The threads that could compute now: fewer while some wait for something else than a permit.
    most: usize,
    /// The number of threads that the user requested; 0 if none.
    requested: usize,
    held: usize,
    /// Threads that wait for a permit.
    waiting: usize,
    /// The number of permits that it should have now.
    share: usize,
    /// Since when it has had permits.
    since: Instant,
}

/// A run as its threads see it.
pub(crate) struct ActiveRun {
    executor: Executor,
    job: Option<Job>,
    /// Whether its threads have to look at the executor: the number of its permits should change.
    attention: AtomicBool,
    /// Threads of this run wait here for a permit.
    granted: Condvar,
    /// No task is left to begin.
    ended: AtomicBool,
    /// Whether its calling thread belongs to another run.
    is_nested: bool,
}

impl Executor {
    /// A pool of a number of permits; 0 is one for each processor.
    pub fn new(permits: usize) -> Executor {
        Executor::build(permits, false, TURN)
    }

    fn build(permits: usize, grows: bool, turn: Duration) -> Executor {
        let permits = if permits == 0 { processors() } else { permits };
        let state = Permits { permits, turn, held: 0, runs: Vec::new() };
        Executor(Arc::new(Pool { grows, permits, state: Mutex::new(state) }))
    }

    /// The pool of runs without a [`Job`]: a permit for each processor. A run that requests more threads gets them, since
    /// threads that wait for a device need no processor.
    pub fn of_process() -> Executor {
        // A process that was forked has none of the threads that hold permits in the copy of the pool.
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

    /// The number of permits.
    pub fn permits(&self) -> usize {
        self.0.permits
    }

    /// The number of permits in use.
    pub fn in_use(&self) -> usize {
        self.lock().held
    }

    /// The number of threads of a run that requests a number, 0 for all.
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

/// The number of threads that a run of a job uses at most: those requested, 0 for all, as far as the executor has permits.
pub(crate) fn threads_of(job: Option<&Job>, requested: usize) -> usize {
    match (current(), job) {
        (Some(outer), _) => outer.executor.threads(requested),
        (None, Some(job)) => job.executor.threads(requested),
        (None, None) if requested == 0 => processors(),
        (None, None) => requested,
    }
}

/// Asking the system reads files of control groups, which takes longer than a small run.
pub(crate) fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

impl Permits {
    /// A pool of permits may be exceeded where a user requested it.
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

    /// Shares the permits out after something changed, and tells the runs that this concerns.
    fn settle(&mut self, grows: bool) {
        let capacity = self.capacity(grows);
        let mut left = capacity;
        for priority in Priority::ALL {
            left = self.share_out(priority, left);
        }
        let wanted = Priority::ALL.map(|priority| self.is_turn_wanted(priority));
        let is_free = self.held < capacity;
        for entry in &self.runs {
            let takes = is_free && entry.held < entry.share;
            if takes && entry.waiting > 0 {
                entry.run.granted.notify_all();
            }
            let gives =
                entry.held > entry.share || (entry.held > 0 && wanted[entry.priority as usize]);
            let attention = gives || (takes && entry.waiting == 0);
            entry.run.attention.store(attention, Ordering::Relaxed);
        }
    }

    /// Shares permits out among the runs of a priority, the same number each as far as they can use it; returns the rest.
    fn share_out(&mut self, priority: Priority, mut left: usize) -> usize {
        self.runs
            .iter_mut()
            .filter(|entry| entry.priority == priority)
            .for_each(|entry| entry.share = 0);
        loop {
            let wants = |entry: &&mut Entry| entry.priority == priority && entry.share < entry.most;
            let count = self.runs.iter_mut().filter(wants).count();
            if left == 0 || count == 0 {
                return left;
            }
            let each = (left / count).max(1);
            for entry in self.runs.iter_mut().filter(wants) {
                let more = each.min(entry.most - entry.share).min(left);
                entry.share += more;
                left -= more;
            }
        }
    }
}

/// The next step of a thread that gave its permit to another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Wait,
    End,
}

impl ActiveRun {
    /// Begins a run of at most `most` threads that compute, and gives the calling thread a permit if one is free now: a
    /// small run takes no longer than two visits to the executor. A calling thread that belongs to a run needs none.
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

    /// Waits for a permit; `false` without one where the run was stopped, which is asked now and then, or at its end if that
    /// is a reason to give up.
    fn acquire(&self, gives_up_at_end: bool, is_stopped: &dyn Fn() -> bool) -> bool {
        self.change_entry(|state, place| state.runs[place].waiting += 1);
        self.wait(gives_up_at_end, is_stopped)
    }

    /// The same for a thread that is counted as waiting.
    fn wait(&self, gives_up_at_end: bool, is_stopped: &dyn Fn() -> bool) -> bool {
        let grows = self.executor.0.grows;
        let mut state = self.executor.lock();
        let mut stopped = false;
        loop {
            let Some(place) = state.place(self) else { return false };
            let is_free = state.is_free(place, grows);
            let ended = gives_up_at_end && self.ended.load(Ordering::Relaxed);
            if is_free || ended || stopped {
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

    /// Does something else than computing: without the permit of this thread, if it has one of this run.
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

    /// Gives the permit of a thread back if another run should have it; `false` if not.
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

    /// Takes permits that are free for at most `most` further threads; returns their number.
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

    /// Wakes the threads that wait for a permit: no task is left.
    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        // Under the lock, so that no thread misses it between its look and its sleep.
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

/// Whether a run that this thread starts is within another one.
pub(crate) fn is_nested() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Whether the work that this thread does now is to go on.
pub(crate) fn check_current() -> Result<(), IoError> {
    // A token may call functions that start runs.
    match current().as_ref().and_then(|run| run.job()) {
        Some(job) => job.check(),
        None => Ok(()),
    }
}

/// Takes bytes from the budget of the work that this thread does now.
pub(crate) fn charge_current(bytes: u64) -> Result<(), IoError> {
    CURRENT.with_borrow(|run| match run.as_ref().and_then(|run| run.job()) {
        Some(job) => job.charge(bytes),
        None => Ok(()),
    })
}

/// The collector of notes of the work that this thread does now.
pub(crate) fn current_notes() -> Option<Notes> {
    CURRENT.with_borrow(|run| run.as_ref()?.job.as_ref()?.notes.clone())
}

/// Does something that does not compute, within a task: calls a function that may wait for other threads. No lock may be
/// held that these need.
pub fn without_permit<T>(work: impl FnOnce() -> T) -> T {
    let Some(run) = current() else { return work() };
    let is_stopped = || run.job().is_some_and(|job| job.check().is_err());
    run.without_permit(false, &is_stopped, work)
}

/// The permit of this thread, of the run that it works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Permit {
    None,
    Held,
    /// It was given back until something else than computing is done.
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

/// Makes a run the one that this thread works for, until it is dropped.
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
