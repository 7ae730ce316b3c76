//! Arrays larger than the caches: the numbers have the same bits, whether they are copied from the file and
//! swapped in place, or swapped while they are copied from the page cache; the first blocks are read both
//! ways.

#![expect(clippy::disallowed_methods, reason = "tests read files directly")]

mod common;

use std::path::{Path, PathBuf};

use common::{fits, table_file};
use tachyfits::table::{ColumnOutput, TextAs};
use tachyfits::{FitsFile, OpenOptions, OutputPixels, ReadAs, Rows, RunOptions, StorageKind};

/// A little more than half of the caches, in numbers of 8 bytes.
const COUNT: usize = (32 << 20) / 8 + 1001;

const STORAGES: [StorageKind; 3] =
    [StorageKind::Auto, StorageKind::Positioned, StorageKind::Mapped];

fn numbers() -> Vec<u64> {
    (0..COUNT as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

fn big_endian(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn write_file(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn threads() -> RunOptions<'static> {
    RunOptions::default().threads(2)
}

#[test]
fn images() {
    let (folder, numbers) = (tempfile::tempdir().unwrap(), numbers());
    let cards = [format!("{:<8}= {:>20}", "BZERO", "9.223372036854775808E18")];
    let content = fits(64, &[COUNT as u64], &cards, &big_endian(&numbers));
    let path = write_file(folder.path(), "image.fits", &content);
    let expected: Vec<u64> = numbers.iter().map(|number| number ^ 1 << 63).collect();
    for storage in STORAGES {
        let options = OpenOptions::default().storage(storage);
        let image = FitsFile::open(&path, &options).unwrap().image(0).unwrap();
        let section = image.whole();
        let mut out = vec![0u64; COUNT];
        let pixels = OutputPixels::Bytes(bytemuck::cast_slice_mut(&mut out));
        image.read(&section, ReadAs::Exact, pixels, &threads()).unwrap();
        assert!(out == expected, "{storage:?}");
    }
}

#[test]
fn columns_that_are_the_whole_row() {
    let (folder, numbers) = (tempfile::tempdir().unwrap(), numbers());
    let cards = [format!("{:<8}= 'K       '", "TFORM1")];
    let rows = COUNT as u64;
    let content = table_file("BINTABLE", [8, rows], 0, &cards, &big_endian(&numbers));
    let path = write_file(folder.path(), "table.fits", &content);
    for storage in STORAGES {
        let options = OpenOptions::default().storage(storage);
        let table = FitsFile::open(&path, &options).unwrap().table(1).unwrap();
        let mut out = vec![0u64; COUNT];
        let values = bytemuck::cast_slice_mut(&mut out);
        let column = ColumnOutput::new(0, values).text(TextAs::Bytes);
        table.read(&mut [column], &Rows::Range(0..rows), &threads()).unwrap();
        assert!(out == numbers, "{storage:?}");
    }
}
