//! Columns of tables: what they are, and their cells in the caller's arrays.

use tachyfits::table::{CellKind, Cells, ColumnOutput, Field};
use tachyfits::{PixelType, Rows, Table};
use tachyfits_memory as memory;

use super::{Call, Outcome};
use crate::failure::{Failure, fill};
use crate::types::{
    CColumnFacts, TACHYFITS_BOOL, TACHYFITS_COMPLEX_DOUBLE, TACHYFITS_COMPLEX_FLOAT,
    TACHYFITS_DOUBLE, TACHYFITS_FLOAT, TACHYFITS_TEXT, code_of, pixel_of,
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
        let is_float = matches!(output.cell_type, TACHYFITS_FLOAT | TACHYFITS_DOUBLE);
        let converts = output.cell_type != own;
        if converts && !(is_number && is_float) {
            let expected = match is_number {
                true => format!("{own}, TACHYFITS_FLOAT or TACHYFITS_DOUBLE"),
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

    /// Hands the cells over: converted, null ones as NaN.
    fn give(&self, output: &mut Output<'_>) -> Outcome<()> {
        output.null_count = self.nulls.iter().filter(|null| **null != 0).count() as u64;
        if let Some(nulls) = &mut output.nulls {
            match self.nulls.is_empty() {
                true => nulls.fill(0),
                false => nulls.copy_from_slice(&self.nulls),
            }
        }
        if let (true, CellKind::Number(pixel)) = (self.converts, self.cells.kind) {
            let values = self.values.chunks_exact(pixel.bytes()).map(|cell| number(cell, pixel));
            let is_null = |at: usize| self.nulls.get(at).is_some_and(|null| *null != 0);
            let values = values.enumerate().map(|(at, v)| if is_null(at) { f64::NAN } else { v });
            if output.cell_type == TACHYFITS_DOUBLE {
                for (place, value) in output.values.chunks_exact_mut(8).zip(values) {
                    place.copy_from_slice(&value.to_ne_bytes());
                }
            } else {
                for (place, value) in output.values.chunks_exact_mut(4).zip(values) {
                    place.copy_from_slice(&(value as f32).to_ne_bytes());
                }
            }
        }
        Ok(())
    }
}

/// A number in the byte order of the machine as a double.
fn number(cell: &[u8], pixel: PixelType) -> f64 {
    macro_rules! of {
        ($number:ty) => {
            cell.try_into().map_or(f64::NAN, |bytes| <$number>::from_ne_bytes(bytes) as f64)
        };
    }
    match pixel {
        PixelType::U8 => of!(u8),
        PixelType::I8 => of!(i8),
        PixelType::U16 => of!(u16),
        PixelType::I16 => of!(i16),
        PixelType::U32 => of!(u32),
        PixelType::I32 => of!(i32),
        PixelType::U64 => of!(u64),
        PixelType::I64 => of!(i64),
        PixelType::F32 => of!(f32),
        PixelType::F64 => of!(f64),
    }
}

/// Zeros, or an error without memory.
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
