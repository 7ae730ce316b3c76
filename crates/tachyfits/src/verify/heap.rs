//! Checks the heap: logical values and text of variable-length columns.
//!
//! Arrays may share bytes, so a small file can describe more bytes than could ever be read. The
//! total size of the descriptors is known beforehand; if it is far larger than the heap, the heap
//! is not read.

use std::ops::Range;

use tachyfits_format::{Finding, Hdu, Rule, TableLayout};
use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Storage, Tasks, fetch};

use super::fields::RowCheck;
use super::tally::Tally;
use crate::error::Error;

/// Rows per task.
const TASK_ROWS: u64 = 4096;
/// Bytes of an array read together.
const PIECE_BYTES: u64 = 1 << 20;
/// Maximum number of times that the heap may be read for one column.
const MOST_TIMES: u128 = 4;

/// Checks the arrays of every column that has a rule.
pub(super) fn check_heap(
    storage: &dyn Storage,
    hdu: &Hdu,
    layout: &TableLayout,
    check: &RowCheck<'_>,
    run: &RunOptions<'_>,
    tally: &mut Tally,
    findings: &mut Vec<Finding>,
) -> Result<(), Error> {
    if layout.heap.bytes_present < layout.heap.bytes {
        return Ok(());
    }
    for (column, logical) in check.arrays() {
        let bytes = tally.heap_bytes[column];
        if bytes > MOST_TIMES * u128::from(layout.heap.bytes) {
            let place = layout.place(column, None);
            let expected = format!("arrays of at most {MOST_TIMES} times the heap");
            let found = format!("{bytes} bytes in a heap of {}", layout.heap.bytes);
            findings.push(Finding::of_rule(Rule::NotChecked, place, expected, found));
        } else if bytes > 0 {
            let arrays = HeapArrays { storage, layout, check, column, logical };
            arrays.check(hdu, run, tally)?;
        }
    }
    Ok(())
}

/// The arrays of a column.
struct HeapArrays<'a> {
    storage: &'a dyn Storage,
    layout: &'a TableLayout,
    check: &'a RowCheck<'a>,
    column: usize,
    logical: bool,
}

impl HeapArrays<'_> {
    fn check(&self, hdu: &Hdu, run: &RunOptions<'_>, tally: &mut Tally) -> Result<(), Error> {
        let column = &self.layout.columns[self.column];
        let bytes = column.field.row_bytes();
        let tasks = DescriptorTasks {
            offset: hdu.data_offset + column.offset,
            bytes,
            row_bytes: self.layout.row_bytes,
            rows: self.layout.rows_present,
        };
        let progress = Progress { options: *run, total: tasks.rows * bytes };
        tachyfits_io::run(
            self.storage,
            &tasks,
            &progress.run_options(),
            || (),
            |(), task, fetched| {
                let mut part_tally = Tally::new(self.check.len());
                for piece in 0..fetched.pieces() {
                    let row = task * TASK_ROWS + piece as u64;
                    self.array(row, fetched.piece(piece), &mut part_tally)?;
                }
                Ok::<_, Error>(part_tally)
            },
            |_task, part_tally| {
                tally.merge(part_tally);
                Ok(())
            },
        )?;
        Ok(())
    }

    /// Checks the array of a row.
    fn array(&self, row: u64, descriptor: &[u8], tally: &mut Tally) -> Result<(), Error> {
        // A descriptor outside the heap was reported before.
        let Ok(descriptor) = self.layout.descriptor(self.column, row, descriptor) else {
            return Ok(());
        };
        let begin = self.layout.heap.offset + descriptor.offset;
        let end = begin + descriptor.count;
        let mut at = begin;
        while at < end {
            let piece = at..end.min(at + PIECE_BYTES);
            at = piece.end;
            let has_ended = fetch(
                self.storage,
                |ranges| ranges.push(piece.clone()),
                |fetched| {
                    let bytes = fetched.piece(0);
                    match self.logical {
                        true => self.check.logical(self.column, row, bytes, tally),
                        false => self.check.text(self.column, row, bytes, bytes.len(), tally),
                    }
                    // A string ends at its first NUL.
                    !self.logical && bytes.contains(&0)
                },
            )?;
            if has_ended {
                break;
            }
        }
        Ok(())
    }
}

/// Tasks: the descriptors of a column.
struct DescriptorTasks {
    offset: u64,
    bytes: u64,
    row_bytes: u64,
    rows: u64,
}

impl Tasks for DescriptorTasks {
    fn len(&self) -> u64 {
        self.rows.div_ceil(TASK_ROWS)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let first = index * TASK_ROWS;
        let rows = first..self.rows.min(first + TASK_ROWS);
        ranges.extend(rows.map(|row| {
            let begin = self.offset + row * self.row_bytes;
            begin..begin + self.bytes
        }));
    }
}
