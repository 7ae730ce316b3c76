//! Updates pixels. New pixels overlay the old ones until the file is written; other pixels are
//! neither read nor written.

use tachyfits_format::{Hdu, ImageLayout};
use tachyfits_memory::{self as memory, NoMemory};

use super::Editor;
use super::edited_cells::{Overlay, Patch};
use crate::error::{Error, Reason};
use crate::section::{AxisRange, Section};

/// Maximum bytes of one piece of a patch, whose length has 32 bits.
const PIECE_BYTES: u64 = 1 << 30;
/// Purpose of the allocation, for error messages.
const PLACES: &str = "the places of pixels";

impl Editor {
    /// Returns the layout of the pixels of an edited image.
    ///
    /// # Errors
    /// [`Reason::NoSuchHdu`], and if the HDU has no image.
    pub fn image_layout(&self, hdu: usize) -> Result<ImageLayout, Error> {
        let unit = self.unit(hdu)?;
        match &unit.origin {
            // Structural cards are those of the origin; scaling cards may differ.
            Some(origin) => {
                let mut edited = Hdu::clone(origin);
                edited.header = unit.header().clone();
                self.format_error(edited.image())
            }
            None => {
                let refused = Error::refused(Reason::Edit, "an image", "an HDU without pixels");
                Err(refused.at(&self.name, hdu))
            }
        }
    }

    /// Checks that the data of an HDU are complete, before new pixels are computed.
    ///
    /// # Errors
    /// [`Reason::DataMissing`] if the data are truncated.
    pub fn check_pixels(&self, hdu: usize) -> Result<(), Error> {
        let missing = self.unit(hdu)?.missing();
        if missing > 0 {
            let expected = format!("{missing} bytes more of its data");
            let refused = Error::refused(Reason::DataMissing, expected, "the end of the file");
            return Err(refused.at(&self.name, hdu));
        }
        Ok(())
    }

