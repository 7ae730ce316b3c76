//! Encodes the cells of a column into fields of rows, the inverse of [`super::decode`]. The
//! conversion is selected once per column and applied block by block. A value that the column
//! cannot represent is an error; it is never changed.

use tachyfits_format::{Column, Element, Field, Null, TextForm};
use tachyfits_kernels::{
    ByteOrder, Encoding, Fields, PixelType, Tier, encode_f64, encode_logical, mark_nulls,
    narrow_text, pack_bits, put_nulls, scatter_field_bytes, scatter_fields,
};
use tachyfits_memory as memory;

use super::cells::{CellKind, Cells, cells, cells_of_elements};
use super::decode::TextAs;
use super::write_text::{WrittenField, write_text};
use crate::error::{Error, Reason};
use crate::image::pixel_type;

tachyfits_io::options! {
    /// Cells of a column to write.
    #[derive(Clone, Copy, Debug)]
    pub struct ColumnInput<'a> {
        /// The cells one after another, in native byte order, as reading returns them
        /// ([`super::Table::cells`]). For a variable-length column, the elements of all arrays.
        pub values: &'a [u8],
        /// For a variable-length column: offset of each array among the elements, followed by the
        /// end of the last array.
        pub offsets: Option<&'a [i64]>,
        /// Values other than 0 mark nulls: one per element, or for text, one per string.
        pub nulls: Option<&'a [u8]>,
        /// Whether the values are as stored: neither scaled nor converted to unsigned integers.
        pub raw: bool,
        /// Representation of strings.
        pub text: TextAs,
    }
}

impl<'a> ColumnInput<'a> {
    /// Creates an input without nulls.
    pub fn new(values: &'a [u8]) -> ColumnInput<'a> {
        ColumnInput { values, offsets: None, nulls: None, raw: false, text: TextAs::Bytes }
    }
}

/// Encodes the cells of a column into rows.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    way: EncodeWay,
    /// Number, from 1, and name, for messages.
    place: String,
    /// Offset of its field in a row.
    offset: usize,
    /// Elements of a cell, each of which may be null; for text, strings.
    elements: usize,
    /// Bytes of a cell before encoding.
    cell_bytes: usize,
}

#[derive(Clone, Debug)]
enum EncodeWay {
    /// Swaps bytes: `numbers` numbers per element.
    Turn {
        pixel: PixelType,
        numbers: usize,
        null: Option<i64>,
    },
    /// Computes stored numbers from floats, after subtracting `zero` from the first number of each element.
    Scale {
        encoding: Encoding,
        numbers: usize,
        zero: f64,
    },
    /// Copies bytes unchanged.
    Copy,
    Logical,
    Bits,
    /// Strings of `width` bytes, padded with `fill`.
    Text {
        width: usize,
        text: TextAs,
        fill: u8,
    },
    /// Formats numbers as text.
    Number(WrittenField),
}

/// Purpose of the allocation, for error messages.
const CELLS: &str = "cells to write";

/// Buffers of an encoder, reused for each block.
#[derive(Debug, Default)]
pub(crate) struct EncodeScratch {
    bytes: Vec<u8>,
    more: Vec<u8>,
    floats: Vec<f64>,
}

/// Output rows of an encoder.
pub(crate) struct EncodedRows<'a> {
    pub(crate) bytes: &'a mut [u8],
    /// Bytes from one row to the next.
    pub(crate) stride: usize,
    /// Number of the first row, for messages.
    pub(crate) first_row: u64,
}

/// Cells of the rows to encode.
#[derive(Clone, Copy)]
pub(crate) struct EncodedValues<'a> {
    pub(crate) values: &'a [u8],
    pub(crate) nulls: Option<&'a [u8]>,
}

impl Encoder {
    /// Creates the encoder of column `number`, from 0; for a variable-length column, the encoder of
    /// its descriptors. `None` if a cell does not fit in memory.
    pub(crate) fn new(column: &Column, number: usize, raw: bool, text: TextAs) -> Option<Encoder> {
        let cells = match column.field {
            Field::Variable { .. } => cells(column, true),
            _ => cells(column, raw),
        };
        let way = match column.field {
            Field::Variable { wide, .. } => {
                let pixel = if wide { PixelType::I64 } else { PixelType::I32 };
                EncodeWay::Turn { pixel, numbers: 1, null: None }
            }
            Field::Fixed { element, .. } => element_way(column, element, &cells, raw, text),
            Field::Text { text: form, width, decimals } => match cells.kind {
                CellKind::Text { .. } if raw && text == TextAs::Bytes => EncodeWay::Copy,
                CellKind::Text { .. } => text_way(&cells, text, b' '),
                _ => EncodeWay::Number(WrittenField::new(column, form, width as usize, decimals)),
            },
        };
        let elements = usize::try_from(cells.elements()).ok()?;
        let element_bytes = usize::try_from(cells.kind.bytes()).ok()?;
        let widened = if matches!(way, EncodeWay::Text { text: TextAs::Ucs4, .. }) { 4 } else { 1 };
        let cell_bytes = elements.checked_mul(element_bytes)?.checked_mul(widened)?;
        let offset = usize::try_from(column.offset).ok()?;
        Some(Encoder { way, place: place(column, number), offset, elements, cell_bytes })
    }

