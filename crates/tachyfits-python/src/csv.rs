//! Text of tables: NumPy columns as comma-separated text, and cells with text beyond ASCII.

use bytemuck::{AnyBitPattern, NoUninit, try_cast_slice};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyList;
use tachyfits::table::{CsvCells, CsvColumn, CsvValues, TextEncoding};

use crate::buffer;
use crate::errors::not_negative;
use crate::progress;

/// A column: NumPy's name of its type ("S7" for text), the bytes of its elements, flags of undefined elements, and its
/// cells: the number of elements and the start of each cell, or None for single elements.
pub(crate) type ColumnGiven<'py> =
    (String, PyReadonlyArray1<'py, u8>, Option<PyReadonlyArray1<'py, u8>>, Option<CellsGiven<'py>>);

#[derive(FromPyObject)]
pub(crate) enum CellsGiven<'py> {
    #[pyo3(transparent)]
    Width(usize),
    #[pyo3(transparent)]
    Offsets(PyReadonlyArray1<'py, i64>),
}

/// Return rows as comma-separated text, in consecutive pieces.
#[pyfunction]
#[pyo3(signature = (columns, rows, *, threads))]
pub(crate) fn csv_rows<'py>(
    py: Python<'py>,
    columns: Vec<ColumnGiven<'py>>,
    rows: usize,
    threads: i64,
) -> PyResult<Bound<'py, PyList>> {
    let columns = columns.iter().map(|cells| column(cells, rows)).collect::<PyResult<Vec<_>>>()?;
    let threads = not_negative(py, "threads", threads)?;
    let texts = progress::run(py, threads, None, |options| {
        let options = options.progress(None);
        tachyfits::table::csv_rows(&columns, rows, &options)
    })?;
    let texts: Vec<_> =
        texts.iter().map(|text| buffer::bytes(py, text)).collect::<PyResult<_>>()?;
    PyList::new(py, texts)
}

/// Return the texts of some cells in an encoding ("utf-8", "latin-1"); None selects the one that suits all cells.
#[pyfunction]
pub(crate) fn decode_texts(
    cells: Vec<PyBackedBytes>,
    encoding: Option<&str>,
) -> PyResult<Vec<String>> {
    let encoding = match encoding {
        Some("utf-8") => TextEncoding::Utf8,
        Some("latin-1") => TextEncoding::Latin1,
        Some(other) => return Err(PyValueError::new_err(format!("no encoding {other:?}"))),
        None => TextEncoding::of(cells.iter().map(|cell| &**cell)),
    };
    Ok(cells.iter().map(|cell| encoding.decode(cell).into_owned()).collect())
}

/// Converts a column for the engine, after checking that it has the elements of `rows` cells.
fn column<'a>(input: &'a ColumnGiven<'_>, rows: usize) -> PyResult<CsvColumn<'a>> {
    let (name, bytes, undefined, cells) = input;
    let bytes = bytes.as_slice()?;
    let values = match name.as_str() {
        "bool" => CsvValues::Bool(bytes),
        "int8" => CsvValues::I8(cast(bytes)?),
        "int16" => CsvValues::I16(cast(bytes)?),
        "int32" => CsvValues::I32(cast(bytes)?),
        "int64" => CsvValues::I64(cast(bytes)?),
        "uint8" => CsvValues::U8(bytes),
        "uint16" => CsvValues::U16(cast(bytes)?),
        "uint32" => CsvValues::U32(cast(bytes)?),
        "uint64" => CsvValues::U64(cast(bytes)?),
        "float32" => CsvValues::F32(cast(bytes)?),
        "float64" => CsvValues::F64(cast(bytes)?),
        text => {
            let width = text.strip_prefix('S').and_then(|width| width.parse().ok());
            CsvValues::Text(bytes, width.ok_or_else(|| unfit(name))?)
        }
    };
    let cells = match cells {
        None => CsvCells::Single,
        Some(CellsGiven::Width(width)) => CsvCells::Fixed(*width),
        Some(CellsGiven::Offsets(offsets)) => CsvCells::Ragged(offsets.as_slice()?),
    };
    let undefined = undefined.as_ref().map(|undefined| undefined.as_slice()).transpose()?;
    let column = CsvColumn { values, undefined, cells };
    if column.holds(rows) { Ok(column) } else { Err(unfit(name)) }
}

fn cast<T: AnyBitPattern + NoUninit>(bytes: &[u8]) -> PyResult<&[T]> {
    if bytes.is_empty() {
        // NumPy does not align memory of empty arrays.
        return Ok(&[]);
    }
    try_cast_slice(bytes).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn unfit(name: &str) -> PyErr {
    PyValueError::new_err(format!("a column of {name} does not fit the number of rows"))
}
