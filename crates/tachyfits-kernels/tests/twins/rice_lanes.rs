//! RICE_1 in lanes against its twin: valid streams, damaged ones, and arbitrary bytes.

use crate::content::tiers;
use proptest::prelude::*;
use tachyfits_kernels::{ByteOrder, RICE_LANES, RicePixel, decode_rice_lanes, naive};

/// Writes bits.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn put(&mut self, value: u64, bits: u32) {
        self.0.extend((0..bits).rev().map(|bit| value >> bit & 1 == 1));
    }

    fn bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| {
            (0..8).fold(0, |byte, at| byte << 1 | u8::from(bits.get(at) == Some(&true)))
        };
        self.0.chunks(8).map(byte).collect()
    }
}

/// Encodes pixels as a stream; blocks cycle through the codes.
fn stream<P: RicePixel>(pixels: &[i64], block: usize, codes: &[u32]) -> Vec<u8> {
    let mask = (1u64 << P::BITS) - 1;
    let mut bits = Bits::default();
    bits.put(pixels[0] as u64 & mask, P::BITS);
    let mut last = pixels[0];
    for (number, block) in pixels.chunks(block).enumerate() {
        let changes: Vec<i64> =
            block.iter().map(|&pixel| pixel - std::mem::replace(&mut last, pixel)).collect();
        let difference = |&change: &i64| ((change << 1) ^ (change >> 63)) as u64;
        // Replace codes that would need too many zeros.
        let most = changes.iter().map(difference).max().unwrap_or(0);
        let code = match codes[number % codes.len()] % (P::PLAIN + 2) {
            0 if most == 0 => 0,
            code if code > 0 && code <= P::PLAIN && most >> (code - 1) < 300 => code,
            _ => P::PLAIN + 1,
        };
        bits.put(code.into(), P::CODE_BITS);
        for difference in changes.iter().map(difference) {
            match code {
                0 => {}
                _ if code == P::PLAIN + 1 => bits.put(difference & mask, P::BITS),
                _ => {
                    (0..difference >> (code - 1)).for_each(|_| bits.put(0, 1));
                    bits.put(1, 1);
                    bits.put(difference & ((1 << (code - 1)) - 1), code - 1);
                }
            }
        }
    }
    bits.bytes()
}

/// Decodes sixteen streams on every tier: the same lanes succeed as for the twin, with the same pixels. Some tiles end
/// before the others, at the end of a block.
fn check<P: RicePixel + Default + PartialEq + std::fmt::Debug>(
    streams: &[Vec<u8>],
    block: usize,
    pixels: usize,
) {
    check_lengths::<P>(streams, block, [pixels; RICE_LANES]);
    check_lengths::<P>(
        streams,
        block,
        std::array::from_fn(|lane| match lane % 4 {
            1 => pixels / block / 2 * block,
            2 if lane > 8 => 0,
            _ => pixels,
        }),
    );
}

fn check_lengths<P: RicePixel + Default + PartialEq + std::fmt::Debug>(
    streams: &[Vec<u8>],
    block: usize,
    pixels: [usize; RICE_LANES],
) {
    let streams: [&[u8]; RICE_LANES] =
        std::array::from_fn(|lane| &streams[lane % streams.len()][..]);
    let expected: [Option<Vec<P>>; RICE_LANES] = std::array::from_fn(|lane| match pixels[lane] {
        0 => Some(Vec::new()),
        pixels => naive::decode_rice::<P>(streams[lane], block, pixels),
    });
    let orders = [ByteOrder::Native, ByteOrder::BigEndian];
    for (tier, order) in tiers().into_iter().flat_map(|tier| orders.map(|order| (tier, order))) {
        let mut tiles: [Vec<P>; RICE_LANES] =
            std::array::from_fn(|lane| vec![P::default(); pixels[lane]]);
        let mut out = tiles.each_mut().map(|tile| &mut tile[..]);
        let failed = decode_rice_lanes(&streams, block, order, tier, &mut out);
        if order == ByteOrder::BigEndian && cfg!(target_endian = "little") {
            tiles.iter_mut().flatten().for_each(|pixel| *pixel = pixel.turned());
        }
        for (lane, (tile, expected)) in tiles.iter().zip(&expected).enumerate() {
            let result = (failed >> lane & 1 == 0).then_some(tile);
            assert_eq!(result, expected.as_ref(), "lane {lane} on {tier:?}, {order:?}");
        }
    }
}

fn pixels(most: i64) -> impl Strategy<Value = Vec<i64>> {
    let step = prop_oneof![6 => -8..8i64, 2 => -100..100i64, 1 => -30_000..30_000i64, 3 => Just(0)];
    prop::collection::vec(step, 150).prop_map(move |steps| {
        let mut last = 0i64;
        let next = |step: &i64| {
            last = (last + step).clamp(0, most);
            last
        };
        steps.iter().map(next).collect()
    })
}

proptest! {
    #![proptest_config(crate::content::cases(48))]

    #[test]
    fn lanes_decode_what_the_twin_does(
        bytes in prop::collection::vec(pixels(255), 3),
        shorts in prop::collection::vec(pixels(32_767), 5),
        ints in prop::collection::vec(pixels(1 << 30), 5),
        codes in prop::collection::vec(0..64u32, 1..6),
        block in prop_oneof![Just(32usize), Just(16), 1..70usize],
        count in 1..150usize,
    ) {
        let of = |tiles: &[Vec<i64>], write: fn(&[i64], usize, &[u32]) -> Vec<u8>| -> Vec<Vec<u8>> {
            let rotated = |at: usize| [&codes[at % codes.len()..], &codes].concat();
            tiles.iter().enumerate().map(|(at, tile)| write(&tile[..count], block, &rotated(at))).collect()
        };
        check::<u8>(&of(&bytes, stream::<u8>), block, count);
        check::<i16>(&of(&shorts, stream::<i16>), block, count);
        check::<i32>(&of(&ints, stream::<i32>), block, count);
    }

    #[test]
    fn a_damaged_lane_does_not_affect_the_others(
        tiles in prop::collection::vec(pixels(32_767), 4),
        codes in prop::collection::vec(0..64u32, 1..6),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..8u32), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut streams: Vec<Vec<u8>> = tiles.iter().map(|tile| stream::<i16>(tile, 32, &codes)).collect();
        for (at, bit) in damage {
            let at = at.index(streams[1].len());
            streams[1][at] ^= 1 << bit;
        }
        let end = cut.index(streams[2].len());
        streams[2].truncate(end);
        check::<i16>(&streams, 32, 150);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused_as_the_twin_does(
        streams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 16),
        zeros in prop::collection::vec(0..3usize, 16),
    ) {
        let streams: Vec<Vec<u8>> = streams
            .into_iter()
            .zip(zeros)
            .map(|(stream, zeros)| [&stream[..stream.len() / 2], &vec![0; zeros * 40], &stream[stream.len() / 2..]].concat())
            .collect();
        check::<u8>(&streams, 32, 100);
        check::<i16>(&streams, 32, 100);
        check::<i32>(&streams, 16, 60);
    }
}

#[test]
fn tiles_without_pixels_need_no_stream() {
    let mut tiles: [[i16; 0]; RICE_LANES] = Default::default();
    for tier in tiers() {
        let mut out = tiles.each_mut().map(|tile| &mut tile[..]);
        assert_eq!(decode_rice_lanes(&[&[]; RICE_LANES], 32, ByteOrder::Native, tier, &mut out), 0);
    }
}
