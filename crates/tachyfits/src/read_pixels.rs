//! Reads pixels into native arrays: each task of the plan fills its own part of the output.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{IoError, Report, fills_at_once};
use tachyfits_kernels::{Encoding, PixelType, Tier, decode_f32, decode_f64, decode_native};

use crate::error::{Error, Reason};
use crate::grid::Grid;
use crate::image::{Image, tier};
use crate::lines::{GridLines, LineReads, Lines, PixelBytes};
use crate::native::read_native;
use crate::number::fits_f32;
use crate::section::Section;

/// Type to read pixels as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadAs {
    /// Physical values, computed in f64 and rounded once; NaN if undefined.
    Float32,
    /// Physical values; NaN if undefined.
    Float64,
    /// The pixels themselves, with the unsigned and signed-byte conventions applied; BLANK pixels unchanged.
    Exact,
    /// The stored numbers.
    Raw,
}

/// A native array to read into: one element per pixel of the section, the first axis the fastest.
#[derive(Debug)]
#[non_exhaustive]
pub enum OutputPixels<'a> {
    /// 32-bit floats.
    Float32(&'a mut [f32]),
    /// 64-bit floats.
    Float64(&'a mut [f64]),
    /// Integers of the type of [`Image::read_type`], as bytes.
    Bytes(&'a mut [u8]),
}

impl OutputPixels<'_> {
    /// Whether its elements have this type; for bytes, only whether the type is an integer.
    fn holds(&self, pixel: PixelType) -> bool {
        match self {
            OutputPixels::Float32(_) => pixel == PixelType::F32,
            OutputPixels::Float64(_) => pixel == PixelType::F64,
            OutputPixels::Bytes(_) => !pixel.is_float(),
        }
    }

    /// Returns the same memory as bytes.
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            OutputPixels::Float32(out) => bytemuck::cast_slice_mut(out),
            OutputPixels::Float64(out) => bytemuck::cast_slice_mut(out),
            OutputPixels::Bytes(out) => out,
        }
    }
}

impl Image {
    /// Returns the type of pixels when they are read in this way.
    ///
    /// # Errors
    /// [`Reason::PixelKind`] if scaled pixels are to be read exactly.
    pub fn read_type(&self, read: ReadAs) -> Result<PixelType, Error> {
        match read {
            ReadAs::Float32 => Ok(PixelType::F32),
            ReadAs::Float64 => Ok(PixelType::F64),
            ReadAs::Raw => Ok(self.stored_type()),
            ReadAs::Exact if !self.layout().scaled => Ok(self.pixel_type()),
            ReadAs::Exact => {
                let layout = self.layout();
                let found = format!("BSCALE = {} and BZERO = {}", layout.scale, layout.zero);
                Err(self.refused(Reason::PixelKind, "pixels that are not scaled", found))
            }
        }
    }

    /// Default type for reading: f64 for pixels that are scaled or may be BLANK, otherwise the type of the pixels.
    pub fn default_read(&self) -> ReadAs {
        match (self.is_plain(), self.pixel_type()) {
            (false, _) | (true, PixelType::F64) => ReadAs::Float64,
            (true, PixelType::F32) => ReadAs::Float32,
            (true, _) => ReadAs::Exact,
        }
    }

    /// Whether the pixels of a section, read with the default type, are a single short read of a
    /// local file, which ends before it could be cancelled.
    pub fn reads_at_once(&self, section: &Section) -> bool {
        let bytes = section.pixels().saturating_mul(self.pixel_bytes().size);
        self.is_plain()
            && self.part_of_row(section).is_some()
            && fills_at_once(&**self.storage(), bytes)
    }

    /// Reads a section into `out`: one element per pixel, the section's first axis the fastest, in native byte order.
    ///
    /// NaN payloads and -0.0 are preserved if nothing is scaled and the type stays the same.
    ///
    /// # Errors
    /// [`Reason::Output`] if the array has the wrong size or type, [`IoError::Values`] if finite
    /// values exceed f32; otherwise as [`Image::stats`].
    pub fn read(
        &self,
        section: &Section,
        read: ReadAs,
        out: OutputPixels<'_>,
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let (pixel, tier) = (self.read_type(read)?, tier());
        self.check_section(section)?;
        let encoding = match read {
            ReadAs::Float32 | ReadAs::Float64 => self.encoding(),
            ReadAs::Exact | ReadAs::Raw => Encoding::plain(pixel),
        };
        let mut out = out;
        if encoding == Encoding::plain(pixel)
            && out.holds(pixel)
            && let Some(first) = self.run_of_pixels(section)
        {
            let bytes = out.bytes();
            self.check_length(bytes.len(), section, pixel.bytes())?;
            return self.fill_run(first, bytes, pixel, tier, options);
        }
        match (out, pixel) {
            (OutputPixels::Float32(out), PixelType::F32) => {
                let (fits, lost) = (fits_f32(&encoding), AtomicU64::new(0));
                let report =
                    self.read_lines(section, out, 1, options, |bytes, out: &mut [f32]| {
                        decode_f32(bytes, &encoding, tier, out);
                        if !fits {
                            lost.fetch_add(
                                overflows(bytes, &encoding, tier, out),
                                Ordering::Relaxed,
                            );
                        }
                    })?;
                match lost.into_inner() {
                    0 => Ok(report),
                    count => {
                        Err(IoError::Values { name: self.file_name().to_owned(), count }.into())
                    }
                }
            }
            (OutputPixels::Float64(out), PixelType::F64) => {
                let decode =
                    |bytes: &[u8], out: &mut [f64]| decode_f64(bytes, &encoding, tier, out);
                self.read_lines(section, out, 1, options, decode)
            }
            (OutputPixels::Bytes(out), pixel) if !pixel.is_float() => {
                let decode = |bytes: &[u8], out: &mut [u8]| decode_native(bytes, pixel, tier, out);
                self.read_lines(section, out, pixel.bytes(), options, decode)
            }
            (_, pixel) => {
                let expected = format!("an array of {pixel:?}");
                Err(self.refused(Reason::Output, expected, "one of another type"))
            }
        }
    }

