//! Smoothing along one axis: weighted sums of neighbouring pixels.

mod beams;
mod input_rows;
mod parts;
mod plane;

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::IoError;
pub use tachyfits_kernels::Blanks;
use tachyfits_kernels::{Encoding, PixelType, Stencil};
use tachyfits_memory as memory;

use crate::computed::{Computed, Feed, Node, Reads, Sources, Window};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::image::Image;
use crate::number::{Native, Number, float_encoding, sums_stay_in_f32};
use crate::survival::Change;

pub use beams::{BeamSmoothing, PlaneKernel};
use input_rows::{InputPieces, InputRows};
pub use plane::PlaneSmoothing;

/// Values of the pixels beyond the ends of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Edge {
    /// The pixel at the end, repeated: MIRIAD's hanning, SciPy's "nearest".
    #[default]
    Repeat,
    /// Mirror images about the centre of the last pixel; Hanning weights then give the mean of the last pair
    /// of pixels, as CASA's ia.hanning does.
    Pair,
    /// Zeros, as NEMO's ccdsmooth.
    Zero,
    /// Undefined pixels, treated like undefined pixels within the image.
    Blank,
    /// No values: a pixel whose neighbours lie beyond an end keeps its value.
    Keep,
}

tachyfits_io::options! {
    /// Options of a smoothing along one axis.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Smoothing {
        /// Axis; 0 is NAXIS1.
        pub axis: usize,
        /// Weights from the lowest index to the highest: an odd number, the middle one for the pixel itself.
        /// Weights are not normalised: those that add up to 1 keep the scale.
        pub weights: Vec<f64>,
        /// Values of the pixels beyond the ends.
        pub edge: Edge,
        /// Treatment of undefined pixels.
        pub blanks: Blanks,
        /// Whether undefined pixels get values if a neighbour is defined; otherwise they stay undefined.
        pub fill: bool,
        /// Step between results: the first pixel and every n-th after it; 1 for all pixels.
        pub every: u64,
    }
}

/// Maximum number of weights: more than any axis needs, few enough for a box and its neighbours to fit in
/// memory.
const MOST_WEIGHTS: usize = 10_001;

/// Purpose of the memory, for errors.
const ENDS: &str = "the ends of lines";

/// Named kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SmoothingKernel {
    /// ¼, ½, ¼.
    Hanning,
    /// The mean of this number of pixels, which must be odd.
    Boxcar(usize),
    /// A Gaussian with this full width at half maximum in pixels, truncated at 4 standard deviations.
    Gaussian(f64),
}

impl SmoothingKernel {
    /// Returns the weights, which add up to 1 except for rounding.
    ///
    /// ```
    /// use tachyfits::smooth::SmoothingKernel;
    /// assert_eq!(SmoothingKernel::Hanning.weights()?, [0.25, 0.5, 0.25]);
    /// assert_eq!(SmoothingKernel::Gaussian(2.0).weights()?.len(), 9);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Smoothing`] for a width that is not odd or too large.
    pub fn weights(self) -> Result<Vec<f64>, Error> {
        let most = MOST_WEIGHTS;
        match self {
            SmoothingKernel::Hanning => Ok(vec![0.25, 0.5, 0.25]),
            SmoothingKernel::Boxcar(width) if width % 2 == 1 && width <= most => {
                // At most MOST_WEIGHTS.
                Ok(vec![1.0 / width as f64; width])
            }
            SmoothingKernel::Gaussian(width) if width > 0.0 && width < most as f64 / 4.0 => {
                Ok(gaussian(width))
            }
            SmoothingKernel::Boxcar(width) => {
                let expected = format!("an odd width of 1 to {most} pixels");
                Err(Error::refused(Reason::Smoothing, expected, width.to_string()))
            }
            SmoothingKernel::Gaussian(width) => {
                let expected = format!("a width above 0 and below {} pixels", most / 4);
                Err(Error::refused(Reason::Smoothing, expected, width.to_string()))
            }
        }
    }
}

fn gaussian(width: f64) -> Vec<f64> {
    let sigma = width / (8.0 * std::f64::consts::LN_2).sqrt();
    let half = (4.0 * sigma).ceil() as i64;
    let weight = |offset: i64| (-0.5 * (offset as f64 / sigma).powi(2)).exp();
    let mut weights: Vec<f64> = (-half..=half).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

impl Smoothing {
    /// Creates a smoothing with these weights along an axis and the default edges and blanks.
    pub fn new(axis: usize, weights: Vec<f64>) -> Smoothing {
        let blanks = Blanks::Renormalise;
        Smoothing { axis, weights, edge: Edge::default(), blanks, fill: false, every: 1 }
    }

    fn half(&self) -> u64 {
        self.weights.len() as u64 / 2
    }

    fn stencil(&self) -> Stencil<'_> {
        Stencil { weights: &self.weights, blanks: self.blanks, fill: self.fill }
    }
}

