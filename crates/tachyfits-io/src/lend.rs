//! The optional second half of a storage: bytes that are used where they are, in memory or in the page cache of the
//! system. Nothing else knows about the page cache.

use std::ops::Range;

use crate::error::IoError;
use crate::storage::Storage;

/// A storage whose bytes are in memory, or may be in the page cache of the system.
///
/// Callers have a `&dyn Storage` and call the methods of the same names on it, which answer for any storage.
pub trait Lend {
    /// The bytes of `range` without copying, where the storage has them in memory and keeps them; `None` also if the
    /// storage ends before.
    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        let _ = range;
        None
    }

    /// Whether a run takes its bytes from [`Lend::cached`]. `is_free`: they seem to be in the page cache, few tasks share
    /// them, and no buffering was requested. `through`: about how many bytes it reads through; 0 if it picks parts of them.
    fn lends_cached(&self, is_free: bool, through: u64) -> bool {
        let _ = (is_free, through);
        false
    }

    /// Prepares for [`Lend::cached`]: called once before each run that borrows.
    fn prepare_to_lend(&self) {}

    /// All bytes, where they are mapped and their pages stay so: as [`Lend::cached`], without a call for each range. Their
    /// pages are entered by the caller.
    fn all_mapped(&self) -> Option<&[u8]> {
        None
    }

    /// As [`Lend::slice`], and also bytes of a map. These may turn out to be missing: the caller must ask
    /// [`Lend::intact`] before it uses results from them, as [`crate::run`] does.
    fn cached(&self, range: Range<u64>) -> Option<&[u8]> {
        self.slice(range)
    }

    /// Whether lent bytes were present when they were read.
    ///
    /// # Errors
    /// [`IoError::Short`] if the file was cut short meanwhile, [`IoError::Read`] if its device failed: results from the
    /// bytes must then be discarded.
    fn intact(&self, range: Range<u64>) -> Result<(), IoError> {
        let _ = range;
        Ok(())
    }

    /// Whether the system reads far ahead by itself where bytes are read in order, without [`Lend::will_need`].
    fn reads_far_ahead(&self) -> bool {
        false
    }

    /// Says that `range` is about to be read; costs little and promises nothing.
    fn will_need(&self, range: Range<u64>) {
        let _ = range;
    }
}

/// The answers of a storage that lends, and those for one that does not.
impl dyn Storage + '_ {
    /// As [`Lend::slice`].
    pub fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        self.lend()?.slice(range)
    }

    /// As [`Lend::lends_cached`].
    pub fn lends_cached(&self, is_free: bool, through: u64) -> bool {
        self.lend().is_some_and(|lend| lend.lends_cached(is_free, through))
    }

    /// As [`Lend::prepare_to_lend`].
    pub fn prepare_to_lend(&self) {
        self.lend().into_iter().for_each(Lend::prepare_to_lend);
    }

    /// All bytes, where they are in memory.
    pub(crate) fn all_in_memory(&self) -> Option<&[u8]> {
        self.slice(0..self.bytes())
    }

    /// As [`Lend::all_mapped`].
    pub fn all_mapped(&self) -> Option<&[u8]> {
        self.lend()?.all_mapped()
    }

    /// As [`Lend::cached`].
    pub fn cached(&self, range: Range<u64>) -> Option<&[u8]> {
        self.lend()?.cached(range)
    }

    /// As [`Lend::intact`].
    ///
    /// # Errors
    /// As [`Lend::intact`].
    pub fn intact(&self, range: Range<u64>) -> Result<(), IoError> {
        self.lend().map_or(Ok(()), |lend| lend.intact(range))
    }

    /// As [`Lend::reads_far_ahead`].
    pub fn reads_far_ahead(&self) -> bool {
        self.lend().is_some_and(Lend::reads_far_ahead)
    }

    /// As [`Lend::will_need`].
    pub fn will_need(&self, range: Range<u64>) {
        self.lend().into_iter().for_each(|lend| lend.will_need(range.clone()));
    }
}
