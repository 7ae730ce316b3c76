//! Properties of a column, and the NumPy type of its values.

use pyo3::prelude::*;
use tachyfits::Error;
use tachyfits::table::{CellKind, Cells, Element, Field, Null, TextAs};

use crate::buffer;
use crate::errors::argument;

/// Header information about one column of a table.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct Column {
    column: tachyfits::table::Column,
    cells: Cells,
}

impl Column {
    /// Returns the information about a column of a table, by its number.
    pub(crate) fn of(table: &tachyfits::Table, number: usize) -> Result<Column, Error> {
        let cells = table.cells(number, false)?;
        Ok(Column { column: table.layout().columns[number].clone(), cells })
    }
}

#[pymethods]
impl Column {
    /// TTYPEn without trailing blanks; "colN" (N from 1) if it is missing.
    #[getter]
    fn name(&self) -> &str {
        &self.column.name
    }

    /// Whether TTYPEn gives the name.
    #[getter]
    fn is_named(&self) -> bool {
        self.column.is_named
    }

    /// Its name in results, unique in the table.
    #[getter]
    fn key(&self) -> &str {
        &self.column.key
    }

    /// TFORMn as stored.
    #[getter]
    fn form(&self) -> &str {
        &self.column.form
    }

    /// TUNITn.
    #[getter]
    fn unit(&self) -> Option<&str> {
        self.column.unit.as_deref()
    }

    /// TDISPn.
    #[getter]
    fn display(&self) -> Option<&str> {
        self.column.display.as_deref()
    }

    /// TNULLn: an int, or the text of a field in an ASCII table.
    #[getter]
    fn null<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match &self.column.null {
            None => None,
            Some(Null::Stored(value)) => Some(value.into_pyobject(py)?.into_any()),
            Some(Null::Text(text)) => Some(text.into_pyobject(py)?.into_any()),
        })
    }

    /// TSCALn; 1.0 without one.
    #[getter]
    fn scale(&self) -> f64 {
        self.column.scale
    }

    /// TZEROn; 0.0 without one.
    #[getter]
    fn zero(&self) -> f64 {
        self.column.zero
    }

    /// Byte offset of the field in a row.
    #[getter]
    fn offset(&self) -> u64 {
        self.column.offset
    }

    /// Bytes of the field in a row.
    #[getter]
    fn bytes(&self) -> u64 {
        self.column.field.row_bytes()
    }

    /// Whether the cells are arrays of different lengths, in the heap.
    #[getter]
    fn is_variable(&self) -> bool {
        matches!(self.column.field, Field::Variable { .. })
    }

    /// Code of the separator of variable-length strings in a field of characters (rA:SSTRw/nnn); None without one.
    #[getter]
    fn delimiter(&self) -> Option<u8> {
        self.column.substrings.map(|substrings| substrings.delimiter)
    }

    /// Type of the values when read, as named by NumPy; for text wider than NumPy supports, the widest.
    #[getter]
    fn dtype(&self) -> String {
        match self.cells.kind {
            CellKind::Text { width } => format!("U{}", width.min(MOST_ELEMENT_BYTES / 4)),
            _ => TypeOf::new(&self.cells, Text::Str).name,
        }
    }

    /// Shape of one cell, in NumPy order; empty for a scalar.
    #[getter]
    fn shape(&self) -> Vec<u64> {
        let sizes = match self.column.field {
            // The first dimension is the width of a string.
            Field::Variable { element: Element::Character, .. } => {
                self.column.dimensions.get(1..).unwrap_or_default()
            }
            Field::Variable { .. } => &self.column.dimensions,
            _ => &self.cells.shape,
        };
        sizes.iter().rev().copied().collect()
    }

    fn __repr__(&self) -> String {
        format!("<Column {:?} {:?}: {}>", self.column.name, self.column.form, self.dtype())
    }
}

/// Python type of text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// NumPy's `U`.
    Str,
    /// NumPy's `S`.
    Bytes,
}

impl Text {
    pub(crate) fn named(py: Python<'_>, name: &str) -> PyResult<Text> {
        match name {
            "str" => Ok(Text::Str),
            "bytes" => Ok(Text::Bytes),
            other => {
                let (expected, found) = ("text to be \"str\" or \"bytes\"", format!("{other:?}"));
                Err(argument(py, expected, &found, "leave text out for str"))
            }
        }
    }

    pub(crate) fn engine(self) -> TextAs {
        match self {
            Text::Str => TextAs::Ucs4,
            Text::Bytes => TextAs::Bytes,
        }
    }
}

/// Bytes of the largest element that NumPy supports.
const MOST_ELEMENT_BYTES: u64 = i32::MAX as u64;

/// The NumPy type of a column's elements.
pub(crate) struct TypeOf {
    /// Name in NumPy.
    pub(crate) name: String,
    /// Bytes of one element; `None` if NumPy does not support it.
    pub(crate) bytes: Option<u64>,
    /// Shape of a cell, in NumPy order.
    pub(crate) shape: Vec<u64>,
}

impl TypeOf {
    pub(crate) fn new(cells: &Cells, text: Text) -> TypeOf {
        let (name, bytes) = match (cells.kind, text) {
            (CellKind::Bool, _) => ("bool".to_owned(), Some(1)),
            (CellKind::Number(pixel), _) => {
                (buffer::name(pixel).to_owned(), Some(pixel.bytes() as u64))
            }
            (CellKind::Complex32, _) => ("complex64".to_owned(), Some(8)),
            (CellKind::Complex64, _) => ("complex128".to_owned(), Some(16)),
            (CellKind::Text { width }, Text::Bytes) => (format!("S{width}"), Some(width)),
            (CellKind::Text { width }, Text::Str) => (format!("U{width}"), width.checked_mul(4)),
        };
        let bytes = bytes.filter(|bytes| *bytes <= MOST_ELEMENT_BYTES);
        TypeOf { name, bytes, shape: cells.shape.iter().rev().copied().collect() }
    }

    /// Returns NumPy's name for the elements of arrays in the heap, where characters are bytes.
    pub(crate) fn elements(cells: &Cells) -> String {
        match cells.kind {
            CellKind::Text { .. } => "uint8".to_owned(),
            _ => TypeOf::new(cells, Text::Bytes).name,
        }
    }
}
