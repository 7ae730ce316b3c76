//! Changing a file's headers and sums at once, for the command line: what [`tachyfits::Edition`] does in one call.

use std::path::PathBuf;

use pyo3::prelude::*;
use tachyfits::{Edition, FormatError, Header, OpenOptions, RunOptions};

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
    Comment(String, String),
}

impl Change {
    /// The keyword that must be there.
    fn needed(&self) -> Option<&str> {
        match self {
            Change::Set(..) => None,
            Change::Delete(keyword) | Change::Rename(keyword, _) | Change::Comment(keyword, _) => {
                Some(keyword)
            }
        }
    }

    /// How many cards it changed.
    fn apply(&self, header: &mut Header) -> Result<usize, FormatError> {
        match self {
            Change::Set(keyword, value, comment) => {
                header.set(keyword, value.clone(), comment).map(|()| 1)
            }
            Change::Delete(keyword) => Ok(header.remove(keyword)),
            Change::Rename(keyword, to) => header.rename(keyword, to).map(usize::from),
            Change::Comment(keyword, comment) => match header.get(keyword).cloned() {
                Some(value) => header.set(keyword, value, comment).map(|()| 1),
                None => Ok(0),
            },
        }
    }
}

/// Makes all changes of a copy, where each finds its card; else gives the keyword that is not there.
fn changed(
    header: &Header,
    changes: &[Change],
) -> Result<Result<(Header, Vec<usize>), String>, FormatError> {
    let mut changed = header.clone();
    let mut counts = Vec::new();
    for change in changes {
        let count = change.apply(&mut changed)?;
        match change.needed() {
            Some(keyword) if count == 0 => return Ok(Err(keyword.to_owned())),
            _ => counts.push(count),
        }
    }
    Ok(Ok((changed, counts)))
}

/// Change the cards of an HDU, all or none: ("set", (keyword, value, comment)), ("delete", (keyword, None, "")),
/// ("rename", (keyword, new keyword, "")), ("comment", (keyword, None, comment)). An empty comment keeps the one that is there. Return how many cards each
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
    let made = py.detach(|| {
        let mut edition = Edition::open(&path, &OpenOptions::default())?;
        let made = edition.change_header(hdu, |header| {
            let made = changed(header, &changes)?;
            Ok(made.map(|(new, counts)| {
                *header = new;
                counts
            }))
        })?;
        if made.is_ok() {
            edition.commit(sync, &RunOptions::default())?;
        }
        Ok(made)
    });
    made.or_raise(py)?.map_err(|keyword| {
        let found = format!("no such card in HDU {hdu} (0-based) of {:?}", path.display());
        argument(py, &format!("a card {keyword}"), &found, "nothing was changed; see the cards")
    })
}

fn change(py: Python<'_>, what: &str, (keyword, value, comment): Row<'_>) -> PyResult<Change> {
    let (keyword, comment) = (keyword.to_string(), comment.to_string());
    Ok(match what {
        "set" => {
            let value = engine_value(py, &keyword, value)?;
            Change::Set(keyword, value, comment)
        }
        "delete" => Change::Delete(keyword),
        "comment" => Change::Comment(keyword, comment),
        "rename" => {
            let to = value.map(|value| value.extract()).transpose()?.unwrap_or_default();
            Change::Rename(keyword, to)
        }
        other => {
            let hint = "name a change that there is";
            return Err(argument(
                py,
                "\"set\", \"delete\", \"rename\" or \"comment\"",
                other,
                hint,
            ));
        }
    })
}
