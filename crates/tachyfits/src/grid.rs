//! A section as nested loops over pixels of the file, without degenerate axes and with contiguous axes
//! merged.
//!
//! The loops depend only on the section and on the reduced axes; they determine the order of every sum.

use crate::section::Section;

/// A loop with `count` steps of `stride` pixels in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) count: u64,
    /// Distance of steps in pixels of the file.
    pub(crate) stride: i64,
    /// Whether the steps are added up; otherwise each has its own outputs.
    pub(crate) reduced: bool,
    /// Increment of the linear index per step: among the reduced pixels if the loop is reduced, otherwise
    /// among the outputs.
    pub(crate) weight: u64,
}

/// Loops of a section, innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Pixel of the file at the start of every loop.
    pub(crate) origin: u64,
    pub(crate) loops: Vec<Loop>,
    /// Number of outputs: the product of the lengths of the remaining axes.
    pub(crate) outputs: u64,
    /// Number of pixels per output.
    pub(crate) reduced: u64,
    /// Whether both axes of the plane are reduced and its rows are not contiguous.
    has_rows: bool,
}

/// Position of the outer loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Pixel of the file.
    pub(crate) pixel: u64,
    /// Linear index of the output.
    pub(crate) output: u64,
    /// Linear index among the reduced pixels.
    pub(crate) position: u64,
}

impl Grid {
    /// Returns the loops of `section` of an image with these axes; `reduced` marks the reduced axes.
    pub(crate) fn new(axes: &[u64], section: &Section, reduced: &[bool]) -> Grid {
        Grid::beyond(0, axes, section, reduced)
    }

    /// Returns the loops without the first `skipped` axes, which then begin at pixel 0 but still count for
    /// outputs and pixels.
    pub(crate) fn beyond(
        skipped: usize,
        axes: &[u64],
        section: &Section,
        reduced: &[bool],
    ) -> Grid {
        let mut grid =
            Grid { origin: 0, loops: Vec::new(), outputs: 1, reduced: 1, has_rows: false };
        let empty = section.pixels() == 0;
        // Planes are reduced plane by plane and row by row, as regions must be: a box then has the same bits
        // as a section and as a region. Contiguous rows are merged in both.
        let plane = skipped == 0 && reduced.len() > 1 && reduced[0] && reduced[1];
        let mut plane_loops = 0;
        // The product fits in u64 for an image with pixels: the header scan checked it.
        let mut pixels_below = 1u64;
        for (axis, (range, &length)) in section.ranges().iter().zip(axes).enumerate() {
            let reduced = reduced[axis];
            let size = if reduced { &mut grid.reduced } else { &mut grid.outputs };
            let weight = *size;
            *size = size.saturating_mul(range.count);
            if axis >= skipped && !empty {
                grid.origin += range.first * pixels_below;
                // A single pixel may have any step, which is never taken.
                let step = if range.count > 1 { range.step } else { 1 };
                let stride = step * pixels_below as i64;
                let next = Loop { count: range.count, stride, reduced, weight };
                match axis {
                    0 | 1 if plane && length > 1 => grid.join_or_push(next),
                    _ if range.count == 1 => {}
                    _ if grid.loops.len() == plane_loops => grid.loops.push(next),
                    _ => grid.join_or_push(next),
                }
                if plane && axis == 1 {
                    plane_loops = grid.loops.len();
                    grid.has_rows = plane_loops == 2;
                }
            }
            pixels_below = pixels_below.saturating_mul(length);
        }
        if empty {
            grid.loops.push(Loop { count: 0, stride: 1, reduced: true, weight: 1 });
        }
        grid
    }

    /// Adds a loop, merged into the last one if it continues it.
    fn join_or_push(&mut self, next: Loop) {
        match self.loops.last_mut() {
            Some(last)
                if last.reduced == next.reduced
                    && last.stride * last.count as i64 == next.stride =>
            {
                last.count *= next.count;
            }
            _ => self.loops.push(next),
        }
    }

