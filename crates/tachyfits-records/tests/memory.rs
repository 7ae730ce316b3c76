//! Memory exhaustion: each operation on records returns an error or the right result, whichever large allocation is
//! refused.

#![allow(clippy::disallowed_methods, reason = "the test makes files of its own")]

#[path = "../../tachyfits/tests/memory/allocator.rs"]
mod allocator;

use std::path::Path;

use allocator::{granted, in_child};
use tachyfits_io::ErrorKind;
use tachyfits_records::{
    Conversion, Error, FileOrder, Narrowing, NewRecords, RecordFile, RecordForm, RecordLayout,
    RecordNumber, RecordOptions, RecordPart, RecordWriter, RunOptions, append_records,
};
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: allocator::Refusing = allocator::Refusing;

const RUN: RunOptions<'static> = RunOptions::new().threads(2);

fn check<T: PartialEq + std::fmt::Debug>(name: &str, operation: impl Fn() -> Result<T, Error>) {
    allocator::check(name, |error: &Error| error.kind() == ErrorKind::Limit, operation);
}

/// Writes records with these numbers of 8-byte items.
fn write(path: &Path, counts: &[u64]) -> Result<Vec<u8>, Error> {
    let new = NewRecords::default().overwrite(true).order(FileOrder::Big);
    let mut writer = RecordWriter::create(path, &new)?;
    for &count in counts {
        let items =
            granted(|| (0..count).flat_map(|n| (n as f64).to_ne_bytes()).collect::<Vec<_>>());
        let layout = RecordLayout::plain(8 * count, 8);
        writer.write(&RecordPart { items: &items, count: 1, layout: &layout }, &RUN)?;
    }
    writer.finish()?;
    Ok(granted(|| std::fs::read(path).unwrap()))
}

fn operations(path: &Path, counts: &[u64]) {
    let open = || RecordFile::open(path, &RecordOptions::default());
    check("writing", || write(&path.with_extension("new"), counts));
    check("index", || Ok(open()?.index()?.runs().len()));
    check("every second record", || {
        let file = open()?;
        Ok(file.index()?.every(0, 2, counts.len() as u64 / 2)?.len())
    });
    check("statistics", || {
        let number = RecordNumber::Pixel(tachyfits_kernels::PixelType::F64);
        Ok(open()?.stats(0, counts.len() as u64, number, None, &RUN)?.0)
    });
    check("records of one length", || {
        let layout = RecordLayout::plain(8 * counts[0], 8);
        let mut items = granted(|| vec![0; 8 * counts[0] as usize]);
        open()?.read(0, 1, &layout, &mut items, &RUN)?;
        Ok(items.iter().map(|&byte| u64::from(byte)).sum::<u64>())
    });
    for narrowing in [None, Some(Narrowing::Single)] {
        check("conversion", || {
            let mut conversion = Conversion::default();
            conversion.forms = vec![RecordForm::parse("*f8")?];
            conversion.narrowing = narrowing;
            conversion.new = NewRecords::default().overwrite(true).order(FileOrder::Little);
            let out = path.with_extension("out");
            open()?.convert(&out, &conversion, &RUN)?;
            Ok(granted(|| std::fs::read(&out).unwrap()))
        });
    }
    check("appending", || {
        let copy = path.with_extension("copy");
        granted(|| std::fs::copy(path, &copy).unwrap());
        let items = granted(|| vec![0; 8 * 400_000]);
        let layout = RecordLayout::plain(8 * 400_000, 8);
        let part = RecordPart { items: &items, count: 1, layout: &layout };
        append_records(&copy, &RecordOptions::default(), &[part], &RUN)?;
        Ok(granted(|| std::fs::read(&copy).unwrap()))
    });
}

#[test]
fn long_records() {
    in_child("long_records", || {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("long.dat");
        let counts = [400_000, 300_000, 400_000];
        write(&path, &counts).unwrap();
        operations(&path, &counts);
    });
}

#[test]
fn records_that_change_their_length() {
    in_child("records_that_change_their_length", || {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("many.dat");
        let counts: Vec<u64> = (0..40_000).map(|n| 1 + n % 3).collect();
        write(&path, &counts).unwrap();
        operations(&path, &counts);
    });
}