/// Formats weights for HISTORY: up to 5 are listed, more are summarised by number and width.
fn weights_text(weights: &[f64]) -> String {
    const MOST: usize = 5;
    if weights.len() <= MOST {
        let numbers: Vec<String> = weights.iter().map(f64::to_string).collect();
        return format!("weights {}", numbers.join(" "));
    }
    let half = (weights.len() / 2) as f64;
    let offsets = (0..weights.len()).map(|place| place as f64 - half);
    let square: f64 = offsets.zip(weights).map(|(offset, weight)| weight * offset * offset).sum();
    let sum: f64 = weights.iter().sum();
    let size: f64 = weights.iter().map(|weight| weight.abs()).sum();
    let dispersion = (square / sum).sqrt();
    let (count, middle) = (weights.len(), weights[weights.len() / 2]);
    // Weights of a derivative add up to 0, except for rounding, and have no dispersion.
    match dispersion.is_finite() && sum.abs() > 1e-9 * size {
        true => format!(
            "{count} weights ({middle:.4} in the middle, dispersion {dispersion:.3} pixels)"
        ),
        false => format!("{count} weights ({middle:.4} in the middle)"),
    }
}

/// Formats edges and blanks for HISTORY, in the words of the interfaces.
fn policies_text(edge: Edge, blanks: Blanks, fill: bool) -> String {
    let text = format!("edges: {edge:?}, blanks: {blanks:?}").to_lowercase();
    if fill { text + ", filled" } else { text }
}

impl Image {
    /// Returns the image smoothed along one axis; pixels are computed when they are read or written. Results
    /// are float32 for pixels of up to 16 bits and float32, float64 for others. Sums are taken in f64 in the
    /// order of the weights and rounded once.
    ///
    /// # Errors
    /// [`Reason::Smoothing`] unless there is an odd number of finite weights and `every` is at least 1,
    /// [`Reason::NoSuchAxis`].
    pub fn smooth(&self, smoothing: &Smoothing) -> Result<FitsFile, Error> {
        self.check_axis(smoothing.axis)?;
        let Smoothing { weights, every, axis, .. } = smoothing;
        check_weights(weights, *every).map_err(|error| self.place(error))?;
        let input = self.node()?;
        let mut axes = input.axes().to_vec();
        axes[*axis] = axes[*axis].div_ceil(*every);
        let change = Change::Along { axis: *axis, every: *every };
        let mut survivors = self.survivors(change)?;
        let mut history = format!(
            "tachyfits: smoothed along NAXIS{} with {}, {}",
            axis + 1,
            weights_text(weights),
            policies_text(smoothing.edge, smoothing.blanks, smoothing.fill)
        );
        if *every > 1 {
            let _ = write!(history, ", one pixel of {every} kept");
        }
        self.format_error(survivors.header.push_commentary("HISTORY", &history))?;
        let name = format!("{} (smoothed)", self.file_name());
        let node = Arc::new(Smooth::new(input, axes, smoothing.clone()));
        FitsFile::computed(Computed::new(name, node, survivors)?)
    }
}

/// Returns an error unless there is one number per plane along the varying axes, or a single number if no
/// axis varies.
fn check_planes(varying: &[usize], count: usize, axes: &[u64], what: &str) -> Result<(), Error> {
    let mut lengths = varying.iter().map(|&axis| axes[axis]);
    let planes = lengths.try_fold(1u64, |all, length| all.checked_mul(length));
    if planes == Some(count as u64) && varying.iter().all(|&axis| axis >= 2) {
        return Ok(());
    }
    let expected = format!("{what} for each of {} planes", planes.unwrap_or(u64::MAX));
    Err(Error::refused(Reason::Smoothing, expected, count.to_string()))
}

/// Returns the index of a window's plane among the planes along the varying axes of an image. `plane` counts
/// the planes of the window.
fn plane_place(window: &Window, plane: usize, varying: &[usize], axes: &[u64]) -> usize {
    let (mut place, mut stride, mut rest) = (0, 1, plane as u64);
    let mut at = window.first.clone();
    for (at, count) in at.iter_mut().zip(&window.count).skip(2) {
        *at += rest % count;
        rest /= count;
    }
    for &axis in varying {
        place += at[axis] * stride;
        stride *= axes[axis];
    }
    place as usize
}

