//! Limits of a request, and the token that cancels it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Executor;
use crate::error::{Budget, IoError};
use crate::notes::Notes;

/// Priority of runs when permits become free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Priority {
    /// A user waits for the answer.
    Interactive,
    /// The default.
    #[default]
    Normal,
    /// Work that may wait as long as there is other work.
    Background,
}

impl Priority {
    /// All priorities, the highest first.
    pub const ALL: [Priority; 3] = [Priority::Interactive, Priority::Normal, Priority::Background];
}

/// Token that cancels the work it was passed to. Clones cancel the same work.
///
/// ```
/// use tachyfits_io::CancelToken;
///
/// let request = CancelToken::new();
/// let part = request.child();
/// part.cancel();
/// assert!(part.is_cancelled() && !request.is_cancelled());
/// request.cancel();
/// assert!(request.child().is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<TokenState>);

#[derive(Default)]
struct TokenState {
    cancelled: AtomicBool,
    parent: Option<CancelToken>,
    poll: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl CancelToken {
    /// Returns a token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Returns a separate token, which is also cancelled when this one is.
    #[must_use]
    pub fn child(&self) -> CancelToken {
        CancelToken(Arc::new(TokenState { parent: Some(self.clone()), ..TokenState::default() }))
    }

    /// Returns a child token with a function that reports whether to cancel, for signals that must be polled. It is
    /// called often, on any thread, and must be fast.
    #[must_use]
    pub fn polling(&self, poll: impl Fn() -> bool + Send + Sync + 'static) -> CancelToken {
        CancelToken(Arc::new(TokenState {
            cancelled: AtomicBool::new(false),
            parent: Some(self.clone()),
            poll: Some(Box::new(poll)),
        }))
    }

    /// Cancels the work; each run ends with [`IoError::Cancelled`] after at most its current tasks.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the work must end.
    pub fn is_cancelled(&self) -> bool {
        let TokenState { cancelled, parent, poll } = &*self.0;
        if cancelled.load(Ordering::Relaxed) {
            return true;
        }
        let ends = parent.as_ref().is_some_and(CancelToken::is_cancelled)
            || poll.as_ref().is_some_and(|poll| poll());
        if ends {
            self.cancel();
        }
        ends
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelToken").field(&self.0.cancelled).finish()
    }
}

/// A request: executor, priority, budgets and token. All runs of the job and of its clones share the budgets.
///
/// ```
/// use std::time::Duration;
/// use tachyfits_io::{Executor, IoError, Job, MemoryStorage, PipelineOptions, Priority, fill};
///
/// let job = Job::on(&Executor::new(2))
///     .with_priority(Priority::Interactive)
///     .with_time(Duration::from_secs(60))
///     .with_bytes(1000);
/// let options = PipelineOptions::default().job(Some(&job));
/// let storage = MemoryStorage::new("example", vec![7; 800]);
/// let mut out = [0; 800];
/// fill(&storage, 0, &mut out, 100, &options, |_| ())?;
/// let error = fill(&storage, 0, &mut out, 100, &options, |_| ()).unwrap_err();
/// assert_eq!(error.code(), "io-budget");
/// # Ok::<(), IoError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Job {
    pub(super) executor: Executor,
    pub(super) priority: Priority,
    token: CancelToken,
    /// Maximum number of bytes, and the number used.
    bytes: Option<(u64, Arc<AtomicU64>)>,
    /// Maximum time, and the start.
    time: Option<(Duration, Instant)>,
    pub(super) notes: Option<Notes>,
}

impl Job {
    /// Returns a request of normal priority without limits.
    pub fn on(executor: &Executor) -> Job {
        let (executor, token) = (executor.clone(), CancelToken::new());
        Job { executor, priority: Priority::Normal, token, bytes: None, time: None, notes: None }
    }

    /// Sets the priority.
    #[must_use]
    pub fn with_priority(self, priority: Priority) -> Job {
        Job { priority, ..self }
    }

    /// Limits the bytes read or borrowed by all runs together. A run that would exceed the limit ends with
    /// [`IoError::Budget`] before it reads them.
    #[must_use]
    pub fn with_bytes(self, most: u64) -> Job {
        Job { bytes: Some((most, Arc::default())), ..self }
    }

    /// Limits the time from now on. A run that exceeds it ends with [`IoError::Budget`] after at most its current
    /// tasks.
    #[must_use]
    pub fn with_time(self, most: Duration) -> Job {
        Job { time: Some((most, Instant::now())), ..self }
    }

    /// Sets the token that cancels the job.
    #[must_use]
    pub fn with_token(self, token: CancelToken) -> Job {
        Job { token, ..self }
    }

    /// Sets the collector for notes of the job's runs.
    #[must_use]
    pub fn with_notes(self, notes: Notes) -> Job {
        Job { notes: Some(notes), ..self }
    }

    /// Returns the executor.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Returns the token that cancels the job.
    pub fn token(&self) -> &CancelToken {
        &self.token
    }

    /// Checks whether to continue.
    ///
    /// # Errors
    /// [`IoError::Cancelled`] or [`IoError::Budget`].
    pub fn check(&self) -> Result<(), IoError> {
        if self.token.is_cancelled() {
            return Err(IoError::Cancelled);
        }
        match self.time {
            Some((most, begun)) if begun.elapsed() > most => {
                let budget = Budget::Time { most, used: begun.elapsed() };
                Err(IoError::Budget { budget })
            }
            _ => Ok(()),
        }
    }

    /// Takes bytes that are about to be read from the budget.
    pub(crate) fn charge(&self, needed: u64) -> Result<(), IoError> {
        let Some((most, used)) = &self.bytes else { return Ok(()) };
        let add = |used: u64| used.checked_add(needed).filter(|used| used <= most);
        match used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(_) => Ok(()),
            Err(used) => {
                let budget = Budget::Bytes { most: *most, used, needed };
                Err(IoError::Budget { budget })
            }
        }
    }
}
