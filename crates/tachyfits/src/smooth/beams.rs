//! Smoothing of planes with elliptical Gaussians, which may differ from plane to plane.
//!
//! A result is defined as one sum over the pixels of the ellipse, in the order of their rows: the rows of a
//! plane, shifted, are the rows of a stencil. A wide kernel is summed in parts instead (`parts.rs`), which
//! differ from that sum by no more than truncation does. The one sum is used where few pixels are defined,
//! which would expose the difference, or a pixel is infinite.

#[cfg(test)]
mod twins;

use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::IoError;
use tachyfits_kernels::{Blanks, Encoding, LANES, PixelType, Stencil, Tier, smooth_rows_f64};

use tachyfits_memory::{self as memory, NoMemory};

use super::parts::{DOUBLE, Factors, Precision, Raster, SINGLE};
use super::plane::{Beyond, Places, PlanePixels, result};
use super::{Edge, Neighbour, check_planes, plane_place, policies_text};
use crate::computed::{Computed, Feed, Node, Reads, Sources, Window, usual_shape};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::image::Image;
use crate::number::float_encoding;
use crate::survival::Change;

tachyfits_io::options! {
    /// Options of a smoothing of the planes of NAXIS1 and NAXIS2 with Gaussians.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BeamSmoothing {
        /// Axes along which the kernels vary; 0 is NAXIS1. The first two axes are not allowed.
        pub axes: Vec<usize>,
        /// Kernels along these axes, the first axis varying fastest; a single kernel if no axis varies.
        pub kernels: Vec<PlaneKernel>,
        /// Values of the pixels beyond the edges.
        pub edge: Edge,
        /// Treatment of undefined pixels.
        pub blanks: Blanks,
        /// Whether undefined pixels get values if a neighbour is defined.
        pub fill: bool,
    }
}

impl BeamSmoothing {
    /// Creates a smoothing that repeats the pixels at the edges and ignores undefined pixels.
    pub fn new(axes: Vec<usize>, kernels: Vec<PlaneKernel>) -> BeamSmoothing {
        let (edge, blanks) = (Edge::Repeat, Blanks::Renormalise);
        BeamSmoothing { axes, kernels, edge, blanks, fill: false }
    }
}

/// Kernel of a plane: a Gaussian with weights that add up to 1, truncated where rounding of results hides the
/// rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneKernel {
    /// Squared full widths at half maximum in pixels, as a matrix: xx, xy, yy. All 0 leave the pixels
    /// unchanged.
    pub widths: [f64; 3],
    /// Factor of every result; NaN for a plane that becomes undefined.
    pub scale: f64,
}

/// Ratio of the squared full width at half maximum to the variance.
const SQUARES: f64 = 8.0 * std::f64::consts::LN_2;

/// Returns the precision of results of a type.
fn precision_of(pixel: PixelType) -> Precision {
    if pixel == PixelType::F32 { SINGLE } else { DOUBLE }
}

/// Minimum weight of the defined pixels, as a fraction of the weight of all, for sums in parts: renormalising
/// multiplies the error of the sum by up to the inverse.
const LEAST_DEFINED: f64 = 0.125;

/// Minimum width in pixels of a sampled ellipse: samples of a narrower one would miss parts of it, so it is
/// interpolated.
const SAMPLED: f64 = 2.0;

/// Number of pixels that a polynomial of fifth degree interpolates.
const POINTS: usize = 6;

/// Maximum number of pixels of a kernel.
const MOST_PIXELS: f64 = 524_288.0;

/// Weights of the pixels around a result.
#[derive(Clone, Debug, PartialEq)]
struct Weights {
    /// Offsets of rows and columns from the result, row by row.
    offsets: Vec<(i64, i64)>,
    values: Vec<f64>,
}

impl PlaneKernel {
    /// Returns the half-width of the kernel along x and y.
    fn halves(&self, reach: f64) -> [usize; 2] {
        let [xx, _, yy] = self.widths;
        let extra = if self.is_narrow() { POINTS / 2 } else { 0 };
        let half = |square: f64| match square > 0.0 {
            true => (reach * (square / SQUARES).sqrt()) as usize + extra,
            false => 0,
        };
        [half(xx), half(yy)]
    }

