//! Noise of tiles with known content, and with undefined pixels.

use crate::content::tiers;
use proptest::prelude::*;
use tachyfits_kernels::{Noise, NoiseMeter, NoisePixel, Tier, naive};

fn noise<P: NoisePixel>(pixels: &[P], row: usize) -> Noise {
    NoiseMeter::default().measure(pixels, row, Tier::SCALAR)
}

/// Returns approximately normal noise with this deviation.
fn normal(count: usize, deviation: f64) -> Vec<f32> {
    let mut state = 1u64;
    let mut uniform = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count)
        .map(|_| ((0..12).map(|_| uniform()).sum::<f64>() - 6.0) * deviation)
        .map(|x| x as f32)
        .collect()
}

#[test]
fn the_deviation_of_noise_is_found_beside_slopes_and_sources() {
    let mut pixels = normal(100_000, 3.0);
    for (at, pixel) in pixels.iter_mut().enumerate() {
        *pixel += (at % 1000) as f32 * 0.5;
        if at % 97 == 0 {
            *pixel += 1e6;
        }
    }
    let result = noise(&pixels, 1000);
    assert!((result.deviation - 3.0).abs() < 0.2, "{result:?}");
    let integers: Vec<i32> = pixels.iter().map(|&pixel| (pixel * 100.0) as i32).collect();
    assert!((noise(&integers, 1000).deviation - 300.0).abs() < 20.0);
}

#[test]
fn short_rows_count_as_one_and_few_pixels_have_no_noise() {
    let pixels = normal(800, 1.0);
    assert_eq!(noise(&pixels, 4), noise(&pixels, 800));
    assert!(noise(&pixels, 8).deviation > 0.5);
    assert_eq!(noise(&pixels[..8], 8).deviation, 0.0);
    let none: Noise = noise::<f32>(&[], 1);
    assert_eq!((none.defined, none.least, none.deviation), (0, f64::INFINITY, 0.0));
}

#[test]
fn infinite_pixels_are_noticed() {
    assert!(noise(&[1.0f32, f32::INFINITY, f32::NAN], 3).has_infinite);
    assert!(!noise(&[1.0f64, f64::NAN], 2).has_infinite);
}

/// The noise of infinite pixels may be NaN; an extreme that is zero may have either sign.
fn same(result: Noise, expected: Noise) {
    let with = |noise: Noise| (noise.least, noise.greatest, noise.defined, noise.has_infinite);
    assert_eq!(with(result), with(expected));
    let (result, expected) = (result.deviation, expected.deviation);
    assert!(result.to_bits() == expected.to_bits() || result.is_nan() && expected.is_nan());
}

proptest! {
    /// Rows with growing and shrinking noise, runs of equal pixels, zeros of both signs, NaN and infinity, for one
    /// meter.
    #[test]
    fn a_meter_finds_what_its_twin_does(
        steps in prop::collection::vec(prop_oneof![6 => -8..8i32, 2 => Just(0), 1 => -1000..1000i32], 1..400),
        others in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(f64::NAN), Just(-0.0), Just(0.0), Just(f64::INFINITY)]), 0..8),
        factors in prop::collection::vec(prop_oneof![Just(1.0), Just(1.03), Just(0.9), Just(7.0)], 1..5),
        row in prop_oneof![1..60usize, Just(400)],
    ) {
        for tier in tiers() {
            let mut meters = (NoiseMeter::<f32>::default(), NoiseMeter::<f64>::default(), NoiseMeter::<i32>::default());
            for factor in &factors {
                let integers: Vec<i32> = steps.iter().map(|&step| (f64::from(step) * factor) as i32).collect();
                let mut doubles: Vec<f64> = steps.iter().map(|&step| f64::from(step) * factor).collect();
                for (at, other) in &others {
                    let at = at.index(doubles.len());
                    doubles[at] = *other;
                }
                let singles: Vec<f32> = doubles.iter().map(|&pixel| pixel as f32).collect();
                same(meters.0.measure(&singles, row, tier), naive::noise(&singles, row));
                same(meters.1.measure(&doubles, row, tier), naive::noise(&doubles, row));
                same(meters.2.measure(&integers, row, tier), naive::noise(&integers, row));
            }
        }
    }

    #[test]
    fn undefined_pixels_do_not_count(pixels in prop::collection::vec(-100..100i32, 1..200), holes in prop::collection::vec(0..200usize, 0..20)) {
        let defined: Vec<f64> = pixels.iter().map(|&pixel| pixel.into()).collect();
        let mut with_holes = defined.clone();
        for hole in &holes {
            with_holes.insert(hole % (with_holes.len() + 1), f64::NAN);
        }
        let result = noise(&with_holes, with_holes.len());
        prop_assert_eq!(result, noise(&defined, with_holes.len()));
        prop_assert_eq!(result.defined, pixels.len());
        prop_assert_eq!(result.least, f64::from(*pixels.iter().min().unwrap()));
        prop_assert_eq!(result, noise(&pixels, pixels.len().max(9)));
    }
}

/// Returns eight rows of 40 pixels, some NaN, one row constant and one all NaN.
fn pixels() -> Vec<f64> {
    let mut pixels: Vec<f64> = (0..320u64)
        .map(|at| match (at * at * 31 + at * 7919) % 1009 {
            _ if at % 53 == 0 => f64::NAN,
            number => (number as f64 - 500.0) * 0.37,
        })
        .collect();
    pixels[120..160].fill(1.5);
    pixels[200..240].fill(f64::NAN);
    pixels[240..245].fill(0.0);
    pixels
}

/// ZSCALE of these rows as written by `fpack -q 4` (CFITSIO 4.2.0); 0 if it did not quantise. It has no noise for rows
/// of NaN.
#[test]
fn the_noise_of_rows_is_that_of_fpack() {
    let of_singles = [
        13.884888395709229,
        25.026388828393173,
        13.884888395709229,
        0.0,
        13.884888395709229,
        0.0,
        33.07793009833984,
        30.546529111083604,
    ];
    let of_doubles = [
        13.884886918000003,
        25.02638892075,
        13.884886918000003,
        0.0,
        13.884886918000003,
        0.0,
        33.077933992,
        30.546528311249997,
    ];
    let pixels = pixels();
    let singles: Vec<f32> = pixels.iter().map(|&pixel| pixel as f32).collect();
    for row in 0..8 {
        let part = row * 40..(row + 1) * 40;
        assert_eq!(noise(&singles[part.clone()], 40).deviation / 4.0, of_singles[row], "row {row}");
        assert_eq!(noise(&pixels[part], 40).deviation / 4.0, of_doubles[row], "row {row}");
    }
}
