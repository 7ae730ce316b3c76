//! Results have the same bits for any number of threads, storage, buffering and vector tier, on images large
//! enough for several tasks, several lines per row, several slabs and tiles.
//!
//! The tier is read once per process, so this program restarts itself for the digests of each tier.

#![allow(clippy::disallowed_methods, reason = "the test makes files of its own")]

mod common;

use std::fmt::{Debug, Write as _};
use std::path::Path;
use std::process::Command;

use common::{Numbers, fits};
use tachyfits::expression::{ExpressionInput, ExpressionPixels, InputValue};
use tachyfits::io::Buffering;
use tachyfits::statistics::{Coordinates, Reduced};
use tachyfits::{
    AxisRange, FitsFile, Image, OpenOptions, OutputPixels, ReadAs, Region, RunOptions, Section,
    Statistic, StorageKind, Tier, Values, evaluate,
};

/// Environment variable of child processes started for a tier: the file to process.
const CHILD: &str = "TACHYFITS_TEST_SAME_BITS";

const STORAGES: [StorageKind; 3] =
    [StorageKind::Positioned, StorageKind::Mapped, StorageKind::Memory];

/// BITPIX, axes and more cards. The first image has rows longer than a line, the second has planes of several
/// tiles, and enough planes for several slabs.
fn pictures() -> [(i64, [u64; 3], Vec<String>); 3] {
    let scaled = ["BSCALE  =                  0.1", "BZERO   =                 -7.5"];
    let scaled = [&scaled[..], &["BLANK   =                   77"]].concat();
    [
        (-32, [150_001, 1, 2], Vec::new()),
        (16, [67, 43, 70], scaled.iter().map(|&card| card.to_owned()).collect()),
        (-64, [17_000, 1, 18], Vec::new()),
    ]
}

fn data(bitpix: i64, count: u64) -> Vec<u8> {
    let mut numbers = Numbers(bitpix as u64);
    let mut data = Vec::new();
    for _ in 0..count {
        let random = numbers.next();
        let float = (random >> 32) as i32 as f64 / 65536.0;
        let float = if random.is_multiple_of(31) { f64::NAN } else { float };
        match bitpix {
            16 => data.extend(((random % 20_000) as i16 - 10_000).to_be_bytes()),
            -32 => data.extend((float as f32).to_be_bytes()),
            _ => data.extend((float * 1e-3 + 1e6).to_be_bytes()),
        }
    }
    data
}

