//! The heap of a table that is edited. New arrays go to its end, so an array that reaches beyond it, which nobody could
//! read, would come to have bytes of the new ones: such a table is refused. What no array reaches any more stays until it
//! is asked to be left out.

use std::ops::Range;

use tachyfits_format::{Descriptor, Field, Value};
use tachyfits_io::{SpoolOptions, SpoolWriter};

use super::Edition;
use super::cells::{Overlay, Patch};
use super::content::Rope;
use super::table::Parts;
use crate::error::{Error, Reason};
use crate::table::Rows;

/// Bytes of rows that are looked at together.
const LOOK_BYTES: u64 = 1 << 20;
/// Ranges that are kept before they are put in order and joined.
const LOOSE_RANGES: usize = 1 << 16;

/// Fields that get other values, so that what they hold does not matter: those of a column in some rows.
#[derive(Clone, Copy)]
pub(super) struct Replaced<'a> {
    pub(super) column: usize,
    pub(super) rows: &'a Rows<'a>,
}

impl Edition {
    /// Leaves out what no array of a table reaches: in its heap, and between rows and heap. Arrays that share bytes do so
    /// still. Gives how many bytes that is.
    ///
    /// # Errors
    /// [`Reason::Edit`] of a compressed table, whose heap has descriptors of its own; if the HDU holds no whole table, or an
    /// array does not lie in the heap. The table is then as it was.
    pub fn compact_heap(&mut self, hdu: usize) -> Result<u64, Error> {
        // Sect. 10.3.6: the descriptors of the table as it was are compressed into its heap, so that no cell reaches the
        // arrays they point to. In a compressed image every array is that of a cell.
        if self.unit(hdu)?.header().get("ZTABLE") == Some(&Value::Logical(true)) {
            let (expected, found) = ("a table that is not compressed", "ZTABLE = T");
            return Err(self.refuse(hdu, Reason::Edit, expected, found));
        }
        let mut parts = self.parts(hdu)?;
        let mut reached = Reached::default();
        self.each_field(&parts, |row, column, bytes| {
            reached.add(self.array_of(hdu, &parts, (row, column), bytes)?.1);
            Ok(())
        })?;
        let reached = reached.in_order();
        let before = parts.gap.bytes() + parts.heap.bytes();
        let after = reached.last().map_or(0, |(at, range)| at + (range.end - range.start));
        if before == after {
            return Ok(0);
        }
        let patches = self.moved_fields(hdu, &parts, &reached)?;
        for patch in patches {
            parts.rows = Overlay::over(&parts.rows, patch);
        }
        let heap = std::mem::take(&mut parts.heap);
        parts.drop_heap();
        for (_, range) in reached {
            parts.heap.append_part(&heap, range);
        }
        let mut header = self.unit(hdu)?.header().clone();
        if after == 0 {
            header.remove("THEAP");
        }
        self.put_back_with(hdu, parts, &[], header)?;
        self.units[hdu].arrays_are_whole = true;
        Ok(before - after)
    }

    /// The fields of all variable-length columns with the places that their arrays have where only what is reached is kept.
    fn moved_fields(
        &self,
        hdu: usize,
        parts: &Parts,
        reached: &[(u64, Range<u64>)],
    ) -> Result<Vec<Patch>, Error> {
        let count = parts.layout.columns.len();
        let mut spools: Vec<Option<SpoolWriter>> = (0..count).map(|_| None).collect();
        self.each_field(parts, |row, column, bytes| {
            let (Descriptor { count, .. }, range) =
                self.array_of(hdu, parts, (row, column), bytes)?;
            let offset = match reached.partition_point(|(_, other)| other.start <= range.start) {
                0 => 0,
                next => {
                    let (at, kept) = &reached[next - 1];
                    at + (range.start - kept.start)
                }
            };
            let numbers = if count == 0 { [0, 0] } else { [count, offset] };
            let spool = spools[column]
                .get_or_insert_with(|| SpoolWriter::new("descriptors", SpoolOptions::default()));
            for number in numbers {
                // As many bytes as the old one, which was not smaller.
                let number = number.to_be_bytes();
                spool.write_all(&number[8 - bytes.len() / 2..])?;
            }
            Ok(())
        })?;
        let mut patches = Vec::new();
        for (column, spool) in spools.into_iter().enumerate() {
            let Some(spool) = spool else { continue };
            let column = &parts.layout.columns[column];
            patches.push(Patch::Fields {
                first: column.offset,
                stride: parts.layout.row_bytes,
                width: column.field.row_bytes(),
                count: parts.layout.rows,
                bytes: Rope::of_storage(spool.finish()?),
            });
        }
        Ok(patches)
    }

