//! Typed access: reads pixels and columns as vectors of numbers, and accepts slices of numbers as arrays.

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{PixelType, Statistic};

use crate::array::Array;
use crate::error::{Error, Reason};
use crate::image::{Image, filled};
use crate::read_pixels::{OutputPixels, ReadAs};
use crate::region::Region;
use crate::section::Section;
use crate::statistic::Values;
use crate::table::{CellKind, ColumnInput, ColumnOutput, Rows, Table};

/// A number type that pixels and cells can be read as: an integer of 8 to 64 bits, f32 or f64.
pub trait NativeNumber: sealed::Bytes + Copy + Default {
    /// Pixel type of these numbers.
    const PIXEL: PixelType;
}

mod sealed {
    /// Conversion to bytes; sealed, so that no other type can implement [`super::NativeNumber`].
    pub trait Bytes: Sized {
        /// Returns the bytes of numbers.
        fn bytes(numbers: &[Self]) -> &[u8];
        /// Returns the writable bytes of numbers.
        fn bytes_mut(numbers: &mut [Self]) -> &mut [u8];
    }

    impl<T: bytemuck::Pod> Bytes for T {
        fn bytes(numbers: &[T]) -> &[u8] {
            bytemuck::cast_slice(numbers)
        }

        fn bytes_mut(numbers: &mut [T]) -> &mut [u8] {
            bytemuck::cast_slice_mut(numbers)
        }
    }
}

macro_rules! scalars {
    ($($type:ty, $pixel:ident;)+) => {
        $(impl NativeNumber for $type {
            const PIXEL: PixelType = PixelType::$pixel;
        })+
    };
}

scalars! { u8, U8; i8, I8; u16, U16; i16, I16; u32, U32; i32, I32; u64, U64; i64, I64; f32, F32; f64, F64; }

impl<'a> Array<'a> {
    /// Creates an array of pixels with these axes, in FITS order.
    pub fn new<T: NativeNumber>(pixels: &'a [T], axes: &'a [u64]) -> Array<'a> {
        Array { bytes: T::bytes(pixels), pixel: T::PIXEL, axes }
    }
}

