//! A file that is changed in place, and is as it was if the change does not come to its end.
//!
//! Before the first byte is written, the bytes that will be overwritten and the length of the file are kept in a journal
//! beside it (see [`journal`]), which is on the disk before anything else happens and is removed when the change is
//! complete. A write that fails puts the old bytes back at once; after a kill or a loss of power [`restore`] does, which
//! whoever edits the file next calls. Until then the file is not opened for reading, so that nobody takes the half of a
//! change for data.
//!
//! A file that becomes shorter is cut in one step at the end, with the journal saying before that everything else is
//! done: from there on the change is finished rather than undone, so what is cut off need not be kept.

mod journal;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use journal::Journal;
pub(crate) use journal::check_finished;

use crate::error::IoError;
use crate::storage::open_error;
use crate::system;

/// What a file was when it was looked at: whoever changes it later can see whether somebody else did meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    inode: u64,
}

impl Stamp {
    /// Looks at a file.
    ///
    /// # Errors
    /// If there is no such file or it is not a regular one.
    pub fn of(path: &Path) -> Result<Stamp, IoError> {
        let metadata = std::fs::metadata(path).map_err(|error| open_error(path, error))?;
        if !metadata.is_file() {
            let found = if metadata.is_dir() { "a directory" } else { "a device or a pipe" };
            return Err(IoError::NotAFile { path: path.to_owned(), found });
        }
        Ok(Stamp::of_metadata(&metadata))
    }

    fn of_metadata(metadata: &std::fs::Metadata) -> Stamp {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Stamp { bytes: metadata.len(), modified, inode: metadata.ino() }
    }

    /// Looks at the file again.
    ///
    /// # Errors
    /// [`IoError::Changed`] if it is another, and as [`Stamp::of`].
    pub fn check(&self, path: &Path) -> Result<(), IoError> {
        let found = Stamp::of(path)?;
        match found == *self {
            true => Ok(()),
            false => Err(IoError::Changed {
                path: path.to_owned(),
                expected: self.bytes,
                found: found.bytes,
            }),
        }
    }

    /// Keeps others from editing the file while a new one is written that will take its place.
    ///
    /// # Errors
    /// If the file must not be written, though its directory may be; [`IoError::Busy`] if somebody else edits it;
    /// [`IoError::Unfinished`] if an interrupted change has to be restored first; and as [`Stamp::check`].
    pub fn hold(&self, path: &Path) -> Result<Held, IoError> {
        let held = open_for_change(&followed(path)?)?;
        check_finished(path)?;
        self.check(path)?;
        Ok(held)
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A file that nobody else edits until this is dropped: it is locked against others that do the same.
#[derive(Debug)]
pub struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // Closing it is not enough where a process that is being started has the file for a moment longer.
        let _ = self.0.unlock();
    }
}

/// What [`restore`] found and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// A change had been prepared and not begun.
    Unbegun,
    /// A change had been begun: the file is as it was before.
    Undone,
    /// A change had been complete but for the cutting of the end: that is done now.
    Finished,
}

impl Recovery {
    /// What happened, in words for a message.
    pub fn as_str(self) -> &'static str {
        match self {
            Recovery::Unbegun => {
                "an interrupted edit had not begun: the file is as it was before it"
            }
            Recovery::Undone => "an interrupted edit was undone: the file is as it was before it",
            Recovery::Finished => "an interrupted edit was all but complete and was finished",
        }
    }
}

/// Brings a file whose change was interrupted back to a whole state; `None` where there was none.
///
/// # Errors
/// [`IoError::Busy`] while the change is under way, [`IoError::Journal`] if the journal is not of this file,
/// [`IoError::Unrestored`] if the file cannot be written.
pub fn restore(path: &Path) -> Result<Option<Recovery>, IoError> {
    let path = followed(path)?;
    if !journal::exists(&path) {
        return Ok(None);
    }
    let file = open_for_change(&path)?;
    // The change may have come to its end while the lock was waited for.
    match Journal::open(&path)? {
        Some(journal) => journal.restore(&file.0).map(Some),
        None => Ok(None),
    }
}

/// A file that is being changed in place. Dropped without [`Patch::commit`], it is as it was.
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
    /// What may be overwritten: sorted, not touching each other.
    overwritten: Vec<Range<u64>>,
    /// None once the change is complete or undone.
    journal: Option<Journal>,
}

