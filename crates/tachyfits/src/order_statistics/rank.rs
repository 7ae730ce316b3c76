//! Order statistics as ranks: the ranks that a statistic needs, how it is computed from their values, and the
//! selection of ranks among values in memory.

use tachyfits_kernels::{Tier, deviate, key_of, split, value_of_key};
use tachyfits_memory::{self as memory, NoMemory};

/// A statistic of sorted values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum OrderStatistic {
    /// The middle value, or the mean of the two middle values.
    Median,
    /// The median of the distances to the median, not scaled; NaN if the median is infinite.
    Mad,
    /// A percentile from 0 (the smallest value) to 100 (the largest), linearly interpolated between
    /// neighbours: NumPy's default.
    Percentile(f64),
    /// The number of defined values, for requests that need it beside other statistics; NaN without any.
    Count,
}

impl OrderStatistic {
    /// Named statistics: name and definition, in display order.
    pub(crate) const NAMED: [(&str, &str, OrderStatistic); 2] = [
        ("median", "the middle value, exact", OrderStatistic::Median),
        (
            "mad",
            "median of the distances to the median, exact and not scaled; NaN where the median is infinite",
            OrderStatistic::Mad,
        ),
    ];

    /// Returns the order statistic with a name: "median", "mad", or "percentile" and a number, as in
    /// "percentile90".
    ///
    /// ```
    /// use tachyfits::statistics::OrderStatistic;
    /// let statistic = OrderStatistic::of_name("percentile99.5");
    /// assert_eq!(statistic, Some(OrderStatistic::Percentile(99.5)));
    /// assert_eq!(OrderStatistic::of_name("mean"), None);
    /// ```
    #[must_use]
    pub fn of_name(name: &str) -> Option<OrderStatistic> {
        if let Some(number) = name.strip_prefix("percentile") {
            return number.parse().ok().map(OrderStatistic::Percentile);
        }
        let entry = OrderStatistic::NAMED.iter().find(|(name_of_entry, ..)| *name_of_entry == name);
        entry.map(|&(.., statistic)| statistic)
    }

    /// Returns the two neighbouring ranks, from 0, that the statistic needs among `count` values, at least
    /// one.
    pub fn ranks(self, count: u64) -> [u64; 2] {
        match self {
            OrderStatistic::Median | OrderStatistic::Mad => [(count - 1) / 2, count / 2],
            OrderStatistic::Count => [0, 0],
            OrderStatistic::Percentile(_) => {
                let before = self.place(count).floor() as u64;
                [before.min(count - 1), (before + 1).min(count - 1)]
            }
        }
    }

    /// Returns the approximate fraction of values below the statistic.
    pub(crate) fn fraction(self) -> f64 {
        match self {
            OrderStatistic::Percentile(percent) => percent / 100.0,
            OrderStatistic::Median | OrderStatistic::Mad => 0.5,
            OrderStatistic::Count => 0.0,
        }
    }

    /// Returns a fractional rank.
    fn place(self, count: u64) -> f64 {
        (count - 1) as f64 * self.fraction()
    }

    /// Returns the statistic of `count` values from the values of its two ranks.
    pub fn value(self, count: u64, [low, high]: [f64; 2]) -> f64 {
        match self {
            OrderStatistic::Median | OrderStatistic::Mad => mean(low, high),
            OrderStatistic::Count => count as f64,
            OrderStatistic::Percentile(_) => {
                let place = self.place(count);
                interpolate(low, high, place - place.floor())
            }
        }
    }
}

/// Returns the mean of two numbers, even if their sum overflows.
fn mean(low: f64, high: f64) -> f64 {
    let sum = low + high;
    if sum.is_infinite() { low / 2.0 + high / 2.0 } else { sum / 2.0 }
}

/// Interpolates linearly from the nearer end, as NumPy does, with identical bits. Unlike NumPy, it returns
/// the infinity between equal infinities, and between an infinity and a number.
fn interpolate(low: f64, high: f64, fraction: f64) -> f64 {
    let step = high - low;
    if fraction == 0.0 || low == high {
        low
    } else if !step.is_finite() {
        low * (1.0 - fraction) + high * fraction
    } else if fraction < 0.5 {
        low + step * fraction
    } else {
        high - step * (1.0 - fraction)
    }
}

/// Minimum number of values to sample: with fewer, a sample does not pay.
const LEAST_SAMPLED: usize = 512;

/// Minimum number of statistics for sorting all values: below it, one selection per statistic is cheaper.
pub(crate) const LEAST_SORTED: usize = 24;

/// Buffers of [`Selection::push`], reused between sets of values.
#[derive(Default)]
pub(crate) struct Selection {
    values: Vec<f64>,
    keys: Vec<u64>,
}

impl Selection {
    /// Reserves memory for sets of this many values.
    ///
    /// # Errors
    /// If there is too little.
    pub(crate) fn reserve(&mut self, values: usize) -> Result<(), NoMemory> {
        self.values.clear();
        self.keys.clear();
        memory::reserve(&mut self.values, values, "the pixels of an output")?;
        memory::reserve(&mut self.keys, values, "the pixels of an output")
    }

