//! Encodes rows from the cells of all columns, block by block on all threads, each block in the cache of its core.

use std::ops::Range;

use tachyfits_format::{Element, Field, TableKind, TableLayout};
use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{MemoryStorage, Report, Tasks};
use tachyfits_kernels::Tier;
use tachyfits_memory as memory;

use super::encode::{ColumnInput, EncodeScratch, EncodedRows, EncodedValues, Encoder};
use crate::error::{Error, Reason};

/// Bytes of rows encoded at a time.
const BLOCK_BYTES: u64 = 256 << 10;
/// Bytes of rows that all columns are written into before the next rows: half of a first-level cache.
const NEAR_BYTES: u64 = 16 << 10;
/// Elements of arrays encoded at a time.
const BLOCK_ELEMENTS: usize = 32 << 10;

/// Rows of some columns, to be encoded.
pub(crate) struct NewRows<'a> {
    /// The columns to encode, with their cells.
    columns: Vec<(Encoder, ColumnInput<'a>)>,
    pub(crate) rows: u64,
    row_bytes: u64,
    /// Fill byte of a row outside fields.
    fill: u8,
    /// Number of the first row, for messages.
    first_row: u64,
}

/// The descriptors of variable-length columns, by number.
pub(crate) type Descriptors = Vec<(usize, Vec<u8>)>;

impl<'a> NewRows<'a> {
    /// Creates rows of all columns of a layout, in its order; `descriptors` has the descriptors of
    /// variable-length columns.
    ///
    /// # Errors
    /// [`Reason::CellValues`] if the number of inputs differs from the number of columns, or the
    /// number of cells from the number of rows.
    pub(crate) fn new(
        layout: &TableLayout,
        inputs: &[ColumnInput<'a>],
        descriptors: &'a Descriptors,
        rows: u64,
        first_row: u64,
    ) -> Result<NewRows<'a>, Error> {
        if inputs.len() != layout.columns.len() {
            let expected = format!("cells for {} columns", layout.columns.len());
            let found = format!("those for {}", inputs.len());
            return Err(Error::refused(Reason::CellValues, expected, found));
        }
        // At most 999 columns.
        let mut columns = Vec::with_capacity(inputs.len());
        for (number, input) in inputs.iter().enumerate() {
            let own = descriptors.iter().find(|(variable, _)| *variable == number);
            let input = own.map_or(*input, |(_, bytes)| ColumnInput::new(bytes));
            columns.push((encoder(layout, number, &input)?, input));
        }
        let fill = if layout.kind == TableKind::Ascii { b' ' } else { 0 };
        let new = NewRows { columns, rows, row_bytes: layout.row_bytes, fill, first_row };
        new.check()?;
        Ok(new)
    }

