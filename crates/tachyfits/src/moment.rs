//! Spectral moments: images of the intensity weighted with powers of the coordinate along an axis.

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{Encoding, SpectralRows, SpectralSum, Tier};
use tachyfits_memory::{self as memory, NoMemory};

use crate::error::{Error, Reason};
use crate::grid::Grid;
use crate::image::{Image, filled, tier};
use crate::line_fold::{LeafRows, LineFold, fold_lines};
use crate::lines::GridLines;
use crate::row_fold::{Row, RowFold, RowPlan, fold_rows};
use crate::section::Section;

/// Coordinate of each pixel along the axis.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    /// Coordinates, one per pixel of the section along the axis, in the unit of the axis and in the order of
    /// the section.
    pub values: &'a [f64],
    /// Widths of the channels for the integral of moment 0, in the same unit: one per pixel, or a single
    /// common width.
    pub widths: &'a [f64],
}

impl Image {
    /// Computes moments along `axis` (0 is NAXIS1) in one pass. Returns, for each of `orders` 0, 1 and 2, one
    /// number per output in the order of the remaining axes.
    ///
    /// Moment 0 is the sum of I times the width of its channel. Moment 1 is the mean coordinate weighted with
    /// I. Moment 2 is the dispersion about it: the square root of the weighted mean of squared differences, 0
    /// if it is below the rounding error. Results are NaN if no pixel is defined, if the weights add up to 0,
    /// or if negative intensities make the mean square negative. Widths do not weight moments 1 and 2, as in
    /// other packages.
    ///
    /// ```
    /// use tachyfits::{Array, Header, RunOptions};
    /// use tachyfits::statistics::Coordinates;
    /// // Two lines of sight of 3 channels: 1 2 1 and 0 5 0.
    /// let image = Array::new(&[1u8, 0, 2, 5, 1, 0], &[2, 3]).to_file("example", &Header::new())?.image(0)?;
    /// let coordinates = Coordinates { values: &[10.0, 20.0, 30.0], widths: &[10.0] };
    /// let (moments, _) =
    ///     image.moments(&[0, 1], 1, coordinates, &image.whole(), &RunOptions::default())?;
    /// assert_eq!(moments, [[40.0, 50.0], [20.0, 20.0]]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Moment`] for another order, for non-finite coordinates, or if the number of coordinates
    /// differs from the number of pixels; [`Reason::Memory`] if the result does not fit in memory; otherwise
    /// as [`Image::stats`].
    pub fn moments(
        &self,
        orders: &[usize],
        axis: usize,
        coordinates: Coordinates<'_>,
        section: &Section,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<Vec<f64>>, Report), Error> {
        let reduced = self.reduced_axes(&[axis])?;
        self.check_section(section)?;
        self.check_moments(orders, &coordinates, section.ranges()[axis].count)?;
        let grid = Grid::new(self.axes(), section, &reduced);
        self.check_present(grid.last_pixel())?;
        let result = |_| filled(grid.outputs, f64::NAN, "the result");
        let values: Result<Vec<Vec<f64>>, _> = orders.iter().map(result).collect();
        let mut values = values.map_err(|error| self.place(error))?;
        if grid.outputs == 0 || grid.reduced == 0 {
            return Ok((values, Report::default()));
        }
        values.iter_mut().for_each(Vec::clear);
        let moments = Moments::new(orders, &coordinates, self.encoding(), tier())?;
        let report = if !grid.is_kept_innermost() {
            let lines = GridLines::new(&grid, true, self.pixel_bytes());
            let push = |state: &LineSums| moments.push(state.sums(), &mut values);
            fold_lines(self, &lines, &moments, grid.outputs, options, push)?
        } else {
            let plan = RowPlan::new(&grid, self.pixel_bytes());
            let push = |state: SlabSums| {
                (0..state.powers.count().len())
                    .for_each(|output| moments.push(state.sums(output), &mut values));
            };
            fold_rows(self, &plan, &moments, options, push)?
        };
        Ok((values, report))
    }

    fn check_moments(
        &self,
        orders: &[usize],
        coordinates: &Coordinates<'_>,
        channels: u64,
    ) -> Result<(), Error> {
        let Coordinates { values, widths } = *coordinates;
        let actual = if let Some(order) = orders.iter().find(|order| **order > 2) {
            format!("order {order}")
        } else if values.len() as u64 != channels {
            format!("{} coordinates for {channels} pixels", values.len())
        } else if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            format!("a coordinate of {value}")
        } else if widths.len() != 1 && widths.len() as u64 != channels {
            format!("{} widths for {channels} pixels", widths.len())
        } else if let Some(width) = widths.iter().find(|width| !width.is_finite()) {
            format!("a width of {width}")
        } else {
            return Ok(());
        };
        let expected = "orders 0 to 2, and finite coordinates and widths, one per pixel";
        Err(self.refused(Reason::Moment, expected, actual))
    }
}

/// Computes sums of pixels, and moments of sums.
struct Moments<'a> {
    orders: &'a [usize],
    encoding: Encoding,
    tier: Tier,
    /// Middle of the coordinates, which is subtracted from them: squares of frequencies in Hz would lose the
    /// precision that moment 2 needs.
    middle: f64,
    offsets: Vec<f64>,
    /// Common width of all channels. If widths differ and the integral is requested, `widths` contains all of
    /// them as the weights of a separate sum.
    width: f64,
    widths: Option<&'a [f64]>,
}

