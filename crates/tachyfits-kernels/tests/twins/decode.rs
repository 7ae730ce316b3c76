//! Decoding against its twins.

use crate::content::{all_bits, any_scaling, contents, encodings, tiers};
use proptest::prelude::*;
use tachyfits_kernels::{
    PixelType, decode_f32, decode_f64, decode_native, gather, naive, native_in_place,
};

proptest! {
    #![proptest_config(crate::content::cases(24))]

    #[test]
    fn decode_f64_gives_the_bits_of_its_twin(content in contents(1), scaling in any_scaling()) {
        for encoding in encodings(scaling) {
            let bytes = content.bytes(&encoding);
            let expected = all_bits(&naive::decode_f64(&bytes, &encoding));
            for tier in tiers() {
                let mut out = vec![1.0; content.pixels];
                decode_f64(&bytes, &encoding, tier, &mut out);
                prop_assert_eq!(&all_bits(&out), &expected, "{:?} {:?}", encoding, tier);
            }
        }
    }

    #[test]
    fn decode_f32_gives_the_bits_of_its_twin(content in contents(1), scaling in any_scaling()) {
        let bits = |values: &[f32]| -> Vec<u32> {
            values.iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
        };
        for encoding in encodings(scaling) {
            let bytes = content.bytes(&encoding);
            let expected = bits(&naive::decode_f32(&bytes, &encoding));
            for tier in tiers() {
                let mut out = vec![1.0; content.pixels];
                decode_f32(&bytes, &encoding, tier, &mut out);
                prop_assert_eq!(&bits(&out), &expected, "{:?} {:?}", encoding, tier);
            }
        }
    }

    #[test]
    fn decode_native_moves_bits_and_keeps_nan_payloads(content in contents(1)) {
        for encoding in encodings(0) {
            let bytes = content.bytes(&encoding);
            let expected = naive::decode_native(&bytes, encoding.pixel);
            for tier in tiers() {
                // The alignment of the output determines how much of it precedes the first cache line.
                let mut shifted = vec![1; bytes.len() + content.shift];
                decode_native(&bytes, encoding.pixel, tier, &mut shifted[content.shift..]);
                let mut out = shifted.split_off(content.shift);
                prop_assert_eq!(&out, &expected, "{:?} {:?}", encoding.pixel, tier);
                out.copy_from_slice(&bytes);
                native_in_place(&mut out, encoding.pixel, tier);
                prop_assert_eq!(&out, &expected, "in place: {:?} {:?}", encoding.pixel, tier);
            }
        }
    }

    #[test]
    fn gather_takes_the_pixels_of_its_twin(
        content in contents(1),
        step in prop_oneof![-20i64..=-1, 1..=20i64],
    ) {
        for encoding in encodings(0) {
            let bytes = content.bytes(&encoding);
            let pixel_bytes = encoding.pixel_bytes();
            let count = content.pixels.div_ceil(step.unsigned_abs() as usize);
            let mut out = vec![1; count * pixel_bytes];
            gather(&bytes, pixel_bytes, step, &mut out);
            prop_assert_eq!(&out, &naive::gather(&bytes, pixel_bytes, step, count));
        }
    }
}

/// NaN payloads, signalling NaN and -0.0, which `decode_native` must preserve.
#[test]
fn decode_native_keeps_every_float_bit() {
    let singles = [0x7fa0_0001u32, 0xffc1_2345, 0x8000_0000, 0x7f80_0000, 0x0000_0001];
    let bytes: Vec<u8> = singles.iter().flat_map(|bits| bits.to_be_bytes()).collect();
    for tier in tiers() {
        let mut out = vec![0; bytes.len()];
        decode_native(&bytes, PixelType::F32, tier, &mut out);
        let native: Vec<u8> = singles.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
        assert_eq!(out, native, "{tier:?}");
    }
}
