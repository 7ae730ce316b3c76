//! Planning of the reads for a task's byte ranges: sorted, coalesced across small gaps, and with limited memory.
//!
//! Coalesced ranges are read as one *segment* into the buffer, with its gaps, if at least half of the segment was
//! requested. A sparse segment (such as one pixel of every plane) is read through a small staging buffer, and only the
//! requested pieces are kept. Otherwise a few requested bytes per gap of 32 KiB would need a buffer thousands of times
//! their size.

use std::ops::Range;

use tachyfits_memory::{self as memory, NoMemory};

use crate::profile::{Latency, Profile};

/// Maximum bytes of gaps that a task reads over a network, in addition to as many as it requests: coalescing a few
/// bytes in many places would fetch the whole file.
const WASTED_BYTES: u64 = 1 << 20;

/// Gaps of up to this many bytes are cheaper to read than separate requests, even at 8 MB/s.
const CHEAP_GAP: u64 = 16 << 10;

/// Maximum bytes of cheap gaps that a task reads, because they are in its buffer.
const CHEAP_BYTES: u64 = 32 << 20;

/// Ranges that are read together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Bytes to read.
    pub(crate) range: Range<u64>,
    /// Ranges in the segment, as positions in [`Plan::order`].
    pub(crate) members: Range<usize>,
    /// Total length of the ranges in the segment.
    wanted: u64,
}

/// Reads of one task. The vectors are reused from task to task.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Indices of the non-empty ranges, ordered by their start.
    pub(crate) order: Vec<usize>,
    /// Reads, in ascending order and separated by more than the gap.
    pub(crate) segments: Vec<Segment>,
    latency: Latency,
}

impl Plan {
    /// Whether gaps make up more than half of a segment, so that copying the pieces pays off. Over a network gaps are
    /// limited, and a segment is one read.
    pub(crate) fn is_sparse(&self, index: usize) -> bool {
        let Segment { range, wanted, .. } = &self.segments[index];
        self.latency != Latency::Network && range.end - range.start > wanted.saturating_mul(2)
    }

    /// Reserves memory for planning the reads of this many ranges.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn reserve(&mut self, ranges: usize) -> Result<(), NoMemory> {
        self.order.clear();
        self.segments.clear();
        memory::reserve(&mut self.order, ranges, "the ranges to read")?;
        memory::reserve(&mut self.segments, ranges, "the ranges to read")
    }

    /// Plans the reads of `ranges`; a range whose end is not after its start is empty and needs none.
    pub(crate) fn make(&mut self, ranges: &[Range<u64>], profile: &Profile) {
        self.latency = profile.latency;
        self.order.clear();
        self.segments.clear();
        self.order.extend((0..ranges.len()).filter(|&index| !ranges[index].is_empty()));
        // Callers mostly pass ascending ranges, which need only one comparison each.
        self.order.sort_unstable_by_key(|&index| ranges[index].start);
        let gap_bytes = match profile.latency {
            Latency::Network => self.largest_gap(ranges, profile.gap_bytes),
            Latency::Memory | Latency::Device => profile.gap_bytes,
        };
        for (position, &index) in self.order.iter().enumerate() {
            let range = &ranges[index];
            let length = range.end - range.start;
            match self.segments.last_mut() {
                Some(last) if range.start <= last.range.end.saturating_add(gap_bytes) => {
                    last.range.end = last.range.end.max(range.end);
                    last.members.end = position + 1;
                    last.wanted = last.wanted.saturating_add(length);
                }
                _ => self.segments.push(Segment {
                    range: range.clone(),
                    members: position..position + 1,
                    wanted: length,
                }),
            }
        }
    }

    /// Returns the largest gap, up to `most` bytes, such that all gaps up to this size are few bytes in total, or
    /// cheap.
    fn largest_gap(&self, ranges: &[Range<u64>], most: u64) -> u64 {
        let (mut gaps, mut limit, mut end) = (Vec::new(), WASTED_BYTES, None);
        for range in self.order.iter().map(|&index| &ranges[index]) {
            let gap = range.start.saturating_sub(end.unwrap_or(range.start));
            gaps.extend((1..=most).contains(&gap).then_some(gap));
            limit = limit.saturating_add(range.end - range.start);
            end = end.max(Some(range.end));
        }
        gaps.sort_unstable();
        let (mut largest, mut total) = (0, 0u64);
        for same in gaps.chunk_by(|a, b| a == b) {
            total = total.saturating_add(same[0].saturating_mul(same.len() as u64));
            let limit = if same[0] <= CHEAP_GAP { limit.max(CHEAP_BYTES) } else { limit };
            if total > limit {
                break;
            }
            largest = same[0];
        }
        largest
    }
}

