//! Prints how fast each kernel is on data in cache: GB/s of input, per kernel, pixel encoding and vector tier.
//!
//! ```sh
//! cargo run --release -p tachyfits-kernels --example in_cache             # everything, a few minutes
//! cargo run --release -p tachyfits-kernels --example in_cache stats f32   # lines that contain all of these words
//! ```
//!
//! A tool for tuning kernels. It prints the best of many short runs on 256 KiB of pixels in the
//! second-level cache, so it shows the limit of the code and not of a file, which `bench/`
//! measures. "nan" has one NaN or BLANK in sixteen pixels, placed irregularly; the other encodings
//! have none.

use std::hint::black_box;
use std::time::{Duration, Instant};
use tachyfits_kernels::{
    ByteOrder, Encoding, ExtremaRows, Histogram, HistogramRange, MomentRows, PixelType,
    SpectralRows, Stats, Sum, SumRows, Tier, decode_f32, decode_f64, decode_native,
};

/// Bytes per run.
const BYTES: usize = 256 * 1024;
/// Measuring time per cell of the table.
const PATIENCE: Duration = Duration::from_millis(60);
/// Stored value of undefined pixels. Defined pixels of this program are never that small.
const BLANK: i64 = -99;

type Run = Box<dyn FnMut(Tier)>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let tiers = Tier::available();
    print!("{:<22} {:<16}", "GB/s of input", "pixels");
    tiers.iter().for_each(|tier| print!(" {:>10}", tier.name()));
    println!();
    for kernel in KERNELS {
        for (encoding, undefined, label) in encodings() {
            let line = format!("{:<22} {label:<16}", kernel.0);
            if !words.iter().all(|word| line.split_whitespace().any(|part| part == word)) {
                continue;
            }
            let bytes = pixels(&encoding, undefined);
            let mut run = (kernel.1)(bytes, encoding);
            let speeds: Vec<f64> = tiers.iter().map(|&tier| best_speed(&mut run, tier)).collect();
            print!("{line}");
            speeds.iter().for_each(|speed| print!(" {speed:>10.2}"));
            println!();
        }
    }
}

/// Measures the best speed of many runs, in GB/s: interruptions only slow a run down.
fn best_speed(run: &mut Run, tier: Tier) -> f64 {
    let mut best = Duration::MAX;
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let start = Instant::now();
        run(tier);
        best = best.min(start.elapsed());
    }
    BYTES as f64 / best.as_nanos() as f64
}

/// Lists the measured encodings: whether some pixels are undefined, and the label of the table.
fn encodings() -> Vec<(Encoding, bool, String)> {
    let mut encodings = Vec::new();
    for pixel in PixelType::ALL {
        let name = format!("{pixel:?}").to_lowercase();
        let plain = Encoding::plain(pixel);
        encodings.push((plain, false, name.clone()));
        encodings.push((
            Encoding { order: ByteOrder::Native, ..plain },
            false,
            format!("{name} native"),
        ));
        let scaled = Encoding { scaling: Some((0.25, 100.0)), ..plain };
        if pixel.is_float() {
            encodings.push((plain, true, format!("{name} nan")));
        } else {
            let blank = Encoding { blank: Some(BLANK), ..scaled };
            encodings.push((blank, false, format!("{name} scaled")));
            encodings.push((blank, true, format!("{name} scaled nan")));
        }
    }
    encodings.retain(|(encoding, ..)| encoding.is_supported());
    encodings
}

/// Returns pixels spread over 0 to 100, in the stored form of `encoding`.
fn pixels(encoding: &Encoding, undefined: bool) -> Vec<u8> {
    let count = BYTES / encoding.pixel_bytes();
    let mut state = 1u64;
    let mut bytes = Vec::with_capacity(BYTES);
    for _ in 0..count {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let hole = undefined && (state >> 40).is_multiple_of(16);
        let value = (state >> 33) as f64 / 2f64.powi(31) * 100.0;
        let mut pixel = stored(encoding.pixel, value, hole);
        if encoding.order == ByteOrder::Native && cfg!(target_endian = "little") {
            pixel.reverse();
        }
        bytes.extend(pixel);
    }
    bytes
}

