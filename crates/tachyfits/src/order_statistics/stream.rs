//! Selection among any number of pixels in bounded memory.
//!
//! A pass counts, for a few ranges, how many pixels lie below, in and above them, and keeps those within while they are
//! few, or else counts them in bins of their order. Each pass narrows the interval in which a rank is known to lie, so
//! the result is exact whatever the ranges of the first pass were; a sample of the pixels makes them so good that
//! usually one pass is enough.

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

/// Cuts of the first pass for each statistic, so that the second pass can keep the pieces that hold ranks.
const CUTS_PER_STATISTIC: usize = 64;

/// The fewest cuts of a pass: their table costs less than a block of pixels.
const LEAST_CUTS: usize = 64;

/// Operation of a pass for one range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    /// Counts about `low..=high` and keeps the pixels inside.
    Keep { low: f64, high: f64 },
    /// Counts in bins.
    Count(KeyBins),
}

/// Purpose of the memory, for errors.
const KEPT: &str = "pixels near the results";

/// Result of a pass.
#[derive(Clone, Debug)]
enum Found {
    Kept { low: f64, high: f64, counts: Split, values: Vec<f64> },
    Counted { bins: KeyBins, counts: Vec<u64> },
}

impl Found {
    fn new(task: Task) -> Found {
        match task {
            Task::Keep { low, high } => {
                let (counts, values) = Default::default();
                Found::Kept { low, high, counts, values }
            }
            // At most 2^14 bins.
            Task::Count(bins) => Found::Counted { bins, counts: vec![0; bins.bins + 3] },
        }
    }

