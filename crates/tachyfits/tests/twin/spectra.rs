//! Moments along any axis: by rows, and by lines if the axis is NAXIS1.

use proptest::prelude::*;
use tachyfits::statistics::Coordinates;

use crate::common::{Numbers, exact_sum, fits, image};
use crate::model::{Pixels, check_close};
use crate::picture::pictures;
use crate::reductions::{ONE, marks, outputs};

/// Checks a moment of the pixels of an output; coordinates are selected by linear index.
fn check_moment(order: usize, moment: f64, pixels: &Pixels, coordinates: &Coordinates<'_>) {
    let good: Vec<(f64, f64)> = pixels
        .iter()
        .filter_map(|&(position, value)| Some((value?, coordinates.values[position as usize])))
        .collect();
    if good.is_empty() {
        assert!(moment.is_nan());
        return;
    }
    let sum = exact_sum(good.iter().map(|good| good.0));
    let magnitude: f64 = good.iter().map(|good| good.0.abs()).sum();
    if order == 0 {
        let width =
            |position: u64| coordinates.widths[position as usize % coordinates.widths.len()];
        let good = pixels.iter().filter_map(|&(at, value)| Some(value? * width(at)));
        let magnitude: f64 = good.clone().map(f64::abs).sum();
        check_close(moment, exact_sum(good), 1e-12, 1e-13 * magnitude, "moment 0");
        return;
    }
    // If the intensities nearly cancel, rounding determines the other moments.
    if sum.abs() < 1e-6 * magnitude {
        return;
    }
    if magnitude == 0.0 {
        assert!(moment.is_nan());
        return;
    }
    let middle = coordinates.values[0];
    let reach = coordinates.values.iter().fold(0.0f64, |a, u| a.max((u - middle).abs()));
    let condition = magnitude / sum.abs();
    let mean = exact_sum(good.iter().map(|(i, u)| i * (u - middle))) / sum;
    // Each quotient has the relative error of its divisor, which grows with the condition, plus the error of
    // its dividend: a mean may be far beyond the coordinates.
    if order == 1 {
        let slack = 1e-13 * condition * (reach + mean.abs());
        check_close(moment, middle + mean, 1e-13, slack, "moment 1");
        return;
    }
    let square = exact_sum(good.iter().map(|(i, u)| i * (u - middle - mean).powi(2))) / sum;
    let slack = 1e-12 * condition * (condition * reach.powi(2) + mean.powi(2));
    if square > slack {
        check_close(moment * moment, square, 1e-12, slack, "moment 2, squared");
    } else if square < -slack {
        assert!(moment.is_nan());
    } else {
        assert!(moment.is_nan() || moment * moment <= 2.0 * slack + square.abs());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn moments_along_any_axis(picture in pictures(false)) {
        let image = picture.image();
        let section = picture.section(&image);
        let mut numbers = Numbers(picture.seed ^ 3);
        for axis in 0..picture.axes.len() {
            let count = section.ranges()[axis].count;
            let (start, step) = [(1.42e9, -1.2e4), (-3.0, 0.25), (0.0, 0.0)][numbers.below(3) as usize];
            // Coordinates need not be equally spaced.
            let uneven = |i: u64| start + step * (i as f64 + (i % 3) as f64 * 0.1);
            let values: Vec<f64> = (0..count).map(uneven).collect();
            // A common width of all channels, or one width per channel.
            let channel_widths: Vec<f64> = (0..count).map(|i| 0.5 + (i % 4) as f64).collect();
            let widths = if numbers.below(2) == 0 { vec![step] } else { channel_widths };
            let coordinates = Coordinates { values: &values, widths: &widths };
            let reduced = marks(&[axis], picture.axes.len());
            let (_, expected) = outputs(&picture, &section, &reduced, |_| true);
            // Any subset in any order has the bits of single requests.
            let orders = [&[0, 1, 2][..], &[2, 0], &[1]][numbers.below(3) as usize];
            let (moments, _) = image.moments(orders, axis, coordinates, &section, &ONE).unwrap();
            for (&order, moments) in orders.iter().zip(&moments) {
                prop_assert_eq!(moments.len(), expected.len());
                for (&moment, pixels) in moments.iter().zip(&expected) {
                    check_moment(order, moment, pixels, &coordinates);
                }
                let alone = image.moments(&[order], axis, coordinates, &section, &ONE).unwrap().0;
                let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                prop_assert_eq!(bits(&alone[0]), bits(moments));
            }
        }
    }
}

/// By rows and by lines, for any rounding of the squares: all the flux is at one coordinate.
#[test]
fn the_dispersion_of_one_channel_is_zero() {
    let mut numbers = Numbers(5);
    let mut random = |scale: f64| scale * (numbers.next() >> 11) as f64 / (1u64 << 53) as f64;
    let channels = 40;
    for (axis, axes) in [(0, [channels, 300]), (1, [300, channels])] {
        for elsewhere in [f64::NAN, 0.0] {
            let mut pixels = vec![elsewhere; 300 * channels as usize];
            for line in 0..300 {
                let channel = random(channels as f64) as usize;
                let at = if axis == 0 {
                    line * channels as usize + channel
                } else {
                    channel * 300 + line
                };
                pixels[at] = 1e-3 + random(50.0);
            }
            let data: Vec<u8> = pixels.iter().flat_map(|pixel| pixel.to_be_bytes()).collect();
            let image = image(fits(-64, &axes, &[], &data));
            let values: Vec<f64> = (0..channels).map(|_| 1.42e9 + random(3e6)).collect();
            let coordinates = Coordinates { values: &values, widths: &[1.0] };
            let (moments, _) =
                image.moments(&[2], axis, coordinates, &image.whole(), &ONE).unwrap();
            assert_eq!(moments, [[0.0; 300]]);
        }
    }
}
