//! Minimum and maximum over rows, with the rows that have them.

use super::{RowStep, add_row};
use crate::isa::Tier;
use crate::source::Encoding;

/// Minimum and maximum per output, and the number of the row that has each first.
///
/// ```
/// use tachyfits_kernels::{Encoding, ExtremaRows, PixelType, Tier};
/// let mut extrema = ExtremaRows::new(2);
/// for (number, row) in [[7, 1], [3, 9]].iter().enumerate() {
///     extrema.accumulate(0, row, &Encoding::plain(PixelType::U8), Tier::SCALAR, number as u64);
/// }
/// assert_eq!((extrema.min(), extrema.min_row()), (&[3.0, 1.0][..], &[1, 0][..]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExtremaRows {
    min: Vec<f64>,
    max: Vec<f64>,
    min_row: Vec<u64>,
    max_row: Vec<u64>,
}

impl ExtremaRows {
    /// The row number of an output that has no defined pixel.
    pub const NO_ROW: u64 = u64::MAX;

    /// States of `outputs` empty outputs.
    pub fn new(outputs: usize) -> ExtremaRows {
        ExtremaRows {
            min: vec![f64::NAN; outputs],
            max: vec![f64::NAN; outputs],
            min_row: vec![Self::NO_ROW; outputs],
            max_row: vec![Self::NO_ROW; outputs],
        }
    }

    /// Adds row number `row`: its pixels go to the outputs from `at` on.
    pub fn accumulate(
        &mut self,
        at: usize,
        bytes: &[u8],
        encoding: &Encoding,
        tier: Tier,
        row: u64,
    ) {
        let step = ExtremaStep { state: self, row };
        add_row(bytes, encoding, tier, at, step);
    }

    /// Adds the states of later rows.
    pub fn merge(&mut self, later: &ExtremaRows) {
        for output in 0..self.min.len() {
            if beats_min(later.min[output], self.min[output]) {
                self.min[output] = later.min[output];
                self.min_row[output] = later.min_row[output];
            }
            if beats_max(later.max[output], self.max[output]) {
                self.max[output] = later.max[output];
                self.max_row[output] = later.max_row[output];
            }
        }
    }

    /// The smallest defined pixel of each output; NaN if none is defined.
    pub fn min(&self) -> &[f64] {
        &self.min
    }

    /// The largest.
    pub fn max(&self) -> &[f64] {
        &self.max
    }

    /// Row of the minimum; [`ExtremaRows::NO_ROW`] if no pixel is defined.
    pub fn min_row(&self) -> &[u64] {
        &self.min_row
    }

    /// Row of the maximum.
    pub fn max_row(&self) -> &[u64] {
        &self.max_row
    }
}

pub(crate) struct ExtremaStep<'a> {
    state: &'a mut ExtremaRows,
    row: u64,
}

/// Pixels that are asked together whether one of them is a new extreme. After some tens of rows few are.
const ASKED: usize = 64;

impl RowStep for ExtremaStep<'_> {
    #[inline(always)]
    fn step(&mut self, at: usize, x: &[f64]) {
        for (piece, x) in x.chunks(ASKED).enumerate() {
            let begin = at + piece * ASKED;
            let outputs = begin..begin + x.len();
            let min = Best {
                value: &mut self.state.min[outputs.clone()],
                row: &mut self.state.min_row[outputs.clone()],
            };
            let max = Best {
                value: &mut self.state.max[outputs.clone()],
                row: &mut self.state.max_row[outputs],
            };
            let mut empty = false;
            let mut improves = false;
            let (mins, maxs) = (&min.value[..x.len()], &max.value[..x.len()]);
            for at in 0..x.len() {
                empty |= mins[at].is_nan();
                improves |= (x[at] < mins[at]) | (x[at] > maxs[at]);
            }
            if empty {
                min.update(x, self.row, beats_min);
                max.update(x, self.row, beats_max);
            } else if improves {
                min.update(x, self.row, |x, min| x < min);
                max.update(x, self.row, |x, max| x > max);
            }
        }
    }
}

/// One extreme of a few outputs.
struct Best<'a> {
    value: &'a mut [f64],
    row: &'a mut [u64],
}

impl Best<'_> {
    #[inline(always)]
    fn update(self, x: &[f64], row: u64, beats: impl Fn(f64, f64) -> bool) {
        let (value, of) = (&mut self.value[..x.len()], &mut self.row[..x.len()]);
        for at in 0..x.len() {
            let wins = beats(x[at], value[at]);
            value[at] = if wins { x[at] } else { value[at] };
            of[at] = if wins { row } else { of[at] };
        }
    }
}

/// Whether `x` is a new minimum: smaller, or the first that is not NaN.
#[inline(always)]
fn beats_min(x: f64, min: f64) -> bool {
    (x < min) | (min.is_nan() & !x.is_nan())
}

/// Whether `x` is a new maximum.
#[inline(always)]
fn beats_max(x: f64, max: f64) -> bool {
    (x > max) | (max.is_nan() & !x.is_nan())
}
