//! Reductions: statistics of whole images, of regions, and along any axes. Lines are folded if the innermost
//! loop is reduced, rows if it is not.

use std::ops::Range;

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::wide_integers::{self, IntegerRows};
use tachyfits_kernels::{
    Common, Compensated, Encoding, ExtremaRows, Extremum, MomentRows, Needs, OutputState,
    ReductionRows, Statistic, StatisticUnit, Stats, Sum, SumRows, Tier, Total, Unit,
};
use tachyfits_memory::{self as memory, NoMemory};

use crate::error::{Error, Reason};
use crate::grid::Grid;
use crate::image::{Image, tier};
use crate::line_fold::{OutputFold, StatsFold, SumFold, fold_lines, fold_tasks};
use crate::lines::{GridLines, Lines};
use crate::region::Region;
use crate::region_lines::RegionLines;
use crate::row_fold::{Row, RowFold, RowPlan, fold_rows};
use crate::section::{AxisRange, Section};
use crate::statistic::Values;

/// Result of [`Image::reduce`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reduced {
    /// Lengths of the remaining axes in FITS order, followed by the number of regions if there are any. The
    /// first axis varies fastest in the values.
    pub axes: Vec<u64>,
    /// Values of each requested statistic, in the order of the request.
    pub values: Vec<Values>,
}

impl Image {
    /// Computes the full statistics of the physical values of a section, or of each region: one state, or one
    /// per region. A region covers its pixels in every plane of NAXIS1 and NAXIS2 of the section, and only
    /// pixels of the section. NaN and BLANK are counted in `nan` and otherwise ignored. Positions are linear
    /// indices within the section, whose first axis varies fastest, with or without regions.
    ///
    /// ```
    /// let cards = ["SIMPLE  =                    T", "BITPIX  =                    8",
    ///     "NAXIS   =                    2", "NAXIS1  =                    3", "NAXIS2  =                    2",
    ///     "BLANK   =                    9", "END"];
    /// let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    /// bytes.resize(2880, b' ');
    /// bytes.extend([1, 9, 3, 4, 5, 9]);
    /// bytes.resize(5760, 0);
    /// use tachyfits::{FitsFile, OpenOptions, Region, RunOptions};
    /// // 3 by 2 pixels: 1 BLANK 3 and 4 5 BLANK.
    /// let image = FitsFile::from_bytes("example", bytes, &OpenOptions::default())?.image(0)?;
    /// let right = Region::rectangle(2.0, 0.5, 0.0, 2.0, 0.0)?;
    /// let (stats, _) = image.stats(&image.whole(), Some(&[right]), &RunOptions::default())?;
    /// assert_eq!((stats[0].count, stats[0].nan, stats[0].mean()), (1, 1, 3.0));
    /// assert_eq!(stats[0].max.unwrap().position, 2);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::DataMissing`] if the file is too short, an [`Error::Io`] if it cannot be read or the run is
    /// cancelled, [`Reason::Region`] if the image has no plane for a region, [`Reason::Section`] for a
    /// section that is not within this image, [`Reason::Memory`] for regions with too many rows.
    pub fn stats(
        &self,
        section: &Section,
        regions: Option<&[Region]>,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<Stats>, Report), Error> {
        let lines = self.reduced_lines(section, regions, options)?;
        let mut states = Vec::new();
        let outputs = regions.map_or(1, |regions| regions.len() as u64);
        let keep = |state: &Stats| states.push(*state);
        let report = fold_lines(self, &*lines, &self.stats_fold()?, outputs, options, keep)?;
        Ok((states, report))
    }

    /// Returns the number of tasks of [`Image::stats`], for [`Image::partial_stats`].
    ///
    /// # Errors
    /// As [`Image::stats`].
    pub fn stats_tasks(
        &self,
        section: &Section,
        regions: Option<&[Region]>,
        options: &RunOptions<'_>,
    ) -> Result<u64, Error> {
        Ok(self.reduced_lines(section, regions, options)?.tasks())
    }

