//! Histograms of a section or of regions. Counts are integers, so workers keep histograms of their own, which are added
//! up at the end in any order.

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{Histogram, HistogramRange};

use crate::error::{Error, Reason};
use crate::image::{Image, no_memory, tier};
use crate::lines::LineReads;
use crate::region::Region;
use crate::section::Section;
use crate::workers::Workers;

/// Bytes of a bin in the state of a histogram: counters, edges and limits.
const BIN_BYTES: usize = 56;
/// The most that the histograms of the workers take together, unless one alone takes more.
const HISTOGRAMS_BYTES: usize = 128 << 20;

impl Image {
    /// Counts the pixels of a section in equal bins over `low..=high` of the physical value; with
    /// regions, the pixels of every plane inside any of them, each once. Bin `i` has `edges[i] <=
    /// value < edges[i + 1]`, the last one also its upper edge. NaN and BLANK are counted
    /// separately, and so are values below and above, including infinities.
    ///
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
        let range = HistogramRange::new(low, high, bins).ok_or_else(|| {
            let most = HistogramRange::MOST_BINS;
            let expected = format!(
                "low < high, both finite, and 1 to {most} bins wide enough for f64 to tell them apart"
            );
            let found = format!("{bins} bins from {low} to {high}");
            self.refused(Reason::HistogramRange, expected, found)
        })?;
        let reduced = vec![true; self.axes().len()];
        let lines = self.lines(section, &reduced, regions, true, options)?;
        let (encoding, tier, pixels) = (self.encoding(), tier(), self.pixel_bytes());
        let options = &options.threads(workers(options.workers(), bins));
        self.check_memory(bins)?;
        let counted = Workers::new();
        let begin = || (counted.begin(Histogram::new(range.clone())), Vec::new());
        let report = self.run(
            &LineReads { lines: &*lines, pixels },
            lines.pixels(),
            options,
            begin,
            |(histogram, gathered), task, fetched| {
                let mut histogram = histogram.get();
                let mut piece = 0;
                lines.visit(task, &mut |line| {
                    let bytes = line.stretch.collect(fetched, &mut piece, pixels, gathered);
                    histogram.accumulate(bytes, &encoding, tier);
                });
                Ok(())
            },
            |_task, ()| Ok(()),
        )?;
        let mut total = Histogram::new(range.clone());
        counted.for_each(|own| {
            // The ranges are equal, so it is always added.
            total.merge(own);
        });
        Ok((total, report))
    }

    /// Tries for the memory that the result and one worker need, while failing is harmless.
    fn check_memory(&self, bins: usize) -> Result<(), Error> {
        let bytes = 2 * bins * BIN_BYTES;
        let tried = Vec::<u8>::new().try_reserve_exact(bytes);
        tried.map_err(|_| self.place(no_memory("the histogram", bytes as u128)))
    }
}

/// The number of threads whose histograms together stay small; never less than one.
fn workers(threads: usize, bins: usize) -> usize {
    let most = (HISTOGRAMS_BYTES / (bins * BIN_BYTES)).max(1);
    threads.min(most)
}
