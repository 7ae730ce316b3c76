//! Writing new files: consecutive HDUs, the pixels of an image in any order from any thread, the
//! name at the very end.

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
    /// How an image is written.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct WriteOptions {
        /// Replace an older file of the name.
        pub overwrite: bool,
        /// Write DATASUM and CHECKSUM (Standard 4.0, section 4.4.2.7), computed on the way.
        pub checksum: bool,
        /// Return only when the file survives a loss of power.
        pub sync: bool,
        /// New encoding of the pixels; `None` keeps theirs.
        pub pixels: Option<NewPixels>,
        /// Compress an image in tiles.
        pub compression: Option<TileCompression>,
        /// Compress the whole file by gzip when it is complete.
        pub gzip: bool,
    }
}

tachyfits_io::options! {
    /// The type and scaling of pixels to be written.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct NewPixels {
        /// The type of a pixel; the unsigned conventions are types of their own.
        pub pixel: tachyfits_kernels::PixelType,
        /// BSCALE and BZERO; for the types of the Standard's own only.
        pub scaling: Option<(f64, f64)>,
        /// BLANK, as the stored value, for integers.
        pub blank: Option<i64>,
    }
}

impl NewPixels {
    /// Pixels of a type, without scaling and BLANK.
    pub fn new(pixel: tachyfits_kernels::PixelType) -> NewPixels {
        NewPixels { pixel, scaling: None, blank: None }
    }
}

/// A new file of consecutive HDUs, which appears under its name when [`FileWriter::commit`] is
/// called.
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
    /// Where the next HDU begins.
    end: u64,
}

/// Where the bytes go.
#[derive(Debug)]
enum Output {
    /// A file that gets a name.
    Named(OutputFile),
    /// A file without a name, to be read at once.
    Spooled(SpoolFile),
    /// A file without a name, and the one that gets its bytes compressed by gzip.
    Compressed(SpoolFile, OutputFile),
}

impl FileWriter {
    /// Begins a file. The options of pixels are for images alone and not used here.
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

    /// Begins a temporary file without a name, which [`FileWriter::into_file`] opens; `name` is for
    /// messages.
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

    /// The file's name.
    pub fn name(&self) -> String {
        match &self.output {
            Output::Named(output) | Output::Compressed(_, output) => {
                output.path().display().to_string()
            }
            Output::Spooled(spool) => spool.name().to_owned(),
        }
    }

    /// How many HDUs it has so far.
    pub fn hdus(&self) -> usize {
        self.hdus
    }

    /// Gives the file its name. A file without HDUs gets a primary one without data.
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

    /// Completes the file, as [`FileWriter::commit`] does, and opens it.
    ///
    /// # Errors
    /// As [`FileWriter::commit`] and [`FitsFile::open`].
    pub fn into_file(self) -> Result<FitsFile, Error> {
        self.into_file_with(&OpenOptions::default())
    }

    /// The same, opened in another way: compressed HDUs as they are stored, for one.
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

    /// Copies an HDU as the next one, byte by byte, under `header`, whose structure is that of the
    /// HDU: bytes that no cell and no array has are copied too. An array becomes the primary one or
    /// an IMAGE extension, as its place demands; random groups can be the first HDU only.
    ///
    /// # Errors
    /// [`crate::Reason::NoSuchHdu`], [`crate::Reason::DataMissing`] if the HDU is cut short, and if reading or writing fails.
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

    /// Writes an HDU without data (NAXIS = 0) with the cards of `carried` that are not about structure: a primary one, or an
    /// IMAGE extension.
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

    /// The header of an array as the next HDU: that of the primary array, or of an IMAGE extension. INHERIT is for
    /// extensions alone (Sect. 4.4.2.6), and others may follow a primary HDU that had none. Sums are those of the new HDU.
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

    /// Leaves out sums of another HDU, and makes room for those of this one if they are to be stated.
    fn state_sums(&self, header: &mut Header) -> Result<(), Error> {
        if self.checksum {
            let stated = update_checksums(header, OnesComplement::default(), self.tier);
            return self.format_error(stated);
        }
        header.retain(|card| {
            let keyword = card.keyword().to_ascii_uppercase();
            keyword != "DATASUM" && keyword != "CHECKSUM"
        });
        Ok(())
    }

    /// Makes sure that the next HDU is not the first: writes a primary HDU without data if there is none.
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

    /// The next HDU begins here.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Another HDU is complete, which ends here.
    pub(crate) fn ended(&mut self, end: u64) {
        self.hdus += 1;
        self.end = end;
    }

    pub(crate) fn tier(&self) -> Tier {
        self.tier
    }

    /// DATASUM and CHECKSUM are to be stated.
    pub(crate) fn updates_checksums(&self) -> bool {
        self.checksum
    }

    /// Sets room aside up to a size of the file.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<(), Error> {
        match &mut self.output {
            Output::Named(output) => Ok(output.reserve(bytes)?),
            Output::Spooled(_) | Output::Compressed(..) => Ok(()),
        }
    }

    /// Writes anywhere, from any thread.
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

/// An image that is being written as the next HDU of a file.
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
    /// Begins an image: the first HDU, or an extension, with a header of `new`. Reserves space for the pixels.
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

    /// At which byte of the file the pixels begin, and how many bytes each has.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.hdu.data_begin(), self.size)
    }

    /// Writes pixels, as they are to be in the file, from linear index `first` on; from any thread, each pixel once.
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
