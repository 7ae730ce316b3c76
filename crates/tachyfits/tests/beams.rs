//! Compares smoothing of planes with elliptical Gaussians with the definition, pixel by pixel.

mod common;

use std::collections::BTreeMap;

use common::{Numbers, fits, image};
use proptest::prelude::*;
use tachyfits::smooth::{BeamSmoothing, Blanks, Edge, PlaneKernel};
use tachyfits::{AxisRange, Error, Image, OutputPixels, ReadAs, Reason, RunOptions};

const EDGES: [Edge; 5] = [Edge::Repeat, Edge::Pair, Edge::Zero, Edge::Blank, Edge::Keep];
const BLANKS: [Blanks; 3] = [Blanks::Renormalise, Blanks::Propagate, Blanks::Zero];

/// Returns the kernel of an ellipse with these axes, at an angle from x.
fn ellipse(major: f64, minor: f64, angle: f64, scale: f64) -> PlaneKernel {
    let (sine, cosine) = angle.sin_cos();
    let (a, b) = (major * major, minor * minor);
    let xx = a * cosine * cosine + b * sine * sine;
    let yy = a * sine * sine + b * cosine * cosine;
    PlaneKernel { widths: [xx, (a - b) * sine * cosine, yy], scale }
}

/// Returns the pixel at an index of an axis, possibly beyond its ends: `Some(None)` for zero, `None` for
/// blank.
fn place(index: i64, length: i64, edge: Edge) -> Option<Option<usize>> {
    let last = length - 1;
    match edge {
        _ if (0..=last).contains(&index) => Some(Some(index as usize)),
        Edge::Zero => Some(None),
        Edge::Blank => None,
        Edge::Repeat | Edge::Keep => Some(Some(index.clamp(0, last) as usize)),
        Edge::Pair if last == 0 => Some(Some(0)),
        Edge::Pair if index < 0 => place(-index, length, edge),
        Edge::Pair => place(2 * last - index, length, edge),
        other => panic!("no expected value of {other:?}"),
    }
}

/// Returns the widths along the axes of the ellipse, squared, and the angle of the major axis.
fn axes_of(kernel: &PlaneKernel) -> (f64, f64, f64) {
    let [xx, xy, yy] = kernel.widths;
    let half = (((xx - yy) / 2.0).powi(2) + xy * xy).sqrt();
    let (major, minor) = ((xx + yy) / 2.0 + half, (xx + yy) / 2.0 - half);
    (major, if minor > 1e-12 * major { minor } else { 0.0 }, 0.5 * (2.0 * xy).atan2(xx - yy))
}

/// Truncation of kernels of float64 results, in standard deviations.
const CUT: f64 = 8.0;

/// Returns the half-width of a kernel along an axis with this squared width.
fn reach(square: f64, kernel: &PlaneKernel) -> i64 {
    let extra = if axes_of(kernel).1 < 4.0 { 3 } else { 0 };
    let sigmas = CUT * (square / (8.0 * 2.0f64.ln())).sqrt();
    if square > 0.0 { sigmas.floor() as i64 + extra } else { 0 }
}

