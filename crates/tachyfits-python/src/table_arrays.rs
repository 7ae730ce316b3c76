//! NumPy arrays for the columns of a table.

use numpy::{PyArray1, PyArrayDyn, PyReadwriteArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tachyfits::Reason;
use tachyfits::table::{ColumnOutput, FoundColumn};

use crate::buffer::{self, Place};
use crate::column::{Text, TypeOf};
use crate::errors::{exception, refused};

/// Memory for reading one column.
pub(crate) struct Cell<'py> {
    column: usize,
    kind: TypeOf,
    rows: u64,
    array: Bound<'py, PyArrayDyn<u8>>,
    values: PyReadwriteArrayDyn<'py, u8>,
    nulls: Option<(Bound<'py, PyArrayDyn<u8>>, PyReadwriteArrayDyn<'py, u8>)>,
    /// Arrays from the caller, if any.
    given: Option<Given<'py>>,
}

/// Arrays of an earlier read that are reused: values, and flags of undefined ones.
pub(crate) type Given<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

impl<'py> Cell<'py> {
    /// Allocates memory for `rows` rows. NumPy allocates it as bytes, aligned for every type.
    pub(crate) fn new(
        py: Python<'py>,
        column: usize,
        kind: TypeOf,
        nullable: bool,
        rows: u64,
        place: Place<'_>,
    ) -> PyResult<Cell<'py>> {
        let elements = kind.shape.iter().try_fold(rows, |count, &length| count.checked_mul(length));
        let bytes = elements.zip(kind.bytes).and_then(|(count, bytes)| count.checked_mul(bytes));
        let (Some(elements), Some(bytes)) = (elements, bytes) else {
            let expected = "cells that an array of NumPy can have";
            let found = format!("{rows} rows of {} {}", buffer::tuple(&kind.shape), kind.name);
            return Err(exception(py, &refused(Reason::Memory, place, expected, found)));
        };
        let array = buffer::empty::<u8>(py, &[bytes], place)?;
        let nulls = nullable.then(|| buffer::empty::<u8>(py, &[elements], place)).transpose()?;
        Cell::of(py, column, kind, rows, (array, nulls), None, place)
    }

    /// Reuses the arrays of an earlier read; the engine checks their size.
    pub(crate) fn again(
        py: Python<'py>,
        column: usize,
        kind: TypeOf,
        nullable: bool,
        rows: u64,
        arrays: Given<'py>,
        place: Place<'_>,
    ) -> PyResult<Cell<'py>> {
        if nullable != arrays.1.is_some() {
            return Err(PyValueError::new_err("nulls are read where a column can have them"));
        }
        let array = as_bytes(&arrays.0)?;
        let nulls = arrays.1.as_ref().map(as_bytes).transpose()?;
        Cell::of(py, column, kind, rows, (array, nulls), Some(arrays), place)
    }

    /// Borrows the memory of values and nulls.
    fn of(
        py: Python<'py>,
        column: usize,
        kind: TypeOf,
        rows: u64,
        (array, nulls): (Bound<'py, PyArrayDyn<u8>>, Option<Bound<'py, PyArrayDyn<u8>>>),
        given: Option<Given<'py>>,
        place: Place<'_>,
    ) -> PyResult<Cell<'py>> {
        let values = buffer::borrow(py, &array, place)?;
        let borrowed = |nulls: Bound<'py, PyArrayDyn<u8>>| {
            buffer::borrow(py, &nulls, place).map(|borrowed| (nulls, borrowed))
        };
        let nulls = nulls.map(borrowed).transpose()?;
        Ok(Cell { column, kind, rows, array, values, nulls, given })
    }

    /// Converts the memory for the engine.
    pub(crate) fn output(&mut self, raw: bool, text: Text) -> PyResult<ColumnOutput<'_>> {
        let nulls = match &mut self.nulls {
            None => None,
            Some((_, borrowed)) => Some(borrowed.as_slice_mut()?),
        };
        Ok(ColumnOutput::new(self.column, self.values.as_slice_mut()?)
            .raw(raw)
            .nulls(nulls)
            .text(text.engine()))
    }

    /// Returns the arrays, with the column's type and shape.
    pub(crate) fn finish(
        self,
        py: Python<'py>,
        odd: u64,
    ) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, u64)> {
        let Cell { kind, rows, array, values, nulls, given, .. } = self;
        drop(values);
        if let Some((values, nulls)) = given {
            return Ok((values, nulls, odd));
        }
        let nulls = nulls.map(|(array, borrowed)| {
            drop(borrowed);
            array.into_any()
        });
        shaped(py, &kind, rows, array.into_any(), nulls, odd)
    }
}

/// Returns the arrays of a column for the rows that satisfy a condition.
pub(crate) fn found_cells<'py>(
    py: Python<'py>,
    kind: &TypeOf,
    rows: u64,
    column: FoundColumn,
) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, u64)> {
    let bytes = |bytes| PyArray1::<u8>::from_vec(py, bytes).into_any();
    shaped(py, kind, rows, bytes(column.values), column.nulls.map(bytes), column.odd)
}

/// Converts bytes to arrays of a column's type and shape.
fn shaped<'py>(
    py: Python<'py>,
    kind: &TypeOf,
    rows: u64,
    values: Bound<'py, PyAny>,
    nulls: Option<Bound<'py, PyAny>>,
    odd: u64,
) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, u64)> {
    let mut shape = vec![rows];
    shape.extend(&kind.shape);
    let shape = PyTuple::new(py, shape)?;
    let reshaped = |array: Bound<'py, PyAny>, dtype: &str| {
        viewed(array, dtype)?.call_method1("reshape", (&shape,))
    };
    let values = match kind.bytes {
        // NumPy cannot view memory as text without characters.
        Some(0) => py.import("numpy")?.call_method1("zeros", (&shape, &kind.name))?,
        _ => reshaped(values, &kind.name)?,
    };
    let nulls = nulls.map(|nulls| reshaped(nulls, "bool")).transpose()?;
    Ok((values, nulls, odd))
}

/// Returns the memory of a contiguous array.
fn as_bytes<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
    // Reshaping an array that is not contiguous would fill a copy that the caller never sees.
    if !array.getattr("flags")?.getattr("c_contiguous")?.extract::<bool>()? {
        return Err(PyValueError::new_err("an array to be read into is contiguous"));
    }
    let flat = array.call_method1("reshape", (-1,))?;
    Ok(viewed(flat, "u1")?.cast_into()?)
}

/// Returns a view of the same memory as elements of another type.
pub(crate) fn viewed<'py>(array: Bound<'py, PyAny>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    array.call_method1("view", (dtype,))
}
