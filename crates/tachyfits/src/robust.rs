//! The robust rms: the width of the noise peak in the histogram of the pixels, per plane or of all pixels.
//!
//! Implements `ObitFArrayRMS` of Obit (W. D. Cotton, PASP 120, 439, 2008), the workload of the experiment on
//! overlapping reads and computation ("Efficacy of Double Buffered I/O", 2018). Differences: it computes in
//! f64, uses the middle of the fullest cell as the mode, and excludes the first and the last cell, which
//! contain all outliers, from the final sum as well.

use std::ops::{Range, RangeInclusive};
use std::sync::{Mutex, PoisonError};

use tachyfits_io::operation::RunOptions;
use tachyfits_io::{Buffering, Fetched, NoReads, Report, Tasks};
use tachyfits_kernels::{CellCounts, Cells, Encoding, LEAF_PIXELS, Stats, Tier, decode_f64};
use tachyfits_memory::NoMemory;

use crate::error::Error;
use crate::grid::Grid;
use crate::image::{Image, filled, tier};
use crate::line_fold::{LineFold, StatsFold, fold_lines};
use crate::lines::{GridLines, LineReads, Lines, PixelBytes};
use crate::order_statistics::{Passes, part};
use crate::section::Section;
use crate::workers::{Own, Workers};

/// Maximum bytes of planes in memory at the same time: enough for two planes of 8192 × 8192 16-bit integers.
/// If two planes do not fit, each step reads a plane in pieces.
const PLANES_BYTES: u64 = 256 << 20;
/// Maximum number of planes to read ahead, and minimum number if more than two planes fit.
const MOST_AHEAD: usize = 8;
const LEAST_AHEAD: usize = 2;

/// Minimum number of pixels for a measurement of noise.
const LEAST_PIXELS: u64 = 5;
/// Minimum ratio of noise to the largest value that is distinguishable from rounding.
const LEAST_NOISE: f64 = 1e-5;
const PIXELS_PER_CELL: u64 = 30;
const LEAST_CELLS: u64 = 100;
const MOST_CELLS: u64 = 1 << 24;
/// Acceptable widths of the peak at half height in cells, and the target width.
const WIDTHS: RangeInclusive<usize> = 10..=50;
const WIDTH: f64 = 25.0;
/// Maximum number of histograms.
const TRIES: usize = 20;
/// Range of the second moment on each side of the mode, in half widths.
const HALF_WIDTHS: usize = 3;

/// Pixels that can be read repeatedly.
trait RobustPixels {
    fn stats(&mut self) -> Result<Stats, Error>;
    /// Adds the pixels to counters, one for each of the cells.
    fn count(&mut self, cells: &Cells, counts: &mut CellCounts) -> Result<(), Error>;
}

/// Computes the robust rms; NaN for fewer than five defined pixels, an infinite pixel, or a peak of one or
/// two cells.
fn robust_rms(pixels: &mut dyn RobustPixels, counts: &mut CellCounts) -> Result<f64, Error> {
    let stats = pixels.stats()?;
    let (Some(min), Some(max)) = (stats.min, stats.max) else { return Ok(f64::NAN) };
    let (mut low, mut high) = (min.value, max.value);
    if stats.count < LEAST_PIXELS || !(low.is_finite() && high.is_finite()) {
        return Ok(f64::NAN);
    }
    let raw = stats.std(0);
    if raw <= LEAST_NOISE * low.abs().max(high.abs()) {
        return Ok(raw);
    }
    let cells = (stats.count / PIXELS_PER_CELL).clamp(LEAST_CELLS, MOST_CELLS) as usize;
    for _ in 0..TRIES {
        let density = cells as f64 / (high - low);
        if !(density.is_finite() && density > 0.0) {
            break;
        }
        reset(counts, cells)?;
        pixels.count(&Cells { low, density, cells }, counts)?;
        let peak = Peak::of(counts);
        if WIDTHS.contains(&peak.width()) {
            return Ok(peak.deviation(counts) / density)
                .map(|rms| if rms > raw { raw } else { rms });
        }
        // A peak within a single cell is assumed to be one cell wide.
        let half = 0.5 * peak.width().max(1) as f64 / density * cells as f64 / WIDTH;
        let middle = low + peak.mode as f64 / density;
        (low, high) = (middle - half, middle + half);
    }
    Ok(raw)
}

