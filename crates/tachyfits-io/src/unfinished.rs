//! A file that is being written: without a name if the file system supports that (`O_TMPFILE` of Linux), so that
//! nothing unfinished stays however the process ends; otherwise with a temporary name, `.NAME.tachyfits-1.part`, which
//! stays if the process is killed.
//!
//! Its writer holds a lock on the file, which ends with the process: the next writer of a file of that name removes
//! files without a lock. Temporary names are numbered, so that no directory has to be searched.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::system;

/// Mode of a new file, before the operating system applies the umask.
pub(crate) const ANY_NEW: u32 = 0o666;

/// Largest number of temporary names of one file in use at the same time.
const MOST_NAMES: u32 = 1000;

/// Maximum bytes of a file's name in its temporary name: file systems allow 255.
const NAME_BYTES: usize = 200;

/// A file without its final name. Dropping it deletes it.
#[derive(Debug)]
pub(crate) struct Unfinished {
    file: File,
    /// Temporary name, if the file system does not support unnamed files.
    name: Option<TempPath>,
}

impl Unfinished {
    /// Creates a file in the directory of `target` with a temporary name, by which other processes open it.
    pub(crate) fn shared(target: &Path, mode: u32) -> io::Result<Unfinished> {
        remove_abandoned(target);
        Unfinished::named(target, mode)
    }

    /// Creates a file in the directory of `target`, with this mode.
    pub(crate) fn beside(target: &Path, mode: u32) -> io::Result<Unfinished> {
        remove_abandoned(target);
        match system::unnamed_file(directory_of(target), mode) {
            Some(file) => {
                // Locked before it has a name, so that no process sees it without its lock.
                let _ = file.try_lock();
                Ok(Unfinished { file, name: None })
            }
            None => Unfinished::named(target, mode),
        }
    }

    fn named(target: &Path, mode: u32) -> io::Result<Unfinished> {
        let create = |path: &Path| {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).mode(mode).open(path)?;
            let _ = file.try_lock();
            // Another process may have removed it before it was locked.
            match file.metadata()?.nlink() {
                0 => Err(ErrorKind::AlreadyExists.into()),
                _ => Ok(file),
            }
        };
        let (file, name) = under_temporary_name(target, create)?;
        Ok(Unfinished { file, name: Some(name) })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Returns the temporary name, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.name.as_deref()
    }

    /// Gives the file its name. An existing file of that name is an error, or atomically replaced with `overwrite`.
    /// `synced`: whether to flush the content to the device first.
    pub(crate) fn name(self, target: &Path, overwrite: bool, synced: bool) -> io::Result<()> {
        self.name_by(system::link, target, overwrite, synced)
    }

    fn name_by(
        self,
        link: impl Fn(&File, &Path) -> io::Result<()>,
        target: &Path,
        overwrite: bool,
        synced: bool,
    ) -> io::Result<()> {
        let (file, name) = match self.name {
            Some(name) => (self.file, name),
            None if !overwrite && !synced => match link(&self.file, target) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    copied(self.file, target)?
                }
                named => {
                    let _ = self.file.unlock();
                    return named;
                }
            },
            // Only a named file can replace another, and some file systems (btrfs) flush a file
            // permanently only if it has a name.
            None => match under_temporary_name(target, |name| link(&self.file, name)) {
                Ok(((), name)) => (self.file, name),
                Err(_) => copied(self.file, target)?,
            },
        };
        if synced {
            file.sync_all()?;
        }
        match overwrite {
            true => name.persist(target)?,
            false => name.persist_noclobber(target)?,
        }
        // A process that is just being started may still have the file open.
        let _ = file.unlock();
        Ok(())
    }
}

/// Copies the content to a file with a temporary name, for systems where files can be created and renamed but not
/// linked (some profiles of AppArmor): hours of work must not be lost for want of a name.
fn copied(mut file: File, target: &Path) -> io::Result<(File, TempPath)> {
    let Unfinished { file: mut copy, name } = Unfinished::named(target, 0o600)?;
    let new_file = system::descriptor_path(&file);
    system::keep_attributes(&new_file, &copy, true)?;
    file.rewind()?;
    io::copy(&mut file, &mut copy)?;
    let name = name.ok_or(ErrorKind::NotFound)?;
    Ok((copy, name))
}

