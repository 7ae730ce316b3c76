//! Long operations: the interpreter lock is released while the engine works, and acquired regularly to call the
//! progress function and to check for Ctrl-C.
//!
//! Python is called only on the thread that requested the operation (it is one of the engine's workers), so that a
//! progress function need not be thread-safe, and Ctrl-C, which only the main thread sees, is noticed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tachyfits::io::{Note, Notes, SpoolOptions, without_permit};
use tachyfits::{CancelToken, Error, Executor, Job, RunOptions};

use crate::errors::{OrRaise, Raised, not_negative, warn};
use crate::{executor, report};

/// Interval of calls to the progress function and of checks for Ctrl-C. A progress bar need not move faster, Ctrl-C is
/// noticed within 0.2 s including the current piece of work, and acquiring the lock this rarely costs nothing.
const BETWEEN_CALLS: Duration = Duration::from_millis(50);

/// Default threads and progress function of operations.
struct Defaults {
    threads: usize,
    progress: Option<Py<PyAny>>,
}

static DEFAULTS: Mutex<Defaults> = Mutex::new(Defaults { threads: 0, progress: None });

/// Set the default threads and progress function of operations (for 0 and None). They apply to the process.
#[pyfunction]
#[pyo3(signature = (threads, progress=None))]
pub(crate) fn set_defaults(
    py: Python<'_>,
    threads: i64,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let threads = not_negative(py, "threads", threads)?;
    // The old function is dropped after releasing the lock, because that may run Python code.
    let new = Defaults { threads, progress };
    drop(std::mem::replace(&mut *DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner), new));
    Ok(())
}

/// Returns the number of threads of an operation: the argument, or the default if it is 0.
pub(crate) fn threads(requested: usize) -> usize {
    match requested {
        0 => DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner).threads,
        requested => requested,
    }
}

/// Set whether files in the page cache may be mapped, which needs a handler of SIGBUS.
#[pyfunction]
pub(crate) fn allow_maps(allowed: bool) {
    tachyfits::io::allow_maps(allowed);
}

/// Runs an operation of the engine. An exception in the progress function stops it and is raised, like
/// KeyboardInterrupt; `False` stops it with the error of code "io-cancelled".
pub(crate) fn run<T: Send, E: Raised>(
    py: Python<'_>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    operation: impl FnOnce(&RunOptions<'_>) -> Result<T, E> + Send,
) -> PyResult<T> {
    run_opening(py, threads, progress, |options, _spool| operation(options))
}

/// Runs an operation that returns its report, and passes that to the `tf.reports` blocks of this thread.
pub(crate) fn reported<T: Send>(
    py: Python<'_>,
    threads: i64,
    progress: Option<Py<PyAny>>,
    operation: impl FnOnce(&RunOptions<'_>) -> Result<(T, tachyfits::Report), Error> + Send,
) -> PyResult<T> {
    let threads = not_negative(py, "threads", threads)?;
    let (value, report) = run(py, threads, progress, operation)?;
    report::collect(py, report)?;
    Ok(value)
}

/// Does the same as [`reported`] for an operation that the calling thread completes before Ctrl-C could be checked:
/// preparing for that takes longer than a short read. A progress function is called once, at the end.
pub(crate) fn reported_at_once<T: Send>(
    py: Python<'_>,
    threads: i64,
    operation: impl FnOnce(&RunOptions<'_>) -> Result<(T, tachyfits::Report), Error> + Send,
) -> PyResult<T> {
    if DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner).progress.is_some() {
        return reported(py, threads, None, operation);
    }
    let job = executor::current_job();
    let threads = not_negative(py, "threads", threads)?;
    let options = RunOptions::default().threads(threads).job(job.as_ref());
    let (value, report) = py.detach(|| operation(&options)).or_raise(py)?;
    report::collect(py, report)?;
    Ok(value)
}

/// Runs an operation that writes an HDU and returns its report, and passes that to the `tf.reports` blocks of this
/// thread with the number of the HDU. Returns the largest rounding error.
pub(crate) fn written(
    py: Python<'_>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    operation: impl FnOnce(&RunOptions<'_>) -> Result<(usize, tachyfits::Report), Error> + Send,
) -> PyResult<f64> {
    let (hdu, report) = run(py, threads, progress, operation)?;
    report::collect_written(py, report, hdu)?;
    Ok(report.rounding)
}

/// Runs an operation that opens a file first; Ctrl-C also interrupts reading compressed content. Faults that did not
/// stop it become warnings.
pub(crate) fn run_opening<T: Send, E: Raised>(
    py: Python<'_>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    operation: impl FnOnce(&RunOptions<'_>, SpoolOptions) -> Result<T, E> + Send,
) -> PyResult<T> {
    let (threads, progress) = {
        let defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        let function = || defaults.progress.as_ref().map(|function| function.clone_ref(py));
        (if threads == 0 { defaults.threads } else { threads }, progress.or_else(function))
    };
    let watcher = Arc::new(Watcher::new(progress));
    let job = watcher.job();
    let outcome = py.detach(|| {
        let observe = |done, total| watcher.observe(done, total);
        let options =
            RunOptions::default().threads(threads).progress(Some(&observe)).job(Some(&job));
        let token = job.token().clone();
        let spool = SpoolOptions::default().token(token);
        watcher.notes.collect(|| operation(&options, spool))
    });
    watcher.finish(py, outcome)
}

