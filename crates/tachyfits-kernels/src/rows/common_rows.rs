//! The common value of the defined pixels of an output, over rows. Where rows differ, two of them
//! show it, and the rest is not compared.

#![expect(clippy::needless_range_loop, reason = "indexed loops become vector code on every tier")]

use super::{RowStep, add_row};
use crate::LANES;
use crate::common_value::Common;
use crate::fold::Accumulator;
use crate::isa::Tier;
use crate::source::Encoding;

/// Outputs compared together.
const BLOCK: usize = 256;

/// Stands for different values; of infinite pixels no sum is off.
const DIFFERENT: f64 = f64::INFINITY;

/// The common value of the pixels of each output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommonRows {
    /// NaN where no pixel is defined.
    value: Vec<f64>,
    /// Whether pixels of an output of each block may still have one value.
    open: Vec<bool>,
}

impl CommonRows {
    pub(crate) fn new(outputs: usize) -> CommonRows {
        CommonRows { value: vec![f64::NAN; outputs], open: vec![true; outputs.div_ceil(BLOCK)] }
    }

    /// Adds a row, whose pixels go to the outputs from `at` on.
    pub(crate) fn accumulate(&mut self, at: usize, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        if encoding.adds_exactly() {
            return;
        }
        let size = encoding.pixel_bytes();
        let end = at + bytes.len() / size;
        let mut first = at;
        while first < end {
            let block = first / BLOCK;
            let last = end.min((block + 1) * BLOCK);
            if self.open[block] {
                let bytes = &bytes[(first - at) * size..(last - at) * size];
                add_row(bytes, encoding, tier, first, CommonStep { value: &mut self.value });
                let all = self.value.len().min((block + 1) * BLOCK);
                self.open[block] = self.value[block * BLOCK..all].iter().any(|&x| x != DIFFERENT);
            }
            first = last;
        }
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

pub(crate) struct CommonStep<'a> {
    value: &'a mut [f64],
}

impl RowStep for CommonStep<'_> {
    #[inline(always)]
    fn step(&mut self, at: usize, x: &[f64]) {
        let value = &mut self.value[at..at + x.len()];
        for at in 0..x.len() {
            value[at] = joined(value[at], x[at]);
        }
    }
}

/// The same for a column of outputs.
#[derive(Clone, Copy)]
pub(crate) struct CommonLanes {
    pub(crate) value: [f64; LANES],
}

impl CommonLanes {
    pub(crate) const UNKNOWN: CommonLanes = CommonLanes { value: [f64::NAN; LANES] };
    pub(crate) const NOT_LOOKED: CommonLanes = CommonLanes { value: [DIFFERENT; LANES] };
}

impl Accumulator for CommonLanes {
    #[inline(always)]
    fn step(&mut self, x: &[f64]) {
        for lane in 0..x.len() {
            self.value[lane] = joined(self.value[lane], x[lane]);
        }
    }
}
