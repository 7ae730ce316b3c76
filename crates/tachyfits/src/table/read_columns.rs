//! Reads several columns in one pass over the rows; each task fills its own part of every output.

use std::sync::{Mutex, PoisonError};

use tachyfits_format::Field;
use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Report, enter_large_pages};
use tachyfits_kernels::{CACHES_BYTES, Streaming, Tier, streaming};
use tachyfits_memory::{self as memory, NoMemory};

use super::Table;
use super::block::{CellsOut, PlacedDecoder, decode_columns};
use super::decode::{DecodeScratch, Decoder, TextAs};
use super::read_text::BadText;
use super::row_ranges::{RowReads, Rows};
use crate::error::{Error, Reason};
use crate::image::{filled, tier};
use crate::native::read_native;
use crate::order_statistics::sort;

/// Minimum bytes of a cell that is worth a separate read.
const LONG_CELL: u64 = 4 << 20;
/// Bytes of cells buffered before they are moved to their positions, for rows in arbitrary order:
/// few enough to stay in the caches.
const WAITING_BYTES: usize = CACHES_BYTES;

/// Number of tasks by which the pages of outputs are prefaulted ahead: zeroing one page takes as
/// long as several tasks.
const PARTS_AHEAD: usize = 8;

tachyfits_io::options! {
    /// A column to read, and the arrays for its cells.
    #[derive(Debug)]
    pub struct ColumnOutput<'a> {
        /// The number of the column, from 0.
        pub column: usize,
        /// Whether to return the stored values: see [`Table::cells`].
        pub raw: bool,
        /// Output of the cells, one row after another, in native byte order.
        pub values: &'a mut [u8],
        /// Output of one byte per element: 1 if it is null, else 0. The value of a null is undefined.
        pub nulls: Option<&'a mut [u8]>,
        /// Representation of strings.
        pub text: TextAs,
        /// Set by reading: number of elements that violate the Standard. These are logical values
        /// other than T, F and a byte of 0 (a byte of 1 is read as true, others as null), and
        /// strings with bytes outside ASCII.
        pub odd: u64,
    }
}

