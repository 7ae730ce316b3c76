//! Cost of an operation, and the lists that collect it.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyList;

thread_local! {
    /// Lists that collect the reports of this thread's operations.
    static COLLECTING: RefCell<Vec<Py<PyList>>> = const { RefCell::new(Vec::new()) };
}

/// Append the report of each operation of this thread to a list, until `stop_collecting`.
#[pyfunction]
pub(crate) fn collect_reports(reports: Py<PyList>) {
    COLLECTING.with_borrow_mut(|lists| lists.push(reports));
}

/// Stop appending to a list.
#[pyfunction]
pub(crate) fn stop_collecting(reports: &Bound<'_, PyList>) {
    let removed_list = COLLECTING.with_borrow_mut(|lists| {
        let last = lists.iter().rposition(|list| list.is(reports));
        last.map(|last| lists.remove(last))
    });
    // Dropped after the borrow, because that may run Python code.
    drop(removed_list);
}

/// Adds a report to every list that collects reports of this thread.
pub(crate) fn collect(py: Python<'_>, report: tachyfits::Report) -> PyResult<()> {
    append(py, Report::from(report))
}

/// Adds the report of an operation that wrote the HDU with this number.
pub(crate) fn collect_written(py: Python<'_>, cost: tachyfits::Report, hdu: usize) -> PyResult<()> {
    append(py, Report { cost, hdu: Some(hdu) })
}

fn append(py: Python<'_>, report: Report) -> PyResult<()> {
    let copied = |lists: &Vec<Py<PyList>>| lists.iter().map(|list| list.clone_ref(py)).collect();
    let lists: Vec<Py<PyList>> = COLLECTING.with_borrow(copied);
    lists.iter().try_for_each(|list| list.bind(py).append(report))
}

/// Cost of an operation: bytes, and seconds of reading, of computing and in total.
///
/// Seconds are elapsed time. Computing, and reading by computing threads, are the mean of these
/// threads; reading ahead counts the time during which any thread read.
#[pyclass(frozen, module = "tachyfits")]
#[derive(Clone, Copy)]
pub(crate) struct Report {
    cost: tachyfits::Report,
    hdu: Option<usize>,
}

impl From<tachyfits::Report> for Report {
    fn from(cost: tachyfits::Report) -> Report {
        Report { cost, hdu: None }
    }
}

#[pymethods]
impl Report {
    /// Bytes of pixels that the operation needed.
    #[getter]
    fn bytes(&self) -> u64 {
        self.cost.bytes
    }

    /// Seconds of reading.
    #[getter]
    fn io_seconds(&self) -> f64 {
        self.cost.io_seconds
    }

    /// Seconds of decoding and computing.
    #[getter]
    fn compute_seconds(&self) -> f64 {
        self.cost.compute_seconds
    }

    /// Seconds of writing, if a file is written.
    #[getter]
    fn write_seconds(&self) -> f64 {
        self.cost.write_seconds
    }

    /// Seconds from beginning to end.
    #[getter]
    fn wall_seconds(&self) -> f64 {
        self.cost.wall_seconds
    }

    /// Fraction of reading and writing that overlapped with computing: (io + compute - wall) / io, from 0 to 1; io is
    /// both.
    #[getter]
    fn hidden_fraction(&self) -> f64 {
        self.cost.hidden_fraction()
    }

    /// Number of threads that computed.
    #[getter]
    fn threads(&self) -> usize {
        self.cost.threads
    }

    /// Arrangement of reading and computing: "inline", "ahead" or "borrowed"; "" if nothing was computed.
    #[getter]
    fn buffering(&self) -> &'static str {
        self.cost.buffering
    }

    /// Way of reading bytes: "auto", "positioned", "mapped", "direct" or "memory"; "" if nothing was read.
    #[getter]
    fn storage(&self) -> &'static str {
        self.cost.storage
    }

    /// Largest difference between a value and its rounded integer, also by quantisation in compressed tiles; 0 if
    /// lossless.
    #[getter]
    fn rounding(&self) -> f64 {
        self.cost.rounding
    }

    /// Number of the HDU that the operation wrote, from 0; None if it wrote none.
    #[getter]
    fn hdu(&self) -> Option<usize> {
        self.hdu
    }

    fn __repr__(&self) -> String {
        let report = &self.cost;
        let hdu_text = self
            .hdu
            .map_or(String::new(), |hdu| format!(", rounding={:.6}, hdu={hdu}", report.rounding));
        format!(
            "Report(bytes={}, io_seconds={:.6}, compute_seconds={:.6}, write_seconds={:.6}, \
             wall_seconds={:.6}, hidden_fraction={:.3}, \
             threads={}, buffering='{}', storage='{}'{hdu_text})",
            report.bytes,
            report.io_seconds,
            report.compute_seconds,
            report.write_seconds,
            report.wall_seconds,
            report.hidden_fraction(),
            report.threads,
            report.buffering,
            report.storage,
        )
    }
}
