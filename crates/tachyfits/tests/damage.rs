//! Damaged and hostile files: each gives values, warnings or one clear error; never a panic, a hang, or an
//! excessive use of memory.

#![allow(clippy::disallowed_methods, reason = "the test makes files of its own")]

mod common;

use std::alloc::System;

use cap::Cap;
use common::{BLOCK, Numbers, fits, header, table_file};
use tachyfits::io::Buffering;
use tachyfits::statistics::Coordinates;
use tachyfits::{
    AxisRange, Error, ErrorKind, FitsFile, Image, OpenOptions, OutputPixels, ReadAs, Region,
    RunOptions, Statistic,
};

/// Memory limit of this program. The files have some ten kilobytes.
const MEMORY: usize = 64 << 20;

/// Exceeding the limit ends the program, so that such a failure cannot be overlooked.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MEMORY);

const ONE: RunOptions<'static> = RunOptions::new().threads(1).buffering(Buffering::Single);

const NAME: &str = "made.fits";

/// Maximum number of pixels that a test allocates.
const READABLE: u64 = 1 << 16;

fn cards(text: &str) -> Vec<String> {
    text.split('|').map(str::to_owned).collect()
}

/// Small files of several kinds.
fn files() -> Vec<Vec<u8>> {
    let mut numbers = Numbers(5);
    let mut data = |bytes: usize| (0..bytes).map(|_| numbers.next() as u8).collect::<Vec<u8>>();
    let cube = cards(
        "BSCALE  =                  0.5|BZERO   =                 12.0|BLANK   =                  -99|\
         CTYPE3  = 'FREQ    '           / spectral|CRVAL3  =         1.420405752E9|\
         CDELT3  =             -24414.0|CRPIX3  =                  2.0|CUNIT3  = 'Hz      '|\
         OBJECT  = 'A name that goes on and on over more than one card, up to the last &'|\
         CONTINUE  'word.'|HIERARCH ESO DET GAIN = 2.5 / gain|HISTORY made for a test",
    );
    let groups = cards(
        "GROUPS  =                    T|PCOUNT  =                    2|GCOUNT  =                   30|\
         PTYPE1  = 'UU      '|PSCAL1  =                  0.5|PTYPE2  = 'UU      '",
    );
    let extension = |text: &str, data: &[u8]| {
        let mut bytes: Vec<u8> =
            text.split('|').flat_map(|card| format!("{card:<80}").into_bytes()).collect();
        bytes.resize(bytes.len().next_multiple_of(BLOCK), b' ');
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes
    };
    let mut several = header(8, &[], &cards("EXTEND  =                    T"));
    several.extend(extension(
        "XTENSION= 'FOREIGN '|BITPIX  =                    8|NAXIS   =                    1|\
         NAXIS1  =                   50|PCOUNT  =                    7|GCOUNT  =                    1|END",
        &data(57),
    ));
    several.extend(extension(
        "XTENSION= 'IMAGE   '|BITPIX  =                  -32|NAXIS   =                    2|\
         NAXIS1  =                    6|NAXIS2  =                    5|PCOUNT  =                    0|\
         GCOUNT  =                    1|EXTNAME = 'SCI     '|END",
        &data(120),
    ));
    vec![
        fits(16, &[5, 4, 3], &cube, &data(120)),
        fits(64, &[4, 3], &cards("BZERO   =  9223372036854775808"), &data(96)),
        fits(-32, &[0, 3], &groups, &data(30 * 20)),
        several,
    ]
}

/// Runs every operation on a file; returns the numbers of results and errors.
fn exercise(bytes: Vec<u8>) -> (usize, usize) {
    let mut tally = Tally::default();
    let Some(file) = tally.take(FitsFile::from_bytes(NAME, bytes, &OpenOptions::default())) else {
        return (0, tally.errors);
    };
    for index in 0..=file.hdus().len() {
        tally.take(file.header_bytes(index));
        tally.take(file.group_parameters(index));
        if let Some(image) = tally.take(file.image(index)) {
            exercise_image(&image, &mut tally);
        }
    }
    (tally.results, tally.errors)
}

#[derive(Default)]
struct Tally {
    results: usize,
    errors: usize,
}

impl Tally {
    /// Counts a result; an error must name the file and give advice.
    fn take<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => {
                self.results += 1;
                Some(value)
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(NAME) && text.lines().count() == 1, "{text}");
                self.errors += 1;
                None
            }
        }
    }
}

