//! Lines of regions: in every plane of a section, the rows of each region from bottom to top.

use std::collections::BTreeMap;
use std::ops::Range;

use tachyfits_kernels::LEAF_PIXELS;

use tachyfits_io::operation::RunOptions;
use tachyfits_memory::{self as memory, NoMemory};

use crate::error::{Error, Reason};
use crate::grid::{Grid, Outer, Place, steps_forward};
use crate::image::Image;
use crate::lines::{
    LINES_OF_TILES, LeafPlace, Line, LineGroup, Lines, PixelBytes, Stretch, line_pixels,
};
use crate::region::{Region, RegionRows};
use crate::row_spans::{RowSpan, add, without};
use crate::section::{AxisRange, Section};

/// Approximate number of pixels of a task, including gaps between regions, which are read as well.
const TASK_PIXELS: u64 = 1 << 17;
/// Maximum number of lines of a task.
const TASK_LINES: usize = 1024;
/// Maximum number of planes of a task.
const TASK_PLANES: u64 = 64;
/// Number of planes ahead for prefetching, and maximum number of pixels of a plane for which it pays:
/// processors prefetch long rows by themselves.
const PLANES_AHEAD: i64 = 2;
const AHEAD_PIXELS: u64 = 1024;
/// Maximum number of rows, and of lines, of the regions of a request: a million, beyond real images. Their
/// lines take some 40 MB.
const MOST_LINES: usize = 1 << 20;

/// A line of a region in the first plane.
#[derive(Clone, Copy, Debug)]
struct PlaneLine {
    /// Line; its output is the number of the region.
    line: Line,
    /// The position of the first line of its leaf.
    leaf_position: u64,
}

/// Lines of a plane that always belong to the same task.
#[derive(Clone, Debug)]
struct PlanePiece {
    lines: Range<usize>,
    /// Number of pixels in the lines' byte ranges.
    pixels: u64,
    /// Range from the first to the last pixel in the file.
    span: Range<u64>,
}

/// Lines of regions.
#[derive(Clone, Debug)]
pub(crate) struct RegionLines {
    /// Lines of the plane that begins at pixel 0, ordered by row.
    lines: Vec<Line>,
    pieces: Vec<PlanePiece>,
    planes: Outer,
    planes_per_task: u64,
    /// Distance in pixels to the plane whose lines are prefetched.
    ahead: i64,
    sequential: bool,
    pixels: u64,
}

impl RegionLines {
    /// Creates the lines of `regions` within a section: their rows, with contiguous rows merged. With
    /// `union`, all regions count as one, and pixels in several of them are used once.
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
            let actual = format!("{} axes, of which these are not both reduced", axes.len());
            return Err(image.refused(Reason::Region, expected, actual));
        }
        let mut lines = plane_lines(image, section, regions, union, options)?;
        let plane_pixels: u64 = lines.iter().map(|line| line.stretch.count).sum();
        let grid = Grid::beyond(2, axes, section, reduced);
        let planes = Outer { origin: grid.origin, loops: grid.loops.clone() };
        // A section without pixels has no planes either.
        let count = if section.pixels() == 0 { 0 } else { planes.count() };
        // A task consists of whole tiles if possible.
        let PixelBytes { unit, size, .. } = image.pixel_bytes();
        let most_lines = if unit > 1 { LINES_OF_TILES as usize } else { TASK_LINES };
        let pieces = pieces(&lines, size, TASK_PIXELS.max(unit), most_lines);
        let planes_per_task = match pieces.len() {
            1 => {
                let by_pixels = TASK_PIXELS.max(unit) / plane_pixels.max(1);
                let by_lines = (most_lines / lines.len()) as u64;
                by_pixels.min(by_lines).clamp(1, TASK_PLANES)
            }
            _ => 1,
        };
        let all_reduced_below =
            planes.loops.iter().skip_while(|level| level.reduced).all(|level| !level.reduced);
        let is_one = lines.iter().all(|line| line.output == 0);
        lines.iter_mut().for_each(|line| line.output *= grid.outputs);
        Ok(RegionLines {
            pixels: plane_pixels.saturating_mul(count),
            sequential: is_one && all_reduced_below,
            lines: if count == 0 { Vec::new() } else { lines },
            pieces,
            ahead: planes.loops.first().map_or(0, |level| PLANES_AHEAD * level.stride),
            planes,
            planes_per_task,
        })
    }

    /// Returns the pieces of a task, each with the place of its plane.
    fn pieces_of(&self, task: u64) -> impl Iterator<Item = (&PlanePiece, Place)> {
        let pieces = self.pieces.len() as u64;
        let first = task * self.planes_per_task;
        let end = (first + self.planes_per_task).min(self.planes.count() * pieces);
        let piece = move |index| {
            (&self.pieces[(index % pieces) as usize], self.planes.place(index / pieces))
        };
        (first..end).map(piece)
    }

    /// Returns the last pixel of the file that the lines reach.
    pub(crate) fn last_pixel(&self) -> Option<u64> {
        let last = self.lines.iter().map(|line| line.stretch.span().end - 1);
        let end = last.max()? + self.planes.origin;
        Some(end.saturating_add_signed(steps_forward(&self.planes.loops)))
    }
}

