//! Reads variable-length columns: first the descriptors, each checked before memory for its array
//! is allocated; then the heap. Adjacent arrays are read as one range, long arrays in pieces.
//! Arrays may share bytes of the heap, come in any order and leave gaps (Standard 4.0, section
//! 7.3.5).

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tachyfits_format::{Descriptor, Element, Field};
use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Fetched, Report, Tasks};
use tachyfits_kernels::Tier;
use tachyfits_memory::{self as memory, NoMemory};

use super::Table;
use super::block::CellsOut;
use super::cells::{Cells, cells_of_elements};
use super::decode::{DecodeScratch, Decoder};
use super::row_ranges::{RowReads, Rows};
use crate::error::{Error, Reason};
use crate::image::{filled, tier};

/// Maximum bytes of decoded arrays per task.
const TASK_BYTES: u64 = 512 << 10;
/// Maximum arrays per task.
const TASK_ARRAYS: usize = 1 << 15;
/// Purpose of the allocation, for error messages.
const TASKS: &str = "the parts of a heap";
/// Arrays that share bytes may have this many times the bytes of the heap in total, plus
/// [`SHARED_BYTES`]. Without a limit, a small file could request any amount of memory.
const SHARED_TIMES: u64 = 64;
const SHARED_BYTES: u64 = 16 << 20;

/// The arrays of a variable-length column, one after another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Arrays {
    /// Offset of each row's array, in elements, followed by the end of the last array.
    pub offsets: Vec<i64>,
    /// The elements in native byte order. Characters are as stored, a byte each.
    pub values: Vec<u8>,
    /// One byte per element, 1 if it is null; `None` if no element can be null.
    pub nulls: Option<Vec<u8>>,
    /// Type of an element; TDIMn is part of the layout.
    pub cells: Cells,
    /// Number of elements that violate the Standard: see [`super::ColumnOutput::odd`].
    pub odd: u64,
}

impl Table {
    /// Reads the arrays of a variable-length column; a list of rows may have any order and repeat
    /// rows. `raw` requests the stored numbers and returns bits as bytes of 1 and 0.
    ///
    /// # Errors
    /// [`Reason::ColumnKind`] if cells have a fixed size; a format error that names the row, from 1,
    /// if a descriptor is negative or leaves the heap, or THEAP is invalid; [`Reason::Memory`] if
    /// memory runs out or arrays that share bytes are far larger than the heap; otherwise as
    /// [`Table::read`].
    pub fn read_arrays(
        &self,
        column: usize,
        raw: bool,
        rows: &Rows<'_>,
        options: &RunOptions<'_>,
    ) -> Result<(Arrays, Report), Error> {
        let tier = tier();
        let definition = self.column_at(column)?;
        let Field::Variable { element, .. } = definition.field else {
            let expected = "a column of arrays in the heap";
            let what = format!("{} ({})", self.words(column), definition.form);
            return Err(self.refused(Reason::ColumnKind, expected, what));
        };
        self.check_rows(rows)?;
        let (descriptors, described) = self.descriptors(column, rows, options)?;
        let cells = cells_of_elements(definition, element, raw);
        let size = cells.kind.bytes();
        let offsets = self.offsets(column, rows, element, size, &descriptors)?;
        let count = *offsets.last().unwrap_or(&0) as u64;
        let mut values = filled(count * size, 0u8, "the arrays")?;
        let mut nulls = if cells.nullable { Some(filled(count, 0u8, "the nulls")?) } else { None };
        let plan = HeapPlan::new(&descriptors, element, size, self.layout.heap.offset)?;
        let outs = plan.cut(&mut values, nulls.as_deref_mut())?;
        let decoder = Decoder::of_elements(definition, element, raw);
        let mut odd = 0;
        let progress = Progress { options: *options, total: plan.stored_bytes() };
        let field = definition.offset..definition.offset + definition.field.row_bytes();
        let report = tachyfits_io::run(
            &*self.bytes_of(std::slice::from_ref(&field)),
            &plan,
            &progress.run_options(),
            DecodeScratch::default,
            |scratch, task, fetched| {
                let mut out = outs[task as usize].lock().unwrap_or_else(PoisonError::into_inner);
                Ok::<_, Error>(plan.decode(task, fetched, &decoder, tier, scratch, &mut out)?)
            },
            |_task, count| {
                odd += count;
                Ok(())
            },
        )?;
        drop(outs);
        Ok((Arrays { offsets, values, nulls, cells, odd }, described.followed_by(&report)))
    }

