//! The heap of an edited table. New arrays are appended, so an array that extends beyond the heap,
//! an error for every reader, would get bytes of the new ones: such a table is rejected. Unused
//! arrays stay until `compact_heap` removes them.

use std::ops::Range;

use tachyfits_format::{Descriptor, Field, Value};
use tachyfits_io::{SpoolOptions, SpoolWriter, push_coalesced};
use tachyfits_memory as memory;

use super::Editor;
use super::content::Rope;
use super::edited_cells::{Overlay, Patch};
use super::edited_table::Parts;
use crate::error::{Error, Reason};
use crate::table::Rows;

/// Bytes of rows processed together.
const LOOK_BYTES: u64 = 1 << 20;
/// Ranges collected before they are sorted and merged.
const LOOSE_RANGES: usize = if cfg!(test) { 4 } else { 1 << 16 };
/// Bytes of new fields buffered before they are spooled.
const FIELD_BYTES: u64 = if cfg!(test) { 64 } else { 16 << 20 };
/// Maximum parts of a compacted heap: each takes some 100 bytes of memory.
const MOST_RANGES: usize = 1 << 20;

/// Fields that an edit overwrites, so that their old descriptors need not be valid: one column in some rows.
#[derive(Clone, Copy)]
pub(super) struct Replaced<'a> {
    pub(super) column: usize,
    pub(super) rows: &'a Rows<'a>,
}

impl Editor {
    /// Removes bytes that no array of a table uses, in its heap and between rows and heap, and
    /// returns their number. Arrays that share bytes continue to share them. If the used bytes form
    /// more than a million parts, some small gaps stay, to bound memory; another call removes more.
    ///
    /// # Errors
    /// [`Reason::Edit`] for a compressed table, whose heap has descriptors of its own; if the HDU
    /// has no complete table, or an array extends beyond the heap. On error the table is unchanged.
    pub fn compact_heap(&mut self, hdu: usize) -> Result<u64, Error> {
        self.compact_heap_to(hdu, MOST_RANGES)
    }

