//! Compresses one tile: quantises floats, applies the codec, and uses gzip for tiles that cannot be quantised.

use bytemuck::{cast_slice, cast_slice_mut};
use tachyfits_format::{
    CodecError, CodecScratch, Dither, Gzip, Pixels, PixelsMut, PlainTile, QuantisationLevel,
    StoredType, Tile, TileCodec, TileRange, sized,
};
use tachyfits_kernels::{
    ByteOrder, EXACT_ZERO, Noise, NoiseMeter, NoisePixel, Quantiser, RANDOM_NUMBERS, Tier,
    dequantise_f32, dequantise_f64, native_in_place, quantise_f32, quantise_f64,
};

use super::compressed_image::pixels_of as pixels_mut_of;
use crate::image::plain_type;

/// The integer for NaN, the same as in astropy; every reader accepts it.
pub(crate) const BLANK: i32 = i32::MIN;

/// Quantisation of floating-point pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantising {
    pub(crate) level: QuantisationLevel,
    pub(crate) dither: Dither,
    /// ZDITHER0.
    pub(crate) seed: u64,
}

/// Compressor of the tiles of an image.
#[derive(Debug)]
pub(crate) struct TileEncoder {
    pub(crate) stored: StoredType,
    pub(crate) codec: Box<dyn TileCodec>,
    /// `None` for integers, and for floats compressed losslessly.
    pub(crate) quantising: Option<Quantising>,
    pub(crate) tier: Tier,
}

/// A compressed tile.
#[derive(Clone, Debug, Default)]
pub(crate) struct EncodedTile {
    pub(crate) stream: Vec<u8>,
    /// Whether the stream is gzip of the pixels themselves, for GZIP_COMPRESSED_DATA.
    pub(crate) is_plain_gzip: bool,
    /// ZSCALE and ZZERO.
    pub(crate) scaling: Option<(f64, f64)>,
    /// The largest difference between a pixel and its decompressed value.
    pub(crate) error: f64,
}

/// Buffers that a worker reuses.
#[derive(Debug, Default)]
pub(crate) struct EncoderScratch {
    codec: CodecScratch,
    integers: Vec<i32>,
    restored: Vec<u64>,
    singles: NoiseMeter<f32>,
    doubles: NoiseMeter<f64>,
}

impl TileEncoder {
    /// Compresses tile number `tile`, from 0. `words` begins with its big-endian pixels, which are
    /// byte-swapped in place.
    pub(crate) fn encode(
        &self,
        tile: u64,
        shape: &[u64],
        words: &mut [u64],
        scratch: &mut EncoderScratch,
    ) -> Result<EncodedTile, CodecError> {
        let count = shape.iter().product::<u64>() as usize;
        let bytes = &mut cast_slice_mut::<u64, u8>(words)[..count * self.stored.bytes()];
        native_in_place(bytes, plain_type(self.stored), self.tier);
        let Some(quantising) = self.quantising else {
            return self.encode_plainly(pixels_of(bytes, self.stored), shape, scratch);
        };
        match self.stored {
            StoredType::F64 => {
                self.encode_floats::<f64>(tile, &quantising, shape, cast_slice(bytes), scratch)
            }
            _ => self.encode_floats::<f32>(tile, &quantising, shape, cast_slice(bytes), scratch),
        }
    }

    /// Compresses pixels without quantisation.
    fn encode_plainly(
        &self,
        pixels: Pixels<'_>,
        shape: &[u64],
        scratch: &mut EncoderScratch,
    ) -> Result<EncodedTile, CodecError> {
        let mut encoded = EncodedTile::default();
        let EncoderScratch { codec, restored, .. } = scratch;
        self.codec.encode(&PlainTile { shape, pixels }, codec, &mut encoded.stream)?;
        if !self.codec.is_lossless() {
            let words = (pixels.len() * self.stored.bytes()).div_ceil(8);
            let restored = sized(restored, words)?;
            let mut tile = Tile {
                stream: &encoded.stream,
                shape,
                pixels: pixels_mut_of(restored, self.stored, pixels.len()),
            };
            self.codec.decode(&mut tile, codec)?;
            encoded.error = match (pixels, tile.pixels) {
                (Pixels::U8(pixels), PixelsMut::U8(restored)) => largest_change(pixels, restored),
                (Pixels::I16(pixels), PixelsMut::I16(restored)) => largest_change(pixels, restored),
                (Pixels::I32(pixels), PixelsMut::I32(restored)) => largest_change(pixels, restored),
                _ => unreachable!("codecs of wider integers and of floats lose nothing"),
            };
        }
        Ok(encoded)
    }

