//! Statistics against exact arithmetic, and the rules for zeros and infinities.

use crate::content::tiers;
use proptest::prelude::*;
use tachyfits_kernels::{
    ByteOrder, Compensated, Encoding, LEAF_PIXELS, MomentRows, PixelType, Reduction, Shape, Stats,
    Sum, SumRows,
};

fn stats(values: &[f64], tier: tachyfits_kernels::Tier) -> Stats {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes()).collect();
    let mut stats = Stats::default();
    stats.accumulate(&bytes, &Encoding::plain(PixelType::F64), tier, 0);
    stats
}

/// Returns mean and variance of integers over 2^20, exact except for the last roundings.
fn exact(integers: &[i64]) -> (f64, f64) {
    let n = integers.len() as i128;
    let sum: i128 = integers.iter().map(|&x| i128::from(x)).sum();
    // n^2 times the variance is the integer n * sum(x^2) - sum(x)^2, computed from differences to the first integer so
    // that it fits.
    let differences = || integers.iter().map(|&x| i128::from(x - integers[0]));
    let squares: i128 = differences().map(|d| d * d).sum();
    let shifted: i128 = differences().sum();
    let spread = n * squares - shifted * shifted;
    let unit = f64::from(1 << 20);
    (sum as f64 / n as f64 / unit, spread as f64 / (n as f64 * n as f64) / (unit * unit))
}

proptest! {
    #![proptest_config(crate::content::cases(16))]

    #[test]
    fn an_offset_costs_no_digits(seed in any::<u64>(), pixels in 2..20 * LEAF_PIXELS) {
        // 1e9 + [0, 1), on a grid of 2^-20: every value is exact in f64, and so are the integers.
        let mut state = seed;
        let integers: Vec<i64> = (0..pixels)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (1_000_000_000 << 20) + (state >> 44) as i64
            })
            .collect();
        let values: Vec<f64> = integers.iter().map(|&x| x as f64 / f64::from(1 << 20)).collect();
        let (mean, variance) = exact(&integers);
        for tier in tiers() {
            let stats = stats(&values, tier);
            prop_assert!((stats.mean() / mean - 1.0).abs() <= 1e-15, "{} {mean}", stats.mean());
            let std = stats.std(0);
            prop_assert!((std / variance.sqrt() - 1.0).abs() <= 1e-12, "{std} {}", variance.sqrt());
            let sample = (variance * (pixels as f64 / (pixels - 1) as f64)).sqrt();
            prop_assert!((stats.std(1) / sample - 1.0).abs() <= 1e-12);
            let rms = (mean * mean + variance).sqrt();
            prop_assert!((stats.rms() / rms - 1.0).abs() <= 1e-15);
        }
    }
}

#[test]
fn the_first_of_equal_zeros_is_the_extreme() {
    for tier in tiers() {
        for (first, second) in [(0.0, -0.0), (-0.0, 0.0)] {
            // The second zero is in the lane that is folded first.
            let mut values = vec![f64::NAN; 40];
            values[3] = first;
            values[16] = second;
            let result = stats(&values, tier);
            for extreme in [result.min.unwrap(), result.max.unwrap()] {
                assert_eq!(extreme.position, 3);
                assert_eq!(extreme.value.to_bits(), f64::to_bits(first), "{tier:?}");
            }
        }
    }
}

#[test]
fn infinities_follow_ieee() {
    const INFINITE: f64 = f64::INFINITY;
    for tier in tiers() {
        let result = stats(&[1.0, INFINITE, 2.0], tier);
        assert_eq!(
            (result.sum.value(), result.mean(), result.rms()),
            (INFINITE, INFINITE, INFINITE)
        );
        assert!(result.std(0).is_nan());
        assert_eq!((result.min.unwrap().value, result.max.unwrap().value), (1.0, INFINITE));
        assert_eq!((result.count, result.nan), (3, 0));

        let mut values = vec![0.5; LEAF_PIXELS + 10];
        values[7] = INFINITE;
        values[LEAF_PIXELS + 3] = -INFINITE;
        let both = stats(&values, tier);
        assert!(both.sum.value().is_nan() && both.mean().is_nan() && both.std(0).is_nan());
        assert_eq!(both.rms(), INFINITE);
        assert_eq!(both.min.unwrap().position, LEAF_PIXELS as u64 + 3);
        assert_eq!(both.max.unwrap().position, 7);
        assert_eq!((both.count, both.nan), (LEAF_PIXELS as u64 + 10, 0));
    }
}

