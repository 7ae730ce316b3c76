//! Sums of integers without swapping bytes: a byte has the weight of its position, 256 times the weight of the next
//! one. The loop adds bytes of the same position as stored, and weights the few sums at the end. The byte order only
//! selects the weights, so it costs nothing.

#![expect(clippy::needless_range_loop, reason = "indexed loops become vector code on every tier")]

use crate::byte_order::Order;
use crate::isa;
use crate::pixel::Pixel;

/// Words of four bytes added at a time: one cache line.
const WORDS: usize = 16;

/// Mask of two bytes of a word, each with room for a 16-bit sum.
const BYTES: u32 = 0x00ff_00ff;

/// Maximum number of bytes in a 16-bit sum.
const MOST_STEPS: usize = 0xffff / 0xff;

/// Sums the pixels of a leaf, which must add up exactly ([`Pixel::ADDS_EXACTLY`]).
#[inline(always)]
pub(crate) fn sum<P: Pixel, O: Order>(leaf: &[u8]) -> i64 {
    let steps = leaf.chunks_exact(4 * WORDS);
    let rest = steps.remainder();
    assert!(steps.len() <= MOST_STEPS, "{} bytes are more than a leaf", leaf.len());
    let pixels = (4 * WORDS * steps.len() / P::BYTES) as i64;
    // Numbers are counted from the smallest one: flipping the sign bit makes them unsigned.
    let top = if O::HIGH_FIRST { 0 } else { P::BYTES - 1 };
    let mut least = [0; 8];
    least[top] = if P::IS_SIGNED { 0x80 } else { 0 };
    let place = |byte: usize| byte % P::BYTES;
    let signs = u32::from_le_bytes([least[0], least[place(1)], least[place(2)], least[place(3)]]);
    let (mut even, mut odd) = ([0u32; WORDS], [0u32; WORDS]);
    for step in steps {
        isa::prefetch(step, isa::PAGE_AHEAD);
        let (words, _) = step.as_chunks::<4>();
        for lane in 0..WORDS {
            let word = u32::from_le_bytes(words[lane]) ^ signs;
            even[lane] += word & BYTES;
            odd[lane] += (word >> 8) & BYTES;
        }
    }
    let sums = places(even, odd);
    let mut sum = pixels * O::read::<P>(&least[..P::BYTES]).widen();
    for byte in 0..4 {
        let above = if O::HIGH_FIRST { P::BYTES - 1 - place(byte) } else { place(byte) };
        sum += sums[byte] << (8 * above);
    }
    for pixel in rest.chunks_exact(P::BYTES) {
        sum += O::read::<P>(pixel).widen();
    }
    sum
}

/// Sums the bytes of each position of a word. A separate function, because the compiler would otherwise carry the order
/// of this addition into the loop of the caller.
#[inline(never)]
fn places(even: [u32; WORDS], odd: [u32; WORDS]) -> [i64; 4] {
    let mut sums = [0; 4];
    for lane in 0..WORDS {
        sums[0] += i64::from(even[lane] & 0xffff);
        sums[1] += i64::from(odd[lane] & 0xffff);
        sums[2] += i64::from(even[lane] >> 16);
        sums[3] += i64::from(odd[lane] >> 16);
    }
    sums
}
