//! Pixels of a file that is being edited.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::editor::Editor;
use crate::errors::OrRaise;
use crate::section::{Ranges, axis_ranges};

/// Shape in NumPy order, BITPIX, BSCALE, BZERO, whether they do more than flip a sign, BLANK, BUNIT.
type Layout = (Vec<u64>, i64, f64, f64, bool, Option<i64>, Option<String>);

#[pymethods]
impl Editor {
    /// Return the properties of an image's pixels according to its header.
    fn image_layout(&self, py: Python<'_>, hdu: usize) -> PyResult<Layout> {
        self.with(py, |editor| {
            let layout = editor.image_layout(hdu).or_raise(py)?;
            let shape = layout.axes.iter().rev().copied().collect();
            let bitpix = layout.stored.bitpix();
            let (scale, zero, scaled) = (layout.scale, layout.zero, layout.scaled);
            Ok((shape, bitpix, scale, zero, scaled, layout.blank, layout.unit))
        })
    }

    /// Check that the data of an HDU are complete, before computing pixels for it.
    fn check_pixels(&self, py: Python<'_>, hdu: usize) -> PyResult<()> {
        self.with(py, |editor| editor.check_pixels(hdu).or_raise(py))
    }

    /// Set the pixels of a section to stored values, big-endian.
    fn update_pixels(
        &self,
        py: Python<'_>,
        hdu: usize,
        ranges: Ranges,
        stored: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<()> {
        let bytes = stored.as_slice()?;
        self.with(py, |editor| {
            let place = (editor.name(), Some(hdu));
            let ranges = axis_ranges(place, ranges).or_raise(py)?;
            py.detach(|| editor.update_pixels(hdu, &ranges, bytes)).or_raise(py)
        })
    }
}
