//! Inserts, removes and renames columns of edited tables. Their cards are updated; rows are rebuilt
//! when they are written.

use std::ops::Range;
use std::sync::Arc;

use tachyfits_format::{Column, Field, FormatError, Header, NewColumn, TableKind, TableLayout};
use tachyfits_io::Storage;
use tachyfits_io::operation::RunOptions;

use super::Editor;
use super::content::Rope;
use super::edited_table::made_fields;
use super::restride::{Restride, Run};
use crate::error::{Error, Reason};
use crate::table::encode::ColumnInput;
use crate::table::table_writer::layout_of;

impl Editor {
    /// Inserts a column before the column with index `at`, from 0. Its field precedes the field of
    /// that column, in an ASCII table with a blank after it, unless `column.start` specifies its
    /// position.
    ///
    /// # Errors
    /// [`Reason::Column`] for an invalid position, [`Reason::CellValues`] if the cells do not fit;
    /// also if the HDU has no intact table, or the column is invalid. On error the table is
    /// unchanged.
    pub fn insert_column(
        &mut self,
        hdu: usize,
        at: usize,
        column: &NewColumn,
        input: &ColumnInput<'_>,
        run: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let mut parts = self.parts(hdu)?;
        let count = parts.layout.columns.len();
        if at > count {
            let expected = format!("a place for the column from 0 to {count}");
            return Err(self.refuse(hdu, Reason::Column, expected, at.to_string()));
        }
        if matches!(column.field, Field::Variable { .. }) {
            self.check_arrays(hdu, &parts, None)?;
        }
        let old = parts.layout.row_bytes;
        let width = column.field.row_bytes();
        let (offset, room) = place_of_new(&parts.layout, at, column);
        let row_bytes = match room {
            Some(room) => old.saturating_add(room),
            None => old.max(offset.saturating_add(width)),
        };
        self.check_size(Some(parts.layout.rows), row_bytes)
            .map_err(|error| error.at(&self.name, hdu))?;
        let mut column = column.clone();
        if let Field::Variable { most, .. } = &mut column.field {
            // Replaced by the longest array once the arrays are known.
            *most = Some(0);
        }
        let mut header = self.unit(hdu)?.header().clone();
        let runs = match room {
            Some(room) => vec![
                Run { from: 0, to: 0, bytes: offset },
                Run { from: offset, to: offset + room, bytes: old - offset },
            ],
            None => vec![Run { from: 0, to: 0, bytes: old }],
        };
        let place = (at, offset, row_bytes);
        self.format_error(insert_cards(&mut header, &parts.layout, &column, place, &runs))?;
        let layout = self.format_error(layout_of(&header, hdu))?;
        let fill = fill_of(layout.kind);
        parts.layout = layout;
        let rows = parts.layout.rows;
        let result = made_fields(&mut parts, at, input, rows, run);
        let (fields, longest) = result.map_err(|error| error.at(&self.name, hdu))?;
        let base = std::mem::take(&mut parts.rows);
        let rows = Restride::new(base, rows, (old, row_bytes), runs, fill)
            .with_field(offset, width, fields);
        parts.rows = whole(rows);
        self.put_back_with(hdu, parts, &longest, header)
    }

    /// Removes columns by index, from 0; also the heap, if no column of arrays remains.
    ///
    /// # Errors
    /// [`Reason::Column`] if a column does not exist; also if the HDU has no complete table.
    pub fn delete_columns(&mut self, hdu: usize, columns: &[usize]) -> Result<(), Error> {
        let mut parts = self.parts(hdu)?;
        for &column in columns {
            self.check_column(hdu, &parts.layout, column)?;
        }
        let is_deleted = |column: usize| columns.contains(&column);
        let place = |number: usize| {
            let before = (0..number - 1).filter(|&column| is_deleted(column)).count();
            (!is_deleted(number - 1)).then_some(number - before)
        };
        let old = parts.layout.row_bytes;
        let runs = left_runs(&parts.layout, &is_deleted);
        let row_bytes = runs.last().map_or(0, |run| run.to + run.bytes);
        let mut header = self.unit(hdu)?.header().clone();
        self.format_error(delete_cards(&mut header, &parts.layout, place, &runs))?;
        let fill = fill_of(parts.layout.kind);
        let base = std::mem::take(&mut parts.rows);
        let rows = Restride::new(base, parts.layout.rows, (old, row_bytes), runs, fill);
        parts.rows = whole(rows);
        let had_arrays = has_arrays(&parts.layout);
        parts.layout = self.format_error(layout_of(&header, hdu))?;
        if had_arrays && !has_arrays(&parts.layout) {
            // No remaining descriptor points to the heap.
            parts.drop_heap();
            header.remove("THEAP");
        }
        self.put_back_with(hdu, parts, &[], header)
    }

    /// Renames a column.
    ///
    /// # Errors
    /// [`Reason::Column`] if the column does not exist; also if the name cannot be written.
    pub fn rename_column(&mut self, hdu: usize, column: usize, name: &str) -> Result<(), Error> {
        let layout = self.layout(hdu)?;
        self.check_column(hdu, &layout, column)?;
        self.set(hdu, &format!("TTYPE{}", column + 1), name, "")
    }
}

fn has_arrays(layout: &TableLayout) -> bool {
    layout.columns.iter().any(|column| matches!(column.field, Field::Variable { .. }))
}

