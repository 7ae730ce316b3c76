//! A file changed in place, which stays unchanged if the change is not completed.
//!
//! Before the first byte is written, the bytes to be overwritten and the length of the file go to a
//! journal beside it (see [`journal`]). The journal is on the disk before anything else happens and
//! is removed when the change is complete. A failed write restores the old bytes at once. After a
//! kill or a power failure, the next program that opens the file does so (see [`look_beside`]), so
//! that no program takes a partial change for data.
//!
//! Two edits at once are kept apart by an advisory lock (`flock`) on the file. Readers take none: they compare size and time
//! of change of the open file before and after ([`Stamp`]), and an edit begins no sooner than the clock of the file system
//! has gone on since the last change.
//!
//! A file that becomes shorter is cut in one step at the end, with the journal saying before that everything else is
//! done: from there on the change is finished rather than undone, so what is cut off need not be kept.

mod journal;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use journal::{Found, Journal};

use crate::coalesce::push_coalesced;
use crate::error::{IoError, Pending};
use crate::system;

/// Identity of a file when it was checked, to detect later changes by other processes.
#[derive(Clone, Copy, Debug, Eq)]
pub struct Stamp {
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Device and inode.
    inode: (u64, u64),
    names: u64,
}

impl PartialEq for Stamp {
    /// Compares size, time and inode: a file that was renamed is unchanged.
    fn eq(&self, other: &Stamp) -> bool {
        (self.bytes, self.modified, self.inode) == (other.bytes, other.modified, other.inode)
    }
}

impl Stamp {
    /// Looks at a file.
    ///
    /// # Errors
    /// If there is no such file or it is not a regular one.
    pub fn of(path: &Path) -> Result<Stamp, IoError> {
        let metadata = std::fs::metadata(path).map_err(|error| IoError::opening(path, error))?;
        if !metadata.is_file() {
            let found = if metadata.is_dir() { "a directory" } else { "a device or a pipe" };
            return Err(IoError::NotAFile { path: path.to_owned(), found });
        }
        Ok(Stamp::of_metadata(&metadata))
    }

    pub(crate) fn of_metadata(metadata: &std::fs::Metadata) -> Stamp {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        let inode = (metadata.dev(), metadata.ino());
        Stamp { bytes: metadata.len(), modified, inode, names: metadata.nlink() }
    }

    /// Whether an open file is unchanged; with `may_grow` also if bytes were appended.
    ///
    /// # Errors
    /// [`IoError::Changed`] if it is not, [`IoError::Open`] if it cannot be examined.
    pub(crate) fn check_open(
        &self,
        path: &Path,
        file: &File,
        may_grow: bool,
    ) -> Result<(), IoError> {
        let metadata = file.metadata().map_err(|error| IoError::opening(path, error))?;
        let found = Stamp::of_metadata(&metadata);
        let has_grown = found.inode == self.inode && found.bytes > self.bytes;
        match found == *self || (may_grow && has_grown) {
            true => Ok(()),
            false => Err(self.changed(path, &found)),
        }
    }

    fn changed(&self, path: &Path, found: &Stamp) -> IoError {
        IoError::Changed { path: path.to_owned(), expected: self.bytes, found: found.bytes }
    }

    /// The stamp as a text, without the device, whose number differs among machines that share a file system.
    pub fn version(&self) -> String {
        let (seconds, nanoseconds) = self.modified;
        format!("{}-{seconds}.{nanoseconds:09}-{}", self.bytes, self.inode.1)
    }

    /// Looks at the file again.
    ///
    /// # Errors
    /// [`IoError::Changed`] if it is another, and as [`Stamp::of`].
    pub fn check(&self, path: &Path) -> Result<(), IoError> {
        let found = Stamp::of(path)?;
        match found == *self {
            true => Ok(()),
            false => Err(self.changed(path, &found)),
        }
    }

    /// Keeps others from editing the file while a new one is written that will take its place.
    ///
    /// # Errors
    /// If the file must not be written, though its directory may be; [`IoError::Busy`] if somebody else edits it;
    /// [`IoError::Unfinished`] if an interrupted change has to be restored first; and as [`Stamp::check`].
    pub fn hold(&self, path: &Path) -> Result<Held, IoError> {
        let target = followed(path)?;
        let held = open_for_change(&target)?;
        if let Found::Whole(..) = journal::find(&target, &held.file)? {
            return Err(unfinished(&target));
        }
        self.check(path)?;
        Ok(held)
    }

