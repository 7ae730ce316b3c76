//! Parts of images, with and without margins.

use proptest::prelude::*;
use tachyfits::cut::Margin;
use tachyfits::{AxisRange, Reason};

use crate::common::Numbers;
use crate::made::{STORED, first, pixel_at, place, raw, sample_image, values};

/// Returns a random range of an axis, with any direction and step.
fn any_range(numbers: &mut Numbers, length: u64) -> AxisRange {
    let first = numbers.below(length);
    let step = 1 + numbers.below(3) as i64;
    let step = if numbers.one_in(3) { -step } else { step };
    let room = if step > 0 { length - 1 - first } else { first } / step.unsigned_abs();
    AxisRange { first, count: 1 + numbers.below(room + 1), step }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_pixel_is_the_one_of_the_section_or_undefined(
        axes in prop::collection::vec(1u64..9, 1..=4), stored in 0..STORED.len(), seed in any::<u64>(),
        padded in any::<bool>(),
    ) {
        let mut numbers = Numbers(seed);
        let image = sample_image(stored, &axes, seed);
        let ranges: Vec<AxisRange> = axes.iter().map(|&n| any_range(&mut numbers, n)).collect();
        let margins: Vec<Margin> = match padded {
            true => axes.iter().map(|_| Margin { before: numbers.below(3), after: numbers.below(3) })
                .collect(),
            false => Vec::new(),
        };
        let section = image.section(&ranges).unwrap();
        let part = first(&image.cut(&section, &margins).unwrap());
        let margin = |axis: usize| margins.get(axis).copied().unwrap_or_default();
        let expected: Vec<u64> = ranges.iter().enumerate()
            .map(|(axis, range)| range.count + margin(axis).before + margin(axis).after).collect();
        prop_assert_eq!(part.axes(), &expected[..]);
        let (before, after) = (values(&image), values(&part));
        for (pixel, actual) in (0..).zip(&after) {
            let at = place(pixel, &expected);
            let source: Option<Vec<u64>> = at.iter().zip(&ranges).enumerate()
                .map(|(axis, (&index, range))| {
                    let index = index.checked_sub(margin(axis).before)?;
                    (index < range.count)
                        .then(|| range.first.wrapping_add_signed(index as i64 * range.step))
                })
                .collect();
            let value = source.map_or(f64::NAN, |place| before[pixel_at(&place, &axes) as usize]);
            prop_assert!(actual.to_bits() == value.to_bits() || (actual.is_nan() && value.is_nan()),
                "pixel {}: {} for {}", pixel, actual, value);
        }
        if margins.iter().all(|margin| *margin == Margin::default()) {
            prop_assert_eq!(image.layout().stored, part.layout().stored);
            // A cut of everything has the bits of the image.
            let whole = first(&image.cut(&image.whole(), &[]).unwrap());
            prop_assert_eq!(raw(&whole), raw(&image));
        }
    }
}

#[test]
fn reference_pixels_follow() {
    let image = sample_image(6, &[9, 5], 1);
    let section = image
        .section(&[
            AxisRange { first: 3, count: 2, step: 1 },
            AxisRange { first: 0, count: 5, step: 1 },
        ])
        .unwrap();
    let crpix = |margins: &[Margin]| {
        let part = first(&image.cut(&section, margins).unwrap());
        part.hdu().header.get_f64("CRPIX1").unwrap()
    };
    assert_eq!(crpix(&[]), Some(1.5 - 3.0));
    let margin = |before| Margin { before, after: 0 };
    assert_eq!(crpix(&[margin(2), margin(0)]), Some(1.5 - 3.0 + 2.0));
}

#[test]
fn parts_without_a_pixel_are_refused() {
    let image = sample_image(0, &[3, 4], 1);
    let nothing = AxisRange { first: 0, count: 0, step: 1 };
    let section = image.section(&[nothing, AxisRange { count: 4, ..nothing }]).unwrap();
    assert_eq!(image.cut(&section, &[]).unwrap_err().code(), Reason::Section.code());
    let margins = [Margin::default()];
    assert_eq!(image.cut(&image.whole(), &margins).unwrap_err().code(), Reason::Section.code());
    let far = [Margin { before: 1 << 41, after: 0 }, Margin::default()];
    assert_eq!(image.cut(&image.whole(), &far).unwrap_err().code(), Reason::Section.code());
}