    /// Replaces the pixels of a section: `ranges` has one range per axis, NAXIS1 first, with steps
    /// above 0, and `bytes` has the pixels in this order as stored, big-endian.
    ///
    /// # Errors
    /// [`Reason::Section`] if the section exceeds the image or the number of bytes does not match,
    /// [`Reason::DataMissing`] if the data are truncated, and if the HDU has no image. On error the
    /// image is unchanged.
    pub fn update_pixels(
        &mut self,
        hdu: usize,
        ranges: &[AxisRange],
        bytes: &[u8],
    ) -> Result<(), Error> {
        let layout = self.image_layout(hdu)?;
        let at_place = |error: Error| error.at(&self.name, hdu);
        let section = Section::new(&layout.axes, ranges).map_err(at_place)?;
        let refuse = |reason, expected: String, found: String| {
            Err(Error::refused(reason, expected, found).at(&self.name, hdu))
        };
        if let Some(range) = ranges.iter().find(|range| range.step < 0) {
            return refuse(Reason::Section, "steps above 0".to_owned(), range.step.to_string());
        }
        self.check_pixels(hdu)?;
        let unit = self.unit(hdu)?;
        let size = layout.stored.bytes() as u64;
        let expected_bytes = section.pixels().checked_mul(size);
        if expected_bytes != Some(bytes.len() as u64) {
            let expected = format!("{} pixels of {size} bytes", section.pixels());
            return refuse(Reason::Section, expected, format!("{} bytes", bytes.len()));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let (runs, run_bytes) = runs(&layout.axes, section.ranges(), size)?;
        let patch = match section.ranges().first() {
            // Strided pixels: the bytes between them are written unchanged, because they are in the
            // same pages anyway.
            Some(first) if first.step > 1 && first.count > 1 => {
                let step = first.step as u64 * size;
                let whole = (first.count - 1) * step + size;
                let length = (runs.len() as u64 * whole) as usize;
                let mut updated = memory::filled(length, 0, "replaced pixels")?;
                let rows = updated.chunks_mut(whole as usize).zip(bytes.chunks(run_bytes as usize));
                for (at, (row, pixels)) in runs.iter().zip(rows) {
                    unit.data.read(*at, row)?;
                    let places = row.chunks_mut(step as usize);
                    for (place, pixel) in places.zip(pixels.chunks(size as usize)) {
                        place[..size as usize].copy_from_slice(pixel);
                    }
                }
                scattered(&runs, whole, updated)?
            }
            _ => scattered(&runs, run_bytes, memory::copied(bytes, "replaced pixels")?)?,
        };
        let data = Overlay::over(&unit.data, patch)?;
        self.units[hdu].set_data(data);
        Ok(())
    }
}

/// Returns the offsets of the runs of a section in the data, ascending, and the bytes of each run:
/// pixels along NAXIS1, and consecutive whole rows.
fn runs(axes: &[u64], ranges: &[AxisRange], size: u64) -> Result<(Vec<u64>, u64), NoMemory> {
    let mut run_bytes = size;
    let mut stride = size;
    let mut run_axes = 0;
    // A run spans axes selected whole, and the next axis, even if only a part of it is selected.
    for (range, length) in ranges.iter().zip(axes) {
        if run_axes > 0 && range.step != 1 && range.count > 1 {
            break;
        }
        run_bytes *= range.count;
        run_axes += 1;
        if range.step != 1 && range.count > 1 || range.count != *length {
            break;
        }
    }
    let mut runs = vec![0];
    for (axis, (range, length)) in ranges.iter().zip(axes).enumerate() {
        let count = if axis < run_axes { 1 } else { range.count };
        let step = range.step as u64 * stride;
        let mut next = memory::with_room(runs.len().saturating_mul(count as usize), PLACES)?;
        for index in 0..count {
            let begin = range.first * stride + index * step;
            next.extend(runs.iter().map(|run| begin + run));
        }
        runs = next;
        stride *= length;
    }
    Ok((runs, run_bytes))
}

/// Creates a patch of runs of equal length; very long runs are split.
fn scattered(runs: &[u64], run_bytes: u64, bytes: Vec<u8>) -> Result<Patch, NoMemory> {
    let pieces = run_bytes.div_ceil(PIECE_BYTES) as usize;
    let mut places = memory::with_room(runs.len().saturating_mul(pieces), PLACES)?;
    for (run, begin) in runs.iter().zip((0..).step_by(run_bytes as usize)) {
        for within in (0..run_bytes).step_by(PIECE_BYTES as usize) {
            let length = PIECE_BYTES.min(run_bytes - within) as u32;
            places.push((run + within, length, begin + within as usize));
        }
    }
    Ok(Patch::Scattered { places, bytes })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{AxisRange, runs, scattered};
    use crate::edit::content::Rope;
    use crate::edit::edited_cells::Overlay;
    use crate::edit::edited_hdu::memory;

    fn all(rope: &Rope) -> Vec<u8> {
        let mut bytes = vec![0; rope.bytes() as usize];
        rope.read(0, &mut bytes).unwrap();
        bytes
    }

    fn range(length: u64) -> impl Strategy<Value = AxisRange> {
        (0..length, 1..=length, 1..4i64).prop_map(move |(first, count, step)| {
            let most = (length - first).div_ceil(step as u64);
            AxisRange { first, count: count.min(most), step }
        })
    }

    /// Axes and sections of them, one section per write.
    fn sections() -> impl Strategy<Value = (Vec<u64>, Vec<Vec<AxisRange>>)> {
        prop::collection::vec(1u64..6, 1..4).prop_flat_map(|axes| {
            let section: Vec<_> = axes.iter().map(|&length| range(length)).collect();
            (Just(axes), prop::collection::vec(section, 1..8))
        })
    }

    proptest! {
        /// Compares sections written one after another, overlapping or not, with pixels set one at
        /// a time. Lists of similar length are merged on the way.
        #[test]
        fn pixels_are_as_if_set_one_by_one((axes, writes) in sections()) {
            let size = 2;
            let total = axes.iter().product::<u64>() * size;
            let old: Vec<u8> = (0..total).map(|byte| byte as u8).collect();
            let (mut rope, mut twin) = (memory(old.clone()), old);
            for (number, section) in writes.iter().enumerate() {
                let section: Vec<_> =
                    section.iter().map(|range| AxisRange { step: 1, ..*range }).collect();
                let fits = section.iter().zip(&axes).all(|(range, length)| range.first + range.count <= *length);
                prop_assume!(fits);
                let count: u64 = section.iter().map(|range| range.count).product();
                let new: Vec<u8> = (0..count * size).map(|byte| (byte * 7 + 100 * number as u64 + 128) as u8).collect();
                let (begins, run) = runs(&axes, &section, size).unwrap();
                prop_assert!(begins.windows(2).all(|pair| pair[0] + run <= pair[1]));
                let patch = scattered(&begins, run, new.clone()).unwrap();
                rope = Overlay::over(&rope, patch).unwrap();
                for index in 0..count {
                    let (mut rest, mut at, mut stride) = (index, 0, 1);
                    for (range, length) in section.iter().zip(&axes) {
                        at += (range.first + rest % range.count) * stride;
                        rest /= range.count;
                        stride *= length;
                    }
                    let (at, from) = ((at * size) as usize, (index * size) as usize);
                    twin[at..at + 2].copy_from_slice(&new[from..from + 2]);
                }
                prop_assert_eq!(&all(&rope), &twin);
            }
            let mut part = vec![0; (total / 2) as usize];
            rope.read(total / 4, &mut part).unwrap();
            prop_assert_eq!(&part[..], &twin[(total / 4) as usize..][..part.len()]);
        }
    }
}
