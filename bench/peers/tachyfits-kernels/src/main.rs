//! The kernels alone, on arrays in memory: no file, no engine.
//!
//! One request per line on stdin, one reply per line on stdout, both JSON. Two models: `array-sum` sums an array of
//! pseudo-random integers stored in either byte order, `image-sum` the pixels of a FITS image held in memory in native
//! order. Arrays are made before the clock starts and kept for the next request.

use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::time::Instant;
use tachyfits_kernels::{ByteOrder, Encoding, LEAF_PIXELS, PixelType, Sum, Tier};

/// Cache line and widest vector: arrays start at a multiple of it.
const ALIGNMENT: usize = 64;

/// Bytes that start at a multiple of [`ALIGNMENT`].
struct Aligned {
    store: Vec<u8>,
    skip: usize,
    bytes: usize,
}

impl Aligned {
    fn new(bytes: usize) -> Aligned {
        let store = vec![0; bytes + ALIGNMENT];
        let skip = store.as_ptr().align_offset(ALIGNMENT);
        Aligned { store, skip, bytes }
    }

    fn get(&self) -> &[u8] {
        &self.store[self.skip..self.skip + self.bytes]
    }

    fn get_mut(&mut self) -> &mut [u8] {
        &mut self.store[self.skip..self.skip + self.bytes]
    }
}

/// An array in memory, what it was made from, and the sum that is known from its making.
struct Held {
    made_from: String,
    array: Aligned,
    pixel: PixelType,
    known_sum: Option<f64>,
}

/// Pixel type by the name that NumPy has for it.
fn pixel_type(name: &str) -> Result<PixelType, String> {
    match name {
        "i16" => Ok(PixelType::I16),
        "i32" => Ok(PixelType::I32),
        "f32" => Ok(PixelType::F32),
        "f64" => Ok(PixelType::F64),
        _ => Err(format!("no pixel type {name:?}")),
    }
}

/// `bytes` of integers between -15000 and 15010 in the order asked for, and their exact sum.
fn pseudo_random(pixel: PixelType, order: ByteOrder, bytes: usize) -> (Aligned, f64) {
    let mut array = Aligned::new(bytes);
    let width = pixel.bytes();
    let (mut state, mut sum) = (1u64, 0i64);
    for place in array.get_mut().chunks_exact_mut(width) {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = ((state >> 33) % 30011) as i64 - 15000;
        sum += value;
        match pixel {
            PixelType::I16 => place.copy_from_slice(&(value as i16).to_be_bytes()),
            PixelType::I32 => place.copy_from_slice(&(value as i32).to_be_bytes()),
            PixelType::F32 => place.copy_from_slice(&(value as f32).to_be_bytes()),
            _ => place.copy_from_slice(&(value as f64).to_be_bytes()),
        }
        if order == ByteOrder::Native && cfg!(target_endian = "little") {
            place.reverse();
        }
    }
    (array, sum as f64)
}

/// The pixels of the primary image in native order, by the few keywords that say where they are.
fn image(path: &str) -> Result<(Aligned, PixelType), String> {
    use std::io::Read;
    let mut file = std::fs::File::open(path).map_err(|e| format!("{path}: {e}"))?;
    let (mut bitpix, mut pixels, mut block) = (0i64, 1usize, [0u8; 2880]);
    'header: loop {
        file.read_exact(&mut block).map_err(|e| format!("{path}: header: {e}"))?;
        for card in block.chunks_exact(80).map(String::from_utf8_lossy) {
            let value = card.get(10..).unwrap_or("").split('/').next().unwrap_or("").trim();
            match card.get(..8).unwrap_or("").trim_end() {
                "BITPIX" => bitpix = value.parse().map_err(|e| format!("BITPIX: {e}"))?,
                "END" => break 'header,
                name if name.len() > 5 && name.starts_with("NAXIS") => {
                    pixels *= value.parse::<usize>().map_err(|e| format!("{name}: {e}"))?;
                }
                _ => {}
            }
        }
    }
    let pixel = match bitpix {
        16 => PixelType::I16,
        32 => PixelType::I32,
        -32 => PixelType::F32,
        -64 => PixelType::F64,
        _ => return Err(format!("{path}: BITPIX = {bitpix} is not among the inputs")),
    };
    let mut array = Aligned::new(pixels * pixel.bytes());
    file.read_exact(array.get_mut()).map_err(|e| format!("{path}: pixels: {e}"))?;
    if cfg!(target_endian = "little") {
        array.get_mut().chunks_exact_mut(pixel.bytes()).for_each(<[u8]>::reverse);
    }
    Ok((array, pixel))
}

