//! From the byte ranges that a task wants to the reads that get them: sorted, joined across small gaps, and kept within
//! a bounded amount of memory.
//!
//! Joined ranges are read as one *segment* into the buffer, gaps and all, if at least half of the segment is wanted.
//! Where more is gap than not (one pixel of every plane), the segment is read through a small staging buffer and only
//! the wanted pieces are kept: else a few wanted bytes per gap of 32 KiB would need a buffer thousands of times their
//! size.

use std::ops::Range;

/// Gaps up to this many bytes are read rather than skipped. A separate read costs a device more than 32 KiB of transfer
/// (a disk seek far more), and a page cache a little less.
pub(crate) const GAP_BYTES: u64 = 32 << 10;

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

impl Segment {
    /// Whether more is gap than wanted, so that the pieces are worth picking out.
    pub(crate) fn is_sparse(&self) -> bool {
        self.range.end - self.range.start > self.wanted.saturating_mul(2)
    }
}

/// The reads of one task. Its vectors are reused from task to task.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The indices of the ranges that are not empty, by their beginning.
    pub(crate) order: Vec<usize>,
    /// The reads, ascending and apart by more than the gap.
    pub(crate) segments: Vec<Segment>,
}

impl Plan {
    /// Plans the reads of `ranges`; a range whose end is not after its start is empty and needs none.
    pub(crate) fn make(&mut self, ranges: &[Range<u64>]) {
        self.order.clear();
        self.segments.clear();
        self.order.extend((0..ranges.len()).filter(|&index| !ranges[index].is_empty()));
        // Callers mostly give ascending ranges, on which this is one comparison each.
        self.order.sort_unstable_by_key(|&index| ranges[index].start);
        for (position, &index) in self.order.iter().enumerate() {
            let range = &ranges[index];
            let length = range.end - range.start;
            match self.segments.last_mut() {
                Some(last) if range.start <= last.range.end.saturating_add(GAP_BYTES) => {
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
}

#[cfg(test)]
mod tests {
    use super::{GAP_BYTES, Plan};
    use proptest::prelude::*;
    use std::ops::Range;

    fn segments(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut plan = Plan::default();
        plan.make(ranges);
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
        plan.make(&[0..100, 300..400]);
        assert!(!plan.segments[0].is_sparse());
        plan.make(&[0..100, 301..400]);
        assert!(plan.segments[0].is_sparse());
        plan.make(&[0..100, 0..100, 301..400]);
        assert!(!plan.segments[0].is_sparse());
    }

    proptest! {
        #[test]
        fn segments_hold_each_range_once_and_are_apart(
            ends in prop::collection::vec((0u64..1_000_000, 0u64..60_000), 0..40),
        ) {
            let ranges: Vec<_> = ends.iter().map(|&(start, length)| start..start + length).collect();
            let mut plan = Plan::default();
            plan.make(&ranges);
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
