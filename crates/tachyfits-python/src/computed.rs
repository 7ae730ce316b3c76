//! Images that are computed on reading, and arrays as files in memory.

use std::path::PathBuf;

use numpy::{PyArray1, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use tachyfits::smooth::{BeamSmoothing, PlaneKernel, PlaneSmoothing, Smoothing, SmoothingKernel};
use tachyfits::{Array, Chunks, NewPixels, PixelType, Reason};

use crate::buffer::{self, Place};
use crate::errors::{OrRaise, argument, exception, refused};
use crate::file::FitsFile;
use crate::header::{Cards, engine_header};
use crate::image::Image;
use crate::options;
use crate::section::fits_axis;
use crate::text::GivenText;

#[pymethods]
impl Image {
    /// Return the image smoothed along an axis, as a file in memory whose pixels are computed on reading.
    #[pyo3(signature = (axis, weights, *, edge="repeat", blanks="renormalise", fill=false, every=1))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn smooth(
        &self,
        py: Python<'_>,
        axis: i64,
        weights: PyReadonlyArray1<'_, f64>,
        edge: &str,
        blanks: &str,
        fill: bool,
        every: u64,
    ) -> PyResult<FitsFile> {
        let image = self.engine();
        let (edge, blanks) = (options::edge(py, edge)?, options::blanks(py, blanks)?);
        let axis = fits_axis(image, axis).or_raise(py)?;
        let weights = buffer::copied(py, &weights)?;
        let smoothing =
            Smoothing::new(axis, weights).edge(edge).blanks(blanks).fill(fill).every(every);
        Ok(FitsFile::new(image.smooth(&smoothing).or_raise(py)?))
    }

    /// Return the planes of NAXIS1 and NAXIS2 smoothed with the product of weights along x and weights along y.
    #[pyo3(signature = (x, y, *, edge="repeat", blanks="renormalise", fill=false, axes=Vec::new(), scales=vec![1.0]),
           text_signature = "($self, x, y, *, edge='repeat', blanks='renormalise', fill=False, axes=(), scales=[1.0])")]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn smooth_planes(
        &self,
        py: Python<'_>,
        x: PyReadonlyArray1<'_, f64>,
        y: PyReadonlyArray1<'_, f64>,
        edge: &str,
        blanks: &str,
        fill: bool,
        axes: Vec<i64>,
        scales: Vec<f64>,
    ) -> PyResult<FitsFile> {
        let (edge, blanks) = (options::edge(py, edge)?, options::blanks(py, blanks)?);
        let axes = varying_axes(self.engine(), &axes).or_raise(py)?;
        let (x, y) = (buffer::copied(py, &x)?, buffer::copied(py, &y)?);
        let smoothing = PlaneSmoothing::new(x, y)
            .axes(axes)
            .edge(edge)
            .blanks(blanks)
            .fill(fill)
            .scales(scales);
        Ok(FitsFile::new(self.engine().smooth_planes(&smoothing).or_raise(py)?))
    }

    /// Return the planes of NAXIS1 and NAXIS2 smoothed with Gaussians; the other options are those of `smooth`.
    #[pyo3(signature = (axes, widths, scales, *, edge="repeat", blanks="renormalise", fill=false))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn smooth_beams(
        &self,
        py: Python<'_>,
        axes: Vec<i64>,
        widths: Vec<[f64; 3]>,
        scales: Vec<f64>,
        edge: &str,
        blanks: &str,
        fill: bool,
    ) -> PyResult<FitsFile> {
        let image = self.engine();
        let (edge, blanks) = (options::edge(py, edge)?, options::blanks(py, blanks)?);
        let axes = varying_axes(image, &axes).or_raise(py)?;
        let kernels = widths.into_iter().zip(scales);
        let kernels = kernels.map(|(widths, scale)| PlaneKernel { widths, scale }).collect();
        let smoothing = BeamSmoothing::new(axes, kernels).edge(edge).blanks(blanks).fill(fill);
        Ok(FitsFile::new(py.detach(|| image.smooth_beams(&smoothing)).or_raise(py)?))
    }

    /// Return the same pixels with other beams in the rows of the table BEAMS, in the order of `beams`.
    fn with_channel_beams(&self, py: Python<'_>, beams: Vec<[f64; 3]>) -> PyResult<FitsFile> {
        Ok(FitsFile::new(self.engine().with_channel_beams(&beams).or_raise(py)?))
    }

    /// Return the same pixels with other cards.
    #[pyo3(signature = (cards, removed=Vec::new()), text_signature = "($self, cards, removed=())")]
    fn with_cards(
        &self,
        py: Python<'_>,
        cards: Cards<'_>,
        removed: Vec<GivenText>,
    ) -> PyResult<FitsFile> {
        let new_header = engine_header(py, cards)?;
        let file = self.engine().with_header(|header| {
            for keyword in &removed {
                header.remove(keyword);
            }
            for card in new_header.cards() {
                header.set_card(card.clone());
            }
            Ok(())
        });
        Ok(FitsFile::new(file.or_raise(py)?))
    }
}

