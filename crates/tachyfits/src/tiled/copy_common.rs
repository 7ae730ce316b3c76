//! Copies pixels between boxes of an image.

use crate::computed::Window;

/// Copies the pixels that two boxes of an image share; pixels are x fastest, `size` bytes each.
pub(crate) fn copy_common(
    size: u64,
    (from, pixels): (&Window, &[u8]),
    (to, out): (&Window, &mut [u8]),
) {
    each_common(size, from, to, |source, target, run| {
        out[target..target + run].copy_from_slice(&pixels[source..source + run]);
    });
}

/// Sets the pixels that two boxes of an image share to one value.
pub(crate) fn fill_common(pixel: &[u8], from: &Window, (to, out): (&Window, &mut [u8])) {
    each_common(pixel.len() as u64, from, to, |_, target, run| {
        let pixels = out[target..target + run].chunks_exact_mut(pixel.len());
        pixels.for_each(|out| out.copy_from_slice(pixel));
    });
}

/// Calls `each` with the runs of bytes that two boxes of an image share: the offset in each box, and the length.
///
/// A region consists of thousands of short rows, so a box with a single run must not allocate.
fn each_common(size: u64, from: &Window, to: &Window, mut each: impl FnMut(usize, usize, usize)) {
    let axes = from.first.len();
    let common = |axis: usize| from.common(to, axis);
    if (0..axes).any(|axis| common(axis).1 == 0) {
        return;
    }
    // A run spans the axes that are whole in both boxes, and the shared part of the next axis.
    let whole = |axis: &usize| {
        let count = common(*axis).1;
        count == from.count[*axis] && count == to.count[*axis]
    };
    let run_axes = ((0..axes).take_while(whole).count() + 1).min(axes);
    let run = ((0..run_axes).map(|axis| common(axis).1).product::<u64>() * size) as usize;
    let place = |window: &Window, at: &[u64]| {
        let (mut index, mut step) = (0, size);
        for axis in 0..axes {
            let at = at.get(axis).copied().unwrap_or(0);
            index += (common(axis).0 + at - window.first[axis]) * step;
            step *= window.count[axis];
        }
        index as usize
    };
    // Position along the axes after those of a run; empty for the first run.
    let mut at = Vec::new();
    loop {
        each(place(from, &at), place(to, &at), run);
        let next = |axis: usize| at.get(axis).map_or(1, |at: &u64| at + 1);
        let Some(axis) = (run_axes..axes).find(|&axis| next(axis) < common(axis).1) else {
            return;
        };
        // At most 999 axes.
        at.resize(axes, 0);
        at[axis] += 1;
        at[run_axes..axis].fill(0);
    }
}
