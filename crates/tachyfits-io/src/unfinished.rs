//! A file that is being written: without a name where the file system has such files (`O_TMPFILE` of Linux), so that
//! nothing unfinished stays however the process ends; elsewhere under a temporary one, `.tachyfits-….part`, which stays
//! only if the process is killed outright.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::{Builder, TempPath};

use crate::system;

/// The rights of any new file, of which the operating system takes the umask off.
const MODE: u32 = 0o666;

/// A file without its name. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Unfinished {
    file: File,
    /// The temporary name, where it cannot be without.
    name: Option<TempPath>,
}

impl Unfinished {
    /// Begins a file in the directory of `target`, with the permissions of any new file or those given.
    pub(crate) fn beside(
        target: &Path,
        permissions: Option<Permissions>,
    ) -> io::Result<Unfinished> {
        let directory = directory_of(target);
        let unfinished = match system::unnamed_file(directory, MODE) {
            Some(file) => Unfinished { file, name: None },
            None => Unfinished::named(directory)?,
        };
        if let Some(permissions) = permissions {
            unfinished.file.set_permissions(permissions)?;
        }
        Ok(unfinished)
    }

    fn named(directory: &Path) -> io::Result<Unfinished> {
        let (file, name) = builder().tempfile_in(directory)?.into_parts();
        Ok(Unfinished { file, name: Some(name) })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name; one that is taken is an error, or with `overwrite` replaced in one step. `synced`: what is
    /// in the file is on the device before.
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
        let directory = directory_of(target);
        let (file, name) = match self.name {
            Some(name) => (self.file, name),
            None if !overwrite && !synced => match link(&self.file, target) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    copied(self.file, directory)?
                }
                named => return named,
            },
            // Only a file with a name can take that of another, and some file systems (btrfs) bring a file to the device
            // for good only when a name leads to it.
            None => match builder().make_in(directory, |name| link(&self.file, name)) {
                Ok(linked) => (self.file, linked.into_temp_path()),
                Err(_) => copied(self.file, directory)?,
            },
        };
        if synced {
            file.sync_all()?;
        }
        match overwrite {
            true => Ok(name.persist(target)?),
            false => Ok(name.persist_noclobber(target)?),
        }
    }
}

/// The same content under a temporary name, for where files can be made and renamed but not linked (some profiles of
/// AppArmor): what took hours to make is not lost for its name.
fn copied(mut file: File, directory: &Path) -> io::Result<(File, TempPath)> {
    let (mut copy, name) = builder().tempfile_in(directory)?.into_parts();
    copy.set_permissions(file.metadata()?.permissions())?;
    file.rewind()?;
    io::copy(&mut file, &mut copy)?;
    Ok((copy, name))
}

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".tachyfits-").suffix(".part").permissions(Permissions::from_mode(MODE));
    builder
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::{Unfinished, system};
    use std::fs::{self, File, Permissions};
    use std::io::{self, ErrorKind, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    type Link = fn(&File, &Path) -> io::Result<()>;

    fn count(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    /// What both kinds of files do, with or without a temporary name.
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
        let begin = |path: &Path| Unfinished::named(path.parent().unwrap()).unwrap();
        is_named_at_its_end(begin, false);
        is_named_at_its_end(begin, true);
    }

    #[test]
    fn a_file_as_the_file_system_has_it() {
        let begin = |path: &Path| Unfinished::beside(path, None).unwrap();
        is_named_at_its_end(begin, false);
        is_named_at_its_end(begin, true);
    }

    #[test]
    fn a_file_that_cannot_be_linked_is_copied() {
        let begin = |path: &Path| Unfinished::beside(path, None).unwrap();
        let refuse: Link = |_, _| Err(ErrorKind::PermissionDenied.into());
        is_named_by(refuse, begin, false);
        is_named_by(refuse, begin, true);
        // With the rights that it was given.
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        let rights = Permissions::from_mode(0o640);
        let unfinished = Unfinished::beside(&path, Some(rights.clone())).unwrap();
        unfinished.name_by(refuse, &path, false, false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, rights.mode());
    }

    #[test]
    fn a_file_without_a_name_is_in_no_directory() {
        let directory = tempfile::tempdir().unwrap();
        let unfinished = Unfinished::beside(&directory.path().join("out.fits"), None).unwrap();
        assert_eq!(count(directory.path()), usize::from(unfinished.name.is_some()));
    }
}
