//! The default storage: uses the bytes of a cached file through a memory map where that is faster
//! than copying, and reads otherwise.
//!
//! The cost of a map depends on the kernel, the file system and the size of the cached pages:
//! entering a page takes as long for 4 KiB as for 2 MiB. So the storage measures it for a large
//! file. The bytes are the same either way.

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use crate::aligned::{CACHE_LINE, LARGE_PAGE};
use crate::entered::{EnteredPages, MOST_ENTERED};
use crate::error::IoError;
use crate::file::FileStorage;
use crate::mmap::{GuardedMap, enter, intact};
use crate::storage::{Storage, Wanted};

/// Elsewhere the system does not tell what is in the page cache, and its pages are entered one at a time.
const LENDS: bool = cfg!(target_os = "linux");

/// Smaller files are not worth asking, which takes a part of a millisecond (docs/performance).
const LEAST_FILE: u64 = 64 << 20;

/// So few bytes are lent without asking: entering a page costs no more than the call that reads a range, and the next
/// request finds the page there (docs/performance).
const FEW_BYTES: u64 = 4 << 20;

/// How many bytes are copied at a time when the clock runs: as many as runs copy, which stay in the cache.
const COPIED: usize = 256 << 10;

/// The trial of both ways: the most places, the bytes of a file for each place, and the rounds at each. One file may lie
/// partly in large pages and partly in small ones.
const PLACES: u64 = 3;
const BYTES_OF_PLACE: u64 = 128 << 20;
const TRIES: usize = 2;

/// The largest file whose pages stay mapped: mapping them again for each column of a table takes up to two thirds of the
/// time of reading the column (docs/performance).
pub(crate) const MOST_KEPT: u64 = 512 << 20;

/// How often a file is asked in vain: it may begin with small pages and go on with large ones, and a clock may be wrong.
const ASKS: u32 = 4;

/// A file, read at offsets, of which what is in the page cache can be lent.
#[derive(Debug)]
pub struct CachedStorage {
    file: FileStorage,
    /// Lends any range, in the page cache or not.
    always: bool,
    /// Made on first use; none if the file cannot be mapped.
    map: OnceLock<Option<GuardedMap>>,
    /// How much of a page must be wanted that a map was found cheaper, in thousandths, and how often that was asked.
    least: AtomicU32,
    asked: AtomicU32,
    /// Made when pages are first counted.
    entered: OnceLock<EnteredPages>,
}

impl CachedStorage {
    /// Reads a file that is open.
    pub fn new(file: FileStorage) -> CachedStorage {
        CachedStorage {
            file,
            always: false,
            map: OnceLock::new(),
            least: AtomicU32::new(u32::MAX),
            asked: AtomicU32::new(0),
            entered: OnceLock::new(),
        }
    }

    /// The same, which lends any range, whether that is faster or not.
    ///
    /// # Errors
    /// If the file cannot be mapped.
    pub fn mapped(path: &Path, file: FileStorage) -> Result<CachedStorage, IoError> {
        // An empty file cannot be mapped, and has nothing to lend.
        let map = match file.bytes() {
            0 => None,
            _ => GuardedMap::of(file.file())
                .map_err(|source| IoError::Map { path: path.to_owned(), source })?,
        };
        Ok(CachedStorage { always: true, map: OnceLock::from(map), ..CachedStorage::new(file) })
    }

    /// One that need not ask.
    #[cfg(test)]
    fn lending(file: FileStorage) -> CachedStorage {
        CachedStorage { least: AtomicU32::new(0), ..CachedStorage::new(file) }
    }

    fn map(&self) -> Option<&GuardedMap> {
        self.map.get_or_init(|| GuardedMap::of(self.file.file()).ok().flatten()).as_ref()
    }

