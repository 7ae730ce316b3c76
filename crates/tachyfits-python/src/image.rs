//! The pixels of one HDU: reading and reducing them.

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use tachyfits::{
    ChannelBeam, Error, OutputPixels, ReadAs, Reason, RunOptions, Section, Statistic, Values,
};

use crate::buffer::{self, shaped};
use crate::errors::{OrRaise, exception, not_negative, refused};
use crate::histogram::Histogram;
use crate::progress::{self, reported, reported_at_once};
use crate::region::{Region, engine_regions};
use crate::section::{Ranges, fits_axes, indexed, place, section, shape};
use crate::stats::Stats;

/// Channel, polarisation, major and minor axis, position angle.
type BeamRow = (u64, Option<u64>, f64, f64, f64);

/// Pixels of one HDU, read on request.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct Image {
    image: tachyfits::Image,
}

impl Image {
    pub(crate) fn new(image: tachyfits::Image) -> Image {
        Image { image }
    }

    pub(crate) fn engine(&self) -> &tachyfits::Image {
        &self.image
    }

    pub(crate) fn section(&self, py: Python<'_>, ranges: Option<Ranges>) -> PyResult<Section> {
        section(&self.image, ranges).or_raise(py)
    }

    /// Reads a section to an array of a shape, which may omit axes of length 1.
    fn read_section<'py>(
        &self,
        py: Python<'py>,
        section: &Section,
        read: ReadAs,
        shape: &[u64],
        out: Option<Bound<'py, PyUntypedArray>>,
        (threads, progress): (i64, Option<Py<PyAny>>),
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let pixel = self.image.read_type(read).or_raise(py)?;
        if section.pixels() > self.image.layout().pixels_present {
            // No array is allocated for more pixels than the file has; any operation reports the missing ones.
            progress::run(py, 0, None, |options| self.image.total(section, options))?;
        }
        let place = place(&self.image);
        let at_once = progress.is_none()
            && read == self.image.default_read()
            && self.image.reads_at_once(section);
        let fill = |pixels: OutputPixels<'_>| {
            let operation = |options: &RunOptions<'_>| {
                Ok(((), self.image.read(section, read, pixels, options)?))
            };
            match at_once {
                true => reported_at_once(py, threads, operation),
                false => reported(py, threads, progress, operation),
            }
        };
        match out {
            None => buffer::filled(py, pixel, shape, place, fill),
            Some(out) => {
                buffer::fill_out(py, &out, pixel, shape, place, fill)?;
                Ok(out)
            }
        }
    }

    /// Returns the type for reading pixels.
    fn read_as(&self, py: Python<'_>, dtype: Option<&str>) -> PyResult<ReadAs> {
        match dtype {
            None => Ok(self.image.default_read()),
            Some("float32") => Ok(ReadAs::Float32),
            Some("float64") => Ok(ReadAs::Float64),
            Some("exact") => Ok(ReadAs::Exact),
            Some("raw") => Ok(ReadAs::Raw),
            Some(other) => {
                let expected = "a dtype of \"float32\", \"float64\", \"exact\", \"raw\" or None";
                let place = place(&self.image);
                let refusal = refused(Reason::PixelKind, place, expected, format!("{other:?}"));
                Err(exception(py, &refusal))
            }
        }
    }
}

