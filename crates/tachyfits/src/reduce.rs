//! Reductions: the statistics of everything, of regions, and along any axes. Two roads: lines, where the innermost loop
//! is reduced, and rows, where it is kept.

use tachyfits_io::Report;
use tachyfits_kernels::{
    Compensated, Encoding, ExtremaRows, Extremum, MomentRows, Stats, Sum, SumRows, Tier,
};

use crate::error::{Error, Reason};
use crate::fold::{StatsFold, SumFold, fold_lines};
use crate::grid::Grid;
use crate::image::{Image, no_memory, tier};
use crate::lines::{GridLines, Lines};
use crate::options::RunOptions;
use crate::region::Region;
use crate::region_lines::RegionLines;
use crate::rows::{Row, RowFold, RowPlan, each_tile, fold_rows};
use crate::section::Section;
use crate::statistic::{Needs, Statistic, Values};

/// What [`Image::reduce`] gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// Lengths of the axes that were kept, in FITS order, and last the number of regions where there are any: the first
    /// axis is the fastest in the values.
    pub axes: Vec<u64>,
    /// The values of each statistic that was asked for, in that order.
    pub values: Vec<Values>,
}

impl Image {
    /// The full statistics of a section, or of each region in every plane of it. Positions are linear indices within the
    /// section.
    ///
    /// # Errors
    /// If the file is too short or cannot be read, or a region is asked for where there is no plane.
    pub fn stats(
        &self,
        section: &Section,
        regions: Option<&[Region]>,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<Stats>, Report), Error> {
        let lines = self.reduced_lines(section, regions)?;
        let mut states = Vec::new();
        let outputs = regions.map_or(1, |regions| regions.len() as u64);
        let keep = |state: &Stats| states.push(*state);
        let report = fold_lines(self, &*lines, &self.stats_fold()?, outputs, options, keep)?;
        Ok((states, report))
    }

    /// Count and sum of a section: the cheapest pass over the pixels.
    ///
    /// # Errors
    /// As [`Image::stats`].
    pub fn total(
        &self,
        section: &Section,
        options: &RunOptions<'_>,
    ) -> Result<(Sum, Report), Error> {
        let lines = self.reduced_lines(section, None)?;
        let mut total = Sum::default();
        let keep = |state: &Sum| total = *state;
        let report = fold_lines(self, &*lines, &self.sum_fold()?, 1, options, keep)?;
        Ok((total, report))
    }

    fn sum_fold(&self) -> Result<SumFold, Error> {
        Ok(SumFold { encoding: self.encoding(), tier: tier()? })
    }

    fn stats_fold(&self) -> Result<StatsFold, Error> {
        Ok(StatsFold { encoding: self.encoding(), tier: tier()? })
    }

    /// The lines of a section or of regions, every axis reduced.
    fn reduced_lines(
        &self,
        section: &Section,
        regions: Option<&[Region]>,
    ) -> Result<Box<dyn Lines>, Error> {
        let reduced = vec![true; self.axes().len()];
        self.lines(section, &reduced, regions, false)
    }

    pub(crate) fn lines(
        &self,
        section: &Section,
        reduced: &[bool],
        regions: Option<&[Region]>,
        union: bool,
    ) -> Result<Box<dyn Lines>, Error> {
        self.check_section(section)?;
        match regions {
            None => {
                let grid = Grid::new(self.axes(), section, reduced);
                self.check_present(grid.last_pixel())?;
                Ok(Box::new(GridLines::new(&grid, true, self.pixel_bytes().size)))
            }
            Some(regions) => {
                let lines = RegionLines::new(self, section, reduced, regions, union)?;
                self.check_present(lines.last_pixel())?;
                Ok(Box::new(lines))
            }
        }
    }

