//! PLIO_1: hand-written lists, and round trips of every kind of mask.

use crate::pixels::{decode, encode};
use proptest::prelude::*;
use tachyfits_format::{Code, Plio, TileCodec};

const PLIO: Plio = Plio { unsigned_16: false };

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Creates a list of these instructions, with its header.
fn list(instructions: &[u16]) -> Vec<u8> {
    let length = instructions.len() as u16 + 7;
    words(&[&[0, 7, -100i16 as u16, length, 0, 0, 0], instructions].concat())
}

fn mask() -> impl Strategy<Value = Vec<i32>> {
    let value = prop_oneof![3 => Just(0), 3 => 0..3i32, 1 => 0..10_000i32, 1 => 0..(1 << 24)];
    let run = (value, prop_oneof![9 => 1..5usize, 1 => 4090..4100usize, 1 => 8185..8195usize]);
    prop::collection::vec(run, 1..20)
        .prop_map(|runs| runs.into_iter().flat_map(|(value, count)| vec![value; count]).collect())
}

proptest! {
    #[test]
    fn masks_are_the_same_after_encoding_and_decoding(pixels in mask()) {
        let shape = [pixels.len() as u64];
        let stream = encode(&PLIO, &pixels, &shape).unwrap();
        prop_assert_eq!(decode::<i32>(&PLIO, &stream, &shape), Ok(pixels.clone()));
        let wide: Vec<i64> = pixels.iter().map(|&pixel| pixel.into()).collect();
        prop_assert_eq!(decode::<i64>(&PLIO, &stream, &shape), Ok(wide));
    }
}

#[test]
fn each_instruction_does_what_it_says() {
    let instructions = [
        0x0003, // 3 zeros
        0x4002, // 2 high values, 1
        0x2009, // raise by 9
        0x4001, // 10
        0x3005, // lower by 5
        0x4001, // 5
        0x5003, // 2 zeros and 5
        0x6002, // raise by 2 and put 7
        0x7006, // lower by 6 and put 1
        0x1234, 0x0100, // set to 0x100234
        0x4001,
    ];
    let expected = [0, 0, 0, 1, 1, 10, 5, 0, 0, 5, 7, 1, 0x10_0234, 0, 0];
    let stream = list(&instructions);
    assert_eq!(decode::<i32>(&PLIO, &stream, &[15]).as_deref(), Ok(&expected[..]));
    // The old form has the length in the third word.
    let old = words(&[&[0, 0, instructions.len() as u16 + 3][..], &instructions].concat());
    assert_eq!(decode::<i32>(&PLIO, &old, &[5, 3]).as_deref(), Ok(&expected[..]));
}

#[test]
fn lists_are_as_short_as_iraf_writes_them() {
    let stream = encode(&PLIO, &[0i32, 0, 1, 0, 5, 5, 6, 0, 0], &[9]).unwrap();
    let instructions = [0x5003, 0x2004, 0x0001, 0x4002, 0x6001, 0x0002];
    assert_eq!(stream, list(&instructions));
}

/// So no memory is needed for a stream too short for the pixels of a large tile.
#[test]
fn a_list_has_no_more_pixels_than_its_instructions_write() {
    let pixels = 4095 * 5000;
    let stream = encode(&PLIO, &vec![0i32; pixels], &[pixels as u64]).unwrap();
    let most = PLIO.most_pixels(stream.len() as u64);
    assert!((pixels as u64..pixels as u64 + 99_999).contains(&most), "{most}");
    // In smaller tiles, zeros at the end may be omitted.
    assert_eq!(decode::<i32>(&PLIO, &list(&[]), &[1 << 20]), Ok(vec![0; 1 << 20]));
    assert_eq!(PLIO.most_pixels(14), 1 << 24);
}

/// IRAF's encoder overflows the operand for this input.
#[test]
fn a_value_after_4095_zeros_is_kept() {
    for zeros in [4094, 4095, 4096, 8190] {
        let mut pixels = vec![0i32; zeros];
        pixels.push(1);
        let shape = [pixels.len() as u64];
        let stream = encode(&PLIO, &pixels, &shape).unwrap();
        assert_eq!(decode::<i32>(&PLIO, &stream, &shape), Ok(pixels));
    }
}

#[test]
fn unsigned_pixels_are_stored_as_their_values() {
    let codec = Plio { unsigned_16: true };
    let stored = [-32_768i16, 0, 32_767];
    let stream = encode(&codec, &stored, &[3]).unwrap();
    assert_eq!(decode::<i32>(&PLIO, &stream, &[3]), Ok(vec![0, 32_768, 65_535]));
    assert_eq!(decode::<i16>(&codec, &stream, &[3]).as_deref(), Ok(&stored[..]));
    let bytes = [0u8, 39, 255];
    let stream = encode(&codec, &bytes, &[3]).unwrap();
    assert_eq!(decode::<u8>(&codec, &stream, &[3]).as_deref(), Ok(&bytes[..]));
}

#[test]
fn values_that_no_list_can_hold_are_refused() {
    for value in [-1, 1 << 24] {
        let error = encode(&PLIO, &[0i32, value], &[2]).unwrap_err();
        assert_eq!(error.code, Code::TileValue);
        assert!(error.found.contains("at pixel 1"), "{}", error.found);
    }
    assert!(encode(&PLIO, &[1.0f32], &[1]).is_err());
}

#[test]
fn lists_that_leave_the_tile_or_the_stream_are_errors() {
    let wrong = [
        list(&[0x0005]),
        list(&[0x4005]),
        list(&[0x8000]),
        list(&[0x3002]),
        list(&[0x1000]),
        words(&[0, 7, -100i16 as u16, 99, 0, 0, 0]),
        words(&[0, 0, 99]),
        words(&[0, 7]),
        Vec::new(),
    ];
    for stream in wrong {
        let error = decode::<i32>(&PLIO, &stream, &[4]).unwrap_err();
        assert_eq!(error.code, Code::TileStream, "{stream:?}");
    }
    // The error names the byte of an instruction beyond the tile.
    assert_eq!(decode::<i32>(&PLIO, &list(&[2, 3]), &[4]).unwrap_err().offset, Some(16));
}
