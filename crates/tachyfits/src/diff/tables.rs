//! Differences of cells: columns are paired by name, and both tables are read in batches of rows.

use tachyfits_format::{Field, TableLayout, TextEncoding};
use tachyfits_io::operation::RunOptions;

use super::values::{DataDifference, DiffOptions, Differences, Scalar};
use crate::error::Error;
use crate::image::filled;
use crate::table::{Arrays, CellKind, Cells, ColumnOutput, Rows, Table, TextAs};

/// Bytes of the cells of a batch of rows, per table.
const BATCH_BYTES: u64 = 8 << 20;
/// Rows of a batch of variable-length arrays, whose sizes are not known in advance.
const ARRAY_ROWS: u64 = 4096;

/// Compares two tables.
pub(super) fn compare(
    [a, b]: [&Table; 2],
    columns: &ColumnPairs,
    options: &DiffOptions,
    run: &RunOptions<'_>,
) -> Result<Vec<DataDifference>, Error> {
    let rows = [a.layout().rows, b.layout().rows];
    let mut results = Vec::new();
    if rows[0] != rows[1] {
        results.push(DataDifference::Rows(rows));
    }
    if columns.only.iter().any(|names| !names.is_empty()) {
        results.push(DataDifference::Columns(columns.only.clone()));
    }
    if columns.are_in_another_order() {
        results.push(DataDifference::Order([a, b].map(|table| {
            table.layout().columns.iter().map(|column| column.key.clone()).collect()
        })));
    }
    let tables = [a, b];
    let mut fixed = Vec::new();
    let mut by_column = Vec::new();
    for &pair in &columns.pairs {
        let layouts = [0, 1].map(|side| &tables[side].layout().columns[pair[side]]);
        let variable = layouts.map(|column| matches!(column.field, Field::Variable { .. }));
        let cells = [a.cells(pair[0], false)?, b.cells(pair[1], false)?];
        if variable[0] != variable[1] || !comparable(&cells) {
            let words = [0, 1].map(|side| words(&cells[side], variable[side]));
            let column = layouts[0].name.clone();
            by_column.push((pair[0], DataDifference::Cells { column, cells: words }));
        } else if variable[0] {
            let differences = arrays(tables, pair, rows[0].min(rows[1]), options, run)?;
            let values = differences.finish(Some(layouts[0].name.clone()));
            by_column.extend(values.map(|values| (pair[0], DataDifference::Values(values))));
        } else {
            fixed.push(FixedPair { columns: pair, cells });
        }
    }
    let differences = fixed_cells(tables, &fixed, rows[0].min(rows[1]), options, run)?;
    for (pair, differences) in fixed.iter().zip(differences) {
        let name = a.layout().columns[pair.columns[0]].name.clone();
        let values = differences.finish(Some(name));
        by_column.extend(values.map(|values| (pair.columns[0], DataDifference::Values(values))));
    }
    by_column.sort_by_key(|(column, _)| *column);
    results.extend(by_column.into_iter().map(|(_, difference)| difference));
    Ok(results)
}

/// Paired columns of two tables: by name, and columns without a name by number.
pub(super) struct ColumnPairs {
    /// Indices of both columns, in the order of the first table.
    pairs: Vec<[usize; 2]>,
    /// Names of columns that only one table has.
    only: [Vec<String>; 2],
    /// Per table and column: the index of the paired column in the first table.
    first: [Vec<Option<usize>>; 2],
}

impl ColumnPairs {
    pub(super) fn of(a: &TableLayout, b: &TableLayout) -> ColumnPairs {
        let mut first = [vec![None; a.columns.len()], vec![None; b.columns.len()]];
        let mut pairs = Vec::new();
        // Exact matches first, then columns whose names differ in case.
        for spelled in [true, false] {
            let same = |name: &str, other: &str| match spelled {
                true => name == other,
                false => name.eq_ignore_ascii_case(other),
            };
            for (index, column) in a.columns.iter().enumerate() {
                let partner = b.columns.iter().enumerate().position(|(second, other)| {
                    first[0][index].is_none()
                        && first[1][second].is_none()
                        && match column.is_named {
                            true => other.is_named && same(&other.name, &column.name),
                            false => second == index && !other.is_named,
                        }
                });
                if let Some(second) = partner {
                    (first[0][index], first[1][second]) = (Some(index), Some(index));
                    pairs.push([index, second]);
                }
            }
        }
        pairs.sort_unstable();
        let alone = |layout: &TableLayout, first: &[Option<usize>]| -> Vec<String> {
            let columns = layout.columns.iter().zip(first).filter(|(_, first)| first.is_none());
            columns.map(|(column, _)| column.key.clone()).collect()
        };
        let only = [alone(a, &first[0]), alone(b, &first[1])];
        ColumnPairs { pairs, only, first }
    }

