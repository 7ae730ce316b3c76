//! Selection among any number of pixels in bounded memory.
//!
//! A pass counts, for a few ranges, the pixels below, in and above each. It keeps the pixels inside a range
//! if they are few, and otherwise counts them in bins. Each pass narrows the interval that contains a rank,
//! so the result is exact whatever the ranges of the first pass were. A sample of the pixels makes them so
//! good that one pass is usually enough.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use tachyfits_kernels::{
    Encoding, KeyBins, LEAF_PIXELS, Split, Tier, decode_f64, deviate, key_of, split, value_of_key,
};
use tachyfits_memory::{self as memory, NoMemory};

use super::cuts::{Cuts, Sorted};
use super::limits::OrderLimits;
use super::passes::Passes;
use super::rank::OrderStatistic;
use super::sample::{Part, Sample, SampledLines};
use super::select::select;
use crate::error::Error;
use crate::image::Image;
use crate::lines::{LineReads, Lines};
use crate::workers::{Own, Workers};

/// Number of cuts per statistic in the first pass, so that the second pass can keep the bins that contain
/// ranks.
const CUTS_PER_STATISTIC: usize = 64;

/// Minimum number of cuts of a pass: their table costs less than a block of pixels.
const LEAST_CUTS: usize = 64;

/// Operation of a pass for one range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    /// Count the pixels below, in and above `low..=high`, and keep the pixels inside.
    Keep { low: f64, high: f64 },
    /// Count pixels in bins.
    Count(KeyBins),
}

/// Purpose of the memory, for errors.
const KEPT: &str = "pixels near the results";

/// Result of a pass.
#[derive(Clone, Debug)]
enum TaskResult {
    Kept { low: f64, high: f64, counts: Split, values: Vec<f64> },
    Counted { bins: KeyBins, counts: Vec<u64> },
}

impl TaskResult {
    fn new(task: Task) -> TaskResult {
        match task {
            Task::Keep { low, high } => {
                let (counts, values) = Default::default();
                TaskResult::Kept { low, high, counts, values }
            }
            // There are at most 2^14 bins.
            Task::Count(bins) => TaskResult::Counted { bins, counts: vec![0; bins.bins + 3] },
        }
    }

    /// Adds values. `kept` counts the values that all workers keep; once it exceeds `most`, no more are kept.
    ///
    /// # Errors
    /// If there is too little memory.
    fn take(
        &mut self,
        pixels: &[f64],
        tier: Tier,
        kept: &AtomicU64,
        most: u64,
    ) -> Result<(), NoMemory> {
        match self {
            TaskResult::Kept { low, high, counts, values, .. } => {
                let room = kept.load(Ordering::Relaxed) <= most;
                let before = values.len();
                if room {
                    memory::reserve(values, pixels.len(), KEPT)?;
                }
                *counts += split(pixels, (*low, *high), tier, room.then_some(&mut *values));
                kept.fetch_add((values.len() - before) as u64, Ordering::Relaxed);
            }
            TaskResult::Counted { bins, counts } => bins.count(pixels, tier, counts),
        }
        Ok(())
    }

    fn merge(&mut self, other: TaskResult) -> Result<(), NoMemory> {
        match (self, other) {
            (
                TaskResult::Kept { counts, values, .. },
                TaskResult::Kept { counts: more, values: new, .. },
            ) => {
                *counts += more;
                // The first worker's values are moved, not copied.
                match values.is_empty() {
                    true => *values = new,
                    false => memory::extend(values, &new, KEPT)?,
                }
            }
            (TaskResult::Counted { counts, .. }, TaskResult::Counted { counts: more, .. }) => {
                counts.iter_mut().zip(&more).for_each(|(count, more)| *count += more);
            }
            _ => unreachable!("workers do the same tasks"),
        }
        Ok(())
    }

    /// Total number of defined pixels.
    fn count(&self) -> u64 {
        match self {
            TaskResult::Kept { counts, .. } => counts.count(),
            TaskResult::Counted { counts, .. } => counts[..counts.len() - 1].iter().sum(),
        }
    }

