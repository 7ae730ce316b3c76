//! One pass of a selection: what it counts and keeps, its mergeable result, and what that says about ranks. Both
//! can be written as 64-bit words, for passes that other processes run.

use std::sync::atomic::{AtomicU64, Ordering};

use tachyfits_kernels::{KeyBins, Split, Tier, deviate, key_of, split, value_of_key};
use tachyfits_memory::{self as memory, NoMemory};

use super::cuts::{Cuts, Sorted};
use super::select::select;
use crate::error::Error;

/// A pass over the pixels: the ranges of values that it counts or keeps.
#[derive(Debug)]
pub struct RankPass {
    kind: PassKind,
    /// Values are distances to this number.
    pub(super) center: Option<f64>,
    /// Maximum number of values kept in one process.
    pub(super) most: u64,
}

#[derive(Debug)]
enum PassKind {
    Ranges(Vec<Task>),
    Cuts(Cuts),
}

/// Result of a pass over some of the pixels.
#[derive(Debug)]
pub struct RankCounts {
    kind: CountsKind,
    /// Whether every pixel that should be kept was kept.
    pub(super) is_whole: bool,
}

#[derive(Debug)]
enum CountsKind {
    Ranges(Vec<TaskResult>),
    Cuts(Sorted),
}

impl RankPass {
    pub(super) fn of_ranges(tasks: Vec<Task>, center: Option<f64>, most: u64) -> RankPass {
        RankPass { kind: PassKind::Ranges(tasks), center, most }
    }

    pub(super) fn of_cuts(cuts: Cuts, center: Option<f64>, most: u64) -> RankPass {
        RankPass { kind: PassKind::Cuts(cuts), center, most }
    }

    /// Returns the words from which [`RankPass::from_words`] makes the pass.
    #[must_use]
    pub fn to_words(&self) -> Vec<u64> {
        let (has_center, center) = self.center.map_or((0, 0), |center| (1, center.to_bits()));
        let mut words = vec![has_center, center, self.most];
        match &self.kind {
            PassKind::Ranges(tasks) => {
                words.push(0);
                for task in tasks {
                    words.extend(match task {
                        Task::Keep { low, high } => [0, low.to_bits(), high.to_bits(), 0],
                        Task::Count(KeyBins { first, shift, bins }) => {
                            [1, *first, (*shift).into(), *bins as u64]
                        }
                    });
                }
            }
            PassKind::Cuts(cuts) => {
                words.push(1);
                words.extend(cuts.to_words());
            }
        }
        words
    }

    /// Returns the pass of words, or `None` unless [`RankPass::to_words`] could have written them.
    #[must_use]
    pub fn from_words(words: &[u64]) -> Option<RankPass> {
        let (&[has_center, center, most, kind], rest) = words.split_first_chunk()?;
        let center = (has_center == 1).then_some(f64::from_bits(center));
        let kind = match kind {
            0 => {
                let (tasks, []) = rest.as_chunks() else { return None };
                PassKind::Ranges(tasks.iter().map(Task::of_words).collect::<Option<_>>()?)
            }
            1 => PassKind::Cuts(Cuts::from_words(rest)?),
            _ => return None,
        };
        Some(RankPass { kind, center, most })
    }
}

impl RankCounts {
    pub(super) fn new(pass: &RankPass) -> RankCounts {
        let kind = match &pass.kind {
            PassKind::Ranges(tasks) => {
                CountsKind::Ranges(tasks.iter().copied().map(TaskResult::new).collect())
            }
            PassKind::Cuts(cuts) => CountsKind::Cuts(Sorted::new(cuts)),
        };
        RankCounts { kind, is_whole: true }
    }

