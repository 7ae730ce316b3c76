//! An output file that appears under its name only when it is complete.
//!
//! The file is written to the same directory without a name, or with a temporary one (see [`crate::unfinished`]).
//! `commit` gives it its name, and replaces an old file atomically. If anything fails before, the value is dropped or
//! the process is killed, the old file is unchanged. So an output may even replace its own input.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::IoError;
use crate::flusher::Flusher;
use crate::patch::forget_journal;
use crate::system;
use crate::unfinished::{ANY_NEW, Unfinished, directory_of, sync_directory};

/// Mode of a new file until it gets the mode of the file that it replaces: access for its owner only.
const ITS_OWNER_ALONE: u32 = 0o600;

/// Output file that is being written and not visible yet.
///
/// ```
/// use tachyfits_io::OutputFile;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("out.fits");
/// let mut output = OutputFile::create(&path, false)?;
/// output.write_all(b"SIMPLE  =                    T")?;
/// assert!(!path.exists());
/// output.commit()?;
/// assert!(path.exists());
/// assert_eq!(OutputFile::create(&path, false).unwrap_err().code(), "io-exists");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OutputFile {
    /// Name from the caller, for messages.
    path: PathBuf,
    /// File that is created or replaced: the name with symbolic links resolved.
    target: PathBuf,
    unfinished: Unfinished,
    overwrite: bool,
    reserved: bool,
    position: u64,
    /// Flushes written bytes to the device in the background.
    flusher: Option<Flusher>,
}

impl OutputFile {
    /// Creates an output file. An existing file is replaced only with `overwrite`; the new file gets its mode and
    /// access control list, and its owner if this user may change owners. Symbolic links are followed.
    ///
    /// # Errors
    /// [`IoError::Exists`] if a file of this name exists and overwriting was not requested,
    /// [`IoError::NotAFile`] if it is a directory or a device, [`IoError::Create`] if the directory
    /// is missing or cannot be written.
    pub fn create(path: &Path, overwrite: bool) -> Result<OutputFile, IoError> {
        OutputFile::begin(path, overwrite, false, Unfinished::beside)
    }

    /// Creates the successor of an existing file, with the same owner, mode, access control list and extended
    /// attributes.
    ///
    /// # Errors
    /// As [`OutputFile::create`]; [`IoError::Create`] also if any of these cannot be copied.
    pub fn succeed(path: &Path) -> Result<OutputFile, IoError> {
        OutputFile::begin(path, true, true, Unfinished::beside)
    }

    /// Creates a file of `bytes` bytes, as [`OutputFile::create`] does, that other processes also write, at
    /// [`OutputFile::shared_path`].
    ///
    /// # Errors
    /// As [`OutputFile::create`]; [`IoError::Write`] if the file system does not support this size.
    pub fn shared(path: &Path, overwrite: bool, bytes: u64) -> Result<OutputFile, IoError> {
        let output = OutputFile::begin(path, overwrite, false, Unfinished::shared)?;
        let sized = output.file().set_len(bytes);
        sized.map_err(|source| output.write_error(0, bytes, source))?;
        Ok(output)
    }

