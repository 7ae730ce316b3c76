//! Sections of an image: the pixels that a cutout or a result uses, and the new numbers of its axes.

use crate::code::Code;
use crate::error::{FormatError, Place};
use crate::hdu::Hdu;
use crate::wcs::Description;

/// Pixels selected along one axis. The default selects none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AxisSelection {
    /// First selected pixel, 0-based.
    pub first: u64,
    /// Number of selected pixels, 1 or more.
    pub count: u64,
    /// Step between selected pixels; negative for reverse order, never 0.
    pub step: i64,
    /// Whether the result keeps the axis; only an axis of a single pixel can be left out.
    pub keep: bool,
    /// Number of undefined pixels that the result has before the first selected pixel.
    pub before: u64,
    /// Number of undefined pixels after the last selected pixel.
    pub after: u64,
}

impl AxisSelection {
    /// Number of pixels of the result along this axis.
    #[must_use]
    pub fn pixels(&self) -> u64 {
        self.count.saturating_add(self.before).saturating_add(self.after)
    }
}

/// Treatment of an axis of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Kept as an axis of the result.
    Kept,
    /// Reduced to one pixel: an axis of length 1, as wide as all its pixels together.
    Collapsed,
    /// Reduced to one pixel and removed, with its coordinates. If coordinates of a remaining axis depend on it (through
    /// PC, CD or CROTA, or as the other celestial axis), its coordinates stay, without an axis of the array.
    Removed,
}

/// Pixels used along one axis, and the fate of the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultAxis {
    /// The first pixel, 0-based.
    pub first: u64,
    /// Number of pixels; 0 is allowed and changes no coordinates.
    pub count: u64,
    /// Step between pixels; negative for reverse order, never 0.
    pub step: i64,
    /// Treatment of each axis.
    pub fate: Fate,
}

/// A section within the bounds of its image.
#[derive(Debug)]
pub(super) struct Section {
    axes: Vec<Axis>,
    kept: usize,
}

/// An axis of the image.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// Position in the image of the centre of the section's first pixel; 1 is the centre of the image's first pixel.
    centre: f64,
    /// Image pixels from one section pixel to the next.
    scale: f64,
    /// Number of pixels in the section.
    count: u64,
    place: AxisPlace,
}

/// New place of an axis, with its new number from 1: kept axes first, each group in its original order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AxisPlace {
    Kept(usize),
    /// An axis of the coordinates only.
    LeftOut(usize),
    /// An axis that no card describes any more.
    Removed,
}

impl Section {
    /// Returns the section of a cutout: kept axes and left-out axes each stay in order.
    pub fn of_cutout(hdu: &Hdu, axes: &[AxisSelection]) -> Result<Self, FormatError> {
        let refused = |code: Code, place: Place, expected: &str, found: String| {
            Err(FormatError::new(code, place, expected, found))
        };
        hdu.image()?;
        check_count(hdu, axes.len())?;
        for (n, (axis, &size)) in (1..).zip(axes.iter().zip(&hdu.axes)) {
            let place = hdu.header.place(&format!("NAXIS{n}"));
            // An empty selection is valid only if the axis has no pixels.
            if !fits(axis.first, axis.count, axis.step, size) || (axis.count == 0 && size > 0) {
                return Err(outside(place, size, axis.first, axis.count, axis.step));
            }
            if !axis.keep && axis.pixels() != 1 {
                let found = format!("{} pixels", axis.pixels());
                return refused(Code::AxisKept, place, "one pixel of an axis to leave out", found);
            }
        }
        if axes.iter().all(|axis| !axis.keep) {
            let place = hdu.header.place("NAXIS");
            return refused(Code::AxisKept, place, "an axis to keep", "none".to_owned());
        }
        Ok(Section::new(axes.iter().map(|axis| {
            let fate = if axis.keep { AxisPlace::Kept(0) } else { AxisPlace::LeftOut(0) };
            let selection = Axis::taken(axis.first, axis.count, axis.step, fate);
            let centre = selection.centre - axis.before as f64 * selection.scale;
            Axis { centre, count: axis.pixels(), ..selection }
        })))
    }

