//! Journal of a change in place: the bytes to restore, and whether the change is complete.
//!
//! All numbers are big-endian u64:
//!
//! ```text
//! "tachyfits undo 2"      16 bytes
//! state                   8 bytes: "writing " or "finished"
//! header                  old size, new size, inode, time of birth (seconds, nanoseconds), fingerprint of what is not
//!                         overwritten, number of records
//! CRC-32 of the header
//! records                 offset, length, the old bytes
//! CRC-32 of the records
//! ```
//!
//! It gets its name when it is complete and on the disk, before the file is changed: an existing journal that is
//! incomplete is damaged. The header identifies the file, so that its bytes are never written into another file of that
//! name. The device number is not stored, because it may change after a restart; the file must be on the device of the
//! journal. As in SQLite, a journal is *hot* if it is complete, belongs to this file, and its process has ended: the
//! next program that opens the file undoes the change.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use flate2::Crc;

use super::{Recovery, Stamp, step};
use crate::error::IoError;
use crate::system;
use crate::system::read_up_to;
use crate::unfinished::{Unfinished, directory_of, sync_directory};

const MAGIC: &[u8; 16] = b"tachyfits undo 2";
const WRITING: &[u8; 8] = b"writing ";
const FINISHED: &[u8; 8] = b"finished";
const STATE_OFFSET: u64 = 16;
/// Offset of the records.
const RECORDS_OFFSET: u64 = 24 + 8 * HEADER_NUMBERS as u64 + 8;
const HEADER_NUMBERS: usize = 7;
/// Size of the pieces in which old bytes are copied.
const PIECE_BYTES: u64 = 1 << 20;
/// Mode of the journal: access for the owner only, because it contains bytes of a file that others may not be allowed
/// to read.
const MODE: u32 = 0o600;
/// Maximum bytes of a file's name in the name of its journal: file systems allow 255.
const NAME_BYTES: usize = 200;
/// Number and size of the samples in a fingerprint.
const SAMPLES: u64 = 64;
const SAMPLE_BYTES: u64 = 64;

/// Journal of one file.
#[derive(Debug)]
pub(super) struct Journal {
    /// Path of the journal.
    path: PathBuf,
    /// Path of the file that it belongs to.
    target: PathBuf,
    file: File,
}

/// Object found under the name of a file's journal.
#[derive(Debug)]
pub(super) enum Found {
    Nothing,
    /// An object that does not belong to this file, and the reason. `removable`: an edit may remove it.
    Foreign {
        reason: &'static str,
        removable: bool,
    },
    /// A journal of this file.
    Whole(Journal, Content),
    /// A journal that only the owner of the file may read.
    Closed,
    /// An attribute of the file names the journal of an unfinished change, but this journal is missing.
    Lost(PathBuf),
}

/// Returns the path of a file's journal.
///
/// A name too long for the suffix is replaced by its first bytes and a hash of the whole name.
pub(super) fn path_of(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default();
    let mut journal = OsString::from(".");
    if name.len() <= NAME_BYTES {
        journal.push(name);
    } else {
        let bytes = name.as_bytes();
        journal.push(OsStr::from_bytes(&bytes[..NAME_BYTES]));
        journal.push(format!("-{:016x}", fnv(bytes)));
    }
    journal.push(".tachyfits-undo");
    target.with_file_name(journal)
}

