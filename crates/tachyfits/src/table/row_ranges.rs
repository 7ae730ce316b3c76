//! Plans the reading of a table: which rows, and which bytes of them.
//!
//! If nearly all of a row is needed, or the rest is too small to be worth a separate read, whole
//! rows are read and columns extracted from them. Otherwise only the needed parts of each row are
//! read and packed first. For lists of rows, runs of adjacent rows are read together.

use std::ops::Range;

use tachyfits_format::TableLayout;
use tachyfits_io::{Fetched, Tasks, push_coalesced};
use tachyfits_memory::{self as memory, NoMemory};

/// Selection of rows to read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Rows<'a> {
    /// Rows from the start up to, but excluding, the end.
    Range(Range<u64>),
    /// Rows of these numbers, in this order; a row may be repeated.
    List(&'a [u64]),
}

/// Bytes of rows per task: what a second-level cache takes at full speed.
const TASK_BYTES: u64 = 512 << 10;
/// Bytes of rows per task of a list, whose rows may lie far apart.
const LIST_TASK_BYTES: u64 = 64 << 10;
/// Maximum unneeded bytes of a row that are read: the same gap that the pipeline reads to save a request.
const UNWANTED_BYTES: u64 = 32 << 10;
/// Maximum unneeded bytes between two needed parts of a row that are read with them.
const GAP_BYTES: u64 = 1 << 10;

impl Rows<'_> {
    /// Number of rows.
    pub fn len(&self) -> u64 {
        match self {
            Rows::Range(range) => range.end.saturating_sub(range.start),
            Rows::List(list) => list.len() as u64,
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the largest row number, if any.
    pub(crate) fn last(&self) -> Option<u64> {
        match self {
            Rows::Range(range) if range.is_empty() => None,
            Rows::Range(range) => Some(range.end - 1),
            Rows::List(list) => list.iter().copied().max(),
        }
    }

    /// Returns the number of the row at an index.
    pub(crate) fn number(&self, index: u64) -> u64 {
        match self {
            Rows::Range(range) => range.start + index,
            Rows::List(list) => list[index as usize],
        }
    }

    /// Calls `take` with each run of adjacent rows: (first row, count).
    fn runs(&self, places: Range<u64>, mut take: impl FnMut(u64, u64)) {
        match self {
            Rows::Range(range) => take(range.start + places.start, places.end - places.start),
            Rows::List(list) => {
                let list = &list[places.start as usize..places.end as usize];
                for run in list.chunk_by(|&row, &next| row.checked_add(1) == Some(next)) {
                    take(run[0], run.len() as u64);
                }
            }
        }
    }
}

/// Reads of rows. Rows of a list must ascend here; they may repeat.
#[derive(Clone, Debug)]
pub(crate) struct RowReads<'a> {
    rows: Rows<'a>,
    data_offset: u64,
    row_bytes: u64,
    /// Parts of a row to read, ascending and disjoint.
    parts: Vec<Range<u64>>,
    /// Whether rows are read as stored, from the first byte of the only part on.
    is_near: bool,
    /// Rows per task.
    task_rows: u64,
}

/// Contiguous rows in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowBlock<'a> {
    pub(crate) bytes: &'a [u8],
    /// Bytes from one row to the next.
    pub(crate) stride: usize,
    pub(crate) rows: usize,
}