#[test]
fn nothing_defined_gives_nan_and_no_extremes() {
    for tier in tiers() {
        for values in [vec![], vec![f64::NAN; 5000]] {
            let result = stats(&values, tier);
            assert_eq!((result.count, result.nan), (0, values.len() as u64));
            assert!(result.mean().is_nan() && result.rms().is_nan() && result.std(0).is_nan());
            assert_eq!((result.min, result.max), (None, None));
            assert_eq!(result.sum.value(), 0.0);
        }
    }
}

#[test]
fn leaves_of_the_largest_bytes_add_up() {
    // Bytes that nearly overflow the sums; one pixel more than whole leaves, and fewer than a step.
    for pixels in [LEAF_PIXELS, 2 * LEAF_PIXELS + 1, 15, 0] {
        for (pixel, byte, value) in [
            (PixelType::U8, 0xff, 255),
            (PixelType::I16, 0xff, -1),
            (PixelType::I16, 0x7f, 0x7f7f),
            (PixelType::I16, 0x80, 0x8080_u16 as i16 as i64),
            (PixelType::I32, 0xff, -1),
            (PixelType::I32, 0x7f, 0x7f7f_7f7f),
            (PixelType::I32, 0x80, 0x8080_8080_u32 as i32 as i64),
        ] {
            for (order, tier) in [ByteOrder::BigEndian, ByteOrder::Native]
                .into_iter()
                .flat_map(|order| tiers().into_iter().map(move |tier| (order, tier)))
            {
                let encoding = Encoding { order, ..Encoding::plain(pixel) };
                let mut sum = Sum::default();
                sum.accumulate(&vec![byte; pixels * encoding.pixel_bytes()], &encoding, tier);
                let expected = (pixels as i64 * value) as f64;
                assert_eq!(sum.sum.value(), expected, "{pixels} of {encoding:?} {tier:?}");
            }
        }
    }
}

/// Returns the mean of one output of row sums.
fn mean_of_rows(sums: &SumRows, output: usize) -> f64 {
    let (count, sum) = (sums.count()[output], sums.sum()[output]);
    let sum = Compensated { high: sum, low: 0.0 }.into();
    Stats { count, sum, common: sums.common(output), ..Stats::default() }.mean()
}

proptest! {
    #![proptest_config(crate::content::cases(64))]

    #[test]
    fn the_mean_of_a_constant_is_that_constant(
        value in prop_oneof![
            prop::num::f64::NORMAL.prop_filter("the sum is finite", |x| x.abs() < 1e300),
            prop::sample::select(vec![105.83, 0.1, -2.7e-5, 1e-310, f64::MIN_POSITIVE]),
        ],
        pixels in prop_oneof![1..40usize, LEAF_PIXELS - 3..LEAF_PIXELS + 3, 1..5 * LEAF_PIXELS],
        hole in prop_oneof![Just(usize::MAX), 2..50usize],
        rows in 1..300usize,
        cut in 0.0..1.0f64,
    ) {
        let pixel = |at: usize| if at % hole == 1 { f64::NAN } else { value };
        let pixels: Vec<u8> = (0..pixels).flat_map(|at| pixel(at).to_be_bytes()).collect();
        let plain = Encoding::plain(PixelType::F64);
        // Every second output is constant; the first pixel is sometimes undefined.
        let row = |row: usize| -> Vec<u8> {
            let at = |at: usize| if at == 0 { pixel(row) } else if at % 2 == 1 { row as f64 } else { value };
            (0..20).flat_map(|x| at(x).to_be_bytes()).collect()
        };
        let rows: Vec<Vec<u8>> = (0..rows).map(row).collect();
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let (first, second) = rows.split_at((cut * rows.len() as f64) as usize);
        for tier in tiers() {
            let (early, late) = pixels.split_at((cut * (pixels.len() / 8) as f64) as usize * 8);
            let mut stats = [Stats::default(); 2];
            let mut sums = [Sum::default(); 2];
            for (part, bytes) in [early, late].into_iter().enumerate() {
                stats[part].accumulate(bytes, &plain, tier, 0);
                sums[part].accumulate(bytes, &plain, tier);
            }
            let [mut whole, later] = stats;
            whole.merge(&later);
            prop_assert_eq!(whole.mean(), value);
            let [mut sum, later] = sums;
            sum.merge(&later);
            let Sum { count, sum, common, .. } = sum;
            prop_assert_eq!(Stats { count, sum, common, ..Stats::default() }.mean(), value);

            let slabs = [first, second].map(|rows| SumRows::slab(20, rows, &plain, tier));
            let [mut of_rows, later] = slabs;
            of_rows.merge(&later);
            let mut moments = MomentRows::new(20);
            moments.merge(&MomentRows::slab(20, first, &plain, tier));
            moments.merge(&MomentRows::slab(20, second, &plain, tier));
            for output in (0..20).step_by(2) {
                prop_assert_eq!(mean_of_rows(&of_rows, output), value, "output {}", output);
                prop_assert_eq!(mean_of_rows(moments.sums(), output), value, "output {}", output);
            }
        }
    }
}