    /// Returns the bin that contains a rank, with the number of pixels below it and up to its end.
    fn piece(&self, rank: u64) -> KeyRange {
        let mut pieces = KeyRanges { first: 0, below: 0, rank };
        match self {
            TaskResult::Kept { low, high, counts, .. } => {
                let (low, high) = (key_of(*low), key_of(*high));
                pieces
                    .next(low - 1, counts.below)
                    .or_else(|| pieces.next(low, counts.at_low))
                    .or_else(|| pieces.next(high.max(low + 1) - 1, counts.between))
                    .or_else(|| pieces.next(high.max(low), counts.at_high))
                    .unwrap_or_else(|| pieces.rest(counts.above))
            }
            TaskResult::Counted { bins, counts } => {
                // Computed in u128: the end of the last bin may exceed the last key.
                let last = |bin: usize| {
                    let end = u128::from(bins.first) + ((bin as u128 + 1) << bins.shift);
                    u64::try_from(end - 1).unwrap_or(u64::MAX)
                };
                pieces
                    .next(bins.first - 1, counts[0])
                    .or_else(|| {
                        let mut inside = (0..bins.bins).map(|bin| (last(bin), counts[bin + 1]));
                        inside.find_map(|(last, count)| pieces.next(last, count))
                    })
                    .unwrap_or_else(|| pieces.rest(counts[bins.bins + 1]))
            }
        }
    }
}

/// Keys `first..=last`, with the number of pixels below them and up to their end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct KeyRange {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) below: u64,
    pub(super) end: u64,
}

/// Walks along adjacent key ranges in ascending order.
struct KeyRanges {
    first: u64,
    below: u64,
    rank: u64,
}

impl KeyRanges {
    /// Returns the next range if it contains the rank.
    fn next(&mut self, last: u64, count: u64) -> Option<KeyRange> {
        let piece =
            KeyRange { first: self.first, last, below: self.below, end: self.below + count };
        (self.first, self.below) = (last.saturating_add(1), piece.end);
        (self.rank < piece.end).then_some(piece)
    }

    fn rest(&self, count: u64) -> KeyRange {
        KeyRange { first: self.first, last: u64::MAX, below: self.below, end: self.below + count }
    }
}

/// Result of a pass for a rank.
enum Narrowed {
    Open,
    Value(f64),
    /// The value is among the kept pixels, the first of which has rank `below`.
    Kept {
        below: u64,
    },
}

/// Bounds of a rank: its value is within these keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    rank: u64,
    within: KeyRange,
}

impl Open {
    fn new(rank: u64, count: u64) -> Open {
        let (first, last) = (key_of(f64::NEG_INFINITY), key_of(f64::INFINITY));
        Open { rank, within: KeyRange { first, last, below: 0, end: count } }
    }

    /// Narrows the bounds by the result of a pass. `whole` means that every pixel that should be kept was
    /// kept.
    fn narrow(&mut self, result: &TaskResult, whole: bool) -> Narrowed {
        let piece = result.piece(self.rank);
        if let TaskResult::Kept { low, high, counts, .. } = result
            && whole
            && piece.first > key_of(*low)
            && piece.last < key_of(*high)
            && counts.between > 0
        {
            return Narrowed::Kept { below: piece.below };
        }
        self.within(piece).map_or(Narrowed::Open, Narrowed::Value)
    }

    /// Returns the rank to determine.
    pub(super) fn rank(&self) -> u64 {
        self.rank
    }

    /// Narrows the bounds to a range; returns the value if the bounds contain a single key.
    pub(super) fn within(&mut self, piece: KeyRange) -> Option<f64> {
        let within = &mut self.within;
        if piece.first > within.first {
            (within.first, within.below) = (piece.first, piece.below);
        }
        if piece.last < within.last {
            (within.last, within.end) = (piece.last, piece.end);
        }
        (within.first == within.last).then(|| value_of_key(within.first))
    }
}

/// Pixels that can be read repeatedly.
pub(crate) struct Population<'a> {
    image: &'a Image,
    lines: &'a dyn Lines,
    encoding: Encoding,
    tier: Tier,
    limits: OrderLimits,
    sample: Option<Sample>,
}

