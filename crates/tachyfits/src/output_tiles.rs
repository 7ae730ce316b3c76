//! Operations that need all pixels of an output at once, such as order statistics and fits of
//! spectra. Outputs are processed a tile at a time: the stored pixels of the tile are read into
//! memory, in runs as long as the tile allows; then each output is gathered and decoded.
//!
//! All threads share one tile, so that its runs are long: along an axis of 65536 channels, a tile
//! per thread would have rows of only a few hundred bytes.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tachyfits_io::{NoReads, Tasks};
use tachyfits_kernels::{Encoding, Tier, decode_f64, transpose};
use tachyfits_memory::{self as memory, NoMemory};

use crate::error::Error;
use crate::grid::{Grid, Outer};
use crate::image::{Image, filled};
use crate::lines::{LINE_PIXELS, PixelBytes, Stretch};
use crate::order_statistics::Passes;

/// Maximum runs of a task.
const TASK_RUNS: u64 = 1024;
/// Approximate number of pixels that a thread gathers at a time: 2 MiB of f32.
const GATHERED_PIXELS: u64 = 1 << 19;
/// Maximum outputs gathered at a time: 16 cache lines of f32 in each row.
const GATHERED_OUTPUTS: u64 = 256;

/// Operation on the pixels of an output.
pub(crate) trait OutputOperation: Sync {
    /// Buffers of a thread.
    type Scratch: Send;
    /// Number of values per output.
    fn values(&self) -> usize;
    /// Creates buffers for outputs of this many pixels.
    ///
    /// # Errors
    /// If memory runs out.
    fn scratch(&self, pixels: usize) -> Result<Self::Scratch, NoMemory>;
    /// Appends the values of an output with these pixels, NaN if undefined; the pixels may be modified.
    fn push(&self, scratch: &mut Self::Scratch, pixels: &mut [f64], values: &mut Vec<f64>);
}

/// Consecutive blocks of outputs. If the innermost loop is kept, a block is some of its outputs,
/// and its runs are rows of them; if it is reduced, a block is one output, and its runs are
/// consecutive.
struct OutputBlocks {
    kept: Outer,
    reduced: Outer,
    stride: i64,
    /// Steps of the innermost loop, steps of a run, and runs of the innermost loop.
    inner: u64,
    run: u64,
    parts: u64,
    /// Whether each pixel of a run belongs to a different output.
    side_by_side: bool,
    /// Runs of a block.
    rows: u64,
    pixels: PixelBytes,
}

/// Blocks in memory at the same time.
struct Tile {
    blocks: Range<u64>,
    /// Pixels of a run.
    run: u64,
}

impl OutputBlocks {
    fn new(grid: &Grid, pixels: PixelBytes, tile_bytes: u64) -> OutputBlocks {
        let side_by_side = grid.is_kept_innermost();
        let (inner, outer) = grid.split_innermost(!side_by_side);
        let (kept, reduced) = (outer.only(false, grid.origin), outer.only(true, 0));
        let rows = reduced.count();
        let most = (tile_bytes / (pixels.size * rows)).max(1);
        let run = if side_by_side { most.min(inner.count) } else { inner.count };
        let (stride, inner) = (inner.stride, inner.count);
        let parts = inner.div_ceil(run);
        OutputBlocks { kept, reduced, stride, inner, run, parts, side_by_side, rows, pixels }
    }

    fn count(&self) -> u64 {
        self.kept.count() * self.parts
    }

    /// Returns the tile that begins with a block.
    fn tile(&self, first: u64, tile_bytes: u64) -> Tile {
        let run = self.run.min(self.inner - first % self.parts * self.run);
        let block_bytes = self.rows * run * self.pixels.size;
        // All blocks of a tile have one size; with several parts, the last part is shorter.
        let blocks = if self.parts > 1 { 1 } else { (tile_bytes / block_bytes).max(1) };
        Tile { blocks: first..self.count().min(first + blocks), run }
    }