    /// Whether it has several names (hard links).
    pub fn has_other_names(&self) -> bool {
        self.names > 1
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A file locked for editing: no other process edits it until this is dropped.
#[derive(Debug)]
pub struct Held {
    file: File,
    /// False on a file system without locks.
    locked: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        // Closing it is not enough where a process that is being started has the file for a moment longer.
        let _ = self.file.unlock();
    }
}

/// Action taken because of an interrupted change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// A change had begun: the file is as before.
    Undone,
    /// A change had been complete but for the cutting of the end: that is done now.
    Finished,
}

/// State found beside a file that is opened, which its opener must know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The file was restored.
    Recovered(Recovery),
    /// An object with the name of the file's journal does not belong to this file.
    Ignored {
        /// Its path.
        journal: PathBuf,
        /// Why it is not.
        reason: &'static str,
    },
    /// The server of the file gives no parts of it, so that all of it is in memory.
    Downloaded {
        /// Its size.
        bytes: u64,
    },
    /// The file, or one that it is a copy of, may be changed in part, and its journal is gone.
    Lost {
        /// Where the journal was.
        journal: PathBuf,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Recovered(Recovery::Undone) => formatter
                .write_str("an interrupted edit was undone: the file has its previous content"),
            Notice::Recovered(Recovery::Finished) => formatter.write_str(
                "an interrupted edit was complete except for its last step, which was done",
            ),
            Notice::Ignored { journal, reason } => {
                write!(formatter, "the journal {} is ignored: {reason}", journal.display())
            }
            Notice::Downloaded { bytes } => write!(
                formatter,
                "its server gives no parts of files: all of its {bytes} bytes were downloaded"
            ),
            Notice::Lost { journal } => write!(
                formatter,
                "it may be partly changed: an edit of it, or of the file that it was copied from, was \
                 interrupted, and the journal {} is missing",
                journal.display()
            ),
        }
    }
}

/// How long a reader waits for an edit that is being written.
const PATIENCE: Duration = Duration::from_secs(2);

/// Looks for a journal beside an open file, and restores the file if its change was interrupted.
/// `path` is its name. False if that happened, or if another process finished its change: then the
/// file must be opened again.
///
/// # Errors
/// [`IoError::Unfinished`] if the file is being changed for longer than a reader waits, or must not be written,
/// [`IoError::Journal`] if the journal is damaged, [`IoError::Unrestored`] if the disk fails.
pub(crate) fn look_beside(
    path: &Path,
    file: &File,
    locks_needed: bool,
    notices: &mut Vec<Notice>,
) -> Result<bool, IoError> {
    let target = match path.is_symlink() {
        true => followed(path)?,
        false => path.to_owned(),
    };
    let unfinished = |cause| {
        let (path, journal) = (path.to_owned(), journal::path_of(&target));
        Err(IoError::Unfinished { path, journal, cause })
    };
    let begun = Instant::now();
    loop {
        match journal::find(&target, file)? {
            Found::Nothing => return Ok(true),
            Found::Foreign { reason, .. } => {
                let journal = journal::path_of(&target);
                let notice = Notice::Ignored { journal, reason };
                if !notices.contains(&notice) {
                    notices.push(notice);
                }
                return Ok(true);
            }
            Found::Lost(journal) => {
                notices.push(Notice::Lost { journal });
                return Ok(true);
            }
            Found::Closed => return unfinished(Pending::Forbidden),
            Found::Whole(..) => {}
        }
        match open_for_change(&target) {
            Ok(held) if held.locked || !locks_needed => {
                // The process that changed it may have finished since.
                if let Found::Whole(journal, content) = journal::find(&target, &held.file)? {
                    notices.push(Notice::Recovered(journal.restore(&held.file, &content)?));
                }
                return Ok(false);
            }
            Ok(_) => return unfinished(Pending::NoLocks),
            Err(IoError::Busy { .. }) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(IoError::Busy { .. }) => return unfinished(Pending::UnderWay),
            Err(IoError::Open { .. }) => return unfinished(Pending::Forbidden),
            Err(error) => return Err(error),
        }
    }
}

