//! Queries to the operating system: whether a part of a file is in the page cache, the disk has room for the output, a
//! write can fail as late as closing, and a file can be unnamed.
//!
//! Linux answers with one or two system calls each. Other systems get safe default answers, which only affect speed,
//! the time of an error and the files left behind by a kill, never a result.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, fchown};
use std::path::Path;
use std::time::Duration;

/// Smallest page of the page cache.
#[cfg(target_os = "linux")]
const PAGE: u64 = 4096;

/// Whether a few pages of `range` (first, middle, last) are in the page cache.
#[cfg(target_os = "linux")]
pub(crate) fn is_resident(file: &File, range: Range<u64>) -> bool {
    if range.is_empty() {
        return true;
    }
    let middle = range.start + (range.end - range.start) / 2;
    let pages = [range.start, middle, range.end - 1].map(|offset| offset / PAGE * PAGE);
    let is_new = |&(index, page): &(usize, u64)| index == 0 || pages[index - 1] != page;
    pages.into_iter().enumerate().filter(is_new).all(|(_, page)| page_is_resident(file, page))
}

#[cfg(target_os = "linux")]
fn page_is_resident(file: &File, offset: u64) -> bool {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};
    let mut byte = [0];
    let mut buffers = [std::io::IoSliceMut::new(&mut byte)];
    // A read with NOWAIT fails with EAGAIN if it would need the device.
    match preadv2(file, &mut buffers, offset, ReadWriteFlags::NOWAIT) {
        Ok(_) => true,
        // File systems in memory may not support the flag; for others (network, FUSE) reading ahead is the better
        // guess.
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => is_in_memory(file),
        Err(_) => false,
    }
}

/// Whether the file is on a file system in memory.
#[cfg(target_os = "linux")]
fn is_in_memory(file: &File) -> bool {
    // From linux/magic.h: TMPFS_MAGIC, RAMFS_MAGIC, HUGETLBFS_MAGIC.
    is_on(file, &[0x0102_1994, 0x8584_58f6, 0x9584_58f6])
}

/// Whether the file is on a file system that may accept writes and report their failure only later.
#[cfg(target_os = "linux")]
pub(crate) fn reports_errors_late(file: &File) -> bool {
    // From linux/magic.h and the file systems' sources: NFS, CIFS, SMB2, Ceph, Lustre, FUSE.
    is_on(file, &[0x6969, 0xff53_4d42, 0xfe53_4d42, 0x00c3_6400, 0x0bd0_0bd0, 0x6573_5546])
}