#[pymethods]
impl Image {
    /// Lengths of the axes in NumPy order.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, shape(&self.image.whole()))
    }

    /// BITPIX: 8, 16, 32, 64 for integers, -32 and -64 for floats.
    #[getter]
    fn bitpix(&self) -> i64 {
        self.image.layout().stored.bitpix()
    }

    /// BSCALE; 1.0 without one.
    #[getter]
    fn bscale(&self) -> f64 {
        self.image.layout().scale
    }

    /// BZERO; 0.0 without one.
    #[getter]
    fn bzero(&self) -> f64 {
        self.image.layout().zero
    }

    /// BLANK: the stored value that means undefined; None without one.
    #[getter]
    fn blank(&self) -> Option<i64> {
        self.image.layout().blank
    }

    /// BUNIT; None without one.
    #[getter]
    fn unit(&self) -> Option<&str> {
        self.image.layout().unit.as_deref()
    }

    /// Return the rows of the table BEAMS that belongs to the image.
    fn beams(&self, py: Python<'_>) -> PyResult<Option<Vec<BeamRow>>> {
        let channel_beams = py.detach(|| self.image.channel_beams()).or_raise(py)?;
        let row = |b: ChannelBeam| (b.channel, b.polarisation, b.major, b.minor, b.angle);
        Ok(channel_beams.map(|beams| beams.into_iter().map(row).collect()))
    }

    /// Return the bytes of the tables that `write` puts after the image; empty without any.
    fn companion_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.image.companion_bytes()).or_raise(py)?;
        buffer::bytes(py, &bytes)
    }

    /// Return a file with the table of coordinates of a computed image; None if it has none.
    fn coordinate_table<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        version: i64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let table_file = self.image.coordinate_table(name, version).or_raise(py)?;
        table_file.map(|table| buffer::bytes(py, &table)).transpose()
    }

    /// Default type of `read`, as named by NumPy: float64 if the pixels are scaled or may be BLANK.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<&'static str> {
        if self.image.is_logical() {
            return Ok("bool");
        }
        let pixel = self.image.read_type(self.image.default_read()).or_raise(py)?;
        Ok(buffer::name(pixel))
    }

    /// Type in the file, as named by NumPy.
    #[getter]
    fn stored_dtype(&self) -> &'static str {
        buffer::name(self.image.stored_type())
    }

    /// Read pixels into a native-endian array in C order.
    #[pyo3(signature = (section=None, *, dtype=None, out=None, threads=0, progress=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        section: Option<Ranges>,
        dtype: Option<&str>,
        out: Option<Bound<'py, PyUntypedArray>>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let section = self.section(py, section)?;
        let read_as = self.read_as(py, dtype)?;
        let shape = shape(&section);
        self.read_section(py, &section, read_as, &shape, out, (threads, progress))
    }

    /// Return the pixels of a NumPy index of integers, slices and an Ellipsis, with the default type.
    #[pyo3(signature = (index, threads=0))]
    fn indexed<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
        threads: i64,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.image.is_logical() {
            return Ok(None);
        }
        let Some(indexed) = indexed(index, self.image.axes()) else { return Ok(None) };
        let section = self.image.section(&indexed.ranges).or_raise(py)?;
        let (read_as, shape) = (self.image.default_read(), &indexed.shape);
        let pixels = self.read_section(py, &section, read_as, shape, None, (threads, None))?;
        // An array without axes becomes a NumPy scalar.
        let pixels =
            if shape.is_empty() { pixels.get_item(PyTuple::empty(py))? } else { pixels.into_any() };
        Ok(Some(pixels))
    }

    /// Return the full statistics of a section, or of each region in every plane of it: a list of `Stats`.
    #[pyo3(signature = (section=None, *, regions=None, threads=0, progress=None))]
    fn stats(
        &self,
        py: Python<'_>,
        section: Option<Ranges>,
        regions: Option<Vec<Py<Region>>>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Stats>> {
        let section = self.section(py, section)?;
        let regions = engine_regions(regions);
        let (states, report) = reported(py, threads, progress, |options| {
            let (states, report) = self.image.stats(&section, regions.as_deref(), options)?;
            Ok(((states, report), report))
        })?;
        Ok(states.into_iter().map(|state| Stats::new(state, shape(&section), report)).collect())
    }

    /// Return (number of defined pixels, their sum): the cheapest pass over a section.
    #[pyo3(signature = (section=None, *, threads=0, progress=None))]
    fn total(
        &self,
        py: Python<'_>,
        section: Option<Ranges>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, f64)> {
        let section = self.section(py, section)?;
        let sum = reported(py, threads, progress, |options| self.image.total(&section, options))?;
        Ok((sum.count, sum.sum.value()))
    }

    /// Reduce axes to statistics.
    #[pyo3(signature = (statistics, axes, section=None, *, regions=None, ddof=0, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn reduce<'py>(
        &self,
        py: Python<'py>,
        statistics: Vec<String>,
        axes: Vec<i64>,
        section: Option<Ranges>,
        regions: Option<Vec<Py<Region>>>,
        ddof: i64,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let parsed: Result<Vec<Statistic>, _> =
            statistics.iter().map(|name| name.parse()).collect();
        let parsed = parsed.map_err(Error::from).or_raise(py)?;
        let axes = fits_axes(&self.image, &axes).or_raise(py)?;
        let section = self.section(py, section)?;
        let (regions, ddof) = (engine_regions(regions), not_negative(py, "ddof", ddof)?);
        let mut reduced = reported(py, threads, progress, |options| {
            self.image.reduce(&parsed, &axes, &section, regions.as_deref(), ddof, options)
        })?;
        reduced.axes.reverse();
        let arrays = PyDict::new(py);
        for (name, values) in statistics.iter().zip(reduced.values) {
            let place = place(&self.image);
            let array = match values {
                Values::Integers(values) => shaped(py, values, &reduced.axes, place)?,
                Values::Floats(values) => shaped(py, values, &reduced.axes, place)?,
            };
            arrays.set_item(name, array)?;
        }
        Ok(arrays)
    }

    /// Sum the pixels of each region along axes, weighted by the share inside; return the sums and those of the shares.
    #[pyo3(signature = (axes, section=None, *, regions, threads=0, progress=None))]
    fn weighted<'py>(
        &self,
        py: Python<'py>,
        axes: Vec<i64>,
        section: Option<Ranges>,
        regions: Vec<Py<Region>>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let axes = fits_axes(&self.image, &axes).or_raise(py)?;
        let section = self.section(py, section)?;
        let regions = engine_regions(Some(regions)).unwrap_or_default();
        let mut weighted = reported(py, threads, progress, |options| {
            self.image.weighted(&axes, &section, &regions, options)
        })?;
        weighted.axes.reverse();
        let place = || place(&self.image);
        Ok((
            shaped(py, weighted.sums, &weighted.axes, place())?,
            shaped(py, weighted.shares, &weighted.axes, place())?,
        ))
    }

    /// Count the pixels of a section in equal bins over [low, high].
    #[pyo3(signature = (low, high, bins, section=None, *, regions=None, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn histogram(
        &self,
        py: Python<'_>,
        low: f64,
        high: f64,
        bins: i64,
        section: Option<Ranges>,
        regions: Option<Vec<Py<Region>>>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Histogram> {
        let section = self.section(py, section)?;
        let regions = engine_regions(regions);
        // A negative number of bins is rejected like 0.
        let bins = usize::try_from(bins).unwrap_or(0);
        let histogram = reported(py, threads, progress, |options| {
            self.image.histogram((low, high), bins, &section, regions.as_deref(), options)
        })?;
        Ok(Histogram(histogram))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (image, unit) = (&self.image, &self.image.layout().unit);
        let unit = unit.as_ref().map(|unit| format!(" [{unit}]")).unwrap_or_default();
        let (shape, dtype) = (buffer::tuple(&shape(&image.whole())), self.dtype(py)?);
        let (file, hdu) = (image.file_name(), image.hdu().index);
        Ok(format!("<Image {shape} {dtype}{unit}, HDU {hdu} of {file:?}>"))
    }
}
