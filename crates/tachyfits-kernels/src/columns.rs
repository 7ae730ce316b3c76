//! Table columns: from fields in rows to contiguous columns, and back.
//!
//! A field is one or more contiguous elements, at the same offset in every row. One loop moves it
//! for both directions and all types of a size: elements are unsigned integers of 1, 2, 4 or 8
//! bytes, whose bytes are swapped and whose highest bit may be flipped (the unsigned conventions).
//! A short field is moved element by element, each element of the row in a loop over all rows.
//! Cache lines limit this loop, so rows should be in the first-level cache, where several columns
//! share them. A long field is swapped row by row, in vector code.
//!
//! Meanings of elements beyond their bytes (logical values, bits, text, nulls) are applied to the
//! contiguous column: see [`values`].

use crate::encode::Bits;
use crate::isa::{Cached, Streaming, Tier};
use crate::pixel::PixelType;
use runs::Turned;
use ways::{LONG_FIELD, Ways};

pub use ways::Fields;

pub mod digits;
pub(crate) mod runs;
pub mod transfer;
pub mod values;
pub(crate) mod ways;

/// Moves the fields of rows to a contiguous column in the machine's byte order, applying the unsigned conventions of
/// `pixel`. The length of `out` gives the number of rows. The bits of floats are kept. Complex numbers are pairs of
/// floats.
///
/// ```
/// use tachyfits_kernels::{Fields, PixelType, Tier, gather_fields};
/// // Rows of a byte and a 16-bit integer.
/// let rows = [7, 1, 2, 8, 1, 3];
/// let fields = Fields { offset: 1, stride: 3, elements: 1 };
/// let mut out = [0; 4];
/// gather_fields(&rows, fields, PixelType::I16, Tier::SCALAR, &mut out);
/// assert_eq!(out, [258i16.to_ne_bytes(), 259i16.to_ne_bytes()].concat()[..]);
/// ```
///
/// # Panics
/// If the rows do not hold the fields, fields overlap the next row, or `out` does not hold a whole
/// number of rows.
pub fn gather_fields(rows: &[u8], fields: Fields, pixel: PixelType, tier: Tier, out: &mut [u8]) {
    let flip = sign_flip(pixel);
    let size = pixel.bytes();
    let Some((ways, rows)) = fields.gathered(rows, out.len(), size) else { return };
    // Swapping native bytes would flip the wrong bit, so the flip mask is swapped beforehand.
    match size {
        1 => ways.go(rows, flip as u8, tier, out),
        2 => ways.go(rows, (flip as u16).to_be(), tier, out),
        4 => ways.go(rows, (flip as u32).to_be(), tier, out),
        _ => ways.go(rows, flip.to_be(), tier, out),
    }
}

/// Does the same as [`gather_fields`], bypassing the caches except for short fields with elements of 1 or 2 bytes.
///
/// # Panics
/// As [`gather_fields`].
pub fn stream_fields(
    rows: &[u8],
    fields: Fields,
    pixel: PixelType,
    tier: Tier,
    out: &mut [u8],
    stores: Streaming<'_>,
) {
    let flip = sign_flip(pixel);
    let size = pixel.bytes();
    let Some((ways, rows)) = fields.gathered(rows, out.len(), size) else { return };
    match size {
        1 => ways.stream(rows, flip as u8, tier, out, stores),
        2 => ways.stream(rows, (flip as u16).to_be(), tier, out, stores),
        4 => ways.stream(rows, (flip as u32).to_be(), tier, out, stores),
        _ => ways.stream(rows, flip.to_be(), tier, out, stores),
    }
}

