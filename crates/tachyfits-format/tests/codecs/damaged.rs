//! Small streams of every codec, cut at each byte and with each bit flipped: pixels or an error, never a panic.

use crate::pixels::{decode, encode};
use tachyfits_format::{Code, Gzip, Hcompress, Plio, Rice, TileCodec, Verbatim};

/// Codecs of integers.
const CODECS: [&dyn TileCodec; 9] = [
    &Rice { block_size: 32, byte_pix: 4 },
    &Rice { block_size: 16, byte_pix: 4 },
    &Gzip { shuffled: false },
    &Gzip { shuffled: true },
    &Plio { unsigned_16: false },
    &Hcompress { scale: 0, smooth: false },
    &Hcompress { scale: 0, smooth: true },
    &Hcompress { scale: 9, smooth: true },
    &Verbatim,
];

fn image() -> Vec<i32> {
    let pixel = |at: i32| match at % 7 {
        0 => 0,
        1..4 => at * 3,
        _ => at * at % 1000,
    };
    (0..72).map(pixel).collect()
}

#[test]
fn cut_streams_are_errors_or_the_same_pixels() {
    for codec in CODECS {
        let whole = encode(codec, &image(), &[9, 8]).unwrap();
        let expected = decode::<i32>(codec, &whole, &[9, 8]).unwrap();
        let mut errors = 0;
        for end in 0..whole.len() {
            match decode::<i32>(codec, &whole[..end], &[9, 8]) {
                // NOCOMPRESS interprets half of the bytes as pixels of half the width.
                Ok(pixels) => assert!(pixels == expected || codec.name() == "NOCOMPRESS"),
                Err(error) => {
                    assert!(matches!(error.code, Code::TileStream | Code::TileValue), "{error:?}");
                    assert!(error.offset.is_none_or(|offset| offset <= end as u64));
                    errors += 1;
                }
            }
        }
        assert!(errors + 3 > whole.len(), "{codec:?}: {errors} errors of {} cuts", whole.len());
    }
}

#[test]
fn flipped_bits_give_pixels_or_errors() {
    for codec in CODECS {
        let whole = encode(codec, &image(), &[9, 8]).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut stream = whole.clone();
            stream[bit / 8] ^= 1 << (bit % 8);
            for _ in 0..2 {
                if let Err(error) = decode::<i32>(codec, &stream, &[9, 8]) {
                    assert!(!error.expected.is_empty() && !error.found.is_empty());
                    assert!(error.offset.is_none_or(|offset| offset <= stream.len() as u64));
                }
                // A second fault, at the end.
                stream.pop();
            }
        }
    }
}

#[test]
fn bytes_of_any_kind_are_decoded_or_refused() {
    let mut state = 1u32;
    for codec in CODECS {
        for length in 0..300usize {
            let stream: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect();
            let _ = decode::<i32>(codec, &stream, &[9, 8]);
            let _ = decode::<u8>(codec, &stream, &[9, 8]);
            let _ = decode::<i64>(codec, &stream, &[72]);
            let _ = decode::<f32>(codec, &stream, &[9, 8]);
        }
    }
}
