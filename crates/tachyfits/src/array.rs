//! Arrays in memory as FITS images: written to a file, or opened as a file in memory.

use std::ops::Range;
use std::path::Path;

use tachyfits_format::{Header, padded};
use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{MemoryStorage, Report, Tasks};
use tachyfits_kernels::{Encoding, PixelType, Tier, decode_f64, encode_f64, encode_native};
use tachyfits_memory as memory;

use crate::error::{Error, Reason};
use crate::file::{FitsFile, OpenOptions};
use crate::file_writer::{FileWriter, ImageWriter, NewPixels, WriteOptions};
use crate::image::tier;
use crate::number::rounding;
use crate::stored_type::{holds, new_image, stored_type_of};
use crate::tiled::TileCompression;
use crate::write_image::{check_new_pixels, value_range};

/// Pixels encoded and written at a time.
const PIECE_PIXELS: u64 = 1 << 16;

/// Pixels in memory, in native byte order, contiguous, NAXIS1 fastest.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a> {
    /// The bytes of all pixels.
    pub bytes: &'a [u8],
    /// The type of a pixel.
    pub pixel: PixelType,
    /// Lengths of the axes in FITS order.
    pub axes: &'a [u64],
}

impl Array<'_> {
    /// Writes the array as the primary array of a new file, which appears when it is complete, with
    /// the cards of `header` other than structure and scaling. NaN becomes BLANK if integers are
    /// requested; integers that already have the requested type stay unchanged, so those equal to
    /// BLANK are undefined.
    ///
    /// ```
    /// use tachyfits::{Array, FitsFile, Header, OpenOptions, PixelType, RunOptions, WriteOptions};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("new.fits");
    /// let pixels: Vec<u8> = [1.0f32, 2.0, 6.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
    /// let array = Array { bytes: &pixels, pixel: PixelType::F32, axes: &[3] };
    /// array.write(&path, &Header::new(), &WriteOptions::default(), &RunOptions::default())?;
    /// let image = FitsFile::open(&path, &OpenOptions::default())?.image(0)?;
    /// let (sum, _report) = image.total(&image.whole(), &RunOptions::default())?;
    /// assert_eq!(sum.sum.value(), 9.0);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Output`] if the number of bytes does not match the axes; otherwise as [`crate::Image::write`].
    pub fn write(
        &self,
        path: impl AsRef<Path>,
        header: &Header,
        options: &WriteOptions,
        run: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let path = path.as_ref();
        let mut file = FileWriter::create(path, options)?;
        let compression = options.compression.as_ref();
        let report = self.write_into(&mut file, header, options.pixels, compression, run)?;
        file.commit()?;
        Ok(report)
    }

    /// Writes the pixels as the next HDU of a new file: the primary array, or an IMAGE extension.
    ///
    /// # Errors
    /// As [`Array::write`].
    pub fn write_into(
        &self,
        file: &mut FileWriter,
        header: &Header,
        pixels: Option<NewPixels>,
        compression: Option<&TileCompression>,
        run: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        self.check()?;
        if compression.is_some() {
            // Undefined integers already have the value of BLANK.
            let blank = pixels.filter(|&pixels| is_with_blank(pixels, self.pixel));
            let encoding = Encoding {
                blank: blank.and_then(|pixels| pixels.blank),
                ..Encoding::plain(self.pixel)
            };
            let image = self.file_of(&file.name(), header, &encoding)?.image(0)?;
            let pixels = pixels.filter(|_| blank.is_none());
            return image.write_into(file, pixels, compression, run);
        }
        let from = Encoding::plain(self.pixel);
        let to = match pixels {
            Some(pixels) if is_with_blank(pixels, self.pixel) => {
                Encoding { blank: pixels.blank, ..from }
            }
            Some(pixels) => check_new_pixels(pixels, &from)?,
            None => from,
        };
        let effective = if (Encoding { blank: None, ..to }) == from { from } else { to };
        let tier = file.tier();
        let new = new_image(self.axes, &to, file.updates_checksums());
        let header = file.format_error(new.header(header))?;
        let writer = ImageWriter::begin(file, &new, header)?;
        let pieces = Pieces { pixels: self.pixels(), size: from.pixel_bytes() as u64 };
        let progress = Progress { options: *run, total: self.bytes.len() as u64 };
        let mut largest = 0.0f64;
        let report = tachyfits_io::run(
            &MemoryStorage::new("an array", self.bytes),
            &pieces,
            &progress.run_options(),
            ArrayBuffers::default,
            |buffers, index, fetched| {
                let (out, error) = encode(fetched.piece(0), &from, &effective, tier, buffers)?;
                writer.write(index * PIECE_PIXELS, out)?;
                Ok(error)
            },
            |_index, error| {
                largest = largest.max(error);
                Ok::<(), Error>(())
            },
        )?;
        writer.finish()?;
        Ok(report.with_rounding(largest))
    }

    /// Returns the array as a FITS file in memory; `name` is for messages.
    ///
    /// # Errors
    /// As [`Array::write`], and if memory runs out.
    pub fn to_file(&self, name: &str, header: &Header) -> Result<FitsFile, Error> {
        self.file_of(name, header, &Encoding::plain(self.pixel))
    }

    /// Returns the array as a file whose pixels have this encoding; the bytes already have it.
    fn file_of(&self, name: &str, header: &Header, encoding: &Encoding) -> Result<FitsFile, Error> {
        self.check()?;
        let new = new_image(self.axes, encoding, false);
        let file = name.to_owned();
        let header = new.header(header).map_err(|error| Error::Format { file, error })?;
        let mut content = header.to_bytes();
        let data_bytes = self.bytes.len() as u64;
        let begin = content.len();
        let end = begin.saturating_add(padded(data_bytes) as usize);
        memory::resize(&mut content, end, 0, "a copy of the array")?;
        let pixels = &mut content[begin..begin + self.bytes.len()];
        encode_native(self.bytes, self.pixel, tier(), pixels);
        FitsFile::from_bytes(name, content, &OpenOptions::default())
    }

    fn pixels(&self) -> u64 {
        self.axes.iter().product()
    }

    fn check(&self) -> Result<(), Error> {
        let size = self.pixel.bytes() as u128;
        let expected = self.axes.iter().try_fold(size, |all, &axis| all.checked_mul(axis.into()));
        if expected == Some(self.bytes.len() as u128) && !self.axes.is_empty() {
            return Ok(());
        }
        let expected = format!("the bytes of {:?} pixels of axes {:?}", self.pixel, self.axes);
        Err(Error::refused(Reason::Output, expected, format!("{} bytes", self.bytes.len())))
    }
}

