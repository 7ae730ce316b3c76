//! Decodes batches of compressed tiles: RICE_1 in vector lanes if the processor supports them,
//! other codecs one tile at a time. The results are identical.

use std::any::Any;

use bytemuck::cast_slice_mut;
use tachyfits_format::{CodecError, CodecScratch, PixelsMut, Rice, Tile, TileCodec};
use tachyfits_kernels::{
    ByteOrder, PixelType, RICE_LANES, RicePixel, Tier, decode_rice_lanes, has_rice_lanes,
    native_in_place,
};

/// Decodes each tile into pixels of a byte order; the results are in the order of the tiles. A
/// damaged tile does not affect the others.
///
/// Tiles of equal size are fastest, sixteen or more at a time.
///
/// ```
/// use tachyfits::{ByteOrder, Tier, decode_tiles};
/// use tachyfits_format::{CodecScratch, PixelsMut, Rice, Tile};
/// let mut pixels = [[0i16; 40]; 16];
/// // The first pixel, and blocks without differences.
/// let tile = |pixels| Tile { stream: &[0, 7, 0], shape: &[40], pixels: PixelsMut::I16(pixels) };
/// let mut tiles: Vec<Tile<'_>> = pixels.iter_mut().map(|pixels| tile(&mut pixels[..])).collect();
/// let (rice, scratch) = (Rice::for_width(2), &mut CodecScratch::new());
/// let results = decode_tiles(&rice, &mut tiles, ByteOrder::Native, Tier::SCALAR, scratch);
/// assert!(results.iter().all(Result::is_ok));
/// drop(tiles);
/// assert_eq!(pixels, [[7; 40]; 16]);
/// ```
pub fn decode_tiles(
    codec: &dyn TileCodec,
    tiles: &mut [Tile<'_>],
    order: ByteOrder,
    tier: Tier,
    scratch: &mut CodecScratch,
) -> Vec<Result<(), CodecError>> {
    let any: &dyn Any = codec;
    // At most the tiles of a batch, 256.
    let mut done = vec![false; tiles.len()];
    if let Some(rice) = any.downcast_ref::<Rice>().filter(|_| has_rice_lanes(tier)) {
        match rice.byte_pix {
            1 => decode_in_lanes::<u8>(rice.block_size, tiles, (order, tier), &mut done),
            2 => decode_in_lanes::<i16>(rice.block_size, tiles, (order, tier), &mut done),
            _ => decode_in_lanes::<i32>(rice.block_size, tiles, (order, tier), &mut done),
        }
    }
    let alone = |(tile, is_done): (&mut Tile<'_>, bool)| {
        if !is_done {
            codec.decode(tile, scratch)?;
            if order == ByteOrder::BigEndian {
                turn(&mut tile.pixels, tier);
            }
        }
        Ok(())
    };
    tiles.iter_mut().zip(done).map(alone).collect()
}

/// Swaps pixels from native byte order to big-endian.
fn turn(pixels: &mut PixelsMut<'_>, tier: Tier) {
    match pixels {
        PixelsMut::U8(_) => {}
        PixelsMut::I16(slice) => native_in_place(cast_slice_mut(slice), PixelType::I16, tier),
        PixelsMut::I32(slice) => native_in_place(cast_slice_mut(slice), PixelType::I32, tier),
        PixelsMut::I64(slice) => native_in_place(cast_slice_mut(slice), PixelType::I64, tier),
        PixelsMut::F32(slice) => native_in_place(cast_slice_mut(slice), PixelType::F32, tier),
        PixelsMut::F64(slice) => native_in_place(cast_slice_mut(slice), PixelType::F64, tier),
    }
}

/// Pixels that RICE_1 stores in their own width.
trait LanePixel: RicePixel {
    /// Returns the pixels, if they have this type.
    fn slice<'a>(pixels: &'a mut PixelsMut<'_>) -> Option<&'a mut [Self]>;
}

macro_rules! lane_pixels {
    ($($pixel:ty, $variant:ident;)+) => {$(
        impl LanePixel for $pixel {
            fn slice<'a>(pixels: &'a mut PixelsMut<'_>) -> Option<&'a mut [Self]> {
                match pixels {
                    PixelsMut::$variant(slice) => Some(slice),
                    _ => None,
                }
            }
        }
    )+};
}
lane_pixels! { u8, U8; i16, I16; i32, I32; }

/// A tile in a lane.
struct Lane<'a, P> {
    index: usize,
    stream: &'a [u8],
    pixels: &'a mut [P],
}

/// With fewer tiles than this, tiles are decoded one at a time, because an empty lane takes as much
/// time as a full one.
const LEAST_LANES: usize = 6;

/// Decodes the tiles that fill lanes, and marks them in `done`.
fn decode_in_lanes<P: LanePixel>(
    block: usize,
    tiles: &mut [Tile<'_>],
    (order, tier): (ByteOrder, Tier),
    done: &mut [bool],
) {
    // At most the tiles of a batch, 256.
    let mut lanes: Vec<Lane<'_, P>> = Vec::with_capacity(tiles.len());
    for (index, tile) in tiles.iter_mut().enumerate() {
        if let Some(pixels) = P::slice(&mut tile.pixels) {
            lanes.push(Lane { index, stream: tile.stream, pixels });
        }
    }
    // Stable: tiles of equal size stay in order; smaller tiles, at edges, come last.
    lanes.sort_by_key(|lane| std::cmp::Reverse(lane.pixels.len()));
    let mut rest = &mut lanes[..];
    while let Some(longest) = rest.first().map(|lane| lane.pixels.len()) {
        let fits = |lane: &Lane<'_, P>| {
            lane.pixels.len() == longest || lane.pixels.len().is_multiple_of(block)
        };
        let count = rest.iter().take(RICE_LANES).take_while(|lane| fits(lane)).count();
        let (batch, later) = std::mem::take(&mut rest).split_at_mut(count);
        rest = later;
        if batch.len() < LEAST_LANES {
            continue;
        }
        let mut streams = [&[][..]; RICE_LANES];
        let mut out: [&mut [P]; RICE_LANES] = std::array::from_fn(|_| &mut [][..]);
        let mut indices = [0; RICE_LANES];
        for (lane, tile) in batch.iter_mut().enumerate() {
            (streams[lane], indices[lane]) = (tile.stream, tile.index);
            out[lane] = &mut *tile.pixels;
        }
        let failures = decode_rice_lanes(&streams, block, order, tier, &mut out);
        for (lane, index) in indices.into_iter().enumerate().take(count) {
            done[index] = failures >> lane & 1 == 0;
        }
    }
}
