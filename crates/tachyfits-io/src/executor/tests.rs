//! Promises of an executor: never more threads than permits, turns, priorities, limits, and all permits returned.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{ActiveRun, CancelToken, Entry, Executor, Job, Permits, Priority, without_permit};
use crate::conformance::temporary_file;
use crate::storage::{Id, Request};
use crate::{Buffering, FileStorage, IoError, MemoryStorage, PipelineOptions, Profile, Storage};
use crate::{Tasks, fetch, fill, run};

/// Tasks of ten bytes each, or of none.
struct Tens(u64, bool);

impl Tasks for Tens {
    fn len(&self) -> u64 {
        self.0
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        if self.1 {
            ranges.push(index * 10..index * 10 + 10);
        }
    }
}

/// Counts threads that work at the same time.
#[derive(Debug, Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Gauge {
    fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let result = work();
        self.now.fetch_sub(1, Ordering::SeqCst);
        result
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

fn nap() {
    thread::sleep(Duration::from_micros(200));
}

/// Waits for a condition that must become true.
fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never comes");
        thread::yield_now();
    }
}

impl Executor {
    /// Returns the number of runs of this executor.
    fn runs(&self) -> usize {
        self.lock().runs.len()
    }

    /// Returns the number of threads that wait for a permit.
    fn waiting(&self) -> usize {
        self.lock().runs.iter().map(|entry| entry.waiting).sum()
    }

    /// Whether no run has or needs a permit.
    fn is_idle(&self) -> bool {
        self.in_use() == 0 && self.runs() == 0
    }
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index ^ (index / 253)) as u8).collect()
}

/// Sums the bytes of tasks, calling `each` in every task.
fn sums(
    storage: &dyn Storage,
    tasks: &Tens,
    options: &PipelineOptions<'_>,
    each: &(dyn Fn(u64) + Sync),
) -> Result<Vec<u64>, IoError> {
    let mut sums = Vec::new();
    run(
        storage,
        tasks,
        options,
        || (),
        |(), index, fetched| {
            each(index);
            let bytes = (0..fetched.pieces()).flat_map(|piece| fetched.piece(piece));
            Ok(bytes.map(|&byte| u64::from(byte)).sum())
        },
        |_, sum| {
            sums.push(sum);
            Ok::<(), IoError>(())
        },
    )?;
    Ok(sums)
}

/// Runs tasks that only call `each`.
fn work(job: &Job, tasks: u64, each: &(dyn Fn(u64) + Sync)) -> Result<(), IoError> {
    let options = PipelineOptions { job: Some(job), ..PipelineOptions::default() };
    sums(&MemoryStorage::new("none", []), &Tens(tasks, false), &options, each).map(|_| ())
}

#[test]
fn many_runs_compute_on_no_more_threads_than_there_are_permits() {
    let bytes = content(400);
    let (_directory, path) = temporary_file(&bytes);
    let file = FileStorage::open(&path).unwrap();
    let expected: Vec<u64> =
        bytes.chunks(10).map(|ten| ten.iter().map(|&byte| u64::from(byte)).sum()).collect();
    for permits in 1..4 {
        let (executor, gauge) = (Executor::new(permits), Gauge::default());
        thread::scope(|scope| {
            for number in 0..6 {
                let (job, gauge, file, expected) = (Job::on(&executor), &gauge, &file, &expected);
                scope.spawn(move || {
                    let buffering =
                        [Buffering::Auto, Buffering::Single, Buffering::Double][number % 3];
                    let options = PipelineOptions {
                        buffering,
                        job: Some(&job),
                        ..PipelineOptions::default()
                    };
                    let each = |_| gauge.during(nap);
                    let result = sums(file, &Tens(40, true), &options, &each).unwrap();
                    assert_eq!(&result, expected);
                    let mut out = [0; 400];
                    fill(file, 0, &mut out, 10, &options, |_| gauge.during(nap)).unwrap();
                });
            }
        });
        assert!(gauge.most() <= permits, "{} threads, {permits} permits", gauge.most());
        assert!(executor.is_idle());
    }
}

