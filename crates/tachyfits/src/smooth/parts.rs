//! Sums a wide elliptical Gaussian as several short sums, one after the other, instead of one sum over the
//! ellipse.
//!
//! Gaussians whose covariances add up to the covariance of the kernel are equivalent to it when applied one
//! after the other. Each is sampled; if the Gaussians are wide enough ([`Precision::least`]), a sum of
//! samples equals the integral to the last digit. A kernel is split into Gaussians along x, along y and along
//! both diagonals: a positive and a negative diagonal give any angle. Alternatively, it is split into
//! Gaussians along x and y, and the narrow remaining ellipse. After a first round Gaussian the image is
//! smooth enough to keep every n-th pixel of every n-th row; a last round Gaussian interpolates between them.

use std::f64::consts::PI;

use tachyfits_io::IoError;
use tachyfits_kernels::{Blanks, Stencil, Tier, smooth_rows_f64};

use crate::computed::Feed;

/// Truncation of kernels in standard deviations, and maximum error of sums in parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Precision {
    pub(super) reach: f64,
    rest: f64,
}

/// Beyond 6 standard deviations lies 1.5e-8 of a Gaussian, less than the precision of float32.
pub(super) const SINGLE: Precision = Precision { reach: 6.0, rest: 2e-9 };
/// Beyond 8 standard deviations lies 1.3e-14 of a Gaussian.
pub(super) const DOUBLE: Precision = Precision { reach: 8.0, rest: 2e-14 };

impl Precision {
    /// Returns the minimum variance, in squared sample distances, of a summed product of Gaussians: a sum
    /// differs from its integral by 2 exp(-2 pi^2 variance) for each of a few vectors of the reciprocal
    /// lattice.
    fn least(self) -> f64 {
        (16.0 / self.rest).ln() / (2.0 * PI * PI)
    }

    /// Returns the half-width in pixels of a Gaussian with this variance.
    fn half(self, variance: f64) -> usize {
        (self.reach * variance.sqrt()) as usize
    }
}

/// Maximum distance of summed pixels.
const LONGEST_STEP: usize = 32;
/// Overhead of a sum, in terms: it reads and writes all pixels of a box.
const PASS: f64 = 12.0;

/// Variances and covariance: xx, xy, yy.
type Covariance = [f64; 3];

/// Parts of a kernel: round Gaussians before and after the parts on a coarse grid of pixels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factors {
    precision: Precision,
    /// Distance of the coarse grid's pixels; 1 for all pixels.
    step: usize,
    /// Variances of the first and last round Gaussian, in pixels; unused if the step is 1.
    before: f64,
    after: f64,
    /// Parts in pixels of the coarse grid.
    coarse: Vec<Factor>,
    cost: f64,
}

/// A Gaussian among the parts of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Factor {
    /// A Gaussian along a direction (x, y), with its variance in steps.
    Line([i64; 2], f64),
    Ellipse(Covariance),
}

impl Factors {
    /// Returns the cheapest parts of a kernel if they are cheaper than one sum over its ellipse.
    pub(super) fn new(kernel: Covariance, precision: Precision) -> Option<Factors> {
        let whole = Factor::Ellipse(kernel).terms(precision);
        let candidates = (1..=LONGEST_STEP).filter_map(|step| Factors::by(kernel, precision, step));
        let cheapest = candidates.min_by(|a, b| a.cost.total_cmp(&b.cost));
        cheapest.filter(|parts| parts.cost < whole)
    }

    fn by(kernel: Covariance, precision: Precision, step: usize) -> Option<Factors> {
        if step == 1 {
            let (coarse, cost) = on_grid(kernel, precision, false)?;
            return Some(Factors { precision, step, before: 0.0, after: 0.0, coarse, cost });
        }
        let least = precision.least() * (step * step) as f64;
        let after = beside(minor(kernel), least)?;
        let remainder = without(kernel, after);
        let before = beside(minor(remainder), least)?;
        let scale = 1.0 / (step * step) as f64;
        let (coarse, inner) =
            on_grid(without(remainder, before).map(|x| x * scale), precision, true)?;
        let [first, last] = [before, after].map(|variance| 2.0 * precision.half(variance) as f64);
        let distance = step as f64;
        let rows = (first + last) / distance + 2.0 * PASS;
        let cost = rows * (1.0 + 1.0 / distance) + inner / (distance * distance);
        Some(Factors { precision, step, before, after, coarse, cost })
    }