    /// Returns the variances as a matrix: xx, xy, yy.
    pub(super) fn covariance(&self) -> [f64; 3] {
        self.widths.map(|square| square / SQUARES)
    }

    fn is_valid(&self) -> bool {
        let [xx, xy, yy] = self.widths;
        let is_matrix = xx >= 0.0 && yy >= 0.0 && xy * xy <= xx * yy * (1.0 + 1e-9);
        is_matrix && xy.is_finite() && xx.max(yy) < 1e8 && !self.scale.is_infinite()
    }

    /// Returns the squared widths along the axes of the ellipse, the major axis first.
    fn squares(&self) -> [f64; 2] {
        let [xx, xy, yy] = self.widths;
        let (mean, half) = ((xx + yy) / 2.0, ((xx - yy) / 2.0).hypot(xy));
        // Rounding gives a line a small width.
        let (major, minor) = (mean + half, mean - half);
        [major, if minor > 1e-12 * major { minor } else { 0.0 }]
    }

    /// Whether pixels are too far apart to sample the ellipse.
    fn is_narrow(&self) -> bool {
        self.squares()[1] < SAMPLED * SAMPLED
    }

    /// Returns the weights of the pixels around a result.
    fn weights(&self, reach: f64) -> Weights {
        let [x_half, y_half] = self.halves(reach);
        let mut grid = WeightGrid::new(x_half, y_half);
        match self.is_narrow() {
            true => self.interpolate(reach, &mut grid),
            false => self.sample(reach, &mut grid),
        }
        grid.finish()
    }

    /// Samples the Gaussian at the pixels within its reach.
    fn sample(&self, reach: f64, grid: &mut WeightGrid) {
        let [xx, xy, yy] = self.widths;
        let determinant = xx * yy - xy * xy;
        for y in -grid.y_half..=grid.y_half {
            for x in -grid.x_half..=grid.x_half {
                let (dx, dy) = (x as f64, y as f64);
                let square = (yy * dx * dx - 2.0 * xy * dx * dy + xx * dy * dy) / determinant;
                if square * SQUARES <= reach * reach {
                    grid.add(x, y, (-0.5 * SQUARES * square).exp());
                }
            }
        }
    }

    /// Adds closely spaced points of the Gaussian along its axes. A polynomial, which preserves the second
    /// moments, interpolates the image at each point.
    fn interpolate(&self, reach: f64, grid: &mut WeightGrid) {
        let [xx, xy, yy] = self.widths;
        let angle = 0.5 * (2.0 * xy).atan2(xx - yy);
        let (sine, cosine) = angle.sin_cos();
        let [along, across] = self.squares().map(|square| (square / SQUARES).sqrt());
        for (u, of_u) in points(along, reach) {
            for (v, of_v) in points(across, reach) {
                let (x, y) = (u * cosine - v * sine, u * sine + v * cosine);
                let (first_x, of_x) = polynomial(x);
                let (first_y, of_y) = polynomial(y);
                for (row, of_row) in (first_y..).zip(of_y) {
                    for (column, of_column) in (first_x..).zip(of_x) {
                        grid.add(column, row, of_u * of_v * of_row * of_column);
                    }
                }
            }
        }
    }
}

/// Returns points of a Gaussian with this standard deviation and their weights; a single point for 0.
fn points(sigma: f64, reach: f64) -> Vec<(f64, f64)> {
    if sigma == 0.0 {
        return vec![(0.0, 1.0)];
    }
    // For points half a standard deviation apart, the sum equals the integral to the last digit.
    let step = (sigma / 2.0).min(0.5);
    let last = (reach * sigma / step) as i64;
    let point = |number: i64| number as f64 * step;
    (-last..=last).map(|at| (point(at), (-0.5 * (point(at) / sigma).powi(2)).exp())).collect()
}

/// Returns the first of the pixels around a position, and the weights of the polynomial through them
/// (Lagrange).
fn polynomial(place: f64) -> (i64, [f64; POINTS]) {
    let below = place.floor();
    let first = below - (POINTS / 2 - 1) as f64;
    let mut weights = [1.0; POINTS];
    for (at, weight) in weights.iter_mut().enumerate() {
        for other in (0..POINTS).filter(|&other| other != at) {
            *weight *= (place - (first + other as f64)) / (at as f64 - other as f64);
        }
    }
    (first as i64, weights)
}