    /// Whether paired columns are in different orders.
    fn are_in_another_order(&self) -> bool {
        !self.pairs.is_sorted_by_key(|pair| pair[1])
    }

    /// Whether the tables have different columns, or the same columns in different orders.
    pub(super) fn differ(&self) -> bool {
        self.are_in_another_order() || self.only.iter().any(|names| !names.is_empty())
    }

    /// Returns the number, from 1, in the first table of a column of either table; `None` for a column that
    /// only one table has. Numbers beyond the last column map to numbers beyond the first table's last
    /// column, so that no column gets their cards.
    pub(super) fn first_number(&self, side: usize, number: usize) -> Option<usize> {
        let columns = &self.first[side];
        match columns.get(number - 1) {
            Some(first) => first.map(|column| column + 1),
            None => Some(number - columns.len() + self.first[0].len()),
        }
    }
}

/// Whether cells have the same shape, and types that can be compared.
fn comparable([a, b]: &[Cells; 2]) -> bool {
    use CellKind::{Bool, Complex32, Complex64, Number, Text};
    let kinds = matches!(
        (a.kind, b.kind),
        (Number(_), Number(_))
            | (Bool, Bool)
            | (Text { .. }, Text { .. })
            | (Complex32 | Complex64, Complex32 | Complex64)
    );
    kinds && a.shape == b.shape
}

fn words(cells: &Cells, variable: bool) -> String {
    let kind = match cells.kind {
        CellKind::Bool => "logical".to_owned(),
        CellKind::Number(pixel) => format!("{pixel:?}"),
        CellKind::Complex32 => "complex of F32".to_owned(),
        CellKind::Complex64 => "complex of F64".to_owned(),
        CellKind::Text { width } => format!("text of {width}"),
    };
    let shape: Vec<String> = cells.shape.iter().map(u64::to_string).collect();
    match (variable, shape.is_empty()) {
        (true, _) => format!("{kind}, arrays of variable length"),
        (false, true) => kind,
        (false, false) => format!("{kind}, {} elements", shape.join(" x ")),
    }
}

/// Two columns whose cells have the same size.
struct FixedPair {
    columns: [usize; 2],
    cells: [Cells; 2],
}

/// Compares columns, all in one pass over the rows.
fn fixed_cells(
    tables: [&Table; 2],
    pairs: &[FixedPair],
    rows: u64,
    options: &DiffOptions,
    run: &RunOptions<'_>,
) -> Result<Vec<Differences>, Error> {
    // At most 999 columns.
    let mut differences = vec![Differences::default(); pairs.len()];
    let row_bytes = |side: usize| -> u64 {
        let sizes = pairs
            .iter()
            .map(|pair| 2 * pair.cells[side].kind.bytes() * pair.cells[side].elements());
        sizes.sum()
    };
    let batch = (BATCH_BYTES / row_bytes(0).max(row_bytes(1)).max(1)).max(1);
    let mut first = 0;
    while first < rows && !pairs.is_empty() {
        let end = rows.min(first + batch);
        let read = |side: usize| Batch::read(tables[side], pairs, side, first..end, run);
        let batches = [read(0)?, read(1)?];
        for (at, pair) in pairs.iter().enumerate() {
            let sides = [0, 1].map(|side| batches[side].elements(at, &pair.cells[side]));
            let elements = pair.cells[0].elements();
            compare_elements(&sides, options, &mut differences[at], &|index| {
                let (row, element) = (index / elements.max(1), index % elements.max(1));
                vec![first + row, element]
            });
        }
        first = end;
    }
    Ok(differences)
}

/// Cells of a batch of rows: values and nulls of each column.
struct Batch(Vec<(Vec<u8>, Vec<u8>)>);

impl Batch {
    fn read(
        table: &Table,
        pairs: &[FixedPair],
        side: usize,
        rows: std::ops::Range<u64>,
        run: &RunOptions<'_>,
    ) -> Result<Batch, Error> {
        let count = rows.end - rows.start;
        table.check_rows(&Rows::Range(rows.clone()))?;
        let room = |pair: &FixedPair| -> Result<(Vec<u8>, Vec<u8>), Error> {
            let cells = &pair.cells[side];
            let elements = count.saturating_mul(cells.elements());
            let nulls = if cells.nullable { elements } else { 0 };
            let bytes = elements.saturating_mul(cells.kind.bytes());
            Ok((filled(bytes, 0, "cells to compare")?, filled(nulls, 0, "cells to compare")?))
        };
        let mut arrays: Vec<(Vec<u8>, Vec<u8>)> =
            pairs.iter().map(room).collect::<Result<_, _>>()?;
        let mut outputs: Vec<ColumnOutput<'_>> = arrays
            .iter_mut()
            .zip(pairs)
            .map(|((values, nulls), pair)| ColumnOutput {
                column: pair.columns[side],
                raw: false,
                values,
                nulls: pair.cells[side].nullable.then_some(nulls.as_mut_slice()),
                text: TextAs::Bytes,
                odd: 0,
            })
            .collect();
        // Batches are small; progress is reported for the whole comparison.
        let run = run.progress(run.progress);
        table.read(&mut outputs, &Rows::Range(rows), &run)?;
        drop(outputs);
        Ok(Batch(arrays))
    }

