//! Sums over rows, weighted with powers of a coordinate.

use super::{RowStep, add_all, add_row};
use crate::isa::Tier;
use crate::source::Encoding;

/// Sums weighted with powers of a coordinate, per output: what spectral moments are made of.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, SpectralRows, Tier};
/// let mut moments = SpectralRows::new(1);
/// for (pixel, velocity) in [(1, 10.0), (3, 20.0)] {
///     moments.accumulate(0, &[pixel], &Encoding::plain(PixelType::U8), Tier::SCALAR, velocity);
/// }
/// assert_eq!(moments.sum(1)[0] / moments.sum(0)[0], 17.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SpectralRows {
    count: Vec<u64>,
    sums: [Vec<f64>; 3],
}

impl SpectralRows {
    /// States of `outputs` empty outputs.
    pub fn new(outputs: usize) -> SpectralRows {
        let sums = std::array::from_fn(|_| vec![0.0; outputs]);
        SpectralRows { count: vec![0; outputs], sums }
    }

    /// Adds a row of the coordinate `u`: its pixels go to the outputs from `at` on.
    pub fn accumulate(&mut self, at: usize, bytes: &[u8], encoding: &Encoding, tier: Tier, u: f64) {
        add_row(bytes, encoding, tier, at, SpectralStep { state: self, u });
    }

    /// Adds the states of later rows.
    pub fn merge(&mut self, later: &SpectralRows) {
        add_all(&mut self.count, &later.count);
        for (sum, more) in self.sums.iter_mut().zip(&later.sums) {
            add_all(sum, more);
        }
    }

    /// Defined pixels of each output.
    pub fn count(&self) -> &[u64] {
        &self.count
    }

    /// Sum over rows of pixel times `u` to the power of 0, 1 or 2.
    pub fn sum(&self, power: usize) -> &[f64] {
        &self.sums[power]
    }
}

pub(crate) struct SpectralStep<'a> {
    state: &'a mut SpectralRows,
    u: f64,
}

impl RowStep for SpectralStep<'_> {
    #[inline(always)]
    fn step(&mut self, at: usize, x: &[f64]) {
        let outputs = at..at + x.len();
        let SpectralRows { count, sums: [sum0, sum1, sum2] } = &mut *self.state;
        let (sum0, sum1) = (&mut sum0[outputs.clone()], &mut sum1[outputs.clone()]);
        let (sum2, count) = (&mut sum2[outputs.clone()], &mut count[outputs]);
        // A loop of its own: with it in the next one, SSE4.2 code for native f64 was not vector code.
        for at in 0..x.len() {
            count[at] = count[at].wrapping_add(u64::from(!x[at].is_nan()));
        }
        for at in 0..x.len() {
            let (x, u) = (x[at], self.u);
            let nan = x.is_nan();
            sum0[at] = if nan { sum0[at] } else { sum0[at] + x };
            sum1[at] = if nan { sum1[at] } else { sum1[at] + x * u };
            sum2[at] = if nan { sum2[at] } else { sum2[at] + x * u * u };
        }
    }
}
