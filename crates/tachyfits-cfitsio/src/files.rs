//! Files that programs have open, each read through a separate descriptor.
//!
//! CFITSIO's own descriptor is hidden in its structures, so the file is opened again by name. The name may refer to
//! another file by then: a descriptor is used only if another descriptor of this process has the same file open, and if
//! CFITSIO reads the same header and the same samples of the data.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use tachyfits::io::{FileStorage, Storage};

use crate::cfitsio::{Functions, Handle, Library};
use crate::report::Reason;
use crate::shared::lock;
use crate::tiles::TiledImage;

/// Maximum number of files with a separate descriptor.
const MOST_FILES: usize = 64;

/// Bytes of a FITS block.
const BLOCK_BYTES: u64 = 2880;

/// Bytes of each sample that must be equal for CFITSIO and this library.
const SAMPLE_BYTES: u64 = 64;

/// A file that CFITSIO has open.
#[derive(Clone, Debug)]
struct OpenFile {
    /// Name in CFITSIO.
    name: PathBuf,
    storage: Arc<FileStorage>,
    /// The compressed image read last, with the offset of its header.
    tiled: Option<(u64, Arc<TiledImage>)>,
    /// Device and inode.
    identity: (u64, u64),
    /// Descriptor of the program for the same file.
    descriptor: i32,
    /// Time of last use, in calls.
    used: u64,
}

#[derive(Debug, Default)]
struct Files {
    open: HashMap<(usize, Handle), OpenFile>,
    calls: u64,
}

static FILES: Mutex<Option<Files>> = Mutex::new(None);

/// Returns the storage of a file that is open in CFITSIO, for reading the bytes `range`.
pub(crate) fn storage(
    library: &Library,
    functions: &Functions,
    file: Handle,
    range: std::ops::Range<u64>,
) -> Result<Arc<FileStorage>, Reason> {
    let name = functions.disk_path(file).ok_or(Reason::File)?;
    let key = (library.base(), file);
    let mut files = lock(&FILES).ok_or(Reason::Busy)?;
    let files = files.get_or_insert_default();
    files.calls += 1;
    let calls = files.calls;
    let descriptors = files.descriptors();
    if let Some(open) = files.open.get_mut(&key) {
        let descriptor = open.storage.descriptor_elsewhere(Some(open.descriptor), &descriptors);
        if open.name == name
            && descriptor == Some(open.descriptor)
            && open.storage.check_unchanged().is_ok()
        {
            open.used = calls;
            return has_blocks(&open.storage, &range)
                .then(|| open.storage.clone())
                .ok_or(Reason::Changed);
        }
        files.close(&key);
    }
    let storage = open_again(&name).ok_or(Reason::File)?;
    let descriptor = storage.descriptor_elsewhere(None, &descriptors).ok_or(Reason::Changed)?;
    if !has_blocks(&storage, &range) || !is_alike(functions, file, &storage, range) {
        return Err(Reason::Changed);
    }
    if files.open.len() >= MOST_FILES {
        let oldest = files.open.iter().min_by_key(|(_, open)| open.used).map(|(key, _)| *key);
        if let Some(oldest) = oldest {
            files.close(&oldest);
        }
    }
    let identity = storage.identity().ok_or(Reason::File)?;
    let storage = Arc::new(storage);
    let open =
        OpenFile { name, storage: storage.clone(), identity, tiled: None, descriptor, used: calls };
    files.open.insert(key, open);
    Ok(storage)
}

/// Returns the compressed image in the current HDU of a file.
pub(crate) fn tiled(
    library: &Library,
    functions: &Functions,
    file: Handle,
) -> Result<Arc<TiledImage>, Reason> {
    let [header, data, end] = functions.offsets(file).ok_or(Reason::Refused)?;
    if end <= data {
        return Err(Reason::Compressed);
    }
    let storage = storage(library, functions, file, data..end)?;
    let key = (library.base(), file);
    let with_file = |take: &mut dyn FnMut(&mut OpenFile)| {
        let mut files = lock(&FILES)?;
        files.as_mut().and_then(|files| files.open.get_mut(&key)).map(take)
    };
    let mut open_image = None;
    with_file(&mut |open| open_image = open.tiled.clone().filter(|tiled| tiled.0 == header));
    if let Some((_, tiled)) = open_image {
        return Ok(tiled);
    }
    let tiled = Arc::new(TiledImage::open(storage, header)?);
    with_file(&mut |open| open.tiled = Some((header, tiled.clone())));
    Ok(tiled)
}

/// Whether a file has complete blocks for a range, as CFITSIO reads them.
fn has_blocks(storage: &FileStorage, range: &std::ops::Range<u64>) -> bool {
    range.end.next_multiple_of(BLOCK_BYTES) <= storage.bytes()
}

/// Closes our descriptor of a file that CFITSIO closes.
pub(crate) fn forget(library: &Library, file: Handle) {
    // If this fails, reusing the handle detects the closed file.
    if let Some(files) = lock(&FILES).as_mut().and_then(|files| files.as_mut()) {
        files.close(&(library.base(), file));
    }
}

impl Files {
    /// Drops a file. If the program closed all descriptors and reused this one for another file, the descriptor stays
    /// open.
    fn close(&mut self, key: &(usize, Handle)) {
        let Some(open) = self.open.remove(key) else { return };
        if open.storage.identity() != Some(open.identity) {
            std::mem::forget(open);
        }
    }

    /// Returns the descriptors of this library.
    fn descriptors(&self) -> Vec<i32> {
        self.open.values().map(|open| open.storage.descriptor()).collect()
    }
}

/// Opens a file by its name in CFITSIO. A relative name is relative to the working directory when the file was opened:
/// the current one, or the first one.
fn open_again(name: &Path) -> Option<FileStorage> {
    static FIRST_FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let first = FIRST_FOLDER.get_or_init(|| std::env::current_dir().ok());
    let open = |path: &Path| FileStorage::open(path).ok();
    open(name).or_else(|| name.is_relative().then(|| open(&first.as_ref()?.join(name)))?)
}

/// Whether CFITSIO reads the same header and the same samples of a range.
fn is_alike(
    functions: &Functions,
    file: Handle,
    storage: &FileStorage,
    range: std::ops::Range<u64>,
) -> bool {
    let Some([header, data, _]) = functions.offsets(file) else { return false };
    let length = SAMPLE_BYTES.min(range.end - range.start);
    let last = range.end - length;
    let third = (range.end - range.start) / 3;
    let samples = [range.start, range.start + third, range.start + 2 * third, last];
    let samples = samples.map(|start| start.min(last)..start.min(last) + length);
    let first = header..data.min(header + BLOCK_BYTES);
    let mut parts = samples.into_iter().chain(std::iter::once(first));
    parts.all(|part| {
        // At most BLOCK_BYTES.
        let mut ours = vec![0; (part.end - part.start) as usize];
        let mut theirs = ours.clone();
        storage.read_exact_at(part.start, &mut ours).is_ok()
            && functions.read(file, part.start, &mut theirs)
            && theirs == ours
    })
}
