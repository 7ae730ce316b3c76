//! Result of reading a column: the kind of its elements and the shape of a cell.

use tachyfits_format::{Column, Element, Field, Null, TextForm};
use tachyfits_kernels::PixelType;

use super::Table;
use crate::error::Error;
use crate::image::pixel_type;

/// Type and shape of the cells of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Type of the elements.
    pub kind: CellKind,
    /// Axes of a cell in FITS order, the fastest first; empty if a cell is a single element. For a
    /// variable-length column, the shape of a single element; for several strings per cell (TDIMn),
    /// the shape of a string.
    pub shape: Vec<u64>,
    /// Whether elements may be null; nulls are marked separately.
    pub nullable: bool,
}

/// Type of the elements of a column, in native byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellKind {
    /// A byte of 1 or 0.
    Bool,
    /// A number.
    Number(PixelType),
    /// Two 32-bit floats.
    Complex32,
    /// Two 64-bit floats.
    Complex64,
    /// A string, padded with NUL.
    Text {
        /// Its length in bytes or characters.
        width: u64,
    },
}

impl CellKind {
    /// Bytes of an element; for text, one byte per character.
    pub fn bytes(self) -> u64 {
        match self {
            CellKind::Bool => 1,
            CellKind::Number(pixel) => pixel.bytes() as u64,
            CellKind::Complex32 => 8,
            CellKind::Complex64 => 16,
            CellKind::Text { width } => width,
        }
    }
}

impl Cells {
    /// Elements of a cell. The layout accepts only cells whose size in bytes fits 64 bits.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    fn scalar(kind: CellKind) -> Cells {
        Cells { kind, shape: Vec::new(), nullable: false }
    }
}

impl Table {
    /// Returns the type and shape of a column's cells; `raw` requests the stored values.
    ///
    /// Unscaled numbers keep their type, after the conventions for unsigned integers; scaled
    /// numbers become 64-bit floats or complex numbers, NaN if null. Logical values and bits are
    /// truth values. With `raw`, a logical value is a byte, bits are packed bytes, and a cell of a
    /// variable-length column is its two descriptor integers. Numbers of an ASCII table are 64-bit
    /// integers or floats.
    ///
    /// # Errors
    /// [`crate::Reason::Column`] if the column does not exist.
    pub fn cells(&self, column: usize, raw: bool) -> Result<Cells, Error> {
        Ok(cells(self.column_at(column)?, raw))
    }
}

/// Returns the type and shape of a column's cells.
pub(crate) fn cells(column: &Column, raw: bool) -> Cells {
    match column.field {
        Field::Fixed { element, repeat, width } => {
            let cells = cells_of_elements(column, element, raw);
            let described = match column.dimensions.is_empty() {
                true => repeat - repeat.checked_rem(width).unwrap_or(0),
                false => column.dimensions.iter().product::<u64>(),
            };
            // Stored values cover the whole field, including elements outside TDIM.
            let is_cut = raw && described < repeat;
            let width = if is_cut && element == Element::Character { repeat } else { width };
            let shape = match element {
                Element::Bit if raw => shape_of(&[], repeat.div_ceil(8)),
                Element::Character if is_cut => Vec::new(),
                _ if is_cut => shape_of(&[], repeat),
                Element::Character if column.dimensions.is_empty() => {
                    shape_of(&[], repeat.checked_div(width).unwrap_or(1))
                }
                // The first dimension is the width.
                Element::Character => column.dimensions[1..].to_vec(),
                _ => shape_of(&column.dimensions, repeat),
            };
            let kind = match cells.kind {
                CellKind::Text { .. } => CellKind::Text { width },
                other => other,
            };
            Cells { kind, shape, ..cells }
        }
        Field::Variable { wide, repeat, .. } if raw => {
            let pixel = if wide { PixelType::I64 } else { PixelType::I32 };
            let shape = vec![if repeat == 0 { 0 } else { 2 }];
            Cells { kind: CellKind::Number(pixel), shape, nullable: false }
        }
        Field::Variable { element: Element::Character, .. } => {
            // TDIMn has the length of a string if there are several.
            let several = column.dimensions.len() > 1;
            Cells::scalar(CellKind::Text { width: if several { column.dimensions[0] } else { 1 } })
        }
        Field::Variable { element, .. } => cells_of_elements(column, element, raw),
        Field::Text { text, width, .. } => text_cells(column, text, width.into(), raw),
    }
}

/// Describes a single element of a binary table's column.
pub(crate) fn cells_of_elements(column: &Column, element: Element, raw: bool) -> Cells {
    let scaled = column.scaled && !raw;
    let cells = Cells::scalar(match element {
        Element::Logical | Element::Bit if raw => CellKind::Number(PixelType::U8),
        Element::Logical | Element::Bit => CellKind::Bool,
        Element::Character => CellKind::Text { width: 1 },
        Element::Number(_) if scaled => CellKind::Number(PixelType::F64),
        Element::Number(value) if raw => CellKind::Number(stored(pixel_type(value))),
        Element::Number(value) => CellKind::Number(pixel_type(value)),
        Element::Complex64 => CellKind::Complex64,
        Element::Complex32 if scaled => CellKind::Complex64,
        Element::Complex32 => CellKind::Complex32,
    });
    let is_integer = matches!(cells.kind, CellKind::Number(pixel) if !pixel.is_float());
    let nullable = !raw
        && (element == Element::Logical
            || (is_integer && matches!(column.null, Some(Null::Stored(_)))));
    Cells { nullable, ..cells }
}

/// Describes a field of an ASCII table.
fn text_cells(column: &Column, text: TextForm, width: u64, raw: bool) -> Cells {
    if raw || text == TextForm::Characters {
        let nullable = !raw && column.null.is_some();
        return Cells { nullable, ..Cells::scalar(CellKind::Text { width }) };
    }
    let is_integer = text == TextForm::Integer && !column.scaled;
    let pixel = if is_integer { PixelType::I64 } else { PixelType::F64 };
    let nullable = is_integer && column.null.is_some();
    Cells { nullable, ..Cells::scalar(CellKind::Number(pixel)) }
}

/// Returns the dimensions, or the shape of `elements` elements: empty for a single element.
fn shape_of(dimensions: &[u64], elements: u64) -> Vec<u64> {
    match (dimensions.is_empty(), elements) {
        (false, _) => dimensions.to_vec(),
        (true, 1) => Vec::new(),
        (true, _) => vec![elements],
    }
}

/// Returns the type of the stored number, without the conventions for unsigned integers.
fn stored(pixel: PixelType) -> PixelType {
    match pixel {
        PixelType::I8 => PixelType::U8,
        PixelType::U16 => PixelType::I16,
        PixelType::U32 => PixelType::I32,
        PixelType::U64 => PixelType::I64,
        other => other,
    }
}
