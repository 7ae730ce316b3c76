//! The byte order of 64-bit numbers in memory, swapped where they are: what `../endian` measures of S. Eguchi's algorithms, which
//! says what a request and its reply mean.

use crate::Array;
use serde_json::{Value, json};
use std::time::Instant;
use tachyfits_kernels::{Tier, swap_in_place};

/// Bytes that an array may begin after a page, and where malloc has a large one begin.
const MOST_OFFSET: usize = 64;
const USUAL_OFFSET: usize = 16;

/// The numbers, and what belongs to them.
pub struct Numbers {
    array: Array,
    offset: usize,
    bytes: usize,
    swapped: bool,
    fingerprints: [u64; 2],
    random: u64,
}

/// The next state of a linear congruential generator, whose upper bits are random enough.
fn next(state: u64) -> u64 {
    state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407)
}

/// Sums the numbers modulo 2^64, each times an odd number of its own, which a wrong number changes.
fn fingerprint(bytes: &[u8], of: fn(u64) -> u64) -> u64 {
    bytes.as_chunks().0.iter().zip(0..).fold(0, |sum: u64, (number, i)| {
        sum.wrapping_add(of(u64::from_ne_bytes(*number)).wrapping_mul(2 * i + 1))
    })
}

impl Numbers {
    fn make(count: usize) -> Result<Numbers, String> {
        let bytes = 8 * count;
        let mut array = Array::new(bytes + MOST_OFFSET, false)?;
        let numbers = &mut array.memory[USUAL_OFFSET..USUAL_OFFSET + bytes];
        let mut state = 1;
        for number in numbers.as_chunks_mut().0 {
            state = next(state);
            let real = -1000.0 + 2000.0 * ((state >> 32) as f64 / 4294967295.0);
            *number = f64::to_ne_bytes(real);
        }
        let fingerprints = [fingerprint(numbers, |n| n), fingerprint(numbers, u64::swap_bytes)];
        Ok(Numbers {
            array,
            offset: USUAL_OFFSET,
            bytes,
            swapped: false,
            fingerprints,
            random: 20130012,
        })
    }

    /// Moves the numbers to the usual offset or the next random one.
    fn align(&mut self, random: bool) {
        let mut offset = USUAL_OFFSET;
        if random {
            self.random = next(self.random);
            offset = (self.random >> 33) as usize % MOST_OFFSET;
        }
        if offset != self.offset {
            self.array.memory.copy_within(self.offset..self.offset + self.bytes, offset);
            self.offset = offset;
        }
    }
}

/// Swaps with that many threads, each an equal share.
fn convert(numbers: &mut [u8], threads: usize, tier: Tier) {
    let share = (numbers.len() / 8).div_ceil(threads).next_multiple_of(8) * 8;
    std::thread::scope(|scope| {
        let mut shares = numbers.chunks_mut(share);
        let first = shares.next();
        shares.for_each(|share| {
            scope.spawn(move || swap_in_place(share, 8, tier));
        });
        first.into_iter().for_each(|share| swap_in_place(share, 8, tier));
    });
}

/// Answers a request.
pub fn answer(held: &mut Option<Numbers>, request: &Value, tier: Tier) -> Result<Value, String> {
    let count = request["numbers"].as_u64().unwrap_or(0) as usize;
    let threads = request["threads"].as_u64().unwrap_or(1).max(1) as usize;
    if count == 0 {
        return Err("invalid request: expected numbers".into());
    }
    let numbers = match held.take() {
        Some(numbers) if numbers.bytes == 8 * count => held.insert(numbers),
        _ => held.insert(Numbers::make(count)?),
    };
    numbers.align(request["alignment"] == "random");
    let (offset, bytes) = (numbers.offset, numbers.bytes);
    let place = &mut numbers.array.memory[offset..offset + bytes];
    let start = Instant::now();
    convert(place, threads, tier);
    let seconds = start.elapsed().as_secs_f64();
    numbers.swapped = !numbers.swapped;
    let right = fingerprint(place, |n| n) == numbers.fingerprints[usize::from(numbers.swapped)];
    let wrong = if right { 0 } else { count };
    Ok(
        json!({"seconds": seconds, "bytes": bytes, "parts": {"offset": offset}, "answer": {"wrong": wrong}}),
    )
}