/// Refuses a file with an unfinished change, and removes obstacles to a new journal.
fn clear(target: &Path, file: &File) -> Result<(), IoError> {
    let journal = journal::path_of(target);
    match journal::find(target, file)? {
        // A mark without a journal was reported when the file was opened.
        Found::Nothing | Found::Lost(_) => Ok(()),
        Found::Foreign { removable: true, .. } => {
            // If it cannot be removed, the new journal cannot be made, which says so.
            let _ = std::fs::remove_file(journal);
            Ok(())
        }
        Found::Foreign { removable: false, reason } => Err(IoError::Journal {
            path: journal,
            target: target.to_owned(),
            detail: reason.to_owned(),
        }),
        Found::Whole(..) | Found::Closed => Err(unfinished(target)),
    }
}

fn unfinished(target: &Path) -> IoError {
    let (path, journal) = (target.to_owned(), journal::path_of(target));
    IoError::Unfinished { path, journal, cause: Pending::UnderWay }
}

/// Removes the journal of a file that was replaced: what it could put back is not wanted any more.
pub(crate) fn forget_journal(target: &Path, file: &File) {
    // Another name of the file needs it, or the process that has the lock.
    if file.metadata().is_ok_and(|metadata| metadata.nlink() <= 1)
        && !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
        && let Ok(Found::Whole(journal, _)) = journal::find(target, file)
    {
        // A journal that stays does not match the new file, and is ignored.
        let _ = journal.remove(file);
    }
}

/// A file being changed in place. Dropped without [`Patch::commit`], it stays unchanged.
///
/// ```
/// use tachyfits_io::{Patch, Stamp};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("out.fits");
/// std::fs::write(&path, b"OBJECT  = 'M 31'")?;
/// let stamp = Stamp::of(&path)?;
/// let patch = Patch::begin(&path, &stamp, &[13..15], 17)?;
/// patch.write_all_at(13, b"33")?;
/// patch.write_all_at(16, b" ")?;
/// patch.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"OBJECT  = 'M 33' ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Patch {
    file: Held,
    path: PathBuf,
    old_bytes: u64,
    new_bytes: u64,
    /// Ranges that may be overwritten: sorted, not touching each other.
    overwritten: Vec<Range<u64>>,
    /// None once the change is complete or undone.
    journal: Option<Journal>,
}

impl Patch {
    /// Prepares a change: `overwritten` are the ranges of the present file that will be written,
    /// `new_bytes` its new size. Bytes beyond the present end may be written without being listed.
    ///
    /// # Errors
    /// [`IoError::Changed`] if the file is not as `stamp` says, [`IoError::Busy`] while another process changes it,
    /// [`IoError::Unfinished`] if an interrupted change has to be restored first, and if the journal cannot be written
    /// or the disk has no room. The file is then as it was.
    pub fn begin(
        path: &Path,
        stamp: &Stamp,
        overwritten: &[Range<u64>],
        new_bytes: u64,
    ) -> Result<Patch, IoError> {
        let path = followed(path)?;
        let file = open_for_change(&path)?;
        clear(&path, &file.file)?;
        let metadata = file.file.metadata().map_err(|error| IoError::opening(&path, error))?;
        let found = Stamp::of_metadata(&metadata);
        if found != *stamp {
            return Err(IoError::Changed { path, expected: stamp.bytes, found: found.bytes });
        }
        wait_for_the_clock(&metadata);
        let old_bytes = stamp.bytes;
        let overwritten = joined(overwritten, old_bytes.min(new_bytes));
        // The journal comes first: without it the file is untouched, and keeps its time.
        let journal = Journal::write(&path, &file.file, stamp, &overwritten, new_bytes)?;
        if let Err(source) = system::reserve_range(&file.file, old_bytes..new_bytes) {
            // Gives back what was set aside; the bytes themselves were not touched.
            let _ = file.file.set_len(old_bytes).and_then(|()| journal.remove(&file.file));
            let expected = new_bytes - old_bytes;
            return Err(IoError::Write { path, offset: old_bytes, expected, source });
        }
        let journal = Some(journal);
        Ok(Patch { file, path, old_bytes, new_bytes, overwritten, journal })
    }