    /// Adds values, which it may overwrite. `kept` counts the values that all workers keep; once it exceeds the
    /// limit of the pass, no more are kept.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(super) fn take(
        &mut self,
        pass: &RankPass,
        values: &mut [f64],
        tier: Tier,
        kept: &AtomicU64,
    ) -> Result<(), NoMemory> {
        if let Some(center) = pass.center {
            deviate(values, center, tier);
        }
        match (&mut self.kind, &pass.kind) {
            (CountsKind::Ranges(results), _) => {
                results.iter_mut().try_for_each(|result| result.take(values, tier, kept, pass.most))
            }
            (CountsKind::Cuts(sorted), PassKind::Cuts(cuts)) => {
                let room = kept.load(Ordering::Relaxed) <= pass.most;
                kept.fetch_add(sorted.take(cuts, values, room)?, Ordering::Relaxed);
                Ok(())
            }
            _ => unreachable!("the counts of a pass are of its kind"),
        }
    }

    /// Adds the result of the same pass over other pixels.
    pub(super) fn merge(&mut self, other: RankCounts) -> Result<(), NoMemory> {
        self.is_whole &= other.is_whole;
        match (&mut self.kind, other.kind) {
            (CountsKind::Ranges(results), CountsKind::Ranges(more)) => {
                results.iter_mut().zip(more).try_for_each(|(result, more)| result.merge(more))
            }
            (CountsKind::Cuts(sorted), CountsKind::Cuts(more)) => sorted.merge(more),
            _ => unreachable!("workers run the same pass"),
        }
    }

    /// Total number of defined pixels.
    pub(super) fn count(&self) -> u64 {
        match &self.kind {
            CountsKind::Ranges(results) => results.first().map_or(0, TaskResult::count),
            CountsKind::Cuts(sorted) => sorted.count(),
        }
    }

    /// Narrows every rank; ranks with a determined value move from `opens` to `values_of_ranks`. `check` is called
    /// regularly and may cancel.
    pub(super) fn narrow(
        self,
        pass: &RankPass,
        opens: &mut Vec<Open>,
        values_of_ranks: &mut Vec<(u64, f64)>,
        check: &dyn Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        match (self.kind, &pass.kind) {
            (CountsKind::Ranges(mut results), _) => {
                narrow(opens, values_of_ranks, &mut results, self.is_whole, check)
            }
            (CountsKind::Cuts(sorted), PassKind::Cuts(cuts)) => {
                sorted.narrow(cuts, self.is_whole, opens, values_of_ranks, check)
            }
            _ => unreachable!("the counts of a pass are of its kind"),
        }
    }

    /// Returns the words from which [`RankCounts::from_words`] makes the result.
    #[must_use]
    pub fn to_words(&self) -> Vec<u64> {
        let mut words = vec![self.is_whole.into()];
        match &self.kind {
            CountsKind::Ranges(results) => {
                results.iter().for_each(|result| result.push_words(&mut words));
            }
            CountsKind::Cuts(sorted) => sorted.push_words(&mut words),
        }
        words
    }

    /// Returns the result of a pass from words, or `None` unless [`RankCounts::to_words`] could have written them.
    #[must_use]
    pub fn from_words(pass: &RankPass, words: &[u64]) -> Option<RankCounts> {
        let (&is_whole, mut rest) = words.split_first()?;
        let kind = match &pass.kind {
            PassKind::Ranges(tasks) => {
                let results = tasks.iter().map(|task| TaskResult::of_words(*task, &mut rest));
                CountsKind::Ranges(results.collect::<Option<_>>()?)
            }
            PassKind::Cuts(cuts) => CountsKind::Cuts(Sorted::of_words(cuts, &mut rest)?),
        };
        rest.is_empty().then_some(RankCounts { kind, is_whole: is_whole == 1 })
    }
}

/// Takes a list from the front of words: its length, then its values.
pub(super) fn list<'a>(words: &mut &'a [u64]) -> Option<&'a [u64]> {
    let length = usize::try_from(*words.split_off_first()?).ok()?;
    words.split_off(..length)
}

/// Operation of a pass for one range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Task {
    /// Count the pixels below, in and above `low..=high`, and keep the pixels inside.
    Keep { low: f64, high: f64 },
    /// Count pixels in bins.
    Count(KeyBins),
}

/// Maximum number of bins of a pass from another process.
const MOST_BINS: usize = 1 << 24;

/// Purpose of the memory, for errors.
const KEPT: &str = "pixels near the results";

/// Result of a pass.
#[derive(Clone, Debug)]
enum TaskResult {
    Kept { low: f64, high: f64, counts: Split, values: Vec<f64> },
    Counted { bins: KeyBins, counts: Vec<u64> },
}

impl Task {
    fn of_words(words: &[u64; 4]) -> Option<Task> {
        match *words {
            [0, low, high, 0] => {
                Some(Task::Keep { low: f64::from_bits(low), high: f64::from_bits(high) })
            }
            [1, first, shift @ 0..64, bins] => {
                // Each bin becomes a count in memory.
                let bins = usize::try_from(bins).ok().filter(|bins| *bins <= MOST_BINS)?;
                Some(Task::Count(KeyBins { first, shift: shift as u32, bins }))
            }
            _ => None,
        }
    }
}

impl TaskResult {
    fn push_words(&self, words: &mut Vec<u64>) {
        match self {
            TaskResult::Kept { counts, values, .. } => {
                let Split { below, at_low, between, at_high, above } = *counts;
                words.extend([below, at_low, between, at_high, above, values.len() as u64]);
                words.extend(values.iter().map(|value| value.to_bits()));
            }
            TaskResult::Counted { counts, .. } => {
                words.push(counts.len() as u64);
                words.extend(counts);
            }
        }
    }

    fn of_words(task: Task, words: &mut &[u64]) -> Option<TaskResult> {
        match task {
            Task::Keep { low, high } => {
                let (&[below, at_low, between, at_high, above], rest) =
                    words.split_first_chunk()?;
                *words = rest;
                let counts = Split { below, at_low, between, at_high, above };
                let values = list(words)?.iter().map(|&bits| f64::from_bits(bits)).collect();
                Some(TaskResult::Kept { low, high, counts, values })
            }
            Task::Count(bins) => {
                let counts = list(words).filter(|counts| counts.len() == bins.bins + 3)?.to_vec();
                Some(TaskResult::Counted { bins, counts })
            }
        }
    }

    fn new(task: Task) -> TaskResult {
        match task {
            Task::Keep { low, high } => {
                let (counts, values) = Default::default();
                TaskResult::Kept { low, high, counts, values }
            }
            // There are at most `MOST_BINS`, usually 2^14.
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
    pub(super) within: KeyRange,
}

impl Open {
    pub(super) fn new(rank: u64, count: u64) -> Open {
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