    fn elements(&self, at: usize, cells: &Cells) -> Elements<'_> {
        let (values, nulls) = &self.0[at];
        Elements { kind: cells.kind, values, nulls }
    }
}

/// Contiguous elements.
struct Elements<'a> {
    kind: CellKind,
    values: &'a [u8],
    /// Empty if no element can be null.
    nulls: &'a [u8],
}

impl Elements<'_> {
    fn len(&self) -> u64 {
        match self.kind.bytes() {
            0 => 0,
            bytes => self.values.len() as u64 / bytes,
        }
    }

    fn get(&self, index: u64) -> Scalar {
        let index = index as usize;
        if self.nulls.get(index).is_some_and(|null| *null != 0) {
            return Scalar::Null;
        }
        let size = self.kind.bytes() as usize;
        let bytes = &self.values[index * size..(index + 1) * size];
        let real = |pixel, bytes: &[u8]| match Scalar::number(pixel, bytes) {
            Scalar::Real { value, .. } => value,
            _ => f64::NAN,
        };
        match self.kind {
            CellKind::Bool => Scalar::Bool(bytes[0] != 0),
            CellKind::Number(pixel) => Scalar::number(pixel, bytes),
            CellKind::Complex32 | CellKind::Complex64 => {
                let pixel = match self.kind {
                    CellKind::Complex32 => tachyfits_kernels::PixelType::F32,
                    _ => tachyfits_kernels::PixelType::F64,
                };
                let (re, im) = bytes.split_at(size / 2);
                Scalar::Complex(real(pixel, re), real(pixel, im))
            }
            CellKind::Text { .. } => {
                let text: Vec<u8> = bytes.iter().copied().take_while(|&byte| byte != 0).collect();
                Scalar::Text(TextEncoding::Utf8.decode(&text).into_owned())
            }
        }
    }
}

/// Compares the elements that both sides have.
fn compare_elements(
    sides: &[Elements<'_>; 2],
    options: &DiffOptions,
    differences: &mut Differences,
    at: &dyn Fn(u64) -> Vec<u64>,
) {
    let [a, b] = sides;
    let count = a.len().min(b.len());
    differences.compared += count;
    if a.kind == b.kind && a.nulls.is_empty() && b.nulls.is_empty() && a.values == b.values {
        return;
    }
    for index in 0..count {
        let (left, right) = (a.get(index), b.get(index));
        if !options.same(&left, &right) {
            differences.add(options, &|| at(index), &left, &right);
        }
    }
}

/// Compares two variable-length columns; arrays of different lengths count as one difference of the row.
fn arrays(
    tables: [&Table; 2],
    columns: [usize; 2],
    rows: u64,
    options: &DiffOptions,
    run: &RunOptions<'_>,
) -> Result<Differences, Error> {
    let mut differences = Differences::default();
    let mut first = 0;
    while first < rows {
        let end = rows.min(first + ARRAY_ROWS);
        let read = |side: usize| -> Result<Arrays, Error> {
            let range = Rows::Range(first..end);
            Ok(tables[side].read_arrays(columns[side], false, &range, run)?.0)
        };
        let batches = [read(0)?, read(1)?];
        for row in 0..(end - first) {
            compare_row(&batches, row, first + row, options, &mut differences);
        }
        first = end;
    }
    Ok(differences)
}

fn compare_row(
    batches: &[Arrays; 2],
    at: u64,
    row: u64,
    options: &DiffOptions,
    differences: &mut Differences,
) {
    let sides = [0, 1].map(|side| array_of(&batches[side], at as usize));
    let counts = [sides[0].len(), sides[1].len()];
    if counts[0] != counts[1] {
        let lengths = counts.map(|count| Scalar::Text(format!("{count} elements")));
        differences.compared += 1;
        differences.add(options, &|| vec![row], &lengths[0], &lengths[1]);
        return;
    }
    compare_elements(&sides, options, differences, &|element| vec![row, element]);
}

fn array_of(arrays: &Arrays, row: usize) -> Elements<'_> {
    let range = arrays.offsets[row] as usize..arrays.offsets[row + 1] as usize;
    let size = arrays.cells.kind.bytes() as usize;
    let nulls = arrays.nulls.as_deref().map_or(&[][..], |nulls| &nulls[range.clone()]);
    let values = &arrays.values[range.start * size..range.end * size];
    Elements { kind: arrays.cells.kind, values, nulls }
}