/// Return the weights of "hanning", "boxcar" or "gaussian": float64 with the sum 1.
#[pyfunction]
#[pyo3(signature = (kernel, width=None))]
pub(crate) fn smoothing_weights<'py>(
    py: Python<'py>,
    kernel: GivenText,
    width: Option<f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let kernel = match (&*kernel, width) {
        ("hanning", None) => SmoothingKernel::Hanning,
        ("boxcar", Some(width)) if width.fract() == 0.0 => SmoothingKernel::Boxcar(width as usize),
        ("gaussian", Some(width)) => SmoothingKernel::Gaussian(width),
        _ => {
            let found = match width {
                Some(width) => format!("{:?} with width {width}", &*kernel),
                None => format!("{:?} without a width", &*kernel),
            };
            let expected = "\"hanning\" without a width, \"boxcar\" with a whole one, or \
                            \"gaussian\" with one";
            let hint =
                "give a boxcar its number of pixels, a Gaussian its full width at half maximum";
            return Err(argument(py, expected, &found, hint));
        }
    };
    Ok(PyArray1::from_vec(py, kernel.weights().or_raise(py)?))
}

/// Returns the pixel type with a NumPy name.
fn pixel_type(py: Python<'_>, dtype: &str, place: Place<'_>) -> PyResult<PixelType> {
    let found = PixelType::ALL.into_iter().find(|&pixel| buffer::name(pixel) == dtype);
    found.ok_or_else(|| {
        let names: Vec<_> = PixelType::ALL.into_iter().map(buffer::name).collect();
        let expected = format!("pixels of {}", names.join(", "));
        exception(py, &refused(Reason::NewPixels, place, expected, format!("{dtype:?}")))
    })
}

/// Returns the encoding of new pixels; without a type, the encoding of the image.
pub(crate) fn new_pixels(
    py: Python<'_>,
    pixel: Option<&str>,
    scaling: Option<(f64, f64)>,
    blank: Option<i64>,
    stored: PixelType,
    place: Place<'_>,
) -> PyResult<Option<NewPixels>> {
    if pixel.is_none() && scaling.is_none() && blank.is_none() {
        return Ok(None);
    }
    let pixel = pixel.map_or(Ok(stored), |name| pixel_type(py, name, place))?;
    Ok(Some(NewPixels::new(pixel).scaling(scaling).blank(blank)))
}

/// Return an array as a FITS file in memory: a copy, big-endian.
#[pyfunction]
#[pyo3(signature = (array, cards, *, name="<array>"))]
pub(crate) fn array_file(
    py: Python<'_>,
    array: &Bound<'_, PyUntypedArray>,
    cards: Cards<'_>,
    name: &str,
) -> PyResult<FitsFile> {
    let header = engine_header(py, cards)?;
    let axes = fits_lengths(array);
    let mut file = None;
    buffer::with_bytes(py, array, (name, None), |bytes, pixel| {
        let array = Array { bytes, pixel, axes: &axes };
        file = Some(py.detach(|| array.to_file(name, &header)).or_raise(py)?);
        Ok(())
    })?;
    Ok(FitsFile::new(file.expect("the bytes of an array are handed over once")))
}

/// Return the image whose pixels are in chunk files, as a FITS file.
#[pyfunction]
#[pyo3(signature = (folder, shape, chunk, pixel, cards, *, name))]
pub(crate) fn chunks_file(
    py: Python<'_>,
    folder: PathBuf,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    pixel: &str,
    cards: Cards<'_>,
    name: &str,
) -> PyResult<FitsFile> {
    let header = engine_header(py, cards)?;
    let pixel = pixel_type(py, pixel, (name, None))?;
    let in_fits = |lengths: Vec<u64>| lengths.into_iter().rev().collect::<Vec<u64>>();
    let (axes, chunk) = (in_fits(shape), in_fits(chunk));
    let chunks = Chunks::new(&folder, &axes, &chunk, pixel);
    Ok(FitsFile::new(chunks.to_file(name, &header).or_raise(py)?))
}

/// Returns the FITS numbers, from 0, of NumPy axes, the last one first because it varies fastest.
fn varying_axes(image: &tachyfits::Image, axes: &[i64]) -> Result<Vec<usize>, tachyfits::Error> {
    axes.iter().rev().map(|&axis| fits_axis(image, axis)).collect()
}

/// Returns the lengths of the axes in FITS order.
fn fits_lengths(array: &Bound<'_, PyUntypedArray>) -> Vec<u64> {
    array.shape().iter().rev().map(|&length| length as u64).collect()
}