/// Returns the FNV-1a hash of numbers.
fn digest(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().flat_map(u64::to_le_bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns the bits of a number, with one pattern for all NaN, whose sign and payload are arbitrary.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}

/// Returns the bits of a reduction.
fn bits_of(reduced: &Reduced) -> Vec<u64> {
    let values = reduced.values.iter().flat_map(|values| match values {
        Values::Integers(values) => values.iter().map(|&x| x as u64).collect::<Vec<u64>>(),
        Values::Floats(values) => values.iter().map(|&x| bits(x)).collect(),
    });
    reduced.axes.iter().copied().chain(values).collect()
}

/// Returns the text of states as numbers: Debug output distinguishes all numbers except NaN.
fn bits_of_text(states: &dyn Debug) -> Vec<u64> {
    format!("{states:?}").bytes().map(u64::from).collect()
}

/// Returns one line for each kind of result: a name and a digest of its bits.
fn results(image: &Image, options: &RunOptions<'_>) -> String {
    let mut lines = String::new();
    let mut line = |name: &str, bits: Vec<u64>| {
        writeln!(lines, "{name} {:016x}", digest(bits)).unwrap();
    };
    let axes = image.axes().to_vec();
    let part: Vec<_> = axes.iter().map(|&length| part_of(length)).collect();
    let sections = [("whole", image.whole()), ("part", image.section(&part).unwrap())];
    let (x, y) = (axes[0] as f64, axes[1] as f64);
    let regions = [
        Region::ellipse(x / 2.0, y / 2.0, x / 3.0, y / 4.0, 20.0).unwrap(),
        Region::rectangle(x / 2.0, y / 2.0, 2.0 * x, 2.0 * y, 0.0).unwrap(),
        Region::polygon(&[(0.0, 0.0), (x, y / 3.0), (x / 4.0, y)]).unwrap(),
    ];
    for (name, section) in &sections {
        let stats = image.stats(section, None, options).unwrap().0;
        line(&format!("stats {name}"), bits_of_text(&stats));
        let stats = image.stats(section, Some(&regions), options).unwrap().0;
        line(&format!("regions {name}"), bits_of_text(&stats));
        let total = image.total(section, options).unwrap().0;
        line(&format!("total {name}"), bits_of_text(&total));
        for reduced in [&[0][..], &[1], &[2], &[0, 1], &[1, 2], &[0, 2]] {
            let result = image.reduce(Statistic::ALL, reduced, section, None, 1, options);
            line(&format!("reduce {reduced:?} {name}"), bits_of(&result.unwrap().0));
        }
        let spectra = image.reduce(Statistic::ALL, &[0, 1], section, Some(&regions), 0, options);
        line(&format!("spectra {name}"), bits_of(&spectra.unwrap().0));
        for axis in [0, 2] {
            let count = section.ranges()[axis].count;
            let values: Vec<f64> = (0..count).map(|i| 1.42e9 - 1e4 * i as f64).collect();
            let widths: Vec<f64> = values.iter().map(|value| value * 1e-5).collect();
            let coordinates = Coordinates { values: &values, widths: &widths };
            let moments = image.moments(&[0, 1, 2], axis, coordinates, section, options).unwrap().0;
            let all = moments.into_iter().flatten().map(bits).collect();
            line(&format!("moments {axis} {name}"), all);
        }
        let histogram = image.histogram((-1e4, 1e4), 50, section, Some(&regions), options);
        line(&format!("histogram {name}"), histogram.unwrap().0.counts().collect());
        let mut pixels = vec![0.0f32; section.pixels() as usize];
        image.read(section, ReadAs::Float32, OutputPixels::Float32(&mut pixels), options).unwrap();
        line(&format!("pixels {name}"), pixels.into_iter().map(|x| bits(x.into())).collect());
    }
    line("expression", expression(image, options));
    lines
}

/// Returns the bits of an expression with each kind of operation, including NaN: it combines undefined pixels
/// of any sign.
fn expression(image: &Image, options: &RunOptions<'_>) -> Vec<u64> {
    let text = "where(a > m, sqrt(a) - -a, 0 / (a - a)) + clip(a // 3, -m, m) % 7 * exp(-a / 1e4)";
    let input = |name: &str, value| ExpressionInput { name: name.to_owned(), value };
    let inputs =
        [input("a", InputValue::Image(image.clone())), input("m", InputValue::Number(100.0))];
    let file = evaluate(text, &inputs, ExpressionPixels::Automatic, None).unwrap();
    let image = file.image(0).unwrap();
    let whole = image.whole();
    let mut pixels = vec![0.0; whole.pixels() as usize];
    image.read(&whole, ReadAs::Float64, OutputPixels::Float64(&mut pixels), options).unwrap();
    pixels.into_iter().map(f64::to_bits).collect()
}

/// Returns about every second pixel, backwards if the axis is short.
fn part_of(length: u64) -> AxisRange {
    match length {
        1 => AxisRange { first: 0, count: 1, step: 1 },
        2..100 => AxisRange { first: length - 1, count: length / 2, step: -2 },
        _ => AxisRange { first: 1, count: (length - 1) / 2, step: 2 },
    }
}

fn open(path: &Path, storage: StorageKind) -> Image {
    let options = OpenOptions::default().storage(storage);
    FitsFile::open(path, &options).unwrap().image(0).unwrap()
}

fn with_threads(threads: usize, buffering: Buffering) -> RunOptions<'static> {
    RunOptions::default().threads(threads).buffering(buffering)
}

/// Prints the results if this process was started for a tier; otherwise does nothing.
#[test]
fn results_for_the_tier_of_this_process() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let image = open(path.as_ref(), StorageKind::Positioned);
    print!("BEGIN\n{}END\n", results(&image, &with_threads(2, Buffering::Single)));
}

/// Returns the results of this program with a tier.
fn results_of_tier(path: &Path, tier: Tier) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "results_for_the_tier_of_this_process", "--nocapture"])
        .env("TACHYFITS_TIER", tier.name())
        .env(CHILD, path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{tier:?}: {text}");
    let begin = text.find("BEGIN\n").expect("the results begin") + "BEGIN\n".len();
    text[begin..text.find("END\n").expect("the results end")].to_owned()
}

