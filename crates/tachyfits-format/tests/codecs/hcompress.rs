//! HCOMPRESS_1, compared with a port of CFITSIO's implementation.

use crate::pixels::{Pixel, content, decode, encode};
use hcompress::read::HCDecoder;
use hcompress::write::HCEncoder;
use proptest::prelude::*;
use tachyfits_format::{Code, Hcompress};

const LOSSLESS: Hcompress = Hcompress { scale: 0, smooth: false };

/// An image with a random shape.
fn image<P: Pixel>() -> impl Strategy<Value = (Vec<P>, [u64; 2])> {
    (1..40u64, 1..40u64).prop_flat_map(|(columns, rows)| {
        (content::<P>((columns * rows) as usize), Just([columns, rows]))
    })
}

/// A smooth image with noise, typical for smoothing.
fn hills() -> impl Strategy<Value = (Vec<i16>, [u64; 2])> {
    (1..40u64, 1..40u64, 1..200i64).prop_flat_map(|(columns, rows, height)| {
        let noise = prop::collection::vec(-8..8i64, (columns * rows) as usize);
        noise.prop_map(move |noise| {
            let hill = |at: usize| {
                let (x, y) = (at as u64 % columns, at as u64 / columns);
                ((x as f64 / 5.0).sin() * (y as f64 / 7.0).cos() * height as f64) as i64
            };
            let pixels = noise.iter().enumerate().map(|(at, noise)| (noise + hill(at)) as i16);
            (pixels.collect(), [columns, rows])
        })
    })
}

/// Returns the stream of CFITSIO.
fn theirs(pixels: &[i64], [columns, rows]: [u64; 2], scale: i32) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut pixels = pixels.to_vec();
    let mut encoder = HCEncoder::new(&mut stream);
    encoder.write64(&mut pixels, columns as usize, rows as usize, scale).unwrap();
    stream
}

proptest! {
    #[test]
    fn pixels_are_the_same_after_encoding_and_decoding(
        (bytes, of_bytes) in image::<u8>(),
        (shorts, of_shorts) in image::<i16>(),
        (ints, of_ints) in image::<i32>(),
    ) {
        let stream = encode(&LOSSLESS, &bytes, &of_bytes).unwrap();
        prop_assert_eq!(decode::<u8>(&LOSSLESS, &stream, &of_bytes), Ok(bytes));
        let stream = encode(&LOSSLESS, &shorts, &of_shorts).unwrap();
        prop_assert_eq!(decode::<i16>(&LOSSLESS, &stream, &of_shorts), Ok(shorts));
        let stream = encode(&LOSSLESS, &ints, &of_ints).unwrap();
        prop_assert_eq!(decode::<i32>(&LOSSLESS, &stream, &of_ints), Ok(ints));
    }

    #[test]
    fn streams_of_cfitsio_are_decoded_as_cfitsio_does(
        (shorts, shape) in prop_oneof![image::<i16>(), hills()],
        scale in prop_oneof![Just(0), 2..60i32],
        smooth in any::<bool>(),
    ) {
        let wide: Vec<i64> = shorts.iter().map(|&pixel| pixel.into()).collect();
        let stream = theirs(&wide, shape, scale);
        let mut expected = vec![0i32; shorts.len()];
        HCDecoder::new().read(&stream, smooth.into(), &mut expected).unwrap();
        let expected: Vec<i16> =
            expected.into_iter().map(|pixel| pixel.clamp(-32_768, 32_767) as i16).collect();
        let codec = Hcompress { scale, smooth };
        prop_assert_eq!(decode::<i16>(&codec, &stream, &shape), Ok(expected));
    }

    #[test]
    fn wide_streams_of_cfitsio_are_decoded_as_cfitsio_does(
        (ints, shape) in image::<i32>(),
        scale in prop_oneof![Just(0), 2..60i32],
        smooth in any::<bool>(),
    ) {
        let wide: Vec<i64> = ints.iter().map(|&pixel| pixel.into()).collect();
        let stream = theirs(&wide, shape, scale);
        let mut expected = vec![0i64; ints.len()];
        HCDecoder::new().read64(&stream, smooth.into(), &mut expected).unwrap();
        // The port packs its result into the first half.
        let packed = expected.iter().flat_map(|pair| pair.to_ne_bytes());
        let packed: Vec<u8> = packed.take(ints.len() * 4).collect();
        let expected: Vec<i32> =
            packed.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect();
        let pixels = decode::<i64>(&Hcompress { scale, smooth }, &stream, &shape).unwrap();
        prop_assert_eq!(pixels.into_iter().map(|pixel| pixel as i32).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn streams_are_decoded_by_cfitsio((shorts, shape) in hills(), scale in prop_oneof![Just(0), 2..60i32]) {
        let codec = Hcompress { scale, smooth: false };
        let stream = encode(&codec, &shorts, &shape).unwrap();
        let mut expected = vec![0i32; shorts.len()];
        let header = HCDecoder::new().read(&stream, 0, &mut expected).unwrap();
        prop_assert_eq!(header, (shape[1] as usize, shape[0] as usize, scale));
        let ours = decode::<i16>(&codec, &stream, &shape).unwrap();
        let ours: Vec<i32> = ours.into_iter().map(i32::from).collect();
        prop_assert_eq!(ours, expected);
    }
}

#[test]
fn axes_of_one_pixel_do_not_count() {
    let pixels: Vec<i16> = (0..20).collect();
    let stream = encode(&LOSSLESS, &pixels, &[1, 5, 1, 4]).unwrap();
    assert_eq!(decode::<i16>(&LOSSLESS, &stream, &[5, 4, 1]), Ok(pixels.clone()));
    assert!(encode(&LOSSLESS, &pixels, &[5, 2, 2]).is_err());
    assert!(encode(&LOSSLESS, &[1.5f32], &[1]).is_err());
}

#[test]
fn sizes_must_be_those_of_the_tile() {
    let pixels: Vec<i16> = (0..20).collect();
    let mut stream = encode(&LOSSLESS, &pixels, &[5, 4]).unwrap();
    let error = decode::<i16>(&LOSSLESS, &stream, &[4, 5]).unwrap_err();
    assert_eq!((error.code, error.offset), (Code::TileStream, Some(2)));
    stream[2] = 0x7f;
    assert!(decode::<i16>(&LOSSLESS, &stream, &[5, 4]).unwrap_err().found.contains("rows of 5"));
}

#[test]
fn more_planes_than_integers_have_are_refused() {
    let pixels: Vec<i16> = (0..20).collect();
    let mut stream = encode(&LOSSLESS, &pixels, &[5, 4]).unwrap();
    stream[22] = 200;
    let error = decode::<i16>(&LOSSLESS, &stream, &[5, 4]).unwrap_err();
    assert_eq!((error.code, error.found.as_str()), (Code::TileStream, "200 planes"));
}
