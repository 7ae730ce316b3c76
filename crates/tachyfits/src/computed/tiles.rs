//! Division of an image into boxes for computing all of it: small enough for the L2 cache, with long
//! contiguous runs, and long enough along each axis to keep the margins beyond their ends small.

use std::ops::Range;

use tachyfits_io::{JoinedStorage, Tasks};

use super::node::{Node, Reads, Sources};
use super::window::Window;

/// Approximate number of pixels of a box: 512 KiB of f32.
const BOX_PIXELS: u64 = 1 << 17;
/// Minimum number of pixels of a run with its own read and write: 16 KiB of f32.
const RUN_PIXELS: u64 = 1 << 12;
/// The same for boxes with many runs that are far apart in the file: the page cache accepts pages one by one,
/// and the overhead per run counts (256 KiB of f32; smoothing 4.3 GB along z took 0.96 s, 1.16 s with runs of
/// half the length, and twice as long with runs of 16 KiB).
const FAR_RUN_PIXELS: u64 = 1 << 16;
/// Maximum number of pixels of a box enlarged by a halo, if its runs are not far apart: the box and its input
/// stay in the L2 cache (1 MiB of f32; with four times as much, smoothing along z took a quarter longer).
const NEAR_PIXELS: u64 = 2 * BOX_PIXELS;
/// Maximum number of pixels of a box enlarged by halos.
const MOST_PIXELS: u64 = 1 << 22;
/// Bytes of a box of an image with permuted axes: runs of 4096 × 4096 pixels of f32 can then be 8 KiB in both
/// images.
const REORDERED_BYTES: u64 = 16 << 20;
/// The same if the input is in memory, where nothing is read ahead: larger boxes are faster (`python -m bench
/// --only 15`).
const REORDERED_IN_MEMORY: u64 = 32 << 20;
/// Ratio of written to read run lengths if the input is in memory: starting a read of a short run costs less
/// than starting a write. Data on a disk are read in long runs.
const LONGER_IN_MEMORY: u64 = 16;
/// The same if runs are whole rows. They do not begin at page boundaries, so two boxes write the page at each
/// end, and wait for it during writeback: with runs half as long the cube took 2.9 s.
const LONGER_OF_ROWS: u64 = 32;
/// Minimum number of boxes of an image with permuted axes.
const REORDERED_BOXES: u64 = 16;
/// Minimum ratio of a box's length along an axis to its halo.
const HALO_SHARE: u64 = 4;
/// Minimum length of a box along an axis with a halo whose pixels are close to each other.
const HALO_LENGTH: u64 = 64;
/// Minimum ratio of length to halo along an axis whose pixels are far apart: boxes along it are computed
/// consecutively, so their margins are in a cache, and short boxes stay there as well (`python -m bench
/// --only 11`).
const FAR_HALO_SHARE: u64 = 2;
/// Number of consecutive boxes along such an axis before the boxes beside them: enough that consecutive
/// writes leave no gaps.
const BOXES_IN_TURN: u64 = 16;

/// Bytes of a page of the page cache: runs that do not begin at a page boundary share pages.
const PAGE_BYTES: u64 = 4096;

/// Boxes of an image, x fastest, except for a few consecutive boxes along an axis with a halo whose pixels
/// are far apart.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    axes: Vec<u64>,
    shape: Vec<u64>,
    /// Number of pixels by which the first box along each axis is shorter than the shape.
    short: Vec<u64>,
    /// Number of boxes along each axis.
    counts: Vec<u64>,
    /// Axis along which a few boxes are consecutive.
    in_turn: Option<usize>,
}

impl Tiles {
    /// Creates boxes of this shape for an image whose pixels, of `pixel_bytes` bytes, begin at byte `begin`
    /// of a file, with these margins beyond their ends.
    ///
    /// If runs are parts of rows, the boxes at the beginning of an axis are shorter if that lets
    /// all others begin at multiples of the run length in the file. The page cache then has one
    /// large page for such a run; otherwise it has many small ones, and fills the outer ones twice.
    pub(crate) fn new(
        axes: &[u64],
        shape: Vec<u64>,
        halo: &[u64],
        begin: u64,
        pixel_bytes: u64,
    ) -> Tiles {
        let mut short = vec![0; axes.len()];
        if let Some(axis) = (0..axes.len()).find(|&axis| shape[axis] < axes[axis]) {
            let step = axes[..axis].iter().product::<u64>() * pixel_bytes;
            let one_row = axes[axis + 1..].iter().all(|&length| length == 1);
            short[axis] =
                shortened(begin, step.max(1), shape[axis], (!one_row).then_some(axes[axis]));
        }
        let counts = (0..axes.len()).map(|n| (axes[n] + short[n]).div_ceil(shape[n])).collect();
        let in_turn = (0..axes.len()).rev().find(|&axis| is_far(axes, halo, axis));
        Tiles { axes: axes.to_vec(), shape, short, counts, in_turn }
    }

