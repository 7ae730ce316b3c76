//! Compares sums in parts with one sum over the ellipse.

use proptest::prelude::*;

use super::*;
use crate::file::OpenOptions;

const WIDTH: usize = 97;
const HEIGHT: usize = 61;

/// Returns the maximum difference of both sums, as a fraction of the largest pixel: below the precision of
/// the result type.
fn bound(precision: Precision) -> f64 {
    if precision == SINGLE { 2e-8 } else { 5e-14 }
}

fn ellipse(major: f64, minor: f64, angle: f64) -> PlaneKernel {
    let (sine, cosine) = angle.sin_cos();
    let (a, b) = (major * major, minor * minor);
    let xx = a * cosine * cosine + b * sine * sine;
    let yy = a * sine * sine + b * cosine * cosine;
    PlaneKernel { widths: [xx, (a - b) * sine * cosine, yy], scale: 1.0 }
}

/// Creates an image of doubles.
fn image(pixels: &[f64]) -> Image {
    let cards = [
        "SIMPLE  =                    T".to_owned(),
        "BITPIX  =                  -64".to_owned(),
        "NAXIS   =                    2".to_owned(),
        format!("NAXIS1  = {WIDTH:>20}"),
        format!("NAXIS2  = {HEIGHT:>20}"),
        "END".to_owned(),
    ];
    let mut bytes: Vec<u8> =
        cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    bytes.resize(2880, b' ');
    bytes.extend(pixels.iter().flat_map(|pixel| pixel.to_be_bytes()));
    bytes.resize(bytes.len().next_multiple_of(2880), 0);
    FitsFile::from_bytes("plane", bytes, &OpenOptions::default()).unwrap().image(0).unwrap()
}

/// Computes both sums for a window of the plane.
fn both(
    pixels: &[f64],
    window: &Window,
    smoothing: &BeamSmoothing,
    precision: Precision,
    parts: &Factors,
) -> [Vec<f64>; 2] {
    let image = image(pixels);
    let input = image.node().unwrap();
    let mut node = SmoothBeams::new(Arc::clone(&input), smoothing).unwrap();
    let kernel = smoothing.kernels[0];
    node.precision = precision;
    let (whole, of_parts) = (kernel.halves(precision.reach), parts.halves());
    node.halves = [0, 1].map(|axis: usize| whole[axis].max(of_parts[axis]));
    let (needed, places) = node.needed(window);
    let computed =
        Computed::new("plane".to_owned(), input, image.survivors(Change::Values).unwrap()).unwrap();
    computed
        .one_box(&needed, |feed| {
            let pixels = PlanePixels::new(&*node.input, &needed, feed)?;
            let padded = node.padded(&pixels, (0, places), feed)?;
            let mut raster = || Raster::new(places[0].results, places[1].results, feed);
            let mut sums = [raster()?, raster()?];
            node.sum_whole(&kernel, &padded, feed, &mut sums[0])?;
            let first = places.map(|places| places.result as i64);
            node.sum_parts((&kernel, parts), &padded, first, feed, &mut sums[1])?;
            Ok(sums.map(|grid| grid.values))
        })
        .unwrap()
}

fn window(first: [u64; 2], count: [u64; 2]) -> Window {
    Window { first: first.to_vec(), count: count.to_vec() }
}

/// Returns random pixels. Some are undefined, in one block or anywhere; one may be infinite.
fn pixels(holes: u64, infinite: bool, seed: u64) -> Vec<f64> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let mut pixels: Vec<f64> = (0..WIDTH * HEIGHT)
        .map(|at| {
            let value = next() as f64 / (1u64 << 53) as f64;
            let undefined = match holes {
                0 => false,
                1 => at % WIDTH < WIDTH / 2,
                holes => next() % holes == 0,
            };
            if undefined { f64::NAN } else { value }
        })
        .collect();
    if infinite {
        let at = next() as usize % pixels.len();
        pixels[at] = f64::INFINITY;
    }
    pixels
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn sums_in_parts_differ_by_what_is_cut_off(
        (major, ratio, angle) in (2.0..40.0f64, 0.15..1.0f64, 0.0..3.2f64),
        precision in prop::sample::select(vec![SINGLE, DOUBLE]),
        holes in prop::sample::select(vec![0u64, 1, 2, 40]), infinite in prop::bool::weighted(0.2),
        seed in any::<u64>(),
        edge in prop::sample::select(vec![Edge::Repeat, Edge::Pair, Edge::Zero, Edge::Blank]),
        blanks in prop::sample::select(vec![Blanks::Renormalise, Blanks::Propagate, Blanks::Zero]),
        fill in any::<bool>()
    ) {
        let kernel = ellipse(major, major * ratio, angle);
        let Some(parts) = parts_of(&kernel, precision) else { return Ok(()) };
        let smoothing = BeamSmoothing { axes: vec![], kernels: vec![kernel], edge, blanks, fill };
        let pixels = pixels(holes, infinite, seed);
        let all = window([0, 0], [WIDTH as u64, HEIGHT as u64]);
        let [whole, in_parts] = both(&pixels, &all, &smoothing, precision, &parts);
        // Renormalising multiplies the error of both sums.
        let most = bound(precision) * if holes > 0 || edge == Edge::Blank { 2.0 / LEAST_DEFINED } else { 1.0 };
        for (at, (&whole, &part)) in whole.iter().zip(&in_parts).enumerate() {
            let same = whole.to_bits() == part.to_bits() || (whole.is_nan() && part.is_nan());
            prop_assert!(same || (whole - part).abs() <= most, "{at}: {part} instead of {whole}");
        }
        // A window of the results has the same bits.
        let [_, of_part] = both(&pixels, &window([13, 7], [50, 31]), &smoothing, precision, &parts);
        for (at, part) in of_part.iter().enumerate() {
            let expected = in_parts[(7 + at / 50) * WIDTH + 13 + at % 50];
            prop_assert_eq!(expected.to_bits(), part.to_bits());
        }
    }
}

#[test]
fn wide_kernels_are_summed_in_parts() {
    for (major, minor, precision) in
        [(8.0, 5.0, SINGLE), (20.0, 20.0, DOUBLE), (60.0, 30.0, SINGLE)]
    {
        assert!(parts_of(&ellipse(major, minor, 0.6), precision).is_some(), "{major} x {minor}");
    }
    assert_eq!(parts_of(&ellipse(9.0, 1.0, 0.6), SINGLE), None);
}
