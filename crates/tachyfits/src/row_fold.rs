//! Rows: the plan of every reduction whose innermost loop is not reduced, such as the image of a range of
//! channels. Many contiguous outputs accumulate one row of pixels after the other.
//!
//! Outputs are divided into tiles, and the rows of a tile into slabs. Each slab becomes a state, and the
//! threads that compute them merge the slabs of a tile in order. Neighbouring tiles are interleaved, so that
//! neighbouring bytes are read consecutively. Sizes depend only on the section, and so does every sum.

use std::collections::VecDeque;
use std::ops::Range;

use tachyfits_io::operation::RunOptions;
use tachyfits_io::{Report, Tasks};
use tachyfits_kernels::{Encoding, Tier};

use crate::error::Error;
use crate::grid::{Grid, Loop, Outer};
use crate::image::{Image, tier};
use crate::lines::{PixelBytes, Stretch};
use crate::merging::Merging;

/// Number of outputs of a tile: 32 KiB of f32 per row, so that a read pays, and 64 KiB per quantity of a
/// state. Twice the number would exceed the allocator's threshold (128 KiB), and every state would be mapped
/// separately.
const TILE_OUTPUTS: u64 = 1 << 13;
/// Number of pixels of a slab: 1 MiB of f32, which stays in the L2 cache for a second pass.
const SLAB_PIXELS: u64 = 1 << 18;
const LEAST_ROWS: u64 = 16;
/// Sums within a slab use plain addition.
const MOST_ROWS: u64 = 256;
/// Maximum number of slabs of a task.
const SLABS_PER_TASK: u64 = 64;
/// Maximum outputs per task; single-slab tasks are exempt. The states, some 70 bytes per output, wait until
/// they are merged.
const TASK_OUTPUTS: u64 = 1 << 16;
/// Bytes of a page, beyond which pixels are read one by one.
const FAR_BYTES: u64 = 4096;

/// Bytes of interleaved neighbouring tiles: a large page of the page cache, which is loaded as a whole for
/// any of its bytes.
const GROUP_BYTES: u64 = 2 << 20;
/// Maximum outputs of interleaved tiles, whose states, some 70 bytes per output, wait for their next slab.
const GROUP_OUTPUTS: u64 = 1 << 19;

/// Operation on the rows of a slab.
pub(crate) trait RowFold: Sync {
    type State: Send;
    /// Returns the state of a slab with `outputs` outputs.
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
    /// Bytes of the row; it has one pixel per output of the tile.
    pub(crate) bytes: &'a [u8],
    /// Linear index of the row among the reduced pixels.
    pub(crate) position: u64,
}

/// Order in which rows are read.
#[derive(Clone, Debug)]
pub(crate) struct RowPlan {
    inner: Loop,
    /// Outer loops that are not reduced, from the section's first pixel.
    kept: Outer,
    /// Reduced loops, from pixel 0.
    reduced: Outer,
    tile: u64,
    tiles_per_loop: u64,
    /// Number of interleaved tiles.
    group: u64,
    slab_rows: u64,
    slabs_per_tile: u64,
    slabs: u64,
    slabs_per_task: u64,
    pixels: PixelBytes,
}

/// A slab of a tile.
struct Slab {
    /// Number of the tile.
    tile: u64,
    /// Number of the slab in its tile.
    number: u64,
    first_pixel: u64,
    outputs: u64,
    rows: Range<u64>,
}

