//! Sections: the selected pixels of an image, as first pixel, count and step per axis.

use std::ops::Range;

use crate::error::{Error, Reason};

/// Pixels along one axis: `first`, `first + step`, … , `count` of them, 0-based.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AxisRange {
    /// First pixel.
    pub first: u64,
    /// Number of pixels.
    pub count: u64,
    /// Step from one pixel to the next; negative to go backwards, never 0.
    pub step: i64,
}

impl From<Range<u64>> for AxisRange {
    /// Selects consecutive pixels; the end is excluded.
    fn from(range: Range<u64>) -> AxisRange {
        AxisRange { first: range.start, count: range.end.saturating_sub(range.start), step: 1 }
    }
}

impl From<u64> for AxisRange {
    /// Selects one pixel.
    fn from(first: u64) -> AxisRange {
        AxisRange { first, count: 1, step: 1 }
    }
}

/// A section of an image: one range per axis, in FITS order. Created by [`crate::Image::section`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Section {
    /// Lengths of the axes of the image.
    lengths: Vec<u64>,
    ranges: Vec<AxisRange>,
}

impl Section {
    /// Selects every pixel.
    pub(crate) fn whole(axes: &[u64]) -> Section {
        let ranges = axes.iter().map(|&count| AxisRange { first: 0, count, step: 1 });
        Section { lengths: axes.to_vec(), ranges: ranges.collect() }
    }

    /// Whether it was created for an image with these axes.
    pub(crate) fn is_of(&self, axes: &[u64]) -> bool {
        self.lengths == axes
    }

    /// Checks the ranges against the axes of the image.
    pub(crate) fn new(axes: &[u64], ranges: &[AxisRange]) -> Result<Section, Error> {
        if ranges.len() != axes.len() {
            let expected = format!("{} ranges, one per axis", axes.len());
            return Err(Error::refused(Reason::Section, expected, ranges.len().to_string()));
        }
        for (axis, (range, &length)) in ranges.iter().zip(axes).enumerate() {
            if !range.lies_within(length) {
                let expected = format!("pixels 0 to {} of NAXIS{}", length.max(1) - 1, axis + 1);
                let AxisRange { first, count, step } = range;
                let found = format!("{count} pixels from {first} in steps of {step}");
                return Err(Error::refused(Reason::Section, expected, found));
            }
        }
        Ok(Section { lengths: axes.to_vec(), ranges: ranges.to_vec() })
    }

    /// Replaces the range of one axis, 0 for NAXIS1, by a range or a pixel.
    ///
    /// ```
    /// use tachyfits::{Array, Header};
    /// let cube = Array::new(&[1.5f32; 24], &[4, 3, 2]).to_file("example", &Header::new())?.image(0)?;
    /// let rows = cube.whole().with(1, 1..3)?.with(2, 0)?;
    /// assert_eq!(rows.pixels(), 8);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::NoSuchAxis`]; [`Reason::Section`] unless every pixel is within the image.
    pub fn with(mut self, axis: usize, range: impl Into<AxisRange>) -> Result<Section, Error> {
        let axes = self.ranges.len();
        let Some(place) = self.ranges.get_mut(axis) else {
            let expected = format!("an axis from 0 to {} (0 is NAXIS1)", axes.saturating_sub(1));
            return Err(Error::refused(Reason::NoSuchAxis, expected, axis.to_string()));
        };
        *place = range.into();
        Section::new(&self.lengths, &self.ranges)
    }

    /// Ranges of the axes, NAXIS1 first.
    pub fn ranges(&self) -> &[AxisRange] {
        &self.ranges
    }

    /// Number of pixels; 0 for an image without axes.
    pub fn pixels(&self) -> u64 {
        // If an axis has length 0, the others may be of any length, and their product may overflow.
        if self.ranges.is_empty() || self.ranges.iter().any(|range| range.count == 0) {
            return 0;
        }
        self.ranges.iter().map(|range| range.count).product()
    }
}

impl AxisRange {
    fn lies_within(&self, length: u64) -> bool {
        if self.step == 0 {
            return false;
        }
        if self.count == 0 {
            return self.first <= length;
        }
        let steps = i128::from(self.count - 1) * i128::from(self.step);
        let last = i128::from(self.first) + steps;
        self.first < length && (0..i128::from(length)).contains(&last)
    }
}
