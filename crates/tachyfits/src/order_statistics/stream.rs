//! Selection among any number of pixels in bounded memory.
//!
//! A pass counts, for a few ranges, the pixels below, in and above each. It keeps the pixels inside a range
//! if they are few, and otherwise counts them in bins. Each pass narrows the interval that contains a rank,
//! so the result is exact whatever the ranges of the first pass were. A sample of the pixels makes them so
//! good that one pass is usually enough.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use tachyfits_kernels::{Encoding, KeyBins, LEAF_PIXELS, Tier, decode_f64, key_of, value_of_key};
use tachyfits_memory::{self as memory, NoMemory};

use super::cuts::Cuts;
use super::limits::OrderLimits;
use super::passes::Passes;
use super::rank::OrderStatistic;
use super::rank_pass::{KeyRange, Open, RankCounts, RankPass, Task};
use super::sample::{Part, Sample, SampledLines};
use crate::error::Error;
use crate::image::Image;
use crate::lines::{LineReads, Lines};
use crate::workers::{Own, Workers};

/// Number of cuts per statistic in the first pass, so that the second pass can keep the bins that contain
/// ranks.
const CUTS_PER_STATISTIC: usize = 64;

/// Minimum number of cuts of a pass: their table costs less than a block of pixels.
const LEAST_CUTS: usize = 64;

/// Function that runs a pass over all pixels in other processes; returns the results of their parts.
pub type RunPass<'a> = dyn Fn(&RankPass) -> Result<Vec<RankCounts>, Error> + 'a;

/// Passes that other processes run.
#[derive(Clone, Copy)]
pub(crate) struct Elsewhere<'a> {
    pub(crate) run: &'a RunPass<'a>,
    /// Number of results of a pass.
    pub(crate) parts: u64,
}

/// Pixels that can be read repeatedly.
pub(crate) struct Population<'a> {
    image: &'a Image,
    lines: &'a dyn Lines,
    encoding: Encoding,
    tier: Tier,
    limits: OrderLimits,
    elsewhere: Option<Elsewhere<'a>>,
    sample: Option<Sample>,
}

impl<'a> Population<'a> {
    pub(crate) fn new(
        image: &'a Image,
        lines: &'a dyn Lines,
        tier: Tier,
        limits: OrderLimits,
        elsewhere: Option<Elsewhere<'a>>,
    ) -> Population<'a> {
        let (encoding, sample) = (image.encoding(), None);
        Population { image, lines, encoding, tier, limits, elsewhere, sample }
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
        let mut values_of_ranks: Vec<(u64, f64)> = Vec::new();
        let mut pass = self.first_pass(statistics, center, passes)?;
        let counts = self.run(&pass, passes)?;
        let count = counts.count();
        if count == 0 {
            return Ok(vec![f64::NAN; statistics.len()]);
        }
        let mut opens = open_ranks(statistics, count);
        counts.narrow(&pass, &mut opens, &mut values_of_ranks, &|| passes.check_cancelled())?;
        while !opens.is_empty() {
            pass = self.next_pass(&opens, center);
            let counts = self.run(&pass, passes)?;
            counts.narrow(&pass, &mut opens, &mut values_of_ranks, &|| passes.check_cancelled())?;
        }
        let values_of_ranks: HashMap<u64, f64> = values_of_ranks.into_iter().collect();
        let value = |rank: u64| values_of_ranks.get(&rank).copied().unwrap_or(f64::NAN);
        let values = statistics.iter();
        Ok(values
            .map(|statistic| statistic.value(count, statistic.ranks(count).map(value)))
            .collect())
    }

    /// Returns the first pass: all values if there are few pixels, otherwise ranges or cuts from a sample.
    fn first_pass(
        &self,
        statistics: &[OrderStatistic],
        center: Option<f64>,
        passes: &Passes<'_>,
    ) -> Result<RankPass, Error> {
        let Some(sample) = self.sample.as_ref().filter(|sample| !sample.is_empty()) else {
            let all = Task::Keep { low: f64::NEG_INFINITY, high: f64::INFINITY };
            return Ok(RankPass::of_ranges(vec![all], center, self.limits.kept));
        };
        // The sample may mislead: no part sends far more than its share of the values.
        let most = match self.elsewhere {
            None => self.limits.kept,
            Some(Elsewhere { parts, .. }) => self.limits.kept * 2 / parts.max(2),
        };
        let deviations = center.map(|center| sample.deviations(center, self.tier)).transpose()?;
        let sample = deviations.as_ref().unwrap_or(sample);
        let ranges = joined_ranges(sample, statistics, passes)?;
        if statistics.len() > self.limits.ranges {
            let cuts = (statistics.len() * CUTS_PER_STATISTIC).clamp(LEAST_CUTS, self.most_cuts());
            let (pixels, room) = (self.lines.pixels() as f64, self.limits.kept as f64);
            let sorted = sample.sorted(&|| passes.check_cancelled())?;
            let cuts = Cuts::first(&ranges, &sorted, pixels, room, cuts);
            return Ok(RankPass::of_cuts(cuts, center, most));
        }
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
        Ok(RankPass::of_ranges(ranges.into_iter().map(task).collect(), center, most))
    }

    /// Returns the pass that narrows the ranks further.
    fn next_pass(&self, opens: &[Open], center: Option<f64>) -> RankPass {
        let mut within: Vec<KeyRange> = opens.iter().map(|open| open.within).collect();
        within.sort_unstable_by_key(|piece| piece.first);
        within.dedup();
        let most = self.limits.kept;
        if within.len() > self.limits.ranges {
            return RankPass::of_cuts(Cuts::next(&within, most, self.most_cuts()), center, most);
        }
        RankPass::of_ranges(self.next_tasks(within), center, most)
    }

    /// Returns the maximum number of cuts of a pass.
    fn most_cuts(&self) -> usize {
        (self.limits.bins * self.limits.ranges).max(LEAST_CUTS)
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

    /// Runs a pass over all pixels, here or in other processes.
    pub(crate) fn run(
        &self,
        pass: &RankPass,
        passes: &mut Passes<'_>,
    ) -> Result<RankCounts, Error> {
        let mut counts = RankCounts::new(pass);
        if let Some(elsewhere) = self.elsewhere {
            (elsewhere.run)(pass)?.into_iter().try_for_each(|part| counts.merge(part))?;
            return Ok(counts);
        }
        let (tier, kept_count) = (self.tier, AtomicU64::new(0));
        let workers = Workers::new();
        self.visit(
            self.lines,
            passes,
            || workers.begin(RankCounts::new(pass)),
            |own: &mut Own<RankCounts>, values| own.get().take(pass, values, tier, &kept_count),
            |_| (),
            |()| Ok(()),
        )?;
        workers.try_for_each(|worker| {
            counts.merge(std::mem::replace(worker, RankCounts::new(pass)))
        })?;
        counts.is_whole = kept_count.into_inner() <= pass.most;
        Ok(counts)
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
