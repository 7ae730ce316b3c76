//! Changes in place, with failures and interruptions at every possible point.
#![expect(clippy::single_range_in_vec_init, reason = "one range of bytes is overwritten")]

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, abort};

use proptest::prelude::*;
use tempfile::TempDir;

use super::journal::path_of;
use super::{Notice, Patch, Recovery, Stamp, joined};
use crate::{IoError, Purpose, Source, SourceOptions, StorageKind, open};

/// Event at a step.
#[derive(Clone, Copy)]
enum Fault {
    /// The write fails, and all later ones succeed.
    Once,
    /// The write and all later ones fail.
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

/// Opens the file; returns its content and the notices.
fn opened(path: &Path) -> Result<(Vec<u8>, Vec<Notice>), IoError> {
    let mut notices = Vec::new();
    let options = SourceOptions { kind: StorageKind::Memory, ..SourceOptions::default() };
    let storage = Source::from(path).open(&options, &mut notices)?;
    let mut content = vec![0; storage.bytes() as usize];
    storage.read_exact_at(0, &mut content)?;
    Ok((content, notices))
}

/// Opens the file; returns the recovery action, if any.
fn restore(path: &Path) -> Result<Option<Recovery>, IoError> {
    let (_, notices) = opened(path)?;
    let recovery = |notice: &Notice| match notice {
        Notice::Recovered(recovery) => Some(*recovery),
        Notice::Ignored { .. } | Notice::Downloaded { .. } | Notice::Lost { .. } => None,
    };
    Ok(notices.iter().find_map(recovery))
}

/// Leaves the file partially changed, with its journal, as a kill does.
fn interrupt(path: &Path) -> PathBuf {
    let copy = path.with_extension("journal");
    let patch = Patch::begin(path, &Stamp::of(path).unwrap(), &[0..5, 9..12], 36).unwrap();
    fs::copy(path_of(path), &copy).unwrap();
    drop(patch);
    fs::rename(copy, path_of(path)).unwrap();
    overwrite(path, 0, b"half");
    path_of(path)
}

/// Writes into the same inode.
fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, offset).unwrap();
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
    interrupt(&path);
    assert_eq!(stamp.hold(&path).unwrap_err().code(), "io-unfinished");
    let patch = Patch::begin(&path, &stamp, &[0..1], 36);
    assert_eq!(patch.unwrap_err().code(), "io-unfinished");
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
                Ok(()) => panic!("step {at} failed without an error"),
                Err(IoError::Unrestored { .. }) => {
                    // The end was already truncated.
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
fn the_next_edit_restores_the_file_of_a_failed_disk() {
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

/// Environment variable that tells a child process what to change and where to end.
const CHILD: &str = "TACHYFITS_TEST_PATCH";

#[test]
fn child() {
    let Ok(arguments) = std::env::var(CHILD) else { return };
    let mut words = arguments.splitn(3, ':');
    let mut number = || words.next().unwrap().parse::<u64>().unwrap();
    let (at, new_bytes) = (number(), number());
    let path = PathBuf::from(words.next().unwrap());
    with_fault(Some((at as usize, Fault::Kill)), || change(&path, new_bytes)).unwrap();
}

#[test]
fn whenever_the_process_ends_the_next_edit_makes_the_file_whole() {
    for new_bytes in [40, 36, 10] {
        let mut outcomes = Vec::new();
        for at in 0.. {
            let (_directory, path) = file(OLD);
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "patch::tests::child"])
                .env(CHILD, format!("{at}:{new_bytes}:{}", path.display()))
                .output()
                .unwrap()
                .status;
            if status.success() {
                break;
            }
            let waiting = path_of(&path).exists();
            let recovery = restore(&path).unwrap();
            let content = fs::read(&path).unwrap();
            match recovery {
                Some(Recovery::Finished) => assert_eq!(content, changed(new_bytes)),
                Some(Recovery::Undone) => assert_eq!(content, OLD, "size {new_bytes}, step {at}"),
                None => assert!(!waiting && content == OLD),
            }
            assert!(!path_of(&path).exists());
            outcomes.push(recovery);
        }
        assert_eq!(outcomes.first(), Some(&None), "{outcomes:?}");
        let outcomes: Vec<_> = outcomes.into_iter().flatten().collect();
        assert!(outcomes.contains(&Recovery::Undone), "{outcomes:?}");
        assert!(outcomes.contains(&Recovery::Finished), "{outcomes:?}");
    }
}

