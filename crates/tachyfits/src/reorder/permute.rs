//! The pixels of a box with its axes in another order.

use tachyfits_kernels::transpose;

/// One axis of the output: its length, and how far apart its neighbours are in the input and in the output, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loop {
    count: usize,
    from: usize,
    to: usize,
}

/// Copies the pixels of a box with these counts along its axes so that the new axis n is the axis `order[n]`.
pub(super) fn permute(pixels: &[u8], counts: &[u64], order: &[usize], size: usize, out: &mut [u8]) {
    let mut loops = loops(counts, order);
    // Pixels side by side in the output come from pixels so far apart in the input.
    let inner = loops.first().copied().unwrap_or(Loop { count: 1, from: 1, to: 1 });
    loops.retain(|&one| one != inner);
    if inner.from == 1 {
        let bytes = inner.count * size;
        each(&loops, &mut |from, to| {
            out[to * size..to * size + bytes].copy_from_slice(&pixels[from * size..][..bytes]);
        });
        return;
    }
    // Pixels side by side in the input are those of this axis.
    let Some(position) = loops.iter().position(|one| one.from == 1) else {
        unreachable!("an axis of several pixels is the fastest of the input")
    };
    let side = loops.remove(position);
    each(&loops, &mut |from, to| {
        let (pixels, out) = (&pixels[from * size..], &mut out[to * size..]);
        transpose(pixels, inner.count, side.count, size, inner.from, out, side.to);
    });
}

/// The axes of the output, fastest first, those of one pixel left out and those that stay together made one.
fn loops(counts: &[u64], order: &[usize]) -> Vec<Loop> {
    let mut strides = vec![1; counts.len()];
    for axis in 1..counts.len() {
        strides[axis] = strides[axis - 1] * counts[axis - 1] as usize;
    }
    let mut loops: Vec<Loop> = Vec::new();
    let mut to = 1;
    for &axis in order {
        let one = Loop { count: counts[axis] as usize, from: strides[axis], to };
        to *= one.count;
        match loops.last_mut() {
            _ if one.count == 1 => {}
            Some(last) if last.from * last.count == one.from => last.count *= one.count,
            _ => loops.push(one),
        }
    }
    loops
}

/// Calls `visit` with where each round of the loops begins in the input and in the output.
fn each(loops: &[Loop], visit: &mut impl FnMut(usize, usize)) {
    let rounds: usize = loops.iter().map(|one| one.count).product();
    for round in 0..rounds {
        let (mut rest, mut from, mut to) = (round, 0, 0);
        for one in loops {
            from += rest % one.count * one.from;
            to += rest % one.count * one.to;
            rest /= one.count;
        }
        visit(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One pixel after the other.
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
            size in prop::sample::select(&[1usize, 2, 4, 8]),
        ) {
            let mut order: Vec<usize> = (0..counts.len()).collect();
            order.sort_by_key(|&axis| keys[axis]);
            let bytes = counts.iter().product::<u64>() as usize * size;
            let pixels: Vec<u8> = (0..bytes).map(|at| (at ^ (at >> 8)) as u8).collect();
            let mut out = vec![0; bytes];
            permute(&pixels, &counts, &order, size, &mut out);
            prop_assert_eq!(out, naive(&pixels, &counts, &order, size));
        }
    }

    #[test]
    fn axes_that_stay_together_are_one() {
        let one = |count, from, to| Loop { count, from, to };
        assert_eq!(loops(&[4, 5, 6], &[2, 0, 1]), [one(6, 20, 1), one(20, 1, 6)]);
        assert_eq!(loops(&[4, 1, 6], &[0, 2, 1]), [one(24, 1, 1)]);
        assert_eq!(loops(&[1, 1], &[1, 0]), []);
    }
}
