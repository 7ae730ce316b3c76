//! Promises of a run: order, same bytes, lowest error, no deadlock, limited memory. Speed is not tested.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use proptest::prelude::*;

use super::{Arrangement, Buffering, PipelineOptions, Tasks, Watch, run};
use crate::conformance::temporary_file;
use crate::fetch::Extent;
use crate::storage::Id;
use crate::{CachedStorage, DirectStorage, FileStorage, IoError, MemoryStorage, Report, Storage};
use crate::{CancelToken, Executor, Job, Lend, Profile};

/// A list of ranges per task.
struct Lists(Vec<Vec<Range<u64>>>);

impl Tasks for Lists {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        ranges.extend_from_slice(&self.0[index as usize]);
    }
}

/// The same tasks, whose work uses all bytes lent by the storage.
struct Extents<'a>(&'a Lists);

impl Tasks for Extents<'_> {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        self.0.ranges(index, ranges);
    }

    fn extent(&self, index: u64) -> Option<Extent> {
        let ranges = || self.0.0[index as usize].iter().filter(|range| !range.is_empty());
        let start = ranges().map(|range| range.start).min()?;
        let end = ranges().map(|range| range.end).max()?;
        let bytes = ranges().map(|range| range.end - range.start).sum();
        Some(Extent { bytes, within: start..end })
    }
}

/// Returns consecutive tasks of 100 bytes.
fn hundreds(count: u64) -> Lists {
    let range = |index| index * 100..index * 100 + 100;
    Lists((0..count).map(|index| Vec::from([range(index)])).collect())
}

/// A storage with a configurable number of cached bytes and none in memory; it records the hints, and panics if
/// configured.
#[derive(Debug)]
struct Device {
    content: Vec<u8>,
    hints: Mutex<Vec<Range<u64>>>,
    cached: u64,
    reads_far_ahead: bool,
    panics_at: Option<u64>,
}

impl Device {
    fn new(length: usize) -> Device {
        let content = (0..length).map(|index| (index ^ (index / 253)) as u8).collect();
        Device {
            content,
            hints: Mutex::default(),
            cached: 0,
            reads_far_ahead: false,
            panics_at: None,
        }
    }
}

impl Storage for Device {
    fn id(&self) -> &Id {
        static ID: Id = Id::named("device");
        &ID
    }

    fn bytes(&self) -> u64 {
        self.content.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.check_within(offset, buffer.len() as u64)?;
        assert!(Some(offset) != self.panics_at, "the device panicked");
        buffer.copy_from_slice(&self.content[offset as usize..][..buffer.len()]);
        Ok(())
    }

    fn profile(&self) -> Profile {
        Profile::DEVICE
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        range.end <= self.cached
    }

    fn lend(&self) -> Option<&dyn Lend> {
        Some(self)
    }
}

impl Lend for Device {
    fn reads_far_ahead(&self) -> bool {
        self.reads_far_ahead
    }

    fn will_need(&self, range: Range<u64>) {
        self.hints.lock().unwrap().push(range);
    }
}

#[derive(Debug)]
enum Failure {
    Io(IoError),
    Task(u64),
}

impl From<IoError> for Failure {
    fn from(error: IoError) -> Failure {
        Failure::Io(error)
    }
}

/// Returns a job with its own executor, so that concurrent tests do not take its permits.
fn own_job(threads: usize) -> &'static Job {
    Box::leak(Box::new(Job::on(&Executor::new(threads))))
}

/// Returns every arrangement to test: few and many threads, inline and ahead.
fn arrangements() -> Vec<PipelineOptions<'static>> {
    let mut all = Vec::new();
    for buffering in [Buffering::Auto, Buffering::Single, Buffering::Double] {
        for (threads, ahead) in [(1, 1), (1, 2), (2, 1), (3, 0), (8, 3)] {
            for waiting in [0, 1] {
                let job = Some(own_job(threads));
                all.push(PipelineOptions { threads, buffering, ahead, waiting, watch: None, job });
            }
        }
    }
    all
}