/// 64-bit FNV-1a hash, so that names with the same beginning have different journals.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Searches the journal of `file`, whose name (links followed) is `target`: next to the file, and at the path in the
/// file's own attribute. The file has this attribute until a change is finished, so the journal is found under any name
/// of the file.
///
/// # Errors
/// [`IoError::Journal`] if the journal is damaged: a user must decide what to do.
pub(super) fn find(target: &Path, file: &File) -> Result<Found, IoError> {
    let beside = path_of(target);
    let result = find_at(beside.clone(), target, file)?;
    if matches!(result, Found::Whole(..) | Found::Closed) {
        return Ok(result);
    }
    match system::mark(file) {
        None => Ok(result),
        // The attribute names the journal that was checked, possibly by another path.
        Some(marked) if fs::canonicalize(&marked).ok() == fs::canonicalize(&beside).ok() => {
            Ok(match result {
                Found::Nothing => Found::Lost(marked),
                foreign => foreign,
            })
        }
        Some(marked) => Ok(match find_at(marked.clone(), target, file)? {
            Found::Whole(journal, content) => Found::Whole(journal, content),
            Found::Closed => Found::Closed,
            Found::Nothing | Found::Foreign { .. } | Found::Lost(_) => Found::Lost(marked),
        }),
    }
}

fn find_at(path: PathBuf, target: &Path, file: &File) -> Result<Found, IoError> {
    let journal_metadata = match fs::symlink_metadata(&path) {
        Ok(journal_metadata) => journal_metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        // The longest file names leave no room for the suffix of a journal.
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => return Ok(Found::Nothing),
        Err(source) => return Err(IoError::Open { path, source }),
    };
    let unusable = |source| IoError::Open { path: path.clone(), source };
    let about = file.metadata().map_err(unusable)?;
    if let Some(foreign) = foreign_by_looks(&journal_metadata, &about) {
        return Ok(foreign);
    }
    // The flags neither follow a link nor wait for a pipe that replaced the journal meanwhile.
    let flags = system::NO_FOLLOW;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path);
    let opened = opened.or_else(|error| match error.kind() {
        // Read access is enough to identify the journal; restoring the file needs more anyway.
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            OpenOptions::new().read(true).custom_flags(flags).open(&path)
        }
        _ => Err(error),
    });
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let born = |metadata: &Metadata| metadata.created().ok();
            return Ok(match born(&about).zip(born(&journal_metadata)) {
                Some((file, journal)) if file > journal => Found::Foreign {
                    reason: "it is older than the file of that name",
                    removable: true,
                },
                _ => Found::Closed,
            });
        }
        Err(source) => return Err(IoError::Open { path, source }),
    };
    if let Some(foreign) = foreign_by_looks(&opened.metadata().map_err(unusable)?, &about) {
        return Ok(foreign);
    }
    let journal = Journal { path: path.clone(), target: target.to_owned(), file: opened };
    match journal.content() {
        Ok(Ok(content)) => {
            let matches = content.matches(file, &about).map_err(unusable)?;
            Ok(match matches {
                true => Found::Whole(journal, content),
                false => Found::Foreign {
                    reason: "it is of another file of that name, or the file was changed since",
                    removable: true,
                },
            })
        }
        Ok(Err(Unreadable::NoJournal)) => {
            Ok(Found::Foreign { reason: "it is not a journal", removable: false })
        }
        Ok(Err(Unreadable::Damaged(detail))) => {
            let detail = detail.to_owned();
            Err(IoError::Journal { path, target: target.to_owned(), detail })
        }
        Err(source) => {
            Err(IoError::Read { name: path.display().to_string(), offset: 0, expected: 0, source })
        }
    }
}

/// Returns `Foreign` if the metadata alone show that this program did not write the journal for this file.
fn foreign_by_looks(journal: &Metadata, file: &Metadata) -> Option<Found> {
    let foreign = |reason| Some(Found::Foreign { reason, removable: true });
    let owners = [system::user(), file.uid()];
    match () {
        () if journal.dev() != file.dev() => foreign("it is on another device"),
        () if !journal.is_file() => foreign("it is not a regular file"),
        () if !owners.contains(&journal.uid()) => {
            foreign("its owner is neither this user nor the owner of the file")
        }
        // Another user may have linked a file of a trusted user; a journal in use has only one name.
        () if journal.nlink() != 1 => foreign("it has several names"),
        () if journal.len() == 0 => foreign("it is empty"),
        () => None,
    }
}

