//! gzip streams to bytes and back. libdeflate, if built in, processes one member at a time; the pure Rust decoder
//! handles several members, and builds without a C compiler.
//!
//! Sizes are checked before any allocation; so are CRC and size of each member.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::codec_error::CodecError;
use super::room::{reserve, resize};

/// Compresses and decompresses gzip.
#[derive(Default)]
pub(super) struct Inflater {
    #[cfg(feature = "libdeflate")]
    fast: Option<libdeflater::Decompressor>,
    #[cfg(feature = "libdeflate")]
    packer: Option<libdeflater::Compressor>,
}

impl std::fmt::Debug for Inflater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inflater")
    }
}

/// A gzip member has at least this header and trailer.
const SHORTEST: usize = 18;

/// Compression level, 1 to 9; CFITSIO uses 1 as well.
const LEVEL: i32 = 1;

/// Maximum bytes that DEFLATE makes of one byte.
pub(crate) const MOST_RATIO: u64 = 1032;

/// First bytes of a gzip stream.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

impl Inflater {
    /// Appends the inflated stream to `out`, which must be empty; at most `most` bytes.
    pub(super) fn inflate(
        &mut self,
        stream: &[u8],
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        if !stream.starts_with(&MAGIC) || stream.len() < SHORTEST {
            let found = format!("{:02x?}", &stream[..stream.len().min(2)]);
            return Err(CodecError::stream(0, "a gzip stream, which begins with [1f, 8b]", found));
        }
        #[cfg(feature = "libdeflate")]
        if self.inflate_member(stream, most, out)? {
            return Ok(());
        }
        out.clear();
        inflate_members(stream, most, out)
    }

