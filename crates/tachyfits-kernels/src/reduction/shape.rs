//! Third and fourth moments about the mean: skewness and kurtosis, of a line of pixels and of rows.
//!
//! A leaf is read twice while it is in cache: for its mean, then for the powers of the differences from it. States are
//! merged by the formulas of Pébay 2008 (Sandia report SAND2008-6212), in the order of the pixels.
//!
//! Fourth powers of values above 1e77 or below 1e-77 exceed the range of f64. Such pixels are processed again in units
//! of a power of two near their spread, which changes neither skewness nor kurtosis.

use super::definition::{Definition, Finish, Reduction, StatisticUnit};
use crate::compensated::Compensated;
use crate::decode::decode_f64;
use crate::fold::{Accumulator, add_lanes, fold};
use crate::isa::Tier;
use crate::naive::{leaf_sum, plain_sum};
use crate::rows::slab::{COLUMNS, ColumnStep, Columns, each_column};
use crate::source::{Encoding, Source};
use crate::sum::DefinedLanes;
use crate::{LANES, LEAF_PIXELS};

/// Mergeable state of the moments about the mean up to the fourth.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, Reduction, Shape, Tier};
/// let mut shape = Shape::default();
/// shape.accumulate(&[1, 1, 1, 5], &Encoding::plain(PixelType::U8), Tier::SCALAR);
/// assert_eq!((shape.count, shape.mean()), (4, 2.0));
/// assert!((shape.skewness() - 2.0 / 3f64.sqrt()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shape {
    /// Number of defined pixels.
    pub count: u64,
    mean: Compensated,
    /// Sums of the second, third and fourth powers of the differences from the mean.
    powers: [f64; 3],
    /// Exponent of the unit, a power of two, of the mean and of the differences.
    exponent: i32,
}

/// Exponents of differences whose fourth powers lose no digits.
const USUAL_EXPONENTS: std::ops::RangeInclusive<i32> = -200..=200;

/// Sums of fourth powers that keep all digits and leave room for a factor of the number of pixels.
const EXACT_POWERS: std::ops::Range<f64> = power_of_two(-900)..power_of_two(900);

impl Shape {
    /// Returns the state of pixels in a unit near their spread; `None` if no pixel is defined or one is infinite.
    #[cold]
    fn in_unit_of(values: &[f64]) -> Option<Shape> {
        let defined = || values.iter().copied().filter(|x| !x.is_nan());
        let (min, max) = (defined().reduce(f64::min)?, defined().reduce(f64::max)?);
        if min.is_infinite() || max.is_infinite() {
            return None;
        }
        let count = defined().count() as u64;
        let Some(exponent) = exponent_of_difference(max, min) else {
            let mean = Compensated { high: min, low: 0.0 };
            return Some(Shape { count, mean, ..Shape::default() });
        };
        let exponent = unit_exponent(exponent);
        let in_unit = || defined().map(|x| times_power_of_two(x, -exponent));
        let mut sum = Compensated::default();
        in_unit().for_each(|x| sum.add(x));
        let about = sum.value() / count as f64;
        let mut sums = [Compensated::default(); 4];
        for x in in_unit() {
            let difference = x - about;
            let square = difference * difference;
            let powers = [difference, square, square * difference, square * square];
            sums.iter_mut().zip(powers).for_each(|(sum, power)| sum.add(power));
        }
        Some(Shape { exponent, ..Shape::of(count, about, sums.map(Compensated::value)) })
    }

    /// Whether the powers have all their digits. They are all zero for pixels that are equal or differ too little.
    #[inline(always)]
    fn is_exact(&self) -> bool {
        EXACT_POWERS.contains(&self.powers[2])
    }

    /// Returns the state of pixels whose differences from `about`, near their mean, have these sums of powers 1 to 4.
    /// The first sum gives the distance of `about` from the mean.
    #[inline(always)]
    fn of(count: u64, about: f64, sums: [f64; 4]) -> Shape {
        let n = count as f64;
        let [first, second, third, fourth] = sums;
        let off = first / n;
        Shape {
            count,
            mean: Compensated { high: about, low: off },
            exponent: 0,
            powers: [
                second - off * first,
                third - 3.0 * off * second + 2.0 * off * off * first,
                fourth - 4.0 * off * third + 6.0 * off * off * second
                    - 3.0 * off * off * off * first,
            ],
        }
    }

