//! The kernels alone, on arrays in memory: no file, no engine.
//!
//! One request per line on stdin, one reply per line on stdout, both JSON. Five models: `array-sum` sums an array of
//! pseudo-random integers stored in either byte order, `image-sum` the pixels of a FITS image held in memory in native
//! order; `convert` swaps the bytes of numbers in memory; `in-cache` runs a kernel over an array in cache, and `tiles`
//! decodes tiles in memory. Arrays are made before the clock starts; those of the first three are kept for the next request.

mod array;
mod convert;
mod in_cache;
mod tiles;

use array::{Array, Held};
use convert::Numbers;
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::time::Instant;
use tachyfits_kernels::{ByteOrder, Encoding, LEAF_PIXELS, Sum, Tier};

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

/// The held array that `request` asks for, made first where needed.
fn prepare<'a>(held: &'a mut Vec<Held>, request: &Value) -> Result<&'a Held, String> {
    let keys = ["model", "path", "type", "bytes", "pages"];
    let wanted = keys.map(|key| request[key].to_string()).join(" ");
    let place = match held.iter().position(|array| array.made_from == wanted) {
        Some(place) => place,
        None => {
            held.push(Held::make(request, wanted)?);
            held.len() - 1
        }
    };
    held[place].turn(byte_order(request["order"].as_str().unwrap_or("native"))?);
    Ok(&held[place])
}

/// Answers one request; `times` says how often the array is summed within the clock, for arrays in cache.
fn answer(
    held: &mut Vec<Held>,
    numbers: &mut Option<Numbers>,
    line: &str,
    tier: Tier,
) -> Result<Value, String> {
    let request: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    if request["model"] == "convert" {
        return convert::answer(numbers, &request, tier);
    }
    if request["model"] == "in-cache" {
        return in_cache::answer(&request);
    }
    if request["model"] == "tiles" {
        return tiles::answer(&request);
    }
    if !matches!(request["model"].as_str(), Some("array-sum" | "image-sum")) {
        return Ok(json!({"unsupported": format!("no model {}", request["model"])}));
    }
    let threads = request["threads"].as_u64().unwrap_or(1) as usize;
    let times = request["times"].as_u64().unwrap_or(1);
    let Held { array: Array { memory }, pixel, order, known_sum, .. } = prepare(held, &request)?;
    let encoding = Encoding { pixel: *pixel, order: *order, scaling: None, blank: None };
    let mut found = 0.0;
    let start = Instant::now();
    for _ in 0..times {
        found = sum(std::hint::black_box(memory), &encoding, threads, tier);
    }
    let seconds = start.elapsed().as_secs_f64() / times as f64;
    let excess = known_sum.map(|known| found - known);
    let answer = json!({"sum": found, "excess": excess});
    Ok(json!({"seconds": seconds, "bytes": memory.len(), "answer": answer}))
}

/// The byte order of that name.
fn byte_order(name: &str) -> Result<ByteOrder, String> {
    match name {
        "big-endian" => Ok(ByteOrder::BigEndian),
        "native" => Ok(ByteOrder::Native),
        _ => Err(format!("no byte order {name:?}; there are big-endian and native")),
    }
}

fn main() {
    // A benchmark must not measure another tier than the requested one.
    if let Err(error) = Tier::requested() {
        eprintln!("{error}");
        std::process::exit(2)
    }
    let tier = Tier::current();
    if std::env::args().any(|argument| argument == "--version") {
        println!("tachyfits-kernels, tier {}", tier.name());
        return;
    }
    let (mut held, mut numbers) = (Vec::new(), None);
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let reply = answer(&mut held, &mut numbers, &line, tier)
            .unwrap_or_else(|error| json!({"error": error}));
        if writeln!(out, "{reply}").and_then(|()| out.flush()).is_err() {
            return; // the harness has gone
        }
    }
}
