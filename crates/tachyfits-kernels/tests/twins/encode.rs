//! Encoding against its twins, and against decoding.

use crate::content::{any_scaling, bits, contents, encodings, tiers};
use crate::values::values;
use proptest::prelude::*;
use tachyfits_kernels::{
    ByteOrder, Encoding, PixelType, Tier, decode_f32, decode_f64, decode_native, encode_f32,
    encode_f64, encode_native, naive,
};

/// Returns the big-endian encodings; integer types also with a BLANK that they cannot represent.
fn targets(scaling: usize) -> Vec<Encoding> {
    let mut result = encodings(scaling);
    result.retain(|encoding| encoding.order == ByteOrder::BigEndian);
    result.push(Encoding { blank: Some(1 << 40), ..Encoding::plain(PixelType::I16) });
    result
}

/// Returns the bytes with one pattern for all NaN, because the payload of a NaN is unspecified.
fn plain_nan(bytes: &[u8], pixel: PixelType) -> Vec<u8> {
    match pixel {
        PixelType::F64 => {
            let (pixels, _) = bytes.as_chunks();
            pixels.iter().flat_map(|&x| bits(f64::from_be_bytes(x)).to_be_bytes()).collect()
        }
        PixelType::F32 => {
            let (pixels, _) = bytes.as_chunks();
            let plain = |x: f32| if x.is_nan() { f32::NAN } else { x };
            pixels.iter().flat_map(|&x| plain(f32::from_be_bytes(x)).to_be_bytes()).collect()
        }
        _ => bytes.to_vec(),
    }
}

proptest! {
    #![proptest_config(crate::content::cases(64))]

    #[test]
    fn encode_f64_gives_the_bytes_of_its_twin(
        values in values(0..2500),
        shift in 0..9usize,
        scaling in any_scaling(),
    ) {
        for encoding in targets(scaling) {
            let (expected, lost) = naive::encode_f64(&values, &encoding);
            let expected = plain_nan(&expected, encoding.pixel);
            for tier in tiers() {
                let mut out = vec![1; shift + expected.len()];
                let result = encode_f64(&values, &encoding, tier, &mut out[shift..]);
                let out = plain_nan(&out[shift..], encoding.pixel);
                prop_assert_eq!((&out, result), (&expected, lost), "{:?} {:?}", encoding, tier);
            }
        }
    }

    #[test]
    fn encode_f32_gives_the_bytes_of_its_twin(
        values in values(0..2500),
        scaling in any_scaling(),
    ) {
        let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        for encoding in targets(scaling) {
            let (expected, lost) = naive::encode_f32(&values, &encoding);
            let expected = plain_nan(&expected, encoding.pixel);
            for tier in tiers() {
                let mut out = vec![1; expected.len()];
                let result = encode_f32(&values, &encoding, tier, &mut out);
                let out = plain_nan(&out, encoding.pixel);
                prop_assert_eq!((&out, result), (&expected, lost), "{:?} {:?}", encoding, tier);
            }
        }
    }

    #[test]
    fn encode_native_gives_the_bytes_of_its_twin_and_takes_decoding_back(content in contents(1)) {
        for pixel in PixelType::ALL {
            let bytes = content.bytes(&Encoding::plain(pixel));
            let mut native = vec![0; bytes.len()];
            decode_native(&bytes, pixel, Tier::SCALAR, &mut native);
            prop_assert_eq!(&naive::encode_native(&native, pixel), &*bytes, "{:?}", pixel);
            for tier in tiers() {
                let mut out = vec![1; bytes.len()];
                encode_native(&native, pixel, tier, &mut out);
                prop_assert_eq!(&out, &*bytes, "{:?} {:?}", pixel, tier);
            }
        }
    }

    /// Decoding and encoding preserves values that both the file and f64 can represent.
    #[test]
    fn encoding_takes_decoding_back(content in contents(1)) {
        for encoding in targets(0) {
            let bytes = content.bytes(&encoding);
            let mut values = vec![0.0; content.pixels];
            decode_f64(&bytes, &encoding, Tier::SCALAR, &mut values);
            let mut out = vec![1; bytes.len()];
            let lost = encode_f64(&values, &encoding, Tier::SCALAR, &mut out);
            let exact = encoding.scaling.is_none() && encoding.pixel_bytes() < 8;
            if exact || encoding == Encoding::plain(PixelType::F64) {
                prop_assert_eq!(lost, 0, "{:?}", encoding);
                let bytes = plain_nan(&bytes, encoding.pixel);
                prop_assert_eq!(plain_nan(&out, encoding.pixel), bytes, "{:?}", encoding);
            }
        }
    }
}

