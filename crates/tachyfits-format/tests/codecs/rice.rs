//! RICE_1, compared with a decoder that reads bit by bit, and with a port of CFITSIO's implementation.

use crate::pixels::{Pixel, content, decode, encode};
use proptest::prelude::*;
use ricecomp::read::RCDecoder;
use ricecomp::write::RCEncoder;
use tachyfits_format::{Code, Rice};

/// Decodes bit by bit, as Sect. 10.4.1 describes the stream. `None` if the stream ends early or is invalid.
fn twin(stream: &[u8], width: u32, block: usize, count: usize) -> Option<Vec<i64>> {
    let (code_bits, plain) = match width {
        8 => (3, 6),
        16 => (4, 14),
        _ => (5, 25),
    };
    let mut at = 0;
    let mut bit = || {
        let byte = stream.get(at / 8)?;
        at += 1;
        Some(u64::from(byte >> (7 - (at - 1) % 8) & 1))
    };
    let mut number = |bits: u32| (0..bits).try_fold(0u64, |number, _| Some(number << 1 | bit()?));
    let mut last = number(width)?;
    let mut pixels = Vec::new();
    while pixels.len() < count {
        let code = number(code_bits)?;
        for _ in 0..block.min(count - pixels.len()) {
            let difference = match code {
                0 => 0,
                _ if code == plain + 1 => number(width)?,
                _ if code > plain => return None,
                _ => {
                    let mut zeros = 0;
                    while number(1)? == 0 {
                        zeros += 1;
                    }
                    zeros << (code - 1) | number(code as u32 - 1)?
                }
            };
            let change = match difference % 2 {
                0 => difference / 2,
                _ => !(difference / 2),
            };
            last = last.wrapping_add(change);
            let unused = 64 - width;
            pixels.push(match width {
                8 => (last & 255) as i64,
                _ => ((last << unused) as i64) >> unused,
            });
        }
    }
    Some(pixels)
}

fn check<P: Pixel>(pixels: &[P], width: u8, block: usize) {
    let codec = Rice { block_size: block, byte_pix: width };
    let shape = [pixels.len() as u64];
    let stream = encode(&codec, pixels, &shape).unwrap();
    assert_eq!(decode::<P>(&codec, &stream, &shape).as_deref(), Ok(pixels));
    let slow = twin(&stream, u32::from(width) * 8, block, pixels.len()).unwrap();
    assert_eq!(slow.into_iter().map(P::of).collect::<Vec<_>>(), pixels);
}

proptest! {
    #[test]
    fn bytes_are_the_same_after_encoding_and_decoding(pixels in content::<u8>(1..300), block in 1..40usize) {
        check(&pixels, 1, block);
    }

    #[test]
    fn shorts_are_the_same_after_encoding_and_decoding(pixels in content::<i16>(1..300), block in 1..40usize) {
        check(&pixels, 2, block);
    }

    #[test]
    fn integers_are_the_same_after_encoding_and_decoding(pixels in content::<i32>(1..300), block in 1..40usize) {
        check(&pixels, 4, block);
    }

    #[test]
    fn any_bytes_are_decoded_as_the_twin_does(stream in prop::collection::vec(any::<u8>(), 0..200), count in 1..200u64) {
        let codec = Rice { block_size: 32, byte_pix: 4 };
        let result = decode::<i32>(&codec, &stream, &[count]).ok();
        // The slow decoder accepts differences of any length.
        let slow = twin(&stream, 32, 32, count as usize);
        let slow = slow.map(|pixels| pixels.into_iter().map(i32::of).collect::<Vec<_>>());
        if result.is_some() || slow.is_none() {
            prop_assert_eq!(result, slow);
        }
    }

    #[test]
    fn streams_are_those_of_cfitsio(
        bytes in content::<u8>(1..200),
        shorts in content::<i16>(1..200),
        ints in content::<i32>(1..200),
    ) {
        let shape = |len: usize| [len as u64];
        // The port's differences overflow where those of C do not, and it divides odd counts by 2 with a fraction: both
        // agree for smaller pixels and an even number of them.
        let even = |len: usize| len - len % 2 + 2;
        let mut bytes: Vec<u8> = bytes.into_iter().map(|pixel| pixel / 4).collect();
        bytes.resize(even(bytes.len()), 0);
        let mut shorts: Vec<i16> = shorts.into_iter().map(|pixel| pixel / 4).collect();
        shorts.resize(even(shorts.len()), 0);
        let mut ints: Vec<i32> = ints.into_iter().map(|pixel| pixel / 4).collect();
        ints.resize(even(ints.len()), 0);

        let ours = encode(&Rice::for_width(1), &bytes, &shape(bytes.len())).unwrap();
        let signed: Vec<i8> = bytes.iter().map(|&byte| byte as i8).collect();
        let mut theirs = Vec::new();
        RCEncoder::new(&mut theirs).encode_byte(&signed, signed.len(), 32).unwrap();
        prop_assert_eq!(&ours, &theirs);
        let mut decoded = vec![0; bytes.len()];
        RCDecoder::new().decode_byte(&ours, bytes.len(), 32, &mut decoded).unwrap();
        prop_assert_eq!(decoded, bytes);

        let ours = encode(&Rice::for_width(2), &shorts, &shape(shorts.len())).unwrap();
        let mut theirs = Vec::new();
        RCEncoder::new(&mut theirs).encode_short(&shorts, shorts.len(), 32).unwrap();
        prop_assert_eq!(&ours, &theirs);
        let mut decoded = vec![0; shorts.len()];
        RCDecoder::new().decode_short(&ours, shorts.len(), 32, &mut decoded).unwrap();
        prop_assert_eq!(decoded.into_iter().map(|pixel| pixel as i16).collect::<Vec<_>>(), shorts);

        let ours = encode(&Rice::for_width(4), &ints, &shape(ints.len())).unwrap();
        let mut theirs = Vec::new();
        RCEncoder::new(&mut theirs).encode(&ints, ints.len(), 32).unwrap();
        prop_assert_eq!(&ours, &theirs);
        let mut decoded = vec![0; ints.len()];
        RCDecoder::new().decode(&ours, ints.len(), 32, &mut decoded).unwrap();
        prop_assert_eq!(decoded.into_iter().map(|pixel| pixel as i32).collect::<Vec<_>>(), ints);
    }
}

#[test]
fn numbers_of_another_width_than_the_pixels_are_converted() {
    let codec = Rice { block_size: 16, byte_pix: 4 };
    let stream = encode(&codec, &[5i32, -32_768, 32_767], &[3]).unwrap();
    assert_eq!(decode::<i16>(&codec, &stream, &[3]), Ok(vec![5, -32_768, 32_767]));
    assert_eq!(decode::<i64>(&codec, &stream, &[3]), Ok(vec![5, -32_768, 32_767]));
    let error = decode::<u8>(&codec, &stream, &[3]).unwrap_err();
    assert_eq!(error.code, Code::TileValue);
    assert!(error.found.contains("-32768 at pixel 1"), "{}", error.found);
    assert_eq!(decode::<f32>(&codec, &stream, &[3]).unwrap_err().code, Code::TileValue);
}

#[test]
fn codes_of_no_meaning_are_errors_with_their_byte() {
    let codec = Rice { block_size: 32, byte_pix: 4 };
    // The code 27 after four bytes of the first number.
    let error = decode::<i32>(&codec, &[0, 0, 0, 0, 27 << 3, 0], &[4]).unwrap_err();
    assert_eq!((error.code, error.offset), (Code::TileStream, Some(4)));
    assert_eq!(error.found, "code 27");
}
