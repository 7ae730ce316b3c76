//! A file read at offsets with positioned reads.
//!
//! It has no buffer: the kernel fills the caller's buffer. Reading cached blocks of about 1 MiB on
//! the thread that computes is often faster than a memory map (`python -m bench --only 02`).

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use crate::error::IoError;
use crate::lend::Lend;
use crate::patch::Stamp;
use crate::profile::Profile;
use crate::storage::{Id, Storage};
use crate::system;

/// A regular file, read at offsets.
#[derive(Debug)]
pub struct FileStorage {
    id: Id,
    file: File,
    bytes: u64,
    stamp: Stamp,
    may_grow: bool,
}

impl FileStorage {
    /// Opens a file without interpreting its content.
    ///
    /// # Errors
    /// If the file cannot be opened or is not a regular file.
    pub fn open(path: &Path) -> Result<FileStorage, IoError> {
        FileStorage::from_file(path, open_file(path)?)
    }

    /// Returns a storage for an open file; `path` is its name in messages.
    ///
    /// # Errors
    /// If the file cannot be examined or is not a regular file.
    pub fn from_file(path: &Path, file: File) -> Result<FileStorage, IoError> {
        let metadata = file.metadata().map_err(|source| IoError::opening(path, source))?;
        if !metadata.is_file() {
            let found = if metadata.is_dir() { "a directory" } else { "a device or a pipe" };
            return Err(IoError::NotAFile { path: path.to_owned(), found });
        }
        let (stamp, bytes) = (Stamp::of_metadata(&metadata), metadata.len());
        let id = Id::new(path.display().to_string(), Some(stamp.version()));
        Ok(FileStorage { id, file, bytes, stamp, may_grow: false })
    }

    /// Permits appended bytes: they no longer count as a change.
    pub(crate) fn allow_growth(&mut self) {
        self.may_grow = true;
    }

    /// Checks that another open file is this one, unchanged.
    pub(crate) fn check_same(&self, other: &File) -> Result<(), IoError> {
        self.stamp.check_open(Path::new(self.name()), other, self.may_grow)
    }

    /// Returns the open file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

impl Storage for FileStorage {
    fn id(&self) -> &Id {
        &self.id
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let (name, expected) = (|| self.name().to_owned(), buffer.len() as u64);
        self.check_within(offset, expected)?;
        match system::read_up_to(&self.file, offset, buffer) {
            Ok(count) if count == buffer.len() => Ok(()),
            // The file was truncated after it was opened.
            Ok(count) => {
                let size = offset + count as u64;
                Err(IoError::Short { name: name(), offset, expected, size })
            }
            Err(source) => Err(IoError::Read { name: name(), offset, expected, source }),
        }
    }

    fn profile(&self) -> Profile {
        Profile::DEVICE
    }

    fn kind(&self) -> &'static str {
        "positioned"
    }

    fn lend(&self) -> Option<&dyn Lend> {
        Some(self)
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.check_same(&self.file)
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        system::is_resident(&self.file, range.start..range.end.min(self.bytes))
    }
}

impl Lend for FileStorage {
    fn reads_far_ahead(&self) -> bool {
        system::reads_far_ahead(&self.file)
    }

    fn will_need(&self, range: Range<u64>) {
        system::will_need(&self.file, range);
    }
}

/// Opens a file for reading; errors name the file.
pub(crate) fn open_file(path: &Path) -> Result<File, IoError> {
    File::open(path).map_err(|source| IoError::opening(path, source))
}

#[cfg(test)]
mod tests {
    use super::FileStorage;
    use crate::conformance::{storage_suite, temporary_file};
    use crate::{IoError, Lend, Storage};
    use std::sync::Arc;

    #[test]
    fn conforms() {
        storage_suite(|content| {
            let (_directory, path) = temporary_file(content);
            Arc::new(FileStorage::open(&path).unwrap())
        });
    }

    #[test]
    fn a_file_cut_after_opening_says_where_it_ends() {
        let (_directory, path) = temporary_file(&[7; 10_000]);
        let storage = FileStorage::open(&path).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4000).unwrap();
        let error = storage.read_exact_at(3000, &mut [0; 2000]).unwrap_err();
        assert!(matches!(error, IoError::Short { offset: 3000, expected: 2000, size: 4000, .. }));
        let expected = format!(
            "{}: expected 2000 bytes at offset 3000, the file ends at 4000",
            path.display()
        );
        assert_eq!(error.message(), expected);
    }

    #[test]
    fn a_file_just_written_is_resident() {
        let (_directory, path) = temporary_file(&[7; 100_000]);
        let storage = FileStorage::open(&path).unwrap();
        storage.will_need(0..100_000);
        assert!(storage.is_resident(0..100_000));
        assert!(storage.is_resident(5..5));
        assert!(storage.is_resident(200_000..300_000));
    }

    #[test]
    fn a_file_that_may_grow_is_not_a_larger_one_in_its_place() {
        let (directory, path) = temporary_file(&[7; 1000]);
        let mut storage = FileStorage::open(&path).unwrap();
        let at_path = || std::fs::File::open(&path).unwrap();
        storage.allow_growth();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(2000).unwrap();
        storage.check_same(&at_path()).unwrap();
        let other = directory.path().join("other");
        std::fs::write(&other, [8; 3000]).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(storage.check_same(&at_path()).unwrap_err().code(), "io-changed");
        storage.check_unchanged().unwrap();
    }

    #[test]
    fn a_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let error = FileStorage::open(directory.path()).unwrap_err();
        assert_eq!(error.code(), "io-not-a-file");
    }
}