    /// Creates the fields of a single column, without gaps.
    pub(crate) fn of_column(
        layout: &TableLayout,
        number: usize,
        input: ColumnInput<'a>,
        rows: u64,
    ) -> Result<NewRows<'a>, Error> {
        let encoder = encoder(layout, number, &input)?.at(0);
        let row_bytes = layout.columns[number].field.row_bytes();
        let fill = if layout.kind == TableKind::Ascii { b' ' } else { 0 };
        let new = NewRows { columns: vec![(encoder, input)], rows, row_bytes, fill, first_row: 0 };
        new.check()?;
        Ok(new)
    }

    fn check(&self) -> Result<(), Error> {
        self.columns.iter().try_for_each(|(encoder, input)| encoder.check(input, self.rows))
    }

    fn block_rows(&self) -> u64 {
        (BLOCK_BYTES / self.row_bytes.max(1)).max(1)
    }

    /// Encodes the rows. Passes each block with the number of its first row to `work`, on any
    /// thread in any order, and the results to `merge`, in order.
    pub(crate) fn make<R: Send>(
        &self,
        options: &RunOptions<'_>,
        tier: Tier,
        work: impl Fn(u64, &mut Vec<u8>) -> Result<R, Error> + Sync,
        merge: impl FnMut(R) -> Result<(), Error> + Send,
    ) -> Result<Report, Error> {
        let mut merge = merge;
        // Progress counts the cells of the first column.
        let first = self.columns.first().map_or(&[][..], |(_, input)| input.values);
        let cell = first.len() as u64 / self.rows.max(1);
        let storage = MemoryStorage::new("cells", first);
        let tasks = BuiltBlocks { rows: self.rows, block: self.block_rows(), cell };
        let progress = Progress { options: *options, total: first.len() as u64 };
        let block_rows = self.block_rows();
        tachyfits_io::run(
            &storage,
            &tasks,
            &progress.run_options(),
            || (EncodeScratch::default(), Vec::new()),
            |(scratch, out), task, _fetched| {
                let first = task * block_rows;
                let rows = first..self.rows.min(first + block_rows);
                self.fill_block(rows, tier, scratch, out)?;
                work(first, out)
            },
            |_task, result| merge(result),
        )
    }

    fn fill_block(
        &self,
        rows: Range<u64>,
        tier: Tier,
        scratch: &mut EncodeScratch,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        out.clear();
        let length = ((rows.end - rows.start) * self.row_bytes) as usize;
        memory::resize(out, length, self.fill, "new rows")?;
        // Write all columns of a few rows at a time, so that the rows stay in the first-level cache.
        let near_rows = (NEAR_BYTES / self.row_bytes.max(1)).max(1);
        for first in rows.clone().step_by(near_rows as usize) {
            let part = first..rows.end.min(first + near_rows);
            let begin = ((first - rows.start) * self.row_bytes) as usize;
            let bytes = ((part.end - first) * self.row_bytes) as usize;
            self.fill_rows(part, tier, scratch, &mut out[begin..begin + bytes])?;
        }
        Ok(())
    }

    fn fill_rows(
        &self,
        rows: Range<u64>,
        tier: Tier,
        scratch: &mut EncodeScratch,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let mut block = EncodedRows {
            bytes: out,
            stride: self.row_bytes as usize,
            first_row: self.first_row + rows.start,
        };
        let (begin, end) = (rows.start as usize, rows.end as usize);
        for (encoder, input) in &self.columns {
            let (cell, each) = (encoder.cell_bytes(), encoder.elements());
            let values = &input.values[begin * cell..end * cell];
            let nulls = input.nulls.map(|nulls| &nulls[begin * each..end * each]);
            encoder.encode(EncodedValues { values, nulls }, &mut block, tier, scratch)?;
        }
        Ok(())
    }
}

/// The encoder of a column for an input.
fn encoder(layout: &TableLayout, number: usize, input: &ColumnInput<'_>) -> Result<Encoder, Error> {
    let column = &layout.columns[number];
    Encoder::new(column, number, input.raw, input.text).ok_or_else(|| {
        let found = format!("cells of column {:?}", column.name);
        Error::refused(Reason::Memory, "cells that fit in memory", found)
    })
}

/// Tasks: blocks of rows.
struct BuiltBlocks {
    rows: u64,
    block: u64,
    /// Bytes of the first column per row, for progress.
    cell: u64,
}

impl Tasks for BuiltBlocks {
    fn len(&self) -> u64 {
        self.rows.div_ceil(self.block)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let begin = index * self.block;
        let end = self.rows.min(begin + self.block);
        ranges.push(begin * self.cell..end * self.cell);
    }
}

