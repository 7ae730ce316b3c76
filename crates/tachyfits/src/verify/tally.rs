//! Findings in data: of each kind at each column the first, and how many more. So a damaged table of a billion rows
//! gives a few lines.

use tachyfits_format::{Finding, Rule};

use super::fields::RowCheck;

/// Findings counted separately per column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TallyKind {
    /// The column's type has no such value.
    Value,
    /// A descriptor that leaves the heap.
    Descriptor,
    /// A descriptor of more elements than TFORMn says.
    Length,
    /// A number without its point.
    Point,
}

const KINDS: usize = 4;

/// The first of its kind, and how many there are.
#[derive(Clone, Debug)]
struct Hit {
    finding: Finding,
    count: u64,
}

/// Counts of findings by column and kind; one more for the bytes between columns.
#[derive(Debug)]
pub(super) struct Tally {
    hits: Vec<[Option<Hit>; KINDS]>,
    /// Bytes of arrays of each column in the heap.
    pub(super) heap_bytes: Vec<u128>,
}

impl Tally {
    /// A tally of `columns` columns.
    pub(super) fn new(columns: usize) -> Tally {
        // At most 999 columns.
        Tally { hits: vec![[const { None }; KINDS]; columns + 1], heap_bytes: vec![0; columns] }
    }

    /// One more; `finding` makes it if it is the first.
    pub(super) fn hit(
        &mut self,
        column: usize,
        kind: TallyKind,
        finding: impl FnOnce() -> Finding,
    ) {
        let hit = &mut self.hits[column][kind as usize];
        match hit {
            Some(hit) => hit.count += 1,
            None => *hit = Some(Hit { finding: finding(), count: 1 }),
        }
    }

    /// Adds those of later rows.
    pub(super) fn merge(&mut self, later: Tally) {
        for (own, other) in self.hits.iter_mut().flatten().zip(later.hits.into_iter().flatten()) {
            match (own.as_mut(), other) {
                (Some(own), Some(other)) => own.count += other.count,
                (None, other) => *own = other,
                (Some(_), None) => {}
            }
        }
        for (own, other) in self.heap_bytes.iter_mut().zip(later.heap_bytes) {
            *own = own.saturating_add(other);
        }
    }

    /// The findings in the order of the columns.
    pub(super) fn findings(self, check: &RowCheck<'_>) -> Vec<Finding> {
        let hits = self.hits.into_iter().flatten().flatten();
        let layout = check.layout();
        let found = hits.map(|Hit { mut finding, count }| {
            finding.repeats = count - 1;
            finding.place.hdu = Some(layout.hdu);
            finding
        });
        found.collect()
    }
}

/// A finding in a cell.
pub(super) fn in_cell(
    check: &RowCheck<'_>,
    rule: Rule,
    column: usize,
    row: u64,
    expected: &str,
    found: String,
) -> Finding {
    Finding::of_rule(rule, check.layout().place(column, Some(row)), expected, found)
}