fn describe(options: &PipelineOptions<'_>) -> String {
    format!("{:?}, {} threads, {} ahead", options.buffering, options.threads, options.ahead)
}

/// Runs tasks and returns the bytes of all their pieces, checking the order of merging.
fn collect(
    storage: &dyn Storage,
    tasks: &dyn Tasks,
    options: &PipelineOptions<'_>,
) -> Result<(Report, Vec<Vec<u8>>), Failure> {
    let mut merged = Vec::new();
    let report = run(
        storage,
        tasks,
        options,
        || (),
        |(), _, fetched| {
            let pieces = (0..fetched.pieces()).map(|piece| fetched.piece(piece));
            Ok(pieces.collect::<Vec<_>>().concat())
        },
        |index, bytes| {
            assert_eq!(index, merged.len() as u64);
            merged.push(bytes);
            Ok::<(), Failure>(())
        },
    )?;
    Ok((report, merged))
}

proptest! {
    #[test]
    fn bytes_that_are_all_lent_are_those_of_the_ranges(
        tasks in prop::collection::vec(
            prop::collection::vec((0u64..300_000, 0u64..90_000), 0..6), 1..6,
        ),
    ) {
        let content = Device::new(400_000).content;
        let (_directory, path) = temporary_file(&content);
        let mapped = CachedStorage::mapped(&path, FileStorage::open(&path).unwrap()).unwrap();
        let memory = MemoryStorage::new("memory", content.clone());
        let read = FileStorage::open(&path).unwrap();
        let ranges = |task: Vec<(u64, u64)>| task.into_iter().map(|(at, bytes)| at..at + bytes);
        let lists = Lists(tasks.into_iter().map(|task| ranges(task).collect()).collect());
        let lists_of = |index: u64| lists.0[index as usize].clone().into_iter();
        let storages: [(&dyn Storage, bool); 3] = [(&mapped, true), (&memory, true), (&read, false)];
        for (storage, lends) in storages {
            for threads in [1, 3] {
                let options = PipelineOptions { threads, ..Default::default() };
                let expected = collect(storage, &lists, &options).unwrap();
                let mut found = Vec::new();
                let report = run(
                    storage,
                    &Extents(&lists),
                    &options,
                    || (),
                    |(), index, fetched| {
                        let is_lent = fetched.lent(0..0, true).is_some();
                        assert_eq!(is_lent, lends && lists_of(index).any(|range| !range.is_empty()));
                        let bytes = (0..).zip(lists_of(index)).map(|(piece, range)| {
                            fetched.lent(range, piece % 2 == 0).unwrap_or_else(|| fetched.piece(piece))
                        });
                        Ok(bytes.collect::<Vec<_>>().concat())
                    },
                    |_, bytes| {
                        found.push(bytes);
                        Ok::<(), Failure>(())
                    },
                );
                let report = report.unwrap();
                prop_assert_eq!((report.bytes, report.read_bytes), (expected.0.bytes, expected.0.read_bytes));
                prop_assert!(found == expected.1);
            }
        }
    }
}

#[test]
fn a_file_cut_while_all_of_it_is_lent_is_an_error() {
    let (_directory, path) = temporary_file(&[1; 400_000]);
    let storage = CachedStorage::mapped(&path, FileStorage::open(&path).unwrap()).unwrap();
    let lists = hundreds(4000);
    let mut merged = 0;
    let outcome = run(
        &storage,
        &Extents(&lists),
        &PipelineOptions::default().threads(1),
        || std::fs::OpenOptions::new().write(true).open(&path).unwrap(),
        |file, index, fetched| {
            if index == 5 {
                file.set_len(550).unwrap();
            }
            Ok(fetched.lent(index * 100..index * 100 + 100, true).unwrap().len())
        },
        |_, _| {
            merged += 1;
            Ok::<(), IoError>(())
        },
    );
    let error = outcome.unwrap_err();
    assert!(
        matches!(error, IoError::Short { offset: 500, expected: 100, size: 550, .. }),
        "{error}"
    );
    assert_eq!(merged, 5);
}

