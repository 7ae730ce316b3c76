//! NOCOMPRESS: unchanged big-endian pixels, and the pixel width in streams of plain bytes.

use super::codec_error::CodecError;
use super::parameters::CodecParameters;
use super::room::reserve;
use super::tile::{CodecScratch, Misfit, Pixels, PixelsMut, PlainTile, Tile, TileCodec};
use crate::error::FormatError;

/// NOCOMPRESS, and the encoding of tiles in UNCOMPRESSED_DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verbatim;

pub(super) fn make(_: &CodecParameters<'_>) -> Result<Box<dyn TileCodec>, FormatError> {
    Ok(Box::new(Verbatim))
}

impl TileCodec for Verbatim {
    fn name(&self) -> &'static str {
        "NOCOMPRESS"
    }

    fn most_pixels(&self, stream_bytes: u64) -> u64 {
        stream_bytes
    }

    fn decode(&self, tile: &mut Tile<'_>, _: &mut CodecScratch) -> Result<(), CodecError> {
        let width = width(tile.stream.len(), tile.pixels.len())?;
        from_big_endian(tile.stream, width, &mut tile.pixels)
    }

    fn encode(
        &self,
        tile: &PlainTile<'_>,
        _: &mut CodecScratch,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        to_big_endian(tile.pixels, out)
    }
}

/// Bytes per pixel in a stream of this many bytes: not always those of ZBITPIX.
pub(super) fn width(bytes: usize, pixels: usize) -> Result<usize, CodecError> {
    let width = bytes.checked_div(pixels).unwrap_or(1);
    if matches!(width, 1 | 2 | 4 | 8) && width * pixels == bytes {
        return Ok(width);
    }
    let expected = format!("1, 2, 4 or 8 bytes for each of {pixels} pixels");
    Err(CodecError::stream(0, expected, format!("{bytes} bytes")))
}

/// Copies numbers of `WIDTH` bytes.
macro_rules! copy_numbers {
    ($from:expr, $out:expr, $number:ty) => {
        for (from, out) in $from.as_chunks().0.iter().zip(&mut **$out) {
            *out = <$number>::from_be_bytes(*from);
        }
    };
}

/// Converts big-endian integers of `width` bytes, or floats of the pixels' type, to pixels.
pub(super) fn from_big_endian(
    bytes: &[u8],
    width: usize,
    pixels: &mut PixelsMut<'_>,
) -> Result<(), CodecError> {
    match (width, &mut *pixels) {
        (1, PixelsMut::U8(out)) => out.copy_from_slice(bytes),
        (2, PixelsMut::I16(out)) => copy_numbers!(bytes, out, i16),
        (4, PixelsMut::I32(out)) => copy_numbers!(bytes, out, i32),
        (8, PixelsMut::I64(out)) => copy_numbers!(bytes, out, i64),
        (4, PixelsMut::F32(out)) => copy_numbers!(bytes, out, f32),
        (8, PixelsMut::F64(out)) => copy_numbers!(bytes, out, f64),
        (_, PixelsMut::F32(_) | PixelsMut::F64(_)) => {
            let expected = format!("pixels of {} bytes", pixels.stored().bytes());
            return Err(CodecError::stream(0, expected, format!("pixels of {width} bytes")));
        }
        _ => return other_width(bytes, width, pixels),
    }
    Ok(())
}

/// Converts integers whose width differs from that of the pixels.
fn other_width(bytes: &[u8], width: usize, pixels: &mut PixelsMut<'_>) -> Result<(), CodecError> {
    const PART: usize = 1024;
    let stored = pixels.stored();
    let mut values = [0i64; PART];
    for (part, bytes) in bytes.chunks(PART * width).enumerate() {
        let count = bytes.len() / width;
        for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(width)) {
            *value = match *bytes {
                [byte] => i64::from(byte),
                [a, b] => i64::from(i16::from_be_bytes([a, b])),
                [a, b, c, d] => i64::from(i32::from_be_bytes([a, b, c, d])),
                _ => i64::from_be_bytes(bytes.try_into().expect("8 bytes")),
            };
        }
        let first = part * PART;
        let put = part_of(pixels, first, count).put(&values[..count]);
        put.map_err(|misfit| match misfit {
            Misfit::Value { index, value } => Misfit::Value { index: first + index, value },
            Misfit::Float => misfit,
        })
        .map_err(|misfit| misfit.error(stored))?;
    }
    Ok(())
}

/// Returns `count` pixels from `first`.
fn part_of<'a>(pixels: &'a mut PixelsMut<'_>, first: usize, count: usize) -> PixelsMut<'a> {
    let range = first..first + count;
    match pixels {
        PixelsMut::U8(out) => PixelsMut::U8(&mut out[range]),
        PixelsMut::I16(out) => PixelsMut::I16(&mut out[range]),
        PixelsMut::I32(out) => PixelsMut::I32(&mut out[range]),
        PixelsMut::I64(out) => PixelsMut::I64(&mut out[range]),
        PixelsMut::F32(out) => PixelsMut::F32(&mut out[range]),
        PixelsMut::F64(out) => PixelsMut::F64(&mut out[range]),
    }
}

/// Appends pixels as big-endian bytes.
pub(super) fn to_big_endian(pixels: Pixels<'_>, out: &mut Vec<u8>) -> Result<(), CodecError> {
    reserve(out, pixels.len() * pixels.stored().bytes())?;
    match pixels {
        Pixels::U8(pixels) => out.extend_from_slice(pixels),
        Pixels::I16(pixels) => out.extend(pixels.iter().flat_map(|pixel| pixel.to_be_bytes())),
        Pixels::I32(pixels) => out.extend(pixels.iter().flat_map(|pixel| pixel.to_be_bytes())),
        Pixels::I64(pixels) => out.extend(pixels.iter().flat_map(|pixel| pixel.to_be_bytes())),
        Pixels::F32(pixels) => out.extend(pixels.iter().flat_map(|pixel| pixel.to_be_bytes())),
        Pixels::F64(pixels) => out.extend(pixels.iter().flat_map(|pixel| pixel.to_be_bytes())),
    }
    Ok(())
}
