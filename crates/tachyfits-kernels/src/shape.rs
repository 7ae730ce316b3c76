//! The third and fourth moments about the mean: skewness and kurtosis, of a line of pixels and of rows.
//!
//! A leaf is read twice while it is in cache: its mean, then the powers of the differences from it. States are merged
//! by the formulas of Pébay 2008 (Sandia report SAND2008-6212), in the order of the pixels.

use crate::compensated::Compensated;
use crate::fold::{Accumulator, add_lanes, fold};
use crate::isa::Tier;
use crate::rows::slab::{COLUMNS, ColumnStep, Columns, each_column};
use crate::source::{Encoding, Source};
use crate::sum::DefinedLanes;
use crate::{LANES, LEAF_PIXELS};

/// Mergeable state of the moments about the mean up to the fourth.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, Shape, Tier};
/// let mut shape = Shape::default();
/// shape.accumulate(&[1, 1, 1, 5], &Encoding::plain(PixelType::U8), Tier::SCALAR);
/// assert_eq!((shape.count, shape.mean()), (4, 2.0));
/// assert!((shape.skewness() - 2.0 / 3f64.sqrt()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shape {
    /// Pixels that are defined.
    pub count: u64,
    mean: Compensated,
    /// Sums of the second, third and fourth powers of the differences from the mean.
    powers: [f64; 3],
}

impl Shape {
    /// Adds the pixels of `bytes`, leaf by leaf. Bytes after the last whole pixel are ignored.
    pub fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        for leaf in bytes.chunks(LEAF_PIXELS * encoding.pixel_bytes()) {
            let (count, sum) = fold(leaf, encoding, tier, DefinedLanes::default()).count_and_sum();
            if count > 0 {
                let about = sum / count as f64;
                let powers = fold(leaf, encoding, tier, PowerLanes::about([about; LANES]));
                let sums = powers.sums.map(|lanes| add_lanes(&lanes));
                self.merge(&Shape::of(count, about, sums));
            }
        }
    }

    /// The state of pixels whose differences from `about`, near their mean, have these sums of powers 1 to 4. The first
    /// says how far `about` is from the mean.
    #[inline(always)]
    pub(crate) fn of(count: u64, about: f64, sums: [f64; 4]) -> Shape {
        let n = count as f64;
        let [first, second, third, fourth] = sums;
        let off = first / n;
        Shape {
            count,
            mean: Compensated { high: about, low: off },
            powers: [
                second - off * first,
                third - 3.0 * off * second + 2.0 * off * off * first,
                fourth - 4.0 * off * third + 6.0 * off * off * second
                    - 3.0 * off * off * off * first,
            ],
        }
    }

    /// Adds the state of pixels that come later.
    #[inline(always)]
    pub fn merge(&mut self, later: &Shape) {
        if later.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *later;
            return;
        }
        let (a, b) = (self.count as f64, later.count as f64);
        let n = a + b;
        let delta = later.mean.minus(self.mean);
        let part = delta / n;
        let [second, third, fourth] = self.powers;
        let [later_second, later_third, later_fourth] = later.powers;
        let product = delta * part * a * b;
        self.powers = [
            second + later_second + product,
            third
                + later_third
                + product * part * (a - b)
                + 3.0 * part * (a * later_second - b * second),
            fourth
                + later_fourth
                + product * part * part * (a * a - a * b + b * b)
                + 6.0 * part * part * (a * a * later_second + b * b * second)
                + 4.0 * part * (a * later_third - b * third),
        ];
        self.mean.add(part * b);
        self.count += later.count;
    }

    /// The mean; NaN without pixels.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean.value() }
    }

    /// The third standardised moment of the pixels (not of a population that they are a sample of); NaN without pixels
    /// and where all have one value.
    pub fn skewness(&self) -> f64 {
        match self.is_spread() {
            true => (self.count as f64).sqrt() * self.powers[1] / self.powers[0].powf(1.5),
            false => f64::NAN,
        }
    }

    /// The fourth standardised moment of the pixels less 3, which a normal distribution has; NaN as for
    /// [`Shape::skewness`].
    pub fn kurtosis(&self) -> f64 {
        match self.is_spread() {
            true => self.count as f64 * self.powers[2] / (self.powers[0] * self.powers[0]) - 3.0,
            false => f64::NAN,
        }
    }

    /// Whether the pixels differ by more than the rounding of their mean.
    fn is_spread(&self) -> bool {
        let rounding = f64::EPSILON * self.mean.value();
        self.powers[0] > self.count as f64 * rounding * rounding && self.powers[0] > 0.0
    }
}

/// Sums of the powers 1 to 4 of the differences from a number; an undefined pixel differs by nothing.
#[derive(Clone, Copy)]
pub(crate) struct PowerLanes {
    about: [f64; LANES],
    sums: [[f64; LANES]; 4],
}

impl PowerLanes {
    #[inline(always)]
    pub(crate) fn about(about: [f64; LANES]) -> PowerLanes {
        PowerLanes { about, sums: [[0.0; LANES]; 4] }
    }
}

impl Accumulator for PowerLanes {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        let mut differences = [0.0; LANES];
        for lane in 0..x.len() {
            let difference = x[lane] - self.about[lane];
            differences[lane] = if x[lane].is_nan() { 0.0 } else { difference };
        }
        let mut powers = differences;
        for sums in &mut self.sums {
            for lane in 0..LANES {
                sums[lane] += powers[lane];
            }
            for lane in 0..LANES {
                powers[lane] *= differences[lane];
            }
        }
    }
}

/// The states of outputs side by side, fed by slabs of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeRows {
    /// The state of each output.
    pub outputs: Vec<Shape>,
}

impl ShapeRows {
    /// The state of one slab: rows of `outputs` pixels each.
    pub fn slab(outputs: usize, rows: &[&[u8]], encoding: &Encoding, tier: Tier) -> ShapeRows {
        let mut state = ShapeRows { outputs: vec![Shape::default(); outputs] };
        each_column(outputs, rows, encoding, tier, &mut ShapeStep(&mut state.outputs));
        state
    }

    /// Adds the states of later rows.
    pub fn merge(&mut self, later: &ShapeRows) {
        for (output, later) in self.outputs.iter_mut().zip(&later.outputs) {
            output.merge(later);
        }
    }
}

/// Contribution of each column to the states.
pub(crate) struct ShapeStep<'a>(&'a mut [Shape]);

impl ColumnStep for ShapeStep<'_> {
    #[inline(always)]
    fn take<S: Source>(&mut self, columns: &Columns<'_, S>) {
        let mut sums = [DefinedLanes::default(); COLUMNS];
        columns.fold(&mut sums);
        let mean = |sums: &DefinedLanes| {
            std::array::from_fn(|lane| match sums.count[lane] {
                0 => 0.0,
                count => sums.sum[lane] / count as f64,
            })
        };
        let mut powers = [PowerLanes::about([0.0; LANES]); COLUMNS];
        for (powers, sums) in powers.iter_mut().zip(&sums) {
            powers.about = mean(sums);
        }
        columns.fold(&mut powers);
        for output in 0..columns.outputs {
            let (column, lane) = (output / LANES, output % LANES);
            let count = sums[column].count[lane];
            if count > 0 {
                let powers = &powers[column];
                let sums = powers.sums.map(|lanes| lanes[lane]);
                self.0[columns.first + output] = Shape::of(count, powers.about[lane], sums);
            }
        }
    }
}
