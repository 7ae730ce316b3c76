//! RICE_1 decoding of sixteen tiles at a time, one per lane of a vector. Each step of decoding a tile waits for the
//! step before; sixteen tiles keep the processor busy.
//!
//! All lanes are at the same pixel of their tiles, so that blocks begin together. A tile may be shorter than the others
//! if it ends with a block; its lane is idle afterwards. Lanes with a damaged stream are left to a decoder that reports
//! the error.

use crate::isa::{self, Kernel, Tier};
use crate::source::ByteOrder;

/// Tiles decoded at a time.
pub const RICE_LANES: usize = 16;

/// Pixels between two refills of the buffers, which contain at least 56 bits: for few low bits, and for many.
const FEW: usize = 4;
const MANY: usize = 2;

/// Maximum number of low bits for which [`FEW`] differences usually fit.
const FEW_LOW_BITS: u32 = 8;
/// Maximum number of low bits for which [`MANY`] differences usually fit.
const MANY_LOW_BITS: u32 = 20;

/// Pixels collected for all lanes before they are copied to the tiles.
const PART: usize = 32;

/// Input for the lanes of ended tiles.
static NOTHING: [u8; 8] = [0; 8];

/// Lanes of the widest vector of 64-bit words.
const HALF: usize = 8;

/// Number of the stream, as wide as a pixel.
pub trait RicePixel: Copy {
    /// Bits of a pixel.
    const BITS: u32;
    /// Bits of the code at the start of a block.
    const CODE_BITS: u32;
    /// Number of low bits that indicates plain differences.
    const PLAIN: u32;
    /// Returns the pixel with these lowest bits.
    fn of(bits: u32) -> Self;
    /// Returns the pixel with its bytes reversed.
    fn turned(self) -> Self;
}

macro_rules! pixels {
    ($($pixel:ty, $code_bits:literal, $plain:literal;)+) => {$(
        impl RicePixel for $pixel {
            const BITS: u32 = <$pixel>::BITS;
            const CODE_BITS: u32 = $code_bits;
            const PLAIN: u32 = $plain;

            #[inline(always)]
            fn of(bits: u32) -> Self {
                bits as $pixel
            }

            #[inline(always)]
            fn turned(self) -> Self {
                self.swap_bytes()
            }
        }
    )+};
}
pixels! { u8, 3, 6; i16, 4, 14; i32, 5, 25; }

/// Whether decoding in lanes is faster than decoding tile after tile.
#[must_use]
pub fn has_rice_lanes(tier: Tier) -> bool {
    tier.shifts_lanes()
}

/// Decodes sixteen tiles in blocks of `block` pixels, to the byte order `order`. Returns a bit mask of the lanes that
/// failed. Tiles shorter than the longest must consist of whole blocks; empty tiles need no stream.
///
/// # Panics
/// If a tile other than the longest ends within a block, or `block` is 0.
///
/// ```
/// use tachyfits_kernels::{ByteOrder, RICE_LANES, Tier, decode_rice_lanes};
/// // The first pixel, and a block without differences.
/// let streams = [&[0, 7, 0][..]; RICE_LANES];
/// let mut tiles = [[0i16; 5]; RICE_LANES];
/// let mut out = tiles.each_mut().map(|tile| &mut tile[..]);
/// let failed = decode_rice_lanes(&streams, 32, ByteOrder::Native, Tier::SCALAR, &mut out);
/// assert_eq!((failed, tiles), (0, [[7; 5]; RICE_LANES]));
/// ```
pub fn decode_rice_lanes<P: RicePixel>(
    streams: &[&[u8]; RICE_LANES],
    block: usize,
    order: ByteOrder,
    tier: Tier,
    out: &mut [&mut [P]; RICE_LANES],
) -> u16 {
    assert!(block > 0);
    let longest = out.iter().map(|tile| tile.len()).max().unwrap_or(0);
    assert!(out.iter().all(|tile| tile.len() == longest || tile.len().is_multiple_of(block)));
    match order.is_native() {
        true => isa::dispatch(tier, RiceKernel::<_, false> { streams, block, longest, out }),
        false => isa::dispatch(tier, RiceKernel::<_, true> { streams, block, longest, out }),
    }
}

struct RiceKernel<'a, 'b, P, const TURNED: bool> {
    streams: &'a [&'a [u8]; RICE_LANES],
    block: usize,
    /// Pixels of the longest tile.
    longest: usize,
    out: &'a mut [&'b mut [P]; RICE_LANES],
}

impl<P: RicePixel, const TURNED: bool> Kernel for RiceKernel<'_, '_, P, TURNED> {
    type Output = u16;