/// Clears the counters and resizes them to the number of cells.
fn reset(counts: &mut CellCounts, cells: usize) -> Result<(), NoMemory> {
    let out_of_memory = |_| NoMemory::of::<[u64; 2]>(cells, "the cells of the robust rms");
    counts.reset(cells).map_err(out_of_memory)
}

/// The fullest cell, and the outermost cells that are more than half as full, excluding the first and the
/// last cell.
#[derive(Clone, Copy, Debug)]
struct Peak {
    mode: usize,
    left: usize,
    right: usize,
}

impl Peak {
    fn of(counts: &CellCounts) -> Peak {
        let last = counts.cells().len() - 1;
        let inner = || counts.cells().enumerate().take(last).skip(1);
        let mut peak = (1, 0);
        for (cell, count) in inner() {
            if count > peak.1 {
                peak = (cell, count);
            }
        }
        let mode = peak.0;
        let mut high = inner().filter(|(_, count)| 2 * count > peak.1).map(|(cell, _)| cell);
        let left = high.next().unwrap_or(mode);
        Peak { mode, left, right: high.next_back().unwrap_or(left).max(mode) }
    }

    fn width(&self) -> usize {
        self.right - self.left
    }

    /// Returns the standard deviation of the pixels about the peak, in cells; NaN if they fill at most two
    /// cells.
    fn deviation(&self, counts: &CellCounts) -> f64 {
        let last = counts.cells().len() - 2;
        let from = self.mode.saturating_sub(HALF_WIDTHS * (self.mode - self.left)).max(1);
        let to = (self.mode + HALF_WIDTHS * (self.right - self.mode)).min(last);
        let (mut filled, mut count, mut sum, mut squares) = (0, 0.0, 0.0, 0.0);
        for (cell, pixels) in counts.cells().enumerate().take(to + 1).skip(from) {
            let (pixels, x) = (pixels as f64, cell as f64 - self.mode as f64);
            filled += u32::from(pixels > 0.0);
            count += pixels;
            sum += pixels * x;
            squares += pixels * x * x;
        }
        let mean = sum / count;
        let variance = squares / count - mean * mean;
        if filled > 2 && variance > 0.0 { variance.sqrt() } else { f64::NAN }
    }
}

impl Image {
    /// Computes the robust rms of the pixels of a section, per plane of NAXIS1 and NAXIS2 or of all pixels:
    /// the width of the noise in the histogram, which sources hardly change. NaN and BLANK are ignored; the
    /// result is NaN for fewer than five defined pixels, an infinite one, or no peak. It is computed `repeat`
    /// times, for experiments; 0 only reads, and gives NaN.
    ///
    /// Planes of up to 128 MiB are read once and processed in memory while later ones are read (with
    /// [`Buffering::Double`], or if the bytes are not in the page cache): by one thread per plane if enough
    /// planes fit, otherwise by several threads per plane. For larger planes, and for a single one, every
    /// step is a pass over the storage.
    ///
    /// # Errors
    /// As [`Image::stats`].
    pub fn robust_rms(
        &self,
        per_plane: bool,
        section: &Section,
        repeat: u64,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<f64>, Report), Error> {
        self.robust_rms_within(PLANES_BYTES, per_plane, section, repeat, options)
    }