/// Creates something under the first temporary name that is not in use.
fn under_temporary_name<T>(
    target: &Path,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, TempPath)> {
    for number in 1..=MOST_NAMES {
        let path = temporary(target, number);
        match make(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return Ok((made?, TempPath::try_from_path(path)?)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Removes the temporary files of a name whose writers have ended.
fn remove_abandoned(target: &Path) {
    for number in 1..=MOST_NAMES {
        let path = temporary(target, number);
        let Ok(metadata) = fs::symlink_metadata(&path) else { return };
        if !metadata.is_file() {
            continue;
        }
        let mut options = OpenOptions::new();
        let Ok(file) = options.read(true).custom_flags(system::NO_FOLLOW).open(&path) else {
            continue;
        };
        // Checks that the name still belongs to this file.
        let is_same = file
            .metadata()
            .is_ok_and(|opened| (opened.dev(), opened.ino()) == (metadata.dev(), metadata.ino()));
        if is_same && file.try_lock().is_ok() {
            let _ = fs::remove_file(&path);
        }
    }
}

fn temporary(target: &Path, number: u32) -> PathBuf {
    let name = target.file_name().unwrap_or_default().as_bytes();
    let mut temporary = b".".to_vec();
    temporary.extend(&name[..name.len().min(NAME_BYTES)]);
    temporary.extend(format!(".tachyfits-{number}.part").as_bytes());
    target.with_file_name(OsString::from_vec(temporary))
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// Flushes the entries of a directory to the device.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::{ANY_NEW, Unfinished, remove_abandoned, system, temporary};
    use std::fs::{self, File, Permissions};
    use std::io::{self, ErrorKind, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    type Link = fn(&File, &Path) -> io::Result<()>;

    fn count(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    /// Checks the behaviour of both kinds of files, with and without a temporary name.
    fn is_named_at_its_end(begin: impl Fn(&Path) -> Unfinished, synced: bool) {
        is_named_by(system::link, begin, synced);
    }

    fn is_named_by(link: Link, begin: impl Fn(&Path) -> Unfinished, synced: bool) {
        let name = |unfinished: Unfinished, path: &Path, overwrite| {
            unfinished.name_by(link, path, overwrite, synced)
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        let write = |content: &[u8]| {
            let unfinished = begin(&path);
            unfinished.file().write_all(content).unwrap();
            unfinished
        };
        let late = write(b"late");
        name(write(b"old"), &path, false).unwrap();
        assert_eq!(name(late, &path, false).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(write(b"given up"));
        name(write(b"new"), &path, true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let missing = directory.path().join("missing/out.fits");
        assert_eq!(name(write(b""), &missing, true).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(count(directory.path()), 1);
    }

    #[test]
    fn a_file_under_a_temporary_name() {
        let begin = |path: &Path| Unfinished::named(path, ANY_NEW).unwrap();
        is_named_at_its_end(begin, false);
        is_named_at_its_end(begin, true);
    }

    #[test]
    fn a_file_as_the_file_system_has_it() {
        let begin = |path: &Path| Unfinished::beside(path, ANY_NEW).unwrap();
        is_named_at_its_end(begin, false);
        is_named_at_its_end(begin, true);
    }

    #[test]
    fn a_file_that_cannot_be_linked_is_copied() {
        let begin = |path: &Path| Unfinished::beside(path, ANY_NEW).unwrap();
        let refuse: Link = |_, _| Err(ErrorKind::PermissionDenied.into());
        is_named_by(refuse, begin, false);
        is_named_by(refuse, begin, true);
        // With the requested mode.
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        let rights = Permissions::from_mode(0o640);
        let unfinished = Unfinished::beside(&path, ANY_NEW).unwrap();
        unfinished.file().set_permissions(rights.clone()).unwrap();
        unfinished.name_by(refuse, &path, false, false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, rights.mode());
    }

    #[test]
    fn a_file_without_a_name_is_in_no_directory() {
        let directory = tempfile::tempdir().unwrap();
        let unfinished = Unfinished::beside(&directory.path().join("out.fits"), ANY_NEW).unwrap();
        assert_eq!(count(directory.path()), usize::from(unfinished.name.is_some()));
    }

    #[test]
    fn the_next_writer_removes_the_file_of_a_dead_process() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        let exists = |number| temporary(&path, number).exists();
        let writer = Unfinished::named(&path, ANY_NEW).unwrap();
        let second = Unfinished::named(&path, ANY_NEW).unwrap();
        remove_abandoned(&path);
        assert!(exists(1) && exists(2) && !exists(3));
        // As after a kill: a name, but no lock.
        let Unfinished { file, name } = writer;
        drop(file);
        name.unwrap().keep().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", temporary(&path, 3)).unwrap();
        fs::write(temporary(&path, 4), b"abandoned").unwrap();
        fs::write(directory.path().join(".other.fits.tachyfits-1.part"), b"not of this name")
            .unwrap();
        let third = Unfinished::beside(&path, ANY_NEW).unwrap();
        assert_eq!([1, 2, 4].map(exists), [false, true, false]);
        assert!(temporary(&path, 3).is_symlink());
        drop((second, third));
        assert_eq!(count(directory.path()), 2);
    }
}
