//! A sum carried with its rounding error, so that adding millions of leaf sums costs no accuracy.

/// Exponent of [`LARGE_UNIT`]: in units of its square, f64 can sum the squares of 2^54 of the largest pixels.
const LARGE_EXPONENT: u64 = 540;

/// Unit for sums of pixels that exceed f64. It is a power of two, so only pixels smaller than others by a factor of
/// 2^1000 lose digits.
pub const LARGE_UNIT: f64 = f64::from_bits((1023 + LARGE_EXPONENT) << 52);

/// Unit in which moments are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Unit of the pixels themselves.
    #[default]
    One,
    /// [`LARGE_UNIT`], for pixels whose squares exceed f64.
    Large,
    /// Reciprocal of [`LARGE_UNIT`], for pixels whose squares underflow.
    Small,
}

impl Unit {
    /// Returns the unit as a number: a power of two.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Unit::One => 1.0,
            Unit::Large => LARGE_UNIT,
            Unit::Small => 1.0 / LARGE_UNIT,
        }
    }
}

/// Smallest magnitude, 2^-440, whose square keeps all digits in sums of squares.
pub(crate) const SMALL_PIXEL: f64 = f64::from_bits((1023 - 440) << 52);

/// An unevaluated sum `high + low` of two f64: the sum so far and its rounding error (Knuth's TwoSum).
///
/// ```
/// let mut sum = tachyfits_kernels::Compensated::default();
/// for x in [1e16, 1.0, -1e16] {
///     sum.add(x);
/// }
/// assert_eq!(sum.value(), 1.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compensated {
    /// The rounded sum.
    pub high: f64,
    /// Rounding error of `high`: the exact sum is `high + low`.
    pub low: f64,
}

impl Compensated {
    /// Returns a sum of two terms; the second must be the smaller one.
    pub fn new(high: f64, low: f64) -> Self {
        let mut sum = Compensated { high, low: 0.0 };
        sum.add(low);
        sum
    }

    /// Adds a term.
    #[inline]
    pub fn add(&mut self, term: f64) {
        let sum = self.high + term;
        let added = sum - self.high;
        let error = (self.high - (sum - added)) + (term - added);
        self.high = sum;
        // With infinities the error term is NaN; the rounded sum needs no correction.
        if error.is_finite() {
            self.low += error;
        }
    }

    /// Adds another compensated sum.
    #[inline]
    pub fn merge(&mut self, other: Compensated) {
        self.add(other.high);
        self.add(other.low);
    }

    /// Returns `self - other`, rounded once at the end.
    #[inline]
    pub fn minus(self, other: Compensated) -> f64 {
        (self.high - other.high) + (self.low - other.low)
    }

    /// Returns the sum times a power of two.
    #[must_use]
    pub(crate) fn times(self, factor: f64) -> Compensated {
        Compensated { high: self.high * factor, low: self.low * factor }
    }

    /// Returns the sum, rounded once.
    #[inline]
    pub fn value(self) -> f64 {
        self.high + self.low
    }
}
