//! The trait that every source of bytes implements; it knows none of them.
//!
//! A storage has a fixed size and is read at offsets, by any number of threads at once; there is no position to share.

use std::fmt::Debug;
use std::ops::Range;

use crate::error::IoError;

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

    /// Whether [`Storage::cached`] is to be asked for the bytes of a run. `is_free`: they seem to be in the page cache, few
    /// tasks share them, and no buffering was requested.
    fn lends_cached(&self, is_free: bool) -> bool {
        let _ = is_free;
        false
    }

    /// Prepares for [`Storage::cached`]: to be called once before each run that asks for it.
    fn prepare_to_lend(&self) {}

    /// All bytes, where they are mapped and their pages stay so: as [`Storage::cached`], without a call for each range. Their
    /// pages are entered by the caller.
    fn all_mapped(&self) -> Option<&[u8]> {
        None
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
