//! Reductions of an image along an axis, and the header of their result.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};
use tachyfits::Error;
use tachyfits::header::Fate;
use tachyfits::statistics::Coordinates;

use crate::buffer::{self, shaped};
use crate::errors::OrRaise;
use crate::header::rows;
use crate::image::Image;
use crate::progress::reported;
use crate::section::{Ranges, fits_axes, fits_axis, place, shape};

#[pymethods]
impl Image {
    /// Return moments along an axis from one pass: a float64 array with the shape of the other axes for each.
    #[pyo3(signature = (orders, axis, coordinates, section=None, *, widths=None, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn moments<'py>(
        &self,
        py: Python<'py>,
        orders: Vec<i64>,
        axis: i64,
        coordinates: PyReadonlyArray1<'py, f64>,
        section: Option<Ranges>,
        widths: Option<PyReadonlyArray1<'py, f64>>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let section = self.section(py, section)?;
        let fits_axis = fits_axis(self.engine(), axis).or_raise(py)?;
        // A negative order is rejected like any unknown one.
        let orders: Vec<usize> =
            orders.into_iter().map(|order| usize::try_from(order).unwrap_or(usize::MAX)).collect();
        let values = buffer::copied(py, &coordinates)?;
        let widths = match widths {
            Some(widths) => buffer::copied(py, &widths)?,
            None => vec![mean_distance(&values)],
        };
        let moments = reported(py, threads, progress, |options| {
            let coordinates = Coordinates { values: &values, widths: &widths };
            self.engine().moments(&orders, fits_axis, coordinates, &section, options)
        })?;
        let mut axes = shape(&section);
        axes.remove(axes.len() - 1 - fits_axis);
        let shaped = |moment| shaped(py, moment, &axes, place(self.engine()));
        moments.into_iter().map(shaped).collect()
    }

    /// Return the cards of a result computed from a section.
    #[pyo3(
        signature = (section=None, *, kept, collapsed=Vec::new(), same_quantity=true, kind=None, with_tables=false),
        text_signature = "($self, section=None, *, kept, collapsed=(), same_quantity=True, kind=None, with_tables=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn result_cards<'py>(
        &self,
        py: Python<'py>,
        section: Option<Ranges>,
        kept: Vec<i64>,
        collapsed: Vec<i64>,
        same_quantity: bool,
        kind: Option<Bound<'py, PyType>>,
        with_tables: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let section = self.section(py, section)?;
        let fates = self.fates(kept, collapsed).or_raise(py)?;
        let cards = self.engine().result_cards(&section, &fates, same_quantity, with_tables);
        rows(py, &cards.or_raise(py)?, kind)
    }

    /// Return the bytes of the HDUs that the coordinates of a result need; empty without any.
    #[pyo3(
        signature = (section=None, *, kept, collapsed=Vec::new()),
        text_signature = "($self, section=None, *, kept, collapsed=())"
    )]
    fn result_tables<'py>(
        &self,
        py: Python<'py>,
        section: Option<Ranges>,
        kept: Vec<i64>,
        collapsed: Vec<i64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let section = self.section(py, section)?;
        let fates = self.fates(kept, collapsed).or_raise(py)?;
        buffer::bytes(py, &self.engine().result_tables(&section, &fates).or_raise(py)?)
    }
}

impl Image {
    /// Treatment of each axis in a result.
    fn fates(&self, kept: Vec<i64>, collapsed: Vec<i64>) -> Result<Vec<Fate>, Error> {
        let mut fates = vec![Fate::Removed; self.engine().axes().len()];
        for (axes, fate) in [(kept, Fate::Kept), (collapsed, Fate::Collapsed)] {
            for axis in fits_axes(self.engine(), &axes)? {
                fates[axis] = fate;
            }
        }
        Ok(fates)
    }
}

/// Returns the mean distance of neighbours; 1 without neighbours.
fn mean_distance(coordinates: &[f64]) -> f64 {
    match coordinates {
        [first, .., last] => ((last - first) / (coordinates.len() - 1) as f64).abs(),
        _ => 1.0,
    }
}
