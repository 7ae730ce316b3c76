//! Differences of pixels: both images are read in one pass, skipping blocks of equal bytes.

use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{JoinedStorage, Storage, Tasks};
use tachyfits_kernels::{Encoding, PixelType, Tier, decode_f64, decode_native};
use tachyfits_memory as memory;

use super::values::{DiffOptions, Differences, Scalar, ValuesDifference};
use crate::error::Error;
use crate::image::Image;

/// Number of pixels of a task.
const TASK_PIXELS: u64 = 1 << 16;

/// Compares the pixels of two images with the same shape.
pub(super) fn compare(
    a: &Image,
    b: &Image,
    options: &DiffOptions,
    run: &RunOptions<'_>,
    tier: Tier,
) -> Result<Option<ValuesDifference>, Error> {
    let encodings = [a, b].map(Image::encoding);
    let side =
        |image: &Image, encoding: Encoding| Side { offset: image.layout().data_offset, encoding };
    let comparison = Comparison {
        sides: [side(a, encodings[0]), side(b, encodings[1])],
        axes: a.axes().to_vec(),
        pixels: a.layout().pixels,
        options,
        tier,
    };
    comparison.run([Arc::clone(a.storage()), Arc::clone(b.storage())], run)
}

/// Compares bytes.
pub(super) fn compare_bytes(
    storages: [Arc<dyn Storage>; 2],
    offsets: [u64; 2],
    bytes: u64,
    options: &DiffOptions,
    run: &RunOptions<'_>,
    tier: Tier,
) -> Result<Option<ValuesDifference>, Error> {
    let encoding = Encoding::plain(PixelType::U8);
    let sides = offsets.map(|offset| Side { offset, encoding });
    let comparison = Comparison { sides, axes: vec![bytes], pixels: bytes, options, tier };
    comparison.run(storages, run)
}

#[derive(Clone, Copy)]
struct Side {
    offset: u64,
    encoding: Encoding,
}

struct Comparison<'a> {
    sides: [Side; 2],
    axes: Vec<u64>,
    pixels: u64,
    options: &'a DiffOptions,
    tier: Tier,
}

/// Purpose of the memory, for errors.
const COMPARED: &str = "pixels to compare";

impl Comparison<'_> {
    fn run(
        &self,
        storages: [Arc<dyn Storage>; 2],
        run: &RunOptions<'_>,
    ) -> Result<Option<ValuesDifference>, Error> {
        let joined = JoinedStorage::new(storages.to_vec());
        let offsets = [0, 1].map(|side| joined.base(side) + self.sides[side].offset);
        let sizes = self.sides.map(|side| side.encoding.pixel_bytes() as u64);
        let tasks = PixelPairs { offsets, sizes, pixels: self.pixels };
        let total = self.pixels * (sizes[0] + sizes[1]);
        let progress = Progress { options: *run, total };
        let mut differences = Differences::default();
        tachyfits_io::run(
            &joined,
            &tasks,
            &progress.run_options(),
            || (),
            |(), task, fetched| {
                let pieces = [fetched.piece(0), fetched.piece(1)];
                self.piece(task * TASK_PIXELS, pieces)
            },
            |_task, later| {
                differences.merge(self.options, later);
                Ok(())
            },
        )?;
        Ok(differences.finish(None))
    }

    /// Compares the pixels of a task.
    fn piece(&self, first: u64, pieces: [&[u8]; 2]) -> Result<Differences, Error> {
        let count = pieces[0].len() / self.sides[0].encoding.pixel_bytes();
        let mut differences = Differences::of(count as u64);
        if self.sides[0].encoding == self.sides[1].encoding && pieces[0] == pieces[1] {
            return Ok(differences);
        }
        let is_wide = |side: &Side| {
            matches!(side.encoding.pixel, PixelType::I64 | PixelType::U64)
                && side.encoding.scaling.is_none()
        };
        let values = |side: usize| match is_wide(&self.sides[side]) {
            // Float64 could not distinguish the values.
            true => self.exact(side, pieces[side], count),
            false => self.reals(side, pieces[side], count),
        };
        let values = [values(0)?, values(1)?];
        for (index, (a, b)) in values[0].iter().zip(&values[1]).enumerate() {
            if !self.options.same(a, b) {
                let at = || self.position(first + index as u64);
                differences.add(self.options, &at, a, b);
            }
        }
        Ok(differences)
    }

    fn exact(&self, side: usize, bytes: &[u8], count: usize) -> Result<Vec<Scalar>, Error> {
        let encoding = &self.sides[side].encoding;
        let mut native = memory::filled(bytes.len(), 0, COMPARED)?;
        decode_native(bytes, encoding.pixel, self.tier, &mut native);
        let blank_value = match encoding.pixel {
            // BLANK is the stored value, in which the sign bit of an unsigned value is flipped.
            PixelType::U64 => encoding.blank.map(|blank| i128::from(blank) + (1 << 63)),
            _ => encoding.blank.map(i128::from),
        };
        let number = |bytes: &[u8]| match (Scalar::number(encoding.pixel, bytes), blank_value) {
            (Scalar::Integer(value), Some(blank)) if value == blank => Scalar::Null,
            (value, _) => value,
        };
        Ok(memory::collected(native.chunks_exact(8).take(count).map(number), COMPARED)?)
    }

    fn reals(&self, side: usize, bytes: &[u8], count: usize) -> Result<Vec<Scalar>, Error> {
        let encoding = &self.sides[side].encoding;
        let mut values = memory::filled(count, 0.0, COMPARED)?;
        decode_f64(bytes, encoding, self.tier, &mut values);
        let plain = encoding.scaling.is_none();
        let single = plain && encoding.pixel == PixelType::F32;
        let integer = plain && !encoding.pixel.is_float();
        let scalar = |value: f64| match value {
            value if value.is_nan() && integer => Scalar::Null,
            // Float64 represents every integer of up to 32 bits exactly.
            value if integer => Scalar::Integer(value as i128),
            value => Scalar::Real { value, single },
        };
        Ok(memory::collected(values.into_iter().map(scalar), COMPARED)?)
    }

    /// Returns the indices of a pixel in FITS order.
    fn position(&self, linear: u64) -> Vec<u64> {
        let mut rest = linear;
        let index = |&axis: &u64| {
            let at = rest % axis.max(1);
            rest /= axis.max(1);
            at
        };
        self.axes.iter().map(index).collect()
    }
}

/// Reads of the same pixels from both images.
struct PixelPairs {
    offsets: [u64; 2],
    sizes: [u64; 2],
    pixels: u64,
}

impl Tasks for PixelPairs {
    fn len(&self) -> u64 {
        self.pixels.div_ceil(TASK_PIXELS)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let first = index * TASK_PIXELS;
        let end = self.pixels.min(first + TASK_PIXELS);
        for (offset, size) in self.offsets.iter().zip(self.sizes) {
            ranges.push(offset + first * size..offset + end * size);
        }
    }
}