fn same(results: &str, expected: &str, what: &str) {
    for (line, expected) in results.lines().zip(expected.lines()) {
        assert_eq!(line, expected, "{what}");
    }
    assert_eq!(results.lines().count(), expected.lines().count());
}

#[test]
fn bits_do_not_depend_on_how_they_were_computed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.fits");
    for (bitpix, axes, cards) in pictures() {
        let data = data(bitpix, axes.iter().product());
        std::fs::write(&path, fits(bitpix, &axes, &cards, &data)).unwrap();
        let image = open(&path, StorageKind::Positioned);
        let expected = results(&image, &with_threads(1, Buffering::Single));
        assert!(expected.lines().count() >= 28);
        for storage in STORAGES {
            let image = open(&path, storage);
            // Bytes in memory are lent instead of read, so buffering has no effect.
            let bufferings = match storage {
                StorageKind::Positioned => &[Buffering::Single, Buffering::Double][..],
                _ => &[Buffering::Auto],
            };
            for threads in [1, 2, 3, 8] {
                for &buffering in bufferings {
                    let what = format!("{axes:?} {storage:?} {threads} threads {buffering:?}");
                    same(&results(&image, &with_threads(threads, buffering)), &expected, &what);
                }
            }
        }
        for tier in Tier::available() {
            same(&results_of_tier(&path, tier), &expected, &format!("{axes:?} {tier:?}"));
        }
    }
}

/// Returns the section and the region of the same box; pixels are given as first and last.
fn box_of(image: &Image, x: (u64, u64), y: (u64, u64)) -> (Section, Region) {
    let range = |(first, last): (u64, u64)| AxisRange { first, count: last + 1 - first, step: 1 };
    let mut ranges: Vec<_> = vec![range(x), range(y)];
    ranges.extend(image.axes()[2..].iter().map(|&length| range((0, length - 1))));
    let middle = |(first, last): (u64, u64)| (first + last) as f64 / 2.0;
    let size = |(first, last): (u64, u64)| (last - first + 1) as f64;
    let region = Region::rectangle(middle(x), middle(y), size(x), size(y), 0.0).unwrap();
    (image.section(&ranges).unwrap(), region)
}

#[test]
fn a_box_has_the_same_bits_as_a_section_and_as_a_region() {
    let options = with_threads(2, Buffering::Single);
    for (bitpix, axes, cards) in pictures() {
        let data = data(bitpix, axes.iter().product());
        let image = common::image(fits(bitpix, &axes, &cards, &data));
        let (right, top) = (axes[0] - 1, axes[1] - 1);
        // A part, the whole plane, whole rows, a row, a column, a pixel.
        for (x, y) in [
            ((3, right - 5), (top / 3, top)),
            ((0, right), (0, top)),
            ((0, right), (top / 2, top)),
            ((1, right), (top, top)),
            ((7, 7), (0, top)),
            ((9, 9), (top, top)),
        ] {
            let (section, region) = box_of(&image, x, y);
            let region = std::slice::from_ref(&region);
            let whole = image.whole();
            let as_section = image.stats(&section, None, &options).unwrap().0[0];
            let as_region = image.stats(&whole, Some(region), &options).unwrap().0[0];
            let numbers = |stats: tachyfits::Stats| {
                let extremes =
                    [stats.min, stats.max].map(|extremum| extremum.map(|extremum| extremum.value));
                let (sum, center, squares) = (stats.sum, stats.center, stats.squares);
                format!("{:?}", (stats.count, stats.nan, sum, center, squares, extremes))
            };
            assert_eq!(numbers(as_section), numbers(as_region), "{axes:?} {x:?} {y:?}");
            let is_position = |statistic: &&Statistic| statistic.name().ends_with("_position");
            let every = Statistic::ALL.iter().filter(|statistic| !is_position(statistic));
            let every: Vec<Statistic> = every.copied().collect();
            for statistics in [&every[..], &[Statistic::SUM]] {
                let spectrum = |section, regions| {
                    let axes = [0, 1];
                    image.reduce(statistics, &axes, section, regions, 0, &options).unwrap().0.values
                };
                let (a, b) = (spectrum(&section, None), spectrum(&whole, Some(region)));
                assert_eq!(format!("{a:?}"), format!("{b:?}"), "{axes:?} {x:?} {y:?}");
            }
        }
    }
}
