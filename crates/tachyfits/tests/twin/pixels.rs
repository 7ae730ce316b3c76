//! Reading pixels, cutouts, and the parameters of random groups.

#![allow(clippy::disallowed_methods, reason = "the test looks at files as they are")]

use proptest::prelude::*;
use tachyfits::{FitsFile, Image, OpenOptions, OutputPixels, PixelType, ReadAs, Section};

use crate::common::{BLOCK, Numbers, fits};
use crate::picture::{Picture, Stored, pictures, walk};
use crate::reductions::ONE;

/// Returns the bits of a pixel read as f64: as stored if nothing is computed, otherwise those of the value.
fn as_f64(picture: &Picture, pixel: u64) -> u64 {
    match (picture.scaling, picture.stored(pixel)) {
        (None, Stored::Double(x)) => x.to_bits(),
        _ => picture.value(pixel).unwrap_or(f64::NAN).to_bits(),
    }
}

/// Returns the bits of a pixel read as f32: rounded once, from the stored number if nothing scales it.
fn as_f32(picture: &Picture, pixel: u64) -> u32 {
    let value = match (picture.scaling, picture.stored(pixel)) {
        (None, Stored::Single(x)) => x,
        (None, Stored::Integer(x)) if picture.value(pixel).is_some() => (x + picture.offset) as f32,
        _ => picture.value(pixel).unwrap_or(f64::NAN) as f32,
    };
    value.to_bits()
}

/// Returns the bytes of a pixel in native order, with the offset of the conventions.
fn as_bytes(picture: &Picture, pixel: u64, offset: i128) -> Vec<u8> {
    match picture.stored(pixel) {
        Stored::Integer(x) => {
            let size = picture.pixel_bytes(pixel).len();
            match size {
                1 => ((x + offset) as u8).to_ne_bytes().to_vec(),
                2 => ((x + offset) as u16).to_ne_bytes().to_vec(),
                4 => ((x + offset) as u32).to_ne_bytes().to_vec(),
                _ => ((x + offset) as u64).to_ne_bytes().to_vec(),
            }
        }
        Stored::Single(x) => x.to_bits().to_ne_bytes().to_vec(),
        Stored::Double(x) => x.to_bits().to_ne_bytes().to_vec(),
    }
}

/// Reads a section of any type as bytes in native order.
fn read(image: &Image, section: &Section, read: ReadAs) -> Vec<u8> {
    let count = section.pixels() as usize;
    match image.read_type(read).unwrap() {
        PixelType::F32 => {
            let mut out = vec![0.0f32; count];
            image.read(section, read, OutputPixels::Float32(&mut out), &ONE).unwrap();
            out.iter().flat_map(|x| x.to_bits().to_ne_bytes()).collect()
        }
        PixelType::F64 => {
            let mut out = vec![0.0f64; count];
            image.read(section, read, OutputPixels::Float64(&mut out), &ONE).unwrap();
            out.iter().flat_map(|x| x.to_bits().to_ne_bytes()).collect()
        }
        pixel => {
            let mut out = vec![0u8; count * pixel.bytes()];
            image.read(section, read, OutputPixels::Bytes(&mut out), &ONE).unwrap();
            out
        }
    }
}

/// Whether bits are equal; a computed NaN may have any sign and payload, a stored one keeps them.
fn same_f64(a: u64, b: u64, exact: bool) -> bool {
    a == b || !exact && f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan()
}

