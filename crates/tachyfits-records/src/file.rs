//! An open unformatted file: its markers, and the index of its records, which is built on first use.

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

/// Maximum gap between records that is read along if the file must be read from a device.
const NEAR_ON_DEVICE: u64 = 256 << 10;

/// Access method of the Fortran program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordAccess {
    /// `access='sequential'`, the default: records between markers.
    #[default]
    Sequential,
    /// `access='direct'`: records of this many bytes, without markers.
    Direct(u64),
    /// `access='stream'`: plain bytes; here one record.
    Stream,
}

tachyfits_io::options! {
    /// Options for opening an unformatted file.
    #[derive(Clone, Debug, Default)]
    pub struct RecordOptions {
        /// Access method of the program that wrote the file.
        pub access: RecordAccess,
        /// Bytes per marker, 4 or 8; `None` detects it.
        pub marker_bytes: Option<usize>,
        /// Byte order; `None` detects it from the markers, or means native order without markers.
        pub order: Option<FileOrder>,
        /// Continue with the next whole record after damage.
        pub recover: bool,
        /// Method of reading bytes.
        pub storage: StorageKind,
        /// Amount and place of buffered compressed input.
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
    /// The walk over markers and its progress; `None` before it begins and after the index is complete.
    walk: Mutex<Option<RecordWalker>>,
    notices: Vec<Notice>,
}

impl RecordFile {
    /// Opens a file by its name, or any other [`Source`]; the first request builds the index of records.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or its markers cannot be detected.
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

    /// Notices from opening the file, such as an interrupted append that was undone.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Opens a file from its bytes.
    ///
    /// # Errors
    /// Returns the errors of [`RecordFile::open`].
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
                let pair = options.marker_bytes.zip(options.order);
                markers = pair.and_then(|(width, order)| RecordMarkers::new(width, order));
                if markers.is_none() {
                    let result = detect(&*storage, options)?;
                    markers = Some(result.markers);
                    detection = Some(result);
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
        // The caller's token cancels only the opening.
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

    /// Name of the file: a path, or the name passed to [`RecordFile::from_bytes`].
    pub fn name(&self) -> &str {
        self.storage.name()
    }

    /// Size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.storage.bytes()
    }

    /// Access method.
    pub fn access(&self) -> RecordAccess {
        self.access
    }

    /// Markers, if the file has any.
    pub fn markers(&self) -> Option<RecordMarkers> {
        self.markers
    }

    /// Byte order.
    pub fn order(&self) -> FileOrder {
        self.order
    }

    /// Result of detecting the markers, unless they were specified.
    pub fn detection(&self) -> Option<&Detection> {
        self.detection.as_ref()
    }

    /// Returns the index of records, built on first use.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read. Damage is not an error here: see [`RecordIndex::damage`].
    pub fn index(&self) -> Result<&RecordIndex, Error> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        // Other threads wait here, then use the finished index.
        let mut walk = self.walked();
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let index = match (self.access, self.markers) {
            (RecordAccess::Sequential, Some(markers)) => {
                let walker = walk.take().unwrap_or_else(|| self.walker(markers));
                self.to_the_end(walker)?
            }
            (RecordAccess::Direct(record_bytes), _) => {
                RecordIndex::direct(record_bytes, self.bytes(), self.options.recover)
            }
            _ => RecordIndex::stream(self.bytes()),
        };
        Ok(self.index.get_or_init(|| index))
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
        // For a device, reading the gaps is faster than separate reads.
        if !self.storage.is_resident(0..bytes) {
            limits.near_bytes = limits.near_bytes.max(NEAR_ON_DEVICE);
        }
        RecordWalker::new(markers, bytes, limits, self.options.recover)
    }

    /// Returns the number of records.
    ///
    /// # Errors
    /// Returns the damage if the records end before the file does: their number is unknown then.
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
    /// Returns the errors of [`RecordFile::len`].
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

/// Detects the markers.
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
