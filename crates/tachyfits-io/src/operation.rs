//! Options of every operation on the values of a file, besides its own request, and repetition if the file changes
//! meanwhile.

use std::cell::RefCell;

use crate::error::IoError;
use crate::executor::{self, CancelToken, Job};
use crate::pipeline::{self, Buffering, Watch};

/// Maximum number of attempts to open a file that another process changes meanwhile.
pub const OPEN_ATTEMPTS: usize = 20;

options! { const
    /// Options for running an operation. They do not affect the result.
    #[derive(Clone, Copy, Default)]
    pub struct RunOptions<'a> {
        /// Worker threads, limited by the executor; 0 means one per permit.
        pub threads: usize,
        /// Arrangement of reading and computing.
        pub buffering: Buffering,
        /// Called regularly with (bytes done, total bytes), on any thread.
        pub progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
        /// Request that the operation is part of, with executor, priority, limits and cancellation token. `None` means
        /// the executor of the process, without limits.
        pub job: Option<&'a Job>,
    }
}

impl RunOptions<'_> {
    /// Returns the default options, also in constants.
    pub const fn new() -> Self {
        RunOptions { threads: 0, buffering: Buffering::Auto, progress: None, job: None }
    }

    /// Returns the maximum number of threads of an operation.
    pub fn workers(&self) -> usize {
        executor::threads_of(self.job, self.threads)
    }

    /// Reports progress, and returns an error if cancelled or over budget. For regular calls by work that is not a run.
    ///
    /// # Errors
    /// [`IoError::Cancelled`] or [`IoError::Budget`].
    pub fn check(&self, done: u64, total: u64) -> Result<(), IoError> {
        self.tell(done, total);
        self.job.map_or_else(executor::check_current, Job::check)
    }

    fn tell(&self, done: u64, total: u64) {
        if let Some(progress) = self.progress {
            progress(done.min(total), total);
        }
    }
}

/// Adapter from the progress function to the pipeline, which does not know the total.
pub struct Progress<'a> {
    /// Options of the operation.
    pub options: RunOptions<'a>,
    /// Total bytes that it reads.
    pub total: u64,
}

impl Progress<'_> {
    /// Returns the options for the pipeline.
    pub fn run_options(&self) -> pipeline::PipelineOptions<'_> {
        let RunOptions { threads, buffering, progress, job } = self.options;
        let watch: Option<&dyn Watch> = if progress.is_some() { Some(self) } else { None };
        pipeline::PipelineOptions { threads, buffering, watch, job, ..Default::default() }
    }
}

impl Watch for Progress<'_> {
    fn progress(&self, bytes_done: u64) {
        self.options.tell(bytes_done, self.total);
    }
}

/// Repeats an operation that fails because the file changed meanwhile, with at most `attempts` attempts.
///
/// # Errors
/// The error of the last attempt.
pub fn repeated_if_changed<T, E>(
    attempts: usize,
    is_changed: impl Fn(&E) -> bool,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    for _ in 1..attempts {
        match attempt() {
            Err(error) if is_changed(&error) => {}
            outcome => return outcome,
        }
    }
    attempt()
}

thread_local! {
    /// Token of the open operation of this thread.
    static OPENING: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// Runs `work`, which opens a source. Its waits for servers end when the token is cancelled, because opening has no
/// job.
pub(crate) fn opening<T>(token: &CancelToken, work: impl FnOnce() -> T) -> T {
    /// Restores the token of the enclosing open operation.
    struct Outer(Option<CancelToken>);
    impl Drop for Outer {
        fn drop(&mut self) {
            OPENING.set(self.0.take());
        }
    }
    let _outer = Outer(OPENING.replace(Some(token.clone())));
    work()
}

/// Returns an error if a wait of this thread must end.
#[cfg(feature = "remote")]
pub(crate) fn check_wait() -> Result<(), IoError> {
    // A token may call functions that open something.
    match OPENING.with_borrow(Clone::clone) {
        Some(token) if token.is_cancelled() => Err(IoError::Cancelled),
        _ => executor::check_current(),
    }
}