/// Moves a contiguous column in native byte order to the fields of rows: the inverse of
/// [`gather_fields`]. Bytes between the fields stay unchanged.
///
/// # Panics
/// As [`gather_fields`].
pub fn scatter_fields(
    values: &[u8],
    fields: Fields,
    pixel: PixelType,
    tier: Tier,
    rows: &mut [u8],
) {
    let flip = sign_flip(pixel);
    let size = pixel.bytes();
    let Some((count, run)) = fields.rows_in(values.len(), size) else { return };
    let rows = &mut rows[fields.offset..];
    let ways = Ways { from_stride: run, to_stride: fields.stride, run, count };
    match size {
        1 => ways.go(values, flip as u8, tier, rows),
        2 => ways.go(values, flip as u16, tier, rows),
        4 => ways.go(values, flip as u32, tier, rows),
        _ => ways.go(values, flip, tier, rows),
    }
}

/// Copies fields of `elements` bytes to a contiguous column. The length of `out` gives the number of rows.
///
/// # Panics
/// As [`gather_fields`].
pub fn gather_field_bytes(rows: &[u8], fields: Fields, out: &mut [u8]) {
    let Some((ways, rows)) = fields.gathered(rows, out.len(), 1) else { return };
    ways.copy(rows, out);
}

/// Copies a contiguous column of fields of `elements` bytes to the rows.
///
/// # Panics
/// As [`gather_fields`].
pub fn scatter_field_bytes(values: &[u8], fields: Fields, rows: &mut [u8]) {
    let Some((count, run)) = fields.rows_in(values.len(), 1) else { return };
    let ways = Ways { from_stride: run, to_stride: fields.stride, run, count };
    ways.copy(values, &mut rows[fields.offset..]);
}

/// Returns the bit that the conventions for unsigned integers and signed bytes flip.
fn sign_flip(pixel: PixelType) -> u64 {
    let flips = matches!(pixel, PixelType::I8 | PixelType::U16 | PixelType::U32 | PixelType::U64);
    u64::from(flips) << (8 * pixel.bytes() - 1)
}

impl Ways {
    fn go<T: Bits>(self, from: &[u8], flip: T, tier: Tier, to: &mut [u8]) {
        let (from, to) = self.cut(from, to);
        if self.run >= LONG_FIELD {
            self.runs(Turned(flip), from, to, tier);
        } else {
            for at in (0..self.run).step_by(size_of::<T>()) {
                T::turn_each(self, &from[at..], flip, &mut to[at..], Cached);
            }
        }
    }

    /// Moves fields with streaming stores. Short fields go element by element, in order of address, because streaming
    /// stores should fill one cache line after another.
    fn stream<T: Bits>(
        self,
        from: &[u8],
        flip: T,
        tier: Tier,
        to: &mut [u8],
        stores: Streaming<'_>,
    ) {
        let ways = self.joined();
        let (from, to) = ways.cut(from, to);
        let size = size_of::<T>();
        if ways.run >= LONG_FIELD {
            return ways.stream_runs(Turned(flip), from, to, tier, stores);
        }
        if ways.run == size {
            return T::turn_each(ways, from, flip, to, stores);
        }
        let run = Ways { from_stride: size, to_stride: size, run: size, count: ways.run / size };
        for (from, to) in from.chunks(ways.from_stride).zip(to.chunks_mut(ways.to_stride)) {
            T::turn_each(run, &from[..ways.run], flip, &mut to[..ways.run], stores);
        }
    }

    fn copy(self, from: &[u8], to: &mut [u8]) {
        let (from, to) = self.cut(from, to);
        match self.run {
            1 => self.each(from, to, |byte: [u8; 1]| byte, Cached),
            2 => self.each(from, to, |bytes: [u8; 2]| bytes, Cached),
            4 => self.each(from, to, |bytes: [u8; 4]| bytes, Cached),
            8 => self.each(from, to, |bytes: [u8; 8]| bytes, Cached),
            run if run == self.from_stride && run == self.to_stride => to.copy_from_slice(from),
            run => {
                let runs = from.chunks(self.from_stride).zip(to.chunks_mut(self.to_stride));
                runs.for_each(|(from, to)| to[..run].copy_from_slice(&from[..run]));
            }
        }
    }
}
