//! How an image is cut into boxes when all of it is made: of a size that stays in the second-level cache, with long runs of
//! neighbouring pixels, and long enough along each axis that what lies beyond their ends is little beside them.

use std::ops::Range;

use tachyfits_io::{JoinedStorage, Tasks};

use super::node::{Node, Reads, Sources};
use super::window::Window;

/// Pixels of a box, about: 512 KiB of f32.
const BOX_PIXELS: u64 = 1 << 17;
/// Pixels of a run that is worth a read and a write of its own: 16 KiB of f32.
const RUN_PIXELS: u64 = 1 << 12;
/// The same where a box has many runs that are far apart in the file: the page cache takes pages one by one there, and
/// what is spent on each run counts (128 KiB of f32; writing in runs of 16 KiB took twice as long).
const FAR_RUN_PIXELS: u64 = 1 << 15;
/// The most pixels that a halo makes of a box whose runs are not far apart: it and what it is made from stay in the
/// second-level cache (1 MiB of f32; of four times as much, smoothing along z took a quarter longer).
const NEAR_PIXELS: u64 = 2 * BOX_PIXELS;
/// The most pixels that halos may make of a box.
const MOST_PIXELS: u64 = 1 << 21;
/// Bytes of a box of an image with its axes in another order: runs of 4096 x 4096 pixels of f32 can then both be 8 KiB.
const REORDERED_BYTES: u64 = 16 << 20;
/// How many such boxes an image has at least.
const REORDERED_BOXES: u64 = 16;
/// How many pixels a box has along an axis for one that lies beyond its end.
const HALO_SHARE: u64 = 4;
/// How many pixels a box has at least along an axis with a halo.
const HALO_LENGTH: u64 = 64;

/// The boxes of an image, x fastest.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    axes: Vec<u64>,
    shape: Vec<u64>,
    /// How many boxes along each axis.
    counts: Vec<u64>,
}

impl Tiles {
    /// Boxes of this shape.
    pub(crate) fn new(axes: &[u64], shape: Vec<u64>) -> Tiles {
        let counts = axes.iter().zip(&shape).map(|(length, part)| length.div_ceil(*part)).collect();
        Tiles { axes: axes.to_vec(), shape, counts }
    }

    pub(crate) fn len(&self) -> u64 {
        self.counts.iter().product()
    }

    pub(crate) fn window(&self, index: u64) -> Window {
        let mut rest = index;
        let mut window = Window { first: Vec::new(), count: Vec::new() };
        for axis in 0..self.axes.len() {
            let first = rest % self.counts[axis] * self.shape[axis];
            window.first.push(first);
            window.count.push(self.shape[axis].min(self.axes[axis] - first));
            rest /= self.counts[axis];
        }
        window
    }
}

/// The shape of a box of which each pixel is made from about `expansion` pixels of the inputs: runs first, then what the
/// halos ask for, then more along each axis in turn.
pub(crate) fn usual_shape(axes: &[u64], halo: &[u64], expansion: u64) -> Vec<u64> {
    let pixels = (BOX_PIXELS / expansion.max(1)).max(1);
    let mut shape = vec![1; axes.len()];
    let fill = |shape: &mut Vec<u64>, most: u64| {
        for axis in 0..axes.len() {
            let others: u64 =
                shape.iter().enumerate().filter(|(n, _)| *n != axis).map(|(_, c)| c).product();
            shape[axis] = (most / others).clamp(shape[axis], axes[axis].max(1));
            if shape[axis] < axes[axis] {
                break;
            }
        }
    };
    let before = |axis: usize| axes[..axis].iter().product::<u64>();
    let wanted: Vec<u64> = (0..axes.len())
        .map(|axis| match halo[axis] {
            0 => 1,
            halo => {
                let usual = match before(axis) {
                    near if near <= FAR_RUN_PIXELS => (NEAR_PIXELS / near.max(1)).min(HALO_LENGTH),
                    _ => HALO_LENGTH,
                };
                (2 * HALO_SHARE * halo).max(usual).min(axes[axis].max(1))
            }
        })
        .collect();
    // Axes with a halo whose pixels are further apart than a usual run.
    let far = (0..axes.len()).filter(|&axis| halo[axis] > 0 && before(axis) > RUN_PIXELS);
    let planes: u64 = far.map(|axis| wanted[axis]).product();
    let run = match planes {
        1 => RUN_PIXELS.min(pixels),
        planes => (MOST_PIXELS / expansion.max(1) / planes).clamp(RUN_PIXELS / 4, FAR_RUN_PIXELS),
    };
    fill(&mut shape, run);
    for axis in 0..axes.len() {
        shape[axis] = wanted[axis].clamp(shape[axis], axes[axis].max(1));
    }
    fill(&mut shape, pixels);
    shape
}

