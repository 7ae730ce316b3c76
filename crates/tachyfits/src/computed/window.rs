//! Boxes of pixels: the unit in which images are computed.

/// A box of an image: the first pixel and the number of pixels along each axis, in FITS order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) first: Vec<u64>,
    pub(crate) count: Vec<u64>,
}

impl Window {
    /// Returns the number of pixels.
    pub(crate) fn pixels(&self) -> u64 {
        self.count.iter().product()
    }

    /// Returns the number of pixels of the axes before `axis`, of the axis itself, and of the axes after it.
    pub(crate) fn around(&self, axis: usize) -> (usize, usize, usize) {
        let inner: u64 = self.count[..axis].iter().product();
        let outer: u64 = self.count[axis + 1..].iter().product();
        (inner as usize, self.count[axis] as usize, outer as usize)
    }

    /// Returns the same box with other pixels along one axis.
    pub(crate) fn along(&self, axis: usize, first: u64, count: u64) -> Window {
        let mut window = self.clone();
        window.first[axis] = first;
        window.count[axis] = count;
        window
    }

    /// Returns the index after the last pixel along each axis.
    pub(crate) fn end(&self) -> Vec<u64> {
        self.first.iter().zip(&self.count).map(|(first, count)| first + count).collect()
    }

    /// Returns, along one axis, the first pixel shared with another box of the image, and the number of
    /// shared pixels.
    pub(crate) fn common(&self, other: &Window, axis: usize) -> (u64, u64) {
        let end = |window: &Window| window.first[axis] + window.count[axis];
        let first = self.first[axis].max(other.first[axis]);
        (first, end(self).min(end(other)).saturating_sub(first))
    }

    /// Returns the number of pixels shared with another box of the image.
    pub(crate) fn common_pixels(&self, other: &Window) -> u64 {
        (0..self.first.len()).map(|axis| self.common(other, axis).1).product()
    }

    /// Returns the index of the first pixel of a box within this one, if its pixels are one run of this box's.
    pub(crate) fn run_of(&self, inner: &Window) -> Option<u64> {
        let from = |axis: usize| inner.first[axis].checked_sub(self.first[axis]);
        let first: Vec<u64> = (0..self.first.len()).map(from).collect::<Option<_>>()?;
        let relative = Window { first, count: inner.count.clone() };
        let is_inside = relative.end().iter().zip(&self.count).all(|(end, count)| end <= count);
        let (first, length) = relative.runs(&self.count).next()?;
        (is_inside && length == inner.pixels()).then_some(first)
    }

    /// Returns the linear index of the first pixel in an image with these axes.
    pub(crate) fn first_index(&self, axes: &[u64]) -> u64 {
        self.first.iter().zip(axes).rev().fold(0, |index, (first, length)| index * length + first)
    }

    /// Returns the contiguous runs of the box in an image with these axes: the linear index of the first
    /// pixel and the number of pixels. All runs have the same length, and follow the order of the box's
    /// pixels.
    pub(crate) fn runs(&self, axes: &[u64]) -> WindowRuns<'_> {
        // Axes that a run spans: complete ones, and one that may be partial.
        let whole = self.count.iter().zip(axes).take_while(|(count, length)| count == length);
        let run_axes = (whole.count() + 1).min(axes.len());
        let length = self.count[..run_axes].iter().product();
        let mut strides = vec![1; axes.len()];
        for axis in 1..axes.len() {
            strides[axis] = strides[axis - 1] * axes[axis - 1];
        }
        let origin = self.first_index(axes);
        let runs = self.count[run_axes..].iter().product();
        let empty = self.count.contains(&0);
        WindowRuns {
            window: self,
            strides,
            run_axes,
            origin,
            length,
            next: 0,
            runs: if empty { 0 } else { runs },
        }
    }
}

/// See [`Window::runs`].
pub(crate) struct WindowRuns<'a> {
    window: &'a Window,
    strides: Vec<u64>,
    /// Number of axes that a run spans.
    run_axes: usize,
    origin: u64,
    length: u64,
    next: u64,
    runs: u64,
}