    /// Returns run number `index` of a tile.
    fn stretch(&self, tile: &Tile, index: u64) -> Stretch {
        let block = tile.blocks.start + index / self.rows;
        let place = self.kept.place(block / self.parts);
        let row = self.reduced.place(index % self.rows);
        let before = (block % self.parts * self.run) as i64;
        let first = place.pixel.wrapping_add(row.pixel);
        let first = first.wrapping_add_signed(self.stride * before);
        Stretch { first, count: tile.run, stride: self.stride }
    }

    fn runs(&self, tile: &Tile) -> u64 {
        (tile.blocks.end - tile.blocks.start) * self.rows
    }

    fn pixels(&self, tile: &Tile) -> u64 {
        self.runs(tile) * tile.run
    }
}

/// Reads of a tile: runs, or parts of long runs.
struct OutputReads<'a> {
    blocks: &'a OutputBlocks,
    tile: &'a Tile,
    parts: u64,
    runs_per_task: u64,
}

impl<'a> OutputReads<'a> {
    fn new(blocks: &'a OutputBlocks, tile: &'a Tile) -> OutputReads<'a> {
        let parts = tile.run.div_ceil(LINE_PIXELS);
        let runs_per_task = match parts {
            1 => (LINE_PIXELS / tile.run).clamp(1, TASK_RUNS),
            _ => 1,
        };
        OutputReads { blocks, tile, parts, runs_per_task }
    }

    /// Iterates over the stretches of a task.
    fn stretches(&self, task: u64) -> impl Iterator<Item = Stretch> {
        let runs = self.blocks.runs(self.tile);
        let (first, part) = (task / self.parts * self.runs_per_task, task % self.parts);
        let before = part * LINE_PIXELS;
        (first..runs.min(first + self.runs_per_task)).map(move |run| {
            let whole = self.blocks.stretch(self.tile, run);
            let first = whole.first.wrapping_add_signed(whole.stride * before as i64);
            let count = LINE_PIXELS.min(whole.count - before);
            Stretch { first, count, ..whole }
        })
    }

    /// Splits the bytes of the tile by task.
    fn cut<'b>(&self, mut bytes: &'b mut [u8]) -> Vec<Mutex<&'b mut [u8]>> {
        let size = self.blocks.pixels.size;
        let mut parts = Vec::new();
        for task in 0..self.len() {
            let pixels: u64 = self.stretches(task).map(|stretch| stretch.count).sum();
            let (part, rest) = bytes.split_at_mut((pixels * size) as usize);
            parts.push(Mutex::new(part));
            bytes = rest;
        }
        parts
    }
}

impl Tasks for OutputReads<'_> {
    fn len(&self) -> u64 {
        self.blocks.runs(self.tile).div_ceil(self.runs_per_task) * self.parts
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        self.stretches(index).for_each(|stretch| stretch.ranges(self.blocks.pixels, ranges));
    }
}

/// Computes all outputs; appends each value of an output to its list in `results`. There must be
/// outputs with pixels. `tile_bytes` limits the bytes of pixels in memory.
pub(crate) fn push_outputs<O: OutputOperation>(
    image: &Image,
    grid: &Grid,
    tier: Tier,
    tile_bytes: u64,
    operation: &O,
    passes: &mut Passes<'_>,
    results: &mut [Vec<f64>],
) -> Result<(), Error> {
    let blocks = OutputBlocks::new(grid, image.pixel_bytes(), tile_bytes);
    let mut bytes: Vec<u8> = Vec::new();
    let mut first = 0;
    while first < blocks.count() {
        let tile = blocks.tile(first, tile_bytes);
        let length = blocks.pixels(&tile) * blocks.pixels.size;
        if bytes.is_empty() {
            let what = "a part of the pixels";
            bytes = filled(length, 0, what).map_err(|error| image.place(error))?;
        }
        let bytes = &mut bytes[..length as usize];
        read(image, &blocks, &tile, passes, bytes)?;
        let pixels = grid.reduced;
        let columns = Columns { blocks: &blocks, tile: &tile, pixels, bytes, image, tier };
        columns.push(operation, passes, results)?;
        first = tile.blocks.end;
    }
    Ok(())
}

