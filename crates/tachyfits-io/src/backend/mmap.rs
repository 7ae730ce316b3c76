//! A file mapped into memory, with a guard: if the file is truncated meanwhile, reading gives zeros and an error
//! instead of a signal that ends the process.
//!
//! Besides the guard, this is the only module of the crate with `unsafe`. If another process changes the file, a reader
//! may see the changed bytes, as with any way of reading.

#![expect(unsafe_code, reason = "mapping a file is unsafe by nature; see the head of this file")]

mod guard;

use std::ffi::c_long;
use std::fs::File;
use std::io;
use std::ops::Range;

use memmap2::{Mmap, UncheckedAdvice};

use crate::backend::file::FileStorage;
use crate::backend::memory::slice_of;
use crate::error::IoError;
use crate::storage::Storage;
use guard::MapGuard;
pub use guard::allow_maps;
pub(crate) use guard::maps_are_allowed;

/// Bytes around a touched byte for which the kernel also maps cached pages (`fault_around_bytes` of Linux). If it maps
/// fewer, the others are mapped on use.
pub(crate) const AROUND: usize = 64 << 10;

/// A read-only map of a whole file, with a guard.
#[derive(Debug)]
pub(crate) struct GuardedMap {
    watch: &'static MapGuard,
    map: Mmap,
}

impl GuardedMap {
    /// Maps a file; `None` if the maximum number of maps is already guarded.
    pub(crate) fn of(file: &File) -> io::Result<Option<GuardedMap>> {
        // SAFETY: the map is only read, through `&[u8]`. The guard handles a file that is truncated meanwhile. If the
        // file is written, bytes change under the reader; every use checks the values it reads, and assumes nothing
        // about the content.
        let map = unsafe { Mmap::map(file) }?;
        Ok(MapGuard::over(&map).map(|watch| GuardedMap { watch, map }))
    }

    /// Returns bytes of the file; `None` beyond its end, and after a part was found to be missing.
    pub(crate) fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        slice_of(&self.map, range).filter(|_| !self.is_broken())
    }

    /// Restores the guard's signal handler if other code has replaced it. Call this before each use of a map.
    pub(crate) fn renew_guard(&self) {
        // The handler was installed once; if that fails now, a fault ends the process, as in any program.
        let _ = guard::take_signal();
    }

    /// Whether a missing part was read and replaced by zeros: results from it must be discarded.
    pub(crate) fn is_broken(&self) -> bool {
        self.watch.is_broken()
    }

    /// Unmaps the pages of a range, so that they do not count as memory of the process. Later reads map them again.
    pub(crate) fn leave(&self, range: Range<u64>) {
        let end = range.end.min(self.map.len() as u64);
        let length = end.saturating_sub(range.start) as usize;
        let advice = UncheckedAdvice::DontNeed;
        // SAFETY: a shared map of a file that is only read: pages that are touched again have the same content.
        let _ = unsafe { self.map.unchecked_advise_range(advice, range.start as usize, length) };
    }
}

/// Maps the pages of a slice before they are used, by reading one byte of every few pages.
///
/// `MADV_POPULATE_READ` does the same, but visits every page once more, which is slower.
pub(crate) fn enter(bytes: &[u8]) {
    enter_all(std::iter::once(bytes));
}

/// Maps the pages of several slices.
pub(crate) fn enter_all<'a>(places: impl Iterator<Item = &'a [u8]>) {
    let mut checksum = 0;
    for bytes in places {
        let Some(first) = bytes.first() else { continue };
        checksum ^= first;
        let next = AROUND - bytes.as_ptr().addr() % AROUND;
        if next < bytes.len() {
            checksum ^=
                bytes[next..].iter().step_by(AROUND).fold(0, |checksum, byte| checksum ^ byte);
        }
    }
    std::hint::black_box(checksum);
}

/// Whether cached bytes of a map are in small pages, which the system maps in pieces. Maps their pages. Pages that are
/// already mapped count as large.
pub(crate) fn is_in_small_pages(bytes: &[u8]) -> bool {
    let before = faults();
    enter(bytes);
    // One fault maps a large page, or 64 KiB of small ones.
    faults() - before > 1
}

/// Returns the number of page faults of this thread that did not wait for a device.
fn faults() -> c_long {
    #[cfg(target_os = "linux")]
    {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `usage` has room for the structure that the system writes.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        // SAFETY: all fields are numbers, and were zero before the call.
        unsafe { usage.assume_init() }.ru_minflt
    }
    #[cfg(not(target_os = "linux"))]
    0
}

