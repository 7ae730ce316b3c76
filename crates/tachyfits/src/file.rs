//! An open FITS file: its storage and its HDUs. Opening reads only the headers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use tachyfits_format::{
    Code, FormatError, Hdu, HduKind, Header, Limits, ReadOptions, Step, TableLayout, Walker,
    Warning, begins_fits,
};
use tachyfits_io::operation::{OPEN_ATTEMPTS, RunOptions};
use tachyfits_io::{
    Id, IoError, Notice, Purpose, ReadAhead, Source, SourceOptions, SpoolOptions, Storage,
    StorageKind, compression_of,
};
use tachyfits_kernels::Tier;
use tachyfits_memory as memory;

use crate::byte_sums::each_piece;
use crate::computed::{Computed, ComputedData};
use crate::error::{Error, Reason};
use crate::hdu_storage::{HduStorage, MadeData};
use crate::image::Image;
use crate::survival::Companions;
use crate::table::Table;
use crate::tiled::{CompressedImage, DamagedTiles, OnDamage, RestoredTable, TiledData};

tachyfits_io::options! {
    /// Options for opening a file.
    #[derive(Clone, Debug, Default)]
    pub struct OpenOptions {
        /// Whether violations of the Standard are errors instead of warnings.
        pub strict: bool,
        /// Access method for the bytes.
        pub storage: StorageKind,
        /// Limits on the headers.
        pub limits: Limits,
        /// Storage of decompressed input: how much and where.
        pub spool: SpoolOptions,
        /// Whether tile-compressed images and tables appear as the binary tables that store them.
        pub raw: bool,
        /// Treatment of damaged tiles of compressed images. Damaged tiles of tables are an error.
        pub damaged: DamagedTiles,
    }
}

/// An image whose HDU was opened directly: see [`Image::at`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImageAt {
    /// The pixels.
    pub image: Image,
    /// The binary table of its compressed tiles, if it is compressed.
    pub table: Option<Arc<Hdu>>,
}

/// An HDU with compressed tiles, compressed and decompressed.
#[derive(Clone, Debug)]
pub(crate) struct Decompressed {
    /// The binary table in the file.
    stored: Arc<Hdu>,
    /// Storage of the decompressed HDU.
    pub(crate) storage: Arc<dyn Storage>,
    /// The decompressed table, which can leave columns out.
    table: Option<RestoredTable>,
    /// Warnings about tolerated faults of the compression.
    warnings: Vec<Warning>,
}

/// An open FITS file.
#[derive(Clone, Debug)]
pub struct FitsFile {
    storage: Arc<dyn Storage>,
    hdus: Vec<Arc<Hdu>>,
    /// Tables by HDU, once used: parsing a header again takes longer than finding a column.
    pub(crate) tables: Arc<[OnceLock<Table>]>,
    /// Decompressed HDUs, by number.
    decompressed: BTreeMap<usize, Decompressed>,
    warnings: Vec<Warning>,
    notices: Vec<Notice>,
    /// The computed image of the only HDU, if the file is computed.
    computed: Option<Arc<Computed>>,
}

/// Restricts decompression to content that is FITS.
pub fn for_fits(spool: SpoolOptions) -> SpoolOptions {
    spool.is_content(Some(begins_fits))
}

impl FitsFile {
    /// Opens a file by its name, or any other [`Source`]; gzip content is inflated.
    ///
    /// # Errors
    /// If the file cannot be read, its first HDU is not FITS, or, with `strict`, anything violates
    /// the Standard. A later HDU that cannot be read causes a warning: the HDUs before it stay
    /// readable.
    pub fn open(source: impl Into<Source>, options: &OpenOptions) -> Result<FitsFile, Error> {
        FitsFile::open_for(&source.into(), options, Purpose::Reading)
    }

