//! Rows: many outputs side by side, fed one row of pixels after the other. The plan of every reduction whose innermost
//! loop is kept, such as the image of a range of channels.
//!
//! Outputs are cut into tiles and the rows of a tile into slabs; each slab becomes a state, and the slabs of a tile are
//! merged in order. Sizes depend on the section alone, and so does every sum.

use std::ops::Range;

use tachyfits_io::{Report, Tasks};
use tachyfits_kernels::{Encoding, TILE_PIXELS, Tier};

use crate::error::Error;
use crate::grid::{Grid, Loop, Outer};
use crate::image::{Image, tier};
use crate::lines::{PixelBytes, Stretch};
use crate::options::RunOptions;

/// Outputs of a tile: 32 KiB of f32 per row, so that reads are worth their cost, and 64 KiB per quantity of a state. With
/// twice as many, states went through maps of their own (the allocator's threshold is 128 KiB), and standard deviations
/// took a fifth more time (Sapphire Rapids, rustc 1.95).
const TILE_OUTPUTS: u64 = 1 << 13;
/// Pixels of a slab: 1 MiB of f32, which the second-level cache holds for a second pass.
const SLAB_PIXELS: u64 = 1 << 18;
const LEAST_ROWS: u64 = 16;
/// Sums within a slab are plain.
const MOST_ROWS: u64 = 256;
/// The most slabs of a task.
const SLABS_PER_TASK: u64 = 64;
/// Outputs of a task, but of a single slab: their states, some 70 bytes each, wait until they are merged.
const TASK_OUTPUTS: u64 = 1 << 16;
/// Pixels of a page, for those that are read one by one.
const FAR_BYTES: u64 = 4096;

/// What is done with the rows of a slab.
pub(crate) trait RowFold: Sync {
    type State: Send;
    /// The state of a slab of `outputs` outputs.
    fn slab(
        &self,
        outputs: usize,
        rows: &[Row<'_>],
        encoding: &Encoding,
        tier: Tier,
    ) -> Self::State;
    /// Adds the state of the next slab.
    fn merge(&self, state: &mut Self::State, later: &Self::State);
}

/// A row of a tile.
pub(crate) struct Row<'a> {
    /// As many pixels as the tile has outputs.
    pub(crate) bytes: &'a [u8],
    /// Linear index of the row among the reduced pixels.
    pub(crate) position: u64,
}

/// The order in which rows are read.
#[derive(Clone, Debug)]
pub(crate) struct RowPlan {
    inner: Loop,
    /// The loops around that are kept, from the section's first pixel.
    kept: Outer,
    /// Those that are reduced, from pixel 0.
    reduced: Outer,
    tile: u64,
    tiles_per_loop: u64,
    slab_rows: u64,
    slabs_per_tile: u64,
    slabs: u64,
    slabs_per_task: u64,
    pixels: PixelBytes,
}

/// One slab of one tile.
struct Slab {
    number: u64,
    first_pixel: u64,
    outputs: u64,
    rows: Range<u64>,
}

impl RowPlan {
    pub(crate) fn new(grid: &Grid, pixels: PixelBytes) -> RowPlan {
        let (inner, outer) = grid.split_innermost(false);
        let stride = inner.stride.unsigned_abs();
        // Pixels of the file that are read for one of the row.
        let cost = stride.min(FAR_BYTES / pixels.size).max(1);
        let tile = (TILE_OUTPUTS / cost).max(LEAST_ROWS).min(inner.count.max(1));
        let kept = outer.only(false, grid.origin);
        let reduced = outer.only(true, 0);
        let slab_rows = (SLAB_PIXELS / (tile * cost)).clamp(LEAST_ROWS, MOST_ROWS);
        let rows = reduced.count();
        let (tiles_per_loop, slabs_per_tile) =
            (inner.count.div_ceil(tile), rows.div_ceil(slab_rows));
        let slab_pixels = tile * cost * slab_rows.min(rows.max(1));
        RowPlan {
            slabs: kept.count() * tiles_per_loop * slabs_per_tile,
            slabs_per_task: (SLAB_PIXELS / slab_pixels)
                .min(TASK_OUTPUTS / tile)
                .clamp(1, SLABS_PER_TASK),
            inner,
            kept,
            reduced,
            tile,
            tiles_per_loop,
            slab_rows,
            slabs_per_tile,
            pixels,
        }
    }

