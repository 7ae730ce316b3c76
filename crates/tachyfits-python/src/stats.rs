//! Statistics of a set of pixels: a state that can be merged and pickled bit for bit.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use tachyfits::statistics::{Common, Compensated, Extremum, Total, Unit};

use crate::errors::not_negative;
use crate::report::Report;
use crate::section::unravel;
use crate::text::GivenInteger;

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Stats>()?;
    module.add_function(wrap_pyfunction!(_stats_from_state, module)?)
}

/// Statistics of a set of pixels: a state that can be merged and pickled, bit for bit.
///
/// NaN and BLANK pixels are counted in ``nan`` and otherwise ignored. If no pixel is defined, the positions are None
/// and the numbers NaN. Two objects are equal if all bits of their states are.
///
/// Examples
/// --------
/// >>> import pickle
/// >>> from tachyfits import _core
/// >>> stats = _core.FitsFile.open("cube.fits").hdu(0).image().stats()[0]
/// >>> stats.count, stats.mean, stats.max_position
/// (60, 29.5, (2, 3, 4))
/// >>> pickle.loads(pickle.dumps(stats)) == stats
/// True
#[pyclass(frozen, module = "tachyfits")]
pub(crate) struct Stats {
    stats: tachyfits::Stats,
    /// Shape of the section, in NumPy order: positions are indices in it. None once sections of several shapes are
    /// merged.
    shape: Option<Vec<u64>>,
    /// None after merging or pickling.
    report: Option<tachyfits::Report>,
}

/// All fields, with floats as their bits.
#[derive(PartialEq, Eq, Hash, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct StatsState {
    count: u64,
    nan: u64,
    sum: (u64, u64, bool),
    center: (u64, u64),
    squares: (u64, u64),
    unit: u8,
    min: Option<(u64, u64)>,
    max: Option<(u64, u64)>,
    /// Common value of all defined pixels.
    common: Option<u64>,
    shape: Option<Vec<u64>>,
}

impl Stats {
    pub(crate) fn new(
        stats: tachyfits::Stats,
        shape: Vec<u64>,
        report: tachyfits::Report,
    ) -> Stats {
        Stats { stats, shape: Some(shape), report: Some(report) }
    }

    fn state(&self) -> StatsState {
        let bits = |sum: Compensated| (sum.high.to_bits(), sum.low.to_bits());
        let extreme = |at: Extremum| (at.value.to_bits(), at.position);
        let stats = &self.stats;
        StatsState {
            count: stats.count,
            nan: stats.nan,
            sum: (
                stats.sum.parts.high.to_bits(),
                stats.sum.parts.low.to_bits(),
                stats.sum.is_large,
            ),
            center: bits(stats.center),
            squares: bits(stats.squares),
            unit: stats.unit as u8,
            min: stats.min.map(extreme),
            max: stats.max.map(extreme),
            common: match stats.common {
                Common::Value(value) => Some(value.to_bits()),
                Common::Unknown | Common::Different => None,
            },
            shape: self.shape.clone(),
        }
    }

    fn position(&self, extreme: Option<Extremum>) -> Option<Vec<u64>> {
        let shape = self.shape.as_ref()?;
        extreme.map(|extreme| unravel(extreme.position, shape))
    }
}

/// Restore a pickled Stats.
#[pyfunction]
fn _stats_from_state(state: StatsState) -> Stats {
    let float = |(high, low)| Compensated { high: f64::from_bits(high), low: f64::from_bits(low) };
    let (sum_high, sum_low, sum_is_large) = state.sum;
    let extreme = |(value, position)| Extremum { value: f64::from_bits(value), position };
    let stats = tachyfits::Stats {
        count: state.count,
        nan: state.nan,
        sum: Total { parts: float((sum_high, sum_low)), is_large: sum_is_large },
        center: float(state.center),
        squares: float(state.squares),
        unit: match state.unit {
            0 => Unit::One,
            1 => Unit::Large,
            _ => Unit::Small,
        },
        min: state.min.map(extreme),
        max: state.max.map(extreme),
        common: match state.common {
            Some(bits) => Common::Value(f64::from_bits(bits)),
            None if state.count == 0 => Common::Unknown,
            None => Common::Different,
        },
    };
    Stats { stats, shape: state.shape, report: None }
}