impl<'a> ColumnOutput<'a> {
    /// Selects the cells of a column with scaling applied, text as bytes, and no marks of nulls.
    pub fn new(column: usize, values: &'a mut [u8]) -> ColumnOutput<'a> {
        ColumnOutput { column, raw: false, values, nulls: None, text: TextAs::Bytes, odd: 0 }
    }
}

impl Table {
    /// Reads columns in one pass over the rows: cell after cell, the first axis of a cell varies
    /// fastest; see [`Table::cells`].
    ///
    /// The bits of unscaled floats are preserved. Rows of a list may come in any order and repeat.
    ///
    /// ```
    /// use tachyfits::{FitsFile, OpenOptions, Rows, RunOptions};
    /// use tachyfits::table::ColumnOutput;
    /// let primary = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", "END"];
    /// let cards = [
    ///     "XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 3", "NAXIS2  = 3", "PCOUNT  = 0", "GCOUNT  = 1",
    ///     "TFIELDS = 2", "TTYPE1  = 'FLAG'", "TFORM1  = 'B'", "TTYPE2  = 'COUNT'", "TFORM2  = 'I'", "END",
    /// ];
    /// let mut bytes = Vec::new();
    /// for header in [&primary[..], &cards] {
    ///     bytes.extend(header.iter().flat_map(|card| format!("{card:<80}").into_bytes()));
    ///     bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    /// # }
    /// bytes.extend([9, 0, 10, 8, 0, 20, 7, 1, 0]);
    /// bytes.resize(8640, 0);
    /// // Rows of a byte, FLAG, and a 16-bit integer, COUNT: 10, 20, 256.
    /// let table = FitsFile::from_bytes("example", bytes, &OpenOptions::default())?.table(1)?;
    /// let mut counts = [0i16; 2];
    /// let column = ColumnOutput::new(table.column("count")?, bytemuck::cast_slice_mut(&mut counts));
    /// table.read(&mut [column], &Rows::Range(1..3), &RunOptions::default())?;
    /// assert_eq!(counts, [20, 256]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Column`], [`Reason::Rows`], [`Reason::Output`] if an array has the wrong size,
    /// [`Reason::ColumnKind`] for variable-length columns; [`Reason::DataMissing`] if the file ends
    /// before a row, or an I/O error.
    pub fn read(
        &self,
        columns: &mut [ColumnOutput<'_>],
        rows: &Rows<'_>,
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let tier = tier();
        self.check_rows(rows)?;
        let decoders: Vec<Decoder> = columns
            .iter()
            .map(|column| self.decoder(column.column, column.raw, column.text))
            .collect::<Result<_, _>>()?;
        for (column, decoder) in columns.iter_mut().zip(&decoders) {
            self.check_output(column, decoder, rows.len())?;
            column.odd = 0;
            // A column without bytes is not read.
            if let Some(nulls) = column.nulls.as_deref_mut().filter(|_| decoder.cell_bytes == 0) {
                nulls.fill(0);
            }
        }
        let numbers: Vec<usize> = columns.iter().map(|column| column.column).collect();
        let (mut outs, mut odds): (Vec<CellsOut<'_>>, Vec<&mut u64>) = columns
            .iter_mut()
            .map(|column| {
                let ColumnOutput { values, nulls, odd, .. } = column;
                (CellsOut { values, nulls: nulls.as_deref_mut() }, odd)
            })
            .unzip();
        let reading =
            Reading { table: self, numbers: &numbers, decoders: &decoders, tier, options };
        let (report, odd) = match rows {
            Rows::List(list) if !list.is_sorted() => reading.unsorted(list, &mut outs)?,
            rows => reading.sorted(rows.clone(), &mut outs)?,
        };
        odds.iter_mut().zip(odd).for_each(|(count, odd)| **count = odd);
        for column in columns {
            if column.odd > 0 && column.text == TextAs::Ucs4 {
                self.decode_utf8(column.column, column.values)?;
            }
        }
        Ok(report)
    }

    /// Checks that the table and the file have these rows, before memory for them is allocated.
    ///
    /// # Errors
    /// [`Reason::Rows`] or [`Reason::DataMissing`].
    pub fn check_rows(&self, rows: &Rows<'_>) -> Result<(), Error> {
        let layout = &self.layout;
        let Some(last) = rows.last() else { return Ok(()) };
        if last >= layout.rows {
            let found = match rows {
                Rows::Range(range) => format!("rows {} to {last}", range.start),
                Rows::List(_) => format!("row {last}"),
            };
            let expected = match layout.rows {
                0 => "no rows, because the table is empty".to_owned(),
                rows => format!("rows from 0 to {} (counted from 0)", rows - 1),
            };
            return Err(self.refused(Reason::Rows, expected, found));
        }
        if last >= layout.rows_present {
            let expected = format!("{} rows, up to the last requested one", last + 1);
            let found = format!(
                "{} whole rows ({} bytes of data) before the file ends",
                layout.rows_present, self.hdu.data_bytes_present
            );
            return Err(self.refused(Reason::DataMissing, expected, found));
        }
        Ok(())
    }

    /// Creates the decoder of a column whose cells have a fixed size.
    pub(crate) fn decoder(&self, column: usize, raw: bool, text: TextAs) -> Result<Decoder, Error> {
        let definition = self.column_at(column)?;
        if !raw && matches!(definition.field, Field::Variable { .. }) {
            let expected = "a column whose cells have one size";
            let what = format!("{}, arrays in the heap ({})", self.words(column), definition.form);
            return Err(self.refused(Reason::ColumnKind, expected, what));
        }
        Decoder::new(definition, raw, text).ok_or_else(|| {
            let expected = format!("memory for a cell of {}", self.words(column));
            self.refused(Reason::Memory, expected, format!("cells of {}", definition.form))
        })
    }

    /// Creates the error for a field whose text is not a number.
    pub(crate) fn bad_text(&self, column: usize, row: u64, bad: &BadText) -> Error {
        let (words, row) = (self.words(column), row + 1);
        let form = self.layout.columns.get(column).map_or("", |column| &column.form);
        let expected = format!("a number ({form}) in row {row} (from 1) of {words}");
        self.refused(Reason::CellText, expected, format!("{}, {}", bad.found, bad.error))
    }

    /// Describes a column in messages.
    pub(crate) fn words(&self, column: usize) -> String {
        let name = self.layout.columns.get(column).map_or("", |column| &column.name);
        format!("column {} ({name})", column + 1)
    }

    fn check_output(
        &self,
        column: &ColumnOutput<'_>,
        decoder: &Decoder,
        rows: u64,
    ) -> Result<(), Error> {
        let of = |size: usize| u128::from(rows) * size as u128;
        let bytes = of(decoder.cell_bytes);
        if column.values.len() as u128 != bytes {
            let expected =
                format!("{bytes} bytes for {} of {rows} rows", self.words(column.column));
            let found = format!("an array of {} bytes", column.values.len());
            return Err(self.refused(Reason::Output, expected, found));
        }
        match &column.nulls {
            Some(nulls) if nulls.len() as u128 != of(decoder.elements) => {
                let (elements, words) = (of(decoder.elements), self.words(column.column));
                let expected = format!("{elements} bytes for nulls of {words}, one per element");
                Err(self.refused(Reason::Output, expected, format!("{} bytes", nulls.len())))
            }
            _ => Ok(()),
        }
    }
}

/// State shared by all batches.
struct Reading<'a> {
    table: &'a Table,
    /// Numbers of the columns.
    numbers: &'a [usize],
    decoders: &'a [Decoder],
    tier: Tier,
    options: &'a RunOptions<'a>,
}

impl Reading<'_> {
    /// Reads rows in ascending order; returns, for each column, the number of elements that violate the Standard.
    fn sorted(
        &self,
        rows: Rows<'_>,
        outs: &mut [CellsOut<'_>],
    ) -> Result<(Report, Vec<u64>), Error> {
        let mut odd = vec![0; self.decoders.len()];
        let fields: Vec<_> = self.decoders.iter().map(|decoder| decoder.field.clone()).collect();
        if rows.is_empty() || fields.iter().all(|field| field.is_empty()) {
            return Ok((Report::default(), odd));
        }
        if let Some(report) = self.in_place(&rows, outs)? {
            return Ok((report, odd));
        }
        let reads = RowReads::new(&self.table.layout, rows, &fields);
        let columns: Vec<PlacedDecoder<'_>> = self
            .decoders
            .iter()
            .map(|decoder| PlacedDecoder { decoder, offset: reads.offset(decoder.field.start) })
            .collect();
        let large = outs.iter().map(|out| out.values.len()).sum::<usize>() > CACHES_BYTES;
        let parts = parts(outs, self.decoders, reads.task_rows() as usize)?;
        let progress = Progress { options: *self.options, total: reads.bytes() };
        let report = tachyfits_io::run(
            &*self.table.bytes_of(&fields),
            &reads,
            &progress.run_options(),
            <(Vec<u8>, DecodeScratch)>::default,
            |(packed, scratch), task, fetched| {
                // `try_lock`: its owner is already touching the pages.
                if let Some(Ok(mut part)) =
                    parts.get(task as usize + PARTS_AHEAD).map(Mutex::try_lock)
                {
                    part.enter();
                }
                let mut part = parts[task as usize].lock().unwrap_or_else(PoisonError::into_inner);
                let outs = part.begin();
                let block = reads.block(task, fetched, packed)?;
                for column in &columns {
                    scratch.reserve(column.decoder, block.rows)?;
                }
                let mut odd = vec![0; columns.len()];
                let mut decode = |stores: Option<Streaming<'_>>| {
                    decode_columns(&block, &columns, self.tier, scratch, outs, &mut odd, stores)
                };
                let result = match large {
                    true => streaming(|stores| decode(Some(stores))),
                    false => decode(None),
                };
                result.map_err(|(column, bad)| {
                    let row = reads.number(reads.places(task).start + bad.row as u64);
                    self.table.bad_text(self.numbers[column], row, &bad)
                })?;
                Ok::<_, Error>(odd)
            },
            |_task, counts| {
                odd.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
                Ok(())
            },
        )?;
        Ok((report, odd))
    }

