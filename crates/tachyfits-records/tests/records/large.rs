//! Records larger than the caches: results are bit-identical whether bytes are copied from the file
//! and swapped in place, or swapped while they are copied from the page cache.

use std::path::{Path, PathBuf};

use tachyfits_records::{
    FileOrder, RecordFile, RecordLayout, RecordMarkers, RecordOptions, RunOptions, StorageKind,
};

/// Slightly more than half the capacity of the caches, in numbers of 8 bytes.
const COUNT: usize = (32 << 20) / 8 + 1001;

const STORAGES: [StorageKind; 3] =
    [StorageKind::Auto, StorageKind::Positioned, StorageKind::Mapped];

fn numbers() -> Vec<u64> {
    (0..COUNT as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

fn written(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn threads() -> RunOptions<'static> {
    RunOptions::default().threads(2)
}

#[test]
fn records_of_any_length_and_order() {
    let (folder, numbers) = (tempfile::tempdir().unwrap(), numbers());
    for elements in [1, 8, 1000, 5000, 100_000, 4_000_000] {
        for markers in [RecordMarkers::ALL[0], RecordMarkers::ALL[1]] {
            let count = COUNT.div_ceil(elements);
            let mut expected = numbers.clone();
            expected.resize(count * elements, 7);
            let (content, options) = records(&expected, elements, markers);
            let path = written(folder.path(), "records.dat", &content);
            let layout = RecordLayout::plain(8 * elements as u64, 8);
            for storage in STORAGES {
                let options = options.clone().storage(storage);
                let file = RecordFile::open(&path, &options).unwrap();
                let mut out = vec![0u64; expected.len()];
                let bytes = bytemuck::cast_slice_mut(&mut out);
                // Before the markers are known, if a record is short enough for that, and after.
                let ahead = file.read_ahead(0, count as u64, &layout, bytes, &threads()).unwrap();
                assert_eq!(ahead.is_some(), elements <= 5000);
                assert!(ahead.is_none() || out == expected, "{elements} {markers:?} {storage:?}");
                out.fill(0);
                let bytes = bytemuck::cast_slice_mut(&mut out);
                file.index().unwrap();
                file.read(0, count as u64, &layout, bytes, &threads()).unwrap();
                assert!(out == expected, "{elements} {markers:?} {storage:?}");
            }
        }
    }
}

/// Creates a file of records with these counts of numbers, and the options to open it.
fn records(numbers: &[u64], elements: usize, markers: RecordMarkers) -> (Vec<u8>, RecordOptions) {
    let mut content = Vec::new();
    for record in numbers.chunks(elements) {
        let marker = markers.write(8 * elements as i64);
        let marker = &marker[..markers.bytes()];
        content.extend_from_slice(marker);
        for number in record {
            content.extend_from_slice(&match markers.order() {
                FileOrder::NATIVE => number.to_ne_bytes(),
                _ => number.swap_bytes().to_ne_bytes(),
            });
        }
        content.extend_from_slice(marker);
    }
    let options =
        RecordOptions::default().marker_bytes(Some(markers.bytes())).order(Some(markers.order()));
    (content, options)
}
