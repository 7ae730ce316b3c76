//! Builds files byte by byte, and walks over them.

use tachyfits_format::{
    Code, FormatError, Hdu, ImageLayout, ReadOptions, Step, TableLayout, Walker, padded,
};

/// Returns a record of 80 bytes.
pub fn record(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut bytes = text.as_ref().to_vec();
    assert!(bytes.len() <= 80, "{} bytes in a card", bytes.len());
    bytes.resize(80, b' ');
    bytes
}

/// Returns a header of these records and END, in whole blocks.
pub fn header<T: AsRef<[u8]>>(records: &[T]) -> Vec<u8> {
    let mut bytes: Vec<u8> = records.iter().flat_map(record).collect();
    bytes.extend(record("END"));
    bytes.resize(padded(bytes.len() as u64) as usize, b' ');
    bytes
}

/// Returns data padded with zeros.
pub fn data(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(padded(bytes.len() as u64) as usize, 0);
    bytes
}

/// Returns big-endian 16-bit integers.
pub fn i16s(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

fn number(keyword: &str, value: impl std::fmt::Display) -> Vec<u8> {
    format!("{keyword:<8}= {value:>20}").into_bytes()
}

/// Returns a primary header: the mandatory records, then others.
pub fn primary<T: AsRef<[u8]>>(bitpix: i64, axes: &[u64], more: &[T]) -> Vec<u8> {
    let mut records = vec![number("SIMPLE", "T")];
    records.extend(shape(bitpix, axes));
    records.extend(more.iter().map(|record| record.as_ref().to_vec()));
    header(&records)
}

/// Returns the header of an extension: the mandatory records, then others.
pub fn extension<T: AsRef<[u8]>>(
    xtension: &str,
    bitpix: i64,
    axes: &[u64],
    counts: [u64; 2],
    more: &[T],
) -> Vec<u8> {
    let mut records = vec![format!("XTENSION= '{xtension:<8}'").into_bytes()];
    records.extend(shape(bitpix, axes));
    records.push(number("PCOUNT", counts[0]));
    records.push(number("GCOUNT", counts[1]));
    records.extend(more.iter().map(|record| record.as_ref().to_vec()));
    header(&records)
}

fn shape(bitpix: i64, axes: &[u64]) -> Vec<Vec<u8>> {
    let mut records = vec![number("BITPIX", bitpix), number("NAXIS", axes.len())];
    records.extend((1..).zip(axes).map(|(n, size)| number(&format!("NAXIS{n}"), size)));
    records
}

/// Returns an image of two pixels, which follows the primary HDU in many tests.
pub fn image_of_two() -> Vec<u8> {
    let mut bytes = extension::<&str>("IMAGE", 16, &[2], [0, 1], &[]);
    bytes.extend(data(&i16s(&[7, 8])));
    bytes
}

/// Returns a primary HDU without data.
pub fn empty_primary<T: AsRef<[u8]>>(more: &[T]) -> Vec<u8> {
    primary(8, &[], more)
}

/// Results of a walk over a file.
#[derive(Debug)]
pub struct Walked {
    pub hdus: Vec<Hdu>,
    pub warnings: Vec<Code>,
    pub error: Option<FormatError>,
    /// Number of bytes that the walk requested.
    pub bytes_read: u64,
}

impl Walked {
    /// Returns the result after checking that there was no error.
    pub fn whole(self) -> Walked {
        if let Some(error) = &self.error {
            panic!("{error}");
        }
        self
    }

    pub fn error(self) -> FormatError {
        self.error.expect("the walk should have met an error")
    }
}

pub fn walk(file: &[u8]) -> Walked {
    walk_with(file, ReadOptions::default())
}

pub fn walk_strictly(file: &[u8]) -> Walked {
    walk_with(file, ReadOptions::default().strict(true))
}

pub fn walk_with(file: &[u8], options: ReadOptions) -> Walked {
    let mut walker = Walker::new(options, file.len() as u64);
    let mut walked = Walked { hdus: Vec::new(), warnings: Vec::new(), error: None, bytes_read: 0 };
    loop {
        match walker.step() {
            Ok(Step::Read { offset, bytes }) => {
                assert!(bytes > 0, "a read of nothing would never end");
                walked.bytes_read += bytes as u64;
                walker.supply(&file[offset as usize..][..bytes]);
            }
            Ok(Step::Hdu(hdu)) => walked.hdus.push(*hdu),
            Ok(Step::Done) => break,
            Err(error) => {
                walked.error = Some(error);
                assert!(matches!(walker.step(), Ok(Step::Done)), "an error ends the walk");
                break;
            }
        }
    }
    walked.warnings = walker.warnings().iter().map(|warning| warning.code()).collect();
    walked
}

/// Returns the first HDU of a file without errors.
pub fn first(file: &[u8]) -> Hdu {
    walk(file).whole().hdus.remove(0)
}

/// Returns the image in the first HDU of a file without errors.
pub fn image(file: &[u8]) -> ImageLayout {
    first(file).image().unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the HDU of a primary header without data.
pub fn hdu_of<T: AsRef<[u8]>>(bitpix: i64, axes: &[u64], more: &[T]) -> Hdu {
    first(&primary(bitpix, axes, more))
}

/// Returns a file with one table: the mandatory records and `records`, which begin with TFIELDS, and the data.
pub fn table_file<T: AsRef<[u8]>>(
    xtension: &str,
    [row_bytes, rows]: [u64; 2],
    heap_bytes: u64,
    records: &[T],
    bytes: &[u8],
) -> Vec<u8> {
    let header = extension(xtension, 8, &[row_bytes, rows], [heap_bytes, 1], records);
    [empty_primary::<&str>(&[]), header, data(bytes)].concat()
}

/// Returns the records of columns; each string contains keywords without number and values: `TFORM='1J' TZERO=5`.
pub fn columns(columns: &[&str]) -> Vec<String> {
    let mut records = vec![format!("TFIELDS = {:>20}", columns.len())];
    for (number, column) in (1..).zip(columns) {
        for card in column.split_whitespace() {
            let (root, value) = card.split_once('=').expect("KEYWORD=value");
            let value = value.replace('_', " ");
            records.push(format!("{:<8}= {value:<20}", format!("{root}{number}")));
        }
    }
    records
}

/// Returns the HDU of the table in a file, which is the second.
pub fn table_hdu(file: &[u8]) -> Hdu {
    walk(file).whole().hdus.remove(1)
}

/// Returns the layout of the table in a file.
pub fn table(file: &[u8]) -> TableLayout {
    table_hdu(file).table().unwrap_or_else(|error| panic!("{error}"))
}
