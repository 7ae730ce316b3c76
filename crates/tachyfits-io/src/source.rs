//! Opening of sources: a file by its name, bytes, or an open storage.
//!
//! Opening compressed or unseekable input copies it to an ordinary storage (see [`crate::spool()`]).

use std::ffi::OsStr;
#[cfg(not(feature = "remote"))]
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::backend::cached::CachedStorage;
use crate::backend::direct::DirectStorage;
use crate::backend::file::{FileStorage, open_file};
use crate::backend::memory::MemoryStorage;
#[cfg(feature = "remote")]
use crate::backend::remote::RemoteStorage;
use crate::error::IoError;
use crate::operation::{OPEN_ATTEMPTS, opening, repeated_if_changed};
use crate::patch::{Notice, look_beside};
use crate::remote_url::RemoteUrl;
use crate::spool::{Compression, SpoolOptions, StorageReader, compression_of, spool};
use crate::storage::Storage;

/// Input that can be opened: a name, or a storage.
///
/// ```
/// use std::sync::Arc;
/// use tachyfits_io::{MemoryStorage, Source, SourceOptions, Storage};
///
/// // A path of any type is a source, and so is a storage of any kind.
/// let by_name = Source::from("cube.fits");
/// let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new("example", b"SIMPLE  =".to_vec()));
/// let opened = Source::from(storage).open(&SourceOptions::default(), &mut Vec::new())?;
/// assert_eq!((by_name.name(), opened.name()), ("cube.fits".into(), "example"));
/// # Ok::<(), tachyfits_io::IoError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// File by its name.
    Path(PathBuf),
    /// Object of a server by its URL.
    Remote(RemoteUrl),
    /// Storage that is already open.
    Storage(Arc<dyn Storage>),
}

impl Source {
    /// Returns the bytes of a file, kept without copying, with a name for messages.
    pub fn bytes(name: &str, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Source {
        Source::Storage(Arc::new(MemoryStorage::new(name, bytes)))
    }

    /// Returns a URL if the name is one, otherwise the path of a file.
    fn of_name(path: PathBuf) -> Source {
        match path.to_str().and_then(RemoteUrl::of) {
            Some(url) => Source::Remote(url),
            None => Source::Path(path),
        }
    }

    /// Returns the name for messages.
    pub fn name(&self) -> String {
        match self {
            Source::Path(path) => path.display().to_string(),
            Source::Remote(url) => url.to_string(),
            Source::Storage(storage) => storage.name().to_owned(),
        }
    }

    /// Opens the source; inflates gzip content.
    ///
    /// The compression is recognised by the content, not by the name. Inflated content is in memory or in an unlinked
    /// temporary file, whatever the kind. Other compressed content is read unchanged ([`crate::compression_of`] names
    /// the format). An interrupted change of a file is undone first; this and other findings next to the file are added
    /// to `notices`.
    ///
    /// # Errors
    /// If the file cannot be opened or its compressed content is damaged or too large; the error names the file.
    /// [`IoError::Unfinished`], [`IoError::Journal`] or [`IoError::Unrestored`] if an interrupted change cannot be undone.
    pub fn open(
        &self,
        options: &SourceOptions,
        notices: &mut Vec<Notice>,
    ) -> Result<Arc<dyn Storage>, IoError> {
        let path = match self {
            Source::Path(path) => path,
            Source::Remote(url) => return plain(open_remote(url, notices)?, options),
            Source::Storage(storage) => return plain(Arc::clone(storage), options),
        };
        for _ in 1..OPEN_ATTEMPTS {
            match attempt(path, options, notices) {
                Ok(None) | Err(IoError::Changed { .. }) => {}
                Ok(Some(storage)) => return Ok(storage),
                Err(error) => return Err(error),
            }
        }
        let unsettled = || IoError::Busy { path: path.clone() };
        attempt(path, options, notices)?.ok_or_else(unsettled)
    }

    /// Opens the source and passes the storage to `use_it`. Repeats this, with at most `attempts` attempts, if another
    /// process changed the file meanwhile. Returns the result of `use_it`, and the notices.
    ///
    /// # Errors
    /// As [`Source::open`], and the errors of `use_it`.
    pub fn read<T, E: From<IoError>>(
        &self,
        options: &SourceOptions,
        attempts: usize,
        is_changed: impl Fn(&E) -> bool,
        use_it: impl Fn(Arc<dyn Storage>) -> Result<T, E>,
    ) -> Result<(T, Vec<Notice>), E> {
        let mut notices = Vec::new();
        let result = opening(&options.spool.token, || {
            repeated_if_changed(attempts, is_changed, || {
                let storage = self.open(options, &mut notices)?;
                let result = use_it(Arc::clone(&storage));
                // Bytes that another process was writing are invalid.
                storage.check_unchanged()?;
                result
            })
        })?;
        Ok((result, notices))
    }
}

/// Implements conversions from the types that name a file.
macro_rules! paths {
    ($($type:ty)+) => {$(
        impl From<$type> for Source {
            fn from(path: $type) -> Source {
                Source::of_name(path.into())
            }
        }
    )+};
}
paths!(PathBuf &PathBuf &Path &OsStr String &String &str);

impl From<Arc<dyn Storage>> for Source {
    fn from(storage: Arc<dyn Storage>) -> Source {
        Source::Storage(storage)
    }
}

impl<S: Storage + 'static> From<Arc<S>> for Source {
    fn from(storage: Arc<S>) -> Source {
        Source::Storage(storage)
    }
}