    /// Quantises floats and compresses the integers; compresses the floats losslessly if
    /// quantisation would lose information.
    fn encode_floats<F: Float>(
        &self,
        tile: u64,
        quantising: &Quantising,
        shape: &[u64],
        pixels: &[F],
        scratch: &mut EncoderScratch,
    ) -> Result<EncodedTile, CodecError> {
        let row = shape.first().map_or(1, |&row| row.max(1)) as usize;
        let meter = F::meter(scratch);
        meter.reserve(pixels.len(), row).map_err(|_| CodecError::no_memory(pixels.len()))?;
        let Noise { least, greatest, defined, has_infinite, deviation } =
            meter.measure(pixels, row, self.tier);
        let pixel_count = pixels.len();
        let range = TileRange {
            pixels: pixel_count,
            defined,
            least,
            greatest,
            has_infinite,
            noise: deviation,
        };
        let Some((scale, zero)) = range.quantisation(quantising.level, quantising.dither) else {
            return encode_losslessly(shape, pixels, &mut scratch.codec);
        };
        let EncoderScratch { codec, integers, restored, .. } = scratch;
        let first_random = ((tile + quantising.seed - 1) % RANDOM_NUMBERS as u64) as usize;
        let quantiser = Quantiser {
            scale,
            zero,
            blank: Some(BLANK),
            exact_zero: (quantising.dither == Dither::SubtractiveKeepingZeros)
                .then_some(EXACT_ZERO),
            dither: (quantising.dither != Dither::None).then_some(first_random),
        };
        let integers = sized(integers, pixel_count)?;
        F::quantise(pixels, &quantiser, self.tier, integers);
        let words = (pixel_count * self.stored.bytes()).div_ceil(8);
        let restored = &mut cast_slice_mut::<u64, F>(sized(restored, words)?)[..pixel_count];
        F::dequantise(integers, &quantiser, self.tier, restored);
        let error = largest_difference(pixels, restored);
        if error > scale {
            // The step is finer than the precision of the pixels or of ZZERO.
            return encode_losslessly(shape, pixels, codec);
        }
        let mut encoded =
            EncodedTile { scaling: Some((scale, zero)), error, ..EncodedTile::default() };
        let plain = PlainTile { shape, pixels: Pixels::I32(integers) };
        self.codec.encode(&plain, codec, &mut encoded.stream)?;
        Ok(encoded)
    }
}

/// Compresses the floats of a tile losslessly with gzip.
fn encode_losslessly<F: Float>(
    shape: &[u64],
    pixels: &[F],
    codec: &mut CodecScratch,
) -> Result<EncodedTile, CodecError> {
    let mut encoded = EncodedTile { is_plain_gzip: true, ..EncodedTile::default() };
    let plain = PlainTile { shape, pixels: F::pixels(pixels) };
    Gzip { shuffled: false }.encode(&plain, codec, &mut encoded.stream)?;
    // Readers of the column expect numbers.
    encoded.scaling = Some((1.0, 0.0));
    Ok(encoded)
}

/// Returns the largest difference of defined pixels; infinite if a pixel is NaN in only one of the arrays.
fn largest_difference<F: Float>(pixels: &[F], restored: &[F]) -> f64 {
    const LANES: usize = 8;
    let mut largest = [0.0; LANES];
    let mut add = |lane: usize, a: F, b: F| {
        let (a, b) = (a.into(), b.into());
        let difference = if a.is_nan() == b.is_nan() { (a - b).abs() } else { f64::INFINITY };
        // Ignores NaN.
        largest[lane] = if difference > largest[lane] { difference } else { largest[lane] };
    };
    let (blocks, rest) = pixels.as_chunks::<LANES>();
    let (others, other_rest) = restored.as_chunks::<LANES>();
    for (a, b) in blocks.iter().zip(others) {
        (0..LANES).for_each(|lane| add(lane, a[lane], b[lane]));
    }
    rest.iter().zip(other_rest).for_each(|(&a, &b)| add(0, a, b));
    largest.into_iter().fold(0.0, f64::max)
}

/// Returns the largest difference of integers.
fn largest_change<T: Copy + Into<f64>>(pixels: &[T], restored: &[T]) -> f64 {
    let differences = pixels.iter().zip(restored).map(|(&a, &b)| (a.into() - b.into()).abs());
    differences.fold(0.0, f64::max)
}

fn pixels_of(bytes: &[u8], stored: StoredType) -> Pixels<'_> {
    match stored {
        StoredType::U8 => Pixels::U8(bytes),
        StoredType::I16 => Pixels::I16(cast_slice(bytes)),
        StoredType::I32 => Pixels::I32(cast_slice(bytes)),
        StoredType::I64 => Pixels::I64(cast_slice(bytes)),
        StoredType::F32 => Pixels::F32(cast_slice(bytes)),
        StoredType::F64 => Pixels::F64(cast_slice(bytes)),
    }
}

/// f32 or f64.
trait Float: bytemuck::Pod + Into<f64> + NoisePixel {
    fn meter(scratch: &mut EncoderScratch) -> &mut NoiseMeter<Self>;
    fn quantise(pixels: &[Self], quantiser: &Quantiser, tier: Tier, out: &mut [i32]);
    fn dequantise(integers: &[i32], quantiser: &Quantiser, tier: Tier, out: &mut [Self]);
    fn pixels(pixels: &[Self]) -> Pixels<'_>;
}

macro_rules! floats {
    ($($float:ty, $quantise:ident $dequantise:ident $kind:ident $meter:ident;)+) => {$(
        impl Float for $float {
            fn meter(scratch: &mut EncoderScratch) -> &mut NoiseMeter<Self> {
                &mut scratch.$meter
            }
            fn quantise(pixels: &[Self], quantiser: &Quantiser, tier: Tier, out: &mut [i32]) {
                $quantise(pixels, quantiser, tier, out);
            }
            fn dequantise(integers: &[i32], quantiser: &Quantiser, tier: Tier, out: &mut [Self]) {
                $dequantise(integers, quantiser, ByteOrder::Native, tier, out);
            }
            fn pixels(pixels: &[Self]) -> Pixels<'_> {
                Pixels::$kind(pixels)
            }
        }
    )+};
}

floats! {
    f32, quantise_f32 dequantise_f32 F32 singles;
    f64, quantise_f64 dequantise_f64 F64 doubles;
}
