//! Permutation of the axes of a box.

use tachyfits_kernels::transpose;

/// Loop over one axis of the output: its length, and its strides in pixels in the input and in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PermuteLoop {
    count: usize,
    from: usize,
    to: usize,
}

/// Rows of the input transposed at a time, for all axes of the output: they stay in the L2 cache until their
/// last pixel is copied.
const ROWS: usize = 256;

/// Contiguous pixels of a box, in pieces of equal length.
pub(super) struct BoxPieces<P> {
    /// Returns the bytes of a piece.
    pub(super) piece: P,
    /// Number of pixels of a piece.
    pub(super) length: usize,
}

impl<'a, P: Fn(usize) -> &'a [u8]> BoxPieces<P> {
    /// Returns the bytes from a pixel to the end of its piece.
    fn from(&self, pixel: usize, size: usize) -> &'a [u8] {
        &(self.piece)(pixel / self.length)[pixel % self.length * size..]
    }
}

/// Copies the pixels of a box with these lengths so that the new axis n is axis `order[n]`.
pub(super) fn permute<'a, P: Fn(usize) -> &'a [u8]>(
    pixels: &BoxPieces<P>,
    counts: &[u64],
    order: &[usize],
    size: usize,
    out: &mut [u8],
) {
    if counts.contains(&0) {
        return;
    }
    let mut loops = loops(counts, order, pixels.length);
    // Neighbours in the output are this far apart in the input.
    let inner = match loops.is_empty() {
        true => PermuteLoop { count: 1, from: 1, to: 1 },
        false => loops.remove(0),
    };
    if inner.from == 1 {
        let bytes = inner.count * size;
        each(&loops, |from, to| {
            out[to * size..][..bytes].copy_from_slice(&pixels.from(from, size)[..bytes]);
        });
        return;
    }
    // Neighbours in the input follow this axis.
    let Some(position) = loops.iter().position(|axis| axis.from == 1) else {
        unreachable!("an axis of several pixels is the fastest of the input")
    };
    let side = loops.remove(position);
    for first in (0..inner.count).step_by(ROWS) {
        let rows = ROWS.min(inner.count - first);
        each(&loops, |from, to| {
            let row = |row| pixels.from(from + (first + row) * inner.from, size);
            transpose(row, rows, side.count, size, &mut out[(to + first) * size..], side.to);
        });
    }
}

/// Returns the axes of the output, fastest first, without axes of one pixel and with contiguous axes merged.
/// A merged axis that is the fastest of the input is split at pieces of `length` pixels.
fn loops(counts: &[u64], order: &[usize], length: usize) -> Vec<PermuteLoop> {
    let mut strides = vec![1; counts.len()];
    for axis in 1..counts.len() {
        strides[axis] = strides[axis - 1] * counts[axis - 1] as usize;
    }
    let mut loops: Vec<PermuteLoop> = Vec::new();
    let mut to = 1;
    for &axis in order {
        let axis_loop = PermuteLoop { count: counts[axis] as usize, from: strides[axis], to };
        to *= axis_loop.count;
        match loops.last_mut() {
            _ if axis_loop.count == 1 => {}
            Some(last) if last.from * last.count == axis_loop.from => last.count *= axis_loop.count,
            _ => loops.push(axis_loop),
        }
    }
    let longer = |axis_loop: &PermuteLoop| axis_loop.from == 1 && axis_loop.count > length;
    if let Some(position) = loops.iter().position(longer) {
        let long = loops[position];
        loops[position].count = length;
        let pieces = PermuteLoop { count: long.count / length, from: length, to: long.to * length };
        loops.insert(position + 1, pieces);
    }
    loops
}

/// Calls `visit` for each round of the loops with its start in the input and in the output.
fn each(loops: &[PermuteLoop], mut visit: impl FnMut(usize, usize)) {
    let rounds: usize = loops.iter().map(|axis| axis.count).product();
    for round in 0..rounds {
        let (mut rest, mut from, mut to) = (round, 0, 0);
        for axis in loops {
            from += rest % axis.count * axis.from;
            to += rest % axis.count * axis.to;
            rest /= axis.count;
        }
        visit(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Copies one pixel after the other.
    fn naive(pixels: &[u8], counts: &[u64], order: &[usize], size: usize) -> Vec<u8> {
        let mut out = vec![0; pixels.len()];
        for pixel in 0..counts.iter().product::<u64>() as usize {
            let mut rest = pixel;
            let mut place = vec![0; counts.len()];
            for (axis, &count) in counts.iter().enumerate() {
                place[axis] = rest % count as usize;
                rest /= count as usize;
            }
            let (mut to, mut stride) = (0, 1);
            for &axis in order {
                to += place[axis] * stride;
                stride *= counts[axis] as usize;
            }
            let bytes = &pixels[pixel * size..(pixel + 1) * size];
            out[to * size..(to + 1) * size].copy_from_slice(bytes);
        }
        out
    }

    proptest! {
        #[test]
        fn permuting_is_moving_each_pixel(
            counts in prop::collection::vec(1u64..9, 0..6),
            keys in any::<[u32; 6]>(),
            long in (0..4usize, 200..700u64),
            in_pieces in 0..7usize,
            size in prop::sample::select(&[1usize, 2, 4, 8]),
        ) {
            let mut counts = counts;
            // An axis longer than one transposed block.
            if let Some(count) = counts.get_mut(long.0).filter(|_| in_pieces % 2 == 0) {
                *count = long.1;
            }
            let mut order: Vec<usize> = (0..counts.len()).collect();
            order.sort_by_key(|&axis| keys[axis]);
            let bytes = counts.iter().product::<u64>() as usize * size;
            let pixels: Vec<u8> = (0..bytes).map(|at| (at ^ (at >> 8)) as u8).collect();
            let mut out = vec![0; bytes];
            let length = counts.iter().take(in_pieces).product::<u64>() as usize;
            let piece = |piece: usize| &pixels[piece * length * size..][..length * size];
            permute(&BoxPieces { piece, length }, &counts, &order, size, &mut out);
            prop_assert!(out == naive(&pixels, &counts, &order, size));
        }
    }

    #[test]
    fn axes_that_stay_together_are_one() {
        let axis = |count, from, to| PermuteLoop { count, from, to };
        assert_eq!(loops(&[4, 5, 6], &[2, 0, 1], 120), [axis(6, 20, 1), axis(20, 1, 6)]);
        assert_eq!(loops(&[4, 1, 6], &[0, 2, 1], 24), [axis(24, 1, 1)]);
        assert_eq!(loops(&[1, 1], &[1, 0], 1), []);
    }

    #[test]
    fn the_fastest_axis_of_the_input_ends_with_a_piece() {
        let axis = |count, from, to| PermuteLoop { count, from, to };
        let turned = [axis(6, 20, 1), axis(4, 1, 6), axis(5, 4, 24)];
        assert_eq!(loops(&[4, 5, 6], &[2, 0, 1], 4), turned);
        assert_eq!(loops(&[4, 5], &[0, 1], 4), [axis(4, 1, 1), axis(5, 4, 4)]);
    }
}
