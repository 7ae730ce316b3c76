//! Writing images: the header first, pixels in any order from any thread, the name at the very end.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tachyfits_format::{Header, NewImage, padded};
use tachyfits_io::OutputFile;
use tachyfits_kernels::{OnesComplement, Tier};

use crate::checksum::state_sums;
use crate::error::Error;

/// How an image is written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WriteOptions {
    /// Replace an older file of the name.
    pub overwrite: bool,
    /// Write DATASUM and CHECKSUM (Standard 4.0, section 4.4.2.7), computed on the way.
    pub checksum: bool,
    /// Return only when the file survives a loss of power.
    pub sync: bool,
    /// What the pixels become; `None`: what they are.
    pub pixels: Option<NewPixels>,
}

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

/// A new file with one image.
#[derive(Debug)]
pub(crate) struct ImageWriter {
    output: OutputFile,
    header: Header,
    /// Bytes of a pixel.
    size: u64,
    begin: u64,
    data_bytes: u64,
    sync: bool,
    tier: Tier,
    sum: Option<Mutex<OnesComplement>>,
}

impl ImageWriter {
    /// Begins a file at `path`: the header is written, and room for the pixels made sure of.
    ///
    /// # Errors
    /// As [`OutputFile::create`] and [`OutputFile::reserve`].
    pub(crate) fn create(
        path: &Path,
        new: &NewImage,
        header: Header,
        options: &WriteOptions,
        tier: Tier,
    ) -> Result<ImageWriter, Error> {
        let size = new.stored.bytes() as u64;
        let data_bytes = new.axes.iter().product::<u64>() * size;
        let blocks = header.to_bytes();
        let mut output = OutputFile::create(path, options.overwrite)?;
        let begin = blocks.len() as u64;
        output.reserve(begin + padded(data_bytes))?;
        output.write_all(&blocks)?;
        let sum = options.checksum.then(Mutex::default);
        let sync = options.sync;
        Ok(ImageWriter { output, header, size, begin, data_bytes, sync, tier, sum })
    }

    /// Writes pixels, as they are to be in the file, from linear index `first` on; from any thread, each pixel once.
    ///
    /// # Errors
    /// [`tachyfits_io::IoError::Write`].
    pub(crate) fn write(&self, first: u64, bytes: &[u8]) -> Result<(), Error> {
        let offset = first * self.size;
        if let Some(sum) = &self.sum {
            let mut part = OnesComplement::default();
            part.accumulate(offset, bytes, self.tier);
            sum.lock().unwrap_or_else(PoisonError::into_inner).merge(part);
        }
        Ok(self.output.write_all_at(self.begin + offset, bytes)?)
    }

    /// Gives the file its name, once all pixels are written.
    ///
    /// # Errors
    /// As [`OutputFile::commit`].
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let fill = vec![0; (padded(self.data_bytes) - self.data_bytes) as usize];
        self.output.write_all_at(self.begin + self.data_bytes, &fill)?;
        if let Some(sum) = self.sum.take() {
            let data = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
            self.write_checksums(data)?;
        }
        match self.sync {
            true => self.output.commit_durably()?,
            false => self.output.commit()?,
        }
        Ok(())
    }

    /// Writes the header again, with the sums in it.
    fn write_checksums(&mut self, data: OnesComplement) -> Result<(), Error> {
        let stated = state_sums(&mut self.header, data, self.tier);
        let file = || self.output.path().display().to_string();
        stated.map_err(|error| Error::Format { file: file(), error })?;
        Ok(self.output.write_all_at(0, &self.header.to_bytes())?)
    }
}