/// Purpose of the memory, for errors.
const LINES: &str = "the rows of regions";

/// Returns the lines of every region in the plane that begins at pixel 0, in the order of the section.
fn plane_lines(
    image: &Image,
    section: &Section,
    regions: &[Region],
    union: bool,
    options: &RunOptions<'_>,
) -> Result<Vec<Line>, Error> {
    let columns = section.ranges()[0];
    let mut lines: Vec<PlaneLine> = Vec::new();
    let mut spans_of_rows = BTreeMap::new();
    for (number, region) in (0..).zip(regions) {
        let mut stretches = Vec::new();
        for_each_span(image, section, region, options, |row, spans| {
            let row_pixel = spans[0].y * image.axes()[0];
            let mut push =
                |spans: &[RowSpan]| push_spans(&mut stretches, columns, row, row_pixel, spans);
            if union {
                let row_spans = spans_of_rows.entry(row).or_insert_with(Vec::new);
                push(&without(spans, row_spans))?;
                add(spans, row_spans);
            } else {
                push(spans)?;
            }
            if stretches.len() + lines.len() > MOST_LINES { Err(too_many(image)) } else { Ok(()) }
        })?;
        let output = if union { 0 } else { number };
        let size = image.pixel_bytes().size;
        let mut leaf = None;
        for (stretch, position) in stretches {
            let more = stretch.count.div_ceil(line_pixels(stretch.stride, size));
            if lines.len() as u64 + more > MOST_LINES as u64 {
                return Err(too_many(image));
            }
            memory::reserve(&mut lines, more as usize, LINES)?;
            split(stretch, size, |stretch, before| {
                let position = position + before;
                let (leaf, leaf_position) = place_in_leaf(&mut leaf, stretch.count, position);
                let line = Line { stretch, output, position, leaf };
                // Memory for `more` lines is reserved.
                lines.push(PlaneLine { line, leaf_position });
            });
        }
    }
    let row = |line: &PlaneLine| line.leaf_position / columns.count.max(1);
    // No two lines of a region have the same position.
    lines.sort_unstable_by_key(|line| (row(line), line.line.output, line.line.position));
    Ok(memory::collected(lines.into_iter().map(|line| line.line), LINES)?)
}

/// Places the next line of a region as [`crate::lines::GridLines`] does: in the open leaf, given by its
/// number of pixels and the position of its first line, or in a new one.
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

/// Calls `each` for every row of the section that contains pixels of a region, with the number of the row in
/// the section and the spans.
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

/// Adds the part of a row's spans inside the section to the stretches of a region, each with the position of
/// its first pixel. A span that continues the last stretch extends it, as in [`Grid`].
fn push_spans(
    stretches: &mut Vec<(Stretch, u64)>,
    columns: AxisRange,
    row: u64,
    row_pixel: u64,
    spans: &[RowSpan],
) -> Result<(), NoMemory> {
    let stride = if columns.count > 1 { columns.step } else { 1 };
    let parts = spans.iter().filter_map(|span| indices_in(columns, span.first, span.last));
    let mut parts: Vec<_> = parts.collect();
    parts.sort_unstable();
    memory::reserve(stretches, parts.len(), LINES)?;
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
    Ok(())
}

/// Splits a stretch into lines, and calls `line` with each and the number of pixels before it.
fn split(stretch: Stretch, size: u64, mut line: impl FnMut(Stretch, u64)) {
    let length = line_pixels(stretch.stride, size);
    for before in (0..stretch.count).step_by(length as usize) {
        let first = stretch.first.wrapping_add_signed(stretch.stride * before as i64);
        let count = length.min(stretch.count - before);
        line(Stretch { first, count, ..stretch }, before);
    }
}

