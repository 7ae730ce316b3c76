//! Strided arrays and runs of pixels, compared with a twin that decodes one element at a time.

#![expect(clippy::disallowed_methods, reason = "tests read files directly")]

use std::sync::Arc;

use proptest::prelude::*;
use tachyfits::io::Storage;
use tachyfits::strided::{Encoding, NullCounts, NullOutput, NullRule, PixelType, StridedArray};
use tachyfits::tiled::TileCompression;
use tachyfits::{
    Array, AxisRange, FileWriter, FitsFile, Header, Image, OpenOptions, Reason, RunOptions,
    WriteOptions,
};
use tachyfits_io::MemoryStorage;
use tachyfits_kernels::naive;

/// Returns varied bytes.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at ^ (at / 61) ^ (at / 4096 * 7)) as u8).collect()
}

/// Returns the elements of the twin: their bytes, flags and counts. Null elements keep the output's bytes, or
/// become `value`.
fn twin(
    bytes: &[u8],
    places: impl Iterator<Item = usize>,
    encoding: &Encoding,
    element: PixelType,
    rule: NullRule,
    value: Option<u64>,
    out: &mut [u8],
) -> (Vec<u8>, NullCounts) {
    let (mut marks, mut counts) = (Vec::new(), NullCounts::default());
    for (place, out) in places.zip(out.chunks_mut(element.bytes())) {
        let pixel = &bytes[place..place + encoding.pixel_bytes()];
        let (element_counts, mark) =
            naive::decode_elements(pixel, encoding, rule, element, value, out);
        counts = counts.plus(element_counts);
        marks.extend(mark);
    }
    (marks, counts)
}

fn encodings() -> Vec<Encoding> {
    let plain = PixelType::ALL.map(Encoding::plain);
    let scaled = [PixelType::U8, PixelType::I16, PixelType::I32, PixelType::F32].map(|pixel| {
        Encoding { scaling: Some((0.5, 3.0)), blank: Some(7), ..Encoding::plain(pixel) }
    });
    let blank = [PixelType::I16, PixelType::U16]
        .map(|pixel| Encoding { blank: Some(7), ..Encoding::plain(pixel) });
    plain.into_iter().chain(scaled).chain(blank).collect()
}

/// Returns elements whose bits can be compared: NaN get a single pattern.
fn comparable(bytes: &[u8], element: PixelType) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let size = element.bytes();
    if element == PixelType::F32 {
        let nan =
            |element_bytes: &[u8]| f32::from_ne_bytes(element_bytes.try_into().unwrap()).is_nan();
        bytes
            .chunks_mut(size)
            .filter(|element_bytes| nan(element_bytes))
            .for_each(|element_bytes| element_bytes.fill(255));
    } else if element == PixelType::F64 {
        let nan =
            |element_bytes: &[u8]| f64::from_ne_bytes(element_bytes.try_into().unwrap()).is_nan();
        bytes
            .chunks_mut(size)
            .filter(|element_bytes| nan(element_bytes))
            .for_each(|element_bytes| element_bytes.fill(255));
    }
    bytes
}

