//! Rows and columns of one HDU: reading them, and selecting rows by a condition.

use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use tachyfits::Rows;
use tachyfits::table::{Arrays, FoundRows, TextEncoding, WantedColumn};

use crate::column::{Column, Text, TypeOf};
use crate::errors::OrRaise;
use crate::table_arrays::{Cell, Given, found_cells, viewed};
use crate::text::GivenText;
use crate::{interface, progress};

/// Values of a column, flags of undefined ones, and the number of values that violate the Standard.
type Read<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, u64);

/// Offsets, values, flags of undefined ones, and the number of values that violate the Standard.
type ReadArrays<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, u64);

/// Numbers of rows, and their values in some columns.
type ReadWhere<'py> = (Bound<'py, PyArray1<i64>>, Vec<Read<'py>>);

/// Rows from Python: the first and the end of a range, or numbers in any order.
#[derive(FromPyObject)]
pub(crate) enum RowsGiven<'py> {
    /// From the first row to before the end.
    #[pyo3(transparent)]
    Range((u64, u64)),
    /// Row numbers; negative ones are beyond any table, so the engine rejects them.
    #[pyo3(transparent)]
    List(PyReadonlyArray1<'py, i64>),
}

impl RowsGiven<'_> {
    /// Converts the rows for the engine.
    pub(crate) fn engine(&self) -> PyResult<Rows<'_>> {
        Ok(match self {
            RowsGiven::Range((first, end)) => Rows::Range(*first..*end),
            RowsGiven::List(numbers) => Rows::List(bytemuck::cast_slice(numbers.as_slice()?)),
        })
    }

    pub(crate) fn count(&self) -> PyResult<u64> {
        Ok(match self {
            RowsGiven::Range((first, end)) => end.saturating_sub(*first),
            RowsGiven::List(numbers) => numbers.as_slice()?.len() as u64,
        })
    }
}

/// Rows and columns of one HDU, read on request.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct Table {
    table: Arc<tachyfits::Table>,
}

impl Table {
    pub(crate) fn new(table: tachyfits::Table) -> Table {
        Table { table: Arc::new(table) }
    }

    /// Returns the engine's table, for objects that outlive this one.
    pub(crate) fn shared(&self) -> Arc<tachyfits::Table> {
        Arc::clone(&self.table)
    }

    pub(crate) fn engine(&self) -> &tachyfits::Table {
        &self.table
    }

    /// Returns the file and HDU, for messages.
    fn place(&self) -> (&str, Option<usize>) {
        (self.table.file_name(), Some(self.table.hdu().index))
    }
}

#[pymethods]
impl Table {
    /// Return the same table with the whole field of each column as its cell, for copies.
    fn with_whole_fields(&self) -> Table {
        Table::new(self.table.with_whole_fields())
    }

    /// NAXIS2.
    #[getter]
    fn rows(&self) -> u64 {
        self.table.layout().rows
    }

    /// Number of complete rows in the file.
    #[getter]
    fn rows_present(&self) -> u64 {
        self.table.layout().rows_present
    }

    /// NAXIS1.
    #[getter]
    fn row_bytes(&self) -> u64 {
        self.table.layout().row_bytes
    }

