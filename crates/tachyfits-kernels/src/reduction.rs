//! Register of reductions and their statistics.
//!
//! Every pass over pixels computes [`Stats`], or the required part of it. A reduction with another state has its own
//! file with its statistics, its line form, its row form and the twins of both. A line in the register adds its state
//! to [`OutputState`] and [`ReductionRows`]. A pass over several states is one function, which checks for each line and
//! slab which states are required; no loop over pixels is called indirectly.

mod definition;
#[cfg(feature = "conformance")]
mod mean_abs;
mod of_stats;
mod shape;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

pub use definition::{Definition, Finish, Reduction, StatisticUnit, StatisticValue};
#[cfg(feature = "conformance")]
pub use mean_abs::MeanAbs;
use of_stats::{Part, StatsStatistic};
pub use shape::Shape;

use crate::isa::Tier;
use crate::naive;
use crate::source::Encoding;
use crate::stats::Stats;

macro_rules! register {
    ($($(#[$condition:meta])* $field:ident: $State:ident;)+) => {
        /// State of the pixels of an output. Parts that no requested statistic needs are empty.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct OutputState {
            /// Statistics of every pass.
            pub stats: Stats,
            $($(#[$condition])* #[doc = concat!("See [`", stringify!($State), "`].")] pub $field: $State,)+
        }

        /// States of many outputs, fed by slabs of rows; states that are not required are empty.
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct ReductionRows {
            $(
                $(#[$condition])*
                #[doc = concat!("One [`", stringify!($State), "`] per output.")]
                pub $field: Vec<$State>,
            )+
        }

        /// Required parts of a state besides count and sum, which every pass computes.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Needs {
            /// Squares about the mean.
            pub squares: bool,
            /// Extremes and their positions.
            pub extremes: bool,
            $($(#[$condition])* #[doc = concat!("See [`", stringify!($State), "`].")] pub $field: bool,)+
        }

        /// Definition of a statistic, with the state that it is computed from.
        #[derive(Clone, Copy)]
        enum Registered {
            Stats(&'static StatsStatistic),
            $($(#[$condition])* $State(&'static Definition<$State>),)+
        }

        /// Evaluates `$value` with the definition of a statistic as `$definition`.
        macro_rules! with_definition {
            ($statistic:expr, $definition:ident => $value:expr) => {
                match $statistic.0 {
                    Registered::Stats(StatsStatistic { definition: $definition, .. }) => $value,
                    $($(#[$condition])* Registered::$State($definition) => $value,)+
                }
            };
        }

        const NUMBER: usize = {
            let mut number = of_stats::STATISTICS.len();
            $($(#[$condition])* { number += $State::STATISTICS.len(); })+
            number
        };

        const fn all() -> [Statistic; NUMBER] {
            let mut all = [Statistic(Registered::Stats(&of_stats::STATISTICS[0])); NUMBER];
            let mut place = 0;
            while place < of_stats::STATISTICS.len() {
                all[place] = Statistic(Registered::Stats(&of_stats::STATISTICS[place]));
                place += 1;
            }
            $($(#[$condition])* {
                let mut number = 0;
                while number < $State::STATISTICS.len() {
                    all[place] = Statistic(Registered::$State(&$State::STATISTICS[number]));
                    place += 1;
                    number += 1;
                }
            })+
            all
        }

        impl Needs {
            /// Returns the parts that some statistics require together.
            pub fn of(statistics: &[Statistic]) -> Needs {
                let mut needs = Needs::default();
                for statistic in statistics {
                    match statistic.0 {
                        Registered::Stats(StatsStatistic { part, .. }) => {
                            needs.squares |= *part == Part::Squares;
                            needs.extremes |= *part == Part::Extremes;
                        }
                        $($(#[$condition])* Registered::$State(_) => needs.$field = true,)+
                    }
                }
                needs
            }

            /// Whether states besides [`Stats`] are required.
            pub fn has_other_states(&self) -> bool {
                let mut any = false;
                $($(#[$condition])* { any |= self.$field; })+
                any
            }
        }

        impl OutputState {
            /// Adds the pixels of a line, whose first pixel has the index `position`, to [`Stats`] and to the other
            /// required states.
            pub fn accumulate(
                &mut self,
                needs: &Needs,
                bytes: &[u8],
                encoding: &Encoding,
                tier: Tier,
                position: u64,
            ) {
                self.stats.accumulate_exactly(bytes, encoding, tier, position);
                $($(#[$condition])* {
                    if needs.$field {
                        self.$field.accumulate(bytes, encoding, tier);
                    }
                })+
            }

            /// Merges the state of later pixels.
            pub fn merge(&mut self, later: &OutputState) {
                self.stats.merge(&later.stats);
                $($(#[$condition])* { self.$field.merge(&later.$field); })+
            }

            /// Returns the value of a statistic; `ddof` applies to [`Statistic::STD`].
            #[inline]
            pub fn value(&self, statistic: Statistic, ddof: u64) -> StatisticValue {
                match statistic.0 {
                    Registered::Stats(StatsStatistic { definition, .. }) => {
                        definition.finish.value(&self.stats, ddof)
                    }
                    $($(#[$condition])*
                    Registered::$State(definition) => definition.finish.value(&self.$field, ddof),)+
                }
            }

            /// Twin of [`OutputState::accumulate`] with all states required, except for 64-bit integers.
            pub fn naive(bytes: &[u8], encoding: &Encoding, position: u64) -> OutputState {
                let values = naive::decode_f64(bytes, encoding);
                OutputState {
                    stats: naive::stats(bytes, encoding, position),
                    $($(#[$condition])* $field: $State::naive_line(&values),)+
                }
            }
        }

        impl ReductionRows {
            /// Returns the states of one slab: rows of `outputs` pixels each.
            pub fn slab(
                needs: &Needs,
                outputs: usize,
                rows: &[&[u8]],
                encoding: &Encoding,
                tier: Tier,
            ) -> ReductionRows {
                let mut states = ReductionRows::default();
                $($(#[$condition])* {
                    if needs.$field {
                        states.$field = $State::slab(outputs, rows, encoding, tier);
                    }
                })+
                states
            }

            /// Merges the states of later rows.
            pub fn merge(&mut self, later: &ReductionRows) {
                $($(#[$condition])* {
                    let pairs = self.$field.iter_mut().zip(&later.$field);
                    pairs.for_each(|(state, later)| state.merge(later));
                })+
            }

            /// Copies the states of one output.
            #[inline]
            pub fn copy_to(&self, state: &mut OutputState, output: usize) {
                $($(#[$condition])* {
                    if let Some(source) = self.$field.get(output) {
                        state.$field = *source;
                    }
                })+
            }

            /// Twin of [`ReductionRows::slab`] with all states required; without outputs if there are no rows.
            pub fn naive(rows: &[&[u8]], encoding: &Encoding) -> ReductionRows {
                let columns = naive::columns(rows, encoding);
                ReductionRows {
                    $($(#[$condition])*
                    $field: columns.iter().map(|column| $State::naive_column(column)).collect(),)+
                }
            }
        }
    };
}

// Reductions with their own state. A new reduction needs a file and a line here.
register! {
    shape: Shape;
    #[cfg(feature = "conformance")] mean_abs: MeanAbs;
}

/// Number that describes a set of pixels. NaN and BLANK are ignored, except by [`Statistic::NAN`], which counts them.
///
/// ```
/// use tachyfits_kernels::Statistic;
/// let statistic: Statistic = "mean".parse()?;
/// assert_eq!((statistic, statistic.meaning()), (Statistic::MEAN, "sum over count"));
/// assert!("median".parse::<Statistic>().is_err());
/// # Ok::<(), tachyfits_kernels::UnknownStatistic>(())
/// ```
#[derive(Clone, Copy)]
pub struct Statistic(Registered);

impl Statistic {
    /// All statistics, in display order.
    pub const ALL: &'static [Statistic] = &all();

    /// Number of defined pixels.
    pub const COUNT: Statistic = Statistic::known("count");
    /// Number of undefined pixels.
    pub const NAN: Statistic = Statistic::known("nan");
    /// Sum; exact for unscaled integers.
    pub const SUM: Statistic = Statistic::known("sum");
    /// Sum over count.
    pub const MEAN: Statistic = Statistic::known("mean");
    /// Root mean square about zero.
    pub const RMS: Statistic = Statistic::known("rms");
    /// Standard deviation about the mean.
    pub const STD: Statistic = Statistic::known("std");
    /// Smallest pixel.
    pub const MIN: Statistic = Statistic::known("min");
    /// Largest pixel.
    pub const MAX: Statistic = Statistic::known("max");
    /// Linear index of the first of the smallest pixels.
    pub const MIN_POSITION: Statistic = Statistic::known("min_position");
    /// Linear index of the first of the largest pixels.
    pub const MAX_POSITION: Statistic = Statistic::known("max_position");

    /// Returns the statistic with a name of the register, for constants of any crate.
    ///
    /// # Panics
    /// If the register lacks the name; in a constant this is a compile-time error.
    pub const fn known(name: &str) -> Statistic {
        let mut place = 0;
        while place < NUMBER {
            if is_same(Statistic::ALL[place].name(), name) {
                return Statistic::ALL[place];
            }
            place += 1;
        }
        panic!("no statistic has this name")
    }

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        with_definition!(self, definition => definition.name)
    }

    /// Returns the definition, in one line.
    pub fn meaning(self) -> &'static str {
        with_definition!(self, definition => definition.meaning)
    }

    /// Returns the unit.
    pub fn unit(self) -> StatisticUnit {
        with_definition!(self, definition => definition.unit)
    }

    /// Whether this is a count or a position.
    pub fn is_integer(self) -> bool {
        with_definition!(self, definition => matches!(definition.finish, Finish::Integer(_)))
    }

    /// Whether this statistic is shown by default.
    pub fn is_standard(self) -> bool {
        matches!(self.0, Registered::Stats(StatsStatistic { is_standard: true, .. }))
    }
}

const fn is_same(first: &str, second: &str) -> bool {
    let (first, second) = (first.as_bytes(), second.as_bytes());
    let mut place = 0;
    while place < first.len() && place < second.len() && first[place] == second[place] {
        place += 1;
    }
    place == first.len() && place == second.len()
}

impl PartialEq for Statistic {
    fn eq(&self, other: &Statistic) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Statistic {}

impl Hash for Statistic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Statistic {
    type Err = UnknownStatistic;

    fn from_str(name: &str) -> Result<Statistic, UnknownStatistic> {
        let statistic = Statistic::ALL.iter().find(|statistic| statistic.name() == name);
        statistic.copied().ok_or_else(|| UnknownStatistic { name: name.to_owned() })
    }
}

/// Error for an unknown name of a statistic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStatistic {
    /// Unknown name.
    pub name: String,
}

impl UnknownStatistic {
    /// Returns the known names of statistics.
    pub fn expected(&self) -> String {
        let names: Vec<_> = Statistic::ALL.iter().map(|statistic| statistic.name()).collect();
        format!("one of {}", names.join(", "))
    }
}

impl fmt::Display for UnknownStatistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid statistic {:?}: expected {}", self.name, self.expected())
    }
}

impl std::error::Error for UnknownStatistic {}
