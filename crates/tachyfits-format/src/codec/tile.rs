//! A tile and its codec: the trait of all codecs, their pixels, and scratch memory.
//!
//! A codec handles one stream and the true shape of its tile. It has no access to files or HDUs: `CodecError::at` adds
//! them.

use super::codec_error::CodecError;
use super::inflate::Inflater;
use super::wavelet::Planes;
use crate::hdu::StoredType;
use std::any::Any;
use std::num::Wrapping;

/// Compresses and decompresses tiles of one image or column.
///
/// Implements [`Any`], so that a caller can use its own batch decoder for some codecs.
pub trait TileCodec: Any + Send + Sync + std::fmt::Debug {
    /// Value of ZCMPTYPE that is written.
    fn name(&self) -> &'static str;

    /// ZNAMEi and ZVALi that are written.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Whether decoding restores the encoded pixels exactly.
    fn is_lossless(&self) -> bool {
        true
    }

    /// Maximum number of pixels in a stream of this many bytes, so that no memory is allocated for a stream that is too
    /// short. The default is unlimited: a few bytes of HCOMPRESS_1 can encode any number of equal pixels.
    fn most_pixels(&self, stream_bytes: u64) -> u64 {
        let _ = stream_bytes;
        u64::MAX
    }

    /// Decodes one tile into its pixels. After an error the pixels have unspecified values.
    ///
    /// # Errors
    /// [`crate::Code::TileStream`] if the stream is damaged, [`crate::Code::TileValue`] if the pixels cannot hold its numbers,
    /// [`crate::Code::NoMemory`].
    fn decode(&self, tile: &mut Tile<'_>, scratch: &mut CodecScratch) -> Result<(), CodecError>;

    /// Encodes a tile and appends the stream to `out`.
    ///
    /// # Errors
    /// [`crate::Code::TileValue`] if the codec cannot encode pixels of this type, shape or value.
    fn encode(
        &self,
        tile: &PlainTile<'_>,
        scratch: &mut CodecScratch,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError>;
}

/// One tile to be decoded.
#[derive(Debug)]
pub struct Tile<'a> {
    /// The compressed bytes.
    pub stream: &'a [u8],
    /// True shape in FITS order, fastest first: a tile at an edge contains only existing pixels.
    pub shape: &'a [u64],
    /// Destination of the pixels, as many as the shape has.
    pub pixels: PixelsMut<'a>,
}

/// One tile to be encoded.
#[derive(Clone, Copy, Debug)]
pub struct PlainTile<'a> {
    /// True shape in FITS order, fastest first.
    pub shape: &'a [u64],
    /// Pixels of the tile, as many as the shape has.
    pub pixels: Pixels<'a>,
}

