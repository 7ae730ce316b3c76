//! A file mapped into memory: opt-in, because the risk is the caller's to judge.
//!
//! The one place of this crate with `unsafe`. A memory map has no way to report that the file was cut short: touching a
//! page beyond the new end raises SIGBUS, which ends the process. If the content is changed by another process, the
//! bytes change under the reader. Positioned reads do not have the first problem; which of
//! the two is faster depends on the kernel (DESIGN.md, "Why are memory maps not the default?").

#![expect(unsafe_code, reason = "mapping a file is unsafe by nature; see the head of this file")]

use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;

use crate::error::IoError;
use crate::file::FileStorage;
use crate::memory::slice_of;
use crate::storage::Storage;

/// A file mapped into memory.
///
/// **If another process truncates the file while it is mapped, this process is ended by SIGBUS**; if it is written to,
/// the results are of no definite state of the file.
#[derive(Debug)]
pub struct MappedStorage {
    file: FileStorage,
    map: Option<Mmap>,
}

impl MappedStorage {
    /// Maps a file as it is, without looking at its content.
    ///
    /// # Errors
    /// If the file cannot be opened or mapped.
    pub fn open(path: &Path) -> Result<MappedStorage, IoError> {
        MappedStorage::from_storage(path, FileStorage::open(path)?)
    }

    /// Maps a file that is open.
    pub(crate) fn from_storage(path: &Path, file: FileStorage) -> Result<MappedStorage, IoError> {
        // An empty file cannot be mapped.
        if file.bytes() == 0 {
            return Ok(MappedStorage { file, map: None });
        }
        // SAFETY: the map is only read, through `&[u8]`. That the file is neither truncated nor written to meanwhile
        // is asked of the caller in the documentation of this type and of `StorageKind::Mapped`, the only ways here;
        // no promise about the content is made beyond that.
        let map = unsafe { Mmap::map(file.file()) }
            .map_err(|source| IoError::Map { path: path.to_owned(), source })?;
        Ok(MappedStorage { file, map: Some(map) })
    }
}

impl Storage for MappedStorage {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    fn kind(&self) -> &'static str {
        "mapped"
    }

    /// Reads by position: a copy is wanted anyway, and this way cannot raise SIGBUS.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.file.read_exact_at(offset, buffer)
    }

    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        slice_of(self.map.as_deref().unwrap_or_default(), range)
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        self.file.is_resident(range)
    }

    fn will_need(&self, range: Range<u64>) {
        self.file.will_need(range);
    }
}

#[cfg(test)]
mod tests {
    use super::MappedStorage;
    use crate::conformance::{storage_suite, temporary_file};
    use std::sync::Arc;

    #[test]
    fn conforms() {
        storage_suite(|content| {
            let (_directory, path) = temporary_file(content);
            Arc::new(MappedStorage::open(&path).unwrap())
        });
    }
}
