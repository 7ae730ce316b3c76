//! Reads pixels of an image as elements of any type: runs by first pixel and count, sections, and stored numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Report, fill};
use tachyfits_kernels::{finite_in_place, native_in_place};

use crate::error::{Error, Reason};
use crate::image::{Image, tier};
use crate::native::block_bytes;
use crate::section::Section;
use crate::strided::{Encoding, NullCounts, NullOutput, NullRule, PixelType, StridedArray};

impl Image {
    /// Reads pixels from number `first` on, counted along the first axis first, into `out`, as many
    /// as fit, as elements of any type. `rule` and `nulls` define null elements and their
    /// replacement: see [`StridedArray::read`].
    ///
    /// # Errors
    /// [`Reason::Output`] if the output exceeds the pixels, or the number of flags differs;
    /// otherwise as [`Image::read`].
    pub fn read_run(
        &self,
        first: u64,
        element: PixelType,
        rule: NullRule,
        nulls: NullOutput<'_>,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<(Report, NullCounts), Error> {
        let whole = [(self.axes().iter().product(), self.pixel_bytes().size)];
        self.read_strided(self.strided(0, &whole)?, first, element, rule, nulls, out, options)
    }

    /// Reads a whole section as elements of any type, as [`Image::read_run`].
    ///
    /// # Errors
    /// As [`Image::read_run`], and if the section is not within the image, or goes backwards.
    pub fn read_elements(
        &self,
        section: &Section,
        element: PixelType,
        rule: NullRule,
        nulls: NullOutput<'_>,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<(Report, NullCounts), Error> {
        self.check_section(section)?;
        let (mut first, mut stride, mut axes) = (0, self.pixel_bytes().size, Vec::new());
        for (range, length) in section.ranges().iter().zip(self.axes()) {
            let step = u64::try_from(range.step).map_err(|_| {
                let found = format!("a step of {}", range.step);
                self.refused(Reason::Output, "a section that goes forwards", found)
            })?;
            first += range.first * stride;
            axes.push((range.count, step.saturating_mul(stride)));
            stride *= length;
        }
        let array = self.strided(first, &axes)?;
        if (out.len() / element.bytes()) as u64 != array.len() {
            let expected = format!("{} elements of {element:?}", array.len());
            let found = format!("{} bytes", out.len());
            return Err(self.refused(Reason::Output, expected, found));
        }
        self.read_strided(array, 0, element, rule, nulls, out, options)
    }

    /// Reads the stored numbers from pixel `first` on, as in the file of a plain image: big-endian,
    /// without BSCALE and BZERO. If `null` has the bits of a null value, floats that are not finite
    /// become this value, and -0.0 and subnormal floats become 0. Also returns the number of null
    /// floats.
    ///
    /// # Errors
    /// As [`Image::read_run`].
    pub fn read_stored(
        &self,
        first: u64,
        null: Option<u64>,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<(Report, u64), Error> {
        let (pixel, tier) = (self.stored_type(), tier());
        let count = (out.len() / pixel.bytes()) as u64;
        let end = first.saturating_add(count);
        if !out.len().is_multiple_of(pixel.bytes()) || end > self.axes().iter().product() {
            let found = format!("{} bytes from pixel {first} on", out.len());
            return Err(self.refused(Reason::Output, "whole pixels of the image", found));
        }
        self.check_present(end.checked_sub(1))?;
        let nulls = AtomicU64::new(0);
        let work = |block: &mut [u8]| {
            if let Some(null) = null.filter(|_| pixel.is_float()) {
                nulls.fetch_add(finite_in_place(block, pixel, null, tier), Ordering::Relaxed);
                native_in_place(block, pixel, tier);
            }
        };
        let storage = &**self.storage();
        let offset = self.pixel_bytes().offset + first * pixel.bytes() as u64;
        let progress = Progress { options: *options, total: out.len() as u64 };
        let run = progress.run_options();
        let report = fill(storage, offset, out, block_bytes(storage), &run, work)?;
        Ok((report, nulls.into_inner()))
    }

    /// Encoding of the stored pixels.
    pub fn stored_encoding(&self) -> Encoding {
        self.encoding()
    }

    /// Returns the pixels from byte `first` of the data on as a strided array.
    fn strided(&self, first: u64, axes: &[(u64, u64)]) -> Result<StridedArray, Error> {
        let offset = self.pixel_bytes().offset + first;
        StridedArray::new(offset, self.encoding(), axes)
            .ok_or_else(|| self.refused(Reason::Output, "pixels below byte 2^63", "others"))
    }

    #[expect(clippy::too_many_arguments, reason = "those of `read_run`")]
    fn read_strided(
        &self,
        array: StridedArray,
        first: u64,
        element: PixelType,
        rule: NullRule,
        nulls: NullOutput<'_>,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<(Report, NullCounts), Error> {
        let end = first.saturating_add((out.len() / element.bytes()) as u64);
        if end <= array.len() {
            let size = self.pixel_bytes().size;
            let bytes = array.extent(first..end).end.saturating_sub(self.pixel_bytes().offset);
            self.check_present((bytes / size).checked_sub(1))?;
        }
        array.read(&**self.storage(), first, element, rule, nulls, out, options)
    }
}
