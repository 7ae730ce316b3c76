//! HCOMPRESS_1: the H-transform of a tile, its coefficients divided by a scale, and their bit planes as quadtrees
//! (Sect. 10.4.4).
//!
//! CFITSIO computes in 32 bits for pixels of up to 16 bits and in 64 bits for others; results of large numbers depend
//! on that.

use super::bits::{BitReader, BitWriter};
use super::codec_error::CodecError;
use super::inflate::MOST_RATIO;
use super::parameters::CodecParameters;
use super::quadtree::{quadrants, read_quadrant, write_quadrant};
use super::room::{reserve, resize};
use super::tile::{CodecScratch, Misfit, Pixels, PixelsMut, PlainTile, Tile, TileCodec};
use super::wavelet::{Coefficient, Extent, Planes, invert, transform};
use crate::error::FormatError;
use std::num::Wrapping;

/// HCOMPRESS_1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hcompress {
    /// Divisor of coefficients for encoding; 0 or 1 is lossless. For decoding, the stream contains the divisor.
    pub scale: i32,
    /// Whether decoding smooths lossy tiles.
    pub smooth: bool,
}

/// First bytes of a stream.
const MAGIC: [u8; 2] = [0xdd, 0x99];

/// Maximum pixels of a stream of any length: a tile of one value takes 30 bytes, and tiles of CFITSIO have few rows.
const ANY_STREAM: u64 = 1 << 24;

/// Bytes before the bit planes: magic number, sizes, scale, sum, numbers of planes.
const HEADER_BYTES: usize = 2 + 3 * 4 + 8 + 3;

pub(super) fn make(parameters: &CodecParameters<'_>) -> Result<Box<dyn TileCodec>, FormatError> {
    let smooth = parameters.integer("SMOOTH")?.unwrap_or(0) != 0;
    // fpack writes the requested scale: a divisor, negative, or a fraction of the noise, which may be less than 1.
    let scale = parameters.number("SCALE")?.unwrap_or(0.0).abs().ceil() as i32;
    Ok(Box::new(Hcompress { scale, smooth }))
}

/// The header of a stream.
struct StreamHeader {
    scale: i64,
    sum: i64,
    planes: [u32; 3],
}

impl TileCodec for Hcompress {
    fn name(&self) -> &'static str {
        "HCOMPRESS_1"
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("SCALE", f64::from(self.scale)), ("SMOOTH", f64::from(u8::from(self.smooth)))]
    }

    /// The ratio of DEFLATE limits pixels per byte, except in short streams (`ANY_STREAM`).
    fn most_pixels(&self, stream_bytes: u64) -> u64 {
        stream_bytes.saturating_mul(MOST_RATIO).max(ANY_STREAM)
    }

    /// In a file, 1 may be a fraction of the noise.
    fn is_lossless(&self) -> bool {
        self.scale == 0
    }

    fn decode(&self, tile: &mut Tile<'_>, scratch: &mut CodecScratch) -> Result<(), CodecError> {
        let stored = tile.pixels.stored();
        if stored.is_float() {
            return Err(Misfit::Float.error(stored));
        }
        let extent = extent(tile.shape, tile.pixels.len())?;
        let header = StreamHeader::read(tile.stream, extent)?;
        let is_small = stored.bytes() <= 2;
        if let Some(&planes) =
            header.planes.iter().find(|&&planes| planes > if is_small { 31 } else { 63 })
        {
            let expected = "bit planes of the pixels' integers";
            return Err(CodecError::stream(HEADER_BYTES - 3, expected, format!("{planes} planes")));
        }
        if is_small || header.fits_32_bits(self.smooth) {
            self.decode_as(tile, extent, &header, &mut scratch.narrow_planes)
        } else {
            self.decode_as(tile, extent, &header, &mut scratch.wide_planes)
        }
    }

    fn encode(
        &self,
        tile: &PlainTile<'_>,
        scratch: &mut CodecScratch,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let extent = extent(tile.shape, tile.pixels.len())?;
        let pixels = &mut scratch.wide_planes.sums[0];
        pixels.clear();
        reserve(pixels, extent.size())?;
        match tile.pixels {
            Pixels::U8(from) => pixels.extend(from.iter().map(|&pixel| Wrapping(i64::from(pixel)))),
            Pixels::I16(from) => {
                pixels.extend(from.iter().map(|&pixel| Wrapping(i64::from(pixel))))
            }
            Pixels::I32(from) => {
                pixels.extend(from.iter().map(|&pixel| Wrapping(i64::from(pixel))))
            }
            other => {
                let found = format!("BITPIX {}", other.stored().bitpix());
                return Err(CodecError::value("integer pixels of up to 32 bits", found));
            }
        }
        transform(&mut scratch.wide_planes, extent)?;
        let start = out.len();
        encode(&mut scratch.wide_planes.coefficients, extent, self.scale, out)?;
        // Minimum length that readers require: see `most_pixels`.
        let least = start + (extent.size() as u64).div_ceil(MOST_RATIO) as usize;
        if extent.size() as u64 > ANY_STREAM && out.len() < least {
            resize(out, least)?;
        }
        Ok(())
    }
}

