//! Order statistics: medians, deviations, percentiles, and the robust rms.

use std::sync::{Mutex, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use tachyfits::io::{IoError, without_permit};
use tachyfits::statistics::{OrderLimits, OrderStatistic, RankCounts, RankPass, statistics};
use tachyfits::{Reason, Values};

use crate::buffer::shaped;
use crate::errors::{OrRaise, argument, exception, not_negative, refused};
use crate::image::Image;
use crate::options;
use crate::progress::reported;
use crate::region::{Region, engine_regions};
use crate::section::{Ranges, fits_axes, place, shape};

/// "median", "mad", or a percentile.
#[derive(FromPyObject)]
enum Asked {
    Percentile(f64),
    Name(String),
}

#[pymethods]
impl Image {
    /// Reduce axes to order statistics, which are exact and ignore NaN and BLANK, with limited memory.
    #[pyo3(signature = (
        statistics, axes, section=None, *, regions=None, buffering="auto", threads=0, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn order<'py>(
        &self,
        py: Python<'py>,
        statistics: Vec<Asked>,
        axes: Vec<i64>,
        section: Option<Ranges>,
        regions: Option<Vec<Py<Region>>>,
        buffering: &str,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let image = self.engine();
        let statistics: PyResult<Vec<_>> =
            statistics.into_iter().map(|statistic| self.order_statistic(py, statistic)).collect();
        let statistics = statistics?;
        let axes = fits_axes(image, &axes).or_raise(py)?;
        let section = crate::section::section(image, section).or_raise(py)?;
        let regions = engine_regions(regions);
        let buffering = options::buffering(py, buffering)?;
        let mut reduced = reported(py, threads, progress, |run| {
            let run = run.buffering(buffering);
            image.order(&statistics, &axes, &section, regions.as_deref(), &run)
        })?;
        reduced.axes.reverse();
        let array = |values| match values {
            Values::Integers(values) => shaped(py, values, &reduced.axes, place(image)),
            Values::Floats(values) => shaped(py, values, &reduced.axes, place(image)),
        };
        reduced.values.into_iter().map(array).collect()
    }

    /// Return order statistics of all pixels, from passes that ``run`` gives to other processes.
    #[pyo3(signature = (
        statistics, section, parts, run, *, region=None, kept=None, threads=0, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn order_elsewhere(
        &self,
        py: Python<'_>,
        statistics: Vec<Asked>,
        section: Option<Ranges>,
        parts: i64,
        run: Py<PyAny>,
        region: Option<Py<Region>>,
        kept: Option<u64>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<f64>> {
        let image = self.engine();
        let statistics: PyResult<Vec<_>> =
            statistics.into_iter().map(|statistic| self.order_statistic(py, statistic)).collect();
        let statistics = statistics?;
        let parts: u64 = not_negative(py, "parts", parts)?;
        let section = crate::section::section(image, section).or_raise(py)?;
        let region = engine_regions(region.map(|region| vec![region]));
        let region = region.as_ref().map(|regions| &regions[0]);
        let mut limits = OrderLimits::default();
        limits.kept = kept.unwrap_or(limits.kept);
        let raised = Mutex::new(None);
        let run = |pass: &RankPass| {
            let outcome = without_permit(|| {
                Python::attach(|py| counts_of(py, pass, run.call1(py, (pass.to_words(),))?))
            });
            outcome.map_err(|error| {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                tachyfits::Error::from(IoError::Cancelled)
            })
        };
        let values = reported(py, threads, progress, |options| {
            image.order_elsewhere(&statistics, &section, region, &limits, (parts, &run), options)
        });
        match raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => values,
        }
    }

    /// Run a pass of `order_elsewhere` over a section; return the words of its result.
    #[pyo3(signature = (words, section=None, *, region=None, threads=0, progress=None))]
    fn count_ranks<'py>(
        &self,
        py: Python<'py>,
        words: Vec<u64>,
        section: Option<Ranges>,
        region: Option<Py<Region>>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let image = self.engine();
        let section = crate::section::section(image, section).or_raise(py)?;
        let region = engine_regions(region.map(|region| vec![region]));
        let region = region.as_ref().map(|regions| &regions[0]);
        let pass = RankPass::from_words(&words).ok_or_else(|| not_words(py))?;
        let counts = reported(py, threads, progress, |options| {
            image.count_ranks(&pass, &section, region, options)
        })?;
        let words = counts.to_words();
        let length = [words.len() as u64];
        shaped(py, words, &length, place(image))
    }

    /// Return the robust rms, the width of the noise in the histogram.
    #[pyo3(signature = (
        per_plane, section=None, *, repeat=1, buffering="auto", threads=0, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn robust_rms<'py>(
        &self,
        py: Python<'py>,
        per_plane: bool,
        section: Option<Ranges>,
        repeat: i64,
        buffering: &str,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let image = self.engine();
        let section = crate::section::section(image, section).or_raise(py)?;
        let repeat = not_negative(py, "repeat", repeat)?;
        let buffering = options::buffering(py, buffering)?;
        let values = reported(py, threads, progress, |run| {
            let run = run.buffering(buffering);
            image.robust_rms(per_plane, &section, repeat, &run)
        })?;
        let shape = shape(&section);
        let axes = if per_plane { &shape[..shape.len().saturating_sub(2)] } else { &[] };
        shaped(py, values, axes, place(image))
    }
}

/// Returns the results of the parts of a pass.
fn counts_of(py: Python<'_>, pass: &RankPass, parts: Py<PyAny>) -> PyResult<Vec<RankCounts>> {
    let parts: Vec<PyReadonlyArray1<'_, u64>> = parts.extract(py)?;
    let counts = parts.iter().map(|part| RankCounts::from_words(pass, part.as_slice().ok()?));
    counts.collect::<Option<_>>().ok_or_else(|| not_words(py))
}

fn not_words(py: Python<'_>) -> PyErr {
    argument(py, "words of a pass", "other words", "give those of `order_elsewhere`")
}

impl Image {
    fn order_statistic(&self, py: Python<'_>, statistic: Asked) -> PyResult<OrderStatistic> {
        match statistic {
            Asked::Percentile(percent) => Ok(OrderStatistic::Percentile(percent)),
            Asked::Name(name) if name == "count" => Ok(OrderStatistic::Count),
            Asked::Name(name) => OrderStatistic::of_name(&name).ok_or_else(|| {
                let names = statistics().filter(|facts| facts.is_order).map(|facts| facts.name);
                let names: Vec<_> = names.collect();
                let expected = format!("{} or a percentile", names.join(", "));
                let found = format!("{name:?}");
                exception(py, &refused(Reason::Percentile, place(self.engine()), expected, found))
            }),
        }
    }
}
