//! Linear world axes.

use pyo3::prelude::*;

use crate::buffer::{reserved, shaped};
use crate::errors::{OrRaise, not_negative};

/// One world axis as the header describes it, when it is linear: crval + cdelt * (pixel - crpix).
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct LinearAxis(pub(crate) tachyfits::LinearAxis);

#[pymethods]
impl LinearAxis {
    /// CTYPEn; "" for an axis without a type.
    #[getter]
    fn ctype(&self) -> &str {
        &self.0.ctype
    }

    /// CUNITn; "" when absent, which means the unit of the type.
    #[getter]
    fn cunit(&self) -> &str {
        &self.0.cunit
    }

    /// The value at the reference pixel, in the axis' unit.
    #[getter]
    fn crval(&self) -> f64 {
        self.0.crval
    }

    /// The reference pixel, 1 being the centre of the first.
    #[getter]
    fn crpix(&self) -> f64 {
        self.0.crpix
    }

    /// Increment per pixel, in the axis' unit: CDELTn, the diagonal of a PC or CD matrix taken into account.
    #[getter]
    fn cdelt(&self) -> f64 {
        self.0.cdelt
    }

    /// Rest frequency in Hz; None when the header gives none.
    #[getter]
    fn restfrq(&self) -> Option<f64> {
        self.0.restfrq
    }

    /// Whether a PC, CD or CROTA term mixes the axis with another: its values are then not those of `values` alone.
    #[getter]
    fn coupled(&self) -> bool {
        self.0.coupled
    }

    /// Return the values at the pixels start, start + step, ..., count of them (0-based), in the axis' unit: float64.
    fn values<'py>(
        &self,
        py: Python<'py>,
        start: i64,
        count: i64,
        step: i64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let place = ("", None);
        let count: u64 = not_negative(py, "count", count)?;
        let mut values = reserved(count, place).or_raise(py)?;
        py.detach(|| {
            // In f64, as pixel coordinates are; integers of them are exact up to 2^53. FITS counts pixels from 1.
            let pixel = |index: u64| start as f64 + index as f64 * step as f64 + 1.0;
            values.extend((0..count).map(|index| self.0.value(pixel(index))));
        });
        shaped(py, values, &[count], place)
    }

    fn __repr__(&self) -> String {
        let axis = &self.0;
        let coupled = if axis.coupled { ", coupled" } else { "" };
        format!(
            "<LinearAxis {:?} [{}]: {:?} + {:?} * (pixel - {:?}){coupled}>",
            axis.ctype, axis.cunit, axis.crval, axis.cdelt, axis.crpix
        )
    }
}
