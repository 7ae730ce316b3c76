//! Lines: runs of equally spaced pixels, and plans that are sequences of them.
//!
//! A plan for a reduction whose innermost loop is reduced is a sequence of [`Line`]s in a fixed order. Each
//! becomes a separate state, and states are merged in that order; the division of lines into tasks never
//! changes a result.

use std::ops::Range;

use tachyfits_io::{Extent, Fetched, Storage, Tasks};
use tachyfits_kernels::{LEAF_PIXELS, gather, prefetch_all};

use crate::grid::{Grid, Loop, Outer, Place};

/// Maximum number of pixels of a line, which becomes a separate state. 512 KiB of f64: an L2 cache of 1 or 2
/// MiB reads a block of this size at full speed and still contains it when it is folded (blocks of 2 MiB:
/// half the speed).
pub(crate) const LINE_PIXELS: u64 = 1 << 16;

/// A task has whole tiles if they take at most this number of bytes, so that no two threads need the same
/// tile. Larger tiles are shared through the tile cache.
const UNIT_BYTES: u64 = 8 << 20;

/// Maximum number of lines of a task.
const LINES_PER_TASK: u64 = 1024;
/// Maximum number of lines of a task of whole tiles: a section may need only short rows of them.
pub(crate) const LINES_OF_TILES: u64 = 4096;

/// Pixels further apart are read one by one: the size of a page of the page cache.
const FAR_BYTES: u64 = 4096;

/// Position of pixels in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PixelBytes {
    /// Offset of the first pixel.
    pub(crate) offset: u64,
    /// Bytes of a pixel.
    pub(crate) size: u64,
    /// Number of consecutive pixels, counted from the first, to fetch at a time: the pixels of whole tiles; 1
    /// if any number works.
    pub(crate) unit: u64,
}

impl PixelBytes {
    /// Describes pixels of a storage.
    pub(crate) fn of(storage: &dyn Storage, offset: u64, size: u64) -> PixelBytes {
        let unit_bytes = if storage.computes() { storage.profile().request_bytes } else { 0 };
        let unit = if unit_bytes > UNIT_BYTES { 1 } else { (unit_bytes / size).max(1) };
        PixelBytes { offset, size, unit }
    }

    /// Returns the byte range of consecutive pixels.
    pub(crate) fn bytes(&self, pixels: Range<u64>) -> Range<u64> {
        self.offset + pixels.start * self.size..self.offset + pixels.end * self.size
    }
}

/// Equally spaced pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Pixel of the file.
    pub(crate) first: u64,
    pub(crate) count: u64,
    /// Distance to the next pixel; negative for backward steps.
    pub(crate) stride: i64,
}

impl Stretch {
    /// Whether the pixels are read as one range, including the bytes between them.
    fn is_near(&self, size: u64) -> bool {
        self.stride.unsigned_abs() * size <= FAR_BYTES
    }

    /// Returns the pixel after the last one; `None` before the first pixel of the file.
    pub(crate) fn after(&self) -> Option<u64> {
        self.first.checked_add_signed(self.stride * self.count as i64)
    }

    /// Returns the range of pixels from the lowest to the highest in the file.
    pub(crate) fn span(&self) -> Range<u64> {
        if self.count == 0 {
            return self.first..self.first;
        }
        let steps = (self.count - 1) * self.stride.unsigned_abs();
        let lowest = if self.stride < 0 { self.first - steps } else { self.first };
        lowest..lowest + steps + 1
    }

    /// Returns the number of pixels in the byte ranges.
    pub(crate) fn pixels_read(&self, size: u64) -> u64 {
        match self.is_near(size) {
            true => self.span().end - self.span().start,
            false => self.count,
        }
    }

    /// Appends the byte ranges of the pixels.
    pub(crate) fn ranges(&self, pixels: PixelBytes, ranges: &mut Vec<Range<u64>>) {
        if self.count == 0 {
            return;
        }
        if self.is_near(pixels.size) {
            ranges.push(pixels.bytes(self.span()));
        } else {
            let pixel = |index: u64| self.first.wrapping_add_signed(self.stride * index as i64);
            ranges
                .extend((0..self.count).map(|index| pixels.bytes(pixel(index)..pixel(index) + 1)));
        }
    }