#[test]
fn nothing_to_do_is_done() {
    for options in arrangements() {
        let (report, merged) = collect(&Device::new(0), &Lists(vec![]), &options).unwrap();
        assert_eq!((report.bytes, report.threads, merged.len()), (0, 1, 0));
        let empty = Lists(vec![vec![], vec![]]);
        let (_, merged) = collect(&Device::new(0), &empty, &options).unwrap();
        assert_eq!(merged, [Vec::<u8>::new(), Vec::new()]);
    }
}

#[test]
fn one_worker_is_the_calling_thread() {
    let options =
        PipelineOptions { threads: 1, buffering: Buffering::Single, ..Default::default() };
    let caller = thread::current().id();
    let here = || assert_eq!(thread::current().id(), caller);
    run(
        &Device::new(1000),
        &hundreds(10),
        &options,
        here,
        |_, _, _| {
            here();
            Ok(())
        },
        |_, ()| {
            here();
            Ok::<(), IoError>(())
        },
    )
    .unwrap();
}

#[test]
fn scratch_is_made_once_per_worker() {
    for options in arrangements() {
        let made = AtomicUsize::new(0);
        let scratch = || made.fetch_add(1, Ordering::Relaxed);
        run(
            &Device::new(10_000),
            &hundreds(100),
            &options,
            scratch,
            |_, _, _| Ok(()),
            |_, ()| Ok::<(), IoError>(()),
        )
        .unwrap();
        assert_eq!(made.into_inner(), options.threads, "{}", describe(&options));
    }
}

#[test]
fn the_arrangement_follows_from_the_storage() {
    let (_directory, path) = temporary_file(&[1; 10_000]);
    let options = PipelineOptions { threads: 2, ..PipelineOptions::default() };
    let double = PipelineOptions { buffering: Buffering::Double, ..options };
    let chosen = |storage: &dyn Storage, options| {
        let (report, _) = collect(storage, &hundreds(100), options).unwrap();
        (report.buffering, report.storage, report.bytes, report.read_bytes)
    };
    let file = FileStorage::open(&path).unwrap();
    let mapped = CachedStorage::mapped(&path, FileStorage::open(&path).unwrap()).unwrap();
    let memory = MemoryStorage::new("memory", vec![1; 10_000]);
    // The file was just written, so it is in the page cache.
    assert_eq!(chosen(&file, &options), ("inline", "positioned", 10_000, 10_000));
    assert_eq!(chosen(&file, &double), ("ahead", "positioned", 10_000, 10_000));
    assert_eq!(chosen(&mapped, &double), ("borrowed", "mapped", 10_000, 0));
    assert_eq!(chosen(&memory, &options), ("borrowed", "memory", 10_000, 0));
    assert_eq!(chosen(&Device::new(10_000), &options), ("ahead", "other", 10_000, 10_000));
}

#[test]
fn a_file_of_which_the_beginning_is_cached_is_not_taken_to_be_in_the_cache() {
    // Each task needs a few bytes of every 1000, like tasks that visit all planes of a cube, and only the first is
    // cached.
    let piece = |task: u64, plane: u64| plane * 1000 + task * 50..plane * 1000 + (task + 1) * 50;
    let task = |task| (0..10).map(|plane| piece(task, plane)).collect();
    let tasks = Lists((0..20).map(task).collect());
    let buffering = |cached| {
        let device = Device { cached, ..Device::new(10_000) };
        collect(&device, &tasks, &PipelineOptions::default()).unwrap().0.buffering
    };
    assert_eq!(buffering(10_000), "inline");
    assert_eq!(buffering(1000), "ahead");
}