    /// The share of a large page, in thousandths, above which entering, reading and leaving it
    /// takes no longer than copying that share; `None` if one of them fails. Each try uses its own
    /// page, so that both ways load it from the same cache level, and the fastest counts: the first
    /// pages of a map also need page tables.
    fn ask(&self, range: Range<u64>) -> Option<u32> {
        let map = self.map()?;
        map.renew_guard();
        // Written to, so that no page of it is new to the system when the clock runs.
        let mut copy = vec![1; COPIED];
        let (mut copied, mut entered) = (Vec::new(), Vec::new());
        for (index, page) in map.slice(range.clone())?.chunks_exact(LARGE_PAGE).enumerate() {
            let begun = Instant::now();
            if index % 2 == 0 {
                for offset in (0..LARGE_PAGE).step_by(COPIED) {
                    let offset = range.start + (index * LARGE_PAGE + offset) as u64;
                    self.file.read_exact_at(offset, &mut copy).ok()?;
                    look_at(&copy);
                }
                copied.push(begun.elapsed());
            } else {
                enter(page);
                if map.is_broken() {
                    return None;
                }
                look_at(page);
                map.leave();
                entered.push(begun.elapsed());
            }
        }
        let (copied, entered) = (copied.into_iter().min()?, entered.into_iter().min()?);
        u32::try_from(1000 * entered.as_nanos() / copied.as_nanos().max(1)).ok()
    }

    /// Large pages spread over all that is taken, none of them where it begins: where the reading of a file begins, its pages
    /// are smaller.
    fn asked_about(&self, all: &Range<u64>) -> Vec<Range<u64>> {
        let page = LARGE_PAGE as u64;
        let bytes = 2 * TRIES as u64 * page;
        let places = (self.bytes() / BYTES_OF_PLACE).clamp(1, PLACES);
        let apart = all.end.saturating_sub(all.start) / (places + 1);
        let place = |place: u64| {
            let middle = all.start + (place + 1) * apart;
            let start = middle.saturating_sub(bytes / 2) / page * page;
            start..start.saturating_add(bytes).min(self.bytes())
        };
        (0..places).map(place).collect()
    }

    /// Releases the pages of a large file when they have become many.
    fn leave_after(&self, map: &GuardedMap, range: &Range<u64>) {
        if self.bytes() <= MOST_KEPT {
            return;
        }
        let entered = self.entered.get_or_init(|| EnteredPages::none_of(self.bytes()));
        if entered.enter(range) > MOST_ENTERED {
            entered.leave();
            map.leave();
        }
    }
}

/// Loads bytes into the processor in order, which suits the prefetcher best.
///
/// Reads whole cache lines, as kernels do. Reading one byte per line with [`Iterator::step_by`] was
/// slower and made a map seem slower than copies.
pub fn look_at(bytes: &[u8]) {
    let (words, _) = bytes.as_chunks::<8>();
    let (lines, rest) = words.as_chunks::<{ CACHE_LINE / 8 }>();
    let mut seen = [0; CACHE_LINE / 8];
    for line in lines {
        for (seen, word) in seen.iter_mut().zip(line) {
            *seen ^= u64::from_ne_bytes(*word);
        }
    }
    std::hint::black_box((seen, rest.first(), bytes.last()));
}