    /// Deviations of the header from the Standard, one text each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        let worded = |warning: &tachyfits::error::Warning| {
            interface::message(&format!("{warning:#}")).into_owned()
        };
        self.table.layout().warnings.iter().map(worded).collect()
    }

    /// Number of the column with this name or key, exact or else case-insensitive; None without one.
    fn find(&self, name: GivenText) -> Option<usize> {
        self.table.layout().column(&name)
    }

    /// Return the header information of each column.
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<Column>> {
        let count = self.table.layout().columns.len();
        (0..count).map(|number| Column::of(&self.table, number).or_raise(py)).collect()
    }

    /// Return the encoding of the text of a column: "utf-8" or "latin-1".
    fn text_encoding(&self, py: Python<'_>, column: usize) -> PyResult<&'static str> {
        let encoding = py.detach(|| self.table.text_encoding(column));
        Ok(match encoding.or_raise(py)? {
            TextEncoding::Utf8 => "utf-8",
            TextEncoding::Latin1 => "latin-1",
        })
    }

    /// Raise an error unless the table and the file have these rows; ``rows`` as for `read`.
    fn check_rows(&self, py: Python<'_>, rows: RowsGiven<'_>) -> PyResult<()> {
        self.table.check_rows(&rows.engine()?).or_raise(py)
    }

    /// Read columns whose cells are in the rows, in one pass.
    #[pyo3(signature = (columns, rows, *, raw=false, text="str", into=None, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn read<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<usize>,
        rows: RowsGiven<'py>,
        raw: bool,
        text: &str,
        into: Option<Vec<Given<'py>>>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Read<'py>>> {
        let (text, count) = (Text::named(py, text)?, rows.count()?);
        let engine_rows = rows.engine()?;
        // Checked before allocating arrays, so that none is allocated for rows missing in the file.
        progress::run(py, 1, None, |options| self.table.read(&mut [], &engine_rows, options))?;
        let mut caller_arrays = into.into_iter().flatten();
        let new_cells: PyResult<Vec<Cell<'py>>> = columns
            .iter()
            .map(|&column| {
                let cells = self.table.cells(column, raw).or_raise(py)?;
                let (kind, nullable) = (TypeOf::new(&cells, text), cells.nullable);
                match caller_arrays.next() {
                    // NumPy's text type without characters has some anyway.
                    Some(arrays) if kind.bytes != Some(0) => {
                        Cell::again(py, column, kind, nullable, count, arrays, self.place())
                    }
                    _ => Cell::new(py, column, kind, nullable, count, self.place()),
                }
            })
            .collect();
        let mut new_cells = new_cells?;
        // At most 999 columns.
        let mut outputs = Vec::with_capacity(new_cells.len());
        for cell in &mut new_cells {
            outputs.push(cell.output(raw, text)?);
        }
        if !outputs.is_empty() {
            progress::reported(py, threads, progress, |options| {
                Ok(((), self.table.read(&mut outputs, &engine_rows, options)?))
            })?;
        }
        let odd: Vec<u64> = outputs.into_iter().map(|output| output.odd).collect();
        new_cells.into_iter().zip(odd).map(|(cell, odd)| cell.finish(py, odd)).collect()
    }

    /// Read a column of arrays of different lengths.
    #[pyo3(signature = (column, rows, *, raw=false, threads=0, progress=None))]
    fn read_arrays<'py>(
        &self,
        py: Python<'py>,
        column: usize,
        rows: RowsGiven<'py>,
        raw: bool,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<ReadArrays<'py>> {
        let engine_rows = rows.engine()?;
        let arrays = progress::reported(py, threads, progress, |options| {
            self.table.read_arrays(column, raw, &engine_rows, options)
        })?;
        let Arrays { offsets, values, nulls, cells, odd, .. } = arrays;
        let kind = TypeOf::elements(&cells);
        let values = viewed(PyArray1::from_vec(py, values).into_any(), &kind)?;
        let truth = |nulls| viewed(PyArray1::from_vec(py, nulls).into_any(), "bool");
        Ok((PyArray1::from_vec(py, offsets), values, nulls.map(truth).transpose()?, odd))
    }

    /// Return the numbers of the rows ``first`` to before ``end`` that satisfy a condition, ascending.
    #[pyo3(signature = (condition, first, end, *, threads=0, progress=None))]
    fn rows_where<'py>(
        &self,
        py: Python<'py>,
        condition: GivenText,
        first: u64,
        end: u64,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let rows = progress::reported(py, threads, progress, |options| {
            self.table.rows_where(&condition, first..end, options)
        })?;
        // No table has rows beyond i64: they would not fit in a file.
        Ok(PyArray1::from_vec(py, rows.into_iter().map(u64::cast_signed).collect()))
    }

    /// Read columns of the rows that satisfy a condition, in one scan.
    #[pyo3(signature = (condition, columns, first, end, *, raw=false, text="str", threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn read_where<'py>(
        &self,
        py: Python<'py>,
        condition: GivenText,
        columns: Vec<usize>,
        first: u64,
        end: u64,
        raw: bool,
        text: &str,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<ReadWhere<'py>> {
        let text = Text::named(py, text)?;
        let request = |column| WantedColumn::new(column).raw(raw).text(text.engine());
        let requests: Vec<WantedColumn> = columns.into_iter().map(request).collect();
        let FoundRows { rows, columns, .. } =
            progress::reported(py, threads, progress, |options| {
                let selection =
                    self.table.read_where(&condition, &requests, first..end, options)?;
                let report = selection.report;
                Ok((selection, report))
            })?;
        let count = rows.len() as u64;
        let values = requests.iter().zip(columns).map(|(request, column)| {
            let cells = self.table.cells(request.column, raw).or_raise(py)?;
            found_cells(py, &TypeOf::new(&cells, text), count, column)
        });
        let values = values.collect::<PyResult<Vec<_>>>()?;
        // No table has rows beyond i64: they would not fit in a file.
        Ok((PyArray1::from_vec(py, rows.into_iter().map(u64::cast_signed).collect()), values))
    }

    fn __repr__(&self) -> String {
        let (layout, (file, hdu)) = (self.table.layout(), self.place());
        let (rows, columns) = (layout.rows, layout.columns.len());
        format!(
            "<Table of {rows} rows and {columns} columns, HDU {} of {file:?}>",
            hdu.unwrap_or(0)
        )
    }
}
