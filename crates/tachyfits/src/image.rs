//! The pixels of one HDU: their shape and meaning, and the execution of read plans.

use std::sync::Arc;

use tachyfits_format::{FormatError, Hdu, Header, ImageLayout, LinearAxis, StoredType, ValueType};
use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Fetched, PipelineOptions, Report, Storage, Tasks};
use tachyfits_kernels::{ByteOrder, Encoding, PixelType, Tier};
use tachyfits_memory::{self as memory, NoMemory};

use crate::computed::{Computed, Leaf, Node};
use crate::error::{Error, Reason};
use crate::lines::PixelBytes;
use crate::section::{AxisRange, Section};
use crate::survival::Companions;

/// The pixels of one HDU, read on request.
#[derive(Clone, Debug)]
pub struct Image {
    storage: Arc<dyn Storage>,
    hdu: Arc<Hdu>,
    layout: ImageLayout,
    /// Its computation, if it is computed.
    computed: Option<Arc<Computed>>,
    /// Its companion HDUs: see [`crate::survival`].
    companions: Companions,
}

impl Image {
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        hdu: Arc<Hdu>,
        layout: ImageLayout,
        computed: Option<Arc<Computed>>,
    ) -> Image {
        Image { storage, hdu, layout, computed, companions: Companions::default() }
    }

    /// Adds companion HDUs to the image.
    pub(crate) fn with_companions(self, companions: Companions) -> Image {
        Image { companions, ..self }
    }

    /// Companion HDUs of the image.
    pub(crate) fn companions(&self) -> &Companions {
        &self.companions
    }

    /// Storage of the bytes.
    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Returns the computation of the pixels, if they are computed.
    pub(crate) fn computed(&self) -> Option<Arc<Computed>> {
        self.computed.clone()
    }

    /// Adds the name of the file to an error.
    pub(crate) fn format_error<T>(&self, result: Result<T, FormatError>) -> Result<T, Error> {
        result.map_err(|error| Error::Format { file: self.file_name().to_owned(), error })
    }

    /// Whether the pixels belong to the same HDU of the same open file.
    pub(crate) fn is_same(&self, other: &Image) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage) && Arc::ptr_eq(&self.hdu, &other.hdu)
    }

    /// Returns the image as a node of computed images.
    pub(crate) fn node(&self) -> Result<Arc<dyn Node>, Error> {
        self.node_up_to(self.layout.pixels.checked_sub(1))
    }

    /// Returns the image as a node of which no pixel after `last_pixel` is used: the file may end after it.
    pub(crate) fn node_up_to(&self, last_pixel: Option<u64>) -> Result<Arc<dyn Node>, Error> {
        if let Some(computed) = &self.computed {
            return Ok(Arc::clone(computed.node()));
        }
        self.check_present(last_pixel)?;
        Ok(Arc::new(Leaf {
            storage: Arc::clone(&self.storage),
            axes: self.axes().to_vec(),
            pixels: self.pixel_bytes(),
            encoding: self.encoding(),
            groups: None,
        }))
    }

    /// Returns the cards that stay valid for other pixels on the same grid.
    pub(crate) fn carried_header(&self) -> Header {
        match &self.computed {
            Some(computed) => computed.survivors().header.clone(),
            None => self.hdu.carried_header(),
        }
    }

    /// Whether the pixels are truth values, 0 and 1: the result of a comparison in [`crate::evaluate`].
    pub fn is_logical(&self) -> bool {
        self.computed.as_ref().is_some_and(|computed| computed.node().is_logical())
    }

    /// Lengths of the axes in FITS order; empty without data.
    pub fn axes(&self) -> &[u64] {
        &self.layout.axes
    }

    /// Layout of the pixels.
    pub fn layout(&self) -> &ImageLayout {
        &self.layout
    }

    /// The HDU of the image.
    pub fn hdu(&self) -> &Hdu {
        &self.hdu
    }

    /// Name of the file.
    pub fn file_name(&self) -> &str {
        self.storage.name()
    }

    /// Type of a pixel with the unsigned and signed-byte conventions applied, before any scaling.
    pub fn pixel_type(&self) -> PixelType {
        let layout = &self.layout;
        if layout.scaled { plain_type(layout.stored) } else { pixel_type(layout.value) }
    }

    /// Type of a stored pixel, without conventions.
    pub fn stored_type(&self) -> PixelType {
        plain_type(self.layout.stored)
    }

    /// Returns the image with its numbers as stored, without BSCALE and BZERO.
    #[must_use]
    pub fn unscaled(&self) -> Image {
        let mut image = self.clone();
        image.layout.scaled = false;
        (image.layout.scale, image.layout.zero) = (1.0, 0.0);
        image.layout.value = match self.layout.stored {
            StoredType::U8 => ValueType::U8,
            StoredType::I16 => ValueType::I16,
            StoredType::I32 => ValueType::I32,
            StoredType::I64 => ValueType::I64,
            StoredType::F32 => ValueType::F32,
            StoredType::F64 => ValueType::F64,
        };
        image
    }

    /// Whether pixels need neither scaling nor BLANK.
    pub fn is_plain(&self) -> bool {
        !self.layout.scaled && self.layout.blank.is_none()
    }

    /// Returns a linear world axis.
    ///
    /// # Errors
    /// If the axis does not exist or its keywords are not numbers. `axis` is 0 for NAXIS1.
    pub fn linear_axis(&self, axis: usize) -> Result<LinearAxis, Error> {
        self.check_axis(axis)?;
        self.format_error(self.hdu.linear_axis(axis + 1))
    }

    /// Returns the same pixels as an image of one axis, in file order: a section is a run of
    /// pixels, defined by its first pixel and its length.
    ///
    /// ```
    /// use tachyfits::{Array, AxisRange, Header, RunOptions};
    /// let image = Array::new(&[1i16, 2, 3, 4, 5, 6], &[3, 2]).to_file("example", &Header::new())?.image(0)?;
    /// let line = image.flattened();
    /// let run = line.section(&[AxisRange { first: 2, count: 2, step: 1 }])?;
    /// assert_eq!(line.read_vec::<i16>(&run, &RunOptions::default())?.0, [3, 4]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    #[must_use]
    pub fn flattened(&self) -> Image {
        let mut flat = self.clone();
        flat.layout.axes = vec![self.layout.pixels];
        flat.computed = None;
        flat
    }

    /// Returns the section of all pixels.
    pub fn whole(&self) -> Section {
        Section::whole(self.axes())
    }

    /// Creates a section: one range per axis, in FITS order, of 0-based pixels.
    ///
    /// ```
    /// use tachyfits::{Array, AxisRange, Header, OutputPixels, ReadAs, RunOptions};
    /// // Five pixels: 0 10 20 30 40.
    /// let image = Array::new(&[0u8, 10, 20, 30, 40], &[5]).to_file("example", &Header::new())?.image(0)?;
    /// let backwards = image.section(&[AxisRange { first: 4, count: 3, step: -2 }])?;
    /// let mut pixels = [0.0; 3];
    /// let out = OutputPixels::Float64(&mut pixels);
    /// image.read(&backwards, ReadAs::Float64, out, &RunOptions::default())?;
    /// assert_eq!(pixels, [40.0, 20.0, 0.0]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Section`] unless every pixel is within the image.
    pub fn section(&self, ranges: &[AxisRange]) -> Result<Section, Error> {
        Section::new(self.axes(), ranges).map_err(|error| self.place(error))
    }

    /// Checks that a section, possibly created for another image, lies within this one.
    pub(crate) fn check_section(&self, section: &Section) -> Result<(), Error> {
        match section.is_of(self.axes()) {
            true => Ok(()),
            false => self.section(section.ranges()).map(drop),
        }
    }

    pub(crate) fn check_axis(&self, axis: usize) -> Result<(), Error> {
        let count = self.axes().len();
        if axis < count {
            return Ok(());
        }
        let expected = format!("an axis from 0 to {} (0 is NAXIS1)", count.saturating_sub(1));
        Err(self.refused(Reason::NoSuchAxis, expected, axis.to_string()))
    }

    pub(crate) fn refused(
        &self,
        reason: Reason,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        self.place(Error::refused(reason, expected, found))
    }

    /// Adds the file and the HDU to an error that lacks them.
    pub(crate) fn place(&self, error: Error) -> Error {
        error.at(self.file_name(), self.hdu.index)
    }

    /// Encoding of the pixels.
    pub(crate) fn encoding(&self) -> Encoding {
        Encoding {
            pixel: self.pixel_type(),
            order: ByteOrder::BigEndian,
            scaling: self.layout.scaled.then_some((self.layout.scale, self.layout.zero)),
            blank: self.layout.blank,
        }
    }

    pub(crate) fn pixel_bytes(&self) -> PixelBytes {
        let size = self.layout.stored.bytes() as u64;
        PixelBytes::of(&*self.storage, self.layout.data_offset, size)
    }

    /// Checks that the file contains this pixel.
    pub(crate) fn check_present(&self, last_pixel: Option<u64>) -> Result<(), Error> {
        let present = self.layout.pixels_present;
        match last_pixel {
            Some(last) if last >= present => {
                let size = self.layout.stored.bytes() as u64;
                let expected = format!(
                    "{} bytes of data up to the last requested pixel ({} of the whole image)",
                    (u128::from(last) + 1) * u128::from(size),
                    u128::from(self.layout.pixels) * u128::from(size),
                );
                let found = format!(
                    "{} bytes, {present} whole pixels, before the file ends",
                    self.hdu.data_bytes_present
                );
                Err(self.refused(Reason::DataMissing, expected, found))
            }
            _ => Ok(()),
        }
    }

    /// Whether the bytes of the pixels are in memory and need no reading.
    pub(crate) fn lends_bytes(&self) -> bool {
        let PixelBytes { offset, size, .. } = self.pixel_bytes();
        self.storage.slice(offset..offset + size).is_some()
    }

    /// Runs the tasks of a plan over `pixels` pixels.
    pub(crate) fn run<W, R: Send>(
        &self,
        tasks: &dyn Tasks,
        pixels: u64,
        options: &RunOptions<'_>,
        scratch: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, u64, &Fetched<'_>) -> Result<R, Error> + Sync,
        merge: impl FnMut(u64, R) -> Result<(), Error> + Send,
    ) -> Result<Report, Error> {
        self.run_with(|run| run, tasks, pixels, options, scratch, work, merge)
    }

    /// As [`Image::run`], with other options of the pipeline, which `set` sets.
    #[expect(clippy::too_many_arguments, reason = "those of `run`, and one")]
    pub(crate) fn run_with<W, R: Send>(
        &self,
        set: impl FnOnce(PipelineOptions<'_>) -> PipelineOptions<'_>,
        tasks: &dyn Tasks,
        pixels: u64,
        options: &RunOptions<'_>,
        scratch: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, u64, &Fetched<'_>) -> Result<R, Error> + Sync,
        merge: impl FnMut(u64, R) -> Result<(), Error> + Send,
    ) -> Result<Report, Error> {
        let total = pixels.saturating_mul(self.pixel_bytes().size);
        let progress = Progress { options: *options, total };
        let run = set(progress.run_options());
        tachyfits_io::run(&*self.storage, tasks, &run, scratch, work, merge)
    }
}

