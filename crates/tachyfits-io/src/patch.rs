//! Atomic changes of a file in place: an incomplete change leaves the file unchanged.
//!
//! Before the first byte is written, the bytes to be overwritten and the length of the file are copied to a journal
//! next to it (see [`journal`]). The journal is flushed to the disk first, and removed when the change is complete. A
//! failed write restores the old bytes at once. After a kill or a power failure, the next program that opens the file
//! restores them (see [`look_beside`]), so that no program reads a partial change.
//!
//! An advisory lock (`flock`) on the file excludes concurrent edits. Readers take no lock: they compare size and
//! modification time of the open file before and after ([`Stamp`]), and an edit waits until the clock of the file
//! system has advanced since the last change.
//!
//! If the file becomes shorter, it is truncated at the end, after the journal has recorded that all other writes are
//! done: from there on the change is completed rather than undone, so the truncated bytes need not be saved.

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
    /// Compares size, time and inode: a renamed file is unchanged.
    fn eq(&self, other: &Stamp) -> bool {
        (self.bytes, self.modified, self.inode) == (other.bytes, other.modified, other.inode)
    }
}

impl Stamp {
    /// Returns the stamp of a file.
    ///
    /// # Errors
    /// If the file does not exist or is not a regular file.
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

    /// Checks that an open file is unchanged; with `may_grow`, bytes may have been appended.
    ///
    /// # Errors
    /// [`IoError::Changed`] if it has changed, [`IoError::Open`] if it cannot be examined.
    pub(crate) fn check_open(
        &self,
        path: &Path,
        file: &File,
        may_grow: bool,
    ) -> Result<(), IoError> {
        let metadata = file.metadata().map_err(|error| IoError::opening(path, error))?;
        let current = Stamp::of_metadata(&metadata);
        let has_grown = current.inode == self.inode && current.bytes > self.bytes;
        match current == *self || (may_grow && has_grown) {
            true => Ok(()),
            false => Err(self.changed(path, &current)),
        }
    }

    fn changed(&self, path: &Path, current: &Stamp) -> IoError {
        IoError::Changed { path: path.to_owned(), expected: self.bytes, found: current.bytes }
    }

    /// Returns the stamp as text, without the device number, which differs among machines that share a file system.
    pub fn version(&self) -> String {
        let (seconds, nanoseconds) = self.modified;
        format!("{}-{seconds}.{nanoseconds:09}-{}", self.bytes, self.inode.1)
    }

    /// Checks that the file is unchanged.
    ///
    /// # Errors
    /// [`IoError::Changed`] if it has changed, and as [`Stamp::of`].
    pub fn check(&self, path: &Path) -> Result<(), IoError> {
        let current = Stamp::of(path)?;
        match current == *self {
            true => Ok(()),
            false => Err(self.changed(path, &current)),
        }
    }

    /// Prevents other processes from editing the file while its replacement is written.
    ///
    /// # Errors
    /// If the file is not writable, even if its directory is; [`IoError::Busy`] if another process edits it;
    /// [`IoError::Unfinished`] if an interrupted change must be undone first; and as [`Stamp::check`].
    pub fn hold(&self, path: &Path) -> Result<Held, IoError> {
        let target = followed(path)?;
        let lock = open_for_change(&target)?;
        if let Found::Whole(..) = journal::find(&target, &lock.file)? {
            return Err(unfinished(&target));
        }
        self.check(path)?;
        Ok(lock)
    }

    /// Whether the file has several names (hard links).
    pub fn has_other_names(&self) -> bool {
        self.names > 1
    }

    /// Returns the size.
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
        // Closing the file is not enough if a process that is just being started still has it open.
        let _ = self.file.unlock();
    }
}

/// Action taken because of an interrupted change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// An unfinished change was undone: the file is as before.
    Undone,
    /// A change was complete except for truncating the file, which is done now.
    Finished,
}