/// Returns an error unless the weights and the step are valid.
fn check_weights(weights: &[f64], every: u64) -> Result<(), Error> {
    let is_odd = weights.len() % 2 == 1 && weights.len() <= MOST_WEIGHTS;
    if is_odd && weights.iter().all(|weight| weight.is_finite()) && every > 0 {
        return Ok(());
    }
    let expected = format!(
        "an odd number of finite weights, at most {MOST_WEIGHTS}, and every 1st, 2nd, ... result kept"
    );
    let actual = format!("{} weights, every {every}", weights.len());
    Err(Error::refused(Reason::Smoothing, expected, actual))
}

/// Rows of fewer pixels are smoothed several at a time.
const SHORT_ROWS: usize = 4096;
/// Longer rows are smoothed in strips: the row of a strip is still in the L2 cache when the next result needs
/// it.
const STRIP_PIXELS: usize = 8192;

/// Node that smooths along one axis.
#[derive(Debug)]
struct Smooth {
    input: Arc<dyn Node>,
    axes: Vec<u64>,
    smoothing: Smoothing,
    encoding: Encoding,
    /// Whether the input is exact in f32 and no sum leaves the range of f32.
    narrow: bool,
}

/// Pixel that a weight of a result applies to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Neighbour {
    Pixel(u64),
    Beyond,
    Blank,
}

/// Returns the neighbour at an index along an axis of `length` pixels, which may lie beyond its ends.
fn neighbour(index: i64, length: u64, edge: Edge) -> Neighbour {
    let last = length as i64 - 1;
    if (0..=last).contains(&index) {
        return Neighbour::Pixel(index as u64);
    }
    match edge {
        Edge::Repeat | Edge::Keep => Neighbour::Pixel(index.clamp(0, last) as u64),
        Edge::Zero => Neighbour::Beyond,
        Edge::Blank => Neighbour::Blank,
        Edge::Pair => {
            let period = (2 * last).max(1);
            let within = index.rem_euclid(period);
            Neighbour::Pixel(within.min(period - within).min(last) as u64)
        }
    }
}

impl Smooth {
    fn new(input: Arc<dyn Node>, axes: Vec<u64>, smoothing: Smoothing) -> Smooth {
        let from = input.encoding();
        let gain = smoothing.weights.iter().map(|weight| weight.abs()).sum();
        let encoding = float_encoding(&from, gain);
        let narrow = sums_stay_in_f32(&from, &smoothing.weights);
        Smooth { input, axes, smoothing, encoding, narrow }
    }

    /// Length of the axis before smoothing.
    fn length(&self) -> u64 {
        self.input.axes()[self.smoothing.axis]
    }

    /// Returns the box of the input that a box of results needs.
    fn needed(&self, window: &Window) -> Window {
        let Smoothing { axis, every, .. } = self.smoothing;
        let (first, count) = (window.first[axis], window.count[axis]);
        let half = self.smoothing.half();
        let begin = (first * every).saturating_sub(half);
        let end = ((first + count - 1) * every + half + 1).min(self.length());
        window.along(axis, begin, end - begin)
    }

    fn neighbour(&self, index: i64) -> Neighbour {
        neighbour(index, self.length(), self.smoothing.edge)
    }

    /// Whether the result for this index of the input is the pixel itself.
    fn keeps(&self, index: u64) -> bool {
        let half = self.smoothing.half();
        self.smoothing.edge == Edge::Keep && (index < half || index + half >= self.length())
    }

