//! The sum of integers without swapping bytes: each byte counts by its position in the number, 256
//! times more than the next one. Bytes of one position are added as stored, and the few sums are
//! weighted at the end. The byte order only selects the weights, so it costs nothing.

#![expect(clippy::needless_range_loop, reason = "indexed loops become vector code on every tier")]

use crate::byte_order::Order;
use crate::isa;
use crate::pixel::Pixel;

/// Words of four bytes that are added at a time: a line of the cache.
const WORDS: usize = 16;

/// Two bytes of a word, and room for the sums of either.
const BYTES: u32 = 0x00ff_00ff;

/// How many bytes such a sum has room for.
const MOST_STEPS: usize = 0xffff / 0xff;

/// The sum of the pixels of a leaf, which must add up exactly ([`Pixel::ADDS_EXACTLY`]).
#[inline(always)]
pub(crate) fn sum<P: Pixel, O: Order>(leaf: &[u8]) -> i64 {
    let steps = leaf.chunks_exact(4 * WORDS);
    let rest = steps.remainder();
    assert!(steps.len() <= MOST_STEPS, "{} bytes are more than a leaf", leaf.len());
    let pixels = (4 * WORDS * steps.len() / P::BYTES) as i64;
    // Numbers are counted from the least: its sign bit turned, a number has none.
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

/// The sums of the bytes of each place of a word. Not part of the loop before, into which the compiler would carry the
/// order in which it adds lanes here.
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