    #[inline(always)]
    fn run(self) -> u16 {
        let mut lanes = Lanes::new(*self.streams);
        for lane in 0..RICE_LANES {
            lanes.last[lane] = lanes.take(lane, P::BITS).into();
        }
        let mut part = [[0u32; RICE_LANES]; PART];
        // End of the shortest tile that has not ended yet.
        let (mut at, mut next_end) = (0, 0);
        while at < self.longest {
            if at == next_end {
                next_end = self.longest;
                for (lane, tile) in self.out.iter().enumerate() {
                    if tile.len() == at {
                        lanes.end(lane, at);
                    } else if tile.len() > at {
                        next_end = next_end.min(tile.len());
                    }
                }
            }
            let block = self.block.min(self.longest - at);
            lanes.begin_block::<P>();
            let end = at + block;
            while at < end {
                let count = PART.min(end - at);
                lanes.decode(&mut part[..count]);
                for (lane, tile) in self.out.iter_mut().enumerate() {
                    let Some(tile) = tile.get_mut(at..at + count) else { continue };
                    for (pixel, lanes) in tile.iter_mut().zip(&part) {
                        let decoded = P::of(lanes[lane]);
                        *pixel = if TURNED { decoded.turned() } else { decoded };
                    }
                }
                at += count;
            }
        }
        for (lane, tile) in self.out.iter().enumerate() {
            if tile.len() == self.longest {
                lanes.end(lane, self.longest);
            }
        }
        lanes.failed
    }
}

/// State of sixteen decoders.
struct Lanes<'a> {
    streams: [&'a [u8]; RICE_LANES],
    /// Next byte of each stream.
    at: [usize; RICE_LANES],
    /// Next bits, from the highest; bits below `count` may be set too.
    buffer: [u64; RICE_LANES],
    count: [u64; RICE_LANES],
    /// Previous pixel.
    last: [u64; RICE_LANES],
    /// Low bits of the block.
    low: [u64; RICE_LANES],
    /// All bits are set if the block has differences in unary and low bits.
    coded: [u64; RICE_LANES],
    /// All bits are set if the block has plain differences.
    plain: [u64; RICE_LANES],
    /// Bits of a plain difference.
    plain_bits: u64,
    /// Maximum number of low bits of all lanes.
    most_low: u32,
    /// Lanes whose streams are damaged.
    failed: u16,
    /// Lanes whose tiles have ended.
    ended: u16,
}

impl<'a> Lanes<'a> {
    #[inline(always)]
    fn new(streams: [&'a [u8]; RICE_LANES]) -> Self {
        Lanes {
            streams,
            at: [0; RICE_LANES],
            buffer: [0; RICE_LANES],
            count: [0; RICE_LANES],
            last: [0; RICE_LANES],
            low: [0; RICE_LANES],
            coded: [0; RICE_LANES],
            plain: [0; RICE_LANES],
            plain_bits: 0,
            most_low: 0,
            failed: 0,
            ended: 0,
        }
    }

    #[inline(always)]
    fn refill(&mut self, lane: usize) {
        let (stream, at, count) = (self.streams[lane], self.at[lane], self.count[lane]);
        let next = match stream.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(&next) => next,
            None => last_bytes(stream, at),
        };
        self.buffer[lane] |= u64::from_be_bytes(next) >> count;
        self.at[lane] = at + ((63 - count) >> 3) as usize;
        self.count[lane] = count | 56;
    }

    #[inline(always)]
    fn skip(&mut self, lane: usize, bits: u64) {
        self.buffer[lane] <<= bits;
        self.count[lane] -= bits;
    }

    /// Takes the next bits of a lane, 1 to 32.
    #[inline(always)]
    fn take(&mut self, lane: usize, bits: u32) -> u32 {
        self.refill(lane);
        let value = (self.buffer[lane] >> (64 - bits)) as u32;
        self.skip(lane, bits.into());
        value
    }

    /// Reads the codes at the start of blocks.
    #[inline(always)]
    fn begin_block<P: RicePixel>(&mut self) {
        self.most_low = 0;
        self.plain_bits = P::BITS.into();
        for lane in 0..RICE_LANES {
            // Blocks of an ended lane have no differences.
            let is_ended = self.ended >> lane & 1 == 1;
            let code = if is_ended { 0 } else { self.take(lane, P::CODE_BITS) };
            let low = code.wrapping_sub(1);
            let (coded, plain) = (code > 0 && low < P::PLAIN, low == P::PLAIN);
            self.failed |= u16::from(code > P::PLAIN + 1) << lane;
            self.coded[lane] = u64::from(coded).wrapping_neg();
            self.plain[lane] = u64::from(plain).wrapping_neg();
            self.low[lane] = if coded { low.into() } else { 0 };
            let most = if plain { MANY_LOW_BITS.min(P::BITS) } else { self.low[lane] as u32 };
            self.most_low = self.most_low.max(most);
        }
    }

    /// Decodes the next pixels of a block.
    #[inline(always)]
    fn decode(&mut self, out: &mut [[u32; RICE_LANES]]) {
        match self.most_low {
            0..=FEW_LOW_BITS => self.decode_groups::<FEW>(out),
            _ => self.decode_groups::<MANY>(out),
        }
    }

    #[inline(always)]
    fn decode_groups<const GROUP: usize>(&mut self, out: &mut [[u32; RICE_LANES]]) {
        let (groups, rest) = out.as_chunks_mut::<GROUP>();
        for group in groups {
            self.decode_group(group);
        }
        for single in rest.as_chunks_mut::<1>().0 {
            self.decode_group(single);
        }
    }

