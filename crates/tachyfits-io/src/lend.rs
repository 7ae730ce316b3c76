//! Optional interface of a storage: borrowing bytes in memory or in the page cache of the system without copying.
//! Nothing else depends on the page cache.

use std::ops::Range;

use crate::error::IoError;
use crate::storage::Storage;

/// Storage whose bytes are in memory, or may be in the page cache of the system.
///
/// Callers use the methods of the same names on `&dyn Storage`, which work for any storage.
pub trait Lend {
    /// Returns the bytes of `range` without copying, if the storage has them in memory and keeps them; `None` also if
    /// the storage ends before.
    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        let _ = range;
        None
    }

    /// Whether a run takes its bytes from [`Lend::cached`]. `is_free`: the bytes seem to be in the page cache, few
    /// tasks share them, and no buffering was requested. `through`: approximate number of contiguous bytes that the run
    /// reads; 0 if it picks parts of them.
    fn lends_cached(&self, is_free: bool, through: u64) -> bool {
        let _ = (is_free, through);
        false
    }

    /// Prepares for [`Lend::cached`]; called once before each run that borrows.
    fn prepare_to_lend(&self) {}

    /// Returns all bytes, if they are mapped and their pages stay mapped: like [`Lend::cached`], without a call per
    /// range. The caller maps the pages.
    fn all_mapped(&self) -> Option<&[u8]> {
        None
    }

    /// Returns the same as [`Lend::slice`], and also bytes of a map. These may turn out to be missing: the caller must
    /// call [`Lend::intact`] before it uses results from them, as [`crate::run`] does.
    fn cached(&self, range: Range<u64>) -> Option<&[u8]> {
        self.slice(range)
    }

    /// Checks that borrowed bytes were present when they were read.
    ///
    /// # Errors
    /// [`IoError::Short`] if the file was truncated meanwhile, [`IoError::Read`] if its device failed: results from the
    /// bytes must then be discarded.
    fn intact(&self, range: Range<u64>) -> Result<(), IoError> {
        let _ = range;
        Ok(())
    }

    /// Whether the system reads far ahead by itself, without [`Lend::will_need`], if bytes are read in order.
    fn reads_far_ahead(&self) -> bool {
        false
    }

    /// Announces that `range` will be read soon; a cheap hint without guarantee.
    fn will_need(&self, range: Range<u64>) {
        let _ = range;
    }
}

/// The methods of [`Lend`] for any storage, with defaults for storages that do not lend.
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

    /// Returns all bytes, if they are in memory.
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