/// The shape of a box for an image that is another one with its axes in another order: the new axis n is the axis `order[n]`
/// of the input. Its runs are longer than usual, in the new image about `longer` times as long as in the input.
pub(crate) fn reordered_shape(
    axes: &[u64],
    order: &[usize],
    pixel_bytes: u64,
    longer: u64,
) -> Vec<u64> {
    let pixels: u64 = axes.iter().product();
    // Enough boxes for every thread, but none smaller than usual.
    let most = (pixels / REORDERED_BOXES).max(BOX_PIXELS).min(REORDERED_BYTES / pixel_bytes);
    let mut input_axes: Vec<usize> = (0..axes.len()).collect();
    input_axes.sort_by_key(|&axis| order[axis]);
    let mut shape = vec![1; axes.len()];
    while shape.iter().product::<u64>() < most {
        let by_output = run(axes, &shape, 0..axes.len());
        let by_input = run(axes, &shape, input_axes.iter().copied());
        let (first, second) = match by_input.0.saturating_mul(longer) <= by_output.0 {
            true => (by_input, by_output),
            false => (by_output, by_input),
        };
        let Some(axis) = first.1.or(second.1) else { break };
        shape[axis] = (shape[axis] * 2).min(axes[axis]);
    }
    shape
}

/// How long the runs of a box are in an image with its axes in this order, and the axis that has to grow for longer ones.
fn run(axes: &[u64], shape: &[u64], order: impl Iterator<Item = usize>) -> (u64, Option<usize>) {
    let mut length = 1;
    for axis in order {
        length *= shape[axis];
        if shape[axis] < axes[axis] {
            return (length, Some(axis));
        }
    }
    (length, None)
}

/// A box cut into such of about `most` pixels or fewer, in the order of its pixels.
pub(crate) fn pieces(window: &Window, most: u64) -> Vec<Window> {
    let long = window.count.iter().rposition(|&count| count > 1);
    let Some(axis) = long.filter(|_| window.pixels() > most) else {
        return vec![window.clone()];
    };
    let unit: u64 = window.count[..axis].iter().product();
    let (first, count) = (window.first[axis], window.count[axis]);
    if unit > most {
        let planes = (first..first + count).map(|index| window.along(axis, index, 1));
        return planes.flat_map(|plane| pieces(&plane, most)).collect();
    }
    let part = most / unit;
    (0..count.div_ceil(part))
        .map(|number| window.along(axis, first + number * part, part.min(count - number * part)))
        .collect()
}

/// The boxes as tasks of the pipeline.
pub(crate) struct TileReads<'a> {
    pub(crate) tiles: &'a Tiles,
    pub(crate) node: &'a dyn Node,
    pub(crate) sources: &'a Sources,
    pub(crate) joined: &'a JoinedStorage,
}

impl TileReads<'_> {
    /// The bytes that are asked for in all, about: those of the first box times the number of boxes.
    pub(crate) fn bytes(&self) -> u64 {
        let mut ranges = Vec::new();
        if self.is_empty() {
            return 0;
        }
        self.ranges(0, &mut ranges);
        let first: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        first.saturating_mul(self.len())
    }
}