fn exercise_image(image: &Image, tally: &mut Tally) {
    let whole = image.whole();
    let rank = image.axes().len();
    tally.take(image.stats(&whole, None, &ONE));
    tally.take(image.total(&whole, &ONE));
    tally.take(image.histogram((-1e3, 1e3), 10, &whole, None, &ONE));
    let regions = [
        Region::circle(2.0, 2.0, 1.5).unwrap(),
        Region::rectangle(0.0, 0.0, 1e12, 1e12, 0.0).unwrap(),
    ];
    tally.take(image.stats(&whole, Some(&regions), &ONE));
    tally.take(image.reduce(Statistic::ALL, &[0, 1], &whole, Some(&regions), 0, &ONE));
    for axis in 0..rank.min(4) {
        tally.take(image.linear_axis(axis));
        tally.take(image.reduce(Statistic::ALL, &[axis], &whole, None, 1, &ONE));
        let count = whole.ranges()[axis].count;
        if count <= READABLE {
            let values: Vec<f64> = (0..count).map(|index| index as f64).collect();
            let coordinates = Coordinates { values: &values, widths: &[1.0] };
            tally.take(image.moments(&[0, 1], axis, coordinates, &whole, &ONE));
        }
    }
    let near: Vec<_> = image
        .axes()
        .iter()
        .map(|&length| AxisRange { first: 0, count: length.min(2), step: 1 })
        .collect();
    for section in [image.section(&near).unwrap(), whole] {
        if section.pixels() <= READABLE {
            let mut out = vec![0.0; section.pixels() as usize];
            let out = OutputPixels::Float64(&mut out);
            tally.take(image.read(&section, ReadAs::Float64, out, &ONE));
        }
    }
}

#[test]
fn whole_files_give_results() {
    for (file, errors) in files().into_iter().zip([2, 2, 3, 4]) {
        let (results, actual) = exercise(file);
        // HDUs beyond the last one, invalid groups, invalid images, missing axes.
        assert!(results >= 2, "{results}");
        assert!(actual >= errors, "{actual}");
    }
}

#[test]
fn files_cut_anywhere() {
    for file in files() {
        for length in (0..file.len()).step_by(100).chain([1, 79, 80, 81, file.len() - 1]) {
            let (results, errors) = exercise(file[..length].to_vec());
            assert!(results + errors > 0);
        }
    }
    assert!(ALLOCATOR.max_allocated() < MEMORY);
}

#[test]
fn header_bytes_changed_one_by_one() {
    let mut numbers = Numbers(6);
    for file in files() {
        let opened = FitsFile::from_bytes(NAME, file.clone(), &OpenOptions::default()).unwrap();
        let headers = opened.hdus().iter().flat_map(|hdu| hdu.header_offset..hdu.data_offset);
        // Every byte of every card, and a few blanks beyond END.
        let is_blank = |at: usize| file[at / 80 * 80..][..80].iter().all(|&byte| byte == b' ');
        for at in headers.map(|at| at as usize).filter(|&at| at % 97 == 0 || !is_blank(at)) {
            for mask in [0xff, 1 << numbers.below(8)] {
                let mut changed = file.clone();
                changed[at] ^= mask;
                let (results, errors) = exercise(changed);
                assert!(results + errors > 0);
            }
        }
    }
    assert!(ALLOCATOR.max_allocated() < MEMORY);
}

#[test]
fn the_rest_of_a_truncated_image_can_be_read() {
    let (axes, size) = ([100u64, 50], 2);
    let values: Vec<i16> = (0..5000).map(|n| n - 2500).collect();
    let data: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes()).collect();
    let whole = fits(16, &axes, &[], &data);
    for cut in [0, 1, 2, 199, 200, 201, 5000, 9998, 9999] {
        let file =
            FitsFile::from_bytes(NAME, whole[..BLOCK + cut].to_vec(), &OpenOptions::default());
        let file = file.unwrap();
        assert_eq!(file.warnings()[0].code().as_str(), "truncated-data");
        let image = file.image(0).unwrap();
        let present = cut / size;
        for pixel in (0..5000usize).filter(|pixel| pixel % 97 == 0 || pixel.abs_diff(present) < 3) {
            let at = |first| AxisRange { first, count: 1, step: 1 };
            let section = image.section(&[at(pixel as u64 % 100), at(pixel as u64 / 100)]).unwrap();
            let mut out = [0.0f32];
            let read = image.read(&section, ReadAs::Float32, OutputPixels::Float32(&mut out), &ONE);
            let (_, total) =
                (image.total(&section, &ONE).is_ok(), image.stats(&section, None, &ONE));
            assert_eq!((read.is_ok(), total.is_ok()), (pixel < present, pixel < present));
            match read {
                Ok(_) => assert_eq!(out[0], f32::from(values[pixel])),
                Err(error) => {
                    assert_eq!((error.code(), error.kind()), ("data-missing", ErrorKind::Format));
                    let text = error.to_string();
                    let expected_bytes = format!("expected {} bytes of data", (pixel + 1) * size);
                    let present_bytes = format!("found {cut} bytes, {present} whole pixels");
                    assert!(text.contains("(10000 of the whole image)"), "{text}");
                    assert!(
                        text.contains(&expected_bytes) && text.contains(&present_bytes),
                        "{text}"
                    );
                }
            }
        }
    }
}

