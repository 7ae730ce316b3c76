//! Order statistics: exact medians, median absolute deviations and percentiles of whole images, of regions,
//! and along any axes, in bounded memory.
//!
//! Outputs of few pixels are gathered in memory (`output_tiles`). Outputs of many pixels are read repeatedly
//! until the value is determined (`stream`); after sampling, one pass is usually enough. Zeros compare equal;
//! the result is 0.0.

mod cuts;
mod limits;
mod passes;
mod rank;
mod rank_pass;
mod sample;
mod select;
mod stream;

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{Encoding, Tier, decode_f64};
use tachyfits_memory::{self as memory, NoMemory};

pub(crate) use passes::Passes;
pub use rank::OrderStatistic;
use rank::Selection;
pub use rank_pass::{RankCounts, RankPass};
pub(crate) use select::sort;
pub use stream::RunPass;
use stream::{Elsewhere, Population};

use crate::error::{Error, Reason};
use crate::grid::Grid;
use crate::image::{Image, filled, tier};
use crate::line_fold::{LeafRows, LineFold, fold_tasks};
use crate::output_tiles::{OutputOperation, push_outputs};
use crate::reduce::Reduced;
use crate::region::Region;
use crate::section::{AxisRange, Section};
use crate::statistic::Values;
pub use limits::OrderLimits;

/// Number of pixels that one thread processes faster than it takes to start others.
const ALONE_PIXELS: u64 = 1 << 16;

/// Maximum number of statistics per request: percentiles in steps of 0.01.
const MOST_STATISTICS: usize = 10_000;