    /// Returns the first pixel of a section that is one run of pixels in the file and must be read
    /// from it; bytes in memory are decoded directly.
    fn run_of_pixels(&self, section: &Section) -> Option<u64> {
        if section.pixels() == 0 || self.lends_bytes() {
            return None;
        }
        self.part_of_row(section).or_else(|| {
            let grid = Grid::new(self.axes(), section, &vec![false; self.axes().len()]);
            let is_run = match grid.loops.as_slice() {
                [] => true,
                [level] => level.stride == 1,
                _ => false,
            };
            is_run.then_some(grid.origin)
        })
    }

    /// Returns the first pixel of a section that is a part of one row, or a pixel.
    fn part_of_row(&self, section: &Section) -> Option<u64> {
        let [row, others @ ..] = section.ranges() else { return None };
        let is_run = (row.step == 1 || row.count == 1) && others.iter().all(|of| of.count == 1);
        let (mut pixel, mut stride) = (0, 1);
        for (range, length) in section.ranges().iter().zip(self.axes()) {
            pixel += range.first * stride;
            stride *= length;
        }
        is_run.then_some(pixel)
    }

    /// Reads a run of pixels that only need their bytes swapped.
    fn fill_run(
        &self,
        first: u64,
        out: &mut [u8],
        pixel: PixelType,
        tier: Tier,
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let count = (out.len() / pixel.bytes()) as u64;
        self.check_present(Some(first + count - 1))?;
        let PixelBytes { offset, size, .. } = self.pixel_bytes();
        let progress = Progress { options: *options, total: out.len() as u64 };
        let (run, offset) = (progress.run_options(), offset + first * size);
        Ok(read_native(&**self.storage(), offset, out, pixel, tier, &run)?)
    }

    /// Checks the length of the output: `width` elements per pixel.
    fn check_length(&self, length: usize, section: &Section, width: usize) -> Result<(), Error> {
        let required = u128::from(section.pixels()) * width as u128;
        if length as u128 == required {
            return Ok(());
        }
        let found = format!("{length} elements");
        Err(self.refused(Reason::Output, format!("{required} elements"), found))
    }

    /// Fills `out`, which has `width` elements per pixel, by decoding line by line.
    fn read_lines<T: Send>(
        &self,
        section: &Section,
        out: &mut [T],
        width: usize,
        options: &RunOptions<'_>,
        decode: impl Fn(&[u8], &mut [T]) + Sync,
    ) -> Result<Report, Error> {
        self.check_length(out.len(), section, width)?;
        let grid = Grid::new(self.axes(), section, &vec![false; self.axes().len()]);
        self.check_present(grid.last_pixel())?;
        let pixels = self.pixel_bytes();
        let lines = GridLines::new(&grid, false, pixels);
        let parts = parts(out, &lines, width);
        self.run(
            &LineReads { lines: &lines, pixels },
            lines.pixels(),
            options,
            Vec::new,
            |gathered, task, fetched| {
                let mut part = parts[task as usize].lock().unwrap_or_else(PoisonError::into_inner);
                let (mut piece, mut done) = (0, 0);
                lines.visit(task, &mut |line| {
                    let bytes = line.stretch.collect(fetched, &mut piece, pixels, gathered);
                    let end = done + line.stretch.count as usize * width;
                    decode(bytes, &mut part[done..end]);
                    done = end;
                });
                Ok(())
            },
            |_task, ()| Ok(()),
        )
    }
}

/// Counts the finite values that became infinite in f32.
fn overflows(bytes: &[u8], encoding: &Encoding, tier: Tier, singles: &[f32]) -> u64 {
    if !singles.iter().any(|single| single.is_infinite()) {
        return 0;
    }
    let size = encoding.pixel_bytes();
    let infinite = bytes.chunks_exact(size).zip(singles).filter(|(_, single)| single.is_infinite());
    let finite = infinite.filter(|(bytes, _)| {
        let mut value = [0.0];
        decode_f64(bytes, encoding, tier, &mut value);
        value[0].is_finite()
    });
    finite.count() as u64
}

/// Splits the output by task.
fn parts<'a, T>(out: &'a mut [T], lines: &GridLines, width: usize) -> Vec<Mutex<&'a mut [T]>> {
    let mut rest = out;
    let mut parts = Vec::new();
    for task in 0..lines.tasks() {
        let mut pixels = 0;
        lines.visit(task, &mut |line| pixels += line.stretch.count as usize);
        let (part, later) = rest.split_at_mut(pixels * width);
        parts.push(Mutex::new(part));
        rest = later;
    }
    parts
}
