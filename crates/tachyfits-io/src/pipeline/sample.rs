//! Samples of a few tasks before a run: where their bytes are, and in which order they will be read.

use std::ops::Range;

use super::Tasks;
use crate::fetch::Extent;
use crate::profile::{Latency, Profile};
use crate::storage::Storage;

/// Number of sampled tasks; fewer for small runs, whose tasks take no longer than sampling.
const SAMPLED_TASKS: u64 = 16;
const SAMPLED_OF_FEW: u64 = 3;
const FEW_BYTES: u64 = 16 << 20;

/// Average number of uses per byte above which bytes are copied: otherwise several tasks would each map a shared page,
/// while a copy stays in the processor's caches (`python -m bench --only 11`).
const SHARED: f64 = 1.2;

/// Share of the bytes between first and last byte above which a run counts as reading contiguously. Of few tasks, three
/// are sampled, the last of which may be short.
const THROUGH: f64 = 0.6;

/// Result of sampling a few tasks.
pub(super) struct Sample {
    /// Whether the storage lends their bytes.
    pub(super) borrowed: bool,
    /// Whether the storage lends their bytes from the page cache.
    pub(super) cached: bool,
    /// Whether their bytes seem to be in memory.
    pub(super) resident: bool,
    /// Whether each task begins where the previous one ends; always true for bytes in memory.
    pub(super) in_order: bool,
    /// Whether the tasks read the storage contiguously and use most of the bytes in between, so that they can be
    /// fetched together.
    pub(super) scans: bool,
    /// Bytes of the first task; the others are assumed to be similar.
    pub(super) bytes: u64,
    /// Estimated bytes of all tasks.
    pub(super) all_bytes: u64,
}

impl Sample {
    /// Samples the tasks. `may_lend`: whether bytes of the page cache may be borrowed.
    pub(super) fn of(storage: &dyn Storage, tasks: &dyn Tasks, may_lend: bool) -> Sample {
        let mut task = Sampled::of(tasks, 0);
        let of_first = task.bytes;
        let is_small = of_first.saturating_mul(tasks.len()) <= FEW_BYTES;
        let count = tasks.len().min(if is_small { SAMPLED_OF_FEW } else { SAMPLED_TASKS });
        let (mut borrowed, mut resident) = (true, true);
        let (mut start, mut end, mut bytes) = (u64::MAX, 0, 0u64);
        for sample in 0..count {
            if sample > 0 {
                task = Sampled::of(tasks, sampled(tasks, sample, count));
            }
            bytes = bytes.saturating_add(task.bytes);
            if task.bytes > 0 {
                (start, end) = (start.min(task.within.start), end.max(task.within.end));
            }
            // The first range of the first task, the last range of the last one, and so on: all tasks may begin in the
            // same part of a file.
            let place = sample as usize * task.ranges.len() / count as usize;
            if let Some(range) = task.ranges.get(place) {
                borrowed = borrowed && storage.slice(range.clone()).is_some();
                resident = resident && storage.is_resident(range.clone());
            }
        }
        let each = |holds: fn(&dyn Tasks, u64) -> bool| {
            (0..count).all(|sample| holds(tasks, sampled(tasks, sample, count)))
        };
        let in_order = resident || each(goes_on);
        let scans = storage.profile().latency == Latency::Network && each(scans);
        // The sampled tasks represent the others.
        let all_bytes = bytes as f64 * (tasks.len() as f64 / count as f64);
        let uses = all_bytes / end.saturating_sub(start) as f64;
        let is_free = may_lend && resident && end > start && uses < SHARED;
        let through = if uses >= THROUGH { all_bytes as u64 } else { 0 };
        let cached = storage.lends_cached(is_free, through);
        Sample {
            borrowed,
            cached,
            resident,
            in_order,
            scans,
            bytes: of_first,
            all_bytes: all_bytes as u64,
        }
    }
}

/// A sampled task.
struct Sampled {
    bytes: u64,
    within: Range<u64>,
    /// Ranges of the task. For a task with an extent: its first and last byte, or all bytes if it uses all.
    ranges: Vec<Range<u64>>,
}

impl Sampled {
    fn of(tasks: &dyn Tasks, index: u64) -> Sampled {
        let extent = if index < tasks.len() { tasks.extent(index) } else { None };
        if let Some(Extent { bytes, within }) = extent {
            let ranges = match within.end - within.start == bytes {
                true => vec![within.clone()],
                false => vec![within.start..within.start + 1, within.end - 1..within.end],
            };
            return Sampled { bytes, within, ranges };
        }
        let ranges = ranges_of(tasks, index);
        let start = ranges.iter().map(|range| range.start).min().unwrap_or(0);
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        Sampled { bytes: bytes_of(&ranges), within: start..end, ranges }
    }
}

/// Returns the index of a sampled task: evenly spaced, including the first and the last, between which all bytes are.
/// Computed in u128 because the product may exceed u64.
fn sampled(tasks: &dyn Tasks, sample: u64, count: u64) -> u64 {
    let (last, steps) = (tasks.len().saturating_sub(1), count.saturating_sub(1).max(1));
    (u128::from(sample) * u128::from(last) / u128::from(steps)) as u64
}

/// Returns the non-empty ranges of a task; none beyond the last task.
fn ranges_of(tasks: &dyn Tasks, index: u64) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    if index < tasks.len() {
        tasks.ranges(index, &mut ranges);
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

fn bytes_of(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().fold(0, |bytes, range| bytes.saturating_add(range.end - range.start))
}

/// Whether a task uses half of the bytes from its first to its last byte, and the next task begins soon after it.
fn scans(tasks: &dyn Tasks, index: u64) -> bool {
    let (task, next) = (Sampled::of(tasks, index), Sampled::of(tasks, index + 1));
    let span = task.within.end - task.within.start;
    let soon = task.within.start..=task.within.end.saturating_add(Profile::NETWORK.gap_bytes);
    2 * task.bytes >= span && (next.bytes == 0 || soon.contains(&next.within.start))
}

/// Whether the ranges of a task follow each other, and the next task begins there, or overlaps them and extends beyond.
fn goes_on(tasks: &dyn Tasks, index: u64) -> bool {
    let ranges = ranges_of(tasks, index);
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return true };
    let begins = ranges_of(tasks, index + 1).first().map(|range| range.start);
    ranges.windows(2).all(|pair| pair[0].end == pair[1].start)
        && begins.is_none_or(|start| first.start < start && start <= last.end)
}
