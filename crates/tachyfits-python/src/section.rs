//! Axis orders: NumPy's on one side, FITS' on the other. Every reversal is made here.

use tachyfits::{AxisRange, Error, Image, Reason, Section};

use crate::errors::refused;

/// One (start, count, step) per NumPy axis.
pub(crate) type Ranges = Vec<(i64, i64, i64)>;

/// The section that Python asks for; the whole image where it asks for none.
pub(crate) fn section(image: &Image, ranges: Option<Ranges>) -> Result<Section, Error> {
    let Some(ranges) = ranges else { return Ok(image.whole()) };
    image.section(&axis_ranges(place(image), ranges)?)
}

/// The ranges in the order of the axes of FITS.
pub(crate) fn axis_ranges(
    place: (&str, Option<usize>),
    ranges: Ranges,
) -> Result<Vec<AxisRange>, Error> {
    let axes = ranges.len();
    ranges
        .into_iter()
        .rev()
        .enumerate()
        .map(|(axis, (first, count, step))| match (u64::try_from(first), u64::try_from(count)) {
            (Ok(first), Ok(count)) => Ok(AxisRange { first, count, step }),
            _ => {
                let expected = "a start and a count that are not negative";
                let number = axes - 1 - axis;
                let found = format!("({first}, {count}, {step}) for NumPy axis {number}");
                Err(refused(Reason::Section, place, expected, found))
            }
        })
        .collect()
}

/// The shape of a section in NumPy order.
pub(crate) fn shape(section: &Section) -> Vec<u64> {
    section.ranges().iter().rev().map(|range| range.count).collect()
}

/// The engine's number of a NumPy axis: 0 for NAXIS1.
pub(crate) fn fits_axis(image: &Image, axis: i64) -> Result<usize, Error> {
    let axes = image.axes().len();
    match usize::try_from(axis) {
        Ok(axis) if axis < axes => Ok(axes - 1 - axis),
        _ => {
            let expected = match axes {
                0 => "an image with axes".to_owned(),
                _ => format!("a NumPy axis from 0 to {}", axes - 1),
            };
            Err(refused(Reason::NoSuchAxis, place(image), expected, axis.to_string()))
        }
    }
}

/// The engine's numbers of several NumPy axes.
pub(crate) fn fits_axes(image: &Image, axes: &[i64]) -> Result<Vec<usize>, Error> {
    axes.iter().map(|&axis| fits_axis(image, axis)).collect()
}

/// The NumPy index of a pixel by its linear index in a section of this shape.
pub(crate) fn unravel(position: u64, shape: &[u64]) -> Vec<u64> {
    let mut rest = position;
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&length| {
            let length = length.max(1);
            let at = rest % length;
            rest /= length;
            at
        })
        .collect();
    index.reverse();
    index
}

/// Where an image is, for messages.
pub(crate) fn place(image: &Image) -> (&str, Option<usize>) {
    (image.file_name(), Some(image.hdu().index))
}
