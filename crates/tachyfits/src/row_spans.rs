//! Sets of pixel spans in rows: merging, union and difference.

/// Contiguous pixels of one row, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowSpan {
    /// Index of the row.
    pub y: u64,
    /// Index of the first pixel.
    pub first: u64,
    /// Index of the last pixel.
    pub last: u64,
}

/// Appends a span to a row whose spans begin at `start`, or extends the last span.
pub(crate) fn push_joined(spans: &mut Vec<RowSpan>, start: usize, span: RowSpan) {
    match spans[start..].last_mut() {
        Some(last) if span.first <= last.last + 1 => last.last = last.last.max(span.last),
        _ => spans.push(span),
    }
}

/// Returns the spans of a row without the pixels of other spans of the same row. Both lists must be sorted
/// and disjoint.
pub(crate) fn without(spans: &[RowSpan], others: &[RowSpan]) -> Vec<RowSpan> {
    // At most the spans of a row.
    let mut difference = Vec::with_capacity(spans.len());
    for span in spans {
        let mut first = span.first;
        for other in &others[others.partition_point(|other| other.last < span.first)..] {
            if other.first > span.last {
                break;
            }
            if first < other.first {
                difference.push(RowSpan { first, last: other.first - 1, ..*span });
            }
            first = other.last + 1;
        }
        if first <= span.last {
            difference.push(RowSpan { first, ..*span });
        }
    }
    difference
}

/// Adds spans of a row to others of the same row. Both lists must be sorted and disjoint; so is the union.
pub(crate) fn add(spans: &[RowSpan], others: &mut Vec<RowSpan>) {
    for span in spans {
        let from = others.partition_point(|other| other.last < span.first);
        let to = others.partition_point(|other| other.first <= span.last);
        let overlapping = &others[from..to];
        let first = overlapping.first().map_or(span.first, |other| other.first.min(span.first));
        let last = overlapping.last().map_or(span.last, |other| other.last.max(span.last));
        others.splice(from..to, [RowSpan { first, last, ..*span }]);
    }
}