    /// Returns the states of the lines of some tasks of [`Image::stats`], each with the number of its region,
    /// so that machines can share the work. Merging the states of all tasks in order with [`Stats::merge`]
    /// gives the bits of [`Image::stats`].
    ///
    /// # Errors
    /// As [`Image::stats`].
    pub fn partial_stats(
        &self,
        section: &Section,
        regions: Option<&[Region]>,
        tasks: Range<u64>,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<(u64, Stats)>, Report), Error> {
        let lines = self.reduced_lines(section, regions, options)?;
        let outputs = regions.map_or(1, |regions| regions.len() as u64);
        let tasks = tasks.start.min(lines.tasks())..tasks.end.min(lines.tasks());
        let tasks = tasks.start..tasks.end.max(tasks.start);
        let mut states = Vec::new();
        let fold = self.stats_fold()?;
        let report = fold_tasks(self, &*lines, &fold, outputs, tasks, options, |folded| {
            states.extend(folded);
        })?;
        Ok((states, report))
    }

    /// Returns the minimum length of a part along an axis that is not reduced, at least 2, for which the part
    /// has the same sums, bit by bit, as the whole section, so that machines can share the work.
    ///
    /// # Errors
    /// [`Reason::NoSuchAxis`]; [`Reason::Section`] for a section that is not within this image.
    pub fn least_part(&self, axes: &[usize], section: &Section, axis: usize) -> Result<u64, Error> {
        let reduced = self.reduced_axes(axes)?;
        self.check_section(section)?;
        self.check_axis(axis)?;
        let range = section.ranges()[axis];
        let rows_together = |count| -> Result<Option<u64>, Error> {
            let part = section.clone().with(axis, AxisRange { count, ..range })?;
            let grid = Grid::new(self.axes(), &part, &reduced);
            let plan = grid.is_kept_innermost().then(|| RowPlan::new(&grid, self.pixel_bytes()));
            Ok(plan.map(|plan| plan.rows_together()))
        };
        let whole = rows_together(range.count)?;
        // The loops omit an axis of one pixel.
        let (mut least, mut enough) = (2, range.count.max(2));
        while least < enough {
            let middle = least.midpoint(enough);
            if rows_together(middle)? == whole {
                enough = middle;
            } else {
                least = middle + 1;
            }
        }
        Ok(least)
    }

    /// Computes count and sum of the physical values of a section, ignoring NaN and BLANK: the cheapest pass
    /// over the pixels. The sum has the same bits as in [`Image::stats`].
    ///
    /// # Errors
    /// As [`Image::stats`].
    pub fn total(
        &self,
        section: &Section,
        options: &RunOptions<'_>,
    ) -> Result<(Sum, Report), Error> {
        let lines = self.reduced_lines(section, None, options)?;
        let mut total = Sum::default();
        let keep = |state: &Sum| total = *state;
        let report = fold_lines(self, &*lines, &self.sum_fold()?, 1, options, keep)?;
        Ok((total, report))
    }

    fn sum_fold(&self) -> Result<SumFold, Error> {
        Ok(SumFold { encoding: self.encoding(), tier: tier() })
    }

    fn stats_fold(&self) -> Result<StatsFold, Error> {
        Ok(StatsFold { encoding: self.encoding(), tier: tier() })
    }

    /// Returns the lines of a section or of regions, with every axis reduced.
    fn reduced_lines(
        &self,
        section: &Section,
        regions: Option<&[Region]>,
        options: &RunOptions<'_>,
    ) -> Result<Box<dyn Lines>, Error> {
        let reduced = vec![true; self.axes().len()];
        self.lines(section, &reduced, regions, false, options)
    }