    /// Returns the section of a result. A removed axis keeps its coordinates if those of other axes depend on it.
    pub fn of_result(
        hdu: &Hdu,
        axes: &[ResultAxis],
        descriptions: &[Description],
    ) -> Result<Self, FormatError> {
        hdu.image()?;
        check_count(hdu, axes.len())?;
        for (n, (axis, &size)) in (1..).zip(axes.iter().zip(&hdu.axes)) {
            if !fits(axis.first, axis.count, axis.step, size) {
                let place = hdu.header.place(&format!("NAXIS{n}"));
                return Err(outside(place, size, axis.first, axis.count, axis.step));
            }
        }
        let mut removed: Vec<bool> = axes.iter().map(|axis| axis.fate == Fate::Removed).collect();
        let depends = |axis: usize, other: usize| {
            descriptions.iter().any(|description| description.couples(&hdu.header, axis, other))
        };
        // An axis that stays may require others: repeat until none changes.
        while let Some(axis) = (0..axes.len()).find(|&axis| {
            removed[axis] && (0..axes.len()).any(|n| !removed[n] && depends(axis + 1, n + 1))
        }) {
            removed[axis] = false;
        }
        Ok(Section::new(axes.iter().zip(removed).map(|(axis, removed)| match axis.fate {
            Fate::Kept => Axis::taken(axis.first, axis.count, axis.step, AxisPlace::Kept(0)),
            Fate::Collapsed => axis.collapsed(AxisPlace::Kept(0)),
            Fate::Removed if removed => axis.collapsed(AxisPlace::Removed),
            Fate::Removed => axis.collapsed(AxisPlace::LeftOut(0)),
        })))
    }

    fn new(axes: impl Iterator<Item = Axis>) -> Self {
        let mut axes: Vec<Axis> = axes.collect();
        let kept_axes = axes.iter().filter(|axis| matches!(axis.place, AxisPlace::Kept(_))).count();
        let (mut next_kept, mut next_left) = (0, kept_axes);
        for axis in &mut axes {
            match &mut axis.place {
                AxisPlace::Kept(number) => {
                    next_kept += 1;
                    *number = next_kept;
                }
                AxisPlace::LeftOut(number) => {
                    next_left += 1;
                    *number = next_left;
                }
                AxisPlace::Removed => {}
            }
        }
        Section { axes, kept: kept_axes }
    }

    /// Number of axes of the image.
    pub fn axes(&self) -> usize {
        self.axes.len()
    }

    /// Number of axes of the section's array.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Returns the new number of an axis, `None` if it is removed; coordinate axes beyond the array's follow.
    pub fn number(&self, axis: usize) -> Option<usize> {
        match self.axes.get(axis - 1).map(|axis| axis.place) {
            Some(AxisPlace::Kept(number) | AxisPlace::LeftOut(number)) => Some(number),
            Some(AxisPlace::Removed) => None,
            None => Some(axis - self.removed_up_to(axis)),
        }
    }

    /// Number of removed axes among 1 to `last`.
    pub fn removed_up_to(&self, last: usize) -> usize {
        let gone = |axis: &&Axis| axis.place == AxisPlace::Removed;
        self.axes.iter().take(last).filter(gone).count()
    }

    pub fn keeps(&self, axis: usize) -> bool {
        self.axes.get(axis - 1).is_none_or(|axis| matches!(axis.place, AxisPlace::Kept(_)))
    }

    /// Whether no axis is left out.
    pub fn keeps_all(&self) -> bool {
        self.kept == self.axes.len()
    }

    /// Whether the axis keeps its number.
    pub fn keeps_in_place(&self, axis: usize) -> bool {
        self.keeps(axis) && self.number(axis) == Some(axis)
    }