    /// Creates boxes of this shape, x fastest.
    pub(crate) fn of_shape(axes: &[u64], shape: Vec<u64>) -> Tiles {
        Tiles::new(axes, shape, &vec![0; axes.len()], 0, 0)
    }

    pub(crate) fn len(&self) -> u64 {
        self.counts.iter().product()
    }

    pub(crate) fn window(&self, index: u64) -> Window {
        let mut rest = self.number(index);
        let mut window = Window { first: Vec::new(), count: Vec::new() };
        for axis in 0..self.axes.len() {
            let begin = rest % self.counts[axis] * self.shape[axis];
            let first = begin.saturating_sub(self.short[axis]);
            let end = begin + self.shape[axis] - self.short[axis];
            window.first.push(first);
            window.count.push(end.min(self.axes[axis]) - first);
            rest /= self.counts[axis];
        }
        window
    }

    /// Returns the number of a box, counted with x fastest, from its position in the sequence.
    fn number(&self, index: u64) -> u64 {
        let Some(axis) = self.in_turn else { return index };
        let step: u64 = self.counts[..axis].iter().product();
        let along = self.counts[axis];
        let within = index % (step * along);
        let first = within / (step * BOXES_IN_TURN) * BOXES_IN_TURN;
        let boxes = BOXES_IN_TURN.min(along - first);
        let within_turn = within - first * step;
        index - within + (first + within_turn % boxes) * step + within_turn / boxes
    }
}

/// Whether boxes need pixels beyond their ends along this axis, further apart than a usual run.
fn is_far(axes: &[u64], halo: &[u64], axis: usize) -> bool {
    halo[axis] > 0 && axes[..axis].iter().product::<u64>() > RUN_PIXELS
}

/// Returns the number of pixels by which a first run must be shorter than `run` pixels of `step` bytes each,
/// so that later runs begin at multiples of the highest possible power of two. Pixels begin at byte `begin`;
/// rows of `row` pixels are contiguous.
fn shortened(begin: u64, step: u64, run: u64, row: Option<u64>) -> u64 {
    let lengths = run.saturating_mul(step) | row.unwrap_or(0).saturating_mul(step);
    let mut alignment = 1 << lengths.trailing_zeros().min(63);
    while alignment >= PAGE_BYTES {
        let missing = begin.next_multiple_of(alignment) - begin;
        if missing.is_multiple_of(step) {
            return (run - missing / step) % run;
        }
        alignment /= 2;
    }
    0
}

/// Returns the shape of a box with about `expansion` input pixels per pixel: first long runs, then the
/// lengths that the halos need, then more along each axis in order.
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
    let lengths: Vec<u64> = (0..axes.len())
        .map(|axis| {
            let length = match (halo[axis], before(axis)) {
                (0, _) => 1,
                (halo, before) if before > FAR_RUN_PIXELS => 2 * FAR_HALO_SHARE * halo,
                (halo, before) => {
                    (2 * HALO_SHARE * halo).max((NEAR_PIXELS / before.max(1)).min(HALO_LENGTH))
                }
            };
            length.min(axes[axis].max(1))
        })
        .collect();
    let far = (0..axes.len()).filter(|&axis| is_far(axes, halo, axis));
    let planes: u64 = far.map(|axis| lengths[axis]).product();
    let run = match planes {
        1 => RUN_PIXELS.min(pixels),
        planes => (MOST_PIXELS / expansion.max(1) / planes).clamp(RUN_PIXELS / 4, FAR_RUN_PIXELS),
    };
    fill(&mut shape, run);
    for axis in 0..axes.len() {
        shape[axis] = lengths[axis].clamp(shape[axis], axes[axis].max(1));
    }
    fill(&mut shape, pixels);
    shape
}

