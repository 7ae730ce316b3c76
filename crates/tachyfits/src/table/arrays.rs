//! Variable-length columns: descriptors first, each checked before anything is allocated for their arrays; then the heap,
//! arrays that follow each other as one, long ones in pieces. Arrays may share bytes of the heap, lie in any order and
//! leave gaps (Standard 4.0, section 7.3.5).

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

/// Bytes of the arrays of a task, as they are given.
const TASK_BYTES: u64 = 512 << 10;
/// The most arrays of a task.
const TASK_ARRAYS: usize = 1 << 15;
/// Purpose of the memory, for errors.
const TASKS: &str = "the parts of a heap";
/// Arrays that share bytes may have this many times the bytes of the heap in all, and [`SHARED_BYTES`] more. Without a
/// limit a small file could ask for any amount of memory.
const SHARED_TIMES: u64 = 64;
const SHARED_BYTES: u64 = 16 << 20;

/// The arrays of a variable-length column, one after another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Arrays {
    /// Where the array of each row begins, in elements, and at the end where the last one ends.
    pub offsets: Vec<i64>,
    /// The elements in native byte order. Characters are as stored, a byte each.
    pub values: Vec<u8>,
    /// A byte for each element, 1 where it is null; none where no element can be.
    pub nulls: Option<Vec<u8>>,
    /// Type of an element; TDIMn is in the layout.
    pub cells: Cells,
    /// How many elements were not as the Standard has them: see [`super::ColumnOutput::odd`].
    pub odd: u64,
}

impl Table {
    /// Reads the arrays of a variable-length column; rows of a list may come in any order and repeat. `raw` asks for the
    /// stored numbers; bits are bytes of 1 and 0 then, too.
    ///
    /// # Errors
    /// [`Reason::ColumnKind`] where cells have one size; an error of the format that names the row (from 1) if a
    /// descriptor is negative or leaves the heap, or THEAP is wrong; [`Reason::Memory`] if there is not enough, or arrays
    /// that share bytes have far more of them than the heap; otherwise as [`Table::read`].
    pub fn read_arrays(
        &self,
        column: usize,
        raw: bool,
        rows: &Rows<'_>,
        options: &RunOptions<'_>,
    ) -> Result<(Arrays, Report), Error> {
        let tier = tier();
        let found = self.column_at(column)?;
        let Field::Variable { element, .. } = found.field else {
            let expected = "a column of arrays in the heap";
            let what = format!("{} ({})", self.words(column), found.form);
            return Err(self.refused(Reason::ColumnKind, expected, what));
        };
        self.check_rows(rows)?;
        let (descriptors, described) = self.descriptors(column, rows, options)?;
        let cells = cells_of_elements(found, element, raw);
        let size = cells.kind.bytes();
        let offsets = self.offsets(column, rows, element, size, &descriptors)?;
        let count = *offsets.last().unwrap_or(&0) as u64;
        let mut values = filled(count * size, 0u8, "the arrays")?;
        let mut nulls = if cells.nullable { Some(filled(count, 0u8, "the nulls")?) } else { None };
        let plan = HeapPlan::new(&descriptors, element, size, self.layout.heap.offset)?;
        let outs = plan.cut(&mut values, nulls.as_deref_mut())?;
        let decoder = Decoder::of_elements(found, element, raw);
        let mut odd = 0;
        let progress = Progress { options: *options, total: plan.stored_bytes() };
        let field = found.offset..found.offset + found.field.row_bytes();
        let report = tachyfits_io::run(
            &*self.bytes_of(std::slice::from_ref(&field)),
            &plan,
            &progress.run_options(),
            DecodeScratch::default,
            |scratch, task, fetched| {
                let mut out = outs[task as usize].lock().unwrap_or_else(PoisonError::into_inner);
                Ok::<_, Error>(plan.decode(task, fetched, &decoder, tier, scratch, &mut out)?)
            },
            |_task, found| {
                odd += found;
                Ok(())
            },
        )?;
        drop(outs);
        Ok((Arrays { offsets, values, nulls, cells, odd }, described.followed_by(&report)))
    }

    /// The arrays of rows, each checked to lie in the heap.
    fn descriptors(
        &self,
        column: usize,
        rows: &Rows<'_>,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<Descriptor>, Report), Error> {
        let layout = &self.layout;
        layout.heap().map_err(|error| self.format_error(error))?;
        let found = &layout.columns[column];
        let bytes = match found.field {
            Field::Variable { repeat: 0, .. } => 0,
            field => field.row_bytes(),
        };
        let mut all = filled(rows.len(), Descriptor::default(), "the descriptors")?;
        if bytes == 0 || rows.is_empty() {
            return Ok((all, Report::default()));
        }
        let field = found.offset..found.offset + bytes;
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
                let mut found = memory::with_room(block.rows, "descriptors of some rows")?;
                for (row, place) in reads.places(task).enumerate() {
                    let at = offset + row * block.stride;
                    let bytes = &block.bytes[at..at + bytes as usize];
                    let descriptor = layout.descriptor(column, reads.number(place), bytes);
                    found.push(descriptor.map_err(|error| self.format_error(error))?);
                }
                Ok::<_, Error>(found)
            },
            |task, found| {
                let first = reads.places(task).start as usize;
                all[first..first + found.len()].copy_from_slice(&found);
                Ok(())
            },
        )?;
        Ok((all, report))
    }

    /// Offsets of the arrays, in elements, if the file has their bytes and memory may hold them.
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

/// A part of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ArrayPart {
    array: usize,
    /// Elements before it.
    first: u64,
}

/// The reads of arrays, in the order in which they are given.
struct HeapPlan<'a> {
    descriptors: &'a [Descriptor],
    element: Element,
    /// Bytes of an element as it is given.
    size: u64,
    heap_offset: u64,
    /// The first piece of each task, and where the last one ends.
    tasks: Vec<ArrayPart>,
}

impl<'a> HeapPlan<'a> {
    fn new(
        descriptors: &'a [Descriptor],
        element: Element,
        size: u64,
        heap_offset: u64,
    ) -> Result<HeapPlan<'a>, NoMemory> {
        // Whole bytes of bits.
        let most = (TASK_BYTES / size.max(1)).next_multiple_of(8);
        let mut tasks = vec![ArrayPart { array: 0, first: 0 }];
        let mut room = most;
        for (array, descriptor) in descriptors.iter().enumerate() {
            // The ranges of a task are listed.
            if array - tasks[tasks.len() - 1].array >= TASK_ARRAYS {
                memory::push(&mut tasks, ArrayPart { array, first: 0 }, TASKS)?;
                room = most;
            }
            let mut first = 0;
            while descriptor.count - first > room {
                // An array that does not fit begins the next task; a short array stays whole.
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

    /// Bytes of the heap in all, those of shared ones each time.
    fn stored_bytes(&self) -> u64 {
        let bytes = |descriptor: &Descriptor| self.element.total_bytes(descriptor.count);
        self.descriptors.iter().filter_map(bytes).fold(0, u64::saturating_add)
    }

    /// The pieces of a task: (bytes in the file, elements); those that follow each other as one.
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
                // Bits of another array begin in another byte.
                Some((joined, count)) if joined.end == start && self.element != Element::Bit => {
                    joined.end = range.end;
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

    /// Cuts the outputs into those of each task.
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