const RULES: [NullRule; 3] = [NullRule::Nothing, NullRule::Nan, NullRule::NotFinite];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn strided_elements_are_those_of_the_twin(
        shape in prop_oneof![
            // Columns, sections, rows too far apart to read together, elements far apart, many rows.
            (Just(1u64), 1u64..900, Just(0u64), 0u64..70),
            (1u64..40, 1u64..40, Just(0u64), 0u64..70),
            (1u64..2000, 1u64..4, Just(0u64), 32_000u64..40_000),
            (1u64..50, 1u64..5, 1u64..40_000, 0u64..70),
        ],
        planes in 1u64..3,
        which in 0usize..100,
        element in prop::sample::select(PixelType::ALL.to_vec()),
        rule in prop::sample::select(RULES.to_vec()),
        cut in (0.0f64..1.0, 0.0f64..1.0),
        value in prop::option::of(any::<u64>()),
        threads in 1usize..3,
    ) {
        let all = encodings();
        let encoding = all[which % all.len()];
        let size = encoding.pixel_bytes() as u64;
        let (count, rows, apart, gap) = shape;
        let step = size + apart;
        let stride = count * step + gap;
        let axes = [(count, step), (rows, stride), (planes, rows * stride + 5)];
        let array = StridedArray::new(11, encoding, &axes).unwrap();
        let total = count * rows * planes;
        prop_assert_eq!(array.len(), total);
        let first = (cut.0 * total as f64) as u64;
        let length = ((cut.1 * (total - first) as f64).ceil() as usize).max(1);
        let bytes = content(11 + (planes * axes[2].1) as usize);
        let place = |at: u64| {
            11 + at % count * step + at / count % rows * stride + at / count / rows * axes[2].1
        };
        let extent = array.extent(first..first + length as u64);
        prop_assert_eq!(extent.start, place(first));
        prop_assert_eq!(extent.end, place(first + length as u64 - 1) + size);
        let storage = MemoryStorage::new("strided", bytes.clone());
        let options = RunOptions::new().threads(threads);
        // Replaced, marked and replaced, marked and kept.
        for is_marked in [false, true] {
            let value = if is_marked { value } else { Some(value.unwrap_or(9)) };
            let original: Vec<u8> = (0..length * element.bytes()).map(|at| at as u8).collect();
            let mut expected = original.clone();
            let places = (first..).map(|at| place(at) as usize).take(length);
            let (marks, counts) =
                twin(&bytes, places, &encoding, element, rule, value, &mut expected);
            let (mut out, mut flags) = (original, vec![9; length]);
            let nulls = match value {
                Some(value) if !is_marked => NullOutput::Value(value),
                value => NullOutput::Flags { flags: &mut flags, value },
            };
            let (_, actual) =
                array.read(&storage, first, element, rule, nulls, &mut out, &options).unwrap();
            prop_assert_eq!(actual, counts);
            if counts.odd == 0 {
                prop_assert_eq!(comparable(&out, element), comparable(&expected, element));
            }
            if is_marked {
                prop_assert_eq!(flags, marks);
            }
        }
    }
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let encoding = Encoding::plain(PixelType::I16);
    // Elements overlap; the end is beyond any file.
    assert_eq!(StridedArray::new(0, encoding, &[(3, 1)]), None);
    assert_eq!(StridedArray::new(0, encoding, &[(3, u64::MAX / 2)]), None);
    assert_eq!(StridedArray::new(u64::MAX, encoding, &[]), None);
    let array = StridedArray::new(0, encoding, &[(3, 2)]).unwrap();
    let storage = MemoryStorage::new("three", vec![0; 6]);
    let mut flags = [0; 2];
    let read = |first, out: &mut [u8], nulls: NullOutput<'_>| {
        let options = RunOptions::default();
        array.read(&storage, first, PixelType::I16, NullRule::Nothing, nulls, out, &options)
    };
    for outcome in [
        read(0, &mut [0; 8], NullOutput::Value(0)),
        read(2, &mut [0; 4], NullOutput::Value(0)),
        read(0, &mut [0; 3], NullOutput::Value(0)),
        read(0, &mut [0; 2], NullOutput::Flags { flags: &mut flags, value: None }),
    ] {
        assert_eq!(outcome.unwrap_err().code(), Reason::Output.code());
    }
    assert!(read(1, &mut [0; 4], NullOutput::Value(0)).is_ok());
    let short = MemoryStorage::new("short", vec![0; 5]);
    let (rule, nulls) = (NullRule::Nothing, NullOutput::Value(0));
    let outcome =
        array.read(&short, 0, PixelType::F32, rule, nulls, &mut [0; 12], &RunOptions::default());
    assert_eq!(outcome.unwrap_err().code(), "io-short");
}

/// Returns a file with an image in HDU 1, compressed or not, and the offset of its header.
fn file_with_image(tiles: Option<TileCompression>) -> (Vec<u8>, u64, Vec<i32>) {
    let pixels: Vec<i32> = (0..70 * 40 * 3).map(|at| at * at % 1009 - 400).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.fits");
    let image = Array::new(&pixels, &[70, 40, 3]).to_file("pixels", &Header::new()).unwrap();
    let image = image.image(0).unwrap();
    let options = WriteOptions::default();
    let mut writer = FileWriter::create(&path, &options).unwrap();
    writer.write_empty(&Header::new()).unwrap();
    image.write_into(&mut writer, None, tiles.as_ref(), &RunOptions::default()).unwrap();
    writer.commit().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    (bytes, 2880, pixels)
}

#[test]
fn image_at_an_offset_is_the_one_of_the_file() {
    for tiles in [None, Some(TileCompression::default())] {
        let (bytes, offset, pixels) = file_with_image(tiles.clone());
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new("file", bytes.clone()));
        let opened = Image::at(Arc::clone(&storage), 1, offset).unwrap();
        assert_eq!(opened.table.is_some(), tiles.is_some());
        let file = FitsFile::from_bytes("file", bytes, &OpenOptions::default()).unwrap();
        assert_eq!(opened.image.axes(), file.image(1).unwrap().axes());
        // A run of pixels across rows and planes, and a section of every third pixel.
        let mut run = vec![0f32; 3001];
        let (rule, options) = (NullRule::Nothing, RunOptions::default());
        let out = bytemuck::cast_slice_mut(&mut run);
        let nulls = NullOutput::Value(0);
        opened.image.read_run(101, PixelType::F32, rule, nulls, out, &options).unwrap();
        let expected: Vec<f32> = pixels[101..3102].iter().map(|&pixel| pixel as f32).collect();
        assert_eq!(run, expected);
        let ranges = [
            AxisRange { first: 1, count: 20, step: 3 },
            AxisRange { first: 5, count: 4, step: 2 },
            AxisRange { first: 2, count: 1, step: 1 },
        ];
        let section = opened.image.section(&ranges).unwrap();
        let mut part = vec![0i32; 80];
        let out = bytemuck::cast_slice_mut(&mut part);
        let nulls = NullOutput::Value(0);
        opened.image.read_elements(&section, PixelType::I32, rule, nulls, out, &options).unwrap();
        let at = |x: usize, y: usize| pixels[2 * 2800 + (5 + 2 * y) * 70 + 1 + 3 * x];
        let expected: Vec<i32> = (0..80).map(|index| at(index % 20, index / 20)).collect();
        assert_eq!(part, expected);
        let mut more = vec![0; 4 * 8401];
        let nulls = NullOutput::Value(0);
        let outcome = opened.image.read_run(0, PixelType::I32, rule, nulls, &mut more, &options);
        assert_eq!(outcome.unwrap_err().code(), Reason::Output.code());
        let mut bytes_read = vec![0; 4 * 99];
        let (_, count) = opened.image.read_stored(55, None, &mut bytes_read, &options).unwrap();
        let expected: Vec<u8> =
            pixels[55..154].iter().flat_map(|pixel| pixel.to_be_bytes()).collect();
        assert_eq!((count, bytes_read), (0, expected));
        let outcome = opened.image.read_stored(1, None, &mut more[..4 * 8400], &options);
        assert_eq!(outcome.unwrap_err().code(), Reason::Output.code());
        // There is no HDU at another offset.
        assert!(Image::at(Arc::clone(&storage), 1, offset + 80).is_err());
        assert!(Image::at(storage, 1, 1 << 40).is_err());
    }
}

