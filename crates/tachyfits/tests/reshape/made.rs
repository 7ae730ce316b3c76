//! Images of any type and shape for reshaping, and functions that read them completely.

use tachyfits::header::StoredType;
use tachyfits::io::Buffering;
use tachyfits::{FitsFile, Image, OutputPixels, ReadAs, RunOptions};

use crate::common::{Numbers, fits, image};

/// Types of stored pixels: BITPIX and cards.
pub const STORED: [(i64, &[&str]); 9] = [
    (8, &[]),
    (16, &["BLANK   =                    3"]),
    (16, &["BZERO   =                32768", "BSCALE  =                    1"]),
    (
        16,
        &[
            "BSCALE  =                  0.5",
            "BZERO   =                 -7.0",
            "BLANK   =                    3",
        ],
    ),
    (32, &[]),
    (64, &["BLANK   =                    3"]),
    (-32, &[]),
    (-64, &[]),
    (-32, &["BSCALE  =                  2.0", "BZERO   =                  1.0"]),
];

/// Returns an image with these axes: small numbers, some of them undefined.
pub fn sample_image(stored: usize, axes: &[u64], seed: u64) -> Image {
    let (bitpix, cards) = STORED[stored];
    let mut numbers = Numbers(seed);
    let mut data = Vec::new();
    for _ in 0..axes.iter().product::<u64>() {
        let number = numbers.below(20) as f64 - 6.0;
        let float = match numbers.below(9) {
            0 => f64::NAN,
            1 => -0.0,
            _ => number * 1.37,
        };
        match bitpix {
            8 => data.push(numbers.below(256) as u8),
            16 => data.extend((number as i16).to_be_bytes()),
            32 => data.extend((number as i32).to_be_bytes()),
            64 => data.extend((number as i64).to_be_bytes()),
            -32 => data.extend((float as f32).to_be_bytes()),
            _ => data.extend(float.to_be_bytes()),
        }
    }
    let mut cards: Vec<String> = cards.iter().map(|card| (*card).to_owned()).collect();
    cards.push("CRPIX1  =                  1.5".to_owned());
    image(fits(bitpix, axes, &cards, &data))
}

/// Returns the image of a computed file.
pub fn first(file: &FitsFile) -> Image {
    file.image(0).unwrap()
}

/// Returns the stored pixels as bytes in native order.
pub fn raw(image: &Image) -> Vec<u8> {
    let pixels = image.whole().pixels() as usize;
    let read = |out| image.read(&image.whole(), ReadAs::Raw, out, &options(2)).unwrap();
    match image.layout().stored {
        StoredType::F32 => {
            let mut values = vec![0.0f32; pixels];
            read(OutputPixels::Float32(&mut values));
            values.iter().flat_map(|value| value.to_ne_bytes()).collect()
        }
        StoredType::F64 => {
            let mut values = vec![0.0f64; pixels];
            read(OutputPixels::Float64(&mut values));
            values.iter().flat_map(|value| value.to_ne_bytes()).collect()
        }
        stored => {
            let mut bytes = vec![0; pixels * stored.bytes()];
            read(OutputPixels::Bytes(&mut bytes));
            bytes
        }
    }
}

/// Returns the physical values of every pixel.
pub fn values(image: &Image) -> Vec<f64> {
    let mut values = vec![0.0; image.whole().pixels() as usize];
    let out = OutputPixels::Float64(&mut values);
    image.read(&image.whole(), ReadAs::Float64, out, &options(1)).unwrap();
    values
}

pub fn options(threads: usize) -> RunOptions<'static> {
    RunOptions::default().threads(threads).buffering(Buffering::Auto)
}

/// Returns the index of a pixel along each axis.
pub fn place(mut pixel: u64, axes: &[u64]) -> Vec<u64> {
    let axis_index = |&length: &u64| {
        let index = pixel % length;
        pixel /= length;
        index
    };
    axes.iter().map(axis_index).collect()
}

/// Returns the number of the pixel with these indices.
pub fn pixel_at(place: &[u64], axes: &[u64]) -> u64 {
    place.iter().zip(axes).rev().fold(0, |pixel, (&index, &length)| pixel * length + index)
}
