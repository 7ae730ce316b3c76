//! Statistics of a section and along any axes, and histograms.

use proptest::prelude::*;
use tachyfits::statistics::Histogram;
use tachyfits::{Image, RunOptions, Section, Statistic};

use crate::common::Numbers;
use crate::model::{Expected, Pixels};
use crate::picture::{Picture, pictures, walk};

/// One thread, because starting others takes longer than processing a small picture.
pub const ONE: RunOptions<'static> =
    RunOptions::new().threads(1).buffering(tachyfits::io::Buffering::Single);

/// Returns the axes that are not reduced, and the pixels of each output with their linear index among the
/// reduced pixels.
pub fn outputs(
    picture: &Picture,
    section: &Section,
    reduced: &[bool],
    inside: impl Fn(u64) -> bool,
) -> (Vec<u64>, Vec<Pixels>) {
    let counts: Vec<u64> = section.ranges().iter().map(|range| range.count).collect();
    let remaining_axes: Vec<u64> = counts
        .iter()
        .zip(reduced)
        .filter(|(_, reduced)| !**reduced)
        .map(|(&count, _)| count)
        .collect();
    let mut outputs = vec![Vec::new(); remaining_axes.iter().product::<u64>() as usize];
    for (steps, pixel) in walk(&picture.axes, section) {
        let (mut output, mut position, mut outputs_below, mut reduced_below) = (0, 0, 1, 1);
        for ((step, count), &reduced) in steps.iter().zip(&counts).zip(reduced) {
            let (total, below) = match reduced {
                true => (&mut position, &mut reduced_below),
                false => (&mut output, &mut outputs_below),
            };
            *total += step * *below;
            *below *= count;
        }
        if inside(pixel) {
            outputs[output as usize].push((position, picture.value(pixel)));
        }
    }
    (remaining_axes, outputs)
}

/// Returns every combination of axes.
pub fn combinations(rank: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1usize << rank).map(move |mask| (0..rank).filter(|axis| mask >> axis & 1 == 1).collect())
}

pub fn marks(axes: &[usize], rank: usize) -> Vec<bool> {
    (0..rank).map(|axis| axes.contains(&axis)).collect()
}

/// Statistics with different states: all, only sums, only squares, only extremes, squares and extremes,
/// another.
const CHOICES: [&[Statistic]; 6] = [
    Statistic::ALL,
    &[Statistic::MEAN, Statistic::COUNT, Statistic::NAN, Statistic::SUM],
    &[Statistic::STD, Statistic::RMS],
    &[Statistic::MAX_POSITION, Statistic::MIN, Statistic::MAX, Statistic::MIN_POSITION],
    &[Statistic::NAN, Statistic::RMS, Statistic::MAX],
    &[Statistic::known("mean_abs"), Statistic::MEAN],
];

fn check_reductions(picture: &Picture, image: &Image, section: &Section) {
    let rank = picture.axes.len();
    let ddof = picture.seed % 3;
    for mut axes in combinations(rank) {
        let (remaining_axes, expected) = outputs(picture, section, &marks(&axes, rank), |_| true);
        let expected: Vec<_> = expected.iter().map(Expected::of).collect();
        // The order of the axes in the request does not matter.
        axes.reverse();
        for statistics in CHOICES {
            let (reduced, _) = image.reduce(statistics, &axes, section, None, ddof, &ONE).unwrap();
            assert_eq!(reduced.axes, remaining_axes);
            assert_eq!(reduced.values.len(), statistics.len());
            for (statistic, values) in statistics.iter().zip(&reduced.values) {
                for (output, expected) in expected.iter().enumerate() {
                    expected.check_output(*statistic, ddof, values, output);
                }
                let length = match values {
                    tachyfits::Values::Integers(values) => values.len(),
                    tachyfits::Values::Floats(values) => values.len(),
                };
                assert_eq!(length, expected.len());
            }
        }
    }
}

/// Checks counts against the edges, one comparison at a time.
pub fn check_histogram(histogram: &Histogram, values: impl Iterator<Item = Option<f64>>) {
    let edges = histogram.range().edges();
    let bins = edges.len() - 1;
    let (mut counts, mut below, mut above, mut nan) = (vec![0; bins], 0, 0, 0);
    for value in values {
        match value {
            None => nan += 1,
            Some(x) if x < edges[0] => below += 1,
            Some(x) if x > edges[bins] => above += 1,
            Some(x) => {
                let bin = (0..bins).find(|&bin| edges[bin] <= x && x < edges[bin + 1]);
                counts[bin.unwrap_or(bins - 1)] += 1;
            }
        }
    }
    assert_eq!(histogram.counts().collect::<Vec<_>>(), counts);
    assert_eq!((histogram.below(), histogram.above(), histogram.nan()), (below, above, nan));
}

