//! Properties of every statistic, for all interfaces, and values of results.

use tachyfits_kernels::{OutputState, Statistic, StatisticUnit, StatisticValue, UnknownStatistic};

use crate::error::{Error, Reason};
use crate::order_statistics::OrderStatistic;

/// Properties of a named statistic, for all interfaces.
///
/// ```
/// use tachyfits::statistics::{StatisticUnit, statistics};
/// let names: Vec<_> = statistics().filter(|facts| facts.is_order).map(|facts| facts.name).collect();
/// assert_eq!(names, ["median", "mad"]);
/// assert!(statistics().any(|facts| (facts.name, facts.unit) == ("mean", StatisticUnit::Pixels)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatisticFacts {
    /// Name in interfaces.
    pub name: &'static str,
    /// Definition in one line.
    pub meaning: &'static str,
    /// Unit of the values.
    pub unit: StatisticUnit,
    /// Whether the statistic is shown by default.
    pub is_standard: bool,
    /// Whether it is an [`OrderStatistic`], which [`crate::Image::order`] computes; otherwise it is a
    /// [`Statistic`].
    pub is_order: bool,
}

/// Returns the properties of every named statistic, in display order. Percentiles of any number are not
/// listed ([`OrderStatistic::of_name`]).
pub fn statistics() -> impl Iterator<Item = StatisticFacts> {
    let of_pass = Statistic::ALL.iter().map(|statistic| StatisticFacts {
        name: statistic.name(),
        meaning: statistic.meaning(),
        unit: statistic.unit(),
        is_standard: statistic.is_standard(),
        is_order: false,
    });
    let of_order = OrderStatistic::NAMED.iter().map(|&(name, meaning, _)| {
        let unit = StatisticUnit::Pixels;
        StatisticFacts { name, meaning, unit, is_standard: false, is_order: true }
    });
    of_pass.chain(of_order)
}

impl From<UnknownStatistic> for Error {
    fn from(unknown: UnknownStatistic) -> Error {
        let actual = format!("{:?}", unknown.name);
        Error::refused(Reason::Statistic, unknown.expected(), actual)
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

impl Values {
    /// Returns empty values of the type of a statistic.
    pub(crate) fn of(statistic: Statistic) -> Values {
        match statistic.is_integer() {
            true => Values::Integers(Vec::new()),
            false => Values::Floats(Vec::new()),
        }
    }

    /// Appends the value of a statistic for a set of pixels.
    #[inline]
    pub(crate) fn push(&mut self, statistic: Statistic, state: &OutputState, ddof: u64) {
        match (state.value(statistic, ddof), self) {
            (StatisticValue::Integer(value), Values::Integers(values)) => values.push(value),
            (StatisticValue::Float(value), Values::Floats(values)) => values.push(value),
            _ => unreachable!("the values are those that `Values::of` made"),
        }
    }
}
