//! Any bytes as a list of PLIO_1: pixels that can be encoded again, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits_format::{CodecScratch, Pixels, PixelsMut, PlainTile, Plio, Tile, TileCodec};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[columns, rows, form], stream)) = bytes.split_first_chunk() else { return };
    let shape = [u64::from(columns) + 1, u64::from(rows % 16) + 1];
    let codec = Plio { unsigned_16: form % 2 == 1 };
    let mut pixels = vec![0i32; (shape[0] * shape[1]) as usize];
    let mut scratch = CodecScratch::new();
    let mut tile = Tile { stream, shape: &shape, pixels: PixelsMut::I32(&mut pixels) };
    if let Err(error) = codec.decode(&mut tile, &mut scratch) {
        assert!(error.offset.is_none_or(|offset| offset <= stream.len() as u64));
        return;
    }
    let mut again = Vec::new();
    let plain = PlainTile { shape: &shape, pixels: Pixels::I32(&pixels) };
    if codec.encode(&plain, &mut scratch, &mut again).is_ok() {
        let mut back = vec![0i32; pixels.len()];
        let mut tile = Tile { stream: &again, shape: &shape, pixels: PixelsMut::I32(&mut back) };
        codec.decode(&mut tile, &mut scratch).expect("it was just encoded");
        assert_eq!(back, pixels);
    }
});