    fn begin(
        path: &Path,
        overwrite: bool,
        keeps_all: bool,
        make: impl Fn(&Path, u32) -> io::Result<Unfinished>,
    ) -> Result<OutputFile, IoError> {
        let (target, replaces) = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(IoError::NotAFile { path: path.to_owned(), found: "a directory" });
            }
            Ok(metadata) if !metadata.is_file() => {
                let found = "a device or a pipe";
                return Err(IoError::NotAFile { path: path.to_owned(), found });
            }
            Ok(_) if !overwrite => return Err(IoError::Exists { path: path.to_owned() }),
            Ok(_) => {
                let target =
                    fs::canonicalize(path).map_err(|error| IoError::opening(path, error))?;
                (target, true)
            }
            // A dangling link also occupies the name.
            Err(_) if !overwrite && path.is_symlink() => {
                return Err(IoError::Exists { path: path.to_owned() });
            }
            // Missing or not accessible; creating the new file will report which.
            Err(_) => (path.to_owned(), false),
        };
        let failed = |source| IoError::Create { path: path.to_owned(), source };
        let mode = if replaces { ITS_OWNER_ALONE } else { ANY_NEW };
        let unfinished = make(&target, mode).map_err(failed)?;
        if replaces {
            system::keep_attributes(&target, unfinished.file(), keeps_all).map_err(failed)?;
        }
        let path = path.to_owned();
        Ok(OutputFile {
            path,
            target,
            unfinished,
            overwrite,
            reserved: false,
            position: 0,
            flusher: None,
        })
    }

    /// Returns the temporary name of a file created by [`OutputFile::shared`]; `None` for others.
    pub fn shared_path(&self) -> Option<&Path> {
        self.unfinished.path()
    }

    /// Returns the final name of the file, as passed by the caller.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reserves space for `bytes` bytes, so that a full disk is detected before the work and not at its end.
    ///
    /// # Errors
    /// [`IoError::Write`] if there is not enough space.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), IoError> {
        self.reserved = true;
        system::reserve(self.file(), bytes).map_err(|source| self.write_error(0, bytes, source))
    }

    /// Starts flushing written bytes to the device while more are written, for a file that
    /// [`OutputFile::commit_durably`] will complete: the commit then waits only for the remaining bytes.
    ///
    /// # Errors
    /// [`IoError::Create`] if the limit of open files is reached.
    pub fn flush_early(&mut self) -> Result<(), IoError> {
        let file = self.file().try_clone();
        let file = file.map_err(|source| IoError::Create { path: self.path.clone(), source })?;
        self.flusher = Some(Flusher::new(file));
        Ok(())
    }

    /// Appends bytes after the previous `write_all`.
    ///
    /// # Errors
    /// [`IoError::Write`] if the disk is full or fails.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.write_all_at(self.position, bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes bytes at an offset, from any thread; unwritten bytes read as zeros. Does not change the position of
    /// [`OutputFile::write_all`].
    ///
    /// # Errors
    /// [`IoError::Write`] if the disk is full or fails.
    pub fn write_all_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let result = system::write_all_at(self.file(), bytes, offset);
        if let Some(flusher) = &self.flusher {
            flusher.wrote(bytes.len() as u64);
        }
        result.map_err(|source| self.write_error(offset, bytes.len() as u64, source))
    }

    /// Gives the file its name. Every process sees the new content at once; the system writes it to the device shortly
    /// afterwards.
    ///
    /// # Errors
    /// [`IoError::Exists`] if a file of this name was created meanwhile and overwriting was not
    /// requested, [`IoError::Commit`] if the file cannot be renamed. The written bytes are lost in
    /// either case.
    pub fn commit(self) -> Result<(), IoError> {
        let late = system::reports_errors_late(self.file());
        self.put_in_place(late)
    }

    /// Does the same as [`OutputFile::commit`], and returns only when the content is on the device, so that it survives
    /// a power failure.
    ///
    /// # Errors
    /// As [`OutputFile::commit`].
    pub fn commit_durably(self) -> Result<(), IoError> {
        let (path, directory) = (self.path.clone(), directory_of(&self.target).to_owned());
        self.put_in_place(true)?;
        sync_directory(&directory).map_err(|source| IoError::Commit { path, source })
    }

    fn put_in_place(self, sync: bool) -> Result<(), IoError> {
        let path = self.path;
        let file = self.unfinished.file();
        // Returns reserved space that was not written.
        let trimmed = match self.reserved {
            true => file.metadata().and_then(|metadata| file.set_len(metadata.len())),
            false => Ok(()),
        };
        // A flush error is reported only once, and not repeated by later calls.
        let flushed = self.flusher.map_or(Ok(()), Flusher::finish);
        let trimmed = flushed.and(trimmed);
        let synced = trimmed.and_then(|()| if sync { file.sync_all() } else { Ok(()) });
        if let Err(source) = synced {
            return Err(IoError::Commit { path, source });
        }
        let replaced = self.overwrite.then(|| File::open(&self.target).ok()).flatten();
        let result = self.unfinished.name(&self.target, self.overwrite, sync);
        result.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => IoError::Exists { path },
            _ => IoError::Commit { path, source },
        })?;
        if let Some(replaced) = replaced {
            forget_journal(&self.target, &replaced);
        }
        Ok(())
    }

    fn file(&self) -> &File {
        self.unfinished.file()
    }

    fn write_error(&self, offset: u64, expected: u64, source: io::Error) -> IoError {
        IoError::Write { path: self.path.clone(), offset, expected, source }
    }
}

