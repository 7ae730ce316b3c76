//! GZIP_1 and GZIP_2: the big-endian pixels as a gzip stream. GZIP_2 first groups the highest bytes of all pixels, then
//! the next bytes, because bytes of the same significance are similar (Sect. 10.4.2).

use super::codec_error::CodecError;
use super::inflate::MOST_RATIO;
use super::parameters::CodecParameters;
use super::room::sized;
use super::tile::{CodecScratch, PlainTile, Tile, TileCodec};
use super::verbatim::{from_big_endian, to_big_endian, width};
use crate::error::FormatError;

/// GZIP_1 or GZIP_2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gzip {
    /// Whether bytes of the same significance are grouped (GZIP_2).
    pub shuffled: bool,
}

pub(super) fn make(_: &CodecParameters<'_>) -> Result<Box<dyn TileCodec>, FormatError> {
    Ok(Box::new(Gzip { shuffled: false }))
}

pub(super) fn make_shuffled(_: &CodecParameters<'_>) -> Result<Box<dyn TileCodec>, FormatError> {
    Ok(Box::new(Gzip { shuffled: true }))
}

impl TileCodec for Gzip {
    fn name(&self) -> &'static str {
        if self.shuffled { "GZIP_2" } else { "GZIP_1" }
    }

    /// A pixel takes at least one byte.
    fn most_pixels(&self, stream_bytes: u64) -> u64 {
        stream_bytes.saturating_mul(MOST_RATIO)
    }

    fn decode(&self, tile: &mut Tile<'_>, scratch: &mut CodecScratch) -> Result<(), CodecError> {
        let pixels = tile.pixels.len();
        let CodecScratch { inflater, bytes, more_bytes, .. } = scratch;
        bytes.clear();
        inflater.inflate(tile.stream, pixels.saturating_mul(8), bytes)?;
        let width = width(bytes.len(), pixels)?;
        if self.shuffled && width > 1 {
            let more_bytes = sized(more_bytes, bytes.len())?;
            unshuffle(bytes, width, more_bytes);
            return from_big_endian(more_bytes, width, &mut tile.pixels);
        }
        from_big_endian(bytes, width, &mut tile.pixels)
    }

    fn encode(
        &self,
        tile: &PlainTile<'_>,
        scratch: &mut CodecScratch,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let CodecScratch { inflater, bytes, more_bytes, .. } = scratch;
        bytes.clear();
        to_big_endian(tile.pixels, bytes)?;
        let width = tile.pixels.stored().bytes();
        let plain = if self.shuffled && width > 1 {
            let more_bytes = sized(more_bytes, bytes.len())?;
            shuffle(bytes, width, more_bytes);
            &*more_bytes
        } else {
            &bytes[..]
        };
        inflater.deflate(plain, out)
    }
}

/// Restores numbers of `width` bytes from their shuffled bytes: first the first byte of each number, then the second of
/// each, and so on.
///
/// # Panics
/// Panics if the slices differ in length, or do not contain whole numbers.
pub(super) fn unshuffle(bytes: &[u8], width: usize, out: &mut [u8]) {
    assert!(bytes.len() == out.len() && bytes.len().is_multiple_of(width));
    let count = bytes.len() / width;
    let plane = |number: usize| &bytes[number * count..][..count];
    match width {
        2 => {
            let planes: [_; 2] = std::array::from_fn(plane);
            join(planes, out);
        }
        4 => {
            let planes: [_; 4] = std::array::from_fn(plane);
            join(planes, out);
        }
        8 => {
            let planes: [_; 8] = std::array::from_fn(plane);
            join(planes, out);
        }
        _ => {
            for (index, number) in out.chunks_exact_mut(width).enumerate() {
                for (byte, at) in number.iter_mut().zip((index..).step_by(count)) {
                    *byte = bytes[at];
                }
            }
        }
    }
}

fn join<const WIDTH: usize>(planes: [&[u8]; WIDTH], out: &mut [u8]) {
    let (numbers, _) = out.as_chunks_mut::<WIDTH>();
    let planes = planes.map(|plane| &plane[..numbers.len()]);
    for (index, number) in numbers.iter_mut().enumerate() {
        *number = planes.map(|plane| plane[index]);
    }
}

/// The reverse of [`unshuffle`].
///
/// # Panics
/// Panics if the slices differ in length, or do not contain whole numbers.
pub(super) fn shuffle(bytes: &[u8], width: usize, out: &mut [u8]) {
    assert!(bytes.len() == out.len() && bytes.len().is_multiple_of(width));
    let count = bytes.len() / width;
    for (number, plane) in out.chunks_exact_mut(count.max(1)).enumerate() {
        let bytes = bytes[number..].iter().step_by(width);
        plane.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    }
}
