//! A file that is being written: without a name where the file system has such files (`O_TMPFILE` of Linux), so that
//! nothing unfinished stays however the process ends; elsewhere under a temporary one, `.tachyfits-….part`, which stays
//! only if the process is killed outright.

use std::fs::{File, Permissions};
use std::io;
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
        let name = match self.name {
            Some(name) => name,
            None if !overwrite && !synced => return system::link(&self.file, target),
            // Only a file with a name can take that of another, and some file systems (btrfs) bring a file to the device
            // for good only when a name leads to it.
            None => {
                let link = |name: &Path| system::link(&self.file, name);
                builder().make_in(directory_of(target), link)?.into_temp_path()
            }
        };
        if synced {
            self.file.sync_all()?;
        }
        match overwrite {
            true => Ok(name.persist(target)?),
            false => Ok(name.persist_noclobber(target)?),
        }
    }
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
    use super::Unfinished;
    use std::fs;
    use std::io::{ErrorKind, Write};
    use std::path::Path;

    fn count(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    /// What both kinds of files do, with or without a temporary name.
    fn is_named_at_its_end(begin: impl Fn(&Path) -> Unfinished, synced: bool) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        let write = |content: &[u8]| {
            let unfinished = begin(&path);
            unfinished.file().write_all(content).unwrap();
            unfinished
        };
        let late = write(b"late");
        write(b"old").name(&path, false, synced).unwrap();
        assert_eq!(late.name(&path, false, synced).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(write(b"given up"));
        write(b"new").name(&path, true, synced).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let missing = directory.path().join("missing/out.fits");
        assert_eq!(
            write(b"").name(&missing, true, synced).unwrap_err().kind(),
            ErrorKind::NotFound
        );
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
    fn a_file_without_a_name_is_in_no_directory() {
        let directory = tempfile::tempdir().unwrap();
        let unfinished = Unfinished::beside(&directory.path().join("out.fits"), None).unwrap();
        assert_eq!(count(directory.path()), usize::from(unfinished.name.is_some()));
    }
}