/// Returns the weights of a kernel by row and column: a Gaussian at the pixels, or polynomials between them
/// if it is narrow.
fn weights(kernel: &PlaneKernel) -> BTreeMap<(i64, i64), f64> {
    let [xx, xy, yy] = kernel.widths;
    let (rows, columns) = (reach(yy, kernel), reach(xx, kernel));
    let (major, minor, angle) = axes_of(kernel);
    let mut grid = BTreeMap::new();
    if minor >= 4.0 {
        for (y, x) in (-rows..=rows).flat_map(|y| (-columns..=columns).map(move |x| (y, x))) {
            let (dx, dy) = (x as f64, y as f64);
            let square = yy * dx * dx - 2.0 * xy * dx * dy + xx * dy * dy;
            // In standard deviations.
            let sigmas = square / (xx * yy - xy * xy) * 8.0 * 2.0f64.ln();
            if sigmas <= CUT * CUT {
                grid.insert((y, x), (-0.5 * sigmas).exp());
            }
        }
        return grid;
    }
    let points = |square: f64| -> Vec<(f64, f64)> {
        let sigma = (square / (8.0 * 2.0f64.ln())).sqrt();
        let step = (sigma / 2.0).min(0.5);
        let last = if sigma > 0.0 { (CUT * sigma / step).floor() as i64 } else { 0 };
        let at = |number: i64| number as f64 * step;
        let weight = |at: f64| if sigma > 0.0 { (-0.5 * (at / sigma).powi(2)).exp() } else { 1.0 };
        (-last..=last).map(|number| (at(number), weight(at(number)))).collect()
    };
    // The polynomial that is 1 at one of the six pixels and 0 at the others.
    let basis = |place: f64, pixel: i64| -> f64 {
        let first = place.floor() as i64 - 2;
        (first..first + 6)
            .filter(|&other| other != pixel)
            .map(|other| (place - other as f64) / (pixel - other) as f64)
            .product()
    };
    for (u, of_u) in points(major) {
        for (v, of_v) in points(minor) {
            let (x, y) = (u * angle.cos() - v * angle.sin(), u * angle.sin() + v * angle.cos());
            for row in (0..6).map(|next| y.floor() as i64 - 2 + next) {
                for column in (0..6).map(|next| x.floor() as i64 - 2 + next) {
                    if row.abs() <= rows && column.abs() <= columns {
                        let weight = of_u * of_v * basis(y, row) * basis(x, column);
                        *grid.entry((row, column)).or_insert(0.0) += weight;
                    }
                }
            }
        }
    }
    grid.retain(|_, weight| *weight != 0.0);
    grid
}

/// Computes one result; `plane` has `width` pixels per row, `weights` are the weights of the kernel.
fn result(
    (plane, width): (&[f64], usize),
    at: usize,
    of: &BeamSmoothing,
    kernel: &PlaneKernel,
    weights: &BTreeMap<(i64, i64), f64>,
) -> f64 {
    let [xx, _, yy] = kernel.widths;
    let (column, row) = ((at % width) as i64, (at / width) as i64);
    let (width, height) = (width as i64, (plane.len() / width) as i64);
    let reach = |square: f64| reach(square, kernel);
    let near = |at: i64, half: i64, length: i64| at < half || at + half >= length;
    let near_end = near(column, reach(xx), width) || near(row, reach(yy), height);
    let pixel = plane[at];
    if (of.edge == Edge::Keep && near_end) || (pixel.is_nan() && !of.fill) {
        return pixel * kernel.scale;
    }
    let (mut sum, mut good, mut all, mut undefined) = (0.0, 0.0, 0.0, false);
    for (&(dy, dx), &weight) in weights {
        all += weight;
        let pixel = match (place(row + dy, height, of.edge), place(column + dx, width, of.edge)) {
            (None, _) | (Some(Some(_)), None) => f64::NAN,
            (Some(None), _) | (_, Some(None)) => 0.0,
            (Some(Some(row)), Some(Some(column))) => plane[row * width as usize + column],
        };
        match pixel.is_nan() {
            true => undefined = true,
            false => (sum, good) = (sum + weight * pixel, good + weight),
        }
    }
    kernel.scale
        * match of.blanks {
            Blanks::Propagate if undefined => f64::NAN,
            Blanks::Renormalise => sum / good,
            _ => sum / all,
        }
}

fn values(image: &Image, ranges: &[AxisRange]) -> Vec<f64> {
    let section = image.section(ranges).unwrap();
    let mut out = vec![0.0; section.pixels() as usize];
    let pixels = OutputPixels::Float64(&mut out);
    image.read(&section, ReadAs::Float64, pixels, &RunOptions::default()).unwrap();
    out
}

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

