//! The journal of a change in place: what to put back, and whether the change is complete.
//!
//! All numbers are big-endian u64 unless said otherwise:
//!
//! ```text
//! "tachyfits undo 1"      16 bytes
//! state                   8 bytes: "writing " or "finished"
//! old size, new size, inode of the file, number of records
//! records                 offset, length, the old bytes
//! CRC-32                  of all from the old size on; 0 in its high half
//! ```
//!
//! It is complete on the disk before the file is touched: one that is cut short belongs to a change that has not begun. The
//! inode guards against a file that was replaced after an interrupted change: its bytes must not be put into another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use flate2::Crc;

use super::{Recovery, Stamp, step};
use crate::error::IoError;
use crate::file::read_up_to;
use crate::storage::open_error;

const MAGIC: &[u8; 16] = b"tachyfits undo 1";
const WRITING: &[u8; 8] = b"writing ";
const FINISHED: &[u8; 8] = b"finished";
const STATE_OFFSET: u64 = 16;
/// Where the part begins that the checksum covers.
const BODY_OFFSET: u64 = 24;
/// Old bytes are copied in pieces of this size.
const PIECE_BYTES: u64 = 1 << 20;

/// The journal of one file.
#[derive(Debug)]
pub(super) struct Journal {
    /// The journal itself.
    path: PathBuf,
    /// The file that it is about.
    target: PathBuf,
    file: File,
}

/// Where the journal of a file is.
pub(super) fn path_of(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.tachyfits-undo"))
}

/// Whether a file, whose name is no link, has a journal.
pub(super) fn exists(target: &Path) -> bool {
    path_of(target).exists()
}

/// Refuses a file that has a journal: half of a change may be in it.
///
/// # Errors
/// [`IoError::Unfinished`].
pub(crate) fn check_finished(path: &Path) -> Result<(), IoError> {
    let followed = match path.is_symlink() {
        true => fs::canonicalize(path).map_err(|error| open_error(path, error))?,
        false => path.to_owned(),
    };
    let journal = path_of(&followed);
    match journal.exists() {
        true => Err(IoError::Unfinished { path: path.to_owned(), journal }),
        false => Ok(()),
    }
}

impl Journal {
    /// Keeps the old bytes of `ranges`, on the disk.
    pub(super) fn write(
        target: &Path,
        from: &File,
        stamp: &Stamp,
        ranges: &[Range<u64>],
        new_bytes: u64,
    ) -> Result<Journal, IoError> {
        let path = path_of(target);
        let created = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = created.map_err(|source| IoError::Create { path: path.clone(), source })?;
        let journal = Journal { path, target: target.to_owned(), file };
        let written = journal.fill(from, stamp, ranges, new_bytes);
        written.map_err(|source| {
            let _ = fs::remove_file(&journal.path);
            let expected = ranges.iter().map(|range| range.end - range.start).sum();
            IoError::Write { path: journal.path.clone(), offset: 0, expected, source }
        })?;
        Ok(journal)
    }

    fn fill(
        &self,
        from: &File,
        stamp: &Stamp,
        ranges: &[Range<u64>],
        new_bytes: u64,
    ) -> io::Result<()> {
        step()?;
        let mut body = Summed { inner: BufWriter::new(&self.file), crc: Crc::new() };
        body.inner.write_all(MAGIC)?;
        body.inner.write_all(WRITING)?;
        for number in [stamp.bytes, new_bytes, stamp.inode, ranges.len() as u64] {
            body.write_all(&number.to_be_bytes())?;
        }
        let mut piece = Vec::new();
        for range in ranges {
            let length = range.end - range.start;
            body.write_all(&range.start.to_be_bytes())?;
            body.write_all(&length.to_be_bytes())?;
            for at in (range.start..range.end).step_by(PIECE_BYTES as usize) {
                piece.resize(PIECE_BYTES.min(range.end - at) as usize, 0);
                if read_up_to(from, at, &mut piece)? != piece.len() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                body.write_all(&piece)?;
            }
        }
        let sum = u64::from(body.crc.sum());
        body.inner.write_all(&sum.to_be_bytes())?;
        body.inner.flush()?;
        step()?;
        self.file.sync_all()?;
        self.sync_directory()
    }

    /// Opens the journal of a file; `None` if there is none.
    pub(super) fn open(target: &Path) -> Result<Option<Journal>, IoError> {
        let path = path_of(target);
        match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => Ok(Some(Journal { path, target: target.to_owned(), file })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(IoError::Open { path, source }),
        }
    }

