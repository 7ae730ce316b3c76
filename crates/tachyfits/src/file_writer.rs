//! Writes new files: consecutive HDUs, the pixels of an image in any order from any thread. The
//! file gets its name last.

use std::path::Path;

use tachyfits_format::{
    Card, FormatError, HduKind, Header, NewImage, StoredType, Value, reserve_checksums,
};
use tachyfits_io::operation::RunOptions;
use tachyfits_io::{OutputFile, Report, SpoolFile, gzip};
use tachyfits_kernels::{OnesComplement, Tier};

use crate::byte_sums::{each_piece, update_checksums};
use crate::error::{Error, Reason};
use crate::file::{FitsFile, OpenOptions};
use crate::hdu_writer::HduWriter;
use crate::survival::{Survivors, hdu_bytes};
use crate::tiled::TileCompression;

tachyfits_io::options! {
    /// Options for writing an image.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct WriteOptions {
        /// Whether to replace an existing file.
        pub overwrite: bool,
        /// Whether to write DATASUM and CHECKSUM (Standard 4.0, section 4.4.2.7), computed while writing.
        pub checksum: bool,
        /// Whether to return only when the file survives a power failure.
        pub sync: bool,
        /// New encoding of the pixels; `None` keeps the present one.
        pub pixels: Option<NewPixels>,
        /// Tile compression of the image.
        pub compression: Option<TileCompression>,
        /// Whether to compress the complete file with gzip.
        pub gzip: bool,
    }
}

tachyfits_io::options! {
    /// Type and scaling of pixels to write.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct NewPixels {
        /// Type of a pixel; the unsigned conventions are separate types.
        pub pixel: tachyfits_kernels::PixelType,
        /// BSCALE and BZERO; only for the types that the Standard defines.
        pub scaling: Option<(f64, f64)>,
        /// BLANK, as the stored value, for integers.
        pub blank: Option<i64>,
    }
}

impl NewPixels {
    /// Creates pixels of a type, without scaling and BLANK.
    pub fn new(pixel: tachyfits_kernels::PixelType) -> NewPixels {
        NewPixels { pixel, scaling: None, blank: None }
    }
}

/// A new file of consecutive HDUs, which appears under its name when [`FileWriter::commit`] is called.
///
/// ```
/// use tachyfits::{Array, FileWriter, FitsFile, Header, OpenOptions, RunOptions, WriteOptions};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("two.fits");
/// let image = Array::new(&[1i16, 2, 6], &[3]).to_file("three pixels", &Header::new())?.image(0)?;
/// let mut file = FileWriter::create(&path, &WriteOptions::default())?;
/// image.write_into(&mut file, None, None, &RunOptions::default())?;
/// image.write_into(&mut file, None, None, &RunOptions::default())?;
/// file.commit()?;
/// let file = FitsFile::open(&path, &OpenOptions::default())?;
/// let kinds: Vec<_> = file.hdus().iter().map(|hdu| hdu.kind.as_str()).collect();
/// assert_eq!(kinds, ["primary", "image"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileWriter {
    output: Output,
    checksum: bool,
    sync: bool,
    tier: Tier,
    hdus: usize,
    /// Offset of the next HDU.
    end: u64,
}

/// Destination of the bytes.
#[derive(Debug)]
enum Output {
    /// A file that gets a name.
    Named(OutputFile),
    /// A file without a name, for reading.
    Spooled(SpoolFile),
    /// A file without a name, and the file for its gzip-compressed content.
    Compressed(SpoolFile, OutputFile),
}

