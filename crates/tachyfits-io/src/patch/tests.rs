//! Changes in place at every point at which they can fail or end.
#![expect(clippy::single_range_in_vec_init, reason = "one range of bytes is overwritten")]

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, abort};

use proptest::prelude::*;
use tempfile::TempDir;

use super::{Patch, Recovery, Stamp, joined, restore};
use crate::{IoError, StorageKind, open};

/// What happens at a step.
#[derive(Clone, Copy)]
enum Fault {
    /// The write fails, and all later ones succeed.
    Once,
    /// It and all later ones fail.
    Always,
    /// The process ends.
    Kill,
}

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
    static FAULT: Cell<Option<(usize, Fault)>> = const { Cell::new(None) };
}

pub(super) fn step() -> io::Result<()> {
    let now = STEPS.get();
    STEPS.set(now + 1);
    let failed = || Err(io::Error::from(io::ErrorKind::StorageFull));
    match FAULT.get() {
        Some((at, Fault::Once)) if at == now => failed(),
        Some((at, Fault::Always)) if at <= now => failed(),
        Some((at, Fault::Kill)) if at == now => abort(),
        _ => Ok(()),
    }
}

fn with_fault<T>(fault: Option<(usize, Fault)>, run: impl FnOnce() -> T) -> T {
    STEPS.set(0);
    FAULT.set(fault);
    let result = run();
    FAULT.set(None);
    result
}

const OLD: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

fn file(content: &[u8]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("edited.fits");
    fs::write(&path, content).unwrap();
    (directory, path)
}

/// Makes the file `new_bytes` long, with other bytes at 2..5, 20..24 and beyond its end.
fn change(path: &Path, new_bytes: u64) -> Result<(), IoError> {
    let stamp = Stamp::of(path)?;
    let patch = Patch::begin(path, &stamp, &[20..24, 2..4, 4..5], new_bytes)?;
    patch.write_all_at(2, b"***")?;
    if new_bytes > 24 {
        patch.write_all_at(20, b"####")?;
    }
    if new_bytes > OLD.len() as u64 {
        patch.write_all_at(OLD.len() as u64, b"more")?;
    }
    patch.commit()
}

fn changed(new_bytes: u64) -> Vec<u8> {
    let mut content = OLD.to_vec();
    content[2..5].copy_from_slice(b"***");
    if new_bytes > 24 {
        content[20..24].copy_from_slice(b"####");
    }
    if new_bytes > OLD.len() as u64 {
        content.extend(b"more");
    }
    content.resize(new_bytes as usize, 0);
    content
}

fn names(directory: &TempDir) -> usize {
    fs::read_dir(directory.path()).unwrap().count()
}

#[test]
fn a_change_grows_shrinks_or_keeps_the_size() {
    for new_bytes in [OLD.len() as u64, 40, 50, 30, 10] {
        let (directory, path) = file(OLD);
        change(&path, new_bytes).unwrap();
        assert_eq!(fs::read(&path).unwrap(), changed(new_bytes));
        assert_eq!(names(&directory), 1);
        assert_eq!(restore(&path).unwrap(), None);
    }
}

#[test]
fn dropping_puts_the_old_bytes_back() {
    let (directory, path) = file(OLD);
    let patch = Patch::begin(&path, &Stamp::of(&path).unwrap(), &[0..10], 100).unwrap();
    patch.write_all_at(0, b"XXXXX").unwrap();
    patch.write_all_at(90, b"XXXXX").unwrap();
    assert_eq!(open(&path, StorageKind::Positioned).unwrap_err().code(), "io-unfinished");
    drop(patch);
    assert_eq!(fs::read(&path).unwrap(), OLD);
    assert_eq!(names(&directory), 1);
}

#[test]
fn a_file_is_not_held_while_a_change_is_to_be_restored() {
    let (_directory, path) = file(OLD);
    let stamp = Stamp::of(&path).unwrap();
    drop(stamp.hold(&path).unwrap());
    fs::write(super::journal::path_of(&path), b"of another process, which ended").unwrap();
    assert_eq!(stamp.hold(&path).unwrap_err().code(), "io-unfinished");
}