fn whole(axes: &[u64]) -> Vec<AxisRange> {
    axes.iter().map(|&count| AxisRange { first: 0, count, step: 1 }).collect()
}

fn kernels() -> impl Strategy<Value = PlaneKernel> {
    let scale = prop::sample::select(vec![1.0, 0.3]);
    let round = (0.0..8.0f64, Just(1.0), Just(0.0));
    let line = (0.5..8.0f64, Just(0.0), 0.0..3.2f64);
    let any = (0.5..8.0f64, 0.2..1.0f64, 0.0..3.2f64);
    (prop_oneof![any, round, line], scale)
        .prop_map(|((major, ratio, angle), scale)| ellipse(major, major * ratio, angle, scale))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn each_plane_is_smoothed_with_its_own_ellipse(
        (width, height) in (1u64..50, 1u64..25), (channels, stokes) in (1u64..4, 1u64..3),
        varying in prop::sample::select(vec![vec![], vec![2], vec![3], vec![2, 3]]),
        all in prop::collection::vec(kernels(), 6),
        holes in prop::sample::select(vec![0u64, 3, 40]), seed in any::<u64>(),
        edge in prop::sample::select(EDGES.to_vec()),
        blanks in prop::sample::select(BLANKS.to_vec()), fill in any::<bool>(),
        parts in prop::collection::vec(0.0..1.0f64, 4)
    ) {
        let axes = [width, height, channels, stokes];
        let count = varying.iter().map(|&axis: &usize| axes[axis]).product::<u64>() as usize;
        let kernels = all[..count].to_vec();
        let smoothing = BeamSmoothing::new(varying.clone(), kernels).edge(edge).blanks(blanks).fill(fill);
        let image = planes(&axes, holes, seed);
        let smooth = image.smooth_beams(&smoothing).unwrap().image(0).unwrap();
        let pixels = values(&image, &whole(&axes));
        let mut part = whole(&axes);
        for (axis, range) in part.iter_mut().take(2).enumerate() {
            range.first = (range.count as f64 * parts[axis]) as u64;
            range.count = ((range.count - range.first) as f64 * parts[axis + 2]).ceil() as u64;
        }
        for ranges in [whole(&axes), part] {
            let actual = values(&smooth, &ranges);
            let mut next = 0;
            for plane in 0..channels * stokes {
                let at = [0, 0, plane % channels, plane / channels];
                let mut kernel = (0, 1);
                for &axis in &varying {
                    kernel = (kernel.0 + at[axis] * kernel.1, kernel.1 * axes[axis]);
                }
                let kernel = &smoothing.kernels[kernel.0 as usize];
                let weights = weights(kernel);
                let plane = &pixels[(plane * width * height) as usize..][..(width * height) as usize];
                for row in ranges[1].first..ranges[1].first + ranges[1].count {
                    for column in ranges[0].first..ranges[0].first + ranges[0].count {
                        let at = (row * width + column) as usize;
                        let plane = (plane, width as usize);
                        let expected = result(plane, at, &smoothing, kernel, &weights);
                        let close = (actual[next] - expected).abs() <= 1e-10 * expected.abs().max(1.0);
                        let same = close || (actual[next].is_nan() && expected.is_nan());
                        prop_assert!(same, "{column} {row}: {} instead of {expected}", actual[next]);
                        next += 1;
                    }
                }
            }
            prop_assert_eq!(next, actual.len());
        }
    }
}

#[test]
fn the_sum_stays_and_squared_widths_add_up() {
    let shapes =
        [(9.0, 5.0, 0.5), (9.0, 0.0, 0.5), (12.0, 0.3, 2.0), (1.5, 0.7, 1.0), (7.0, 0.0, 0.0)];
    for (major, minor, angle) in shapes {
        check_moments(ellipse(major, minor, angle, 1.0));
    }
}