impl<'a> RowReads<'a> {
    /// Plans the reads of fields, given as byte ranges of a row; at least one is not empty.
    pub(crate) fn new(layout: &TableLayout, rows: Rows<'a>, fields: &[Range<u64>]) -> RowReads<'a> {
        let mut fields: Vec<_> = fields.iter().filter(|field| !field.is_empty()).cloned().collect();
        fields.sort_unstable_by_key(|field| field.start);
        let coalesced = |gap| {
            let mut parts = Vec::new();
            fields.iter().for_each(|field| push_coalesced(&mut parts, field.clone(), gap));
            parts
        };
        let parts = coalesced(GAP_BYTES);
        let needed: u64 = parts.iter().map(|part| part.end - part.start).sum();
        let is_near = layout.row_bytes.saturating_sub(needed) <= UNWANTED_BYTES;
        let parts = if is_near { coalesced(u64::MAX) } else { parts };
        let read_bytes = if is_near { layout.row_bytes } else { needed };
        let bytes = match rows {
            Rows::Range(_) => TASK_BYTES,
            Rows::List(_) => LIST_TASK_BYTES,
        };
        let task_rows = (bytes / read_bytes.max(1)).max(1);
        let (data_offset, row_bytes) = (layout.data_offset, layout.row_bytes);
        RowReads { rows, data_offset, row_bytes, parts, is_near, task_rows }
    }

    /// Whether rows are read as stored, because the needed parts lie close together.
    pub(crate) fn is_near(&self) -> bool {
        self.is_near
    }

    /// Rows per task, except the last.
    pub(crate) fn task_rows(&self) -> u64 {
        self.task_rows
    }

    /// Total number of requested bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let needed: u64 = self.parts.iter().map(|part| part.end - part.start).sum();
        let row = if self.is_near { self.row_bytes } else { needed };
        self.rows.len().saturating_mul(row)
    }

    /// Maps a byte of a stored row to its offset in a row of a block.
    pub(crate) fn offset(&self, in_row: u64) -> usize {
        let mut before = 0;
        for part in &self.parts {
            if in_row < part.end {
                return (before + in_row.saturating_sub(part.start)) as usize;
            }
            before += part.end - part.start;
        }
        before as usize
    }

    /// Returns the indices, among all rows to read, of the rows of a task.
    pub(crate) fn places(&self, task: u64) -> Range<u64> {
        let first = task * self.task_rows;
        first..self.rows.len().min(first + self.task_rows)
    }

    /// Returns the number of the row at an index.
    pub(crate) fn number(&self, place: u64) -> u64 {
        self.rows.number(place)
    }

    /// Returns the rows of a task from the fetched ranges.
    pub(crate) fn block<'b>(
        &self,
        task: u64,
        fetched: &'b Fetched<'_>,
        packed: &'b mut Vec<u8>,
    ) -> Result<RowBlock<'b>, NoMemory> {
        let places = self.places(task);
        let rows = (places.end - places.start) as usize;
        if self.is_near && matches!(self.rows, Rows::Range(_)) {
            let stride = self.row_bytes as usize;
            return Ok(RowBlock { bytes: fetched.piece(0), stride, rows });
        }
        packed.clear();
        if self.is_near {
            let stride = self.row_bytes as usize;
            memory::reserve(packed, rows.saturating_mul(stride), "rows of a table")?;
            let (mut piece, mut row) = (0, 0);
            self.rows.runs(places, |_, count| {
                // The last row of a run may end before its stride does.
                // At most the reserved room.
                packed.resize(row * stride, 0);
                packed.extend_from_slice(fetched.piece(piece));
                piece += 1;
                row += count as usize;
            });
            return Ok(RowBlock { bytes: packed, stride, rows });
        }
        let bytes = (0..fetched.pieces()).map(|piece| fetched.piece(piece).len()).sum();
        memory::reserve(packed, bytes, "fields of a table")?;
        for piece in 0..fetched.pieces() {
            packed.extend_from_slice(fetched.piece(piece));
        }
        Ok(RowBlock { bytes: packed, stride: packed.len() / rows.max(1), rows })
    }
}

impl Tasks for RowReads<'_> {
    fn len(&self) -> u64 {
        self.rows.len().div_ceil(self.task_rows)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let start = |row: u64| self.data_offset + row * self.row_bytes;
        self.rows.runs(self.places(index), |first, count| {
            if self.is_near {
                let part = &self.parts[0];
                let end = start(first + count - 1) + part.end;
                ranges.push(start(first) + part.start..end);
            } else {
                for row in first..first + count {
                    let parts = self.parts.iter();
                    ranges.extend(parts.map(|part| start(row) + part.start..start(row) + part.end));
                }
            }
        });
    }
}
