//! The table of statistics: their names, what they need, and how they come out of the state of a set of pixels.

use std::str::FromStr;

use tachyfits_kernels::{Shape, Stats};

use crate::error::{Error, Reason};

/// Accumulators needed for a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Count and sum.
    Sum,
    /// Also the squares about the mean.
    Squares,
    /// The extremes and where they are.
    Extremes,
    /// The third and fourth moments about the mean.
    Shape,
}

/// The state of the pixels of an output; what no statistic needs is empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputState {
    pub(crate) stats: Stats,
    pub(crate) shape: Shape,
}

macro_rules! statistics {
    ($($name:ident $text:literal $needs:ident $kind:ident $value:ident $meaning:literal;)+) => {
        /// A number that describes a set of pixels; NaN and BLANK are ignored, but by `Nan`, which counts them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Statistic {
            $(#[doc = $meaning] $name,)+
        }

        impl Statistic {
            /// Every statistic, in the conventional order.
            pub const ALL: &'static [Statistic] = &[$(Statistic::$name),+];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Statistic::$name => $text),+ }
            }

            /// Its definition, in one line.
            pub fn meaning(self) -> &'static str {
                match self { $(Statistic::$name => $meaning),+ }
            }

            pub(crate) fn needs(self) -> Needs {
                match self { $(Statistic::$name => Needs::$needs),+ }
            }

            /// Empty values of its type.
            pub(crate) fn values(self) -> Values {
                match self { $(Statistic::$name => Values::$kind(Vec::new())),+ }
            }

            /// Appends its value for a set of pixels.
            pub(crate) fn push(self, state: &OutputState, ddof: u64, values: &mut Values) {
                match (self, values) {
                    $((Statistic::$name, Values::$kind(values)) => {
                        values.push(value_of::$value(state, ddof));
                    })+
                    _ => unreachable!("the values are those that `Statistic::values` made"),
                }
            }
        }
    };
}

statistics! {
    Count "count" Sum Integers count "number of defined pixels";
    Nan "nan" Sum Integers nan "number of undefined pixels: NaN or BLANK";
    Sum "sum" Sum Floats sum "sum; NaN if no pixel is defined";
    Mean "mean" Sum Floats mean "sum over count";
    Rms "rms" Squares Floats rms "root mean square about zero";
    Std "std" Squares Floats std "standard deviation about the mean, divisor count - ddof";
    Min "min" Extremes Floats min "the smallest";
    Max "max" Extremes Floats max "the largest";
    Skewness "skewness" Shape Floats skewness
        "third standardised moment of the pixels; NaN where all have one value";
    Kurtosis "kurtosis" Shape Floats kurtosis
        "fourth standardised moment of the pixels less 3, which a normal distribution has; NaN as for skewness";
    MinPosition "min_position" Extremes Integers min_position
        "linear index of the first smallest pixel reduced; -1 if none is defined";
    MaxPosition "max_position" Extremes Integers max_position
        "linear index of the first largest pixel reduced; -1 if none is defined";
}

/// How each statistic comes out of the state; the second argument is ddof.
mod value_of {
    use tachyfits_kernels::Extremum;

    use super::OutputState;

    pub(super) fn count(state: &OutputState, _: u64) -> i64 {
        state.stats.count as i64
    }

    pub(super) fn nan(state: &OutputState, _: u64) -> i64 {
        state.stats.nan as i64
    }

    pub(super) fn sum(state: &OutputState, _: u64) -> f64 {
        state.stats.total()
    }

    pub(super) fn mean(state: &OutputState, _: u64) -> f64 {
        state.stats.mean()
    }

    pub(super) fn rms(state: &OutputState, _: u64) -> f64 {
        // Rows come without extremes, which tell of infinite pixels: here the sum does, for lines and rows alike.
        match state.stats.count > 0 && !state.stats.sum.value().is_finite() {
            true => f64::INFINITY,
            false => state.stats.rms(),
        }
    }

    pub(super) fn std(state: &OutputState, ddof: u64) -> f64 {
        state.stats.std(ddof)
    }

    pub(super) fn min(state: &OutputState, _: u64) -> f64 {
        state.stats.min.map_or(f64::NAN, |extreme| extreme.value)
    }

    pub(super) fn max(state: &OutputState, _: u64) -> f64 {
        state.stats.max.map_or(f64::NAN, |extreme| extreme.value)
    }

    pub(super) fn min_position(state: &OutputState, _: u64) -> i64 {
        position(state.stats.min)
    }

    pub(super) fn max_position(state: &OutputState, _: u64) -> i64 {
        position(state.stats.max)
    }

    pub(super) fn skewness(state: &OutputState, _: u64) -> f64 {
        state.shape.skewness()
    }

    pub(super) fn kurtosis(state: &OutputState, _: u64) -> f64 {
        state.shape.kurtosis()
    }

    fn position(extreme: Option<Extremum>) -> i64 {
        extreme.map_or(-1, |extreme| extreme.position as i64)
    }
}

impl FromStr for Statistic {
    type Err = Error;

    fn from_str(name: &str) -> Result<Statistic, Error> {
        Statistic::ALL.iter().copied().find(|statistic| statistic.name() == name).ok_or_else(|| {
            let names: Vec<_> = Statistic::ALL.iter().map(|statistic| statistic.name()).collect();
            let expected = format!("one of {}", names.join(", "));
            Error::refused(Reason::Statistic, expected, format!("{name:?}"))
        })
    }
}

/// One number per output.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counts and positions.
    Integers(Vec<i64>),
    /// Everything else.
    Floats(Vec<f64>),
}