/// Observation at opening a file that its opener must know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The file was restored.
    Recovered(Recovery),
    /// An object with the name of the file's journal does not belong to this file.
    Ignored {
        /// Path of the object.
        journal: PathBuf,
        /// Reason.
        reason: &'static str,
    },
    /// The server of the file does not support range requests, so the whole file is in memory.
    Downloaded {
        /// Size of the file.
        bytes: u64,
    },
    /// The file, or the original of this copy, may be partially changed, and its journal is missing.
    Lost {
        /// Path of the missing journal.
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

/// Maximum time that a reader waits for an edit in progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// Looks for a journal of an open file with the name `path`, and restores the file if its change was interrupted.
/// Returns false if that happened, or if another process finished its change: the file must then be opened again.
///
/// # Errors
/// [`IoError::Unfinished`] if the change takes longer than a reader waits, or the file is not writable,
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
    let start = Instant::now();
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
                // The process that changed the file may have finished meanwhile.
                if let Found::Whole(journal, content) = journal::find(&target, &held.file)? {
                    notices.push(Notice::Recovered(journal.restore(&held.file, &content)?));
                }
                return Ok(false);
            }
            Ok(_) => return unfinished(Pending::NoLocks),
            Err(IoError::Busy { .. }) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(IoError::Busy { .. }) => return unfinished(Pending::UnderWay),
            Err(IoError::Open { .. }) => return unfinished(Pending::Forbidden),
            Err(error) => return Err(error),
        }
    }
}

/// Rejects a file with an unfinished change, and removes obstacles to a new journal.
fn clear(target: &Path, file: &File) -> Result<(), IoError> {
    let journal = journal::path_of(target);
    match journal::find(target, file)? {
        // A mark without a journal was reported when the file was opened.
        Found::Nothing | Found::Lost(_) => Ok(()),
        Found::Foreign { removable: true, .. } => {
            // If this fails, creating the new journal fails and reports the reason.
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

/// Removes the journal of a file that was replaced: its old bytes are no longer needed.
pub(crate) fn forget_journal(target: &Path, file: &File) {
    // Another name of the file, or the process that has the lock, still needs the journal.
    if file.metadata().is_ok_and(|metadata| metadata.nlink() <= 1)
        && !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
        && let Ok(Found::Whole(journal, _)) = journal::find(target, file)
    {
        // A remaining journal does not match the new file, and is ignored.
        let _ = journal.remove(file);
    }
}

/// File being changed in place. Without [`Patch::commit`], dropping it restores the file.
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
    /// Ranges that may be overwritten: sorted and not adjacent.
    overwritten: Vec<Range<u64>>,
    /// `None` once the change is complete or undone.
    journal: Option<Journal>,
}

impl Patch {
    /// Prepares a change: `overwritten` lists the ranges of the current file that will be written, `new_bytes` is its
    /// new size. Bytes beyond the current end need not be listed.
    ///
    /// # Errors
    /// [`IoError::Changed`] if the file differs from `stamp`, [`IoError::Busy`] while another process changes it,
    /// [`IoError::Unfinished`] if an interrupted change must be undone first, and if the journal cannot be written or
    /// the disk is full. The file is then unchanged.
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
        let current = Stamp::of_metadata(&metadata);
        if current != *stamp {
            return Err(IoError::Changed { path, expected: stamp.bytes, found: current.bytes });
        }
        wait_for_the_clock(&metadata);
        let old_bytes = stamp.bytes;
        let overwritten = joined(overwritten, old_bytes.min(new_bytes));
        // The journal comes first: if it fails, the file and its modification time are unchanged.
        let journal = Journal::write(&path, &file.file, stamp, &overwritten, new_bytes)?;
        if let Err(source) = system::reserve_range(&file.file, old_bytes..new_bytes) {
            // Returns the reserved space; the existing bytes are unchanged.
            let _ = file.file.set_len(old_bytes).and_then(|()| journal.remove(&file.file));
            let expected = new_bytes - old_bytes;
            return Err(IoError::Write { path, offset: old_bytes, expected, source });
        }
        let journal = Some(journal);
        Ok(Patch { file, path, old_bytes, new_bytes, overwritten, journal })
    }

    /// Writes bytes at an offset, from any thread: within the listed ranges or beyond the old end.
    ///
    /// # Errors
    /// [`IoError::Write`] if the disk fails, or the bytes are outside these ranges.
    pub fn write_all_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let end = offset.saturating_add(bytes.len() as u64);
        let result = match self.allows(offset..end) {
            true => step().and_then(|()| system::write_all_at(&self.file.file, bytes, offset)),
            false => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        };
        result.map_err(|source| self.write_error(offset, bytes.len() as u64, source))
    }

    /// Makes the change final and durable.
    ///
    /// # Errors
    /// [`IoError::Commit`] if the disk fails and the file was restored; [`IoError::Unrestored`] if restoring fails too,
    /// or if the disk fails after the file was truncated.
    pub fn commit(mut self) -> Result<(), IoError> {
        if let Err(source) = self.complete() {
            self.undo()?;
            return Err(IoError::Commit { path: self.path.clone(), source });
        }
        // Truncated bytes cannot be restored: from here on the change is completed, now or by the next edit.
        let Some(journal) = self.journal.take() else { return Ok(()) };
        let file = &self.file.file;
        let removed = file.sync_all().and_then(|()| step()).and_then(|()| journal.remove(file));
        removed.map_err(|source| journal.unrestored(source))
    }

    /// Restores the file, as dropping does, but returns an error if that fails.
    ///
    /// # Errors
    /// [`IoError::Unrestored`].
    pub fn undo(&mut self) -> Result<(), IoError> {
        match self.journal.take() {
            Some(journal) => journal.undo(&self.file.file),
            None => Ok(()),
        }
    }

    /// Flushes all writes that can be undone, and records that only truncation is left.
    fn complete(&self) -> io::Result<()> {
        step()?;
        if self.new_bytes >= self.old_bytes {
            // Truncation returns reserved space that was not written; skipped bytes at the end read as zeros.
            self.file.file.set_len(self.new_bytes)?;
        }
        self.file.file.sync_all()?;
        step()?;
        let Some(journal) = &self.journal else { return Ok(()) };
        // Done even if nothing is truncated: once this mark is on the disk, the change is permanent.
        journal.mark_finished()?;
        step()?;
        self.file.file.set_len(self.new_bytes)
    }

    fn allows(&self, range: Range<u64>) -> bool {
        let existing = range.start..range.end.min(self.old_bytes);
        let index = self.overwritten.partition_point(|listed| listed.end < existing.end);
        let is_listed =
            self.overwritten.get(index).is_some_and(|listed| listed.start <= existing.start);
        range.end <= self.new_bytes && (existing.is_empty() || is_listed)
    }

    fn write_error(&self, offset: u64, expected: u64, source: io::Error) -> IoError {
        IoError::Write { path: self.path.clone(), offset, expected, source }
    }
}

