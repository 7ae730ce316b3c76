//! The lines of regions: in every plane of a section, the rows of each region from bottom to top.

use crate::error::{Error, Reason};
use crate::grid::{Grid, Outer};
use crate::image::Image;
use crate::lines::{LINE_PIXELS, Line, Lines, Stretch};
use crate::region::Region;
use crate::section::{AxisRange, Section};

/// Pixels of a task, about: regions leave gaps, which are read too.
const TASK_PIXELS: u64 = 1 << 17;
/// The most lines of a task.
const TASK_LINES: usize = 1024;
/// The most planes of a task.
const TASK_PLANES: u64 = 64;

/// One line of one region in the first plane.
#[derive(Clone, Copy, Debug)]
struct PlaneLine {
    region: u64,
    stretch: Stretch,
    position: u64,
}

/// The lines of regions.
#[derive(Clone, Debug)]
pub(crate) struct RegionLines {
    /// Those of one plane, by rows.
    lines: Vec<PlaneLine>,
    /// Where the tasks of a plane begin among them, and their end.
    pieces: Vec<usize>,
    planes: Outer,
    planes_per_task: u64,
    /// Outputs of each region.
    outputs: u64,
    sequential: bool,
    pixels: u64,
}

impl RegionLines {
    /// The lines of `regions` within a section. With `union`, a pixel that lies in several is taken once, and all are one
    /// region.
    pub(crate) fn new(
        image: &Image,
        section: &Section,
        reduced: &[bool],
        regions: &[Region],
        union: bool,
    ) -> Result<RegionLines, Error> {
        let axes = image.axes();
        if axes.len() < 2 || !reduced[0] || !reduced[1] {
            let expected = "a region on NAXIS1 and NAXIS2, both reduced";
            let found = format!("{} axes, of which these are not both reduced", axes.len());
            return Err(image.refused(Reason::Region, expected, found));
        }
        let lines = plane_lines(axes, section, regions, union);
        let plane_pixels: u64 = lines.iter().map(|line| line.stretch.count).sum();
        let grid = Grid::beyond(2, axes, section, reduced);
        let planes = Outer { origin: grid.origin, loops: grid.loops.clone() };
        // A section without pixels has no planes either.
        let count = if section.pixels() == 0 { 0 } else { planes.count() };
        let pieces = pieces(&lines);
        let planes_per_task = match pieces.len() {
            2 => {
                let by_pixels = TASK_PIXELS / plane_pixels.max(1);
                let by_lines = (TASK_LINES / lines.len()) as u64;
                by_pixels.min(by_lines).clamp(1, TASK_PLANES)
            }
            _ => 1,
        };
        let all_reduced_below =
            planes.loops.iter().skip_while(|level| level.reduced).all(|level| !level.reduced);
        let regions = lines.iter().map(|line| line.region).max().map_or(0, |last| last + 1);
        Ok(RegionLines {
            pixels: plane_pixels.saturating_mul(count),
            sequential: regions <= 1 && all_reduced_below,
            lines: if count == 0 { Vec::new() } else { lines },
            pieces,
            planes,
            planes_per_task,
            outputs: grid.outputs,
        })
    }

    fn pieces_per_plane(&self) -> u64 {
        self.pieces.len() as u64 - 1
    }

    /// The file pixel furthest from the beginning.
    pub(crate) fn last_pixel(&self) -> Option<u64> {
        let forward = self.planes.loops.iter().filter(|level| level.stride > 0);
        let steps: i64 = forward.map(|level| level.stride * (level.count - 1) as i64).sum();
        let ends = self.lines.iter().map(|PlaneLine { stretch, .. }| {
            let across = stretch.stride * (stretch.count - 1) as i64;
            stretch.first.max(stretch.first.wrapping_add_signed(across))
        });
        ends.max().map(|end| (end + self.planes.origin).saturating_add_signed(steps))
    }
}

