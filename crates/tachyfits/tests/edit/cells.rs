//! Cells of tables, as read and as passed to writers.

use std::collections::BTreeSet;

use tachyfits::table::{CellKind, ColumnInput, ColumnOutput, Element, Field, TableKind, TextAs};
use tachyfits::verify::{Severity, VerifyOptions};
use tachyfits::{FitsFile, Rows, RunOptions, Table};

/// Cells of one column; variable-length columns have offsets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    pub values: Vec<u8>,
    pub offsets: Option<Vec<i64>>,
    pub nulls: Vec<u8>,
    pub raw: bool,
}

impl Column {
    pub fn input(&self) -> ColumnInput<'_> {
        let nulls = Some(&self.nulls[..]);
        let offsets = self.offsets.as_deref();
        ColumnInput::new(&self.values).offsets(offsets).nulls(nulls).raw(self.raw)
    }

    /// Returns the cells of some of `all` rows.
    pub fn rows(&self, first: usize, count: usize, all: usize) -> Column {
        let range = match &self.offsets {
            Some(offsets) => offsets[first] as usize..offsets[first + count] as usize,
            None => first..first + count,
        };
        let units = self.offsets.as_ref().map_or(all, |offsets| offsets[all] as usize).max(1);
        let (each, marks) = (self.values.len() / units, self.nulls.len() / units);
        let offsets = self.offsets.as_ref().map(|offsets| {
            offsets[first..=first + count].iter().map(|offset| offset - offsets[first]).collect()
        });
        Column {
            values: self.values[range.start * each..range.end * each].to_vec(),
            nulls: self.nulls[range.start * marks..range.end * marks].to_vec(),
            offsets,
            raw: self.raw,
        }
    }

    /// Returns the column without some rows.
    pub fn without(&self, is_removed: impl Fn(usize) -> bool, all: usize) -> Column {
        let mut remaining = self.rows(0, 0, all);
        for row in (0..all).filter(|&row| !is_removed(row)) {
            remaining.append(&self.rows(row, 1, all));
        }
        remaining
    }

    /// Returns the column with other cells inserted before a row.
    pub fn insert(&self, at: usize, other: &Column, all: usize) -> Column {
        let mut column = self.rows(0, at, all);
        column.append(other);
        column.append(&self.rows(at, all - at, all));
        column
    }

    /// Returns the column with the cells of some rows replaced in order.
    pub fn update(&self, rows: &[usize], other: &Column, all: usize) -> Column {
        let mut from: Vec<(&Column, usize, usize)> = (0..all).map(|row| (self, row, all)).collect();
        for (index, &row) in rows.iter().enumerate() {
            from[row] = (other, index, rows.len());
        }
        let mut updated = self.rows(0, 0, all);
        for (column, row, all_rows) in from {
            updated.append(&column.rows(row, 1, all_rows));
        }
        updated
    }

    /// Appends the cells of other rows.
    pub fn append(&mut self, other: &Column) {
        self.values.extend(&other.values);
        self.nulls.extend(&other.nulls);
        if let (Some(offsets), Some(more)) = (&mut self.offsets, &other.offsets) {
            let last = *offsets.last().unwrap();
            offsets.extend(more[1..].iter().map(|offset| offset + last));
        }
    }
}

/// Whether values survive unscaling and scaling without change.
fn exact_when_scaled(field: Field) -> bool {
    use tachyfits::header::ValueType::{F32, F64, I64};
    match field {
        Field::Fixed { element, .. } | Field::Variable { element, .. } => !matches!(
            element,
            Element::Number(F32 | F64 | I64) | Element::Complex32 | Element::Complex64
        ),
        Field::Text { .. } => true,
    }
}

/// Reads all cells; columns that scaling could change are read as stored.
pub fn read_all(table: &Table) -> Vec<Column> {
    let rows = table.layout().rows;
    (0..table.layout().columns.len()).map(|number| read_column(table, number, rows)).collect()
}

fn read_column(table: &Table, number: usize, rows: u64) -> Column {
    let column = &table.layout().columns[number];
    let raw = (column.scaled && !exact_when_scaled(column.field))
        || table.layout().kind == TableKind::Ascii;
    let range = Rows::Range(0..rows);
    if matches!(column.field, Field::Variable { .. }) {
        let (arrays, _) = table.read_arrays(number, raw, &range, &RunOptions::default()).unwrap();
        let each = arrays.cells.kind.bytes() as usize;
        let nulls = arrays.nulls.unwrap_or_else(|| vec![0; arrays.values.len() / each]);
        let mut values = arrays.values;
        if matches!(arrays.cells.kind, CellKind::Text { .. }) {
            plain_text(&mut values);
        }
        return Column { values, nulls, offsets: Some(arrays.offsets), raw };
    }
    let cells = table.cells(number, raw).unwrap();
    let elements = (cells.elements() * rows) as usize;
    let mut values = vec![0; elements * cells.kind.bytes() as usize];
    let mut nulls = vec![0; elements];
    let output =
        ColumnOutput::new(number, &mut values).raw(raw).nulls(Some(&mut nulls)).text(TextAs::Bytes);
    table.read(&mut [output], &range, &RunOptions::default()).unwrap();
    if matches!(cells.kind, CellKind::Text { .. }) {
        plain_text(&mut values);
    }
    // The value of a null is arbitrary.
    let each = cells.kind.bytes() as usize;
    let marked = values.chunks_mut(each.max(1)).zip(&nulls);
    marked.filter(|(_, null)| **null != 0).for_each(|(value, _)| value.fill(0));
    Column { values, nulls, offsets: None, raw }
}

/// Replaces all bytes except printable ASCII, which is all that can be written.
fn plain_text(values: &mut [u8]) {
    let invalid = values.iter_mut().filter(|byte| !matches!(byte, 0 | b' '..=b'~'));
    invalid.for_each(|byte| *byte = b'e');
}

/// Returns the codes of all errors that the verification reports.
pub fn errors(file: &FitsFile) -> BTreeSet<&'static str> {
    let verified = file.verify(&VerifyOptions::default(), &RunOptions::default()).unwrap();
    let errors = verified.findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| finding.code).collect()
}

/// Opens the table in an HDU of a file in memory.
pub fn table(bytes: Vec<u8>, hdu: usize) -> Table {
    let file = FitsFile::from_bytes("made.fits", bytes, &tachyfits::OpenOptions::default());
    file.unwrap().table(hdu).unwrap()
}
