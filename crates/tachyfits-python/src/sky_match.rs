//! Matching of positions on the sky.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use tachyfits::sky_match::{self, SkyPositions};

use crate::buffer;
use crate::progress::run;

type Positions<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// Rows and angles.
type Nearest<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// Rows of both lists, and angles.
type Pairs<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// Return the row of the nearest other position for each position, -1 without one, and the angle.
#[pyfunction]
#[pyo3(signature = (positions, others, radius=None))]
pub(crate) fn nearest_positions<'py>(
    py: Python<'py>,
    positions: Positions<'py>,
    others: Positions<'py>,
    radius: Option<f64>,
) -> PyResult<Nearest<'py>> {
    let (one, other) = (copied(py, &positions)?, copied(py, &others)?);
    let (matches, _) = run(py, 0, None, |options| {
        sky_match::nearest(one.borrowed(), other.borrowed(), radius, options)
    })?;
    Ok((PyArray1::from_vec(py, matches.rows), PyArray1::from_vec(py, matches.separations)))
}

/// Return the rows of all pairs within a radius, and their angles.
#[pyfunction]
pub(crate) fn matching_positions<'py>(
    py: Python<'py>,
    positions: Positions<'py>,
    others: Positions<'py>,
    radius: f64,
) -> PyResult<Pairs<'py>> {
    let (one, other) = (copied(py, &positions)?, copied(py, &others)?);
    let (matches, _) = run(py, 0, None, |options| {
        sky_match::pairs(one.borrowed(), other.borrowed(), radius, options)
    })?;
    Ok((
        PyArray1::from_vec(py, matches.left),
        PyArray1::from_vec(py, matches.right),
        PyArray1::from_vec(py, matches.separations),
    ))
}

/// Copies of longitudes and latitudes, which no other thread of Python can change.
struct Copied(Vec<f64>, Vec<f64>);

impl Copied {
    fn borrowed(&self) -> SkyPositions<'_> {
        SkyPositions { longitude: &self.0, latitude: &self.1 }
    }
}

fn copied<'py>(py: Python<'py>, (longitude, latitude): &Positions<'py>) -> PyResult<Copied> {
    Ok(Copied(buffer::copied(py, longitude)?, buffer::copied(py, latitude)?))
}
