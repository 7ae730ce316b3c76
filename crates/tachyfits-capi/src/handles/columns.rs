//! Columns of tables: facts about them, and reading cells into the caller's arrays.

use std::ops::Range;

use tachyfits::table::{CellKind, Cells, ColumnOutput, Field};
use tachyfits::{Rows, Table};
use tachyfits_memory as memory;

use super::convert::convert;
use super::{Call, Outcome};
use crate::failure::{Failure, fill};
use crate::types::{
    CColumnFacts, TACHYFITS_BOOL, TACHYFITS_COMPLEX_DOUBLE, TACHYFITS_COMPLEX_FLOAT,
    TACHYFITS_TEXT, code_of, pixel_of,
};

/// A column to read, and the caller's arrays.
pub(crate) struct Output<'a> {
    pub(crate) column: usize,
    pub(crate) cell_type: i32,
    pub(crate) stored: bool,
    pub(crate) values: &'a mut [u8],
    pub(crate) nulls: Option<&'a mut [u8]>,
    /// Set to the number of null elements.
    pub(crate) null_count: u64,
}

/// Buffers for some rows of a column, for conversion from its type to the caller's.
struct Between {
    values: Vec<u8>,
    nulls: Vec<u8>,
    cells: Cells,
    converts: bool,
    /// Elements per row, and their bytes in the caller's array.
    elements: usize,
    row_bytes: usize,
}

/// Rows converted at a time: their numbers stay in the second-level cache.
const ROWS: u64 = 1 << 15;

pub(crate) fn facts(table: &Table, column: usize) -> Outcome<CColumnFacts> {
    let cells = table.cells(column, false)?;
    let layout = &table.layout().columns[column];
    let is_variable = matches!(layout.field, Field::Variable { .. });
    let mut facts = CColumnFacts {
        bytes: size_of::<CColumnFacts>() as u32,
        cell_type: type_of(cells.kind),
        elements: if is_variable { 0 } else { cells.elements() },
        cell_bytes: if is_variable { 0 } else { cells.elements() * cells.kind.bytes() },
        shape: [1; 8],
        dimensions: cells.shape.len().min(8) as u32,
        is_variable: u32::from(is_variable),
        is_nullable: u32::from(cells.nullable),
        reserved: 0,
        name: [0; 72],
        unit: [0; 72],
        form: [0; 72],
    };
    for (place, length) in facts.shape.iter_mut().zip(&cells.shape) {
        *place = *length;
    }
    fill(&mut facts.name, &layout.name);
    fill(&mut facts.unit, layout.unit.as_deref().unwrap_or(""));
    fill(&mut facts.form, &layout.form);
    Ok(facts)
}

/// Reads columns in one pass over the rows.
pub(crate) fn read(
    table: &Table,
    outputs: &mut [Output<'_>],
    rows: (u64, u64),
    call: &Call<'_>,
) -> Outcome<()> {
    let end = rows.0.saturating_add(rows.1);
    let count = end - rows.0;
    let mut between = Vec::new();
    for output in outputs.iter_mut() {
        between.push(Between::of(table, output, count)?);
        output.null_count = 0;
    }
    let is_direct = between.iter().all(|between| !between.converts && !between.cells.nullable);
    // Rows beyond the end of the table are rejected before any array is changed.
    let block = if is_direct || end > table.layout().rows { count } else { ROWS.min(count) };
    for between in &mut between {
        between.allocate(block)?;
    }
    let mut at = 0;
    loop {
        let some = block.min(count - at);
        let first = rows.0 + at;
        let part = at as usize..(at + some) as usize;
        let mut columns = Vec::new();
        for (output, between) in outputs.iter_mut().zip(&mut between) {
            columns.push(between.column(output, &part));
        }
        table.read(&mut columns, &Rows::Range(first..first + some), &call.run())?;
        drop(columns);
        for (output, between) in outputs.iter_mut().zip(&between) {
            between.give(output, &part)?;
        }
        at += some;
        if at >= count {
            return Ok(());
        }
    }
}

/// Returns the part of an array for some rows.
fn part_of<'a>(array: &'a mut [u8], rows: &Range<usize>, row_bytes: usize) -> &'a mut [u8] {
    &mut array[rows.start * row_bytes..rows.end * row_bytes]
}

