//! Permuted axes.

use proptest::prelude::*;
use tachyfits::Reason;

use crate::made::{STORED, first, pixel_at, place, raw, sample_image, values};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_pixel_is_the_one_at_its_place(
        axes in prop::collection::vec(1u64..9, 1..=5),
        keys in any::<[u32; 5]>(),
        stored in 0..STORED.len(),
        seed in any::<u64>(),
    ) {
        let mut order: Vec<usize> = (0..axes.len()).collect();
        order.sort_by_key(|&axis| keys[axis]);
        let image = sample_image(stored, &axes, seed);
        let reordered = first(&image.reorder(&order).unwrap());
        let expected: Vec<u64> = order.iter().map(|&axis| axes[axis]).collect();
        prop_assert_eq!(reordered.axes(), &expected[..]);
        let layout = (image.layout().scale, image.layout().zero, image.layout().blank);
        let reordered_scaling = (reordered.layout().scale, reordered.layout().zero, reordered.layout().blank);
        prop_assert_eq!(layout, reordered_scaling);
        let size = image.layout().stored.bytes();
        let (before, after) = (raw(&image), raw(&reordered));
        for (pixel, bytes) in (0..).zip(after.chunks_exact(size)) {
            let new = place(pixel, &expected);
            let mut old = new.clone();
            order.iter().zip(&new).for_each(|(&axis, &index)| old[axis] = index);
            let from = pixel_at(&old, &axes) as usize * size;
            prop_assert_eq!(bytes, &before[from..from + size], "pixel {}", pixel);
        }
        // Permuted back.
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| back[old] = new);
        let restored = first(&reordered.reorder(&back).unwrap());
        prop_assert_eq!(raw(&restored), before);
        prop_assert_eq!(values(&restored).iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            values(&image).iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    }
}

#[test]
fn boxes_and_their_edges_fit_together() {
    // Several partial boxes along each axis.
    let axes = [301, 77, 203];
    let image = sample_image(6, &axes, 1);
    let before = raw(&image);
    for order in [[2, 0, 1], [2, 1, 0], [1, 2, 0], [1, 0, 2]] {
        let reordered = first(&image.reorder(&order).unwrap());
        let new_axes = reordered.axes().to_vec();
        let after = raw(&reordered);
        for pixel in (0..axes.iter().product()).step_by(97) {
            let new = place(pixel, &new_axes);
            let mut old = [0; 3];
            order.iter().zip(&new).for_each(|(&axis, &index)| old[axis] = index);
            let from = pixel_at(&old, &axes) as usize * 4;
            let to = pixel as usize * 4;
            assert_eq!(after[to..to + 4], before[from..from + 4], "{order:?} {new:?}");
        }
    }
}

#[test]
fn an_order_names_every_axis_once() {
    let image = sample_image(0, &[3, 4], 1);
    for order in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 1], &[]] {
        let error = image.reorder(order).unwrap_err();
        assert_eq!(error.code(), Reason::AxisOrder.code(), "{order:?}");
    }
}
