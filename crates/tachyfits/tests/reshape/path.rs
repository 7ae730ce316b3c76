//! Cuts along a path.

use proptest::prelude::*;
use tachyfits::path_cut::PathCut;
use tachyfits::{Image, Reason};

use crate::made::{STORED, first, sample_image, values};

fn cut(points: &[[f64; 2]], width: u32, spacing: f64) -> PathCut {
    PathCut::new(points.to_vec()).width(width).spacing(spacing)
}

/// The twin: computes the mean of the plane's pixels, weighted by their distance to each sample.
fn expected(image: &Image, cut: &PathCut) -> Vec<f64> {
    let (nx, ny) = (image.axes()[0] as usize, image.axes()[1] as usize);
    let pixels = values(image);
    let mut results = Vec::new();
    for plane in pixels.chunks(nx * ny) {
        for place in places(cut) {
            let (mut sum, mut good) = (0.0, 0.0);
            for [x, y] in place {
                let near = |middle: f64, length: usize| {
                    (middle.floor().max(0.0) as usize..length)
                        .take_while(move |&at| at as f64 <= middle + 1.0)
                };
                let around =
                    near(y, ny).flat_map(|row| near(x, nx).map(move |column| row * nx + column));
                for (number, value) in around.map(|number| (number, plane[number])) {
                    if value.is_nan() {
                        continue;
                    }
                    let tent = |a: f64, b: usize| (1.0 - (a - b as f64).abs()).max(0.0);
                    let weight = tent(x, number % nx) * tent(y, number / nx);
                    sum += weight * value;
                    good += weight;
                }
            }
            results.push(sum / good);
        }
    }
    results
}

/// Returns the samples across the path at each offset.
fn places(cut: &PathCut) -> Vec<Vec<[f64; 2]>> {
    let mut all = Vec::new();
    let length: f64 =
        cut.points.windows(2).map(|p| (p[1][0] - p[0][0]).hypot(p[1][1] - p[0][1])).sum();
    let mut number = 0;
    while number as f64 * cut.spacing <= length + 1e-9 {
        let mut remaining = number as f64 * cut.spacing;
        let mut segment = None;
        for pair in cut.points.windows(2) {
            let (dx, dy) = (pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]);
            let side = dx.hypot(dy);
            if side == 0.0 {
                continue;
            }
            segment = Some((pair[0], dx / side, dy / side, remaining));
            if remaining < side {
                break;
            }
            remaining -= side;
        }
        let (from, dx, dy, along) = segment.unwrap();
        let middle = (f64::from(cut.width) - 1.0) / 2.0;
        let across = (0..cut.width).map(|n| {
            let off = f64::from(n) - middle;
            [from[0] + along * dx - off * dy, from[1] + along * dy + off * dx]
        });
        all.push(across.collect());
        number += 1;
    }
    all
}

fn check(image: &Image, cut: &PathCut) -> Result<(), TestCaseError> {
    let near = |value: f64, axis: usize| value > -1.0 && value < image.axes()[axis] as f64;
    if !places(cut).iter().flatten().any(|&[x, y]| near(x, 0) && near(y, 1)) {
        let error = image.cut_along(cut).unwrap_err();
        prop_assert_eq!(error.code(), Reason::Path.code());
        prop_assert!(error.to_string().contains("no sample"), "{}", error);
        return Ok(());
    }
    let cut_image = first(&image.cut_along(cut).unwrap());
    let twin = expected(image, cut);
    let actual = values(&cut_image);
    prop_assert_eq!(actual.len(), twin.len());
    for (number, (actual, expected)) in actual.iter().zip(twin).enumerate() {
        let close = (actual - expected).abs() <= 1e-6 * (1.0 + expected.abs());
        prop_assert!(
            close || actual.is_nan() && expected.is_nan(),
            "{}: {} {}",
            number,
            actual,
            expected
        );
    }
    Ok(())
}

