//! Errors of reading and writing bytes: one variant per cause, with the position, the expected and the actual value, a
//! stable code, and a hint on a separate line.
//!
//! The module knows nothing of FITS: the engine adds the HDU and the keyword.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tachyfits_memory::NoMemory;

/// Kind of an error: Python has one exception class per kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Bytes could not be read or written.
    Io,
    /// The contents of the file break the rules of its format.
    Format,
    /// The request is invalid for these data.
    Usage,
    /// The request exceeds a limit or the available memory.
    Limit,
}

impl ErrorKind {
    /// Returns the kind in lower case, for lists.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Io => "io",
            ErrorKind::Format => "format",
            ErrorKind::Usage => "usage",
            ErrorKind::Limit => "limit",
        }
    }
}

/// An input or output error; its text is the message and, on a second line, a hint.
///
/// ```
/// use tachyfits_io::{IoError, StorageKind, open};
/// use std::path::Path;
///
/// let error = open(Path::new("no/such/cube.fits"), StorageKind::Positioned).unwrap_err();
/// assert_eq!(error.code(), "io-not-found");
/// assert!(error.to_string().starts_with("no/such/cube.fits: no such file"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum IoError {
    /// No file has this name.
    NotFound {
        /// Name from the caller.
        path: PathBuf,
    },
    /// The name is that of a directory, a device or a pipe, but a regular file is needed.
    NotAFile {
        /// Name from the caller.
        path: PathBuf,
        /// Kind of the object.
        found: &'static str,
    },
    /// The file could not be opened or examined.
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Reading failed.
    Read {
        /// The name of the storage.
        name: String,
        /// Offset of the read, in bytes.
        offset: u64,
        /// Number of bytes requested.
        expected: u64,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The storage ends before the requested bytes.
    Short {
        /// The name of the storage.
        name: String,
        /// Offset of the read, in bytes.
        offset: u64,
        /// Number of bytes requested.
        expected: u64,
        /// Size of the storage, in bytes.
        size: u64,
    },
    /// A server did not return an object, or a part of it.
    Remote {
        /// URL without secrets.
        name: String,
        /// Reason, in the words of the server or its client.
        source: io::Error,
    },
    /// The file could not be mapped into memory.
    Map {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file system refuses reads that bypass the page cache.
    Direct {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The compressed content is damaged or cut short.
    Gzip {
        /// The name of the storage.
        name: String,
        /// Number of the gzip member, counted from 0.
        member: u64,
        /// Number of bytes inflated before the damage.
        inflated: u64,
        /// The fault.
        detail: String,
    },
    /// The content has a compression format that is not supported.
    Compressed {
        /// The name of the storage.
        name: String,
        /// The name of the format.
        format: &'static str,
    },
    /// The content is larger than the limit that was set.
    Limit {
        /// The name of the storage.
        name: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// There is not enough memory for the bytes.
    Memory {
        /// The name of the storage.
        name: String,
        /// Number of bytes needed.
        bytes: u64,
    },
    /// A temporary file could not be created or written.
    Temporary {
        /// The directory.
        directory: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The output file exists and overwriting was not requested.
    Exists {
        /// The output file.
        path: PathBuf,
    },
    /// The output file could not be created.
    Create {
        /// The output file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Writing the output failed; an existing file of that name is unchanged.
    Write {
        /// The output file.
        path: PathBuf,
        /// Offset of the write, in bytes.
        offset: u64,
        /// Number of bytes to write.
        expected: u64,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The complete output could not be renamed to its final name; an existing file of that name is unchanged.
    Commit {
        /// The output file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file has changed since it was opened for editing.
    Changed {
        /// The file.
        path: PathBuf,
        /// Size when opened.
        expected: u64,
        /// Current size; it may be the same, with another modification time.
        found: u64,
    },
    /// Another process is changing the file.
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A change of the file is in progress, or was interrupted and must be undone.
    Unfinished {
        /// The file.
        path: PathBuf,
        /// The journal with the old bytes.
        journal: PathBuf,
        /// Reason why the change is not undone now.
        cause: Pending,
    },
    /// An edit failed and the file could not be restored.
    Unrestored {
        /// The file.
        path: PathBuf,
        /// The journal with the old bytes.
        journal: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The journal of an interrupted edit cannot be used.
    Journal {
        /// Journal.
        path: PathBuf,
        /// File that the journal belongs to.
        target: PathBuf,
        /// Reason.
        detail: String,
    },
    /// Computed values are too large for the pixel type of the storage.
    Values {
        /// The name of the storage.
        name: String,
        /// Number of these values.
        count: u64,
    },
    /// The storage has content that cannot be decoded, such as a damaged compressed tile.
    Content {
        /// The name of the storage.
        name: String,
        /// Fault and position.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The threads of a run could not be started.
    Threads {
        /// The error of the operating system.
        source: io::Error,
    },
    /// The run was cancelled.
    Cancelled,
    /// The run exceeds a limit of its job.
    Budget {
        /// Limit and usage.
        budget: Budget,
    },
}

impl From<NoMemory> for IoError {
    fn from(NoMemory { what, bytes }: NoMemory) -> IoError {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        IoError::Memory { name: what.to_owned(), bytes }
    }
}

/// Limit of a [`crate::Job`] that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Budget {
    /// Bytes.
    Bytes {
        /// The limit.
        most: u64,
        /// Bytes used before.
        used: u64,
        /// Bytes that the next task needs.
        needed: u64,
    },
    /// Time.
    Time {
        /// The limit.
        most: Duration,
        /// Time since the job began.
        used: Duration,
    },
}

/// Reason why an unfinished edit is neither completed nor undone when the file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pending {
    /// Another process is writing the file.
    UnderWay,
    /// This user may not write the file or read its journal.
    Forbidden,
    /// The file system has no locks, so a process that writes the file cannot be detected.
    NoLocks,
}

impl IoError {
    /// Returns the error for a file that cannot be opened or examined.
    pub(crate) fn opening(path: &Path, source: io::Error) -> IoError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => IoError::NotFound { path },
            io::ErrorKind::IsADirectory => IoError::NotAFile { path, found: "a directory" },
            _ => IoError::Open { path, source },
        }
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            IoError::Limit { .. } | IoError::Memory { .. } | IoError::Budget { .. } => {
                ErrorKind::Limit
            }
            // Aligned memory of direct reads.
            IoError::Read { source, .. } if source.kind() == io::ErrorKind::OutOfMemory => {
                ErrorKind::Limit
            }
            IoError::Values { .. } => ErrorKind::Usage,
            IoError::Content { .. } => ErrorKind::Format,
            _ => ErrorKind::Io,
        }
    }

    /// Returns the stable code of this error, for programs and for the documentation.
    pub fn code(&self) -> &'static str {
        match self {
            IoError::NotFound { .. } => "io-not-found",
            IoError::NotAFile { .. } => "io-not-a-file",
            IoError::Open { .. } => "io-open",
            IoError::Read { .. } => "io-read",
            IoError::Short { .. } => "io-short",
            IoError::Remote { .. } => "io-remote",
            IoError::Map { .. } => "io-map",
            IoError::Direct { .. } => "io-direct",
            IoError::Gzip { .. } => "io-gzip",
            IoError::Compressed { .. } => "io-compressed",
            IoError::Limit { .. } => "io-limit",
            IoError::Memory { .. } => "io-memory",
            IoError::Temporary { .. } => "io-temporary",
            IoError::Exists { .. } => "io-exists",
            IoError::Create { .. } => "io-create",
            IoError::Write { .. } => "io-write",
            IoError::Commit { .. } => "io-commit",
            IoError::Changed { .. } => "io-changed",
            IoError::Busy { .. } => "io-busy",
            IoError::Unfinished { .. } => "io-unfinished",
            IoError::Unrestored { .. } => "io-unrestored",
            IoError::Journal { .. } => "io-journal",
            IoError::Values { .. } => "io-values",
            IoError::Content { .. } => "io-content",
            IoError::Threads { .. } => "io-threads",
            IoError::Cancelled => "io-cancelled",
            IoError::Budget { .. } => "io-budget",
        }
    }

    /// Returns the message, in one line without the hint.
    pub fn message(&self) -> String {
        match self.subject() {
            Some(subject) => format!("{subject}: {}", self.event()),
            None => self.event(),
        }
    }

    /// Returns the file or directory concerned.
    fn subject(&self) -> Option<String> {
        Some(match self {
            IoError::NotFound { path }
            | IoError::NotAFile { path, .. }
            | IoError::Open { path, .. }
            | IoError::Map { path, .. }
            | IoError::Direct { path, .. }
            | IoError::Exists { path }
            | IoError::Create { path, .. }
            | IoError::Write { path, .. }
            | IoError::Commit { path, .. }
            | IoError::Changed { path, .. }
            | IoError::Busy { path }
            | IoError::Unfinished { path, .. }
            | IoError::Unrestored { path, .. }
            | IoError::Journal { target: path, .. } => path.display().to_string(),
            IoError::Read { name, .. }
            | IoError::Short { name, .. }
            | IoError::Remote { name, .. }
            | IoError::Gzip { name, .. }
            | IoError::Compressed { name, .. }
            | IoError::Limit { name, .. }
            | IoError::Memory { name, .. }
            | IoError::Values { name, .. }
            | IoError::Content { name, .. } => name.clone(),
            IoError::Temporary { directory, .. } => directory.display().to_string(),
            IoError::Threads { .. } | IoError::Cancelled | IoError::Budget { .. } => return None,
        })
    }

    /// Returns the message without its subject.
    fn event(&self) -> String {
        match self {
            IoError::NotFound { .. } => "no such file".to_owned(),
            IoError::NotAFile { found, .. } => format!("expected a regular file, found {found}"),
            IoError::Open { source, .. } => format!("cannot be opened: {source}"),
            IoError::Read { offset, expected, source, .. } => {
                format!("cannot read {expected} bytes at offset {offset}: {source}")
            }
            IoError::Short { offset, expected, size, .. } => {
                format!("expected {expected} bytes at offset {offset}, the file ends at {size}")
            }
            IoError::Remote { source, .. } => format!("cannot be read from its server: {source}"),
            IoError::Map { source, .. } => format!("cannot be mapped into memory: {source}"),
            IoError::Direct { source, .. } => format!("cannot be read directly: {source}"),
            IoError::Gzip { member, inflated, detail, .. } => format!(
                "damaged gzip content in member {member} (counted from 0), after {inflated} \
                 inflated bytes: {detail}"
            ),
            IoError::Compressed { format, .. } => {
                format!("expected plain or gzip content, found {format}")
            }
            IoError::Limit { limit, .. } => {
                format!("the content exceeds the limit of {limit} bytes")
            }
            IoError::Memory { bytes, .. } => {
                format!("cannot allocate {bytes} bytes of memory")
            }
            IoError::Temporary { source, .. } => format!("cannot write a temporary file: {source}"),
            IoError::Exists { .. } => "the file exists".to_owned(),
            IoError::Create { source, .. } => format!("cannot be created: {source}"),
            IoError::Write { offset, expected, source, .. } => {
                format!("cannot write {expected} bytes at offset {offset}: {source}")
            }
            IoError::Commit { source, .. } => {
                format!("cannot be renamed to its final name: {source}")
            }
            IoError::Changed { expected, found, .. } => format!(
                "the file has changed since it was opened: expected {expected} bytes, found {found}"
            ),
            IoError::Busy { .. } => "another process is changing the file".to_owned(),
            IoError::Unfinished { journal, cause, .. } => {
                let found = match cause {
                    Pending::UnderWay => "an edit that another process is writing",
                    Pending::Forbidden => {
                        "an edit that was interrupted and that this user may not undo"
                    }
                    Pending::NoLocks => "an unfinished edit, on a file system without locks",
                };
                format!(
                    "expected a complete file, found {found}; its journal is {}",
                    journal.display()
                )
            }
            IoError::Unrestored { journal, source, .. } => format!(
                "an edit failed and cannot be undone now: {source}; its journal is {}",
                journal.display()
            ),
            IoError::Journal { path, detail, .. } => {
                format!("invalid journal of an interrupted edit, {}: {detail}", path.display())
            }
            IoError::Values { count, .. } => {
                format!("expected values within the range of float32, found {count} outside it")
            }
            IoError::Content { source, .. } => source.to_string(),
            IoError::Threads { source } => format!("threads cannot be started: {source}"),
            IoError::Cancelled => "cancelled".to_owned(),
            IoError::Budget { budget: Budget::Bytes { most, used, needed } } => format!(
                "byte budget exceeded: expected at most {most} bytes, {used} bytes were read and the \
                 next step needs {needed}"
            ),
            IoError::Budget { budget: Budget::Time { most, used } } => format!(
                "time budget exceeded: expected at most {} s, found {:.3} s",
                most.as_secs_f64(),
                used.as_secs_f64()
            ),
        }
    }

    /// Returns the hint, in one line; `{a|b}` contains the wordings for Python and for the command line.
    pub fn hint(&self) -> &'static str {
        match self {
            IoError::NotFound { .. } => "check the name and the current directory",
            IoError::NotAFile { .. } => "name a regular file",
            IoError::Open { .. } => "check the permissions of the file and of its directory",
            IoError::Read { .. } => "check the disk or the network mount, then try again",
            IoError::Short { .. } => "the file is truncated or has changed; fetch it again",
            IoError::Remote { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    "set the credentials of the server in the environment (AWS_ACCESS_KEY_ID and \
                     AWS_SECRET_ACCESS_KEY, GOOGLE_…, AZURE_…), or AWS_SKIP_SIGNATURE=true for \
                     public data"
                }
                io::ErrorKind::Unsupported => "download the file, and open it from the disk",
                _ => "check the URL and the network, then try again",
            },
            IoError::Map { .. } => "use {storage=\"pread\"|--storage pread}",
            IoError::Direct { .. } => {
                "use {storage=\"pread\"|--storage pread}; this file system has no O_DIRECT"
            }
            IoError::Gzip { .. } => {
                "the file is damaged or incomplete; check it with gzip -t, fetch it again"
            }
            IoError::Compressed { .. } => "decompress the file first",
            IoError::Limit { .. } => {
                "raise the limit if you trust the file, or decompress it first"
            }
            IoError::Memory { .. } => {
                "use fewer threads ({threads=1|--threads 1}), or {storage=\"pread\"|--storage \
                 pread}"
            }
            IoError::Temporary { .. } => "free space there, or set TMPDIR to another directory",
            IoError::Exists { .. } => {
                "choose another name, or replace the file: {overwrite=True|--overwrite}"
            }
            IoError::Create { .. } => "check that the directory exists and is writeable",
            IoError::Write { source, .. } | IoError::Commit { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "free space on that disk or write to another; nothing was changed"
                }
                _ => "check the permissions and the space of that directory; nothing was changed",
            },
            IoError::Changed { .. } => "open the file again and repeat the operation",
            IoError::Busy { .. } => "try again when the other process is done",
            IoError::Unfinished { cause, .. } => match cause {
                Pending::UnderWay => "try again when the other process is done",
                Pending::Forbidden => {
                    "let the owner of the file open it once to undo the interrupted edit"
                }
                Pending::NoLocks => {
                    "if no process is editing the file, open it for editing once to undo the \
                     interrupted edit"
                }
            },
            IoError::Unrestored { .. } => {
                "repair the disk, keep the journal beside the file, and open the file once to \
                 restore it"
            }
            IoError::Journal { .. } => {
                "the file may be partly changed: rename the journal, check the file (tachyfits \
                 verify), and fetch the file again if it is damaged"
            }
            IoError::Threads { .. } => {
                "use fewer threads ({threads=1|--threads 1}), or raise the limit on processes"
            }
            IoError::Values { .. } => "use float64, or scale the values first",
            IoError::Content { .. } => "fetch the file again, or read the parts that are intact",
            IoError::Cancelled => "run it again for the result",
            IoError::Budget { budget: Budget::Bytes { .. } } => {
                "request fewer pixels or rows, or allow more bytes"
            }
            IoError::Budget { budget: Budget::Time { .. } } => {
                "request fewer pixels or rows, or allow more time"
            }
        }
    }

    /// Returns the error number of the operating system, if the error came from there.
    pub fn raw_os_error(&self) -> Option<i32> {
        self.cause().and_then(io::Error::raw_os_error)
    }

    /// Returns one example of each error, in the order of the documentation; every code occurs exactly once.
    ///
    /// ```
    /// let codes: Vec<_> = tachyfits_io::IoError::examples().iter().map(|e| e.code()).collect();
    /// assert!(codes.contains(&"io-short"));
    /// ```
    pub fn examples() -> Vec<IoError> {
        let path = || PathBuf::from("cube.fits");
        let name = || "cube.fits".to_owned();
        let journal = || PathBuf::from(".cube.fits.tachyfits-undo");
        let source = || io::Error::from(io::ErrorKind::PermissionDenied);
        vec![
            IoError::NotFound { path: path() },
            IoError::NotAFile { path: path(), found: "a directory" },
            IoError::Open { path: path(), source: source() },
            IoError::Read { name: name(), offset: 2880, expected: 1024, source: source() },
            IoError::Short { name: name(), offset: 2880, expected: 1024, size: 3000 },
            IoError::Remote { name: "https://archive.org/cube.fits".to_owned(), source: source() },
            IoError::Map { path: path(), source: source() },
            IoError::Direct { path: path(), source: io::ErrorKind::InvalidInput.into() },
            IoError::Gzip {
                name: name(),
                member: 0,
                inflated: 2880,
                detail: "cut short".to_owned(),
            },
            IoError::Compressed { name: "cube.fits.bz2".to_owned(), format: "bzip2" },
            IoError::Limit { name: name(), limit: 1 << 36 },
            IoError::Memory { name: name(), bytes: 1 << 40 },
            IoError::Temporary { directory: PathBuf::from("tmp"), source: source() },
            IoError::Exists { path: path() },
            IoError::Create { path: path(), source: source() },
            IoError::Write {
                path: path(),
                offset: 0,
                expected: 2880,
                source: io::ErrorKind::StorageFull.into(),
            },
            IoError::Commit { path: path(), source: source() },
            IoError::Changed { path: path(), expected: 5760, found: 8640 },
            IoError::Busy { path: path() },
            IoError::Unfinished { path: path(), journal: journal(), cause: Pending::UnderWay },
            IoError::Unrestored { path: path(), journal: journal(), source: source() },
            IoError::Journal {
                path: journal(),
                target: path(),
                detail: "the sum of its content is wrong".to_owned(),
            },
            IoError::Values { name: name(), count: 3 },
            IoError::Content { name: name(), source: "row 5: expected a whole tile".into() },
            IoError::Threads { source: io::ErrorKind::WouldBlock.into() },
            IoError::Cancelled,
            IoError::Budget {
                budget: Budget::Bytes { most: 1 << 30, used: 1 << 30, needed: 1 << 19 },
            },
        ]
    }

    /// Returns the error of the operating system or of a file object, if there is one. Its text is part of this error's
    /// text.
    pub fn cause(&self) -> Option<&io::Error> {
        match self {
            IoError::Open { source, .. }
            | IoError::Read { source, .. }
            | IoError::Remote { source, .. }
            | IoError::Map { source, .. }
            | IoError::Direct { source, .. }
            | IoError::Temporary { source, .. }
            | IoError::Create { source, .. }
            | IoError::Write { source, .. }
            | IoError::Commit { source, .. }
            | IoError::Unrestored { source, .. }
            | IoError::Threads { source } => Some(source),
            IoError::NotFound { .. }
            | IoError::NotAFile { .. }
            | IoError::Short { .. }
            | IoError::Gzip { .. }
            | IoError::Compressed { .. }
            | IoError::Limit { .. }
            | IoError::Memory { .. }
            | IoError::Exists { .. }
            | IoError::Changed { .. }
            | IoError::Busy { .. }
            | IoError::Unfinished { .. }
            | IoError::Journal { .. }
            | IoError::Values { .. }
            | IoError::Content { .. }
            | IoError::Cancelled
            | IoError::Budget { .. } => None,
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} [{}]", self.message(), self.code())?;
        if formatter.alternate() { write!(formatter, "\nhint: {}", self.hint()) } else { Ok(()) }
    }
}

impl Error for IoError {
    /// Returns the source of the [cause](IoError::cause); the text of the cause itself is part of this error's text.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            IoError::Content { source, .. } => source.source(),
            _ => self.cause().and_then(Error::source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::IoError;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_has_one_example_with_message_and_hint() {
        let examples = IoError::examples();
        let codes: BTreeSet<_> = examples.iter().map(IoError::code).collect();
        assert_eq!(codes.len(), examples.len());
        // The number of variants: a new one needs an example.
        assert_eq!(codes.len(), 27);
        for error in &examples {
            assert!(error.code().starts_with("io-"));
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            assert_eq!(format!("{error:#}"), format!("{error}\nhint: {}", error.hint()));
            // A program that prints each source after the error prints no text twice.
            assert!(std::error::Error::source(error).is_none());
            assert!(!error.message().contains('\n') && !error.hint().is_empty());
        }
    }
}