/// Returns the shape of a box for an image with permuted axes: the new axis n is axis `order[n]` of the
/// input. Runs are longer than usual; if the input is in memory, they are longer in the new image than in the
/// input.
pub(crate) fn reordered_shape(
    axes: &[u64],
    order: &[usize],
    pixel_bytes: u64,
    in_memory: bool,
) -> Vec<u64> {
    let pixels: u64 = axes.iter().product();
    let bytes = if in_memory { REORDERED_IN_MEMORY } else { REORDERED_BYTES };
    // Enough boxes for all threads, but no box smaller than usual.
    let most = (pixels / REORDERED_BOXES).max(BOX_PIXELS).min(bytes / pixel_bytes);
    let mut input_axes: Vec<usize> = (0..axes.len()).collect();
    input_axes.sort_by_key(|&axis| order[axis]);
    let mut shape = vec![1; axes.len()];
    while shape.iter().product::<u64>() < most {
        let by_output = run(axes, &shape, 0..axes.len());
        let by_input = run(axes, &shape, input_axes.iter().copied());
        let longer = match in_memory {
            false => 1,
            true if axes.first() == shape.first() => LONGER_OF_ROWS,
            true => LONGER_IN_MEMORY,
        };
        let (first, second) = match by_input.0.saturating_mul(longer) <= by_output.0 {
            true => (by_input, by_output),
            false => (by_output, by_input),
        };
        let Some(axis) = first.1.or(second.1) else { break };
        shape[axis] = (shape[axis] * 2).min(axes[axis]);
    }
    shape
}

/// Returns the run length of a box in an image with this axis order, and the axis that must grow for longer
/// runs.
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

/// Splits a box into boxes of at most about `most` pixels, in the order of its pixels.
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

/// Boxes as tasks of the pipeline.
pub(crate) struct TileReads<'a> {
    pub(crate) tiles: &'a Tiles,
    pub(crate) node: &'a dyn Node,
    pub(crate) sources: &'a Sources,
    pub(crate) joined: &'a JoinedStorage,
}

