//! Smoothing of planes with elliptical Gaussians, which may differ from plane to plane.
//!
//! An ellipse at an angle has no factors along x and y, so each result is one sum over the pixels of the ellipse, in the
//! order of their rows: the rows of a plane, shifted, are the rows of a stencil.

use std::sync::Arc;

use tachyfits_io::IoError;
use tachyfits_kernels::{Blanks, Encoding, PixelType, Stencil, smooth_rows_f64};

use super::plane::{Beyond, Places, PlanePixels};
use super::{Edge, Neighbour, policies_text};
use crate::computed::{Computed, Feed, Node, Reads, Sources, Window, usual_shape};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::image::Image;
use crate::number::float_encoding;
use crate::survival::Change;

/// A smoothing of the planes of NAXIS1 and NAXIS2 with Gaussians.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamSmoothing {
    /// The axes along which the kernels vary, 0 for NAXIS1; neither of the first two.
    pub axes: Vec<usize>,
    /// The kernels along these axes, the first axis varying fastest; one without axes.
    pub kernels: Vec<PlaneKernel>,
    /// Values of the pixels beyond the edges.
    pub edge: Edge,
    /// Treatment of undefined pixels.
    pub blanks: Blanks,
    /// Whether undefined pixels get values where their neighbours give one.
    pub fill: bool,
}

/// The kernel of a plane: a Gaussian, cut where the rounding of results hides the rest, whose weights add up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneKernel {
    /// Squared full widths at half maximum in pixels, as a matrix: xx, xy, yy. All 0 for pixels that stay as they are.
    pub widths: [f64; 3],
    /// Every result is multiplied by this number; NaN for a plane that becomes undefined.
    pub scale: f64,
}

/// Squared full widths at half maximum, by the squared standard deviation.
const SQUARES: f64 = 8.0 * std::f64::consts::LN_2;

/// Kernels are cut at this many standard deviations, by the type of the results: beyond lie 1.5e-8 of a Gaussian, less
/// than float32 tells apart, and 1.3e-14.
fn reach_for(pixel: PixelType) -> f64 {
    if pixel == PixelType::F32 { 6.0 } else { 8.0 }
}

/// An ellipse whose width in pixels is less than this is interpolated: its samples would miss a part of it.
const SAMPLED: f64 = 2.0;

/// Pixels that a polynomial goes through, of fifth degree.
const POINTS: usize = 6;

/// The most pixels of a kernel.
const MOST_PIXELS: f64 = 524_288.0;

/// Weights of the pixels around a result.
#[derive(Clone, Debug, PartialEq)]
struct Weights {
    /// Rows and columns from the result, row by row.
    offsets: Vec<(i64, i64)>,
    values: Vec<f64>,
}

impl PlaneKernel {
    /// How far the kernel reaches along x and y.
    fn halves(&self, reach: f64) -> [usize; 2] {
        let [xx, _, yy] = self.widths;
        let more = if self.is_narrow() { POINTS / 2 } else { 0 };
        let half = |square: f64| match square > 0.0 {
            true => (reach * (square / SQUARES).sqrt()) as usize + more,
            false => 0,
        };
        [half(xx), half(yy)]
    }

    fn is_valid(&self) -> bool {
        let [xx, xy, yy] = self.widths;
        let is_matrix = xx >= 0.0 && yy >= 0.0 && xy * xy <= xx * yy * (1.0 + 1e-9);
        is_matrix && xy.is_finite() && xx.max(yy) < 1e8 && !self.scale.is_infinite()
    }

    /// The squared widths along the axes of the ellipse, the major one first.
    fn squares(&self) -> [f64; 2] {
        let [xx, xy, yy] = self.widths;
        let (mean, half) = ((xx + yy) / 2.0, ((xx - yy) / 2.0).hypot(xy));
        // Rounding leaves a line a width.
        let (major, minor) = (mean + half, mean - half);
        [major, if minor > 1e-12 * major { minor } else { 0.0 }]
    }

    /// Pixels are too far apart to sample the ellipse.
    fn is_narrow(&self) -> bool {
        self.squares()[1] < SAMPLED * SAMPLED
    }

    /// The weights of the pixels around a result.
    fn weights(&self, reach: f64) -> Weights {
        let [x_half, y_half] = self.halves(reach);
        let mut grid = WeightGrid::new(x_half, y_half);
        match self.is_narrow() {
            true => self.interpolate(reach, &mut grid),
            false => self.sample(reach, &mut grid),
        }
        grid.finish()
    }

