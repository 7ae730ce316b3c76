//! The common value of a set of pixels, if all defined pixels are equal. It is their mean, which a rounded sum divided
//! by a count may miss by some units in the last place.

use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};

/// Common value of the defined pixels so far.
///
/// ```
/// use tachyfits_kernels::Common;
/// let common = |pixels: &[f64]| pixels.iter().fold(Common::Unknown, |common, &x| common.and(x));
/// assert_eq!(common(&[0.1, f64::NAN, 0.1]), Common::Value(0.1));
/// assert_eq!(common(&[0.1, 0.2]), Common::Different);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Common {
    /// No pixel is defined.
    #[default]
    Unknown,
    /// All defined pixels have this value.
    Value(f64),
    /// The pixels have different values, or were not compared.
    Different,
}

impl Common {
    /// Combines with a pixel; NaN changes nothing.
    #[must_use]
    #[inline(always)]
    pub fn and(self, x: f64) -> Common {
        match self {
            _ if x.is_nan() => self,
            Common::Unknown => Common::Value(x),
            Common::Value(value) if value == x => self,
            _ => Common::Different,
        }
    }

    /// Combines with the common value of other pixels.
    #[must_use]
    pub fn merge(self, later: Common) -> Common {
        match later {
            Common::Unknown => self,
            Common::Value(x) => self.and(x),
            Common::Different => Common::Different,
        }
    }

    /// Adds the pixels of `bytes`, stopping at the first different one.
    pub(crate) fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        if *self != Common::Different {
            *self = encoding.visit(CommonOnBytes { bytes, tier, common: *self });
        }
    }

    /// Returns the mean of these pixels: their common value, or else `mean`.
    #[must_use]
    pub fn mean_or(self, mean: f64) -> f64 {
        match self {
            // Zeros of either sign are equal; the mean keeps the sign of the sum.
            Common::Value(value) if value != mean => value,
            _ => mean,
        }
    }
}

struct CommonOnBytes<'a> {
    bytes: &'a [u8],
    tier: Tier,
    common: Common,
}

impl Visitor for CommonOnBytes<'_> {
    type Output = Common;
    fn visit<S: Source>(self, source: S) -> Common {
        // Most lines differ at their ends already: comparing these is cheaper than calling a kernel.
        let (mut first, mut last) = ([f64::NAN], [f64::NAN]);
        if self.bytes.len() >= S::BYTES {
            source.values(&self.bytes[..S::BYTES], &mut first);
            source.values(&self.bytes[self.bytes.len() - S::BYTES..], &mut last);
        }
        let ends = self.common.and(first[0]).and(last[0]);
        if ends == Common::Different {
            return ends;
        }
        isa::dispatch(self.tier, CommonKernel { on: self, source })
    }
}

/// Kernel that compares chunks of pixels.
pub(crate) struct CommonKernel<'a, S> {
    on: CommonOnBytes<'a>,
    source: S,
}

impl<S: Source> Kernel for CommonKernel<'_, S> {
    type Output = Common;

    #[inline(always)]
    fn run(self) -> Common {
        let mut common = self.on.common;
        let chunks = self.on.bytes.chunks_exact(S::CHUNK);
        let rest = chunks.remainder();
        for chunk in chunks {
            let x = self.source.lanes(chunk);
            let Common::Value(value) = common else {
                common = x.iter().fold(common, |common, &x| common.and(x));
                if common == Common::Different {
                    return common;
                }
                continue;
            };
            let mut differs = false;
            for &x in &x {
                differs |= (x != value) & !x.is_nan();
            }
            if differs {
                return Common::Different;
            }
        }
        let tail = self.source.tail(rest);
        tail[..rest.len() / S::BYTES].iter().fold(common, |common, &x| common.and(x))
    }
}
