//! Order statistics compared with sorting, with limits so small that every pass and every refinement occurs.

use proptest::prelude::*;
use tachyfits::io::Buffering;
use tachyfits::statistics::{OrderLimits, OrderStatistic, RankCounts, RankPass, Reduced, RunPass};
use tachyfits::{AxisRange, Executor, Image, Job, Region, RunOptions, Section, Values};

use crate::common::{Numbers, fits, image};
use crate::model::Pixels;
use crate::picture::{Picture, pictures};
use crate::reductions::{ONE, combinations, marks, outputs};

const STATISTICS: [OrderStatistic; 7] = [
    OrderStatistic::Mad,
    OrderStatistic::Percentile(25.0),
    OrderStatistic::Median,
    OrderStatistic::Percentile(0.0),
    OrderStatistic::Percentile(99.3),
    OrderStatistic::Percentile(50.0),
    OrderStatistic::Percentile(100.0),
];

/// Returns limits that cover every path: defaults; nothing gathered; few pixels kept; hardly any kept, with
/// misleading samples; one pixel at a time.
fn limits() -> [OrderLimits; 5] {
    let usual = OrderLimits::default();
    [
        usual,
        OrderLimits { gathered: 0, ..usual },
        OrderLimits { gathered: 5, tile_bytes: 100, kept: 40, sample: 30, bins: 16, ..usual },
        OrderLimits { gathered: 0, kept: 2, sample: 3, bins: 2, ranges: 1, ..usual },
        OrderLimits { gathered: 9, tile_bytes: 1, kept: 0, sample: 1, bins: 3, ranges: 2 },
    ]
}

/// Returns the sorted values, with zeros without a sign.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.filter(|x| !x.is_nan()).map(|x| x + 0.0).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    if (low + high).is_infinite() { low / 2.0 + high / 2.0 } else { (low + high) / 2.0 }
}

/// Computes the statistic from its definition.
fn expected(statistic: OrderStatistic, pixels: &Pixels) -> f64 {
    let sorted_pixels = sorted(pixels.iter().filter_map(|(_, value)| *value));
    if sorted_pixels.is_empty() {
        return f64::NAN;
    }
    match statistic {
        OrderStatistic::Median => median(&sorted_pixels),
        OrderStatistic::Mad => {
            let middle = median(&sorted_pixels);
            if !middle.is_finite() {
                return f64::NAN;
            }
            median(&sorted(sorted_pixels.iter().map(|x| (x - middle).abs())))
        }
        OrderStatistic::Percentile(percent) => percentile(&sorted_pixels, percent),
        other => panic!("no expected value of {other:?}"),
    }
}

fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let last = sorted.len() - 1;
    let place = last as f64 * (percent / 100.0);
    let before = (place.floor() as usize).min(last);
    let (low, high) = (sorted[before], sorted[(before + 1).min(last)]);
    let part = place - place.floor();
    match high - low {
        _ if part == 0.0 || low == high => low,
        step if !step.is_finite() => low * (1.0 - part) + high * part,
        step if part < 0.5 => low + step * part,
        step => high - step * (1.0 - part),
    }
}

fn same(actual: f64, expected: f64) -> bool {
    actual.to_bits() == expected.to_bits() || (actual.is_nan() && expected.is_nan())
}

fn check(reduced: &Reduced, pixels: &[Pixels], words: &str) {
    for (statistic, values) in STATISTICS.iter().zip(&reduced.values) {
        let Values::Floats(values) = values else { panic!("order statistics are floats") };
        assert_eq!(values.len(), pixels.len(), "{words}");
        for (value, pixels) in values.iter().zip(pixels) {
            let expected = expected(*statistic, pixels);
            assert!(same(*value, expected), "{words} {statistic:?}: {value} {expected}");
        }
    }
}

