//! Compressed images of fpack and astropy, pixel by pixel: see `tests/data/compressed/make_tiles.py`.

use std::io::Read;

use tachyfits_format::{
    CodecScratch, Dither, Hdu, PixelsMut, PlainTile, ReadOptions, Step, StoredTile, StoredType,
    Tile, TileForm, TileQuantisation, TiledLayout, Walker,
};

use crate::pixels::Pixel;

/// Returns the file, inflated.
pub fn file() -> Vec<u8> {
    let packed = include_bytes!("../../../../tests/data/compressed/tiles.fits.gz");
    let mut bytes = Vec::new();
    flate2::bufread::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("it is gzip");
    bytes
}

/// Returns its HDUs, without the first.
pub fn hdus(file: &[u8]) -> Vec<Hdu> {
    all_hdus(file).split_off(1)
}

/// Returns the HDUs of a file.
pub fn all_hdus(file: &[u8]) -> Vec<Hdu> {
    let mut walker = Walker::new(ReadOptions::default(), file.len() as u64);
    let mut hdus = Vec::new();
    loop {
        match walker.step().unwrap_or_else(|error| panic!("{error}")) {
            Step::Read { offset, bytes } => walker.supply(&file[offset as usize..][..bytes]),
            Step::Hdu(hdu) => hdus.push(*hdu),
            Step::Done => return hdus,
        }
    }
}

/// Returns the 10 000 random numbers of the Standard.
fn random_numbers() -> Vec<f32> {
    let mut seed = 1u64;
    let numbers: Vec<f32> = (0..10_000)
        .map(|_| {
            seed = 16_807 * seed % 2_147_483_647;
            (seed as f64 / 2_147_483_647.0) as f32
        })
        .collect();
    assert_eq!(seed, 1_043_618_065);
    numbers
}

/// Computes pixels one by one, like CFITSIO.
fn dequantised(integers: &[i32], how: &TileQuantisation) -> Vec<f64> {
    let random = random_numbers();
    let mut block = how.first_random;
    let start = |block: usize| (random[block] * 500.0) as usize;
    let mut next = start(block);
    let mut values = Vec::new();
    for &integer in integers {
        let r = f64::from(random[next]);
        next += 1;
        if next == 10_000 {
            block = (block + 1) % 10_000;
            next = start(block);
        }
        values.push(match how.dither {
            _ if Some(integer) == how.blank => f64::NAN,
            Dither::None => f64::from(integer) * how.scale + how.zero,
            Dither::SubtractiveKeepingZeros if integer == -2_147_483_646 => 0.0,
            _ => (f64::from(integer) - r + 0.5) * how.scale + how.zero,
        });
    }
    values
}

/// Pixels that convert to big-endian bytes.
trait Bytes: Pixel {
    fn bytes(self) -> Vec<u8>;
}

macro_rules! bytes {
    ($($pixel:ty)+) => {$(
        impl Bytes for $pixel {
            fn bytes(self) -> Vec<u8> {
                self.to_be_bytes().to_vec()
            }
        }
    )+};
}
bytes! { u8 i16 i32 i64 f32 f64 }

/// Decodes the pixels of a tile to big-endian bytes.
fn tile_bytes(layout: &TiledLayout, stored: &StoredTile, stream: &[u8], shape: &[u64]) -> Vec<u8> {
    if let Some(how) = &stored.quantisation {
        let integers = decode::<i32>(layout, stored, stream, shape);
        let values = dequantised(&integers, how).into_iter();
        return match layout.image.stored {
            StoredType::F32 => values.flat_map(|value| (value as f32).to_be_bytes()).collect(),
            _ => values.flat_map(f64::to_be_bytes).collect(),
        };
    }
    fn of<P: Bytes>(pixels: Vec<P>) -> Vec<u8> {
        pixels.into_iter().flat_map(P::bytes).collect()
    }
    match layout.stream_type(stored) {
        StoredType::U8 => of(decode::<u8>(layout, stored, stream, shape)),
        StoredType::I16 => of(decode::<i16>(layout, stored, stream, shape)),
        StoredType::I32 => of(decode::<i32>(layout, stored, stream, shape)),
        StoredType::I64 => of(decode::<i64>(layout, stored, stream, shape)),
        StoredType::F32 => of(decode::<f32>(layout, stored, stream, shape)),
        StoredType::F64 => of(decode::<f64>(layout, stored, stream, shape)),
    }
}

