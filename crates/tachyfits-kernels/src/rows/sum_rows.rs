//! Count and sum over rows.

use super::add_all;
use super::common_rows::{CommonLanes, CommonRows};
use super::slab::{COLUMNS, ColumnStep, Columns, each_column};
use crate::LANES;
use crate::common_value::Common;
use crate::isa::Tier;
use crate::source::{Encoding, Source};
use crate::sum::{AllLanes, DefinedLanes};

/// Number of rows compared in each output: two of them differ in nearly every output that is not constant. Only if they
/// are equal, the other rows are compared.
const FIRST_ROWS: usize = 4;

/// Count and sum per output.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, SumRows, Tier};
/// let rows: [&[u8]; 2] = [&[1, 2, 3], &[10, 20, 30]];
/// let image = SumRows::slab(3, &rows, &Encoding::plain(PixelType::U8), Tier::SCALAR);
/// assert_eq!((image.count(), image.sum()), (&[2, 2, 2][..], &[11.0, 22.0, 33.0][..]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SumRows {
    pub(super) count: Vec<u64>,
    pub(super) sum: Vec<f64>,
    pub(super) common: CommonRows,
}

impl SumRows {
    /// Returns the states of `outputs` empty outputs.
    pub fn new(outputs: usize) -> SumRows {
        SumRows {
            count: vec![0; outputs],
            sum: vec![0.0; outputs],
            common: CommonRows::new(outputs),
        }
    }

    /// Returns the state of one slab: rows of `outputs` pixels each. [`SumRows::merge`] combines slabs.
    pub fn slab(outputs: usize, rows: &[&[u8]], encoding: &Encoding, tier: Tier) -> SumRows {
        let mut state = SumRows::new(outputs);
        let looks = !encoding.adds_exactly();
        let mut step = SumStep { state: &mut state, pass: SumPass::default(), looks };
        each_column(outputs, rows, encoding, tier, &mut step);
        state
    }

    /// Merges the states of later rows.
    pub fn merge(&mut self, later: &SumRows) {
        add_all(&mut self.count, &later.count);
        add_all(&mut self.sum, &later.sum);
        self.common.merge(&later.common);
    }

    /// Returns the number of defined pixels of each output.
    pub fn count(&self) -> &[u64] {
        &self.count
    }

    /// Returns the sum of each output.
    pub fn sum(&self) -> &[f64] {
        &self.sum
    }

    /// Returns the common value of an output's defined pixels; not computed if sums are exact.
    pub fn common(&self, output: usize) -> Common {
        self.common.get(output)
    }
}

/// Counts and sums the pixels of columns.
#[derive(Clone, Copy, Default)]
pub(super) struct SumPass {
    /// Whether the previous outputs had undefined pixels, so that the next ones probably have some.
    holes: bool,
}

impl SumPass {
    /// Returns counts and sums of each column, and whether every pixel is defined.
    #[inline(always)]
    pub(super) fn take<S: Source>(
        &mut self,
        columns: &Columns<'_, S>,
    ) -> ([DefinedLanes; COLUMNS], bool) {
        let all = [columns.rows(); LANES];
        if !self.holes {
            let mut sums = [AllLanes::default(); COLUMNS];
            columns.fold(&mut sums);
            // An undefined pixel makes the sum of its output NaN.
            let hole = |sums: &AllLanes| sums.sum.iter().any(|sum| sum.is_nan());
            if !sums[..columns.count()].iter().any(hole) {
                return (sums.map(|AllLanes { sum }| DefinedLanes { count: all, sum }), true);
            }
        }
        let mut sums = [DefinedLanes::default(); COLUMNS];
        columns.fold(&mut sums);
        self.holes = sums[..columns.count()].iter().any(|sums| sums.count != all);
        (sums, !self.holes)
    }
}

/// Operation on each column.
pub(crate) struct SumStep<'a> {
    state: &'a mut SumRows,
    pass: SumPass,
    /// Whether to search for outputs whose pixels are all equal: their rounded mean may differ from that value.
    looks: bool,
}

impl ColumnStep for SumStep<'_> {
    #[inline(always)]
    fn take<S: Source>(&mut self, columns: &Columns<'_, S>) {
        let (sums, _) = self.pass.take(columns);
        let mut common = [CommonLanes::UNKNOWN; COLUMNS];
        if self.looks {
            columns.first_rows(FIRST_ROWS).fold(&mut common);
            let results = common.iter().zip(&sums).take(columns.count());
            if results.fold(false, |open, (common, sums)| open | common.is_open(&sums.count)) {
                common = [CommonLanes::UNKNOWN; COLUMNS];
                columns.fold(&mut common);
            }
        }
        for ((sums, common), (first, lanes)) in sums.iter().zip(&common).zip(columns.places()) {
            let outputs = first..first + lanes;
            self.state.count[outputs.clone()].copy_from_slice(&sums.count[..lanes]);
            self.state.sum[outputs].copy_from_slice(&sums.sum[..lanes]);
            for lane in 0..lanes {
                self.state.common.set(first + lane, common.value[lane]);
            }
        }
    }
}