    /// Puts the Gaussian at the pixels within its reach.
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

    /// Adds up points of the Gaussian, close to each other along its axes. The image at a point is interpolated by a
    /// polynomial, which keeps the second moments.
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

/// Points of a Gaussian of this standard deviation and their weights; one point for 0.
fn points(sigma: f64, reach: f64) -> Vec<(f64, f64)> {
    if sigma == 0.0 {
        return vec![(0.0, 1.0)];
    }
    // Half a standard deviation apart, a sum of points is an integral to the last digit.
    let step = (sigma / 2.0).min(0.5);
    let last = (reach * sigma / step) as i64;
    let point = |number: i64| number as f64 * step;
    (-last..=last).map(|at| (point(at), (-0.5 * (point(at) / sigma).powi(2)).exp())).collect()
}

/// The first of the pixels around a place, and the weights of the polynomial through them (Lagrange).
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

/// Weights by row and column.
struct WeightGrid {
    x_half: i64,
    y_half: i64,
    values: Vec<f64>,
}

impl WeightGrid {
    fn new(x_half: usize, y_half: usize) -> WeightGrid {
        let values = vec![0.0; (2 * x_half + 1) * (2 * y_half + 1)];
        WeightGrid { x_half: x_half as i64, y_half: y_half as i64, values }
    }

    /// Adds to a weight; those beyond the reach of the kernel are 0.
    fn add(&mut self, x: i64, y: i64, weight: f64) {
        if weight != 0.0 && x.abs() <= self.x_half && y.abs() <= self.y_half {
            let at = (y + self.y_half) * (2 * self.x_half + 1) + x + self.x_half;
            self.values[at as usize] += weight;
        }
    }

    /// The weights that are not 0, adding up to 1.
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
    /// The planes smoothed with Gaussians, computed when they are read or written. Values have the types of
    /// [`Image::smooth`]; sums are taken in f64, row by row of the kernel, and rounded once.
    ///
    /// # Errors
    /// [`Reason::Smoothing`] unless there is a kernel for each plane, each is a matrix of squares, and none has more
    /// than 524 288 pixels, those of its box; [`Reason::NoSuchAxis`].
    pub fn smooth_beams(&self, smoothing: &BeamSmoothing) -> Result<FitsFile, Error> {
        self.check_axis(1)?;
        for &axis in &smoothing.axes {
            self.check_axis(axis)?;
        }
        let node = SmoothBeams::new(self.node()?, smoothing);
        check_kernels(smoothing, self.axes(), node.reach).map_err(|error| self.place(error))?;
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
    let refused =
        |expected: String, found: String| Err(Error::refused(Reason::Smoothing, expected, found));
    let BeamSmoothing { axes: varying, kernels, .. } = smoothing;
    let mut lengths = varying.iter().map(|&axis| axes[axis]);
    let planes = lengths.try_fold(1u64, |all, length| all.checked_mul(length));
    if planes != Some(kernels.len() as u64) || varying.iter().any(|&axis| axis < 2) {
        let expected = format!("a kernel for each of {} planes", planes.unwrap_or(u64::MAX));
        return refused(expected, format!("{} kernels", kernels.len()));
    }
    if let Some(wrong) = kernels.iter().find(|kernel| !kernel.is_valid()) {
        let expected = "a matrix of squared widths, and a scale".to_owned();
        return refused(expected, format!("{:?} and {}", wrong.widths, wrong.scale));
    }
    let size = |kernel: &PlaneKernel| {
        let [x, y] = kernel.halves(reach).map(|half| 2.0 * half as f64 + 1.0);
        x * y
    };
    let widest = kernels.iter().map(size).fold(0.0, f64::max);
    if widest > MOST_PIXELS {
        let expected = format!("kernels of at most {MOST_PIXELS} pixels");
        return refused(expected, format!("one of about {widest:.0} pixels"));
    }
    Ok(())
}

/// The node of a smoothing with Gaussians.
#[derive(Debug)]
struct SmoothBeams {
    input: Arc<dyn Node>,
    smoothing: BeamSmoothing,
    /// Where kernels are cut, in standard deviations.
    reach: f64,
    /// The farthest that a kernel reaches along x and y.
    halves: [usize; 2],
    encoding: Encoding,
}

impl SmoothBeams {
    fn new(input: Arc<dyn Node>, smoothing: &BeamSmoothing) -> SmoothBeams {
        let kernels = &smoothing.kernels;
        let gain = kernels.iter().map(|kernel| kernel.scale.abs()).fold(0.0, f64::max);
        let encoding = float_encoding(&input.encoding(), gain);
        let reach = reach_for(encoding.pixel);
        let half = |axis: usize| kernels.iter().map(|k| k.halves(reach)[axis]).max().unwrap_or(0);
        SmoothBeams {
            reach,
            halves: [half(0), half(1)],
            encoding,
            input,
            smoothing: smoothing.clone(),
        }
    }