    /// As [`FitsFile::open`], for a purpose.
    pub(crate) fn open_for(
        source: &Source,
        options: &OpenOptions,
        purpose: Purpose,
    ) -> Result<FitsFile, Error> {
        let source_options = SourceOptions::default()
            .kind(options.storage)
            .spool(for_fits(options.spool.clone()))
            .purpose(purpose);
        let walk = |storage| FitsFile::from_storage(storage, options);
        let (file, notices) =
            source.read(&source_options, OPEN_ATTEMPTS, Error::is_changed, walk)?;
        Ok(FitsFile { notices, ..file })
    }

    /// Opens the bytes of a file; gzip content is inflated.
    ///
    /// # Errors
    /// As [`FitsFile::open`].
    pub fn from_bytes(
        name: &str,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        options: &OpenOptions,
    ) -> Result<FitsFile, Error> {
        FitsFile::open(Source::bytes(name, bytes), options)
    }

    /// Opens a computed image as a file.
    pub(crate) fn computed(image: Arc<Computed>) -> Result<FitsFile, Error> {
        let file = FitsFile::made(ComputedData::storage(Arc::clone(&image))?)?;
        Ok(FitsFile { computed: Some(image), ..file })
    }

    /// Opens a file whose data are computed when they are read. No data are computed here, although
    /// headers are read in blocks, beyond their ends.
    pub(crate) fn made<D: MadeData + 'static>(storage: HduStorage<D>) -> Result<FitsFile, Error> {
        let storage = Arc::new(storage);
        let header = Arc::clone(&storage);
        let read = |offset, buffer: &mut [u8]| {
            header.read_header_at(offset, buffer);
            Ok(())
        };
        FitsFile::walked(storage, &OpenOptions::default(), read)
    }

    /// Opens the content of a storage, without decompression of the whole.
    ///
    /// # Errors
    /// As [`FitsFile::open`].
    pub fn from_storage(
        storage: Arc<dyn Storage>,
        options: &OpenOptions,
    ) -> Result<FitsFile, Error> {
        let bytes = Arc::clone(&storage);
        let mut ahead = ReadAhead::new(&*bytes);
        let read = |offset, buffer: &mut [u8]| ahead.read_exact_at(offset, buffer);
        let file = FitsFile::walked(storage, options, read)?;
        ahead.finish();
        Ok(file)
    }

    /// Finds the HDUs of a file; `read_at` fills a buffer with bytes from an offset on.
    fn walked(
        storage: Arc<dyn Storage>,
        options: &OpenOptions,
        mut read_at: impl FnMut(u64, &mut [u8]) -> Result<(), IoError>,
    ) -> Result<FitsFile, Error> {
        let read_options =
            ReadOptions::default().strict(options.strict).limits(options.limits.clone());
        let mut walker = Walker::new(read_options, storage.bytes());
        let mut hdus = Vec::new();
        let mut warnings = Vec::new();
        let mut buffer = Vec::new();
        loop {
            match walker.step() {
                Ok(Step::Read { offset, bytes }) => {
                    memory::resize(&mut buffer, bytes, 0, "a header")?;
                    read_at(offset, &mut buffer)?;
                    walker.supply(&buffer);
                }
                Ok(Step::Hdu(hdu)) => hdus.push(Arc::new(*hdu)),
                Ok(Step::Done) => break,
                Err(error) if error.code() == Code::NoMemory => {
                    return Err(Error::Format { file: storage.name().to_owned(), error });
                }
                Err(error) if hdus.is_empty() || options.strict => {
                    check_plain(&*storage)?;
                    return Err(Error::Format { file: storage.name().to_owned(), error });
                }
                Err(error) => {
                    warnings.push(Warning::from(error));
                    break;
                }
            }
        }
        warnings.splice(0..0, walker.warnings().iter().cloned());
        // Warnings about the meaning of pixels; an image with an error reports it when it is
        // requested.
        let pixels: Vec<_> =
            hdus.iter().flat_map(|hdu| hdu.image()).flat_map(|layout| layout.warnings).collect();
        if options.strict {
            let odd = pixels.first().cloned().map(FormatError::from);
            if let Some(error) = odd.or_else(|| oddity_of_tables(&hdus)) {
                return Err(Error::Format { file: storage.name().to_owned(), error });
            }
        }
        warnings.extend(pixels);
        let decompressed = match options.raw {
            true => BTreeMap::new(),
            false => decompressed(&storage, &mut hdus, &mut warnings, options.damaged)?,
        };
        let tables = hdus.iter().map(|_| OnceLock::new()).collect();
        let (notices, computed) = (Vec::new(), None);
        Ok(FitsFile { storage, hdus, tables, decompressed, warnings, notices, computed })
    }

    /// Name of the file: a path, or the name passed to [`FitsFile::from_bytes`].
    pub fn name(&self) -> &str {
        self.storage.name()
    }

    /// A text that changes with the content of the file; `None` if unknown.
    pub fn version(&self) -> Option<&str> {
        self.storage.id().version()
    }

    /// Size in bytes, decompressed.
    pub fn bytes(&self) -> u64 {
        self.storage.bytes()
    }

    /// Reads a range of bytes, decompressed. A computed file computes them.
    ///
    /// ```
    /// use tachyfits::{Array, Header, RunOptions};
    ///
    /// let file = Array::new(&[1i16, 2, 6], &[3]).to_file("three pixels", &Header::new())?;
    /// assert_eq!(file.read_bytes(2880..2884, &RunOptions::default())?, [0, 1, 0, 2]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the range exceeds the file, reading fails, or memory runs out.
    pub fn read_bytes(&self, range: Range<u64>, run: &RunOptions<'_>) -> Result<Vec<u8>, Error> {
        let what = "bytes of a file";
        let (end, length) = (range.end, range.end.saturating_sub(range.start));
        if end > self.bytes() {
            let expected = format!("a range within {} bytes", self.bytes());
            return Err(Error::refused(Reason::DataMissing, expected, format!("one up to {end}")));
        }
        let mut all = memory::with_room(length as usize, what)?;
        let copy = |_at, piece: &[u8]| Ok(memory::copied(piece, what)?);
        // Within the reserved room.
        each_piece(&*self.storage, range, run, copy, |piece| all.extend_from_slice(&piece))?;
        Ok(all)
    }

    /// Access method for the bytes: "auto", "positioned", "mapped", "direct" or "memory".
    pub fn storage(&self) -> &'static str {
        self.storage.kind()
    }

    /// Violations of the Standard.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Notices from opening the file, such as an interrupted edit that was undone.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The HDUs in file order; compressed images and tables appear decompressed, unless the file
    /// was opened with [`OpenOptions::raw`].
    pub fn hdus(&self) -> &[Arc<Hdu>] {
        &self.hdus
    }

    /// Returns an HDU.
    ///
    /// # Errors
    /// [`Reason::NoSuchHdu`].
    pub fn hdu(&self, index: usize) -> Result<&Arc<Hdu>, Error> {
        self.hdus.get(index).ok_or_else(|| {
            let expected = format!("an HDU from 0 to {}", self.hdus.len().saturating_sub(1));
            let refused = Error::refused(Reason::NoSuchHdu, expected, index.to_string());
            refused.at(self.name(), index)
        })
    }

    /// Returns an HDU as stored: for a compressed image or table, the binary table.
    ///
    /// # Errors
    /// [`Reason::NoSuchHdu`].
    pub fn stored_hdu(&self, index: usize) -> Result<&Arc<Hdu>, Error> {
        match self.decompressed.get(&index) {
            Some(decompressed) => Ok(&decompressed.stored),
            None => self.hdu(index),
        }
    }

    /// Returns the original primary header of a compressed image in HDU 1, with the cards of the
    /// empty HDU 0, and the keywords of those that have another value in the image; `None` if HDU 1
    /// is not such an image.
    ///
    /// # Errors
    /// If the cards do not define the image.
    pub fn restored_primary(&self) -> Result<Option<(Header, Vec<String>)>, Error> {
        let (Some(primary), Some(decompressed)) = (self.hdus.first(), self.decompressed.get(&1))
        else {
            return Ok(None);
        };
        if !decompressed.stored.is_tiled_image() {
            return Ok(None);
        }
        let format_error = |error| Error::Format { file: self.name().to_owned(), error };
        let restored = decompressed.stored.restored_header(Some(primary)).map_err(format_error)?;
        let mut header = restored.header;
        if let (None, Ok(Some(blank))) = (header.get("BLANK"), self.hdus[1].header.get_i64("BLANK"))
        {
            // BLANK is known only from the column ZBLANK.
            header.set("BLANK", blank, "pixel that is undefined").map_err(format_error)?;
        }
        Ok(restored.is_primary.then_some((header, restored.others)))
    }

    /// Returns an HDU, if the file has all of its data.
    pub(crate) fn hdu_with_data(&self, index: usize) -> Result<&Arc<Hdu>, Error> {
        let hdu = self.hdu(index)?;
        self.check_data(hdu)?;
        Ok(hdu)
    }

    /// Checks that the file has all data of an HDU.
    pub(crate) fn check_data(&self, hdu: &Hdu) -> Result<(), Error> {
        if hdu.data_bytes_present < hdu.data_bytes {
            let expected = format!("{} bytes of data", hdu.data_bytes);
            let found = format!("{} bytes, then the end of the file", hdu.data_bytes_present);
            let refused = Error::refused(Reason::DataMissing, expected, found);
            return Err(refused.at(self.name(), hdu.index));
        }
        Ok(())
    }

    /// Returns the image of an HDU. Random groups form one image, whose last axis counts the groups.
    ///
    /// # Errors
    /// If the HDU does not exist, it has no pixels, or its scaling keywords are not numbers.
    pub fn image(&self, index: usize) -> Result<Image, Error> {
        let hdu = self.hdu(index)?;
        if hdu.kind == HduKind::RandomGroups {
            return self.group_arrays(index);
        }
        let layout =
            hdu.image().map_err(|error| Error::Format { file: self.name().to_owned(), error })?;
        let companions = Companions::find(hdu, &self.hdus, |index| self.storage_of(index));
        let storage = Arc::clone(self.storage_of(index));
        let image = Image::new(storage, Arc::clone(hdu), layout, self.computed.clone());
        Ok(image.with_companions(companions))
    }

    /// Returns the header blocks of an HDU as stored in the file.
    ///
    /// # Errors
    /// If the HDU does not exist or reading fails.
    pub fn header_bytes(&self, index: usize) -> Result<Vec<u8>, Error> {
        let hdu = self.stored_hdu(index)?;
        let end = hdu.data_offset.min(self.bytes());
        let length = end.saturating_sub(hdu.header_offset) as usize;
        let mut bytes = memory::filled(length, 0, "a header")?;
        self.storage.read_exact_at(hdu.header_offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns the storage for the offsets of an HDU of [`FitsFile::hdus`].
    pub(crate) fn storage_of(&self, index: usize) -> &Arc<dyn Storage> {
        self.decompressed.get(&index).map_or(&self.storage, |decompressed| &decompressed.storage)
    }

    /// Returns the decompressor of an HDU of [`FitsFile::hdus`], if it is a compressed table.
    pub(crate) fn restored_table(&self, index: usize) -> Option<RestoredTable> {
        self.decompressed.get(&index)?.table.clone()
    }

    pub(crate) fn shared_bytes(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    pub(crate) fn bytes_of(&self) -> &dyn Storage {
        &*self.storage
    }
}

impl Image {
    /// Opens the image of HDU number `hdu`, from 0, whose header begins at `offset` of a storage,
    /// without reading other headers. For callers that already know the offset.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tachyfits::{Image, io::FileStorage};
    /// # let (folder, cards) = (tempfile::tempdir().unwrap(), ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 2", "END"]);
    /// # let path = folder.path().join("image.fits");
    /// # let mut bytes = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect::<Vec<u8>>();
    /// # bytes.resize(5760, b' ');
    /// # std::fs::write(&path, bytes).unwrap();
    /// let storage = Arc::new(FileStorage::open(&path)?);
    /// assert_eq!(Image::at(storage, 0, 0)?.image.axes(), [2]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no HDU at the offset, it has no pixels, or reading fails.
    pub fn at(storage: Arc<dyn Storage>, hdu: usize, offset: u64) -> Result<ImageAt, Error> {
        let mut walker = Walker::at(ReadOptions::default(), storage.bytes(), hdu, offset);
        let format_error = |error| Error::Format { file: storage.name().to_owned(), error };
        let stored = loop {
            match walker.step().map_err(format_error)? {
                Step::Read { offset, bytes } => {
                    let mut buffer = memory::filled(bytes, 0, "a header")?;
                    storage.read_exact_at(offset, &mut buffer)?;
                    walker.supply(&buffer);
                }
                Step::Hdu(hdu) => break Arc::new(*hdu),
                Step::Done => {
                    let refused =
                        Error::refused(Reason::NoSuchHdu, "an HDU", format!("none at {offset}"));
                    return Err(refused.at(storage.name(), hdu));
                }
            }
        };
        let on_damage = OnDamage::of(DamagedTiles::default());
        let (hdu, storage, table) =
            match decompressed_hdu(&storage, &stored, Tier::current(), on_damage) {
                None => (stored, Arc::clone(&storage), None),
                Some(result) => {
                    let (hdu, decompressed) = result.map_err(format_error)?;
                    (Arc::new(hdu), decompressed.storage, Some(decompressed.stored))
                }
            };
        let layout = hdu.image().map_err(format_error)?;
        Ok(ImageAt { image: Image::new(storage, hdu, layout, None), table })
    }
}

/// Replaces binary tables of compressed tiles with the images and tables that they store. A table
/// with invalid compression keywords stays, with a warning.
fn decompressed(
    storage: &Arc<dyn Storage>,
    hdus: &mut [Arc<Hdu>],
    warnings: &mut Vec<Warning>,
    damaged: DamagedTiles,
) -> Result<BTreeMap<usize, Decompressed>, Error> {
    let mut result = BTreeMap::new();
    for (index, stored) in hdus.iter_mut().enumerate() {
        if !stored.is_tiled_image() && !stored.is_compressed_table() {
            continue;
        }
        // Not earlier: headers can be read even if the vector tier is invalid.
        let tier = Tier::current();
        match decompressed_hdu(storage, stored, tier, OnDamage::of(damaged)) {
            None => {}
            Some(Ok((hdu, decompressed))) => {
                warnings.extend(decompressed.warnings.iter().cloned());
                *stored = Arc::new(hdu);
                result.insert(index, decompressed);
            }
            Some(Err(error)) if error.code() == Code::NoMemory => {
                return Err(Error::Format { file: storage.name().to_owned(), error });
            }
            Some(Err(error)) => warnings.push(Warning::from(error)),
        }
    }
    Ok(result)
}

/// Decompresses an HDU: returns the original HDU and its bytes; `None` if it is not compressed.
pub(crate) fn decompressed_hdu(
    storage: &Arc<dyn Storage>,
    stored: &Arc<Hdu>,
    tier: Tier,
    on_damage: OnDamage,
) -> Option<Result<(Hdu, Decompressed), FormatError>> {
    if stored.is_tiled_image() {
        Some(decompressed_image(storage, stored, tier, on_damage))
    } else if stored.is_compressed_table() {
        Some(decompressed_table(storage, stored, on_damage))
    } else {
        None
    }
}

/// Returns the name and version of a decompressed HDU.
fn decompressed_id(storage: &dyn Storage, stored: &Hdu, on_damage: &OnDamage) -> Id {
    let damage = if matches!(on_damage, OnDamage::Refuse) { "" } else { ", damaged" };
    let index = stored.index;
    let version = storage.id().version().map(|version| format!("{version}, {index}{damage}"));
    Id::new(storage.name().to_owned(), version)
}

/// Maximum bytes of the first row that are read for its ZBLANK: rows of tiles have a few columns.
const MOST_ROW_BYTES: u64 = 1 << 16;

/// Returns the original HDU of a compressed image, and the storage of its header and pixels.
fn decompressed_image(
    storage: &Arc<dyn Storage>,
    stored: &Arc<Hdu>,
    tier: Tier,
    on_damage: OnDamage,
) -> Result<(Hdu, Decompressed), FormatError> {
    let mut layout = stored.tiled_image()?;
    let mut header = stored.restored_header(None)?.header;
    if layout.blank_column.is_some() && !layout.states_blank() {
        // If the row cannot be read, reading the tile reports the error.
        let bytes = layout.table.row_bytes.min(stored.data_bytes_present).min(MOST_ROW_BYTES);
        // At most MOST_ROW_BYTES.
        let mut row = vec![0; bytes as usize];
        if storage.read_exact_at(layout.row_offset(0), &mut row).is_ok() {
            layout.take_blank_of_column(&row);
        }
        if let Some(blank) = layout.image.blank {
            header.set("BLANK", blank, "pixel that is undefined")?;
        }
    }
    let image = Hdu::of_header(header, stored.index)?;
    // ZPCOUNT and ZGCOUNT may claim bytes outside all tiles.
    image.image()?;
    let id = decompressed_id(&**storage, stored, &on_damage);
    let data = TiledData::new(CompressedImage::new(Arc::clone(storage), layout, tier, on_damage));
    let storage = Arc::new(HduStorage::new(id, image.header.to_bytes(), data));
    let stored = Arc::clone(stored);
    Ok((image, Decompressed { stored, storage, table: None, warnings: Vec::new() }))
}

/// Returns the original HDU of a compressed table, and the storage of its header, rows and arrays.
fn decompressed_table(
    storage: &Arc<dyn Storage>,
    stored: &Arc<Hdu>,
    on_damage: OnDamage,
) -> Result<(Hdu, Decompressed), FormatError> {
    let layout = stored.compressed_table()?;
    let warnings = layout.warnings.clone();
    let id = decompressed_id(&**storage, stored, &on_damage);
    let (hdu, table) = RestoredTable::new(id, Arc::clone(storage), layout, on_damage);
    let storage = table.storage(None);
    Ok((hdu, Decompressed { stored: Arc::clone(stored), storage, table: Some(table), warnings }))
}

/// Rejects content in an unsupported compression format, and names the format.
pub(crate) fn check_plain(storage: &dyn Storage) -> Result<(), IoError> {
    match compression_of(storage)? {
        Some(format) => {
            Err(IoError::Compressed { name: storage.name().to_owned(), format: format.name() })
        }
        None => Ok(()),
    }
}

/// Returns the first violation of the Standard in a table. A table with an error reports it when it
/// is requested, and warns about other faults then: a file may have very many.
fn oddity_of_tables(hdus: &[Arc<Hdu>]) -> Option<FormatError> {
    let layouts = hdus.iter().filter_map(|hdu| hdu.table().ok());
    let oddities = |layout: TableLayout| {
        // Unique names are only recommended (Standard 4.0, section 7.3.2).
        let warnings = layout.warnings.into_iter();
        let forbidden = warnings.filter(|warning| warning.code() != Code::DuplicateColumn);
        forbidden.map(FormatError::from).chain(layout.heap_error)
    };
    layouts.flat_map(oddities).next()
}