/// Reason why a journal cannot be used.
enum Unreadable {
    NoJournal,
    Damaged(&'static str),
}

impl Journal {
    /// Writes the old bytes of `ranges` to a journal, and flushes it.
    pub(super) fn write(
        target: &Path,
        from: &File,
        stamp: &Stamp,
        ranges: &[Range<u64>],
        new_bytes: u64,
    ) -> Result<Journal, IoError> {
        let path = path_of(target);
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                let expected = ranges.iter().map(|range| range.end - range.start).sum();
                IoError::Write { path: path.clone(), offset: 0, expected, source }
            }
            _ => IoError::Create { path: path.clone(), source },
        };
        let unfinished = Unfinished::beside(&path, MODE).map_err(failed)?;
        let file = unfinished.file().try_clone().map_err(failed)?;
        let journal = Journal { path: path.clone(), target: target.to_owned(), file };
        let result = journal.fill(from, stamp, ranges, new_bytes);
        result.map_err(|source| {
            let expected = ranges.iter().map(|range| range.end - range.start).sum();
            IoError::Write { path: path.clone(), offset: 0, expected, source }
        })?;
        unfinished.name(&path, false, true).map_err(failed)?;
        match step().and_then(|()| journal.sync_directory()) {
            Ok(()) => {
                system::set_mark(from, &journal.path);
                Ok(journal)
            }
            Err(source) => {
                let _ = fs::remove_file(&journal.path);
                Err(failed(source))
            }
        }
    }

    fn fill(
        &self,
        from: &File,
        stamp: &Stamp,
        ranges: &[Range<u64>],
        new_bytes: u64,
    ) -> io::Result<()> {
        step()?;
        let about = from.metadata()?;
        if system::user() == 0 {
            // The owner of the file can restore it, as well as the user that edited it.
            std::os::unix::fs::fchown(&self.file, Some(about.uid()), Some(about.gid()))?;
        }
        let (born, born_nanoseconds) = born(&about);
        let header = [
            stamp.bytes,
            new_bytes,
            about.ino(),
            born,
            born_nanoseconds,
            u64::from(fingerprint(from, ranges, stamp.bytes.min(new_bytes))?),
            ranges.len() as u64,
        ];
        let mut out = BufWriter::new(&self.file);
        out.write_all(MAGIC)?;
        out.write_all(WRITING)?;
        let mut sum = Crc::new();
        for number in header {
            sum.update(&number.to_be_bytes());
            out.write_all(&number.to_be_bytes())?;
        }
        out.write_all(&u64::from(sum.sum()).to_be_bytes())?;
        let mut records = Summed { inner: out, crc: Crc::new() };
        let mut piece = Vec::new();
        for range in ranges {
            let length = range.end - range.start;
            records.write_all(&range.start.to_be_bytes())?;
            records.write_all(&length.to_be_bytes())?;
            for at in (range.start..range.end).step_by(PIECE_BYTES as usize) {
                // At most PIECE_BYTES, 1 MiB.
                piece.resize(PIECE_BYTES.min(range.end - at) as usize, 0);
                if read_up_to(from, at, &mut piece)? != piece.len() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                records.write_all(&piece)?;
            }
        }
        let sum = u64::from(records.crc.sum());
        records.inner.write_all(&sum.to_be_bytes())?;
        records.inner.flush()?;
        step()?;
        self.file.sync_all()
    }

    /// Records on the disk that only truncating the file is left to do.
    pub(super) fn mark_finished(&self) -> io::Result<()> {
        self.file.write_all_at(FINISHED, STATE_OFFSET)?;
        self.file.sync_all()
    }

    /// Removes the journal, which makes the change final.
    pub(super) fn remove(&self, file: &File) -> io::Result<()> {
        system::unmark(file);
        fs::remove_file(&self.path)?;
        // If this fails, the journal may reappear after a power failure, and restore the old bytes, which is also a
        // consistent state.
        let _ = self.sync_directory();
        Ok(())
    }

    /// Restores `file`, whatever part of the change was done.
    pub(super) fn restore(&self, file: &File, content: &Content) -> Result<Recovery, IoError> {
        let unrestored = |source| self.unrestored(source);
        if content.finished {
            let cut = file.set_len(content.new_bytes).and_then(|()| file.sync_all());
            cut.and_then(|()| self.remove(file)).map_err(unrestored)?;
            return Ok(Recovery::Finished);
        }
        self.put_back(file, content).map_err(unrestored)?;
        Ok(Recovery::Undone)
    }

    /// Restores the old bytes, in the process that wrote the journal.
    pub(super) fn undo(&self, file: &File) -> Result<(), IoError> {
        let unrestored = |source| self.unrestored(source);
        // If this is interrupted, the change must be undone, not completed.
        self.file.write_all_at(WRITING, STATE_OFFSET).map_err(unrestored)?;
        match self.content().map_err(unrestored)? {
            Ok(content) => self.put_back(file, &content).map_err(unrestored),
            Err(_) => Err(self.unrestored(io::ErrorKind::InvalidData.into())),
        }
    }

    fn put_back(&self, file: &File, content: &Content) -> io::Result<()> {
        let mut reader = BufReader::new(&self.file);
        reader.seek(SeekFrom::Start(RECORDS_OFFSET))?;
        let mut piece = Vec::new();
        for range in &content.ranges {
            reader.seek_relative(16)?;
            let mut at = range.start;
            while at < range.end {
                // At most PIECE_BYTES, 1 MiB.
                piece.resize(PIECE_BYTES.min(range.end - at) as usize, 0);
                reader.read_exact(&mut piece)?;
                step()?;
                file.write_all_at(&piece, at)?;
                at += piece.len() as u64;
            }
        }
        file.set_len(content.old_bytes)?;
        file.sync_all()?;
        step()?;
        self.remove(file)
    }

    /// Reads the content of the journal; returns the reason if it is unreadable.
    fn content(&self) -> io::Result<Result<Content, Unreadable>> {
        let size = self.file.metadata()?.len();
        let mut reader = BufReader::with_capacity(PIECE_BYTES as usize, &self.file);
        reader.seek(SeekFrom::Start(0))?;
        let mut head = [0; RECORDS_OFFSET as usize];
        let length = read_up_to(&self.file, 0, &mut head)?;
        let first = &head[..length.min(MAGIC.len())];
        let matching =
            MAGIC.iter().zip(first).filter(|(expected, actual)| expected == actual).count();
        if matching < first.len() {
            // A damaged journal differs in a few bytes, any other file in most of them.
            return Ok(Err(match 2 * matching > first.len() {
                true => Unreadable::Damaged("its first bytes are not those of a journal"),
                false => Unreadable::NoJournal,
            }));
        }
        if length < head.len() || size < RECORDS_OFFSET + 8 {
            return Ok(Err(Unreadable::Damaged("it is cut short")));
        }
        let (words, _) = head[24..].as_chunks::<8>();
        let numbers: Vec<u64> = words.iter().map(|word| u64::from_be_bytes(*word)).collect();
        let mut sum = Crc::new();
        sum.update(&head[24..RECORDS_OFFSET as usize - 8]);
        let state = &head[STATE_OFFSET as usize..][..8];
        if u64::from(sum.sum()) != numbers[HEADER_NUMBERS]
            || !(state == WRITING || state == FINISHED)
        {
            return Ok(Err(Unreadable::Damaged("the sum of its header is wrong")));
        }
        reader.seek(SeekFrom::Start(RECORDS_OFFSET))?;
        let mut records = Summed { inner: reader, crc: Crc::new() };
        let mut ranges = Vec::new();
        let mut rest = size - RECORDS_OFFSET - 8;
        for _ in 0..numbers[6] {
            let Some(remaining) = rest.checked_sub(16) else { break };
            let (start, length) = (number(&mut records)?, number(&mut records)?);
            let Some(remaining) = remaining.checked_sub(length) else { break };
            io::copy(&mut (&mut records).take(length), &mut io::sink())?;
            ranges.push(start..start.saturating_add(length));
            rest = remaining;
        }
        let checksum = u64::from(records.crc.sum());
        let is_complete = rest == 0
            && ranges.len() as u64 == numbers[6]
            && ranges.iter().all(|range| range.end <= numbers[0])
            && number(&mut records.inner)? == checksum;
        if !is_complete {
            return Ok(Err(Unreadable::Damaged("the sum of its content is wrong")));
        }
        Ok(Ok(Content {
            old_bytes: numbers[0],
            new_bytes: numbers[1],
            identity: (numbers[2], numbers[3], numbers[4]),
            fingerprint: numbers[5],
            ranges,
            finished: state == FINISHED,
        }))
    }

    fn sync_directory(&self) -> io::Result<()> {
        sync_directory(directory_of(&self.path))
    }

    pub(super) fn unrestored(&self, source: io::Error) -> IoError {
        IoError::Unrestored { path: self.target.clone(), journal: self.path.clone(), source }
    }
}

