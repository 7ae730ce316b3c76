//! An open unformatted file: its markers, and the index of its records, made when it is first
//! needed.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tachyfits_io::operation::OPEN_ATTEMPTS;
use tachyfits_io::{
    CancelToken, Notice, Purpose, Source, SourceOptions, SpoolOptions, Storage, StorageKind,
};
use tachyfits_memory as memory;

use crate::detect::{Detection, MarkerDetector};
use crate::error::{Code, Error};
use crate::index::RecordIndex;
use crate::markers::{FileOrder, RecordMarkers};
use crate::walk::{RecordLimits, RecordStep, RecordWalker};

/// Records no further apart than this are found by reading on where the file has to come from a device.
const NEAR_ON_DEVICE: u64 = 256 << 10;

/// How a Fortran program accesses a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordAccess {
    /// `access='sequential'`, the usual one: records between markers.
    #[default]
    Sequential,
    /// `access='direct'`: records of this many bytes, without markers.
    Direct(u64),
    /// `access='stream'`: bytes; here one record.
    Stream,
}

tachyfits_io::options! {
    /// How an unformatted file is opened.
    #[derive(Clone, Debug, Default)]
    pub struct RecordOptions {
        /// How it was written.
        pub access: RecordAccess,
        /// Bytes of a marker, 4 or 8; detected if it is not given.
        pub marker_bytes: Option<usize>,
        /// The byte order; detected from the markers if it is not given, and native without markers.
        pub order: Option<FileOrder>,
        /// Go on after damage, with the next whole record.
        pub recover: bool,
        /// How bytes are read.
        pub storage: StorageKind,
        /// How much of compressed input is kept, and where.
        pub spool: SpoolOptions,
        /// Limits of the index.
        pub limits: RecordLimits,
    }
}

/// An open unformatted file.
///
/// ```
/// use tachyfits_records::{RecordFile, RecordLayout, RecordOptions, RunOptions};
/// // Two records of two big-endian integers.
/// let bytes = [0, 0, 0, 4, 0, 1, 0, 2, 0, 0, 0, 4, 0, 0, 0, 4, 0, 3, 0, 4, 0, 0, 0, 4];
/// let file = RecordFile::from_bytes("example", bytes.to_vec(), &RecordOptions::default())?;
/// let mut values = [0i16; 4];
/// let out = bytemuck::cast_slice_mut(&mut values);
/// file.read(0, 2, &RecordLayout::plain(4, 2), out, &RunOptions::default())?;
/// assert_eq!(values, [1, 2, 3, 4]);
/// # Ok::<(), tachyfits_records::Error>(())
/// ```
#[derive(Debug)]
pub struct RecordFile {
    storage: Arc<dyn Storage>,
    access: RecordAccess,
    markers: Option<RecordMarkers>,
    order: FileOrder,
    detection: Option<Detection>,
    options: RecordOptions,
    index: OnceLock<RecordIndex>,
    /// The walk over markers, as far as it has come; none before it begins, and when it has become the index.
    walk: Mutex<Option<RecordWalker>>,
    notices: Vec<Notice>,
}

impl RecordFile {
    /// Opens a file by its name, or any other [`Source`]; its records are searched for at the first request.
    ///
    /// # Errors
    /// If it cannot be read, or its markers cannot be detected.
    pub fn open(source: impl Into<Source>, options: &RecordOptions) -> Result<RecordFile, Error> {
        RecordFile::open_for(&source.into(), options, Purpose::Following)
    }

    pub(crate) fn open_for(
        source: &Source,
        options: &RecordOptions,
        purpose: Purpose,
    ) -> Result<RecordFile, Error> {
        let how = SourceOptions::default()
            .kind(options.storage)
            .spool(options.spool.clone())
            .purpose(purpose);
        let begin = |storage| RecordFile::from_storage(storage, options);
        let (file, notices) = source.read(&how, OPEN_ATTEMPTS, Error::is_changed, begin)?;
        Ok(RecordFile { notices, ..file })
    }

    /// Notices about the file when it was opened, such as an interrupted append that was undone.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Opens the bytes of a file.
    ///
    /// # Errors
    /// As [`RecordFile::open`].
    pub fn from_bytes(
        name: &str,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        options: &RecordOptions,
    ) -> Result<RecordFile, Error> {
        RecordFile::open(Source::bytes(name, bytes), options)
    }