    /// Reduces axes (0 is NAXIS1) by statistics. With regions, both axes of the plane must be among those reduced, and
    /// the result has an axis more. Positions are linear indices among the pixels that are reduced.
    ///
    /// Where nothing is good, counts and sums are 0 and the others NaN.
    ///
    /// # Errors
    /// As [`Image::stats`]; [`Reason::NoSuchAxis`]; [`Reason::Memory`] when the result does not fit.
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
            false => Some(self.lines(section, &reduced, regions, false)?),
        };
        self.check_present(if by_rows { grid.last_pixel() } else { None })?;
        let collected = Collected::new(statistics, ddof, outputs);
        let mut collected = collected.map_err(|error| self.place(error))?;
        let report = if let Some(lines) = lines {
            self.reduce_lines(&*lines, outputs, &mut collected, options)?
        } else if by_rows && outputs > 0 {
            let plan = RowPlan::new(&grid, self.pixel_bytes());
            let fold = StatisticRows::new(statistics);
            fold_rows(self, &plan, &fold, options, |tile| tile.push_to(&mut collected))?
        } else {
            Report::default()
        };
        let kept = section.ranges().iter().zip(&reduced).filter(|(_, reduced)| !**reduced);
        let mut axes: Vec<u64> = kept.map(|(range, _)| range.count).collect();
        axes.extend(regions.map(|regions| regions.len() as u64));
        Ok((Reduced { axes, values: collected.values }, report))
    }

    /// The statistics of each output, from lines.
    fn reduce_lines(
        &self,
        lines: &dyn Lines,
        outputs: u64,
        collected: &mut Collected<'_>,
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        if collected.statistics.iter().all(|statistic| statistic.needs() == Needs::Sum) {
            let push = |sum: &Sum| {
                let (count, nan, sum) = (sum.count, sum.nan, sum.sum);
                collected.push(&Stats { count, nan, sum, ..Stats::default() });
            };
            fold_lines(self, lines, &self.sum_fold()?, outputs, options, push)
        } else {
            let push = |state: &Stats| collected.push(state);
            fold_lines(self, lines, &self.stats_fold()?, outputs, options, push)
        }
    }

    /// Marks the axes named.
    pub(crate) fn reduced_axes(&self, axes: &[usize]) -> Result<Vec<bool>, Error> {
        let mut reduced = vec![false; self.axes().len()];
        for &axis in axes {
            self.check_axis(axis)?;
            if std::mem::replace(&mut reduced[axis], true) {
                let found = format!("axis {axis} (0 is NAXIS1) twice");
                return Err(self.refused(Reason::NoSuchAxis, "each axis once", found));
            }
        }
        Ok(reduced)
    }
}

/// The values of the statistics, output by output.
struct Collected<'a> {
    statistics: &'a [Statistic],
    ddof: u64,
    values: Vec<Values>,
}

impl<'a> Collected<'a> {
    fn new(statistics: &'a [Statistic], ddof: u64, outputs: u64) -> Result<Collected<'a>, Error> {
        let mut values: Vec<_> = statistics.iter().map(|statistic| statistic.values()).collect();
        let refused = || no_memory("the result", u128::from(outputs) * 8);
        let length = usize::try_from(outputs).map_err(|_| refused())?;
        for values in &mut values {
            let reserved = match values {
                Values::Integers(values) => values.try_reserve_exact(length),
                Values::Floats(values) => values.try_reserve_exact(length),
            };
            reserved.map_err(|_| refused())?;
        }
        Ok(Collected { statistics, ddof, values })
    }

    fn push(&mut self, stats: &Stats) {
        for (statistic, values) in self.statistics.iter().zip(&mut self.values) {
            statistic.push(stats, self.ddof, values);
        }
    }
}

/// What is to be accumulated in rows.
struct StatisticRows {
    squares: bool,
    extremes: bool,
}

/// The state of a tile: what was asked for and, always, the sums.
struct TileState {
    rows: u64,
    sums: Option<SumRows>,
    moments: Option<MomentRows>,
    extremes: Option<ExtremaRows>,
}

impl StatisticRows {
    fn new(statistics: &[Statistic]) -> StatisticRows {
        let any = |needs| statistics.iter().any(|statistic| statistic.needs() == needs);
        StatisticRows { squares: any(Needs::Squares), extremes: any(Needs::Extremes) }
    }
}

impl RowFold for StatisticRows {
    type State = TileState;

    fn slab(&self, outputs: usize, rows: &[Row<'_>], encoding: &Encoding, tier: Tier) -> TileState {
        let mut state =
            TileState { rows: rows.len() as u64, sums: None, moments: None, extremes: None };
        if self.squares {
            let bytes: Vec<&[u8]> = rows.iter().map(|row| row.bytes).collect();
            state.moments = Some(MomentRows::slab(outputs, &bytes, encoding, tier));
        } else {
            let mut sums = SumRows::new(outputs);
            each_tile(outputs, rows, encoding, |at, bytes, _| {
                sums.accumulate(at, bytes, encoding, tier);
            });
            state.sums = Some(sums);
        }
        if self.extremes {
            let mut extremes = ExtremaRows::new(outputs);
            each_tile(outputs, rows, encoding, |at, bytes, row| {
                extremes.accumulate(at, bytes, encoding, tier, row);
            });
            state.extremes = Some(extremes);
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
    }
}

impl TileState {
    /// Appends the values of every output.
    fn push_to(&self, collected: &mut Collected<'_>) {
        let sums = self.sums.as_ref().or(self.moments.as_ref().map(MomentRows::sums));
        let Some(sums) = sums else { return };
        let mut squares = self.moments.as_ref().map(MomentRows::squares);
        for (output, (&count, &sum)) in sums.count().iter().zip(sums.sum()).enumerate() {
            let mut stats = Stats {
                count,
                nan: self.rows - count,
                sum: Compensated { high: sum, low: 0.0 },
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
            collected.push(&stats);
        }
    }
}

fn extreme(value: f64, position: u64) -> Option<Extremum> {
    (position != ExtremaRows::NO_ROW).then_some(Extremum { value, position })
}