impl RowPlan {
    pub(crate) fn new(grid: &Grid, pixels: PixelBytes) -> RowPlan {
        let (inner, outer) = grid.split_innermost(false);
        let stride = inner.stride.unsigned_abs();
        // Number of pixels of the file read per pixel of the row.
        let cost = stride.min(FAR_BYTES / pixels.size).max(1);
        let tile = (TILE_OUTPUTS / cost).max(LEAST_ROWS).min(inner.count.max(1));
        let unreduced = outer.only(false, grid.origin);
        let reduced = outer.only(true, 0);
        let slab_rows = (SLAB_PIXELS / (tile * cost)).clamp(LEAST_ROWS, MOST_ROWS);
        let rows = reduced.count();
        let (tiles_per_loop, slabs_per_tile) =
            (inner.count.div_ceil(tile), rows.div_ceil(slab_rows));
        let slab_pixels = tile * cost * slab_rows.min(rows.max(1));
        let group = (GROUP_BYTES / (tile * cost * pixels.size)).min(GROUP_OUTPUTS / tile);
        RowPlan {
            slabs: unreduced.count() * tiles_per_loop * slabs_per_tile,
            slabs_per_task: (SLAB_PIXELS / slab_pixels)
                .min(TASK_OUTPUTS / tile)
                .clamp(1, SLABS_PER_TASK),
            inner,
            kept: unreduced,
            reduced,
            tile,
            tiles_per_loop,
            group: group.clamp(1, tiles_per_loop.max(1)),
            slab_rows,
            slabs_per_tile,
            pixels,
        }
    }

    /// Returns the number of rows summed by plain addition, at most the number of reduced rows.
    pub(crate) fn rows_together(&self) -> u64 {
        self.slab_rows.min(self.reduced.count())
    }