/// Appends a range to ascending ranges. Extends the last range if the new one overlaps it or follows within `gap`
/// bytes.
///
/// ```
/// use tachyfits_io::push_coalesced;
/// let mut ranges = Vec::new();
/// for start in [0, 10, 30] {
///     push_coalesced(&mut ranges, start..start + 5, 5);
/// }
/// assert_eq!(ranges, [0..15, 30..35]);
/// ```
pub fn push_coalesced(ranges: &mut Vec<Range<u64>>, range: Range<u64>, gap: u64) {
    match ranges.last_mut() {
        Some(last) if range.start <= last.end.saturating_add(gap) => {
            last.end = last.end.max(range.end);
        }
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::{CHEAP_GAP, Plan, WASTED_BYTES};
    use crate::profile::Profile;
    use proptest::prelude::*;
    use std::ops::Range;

    const GAP_BYTES: u64 = Profile::DEVICE.gap_bytes;

    fn segments(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut plan = Plan::default();
        plan.make(ranges, &Profile::DEVICE);
        plan.segments.into_iter().map(|segment| segment.range).collect()
    }

    #[test]
    fn gaps_are_joined_up_to_the_limit() {
        let far = 10 + GAP_BYTES;
        assert_eq!(segments(&[0..10, far..far + 5]), [Range { start: 0, end: far + 5 }]);
        assert_eq!(segments(&[0..10, far + 1..far + 5]), [0..10, far + 1..far + 5]);
    }

    #[test]
    fn order_overlap_and_empty_ranges_do_not_matter() {
        let reversed = Range { start: 9, end: 2 };
        assert_eq!(
            segments(&[50..60, 7..7, 0..100, reversed, 20..30]),
            [Range { start: 0, end: 100 }]
        );
        assert_eq!(segments(&[]), []);
    }

    #[test]
    fn ends_near_the_largest_number_do_not_overflow() {
        assert_eq!(segments(&[0..u64::MAX, u64::MAX - 1..u64::MAX]).len(), 1);
    }

    #[test]
    fn sparse_means_more_gap_than_wanted() {
        let mut plan = Plan::default();
        let mut is_sparse = |ranges: &[Range<u64>], profile| {
            plan.make(ranges, &profile);
            plan.is_sparse(0)
        };
        assert!(!is_sparse(&[0..100, 300..400], Profile::DEVICE));
        assert!(is_sparse(&[0..100, 301..400], Profile::DEVICE));
        assert!(!is_sparse(&[0..100, 0..100, 301..400], Profile::DEVICE));
        assert!(!is_sparse(&[0..100, 301..400], Profile::NETWORK));
    }

    #[test]
    fn a_network_reads_gaps_up_to_the_wanted_bytes_and_a_mebibyte() {
        let mut plan = Plan::default();
        let gap = Profile::NETWORK.gap_bytes;
        let pixels = |planes: u64| -> Vec<_> {
            let rows = |plane| (0..8).map(move |row| plane * gap + row * 1000);
            (0..planes).flat_map(rows).map(|place| place..place + 4).collect()
        };
        // With few planes, all gaps between them are read; with many, only those between rows.
        let most_planes = WASTED_BYTES / gap;
        for (planes, segments) in [(most_planes, 1), (100, 100)] {
            plan.make(&pixels(planes), &Profile::NETWORK);
            assert_eq!(plan.segments.len(), segments);
        }
        // Short gaps, which are cheaper than requests: 20 pixels of each row.
        let rows = |plane: u64| (0..20).map(move |row| plane * 1_000_000 + row * 2000);
        let boxes: Vec<_> = (0..60).flat_map(rows).map(|place| place..place + 80).collect();
        plan.make(&boxes, &Profile::NETWORK);
        assert_eq!(plan.segments.len(), 60);
        // But not if they exceed the memory of a task.
        let column: Vec<_> =
            (0..8000).map(|row| row * CHEAP_GAP).map(|place| place..place + 4).collect();
        plan.make(&column, &Profile::NETWORK);
        assert_eq!(plan.segments.len(), 8000);
        // As many bytes of gaps as were requested.
        let halves: Vec<_> = (0..100).map(|place| 2 * place * gap..(2 * place + 1) * gap).collect();
        plan.make(&halves, &Profile::NETWORK);
        assert_eq!(plan.segments.len(), 1);
    }

    proptest! {
        #[test]
        fn segments_hold_each_range_once_and_are_apart(
            ends in prop::collection::vec((0u64..1_000_000, 0u64..60_000), 0..40),
        ) {
            let ranges: Vec<_> = ends.iter().map(|&(start, length)| start..start + length).collect();
            let mut plan = Plan::default();
            plan.make(&ranges, &Profile::DEVICE);
            let mut counts = vec![0; ranges.len()];
            for segment in &plan.segments {
                for &index in &plan.order[segment.members.clone()] {
                    prop_assert!(segment.range.start <= ranges[index].start);
                    prop_assert!(segment.range.end >= ranges[index].end);
                    counts[index] += 1;
                }
            }
            for (range, count) in ranges.iter().zip(counts) {
                prop_assert_eq!(count, usize::from(!range.is_empty()));
            }
            for pair in plan.segments.windows(2) {
                prop_assert!(pair[0].range.end + GAP_BYTES < pair[1].range.start);
            }
        }
    }
}