impl Between {
    fn of(table: &Table, output: &Output<'_>, rows: u64) -> Outcome<Between> {
        let cells = table.cells(output.column, output.stored)?;
        let own = type_of(cells.kind);
        let is_number = matches!(cells.kind, CellKind::Number(_));
        let converts = output.cell_type != own;
        if converts && !(is_number && pixel_of(output.cell_type).is_some()) {
            let expected = match is_number {
                true => "TACHYFITS_UINT8 to TACHYFITS_DOUBLE".to_owned(),
                false => own.to_string(),
            };
            let name = format!("type of column {}", output.column);
            let hint = "see cell_type of tachyfits_column_describe";
            return Err(Failure::argument(&name, output.cell_type, &expected, hint));
        }
        let elements = rows.checked_mul(cells.elements());
        let bytes = |size: u64| elements.and_then(|count| count.checked_mul(size));
        let size = pixel_of(output.cell_type).map_or(cells.kind.bytes(), |p| p.bytes() as u64);
        if bytes(size) != Some(output.values.len() as u64) {
            let expected = bytes(size).map_or("fewer rows".to_owned(), |b| format!("{b} bytes"));
            let name = format!("room of column {}", output.column);
            let hint = "give as many bytes as the cells of the rows take";
            return Err(Failure::argument(&name, output.values.len(), &expected, hint));
        }
        let count = elements.unwrap_or(0);
        if let Some(nulls) = &output.nulls
            && nulls.len() as u64 != count
        {
            let hint = "give a byte for each element";
            return Err(Failure::argument("nulls", nulls.len(), &format!("{count} bytes"), hint));
        }
        let row_bytes = cells.elements() * size;
        Ok(Between {
            values: Vec::new(),
            nulls: Vec::new(),
            converts,
            elements: cells.elements() as usize,
            row_bytes: row_bytes as usize,
            cells,
        })
    }

    /// Allocates buffers for some rows.
    fn allocate(&mut self, rows: u64) -> Outcome<()> {
        let elements = rows.saturating_mul(self.cells.elements());
        if self.converts {
            self.values = zeros(elements.saturating_mul(self.cells.kind.bytes()))?;
        }
        if self.cells.nullable {
            self.nulls = zeros(elements)?;
        }
        Ok(())
    }

    /// Returns the destination of some rows: the caller's array, or the buffers if a conversion
    /// follows.
    fn column<'a>(
        &'a mut self,
        output: &'a mut Output<'_>,
        rows: &Range<usize>,
    ) -> ColumnOutput<'a> {
        let elements = rows.len() * self.elements;
        let values = match self.converts {
            true => &mut self.values[..elements * self.cells.kind.bytes() as usize],
            false => part_of(output.values, rows, self.row_bytes),
        };
        let nulls = self.cells.nullable.then(|| &mut self.nulls[..elements]);
        ColumnOutput::new(output.column, values).raw(output.stored).nulls(nulls)
    }

    /// Converts the cells of some rows into the caller's arrays.
    fn give(&self, output: &mut Output<'_>, rows: &Range<usize>) -> Outcome<()> {
        let elements = rows.len() * self.elements;
        let marks = if self.cells.nullable { &self.nulls[..elements] } else { &[] };
        output.null_count += marks.iter().filter(|null| **null != 0).count() as u64;
        if let Some(nulls) = &mut output.nulls {
            let nulls = part_of(nulls, rows, self.elements);
            match marks.is_empty() {
                true => nulls.fill(0),
                false => nulls.copy_from_slice(marks),
            }
        }
        let number = (self.cells.kind, pixel_of(output.cell_type));
        if let (true, (CellKind::Number(own), Some(pixel))) = (self.converts, number) {
            let values = &self.values[..elements * own.bytes()];
            let out = part_of(output.values, rows, self.row_bytes);
            convert((values, own), (out, pixel), marks).map_err(|value| {
                let name = format!("type {} of column {}", output.cell_type, output.column);
                let expected = format!("one that holds {value}");
                Failure::argument(&name, "", &expected, "read a wider type, or TACHYFITS_DOUBLE")
            })?;
        }
        Ok(())
    }
}

/// Allocates zeros, or returns an error.
fn zeros(bytes: u64) -> Outcome<Vec<u8>> {
    let length = usize::try_from(bytes).unwrap_or(usize::MAX);
    Ok(memory::filled(length, 0, "the column in its own type")?)
}

pub(crate) fn type_of(kind: CellKind) -> i32 {
    match kind {
        CellKind::Bool => TACHYFITS_BOOL,
        CellKind::Number(pixel) => code_of(pixel),
        CellKind::Complex32 => TACHYFITS_COMPLEX_FLOAT,
        CellKind::Complex64 => TACHYFITS_COMPLEX_DOUBLE,
        CellKind::Text { .. } => TACHYFITS_TEXT,
    }
}
