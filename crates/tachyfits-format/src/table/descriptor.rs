//! Array descriptors: two signed integers in the row that state the number of elements of a cell and their position in
//! the heap (Sect. 7.3.5). CFITSIO writes and reads 32-bit descriptors as unsigned, which matters in heaps beyond 2
//! GiB. Arrays may share bytes, be in any order and leave gaps, but must be within the heap.

use super::{Element, Field, TableLayout};
use crate::code::Code;
use crate::error::{FormatError, Place};
use tachyfits_memory as memory;

/// Position of the array of a cell in the heap; validated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// Number of elements; for `Element::Bit` bits.
    pub count: u64,
    /// Bytes from the start of the heap; 0 if there are no elements, whatever the file states.
    pub offset: u64,
}

impl TableLayout {
    /// Returns the array of one cell; `bytes` contains the column's field in the row. `row` counts from 0 and is used
    /// for messages.
    ///
    /// # Errors
    /// [`Code::DescriptorRange`] if it is negative or outside of the heap, [`Code::HeapPlace`] and similar codes if the
    /// heap cannot be located, [`Code::NotVariable`] if the column's values are in the rows.
    ///
    /// # Panics
    /// Panics if the column does not exist, or `bytes` is shorter than the field.
    pub fn descriptor(
        &self,
        column: usize,
        row: u64,
        bytes: &[u8],
    ) -> Result<Descriptor, FormatError> {
        let field = self.descriptor_field(column)?;
        field.check(self, row, field.stored(bytes))
    }

    /// Appends the arrays of rows from `first_row` (from 0) to `descriptors`: the column's field is at the start of
    /// `bytes` and repeats every `step` bytes. For whole rows, `step` is `row_bytes`.
    ///
    /// # Errors
    /// See [`TableLayout::descriptor`]; the error of the first invalid row.
    ///
    /// # Panics
    /// Panics if the column does not exist, or `step` is less than the bytes of the field.
    pub fn descriptors(
        &self,
        column: usize,
        first_row: u64,
        bytes: &[u8],
        step: usize,
        descriptors: &mut Vec<Descriptor>,
    ) -> Result<(), FormatError> {
        let field = self.descriptor_field(column)?;
        assert!(step >= field.bytes, "descriptors of {} bytes every {step}", field.bytes);
        if field.bytes == 0 {
            return Ok(());
        }
        // The rest of the row may be missing after the last field.
        let cells = bytes.chunks(step).filter(|cell| cell.len() >= field.bytes);
        memory::reserve(descriptors, bytes.len() / step + 1, "descriptors")?;
        for (row, cell) in (first_row..).zip(cells) {
            descriptors.push(field.check(self, row, field.stored(cell))?);
        }
        Ok(())
    }

    fn descriptor_field(&self, column: usize) -> Result<DescriptorField, FormatError> {
        let found = &self.columns[column];
        let Field::Variable { element, wide, repeat, .. } = found.field else {
            let place = self.place(column, None);
            let expected = "a column of arrays in the heap (P or Q)";
            return Err(FormatError::new(Code::NotVariable, place, expected, found.form.as_str()));
        };
        self.heap()?;
        let bytes = if repeat == 0 { 0 } else { found.field.row_bytes() as usize };
        let heap_bytes = self.heap.bytes;
        Ok(DescriptorField { column, element, wide, heap_bytes, bytes })
    }

    /// Returns the place of a cell, for messages: `column` and `row` count from 0.
    ///
    /// # Panics
    /// Panics if the column does not exist.
    #[must_use]
    pub fn place(&self, column: usize, row: Option<u64>) -> Place {
        let definition = &self.columns[column];
        let start = |row: u64| self.data_offset + row * self.row_bytes + definition.offset;
        Place {
            hdu: Some(self.hdu),
            offset: row.map(start),
            row: row.map(|row| row + 1),
            column: Some((column + 1, definition.name.clone())),
            ..Place::default()
        }
    }
}

/// Encoding of the descriptors of a column.
struct DescriptorField {
    column: usize,
    element: Element,
    wide: bool,
    heap_bytes: u64,
    bytes: usize,
}

impl DescriptorField {
    /// Returns count and offset as stored.
    fn stored(&self, bytes: &[u8]) -> [i64; 2] {
        match self.bytes {
            0 => [0, 0],
            _ => stored_pair(bytes, self.wide, self.heap_bytes),
        }
    }

    fn check(
        &self,
        layout: &TableLayout,
        row: u64,
        [count, offset]: [i64; 2],
    ) -> Result<Descriptor, FormatError> {
        if count == 0 {
            return Ok(Descriptor::default());
        }
        let within =
            u64::try_from(count).ok().zip(u64::try_from(offset).ok()).filter(|&(count, offset)| {
                let bytes = self.element.total_bytes(count);
                let end = bytes.and_then(|bytes| bytes.checked_add(offset));
                end.is_some_and(|end| end <= layout.heap.bytes)
            });
        within.map(|(count, offset)| Descriptor { count, offset }).ok_or_else(|| {
            let place = layout.place(self.column, Some(row));
            let expected = format!("an array within the heap of {} bytes", layout.heap.bytes);
            let letter = self.element.letter();
            let found = format!("{count} elements of type {letter} at byte {offset} of the heap");
            FormatError::new(Code::DescriptorRange, place, expected, found)
        })
    }
}

/// Decodes count and offset of a descriptor. In a heap beyond the range of signed 32-bit numbers, 32-bit descriptors
/// are unsigned: negative numbers have no meaning there.
pub(crate) fn stored_pair(bytes: &[u8], wide: bool, heap_bytes: u64) -> [i64; 2] {
    if wide {
        return [0, 8].map(|at| i64::from_be_bytes(array(&bytes[at..])));
    }
    [0, 4].map(|at| {
        let stored = u32::from_be_bytes(array(&bytes[at..]));
        match heap_bytes > i32::MAX as u64 {
            true => stored.into(),
            false => stored.cast_signed().into(),
        }
    })
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("the caller gives the bytes of the field")
}
