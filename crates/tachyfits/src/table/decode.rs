//! Decodes the field of a column into cells. The conversion is selected once per column and applied block by block.
//!
//! Conversions other than copies process pieces that stay in the first-level cache.

use std::ops::Range;

use tachyfits_format::text::{is_null_text, significant};
use tachyfits_format::{Column, Element, Field, Null};
use tachyfits_kernels::{
    Encoding, Fields, PixelType, Streaming, Tier, add_to_real_parts, decode_f64, decode_logical,
    gather_field_bytes, gather_fields, mark_nulls, stream_fields, trim_text, unpack_bits,
    widen_text,
};
use tachyfits_memory::{self as memory, NoMemory};

use super::block::CellsOut;
use super::cells::{CellKind, Cells, cells, cells_of_elements};
use super::read_text::{BadText, TextNumbers};
use super::row_ranges::RowBlock;
use crate::image::pixel_type;

/// Representation of strings. A string ends at its first NUL, and before trailing blanks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextAs {
    /// One byte per character, padded with NUL.
    #[default]
    Bytes,
    /// UCS-4 in native byte order, padded with NUL, decoded with the encoding of the column
    /// ([`super::Table::text_encoding`]); stored values have one character per byte.
    Ucs4,
}

/// Numbers scaled at a time: 16 KiB as floats.
const PIECE: usize = 2048;

/// Decodes the fields of a column into cells.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    way: DecodeWay,
    /// Byte range of its field in a row.
    pub(crate) field: Range<u64>,
    /// Elements of a cell, each of which may be null; for text, strings.
    pub(crate) elements: usize,
    /// Bytes of a decoded cell.
    pub(crate) cell_bytes: usize,
}

/// Conversion of the elements of a field.
#[derive(Clone, Debug)]
enum DecodeWay {
    /// Swaps bytes: `numbers` numbers per element; marks nulls.
    Turn {
        pixel: PixelType,
        numbers: usize,
        null: Option<i64>,
    },
    /// Scales to floats: `numbers` numbers per element, `zero` added to the first of them.
    Scale {
        encoding: Encoding,
        numbers: usize,
        zero: Option<f64>,
    },
    /// Copies bytes unchanged.
    Copy,
    Logical,
    Bits,
    /// Strings of `width` bytes, trimmed unless stored values are requested.
    Text {
        width: usize,
        text: TextAs,
        raw: bool,
        /// TNULLn of an ASCII table.
        null: Option<String>,
    },
    /// Parses text into numbers.
    Numbers(TextNumbers),
}

/// Buffers of a decoder, reused for each block.
#[derive(Debug, Default)]
pub(crate) struct DecodeScratch {
    bytes: Vec<u8>,
    floats: Vec<f64>,
}

impl DecodeScratch {
    /// Reserves the memory that a decoder needs for this many rows.
    ///
    /// # Errors
    /// If memory runs out.
    pub(crate) fn reserve(&mut self, decoder: &Decoder, rows: usize) -> Result<(), NoMemory> {
        let more = decoder.scratch_bytes(rows).saturating_sub(self.bytes.len());
        memory::reserve(&mut self.bytes, more, "cells to decode")
    }
}

impl Decoder {
    /// Creates the decoder of a column; `None` for arrays in the heap, and if a cell does not fit in memory.
    pub(crate) fn new(column: &Column, raw: bool, text: TextAs) -> Option<Decoder> {
        let cells = cells(column, raw);
        let way = match column.field {
            Field::Fixed { element, .. } => element_way(column, element, &cells, raw, text),
            Field::Variable { wide, .. } if raw => {
                let pixel = if wide { PixelType::I64 } else { PixelType::I32 };
                DecodeWay::Turn { pixel, numbers: 1, null: None }
            }
            Field::Text { .. } if matches!(cells.kind, CellKind::Text { .. }) => {
                text_way(column, &cells, text, raw)
            }
            Field::Text { .. } => DecodeWay::Numbers(TextNumbers::new(column)?),
            Field::Variable { .. } => return None,
        };
        let elements = usize::try_from(cells.elements()).ok()?;
        let element_bytes = usize::try_from(cells.kind.bytes()).ok()?;
        let widened = if matches!(way, DecodeWay::Text { text: TextAs::Ucs4, .. }) { 4 } else { 1 };
        let cell_bytes = elements.checked_mul(element_bytes)?.checked_mul(widened)?;
        let field_bytes = way.stored_bytes(elements)? as u64;
        let field = column.offset..column.offset + field_bytes;
        Some(Decoder { way, field, elements, cell_bytes })
    }

