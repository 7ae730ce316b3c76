//! Arrays in memory, made before a clock starts: pseudo-random integers, or the pixels of a file in native order.
//!
//! Every array is memory of its own from the system, touched first by the one thread that fills it. `pages` asks for
//! "2 MiB" (MADV_HUGEPAGE) or "4 KiB" ones: a sum over small pages may spend part of its time looking addresses up,
//! which a read from the page cache, through the system's own map of all memory, does not. Two byte orders that are
//! compared take turns in the same memory: of two arrays one may lie in a better place, by up to a tenth on machines that
//! share their memory with others. A system without huge pages gives small ones to all; the host's `huge_pages` in the
//! record tells.

use crate::byte_order;
use memmap2::{Advice, MmapMut, MmapOptions};
use serde_json::Value;
use std::io::{Read, Seek, SeekFrom};
use tachyfits_kernels::{ByteOrder, PixelType};

/// Bytes that start at a page.
pub struct Array {
    /// The bytes.
    pub memory: MmapMut,
}

impl Array {
    /// Memory from the system, not touched yet.
    pub fn new(bytes: usize, huge_pages: bool) -> Result<Array, String> {
        let memory = MmapOptions::new().len(bytes).map_anon().map_err(|e| e.to_string())?;
        let advice = if huge_pages { Advice::HugePage } else { Advice::NoHugePage };
        let _ = memory.advise(advice); // EINVAL where the system has no huge pages
        Ok(Array { memory })
    }
}

/// An array, what it was made from, what its bytes mean, and the sum that is known from its making.
pub struct Held {
    /// The parts of the request that it answers.
    pub made_from: String,
    /// The bytes.
    pub array: Array,
    /// Their type.
    pub pixel: PixelType,
    /// Their byte order.
    pub order: ByteOrder,
    /// Exact sum of the integers, where the array was made of them.
    pub known_sum: Option<f64>,
}

impl Held {
    /// Has the numbers there in this byte order.
    pub fn turn(&mut self, order: ByteOrder) {
        if self.order != order && cfg!(target_endian = "little") {
            let bytes = self.pixel.bytes();
            self.array.memory.chunks_exact_mut(bytes).for_each(<[u8]>::reverse);
        }
        self.order = order;
    }

    /// The array that `request` asks for.
    pub fn make(request: &Value, made_from: String) -> Result<Held, String> {
        let order = byte_order(request["order"].as_str().unwrap_or("native"))?;
        let huge_pages = request["pages"] == "2 MiB";
        if request["model"] == "image-sum" {
            let (array, pixel) = image(request, huge_pages)?;
            return Ok(Held { made_from, array, pixel, order: ByteOrder::Native, known_sum: None });
        }
        let full = request["bytes"].as_u64().unwrap_or(1 << 30) as usize;
        let bytes = if request["small"] == true { full.min(1 << 26) } else { full };
        let pixel = pixel_type(request["type"].as_str().unwrap_or(""))?;
        let mut array = Array::new(bytes, huge_pages)?;
        let sum = fill(&mut array.memory, pixel, order);
        Ok(Held { made_from, array, pixel, order, known_sum: Some(sum) })
    }
}

/// Pixel type by name, as definitions and NumPy write it.
fn pixel_type(name: &str) -> Result<PixelType, String> {
    match name {
        "i16" | "i2" => Ok(PixelType::I16),
        "i32" | "i4" => Ok(PixelType::I32),
        "f32" | "f4" => Ok(PixelType::F32),
        "f64" | "f8" => Ok(PixelType::F64),
        _ => Err(format!("no pixel type {name:?}")),
    }
}

/// Fills `bytes` with integers between -15000 and 15010 and gives their exact sum.
fn fill(bytes: &mut [u8], pixel: PixelType, order: ByteOrder) -> f64 {
    let (mut state, mut sum) = (1u64, 0i64);
    for place in bytes.chunks_exact_mut(pixel.bytes()) {
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
    sum as f64
}

/// The pixels of the file in native order; the harness, which made the file, says where in it they are.
fn image(request: &Value, huge_pages: bool) -> Result<(Array, PixelType), String> {
    let path = request["path"].as_str().unwrap_or("");
    let pixel = pixel_type(request["pixels"]["type"].as_str().unwrap_or(""))?;
    let shape = request["pixels"]["shape"].as_array().ok_or("pixels.shape is not a list")?;
    let count: u64 = shape.iter().filter_map(Value::as_u64).product();
    let mut array = Array::new(count as usize * pixel.bytes(), huge_pages)?;
    let offset = request["pixels"]["offset"].as_u64().ok_or("pixels.offset is not a number")?;
    #[expect(clippy::disallowed_methods, reason = "a runner beside the project; it names the path")]
    let mut file = std::fs::File::open(path).map_err(|e| format!("{path}: {e}"))?;
    file.seek(SeekFrom::Start(offset))
        .and_then(|_| file.read_exact(&mut array.memory))
        .map_err(|e| format!("{path}: pixels at byte {offset}: {e}"))?;
    if cfg!(target_endian = "little") {
        array.memory.chunks_exact_mut(pixel.bytes()).for_each(<[u8]>::reverse);
    }
    Ok((array, pixel))
}