    fn slab(&self, index: u64) -> Slab {
        let per_loop = self.tiles_per_loop * self.slabs_per_tile;
        let (number_of_loop, index) = (index / per_loop, index % per_loop);
        let place = self.kept.place(number_of_loop);
        let per_group = self.group * self.slabs_per_tile;
        let first_tile = index / per_group * self.group;
        let (turn, tiles) = (index % per_group, self.group.min(self.tiles_per_loop - first_tile));
        let (number, tile) = (turn / tiles, turn % tiles);
        let before = (first_tile + tile) * self.tile;
        let first = number * self.slab_rows;
        Slab {
            tile: number_of_loop * self.tiles_per_loop + first_tile + tile,
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

/// Folds every row, and passes the state of each tile to `finish`, in the order of the outputs. There must be
/// at least one row.
pub(crate) fn fold_rows<F: RowFold>(
    image: &Image,
    plan: &RowPlan,
    fold: &F,
    options: &RunOptions<'_>,
    mut finish: impl FnMut(F::State) + Send,
) -> Result<Report, Error> {
    let (encoding, tier) = (image.encoding(), tier());
    let pixels = plan.kept.count() * plan.inner.count * plan.reduced.count();
    let merging = Merging::new(plan.slabs_per_tile);
    // Tiles whose last slab was computed; another thread may still merge them.
    let mut due = VecDeque::new();
    let report = image.run(
        plan,
        pixels,
        options,
        Vec::new,
        |gathered: &mut Vec<Vec<u8>>, task, fetched| {
            // At most 256 rows of a slab.
            gathered.resize(plan.slab_rows as usize, Vec::new());
            let mut piece = 0;
            for slab in plan.slabs_of(task) {
                // At most 256 rows of a slab.
                let mut rows = Vec::with_capacity(gathered.len());
                for (row, gathered) in slab.rows.clone().zip(gathered.iter_mut()) {
                    let (stretch, position) = plan.stretch(&slab, row);
                    let bytes = stretch.collect(fetched, &mut piece, plan.pixels, gathered);
                    rows.push(Row { bytes, position });
                }
                let state = fold.slab(slab.outputs as usize, &rows, &encoding, tier);
                merging
                    .add(slab.tile, slab.number, state, |merged, later| fold.merge(merged, later));
            }
            Ok(())
        },
        |task, ()| {
            let last = |slab: &Slab| slab.number + 1 == plan.slabs_per_tile;
            due.extend(plan.slabs_of(task).filter(last).map(|slab| slab.tile));
            while let Some(state) = due.front().and_then(|&tile| merging.take(tile)) {
                finish(state);
                due.pop_front();
            }
            Ok(())
        },
    )?;
    for tile in due {
        finish(merging.take(tile).expect("all threads have ended"));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::{GROUP_OUTPUTS, RowPlan, TILE_OUTPUTS};
    use crate::grid::Grid;
    use crate::image::Image;
    use crate::moment::Coordinates;
    use crate::{FitsFile, OpenOptions, RunOptions};
    use std::collections::HashMap;

    /// More outputs than interleaved tiles have, and not a whole number of tiles.
    const OUTPUTS: u64 = GROUP_OUTPUTS + 3 * TILE_OUTPUTS / 2;
    const ROWS: u64 = 35;
    const CUBES: u64 = 2;

    fn image() -> Image {
        let axes = [("NAXIS1", OUTPUTS), ("NAXIS2", ROWS), ("NAXIS3", CUBES)];
        let mut cards = vec![format!("{:<80}", "SIMPLE  =                    T")];
        let numbers = [("BITPIX", 8), ("NAXIS", 3)].into_iter().chain(axes);
        cards.extend(
            numbers.map(|(keyword, value)| format!("{:<80}", format!("{keyword:<8}= {value:>20}"))),
        );
        cards.push(format!("{:<80}", "END"));
        let mut bytes = cards.concat().into_bytes();
        bytes.resize(2880, b' ');
        bytes.extend((0..OUTPUTS * ROWS * CUBES).map(|pixel| pixel_value(pixel) as u8));
        bytes.resize(bytes.len().next_multiple_of(2880), 0);
        FitsFile::from_bytes("rows", bytes, &OpenOptions::default()).unwrap().image(0).unwrap()
    }

    fn pixel_value(pixel: u64) -> u64 {
        pixel % 7 + pixel / OUTPUTS % 3
    }

    #[test]
    fn neighbouring_tiles_take_turns_and_each_has_all_its_slabs_in_order() {
        let image = image();
        let section = image.whole();
        let grid = Grid::new(image.axes(), &section, &[false, true, false]);
        let plan = RowPlan::new(&grid, image.pixel_bytes());
        assert!(plan.group > 1 && plan.group < plan.tiles_per_loop && plan.slabs_per_tile > 1);
        let mut rows_done: HashMap<u64, u64> = HashMap::new();
        let (mut finished, mut outputs) = (Vec::new(), 0);
        for slab in (0..plan.slabs).map(|index| plan.slab(index)) {
            let next_row = rows_done.entry(slab.first_pixel).or_insert(0);
            assert_eq!(slab.rows.start, *next_row);
            assert_eq!(slab.number, *next_row / plan.slab_rows);
            *next_row = slab.rows.end;
            if slab.number + 1 == plan.slabs_per_tile {
                assert_eq!(*next_row, ROWS);
                finished.push(slab.first_pixel);
                outputs += slab.outputs;
            }
        }
        assert!(finished.is_sorted());
        assert_eq!((finished.len(), outputs), (rows_done.len(), CUBES * OUTPUTS));
        // The first slabs of a group's tiles precede their second ones.
        let turns = (0..=plan.group).map(|index| plan.slab(index));
        let turns: Vec<_> = turns.map(|slab| (slab.tile, slab.number)).collect();
        assert_eq!((turns[1], turns[plan.group as usize]), ((1, 0), (0, 1)));
    }

    #[test]
    fn more_outputs_than_take_turns_have_their_own_rows() {
        let image = image();
        let numbers: Vec<f64> = (0..ROWS).map(|row| row as f64).collect();
        let coordinates = Coordinates { values: &numbers, widths: &[1.0] };
        for threads in [1, 3] {
            let options = RunOptions::default().threads(threads);
            let moments = image.moments(&[0, 1], 1, coordinates, &image.whole(), &options);
            let [sums, means] = moments.unwrap().0.try_into().unwrap();
            assert_eq!(sums.len() as u64, CUBES * OUTPUTS);
            for (output, (sum, mean)) in sums.iter().zip(&means).enumerate() {
                let (cube, x) = (output as u64 / OUTPUTS, output as u64 % OUTPUTS);
                let values = (0..ROWS).map(|row| pixel_value((cube * ROWS + row) * OUTPUTS + x));
                let weighted = values.clone().enumerate().map(|(row, value)| row as u64 * value);
                let expected = values.sum::<u64>() as f64;
                assert_eq!(*sum, expected, "output {output}");
                let expected = weighted.sum::<u64>() as f64 / expected;
                assert!((mean - expected).abs() < 1e-12, "output {output}: {mean} {expected}");
            }
        }
    }
}