    fn from_storage(
        storage: Arc<dyn Storage>,
        options: &RecordOptions,
    ) -> Result<RecordFile, Error> {
        let (mut markers, mut detection) = (None, None);
        match options.access {
            RecordAccess::Sequential => {
                if let Some(width) = options.marker_bytes.filter(|width| ![4, 8].contains(width)) {
                    let found = format!("{width} bytes");
                    return Err(Error::refused(Code::Type, "markers of 4 or 8 bytes", found));
                }
                let given = options.marker_bytes.zip(options.order);
                markers = given.and_then(|(width, order)| RecordMarkers::new(width, order));
                if markers.is_none() {
                    let found = detect(&*storage, options)?;
                    markers = Some(found.markers);
                    detection = Some(found);
                }
            }
            RecordAccess::Direct(0) => {
                let expected = "the bytes of a record of direct access";
                return Err(Error::refused(Code::Type, expected, "records of 0 bytes"));
            }
            RecordAccess::Direct(_) | RecordAccess::Stream => {}
        }
        let order =
            markers.map(RecordMarkers::order).or(options.order).unwrap_or(FileOrder::NATIVE);
        // The watch is that of the opening.
        let spool = options.spool.clone().token(CancelToken::new());
        let (access, options) = (options.access, RecordOptions { spool, ..options.clone() });
        Ok(RecordFile {
            storage,
            access,
            markers,
            order,
            detection,
            options,
            index: OnceLock::new(),
            walk: Mutex::new(None),
            notices: Vec::new(),
        })
    }

    /// The name: a path, or what [`RecordFile::from_bytes`] was given.
    pub fn name(&self) -> &str {
        self.storage.name()
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.storage.bytes()
    }

    /// How it was written.
    pub fn access(&self) -> RecordAccess {
        self.access
    }

    /// Its markers, if it has any.
    pub fn markers(&self) -> Option<RecordMarkers> {
        self.markers
    }

    /// The order of bytes.
    pub fn order(&self) -> FileOrder {
        self.order
    }

    /// How the markers were detected, unless they were given.
    pub fn detection(&self) -> Option<&Detection> {
        self.detection.as_ref()
    }

    /// The records: looked for once.
    ///
    /// # Errors
    /// If the file cannot be read. Damage is not an error here: [`RecordIndex::damage`].
    pub fn index(&self) -> Result<&RecordIndex, Error> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        // Other threads wait here, then find the finished index.
        let mut walk = self.walked();
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let found = match (self.access, self.markers) {
            (RecordAccess::Sequential, Some(markers)) => {
                let walker = walk.take().unwrap_or_else(|| self.walker(markers));
                self.to_the_end(walker)?
            }
            (RecordAccess::Direct(record_bytes), _) => {
                RecordIndex::direct(record_bytes, self.bytes(), self.options.recover)
            }
            _ => RecordIndex::stream(self.bytes()),
        };
        Ok(self.index.get_or_init(|| found))
    }

    fn to_the_end(&self, mut walker: RecordWalker) -> Result<RecordIndex, Error> {
        let mut buffer = Vec::new();
        while let RecordStep::Read { offset, bytes } = walker.step() {
            read_or_lend(&*self.storage, offset, bytes, &mut buffer, |bytes| walker.supply(bytes))?;
        }
        self.storage.check_unchanged()?;
        walker.check_memory()?;
        Ok(walker.finish())
    }

    pub(crate) fn is_indexed(&self) -> bool {
        self.index.get().is_some()
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        Ok(self.storage.check_unchanged()?)
    }

    pub(crate) fn walked(&self) -> MutexGuard<'_, Option<RecordWalker>> {
        self.walk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn walker(&self, markers: RecordMarkers) -> RecordWalker {
        let bytes = self.bytes();
        let mut limits = self.options.limits.clone();
        // Reading on is faster for a device than reading again.
        if !self.storage.is_resident(0..bytes) {
            limits.near_bytes = limits.near_bytes.max(NEAR_ON_DEVICE);
        }
        RecordWalker::new(markers, bytes, limits, self.options.recover)
    }

    /// How many records there are.
    ///
    /// # Errors
    /// The damage, where the records end before the file does: how many there are is then not known.
    pub fn len(&self) -> Result<u64, Error> {
        let index = self.index()?;
        match index.damage() {
            None => Ok(index.len()),
            Some(damage) => Err(damage.clone().in_file(self.name()).into()),
        }
    }

    /// Whether there is no record.
    ///
    /// # Errors
    /// As [`RecordFile::len`].
    pub fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.len()? == 0)
    }

    pub(crate) fn refused(
        &self,
        code: Code,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        Error::refused(code, expected, found).in_file(self.name())
    }
}

/// Finds out the markers.
fn detect(storage: &dyn Storage, options: &RecordOptions) -> Result<Detection, Error> {
    let mut detector = MarkerDetector::new(options.marker_bytes, options.order, storage.bytes());
    let mut buffer = Vec::new();
    while let RecordStep::Read { offset, bytes } = detector.step() {
        read_or_lend(storage, offset, bytes, &mut buffer, |bytes| detector.supply(bytes))?;
    }
    detector.finish().map_err(|problem| problem.in_file(storage.name()).into())
}

/// Supplies bytes to a state machine, without a copy if the storage lends them.
fn read_or_lend(
    storage: &dyn Storage,
    offset: u64,
    bytes: usize,
    buffer: &mut Vec<u8>,
    supply: impl FnOnce(&[u8]),
) -> Result<(), Error> {
    match storage.slice(offset..offset + bytes as u64) {
        Some(lent) => supply(lent),
        None => {
            memory::resize(buffer, bytes, 0, "a part of the file")?;
            storage.read_exact_at(offset, buffer)?;
            supply(buffer);
        }
    }
    Ok(())
}
