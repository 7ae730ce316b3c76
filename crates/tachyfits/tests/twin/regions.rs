//! Regions: spans compared with the definition, the definition compared with exact geometry, and results
//! within regions.

use proptest::prelude::*;
use tachyfits::region::{Part, RowSpan};
use tachyfits::{Region, Statistic};

use crate::common::Numbers;
use crate::model::Expected;
use crate::picture::{Picture, pictures, walk};
use crate::reductions::{ONE, any_histogram, check_histogram, combinations, marks, outputs};

/// Returns a number near an image of this size: a pixel, a border between pixels, any number, rarely a
/// distant or tiny one.
fn coordinate(numbers: &mut Numbers, size: u64) -> f64 {
    let near = numbers.below(2 * size + 4) as f64 / 2.0 - 1.0;
    match numbers.below(16) {
        0 => [1e12, -1e12, 3e5, -7e8][numbers.below(4) as usize],
        1 => [1e-300, -1e-17, 1e-80, 0.1][numbers.below(4) as usize],
        2..6 => near + numbers.below(1000) as f64 / 1000.0,
        _ => near,
    }
}

/// Returns a shape, or a combination of several.
fn any_region(numbers: &mut Numbers, width: u64, height: u64) -> Region {
    if !numbers.one_in(6) {
        return any_shape(numbers, width, height);
    }
    let parts = (0..1 + numbers.below(4)).map(|_| {
        let part = if numbers.one_in(3) { Part::Exclude } else { Part::Include };
        (part, any_shape(numbers, width, height))
    });
    Region::combined(parts.collect())
}

fn any_shape(numbers: &mut Numbers, width: u64, height: u64) -> Region {
    if numbers.one_in(8) {
        return any_spans(numbers, width, height);
    }
    let (x, y) = (coordinate(numbers, width), coordinate(numbers, height));
    let reach = width.max(height);
    let mut size = || if numbers.one_in(6) { 0.0 } else { coordinate(numbers, reach).abs() };
    let (a, b) = (size(), size());
    let angles = [0.0, 90.0, -90.0, 30.0, 45.0, 1e-15, 123.4, 720.0, -1e-20];
    let angle = angles[numbers.below(9) as usize];
    match numbers.below(5) {
        0 => Region::rectangle(x, y, a, b, angle),
        1 => Region::circle(x, y, a),
        2 | 3 => Region::ellipse(x, y, a, b, angle),
        _ => Region::polygon(&any_corners(numbers, width, height)),
    }
    .unwrap()
}

/// Returns random spans, some beyond the image, some adjacent.
fn any_spans(numbers: &mut Numbers, width: u64, height: u64) -> Region {
    let mut spans = Vec::new();
    for y in 0..height + 2 {
        let mut first = numbers.below(width + 3);
        while numbers.one_in(2) {
            let last = first + numbers.below(6);
            spans.push(RowSpan { y, first, last });
            first = last + 1 + numbers.below(3);
        }
    }
    Region::of_spans(spans).unwrap()
}

/// Returns random corners, some duplicate, some collinear: polygons that cross themselves and fold back.
fn any_corners(numbers: &mut Numbers, width: u64, height: u64) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for _ in 0..3 + numbers.below(6) {
        let corner = (coordinate(numbers, width), coordinate(numbers, height));
        let last = corners.last().copied().unwrap_or(corner);
        corners.push(match numbers.below(5) {
            0 => last,
            1 => (corner.0, last.1),
            2 => (last.0, corner.1),
            _ => corner,
        });
    }
    corners
}

fn check_spans(region: &Region, width: u64, height: u64) {
    let mut expected: Vec<RowSpan> = Vec::new();
    for y in 0..height {
        for x in (0..width).filter(|&x| region.contains(x as f64, y as f64)) {
            match expected.last_mut() {
                Some(span) if span.y == y && span.last + 1 == x => span.last = x,
                _ => expected.push(RowSpan { y, first: x, last: x }),
            }
        }
    }
    assert_eq!(region.spans(width, height), expected, "{region:?} in {width} x {height}");
}

