//! Requests: calls of reading functions, without their pointers.

use tachyfits::PixelType;
use tachyfits::strided::Encoding;

/// CFITSIO's own null values of floats, also used for flagged elements.
pub(crate) const NULL_SINGLE: f32 = -9.11912e-36;
pub(crate) const NULL_DOUBLE: f64 = -9.119_129_139_149_1e-36;

/// Position of the elements that a call reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A run of pixels: group, first pixel (from 1), number of pixels.
    Run { group: i64, first: i64, count: i64 },
    /// A run of pixels that begins at coordinates from 1.
    Pixels { first: Vec<i64>, count: i64 },
    /// A section: first and last pixel (from 1) and step of each axis, with the lengths of the axes if the caller
    /// states them.
    Section { group: i64, first: Vec<i64>, last: Vec<i64>, step: Vec<i64>, axes: Option<Vec<i64>> },
    /// Elements of a column: its number, the first row and the first element (from 1), number of elements.
    Column { column: i32, row: i64, element: i64, count: i64 },
}

impl Place {
    /// Returns the number of elements; `None` if the call is unusual.
    pub(crate) fn count(&self) -> Option<usize> {
        let count = match self {
            Place::Run { count, .. }
            | Place::Pixels { count, .. }
            | Place::Column { count, .. } => *count,
            Place::Section { first, last, step, .. } => {
                let mut count = 1i64;
                for ((&first, &last), &step) in first.iter().zip(last).zip(step) {
                    if step < 1 || first < 1 || last < first {
                        return None;
                    }
                    count = count.checked_mul((last - first) / step + 1)?;
                }
                count
            }
        };
        usize::try_from(count).ok().filter(|&count| count > 0)
    }
}

/// Requested treatment of undefined elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NullWish {
    /// Not checked: the null value is missing or 0.
    Ignore,
    /// Replaced by this value, given as the bits of an element in the lowest bytes.
    Value(u64),
    /// Flagged in an array of bytes.
    Flags,
}

/// A call of a reading function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) place: Place,
    /// Type of the caller's array.
    pub(crate) kind: PixelType,
    /// Whether the array has type `long`, which CFITSIO distinguishes from LONGLONG.
    pub(crate) is_long: bool,
    pub(crate) nulls: NullWish,
    /// Whether the run of pixels is a plane or a cube whose size the caller states.
    pub(crate) is_block: bool,
}

/// Status of a read in which numbers did not fit the type of the array.
const NUMBER_OVERFLOW: i32 = 412;

/// Result of a read, besides the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) any_null: bool,
    /// Whether a value did not fit the type of the array.
    pub(crate) overflow: bool,
    /// Bytes read from the file.
    pub(crate) bytes: u64,
}

impl Found {
    /// Returns the status of the call.
    pub(crate) fn status(self) -> i32 {
        if self.overflow { NUMBER_OVERFLOW } else { 0 }
    }
}

/// Whether every number fits the type of the array.
pub(crate) fn fits(encoding: &Encoding, kind: PixelType) -> bool {
    let range = |pixel: PixelType| {
        let bits = 8 * pixel.bytes() as u32;
        match pixel {
            PixelType::F32 | PixelType::F64 => None,
            PixelType::U8 | PixelType::U16 | PixelType::U32 | PixelType::U64 => {
                Some((0i128, (1i128 << bits) - 1))
            }
            _ => Some((-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)),
        }
    };
    match (range(kind), range(encoding.pixel)) {
        (None, _) => true,
        (Some(outer), Some(inner)) => {
            encoding.scaling.is_none() && outer.0 <= inner.0 && inner.1 <= outer.1
        }
        (Some(_), None) => false,
    }
}