    /// Reads a column directly into its output and swaps bytes there, if the column fills the whole
    /// row, or its cells are long enough for a separate read each (a block would have to contain at
    /// least one cell).
    fn in_place(
        &self,
        rows: &Rows<'_>,
        outs: &mut [CellsOut<'_>],
    ) -> Result<Option<Report>, Error> {
        let (Rows::Range(rows), [decoder], [out]) = (rows, self.decoders, outs) else {
            return Ok(None);
        };
        let layout = &self.table.layout;
        let start = layout.data_offset + rows.start * layout.row_bytes + decoder.field.start;
        let storage = &*self.table.bytes_of(std::slice::from_ref(&decoder.field));
        let Some((pixel, bytes)) = decoder.in_place() else { return Ok(None) };
        let whole = bytes == layout.row_bytes;
        if !(whole || bytes >= LONG_CELL) || storage.slice(start..start + 1).is_some() {
            return Ok(None);
        }
        let run = if whole { out.values.len() } else { decoder.cell_bytes };
        let total = out.values.len() as u64;
        let mut report = Report::default();
        for (row, values) in (0..).zip(out.values.chunks_mut(run)) {
            // Progress counts bytes of the column, not of the cell.
            let before = row * run as u64;
            let shifted = |done, _| {
                if let Some(progress) = self.options.progress {
                    progress(before + done, total);
                }
            };
            let watched =
                self.options.progress(self.options.progress.is_some().then_some(&shifted));
            let progress = Progress { options: watched, total: values.len() as u64 };
            let options = progress.run_options();
            let start = start + row * layout.row_bytes;
            let part = read_native(storage, start, values, pixel, self.tier, &options)?;
            report = report.followed_by(&part);
        }
        if let Some(nulls) = &mut out.nulls {
            nulls.fill(0);
        }
        Ok(Some(report))
    }

    /// Reads rows in ascending order, in batches, and moves their cells to their positions.
    fn unsorted(
        &self,
        list: &[u64],
        outs: &mut [CellsOut<'_>],
    ) -> Result<(Report, Vec<u64>), Error> {
        let mut order = filled(list.len() as u64, (0u64, 0usize), "the order of the rows")?;
        order.iter_mut().zip(list).enumerate().for_each(|(at, (out, &row))| *out = (row, at));
        let cell = |decoder: &Decoder| decoder.cell_bytes + decoder.elements;
        let row_bytes: usize = self.decoders.iter().map(cell).sum();
        let batch = (WAITING_BYTES / row_bytes.max(1)).max(1);
        let total = (list.len() as u64).saturating_mul(row_bytes as u64);
        sort(&mut order, &|| self.options.check(0, total))?;
        let mut odd = vec![0; self.decoders.len()];
        let mut report = Report::default();
        for part in order.chunks(batch) {
            let rows = memory::collected(part.iter().map(|part| part.0), "some rows")?;
            let places = memory::collected(part.iter().map(|part| part.1), "some rows")?;
            let mut waiting = self.waiting(places.len(), outs)?;
            let mut waiting_outs: Vec<CellsOut<'_>> = waiting
                .iter_mut()
                .map(|(values, nulls)| CellsOut { values, nulls: nulls.as_deref_mut() })
                .collect();
            let (part, counts) = self.sorted(Rows::List(&rows), &mut waiting_outs)?;
            report = report.followed_by(&part);
            odd.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
            for ((decoder, out), (values, nulls)) in
                self.decoders.iter().zip(outs.iter_mut()).zip(&waiting)
            {
                spread(values, decoder.cell_bytes, &places, out.values);
                if let (Some(nulls), Some(out)) = (nulls, &mut out.nulls) {
                    spread(nulls, decoder.elements, &places, out);
                }
            }
        }
        Ok((report, odd))
    }

    /// Allocates arrays for the cells of some rows.
    fn waiting(&self, rows: usize, outs: &[CellsOut<'_>]) -> Result<Vec<Waiting>, Error> {
        let of = |size: usize| filled((rows * size) as u64, 0u8, "the cells of some rows");
        let each = self.decoders.iter().zip(outs).map(|(decoder, out)| {
            let nulls = out.nulls.as_ref().map(|_| of(decoder.elements)).transpose()?;
            Ok((of(decoder.cell_bytes)?, nulls))
        });
        each.collect()
    }
}

/// Values and nulls of a column for a batch of rows.
type Waiting = (Vec<u8>, Option<Vec<u8>>);

/// Moves contiguous cells to their positions.
fn spread(cells: &[u8], size: usize, places: &[usize], out: &mut [u8]) {
    if size > 0 {
        for (cell, &place) in cells.chunks_exact(size).zip(places) {
            out[place * size..(place + 1) * size].copy_from_slice(cell);
        }
    }
}

/// Outputs of a task.
#[derive(Debug, Default)]
struct ReadPart<'a> {
    outs: Vec<CellsOut<'a>>,
    begun: bool,
}

impl<'a> ReadPart<'a> {
    /// Returns the outputs for writing, and stops prefaulting.
    fn begin(&mut self) -> &mut [CellsOut<'a>] {
        self.begun = true;
        &mut self.outs
    }

    /// Prefaults the pages of the outputs, unless writing has begun.
    fn enter(&mut self) {
        if !self.begun {
            for out in &mut self.outs {
                enter_large_pages(out.values);
                out.nulls.as_deref_mut().map(enter_large_pages);
            }
        }
    }
}

/// Splits the outputs by task.
fn parts<'a>(
    outs: &'a mut [CellsOut<'_>],
    decoders: &[Decoder],
    task_rows: usize,
) -> Result<Vec<Mutex<ReadPart<'a>>>, NoMemory> {
    let mut parts: Vec<ReadPart<'a>> = Vec::new();
    for (index, (out, decoder)) in outs.iter_mut().zip(decoders).enumerate() {
        let (mut values, mut nulls) = (&mut *out.values, out.nulls.as_deref_mut());
        let mut task = 0;
        while !values.is_empty() {
            let cells = take(&mut values, task_rows * decoder.cell_bytes);
            let marks = nulls.as_mut().map(|nulls| take(nulls, task_rows * decoder.elements));
            if task == parts.len() {
                memory::push(&mut parts, ReadPart::default(), "the parts of columns")?;
            }
            // At most 999 columns; columns without bytes have no parts.
            parts[task].outs.resize_with(index, CellsOut::default);
            parts[task].outs.push(CellsOut { values: cells, nulls: marks });
            task += 1;
        }
    }
    for part in &mut parts {
        part.outs.resize_with(decoders.len(), CellsOut::default);
    }
    memory::collected(parts.into_iter().map(Mutex::new), "the parts of columns")
}

/// Splits bytes off the front.
fn take<'a>(bytes: &mut &'a mut [u8], count: usize) -> &'a mut [u8] {
    let all = std::mem::take(bytes);
    let (front, rest) = all.split_at_mut(count.min(all.len()));
    *bytes = rest;
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_entered_before_cells_are_written_and_never_after() {
        const LARGE_PAGE: usize = 2 << 20;
        let mut values = vec![7; 3 * LARGE_PAGE];
        let page = values.as_ptr().align_offset(LARGE_PAGE);
        for (begun, expected) in [(true, 7), (false, 0)] {
            let cells = &mut values[page..][..LARGE_PAGE];
            let mut part =
                ReadPart { outs: vec![CellsOut { values: cells, nulls: None }], begun: false };
            if begun {
                part.begin();
            }
            part.enter();
            assert_eq!((values[page], values[page + 1]), (expected, 7));
        }
    }
}