/// Returns a range for a histogram, near the pixels or anywhere.
pub fn any_histogram(picture: &Picture) -> ((f64, f64), usize) {
    let mut numbers = Numbers(picture.seed ^ 1);
    let ranges =
        [(-3.0, 0.7), (-3.0, 4.0), (0.0, 4.0), (0.0, 0.7), (-2000.0, 4000.0), (-1e19, 3e19)];
    let (low, width) = ranges[numbers.below(6) as usize];
    let bins = 1 + numbers.below(9) as usize;
    ((low, low + width), bins)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn statistics_of_a_section(picture in pictures(true)) {
        let image = picture.image();
        let section = picture.section(&image);
        let (_, pixels) = outputs(&picture, &section, &vec![true; picture.axes.len()], |_| true);
        let expected = Expected::of(&pixels[0]);
        let (stats, _) = image.stats(&section, None, &ONE).unwrap();
        assert_eq!(stats.len(), 1);
        expected.check(&stats[0]);
        let (total, report) = image.total(&section, &ONE).unwrap();
        assert_eq!((total.count, total.nan), (expected.count, expected.nan));
        assert_eq!(total.sum.value().to_bits(), stats[0].sum.value().to_bits());
        prop_assert!(report.bytes >= section.pixels() * picture.bitpix.unsigned_abs() / 8);
    }

    #[test]
    fn reductions_along_any_axes(picture in pictures(true)) {
        let image = picture.image();
        check_reductions(&picture, &image, &picture.section(&image));
    }

    #[test]
    fn histograms_of_a_section(picture in pictures(true)) {
        let image = picture.image();
        let section = picture.section(&image);
        let (range, bins) = any_histogram(&picture);
        let (histogram, _) = image.histogram(range, bins, &section, None, &ONE).unwrap();
        check_histogram(
            &histogram,
            walk(&picture.axes, &section).into_iter().map(|(_, pixel)| picture.value(pixel)),
        );
    }
}

/// Rows of large pixels are repeated in another unit; only `Stats` accounts for it.
#[test]
fn magnitudes_whose_sum_exceeds_f64_are_infinite_by_lines_and_by_rows() {
    let data = [-f64::MAX, f64::MAX, f64::MAX, f64::MAX].map(f64::to_be_bytes).concat();
    let image = crate::common::image(crate::common::fits(-64, &[2, 2], &[], &data));
    let statistics = [Statistic::known("mean_abs"), Statistic::RMS];
    for axis in [0, 1] {
        let reduced = image.reduce(&statistics, &[axis], &image.whole(), None, 0, &ONE).unwrap().0;
        let infinite = tachyfits::Values::Floats(vec![f64::INFINITY; 2]);
        assert_eq!(reduced.values[0], infinite);
        assert_eq!(reduced.values[1], tachyfits::Values::Floats(vec![f64::MAX; 2]));
    }
}

#[test]
fn reducing_an_image_without_pixels() {
    for axes in [vec![], vec![0], vec![3, 0, 2], vec![1 << 40, 1 << 40, 0]] {
        let image = crate::common::image(crate::common::fits(16, &axes, &[], &[]));
        let whole = image.whole();
        assert_eq!(whole.pixels(), 0);
        let (stats, _) = image.stats(&whole, None, &ONE).unwrap();
        Expected::of(&Vec::new()).check(&stats[0]);
        let all: Vec<usize> = (0..axes.len()).collect();
        let (reduced, _) = image.reduce(Statistic::ALL, &all, &whole, None, 0, &ONE).unwrap();
        assert!(reduced.axes.is_empty());
        for (statistic, values) in Statistic::ALL.iter().zip(&reduced.values) {
            Expected::of(&Vec::new()).check_output(*statistic, 0, values, 0);
        }
    }
    let image = crate::common::image(crate::common::fits(16, &[3, 0, 2], &[], &[]));
    let (reduced, _) = image.reduce(Statistic::ALL, &[1], &image.whole(), None, 0, &ONE).unwrap();
    assert_eq!(reduced.axes, [3, 2]);
    let coordinates = tachyfits::statistics::Coordinates { values: &[], widths: &[] };
    let (means, _) = image.moments(&[1, 0], 1, coordinates, &image.whole(), &ONE).unwrap();
    assert!(means.len() == 2);
    assert!(means.iter().all(|mean| mean.len() == 6 && mean.iter().all(|x| x.is_nan())));
}