    /// Compacts the heap to at most `most` parts, at least 2.
    fn compact_heap_to(&mut self, hdu: usize, most: usize) -> Result<u64, Error> {
        // Sect. 10.3.6: the descriptors of the original table are compressed into the heap, so that
        // no cell refers to the arrays they describe. In a compressed image, a cell refers to every
        // array.
        if self.unit(hdu)?.header().get("ZTABLE") == Some(&Value::Logical(true)) {
            let (expected, found) = ("a table that is not compressed", "ZTABLE = T");
            return Err(self.refuse(hdu, Reason::Edit, expected, found));
        }
        let mut parts = self.parts(hdu)?;
        let mut used = Reached::of_at_most(most);
        self.each_field(&parts, |row, column, bytes| {
            used.add(self.array_of(hdu, &parts, (row, column), bytes)?.1);
            Ok(())
        })?;
        let used = used.in_order();
        let before = parts.gap.bytes() + parts.heap.bytes();
        let after = used.last().map_or(0, |(at, range)| at + (range.end - range.start));
        if before == after {
            return Ok(0);
        }
        let patches = self.moved_fields(hdu, &parts, &used)?;
        for patch in patches {
            parts.rows = Overlay::over(&parts.rows, patch)?;
        }
        let heap = std::mem::take(&mut parts.heap);
        parts.drop_heap();
        for (_, range) in used {
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

    /// Returns new fields of all variable-length columns, with the offsets of arrays in the compacted heap.
    fn moved_fields(
        &self,
        hdu: usize,
        parts: &Parts,
        used: &[(u64, Range<u64>)],
    ) -> Result<Vec<Patch>, Error> {
        let mut by_column = ByColumn::new(parts.layout.columns.len());
        self.each_field(parts, |row, column, bytes| {
            let (Descriptor { count, .. }, range) =
                self.array_of(hdu, parts, (row, column), bytes)?;
            let offset = match used.partition_point(|(_, other)| other.start <= range.start) {
                0 => 0,
                next => {
                    let (at, part) = &used[next - 1];
                    at + (range.start - part.start)
                }
            };
            let numbers = if count == 0 { [0, 0] } else { [count, offset] };
            for number in numbers {
                // The same width as the old number, which was not smaller.
                by_column.add(column, &number.to_be_bytes()[8 - bytes.len() / 2..])?;
            }
            Ok(())
        })?;
        let columns = parts.layout.columns.iter().zip(by_column.finish()?);
        let patches =
            columns.filter(|(_, bytes)| bytes.bytes() > 0).map(|(column, bytes)| Patch::Fields {
                first: column.offset,
                stride: parts.layout.row_bytes,
                width: column.field.row_bytes(),
                count: parts.layout.rows,
                bytes,
            });
        Ok(patches.collect())
    }

    /// Parses the descriptor in a field of a variable-length column; also returns the heap bytes of its array.
    fn array_of(
        &self,
        hdu: usize,
        parts: &Parts,
        (row, column): (u64, usize),
        bytes: &[u8],
    ) -> Result<(Descriptor, Range<u64>), Error> {
        let result = parts.layout.descriptor(column, row, bytes);
        let array = self.format_error(result).map_err(|error| error.at(&self.name, hdu))?;
        let length = match parts.layout.columns[column].field {
            Field::Variable { element, .. } => element.total_bytes(array.count),
            _ => None,
        };
        Ok((array, array.offset..array.offset + length.unwrap_or(0)))
    }

    /// Checks that the arrays of all rows are in the heap, before it grows. Skips tables whose
    /// arrays were all checked before.
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
            .filter(|(_, entry)| matches!(entry.field, Field::Variable { .. }))
            .map(|(column, entry)| (column, entry.offset, entry.field.row_bytes()))
            .filter(|(.., width)| *width > 0)
            .collect();
        if fields.is_empty() {
            return Ok(());
        }
        let together = (LOOK_BYTES / stride).clamp(1, layout.rows.max(1));
        let mut bytes = Vec::new();
        for first in (0..layout.rows).step_by(together as usize) {
            let rows = together.min(layout.rows - first);
            // For very long rows, only the fields are read.
            let lies_whole = stride <= LOOK_BYTES;
            if lies_whole {
                memory::resize(&mut bytes, (rows * stride) as usize, 0, "rows of a table")?;
                parts.rows.read(first * stride, &mut bytes)?;
            }
            for row in first..first + rows {
                for &(column, offset, width) in &fields {
                    let begin = if lies_whole { (row - first) * stride + offset } else { 0 };
                    if !lies_whole {
                        memory::resize(&mut bytes, width as usize, 0, "a descriptor")?;
                        parts.rows.read(row * stride + offset, &mut bytes)?;
                    }
                    visit(row, column, &bytes[begin as usize..(begin + width) as usize])?;
                }
            }
        }
        Ok(())
    }
}

/// Bytes of columns, encoded row by row. One spool serves all columns, so that neither memory nor
/// the number of files grows with the number of columns.
struct ByColumn {
    spool: SpoolWriter,
    /// Per column: bytes not yet spooled, and the ranges already spooled.
    columns: Vec<(Vec<u8>, Vec<Range<u64>>)>,
    loose: u64,
}

impl ByColumn {
    fn new(columns: usize) -> ByColumn {
        let spool = SpoolWriter::new("descriptors", SpoolOptions::default());
        // At most 999 columns.
        ByColumn { spool, columns: vec![Default::default(); columns], loose: 0 }
    }

    fn add(&mut self, column: usize, bytes: &[u8]) -> Result<(), Error> {
        memory::extend(&mut self.columns[column].0, bytes, "descriptors")?;
        self.loose += bytes.len() as u64;
        if self.loose >= FIELD_BYTES { self.put_away() } else { Ok(()) }
    }

    fn put_away(&mut self) -> Result<(), Error> {
        for (bytes, places) in self.columns.iter_mut().filter(|(bytes, _)| !bytes.is_empty()) {
            let begin = self.spool.bytes();
            self.spool.write_all(bytes)?;
            places.push(begin..self.spool.bytes());
            bytes.clear();
        }
        self.loose = 0;
        Ok(())
    }

    /// Returns the bytes of each column.
    fn finish(mut self) -> Result<Vec<Rope>, Error> {
        self.put_away()?;
        let all = Rope::of_storage(self.spool.finish()?);
        let of_column = |(_, places): (Vec<u8>, Vec<Range<u64>>)| {
            let mut bytes = Rope::default();
            places.into_iter().for_each(|range| bytes.append_part(&all, range));
            bytes
        };
        Ok(self.columns.into_iter().map(of_column).collect())
    }
}

/// Bytes of a heap that arrays use.
struct Reached {
    /// Sorted, disjoint ranges.
    merged: Vec<Range<u64>>,
    loose: Vec<Range<u64>>,
    /// Maximum number of merged ranges.
    most: usize,
}

impl Reached {
    fn of_at_most(most: usize) -> Reached {
        Reached { merged: Vec::new(), loose: Vec::new(), most }
    }