    /// Adds values; `kept` counts those that all workers keep, beyond `most` of which none is kept any more.
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
            Found::Kept { low, high, counts, values, .. } => {
                let room = kept.load(Ordering::Relaxed) <= most;
                let before = values.len();
                if room {
                    memory::reserve(values, pixels.len(), KEPT)?;
                }
                *counts += split(pixels, (*low, *high), tier, room.then_some(&mut *values));
                kept.fetch_add((values.len() - before) as u64, Ordering::Relaxed);
            }
            Found::Counted { bins, counts } => bins.count(pixels, tier, counts),
        }
        Ok(())
    }

    fn merge(&mut self, other: Found) -> Result<(), NoMemory> {
        match (self, other) {
            (Found::Kept { counts, values, .. }, Found::Kept { counts: more, values: new, .. }) => {
                *counts += more;
                // The first worker's values need not be copied.
                match values.is_empty() {
                    true => *values = new,
                    false => memory::extend(values, &new, KEPT)?,
                }
            }
            (Found::Counted { counts, .. }, Found::Counted { counts: more, .. }) => {
                counts.iter_mut().zip(&more).for_each(|(count, more)| *count += more);
            }
            _ => unreachable!("workers do the same tasks"),
        }
        Ok(())
    }

    /// Total number of defined pixels.
    fn count(&self) -> u64 {
        match self {
            Found::Kept { counts, .. } => counts.count(),
            Found::Counted { counts, .. } => counts[..counts.len() - 1].iter().sum(),
        }
    }

    /// The order of all keys in pieces, each with the number of its pixels, up to the piece that has a rank.
    fn piece(&self, rank: u64) -> KeyRange {
        let mut pieces = KeyRanges { first: 0, below: 0, rank };
        match self {
            Found::Kept { low, high, counts, .. } => {
                let (low, high) = (key_of(*low), key_of(*high));
                pieces
                    .next(low - 1, counts.below)
                    .or_else(|| pieces.next(low, counts.at_low))
                    .or_else(|| pieces.next(high.max(low + 1) - 1, counts.between))
                    .or_else(|| pieces.next(high.max(low), counts.at_high))
                    .unwrap_or_else(|| pieces.rest(counts.above))
            }
            Found::Counted { bins, counts } => {
                // In u128, because the end of the last bin may lie beyond the last key.
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

/// Goes along the pieces of an order.
struct KeyRanges {
    first: u64,
    below: u64,
    rank: u64,
}

impl KeyRanges {
    /// The next piece, if it contains the rank.
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

/// The result of a pass for a rank.
enum Narrowed {
    Open,
    Value(f64),
    /// Its value is among those that were kept, which begin with this rank.
    Kept {
        below: u64,
    },
}

/// Bounds of a rank: it lies within these keys.
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

    /// Narrows it by what a pass found. `whole`: nothing that was to be kept was left out.
    fn narrow(&mut self, found: &Found, whole: bool) -> Narrowed {
        let piece = found.piece(self.rank);
        if let Found::Kept { low, high, counts, .. } = found
            && whole
            && piece.first > key_of(*low)
            && piece.last < key_of(*high)
            && counts.between > 0
        {
            return Narrowed::Kept { below: piece.below };
        }
        self.within(piece).map_or(Narrowed::Open, Narrowed::Value)
    }

    /// The rank that is looked for.
    pub(super) fn rank(&self) -> u64 {
        self.rank
    }

    /// Narrows it to a piece; the value, where that has one key.
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

    /// Appends the value of each statistic, NaN where no pixel is defined.
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
        let mut direct: Vec<OrderStatistic> =
            statistics.iter().copied().filter(|other| *other != OrderStatistic::Mad).collect();
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

    /// The values of statistics of the pixels, or of their distances to a centre.
    fn select(
        &self,
        statistics: &[OrderStatistic],
        center: Option<f64>,
        passes: &mut Passes<'_>,
    ) -> Result<Vec<f64>, Error> {
        let mut opens: Vec<Open>;
        let mut known: Vec<(u64, f64)> = Vec::new();
        let count = if let Some(cuts) = self.first_cuts(statistics, center, passes)? {
            let (found, whole) = self.cut(&cuts, center, passes)?;
            let count = found.count();
            opens = open_ranks(statistics, count);
            found.narrow(&cuts, whole, &mut opens, &mut known, &|| passes.check_cancelled())?;
            count
        } else {
            let tasks = self.first_tasks(statistics, center, passes)?;
            let (mut found, whole) = self.pass(&tasks, center, passes)?;
            let count = found[0].count();
            opens = open_ranks(statistics, count);
            narrow(&mut opens, &mut known, &mut found, whole, &|| passes.check_cancelled())?;
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
                let (found, whole) = self.cut(&cuts, center, passes)?;
                found.narrow(&cuts, whole, &mut opens, &mut known, &|| passes.check_cancelled())?;
            } else {
                let (mut found, whole) = self.pass(&self.next_tasks(within), center, passes)?;
                narrow(&mut opens, &mut known, &mut found, whole, &|| passes.check_cancelled())?;
            }
        }
        let known: HashMap<u64, f64> = known.into_iter().collect();
        let value = |rank: u64| known.get(&rank).copied().unwrap_or(f64::NAN);
        let values = statistics.iter();
        Ok(values.map(|of| of.value(count, of.ranks(count).map(value))).collect())
    }

    /// The ranges of the first pass: everything where it is little, else what a sample says.
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
        let joined = match center {
            None => joined_ranges(sample, statistics, passes)?,
            Some(center) => {
                joined_ranges(&sample.deviations(center, self.tier)?, statistics, passes)?
            }
        };
        let mut room = self.limits.kept as f64;
        let pixels = self.lines.pixels() as f64;
        let task = |((low, high), part): ((f64, f64), f64)| {
            // Pixels equal to an end are only counted: a range of one value keeps nothing.
            let kept = if low < high { part * pixels } else { 0.0 };
            if kept > 0.9 * room {
                return Task::Count(self.bins(key_of(low), key_of(high)));
            }
            room -= kept;
            Task::Keep { low, high }
        };
        Ok(joined.into_iter().map(task).collect())
    }

    /// The cuts of the first pass, where there are too many statistics to look at each and a sample says where they are.
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

    /// The most cuts of a pass.
    fn most_cuts(&self) -> usize {
        (self.limits.bins * self.limits.ranges).max(LEAST_CUTS)
    }

    /// Goes over all pixels: how many lie in each piece, and those of the pieces that are kept; whether all were kept that
    /// were to be kept.
    fn cut(
        &self,
        cuts: &Cuts,
        center: Option<f64>,
        passes: &mut Passes<'_>,
    ) -> Result<(Sorted, bool), Error> {
        let (tier, most) = (self.tier, self.limits.kept);
        let kept = AtomicU64::new(0);
        let workers = Workers::new();
        self.visit(
            self.lines,
            passes,
            || workers.begin(Sorted::new(cuts)),
            |own: &mut Own<Sorted>, values| {
                if let Some(center) = center {
                    deviate(values, center, tier);
                }
                let room = kept.load(Ordering::Relaxed) <= most;
                kept.fetch_add(own.get().take(cuts, values, room)?, Ordering::Relaxed);
                Ok(())
            },
            |_| (),
            |()| Ok(()),
        )?;
        let mut found = Sorted::new(cuts);
        workers.try_for_each(|own| found.merge(std::mem::replace(own, Sorted::new(cuts))))?;
        Ok((found, kept.into_inner() <= most))
    }

    /// The ranges that are still to be looked into.
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

    /// Goes over all pixels: what was found, and whether all was kept that was to be kept.
    fn pass(
        &self,
        tasks: &[Task],
        center: Option<f64>,
        passes: &mut Passes<'_>,
    ) -> Result<(Vec<Found>, bool), Error> {
        let (tier, most) = (self.tier, self.limits.kept);
        let kept = AtomicU64::new(0);
        let workers = Workers::new();
        let begin = || workers.begin(tasks.iter().copied().map(Found::new).collect::<Vec<_>>());
        self.visit(
            self.lines,
            passes,
            begin,
            |own: &mut Own<Vec<Found>>, values| {
                if let Some(center) = center {
                    deviate(values, center, tier);
                }
                let mut own = own.get();
                own.iter_mut().try_for_each(|found| found.take(values, tier, &kept, most))
            },
            |_| (),
            |()| Ok(()),
        )?;
        let mut found: Vec<Found> = tasks.iter().copied().map(Found::new).collect();
        workers.try_for_each(|own| {
            let own = std::mem::take(own);
            found.iter_mut().zip(own).try_for_each(|(found, more)| found.merge(more))
        })?;
        Ok((found, kept.into_inner() <= most))
    }

    fn take_sample(&self, passes: &mut Passes<'_>) -> Result<Sample, Error> {
        let lines = SampledLines::new(self.lines, self.limits.sample);
        let mut sample = Sample::default();
        let take = |own: &mut Vec<f64>, values: &mut [f64]| {
            memory::extend(own, values, "a sample of the pixels")
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
                    let (mut piece, mut taken) = (0, Ok(()));
                    lines.visit(task, &mut |line| {
                        let bytes = line.stretch.collect(fetched, &mut piece, pixels, gathered);
                        for leaf in bytes.chunks(LEAF_PIXELS * size) {
                            let values = &mut decoded[..leaf.len() / size];
                            decode_f64(leaf, encoding, tier, values);
                            if taken.is_ok() {
                                taken = take(worker, values);
                            }
                        }
                    });
                    taken?;
                    Ok(finish(worker))
                },
                |_task, result| Ok(merge(result)?),
            )?;
            Ok(((), report))
        })
    }
}

