//! Executors, and requests that share them: for a program that answers many concurrent requests.

use std::cell::RefCell;
use std::time::Duration;

use pyo3::prelude::*;
use tachyfits::Job;

use crate::errors::{argument, not_negative};
use crate::options;
use crate::text::{GivenFloat, GivenInteger, GivenText};

thread_local! {
    /// Jobs of the requests that this thread has entered, the innermost last.
    static JOBS: RefCell<Vec<Job>> = const { RefCell::new(Vec::new()) };
}

/// Returns the job of the request that this thread works for.
pub(crate) fn current_job() -> Option<Job> {
    JOBS.with_borrow(|jobs| jobs.last().cloned())
}

/// A pool of permits to compute, shared by the operations of any number of requests.
///
/// Parameters
/// ----------
/// threads
///     Maximum number of threads that compute at a time; 0: one per core.
#[pyclass(frozen, module = "tachyfits._core")]
struct Executor {
    executor: tachyfits::Executor,
}

#[pymethods]
impl Executor {
    #[new]
    #[pyo3(signature = (threads=0))]
    fn new(py: Python<'_>, threads: i64) -> PyResult<Executor> {
        let threads = not_negative(py, "threads", threads)?;
        Ok(Executor { executor: tachyfits::Executor::new(threads) })
    }

    /// Maximum number of threads that compute at a time.
    #[getter]
    fn threads(&self) -> usize {
        self.executor.permits()
    }

    /// Number of threads that compute now.
    #[getter]
    fn busy(&self) -> usize {
        self.executor.in_use()
    }

    /// Return a context manager: the operations of this thread within it use this executor and share the limits of the
    /// request.
    ///
    /// Parameters
    /// ----------
    /// priority
    ///     "interactive", "normal" or "background".
    /// seconds
    ///     Maximum time from now on; None: no limit.
    /// bytes
    ///     Maximum number of bytes to read; None: no limit.
    /// token
    ///     Token that cancels the operations.
    ///
    /// Raises
    /// ------
    /// TachyfitsError
    ///     With the code "io-budget" (a LimitError) if an operation exceeds a limit, "io-cancelled" if the token is
    ///     cancelled.
    #[pyo3(
        signature = (*, priority=GivenText::from("normal"), seconds=None, bytes=None, token=None),
        text_signature = "($self, *, priority='normal', seconds=None, bytes=None, token=None)"
    )]
    fn request(
        &self,
        py: Python<'_>,
        priority: GivenText,
        seconds: Option<GivenFloat>,
        bytes: Option<GivenInteger>,
        token: Option<&CancelToken>,
    ) -> PyResult<Request> {
        let mut job = Job::on(&self.executor).with_priority(options::priority(py, &priority)?);
        if let Some(GivenFloat(seconds)) = seconds {
            let time = Duration::try_from_secs_f64(seconds).map_err(|_| {
                let hint = "give the longest time in seconds, or None for no limit";
                argument(py, "seconds to be a number from 0 on", &seconds.to_string(), hint)
            })?;
            job = job.with_time(time);
        }
        if let Some(bytes) = bytes {
            job = job.with_bytes(not_negative(py, "bytes", bytes.0)?);
        }
        if let Some(token) = token {
            job = job.with_token(token.token.clone());
        }
        Ok(Request { job })
    }
}

/// Limits of a request, see `Executor.request`. Several threads may work within one request.
#[pyclass(frozen, module = "tachyfits._core")]
struct Request {
    job: Job,
}

#[pymethods]
impl Request {
    fn __enter__(&self) {
        JOBS.with_borrow_mut(|jobs| jobs.push(self.job.clone()));
    }

    fn __exit__(
        &self,
        _class: &Bound<'_, PyAny>,
        _raised: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        JOBS.with_borrow_mut(Vec::pop);
    }
}

/// Token that cancels the operations of its requests, from any thread.
#[pyclass(frozen, module = "tachyfits._core")]
struct CancelToken {
    token: tachyfits::CancelToken,
}

#[pymethods]
impl CancelToken {
    #[new]
    fn new() -> CancelToken {
        CancelToken { token: tachyfits::CancelToken::new() }
    }

    /// Cancel the operations, which end with an error of code "io-cancelled".
    fn cancel(&self) {
        self.token.cancel();
    }

    /// Whether the token was cancelled.
    #[getter]
    fn cancelled(&self) -> bool {
        self.token.is_cancelled()
    }
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Executor>()?;
    module.add_class::<Request>()?;
    module.add_class::<CancelToken>()
}