/// Returns rows and columns of a tile: its two axes longer than 1, or fewer.
fn extent(shape: &[u64], pixels: usize) -> Result<Extent, CodecError> {
    let long: Vec<u64> = shape.iter().copied().filter(|&size| size != 1).collect();
    let (columns, rows) = match long[..] {
        [] => (1, 1),
        // A stream of one row or one column: the tile's second axis decides which.
        [size] if shape[0] == 1 => (1, size),
        [size] => (size, 1),
        [columns, rows] => (columns, rows),
        _ => {
            let found = format!("a tile of {shape:?} pixels");
            return Err(CodecError::value("a tile with two axes longer than 1", found));
        }
    };
    if rows.checked_mul(columns) != Some(pixels as u64) {
        let expected = format!("{rows} rows of {columns} pixels");
        return Err(CodecError::value(expected, format!("{pixels} pixels")));
    }
    Ok(Extent { rows: rows as usize, columns: columns as usize })
}

impl StreamHeader {
    fn read(stream: &[u8], extent: Extent) -> Result<Self, CodecError> {
        let Some(&[m0, m1, ref sizes @ ..]) = stream.first_chunk::<HEADER_BYTES>() else {
            return Err(CodecError::ended(stream.len(), format!("{HEADER_BYTES} bytes of header")));
        };
        if [m0, m1] != MAGIC {
            let found = format!("[{m0:02x}, {m1:02x}]");
            return Err(CodecError::stream(
                0,
                "an HCOMPRESS stream, which begins with [dd, 99]",
                found,
            ));
        }
        let int = |at: usize| i32::from_be_bytes(std::array::from_fn(|byte| sizes[at + byte]));
        let (rows, columns) = (int(0), int(4));
        let same = |size: i32, own: usize| usize::try_from(size) == Ok(own);
        if !same(rows, extent.rows) || !same(columns, extent.columns) {
            let expected =
                format!("{} rows of {} pixels, as the tile has", extent.rows, extent.columns);
            return Err(CodecError::stream(2, expected, format!("{rows} rows of {columns}")));
        }
        Ok(StreamHeader {
            scale: int(8).into(),
            sum: i64::from_be_bytes(std::array::from_fn(|byte| sizes[12 + byte])),
            planes: std::array::from_fn(|quadrant| sizes[20 + quadrant].into()),
        })
    }

    /// Whether all steps of the inverse transform fit in 32 bits.
    fn fits_32_bits(&self, smooth: bool) -> bool {
        // Smoothing shifts by up to 6 bits.
        let most = if smooth { 1i128 << 20 } else { 1 << 28 };
        let scale = i128::from(self.scale.max(1));
        let planes = self.planes.into_iter().max().unwrap_or(0);
        (i128::from(self.sum).abs() * scale < most) && ((scale << planes) < most)
    }
}

impl Hcompress {
    fn decode_as<C: Coefficient>(
        &self,
        tile: &mut Tile<'_>,
        extent: Extent,
        header: &StreamHeader,
        planes: &mut Planes<C>,
    ) -> Result<(), CodecError> {
        planes.coefficients.clear();
        resize(&mut planes.coefficients, extent.size())?;
        let mut bits = BitReader::new(tile.stream, HEADER_BYTES);
        for quadrant in quadrants(extent) {
            let count = header.planes[quadrant.planes];
            read_quadrant(&mut bits, planes, extent.columns, quadrant, count)?;
        }
        let end = bits.take(4);
        if end != 0 {
            let expected = "0 after the bit planes";
            return Err(CodecError::stream(bits.offset(), expected, end.to_string()));
        }
        let signs = bits.align();
        read_signs(tile.stream, signs, &mut planes.coefficients, header.scale)?;
        planes.coefficients[0] = C::of(header.sum) * C::of(header.scale.max(1));
        invert(planes, extent, (self.smooth).then_some(header.scale))?;
        clip(&planes.sums[0], &mut tile.pixels);
        Ok(())
    }
}

