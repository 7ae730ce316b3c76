//! Compares smoothing of planes with its definition, pixel by pixel.

mod common;

use common::{Numbers, fits, image};
use proptest::prelude::*;
use tachyfits::smooth::{Blanks, Edge, PlaneSmoothing};
use tachyfits::{AxisRange, Image, OutputPixels, ReadAs, RunOptions};

const EDGES: [Edge; 5] = [Edge::Repeat, Edge::Pair, Edge::Zero, Edge::Blank, Edge::Keep];
const BLANKS: [Blanks; 3] = [Blanks::Renormalise, Blanks::Propagate, Blanks::Zero];

/// Neighbour of a pixel along an axis.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Pixel(usize),
    Zero,
    Blank,
}

fn place(index: i64, length: usize, edge: Edge) -> Place {
    let last = length as i64 - 1;
    match edge {
        _ if (0..=last).contains(&index) => Place::Pixel(index as usize),
        Edge::Zero => Place::Zero,
        Edge::Blank => Place::Blank,
        Edge::Repeat | Edge::Keep => Place::Pixel(index.clamp(0, last) as usize),
        Edge::Pair if last == 0 => Place::Pixel(0),
        Edge::Pair if index < 0 => place(-index, length, edge),
        Edge::Pair => place(2 * last - index, length, edge),
        other => panic!("no expected value of {other:?}"),
    }
}

/// Returns the weighted sum about an index; undefined terms are ignored.
fn sum(
    weights: &[f64],
    index: usize,
    length: usize,
    edge: Edge,
    value: impl Fn(Place) -> Option<f64>,
) -> f64 {
    let half = weights.len() as i64 / 2;
    (-half..).zip(weights).fold(-0.0, |sum, (offset, weight)| {
        match value(place(index as i64 + offset, length, edge)) {
            Some(value) => sum + weight * value,
            None => sum,
        }
    })
}

/// Computes one result; `plane` has `width` pixels per row.
fn result(
    (plane, number): (&[f64], usize),
    width: usize,
    at: usize,
    smoothing: &PlaneSmoothing,
) -> f64 {
    let PlaneSmoothing { x: wx, y: wy, edge, blanks, fill, scales, .. } = smoothing;
    let scale = scales[number % scales.len()];
    let (column, row, height) = (at % width, at / width, plane.len() / width);
    let near = |at: usize, half: usize, length: usize| at < half || at + half >= length;
    let near_end = near(column, wx.len() / 2, width) || near(row, wy.len() / 2, height);
    let pixel = plane[at];
    if (*edge == Edge::Keep && near_end) || (pixel.is_nan() && !fill) {
        return pixel * scale;
    }
    let over_plane = |value: &dyn Fn(f64) -> Option<f64>, beyond: f64| {
        let over_row = |row: usize| {
            sum(wx, column, width, *edge, |place| match place {
                Place::Pixel(column) => value(plane[row * width + column]),
                Place::Zero => Some(beyond),
                Place::Blank => None,
            })
        };
        sum(wy, row, height, *edge, |place| match place {
            Place::Pixel(row) => Some(over_row(row)),
            Place::Zero => Some(sum(wx, 0, 1, Edge::Repeat, |_| Some(beyond))),
            Place::Blank => None,
        })
    };
    let defined = |value: f64| (!value.is_nan()).then_some(value);
    let sum_of_pixels = over_plane(&defined, 0.0);
    let good = over_plane(&|value| defined(value).map(|_| 1.0), 1.0);
    let all = sum(wy, 0, 1, Edge::Repeat, |_| Some(sum(wx, 0, 1, Edge::Repeat, |_| Some(1.0))));
    let near_undefined = || {
        let places = |weights: &[f64], index: usize, length: usize| {
            let half = weights.len() as i64 / 2;
            (-half..=half)
                .map(|offset| place(index as i64 + offset, length, *edge))
                .collect::<Vec<_>>()
        };
        let (columns, rows) = (places(wx, column, width), places(wy, row, height));
        columns.contains(&Place::Blank)
            || rows.iter().any(|&row| match row {
                Place::Pixel(row) => columns.iter().any(|&column| match column {
                    Place::Pixel(column) => plane[row * width + column].is_nan(),
                    _ => false,
                }),
                Place::Zero => false,
                Place::Blank => true,
            })
    };
    scale
        * match blanks {
            Blanks::Propagate if near_undefined() => f64::NAN,
            Blanks::Renormalise if good == 0.0 => f64::NAN,
            Blanks::Renormalise if good != all => sum_of_pixels * (all / good),
            _ => sum_of_pixels,
        }
}