impl Tasks for TileReads<'_> {
    fn len(&self) -> u64 {
        self.tiles.len()
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let mut reads = Reads { sources: self.sources, joined: self.joined, ranges };
        self.node.reads(&self.tiles.window(index), &mut reads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn boxes_are_what_the_shapes_of_cubes_ask_for() {
        let planes = |axes, halo| usual_shape(axes, halo, 1);
        assert_eq!(planes(&[1024, 1024, 1024], &[0, 0, 0]), [1024, 128, 1]);
        assert_eq!(planes(&[1024, 1024, 1024], &[0, 0, 1]), [1024, 32, 64]);
        assert_eq!(planes(&[4096, 4096, 64], &[0, 1, 0]), [4096, 64, 1]);
        assert_eq!(planes(&[128, 128, 65536], &[0, 0, 1]), [128, 128, 16]);
        assert_eq!(planes(&[4096, 4096, 64], &[0, 0, 1]), [4096, 8, 64]);
        assert_eq!(planes(&[0, 5, 7], &[0, 0, 1]), [1, 5, 7]);
        assert_eq!(planes(&[1024, 1024, 1024], &[0, 0, 50]), [1024, 5, 400]);
        assert_eq!(planes(&[100_000_000], &[1]), [131_072]);
        assert_eq!(usual_shape(&[512, 512, 512], &[0, 0, 0], 8), [512, 32, 1]);
        assert_eq!(usual_shape(&[512, 512, 512], &[0, 0, 0], 1 << 40), [1, 1, 1]);
    }

    #[test]
    fn boxes_of_another_order_have_long_runs_in_both() {
        // The old x, y and z are the new axes 1, 2 and 0.
        let shape = |axes: &[u64]| reordered_shape(axes, &[2, 0, 1], 4, 1);
        assert_eq!(shape(&[1024, 1024, 1024]), [1024, 1024, 4]);
        assert_eq!(shape(&[64, 4096, 4096]), [64, 4096, 16]);
        assert_eq!(shape(&[65536, 128, 128]), [2048, 128, 16]);
        assert_eq!(shape(&[3, 5, 7]), [3, 5, 7]);
        assert_eq!(reordered_shape(&[4096, 4096], &[1, 0], 4, 1), [1024, 1024]);
        assert_eq!(reordered_shape(&[4096, 4096], &[1, 0], 4, 4), [2048, 512]);
        assert_eq!(reordered_shape(&[65536, 128, 128], &[2, 0, 1], 4, 4), [4096, 128, 8]);
        assert_eq!(reordered_shape(&[64, 64], &[1, 0], u64::MAX, 4), [1, 1]);
    }

    proptest! {
        #[test]
        fn boxes_cover_an_image_once(
            axes in prop::collection::vec((1u64..90, 0u64..40), 1..5)
        ) {
            let (axes, halo): (Vec<u64>, Vec<u64>) = axes.into_iter().unzip();
            let tiles = Tiles::new(&axes, usual_shape(&axes, &halo, 1));
            let pixels: u64 = (0..tiles.len()).map(|index| tiles.window(index).pixels()).sum();
            prop_assert_eq!(pixels, axes.iter().product::<u64>());
            for index in 0..tiles.len() {
                let window = tiles.window(index);
                for (axis, &length) in axes.iter().enumerate() {
                    prop_assert!(window.count[axis] > 0);
                    prop_assert!(window.first[axis] + window.count[axis] <= length);
                }
            }
        }

        #[test]
        fn pieces_are_small_and_in_order(
            counts in prop::collection::vec(1u64..9, 1..5), most in 1u64..100
        ) {
            let window = Window { first: vec![0; counts.len()], count: counts.clone() };
            let mut next = 0;
            for piece in pieces(&window, most) {
                prop_assert!(piece.pixels() <= most);
                for (first, count) in piece.runs(&counts) {
                    prop_assert_eq!(first, next);
                    next += count;
                }
            }
            prop_assert_eq!(next, window.pixels());
        }
    }
}