    /// Returns the half-width of the sums along x and y.
    pub(super) fn halves(&self) -> [usize; 2] {
        let mut halves = [0, 0];
        for part in &self.coarse {
            let more = part.halves(self.precision);
            halves = [halves[0] + more[0], halves[1] + more[1]];
        }
        match self.step {
            1 => halves,
            step => halves.map(|half| {
                let up = self.precision.half(self.after) / step + 1;
                (half + up) * step + self.precision.half(self.before)
            }),
        }
    }

    /// Returns the weights of the sums.
    pub(super) fn sums(&self) -> PartSums {
        let coarse = self.coarse.iter().map(|part| part.pass(self.precision)).collect();
        let grid = (self.step > 1).then(|| CoarseGrid::new(self));
        PartSums { coarse, grid }
    }
}

/// Returns the cheapest parts whose samples are the pixels of one grid, and their cost. If the kernel is
/// `among` other parts, its own samples may be too far apart.
fn on_grid(kernel: Covariance, precision: Precision, among: bool) -> Option<(Vec<Factor>, f64)> {
    let ellipse = among.then(|| vec![Factor::Ellipse(kernel)]);
    let candidates =
        ellipse.into_iter().chain(lines(kernel, precision)).chain(ellipses(kernel, precision));
    let with_cost = candidates.map(|parts| {
        let terms: f64 = parts.iter().map(|part| part.terms(precision) + PASS).sum();
        (parts, terms)
    });
    with_cost.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Splits a kernel into Gaussians along x, along y and along the diagonals.
fn lines([xx, xy, yy]: Covariance, precision: Precision) -> impl Iterator<Item = Vec<Factor>> {
    let least = precision.least();
    let upright = xy.abs() <= 1e-12 * xx.max(yy);
    let xy = if upright { 0.0 } else { xy };
    // Variances along the minor diagonal of the kernel.
    let minors = (0..64).map(|quarter| f64::from(quarter) / 4.0).take(if upright { 1 } else { 64 });
    minors.filter_map(move |minor| {
        let (rising, falling) = if xy > 0.0 { (xy + minor, minor) } else { (minor, minor - xy) };
        let (x, y) = (xx - rising - falling, yy - rising - falling);
        if !(x > 0.0 && y > 0.0) {
            return None;
        }
        let candidates = [([1, 0], x), ([0, 1], y), ([1, 1], rising), ([1, -1], falling)];
        // Inverse variances of samples of the sums over both diagonals.
        let (both, across) = (1.0 / x + 1.0 / y, 1.0 / x - 1.0 / y);
        let variance = match (rising > 0.0, falling > 0.0) {
            (false, false) => f64::INFINITY,
            (true, false) => 1.0 / (1.0 / rising + both),
            (false, true) => 1.0 / (1.0 / falling + both),
            (true, true) => {
                least_length(inverse([1.0 / rising + both, across, 1.0 / falling + both]))
            }
        };
        let factors = candidates.into_iter().filter(|(_, variance)| *variance > 0.0);
        let parts =
            || factors.map(|(direction, variance)| Factor::Line(direction, variance)).collect();
        (variance >= least).then(parts)
    })
}

/// Splits a kernel into Gaussians along x and along y, and the narrow remaining ellipse.
fn ellipses(kernel: Covariance, precision: Precision) -> impl Iterator<Item = Vec<Factor>> {
    let [xx, xy, yy] = kernel;
    (2..40).filter_map(move |tenths| {
        let remainder = xy.abs() + f64::from(tenths) / 10.0;
        let (x, y) = (xx - remainder, yy - remainder);
        if !(x > 0.0 && y > 0.0) {
            return None;
        }
        // Inverse of the sum of both inverses: D - D inverse(kernel) D, for the D of the lines.
        let [a, b, c] = inverse(kernel);
        let product = [x - x * a * x, -x * b * y, y - y * c * y];
        (least_length(product) >= precision.least()).then(|| {
            vec![
                Factor::Line([1, 0], x),
                Factor::Line([0, 1], y),
                Factor::Ellipse([remainder, xy, remainder]),
            ]
        })
    })
}

/// Returns the variance of a round Gaussian that, combined with a second one, has this total variance and
/// gives their product the least variance.
fn beside(variance: f64, least: f64) -> Option<f64> {
    let root = variance * variance - 4.0 * variance * least;
    (root > 0.0).then(|| (variance - root.sqrt()) / 2.0)
}

fn without([xx, xy, yy]: Covariance, round: f64) -> Covariance {
    [xx - round, xy, yy - round]
}

fn inverse([xx, xy, yy]: Covariance) -> Covariance {
    let determinant = xx * yy - xy * xy;
    [yy / determinant, -xy / determinant, xx / determinant]
}

/// Returns the smaller variance along the axes of an ellipse.
fn minor([xx, xy, yy]: Covariance) -> f64 {
    (xx + yy) / 2.0 - ((xx - yy) / 2.0).hypot(xy)
}

/// Returns the minimum of the quadratic form over vectors of integers.
fn least_length([xx, xy, yy]: Covariance) -> f64 {
    let vectors = (-2..=2).flat_map(|x| (-2..=2).map(move |y| (x, y)));
    let lengths = vectors.filter(|place| *place != (0, 0)).map(|(x, y)| {
        let (x, y) = (f64::from(x), f64::from(y));
        xx * x * x + 2.0 * xy * x * y + yy * y * y
    });
    lengths.fold(f64::INFINITY, f64::min)
}

impl Factor {
    /// Returns the approximate number of weights.
    fn terms(&self, precision: Precision) -> f64 {
        match *self {
            Factor::Line(_, variance) => 2.0 * precision.half(variance) as f64 + 1.0,
            Factor::Ellipse([xx, xy, yy]) => {
                PI * precision.reach * precision.reach * (xx * yy - xy * xy).sqrt() + 1.0
            }
        }
    }

    fn halves(&self, precision: Precision) -> [usize; 2] {
        match *self {
            Factor::Line([x, y], variance) => {
                let half = precision.half(variance);
                [x, y].map(|step| half * step.unsigned_abs() as usize)
            }
            Factor::Ellipse([xx, _, yy]) => [precision.half(xx), precision.half(yy)],
        }
    }

    fn pass(&self, precision: Precision) -> Pass {
        let mut pass = Pass { halves: self.halves(precision), offsets: vec![], weights: vec![] };
        match *self {
            Factor::Line([x, y], variance) => {
                let half = precision.half(variance) as i64;
                pass.offsets = (-half..=half).map(|at| (at * y, at * x)).collect();
                pass.weights = gaussian(variance, -half..=half, |at| at as f64);
            }
            Factor::Ellipse(kernel) => {
                let [xx, xy, yy] = inverse(kernel);
                let [x_half, y_half] = pass.halves.map(|half| half as i64);
                for (y, x) in
                    (-y_half..=y_half).flat_map(|y| (-x_half..=x_half).map(move |x| (y, x)))
                {
                    let (dx, dy) = (x as f64, y as f64);
                    let square = xx * dx * dx + 2.0 * xy * dx * dy + yy * dy * dy;
                    if square <= precision.reach * precision.reach {
                        pass.offsets.push((y, x));
                        pass.weights.push((-0.5 * square).exp());
                    }
                }
                normalise(&mut pass.weights);
            }
        }
        pass
    }
}

/// Returns samples of a Gaussian that add up to 1.
fn gaussian(
    variance: f64,
    samples: std::ops::RangeInclusive<i64>,
    place: impl Fn(i64) -> f64,
) -> Vec<f64> {
    let weight = |at: i64| (-0.5 * place(at) * place(at) / variance).exp();
    let mut weights: Vec<f64> = samples.map(weight).collect();
    normalise(&mut weights);
    weights
}

fn normalise(weights: &mut [f64]) {
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
}

/// Weights of pixels at offsets (y, x).
#[derive(Clone, Debug)]
struct Pass {
    halves: [usize; 2],
    offsets: Vec<(i64, i64)>,
    weights: Vec<f64>,
}

impl Pass {
    /// Sums the pixels around the pixels of `out`; the first one has `margins` pixels before it along x and
    /// y.
    fn sum(
        &self,
        (pixels, margins): (&Raster, [usize; 2]),
        feed: &mut Feed<'_>,
        out: &mut Raster,
    ) -> Result<(), IoError> {
        let width = out.width;
        // A part has at most some 40 terms.
        let mut near: Vec<&[f64]> = Vec::with_capacity(self.offsets.len());
        for row in 0..out.height() {
            if feed.fetched.is_cancelled() {
                return Err(IoError::Cancelled);
            }
            near.clear();
            near.extend(self.offsets.iter().map(|&(y, x)| {
                let line = pixels.row((row + margins[1]).wrapping_add_signed(y as isize));
                &line[margins[0].wrapping_add_signed(x as isize)..][..width]
            }));
            sum_rows(&near, &self.weights, feed.tier, out.row_mut(row));
        }
        Ok(())
    }
}

/// Computes weighted sums of rows; a sum is NaN if one of its pixels is.
fn sum_rows(rows: &[&[f64]], weights: &[f64], tier: Tier, out: &mut [f64]) {
    let stencil = Stencil { weights, blanks: Blanks::Propagate, fill: true };
    smooth_rows_f64(rows, &stencil, tier, out);
}

/// Returns the weighted sum of equal pixels, exact to the last bit.
fn of_constant(weights: &[f64], pixel: f64) -> f64 {
    weights.iter().fold(-0.0, |sum, weight| sum + weight * pixel)
}

/// Grid of every n-th pixel of every n-th row of an image, and the weights of the conversion to it and back.
#[derive(Clone, Debug)]
struct CoarseGrid {
    step: usize,
    /// Weights of pixels around a grid pixel.
    down: Vec<f64>,
    /// Number of grid pixels used before and after the grid pixel at or before a pixel.
    reach: usize,
    /// Weights of grid pixels, by the distance of a pixel from the grid pixel at or before it.
    up: Vec<Vec<f64>>,
}

impl CoarseGrid {
    fn new(parts: &Factors) -> CoarseGrid {
        let Factors { precision, step, before, after, .. } = *parts;
        let half = precision.half(before) as i64;
        let reach = precision.half(after) / step;
        let up = |pixel: usize| {
            let place = |at: i64| (at * step as i64 - pixel as i64) as f64;
            gaussian(after, -(reach as i64)..=reach as i64 + 1, place)
        };
        CoarseGrid {
            step,
            down: gaussian(before, -half..=half, |at| at as f64),
            reach,
            up: (0..step).map(up).collect(),
        }
    }

    /// Returns the grid pixels that a range of pixels needs: the first, and their number.
    fn needed(&self, first: i64, count: usize) -> (i64, usize) {
        let step = self.step as i64;
        let begin = first.div_euclid(step) - self.reach as i64;
        let end = (first + count as i64 - 1).div_euclid(step) + self.reach as i64 + 1;
        (begin, (end - begin + 1) as usize)
    }

    /// Sums along y, then along x, at the grid pixels; `at` is the position of the first one in `pixels`.
    fn down(
        &self,
        (pixels, at): (&Raster, [usize; 2]),
        feed: &mut Feed<'_>,
        out: &mut Raster,
    ) -> Result<(), IoError> {
        let (step, half) = (self.step, self.down.len() / 2);
        let begin = at[0] - half;
        let width = (out.width - 1) * step + self.down.len();
        let mut line = feed.scratch.f64s(width)?;
        // Pixels a step apart are stored contiguously, phase by phase.
        let pitch = width.div_ceil(step);
        let mut phases = feed.scratch.f64s(pitch * step)?;
        for row in 0..out.height() {
            if feed.fetched.is_cancelled() {
                return Err(IoError::Cancelled);
            }
            let top = at[1] + row * step - half;
            let near: Vec<&[f64]> =
                (0..self.down.len()).map(|y| &pixels.row(top + y)[begin..begin + width]).collect();
            sum_rows(&near, &self.down, feed.tier, &mut line);
            for (number, phase) in phases.chunks_exact_mut(pitch).enumerate() {
                let every = line[number..].iter().step_by(step);
                phase.iter_mut().zip(every).for_each(|(out, x)| *out = *x);
            }
            let near: Vec<&[f64]> = (0..self.down.len())
                .map(|x| &phases[x % step * pitch + x / step..][..out.width])
                .collect();
            sum_rows(&near, &self.down, feed.tier, out.row_mut(row));
        }
        feed.scratch.give_back_f64s(phases);
        feed.scratch.give_back_f64s(line);
        Ok(())
    }

    /// Sums grid pixels along x, then along y; `first` is the first pixel of `out` in the image along x and
    /// y. The grid must contain every pixel within reach.
    fn up(
        &self,
        grid: &Raster,
        first: [i64; 2],
        feed: &mut Feed<'_>,
        out: &mut Raster,
    ) -> Result<(), IoError> {
        let step = self.step;
        let [x, y] = first.map(|first| first.rem_euclid(step as i64) as usize);
        let terms = 2 * self.reach + 2;
        let count = grid.width + 1 - terms;
        let mut phase_values = feed.scratch.f64s(count)?;
        let mut lines = Raster::new(out.width, grid.height(), feed)?;
        for row in 0..grid.height() {
            let line = grid.row(row);
            let near: Vec<&[f64]> = (0..terms).map(|at| &line[at..at + count]).collect();
            let wide = lines.row_mut(row);
            for (phase, weights) in self.up.iter().enumerate() {
                sum_rows(&near, weights, feed.tier, &mut phase_values);
                // The first pixel of this phase, and the grid pixel before it.
                let (begin, skipped) =
                    if phase >= x { (phase - x, 0) } else { (phase + step - x, 1) };
                let places = wide.iter_mut().skip(begin).step_by(step);
                places.zip(&phase_values[skipped..]).for_each(|(wide, value)| *wide = *value);
            }
        }
        for row in 0..out.height() {
            if feed.fetched.is_cancelled() {
                return Err(IoError::Cancelled);
            }
            let (before, phase) = ((y + row) / step, (y + row) % step);
            let near: Vec<&[f64]> = (0..terms).map(|at| lines.row(before + at)).collect();
            sum_rows(&near, &self.up[phase], feed.tier, out.row_mut(row));
        }
        lines.give_back(feed);
        feed.scratch.give_back_f64s(phase_values);
        Ok(())
    }
}

/// Weights of a kernel in parts.
#[derive(Clone, Debug)]
pub(super) struct PartSums {
    coarse: Vec<Pass>,
    grid: Option<CoarseGrid>,
}

impl PartSums {
    /// Sums the pixels around the pixels of `out`. Its first pixel is pixel `first` of the image along x and
    /// y, and has `margins` pixels before it, at least as many as the reach of the kernel.
    pub(super) fn sum(
        &self,
        (pixels, margins): (&Raster, [usize; 2]),
        first: [i64; 2],
        feed: &mut Feed<'_>,
        out: &mut Raster,
    ) -> Result<(), IoError> {
        let Some(coarse) = &self.grid else {
            return sum_in_turn(&self.coarse, (pixels, margins), feed, out);
        };
        let (x, columns) = coarse.needed(first[0], out.width);
        let (y, rows) = coarse.needed(first[1], out.height());
        let [x_half, y_half] = halves_of(&self.coarse);
        let mut wide = Raster::new(columns + 2 * x_half, rows + 2 * y_half, feed)?;
        let place = |axis: usize, at: i64, half: usize| {
            let pixel = (at - half as i64) * coarse.step as i64;
            (margins[axis] as i64 + pixel - first[axis]) as usize
        };
        let at = [place(0, x, x_half), place(1, y, y_half)];
        coarse.down((pixels, at), feed, &mut wide)?;
        let mut smooth = Raster::new(columns, rows, feed)?;
        sum_in_turn(&self.coarse, (&wide, [x_half, y_half]), feed, &mut smooth)?;
        coarse.up(&smooth, first, feed, out)?;
        smooth.give_back(feed);
        wide.give_back(feed);
        Ok(())
    }

    /// Returns the sums over an image of ones, exact to the last bit, by pixel of the image along x and y.
    pub(super) fn all(&self) -> AllOnes {
        let coarse = |pixel: f64| {
            self.coarse.iter().fold(pixel, |pixel, pass| of_constant(&pass.weights, pixel))
        };
        let Some(grid) = &self.grid else {
            return AllOnes { step: 1, sums: vec![coarse(1.0)] };
        };
        let down = of_constant(&grid.down, of_constant(&grid.down, 1.0));
        let along_x: Vec<f64> =
            grid.up.iter().map(|weights| of_constant(weights, coarse(down))).collect();
        let rows = grid.up.iter();
        let sums = rows.flat_map(|weights| along_x.iter().map(|&x| of_constant(weights, x)));
        AllOnes { step: grid.step, sums: sums.collect() }
    }
}

/// Sums over an image of ones. They depend on the position of a pixel relative to the coarse grid.
#[derive(Clone, Debug)]
pub(super) struct AllOnes {
    step: usize,
    sums: Vec<f64>,
}

impl AllOnes {
    /// Iterates over the sums of a row that begins at a pixel of the image.
    pub(super) fn row(&self, [x, y]: [i64; 2]) -> impl Iterator<Item = f64> {
        let step = self.step as i64;
        let [x, y] = [x, y].map(|at| at.rem_euclid(step) as usize);
        self.sums[y * self.step..][..self.step].iter().copied().cycle().skip(x)
    }
}

/// Returns the half-width of a sequence of passes along x and y.
fn halves_of(passes: &[Pass]) -> [usize; 2] {
    [0, 1].map(|axis: usize| passes.iter().map(|pass| pass.halves[axis]).sum())
}

/// Applies passes one after the other; `margins` pixels precede the first one of `out`.
fn sum_in_turn(
    passes: &[Pass],
    (pixels, margins): (&Raster, [usize; 2]),
    feed: &mut Feed<'_>,
    out: &mut Raster,
) -> Result<(), IoError> {
    let mut between: Option<(Raster, [usize; 2])> = None;
    for (number, pass) in passes.iter().enumerate() {
        let (from, before) = match &between {
            Some((grid, margins)) => (grid, *margins),
            None => (pixels, margins),
        };
        let later = &passes[number + 1..];
        if later.is_empty() {
            pass.sum((from, before), feed, out)?;
            continue;
        }
        let [x, y] = halves_of(later);
        let mut next = Raster::new(out.width + 2 * x, out.height() + 2 * y, feed)?;
        pass.sum((from, [before[0] - x, before[1] - y]), feed, &mut next)?;
        if let Some((raster, _)) = between.replace((next, [x, y])) {
            raster.give_back(feed);
        }
    }
    if let Some((raster, _)) = between {
        raster.give_back(feed);
    }
    Ok(())
}

/// Numbers in a grid of rows and columns.
#[derive(Debug)]
pub(super) struct Raster {
    pub(super) width: usize,
    pub(super) values: Vec<f64>,
}

impl Raster {
    /// Allocates a raster with arbitrary contents.
    pub(super) fn new(width: usize, height: usize, feed: &mut Feed<'_>) -> Result<Raster, IoError> {
        Ok(Raster { width, values: feed.scratch.f64s(width * height)? })
    }

    pub(super) fn give_back(self, feed: &mut Feed<'_>) {
        feed.scratch.give_back_f64s(self.values);
    }

    pub(super) fn height(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.width..][..self.width]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.width..][..self.width]
    }
}