#[test]
fn whichever_step_fails_the_file_is_as_it_was() {
    for new_bytes in [40, 36, 10] {
        for at in 0.. {
            let (directory, path) = file(OLD);
            let result = with_fault(Some((at, Fault::Once)), || change(&path, new_bytes));
            let content = fs::read(&path).unwrap();
            match result {
                Ok(()) if STEPS.get() <= at => break,
                Ok(()) => panic!("step {at} failed and nobody noticed"),
                Err(IoError::Unrestored { .. }) => {
                    // The end was cut off already.
                    assert_eq!(content, changed(new_bytes));
                    assert_eq!(restore(&path).unwrap(), Some(Recovery::Finished));
                    assert_eq!(fs::read(&path).unwrap(), changed(new_bytes));
                }
                Err(error) => {
                    assert!(matches!(error.code(), "io-write" | "io-commit"), "{error}");
                    assert_eq!(content, OLD, "size {new_bytes}, step {at}");
                }
            }
            assert_eq!(names(&directory), 1, "size {new_bytes}, step {at}");
        }
    }
}

#[test]
fn a_disk_that_fails_for_good_leaves_what_the_next_edit_restores() {
    for new_bytes in [40, 36, 10] {
        for at in 0.. {
            let (directory, path) = file(OLD);
            let result = with_fault(Some((at, Fault::Always)), || change(&path, new_bytes));
            if result.is_ok() {
                break;
            }
            restore(&path).unwrap();
            let content = fs::read(&path).unwrap();
            assert!(content == OLD || content == changed(new_bytes), "size {new_bytes}, step {at}");
            assert_eq!(names(&directory), 1);
        }
    }
}

/// The variable by which a process is told what to change and where to end.
const CHILD: &str = "TACHYFITS_TEST_PATCH";

#[test]
fn child() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let mut words = told.splitn(3, ':');
    let mut number = || words.next().unwrap().parse::<u64>().unwrap();
    let (at, new_bytes) = (number(), number());
    let path = PathBuf::from(words.next().unwrap());
    with_fault(Some((at as usize, Fault::Kill)), || change(&path, new_bytes)).unwrap();
}

#[test]
fn whenever_the_process_ends_the_next_edit_makes_the_file_whole() {
    for new_bytes in [40, 36, 10] {
        let mut seen = Vec::new();
        for at in 0.. {
            let (directory, path) = file(OLD);
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "patch::tests::child"])
                .env(CHILD, format!("{at}:{new_bytes}:{}", path.display()))
                .output()
                .unwrap()
                .status;
            if status.success() {
                break;
            }
            let waiting = names(&directory) == 2;
            let refused = open(&path, StorageKind::Positioned).is_err();
            assert_eq!(waiting, refused, "a file with a journal is not read");
            let recovery = restore(&path).unwrap();
            let content = fs::read(&path).unwrap();
            match recovery {
                Some(Recovery::Finished) => assert_eq!(content, changed(new_bytes)),
                Some(_) => assert_eq!(content, OLD, "size {new_bytes}, step {at}"),
                None => assert!(!waiting),
            }
            assert_eq!(names(&directory), 1);
            seen.extend(recovery);
        }
        assert_eq!(seen.first(), Some(&Recovery::Unbegun), "{seen:?}");
        assert!(seen.contains(&Recovery::Undone), "{seen:?}");
        assert!(seen.contains(&Recovery::Finished), "{seen:?}");
    }
}

#[test]
fn a_file_that_was_changed_meanwhile_is_refused() {
    let (directory, path) = file(OLD);
    let stamp = Stamp::of(&path).unwrap();
    fs::write(&path, b"shorter").unwrap();
    let error = Patch::begin(&path, &stamp, &[0..1], 7).unwrap_err();
    assert!(matches!(error, IoError::Changed { expected: 36, found: 7, .. }), "{error}");
    // The same name and size, another file.
    let stamp = Stamp::of(&path).unwrap();
    fs::write(path.with_extension("new"), b"another").unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();
    assert_eq!(Patch::begin(&path, &stamp, &[0..1], 7).unwrap_err().code(), "io-changed");
    assert_eq!(names(&directory), 1);
}

#[test]
fn two_at_once_are_refused() {
    let (_directory, path) = file(OLD);
    let stamp = Stamp::of(&path).unwrap();
    let first = Patch::begin(&path, &stamp, &[0..5], 36).unwrap();
    assert_eq!(Patch::begin(&path, &stamp, &[9..10], 36).unwrap_err().code(), "io-busy");
    assert_eq!(restore(&path).unwrap_err().code(), "io-busy");
    first.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), OLD);
}

