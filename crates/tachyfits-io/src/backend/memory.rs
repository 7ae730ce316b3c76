//! Bytes in memory: a vector, a shared buffer of another owner, or a file that was read completely.

use std::fmt;
use std::ops::Range;

use tachyfits_memory as memory;

use crate::error::IoError;
use crate::lend::Lend;
use crate::profile::Profile;
use crate::storage::{Id, Storage};

/// Bytes in memory, with a name for messages.
///
/// ```
/// use tachyfits_io::{Lend, MemoryStorage};
///
/// let storage = MemoryStorage::new("example", b"SIMPLE  =".to_vec());
/// assert_eq!(storage.slice(0..6), Some(&b"SIMPLE"[..]));
/// ```
pub struct MemoryStorage<'a> {
    id: Id,
    content: Box<dyn AsRef<[u8]> + Send + Sync + 'a>,
}

impl<'a> MemoryStorage<'a> {
    /// Wraps content: a vector, an `Arc<[u8]>`, a slice, or any buffer that its owner shares.
    pub fn new(
        name: impl Into<String>,
        content: impl AsRef<[u8]> + Send + Sync + 'a,
    ) -> MemoryStorage<'a> {
        MemoryStorage { id: Id::new(name.into(), None), content: Box::new(content) }
    }

    /// Reads another storage completely.
    ///
    /// # Errors
    /// If there is not enough memory, or reading fails.
    pub fn read(storage: &dyn Storage) -> Result<MemoryStorage<'static>, IoError> {
        let bytes = storage.bytes();
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        let of_storage = |_| IoError::Memory { name: storage.name().to_owned(), bytes };
        let mut content = memory::filled(length, 0, "a file").map_err(of_storage)?;
        storage.read_exact_at(0, &mut content)?;
        Ok(MemoryStorage::new(storage.name(), content))
    }

    fn content(&self) -> &[u8] {
        (*self.content).as_ref()
    }
}

impl Storage for MemoryStorage<'_> {
    fn id(&self) -> &Id {
        &self.id
    }

    fn bytes(&self) -> u64 {
        self.content().len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let expected = buffer.len() as u64;
        self.check_within(offset, expected)?;
        // Within the content, so both fit in usize.
        buffer.copy_from_slice(&self.content()[offset as usize..][..buffer.len()]);
        Ok(())
    }

    fn profile(&self) -> Profile {
        Profile::MEMORY
    }

    fn kind(&self) -> &'static str {
        "memory"
    }

    fn lend(&self) -> Option<&dyn Lend> {
        Some(self)
    }
}

impl Lend for MemoryStorage<'_> {
    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        slice_of(self.content(), range)
    }
}

/// Returns a range of `content`, `None` beyond its end.
pub(crate) fn slice_of(content: &[u8], range: Range<u64>) -> Option<&[u8]> {
    let start = usize::try_from(range.start).ok()?;
    let end = usize::try_from(range.end).ok()?;
    content.get(start..end)
}

impl fmt::Debug for MemoryStorage<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = formatter.debug_struct("MemoryStorage");
        output.field("name", &self.name()).field("bytes", &self.bytes()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryStorage;
    use crate::conformance::{storage_suite, temporary_file};
    use crate::{FileStorage, Storage};
    use std::sync::Arc;

    #[test]
    fn conforms() {
        storage_suite(|content| Arc::new(MemoryStorage::new("memory", content.to_vec())));
    }

    #[test]
    fn a_file_read_whole_conforms() {
        storage_suite(|content| {
            let (_directory, path) = temporary_file(content);
            let file = FileStorage::open(&path).unwrap();
            Arc::new(MemoryStorage::read(&file).unwrap())
        });
    }

    #[test]
    fn debug_output_does_not_print_the_content() {
        let storage = MemoryStorage::new("big", vec![0; 1_000_000]);
        assert!(format!("{storage:?}").len() < 100);
        assert_eq!(storage.kind(), "memory");
    }
}
