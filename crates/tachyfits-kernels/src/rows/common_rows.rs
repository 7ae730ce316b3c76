//! Common value of the defined pixels of an output, over rows. As soon as two rows differ, the remaining rows are not
//! compared.

#![expect(clippy::needless_range_loop, reason = "indexed loops become vector code on every tier")]

use crate::LANES;
use crate::common_value::Common;
use crate::fold::Accumulator;

/// Value that means different pixels. Infinite pixels may use it, because their sum has no rounding error to correct.
const DIFFERENT: f64 = f64::INFINITY;

/// Common value of the pixels of each output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommonRows {
    /// Common value; NaN if no pixel is defined.
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

    /// Sets the common value of an output.
    #[inline(always)]
    pub(crate) fn set(&mut self, output: usize, value: f64) {
        self.value[output] = value;
    }

    pub(crate) fn get(&self, output: usize) -> Common {
        match self.value[output] {
            DIFFERENT => Common::Different,
            value => Common::Unknown.and(value),
        }
    }
}

/// Combines a common value with another pixel.
#[inline(always)]
fn joined(value: f64, x: f64) -> f64 {
    let same = x.is_nan() | (x == value);
    let common = if same { value } else { DIFFERENT };
    if value.is_nan() { x } else { common }
}

/// Common values of a column of outputs.
#[derive(Clone, Copy)]
pub(crate) struct CommonLanes {
    pub(crate) value: [f64; LANES],
}

impl CommonLanes {
    pub(crate) const UNKNOWN: CommonLanes = CommonLanes { value: [f64::NAN; LANES] };
    pub(crate) const NOT_LOOKED: CommonLanes = CommonLanes { value: [DIFFERENT; LANES] };

    /// Whether the pixels of any lane may still be equal. `counts` has the number of defined pixels per lane.
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