/// Whether the only change is that an integer now means undefined.
fn is_with_blank(pixels: NewPixels, own: PixelType) -> bool {
    let NewPixels { pixel, scaling, blank } = pixels;
    let (stored, _) = stored_type_of(pixel);
    pixel == own && scaling.is_none() && blank.is_some_and(|blank| holds(stored, blank))
}

/// Buffers of a worker, reused for each piece.
#[derive(Default)]
struct ArrayBuffers {
    big_endian: Vec<u8>,
    values: Vec<f64>,
    out: Vec<u8>,
}

/// Encodes native pixels, bit for bit if the types are equal; also returns the largest error of rounding to integers.
fn encode<'b>(
    bytes: &[u8],
    from: &Encoding,
    to: &Encoding,
    tier: Tier,
    buffers: &'b mut ArrayBuffers,
) -> Result<(&'b [u8], f64), Error> {
    let ArrayBuffers { big_endian, values, out } = buffers;
    memory::resize(big_endian, bytes.len(), 0, "pixels of the array")?;
    encode_native(bytes, from.pixel, tier, big_endian);
    if to == from {
        return Ok((big_endian, 0.0));
    }
    let pixels = bytes.len() / from.pixel_bytes();
    memory::resize(values, pixels, 0.0, "pixels of the array")?;
    decode_f64(big_endian, from, tier, values);
    memory::resize(out, pixels * to.pixel_bytes(), 0, "pixels of the array")?;
    match encode_f64(values, to, tier, out) {
        0 => {
            let error = rounding(values, from, out, to, tier)?;
            Ok((out, error))
        }
        lost => Err(value_range(to, lost, &format!("{pixels} pixels of the array"))),
    }
}

/// Tasks: the pixels of an array, piece by piece.
struct Pieces {
    pixels: u64,
    size: u64,
}

impl Tasks for Pieces {
    fn len(&self) -> u64 {
        self.pixels.div_ceil(PIECE_PIXELS)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let first = index * PIECE_PIXELS;
        let end = self.pixels.min(first + PIECE_PIXELS);
        ranges.push(first * self.size..end * self.size);
    }
}
