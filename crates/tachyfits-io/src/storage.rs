//! The trait that every source of bytes implements, and the one place that opens a name as one of them.
//!
//! A storage has a fixed size and is read at offsets, by any number of threads at once; there is no position to share.
//! Compressed or unseekable input is turned into an ordinary storage when it is opened (see [`crate::spool`]).

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use crate::cached::CachedStorage;
use crate::direct::DirectStorage;
use crate::error::IoError;
use crate::file::FileStorage;
use crate::memory::MemoryStorage;
use crate::patch::{Notice, look_beside};
use crate::spool::{self, SpoolOptions};

/// The bytes that a run will take, estimated from a few of its tasks.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// A range of a task in the middle.
    pub range: Range<u64>,
    /// The span of all ranges.
    pub all: Range<u64>,
    /// Fraction of that which is requested.
    pub share: f64,
    /// How many bytes are requested.
    pub bytes: u64,
    /// Whether it is in the page cache, few tasks share it, and no buffering was requested.
    pub free: bool,
}

/// A source of bytes of known size.
///
/// An implementation provides three methods; [`crate::conformance::storage_suite`] is its test.
pub trait Storage: Send + Sync + Debug {
    /// The name for messages: a path or a URL.
    fn name(&self) -> &str;

    /// The size in bytes, as it was when the storage was opened.
    fn bytes(&self) -> u64;

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// [`IoError::Short`] if the storage ends before, [`IoError::Read`] if reading fails.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError>;

    /// Kind of this storage, for reports: `"auto"`, `"positioned"`, `"mapped"`, `"direct"`,
    /// `"memory"`, ….
    fn kind(&self) -> &'static str {
        "other"
    }

    /// The bytes of `range` without copying, where the storage has them in memory and keeps them; `None` also if the storage ends
    /// before.
    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        let _ = range;
        None
    }

    /// Whether borrowing is expected to beat copying for the wanted bytes.
    fn lends_cached(&self, wanted: &Wanted) -> bool {
        let _ = wanted;
        false
    }

    /// Prepares for [`Storage::cached`]: to be called once before each run that asks for it.
    fn prepare_to_lend(&self) {}

    /// Whether pages that were lent stay mapped, so that a run may enter as many as it likes.
    fn keeps_pages(&self) -> bool {
        false
    }

    /// As [`Storage::slice`], and also bytes of a map. These may turn out to be missing: the caller
    /// must ask [`Storage::intact`] before it uses results from them, as [`crate::run`] and
    /// [`crate::fill_either_way`] do.
    fn cached(&self, range: Range<u64>) -> Option<&[u8]> {
        self.slice(range)
    }

    /// Whether lent bytes were present when they were read.
    ///
    /// # Errors
    /// [`IoError::Short`] if the file was cut short meanwhile, [`IoError::Read`] if its device failed: what was made of
    /// the bytes is of no use then.
    fn intact(&self, range: Range<u64>) -> Result<(), IoError> {
        let _ = range;
        Ok(())
    }

    /// Whether the bytes are those that were there when the storage was opened: to be asked after reading, as
    /// [`crate::run`] and [`crate::fill`] do, since another process may have changed the file meanwhile.
    ///
    /// # Errors
    /// [`IoError::Changed`] if the size of the file or the time of its last change is another.
    fn check_unchanged(&self) -> Result<(), IoError> {
        Ok(())
    }

    /// Whether reading `range` is likely to need no device: it is in memory or in the page cache.
    ///
    /// An estimate from a few pages, used to choose how to overlap reading and computing.
    fn is_resident(&self, range: Range<u64>) -> bool {
        let _ = range;
        true
    }

    /// Whether what is read in order is read far ahead without being announced by [`Storage::will_need`].
    fn reads_far_ahead(&self) -> bool {
        false
    }

    /// Says that `range` is about to be read; costs little and promises nothing.
    fn will_need(&self, range: Range<u64>) {
        let _ = range;
    }

    /// The recommended alignment of offsets, lengths and memory addresses of a read.
    fn alignment(&self) -> usize {
        1
    }
}

/// How a file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StorageKind {
    /// The default: uses cached files through a memory map where that is faster than a copy, and
    /// reads otherwise as `Positioned` does.
    #[default]
    Auto,
    /// Positioned reads into reused buffers.
    Positioned,
    /// A memory map, without asking which is faster.
    Mapped,
    /// Reads that bypass the page cache (`O_DIRECT`), for files far larger than memory. Refused with
    /// [`IoError::Direct`] by file systems that cannot.
    Direct,
    /// The whole file is read into memory when it is opened.
    Memory,
}

/// Opens a file; gzip content is inflated, with the default [`SpoolOptions`].
///
/// ```
/// use tachyfits_io::{StorageKind, open};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("cube.fits");
/// std::fs::write(&path, b"SIMPLE  =                    T")?;
/// let storage = open(&path, StorageKind::Positioned)?;
/// let mut keyword = [0; 8];
/// storage.read_exact_at(0, &mut keyword)?;
/// assert_eq!(&keyword, b"SIMPLE  ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file cannot be opened or its compressed content is damaged or too large; the error names the file.
pub fn open(path: &Path, kind: StorageKind) -> Result<Arc<dyn Storage>, IoError> {
    open_with(path, kind, &SpoolOptions::default())
}