    /// Reads the descriptors of rows, and checks that each array lies in the heap.
    fn descriptors(
        &self,
        column: usize,
        rows: &Rows<'_>,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<Descriptor>, Report), Error> {
        let layout = &self.layout;
        layout.heap().map_err(|error| self.format_error(error))?;
        let definition = &layout.columns[column];
        let bytes = match definition.field {
            Field::Variable { repeat: 0, .. } => 0,
            field => field.row_bytes(),
        };
        let mut all = filled(rows.len(), Descriptor::default(), "the descriptors")?;
        if bytes == 0 || rows.is_empty() {
            return Ok((all, Report::default()));
        }
        let field = definition.offset..definition.offset + bytes;
        let reads = RowReads::new(layout, rows.clone(), std::slice::from_ref(&field));
        let offset = reads.offset(field.start);
        let progress = Progress { options: *options, total: reads.bytes() };
        let report = tachyfits_io::run(
            &*self.bytes_of(std::slice::from_ref(&field)),
            &reads,
            &progress.run_options(),
            Vec::new,
            |packed, task, fetched| {
                let block = reads.block(task, fetched, packed)?;
                let mut descriptors = memory::with_room(block.rows, "descriptors of some rows")?;
                for (row, place) in reads.places(task).enumerate() {
                    let at = offset + row * block.stride;
                    let bytes = &block.bytes[at..at + bytes as usize];
                    let descriptor = layout.descriptor(column, reads.number(place), bytes);
                    descriptors.push(descriptor.map_err(|error| self.format_error(error))?);
                }
                Ok::<_, Error>(descriptors)
            },
            |task, descriptors| {
                let first = reads.places(task).start as usize;
                all[first..first + descriptors.len()].copy_from_slice(&descriptors);
                Ok(())
            },
        )?;
        Ok((all, report))
    }

    /// Returns the offsets of the arrays, in elements, after checking that the file has their bytes
    /// and memory can hold them.
    fn offsets(
        &self,
        column: usize,
        rows: &Rows<'_>,
        element: Element,
        size: u64,
        descriptors: &[Descriptor],
    ) -> Result<Vec<i64>, Error> {
        let heap = self.layout.heap;
        let mut offsets = filled(descriptors.len() as u64 + 1, 0i64, "the offsets of the arrays")?;
        let mut count = 0u128;
        for (place, descriptor) in descriptors.iter().enumerate() {
            let bytes = element.total_bytes(descriptor.count).unwrap_or(u64::MAX);
            let end = descriptor.offset.saturating_add(bytes);
            if end > heap.bytes_present {
                let row = rows.number(place as u64) + 1;
                let words = self.words(column);
                let expected = format!("{end} bytes of the heap for {words} of row {row} (from 1)");
                let found = format!("{} bytes before the file ends", heap.bytes_present);
                return Err(self.refused(Reason::DataMissing, expected, found));
            }
            count += u128::from(descriptor.count);
            offsets[place + 1] = i64::try_from(count).unwrap_or(i64::MAX);
        }
        let most = heap.bytes.saturating_mul(SHARED_TIMES).saturating_add(SHARED_BYTES);
        let bytes = count * u128::from(size.max(1));
        if bytes > u128::from(most) {
            let words = self.words(column);
            let expected = format!(
                "at most {most} bytes for the arrays of {words}, {SHARED_TIMES} times the heap"
            );
            return Err(self.refused(Reason::Memory, expected, format!("{bytes} bytes")));
        }
        Ok(offsets)
    }
}

/// Start of a task within the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ArrayPart {
    array: usize,
    /// Elements of the array before it.
    first: u64,
}

/// Reads of arrays, in the order of the output.
struct HeapPlan<'a> {
    descriptors: &'a [Descriptor],
    element: Element,
    /// Bytes of a decoded element.
    size: u64,
    heap_offset: u64,
    /// The start of each task, and the end of the last one.
    tasks: Vec<ArrayPart>,
}