fn check_moments(kernel: PlaneKernel) {
    let (width, height) = (121usize, 121usize);
    let mut pixels = vec![0.0f64; width * height];
    pixels[60 * width + 60] = 1.0;
    let data: Vec<u8> = pixels.iter().flat_map(|x| x.to_be_bytes()).collect();
    let point = image(fits(-64, &[121, 121], &[], &data));
    let smoothing =
        BeamSmoothing::new(vec![], vec![kernel]).edge(Edge::Zero).blanks(Blanks::Renormalise);
    let smooth = point.smooth_beams(&smoothing).unwrap().image(0).unwrap();
    let actual = values(&smooth, &whole(&[121, 121]));
    let moment = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        let place = |at: usize| ((at % width) as f64 - 60.0, (at / width) as f64 - 60.0);
        actual.iter().enumerate().map(|(at, x)| x * of(place(at).0, place(at).1)).sum()
    };
    assert!((moment(&|_, _| 1.0) - 1.0).abs() < 1e-12);
    let squares = [moment(&|x, _| x * x), moment(&|x, y| x * y), moment(&|_, y| y * y)];
    for (actual, expected) in squares.iter().zip(kernel.widths) {
        let actual = actual * 8.0 * 2.0f64.ln();
        assert!((actual - expected).abs() < 1e-4 * kernel.widths[0], "{actual} for {expected}");
    }
}

#[test]
fn kernels_end_where_the_type_of_the_results_hides_the_rest() {
    let sigma = (9.0 / (8.0 * 2.0f64.ln())).sqrt();
    for (bitpix, cut) in [(-32, 6.0), (-64, CUT)] {
        let data: Vec<u8> = (0..41)
            .flat_map(|at| match (bitpix, f64::from(u8::from(at == 20))) {
                (-32, value) => (value as f32).to_be_bytes().to_vec(),
                (_, value) => value.to_be_bytes().to_vec(),
            })
            .collect();
        let point = image(fits(bitpix, &[41, 1], &[], &data));
        let smoothing = BeamSmoothing::new(vec![], vec![ellipse(3.0, 3.0, 0.0, 1.0)])
            .edge(Edge::Zero)
            .blanks(Blanks::Zero);
        let smooth = point.smooth_beams(&smoothing).unwrap().image(0).unwrap();
        let results = values(&smooth, &whole(&[41, 1]));
        let reached = results.iter().filter(|value| **value != 0.0).count();
        assert_eq!(reached, 2 * (cut * sigma) as usize + 1, "{bitpix}");
    }
}

#[test]
fn kernels_that_fit_no_plane_are_refused() {
    let cube = planes(&[3, 2, 4], 0, 1);
    let round = ellipse(2.0, 2.0, 0.0, 1.0);
    let smoothing = |axes: &[usize], kernels: &[PlaneKernel]| {
        BeamSmoothing::new(axes.to_vec(), kernels.to_vec())
            .edge(Edge::Repeat)
            .blanks(Blanks::Renormalise)
    };
    let reason = |smoothing: BeamSmoothing| match cube.smooth_beams(&smoothing) {
        Err(Error::Refused(refusal)) => Some(refusal.reason),
        _ => None,
    };
    let wrong = PlaneKernel { widths: [1.0, 2.0, 1.0], scale: 1.0 };
    let wide = ellipse(1000.0, 1000.0, 0.0, 1.0);
    for invalid in [
        smoothing(&[], &[]),
        smoothing(&[2], &[round; 3]),
        smoothing(&[0], &[round; 3]),
        smoothing(&[], &[wrong]),
        smoothing(&[], &[wide]),
        smoothing(&[], &[PlaneKernel { scale: f64::INFINITY, ..round }]),
    ] {
        assert_eq!(reason(invalid), Some(Reason::Smoothing));
    }
    assert_eq!(reason(smoothing(&[7], &[round; 3])), Some(Reason::NoSuchAxis));
    assert_eq!(reason(smoothing(&[2], &[round; 4])), None);
}