    /// Creates the decoder of contiguous elements of a heap.
    pub(crate) fn of_elements(column: &Column, element: Element, raw: bool) -> Decoder {
        let cells = cells_of_elements(column, element, raw);
        let way = match element {
            // Each array of characters is a string, which its reader trims.
            Element::Character => DecodeWay::Copy,
            // Bits are unpacked even if stored values are requested, because each array begins in a new byte.
            Element::Bit => DecodeWay::Bits,
            _ => element_way(column, element, &cells, raw, TextAs::Bytes),
        };
        Decoder { way, field: 0..0, elements: 1, cell_bytes: cells.kind.bytes() as usize }
    }

    /// Decodes contiguous elements; otherwise as [`Decoder::decode`].
    ///
    /// # Errors
    /// If memory runs out.
    pub(crate) fn decode_array(
        &self,
        bytes: &[u8],
        tier: Tier,
        scratch: &mut DecodeScratch,
        values: &mut [u8],
        nulls: Option<&mut [u8]>,
    ) -> Result<u64, NoMemory> {
        let elements = values.len() / self.cell_bytes.max(1);
        let array = Decoder { elements, cell_bytes: values.len(), ..self.clone() };
        let block = RowBlock { bytes, stride: bytes.len(), rows: 1 };
        scratch.reserve(&array, 1)?;
        Ok(array.decode_bytes(&block, 0, tier, scratch, values, nulls))
    }

    /// Returns the bytes of scratch memory for this many rows, beyond pieces of constant size.
    fn scratch_bytes(&self, rows: usize) -> usize {
        let elements = rows.saturating_mul(self.elements);
        match &self.way {
            DecodeWay::Logical => elements,
            DecodeWay::Bits => rows.saturating_mul(self.elements.div_ceil(8)),
            DecodeWay::Text { width, text: TextAs::Ucs4, .. } => elements.saturating_mul(*width),
            _ => 0,
        }
    }

    /// For columns that are only byte-swapped and never null: the type of the numbers, and the bytes of a field.
    pub(crate) fn in_place(&self) -> Option<(PixelType, u64)> {
        match self.way {
            DecodeWay::Turn { pixel, null: None, .. } => {
                Some((pixel, self.field.end - self.field.start))
            }
            _ => None,
        }
    }

    /// Decodes the fields at `offset` of each row into `out`, the cells of these rows. With
    /// `stores`, numbers of 4 and 8 bytes that are only swapped bypass the caches. Returns the
    /// number of elements that violate the Standard.
    ///
    /// # Errors
    /// If text is not a number.
    pub(crate) fn decode(
        &self,
        block: &RowBlock<'_>,
        offset: usize,
        tier: Tier,
        scratch: &mut DecodeScratch,
        out: CellsOut<'_>,
        stores: Option<Streaming<'_>>,
    ) -> Result<u64, BadText> {
        let CellsOut { values, nulls } = out;
        match (&self.way, stores) {
            (DecodeWay::Turn { pixel, numbers, null: None }, Some(stores))
                if pixel.bytes() >= 4 =>
            {
                let elements = self.elements * numbers;
                let fields = Fields { offset, stride: block.stride, elements };
                stream_fields(block.bytes, fields, *pixel, tier, values, stores);
                if let Some(nulls) = nulls {
                    nulls.fill(0);
                }
                Ok(0)
            }
            (DecodeWay::Numbers(numbers), _) => {
                numbers.decode(block, offset, tier, values, nulls).map(|()| 0)
            }
            _ => Ok(self.decode_bytes(block, offset, tier, scratch, values, nulls)),
        }
    }