/// `encode_f32` copies f32 stored as f32: payloads, signalling NaN and -0.0 stay.
#[test]
fn singles_keep_every_bit() {
    let singles = [0x7fa0_0001u32, 0xffc1_2345, 0x8000_0000, 0x7f80_0000, 0x0000_0001];
    let bytes: Vec<u8> = singles.iter().flat_map(|bits| bits.to_be_bytes()).collect();
    for tier in tiers() {
        let mut out = vec![0; bytes.len()];
        let lost = encode_f32(
            &singles.map(f32::from_bits),
            &Encoding::plain(PixelType::F32),
            tier,
            &mut out,
        );
        assert_eq!((lost, &out), (0, &bytes), "{tier:?}");
    }
}

/// Each reason to reject a value, with explicit values.
#[test]
fn values_beyond_an_encoding_are_counted() {
    let i16_blank = Encoding { blank: Some(-99), ..Encoding::plain(PixelType::I16) };
    let u16_blank = Encoding { blank: Some(-32_768), ..Encoding::plain(PixelType::U16) };
    let halves = Encoding { scaling: Some((0.5, 0.0)), ..Encoding::plain(PixelType::F32) };
    let cases: [(Encoding, f64, i64, u64); 14] = [
        (i16_blank, f64::NAN, -99, 0),
        (i16_blank, -99.0, -99, 1),
        (i16_blank, -99.4, -99, 1),
        (i16_blank, 32_767.5, 32_767, 1),
        (i16_blank, 32_767.4, 32_767, 0),
        (i16_blank, -32_768.5, -32_768, 0),
        (i16_blank, f64::NEG_INFINITY, -32_768, 1),
        (u16_blank, 0.0, -32_768, 1),
        (u16_blank, 65_535.0, 32_767, 0),
        (u16_blank, f64::NAN, -32_768, 0),
        (Encoding::plain(PixelType::U16), f64::NAN, -32_768, 1),
        (Encoding::plain(PixelType::I8), -128.0, 0, 0),
        (halves, 2e38, f32::INFINITY.to_bits().into(), 1),
        (halves, f64::INFINITY, f32::INFINITY.to_bits().into(), 0),
    ];
    for (encoding, value, stored, lost) in cases {
        for tier in tiers() {
            let bytes = encoding.pixel_bytes();
            let mut out = vec![0; bytes];
            let result = encode_f64(&[value], &encoding, tier, &mut out);
            let expected = &stored.to_be_bytes()[8 - bytes..];
            assert_eq!((&*out, result), (expected, lost), "{value} as {encoding:?} on {tier:?}");
        }
    }
}

/// An f32 value is scaled as f64 and rounded once.
#[test]
fn f32_is_scaled_in_f64() {
    let encoding = Encoding { scaling: Some((0.1, 0.3)), ..Encoding::plain(PixelType::I32) };
    let value = 123_456.7f32;
    let mut out = [0; 4];
    assert_eq!(encode_f32(&[value], &encoding, Tier::SCALAR, &mut out), 0);
    let expected = ((f64::from(value) - 0.3) / 0.1).round_ties_even();
    assert_eq!(f64::from(i32::from_be_bytes(out)), expected);
    let mut back = [0.0];
    decode_f32(&out, &encoding, Tier::SCALAR, &mut back);
    assert!((back[0] - value).abs() <= 0.06);
}