    /// Returns the image axis that has a new number, and its pixel count; `None` unless the axis is kept.
    pub fn kept_axis(&self, number: usize) -> Option<(usize, u64)> {
        let mut axes = (1..).zip(&self.axes);
        let (index, axis) = axes.find(|(_, axis)| axis.place == AxisPlace::Kept(number))?;
        Some((index, axis.count))
    }

    /// Renumbers the axes, all of which must be kept.
    pub fn renumber(&mut self, numbers: &[usize]) {
        for (axis, &number) in self.axes.iter_mut().zip(numbers) {
            axis.place = AxisPlace::Kept(number);
        }
    }

    /// Widens each pixel to several adjacent image pixels, of which it was the first.
    pub fn widen(&mut self, widths: &[u64]) {
        for (axis, &width) in self.axes.iter_mut().zip(widths) {
            axis.centre += (width as f64 - 1.0) / 2.0;
            if axis.count == 1 {
                axis.scale = width as f64;
            }
        }
    }

    /// Position in the image of the centre of the first pixel; 1 is the centre of the image's first pixel.
    pub fn centre(&self, axis: usize) -> f64 {
        self.axes.get(axis - 1).map_or(1.0, |axis| axis.centre)
    }

    /// The step. A single pixel has no next one, so its step is its width.
    pub fn step(&self, axis: usize) -> f64 {
        self.axes.get(axis - 1).map_or(1.0, |axis| axis.scale)
    }

    /// Whether pixels of the axis have new numbers.
    pub fn moves(&self, axis: usize) -> bool {
        (self.centre(axis), self.step(axis)) != (1.0, 1.0)
    }

    /// Converts a pixel number of the image (1 is its first) to the section: section pixel p' is image pixel p = centre
    /// + (p' - 1) · step.
    pub fn pixel(&self, axis: usize, pixel: f64) -> f64 {
        let centre = self.centre(axis);
        match self.step(axis) {
            1.0 => pixel - (centre - 1.0),
            step => (pixel - centre) / step + 1.0,
        }
    }
}

impl Axis {
    /// Returns an axis whose pixels stay separate.
    fn taken(first: u64, count: u64, step: i64, place: AxisPlace) -> Axis {
        let scale = if count > 1 { step as f64 } else { 1.0 };
        Axis { centre: first as f64 + 1.0, scale, count, place }
    }
}

impl ResultAxis {
    /// Returns the axis reduced to one pixel, centred on all its pixels and as wide as they are together; pixels
    /// skipped by the step count too.
    fn collapsed(&self, place: AxisPlace) -> Axis {
        let (count, step) = (self.count.max(1) as f64, self.step as f64);
        let middle = self.first as f64 + 1.0 + (count - 1.0) * step / 2.0;
        Axis { centre: middle, scale: count * step.abs(), count: 1, place }
    }
}

fn check_count(hdu: &Hdu, selections: usize) -> Result<(), FormatError> {
    if selections > 0 && selections == hdu.axes.len() {
        return Ok(());
    }
    let expected = format!("a selection for each of {} axes", hdu.axes.len().max(1));
    let found = format!("{selections} of {} axes", hdu.axes.len());
    Err(FormatError::new(Code::SectionRange, hdu.header.place("NAXIS"), expected, found))
}

fn outside(place: Place, size: u64, first: u64, count: u64, step: i64) -> FormatError {
    let expected = format!("pixels from 0 to {size} (exclusive)");
    let found = format!("{count} from {first} by {step}");
    FormatError::new(Code::SectionRange, place, expected, found)
}

/// Whether the pixels are within an axis of `size` pixels; an empty selection always is.
fn fits(first: u64, count: u64, step: i64, size: u64) -> bool {
    let size = i128::from(size);
    let last = i128::from(count.saturating_sub(1))
        .checked_mul(i128::from(step))
        .map(|distance| i128::from(first) + distance);
    let inside = |pixel: i128| (0..size).contains(&pixel);
    step != 0 && (count == 0 || (inside(i128::from(first)) && last.is_some_and(inside)))
}
