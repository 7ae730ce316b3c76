//! Minimum and maximum over rows, with their rows.

#![expect(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "NaN, the extreme of no pixels, compares false: a negated comparison lets the first pixel win in one instruction"
)]
#![expect(clippy::needless_range_loop, reason = "indexed loops become vector code on every tier")]

use super::slab::{COLUMNS, ColumnStep, Columns, RowAccumulator, each_column};
use crate::LANES;
use crate::isa::Tier;
use crate::source::{Encoding, Source};

/// Minimum and maximum per output, each with the number of its first row.
///
/// ```
/// use tachyfits_kernels::{Encoding, ExtremaRows, PixelType, Tier};
/// let rows: [&[u8]; 2] = [&[7, 1], &[3, 9]];
/// let plain = Encoding::plain(PixelType::U8);
/// let extrema = ExtremaRows::slab(2, &rows, &[10, 11], &plain, Tier::SCALAR);
/// assert_eq!((extrema.min(), extrema.min_row()), (&[3.0, 1.0][..], &[11, 10][..]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExtremaRows {
    min: Vec<f64>,
    max: Vec<f64>,
    min_row: Vec<u64>,
    max_row: Vec<u64>,
}

impl ExtremaRows {
    /// Row number of an output without defined pixels.
    pub const NO_ROW: u64 = u64::MAX;

    /// Returns the states of `outputs` empty outputs.
    pub fn new(outputs: usize) -> ExtremaRows {
        ExtremaRows {
            min: vec![f64::NAN; outputs],
            max: vec![f64::NAN; outputs],
            min_row: vec![Self::NO_ROW; outputs],
            max_row: vec![Self::NO_ROW; outputs],
        }
    }

    /// Returns the state of one slab: rows of `outputs` pixels each, with the row numbers `numbers`.
    pub fn slab(
        outputs: usize,
        rows: &[&[u8]],
        numbers: &[u64],
        encoding: &Encoding,
        tier: Tier,
    ) -> ExtremaRows {
        let mut state = ExtremaRows::new(outputs);
        each_column(outputs, rows, encoding, tier, &mut ExtremaStep { state: &mut state, numbers });
        state
    }

    /// Merges the states of later rows.
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

    /// Returns the smallest defined pixel of each output; NaN if none is defined.
    pub fn min(&self) -> &[f64] {
        &self.min
    }

    /// Returns the largest defined pixel of each output; NaN if none is defined.
    pub fn max(&self) -> &[f64] {
        &self.max
    }

    /// Returns the row of each minimum; [`ExtremaRows::NO_ROW`] if no pixel is defined.
    pub fn min_row(&self) -> &[u64] {
        &self.min_row
    }

    /// Returns the row of each maximum.
    pub fn max_row(&self) -> &[u64] {
        &self.max_row
    }
}

/// Operation on each column.
pub(crate) struct ExtremaStep<'a> {
    state: &'a mut ExtremaRows,
    numbers: &'a [u64],
}

impl ColumnStep for ExtremaStep<'_> {
    #[inline(always)]
    fn take<S: Source>(&mut self, columns: &Columns<'_, S>) {
        let mut extrema = [ExtremaLanes::NONE; COLUMNS];
        columns.fold(&mut extrema);
        let number = |row: u64| self.numbers.get(row as usize).copied();
        for (column, (first, lanes)) in extrema.iter().zip(columns.places()) {
            let outputs = first..first + lanes;
            self.state.min[outputs.clone()].copy_from_slice(&column.min[..lanes]);
            self.state.max[outputs].copy_from_slice(&column.max[..lanes]);
            for lane in 0..lanes {
                let rows = [column.min_row[lane], column.max_row[lane]];
                let [min, max] = rows.map(|row| number(row).unwrap_or(ExtremaRows::NO_ROW));
                self.state.min_row[first + lane] = min;
                self.state.max_row[first + lane] = max;
            }
        }
    }
}

/// Extremes of a column, and their rows in the slab.
#[derive(Clone, Copy)]
struct ExtremaLanes {
    min: [f64; LANES],
    max: [f64; LANES],
    min_row: [u64; LANES],
    max_row: [u64; LANES],
}

impl ExtremaLanes {
    const NONE: ExtremaLanes = ExtremaLanes {
        min: [f64::NAN; LANES],
        max: [f64::NAN; LANES],
        min_row: [ExtremaRows::NO_ROW; LANES],
        max_row: [ExtremaRows::NO_ROW; LANES],
    };
}

impl RowAccumulator for ExtremaLanes {
    #[inline(always)]
    fn row(&mut self, row: usize, x: &[f64; LANES]) {
        let row = row as u64;
        for lane in 0..LANES {
            let wins = beats_min(x[lane], self.min[lane]);
            self.min[lane] = if wins { x[lane] } else { self.min[lane] };
            self.min_row[lane] = if wins { row } else { self.min_row[lane] };
        }
        for lane in 0..LANES {
            let wins = beats_max(x[lane], self.max[lane]);
            self.max[lane] = if wins { x[lane] } else { self.max[lane] };
            self.max_row[lane] = if wins { row } else { self.max_row[lane] };
        }
    }
}

/// Whether `x` is a new minimum: smaller, or the first pixel that is not NaN.
#[inline(always)]
fn beats_min(x: f64, min: f64) -> bool {
    !(x >= min) & !x.is_nan()
}

/// Whether `x` is a new maximum.
#[inline(always)]
fn beats_max(x: f64, max: f64) -> bool {
    !(x <= max) & !x.is_nan()
}
