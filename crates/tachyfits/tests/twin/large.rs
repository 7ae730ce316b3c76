//! Images that need several lines per row, several tasks, tiles and slabs: the same twin, with more pixels.

use tachyfits::{AxisRange, RunOptions, Statistic, Values};

use crate::common::Numbers;
use crate::model::{Expected, check_close};
use crate::picture::Picture;
use crate::reductions::{marks, outputs};

fn check(picture: &Picture, ranges: &[AxisRange], axes: &[usize]) {
    let image = picture.image();
    let section = image.section(ranges).unwrap();
    let options = RunOptions::default().threads(2);
    let reduced = image.reduce(Statistic::ALL, axes, &section, None, 1, &options).unwrap().0;
    let (remaining_axes, pixels) =
        outputs(picture, &section, &marks(axes, picture.axes.len()), |_| true);
    assert_eq!(reduced.axes, remaining_axes);
    for (output, pixels) in pixels.iter().enumerate() {
        let expected = Expected::of(pixels);
        for (statistic, values) in Statistic::ALL.iter().zip(&reduced.values) {
            expected.check_output(*statistic, 1, values, output);
        }
    }
}

fn range(first: u64, count: u64, step: i64) -> AxisRange {
    AxisRange { first, count, step }
}

#[test]
fn rows_longer_than_a_line() {
    let picture = Picture::new(2, &[600_001, 2], true, false, 7);
    let whole = [range(0, 600_001, 1), range(0, 2, 1)];
    check(&picture, &whole, &[0]);
    check(&picture, &whole, &[0, 1]);
    check(&picture, &[range(600_000, 300_001, -2), range(1, 2, -1)], &[0]);
}

#[test]
fn images_of_several_tiles_and_slabs() {
    let picture = Picture::new(0, &[20_000, 2, 70], false, false, 8);
    let whole = [range(0, 20_000, 1), range(0, 2, 1), range(0, 70, 1)];
    check(&picture, &whole, &[2]);
    check(&picture, &[range(19_999, 6_600, -3), range(0, 2, 1), range(69, 70, -1)], &[2, 1]);
    let tall = Picture::new(2, &[40, 3_000], true, false, 9);
    check(&tall, &[range(0, 40, 1), range(0, 3_000, 1)], &[1]);
}

#[test]
fn pixels_far_apart() {
    // Steps of more than a page: each pixel is read separately.
    let picture = Picture::new(8, &[30_000, 40], false, false, 10);
    let sparse = [range(7, 6, 5_000), range(39, 40, -1)];
    for axes in [&[0][..], &[1], &[0, 1], &[]] {
        check(&picture, &sparse, axes);
    }
}

/// Mean and standard deviation of pixels with a large offset, where differences of squares would lose
/// precision.
#[test]
fn a_large_offset_costs_no_accuracy() {
    let mut numbers = Numbers(11);
    let axes = [512, 9, 128];
    let values: Vec<f64> = (0..axes.iter().product::<u64>())
        .map(|_| 1e9 + numbers.below(1 << 20) as f64 / (1 << 19) as f64)
        .collect();
    let data: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes()).collect();
    let image = crate::common::image(crate::common::fits(-64, &axes, &[], &data));
    // In units of 2^-19 above 1e9 every value is an integer.
    let exact = |pixels: &mut dyn Iterator<Item = f64>| {
        let units: Vec<i128> = pixels.map(|x| ((x - 1e9) * (1 << 19) as f64) as i128).collect();
        let n = units.len() as i128;
        let (sum, squares) =
            (units.iter().sum::<i128>(), units.iter().map(|x| x * x).sum::<i128>());
        let unit = 1.0 / (1 << 19) as f64;
        let variance = (n * squares - sum * sum) as f64 / (n * n) as f64;
        (1e9 + sum as f64 / n as f64 * unit, variance.sqrt() * unit)
    };
    let (stats, _) = image.stats(&image.whole(), None, &RunOptions::default()).unwrap();
    let (mean, std) = exact(&mut values.iter().copied());
    check_close(stats[0].mean(), mean, 1e-15, 0.0, "mean");
    check_close(stats[0].std(0), std, 1e-12, 0.0, "std");
    let statistics = [Statistic::MEAN, Statistic::STD];
    let reduced =
        image.reduce(&statistics, &[2], &image.whole(), None, 0, &RunOptions::default()).unwrap().0;
    let [Values::Floats(means), Values::Floats(stds)] = &reduced.values[..] else { panic!() };
    for output in (0..means.len()).step_by(97) {
        let (mean, std) = exact(&mut values.iter().skip(output).step_by(512 * 9).copied());
        check_close(means[output], mean, 1e-12, 0.0, "mean along the axis");
        check_close(stds[output], std, 1e-12, 0.0, "std along the axis");
    }
}
