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
/// How many pixels a box has along an axis for one that lies beyond its end.
const HALO_SHARE: u64 = 8;

/// The boxes of an image, x fastest.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    axes: Vec<u64>,
    shape: Vec<u64>,
    /// How many boxes along each axis.
    counts: Vec<u64>,
}

impl Tiles {
    pub(crate) fn new(axes: &[u64], halo: &[u64]) -> Tiles {
        let shape = shape(axes, halo);
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

/// The shape of a box: runs first, then what the halos ask for, then more along each axis in turn.
fn shape(axes: &[u64], halo: &[u64]) -> Vec<u64> {
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
    fill(&mut shape, RUN_PIXELS);
    for axis in 0..axes.len() {
        let wanted = if halo[axis] == 0 { 1 } else { (2 * HALO_SHARE * halo[axis]).max(32) };
        shape[axis] = wanted.clamp(shape[axis], axes[axis].max(1));
    }
    fill(&mut shape, BOX_PIXELS);
    shape
}

/// A box cut into such of a bounded size, along its last axis that is longer than 1, so that they are in the order of its
/// pixels.
pub(crate) fn pieces(window: &Window) -> Vec<Window> {
    let Some(axis) = window.count.iter().rposition(|&count| count > 1) else {
        return vec![window.clone()];
    };
    let unit: u64 = window.count[..axis].iter().product();
    let most = (BOX_PIXELS / unit).max(1);
    let (first, count) = (window.first[axis], window.count[axis]);
    (0..count.div_ceil(most))
        .map(|part| window.along(axis, first + part * most, most.min(count - part * most)))
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
        let planes = |axes, halo| shape(axes, halo);
        assert_eq!(planes(&[1024, 1024, 1024], &[0, 0, 0]), [1024, 128, 1]);
        assert_eq!(planes(&[1024, 1024, 1024], &[0, 0, 1]), [1024, 4, 32]);
        assert_eq!(planes(&[4096, 4096, 64], &[0, 1, 0]), [4096, 32, 1]);
        assert_eq!(planes(&[128, 128, 65536], &[0, 0, 1]), [128, 32, 32]);
        assert_eq!(planes(&[100_000_000], &[1]), [131_072]);
    }

    proptest! {
        #[test]
        fn boxes_cover_an_image_once(
            axes in prop::collection::vec((1u64..90, 0u64..40), 1..5)
        ) {
            let (axes, halo): (Vec<u64>, Vec<u64>) = axes.into_iter().unzip();
            let tiles = Tiles::new(&axes, &halo);
            let pixels: u64 = (0..tiles.len()).map(|index| tiles.window(index).pixels()).sum();
            prop_assert_eq!(pixels, axes.iter().product::<u64>());
            for index in 0..tiles.len() {
                let window = tiles.window(index);
                for axis in 0..axes.len() {
                    prop_assert!(window.count[axis] > 0);
                    prop_assert!(window.first[axis] + window.count[axis] <= axes[axis]);
                }
            }
        }
    }
}
