//! Repairing a file and updating its checksums: [`tachyfits::Edition`] in one call.

use std::path::PathBuf;

use pyo3::prelude::*;
use tachyfits::{Edition, OpenOptions};

use crate::progress;

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(mend, module)?)?;
    module.add_function(wrap_pyfunction!(state_sums, module)?)
}

/// (code, where, before, after).
type Fix = (String, String, String, String);

fn notices(edition: &Edition) -> Vec<String> {
    edition.notices().iter().map(ToString::to_string).collect()
}

/// Repair faults of a file that need no guessing; return the repairs, whether the file was changed
/// in place, and notices about it.
#[pyfunction]
#[pyo3(signature = (path, *, sync=false, threads=0, progress=None))]
fn mend(
    py: Python<'_>,
    path: PathBuf,
    sync: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Fix>, bool, Vec<String>)> {
    progress::run(py, threads, progress, |run| {
        let mut edition = Edition::open(&path, &OpenOptions::default())?;
        let notices = notices(&edition);
        let fixes = edition.mend()?;
        let in_place = match fixes.is_empty() {
            true => true,
            false => edition.commit(sync, run)?.in_place,
        };
        let said = |fix: tachyfits::Fix| {
            (fix.code.to_owned(), fix.place.to_string(), fix.before, fix.after)
        };
        Ok((fixes.into_iter().map(said).collect(), in_place, notices))
    })
}

/// State DATASUM and CHECKSUM of some HDUs (None: of all) as their bytes have them; return their numbers, and what was found
/// beside the file.
#[pyfunction]
#[pyo3(signature = (path, hdus=None, *, sync=false, threads=0, progress=None))]
fn state_sums(
    py: Python<'_>,
    path: PathBuf,
    hdus: Option<Vec<usize>>,
    sync: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<usize>, Vec<String>)> {
    progress::run(py, threads, progress, |run| {
        let mut edition = Edition::open(&path, &OpenOptions::default())?;
        let notices = notices(&edition);
        let hdus = hdus.unwrap_or_else(|| (0..edition.hdus()).collect());
        for &hdu in &hdus {
            edition.state_sums(hdu)?;
        }
        edition.commit(sync, run)?;
        Ok((hdus, notices))
    })
}