    pub(crate) fn lines(
        &self,
        section: &Section,
        reduced: &[bool],
        regions: Option<&[Region]>,
        union: bool,
        options: &RunOptions<'_>,
    ) -> Result<Box<dyn Lines>, Error> {
        self.check_section(section)?;
        match regions {
            None => {
                let grid = Grid::new(self.axes(), section, reduced);
                self.check_present(grid.last_pixel())?;
                Ok(Box::new(GridLines::new(&grid, true, self.pixel_bytes())))
            }
            Some(regions) => {
                let lines = RegionLines::new(self, section, reduced, regions, union, options)?;
                self.check_present(lines.last_pixel())?;
                Ok(Box::new(lines))
            }
        }
    }

    /// Reduces axes (0 is NAXIS1) to statistics of the physical values, ignoring NaN and BLANK. With regions,
    /// both axes of the plane must be reduced, and the result has one more axis, the last one. `ddof` applies
    /// to [`Statistic::STD`]. Positions are linear indices among the reduced pixels of the section; the first
    /// reduced axis varies fastest.
    ///
    /// If no pixel of an output is defined, counts and sums are 0, positions -1 and other statistics NaN.
    /// Sums of unscaled integers are exact: integers if all of them fit in 64 bits, otherwise rounded once.
    ///
    /// ```
    /// use tachyfits::{Array, Header, RunOptions, Statistic, Values};
    /// // 3 by 2 pixels: 1 2 3 and 4 5 60.
    /// let image = Array::new(&[1u8, 2, 3, 4, 5, 60], &[3, 2]).to_file("example", &Header::new())?.image(0)?;
    /// let statistics = [Statistic::MEAN, Statistic::MAX_POSITION];
    /// let (reduced, _) =
    ///     image.reduce(&statistics, &[0], &image.whole(), None, 0, &RunOptions::default())?;
    /// assert_eq!(reduced.axes, [2]);
    /// assert_eq!(reduced.values[0], Values::Floats(vec![2.0, 23.0]));
    /// assert_eq!(reduced.values[1], Values::Integers(vec![2, 2]));
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Image::stats`]; [`Reason::NoSuchAxis`]; [`Reason::Memory`] if the result does not fit.
    pub fn reduce(
        &self,
        statistics: &[Statistic],
        axes: &[usize],
        section: &Section,
        regions: Option<&[Region]>,
        ddof: u64,
        options: &RunOptions<'_>,
    ) -> Result<(Reduced, Report), Error> {
        let reduced = self.reduced_axes(axes)?;
        self.check_section(section)?;
        let grid = Grid::new(self.axes(), section, &reduced);
        let regions_count = regions.map_or(1, |regions| regions.len() as u64);
        let outputs = grid.outputs.saturating_mul(regions_count);
        let by_rows = regions.is_none() && grid.reduced > 0 && grid.is_kept_innermost();
        let lines = match outputs == 0 || by_rows {
            true => None,
            false => Some(self.lines(section, &reduced, regions, false, options)?),
        };
        self.check_present(if by_rows { grid.last_pixel() } else { None })?;
        let exact = wide_integers::are_integers(&self.encoding());
        let collect = || {
            let collected = Collected::new(statistics, ddof, outputs, exact);
            collected.map_err(|error| self.place(error))
        };
        let mut collected = collect()?;
        let report = if let Some(lines) = lines {
            self.reduce_lines(&*lines, outputs, &mut collected, options)?
        } else if by_rows && outputs > 0 {
            let plan = RowPlan::new(&grid, self.pixel_bytes());
            let mut fold = StatisticRows::new(statistics, &self.encoding(), grid.reduced);
            let report =
                fold_rows(self, &plan, &fold, options, |tile| tile.push_to(&mut collected))?;
            // Lines repeat single leaves; rows repeat the whole pass because their slabs are discarded.
            let mut report = report;
            let is_small = collected.has_underflow && fold.needs.squares;
            for (unit, is_needed) in
                [(Unit::Large, collected.has_overflow), (Unit::Small, is_small)]
            {
                fold.again = self.encoding().in_unit(unit).map(|encoding| (unit, encoding));
                if is_needed && fold.again.is_some() {
                    let mut repeated = collect()?;
                    let push = |tile: TileState| tile.push_to(&mut repeated);
                    let second = fold_rows(self, &plan, &fold, options, push)?;
                    collected.take(repeated, unit);
                    report = report.followed_by(&second);
                }
            }
            report
        } else {
            Report::default()
        };
        let remaining = section.ranges().iter().zip(&reduced).filter(|(_, reduced)| !**reduced);
        let mut axes: Vec<u64> = remaining.map(|(range, _)| range.count).collect();
        axes.extend(regions.map(|regions| regions.len() as u64));
        Ok((Reduced { axes, values: collected.finish()? }, report))
    }

    /// Computes the statistics of each output from lines.
    fn reduce_lines(
        &self,
        lines: &dyn Lines,
        outputs: u64,
        collected: &mut Collected<'_>,
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let needs = Needs::of(collected.statistics);
        if needs.has_other_states() {
            let fold = OutputFold { needs, encoding: self.encoding(), tier: tier() };
            let push = |state: &OutputState| collected.push(state);
            return fold_lines(self, lines, &fold, outputs, options, push);
        }
        // A single state for all outputs, because most of it is never set.
        let mut state = OutputState::default();
        if needs.squares || needs.extremes {
            let push = |stats: &Stats| {
                state.stats = *stats;
                collected.push(&state);
            };
            fold_lines(self, lines, &self.stats_fold()?, outputs, options, push)
        } else {
            let push = |&Sum { count, nan, sum, common }: &Sum| {
                let stats = &mut state.stats;
                (stats.count, stats.nan, stats.sum, stats.common) = (count, nan, sum, common);
                collected.push(&state);
            };
            fold_lines(self, lines, &self.sum_fold()?, outputs, options, push)
        }
    }

    /// Returns a mask of these axes.
    pub(crate) fn reduced_axes(&self, axes: &[usize]) -> Result<Vec<bool>, Error> {
        let mut reduced = vec![false; self.axes().len()];
        for &axis in axes {
            self.check_axis(axis)?;
            if std::mem::replace(&mut reduced[axis], true) {
                let actual = format!("axis {axis} (0 is NAXIS1) twice");
                return Err(self.refused(Reason::NoSuchAxis, "each axis once", actual));
            }
        }
        Ok(reduced)
    }
}

/// Values of the statistics, output by output.
struct Collected<'a> {
    statistics: &'a [Statistic],
    ddof: u64,
    values: Vec<Values>,
    /// Exact sums of integers, if SUM is requested; `None` for an output without a defined pixel.
    sums: Option<Vec<Option<i128>>>,
    /// Whether the sum or squares of an output are not finite.
    has_overflow: bool,
    /// Whether squares of an output, about zero and about the mean, lost digits.
    has_underflow: bool,
}

impl<'a> Collected<'a> {
    fn new(
        statistics: &'a [Statistic],
        ddof: u64,
        outputs: u64,
        exact: bool,
    ) -> Result<Collected<'a>, Error> {
        let mut values: Vec<_> = statistics.iter().copied().map(Values::of).collect();
        const WHAT: &str = "the result";
        let length = usize::try_from(outputs).unwrap_or(usize::MAX);
        for values in &mut values {
            match values {
                Values::Integers(values) => memory::reserve_exact(values, length, WHAT)?,
                Values::Floats(values) => memory::reserve_exact(values, length, WHAT)?,
            }
        }
        let has_sums = exact && statistics.contains(&Statistic::SUM);
        let sums = has_sums.then(|| memory::with_room(length, WHAT)).transpose()?;
        Ok(Collected { statistics, ddof, values, sums, has_overflow: false, has_underflow: false })
    }

    fn push(&mut self, state: &OutputState) {
        let stats = &state.stats;
        let squares = stats.squares.value();
        self.has_overflow |= !(stats.sum.is_finite() && squares.is_finite());
        let mean_square = squares / stats.count as f64 + stats.center.value().powi(2);
        self.has_underflow |= mean_square < SMALL_SQUARE && stats.common == Common::Different;
        for (statistic, values) in self.statistics.iter().zip(&mut self.values) {
            values.push(*statistic, state, self.ddof);
        }
        if let Some(sums) = &mut self.sums {
            let stats = &state.stats;
            sums.push((stats.count > 0).then(|| wide_integers::exact(stats.sum)));
        }
    }

    /// Replaces values that f64 could not represent by the values of the same pixels in another unit.
    fn take(&mut self, other: Collected<'_>, unit: Unit) {
        let pairs = self.statistics.iter().zip(&mut self.values).zip(other.values);
        for ((statistic, current), replacements) in pairs {
            let needs = Needs::of(&[*statistic]);
            // Sums of small pixels and other statistics are right already; only `Stats` accounts for another
            // unit.
            let is_in_unit = needs.has_other_states() && statistic.unit() == StatisticUnit::Pixels;
            if is_in_unit || unit == Unit::Small && !needs.squares {
                continue;
            }
            let is_better = |value: f64, other: f64| match unit {
                Unit::Small => other < SMALL_SQUARE.sqrt(),
                _ => !value.is_finite() && other.is_finite(),
            };
            if let (Values::Floats(current), Values::Floats(replacements)) = (current, replacements)
            {
                let pairs = current.iter_mut().zip(replacements);
                let better = pairs.filter(|(value, other)| is_better(**value, *other));
                better.for_each(|(value, other)| *value = other);
            }
        }
    }

    /// Returns the values. Sums of integers are integers if every sum exists and fits in 64 bits, otherwise
    /// floats, rounded once.
    fn finish(mut self) -> Result<Vec<Values>, NoMemory> {
        let Some(sums) = self.sums else { return Ok(self.values) };
        let fits = |sum: &Option<i128>| sum.is_some_and(|sum| i64::try_from(sum).is_ok());
        let are_integers = sums.iter().all(fits);
        let integer = |&sum: &Option<i128>| sum.map_or(0, |sum| sum as i64);
        let float = |&sum: &Option<i128>| sum.map_or(f64::NAN, |sum| sum as f64);
        for (statistic, values) in self.statistics.iter().zip(&mut self.values) {
            if *statistic == Statistic::SUM {
                *values = match are_integers {
                    true => Values::Integers(memory::collected(sums.iter().map(integer), "sums")?),
                    false => Values::Floats(memory::collected(sums.iter().map(float), "sums")?),
                };
            }
        }
        Ok(self.values)
    }
}

/// Accumulators of rows, as needed by the statistics.
struct StatisticRows {
    needs: Needs,
    /// Whether integers are summed as integers because f64 would not be exact.
    integers: bool,
    /// Unit and encoding of the second pass, if f64 could not represent the numbers of the first.
    again: Option<(Unit, Encoding)>,
}

/// State of a tile: the requested statistics and always the sums.
struct TileState {
    /// Unit of the pixels.
    unit: Unit,
    rows: u64,
    sums: Option<SumRows>,
    moments: Option<MomentRows>,
    extremes: Option<ExtremaRows>,
    integers: Option<IntegerRows>,
    others: ReductionRows,
}

/// Minimum mean square without lost digits: 2^-860.
const SMALL_SQUARE: f64 = f64::from_bits((1023 - 860) << 52);

/// Number of 32-bit integers whose sum is exact in f64.
const EXACT_ROWS: u64 = 1 << 20;

impl StatisticRows {
    fn new(statistics: &[Statistic], encoding: &Encoding, rows: u64) -> StatisticRows {
        let exact = [Statistic::SUM, Statistic::MEAN].iter().any(|sum| statistics.contains(sum));
        let long = wide_integers::are_long(encoding)
            || (wide_integers::are_integers(encoding) && rows > EXACT_ROWS);
        StatisticRows { needs: Needs::of(statistics), integers: exact && long, again: None }
    }
}

impl RowFold for StatisticRows {
    type State = TileState;

    fn slab(&self, outputs: usize, rows: &[Row<'_>], encoding: &Encoding, tier: Tier) -> TileState {
        let (unit, encoding) =
            self.again.as_ref().map_or((Unit::One, encoding), |(unit, e)| (*unit, e));
        let (bytes, positions): (Vec<&[u8]>, Vec<u64>) =
            rows.iter().map(|row| (row.bytes, row.position)).unzip();
        let mut state = TileState {
            unit,
            rows: rows.len() as u64,
            sums: None,
            moments: None,
            extremes: None,
            integers: None,
            others: ReductionRows::slab(&self.needs, outputs, &bytes, encoding, tier),
        };
        if self.integers {
            let mut sums = IntegerRows::new(outputs);
            rows.iter().for_each(|row| sums.accumulate(row.bytes, encoding));
            state.integers = Some(sums);
        }
        if self.needs.squares {
            state.moments = Some(MomentRows::slab(outputs, &bytes, encoding, tier));
        } else {
            state.sums = Some(SumRows::slab(outputs, &bytes, encoding, tier));
        }
        if self.needs.extremes {
            state.extremes = Some(ExtremaRows::slab(outputs, &bytes, &positions, encoding, tier));
        }
        state
    }

    fn merge(&self, state: &mut TileState, later: &TileState) {
        state.rows += later.rows;
        if let (Some(sums), Some(later)) = (&mut state.sums, &later.sums) {
            sums.merge(later);
        }
        if let (Some(moments), Some(later)) = (&mut state.moments, &later.moments) {
            moments.merge(later);
        }
        if let (Some(extremes), Some(later)) = (&mut state.extremes, &later.extremes) {
            extremes.merge(later);
        }
        if let (Some(integers), Some(later)) = (&mut state.integers, &later.integers) {
            integers.merge(later);
        }
        state.others.merge(&later.others);
    }
}

impl TileState {
    /// Appends the values of every output.
    fn push_to(&self, collected: &mut Collected<'_>) {
        let sums = self.sums.as_ref().or(self.moments.as_ref().map(MomentRows::sums));
        let Some(sums) = sums else { return };
        let mut squares = self.moments.as_ref().map(MomentRows::squares);
        let mut state = OutputState::default();
        for (output, (&count, &sum)) in sums.count().iter().zip(sums.sum()).enumerate() {
            let sum = match &self.integers {
                Some(integers) => wide_integers::compensated(integers.sum(output)),
                None => Compensated { high: sum, low: 0.0 },
            };
            let mut stats = Stats {
                count,
                nan: self.rows - count,
                sum: Total { parts: sum, is_large: self.unit == Unit::Large },
                unit: self.unit,
                // In another unit, the common value is not the value of a pixel.
                common: match self.unit {
                    Unit::One => sums.common(output),
                    _ => Common::Different,
                },
                ..Stats::default()
            };
            if let (Some(moments), Some(squares)) = (&self.moments, &mut squares) {
                stats.center.high = moments.center()[output];
                stats.squares.high = squares.next().unwrap_or(0.0);
            }
            if let Some(extremes) = &self.extremes {
                stats.min = extreme(extremes.min()[output], extremes.min_row()[output]);
                stats.max = extreme(extremes.max()[output], extremes.max_row()[output]);
            }
            state.stats = stats;
            self.others.copy_to(&mut state, output);
            collected.push(&state);
        }
    }
}

fn extreme(value: f64, position: u64) -> Option<Extremum> {
    (position != ExtremaRows::NO_ROW).then_some(Extremum { value, position })
}
