//! Columns of tables: what they are, and their cells in the caller's arrays.

use tachyfits::table::{CellKind, Cells, ColumnOutput, Field};
use tachyfits::{Rows, Table};

use super::convert::convert;
use super::{Call, Outcome};
use crate::failure::{Failure, fill};
use crate::types::{
    CColumnFacts, TACHYFITS_BOOL, TACHYFITS_COMPLEX_DOUBLE, TACHYFITS_COMPLEX_FLOAT,
    TACHYFITS_TEXT, code_of, pixel_of,
};

/// A column to be read into arrays of the caller.
pub(crate) struct Output<'a> {
    pub(crate) column: usize,
    pub(crate) cell_type: i32,
    pub(crate) stored: bool,
    pub(crate) values: &'a mut [u8],
    pub(crate) nulls: Option<&'a mut [u8]>,
    /// Set: how many elements are null.
    pub(crate) null_count: u64,
}

/// Memory of a column between its own type and that of the caller.
struct Between {
    values: Vec<u8>,
    nulls: Vec<u8>,
    cells: Cells,
    converts: bool,
}

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
    let rows = rows.0..rows.0.saturating_add(rows.1);
    let count = rows.end - rows.start;
    let mut between = Vec::new();
    for output in outputs.iter() {
        between.push(Between::of(table, output, count)?);
    }
    let mut columns = Vec::new();
    for (output, between) in outputs.iter_mut().zip(&mut between) {
        let values = match between.converts {
            true => &mut between.values[..],
            false => &mut *output.values,
        };
        let nulls = between.cells.nullable.then_some(&mut between.nulls[..]);
        let column = ColumnOutput::new(output.column, values).raw(output.stored).nulls(nulls);
        columns.push(column);
    }
    table.read(&mut columns, &Rows::Range(rows), &call.run())?;
    drop(columns);
    for (output, between) in outputs.iter_mut().zip(&between) {
        between.give(output)?;
    }
    Ok(())
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
        let own_bytes = if converts { bytes(cells.kind.bytes()).unwrap_or(u64::MAX) } else { 0 };
        let null_bytes = if cells.nullable { count } else { 0 };
        Ok(Between { values: zeros(own_bytes)?, nulls: zeros(null_bytes)?, cells, converts })
    }

    /// Hands the cells over, converted to the type of the caller.
    fn give(&self, output: &mut Output<'_>) -> Outcome<()> {
        output.null_count = self.nulls.iter().filter(|null| **null != 0).count() as u64;
        if let Some(nulls) = &mut output.nulls {
            match self.nulls.is_empty() {
                true => nulls.fill(0),
                false => nulls.copy_from_slice(&self.nulls),
            }
        }
        let number = (self.cells.kind, pixel_of(output.cell_type));
        if let (true, (CellKind::Number(own), Some(pixel))) = (self.converts, number) {
            convert((&self.values, own), (output.values, pixel), &self.nulls).map_err(|value| {
                let name = format!("type {} of column {}", output.cell_type, output.column);
                let expected = format!("one that holds {value}");
                Failure::argument(&name, "", &expected, "read a wider type, or TACHYFITS_DOUBLE")
            })?;
        }
        Ok(())
    }
}

/// Zeros, or an error without memory.
fn zeros(bytes: u64) -> Outcome<Vec<u8>> {
    let no_memory = || {
        let expected = "memory for the column in its own type";
        Failure::argument(
            "rows",
            format!("of {bytes} bytes"),
            expected,
            "read fewer rows at a time",
        )
    };
    let length = usize::try_from(bytes).map_err(|_| no_memory())?;
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(length).map_err(|_| no_memory())?;
    zeros.resize(length, 0);
    Ok(zeros)
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
