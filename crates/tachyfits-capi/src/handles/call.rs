//! Options of a call.

use std::sync::atomic::{AtomicU32, Ordering};

use tachyfits::{OpenOptions, RunOptions, StorageKind, WriteOptions};

use super::Outcome;
use crate::failure::Failure;
use crate::types::{
    CEncoding, CNulls, COptions, JobHandle, TACHYFITS_CHECKSUM, TACHYFITS_GZIP,
    TACHYFITS_OVERWRITE, TACHYFITS_RAW, TACHYFITS_STORAGE_AUTO, TACHYFITS_STORAGE_DIRECT,
    TACHYFITS_STORAGE_MAP, TACHYFITS_STORAGE_MEMORY, TACHYFITS_STORAGE_READ, TACHYFITS_STRICT,
};

/// Default number of threads; 0 for one per core.
static DEFAULT_THREADS: AtomicU32 = AtomicU32::new(0);

/// Sets the default number of threads.
pub(crate) fn set_default_threads(threads: u32) {
    DEFAULT_THREADS.store(threads, Ordering::Relaxed);
}

/// Validated options of a call.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) threads: u32,
    pub(crate) storage: i32,
    pub(crate) flags: u32,
    pub(crate) job: Option<&'a JobHandle>,
    /// Pointer of the caller; only `ffi` dereferences it.
    pub(crate) nulls: *mut CNulls,
    pub(crate) encoding: *const CEncoding,
}

impl Default for Call<'_> {
    fn default() -> Self {
        let COptions { threads, storage, flags, nulls, encoding, .. } = COptions::new();
        Call { threads, storage, flags, job: None, nulls, encoding }
    }
}

impl<'a> Call<'a> {
    /// Returns the options for running operations.
    pub(crate) fn run(&self) -> RunOptions<'a> {
        let threads = match self.threads {
            0 => DEFAULT_THREADS.load(Ordering::Relaxed),
            threads => threads,
        };
        RunOptions::new().threads(threads as usize).job(self.job.map(|job| &job.0))
    }

    pub(crate) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn opening(&self) -> Outcome<OpenOptions> {
        let storage = match self.storage {
            TACHYFITS_STORAGE_READ => StorageKind::Positioned,
            TACHYFITS_STORAGE_AUTO => StorageKind::Auto,
            TACHYFITS_STORAGE_MAP => StorageKind::Mapped,
            TACHYFITS_STORAGE_DIRECT => StorageKind::Direct,
            TACHYFITS_STORAGE_MEMORY => StorageKind::Memory,
            other => {
                let hint = "use one of the constants TACHYFITS_STORAGE_…";
                return Err(Failure::argument("storage", other, "0 to 4", hint));
            }
        };
        let (strict, raw) = (self.has(TACHYFITS_STRICT), self.has(TACHYFITS_RAW));
        Ok(OpenOptions::default().storage(storage).strict(strict).raw(raw))
    }

    pub(crate) fn writing(&self) -> WriteOptions {
        WriteOptions::default()
            .overwrite(self.has(TACHYFITS_OVERWRITE))
            .checksum(self.has(TACHYFITS_CHECKSUM))
            .gzip(self.has(TACHYFITS_GZIP))
    }
}