    /// Returns the pixels contiguously, from fetched ranges; `piece` is the number of the first range, and is
    /// advanced.
    #[inline]
    pub(crate) fn collect<'a>(
        &self,
        fetched: &'a Fetched<'_>,
        piece: &mut usize,
        pixels: PixelBytes,
        gathered: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        // Most stretches are rows, which may be short and numerous.
        if self.stride == 1
            && let Some(row) = fetched.lent(pixels.bytes(self.first..self.first + self.count), true)
        {
            return row;
        }
        self.gather(fetched, piece, pixels, gathered)
    }

    fn gather<'a>(
        &self,
        fetched: &'a Fetched<'_>,
        piece: &mut usize,
        pixels: PixelBytes,
        gathered: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        if self.count == 0 {
            return &[];
        }
        let (size, size_bytes) = (pixels.size, pixels.size as usize);
        if let Some(bytes) = fetched.lent(pixels.bytes(self.span()), self.is_near(size)) {
            if self.count == 1 {
                return bytes;
            }
            // At most the pixels of a line: 512 KiB.
            gathered.resize(self.count as usize * size_bytes, 0);
            gather(bytes, size_bytes, self.stride, gathered);
        } else if self.is_near(size) {
            let bytes = fetched.piece(*piece);
            *piece += 1;
            if self.stride == 1 || self.count == 1 {
                return bytes;
            }
            // At most the pixels of a line: 512 KiB.
            gathered.resize(self.count as usize * size_bytes, 0);
            gather(bytes, size_bytes, self.stride, gathered);
        } else {
            gathered.clear();
            for index in 0..self.count as usize {
                gathered.extend_from_slice(fetched.piece(*piece + index));
            }
            *piece += self.count as usize;
        }
        gathered
    }
}

/// Pixels of one output, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) stretch: Stretch,
    pub(crate) output: u64,
    /// Linear index of the first pixel among the reduced pixels; the other pixels follow.
    pub(crate) position: u64,
    pub(crate) leaf: LeafPlace,
}

/// How a line is folded. Short rows of a plane share leaves, as many whole rows as fit in a leaf: calling a
/// kernel for each row takes most of the time of a small region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeafPlace {
    /// Alone.
    Alone,
    /// As the first line of a leaf.
    First,
    /// Contiguous with the previous line, which has the same output and task.
    Next,
}

/// Lines at one of several places with the same lines, such as the lines of a region in one plane.
pub(crate) struct LineGroup<'a> {
    /// Lines relative to the place.
    lines: &'a [Line],
    place: Place,
    /// Distance in pixels to the same lines of a later group if prefetching them pays, otherwise 0.
    ahead: i64,
}

impl<'a> LineGroup<'a> {
    /// Returns a group with a single line.
    pub(crate) fn of_line(line: &'a Line) -> LineGroup<'a> {
        LineGroup::new(std::slice::from_ref(line), Place::default(), 0)
    }

    pub(crate) fn new(lines: &'a [Line], place: Place, ahead: i64) -> LineGroup<'a> {
        LineGroup { lines, place, ahead }
    }

    /// Iterates over the lines, in order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line> {
        let place = self.place;
        self.lines.iter().map(move |line| Line {
            stretch: Stretch { first: line.stretch.first + place.pixel, ..line.stretch },
            output: line.output + place.output,
            position: line.position + place.position,
            leaf: line.leaf,
        })
    }

    /// Prefetches the lines of a later group if the storage lends them: processors prefetch only long rows by
    /// themselves.
    pub(crate) fn prefetch(&self, fetched: &Fetched<'_>, pixels: PixelBytes) {
        if self.ahead == 0 {
            return;
        }
        for line in self.lines() {
            let span = line.stretch.span();
            let later = |pixel: u64| pixel.checked_add_signed(self.ahead);
            let (Some(start), Some(end)) = (later(span.start), later(span.end)) else { return };
            match fetched.lent(pixels.bytes(start..end), false) {
                Some(bytes) => prefetch_all(bytes),
                None => return,
            }
        }
    }
}

/// A plan made of lines.
pub(crate) trait Lines: Sync {
    /// Returns the number of tasks.
    fn tasks(&self) -> u64;
    /// Visits the lines of a task in groups, in order.
    fn groups(&self, task: u64, group: &mut dyn FnMut(&LineGroup<'_>));
    /// Visits the lines of a task one by one, in order.
    fn visit(&self, task: u64, line: &mut dyn FnMut(Line)) {
        self.groups(task, &mut |group| group.lines().for_each(&mut *line));
    }
    /// Returns the number of pixels in the byte ranges of a task, and the range from the first to the last
    /// pixel.
    fn extent(&self, task: u64, size: u64) -> (u64, Range<u64>) {
        let (mut pixels, mut start, mut end) = (0, u64::MAX, 0);
        self.visit(task, &mut |line| {
            let span = line.stretch.span();
            pixels += line.stretch.pixels_read(size);
            if !span.is_empty() {
                (start, end) = (start.min(span.start), end.max(span.end));
            }
        });
        (pixels, start..end)
    }
    /// Whether the lines of an output are consecutive.
    fn is_sequential(&self) -> bool;
    /// Total number of pixels.
    fn pixels(&self) -> u64;
}

/// Reads of lines.
pub(crate) struct LineReads<'a> {
    pub(crate) lines: &'a dyn Lines,
    pub(crate) pixels: PixelBytes,
}

impl Tasks for LineReads<'_> {
    fn len(&self) -> u64 {
        self.lines.tasks()
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        self.lines.visit(index, &mut |line| line.stretch.ranges(self.pixels, ranges));
    }

