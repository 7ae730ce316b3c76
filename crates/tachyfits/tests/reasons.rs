//! Provokes every reason for which the engine refuses a request, and checks the messages.

mod common;

use std::process::Command;

use common::{fits, image};
use tachyfits::error::{Refusal, error_codes};
use tachyfits::fit::Baseline;
use tachyfits::path_cut::PathCut;
use tachyfits::rebin::{BlockStatistic, Rebinning};
use tachyfits::region::Part;
use tachyfits::smooth::Smoothing;
use tachyfits::statistics::{Coordinates, OrderStatistic};
use tachyfits::table::{ColumnOutput, TextAs};
use tachyfits::tiled::TileCompression;
use tachyfits::{
    AxisRange, Error, FileWriter, FitsFile, Image, NewPixels, OpenOptions, OutputPixels, PixelType,
    ReadAs, Reason, Region, Rows, RunOptions, Statistic, Tier, WriteOptions,
};

/// Environment variable of child processes started with an unknown tier.
const CHILD: &str = "TACHYFITS_TEST_REASONS";

fn options() -> RunOptions<'static> {
    RunOptions::default()
}

/// Returns a square of 16-bit pixels.
fn square() -> Image {
    image(fits(16, &[4, 4], &[], &[0; 32]))
}

fn at(first: u64, count: u64, step: i64) -> AxisRange {
    AxisRange { first, count, step }
}

/// Returns the error of writing the square with other pixels.
fn write_as(pixels: NewPixels) -> Error {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.fits");
    let options = WriteOptions::default().pixels(Some(pixels));
    square().write(&path, &options, &RunOptions::default()).unwrap_err()
}

/// Provokes a reason; returns the error, and words of its expected and found values.
fn provoke(reason: Reason) -> (Error, &'static str, &'static str) {
    let image = square();
    let whole = image.whole();
    match reason {
        Reason::DataMissing => {
            let short = fits(16, &[4, 4], &[], &[0; 32])[..2880 + 9].to_vec();
            let image = common::image(short);
            let error = image.stats(&image.whole(), None, &options()).unwrap_err();
            (error, "32 bytes of data", "9 bytes, 4 whole pixels")
        }
        Reason::NoSuchHdu => {
            let bytes = fits(16, &[4], &[], &[0; 8]);
            let file = FitsFile::from_bytes("made.fits", bytes, &OpenOptions::default()).unwrap();
            (file.image(3).unwrap_err(), "an HDU from 0 to 0", "3")
        }
        Reason::NoSuchAxis => {
            let reduced = image.reduce(&[Statistic::SUM], &[2], &whole, None, 0, &options());
            (reduced.unwrap_err(), "an axis from 0 to 1 (0 is NAXIS1)", "2")
        }
        Reason::Section => {
            let error = image.section(&[at(0, 4, 1), at(2, 3, 1)]).unwrap_err();
            (error, "pixels 0 to 3 of NAXIS2", "3 pixels from 2 in steps of 1")
        }
        Reason::Region => {
            let circle = [Region::circle(1.0, 1.0, 1.0).unwrap()];
            let statistics = [Statistic::SUM];
            let reduced = image.reduce(&statistics, &[0], &whole, Some(&circle), 0, &options());
            (reduced.unwrap_err(), "NAXIS1 and NAXIS2, both reduced", "2 axes")
        }
        Reason::Statistic => (
            "median".parse::<Statistic>().unwrap_err().into(),
            "one of count, nan, sum",
            "\"median\"",
        ),
        Reason::Column | Reason::Rows | Reason::ColumnKind | Reason::CellText => {
            provoke_with_table(reason)
        }
        Reason::AxisOrder | Reason::Rebinning | Reason::Path => provoke_by_reshaping(reason),
        other => provoke_with_pixels(other),
    }
}

