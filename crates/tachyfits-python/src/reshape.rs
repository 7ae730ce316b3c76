//! Images in another shape: axes reordered, pixels binned, parts, cuts along a path.

use pyo3::prelude::*;
use tachyfits::cut::Margin;
use tachyfits::path_cut::PathCut;
use tachyfits::rebin::Rebinning;

use crate::errors::OrRaise;
use crate::file::FitsFile;
use crate::image::Image;
use crate::options;
use crate::section::{Ranges, fits_axes, section};

#[pymethods]
impl Image {
    /// Return the image with its axes in another order, as a file; its pixels are computed on reading.
    fn reorder(&self, py: Python<'_>, axes: Vec<i64>) -> PyResult<FitsFile> {
        let image = self.engine();
        let mut order = fits_axes(image, &axes).or_raise(py)?;
        // The last NumPy axis is NAXIS1.
        order.reverse();
        Ok(FitsFile::new(image.reorder(&order).or_raise(py)?))
    }

    /// Return the image with blocks of pixels reduced to one pixel each, as a file; its pixels are computed on reading.
    #[pyo3(signature = (block, *, statistic="mean", keep_partial=false))]
    fn rebin(
        &self,
        py: Python<'_>,
        block: Vec<u64>,
        statistic: &str,
        keep_partial: bool,
    ) -> PyResult<FitsFile> {
        let statistic = options::block_statistic(py, statistic)?;
        let block = block.into_iter().rev().collect();
        let rebinning = Rebinning::new(block).statistic(statistic).keep_partial(keep_partial);
        // For 64-bit integers this searches the largest value.
        Ok(FitsFile::new(py.detach(|| self.engine().rebin(&rebinning)).or_raise(py)?))
    }

    /// Return a section as a file; its pixels are computed on reading.
    #[pyo3(
        signature = (ranges, *, margins=Vec::new(), drop_axes=Vec::new()),
        text_signature = "($self, ranges, *, margins=(), drop_axes=())"
    )]
    fn cut(
        &self,
        py: Python<'_>,
        ranges: Ranges,
        margins: Vec<(u64, u64)>,
        drop_axes: Vec<i64>,
    ) -> PyResult<FitsFile> {
        let image = self.engine();
        let section = section(image, Some(ranges)).or_raise(py)?;
        let margins: Vec<Margin> =
            margins.into_iter().rev().map(|(before, after)| Margin { before, after }).collect();
        let dropped = fits_axes(image, &drop_axes).or_raise(py)?;
        Ok(FitsFile::new(image.cut_without(&section, &margins, &dropped).or_raise(py)?))
    }

    /// Return the pixels along a path through the last two NumPy axes, as a file; they are computed on reading.
    #[pyo3(signature = (points, *, width=1, spacing=1.0, unit=None))]
    fn cut_along(
        &self,
        py: Python<'_>,
        points: Vec<(f64, f64)>,
        width: u32,
        spacing: f64,
        unit: Option<(String, f64)>,
    ) -> PyResult<FitsFile> {
        let points = points.into_iter().map(|(x, y)| [x, y]).collect();
        let cut = PathCut::new(points).width(width).spacing(spacing).unit(unit);
        Ok(FitsFile::new(self.engine().cut_along(&cut).or_raise(py)?))
    }
}