/// Decodes a tile, and checks that lossless codecs encode it to the same stream.
fn decode<P: Pixel>(
    layout: &TiledLayout,
    stored: &StoredTile,
    stream: &[u8],
    shape: &[u64],
) -> Vec<P> {
    let codec = layout.codec_of(stored.form);
    let mut pixels = vec![P::default(); shape.iter().product::<u64>() as usize];
    let mut scratch = CodecScratch::new();
    let out: PixelsMut<'_> = P::exclusive(&mut pixels);
    let result = codec.decode(&mut Tile { stream, shape, pixels: out }, &mut scratch);
    result.unwrap_or_else(|error| panic!("{}", layout.tile_error(stored, error)));
    if stored.form == TileForm::Compressed && codec.name() == "RICE_1" {
        let mut again = Vec::new();
        let tile = PlainTile { shape, pixels: P::shared(&pixels) };
        if codec.encode(&tile, &mut scratch, &mut again).is_ok() {
            assert_eq!(again, stream, "{codec:?}");
        }
    }
    pixels
}

/// Returns the pixels of an image as big-endian bytes.
pub fn image_bytes(layout: &TiledLayout, file: &[u8]) -> Vec<u8> {
    let width = layout.image.stored.bytes();
    let mut bytes = vec![0; layout.image.pixels as usize * width];
    let axes = &layout.image.axes;
    for index in 0..layout.grid.count() {
        let row = &file[layout.row_offset(index) as usize..][..layout.table.row_bytes as usize];
        let stored = layout.stored_tile(index, row).unwrap_or_else(|error| panic!("{error}"));
        let stream = &file[stored.offset as usize..][..stored.bytes as usize];
        let place = layout.grid.tile(index);
        let tile = tile_bytes(layout, &stored, stream, &place.shape);
        let run = place.shape[0] as usize * width;
        for (number, from) in tile.chunks(run).enumerate() {
            let (mut rest, mut at, mut step) = (number as u64, place.first[0], axes[0]);
            let others = place.first.iter().zip(&place.shape).zip(axes).skip(1);
            for ((first, size), axis) in others {
                at += (first + rest % size) * step;
                rest /= size;
                step *= axis;
            }
            bytes[at as usize * width..][..run].copy_from_slice(from);
        }
    }
    bytes
}

/// Replaces every NaN by the same bits: neither program preserves their bits.
fn plain_nan(bytes: &[u8], stored: StoredType) -> Vec<u8> {
    match stored {
        StoredType::F32 => {
            let plain = |x: f32| if x.is_nan() { f32::NAN } else { x };
            let pixels = bytes.as_chunks().0.iter();
            pixels.flat_map(|&x| plain(f32::from_be_bytes(x)).to_be_bytes()).collect()
        }
        StoredType::F64 => {
            let plain = |x: f64| if x.is_nan() { f64::NAN } else { x };
            let pixels = bytes.as_chunks().0.iter();
            pixels.flat_map(|&x| plain(f64::from_be_bytes(x)).to_be_bytes()).collect()
        }
        _ => bytes.to_vec(),
    }
}

#[test]
fn images_of_fpack_and_astropy_have_the_expected_pixels() {
    let file = file();
    let hdus = hdus(&file);
    assert!(hdus.len() > 150, "{} HDUs", hdus.len());
    for pair in hdus.chunks(2) {
        let [tiled, plain] = pair else { panic!("a compressed image without its pixels") };
        let name = plain.extname.as_deref().unwrap_or_default();
        let layout = tiled.tiled_image().unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = plain.image().unwrap();
        assert_eq!(layout.image.stored, expected.stored, "{name}");
        assert_eq!(layout.image.axes, expected.axes, "{name}");
        let bytes = image_bytes(&layout, &file);
        let expected_bytes = &file[expected.data_offset as usize..][..bytes.len()];
        let stored = expected.stored;
        assert!(plain_nan(&bytes, stored) == plain_nan(expected_bytes, stored), "{name}");
    }
}
