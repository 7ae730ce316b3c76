//! RICE_1: differences of neighbouring pixels, in blocks that share the number of low bits (Sect. 10.4.1).
//!
//! The stream begins with one plain number, which also is the predecessor of pixel 0. A block states how many low bits
//! of each difference are stored plainly; the rest is in unary.

use super::bits::{BitReader, BitWriter};
use super::codec_error::CodecError;
use super::parameters::CodecParameters;
use super::room::{reserve, sized};
use super::tile::{CodecScratch, Misfit, Pixels, PixelsMut, PlainTile, Tile, TileCodec};
use crate::error::FormatError;

/// RICE_1, which some files call RICE_ONE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rice {
    /// BLOCKSIZE: number of differences in a block.
    pub block_size: usize,
    /// BYTEPIX: bytes per number in the stream: 1, 2 or 4. Pixels may have another width.
    pub byte_pix: u8,
}

/// Default block size, which is also written.
const BLOCK_SIZE: i64 = 32;

/// Largest block size accepted: no writer uses more than 32.
const LARGEST_BLOCK: i64 = 1 << 16;

pub(super) fn make(parameters: &CodecParameters<'_>) -> Result<Box<dyn TileCodec>, FormatError> {
    let parameter = |name, default| parameters.integer(name).map(|value| value.unwrap_or(default));
    let (mut block, mut width) =
        (parameter("BLOCKSIZE", BLOCK_SIZE)?, parameter("BYTEPIX", parameters.byte_pix)?);
    // Some writers exchanged the two values.
    if matches!(block, 1 | 2 | 4 | 8) && matches!(width, 16 | 32) {
        (block, width) = (width, block);
    }
    if !(1..=LARGEST_BLOCK).contains(&block) {
        return Err(parameters.refused("BLOCKSIZE", "a block of 16 or 32 pixels"));
    }
    match width {
        1 | 2 | 4 => Ok(Box::new(Rice { block_size: block as usize, byte_pix: width as u8 })),
        _ => Err(parameters.refused("BYTEPIX", "1, 2 or 4: no document defines others")),
    }
}

impl Rice {
    /// Returns the codec for pixels of this many bytes: 1, 2 or 4.
    #[must_use]
    pub const fn for_width(byte_pix: u8) -> Rice {
        Rice { block_size: BLOCK_SIZE as usize, byte_pix }
    }
}

impl TileCodec for Rice {
    fn name(&self) -> &'static str {
        "RICE_1"
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("BLOCKSIZE", self.block_size as f64), ("BYTEPIX", f64::from(self.byte_pix))]
    }

    /// A block takes at least the bits of its code.
    fn most_pixels(&self, stream_bytes: u64) -> u64 {
        let code_bits = match self.byte_pix {
            1 => u8::CODE_BITS,
            2 => i16::CODE_BITS,
            _ => i32::CODE_BITS,
        };
        let blocks = stream_bytes.saturating_mul(8) / u64::from(code_bits);
        blocks.saturating_mul(self.block_size as u64)
    }

    fn decode(&self, tile: &mut Tile<'_>, scratch: &mut CodecScratch) -> Result<(), CodecError> {
        let (stream, block) = (tile.stream, self.block_size);
        let (stored, len) = (tile.pixels.stored(), tile.pixels.len());
        if stored.is_float() {
            return Err(Misfit::Float.error(stored));
        }
        let result = match (self.byte_pix, &mut tile.pixels) {
            (1, PixelsMut::U8(out)) => return decode(stream, block, out),
            (2, PixelsMut::I16(out)) => return decode(stream, block, out),
            (4, PixelsMut::I32(out)) => return decode(stream, block, out),
            (1, out) => {
                let values = sized(&mut scratch.bytes, len)?;
                decode(stream, block, values)?;
                out.put(values)
            }
            (2, out) => {
                let values = sized(&mut scratch.shorts, len)?;
                decode(stream, block, values)?;
                out.put(values)
            }
            (_, out) => {
                let values = sized(&mut scratch.ints, len)?;
                decode(stream, block, values)?;
                out.put(values)
            }
        };
        result.map_err(|misfit| misfit.error(stored))
    }

    fn encode(
        &self,
        tile: &PlainTile<'_>,
        _: &mut CodecScratch,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        match (self.byte_pix, tile.pixels) {
            (1, Pixels::U8(pixels)) => encode(pixels, self.block_size, out)?,
            (2, Pixels::I16(pixels)) => encode(pixels, self.block_size, out)?,
            (4, Pixels::I32(pixels)) => encode(pixels, self.block_size, out)?,
            (width, pixels) => {
                let expected = format!("integer pixels of {width} bytes");
                let found = format!("pixels of BITPIX {}", pixels.stored().bitpix());
                return Err(CodecError::value(expected, found));
            }
        }
        Ok(())
    }
}

