//! The trait of all sources of bytes. It does not depend on any of them.
//!
//! A storage has a fixed size and is read at offsets, by any number of threads at the same time; there is no shared
//! position.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;

use crate::error::IoError;
use crate::lend::Lend;
use crate::profile::{Latency, Profile};

/// Name and version of a storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    name: Cow<'static, str>,
    version: Option<String>,
}

impl Id {
    /// Returns an identity with a name (a path or a URL) for messages, and a text that changes with the content: size
    /// and modification time of a file, the ETag of an object. Without this version, nothing is cached beyond the
    /// storage.
    pub fn new(name: impl Into<Cow<'static, str>>, version: Option<String>) -> Id {
        Id { name: name.into(), version }
    }

    /// Returns an identity with only a name.
    pub const fn named(name: &'static str) -> Id {
        Id { name: Cow::Borrowed(name), version: None }
    }

    /// Returns the name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version, if it is known.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

/// Read request: an offset in the storage, and the memory to fill.
#[derive(Debug)]
pub struct Request<'a> {
    /// Offset of the first byte.
    pub offset: u64,
    /// Memory that is filled completely.
    pub buffer: &'a mut [u8],
}

/// Source of bytes of known size. `conformance::storage_suite` (Cargo feature `conformance`) tests implementations.
///
/// ```
/// use tachyfits_io::{Id, IoError, Profile, Storage};
///
/// /// Bytes that count up.
/// #[derive(Debug)]
/// struct Counting(Id);
/// impl Storage for Counting {
///     fn id(&self) -> &Id {
///         &self.0
///     }
///     fn bytes(&self) -> u64 {
///         256
///     }
///     fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
///         self.check_within(offset, buffer.len() as u64)?;
///         (offset..).zip(buffer).for_each(|(place, byte)| *byte = place as u8);
///         Ok(())
///     }
///     fn profile(&self) -> Profile {
///         Profile::MEMORY
///     }
/// }
/// let mut bytes = [0; 2];
/// Counting(Id::named("counting")).read_exact_at(7, &mut bytes)?;
/// assert_eq!(bytes, [7, 8]);
/// # Ok::<(), IoError>(())
/// ```
pub trait Storage: Send + Sync + Debug {
    /// Returns name and version.
    fn id(&self) -> &Id;

    /// Returns the size in bytes when the storage was opened.
    fn bytes(&self) -> u64;

    /// Fills `buffer` with the bytes at `offset`. After a failed call its content is unspecified.
    ///
    /// # Errors
    /// [`IoError::Short`] if the storage ends before, [`IoError::Read`] if reading fails.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError>;

    /// Fills the buffer of each request, in any order; by default one after another. The requests of one call already
    /// follow the profile, so a remote storage may send them at the same time.
    ///
    /// # Errors
    /// As [`Storage::read_exact_at`].
    fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        let mut requests = requests.iter_mut();
        requests.try_for_each(|request| self.read_exact_at(request.offset, request.buffer))
    }

    /// Returns the cost of reading.
    fn profile(&self) -> Profile;

    /// Returns the kind of this storage, for reports: `"auto"`, `"positioned"`, `"mapped"`, `"direct"`, `"memory"`, ….
    fn kind(&self) -> &'static str {
        "other"
    }

    /// Whether `range` is probably in memory or in the page cache, so that reading needs no device.
    ///
    /// An estimate from a few pages, used to choose how to overlap reading and computing.
    fn is_resident(&self, range: Range<u64>) -> bool {
        let _ = range;
        self.profile().latency == Latency::Memory
    }

    /// Checks that the bytes have not changed since the storage was opened. Call this after reading, as [`crate::run`]
    /// and [`crate::fill`] do, because another process may have changed the file meanwhile.
    ///
    /// # Errors
    /// [`IoError::Changed`] if the size or the modification time of the file has changed.
    fn check_unchanged(&self) -> Result<(), IoError> {
        Ok(())
    }

    /// Whether reading computes, so that it needs a permit of the [`crate::Executor`]. Such a storage reads others with
    /// [`crate::fetch`], which charges the budget of the job and checks for cancellation.
    fn computes(&self) -> bool {
        false
    }

    /// Returns the interface for borrowing bytes, if the storage supports it.
    fn lend(&self) -> Option<&dyn Lend> {
        None
    }

    /// Keeps bytes that opening needed, in ascending order and not overlapping, for later reads and for opening the
    /// object again.
    fn keep(&self, parts: Vec<(u64, Vec<u8>)>) {
        drop(parts);
    }

    /// Returns the name for messages.
    fn name(&self) -> &str {
        self.id().name()
    }

    /// Checks that `expected` bytes at `offset` are within the storage.
    ///
    /// # Errors
    /// [`IoError::Short`] if it ends before.
    fn check_within(&self, offset: u64, expected: u64) -> Result<(), IoError> {
        let size = self.bytes();
        match offset.checked_add(expected) {
            Some(end) if end <= size => Ok(()),
            _ => Err(IoError::Short { name: self.name().to_owned(), offset, expected, size }),
        }
    }
}

/// Returns the outcome of a run, unless the storage was changed meanwhile. A truncated file keeps the error that states
/// its current end.
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