/// Weights in a grid of rows and columns.
struct WeightGrid {
    x_half: i64,
    y_half: i64,
    values: Vec<f64>,
}

impl WeightGrid {
    fn new(x_half: usize, y_half: usize) -> WeightGrid {
        // At most MOST_PIXELS.
        let values = vec![0.0; (2 * x_half + 1) * (2 * y_half + 1)];
        WeightGrid { x_half: x_half as i64, y_half: y_half as i64, values }
    }

    /// Adds to a weight. Weights beyond the reach of the kernel are ignored: they are 0.
    fn add(&mut self, x: i64, y: i64, weight: f64) {
        if weight != 0.0 && x.abs() <= self.x_half && y.abs() <= self.y_half {
            let at = (y + self.y_half) * (2 * self.x_half + 1) + x + self.x_half;
            self.values[at as usize] += weight;
        }
    }

    /// Returns the non-zero weights, normalised to add up to 1.
    fn finish(self) -> Weights {
        let sum: f64 = self.values.iter().sum();
        let width = 2 * self.x_half + 1;
        let (mut offsets, mut values) = (Vec::new(), Vec::new());
        for (at, &weight) in (0..).zip(&self.values) {
            if weight != 0.0 {
                offsets.push((at / width - self.y_half, at % width - self.x_half));
                values.push(weight / sum);
            }
        }
        Weights { offsets, values }
    }
}

impl Image {
    /// Returns the planes smoothed with Gaussians; pixels are computed when they are read or written. Values
    /// have the types of [`Image::smooth`]; sums are taken in f64, row by row of the kernel, and rounded
    /// once.
    ///
    /// # Errors [`Reason::Smoothing`] unless there is one kernel per plane, each is a matrix of squares, and
    /// the box of each has at most 524 288 pixels; [`Reason::NoSuchAxis`].
    pub fn smooth_beams(&self, smoothing: &BeamSmoothing) -> Result<FitsFile, Error> {
        self.check_axis(1)?;
        for &axis in &smoothing.axes {
            self.check_axis(axis)?;
        }
        let node = SmoothBeams::new(self.node()?, smoothing)?;
        check_kernels(smoothing, self.axes(), node.precision.reach)
            .map_err(|error| self.place(error))?;
        let mut survivors = self.survivors(Change::Values)?;
        let history = format!(
            "tachyfits: planes smoothed with {} Gaussian kernel{}, {}",
            smoothing.kernels.len(),
            if smoothing.kernels.len() == 1 { "" } else { "s" },
            policies_text(smoothing.edge, smoothing.blanks, smoothing.fill)
        );
        self.format_error(survivors.header.push_commentary("HISTORY", &history))?;
        let name = format!("{} (smoothed)", self.file_name());
        FitsFile::computed(Computed::new(name, Arc::new(node), survivors)?)
    }
}

fn check_kernels(smoothing: &BeamSmoothing, axes: &[u64], reach: f64) -> Result<(), Error> {
    let refuse =
        |expected: String, actual: String| Err(Error::refused(Reason::Smoothing, expected, actual));
    let kernels = &smoothing.kernels;
    check_planes(&smoothing.axes, kernels.len(), axes, "a kernel")?;
    if let Some(wrong) = kernels.iter().find(|kernel| !kernel.is_valid()) {
        let expected = "a matrix of squared widths, and a scale".to_owned();
        return refuse(expected, format!("{:?} and {}", wrong.widths, wrong.scale));
    }
    let size = |kernel: &PlaneKernel| {
        let [x, y] = kernel.halves(reach).map(|half| 2.0 * half as f64 + 1.0);
        x * y
    };
    let widest = kernels.iter().map(size).fold(0.0, f64::max);
    if widest > MOST_PIXELS {
        let expected = format!("kernels of at most {MOST_PIXELS} pixels");
        return refuse(expected, format!("one of about {widest:.0} pixels"));
    }
    Ok(())
}