impl Storage for CachedStorage {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    fn kind(&self) -> &'static str {
        if self.always { "mapped" } else { "auto" }
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.file.read_exact_at(offset, buffer)
    }

    /// Measures, at most a few times without success.
    fn lends_cached(&self, wanted: &Wanted) -> bool {
        let enough = |least| wanted.share * 1000.0 > f64::from(least);
        if self.always || !wanted.free || enough(self.least.load(Ordering::Relaxed)) {
            return self.always || wanted.free;
        }
        if LENDS && wanted.bytes <= FEW_BYTES {
            return true;
        }
        let places = self.asked_about(&wanted.all);
        if !LENDS
            || self.bytes() < LEAST_FILE
            || !places.iter().all(|range| self.is_resident(range.clone()))
            || self.asked.fetch_add(1, Ordering::Relaxed) >= ASKS
        {
            return false;
        }
        // The worst place decides.
        let asked = places.into_iter().map(|range| self.ask(range).unwrap_or(u32::MAX));
        let least = asked.fold(0, u32::max);
        enough(self.least.fetch_min(least, Ordering::Relaxed).min(least))
    }

    fn keeps_pages(&self) -> bool {
        self.bytes() <= MOST_KEPT
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

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.file.check_unchanged()
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        self.file.is_resident(range)
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
    use super::{ASKS, CachedStorage, FEW_BYTES, LEAST_FILE, LENDS, MOST_ENTERED, MOST_KEPT};
    use crate::aligned::LARGE_PAGE;
    use crate::conformance::{storage_suite, temporary_file};
    use crate::{Buffering, FileStorage, IoError, Report, RunOptions, Storage, Tasks, Wanted, run};
    use std::fs::OpenOptions;
    use std::ops::Range;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    fn lending(path: &Path) -> CachedStorage {
        CachedStorage::lending(FileStorage::open(path).unwrap())
    }

    /// `bytes` bytes, in ranges of `length`.
    fn wanted(length: u64, bytes: u64, free: bool) -> Wanted {
        Wanted { range: 0..length, all: 0..bytes, share: 1.0, bytes, free }
    }

    /// Tasks of a fixed number of bytes.
    struct Pieces(u64, u64);

    impl Tasks for Pieces {
        fn len(&self) -> u64 {
            self.0
        }

        fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
            ranges.push(index * self.1..(index + 1) * self.1);
        }
    }

    /// The same, of which each has half of the next one's bytes as well.
    struct Overlapping(Pieces);

    impl Tasks for Overlapping {
        fn len(&self) -> u64 {
            self.0.0
        }

        fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
            self.0.ranges(index, ranges);
            ranges[0].end += self.0.1 / 2;
        }
    }

    /// The sum of the bytes of each piece; `before` is called before each.
    fn sums(
        storage: &CachedStorage,
        tasks: &dyn Tasks,
        options: &RunOptions<'_>,
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
    fn few_bytes_are_lent_and_small_files_are_not_asked() {
        let (_directory, path) = temporary_file(&[7; 1 << 20]);
        let storage = lending(&path);
        assert_eq!(storage.cached(5..400_005), Some(&[7; 400_000][..]));
        assert_eq!(storage.cached(7..8), Some(&[7][..]));
        assert!(storage.cached(5..(1 << 20) + 1).is_none());
        // Nothing is lent to callers that did not ask for the page cache.
        assert!(storage.slice(5..400_005).is_none());
        let asking = CachedStorage::new(FileStorage::open(&path).unwrap());
        for (bytes, free) in [(FEW_BYTES, true), (FEW_BYTES, false), (FEW_BYTES + 1, true)] {
            let lends = LENDS && free && bytes == FEW_BYTES;
            assert_eq!(asking.lends_cached(&wanted(4, bytes, free)), lends, "{bytes} {free}");
        }
        assert_eq!(asking.asked.into_inner(), 0);
    }

    #[test]
    fn a_large_file_is_asked_until_it_is_cheaper_and_not_for_ever() {
        let (_directory, path) = temporary_file(b"");
        OpenOptions::new().write(true).open(&path).unwrap().set_len(LEAST_FILE).unwrap();
        let storage = CachedStorage::new(FileStorage::open(&path).unwrap());
        let lends = |bytes, free| storage.lends_cached(&wanted(bytes, LEAST_FILE, free));
        if !LENDS {
            return assert!(!lends(LEAST_FILE, true));
        }
        // A share that nothing could be cheaper for is refused, however cheap a map is.
        let sparse = Wanted { share: 0.0, ..wanted(1, LEAST_FILE, true) };
        assert!(!storage.lends_cached(&sparse));
        assert_eq!(storage.asked.swap(0, Ordering::Relaxed), 1);
        storage.least.store(u32::MAX, Ordering::Relaxed);
        let lent = (0..2 * ASKS).position(|_| lends(1, true));
        let asked = storage.asked.load(Ordering::Relaxed);
        match lent {
            // Once bytes were lent, it is not measured again.
            Some(refused) => {
                assert_eq!(asked, refused as u32 + 1);
                assert!(lends(1, true) && !lends(1, false));
                let least = f64::from(storage.least.load(Ordering::Relaxed)) / 1000.0;
                let share = |share| Wanted { share, ..wanted(1, LEAST_FILE, true) };
                assert!(storage.lends_cached(&share(least + 0.001)));
                assert!(!storage.lends_cached(&share(least)));
            }
            None => assert!(asked >= ASKS),
        }
    }

    #[test]
    fn a_file_is_asked_about_all_that_is_taken_of_it() {
        const PAGE: u64 = LARGE_PAGE as u64;
        let (_directory, path) = temporary_file(b"");
        let pages_of = |file: u64, all: Range<u64>| {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(file).unwrap();
            let storage = CachedStorage::new(FileStorage::open(&path).unwrap());
            let pages = |range: &Range<u64>| (range.start / PAGE, range.end.div_ceil(PAGE));
            storage.asked_about(&all).iter().map(pages).collect::<Vec<_>>()
        };
        let pages = |all| pages_of(200 * PAGE + 5, all);
        assert_eq!(pages(0..80 * PAGE), [(18, 22), (38, 42), (58, 62)]);
        assert_eq!(pages(10 * PAGE + 1..50 * PAGE), [(18, 22), (27, 31), (37, 41)]);
        // Little of it, and the end of a file.
        assert_eq!(pages(0..PAGE), [(0, 4); 3]);
        assert_eq!(pages(200 * PAGE..200 * PAGE + 5), [(198, 201); 3]);
        // Smaller files at fewer places.
        assert_eq!(pages_of(100 * PAGE, 0..80 * PAGE), [(38, 42)]);
    }

    #[test]
    fn many_pages_are_unmapped_and_keep_their_content() {
        const PAGE: u64 = LARGE_PAGE as u64;
        let content: Vec<u8> = (0..1 << 20).map(|index| (index / 977) as u8).collect();
        let (_directory, path) = temporary_file(&content);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(MOST_KEPT + 1).unwrap();
        let storage = lending(&path);
        let kept = storage.cached(0..1 << 20).unwrap();
        let marked = || storage.entered.get().unwrap().enter(&(0..0)) / PAGE;
        // To look at the same pages again costs none.
        for _ in 0..100 {
            assert!(storage.cached(0..1 << 20) == Some(&content[..]));
        }
        assert_eq!(marked(), 1);
        for page in 1..MOST_ENTERED / PAGE + 1 {
            assert_eq!(marked(), page);
            storage.cached(page * PAGE..page * PAGE + 1).unwrap();
        }
        assert_eq!(marked(), 0);
        assert!(kept == content);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pages_of_files_up_to_a_limit_stay_mapped() {
        const PAGE: u64 = LARGE_PAGE as u64;
        /// Mapped bytes of a file in the resident memory of this process.
        fn entered(path: &Path) -> u64 {
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let name = path.canonicalize().unwrap();
            let lines = maps.lines().skip_while(|line| !line.ends_with(name.to_str().unwrap()));
            let found = lines.skip(1).find_map(|line| line.strip_prefix("Rss:"));
            found.unwrap().trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
        }
        for (bytes, stays) in [(MOST_KEPT, true), (MOST_KEPT + PAGE, false)] {
            let (_directory, path) = temporary_file(b"");
            OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes).unwrap();
            let storage = lending(&path);
            let first = 0..MOST_ENTERED / 2;
            let all = storage.cached(first.clone()).unwrap();
            super::look_at(all);
            assert!(entered(&path) >= first.end);
            for page in first.end / PAGE..MOST_ENTERED / PAGE + 1 {
                storage.cached(page * PAGE..page * PAGE + 1).unwrap();
            }
            assert_eq!(entered(&path) >= first.end, stays, "a file of {bytes} bytes");
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
            let options = RunOptions { buffering, ..RunOptions::default() };
            let (found, report) = sums(&storage, &tasks, &options, |_| ()).unwrap();
            assert_eq!(found, [400_000; 3]);
            assert_eq!((report.buffering, report.read_bytes), expected);
        }
        // Bytes that several tasks use are copied.
        let tasks = Overlapping(Pieces(5, 200_000));
        let (found, report) = sums(&storage, &tasks, &RunOptions::default(), |_| ()).unwrap();
        assert_eq!(found, [300_000; 5]);
        assert_eq!((report.buffering, report.read_bytes), ("inline", 1_500_000));
    }

    #[test]
    fn a_file_cut_during_a_run_is_an_error_of_the_first_task_it_hurts() {
        for threads in [1, 3] {
            let (_directory, path) = temporary_file(&[1; 4_000_000]);
            let storage = lending(&path);
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            // Removes the sixth piece and the rest while it is being read.
            let cut = |index| {
                if index == 5 {
                    file.set_len(2_000_010).unwrap();
                }
            };
            let options = RunOptions { threads, ..RunOptions::default() };
            let error = sums(&storage, &Pieces(10, 400_000), &options, cut).unwrap_err();
            assert!(matches!(error, IoError::Short { size: 2_000_010, .. }), "{error}");
        }
    }
}
