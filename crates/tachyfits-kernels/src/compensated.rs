//! A sum carried with its rounding error, so that adding millions of leaf sums costs no accuracy.

/// Exponent of [`LARGE_UNIT`]: the squares of the largest pixels, in units of its square, leave room for 2^54 of them.
const LARGE_EXPONENT: u64 = 540;

/// Unit of sums of pixels that exceed f64. It is a power of two, so that digits are lost only of pixels that are smaller
/// than others by a factor of 2^1000.
pub const LARGE_UNIT: f64 = f64::from_bits((1023 + LARGE_EXPONENT) << 52);

/// Unit of moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// The unit of the pixels.
    #[default]
    One,
    /// [`LARGE_UNIT`], of pixels whose squares exceed f64.
    Large,
    /// Its reciprocal, of pixels whose squares f64 has no digits for.
    Small,
}

impl Unit {
    /// The unit as a number: a power of two.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Unit::One => 1.0,
            Unit::Large => LARGE_UNIT,
            Unit::Small => 1.0 / LARGE_UNIT,
        }
    }
}

/// Squares of pixels below this magnitude, 2^-440, lose digits that sums of squares would show.
pub(crate) const SMALL_PIXEL: f64 = f64::from_bits((1023 - 440) << 52);

/// An unevaluated sum `high + low` of two f64: the sum so far and what rounding took from it (Knuth's TwoSum).
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
    /// A sum of two terms; the second must be the smaller one.
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
        // With infinities the error term is NaN, and the rounded sum is already right.
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

    /// `self - other`, rounded once at the end.
    #[inline]
    pub fn minus(self, other: Compensated) -> f64 {
        (self.high - other.high) + (self.low - other.low)
    }

    /// The sum times a power of two.
    #[must_use]
    pub(crate) fn times(self, factor: f64) -> Compensated {
        Compensated { high: self.high * factor, low: self.low * factor }
    }

    /// The sum, rounded once.
    #[inline]
    pub fn value(self) -> f64 {
        self.high + self.low
    }
}
