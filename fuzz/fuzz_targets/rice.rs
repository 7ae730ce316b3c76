//! Any bytes as a stream of RICE_1: pixels that can be encoded again, or an error. Sixteen tiles at a time are decoded to the
//! same pixels and errors as one after the other, by every vector tier.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits::{ByteOrder, Tier, decode_tiles};
use tachyfits_format::{CodecError, CodecScratch, PixelsMut, Rice, Tile, TileCodec};
use tachyfits_fuzz::{FuzzTile, check_codec};

fuzz_target!(|bytes: &[u8]| {
    let Some(tile) = FuzzTile::of(bytes) else { return };
    let byte_pix = [1, 2, 4, 4][usize::from(tile.form % 4)];
    let codec = Rice { block_size: if tile.form & 8 == 0 { 32 } else { 16 }, byte_pix };
    check_codec(&codec, &tile);
    if tile.form & 16 != 0 {
        match byte_pix {
            1 => check_lanes::<u8>(&codec, &tile, |pixels| PixelsMut::U8(pixels)),
            2 => check_lanes::<i16>(&codec, &tile, |pixels| PixelsMut::I16(pixels)),
            _ => check_lanes::<i32>(&codec, &tile, |pixels| PixelsMut::I32(pixels)),
        }
    }
});

/// Tiles whose streams begin at sixteen places of the bytes.
fn check_lanes<P: Copy + Default + PartialEq + std::fmt::Debug>(
    codec: &Rice,
    tile: &FuzzTile<'_>,
    room: impl Fn(&mut [P]) -> PixelsMut<'_>,
) {
    let scratch = &mut CodecScratch::new();
    let streams: Vec<&[u8]> =
        (0..16).map(|lane| &tile.stream[tile.stream.len() * lane / 20..]).collect();
    let mut decode = |decode: &mut dyn FnMut(&mut [Tile<'_>], &mut CodecScratch) -> Results| {
        let mut pixels = vec![vec![P::default(); tile.pixels()]; streams.len()];
        let mut tiles: Vec<Tile<'_>> = streams
            .iter()
            .zip(&mut pixels)
            .map(|(stream, pixels)| Tile { stream, shape: &tile.shape, pixels: room(pixels) })
            .collect();
        let results = decode(&mut tiles, scratch);
        results.into_iter().zip(pixels).map(|(result, pixels)| result.map(|()| pixels)).collect()
    };
    let expected: Vec<Result<Vec<P>, CodecError>> =
        decode(&mut |tiles, scratch| {
            tiles.iter_mut().map(|tile| codec.decode(tile, scratch)).collect()
        });
    for tier in Tier::available() {
        let found = decode(&mut |tiles, scratch| decode_tiles(codec, tiles, ByteOrder::Native, tier, scratch));
        assert_eq!(expected, found, "tier {}", tier.name());
    }
}

type Results = Vec<Result<(), CodecError>>;