    fn slab(&self, index: u64) -> Slab {
        let (tile, number) = (index / self.slabs_per_tile, index % self.slabs_per_tile);
        let place = self.kept.place(tile / self.tiles_per_loop);
        let before = tile % self.tiles_per_loop * self.tile;
        let first = number * self.slab_rows;
        Slab {
            number,
            first_pixel: place.pixel.wrapping_add_signed(self.inner.stride * before as i64),
            outputs: self.tile.min(self.inner.count - before),
            rows: first..self.reduced.count().min(first + self.slab_rows),
        }
    }

    fn stretch(&self, slab: &Slab, row: u64) -> (Stretch, u64) {
        let place = self.reduced.place(row);
        let first = slab.first_pixel.wrapping_add(place.pixel);
        let stretch = Stretch { first, count: slab.outputs, stride: self.inner.stride };
        (stretch, place.position)
    }

    fn slabs_of(&self, task: u64) -> impl Iterator<Item = Slab> {
        let first = task * self.slabs_per_task;
        (first..self.slabs.min(first + self.slabs_per_task)).map(|index| self.slab(index))
    }
}

impl Tasks for RowPlan {
    fn len(&self) -> u64 {
        self.slabs.div_ceil(self.slabs_per_task)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        for slab in self.slabs_of(index) {
            for row in slab.rows.clone() {
                self.stretch(&slab, row).0.ranges(self.pixels, ranges);
            }
        }
    }
}

/// Goes over the rows a piece at a time whose states stay in the first-level cache: (first output, bytes, position).
pub(crate) fn each_tile(
    outputs: usize,
    rows: &[Row<'_>],
    encoding: &Encoding,
    mut take: impl FnMut(usize, &[u8], u64),
) {
    let size = encoding.pixel_bytes();
    for start in (0..outputs).step_by(TILE_PIXELS) {
        let end = outputs.min(start + TILE_PIXELS);
        for row in rows {
            take(start, &row.bytes[start * size..end * size], row.position);
        }
    }
}

/// Folds every row and hands the state of each tile to `finish`, in the order of the outputs. There must be a row.
pub(crate) fn fold_rows<F: RowFold>(
    image: &Image,
    plan: &RowPlan,
    fold: &F,
    options: &RunOptions<'_>,
    mut finish: impl FnMut(F::State) + Send,
) -> Result<Report, Error> {
    let (encoding, tier, size) = (image.encoding(), tier()?, plan.pixels.size);
    let pixels = plan.kept.count() * plan.inner.count * plan.reduced.count();
    let mut current: Option<F::State> = None;
    image.run(
        plan,
        pixels,
        options,
        Vec::new,
        |gathered: &mut Vec<Vec<u8>>, task, fetched| {
            gathered.resize(plan.slab_rows as usize, Vec::new());
            let mut piece = 0;
            let mut states = Vec::new();
            for slab in plan.slabs_of(task) {
                let mut rows = Vec::with_capacity(gathered.len());
                for (row, gathered) in slab.rows.clone().zip(gathered.iter_mut()) {
                    let (stretch, position) = plan.stretch(&slab, row);
                    let bytes = stretch.collect(fetched, &mut piece, size, gathered);
                    rows.push(Row { bytes, position });
                }
                let state = fold.slab(slab.outputs as usize, &rows, &encoding, tier);
                states.push((slab.number, state));
            }
            Ok(states)
        },
        |_task, states| {
            for (number, state) in states {
                match &mut current {
                    Some(merged) if number > 0 => fold.merge(merged, &state),
                    _ => current = Some(state),
                }
                if number + 1 == plan.slabs_per_tile {
                    current.take().into_iter().for_each(&mut finish);
                }
            }
            Ok(())
        },
    )
}