options! {
    /// Options for opening a source.
    #[derive(Clone, Debug, Default)]
    pub struct SourceOptions {
        /// Kind of storage for a file.
        pub kind: StorageKind,
        /// Limits for compressed content, and for input that can only be read sequentially.
        pub spool: SpoolOptions,
        /// Purpose of opening the source.
        pub purpose: Purpose,
    }
}

/// Way of reading a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StorageKind {
    /// The default: uses cached files through a memory map if that is faster than a copy, and otherwise reads as
    /// `Positioned` does.
    #[default]
    Auto,
    /// Positioned reads into reused buffers.
    Positioned,
    /// A memory map, even if it is slower.
    Mapped,
    /// Reads that bypass the page cache (`O_DIRECT`), for files far larger than memory. File systems that do not
    /// support it return [`IoError::Direct`].
    Direct,
    /// The whole file is read into memory when it is opened.
    Memory,
}

/// Purpose of opening a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Reading the current content.
    #[default]
    Reading,
    /// Reading while another program may append.
    Following,
    /// Editing, so that no other process edits the file: an interrupted change is undone even on a file system without
    /// locks.
    Changing,
}

/// Opens a source with the default [`SpoolOptions`]; see [`Source::open`].
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
/// As [`Source::open`].
pub fn open(source: impl Into<Source>, kind: StorageKind) -> Result<Arc<dyn Storage>, IoError> {
    let options = SourceOptions { kind, ..SourceOptions::default() };
    source.into().open(&options, &mut Vec::new())
}

/// Returns the storage, or its inflated content if it contains gzip content.
fn plain(storage: Arc<dyn Storage>, options: &SourceOptions) -> Result<Arc<dyn Storage>, IoError> {
    Ok(inflated(&*storage, &options.spool)?.unwrap_or(storage))
}

#[cfg(feature = "remote")]
fn open_remote(url: &RemoteUrl, notices: &mut Vec<Notice>) -> Result<Arc<dyn Storage>, IoError> {
    RemoteStorage::open(url, notices)
}

#[cfg(not(feature = "remote"))]
fn open_remote(url: &RemoteUrl, _: &mut Vec<Notice>) -> Result<Arc<dyn Storage>, IoError> {
    Err(no_client(url))
}

/// Returns the error of a build without the feature `remote`.
#[cfg(not(feature = "remote"))]
pub(crate) fn no_client(url: &RemoteUrl) -> IoError {
    let detail = "this build has no client for servers (Cargo feature remote)";
    let source = io::Error::new(io::ErrorKind::Unsupported, detail);
    IoError::Remote { name: url.to_string(), source }
}

/// Inflates the content of a storage that contains gzip content; `None` for any other.
fn inflated(
    storage: &dyn Storage,
    options: &SpoolOptions,
) -> Result<Option<Arc<dyn Storage>>, IoError> {
    if compression_of(storage)? != Some(Compression::Gzip) {
        return Ok(None);
    }
    let inflated = spool(storage.name(), StorageReader::new(storage), options);
    storage.check_unchanged()?;
    inflated.map(Some)
}

/// Tries to open a file; `None` if it was restored and must be opened again.
fn attempt(
    path: &Path,
    options: &SourceOptions,
    notices: &mut Vec<Notice>,
) -> Result<Option<Arc<dyn Storage>>, IoError> {
    let file = open_file(path)?;
    let metadata = file.metadata().map_err(|source| IoError::opening(path, source))?;
    if metadata.is_dir() {
        return Err(IoError::NotAFile { path: path.to_owned(), found: "a directory" });
    }
    if metadata.file_type().is_char_device() {
        // A terminal, or an endless device.
        return Err(IoError::NotAFile { path: path.to_owned(), found: "a device" });
    }
    if !metadata.is_file() {
        return spool(&path.display().to_string(), file, &options.spool).map(Some);
    }
    // Record the state of the file before looking for a journal, so that later changes are noticed.
    let mut storage = FileStorage::from_file(path, file)?;
    if options.purpose == Purpose::Following {
        storage.allow_growth();
    }
    if !look_beside(path, storage.file(), options.purpose != Purpose::Changing, notices)? {
        return Ok(None);
    }
    if let Some(inflated) = inflated(&storage, &options.spool)? {
        return Ok(Some(inflated));
    }
    Ok(Some(match options.kind {
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
