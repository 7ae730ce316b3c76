//! Spans of pixels in rows, as sets: joined, added, removed.

/// Pixels of one row, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowSpan {
    /// The row.
    pub y: u64,
    /// The first pixel.
    pub first: u64,
    /// The last pixel.
    pub last: u64,
}

/// Appends a span of a row whose spans begin at `start`, or makes the last one longer.
pub(crate) fn push_joined(spans: &mut Vec<RowSpan>, start: usize, span: RowSpan) {
    match spans[start..].last_mut() {
        Some(last) if span.first <= last.last + 1 => last.last = last.last.max(span.last),
        _ => spans.push(span),
    }
}

/// The spans of a row without the pixels of others of the same row; both rise and are apart.
pub(crate) fn without(spans: &[RowSpan], others: &[RowSpan]) -> Vec<RowSpan> {
    // At most the spans of a row.
    let mut rest = Vec::with_capacity(spans.len());
    for span in spans {
        let mut first = span.first;
        for other in &others[others.partition_point(|other| other.last < span.first)..] {
            if other.first > span.last {
                break;
            }
            if first < other.first {
                rest.push(RowSpan { first, last: other.first - 1, ..*span });
            }
            first = other.last + 1;
        }
        if first <= span.last {
            rest.push(RowSpan { first, ..*span });
        }
    }
    rest
}

/// Adds spans of a row to others of the same row; both rise and are apart, and so does the union.
pub(crate) fn add(spans: &[RowSpan], others: &mut Vec<RowSpan>) {
    for span in spans {
        let from = others.partition_point(|other| other.last < span.first);
        let to = others.partition_point(|other| other.first <= span.last);
        let joined = &others[from..to];
        let first = joined.first().map_or(span.first, |other| other.first.min(span.first));
        let last = joined.last().map_or(span.last, |other| other.last.max(span.last));
        others.splice(from..to, [RowSpan { first, last, ..*span }]);
    }
}