#[test]
fn one_run_has_all_permits() {
    let (executor, barrier) = (Executor::new(3), std::sync::Barrier::new(3));
    work(&Job::on(&executor), 3, &|_| {
        barrier.wait();
    })
    .unwrap();
    assert!(executor.is_idle());
}

#[test]
fn a_run_gets_the_permits_of_one_that_ends() {
    let executor = Executor::new(2);
    let (first_ends, gauge) = (AtomicBool::new(false), Gauge::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            work(&Job::on(&executor), 1, &|_| until(|| first_ends.load(Ordering::SeqCst))).unwrap();
        });
        until(|| executor.in_use() == 1);
        work(&Job::on(&executor), 1000, &|index| {
            first_ends.store(index >= 10, Ordering::SeqCst);
            gauge.during(nap);
        })
        .unwrap();
    });
    assert_eq!(gauge.most(), 2);
}

#[test]
fn a_second_run_gets_its_share_of_permits_that_the_first_one_holds() {
    let executor = Executor::new(4);
    let (first, second, all) = (Gauge::default(), Gauge::default(), Gauge::default());
    let job = Job::on(&executor);
    thread::scope(|scope| {
        let (executor, job, first, second, all) = (&executor, &job, &first, &second, &all);
        scope.spawn(move || {
            // The first run never ends by itself.
            let error = work(job, u64::MAX, &|_| first.during(|| all.during(nap))).unwrap_err();
            assert_eq!(error.code(), "io-cancelled");
        });
        until(|| first.most() == 4);
        work(&Job::on(executor), 1000, &|_| second.during(|| all.during(nap))).unwrap();
        job.token().cancel();
    });
    assert!(second.most() >= 2);
    assert_eq!((all.most(), executor.is_idle()), (4, true));
}

#[test]
fn equal_runs_take_turns() {
    let executor = Executor::build(1, false, Duration::ZERO);
    let order = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for name in ['a', 'b', 'c'] {
            let (executor, order) = (&executor, &order);
            scope.spawn(move || {
                work(&Job::on(executor), 20, &|_| {
                    // The first task waits until the others have arrived.
                    until(|| executor.waiting() == 2 || !order.lock().unwrap().is_empty());
                    order.lock().unwrap().push(name);
                })
                .unwrap();
            });
        }
    });
    let order = order.into_inner().unwrap();
    // In the first 50 tasks, no run gets two before each of the others has had one.
    for three in order[..51].chunks(3) {
        assert!(['a', 'b', 'c'].iter().all(|name| three.contains(name)), "{order:?}");
    }
}

#[test]
fn a_turn_lasts() {
    let executor = Executor::build(1, false, Duration::from_secs(3600));
    let order = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for name in ['a', 'b'] {
            let (executor, order) = (&executor, &order);
            scope.spawn(move || {
                work(&Job::on(executor), 5, &|_| {
                    until(|| executor.waiting() == 1 || !order.lock().unwrap().is_empty());
                    order.lock().unwrap().push(name);
                })
                .unwrap();
            });
        }
    });
    let order = order.into_inner().unwrap();
    assert!(order[..5].iter().all(|name| *name == order[0]), "{order:?}");
}

#[test]
fn higher_priorities_come_first() {
    let executor = Executor::new(1);
    let order = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let (executor, order) = (&executor, &order);
        let job = |priority| Job::on(executor).with_priority(priority);
        work(&job(Priority::Normal), 6, &|index| {
            if index == 2 {
                for priority in [Priority::Background, Priority::Interactive] {
                    let job = job(priority);
                    scope.spawn(move || {
                        work(&job, 3, &|_| order.lock().unwrap().push(priority)).unwrap();
                    });
                }
                until(|| executor.waiting() == 2);
            }
            order.lock().unwrap().push(Priority::Normal);
        })
        .unwrap();
    });
    let expected = [
        [Priority::Normal; 3],
        [Priority::Interactive; 3],
        [Priority::Normal; 3],
        [Priority::Background; 3],
    ];
    assert_eq!(order.into_inner().unwrap(), expected.concat());
}

