//! Batches of compressed tiles: RICE_1 in the lanes of vectors where the processor has them, everything else one tile after
//! the other. The results are the same.

use std::any::Any;

use tachyfits_format::{CodecError, CodecScratch, PixelsMut, Rice, Tile, TileCodec};
use tachyfits_kernels::{RICE_LANES, RicePixel, Tier, decode_rice_lanes, has_rice_lanes};

/// Decodes each tile; the results are in the order of the tiles. A damaged tile does not affect the others.
///
/// Tiles of the same size are fastest, sixteen or more at a time.
///
/// ```
/// use tachyfits::{Tier, decode_tiles};
/// use tachyfits_format::{CodecScratch, PixelsMut, Rice, Tile};
/// let mut pixels = [[0i16; 40]; 16];
/// // The first pixel, and blocks without differences.
/// let tile = |pixels| Tile { stream: &[0, 7, 0], shape: &[40], pixels: PixelsMut::I16(pixels) };
/// let mut tiles: Vec<Tile<'_>> = pixels.iter_mut().map(|pixels| tile(&mut pixels[..])).collect();
/// let found = decode_tiles(&Rice::for_width(2), &mut tiles, Tier::SCALAR, &mut CodecScratch::new());
/// assert!(found.iter().all(Result::is_ok));
/// drop(tiles);
/// assert_eq!(pixels, [[7; 40]; 16]);
/// ```
pub fn decode_tiles(
    codec: &dyn TileCodec,
    tiles: &mut [Tile<'_>],
    tier: Tier,
    scratch: &mut CodecScratch,
) -> Vec<Result<(), CodecError>> {
    let any: &dyn Any = codec;
    let Some(rice) = any.downcast_ref::<Rice>().filter(|_| has_rice_lanes(tier)) else {
        return codec.decode_batch(tiles, scratch);
    };
    let mut done = vec![false; tiles.len()];
    match rice.byte_pix {
        1 => decode_in_lanes::<u8>(rice.block_size, tiles, tier, &mut done),
        2 => decode_in_lanes::<i16>(rice.block_size, tiles, tier, &mut done),
        _ => decode_in_lanes::<i32>(rice.block_size, tiles, tier, &mut done),
    }
    let rest = tiles.iter_mut().zip(done);
    rest.map(|(tile, done)| if done { Ok(()) } else { codec.decode(tile, scratch) }).collect()
}

/// Pixels that RICE_1 stores in their own width.
trait LanePixel: RicePixel {
    /// The pixels, if they are of this type.
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

/// One tile in a lane.
struct Lane<'a, P> {
    index: usize,
    stream: &'a [u8],
    pixels: &'a mut [P],
}

/// Decodes what fills all lanes, and notes which tiles are done.
fn decode_in_lanes<P: LanePixel>(
    block: usize,
    tiles: &mut [Tile<'_>],
    tier: Tier,
    done: &mut [bool],
) {
    let mut lanes: Vec<Lane<'_, P>> = Vec::with_capacity(tiles.len());
    for (index, tile) in tiles.iter_mut().enumerate() {
        if let Some(pixels) = P::slice(&mut tile.pixels) {
            lanes.push(Lane { index, stream: tile.stream, pixels });
        }
    }
    // Tiles at edges are smaller; the others stay in their order.
    lanes.sort_by_key(|lane| lane.pixels.len());
    for same in lanes.chunk_by_mut(|a, b| a.pixels.len() == b.pixels.len()) {
        for batch in same.as_chunks_mut::<RICE_LANES>().0 {
            let streams = batch.each_ref().map(|lane| lane.stream);
            let indices = batch.each_ref().map(|lane| lane.index);
            let mut out = batch.each_mut().map(|lane| &mut *lane.pixels);
            let failed = decode_rice_lanes(&streams, block, tier, &mut out);
            for (lane, index) in indices.into_iter().enumerate() {
                done[index] = failed >> lane & 1 == 0;
            }
        }
    }
}