    /// Creates the encoder of contiguous elements of arrays in the heap.
    pub(crate) fn of_elements(
        column: &Column,
        number: usize,
        element: Element,
        raw: bool,
    ) -> Encoder {
        let cells = cells_of_elements(column, element, raw);
        let cell_bytes = cells.kind.bytes() as usize;
        let way = element_way(column, element, &cells, raw, TextAs::Bytes);
        Encoder { way, place: place(column, number), offset: 0, elements: 1, cell_bytes }
    }

    /// Elements of a cell.
    pub(crate) fn elements(&self) -> usize {
        self.elements
    }

    /// Bytes of a cell before encoding.
    pub(crate) fn cell_bytes(&self) -> usize {
        self.cell_bytes
    }

    /// Moves the field to another offset in the rows.
    pub(crate) fn at(mut self, offset: usize) -> Encoder {
        self.offset = offset;
        self
    }

    /// Checks that the input has the cells of `rows` rows.
    pub(crate) fn check(&self, input: &ColumnInput<'_>, rows: u64) -> Result<(), Error> {
        let required = |each: usize| u128::from(rows) * each as u128;
        if input.values.len() as u128 != required(self.cell_bytes) {
            let expected =
                format!("{} bytes, {} for each row", required(self.cell_bytes), self.cell_bytes);
            return Err(self.refused(expected, format!("{} bytes", input.values.len())));
        }
        match input.nulls {
            Some(nulls) if nulls.len() as u128 != required(self.elements) => {
                let expected = format!("{} marks of nulls", required(self.elements));
                Err(self.refused(expected, nulls.len().to_string()))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn refused(&self, expected: impl Into<String>, found: impl AsRef<str>) -> Error {
        let found = format!("{} for {}", found.as_ref(), self.place);
        Error::refused(Reason::CellValues, expected, found)
    }

    /// Encodes cells into the rows of a block, as many as there are values.
    ///
    /// # Errors
    /// [`Reason::CellValues`] if the column cannot represent a value.
    pub(crate) fn encode(
        &self,
        input: EncodedValues<'_>,
        block: &mut EncodedRows<'_>,
        tier: Tier,
        scratch: &mut EncodeScratch,
    ) -> Result<(), Error> {
        if self.cell_bytes == 0 || input.values.is_empty() {
            return Ok(());
        }
        let fields =
            |elements: usize| Fields { offset: self.offset, stride: block.stride, elements };
        let nulls = input.nulls.filter(|nulls| nulls.iter().any(|null| *null != 0));
        let values = EncodedValues { nulls, ..input };
        match &self.way {
            EncodeWay::Turn { pixel, numbers, null } => {
                let fields = fields(self.elements * numbers);
                if null.is_none() && nulls.is_none() {
                    scatter_fields(values.values, fields, *pixel, tier, block.bytes);
                    return Ok(());
                }
                let (EncodeScratch { bytes, more, .. }, first) = (scratch, block.first_row);
                self.with_nulls(values, *pixel, *numbers, *null, first, tier, bytes, more)?;
                scatter_fields(bytes, fields, *pixel, tier, block.bytes);
            }
            EncodeWay::Scale { encoding, numbers, zero } => {
                self.unscale(values, encoding, *numbers, *zero, block.first_row, tier, scratch)?;
                let bytes = self.elements * numbers * encoding.pixel_bytes();
                scatter_field_bytes(&scratch.bytes, fields(bytes), block.bytes);
            }
            EncodeWay::Copy => {
                self.no_nulls(nulls)?;
                scatter_field_bytes(values.values, fields(self.cell_bytes), block.bytes);
            }
            EncodeWay::Logical => {
                scratch.bytes.clear();
                scratch.bytes.extend_from_slice(values.values);
                encode_logical(&mut scratch.bytes, nulls);
                scatter_field_bytes(&scratch.bytes, fields(self.elements), block.bytes);
            }
            EncodeWay::Bits => {
                self.no_nulls(nulls)?;
                self.bits(values, &mut scratch.bytes)?;
                scatter_field_bytes(&scratch.bytes, fields(self.elements.div_ceil(8)), block.bytes);
            }
            EncodeWay::Text { width, text, fill } => {
                self.text(values, *width, *text, *fill, block.first_row, &mut scratch.bytes)?;
                scatter_field_bytes(&scratch.bytes, fields(self.elements * width), block.bytes);
            }
            EncodeWay::Number(field) => {
                let first = block.first_row;
                write_text(field, values, self.offset, block).map_err(|misfit| {
                    let (row, expected, found) = misfit;
                    self.refused(expected, format!("{found} in row {} (from 1)", first + row + 1))
                })?;
            }
        }
        Ok(())
    }

    /// Packs truth values into bytes.
    fn bits(&self, values: EncodedValues<'_>, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let rows = values.values.len() / self.cell_bytes;
        bytes.clear();
        memory::resize(bytes, rows * self.elements.div_ceil(8), 0, CELLS)?;
        pack_bits(values.values, self.elements, bytes);
        Ok(())
    }

    fn no_nulls(&self, nulls: Option<&[u8]>) -> Result<(), Error> {
        match nulls {
            Some(_) => Err(self.refused(
                "no undefined values, because this column cannot represent them",
                "nulls",
            )),
            None => Ok(()),
        }
    }

    /// Copies the values, with the null value where they are null. Fails if another value equals the null value.
    #[expect(clippy::too_many_arguments, reason = "the parts of a way, and two buffers")]
    fn with_nulls(
        &self,
        input: EncodedValues<'_>,
        pixel: PixelType,
        numbers: usize,
        null: Option<i64>,
        first_row: u64,
        tier: Tier,
        out: &mut Vec<u8>,
        marks: &mut Vec<u8>,
    ) -> Result<(), Error> {
        out.clear();
        memory::extend(out, input.values, CELLS)?;
        if let Some(null) = null {
            marks.clear();
            memory::resize(marks, out.len() / pixel.bytes(), 0, CELLS)?;
            mark_nulls(out, pixel, null, tier, marks);
            let is_null = |at: usize| input.nulls.is_some_and(|nulls| nulls[at] != 0);
            let clash = (0..marks.len()).find(|&at| marks[at] != 0 && !is_null(at));
            if let Some(at) = clash {
                let expected = format!("values other than TNULL, {null} as it is stored");
                let row = first_row + (at / self.elements.max(1)) as u64 + 1;
                return Err(self.refused(expected, format!("it in row {row} (from 1)")));
            }
        }
        let Some(nulls) = input.nulls else { return Ok(()) };
        match null {
            _ if pixel.is_float() => {
                let element = numbers * pixel.bytes();
                let elements = out.chunks_exact_mut(element).zip(nulls);
                for (element, _) in elements.filter(|(_, null)| **null != 0) {
                    match pixel {
                        PixelType::F32 => {
                            element.copy_from_slice(&f32::NAN.to_ne_bytes().repeat(numbers))
                        }
                        _ => element.copy_from_slice(&f64::NAN.to_ne_bytes().repeat(numbers)),
                    }
                }
            }
            Some(null) => put_nulls(out, pixel, null, nulls),
            None => {
                let at = nulls.iter().position(|null| *null != 0).unwrap_or(0);
                let row = first_row + (at / self.elements.max(1)) as u64 + 1;
                let found = format!("a null in row {row} (from 1)");
                return Err(
                    self.refused("no undefined values, because the column has no TNULL", found)
                );
            }
        }
        Ok(())
    }

    /// Computes the stored form of scaled values, as file bytes.
    #[expect(clippy::too_many_arguments, reason = "the parts of a way, and a buffer")]
    fn unscale(
        &self,
        input: EncodedValues<'_>,
        encoding: &Encoding,
        numbers: usize,
        zero: f64,
        first_row: u64,
        tier: Tier,
        scratch: &mut EncodeScratch,
    ) -> Result<(), Error> {
        let (values, _) = input.values.as_chunks::<8>();
        scratch.floats.clear();
        memory::reserve(&mut scratch.floats, values.len(), CELLS)?;
        scratch.floats.extend(values.iter().map(|bytes| f64::from_ne_bytes(*bytes)));
        if numbers == 2 {
            scratch.floats.iter_mut().step_by(2).for_each(|real| *real -= zero);
        }
        if let Some(nulls) = input.nulls {
            let elements = scratch.floats.chunks_exact_mut(numbers).zip(nulls);
            elements
                .filter(|(_, null)| **null != 0)
                .for_each(|(element, _)| element.fill(f64::NAN));
        }
        let length = scratch.floats.len() * encoding.pixel_bytes();
        memory::resize(&mut scratch.bytes, length, 0, CELLS)?;
        let lost = encode_f64(&scratch.floats, encoding, tier, &mut scratch.bytes);
        if lost == 0 {
            return Ok(());
        }
        let rows = values.len() / (self.elements * numbers).max(1);
        let (first, last) = (first_row + 1, first_row + rows as u64);
        let blank = if encoding.blank.is_some() { "" } else { " (no TNULL for NaN)" };
        let expected = format!("values that the stored numbers can hold{blank}");
        Err(self.refused(expected, format!("{lost} others in rows {first} to {last} (from 1)")))
    }

    /// Encodes strings; only printable ASCII is allowed.
    fn text(
        &self,
        input: EncodedValues<'_>,
        width: usize,
        text: TextAs,
        fill: u8,
        first_row: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        out.clear();
        let odd = match text {
            TextAs::Bytes => {
                memory::extend(out, input.values, CELLS)?;
                0
            }
            TextAs::Ucs4 => {
                memory::resize(out, input.values.len() / 4, 0, CELLS)?;
                narrow_text(input.values, out)
            }
        };
        if let Some(nulls) = input.nulls {
            let strings = out.chunks_mut(width.max(1)).zip(nulls);
            strings.filter(|(_, null)| **null != 0).for_each(|(string, _)| string.fill(0));
        }
        // Sect. 7.3.3.1: printable ASCII, terminated by NUL.
        let illegal = out.iter().position(|byte| !matches!(byte, 0 | b' '..=b'~'));
        if odd > 0 || illegal.is_some() {
            let row =
                illegal.map(|at| first_row + (at / (width * self.elements).max(1)) as u64 + 1);
            let place = row.map_or_else(String::new, |row| format!(" in row {row} (from 1)"));
            return Err(self.refused("text of printable ASCII", format!("other characters{place}")));
        }
        if fill != 0 {
            for string in out.chunks_mut(width.max(1)) {
                let end = string.iter().position(|byte| *byte == 0).unwrap_or(string.len());
                string[end..].fill(fill);
            }
        }
        Ok(())
    }
}

fn place(column: &Column, number: usize) -> String {
    format!("column {} (from 1) {:?}", number + 1, column.name)
}

fn element_way(
    column: &Column,
    element: Element,
    cells: &Cells,
    raw: bool,
    text: TextAs,
) -> EncodeWay {
    let scaled = column.scaled && !raw;
    let null = match column.null {
        Some(Null::Stored(null)) if !raw => Some(null),
        _ => None,
    };
    match (element, cells.kind) {
        (Element::Logical | Element::Bit, _) if raw => EncodeWay::Copy,
        // A copy keeps text unchanged, even text that the Standard forbids.
        (Element::Character, _) if raw && text == TextAs::Bytes => EncodeWay::Copy,
        (Element::Logical, _) => EncodeWay::Logical,
        (Element::Bit, _) => EncodeWay::Bits,
        (Element::Character, _) => text_way(cells, text, 0),
        (Element::Number(value), _) if scaled => {
            let scaling = Some((column.scale, column.zero));
            let pixel = pixel_type(value);
            let order = ByteOrder::BigEndian;
            EncodeWay::Scale {
                encoding: Encoding { pixel, order, scaling, blank: null },
                numbers: 1,
                zero: 0.0,
            }
        }
        (Element::Number(value), kind) => {
            let pixel = match kind {
                CellKind::Number(pixel) => pixel,
                _ => pixel_type(value),
            };
            EncodeWay::Turn { pixel, numbers: 1, null: null.filter(|_| !pixel.is_float()) }
        }
        (Element::Complex32 | Element::Complex64, _) => {
            let single = element == Element::Complex32;
            let pixel = if single { PixelType::F32 } else { PixelType::F64 };
            if !scaled {
                return EncodeWay::Turn { pixel, numbers: 2, null: None };
            }
            let scaling = Some((column.scale, -0.0));
            let encoding = Encoding { scaling, ..Encoding::plain(pixel) };
            EncodeWay::Scale { encoding, numbers: 2, zero: column.zero }
        }
    }
}

fn text_way(cells: &Cells, text: TextAs, fill: u8) -> EncodeWay {
    let width = match cells.kind {
        CellKind::Text { width } => usize::try_from(width).unwrap_or(usize::MAX),
        _ => 1,
    };
    EncodeWay::Text { width, text, fill }
}

impl WrittenField {
    fn new(column: &Column, form: TextForm, width: usize, decimals: u32) -> WrittenField {
        let null = match &column.null {
            Some(Null::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let scaling = column.scaled.then_some((column.scale, column.zero));
        WrittenField { form, width, decimals, scaling, null }
    }
}
