//! Text from Python: names, keywords, values, comments, conditions.

use std::ops::Deref;

use pyo3::CastError;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A Python integer; one beyond 64 bits is clipped to 64 bits.
pub(crate) struct GivenInteger(pub(crate) i64);

impl<'py> FromPyObject<'_, 'py> for GivenInteger {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<GivenInteger> {
        object.extract().map(GivenInteger).or_else(|error: PyErr| {
            match error.is_instance_of::<PyOverflowError>(object.py()) {
                true => Ok(GivenInteger(if object.lt(0)? { i64::MIN } else { i64::MAX })),
                false => Err(error),
            }
        })
    }
}

/// A Python number; an integer beyond f64 is infinite.
pub(crate) struct GivenFloat(pub(crate) f64);

impl<'py> FromPyObject<'_, 'py> for GivenFloat {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<GivenFloat> {
        object.extract().map(GivenFloat).or_else(|error: PyErr| {
            match error.is_instance_of::<PyOverflowError>(object.py()) {
                true => Ok(GivenFloat(if object.lt(0)? { -f64::INFINITY } else { f64::INFINITY })),
                false => Err(error),
            }
        })
    }
}

/// A Python string. Lone surrogates, which UTF-8 cannot encode, become U+FFFD here. No header contains that character:
/// such a name is not found, and such text is rejected with its position when it is written, like other text outside
/// ASCII.
#[derive(Debug)]
pub(crate) struct GivenText(String);

impl GivenText {
    pub(crate) fn of(text: &Bound<'_, PyString>) -> GivenText {
        GivenText(text.to_string_lossy().into_owned())
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for GivenText {
    type Error = CastError<'a, 'py>;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<GivenText, Self::Error> {
        Ok(GivenText::of(&*object.cast::<PyString>()?))
    }
}

impl From<&str> for GivenText {
    fn from(text: &str) -> GivenText {
        GivenText(text.to_owned())
    }
}

impl Deref for GivenText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<GivenText> for String {
    fn from(text: GivenText) -> String {
        text.0
    }
}