#[test]
fn a_cancelled_run_ends_and_gives_its_permits_back() {
    let executor = Executor::new(2);
    let job = Job::on(&executor);
    let done = AtomicUsize::new(0);
    let error = work(&job, 1000, &|_| {
        done.fetch_add(1, Ordering::SeqCst);
        job.token().cancel();
    })
    .unwrap_err();
    assert_eq!(error.code(), "io-cancelled");
    // Each thread finishes at most its current task.
    assert!(done.into_inner() <= 2 && executor.is_idle());
}

#[test]
fn a_run_that_waits_for_a_permit_can_be_cancelled() {
    let executor = Executor::new(1);
    let is_cancelled = AtomicBool::new(false);
    thread::scope(|scope| {
        let (executor, is_cancelled) = (&executor, &is_cancelled);
        scope.spawn(move || {
            let wait = |_| until(|| is_cancelled.load(Ordering::SeqCst));
            work(&Job::on(executor), 1, &wait).unwrap();
        });
        until(|| executor.in_use() == 1);
        let token = CancelToken::new();
        token.cancel();
        let job = Job::on(executor).with_token(token);
        let error = work(&job, 3, &|_| panic!("it has no permit")).unwrap_err();
        assert_eq!(error.code(), "io-cancelled");
        is_cancelled.store(true, Ordering::SeqCst);
    });
    assert!(executor.is_idle());
}

#[test]
fn runs_that_fail_or_panic_give_their_permits_back() {
    let executor = Executor::new(2);
    let job = Job::on(&executor);
    for at in [0, 7, 99] {
        let fails = catch_unwind(AssertUnwindSafe(|| {
            work(&job, 100, &|index| assert_ne!(index, at, "the task panicked"))
        }));
        assert!(fails.is_err() && executor.is_idle());
    }
    let storage = MemoryStorage::new("short", vec![0; 55]);
    let options = PipelineOptions { job: Some(&job), ..PipelineOptions::default() };
    let error = sums(&storage, &Tens(10, true), &options, &|_| ()).unwrap_err();
    assert_eq!(error.code(), "io-short");
    assert!(executor.is_idle());
    work(&job, 10, &|_| ()).unwrap();
}

#[test]
fn a_run_within_a_run_uses_its_permit() {
    for permits in [1, 2] {
        let (executor, gauge) = (Executor::new(permits), Gauge::default());
        let job = Job::on(&executor);
        let (_directory, path) = temporary_file(&content(400));
        let file = FileStorage::open(&path).unwrap();
        work(&job, 8, &|_| {
            for buffering in [Buffering::Auto, Buffering::Single, Buffering::Double] {
                // With another executor, threads of two executors would wait for each other.
                for job in [None, Some(&Job::on(&Executor::new(1)))] {
                    let options = PipelineOptions { buffering, job, ..PipelineOptions::default() };
                    sums(&file, &Tens(40, true), &options, &|_| gauge.during(nap)).unwrap();
                }
            }
        })
        .unwrap();
        assert!(gauge.most() <= permits && executor.is_idle());
    }
}

/// A storage whose bytes are computed from another one, or that waits for a device.
#[derive(Debug)]
struct Slow<'g> {
    inner: MemoryStorage<'static>,
    gauge: &'g Gauge,
    computes: bool,
    /// Reads wait for it.
    gate: &'g AtomicBool,
}

impl Storage for Slow<'_> {
    fn id(&self) -> &Id {
        self.inner.id()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.read_ranges(&mut [Request { offset, buffer }])
    }

    fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        until(|| self.gate.load(Ordering::SeqCst));
        self.gauge.during(|| {
            nap();
            requests.iter_mut().try_for_each(|Request { offset, buffer }| {
                let range = *offset..*offset + buffer.len() as u64;
                let all = |ranges: &mut Vec<Range<u64>>| ranges.push(range);
                fetch(&self.inner, all, |fetched| buffer.copy_from_slice(fetched.piece(0)))
            })
        })
    }

    fn profile(&self) -> Profile {
        Profile::DEVICE
    }

    fn computes(&self) -> bool {
        self.computes
    }
}

