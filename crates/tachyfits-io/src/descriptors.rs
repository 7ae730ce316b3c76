//! Search for other descriptors of this process that have a file open: for libraries that read a file opened by their
//! host.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::backend::file::FileStorage;
use crate::error::IoError;

/// Directory of links to the descriptors of this process.
const DESCRIPTORS: &str = "/proc/self/fd";

impl FileStorage {
    /// Returns another descriptor of this process that has this file open, except those in `except`; `last` if it is
    /// still valid. `None` if there is none, or the system does not report descriptors.
    pub fn descriptor_elsewhere(&self, last: Option<i32>, except: &[i32]) -> Option<i32> {
        let this = self.file().metadata().ok()?;
        let (own, links) = (self.descriptor(), Path::new(DESCRIPTORS));
        let is_same = |number: &i32| {
            let is_other = *number != own && !except.contains(number);
            is_other
                && links.join(number.to_string()).metadata().is_ok_and(|of| is_same(&of, &this))
        };
        last.filter(is_same).or_else(|| {
            let names =
                links.read_dir().ok()?.filter_map(|link| link.ok()?.file_name().into_string().ok());
            names.filter_map(|name| name.parse().ok()).find(is_same)
        })
    }

    /// Returns device and inode of the file behind our descriptor; `None` if the descriptor was closed by its number.
    pub fn identity(&self) -> Option<(u64, u64)> {
        let metadata = self.file().metadata().ok()?;
        Some((metadata.dev(), metadata.ino()))
    }

    /// Returns the number of our descriptor.
    pub fn descriptor(&self) -> i32 {
        self.file().as_raw_fd()
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Appends text to a file, creating it if necessary: for logs that several processes write.
///
/// # Errors
/// If the file cannot be opened or written.
pub fn append_text(path: &Path, text: &str) -> Result<(), IoError> {
    let file: Result<File, _> = OpenOptions::new().append(true).create(true).open(path);
    let mut file = file.map_err(|source| IoError::opening(path, source))?;
    file.write_all(text.as_bytes()).map_err(|source| IoError::opening(path, source))
}

#[cfg(test)]
mod tests {
    use super::append_text;
    use crate::FileStorage;
    use crate::conformance::temporary_file;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn other_descriptors_of_the_file_are_found() {
        let (directory, path) = temporary_file(b"content");
        let storage = FileStorage::open(&path).unwrap();
        assert_eq!(storage.descriptor_elsewhere(None, &[]), None);
        let other = File::open(&path).unwrap();
        let number = other.as_raw_fd();
        assert_eq!(storage.descriptor_elsewhere(None, &[]), Some(number));
        assert_eq!(storage.descriptor_elsewhere(None, &[number]), None);
        let metadata = other.metadata().unwrap();
        assert_eq!(storage.identity(), Some((metadata.dev(), metadata.ino())));
        assert_eq!(storage.descriptor_elsewhere(Some(storage.descriptor()), &[]), Some(number));
        // A new file with the same name is a different file.
        let old = storage;
        std::fs::rename(&path, directory.path().join("old")).unwrap();
        std::fs::write(&path, b"content").unwrap();
        let storage = FileStorage::open(&path).unwrap();
        assert_eq!(storage.descriptor_elsewhere(Some(number), &[]), None);
        assert_eq!(old.descriptor_elsewhere(Some(number), &[]), Some(number));
    }

    #[test]
    fn text_is_appended() {
        let (_directory, path) = temporary_file(b"one\n");
        append_text(&path, "two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert!(append_text(&path.join("none"), "").is_err());
    }
}