    /// Works like [`Image::robust_rms`] with another limit for the bytes of planes in memory; tests use a
    /// small one.
    ///
    /// # Errors
    /// As [`Image::robust_rms`].
    #[doc(hidden)]
    pub fn robust_rms_within(
        &self,
        memory: u64,
        per_plane: bool,
        section: &Section,
        repeat: u64,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<f64>, Report), Error> {
        self.check_section(section)?;
        let reduced: Vec<bool> =
            (0..self.axes().len()).map(|axis| !per_plane || axis < 2).collect();
        let grid = Grid::new(self.axes(), section, &reduced);
        self.check_present(grid.last_pixel())?;
        let results = filled(grid.outputs, f64::NAN, "the result");
        let mut results = results.map_err(|error| self.place(error))?;
        let planes = Planes {
            image: self,
            section,
            reduced,
            count: grid.outputs,
            pixels: grid.reduced,
            tier: tier(),
        };
        let bytes = grid.reduced.saturating_mul(self.pixel_bytes().size);
        let most = memory / bytes.max(1);
        let report = match planes.count > 1 && most >= 2 {
            true => planes.in_memory(
                Arrangement::choose(most, options),
                repeat,
                options,
                &mut results,
            )?,
            false => planes.in_passes(repeat, options, &mut results)?,
        };
        Ok((results, report))
    }
}

/// Planes of a section.
struct Planes<'a> {
    image: &'a Image,
    section: &'a Section,
    reduced: Vec<bool>,
    count: u64,
    /// Number of pixels of each plane.
    pixels: u64,
    tier: Tier,
}

impl Planes<'_> {
    /// Returns the lines of a plane, which must be within the image.
    fn lines(&self, plane: u64) -> Result<GridLines, Error> {
        let section = self.image.section(&part(self.section, &self.reduced, plane))?;
        let grid = Grid::new(self.image.axes(), &section, &vec![true; self.reduced.len()]);
        Ok(GridLines::new(&grid, true, self.image.pixel_bytes()))
    }

    /// Processes each plane as one task.
    fn in_memory(
        &self,
        arrangement: Arrangement,
        repeat: u64,
        options: &RunOptions<'_>,
        results: &mut [f64],
    ) -> Result<Report, Error> {
        let spare = Spare::default();
        let mut report = self.image.run_with(
            |run| run.ahead(arrangement.ahead),
            self,
            self.pixels.saturating_mul(self.count),
            &options.threads(arrangement.planes).buffering(arrangement.buffering),
            || (),
            |(), plane, fetched| {
                let lines = self.lines(plane)?;
                let mut plane = Plane {
                    image: self.image,
                    lines: &lines,
                    fetched,
                    firsts: first_pieces(&lines, self.image.pixel_bytes()),
                    tier: self.tier,
                    threads: arrangement.threads,
                    spare: &spare,
                };
                let mut counts = spare.take();
                let rms = repeated(&mut plane, repeat, &mut counts);
                spare.keep(counts);
                rms
            },
            |plane, rms| {
                results[plane as usize] = rms;
                Ok(())
            },
        )?;
        report.threads *= arrangement.threads;
        Ok(report)
    }

    /// Processes one plane after the other, each in passes of all threads.
    fn in_passes(
        &self,
        repeat: u64,
        options: &RunOptions<'_>,
        results: &mut [f64],
    ) -> Result<Report, Error> {
        let bytes = self.pixels.saturating_mul(self.image.pixel_bytes().size);
        let mut passes = Passes::new(options, bytes.saturating_mul(self.count));
        let mut counts = CellCounts::default();
        for (plane, result) in (0..).zip(results) {
            let lines = self.lines(plane)?;
            let mut pixels = Passed {
                image: self.image,
                lines: &lines,
                bytes,
                tier: self.tier,
                passes: &mut passes,
            };
            if repeat == 0 {
                pixels.read()?;
            }
            *result = repeated(&mut pixels, repeat, &mut counts)?;
        }
        Ok(passes.finish())
    }
}

/// Computes the robust rms `repeat` times; NaN for 0.
fn repeated(
    pixels: &mut dyn RobustPixels,
    repeat: u64,
    counts: &mut CellCounts,
) -> Result<f64, Error> {
    let mut rms = f64::NAN;
    for _ in 0..repeat {
        rms = robust_rms(pixels, counts)?;
    }
    Ok(rms)
}

impl Tasks for Planes<'_> {
    fn len(&self) -> u64 {
        self.count
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let pixels = self.image.pixel_bytes();
        if let Ok(lines) = self.lines(index) {
            for task in 0..lines.tasks() {
                lines.visit(task, &mut |line| line.stretch.ranges(pixels, ranges));
            }
        }
    }
}