impl Drop for GuardedMap {
    fn drop(&mut self) {
        self.watch.end();
    }
}

/// Returns an error if borrowed bytes were missing: the file ends before them, or its device failed.
///
/// A file that now ends within the last page read raises no signal, so the size is checked.
pub(crate) fn intact(
    file: &FileStorage,
    map: Option<&GuardedMap>,
    range: Range<u64>,
) -> Result<(), IoError> {
    let (name, offset) = (|| file.name().to_owned(), range.start);
    let expected = range.end.saturating_sub(offset);
    let failed = |source| IoError::Read { name: name(), offset, expected, source };
    let size = file.file().metadata().map_err(failed)?.len();
    let broken = map.is_some_and(GuardedMap::is_broken);
    if size < range.end || (broken && size < file.bytes()) {
        return Err(IoError::Short { name: name(), offset, expected, size });
    }
    match broken {
        true => Err(failed(io::Error::other("a page could not be read into memory"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{GuardedMap, enter};
    use crate::conformance::temporary_file;
    use crate::{CachedStorage, FileStorage, IoError, Lend, Storage};
    use std::fs::{File, OpenOptions};
    use std::path::Path;

    fn mapped(path: &Path) -> CachedStorage {
        CachedStorage::mapped(path, FileStorage::open(path).unwrap()).unwrap()
    }

    fn cut(path: &Path, bytes: u64) {
        OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
    }

    fn sum(bytes: &[u8]) -> u64 {
        bytes.iter().map(|&byte| u64::from(byte)).sum()
    }

    #[test]
    fn a_file_cut_under_its_map_reads_as_zeros_and_says_so() {
        let (_directory, path) = temporary_file(&[1; 1_000_000]);
        let storage = mapped(&path);
        let bytes = storage.cached(0..1_000_000).unwrap();
        assert_eq!(sum(bytes), 1_000_000);
        storage.intact(0..1_000_000).unwrap();
        cut(&path, 500_000);
        // Several threads meet the missing pages at once.
        let sums = std::thread::scope(|scope| {
            [0; 4].map(|_| scope.spawn(|| sum(bytes))).map(|thread| thread.join().unwrap())
        });
        assert_eq!(sums, [500_000; 4]);
        let error = storage.intact(7..1_000_000).unwrap_err();
        assert!(matches!(
            error,
            IoError::Short { offset: 7, expected: 999_993, size: 500_000, .. }
        ));
        assert!(storage.cached(0..10).is_none());
        // Positioned reads still work.
        storage.read_exact_at(499_990, &mut [0; 10]).unwrap();
    }

    #[test]
    fn a_file_that_ends_within_its_last_page_now_is_found_out_without_a_signal() {
        let (_directory, path) = temporary_file(&[1; 10_000]);
        let storage = mapped(&path);
        cut(&path, 9_990);
        assert_eq!(sum(storage.cached(0..10_000).unwrap()), 9_990);
        assert_eq!(storage.intact(0..10_000).unwrap_err().code(), "io-short");
        // The intact part can still be used.
        storage.intact(0..9_990).unwrap();
    }

    #[test]
    fn only_the_map_that_broke_is_broken_and_a_new_one_is_whole() {
        let [(_one, first), (_two, second)] = [(); 2].map(|()| temporary_file(&[1; 100_000]));
        let [broken, whole] = [&first, &second].map(|path| mapped(path));
        let bytes = broken.cached(0..100_000).unwrap();
        cut(&first, 10);
        assert_eq!(sum(bytes), 10);
        assert!(broken.intact(0..100_000).is_err());
        whole.intact(0..100_000).unwrap();
        assert_eq!(sum(whole.cached(0..100_000).unwrap()), 100_000);
        drop(broken);
        let second_map = mapped(&first);
        assert_eq!(second_map.cached(0..10), Some(&[1; 10][..]));
        second_map.intact(0..10).unwrap();
    }

    #[test]
    fn pages_can_be_entered_and_left() {
        let (_directory, path) = temporary_file(&[1; 400_000]);
        let map = GuardedMap::of(&File::open(&path).unwrap()).unwrap().unwrap();
        for range in [5_000..395_000, 0..1, 65_535..65_537, 7..7] {
            let bytes = map.slice(range.clone()).unwrap();
            enter(bytes);
            assert_eq!(sum(bytes), range.end - range.start);
            map.leave(range.clone());
            assert_eq!(sum(bytes), range.end - range.start);
        }
        cut(&path, 50_000);
        enter(map.slice(0..300_000).unwrap());
        assert!(map.is_broken() && map.slice(0..1).is_none());
    }
}
