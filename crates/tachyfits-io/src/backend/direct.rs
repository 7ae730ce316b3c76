//! A file read past the page cache (`O_DIRECT`), for cubes far larger than memory: caching them would evict everything
//! else without benefit.
//!
//! Direct reads need offset, length and memory aligned to the device's blocks; unaligned parts of a read go through an
//! aligned spare buffer. It needs no `unsafe`: the buffer is the aligned part of an ordinary vector.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::aligned::{AlignedBuffer, PAGE};
use crate::backend::file::FileStorage;
use crate::error::IoError;
use crate::profile::Profile;
use crate::storage::{Id, Storage};

/// Maximum bytes per read through a spare buffer.
const SPARE_BYTES: u64 = 1 << 20;

const PAGE_BYTES: u64 = PAGE as u64;

/// A regular file, read without the page cache.
#[derive(Debug)]
pub struct DirectStorage {
    /// The same file opened through the page cache, to detect changes.
    cached: FileStorage,
    file: File,
    /// Buffers for unaligned parts, as many as were used at the same time.
    spare: Mutex<Vec<AlignedBuffer>>,
}

impl DirectStorage {
    /// Opens a file without interpreting its content, and tries one read.
    ///
    /// # Errors
    /// [`IoError::Direct`] if the file system cannot read directly, others if the file cannot be opened.
    pub fn open(path: &Path) -> Result<DirectStorage, IoError> {
        DirectStorage::of(path, FileStorage::open(path)?)
    }

    /// Opens a file, already open as `cached`, without the page cache.
    pub(crate) fn of(path: &Path, cached: FileStorage) -> Result<DirectStorage, IoError> {
        let bytes = cached.bytes();
        let file = open_direct(path)?;
        cached.check_same(&file)?;
        let storage = DirectStorage { cached, file, spare: Mutex::default() };
        // Some file systems accept the flag but reject the read.
        let mut first = [0; 1];
        let probe = if bytes == 0 { &mut first[..0] } else { &mut first[..] };
        match storage.read_exact_at(0, probe) {
            Err(IoError::Read { source, .. }) if is_refusal(&source) => {
                Err(IoError::Direct { path: path.to_owned(), source })
            }
            Err(error) => Err(error),
            Ok(()) => Ok(storage),
        }
    }

    /// Reads once, into `buffer` if everything is aligned, otherwise through a spare buffer. Returns the number of
    /// bytes read, 0 at the end of the file.
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let within = offset % PAGE_BYTES;
        let memory = (buffer.as_ptr().addr() % PAGE) as u64;
        if within == 0 && memory == 0 && buffer.len() >= PAGE {
            let whole = buffer.len() - buffer.len() % PAGE;
            return self.file.read_at(&mut buffer[..whole], offset);
        }
        let start = offset - within;
        // If memory and offset have the same misalignment, only the first page needs the spare buffer.
        let most = if within == memory { PAGE_BYTES } else { SPARE_BYTES };
        let end = (offset + buffer.len() as u64).next_multiple_of(PAGE_BYTES).min(start + most);
        let mut spare = self.take_spare()?;
        let result = self.file.read_at(spare.part_mut(0..(end - start) as usize), start);
        let gained = result.map(|count| {
            let bytes = spare.bytes().get(within as usize..count).unwrap_or_default();
            let gained = bytes.len().min(buffer.len());
            buffer[..gained].copy_from_slice(&bytes[..gained]);
            gained
        });
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(spare);
        gained
    }

    fn take_spare(&self) -> io::Result<AlignedBuffer> {
        let spare_buffer = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut spare = spare_buffer.unwrap_or_default();
        match spare.ensure(SPARE_BYTES as usize, PAGE) {
            true => Ok(spare),
            false => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }
}

impl Storage for DirectStorage {
    fn id(&self) -> &Id {
        self.cached.id()
    }

    fn bytes(&self) -> u64 {
        self.cached.bytes()
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let expected = buffer.len() as u64;
        self.check_within(offset, expected)?;
        let name = || self.cached.name().to_owned();
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            match self.read_some(at, &mut buffer[done..]) {
                Ok(0) => {
                    return Err(IoError::Short { name: name(), offset, expected, size: at });
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(IoError::Read { name: name(), offset, expected, source });
                }
            }
        }
        Ok(())
    }

    fn kind(&self) -> &'static str {
        "direct"
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.cached.check_unchanged()
    }

    fn profile(&self) -> Profile {
        Profile { alignment: PAGE, ..Profile::DEVICE }
    }
}

/// Whether this error means that the file system does not support direct reads.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn open_direct(path: &Path) -> Result<File, IoError> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = OFlags::DIRECT.bits().cast_signed();
    let opened = File::options().read(true).custom_flags(flags).open(path);
    opened.map_err(|source| match is_refusal(&source) {
        true => IoError::Direct { path: path.to_owned(), source },
        false => IoError::opening(path, source),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn open_direct(path: &Path) -> Result<File, IoError> {
    Err(IoError::Direct { path: path.to_owned(), source: io::ErrorKind::Unsupported.into() })
}

#[cfg(test)]
mod tests {
    use super::DirectStorage;
    use crate::conformance::{storage_suite, temporary_file};
    use crate::{IoError, Storage};
    use std::sync::Arc;

    /// Whether the file system of the temporary directory supports direct reads. Prints a warning if not, because the
    /// tests then only check the error.
    fn direct_works() -> bool {
        let (_directory, path) = temporary_file(&[1; 5000]);
        match DirectStorage::open(&path) {
            Ok(_) => true,
            Err(IoError::Direct { .. }) => {
                eprintln!("WARNING: {} has no O_DIRECT; set TMPDIR to test it", path.display());
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn conforms() {
        if direct_works() {
            storage_suite(|content| {
                let (_directory, path) = temporary_file(content);
                Arc::new(DirectStorage::open(&path).unwrap())
            });
        }
    }

    #[test]
    fn a_file_cut_after_opening_is_an_error() {
        if direct_works() {
            let (_directory, path) = temporary_file(&[7; 10_000]);
            let storage = DirectStorage::open(&path).unwrap();
            std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4000).unwrap();
            let error = storage.read_exact_at(3000, &mut [0; 5000]).unwrap_err();
            assert!(matches!(error, IoError::Short { size: 4000, .. }), "{error:?}");
        }
    }

    #[test]
    fn a_file_system_without_it_is_named() {
        // Files of /proc do not support direct reads.
        let error = DirectStorage::open(std::path::Path::new("/proc/self/status")).unwrap_err();
        assert_eq!(error.code(), "io-direct");
    }
}