    fn add(&mut self, range: Range<u64>) {
        match self.loose.last_mut() {
            _ if range.is_empty() => {}
            // Arrays are usually contiguous.
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.loose.push(range),
        }
        if self.loose.len() >= LOOSE_RANGES.max(self.merged.len()) {
            self.join();
        }
    }

    fn join(&mut self) {
        let mut all = std::mem::take(&mut self.merged);
        all.append(&mut self.loose);
        all.sort_unstable_by_key(|range| range.start);
        all.into_iter().for_each(|range| push_coalesced(&mut self.merged, range, 0));
        if self.merged.len() > self.most {
            // Reduce to half, so that the next reduction is not needed soon.
            self.fill_gaps(self.most / 2);
        }
    }

    /// Reduces the number of ranges to `ranges`, by counting the smallest gaps between them as used.
    fn fill_gaps(&mut self, ranges: usize) {
        let apart = self.merged.windows(2).map(|pair| pair[1].start - pair[0].end);
        let mut gaps: Vec<u64> = apart.collect();
        let (larger, &mut filled, _) =
            gaps.select_nth_unstable_by_key(ranges - 1, |gap| std::cmp::Reverse(*gap));
        // Among gaps of the threshold size, the first ones stay.
        let mut equal = larger.iter().filter(|gap| **gap == filled).count();
        self.merged.dedup_by(|range, last| {
            let gap = range.start - last.end;
            let stays_equal = gap == filled && equal > 0;
            equal -= usize::from(stays_equal);
            let stays = gap > filled || stays_equal;
            if !stays {
                last.end = range.end;
            }
            !stays
        });
    }

    /// Returns the ranges in order, each with its offset after compaction.
    fn in_order(mut self) -> Vec<(u64, Range<u64>)> {
        self.join();
        let mut end = 0;
        let offsets = self.merged.into_iter().map(|range| {
            let at = end;
            end += range.end - range.start;
            (at, range)
        });
        offsets.collect()
    }
}

/// Returns a predicate: whether the field of a column in a row is replaced.
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::{FitsFile, OpenOptions, RunOptions};
    use proptest::prelude::*;