impl<'a> Population<'a> {
    pub(crate) fn new(
        image: &'a Image,
        lines: &'a dyn Lines,
        tier: Tier,
        limits: OrderLimits,
    ) -> Population<'a> {
        Population { image, lines, encoding: image.encoding(), tier, limits, sample: None }
    }

    /// Appends the value of each statistic, NaN if no pixel is defined.
    pub(crate) fn push(
        &mut self,
        statistics: &[OrderStatistic],
        passes: &mut Passes<'_>,
        results: &mut Vec<f64>,
    ) -> Result<(), Error> {
        if self.lines.pixels() > self.limits.kept {
            self.sample = Some(self.take_sample(passes)?);
        }
        let has_mad = statistics.contains(&OrderStatistic::Mad);
        let mut direct: Vec<OrderStatistic> = statistics
            .iter()
            .copied()
            .filter(|statistic| *statistic != OrderStatistic::Mad)
            .collect();
        if has_mad {
            direct.push(OrderStatistic::Median);
        }
        let values = self.select(&direct, None, passes)?;
        let mut mad = f64::NAN;
        if has_mad && let Some(median) = values.last().filter(|median| median.is_finite()) {
            mad = self.select(&[OrderStatistic::Mad], Some(*median), passes)?[0];
        }
        let mut direct = values.into_iter();
        results.extend(statistics.iter().map(|statistic| match statistic {
            OrderStatistic::Mad => mad,
            _ => direct.next().unwrap_or(f64::NAN),
        }));
        Ok(())
    }

    /// Returns the statistics of the pixels, or of their distances to a centre.
    fn select(
        &self,
        statistics: &[OrderStatistic],
        center: Option<f64>,
        passes: &mut Passes<'_>,
    ) -> Result<Vec<f64>, Error> {
        let mut opens: Vec<Open>;
        let mut values_of_ranks: Vec<(u64, f64)> = Vec::new();
        let count = if let Some(cuts) = self.first_cuts(statistics, center, passes)? {
            let (result, whole) = self.cut(&cuts, center, passes)?;
            let count = result.count();
            opens = open_ranks(statistics, count);
            result.narrow(&cuts, whole, &mut opens, &mut values_of_ranks, &|| {
                passes.check_cancelled()
            })?;
            count
        } else {
            let tasks = self.first_tasks(statistics, center, passes)?;
            let (mut result, whole) = self.pass(&tasks, center, passes)?;
            let count = result[0].count();
            opens = open_ranks(statistics, count);
            narrow(&mut opens, &mut values_of_ranks, &mut result, whole, &|| {
                passes.check_cancelled()
            })?;
            count
        };
        if count == 0 {
            return Ok(vec![f64::NAN; statistics.len()]);
        }
        while !opens.is_empty() {
            let mut within: Vec<KeyRange> = opens.iter().map(|open| open.within).collect();
            within.sort_unstable_by_key(|piece| piece.first);
            within.dedup();
            if within.len() > self.limits.ranges {
                let cuts = Cuts::next(&within, self.limits.kept, self.most_cuts());
                let (result, whole) = self.cut(&cuts, center, passes)?;
                result.narrow(&cuts, whole, &mut opens, &mut values_of_ranks, &|| {
                    passes.check_cancelled()
                })?;
            } else {
                let (mut result, whole) = self.pass(&self.next_tasks(within), center, passes)?;
                narrow(&mut opens, &mut values_of_ranks, &mut result, whole, &|| {
                    passes.check_cancelled()
                })?;
            }
        }
        let values_of_ranks: HashMap<u64, f64> = values_of_ranks.into_iter().collect();
        let value = |rank: u64| values_of_ranks.get(&rank).copied().unwrap_or(f64::NAN);
        let values = statistics.iter();
        Ok(values
            .map(|statistic| statistic.value(count, statistic.ranks(count).map(value)))
            .collect())
    }

    /// Returns the ranges of the first pass: all values if there are few pixels, otherwise ranges from a
    /// sample.
    fn first_tasks(
        &self,
        statistics: &[OrderStatistic],
        center: Option<f64>,
        passes: &Passes<'_>,
    ) -> Result<Vec<Task>, Error> {
        let all = Task::Keep { low: f64::NEG_INFINITY, high: f64::INFINITY };
        let Some(sample) = self.sample.as_ref().filter(|sample| !sample.is_empty()) else {
            return Ok(vec![all]);
        };
        let ranges = match center {
            None => joined_ranges(sample, statistics, passes)?,
            Some(center) => {
                joined_ranges(&sample.deviations(center, self.tier)?, statistics, passes)?
            }
        };
        let mut room = self.limits.kept as f64;
        let pixels = self.lines.pixels() as f64;
        let task = |((low, high), part): ((f64, f64), f64)| {
            // Pixels equal to an end are only counted: a range of one value keeps nothing.
            let expected = if low < high { part * pixels } else { 0.0 };
            if expected > 0.9 * room {
                return Task::Count(self.bins(key_of(low), key_of(high)));
            }
            room -= expected;
            Task::Keep { low, high }
        };
        Ok(ranges.into_iter().map(task).collect())
    }

    /// Returns cuts for the first pass if a sample exists and there are too many statistics for separate
    /// ranges.
    fn first_cuts(
        &self,
        statistics: &[OrderStatistic],
        center: Option<f64>,
        passes: &Passes<'_>,
    ) -> Result<Option<Cuts>, Error> {
        let sample = self.sample.as_ref().filter(|sample| !sample.is_empty());
        let Some(sample) = sample.filter(|_| statistics.len() > self.limits.ranges) else {
            return Ok(None);
        };
        let deviations = center.map(|center| sample.deviations(center, self.tier)).transpose()?;
        let sample = deviations.as_ref().unwrap_or(sample);
        let ranges = joined_ranges(sample, statistics, passes)?;
        let most = (statistics.len() * CUTS_PER_STATISTIC).clamp(LEAST_CUTS, self.most_cuts());
        let (pixels, room) = (self.lines.pixels() as f64, self.limits.kept as f64);
        let sorted = sample.sorted(&|| passes.check_cancelled())?;
        Ok(Some(Cuts::first(&ranges, &sorted, pixels, room, most)))
    }

    /// Returns the maximum number of cuts of a pass.
    fn most_cuts(&self) -> usize {
        (self.limits.bins * self.limits.ranges).max(LEAST_CUTS)
    }

    /// Counts the pixels of each bin and keeps those of selected bins; returns whether every pixel that
    /// should be kept was kept.
    fn cut(
        &self,
        cuts: &Cuts,
        center: Option<f64>,
        passes: &mut Passes<'_>,
    ) -> Result<(Sorted, bool), Error> {
        let (tier, most) = (self.tier, self.limits.kept);
        let kept_count = AtomicU64::new(0);
        let workers = Workers::new();
        self.visit(
            self.lines,
            passes,
            || workers.begin(Sorted::new(cuts)),
            |state: &mut Own<Sorted>, values| {
                if let Some(center) = center {
                    deviate(values, center, tier);
                }
                let room = kept_count.load(Ordering::Relaxed) <= most;
                kept_count.fetch_add(state.get().take(cuts, values, room)?, Ordering::Relaxed);
                Ok(())
            },
            |_| (),
            |()| Ok(()),
        )?;
        let mut sorted = Sorted::new(cuts);
        workers
            .try_for_each(|worker| sorted.merge(std::mem::replace(worker, Sorted::new(cuts))))?;
        Ok((sorted, kept_count.into_inner() <= most))
    }

    /// Returns the ranges of the next pass.
    fn next_tasks(&self, within: Vec<KeyRange>) -> Vec<Task> {
        let mut room = self.limits.kept;
        let task = |piece: KeyRange| {
            let count = piece.end - piece.below;
            if count > room {
                return Task::Count(self.bins(piece.first, piece.last));
            }
            room -= count;
            Task::Keep { low: value_of_key(piece.first), high: value_of_key(piece.last) }
        };
        within.into_iter().map(task).collect()
    }

    fn bins(&self, first: u64, last: u64) -> KeyBins {
        KeyBins::covering(first, last, self.limits.bins)
    }

    /// Processes all pixels; returns the results of the tasks, and whether every pixel that should be kept
    /// was kept.
    fn pass(
        &self,
        tasks: &[Task],
        center: Option<f64>,
        passes: &mut Passes<'_>,
    ) -> Result<(Vec<TaskResult>, bool), Error> {
        let (tier, most) = (self.tier, self.limits.kept);
        let kept_count = AtomicU64::new(0);
        let workers = Workers::new();
        let begin =
            || workers.begin(tasks.iter().copied().map(TaskResult::new).collect::<Vec<_>>());
        self.visit(
            self.lines,
            passes,
            begin,
            |state: &mut Own<Vec<TaskResult>>, values| {
                if let Some(center) = center {
                    deviate(values, center, tier);
                }
                let mut state = state.get();
                state.iter_mut().try_for_each(|result| result.take(values, tier, &kept_count, most))
            },
            |_| (),
            |()| Ok(()),
        )?;
        let mut results: Vec<TaskResult> = tasks.iter().copied().map(TaskResult::new).collect();
        workers.try_for_each(|worker_results| {
            let worker_results = std::mem::take(worker_results);
            results.iter_mut().zip(worker_results).try_for_each(|(result, more)| result.merge(more))
        })?;
        Ok((results, kept_count.into_inner() <= most))
    }

    fn take_sample(&self, passes: &mut Passes<'_>) -> Result<Sample, Error> {
        let lines = SampledLines::new(self.lines, self.limits.sample);
        let mut sample = Sample::default();
        let take = |sampled: &mut Vec<f64>, values: &mut [f64]| {
            memory::extend(sampled, values, "a sample of the pixels")
        };
        let push = |values: Vec<f64>| sample.push(&values);
        self.visit(&lines, passes, Vec::new, take, std::mem::take, push)?;
        Ok(sample)
    }

    /// Decodes the pixels of lines, a leaf at a time, for `take`; `finish` ends a task.
    fn visit<W, R: Send>(
        &self,
        lines: &dyn Lines,
        passes: &mut Passes<'_>,
        begin: impl Fn() -> W + Sync,
        take: impl Fn(&mut W, &mut [f64]) -> Result<(), NoMemory> + Sync,
        finish: impl Fn(&mut W) -> R + Sync,
        mut merge: impl FnMut(R) -> Result<(), NoMemory> + Send,
    ) -> Result<(), Error> {
        let (pixels, encoding, tier) = (self.image.pixel_bytes(), &self.encoding, self.tier);
        let size = pixels.size as usize;
        let scratch = || (begin(), Vec::new(), vec![0.0; LEAF_PIXELS]);
        passes.run(lines.pixels().saturating_mul(pixels.size), |options| {
            let report = self.image.run(
                &LineReads { lines, pixels },
                lines.pixels(),
                options,
                scratch,
                |(worker, gathered, decoded), task, fetched| {
                    let (mut piece, mut outcome) = (0, Ok(()));
                    lines.visit(task, &mut |line| {
                        let bytes = line.stretch.collect(fetched, &mut piece, pixels, gathered);
                        for leaf in bytes.chunks(LEAF_PIXELS * size) {
                            let values = &mut decoded[..leaf.len() / size];
                            decode_f64(leaf, encoding, tier, values);
                            if outcome.is_ok() {
                                outcome = take(worker, values);
                            }
                        }
                    });
                    outcome?;
                    Ok(finish(worker))
                },
                |_task, result| Ok(merge(result)?),
            )?;
            Ok(((), report))
        })
    }
}

