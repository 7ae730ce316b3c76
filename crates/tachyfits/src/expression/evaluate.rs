//! Evaluates an expression over a box of the result, about a thousand pixels at a time.

use std::sync::Arc;

use tachyfits_io::IoError;
use tachyfits_kernels::{Encoding, PixelType, decode_f64, unify_nan};

use super::program::Program;
use crate::computed::{Feed, Node, Reads, Sources, Window, usual_shape};

/// Pixels evaluated at a time: a buffer is 8 KiB of f64, so that several stay in the first-level cache.
const CHUNK: usize = 1024;

/// An input with fewer pixels is cheap enough to be read for every box.
const SMALL_PIXELS: u64 = 1 << 14;

/// Minimum length of a box along an axis where a larger input is constant: that input is read this
/// many times less often, while the runs of other inputs stay long.
const REPEATED: u64 = 8;

/// An image input of an expression.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) node: Arc<dyn Node>,
    /// For each axis of the result, the matching axis of the input; `None` if the input is constant along it.
    pub(crate) axes: Vec<Option<usize>>,
}

/// Node that evaluates an expression.
#[derive(Debug)]
pub(crate) struct Evaluate {
    pub(crate) axes: Vec<u64>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) program: Program,
    pub(crate) encoding: Encoding,
    /// Whether the program returns truth values.
    pub(crate) is_logical: bool,
}

impl Input {
    /// Returns the box of the input that matches a box of the result.
    fn window(&self, window: &Window) -> Window {
        let own = self.node.axes().len();
        // At most 999 axes.
        let mut own_window = Window { first: vec![0; own], count: vec![1; own] };
        for (axis, place) in self.axes.iter().enumerate() {
            if let Some(place) = *place {
                (own_window.first[place], own_window.count[place]) =
                    (window.first[axis], window.count[axis]);
            }
        }
        own_window
    }

    /// Whether its pixels match the pixels of the result's box one to one, in the same order.
    fn is_whole(&self, window: &Window) -> bool {
        self.axes.iter().zip(&window.count).all(|(place, &count)| place.is_some() || count == 1)
    }
}

/// Pixels of an input's box, for loading any stretch of the result's box.
enum InputPixels<'a> {
    /// Stored bytes, in pieces of `length` pixels.
    Stored { pieces: Vec<&'a [u8]>, length: usize, encoding: Encoding },
    /// One number per pixel of the result's box.
    Values(Vec<f64>),
    /// Numbers used for several pixels each.
    Repeated { values: Vec<f64>, groups: Vec<Group> },
}

/// Adjacent axes of a box; the input varies along all of them, or along none.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Group {
    /// Pixels of the result's box in the group.
    length: usize,
    /// Step between adjacent pixels in the numbers of the input; 0 if the input is constant.
    stride: usize,
}

impl InputPixels<'_> {
    /// Loads the numbers for the pixels of the result's box from `first` on into `out`.
    fn load(&self, first: usize, tier: tachyfits_kernels::Tier, out: &mut [f64]) {
        match self {
            InputPixels::Values(values) => out.copy_from_slice(&values[first..first + out.len()]),
            InputPixels::Repeated { values, groups } => repeat(values, groups, first, out),
            InputPixels::Stored { pieces, length, encoding } => {
                let size = encoding.pixel_bytes();
                let (mut at, mut rest) = (first, out);
                while !rest.is_empty() {
                    let within = at % length;
                    let count = rest.len().min(length - within);
                    let (part, later) = rest.split_at_mut(count);
                    let bytes = &pieces[at / length][within * size..(within + count) * size];
                    decode_f64(bytes, encoding, tier, part);
                    (at, rest) = (at + count, later);
                }
            }
        }
    }
}

/// Groups the axes of a box of the result.
fn groups(input: &Input, window: &Window) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut stride = 1;
    for (place, &count) in input.axes.iter().zip(&window.count) {
        let count = count as usize;
        let changes = place.is_some();
        match groups.last_mut() {
            _ if count == 1 => {}
            Some(group) if (group.stride > 0) == changes => group.length *= count,
            _ => groups.push(Group { length: count, stride: if changes { stride } else { 0 } }),
        }
        stride *= if changes { count } else { 1 };
    }
    groups
}

/// Fills `out` with the numbers for the pixels from `first` on, run by run of the first group.
fn repeat(values: &[f64], groups: &[Group], first: usize, out: &mut [f64]) {
    let Some((run, outer)) = groups.split_first() else {
        return out.fill(values[0]);
    };
    let (mut at, mut rest) = (first, out);
    while !rest.is_empty() {
        let (within, mut index) = (at % run.length, at / run.length);
        let mut origin = within * run.stride;
        for group in outer {
            origin += index % group.length * group.stride;
            index /= group.length;
        }
        let count = rest.len().min(run.length - within);
        let (part, later) = rest.split_at_mut(count);
        match run.stride {
            0 => part.fill(values[origin]),
            _ => part.copy_from_slice(&values[origin..origin + count]),
        }
        (at, rest) = (at + count, later);
    }
}

impl Evaluate {
    /// Returns the first axis along which a large input is constant.
    fn repeating_axis(&self) -> Option<usize> {
        let repeats = |input: &Input, axis: usize| {
            let pixels: u64 = input.node.axes().iter().product();
            input.axes[axis].is_none() && pixels > SMALL_PIXELS
        };
        (0..self.axes.len()).find(|&axis| {
            self.axes[axis] > 1 && self.inputs.iter().any(|input| repeats(input, axis))
        })
    }

