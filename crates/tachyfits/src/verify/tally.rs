//! Findings in data: the first of each kind per column, with a count, so that a damaged table of a
//! billion rows is reported in a few lines.

use tachyfits_format::{Finding, Rule};

use super::fields::RowCheck;

/// Kind of a finding, counted separately per column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TallyKind {
    /// A value that is invalid for the type of the column.
    Value,
    /// A descriptor outside the heap.
    Descriptor,
    /// A descriptor of more elements than TFORMn allows.
    Length,
    /// A number without a decimal point.
    Point,
}

const KINDS: usize = 4;

/// The first finding of a kind, and their count.
#[derive(Clone, Debug)]
struct Hit {
    finding: Finding,
    count: u64,
}

/// Counts of findings by column and kind, with an additional entry for the bytes between columns.
#[derive(Debug)]
pub(super) struct Tally {
    hits: Vec<[Option<Hit>; KINDS]>,
    /// Bytes of the arrays of each column in the heap.
    pub(super) heap_bytes: Vec<u128>,
}

impl Tally {
    /// Creates a tally of `columns` columns.
    pub(super) fn new(columns: usize) -> Tally {
        // At most 999 columns.
        Tally { hits: vec![[const { None }; KINDS]; columns + 1], heap_bytes: vec![0; columns] }
    }

    /// Counts a finding; calls `finding` if it is the first.
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

    /// Adds the counts of later rows.
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

    /// Returns the findings in the order of the columns.
    pub(super) fn findings(self, check: &RowCheck<'_>) -> Vec<Finding> {
        let hits = self.hits.into_iter().flatten().flatten();
        let layout = check.layout();
        let findings = hits.map(|Hit { mut finding, count }| {
            finding.repeats = count - 1;
            finding.place.hdu = Some(layout.hdu);
            finding
        });
        findings.collect()
    }
}

/// Creates a finding in a cell.
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