/// Sums of one output.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: u64,
    /// Sums of I, I·u and I·u².
    powers: [f64; 3],
    /// Sum of I times the width of its channel, if widths differ.
    integral: f64,
}

impl<'a> Moments<'a> {
    fn new(
        orders: &'a [usize],
        coordinates: &Coordinates<'a>,
        encoding: Encoding,
        tier: Tier,
    ) -> Result<Moments<'a>, NoMemory> {
        let Coordinates { values, widths } = *coordinates;
        let middle = values[values.len() / 2];
        let offsets = values.iter().map(|value| value - middle);
        let offsets = memory::collected(offsets, "the coordinates of channels")?;
        let differ = orders.contains(&0) && widths.iter().any(|width| *width != widths[0]);
        let width = widths[0];
        let widths = differ.then_some(widths);
        Ok(Moments { orders, encoding, tier, middle, offsets, width, widths })
    }

    /// Appends the moments of an output.
    fn push(&self, sums: Sums, values: &mut [Vec<f64>]) {
        for (order, values) in self.orders.iter().zip(values) {
            values.push(self.value(*order, &sums));
        }
    }

    fn value(&self, order: usize, sums: &Sums) -> f64 {
        let [sum, first, second] = sums.powers;
        match order {
            _ if sums.count == 0 => f64::NAN,
            0 if self.widths.is_some() => sums.integral,
            0 => sum * self.width,
            _ if sum == 0.0 => f64::NAN,
            1 => self.middle + first / sum,
            _ => dispersion(second / sum, first / sum),
        }
    }
}

/// Returns the square root of `square - mean²`: NaN if the difference is negative, 0 if it is only rounding.
///
/// With all the flux at one coordinate u, `square` equals u² except for three roundings (two products, a
/// quotient), and the square of `mean` equals u² except for five (a product and a quotient, each twice in the
/// square, and the square itself). A rounding is at most EPSILON / 2, so the difference is at most 4 ·
/// EPSILON · u² = 2 · EPSILON · (square + mean²), without any significant digit and with a random sign. The
/// limit is twice that, for terms of second order and fluxes rounded when added. The comparison is strict so
/// that an overflow to infinity does not count as rounding.
fn dispersion(square: f64, mean: f64) -> f64 {
    let variance = square - mean * mean;
    let rounding = 4.0 * f64::EPSILON * (square.abs() + mean * mean);
    if variance.abs() < rounding { 0.0 } else { variance.sqrt() }
}

/// Sums of the outputs of a tile.
struct SlabSums {
    powers: SpectralRows,
    /// Sums weighted with widths instead of coordinates.
    widths: Option<SpectralRows>,
}

impl SlabSums {
    fn sums(&self, output: usize) -> Sums {
        Sums {
            count: self.powers.count()[output],
            powers: [0, 1, 2].map(|power| self.powers.sum(power)[output]),
            integral: self.widths.as_ref().map_or(0.0, |widths| widths.sum(1)[output]),
        }
    }
}

impl RowFold for Moments<'_> {
    type State = SlabSums;

    fn slab(&self, outputs: usize, rows: &[Row<'_>], encoding: &Encoding, tier: Tier) -> SlabSums {
        let bytes: Vec<&[u8]> = rows.iter().map(|row| row.bytes).collect();
        let weighted = |weights: &[f64]| {
            let of_rows: Vec<f64> = rows.iter().map(|row| weights[row.position as usize]).collect();
            SpectralRows::slab(outputs, &bytes, &of_rows, encoding, tier)
        };
        SlabSums { powers: weighted(&self.offsets), widths: self.widths.map(weighted) }
    }

    fn merge(&self, state: &mut SlabSums, later: &SlabSums) {
        state.powers.merge(&later.powers);
        if let (Some(widths), Some(later)) = (&mut state.widths, &later.widths) {
            widths.merge(later);
        }
    }
}

/// Sums of the pixels of one output.
#[derive(Clone, Default)]
struct LineSums {
    powers: SpectralSum,
    /// Sums weighted with widths instead of coordinates.
    widths: SpectralSum,
}

impl LineSums {
    fn sums(&self) -> Sums {
        let SpectralSum { count, sums } = self.powers;
        Sums { count, powers: sums, integral: self.widths.sums[1] }
    }
}

impl LineFold for Moments<'_> {
    type State = LineSums;
    const HAS_POSITIONS: bool = false;

    fn accumulate(&self, state: &mut LineSums, bytes: &[u8], position: u64) {
        let at = position as usize;
        state.powers.accumulate(bytes, &self.encoding, self.tier, &self.offsets[at..]);
        if let Some(widths) = self.widths {
            state.widths.accumulate(bytes, &self.encoding, self.tier, &widths[at..]);
        }
    }

    /// Only one axis is reduced, so no rows share a leaf.
    fn place(&self, _state: &mut Self::State, _rows: &LeafRows) {}

    fn merge(&self, state: &mut LineSums, later: &LineSums) {
        state.powers.merge(&later.powers);
        state.widths.merge(&later.widths);
    }
}