fn check_floats(picture: &Picture, image: &Image, section: &Section) {
    let doubles = read(image, section, ReadAs::Float64);
    let singles = read(image, section, ReadAs::Float32);
    let doubles = doubles.chunks_exact(8).map(|x| u64::from_ne_bytes(x.try_into().unwrap()));
    let singles = singles.chunks_exact(4).map(|x| u32::from_ne_bytes(x.try_into().unwrap()));
    let pixels = walk(&picture.axes, section);
    assert_eq!((doubles.len(), singles.len()), (pixels.len(), pixels.len()));
    let plain = picture.scaling.is_none();
    for (((_, pixel), double), single) in pixels.into_iter().zip(doubles).zip(singles) {
        let (wide, narrow) = (as_f64(picture, pixel), as_f32(picture, pixel));
        assert!(same_f64(double, wide, plain && picture.bitpix == -64), "{double:x} {wide:x}");
        let nan = f32::from_bits(single).is_nan() && f32::from_bits(narrow).is_nan();
        let exact = plain && picture.bitpix == -32;
        assert!(single == narrow || !exact && nan, "{single:x} {narrow:x}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn reading_gives_each_pixel_in_every_type(picture in pictures(true)) {
        let image = picture.image();
        let section = picture.section(&image);
        check_floats(&picture, &image, &section);
        let pixels = walk(&picture.axes, &section);
        let bytes = |offset| -> Vec<u8> {
            pixels.iter().flat_map(|&(_, pixel)| as_bytes(&picture, pixel, offset)).collect()
        };
        prop_assert_eq!(read(&image, &section, ReadAs::Raw), bytes(0));
        if picture.scaling.is_some() {
            prop_assert_eq!(image.read_type(ReadAs::Exact).unwrap_err().code(), "pixel-kind");
        } else {
            prop_assert_eq!(read(&image, &section, ReadAs::Exact), bytes(picture.offset));
        }
        let computed = picture.scaling.is_some() || picture.blank.is_some();
        let expected = match (computed, picture.bitpix) {
            (true, _) | (false, -64) => ReadAs::Float64,
            (false, -32) => ReadAs::Float32,
            _ => ReadAs::Exact,
        };
        prop_assert_eq!(image.default_read(), expected);
    }

    #[test]
    fn cutouts_hold_the_stored_bytes_of_the_section(picture in pictures(true)) {
        let image = picture.image();
        let section = picture.section(&image);
        let counts: Vec<u64> = section.ranges().iter().map(|range| range.count).collect();
        let mut numbers = Numbers(picture.seed ^ 4);
        let mut dropped: Vec<usize> = (0..counts.len())
            .filter(|&axis| counts[axis] == 1 && numbers.one_in(2))
            .collect();
        if dropped.len() == counts.len() {
            dropped.pop();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cutout.fits");
        let result = image.cutout(&path, &section, &dropped, false, &ONE);
        if section.pixels() == 0 {
            prop_assert_eq!(result.unwrap_err().code(), "section");
            prop_assert!(!path.exists());
            return Ok(());
        }
        result.unwrap();
        let pixels = walk(&picture.axes, &section);
        let expected: Vec<u8> =
            pixels.iter().flat_map(|&(_, pixel)| picture.pixel_bytes(pixel)).copied().collect();
        let strict = OpenOptions::default().strict(true);
        let file = FitsFile::open(&path, &strict).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let (_, data) = bytes.split_at(file.hdus()[0].data_offset as usize);
        prop_assert_eq!(&data[..expected.len()], &expected[..]);
        prop_assert!(data[expected.len()..].iter().all(|&byte| byte == 0));
        prop_assert!(bytes.len().is_multiple_of(BLOCK) && data.len() - expected.len() < BLOCK);
        let remaining_axes: Vec<u64> = (0..counts.len())
            .filter(|axis| !dropped.contains(axis))
            .map(|axis| counts[axis])
            .collect();
        let cutout = file.image(0).unwrap();
        prop_assert_eq!(cutout.axes(), remaining_axes);
        prop_assert_eq!(cutout.encoding_for_tests(), image.encoding_for_tests());
    }
}

/// Encoding of the pixels of an image, for comparison.
trait Encoding {
    fn encoding_for_tests(&self) -> (PixelType, f64, f64, Option<i64>);
}

impl Encoding for Image {
    fn encoding_for_tests(&self) -> (PixelType, f64, f64, Option<i64>) {
        let layout = self.layout();
        (self.pixel_type(), layout.scale, layout.zero, layout.blank)
    }
}

#[test]
fn group_parameters_are_scaled_and_those_of_one_name_added_up() {
    let groups = 700u64;
    let (scale, zero) = (0.5, 100.0);
    let cards: Vec<String> = [
        "GROUPS  =                    T",
        "PCOUNT  =                    3",
        "GCOUNT  =                  700",
        "PTYPE1  = 'DATE    '",
        "PSCAL1  =                  0.5",
        "PZERO1  =                100.0",
        "PTYPE2  = 'UU      '",
        "PTYPE3  = 'DATE    '",
    ]
    .map(str::to_owned)
    .to_vec();
    // Three parameters and an array of two numbers per group.
    let stored = |group: u64, number: u64| (group * 3 + number) as i16 - 40;
    let data: Vec<u8> = (0..groups)
        .flat_map(|group| (0..5).flat_map(move |number| stored(group, number).to_be_bytes()))
        .collect();
    let whole = fits(16, &[0, 2], &cards, &data);
    let open = |bytes: Vec<u8>| {
        FitsFile::from_bytes("groups.fits", bytes, &OpenOptions::default()).unwrap()
    };
    let parameters = open(whole.clone()).group_parameters(0).unwrap();
    assert_eq!(parameters.names, ["DATE", "UU"]);
    for group in 0..groups {
        let [date, uu, more] = [0, 1, 2].map(|number| f64::from(stored(group, number)));
        assert_eq!(parameters.values[0][group as usize], zero + scale * date + more);
        assert_eq!(parameters.values[1][group as usize], uu);
    }
    // A truncated file has the groups before its end.
    let data_offset = whole.len() - data.len().next_multiple_of(BLOCK);
    let cut = open(whole[..data_offset + 10 * 300 + 7].to_vec());
    let fewer = cut.group_parameters(0).unwrap();
    assert_eq!(fewer.values[1], parameters.values[1][..300]);
    // The arrays are an image whose last axis counts the groups.
    assert_eq!(open(whole).image(0).unwrap().axes().last(), Some(&groups));
    let image = open(fits(16, &[1], &[], &[0, 0]));
    assert_eq!(image.group_parameters(0).unwrap_err().code(), "not-random-groups");
}
