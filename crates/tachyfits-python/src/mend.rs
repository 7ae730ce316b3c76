//! Changing a file's headers and sums at once, for the command line: what [`tachyfits::Edition`] does in one call.

use std::path::PathBuf;

use pyo3::prelude::*;
use tachyfits::{Edition, Header, OpenOptions, RunOptions};

use crate::errors::{OrRaise, argument};
use crate::header::{Row, engine_value};
use crate::progress;

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(mend, module)?)?;
    module.add_function(wrap_pyfunction!(state_sums, module)?)?;
    module.add_function(wrap_pyfunction!(change_cards, module)?)
}

/// (code, where, before, after).
type Fix = (String, String, String, String);

/// Put right in a file what needs no guessing; return what that was and whether the file was changed in place.
#[pyfunction]
#[pyo3(signature = (path, *, sync=false, threads=0, progress=None))]
fn mend(
    py: Python<'_>,
    path: PathBuf,
    sync: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Fix>, bool)> {
    progress::run(py, threads, progress, |run| {
        let mut edition = Edition::open(&path, &OpenOptions::default())?;
        let fixes = edition.mend()?;
        let in_place = match fixes.is_empty() {
            true => true,
            false => edition.commit(sync, run)?.in_place,
        };
        let said = |fix: tachyfits::Fix| {
            (fix.code.to_owned(), fix.place.to_string(), fix.before, fix.after)
        };
        Ok((fixes.into_iter().map(said).collect(), in_place))
    })
}

/// State DATASUM and CHECKSUM of some HDUs (None: of all) as their bytes have them; return their numbers.
#[pyfunction]
#[pyo3(signature = (path, hdus=None, *, sync=false, threads=0, progress=None))]
fn state_sums(
    py: Python<'_>,
    path: PathBuf,
    hdus: Option<Vec<usize>>,
    sync: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<usize>> {
    progress::run(py, threads, progress, |run| {
        let mut edition = Edition::open(&path, &OpenOptions::default())?;
        let hdus = hdus.unwrap_or_else(|| (0..edition.hdus()).collect());
        for &hdu in &hdus {
            edition.state_sums(hdu)?;
        }
        edition.commit(sync, run)?;
        Ok(hdus)
    })
}

/// A change of the cards of a header.
enum Change {
    Set(String, tachyfits::Value, String),
    Delete(String),
    Rename(String, String),
}

impl Change {
    /// How many cards it changed.
    fn apply(&self, header: &mut Header) -> Result<usize, tachyfits::FormatError> {
        match self {
            Change::Set(keyword, value, comment) => {
                header.set(keyword, value.clone(), comment).map(|()| 1)
            }
            Change::Delete(keyword) => Ok(header.remove(keyword)),
            Change::Rename(keyword, to) => header.rename(keyword, to).map(usize::from),
        }
    }
}

/// Change the cards of an HDU, all or none: ("set", (keyword, value, comment)), ("delete", (keyword, None, "")),
/// ("rename", (keyword, new keyword, "")). An empty comment keeps the one that is there. Return how many cards each
/// changed.
#[pyfunction]
#[pyo3(signature = (path, hdu, changes, *, sync=false))]
fn change_cards(
    py: Python<'_>,
    path: PathBuf,
    hdu: usize,
    changes: Vec<(String, Row<'_>)>,
    sync: bool,
) -> PyResult<Vec<usize>> {
    let changes: Vec<Change> =
        changes.into_iter().map(|(what, row)| change(py, &what, row)).collect::<PyResult<_>>()?;
    let changed = py.detach(|| {
        let mut edition = Edition::open(&path, &OpenOptions::default())?;
        let changed = edition.change_header(hdu, |header| {
            changes.iter().map(|change| change.apply(header)).collect::<Result<Vec<_>, _>>()
        })?;
        edition.commit(sync, &RunOptions::default())?;
        Ok(changed)
    });
    changed.or_raise(py)
}

fn change(py: Python<'_>, what: &str, (keyword, value, comment): Row<'_>) -> PyResult<Change> {
    Ok(match what {
        "set" => {
            let value = engine_value(py, &keyword, value)?;
            Change::Set(keyword, value, comment)
        }
        "delete" => Change::Delete(keyword),
        "rename" => {
            let to = value.map(|value| value.extract()).transpose()?.unwrap_or_default();
            Change::Rename(keyword, to)
        }
        other => {
            let hint = "name a change that there is";
            return Err(argument(py, "\"set\", \"delete\" or \"rename\"", other, hint));
        }
    })
}
