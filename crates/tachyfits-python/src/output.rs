//! A new file with any content, such as text and pictures.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tachyfits::Error;

use crate::errors::{OrRaise, argument};

/// A new file, which gets its name when `commit` is called. Otherwise it leaves nothing behind.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct OutputFile(Mutex<Option<tachyfits::io::OutputFile>>);

impl OutputFile {
    fn lock(&self) -> MutexGuard<'_, Option<tachyfits::io::OutputFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn over(py: Python<'_>) -> PyErr {
    argument(py, "a file that is being written", "one that is finished", "begin another one")
}

#[pymethods]
impl OutputFile {
    #[new]
    #[pyo3(signature = (path, *, overwrite=false))]
    fn new(py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<OutputFile> {
        let output = py.detach(|| tachyfits::io::OutputFile::create(&path, overwrite));
        Ok(OutputFile(Mutex::new(Some(output.map_err(Error::from).or_raise(py)?))))
    }

    /// Create a file of a size that other processes also write, at `shared_path`.
    #[staticmethod]
    #[pyo3(signature = (path, size, *, overwrite=false))]
    fn shared(py: Python<'_>, path: PathBuf, size: u64, overwrite: bool) -> PyResult<OutputFile> {
        let output = py.detach(|| tachyfits::io::OutputFile::shared(&path, overwrite, size));
        Ok(OutputFile(Mutex::new(Some(output.map_err(Error::from).or_raise(py)?))))
    }

    /// Temporary name of a shared file; None for others, and when the file is complete.
    #[getter]
    fn shared_path(&self) -> Option<PathBuf> {
        self.lock().as_ref()?.shared_path().map(PathBuf::from)
    }

    /// Write bytes at an offset; skipped bytes read as zeros.
    fn write_at(&self, py: Python<'_>, offset: u64, content: PyBackedBytes) -> PyResult<()> {
        let result = py.detach(|| {
            let output = self.lock();
            output.as_ref().map(|output| output.write_all_at(offset, &content))
        });
        result.ok_or_else(|| over(py))?.map_err(Error::from).or_raise(py)
    }

    /// Discard the file unless it is complete, even if an error keeps this object alive.
    fn discard(&self) {
        drop(self.lock().take());
    }

    /// Flush the file and give it its name.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let output = self.lock().take().ok_or_else(|| over(py))?;
        py.detach(|| output.commit_durably()).map_err(Error::from).or_raise(py)
    }
}
