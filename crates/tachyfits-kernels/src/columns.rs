//! Columns of tables: from fields that lie in rows to contiguous columns, and back.
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
use crate::isa::{Cached, Stores, Streaming, Tier};
use crate::pixel::PixelType;
use runs::Turned;

pub mod digits;
pub(crate) mod runs;
pub mod transfer;
pub mod values;

/// Bytes of a field from which on it is swapped row by row in vector code.
const LONG_FIELD: usize = 32;

/// Where the fields of a column lie in the bytes of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The first byte of the first row's field.
    pub offset: usize,
    /// From one row to the next.
    pub stride: usize,
    /// Elements of a field.
    pub elements: usize,
}

/// Moves the fields of rows to a contiguous column in the machine's byte order, the unsigned conventions of `pixel`
/// applied; `out` says how many rows. The bits of floats are kept. Complex numbers are pairs of floats.
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
    // Swapping native bytes would flip first, so the flip mask is swapped beforehand.
    match size {
        1 => ways.go(rows, flip as u8, tier, out),
        2 => ways.go(rows, (flip as u16).to_be(), tier, out),
        4 => ways.go(rows, (flip as u32).to_be(), tier, out),
        _ => ways.go(rows, flip.to_be(), tier, out),
    }
}

/// As [`gather_fields`], past the caches, but for short fields of elements of 1 and 2 bytes.
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
/// [`gather_fields`]. Bytes between the fields are not touched.
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

/// Moves fields of `elements` bytes as they are; `out` says how many rows.
///
/// # Panics
/// As [`gather_fields`].
pub fn gather_field_bytes(rows: &[u8], fields: Fields, out: &mut [u8]) {
    let Some((ways, rows)) = fields.gathered(rows, out.len(), 1) else { return };
    ways.copy(rows, out);
}

/// Moves a contiguous column of fields of `elements` bytes to the rows, as they are.
///
/// # Panics
/// As [`gather_fields`].
pub fn scatter_field_bytes(values: &[u8], fields: Fields, rows: &mut [u8]) {
    let Some((count, run)) = fields.rows_in(values.len(), 1) else { return };
    let ways = Ways { from_stride: run, to_stride: fields.stride, run, count };
    ways.copy(values, &mut rows[fields.offset..]);
}

/// The bit that the conventions for unsigned integers and signed bytes flip.
fn sign_flip(pixel: PixelType) -> u64 {
    let flips = matches!(pixel, PixelType::I8 | PixelType::U16 | PixelType::U32 | PixelType::U64);
    u64::from(flips) << (8 * pixel.bytes() - 1)
}

impl Fields {
    /// The way of fields to a contiguous column of `bytes`, and the rows from the first field on; `None` without any.
    fn gathered<'a>(&self, rows: &'a [u8], bytes: usize, size: usize) -> Option<(Ways, &'a [u8])> {
        let (count, run) = self.rows_in(bytes, size)?;
        let ways = Ways { from_stride: self.stride, to_stride: run, run, count };
        Some((ways, &rows[self.offset..]))
    }

    /// How many rows a contiguous column of `bytes` has, and the bytes of a field; `None` without any.
    fn rows_in(&self, bytes: usize, size: usize) -> Option<(usize, usize)> {
        let run = self.elements.checked_mul(size).expect("a field fits in memory");
        if bytes == 0 || run == 0 {
            assert_eq!(bytes, 0, "fields without bytes make no column");
            return None;
        }
        assert!(bytes.is_multiple_of(run), "a whole number of fields");
        assert!(self.stride >= run, "fields do not overlap");
        Some((bytes / run, run))
    }
}

/// Runs of bytes that are moved from equally spaced places to others.
#[derive(Clone, Copy)]
pub(crate) struct Ways {
    from_stride: usize,
    to_stride: usize,
    run: usize,
    count: usize,
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

    /// Short fields go element by element in order, because streaming stores should fill one cache
    /// line after another.
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

    /// The same; runs without anything between them are one run.
    fn joined(self) -> Ways {
        let Ways { from_stride, to_stride, run, count } = self;
        if from_stride != run || to_stride != run {
            return self;
        }
        let run = run * count;
        Ways { from_stride: run, to_stride: run, run, count: 1 }
    }

    /// Both sides up to the end of the last run.
    fn cut<'a>(self, from: &'a [u8], to: &'a mut [u8]) -> (&'a [u8], &'a mut [u8]) {
        let last = self.count - 1;
        let to_end = last * self.to_stride + self.run;
        (&from[..last * self.from_stride + self.run], &mut to[..to_end])
    }

    /// Moves and converts the first element of each run.
    #[inline(always)]
    pub(crate) fn each<const BYTES: usize>(
        self,
        from: &[u8],
        to: &mut [u8],
        make: impl Fn([u8; BYTES]) -> [u8; BYTES],
        stores: impl Stores,
    ) {
        let Ways { from_stride, to_stride, count, .. } = self;
        // Said here so that the loop need not ask.
        assert!(from_stride >= BYTES && to_stride >= BYTES, "elements do not overlap");
        // The last run may end where the bytes do, not a stride later.
        let last = count - 1;
        let (from, last_from) = from.split_at(last * from_stride);
        let (to, last_to) = to.split_at_mut(last * to_stride);
        for (from, to) in from.chunks_exact(from_stride).zip(to.chunks_exact_mut(to_stride)) {
            put(from, to, &make, stores);
        }
        put(last_from, last_to, &make, stores);
    }
}

/// Moves the element at the beginning.
#[inline(always)]
fn put<const BYTES: usize>(
    from: &[u8],
    to: &mut [u8],
    make: &impl Fn([u8; BYTES]) -> [u8; BYTES],
    stores: impl Stores,
) {
    let (from, to) = (from.first_chunk(), to.first_chunk_mut());
    if let (Some(from), Some(to)) = (from, to) {
        stores.put(to, make(*from));
    }
}
