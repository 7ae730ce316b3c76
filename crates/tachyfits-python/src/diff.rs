//! Differences between two files, as plain dictionaries from which Python builds its results.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tachyfits::diff::{DataDifference, DiffOptions, HduDifference, HduLabel, ValuesDifference};

use crate::file::FitsFile;
use crate::progress;
use crate::text::GivenText;

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(diff, module)?)
}

/// Compare two files; return dictionaries of the differences: see `tachyfits.diff`.
#[pyfunction]
#[pyo3(signature = (
    first, second, *, absolute=0.0, relative=0.0, ignore=Vec::new(), ignore_comments=false, places=10,
    threads=0, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
fn diff<'py>(
    py: Python<'py>,
    first: &FitsFile,
    second: &FitsFile,
    absolute: f64,
    relative: f64,
    ignore: Vec<GivenText>,
    ignore_comments: bool,
    places: usize,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let ignore = ignore.into_iter().map(String::from).collect();
    let options = DiffOptions::default()
        .absolute(absolute)
        .relative(relative)
        .ignore(ignore)
        .ignore_comments(ignore_comments)
        .places(places);
    let (a, b) = (first.engine(), second.engine());
    let difference =
        progress::run(py, threads, progress, |run| tachyfits::diff(a, b, &options, run))?;
    let answer = PyDict::new(py);
    answer.set_item("compared", difference.compared)?;
    let only = |labels: &[HduLabel]| -> PyResult<Vec<Bound<'py, PyDict>>> {
        labels.iter().map(|item| label(py, item)).collect()
    };
    answer.set_item("only", (only(&difference.only[0])?, only(&difference.only[1])?))?;
    let hdus: Vec<_> = difference.hdus.iter().map(|item| hdu(py, item)).collect::<PyResult<_>>()?;
    answer.set_item("hdus", PyList::new(py, hdus)?)?;
    Ok(answer)
}

fn label<'py>(py: Python<'py>, label: &HduLabel) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("index", label.index)?;
    answer.set_item("name", label.name.as_deref())?;
    answer.set_item("version", label.version)?;
    answer.set_item("kind", &label.kind)?;
    Ok(answer)
}

fn hdu<'py>(py: Python<'py>, difference: &HduDifference) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    let [first, second] = &difference.labels;
    answer.set_item("hdus", (label(py, first)?, label(py, second)?))?;
    let cards: Vec<_> = difference
        .cards
        .iter()
        .map(|card| {
            let [first, second] = &card.values;
            (card.keyword.as_str(), card.change.as_str(), first.as_deref(), second.as_deref())
        })
        .collect();
    answer.set_item("cards", cards)?;
    let data: Vec<_> =
        difference.data.iter().map(|item| data(py, item)).collect::<PyResult<_>>()?;
    answer.set_item("data", PyList::new(py, data)?)?;
    Ok(answer)
}

fn data<'py>(py: Python<'py>, difference: &DataDifference) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    let pair = |name: &str, first: Py<PyAny>, second: Py<PyAny>| {
        answer.set_item("what", name)?;
        answer.set_item("found", (first, second))
    };
    match difference {
        DataDifference::Kind([first, second]) => {
            pair("kind", object(py, first)?, object(py, second)?)?;
        }
        DataDifference::Shape([first, second]) => {
            pair("shape", object(py, first)?, object(py, second)?)?;
        }
        DataDifference::Rows([first, second]) => {
            pair("rows", object(py, first)?, object(py, second)?)?;
        }
        DataDifference::Columns([first, second]) => {
            pair("columns", object(py, first)?, object(py, second)?)?;
        }
        DataDifference::Order([first, second]) => {
            pair("order", object(py, first)?, object(py, second)?)?;
        }
        DataDifference::Cells { column, cells: [first, second] } => {
            pair("cells", object(py, first)?, object(py, second)?)?;
            answer.set_item("column", column)?;
        }
        DataDifference::Values(values) => values_of(&answer, values)?,
    }
    Ok(answer)
}

fn object<'py, T: IntoPyObject<'py>>(py: Python<'py>, value: T) -> PyResult<Py<PyAny>> {
    use pyo3::BoundObject;
    let result = value.into_pyobject(py).map_err(Into::into)?;
    Ok(result.into_any().unbind())
}

fn values_of(answer: &Bound<'_, PyDict>, values: &ValuesDifference) -> PyResult<()> {
    answer.set_item("what", "values")?;
    answer.set_item("column", values.column.as_deref())?;
    answer.set_item("compared", values.compared)?;
    answer.set_item("different", values.different)?;
    answer.set_item("undefined", values.undefined)?;
    answer.set_item("largest", values.largest)?;
    answer.set_item("largest_at", values.largest_at.clone())?;
    let places: Vec<_> = values
        .places
        .iter()
        .map(|item| (item.at.clone(), item.values[0].as_str(), item.values[1].as_str()))
        .collect();
    answer.set_item("places", places)
}