    /// Splits off the innermost loop; if there is none of this kind, returns a single step.
    pub(crate) fn split_innermost(&self, reduced: bool) -> (Loop, Outer) {
        match self.loops.split_first() {
            Some((&first, outer_loops)) if first.reduced == reduced => {
                (first, Outer { origin: self.origin, loops: outer_loops.to_vec() })
            }
            _ => {
                let single_step = Loop { count: 1, stride: 1, reduced, weight: 1 };
                (single_step, Outer { origin: self.origin, loops: self.loops.clone() })
            }
        }
    }

    /// Returns the number of rows of a plane if both axes are reduced and rows are not contiguous.
    pub(crate) fn rows_of_plane(&self) -> Option<u64> {
        self.loops.get(1).filter(|_| self.has_rows).map(|rows| rows.count)
    }

    /// Whether neighbours in the file belong to different outputs, so that folding rows is faster.
    pub(crate) fn is_kept_innermost(&self) -> bool {
        self.loops.first().is_some_and(|innermost| !innermost.reduced)
    }

    /// Returns the last pixel of the file that the loops reach; `None` without pixels.
    pub(crate) fn last_pixel(&self) -> Option<u64> {
        let empty = self.loops.iter().any(|level| level.count == 0);
        (!empty).then(|| self.origin.saturating_add_signed(steps_forward(&self.loops)))
    }
}

/// Returns the maximum distance of loops ahead of their origin; empty loops do not move.
pub(crate) fn steps_forward(loops: &[Loop]) -> i64 {
    let forward = loops.iter().filter(|level| level.stride > 0);
    forward.map(|level| level.stride * level.count.saturating_sub(1) as i64).sum()
}

/// Loops around an innermost one.
#[derive(Clone, Debug)]
pub(crate) struct Outer {
    pub(crate) origin: u64,
    pub(crate) loops: Vec<Loop>,
}

impl Outer {
    /// Returns the number of runs of the innermost loop.
    pub(crate) fn count(&self) -> u64 {
        self.loops.iter().map(|level| level.count).product()
    }

    /// Returns the start of a run by number.
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

    /// Returns the reduced loops, or the others.
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
    fn whole_planes_are_one_loop_and_stay_apart_when_reduced() {
        let whole = [(0, 4, 1), (0, 3, 1), (0, 1, 1), (0, 2, 1)];
        let level = |count, stride, reduced, weight| Loop { count, stride, reduced, weight };
        let reduced = grid(&[4, 3, 1, 2], &whole, &[true; 4]);
        assert_eq!(reduced.loops, [level(12, 1, true, 1), level(2, 12, true, 12)]);
        assert_eq!((reduced.outputs, reduced.reduced, reduced.last_pixel()), (1, 24, Some(23)));
        let unreduced = grid(&[4, 3, 1, 2], &whole, &[false; 4]);
        assert_eq!(unreduced.loops, [level(24, 1, false, 1)]);
        // A single spectrum is one line.
        let spectrum = grid(&[1, 1, 9], &[(0, 1, 1), (0, 1, 1), (0, 9, 1)], &[true; 3]);
        assert_eq!(spectrum.loops, [level(9, 1, true, 1)]);
    }

    #[test]
    fn a_column_of_a_plane_is_made_of_rows() {
        let column = [(2, 1, 5), (0, 3, 1), (1, 1, 1)];
        let level = |count, stride, weight| Loop { count, stride, reduced: true, weight };
        assert_eq!(grid(&[4, 3, 2], &column, &[true; 3]).loops, [level(1, 1, 1), level(3, 4, 1)]);
    }

    #[test]
    fn huge_axes_beside_an_empty_one_do_not_overflow() {
        let axes = [1 << 40, 0, 1 << 40, i64::MAX as u64];
        let whole = axes.map(|count| (0, count, 1));
        for reduced in [[true; 4], [false; 4], [true, true, false, false]] {
            let grid = grid(&axes, &whole, &reduced);
            assert_eq!((grid.loops.len(), grid.last_pixel()), (1, None));
            let empty = if reduced[1] { grid.reduced } else { grid.outputs };
            assert_eq!(empty, 0);
        }
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