impl Drop for Patch {
    fn drop(&mut self) {
        // The error cannot be reported here; the journal stays, and the next edit restores the file.
        let _ = self.undo();
    }
}

/// Returns the path of the file, with symbolic links resolved.
fn followed(path: &Path) -> Result<PathBuf, IoError> {
    std::fs::canonicalize(path).map_err(|error| IoError::opening(path, error))
}

/// Opens a file for reading and writing, locked against other editors.
fn open_for_change(path: &Path) -> Result<Held, IoError> {
    let failed = |error| IoError::opening(path, error);
    loop {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let lock = match file.try_lock() {
            Ok(()) => Held { file, locked: true },
            Err(TryLockError::WouldBlock) => return Err(IoError::Busy { path: path.to_owned() }),
            // On a file system without locks, only the journal protects against concurrent edits: it is created only if
            // it does not exist.
            Err(TryLockError::Error(_)) => Held { file, locked: false },
        };
        // The last owner of the lock may have replaced the file: the lock is then on a file without a name.
        let inode = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let inode_of_path = std::fs::metadata(path).map(inode).map_err(failed)?;
        if lock.file.metadata().map(inode).map_err(failed)? == inode_of_path {
            return Ok(lock);
        }
    }
}

/// Waits until a write gets a later time than the last one, some milliseconds at most: readers detect changes by the
/// time.
fn wait_for_the_clock(metadata: &std::fs::Metadata) {
    let step = 2 * system::clock_resolution();
    let age = metadata.modified().map(|modified| SystemTime::now().duration_since(modified));
    if let Ok(Ok(age)) = age {
        std::thread::sleep(step.saturating_sub(age));
    }
}

/// Returns the ranges sorted, merged if adjacent, and limited to `end`.
fn joined(ranges: &[Range<u64>], end: u64) -> Vec<Range<u64>> {
    let cut = |range: &Range<u64>| range.start..range.end.min(end);
    let mut sorted: Vec<Range<u64>> =
        ranges.iter().map(cut).filter(|range| !range.is_empty()).collect();
    sorted.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    sorted.into_iter().for_each(|range| push_coalesced(&mut merged, range, 0));
    merged
}

/// Marks a point between two effects on the disk, at which tests let the disk fail or the process end.
#[inline]
fn step() -> io::Result<()> {
    #[cfg(test)]
    tests::step()?;
    Ok(())
}
