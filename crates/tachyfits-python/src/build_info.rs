//! Properties of this build: versions, vector tiers, the table of statistics.

use std::ffi::CString;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tachyfits::Tier;
use tachyfits::statistics::StatisticUnit;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    warn_of_wrong_tier(module.py())?;
    module.add("__version__", VERSION)?;
    module.add_function(wrap_pyfunction!(build_info, module)?)?;
    module.add_function(wrap_pyfunction!(statistics, module)?)
}

/// Warns if TACHYFITS_TIER names no tier of this machine. The fastest tier is used then, with the same results.
fn warn_of_wrong_tier(py: Python<'_>) -> PyResult<()> {
    let Err(error) = Tier::requested() else { return Ok(()) };
    let text =
        format!("{error}; {} is used\nhint: correct or unset the variable", Tier::current().name());
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(text)?, 1)
}

/// Return a dictionary that describes the build and the running configuration.
#[pyfunction]
fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let tier = Tier::current();
    let tiers: Vec<_> = Tier::available().into_iter().map(Tier::name).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = PyDict::new(py);
    info.set_item("version", VERSION)?;
    info.set_item("tier", tier.name())?;
    info.set_item("tiers", tiers)?;
    info.set_item("cores", cores)?;
    info.set_item("rustc", env!("TACHYFITS_RUSTC"))?;
    info.set_item("profile", env!("TACHYFITS_PROFILE"))?;
    Ok(info)
}

/// Return (name, meaning, has the unit of pixels, is standard, is an order statistic) of each statistic.
#[pyfunction]
fn statistics() -> Vec<(&'static str, &'static str, bool, bool, bool)> {
    let facts = tachyfits::statistics::statistics().map(|facts| {
        let has_unit = facts.unit == StatisticUnit::Pixels;
        (facts.name, facts.meaning, has_unit, facts.is_standard, facts.is_order)
    });
    facts.collect()
}
