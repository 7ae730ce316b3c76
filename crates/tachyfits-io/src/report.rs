//! Cost of a run: bytes, and seconds of reading, of computing and of waiting for both.

/// The cost of a [`crate::run`]; the default is that of nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The bytes that the tasks requested.
    pub bytes: u64,
    /// The bytes that were read to get them, gaps included; none where they were borrowed.
    pub read_bytes: u64,
    /// Seconds spent reading: with readers ahead, those in which at least one of them read; else the sum over the workers
    /// by their number.
    pub io_seconds: f64,
    /// Seconds spent computing and merging, a worker's wait for a processor included: the sum over the workers by their
    /// number.
    pub compute_seconds: f64,
    /// Seconds spent writing, per worker, where the operation writes a file.
    pub write_seconds: f64,
    /// Seconds from beginning to end.
    pub wall_seconds: f64,
    /// The number of workers.
    pub threads: usize,
    /// Arrangement of reading and computing: `"inline"` (each worker reads its own block),
    /// `"ahead"` (reader threads fetch blocks ahead of the workers) or `"borrowed"` (the bytes were
    /// used in memory or in the page cache).
    pub buffering: &'static str,
    /// Kind of the storage: [`crate::Storage::kind`].
    pub storage: &'static str,
    /// The largest difference between a value and the integer that was written for it, where an operation rounds to
    /// integers; 0 where nothing is lost.
    pub rounding: f64,
}

impl Report {
    /// The same with the largest error of rounding.
    #[doc(hidden)]
    #[must_use]
    pub fn with_rounding(self, rounding: f64) -> Report {
        Report { rounding, ..self }
    }
}

impl Report {
    /// The cost of this run and of another one after it.
    #[must_use]
    pub fn followed_by(&self, second: &Report) -> Report {
        Report {
            bytes: self.bytes + second.bytes,
            read_bytes: self.read_bytes + second.read_bytes,
            io_seconds: self.io_seconds + second.io_seconds,
            compute_seconds: self.compute_seconds + second.compute_seconds,
            write_seconds: self.write_seconds + second.write_seconds,
            wall_seconds: self.wall_seconds + second.wall_seconds,
            ..*second
        }
    }

    /// The fraction of the reading and writing that was hidden behind computing: `(io + compute - wall) / io` within 0
    /// and 1, where io is both.
    ///
    /// ```
    /// let mut report = tachyfits_io::Report::default();
    /// (report.io_seconds, report.compute_seconds, report.wall_seconds) = (2.0, 3.0, 3.5);
    /// assert_eq!(report.hidden_fraction(), 0.75);
    /// ```
    pub fn hidden_fraction(&self) -> f64 {
        let io_seconds = self.io_seconds + self.write_seconds;
        if io_seconds <= 0.0 {
            return 0.0;
        }
        let hidden = io_seconds + self.compute_seconds - self.wall_seconds;
        (hidden / io_seconds).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn the_hidden_fraction_stays_within_bounds() {
        let report = |io_seconds, compute_seconds, wall_seconds| Report {
            bytes: 0,
            read_bytes: 0,
            io_seconds,
            compute_seconds,
            write_seconds: 0.0,
            wall_seconds,
            threads: 1,
            buffering: "inline",
            storage: "memory",
            rounding: 0.0,
        };
        assert_eq!(report(0.0, 1.0, 1.0).hidden_fraction(), 0.0);
        assert_eq!(report(1.0, 1.0, 2.5).hidden_fraction(), 0.0);
        assert_eq!(report(1.0, 4.0, 3.0).hidden_fraction(), 1.0);
        assert_eq!(report(2.0, 2.0, 3.0).hidden_fraction(), 0.5);
    }
}
