//! Spectral moments: images of the intensity along an axis weighted with powers of its coordinate.

use tachyfits_io::Report;
use tachyfits_kernels::{Encoding, SpectralRows, SpectralSum, Tier};

use crate::error::{Error, Reason};
use crate::fold::{LineFold, fold_lines};
use crate::grid::Grid;
use crate::image::{Image, filled, tier};
use crate::lines::GridLines;
use crate::options::RunOptions;
use crate::rows::{Row, RowFold, RowPlan, each_tile, fold_rows};
use crate::section::Section;

/// The coordinate of each pixel along the axis.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    /// One per pixel of the section along the axis, in the axis' unit and in the order of the section.
    pub values: &'a [f64],
    /// Width of a channel, in the same unit: what moment 0 is multiplied by.
    pub width: f64,
}

impl Image {
    /// Moment 0, 1 or 2 along `axis` (0 is NAXIS1), one number per output in the order of the axes that are kept.
    ///
    /// Moment 0 is sum(I) · width, moment 1 the mean coordinate weighted with I, moment 2 the dispersion about it: the
    /// square root of the weighted mean of squared differences, 0 where that cannot be told from rounding. NaN where no
    /// pixel is good, where the weights add up to 0, and where negative intensities make the mean square negative.
    ///
    /// # Errors
    /// [`Reason::Moment`] for another order, or coordinates that are not finite or not as many as pixels;
    /// [`Reason::Memory`] when the result does not fit; otherwise as [`Image::stats`].
    pub fn moment(
        &self,
        order: usize,
        axis: usize,
        coordinates: Coordinates<'_>,
        section: &Section,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<f64>, Report), Error> {
        let reduced = self.reduced_axes(&[axis])?;
        self.check_section(section)?;
        self.check_moment(order, &coordinates, section.ranges()[axis].count)?;
        let grid = Grid::new(self.axes(), section, &reduced);
        if grid.outputs == 0 || grid.reduced == 0 {
            return Ok((self.filled(grid.outputs, f64::NAN)?, Report::default()));
        }
        self.check_present(grid.last_pixel())?;
        let moments = Moments::new(order, &coordinates, self.encoding(), tier()?);
        let mut values = self.filled(grid.outputs, 0.0)?;
        values.clear();
        let report = if !grid.is_kept_innermost() {
            let lines = GridLines::new(&grid, true, self.pixel_bytes().size);
            let push = |state: &SpectralSum| values.push(moments.value(state.count, state.sums));
            fold_lines(self, &lines, &moments, grid.outputs, options, push)?
        } else {
            let plan = RowPlan::new(&grid, self.pixel_bytes());
            let push = |state: SpectralRows| {
                values.extend(state.count().iter().enumerate().map(|(output, &count)| {
                    moments.value(count, [0, 1, 2].map(|power| state.sum(power)[output]))
                }));
            };
            fold_rows(self, &plan, &moments, options, push)?
        };
        Ok((values, report))
    }

    fn filled(&self, outputs: u64, value: f64) -> Result<Vec<f64>, Error> {
        filled(outputs, value, "the result").map_err(|error| self.place(error))
    }

    fn check_moment(
        &self,
        order: usize,
        coordinates: &Coordinates<'_>,
        channels: u64,
    ) -> Result<(), Error> {
        let found = if order > 2 {
            format!("order {order}")
        } else if coordinates.values.len() as u64 != channels {
            format!("{} coordinates for {channels} pixels", coordinates.values.len())
        } else if let Some(value) = coordinates.values.iter().find(|value| !value.is_finite()) {
            format!("a coordinate of {value}")
        } else if !coordinates.width.is_finite() {
            format!("a width of {}", coordinates.width)
        } else {
            return Ok(());
        };
        let expected = "order 0 to 2, one finite coordinate per pixel, and a finite width";
        Err(self.refused(Reason::Moment, expected, found))
    }
}

/// How pixels become sums, and sums a moment.
struct Moments {
    order: usize,
    encoding: Encoding,
    tier: Tier,
    /// Coordinates are taken from their middle: squares of frequencies in Hz would leave nothing of the difference that
    /// moment 2 is.
    middle: f64,
    offsets: Vec<f64>,
    width: f64,
}

impl Moments {
    fn new(order: usize, coordinates: &Coordinates<'_>, encoding: Encoding, tier: Tier) -> Moments {
        let middle = coordinates.values[coordinates.values.len() / 2];
        let offsets = coordinates.values.iter().map(|value| value - middle).collect();
        Moments { order, encoding, tier, middle, offsets, width: coordinates.width }
    }

    /// The moment of an output, from its sums of I, I·u and I·u².
    fn value(&self, count: u64, [sum, first, second]: [f64; 3]) -> f64 {
        if count == 0 {
            return f64::NAN;
        }
        if self.order == 0 {
            return sum * self.width;
        }
        if sum == 0.0 {
            return f64::NAN;
        }
        let mean = first / sum;
        match self.order {
            1 => self.middle + mean,
            _ => dispersion(second / sum, mean),
        }
    }
}

/// The square root of `square - mean²`: NaN where that is negative, 0 where it is nothing but rounding.
///
/// With all the flux at one coordinate u, `square` is u² but for three roundings (two products, a quotient) and the
/// square of `mean` is u² but for five (a product and a quotient, each twice in the square, and the square itself). A
/// rounding is at most EPSILON / 2, so the difference is at most 4 · EPSILON · u² = 2 · EPSILON · (square + mean²), has no
/// digit that means anything, and its sign is chance. Twice that is allowed, for terms of second order and fluxes that
/// were rounded when added up. The comparison is strict so that an overflow to infinity is not taken for rounding.
fn dispersion(square: f64, mean: f64) -> f64 {
    let variance = square - mean * mean;
    let rounding = 4.0 * f64::EPSILON * (square.abs() + mean * mean);
    if variance.abs() < rounding { 0.0 } else { variance.sqrt() }
}

impl RowFold for Moments {
    type State = SpectralRows;

    fn slab(
        &self,
        outputs: usize,
        rows: &[Row<'_>],
        encoding: &Encoding,
        tier: Tier,
    ) -> SpectralRows {
        let mut state = SpectralRows::new(outputs);
        each_tile(outputs, rows, encoding, |at, bytes, row| {
            state.accumulate(at, bytes, encoding, tier, self.offsets[row as usize]);
        });
        state
    }

    fn merge(&self, state: &mut SpectralRows, later: &SpectralRows) {
        state.merge(later);
    }
}

impl LineFold for Moments {
    type State = SpectralSum;

    fn accumulate(&self, state: &mut SpectralSum, bytes: &[u8], position: u64) {
        let offsets = &self.offsets[position as usize..];
        state.accumulate(bytes, &self.encoding, self.tier, offsets);
    }

    fn merge(&self, state: &mut SpectralSum, later: &SpectralSum) {
        state.merge(later);
    }
}