    fn extent(&self, index: u64) -> Option<Extent> {
        let (pixels, within) = self.lines.extent(index, self.pixels.size);
        let bytes = pixels * self.pixels.size;
        (bytes > 0).then(|| Extent { bytes, within: self.pixels.bytes(within) })
    }
}

/// Returns the number of pixels of the file read per pixel of a stretch.
fn pixels_read(stride: i64, size: u64) -> u64 {
    stride.unsigned_abs().min(FAR_BYTES / size)
}

/// Returns the maximum number of pixels of a line: whole leaves, for which about [`LINE_PIXELS`] are read.
pub(crate) fn line_pixels(stride: i64, size: u64) -> u64 {
    let leaf = LEAF_PIXELS as u64;
    (LINE_PIXELS / pixels_read(stride, size) / leaf * leaf).max(leaf)
}

/// Lines of a section.
#[derive(Clone, Debug)]
pub(crate) struct GridLines {
    inner: Loop,
    outer: Outer,
    /// Pixels of a line, except for the last line of a loop.
    length: u64,
    lines_per_loop: u64,
    /// Lines of a plane that may share leaves, and lines per leaf; both 1 if no lines share a leaf.
    lines_per_plane: u64,
    lines_per_leaf: u64,
    leaves_per_task: u64,
    lines: u64,
    sequential: bool,
    pixels: u64,
}

impl GridLines {
    /// Returns the lines along the innermost loop, which must be reduced or not according to `reduced`.
    pub(crate) fn new(grid: &Grid, reduced: bool, pixels: PixelBytes) -> GridLines {
        let (inner, outer) = grid.split_innermost(reduced);
        let cost = pixels_read(inner.stride, pixels.size);
        let length = line_pixels(inner.stride, pixels.size);
        let lines_per_loop = inner.count.div_ceil(length);
        let lines_per_task = match lines_per_loop {
            0 | 1 => LINE_PIXELS.max(pixels.unit) / (cost * inner.count.max(1)),
            _ => pixels.unit / (cost * length),
        };
        let most = if pixels.unit > 1 { LINES_OF_TILES } else { LINES_PER_TASK };
        let lines_per_task = lines_per_task.clamp(1, most);
        let lines = outer.count() * lines_per_loop;
        let (lines_per_plane, lines_per_leaf) = match grid.rows_of_plane() {
            Some(rows) if reduced && inner.count < LEAF_PIXELS as u64 => {
                (rows, rows_of_leaf(inner.count))
            }
            _ => (1, 1),
        };
        let kept_after_reduced =
            outer.loops.iter().skip_while(|level| level.reduced).all(|level| !level.reduced);
        GridLines {
            inner,
            length,
            lines_per_loop,
            lines_per_plane,
            lines_per_leaf,
            leaves_per_task: (lines_per_task / lines_per_leaf).max(1),
            lines,
            sequential: kept_after_reduced,
            pixels: outer.count() * inner.count,
            outer,
        }
    }