/// Provokes reasons about columns and rows.
fn provoke_with_table(reason: Reason) -> (Error, &'static str, &'static str) {
    let cards = ["TFORM1  = 'I'", "TTYPE1  = 'FLUX'", "TFORM2  = 'PE(3)'"].map(str::to_owned);
    let table = common::table(common::table_file("BINTABLE", [10, 4], 0, &cards, &[0; 40]));
    let read_column = |column: usize, rows: Rows<'_>| {
        let values = &mut [0; 8];
        let (raw, nulls, text) = (false, None, TextAs::Bytes);
        let column = ColumnOutput::new(column, values).raw(raw).nulls(nulls).text(text);
        table.read(&mut [column], &rows, &options()).unwrap_err()
    };
    match reason {
        Reason::Column => {
            (table.column("FLUXX").unwrap_err(), "one of the columns FLUX, col2", "\"FLUXX\"")
        }
        Reason::Rows => (read_column(0, Rows::Range(1..5)), "rows from 0 to 3", "rows 1 to 4"),
        Reason::ColumnKind => (
            read_column(1, Rows::Range(0..4)),
            "cells have one size",
            "column 2 (col2), arrays in the heap (PE(3))",
        ),
        Reason::CellText => {
            let cards = ["TFORM1  = 'I4'", "TBCOL1  = 1"].map(str::to_owned);
            let text = common::table_file("TABLE", [4, 2], 0, &cards, b"  12 1.5");
            let mut values = [0; 16];
            let values = &mut values;
            let (raw, nulls, text_as) = (false, None, TextAs::Bytes);
            let column = ColumnOutput::new(0, values).raw(raw).nulls(nulls).text(text_as);
            let table = common::table(text);
            let error = table.read(&mut [column], &Rows::Range(0..2), &options()).unwrap_err();
            (error, "a number (I4) in row 2 (from 1) of column 1 (col1)", "\" 1.5\", not a number")
        }
        other => unreachable!("{other:?} is not about tables"),
    }
}

/// Provokes reasons about shapes.
fn provoke_by_reshaping(reason: Reason) -> (Error, &'static str, &'static str) {
    let image = square();
    match reason {
        Reason::AxisOrder => {
            (image.reorder(&[1, 1]).unwrap_err(), "each of the 2 axes once", "[1, 1]")
        }
        Reason::Rebinning => {
            let block = vec![5, 1];
            let rebinning = Rebinning::new(block).statistic(BlockStatistic::Mean);
            (image.rebin(&rebinning).unwrap_err(), "those of the axis in a block", "[5, 1] pixels")
        }
        Reason::Path => {
            let points = vec![[1.0, 1.0], [1.0, 1.0]];
            let cut = PathCut::new(points).width(1).spacing(1.0);
            (image.cut_along(&cut).unwrap_err(), "two different points", "[[1.0, 1.0], [1.0, 1.0]]")
        }
        other => unreachable!("{other:?} is not about shapes"),
    }
}