fn check_along_axes(picture: &Picture, image: &Image, section: &Section) {
    let rank = picture.axes.len();
    for axes in combinations(rank) {
        let (remaining_axes, pixels) = outputs(picture, section, &marks(&axes, rank), |_| true);
        for limits in limits() {
            let result = image.order_within(&STATISTICS, &axes, section, None, &limits, &ONE);
            let (reduced, _) = result.unwrap();
            assert_eq!(reduced.axes, remaining_axes);
            check(&reduced, &pixels, &format!("{axes:?} {limits:?}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn order_statistics_along_any_axes(picture in pictures(true)) {
        let image = picture.image();
        check_along_axes(&picture, &image, &picture.section(&image));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn passes_by_other_processes_select_the_same(picture in pictures(true), parts in 1_u64..5) {
        let image = picture.image();
        let section = picture.section(&image);
        let axes: Vec<usize> = (0..picture.axes.len()).collect();
        let (_, pixels) = outputs(&picture, &section, &marks(&axes, axes.len()), |_| true);
        let cut = section_parts(&image, &section, parts);
        let run = |pass: &RankPass| {
            let sent = RankPass::from_words(&pass.to_words()).unwrap();
            let of_part = |part: &Section| {
                let (counts, _) = image.count_ranks(&sent, part, None, &ONE)?;
                Ok(RankCounts::from_words(pass, &counts.to_words()).unwrap())
            };
            cut.iter().map(of_part).collect()
        };
        for limits in limits() {
            let elsewhere = (cut.len() as u64, &run as &RunPass<'_>);
            let result = image.order_elsewhere(&STATISTICS, &section, None, &limits, elsewhere, &ONE);
            for (statistic, value) in STATISTICS.iter().zip(result.unwrap().0) {
                let expected = expected(*statistic, &pixels[0]);
                prop_assert!(same(value, expected), "{statistic:?} {limits:?}: {value} {expected}");
            }
        }
    }

    #[test]
    fn words_of_no_pass_are_refused(words in prop::collection::vec(prop_oneof![0_u64..4, any::<u64>()], 0..30)) {
        if let Some(pass) = RankPass::from_words(&words) {
            prop_assert_eq!(pass.to_words()[2..].to_vec(), words[2..].to_vec());
            let _ = RankCounts::from_words(&pass, &words);
        }
    }
}

/// Cuts a section along its last axis.
fn section_parts(image: &Image, section: &Section, parts: u64) -> Vec<Section> {
    let last = section.ranges().len() - 1;
    let AxisRange { first, count, step } = section.ranges()[last];
    let border = |part: u64| count * part / parts;
    let part = |at: u64| {
        let mut ranges = section.ranges().to_vec();
        let first = first.wrapping_add_signed(step * border(at) as i64);
        ranges[last] = AxisRange { first, count: border(at + 1) - border(at), step };
        image.section(&ranges).unwrap()
    };
    (0..parts).filter(|&at| border(at) < border(at + 1)).map(part).collect()
}

#[test]
fn order_statistics_of_regions_are_those_of_their_pixels() {
    let mut numbers = Numbers(3);
    let data: Vec<u8> =
        (0..7 * 6 * 4).flat_map(|_| (numbers.below(90) as f32).to_be_bytes()).collect();
    let image = image(fits(-32, &[7, 6, 4], &[], &data));
    let regions = [
        Region::circle(3.0, 2.0, 2.0).unwrap(),
        Region::rectangle(40.0, 40.0, 1.0, 1.0, 0.0).unwrap(),
        Region::rectangle(0.0, 0.0, 3.0, 3.0, 0.0).unwrap(),
    ];
    let pixels = |inside: &dyn Fn(i64, i64) -> bool, planes: std::ops::Range<usize>| -> Pixels {
        let value = |at: usize| f32::from_be_bytes(data[4 * at..4 * at + 4].try_into().unwrap());
        let of_plane = planes.flat_map(|z| (0..42).map(move |at| (z, at)));
        let inside = of_plane.filter(|(_, at)| inside((at % 7) as i64, (at / 7) as i64));
        inside.map(|(z, at)| (0, Some(value(z * 42 + at).into()))).collect()
    };
    let circle = |x: i64, y: i64| (x - 3).pow(2) + (y - 2).pow(2) <= 4;
    let corner = |x: i64, y: i64| x <= 1 && y <= 1;
    let shapes: [&dyn Fn(i64, i64) -> bool; 3] = [&circle, &|_, _| false, &corner];
    for limits in limits() {
        let run = |axes: &[usize]| {
            let whole = image.whole();
            let regions = Some(&regions[..]);
            image.order_within(&STATISTICS, axes, &whole, regions, &limits, &ONE).unwrap().0
        };
        let all = run(&[0, 1, 2]);
        assert_eq!(all.axes, [3]);
        check(&all, &shapes.map(|shape| pixels(shape, 0..4)), "all planes");
        let each = run(&[0, 1]);
        assert_eq!(each.axes, [4, 3]);
        let planes = shapes.iter().flat_map(|shape| (0..4).map(|z| pixels(shape, z..z + 1)));
        check(&each, &planes.collect::<Vec<_>>(), "each plane");
    }
}

/// Returns pixels that are hard for a selection: nearly all are equal, or they differ only in their last
/// bits.
fn hard_pixels(kind: u64, index: u64) -> f64 {
    let random = Numbers(index * 31 + kind).next();
    match kind {
        0 => 7.25,
        1 if random.is_multiple_of(50) => (random >> 40) as f64,
        1 => 0.0,
        2 => f64::from_bits(1e6f64.to_bits() + (random >> 60)),
        3 if random.is_multiple_of(3) => f64::INFINITY,
        3 if random.is_multiple_of(2) => f64::NEG_INFINITY,
        3 => -0.0,
        4 if random.is_multiple_of(2) => f64::NAN,
        4 => (random as i64) as f64,
        // Ascending, so that the positions of a sample differ as much as possible.
        5 => index as f64,
        _ => f64::from_bits(random),
    }
}

#[test]
fn hard_pixels_are_found_whatever_the_limits_and_the_threads() {
    let count = 150_000;
    for kind in 0..7 {
        let pixels: Vec<f64> = (0..count).map(|index| hard_pixels(kind, index)).collect();
        let data: Vec<u8> = pixels.iter().flat_map(|x| x.to_be_bytes()).collect();
        let image = image(fits(-64, &[500, count / 500], &[], &data));
        let model: Pixels = pixels.iter().map(|&x| (0, (!x.is_nan()).then_some(x))).collect();
        let usual = OrderLimits::default();
        let choices = [
            usual,
            OrderLimits { gathered: 0, ..usual },
            OrderLimits { gathered: 0, kept: 10_000, sample: 9_000, bins: 64, ..usual },
            OrderLimits {
                gathered: 0,
                kept: 100,
                sample: 9_000,
                bins: 1 << 10,
                ranges: 3,
                ..usual
            },
            OrderLimits { gathered: 0, kept: 10_000, sample: 5, bins: 1 << 14, ..usual },
        ];
        for limits in choices {
            for threads in [1, 3] {
                let options = ONE.threads(threads);
                let whole = image.whole();
                let result =
                    image.order_within(&STATISTICS, &[1, 0], &whole, None, &limits, &options);
                check(
                    &result.unwrap().0,
                    std::slice::from_ref(&model),
                    &format!("{kind} {limits:?}"),
                );
            }
        }
    }
}

#[test]
fn many_percentiles_take_a_few_passes_and_are_exact() {
    let count = 150_000;
    let percents: Vec<f64> = (0..=900).map(|n| f64::from(n) / 9.0).collect();
    let statistics: Vec<OrderStatistic> =
        percents.iter().map(|&percent| OrderStatistic::Percentile(percent)).collect();
    for kind in 0..7 {
        let pixels: Vec<f64> = (0..count).map(|index| hard_pixels(kind, index)).collect();
        let data: Vec<u8> = pixels.iter().flat_map(|x| x.to_be_bytes()).collect();
        let image = image(fits(-64, &[500, count / 500], &[], &data));
        let pixels = sorted(pixels.iter().copied().filter(|x| !x.is_nan()));
        let usual = OrderLimits { gathered: 0, ..OrderLimits::default() };
        for (kept, sample) in [(count, 9_000), (10_000, 9_000), (1_000, 9_000), (10_000, 5)] {
            let limits = OrderLimits { kept, sample, ..usual };
            let whole = image.whole();
            let result = image.order_within(&statistics, &[0, 1], &whole, None, &limits, &ONE);
            let (reduced, report) = result.unwrap();
            assert!(report.bytes <= 8 * data.len() as u64, "{kind} {kept}: {}", report.bytes);
            for (&percent, values) in percents.iter().zip(&reduced.values) {
                let Values::Floats(values) = values else { panic!("floats") };
                let expected = percentile(&pixels, percent);
                assert!(same(values[0], expected), "{kind} {percent}: {} {expected}", values[0]);
            }
        }
    }
}

#[test]
fn tiles_of_any_size_give_the_same_along_every_axis() {
    let axes = [650, 3, 90];
    let mut numbers = Numbers(9);
    let data: Vec<u8> = (0..axes.iter().product::<u64>())
        .flat_map(|_| (numbers.next() as i16).to_be_bytes())
        .collect();
    let image = image(fits(16, &axes, &["BLANK   =                   77".to_owned()], &data));
    for reduced in [vec![0], vec![1], vec![2], vec![0, 2], vec![1, 2], vec![0, 1]] {
        let run = |gathered, tile_bytes, threads, buffering| {
            let limits = OrderLimits { gathered, tile_bytes, ..OrderLimits::default() };
            let options = RunOptions::default().threads(threads).buffering(buffering);
            let whole = image.whole();
            let result = image.order_within(&STATISTICS, &reduced, &whole, None, &limits, &options);
            format!("{:?}", result.unwrap().0)
        };
        let streamed = run(0, 1, 1, Buffering::Single);
        for tile_bytes in [1, 5000, 300_000, 128 << 20] {
            for (threads, buffering) in [(1, Buffering::Auto), (3, Buffering::Double)] {
                assert_eq!(run(1 << 20, tile_bytes, threads, buffering), streamed, "{reduced:?}");
            }
        }
    }
}

#[test]
fn nothing_is_asked_or_nothing_is_there() {
    let picture = image(fits(-32, &[3, 2], &[], &[0; 24]));
    for axes in [vec![0], vec![0, 1]] {
        let (reduced, _) = picture.order(&[], &axes, &picture.whole(), None, &ONE).unwrap();
        assert!(reduced.values.is_empty());
    }
    let empty = image(fits(-32, &[3, 0, 2], &[], &[]));
    for (axes, outputs) in [(vec![0], 0), (vec![1], 6), (vec![0, 1, 2], 1)] {
        let result = empty.order(&[OrderStatistic::Median], &axes, &empty.whole(), None, &ONE);
        let Values::Floats(values) = &result.unwrap().0.values[0] else { panic!("floats") };
        assert!(values.len() == outputs && values.iter().all(|x| x.is_nan()));
    }
}

#[test]
fn progress_rises_to_the_end_and_can_stop_the_work() {
    let data = vec![0; 8 << 16];
    let image = image(fits(-64, &[1 << 16], &[], &data));
    let limits = OrderLimits { gathered: 0, kept: 9, sample: 5, ..OrderLimits::default() };
    let reports = std::sync::Mutex::new(Vec::new());
    let progress = |done, total| {
        reports.lock().unwrap().push((done, total));
    };
    let options = ONE.progress(Some(&progress));
    let statistics = [OrderStatistic::Mad];
    let whole = image.whole();
    image.order_within(&statistics, &[0], &whole, None, &limits, &options).unwrap();
    let reports = reports.into_inner().unwrap();
    assert!(reports.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
    assert!(reports.last().is_some_and(|(done, total)| done <= total && *done >= 8 << 16));
    let job = Job::on(&Executor::new(1));
    let stop = |_, _| job.token().cancel();
    let options = ONE.progress(Some(&stop)).job(Some(&job));
    let error = image.order(&statistics, &[0], &whole, None, &options).unwrap_err();
    assert_eq!(error.code(), "io-cancelled");
}
