//! Boxes of pixels: the unit in which computed images are made.

/// A box of an image: the first pixel and the number of pixels along each axis, in FITS order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) first: Vec<u64>,
    pub(crate) count: Vec<u64>,
}

impl Window {
    /// How many pixels.
    pub(crate) fn pixels(&self) -> u64 {
        self.count.iter().product()
    }

    /// The pixels of the axes before `axis`, of the axis itself, and of those after: an array of three axes.
    pub(crate) fn around(&self, axis: usize) -> (usize, usize, usize) {
        let inner: u64 = self.count[..axis].iter().product();
        let outer: u64 = self.count[axis + 1..].iter().product();
        (inner as usize, self.count[axis] as usize, outer as usize)
    }

    /// The same box but for the pixels along one axis.
    pub(crate) fn along(&self, axis: usize, first: u64, count: u64) -> Window {
        let mut window = self.clone();
        window.first[axis] = first;
        window.count[axis] = count;
        window
    }

    /// One pixel beyond the last along each axis.
    pub(crate) fn end(&self) -> Vec<u64> {
        self.first.iter().zip(&self.count).map(|(first, count)| first + count).collect()
    }

    /// Along one axis, the first pixel that is also in another box of the image, and how many are.
    pub(crate) fn common(&self, other: &Window, axis: usize) -> (u64, u64) {
        let end = |window: &Window| window.first[axis] + window.count[axis];
        let first = self.first[axis].max(other.first[axis]);
        (first, end(self).min(end(other)).saturating_sub(first))
    }

    /// How many pixels are also in another box of the image.
    pub(crate) fn common_pixels(&self, other: &Window) -> u64 {
        (0..self.first.len()).map(|axis| self.common(other, axis).1).product()
    }

    /// The linear index of the first pixel in an image with these axes.
    pub(crate) fn first_index(&self, axes: &[u64]) -> u64 {
        self.first.iter().zip(axes).rev().fold(0, |index, (first, length)| index * length + first)
    }

    /// The contiguous runs of pixels in an image with these axes: linear index of the first and
    /// number of pixels, all of the same length, in the order of the box's own pixels.
    pub(crate) fn runs(&self, axes: &[u64]) -> WindowRuns<'_> {
        // The axes that a run spans: all but the last of them wholly.
        let whole = self.count.iter().zip(axes).take_while(|(count, length)| count == length);
        let joined = (whole.count() + 1).min(axes.len());
        let length = self.count[..joined].iter().product();
        let mut strides = vec![1; axes.len()];
        for axis in 1..axes.len() {
            strides[axis] = strides[axis - 1] * axes[axis - 1];
        }
        let origin = self.first_index(axes);
        let runs = self.count[joined..].iter().product();
        let empty = self.count.contains(&0);
        WindowRuns {
            window: self,
            strides,
            joined,
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
    /// How many axes a run spans.
    joined: usize,
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
        for axis in self.joined..self.strides.len() {
            first += rest % self.window.count[axis] * self.strides[axis];
            rest /= self.window.count[axis];
        }
        self.next += 1;
        Some((first, self.length))
    }
}

/// The boxes that together are `count` pixels from linear index `first` on, in that order; at most two per axis.
pub(crate) fn windows_of_stretch(axes: &[u64], first: u64, count: u64) -> Vec<Window> {
    let mut windows = Vec::new();
    let (mut at, end) = (first, first + count);
    while at < end {
        // The most axes whose whole planes begin here and are within the stretch.
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

/// The box from pixel `at` on that has all of the axes before `axis` and `steps` pixels along it.
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

    /// The linear indices of the pixels of a box, one after the other.
    fn pixels(window: &Window, axes: &[u64]) -> Vec<u64> {
        let mut found = vec![0];
        let mut stride: u64 = axes.iter().product();
        for axis in (0..axes.len()).rev() {
            stride /= axes[axis];
            let along = window.first[axis]..window.first[axis] + window.count[axis];
            found = found
                .iter()
                .flat_map(|&outer| along.clone().map(move |index| outer + index * stride))
                .collect();
        }
        found
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
            let found: Vec<u64> =
                windows.iter().flat_map(|window| pixels(window, &axes)).collect();
            prop_assert_eq!(found, (first as u64..end as u64).collect::<Vec<_>>());
            prop_assert!(windows.len() <= 2 * axes.len());
        }
    }
}
