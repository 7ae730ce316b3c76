//! The trait that every source of bytes implements; it knows none of them.
//!
//! A storage has a fixed size and is read at offsets, by any number of threads at once; there is no position to share.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;

use crate::error::IoError;
use crate::lend::Lend;
use crate::profile::{Latency, Profile};

/// The name of a storage, and what tells its version from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    name: Cow<'static, str>,
    version: Option<String>,
}

impl Id {
    /// A name (a path or a URL), for messages, and a text that changes with the content: size and time of change of a
    /// file, the ETag of an object. Without it nothing is cached beyond the storage.
    pub fn new(name: impl Into<Cow<'static, str>>, version: Option<String>) -> Id {
        Id { name: name.into(), version }
    }

    /// A name alone.
    pub const fn named(name: &'static str) -> Id {
        Id { name: Cow::Borrowed(name), version: None }
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version, if it is known.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

/// Bytes to read: where they begin in the storage, and the memory that they fill.
#[derive(Debug)]
pub struct Request<'a> {
    /// Offset of the first byte.
    pub offset: u64,
    /// Filled whole.
    pub buffer: &'a mut [u8],
}

/// A source of bytes of known size. `conformance::storage_suite` (Cargo feature `conformance`) is its test.
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
    /// Its name and version.
    fn id(&self) -> &Id;

    /// The size in bytes, as it was when the storage was opened.
    fn bytes(&self) -> u64;

    /// Fills `buffer` from `offset` on. A failed call may leave anything in it.
    ///
    /// # Errors
    /// [`IoError::Short`] if the storage ends before, [`IoError::Read`] if reading fails.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError>;

    /// Fills the buffer of each request, in any order; by default one after the other. Requests of one call are planned
    /// already by the profile, so that a storage far away may send them at the same time.
    ///
    /// # Errors
    /// As [`Storage::read_exact_at`].
    fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        let mut requests = requests.iter_mut();
        requests.try_for_each(|request| self.read_exact_at(request.offset, request.buffer))
    }

    /// The cost of reading.
    fn profile(&self) -> Profile;

    /// Kind of this storage, for reports: `"auto"`, `"positioned"`, `"mapped"`, `"direct"`,
    /// `"memory"`, ….
    fn kind(&self) -> &'static str {
        "other"
    }

    /// Whether reading `range` is likely to need no device: it is in memory or in the page cache.
    ///
    /// An estimate from a few pages, used to choose how to overlap reading and computing.
    fn is_resident(&self, range: Range<u64>) -> bool {
        let _ = range;
        self.profile().latency == Latency::Memory
    }

    /// Whether the bytes are those that were there when the storage was opened: to be asked after reading, as
    /// [`crate::run`] and [`crate::fill`] do, since another process may have changed the file meanwhile.
    ///
    /// # Errors
    /// [`IoError::Changed`] if the size of the file or the time of its last change is another.
    fn check_unchanged(&self) -> Result<(), IoError> {
        Ok(())
    }

    /// Whether reading computes, so that it needs a permit of the [`crate::Executor`]. Such a storage reads others by
    /// [`crate::fetch`], which takes their bytes from the budget of the job and sees that it is cancelled.
    fn computes(&self) -> bool {
        false
    }

    /// The half of a storage whose bytes can be used where they are.
    fn lend(&self) -> Option<&dyn Lend> {
        None
    }

    /// Keeps bytes that opening needed, ascending by their offsets and apart, for reads of them now and for opening it again.
    fn keep(&self, parts: Vec<(u64, Vec<u8>)>) {
        drop(parts);
    }

    /// The name for messages.
    fn name(&self) -> &str {
        self.id().name()
    }

    /// Checks that `expected` bytes from `offset` on are within the storage.
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