/// A number of the stream.
pub(super) trait RiceNumber: Copy {
    /// Bits of the number.
    const BITS: u32;
    /// Bits of the code at the start of a block.
    const CODE_BITS: u32;
    /// Number of low bits that marks plain differences.
    const PLAIN: u32;

    /// Converts the lowest bits to a number.
    fn of(bits: u32) -> Self;
    /// Returns the bits of the number; higher bits are unspecified.
    fn bits(self) -> u32;
}

macro_rules! numbers {
    ($($number:ty, $code_bits:literal, $plain:literal;)+) => {$(
        impl RiceNumber for $number {
            const BITS: u32 = <$number>::BITS;
            const CODE_BITS: u32 = $code_bits;
            const PLAIN: u32 = $plain;

            #[inline(always)]
            fn of(bits: u32) -> Self {
                bits as $number
            }

            #[inline(always)]
            fn bits(self) -> u32 {
                self as u32
            }
        }
    )+};
}
numbers! { u8, 3, 6; i16, 4, 14; i32, 5, 25; }

/// Decodes the change of a difference: 0, -1, 1, -2, …
#[inline(always)]
fn change(difference: u32) -> u32 {
    (difference >> 1) ^ (difference & 1).wrapping_neg()
}

/// Decodes as many numbers as fit in `out`.
pub(super) fn decode<P: RiceNumber>(
    stream: &[u8],
    block: usize,
    out: &mut [P],
) -> Result<(), CodecError> {
    if out.is_empty() {
        return Ok(());
    }
    let end_error = || CodecError::ended(stream.len(), "more differences of pixels");
    let mut bits = BitReader::new(stream, 0);
    let mut last = bits.take(P::BITS);
    for block in out.chunks_mut(block) {
        let code = bits.take(P::CODE_BITS);
        match code {
            0 => block.fill(P::of(last)),
            _ if code - 1 < P::PLAIN => {
                if !decode_block(&mut bits, code - 1, &mut last, block) {
                    return Err(match bits.overrun() {
                        true => end_error(),
                        false => overlong(&bits),
                    });
                }
            }
            _ if code - 1 == P::PLAIN => {
                for pixel in block {
                    last = last.wrapping_add(change(bits.take(P::BITS)));
                    *pixel = P::of(last);
                }
            }
            _ => {
                let expected = format!("a block of code 0 to {}", P::PLAIN + 1);
                return Err(CodecError::stream(bits.offset(), expected, format!("code {code}")));
            }
        }
        if bits.overrun() {
            return Err(end_error());
        }
    }
    Ok(())
}

fn overlong(bits: &BitReader<'_>) -> CodecError {
    CodecError::stream(bits.offset(), "a difference of pixels", "too many zero bits")
}

/// Decodes a block whose differences have `low` low bits; returns false if a difference exceeds 32 bits or the stream
/// ends.
#[inline(always)]
fn decode_block<P: RiceNumber>(
    bits: &mut BitReader<'_>,
    low: u32,
    last: &mut u32,
    block: &mut [P],
) -> bool {
    // This many differences usually fit in the 56 bits of a full buffer.
    match low {
        0..=8 => decode_groups::<P, 4>(bits, low, last, block),
        9..=20 => decode_groups::<P, 2>(bits, low, last, block),
        _ => decode_each(bits, low, last, block),
    }
}

/// Decodes groups of differences, each from one full buffer. If a group is longer, it is read again, one difference at
/// a time.
#[inline(always)]
fn decode_groups<P: RiceNumber, const GROUP: usize>(
    bits: &mut BitReader<'_>,
    low: u32,
    last: &mut u32,
    block: &mut [P],
) -> bool {
    let (groups, rest) = block.as_chunks_mut::<GROUP>();
    let mask = (1u64 << low) - 1;
    for group in groups {
        bits.refill();
        let (mut buffer, mut used, mut value) = (bits.buffer, 0, *last);
        for pixel in group.iter_mut() {
            // The added 1 avoids the case of no set bit, which is too long in any case.
            let zeros = (buffer | 1).leading_zeros();
            let length = zeros + 1 + low;
            let field = buffer >> (64u32.wrapping_sub(length) & 63);
            // Also removes the leading 1.
            let difference = u64::from(zeros) << low | (field & mask);
            value = value.wrapping_add(change(difference as u32));
            *pixel = P::of(value);
            buffer = buffer.wrapping_shl(length);
            used += length;
        }
        if used <= bits.count {
            bits.buffer = buffer;
            bits.count -= used;
            *last = value;
        } else if !decode_each(bits, low, last, group) {
            return false;
        }
    }
    decode_each(bits, low, last, rest)
}