impl FileWriter {
    /// Creates a file. Options for pixels apply only to images and are ignored here.
    ///
    /// ```
    /// use tachyfits::{Array, FileWriter, FitsFile, Header, OpenOptions, RunOptions, WriteOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("out.fits.gz");
    /// let mut file = FileWriter::create(&path, &WriteOptions::default().gzip(true))?;
    /// let array = Array::new(&[1i16, 2, 6], &[3]);
    /// array.write_into(&mut file, &Header::new(), None, None, &RunOptions::default())?;
    /// assert!(!path.exists());
    /// file.commit()?;
    /// let compressed = std::fs::read(&path)?;
    /// assert_eq!(compressed[..2], [0x1f, 0x8b]);
    /// let image = FitsFile::open(&path, &OpenOptions::default())?.image(0)?;
    /// let (sum, _report) = image.total(&image.whole(), &RunOptions::default())?;
    /// assert_eq!(sum.sum.value(), 9.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn create(path: impl AsRef<Path>, options: &WriteOptions) -> Result<FileWriter, Error> {
        let path = path.as_ref();
        let mut output = OutputFile::create(path, options.overwrite)?;
        if options.sync {
            output.flush_early()?;
        }
        if options.gzip {
            let content = SpoolFile::new(&path.display().to_string())?;
            let output = Output::Compressed(content, output);
            return FileWriter::begin(output, options.checksum, options.sync);
        }
        FileWriter::begin(Output::Named(output), options.checksum, options.sync)
    }

    /// Creates a temporary file without a name, which [`FileWriter::into_file`] opens; `name` is for messages.
    ///
    /// ```
    /// use tachyfits::FileWriter;
    ///
    /// let file = FileWriter::spooled("new HDUs", false)?.into_file()?;
    /// assert_eq!((file.name(), file.hdus().len()), ("new HDUs", 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`SpoolFile::new`].
    pub fn spooled(name: &str, checksum: bool) -> Result<FileWriter, Error> {
        FileWriter::begin(Output::Spooled(SpoolFile::new(name)?), checksum, false)
    }

    fn begin(output: Output, checksum: bool, sync: bool) -> Result<FileWriter, Error> {
        Ok(FileWriter { output, checksum, sync, tier: Tier::current(), hdus: 0, end: 0 })
    }

    /// Name of the file.
    pub fn name(&self) -> String {
        match &self.output {
            Output::Named(output) | Output::Compressed(_, output) => {
                output.path().display().to_string()
            }
            Output::Spooled(spool) => spool.name().to_owned(),
        }
    }

    /// Number of HDUs so far.
    pub fn hdus(&self) -> usize {
        self.hdus
    }

    /// Completes the file, which gets its name. A file without HDUs gets a primary one without data.
    ///
    /// # Errors
    /// As [`OutputFile::commit`].
    pub fn commit(mut self) -> Result<(), Error> {
        if self.hdus == 0 {
            self.begin_extension()?;
        }
        let output = match self.output {
            Output::Named(output) => output,
            Output::Compressed(content, mut output) => {
                gzip(&*content.finish()?, &mut output)?;
                output
            }
            Output::Spooled(_) => return Ok(()),
        };
        match self.sync {
            true => output.commit_durably()?,
            false => output.commit()?,
        }
        Ok(())
    }

    /// Completes the file, as [`FileWriter::commit`], and opens it.
    ///
    /// # Errors
    /// As [`FileWriter::commit`] and [`FitsFile::open`].
    pub fn into_file(self) -> Result<FitsFile, Error> {
        self.into_file_with(&OpenOptions::default())
    }

    /// Completes the file and opens it with other options, such as compressed HDUs as stored.
    ///
    /// # Errors
    /// As [`FileWriter::into_file`].
    pub fn into_file_with(mut self, options: &OpenOptions) -> Result<FitsFile, Error> {
        if self.hdus == 0 {
            self.begin_extension()?;
        }
        match self.output {
            Output::Spooled(spool) => FitsFile::from_storage(spool.finish()?, options),
            Output::Named(_) | Output::Compressed(..) => {
                let name = self.name();
                self.commit()?;
                FitsFile::open(name, options)
            }
        }
    }

    /// Writes the companions of an image after it.
    pub(crate) fn write_companions(&mut self, survivors: &Survivors) -> Result<(), Error> {
        for (header, data) in survivors.companions() {
            let mut header = header.clone();
            if self.checksum {
                let mut sum = OnesComplement::default();
                sum.accumulate(0, data, self.tier);
                self.format_error(reserve_checksums(&mut header))?;
                self.format_error(update_checksums(&mut header, sum, self.tier))?;
            }
            let bytes = hdu_bytes(&header, data)?;
            let end = self.end + bytes.len() as u64;
            self.reserve(end)?;
            self.write_all_at(self.end, &bytes)?;
            self.ended(end);
        }
        Ok(())
    }

    /// Copies an HDU as the next one, byte by byte, under `header`, which must have the same
    /// structure; bytes outside all cells and arrays are copied too. An array becomes the primary
    /// one or an IMAGE extension, as its position requires; random groups can only be the first
    /// HDU.
    ///
    /// # Errors
    /// [`crate::Reason::NoSuchHdu`], [`crate::Reason::DataMissing`] if the HDU is truncated, and if
    /// reading or writing fails.
    pub fn copy(
        &mut self,
        from: &FitsFile,
        index: usize,
        mut header: Header,
        run: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let hdu = from.hdu_with_data(index)?;
        match hdu.kind {
            HduKind::Primary | HduKind::Image => header = self.header_in_place(header)?,
            HduKind::RandomGroups if self.hdus == 0 => {}
            HduKind::RandomGroups => {
                let found = format!("{} HDUs before them", self.hdus);
                let expected = "random groups as the first HDU of a file";
                let refused = Error::refused(Reason::Output, expected, found);
                return Err(refused.at(from.name(), index));
            }
            _ => self.begin_extension()?,
        }
        self.state_sums(&mut header)?;
        let bytes = hdu.data_bytes;
        let writer = HduWriter::begin(self, &header, bytes)?;
        let report = each_piece(
            &**from.storage_of(index),
            hdu.data_offset..hdu.data_offset + bytes,
            run,
            |at, piece| writer.write(self, at, piece),
            |()| {},
        )?;
        let fill = if hdu.kind == HduKind::AsciiTable { b' ' } else { 0 };
        writer.finish(self, header, bytes, fill)?;
        Ok(report)
    }

    /// Writes an HDU without data (NAXIS = 0) with the cards of `carried` other than structure: a
    /// primary one, or an IMAGE extension.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_empty(&mut self, carried: &Header) -> Result<(), Error> {
        let (axes, stored) = (Vec::new(), StoredType::U8);
        let new = NewImage { axes, stored, scaling: None, blank: None, checksum: false };
        let mut header = self.format_error(new.header(carried))?;
        if header.get("EXTEND").is_none() && self.hdus == 0 {
            let extend = Card::new("EXTEND", true, "extensions may be present");
            header.push(self.format_error(extend)?);
        }
        let mut header = self.header_in_place(header)?;
        self.state_sums(&mut header)?;
        HduWriter::begin(self, &header, 0)?.finish(self, header, 0, 0)
    }

    /// Returns the header of an array as the next HDU: primary array or IMAGE extension. INHERIT is
    /// removed from a primary header (Sect. 4.4.2.6), and so are EXTEND = F and NEXTEND, because
    /// other HDUs may follow. Checksums are those of the new HDU.
    pub(crate) fn header_in_place(&self, header: Header) -> Result<Header, Error> {
        let header = match self.hdus {
            0 => header.into_primary(),
            _ => header.into_extension(),
        };
        let header = self.format_error(header.and_then(Header::with_mandatory_first))?;
        let mut header = header;
        if self.hdus == 0 {
            header.retain(|card| {
                let keyword = card.keyword().to_ascii_uppercase();
                let is_false = card.value() == Some(&Value::Logical(false));
                // NEXTEND counts the HDUs of another file.
                keyword != "INHERIT" && keyword != "NEXTEND" && !(keyword == "EXTEND" && is_false)
            });
        }
        self.state_sums(&mut header)?;
        Ok(header)
    }

    /// Removes checksums of another HDU, and reserves the cards of new ones if they are requested.
    fn state_sums(&self, header: &mut Header) -> Result<(), Error> {
        if self.checksum {
            let result = update_checksums(header, OnesComplement::default(), self.tier);
            return self.format_error(result);
        }
        header.retain(|card| {
            let keyword = card.keyword().to_ascii_uppercase();
            keyword != "DATASUM" && keyword != "CHECKSUM"
        });
        Ok(())
    }

    /// Ensures that the next HDU is not the first: writes a primary HDU without data if there is none.
    pub(crate) fn begin_extension(&mut self) -> Result<(), Error> {
        if self.hdus > 0 {
            return Ok(());
        }
        let mut header = Header::empty_primary();
        self.state_sums(&mut header)?;
        let bytes = header.to_bytes();
        self.write_all_at(0, &bytes)?;
        self.ended(bytes.len() as u64);
        Ok(())
    }

    /// Offset of the next HDU.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Counts a complete HDU that ends at `end`.
    pub(crate) fn ended(&mut self, end: u64) {
        self.hdus += 1;
        self.end = end;
    }

    pub(crate) fn tier(&self) -> Tier {
        self.tier
    }

    /// Whether to write DATASUM and CHECKSUM.
    pub(crate) fn updates_checksums(&self) -> bool {
        self.checksum
    }

    /// Reserves disk space up to a file size.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<(), Error> {
        match &mut self.output {
            Output::Named(output) => Ok(output.reserve(bytes)?),
            Output::Spooled(_) | Output::Compressed(..) => Ok(()),
        }
    }

    /// Writes at any offset, from any thread.
    pub(crate) fn write_all_at(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        match &self.output {
            Output::Named(output) => Ok(output.write_all_at(offset, bytes)?),
            Output::Spooled(spool) | Output::Compressed(spool, _) => {
                Ok(spool.write_all_at(offset, bytes)?)
            }
        }
    }

    pub(crate) fn format_error<T>(&self, result: Result<T, FormatError>) -> Result<T, Error> {
        result.map_err(|error| Error::Format { file: self.name(), error })
    }
}