#[cfg(test)]
mod tests {
    use super::OutputFile;
    use crate::IoError;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_file_is_there_after_the_commit_and_not_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        let mut output = OutputFile::create(&path, false).unwrap();
        output.flush_early().unwrap();
        output.reserve(100_000).unwrap();
        output.write_all(b"one ").unwrap();
        output.write_all(b"two ").unwrap();
        output.write_all_at(10, b"end").unwrap();
        output.write_all(b"3").unwrap();
        assert!(!path.exists());
        output.commit_durably().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one two 3\0end");
        assert_eq!(names(directory.path()), ["out.fits"]);
    }

    #[test]
    fn a_shared_file_is_written_by_its_temporary_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x".repeat(255));
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = OutputFile::shared(&path, false, 5).unwrap_err();
        assert_eq!(refused.code(), "io-exists");
        let output = OutputFile::shared(&path, true, 5).unwrap();
        let other = fs::OpenOptions::new().write(true).open(output.shared_path().unwrap()).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&other, b"new", 1).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        output.commit_durably().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"\0new\0");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        drop(OutputFile::shared(&path, true, 5).unwrap());
        assert_eq!(names(directory.path()).len(), 1);
        assert_eq!(OutputFile::create(&path, true).unwrap().shared_path(), None);
    }

    #[test]
    fn more_bytes_than_one_system_call_takes_are_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        let content: Vec<u8> = (0..700_001u32).map(|index| (index % 251) as u8).collect();
        let output = OutputFile::create(&path, false).unwrap();
        output.write_all_at(5, &content).unwrap();
        output.commit().unwrap();
        assert!(fs::read(&path).unwrap()[5..] == content);
    }

    #[test]
    fn dropping_leaves_everything_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        fs::write(&path, b"old").unwrap();
        let mut output = OutputFile::create(&path, true).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(output);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["out.fits"]);
    }

    #[test]
    fn a_failed_write_names_the_file_and_keeps_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        fs::write(&path, b"old").unwrap();
        let mut output = OutputFile::create(&path, true).unwrap();
        // No disk has this much space, and no file may be this long.
        let error = output.reserve(i64::MAX as u64).unwrap_err();
        assert_eq!(error.code(), "io-write");
        let error = output.write_all_at(i64::MAX as u64 - 2, b"beyond").unwrap_err();
        assert!(matches!(&error, IoError::Write { expected: 6, .. }));
        assert!(error.message().starts_with(&format!("{}: cannot write", path.display())));
        drop(output);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn an_existing_file_is_refused_at_the_beginning_and_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        let late = OutputFile::create(&path, false).unwrap();
        fs::write(&path, b"old").unwrap();
        assert_eq!(OutputFile::create(&path, false).unwrap_err().code(), "io-exists");
        assert_eq!(late.commit().unwrap_err().code(), "io-exists");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["out.fits"]);
    }

    #[test]
    fn overwriting_keeps_permissions_and_follows_links() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("real.fits"), directory.path().join("link.fits"));
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real.fits", &link).unwrap();
        assert_eq!(OutputFile::create(&link, false).unwrap_err().code(), "io-exists");
        let mut output = OutputFile::create(&link, true).unwrap();
        output.write_all(b"new").unwrap();
        output.commit().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_new_file_has_the_permissions_of_any_new_file() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("out.fits"), directory.path().join("other"));
        OutputFile::create(&path, false).unwrap().commit().unwrap();
        fs::write(&other, b"").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&other));
    }

    #[test]
    fn directories_devices_and_missing_directories_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let code = |path: &Path| OutputFile::create(path, true).unwrap_err().code();
        assert_eq!(code(directory.path()), "io-not-a-file");
        assert_eq!(code(Path::new("/dev/null")), "io-not-a-file");
        assert_eq!(code(&directory.path().join("missing/out.fits")), "io-create");
    }

    #[test]
    fn a_dangling_link_is_not_replaced_without_being_asked() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link.fits");
        symlink("nowhere", &link).unwrap();
        assert_eq!(OutputFile::create(&link, false).unwrap_err().code(), "io-exists");
        OutputFile::create(&link, true).unwrap().commit().unwrap();
        assert!(!link.is_symlink() && link.is_file());
    }
}