impl Iterator for WindowRuns<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        if self.next == self.runs {
            return None;
        }
        let (mut rest, mut first) = (self.next, self.origin);
        for axis in self.run_axes..self.strides.len() {
            first += rest % self.window.count[axis] * self.strides[axis];
            rest /= self.window.count[axis];
        }
        self.next += 1;
        Some((first, self.length))
    }
}

/// Returns the boxes that together cover `count` pixels from linear index `first` on, in order; at most two
/// per axis.
pub(crate) fn windows_of_stretch(axes: &[u64], first: u64, count: u64) -> Vec<Window> {
    let mut windows = Vec::new();
    let (mut at, end) = (first, first + count);
    while at < end {
        // The highest number of axes whose complete planes begin here and fit in the stretch.
        let (mut unit, mut axis) = (1, 0);
        while axis + 1 < axes.len() {
            let plane = unit * axes[axis];
            if at % plane != 0 || at + plane > end {
                break;
            }
            (unit, axis) = (plane, axis + 1);
        }
        let index = at / unit % axes[axis];
        let steps = ((end - at) / unit).min(axes[axis] - index);
        windows.push(window_at(axes, at, axis, steps));
        at += steps * unit;
    }
    windows
}

/// Returns the box from pixel `at` on that spans all axes before `axis` and `steps` pixels along it.
fn window_at(axes: &[u64], at: u64, axis: usize, steps: u64) -> Window {
    let mut window = Window { first: vec![0; axes.len()], count: axes.to_vec() };
    let mut rest = at;
    for (number, &length) in axes.iter().enumerate() {
        window.first[number] = rest % length;
        rest /= length;
        if number >= axis {
            window.count[number] = if number == axis { steps } else { 1 };
        }
    }
    window
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the linear indices of the pixels of a box, in order.
    fn pixels(window: &Window, axes: &[u64]) -> Vec<u64> {
        let mut indices = vec![0];
        let mut stride: u64 = axes.iter().product();
        for axis in (0..axes.len()).rev() {
            stride /= axes[axis];
            let along = window.first[axis]..window.first[axis] + window.count[axis];
            indices = indices
                .iter()
                .flat_map(|&outer| along.clone().map(move |index| outer + index * stride))
                .collect();
        }
        indices
    }

    fn image_and_window() -> impl Strategy<Value = (Vec<u64>, Window)> {
        prop::collection::vec((1u64..7, 0u64..7, 0u64..7), 1..5).prop_map(|axes| {
            let first = axes.iter().map(|&(length, first, _)| first % length).collect::<Vec<_>>();
            let count = axes
                .iter()
                .zip(&first)
                .map(|(&(length, _, count), &first)| count.min(length - first))
                .collect();
            (axes.iter().map(|axis| axis.0).collect(), Window { first, count })
        })
    }

    proptest! {
        #[test]
        fn runs_are_the_pixels_in_order((axes, window) in image_and_window()) {
            let runs: Vec<u64> =
                window.runs(&axes).flat_map(|(first, count)| first..first + count).collect();
            let expected = if window.pixels() == 0 { Vec::new() } else { pixels(&window, &axes) };
            prop_assert_eq!(runs, expected);
        }

        #[test]
        fn a_stretch_is_covered_in_order(
            axes in prop::collection::vec(1u64..6, 1..5), a: prop::sample::Index, b: prop::sample::Index
        ) {
            let all = axes.iter().product::<u64>() as usize + 1;
            let (first, end) = (a.index(all).min(b.index(all)), a.index(all).max(b.index(all)));
            let windows = windows_of_stretch(&axes, first as u64, (end - first) as u64);
            let indices: Vec<u64> =
                windows.iter().flat_map(|window| pixels(window, &axes)).collect();
            prop_assert_eq!(indices, (first as u64..end as u64).collect::<Vec<_>>());
            prop_assert!(windows.len() <= 2 * axes.len());
        }
    }
}