#[test]
fn a_file_that_was_changed_meanwhile_is_refused() {
    let (directory, path) = file(OLD);
    let stamp = Stamp::of(&path).unwrap();
    fs::write(&path, b"shorter").unwrap();
    let error = Patch::begin(&path, &stamp, &[0..1], 7).unwrap_err();
    assert!(matches!(error, IoError::Changed { expected: 36, found: 7, .. }), "{error}");
    // A different file with the same name and size.
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
    assert_eq!(restore(&path).unwrap_err().code(), "io-unfinished");
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
fn a_file_without_a_journal_is_untouched() {
    let (_directory, path) = file(OLD);
    fs::create_dir(path_of(&path)).unwrap();
    let stamp = Stamp::of(&path).unwrap();
    let error = Patch::begin(&path, &stamp, &[0..3], 50).unwrap_err();
    assert!(matches!(error, IoError::Create { .. }), "{error}");
    assert_eq!(Stamp::of(&path).unwrap(), stamp);
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
fn opening_a_file_undoes_an_interrupted_change() {
    for purpose in [Purpose::Reading, Purpose::Following, Purpose::Changing] {
        let (directory, path) = file(OLD);
        interrupt(&path);
        let mut notices = Vec::new();
        let options = SourceOptions { purpose, ..SourceOptions::default() };
        let storage = Source::from(&path).open(&options, &mut notices).unwrap();
        let mut content = [0; 36];
        storage.read_exact_at(0, &mut content).unwrap();
        storage.check_unchanged().unwrap();
        assert_eq!(content, OLD);
        assert_eq!(notices, [Notice::Recovered(Recovery::Undone)]);
        assert_eq!(names(&directory), 1);
    }
}

#[test]
fn the_journal_of_another_file_is_not_put_into_this_one() {
    let replaced = |path: &Path| {
        fs::write(path.with_extension("new"), b"half456789abcdefghijklmnopqrstuvwxyz").unwrap();
        fs::rename(path.with_extension("new"), path).unwrap();
    };
    let removed = |path: &Path| {
        fs::remove_file(path).unwrap();
        fs::write(path, b"new").unwrap();
    };
    // Writes into the same inode, as cp does.
    let copied = |path: &Path| fs::write(path, [b'+'; 36]).unwrap();
    let cut =
        |path: &Path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(30).unwrap();
    let changes: [&dyn Fn(&Path); 4] = [&replaced, &removed, &copied, &cut];
    for (number, change) in changes.into_iter().enumerate() {
        let (directory, path) = file(OLD);
        interrupt(&path);
        change(&path);
        let expected = fs::read(&path).unwrap();
        let (content, notices) = opened(&path).unwrap();
        assert_eq!(content, expected, "change {number}");
        assert!(matches!(&notices[..], [Notice::Ignored { .. }]), "change {number}: {notices:?}");
        // The journal does not block the next edit, which removes it.
        let patch = Patch::begin(&path, &Stamp::of(&path).unwrap(), &[0..1], expected.len() as u64);
        patch.unwrap().commit().unwrap();
        assert_eq!(opened(&path).unwrap(), (expected, vec![]));
        assert_eq!(names(&directory), 1);
    }
}

#[test]
fn an_invalid_journal_does_not_prevent_reading() {
    use std::os::unix::fs::symlink;
    let empty = |journal: &Path| fs::write(journal, b"").unwrap();
    let directory_of_that_name = |journal: &Path| fs::create_dir(journal).unwrap();
    let link = |journal: &Path| symlink("/etc/passwd", journal).unwrap();
    let text = |journal: &Path| fs::write(journal, b"a note of someone").unwrap();
    let named_twice = |journal: &Path| {
        interrupt(&journal.with_file_name("edited.fits"));
        fs::hard_link(journal, journal.with_extension("link")).unwrap();
    };
    let obstacles: [&dyn Fn(&Path); 5] =
        [&empty, &directory_of_that_name, &link, &text, &named_twice];
    for (number, make) in obstacles.into_iter().enumerate() {
        let (_directory, path) = file(OLD);
        make(&path_of(&path));
        let (content, notices) = opened(&path).unwrap();
        assert_eq!(content, fs::read(&path).unwrap());
        assert!(matches!(&notices[..], [Notice::Ignored { .. }]), "{number}: {notices:?}");
        // An edit removes the object if allowed, and otherwise names the obstacle.
        let stamp = Stamp::of(&path).unwrap();
        match Patch::begin(&path, &stamp, &[0..1], 36) {
            Ok(patch) => patch.commit().unwrap(),
            Err(error) => assert_eq!(
                (number, error.code()),
                if number == 1 { (1, "io-create") } else { (3, "io-journal") }
            ),
        }
    }
}

#[test]
fn a_file_that_was_changed_in_part_is_known_under_any_name() {
    let (directory, path) = file(OLD);
    let other = directory.path().join("moved").join("other.fits");
    fs::create_dir(other.parent().unwrap()).unwrap();
    let marked = || {
        interrupt(&path);
        crate::system::set_mark(&fs::File::open(&path).unwrap(), &path_of(&path));
        crate::system::mark(&fs::File::open(&path).unwrap()).is_some()
    };
    if !marked() {
        eprintln!("NOT TESTED: this file system has no extended attributes");
        return;
    }
    // With a second name of the file, and with the second name only.
    fs::hard_link(&path, &other).unwrap();
    let undone = (OLD.to_vec(), vec![Notice::Recovered(Recovery::Undone)]);
    assert_eq!(opened(&other).unwrap(), undone);
    assert_eq!(opened(&path).unwrap(), (OLD.to_vec(), vec![]));
    fs::remove_file(&other).unwrap();
    assert!(marked());
    fs::rename(&path, &other).unwrap();
    assert_eq!(opened(&other).unwrap(), undone);
    assert!(!path_of(&path).exists());
    // Without its journal the file can be read, and an edit removes the mark.
    fs::rename(&other, &path).unwrap();
    assert!(marked());
    fs::remove_file(path_of(&path)).unwrap();
    assert!(matches!(&opened(&path).unwrap().1[..], [Notice::Lost { .. }]));
    let patch = Patch::begin(&path, &Stamp::of(&path).unwrap(), &[0..1], 36).unwrap();
    patch.commit().unwrap();
    assert_eq!(opened(&path).unwrap().1, []);
}

#[test]
fn a_journal_is_for_its_owner_alone() {
    use std::os::unix::fs::MetadataExt;
    let (_directory, path) = file(OLD);
    let _patch = Patch::begin(&path, &Stamp::of(&path).unwrap(), &[0..5], 36).unwrap();
    let (journal, file) = (fs::metadata(path_of(&path)).unwrap(), fs::metadata(&path).unwrap());
    assert_eq!((journal.mode() & 0o777, journal.uid()), (0o600, file.uid()));
}

#[test]
fn a_lock_on_a_file_that_was_replaced_meanwhile_is_not_enough() {
    let (_directory, path) = file(OLD);
    let stamp = Stamp::of(&path).unwrap();
    // Another edit, which writes a new file, has the lock and renames the new file to this name.
    let lock = stamp.hold(&path).unwrap();
    let late = std::thread::scope(|scope| {
        let late = scope.spawn(|| {
            loop {
                match super::open_for_change(&path) {
                    Err(IoError::Busy { .. }) => std::thread::yield_now(),
                    outcome => return outcome.unwrap(),
                }
            }
        });
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(path.with_extension("new"), OLD).unwrap();
        fs::rename(path.with_extension("new"), &path).unwrap();
        drop(lock);
        late.join().unwrap()
    });
    use std::os::unix::fs::MetadataExt;
    assert_eq!(late.file.metadata().unwrap().ino(), fs::metadata(&path).unwrap().ino());
    drop(late);
    assert_eq!(Patch::begin(&path, &stamp, &[0..1], 36).unwrap_err().code(), "io-changed");
}

#[test]
fn a_reader_notices_every_change_since_it_opened_the_file() {
    use StorageKind::{Auto, Direct, Mapped, Positioned};
    for kind in [Auto, Positioned, Mapped, Direct] {
        let (_directory, path) = file(OLD);
        for _ in 0..10 {
            let storage = match open(&path, kind) {
                Err(IoError::Direct { .. }) => break,
                opened => opened.unwrap(),
            };
            storage.check_unchanged().unwrap();
            // With the same size, as soon as possible.
            change(&path, 36).unwrap();
            let error = storage.check_unchanged().unwrap_err();
            assert!(matches!(error, IoError::Changed { expected: 36, found: 36, .. }), "{error}");
        }
    }
}

#[test]
fn a_file_that_grows_is_the_same_to_those_who_follow_it() {
    let (_directory, path) = file(OLD);
    let options = SourceOptions { purpose: Purpose::Following, ..SourceOptions::default() };
    let storage = Source::from(&path).open(&options, &mut Vec::new()).unwrap();
    overwrite(&path, 36, b"more");
    storage.check_unchanged().unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(30).unwrap();
    assert_eq!(storage.check_unchanged().unwrap_err().code(), "io-changed");
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

    /// A truncated or altered journal is neither used nor removed: the file stays unchanged and cannot be read.
    #[test]
    fn a_damaged_journal_is_an_error_that_changes_nothing(at in 0usize..400, bit in 0u32..8, cut: bool) {
        let (_directory, path) = file(OLD);
        let journal = interrupt(&path);
        let mut bytes = fs::read(&journal).unwrap();
        let at = at % bytes.len();
        if cut { bytes.truncate(at.max(1)) } else { bytes[at] ^= 1 << bit }
        fs::write(&journal, &bytes).unwrap();
        for _ in 0..2 {
            let error = opened(&path).unwrap_err();
            prop_assert_eq!(error.code(), "io-journal");
            prop_assert!(error.hint().contains("rename the journal"));
        }
        prop_assert_eq!(fs::read(&journal).unwrap(), bytes);
        prop_assert_eq!(&fs::read(&path).unwrap()[..5], b"half4");
    }

    #[test]
    fn ranges_are_joined(ranges in prop::collection::vec((0u64..50, 0u64..9), 0..9), end in 0u64..60) {
        let ranges: Vec<_> = ranges.into_iter().map(|(at, length)| at..at + length).collect();
        let merged = joined(&ranges, end);
        for byte in 0..70 {
            let listed = byte < end && ranges.iter().any(|range| range.contains(&byte));
            prop_assert_eq!(listed, merged.iter().any(|range| range.contains(&byte)));
        }
        prop_assert!(merged.windows(2).all(|pair| pair[0].end < pair[1].start));
    }
}

#[test]
fn a_file_is_let_go_though_a_process_that_is_being_started_has_it_still() {
    let (_directory, path) = file(OLD);
    let stamp = Stamp::of(&path).unwrap();
    let lock = stamp.hold(&path).unwrap();
    assert!(matches!(stamp.hold(&path), Err(IoError::Busy { .. })));
    // State of a process between fork and exec: it shares the open file.
    let inherited = lock.file.try_clone().unwrap();
    drop(lock);
    stamp.hold(&path).unwrap();
    let patch = Patch::begin(&path, &stamp, &[0..1], OLD.len() as u64).unwrap();
    let also_inherited = patch.file.file.try_clone().unwrap();
    drop(patch);
    Stamp::of(&path).unwrap().hold(&path).unwrap();
    drop((inherited, also_inherited));
}