impl<'a> ColumnInput<'a> {
    /// Creates an input of numbers without nulls.
    pub fn of<T: NativeNumber>(numbers: &'a [T]) -> ColumnInput<'a> {
        ColumnInput::new(T::bytes(numbers))
    }
}

impl Image {
    /// Reads a section as a vector, the section's first axis the fastest. Floats are physical
    /// values, NaN if undefined; integers are the pixels themselves, so that their type must match
    /// the pixels.
    ///
    /// ```
    /// use tachyfits::{Array, Header, RunOptions};
    /// let image = Array::new(&[1i16, 2, 3, 4, 5, 6], &[3, 2]).to_file("example", &Header::new())?.image(0)?;
    /// let (row, _) = image.read_vec::<i16>(&image.whole().with(1, 1)?, &RunOptions::default())?;
    /// let (column, _) = image.read_vec::<f32>(&image.whole().with(0, 0)?, &RunOptions::default())?;
    /// assert_eq!((row, column), (vec![4, 5, 6], vec![1.0, 4.0]));
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::PixelKind`] for pixels of another type; [`Reason::Memory`]; otherwise as [`Image::read`].
    pub fn read_vec<T: NativeNumber>(
        &self,
        section: &Section,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<T>, Report), Error> {
        let read_as = match T::PIXEL {
            PixelType::F32 => ReadAs::Float32,
            PixelType::F64 => ReadAs::Float64,
            _ => ReadAs::Exact,
        };
        let pixel = self.read_type(read_as)?;
        if pixel != T::PIXEL {
            let expected = format!("pixels of type {:?}", T::PIXEL);
            return Err(self.refused(Reason::PixelKind, expected, format!("{pixel:?}")));
        }
        self.check_section(section)?;
        let mut pixels: Vec<T> = filled(section.pixels(), T::default(), "pixels")?;
        let bytes = T::bytes_mut(&mut pixels);
        let out = match read_as {
            ReadAs::Float32 => OutputPixels::Float32(bytemuck::cast_slice_mut(bytes)),
            ReadAs::Float64 => OutputPixels::Float64(bytemuck::cast_slice_mut(bytes)),
            _ => OutputPixels::Bytes(bytes),
        };
        let report = self.read(section, read_as, out, options)?;
        Ok((pixels, report))
    }

    /// Reads a section as an array in NumPy's order, NAXIS1 last; otherwise as [`Image::read_vec`].
    /// Requires the feature `ndarray`.
    ///
    /// ```
    /// use tachyfits::{Array, Header, RunOptions};
    /// let image = Array::new(&[1i16, 2, 3, 4, 5, 6], &[3, 2]).to_file("example", &Header::new())?.image(0)?;
    /// let (pixels, _) = image.read_ndarray::<f32>(&image.whole().with(0, 1..3)?, &RunOptions::default())?;
    /// assert_eq!(pixels, ndarray::array![[2.0, 3.0], [5.0, 6.0]].into_dyn());
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Image::read_vec`].
    #[cfg(feature = "ndarray")]
    pub fn read_ndarray<T: NativeNumber>(
        &self,
        section: &Section,
        options: &RunOptions<'_>,
    ) -> Result<(ndarray::ArrayD<T>, Report), Error> {
        let (pixels, report) = self.read_vec(section, options)?;
        let shape: Vec<usize> =
            section.ranges().iter().rev().map(|range| range.count as usize).collect();
        // An image without axes has no pixels.
        let shape = if shape.is_empty() { vec![0] } else { shape };
        let array = ndarray::ArrayD::from_shape_vec(shape, pixels);
        Ok((array.expect("the section has as many pixels"), report))
    }

    /// Returns the spectrum of a region: a statistic of its pixels in each plane of NAXIS1 and
    /// NAXIS2, NaN if all are undefined.
    ///
    /// ```
    /// use tachyfits::{Array, Header, Region, RunOptions, Statistic};
    /// let cube = Array::new(&[1.0f32, 2.0, 3.0, 5.0], &[2, 1, 2]).to_file("example", &Header::new())?.image(0)?;
    /// let region = Region::rectangle(0.5, 0.0, 2.0, 1.0, 0.0)?;
    /// let (means, _) = cube.spectrum(&region, Statistic::MEAN, &RunOptions::default())?;
    /// assert_eq!(means, [1.5, 4.0]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Image::reduce`].
    pub fn spectrum(
        &self,
        region: &Region,
        statistic: Statistic,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<f64>, Report), Error> {
        let regions = std::slice::from_ref(region);
        let (mut reduced, report) =
            self.reduce(&[statistic], &[0, 1], &self.whole(), Some(regions), 0, options)?;
        let values = match reduced.values.pop() {
            Some(Values::Floats(values)) => values,
            Some(Values::Integers(values)) => values.iter().map(|&value| value as f64).collect(),
            None => Vec::new(),
        };
        Ok((values, report))
    }
}

impl Table {
    /// Reads a column as a vector: the elements of its cells, row after row. Scaled columns are
    /// f64, NaN if null; other numbers have their own type, and null integers are the stored TNULL.
    ///
    /// # Errors
    /// [`Reason::Column`]; [`Reason::ColumnKind`] for elements of another type and for
    /// variable-length columns; [`Reason::Memory`]; otherwise as [`Table::read`].
    pub fn read_column<T: NativeNumber>(
        &self,
        name: &str,
        rows: &Rows<'_>,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<T>, Report), Error> {
        let column = self.column(name)?;
        let cells = self.cells(column, false)?;
        if cells.kind != CellKind::Number(T::PIXEL) {
            let expected = format!("elements of type {:?} in column {name:?}", T::PIXEL);
            return Err(self.refused(Reason::ColumnKind, expected, format!("{:?}", cells.kind)));
        }
        let elements = rows.len().saturating_mul(cells.elements());
        let mut values: Vec<T> = filled(elements, T::default(), "a column")?;
        let report =
            self.read(&mut [ColumnOutput::new(column, T::bytes_mut(&mut values))], rows, options)?;
        Ok((values, report))
    }
}
