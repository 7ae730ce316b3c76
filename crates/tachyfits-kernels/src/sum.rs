//! The plain sum: how many pixels are defined, and their sum. The cheapest reduction, and the yardstick of the others.

#![expect(
    clippy::needless_range_loop,
    reason = "loops over lanes index several arrays of LANES alike: the form that becomes vector code on every tier"
)]

use crate::compensated::Compensated;
use crate::fold::{Accumulator, add_lanes, fold};
use crate::isa::Tier;
use crate::source::Encoding;
use crate::{LANES, LEAF_PIXELS};

/// Mergeable state of a plain sum.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, Sum, Tier};
/// let bytes: Vec<u8> = [1.5f32, f32::NAN, 2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
/// let mut sum = Sum::default();
/// sum.accumulate(&bytes, &Encoding::plain(PixelType::F32), Tier::SCALAR);
/// assert_eq!((sum.count, sum.nan, sum.sum.value()), (2, 1, 3.5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Pixels that are defined.
    pub count: u64,
    /// Pixels that are NaN or BLANK.
    pub nan: u64,
    /// Sum of the defined ones: in sixteen lanes within a leaf, compensated between leaves.
    pub sum: Compensated,
}

impl Sum {
    /// Adds the pixels of `bytes`, leaf by leaf. Bytes beyond the last whole pixel are not for it.
    pub fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        for leaf in bytes.chunks(LEAF_PIXELS * encoding.pixel_bytes()) {
            let lanes = fold(leaf, encoding, tier, SumLanes::default());
            let count: u64 = lanes.count.iter().sum();
            self.count += count;
            self.nan += (leaf.len() / encoding.pixel_bytes()) as u64 - count;
            self.sum.add(add_lanes(&lanes.sum));
        }
    }

    /// Adds the state of pixels that come later.
    pub fn merge(&mut self, later: &Sum) {
        self.count += later.count;
        self.nan += later.nan;
        self.sum.merge(later.sum);
    }
}

#[derive(Clone, Copy, Default)]
struct SumLanes {
    count: [u64; LANES],
    sum: [f64; LANES],
}

impl Accumulator for SumLanes {
    #[inline(always)]
    fn step(&mut self, x: &[f64; LANES]) {
        for lane in 0..LANES {
            self.count[lane] += u64::from(!x[lane].is_nan());
        }
        for lane in 0..LANES {
            let sum = self.sum[lane] + x[lane];
            self.sum[lane] = if x[lane].is_nan() { self.sum[lane] } else { sum };
        }
    }
}