impl TileReads<'_> {
    /// Returns the approximate number of requested bytes: those of a central box times the number of boxes.
    pub(crate) fn bytes(&self) -> u64 {
        let mut ranges = Vec::new();
        if self.is_empty() {
            return 0;
        }
        self.ranges(self.len() / 2, &mut ranges);
        let middle: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        middle.saturating_mul(self.len())
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
    fn boxes_suit_the_shapes_of_cubes() {
        let planes = |axes, halo| usual_shape(axes, halo, 1);
        assert_eq!(planes(&[1024, 1024, 1024], &[0, 0, 0]), [1024, 128, 1]);
        assert_eq!(planes(&[1024, 1024, 1024], &[0, 0, 1]), [1024, 64, 4]);
        assert_eq!(planes(&[4096, 4096, 64], &[0, 1, 0]), [4096, 64, 1]);
        assert_eq!(planes(&[128, 128, 65536], &[0, 0, 1]), [128, 128, 16]);
        assert_eq!(planes(&[4096, 4096, 64], &[0, 0, 1]), [4096, 16, 4]);
        assert_eq!(planes(&[0, 5, 7], &[0, 0, 1]), [1, 5, 7]);
        assert_eq!(planes(&[1024, 1024, 1024], &[0, 0, 50]), [1024, 20, 200]);
        assert_eq!(planes(&[100_000_000], &[1]), [131_072]);
        assert_eq!(usual_shape(&[512, 512, 512], &[0, 0, 0], 8), [512, 32, 1]);
        assert_eq!(usual_shape(&[512, 512, 512], &[0, 0, 0], 1 << 40), [1, 1, 1]);
    }

    #[test]
    fn boxes_of_another_order_have_long_runs_in_both() {
        // The old x, y and z are the new axes 1, 2 and 0.
        let shape = |axes: &[u64]| reordered_shape(axes, &[2, 0, 1], 4, false);
        assert_eq!(shape(&[1024, 1024, 1024]), [1024, 1024, 4]);
        assert_eq!(shape(&[64, 4096, 4096]), [64, 4096, 16]);
        assert_eq!(shape(&[65536, 128, 128]), [2048, 128, 16]);
        assert_eq!(shape(&[3, 5, 7]), [3, 5, 7]);
        assert_eq!(reordered_shape(&[4096, 4096], &[1, 0], 4, false), [1024, 1024]);
        assert_eq!(reordered_shape(&[64, 64], &[1, 0], u64::MAX, true), [1, 1]);
    }

    #[test]
    fn inputs_in_memory_are_written_in_longer_runs() {
        assert_eq!(reordered_shape(&[4096, 4096], &[1, 0], 4, true), [4096, 256]);
        assert_eq!(reordered_shape(&[65536, 128, 128], &[2, 0, 1], 4, true), [8192, 128, 8]);
        // Sixteen rows for each half of the input's fastest axis.
        assert_eq!(reordered_shape(&[1024, 1024, 1024], &[2, 1, 0], 4, true), [1024, 16, 512]);
    }

    #[test]
    fn a_few_boxes_along_a_far_axis_follow_each_other() {
        let order = |axes: &[u64], shape: &[u64], halo: &[u64]| {
            let tiles = Tiles::new(axes, shape.to_vec(), halo, 0, 4);
            let numbers = (0..tiles.len()).map(|index| tiles.number(index));
            numbers.collect::<Vec<_>>()
        };
        // Two boxes side by side, eighteen planes of them, and two such cubes.
        let axes = [8192, 18, 2];
        let first = [(0..32).step_by(2), (1..32).step_by(2)].into_iter().flatten();
        let cube: Vec<u64> = first.chain([32, 34, 33, 35]).collect();
        let both: Vec<u64> = cube.iter().copied().chain(cube.iter().map(|n| n + 36)).collect();
        assert_eq!(order(&axes, &[4096, 1, 1], &[0, 1, 0]), both);
        assert!(order(&axes, &[4096, 1, 1], &[1, 0, 0]).into_iter().eq(0..72));
    }

    #[test]
    fn runs_begin_where_pages_do() {
        let starts = |axes: &[u64], shape: &[u64], begin, alignment| {
            let tiles = Tiles::new(axes, shape.to_vec(), &[0; 3], begin, 4);
            let windows = (0..tiles.len()).map(|index| tiles.window(index));
            let runs: Vec<u64> = windows
                .flat_map(|w| w.runs(axes).map(|(first, _)| begin + 4 * first).collect::<Vec<_>>())
                .collect();
            let elsewhere = runs.iter().filter(|&&run| run % alignment != 0).count();
            (runs.len(), elsewhere)
        };
        // Four rows of 256 KiB in runs of 16 KiB: only the run at the start of a row begins elsewhere.
        assert_eq!(starts(&[65536, 4], &[4096, 2], 5760, 16384), (17 * 4, 4));
        assert_eq!(starts(&[65536, 4], &[4096, 2], 16384 * 45, 16384), (16 * 4, 0));
        // One row of any length.
        assert_eq!(starts(&[100_000, 1], &[16384, 1], 2880, 65536), (7, 1));
        // Rows of 12 KiB are multiples of 4 KiB apart; rows of 5000 bytes do not begin at pages.
        assert_eq!(starts(&[3072, 2], &[2048, 2], 5760, 4096), (3 * 2, 2));
        let first = |axes: &[u64], shape| Tiles::new(axes, shape, &[0; 3], 5760, 4).window(0).count;
        assert_eq!(first(&[1250, 9], vec![1024, 9]), [1024, 9]);
        // Boxes of whole rows cannot begin anywhere else.
        assert_eq!(first(&[1024, 64, 9], vec![1024, 32, 9]), [1024, 32, 9]);
    }

    proptest! {
        #[test]
        fn boxes_cover_an_image_once(
            axes in prop::collection::vec((1u64..90, 0u64..40), 1..5),
            parts in prop::collection::vec(1u64..20, 5),
            begin in 0u64..100, pixel_log in 0u32..12
        ) {
            let (axes, halo): (Vec<u64>, Vec<u64>) = axes.into_iter().unzip();
            let limited = axes.iter().zip(&parts).map(|(&length, &part)| part.min(length)).collect();
            for shape in [usual_shape(&axes, &halo, 1), limited] {
                let tiles = Tiles::new(&axes, shape.clone(), &halo, 2880 * begin, 1 << pixel_log);
                let mut covered = vec![false; axes.iter().product::<u64>() as usize];
                for index in 0..tiles.len() {
                    let window = tiles.window(index);
                    prop_assert!(window.count.iter().zip(&shape).all(|(count, most)| count <= most));
                    for (first, count) in window.runs(&axes) {
                        for pixel in &mut covered[first as usize..][..count as usize] {
                            prop_assert!(!std::mem::replace(pixel, true));
                        }
                    }
                }
                prop_assert!(covered.iter().all(|&pixel| pixel));
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