#[test]
fn stored_numbers_are_those_of_a_plain_image() {
    let options = RunOptions::default();
    let values = [1.5f32, f32::NAN, -0.0, f32::NEG_INFINITY, 1e-40];
    let file = Array::new(&values, &[5]).to_file("floats", &Header::new()).unwrap();
    let image = file.image(0).unwrap();
    let mut out = [0; 20];
    image.read_stored(0, None, &mut out, &options).unwrap();
    assert_eq!(out.as_slice(), values.map(f32::to_be_bytes).concat());
    let (_, nulls) = image.read_stored(0, Some(u64::MAX), &mut out, &options).unwrap();
    let nan = u32::MAX;
    let expected = [1.5f32.to_bits(), nan, 0, nan, 0].map(u32::to_be_bytes).concat();
    assert_eq!((nulls, out.as_slice()), (2, &expected[..]));
    // Unsigned integers are stored as signed ones.
    let file = Array::new(&[40_000u16, 7], &[2]).to_file("integers", &Header::new()).unwrap();
    let image = file.image(0).unwrap();
    assert_eq!(image.stored_encoding(), Encoding::plain(PixelType::U16));
    assert_eq!(image.unscaled().stored_encoding(), Encoding::plain(PixelType::I16));
    let mut out = [0; 4];
    image.unscaled().read_stored(0, Some(0), &mut out, &options).unwrap();
    assert_eq!(
        out,
        [(40_000i32 - 32_768) as i16, 7 - 32_767 - 1].map(i16::to_be_bytes).concat()[..]
    );
}

#[test]
fn nulls_in_some_pieces_are_those_of_the_twin() {
    let blank = |at: usize| (40_000..40_007).contains(&at) || at % 9001 == 5 && at > 90_000;
    let stored = |at: usize| if blank(at) { 3i16 } else { 4 + (at % 1000) as i16 };
    let bytes: Vec<u8> = (0..150_000).flat_map(|at| stored(at).to_be_bytes()).collect();
    let scaled = Encoding { scaling: Some((0.5, 7.0)), ..Encoding::plain(PixelType::I16) };
    let integers = [3, 3 + 65_536].map(|blank| Encoding { blank: Some(blank), ..scaled });
    let nan = |at: usize| if blank(at) { f32::NAN } else { at as f32 - 75_000.0 };
    let floats: Vec<u8> = (0..150_000).flat_map(|at| nan(at).to_be_bytes()).collect();
    let plain = Encoding::plain(PixelType::F32);
    for (bytes, encoding) in [(&bytes, integers[0]), (&bytes, integers[1]), (&floats, plain)] {
        let storage = MemoryStorage::new("pixels", bytes.clone());
        let size = encoding.pixel_bytes() as u64;
        let array = StridedArray::new(0, encoding, &[(150_000, size)]).unwrap();
        for is_marked in [false, true] {
            let (mut out, mut flags) = (vec![7; 600_000], vec![9; 150_000]);
            let mut expected = out.clone();
            let null = (-9f32).to_bits().into();
            let value = Some(null);
            let places = (0..150_000).map(|at| at * size as usize);
            let (rule, kind) = (NullRule::Nan, PixelType::F32);
            let (marks, counts) = twin(bytes, places, &encoding, kind, rule, value, &mut expected);
            let nulls = match is_marked {
                true => NullOutput::Flags { flags: &mut flags, value },
                false => NullOutput::Value(null),
            };
            let options = RunOptions::default();
            let (_, actual) =
                array.read(&storage, 0, kind, rule, nulls, &mut out, &options).unwrap();
            assert_eq!(actual, counts);
            assert!(out == expected && (!is_marked || flags == marks), "{encoding:?} {is_marked}");
        }
    }
}