    /// Appends the value of each statistic to `results`, NaN if no value is defined. Overwrites the values.
    pub(crate) fn push(
        &mut self,
        values: &mut [f64],
        statistics: &[OrderStatistic],
        tier: Tier,
        results: &mut Vec<f64>,
    ) {
        let count = values.iter().filter(|x| !x.is_nan()).count() as u64;
        let first = results.len();
        let mut deviations = false;
        let is_sorted = statistics.len() >= LEAST_SORTED;
        if is_sorted {
            self.keys.clear();
            self.keys.extend(values.iter().filter(|x| !x.is_nan()).map(|&x| key_of(x)));
            self.keys.sort_unstable();
        }
        for &statistic in statistics {
            let value = match statistic {
                OrderStatistic::Mad if count > 0 => {
                    deviations = true;
                    f64::NAN
                }
                OrderStatistic::Count if count > 0 => count as f64,
                statistic if count > 0 && is_sorted => {
                    let end = |rank: u64| value_of_key(self.keys[rank as usize]);
                    statistic.value(count, statistic.ranks(count).map(end))
                }
                statistic if count > 0 => self.statistic(values, count, statistic, tier),
                _ => f64::NAN,
            };
            results.push(value);
        }
        if deviations {
            let median = self.statistic(values, count, OrderStatistic::Median, tier);
            let mut mad = f64::NAN;
            if median.is_finite() {
                deviate(values, median, tier);
                mad = self.statistic(values, count, OrderStatistic::Mad, tier);
            }
            for (statistic, result) in statistics.iter().zip(&mut results[first..]) {
                if *statistic == OrderStatistic::Mad {
                    *result = mad;
                }
            }
        }
    }

    fn statistic(
        &mut self,
        values: &[f64],
        count: u64,
        statistic: OrderStatistic,
        tier: Tier,
    ) -> f64 {
        let ranks = statistic.ranks(count).map(|rank| rank as usize);
        if values.len() >= LEAST_SAMPLED
            && let Some(ends) = self.near(values, statistic.fraction(), ranks, tier)
        {
            return statistic.value(count, ends);
        }
        self.values.clear();
        self.values.extend(values.iter().filter(|x| !x.is_nan()));
        statistic.value(count, self.select(ranks))
    }

    /// Returns the values of two neighbouring ranks, from the pixels near the prediction of a sample; `None`
    /// if the prediction was wrong. The sample never changes the result.
    fn near(
        &mut self,
        values: &[f64],
        fraction: f64,
        ranks: [usize; 2],
        tier: Tier,
    ) -> Option<[f64; 2]> {
        // Twice the number of values to the power 2/3: balances the work for the sample and for the remaining
        // values.
        let step = ((values.len() as f64).cbrt() / 2.0).max(1.0) as usize;
        self.keys.clear();
        let sample = values.iter().step_by(step).filter(|x| !x.is_nan());
        self.keys.extend(sample.map(|&x| key_of(x)));
        let most = self.keys.len().checked_sub(1)? as f64;
        let width = 2.5 * (fraction * (1.0 - fraction) * most).sqrt() + 1.5;
        let middle = fraction * most;
        let (from, to) = ((middle - width).max(0.0) as usize, (middle + width).min(most) as usize);
        let (_, &mut high, _) = self.keys.select_nth_unstable(to);
        let (_, &mut low, _) = self.keys[..=to].select_nth_unstable(from);
        let low = if from == 0 { f64::NEG_INFINITY } else { value_of_key(low) };
        let high = if to as f64 == most { f64::INFINITY } else { value_of_key(high) };
        self.values.clear();
        let counts = split(values, (low, high), tier, Some(&mut self.values));
        let begin = counts.below as usize;
        let between = begin + counts.at_low as usize;
        let end = between + counts.between as usize;
        let last = end + counts.at_high as usize;
        if ranks[0] < begin || ranks[1] >= last {
            return None;
        }
        let inside =
            ranks.map(|rank| rank.clamp(between, end.saturating_sub(1).max(between)) - between);
        let selected = if end > between { self.select(inside) } else { [low; 2] };
        let mut ends = [0.0; 2];
        for (at, rank) in ranks.into_iter().enumerate() {
            ends[at] = match rank {
                _ if rank < between => low,
                _ if rank < end => selected[at],
                _ => high,
            };
        }
        Some(ends.map(|x| x + 0.0))
    }

    /// Returns the values of two neighbouring ranks, or of one rank twice, among the gathered values.
    fn select(&mut self, [low, high]: [usize; 2]) -> [f64; 2] {
        self.keys.clear();
        self.keys.extend(self.values.iter().map(|&x| key_of(x)));
        let (below, &mut upper, _) = self.keys.select_nth_unstable(high);
        let lower = if low < high { below.iter().copied().max().unwrap_or(upper) } else { upper };
        [lower, upper].map(value_of_key)
    }
}
