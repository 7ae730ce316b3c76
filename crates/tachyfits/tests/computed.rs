//! Compares computed images with slow twins, and written images with the images read.

#![expect(clippy::disallowed_methods, reason = "tests read files directly")]

mod common;

use common::{Numbers, fits, image};
use proptest::prelude::*;
use tachyfits::io::Buffering;
use tachyfits::smooth::{Blanks, Edge, Smoothing};
use tachyfits::{
    Array, AxisRange, Error, FitsFile, Header, Image, NewPixels, OpenOptions, OutputPixels,
    PixelType, ReadAs, RunOptions, WriteOptions,
};

const EDGES: [Edge; 5] = [Edge::Repeat, Edge::Pair, Edge::Zero, Edge::Blank, Edge::Keep];
const BLANKS: [Blanks; 3] = [Blanks::Renormalise, Blanks::Propagate, Blanks::Zero];

fn values(image: &Image) -> Vec<f64> {
    let mut out = vec![0.0; image.whole().pixels() as usize];
    let pixels = OutputPixels::Float64(&mut out);
    image.read(&image.whole(), ReadAs::Float64, pixels, &RunOptions::default()).unwrap();
    out
}

/// Returns the value at an index beyond the ends of a line, by the definition of each edge.
fn beyond(line: &[f64], index: i64, edge: Edge) -> f64 {
    let last = line.len() as i64 - 1;
    match edge {
        Edge::Zero => 0.0,
        Edge::Blank => f64::NAN,
        Edge::Repeat | Edge::Keep => line[index.clamp(0, last) as usize],
        Edge::Pair => {
            let mut at = index;
            // Reflected at either end until the index is inside.
            while !(0..=last).contains(&at) {
                at = if last == 0 {
                    0
                } else if at < 0 {
                    -at
                } else {
                    2 * last - at
                };
            }
            line[at as usize]
        }
        other => panic!("no expected value of {other:?}"),
    }
}

/// Computes one result of a smoothing from its definition.
fn smoothed(line: &[f64], index: usize, smoothing: &Smoothing) -> f64 {
    let half = smoothing.weights.len() as i64 / 2;
    let at = |offset: i64| {
        let index = index as i64 + offset;
        match usize::try_from(index).ok().and_then(|index| line.get(index)) {
            Some(&pixel) => pixel,
            None => beyond(line, index, smoothing.edge),
        }
    };
    let near_end = (index as i64) < half || index as i64 + half >= line.len() as i64;
    if smoothing.edge == Edge::Keep && near_end {
        return line[index];
    }
    if line[index].is_nan() && !smoothing.fill {
        return f64::NAN;
    }
    let (mut sum, mut good, mut all, mut any) = (0.0, 0.0, 0.0, false);
    for (offset, &weight) in (-half..).zip(&smoothing.weights) {
        let pixel = at(offset);
        all += weight;
        if !pixel.is_nan() {
            (sum, good, any) = (sum + weight * pixel, good + weight, true);
        } else if smoothing.blanks == Blanks::Propagate {
            return f64::NAN;
        }
    }
    match smoothing.blanks {
        Blanks::Renormalise if !any || good == 0.0 => f64::NAN,
        Blanks::Renormalise if good != all => sum * (all / good),
        _ => sum,
    }
}

/// Computes all results of a smoothing.
fn twin(pixels: &[f64], axes: &[u64], smoothing: &Smoothing) -> Vec<f64> {
    let inner: usize = axes[..smoothing.axis].iter().product::<u64>() as usize;
    let length = axes[smoothing.axis] as usize;
    let every = smoothing.every as usize;
    let mut out = Vec::new();
    for part in pixels.chunks_exact(inner * length) {
        for index in (0..length).step_by(every) {
            for at in 0..inner {
                let line: Vec<f64> = (0..length).map(|row| part[row * inner + at]).collect();
                out.push(smoothed(&line, index, smoothing));
            }
        }
    }
    out
}

/// Returns an image of pseudo-random numbers, some of them undefined.
fn sample_image(bitpix: i64, axes: &[u64], scaled: bool, seed: u64) -> Image {
    let mut numbers = Numbers(seed);
    let pixels = axes.iter().product::<u64>();
    let mut data = Vec::new();
    for _ in 0..pixels {
        let small = numbers.below(200) as i64 - if bitpix == 8 { 0 } else { 100 };
        let undefined = numbers.one_in(6);
        match bitpix {
            -32 => {
                let value = if undefined { f32::NAN } else { small as f32 * 0.37 };
                data.extend(value.to_be_bytes());
            }
            -64 => {
                let value = if undefined { f64::NAN } else { small as f64 * 0.37 };
                data.extend(value.to_be_bytes());
            }
            bits => {
                let value = if undefined { 7 } else { small };
                data.extend(&value.to_be_bytes()[8 - bits as usize / 8..]);
            }
        }
    }
    let mut cards = Vec::new();
    if bitpix > 0 {
        cards.push(format!("BLANK   = {:>20}", 7));
    }
    if scaled {
        cards.push(format!("BSCALE  = {:>20}", "0.3"));
        cards.push(format!("BZERO   = {:>20}", "11.0"));
    }
    image(fits(bitpix, axes, &cards, &data))
}