/// Opens a file; gzip content, and what can only be read from beginning to end (a pipe), is kept within `options`.
///
/// The compression is recognised by the content, not by the name. Inflated content is in memory or in an unlinked
/// temporary file, whatever `kind` says. Content that is compressed in another way is read as it is
/// ([`crate::compression_of`] names the format).
///
/// # Errors
/// As for [`open`].
pub fn open_with(
    path: &Path,
    kind: StorageKind,
    options: &SpoolOptions,
) -> Result<Arc<dyn Storage>, IoError> {
    open_for(path, kind, options, Purpose::Reading, &mut Vec::new())
}

/// Purpose of opening a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To be read as it is now.
    #[default]
    Reading,
    /// To be read while another program may add to its end.
    Following,
    /// For editing, so that no other process edits it: an interrupted change is undone also on a
    /// file system without locks.
    Changing,
}

/// How often a file is opened again because another process changed it meanwhile.
const ATTEMPTS: usize = 20;

/// As [`open_with`], for a purpose. A change of the file that was interrupted is undone first; that, and what else was
/// found beside it, is added to `notices`.
///
/// # Errors
/// As for [`open`]; [`IoError::Unfinished`], [`IoError::Journal`] or [`IoError::Unrestored`] if an interrupted change cannot
/// be undone.
pub fn open_for(
    path: &Path,
    kind: StorageKind,
    options: &SpoolOptions,
    purpose: Purpose,
    notices: &mut Vec<Notice>,
) -> Result<Arc<dyn Storage>, IoError> {
    for _ in 1..ATTEMPTS {
        match attempt(path, kind, options, purpose, notices) {
            Ok(None) | Err(IoError::Changed { .. }) => {}
            Ok(Some(storage)) => return Ok(storage),
            Err(error) => return Err(error),
        }
    }
    let unsettled = || IoError::Busy { path: path.to_owned() };
    attempt(path, kind, options, purpose, notices)?.ok_or_else(unsettled)
}

/// `None` where the file was made whole and is to be opened again.
fn attempt(
    path: &Path,
    kind: StorageKind,
    options: &SpoolOptions,
    purpose: Purpose,
    notices: &mut Vec<Notice>,
) -> Result<Option<Arc<dyn Storage>>, IoError> {
    let file = open_file(path)?;
    let metadata = file.metadata().map_err(|source| open_error(path, source))?;
    if metadata.is_dir() {
        return Err(IoError::NotAFile { path: path.to_owned(), found: "a directory" });
    }
    if metadata.file_type().is_char_device() {
        // A terminal, or something without an end.
        return Err(IoError::NotAFile { path: path.to_owned(), found: "a device" });
    }
    if !metadata.is_file() {
        return spool::spool(&path.display().to_string(), file, options).map(Some);
    }
    // Record the state of the file before looking for a journal, so that later changes are noticed.
    let mut storage = FileStorage::from_file(path, file)?;
    if purpose == Purpose::Following {
        storage.allow_growth();
    }
    if !look_beside(path, storage.file(), purpose != Purpose::Changing, notices)? {
        return Ok(None);
    }
    if spool::compression_of(&storage)? == Some(spool::Compression::Gzip) {
        let inflated = spool::spool(storage.name(), storage.file(), options);
        storage.check_unchanged()?;
        return inflated.map(Some);
    }
    Ok(Some(match kind {
        StorageKind::Auto => Arc::new(CachedStorage::new(storage)),
        StorageKind::Positioned => Arc::new(storage),
        StorageKind::Mapped => Arc::new(CachedStorage::mapped(path, storage)?),
        StorageKind::Direct => Arc::new(DirectStorage::of(path, storage)?),
        StorageKind::Memory => {
            let content = MemoryStorage::read(&storage)?;
            storage.check_unchanged()?;
            Arc::new(content)
        }
    }))
}

/// The outcome of a run, unless the storage was changed meanwhile. A truncated file keeps the error
/// that states its present end.
pub(crate) fn unless_changed<T, E: From<IoError>>(
    storage: &dyn Storage,
    outcome: Result<T, E>,
) -> Result<T, E> {
    match storage.check_unchanged() {
        Err(IoError::Changed { expected, found, .. }) if outcome.is_err() && found < expected => {
            outcome
        }
        unchanged => unchanged.map_err(E::from).and(outcome),
    }
}

/// Opens a file for reading, with the error that names it.
pub(crate) fn open_file(path: &Path) -> Result<File, IoError> {
    File::open(path).map_err(|source| open_error(path, source))
}

/// The error for a file that cannot be opened or examined.
pub(crate) fn open_error(path: &Path, source: io::Error) -> IoError {
    match source.kind() {
        io::ErrorKind::NotFound => IoError::NotFound { path: path.to_owned() },
        io::ErrorKind::IsADirectory => {
            IoError::NotAFile { path: path.to_owned(), found: "a directory" }
        }
        _ => IoError::Open { path: path.to_owned(), source },
    }
}

/// The error for bytes beyond the end, `None` where they are within `storage`.
pub(crate) fn check_within(
    storage: &dyn Storage,
    offset: u64,
    expected: u64,
) -> Result<(), IoError> {
    let size = storage.bytes();
    match offset.checked_add(expected) {
        Some(end) if end <= size => Ok(()),
        _ => Err(IoError::Short { name: storage.name().to_owned(), offset, expected, size }),
    }
}
