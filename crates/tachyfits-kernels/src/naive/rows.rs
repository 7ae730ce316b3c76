//! Twins of the reductions across rows: one output after another, pixel by pixel.

use super::decode_f64;
use crate::{Common, Compensated, Encoding, ExtremaRows};

/// Returns the pixels of each output: `columns[output][row]`.
pub(crate) fn columns(rows: &[&[u8]], encoding: &Encoding) -> Vec<Vec<f64>> {
    let rows: Vec<Vec<f64>> = rows.iter().map(|row| decode_f64(row, encoding)).collect();
    let outputs = rows.first().map_or(0, Vec::len);
    (0..outputs).map(|output| rows.iter().map(|row| row[output]).collect()).collect()
}

/// Returns count and sum of the defined pixels, added in the order of rows.
fn count_and_sum(column: &[f64]) -> (u64, f64) {
    let defined = column.iter().filter(|x| !x.is_nan());
    defined.fold((0, 0.0), |(count, sum), x| (count + 1, sum + x))
}

/// Twin of [`crate::SumRows`]: count and sum of each output.
pub fn sum_rows(rows: &[&[u8]], encoding: &Encoding) -> Vec<(u64, f64)> {
    columns(rows, encoding).iter().map(|column| count_and_sum(column)).collect()
}

/// Twin of [`crate::SumRows::common`], for outputs that it compares.
pub fn common_rows(rows: &[&[u8]], encoding: &Encoding) -> Vec<Common> {
    let common =
        |column: &Vec<f64>| column.iter().fold(Common::Unknown, |common, &x| common.and(x));
    columns(rows, encoding).iter().map(common).collect()
}

/// Count, sum and second moment of one output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of defined pixels.
    pub count: u64,
    /// Sum of the defined pixels.
    pub sum: f64,
    /// Mean of the defined pixels, to more than f64's precision.
    pub center: Compensated,
    /// Sum of squared differences from the mean.
    pub squares: f64,
}

impl Moments {
    /// Merges the moments of later rows, by Chan's formula.
    pub fn merge(&mut self, later: &Moments) {
        if self.count == 0 {
            *self = Moments { sum: self.sum + later.sum, ..*later };
        } else if later.count > 0 {
            let (n, m) = (self.count as f64, later.count as f64);
            let delta = later.center.minus(self.center);
            self.center.add(delta * (m / (n + m)));
            self.squares += later.squares + delta * delta * (n * (m / (n + m)));
            self.count += later.count;
            self.sum += later.sum;
        }
    }
}

/// Twin of [`crate::MomentRows::slab`].
pub fn moment_slab(rows: &[&[u8]], encoding: &Encoding) -> Vec<Moments> {
    columns(rows, encoding).iter().map(|column| moments(column)).collect()
}

fn moments(column: &[f64]) -> Moments {
    let (count, sum) = count_and_sum(column);
    if count == 0 {
        return Moments { count, sum, center: Compensated::default(), squares: 0.0 };
    }
    let n = count as f64;
    let mean = sum / n;
    let (mut differences, mut squares) = (0.0, 0.0);
    for x in column.iter().filter(|x| !x.is_nan()) {
        let difference = x - mean;
        differences += difference;
        squares += difference * difference;
    }
    Moments {
        count,
        sum,
        center: Compensated { high: mean, low: differences / n },
        squares: squares - differences * differences / n,
    }
}

/// Extremes of one output: the value, and its first row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extrema {
    /// Smallest pixel; NaN if none is defined.
    pub min: f64,
    /// Row of the smallest pixel, or [`ExtremaRows::NO_ROW`].
    pub min_row: u64,
    /// Largest pixel.
    pub max: f64,
    /// Row of the largest pixel.
    pub max_row: u64,
}

/// Twin of [`ExtremaRows`], with rows numbered from `first_row`.
pub fn extrema_rows(rows: &[&[u8]], encoding: &Encoding, first_row: u64) -> Vec<Extrema> {
    columns(rows, encoding).iter().map(|column| extrema(column, first_row)).collect()
}

fn extrema(column: &[f64], first_row: u64) -> Extrema {
    let none = ExtremaRows::NO_ROW;
    let mut extrema = Extrema { min: f64::NAN, min_row: none, max: f64::NAN, max_row: none };
    for (row, &x) in (first_row..).zip(column) {
        if x.is_nan() {
            continue;
        }
        if extrema.min_row == none || x < extrema.min {
            (extrema.min, extrema.min_row) = (x, row);
        }
        if extrema.max_row == none || x > extrema.max {
            (extrema.max, extrema.max_row) = (x, row);
        }
    }
    extrema
}

/// Twin of [`crate::SpectralRows`]. Row `i` has the coordinate `u[i]`; returns the count, and the sums of pixel times
/// the coordinate to the power of 0, 1 and 2.
pub fn spectral_rows(rows: &[&[u8]], encoding: &Encoding, u: &[f64]) -> Vec<(u64, [f64; 3])> {
    let moments = |column: &Vec<f64>| {
        let mut count = 0;
        let mut sums = [0.0; 3];
        for (&x, &u) in column.iter().zip(u).filter(|(x, _)| !x.is_nan()) {
            count += 1;
            sums[0] += x;
            sums[1] += x * u;
            sums[2] += x * u * u;
        }
        (count, sums)
    };
    columns(rows, encoding).iter().map(moments).collect()
}
