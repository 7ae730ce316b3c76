//! The kinds of functions that the library defines before CFITSIO does.

use std::ffi::CStr;

use tachyfits::PixelType;

/// The arguments of a function, in their order, and so what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `ffgpxv`, `ffgpxvll`: coordinates and a count, any type.
    Pixels,
    /// `ffgpv`: first pixel and count, any type.
    RunOfType,
    /// `ffgpve`: group, first pixel and count.
    Run,
    /// `ffgsv`: a section, any type.
    SectionOfType,
    /// `ffgsve`: a section of axes that the caller states.
    Section,
    /// `ffg2de`: a plane.
    Plane,
    /// `ffg3de`: a cube.
    Cube,
    /// `ffgcv`: a column, any type.
    ColumnOfType,
    /// `ffgcve`: a column.
    Column,
    /// A file is closed: its descriptor is too.
    Close,
    /// `ffpscl`: scaling of an image is set, by two doubles.
    Scale,
    /// `ffpnul`: the null value of an image is set.
    NullValue,
    /// `fits_img_decompress`: a compressed image is written as a plain one.
    Decompress,
    /// `ffpcks`: the sums of an HDU are updated.
    Checksum,
}

/// How a caller passes arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// By value; counts have 64 bits.
    C,
    /// By reference; counts are integers of 32 bits.
    Fortran,
    /// By reference; first elements and counts of images, first rows and elements of columns have 64 bits.
    LongFortran,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) name: &'static CStr,
    pub(super) shape: Shape,
    pub(super) caller: Caller,
    /// Type of the array; the argument says it where a function takes any type.
    pub(super) kind: PixelType,
    /// Whether null elements are marked, not replaced.
    pub(super) flags: bool,
}

impl Entry {
    /// How many integers and pointers a function has, the last of which is the status. A null value is a float, or one of
    /// them.
    pub(super) fn words(&self) -> usize {
        let all = match self.shape {
            Shape::Close | Shape::Scale | Shape::Checksum => 2,
            Shape::NullValue | Shape::Decompress => 3,
            Shape::Pixels | Shape::RunOfType | Shape::Run => 8,
            Shape::SectionOfType | Shape::Plane | Shape::Column => 9,
            Shape::ColumnOfType => 10,
            Shape::Section | Shape::Cube => 11,
        };
        let has_float = self.caller == Caller::C && self.kind.is_float() && !self.flags;
        all - usize::from(has_float)
    }
}