fn values(image: &Image, ranges: &[AxisRange]) -> Vec<f64> {
    let section = image.section(ranges).unwrap();
    let mut out = vec![0.0; section.pixels() as usize];
    let pixels = OutputPixels::Float64(&mut out);
    image.read(&section, ReadAs::Float64, pixels, &RunOptions::default()).unwrap();
    out
}

/// Returns planes of doubles; one in `holes` of the pixels is undefined, or none for 0.
fn planes(axes: &[u64], holes: u64, seed: u64) -> Image {
    let mut numbers = Numbers(seed);
    let mut data = Vec::new();
    for _ in 0..axes.iter().product::<u64>() {
        let value = numbers.below(2000) as f64 * 0.37 - 300.0;
        let undefined = holes > 0 && numbers.below(holes) == 0;
        data.extend((if undefined { f64::NAN } else { value }).to_be_bytes());
    }
    image(fits(-64, axes, &[], &data))
}

fn weights() -> impl Strategy<Value = Vec<f64>> {
    let of = |least: f64| {
        (0usize..9).prop_flat_map(move |half| prop::collection::vec(least..2.0f64, 2 * half + 1))
    };
    prop_oneof![of(0.0), of(-0.5), Just(vec![1.0])]
}

fn smoothings() -> impl Strategy<Value = PlaneSmoothing> {
    let edge = prop::sample::select(EDGES.to_vec());
    let blanks = prop::sample::select(BLANKS.to_vec());
    let scales =
        prop::sample::select(vec![vec![1.0], vec![0.3], vec![1.0, 0.3], vec![0.3, f64::NAN]]);
    (weights(), weights(), edge, blanks, any::<bool>(), scales).prop_map(
        |(x, y, edge, blanks, fill, scales)| {
            let axes = if scales.len() > 1 { vec![2] } else { vec![] };
            PlaneSmoothing::new(x, y).axes(axes).edge(edge).blanks(blanks).fill(fill).scales(scales)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn planes_are_smoothed_as_the_definition_says(
        (width, height, number) in (1u64..80, 1u64..30, 1u64..3),
        holes in prop::sample::select(vec![0u64, 3, 40, 1000]),
        seed in any::<u64>(), smoothing in smoothings(), parts in prop::collection::vec(0.0..1.0f64, 4)
    ) {
        let number = if smoothing.axes.is_empty() { number } else { 2 };
        let image = planes(&[width, height, number], holes, seed);
        let smooth = image.smooth_planes(&smoothing).unwrap().image(0).unwrap();
        // The whole image, and a part whose halo ends within the image.
        let whole: Vec<AxisRange> =
            [width, height, number].map(|count| AxisRange { first: 0, count, step: 1 }).to_vec();
        let mut part = whole.clone();
        for (axis, range) in part.iter_mut().take(2).enumerate() {
            range.first = (range.count as f64 * parts[axis]) as u64;
            range.count = ((range.count - range.first) as f64 * parts[axis + 2]).ceil() as u64;
        }
        let pixels = values(&image, &whole);
        for ranges in [whole, part] {
            let actual = values(&smooth, &ranges);
            let mut next = 0;
            for number in 0..number {
                let plane = &pixels[(number * width * height) as usize..][..(width * height) as usize];
                for row in ranges[1].first..ranges[1].first + ranges[1].count {
                    for column in ranges[0].first..ranges[0].first + ranges[0].count {
                        let at = (row * width + column) as usize;
                        let plane = (plane, number as usize);
                        let expected = result(plane, width as usize, at, &smoothing);
                        let same = actual[next] == expected || (actual[next].is_nan() && expected.is_nan());
                        prop_assert!(same, "{column} {row}: {} instead of {expected}", actual[next]);
                        next += 1;
                    }
                }
            }
            prop_assert_eq!(next, actual.len());
        }
    }
}
