//! All cells of a table, as they are read and as they are given to be written.

use std::collections::BTreeSet;

use tachyfits::table::{CellKind, ColumnInput, ColumnOutput, Element, Field, TableKind, TextAs};
use tachyfits::verify::{Severity, VerifyOptions};
use tachyfits::{FitsFile, Rows, RunOptions, Table};

/// The cells of one column: of a variable-length one with offsets.
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

    /// The cells of some rows of `all`.
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

    /// Without some rows.
    pub fn without(&self, gone: impl Fn(usize) -> bool, all: usize) -> Column {
        let mut left = self.rows(0, 0, all);
        for row in (0..all).filter(|&row| !gone(row)) {
            left.append(&self.rows(row, 1, all));
        }
        left
    }

    /// With others put in before a row.
    pub fn insert(&self, at: usize, other: &Column, all: usize) -> Column {
        let mut whole = self.rows(0, at, all);
        whole.append(other);
        whole.append(&self.rows(at, all - at, all));
        whole
    }

    /// With the cells of rows replaced, one after the other.
    pub fn update(&self, rows: &[usize], other: &Column, all: usize) -> Column {
        let mut from: Vec<(&Column, usize, usize)> = (0..all).map(|row| (self, row, all)).collect();
        for (index, &row) in rows.iter().enumerate() {
            from[row] = (other, index, rows.len());
        }
        let mut whole = self.rows(0, 0, all);
        for (column, row, of) in from {
            whole.append(&column.rows(row, 1, of));
        }
        whole
    }

    /// Other cells behind these, of as many rows as each says.
    pub fn append(&mut self, other: &Column) {
        self.values.extend(&other.values);
        self.nulls.extend(&other.nulls);
        if let (Some(offsets), Some(more)) = (&mut self.offsets, &other.offsets) {
            let last = *offsets.last().unwrap();
            offsets.extend(more[1..].iter().map(|offset| offset + last));
        }
    }
}

/// Whether values come back as they were when they are unscaled and scaled again.
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

/// Reads all cells, those that scaling would blur as they are stored.
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

/// Only printable ASCII is written.
fn plain_text(values: &mut [u8]) {
    let odd = values.iter_mut().filter(|byte| !matches!(byte, 0 | b' '..=b'~'));
    odd.for_each(|byte| *byte = b'e');
}

/// The codes of all errors that the verification finds.
pub fn errors(file: &FitsFile) -> BTreeSet<&'static str> {
    let verified = file.verify(&VerifyOptions::default(), &RunOptions::default()).unwrap();
    let errors = verified.findings.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| found.code).collect()
}

/// The table of an HDU of a file in memory.
pub fn table(bytes: Vec<u8>, hdu: usize) -> Table {
    let file = FitsFile::from_bytes("made.fits", bytes, &tachyfits::OpenOptions::default());
    file.unwrap().table(hdu).unwrap()
}
