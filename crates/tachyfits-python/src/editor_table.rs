//! Tables of a file that is being edited: rows, cells and columns.

use pyo3::prelude::*;
use tachyfits::table::TableKind;

use crate::editor::Editor;
use crate::errors::{OrRaise, not_negative};
use crate::new_columns::{CellsGiven, ColumnGiven, inputs};
use crate::progress;
use crate::table::RowsGiven;
use crate::text::GivenText;

#[pymethods]
impl Editor {
    /// Insert rows before the row of a number; the cells of every column are as for `FileWriter.write_rows`.
    #[pyo3(signature = (hdu, at, cells, rows, *, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn insert_rows(
        &self,
        py: Python<'_>,
        hdu: usize,
        at: u64,
        cells: Vec<CellsGiven<'_>>,
        rows: u64,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let (inputs, threads) = (inputs(&cells, false)?, not_negative(py, "threads", threads)?);
        self.with(py, |editor| {
            progress::run(py, threads, progress, |run| {
                editor.insert_rows(hdu, at, &inputs, rows, run)
            })
        })
    }

    /// Remove rows.
    fn delete_rows(&self, py: Python<'_>, hdu: usize, rows: RowsGiven<'_>) -> PyResult<()> {
        let rows = rows.engine()?;
        self.with(py, |editor| editor.delete_rows(hdu, &rows).or_raise(py))
    }

    /// Set the cells of a column in some rows.
    #[pyo3(signature = (hdu, column, rows, cells, *, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn update_cells(
        &self,
        py: Python<'_>,
        hdu: usize,
        column: usize,
        rows: RowsGiven<'_>,
        cells: CellsGiven<'_>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let (rows, cells) = (rows.engine()?, [cells]);
        let (inputs, threads) = (inputs(&cells, false)?, not_negative(py, "threads", threads)?);
        self.with(py, |editor| {
            progress::run(py, threads, progress, |run| {
                editor.update_cells(hdu, column, &rows, &inputs[0], run)
            })
        })
    }

    /// Insert a column before the column of a number, described as for `FileWriter.begin_table`.
    #[pyo3(signature = (hdu, at, column, cells, *, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn insert_column(
        &self,
        py: Python<'_>,
        hdu: usize,
        at: usize,
        column: ColumnGiven,
        cells: CellsGiven<'_>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let cells = [cells];
        let (inputs, threads) = (inputs(&cells, false)?, not_negative(py, "threads", threads)?);
        self.with(py, |editor| {
            let is_ascii = editor.layout(hdu).or_raise(py)?.kind == TableKind::Ascii;
            let column = column.engine(py, is_ascii)?;
            progress::run(py, threads, progress, |run| {
                editor.insert_column(hdu, at, &column, &inputs[0], run)
            })
        })
    }

    /// Remove columns.
    fn delete_columns(&self, py: Python<'_>, hdu: usize, columns: Vec<usize>) -> PyResult<()> {
        self.with(py, |editor| editor.delete_columns(hdu, &columns).or_raise(py))
    }

    /// Remove unused bytes of the heap and the gap before it; return the number of bytes removed.
    fn compact_heap(&self, py: Python<'_>, hdu: usize) -> PyResult<u64> {
        self.with(py, |editor| py.detach(|| editor.compact_heap(hdu)).or_raise(py))
    }

    /// Rename a column.
    fn rename_column(
        &self,
        py: Python<'_>,
        hdu: usize,
        column: usize,
        name: GivenText,
    ) -> PyResult<()> {
        self.with(py, |editor| editor.rename_column(hdu, column, &name).or_raise(py))
    }
}
