//! One file of the cache: the bytes of a remote object that opening needs, with the name and the version of the object.
//!
//! The file is not trusted: unless its checksum, lengths, name and version are right, it is ignored. Its bytes are
//! parsed like those of a server. A failure of the cache is never an error.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::Crc;
use tachyfits_memory as memory;
use tempfile::Builder;

use crate::system;

/// First bytes of a file, with the version of the format.
const MAGIC: &[u8; 16] = b"tachyfits index1";

/// Maximum bytes of a file.
const FILE_BYTES: u64 = 16 << 20;

/// Maximum bytes of all files of the folder; the least recently used files are removed.
const FOLDER_BYTES: u64 = 256 << 20;

/// Suffix of the cache's files. Other files of the folder are left alone.
const SUFFIX: &str = ".index";

/// Interval after which a use updates the file's modification time, which is the time of its last use.
const USED_AGAIN: Duration = Duration::from_secs(3600);

/// Bytes of an object, starting at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

/// File of an object in the cache.
#[derive(Clone, Debug)]
pub(crate) struct CacheEntry {
    path: PathBuf,
    /// URL of the object without secrets.
    key: String,
}

/// An object as described by its server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'a> {
    pub(crate) version: &'a str,
    pub(crate) bytes: u64,
}

impl CacheEntry {
    /// Returns the file for a key in a folder, which need not exist.
    pub(crate) fn of(folder: &Path, key: String) -> CacheEntry {
        // FNV-1a. If two keys have the same hash, the later file replaces the earlier one.
        let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        CacheEntry { path: folder.join(format!("{hash:016x}{SUFFIX}")), key }
    }