    /// Decodes conversions that cannot fail, because any bytes are a valid cell.
    fn decode_bytes(
        &self,
        block: &RowBlock<'_>,
        offset: usize,
        tier: Tier,
        scratch: &mut DecodeScratch,
        values: &mut [u8],
        nulls: Option<&mut [u8]>,
    ) -> u64 {
        let fields = |elements: usize| Fields { offset, stride: block.stride, elements };
        match &self.way {
            DecodeWay::Turn { pixel, numbers, null } => {
                gather_fields(block.bytes, fields(self.elements * numbers), *pixel, tier, values);
                match (nulls, null) {
                    (Some(nulls), Some(null)) => mark_nulls(values, *pixel, *null, tier, nulls),
                    (Some(nulls), None) => nulls.fill(0),
                    (None, _) => {}
                }
                return 0;
            }
            DecodeWay::Scale { encoding, numbers, zero } => {
                let scaled = Scaled { encoding, zero: *zero, numbers: self.elements * numbers };
                scaled.decode(block, offset, tier, scratch, values);
            }
            DecodeWay::Copy => gather_field_bytes(block.bytes, fields(self.cell_bytes), values),
            DecodeWay::Logical => {
                gather_field_bytes(block.bytes, fields(self.elements), values);
                let nulls = nulls.unwrap_or_else(|| {
                    // At most the room reserved for the rows.
                    scratch.bytes.resize(values.len(), 0);
                    &mut scratch.bytes
                });
                return decode_logical(values, nulls, tier);
            }
            DecodeWay::Bits => {
                let field = self.elements.div_ceil(8);
                // At most the room reserved for the rows.
                scratch.bytes.resize(block.rows * field, 0);
                gather_field_bytes(block.bytes, fields(field), &mut scratch.bytes);
                unpack_bits(&scratch.bytes, self.elements, values);
            }
            DecodeWay::Text { width, raw: true, text: TextAs::Bytes, .. } => {
                gather_field_bytes(block.bytes, fields(self.elements * width), values);
            }
            DecodeWay::Text { width, raw, text, null } => {
                let strings = match text {
                    TextAs::Bytes => &mut *values,
                    TextAs::Ucs4 => {
                        // At most the room reserved for the rows.
                        scratch.bytes.resize(block.rows * self.elements * width, 0);
                        &mut scratch.bytes[..]
                    }
                };
                gather_field_bytes(block.bytes, fields(self.elements * width), strings);
                let mut odd = 0;
                if !raw {
                    trim_text(strings, *width);
                    odd = not_ascii(strings, *width);
                }
                match (nulls, null) {
                    (Some(nulls), Some(null)) => mark_null_texts(strings, *width, null, nulls),
                    (Some(nulls), None) => nulls.fill(0),
                    (None, _) => {}
                }
                if *text == TextAs::Ucs4 {
                    widen_text(&scratch.bytes, tier, values);
                }
                return odd;
            }
            DecodeWay::Numbers(_) => unreachable!("numbers as text are decoded apart"),
        }
        if let Some(nulls) = nulls {
            nulls.fill(0);
        }
        0
    }
}

impl DecodeWay {
    /// Returns the bytes of `elements` elements in the file.
    fn stored_bytes(&self, elements: usize) -> Option<usize> {
        match self {
            DecodeWay::Turn { pixel, numbers, .. } => elements.checked_mul(numbers * pixel.bytes()),
            DecodeWay::Scale { encoding, numbers, .. } => {
                elements.checked_mul(numbers * encoding.pixel_bytes())
            }
            DecodeWay::Copy | DecodeWay::Logical => Some(elements),
            DecodeWay::Bits => Some(elements.div_ceil(8)),
            DecodeWay::Text { width, .. } => elements.checked_mul(*width),
            DecodeWay::Numbers(numbers) => Some(numbers.width),
        }
    }
}