/// Node that smooths planes with Gaussians.
#[derive(Debug)]
struct SmoothBeams {
    input: Arc<dyn Node>,
    smoothing: BeamSmoothing,
    precision: Precision,
    /// Maximum half-width of the kernels' sums along x and y.
    halves: [usize; 2],
    encoding: Encoding,
}

impl SmoothBeams {
    fn new(input: Arc<dyn Node>, smoothing: &BeamSmoothing) -> Result<SmoothBeams, NoMemory> {
        let kernels = &smoothing.kernels;
        let gain = kernels.iter().map(|kernel| kernel.scale.abs()).fold(0.0, f64::max);
        let encoding = float_encoding(&input.encoding(), gain);
        let precision = precision_of(encoding.pixel);
        let mut halves = [0, 0];
        for kernel in kernels.iter().filter(|kernel| kernel.is_valid()) {
            let whole = kernel.halves(precision.reach);
            let parts = parts_of(kernel, precision).map_or([0, 0], |parts| parts.halves());
            halves = [0, 1].map(|axis: usize| halves[axis].max(whole[axis]).max(parts[axis]));
        }
        let kernels = memory::copied(&smoothing.kernels, "the kernels")?;
        let smoothing = BeamSmoothing { axes: smoothing.axes.clone(), kernels, ..*smoothing };
        Ok(SmoothBeams { precision, halves, encoding, input, smoothing })
    }

    /// Returns the window of the input that a window of results needs, and the positions of its pixels along
    /// x and y.
    fn needed(&self, window: &Window) -> (Window, [Places; 2]) {
        let places = [0, 1].map(|axis| {
            let length = self.input.axes()[axis];
            Places::new(window.first[axis], window.count[axis], self.halves[axis], length)
        });
        let mut input_window = window.clone();
        for (axis, places) in places.iter().enumerate() {
            input_window = input_window.along(axis, places.first, places.needed as u64);
        }
        (input_window, places)
    }

    /// Smooths a part of a plane; `first` is the index of its first row in `pixels`.
    fn smooth(
        &self,
        kernel: &PlaneKernel,
        pixels: &PlanePixels<'_>,
        (first, [x, y]): (usize, [Places; 2]),
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let edge = self.smoothing.edge;
        let padded = self.padded(pixels, (first, [x, y]), feed)?;
        let mut sums = Raster::new(x.results, y.results, feed)?;
        match parts_of(kernel, self.precision) {
            Some(parts) => {
                let first = [x, y].map(|places| places.result as i64);
                self.sum_parts((kernel, &parts), &padded, first, feed, &mut sums)?;
            }
            None => self.sum_whole(kernel, &padded, feed, &mut sums)?,
        }
        let row_bytes = x.results * self.encoding.pixel_bytes();
        for (row, out) in out.chunks_exact_mut(row_bytes).enumerate() {
            let sums = sums.row_mut(row);
            if edge == Edge::Keep {
                let [near_x, near_y] = kernel.halves(self.precision.reach);
                let all = y.is_within(row, near_y);
                for (at, (sum, pixel)) in sums.iter_mut().zip(self.own(&padded, row)).enumerate() {
                    *sum = if all || x.is_within(at, near_x) { *pixel } else { *sum };
                }
            }
            if kernel.scale != 1.0 {
                sums.iter_mut().for_each(|sum| *sum *= kernel.scale);
            }
            feed.encode(sums, &self.encoding, out)?;
        }
        sums.give_back(feed);
        padded.give_back(feed);
        Ok(())
    }

    /// Copies the pixels of a part of a plane and adds the values beyond its edges.
    fn padded(
        &self,
        pixels: &PlanePixels<'_>,
        (first, [x, y]): (usize, [Places; 2]),
        feed: &mut Feed<'_>,
    ) -> Result<Raster, IoError> {
        let edge = self.smoothing.edge;
        let [x_half, y_half] = self.halves;
        let mut padded = Raster::new(x.results + 2 * x_half, y.results + 2 * y_half, feed)?;
        let beyond = Beyond { edge, zero: 0.0, blank: f64::NAN };
        for at in 0..padded.height() {
            let line = padded.row_mut(at);
            match y.neighbour(at, edge) {
                Neighbour::Pixel(row) => {
                    pixels.row(first + row as usize, feed.tier, &mut line[x.inside()]);
                    x.pad(line, beyond);
                }
                Neighbour::Beyond => line.fill(0.0),
                Neighbour::Blank => line.fill(f64::NAN),
            }
        }
        Ok(padded)
    }