/// Opens a source; Ctrl-C interrupts this.
pub(crate) fn open<T: Send, E: Raised>(
    py: Python<'_>,
    operation: impl FnOnce(SpoolOptions) -> Result<T, E> + Send,
) -> PyResult<T> {
    run_opening(py, 0, None, |_options, spool| operation(spool))
}

/// Formats a note as a warning: its subject, and a line for each fault.
fn worded(note: &Note) -> String {
    let lines: String = note.faults.iter().map(|fault| format!("\n  - {fault}")).collect();
    let more = match note.count - note.faults.len() as u64 {
        0 => String::new(),
        more => format!("\n  - and {more} more"),
    };
    format!("{}:{lines}{more}", note.subject)
}

/// Connects the engine and Python during one operation.
struct Watcher {
    callback: Option<Py<PyAny>>,
    caller: ThreadId,
    notes: Notes,
    state: Mutex<WatcherState>,
}

struct WatcherState {
    called: Instant,
    /// Latest progress of the engine, from any thread: (bytes done, total bytes).
    latest: Option<(u64, u64)>,
    /// Latest values passed to the callback.
    told: Option<(u64, u64)>,
    raised: Option<PyErr>,
    /// Whether the work must end.
    stops: bool,
}

impl Watcher {
    fn new(callback: Option<Py<PyAny>>) -> Watcher {
        let state = WatcherState {
            called: Instant::now(),
            latest: None,
            told: None,
            raised: None,
            stops: false,
        };
        let (caller, notes) = (thread::current().id(), Notes::default());
        Watcher { callback, caller, notes, state: Mutex::new(state) }
    }

    /// Returns the job of the operation: that of this thread's request, which Ctrl-C also cancels.
    fn job(self: &Arc<Self>) -> Job {
        let watcher = Arc::clone(self);
        let is_interrupted = move || watcher.is_interrupted();
        let job = match executor::current_job() {
            Some(job) => {
                let token = job.token().polling(is_interrupted);
                job.with_token(token)
            }
            None => {
                let token = CancelToken::new().polling(is_interrupted);
                Job::on(&Executor::of_process()).with_token(token)
            }
        };
        job.with_notes(self.notes.clone())
    }

    /// Whether the work must end. The engine calls this regularly on any thread. No lock is held, so that Python code
    /// may run and wait for other threads, which get the permit of this one.
    fn is_interrupted(&self) -> bool {
        let mut state = self.lock();
        let is_caller = thread::current().id() == self.caller;
        if state.stops || !is_caller || state.called.elapsed() < BETWEEN_CALLS {
            return state.stops;
        }
        // Prevents nested calls.
        state.called = Instant::now();
        let news = state.latest.filter(|_| self.callback.is_some() && state.latest != state.told);
        drop(state);
        self.keep(without_permit(|| {
            Python::try_attach(|py| {
                py.check_signals()?;
                news.map_or(Ok(true), |progress| self.call(py, progress))
            })
        }));
        let mut state = self.lock();
        // The interval starts at the end of a slow call.
        state.called = Instant::now();
        state.stops
    }

    /// Records progress. The engine calls this after each piece of work, on one thread at a time.
    fn observe(&self, done: u64, total: u64) {
        self.lock().latest = Some((done, total));
    }

    /// Records the outcome of a call: whether to continue, or an exception.
    fn keep(&self, outcome: Option<PyResult<bool>>) {
        let mut state = self.lock();
        match outcome {
            Some(Ok(true)) => {}
            Some(Err(error)) => {
                state.stops = true;
                state.raised.get_or_insert(error);
            }
            // Cancelled, or the interpreter is shutting down and the result is not needed.
            Some(Ok(false)) | None => state.stops = true,
        }
    }

    /// Calls the progress function; returns `false` if it requests an end.
    fn call(&self, py: Python<'_>, (done, total): (u64, u64)) -> PyResult<bool> {
        let Some(callback) = &self.callback else { return Ok(true) };
        self.lock().told = Some((done, total));
        let answer = callback.bind(py).call1((done, total))?;
        Ok(!matches!(answer.extract::<bool>(), Ok(false)))
    }

    /// Returns the outcome for Python: an exception raised meanwhile takes precedence over the engine's result. After
    /// success the progress function is called a last time; it can no longer stop the work.
    fn finish<T, E: Raised>(&self, py: Python<'_>, outcome: Result<T, E>) -> PyResult<T> {
        if let Some(error) = self.lock().raised.take() {
            return Err(error);
        }
        for note in self.notes.take() {
            warn(py, worded(&note))?;
        }
        let value = outcome.or_raise(py)?;
        let (latest, told) = {
            let state = self.lock();
            (state.latest, state.told)
        };
        if let Some((_, total)) = latest
            && told != Some((total, total))
        {
            self.call(py, (total, total))?;
        }
        Ok(value)
    }

    fn lock(&self) -> MutexGuard<'_, WatcherState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
