//! The default storage: borrows the bytes of a cached file through a memory map if that is faster, and reads otherwise.
//!
//! A map is faster than copying for large pages, and for small pages that stay mapped; mapping small pages for a single
//! use takes longer than copying them (docs/performance). The bytes are the same either way.

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::backend::entered::{EnteredPages, MOST_ENTERED};
use crate::backend::file::FileStorage;
use crate::backend::mmap::{GuardedMap, enter, intact, is_in_small_pages, maps_are_allowed};
use crate::error::IoError;
use crate::lend::Lend;
use crate::profile::Profile;
use crate::storage::{Id, Request, Storage};

/// Other systems do not report which pages are in the page cache, and map one page at a time.
const LENDS: bool = cfg!(target_os = "linux");

/// Smallest file to map: mapping and unmapping a smaller one takes longer than copying it.
const LEAST_FILE: u64 = 256 << 10;

/// Largest file whose pages stay mapped: mapping them again for each column of a table takes up to two thirds of the
/// time of reading the column (docs/performance).
pub(crate) const MOST_KEPT: u64 = 512 << 20;

/// Total bytes of runs that may borrow without checking the size of pages: the check would take a part of their time.
const FEW_BYTES: u64 = 4 << 20;

/// Runs that read fewer contiguous bytes always borrow and are not counted: they access scattered positions.
const SHORT_RUN: u64 = 64 << 10;

/// Bytes in the middle of the file that are mapped to measure the page size; few, because they are mapped only for
/// this.
const SHOWN: u64 = 256 << 10;

/// A file read at offsets, whose cached bytes can be borrowed.
#[derive(Debug)]
pub struct CachedStorage {
    file: FileStorage,
    /// Whether to lend any range, in the page cache or not.
    always: bool,
    /// The map, created on first use; `None` if the file cannot be mapped.
    map: OnceLock<Option<GuardedMap>>,
    /// Mapped pages, created when pages are first counted.
    entered: OnceLock<EnteredPages>,
    /// Whether the file's pages were small when first checked.
    small_pages: OnceLock<bool>,
    /// Bytes of contiguous runs that were not short.
    read_through: AtomicU64,
    /// Bytes copied so far.
    copied: AtomicU64,
}

impl CachedStorage {
    /// Returns a storage for an open file.
    pub fn new(file: FileStorage) -> CachedStorage {
        CachedStorage {
            file,
            always: false,
            map: OnceLock::new(),
            entered: OnceLock::new(),
            small_pages: OnceLock::new(),
            read_through: AtomicU64::new(0),
            copied: AtomicU64::new(0),
        }
    }

    /// Returns a storage that lends any range, whether or not that is faster.
    ///
    /// # Errors
    /// If the file cannot be mapped.
    pub fn mapped(path: &Path, file: FileStorage) -> Result<CachedStorage, IoError> {
        // An empty file cannot be mapped, and has no bytes to lend.
        let map = match file.bytes() {
            0 => None,
            _ => GuardedMap::of(file.file())
                .map_err(|source| IoError::Map { path: path.to_owned(), source })?,
        };
        Ok(CachedStorage { always: true, map: OnceLock::from(map), ..CachedStorage::new(file) })
    }

    fn map(&self) -> Option<&GuardedMap> {
        self.map.get_or_init(|| GuardedMap::of(self.file.file()).ok().flatten()).as_ref()
    }

    /// Whether the middle of the file is in the page cache in small pages, which take longer to map than to copy.
    fn is_in_small_pages(&self) -> bool {
        let middle = self.bytes() / 2 / SHOWN * SHOWN;
        let range = middle..self.bytes().min(middle + SHOWN);
        if let Some(&is_small) = self.small_pages.get() {
            return is_small;
        }
        if !self.is_resident(range.clone()) {
            return false;
        }
        // The check touches pages, so the guard must handle the signal.
        self.prepare_to_lend();
        let bytes = || self.map()?.slice(range);
        *self.small_pages.get_or_init(|| bytes().is_some_and(is_in_small_pages))
    }

    /// Unmaps pages of a large file if many are mapped.
    fn leave_after(&self, map: &GuardedMap, range: &Range<u64>) {
        if self.bytes() <= MOST_KEPT {
            return;
        }
        let pages = self.entered.get_or_init(|| EnteredPages::none_of(self.bytes()));
        if pages.enter(range) > MOST_ENTERED {
            pages.leave_next().into_iter().for_each(|range| map.leave(range));
        }
    }
}

