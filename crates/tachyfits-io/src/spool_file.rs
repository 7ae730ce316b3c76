//! A file without a name: written at any offset, then read as a storage.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::backend::file::FileStorage;
use crate::error::IoError;
use crate::storage::Storage;
use crate::system;

/// Temporary file without a name, so that nothing is left behind however the process ends.
///
/// ```
/// use tachyfits_io::SpoolFile;
///
/// let spool = SpoolFile::new("a new table")?;
/// spool.write_all_at(3, b"def")?;
/// spool.write_all_at(0, b"abc")?;
/// let mut bytes = [0; 6];
/// spool.finish()?.read_exact_at(0, &mut bytes)?;
/// assert_eq!(&bytes, b"abcdef");
/// # Ok::<(), tachyfits_io::IoError>(())
/// ```
#[derive(Debug)]
pub struct SpoolFile {
    name: String,
    file: File,
}

impl SpoolFile {
    /// Creates an empty file in the system's directory (`TMPDIR`); `name` is for messages.
    ///
    /// # Errors
    /// [`IoError::Temporary`].
    pub fn new(name: &str) -> Result<SpoolFile, IoError> {
        let file = tempfile::tempfile().map_err(temporary_error)?;
        Ok(SpoolFile { name: name.to_owned(), file })
    }

    /// Returns the name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes bytes at an offset, from any thread; unwritten bytes read as zeros.
    ///
    /// # Errors
    /// [`IoError::Temporary`].
    pub fn write_all_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        system::write_all_at(&self.file, bytes, offset).map_err(temporary_error)
    }

    /// Returns the storage of all bytes.
    ///
    /// # Errors
    /// If the file cannot be examined.
    pub fn finish(self) -> Result<Arc<dyn Storage>, IoError> {
        Ok(Arc::new(FileStorage::from_file(Path::new(&self.name), self.file)?))
    }
}

fn temporary_error(source: std::io::Error) -> IoError {
    IoError::Temporary { directory: std::env::temp_dir(), source }
}