/// Applies the even-odd rule in integers, without rounding.
fn inside_exactly(corners: &[(i64, i64)], x: i64, y: i64) -> bool {
    let mut inside = false;
    for (index, &(x0, y0)) in corners.iter().enumerate() {
        let (x1, y1) = corners[(index + 1) % corners.len()];
        let turn = (x1 - x0) * (y - y0) - (x - x0) * (y1 - y0);
        let between = |a: i64, b: i64, at: i64| a.min(b) <= at && at <= a.max(b);
        if turn == 0 && between(x0, x1, x) && between(y0, y1, y) {
            return true;
        }
        // A ray to the right crosses an edge with exactly one end above it.
        if (y0 > y) != (y1 > y) && (turn < 0) == (y1 < y0) {
            inside = !inside;
        }
    }
    inside
}

fn some_regions(picture: &Picture) -> Vec<Region> {
    let mut numbers = Numbers(picture.seed ^ 2);
    let count = 1 + numbers.below(4);
    (0..count).map(|_| any_region(&mut numbers, picture.axes[0], picture.axes[1])).collect()
}

fn holds(picture: &Picture, region: &Region, pixel: u64) -> bool {
    let x = pixel % picture.axes[0];
    let y = pixel / picture.axes[0] % picture.axes[1];
    region.contains(x as f64, y as f64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn spans_are_the_pixels_that_a_region_contains(
        seed in any::<u64>(), width in 1u64..60, height in 1u64..40,
    ) {
        let mut numbers = Numbers(seed);
        for _ in 0..20 {
            check_spans(&any_region(&mut numbers, width, height), width, height);
        }
    }

    /// If a box is rotated by a tiny angle, a side follows a row, and rounding decides which pixels are
    /// inside.
    #[test]
    fn spans_of_shapes_that_are_hardly_turned(
        x in 0u64..120, y in 0u64..60, width in 0u64..80, height in 0u64..20, turn in 1f64..10.0,
    ) {
        let (x, y) = (x as f64 / 2.0, y as f64 / 2.0);
        let (width, height) = (width as f64, height as f64);
        for exponent in -17..-12 {
            let turn = turn * 10f64.powi(exponent);
            for angle in [turn, -turn, 90.0 + turn, 90.0 - turn, 180.0 + turn] {
                check_spans(&Region::rectangle(x, y, width, height, angle).unwrap(), 60, 40);
                check_spans(&Region::ellipse(x, y, width, height, angle).unwrap(), 60, 40);
                check_spans(&Region::ellipse(x, y, width, 0.0, angle).unwrap(), 60, 40);
            }
        }
    }

    #[test]
    fn polygons_of_many_corners_have_the_spans_of_their_pixels(
        seed in any::<u64>(), width in 1u64..40, height in 1u64..30, corners in 9u64..90,
    ) {
        let mut numbers = Numbers(seed);
        let mut all = any_corners(&mut numbers, width, height);
        while (all.len() as u64) < corners {
            all.extend(any_corners(&mut numbers, width, height));
        }
        check_spans(&Region::polygon(&all).unwrap(), width, height);
    }

    #[test]
    fn polygons_contain_what_exact_geometry_says(
        corners in prop::collection::vec((-3i64..12, -3i64..12), 3..9),
    ) {
        let floats: Vec<_> = corners.iter().map(|&(x, y)| (x as f64, y as f64)).collect();
        let region = Region::polygon(&floats).unwrap();
        for (x, y) in (-4..13).flat_map(|y| (-4..13).map(move |x| (x, y))) {
            let exact = inside_exactly(&corners, x, y);
            prop_assert_eq!(region.contains(x as f64, y as f64), exact, "({}, {})", x, y);
        }
    }

    #[test]
    fn boxes_have_as_many_pixels_as_their_size(
        x in -9i64..99, y in -9i64..99, width in 1u64..12, height in 1u64..12, turn in 0u64..4,
    ) {
        // Centres on pixels and between them.
        let (x, y) = (x as f64 / 2.0 + 20.0, y as f64 / 2.0 + 20.0);
        let angle = 90.0 * turn as f64;
        let region = Region::rectangle(x, y, width as f64, height as f64, angle).unwrap();
        let pixels: u64 = region.spans(200, 200).iter().map(|s| s.last - s.first + 1).sum();
        prop_assert_eq!(pixels, width * height);
    }

    #[test]
    fn ellipses_have_the_ends_of_their_axes(
        x in 0i64..99, y in 0i64..99, a in 1i64..9, tenths in 1i64..99, turn in 0u64..4,
    ) {
        let (x, y, a) = (x as f64, y as f64, a as f64);
        let region = Region::ellipse(x, y, a, tenths as f64 / 10.0, 90.0 * turn as f64).unwrap();
        let (dx, dy) = if turn % 2 == 0 { (a, 0.0) } else { (0.0, a) };
        prop_assert!(region.contains(x + dx, y + dy) && region.contains(x - dx, y - dy));
        prop_assert!(!region.contains(x + 1.01 * dx, y + 1.01 * dy));
    }

    #[test]
    fn ellipses_contain_what_exact_geometry_says(
        x in 0i64..9, y in 0i64..9, a in 1i64..9, b in 1i64..9,
    ) {
        let upright = Region::ellipse(x as f64, y as f64, a as f64, b as f64, 0.0).unwrap();
        let turned = Region::ellipse(x as f64, y as f64, b as f64, a as f64, 90.0).unwrap();
        for (i, j) in (0..9).flat_map(|j| (0..9).map(move |i| (i, j))) {
            let exact = ((i - x) * b).pow(2) + ((j - y) * a).pow(2) <= (a * b).pow(2);
            prop_assert_eq!(upright.contains(i as f64, j as f64), exact);
            prop_assert_eq!(turned.contains(i as f64, j as f64), exact);
        }
    }

    #[test]
    fn statistics_of_regions(picture in pictures(true)) {
        prop_assume!(picture.axes.len() >= 2);
        let (image, regions) = (picture.image(), some_regions(&picture));
        let section = picture.section(&image);
        let all = vec![true; picture.axes.len()];
        let (stats, _) = image.stats(&section, Some(&regions), &ONE).unwrap();
        prop_assert_eq!(stats.len(), regions.len());
        for (stats, region) in stats.iter().zip(&regions) {
            let (_, pixels) =
                outputs(&picture, &section, &all, |pixel| holds(&picture, region, pixel));
            Expected::of(&pixels[0]).check(stats);
            // A single region gives the same bits as among others.
            let (single, _) =
                image.stats(&section, Some(std::slice::from_ref(region)), &ONE).unwrap();
            prop_assert_eq!(format!("{:?}", single[0]), format!("{stats:?}"));
        }
    }

    #[test]
    fn reductions_of_regions(picture in pictures(true)) {
        prop_assume!(picture.axes.len() >= 2);
        let (image, regions) = (picture.image(), some_regions(&picture));
        let section = picture.section(&image);
        for beyond in combinations(picture.axes.len() - 2) {
            let axes: Vec<_> = beyond.iter().map(|axis| axis + 2).chain([1, 0]).collect();
            let marks = marks(&axes, picture.axes.len());
            for statistics in [Statistic::ALL, &[Statistic::SUM, Statistic::MEAN]] {
                let reduced = image.reduce(statistics, &axes, &section, Some(&regions), 1, &ONE);
                let (reduced, _) = reduced.unwrap();
                let mut first = 0;
                for region in &regions {
                    let (remaining_axes, pixels) =
                        outputs(&picture, &section, &marks, |pixel| holds(&picture, region, pixel));
                    prop_assert_eq!(&reduced.axes[..], [&remaining_axes[..], &[regions.len() as u64]].concat());
                    for (output, pixels) in pixels.iter().enumerate() {
                        let expected = Expected::of(pixels);
                        for (statistic, values) in statistics.iter().zip(&reduced.values) {
                            expected.check_output(*statistic, 1, values, first + output);
                        }
                    }
                    first += pixels.len();
                }
            }
        }
    }

    #[test]
    fn histograms_take_a_pixel_of_several_regions_once(picture in pictures(true)) {
        prop_assume!(picture.axes.len() >= 2);
        let (image, regions) = (picture.image(), some_regions(&picture));
        let section = picture.section(&image);
        let (range, bins) = any_histogram(&picture);
        let (histogram, _) =
            image.histogram(range, bins, &section, Some(&regions), &ONE).unwrap();
        let inside =
            |pixel: &u64| regions.iter().any(|region| holds(&picture, region, *pixel));
        let pixels = walk(&picture.axes, &section).into_iter().map(|(_, pixel)| pixel);
        check_histogram(&histogram, pixels.filter(inside).map(|pixel| picture.value(pixel)));
    }
}

#[test]
fn large_regions_are_found_without_looking_at_every_pixel() {
    // A loop over the single pixels of a row of 2^50 would not end.
    let width = 1 << 50;
    let spans = |region: Result<Region, _>| region.unwrap().spans(width, 1);
    let whole = |last| [RowSpan { y: 0, first: 0, last }];
    let most = Region::MOST;
    assert_eq!(spans(Region::rectangle(0.0, 0.0, most, 1.0, 0.0)), whole(499_999_999_999));
    assert_eq!(spans(Region::circle(0.0, 0.0, most)), whole(1_000_000_000_000));
    assert_eq!(spans(Region::ellipse(0.0, 0.0, most, 0.0, 0.0)), whole(1_000_000_000_000));
    let corners = [(-most, -1.0), (most, -1.0), (most, 1.0), (-most, 1.0)];
    assert_eq!(spans(Region::polygon(&corners)), whole(1_000_000_000_000));
}

#[test]
fn a_combination_is_taken_in_order() {
    let column = |x: f64| Region::rectangle(x, 0.0, 0.0, 9.0, 0.0).unwrap();
    let (added, removed) = (Part::Include, Part::Exclude);
    let rows = |parts: Vec<(Part, f64)>| {
        let parts = parts.into_iter().map(|(part, x)| (part, column(x))).collect();
        let spans = Region::combined(parts).spans(4, 1);
        spans.into_iter().map(|span| (span.first, span.last)).collect::<Vec<_>>()
    };
    assert_eq!(rows(vec![(added, 1.0), (added, 2.0)]), [(1, 2)]);
    assert_eq!(rows(vec![(added, 1.0), (removed, 1.0), (added, 1.0)]), [(1, 1)]);
    assert_eq!(rows(vec![(added, 1.0), (added, 2.0), (removed, 1.0)]), [(2, 2)]);
    assert_eq!(rows(vec![(removed, 1.0)]), [(0, 0), (2, 3)]);
    assert_eq!(rows(vec![]), []);
}

#[test]
fn spans_in_another_order_are_refused() {
    let span = |y, first, last| RowSpan { y, first, last };
    for spans in [
        vec![span(1, 0, 1), span(0, 0, 1)],
        vec![span(0, 0, 2), span(0, 2, 3)],
        vec![span(0, 3, 2)],
    ] {
        assert_eq!(Region::of_spans(spans).unwrap_err().code(), "region");
    }
}

#[test]
fn a_row_that_touches_a_large_ellipse_has_one_span() {
    // The sum of squares of such an ellipse rounds to one side of the border at one pixel and to the other
    // side at the next.
    let (width, height) = (60, 3);
    for (angle, semi_y) in [(0.0, 1e12), (0.0, 9e11), (30.0, 1e12), (45.0, 9e11), (123.4, 1e11)] {
        // The lowest point of the ellipse is in row 0.
        let (sin, cos) = f64::to_radians(angle).sin_cos();
        let reach = f64::hypot(1e12 * sin, semi_y * cos);
        let aside = sin * cos * (1e24 - semi_y * semi_y) / reach;
        let region = Region::ellipse(16.672 + aside, reach, 1e12, semi_y, angle).unwrap();
        check_spans(&region, width, height);
        let spans = region.spans(width, height);
        assert!(!spans.is_empty() && spans.len() <= height as usize, "{spans:?}");
    }
}
