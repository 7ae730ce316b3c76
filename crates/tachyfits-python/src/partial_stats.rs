//! Statistics computed by several processes: states of runs of pixels as arrays of numbers, for transfer between
//! processes.

use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use tachyfits::statistics::{Common, Compensated, Extremum, Total, Unit};
use tachyfits_memory as memory;

use crate::buffer::zeros;
use crate::errors::{OrRaise, argument, not_negative};
use crate::image::Image;
use crate::progress::reported;
use crate::region::{Region, engine_regions};
use crate::section::{Ranges, fits_axes, shape};
use crate::stats::Stats;

/// Words of a state: the number of its region, then the fields of the state, with floats as their bits.
const WORDS: usize = 15;

fn words(region: u64, stats: &tachyfits::Stats) -> [u64; WORDS] {
    let extremum =
        |of: Option<Extremum>| of.map_or([0; 3], |of| [1, of.value.to_bits(), of.position]);
    let (min, max) = (extremum(stats.min), extremum(stats.max));
    let (common, value) = match stats.common {
        Common::Unknown => (0, 0),
        Common::Different => (1, 0),
        Common::Value(value) => (2, value.to_bits()),
    };
    let flags = u64::from(stats.sum.is_large)
        | (stats.unit as u64) << 8
        | min[0] << 16
        | max[0] << 24
        | common << 32;
    let high_low = |sum: Compensated| [sum.high.to_bits(), sum.low.to_bits()];
    let ([sum, sum_low], [center, center_low], [squares, squares_low]) =
        (high_low(stats.sum.parts), high_low(stats.center), high_low(stats.squares));
    [
        region,
        stats.count,
        stats.nan,
        flags,
        sum,
        sum_low,
        center,
        center_low,
        squares,
        squares_low,
        min[1],
        min[2],
        max[1],
        max[2],
        value,
    ]
}

/// Returns the region and the state encoded in words; `None` unless [`words`] could have written them.
fn state(words: &[u64]) -> Option<(u64, tachyfits::Stats)> {
    let words: &[u64; WORDS] = words.try_into().ok()?;
    let flag = |place: u32| (words[3] >> place) & 0xff;
    let sum = |place: usize| Compensated {
        high: f64::from_bits(words[place]),
        low: f64::from_bits(words[place + 1]),
    };
    let extremum = |is_there: u64, place: usize| {
        let value = f64::from_bits(words[place]);
        (is_there == 1).then_some(Extremum { value, position: words[place + 1] })
    };
    let stats = tachyfits::Stats {
        count: words[1],
        nan: words[2],
        sum: Total { parts: sum(4), is_large: flag(0) == 1 },
        center: sum(6),
        squares: sum(8),
        unit: match flag(8) {
            0 => Unit::One,
            1 => Unit::Large,
            2 => Unit::Small,
            _ => return None,
        },
        min: extremum(flag(16), 10),
        max: extremum(flag(24), 12),
        common: match flag(32) {
            0 => Common::Unknown,
            1 => Common::Different,
            2 => Common::Value(f64::from_bits(words[14])),
            _ => return None,
        },
    };
    Some((words[0], stats))
}

#[pymethods]
impl Image {
    /// Return the number of tasks of `stats`, for `partial_stats`.
    #[pyo3(signature = (section=None, *, regions=None))]
    fn stats_tasks(
        &self,
        py: Python<'_>,
        section: Option<Ranges>,
        regions: Option<Vec<Py<Region>>>,
    ) -> PyResult<u64> {
        let section = self.section(py, section)?;
        let regions = engine_regions(regions);
        let options = tachyfits::RunOptions::default();
        self.engine().stats_tasks(&section, regions.as_deref(), &options).or_raise(py)
    }

    /// Return the length along a kept axis that a part needs to give the same sums as the whole; NumPy axis order.
    #[pyo3(signature = (axes, axis, section=None))]
    fn least_part(
        &self,
        py: Python<'_>,
        axes: Vec<i64>,
        axis: i64,
        section: Option<Ranges>,
    ) -> PyResult<u64> {
        let section = self.section(py, section)?;
        let fits_axis = fits_axes(self.engine(), &[axis]).or_raise(py)?[0];
        let reduced = fits_axes(self.engine(), &axes).or_raise(py)?;
        self.engine().least_part(&reduced, &section, fits_axis).or_raise(py)
    }

    /// Return the states of the tasks ``first`` to before ``end`` of `stats`, for `merged_stats`.
    #[pyo3(signature = (first, end, section=None, *, regions=None, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments)]
    fn partial_stats<'py>(
        &self,
        py: Python<'py>,
        first: i64,
        end: i64,
        section: Option<Ranges>,
        regions: Option<Vec<Py<Region>>>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<u64>>> {
        let tasks = not_negative(py, "first", first)?..not_negative(py, "end", end)?;
        let section = self.section(py, section)?;
        let regions = engine_regions(regions);
        let states = reported(py, threads, progress, |options| {
            self.engine().partial_stats(&section, regions.as_deref(), tasks, options)
        })?;
        let array = zeros::<u64>(py, &[states.len() as u64, WORDS as u64], ("", None))?;
        let mut borrowed = array.readwrite();
        for (row, (region, stats)) in borrowed.as_slice_mut()?.chunks_exact_mut(WORDS).zip(&states)
        {
            row.copy_from_slice(&words(*region, stats));
        }
        Ok(array.clone())
    }

    /// Return the statistics of all parts from `partial_stats`, in order: the same as `stats`.
    #[pyo3(signature = (parts, section=None, *, regions=None))]
    fn merged_stats(
        &self,
        py: Python<'_>,
        parts: Vec<PyReadonlyArray2<'_, u64>>,
        section: Option<Ranges>,
        regions: Option<usize>,
    ) -> PyResult<Vec<Stats>> {
        let section = self.section(py, section)?;
        let empty = tachyfits::Stats::default();
        let merged = memory::filled(regions.unwrap_or(1), empty, "the statistics of regions");
        let mut merged = merged.map_err(tachyfits::Error::from).or_raise(py)?;
        for part in &parts {
            for row in part.as_array().rows() {
                let region_and_stats = row
                    .to_slice()
                    .and_then(state)
                    .filter(|(region, _)| *region < merged.len() as u64);
                let (region, stats) = region_and_stats.ok_or_else(|| {
                    argument(
                        py,
                        "states of partial_stats",
                        "other words",
                        "give its arrays, C-ordered",
                    )
                })?;
                merged[region as usize].merge(&stats);
            }
        }
        let report = tachyfits::Report::default();
        Ok(merged.into_iter().map(|stats| Stats::new(stats, shape(&section), report)).collect())
    }
}
