//! GZIP_1, GZIP_2 and NOCOMPRESS.

use crate::pixels::{Pixel, content, decode, encode};
use proptest::prelude::*;
use tachyfits_format::{Code, Gzip, TileCodec, Verbatim};

const PLAIN: Gzip = Gzip { shuffled: false };
const SHUFFLED: Gzip = Gzip { shuffled: true };
const CODECS: [&dyn TileCodec; 3] = [&PLAIN, &SHUFFLED, &Verbatim];

fn check<P: Pixel>(pixels: &[P]) {
    let shape = [pixels.len() as u64];
    for codec in CODECS {
        let stream = encode(codec, pixels, &shape).unwrap();
        assert_eq!(decode::<P>(codec, &stream, &shape).as_deref(), Ok(pixels), "{codec:?}");
    }
}

proptest! {
    #[test]
    fn pixels_are_the_same_after_encoding_and_decoding(
        bytes in content::<u8>(1..99),
        shorts in content::<i16>(1..99),
        ints in content::<i32>(1..99),
        longs in content::<i64>(1..99),
        floats in content::<f32>(1..99),
        doubles in content::<f64>(1..99),
    ) {
        check(&bytes);
        check(&shorts);
        check(&ints);
        check(&longs);
        check(&floats);
        check(&doubles);
    }
}

#[test]
fn every_bit_of_a_float_is_kept() {
    let bits = [0x7fa0_0001u32, 0xffc1_2345, 0x8000_0000, 0x7f80_0000, 1];
    for codec in CODECS {
        let stream = encode(codec, &bits.map(f32::from_bits), &[5]).unwrap();
        let back = decode::<f32>(codec, &stream, &[5]).unwrap();
        assert_eq!(back.into_iter().map(f32::to_bits).collect::<Vec<_>>(), bits);
    }
}

#[test]
fn shuffling_puts_the_highest_bytes_first() {
    let stream = encode(&SHUFFLED, &[0x0102i16, 0x0304, 0x0506], &[3]).unwrap();
    assert_eq!(decode::<u8>(&PLAIN, &stream, &[6]), Ok(vec![1, 3, 5, 2, 4, 6]));
}

#[test]
fn the_width_of_the_stream_may_differ_from_that_of_the_pixels() {
    for codec in CODECS {
        let stream = encode(codec, &[1i32, -2, 40_000], &[3]).unwrap();
        assert_eq!(decode::<i64>(codec, &stream, &[3]), Ok(vec![1, -2, 40_000]));
        let error = decode::<i16>(codec, &stream, &[3]).unwrap_err();
        assert_eq!(error.code, Code::TileValue);
        assert!(error.found.contains("40000 at pixel 2"), "{}", error.found);
        assert!(decode::<f64>(codec, &stream, &[3]).is_err());
        assert!(decode::<i32>(codec, &stream, &[4]).is_err());
    }
    let wide: Vec<i32> = (0..3000).collect();
    let stream = encode(&PLAIN, &wide, &[3000]).unwrap();
    let narrow = decode::<i16>(&PLAIN, &stream, &[3000]).unwrap();
    assert!(narrow.iter().enumerate().all(|(index, &pixel)| pixel as usize == index));
    let mut wide = wide;
    wide[2500] = 1 << 20;
    let stream = encode(&PLAIN, &wide, &[3000]).unwrap();
    let error = decode::<i16>(&PLAIN, &stream, &[3000]).unwrap_err();
    assert!(error.found.contains("at pixel 2500"), "{}", error.found);
}

#[test]
fn members_follow_each_other_and_padding_is_ignored() {
    let first = encode(&PLAIN, &[1u8, 2, 3], &[3]).unwrap();
    let second = encode(&PLAIN, &[4u8, 5], &[2]).unwrap();
    let both = [first.clone(), second.clone()].concat();
    assert_eq!(decode::<u8>(&PLAIN, &both, &[5]), Ok(vec![1, 2, 3, 4, 5]));
    let padded = [both.as_slice(), &[0; 7]].concat();
    assert_eq!(decode::<u8>(&PLAIN, &padded, &[5]), Ok(vec![1, 2, 3, 4, 5]));
    // A member of the same size as the first must not hide it.
    let equal = [first.clone(), first].concat();
    assert_eq!(decode::<u8>(&PLAIN, &equal, &[6]), Ok(vec![1, 2, 3, 1, 2, 3]));
}

#[test]
fn members_may_have_a_name_a_comment_and_more() {
    let plain = encode(&PLAIN, &[7u8, 8, 9], &[3]).unwrap();
    let (header, body) = plain.split_at(10);
    let mut header = header.to_vec();
    header[3] = 4 | 8 | 16;
    let second = encode(&PLAIN, &[1u8], &[1]).unwrap();
    let stream = [&header, &[2, 0, 9, 9][..], b"name\0comment\0", body, &second].concat();
    assert_eq!(decode::<u8>(&PLAIN, &stream, &[4]), Ok(vec![7, 8, 9, 1]));
}

#[test]
fn a_bomb_is_refused_before_it_is_inflated() {
    let bomb = encode(&PLAIN, &vec![0u8; 1 << 24], &[1 << 24]).unwrap();
    assert!(bomb.len() < 1 << 18);
    let error = decode::<i16>(&PLAIN, &bomb, &[1000]).unwrap_err();
    assert_eq!(error.code, Code::TileStream);
    assert!(error.expected.contains("at most 8000 bytes"), "{}", error.expected);
}

#[test]
fn a_wrong_sum_or_size_is_an_error() {
    let right = encode(&PLAIN, &[1i16, 2, 3], &[3]).unwrap();
    for from_end in 1..=8 {
        let mut wrong = right.clone();
        let at = wrong.len() - from_end;
        wrong[at] ^= 1;
        let error = decode::<i16>(&PLAIN, &wrong, &[3]).unwrap_err();
        assert_eq!(error.code, Code::TileStream);
    }
    let error = decode::<i16>(&PLAIN, b"not gzip at all, but long", &[3]).unwrap_err();
    assert!(error.expected.contains("gzip"), "{}", error.expected);
}
