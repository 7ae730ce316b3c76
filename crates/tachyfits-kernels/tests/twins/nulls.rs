//! Null rules against the twin.

use crate::content::{contents, encodings, tiers};
use proptest::prelude::*;
use tachyfits_kernels::{
    ByteOrder, Encoding, NullOutput, NullRule, PixelType, decode_elements, finite_in_place, naive,
};

const RULES: [NullRule; 3] = [NullRule::Nothing, NullRule::Nan, NullRule::NotFinite];

/// Returns the bits of the elements, with one pattern for all NaN.
fn comparable(bytes: &[u8], element: PixelType) -> Vec<u64> {
    let single = |bytes: &[u8]| {
        let value = f32::from_ne_bytes(bytes.try_into().unwrap());
        if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() }
    };
    let double = |bytes: &[u8]| {
        let value = f64::from_ne_bytes(bytes.try_into().unwrap());
        if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
    };
    bytes
        .chunks(element.bytes())
        .map(|bytes| match element {
            PixelType::F32 => single(bytes).into(),
            PixelType::F64 => double(bytes),
            _ => bytes.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte)),
        })
        .collect()
}

proptest! {
    #![proptest_config(crate::content::cases(4))]

    #[test]
    fn elements_are_those_of_the_twin(content in contents(1), scaling in 0..4usize, null: u64) {
        let encodings = encodings(scaling).into_iter();
        for encoding in encodings.filter(|of| of.order == ByteOrder::BigEndian) {
            let bytes = content.bytes(&encoding);
            for (rule, element) in RULES.into_iter().flat_map(|rule| PixelType::ALL.map(|of| (rule, of))) {
                for (value, is_marked) in [(Some(null), false), (Some(null), true), (None, true)] {
                    let content_before: Vec<u8> = (0..content.pixels * element.bytes()).map(|at| at as u8).collect();
                    let mut expected = content_before.clone();
                    let (counts, marks) =
                        naive::decode_elements(&bytes, &encoding, rule, element, value, &mut expected);
                    for tier in tiers() {
                        let (mut out, mut flags) = (content_before.clone(), vec![9; content.pixels]);
                        let nulls = match (is_marked, value) {
                            (false, value) => NullOutput::Value(value.unwrap()),
                            (true, value) => NullOutput::Flags { flags: &mut flags, value },
                        };
                        let result = decode_elements(&bytes, &encoding, rule, element, nulls, tier, &mut out);
                        let case = format!("{encoding:?} {rule:?} {element:?} {value:?} {tier:?}");
                        prop_assert_eq!(result, counts, "{}", case);
                        if result.odd == 0 {
                            prop_assert_eq!(comparable(&out, element), comparable(&expected, element), "{}", case);
                        }
                        if is_marked {
                            prop_assert_eq!(&flags, &marks, "{}", case);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn floats_in_place_are_those_of_the_twin(content in contents(1), null: u64) {
        let encodings = encodings(0).into_iter().filter(|of| *of == Encoding::plain(of.pixel));
        for encoding in encodings.filter(|of| of.pixel.is_float()) {
            let (pixel, bytes) = (encoding.pixel, content.bytes(&encoding).to_vec());
            let mut expected = bytes.clone();
            let rule = NullRule::NotFinite;
            let (counts, _) = naive::decode_elements(&bytes, &encoding, rule, pixel, Some(null), &mut expected);
            for tier in tiers() {
                let mut out = bytes.clone();
                let nulls = finite_in_place(&mut out, pixel, null, tier);
                prop_assert_eq!((nulls, &out), (counts.nulls, &expected), "{:?}", tier);
            }
        }
    }
}