#[test]
fn reading_that_computes_needs_permits_too() {
    let open = AtomicBool::new(true);
    for permits in [1, 2] {
        let (executor, gauge) = (Executor::new(permits), Gauge::default());
        let inner = MemoryStorage::new("inner", content(400));
        let storage = Slow { inner, gauge: &gauge, computes: true, gate: &open };
        let expected = content(400);
        thread::scope(|scope| {
            for buffering in [Buffering::Auto, Buffering::Single, Buffering::Double] {
                let (storage, gauge, expected) = (&storage, &gauge, &expected);
                // The bytes of the other storage count, not those computed from them.
                let job = Job::on(&executor).with_bytes(400);
                scope.spawn(move || {
                    let options = PipelineOptions {
                        buffering,
                        job: Some(&job),
                        ..PipelineOptions::default()
                    };
                    let result = sums(storage, &Tens(40, true), &options, &|_| gauge.during(nap));
                    let sum = |ten: &[u8]| ten.iter().map(|&byte| u64::from(byte)).sum::<u64>();
                    assert_eq!(result.unwrap(), expected.chunks(10).map(sum).collect::<Vec<_>>());
                    let error = sums(storage, &Tens(1, true), &options, &|_| ()).unwrap_err();
                    assert_eq!(error.code(), "io-budget");
                });
            }
        });
        assert!(gauge.most() <= permits, "{} threads, {permits} permits", gauge.most());
        assert!(executor.is_idle());
    }
}

#[test]
fn a_thread_that_waits_for_a_device_needs_no_permit() {
    let executor = Executor::new(1);
    for buffering in [Buffering::Auto, Buffering::Single, Buffering::Double] {
        let (gate, gauge) = (AtomicBool::new(false), Gauge::default());
        let inner = MemoryStorage::new("inner", content(400));
        let storage = Slow { inner, gauge: &gauge, computes: false, gate: &gate };
        thread::scope(|scope| {
            let (executor, storage) = (&executor, &storage);
            scope.spawn(move || {
                let job = Job::on(executor);
                let options =
                    PipelineOptions { buffering, job: Some(&job), ..PipelineOptions::default() };
                sums(storage, &Tens(40, true), &options, &|_| ()).unwrap();
                fill(storage, 0, &mut [0; 400], 10, &options, |_| ()).unwrap();
            });
            until(|| executor.runs() == 1);
            work(&Job::on(executor), 3, &|_| ()).unwrap();
            gate.store(true, Ordering::SeqCst);
        });
        assert!(executor.is_idle());
    }
}

#[test]
fn a_token_that_waits_for_another_thread_lends_its_permit() {
    let executor = Executor::new(1);
    let barrier = Arc::new(std::sync::Barrier::new(2));
    thread::scope(|scope| {
        for _ in 0..2 {
            let (executor, barrier, once) =
                (&executor, Arc::clone(&barrier), AtomicBool::new(false));
            // Each thread waits in the middle of its work until the other is in its own.
            let meet = move || {
                if !once.swap(true, Ordering::SeqCst) {
                    without_permit(|| barrier.wait());
                }
                false
            };
            scope.spawn(move || {
                let job = Job::on(executor).with_token(CancelToken::new().polling(meet));
                work(&job, 5, &|_| ()).unwrap();
            });
        }
    });
    assert!(executor.is_idle());
}