/// Returns one pixel in its FITS representation.
fn stored(pixel: PixelType, value: f64, hole: bool) -> Vec<u8> {
    let integer = if hole { BLANK } else { value as i64 };
    match pixel {
        PixelType::U8 | PixelType::I8 => (integer as u8).to_be_bytes().to_vec(),
        PixelType::I16 | PixelType::U16 => (integer as i16).to_be_bytes().to_vec(),
        PixelType::I32 | PixelType::U32 => (integer as i32).to_be_bytes().to_vec(),
        PixelType::I64 | PixelType::U64 => integer.to_be_bytes().to_vec(),
        PixelType::F32 => (if hole { f32::NAN } else { value as f32 }).to_be_bytes().to_vec(),
        PixelType::F64 => (if hole { f64::NAN } else { value }).to_be_bytes().to_vec(),
    }
}

/// Constructor of a kernel's run over the bytes of an encoding.
type Maker = fn(Vec<u8>, Encoding) -> Run;

const KERNELS: &[(&str, Maker)] = &[
    ("sum", |bytes, encoding| {
        Box::new(move |tier| {
            let mut state = Sum::default();
            state.accumulate(black_box(&bytes), &encoding, tier);
            black_box(state);
        })
    }),
    ("stats", |bytes, encoding| {
        Box::new(move |tier| {
            let mut state = Stats::default();
            state.accumulate(black_box(&bytes), &encoding, tier, 0);
            black_box(state);
        })
    }),
    ("sum-rows", |bytes, encoding| {
        Box::new(move |tier| {
            let rows: Vec<&[u8]> = rows(&bytes, &encoding).collect();
            black_box(SumRows::slab(TILE_PIXELS, black_box(&rows), &encoding, tier));
        })
    }),
    ("moment-rows", |bytes, encoding| {
        Box::new(move |tier| {
            let rows: Vec<&[u8]> = rows(&bytes, &encoding).collect();
            black_box(MomentRows::slab(TILE_PIXELS, black_box(&rows), &encoding, tier));
        })
    }),
    ("extrema-rows", |bytes, encoding| {
        Box::new(move |tier| {
            let rows: Vec<&[u8]> = rows(&bytes, &encoding).collect();
            let numbers: Vec<u64> = (0..rows.len() as u64).collect();
            let rows = black_box(&rows);
            black_box(ExtremaRows::slab(TILE_PIXELS, rows, &numbers, &encoding, tier));
        })
    }),
    ("spectral-rows", |bytes, encoding| {
        Box::new(move |tier| {
            let rows: Vec<&[u8]> = rows(&bytes, &encoding).collect();
            let numbers: Vec<f64> = (0..rows.len()).map(|number| number as f64).collect();
            let rows = black_box(&rows);
            black_box(SpectralRows::slab(TILE_PIXELS, rows, &numbers, &encoding, tier));
        })
    }),
    ("histogram", |bytes, encoding| {
        let range =
            HistogramRange::new(0.0, 125.0, 256).expect("memory").expect("a range with bins");
        let mut state = Histogram::new(range).expect("memory");
        Box::new(move |tier| state.accumulate(black_box(&bytes), &encoding, tier))
    }),
    ("decode-f64", |bytes, encoding| {
        let mut out = vec![0.0; bytes.len() / encoding.pixel_bytes()];
        Box::new(move |tier| decode_f64(black_box(&bytes), &encoding, tier, black_box(&mut out)))
    }),
    ("decode-f32", |bytes, encoding| {
        let mut out = vec![0.0; bytes.len() / encoding.pixel_bytes()];
        Box::new(move |tier| decode_f32(black_box(&bytes), &encoding, tier, black_box(&mut out)))
    }),
    ("decode-native", |bytes, encoding| {
        let mut out = vec![0; bytes.len()];
        Box::new(move |tier| {
            decode_native(black_box(&bytes), encoding.pixel, tier, black_box(&mut out));
        })
    }),
];

/// Outputs per tile in reductions of rows.
const TILE_PIXELS: usize = 1024;

/// Iterates over the rows of one tile.
fn rows<'a>(bytes: &'a [u8], encoding: &Encoding) -> impl Iterator<Item = &'a [u8]> {
    black_box(bytes).chunks_exact(TILE_PIXELS * encoding.pixel_bytes())
}