    fn line(&self, index: u64) -> Line {
        // Most loops have one line: short lines are numerous, and divisions take longer than adding their
        // pixels.
        let (run, part) = match self.lines_per_loop {
            1 => (index, 0),
            lines => (index / lines, index % lines),
        };
        let place = self.outer.place(run);
        let before = part * self.length;
        let first = place.pixel.wrapping_add_signed(self.inner.stride * before as i64);
        let count = self.length.min(self.inner.count - before);
        let stretch = Stretch { first, count, stride: self.inner.stride };
        let leaf = match self.lines_per_leaf {
            1 => LeafPlace::Alone,
            lines if (index % self.lines_per_plane).is_multiple_of(lines) => LeafPlace::First,
            _ => LeafPlace::Next,
        };
        Line { stretch, output: place.output, position: place.position + before, leaf }
    }

    fn leaves_per_plane(&self) -> u64 {
        self.lines_per_plane.div_ceil(self.lines_per_leaf)
    }

    /// Returns the number of the first line of a leaf.
    fn first_line(&self, leaf: u64) -> u64 {
        let (plane, of_plane) = (leaf / self.leaves_per_plane(), leaf % self.leaves_per_plane());
        (plane * self.lines_per_plane + of_plane * self.lines_per_leaf).min(self.lines)
    }

    /// Returns the lines of a task, in order.
    fn of_task(&self, task: u64) -> impl Iterator<Item = Line> {
        let first = task * self.leaves_per_task;
        let lines = self.first_line(first)..self.first_line(first + self.leaves_per_task);
        lines.map(|index| self.line(index))
    }
}

/// Returns the number of rows of `pixels` pixels that fit in a leaf.
fn rows_of_leaf(pixels: u64) -> u64 {
    (LEAF_PIXELS as u64 / pixels.max(1)).max(1)
}

impl Lines for GridLines {
    fn tasks(&self) -> u64 {
        let leaves = self.lines / self.lines_per_plane * self.leaves_per_plane();
        leaves.div_ceil(self.leaves_per_task)
    }

    fn groups(&self, task: u64, group: &mut dyn FnMut(&LineGroup<'_>)) {
        self.of_task(task).for_each(|line| group(&LineGroup::of_line(&line)));
    }

    fn visit(&self, task: u64, line: &mut dyn FnMut(Line)) {
        self.of_task(task).for_each(line);
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

    use super::*;
    use crate::section::{AxisRange, Section};

    /// Returns the lines of all tasks, and the number of tasks.
    fn lines_of(grid: &Grid, reduced: bool, unit: u64) -> (Vec<Line>, u64) {
        let lines = GridLines::new(grid, reduced, PixelBytes { offset: 0, size: 2, unit });
        let mut all_lines = Vec::new();
        (0..lines.tasks()).for_each(|task| lines.visit(task, &mut |line| all_lines.push(line)));
        (all_lines, lines.tasks())
    }

    proptest! {
        #[test]
        fn whole_tiles_are_a_task_and_change_no_line(
            axes in prop::collection::vec(1u64..90, 2..4), step in 1i64..3, reduced: bool, unit in 1u64..300_000,
        ) {
            let axes: Vec<u64> = axes.iter().map(|axis| axis * axis % 700 + 1).collect();
            let ranges: Vec<AxisRange> = axes
                .iter()
                .map(|axis| AxisRange { first: 0, count: axis.div_ceil(step as u64), step })
                .collect();
            let section = Section::new(&axes, &ranges).unwrap();
            let grid = Grid::new(&axes, &section, &vec![reduced; axes.len()]);
            let (alone, tasks) = lines_of(&grid, reduced, 1);
            let (grouped, fewer) = lines_of(&grid, reduced, unit);
            prop_assert_eq!(alone, grouped);
            prop_assert!(fewer <= tasks);
        }
    }

    #[test]
    fn tasks_begin_where_tiles_do() {
        // Two planes of 512 by 512 pixels in tiles of 256 by 256: four bands.
        let axes = [512, 512, 2];
        let ranges = axes.map(|count| AxisRange { first: 0, count, step: 1 });
        let grid = Grid::new(&axes, &Section::new(&axes, &ranges).unwrap(), &[true; 3]);
        let unit = 512 * 256;
        let lines = GridLines::new(&grid, true, PixelBytes { offset: 0, size: 2, unit });
        assert_eq!(lines.tasks(), 4);
        for task in 0..4 {
            let mut first = None;
            lines.visit(task, &mut |line| first = first.or(Some(line.stretch.first)));
            assert_eq!(first, Some(task * unit));
        }
    }
}