/// Writer of an image as the next HDU of a file.
#[derive(Debug)]
pub(crate) struct ImageWriter<'a> {
    file: &'a mut FileWriter,
    hdu: HduWriter,
    header: Header,
    /// Bytes of a pixel.
    size: u64,
    data_bytes: u64,
}

impl ImageWriter<'_> {
    /// Begins an image, the first HDU or an extension, with a header for `new`; reserves space for the pixels.
    ///
    /// # Errors
    /// As [`OutputFile::reserve`].
    pub(crate) fn begin<'a>(
        file: &'a mut FileWriter,
        new: &NewImage,
        header: Header,
    ) -> Result<ImageWriter<'a>, Error> {
        let header = file.header_in_place(header)?;
        let size = new.stored.bytes() as u64;
        let data_bytes = new.axes.iter().product::<u64>() * size;
        let hdu = HduWriter::begin(file, &header, data_bytes)?;
        Ok(ImageWriter { file, hdu, header, size, data_bytes })
    }

    /// Offset of the pixels in the file, and the bytes of a pixel.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.hdu.data_begin(), self.size)
    }

    /// Writes encoded pixels from linear index `first` on, from any thread; each pixel must be written once.
    ///
    /// # Errors
    /// [`tachyfits_io::IoError::Write`].
    pub(crate) fn write(&self, first: u64, bytes: &[u8]) -> Result<(), Error> {
        self.hdu.write(self.file, first * self.size, bytes)
    }

    /// Ends the image, once all pixels are written.
    ///
    /// # Errors
    /// [`tachyfits_io::IoError::Write`].
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.hdu.finish(self.file, self.header, self.data_bytes, 0)
    }
}