#[test]
fn large_blocks_are_read_less_far_ahead() {
    let chosen = |bytes: u64| {
        let range = |index: u64| 2 * index * bytes..(2 * index + 1) * bytes;
        let tasks = Lists((0..20).map(|index| Vec::from([range(index)])).collect());
        let arrangement = Arrangement::choose(&Device::new(0), &tasks, &PipelineOptions::default());
        (arrangement.ahead, arrangement.hints)
    };
    assert_eq!(chosen(100), (8, 8));
    assert_eq!(chosen(4 << 20), (8, 8));
    assert_eq!(chosen(6 << 20), (5, 5));
    assert_eq!(chosen(16 << 20), (4, 2));
    assert_eq!(chosen(32 << 20), (2, 1));
    assert_eq!(chosen(1 << 40), (2, 1));
}

#[test]
fn uncached_ranges_are_announced_once() {
    for options in arrangements() {
        let hinted_by = |tasks: &Lists, reads_far_ahead| {
            let device = Device { reads_far_ahead, ..Device::new(100 * 200) };
            collect(&device, tasks, &options).unwrap();
            let mut hints = device.hints.into_inner().unwrap();
            hints.sort_by_key(|range| range.start);
            hints
        };
        let hinted = |tasks: &Lists| hinted_by(tasks, true);
        let mut tasks = hundreds(200);
        tasks.0 = tasks.0.into_iter().step_by(2).collect();
        let expected: Vec<_> = tasks.0.iter().skip(1).flatten().cloned().collect();
        assert_eq!(hinted(&tasks), expected, "{}", describe(&options));
        tasks.0.reverse();
        assert_eq!(hinted(&tasks).len(), 99, "{}", describe(&options));
        // Sequential reads, with overlaps, are announced only to a kernel that does not read far ahead.
        assert_eq!(hinted_by(&hundreds(100), false).len(), 99, "{}", describe(&options));
        assert_eq!(hinted(&hundreds(100)), [], "{}", describe(&options));
        let overlap = |index| Vec::from([index..index + 60, index + 60..index + 150]);
        let overlapping = Lists((0..99).map(|index| overlap(index * 100)).collect());
        assert_eq!(hinted(&overlapping), [], "{}", describe(&options));
    }
}

#[test]
fn the_lowest_failing_task_is_reported_and_all_below_are_merged() {
    for options in arrangements() {
        for lowest in [0, 1, 17, 99] {
            let mut merged = 0;
            let result = run(
                &Device::new(10_000),
                &hundreds(100),
                &options,
                || (),
                // Higher tasks fail too, and earlier.
                |(), index, _| match index {
                    _ if index > lowest && index % 3 == 0 => Err(Failure::Task(index)),
                    _ if index == lowest => {
                        thread::yield_now();
                        Err(Failure::Task(index))
                    }
                    _ => Ok(()),
                },
                |_, ()| {
                    merged += 1;
                    Ok(())
                },
            );
            let failed = matches!(result, Err(Failure::Task(index)) if index == lowest);
            assert!(failed && merged == lowest, "{}: {result:?}", describe(&options));
        }
    }
}

#[test]
fn a_failing_merge_stops_the_run() {
    for options in arrangements() {
        let mut merged = 0;
        let fails = |index, ()| {
            assert_eq!(index, merged);
            merged += 1;
            if index == 40 { Err(Failure::Task(index)) } else { Ok(()) }
        };
        let result =
            run(&Device::new(10_000), &hundreds(100), &options, || (), |_, _, _| Ok(()), fails);
        assert!(matches!(result, Err(Failure::Task(40))), "{}", describe(&options));
        assert_eq!(merged, 41);
    }
}

#[test]
fn a_read_beyond_the_end_says_where() {
    for options in arrangements() {
        let error = collect(&Device::new(5_050), &hundreds(100), &options).unwrap_err();
        let Failure::Io(IoError::Short { offset, expected, size, .. }) = error else {
            panic!("{}: {error:?}", describe(&options))
        };
        assert_eq!((offset, expected, size), (5000, 100, 5050));
    }
}

/// Cancels after a number of bytes, and records the reported numbers.
struct Impatient {
    limit: u64,
    seen: Mutex<Vec<u64>>,
    token: CancelToken,
}