impl Image {
    /// Reduces axes (0 is NAXIS1) to order statistics of the physical values, ignoring NaN and BLANK. Results
    /// are exact, in bounded memory. Axes, sections, regions and the shape of the result are the same as for
    /// [`Image::reduce`]. If no pixel is defined, all results are NaN.
    ///
    /// ```
    /// use tachyfits::{Array, Header, RunOptions, Values};
    /// use tachyfits::statistics::OrderStatistic;
    /// // 3 by 2 pixels: 1 2 3 and 4 5 60.
    /// let image = Array::new(&[1u8, 2, 3, 4, 5, 60], &[3, 2]).to_file("example", &Header::new())?.image(0)?;
    /// let statistics = [OrderStatistic::Median, OrderStatistic::Percentile(75.0)];
    /// let (reduced, _) =
    ///     image.order(&statistics, &[0], &image.whole(), None, &RunOptions::default())?;
    /// assert_eq!(reduced.axes, [2]);
    /// assert_eq!(reduced.values[0], Values::Floats(vec![2.0, 5.0]));
    /// assert_eq!(reduced.values[1], Values::Floats(vec![2.5, 32.5]));
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Percentile`], also for more than 10 000 statistics; otherwise as [`Image::reduce`].
    pub fn order(
        &self,
        statistics: &[OrderStatistic],
        axes: &[usize],
        section: &Section,
        regions: Option<&[Region]>,
        options: &RunOptions<'_>,
    ) -> Result<(Reduced, Report), Error> {
        self.order_within(statistics, axes, section, regions, &OrderLimits::default(), options)
    }

    /// Works like [`Image::order`], with other limits.
    ///
    /// # Errors
    /// As [`Image::order`].
    #[doc(hidden)]
    pub fn order_within(
        &self,
        statistics: &[OrderStatistic],
        axes: &[usize],
        section: &Section,
        regions: Option<&[Region]>,
        limits: &OrderLimits,
        options: &RunOptions<'_>,
    ) -> Result<(Reduced, Report), Error> {
        self.check_statistics(statistics)?;
        let reduced = self.reduced_axes(axes)?;
        self.check_section(section)?;
        let grid = Grid::new(self.axes(), section, &reduced);
        let plan = OrderPlan { image: self, section, reduced: &reduced, regions, limits: *limits };
        let outputs = grid.outputs.saturating_mul(regions.map_or(1, |all| all.len() as u64));
        if regions.is_none() {
            // Checked before memory is reserved for the number of results that the header states.
            self.check_present(grid.last_pixel())?;
        }
        let mut results = plan.room(statistics.len(), outputs)?;
        let total = section.pixels().saturating_mul(self.pixel_bytes().size);
        let mut passes = Passes::new(options, total);
        let has_results = outputs > 0 && !statistics.is_empty();
        if grid.reduced == 0 && regions.is_none() {
            let nothing = outputs as usize;
            // No more than the number of outputs that memory was reserved for.
            results.iter_mut().for_each(|values| values.resize(nothing, f64::NAN));
        } else if has_results && regions.is_none() && grid.reduced <= limits.gathered {
            let all = &mut results[..];
            let (tier, tile_bytes) = (tier(), limits.tile_bytes);
            let operation = InMemory { statistics, tier };
            push_outputs(self, &grid, tier, tile_bytes, &operation, &mut passes, all)?;
        } else if has_results && !plan.gather_regions(statistics, &mut passes, &mut results)? {
            plan.stream(statistics, &mut passes, &mut results)?;
        }
        let mut axes: Vec<u64> = plan.kept().map(|range| range.count).collect();
        axes.extend(regions.map(|regions| regions.len() as u64));
        let values = results.into_iter().map(Values::Floats).collect();
        Ok((Reduced { axes, values }, passes.finish()))
    }

    /// Works like [`Image::order`] for all axes, with passes that other processes run by
    /// [`Image::count_ranks`]. Only a sample is read here. `parts` is the number of results of a pass. Returns a
    /// value per statistic.
    ///
    /// # Errors
    /// As [`Image::order`], and those of `run`.
    pub fn order_elsewhere(
        &self,
        statistics: &[OrderStatistic],
        section: &Section,
        region: Option<&Region>,
        limits: &OrderLimits,
        (parts, run): (u64, &RunPass<'_>),
        options: &RunOptions<'_>,
    ) -> Result<(Vec<f64>, Report), Error> {
        self.check_statistics(statistics)?;
        let elsewhere = Some(Elsewhere { run, parts });
        self.populated(section, region, limits, elsewhere, options, |population, passes| {
            let mut values = Vec::with_capacity(statistics.len());
            population.push(statistics, passes, &mut values)?;
            Ok(values)
        })
    }

    /// Runs a pass of [`Image::order_elsewhere`] over a part of its pixels.
    ///
    /// # Errors
    /// As [`Image::order`].
    pub fn count_ranks(
        &self,
        pass: &RankPass,
        section: &Section,
        region: Option<&Region>,
        options: &RunOptions<'_>,
    ) -> Result<(RankCounts, Report), Error> {
        let limits = OrderLimits::default();
        self.populated(section, region, &limits, None, options, |population, passes| {
            population.run(pass, passes)
        })
    }

    /// Calls `work` with the pixels of a section, or of a region of it.
    fn populated<T>(
        &self,
        section: &Section,
        region: Option<&Region>,
        limits: &OrderLimits,
        elsewhere: Option<Elsewhere<'_>>,
        options: &RunOptions<'_>,
        work: impl FnOnce(&mut Population<'_>, &mut Passes<'_>) -> Result<T, Error>,
    ) -> Result<(T, Report), Error> {
        self.check_section(section)?;
        let all = vec![true; self.axes().len()];
        if region.is_none() {
            self.check_present(Grid::new(self.axes(), section, &all).last_pixel())?;
        }
        let regions = region.map(std::slice::from_ref);
        let lines = self.lines(section, &all, regions, false, options)?;
        let mut passes =
            Passes::new(options, lines.pixels().saturating_mul(self.pixel_bytes().size));
        let mut population = Population::new(self, &*lines, tier(), *limits, elsewhere);
        let result = work(&mut population, &mut passes)?;
        Ok((result, passes.finish()))
    }

    fn check_statistics(&self, statistics: &[OrderStatistic]) -> Result<(), Error> {
        if statistics.len() > MOST_STATISTICS {
            let expected = format!("at most {MOST_STATISTICS} percentiles");
            return Err(self.refused(Reason::Percentile, expected, statistics.len().to_string()));
        }
        for statistic in statistics {
            if let OrderStatistic::Percentile(percent) = statistic
                && !(0.0..=100.0).contains(percent)
            {
                let actual = percent.to_string();
                return Err(self.refused(Reason::Percentile, "a percentile from 0 to 100", actual));
            }
        }
        Ok(())
    }
}

/// Order statistics of outputs whose pixels are in memory.
struct InMemory<'a> {
    statistics: &'a [OrderStatistic],
    tier: Tier,
}

impl OutputOperation for InMemory<'_> {
    type Scratch = Selection;

    fn values(&self) -> usize {
        self.statistics.len()
    }

    fn scratch(&self, pixels: usize) -> Result<Selection, NoMemory> {
        let mut selection = Selection::default();
        selection.reserve(pixels)?;
        Ok(selection)
    }

    fn push(&self, selection: &mut Selection, pixels: &mut [f64], values: &mut Vec<f64>) {
        selection.push(pixels, self.statistics, self.tier, values);
    }
}

/// Requested order statistics.
struct OrderPlan<'a> {
    image: &'a Image,
    section: &'a Section,
    reduced: &'a [bool],
    regions: Option<&'a [Region]>,
    limits: OrderLimits,
}

impl OrderPlan<'_> {
    /// Returns empty results with capacity for all outputs.
    fn room(&self, statistics: usize, outputs: u64) -> Result<Vec<Vec<f64>>, Error> {
        let empty = || {
            let mut values = filled(outputs, f64::NAN, "the result")?;
            values.clear();
            Ok(values)
        };
        let results: Result<_, Error> = (0..statistics).map(|_| empty()).collect();
        results.map_err(|error| self.image.place(error))
    }

    /// Iterates over the ranges of the axes that are not reduced.
    fn kept(&self) -> impl Iterator<Item = AxisRange> {
        let ranges = self.section.ranges().iter().zip(self.reduced);
        ranges.filter(|(_, reduced)| !**reduced).map(|(range, _)| *range)
    }

    /// Selects among the pixels of all regions, gathered in one pass; returns false if there are no regions,
    /// or too many pixels.
    fn gather_regions(
        &self,
        statistics: &[OrderStatistic],
        passes: &mut Passes<'_>,
        results: &mut [Vec<f64>],
    ) -> Result<bool, Error> {
        let Some(regions) = self.regions else { return Ok(false) };
        // Regions that exceed the limit of one pass may work one by one.
        let options = passes.options();
        let Ok(lines) = self.image.lines(self.section, self.reduced, Some(regions), false, options)
        else {
            return Ok(false);
        };
        let outputs = self.kept().map(|range| range.count).product::<u64>() * regions.len() as u64;
        if lines.pixels() > self.limits.kept || lines.pixels() / outputs > self.limits.gathered {
            return Ok(false);
        }
        let mut gathered: Vec<Vec<f64>> = filled(outputs, Vec::new(), GATHERED)?;
        let mut outcome = Ok(());
        let fold = GatherFold { encoding: self.image.encoding(), tier: tier() };
        passes.alone(lines.pixels() <= ALONE_PIXELS);
        passes.run(lines.pixels() * self.image.pixel_bytes().size, |options| {
            let take = |folded: Vec<(u64, Vec<f64>)>| {
                for (output, values) in folded {
                    let pixels = &mut gathered[output as usize];
                    let added = memory::extend(pixels, &values, GATHERED);
                    outcome = std::mem::replace(&mut outcome, Ok(())).and(added);
                }
            };
            let tasks = 0..lines.tasks();
            let report = fold_tasks(self.image, &*lines, &fold, outputs, tasks, options, take)?;
            Ok(((), report))
        })?;
        outcome?;
        let (mut selection, mut values) = (Selection::default(), Vec::new());
        for mut pixels in gathered {
            selection.reserve(pixels.len())?;
            values.clear();
            selection.push(&mut pixels, statistics, fold.tier, &mut values);
            results.iter_mut().zip(&values).for_each(|(all, &value)| all.push(value));
        }
        Ok(true)
    }

    /// Selects output by output and region by region, each separately.
    fn stream(
        &self,
        statistics: &[OrderStatistic],
        passes: &mut Passes<'_>,
        results: &mut [Vec<f64>],
    ) -> Result<(), Error> {
        let regions = match self.regions {
            None => vec![None],
            Some(regions) => regions.chunks(1).map(Some).collect(),
        };
        let tier = tier();
        let outputs: u64 = self.kept().map(|range| range.count).product();
        let all = vec![true; self.reduced.len()];
        let mut values = Vec::new();
        for region in regions {
            // Fails if regions need axes that are not reduced.
            self.image.lines(self.section, self.reduced, region, false, passes.options())?;
            for output in 0..outputs {
                let section = self.image.section(&part(self.section, self.reduced, output))?;
                let lines = self.image.lines(&section, &all, region, false, passes.options())?;
                let is_small = lines.pixels() <= ALONE_PIXELS;
                passes.alone(is_small);
                let mut population = Population::new(self.image, &*lines, tier, self.limits, None);
                values.clear();
                population.push(statistics, passes, &mut values)?;
                results.iter_mut().zip(&values).for_each(|(all, &value)| all.push(value));
            }
        }
        Ok(())
    }
}

/// Purpose of the memory, for errors.
const GATHERED: &str = "the pixels of regions";

/// Gathers the physical values of pixels.
struct GatherFold {
    encoding: Encoding,
    tier: Tier,
}

impl LineFold for GatherFold {
    type State = Vec<f64>;
    const HAS_POSITIONS: bool = false;

    fn accumulate(&self, state: &mut Vec<f64>, bytes: &[u8], _position: u64) {
        let first = state.len();
        // A line has at most 512 KiB.
        state.resize(first + bytes.len() / self.encoding.pixel_bytes(), 0.0);
        decode_f64(bytes, &self.encoding, self.tier, &mut state[first..]);
    }

    fn merge(&self, state: &mut Vec<f64>, later: &Vec<f64>) {
        state.extend_from_slice(later);
    }

    fn place(&self, _state: &mut Vec<f64>, _rows: &LeafRows) {}
}

/// Returns the ranges of one output of a section with some axes reduced.
pub(crate) fn part(section: &Section, reduced: &[bool], mut output: u64) -> Vec<AxisRange> {
    let mut ranges = section.ranges().to_vec();
    for (range, _) in ranges.iter_mut().zip(reduced).filter(|(_, reduced)| !**reduced) {
        let step = (output % range.count) as i64;
        output /= range.count;
        let first = range.first.wrapping_add_signed(range.step * step);
        *range = AxisRange { first, count: 1, step: 1 };
    }
    ranges
}
