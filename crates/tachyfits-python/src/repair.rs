//! Repairing a file and updating its checksums: [`tachyfits::Editor`] in one call.

use std::path::PathBuf;

use pyo3::prelude::*;
use tachyfits::{Editor, Error, OpenOptions};

use crate::progress;

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(repair, module)?)?;
    module.add_function(wrap_pyfunction!(update_checksums, module)?)
}

/// (code, where, before, after).
type Fix = (String, String, String, String);

fn notices(editor: &Editor) -> Vec<String> {
    editor.notices().iter().map(ToString::to_string).collect()
}

/// Repair faults of a file that are unambiguous.
#[pyfunction]
#[pyo3(signature = (path, *, sync=false, threads=0, progress=None))]
fn repair(
    py: Python<'_>,
    path: PathBuf,
    sync: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Fix>, bool, Vec<String>)> {
    progress::run(py, threads, progress, |run| {
        let mut editor = Editor::open(&path, &OpenOptions::default())?;
        let notices = notices(&editor);
        let fixes = editor.repair()?;
        let in_place = match fixes.is_empty() {
            true => true,
            false => editor.commit(sync, run)?.in_place,
        };
        let text_of = |fix: tachyfits::verify::Fix| {
            (fix.code.to_owned(), fix.place.to_string(), fix.before, fix.after)
        };
        Ok::<_, Error>((fixes.into_iter().map(text_of).collect(), in_place, notices))
    })
}

/// Write DATASUM and CHECKSUM of some HDUs (None: all), computed from their bytes.
#[pyfunction]
#[pyo3(signature = (path, hdus=None, *, sync=false, threads=0, progress=None))]
fn update_checksums(
    py: Python<'_>,
    path: PathBuf,
    hdus: Option<Vec<usize>>,
    sync: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<usize>, Vec<String>)> {
    progress::run(py, threads, progress, |run| {
        let mut editor = Editor::open(&path, &OpenOptions::default())?;
        let notices = notices(&editor);
        let hdus = hdus.unwrap_or_else(|| (0..editor.hdus()).collect());
        for &hdu in &hdus {
            editor.update_checksums(hdu)?;
        }
        editor.commit(sync, run)?;
        Ok::<_, Error>((hdus, notices))
    })
}
