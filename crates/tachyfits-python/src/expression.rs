//! Expressions over images.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use tachyfits::expression::{ExpressionInput, ExpressionPixels, InputValue};

use crate::errors::{OrRaise, argument};
use crate::file::FitsFile;
use crate::image::Image;
use crate::text::GivenText;

/// Value of a name: a number, or an image and optionally its axis in the result; with an axis, the image is treated as
/// numbers.
#[derive(FromPyObject)]
pub(crate) enum GivenValue {
    Number(f64),
    Image(Py<Image>),
    Along(Py<Image>, Option<i64>),
}

/// Return the image of an expression over images and numbers, as a file; its pixels are computed on reading.
#[pyfunction]
#[pyo3(signature = (expression, inputs, *, dtype=None, unit=None))]
pub(crate) fn evaluate(
    py: Python<'_>,
    expression: GivenText,
    inputs: Vec<(GivenText, GivenValue)>,
    dtype: Option<&str>,
    unit: Option<GivenText>,
) -> PyResult<FitsFile> {
    let pixels = match dtype {
        None => ExpressionPixels::Automatic,
        Some("float32") => ExpressionPixels::Float32,
        Some("float64") => ExpressionPixels::Float64,
        Some(other) => {
            let expected = "a dtype of \"float32\", \"float64\" or None";
            let hint = "write the result as another type with Image.write(path, dtype=...)";
            return Err(argument(py, expected, &format!("{other:?}"), hint));
        }
    };
    let expression_inputs = engine_inputs(py, inputs)?;
    let unit = unit.as_deref();
    let file = py
        .detach(|| tachyfits::evaluate(&expression, &expression_inputs, pixels, unit))
        .or_raise(py)?;
    Ok(FitsFile::new(file))
}

/// Return pairs of different units (BUNIT) whose values an expression adds, compares or selects from.
#[pyfunction]
#[pyo3(signature = (expression, inputs))]
pub(crate) fn expression_mixed_units(
    py: Python<'_>,
    expression: GivenText,
    inputs: Vec<(GivenText, GivenValue)>,
) -> PyResult<Vec<(String, String)>> {
    let expression_inputs = engine_inputs(py, inputs)?;
    let pairs = tachyfits::expression::expression_mixed_units(&expression, &expression_inputs)
        .or_raise(py)?;
    Ok(pairs.into_iter().map(|[left, right]| (left, right)).collect())
}

fn engine_inputs(
    py: Python<'_>,
    inputs: Vec<(GivenText, GivenValue)>,
) -> PyResult<Vec<ExpressionInput>> {
    // At most the names of an expression.
    let mut values = Vec::with_capacity(inputs.len());
    for (name, value) in inputs {
        let value = match value {
            GivenValue::Number(number) => InputValue::Number(number),
            GivenValue::Image(image) => InputValue::Image(image.get().engine().clone()),
            GivenValue::Along(spectrum, Some(axis)) => {
                InputValue::Along(spectrum.get().engine().clone(), from_the_end(py, axis)?)
            }
            GivenValue::Along(numbers, None) => InputValue::Numbers(numbers.get().engine().clone()),
        };
        values.push(ExpressionInput { name: name.into(), value });
    }
    Ok(values)
}

/// Returns the FITS number, from 0, of a NumPy axis counted from the end.
fn from_the_end(py: Python<'_>, axis: i64) -> PyResult<usize> {
    usize::try_from(-1 - axis).map_err(|_| {
        let expected = "an axis counted from the end, -1 (x), -2 (y), ...";
        argument(py, expected, &axis.to_string(), "use -1 for x, -2 for y, -3 for z")
    })
}

/// Return the functions of expressions: (names, arguments, description) of each.
#[pyfunction]
pub(crate) fn expression_functions(
    py: Python<'_>,
) -> PyResult<Vec<(Bound<'_, PyTuple>, &'static str, &'static str)>> {
    let functions = tachyfits::expression::expression_functions().iter().map(|function| {
        let names = PyTuple::new(py, function.names.iter().map(|name| PyString::new(py, name)))?;
        Ok((names, function.arguments, function.meaning))
    });
    functions.collect()
}

/// Return the names in an expression, in the order of their appearance.
#[pyfunction]
pub(crate) fn expression_names(py: Python<'_>, expression: GivenText) -> PyResult<Vec<String>> {
    tachyfits::expression::expression_names(&expression).or_raise(py)
}
