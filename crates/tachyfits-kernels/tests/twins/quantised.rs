//! Quantising and dequantising, against the twins.

use crate::content::tiers;
use proptest::prelude::*;
use tachyfits_kernels::{
    ByteOrder, EXACT_ZERO, Quantiser, RANDOM_NUMBERS, dequantise_f32, dequantise_f64, naive,
    quantise_f32, quantise_f64, random_numbers,
};

const BLANKS: [Option<i32>; 4] = [None, Some(i32::MIN), Some(-2_147_483_647), Some(EXACT_ZERO)];

fn quantiser() -> impl Strategy<Value = Quantiser> {
    let scale = prop_oneof![Just(0.5), 1e-6..100.0, Just(-1.0), Just(1e300)];
    let block = prop_oneof![0..RANDOM_NUMBERS, Just(RANDOM_NUMBERS - 1)];
    (scale, -1e4..1e4, 0..4usize, any::<bool>(), prop::option::of(block)).prop_map(
        |(scale, zero, blank, zeros, dither)| Quantiser {
            scale,
            zero,
            blank: BLANKS[blank],
            exact_zero: zeros.then_some(EXACT_ZERO),
            dither,
        },
    )
}

fn integers() -> impl Strategy<Value = Vec<i32>> {
    let integer = prop_oneof![
        8 => -1000..1000,
        1 => i32::MIN..i32::MIN + 4,
        1 => any::<i32>(),
    ];
    // Long enough to reach the end of the table twice.
    let repeats = prop_oneof![3 => Just(1usize), 1 => Just(400)];
    (prop::collection::vec(integer, 0..60), repeats)
        .prop_map(|(part, repeats)| part.repeat(repeats))
}

/// Returns bits, with one pattern for all NaN.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|&x| if x.is_nan() { 1 } else { x.to_bits() }).collect()
}

proptest! {
    #![proptest_config(crate::content::cases(128))]

    #[test]
    fn dequantising_gives_the_bits_of_its_twin(integers in integers(), how in quantiser()) {
        let expected = naive::dequantise(&integers, &how);
        let rounded: Vec<f64> = expected.iter().map(|&value| f64::from(value as f32)).collect();
        for tier in tiers() {
            let mut out = vec![0.0; integers.len()];
            dequantise_f64(&integers, &how, ByteOrder::Native, tier, &mut out);
            prop_assert_eq!(bits(&out), bits(&expected), "{:?}", tier);
            dequantise_f64(&integers, &how, ByteOrder::BigEndian, tier, &mut out);
            let of_bytes = |x: f64| f64::from_be_bytes(x.to_ne_bytes());
            let out: Vec<f64> = out.into_iter().map(of_bytes).collect();
            prop_assert_eq!(bits(&out), bits(&expected), "{:?}, big-endian", tier);
            let mut out = vec![0.0f32; integers.len()];
            dequantise_f32(&integers, &how, ByteOrder::Native, tier, &mut out);
            let wide: Vec<f64> = out.iter().copied().map(f64::from).collect();
            prop_assert_eq!(bits(&wide), bits(&rounded), "{:?}", tier);
            dequantise_f32(&integers, &how, ByteOrder::BigEndian, tier, &mut out);
            let of_bytes = |x: &f32| f64::from(f32::from_be_bytes(x.to_ne_bytes()));
            let wide: Vec<f64> = out.iter().map(of_bytes).collect();
            prop_assert_eq!(bits(&wide), bits(&rounded), "{:?}, big-endian", tier);
        }
    }

    #[test]
    fn quantising_gives_the_integers_of_its_twin(
        part in prop::collection::vec(prop_oneof![9 => -1e5..1e5, 1 => Just(0.0), 1 => Just(f64::NAN), 1 => any::<f64>()], 0..60),
        how in quantiser(),
    ) {
        let pixels = part.repeat(300);
        let singles: Vec<f32> = pixels.iter().map(|&pixel| pixel as f32).collect();
        let of_singles: Vec<f64> = singles.iter().map(|&pixel| pixel.into()).collect();
        for tier in tiers() {
            let mut out = vec![0; pixels.len()];
            quantise_f64(&pixels, &how, tier, &mut out);
            prop_assert_eq!(&out, &naive::quantise(&pixels, &how), "{:?}", tier);
            quantise_f32(&singles, &how, tier, &mut out);
            prop_assert_eq!(&out, &naive::quantise(&of_singles, &how), "{:?}", tier);
        }
    }

    /// The error is at most half a step, also with dither.
    #[test]
    fn pixels_change_by_at_most_half_a_step(pixels in prop::collection::vec(-1e3..1e3, 1..50), dither in prop::option::of(0..RANDOM_NUMBERS)) {
        let how = Quantiser { scale: 0.25, zero: -3.0, blank: Some(i32::MIN), exact_zero: Some(EXACT_ZERO), dither };
        for tier in tiers() {
            let mut integers = vec![0; pixels.len()];
            quantise_f64(&pixels, &how, tier, &mut integers);
            let mut back = vec![0.0; pixels.len()];
            dequantise_f64(&integers, &how, ByteOrder::Native, tier, &mut back);
            for (pixel, back) in pixels.iter().zip(back) {
                prop_assert!((pixel - back).abs() <= 0.125 + 1e-9, "{} {}", pixel, back);
            }
        }
    }
}

#[test]
fn the_random_numbers_are_those_of_the_standard() {
    let random = random_numbers();
    assert_eq!(random.len(), 10_000);
    assert_eq!(random[0], (16_807.0 / 2_147_483_647.0) as f32);
    assert_eq!(random[9_999], (1_043_618_065.0 / 2_147_483_647.0) as f32);
    assert!(random.iter().all(|&number| number > 0.0 && number < 1.0));
}

/// The second pixel of a tile whose random numbers begin at 0, computed by hand.
#[test]
fn a_dithered_pixel_is_what_the_formula_says() {
    let first = (f64::from(random_numbers()[3]) * 500.0) as usize;
    let how = Quantiser { scale: 2.0, zero: 1.0, blank: None, exact_zero: None, dither: Some(3) };
    for tier in tiers() {
        let mut out = [0.0; 2];
        dequantise_f64(&[0, 10], &how, ByteOrder::Native, tier, &mut out);
        let random = f64::from(random_numbers()[first + 1]);
        assert_eq!(out[1], (10.0 - random + 0.5) * 2.0 + 1.0);
    }
}

/// Additions and comparisons compute the integers, and must saturate as a cast does.
#[test]
fn numbers_beyond_the_limits_are_the_limits() {
    let ends = [f64::from(i32::MAX), f64::from(i32::MIN)];
    let mut pixels = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.49, -0.49, 5e-324];
    for end in ends {
        pixels.extend([-1.0, -0.5, 0.0, 0.5, 1.0].map(|step| end + step));
        pixels.extend([end.next_up(), end.next_down()]);
    }
    let how = Quantiser { scale: 1.0, zero: 0.0, blank: None, exact_zero: None, dither: None };
    let expected: Vec<i32> =
        pixels.iter().map(|&pixel: &f64| (pixel + 0.5f64.copysign(pixel)) as i32).collect();
    for tier in tiers() {
        let mut out = vec![0; pixels.len()];
        quantise_f64(&pixels, &how, tier, &mut out);
        assert_eq!(out, expected, "{tier:?}");
    }
}
