//! Text that Python gives: names, keywords, values, comments, conditions.

use std::ops::Deref;

use pyo3::CastError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A string of Python. Halves of characters, which it may have and UTF-8 has not, are U+FFFD here. No header has that
/// character: what is asked for by such a name is not found, and what is to be written is refused with its place, as
/// everything else that is not ASCII.
#[derive(Debug)]
pub(crate) struct GivenText(String);

impl GivenText {
    pub(crate) fn of(text: &Bound<'_, PyString>) -> GivenText {
        GivenText(text.to_string_lossy().into_owned())
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for GivenText {
    type Error = CastError<'a, 'py>;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> Result<GivenText, Self::Error> {
        Ok(GivenText::of(&*given.cast::<PyString>()?))
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
