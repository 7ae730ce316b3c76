//! A kernel over 256 KiB in the second-level cache, on a tier that the request names. The seconds are those of a gigabyte at
//! the speed of the fastest pass: what interrupts a pass only ever slows it.

use serde_json::{Value, json};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tachyfits_kernels::{Encoding, PixelType, Stats, Tier, decode_native};

/// Bytes that each pass takes.
const BYTES: usize = 256 << 10;

/// The stored value of undefined integers.
const BLANK: i16 = -99;

/// Answers a request; `excess` is how many pixels were counted wrongly.
pub fn answer(request: &Value) -> Result<Value, String> {
    let name = request["tier"].as_str().unwrap_or("scalar");
    let Ok(tier) = Tier::by_name(name) else {
        return Ok(json!({"unsupported": format!("this machine has no tier {name:?}")}));
    };
    let pixel = match request["type"].as_str() {
        Some("i16") => PixelType::I16,
        Some("i32") => PixelType::I32,
        Some("f32") => PixelType::F32,
        other => return Err(format!("no pixel type {other:?}")),
    };
    let (bytes, undefined) = pixels(pixel);
    let times = request["times"].as_u64().unwrap_or(1);
    let mut out = vec![0; BYTES];
    let mut stats = Stats::default();
    let scaled = pixel == PixelType::I16;
    let encoding = Encoding {
        scaling: scaled.then_some((0.25, 100.0)),
        blank: scaled.then_some(BLANK.into()),
        ..Encoding::plain(pixel)
    };
    let decodes = request["operation"] == "native";
    let mut fastest = Duration::MAX;
    for _ in 0..times {
        let start = Instant::now();
        if decodes {
            decode_native(black_box(&bytes), pixel, tier, black_box(&mut out));
        } else {
            stats = Stats::default();
            stats.accumulate(black_box(&bytes), &encoding, tier, 0);
        }
        fastest = fastest.min(start.elapsed());
    }
    let seconds = fastest.as_secs_f64() * 1e9 / BYTES as f64;
    let excess = if decodes {
        let turned = |(file, native): (&[u8], &[u8])| file.iter().eq(native.iter().rev());
        let pairs = bytes.chunks_exact(pixel.bytes()).zip(out.chunks_exact(pixel.bytes()));
        pairs.filter(|&pair| !turned(pair)).count() as f64
    } else {
        stats.nan as f64 - undefined as f64
    };
    Ok(json!({"seconds": seconds, "answer": {"excess": excess}}))
}

/// Big-endian pixels between 0 and 100, one in sixteen undefined where the type says so, and how many are.
fn pixels(pixel: PixelType) -> (Vec<u8>, u64) {
    let (mut state, mut undefined) = (1u64, 0);
    let mut bytes = Vec::with_capacity(BYTES);
    while bytes.len() < BYTES {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let hole = (state >> 40).is_multiple_of(16);
        undefined += u64::from(hole);
        let value = ((state >> 33) % 100) as i16;
        match pixel {
            PixelType::I16 => bytes.extend((if hole { BLANK } else { value }).to_be_bytes()),
            PixelType::I32 => bytes.extend(i32::from(value).to_be_bytes()),
            _ => bytes.extend((if hole { f32::NAN } else { value.into() }).to_be_bytes()),
        }
    }
    (bytes, undefined)
}