impl Impatient {
    /// Returns an observer and the job that it cancels.
    fn new(limit: u64, options: &PipelineOptions<'_>) -> (Impatient, Job) {
        let token = CancelToken::new();
        let job = options.job.expect("a job").clone().with_token(token.clone());
        (Impatient { limit, seen: Mutex::default(), token }, job)
    }
}

impl Watch for Impatient {
    fn progress(&self, bytes_done: u64) {
        let mut seen = self.seen.lock().unwrap();
        // Threads that wait or merge call again with the same number.
        if seen.last() != Some(&bytes_done) && bytes_done > 0 {
            seen.push(bytes_done);
        }
        if bytes_done >= self.limit {
            self.token.cancel();
        }
    }
}

#[test]
fn progress_rises_to_the_bytes_of_the_report() {
    for options in arrangements() {
        let (watch, job) = Impatient::new(u64::MAX, &options);
        let options = PipelineOptions { watch: Some(&watch), job: Some(&job), ..options };
        let (report, _) = collect(&Device::new(10_000), &hundreds(100), &options).unwrap();
        let expected: Vec<u64> = (1..=100).map(|done| done * 100).collect();
        assert_eq!(*watch.seen.lock().unwrap(), expected, "{}", describe(&options));
        assert_eq!(report.bytes, 10_000);
    }
}

#[test]
fn a_token_cancels() {
    for options in arrangements() {
        let (watch, job) = Impatient::new(1000, &options);
        let options = PipelineOptions { watch: Some(&watch), job: Some(&job), ..options };
        let error = collect(&Device::new(100_000), &hundreds(1000), &options).unwrap_err();
        assert!(matches!(error, Failure::Io(IoError::Cancelled)), "{error:?}");
        // Only current tasks are finished.
        let finished = watch.seen.lock().unwrap().len();
        assert!(finished <= 10 + options.threads, "{finished}: {}", describe(&options));
    }
}

#[test]
fn a_token_cancels_within_a_task() {
    for options in arrangements() {
        let (watch, job) = Impatient::new(0, &options);
        let options = PipelineOptions { watch: Some(&watch), job: Some(&job), ..options };
        let (steps, merged) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let outcome = run(
            &Device::new(100_000),
            &hundreds(1000),
            &options,
            || (),
            |(), _, fetched| {
                while !fetched.is_cancelled() {
                    steps.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<_, Failure>(())
            },
            |_, ()| {
                merged.fetch_add(1, Ordering::Relaxed);
                Ok(())
            },
        );
        assert!(matches!(outcome.unwrap_err(), Failure::Io(IoError::Cancelled)));
        assert_eq!((steps.into_inner(), merged.into_inner()), (0, 0), "{}", describe(&options));
    }
}

#[test]
fn a_panic_anywhere_reaches_the_caller() {
    let panics = |place: &str, options: &PipelineOptions<'_>| {
        let mut device = Device::new(10_000);
        device.panics_at = (place == "device").then_some(3000);
        let count = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            run(
                &device,
                &hundreds(100),
                options,
                || {
                    let number = count.fetch_add(1, Ordering::Relaxed);
                    assert!(place != "scratch" || number + 1 < options.threads, "scratch panicked");
                },
                |(), index, _| {
                    assert!(place != "work" || index != 30, "the work panicked");
                    Ok(())
                },
                |index, ()| {
                    assert!(place != "merge" || index != 30, "the merge panicked");
                    Ok::<(), IoError>(())
                },
            )
        }));
        let payload = result.expect_err("a panic");
        let message = payload.downcast_ref::<&str>().expect("the message of the panic");
        assert!(message.ends_with("panicked"), "{message}");
    };
    for options in arrangements() {
        for place in ["device", "scratch", "work", "merge"] {
            panics(place, &options);
        }
    }
}