#[cfg(target_os = "linux")]
fn is_on(file: &File, magic_numbers: &[u32]) -> bool {
    rustix::fs::fstatfs(file)
        .is_ok_and(|statistics| magic_numbers.contains(&(statistics.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn reports_errors_late(_file: &File) -> bool {
    true
}

/// Flags for opening a file that another user may have created: no link is followed, no pipe waited for.
pub(crate) const NO_FOLLOW: i32 =
    rustix::fs::OFlags::NOFOLLOW.union(rustix::fs::OFlags::NONBLOCK).bits() as i32;

/// Returns the user whose rights this process has.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the time within which two changes of a file may get the same timestamp.
pub(crate) fn clock_resolution() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let step = rustix::time::clock_getres(rustix::time::ClockId::RealtimeCoarse);
        Duration::new(step.tv_sec as u64, step.tv_nsec as u32)
    }
    #[cfg(not(target_os = "linux"))]
    Duration::from_millis(10)
}

/// Creates a file without a name in `directory`, if the file system supports that and [`link`] can name it.
#[cfg(target_os = "linux")]
pub(crate) fn unnamed_file(directory: &Path, mode: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    use std::os::unix::fs::PermissionsExt;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(directory, flags, Mode::from_raw_mode(mode)).ok()?);
    // Before Linux 6.0 some file systems ignored the umask here; a file created with a name gets the right mode.
    let is_masked = file.metadata().ok()?.permissions().mode() & 0o777 != mode;
    ((is_masked || mode & 0o077 == 0) && descriptor_path(&file).exists()).then_some(file)
}

/// Gives a file of [`unnamed_file`] a name that does not exist yet.
#[cfg(target_os = "linux")]
pub(crate) fn link(file: &File, path: &Path) -> std::io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    // AT_EMPTY_PATH, which does not need /proc, requires a privilege: open(2), section on O_TMPFILE.
    Ok(linkat(CWD, descriptor_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Returns a path that leads to an open file.
#[cfg(target_os = "linux")]
pub(crate) fn descriptor_path(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn descriptor_path(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    format!("/dev/fd/{}", file.as_raw_fd()).into()
}

/// Extended attribute of a file that contains the path of its journal while a change is unfinished.
#[cfg(target_os = "linux")]
const MARK: &str = "user.tachyfits.undo";

/// Marks a file as partially changed; does nothing on file systems without extended attributes.
#[cfg(target_os = "linux")]
pub(crate) fn set_mark(file: &File, journal: &Path) {
    use std::os::unix::ffi::OsStrExt;
    let journal = journal.as_os_str().as_bytes();
    let _ = rustix::fs::fsetxattr(file, MARK, journal, rustix::fs::XattrFlags::empty());
}

/// Returns the journal of a file that is marked as partially changed.
#[cfg(target_os = "linux")]
pub(crate) fn mark(file: &File) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut path = vec![0; 4096];
    let bytes = rustix::fs::fgetxattr(file, MARK, &mut path[..]).ok()?;
    path.truncate(bytes);
    Some(std::ffi::OsString::from_vec(path).into())
}

/// Removes the mark.
#[cfg(target_os = "linux")]
pub(crate) fn unmark(file: &File) {
    let _ = rustix::fs::fremovexattr(file, MARK);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn set_mark(_file: &File, _journal: &Path) {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn mark(_file: &File) -> Option<std::path::PathBuf> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn unmark(_file: &File) {}

/// Name of the extended attribute for a file's access control list.
#[cfg(target_os = "linux")]
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Copies owner, mode and access control list of the file at a path to an open file, and with `all` the other extended
/// attributes. Without `all`, the owner is copied only if this user may change owners, which on Linux only root may.
///
/// # Errors
/// If an attribute cannot be copied, except those managed by the system (`security.*`).
pub(crate) fn keep_attributes(from: &Path, to: &File, all: bool) -> io::Result<()> {
    let (old, new) = (std::fs::metadata(from)?, to.metadata()?);
    let owner = (old.uid() != new.uid()).then_some(old.uid());
    let group = (old.gid() != new.gid()).then_some(old.gid());
    if owner.or(group).is_some() {
        let result = fchown(to, owner, group);
        if all {
            result?;
        } else if result.is_err() {
            let _ = fchown(to, None, group);
        }
    }
    match keep_extended_attributes(from, to, all) {
        Err(error) if all => return Err(error),
        _ => {}
    }
    // Last, because a change of owner or access list changes the mode.
    to.set_permissions(old.permissions())
}

#[cfg(target_os = "linux")]
fn keep_extended_attributes(from: &Path, to: &File, all: bool) -> io::Result<()> {
    use rustix::fs::{
        XattrFlags, fremovexattr, fsetxattr, getxattr, getxattr_query, listxattr, listxattr_query,
    };
    use rustix::io::Errno;
    // Default access list of the directory for new files.
    let _ = fremovexattr(to, ACCESS_LIST);
    let mut names = match listxattr_query(from) {
        // At most 64 KiB, the limit of Linux.
        Ok(bytes) => vec![0; bytes],
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let bytes = listxattr(from, &mut names[..])?;
    let names = names[..bytes].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names = names.filter(|name| *name != MARK.as_bytes());
    for name in names.filter(|name| all || *name == ACCESS_LIST) {
        let keep = || -> rustix::io::Result<()> {
            // At most 64 KiB, the limit of Linux.
            let mut value = vec![0; getxattr_query(from, name)?];
            let bytes = getxattr(from, name, &mut value[..])?;
            fsetxattr(to, name, &value[..bytes], XattrFlags::empty())
        };
        match keep() {
            Err(error) if name == ACCESS_LIST || name.starts_with(b"user.") => {
                return Err(error.into());
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn keep_extended_attributes(_from: &Path, _to: &File, _all: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn unnamed_file(_directory: &Path, _mode: u32) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn link(_file: &File, _path: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Maximum bytes per system call. The kernel uses larger pages of its cache for larger writes, and fills pages of 1 MiB
/// more slowly: writing 4 GB took 1.2 to 1.6 times as long with calls of 1 MiB (Linux 6.18, ext4), and no less time
/// with calls of 128 or 512 KiB.
const WRITE_BYTES: usize = 256 << 10;

/// Writes bytes at an offset. Calls end at multiples of the maximum, so that the pages are as large as possible.
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    let (mut at, mut rest) = (offset, bytes);
    while !rest.is_empty() {
        let most = match rest.len() {
            few if few <= WRITE_BYTES => few,
            _ => WRITE_BYTES - (at % WRITE_BYTES as u64) as usize,
        };
        let (piece, later) = rest.split_at(most);
        std::os::unix::fs::FileExt::write_all_at(file, piece, at)?;
        (at, rest) = (at + piece.len() as u64, later);
    }
    Ok(())
}

/// Reserves space on the disk without changing the size of the file; does nothing if that is not supported.
pub(crate) fn reserve(file: &File, bytes: u64) -> std::io::Result<()> {
    reserve_range(file, 0..bytes)
}

/// Does the same as [`reserve`] for a part of the file.
#[cfg(target_os = "linux")]
pub(crate) fn reserve_range(file: &File, range: Range<u64>) -> std::io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    if range.is_empty() {
        return Ok(());
    }
    loop {
        match fallocate(file, FallocateFlags::KEEP_SIZE, range.start, range.end - range.start) {
            Err(Errno::INTR) => {}
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn reserve_range(_file: &File, _range: Range<u64>) -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_resident(_file: &File, _range: Range<u64>) -> bool {
    true
}

/// Read-ahead of the kernel, in KiB, from which on announcements are not needed: large pages. Many systems have 128.
#[cfg(target_os = "linux")]
const READS_AHEAD_KIB: u64 = 2048;

/// Whether the kernel reads far ahead by itself if a file is read in order; reads its settings, once per run.
#[cfg(target_os = "linux")]
pub(crate) fn reads_far_ahead(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = file.metadata() else { return false };
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let setting = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    let kib = std::fs::read_to_string(setting).ok().and_then(|kib| kib.trim().parse().ok());
    kib.is_some_and(|kib: u64| kib >= READS_AHEAD_KIB)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn reads_far_ahead(_file: &File) -> bool {
    false
}

/// Asks the kernel to begin reading `range` into the page cache.
#[cfg(target_os = "linux")]
pub(crate) fn will_need(file: &File, range: Range<u64>) {
    let length = range.end.saturating_sub(range.start);
    if let Some(length) = std::num::NonZeroU64::new(length) {
        // Only a hint: a file system that ignores it does no harm.
        let _ = rustix::fs::fadvise(file, range.start, Some(length), rustix::fs::Advice::WillNeed);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn will_need(_file: &File, _range: Range<u64>) {}

/// Reads until the buffer is full or the file ends; returns the number of bytes.
pub(crate) fn read_up_to(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