/// Division of planes in memory among threads.
struct Arrangement {
    /// Number of planes processed at the same time.
    planes: usize,
    /// Number of threads per plane.
    threads: usize,
    /// Number of planes to read ahead.
    ahead: usize,
    buffering: Buffering,
}

impl Arrangement {
    /// Chooses an arrangement; `most` is the number of planes that fit in memory, at least two.
    fn choose(most: u64, options: &RunOptions<'_>) -> Arrangement {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let threads = options.workers();
        let planes = most.saturating_sub(LEAST_AHEAD).clamp(1, threads);
        let buffering = match options.buffering {
            // While all threads process one plane, only a reader thread can read.
            Buffering::Auto if planes == 1 && threads > 1 => Buffering::Double,
            buffering => buffering,
        };
        let ahead = (most - planes).min(MOST_AHEAD);
        Arrangement { planes, threads: threads / planes, ahead, buffering }
    }
}

/// Pool of counters: they may be numerous, and the system would have to clear new memory.
#[derive(Default)]
struct Spare(Mutex<Vec<CellCounts>>);

impl Spare {
    fn take(&self) -> CellCounts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn keep(&self, counts: CellCounts) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(counts);
    }
}

/// A plane in memory.
struct Plane<'a> {
    image: &'a Image,
    lines: &'a GridLines,
    fetched: &'a Fetched<'a>,
    /// Index of the first fetched piece of each task of the lines.
    firsts: Vec<usize>,
    tier: Tier,
    threads: usize,
    spare: &'a Spare,
}

/// Returns, for each task of the lines, the number of pieces of the tasks before it.
fn first_pieces(lines: &GridLines, pixels: PixelBytes) -> Vec<usize> {
    let mut pieces = Vec::new();
    let mut before = |task| {
        let first = pieces.len();
        lines.visit(task, &mut |line| line.stretch.ranges(pixels, &mut pieces));
        first
    };
    (0..lines.tasks()).map(&mut before).collect()
}

impl Plane<'_> {
    /// Passes each line of a task and its first position to `take`.
    fn visit(&self, task: u64, gathered: &mut Vec<u8>, mut take: impl FnMut(&[u8], u64)) {
        let mut piece = self.firsts[task as usize];
        let pixels = self.image.pixel_bytes();
        self.lines.visit(task, &mut |line| {
            let bytes = line.stretch.collect(self.fetched, &mut piece, pixels, gathered);
            take(bytes, line.position);
        });
    }

    /// Runs all tasks with the threads of this plane; results are merged in the order of the tasks.
    fn run<W, R: Send>(
        &self,
        scratch: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, u64) -> Result<R, Error> + Sync,
        mut merge: impl FnMut(R) + Send,
    ) -> Result<(), Error> {
        // Runs within the run of the planes, and so in the same job.
        let options = RunOptions::default().threads(self.threads);
        self.image.run(
            &NoReads(self.lines.tasks()),
            self.lines.pixels(),
            &options,
            scratch,
            |scratch, task, _| work(scratch, task),
            |_task, result| {
                merge(result);
                Ok(())
            },
        )?;
        Ok(())
    }
}

impl RobustPixels for Plane<'_> {
    fn stats(&mut self) -> Result<Stats, Error> {
        // Folded line by line, like the statistics of a section, so that the bits are the same.
        let fold = StatsFold { encoding: self.image.encoding(), tier: self.tier };
        let mut total = Stats::default();
        let work = |gathered: &mut Vec<u8>, task| {
            let mut states = Vec::new();
            self.visit(task, gathered, |bytes, position| {
                let mut state = Stats::default();
                fold.accumulate(&mut state, bytes, position);
                states.push(state);
            });
            Ok(states)
        };
        self.run(Vec::new, work, |states| {
            states.iter().for_each(|state| fold.merge(&mut total, state));
        })?;
        Ok(total)
    }

    fn count(&mut self, cells: &Cells, counts: &mut CellCounts) -> Result<(), Error> {
        let (encoding, workers) = (self.image.encoding(), Workers::new());
        let begin = || {
            let mut counts = self.spare.take();
            counts.clear();
            (workers.begin(counts), Vec::new(), vec![0.0; LEAF_PIXELS])
        };
        let work = |(counts, gathered, decoded): &mut (Own<CellCounts>, Vec<u8>, Vec<f64>),
                    task| {
            let mut counts = counts.get();
            if counts.is_empty() {
                reset(&mut counts, cells.cells)?;
            }
            self.visit(task, gathered, |bytes, _| {
                count_line(bytes, &encoding, self.tier, cells, decoded, &mut counts);
            });
            Ok(())
        };
        self.run(begin, work, |()| ())?;
        workers.for_each(|more| {
            if !more.is_empty() {
                counts.merge(more);
            }
            self.spare.keep(std::mem::take(more));
        });
        Ok(())
    }
}