/// Points at multiples of a quarter pixel, so that both implementations agree on pixels that just touch a
/// sample.
fn point() -> impl Strategy<Value = [f64; 2]> {
    (-8i32..44, -8i32..44).prop_map(|(x, y)| [f64::from(x) / 4.0, f64::from(y) / 4.0])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn samples_are_weighted_means_of_the_pixels_around_them(
        axes in prop::collection::vec(1u64..10, 2..=5),
        // Along the axes every weight is exact, and so is the set of pixels without weight.
        from in point(),
        steps in prop::collection::vec((any::<bool>(), -12i32..12), 1..4),
        width in 1u32..5,
        spacing in prop::sample::select(&[0.25, 0.5, 1.0, 1.75]),
        stored in 0..STORED.len(),
        seed in any::<u64>(),
    ) {
        let mut points = vec![from];
        for (along_x, step) in steps {
            let mut point = points[points.len() - 1];
            point[usize::from(!along_x)] += f64::from(step) / 4.0;
            points.push(point);
        }
        let cut = cut(&points, width, spacing);
        let image = sample_image(stored, &axes, seed);
        if points.iter().all(|point| *point == from) {
            prop_assert_eq!(image.cut_along(&cut).unwrap_err().code(), Reason::Path.code());
            return Ok(());
        }
        check(&image, &cut)?;
    }

    #[test]
    fn slanted_paths_are_sampled_alike(
        axes in prop::collection::vec(1u64..10, 2..=4),
        points in prop::collection::vec(point(), 2..5),
        width in 1u32..5,
        seed in any::<u64>(),
    ) {
        // 16-bit integers have no undefined pixels.
        let (image, cut) = (sample_image(2, &axes, seed), cut(&points, width, 0.7));
        prop_assume!(points.iter().any(|point| *point != points[0]));
        // A sample at the very edge of the image has a weight that may round to 0.
        let edge = |place: &[f64; 2]| {
            place.iter().zip(&axes).any(|(value, &length)| {
                let near = |edge: f64| (value - edge).abs() < 1e-6;
                near(-1.0) || near(length as f64)
            })
        };
        prop_assume!(!places(&cut).iter().flatten().any(edge));
        check(&image, &cut)?;
    }
}

#[test]
fn long_paths_through_many_planes() {
    let image = sample_image(6, &[701, 91, 37], 3);
    check(&image, &cut(&[[0.0, 3.0], [700.0, 3.0]], 3, 1.0)).unwrap();
    let turned = sample_image(2, &[91, 701, 5], 3);
    check(&turned, &cut(&[[3.3, 0.1], [80.2, 650.9], [20.0, 100.0]], 4, 1.0)).unwrap();
}

#[test]
fn the_axes_are_offset_and_those_after_the_plane() {
    let image = sample_image(6, &[9, 8, 7, 2], 3);
    let path = cut(&[[0.0, 0.0], [3.0, 4.0]], 1, 0.5).unit(Some(("deg".to_owned(), 0.25)));
    let file = image.cut_along(&path).unwrap();
    let cut_image = first(&file);
    assert_eq!(cut_image.axes(), [11, 7, 2]);
    let offset = cut_image.linear_axis(0).unwrap();
    assert_eq!((offset.ctype.as_str(), offset.cunit.as_str()), ("OFFSET", "deg"));
    assert_eq!((offset.value(1.0), offset.value(11.0)), (0.0, 1.25));
    let cards = cut_image.hdu().header.cards();
    let history: String = cards[cards.len() - 2..].iter().map(|card| card.comment()).collect();
    let expected =
        "tachyfits: cut along (0, 0) (3, 4) (0-based pixels), width 1, of HDU 0 (0-based)";
    assert_eq!(history, expected);
}

#[test]
fn an_invalid_path_is_refused() {
    let image = sample_image(6, &[9, 8, 7], 3);
    let line = [[0.0, 0.0], [3.0, 4.0]];
    let unit = cut(&line, 1, 1.0).unit(Some(("deg".to_owned(), f64::NAN)));
    let invalid = [
        cut(&[], 1, 1.0),
        cut(&[[1.0, 1.0]], 1, 1.0),
        cut(&[[1.0, 1.0], [1.0, 1.0]], 1, 1.0),
        cut(&[[1.0, f64::NAN], [1.0, 2.0]], 1, 1.0),
        cut(&[[1.0, 1e9], [1.0, 2.0]], 1, 1.0),
        cut(&line, 0, 1.0),
        cut(&line, 1025, 1.0),
        cut(&line, 1, 0.0),
        cut(&line, 1, 1e-9),
        cut(&line, 1, f64::INFINITY),
        unit,
    ];
    for cut in invalid {
        assert_eq!(image.cut_along(&cut).unwrap_err().code(), Reason::Path.code(), "{cut:?}");
    }
    let row = sample_image(6, &[9], 3);
    assert_eq!(row.cut_along(&cut(&line, 1, 1.0)).unwrap_err().code(), Reason::Path.code());
}