    /// Says on the disk that everything but the cutting of the end is done.
    pub(super) fn mark_finished(&self) -> io::Result<()> {
        self.file.write_all_at(FINISHED, STATE_OFFSET)?;
        self.file.sync_all()
    }

    /// Removes the journal: the change is final.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        // If this fails the journal may come back after a loss of power, and the old bytes with it: a whole state too.
        let _ = self.sync_directory();
        Ok(())
    }

    /// Brings `file` to a whole state, whatever point the change had reached.
    pub(super) fn restore(&self, file: &File) -> Result<Recovery, IoError> {
        let unrestored = |source| self.unrestored(source);
        let Some(content) = self.check().map_err(unrestored)? else {
            self.remove().map_err(unrestored)?;
            return Ok(Recovery::Unbegun);
        };
        let metadata = file.metadata().map_err(unrestored)?;
        if metadata.ino() != content.inode {
            let detail = "it is of a file of that name that was replaced since".to_owned();
            return Err(IoError::Journal { path: self.path.clone(), detail });
        }
        if content.finished {
            let cut = file.set_len(content.new_bytes).and_then(|()| file.sync_all());
            cut.and_then(|()| self.remove()).map_err(unrestored)?;
            return Ok(Recovery::Finished);
        }
        self.put_back(file, &content).map_err(unrestored)?;
        Ok(Recovery::Undone)
    }

    /// Puts the old bytes back, by whoever wrote the journal.
    pub(super) fn undo(&self, file: &File) -> Result<(), IoError> {
        let unrestored = |source| self.unrestored(source);
        // From here on it is to be undone, and not finished, if that is interrupted.
        self.file.write_all_at(WRITING, STATE_OFFSET).map_err(unrestored)?;
        let content = self.check().map_err(unrestored)?;
        let missing = || self.unrestored(io::ErrorKind::UnexpectedEof.into());
        self.put_back(file, &content.ok_or_else(missing)?).map_err(unrestored)
    }

    fn put_back(&self, file: &File, content: &Content) -> io::Result<()> {
        let mut reader = BufReader::new(&self.file);
        reader.seek(SeekFrom::Start(BODY_OFFSET + 32))?;
        let mut piece = Vec::new();
        for _ in 0..content.records {
            let (mut at, length) = (number(&mut reader)?, number(&mut reader)?);
            let end = at.saturating_add(length);
            while at < end {
                piece.resize(PIECE_BYTES.min(end - at) as usize, 0);
                reader.read_exact(&mut piece)?;
                step()?;
                file.write_all_at(&piece, at)?;
                at += piece.len() as u64;
            }
        }
        file.set_len(content.old_bytes)?;
        file.sync_all()?;
        step()?;
        self.remove()
    }

    /// What the journal says; `None` if it was never completed.
    fn check(&self) -> io::Result<Option<Content>> {
        match self.content() {
            Ok(content) => Ok(content),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn content(&self) -> io::Result<Option<Content>> {
        let size = self.file.metadata()?.len();
        let mut reader = BufReader::with_capacity(PIECE_BYTES as usize, &self.file);
        reader.seek(SeekFrom::Start(0))?;
        let (mut magic, mut state) = ([0; 16], [0; 8]);
        reader.read_exact(&mut magic)?;
        reader.read_exact(&mut state)?;
        let Some(covered) = size.checked_sub(BODY_OFFSET + 8).filter(|_| magic == *MAGIC) else {
            return Ok(None);
        };
        let mut body = Summed { inner: reader, crc: Crc::new() };
        let old_bytes = number(&mut body)?;
        let new_bytes = number(&mut body)?;
        let inode = number(&mut body)?;
        let records = number(&mut body)?;
        let rest = covered.checked_sub(32).ok_or(io::ErrorKind::UnexpectedEof)?;
        let copied = io::copy(&mut (&mut body).take(rest), &mut io::sink())?;
        let found = u64::from(body.crc.sum());
        let stated = number(&mut body.inner)?;
        let finished = state == *FINISHED;
        let content = Content { old_bytes, new_bytes, inode, records, finished };
        Ok(Some(content).filter(|_| copied == rest && found == stated))
    }

    fn sync_directory(&self) -> io::Result<()> {
        let directory = self.path.parent().filter(|path| !path.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }

    pub(super) fn unrestored(&self, source: io::Error) -> IoError {
        IoError::Unrestored { path: self.target.clone(), journal: self.path.clone(), source }
    }
}

/// What a complete journal says, but for its records.
struct Content {
    old_bytes: u64,
    new_bytes: u64,
    inode: u64,
    records: u64,
    finished: bool,
}

fn number(reader: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    reader.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

/// A reader or writer that sums what passes.
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