#[test]
fn bytes_that_were_not_named_are_not_written() {
    let (_directory, path) = file(OLD);
    let patch = Patch::begin(&path, &Stamp::of(&path).unwrap(), &[4..8, 8..10], 40).unwrap();
    for (offset, length) in [(3, 2), (9, 2), (0, 1), (35, 3), (39, 2), (u64::MAX, 1)] {
        let error = patch.write_all_at(offset, &vec![0; length]).unwrap_err();
        assert_eq!(error.code(), "io-write", "{length} at {offset}");
    }
    for (offset, length) in [(4, 6), (7, 2), (36, 4), (9, 0)] {
        patch.write_all_at(offset, &vec![b'+'; length]).unwrap();
    }
    patch.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"0123++++++abcdefghijklmnopqrstuvwxyz++++");
}

#[test]
fn a_full_disk_is_found_before_anything_is_written() {
    let (directory, path) = file(OLD);
    let stamp = Stamp::of(&path).unwrap();
    let error = Patch::begin(&path, &stamp, &[0..5], i64::MAX as u64).unwrap_err();
    assert_eq!(error.code(), "io-write");
    assert_eq!(fs::read(&path).unwrap(), OLD);
    assert_eq!(names(&directory), 1);
}

#[test]
fn the_journal_of_another_file_is_not_put_into_this_one() {
    let (directory, path) = file(OLD);
    let copy = directory.path().join("kept");
    let mut patch = Patch::begin(&path, &Stamp::of(&path).unwrap(), &[0..5], 36).unwrap();
    fs::copy(super::journal::path_of(&path), &copy).unwrap();
    patch.undo().unwrap();
    drop(patch);
    fs::rename(&copy, super::journal::path_of(&path)).unwrap();
    fs::write(directory.path().join("new"), b"replaced").unwrap();
    fs::rename(directory.path().join("new"), &path).unwrap();
    assert_eq!(restore(&path).unwrap_err().code(), "io-journal");
    assert_eq!(fs::read(&path).unwrap(), b"replaced");
}

#[test]
fn a_link_is_followed() {
    let (directory, path) = file(OLD);
    let link = directory.path().join("link.fits");
    std::os::unix::fs::symlink("edited.fits", &link).unwrap();
    let patch = Patch::begin(&link, &Stamp::of(&link).unwrap(), &[0..1], 36).unwrap();
    patch.write_all_at(0, b"!").unwrap();
    assert_eq!(open(&link, StorageKind::Positioned).unwrap_err().code(), "io-unfinished");
    patch.commit().unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read(&path).unwrap()[0], b'!');
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A journal cut or altered anywhere never writes anything else than the old bytes.
    #[test]
    fn a_damaged_journal_restores_the_old_bytes_or_nothing(at in 0usize..400, value: u8, cut: bool) {
        let (_directory, path) = file(OLD);
        let patch = Patch::begin(&path, &Stamp::of(&path).unwrap(), &[0..5, 9..12], 36).unwrap();
        let journal = super::journal::path_of(&path);
        let mut bytes = fs::read(&journal).unwrap();
        drop(patch);
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = value }
        fs::write(&journal, bytes).unwrap();
        let restored = restore(&path);
        prop_assert!(restored.is_ok() || restored.unwrap_err().code() == "io-journal");
        prop_assert_eq!(fs::read(&path).unwrap(), OLD);
    }

    #[test]
    fn ranges_are_joined(ranges in prop::collection::vec((0u64..50, 0u64..9), 0..9), end in 0u64..60) {
        let ranges: Vec<_> = ranges.into_iter().map(|(at, length)| at..at + length).collect();
        let joined = joined(&ranges, end);
        for byte in 0..70 {
            let named = byte < end && ranges.iter().any(|range| range.contains(&byte));
            prop_assert_eq!(named, joined.iter().any(|range| range.contains(&byte)));
        }
        prop_assert!(joined.windows(2).all(|pair| pair[0].end < pair[1].start));
    }
}

#[test]
fn a_file_is_let_go_though_a_process_that_is_being_started_has_it_still() {
    let (_directory, path) = file(OLD);
    let stamp = Stamp::of(&path).unwrap();
    let held = stamp.hold(&path).unwrap();
    assert!(matches!(stamp.hold(&path), Err(IoError::Busy { .. })));
    // What a process has between fork and exec: the same open file.
    let inherited = held.0.try_clone().unwrap();
    drop(held);
    stamp.hold(&path).unwrap();
    let patch = Patch::begin(&path, &stamp, &[0..1], OLD.len() as u64).unwrap();
    let also_inherited = patch.file.0.try_clone().unwrap();
    drop(patch);
    Stamp::of(&path).unwrap().hold(&path).unwrap();
    drop((inherited, also_inherited));
}