/// Provokes reasons about operations on pixels.
fn provoke_with_pixels(reason: Reason) -> (Error, &'static str, &'static str) {
    let image = square();
    let whole = image.whole();
    match reason {
        Reason::HistogramRange => {
            let error = image.histogram((2.0, 1.0), 5, &whole, None, &options()).unwrap_err();
            (error, "low < high", "5 bins from 2 to 1")
        }
        Reason::Percentile => {
            let statistics = [OrderStatistic::Percentile(101.0)];
            let error = image.order(&statistics, &[0], &whole, None, &options()).unwrap_err();
            (error, "from 0 to 100", "101")
        }
        Reason::Weights => {
            let circle = Region::circle(1.0, 1.0, 1.0).unwrap();
            let both = vec![(Part::Include, circle.clone()), (Part::Include, circle)];
            let regions = [Region::combined(both)];
            let error = image.weighted(&[0, 1], &whole, &regions, &options()).unwrap_err();
            (error, "a single shape, or a ring", "another combination")
        }
        Reason::Moment => {
            let coordinates = Coordinates { values: &[1.0, 2.0, 3.0, f64::NAN], widths: &[1.0] };
            let error = image.moments(&[1], 0, coordinates, &whole, &options()).unwrap_err();
            (error, "finite coordinates and widths", "a coordinate of NaN")
        }
        Reason::Fit => {
            let channels = [1.0, 2.0, 2.0, 3.0];
            let baseline = Baseline::new(11, &channels, &[true; 4]);
            let error = image.fit_baseline(&baseline, 0, None, &whole, &options()).unwrap_err();
            (error, "an order from 0 to 9", "11")
        }
        Reason::Smoothing => {
            let error = image.smooth(&Smoothing::new(0, vec![0.5, 0.5])).unwrap_err();
            (error, "an odd number of finite weights", "2 weights")
        }
        Reason::NewPixels => {
            let pixel = PixelType::F32;
            let error = write_as(NewPixels::new(pixel).scaling(Some((2.0, 0.0))));
            (error, "scaling of BITPIX 8, 16, 32 or 64", "scaled F32")
        }
        Reason::ValueRange => {
            let pixel = PixelType::U8;
            let error = write_as(NewPixels::new(pixel).scaling(Some((1.0, 9.0))));
            (error, "values that BITPIX = 8 can hold", "16 others among 16 pixels")
        }
        Reason::Output => {
            let mut out = [0.0f32; 15];
            let out = OutputPixels::Float32(&mut out);
            let error = image.read(&whole, ReadAs::Float32, out, &options()).unwrap_err();
            (error, "16 elements", "15 elements")
        }
        Reason::PixelKind => {
            let cards = ["BSCALE  =                  0.5".to_owned()];
            let scaled = common::image(fits(16, &[4], &cards, &[0; 8]));
            let error = scaled.read_type(ReadAs::Exact).unwrap_err();
            (error, "pixels that are not scaled", "BSCALE = 0.5 and BZERO = 0")
        }
        Reason::TileCompression => {
            let tile = Some(vec![1; 5]);
            let how = TileCompression::default().tile(tile);
            let mut file = FileWriter::spooled("new", false).unwrap();
            let result = image.write_into(&mut file, None, Some(&how), &options());
            (result.unwrap_err(), "tiles of 1 to 2 axes", "[1, 1, 1, 1, 1]")
        }
        Reason::Memory => {
            // The image is empty, and the mean along its last axis has 2^58 values.
            let image = common::image(fits(8, &[1 << 30, 1 << 28, 0], &[], &[]));
            let whole = image.whole();
            let reduced = image.reduce(&[Statistic::MEAN], &[2], &whole, None, 0, &options());
            (reduced.unwrap_err(), "memory for the result", "2305843009213693952 bytes")
        }
        other => panic!("{other:?} is provoked by nothing"),
    }
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::Refused(refusal) => *refusal,
        other => panic!("another error: {other}"),
    }
}

#[test]
fn every_reason_has_place_expectation_finding_and_hint() {
    // Tests of expressions cover both reasons of expressions, with the position; tests of edits cover reasons
    // of edits.
    let elsewhere = [
        Reason::Expression,
        Reason::ExpressionInput,
        Reason::CellValues,
        Reason::Edit,
        Reason::Structure,
    ];
    for &reason in Reason::ALL.iter().filter(|reason| !elsewhere.contains(reason)) {
        let (error, expected, actual) = provoke(reason);
        assert_eq!((error.code(), error.kind()), (reason.code(), reason.kind()));
        let text = format!("{error:#}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(error.to_string(), lines[0]);
        assert_eq!(lines[1], format!("hint: {}", reason.hint()));
        assert!(lines[0].ends_with(&format!("[{}]", reason.code())), "{text}");
        let refusal = refusal(error);
        assert!(refusal.expected.contains(expected), "{text}");
        assert!(refusal.found.contains(actual), "{text}");
        let message = format!("expected {}, found {}", refusal.expected, refusal.found);
        assert!(lines[0].contains(&message), "{text}");
        // A wrong name of a statistic does not belong to a file.
        if reason != Reason::Statistic {
            let place = match reason {
                Reason::NoSuchHdu => 3,
                Reason::Column | Reason::Rows | Reason::ColumnKind | Reason::CellText => 1,
                _ => 0,
            };
            assert_eq!((&*refusal.file, refusal.hdu), ("made.fits", Some(place)), "{text}");
            assert!(lines[0].starts_with(&format!("made.fits: HDU {place} (0-based): ")), "{text}");
        }
    }
}

#[test]
fn codes_are_listed_once_each() {
    let rows = error_codes();
    for reason in Reason::ALL {
        let row = rows.iter().filter(|row| row.code == reason.code()).collect::<Vec<_>>();
        assert_eq!(row.len(), 1);
        assert_eq!((row[0].kind, &*row[0].hint), (reason.kind().as_str(), reason.hint()));
    }
    for row in &rows {
        assert_eq!(rows.iter().filter(|other| other.code == row.code).count(), 1, "{}", row.code);
        assert!(!row.meaning.is_empty() && !row.hint.is_empty(), "{}", row.code);
    }
}

/// Does nothing unless this process was started with an unknown tier.
#[test]
fn an_unknown_tier_in_this_process() {
    if std::env::var_os(CHILD).is_some() {
        let image = square();
        assert_eq!(image.stats(&image.whole(), None, &options()).unwrap().0[0].count, 16);
        assert_eq!(Tier::current(), *Tier::available().last().unwrap());
        // Too late to choose another tier.
        assert_eq!(Tier::SCALAR.choose(), Err(Tier::current()));
        print!("BEGIN\n{}\nEND\n", Tier::requested().unwrap_err());
    }
}

#[test]
fn a_tier_that_the_machine_lacks_fails_no_call() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "an_unknown_tier_in_this_process", "--nocapture"])
        .env("TACHYFITS_TIER", "sse9")
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let text = text.split_once("BEGIN\n").unwrap().1.split_once("\nEND").unwrap().0;
    assert!(text.starts_with("invalid TACHYFITS_TIER \"sse9\": expected one of: scalar"), "{text}");
}