#[pymethods]
impl Stats {
    /// Number of defined pixels.
    #[getter]
    fn count(&self) -> u64 {
        self.stats.count
    }

    /// Number of undefined pixels: NaN or BLANK.
    #[getter]
    fn nan(&self) -> u64 {
        self.stats.nan
    }

    /// Sum; NaN if no pixel is defined.
    #[getter]
    fn sum(&self) -> f64 {
        self.stats.total()
    }

    /// Sum over count.
    #[getter]
    fn mean(&self) -> f64 {
        self.stats.mean()
    }

    /// Root mean square about zero.
    #[getter]
    fn rms(&self) -> f64 {
        self.stats.rms()
    }

    /// Standard deviation about the mean, divisor count (ddof = 0).
    #[getter]
    fn std(&self) -> f64 {
        self.stats.std(0)
    }

    /// Smallest pixel.
    #[getter]
    fn min(&self) -> f64 {
        self.stats.min.map_or(f64::NAN, |extreme| extreme.value)
    }

    /// Largest pixel.
    #[getter]
    fn max(&self) -> f64 {
        self.stats.max.map_or(f64::NAN, |extreme| extreme.value)
    }

    /// NumPy index of the first of the smallest pixels, within the section; None without defined pixels, or after
    /// merging sections of several shapes.
    #[getter]
    fn min_position<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.position(self.stats.min).map(|index| PyTuple::new(py, index)).transpose()
    }

    /// NumPy index of the first of the largest pixels; as `min_position`.
    #[getter]
    fn max_position<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.position(self.stats.max).map(|index| PyTuple::new(py, index)).transpose()
    }

    /// Cost of the operation, shared by all its regions; None after merging or pickling.
    #[getter]
    fn report(&self) -> Option<Report> {
        self.report.map(Report::from)
    }

    /// Return the standard deviation about the mean with the divisor count - ddof; NaN if that is not positive.
    #[pyo3(signature = (ddof=GivenInteger(0)), text_signature = "($self, ddof=0)")]
    fn standard_deviation(&self, py: Python<'_>, ddof: GivenInteger) -> PyResult<f64> {
        Ok(self.stats.std(not_negative(py, "ddof", ddof.0)?))
    }

    /// Return the statistics by their names, as `Image.stats` lists them.
    ///
    /// Numbers have Python types; positions are tuples, or None if no pixel is defined.
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let names = [
            "count",
            "nan",
            "sum",
            "mean",
            "rms",
            "std",
            "min",
            "max",
            "min_position",
            "max_position",
        ];
        let dictionary = PyDict::new(slf.py());
        for name in names {
            dictionary.set_item(name, slf.getattr(name)?)?;
        }
        Ok(dictionary)
    }

    /// Return the state of these pixels followed by later ones.
    ///
    /// The order of merging affects the last bits. Of equal extremes the earlier one counts. A position is an index
    /// within the section of its pixel: it is kept if the sections have the same shape, and lost otherwise.
    fn merge(&self, later: &Stats) -> Stats {
        let mut stats = self.stats;
        stats.merge(&later.stats);
        let shape = self.shape.clone().filter(|_| self.shape == later.shape);
        Stats { stats, shape, report: None }
    }

    fn __eq__(&self, other: &Stats) -> bool {
        self.state() == other.state()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.state().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (StatsState,))> {
        Ok((py.import("tachyfits._core")?.getattr("_stats_from_state")?, (self.state(),)))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let mut parts = Vec::new();
        for name in ["count", "nan", "sum", "mean", "rms", "std", "min", "max"] {
            let value: Bound<'_, PyString> = slf.getattr(name)?.repr()?;
            parts.push(format!("{name}={value}"));
        }
        for name in ["min_position", "max_position"] {
            parts.push(format!("{name}={}", slf.getattr(name)?.repr()?));
        }
        Ok(format!("Stats({})", parts.join(", ")))
    }
}
