//! Order statistics: medians, deviations, percentiles, and the robust rms.

use pyo3::prelude::*;
use tachyfits::statistics::{OrderStatistic, statistics};
use tachyfits::{Reason, Values};

use crate::buffer::shaped;
use crate::errors::{OrRaise, exception, not_negative, refused};
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

    /// Return the two ranks, from 0, from which an order statistic of `count` values is interpolated.
    fn order_ranks(&self, py: Python<'_>, statistic: Asked, count: i64) -> PyResult<(u64, u64)> {
        let statistic = self.order_statistic(py, statistic)?;
        let count: u64 = not_negative(py, "count", count)?;
        let [low, high] = statistic.ranks(count.max(1));
        Ok((low, high))
    }

    /// Return an order statistic of `count` values from the values of its two ranks.
    fn order_value(
        &self,
        py: Python<'_>,
        statistic: Asked,
        count: i64,
        low: f64,
        high: f64,
    ) -> PyResult<f64> {
        let statistic = self.order_statistic(py, statistic)?;
        let count: u64 = not_negative(py, "count", count)?;
        Ok(statistic.value(count.max(1), [low, high]))
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
