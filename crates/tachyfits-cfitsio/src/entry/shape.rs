//! Kinds of functions that this library overrides.

use std::ffi::CStr;

use tachyfits::PixelType;

/// Order of a function's arguments, which also determines its purpose.
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
    /// A file is closed, and its descriptor with it.
    Close,
    /// `ffpscl`: sets the scaling of an image, with two doubles.
    Scale,
    /// `ffpnul`: sets the null value of an image.
    NullValue,
    /// `fits_img_decompress`: writes a compressed image as a plain one.
    Decompress,
    /// `ffpcks`: updates the checksums of an HDU.
    Checksum,
}

/// Calling convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// Arguments by value; counts have 64 bits.
    C,
    /// Arguments by reference; counts are 32-bit integers.
    Fortran,
    /// Arguments by reference; first elements and counts of images, and first rows and elements of columns, have 64
    /// bits.
    LongFortran,
}

/// Row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) name: &'static CStr,
    pub(super) shape: Shape,
    pub(super) caller: Caller,
    /// Type of the array; functions for any type read it from an argument.
    pub(super) kind: PixelType,
    /// Whether null elements are flagged instead of replaced.
    pub(super) flags: bool,
}

impl Entry {
    /// Returns the number of integers and pointers of a function, the last of which is the status. A null value is a
    /// float, or one of these.
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
