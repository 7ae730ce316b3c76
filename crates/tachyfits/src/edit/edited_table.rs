//! Edits tables: adds, inserts and deletes rows and updates cells; for columns see
//! [`super::edited_columns`]. Unchanged bytes of rows are neither read nor moved before the file is
//! written.
//!
//! New arrays of variable-length columns are appended to the heap; old ones keep their position, so
//! descriptors with shared bytes, gaps and any order stay valid.

use std::ops::Range;

use tachyfits_format::{Field, FormatError, Header, NewTable, TableKind, TableLayout, Value};
use tachyfits_io::operation::RunOptions;
use tachyfits_io::{SpoolOptions, SpoolWriter, push_coalesced};
use tachyfits_kernels::Tier;
use tachyfits_memory as memory;

use super::Editor;
use super::content::Rope;
use super::edited_cells::{Overlay, Patch};
use super::edited_hdu::EditedHdu;
use super::edited_heap::Replaced;
use crate::error::{Error, Reason};
use crate::image::tier;
use crate::table::Rows;
use crate::table::built_rows::{Descriptors, NewRows, write_arrays};
use crate::table::encode::ColumnInput;
use crate::table::table_writer::layout_of;

/// Maximum nesting depth of sources; beyond it, rows are copied to a spool.
const DEEPEST: usize = 40;
/// Bytes copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// The data of a table, split into parts.
pub(super) struct Parts {
    pub(super) layout: TableLayout,
    pub(super) rows: Rope,
    /// Bytes between rows and heap.
    pub(super) gap: Rope,
    pub(super) heap: Rope,
}

impl Parts {
    /// Removes the bytes after the rows.
    pub(super) fn drop_heap(&mut self) {
        (self.gap, self.heap) = (Rope::default(), Rope::default());
    }
}

impl Editor {
    /// Returns the layout of the columns of an edited table.
    ///
    /// # Errors
    /// [`Reason::NoSuchHdu`], and if the HDU has no table.
    pub fn layout(&self, hdu: usize) -> Result<TableLayout, Error> {
        self.format_error(layout_of(self.unit(hdu)?.header(), hdu))
    }

