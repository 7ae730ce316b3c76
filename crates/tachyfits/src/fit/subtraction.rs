//! Images with the baselines of their spectra subtracted.
//!
//! Baselines are fitted when a pixel of their spectrum is first requested, together with neighbouring
//! spectra. The few coefficients are cached: reading an image plane by plane fits each spectrum once.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachyfits_io::{IoError, JoinedStorage, fetch};
use tachyfits_kernels::{BaselineFit, Encoding};

use super::{Baseline, check_baseline, check_coordinates};
use crate::computed::{Computed, Feed, Node, NodeScratch, Reads, Sources, Window, usual_shape};
use crate::error::Error;
use crate::file::FitsFile;
use crate::image::{Image, tier};
use crate::number::float_encoding;
use crate::survival::Change;

/// Maximum ratio of a difference to the pixels.
const GAIN: f64 = 2.0;
/// Ratio of the bytes of a box of spectra, in float64, to the bytes of a usual box.
const EXPANSION: u64 = 2;

impl Image {
    /// Returns the image minus the baseline of each spectrum along `axis` (0 is NAXIS1); pixels are computed
    /// when they are read or written. Results are float32 for pixels of up to 16 bits and float32, float64
    /// for others. A spectrum without a baseline, because it has too few defined channels or an infinite one,
    /// becomes NaN.
    ///
    /// ```
    /// use tachyfits::fit::Baseline;
    /// use tachyfits::{Array, Header, OutputPixels, ReadAs, RunOptions};
    /// let image = Array::new(&[1.0f32, 2.0, 9.0, 4.0], &[4]).to_file("line", &Header::new())?.image(0)?;
    /// let line_free = [true, true, false, true];
    /// let flat = image.subtract_baseline(&Baseline::new(1, &[0.0, 1.0, 2.0, 3.0], &line_free), 0)?.image(0)?;
    /// let mut pixels = [0.0; 4];
    /// let out = OutputPixels::Float32(&mut pixels);
    /// flat.read(&flat.whole(), ReadAs::Float32, out, &RunOptions::default())?;
    /// assert!(pixels.iter().zip([0.0, 0.0, 6.0, 0.0]).all(|(x, y)| (x - y).abs() < 1e-6));
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Fit`](crate::Reason::Fit) as [`Image::fit_baseline`], [`Reason::NoSuchAxis`](crate::Reason::NoSuchAxis).
    pub fn subtract_baseline(
        &self,
        baseline: &Baseline<'_>,
        axis: usize,
    ) -> Result<FitsFile, Error> {
        self.check_axis(axis)?;
        check_baseline(baseline)
            .and_then(|()| check_coordinates(baseline.coordinates, self.axes()[axis]))
            .map_err(|error| self.place(error))?;
        let mut survivors = self.survivors(Change::Values)?;
        let history = format!(
            "tachyfits: baseline of order {} along NAXIS{} subtracted, fitted to pixels {} (1-based)",
            baseline.order,
            axis + 1,
            ranges_text(baseline.channels)
        );
        self.format_error(survivors.header.push_commentary("HISTORY", &history))?;
        let Baseline { order, coordinates, channels } = *baseline;
        let fit = BaselineFit::new(order, coordinates, channels, tier()).map_err(|_| {
            crate::image::no_memory("the fit of a spectrum", coordinates.len() as u128 * 8)
        })?;
        let name = format!("{} (baseline subtracted)", self.file_name());
        let node = Arc::new(Subtraction::new(self.node()?, axis, fit));
        FitsFile::computed(Computed::new(name, node, survivors)?)
    }
}

/// Formats the selected channels as ranges for HISTORY.
fn ranges_text(channels: &[bool]) -> String {
    let mut texts = Vec::new();
    let mut first = 0;
    while first < channels.len() {
        let count = channels[first..].iter().take_while(|is_selected| **is_selected).count();
        match count {
            0 => {}
            1 => texts.push(format!("{}", first + 1)),
            count => texts.push(format!("{}-{}", first + 1, first + count)),
        }
        first += count + 1;
    }
    const MOST: usize = 10;
    let hidden = texts.len().saturating_sub(MOST);
    texts.truncate(MOST);
    match hidden {
        0 => texts.join(", "),
        hidden => format!("{} and {hidden} more ranges", texts.join(", ")),
    }
}

/// Coefficients of the spectra of a box; `None` until they are fitted.
type Coefficients = Arc<Mutex<Option<Arc<[f64]>>>>;

/// Node that subtracts baselines.
#[derive(Debug)]
struct Subtraction {
    input: Arc<dyn Node>,
    axis: usize,
    fit: BaselineFit,
    encoding: Encoding,
    sources: Sources,
    joined: JoinedStorage,
    /// Shape of a box whose spectra are fitted together; it spans the fitted axis.
    shape: Vec<u64>,
    /// Coefficients by number of the box.
    by_box: Mutex<HashMap<u64, Coefficients>>,
    /// Idle fits and buffers of threads.
    spare: Mutex<Vec<(BaselineFit, NodeScratch)>>,
}

impl Subtraction {
    fn new(input: Arc<dyn Node>, axis: usize, fit: BaselineFit) -> Subtraction {
        let encoding = float_encoding(&input.encoding(), GAIN);
        let mut sources = Sources::default();
        input.sources(&mut sources);
        let joined = sources.joined();
        let mut halo = input.halo();
        halo[axis] = input.axes()[axis];
        let mut shape =
            usual_shape(input.axes(), &halo, input.expansion().saturating_mul(EXPANSION));
        shape[axis] = input.axes()[axis].max(1);
        let (by_box, spare) = (Mutex::default(), Mutex::default());
        Subtraction { input, axis, fit, encoding, sources, joined, shape, by_box, spare }
    }

    /// Returns the box of whole spectra with these numbers along the axes.
    fn box_at(&self, numbers: &[u64]) -> Window {
        let mut window = Window { first: Vec::new(), count: Vec::new() };
        for ((number, shape), length) in numbers.iter().zip(&self.shape).zip(self.input.axes()) {
            window.first.push(number * shape);
            window.count.push((length - number * shape).min(*shape));
        }
        window
    }

    /// Returns the coefficients of the spectra of a box, spectrum by spectrum, x fastest.
    fn of_box(&self, numbers: &[u64], feed: &Feed<'_>) -> Result<Arc<[f64]>, IoError> {
        let (mut index, mut boxes) = (0, 1);
        for ((number, shape), length) in numbers.iter().zip(&self.shape).zip(self.input.axes()) {
            index += number * boxes;
            boxes *= length.div_ceil(*shape);
        }
        let entry = Arc::clone(lock(&self.by_box).entry(index).or_default());
        let mut entry = lock(&entry);
        if let Some(coefficients) = &*entry {
            return Ok(Arc::clone(coefficients));
        }
        let coefficients: Arc<[f64]> = self.fitted(&self.box_at(numbers), feed)?.into();
        *entry = Some(Arc::clone(&coefficients));
        Ok(coefficients)
    }

    fn fitted(&self, window: &Window, feed: &Feed<'_>) -> Result<Vec<f64>, IoError> {
        let spare = lock(&self.spare).pop();
        let (mut fit, mut scratch) =
            spare.unwrap_or_else(|| (self.fit.clone(), NodeScratch::default()));
        let (sources, joined) = (&self.sources, &self.joined);
        let mut values = scratch.f64s(window.pixels() as usize)?;
        let ask = |ranges: &mut Vec<Range<u64>>| {
            self.input.reads(window, &mut Reads { sources, joined, ranges });
        };
        fetch(joined, ask, |fetched| {
            let scratch = &mut scratch;
            let mut input_feed =
                Feed { fetched, next: 0, scratch, tier: feed.tier, name: feed.name };
            self.input.values_f64(window, &mut input_feed, &mut values)
        })??;
        let channels = window.count[self.axis] as usize;
        let stride: usize = window.count[..self.axis].iter().product::<u64>() as usize;
        let spectra = values.len() / channels;
        let count = fit.coefficients();
        let mut coefficients = scratch.f64s(spectra * count)?;
        let mut spectrum = scratch.f64s(channels)?;
        for (number, coefficients) in coefficients.chunks_exact_mut(count).enumerate() {
            let first = number / stride * stride * channels + number % stride;
            for (channel, value) in spectrum.iter_mut().enumerate() {
                *value = values[first + channel * stride];
            }
            fit.find(&spectrum, coefficients);
        }
        scratch.give_back_f64s(spectrum);
        scratch.give_back_f64s(values);
        lock(&self.spare).push((fit, scratch));
        Ok(coefficients)
    }

    /// Returns the coefficients of the spectra in a window, spectrum by spectrum, x fastest.
    fn of_window(&self, window: &Window, feed: &mut Feed<'_>) -> Result<Vec<f64>, IoError> {
        let count = self.fit.coefficients();
        let spectra = window.pixels() / window.count[self.axis];
        let mut all = feed.scratch.f64s(spectra as usize * count)?;
        let first: Vec<u64> = window.first.iter().zip(&self.shape).map(|(a, b)| a / b).collect();
        let boxes: Vec<u64> = (0..first.len())
            .map(|axis| {
                let last = window.first[axis] + window.count[axis] - 1;
                last / self.shape[axis] + 1 - first[axis]
            })
            .collect();
        // At most 999 numbers, one for each axis.
        let mut numbers = vec![0; first.len()];
        for index in 0..boxes.iter().product() {
            let mut rest = index;
            for axis in 0..first.len() {
                numbers[axis] = first[axis] + rest % boxes[axis];
                rest /= boxes[axis];
            }
            let coefficients = self.of_box(&numbers, feed)?;
            self.copy(&self.box_at(&numbers), &coefficients, window, &mut all);
        }
        Ok(all)
    }

    /// Copies the coefficients of spectra that are in both a box and a window.
    fn copy(&self, of_box: &Window, coefficients: &[f64], window: &Window, all: &mut [f64]) {
        let count = self.fit.coefficients();
        let axes = of_box.first.len();
        // First pixel and number of pixels in both, and their start and strides in each.
        let mut both = of_box.clone();
        let (mut from, mut to, mut from_step, mut to_step) = (0, 0, vec![], vec![]);
        let (mut from_size, mut to_size) = (1, 1);
        for axis in 0..axes {
            let low = of_box.first[axis].max(window.first[axis]);
            let end = (of_box.first[axis] + of_box.count[axis])
                .min(window.first[axis] + window.count[axis]);
            let is_kept = u64::from(axis != self.axis);
            (both.first[axis], both.count[axis]) = (low, if is_kept == 1 { end - low } else { 1 });
            from += (low - of_box.first[axis]) * from_size * is_kept;
            to += (low - window.first[axis]) * to_size * is_kept;
            from_step.push(from_size);
            to_step.push(to_size);
            from_size *= if is_kept == 1 { of_box.count[axis] } else { 1 };
            to_size *= if is_kept == 1 { window.count[axis] } else { 1 };
        }
        let run = both.count.first().copied().unwrap_or(1) as usize;
        for row in 0..both.pixels() / run as u64 {
            let (mut from, mut to, mut rest) = (from, to, row);
            for axis in 1..axes {
                let at = rest % both.count[axis];
                rest /= both.count[axis];
                from += at * from_step[axis];
                to += at * to_step[axis];
            }
            let (from, to, run) = (from as usize * count, to as usize * count, run * count);
            all[to..to + run].copy_from_slice(&coefficients[from..from + run]);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Node for Subtraction {
    fn axes(&self) -> &[u64] {
        self.input.axes()
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn sources(&self, sources: &mut Sources) {
        self.input.sources(sources);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        self.input.reads(window, reads);
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        let mut values = feed.scratch.f64s(window.pixels() as usize)?;
        self.values_f64(window, feed, &mut values)?;
        feed.encode(&values, &self.encoding, out)?;
        feed.scratch.give_back_f64s(values);
        Ok(())
    }

    fn values_f64(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [f64],
    ) -> Result<(), IoError> {
        self.input.values_f64(window, feed, out)?;
        let coefficients = self.of_window(window, feed)?;
        let count = self.fit.coefficients();
        let channels = window.count[self.axis] as usize;
        let stride: usize = window.count[..self.axis].iter().product::<u64>() as usize;
        let first = window.first[self.axis] as usize;
        for (number, values) in out.chunks_exact_mut(stride).enumerate() {
            let (spectrum, channel) = (number / channels * stride, number % channels);
            let of_values = &coefficients[spectrum * count..][..stride * count];
            self.fit.subtract(values, (first + channel, 0), of_values, count);
        }
        feed.scratch.give_back_f64s(coefficients);
        Ok(())
    }

    fn halo(&self) -> Vec<u64> {
        self.input.halo()
    }

    fn expansion(&self) -> u64 {
        self.input.expansion()
    }

    /// Boxes of whole spectra: those read for the fit are still in the page cache for the subtraction.
    fn box_shape(&self) -> Vec<u64> {
        self.shape.clone()
    }
}