#[test]
fn results_wait_within_a_window() {
    for options in arrangements() {
        let merged = AtomicU64::new(0);
        run(
            &Device::new(100_000),
            &hundreds(1000),
            &options,
            || (),
            |(), index, _| {
                let ahead = index - merged.load(Ordering::SeqCst).min(index);
                assert!(ahead <= 8 + 8 + 3 * 8, "{ahead} ahead: {}", describe(&options));
                Ok(())
            },
            |index, ()| {
                // One slow task: the others must not run too far ahead.
                if index == 3 {
                    thread::sleep(std::time::Duration::from_millis(2));
                }
                merged.store(index + 1, Ordering::SeqCst);
                Ok::<(), IoError>(())
            },
        )
        .unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_arrangement_gives_the_same_bytes_in_order(
        lists in prop::collection::vec(
            prop::collection::vec((0u64..300_000, 0u64..50_000, any::<bool>()), 0..6),
            0..40,
        ),
        threads in 0usize..6,
        blocks in 0usize..4,
        buffering in prop::sample::select(vec![
            Buffering::Auto,
            Buffering::Single,
            Buffering::Double,
        ]),
    ) {
        let device = Device::new(300_000);
        let (_directory, path) = temporary_file(&device.content);
        let range = |&(start, length, short): &(u64, u64, bool)| {
            let length = if short { length % 17 } else { length };
            start..(start + length).min(300_000)
        };
        let tasks = Lists(lists.iter().map(|list| list.iter().map(range).collect()).collect());
        let expected: Vec<Vec<u8>> = tasks.0.iter().map(|ranges| {
            let pieces = ranges.iter().map(|r| &device.content[r.start as usize..r.end as usize]);
            pieces.collect::<Vec<_>>().concat()
        }).collect();
        let mut storages: Vec<Box<dyn Storage>> = vec![
            Box::new(FileStorage::open(&path).unwrap()),
            Box::new(CachedStorage::mapped(&path, FileStorage::open(&path).unwrap()).unwrap()),
            Box::new(MemoryStorage::new("memory", device.content.clone())),
        ];
        storages.extend(DirectStorage::open(&path).ok().map(|direct| Box::new(direct) as _));
        storages.push(Box::new(device));
        let options = PipelineOptions { threads, buffering, ahead: blocks, ..PipelineOptions::default() };
        for storage in &storages {
            let (report, merged) = collect(&**storage, &tasks, &options).unwrap();
            prop_assert_eq!(&merged, &expected);
            let wanted: usize = expected.iter().map(Vec::len).sum();
            prop_assert_eq!(report.bytes, wanted as u64);
        }
    }
}

/// Counts the calls on one thread.
#[derive(Debug)]
struct CallsOf(thread::ThreadId, AtomicU64);

impl Watch for CallsOf {
    fn progress(&self, _bytes_done: u64) {
        if thread::current().id() == self.0 {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn the_calling_thread_asks_the_watch_while_another_works_on() {
    for slow_merge in [false, true] {
        let calls = CallsOf(thread::current().id(), AtomicU64::new(0));
        let both = std::sync::Barrier::new(2);
        let is_asked = || {
            let count = || calls.1.load(Ordering::SeqCst);
            let wanted = count() + 3;
            let mut rounds = 0..1000;
            while count() < wanted {
                rounds.next().expect("the calling thread sleeps");
                thread::sleep(std::time::Duration::from_millis(10));
            }
        };
        let is_other = || thread::current().id() != calls.0;
        let options = PipelineOptions {
            threads: 2,
            buffering: Buffering::Single,
            watch: Some(&calls),
            job: Some(own_job(2)),
            ..PipelineOptions::default()
        };
        // Few bytes in memory would use one thread.
        let storage = Device::new(200);
        let work = || {
            both.wait();
            if is_other() && !slow_merge {
                is_asked();
            }
        };
        let merge = || {
            if is_other() && slow_merge {
                is_asked();
            }
        };
        let ended = run(
            &storage,
            &hundreds(2),
            &options,
            || (),
            |(), _, _| {
                work();
                Ok::<_, Failure>(())
            },
            |_, ()| {
                merge();
                Ok(())
            },
        );
        ended.unwrap();
    }
}