    /// Inserts a new table with `new.rows` rows before the HDU with index `at`, or at the end.
    /// `carried` has additional cards, `inputs` the cells of every column.
    ///
    /// # Errors
    /// As [`tachyfits_format::NewTable::header`], and [`Reason::CellValues`] if the cells do not
    /// fit the columns. On error the file is unchanged.
    pub fn insert_table(
        &mut self,
        at: usize,
        new: &NewTable,
        carried: &Header,
        inputs: &[ColumnInput<'_>],
        run: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let at = at.min(self.hdus());
        let mut new = new.clone();
        let rows = new.rows;
        let updates_checksums = std::mem::take(&mut new.checksum);
        (new.rows, new.heap_gap, new.heap_bytes) = (0, 0, 0);
        for column in &mut new.columns {
            if let Field::Variable { most, .. } = &mut column.field {
                *most = Some(0);
            }
        }
        let mut header = self.format_error(new.header(carried))?;
        // A table is never the first HDU.
        let layout = self.format_error(layout_of(&header, at.max(1)))?;
        let empty = Rope::default();
        let mut parts = Parts { layout, rows: empty.clone(), gap: empty.clone(), heap: empty };
        let result = self.made_rows(&mut parts, inputs, rows, 0, run);
        let (new_rows, longest) = result.map_err(|error| error.at(&self.name, at))?;
        (parts.rows, parts.layout.rows) = (new_rows, rows);
        self.format_error(sizes(&mut header, &parts, &longest))?;
        let mut data = parts.rows;
        data.append(parts.heap);
        let mut unit = EditedHdu::new(header, data);
        unit.updates_checksums = updates_checksums;
        self.insert(at, unit)
    }

    /// Appends rows: the cells of every column, in the order of the columns.
    ///
    /// # Errors
    /// As [`Editor::insert_rows`].
    pub fn append_rows(
        &mut self,
        hdu: usize,
        inputs: &[ColumnInput<'_>],
        rows: u64,
        run: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let at = self.layout(hdu)?.rows;
        self.insert_rows(hdu, at, inputs, rows, run)
    }

    /// Inserts rows before the row with index `at`, from 0.
    ///
    /// # Errors
    /// [`Reason::Rows`] if the row does not exist, [`Reason::CellValues`] if the cells do not fit
    /// the columns; if the HDU has no complete table, or an array of an old row extends beyond the
    /// heap. On error the table is unchanged.
    pub fn insert_rows(
        &mut self,
        hdu: usize,
        at: u64,
        inputs: &[ColumnInput<'_>],
        rows: u64,
        run: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let mut parts = self.parts(hdu)?;
        if at > parts.layout.rows {
            let expected = format!("a row from 0 to {}", parts.layout.rows);
            return Err(self.refuse(hdu, Reason::Rows, expected, at.to_string()));
        }
        self.check_arrays(hdu, &parts, None)?;
        let result = self.made_rows(&mut parts, inputs, rows, at, run);
        let (new, longest) = result.map_err(|error| error.at(&self.name, hdu))?;
        let place = at * parts.layout.row_bytes;
        let mut all = parts.rows.part(0..place);
        all.append(new);
        all.append_part(&parts.rows, place..parts.rows.bytes());
        parts.rows = all;
        parts.layout.rows += rows;
        self.put_back(hdu, parts, &longest)
    }

    /// Deletes rows by index, from 0, in any order. Arrays that only these rows refer to stay in the heap.
    ///
    /// # Errors
    /// [`Reason::Rows`] if a row does not exist; also if the HDU has no complete table.
    pub fn delete_rows(&mut self, hdu: usize, rows: &Rows<'_>) -> Result<(), Error> {
        let mut parts = self.parts(hdu)?;
        let runs = self.row_runs(hdu, rows, parts.layout.rows)?;
        let row_bytes = parts.layout.row_bytes;
        let mut remaining = Rope::default();
        let mut next = 0;
        for run in &runs {
            remaining.append_part(&parts.rows, next * row_bytes..run.start * row_bytes);
            next = run.end;
            parts.layout.rows -= run.end - run.start;
        }
        remaining.append_part(&parts.rows, next * row_bytes..parts.rows.bytes());
        parts.rows = remaining;
        self.put_back(hdu, parts, &[])
    }

    /// Updates the cells of a column in some rows; for repeated rows, the last value counts. Arrays
    /// of a variable-length column are appended to the heap.
    ///
    /// # Errors
    /// [`Reason::Column`] or [`Reason::Rows`] if the column or a row does not exist,
    /// [`Reason::CellValues`] if the values do not fit; also if the HDU has no complete table. On
    /// error the table is unchanged.
    pub fn update_cells(
        &mut self,
        hdu: usize,
        column: usize,
        rows: &Rows<'_>,
        input: &ColumnInput<'_>,
        run: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let mut parts = self.parts(hdu)?;
        self.check_column(hdu, &parts.layout, column)?;
        self.row_runs(hdu, rows, parts.layout.rows)?;
        let count = match rows {
            Rows::Range(range) => range.end.saturating_sub(range.start),
            Rows::List(list) => list.len() as u64,
        };
        let adds_arrays = is_variable(&parts.layout, column);
        if adds_arrays {
            self.check_arrays(hdu, &parts, Some(Replaced { column, rows }))?;
        }
        let result = made_fields(&mut parts, column, input, count, run);
        let (fields, longest) = result.map_err(|error| error.at(&self.name, hdu))?;
        let field = &parts.layout.columns[column];
        let (width, offset) = (field.field.row_bytes(), field.offset);
        let stride = parts.layout.row_bytes;
        if width > 0 && count > 0 {
            let patch = match rows {
                Rows::Range(range) => {
                    let first = range.start * stride + offset;
                    Patch::Fields { first, stride, width, count, bytes: fields }
                }
                Rows::List(list) => scattered(list, &fields, (stride, offset, width))?,
            };
            parts.rows = Overlay::over(&parts.rows, patch)?;
        }
        self.put_back(hdu, parts, &longest)?;
        // Arrays that were not checked have been replaced.
        self.units[hdu].arrays_are_whole |= adds_arrays;
        Ok(())
    }

    pub(super) fn check_column(
        &self,
        hdu: usize,
        layout: &TableLayout,
        column: usize,
    ) -> Result<(), Error> {
        if column < layout.columns.len() {
            return Ok(());
        }
        let expected = match layout.columns.len() {
            0 => "a column, of which there is none".to_owned(),
            count => format!("a column from 0 to {}", count - 1),
        };
        Err(self.refuse(hdu, Reason::Column, expected, column.to_string()))
    }

    pub(super) fn refuse(
        &self,
        hdu: usize,
        reason: Reason,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        Error::refused(reason, expected, found).at(&self.name, hdu)
    }

    /// Returns runs of rows, sorted and disjoint.
    fn row_runs(&self, hdu: usize, rows: &Rows<'_>, count: u64) -> Result<Vec<Range<u64>>, Error> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        match rows {
            Rows::Range(range) if range.start < range.end => runs.push((*range).clone()),
            Rows::Range(_) => {}
            Rows::List(list) => {
                let mut sorted = memory::copied(list, "the rows of a list")?;
                sorted.sort_unstable();
                sorted.dedup();
                let row = |row: u64| row..row.saturating_add(1);
                memory::reserve(&mut runs, sorted.len(), "runs of rows")?;
                sorted.into_iter().for_each(|at| push_coalesced(&mut runs, row(at), 0));
            }
        }
        match runs.last() {
            Some(last) if last.end > count => {
                let expected = format!("rows below {count}, counted from 0");
                Err(self.refuse(hdu, Reason::Rows, expected, (last.end - 1).to_string()))
            }
            _ => Ok(runs),
        }
    }

    /// Splits the data of a table into its parts.
    pub(super) fn parts(&self, hdu: usize) -> Result<Parts, Error> {
        let unit = self.unit(hdu)?;
        let layout = self.layout(hdu)?;
        if unit.missing() > 0 {
            let expected = format!("{} bytes more of its data", unit.missing());
            return Err(self.refuse(hdu, Reason::DataMissing, expected, "the end of the file"));
        }
        let rows_end = layout.rows * layout.row_bytes;
        let heap_begin = match layout.kind {
            TableKind::Ascii => rows_end,
            TableKind::Binary => self.format_error(layout.heap())?.offset - layout.data_offset,
        };
        let heap_begin =
            if unit.header().position("THEAP").is_none() { rows_end } else { heap_begin };
        Ok(Parts {
            rows: unit.data.part(0..rows_end),
            gap: unit.data.part(rows_end..heap_begin),
            heap: unit.data.part(heap_begin..unit.data.bytes()),
            layout,
        })
    }

    /// Replaces the table with a changed one.
    fn put_back(&mut self, hdu: usize, parts: Parts, longest: &[u64]) -> Result<(), Error> {
        let header = self.unit(hdu)?.header().clone();
        self.put_back_with(hdu, parts, longest, header)
    }

    /// Replaces the table with a changed one; updates the sizes in the header.
    pub(super) fn put_back_with(
        &mut self,
        hdu: usize,
        parts: Parts,
        longest: &[u64],
        mut header: Header,
    ) -> Result<(), Error> {
        let result = sizes(&mut header, &parts, longest);
        self.format_error(result)?;
        let mut data = parts.rows;
        if data.depth() > DEEPEST {
            data = flat(&data)?;
        }
        data.append(parts.gap);
        data.append(parts.heap);
        let unit = &mut self.units[hdu];
        if header != *unit.header() {
            unit.changed = Some(header);
        }
        let arrays_are_whole = unit.arrays_are_whole;
        unit.set_data(data);
        unit.arrays_are_whole = arrays_are_whole;
        Ok(())
    }

    /// Rejects more rows than a table may have.
    pub(super) fn check_size(&self, rows: Option<u64>, row_bytes: u64) -> Result<(), Error> {
        let limit = self.options.limits.max_data_bytes;
        match rows.and_then(|rows| rows.checked_mul(row_bytes)) {
            Some(bytes) if bytes <= limit => Ok(()),
            _ => {
                let expected = format!("a table of at most {limit} bytes");
                let found = format!("rows of {row_bytes} bytes, too many of them");
                Err(Error::refused(Reason::CellValues, expected, found))
            }
        }
    }

    /// Encodes rows, and appends their arrays to the heap.
    fn made_rows(
        &self,
        parts: &mut Parts,
        inputs: &[ColumnInput<'_>],
        rows: u64,
        first_row: u64,
        run: &RunOptions<'_>,
    ) -> Result<(Rope, Vec<u64>), Error> {
        let tier = tier();
        let total = parts.layout.rows.checked_add(rows);
        self.check_size(total, parts.layout.row_bytes)?;
        let (descriptors, longest) = new_arrays(parts, (0, inputs), rows, tier)?;
        let new = NewRows::new(&parts.layout, inputs, &descriptors, rows, first_row)?;
        Ok((made(&new, run, tier)?, longest))
    }
}

fn is_variable(layout: &TableLayout, column: usize) -> bool {
    matches!(layout.columns[column].field, Field::Variable { .. })
}

/// Encodes the contiguous fields of one column for `rows` rows; appends arrays to the heap.
pub(super) fn made_fields(
    parts: &mut Parts,
    column: usize,
    input: &ColumnInput<'_>,
    rows: u64,
    run: &RunOptions<'_>,
) -> Result<(Rope, Vec<u64>), Error> {
    let tier = tier();
    let (mut descriptors, mut longest) = (Descriptors::new(), Vec::new());
    if is_variable(&parts.layout, column) {
        (descriptors, longest) =
            new_arrays(parts, (column, std::slice::from_ref(input)), rows, tier)?;
    }
    let input = descriptors.first().map_or(*input, |(_, bytes)| ColumnInput::new(bytes));
    let new = NewRows::of_column(&parts.layout, column, input, rows)?;
    Ok((made(&new, run, tier)?, longest))
}

/// Appends the arrays of new rows to the heap.
fn new_arrays(
    parts: &mut Parts,
    inputs: (usize, &[ColumnInput<'_>]),
    rows: u64,
    tier: Tier,
) -> Result<(Descriptors, Vec<u64>), Error> {
    let mut heap = SpoolWriter::new("heap", SpoolOptions::default());
    let mut write = |bytes: &[u8]| Ok(heap.write_all(bytes)?);
    let begin = parts.heap.bytes();
    let result = write_arrays(&parts.layout, inputs, rows, begin, tier, &mut write)?;
    parts.heap.append(Rope::of_storage(heap.finish()?));
    Ok(result)
}

/// Encodes rows into a spool.
fn made(new: &NewRows<'_>, run: &RunOptions<'_>, tier: Tier) -> Result<Rope, Error> {
    let mut spool = SpoolWriter::new("new rows", SpoolOptions::default());
    new.make(
        run,
        tier,
        |_row, bytes| Ok(std::mem::take(bytes)),
        |bytes: Vec<u8>| Ok(spool.write_all(&bytes)?),
    )?;
    Ok(Rope::of_storage(spool.finish()?))
}

/// Creates a patch from fields of a list of rows: sorted by row; for repeated rows, the last one.
fn scattered(
    list: &[u64],
    fields: &Rope,
    (stride, offset, width): (u64, u64, u64),
) -> Result<Patch, Error> {
    let mut order = memory::collected(0..list.len(), "the order of the rows")?;
    order.sort_unstable_by_key(|&index| (list[index], index));
    let mut packed = memory::filled(fields.bytes() as usize, 0, "replaced cells")?;
    fields.read(0, &mut packed)?;
    let is_last_of_row =
        |place: usize| order.get(place + 1).is_none_or(|&next| list[next] != list[order[place]]);
    let mut places = memory::with_room(order.len(), "the places of cells")?;
    places.extend((0..order.len()).filter(|&place| is_last_of_row(place)).map(|place| {
        let index = order[place];
        (list[index] * stride + offset, width as u32, index * width as usize)
    }));
    Ok(Patch::Scattered { places, bytes: packed })
}

/// Copies rows to a spool.
fn flat(rope: &Rope) -> Result<Rope, Error> {
    let mut spool = SpoolWriter::new("edited rows", SpoolOptions::default());
    let mut piece = Vec::new();
    for at in (0..rope.bytes()).step_by(COPY_BYTES as usize) {
        let length = COPY_BYTES.min(rope.bytes() - at) as usize;
        memory::resize(&mut piece, length, 0, "a part of a table")?;
        rope.read(at, &mut piece)?;
        spool.write_all(&piece)?;
    }
    Ok(Rope::of_storage(spool.finish()?))
}

/// Updates the cards for the size of the table.
fn sizes(header: &mut Header, parts: &Parts, longest_arrays: &[u64]) -> Result<(), FormatError> {
    let Parts { layout, rows, gap, heap } = parts;
    let set = |header: &mut Header, keyword: &str, value: u64| match header.get_i64(keyword) {
        Ok(Some(old)) if u64::try_from(old) == Ok(value) => Ok(()),
        _ => header.set(keyword, Value::from(value), ""),
    };
    set(header, "NAXIS2", layout.rows)?;
    set(header, "PCOUNT", gap.bytes() + heap.bytes())?;
    if header.position("THEAP").is_some() {
        set(header, "THEAP", rows.bytes() + gap.bytes())?;
    }
    for (number, (column, &longest)) in layout.columns.iter().zip(longest_arrays).enumerate() {
        let Field::Variable { element, wide, repeat, most: Some(current) } = column.field else {
            continue;
        };
        if longest > current {
            let field = Field::Variable { element, wide, repeat, most: Some(longest) };
            header.set(&format!("TFORM{}", number + 1), field.form(&[]), "")?;
        }
    }
    Ok(())
}
