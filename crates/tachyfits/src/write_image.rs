//! Writes an image, stored or computed, as a separate file: box by box, encoded on the way.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tachyfits_format::{FormatError, HduKind, Header};
use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{ByteOrder, Encoding, PixelType, encode_f64};

use crate::computed::{Computed, Feed, Window};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::file_writer::{FileWriter, ImageWriter, NewPixels, WriteOptions};
use crate::image::Image;
use crate::number::rounding;
use crate::stored_type::{holds, new_image, stored_type_of};
use crate::survival::Change;
use crate::tiled::{TileCompression, write_tiles};

impl Image {
    /// Writes the image as the primary array of a new file, which appears when it is complete.
    /// Pixels are copied bit for bit, unless `options` request another type; then values are
    /// scaled, rounded to the nearest (ties to even) and must fit.
    ///
    /// # Errors
    /// If the file exists and overwriting is not requested, it cannot be read or written, or
    /// [`Reason::ValueRange`] if a value cannot be represented. On error an existing file of that
    /// name is unchanged.
    pub fn write(
        &self,
        path: impl AsRef<Path>,
        options: &WriteOptions,
        run: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let path = path.as_ref();
        let mut file = FileWriter::create(path, options)?;
        let image = self.to_computed()?;
        let compression = options.compression.as_ref();
        let report =
            self.write_computed(&image, &mut file, options.pixels, compression, None, run)?;
        file.write_companions(image.survivors())?;
        file.commit()?;
        Ok(report)
    }

    /// Writes the image as the next HDU of a new file, the primary array or an IMAGE extension, as [`Image::write`].
    ///
    /// # Errors
    /// As [`Image::write`]; discard the file after an error.
    pub fn write_into(
        &self,
        file: &mut FileWriter,
        pixels: Option<NewPixels>,
        compression: Option<&TileCompression>,
        run: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        self.write_computed(&*self.to_computed()?, file, pixels, compression, None, run)
    }

    /// Writes the image as the next HDU of a new file under `header`, which describes the same
    /// pixels: the original primary header of a compressed image.
    ///
    /// # Errors
    /// As [`Image::write`]; discard the file after an error.
    pub fn write_restored_into(
        &self,
        header: Header,
        file: &mut FileWriter,
        run: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        self.write_computed(&*self.to_computed()?, file, None, None, Some(header), run)
    }

