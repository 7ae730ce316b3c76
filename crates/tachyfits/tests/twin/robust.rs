//! The robust rms compared with one that counts pixel by pixel: one thread per plane, all threads per plane,
//! and passes.

use tachyfits::io::Buffering;
use tachyfits::{AxisRange, Image, RunOptions, Section};

use crate::common::{Numbers, fits, image};
use crate::reductions::ONE;

/// Returns nearly normal noise: the sum of twelve uniform numbers has a variance of 1, and is exact.
fn noise(numbers: &mut Numbers) -> f64 {
    (0..12).map(|_| (numbers.next() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
}

/// Implements the algorithm from its description, with vectors.
fn expected(pixels: &[f64]) -> f64 {
    let good: Vec<f64> = pixels.iter().copied().filter(|x| !x.is_nan()).collect();
    let low = good.iter().copied().fold(f64::INFINITY, f64::min);
    let high = good.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if good.len() < 5 || !(low.is_finite() && high.is_finite()) {
        return f64::NAN;
    }
    let count = good.len() as f64;
    let mean = good.iter().sum::<f64>() / count;
    let raw = (good.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
    if raw <= 1e-5 * low.abs().max(high.abs()) {
        return raw;
    }
    let cells = (good.len() / 30).max(100);
    let (mut low, mut high) = (low, high);
    for _ in 0..20 {
        let density = cells as f64 / (high - low);
        let mut counts = vec![0u64; cells];
        for x in &good {
            let place = ((x - low) * density).clamp(0.0, (cells - 1) as f64);
            counts[place.round_ties_even() as usize] += 1;
        }
        let inner = &counts[1..cells - 1];
        let most = *inner.iter().max().unwrap();
        let mode = 1 + inner.iter().position(|count| *count == most).unwrap();
        let left = 1 + inner.iter().position(|count| 2 * count > most).unwrap_or(mode - 1);
        let right = 1 + inner.iter().rposition(|count| 2 * count > most).unwrap_or(mode - 1);
        let width = right - left;
        if (10..=50).contains(&width) {
            let from = mode.saturating_sub(3 * (mode - left)).max(1);
            let to = (mode + 3 * (right - mode)).min(cells - 2);
            let about = |power: i32| -> f64 {
                (from..=to)
                    .map(|cell| counts[cell] as f64 * (cell as f64 - mode as f64).powi(power))
                    .sum()
            };
            let mean = about(1) / about(0);
            let rms = (about(2) / about(0) - mean * mean).sqrt() / density;
            return if rms > raw { raw } else { rms };
        }
        let half = 0.5 * width.max(1) as f64 / density * cells as f64 / 25.0;
        let middle = low + mode as f64 / density;
        (low, high) = (middle - half, middle + half);
    }
    raw
}

/// Returns a plane of noise: plain, with bright sources, with an offset, undefined, constant, with an
/// infinity, few pixels.
fn plane(kind: u64, pixels: usize, numbers: &mut Numbers) -> Vec<f32> {
    let value = |index: usize| match kind {
        0 => noise(numbers) as f32,
        1 if index.is_multiple_of(97) => 1e3 * index as f32,
        1 => 0.01 * noise(numbers) as f32,
        2 => 1e3 + noise(numbers) as f32,
        3 => f32::NAN,
        4 => 2.5,
        5 if index == 7 => f32::INFINITY,
        6 if index > 3 => f32::NAN,
        7 if index.is_multiple_of(3) => f32::NAN,
        // Quantised, so that most cells are empty.
        8 => (3.0 * noise(numbers)).round() as f32,
        _ => noise(numbers) as f32,
    };
    (0..pixels).map(value).collect()
}

const KINDS: u64 = 9;
const SIDES: [u64; 2] = [130, 90];

fn cube() -> (Image, Vec<Vec<f32>>) {
    let mut numbers = Numbers(5);
    let pixels = (SIDES[0] * SIDES[1]) as usize;
    let planes: Vec<Vec<f32>> = (0..KINDS).map(|kind| plane(kind, pixels, &mut numbers)).collect();
    let data: Vec<u8> = planes.iter().flatten().flat_map(|x| x.to_be_bytes()).collect();
    (image(fits(-32, &[SIDES[0], SIDES[1], KINDS], &[], &data)), planes)
}

fn run(image: &Image, memory: u64, section: &Section, repeat: u64) -> Vec<f64> {
    image.robust_rms_within(memory, true, section, repeat, &ONE).unwrap().0
}

fn close(actual: f64, expected: f64) -> bool {
    (actual.is_nan() && expected.is_nan()) || (actual - expected).abs() <= 1e-9 * expected.abs()
}

#[test]
fn the_robust_rms_of_planes_is_that_of_its_description() {
    let (image, planes) = cube();
    let actual = run(&image, u64::MAX, &image.whole(), 1);
    assert_eq!(actual.len(), planes.len());
    for (kind, (rms, plane)) in actual.iter().zip(&planes).enumerate() {
        let pixels: Vec<f64> = plane.iter().map(|&x| f64::from(x)).collect();
        let expected = expected(&pixels);
        assert!(close(*rms, expected), "{kind}: {rms} {expected}");
    }
    // Noise is measured correctly beside sources a million times as bright.
    for (kind, truth) in [(0, 1.0), (1, 0.01), (2, 1.0), (7, 1.0), (8, 3.0)] {
        assert!((actual[kind] / truth - 1.0).abs() < 0.05, "{kind}: {}", actual[kind]);
    }
    for kind in [3, 5, 6] {
        assert!(actual[kind].is_nan(), "{kind}: {}", actual[kind]);
    }
    assert_eq!(actual[4], 0.0);
}

#[test]
fn planes_in_memory_and_in_passes_have_the_same_bits() {
    let (image, _) = cube();
    let ranges = [(3, 60, 2), (89, 80, -1), (0, KINDS, 1)];
    let ranges = ranges.map(|(first, count, step)| AxisRange { first, count, step });
    for section in [image.whole(), image.section(&ranges).unwrap()] {
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        let expected = bits(run(&image, u64::MAX, &section, 1));
        let plane_bytes = section.pixels() / KINDS * 4;
        let memories = [0, 2 * plane_bytes, 5 * plane_bytes, u64::MAX];
        for memory in memories {
            assert_eq!(bits(run(&image, memory, &section, 1)), expected);
        }
        let buffers = [Buffering::Auto, Buffering::Single, Buffering::Double];
        for (threads, buffering) in
            [1, 2, 3, 5].into_iter().flat_map(|threads| buffers.map(|b| (threads, b)))
        {
            let options = RunOptions::default().threads(threads).buffering(buffering);
            for memory in memories {
                let results = image.robust_rms_within(memory, true, &section, 2, &options).unwrap();
                assert_eq!(bits(results.0), expected);
                let (_, report) =
                    image.robust_rms_within(memory, true, &section, 0, &options).unwrap();
                assert!(report.bytes >= section.pixels() * 4);
                // Passes use only threads with work; three planes leave one thread of five for each.
                let most = if memory == 5 * plane_bytes { threads.min(3) } else { threads };
                assert!(memory == 0 || report.threads == most, "{memory} {buffering:?}");
            }
        }
    }
}

#[test]
fn the_robust_rms_of_everything_is_one_and_of_nothing_undefined() {
    let (image, _) = cube();
    let plane = [(0, SIDES[0], 1), (0, SIDES[1], 1), (1, 1, 1)];
    let plane = plane.map(|(first, count, step)| AxisRange { first, count, step });
    let section = image.section(&plane).unwrap();
    let (rms, _) = image.robust_rms(false, &section, 1, &ONE).unwrap();
    assert_eq!(rms, [run(&image, u64::MAX, &image.whole(), 1)[1]]);
    assert!(run(&image, u64::MAX, &section, 0)[0].is_nan());
    let empty = crate::common::image(fits(-32, &[3, 0, 2], &[], &[]));
    let results = empty.robust_rms(true, &empty.whole(), 1, &ONE).unwrap().0;
    assert!(results.len() == 2 && results.iter().all(|rms| rms.is_nan()));
}