/// Content of a complete journal, except the old bytes.
#[derive(Debug)]
pub(super) struct Content {
    old_bytes: u64,
    new_bytes: u64,
    /// Inode and time of birth of the file.
    identity: (u64, u64, u64),
    fingerprint: u64,
    /// Ranges that may have been overwritten.
    ranges: Vec<Range<u64>>,
    finished: bool,
}

impl Content {
    /// Whether the journal belongs to this file, in the state that the change left it in.
    fn matches(&self, file: &File, about: &Metadata) -> io::Result<bool> {
        let (born, nanoseconds) = born(about);
        let size = about.len();
        let least = if self.finished { self.old_bytes.min(self.new_bytes) } else { self.old_bytes };
        let sizes = least..=self.old_bytes.max(self.new_bytes);
        if self.identity != (about.ino(), born, nanoseconds) || !sizes.contains(&size) {
            return Ok(false);
        }
        let end = self.old_bytes.min(self.new_bytes);
        Ok(u64::from(fingerprint(file, &self.ranges, end)?) == self.fingerprint)
    }
}

/// Returns the creation time of a file, because its inode may be reused later. Zeros if the file system does not report
/// it.
fn born(metadata: &Metadata) -> (u64, u64) {
    let born = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    born.map_or((0, 0), |born| (born.as_secs(), u64::from(born.subsec_nanos())))
}