    /// Returns the pixels at the centres of a row of results.
    fn own<'a>(&self, padded: &'a Raster, row: usize) -> &'a [f64] {
        let [x_half, y_half] = self.halves;
        &padded.row(row + y_half)[x_half..padded.width - x_half]
    }

    /// Computes each result as one sum over the ellipse.
    fn sum_whole(
        &self,
        kernel: &PlaneKernel,
        padded: &Raster,
        feed: &mut Feed<'_>,
        out: &mut Raster,
    ) -> Result<(), IoError> {
        let weights = kernel.weights(self.precision.reach);
        let width = out.width;
        for row in 0..out.height() {
            if feed.fetched.is_cancelled() {
                return Err(IoError::Cancelled);
            }
            self.sum_row(&weights, (padded, row), 0..width, feed.tier, out.row_mut(row));
        }
        Ok(())
    }

    /// Computes some columns of a row of results as one sum over the ellipse each.
    fn sum_row(
        &self,
        weights: &Weights,
        (padded, row): (&Raster, usize),
        columns: Range<usize>,
        tier: Tier,
        out: &mut [f64],
    ) {
        let BeamSmoothing { blanks, fill, .. } = self.smoothing;
        let stencil = Stencil { weights: &weights.values, blanks, fill };
        let [x_half, y_half] = self.halves;
        let near = |&(dy, dx): &(i64, i64)| {
            let line = padded.row((row + y_half).wrapping_add_signed(dy as isize));
            let begin = (x_half + columns.start).wrapping_add_signed(dx as isize);
            &line[begin..begin + columns.len()]
        };
        let rows: Vec<&[f64]> = weights.offsets.iter().map(near).collect();
        smooth_rows_f64(&rows, &stencil, tier, out);
    }

    /// Computes results as sums in parts, except for results that need one sum. `first` is the pixel of the
    /// first result along x and y.
    fn sum_parts(
        &self,
        (kernel, parts): (&PlaneKernel, &Factors),
        padded: &Raster,
        first: [i64; 2],
        feed: &mut Feed<'_>,
        out: &mut Raster,
    ) -> Result<(), IoError> {
        let BeamSmoothing { blanks, fill, .. } = self.smoothing;
        let parts = parts.sums();
        let undefined = padded.values.iter().fold(false, |any, x| any | x.is_nan());
        let mut good = None;
        if undefined {
            let mut filled = Raster::new(padded.width, padded.height(), feed)?;
            let mut each = |value: fn(f64) -> f64, feed: &mut Feed<'_>, out: &mut Raster| {
                for (filled, &pixel) in filled.values.iter_mut().zip(&padded.values) {
                    *filled = value(pixel);
                }
                parts.sum((&filled, self.halves), first, feed, out)
            };
            each(|pixel| if pixel.is_nan() { 0.0 } else { pixel }, feed, out)?;
            if blanks == Blanks::Renormalise {
                let mut weights = Raster::new(out.width, out.height(), feed)?;
                each(|pixel| if pixel.is_nan() { 0.0 } else { 1.0 }, feed, &mut weights)?;
                good = Some(weights);
            }
            filled.give_back(feed);
        } else {
            parts.sum((padded, self.halves), first, feed, out)?;
        }
        if let Some(good) = &good {
            let all = parts.all();
            for row in 0..out.height() {
                let sums = out.row_mut(row).iter_mut().zip(good.row(row));
                for ((sum, &good), all) in sums.zip(all.row([first[0], first[1] + row as i64])) {
                    let enough = good >= LEAST_DEFINED * all;
                    *sum = if enough { result(*sum, good, all) } else { f64::NAN };
                }
            }
        }
        if let Some(good) = good {
            good.give_back(feed);
        }
        let mut weights = None;
        for row in 0..out.height() {
            let pixels = self.own(padded, row);
            let sums = out.row_mut(row);
            if !fill {
                for (sum, pixel) in sums.iter_mut().zip(pixels) {
                    *sum = if pixel.is_nan() { f64::NAN } else { *sum };
                }
            }
            let is_open = |sum: f64, pixel: f64| !sum.is_finite() && (fill || !pixel.is_nan());
            for begin in (0..sums.len()).step_by(LANES) {
                let columns = begin..sums.len().min(begin + LANES);
                let (sums, pixels) = (&mut sums[columns.clone()], &pixels[columns.clone()]);
                if !sums.iter().zip(pixels).any(|(&sum, &pixel)| is_open(sum, pixel)) {
                    continue;
                }
                if feed.fetched.is_cancelled() {
                    return Err(IoError::Cancelled);
                }
                let weights = weights.get_or_insert_with(|| kernel.weights(self.precision.reach));
                let mut whole = [0.0; LANES];
                let whole = &mut whole[..columns.len()];
                self.sum_row(weights, (padded, row), columns, feed.tier, whole);
                for ((sum, &whole), &pixel) in sums.iter_mut().zip(&*whole).zip(pixels) {
                    *sum = if is_open(*sum, pixel) { whole } else { *sum };
                }
            }
        }
        if undefined && blanks == Blanks::Propagate {
            let weights = weights.unwrap_or_else(|| kernel.weights(self.precision.reach));
            self.propagate(&weights, padded, out);
        }
        Ok(())
    }

    /// Marks results as undefined if an undefined pixel is within the ellipse.
    fn propagate(&self, weights: &Weights, padded: &Raster, out: &mut Raster) {
        let [x_half, y_half] = self.halves;
        let counts: Vec<_> =
            (0..padded.height()).map(|row| undefined_before(padded.row(row))).collect();
        for row in 0..out.height() {
            let out = out.row_mut(row);
            // The offsets of a row are contiguous.
            for line in weights.offsets.chunk_by(|offset, next| offset.0 == next.0) {
                let ((dy, low), (_, high)) = (line[0], line[line.len() - 1]);
                let Some(counts) = &counts[(row + y_half).wrapping_add_signed(dy as isize)] else {
                    continue;
                };
                let before = &counts[x_half.wrapping_add_signed(low as isize)..];
                let until = &counts[x_half.wrapping_add_signed(high as isize) + 1..];
                for (out, (before, until)) in out.iter_mut().zip(before.iter().zip(until)) {
                    *out = if before == until { *out } else { f64::NAN };
                }
            }
        }
    }
}