/// Reads a tile.
fn read(
    image: &Image,
    blocks: &OutputBlocks,
    tile: &Tile,
    passes: &mut Passes<'_>,
    bytes: &mut [u8],
) -> Result<(), Error> {
    let reads = OutputReads::new(blocks, tile);
    let total = bytes.len() as u64;
    let parts = reads.cut(bytes);
    passes.run(total, |options| {
        let report = image.run(
            &reads,
            blocks.pixels(tile),
            options,
            Vec::new,
            |gathered, task, fetched| {
                let mut part = parts[task as usize].lock().unwrap_or_else(PoisonError::into_inner);
                let (mut piece, mut at) = (0, 0);
                for stretch in reads.stretches(task) {
                    let pixels = stretch.collect(fetched, &mut piece, blocks.pixels, gathered);
                    part[at..at + pixels.len()].copy_from_slice(pixels);
                    at += pixels.len();
                }
                Ok(())
            },
            |_task, ()| Ok(()),
        )?;
        Ok(((), report))
    })
}

/// The outputs of a tile in memory.
struct Columns<'a> {
    blocks: &'a OutputBlocks,
    tile: &'a Tile,
    /// Pixels per output.
    pixels: u64,
    bytes: &'a [u8],
    image: &'a Image,
    tier: Tier,
}

/// Buffers of a thread.
struct Gathered<S> {
    transposed: Vec<u8>,
    decoded: Vec<f64>,
    scratch: Option<S>,
}

impl Columns<'_> {
    fn push<O: OutputOperation>(
        &self,
        operation: &O,
        passes: &mut Passes<'_>,
        results: &mut [Vec<f64>],
    ) -> Result<(), Error> {
        let blocks = self.tile.blocks.end - self.tile.blocks.start;
        // Blocks of one output each are as contiguous as the outputs of one block.
        let (blocks, width) = match self.blocks.side_by_side {
            true => (blocks, self.tile.run),
            false => (1, blocks),
        };
        let together = (GATHERED_PIXELS / self.pixels).clamp(1, GATHERED_OUTPUTS).min(width);
        let groups = width.div_ceil(together);
        let encoding = self.image.encoding();
        passes.run(0, |options| {
            let report = self.image.run(
                &NoReads(blocks * groups),
                0,
                options,
                || Gathered { transposed: Vec::new(), decoded: Vec::new(), scratch: None },
                |gathered, task, _| {
                    let first = task % groups * together;
                    let outputs = first..width.min(first + together);
                    let block = (task / groups) as usize;
                    Ok(self.operate(block, outputs, operation, &encoding, gathered)?)
                },
                |_task, values: Vec<f64>| {
                    for values in values.chunks_exact(operation.values()) {
                        results.iter_mut().zip(values).for_each(|(all, x)| all.push(*x));
                    }
                    Ok(())
                },
            )?;
            Ok(((), report))
        })
    }

    /// Returns the values of some outputs of a block, output by output.
    fn operate<O: OutputOperation>(
        &self,
        block: usize,
        outputs: Range<u64>,
        operation: &O,
        encoding: &Encoding,
        gathered: &mut Gathered<O::Scratch>,
    ) -> Result<Vec<f64>, NoMemory> {
        let size = encoding.pixel_bytes();
        let pixels = self.pixels as usize;
        let (first, count) = (outputs.start as usize, (outputs.end - outputs.start) as usize);
        let Gathered { transposed, decoded, scratch } = gathered;
        let together = if self.blocks.side_by_side {
            let width = self.tile.run as usize;
            let begin = (block * pixels * width + first) * size;
            let row = |row: usize| &self.bytes[begin + row * width * size..];
            memory::resize(transposed, count * pixels * size, 0, "the pixels of outputs")?;
            transpose(row, pixels, count, size, transposed, pixels);
            &transposed[..]
        } else {
            &self.bytes[first * pixels * size..(first + count) * pixels * size]
        };
        let mut values = memory::with_room(count * operation.values(), "the values of outputs")?;
        memory::resize(decoded, pixels, 0.0, "the pixels of an output")?;
        let scratch = match scratch {
            Some(scratch) => scratch,
            None => scratch.insert(operation.scratch(pixels)?),
        };
        for bytes in together.chunks_exact(pixels * size) {
            decode_f64(bytes, encoding, self.tier, decoded);
            operation.push(scratch, decoded, &mut values);
        }
        Ok(values)
    }
}
