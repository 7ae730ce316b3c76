//! Axis orders of NumPy and FITS. All reversals are made here.

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PySlice, PyTuple};
use tachyfits::{AxisRange, Error, Image, Reason, Section};

use crate::errors::refused;

/// One (start, count, step) per NumPy axis.
pub(crate) type Ranges = Vec<(i64, i64, i64)>;

/// Returns the section for the ranges from Python; without ranges, the whole image.
pub(crate) fn section(image: &Image, ranges: Option<Ranges>) -> Result<Section, Error> {
    let Some(ranges) = ranges else { return Ok(image.whole()) };
    image.section(&axis_ranges(place(image), ranges)?)
}

/// Returns the ranges in the order of the FITS axes.
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

/// Pixels of an index of integers, slices and an Ellipsis.
pub(crate) struct Indexed {
    /// Ranges in the order of the FITS axes.
    pub(crate) ranges: Vec<AxisRange>,
    /// Shape in NumPy: axes with an integer are dropped.
    pub(crate) shape: Vec<u64>,
}

/// Returns the pixels of a NumPy index of an image with these FITS axes. `None` for an index with other items than
/// integers, slices and an Ellipsis, and for one that is invalid or empty: `text.sections` handles these and their
/// errors.
pub(crate) fn indexed(index: &Bound<'_, PyAny>, axes: &[u64]) -> Option<Indexed> {
    let items: Vec<Bound<'_, PyAny>> = match index.cast::<PyTuple>() {
        Ok(items) => items.iter().collect(),
        Err(_) => vec![index.clone()],
    };
    let is_ellipsis = |item: &Bound<'_, PyAny>| item.is(PyEllipsis::get(item.py()));
    let item_count = items.iter().filter(|item| !is_ellipsis(item)).count();
    if item_count > axes.len() || items.len() > item_count + 1 {
        return None;
    }
    let mut lengths = axes.iter().rev();
    let mut indexed = Indexed { ranges: Vec::with_capacity(axes.len()), shape: Vec::new() };
    for item in &items {
        if is_ellipsis(item) {
            lengths
                .by_ref()
                .take(axes.len() - item_count)
                .for_each(|&length| indexed.keep_all(length));
            continue;
        }
        let length = *lengths.next()?;
        if let Ok(slice) = item.cast::<PySlice>() {
            let indices = slice.indices(isize::try_from(length).ok()?).ok()?;
            let count = u64::try_from(indices.slicelength).ok().filter(|&count| count > 0)?;
            let (first, step) = (u64::try_from(indices.start).ok()?, indices.step as i64);
            indexed.ranges.push(AxisRange { first, count, step });
            indexed.shape.push(count);
        } else if item.is_instance_of::<PyBool>() || item.is_instance_of::<PyUntypedArray>() {
            return None;
        } else {
            let number: i64 = item.extract().ok()?;
            let from_start = if number < 0 { number.checked_add_unsigned(length)? } else { number };
            let first = u64::try_from(from_start).ok().filter(|&first| first < length)?;
            indexed.ranges.push(AxisRange { first, count: 1, step: 1 });
        }
    }
    lengths.for_each(|&length| indexed.keep_all(length));
    indexed.ranges.reverse();
    Some(indexed)
}

impl Indexed {
    fn keep_all(&mut self, length: u64) {
        self.ranges.push(AxisRange { first: 0, count: length, step: 1 });
        self.shape.push(length);
    }
}

/// Returns the shape of a section in NumPy order.
pub(crate) fn shape(section: &Section) -> Vec<u64> {
    section.ranges().iter().rev().map(|range| range.count).collect()
}

/// Returns the engine's number of a NumPy axis: 0 for NAXIS1.
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

/// Returns the engine's numbers of several NumPy axes.
pub(crate) fn fits_axes(image: &Image, axes: &[i64]) -> Result<Vec<usize>, Error> {
    axes.iter().map(|&axis| fits_axis(image, axis)).collect()
}

/// Returns the NumPy index of a pixel from its linear index in a section of this shape.
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

/// Returns the file and HDU of an image, for messages.
pub(crate) fn place(image: &Image) -> (&str, Option<usize>) {
    (image.file_name(), Some(image.hdu().index))
}