#[test]
fn a_token_is_asked_by_a_thread_that_waits_for_a_permit() {
    let executor = Executor::build(1, false, Duration::ZERO);
    let (asks, is_first) = (Arc::new(AtomicUsize::new(0)), AtomicBool::new(true));
    thread::scope(|scope| {
        for _ in 0..2 {
            let (executor, asks, is_first) = (&executor, Arc::clone(&asks), &is_first);
            let count = Arc::clone(&asks);
            let poll = move || {
                // There is no permit to return.
                without_permit(|| count.fetch_add(1, Ordering::SeqCst));
                false
            };
            scope.spawn(move || {
                let job = Job::on(executor).with_token(CancelToken::new().polling(poll));
                work(&job, 4, &|_| {
                    // The first task waits for calls of the other thread, which waits for its permit.
                    if is_first.swap(false, Ordering::SeqCst) {
                        let before = asks.load(Ordering::SeqCst);
                        until(|| asks.load(Ordering::SeqCst) > before + 4);
                    }
                })
                .unwrap();
            });
        }
    });
    assert!(executor.is_idle());
}

#[test]
fn budgets_name_what_was_used() {
    let job = Job::on(&Executor::new(1)).with_bytes(95);
    let options = PipelineOptions { threads: 1, job: Some(&job), ..PipelineOptions::default() };
    let storage = MemoryStorage::new("hundred", vec![1; 100]);
    let error = sums(&storage, &Tens(10, true), &options, &|_| ()).unwrap_err();
    assert_eq!(
        error.message(),
        "byte budget exceeded: expected at most 95 bytes, 90 bytes were read and the next step \
         needs 10"
    );
    // The rest remains for smaller requests.
    assert!(fill(&storage, 0, &mut [0; 6], 2, &options, |_| ()).is_err());
    fill(&storage, 0, &mut [0; 5], 2, &options, |_| ()).unwrap();
    let job = Job::on(&Executor::new(1)).with_time(Duration::from_micros(500));
    let error = work(&job, 100, &|_| thread::sleep(Duration::from_millis(1))).unwrap_err();
    assert!(error.message().starts_with("time budget exceeded: expected at most 0.0005 s, found"));
    assert_eq!(error.kind(), crate::ErrorKind::Limit);
}

#[test]
fn a_token_is_asked_within_the_storage_that_computes() {
    let (gauge, open) = (Gauge::default(), AtomicBool::new(true));
    let inner = MemoryStorage::new("inner", content(400));
    let storage = Slow { inner, gauge: &gauge, computes: true, gate: &open };
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let poll = move || count.fetch_add(1, Ordering::SeqCst) >= 3;
    let job = Job::on(&Executor::new(1)).with_token(CancelToken::new().polling(poll));
    let options = PipelineOptions { job: Some(&job), ..PipelineOptions::default() };
    // One block of one task.
    let error = fill(&storage, 0, &mut [0; 400], 100, &options, |_| ()).unwrap_err();
    assert_eq!(error.code(), "io-cancelled");
    assert!(gauge.most() == 1 && calls.load(Ordering::SeqCst) >= 4);
}

/// Returns an entry for a run without threads.
fn entry(executor: &Executor, priority: Priority, most: usize) -> Entry {
    let (run, _) = ActiveRun::begin(Some(&Job::on(executor)), 0, 0);
    let since = Instant::now();
    Entry { run, priority, most, requested: 0, held: 0, waiting: 0, share: 0, since }
}

proptest! {
    #[test]
    fn permits_are_shared_evenly_within_a_priority(
        permits in 1usize..40,
        runs in prop::collection::vec((0usize..3, 0usize..12), 0..12),
    ) {
        let executor = Executor::new(permits);
        let entry = |&(priority, most): &(usize, usize)| {
            entry(&executor, Priority::ALL[priority], most)
        };
        let runs = runs.iter().map(entry).collect();
        let mut state = Permits { permits, turn: Duration::ZERO, held: 0, runs };
        state.settle(false);
        let shared: usize = state.runs.iter().map(|entry| entry.share).sum();
        let threads: usize = state.runs.iter().map(|entry| entry.most).sum();
        prop_assert_eq!(shared, permits.min(threads));
        for a in &state.runs {
            prop_assert!(a.share <= a.most);
            for b in &state.runs {
                let wants_more = b.share < b.most;
                if wants_more && a.priority > b.priority {
                    prop_assert_eq!(a.share, 0);
                }
                if wants_more && a.priority == b.priority {
                    prop_assert!(a.share <= b.share + 1);
                }
            }
        }
    }
}