/// Selects the conversion for the elements of a binary table's column.
fn element_way(
    column: &Column,
    element: Element,
    cells: &Cells,
    raw: bool,
    text: TextAs,
) -> DecodeWay {
    let scaled = column.scaled && !raw;
    match (element, cells.kind) {
        (Element::Logical | Element::Bit, _) if raw => DecodeWay::Copy,
        (Element::Logical, _) => DecodeWay::Logical,
        (Element::Bit, _) => DecodeWay::Bits,
        (Element::Character, _) => text_way(column, cells, text, raw),
        (Element::Number(value), _) if scaled => {
            let scaling = Some((column.scale, column.zero));
            let encoding =
                Encoding { scaling, blank: stored_null(column), ..plain(pixel_type(value)) };
            DecodeWay::Scale { encoding, numbers: 1, zero: None }
        }
        (Element::Number(_), CellKind::Number(pixel)) => {
            let null = stored_null(column).filter(|_| !raw);
            DecodeWay::Turn { pixel, numbers: 1, null }
        }
        (Element::Number(value), _) => {
            DecodeWay::Turn { pixel: pixel_type(value), numbers: 1, null: None }
        }
        (Element::Complex32 | Element::Complex64, _) => {
            let single = element == Element::Complex32;
            let pixel = if single { PixelType::F32 } else { PixelType::F64 };
            if !scaled {
                return DecodeWay::Turn { pixel, numbers: 2, null: None };
            }
            // Both parts are multiplied; adding -0.0 changes no number, not even a zero.
            let encoding = Encoding { scaling: Some((column.scale, -0.0)), ..plain(pixel) };
            DecodeWay::Scale { encoding, numbers: 2, zero: Some(column.zero) }
        }
    }
}

fn plain(pixel: PixelType) -> Encoding {
    Encoding::plain(pixel)
}

fn text_way(column: &Column, cells: &Cells, text: TextAs, raw: bool) -> DecodeWay {
    let width = match cells.kind {
        CellKind::Text { width } => usize::try_from(width).unwrap_or(usize::MAX),
        _ => 1,
    };
    let null = match &column.null {
        Some(Null::Text(null)) if !raw => Some(null.clone()),
        _ => None,
    };
    DecodeWay::Text { width, text, raw, null }
}

/// Counts strings with bytes outside ASCII.
fn not_ascii(strings: &[u8], width: usize) -> u64 {
    if strings.is_ascii() {
        return 0;
    }
    strings.chunks(width.max(1)).filter(|string| !string.is_ascii()).count() as u64
}

/// Marks the strings that equal TNULLn.
fn mark_null_texts(strings: &[u8], width: usize, null: &str, nulls: &mut [u8]) {
    // Strings of width 0 have no bytes.
    let mut strings = strings.chunks(width.max(1));
    for mark in nulls {
        let string = significant(strings.next().unwrap_or_default());
        *mark = is_null_text(string, null).into();
    }
}

fn stored_null(column: &Column) -> Option<i64> {
    match column.null {
        Some(Null::Stored(null)) => Some(null),
        _ => None,
    }
}

/// Numbers computed from stored numbers.
struct Scaled<'a> {
    encoding: &'a Encoding,
    /// Added to the first number of each pair.
    zero: Option<f64>,
    /// Numbers per cell.
    numbers: usize,
}

impl Scaled<'_> {
    /// Decodes in pieces: several rows, or a part of one row.
    fn decode(
        &self,
        block: &RowBlock<'_>,
        offset: usize,
        tier: Tier,
        scratch: &mut DecodeScratch,
        values: &mut [u8],
    ) {
        let size = self.encoding.pixel_bytes();
        let (rows, numbers) = match self.numbers {
            0 => return,
            numbers if numbers < PIECE => (PIECE / numbers, numbers),
            _ => (1, PIECE),
        };
        let mut values = values;
        for row in (0..block.rows).step_by(rows) {
            let rows = rows.min(block.rows - row);
            for first in (0..self.numbers).step_by(numbers) {
                let numbers = numbers.min(self.numbers - first);
                let fields = Fields {
                    offset: offset + row * block.stride + first * size,
                    stride: block.stride,
                    elements: numbers * size,
                };
                let (out, later) = values.split_at_mut(rows * numbers * size_of::<f64>());
                // At most PIECE numbers.
                scratch.bytes.resize(rows * numbers * size, 0);
                scratch.floats.resize(rows * numbers, 0.0);
                gather_field_bytes(block.bytes, fields, &mut scratch.bytes);
                decode_f64(&scratch.bytes, self.encoding, tier, &mut scratch.floats);
                if let Some(zero) = self.zero {
                    add_to_real_parts(&mut scratch.floats, zero);
                }
                out.copy_from_slice(bytemuck::cast_slice(&scratch.floats));
                values = later;
            }
        }
    }
}
