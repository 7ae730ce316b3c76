//! Rows of columns as comma-separated text, formatted on several threads.
//!
//! The text equals that of Python's `csv` module for Python's values: floats have the fewest digits
//! that restore them (`repr`), and only cells that need quotes have them. The input is decoded
//! columns, not files or fields.

use std::ops::Range;

use tachyfits_format::TextEncoding;
use tachyfits_io::operation::RunOptions;
use tachyfits_io::{PipelineOptions, run_tasks};
use tachyfits_memory::{self as memory, NoMemory};

use crate::error::Error;

/// Rows formatted per task: a few hundred kilobytes of text.
const PIECE_ROWS: usize = 8192;

/// Values of a column, in native byte order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CsvValues<'a> {
    /// Truth values, one byte each.
    Bool(&'a [u8]),
    /// Signed integers of 8 bits.
    I8(&'a [i8]),
    /// Signed integers of 16 bits.
    I16(&'a [i16]),
    /// Signed integers of 32 bits.
    I32(&'a [i32]),
    /// Signed integers of 64 bits.
    I64(&'a [i64]),
    /// Unsigned integers of 8 bits.
    U8(&'a [u8]),
    /// Unsigned integers of 16 bits.
    U16(&'a [u16]),
    /// Unsigned integers of 32 bits.
    U32(&'a [u32]),
    /// Unsigned integers of 64 bits.
    U64(&'a [u64]),
    /// Floats of 32 bits.
    F32(&'a [f32]),
    /// Floats of 64 bits.
    F64(&'a [f64]),
    /// UTF-8 of a fixed width in bytes, padded with NUL ([`TextEncoding::decode`]).
    Text(&'a [u8], usize),
}

/// A column to format as CSV.
#[derive(Clone, Copy, Debug)]
pub struct CsvColumn<'a> {
    /// Elements of all cells, one cell after another.
    pub values: CsvValues<'a>,
    /// 1 for each undefined element; `None` if all are defined.
    pub undefined: Option<&'a [u8]>,
    /// Division of the elements into cells.
    pub cells: CsvCells<'a>,
}

/// Division of the elements of a column into cells.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CsvCells<'a> {
    /// One element per cell.
    Single,
    /// The same number of elements per cell, separated by blanks.
    Fixed(usize),
    /// Cell `n` has the elements from `offsets[n]` to `offsets[n + 1]`.
    Ragged(&'a [i64]),
}

/// Formats the rows `0..rows` in pieces; their concatenation is the text.
///
/// # Errors
/// If the job is cancelled.
///
/// # Panics
///
/// If a column has fewer elements than these rows need ([`CsvColumn::holds`]).
pub fn csv_rows(
    columns: &[CsvColumn<'_>],
    rows: usize,
    options: &RunOptions<'_>,
) -> Result<Vec<Vec<u8>>, Error> {
    let pieces = rows.div_ceil(PIECE_ROWS);
    let mut texts = memory::with_room(pieces, TEXT)?;
    let RunOptions { threads, job, .. } = *options;
    run_tasks(
        pieces as u64,
        &PipelineOptions::default().threads(threads).job(job),
        || (),
        |(), piece| {
            let mut text = Vec::new();
            let first = piece as usize * PIECE_ROWS;
            format_rows(columns, first..rows.min(first + PIECE_ROWS), &mut text)?;
            Ok(text)
        },
        |_piece, text| {
            texts.push(text);
            Ok::<(), Error>(())
        },
    )?;
    Ok(texts)
}

/// Purpose of the allocation, for error messages.
const TEXT: &str = "the text of a table";
/// Maximum bytes of a number with the delimiter before it.
const NUMBER_BYTES: usize = 32;

fn format_rows(
    columns: &[CsvColumn<'_>],
    rows: Range<usize>,
    text: &mut Vec<u8>,
) -> Result<(), NoMemory> {
    for row in rows {
        let room = columns.iter().map(|column| column.most_bytes(row)).sum();
        memory::reserve(text, room, TEXT)?;
        let start = text.len();
        for (n, column) in columns.iter().enumerate() {
            if n > 0 {
                text.push(b',');
            }
            column.write_cell(row, text);
        }
        // A reader would skip an empty line.
        if text.len() == start {
            text.extend(b"\"\"");
        }
        text.push(b'\n');
    }
    Ok(())
}

impl CsvColumn<'_> {
    /// Whether the column has enough elements for this number of cells.
    pub fn holds(&self, rows: usize) -> bool {
        let elements = match self.values {
            CsvValues::Bool(values) | CsvValues::U8(values) => values.len(),
            CsvValues::I8(values) => values.len(),
            CsvValues::I16(values) => values.len(),
            CsvValues::I32(values) => values.len(),
            CsvValues::I64(values) => values.len(),
            CsvValues::U16(values) => values.len(),
            CsvValues::U32(values) => values.len(),
            CsvValues::U64(values) => values.len(),
            CsvValues::F32(values) => values.len(),
            CsvValues::F64(values) => values.len(),
            // Text of width 0 has no bytes and any number of elements.
            CsvValues::Text(values, width) => values.len().checked_div(width).unwrap_or(usize::MAX),
        };
        let required = match self.cells {
            CsvCells::Single => Some(rows),
            CsvCells::Fixed(width) => rows.checked_mul(width),
            CsvCells::Ragged(offsets) => {
                let ascending = offsets.first().is_some_and(|&first| first >= 0)
                    && offsets.windows(2).all(|pair| pair[0] <= pair[1]);
                offsets.get(rows).filter(|_| ascending).map(|&end| end as usize)
            }
        };
        required.is_some_and(|required| {
            required <= elements
                && self.undefined.is_none_or(|undefined| required <= undefined.len())
        })
    }

    /// Returns an upper bound on the bytes of a cell's text, quotes and delimiters included.
    fn most_bytes(&self, row: usize) -> usize {
        let elements = match self.cells {
            CsvCells::Single => 1,
            CsvCells::Fixed(width) => width,
            CsvCells::Ragged(offsets) => (offsets[row + 1] - offsets[row]) as usize,
        };
        let element = match self.values {
            // An invalid UTF-8 byte becomes three bytes; quotes are doubled.
            CsvValues::Text(_, width) => width.saturating_mul(3) + 1,
            _ => NUMBER_BYTES,
        };
        elements.saturating_mul(element).saturating_add(NUMBER_BYTES)
    }

    fn write_cell(&self, row: usize, text: &mut Vec<u8>) {
        let elements = match self.cells {
            CsvCells::Single => {
                if !self.is_undefined(row) {
                    let start = text.len();
                    self.write_element(row, text);
                    self.quote(start, text);
                }
                return;
            }
            CsvCells::Fixed(width) => row * width..(row + 1) * width,
            CsvCells::Ragged(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
        };
        let start = text.len();
        for element in elements.clone() {
            if element > elements.start {
                text.push(b' ');
            }
            // Blanks separate elements, so an empty element would be invisible.
            if self.is_undefined(element) {
                text.extend(b"nan");
            } else {
                self.write_element(element, text);
            }
        }
        self.quote(start, text);
    }

    fn is_undefined(&self, element: usize) -> bool {
        self.undefined.is_some_and(|undefined| undefined[element] != 0)
            || match self.values {
                CsvValues::F32(values) => values[element].is_nan(),
                CsvValues::F64(values) => values[element].is_nan(),
                _ => false,
            }
    }

    fn write_element(&self, element: usize, text: &mut Vec<u8>) {
        match self.values {
            CsvValues::Bool(values) => {
                text.extend(if values[element] == 0 { &b"false"[..] } else { b"true" });
            }
            CsvValues::I8(values) => write_integer(values[element].into(), text),
            CsvValues::I16(values) => write_integer(values[element].into(), text),
            CsvValues::I32(values) => write_integer(values[element].into(), text),
            CsvValues::I64(values) => write_integer(values[element], text),
            CsvValues::U8(values) => write_natural(values[element].into(), text),
            CsvValues::U16(values) => write_natural(values[element].into(), text),
            CsvValues::U32(values) => write_natural(values[element].into(), text),
            CsvValues::U64(values) => write_natural(values[element], text),
            CsvValues::F32(values) => write_float(values[element], text),
            CsvValues::F64(values) => write_float(values[element], text),
            CsvValues::Text(values, width) => {
                let cell = &values[element * width..(element + 1) * width];
                let length = cell.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                text.extend(TextEncoding::Utf8.decode(&cell[..length]).as_bytes());
            }
        }
    }

    /// Quotes the cell that begins at `start`, if one of its characters requires it.
    fn quote(&self, start: usize, text: &mut Vec<u8>) {
        let needs = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
        if !matches!(self.values, CsvValues::Text(..)) || !text[start..].iter().any(needs) {
            return;
        }
        let quotes = text[start..].iter().filter(|&&byte| byte == b'"').count();
        let mut from = text.len();
        // At most the room reserved for the row.
        text.resize(from + quotes + 2, b'"');
        // Move from the end, so that no byte is overwritten before it moves.
        let mut to = text.len() - 1;
        while from > start {
            from -= 1;
            to -= 1;
            text[to] = text[from];
            if text[to] == b'"' {
                to -= 1;
                text[to] = b'"';
            }
        }
        text[start] = b'"';
    }
}

fn write_integer(value: i64, text: &mut Vec<u8>) {
    if value < 0 {
        text.push(b'-');
    }
    write_natural(value.unsigned_abs(), text);
}

fn write_natural(mut value: u64, text: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    text.extend(&digits[first..]);
}

/// Writes a float as Python's `repr`: the fewest digits that restore it, with an exponent below
/// 1e-4 and from 1e16 on.
fn write_float<F: zmij::Float>(value: F, text: &mut Vec<u8>) {
    let mut buffer = zmij::Buffer::new();
    // "inf" and "-inf" have no digits; NaN is undefined and does not get here.
    let shortest = buffer.format(value).as_bytes();
    if shortest.ends_with(b"f") {
        text.extend(shortest);
        return;
    }
    let (sign, shortest) = shortest.split_at(usize::from(shortest[0] == b'-'));
    let (digits, exponent) = scientific(shortest);
    text.extend(sign);
    match exponent {
        0..16 => {
            let whole = (exponent as usize + 1).min(digits.len);
            text.extend(&digits.bytes[..whole]);
            text.extend(std::iter::repeat_n(b'0', exponent as usize + 1 - whole));
            text.push(b'.');
            text.extend(if whole < digits.len { &digits.bytes[whole..digits.len] } else { b"0" });
        }
        -4..0 => {
            text.extend(b"0.");
            text.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
            text.extend(&digits.bytes[..digits.len]);
        }
        _ => {
            text.push(digits.bytes[0]);
            if digits.len > 1 {
                text.push(b'.');
                text.extend(&digits.bytes[1..digits.len]);
            }
            text.extend(if exponent < 0 { b"e-" } else { b"e+" });
            if exponent.abs() < 10 {
                text.push(b'0');
            }
            write_natural(exponent.unsigned_abs().into(), text);
        }
    }
}

/// Significant digits, at most 17, without leading or trailing zeros; "0" for zero.
struct Digits {
    bytes: [u8; 24],
    len: usize,
}

/// Splits a number such as "0.00125", "12500.0" or "1.25e-7" into digits and the exponent of the first digit.
fn scientific(number: &[u8]) -> (Digits, i32) {
    let mut digits = Digits { bytes: [b'0'; 24], len: 0 };
    let (mut exponent, mut point, mut significant) = (-1, false, 0);
    for (at, &byte) in number.iter().enumerate() {
        match byte {
            b'.' => point = true,
            b'e' => {
                exponent += integer(&number[at + 1..]);
                break;
            }
            _ => {
                let leading = byte == b'0' && digits.len == 0;
                if !leading {
                    digits.bytes[digits.len] = byte;
                    digits.len += 1;
                    significant = if byte == b'0' { significant } else { digits.len };
                }
                exponent += match (point, leading) {
                    (false, false) => 1,
                    (true, true) => -1,
                    _ => 0,
                };
            }
        }
    }
    if significant == 0 {
        return (Digits { len: 1, ..digits }, 0);
    }
    digits.len = significant;
    (digits, exponent)
}

fn integer(text: &[u8]) -> i32 {
    let (sign, digits) = if text[0] == b'-' { (-1, &text[1..]) } else { (1, text) };
    digits
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0, |sum, &byte| 10 * sum + i32::from(byte - b'0'))
        * sign
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float<F: zmij::Float>(value: F) -> String {
        let mut text = Vec::new();
        write_float(value, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn floats_are_written_as_python_repr_writes_them() {
        let cases: [(f64, &str); 14] = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (27.0, "27.0"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1.25e-5, "1.25e-05"),
            (123456.75, "123456.75"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.2345678901234567e16, "1.2345678901234568e+16"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, text) in cases {
            assert_eq!(float(value), text);
        }
        assert_eq!(float(0.1f32), "0.1");
        assert_eq!(float(1e10f32), "10000000000.0");
    }

    #[test]
    fn cells_are_quoted_only_where_they_must_be() {
        let text = CsvColumn {
            values: CsvValues::Text(b"a b\0a,b\0a\"b\0\xc3\xa9\0\0", 4),
            undefined: None,
            cells: CsvCells::Single,
        };
        let rows = csv_rows(&[text], 4, &RunOptions::default()).unwrap().concat();
        assert_eq!(String::from_utf8(rows).unwrap(), "a b\n\"a,b\"\n\"a\"\"b\"\n\u{e9}\n");
    }

    #[test]
    fn threads_do_not_change_the_text() {
        let values: Vec<i64> = (0..50_000).map(|n| n * 7919 - 3).collect();
        let floats: Vec<f64> = values.iter().map(|&n| n as f64 / 7.0).collect();
        let single = |values| CsvColumn { values, undefined: None, cells: CsvCells::Single };
        let columns = [
            single(CsvValues::I64(&values)),
            CsvColumn { cells: CsvCells::Fixed(1), ..single(CsvValues::F64(&floats)) },
        ];
        let text = |threads| {
            let options = RunOptions::default().threads(threads);
            csv_rows(&columns, values.len(), &options).unwrap().concat()
        };
        for threads in [2, 3, 64] {
            assert_eq!(text(threads), text(1));
        }
    }
}