    /// Writes bytes at an offset, from any thread: within the ranges that were named or beyond the old end.
    ///
    /// # Errors
    /// [`IoError::Write`] if the disk fails, or the bytes lie elsewhere.
    pub fn write_all_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let end = offset.saturating_add(bytes.len() as u64);
        let written = match self.allows(offset..end) {
            true => step().and_then(|()| system::write_all_at(&self.file.file, bytes, offset)),
            false => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        };
        written.map_err(|source| self.write_error(offset, bytes.len() as u64, source))
    }

    /// Makes the change final; it survives a loss of power.
    ///
    /// # Errors
    /// [`IoError::Commit`] if the disk fails, the file then being as it was; [`IoError::Unrestored`] if that fails too,
    /// or if the disk fails after the end was cut off.
    pub fn commit(mut self) -> Result<(), IoError> {
        if let Err(source) = self.complete() {
            self.undo()?;
            return Err(IoError::Commit { path: self.path.clone(), source });
        }
        // Truncated bytes cannot be restored: from here on the change is completed, now or by the
        // next edit.
        let Some(journal) = self.journal.take() else { return Ok(()) };
        let file = &self.file.file;
        let removed = file.sync_all().and_then(|()| step()).and_then(|()| journal.remove(file));
        removed.map_err(|source| journal.unrestored(source))
    }

    /// Puts the file back as it was, as dropping does, but says if that fails.
    ///
    /// # Errors
    /// [`IoError::Unrestored`].
    pub fn undo(&mut self) -> Result<(), IoError> {
        match self.journal.take() {
            Some(journal) => journal.undo(&self.file.file),
            None => Ok(()),
        }
    }

    /// All that can be undone, and the cut.
    fn complete(&self) -> io::Result<()> {
        step()?;
        if self.new_bytes >= self.old_bytes {
            // Reserved space that was not written is returned; skipped bytes at the end read as
            // zeros.
            self.file.file.set_len(self.new_bytes)?;
        }
        self.file.file.sync_all()?;
        step()?;
        let Some(journal) = &self.journal else { return Ok(()) };
        // Also where nothing is cut: once this is on the disk, the change stays.
        journal.mark_finished()?;
        step()?;
        self.file.file.set_len(self.new_bytes)
    }

    fn allows(&self, range: Range<u64>) -> bool {
        let kept = range.start..range.end.min(self.old_bytes);
        let index = self.overwritten.partition_point(|named| named.end < kept.end);
        let named = self.overwritten.get(index).is_some_and(|named| named.start <= kept.start);
        range.end <= self.new_bytes && (kept.is_empty() || named)
    }

    fn write_error(&self, offset: u64, expected: u64, source: io::Error) -> IoError {
        IoError::Write { path: self.path.clone(), offset, expected, source }
    }
}

impl Drop for Patch {
    fn drop(&mut self) {
        // The error cannot be reported here; the journal stays, and the next edit restores the
        // file.
        let _ = self.undo();
    }
}

/// The file itself, links followed.
fn followed(path: &Path) -> Result<PathBuf, IoError> {
    std::fs::canonicalize(path).map_err(|error| IoError::opening(path, error))
}

/// Opens a file for reading and writing, locked against others that do the same.
fn open_for_change(path: &Path) -> Result<Held, IoError> {
    let failed = |error| IoError::opening(path, error);
    loop {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let held = match file.try_lock() {
            Ok(()) => Held { file, locked: true },
            Err(TryLockError::WouldBlock) => return Err(IoError::Busy { path: path.to_owned() }),
            // A file system without locks: what else guards against two at once is the journal, which is made only
            // where there is none.
            Err(TryLockError::Error(_)) => Held { file, locked: false },
        };
        // The last owner of the lock may have replaced the file: the lock is then on a file without a name.
        let inode = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let named = std::fs::metadata(path).map(inode).map_err(failed)?;
        if held.file.metadata().map(inode).map_err(failed)? == named {
            return Ok(held);
        }
    }
}

/// Waits until a write has a later time than the last one, which takes some milliseconds at most: readers tell by the time
/// that a file was changed.
fn wait_for_the_clock(metadata: &std::fs::Metadata) {
    let step = 2 * system::clock_resolution();
    let age = metadata.modified().map(|modified| SystemTime::now().duration_since(modified));
    if let Ok(Ok(age)) = age {
        std::thread::sleep(step.saturating_sub(age));
    }
}

/// The ranges sorted, joined where they touch, and cut at `end`.
fn joined(ranges: &[Range<u64>], end: u64) -> Vec<Range<u64>> {
    let cut = |range: &Range<u64>| range.start..range.end.min(end);
    let mut sorted: Vec<Range<u64>> =
        ranges.iter().map(cut).filter(|range| !range.is_empty()).collect();
    sorted.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    sorted.into_iter().for_each(|range| push_coalesced(&mut joined, range, 0));
    joined
}

/// A point between two effects on the disk, where the tests let the disk fail or the process end.
#[inline]
fn step() -> io::Result<()> {
    #[cfg(test)]
    tests::step()?;
    Ok(())
}
