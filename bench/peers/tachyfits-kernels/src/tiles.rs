//! RICE_1 from memory to native arrays: 9 million pixels of noise in tiles, a batch at a time as reading a file decodes
//! them. The seconds are those of the fastest pass: what interrupts a pass only ever slows it.

use serde_json::{Value, json};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tachyfits::{ByteOrder, Tier, decode_tiles};
use tachyfits_format::{CodecScratch, Pixels, PixelsMut, PlainTile, Rice, Tile, TileCodec};

/// Pixels that are decoded, but for the rest of a tile.
const PIXELS: usize = 9_000_000;

/// Answers a request; `excess` is how many pixels were decoded wrongly.
pub fn answer(request: &Value) -> Result<Value, String> {
    let name = request["tier"].as_str().unwrap_or("scalar");
    let Ok(tier) = Tier::by_name(name) else {
        return Ok(json!({"unsupported": format!("this machine has no tier {name:?}")}));
    };
    let (shape, batch) = match request["tiles"].as_str() {
        Some("rows") => ([3000, 1], 80),
        Some("squares") => ([256, 256], 16),
        other => return Err(format!("no tiles {other:?}; there are rows and squares")),
    };
    let length = (shape[0] * shape[1]) as usize;
    let mut noise = Noise(1);
    let plain: Vec<Vec<i16>> =
        (0..PIXELS / length).map(|_| (0..length).map(|_| noise.pixel()).collect()).collect();
    let (codec, mut scratch) = (Rice::for_width(2), CodecScratch::new());
    let streams = plain.iter().map(|pixels| {
        let mut stream = Vec::new();
        let tile = PlainTile { shape: &shape, pixels: Pixels::I16(pixels) };
        codec.encode(&tile, &mut scratch, &mut stream).map(|()| stream)
    });
    let streams: Vec<Vec<u8>> =
        streams.collect::<Result<_, _>>().map_err(|error| format!("{error:?}"))?;
    let mut out = vec![vec![0i16; length]; plain.len()];
    let mut fastest = Duration::MAX;
    for _ in 0..request["times"].as_u64().unwrap_or(1) {
        let start = Instant::now();
        for (streams, out) in streams.chunks(batch).zip(out.chunks_mut(batch)) {
            let mut tiles: Vec<Tile<'_>> = streams
                .iter()
                .zip(black_box(out))
                .map(|(stream, pixels)| Tile {
                    stream,
                    shape: &shape,
                    pixels: PixelsMut::I16(pixels),
                })
                .collect();
            let results = decode_tiles(&codec, &mut tiles, ByteOrder::Native, tier, &mut scratch);
            results.into_iter().collect::<Result<(), _>>().map_err(|error| format!("{error:?}"))?;
        }
        fastest = fastest.min(start.elapsed());
    }
    let wrong = plain.iter().flatten().zip(out.iter().flatten()).filter(|(a, b)| a != b).count();
    let seconds = fastest.as_secs_f64() * PIXELS as f64 / (plain.len() * length) as f64;
    Ok(json!({"seconds": seconds, "answer": {"excess": wrong as f64}}))
}

/// About normal noise of a standard deviation of 8.
struct Noise(u64);

impl Noise {
    fn pixel(&mut self) -> i16 {
        let sum: i64 = (0..12).map(|_| self.uniform()).sum();
        (1000 + ((sum - 6 * 65_536) >> 13)) as i16
    }

    /// From 0 to 65535.
    fn uniform(&mut self) -> i64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 48) as i64
    }
}