    /// Inflates a stream of one member; returns false for any other or damaged stream.
    #[cfg(feature = "libdeflate")]
    fn inflate_member(
        &mut self,
        stream: &[u8],
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, CodecError> {
        let Some(&size) = stream.last_chunk::<4>() else { return Ok(false) };
        let size = u32::from_le_bytes(size) as usize;
        // A size beyond DEFLATE's ratio is false and must not be allocated.
        let is_lie = size as u64 / MOST_RATIO > stream.len() as u64;
        if size > most || is_lie || may_have_more_members(stream) {
            return Ok(false);
        }
        resize(out, size)?;
        let fast = self.fast.get_or_insert_with(libdeflater::Decompressor::new);
        // The decoder stops at the end of the member, which ends the stream only if this trailer follows.
        let sum = &stream[stream.len() - 8..stream.len() - 4];
        Ok(fast.gzip_decompress(stream, out) == Ok(size)
            && libdeflater::crc32(out).to_le_bytes() == sum)
    }

    /// Appends the gzip stream of these bytes.
    #[cfg(feature = "libdeflate")]
    pub(super) fn deflate(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        use libdeflater::{CompressionLvl, Compressor};
        let level = CompressionLvl::new(LEVEL).unwrap_or_default();
        let packer = self.packer.get_or_insert_with(|| Compressor::new(level));
        let start = out.len();
        resize(out, start + packer.gzip_compress_bound(bytes.len()))?;
        let packed = packer.gzip_compress(bytes, &mut out[start..]);
        out.truncate(start + packed.expect("the buffer has the largest size that is needed"));
        Ok(())
    }

    /// Appends the gzip stream of these bytes.
    #[cfg(not(feature = "libdeflate"))]
    pub(super) fn deflate(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        use flate2::{Compress, Compression, FlushCompress};
        // Method 8, no flags, no time, any system.
        const AROUND: usize = 18;
        reserve(out, AROUND)?;
        out.extend([MAGIC[0], MAGIC[1], 8, 0, 0, 0, 0, 0, 0, 255]);
        let mut packer = Compress::new(Compression::new(LEVEL as u32), false);
        loop {
            reserve(out, bytes.len() / 2 + 64)?;
            let rest = &bytes[packer.total_in() as usize..];
            let status = packer.compress_vec(rest, out, FlushCompress::Finish);
            if status.expect("any bytes can be compressed") == Status::StreamEnd {
                break;
            }
        }
        let mut sum = Crc::new();
        sum.update(bytes);
        out.extend(sum.sum().to_le_bytes());
        out.extend((bytes.len() as u32).to_le_bytes());
        Ok(())
    }
}

/// Whether a member may begin after the start: its first bytes occur again, perhaps by chance.
#[cfg(feature = "libdeflate")]
fn may_have_more_members(stream: &[u8]) -> bool {
    let (first, second, third) = (&stream[1..], &stream[2..], &stream[3..]);
    let starts = first.iter().zip(second).zip(third);
    // A loop without an exit compiles to vector code, so this searches the whole stream.
    starts.fold(false, |any, ((&a, &b), &c)| any | ((a == MAGIC[0]) & (b == MAGIC[1]) & (c == 8)))
}

/// Inflates one member after another. Bytes after the last member that do not begin another are ignored, as in CFITSIO.
fn inflate_members(stream: &[u8], most: usize, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let mut at = 0;
    while stream[at..].starts_with(&MAGIC) {
        let body = header_end(stream, at).ok_or_else(|| {
            CodecError::stream(at, "the header of a gzip member", "another one, or its end")
        })?;
        let start = out.len();
        let end = inflate_body(stream, body, most, out)?;
        let mut sum = Crc::new();
        sum.update(&out[start..]);
        let trailer = [sum.sum(), (out.len() - start) as u32].map(u32::to_le_bytes);
        if stream.get(end..end + 8) != Some(trailer.as_flattened()) {
            let expected = "the sum and size of a gzip member that its bytes have";
            return Err(CodecError::stream(end, expected, "others"));
        }
        at = end + 8;
    }
    Ok(())
}

/// Inflates the DEFLATE stream at `body`; returns the offset of its end.
fn inflate_body(
    stream: &[u8],
    body: usize,
    most: usize,
    out: &mut Vec<u8>,
) -> Result<usize, CodecError> {
    const STEP: usize = 1 << 16;
    let mut state = Decompress::new(false);
    loop {
        // One byte more than allowed, to detect excess.
        let room = (most + 1 - out.len()).min(out.len().max(STEP));
        reserve(out, room)?;
        let before = (state.total_in(), out.len());
        let rest = &stream[body + before.0 as usize..];
        let status = state.decompress_vec(rest, out, FlushDecompress::None);
        let at = body + state.total_in() as usize;
        let status = status
            .map_err(|error| CodecError::stream(at, "an intact gzip member", error.to_string()))?;
        if out.len() > most {
            let expected = format!("at most {most} bytes when decompressed");
            return Err(CodecError::stream(at, expected, "more"));
        }
        if status == Status::StreamEnd {
            return Ok(at);
        }
        if (state.total_in(), out.len()) == before {
            return Err(CodecError::ended(stream.len(), "the end of a gzip member"));
        }
    }
}

/// Returns the end of the member header at `at`; `None` if it is incomplete or not DEFLATE.
fn header_end(stream: &[u8], at: usize) -> Option<usize> {
    // Flag bits.
    const HEADER_SUM: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let fixed = stream.get(at..at + 10)?;
    let (method, flags) = (fixed[2], fixed[3]);
    if method != 8 {
        return None;
    }
    let mut end = at + 10;
    if flags & EXTRA != 0 {
        let length = stream.get(end..end + 2)?;
        end += 2 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    }
    for flag in [NAME, COMMENT] {
        if flags & flag != 0 {
            end += stream.get(end..)?.iter().position(|&byte| byte == 0)? + 1;
        }
    }
    end += if flags & HEADER_SUM != 0 { 2 } else { 0 };
    (end <= stream.len()).then_some(end)
}