fn decode_each<P: RiceNumber>(
    bits: &mut BitReader<'_>,
    low: u32,
    last: &mut u32,
    block: &mut [P],
) -> bool {
    for pixel in block {
        let Some(zeros) = bits.zeros(u64::from(u32::MAX >> low)) else { return false };
        let field = if low == 0 { 0 } else { bits.take(low) };
        *last = last.wrapping_add(change((zeros as u32) << low | field));
        *pixel = P::of(*last);
    }
    true
}

/// Appends the stream of these numbers; each block has the same number of low bits as in CFITSIO.
pub(super) fn encode<P: RiceNumber>(
    pixels: &[P],
    block: usize,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let Some(first) = pixels.first() else { return Ok(()) };
    // No block is longer than its code and its plain differences; the last write takes up to 64 bytes.
    let in_group = block.min(pixels.len());
    reserve(out, size_of_val(pixels) + pixels.len() / block + 1 + 64)?;
    let keep = u32::MAX >> (32 - P::BITS);
    let mut bits = BitWriter::new(out);
    let mut last = first.bits();
    bits.put(last & keep, P::BITS);
    let mut differences = Vec::new();
    let differences = sized(&mut differences, in_group)?;
    let difference = |pixel: P, last: u32| {
        let change = pixel.bits().wrapping_sub(last) << (32 - P::BITS);
        let change = (change as i32) >> (32 - P::BITS);
        ((change << 1) ^ (change >> 31)) as u32 & keep
    };
    for block in pixels.chunks(block) {
        let differences = &mut differences[..block.len()];
        differences[0] = difference(block[0], last);
        for (to, pair) in differences[1..].iter_mut().zip(block.windows(2)) {
            *to = difference(pair[1], pair[0].bits());
        }
        last = block[block.len() - 1].bits();
        put_block::<P>(&mut bits, differences);
    }
    bits.finish();
    Ok(())
}

fn put_block<P: RiceNumber>(bits: &mut BitWriter<'_>, differences: &[u32]) {
    let all = differences.iter().fold(0, |bits, &difference| bits | difference);
    let count = differences.len();
    let sum = match u64::from(all) * count as u64 <= u64::from(u32::MAX) {
        true => differences.iter().sum::<u32>().into(),
        false => differences.iter().map(|&difference| u64::from(difference)).sum(),
    };
    let low = low_bits(sum, count as u64);
    if low >= P::PLAIN {
        bits.put(P::PLAIN + 1, P::CODE_BITS);
        differences.iter().for_each(|&difference| bits.put(difference, P::BITS));
        return;
    }
    if sum == 0 {
        bits.put(0, P::CODE_BITS);
        return;
    }
    bits.put(low + 1, P::CODE_BITS);
    // The longest difference takes at most this many bits.
    match (all >> low).saturating_add(low + 1) {
        0..=14 => put_groups::<4>(bits, differences, low),
        15..=28 => put_groups::<2>(bits, differences, low),
        _ => put_each(bits, differences, low),
    }
}

/// Writes differences in groups of at most 56 bits.
#[inline(always)]
fn put_groups<const GROUP: usize>(bits: &mut BitWriter<'_>, differences: &[u32], low: u32) {
    let (groups, rest) = differences.as_chunks::<GROUP>();
    bits.put_bytes();
    for group in groups {
        let (mut value, mut length) = (0, 0);
        for &difference in group {
            let own = (difference >> low) + 1 + low;
            value = value << own | u64::from(1 << low | difference & ((1 << low) - 1));
            length += own;
        }
        bits.put_many(value, length);
    }
    put_each(bits, rest, low);
}

fn put_each(bits: &mut BitWriter<'_>, differences: &[u32], low: u32) {
    for &difference in differences {
        let zeros = difference >> low;
        let end = 1 << low | difference & ((1 << low) - 1);
        if zeros + 1 + low <= u32::BITS {
            bits.put(end, zeros + 1 + low);
        } else {
            bits.put_zeros(zeros);
            bits.put(end, low + 1);
        }
    }
}

/// Number of low bits for differences with this sum: those of their mean, minus one. CFITSIO divides in floating point,
/// with the same quotient.
fn low_bits(sum: u64, count: u64) -> u32 {
    let rest = sum.saturating_sub(count / 2 + 1);
    let mean = match count.is_power_of_two() {
        true => rest >> count.trailing_zeros(),
        false => rest / count,
    };
    let half = (mean as u32) >> 1;
    u32::BITS - half.leading_zeros()
}