/// Returns the number of undefined pixels before each pixel of a row, and the total; `None` if there are
/// none.
fn undefined_before(row: &[f64]) -> Option<Vec<u32>> {
    let mut count = 0;
    let each = row.iter().map(|pixel| {
        count += u32::from(pixel.is_nan());
        count
    });
    let counts: Vec<u32> = std::iter::once(0).chain(each).collect();
    (count > 0).then_some(counts)
}

/// Returns the parts of a kernel if their sums take less time than one sum over the ellipse.
fn parts_of(kernel: &PlaneKernel, precision: Precision) -> Option<Factors> {
    if kernel.is_narrow() { None } else { Factors::new(kernel.covariance(), precision) }
}

impl Node for SmoothBeams {
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
        self.input.reads(&self.needed(window).0, reads);
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        let (input_window, places) = self.needed(window);
        let pixels = PlanePixels::new(&*self.input, &input_window, feed)?;
        let plane = places[0].results * places[1].results * self.encoding.pixel_bytes();
        if plane > 0 {
            for (number, out) in out.chunks_exact_mut(plane).enumerate() {
                let place = plane_place(window, number, &self.smoothing.axes, self.axes());
                let kernel = &self.smoothing.kernels[place];
                let first = number * places[1].needed;
                self.smooth(kernel, &pixels, (first, places), feed, out)?;
            }
        }
        if let PlanePixels::Values(values) = pixels {
            feed.scratch.give_back_f64s(values);
        }
        Ok(())
    }

    fn halo(&self) -> Vec<u64> {
        let mut halo = self.input.halo();
        for (halo, half) in halo.iter_mut().zip(self.halves) {
            *halo += half as u64;
        }
        halo
    }

    fn expansion(&self) -> u64 {
        self.input.expansion()
    }

    fn box_shape(&self) -> Vec<u64> {
        usual_shape(self.axes(), &self.halo(), self.expansion())
    }
}