impl Storage for CachedStorage {
    fn id(&self) -> &Id {
        self.file.id()
    }

    fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    fn kind(&self) -> &'static str {
        if self.always { "mapped" } else { "auto" }
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.read_ranges(&mut [Request { offset, buffer }])
    }

    fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        let bytes: usize = requests.iter().map(|request| request.buffer.len()).sum();
        self.copied.fetch_add(bytes as u64, Relaxed);
        self.file.read_ranges(requests)
    }

    fn profile(&self) -> Profile {
        self.file.profile()
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        self.file.is_resident(range)
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.file.check_unchanged()
    }

    fn lend(&self) -> Option<&dyn Lend> {
        Some(self)
    }
}

impl Lend for CachedStorage {
    fn lends_cached(&self, is_free: bool, through: u64) -> bool {
        let bytes = self.bytes();
        let bytes_before = || self.read_through.fetch_add(through.min(FEW_BYTES), Relaxed);
        let are_few = || through < SHORT_RUN || bytes_before().saturating_add(through) < FEW_BYTES;
        // Mapping small pages pays off if they stay mapped and most of the file was read before.
        let is_read_again = || bytes <= MOST_KEPT && self.copied.load(Relaxed) >= bytes - bytes / 8;
        let pays = || are_few() || is_read_again() || !self.is_in_small_pages();
        self.always || (LENDS && is_free && bytes >= LEAST_FILE && maps_are_allowed() && pays())
    }

    fn all_mapped(&self) -> Option<&[u8]> {
        let stays = self.bytes() <= MOST_KEPT;
        self.map().filter(|_| stays)?.slice(0..self.bytes())
    }

    fn prepare_to_lend(&self) {
        if let Some(map) = self.map.get().and_then(Option::as_ref) {
            map.renew_guard();
        }
    }

    fn cached(&self, range: Range<u64>) -> Option<&[u8]> {
        let map = self.map()?;
        if self.always {
            return map.slice(range);
        }
        let bytes = map.slice(range.clone())?;
        self.leave_after(map, &range);
        enter(bytes);
        // Copying gives the exact error.
        (!map.is_broken()).then_some(bytes)
    }

    fn intact(&self, range: Range<u64>) -> Result<(), IoError> {
        intact(&self.file, self.map.get().and_then(Option::as_ref), range)
    }

    fn reads_far_ahead(&self) -> bool {
        self.file.reads_far_ahead()
    }

    fn will_need(&self, range: Range<u64>) {
        self.file.will_need(range);
    }
}

#[cfg(test)]
mod tests {
    use super::{CachedStorage, FEW_BYTES, LENDS, MOST_ENTERED, MOST_KEPT, SHORT_RUN};
    use crate::aligned::LARGE_PAGE;
    use crate::conformance::{storage_suite, temporary_file};
    use crate::{
        Buffering, FileStorage, IoError, Lend, PipelineOptions, Report, Storage, Tasks, run,
    };
    use std::fs::OpenOptions;
    use std::ops::Range;
    use std::path::Path;
    use std::sync::Arc;

    fn lending(path: &Path) -> CachedStorage {
        CachedStorage::new(FileStorage::open(path).unwrap())
    }

    /// Tasks with a fixed number of bytes.
    struct Pieces(u64, u64);

    impl Tasks for Pieces {
        fn len(&self) -> u64 {
            self.0
        }

        fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
            ranges.push(index * self.1..(index + 1) * self.1);
        }
    }

    /// Tasks that begin where the pieces do, each with a number of half pieces.
    struct Halves(Pieces, u64);

    impl Tasks for Halves {
        fn len(&self) -> u64 {
            self.0.len()
        }

        fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
            self.0.ranges(index, ranges);
            ranges[0].end = ranges[0].start + self.1 * self.0.1 / 2;
        }
    }

    /// Sums the bytes of each piece; calls `before` before each.
    fn sums(
        storage: &CachedStorage,
        tasks: &dyn Tasks,
        options: &PipelineOptions<'_>,
        before: impl Fn(u64) + Sync,
    ) -> Result<(Vec<u64>, Report), IoError> {
        let mut sums = Vec::new();
        let report = run(
            storage,
            tasks,
            options,
            || (),
            |(), index, fetched| {
                before(index);
                Ok(fetched.piece(0).iter().map(|&byte| u64::from(byte)).sum())
            },
            |_, sum| {
                sums.push(sum);
                Ok::<(), IoError>(())
            },
        )?;
        Ok((sums, report))
    }

    #[test]
    fn conforms_whether_it_lends_or_not() {
        storage_suite(|content| {
            let (_directory, path) = temporary_file(content);
            Arc::new(CachedStorage::new(FileStorage::open(&path).unwrap()))
        });
        storage_suite(|content| {
            let (_directory, path) = temporary_file(content);
            Arc::new(lending(&path))
        });
        storage_suite(|content| {
            let (_directory, path) = temporary_file(content);
            Arc::new(CachedStorage::mapped(&path, FileStorage::open(&path).unwrap()).unwrap())
        });
    }

    #[test]
    fn ranges_within_the_file_are_lent_to_those_who_ask_for_the_page_cache() {
        let (_directory, path) = temporary_file(&[7; 1 << 20]);
        let storage = lending(&path);
        assert_eq!(storage.cached(5..400_005), Some(&[7; 400_000][..]));
        assert_eq!(storage.cached(7..8), Some(&[7][..]));
        assert!(storage.cached(5..(1 << 20) + 1).is_none());
        assert!(storage.slice(5..400_005).is_none());
        let lends = |is_free| storage.lends_cached(is_free, 1 << 20);
        assert_eq!((lends(true), lends(false)), (LENDS, false));
        let (_directory, path) = temporary_file(&[7; 1000]);
        assert!(!lending(&path).lends_cached(true, 1000));
    }

    /// Returns a storage for a sparse file whose middle pages are in the page cache.
    fn of_pages(path: &Path, bytes: u64, are_small: bool) -> CachedStorage {
        OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
        let storage = lending(path);
        storage.small_pages.set(are_small).unwrap();
        storage.read_exact_at(bytes / 2, &mut [0; 1 << 10]).unwrap();
        storage
    }

    #[test]
    fn small_pages_are_copied_until_the_file_was_read_and_those_of_large_files_always() {
        let (_directory, path) = temporary_file(b"");
        for (bytes, is_kept) in [(1 << 20, true), (MOST_KEPT, true), (MOST_KEPT + 1, false)] {
            for are_small in [true, false] {
                let storage = of_pages(&path, bytes, are_small);
                let are_large = LENDS && !are_small;
                let mut buffer = vec![0; 1 << 17];
                for piece in 0..bytes / (1 << 20) * 7 {
                    assert_eq!(storage.lends_cached(true, FEW_BYTES), are_large);
                    storage.read_exact_at(piece << 16, &mut buffer).unwrap();
                }
                assert_eq!(storage.lends_cached(true, FEW_BYTES), (LENDS && is_kept) || are_large);
            }
            let mapped = CachedStorage::mapped(&path, FileStorage::open(&path).unwrap()).unwrap();
            assert!(mapped.lends_cached(true, bytes));
        }
    }

    #[test]
    fn short_runs_borrow_small_pages_and_longer_ones_until_they_are_many() {
        let (_directory, path) = temporary_file(b"");
        let storage = of_pages(&path, MOST_KEPT, true);
        let lends = |through| storage.lends_cached(true, through);
        let count = |through| (0..1000).take_while(|_| lends(through)).count() as u64;
        if LENDS {
            assert_eq!(count(SHORT_RUN - 1), 1000);
            assert_eq!(count(SHORT_RUN), FEW_BYTES / SHORT_RUN - 1);
            assert!(!lends(u64::MAX) && lends(1));
        }
    }

    #[test]
    fn runs_that_pick_parts_borrow_small_pages_and_those_that_read_through_copy() {
        let (_directory, path) = temporary_file(&vec![1; 20 << 20]);
        let way = |tasks: &dyn Tasks| {
            let storage = lending(&path);
            storage.small_pages.set(true).unwrap();
            let (_, report) = sums(&storage, tasks, &PipelineOptions::default(), |_| ()).unwrap();
            report.buffering
        };
        let picks = if LENDS { "borrowed" } else { "inline" };
        assert_eq!(way(&Halves(Pieces(20, 1 << 20), 1)), picks);
        assert_eq!(way(&Pieces(20, 1 << 20)), "inline");
    }

    #[test]
    fn pages_that_are_entered_count_as_large() {
        let (_directory, path) = temporary_file(&vec![7; 4 << 20]);
        let storage = lending(&path);
        storage.cached(0..4 << 20).unwrap();
        assert!(!storage.is_in_small_pages());
        assert!(storage.lends_cached(true, 4 << 20) == LENDS);
    }

    #[test]
    fn many_pages_are_unmapped_and_keep_their_content() {
        const PAGE: u64 = LARGE_PAGE as u64;
        let content: Vec<u8> = (0..1 << 20).map(|index| (index / 977) as u8).collect();
        let (_directory, path) = temporary_file(&content);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(MOST_KEPT + 1).unwrap();
        let storage = lending(&path);
        let bytes = storage.cached(0..1 << 20).unwrap();
        let marked = || storage.entered.get().unwrap().enter(&(0..0)) / PAGE;
        // Checking the same pages again maps none.
        for _ in 0..100 {
            assert!(storage.cached(0..1 << 20) == Some(&content[..]));
        }
        assert_eq!(marked(), 1);
        for page in 1..MOST_ENTERED / PAGE + 1 {
            assert_eq!(marked(), page);
            storage.cached(page * PAGE..page * PAGE + 1).unwrap();
        }
        assert!(marked() < MOST_ENTERED / PAGE);
        assert!(bytes == content);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pages_of_files_up_to_a_limit_stay_mapped() {
        const PAGE: u64 = LARGE_PAGE as u64;
        /// Returns the bytes of the file that are mapped and resident in this process.
        fn entered(path: &Path) -> u64 {
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let name = path.canonicalize().unwrap();
            let lines = maps.lines().skip_while(|line| !line.ends_with(name.to_str().unwrap()));
            let rss = lines.skip(1).find_map(|line| line.strip_prefix("Rss:"));
            rss.unwrap().trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
        }
        for (bytes, stays) in [(MOST_KEPT, true), (MOST_KEPT + PAGE, false)] {
            let (_directory, path) = temporary_file(b"");
            OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes).unwrap();
            let storage = lending(&path);
            for page in 0..MOST_KEPT / PAGE {
                storage.cached(page * PAGE..(page + 1) * PAGE).unwrap();
            }
            let many = MOST_ENTERED + 10 * PAGE;
            assert_eq!(entered(&path) > many, stays, "a file of {bytes} bytes");
        }
    }

    #[test]
    fn runs_look_at_the_page_cache_unless_buffers_were_asked_for() {
        let (_directory, path) = temporary_file(&[1; 1_200_000]);
        let storage = lending(&path);
        let tasks = Pieces(3, 400_000);
        let buffered = [Buffering::Single, Buffering::Double];
        for (buffering, expected) in [Buffering::Auto, buffered[0], buffered[1]].into_iter().zip([
            ("borrowed", 0),
            ("inline", 1_200_000),
            ("ahead", 1_200_000),
        ]) {
            let options = PipelineOptions { buffering, ..PipelineOptions::default() };
            let (result, report) = sums(&storage, &tasks, &options, |_| ()).unwrap();
            assert_eq!(result, [400_000; 3]);
            assert_eq!((report.buffering, report.read_bytes), expected);
        }
        // Bytes that several tasks use are copied.
        let tasks = Halves(Pieces(5, 200_000), 3);
        let (result, report) = sums(&storage, &tasks, &PipelineOptions::default(), |_| ()).unwrap();
        assert_eq!(result, [300_000; 5]);
        assert_eq!((report.buffering, report.read_bytes), ("inline", 1_500_000));
    }

    #[test]
    fn a_file_is_mapped_only_to_be_borrowed_from() {
        let (_directory, path) = temporary_file(&[1; 400_000]);
        let storage = lending(&path);
        for (buffering, is_mapped) in [(Buffering::Single, false), (Buffering::Auto, LENDS)] {
            let options = PipelineOptions { buffering, ..PipelineOptions::default() };
            sums(&storage, &Pieces(4, 100_000), &options, |_| ()).unwrap();
            assert_eq!(storage.map.get().is_some(), is_mapped, "{buffering:?}");
        }
    }

    #[test]
    fn a_file_cut_during_a_run_is_an_error_of_the_first_task_it_hurts() {
        for threads in [1, 3] {
            let (_directory, path) = temporary_file(&[1; 4_000_000]);
            let storage = lending(&path);
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            // Truncates the file before the sixth piece while that is being read.
            let cut = |index| {
                if index == 5 {
                    file.set_len(2_000_010).unwrap();
                }
            };
            let options = PipelineOptions { threads, ..PipelineOptions::default() };
            let error = sums(&storage, &Pieces(10, 400_000), &options, cut).unwrap_err();
            assert!(matches!(error, IoError::Short { size: 2_000_010, .. }), "{error}");
        }
    }
}