#[test]
fn other_requests_that_do_not_fit() {
    let image = square();
    let whole = image.whole();
    let code = |result: Result<_, Error>| result.map(drop).unwrap_err().code();
    let reduce = |axes: &[usize]| {
        image.reduce(&[Statistic::SUM], axes, &whole, None, 0, &options()).map(drop)
    };
    assert_eq!(code(reduce(&[1, 1])), "no-such-axis");
    // A section of another image, with more axes or longer ones.
    let other = common::image(fits(16, &[9, 9], &[], &[0; 162]));
    for section in [other.whole(), common::image(fits(8, &[2], &[], &[0; 2])).whole()] {
        assert_eq!(code(image.stats(&section, None, &options()).map(drop)), "section");
        let region = [Region::circle(0.0, 0.0, 1.0).unwrap()];
        assert_eq!(code(image.stats(&section, Some(&region), &options()).map(drop)), "section");
        assert_eq!(code(image.total(&section, &options()).map(drop)), "section");
        let reduced = image.reduce(&[Statistic::SUM], &[0], &section, None, 0, &options());
        assert_eq!(code(reduced.map(drop)), "section");
        let coordinates = Coordinates { values: &[0.0; 9], widths: &[1.0] };
        let moment = image.moments(&[0], 0, coordinates, &section, &options());
        assert_eq!(code(moment.map(drop)), "section");
        let mut out = vec![0.0; section.pixels() as usize];
        let out = OutputPixels::Float64(&mut out);
        assert_eq!(
            code(image.read(&section, ReadAs::Float64, out, &options()).map(drop)),
            "section"
        );
    }
    for [x, y, a] in [[f64::NAN, 0.0, 1.0], [0.0, f64::INFINITY, 1.0], [1e300, 0.0, 1.0]] {
        assert_eq!(code(Region::circle(x, y, a).map(drop)), "region");
        assert_eq!(code(Region::rectangle(x, y, a, a, 0.0).map(drop)), "region");
        assert_eq!(code(Region::polygon(&[(x, y), (0.0, a), (a, 0.0)]).map(drop)), "region");
    }
    assert_eq!(code(Region::ellipse(0.0, 0.0, 1.0, -1.0, 0.0).map(drop)), "region");
    assert_eq!(code(Region::ellipse(0.0, 0.0, 1.0, 1.0, f64::NAN).map(drop)), "region");
    assert_eq!(code(Region::polygon(&[(0.0, 0.0), (1.0, 1.0)]).map(drop)), "region");
    // A region with too many rows.
    let tall = common::image(fits(8, &[1, 1 << 50], &[], &[]));
    let everything = [Region::rectangle(0.0, 0.0, 1e12, 1e12, 0.0).unwrap()];
    assert_eq!(code(tall.stats(&tall.whole(), Some(&everything), &options()).map(drop)), "memory");
    for range in [at(4, 1, 1), at(0, 5, 1), at(3, 2, 1), at(0, 2, -1), at(0, 1, 0), at(5, 0, 1)] {
        assert_eq!(code(image.section(&[range, at(0, 4, 1)]).map(drop)), "section");
    }
    let huge = at(u64::MAX, u64::MAX, i64::MIN);
    assert_eq!(code(image.section(&[huge, huge]).map(drop)), "section");
}
