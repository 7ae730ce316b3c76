//! Histograms: counts that merge and pickle.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use tachyfits::statistics::HistogramRange;
use tachyfits::{Error, Reason};
use tachyfits_memory::{self as memory, NoMemory};

use crate::buffer;
use crate::errors::{OrRaise, refused};

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Histogram>()?;
    module.add_function(wrap_pyfunction!(_histogram_from_state, module)?)
}

/// Counts in equal bins over [low, high], both ends included. Can be merged and pickled.
///
/// Bin i contains edges[i] <= x < edges[i + 1], the last one also its upper edge, as in NumPy.
#[pyclass(frozen, module = "tachyfits")]
pub(crate) struct Histogram(pub(crate) tachyfits::statistics::Histogram);

/// Pickled state: the bits of low and high, the counts of the bins, and the counts below, above and undefined.
type State<'py> = (u64, u64, Bound<'py, PyArray1<u64>>, [u64; 3]);

/// Restore a pickled Histogram.
#[pyfunction]
fn _histogram_from_state(
    py: Python<'_>,
    low: u64,
    high: u64,
    counts: PyReadonlyArray1<'_, u64>,
    rest: [u64; 3],
) -> PyResult<Histogram> {
    let counts = buffer::copied(py, &counts)?;
    let (low, high) = (f64::from_bits(low), f64::from_bits(high));
    let short = |_| NoMemory::of::<[u64; 8]>(counts.len(), "the histogram");
    let short = |error| Error::from(short(error));
    let range = HistogramRange::new(low, high, counts.len()).map_err(short).or_raise(py)?;
    let of_range = |range| tachyfits::statistics::Histogram::from_counts(range, &counts, rest);
    let histogram = range.map(of_range).transpose().map_err(short).or_raise(py)?.flatten();
    let refusal = || {
        let found = format!("{} bins from {low} to {high}", counts.len());
        refused(Reason::HistogramRange, ("", None), "low < high, both finite, and bins", found)
    };
    Ok(Histogram(histogram.ok_or_else(refusal).or_raise(py)?))
}

#[pymethods]
impl Histogram {
    /// Pixels in each bin: uint64.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let counts = memory::collected(self.0.counts(), "the counts of a histogram");
        Ok(PyArray1::from_vec(py, counts.map_err(Error::from).or_raise(py)?))
    }

    /// Edges of the bins, one more than bins, in the unit of the pixels: float64.
    #[getter]
    fn edges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let edges = memory::copied(self.0.range().edges(), "the edges of a histogram");
        Ok(PyArray1::from_vec(py, edges.map_err(Error::from).or_raise(py)?))
    }

    /// Number of pixels below the first bin.
    #[getter]
    fn below(&self) -> u64 {
        self.0.below()
    }

    /// Number of pixels above the last bin.
    #[getter]
    fn above(&self) -> u64 {
        self.0.above()
    }

    /// Number of undefined pixels: NaN or BLANK.
    #[getter]
    fn nan(&self) -> u64 {
        self.0.nan()
    }

    /// Return the sum of two histograms over the same bins; UsageError if the bins differ.
    fn merge(&self, py: Python<'_>, later: &Histogram) -> PyResult<Histogram> {
        let mut merged = self.0.clone();
        if merged.merge(&later.0) {
            return Ok(Histogram(merged));
        }
        let (expected, found) = (format!("a histogram of {}", self.words()), later.words());
        let refusal = refused(Reason::HistogramRange, ("", None), expected, found);
        Err(refusal).or_raise(py)
    }

    fn __eq__(&self, other: &Histogram) -> bool {
        let same_bins = self.0.range() == other.0.range();
        same_bins && self.rest() == other.rest() && self.0.counts().eq(other.0.counts())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, State<'py>)> {
        let edges = self.0.range().edges();
        let ends = [edges[0], edges[edges.len() - 1]].map(f64::to_bits);
        let make = py.import("tachyfits._core")?.getattr("_histogram_from_state")?;
        Ok((make, (ends[0], ends[1], self.counts(py)?, self.rest())))
    }

    fn __repr__(&self) -> String {
        let inside: u64 = self.0.counts().sum();
        let [below, above, nan] = self.rest();
        let words = self.words();
        format!("<Histogram {words}: {inside} inside, {below} below, {above} above, {nan} nan>")
    }
}

impl Histogram {
    /// Returns the counts outside of the bins: below, above, undefined.
    fn rest(&self) -> [u64; 3] {
        [self.0.below(), self.0.above(), self.0.nan()]
    }

    fn words(&self) -> String {
        let (range, edges) = (self.0.range(), self.0.range().edges());
        format!("{} bins from {:?} to {:?}", range.bins(), edges[0], edges[range.bins()])
    }
}
