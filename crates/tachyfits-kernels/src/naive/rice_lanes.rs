//! Twin of RICE_1 in lanes: one tile, bit by bit.

use crate::RicePixel;

/// Decodes the pixels of a stream; `None` if it ends too early or is damaged.
pub fn decode_rice<P: RicePixel>(stream: &[u8], block: usize, pixels: usize) -> Option<Vec<P>> {
    let mut at = 0;
    let mut bit = || {
        let byte = stream.get(at / 8)?;
        at += 1;
        Some(u64::from(byte >> (7 - (at - 1) % 8) & 1))
    };
    let mut number = |bits: u32| (0..bits).try_fold(0u64, |number, _| Some(number << 1 | bit()?));
    let mut last = number(P::BITS)?;
    let mut tile = Vec::new();
    while tile.len() < pixels {
        let code = number(P::CODE_BITS)? as u32;
        for _ in 0..block.min(pixels - tile.len()) {
            let difference = match code {
                0 => 0,
                _ if code == P::PLAIN + 1 => number(P::BITS)?,
                _ if code > P::PLAIN => return None,
                _ => {
                    let mut zeros = 0u64;
                    while number(1)? == 0 {
                        zeros += 1;
                    }
                    if zeros > u64::from(u32::MAX >> (code - 1)) {
                        return None;
                    }
                    zeros << (code - 1) | number(code - 1)?
                }
            };
            let change = if difference % 2 == 0 { difference / 2 } else { !(difference / 2) };
            last = last.wrapping_add(change);
            tile.push(P::of(last as u32));
        }
    }
    Some(tile)
}
