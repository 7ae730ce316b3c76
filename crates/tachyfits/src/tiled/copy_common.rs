//! Copies between boxes of an image.

use crate::computed::Window;

/// Copies the pixels that two boxes of an image have in common; each has its pixels x fastest, of `size` bytes.
pub(crate) fn copy_common(
    size: u64,
    (from, pixels): (&Window, &[u8]),
    (to, out): (&Window, &mut [u8]),
) {
    let common = from.common(to);
    if common.count.contains(&0) {
        return;
    }
    // Runs span the axes that are whole in both, and what is common of the next.
    let whole = |axis: &usize| {
        common.count[*axis] == from.count[*axis] && common.count[*axis] == to.count[*axis]
    };
    let axes = common.count.len();
    let joined = ((0..axes).take_while(whole).count() + 1).min(axes);
    let run = (common.count[..joined].iter().product::<u64>() * size) as usize;
    let place = |window: &Window, at: &[u64]| {
        let (mut index, mut step) = (0, size);
        for (axis, at) in at.iter().enumerate() {
            index += (common.first[axis] + at - window.first[axis]) * step;
            step *= window.count[axis];
        }
        index as usize
    };
    let mut at = vec![0; axes];
    loop {
        let (source, target) = (place(from, &at), place(to, &at));
        out[target..target + run].copy_from_slice(&pixels[source..source + run]);
        let Some(axis) = (joined..axes).find(|&axis| at[axis] + 1 < common.count[axis]) else {
            return;
        };
        at[axis] += 1;
        at[joined..axis].fill(0);
    }
}
