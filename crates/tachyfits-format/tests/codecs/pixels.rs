//! Pixels for codecs: realistic images, and encoding and decoding in one call.

use proptest::prelude::*;
use tachyfits_format::{CodecError, CodecScratch, Pixels, PixelsMut, PlainTile, Tile, TileCodec};

/// A type of pixels.
pub trait Pixel: Copy + Default + PartialEq + std::fmt::Debug {
    fn shared(pixels: &[Self]) -> Pixels<'_>;
    fn exclusive(pixels: &mut [Self]) -> PixelsMut<'_>;
    fn of(value: i64) -> Self;
}

macro_rules! pixels {
    ($($pixel:ty, $variant:ident;)+) => {$(
        impl Pixel for $pixel {
            fn shared(pixels: &[Self]) -> Pixels<'_> {
                Pixels::$variant(pixels)
            }

            fn exclusive(pixels: &mut [Self]) -> PixelsMut<'_> {
                PixelsMut::$variant(pixels)
            }

            fn of(value: i64) -> Self {
                value as $pixel
            }
        }
    )+};
}
pixels! { u8, U8; i16, I16; i32, I32; i64, I64; f32, F32; f64, F64; }

/// Decodes the pixels of a stream.
pub fn decode<P: Pixel>(
    codec: &dyn TileCodec,
    stream: &[u8],
    shape: &[u64],
) -> Result<Vec<P>, CodecError> {
    let mut pixels = vec![P::default(); shape.iter().product::<u64>() as usize];
    let mut tile = Tile { stream, shape, pixels: P::exclusive(&mut pixels) };
    codec.decode(&mut tile, &mut CodecScratch::new())?;
    Ok(pixels)
}

/// Encodes pixels as a stream.
pub fn encode<P: Pixel>(
    codec: &dyn TileCodec,
    pixels: &[P],
    shape: &[u64],
) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    let tile = PlainTile { shape, pixels: P::shared(pixels) };
    codec.encode(&tile, &mut CodecScratch::new(), &mut out)?;
    Ok(out)
}

/// Integers as in images: constant, noisy, with outliers, random; all truncated to the pixel's type.
pub fn content<P: Pixel>(
    len: impl Into<prop::collection::SizeRange>,
) -> impl Strategy<Value = Vec<P>> {
    let value = prop_oneof![
        4 => -3..3i64,
        4 => -100..100i64,
        2 => -40_000..40_000i64,
        1 => any::<i64>(),
    ];
    let size = len.into();
    let (mixed, noise) =
        (prop::collection::vec(value, size.clone()), prop::collection::vec(-9..9i64, size));
    let level = prop_oneof![Just(0i64), Just(100), Just(30_000), any::<i64>()];
    let cut = |values: Vec<i64>| values.into_iter().map(P::of).collect::<Vec<P>>();
    prop_oneof![
        mixed.prop_map(cut),
        (noise, level).prop_map(move |(noise, level)| {
            cut(noise.into_iter().map(|value| value.wrapping_add(level)).collect())
        }),
    ]
}
