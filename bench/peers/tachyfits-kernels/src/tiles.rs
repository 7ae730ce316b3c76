//! RICE_1 from memory to native arrays: 9 million pixels of noise in tiles, a batch at a time as reading a file decodes
//! them; int16, or floats that were quantised with a quarter of the noise as step and are dithered. The seconds are those of
//! the fastest pass: what interrupts a pass only ever slows it.

use serde_json::{Value, json};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tachyfits::{ByteOrder, Tier, decode_tiles};
use tachyfits_format::{CodecScratch, Pixels, PixelsMut, PlainTile, Rice, Tile, TileCodec};
use tachyfits_kernels::{Quantiser, dequantise_f32};

/// Pixels that are decoded, except the rest of a tile.
const PIXELS: usize = 9_000_000;

/// Answers a request; `excess` is the number of wrongly decoded pixels.
pub fn answer(request: &Value) -> Result<Value, String> {
    let name = request["tier"].as_str().unwrap_or("scalar");
    let tier = if name == "best" { Ok(Tier::current()) } else { Tier::by_name(name) };
    let Ok(tier) = tier else {
        return Ok(json!({"unsupported": format!("this machine has no tier {name:?}")}));
    };
    let tiles = match request["tiles"].as_str() {
        Some("rows") => Tiles { shape: [3000, 1], batch: 80 },
        Some("squares") => Tiles { shape: [256, 256], batch: 16 },
        other => return Err(format!("no tiles {other:?}; there are rows and squares")),
    };
    let times = request["times"].as_u64().unwrap_or(1);
    let (fastest, wrong) = match request["pixels"].as_str() {
        None | Some("i16") => tiles.integers(tier, times)?,
        Some("f32") => tiles.floats(tier, times)?,
        Some(other) => return Err(format!("no pixels {other:?}; there are i16 and f32")),
    };
    let pixels = (tiles.count() * tiles.length()) as f64;
    let seconds = fastest.as_secs_f64() * PIXELS as f64 / pixels;
    Ok(json!({"seconds": seconds, "answer": {"excess": wrong as f64}}))
}

/// Tiles of noise, and how many are decoded at a time.
struct Tiles {
    shape: [u64; 2],
    batch: usize,
}

impl Tiles {
    fn length(&self) -> usize {
        (self.shape[0] * self.shape[1]) as usize
    }

    fn count(&self) -> usize {
        PIXELS / self.length()
    }

    /// Decodes 16-bit integers; returns the fastest pass and the number of wrong pixels.
    fn integers(&self, tier: Tier, times: u64) -> Result<(Duration, usize), String> {
        let mut noise = Noise(1);
        let tile = |_| (0..self.length()).map(|_| noise.pixel(13) as i16).collect();
        let plain: Vec<Vec<i16>> = (0..self.count()).map(tile).collect();
        let codec = Rice::for_width(2);
        let streams = self.streams(&codec, plain.iter().map(|pixels| Pixels::I16(pixels)))?;
        let (mut out, mut scratch) = (plain.clone(), CodecScratch::new());
        out.iter_mut().for_each(|tile| tile.fill(0));
        let mut fastest = Duration::MAX;
        for _ in 0..times {
            let start = Instant::now();
            for (streams, out) in streams.chunks(self.batch).zip(out.chunks_mut(self.batch)) {
                let out = black_box(out).iter_mut().map(|pixels| PixelsMut::I16(pixels));
                self.decode(&codec, streams, out, tier, &mut scratch)?;
            }
            fastest = fastest.min(start.elapsed());
        }
        Ok((fastest, wrong(&plain, &out)))
    }

    /// Decodes quantised floats; returns the fastest pass and the number of wrong integers.
    fn floats(&self, tier: Tier, times: u64) -> Result<(Duration, usize), String> {
        let mut noise = Noise(1);
        let tile = |_| (0..self.length()).map(|_| noise.pixel(14) as i32).collect();
        let plain: Vec<Vec<i32>> = (0..self.count()).map(tile).collect();
        let codec = Rice::for_width(4);
        let streams = self.streams(&codec, plain.iter().map(|pixels| Pixels::I32(pixels)))?;
        let mut integers = vec![vec![0; self.length()]; self.batch];
        let (mut out, mut scratch) =
            (vec![0f32; self.length() * self.count()], CodecScratch::new());
        let (mut fastest, mut errors) = (Duration::MAX, 0);
        for pass in 0..=times {
            let start = Instant::now();
            let batches = streams.chunks(self.batch).zip(plain.chunks(self.batch));
            let outputs = black_box(&mut out[..]).chunks_mut(self.batch * self.length());
            for ((streams, plain), out) in batches.zip(outputs) {
                let pixels = integers.iter_mut().map(|pixels| PixelsMut::I32(pixels));
                self.decode(&codec, streams, pixels, tier, &mut scratch)?;
                for (row, out) in out.chunks_mut(self.length()).enumerate() {
                    let quantiser = Quantiser {
                        scale: 2.0,
                        zero: 1000.0,
                        blank: None,
                        exact_zero: None,
                        dither: Some(row),
                    };
                    dequantise_f32(&integers[row], &quantiser, ByteOrder::Native, tier, out);
                }
                if pass == times {
                    errors += wrong(plain, &integers);
                }
            }
            if pass < times {
                fastest = fastest.min(start.elapsed());
            }
        }
        Ok((fastest, errors))
    }

    /// Compresses tiles.
    fn streams<'a>(
        &self,
        codec: &Rice,
        tiles: impl Iterator<Item = Pixels<'a>>,
    ) -> Result<Vec<Vec<u8>>, String> {
        let mut scratch = CodecScratch::new();
        let streams = tiles.map(|pixels| {
            let mut stream = Vec::new();
            let tile = PlainTile { shape: &self.shape, pixels };
            codec.encode(&tile, &mut scratch, &mut stream).map(|()| stream)
        });
        streams.collect::<Result<_, _>>().map_err(|error| format!("{error:?}"))
    }

    /// Decodes a batch of tiles.
    fn decode<'a>(
        &self,
        codec: &Rice,
        streams: &[Vec<u8>],
        out: impl Iterator<Item = PixelsMut<'a>>,
        tier: Tier,
        scratch: &mut CodecScratch,
    ) -> Result<(), String> {
        let tiles = streams.iter().zip(out);
        let mut tiles: Vec<Tile<'_>> =
            tiles.map(|(stream, pixels)| Tile { stream, shape: &self.shape, pixels }).collect();
        let results = decode_tiles(codec, &mut tiles, ByteOrder::Native, tier, scratch);
        results.into_iter().collect::<Result<(), _>>().map_err(|error| format!("{error:?}"))
    }
}

/// Counts the pixels that differ.
fn wrong<P: PartialEq>(plain: &[Vec<P>], decoded: &[Vec<P>]) -> usize {
    plain.iter().flatten().zip(decoded.iter().flatten()).filter(|(a, b)| a != b).count()
}

/// Approximately normal noise.
struct Noise(u64);

impl Noise {
    /// A pixel of about 1000, with a standard deviation of 8 for a shift of 13 and of 4 for one of 14.
    fn pixel(&mut self, shift: u32) -> i64 {
        let sum: i64 = (0..12).map(|_| self.uniform()).sum();
        1000 + ((sum - 6 * 65_536) >> shift)
    }

    /// From 0 to 65535.
    fn uniform(&mut self) -> i64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 48) as i64
    }
}