/// Returns disjoint, sorted ranges that probably contain the statistics, each with the fraction of pixels
/// inside.
fn joined_ranges(
    sample: &Sample,
    statistics: &[OrderStatistic],
    passes: &Passes<'_>,
) -> Result<Vec<Part>, Error> {
    let fractions: Vec<f64> = statistics.iter().map(|statistic| statistic.fraction()).collect();
    let mut ranges = sample.ranges(&fractions, &|| passes.check_cancelled())?;
    ranges.sort_by(|((a, _), _), ((b, _), _)| a.total_cmp(b));
    let mut merged: Vec<Part> = Vec::new();
    for ((low, high), part) in ranges {
        match merged.last_mut() {
            Some(((_, end), sum)) if low <= *end => {
                (*end, *sum) = (end.max(high), *sum + part);
            }
            _ => merged.push(((low, high), part)),
        }
    }
    Ok(merged)
}

/// Returns the distinct ranks of statistics; none if no pixel is defined.
fn open_ranks(statistics: &[OrderStatistic], count: u64) -> Vec<Open> {
    if count == 0 {
        return Vec::new();
    }
    let mut ranks: Vec<u64> =
        statistics.iter().flat_map(|statistic| statistic.ranks(count)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks.into_iter().map(|rank| Open::new(rank, count)).collect()
}

/// Narrows every rank by the results of a pass; ranks with a determined value move from `opens` to `values_of_ranks`.
/// `check` is called regularly and may cancel.
fn narrow(
    opens: &mut Vec<Open>,
    values_of_ranks: &mut Vec<(u64, f64)>,
    results: &mut [TaskResult],
    whole: bool,
    check: &dyn Fn() -> Result<(), Error>,
) -> Result<(), Error> {
    // There are at most 8 ranges.
    let mut ranks = vec![(0, Vec::new()); results.len()];
    opens.retain_mut(|open| {
        for (result, (first, places)) in results.iter().zip(&mut ranks) {
            match open.narrow(result, whole) {
                Narrowed::Open => continue,
                Narrowed::Value(value) => values_of_ranks.push((open.rank, value)),
                Narrowed::Kept { below } => {
                    *first = below;
                    places.push((open.rank - below) as usize);
                }
            }
            return false;
        }
        true
    });
    for (result, (first, places)) in results.iter_mut().zip(ranks) {
        if let TaskResult::Kept { values, .. } = result {
            let mut keys: Vec<u64> = std::mem::take(values).into_iter().map(key_of).collect();
            select(&mut keys, &places, check, &mut |place, key| {
                values_of_ranks.push((first + place as u64, value_of_key(key)));
            })?;
        }
    }
    Ok(())
}
