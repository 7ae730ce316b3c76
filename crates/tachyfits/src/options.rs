//! Options of every operation on pixels, besides its own request.

use std::ops::ControlFlow;

use tachyfits_io::{Buffering, IoError, Watch};

use crate::error::Error;

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
    /// [`tachyfits_io::IoError::Cancelled`].
    pub(crate) fn check_cancelled(&self, total: u64) -> Result<(), Error> {
        match self.progress.map(|progress| progress(0, total)) {
            Some(ControlFlow::Break(())) => Err(IoError::Cancelled.into()),
            _ => Ok(()),
        }
    }
}

/// The progress function as the pipeline calls it, which does not know the total.
pub(crate) struct Progress<'a> {
    pub(crate) options: RunOptions<'a>,
    pub(crate) total: u64,
}

impl Progress<'_> {
    /// The options as the pipeline takes them.
    pub(crate) fn run_options(&self) -> tachyfits_io::RunOptions<'_> {
        let RunOptions { threads, buffering, progress } = self.options;
        let watch: Option<&dyn Watch> = if progress.is_some() { Some(self) } else { None };
        tachyfits_io::RunOptions { threads, buffering, watch, ..Default::default() }
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
