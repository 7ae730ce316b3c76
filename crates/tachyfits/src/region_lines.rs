//! The lines of regions: in every plane of a section, the rows of each region from bottom to top.

use std::collections::BTreeMap;

use tachyfits_kernels::LEAF_PIXELS;

use tachyfits_io::operation::RunOptions;

use crate::error::{Error, Reason};
use crate::grid::{Grid, Outer, steps_forward};
use crate::image::Image;
use crate::lines::{LINES_OF_TILES, LeafPlace, Line, Lines, Stretch, line_pixels};
use crate::region::{Region, RegionRows};
use crate::row_spans::{RowSpan, add, without};
use crate::section::{AxisRange, Section};

/// Approximate number of pixels of a task: regions leave gaps, which are read too.
const TASK_PIXELS: u64 = 1 << 17;
/// The most lines of a task.
const TASK_LINES: usize = 1024;
/// The most planes of a task.
const TASK_PLANES: u64 = 64;
/// The most rows, and the most lines, of the regions of a request: a million, beyond real images, whose lines take some
/// 40 MB.
const MOST_LINES: usize = 1 << 20;

/// One line of one region in the first plane.
#[derive(Clone, Copy, Debug)]
struct PlaneLine {
    region: u64,
    stretch: Stretch,
    position: u64,
    leaf: LeafPlace,
    /// The position of the first line of its leaf.
    leaf_position: u64,
}