#[test]
fn a_constant_has_no_spread() {
    for tier in tiers() {
        let result = stats(&vec![0.1; 3 * LEAF_PIXELS + 5], tier);
        assert_eq!(result.mean(), 0.1, "{tier:?}");
        assert_eq!((result.center.value(), result.std(0)), (0.1, 0.0), "{tier:?}");
    }
}

#[test]
fn sums_of_flat_backgrounds_are_as_close_as_pairwise_sums() {
    for value in [2180.3, 0.1, 105.83, 1.0 / 3.0, -7e-200] {
        for pixels in [20, 300, LEAF_PIXELS, 10_000, 123_457] {
            let mut values = vec![value; pixels];
            // A different pixel, so that the mean is not the common value.
            values[pixels / 3] = 0.0;
            let n = (pixels - 1) as f64;
            let product = value * n;
            let rest = value.mul_add(n, -product);
            let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes()).collect();
            for tier in tiers() {
                let mut sum = Sum::default();
                sum.accumulate(&bytes, &Encoding::plain(PixelType::F64), tier);
                let error = ((sum.sum.value() - product) - rest) / product;
                assert!(error.abs() <= 5e-16, "{pixels} of {value}: {error:e} {tier:?}");
            }
        }
    }
}

/// Returns mean, root mean square and standard deviation, in units in which nothing overflows.
fn large_reference(values: &[f64], unit: f64) -> [f64; 3] {
    let n = values.len() as f64;
    let sum = |terms: &mut dyn Iterator<Item = f64>| {
        let mut sum = Compensated::default();
        terms.for_each(|x| sum.add(x));
        sum.value()
    };
    let mean = sum(&mut values.iter().map(|x| x / unit)) / n;
    let squares = sum(&mut values.iter().map(|x| (x / unit) * (x / unit)));
    let spread = sum(&mut values.iter().map(|x| (x / unit - mean) * (x / unit - mean)));
    [mean * unit, (squares / n).sqrt() * unit, (spread / n).sqrt() * unit]
}

proptest! {
    #![proptest_config(crate::content::cases(48))]

    #[test]
    fn statistics_of_large_and_small_pixels_have_the_digits_of_others(
        exponent in prop_oneof![140..308i32, -290..-140i32],
        offset in prop_oneof![Just(0.0), -1.7..1.7f64],
        pixels in prop_oneof![1..40usize, LEAF_PIXELS - 2..LEAF_PIXELS + 2, 1..3 * LEAF_PIXELS],
        seed in any::<u64>(),
        cut in 0.0..1.0f64,
    ) {
        let unit = 10f64.powi(exponent);
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        // Leading zeros have no unit.
        let blank = if pixels % 3 == 0 { pixels / 2 } else { 0 };
        let values: Vec<f64> = (0..pixels)
            .map(|at| if at < blank { 0.0 } else { (offset + 0.1 * random()) * unit })
            .collect();
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes()).collect();
        let [mean, rms, std] = large_reference(&values, unit);
        let plain = Encoding::plain(PixelType::F64);
        let (early, late) = bytes.split_at((cut * pixels as f64) as usize * 8);
        for tier in tiers() {
            let mut whole = Stats::default();
            whole.accumulate(&bytes, &plain, tier, 0);
            let (mut merged, mut later) = (Stats::default(), Stats::default());
            merged.accumulate(early, &plain, tier, 0);
            later.accumulate(late, &plain, tier, early.len() as u64 / 8);
            merged.merge(&later);
            for stats in [whole, merged] {
                let near = |x: f64, y: f64, scale: f64| (x - y).abs() <= 1e-13 * scale.abs();
                prop_assert!(near(stats.mean(), mean, rms), "{} {mean}", stats.mean());
                prop_assert!(near(stats.rms(), rms, rms), "{} {rms}", stats.rms());
                prop_assert!(near(stats.std(0), std, rms), "{} {std}", stats.std(0));
            }
            let mut sum = Sum::default();
            sum.accumulate(&bytes, &plain, tier);
            prop_assert_eq!(sum.sum.value(), whole.sum.value());
        }
    }
}