/// Counts the pixels of a line, a leaf at a time; `decoded` is a buffer for one leaf.
fn count_line(
    bytes: &[u8],
    encoding: &Encoding,
    tier: Tier,
    cells: &Cells,
    decoded: &mut [f64],
    counts: &mut CellCounts,
) {
    let size = encoding.pixel_bytes();
    for leaf in bytes.chunks(LEAF_PIXELS * size) {
        let values = &mut decoded[..leaf.len() / size];
        decode_f64(leaf, encoding, tier, values);
        counts.count(values, cells, tier);
    }
}

/// A plane that is read again for each step.
struct Passed<'a, 'o> {
    image: &'a Image,
    lines: &'a GridLines,
    bytes: u64,
    tier: Tier,
    passes: &'a mut Passes<'o>,
}

impl Passed<'_, '_> {
    /// Reads the plane without using its pixels.
    fn read(&mut self) -> Result<(), Error> {
        let (image, lines, pixels) = (self.image, self.lines, self.image.pixel_bytes());
        let reads = Fetches(LineReads { lines, pixels });
        self.passes.run(self.bytes, |options| {
            let nothing = |(): &mut (), _: u64, _: &Fetched<'_>| Ok(());
            let report =
                image.run(&reads, lines.pixels(), options, || (), nothing, |_, ()| Ok(()))?;
            Ok(((), report))
        })
    }
}

/// Reads that copy the bytes even if they could be used in place.
struct Fetches<'a>(LineReads<'a>);

impl Tasks for Fetches<'_> {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        self.0.ranges(index, ranges);
    }
}

impl RobustPixels for Passed<'_, '_> {
    fn stats(&mut self) -> Result<Stats, Error> {
        let fold = StatsFold { encoding: self.image.encoding(), tier: self.tier };
        let (image, lines) = (self.image, self.lines);
        self.passes.run(self.bytes, |options| {
            let mut total = Stats::default();
            let keep = |state: &Stats| total = *state;
            let report = fold_lines(image, lines, &fold, 1, options, keep)?;
            Ok((total, report))
        })
    }

    fn count(&mut self, cells: &Cells, counts: &mut CellCounts) -> Result<(), Error> {
        let (image, lines, tier) = (self.image, self.lines, self.tier);
        let (encoding, pixels) = (image.encoding(), image.pixel_bytes());
        let workers = Workers::new();
        self.passes.run(self.bytes, |options| {
            let begin =
                || (workers.begin(CellCounts::default()), Vec::new(), vec![0.0; LEAF_PIXELS]);
            let report = image.run(
                &LineReads { lines, pixels },
                lines.pixels(),
                options,
                begin,
                |(counts, gathered, decoded), task, fetched| {
                    let (mut counts, mut piece) = (counts.get(), 0);
                    if counts.is_empty() {
                        reset(&mut counts, cells.cells)?;
                    }
                    lines.visit(task, &mut |line| {
                        let bytes = line.stretch.collect(fetched, &mut piece, pixels, gathered);
                        count_line(bytes, &encoding, tier, cells, decoded, &mut counts);
                    });
                    Ok(())
                },
                |_task, ()| Ok(()),
            )?;
            Ok(((), report))
        })?;
        workers.for_each(|more| {
            if !more.is_empty() {
                counts.merge(more);
            }
        });
        Ok(())
    }
}
