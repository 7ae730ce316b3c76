//! From the byte ranges that a task wants to the reads that get them: sorted, joined across small gaps, and kept within
//! a bounded amount of memory.
//!
//! Joined ranges are read as one *segment* into the buffer, gaps and all, if at least half of the segment is wanted.
//! Where more is gap than not (one pixel of every plane), the segment is read through a small staging buffer and only
//! the wanted pieces are kept: else a few wanted bytes per gap of 32 KiB would need a buffer thousands of times their
//! size.

use std::ops::Range;

use tachyfits_memory::{self as memory, NoMemory};

use crate::profile::{Latency, Profile};

/// The most bytes of gaps that a task reads beside as many as it wants, over a network: where little is wanted of many
/// places, joining them all would fetch the whole file.
const WASTED_BYTES: u64 = 1 << 20;

/// Gaps of up to this many bytes are cheaper to read than the requests that skip them, also over a line of 8 MB/s.
const CHEAP_GAP: u64 = 16 << 10;

/// The most bytes of cheap gaps that a task reads: they are in its buffer.
const CHEAP_BYTES: u64 = 32 << 20;

/// Wanted bytes that are read together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The bytes to read.
    pub(crate) range: Range<u64>,
    /// The ranges within, as positions in [`Plan::order`].
    pub(crate) members: Range<usize>,
    /// The sum of the lengths of the ranges within.
    wanted: u64,
}

/// The reads of one task. Its vectors are reused from task to task.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The indices of the ranges that are not empty, by their beginning.
    pub(crate) order: Vec<usize>,
    /// The reads, ascending and apart by more than the gap.
    pub(crate) segments: Vec<Segment>,
    latency: Latency,
}

impl Plan {
    /// Whether more of a segment is gap than wanted, so that the pieces are worth picking out. Over a network, gaps are
    /// limited, and a segment is one read.
    pub(crate) fn is_sparse(&self, index: usize) -> bool {
        let Segment { range, wanted, .. } = &self.segments[index];
        self.latency != Latency::Network && range.end - range.start > wanted.saturating_mul(2)
    }

    /// Reserves memory for planning the reads of this many ranges.
    ///
    /// # Errors
    /// If there is too little.
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
        // Callers mostly give ascending ranges, on which this is one comparison each.
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

    /// The largest gap such that those of up to its size, and of up to `most` bytes, are few bytes in all, or cheap.
    fn largest_gap(&self, ranges: &[Range<u64>], most: u64) -> u64 {
        let (mut gaps, mut limit, mut end) = (Vec::new(), WASTED_BYTES, None);
        for range in self.order.iter().map(|&index| &ranges[index]) {
            let gap = range.start.saturating_sub(end.unwrap_or(range.start));
            gaps.extend((1..=most).contains(&gap).then_some(gap));
            limit = limit.saturating_add(range.end - range.start);
            end = end.max(Some(range.end));
        }
        gaps.sort_unstable();
        let (mut largest, mut spent) = (0, 0u64);
        for same in gaps.chunk_by(|a, b| a == b) {
            spent = spent.saturating_add(same[0].saturating_mul(same.len() as u64));
            let limit = if same[0] <= CHEAP_GAP { limit.max(CHEAP_BYTES) } else { limit };
            if spent > limit {
                break;
            }
            largest = same[0];
        }
        largest
    }
}

/// Appends a range to ascending ones: the last one grows if the new one overlaps it, or follows after at most `gap`.
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
        // All gaps between the planes of a few, and those between rows alone of many.
        let few = WASTED_BYTES / gap;
        for (planes, segments) in [(few, 1), (100, 100)] {
            plan.make(&pixels(planes), &Profile::NETWORK);
            assert_eq!(plan.segments.len(), segments);
        }
        // Short gaps, which are cheaper than requests: 20 pixels of each row.
        let rows = |plane: u64| (0..20).map(move |row| plane * 1_000_000 + row * 2000);
        let boxes: Vec<_> = (0..60).flat_map(rows).map(|place| place..place + 80).collect();
        plan.make(&boxes, &Profile::NETWORK);
        assert_eq!(plan.segments.len(), 60);
        // Though not of more bytes than a task has room for.
        let column: Vec<_> =
            (0..8000).map(|row| row * CHEAP_GAP).map(|place| place..place + 4).collect();
        plan.make(&column, &Profile::NETWORK);
        assert_eq!(plan.segments.len(), 8000);
        // As many bytes as are wanted of them.
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
            let mut seen = vec![0; ranges.len()];
            for segment in &plan.segments {
                for &index in &plan.order[segment.members.clone()] {
                    prop_assert!(segment.range.start <= ranges[index].start);
                    prop_assert!(segment.range.end >= ranges[index].end);
                    seen[index] += 1;
                }
            }
            for (range, seen) in ranges.iter().zip(seen) {
                prop_assert_eq!(seen, usize::from(!range.is_empty()));
            }
            for pair in plan.segments.windows(2) {
                prop_assert!(pair[0].range.end + GAP_BYTES < pair[1].range.start);
            }
        }
    }
}