/// The lines of every region in the plane that begins at pixel 0, by rows.
fn plane_lines(axes: &[u64], section: &Section, regions: &[Region], union: bool) -> Vec<PlaneLine> {
    let (width, height) = (axes[0], axes[1]);
    let (columns, rows) = (section.ranges()[0], section.ranges()[1]);
    let mut spans: Vec<_> = regions
        .iter()
        .enumerate()
        .flat_map(|(number, region)| {
            region.spans(width, height).into_iter().map(move |span| (number as u64, span))
        })
        .filter_map(|(number, span)| Some((index_in(rows, span.y)?, number, span)))
        .collect();
    spans.sort_by_key(|&(row, number, span)| match union {
        true => (row, 0, span.first),
        false => (row, number, span.first),
    });
    let mut lines = Vec::new();
    let mut taken: Option<(u64, u64)> = None;
    for (row, number, span) in spans {
        let mut first = span.first;
        if union {
            // What an earlier span of this row has taken already.
            if let Some((_, last)) = taken.filter(|&(y, last)| y == row && last >= first) {
                first = last + 1;
            }
            let reach =
                taken.filter(|&(y, _)| y == row).map_or(span.last, |(_, last)| last.max(span.last));
            taken = Some((row, reach));
        }
        let number = if union { 0 } else { number };
        push_lines(&mut lines, columns, number, row, first, span.last, span.y * width);
    }
    if columns.step < 0 {
        // Several spans of a row come in the order of the section.
        lines
            .sort_by_key(|line| (line.position / columns.count.max(1), line.region, line.position));
    }
    lines
}

/// Appends the lines of pixels `first..=last` of a row, as far as the section has them.
fn push_lines(
    lines: &mut Vec<PlaneLine>,
    columns: AxisRange,
    region: u64,
    row: u64,
    first: u64,
    last: u64,
    row_pixel: u64,
) {
    let Some((mut index, end)) = indices_in(columns, first, last) else { return };
    while index < end {
        let count = (end - index).min(LINE_PIXELS);
        let stretch = Stretch {
            first: row_pixel + columns.first.wrapping_add_signed(columns.step * index as i64),
            count,
            stride: if columns.count > 1 { columns.step } else { 1 },
        };
        lines.push(PlaneLine { region, stretch, position: row * columns.count + index });
        index += count;
    }
}

/// Which step of the range is this pixel.
fn index_in(range: AxisRange, pixel: u64) -> Option<u64> {
    indices_in(range, pixel, pixel).map(|(index, _)| index)
}

/// The steps of the range, from and up to before, that lie in `first..=last`.
fn indices_in(range: AxisRange, first: u64, last: u64) -> Option<(u64, u64)> {
    if range.count == 0 || first > last {
        return None;
    }
    let step = i128::from(if range.count > 1 { range.step } else { 1 });
    let (low, high) = (i128::from(first), i128::from(last));
    let start = i128::from(range.first);
    // Steps i with low <= start + i * step <= high.
    let (from, to) = match step > 0 {
        true => ((low - start + step - 1).div_euclid(step), (high - start).div_euclid(step)),
        false => ((start - high - step - 1).div_euclid(-step), (start - low).div_euclid(-step)),
    };
    let (from, to) = (from.max(0), to.min(i128::from(range.count) - 1));
    (from <= to).then_some((from as u64, to as u64 + 1))
}

/// Cuts the lines of a plane into pieces of about a task each: where each begins, and the end.
fn pieces(lines: &[PlaneLine]) -> Vec<usize> {
    let mut pieces = vec![0];
    let mut pixels = 0;
    for (index, line) in lines.iter().enumerate() {
        let begun = pieces[pieces.len() - 1];
        if index > begun && (pixels >= TASK_PIXELS || index - begun >= TASK_LINES) {
            pieces.push(index);
            pixels = 0;
        }
        pixels += line.stretch.count;
    }
    if !lines.is_empty() {
        pieces.push(lines.len());
    }
    pieces
}

impl Lines for RegionLines {
    fn tasks(&self) -> u64 {
        if self.lines.is_empty() {
            return 0;
        }
        (self.planes.count() * self.pieces_per_plane()).div_ceil(self.planes_per_task)
    }

    fn visit(&self, task: u64, line: &mut dyn FnMut(Line)) {
        let pieces = self.pieces_per_plane();
        let first = task * self.planes_per_task;
        let end = (first + self.planes_per_task).min(self.planes.count() * pieces);
        for index in first..end {
            let place = self.planes.place(index / pieces);
            let piece = (index % pieces) as usize;
            for part in &self.lines[self.pieces[piece]..self.pieces[piece + 1]] {
                let first = part.stretch.first + place.pixel;
                line(Line {
                    stretch: Stretch { first, ..part.stretch },
                    output: part.region * self.outputs + place.output,
                    position: part.position + place.position,
                });
            }
        }
    }

    fn is_sequential(&self) -> bool {
        self.sequential
    }

    fn pixels(&self) -> u64 {
        self.pixels
    }
}