    /// The window of the input that a window needs, and where its pixels are along x and y.
    fn needed(&self, window: &Window) -> (Window, [Places; 2]) {
        let places = [0, 1].map(|axis| {
            let length = self.input.axes()[axis];
            Places::new(window.first[axis], window.count[axis], self.halves[axis], length)
        });
        let mut needed = window.clone();
        for (axis, places) in places.iter().enumerate() {
            needed = needed.along(axis, places.first, places.needed as u64);
        }
        (needed, places)
    }

    /// The kernel of a plane of a window, counted in the order of its planes.
    fn kernel(&self, window: &Window, plane: u64) -> &PlaneKernel {
        let (mut place, mut stride, mut rest) = (0, 1, plane);
        let mut at = window.first.clone();
        for (at, count) in at.iter_mut().zip(&window.count).skip(2) {
            *at += rest % count;
            rest /= count;
        }
        for &axis in &self.smoothing.axes {
            place += at[axis] * stride;
            stride *= self.input.axes()[axis];
        }
        &self.smoothing.kernels[place as usize]
    }

    /// Smooths a part of a plane; `first` is its first row among the pixels.
    fn smooth(
        &self,
        kernel: &PlaneKernel,
        pixels: &PlanePixels<'_>,
        (first, [x, y]): (usize, [Places; 2]),
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let Weights { offsets, values: weights } = kernel.weights(self.reach);
        let BeamSmoothing { edge, blanks, fill, .. } = self.smoothing;
        let stencil = Stencil { weights: &weights, blanks, fill };
        let [x_half, y_half] = self.halves;
        let width = x.results + 2 * x_half;
        let mut padded = feed.scratch.f64s(width * (y.results + 2 * y_half));
        let beyond = Beyond { edge, zero: 0.0, blank: f64::NAN };
        for (at, line) in padded.chunks_exact_mut(width).enumerate() {
            match y.neighbour(at, edge) {
                Neighbour::Pixel(row) => {
                    pixels.row(first + row as usize, feed.tier, &mut line[x.inside()]);
                    x.pad(line, beyond);
                }
                Neighbour::Beyond => line.fill(0.0),
                Neighbour::Blank => line.fill(f64::NAN),
            }
        }
        let mut sums = feed.scratch.f64s(x.results);
        let row_bytes = x.results * self.encoding.pixel_bytes();
        for (row, out) in out.chunks_exact_mut(row_bytes).enumerate() {
            if feed.fetched.is_cancelled() {
                return Err(IoError::Cancelled);
            }
            let line = |(dy, dx): (i64, i64)| {
                let at = (row + y_half) as i64 + dy;
                &padded[(at * width as i64 + x_half as i64 + dx) as usize..][..x.results]
            };
            let rows: Vec<&[f64]> = offsets.iter().map(|&offset| line(offset)).collect();
            smooth_rows_f64(&rows, &stencil, feed.tier, &mut sums);
            if edge == Edge::Keep {
                let [near_x, near_y] = kernel.halves(self.reach);
                let all = y.is_within(row, near_y);
                for (at, (sum, own)) in sums.iter_mut().zip(line((0, 0))).enumerate() {
                    *sum = if all || x.is_within(at, near_x) { *own } else { *sum };
                }
            }
            if kernel.scale != 1.0 {
                sums.iter_mut().for_each(|sum| *sum *= kernel.scale);
            }
            feed.encode(&sums, &self.encoding, out)?;
        }
        feed.scratch.give_back_f64s(sums);
        feed.scratch.give_back_f64s(padded);
        Ok(())
    }
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
        let (needed, places) = self.needed(window);
        let pixels = PlanePixels::new(&*self.input, &needed, feed)?;
        let plane = places[0].results * places[1].results * self.encoding.pixel_bytes();
        if plane > 0 {
            for (number, out) in out.chunks_exact_mut(plane).enumerate() {
                let kernel = self.kernel(window, number as u64);
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
