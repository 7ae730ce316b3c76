//! A section as nested loops over file pixels: degenerate axes gone, neighbours that run on into each other joined.
//!
//! The loops depend on the section and on which axes are reduced, on nothing else; they are what fixes the order of
//! every sum.

use crate::section::Section;

/// One loop: `count` steps, each `stride` pixels further in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) count: u64,
    /// Pixels of the file from one step to the next.
    pub(crate) stride: i64,
    /// The steps are added up; otherwise each has outputs of its own.
    pub(crate) reduced: bool,
    /// What a step adds to the linear index among the reduced pixels, or among the outputs.
    pub(crate) weight: u64,
}

/// The loops of a section, innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The file pixel where every loop begins.
    pub(crate) origin: u64,
    pub(crate) loops: Vec<Loop>,
    /// Outputs: the product of the counts of the axes that are kept.
    pub(crate) outputs: u64,
    /// Pixels per output.
    pub(crate) reduced: u64,
}

/// Where the outer loops stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// File pixel.
    pub(crate) pixel: u64,
    /// Linear index of the output.
    pub(crate) output: u64,
    /// Linear index among the reduced pixels.
    pub(crate) position: u64,
}

impl Grid {
    /// The loops of `section` of an image with these axes, with the axes marked in `reduced` reduced.
    pub(crate) fn new(axes: &[u64], section: &Section, reduced: &[bool]) -> Grid {
        Grid::beyond(0, axes, section, reduced)
    }

    /// The same without loops over the first `skipped` axes, which begin at pixel 0 then; their counts are counted.
    pub(crate) fn beyond(
        skipped: usize,
        axes: &[u64],
        section: &Section,
        reduced: &[bool],
    ) -> Grid {
        let mut grid = Grid { origin: 0, loops: Vec::new(), outputs: 1, reduced: 1 };
        let mut pixels_below = 1u64;
        for (axis, (range, &length)) in section.ranges().iter().zip(axes).enumerate() {
            let reduced = reduced[axis];
            let size = if reduced { &mut grid.reduced } else { &mut grid.outputs };
            let weight = *size;
            *size *= range.count;
            if axis >= skipped {
                grid.origin += range.first * pixels_below;
                // The step of a single pixel goes nowhere, and may be any number.
                let step = if range.count > 1 { range.step } else { 1 };
                let stride = step * pixels_below as i64;
                grid.push(Loop { count: range.count, stride, reduced, weight });
            }
            pixels_below *= length;
        }
        grid
    }

    fn push(&mut self, next: Loop) {
        match self.loops.last_mut() {
            _ if next.count == 1 => {}
            Some(last)
                if last.reduced == next.reduced
                    && last.stride * last.count as i64 == next.stride =>
            {
                last.count *= next.count;
            }
            _ => self.loops.push(next),
        }
    }

    /// Takes the innermost loop off; one step over nothing when there is none, reduced or not as the caller likes.
    pub(crate) fn split_innermost(&self, reduced: bool) -> (Loop, Outer) {
        match self.loops.split_first() {
            Some((&first, rest)) if first.reduced == reduced => {
                (first, Outer { origin: self.origin, loops: rest.to_vec() })
            }
            _ => {
                let one = Loop { count: 1, stride: 1, reduced, weight: 1 };
                (one, Outer { origin: self.origin, loops: self.loops.clone() })
            }
        }
    }

    /// The file pixel furthest from the beginning; `None` for no pixels.
    pub(crate) fn last_pixel(&self) -> Option<u64> {
        if self.outputs == 0 || self.reduced == 0 {
            return None;
        }
        let forward = self.loops.iter().filter(|level| level.stride > 0);
        let steps: i64 = forward.map(|level| level.stride * (level.count - 1) as i64).sum();
        Some(self.origin.saturating_add_signed(steps))
    }
}

/// Loops around an innermost one.
#[derive(Clone, Debug)]
pub(crate) struct Outer {
    pub(crate) origin: u64,
    pub(crate) loops: Vec<Loop>,
}

impl Outer {
    /// How often the innermost loop runs.
    pub(crate) fn count(&self) -> u64 {
        self.loops.iter().map(|level| level.count).product()
    }

    /// Where run number `index` begins.
    pub(crate) fn place(&self, mut index: u64) -> Place {
        let mut place = Place { pixel: self.origin, ..Place::default() };
        for level in &self.loops {
            let step = index % level.count;
            index /= level.count;
            place.pixel = place.pixel.wrapping_add_signed(level.stride * step as i64);
            let total = if level.reduced { &mut place.position } else { &mut place.output };
            *total += level.weight * step;
        }
        place
    }

    /// The loops of one kind, the others left out.
    pub(crate) fn only(&self, reduced: bool, origin: u64) -> Outer {
        let kind = self.loops.iter().filter(|level| level.reduced == reduced);
        Outer { origin, loops: kind.copied().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::AxisRange;

    fn grid(axes: &[u64], ranges: &[(u64, u64, i64)], reduced: &[bool]) -> Grid {
        let ranges: Vec<_> =
            ranges.iter().map(|&(first, count, step)| AxisRange { first, count, step }).collect();
        Grid::new(axes, &Section::new(axes, &ranges).unwrap(), reduced)
    }

    #[test]
    fn a_whole_cube_is_one_loop() {
        let grid = grid(&[4, 3, 2], &[(0, 4, 1), (0, 3, 1), (0, 2, 1)], &[true; 3]);
        assert_eq!(grid.loops, [Loop { count: 24, stride: 1, reduced: true, weight: 1 }]);
        assert_eq!((grid.outputs, grid.reduced, grid.last_pixel()), (1, 24, Some(23)));
    }

    #[test]
    fn places_are_those_of_nested_loops() {
        let grid = grid(&[5, 4, 3], &[(4, 3, -2), (1, 2, 2), (2, 3, -1)], &[true, false, true]);
        let (inner, outer) = grid.split_innermost(true);
        assert_eq!((inner.count, inner.stride), (3, -2));
        let mut index = 0;
        for z in 0..3 {
            for y in 0..2 {
                let place = outer.place(index);
                assert_eq!(place.pixel, 4 + (1 + 2 * y) * 5 + (2 - z) * 20);
                assert_eq!((place.output, place.position), (y, z * 3));
                index += 1;
            }
        }
        assert_eq!(index, outer.count());
    }

    #[test]
    fn the_last_pixel_of_a_backward_section_is_its_first() {
        let grid = grid(&[5, 4], &[(4, 5, -1), (3, 2, -2)], &[true; 2]);
        assert_eq!(grid.last_pixel(), Some(19));
    }
}
