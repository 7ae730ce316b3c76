//! Validity of files: checksums, and the rules of the Standard.

use std::borrow::Cow;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use tachyfits::for_fits;
use tachyfits::io::SpoolOptions;
use tachyfits::verify::VerifyOptions;

use crate::source::Given;
use crate::{interface, progress};

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Checksum>()?;
    module.add_class::<Finding>()?;
    module.add_function(wrap_pyfunction!(sum_of_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(verify, module)?)?;
    module.add_function(wrap_pyfunction!(verify_rules, module)?)
}

/// Checksums of an HDU, and whether its header agrees.
#[pyclass(frozen, eq, module = "tachyfits")]
#[derive(PartialEq)]
pub(crate) struct Checksum(pub(crate) tachyfits::checksum::Checksum);

#[pymethods]
impl Checksum {
    /// The 0-based number of the HDU.
    #[getter]
    fn hdu(&self) -> usize {
        self.0.hdu
    }

    /// The sum of the data, as DATASUM should state it.
    #[getter]
    fn datasum(&self) -> u32 {
        self.0.datasum
    }

    /// Sum of the whole HDU as stored: 0xffffffff (or 0) if CHECKSUM is right.
    #[getter]
    fn sum(&self) -> u32 {
        self.0.sum
    }

    /// DATASUM in the header; None without one.
    #[getter]
    fn stated_datasum(&self) -> Option<&str> {
        self.0.stated_datasum.as_deref()
    }

    /// CHECKSUM in the header; None without one.
    #[getter]
    fn stated_checksum(&self) -> Option<&str> {
        self.0.stated_checksum.as_deref()
    }

    /// Whether DATASUM is the sum of the data: "right", "wrong", "not stated" or "unreadable".
    #[getter]
    fn data(&self) -> &'static str {
        self.0.data.as_str()
    }

    /// Whether CHECKSUM makes the sum of the HDU all ones: "right", "wrong", "not stated" or "unreadable".
    #[getter]
    fn whole(&self) -> &'static str {
        self.0.whole.as_str()
    }

    /// Whether neither of them is wrong or unreadable.
    #[getter]
    fn ok(&self) -> bool {
        self.0.is_good()
    }

    fn __repr__(&self) -> String {
        let sums = &self.0;
        let (data, whole) = (sums.data.as_str(), sums.whole.as_str());
        format!(
            "Checksum(hdu={}, datasum={}, data='{data}', whole='{whole}')",
            sums.hdu, sums.datasum
        )
    }
}

/// A violation of the FITS Standard.
#[pyclass(frozen, eq, module = "tachyfits")]
#[derive(PartialEq)]
pub(crate) struct Finding(tachyfits::verify::Finding);

#[pymethods]
impl Finding {
    /// "error": the Standard forbids it; "warning": it advises against it, or it is probably a mistake.
    #[getter]
    fn severity(&self) -> &'static str {
        self.0.severity.as_str()
    }

    /// Stable code of the rule.
    #[getter]
    fn code(&self) -> &'static str {
        self.0.code
    }

    /// 0-based number of the HDU; None if the finding concerns the whole file.
    #[getter]
    fn hdu(&self) -> Option<usize> {
        self.0.place.hdu
    }

    /// 0-based number of the card in its header.
    #[getter]
    fn card(&self) -> Option<usize> {
        self.0.place.card
    }

    /// The keyword.
    #[getter]
    fn keyword(&self) -> Option<&str> {
        self.0.place.keyword.as_deref()
    }

    /// Offset in the file, in bytes.
    #[getter]
    fn offset(&self) -> Option<u64> {
        self.0.place.offset
    }

    /// Row of a table, from 1 as in FITS.
    #[getter]
    fn row(&self) -> Option<u64> {
        self.0.place.row
    }

    /// Column of a table: its number, from 1 as in FITS, and its name.
    #[getter]
    fn column(&self) -> Option<(usize, String)> {
        self.0.place.column.clone()
    }

    /// The expected value.
    #[getter]
    fn expected(&self) -> &str {
        &self.0.expected
    }

    /// The value found.
    #[getter]
    fn found(&self) -> &str {
        &self.0.found
    }

    /// Number of further findings of the same kind that this one represents.
    #[getter]
    fn repeats(&self) -> u64 {
        self.0.repeats
    }

    /// Hint for the user.
    #[getter]
    fn advice(&self) -> Cow<'static, str> {
        interface::hint(self.0.advice)
    }

    /// Section of the Standard 4.0; "" if no section applies.
    #[getter]
    fn section(&self) -> &'static str {
        self.0.section
    }

    /// Whether `verify --fix` repairs it.
    #[getter]
    fn fixable(&self) -> bool {
        self.0.fixable
    }

    fn __str__(&self) -> String {
        interface::message(&format!("{:#}", self.0)).into_owned()
    }

    fn __repr__(&self) -> String {
        format!("<Finding {}>", self.0)
    }
}

fn options(headers_only: bool) -> VerifyOptions {
    VerifyOptions::default().headers_only(headers_only)
}

/// Number of HDUs, findings, and notices about the file.
pub(crate) type Verified = (usize, Vec<Finding>, Vec<String>);

fn findings(verified: tachyfits::verify::Verification) -> Verified {
    let notices = verified.notices.iter().map(ToString::to_string).collect();
    (verified.hdus, verified.findings.into_iter().map(Finding).collect(), notices)
}

/// Compare a file with the Standard; return the number of HDUs, the findings, and notices about the file.
#[pyfunction]
#[pyo3(signature = (source, *, name="<bytes>", on_demand=false, headers_only=false, threads=0, progress=None))]
fn verify(
    py: Python<'_>,
    source: Given<'_>,
    name: &str,
    on_demand: bool,
    headers_only: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Verified> {
    let source = source.source(py, name, on_demand, &for_fits(SpoolOptions::default()))?;
    let verified = progress::run_opening(py, threads, progress, |run, spool| {
        tachyfits::verify(source, &options(headers_only).spool(spool), run)
    })?;
    Ok(findings(verified))
}

/// Verifies an open file.
pub(crate) fn verify_file(
    py: Python<'_>,
    file: &tachyfits::FitsFile,
    headers_only: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Verified> {
    let options = options(headers_only);
    let verified = progress::run(py, threads, progress, |run| file.verify(&options, run))?;
    Ok(findings(verified))
}

/// Return the rules of verification beyond errors and warnings: code, severity, section, meaning, advice.
#[pyfunction]
fn verify_rules() -> Vec<[Cow<'static, str>; 5]> {
    let row = |rule: &tachyfits::verify::Rule| {
        let texts = [rule.as_str(), rule.severity().as_str(), rule.section(), rule.meaning()];
        let [code, severity, section, meaning] = texts.map(Cow::Borrowed);
        [code, severity, section, meaning, interface::hint(rule.hint())]
    };
    tachyfits::verify::Rule::ALL.iter().map(row).collect()
}

/// Return the sum of a part of an HDU's data, which begins at byte `offset` of the data.
#[pyfunction]
fn sum_of_bytes(py: Python<'_>, offset: u64, data: PyReadonlyArray1<'_, u8>) -> PyResult<u32> {
    let bytes = data.as_slice()?;
    Ok(py.detach(|| tachyfits::checksum::sum_of_bytes(offset, bytes)).sum())
}

/// Returns the checksums of an HDU.
pub(crate) fn checksum(
    py: Python<'_>,
    file: &tachyfits::FitsFile,
    index: usize,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Checksum> {
    let sums = progress::run(py, threads, progress, |run| file.checksum(index, run));
    let (sums, _report) = sums?;
    Ok(Checksum(sums))
}