/// Returns a checksum of samples of the first `end` bytes outside of `ranges`, which are sorted. It changes if a
/// program copies another file over this one, into the same inode.
fn fingerprint(file: &File, ranges: &[Range<u64>], end: u64) -> io::Result<u32> {
    let mut sum = Crc::new();
    let distance = (end / SAMPLES).max(SAMPLE_BYTES);
    for at in (0..end).step_by(distance as usize) {
        let until = end.min(at + SAMPLE_BYTES);
        let mut sample = [0; SAMPLE_BYTES as usize];
        let length = read_up_to(file, at, &mut sample[..(until - at) as usize])?;
        let next = ranges.partition_point(|range| range.end <= at);
        for range in ranges[next..].iter().take_while(|range| range.start < until) {
            let within = range.start.max(at) - at..range.end.min(until) - at;
            sample[within.start as usize..within.end as usize].fill(0);
        }
        sum.update(&at.to_be_bytes());
        sum.update(&sample[..length]);
    }
    Ok(sum.sum())
}

fn number(reader: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    reader.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

/// Reader or writer that computes the checksum of its bytes.
struct Summed<T> {
    inner: T,
    crc: Crc,
}

impl<T: Write> Write for Summed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.crc.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Summed<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.crc.update(&bytes[..count]);
        Ok(count)
    }
}
