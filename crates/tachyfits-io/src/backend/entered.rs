//! Accounting of the large pages of a map, which any access maps as a whole.

use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::aligned::LARGE_PAGE;

/// Bytes of large pages that a map may have mapped before some are unmapped: mapped pages count as memory of the
/// process. Enough for 32 distant rows of a slab, some of them in two pages.
pub(crate) const MOST_ENTERED: u64 = 96 << 20;

/// Pages unmapped together: each call of the system interrupts every core.
const GROUP: u64 = 8;

/// A mark for each mapped large page of a file, shared by all threads. Marks only estimate the memory use of the
/// process: if one thread maps a page while another unmaps it, the mark may be missing.
#[derive(Debug)]
pub(crate) struct EnteredPages {
    marks: Box<[AtomicU64]>,
    /// Number of marked pages; briefly negative if a page is unmapped before it is counted.
    pages: AtomicI64,
    /// Next group of pages to unmap, cycling through the file. Files are read in order, so the pages in use are far
    /// ahead of it.
    hand: AtomicU64,
}

impl EnteredPages {
    /// Returns an empty set of marks for a file of `bytes` bytes.
    pub(crate) fn none_of(bytes: u64) -> EnteredPages {
        let words = large_pages(&(0..bytes)).end.div_ceil(64);
        let marks = (0..words).map(|_| AtomicU64::new(0)).collect();
        EnteredPages { marks, pages: AtomicI64::new(0), hand: AtomicU64::new(0) }
    }

    /// Marks the pages of a range, and returns the bytes of all marked pages. Pages beyond the end known at the start,
    /// if the file has grown, have no marks.
    pub(crate) fn enter(&self, range: &Range<u64>) -> u64 {
        let mut new = 0i64;
        for page in large_pages(range) {
            let bit = 1 << (page % 64);
            let Some(word) = self.marks.get((page / 64) as usize) else { break };
            // Most pages are marked already, and reading costs less than writing.
            if word.load(Ordering::Relaxed) & bit == 0 {
                new += i64::from(word.fetch_or(bit, Ordering::Relaxed) & bit == 0);
            }
        }
        let pages = self.pages.fetch_add(new, Ordering::Relaxed) + new;
        pages.max(0) as u64 * LARGE_PAGE as u64
    }

    /// Removes the marks of a few pages, and returns the range to unmap in one call. The number is small so that each
    /// of many threads unmaps a share without waiting for another.
    pub(crate) fn leave_next(&self) -> Option<Range<u64>> {
        let groups = self.marks.len() as u64 * 64 / GROUP;
        let mut range: Option<Range<u64>> = None;
        let mut pages = 0i64;
        for _ in 0..groups {
            let group = self.hand.fetch_add(1, Ordering::Relaxed) % groups;
            let first = group * GROUP;
            if range.as_ref().is_some_and(|range| first < range.end) {
                break; // wrapped around the end of the file
            }
            let marks = self.take_group(first);
            if marks != 0 {
                pages += i64::from(marks.count_ones());
                let start =
                    range.map_or(first + u64::from(marks.trailing_zeros()), |range| range.start);
                range = Some(start..first + u64::from(marks.ilog2()) + 1);
            }
            if pages >= GROUP as i64 {
                break;
            }
        }
        self.pages.fetch_sub(pages, Ordering::Relaxed);
        range.map(|range| range.start * LARGE_PAGE as u64..range.end * LARGE_PAGE as u64)
    }

    /// Removes and returns the marks of the group that begins with this page.
    fn take_group(&self, first: u64) -> u64 {
        let (word, shift) = (&self.marks[(first / 64) as usize], first % 64);
        let of_group = ((1 << GROUP) - 1) << shift;
        if word.load(Ordering::Relaxed) & of_group == 0 {
            return 0;
        }
        (word.fetch_and(!of_group, Ordering::Relaxed) & of_group) >> shift
    }
}

/// Returns the bytes of the large pages that contain ascending ranges; an upper bound if the ranges do not ascend.
pub(crate) fn entered_bytes(ranges: &[Range<u64>]) -> u64 {
    let (mut pages, mut last) = (0u64, None);
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        let of_range = large_pages(range);
        let shared = u64::from(last == Some(of_range.start));
        pages = pages.saturating_add(of_range.end - of_range.start - shared);
        last = Some(of_range.end - 1);
    }
    pages.saturating_mul(LARGE_PAGE as u64)
}

/// Returns the large pages that contain a range, which must begin at 0 if it is empty.
fn large_pages(range: &Range<u64>) -> Range<u64> {
    let page = LARGE_PAGE as u64;
    range.start / page..range.end.div_ceil(page)
}

#[cfg(test)]
mod tests {
    use super::{EnteredPages, entered_bytes};
    use crate::aligned::LARGE_PAGE;
    use std::ops::Range;

    const PAGE: u64 = LARGE_PAGE as u64;

    #[test]
    fn neighbours_in_a_page_count_once() {
        let entered = |ranges: &[Range<u64>]| entered_bytes(ranges) / PAGE;
        assert_eq!(entered(&[]), 0);
        assert_eq!(entered(&[0..1, 5..5, 7..PAGE]), 1);
        assert_eq!(entered(&[PAGE - 1..PAGE + 1, PAGE + 5..PAGE + 6]), 2);
        assert_eq!(entered(&[0..4 * PAGE, 9 * PAGE..9 * PAGE + 1]), 5);
    }

    #[test]
    fn a_page_is_marked_once_until_it_is_left() {
        let pages = EnteredPages::none_of(200 * PAGE + 1);
        let enter = |range| pages.enter(&range) / PAGE;
        assert_eq!(enter(0..0), 0);
        assert_eq!(enter(5..6), 1);
        assert_eq!(enter(0..PAGE), 1);
        assert_eq!(enter(PAGE - 1..PAGE + 1), 2);
        assert_eq!(enter(60 * PAGE..70 * PAGE), 12);
        assert_eq!(enter(200 * PAGE..200 * PAGE + 1), 13);
        // The file has grown since it was opened.
        assert_eq!(enter(1000 * PAGE..1001 * PAGE), 13);
        let ranges: Vec<_> = std::iter::from_fn(|| pages.leave_next()).collect();
        assert_eq!(ranges, [0..70 * PAGE, 200 * PAGE..201 * PAGE]);
        assert_eq!(enter(0..0), 0);
        assert_eq!(enter(60 * PAGE..70 * PAGE), 10);
        // A few at a time, continuing from the last group.
        assert_eq!(pages.leave_next(), Some(60 * PAGE..70 * PAGE));
        enter(0..30 * PAGE);
        assert_eq!(pages.leave_next(), Some(0..8 * PAGE));
        enter(0..1);
        assert_eq!(pages.leave_next(), Some(8 * PAGE..16 * PAGE));
        assert_eq!(pages.leave_next(), Some(16 * PAGE..24 * PAGE));
        assert_eq!(pages.leave_next(), Some(24 * PAGE..30 * PAGE));
        assert_eq!(pages.leave_next(), Some(0..PAGE));
    }

    #[test]
    fn threads_count_each_page_once() {
        let pages = EnteredPages::none_of(100 * PAGE);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for page in 0..100 {
                        pages.enter(&(page * PAGE..page * PAGE + 1));
                    }
                });
            }
        });
        assert_eq!(pages.enter(&(0..1)), 100 * PAGE);
    }
}