impl<'a> HeapPlan<'a> {
    fn new(
        descriptors: &'a [Descriptor],
        element: Element,
        size: u64,
        heap_offset: u64,
    ) -> Result<HeapPlan<'a>, NoMemory> {
        // A multiple of 8, so that bits fill whole bytes.
        let most = (TASK_BYTES / size.max(1)).next_multiple_of(8);
        let mut tasks = vec![ArrayPart { array: 0, first: 0 }];
        let mut room = most;
        for (array, descriptor) in descriptors.iter().enumerate() {
            // Limits the list of ranges of a task.
            if array - tasks[tasks.len() - 1].array >= TASK_ARRAYS {
                memory::push(&mut tasks, ArrayPart { array, first: 0 }, TASKS)?;
                room = most;
            }
            let mut first = 0;
            while descriptor.count - first > room {
                // An array that does not fit begins the next task; a short array is not split.
                if room == most || descriptor.count > most {
                    first += room / 8 * 8;
                }
                memory::push(&mut tasks, ArrayPart { array, first }, TASKS)?;
                room = most;
            }
            room -= descriptor.count - first;
        }
        memory::push(&mut tasks, ArrayPart { array: descriptors.len(), first: 0 }, TASKS)?;
        Ok(HeapPlan { descriptors, element, size, heap_offset, tasks })
    }

    /// Bytes of the heap to read; shared bytes count each time.
    fn stored_bytes(&self) -> u64 {
        let bytes = |descriptor: &Descriptor| self.element.total_bytes(descriptor.count);
        self.descriptors.iter().filter_map(bytes).fold(0, u64::saturating_add)
    }

    /// Visits the pieces of a task as (bytes in the file, elements); adjacent pieces are merged.
    fn visit(&self, task: u64, mut take: impl FnMut(Range<u64>, u64)) {
        let (begin, end) = (self.tasks[task as usize], self.tasks[task as usize + 1]);
        let mut run: Option<(Range<u64>, u64)> = None;
        for array in begin.array..(end.array + 1).min(self.descriptors.len()) {
            let descriptor = &self.descriptors[array];
            let first = if array == begin.array { begin.first } else { 0 };
            let last = if array == end.array { end.first } else { descriptor.count };
            if last <= first {
                continue;
            }
            let bytes = |count: u64| self.element.total_bytes(count).unwrap_or(0);
            let start = self.heap_offset + descriptor.offset + bytes(first);
            let range = start..start + bytes(last - first);
            match &mut run {
                // The bits of each array begin in a new byte.
                Some((span, count)) if span.end == start && self.element != Element::Bit => {
                    span.end = range.end;
                    *count += last - first;
                }
                _ => {
                    if let Some((range, count)) = run.replace((range, last - first)) {
                        take(range, count);
                    }
                }
            }
        }
        if let Some((range, count)) = run {
            take(range, count);
        }
    }

    /// Splits the outputs by task.
    fn cut<'v>(
        &self,
        values: &'v mut [u8],
        nulls: Option<&'v mut [u8]>,
    ) -> Result<Vec<Mutex<CellsOut<'v>>>, NoMemory> {
        let (mut values, mut nulls) = (values, nulls);
        let mut outs = memory::with_room(self.tasks.len() - 1, TASKS)?;
        for task in 0..self.tasks.len() as u64 - 1 {
            let mut count = 0;
            self.visit(task, |_, elements| count += elements as usize);
            let (part, later) =
                std::mem::take(&mut values).split_at_mut(count * self.size as usize);
            values = later;
            let marks = nulls.take().map(|all| {
                let (part, later) = all.split_at_mut(count);
                nulls = Some(later);
                part
            });
            outs.push(Mutex::new(CellsOut { values: part, nulls: marks }));
        }
        Ok(outs)
    }

    fn decode(
        &self,
        task: u64,
        fetched: &Fetched<'_>,
        decoder: &Decoder,
        tier: Tier,
        scratch: &mut DecodeScratch,
        out: &mut CellsOut<'_>,
    ) -> Result<u64, NoMemory> {
        let (mut piece, mut done, mut odd) = (0, 0, Ok(0));
        self.visit(task, |_, count| {
            let elements = done..done + count as usize;
            let size = self.size as usize;
            let values = &mut out.values[elements.start * size..elements.end * size];
            let nulls = out.nulls.as_deref_mut().map(|nulls| &mut nulls[elements.clone()]);
            let bytes = fetched.piece(piece);
            if let Ok(before) = odd {
                odd = decoder.decode_array(bytes, tier, scratch, values, nulls);
                odd = odd.map(|more| before + more);
            }
            piece += 1;
            done = elements.end;
        });
        odd
    }
}

impl Tasks for HeapPlan<'_> {
    fn len(&self) -> u64 {
        self.tasks.len() as u64 - 1
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        self.visit(index, |range, _| ranges.push(range));
    }
}