/// Returns the first and last step of the range whose positions are in `first..=last`.
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

/// Divides the lines of a plane into pieces of about one task each.
fn pieces(lines: &[Line], size: u64, most_pixels: u64, most_lines: usize) -> Vec<PlanePiece> {
    let mut pieces: Vec<PlanePiece> = Vec::new();
    // Pixels of the last piece, without the gaps.
    let mut line_pixels_of_piece = 0;
    for (index, line) in lines.iter().enumerate() {
        let span = line.stretch.span();
        let is_full = |piece: &PlanePiece| {
            line_pixels_of_piece >= most_pixels || index - piece.lines.start >= most_lines
        };
        let begins = line.leaf != LeafPlace::Next && pieces.last().is_none_or(is_full);
        if begins {
            pieces.push(PlanePiece { lines: index..index, pixels: 0, span: span.clone() });
            line_pixels_of_piece = 0;
        }
        if let Some(piece) = pieces.last_mut() {
            piece.lines.end = index + 1;
            piece.pixels += line.stretch.pixels_read(size);
            piece.span = piece.span.start.min(span.start)..piece.span.end.max(span.end);
        }
        line_pixels_of_piece += line.stretch.count;
    }
    pieces
}

impl Lines for RegionLines {
    fn tasks(&self) -> u64 {
        if self.lines.is_empty() {
            return 0;
        }
        (self.planes.count() * self.pieces.len() as u64).div_ceil(self.planes_per_task)
    }

    fn groups(&self, task: u64, group: &mut dyn FnMut(&LineGroup<'_>)) {
        for (piece, place) in self.pieces_of(task) {
            let ahead = if piece.pixels <= AHEAD_PIXELS { self.ahead } else { 0 };
            group(&LineGroup::new(&self.lines[piece.lines.clone()], place, ahead));
        }
    }

    fn extent(&self, task: u64, _size: u64) -> (u64, Range<u64>) {
        let (mut pixels, mut start, mut end) = (0, u64::MAX, 0);
        for (piece, Place { pixel, .. }) in self.pieces_of(task) {
            pixels += piece.pixels;
            start = start.min(piece.span.start + pixel);
            end = end.max(piece.span.end + pixel);
        }
        (pixels, start..end)
    }

    fn is_sequential(&self) -> bool {
        self.sequential
    }

    fn pixels(&self) -> u64 {
        self.pixels
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tachyfits_io::{Extent, Tasks};

    use super::*;
    use crate::lines::LineReads;
    use crate::{Array, Header, PixelType};

    fn axis(length: u64, step: i64) -> AxisRange {
        let count = length.div_ceil(step.unsigned_abs());
        AxisRange { first: if step < 0 { length - 1 } else { 0 }, count, step }
    }

    proptest! {
        #[test]
        fn the_extent_of_a_task_is_that_of_its_ranges(
            x in -5.0..45f64,
            radius in 0.0..40f64,
            steps in prop::collection::vec(prop::sample::select(vec![-2i64, -1, 1, 3]), 3),
            keeps_planes: bool,
        ) {
            let axes = [40, 30, 7];
            let pixels = vec![0u8; 40 * 30 * 7];
            let array = Array { bytes: &pixels, pixel: PixelType::U8, axes: &axes };
            let image = array.to_file("example", &Header::new()).unwrap().image(0).unwrap();
            let ranges: Vec<_> = axes.iter().zip(steps).map(|(&n, step)| axis(n, step)).collect();
            let section = image.section(&ranges).unwrap();
            let regions = [
                Region::circle(x, 20.0, radius).unwrap(),
                Region::rectangle(20.0, 15.0, 3.0, 50.0, 0.0).unwrap(),
            ];
            let (reduced, options) = ([true, true, !keeps_planes], RunOptions::default());
            let lines = RegionLines::new(&image, &section, &reduced, &regions, false, &options);
            let lines = lines.unwrap();
            let reads = LineReads { lines: &lines, pixels: image.pixel_bytes() };
            for task in 0..reads.len() {
                let mut ranges = Vec::new();
                reads.ranges(task, &mut ranges);
                let start = ranges.iter().map(|range| range.start).min().unwrap();
                let end = ranges.iter().map(|range| range.end).max().unwrap();
                let bytes = ranges.iter().map(|range| range.end - range.start).sum();
                prop_assert_eq!(reads.extent(task), Some(Extent { bytes, within: start..end }));
            }
        }
    }
}
