//! Threads of one run.

use std::any::Any;
use std::io;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use super::{ActiveRun, Entered, Job, Permit, Permits, Then};

/// Work of a run, shared by its calling thread and others.
pub(crate) trait Team: Sync {
    /// Result of a thread.
    type Output: Send;

    /// Processes tasks until none is left; calls [`Worker::between_tasks`] after each.
    fn work(&self, worker: &Worker<'_>) -> Self::Output;

    /// Whether the run was stopped: called regularly by a thread that waits for a permit.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Reads ahead, without a permit, as one of the reader threads.
    fn read_ahead(&self, _reader: usize, _worker: &Worker<'_>) -> Self::Output {
        unreachable!("only a team of some readers is asked to read ahead")
    }

    /// Reports that a reader thread could not be started.
    fn no_reader(&self, _source: io::Error) {}

    /// Waits, on the calling thread and without its permit, for the work of the others.
    fn finish(&self) {}
}

/// Numbers of threads of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Threads {
    /// Maximum number that compute at a time, including the calling thread.
    pub(crate) workers: usize,
    /// Number that the user requested; 0 if unspecified.
    pub(crate) requested: usize,
    /// Threads that read ahead.
    pub(crate) readers: usize,
    /// Whether reader threads also compute, and so need permits.
    pub(crate) readers_compute: bool,
}