/// Pixels of one BITPIX type, in the machine's byte order.
#[derive(Clone, Copy, Debug)]
pub enum Pixels<'a> {
    /// BITPIX = 8.
    U8(&'a [u8]),
    /// BITPIX = 16.
    I16(&'a [i16]),
    /// BITPIX = 32.
    I32(&'a [i32]),
    /// BITPIX = 64.
    I64(&'a [i64]),
    /// BITPIX = -32.
    F32(&'a [f32]),
    /// BITPIX = -64.
    F64(&'a [f64]),
}

/// Memory for pixels of one BITPIX type, in the machine's byte order.
#[derive(Debug)]
pub enum PixelsMut<'a> {
    /// BITPIX = 8.
    U8(&'a mut [u8]),
    /// BITPIX = 16.
    I16(&'a mut [i16]),
    /// BITPIX = 32.
    I32(&'a mut [i32]),
    /// BITPIX = 64.
    I64(&'a mut [i64]),
    /// BITPIX = -32.
    F32(&'a mut [f32]),
    /// BITPIX = -64.
    F64(&'a mut [f64]),
}

/// Expands to the same expression for each pixel type.
macro_rules! each_type {
    ($kind:ident, $pixels:expr, $slice:ident => $body:expr) => {
        match $pixels {
            $kind::U8($slice) => $body,
            $kind::I16($slice) => $body,
            $kind::I32($slice) => $body,
            $kind::I64($slice) => $body,
            $kind::F32($slice) => $body,
            $kind::F64($slice) => $body,
        }
    };
}

impl Pixels<'_> {
    /// Number of pixels.
    #[must_use]
    pub fn len(&self) -> usize {
        each_type!(Pixels, self, slice => slice.len())
    }

    /// Whether there are no pixels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Type that corresponds to BITPIX.
    #[must_use]
    pub const fn stored(&self) -> StoredType {
        match self {
            Pixels::U8(_) => StoredType::U8,
            Pixels::I16(_) => StoredType::I16,
            Pixels::I32(_) => StoredType::I32,
            Pixels::I64(_) => StoredType::I64,
            Pixels::F32(_) => StoredType::F32,
            Pixels::F64(_) => StoredType::F64,
        }
    }
}

impl PixelsMut<'_> {
    /// Number of pixels.
    #[must_use]
    pub fn len(&self) -> usize {
        each_type!(PixelsMut, self, slice => slice.len())
    }

    /// Whether there are no pixels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Type that corresponds to BITPIX.
    #[must_use]
    pub const fn stored(&self) -> StoredType {
        match self {
            PixelsMut::U8(_) => StoredType::U8,
            PixelsMut::I16(_) => StoredType::I16,
            PixelsMut::I32(_) => StoredType::I32,
            PixelsMut::I64(_) => StoredType::I64,
            PixelsMut::F32(_) => StoredType::F32,
            PixelsMut::F64(_) => StoredType::F64,
        }
    }

    /// Stores integers; returns the first that the type cannot represent as an error.
    pub(super) fn put<T: Copy + Into<i64>>(&mut self, values: &[T]) -> Result<(), Misfit> {
        match self {
            PixelsMut::U8(out) => narrow(values, out, |value| value as u8, |pixel| pixel.into()),
            PixelsMut::I16(out) => narrow(values, out, |value| value as i16, |pixel| pixel.into()),
            PixelsMut::I32(out) => narrow(values, out, |value| value as i32, |pixel| pixel.into()),
            PixelsMut::I64(out) => narrow(values, out, |value| value, |pixel| pixel),
            PixelsMut::F32(_) | PixelsMut::F64(_) => Err(Misfit::Float),
        }
    }
}

/// Why integers cannot be stored as pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// A value out of range.
    Value { index: usize, value: i64 },
    /// The pixels are floating-point numbers.
    Float,
}

fn narrow<T: Copy + Into<i64>, P: Copy>(
    values: &[T],
    out: &mut [P],
    cut: impl Fn(i64) -> P,
    widen: impl Fn(P) -> i64,
) -> Result<(), Misfit> {
    let mut lost = false;
    for (&value, out) in values.iter().zip(&mut *out) {
        let value = value.into();
        *out = cut(value);
        lost |= widen(*out) != value;
    }
    if !lost {
        return Ok(());
    }
    let wide = |&value: &T| -> i64 { value.into() };
    let loss = values.iter().map(wide).enumerate().find(|&(_, value)| widen(cut(value)) != value);
    let (index, value) = loss.expect("one was lost");
    Err(Misfit::Value { index, value })
}

impl Misfit {
    /// Converts to the error of a tile with pixels of type `stored`.
    pub(super) fn error(self, stored: StoredType) -> CodecError {
        let expected = format!("numbers that pixels of BITPIX {} can hold", stored.bitpix());
        match self {
            Misfit::Value { index, value } => CodecError::value(
                expected,
                format!("{value} at pixel {index} (0-based) of the tile"),
            ),
            Misfit::Float => {
                CodecError::value("integer pixels", format!("BITPIX {}", stored.bitpix()))
            }
        }
    }
}

/// Memory that codecs reuse from tile to tile. Each thread needs its own.
#[derive(Debug, Default)]
pub struct CodecScratch {
    pub(super) bytes: Vec<u8>,
    pub(super) more_bytes: Vec<u8>,
    pub(super) shorts: Vec<i16>,
    pub(super) ints: Vec<i32>,
    pub(super) narrow_planes: Planes<Wrapping<i32>>,
    pub(super) wide_planes: Planes<Wrapping<i64>>,
    pub(super) inflater: Inflater,
}

impl CodecScratch {
    /// Creates empty scratch memory.
    #[must_use]
    pub fn new() -> Self {
        CodecScratch::default()
    }
}
