//! Fits of spectra: Gaussian lines and baselines.
//!
//! The numbers of a fit are: for each Gaussian, in order of decreasing absolute amplitude: amplitude, centre, standard
//! deviation and integral, each followed by its standard error; for each power of the distance to the coordinate of the
//! middle channel: the coefficient of the baseline and its error; then the square root of the sum of squared residuals,
//! the number of channels, and the flag, which is 0 if the fit converged. Otherwise all except the last two are NaN.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use tachyfits::fit::{Baseline, GaussianModel, ParameterLimits};

use crate::buffer::{self, shaped};
use crate::errors::{OrRaise, not_negative};
use crate::file::FitsFile;
use crate::image::Image;
use crate::progress::reported;
use crate::section::{Ranges, fits_axis, place, shape};

/// Least and greatest amplitude, centre and standard deviation.
type Limits = [(f64, f64); 3];

#[pymethods]
impl Image {
    /// Fit Gaussians and a baseline to the spectrum of each pixel; return an array for each number of a fit.
    #[pyo3(signature = (
        components, axis, coordinates, limits, section=None, *, baseline=None, noise=None, iterations=100, threads=0,
        progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn fit_gaussians<'py>(
        &self,
        py: Python<'py>,
        components: i64,
        axis: i64,
        coordinates: PyReadonlyArray1<'py, f64>,
        limits: Limits,
        section: Option<Ranges>,
        baseline: Option<i64>,
        noise: Option<f64>,
        iterations: i64,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let section = self.section(py, section)?;
        let fits_axis = fits_axis(self.engine(), axis).or_raise(py)?;
        let coordinates = buffer::copied(py, &coordinates)?;
        let model = model(py, components, limits, baseline, noise, iterations)?;
        let numbers = reported(py, threads, progress, |options| {
            self.engine().fit_gaussians(&model, fits_axis, &coordinates, &section, options)
        })?;
        let mut axes = shape(&section);
        axes.remove(axes.len() - 1 - fits_axis);
        numbers.into_iter().map(|values| shaped(py, values, &axes, place(self.engine()))).collect()
    }

    /// Fit a baseline to the spectrum of each pixel; return an array for each number, as `fit_gaussians`.
    #[pyo3(signature = (
        order, axis, coordinates, channels, section=None, *, noise=None, threads=0, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn fit_baseline<'py>(
        &self,
        py: Python<'py>,
        order: i64,
        axis: i64,
        coordinates: PyReadonlyArray1<'py, f64>,
        channels: PyReadonlyArray1<'py, bool>,
        section: Option<Ranges>,
        noise: Option<f64>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let section = self.section(py, section)?;
        let fits_axis = fits_axis(self.engine(), axis).or_raise(py)?;
        let coordinates = buffer::copied(py, &coordinates)?;
        let channels = buffer::copied(py, &channels)?;
        let baseline = Baseline::new(unknown_as_most(order), &coordinates, &channels);
        let numbers = reported(py, threads, progress, |options| {
            self.engine().fit_baseline(&baseline, fits_axis, noise, &section, options)
        })?;
        let mut axes = shape(&section);
        axes.remove(axes.len() - 1 - fits_axis);
        numbers.into_iter().map(|values| shaped(py, values, &axes, place(self.engine()))).collect()
    }

    /// Return the image minus the baseline of each spectrum; its pixels are computed on reading.
    fn subtract_baseline(
        &self,
        py: Python<'_>,
        order: i64,
        axis: i64,
        coordinates: PyReadonlyArray1<'_, f64>,
        channels: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<FitsFile> {
        let fits_axis = fits_axis(self.engine(), axis).or_raise(py)?;
        let coordinates = buffer::copied(py, &coordinates)?;
        let channels = buffer::copied(py, &channels)?;
        let baseline = Baseline::new(unknown_as_most(order), &coordinates, &channels);
        Ok(FitsFile::new(self.engine().subtract_baseline(&baseline, fits_axis).or_raise(py)?))
    }

    /// Return the image with NaN in the other channels; its pixels are computed on reading.
    fn with_channels(
        &self,
        py: Python<'_>,
        axis: i64,
        channels: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<FitsFile> {
        let fits_axis = fits_axis(self.engine(), axis).or_raise(py)?;
        let channels = buffer::copied(py, &channels)?;
        Ok(FitsFile::new(self.engine().with_channels(fits_axis, &channels).or_raise(py)?))
    }
}

/// Fit Gaussians and a baseline to consecutive spectra; return the numbers of `fit_gaussians`.
#[pyfunction]
#[pyo3(signature = (spectra, components, coordinates, limits, *, baseline=None, noise=None, iterations=100))]
#[expect(clippy::too_many_arguments, reason = "Python has them by name")]
pub(crate) fn fit_spectra<'py>(
    py: Python<'py>,
    spectra: PyReadonlyArray1<'py, f64>,
    components: i64,
    coordinates: PyReadonlyArray1<'py, f64>,
    limits: Limits,
    baseline: Option<i64>,
    noise: Option<f64>,
    iterations: i64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let model = model(py, components, limits, baseline, noise, iterations)?;
    let coordinates = buffer::copied(py, &coordinates)?;
    let spectra = buffer::copied(py, &spectra)?;
    let numbers = py.detach(|| tachyfits::fit::fit_gaussians(&model, &coordinates, &spectra));
    Ok(PyArray1::from_vec(py, numbers.or_raise(py)?))
}

fn model(
    py: Python<'_>,
    components: i64,
    limits: Limits,
    baseline: Option<i64>,
    noise: Option<f64>,
    iterations: i64,
) -> PyResult<GaussianModel> {
    let [amplitude, centre, sigma] = limits.map(|(low, high)| [low, high]);
    Ok(GaussianModel {
        components: unknown_as_most(components),
        baseline: baseline.map(unknown_as_most),
        limits: ParameterLimits { amplitude, centre, sigma },
        noise,
        iterations: not_negative(py, "iterations", iterations)?,
    })
}

/// Converts a number. A negative one becomes the largest, which is rejected like any number that is too large.
fn unknown_as_most(number: i64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