impl Patch {
    /// Prepares a change: `overwritten` are the ranges of the file as it is that will be written to, `new_bytes` the size
    /// that it will have. What lies beyond the present end may be written without being named.
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
        check_finished(&path)?;
        let metadata = file.0.metadata().map_err(|error| open_error(&path, error))?;
        let found = Stamp::of_metadata(&metadata);
        if found != *stamp {
            return Err(IoError::Changed { path, expected: stamp.bytes, found: found.bytes });
        }
        let old_bytes = stamp.bytes;
        let overwritten = joined(overwritten, old_bytes.min(new_bytes));
        let reserved = system::reserve_range(&file.0, old_bytes..new_bytes);
        let journal = reserved
            .map_err(|source| IoError::Write {
                path: path.clone(),
                offset: old_bytes,
                expected: new_bytes - old_bytes,
                source,
            })
            .and_then(|()| Journal::write(&path, &file.0, stamp, &overwritten, new_bytes));
        match journal {
            Ok(journal) => {
                let journal = Some(journal);
                Ok(Patch { file, path, old_bytes, new_bytes, overwritten, journal })
            }
            Err(error) => {
                // Gives back what was set aside; the bytes themselves were not touched.
                let _ = file.0.set_len(old_bytes);
                Err(error)
            }
        }
    }

    /// Writes bytes at an offset, from any thread: within the ranges that were named or beyond the old end.
    ///
    /// # Errors
    /// [`IoError::Write`] if the disk fails, or the bytes lie elsewhere.
    pub fn write_all_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let end = offset.saturating_add(bytes.len() as u64);
        let written = match self.allows(offset..end) {
            true => step().and_then(|()| system::write_all_at(&self.file.0, bytes, offset)),
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
        // What was cut off cannot be put back: from here on the change is finished, now or by the next edit.
        let Some(journal) = self.journal.take() else { return Ok(()) };
        let removed = self.file.0.sync_all().and_then(|()| step()).and_then(|()| journal.remove());
        removed.map_err(|source| journal.unrestored(source))
    }

    /// Puts the file back as it was, as dropping does, but says if that fails.
    ///
    /// # Errors
    /// [`IoError::Unrestored`].
    pub fn undo(&mut self) -> Result<(), IoError> {
        match self.journal.take() {
            Some(journal) => journal.undo(&self.file.0),
            None => Ok(()),
        }
    }

    /// All that can be undone, and the cut.
    fn complete(&self) -> io::Result<()> {
        step()?;
        if self.new_bytes >= self.old_bytes {
            // What was set aside and not written is given back, what was skipped at the end reads as zeros.
            self.file.0.set_len(self.new_bytes)?;
        }
        self.file.0.sync_all()?;
        step()?;
        let Some(journal) = &self.journal else { return Ok(()) };
        // Also where nothing is cut: once this is on the disk, the change stays.
        journal.mark_finished()?;
        step()?;
        self.file.0.set_len(self.new_bytes)
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
        // There is nobody to tell; the journal stays where this fails, and the next edit restores the file.
        let _ = self.undo();
    }
}

/// The file itself, links followed.
fn followed(path: &Path) -> Result<PathBuf, IoError> {
    std::fs::canonicalize(path).map_err(|error| open_error(path, error))
}

/// Opens a file for reading and writing, locked against others that do the same.
fn open_for_change(path: &Path) -> Result<Held, IoError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|error| open_error(path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(Held(file)),
        Err(TryLockError::WouldBlock) => Err(IoError::Busy { path: path.to_owned() }),
        // A file system without locks: what else guards against two at once is the journal, which is made only where
        // there is none.
        Err(TryLockError::Error(_)) => Ok(Held(file)),
    }
}

/// The ranges sorted, joined where they touch, and cut at `end`.
fn joined(ranges: &[Range<u64>], end: u64) -> Vec<Range<u64>> {
    let cut = |range: &Range<u64>| range.start..range.end.min(end);
    let mut sorted: Vec<Range<u64>> =
        ranges.iter().map(cut).filter(|range| !range.is_empty()).collect();
    sorted.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// A point between two effects on the disk, where the tests let the disk fail or the process end.
#[inline]
fn step() -> io::Result<()> {
    #[cfg(test)]
    tests::step()?;
    Ok(())
}