/// Reads one sign bit for each coefficient that is not 0, and multiplies by the scale.
fn read_signs<C: Coefficient>(
    stream: &[u8],
    at: usize,
    coefficients: &mut [C],
    scale: i64,
) -> Result<(), CodecError> {
    /// Number of bits that a full buffer always has.
    const PART: usize = 32;
    let mut bits = BitReader::new(stream, at);
    let scale = C::of(scale.max(1));
    for part in coefficients.chunks_mut(PART) {
        bits.refill();
        for value in part {
            let used = u32::from(*value != C::default());
            let sign = C::of(-((bits.buffer >> 63) as i64)) & -C::of(used.into());
            bits.skip(used);
            *value = ((*value ^ sign) - sign) * scale;
        }
    }
    match bits.overrun() {
        true => Err(CodecError::ended(stream.len(), "more signs of coefficients")),
        false => Ok(()),
    }
}

/// Stores numbers, clamped to the range of the pixels: lossy tiles exceed it.
fn clip<C: Coefficient>(values: &[C], pixels: &mut PixelsMut<'_>) {
    macro_rules! clip_to {
        ($out:expr, $type:ty) => {
            for (out, value) in $out.iter_mut().zip(values) {
                *out = value.wide().clamp(<$type>::MIN.into(), <$type>::MAX.into()) as $type;
            }
        };
    }
    match pixels {
        PixelsMut::U8(out) => clip_to!(out, u8),
        PixelsMut::I16(out) => clip_to!(out, i16),
        PixelsMut::I32(out) => clip_to!(out, i32),
        PixelsMut::I64(out) => clip_to!(out, i64),
        PixelsMut::F32(_) | PixelsMut::F64(_) => unreachable!("refused before"),
    }
}

/// Appends the stream of these coefficients.
fn encode<C: Coefficient>(
    coefficients: &mut [C],
    extent: Extent,
    scale: i32,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    reserve(out, HEADER_BYTES)?;
    digitize(coefficients, scale);
    out.extend(MAGIC);
    for number in [extent.rows as i32, extent.columns as i32, scale] {
        out.extend(number.to_be_bytes());
    }
    out.extend(coefficients[0].wide().to_be_bytes());
    coefficients[0] = C::default();
    let mut signs = Vec::new();
    reserve(&mut signs, coefficients.len() / 8 + 8)?;
    let mut writer = BitWriter::new(&mut signs);
    for value in coefficients.iter_mut().filter(|value| **value != C::default()) {
        let negative = *value < C::default();
        writer.put(negative.into(), 1);
        *value = if negative { -*value } else { *value };
    }
    writer.finish();
    let quadrants = quadrants(extent);
    let mut planes = [0u32; 3];
    for quadrant in quadrants {
        let rows = (0..quadrant.extent.rows).map(|row| quadrant.start + row * extent.columns);
        let most = rows.flat_map(|at| &coefficients[at..at + quadrant.extent.columns]).max();
        let most = most.map_or(0, |most| u64::BITS - (most.wide() as u64).leading_zeros());
        planes[quadrant.planes] = planes[quadrant.planes].max(most);
    }
    out.extend(planes.map(|planes| planes as u8));
    // A plane takes at most the bits of its plain blocks, its form, and one code.
    let most = quadrants.map(|quadrant| {
        planes[quadrant.planes] as usize * (4 * quadrant.extent.halved().size() + 16)
    });
    reserve(out, most.iter().sum::<usize>() / 8 + signs.len() + 16)?;
    let mut writer = BitWriter::new(out);
    for quadrant in quadrants {
        let count = planes[quadrant.planes];
        write_quadrant(&mut writer, coefficients, extent.columns, quadrant, count)?;
    }
    writer.put(0, 4);
    writer.finish();
    out.extend(signs);
    Ok(())
}

/// Divides by the scale, rounding to the nearest.
fn digitize<C: Coefficient>(coefficients: &mut [C], scale: i32) {
    if scale <= 1 {
        return;
    }
    let scale = i64::from(scale);
    let half = (scale + 1) / 2 - 1;
    for value in coefficients {
        let wide = value.wide();
        *value = C::of(if wide > 0 { (wide + half) / scale } else { (wide - half) / scale });
    }
}