    #[inline(always)]
    fn decode_group<const GROUP: usize>(&mut self, out: &mut [[u32; RICE_LANES]; GROUP]) {
        for lane in 0..RICE_LANES {
            self.refill(lane);
        }
        let (mut buffer, mut last) = (self.buffer, self.last);
        let mut used = [0; RICE_LANES];
        for half in 0..RICE_LANES / HALF {
            let from = half * HALF;
            let part = |lanes: &[u64; RICE_LANES]| -> [u64; HALF] {
                *lanes[from..].first_chunk().expect("a half")
            };
            let (low, coded, plain) = (part(&self.low), part(&self.coded), part(&self.plain));
            let (mut bits_left, mut value, mut length_sum) =
                (part(&buffer), part(&last), [0u64; HALF]);
            for out in out.iter_mut() {
                let out: &mut [u32; HALF] = out[from..].first_chunk_mut().expect("a half");
                for lane in 0..HALF {
                    let bits = bits_left[lane];
                    let zeros = u64::from((bits | 1).leading_zeros());
                    let length =
                        (zeros + 1 + low[lane]) & coded[lane] | self.plain_bits & plain[lane];
                    let field = bits >> (64u64.wrapping_sub(length) & 63);
                    let with_zeros = zeros << low[lane] | field & !(u64::MAX << low[lane]);
                    let difference = with_zeros & coded[lane] | field & plain[lane];
                    let change = (difference >> 1) ^ (difference & 1).wrapping_neg();
                    value[lane] = value[lane].wrapping_add(change);
                    out[lane] = value[lane] as u32;
                    bits_left[lane] = bits << (length & 63);
                    length_sum[lane] += length;
                }
            }
            buffer[from..from + HALF].copy_from_slice(&bits_left);
            last[from..from + HALF].copy_from_slice(&value);
            used[from..from + HALF].copy_from_slice(&length_sum);
        }
        let count = self.count;
        let mut long = 0u64;
        for lane in 0..RICE_LANES {
            long |= u64::from(used[lane] > count[lane]);
        }
        if long == 0 {
            (self.buffer, self.last) = (buffer, last);
            for lane in 0..RICE_LANES {
                self.count[lane] = count[lane] - used[lane];
            }
            return;
        }
        self.decode_slowly(out, &buffer, &last, &used);
    }

    /// Keeps the lanes whose differences were in the buffer, and decodes the others again.
    #[cold]
    fn decode_slowly<const GROUP: usize>(
        &mut self,
        out: &mut [[u32; RICE_LANES]; GROUP],
        buffer: &[u64; RICE_LANES],
        last: &[u64; RICE_LANES],
        used: &[u64; RICE_LANES],
    ) {
        for lane in 0..RICE_LANES {
            if used[lane] <= self.count[lane] {
                self.buffer[lane] = buffer[lane];
                self.last[lane] = last[lane];
                self.count[lane] -= used[lane];
                continue;
            }
            for out in out.iter_mut() {
                let difference = self.difference(lane);
                let change = (difference >> 1) ^ (difference & 1).wrapping_neg();
                self.last[lane] = self.last[lane].wrapping_add(change);
                out[lane] = self.last[lane] as u32;
            }
        }
    }

    /// Reads the next difference of a lane, of any length.
    fn difference(&mut self, lane: usize) -> u64 {
        if self.plain[lane] != 0 {
            return self.take(lane, self.plain_bits as u32).into();
        }
        let mut zeros = 0u64;
        loop {
            self.refill(lane);
            let run = u64::from(self.buffer[lane].leading_zeros());
            if run < self.count[lane] {
                self.skip(lane, run + 1);
                zeros += run;
                break;
            }
            zeros += self.count[lane];
            self.skip(lane, self.count[lane]);
            if self.at[lane] > self.streams[lane].len() + 8 {
                break;
            }
        }
        let low = self.low[lane] as u32;
        self.failed |= u16::from(zeros > u64::from(u32::MAX >> low)) << lane;
        let field = if low == 0 { 0 } else { self.take(lane, low).into() };
        zeros << low | field
    }

    /// Ends the tile of a lane. Reading beyond the end of its stream is a failure.
    fn end(&mut self, lane: usize, pixels: usize) {
        let bits_read = self.at[lane] * 8 - self.count[lane] as usize;
        let bit = 1 << lane;
        if pixels > 0 && bits_read > self.streams[lane].len() * 8 {
            self.failed |= bit;
        }
        self.ended |= bit;
        // A full buffer, and input to refill it.
        (self.streams[lane], self.at[lane], self.count[lane]) = (&NOTHING, 0, 56);
    }
}

/// Returns the last bytes of a stream from `at`, fewer than eight, padded with zeros.
#[cold]
fn last_bytes(stream: &[u8], at: usize) -> [u8; 8] {
    let rest = stream.get(at..).unwrap_or_default();
    let mut bytes = [0; 8];
    bytes[..rest.len()].copy_from_slice(rest);
    bytes
}
