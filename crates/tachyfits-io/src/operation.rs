//! Options of every operation on the numbers of a file, besides its own request, and its repetition after a change of the file.

use std::ops::ControlFlow;

use crate::error::IoError;
use crate::pipeline::{self, Buffering, Watch};

/// How often a file is opened again because another process changed it while it was opened.
pub const OPEN_ATTEMPTS: usize = 20;

/// How an operation runs. Nothing here changes a result.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// Worker threads; 0 is one per processor.
    pub threads: usize,
    /// How reading and computing are arranged.
    pub buffering: Buffering,
    /// Called now and then with (bytes done, bytes in all), on any thread; [`ControlFlow::Break`] cancels.
    pub progress: Option<&'a (dyn Fn(u64, u64) -> ControlFlow<()> + Sync)>,
}

impl RunOptions<'_> {
    /// Asks the progress function, before any of `total` bytes is read, whether to go on.
    ///
    /// # Errors
    /// [`IoError::Cancelled`].
    pub fn check_cancelled(&self, total: u64) -> Result<(), IoError> {
        match self.progress.map(|progress| progress(0, total)) {
            Some(ControlFlow::Break(())) => Err(IoError::Cancelled),
            _ => Ok(()),
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
        let RunOptions { threads, buffering, progress } = self.options;
        let watch: Option<&dyn Watch> = if progress.is_some() { Some(self) } else { None };
        pipeline::PipelineOptions { threads, buffering, watch, ..Default::default() }
    }
}

impl Watch for Progress<'_> {
    fn progress(&self, bytes_done: u64) -> ControlFlow<()> {
        match self.options.progress {
            Some(progress) => progress(bytes_done.min(self.total), self.total),
            None => ControlFlow::Continue(()),
        }
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