    /// A table with a column of bytes by P and a column of int16 by Q; its heap begins `gap` bytes after the rows.
    fn table(arrays: &[[(u64, u64); 2]], heap: &[u8], gap: usize) -> Vec<u8> {
        let mut rows = Vec::new();
        for [(count, offset), (wide_count, wide_offset)] in arrays {
            for number in [count, offset] {
                rows.extend((*number as u32).to_be_bytes());
            }
            for number in [wide_count, wide_offset] {
                rows.extend(number.to_be_bytes());
            }
        }
        let number = |keyword: &str, value: usize| format!("{keyword:<8}= {value:>20}");
        let primary = ["SIMPLE  =                    T".to_owned(), number("BITPIX", 8)];
        let mut cards = vec![
            "XTENSION= 'BINTABLE'".to_owned(),
            number("BITPIX", 8),
            number("NAXIS", 2),
            number("NAXIS1", 24),
            number("NAXIS2", arrays.len()),
            number("PCOUNT", gap + heap.len()),
            number("GCOUNT", 1),
            number("TFIELDS", 2),
            "TFORM1  = '1PB     '".to_owned(),
            "TFORM2  = '1QI     '".to_owned(),
        ];
        if gap > 0 {
            cards.push(number("THEAP", rows.len() + gap));
        }
        let mut bytes = Vec::new();
        for cards in [[&primary[..], &[number("NAXIS", 0)]].concat(), cards] {
            bytes.extend(cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()));
            bytes.extend(format!("{:<80}", "END").into_bytes());
            bytes.resize(bytes.len().next_multiple_of(2880), b' ');
        }
        bytes.extend(rows);
        bytes.extend(vec![0xee; gap]);
        bytes.extend(heap);
        bytes.resize(bytes.len().next_multiple_of(2880), 0);
        bytes
    }

    /// Arrays within a heap, occasionally beyond it.
    fn arrays() -> impl Strategy<Value = Vec<[(u64, u64); 2]>> {
        let offset = || prop_oneof![30 => 0u64..90, 1 => Just(119), 1 => Just(1 << 31)];
        let array = || (0u64..6, offset());
        prop::collection::vec([array(), array()], 0..24)
    }

    proptest! {
        #[test]
        fn only_referenced_heap_bytes_are_kept(
            arrays in arrays(),
            gap in prop_oneof![Just(0usize), 1usize..9],
            most in prop_oneof![2usize..6, Just(MOST_RANGES)],
        ) {
            let heap: Vec<u8> = (0..120).map(|n| (n * 7) as u8).collect();
            let content = table(&arrays, &heap, gap);
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&content).unwrap();
            let path = file.path();
            let sizes = [1u64, 2];
            let (mut expected, mut is_reached) = ([Vec::new(), Vec::new()], [false; 120]);
            let mut whole = true;
            for row in &arrays {
                for (column, (count, offset)) in row.iter().enumerate().filter(|(_, array)| array.0 > 0) {
                    let range = *offset as usize..(offset + count * sizes[column]) as usize;
                    match heap.get(range.clone()) {
                        None => whole = false,
                        Some(bytes) => {
                            is_reached[range].fill(true);
                            expected[column].extend_from_slice(bytes);
                        }
                    }
                }
            }
            let mut editor = Editor::open(path, &OpenOptions::default()).unwrap();
            let removed = editor.compact_heap_to(1, most);
            let removed_again = editor.compact_heap_to(1, MOST_RANGES);
            editor.commit(false, &RunOptions::default()).unwrap();
            if !whole {
                prop_assert_eq!(removed.unwrap_err().code(), "descriptor-range");
                prop_assert_eq!(removed_again.unwrap_err().code(), "descriptor-range");
                let mut bytes = Vec::new();
                file.reopen().unwrap().read_to_end(&mut bytes).unwrap();
                prop_assert_eq!(bytes, content);
                return Ok(());
            }
            let (removed, removed_again) = (removed.unwrap(), removed_again.unwrap());
            prop_assert!(most < MOST_RANGES || removed_again == 0);
            let used = is_reached.iter().filter(|used| **used).count();
            prop_assert_eq!(removed + removed_again, (gap + heap.len() - used) as u64);
            let file = FitsFile::open(path, &OpenOptions::default()).unwrap();
            prop_assert_eq!(file.hdus()[1].header.get_i64("PCOUNT"), Ok(Some(used as i64)));
            let table = file.table(1).unwrap();
            let rows = Rows::Range(0..arrays.len() as u64);
            for (column, expected) in expected.iter().enumerate() {
                let (arrays, _) =
                    table.read_arrays(column, false, &rows, &RunOptions::default()).unwrap();
                let bytes = arrays.values.chunks(sizes[column] as usize).flat_map(|value| {
                    let mut value = value.to_vec();
                    if cfg!(target_endian = "little") {
                        value.reverse();
                    }
                    value
                });
                prop_assert_eq!(&bytes.collect::<Vec<_>>(), expected);
            }
        }

        #[test]
        fn bytes_of_many_columns_take_no_more_memory_than_those_of_few(
            columns in 1usize..999,
            fields in prop::collection::vec((any::<usize>(), any::<[u8; 8]>()), 0..200),
        ) {
            let (mut by_column, mut expected) = (ByColumn::new(columns), vec![Vec::new(); columns]);
            for (column, bytes) in fields {
                by_column.add(column % columns, &bytes).unwrap();
                expected[column % columns].extend(bytes);
                let loose: usize = by_column.columns.iter().map(|(bytes, _)| bytes.len()).sum();
                prop_assert!((loose as u64) < FIELD_BYTES);
            }
            for (bytes, expected) in by_column.finish().unwrap().iter().zip(expected) {
                let mut bytes_read = vec![0; expected.len()];
                prop_assert_eq!(bytes.bytes(), expected.len() as u64);
                bytes.read(0, &mut bytes_read).unwrap();
                prop_assert_eq!(bytes_read, expected);
            }
        }

        #[test]
        fn of_too_many_parts_the_smallest_gaps_are_filled(
            steps in prop::collection::vec((1u64..5, 1u64..5), 0..60),
            most in 2usize..9,
        ) {
            let (mut end, mut all) = (0, Vec::new());
            for (gap, bytes) in steps {
                all.push(end + gap..end + gap + bytes);
                end += gap + bytes;
            }
            let mut used = Reached { merged: all.clone(), ..Reached::of_at_most(most) };
            let count = all.len();
            used.join();
            let ranges = used.merged.clone();
            prop_assert_eq!(ranges.len(), if count > most { most / 2 } else { count });
            for range in &all {
                prop_assert!(ranges.iter().any(|part| part.start <= range.start && range.end <= part.end));
            }
            let gaps = |ranges: &[Range<u64>]| -> Vec<u64> {
                let apart = ranges.windows(2).map(|pair| pair[1].start - pair[0].end);
                let mut gaps: Vec<u64> = apart.collect();
                gaps.sort_unstable_by(|a, b| b.cmp(a));
                gaps
            };
            let remaining = gaps(&ranges);
            prop_assert_eq!(&remaining[..], &gaps(&all)[..remaining.len()]);
        }
    }
}
