//! Notes: faults that did not stop a run, such as damaged tiles that read as undefined, for a warning at its end.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use crate::executor;

/// Values of the smallest keys, and the number of all keys, independent of the order in which threads add them.
///
/// ```
/// use tachyfits_io::FirstFew;
/// let mut few = FirstFew::new(2);
/// assert!(few.add(7, || "seven") && few.add(3, || "three") && few.add(5, || "five"));
/// assert!(!few.add(7, || "again"));
/// assert_eq!((few.count(), few.values().copied().collect::<Vec<_>>()), (3, vec!["three", "five"]));
/// ```
#[derive(Clone, Debug)]
pub struct FirstFew<K, V> {
    most: usize,
    keys: BTreeSet<K>,
    kept: BTreeMap<K, V>,
}

impl<K: Copy + Ord, V> FirstFew<K, V> {
    /// Returns an empty collection that keeps the values of at most `most` keys.
    pub fn new(most: usize) -> FirstFew<K, V> {
        FirstFew { most, keys: BTreeSet::new(), kept: BTreeMap::new() }
    }

    /// Adds a key, computing its value only if it may be kept; returns `false` if the key was added before.
    pub fn add(&mut self, key: K, value: impl FnOnce() -> V) -> bool {
        if !self.keys.insert(key) {
            return false;
        }
        let is_last = self.kept.last_key_value().is_some_and(|(last, _)| *last < key);
        if self.kept.len() < self.most || !is_last {
            self.kept.insert(key, value());
        }
        if self.kept.len() > self.most {
            self.kept.pop_last();
        }
        true
    }

    /// Returns the number of keys.
    pub fn count(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Returns the kept values, by ascending keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.kept.values()
    }
}

/// Faults of the same kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// File and kind of the faults.
    pub subject: String,
    /// Number of faults.
    pub count: u64,
    /// Descriptions of the first faults.
    pub faults: Vec<String>,
}

/// Notes of a [`crate::Job`]. Clones share them.
///
/// ```
/// use tachyfits_io::{Notes, note};
/// let notes = Notes::default();
/// notes.collect(|| note("a.fits: damaged tiles", 4, || "row 5".to_owned()));
/// assert_eq!(notes.take()[0].faults, ["row 5"]);
/// assert!(notes.take().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<BTreeMap<String, FirstFew<u64, String>>>>);

/// Maximum number of faults kept as text, per subject.
const MOST_FAULTS: usize = 10;

thread_local! {
    /// Collector of this thread's notes outside of runs.
    static COLLECTING: RefCell<Option<Notes>> = const { RefCell::new(None) };
}

impl Notes {
    /// Runs a closure, collecting the notes of this thread outside of runs.
    pub fn collect<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Collecting(Option<Notes>);
        impl Drop for Collecting {
            fn drop(&mut self) {
                COLLECTING.set(self.0.take());
            }
        }
        let _outer = Collecting(COLLECTING.replace(Some(self.clone())));
        work()
    }

    /// Takes all notes, sorted by subject.
    pub fn take(&self) -> Vec<Note> {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_subject = |(subject, first_few): (String, FirstFew<u64, String>)| Note {
            subject,
            count: first_few.count(),
            faults: first_few.values().cloned().collect(),
        };
        std::mem::take(&mut *notes).into_iter().map(of_subject).collect()
    }

    fn add(&self, subject: &str, number: u64, fault: impl FnOnce() -> String) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let faults = notes.entry(subject.to_owned()).or_insert_with(|| FirstFew::new(MOST_FAULTS));
        faults.add(number, fault);
    }
}

/// Notes a fault, with its number among those of its subject, for the job that this thread works for. Returns `false`
/// if no job collects notes.
pub fn note(subject: &str, number: u64, fault: impl FnOnce() -> String) -> bool {
    let notes = executor::current_notes().or_else(|| COLLECTING.with_borrow(Clone::clone));
    match notes {
        Some(notes) => {
            notes.add(subject, number, fault);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{FirstFew, Notes, note};
    use crate::{Executor, Fetched, IoError, Job, MemoryStorage, PipelineOptions, Tasks, run};
    use proptest::prelude::*;
    use std::ops::Range;

    proptest! {
        #[test]
        fn the_order_of_adding_changes_nothing(
            keys in prop::collection::vec(0u32..50, 0..60),
            most in 0usize..12,
        ) {
            let mut few = FirstFew::new(most);
            for key in &keys {
                few.add(*key, || *key);
            }
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            sorted.dedup();
            prop_assert_eq!(few.count(), sorted.len() as u64);
            sorted.truncate(most);
            prop_assert_eq!(few.values().copied().collect::<Vec<_>>(), sorted);
        }
    }

    /// Tasks of one byte, each of which adds a note.
    struct Noting;

    impl Tasks for Noting {
        fn len(&self) -> u64 {
            100
        }

        fn ranges(&self, task: u64, ranges: &mut Vec<Range<u64>>) {
            ranges.push(task..task + 1);
        }
    }

    #[test]
    fn notes_of_all_threads_reach_the_job() {
        let storage = MemoryStorage::new("memory", vec![7; 100]);
        for threads in [1, 2, 5] {
            let notes = Notes::default();
            let job = Job::on(&Executor::new(threads)).with_notes(notes.clone());
            let options = PipelineOptions { threads, job: Some(&job), ..Default::default() };
            let work = |(): &mut (), task, _fetched: &Fetched<'_>| {
                assert!(note("memory", task, || format!("task {task}")));
                Ok::<(), IoError>(())
            };
            run(&storage, &Noting, &options, || (), work, |_task, ()| Ok(())).unwrap();
            let result = notes.take();
            assert_eq!((result.len(), result[0].count), (1, 100));
            let expected: Vec<String> = (0..10).map(|task| format!("task {task}")).collect();
            assert_eq!(result[0].faults, expected);
        }
        assert!(!note("memory", 0, || unreachable!("no job collects it")));
    }
}
