//! The common value of the defined pixels of an output, over rows. Where rows differ, two of them
//! show it, and the rest is not compared.

#![expect(clippy::needless_range_loop, reason = "indexed loops become vector code on every tier")]

use crate::LANES;
use crate::common_value::Common;
use crate::fold::Accumulator;

/// Stands for different values; of infinite pixels no sum is off.
const DIFFERENT: f64 = f64::INFINITY;

/// The common value of the pixels of each output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommonRows {
    /// NaN where no pixel is defined.
    value: Vec<f64>,
}

impl CommonRows {
    pub(crate) fn new(outputs: usize) -> CommonRows {
        CommonRows { value: vec![f64::NAN; outputs] }
    }

    pub(crate) fn merge(&mut self, later: &CommonRows) {
        for (value, &later) in self.value.iter_mut().zip(&later.value) {
            *value = joined(*value, later);
        }
    }

    /// Sets an output to what a column of them found.
    #[inline(always)]
    pub(crate) fn set(&mut self, output: usize, found: f64) {
        self.value[output] = found;
    }

    pub(crate) fn get(&self, output: usize) -> Common {
        match self.value[output] {
            DIFFERENT => Common::Different,
            value => Common::Unknown.and(value),
        }
    }
}

/// A value that pixels have in common, and another pixel's.
#[inline(always)]
fn joined(value: f64, x: f64) -> f64 {
    let same = x.is_nan() | (x == value);
    let kept = if same { value } else { DIFFERENT };
    if value.is_nan() { x } else { kept }
}

/// The same for a column of outputs.
#[derive(Clone, Copy)]
pub(crate) struct CommonLanes {
    pub(crate) value: [f64; LANES],
}

impl CommonLanes {
    pub(crate) const UNKNOWN: CommonLanes = CommonLanes { value: [f64::NAN; LANES] };
    pub(crate) const NOT_LOOKED: CommonLanes = CommonLanes { value: [DIFFERENT; LANES] };

    /// Whether the pixels of a lane may still have one value. `counts`: how many are defined.
    #[inline(always)]
    pub(crate) fn is_open(&self, counts: &[u64; LANES]) -> bool {
        let mut open = false;
        for lane in 0..LANES {
            open |= (self.value[lane] != DIFFERENT) & (counts[lane] > 0);
        }
        open
    }
}

impl Accumulator for CommonLanes {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        for lane in 0..x.len() {
            self.value[lane] = joined(self.value[lane], x[lane]);
        }
    }
}