/// The ranges of a sample in which statistics probably are, rising and apart, each with the part of the pixels in it.
fn joined_ranges(
    sample: &Sample,
    statistics: &[OrderStatistic],
    passes: &Passes<'_>,
) -> Result<Vec<Part>, Error> {
    let fractions: Vec<f64> = statistics.iter().map(|of| of.fraction()).collect();
    let mut ranges = sample.ranges(&fractions, &|| passes.check_cancelled())?;
    ranges.sort_by(|((a, _), _), ((b, _), _)| a.total_cmp(b));
    let mut joined: Vec<Part> = Vec::new();
    for ((low, high), part) in ranges {
        match joined.last_mut() {
            Some(((_, end), sum)) if low <= *end => {
                (*end, *sum) = (end.max(high), *sum + part);
            }
            _ => joined.push(((low, high), part)),
        }
    }
    Ok(joined)
}

/// The ranks of statistics, each once; none where nothing is defined.
fn open_ranks(statistics: &[OrderStatistic], count: u64) -> Vec<Open> {
    if count == 0 {
        return Vec::new();
    }
    let mut ranks: Vec<u64> = statistics.iter().flat_map(|of| of.ranks(count)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks.into_iter().map(|rank| Open::new(rank, count)).collect()
}

/// Narrows every rank by what a pass found; those whose value is known go from one list to the other. `check` is asked now
/// and then whether to go on.
fn narrow(
    opens: &mut Vec<Open>,
    known: &mut Vec<(u64, f64)>,
    found: &mut [Found],
    whole: bool,
    check: &dyn Fn() -> Result<(), Error>,
) -> Result<(), Error> {
    // At most 8 ranges.
    let mut kept = vec![(0, Vec::new()); found.len()];
    opens.retain_mut(|open| {
        for (found, (first, places)) in found.iter().zip(&mut kept) {
            match open.narrow(found, whole) {
                Narrowed::Open => continue,
                Narrowed::Value(value) => known.push((open.rank, value)),
                Narrowed::Kept { below } => {
                    *first = below;
                    places.push((open.rank - below) as usize);
                }
            }
            return false;
        }
        true
    });
    for (found, (first, places)) in found.iter_mut().zip(kept) {
        if let Found::Kept { values, .. } = found {
            let mut keys: Vec<u64> = std::mem::take(values).into_iter().map(key_of).collect();
            select(&mut keys, &places, check, &mut |place, key| {
                known.push((first + place as u64, value_of_key(key)));
            })?;
        }
    }
    Ok(())
}