/// Inserts the cards of a new column before the column with index `at`, at an offset in rows of
/// `row_bytes` bytes. `runs` maps the bytes of a row to their new positions.
fn insert_cards(
    header: &mut Header,
    layout: &TableLayout,
    column: &NewColumn,
    (at, offset, row_bytes): (usize, u64, u64),
    runs: &[Run],
) -> Result<(), FormatError> {
    let place = |number: usize| if number > at { number + 1 } else { number };
    header.renumber_columns(|number| Some(place(number)))?;
    header.set("TFIELDS", layout.columns.len() + 1, "")?;
    header.set("NAXIS1", row_bytes, "")?;
    if layout.kind == TableKind::Ascii {
        let columns = layout.columns.iter().enumerate();
        set_starts(header, columns.map(|(index, old)| (place(index + 1), old.offset)), runs)?;
    }
    header.insert_column_cards(at + 1, column, layout.kind, offset)
}

/// Updates TBCOLn of ASCII columns, given their numbers (from 1) and old offsets.
fn set_starts(
    header: &mut Header,
    columns: impl Iterator<Item = (usize, u64)>,
    runs: &[Run],
) -> Result<(), FormatError> {
    for (number, offset) in columns {
        let now = moved(runs, offset);
        if now != offset {
            header.set(&format!("TBCOL{number}"), now + 1, "")?;
        }
    }
    Ok(())
}

/// Removes the cards of columns from a header; `place` returns the new number of a column that
/// stays (both from 1), `runs` maps the bytes of a row to their new positions.
fn delete_cards(
    header: &mut Header,
    layout: &TableLayout,
    place: impl Fn(usize) -> Option<usize>,
    runs: &[Run],
) -> Result<(), FormatError> {
    let remaining: Vec<usize> =
        (0..layout.columns.len()).filter(|&column| place(column + 1).is_some()).collect();
    header.renumber_columns(place)?;
    header.set("TFIELDS", remaining.len(), "")?;
    header.set("NAXIS1", runs.last().map_or(0, |run| run.to + run.bytes), "")?;
    if layout.kind == TableKind::Ascii {
        let offsets = remaining.iter().map(|&column| layout.columns[column].offset);
        set_starts(header, (1..).zip(offsets), runs)?;
    }
    Ok(())
}

/// Creates a rope from a whole source of rows.
fn whole(rows: Restride) -> Rope {
    let bytes = rows.bytes();
    Rope::of(Arc::new(rows), 0..bytes)
}

fn fill_of(kind: TableKind) -> u8 {
    if kind == TableKind::Ascii { b' ' } else { 0 }
}

/// Returns the offset of the field of a new column, and the number of bytes by which the rest of
/// the row moves, if it moves.
fn place_of_new(layout: &TableLayout, at: usize, column: &NewColumn) -> (u64, Option<u64>) {
    let ends = |column: &Column| column.offset + column.field.row_bytes();
    let width = column.field.row_bytes();
    let next = layout.columns.get(at).map(|column| column.offset.min(layout.row_bytes));
    match (layout.kind, column.start, next) {
        (TableKind::Binary, _, _) => {
            let end = layout.columns.iter().map(ends).max().unwrap_or(0);
            (next.unwrap_or(end.min(layout.row_bytes)), Some(width))
        }
        (TableKind::Ascii, Some(start), _) => (start, None),
        // Readers expect fields in the order of the columns. A field that spans this position is not split.
        (TableKind::Ascii, None, Some(next))
            if !layout.columns.iter().any(|other| other.offset < next && ends(other) > next) =>
        {
            (next, Some(width.saturating_add(1)))
        }
        // One blank after the row.
        (TableKind::Ascii, None, _) if layout.row_bytes == 0 => (0, None),
        (TableKind::Ascii, None, _) => (layout.row_bytes + 1, None),
    }
}

/// Returns the runs of a row that stay when columns are deleted: all bytes except those that only these columns use.
fn left_runs(layout: &TableLayout, is_deleted: &impl Fn(usize) -> bool) -> Vec<Run> {
    let fields = |deleted: bool| {
        let columns = layout.columns.iter().enumerate();
        columns
            .filter(move |(number, _)| is_deleted(*number) == deleted)
            .map(|(_, column)| column.offset..column.offset + column.field.row_bytes())
    };
    let mut remaining: Vec<Range<u64>> = fields(false).collect();
    remaining.sort_by_key(|range| range.start);
    // Bytes outside all columns stay; bytes of deleted columns are removed, unless another column shares them.
    let mut cuts: Vec<Range<u64>> = Vec::new();
    for field in fields(true) {
        let mut at = field.start;
        for other in
            remaining.iter().filter(|other| other.start < field.end && other.end > field.start)
        {
            if at < other.start {
                cuts.push(at..other.start);
            }
            at = at.max(other.end);
        }
        if at < field.end {
            cuts.push(at..field.end);
        }
    }
    cuts.sort_by_key(|range| range.start);
    let (mut runs, mut from, mut to) = (Vec::new(), 0, 0);
    let mut run = |from: u64, end: u64, to: &mut u64| {
        if from < end {
            runs.push(Run { from, to: *to, bytes: end - from });
            *to += end - from;
        }
    };
    for cut in cuts {
        run(from, cut.start, &mut to);
        from = from.max(cut.end);
    }
    run(from, layout.row_bytes, &mut to);
    runs
}

/// Maps a byte of the old row to its new position.
fn moved(runs: &[Run], offset: u64) -> u64 {
    let run = runs.iter().find(|run| (run.from..run.from + run.bytes).contains(&offset));
    run.map_or(0, |run| run.to + offset - run.from)
}
