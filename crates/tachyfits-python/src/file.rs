//! An open FITS file.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use tachyfits::io::SpoolOptions;
use tachyfits::{OpenOptions, Reason, for_fits};

use crate::errors::{OrRaise, exception, not_negative, refused};
use crate::hdu::Hdu;
use crate::source::Given;
use crate::{checks, interface, options, progress};

/// An open FITS file: its HDUs. Opening reads the headers.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct FitsFile(Arc<tachyfits::FitsFile>);

impl FitsFile {
    pub(crate) fn new(file: tachyfits::FitsFile) -> FitsFile {
        FitsFile(Arc::new(file))
    }

    /// Returns the engine's file.
    pub(crate) fn engine(&self) -> &tachyfits::FitsFile {
        &self.0
    }
}

#[pymethods]
impl FitsFile {
    /// Open a path, the bytes of a file, or a file object; gzip content is inflated.
    #[staticmethod]
    #[pyo3(signature = (
        source, *, name="<bytes>", on_demand=false, strict=false, storage="auto", raw=false, damaged="error",
    ))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
    fn open(
        py: Python<'_>,
        source: Given<'_>,
        name: &str,
        on_demand: bool,
        strict: bool,
        storage: &str,
        raw: bool,
        damaged: &str,
    ) -> PyResult<FitsFile> {
        let storage = options::storage(py, storage)?;
        let damaged = options::damaged(py, damaged)?;
        let source = source.source(py, name, on_demand, &for_fits(SpoolOptions::default()))?;
        let file = progress::open(py, |spool| {
            let options = OpenOptions::default()
                .strict(strict)
                .storage(storage)
                .spool(spool)
                .raw(raw)
                .damaged(damaged);
            tachyfits::FitsFile::open(source, &options)
        })?;
        Ok(FitsFile(Arc::new(file)))
    }

    /// Path, or the name of the bytes.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Text that changes with the content: size, time and inode of a file, the ETag of an object; None for bytes.
    #[getter]
    fn version(&self) -> Option<&str> {
        self.0.version()
    }

    /// Size in bytes, inflated.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Way of reading bytes: "auto", "positioned", "mapped", "direct", "memory" or "object".
    #[getter]
    fn storage(&self) -> &'static str {
        self.0.storage()
    }

    /// Deviations from the Standard, one text each: first of the structure, then of the description of pixels.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        let worded = |warning: &tachyfits::error::Warning| {
            interface::message(&format!("{warning:#}")).into_owned()
        };
        self.0.warnings().iter().map(worded).collect()
    }

    /// Compare the file with the Standard; return the number of HDUs, the findings, and notices about the file.
    #[pyo3(signature = (*, headers_only=false, threads=0, progress=None))]
    fn verify(
        &self,
        py: Python<'_>,
        headers_only: bool,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<checks::Verified> {
        checks::verify_file(py, &self.0, headers_only, threads, progress)
    }

    /// Notices from opening the file, such as an interrupted edit that was undone.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.0.notices().iter().map(ToString::to_string).collect()
    }

    /// Return the bytes ``begin`` to before ``end``, inflated; a computed file computes them.
    #[pyo3(signature = (begin, end, *, threads=0, progress=None))]
    fn read_bytes<'py>(
        &self,
        py: Python<'py>,
        begin: u64,
        end: u64,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let threads = not_negative(py, "threads", threads)?;
        let bytes = progress::run(py, threads, progress, |run| self.0.read_bytes(begin..end, run))?;
        Ok(PyArray1::from_vec(py, bytes))
    }

    fn __len__(&self) -> usize {
        self.0.hdus().len()
    }

    /// Return an HDU by its 0-based number; UsageError if it does not exist.
    fn hdu(&self, py: Python<'_>, index: i64) -> PyResult<Hdu> {
        let file = &self.0;
        let number = usize::try_from(index).map_err(|_| {
            let place = (file.name(), None);
            let expected = format!("an HDU from 0 to {}", file.hdus().len().saturating_sub(1));
            exception(py, &refused(Reason::NoSuchHdu, place, expected, index.to_string()))
        })?;
        let hdu = Arc::clone(file.hdu(number).or_raise(py)?);
        Ok(Hdu::new(Arc::clone(file), hdu))
    }

    fn __repr__(&self) -> String {
        let file = &self.0;
        let (name, bytes, storage) = (file.name(), file.bytes(), file.storage());
        format!("<FitsFile {name:?}: {} HDUs, {bytes} bytes, {storage}>", file.hdus().len())
    }
}
