//! Several passes over pixels as one operation, with a single report and monotonic progress.

use std::time::Instant;

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;

use crate::error::Error;

/// Passes of an operation.
pub(crate) struct Passes<'a> {
    options: RunOptions<'a>,
    /// Bytes of finished passes, and the expected total.
    done: u64,
    total: u64,
    begun: Instant,
    alone: bool,
    report: Report,
}

impl<'a> Passes<'a> {
    /// Starts an operation; `total` is the expected number of bytes of all passes, which may be exceeded.
    pub(crate) fn new(options: &RunOptions<'a>, total: u64) -> Passes<'a> {
        let (begun, report) = (Instant::now(), Report::default());
        Passes { options: *options, done: 0, total, begun, alone: false, report }
    }

    /// Returns the options of all passes.
    pub(crate) fn options(&self) -> &RunOptions<'a> {
        &self.options
    }

    /// Runs a pass over about `bytes` bytes.
    pub(crate) fn run<T>(
        &mut self,
        bytes: u64,
        pass: impl FnOnce(&RunOptions<'_>) -> Result<(T, Report), Error>,
    ) -> Result<T, Error> {
        let done = self.done;
        self.total = self.total.max(done.saturating_add(bytes));
        let (total, outer) = (self.total, self.options.progress);
        let progress = |bytes_done: u64, _of: u64| {
            if let Some(outer) = outer {
                outer(done.saturating_add(bytes_done.min(bytes)), total);
            }
        };
        let threads = if self.alone { 1 } else { self.options.threads };
        let options = self.options.threads(threads).progress(Some(&progress));
        let (value, report) = pass(&options)?;
        self.done = done.saturating_add(bytes);
        self.add(&report);
        Ok(value)
    }

    /// Returns an error if the operation was cancelled between passes.
    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        self.options.check(self.done, self.total).map_err(Error::from)
    }

    /// Sets whether the next passes are so short that a single thread is fastest.
    pub(crate) fn alone(&mut self, alone: bool) {
        self.alone = alone;
    }

    fn add(&mut self, report: &Report) {
        let sum = &mut self.report;
        sum.bytes += report.bytes;
        sum.read_bytes += report.read_bytes;
        sum.io_seconds += report.io_seconds;
        sum.compute_seconds += report.compute_seconds;
        sum.write_seconds += report.write_seconds;
        sum.threads = sum.threads.max(report.threads);
        if report.bytes > 0 {
            (sum.buffering, sum.storage) = (report.buffering, report.storage);
        }
    }

    /// Returns the report of all passes.
    pub(crate) fn finish(mut self) -> Report {
        self.report.wall_seconds = self.begun.elapsed().as_secs_f64();
        self.report
    }
}
