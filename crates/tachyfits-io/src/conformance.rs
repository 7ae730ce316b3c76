//! Requirements of every storage, as a test suite for any implementation, in this crate or elsewhere.

use std::ops::Range;
use std::sync::Arc;

use crate::error::IoError;
use crate::storage::{Request, Storage};

/// Sizes around the boundaries of cache lines and pages, empty, and large.
const SIZES: [usize; 10] = [0, 1, 63, 64, 4095, 4096, 4097, 8192, 12_345, 1_300_001];

/// Offsets and lengths around the same boundaries.
const EDGES: [usize; 14] =
    [0, 1, 2, 7, 63, 64, 65, 4095, 4096, 4097, 8191, 8192, 100_000, 1_299_999];

/// Checks that the storages that `make` returns for a content behave as [`Storage`] requires.
///
/// # Panics
/// If they do not; the message names the bytes and their offset.
///
/// ```
/// use std::sync::Arc;
/// use tachyfits_io::{MemoryStorage, conformance::storage_suite};
///
/// storage_suite(|content| Arc::new(MemoryStorage::new("memory", content.to_vec())));
/// ```
pub fn storage_suite(make: impl Fn(&[u8]) -> Arc<dyn Storage>) {
    for size in SIZES {
        let content = pattern(size);
        let storage = make(&content);
        assert_eq!(storage.bytes(), size as u64, "size of {}", storage.name());
        assert!(storage.profile().alignment.is_power_of_two());
        reads_at_all_edges(&*storage, &content);
        reads_of_one_call(&*storage, &content);
        reads_past_the_end_fail(&*storage);
        hints_are_harmless(&*storage);
    }
    let content = pattern(SIZES[SIZES.len() - 1]);
    let storage = make(&content);
    concurrent_reads(&*storage, &content);
}

/// Writes `content` to a file in a separate directory, which is removed when the directory handle is dropped.
#[cfg(test)]
pub(crate) fn temporary_file(content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("storage.bin");
    std::fs::write(&path, content).expect("a temporary file");
    (directory, path)
}

/// Returns bytes that differ from those 1, 64 or 4096 bytes away.
fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|index| (index ^ (index / 61) ^ (index / 4096 * 7)) as u8).collect()
}

fn reads_at_all_edges(storage: &dyn Storage, content: &[u8]) {
    // Memory at several alignments; the bytes around must stay unchanged.
    let mut memory = vec![0xA5; content.len() + 8192];
    let ends = EDGES.iter().map(|edge| content.len().saturating_sub(*edge));
    let offsets: Vec<usize> = EDGES.iter().copied().chain(ends).collect();
    for (turn, &offset) in offsets.iter().enumerate() {
        for length in EDGES.into_iter().chain([content.len()]) {
            if offset + length > content.len() {
                continue;
            }
            let at = [0, 1, 64, 4096 - offset % 64][turn % 4];
            let expected = &content[offset..offset + length];
            read_one(storage, offset, expected, &mut memory, at);
            slice_agrees(storage, offset as u64..(offset + length) as u64, expected);
        }
    }
}

fn read_one(storage: &dyn Storage, offset: usize, expected: &[u8], memory: &mut [u8], at: usize) {
    let length = expected.len();
    let result = storage.read_exact_at(offset as u64, &mut memory[at..at + length]);
    result.unwrap_or_else(|error| panic!("{length} bytes at {offset}: {error}"));
    assert!(memory[at..at + length] == *expected, "wrong bytes: {length} at {offset}");
    assert_eq!(memory[at + length], 0xA5, "{length} bytes at {offset}: wrote beyond the buffer");
    assert!(at == 0 || memory[at - 1] == 0xA5, "{length} at {offset}: wrote before the buffer");
    memory[at..at + length].fill(0xA5);
}

/// Many overlapping requests in one call, one of them beyond the end.
fn reads_of_one_call(storage: &dyn Storage, content: &[u8]) {
    const BYTES: usize = 100;
    let offsets = EDGES.into_iter().filter(|offset| offset + BYTES <= content.len());
    let offsets: Vec<usize> = offsets.collect();
    let mut memory = vec![0xA5; (offsets.len() + 1) * BYTES];
    let buffers = memory.chunks_exact_mut(BYTES);
    let beyond = [content.len()];
    let places = offsets.iter().chain(&beyond);
    let mut requests: Vec<Request<'_>> = places
        .zip(buffers)
        .map(|(&offset, buffer)| Request { offset: offset as u64, buffer })
        .collect();
    let (within, _) = requests.split_at_mut(offsets.len());
    storage.read_ranges(within).unwrap_or_else(|error| panic!("{offsets:?}: {error}"));
    for (request, &offset) in within.iter().zip(&offsets) {
        assert_eq!(request.offset, offset as u64, "a request of one call was changed");
        assert!(*request.buffer == content[offset..offset + BYTES], "wrong bytes at {offset}");
    }
    let error = storage.read_ranges(&mut requests).unwrap_err();
    assert!(matches!(error, IoError::Short { .. }), "one of several beyond the end: {error}");
}

fn slice_agrees(storage: &dyn Storage, range: Range<u64>, expected: &[u8]) {
    for bytes in [storage.slice(range.clone()), storage.cached(range.clone())].into_iter().flatten()
    {
        assert!(bytes == expected, "the slice {range:?} has other bytes than the read");
    }
    storage.intact(range).expect("what was lent is there");
}

fn reads_past_the_end_fail(storage: &dyn Storage) {
    let size = storage.bytes();
    let beyond = [(size, 1), (size + 1, 0), (size + 1, 1), (u64::MAX, 1), (u64::MAX - 4096, 4097)];
    let across = [(size.saturating_sub(1), 2 + size.min(1)), (0, size + 1)];
    for (offset, expected) in beyond.into_iter().chain(across) {
        let length = usize::try_from(expected.min(2_000_000)).unwrap_or_default();
        let error = storage.read_exact_at(offset, &mut vec![0; length]).unwrap_err();
        let IoError::Short { size: found, offset: told, .. } = error else {
            panic!("{expected} bytes at {offset} of {size}: expected a short read, found {error}")
        };
        assert_eq!((found, told), (size, offset));
        let end = offset.saturating_add(expected);
        let bytes = storage.slice(offset..end).or(storage.cached(offset..end));
        assert!(bytes.is_none(), "a slice {offset}..{end} of {size}");
    }
}

fn hints_are_harmless(storage: &dyn Storage) {
    let size = storage.bytes();
    for range in [0..0, 0..size, size..size + 10, 0..u64::MAX, u64::MAX..u64::MAX] {
        storage.will_need(range.clone());
        // Either result is valid; the call must only return.
        let _ = storage.is_resident(range);
    }
}

fn concurrent_reads(storage: &dyn Storage, content: &[u8]) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let mut memory = vec![0; 50_000];
                for turn in 0..100 {
                    let offset = (turn * 104_729 + thread * 31) % (content.len() - memory.len());
                    storage.read_exact_at(offset as u64, &mut memory).expect("a read");
                    assert!(memory == content[offset..offset + memory.len()], "at {offset}");
                }
            });
        }
    });
}