/// The lines of regions.
#[derive(Clone, Debug)]
pub(crate) struct RegionLines {
    /// The lines of one plane, by rows.
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
    /// The lines of `regions` within a section: rows, those that run on into each other joined. With `union`, a pixel that lies in several is taken once, and all are one
    /// region.
    pub(crate) fn new(
        image: &Image,
        section: &Section,
        reduced: &[bool],
        regions: &[Region],
        union: bool,
        options: &RunOptions<'_>,
    ) -> Result<RegionLines, Error> {
        let axes = image.axes();
        if axes.len() < 2 || !reduced[0] || !reduced[1] {
            let expected = "a region on NAXIS1 and NAXIS2, both reduced";
            let found = format!("{} axes, of which these are not both reduced", axes.len());
            return Err(image.refused(Reason::Region, expected, found));
        }
        let lines = plane_lines(image, section, regions, union, options)?;
        let plane_pixels: u64 = lines.iter().map(|line| line.stretch.count).sum();
        let grid = Grid::beyond(2, axes, section, reduced);
        let planes = Outer { origin: grid.origin, loops: grid.loops.clone() };
        // A section without pixels has no planes either.
        let count = if section.pixels() == 0 { 0 } else { planes.count() };
        // Whole tiles are a task where that is possible.
        let unit = image.pixel_bytes().unit;
        let most_lines = if unit > 1 { LINES_OF_TILES as usize } else { TASK_LINES };
        let pieces = pieces(&lines, TASK_PIXELS.max(unit), most_lines);
        let planes_per_task = match pieces.len() {
            2 => {
                let by_pixels = TASK_PIXELS.max(unit) / plane_pixels.max(1);
                let by_lines = (most_lines / lines.len()) as u64;
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
        let ends = self.lines.iter().map(|PlaneLine { stretch, .. }| {
            let across = stretch.stride * (stretch.count - 1) as i64;
            stretch.first.max(stretch.first.wrapping_add_signed(across))
        });
        let end = ends.max()? + self.planes.origin;
        Some(end.saturating_add_signed(steps_forward(&self.planes.loops)))
    }
}

/// The lines of every region in the plane that begins at pixel 0, in the order of the section.
fn plane_lines(
    image: &Image,
    section: &Section,
    regions: &[Region],
    union: bool,
    options: &RunOptions<'_>,
) -> Result<Vec<PlaneLine>, Error> {
    let columns = section.ranges()[0];
    let mut lines = Vec::new();
    let mut taken = BTreeMap::new();
    for (number, region) in (0..).zip(regions) {
        let mut whole = Vec::new();
        for_each_span(image, section, region, options, |row, spans| {
            let row_pixel = spans[0].y * image.axes()[0];
            let mut push =
                |spans: &[RowSpan]| push_spans(&mut whole, columns, row, row_pixel, spans);
            if union {
                let taken = taken.entry(row).or_insert_with(Vec::new);
                push(&without(spans, taken));
                add(spans, taken);
            } else {
                push(spans);
            }
            if whole.len() + lines.len() > MOST_LINES { Err(too_many(image)) } else { Ok(()) }
        })?;
        let region = if union { 0 } else { number };
        let size = image.pixel_bytes().size;
        let mut leaf = None;
        for (stretch, position) in whole {
            let more = stretch.count.div_ceil(line_pixels(stretch.stride, size));
            if lines.len() as u64 + more > MOST_LINES as u64 {
                return Err(too_many(image));
            }
            split(stretch, size, |stretch, before| {
                let position = position + before;
                let (leaf, leaf_position) = place_in_leaf(&mut leaf, stretch.count, position);
                lines.push(PlaneLine { region, stretch, position, leaf, leaf_position });
            });
        }
    }
    let row = |line: &PlaneLine| line.leaf_position / columns.count.max(1);
    lines.sort_by_key(|line| (row(line), line.region, line.position));
    Ok(lines)
}

/// Places the next line of a region as [`crate::lines::GridLines`] does: in the open leaf (its pixels, and the position of
/// its first line) or in a new one.
fn place_in_leaf(open: &mut Option<(u64, u64)>, count: u64, position: u64) -> (LeafPlace, u64) {
    const LEAF: u64 = LEAF_PIXELS as u64;
    match open {
        Some((pixels, first)) if *pixels + count <= LEAF => {
            *pixels += count;
            (LeafPlace::Next, *first)
        }
        _ => {
            *open = (count < LEAF).then_some((count, position));
            (if count < LEAF { LeafPlace::First } else { LeafPlace::Alone }, position)
        }
    }
}

/// Calls `each` with every row of the section, by its number within it, that a region has pixels in, and with their
/// spans.
fn for_each_span(
    image: &Image,
    section: &Section,
    region: &Region,
    options: &RunOptions<'_>,
    mut each: impl FnMut(u64, &[RowSpan]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (width, rows) = (image.axes()[0], section.ranges()[1]);
    let Some((first, last)) = region.rows(image.axes()[1]) else { return Ok(()) };
    let Some((from, end)) = indices_in(rows, first, last) else { return Ok(()) };
    if end - from > MOST_LINES as u64 {
        return Err(too_many(image));
    }
    let mut spans = Vec::new();
    let mut walk = RegionRows::new(region, rows.step >= 0);
    let total = section.pixels().saturating_mul(image.pixel_bytes().size);
    for row in from..end {
        options.check(0, total)?;
        spans.clear();
        walk.row(rows.first.wrapping_add_signed(rows.step * row as i64), width, &mut spans);
        if !spans.is_empty() {
            each(row, &spans)?;
        }
    }
    Ok(())
}

fn too_many(image: &Image) -> Error {
    let expected = format!("regions of at most {MOST_LINES} rows and spans");
    image.refused(Reason::Memory, expected, "more")
}

/// Adds the part of some spans of a row inside the section to the stretches of a region, each with
/// the position of its first pixel. A span that continues the last stretch extends it, as in
/// [`Grid`].
fn push_spans(
    stretches: &mut Vec<(Stretch, u64)>,
    columns: AxisRange,
    row: u64,
    row_pixel: u64,
    spans: &[RowSpan],
) {
    let stride = if columns.count > 1 { columns.step } else { 1 };
    let parts = spans.iter().filter_map(|span| indices_in(columns, span.first, span.last));
    let mut parts: Vec<_> = parts.collect();
    parts.sort_unstable();
    for (index, end) in parts {
        let first = row_pixel + columns.first.wrapping_add_signed(columns.step * index as i64);
        let position = row * columns.count + index;
        match stretches.last_mut() {
            Some((last, begun))
                if last.after() == Some(first) && *begun + last.count == position =>
            {
                last.count += end - index;
            }
            _ => stretches.push((Stretch { first, count: end - index, stride }, position)),
        }
    }
}

/// Cuts a stretch into lines: each, and how many pixels come before it.
fn split(stretch: Stretch, size: u64, mut line: impl FnMut(Stretch, u64)) {
    let length = line_pixels(stretch.stride, size);
    for before in (0..stretch.count).step_by(length as usize) {
        let first = stretch.first.wrapping_add_signed(stretch.stride * before as i64);
        let count = length.min(stretch.count - before);
        line(Stretch { first, count, ..stretch }, before);
    }
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
    (from <= to).then(|| (from as u64, to as u64 + 1))
}

/// Cuts the lines of a plane into pieces of about a task each: where each begins, and the end.
fn pieces(lines: &[PlaneLine], most_pixels: u64, most_lines: usize) -> Vec<usize> {
    let mut pieces = vec![0];
    let mut pixels = 0;
    for (index, line) in lines.iter().enumerate() {
        let begun = pieces[pieces.len() - 1];
        let may_begin = line.leaf != LeafPlace::Next;
        if may_begin && index > begun && (pixels >= most_pixels || index - begun >= most_lines) {
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
                    leaf: part.leaf,
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