/// Headers that declare more data than possible.
#[test]
fn hostile_sizes_are_refused_at_once() {
    let exa = 1 << 57;
    for axes in [
        vec![exa, 8],
        vec![1, exa],
        vec![3, exa / 4, 1],
        vec![1 << 30, 1 << 29],
        vec![1 << 20, 1 << 20, 1 << 19],
        vec![exa, 0, exa],
        vec![1; 999],
    ] {
        let (results, errors) = exercise(fits(8, &axes, &[], &[0; 100]));
        assert!(results > 0 && errors > 0, "{axes:?}");
    }
    let axes = [1 << 40, 1 << 40];
    let error = FitsFile::from_bytes(NAME, fits(8, &axes, &[], &[]), &OpenOptions::default());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Limit);
}

/// Tiles of few bytes that declare more pixels than fit in memory.
#[test]
fn large_tiles_of_short_streams_are_errors() {
    // The header of an HCOMPRESS stream without bit planes: all pixels are 0.
    let hcompress = |rows: i32, columns: i32| {
        let sizes = [rows, columns, 0].map(i32::to_be_bytes).concat();
        [&[0xdd, 0x99], &sizes[..], &[0; 8 + 3 + 1]].concat()
    };
    let plio = [0, 7, -100, 7, 0, 0, 0].map(i16::to_be_bytes).concat();
    for (codec, bitpix, axes, stream, code) in [
        ("RICE_1", 32, [1u64 << 31, 1], vec![0; 8], "tile-stream"),
        ("GZIP_1", 32, [1 << 31, 1], vec![0; 8], "tile-stream"),
        ("NOCOMPRESS", 32, [1 << 31, 1], vec![0; 8], "tile-stream"),
        ("PLIO_1", 32, [1 << 31, 1], plio.clone(), "tile-stream"),
        ("HCOMPRESS_1", 32, [1 << 16, 1 << 15], hcompress(1 << 15, 1 << 16), "tile-stream"),
        // The pixels alone would fit in memory, but not together with the buffers of the codec.
        ("PLIO_1", 8, [4096, 4096], plio, "too-little-memory"),
        ("HCOMPRESS_1", 8, [4096, 4096], hcompress(4096, 4096), "too-little-memory"),
    ] {
        let cards = format!(
            "TTYPE1  = 'COMPRESSED_DATA'|TFORM1  = '1PB     '|ZIMAGE  = {:>20}|ZCMPTYPE= '{codec}'|\
             ZBITPIX = {bitpix:>20}|ZNAXIS  = {:>20}|ZNAXIS1 = {:>20}|ZNAXIS2 = {:>20}|\
             ZTILE1  = {:>20}|ZTILE2  = {:>20}",
            'T', 2, axes[0], axes[1], axes[0], axes[1]
        );
        let row = [stream.len() as i32, 0].map(i32::to_be_bytes).concat();
        let bytes = stream.len() as u64;
        let data = [row, stream].concat();
        let file = table_file("BINTABLE", [8, 1], bytes, &self::cards(&cards), &data);
        let file = FitsFile::from_bytes(NAME, file, &OpenOptions::default()).unwrap();
        let image = file.image(1).unwrap();
        let range = |first, count| AxisRange { first, count, step: 1 };
        let pixel = image.section(&[range(0, 1), range(0, 1)]).unwrap();
        let error = image.stats(&pixel, None, &ONE).unwrap_err();
        assert_eq!((error.code(), codec), (code, codec), "{error}");
        assert!(ALLOCATOR.max_allocated() < MEMORY);
    }
}

/// Requests on an empty sparse file of a terabyte succeed with little memory.
#[test]
fn a_sparse_file_of_a_terabyte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let axes = [1 << 13, 1 << 13, 1 << 12];
    let file = std::fs::File::create(&path).unwrap();
    std::io::Write::write_all(&mut &file, &header(-32, &axes, &[])).unwrap();
    file.set_len(BLOCK as u64 + 4 * axes.iter().product::<u64>()).unwrap();
    let image = FitsFile::open(&path, &OpenOptions::default()).unwrap().image(0).unwrap();
    let range = |first, count| AxisRange { first, count, step: 1 };
    let channels = image.section(&[range(0, 8192), range(0, 8192), range(4000, 90)]).unwrap();
    let circle = [Region::circle(4000.0, 8000.0, 9.0).unwrap()];
    let spectrum = image.reduce(&[Statistic::COUNT], &[0, 1], &channels, Some(&circle), 0, &ONE);
    assert_eq!(spectrum.unwrap().0.axes, [90, 1]);
    // Each pixel of this column through all planes is in a separate page.
    let pixel = image.section(&[range(8191, 1), range(8191, 1), range(0, 4096)]).unwrap();
    let (stats, _) = image.stats(&pixel, None, &RunOptions::default()).unwrap();
    assert_eq!((stats[0].count, stats[0].sum.value()), (4096, 0.0));
    assert!(ALLOCATOR.max_allocated() < MEMORY);
}