    /// Reads the pixels of an input's box.
    fn pixels<'a>(
        &self,
        input: &Input,
        window: &Window,
        feed: &mut Feed<'a>,
    ) -> Result<InputPixels<'a>, IoError> {
        let own = input.window(window);
        let whole = input.is_whole(window);
        if whole && let Some(pieces) = input.node.stored(&own, feed) {
            let encoding = input.node.encoding();
            let pieces: Vec<&[u8]> = pieces.map(|piece| feed.fetched.piece(piece)).collect();
            let length = pieces.first().map_or(1, |piece| piece.len() / encoding.pixel_bytes());
            return Ok(InputPixels::Stored { pieces, length, encoding });
        }
        let mut values = feed.scratch.f64s(own.pixels() as usize)?;
        input.node.values_f64(&own, feed, &mut values)?;
        Ok(match whole {
            true => InputPixels::Values(values),
            false => InputPixels::Repeated { values, groups: groups(input, window) },
        })
    }

    /// Computes a box; calls `place` with the index of the first pixel and the values of each chunk.
    fn compute(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        mut place: impl FnMut(usize, &[f64], &mut Feed<'_>) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        let pixels = self.inputs.iter().map(|input| self.pixels(input, window, feed));
        let mut pixels: Vec<InputPixels<'_>> = pixels.collect::<Result<_, _>>()?;
        let mut slots: Vec<Vec<f64>> = (0..self.program.slots())
            .map(|_| feed.scratch.f64s(CHUNK))
            .collect::<Result<_, _>>()?;
        let all = window.pixels() as usize;
        let tier = feed.tier;
        for first in (0..all).step_by(CHUNK) {
            let count = CHUNK.min(all - first);
            let load = |input: usize, out: &mut [f64]| pixels[input].load(first, tier, out);
            let values = self.program.run(&mut slots, count, tier, load);
            unify_nan(values, tier);
            place(first, values, feed)?;
        }
        slots.into_iter().for_each(|slot| feed.scratch.give_back_f64s(slot));
        for pixels in pixels.drain(..) {
            if let InputPixels::Values(values) | InputPixels::Repeated { values, .. } = pixels {
                feed.scratch.give_back_f64s(values);
            }
        }
        Ok(())
    }
}

impl Node for Evaluate {
    fn axes(&self) -> &[u64] {
        &self.axes
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn is_logical(&self) -> bool {
        self.is_logical
    }

    fn sources(&self, sources: &mut Sources) {
        self.inputs.iter().for_each(|input| input.node.sources(sources));
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        self.inputs.iter().for_each(|input| input.node.reads(&input.window(window), reads));
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        let size = self.encoding.pixel_bytes();
        self.compute(window, feed, |first, values, feed| {
            let out = &mut out[first * size..(first + values.len()) * size];
            feed.encode(values, &self.encoding, out)
        })
    }

    fn values_f64(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [f64],
    ) -> Result<(), IoError> {
        if self.encoding.pixel == PixelType::F64 {
            let place = |first: usize, values: &[f64], _: &mut Feed<'_>| {
                out[first..first + values.len()].copy_from_slice(values);
                Ok(())
            };
            return self.compute(window, feed, place);
        }
        let mut bytes = feed.scratch.bytes(out.len() * self.encoding.pixel_bytes())?;
        self.fill(window, feed, &mut bytes)?;
        decode_f64(&bytes, &self.encoding, feed.tier, out);
        feed.scratch.give_back_bytes(bytes);
        Ok(())
    }

    fn halo(&self) -> Vec<u64> {
        let mut halo = vec![0; self.axes.len()];
        for input in &self.inputs {
            let own = input.node.halo();
            for (halo, place) in halo.iter_mut().zip(&input.axes) {
                *halo = place.map_or(*halo, |place| own[place].max(*halo));
            }
        }
        halo
    }

    fn expansion(&self) -> u64 {
        self.inputs.iter().map(|input| input.node.expansion()).max().unwrap_or(1)
    }

    fn box_shape(&self) -> Vec<u64> {
        let (halo, expansion) = (self.halo(), self.expansion());
        let Some(axis) = self.repeating_axis() else {
            return usual_shape(&self.axes, &halo, expansion);
        };
        let depth = REPEATED.min(self.axes[axis]);
        let mut shape = usual_shape(&self.axes, &halo, expansion.saturating_mul(depth));
        shape[axis] = shape[axis].max(depth);
        shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_repeated_along_axes_that_an_input_lacks() {
        let window = |count: &[u64]| Window { first: vec![0; count.len()], count: count.to_vec() };
        // Two channels of an image of 3 x 2 pixels, from the second pixel on.
        let of = |length, stride| Group { length, stride };
        let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let mut out = [0.0; 10];
        repeat(&values, &[of(6, 1), of(2, 0)], 1, &mut out);
        assert_eq!(out, [1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
        // A spectrum over 2 x 1 pixels.
        let mut out = [0.0; 6];
        repeat(&values, &[of(2, 0), of(6, 1)], 3, &mut out);
        assert_eq!(out, [1.0, 2.0, 2.0, 3.0, 3.0, 4.0]);
        assert_eq!(window(&[3, 2]).pixels(), 6);
    }
}