fn any_image() -> impl Strategy<Value = Image> {
    let bitpix = prop::sample::select(vec![8i64, 16, 32, 64, -32, -64]);
    let axes = prop::collection::vec(1u64..8, 1..5);
    (bitpix, axes, any::<bool>(), any::<u64>())
        .prop_map(|(bitpix, axes, scaled, seed)| sample_image(bitpix, &axes, scaled, seed))
}

fn any_smoothing(axes: usize) -> impl Strategy<Value = Smoothing> {
    let weights = prop::collection::vec(-1.0f64..3.0, 0..4).prop_map(|half| {
        let mirrored = half.iter().rev().skip(1).copied();
        if half.is_empty() { vec![1.0] } else { half.iter().copied().chain(mirrored).collect() }
    });
    let edge = prop::sample::select(EDGES.to_vec());
    let blanks = prop::sample::select(BLANKS.to_vec());
    (0..axes, weights, edge, blanks, any::<bool>(), 1u64..4).prop_map(
        |(axis, weights, edge, blanks, fill, every)| {
            Smoothing::new(axis, weights).edge(edge).blanks(blanks).fill(fill).every(every)
        },
    )
}

fn image_and_smoothing() -> impl Strategy<Value = (Image, Smoothing)> {
    any_image().prop_flat_map(|image| {
        let axes = image.axes().len();
        (Just(image), any_smoothing(axes))
    })
}

/// Checks that values are equal up to the last bit of f32 or f64, or both undefined.
fn assert_close(actual: &[f64], expected: &[f64], narrow: bool) -> Result<(), TestCaseError> {
    prop_assert_eq!(actual.len(), expected.len());
    for (index, (&actual, &expected)) in actual.iter().zip(expected).enumerate() {
        let expected = if narrow { f64::from(expected as f32) } else { expected };
        let unit = if narrow { f64::from(f32::EPSILON) } else { 4.0 * f64::EPSILON };
        let same = actual.is_nan() && expected.is_nan();
        let near = (actual - expected).abs() <= unit * expected.abs().max(1e-3);
        prop_assert!(same || near, "pixel {index}: {actual} instead of {expected}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn smoothing_is_what_its_definition_says((image, smoothing) in image_and_smoothing()) {
        let smooth = image.smooth(&smoothing).unwrap().image(0).unwrap();
        let expected = twin(&values(&image), image.axes(), &smoothing);
        let narrow = smooth.pixel_type() == PixelType::F32;
        assert_close(&values(&smooth), &expected, narrow)?;
    }

    #[test]
    fn smoothing_what_was_smoothed_is_one_pass(
        (image, first) in image_and_smoothing(), weights in prop::sample::select(vec![1usize, 3, 5])
    ) {
        let first = first.every(1);
        let second = Smoothing::new(image.axes().len() - 1, vec![1.0 / weights as f64; weights]);
        let once = image.smooth(&first).unwrap().image(0).unwrap();
        let lazily = once.smooth(&second).unwrap().image(0).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("once.fits");
        once.write(&path, &WriteOptions::default(), &RunOptions::default()).unwrap();
        let first_image = FitsFile::open(&path, &OpenOptions::default()).unwrap().image(0).unwrap();
        let stepwise = first_image.smooth(&second).unwrap().image(0).unwrap();
        let bits = |image: &Image| values(image).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&lazily), bits(&stepwise));
    }

    #[test]
    fn sections_and_sums_of_what_is_computed_are_those_of_what_is_written(
        (image, smoothing) in image_and_smoothing(), step in prop::sample::select(vec![-2i64, -1, 1, 2])
    ) {
        let smooth = image.smooth(&smoothing).unwrap().image(0).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("smooth.fits");
        smooth.write(&path, &WriteOptions::default(), &RunOptions::default()).unwrap();
        let copy = FitsFile::open(&path, &OpenOptions::default()).unwrap().image(0).unwrap();
        let ranges: Vec<AxisRange> = smooth.axes().iter().map(|&length| {
            let count = length.div_ceil(step.unsigned_abs());
            AxisRange { first: if step < 0 { length - 1 } else { 0 }, count, step }
        }).collect();
        let part = |image: &Image| {
            let section = image.section(&ranges).unwrap();
            let mut out = vec![0.0; section.pixels() as usize];
            let pixels = OutputPixels::Float64(&mut out);
            image.read(&section, ReadAs::Float64, pixels, &RunOptions::default()).unwrap();
            let (stats, _) = image.stats(&section, None, &RunOptions::default()).unwrap();
            (out.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), stats[0].sum.value().to_bits())
        };
        prop_assert_eq!(part(&smooth), part(&copy));
    }

    #[test]
    fn written_images_equal_their_input(image in any_image(), checksum in any::<bool>()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("copy.fits");
        let options = WriteOptions::default().checksum(checksum);
        image.write(&path, &options, &RunOptions::default()).unwrap();
        let copy = FitsFile::open(&path, &OpenOptions::default().strict(true));
        let copy = copy.unwrap().image(0).unwrap();
        prop_assert_eq!(raw(&copy), raw(&image));
        let bits = |image: &Image| values(image).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&copy), bits(&image));
    }
}