    /// Returns the HDUs that [`Image::write`] appends to the image, its tables; empty if there are none.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn companion_bytes(&self) -> Result<Vec<u8>, Error> {
        Ok(self.to_computed()?.survivors().companion_bytes()?)
    }

    /// Returns the image as a computed one; stored pixels are read from the file.
    fn to_computed(&self) -> Result<Arc<Computed>, Error> {
        match self.computed() {
            Some(computed) => Ok(computed),
            None => {
                let survivors = self.survivors(Change::Values)?;
                Computed::new(self.file_name().to_owned(), self.node()?, survivors)
            }
        }
    }

    fn write_computed(
        &self,
        image: &Computed,
        file: &mut FileWriter,
        pixels: Option<NewPixels>,
        compression: Option<&TileCompression>,
        restored: Option<Header>,
        run: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let from = image.node().encoding();
        let mut to = match pixels {
            Some(pixels) => check_new_pixels(pixels, &from).map_err(|error| self.place(error))?,
            None => from,
        };
        let stored = stored_type_of(to.pixel).0;
        let compression = match compression {
            Some(settings) => {
                settings.directed(&image.survivors().header, stored, image.node().axes())?
            }
            None => None,
        };
        if let Some(settings) = &compression {
            to = settings.encoding(to);
            let stored = stored_type_of(to.pixel).0;
            if let Some(blank) = to.blank.filter(|&blank| !holds(stored, blank)) {
                let expected = "BLANK that integers of PLIO_1 can have";
                return Err(self.refused(Reason::NewPixels, expected, blank.to_string()));
            }
        }
        let new = new_image(image.node().axes(), &to, file.updates_checksums());
        let header = match restored {
            Some(header) => header,
            None if to == from && self.is_stored_array() => self.hdu().header.clone(),
            None => self.format_error(new.header(&image.survivors().header))?,
        };
        let axes = image.node().axes();
        let largest = Mutex::new(0.0f64);
        let fill = |window: &Window, feed: &mut Feed<'_>, out: &mut [u8]| {
            if to == from {
                return Ok(image.node().fill(window, feed, out)?);
            }
            let error = self.encode(image, window, feed, &to, out)?;
            let mut largest = largest.lock().unwrap_or_else(PoisonError::into_inner);
            *largest = largest.max(error);
            Ok(())
        };
        if let Some(settings) = &compression {
            let result = write_tiles(image, (&new, header), &to, settings, file, run, &fill);
            return result.map_err(|error| self.place(error));
        }
        let writer = ImageWriter::begin(file, &new, header)?;
        let report = image.make(writer.place(), run, fill, |window, out| {
            let mut rest = out;
            for (first, count) in window.runs(axes) {
                let (run, later) = rest.split_at(count as usize * to.pixel_bytes());
                writer.write(first, run)?;
                rest = later;
            }
            Ok(())
        })?;
        writer.finish()?;
        let rounding = largest.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(report.with_rounding(rounding))
    }

    /// Whether the pixels are an array of the file, whose header is valid for a copy.
    fn is_stored_array(&self) -> bool {
        let is_array = matches!(self.hdu().kind, HduKind::Primary | HduKind::Image);
        self.computed().is_none() && is_array
    }

    /// Replaces cards of the image: `change` gets the cards that stay valid for any pixels on the grid.
    ///
    /// # Errors
    /// Errors of `change`, and if the file ends before its pixels.
    pub fn with_header(
        &self,
        change: impl FnOnce(&mut Header) -> Result<(), FormatError>,
    ) -> Result<FitsFile, Error> {
        let survivors = self.survivors(Change::Values)?.change(change);
        let survivors = self.format_error(survivors)?;
        FitsFile::computed(Computed::new(self.file_name().to_owned(), self.node()?, survivors)?)
    }

    /// Replaces the beam of each row of the table of beams, in the order of
    /// [`Image::channel_beams`]: major and minor axis and position angle, in degrees.
    ///
    /// # Errors
    /// If the file ends before its pixels, or a column of the table cannot store a number.
    pub fn with_channel_beams(&self, beams: &[[f64; 3]]) -> Result<FitsFile, Error> {
        let survivors = self.survivors(Change::Values)?.with_beams(beams);
        let survivors = self.format_error(survivors)?;
        FitsFile::computed(Computed::new(self.file_name().to_owned(), self.node()?, survivors)?)
    }

    /// Computes the values of a box and encodes them; returns the largest error of rounding to integers.
    fn encode(
        &self,
        image: &Computed,
        window: &Window,
        feed: &mut Feed<'_>,
        to: &Encoding,
        out: &mut [u8],
    ) -> Result<f64, Error> {
        let mut values = feed.scratch.f64s(window.pixels() as usize)?;
        image.node().values_f64(window, feed, &mut values)?;
        let lost = encode_f64(&values, to, feed.tier, out);
        let from = image.node().encoding();
        let error = if lost == 0 { rounding(&values, &from, out, to, feed.tier)? } else { 0.0 };
        feed.scratch.give_back_f64s(values);
        if lost == 0 {
            return Ok(error);
        }
        let first: Vec<String> = window.first.iter().map(|first| (first + 1).to_string()).collect();
        let among = format!("{} pixels from pixel ({}) on", window.pixels(), first.join(", "));
        Err(self.place(value_range(to, lost, &among)))
    }
}

/// Creates the error for values that an encoding cannot represent.
pub(crate) fn value_range(to: &Encoding, refused: u64, among: &str) -> Error {
    let (stored, _) = stored_type_of(to.pixel);
    let is_integer = to.blank.is_none() && !to.pixel.is_float();
    let blank = if is_integer { " (NaN needs BLANK)" } else { "" };
    let expected = format!("values that BITPIX = {} can hold{blank}", stored.bitpix());
    Error::refused(Reason::ValueRange, expected, format!("{refused} others among {among}"))
}

/// Returns the encoding of new pixels, if it is valid for values of the encoding `from`.
pub(crate) fn check_new_pixels(pixels: NewPixels, from: &Encoding) -> Result<Encoding, Error> {
    let NewPixels { pixel, scaling, blank } = pixels;
    let to = Encoding { pixel, order: ByteOrder::BigEndian, scaling, blank };
    let refused =
        |expected: &str, found: String| Err(Error::refused(Reason::NewPixels, expected, found));
    let (stored, flip) = stored_type_of(pixel);
    if let Some((scale, zero)) = scaling {
        if !scale.is_finite() || !zero.is_finite() || scale == 0.0 {
            let found = format!("BSCALE = {scale}, BZERO = {zero}");
            return refused("a finite BSCALE that is not 0, and a finite BZERO", found);
        }
        if flip.is_some() || pixel.is_float() {
            return refused("scaling of BITPIX 8, 16, 32 or 64", format!("scaled {pixel:?}"));
        }
    }
    if blank.is_some() && pixel.is_float() {
        return refused("BLANK for integers only (NaN serves floats)", format!("{pixel:?}"));
    }
    if let Some(blank) = blank.filter(|&blank| !holds(stored, blank)) {
        return refused("BLANK within the range of the stored integers", blank.to_string());
    }
    let wide = |pixel| matches!(pixel, PixelType::I64 | PixelType::U64);
    if wide(from.pixel) && wide(pixel) && to != *from {
        // Conversion through f64 would lose digits.
        let found = format!("{:?} as {pixel:?}, scaled or with another BLANK", from.pixel);
        return refused("64-bit integers written as they are, or as another type", found);
    }
    Ok(to)
}
