//! A look at a few tasks before a run: where their bytes are, and in which order they will be taken.

use std::ops::Range;

use super::Tasks;
use crate::storage::Storage;

/// Number of sampled tasks.
const SAMPLED_TASKS: u64 = 16;

/// If bytes are used more often than this on average, they are copied: several tasks would each
/// enter a shared page, while a copy stays in the processor's caches (`python -m bench --only 11`).
const SHARED: f64 = 1.2;

/// Result of sampling a few tasks.
pub(super) struct Sample {
    /// Whether the storage lends their bytes.
    pub(super) borrowed: bool,
    /// Whether it lends them from the page cache.
    pub(super) cached: bool,
    /// Whether they seem to be in memory.
    pub(super) resident: bool,
    /// Whether each task begins where the one before it ends.
    pub(super) in_order: bool,
    /// The bytes of the first task, which the others are about as large as.
    pub(super) bytes: u64,
    /// Those of all tasks, estimated.
    pub(super) all_bytes: u64,
}

impl Sample {
    /// `may_lend`: what is in the page cache may be lent.
    pub(super) fn of(storage: &dyn Storage, tasks: &dyn Tasks, may_lend: bool) -> Sample {
        let count = tasks.len().min(SAMPLED_TASKS);
        let (mut borrowed, mut resident, mut in_order) = (true, true, true);
        let (mut start, mut end, mut bytes, mut of_first) = (u64::MAX, 0, 0u64, 0);
        let mut ranges = Vec::new();
        for sample in 0..count {
            ranges.clear();
            // Evenly spread, the first task included; in u128 because the product may exceed u64.
            let index = u128::from(sample) * u128::from(tasks.len()) / u128::from(count);
            tasks.ranges(index as u64, &mut ranges);
            ranges.retain(|range| !range.is_empty());
            for range in &ranges {
                bytes = bytes.saturating_add(range.end - range.start);
                (start, end) = (start.min(range.start), end.max(range.end));
            }
            if index == 0 {
                of_first = bytes;
            }
            in_order = in_order && goes_on(tasks, index as u64, &ranges);
            // Of the first task its first range, of the last one of its last: all tasks may begin in the same part of a file.
            let place = sample as usize * ranges.len() / count as usize;
            if let Some(range) = ranges.get(place) {
                borrowed = borrowed && storage.slice(range.clone()).is_some();
                resident = resident && storage.is_resident(range.clone());
            }
        }
        // The sampled tasks represent the others.
        let all_bytes = bytes as f64 * (tasks.len() as f64 / count as f64);
        let is_free =
            may_lend && resident && end > start && all_bytes / ((end - start) as f64) < SHARED;
        let cached = storage.lends_cached(is_free);
        Sample {
            borrowed,
            cached,
            resident,
            in_order,
            bytes: of_first,
            all_bytes: all_bytes as u64,
        }
    }
}

/// Whether the ranges of a task follow each other, and the next task begins there, or within them and goes beyond.
fn goes_on(tasks: &dyn Tasks, index: u64, ranges: &[Range<u64>]) -> bool {
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return true };
    let mut next = Vec::new();
    if index + 1 < tasks.len() {
        tasks.ranges(index + 1, &mut next);
    }
    let begins = next.iter().find(|range| !range.is_empty()).map(|range| range.start);
    ranges.windows(2).all(|pair| pair[0].end == pair[1].start)
        && begins.is_none_or(|start| first.start < start && start <= last.end)
}
