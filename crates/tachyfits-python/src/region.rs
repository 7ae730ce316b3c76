//! Regions of the sky plane.

use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use tachyfits::region::Part;

use crate::buffer::{shaped, zeros};
use crate::errors::{OrRaise, argument, not_negative};
use crate::progress;

/// Pixels of the plane of the last two axes whose centres are inside a region, borders included.
#[pyclass(frozen, eq, module = "tachyfits._core")]
#[derive(PartialEq)]
pub(crate) struct Region {
    region: tachyfits::Region,
    words: String,
}

impl Region {
    fn new(
        py: Python<'_>,
        region: Result<tachyfits::Region, tachyfits::Error>,
        words: String,
    ) -> PyResult<Region> {
        Ok(Region { region: region.or_raise(py)?, words })
    }
}

/// First and last pixel of an axis.
type Ends = (u64, u64);

/// Converts regions from Python to the engine's.
pub(crate) fn engine_regions(regions: Option<Vec<Py<Region>>>) -> Option<Vec<tachyfits::Region>> {
    regions.map(|regions| regions.iter().map(|region| region.get().region.clone()).collect())
}

#[pymethods]
impl Region {
    /// Return a box with a centre and full size, rotated counter-clockwise.
    #[staticmethod]
    #[pyo3(signature = (x, y, width, height, angle_degrees=0.0))]
    fn r#box(
        py: Python<'_>,
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        angle_degrees: f64,
    ) -> PyResult<Region> {
        let words = format!("Region.box({x:?}, {y:?}, {width:?}, {height:?}, {angle_degrees:?})");
        Region::new(py, tachyfits::Region::rectangle(x, y, width, height, angle_degrees), words)
    }

    /// Return a circle.
    #[staticmethod]
    fn circle(py: Python<'_>, x: f64, y: f64, radius: f64) -> PyResult<Region> {
        let words = format!("Region.circle({x:?}, {y:?}, {radius:?})");
        Region::new(py, tachyfits::Region::circle(x, y, radius), words)
    }

    /// Return an ellipse with semi-axes along x and y, rotated counter-clockwise.
    #[staticmethod]
    #[pyo3(signature = (x, y, semi_x, semi_y, angle_degrees=0.0))]
    fn ellipse(
        py: Python<'_>,
        x: f64,
        y: f64,
        semi_x: f64,
        semi_y: f64,
        angle_degrees: f64,
    ) -> PyResult<Region> {
        let words =
            format!("Region.ellipse({x:?}, {y:?}, {semi_x:?}, {semi_y:?}, {angle_degrees:?})");
        Region::new(py, tachyfits::Region::ellipse(x, y, semi_x, semi_y, angle_degrees), words)
    }

    /// Return a polygon with corners (x, y).
    #[staticmethod]
    fn polygon(py: Python<'_>, vertices: Vec<(f64, f64)>) -> PyResult<Region> {
        let words = format!("Region.polygon({vertices:?})");
        Region::new(py, tachyfits::Region::polygon(&vertices), words)
    }

    /// Return a region of pixel spans: an array of shape (n, 3) of row, first and last pixel, sorted by row and pixel.
    #[staticmethod]
    fn of_spans(py: Python<'_>, spans: PyReadonlyArray2<'_, u64>) -> PyResult<Region> {
        let spans = spans.as_array();
        let words = format!("Region.of_spans({} spans)", spans.nrows());
        if spans.ncols() != 3 {
            let found = format!("{} columns", spans.ncols());
            let hint = "give row, first and last pixel of each span";
            return Err(argument(py, "spans of shape (n, 3)", &found, hint));
        }
        let rows = spans.rows().into_iter();
        let rows =
            rows.map(|row| tachyfits::region::RowSpan { y: row[0], first: row[1], last: row[2] });
        Region::new(py, tachyfits::Region::of_spans(rows.collect()), words)
    }

    /// Return a combination of regions in order, each added (True) to the previous ones or removed (False) from them.
    #[staticmethod]
    fn combined(parts: Vec<(bool, Py<Region>)>) -> Region {
        let words = format!("Region.combined({} parts)", parts.len());
        let part = |included| if included { Part::Include } else { Part::Exclude };
        let parts =
            parts.iter().map(|(included, region)| (part(*included), region.get().region.clone()));
        Region { region: tachyfits::Region::combined(parts.collect()), words }
    }

    /// Return whether each pixel of an image of this size is inside: a bool array of shape (height, width).
    fn mask<'py>(
        &self,
        py: Python<'py>,
        height: i64,
        width: i64,
    ) -> PyResult<Bound<'py, PyArrayDyn<bool>>> {
        let height: u64 = not_negative(py, "height", height)?;
        let width: u64 = not_negative(py, "width", width)?;
        let mask = zeros::<bool>(py, &[height, width], ("", None))?;
        let mut borrowed = mask.readwrite();
        let inside = borrowed.as_slice_mut()?;
        progress::run(py, 0, None, |run| {
            for span in self.region.spans_unless_cancelled(width, height, run)? {
                let row = (span.y * width) as usize;
                inside[row + span.first as usize..=row + span.last as usize].fill(true);
            }
            Ok::<_, tachyfits::Error>(())
        })?;
        Ok(mask.clone())
    }

    /// Return the share of each pixel inside, in the bounding box of the region, and the box's first row and column.
    fn shares<'py>(
        &self,
        py: Python<'py>,
        height: i64,
        width: i64,
    ) -> PyResult<(Bound<'py, PyAny>, Ends)> {
        let height: u64 = not_negative(py, "height", height)?;
        let width: u64 = not_negative(py, "width", width)?;
        let shares = progress::run(py, 0, None, |run| self.region.shares(width, height, run))?;
        let shape = [shares.height, shares.width];
        Ok((shaped(py, shares.values, &shape, ("", None))?, (shares.y, shares.x)))
    }

    /// Return (first row, last row, first column, last column) of the pixels inside an image of this size.
    fn bounds(&self, py: Python<'_>, height: i64, width: i64) -> PyResult<Option<(Ends, Ends)>> {
        let height: u64 = not_negative(py, "height", height)?;
        let width: u64 = not_negative(py, "width", width)?;
        let mut bounds: Option<(Ends, Ends)> = None;
        progress::run(py, 0, None, |run| {
            for span in self.region.spans_unless_cancelled(width, height, run)? {
                let (rows, columns) =
                    bounds.get_or_insert(((span.y, span.y), (span.first, span.last)));
                rows.1 = span.y;
                *columns = (columns.0.min(span.first), columns.1.max(span.last));
            }
            Ok::<_, tachyfits::Error>(())
        })?;
        Ok(bounds)
    }

    fn __repr__(&self) -> &str {
        &self.words
    }
}
