//! Blocks of pixels combined into one pixel each.

use proptest::prelude::*;
use tachyfits::header::StoredType;
use tachyfits::rebin::{BlockStatistic, Rebinning};
use tachyfits::{Image, Reason};

use crate::made::{STORED, first, pixel_at, place, sample_image, values};

const STATISTICS: [BlockStatistic; 5] = [
    BlockStatistic::Mean,
    BlockStatistic::Sum,
    BlockStatistic::Median,
    BlockStatistic::Min,
    BlockStatistic::Max,
];

/// Returns the statistic of a block of pixels in order.
fn naive(statistic: BlockStatistic, pixels: &[f64]) -> f64 {
    let mut good: Vec<f64> = pixels.iter().copied().filter(|value| !value.is_nan()).collect();
    if good.is_empty() {
        return f64::NAN;
    }
    let sum = good.iter().fold(-0.0, |sum, value| sum + value);
    match statistic {
        BlockStatistic::Mean => sum / good.len() as f64,
        BlockStatistic::Sum => sum,
        BlockStatistic::Median => {
            good.sort_by(f64::total_cmp);
            let middle = good.len() / 2;
            match good.len() % 2 {
                1 => good[middle],
                _ => 0.5 * good[middle - 1] + 0.5 * good[middle],
            }
        }
        BlockStatistic::Min => good.iter().skip(1).fold(good[0], |a, &b| if b < a { b } else { a }),
        BlockStatistic::Max => good.iter().skip(1).fold(good[0], |a, &b| if b > a { b } else { a }),
        other => panic!("no expected value of {other:?}"),
    }
}

/// The twin: gathers every block pixel by pixel.
fn expected(image: &Image, rebinning: &Rebinning, axes: &[u64]) -> Vec<f64> {
    let (old, pixels) = (image.axes(), values(image));
    let block = |result: u64| {
        let at = place(result, axes);
        let all: u64 = rebinning.block.iter().product();
        let gathered: Vec<f64> = (0..all)
            .filter_map(|n| {
                let within = place(n, &rebinning.block);
                let pixel: Vec<u64> = (0..old.len())
                    .map(|axis| at[axis] * rebinning.block[axis] + within[axis])
                    .collect();
                let inside = pixel.iter().zip(old).all(|(index, length)| index < length);
                inside.then(|| pixels[pixel_at(&pixel, old) as usize])
            })
            .collect();
        naive(rebinning.statistic, &gathered)
    };
    (0..axes.iter().product()).map(block).collect()
}

fn check(image: &Image, rebinning: &Rebinning) -> Result<(), TestCaseError> {
    let rebinned = first(&image.rebin(rebinning).unwrap());
    let layout = image.layout();
    let is_float = matches!(layout.stored, StoredType::F32 | StoredType::F64);
    // Sums of unscaled integers and extremes of 64-bit integers are integers, here small enough for f64.
    let exact = !is_float
        && !layout.scaled
        && match rebinning.statistic {
            BlockStatistic::Sum => true,
            BlockStatistic::Min | BlockStatistic::Max => layout.stored == StoredType::I64,
            _ => false,
        };
    let short =
        !exact && matches!(layout.stored, StoredType::U8 | StoredType::I16 | StoredType::F32);
    let stored = match (exact, short) {
        (true, _) => StoredType::I64,
        (false, true) => StoredType::F32,
        (false, false) => StoredType::F64,
    };
    prop_assert_eq!(rebinned.layout().stored, stored);
    let twin = expected(image, rebinning, rebinned.axes());
    for (number, (actual, expected)) in values(&rebinned).iter().zip(twin).enumerate() {
        let expected = if short { f64::from(expected as f32) } else { expected };
        let same = actual.to_bits() == expected.to_bits() || (actual.is_nan() && expected.is_nan());
        prop_assert!(same, "block {}: {} instead of {}", number, actual, expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_block_is_what_its_pixels_say(
        (axes, block) in prop::collection::vec((1u64..9, 1u64..6), 1..=5)
            .prop_map(|axes| axes.into_iter().unzip::<_, _, Vec<_>, Vec<_>>()),
        statistic in prop::sample::select(&STATISTICS),
        stored in 0..STORED.len(),
        keep_partial in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let image = sample_image(stored, &axes, seed);
        let rebinning = Rebinning::new(block.clone()).statistic(statistic).keep_partial(keep_partial);
        let fits = axes.iter().zip(&block).all(|(length, pixels)| length >= pixels);
        if !fits && !keep_partial {
            let error = image.rebin(&rebinning).unwrap_err();
            prop_assert_eq!(error.code(), Reason::Rebinning.code());
            return Ok(());
        }
        // Blocks longer than an axis are truncated to it, which changes no value.
        check(&image, &rebinning)?;
    }
}

#[test]
fn boxes_and_their_edges_fit_together() {
    let image = sample_image(6, &[331, 57, 43], 5);
    for block in [vec![2, 2, 1], vec![1, 1, 5], vec![40, 50, 43], vec![331, 1, 1]] {
        for statistic in STATISTICS {
            check(&image, &Rebinning::new(block.clone()).statistic(statistic).keep_partial(true))
                .unwrap();
        }
    }
}

#[test]
fn an_invalid_block_is_refused() {
    let image = sample_image(0, &[3, 4], 1);
    let rebinning = |block: &[u64], keep_partial| {
        Rebinning::new(block.to_vec()).statistic(BlockStatistic::Mean).keep_partial(keep_partial)
    };
    for block in [&[1][..], &[1, 1, 1], &[0, 1], &[4, 1], &[]] {
        let error = image.rebin(&rebinning(block, false)).unwrap_err();
        assert_eq!(error.code(), Reason::Rebinning.code(), "{block:?}");
    }
    assert_eq!(
        image.rebin(&rebinning(&[0, 1], true)).unwrap_err().code(),
        Reason::Rebinning.code()
    );
    assert_eq!(first(&image.rebin(&rebinning(&[u64::MAX, 4], true)).unwrap()).axes(), [1, 1]);
    let large = sample_image(0, &[2100, 2100], 1);
    assert_eq!(
        large.rebin(&rebinning(&[2100, 2100], true)).unwrap_err().code(),
        Reason::Rebinning.code()
    );
}

#[test]
fn the_edge_of_the_first_pixel_stays_where_it_was() {
    // CRPIX1 is 1.5 in these images.
    let image = sample_image(6, &[9, 4], 1);
    let rebinning = Rebinning::new(vec![4, 1]).statistic(BlockStatistic::Sum);
    let axis = first(&image.rebin(&rebinning).unwrap()).linear_axis(0).unwrap();
    assert_eq!((axis.crpix, axis.cdelt), ((1.5 - 0.5) / 4.0 + 0.5, 4.0));
    assert_eq!(axis.value(0.5), image.linear_axis(0).unwrap().value(0.5));
}