    /// What a field of a variable-length column says, and the bytes of the heap that its array is.
    fn array_of(
        &self,
        hdu: usize,
        parts: &Parts,
        (row, column): (u64, usize),
        bytes: &[u8],
    ) -> Result<(Descriptor, Range<u64>), Error> {
        let found = parts.layout.descriptor(column, row, bytes);
        let array = self.format_error(found).map_err(|error| error.at(&self.name, hdu))?;
        let length = match parts.layout.columns[column].field {
            Field::Variable { element, .. } => element.total_bytes(array.count),
            _ => None,
        };
        Ok((array, array.offset..array.offset + length.unwrap_or(0)))
    }

    /// Checks that the arrays of all rows lie in the heap, before it grows; once, where all were looked at.
    ///
    /// # Errors
    /// [`tachyfits_format::Code::DescriptorRange`] and others of descriptors, with row and column.
    pub(super) fn check_arrays(
        &mut self,
        hdu: usize,
        parts: &Parts,
        replaced: Option<Replaced<'_>>,
    ) -> Result<(), Error> {
        if self.units[hdu].arrays_are_whole {
            return Ok(());
        }
        let is_replaced = is_replaced(replaced);
        self.each_field(parts, |row, column, bytes| match is_replaced(column, row) {
            true => Ok(()),
            false => self.array_of(hdu, parts, (row, column), bytes).map(|_| ()),
        })?;
        self.units[hdu].arrays_are_whole = replaced.is_none();
        Ok(())
    }

    /// Calls `visit` for the field of every variable-length column in every row: row, column, bytes.
    fn each_field(
        &self,
        parts: &Parts,
        mut visit: impl FnMut(u64, usize, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (layout, stride) = (&parts.layout, parts.layout.row_bytes);
        let fields: Vec<(usize, u64, u64)> = (0..layout.columns.len())
            .map(|column| (column, &layout.columns[column]))
            .filter(|(_, found)| matches!(found.field, Field::Variable { .. }))
            .map(|(column, found)| (column, found.offset, found.field.row_bytes()))
            .filter(|(.., width)| *width > 0)
            .collect();
        if fields.is_empty() {
            return Ok(());
        }
        let together = (LOOK_BYTES / stride).clamp(1, layout.rows.max(1));
        let mut bytes = Vec::new();
        for first in (0..layout.rows).step_by(together as usize) {
            let rows = together.min(layout.rows - first);
            // Of rows that are longer than all that is looked at together, no more than the fields is read.
            let lies_whole = stride <= LOOK_BYTES;
            if lies_whole {
                bytes.resize((rows * stride) as usize, 0);
                parts.rows.read(first * stride, &mut bytes)?;
            }
            for row in first..first + rows {
                for &(column, offset, width) in &fields {
                    let begin = if lies_whole { (row - first) * stride + offset } else { 0 };
                    if !lies_whole {
                        bytes.resize(width as usize, 0);
                        parts.rows.read(row * stride + offset, &mut bytes)?;
                    }
                    visit(row, column, &bytes[begin as usize..(begin + width) as usize])?;
                }
            }
        }
        Ok(())
    }
}

/// The bytes of a heap that arrays reach.
#[derive(Default)]
struct Reached {
    /// In order and apart.
    joined: Vec<Range<u64>>,
    loose: Vec<Range<u64>>,
}

impl Reached {
    fn add(&mut self, range: Range<u64>) {
        match self.loose.last_mut() {
            _ if range.is_empty() => {}
            // Arrays mostly follow each other.
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.loose.push(range),
        }
        if self.loose.len() >= LOOSE_RANGES.max(self.joined.len()) {
            self.join();
        }
    }

    fn join(&mut self) {
        let mut all = std::mem::take(&mut self.joined);
        all.append(&mut self.loose);
        all.sort_unstable_by_key(|range| range.start);
        for range in all {
            match self.joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => self.joined.push(range),
            }
        }
    }

    /// The ranges in order, each with the place where it begins when nothing is between them.
    fn in_order(mut self) -> Vec<(u64, Range<u64>)> {
        self.join();
        let mut end = 0;
        let placed = self.joined.into_iter().map(|range| {
            let at = end;
            end += range.end - range.start;
            (at, range)
        });
        placed.collect()
    }
}

/// Says whether the field of a column in a row is replaced.
fn is_replaced(replaced: Option<Replaced<'_>>) -> impl Fn(usize, u64) -> bool {
    let (mut range, mut list, mut of) = (0..0, Vec::new(), None);
    if let Some(Replaced { column, rows }) = replaced {
        of = Some(column);
        match rows {
            Rows::Range(rows) => range = rows.clone(),
            Rows::List(rows) => list = rows.to_vec(),
        }
        list.sort_unstable();
    }
    move |column, row| {
        of == Some(column) && (range.contains(&row) || list.binary_search(&row).is_ok())
    }
}