    /// Merges both states in a unit near their spread; returns `merged` if the result is not finite.
    #[cold]
    fn merged_in_unit(&self, later: &Shape, merged: Shape) -> Shape {
        let unit = self.exponent.max(later.exponent);
        let [first, second] = [self, later].map(|state| state.in_unit(unit).mean);
        let delta = exponent_of_difference(first.high, second.high)
            .or_else(|| exponent_of(first.minus(second)));
        let delta = delta.map(|exponent| unit + exponent);
        let spreads = [delta, self.spread_exponent(), later.spread_exponent()];
        let Some(exponent) = spreads.into_iter().flatten().max() else {
            return merged;
        };
        let exponent = unit_exponent(exponent);
        let in_unit = self.in_unit(exponent).merged(&later.in_unit(exponent));
        if in_unit.powers[2].is_finite() { in_unit } else { merged }
    }

    /// Returns the exponent of the square root of the second power; `None` unless it is finite and positive.
    fn spread_exponent(&self) -> Option<i32> {
        Some(self.exponent + exponent_of(self.powers[0].sqrt())?)
    }

    fn in_unit(&self, exponent: i32) -> Shape {
        let by = self.exponent - exponent;
        let [second, third, fourth] = self.powers;
        let mean = Compensated {
            high: times_power_of_two(self.mean.high, by),
            low: times_power_of_two(self.mean.low, by),
        };
        let powers = [
            times_power_of_two(second, 2 * by),
            times_power_of_two(third, 3 * by),
            times_power_of_two(fourth, 4 * by),
        ];
        Shape { count: self.count, mean, powers, exponent }
    }

    /// Merges two states of the same unit.
    #[inline(always)]
    fn merged(&self, later: &Shape) -> Shape {
        let (a, b) = (self.count as f64, later.count as f64);
        let n = a + b;
        let delta = later.mean.minus(self.mean);
        let part = delta / n;
        let [second, third, fourth] = self.powers;
        let [later_second, later_third, later_fourth] = later.powers;
        let product = delta * part * a * b;
        let powers = [
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
        let mut mean = self.mean;
        mean.add(part * b);
        Shape { count: self.count + later.count, mean, powers, exponent: self.exponent }
    }

    /// Returns the mean; NaN without pixels.
    pub fn mean(&self) -> f64 {
        match self.count {
            0 => f64::NAN,
            _ => times_power_of_two(self.mean.value(), self.exponent),
        }
    }

    /// Returns the third standardised moment of the pixels (without correction for samples); NaN without pixels or if
    /// all are equal.
    pub fn skewness(&self) -> f64 {
        match self.is_spread() {
            true => (self.count as f64).sqrt() * self.powers[1] / self.powers[0].powf(1.5),
            false => f64::NAN,
        }
    }

    /// Returns the fourth standardised moment of the pixels minus 3, its value for a normal distribution; NaN as for
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

impl Reduction for Shape {
    const STATISTICS: &'static [Definition<Shape>] = &[
        Definition {
            name: "skewness",
            meaning: "third standardised moment of the pixels; NaN where all have one value",
            unit: StatisticUnit::None,
            finish: Finish::Float(|shape, _| shape.skewness()),
        },
        Definition {
            name: "kurtosis",
            meaning: "fourth standardised moment of the pixels less 3, which a normal distribution has; NaN as for skewness",
            unit: StatisticUnit::None,
            finish: Finish::Float(|shape, _| shape.kurtosis()),
        },
    ];

    fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        for leaf in bytes.chunks(LEAF_PIXELS * encoding.pixel_bytes()) {
            let (count, sum) = fold(leaf, encoding, tier, DefinedLanes::default()).count_and_sum();
            if count > 0 {
                let about = sum / count as f64;
                let powers = fold(leaf, encoding, tier, PowerLanes::about([about; LANES]));
                let sums = powers.sums.map(|lanes| add_lanes(&lanes));
                let mut state = Shape::of(count, about, sums);
                if !state.is_exact() {
                    let mut values = vec![0.0; leaf.len() / encoding.pixel_bytes()];
                    decode_f64(leaf, encoding, tier, &mut values);
                    state = Shape::in_unit_of(&values).unwrap_or(state);
                }
                self.merge(&state);
            }
        }
    }

