//! A sum that does not overflow f64: if the sum of finite pixels exceeds f64, it continues in units of a power of two.

use crate::compensated::{Compensated, LARGE_UNIT, Unit};
use crate::decode::decode_f64;
use crate::isa::Tier;
use crate::source::Encoding;

/// Sum with its unit.
///
/// ```
/// let mut sum = tachyfits_kernels::Total::default();
/// for x in [1.5e308, 1.5e308, -1e308, -1e308] {
///     sum.add(x);
/// }
/// assert_eq!(sum.value(), 1e308);
/// assert_eq!(sum.mean(4), 2.5e307);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Sum in its unit.
    pub parts: Compensated,
    /// Whether the unit is [`LARGE_UNIT`], because a sum of finite pixels exceeded f64; otherwise it is 1.
    pub is_large: bool,
}

impl From<Compensated> for Total {
    fn from(parts: Compensated) -> Total {
        Total { parts, is_large: false }
    }
}

impl Total {
    /// Returns the sum of a leaf; if it is not finite, sums again in large units.
    #[inline]
    pub(crate) fn of_leaf(sum: f64, again: impl FnOnce() -> f64) -> Total {
        let plain = Total::from(Compensated { high: sum, low: 0.0 });
        if sum.is_finite() {
            return plain;
        }
        // The sum of infinite pixels is infinite in any unit.
        match again() {
            sum if sum.is_finite() => {
                Total { parts: Compensated { high: sum, low: 0.0 }, is_large: true }
            }
            _ => plain,
        }
    }

    /// Adds a term.
    #[inline]
    pub fn add(&mut self, term: f64) {
        self.merge(Compensated { high: term, low: 0.0 }.into());
    }

    /// Adds another sum.
    #[inline]
    pub fn merge(&mut self, later: Total) {
        let mut merged = self.parts;
        merged.merge(later.parts);
        if self.is_large == later.is_large && (self.is_large || merged.value().is_finite()) {
            self.parts = merged;
        } else {
            self.merge_large(&later, merged);
        }
    }

    /// Adds a sum in large units if the result is finite; `merged` is the result in unit 1.
    #[cold]
    fn merge_large(&mut self, later: &Total, merged: Compensated) {
        let mut large = self.in_large_units();
        large.merge(later.in_large_units());
        let is_large = self.is_large || later.is_large || large.value().is_finite();
        let parts = if is_large { large } else { merged };
        *self = Total { parts, is_large };
    }

    fn in_large_units(&self) -> Compensated {
        if self.is_large { self.parts } else { self.parts.times(1.0 / LARGE_UNIT) }
    }

    /// Whether no term was infinite or NaN.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.parts.value().is_finite()
    }

    /// Returns the sum, rounded once; infinite if it exceeds f64.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.parts.value() * self.unit()
    }

    /// Returns the sum over a count, rounded once.
    #[must_use]
    pub fn mean(&self, count: u64) -> f64 {
        let n = count as f64;
        let mean = self.parts.value() / n;
        // One Newton step on the quotient: the remainder is small, and therefore accurate enough in f64.
        let remainder = (-mean).mul_add(n, self.parts.high) + self.parts.low;
        let mean = if remainder.is_finite() { mean + remainder / n } else { mean };
        mean * self.unit()
    }

    fn unit(&self) -> f64 {
        if self.is_large { LARGE_UNIT } else { 1.0 }
    }
}

/// Converts pixels to a unit, as big-endian f64.
#[cold]
pub(crate) fn in_unit(bytes: &[u8], encoding: &Encoding, tier: Tier, unit: Unit) -> Vec<u8> {
    let mut values = vec![0.0; bytes.len() / encoding.pixel_bytes()];
    decode_f64(bytes, encoding, tier, &mut values);
    values.iter().flat_map(|x| (x / unit.value()).to_be_bytes()).collect()
}