/// Returns the stored bytes, in native byte order.
fn raw(image: &Image) -> Vec<u8> {
    let length = image.whole().pixels() as usize * image.stored_type().bytes();
    match image.stored_type() {
        PixelType::F32 | PixelType::F64 => {
            values(image).iter().flat_map(|x| x.to_ne_bytes()).collect()
        }
        _ => {
            let mut out = vec![0; length];
            let pixels = OutputPixels::Bytes(&mut out);
            image.read(&image.whole(), ReadAs::Raw, pixels, &RunOptions::default()).unwrap();
            out
        }
    }
}

#[test]
fn a_larger_image_has_the_same_bits_for_any_threads_and_buffering() {
    let image = sample_image(-32, &[300, 170, 90], false, 5);
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source.fits");
    image.write(&source, &WriteOptions::default(), &RunOptions::default()).unwrap();
    let image = FitsFile::open(&source, &OpenOptions::default()).unwrap().image(0).unwrap();
    for axis in 0..3 {
        let smoothing = Smoothing::new(axis, vec![0.1, 0.2, 0.4, 0.2, 0.1]);
        let smooth = image.smooth(&smoothing).unwrap().image(0).unwrap();
        let expected = twin(&values(&image), image.axes(), &smoothing);
        let mut first: Option<Vec<u8>> = None;
        for (threads, buffering) in [
            (1, Buffering::Single),
            (2, Buffering::Single),
            (3, Buffering::Double),
            (7, Buffering::Auto),
        ] {
            let path = directory.path().join(format!("{axis}-{threads}.fits"));
            let run = RunOptions::default().threads(threads).buffering(buffering);
            let options = WriteOptions::default().checksum(true);
            smooth.write(&path, &options, &run).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            match &first {
                None => {
                    let copy = FitsFile::open(&path, &OpenOptions::default()).unwrap();
                    assert_close(&values(&copy.image(0).unwrap()), &expected, true).unwrap();
                    first = Some(bytes);
                }
                Some(first) => assert!(*first == bytes, "{threads} threads, {buffering:?}"),
            }
        }
    }
}

#[test]
fn scaled_integers_are_rounded_to_the_nearest_and_refused_where_they_do_not_fit() {
    let pixels = [1.0f64, 2.24, 2.26, -7.0, f64::NAN];
    let bytes: Vec<u8> = pixels.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let array = Array { bytes: &bytes, pixel: PixelType::F64, axes: &[5] };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("scaled.fits");
    let write = |pixel, scaling, blank| {
        let pixels = Some(NewPixels::new(pixel).scaling(scaling).blank(blank));
        let options = WriteOptions::default().pixels(pixels).overwrite(true);
        array.write(&path, &Header::new(), &options, &RunOptions::default())
    };
    write(PixelType::I16, Some((0.5, 0.0)), Some(-32_768)).unwrap();
    let image = FitsFile::open(&path, &OpenOptions::default()).unwrap().image(0).unwrap();
    let actual = values(&image);
    assert_eq!(actual[..4], [1.0, 2.0, 2.5, -7.0]);
    assert!(actual[4].is_nan());
    let before = std::fs::read(&path).unwrap();
    for (pixel, scaling, blank, code) in [
        (PixelType::I16, Some((0.5, 0.0)), None, "value-range"),
        (PixelType::I16, Some((0.0001, 0.0)), Some(0), "value-range"),
        (PixelType::I16, Some((0.0, 0.0)), None, "new-pixels"),
        (PixelType::U8, None, Some(256), "new-pixels"),
        (PixelType::F32, Some((2.0, 0.0)), None, "new-pixels"),
        (PixelType::U16, Some((2.0, 0.0)), None, "new-pixels"),
    ] {
        assert_eq!(write(pixel, scaling, blank).unwrap_err().code(), code);
        assert!(std::fs::read(&path).unwrap() == before);
    }
    let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "no temporary file is left");
}

#[test]
fn a_computed_image_is_made_without_a_pixel() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cube.fits");
    let bytes = fits(8, &[100, 100], &[], &[7; 10_000]);
    std::fs::write(&path, &bytes).unwrap();
    let image = FitsFile::open(&path, &OpenOptions::default()).unwrap().image(0).unwrap();
    // Truncation of the file is detected only when it is read.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(2880).unwrap();
    let transposed = image.reorder(&[1, 0]).unwrap().image(0).unwrap();
    assert_eq!(transposed.axes(), [100, 100]);
    let mut pixels = vec![0.0; 10_000];
    let out = OutputPixels::Float64(&mut pixels);
    let result = transposed.read(&transposed.whole(), ReadAs::Float64, out, &RunOptions::default());
    assert!(matches!(result, Err(Error::Io(_))), "{result:?}");
}