/// Runs a team; returns the results of its threads.
///
/// # Panics
/// If a thread panics, with its payload.
pub(crate) fn work_together<T: Team>(
    team: &T,
    job: Option<&Job>,
    threads: Threads,
) -> Vec<T::Output> {
    let computing_readers = if threads.readers_compute { threads.readers } else { 0 };
    let most = threads.workers + computing_readers;
    let (run, has_permit) = ActiveRun::begin(job, most, threads.requested);
    let _entered = Entered::new(&run);
    Permit::set(has_permit);
    let _leaves = Leaves(&run);
    let is_stopped = || team.is_stopped();
    if threads.workers == 1 && threads.readers == 0 {
        let worker = Worker::new(&run, &is_stopped, &|| (), true);
        worker.begin();
        let output = team.work(&worker);
        // The run ends together with its permit.
        mem::forget(worker);
        return vec![output];
    }
    let started = Started::default();
    thread::scope(|scope| {
        // The other threads end even if this one panics.
        let _ends = Ends(&run);
        let helpers = Helpers { scope, team, run: &run, started: &started, threads };
        (0..threads.readers).for_each(|reader| helpers.start_reader(reader));
        let enlist = || helpers.enlist();
        let worker = Worker::new(&run, &is_stopped, &enlist, true);
        worker.begin();
        let output = team.work(&worker);
        drop(worker);
        run.end();
        team.finish();
        started.add(output);
    });
    if let Some(payload) = lock(&started.panicked).take() {
        panic::resume_unwind(payload);
    }
    started.outputs.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Results of the threads of a run.
struct Started<T> {
    workers: AtomicUsize,
    outputs: Mutex<Vec<T>>,
    panicked: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<T> Default for Started<T> {
    fn default() -> Started<T> {
        Started {
            workers: AtomicUsize::new(1),
            outputs: Mutex::default(),
            panicked: Mutex::default(),
        }
    }
}

impl<T> Started<T> {
    fn add(&self, output: T) {
        lock(&self.outputs).push(output);
    }
}

/// Starts further threads.
struct Helpers<'scope, 'env, T: Team> {
    scope: &'scope Scope<'scope, 'env>,
    team: &'scope T,
    run: &'scope Arc<ActiveRun>,
    started: &'scope Started<T::Output>,
    threads: Threads,
}

impl<T: Team> Clone for Helpers<'_, '_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Team> Copy for Helpers<'_, '_, T> {}

impl<'scope, T: Team> Helpers<'scope, '_, T> {
    /// Starts workers for free permits.
    fn enlist(self) {
        let most =
            self.threads.workers.saturating_sub(self.started.workers.load(Ordering::Relaxed));
        for _ in 0..self.run.enlist(most) {
            self.started.workers.fetch_add(1, Ordering::Relaxed);
            let body = move |worker: &Worker<'_>| {
                let output = self.team.work(worker);
                self.run.end();
                output
            };
            // If no thread can be started, this one does all the work.
            if self.start("tachyfits-work", true, body).is_err() {
                self.run.change_entry(|state, place| {
                    state.give_back(place);
                    state.runs[place].most -= 1;
                });
            }
        }
    }

    fn start_reader(self, reader: usize) {
        let body = move |worker: &Worker<'_>| self.team.read_ahead(reader, worker);
        if let Err(source) = self.start("tachyfits-read", false, body) {
            self.team.no_reader(source);
        }
    }

    fn start(
        self,
        name: &str,
        holds: bool,
        body: impl FnOnce(&Worker<'_>) -> T::Output + Send + 'scope,
    ) -> io::Result<()> {
        let whole = move || {
            let _entered = Entered::new(self.run);
            let enlist = || self.enlist();
            let is_stopped = || self.team.is_stopped();
            let mut worker = Worker::new(self.run, &is_stopped, &enlist, false);
            worker.counts = holds || self.threads.readers_compute;
            Permit::set(holds);
            match panic::catch_unwind(AssertUnwindSafe(|| body(&worker))) {
                Ok(output) => self.started.add(output),
                Err(payload) => *lock(&self.started.panicked) = Some(payload),
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn_scoped(self.scope, whole).map(|_| ())
    }
}

/// A thread of a run, as its work sees it.
pub(crate) struct Worker<'w> {
    run: &'w Arc<ActiveRun>,
    is_stopped: &'w dyn Fn() -> bool,
    enlist: &'w dyn Fn(),
    /// Whether this thread uses the permits of the run: all do except readers that only wait, and a calling thread with
    /// the permit of another run.
    counts: bool,
    /// Whether this is the calling thread.
    is_calling: bool,
}

impl<'w> Worker<'w> {
    fn new(
        run: &'w Arc<ActiveRun>,
        is_stopped: &'w dyn Fn() -> bool,
        enlist: &'w dyn Fn(),
        is_calling: bool,
    ) -> Worker<'w> {
        let counts = !(is_calling && run.is_nested);
        Worker { run, is_stopped, enlist, counts, is_calling }
    }

    /// Acquires the permit of a calling thread, and starts the others.
    fn begin(&self) {
        if self.counts && !Permit::is_held() {
            self.acquire(true);
        }
        self.enlist();
    }

    fn enlist(&self) {
        if self.works() && self.run.attention.load(Ordering::Relaxed) {
            (self.enlist)();
        }
    }

    /// After a task, returns the permit and waits for another one if other runs should have it; starts threads if
    /// permits are free.
    pub(crate) fn between_tasks(&self) {
        if self.run.attention.load(Ordering::Relaxed) {
            if Permit::is_held() && self.run.give_way(Then::Wait) {
                Permit::set(false);
                Permit::set(self.run.wait(true, self.is_stopped));
            }
            self.enlist();
        }
    }

    /// Whether this is the calling thread of the run.
    pub(crate) fn is_calling(&self) -> bool {
        self.is_calling
    }

    /// Whether other runs should have this thread's permit. The thread must then end.
    pub(crate) fn is_wanted_elsewhere(&self) -> bool {
        let looks = self.run.attention.load(Ordering::Relaxed) && Permit::is_held();
        let ends = looks && self.run.give_way(Then::End);
        if ends {
            Permit::set(false);
        }
        ends
    }

    /// Whether this thread may compute: not if the run was stopped, or ended, while it waited for a permit.
    pub(crate) fn works(&self) -> bool {
        Permit::is_held() || !self.counts
    }

    /// Waits for a task without a permit. After the end of the run there is no permit any more.
    pub(crate) fn while_idle<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.run.without_permit(true, self.is_stopped, wait)
    }

    /// Reads the bytes of a task, without a permit if that may wait for a device. The thread may compute on them only
    /// if [`Worker::works`].
    pub(crate) fn reading<T>(&self, waits: bool, read: impl FnOnce() -> T) -> T {
        match waits {
            true => self.run.without_permit(false, self.is_stopped, read),
            false => read(),
        }
    }

    /// Computes with a permit, as a reader; `None` if the run was stopped before.
    pub(crate) fn computing<T>(&self, compute: impl FnOnce() -> T) -> Option<T> {
        if !self.counts {
            return Some(compute());
        }
        self.acquire(false);
        if !Permit::is_held() {
            return None;
        }
        let result = compute();
        Permit::set(false);
        self.run.change_entry(Permits::give_back);
        Some(result)
    }

    fn acquire(&self, gives_up_at_end: bool) {
        Permit::set(self.run.acquire(gives_up_at_end, self.is_stopped));
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if self.counts {
            self.run.change_entry(|state, place| {
                let permit = Permit::replace(Permit::None);
                if permit == Permit::Held {
                    state.give_back(place);
                }
                // The thread's tasks are done: another thread would find none.
                state.runs[place].most -= usize::from(permit != Permit::Paused);
            });
        }
    }
}

/// Ends a run when dropped.
struct Ends<'a>(&'a ActiveRun);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Removes a run from the executor when dropped.
struct Leaves<'a>(&'a ActiveRun);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