/// Sums `bytes` with `threads` threads, a contiguous run of whole leaves each.
fn sum(bytes: &[u8], encoding: &Encoding, threads: usize, tier: Tier) -> f64 {
    let leaf = LEAF_PIXELS * encoding.pixel_bytes();
    let share = bytes.len().div_ceil(leaf).div_ceil(threads.max(1)).max(1) * leaf;
    let one = |part: &[u8]| {
        let mut state = Sum::default();
        state.accumulate(part, encoding, tier);
        state
    };
    let mut whole = Sum::default();
    std::thread::scope(|scope| {
        let mut parts = bytes.chunks(share);
        let first = parts.next().unwrap_or_default();
        let rest: Vec<_> = parts.map(|part| scope.spawn(move || one(part))).collect();
        whole.merge(&one(first));
        for part in rest {
            whole.merge(&part.join().expect("a summing thread ends"));
        }
    });
    whole.sum.value()
}

/// The array that `request` asks for.
fn make(request: &Value, order: ByteOrder, made_from: String) -> Result<Held, String> {
    if request["model"] == "image-sum" {
        let (array, pixel) = image(request["path"].as_str().unwrap_or(""))?;
        return Ok(Held { made_from, array, pixel, known_sum: None });
    }
    let full = request["bytes"].as_u64().unwrap_or(1 << 30) as usize;
    let bytes = if request["small"] == true { full.min(1 << 26) } else { full };
    let pixel = pixel_type(request["type"].as_str().unwrap_or(""))?;
    let (array, sum) = pseudo_random(pixel, order, bytes);
    Ok(Held { made_from, array, pixel, known_sum: Some(sum) })
}

/// The held array that `request` asks for, made first where needed, and what its bytes mean.
fn prepare<'a>(held: &'a mut Vec<Held>, request: &Value) -> Result<(&'a Held, Encoding), String> {
    let order = match request["order"].as_str() {
        Some("big-endian") => ByteOrder::BigEndian,
        Some("native") | None => ByteOrder::Native,
        Some(other) => return Err(format!("no byte order {other:?}")),
    };
    let parts = ["path", "type", "order", "bytes"].map(|key| request[key].to_string());
    let wanted = parts.join(" ");
    let place = match held.iter().position(|array| array.made_from == wanted) {
        Some(place) => place,
        None => {
            held.push(make(request, order, wanted)?);
            held.len() - 1
        }
    };
    let array = &held[place];
    let encoding = Encoding { pixel: array.pixel, order, scaling: None, blank: None };
    Ok((array, encoding))
}

/// Answers one request; `times` says how often the array is summed within the clock, for arrays in cache.
fn answer(held: &mut Vec<Held>, line: &str, tier: Tier) -> Result<Value, String> {
    let request: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    if !matches!(request["model"].as_str(), Some("array-sum" | "image-sum")) {
        return Ok(json!({"unsupported": format!("no model {}", request["model"])}));
    }
    let threads = request["threads"].as_u64().unwrap_or(1) as usize;
    let times = request["times"].as_u64().unwrap_or(1);
    let (array, encoding) = prepare(held, &request)?;
    let mut found = 0.0;
    let start = Instant::now();
    for _ in 0..times {
        found = std::hint::black_box(sum(array.array.get(), &encoding, threads, tier));
    }
    let seconds = start.elapsed().as_secs_f64() / times as f64;
    let excess = array.known_sum.map(|known| found - known);
    Ok(json!({"seconds": seconds, "answer": {"sum": found, "excess": excess}}))
}

fn main() {
    let tier = Tier::current().unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2)
    });
    if std::env::args().any(|argument| argument == "--version") {
        println!("tachyfits-kernels, tier {}", tier.name());
        return;
    }
    let mut held = Vec::new();
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let reply = answer(&mut held, &line, tier).unwrap_or_else(|error| json!({"error": error}));
        if writeln!(out, "{reply}").and_then(|()| out.flush()).is_err() {
            return; // the harness has gone
        }
    }
}