    /// Whether there is a file, of any version.
    pub(crate) fn exists(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.is_file())
    }

    /// Loads the parts of an object, in ascending order; `None` if this version has none, or the file is damaged.
    pub(crate) fn load(&self, object: Object<'_>) -> Option<Vec<Part>> {
        let opening = |options: &mut OpenOptions| {
            options.custom_flags(system::NO_FOLLOW).open(&self.path).ok()
        };
        let file = opening(OpenOptions::new().read(true))?;
        let metadata = file.metadata().ok()?;
        // A file of another user could have a valid checksum.
        let is_ours = metadata.is_file() && metadata.uid() == system::user();
        if !is_ours || metadata.len() > FILE_BYTES {
            return None;
        }
        let mut content =
            memory::with_room(metadata.len() as usize, "headers of a remote file").ok()?;
        (&file).take(metadata.len()).read_to_end(&mut content).ok()?;
        let parts = parts(&content, &self.key, object)?;
        if metadata.modified().is_ok_and(|used| used.elapsed().is_ok_and(|ago| ago > USED_AGAIN)) {
            let _ = opening(OpenOptions::new().write(true))?.set_modified(SystemTime::now());
        }
        Some(parts)
    }

    /// Stores the parts of an object, which are ascending and do not overlap. The file appears complete or not at all.
    pub(crate) fn store(&self, object: Object<'_>, parts: &[Part]) {
        let _ = self.try_store(object, parts);
    }

    fn try_store(&self, object: Object<'_>, parts: &[Part]) -> io::Result<()> {
        let bytes = parts.iter().map(|part| part.bytes.len() as u64 + 16).sum::<u64>();
        let texts = (self.key.len() + object.version.len()) as u64;
        if bytes + texts + 64 > FILE_BYTES {
            return Ok(());
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        remove_oldest(folder)?;
        let mut file = Builder::new().suffix(SUFFIX).tempfile_in(folder)?;
        write(file.as_file_mut(), &self.key, object, parts)?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// Writes the content of a file.
fn write(file: &mut File, key: &str, object: Object<'_>, parts: &[Part]) -> io::Result<()> {
    let mut crc = Crc::new();
    let mut write = |bytes: &[u8]| {
        crc.update(bytes);
        file.write_all(bytes)
    };
    write(MAGIC)?;
    write(&object.bytes.to_le_bytes())?;
    for text in [key, object.version] {
        write(&(text.len() as u64).to_le_bytes())?;
        write(text.as_bytes())?;
    }
    write(&(parts.len() as u64).to_le_bytes())?;
    for part in parts {
        write(&part.offset.to_le_bytes())?;
        write(&(part.bytes.len() as u64).to_le_bytes())?;
    }
    for part in parts {
        write(&part.bytes)?;
    }
    let sum = crc.sum();
    file.write_all(&sum.to_le_bytes())
}

/// Parses the content of a file; `None` unless it is complete and describes this object.
fn parts(content: &[u8], key: &str, object: Object<'_>) -> Option<Vec<Part>> {
    let (content, sum) = content.split_last_chunk::<4>()?;
    let mut crc = Crc::new();
    crc.update(content);
    if crc.sum() != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut rest = content.strip_prefix(MAGIC)?;
    if number(&mut rest)? != object.bytes {
        return None;
    }
    for text in [key, object.version] {
        let length = number(&mut rest)?;
        if take(&mut rest, length)? != text.as_bytes() {
            return None;
        }
    }
    let count = number(&mut rest)?;
    // Each part has at least 16 bytes, so a wrong number cannot reserve more memory than the size of the file.
    let mut places = take(&mut rest, count.checked_mul(16)?)?;
    let mut parts = memory::with_room(count as usize, "headers of a remote file").ok()?;
    let mut end = 0;
    while !places.is_empty() {
        let (offset, length) = (number(&mut places)?, number(&mut places)?);
        if offset < end || length == 0 {
            return None;
        }
        end = offset.checked_add(length).filter(|&end| end <= object.bytes)?;
        let bytes = memory::copied(take(&mut rest, length)?, "headers of a remote file").ok()?;
        parts.push(Part { offset, bytes });
    }
    rest.is_empty().then_some(parts)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (first, after) = rest.split_first_chunk::<8>()?;
    *rest = after;
    Some(u64::from_le_bytes(*first))
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (first, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(first)
}

/// Removes the least recently used files until there is room for one more.
fn remove_oldest(folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.ends_with(SUFFIX));
        let metadata = entry.metadata().ok().filter(|metadata| is_ours && metadata.is_file());
        if let Some(metadata) = metadata {
            files.push((metadata.modified()?, metadata.len(), entry.path()));
        }
    }
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, length, path) in files {
        if bytes + FILE_BYTES <= FOLDER_BYTES {
            break;
        }
        let _ = fs::remove_file(path);
        bytes -= length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{CacheEntry, FILE_BYTES, FOLDER_BYTES, Object, Part, SUFFIX};
    use proptest::prelude::*;
    use std::fs;
    use std::time::{Duration, SystemTime};

    const OBJECT: Object<'_> = Object { version: "\"tag\" 1000", bytes: 1000 };

    fn some_parts() -> Vec<Part> {
        [(0, 100), (100, 7), (900, 100)]
            .map(|(offset, length)| Part { offset, bytes: vec![offset as u8; length] })
            .to_vec()
    }

    #[test]
    fn parts_are_given_back_for_the_same_version_alone() {
        let folder = tempfile::tempdir().unwrap();
        let entry = CacheEntry::of(&folder.path().join("a/b"), "https://a.org/x".into());
        assert!(!entry.exists() && entry.load(OBJECT).is_none());
        entry.store(OBJECT, &some_parts());
        assert!(entry.exists());
        assert_eq!(entry.load(OBJECT), Some(some_parts()));
        assert_eq!(entry.load(Object { version: "\"other\" 1000", ..OBJECT }), None);
        assert_eq!(entry.load(Object { bytes: 1001, ..OBJECT }), None);
        let same_name = CacheEntry { key: "https://a.org/y".into(), ..entry };
        assert_eq!(same_name.load(OBJECT), None);
    }

    #[test]
    fn damaged_files_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let entry = CacheEntry::of(folder.path(), "https://a.org/x".into());
        entry.store(OBJECT, &some_parts());
        let content = fs::read(&entry.path).unwrap();
        for length in 0..content.len() {
            fs::write(&entry.path, &content[..length]).unwrap();
            assert_eq!(entry.load(OBJECT), None, "{length} bytes");
        }
        for at in 0..content.len() {
            let mut damaged = content.clone();
            damaged[at] ^= 0x10;
            fs::write(&entry.path, &damaged).unwrap();
            assert_eq!(entry.load(OBJECT), None, "byte {at}");
        }
        fs::write(&entry.path, [content.clone(), content].concat()).unwrap();
        assert_eq!(entry.load(OBJECT), None);
    }

    #[test]
    fn links_pipes_and_long_files_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let entry = CacheEntry::of(folder.path(), "https://a.org/x".into());
        entry.store(OBJECT, &some_parts());
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&entry.path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &entry.path).unwrap();
        assert!(!entry.exists() && entry.load(OBJECT).is_none());
        fs::remove_file(&entry.path).unwrap();
        fs::create_dir(&entry.path).unwrap();
        assert!(!entry.exists() && entry.load(OBJECT).is_none());
        entry.store(OBJECT, &some_parts());
        fs::remove_dir(&entry.path).unwrap();
        fs::File::create(&entry.path).unwrap().set_len(FILE_BYTES + 1).unwrap();
        assert_eq!(entry.load(OBJECT), None);
    }

    #[test]
    fn files_used_longest_ago_give_way() {
        let folder = tempfile::tempdir().unwrap();
        let count = FOLDER_BYTES / FILE_BYTES;
        for number in 0..count {
            let file = fs::File::create(folder.path().join(format!("{number}{SUFFIX}"))).unwrap();
            file.set_len(FILE_BYTES).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(number)).unwrap();
        }
        fs::write(folder.path().join("not ours"), b"stays").unwrap();
        CacheEntry::of(folder.path(), "https://a.org/x".into()).store(OBJECT, &some_parts());
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        assert_eq!(names.len() as u64, count + 1, "{names:?}");
        assert!(!names.contains(&format!("0{SUFFIX}")), "{names:?}");
    }

    proptest! {
        #[test]
        fn bytes_with_a_right_checksum_are_checked(content in prop::collection::vec(0u8..4, 0..200)) {
            let mut file = super::MAGIC.to_vec();
            file.extend(OBJECT.bytes.to_le_bytes());
            file.extend(content);
            let mut crc = flate2::Crc::new();
            crc.update(&file);
            file.extend(crc.sum().to_le_bytes());
            prop_assert_eq!(super::parts(&file, "key", OBJECT), None);
        }

        #[test]
        fn places_are_within_the_object(places in prop::collection::vec((0u64..1100, 0u64..50), 0..9)) {
            let mut file = Vec::new();
            let parts: Vec<_> = places
                .iter()
                .map(|&(offset, length)| Part { offset, bytes: vec![1; length as usize] })
                .collect();
            let folder = tempfile::tempdir().unwrap();
            let mut target = fs::File::create(folder.path().join("x")).unwrap();
            super::write(&mut target, "key", OBJECT, &parts).unwrap();
            file.extend(fs::read(folder.path().join("x")).unwrap());
            let are_disjoint = parts.windows(2).all(|pair| pair[0].offset + pair[0].bytes.len() as u64 <= pair[1].offset);
            let within = parts.iter().all(|part| !part.bytes.is_empty() && part.offset + part.bytes.len() as u64 <= 1000);
            prop_assert_eq!(super::parts(&file, "key", OBJECT), (are_disjoint && within).then_some(parts));
        }
    }
}
