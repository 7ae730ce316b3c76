//! Several passes over pixels as one operation: one progress that only rises, one report.

use std::time::Instant;

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;

use crate::error::Error;

/// The passes of an operation.
pub(crate) struct Passes<'a> {
    options: RunOptions<'a>,
    /// Bytes of the passes that ended, and of all that are foreseen.
    done: u64,
    total: u64,
    begun: Instant,
    alone: bool,
    report: Report,
}

impl<'a> Passes<'a> {
    /// `total`: bytes of the passes that are foreseen; there may be more.
    pub(crate) fn new(options: &RunOptions<'a>, total: u64) -> Passes<'a> {
        let (begun, report) = (Instant::now(), Report::default());
        Passes { options: *options, done: 0, total, begun, alone: false, report }
    }

    /// The options that all passes have.
    pub(crate) fn options(&self) -> &RunOptions<'a> {
        &self.options
    }

    /// Makes a pass over about `bytes` bytes.
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

    /// Asks, between passes, whether to go on.
    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        self.options.check(self.done, self.total).map_err(Error::from)
    }

    /// Whether the next passes are so short that one thread is the fastest.
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

    /// The cost of all.
    pub(crate) fn finish(mut self) -> Report {
        self.report.wall_seconds = self.begun.elapsed().as_secs_f64();
        self.report
    }
}
