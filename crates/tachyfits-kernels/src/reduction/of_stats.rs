//! Statistics computed from [`Stats`].

use super::definition::{Definition, Finish, StatisticUnit};
use crate::stats::{Extremum, Stats};

/// Part of the state that a statistic requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Count and sum.
    Sum,
    /// Also the squares about the mean.
    Squares,
    /// Extremes and their positions.
    Extremes,
}

/// Statistic computed from [`Stats`].
#[derive(Clone, Copy, Debug)]
pub(super) struct StatsStatistic {
    pub(super) definition: Definition<Stats>,
    pub(super) part: Part,
    /// Whether this statistic is shown by default.
    pub(super) is_standard: bool,
}

/// The statistics, in display order.
pub(super) const STATISTICS: &[StatsStatistic] = &[
    whole("count", "number of defined pixels", Part::Sum, |stats| stats.count as i64),
    whole("nan", "number of undefined pixels: NaN or BLANK", Part::Sum, |stats| stats.nan as i64),
    of_pixels("sum", "sum; NaN if no pixel is defined", Part::Sum, |stats, _| stats.total()),
    of_pixels("mean", "sum over count", Part::Sum, |stats, _| stats.mean()),
    of_pixels("rms", "root mean square about zero", Part::Squares, |stats, _| {
        // Rows come without extremes, which would show infinite pixels; the sum shows them for lines and rows alike.
        match stats.count > 0 && !stats.sum.is_finite() {
            true => f64::INFINITY,
            false => stats.rms(),
        }
    }),
    of_pixels(
        "std",
        "standard deviation about the mean, divisor count - ddof",
        Part::Squares,
        |stats, ddof| stats.std(ddof),
    ),
    of_pixels("min", "the smallest", Part::Extremes, |stats, _| value(stats.min)),
    of_pixels("max", "the largest", Part::Extremes, |stats, _| value(stats.max)),
    whole(
        "min_position",
        "linear index of the first smallest pixel reduced; -1 if none is defined",
        Part::Extremes,
        |stats| position(stats.min),
    ),
    whole(
        "max_position",
        "linear index of the first largest pixel reduced; -1 if none is defined",
        Part::Extremes,
        |stats| position(stats.max),
    ),
];

/// Returns a default statistic in the unit of the pixels.
const fn of_pixels(
    name: &'static str,
    meaning: &'static str,
    part: Part,
    value: fn(&Stats, u64) -> f64,
) -> StatsStatistic {
    let (unit, finish) = (StatisticUnit::Pixels, Finish::Float(value));
    StatsStatistic {
        definition: Definition { name, meaning, unit, finish },
        part,
        is_standard: true,
    }
}

/// Returns a count, which is shown by default, or a position.
const fn whole(
    name: &'static str,
    meaning: &'static str,
    part: Part,
    value: fn(&Stats) -> i64,
) -> StatsStatistic {
    let (unit, finish) = (StatisticUnit::None, Finish::Integer(value));
    let is_standard = matches!(part, Part::Sum);
    StatsStatistic { definition: Definition { name, meaning, unit, finish }, part, is_standard }
}

fn value(extreme: Option<Extremum>) -> f64 {
    extreme.map_or(f64::NAN, |extreme| extreme.value)
}

fn position(extreme: Option<Extremum>) -> i64 {
    extreme.map_or(-1, |extreme| extreme.position as i64)
}
