//! Mean of the magnitudes: a complete example of a reduction, compiled only for tests.

#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

use super::definition::{Definition, Finish, Reduction, StatisticUnit};
use crate::compensated::Compensated;
use crate::fold::{Accumulator, add_lanes, fold};
use crate::isa::Tier;
use crate::naive::leaf_sum;
use crate::rows::slab::{COLUMNS, ColumnStep, Columns, each_column};
use crate::source::{Encoding, Source};
use crate::{LANES, LEAF_PIXELS};

/// Count and sum of the magnitudes of the defined pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanAbs {
    count: u64,
    sum: Compensated,
}

impl MeanAbs {
    fn of(count: u64, sum: f64) -> MeanAbs {
        MeanAbs { count, sum: Compensated { high: sum, low: 0.0 } }
    }
}

impl Reduction for MeanAbs {
    const STATISTICS: &'static [Definition<MeanAbs>] = &[Definition {
        name: "mean_abs",
        meaning: "mean of the magnitudes; infinite if their sum is",
        unit: StatisticUnit::Pixels,
        finish: Finish::Float(|state, _| state.sum.value() / state.count as f64),
    }];

    fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        for leaf in bytes.chunks(LEAF_PIXELS * encoding.pixel_bytes()) {
            let lanes = fold(leaf, encoding, tier, MagnitudeLanes::default());
            self.merge(&MeanAbs::of(lanes.count.iter().sum(), add_lanes(&lanes.sum)));
        }
    }

    fn slab(outputs: usize, rows: &[&[u8]], encoding: &Encoding, tier: Tier) -> Vec<MeanAbs> {
        let mut states = vec![MeanAbs::default(); outputs];
        each_column(outputs, rows, encoding, tier, &mut MagnitudeStep(&mut states));
        states
    }

    fn merge(&mut self, later: &MeanAbs) {
        self.count += later.count;
        self.sum.merge(later.sum);
    }

    fn naive_line(values: &[f64]) -> MeanAbs {
        let mut state = MeanAbs::default();
        for leaf in values.chunks(LEAF_PIXELS) {
            let magnitudes: Vec<f64> = leaf.iter().map(|x| x.abs()).collect();
            let count = leaf.iter().filter(|x| !x.is_nan()).count();
            state.merge(&MeanAbs::of(count as u64, leaf_sum(&magnitudes)));
        }
        state
    }

    fn naive_column(values: &[f64]) -> MeanAbs {
        let defined = values.iter().filter(|x| !x.is_nan());
        MeanAbs::of(defined.clone().count() as u64, defined.fold(0.0, |sum, x| sum + x.abs()))
    }
}

/// Counts and sums per lane.
#[derive(Clone, Copy, Default)]
struct MagnitudeLanes {
    count: [u64; LANES],
    sum: [f64; LANES],
}

impl Accumulator for MagnitudeLanes {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        for lane in 0..x.len() {
            self.count[lane] += u64::from(!x[lane].is_nan());
        }
        for lane in 0..x.len() {
            self.sum[lane] += if x[lane].is_nan() { 0.0 } else { x[lane].abs() };
        }
    }

    #[inline(always)]
    fn sums(&mut self) -> Option<&mut [f64; LANES]> {
        Some(&mut self.sum)
    }
}

/// Operation on each column.
struct MagnitudeStep<'a>(&'a mut [MeanAbs]);

impl ColumnStep for MagnitudeStep<'_> {
    #[inline(always)]
    fn take<S: Source>(&mut self, columns: &Columns<'_, S>) {
        let mut lanes = [MagnitudeLanes::default(); COLUMNS];
        columns.fold(&mut lanes);
        for (lanes, (first, outputs)) in lanes.iter().zip(columns.places()) {
            for lane in 0..outputs {
                self.0[first + lane] = MeanAbs::of(lanes.count[lane], lanes.sum[lane]);
            }
        }
    }
}