/// Appends the arrays of the variable-length columns to a heap of `heap_bytes` bytes, one after
/// another. `inputs` has the columns from `first` on. Returns the descriptors and, for each column,
/// the number of elements of its longest array.
///
/// # Errors
/// [`Reason::CellValues`] if offsets are missing, decreasing or beyond the elements, or the heap is
/// too large for `P` descriptors; and errors of `write`.
pub(crate) fn write_arrays(
    layout: &TableLayout,
    (first, inputs): (usize, &[ColumnInput<'_>]),
    rows: u64,
    heap_bytes: u64,
    tier: Tier,
    write: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(Descriptors, Vec<u64>), Error> {
    let mut descriptors = Descriptors::new();
    let mut longest = vec![0; layout.columns.len()];
    let mut heap_end = heap_bytes;
    for (number, input) in (first..layout.columns.len()).zip(inputs) {
        let Field::Variable { element, wide, repeat, .. } = layout.columns[number].field else {
            continue;
        };
        let arrays = BuiltArrays { layout, number, element, input, rows };
        let counts = arrays.counts()?;
        if repeat == 0 && rows > 0 && counts.iter().any(|count| *count > 0) {
            return Err(arrays.refused("no elements in a column without descriptors", "some"));
        }
        let length = counts.len().saturating_mul(if wide { 16 } else { 8 });
        let mut bytes = memory::with_room(length, "descriptors")?;
        for &count in &counts {
            let length = element.total_bytes(count).unwrap_or(u64::MAX);
            if repeat > 0 {
                arrays.put_descriptor(count, heap_end, wide, &mut bytes)?;
            }
            longest[number] = longest[number].max(count);
            heap_end = heap_end.saturating_add(length);
        }
        descriptors.push((number, bytes));
        arrays.write_elements(&counts, tier, write)?;
    }
    Ok((descriptors, longest))
}

/// The arrays of a column.
struct BuiltArrays<'a> {
    layout: &'a TableLayout,
    number: usize,
    element: Element,
    input: &'a ColumnInput<'a>,
    rows: u64,
}

impl BuiltArrays<'_> {
    fn refused(&self, expected: impl Into<String>, found: impl AsRef<str>) -> Error {
        self.encoder().refused(expected, found)
    }

    fn encoder(&self) -> Encoder {
        let column = &self.layout.columns[self.number];
        Encoder::of_elements(column, self.number, self.element, self.input.raw)
    }

    /// Counts the elements of each array.
    fn counts(&self) -> Result<Vec<u64>, Error> {
        let elements = self.input.values.len() / self.encoder().cell_bytes().max(1);
        let Some(offsets) = self.input.offsets else {
            return Err(self.refused("offsets of the arrays", "none"));
        };
        if offsets.len() as u64 != self.rows + 1 {
            let expected = format!("{} offsets, one more than rows", self.rows + 1);
            return Err(self.refused(expected, offsets.len().to_string()));
        }
        let whole = elements * self.encoder().cell_bytes() == self.input.values.len();
        let ends = offsets.first() == Some(&0) && offsets.last() == Some(&(elements as i64));
        let marked = self.input.nulls.is_none_or(|nulls| nulls.len() == elements);
        if !whole || !ends || !marked || offsets.windows(2).any(|pair| pair[0] > pair[1]) {
            let expected = "rising offsets from 0 to the number of elements, and as many marks of \
                            nulls if any";
            return Err(self.refused(expected, format!("others, with {elements} elements")));
        }
        let counts = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as u64);
        Ok(memory::collected(counts, "the lengths of arrays")?)
    }

    fn put_descriptor(
        &self,
        count: u64,
        offset: u64,
        wide: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        // The offset of an empty array is 0.
        let offset = if count == 0 { 0 } else { offset };
        match (wide, i32::try_from(count), i32::try_from(offset)) {
            (true, ..) => {
                out.extend((count as i64).to_ne_bytes());
                out.extend((offset as i64).to_ne_bytes());
            }
            (false, Ok(count), Ok(offset)) => {
                out.extend(count.to_ne_bytes());
                out.extend(offset.to_ne_bytes());
            }
            (false, ..) => {
                let expected =
                    "arrays within 2^31 bytes, the range of P descriptors (Q has no limit)";
                return Err(self.refused(expected, format!("{count} elements at byte {offset}")));
            }
        }
        Ok(())
    }

    /// Writes the elements of all arrays.
    fn write_elements(
        &self,
        counts: &[u64],
        tier: Tier,
        write: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut out = Vec::new();
        if self.element == Element::Bit {
            let mut rest = self.input.values;
            for &count in counts {
                let (bits, later) = rest.split_at(count as usize);
                out.clear();
                memory::resize(&mut out, (count as usize).div_ceil(8), 0, "an array of bits")?;
                tachyfits_kernels::pack_bits(bits, bits.len(), &mut out);
                write(&out)?;
                rest = later;
            }
            return Ok(());
        }
        let (encoder, mut scratch) = (self.encoder(), EncodeScratch::default());
        let (cell, stride) = (encoder.cell_bytes(), self.element.bytes() as usize);
        let elements = self.input.values.len() / cell.max(1);
        for first in (0..elements).step_by(BLOCK_ELEMENTS) {
            let end = elements.min(first + BLOCK_ELEMENTS);
            out.clear();
            memory::resize(&mut out, (end - first) * stride, 0, "elements of arrays")?;
            let values = &self.input.values[first * cell..end * cell];
            let nulls = self.input.nulls.map(|nulls| &nulls[first..end]);
            let mut block = EncodedRows { bytes: &mut out, stride, first_row: first as u64 };
            encoder.encode(EncodedValues { values, nulls }, &mut block, tier, &mut scratch)?;
            write(&out)?;
        }
        Ok(())
    }
}
