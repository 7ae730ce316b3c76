//! Long operations: the interpreter lock is released while the engine works, and taken again now and then to call the
//! progress function and to see Ctrl-C.
//!
//! Python is called only on the thread that requested the operation (it is one of the engine's
//! workers), so that a progress function need not be thread-safe, and Ctrl-C, which only the main
//! thread sees, is seen.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tachyfits::{Error, RunOptions};

use crate::errors::{OrRaise, not_negative};

/// Calls of the progress function are at least this far apart: a drawn bar need not move faster.
const BETWEEN_CALLS: Duration = Duration::from_millis(50);

/// How often Ctrl-C is looked for: people wait no longer, and taking the lock this seldom costs nothing.
const BETWEEN_CHECKS: Duration = Duration::from_millis(100);

/// Threads and the progress function of operations that are given none.
struct Defaults {
    threads: usize,
    progress: Option<Py<PyAny>>,
}

static DEFAULTS: Mutex<Defaults> = Mutex::new(Defaults { threads: 0, progress: None });

/// Set the threads and the progress function of operations that are given none (0 and None). They apply to the process.
#[pyfunction]
#[pyo3(signature = (threads, progress=None))]
pub(crate) fn set_defaults(
    py: Python<'_>,
    threads: i64,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let threads = not_negative(py, "threads", threads)?;
    // The old function is dropped after the lock is free: that may run Python code.
    let new = Defaults { threads, progress };
    drop(std::mem::replace(&mut *DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner), new));
    Ok(())
}

/// Runs an operation of the engine. An exception in the progress function stops it and is raised, as KeyboardInterrupt
/// is; `False` stops it with the error of code "io-cancelled".
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    operation: impl FnOnce(&RunOptions<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let (threads, progress) = {
        let defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        let function = || defaults.progress.as_ref().map(|function| function.clone_ref(py));
        (if threads == 0 { defaults.threads } else { threads }, progress.or_else(function))
    };
    let watcher = Watcher::new(progress);
    let outcome = py.detach(|| {
        let observe = |done, total| watcher.observe(done, total);
        operation(&RunOptions { threads, progress: Some(&observe), ..RunOptions::default() })
    });
    watcher.finish(py, outcome)
}

/// Connects the engine and Python during one operation.
struct Watcher {
    callback: Option<Py<PyAny>>,
    caller: ThreadId,
    state: Mutex<State>,
}

struct State {
    called: Instant,
    checked: Instant,
    /// Latest progress of the engine, from any thread: (bytes done, total bytes).
    latest: Option<(u64, u64)>,
    /// Latest values passed to the callback.
    told: Option<(u64, u64)>,
    raised: Option<PyErr>,
}

impl Watcher {
    fn new(callback: Option<Py<PyAny>>) -> Watcher {
        let now = Instant::now();
        let state = State { called: now, checked: now, latest: None, told: None, raised: None };
        Watcher { callback, caller: thread::current().id(), state: Mutex::new(state) }
    }

    /// Called by the engine after each piece of work, by one thread at a time.
    fn observe(&self, done: u64, total: u64) -> ControlFlow<()> {
        let mut state = self.lock();
        state.latest = Some((done, total));
        if thread::current().id() != self.caller {
            return ControlFlow::Continue(());
        }
        let now = Instant::now();
        let call = self.callback.is_some() && now - state.called >= BETWEEN_CALLS;
        let check = now - state.checked >= BETWEEN_CHECKS;
        // No lock of ours is held while Python code runs.
        drop(state);
        if !call && !check {
            return ControlFlow::Continue(());
        }
        let outcome = Python::try_attach(|py| {
            if check {
                py.check_signals()?;
            }
            if call { self.call(py, (done, total)) } else { Ok(true) }
        });
        let mut state = self.lock();
        if call {
            // From the end of a slow call, not from its beginning.
            state.called = Instant::now();
        }
        if check {
            state.checked = now;
        }
        match outcome {
            Some(Ok(true)) => ControlFlow::Continue(()),
            Some(Err(error)) => {
                state.raised = Some(error);
                ControlFlow::Break(())
            }
            // Cancelled, or the interpreter is shutting down and the result is not needed.
            Some(Ok(false)) | None => ControlFlow::Break(()),
        }
    }

    /// Calls the progress function; `false` when it wants the work to stop.
    fn call(&self, py: Python<'_>, (done, total): (u64, u64)) -> PyResult<bool> {
        let Some(callback) = &self.callback else { return Ok(true) };
        self.lock().told = Some((done, total));
        let answer = callback.bind(py).call1((done, total))?;
        Ok(!matches!(answer.extract::<bool>(), Ok(false)))
    }

    /// The outcome, as Python sees it: what was raised meanwhile comes before what the engine says. After success the
    /// progress function hears of the end; the result is there, so it can no longer stop the work.
    fn finish<T>(&self, py: Python<'_>, outcome: Result<T, Error>) -> PyResult<T> {
        if let Some(error) = self.lock().raised.take() {
            return Err(error);
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
