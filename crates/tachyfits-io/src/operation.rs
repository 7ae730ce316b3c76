//! Options of every operation on the numbers of a file, besides its own request, and its repetition after a change of the file.

use std::cell::RefCell;

use crate::error::IoError;
use crate::executor::{self, CancelToken, Job};
use crate::pipeline::{self, Buffering, Watch};

/// How often a file is opened again because another process changed it while it was opened.
pub const OPEN_ATTEMPTS: usize = 20;

options! { const
    /// How an operation runs. Nothing here changes a result.
    #[derive(Clone, Copy, Default)]
    pub struct RunOptions<'a> {
        /// Worker threads; 0 is one per permit of the executor. It is never more than the executor has.
        pub threads: usize,
        /// How reading and computing are arranged.
        pub buffering: Buffering,
        /// Called now and then with (bytes done, bytes in all), on any thread.
        pub progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
        /// The request that the operation is part of: its executor, priority, limits, and token that cancels it. `None` is the
        /// executor of the process, without limits.
        pub job: Option<&'a Job>,
    }
}

impl RunOptions<'_> {
    /// The default options, also for constants.
    pub const fn new() -> Self {
        RunOptions { threads: 0, buffering: Buffering::Auto, progress: None, job: None }
    }

    /// The number of threads that an operation uses at most.
    pub fn workers(&self) -> usize {
        executor::threads_of(self.job, self.threads)
    }

    /// Tells the progress function, and whether to go on: to be called now and then by work that is not a run.
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

/// The progress function as the pipeline calls it, which does not know the total.
pub struct Progress<'a> {
    /// The options of the operation.
    pub options: RunOptions<'a>,
    /// The bytes that it reads.
    pub total: u64,
}

impl Progress<'_> {
    /// The options as the pipeline takes them.
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

/// Repeats an operation that fails because the file changed meanwhile, at most `attempts` times.
///
/// # Errors
/// Those of the last attempt.
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
    /// The token of what this thread opens now.
    static OPENING: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// Opens something by `work`, whose waits for servers end when the token is cancelled: opening has no job.
pub(crate) fn opening<T>(token: &CancelToken, work: impl FnOnce() -> T) -> T {
    /// Puts the token of the opening around this one back.
    struct Outer(Option<CancelToken>);
    impl Drop for Outer {
        fn drop(&mut self) {
            OPENING.set(self.0.take());
        }
    }
    let _outer = Outer(OPENING.replace(Some(token.clone())));
    work()
}

/// Whether a wait of this thread is to go on.
#[cfg(feature = "remote")]
pub(crate) fn check_wait() -> Result<(), IoError> {
    // A token may call functions that open something.
    match OPENING.with_borrow(Clone::clone) {
        Some(token) if token.is_cancelled() => Err(IoError::Cancelled),
        _ => executor::check_current(),
    }
}
