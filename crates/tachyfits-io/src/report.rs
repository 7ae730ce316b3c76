//! Cost of a run: bytes, and seconds of reading, of computing and of waiting for both.

/// Cost of a [`crate::run`]; the default is zero cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Bytes that the tasks requested.
    pub bytes: u64,
    /// Bytes read, including gaps; 0 if they were borrowed.
    pub read_bytes: u64,
    /// Seconds of reading: with read-ahead, the time in which at least one reader was reading; otherwise the sum over
    /// the workers divided by their number.
    pub io_seconds: f64,
    /// Seconds of computing and merging, including waits for a processor: the sum over the workers divided by their
    /// number.
    pub compute_seconds: f64,
    /// Seconds of writing per worker, if the operation writes a file.
    pub write_seconds: f64,
    /// Seconds from beginning to end.
    pub wall_seconds: f64,
    /// Number of workers.
    pub threads: usize,
    /// Arrangement of reading and computing: `"inline"` (each worker reads its own block),
    /// `"ahead"` (reader threads fetch blocks ahead of the workers) or `"borrowed"` (the bytes were
    /// used in memory or in the page cache).
    pub buffering: &'static str,
    /// Kind of the storage: [`crate::Storage::kind`].
    pub storage: &'static str,
    /// Largest difference between a value and the integer written for it, if an operation rounds to integers; 0 if it
    /// is lossless.
    pub rounding: f64,
}

impl Report {
    /// Sets the largest rounding error.
    #[doc(hidden)]
    #[must_use]
    pub fn with_rounding(self, rounding: f64) -> Report {
        Report { rounding, ..self }
    }
}

impl Report {
    /// Returns the total cost of this run and a later one.
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

    /// Returns the fraction of reading and writing that overlapped with computing: `(io + compute - wall) / io`,
    /// limited to 0 to 1, where io includes both.
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
