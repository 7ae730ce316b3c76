//! Batches of compressed tiles: each tile is decoded as if it were alone, on every vector tier.

use proptest::prelude::*;
use tachyfits::{ByteOrder, Tier, decode_tiles};
use tachyfits_format::{
    CodecError, CodecScratch, Gzip, Pixels, PixelsMut, PlainTile, Rice, Tile, TileCodec,
};

/// Returns a tile of rows of `columns` pixels: noise with some outliers.
fn image(columns: u64, rows: u64, seed: i64) -> Vec<i16> {
    let pixel = |at: i64| match (at * at * 31 + at * 7919 + seed) % 1009 {
        0 => 20_000,
        1..900 => (at * 13 + seed) % 23,
        other => other,
    };
    (0..(columns * rows) as i64).map(|at| pixel(at) as i16).collect()
}

fn stream(codec: &dyn TileCodec, shape: &[u64], pixels: &[i16]) -> Vec<u8> {
    let mut out = Vec::new();
    let tile = PlainTile { shape, pixels: Pixels::I16(pixels) };
    codec.encode(&tile, &mut CodecScratch::new(), &mut out).expect("integers of 16 bits");
    out
}

/// Decodes tiles of these shapes in one batch as 16-bit pixels, or as 32-bit pixels if `wide` returns true;
/// without a tier, decodes each tile separately.
fn decoded(
    codec: &dyn TileCodec,
    shapes: &[[u64; 2]],
    streams: &[Vec<u8>],
    wide: impl Fn(usize) -> bool,
    batch: Option<(Tier, ByteOrder)>,
) -> Vec<Result<Vec<i32>, CodecError>> {
    let size = |shape: &[u64; 2]| (shape[0] * shape[1]) as usize;
    let mut shorts: Vec<Vec<i16>> = shapes.iter().map(|shape| vec![0; size(shape)]).collect();
    let mut ints: Vec<Vec<i32>> = shapes.iter().map(|shape| vec![0; size(shape)]).collect();
    let mut tiles: Vec<Tile<'_>> = Vec::new();
    for (index, (shorts, ints)) in shorts.iter_mut().zip(&mut ints).enumerate() {
        let pixels = if wide(index) { PixelsMut::I32(ints) } else { PixelsMut::I16(shorts) };
        tiles.push(Tile { stream: &streams[index], shape: &shapes[index], pixels });
    }
    let mut scratch = CodecScratch::new();
    let results = match batch {
        Some((tier, order)) => decode_tiles(codec, &mut tiles, order, tier, &mut scratch),
        None => tiles.iter_mut().map(|tile| codec.decode(tile, &mut scratch)).collect(),
    };
    let is_big_endian = batch.is_some_and(|(_, order)| order == ByteOrder::BigEndian);
    let int = |pixel: &i32| if is_big_endian { i32::from_be(*pixel) } else { *pixel };
    let short = |pixel: &i16| if is_big_endian { i16::from_be(*pixel) } else { *pixel };
    let pixels = |index: usize| match wide(index) {
        true => ints[index].iter().map(int).collect(),
        false => shorts[index].iter().map(|pixel| short(pixel).into()).collect(),
    };
    results.into_iter().enumerate().map(|(index, result)| result.map(|()| pixels(index))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_batch_gives_what_each_tile_gives_alone(
        sizes in prop::collection::vec(prop_oneof![4 => Just([90u64, 2]), 1 => Just([33, 1]), 1 => Just([180, 1]), 1 => Just([64, 2])], 1..60),
        seed in 0..1000i64,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..8u32), 0..4),
        wide in any::<prop::sample::Index>(),
        gzip in any::<bool>(),
    ) {
        let rice = Rice::for_width(2);
        let codec: &dyn TileCodec = if gzip { &Gzip { shuffled: true } } else { &rice };
        let mut streams: Vec<Vec<u8>> = (0..)
            .zip(&sizes)
            .map(|(number, shape)| stream(codec, shape, &image(shape[0], shape[1], seed + number)))
            .collect();
        for (tile, byte, bit) in damage {
            let tile = tile.index(streams.len());
            let byte = byte.index(streams[tile].len());
            streams[tile][byte] ^= 1 << bit;
        }
        let wide = wide.index(sizes.len());
        let expected = decoded(codec, &sizes, &streams, |index| index == wide, None);
        for tier in Tier::available() {
            for order in [ByteOrder::Native, ByteOrder::BigEndian] {
                let batch = Some((tier, order));
                let results = decoded(codec, &sizes, &streams, |index| index == wide, batch);
                prop_assert_eq!(&results, &expected, "{:?}, {:?}", tier, order);
            }
        }
    }
}
