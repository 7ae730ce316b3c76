//! The table of statistics: their names, what they need, and how they come out of the state of a set of pixels.

use std::str::FromStr;

use tachyfits_kernels::Stats;

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
}

macro_rules! statistics {
    ($($name:ident $text:literal $needs:ident $kind:ident $value:ident $meaning:literal;)+) => {
        /// A number that describes a set of pixels; NaN and BLANK are ignored, but by `Nan`, which counts them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Statistic {
            $(#[doc = $meaning] $name,)+
        }

        impl Statistic {
            /// Every statistic, in the order in which people list them.
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
            pub(crate) fn push(self, stats: &Stats, ddof: u64, values: &mut Values) {
                match (self, values) {
                    $((Statistic::$name, Values::$kind(values)) => {
                        values.push(value_of::$value(stats, ddof));
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
    Sum "sum" Sum Floats sum "sum; 0 if no pixel is defined";
    Mean "mean" Sum Floats mean "sum over count";
    Rms "rms" Squares Floats rms "root mean square about zero";
    Std "std" Squares Floats std "standard deviation about the mean, divisor count - ddof";
    Min "min" Extremes Floats min "the smallest";
    Max "max" Extremes Floats max "the largest";
    MinPosition "min_position" Extremes Integers min_position
        "linear index of the first smallest pixel reduced; -1 if none is defined";
    MaxPosition "max_position" Extremes Integers max_position
        "linear index of the first largest pixel reduced; -1 if none is defined";
}

/// How each statistic comes out of the state; the second argument is ddof.
mod value_of {
    use tachyfits_kernels::{Extremum, Stats};

    pub(super) fn count(stats: &Stats, _: u64) -> i64 {
        stats.count as i64
    }

    pub(super) fn nan(stats: &Stats, _: u64) -> i64 {
        stats.nan as i64
    }

    pub(super) fn sum(stats: &Stats, _: u64) -> f64 {
        stats.sum.value()
    }

    pub(super) fn mean(stats: &Stats, _: u64) -> f64 {
        stats.mean()
    }

    pub(super) fn rms(stats: &Stats, _: u64) -> f64 {
        // Rows come without extremes, which tell of infinite pixels: here the sum does, for lines and rows alike.
        match stats.count > 0 && !stats.sum.value().is_finite() {
            true => f64::INFINITY,
            false => stats.rms(),
        }
    }

    pub(super) fn std(stats: &Stats, ddof: u64) -> f64 {
        stats.std(ddof)
    }

    pub(super) fn min(stats: &Stats, _: u64) -> f64 {
        stats.min.map_or(f64::NAN, |extreme| extreme.value)
    }

    pub(super) fn max(stats: &Stats, _: u64) -> f64 {
        stats.max.map_or(f64::NAN, |extreme| extreme.value)
    }

    pub(super) fn min_position(stats: &Stats, _: u64) -> i64 {
        position(stats.min)
    }

    pub(super) fn max_position(stats: &Stats, _: u64) -> i64 {
        position(stats.max)
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