/// The vector tier in use.
pub(crate) fn tier() -> Tier {
    Tier::current()
}

/// Creates the error for a result that does not fit in memory.
pub(crate) fn no_memory(what: &'static str, bytes: u128) -> Error {
    NoMemory { what, bytes }.into()
}

/// Returns a vector of `count` copies, or an error if memory is short.
pub(crate) fn filled<T: Clone>(count: u64, value: T, what: &'static str) -> Result<Vec<T>, Error> {
    let refused = |_| no_memory(what, u128::from(count) * size_of::<T>() as u128);
    let length = usize::try_from(count).map_err(refused)?;
    Ok(memory::filled(length, value, what)?)
}

pub(crate) fn pixel_type(value: ValueType) -> PixelType {
    match value {
        ValueType::U8 => PixelType::U8,
        ValueType::I8 => PixelType::I8,
        ValueType::I16 => PixelType::I16,
        ValueType::U16 => PixelType::U16,
        ValueType::I32 => PixelType::I32,
        ValueType::U32 => PixelType::U32,
        ValueType::I64 => PixelType::I64,
        ValueType::U64 => PixelType::U64,
        ValueType::F32 => PixelType::F32,
        ValueType::F64 => PixelType::F64,
    }
}

/// Type of stored pixels, without conventions.
pub(crate) fn plain_type(stored: StoredType) -> PixelType {
    match stored {
        StoredType::U8 => PixelType::U8,
        StoredType::I16 => PixelType::I16,
        StoredType::I32 => PixelType::I32,
        StoredType::I64 => PixelType::I64,
        StoredType::F32 => PixelType::F32,
        StoredType::F64 => PixelType::F64,
    }
}