/// Returns skewness and kurtosis of integers, from exact sums.
fn shape_of_integers(integers: &[i64]) -> [f64; 2] {
    let n = integers.len() as i128;
    let sum: i128 = integers.iter().map(|&x| i128::from(x)).sum();
    // n times the difference from the mean is an integer.
    let power =
        |power| integers.iter().map(|&x| (n * i128::from(x) - sum).pow(power)).sum::<i128>();
    let [second, third, fourth] = [2, 3, 4].map(|order| power(order) as f64);
    let n = n as f64;
    [n.sqrt() * third / second.powf(1.5), n * fourth / (second * second) - 3.0]
}

proptest! {
    #![proptest_config(crate::content::cases(48))]

    #[test]
    fn skewness_and_kurtosis_do_not_depend_on_the_unit_of_the_pixels(
        exponent in prop_oneof![-1070..1015i32, 250..1015i32, -1070..-250i32],
        offset in prop_oneof![Just(0), -250..250i64],
        pixels in prop_oneof![2..40usize, LEAF_PIXELS - 2..LEAF_PIXELS + 2, 2..3 * LEAF_PIXELS],
        sparse in any::<bool>(),
        seed in any::<u64>(),
        cut in 0.0..1.0f64,
    ) {
        let mut state = seed;
        let integers: Vec<i64> = (0..pixels)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Sparse pixels leave whole parts without a spread.
                let is_blank = sparse && (state >> 20) % 997 != 0;
                if is_blank { offset } else { offset + (state >> 57) as i64 }
            })
            .collect();
        let unit = 2f64.powi(exponent.max(-500)) * 2f64.powi(exponent.min(-500) + 500);
        let values: Vec<f64> = integers.iter().map(|&x| x as f64 * unit).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes()).collect();
        let [skewness, kurtosis] = shape_of_integers(&integers);
        let is_flat = integers.iter().all(|&x| x == integers[0]);
        let plain = Encoding::plain(PixelType::F64);
        let (early, late) = bytes.split_at((cut * pixels as f64) as usize * 8);
        let rows: Vec<&[u8]> = bytes.chunks_exact(8).collect();
        let (early_rows, late_rows) = rows.split_at(early.len() / 8);
        for tier in tiers() {
            let mut whole = Shape::default();
            whole.accumulate(&bytes, &plain, tier);
            let (mut merged, mut later) = (Shape::default(), Shape::default());
            merged.accumulate(early, &plain, tier);
            later.accumulate(late, &plain, tier);
            merged.merge(&later);
            let mut of_rows = Shape::default();
            for rows in early_rows.chunks(200).chain(late_rows.chunks(100)) {
                of_rows.merge(&Shape::slab(1, rows, &plain, tier)[0]);
            }
            for shape in [whole, merged, of_rows] {
                prop_assert_eq!(shape.count, pixels as u64);
                if is_flat {
                    prop_assert!(shape.skewness().is_nan() && shape.kurtosis().is_nan());
                    continue;
                }
                let near = |x: f64, y: f64| (x - y).abs() <= 1e-10 * (1.0 + y.abs());
                prop_assert!(near(shape.skewness(), skewness), "{} {skewness}", shape.skewness());
                prop_assert!(near(shape.kurtosis(), kurtosis), "{} {kurtosis}", shape.kurtosis());
            }
        }
    }
}

#[test]
fn shapes_of_the_largest_and_smallest_pixels_are_those_of_their_digits() {
    let (large, small) = (f64::MAX, f64::from_bits(1));
    for tier in tiers() {
        for size in [large, small, 1e77, 1e78, 1e-77, 1e-90, 1.0] {
            let values = [-size, size, size, 0.0, size];
            let [skewness, kurtosis] = shape_of_integers(&[-1, 1, 1, 0, 1]);
            let bytes = values.map(f64::to_be_bytes).concat();
            for cut in 0..5 {
                let plain = Encoding::plain(PixelType::F64);
                let (mut shape, mut later) = (Shape::default(), Shape::default());
                shape.accumulate(&bytes[..cut * 8], &plain, tier);
                later.accumulate(&bytes[cut * 8..], &plain, tier);
                shape.merge(&later);
                assert!((shape.skewness() - skewness).abs() < 1e-12, "{size:e} {cut} {shape:?}");
                assert!((shape.kurtosis() - kurtosis).abs() < 1e-12, "{size:e} {cut} {shape:?}");
                assert!(
                    (shape.mean() / size - 0.4).abs() <= if size == small { 0.5 } else { 1e-15 }
                );
            }
        }
        let infinite = [1.0, f64::INFINITY, 2.0].map(f64::to_be_bytes).concat();
        let mut shape = Shape::default();
        shape.accumulate(&infinite, &Encoding::plain(PixelType::F64), tier);
        assert!(shape.skewness().is_nan() && shape.kurtosis().is_nan());
    }
}