    fn slab(outputs: usize, rows: &[&[u8]], encoding: &Encoding, tier: Tier) -> Vec<Shape> {
        let mut states = vec![Shape::default(); outputs];
        each_column(outputs, rows, encoding, tier, &mut ShapeStep(&mut states));
        let bytes = encoding.pixel_bytes();
        for (output, shape) in states.iter_mut().enumerate() {
            if shape.count > 0 && !shape.is_exact() {
                let pixels = rows.iter().flat_map(|row| &row[output * bytes..][..bytes]).copied();
                let mut values = vec![0.0; rows.len()];
                decode_f64(&pixels.collect::<Vec<u8>>(), encoding, tier, &mut values);
                *shape = Shape::in_unit_of(&values).unwrap_or(*shape);
            }
        }
        states
    }

    #[inline(always)]
    fn merge(&mut self, later: &Shape) {
        if later.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *later;
            return;
        }
        let merged = self.merged(later);
        let is_usual = self.exponent == later.exponent && merged.is_exact();
        *self = if is_usual { merged } else { self.merged_in_unit(later, merged) };
    }

    fn naive_line(values: &[f64]) -> Shape {
        let mut state = Shape::default();
        for leaf in values.chunks(LEAF_PIXELS) {
            let count = leaf.iter().filter(|x| !x.is_nan()).count() as u64;
            if count > 0 {
                let about = leaf_sum(leaf) / count as f64;
                state
                    .merge(&naive_of(leaf, count, about, |terms| plain_sum(terms.iter().copied())));
            }
        }
        state
    }

    fn naive_column(values: &[f64]) -> Shape {
        let defined = values.iter().filter(|x| !x.is_nan());
        let count = defined.clone().count() as u64;
        match count {
            0 => Shape::default(),
            _ => naive_of(values, count, in_order(defined) / count as f64, |terms| {
                in_order(terms.iter())
            }),
        }
    }
}

/// Adds terms one after another.
fn in_order<'a>(terms: impl Iterator<Item = &'a f64>) -> f64 {
    terms.fold(0.0, |sum, term| sum + term)
}

/// Returns the state of pixels, some defined, from the powers of their differences from a number.
fn naive_of(values: &[f64], count: u64, about: f64, sum: fn(&[f64]) -> f64) -> Shape {
    let differences = values.iter().map(|x| if x.is_nan() { 0.0 } else { x - about });
    let powers: Vec<[f64; 4]> = differences.map(|d| [d, d * d, d * d * d, d * d * d * d]).collect();
    let sums = std::array::from_fn(|power| {
        sum(&powers.iter().map(|powers| powers[power]).collect::<Vec<_>>())
    });
    let plain = Shape::of(count, about, sums);
    let in_unit = if plain.is_exact() { None } else { Shape::in_unit_of(values) };
    in_unit.unwrap_or(plain)
}

/// Returns the exponent of a unit for differences of about 2^`exponent`: 0 if they lose no digits without a unit.
fn unit_exponent(exponent: i32) -> i32 {
    match USUAL_EXPONENTS.contains(&exponent) {
        true => 0,
        // Larger exponents would need reciprocals beyond the range of f64.
        false => exponent.clamp(-1000, 1000),
    }
}

/// Returns the exponent of the power of two at or below a magnitude; `None` for 0, infinity and NaN.
fn exponent_of(x: f64) -> Option<i32> {
    if x == 0.0 || !x.is_finite() {
        return None;
    }
    let (x, shift) = if x.is_normal() { (x, 0) } else { (x * power_of_two(100), 100) };
    Some((x.to_bits() >> 52 & 0x7ff) as i32 - 1023 - shift)
}

/// Returns the exponent of the difference of two finite numbers, which may exceed f64; `None` if they are equal.
fn exponent_of_difference(a: f64, b: f64) -> Option<i32> {
    match (a - b).is_finite() {
        true => exponent_of(a - b),
        false => exponent_of(a / 2.0 - b / 2.0).map(|exponent| exponent + 1),
    }
}

/// Returns 2 to a power from -1022 to 1023.
const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Multiplies a number by 2 to any power.
fn times_power_of_two(mut x: f64, mut exponent: i32) -> f64 {
    while exponent != 0 && x != 0.0 && x.is_finite() {
        let step = exponent.clamp(-1000, 1000);
        x *= power_of_two(step);
        exponent -= step;
    }
    x
}

/// Sums of the powers 1 to 4 of the differences from a number; undefined pixels contribute 0.
#[derive(Clone, Copy)]
struct PowerLanes {
    about: [f64; LANES],
    sums: [[f64; LANES]; 4],
}

impl PowerLanes {
    #[inline(always)]
    fn about(about: [f64; LANES]) -> PowerLanes {
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

/// Operation on each column.
struct ShapeStep<'a>(&'a mut [Shape]);

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