    /// Smooths big-endian f32 without copying them. Returns false if the input has another encoding, or if a
    /// line or row of the box is split between two pieces.
    fn smooth_stored(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<bool, IoError> {
        let singles = Encoding::plain(PixelType::F32);
        if !self.narrow || self.input.encoding() != singles || self.encoding != singles {
            return Ok(false);
        }
        let input_box = self.needed(window);
        let (inner, length, _) = input_box.around(self.smoothing.axis);
        let row = if inner == 1 { length } else { inner };
        let piece = input_box.runs(self.input.axes()).next().map_or(0, |(_, count)| count as usize);
        if piece == 0 || !piece.is_multiple_of(row) {
            return Ok(false);
        }
        let Some(pieces) = self.input.stored(&input_box, feed) else { return Ok(false) };
        let pieces = pieces.map(|piece| feed.fetched.piece(piece).as_chunks().0).collect();
        let pieces = InputPieces { pieces, length: piece };
        self.smooth::<[u8; 4]>(&pieces, &input_box, window, feed, out)?;
        Ok(true)
    }

    /// Smooths native numbers.
    fn smooth_native<T: Native>(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let input_box = self.needed(window);
        let mut values = T::take(feed.scratch, input_box.pixels() as usize)?;
        T::values(&*self.input, &input_box, feed, &mut values)?;
        let pieces = InputPieces { length: values.len(), pieces: vec![&values[..]] };
        self.smooth(&pieces, &input_box, window, feed, out)?;
        T::give_back(feed.scratch, values);
        Ok(())
    }

    fn smooth<T: Number>(
        &self,
        values: &InputPieces<'_, T>,
        input_box: &Window,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let axis = self.smoothing.axis;
        let begin = input_box.first[axis];
        let (inner, length, outer) = input_box.around(axis);
        let results = window.count[axis] as usize;
        let first = window.first[axis];
        let half = self.smoothing.half() as usize;
        let whole = length == results && length as u64 == self.length() && length > 2 * half;
        if inner == 1 && whole && self.smoothing.every == 1 && self.smoothing.edge != Edge::Keep {
            let mut rest = out;
            for lines in &values.pieces {
                let (out, later) = rest.split_at_mut(lines.len() * self.encoding.pixel_bytes());
                self.along_whole_lines(lines, length, feed, out)?;
                rest = later;
            }
            return Ok(());
        }
        for part in 0..outer {
            if feed.fetched.is_cancelled() {
                return Err(IoError::Cancelled);
            }
            let bytes = inner * results * self.encoding.pixel_bytes();
            let out = &mut out[part * bytes..(part + 1) * bytes];
            if inner == 1 {
                let line = values.part(part * length, length);
                self.along_line(line, begin, first..first + results as u64, feed, out)?;
            } else {
                let lines = InputRows { values, part: part * inner * length, begin, inner, length };
                self.across_rows(&lines, first, feed, out)?;
            }
        }
        Ok(())
    }

    /// Smooths across rows: each result is a row of contiguous pixels.
    fn across_rows<T: Number>(
        &self,
        lines: &InputRows<'_, T>,
        first: u64,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let inner = lines.inner;
        let beyond = memory::filled(inner, T::from_f64(0.0), "a row of zeros")?;
        let blank = memory::filled(inner, T::NAN, "a row of undefined pixels")?;
        let half = self.smoothing.half() as i64;
        let size = self.encoding.pixel_bytes();
        let results = out.len() / (inner * size);
        for begin in (0..inner).step_by(STRIP_PIXELS) {
            if feed.fetched.is_cancelled() {
                return Err(IoError::Cancelled);
            }
            let strip = begin..inner.min(begin + STRIP_PIXELS);
            let mut index = first * self.smoothing.every;
            let mut result = 0;
            while result < results {
                let count = self.rows_at_once(lines, index, results - result);
                // If several short rows are smoothed at once, the strip covers all of each.
                let strip = strip.start..strip.end + (count - 1) * inner;
                let at = result * inner * size;
                let out = &mut out[at + strip.start * size..at + strip.end * size];
                if self.keeps(index) {
                    T::encode(&lines.row(index)[strip], &self.encoding, feed, out)?;
                } else {
                    let rows_at = |offset| match self.neighbour(index as i64 + offset) {
                        Neighbour::Pixel(index) => &lines.rows(index, count)[strip.clone()],
                        Neighbour::Beyond => &beyond[strip.clone()],
                        Neighbour::Blank => &blank[strip.clone()],
                    };
                    let rows: Vec<&[T]> = (-half..=half).map(rows_at).collect();
                    T::smooth_into(&rows, &self.smoothing.stencil(), &self.encoding, feed, out)?;
                }
                index += count as u64 * self.smoothing.every;
                result += count;
            }
        }
        Ok(())
    }

    /// Returns the number of next results to smooth as one row: their neighbours are contiguous and inside
    /// the image. Smoothing short rows together saves overhead per row.
    fn rows_at_once<T: Number>(
        &self,
        lines: &InputRows<'_, T>,
        index: u64,
        remaining: usize,
    ) -> usize {
        let half = self.smoothing.half();
        let most = remaining.min(SHORT_ROWS / lines.inner);
        if self.smoothing.every > 1 || most < 2 || index < half || index + half >= self.length() {
            return 1;
        }
        let inside = (self.length() - half - index) as usize;
        let together = lines.together(index - half).saturating_sub(2 * half as usize);
        most.min(inside).min(together).max(1)
    }

    /// Smooths whole contiguous lines along the axis as if they were one line, then smooths the pixels near
    /// their ends again, for all lines at a time.
    fn along_whole_lines<T: Number>(
        &self,
        values: &[T],
        length: usize,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let half = self.smoothing.half() as usize;
        let size = self.encoding.pixel_bytes();
        let inside = half * size..out.len() - half * size;
        let rows: Vec<&[T]> = (0..=2 * half).map(|shift| &values[shift..]).collect();
        T::smooth_into(&rows, &self.smoothing.stencil(), &self.encoding, feed, &mut out[inside])?;
        let lines = values.len() / length;
        let column = |neighbour| match neighbour {
            Neighbour::Pixel(pixel) => {
                memory::collected(values.iter().skip(pixel as usize).step_by(length).copied(), ENDS)
            }
            Neighbour::Beyond => memory::filled(lines, T::from_f64(0.0), ENDS),
            Neighbour::Blank => memory::filled(lines, T::NAN, ENDS),
        };
        let mut results = memory::filled(lines * size, 0, ENDS)?;
        for ends in [0..half, length - half..length] {
            let columns = ends.start as i64 - half as i64..(ends.end + half) as i64;
            let columns = columns.map(|at| column(self.neighbour(at)));
            let columns: Vec<Vec<T>> = columns.collect::<Result<_, _>>()?;
            for (shift, index) in ends.enumerate() {
                let near = &columns[shift..=shift + 2 * half];
                let rows: Vec<&[T]> = near.iter().map(Vec::as_slice).collect();
                let stencil = self.smoothing.stencil();
                T::smooth_into(&rows, &stencil, &self.encoding, feed, &mut results)?;
                for (line, result) in results.chunks_exact(size).enumerate() {
                    let at = (line * length + index) * size;
                    out[at..at + size].copy_from_slice(result);
                }
            }
        }
        Ok(())
    }

    /// Smooths contiguous results along the axis itself: the line, shifted by one pixel at a time, serves as
    /// the rows.
    fn along_line<T: Number>(
        &self,
        values: &[T],
        begin: u64,
        results: Range<u64>,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let Smoothing { every, .. } = self.smoothing;
        let half = self.smoothing.half() as usize;
        let (from, to) = (results.start * every, (results.end - 1) * every + 1);
        let count = (to - from) as usize;
        let mut padded = T::take(feed.scratch, count + 2 * half)?;
        for (at, pixel) in padded.iter_mut().enumerate() {
            *pixel = match self.neighbour(from as i64 + at as i64 - half as i64) {
                Neighbour::Pixel(index) => values[(index - begin) as usize],
                Neighbour::Beyond => T::from_f64(0.0),
                Neighbour::Blank => T::NAN,
            };
        }
        let rows: Vec<&[T]> = (0..=2 * half).map(|shift| &padded[shift..shift + count]).collect();
        let mut result = T::take(feed.scratch, count)?;
        T::smooth(&rows, &self.smoothing.stencil(), feed.tier, &mut result);
        self.keep_ends(&padded[half..], from, &mut result);
        let count = (results.end - results.start) as usize;
        if every > 1 {
            for at in 0..count {
                result[at] = result[at * every as usize];
            }
        }
        T::encode(&result[..count], &self.encoding, feed, out)?;
        T::give_back(feed.scratch, result);
        T::give_back(feed.scratch, padded);
        Ok(())
    }

    /// Restores pixels near the ends that keep their values.
    fn keep_ends<T: Number>(&self, pixels: &[T], first: u64, result: &mut [T]) {
        if self.smoothing.edge != Edge::Keep {
            return;
        }
        for (index, (result, pixel)) in (first..).zip(result.iter_mut().zip(pixels)) {
            if self.keeps(index) {
                *result = *pixel;
            }
        }
    }
}

impl Node for Smooth {
    fn axes(&self) -> &[u64] {
        &self.axes
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn sources(&self, sources: &mut Sources) {
        self.input.sources(sources);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        self.input.reads(&self.needed(window), reads);
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        if self.smooth_stored(window, feed, out)? {
            return Ok(());
        }
        match self.narrow {
            true => self.smooth_native::<f32>(window, feed, out),
            false => self.smooth_native::<f64>(window, feed, out),
        }
    }

    fn halo(&self) -> Vec<u64> {
        let mut halo = self.input.halo();
        let Smoothing { axis, every, .. } = self.smoothing;
        halo[axis] = (halo[axis] + self.smoothing.half()).div_ceil(every);
        halo
    }

    fn expansion(&self) -> u64 {
        self.input.expansion().saturating_mul(self.smoothing.every)
    }
}
