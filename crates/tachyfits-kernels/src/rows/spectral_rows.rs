//! Sums over rows, weighted with powers of a coordinate.

#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

use super::add_all;
use super::slab::{COLUMNS, ColumnStep, Columns, RowAccumulator, each_column};
use crate::LANES;
use crate::isa::Tier;
use crate::source::{Encoding, Source};

/// Sums weighted with powers of a coordinate, per output, for spectral moments. Rows come in slabs.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, SpectralRows, Tier};
/// let encoding = Encoding::plain(PixelType::U8);
/// let mut moments = SpectralRows::slab(1, &[&[1]], &[10.0], &encoding, Tier::SCALAR);
/// moments.merge(&SpectralRows::slab(1, &[&[3]], &[20.0], &encoding, Tier::SCALAR));
/// assert_eq!(moments.sum(1)[0] / moments.sum(0)[0], 17.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SpectralRows {
    count: Vec<u64>,
    sums: [Vec<f64>; 3],
}

impl SpectralRows {
    /// Returns the state of one slab: rows of `outputs` pixels each, and the coordinate of each row.
    pub fn slab(
        outputs: usize,
        rows: &[&[u8]],
        coordinates: &[f64],
        encoding: &Encoding,
        tier: Tier,
    ) -> SpectralRows {
        // Filled column by column: writing zeros first would cost as much as a third of the sums.
        let capacity = outputs.next_multiple_of(LANES);
        let state = SpectralRows {
            count: Vec::with_capacity(capacity),
            sums: std::array::from_fn(|_| Vec::with_capacity(capacity)),
        };
        let mut step = SpectralStep { state, coordinates, holes: false };
        each_column(outputs, rows, encoding, tier, &mut step);
        let mut state = step.state;
        state.count.truncate(outputs);
        state.sums.iter_mut().for_each(|sums| sums.truncate(outputs));
        state
    }

    /// Merges the states of later rows.
    pub fn merge(&mut self, later: &SpectralRows) {
        add_all(&mut self.count, &later.count);
        for (sum, more) in self.sums.iter_mut().zip(&later.sums) {
            add_all(sum, more);
        }
    }

    /// Returns the number of defined pixels of each output.
    pub fn count(&self) -> &[u64] {
        &self.count
    }

    /// Returns the sum over rows of pixel times the coordinate to the power of 0, 1 or 2.
    pub fn sum(&self, power: usize) -> &[f64] {
        &self.sums[power]
    }
}

pub(crate) struct SpectralStep<'a> {
    state: SpectralRows,
    coordinates: &'a [f64],
    /// Whether the previous outputs had undefined pixels, so that the next ones probably have some. The guess only
    /// affects time: both ways of adding give the same bits.
    holes: bool,
}

impl ColumnStep for SpectralStep<'_> {
    #[inline(always)]
    fn take<S: Source>(&mut self, columns: &Columns<'_, S>) {
        let none = Weighted { coordinates: self.coordinates, sums: [[0.0; LANES]; 3] };
        if !self.holes {
            let mut weighted = [none; COLUMNS];
            columns.fold(&mut weighted);
            let weighted = &weighted[..columns.count()];
            // An undefined pixel makes the sum of its output NaN.
            self.holes =
                weighted.iter().any(|column| column.sums[0].iter().any(|sum| sum.is_nan()));
            if !self.holes {
                return weighted
                    .iter()
                    .for_each(|column| self.keep(&[columns.rows(); LANES], column));
            }
        }
        let mut defined = [DefinedWeighted { all: none, count: [0; LANES] }; COLUMNS];
        columns.fold(&mut defined);
        let defined = &defined[..columns.count()];
        self.holes = defined.iter().any(|column| column.count != [columns.rows(); LANES]);
        defined.iter().for_each(|column| self.keep(&column.count, &column.all));
    }
}

impl SpectralStep<'_> {
    /// Appends the sums of a column to the state.
    #[inline(always)]
    fn keep(&mut self, count: &[u64; LANES], weighted: &Weighted<'_>) {
        self.state.count.extend_from_slice(count);
        for (to, sums) in self.state.sums.iter_mut().zip(&weighted.sums) {
            to.extend_from_slice(sums);
        }
    }
}

/// Weighted sums of each output, if every pixel is defined.
#[derive(Clone, Copy)]
pub(crate) struct Weighted<'a> {
    /// Coordinate of each row.
    coordinates: &'a [f64],
    sums: [[f64; LANES]; 3],
}

impl RowAccumulator for Weighted<'_> {
    #[inline(always)]
    fn row(&mut self, row: usize, x: &[f64; LANES]) {
        let u = self.coordinates[row];
        let [sum0, sum1, sum2] = &mut self.sums;
        for lane in 0..LANES {
            sum0[lane] += x[lane];
        }
        for lane in 0..LANES {
            sum1[lane] += x[lane] * u;
        }
        for lane in 0..LANES {
            sum2[lane] += x[lane] * u * u;
        }
    }
}

/// Weighted sums and counts of each output, skipping undefined pixels.
#[derive(Clone, Copy)]
pub(crate) struct DefinedWeighted<'a> {
    all: Weighted<'a>,
    count: [u64; LANES],
}

impl RowAccumulator for DefinedWeighted<'_> {
    #[inline(always)]
    fn row(&mut self, row: usize, x: &[f64; LANES]) {
        let u = self.all.coordinates[row];
        let [sum0, sum1, sum2] = &mut self.all.sums;
        for lane in 0..LANES {
            self.count[lane] = self.count[lane].wrapping_add(u64::from(!x[lane].is_nan()));
        }
        for lane in 0..LANES {
            let sum = sum0[lane] + x[lane];
            sum0[lane] = if x[lane].is_nan() { sum0[lane] } else { sum };
        }
        for lane in 0..LANES {
            let sum = sum1[lane] + x[lane] * u;
            sum1[lane] = if x[lane].is_nan() { sum1[lane] } else { sum };
        }
        for lane in 0..LANES {
            let sum = sum2[lane] + x[lane] * u * u;
            sum2[lane] = if x[lane].is_nan() { sum2[lane] } else { sum };
        }
    }
}
