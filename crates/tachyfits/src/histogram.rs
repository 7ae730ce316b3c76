//! Histograms of a section or of regions. Counts are integers, so each worker has its own histogram, and the
//! histograms are added in any order at the end.

use std::collections::TryReserveError;

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{Histogram, HistogramRange};

use crate::error::{Error, Reason};
use crate::image::{Image, no_memory, tier};
use crate::lines::LineReads;
use crate::region::Region;
use crate::section::Section;
use crate::workers::Workers;

/// Bytes of a bin of a histogram: counters, edges and limits.
const BIN_BYTES: usize = 56;
/// Maximum memory of the workers' histograms, unless a single one needs more.
const HISTOGRAMS_BYTES: usize = 128 << 20;

impl Image {
    /// Counts the pixels of a section in equal bins over `low..=high` of the physical value; with regions,
    /// counts each pixel of every plane inside any region once. Bin `i` has `edges[i] <= value < edges[i +
    /// 1]`; the last bin includes its upper edge. NaN and BLANK are counted separately, and so are values
    /// below and above, including infinities.
    ///
    /// # Errors
    /// [`Reason::HistogramRange`]; otherwise as [`Image::stats`].
    pub fn histogram(
        &self,
        (low, high): (f64, f64),
        bins: usize,
        section: &Section,
        regions: Option<&[Region]>,
        options: &RunOptions<'_>,
    ) -> Result<(Histogram, Report), Error> {
        let range = self.memory_for(bins, HistogramRange::new(low, high, bins))?.ok_or_else(|| {
            let most = HistogramRange::MOST_BINS;
            let expected = format!(
                "low < high, both finite, and 1 to {most} bins wide enough for f64 to tell them apart"
            );
            let actual = format!("{bins} bins from {low} to {high}");
            self.refused(Reason::HistogramRange, expected, actual)
        })?;
        let reduced = vec![true; self.axes().len()];
        let lines = self.lines(section, &reduced, regions, true, options)?;
        let (encoding, tier, pixels) = (self.encoding(), tier(), self.pixel_bytes());
        let options = &options.threads(workers(options.workers(), bins));
        let histograms = Workers::new();
        let begin = || (histograms.begin(None), Vec::new());
        let report = self.run(
            &LineReads { lines: &*lines, pixels },
            lines.pixels(),
            options,
            begin,
            |(histogram, gathered), task, fetched| {
                let mut own = histogram.get();
                let histogram = match &mut *own {
                    Some(histogram) => histogram,
                    none => none.insert(self.memory_for(bins, Histogram::new(range.clone()))?),
                };
                let mut piece = 0;
                lines.visit(task, &mut |line| {
                    let bytes = line.stretch.collect(fetched, &mut piece, pixels, gathered);
                    histogram.accumulate(bytes, &encoding, tier);
                });
                Ok(())
            },
            |_task, ()| Ok(()),
        )?;
        let mut total = self.memory_for(bins, Histogram::new(range.clone()))?;
        histograms.for_each(|own: &mut Option<Histogram>| {
            // The ranges are equal, so the histogram is always added.
            own.iter().for_each(|histogram| {
                total.merge(histogram);
            });
        });
        Ok((total, report))
    }

    /// Returns an error about the memory of a histogram if its creation failed.
    fn memory_for<T>(&self, bins: usize, result: Result<T, TryReserveError>) -> Result<T, Error> {
        let bytes = bins as u128 * BIN_BYTES as u128;
        result.map_err(|_| self.place(no_memory("the histogram", bytes)))
    }
}

/// Returns the number of threads whose histograms together fit in memory, at least one.
fn workers(threads: usize, bins: usize) -> usize {
    let most = (HISTOGRAMS_BYTES / (bins * BIN_BYTES)).max(1);
    threads.min(most)
}
