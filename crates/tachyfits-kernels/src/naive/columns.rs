//! Twins of moving table columns: row by row, element by element.

use crate::columns::Fields;
use crate::pixel::PixelType;

/// Twin of [`crate::gather_fields`].
pub fn gather_fields(rows: &[u8], fields: Fields, pixel: PixelType, count: usize) -> Vec<u8> {
    let bytes = gather_field_bytes(rows, in_bytes(fields, pixel), count);
    super::decode_native(&bytes, pixel)
}

/// Twin of [`crate::scatter_fields`].
pub fn scatter_fields(values: &[u8], fields: Fields, pixel: PixelType, rows: &mut [u8]) {
    let bytes = super::encode_native(values, pixel);
    scatter_field_bytes(&bytes, in_bytes(fields, pixel), rows);
}

/// Twin of [`crate::gather_field_bytes`].
pub fn gather_field_bytes(rows: &[u8], fields: Fields, count: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for row in 0..count {
        for at in 0..fields.elements {
            out.push(rows[fields.offset + row * fields.stride + at]);
        }
    }
    out
}

/// Twin of [`crate::scatter_field_bytes`].
pub fn scatter_field_bytes(values: &[u8], fields: Fields, rows: &mut [u8]) {
    for (index, &byte) in values.iter().enumerate() {
        let (row, at) = (index / fields.elements, index % fields.elements);
        rows[fields.offset + row * fields.stride + at] = byte;
    }
}

fn in_bytes(fields: Fields, pixel: PixelType) -> Fields {
    Fields { elements: fields.elements * pixel.bytes(), ..fields }
}

/// Twin of [`crate::decode_logical`]: values, nulls, and the number of bytes that the Standard does not define.
pub fn decode_logical(bytes: &[u8]) -> (Vec<u8>, Vec<u8>, u64) {
    let meaning = |&byte: &u8| match byte {
        b'T' => (1, 0, 0),
        b'F' => (0, 0, 0),
        0 => (0, 1, 0),
        1 => (1, 0, 1),
        _ => (0, 1, 1),
    };
    let all: Vec<(u8, u8, u64)> = bytes.iter().map(meaning).collect();
    let values = all.iter().map(|x| x.0).collect();
    (values, all.iter().map(|x| x.1).collect(), all.iter().map(|x| x.2).sum())
}

/// Twin of [`crate::unpack_bits`].
pub fn unpack_bits(bytes: &[u8], bits: usize, rows: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for row in 0..rows {
        for bit in 0..bits {
            let byte = bytes[row * bits.div_ceil(8) + bit / 8];
            out.push(u8::from(byte & (0x80 >> (bit % 8)) != 0));
        }
    }
    out
}

/// Twin of [`crate::trim_text`].
pub fn trim_text(text: &[u8], width: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for string in text.chunks(width.max(1)) {
        let mut characters: Vec<u8> =
            string.iter().copied().take_while(|&byte| byte != 0).collect();
        while characters.last() == Some(&b' ') {
            characters.pop();
        }
        characters.resize(string.len(), 0);
        out.extend(characters);
    }
    out
}

/// Twin of [`crate::mark_nulls`] for a stored, big-endian column.
pub fn mark_nulls(stored: &[u8], pixel: PixelType, null: i64) -> Vec<u8> {
    let is_null = |bytes: &[u8]| match super::stored(bytes, pixel) {
        super::NaiveStored::Integer(x) => u8::from(x == i128::from(null)),
        _ => 0,
    };
    stored.chunks_exact(pixel.bytes()).map(is_null).collect()
}

/// Twin of [`crate::integers_of_text`] for one field: its value if it has blanks, an optional minus and digits, or only
/// blanks.
pub fn integer_of_text(field: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(field).ok()?.trim_start_matches(' ');
    if text.is_empty() {
        return Some(0);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok()).flatten()
}

/// Twin of [`crate::Transfer::run`].
pub fn transfer(transfer: &crate::Transfer, from: &[u8], to: &mut [u8]) {
    let size = transfer.size;
    for field in 0..transfer.count {
        for element in 0..transfer.from.elements {
            for byte in 0..size {
                let target = if transfer.swap { size - 1 - byte } else { byte };
                let at = |fields: &Fields| fields.offset + field * fields.stride + element * size;
                to[at(&transfer.to) + target] = from[at(&transfer.from) + byte];
            }
        }
    }
}
