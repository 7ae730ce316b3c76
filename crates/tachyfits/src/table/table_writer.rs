//! Writes a new table as its rows arrive, batch by batch. All threads build the rows, which are
//! written in place, followed by the arrays of variable-length columns. Header values known only at
//! the end (rows, heap, longest arrays, sums) are set at the end.

use std::sync::Arc;

use tachyfits_format::{Field, FormatError, Hdu, Header, NewTable, TableKind, TableLayout};
use tachyfits_io::operation::RunOptions;
use tachyfits_io::{Report, SpoolOptions, SpoolWriter, Storage};
use tachyfits_memory as memory;

use super::built_rows::{NewRows, write_arrays};
use super::encode::ColumnInput;
use crate::error::{Error, Reason};
use crate::file_writer::FileWriter;
use crate::hdu_writer::HduWriter;

/// Bytes of a heap copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// Writer of a table as the next HDU of a new file.
///
/// ```
/// use tachyfits::{FileWriter, FitsFile, Header, OpenOptions};
/// use tachyfits::table::{ColumnInput, Element, Field, NewColumn, NewTable};
/// use tachyfits::{RunOptions, WriteOptions};
/// use tachyfits::header::ValueType;
/// use tachyfits::table::{TableKind, TableWriter};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("table.fits");
/// let element = Element::Number(ValueType::I32);
/// let column = NewColumn::new("COUNT", Field::Fixed { element, repeat: 1, width: 1 });
/// let new = NewTable::new(TableKind::Binary, vec![column]);
/// let file = FileWriter::create(&path, &WriteOptions::default())?;
/// let mut table = TableWriter::new(file, new, &Header::new())?;
/// let values: Vec<u8> = [1i32, 2, 3].iter().flat_map(|value| value.to_ne_bytes()).collect();
/// table.write_rows(&[ColumnInput::new(&values)], 3, &RunOptions::default())?;
/// table.finish()?.commit()?;
/// let file = FitsFile::open(&path, &OpenOptions::default())?;
/// assert_eq!(file.table(1)?.layout().rows, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TableWriter {
    file: FileWriter,
    new: NewTable,
    carried: Header,
    layout: TableLayout,
    hdu: HduWriter,
    rows: u64,
    /// The number of rows, if declared in advance.
    rows_stated: Option<u64>,
    heap: Option<SpoolWriter>,
    heap_bytes: u64,
}

impl TableWriter {
    /// Begins a table after the content of the file; a file without HDUs gets a primary one without
    /// data. If `new.rows` is not 0, exactly that many rows must follow, and arrays are written
    /// directly to their position.
    ///
    /// # Errors
    /// As [`NewTable::header`], and if the file cannot be written.
    pub fn new(
        mut file: FileWriter,
        new: NewTable,
        carried: &Header,
    ) -> Result<TableWriter, Error> {
        file.begin_extension()?;
        let mut new = new;
        let rows_stated = (new.rows > 0).then_some(new.rows);
        new.checksum = file.updates_checksums();
        (new.heap_bytes, new.heap_gap) = (0, 0);
        // Reserve room for the longest forms and numbers, so that the size of the header does not change.
        for column in &mut new.columns {
            if let Field::Variable { most, .. } = &mut column.field {
                *most = Some(0);
            }
        }
        let header = file.format_error(new.header(carried))?;
        let layout = file.format_error(layout_of(&header, file.hdus()))?;
        let data_bytes = rows_stated.unwrap_or(0).saturating_mul(layout.row_bytes);
        let hdu = HduWriter::begin(&mut file, &header, data_bytes)?;
        Ok(TableWriter {
            carried: carried.clone(),
            new,
            layout,
            hdu,
            rows: 0,
            rows_stated,
            heap: None,
            heap_bytes: 0,
            file,
        })
    }

    /// Layout of the columns; [`TableWriter::cells`] describes the cells that they accept.
    pub fn layout(&self) -> &TableLayout {
        &self.layout
    }

    /// Uses the whole field of each column as its cell: see [`super::Table::with_whole_fields`].
    pub fn take_whole_fields(&mut self) {
        self.layout = self.layout.with_whole_fields();
    }

    /// Describes the cells that a column accepts, if they are not raw.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn cells(&self, column: usize) -> super::Cells {
        super::cells::cells(&self.layout.columns[column], false)
    }

    /// Number of rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends rows: the cells of every column, in the order of the columns.
    ///
    /// # Errors
    /// [`Reason::CellValues`] if the cells do not fit the columns, or there are more rows than
    /// declared; also if the file cannot be written. Discard the file after an error.
    pub fn write_rows(
        &mut self,
        inputs: &[ColumnInput<'_>],
        rows: u64,
        run: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let name = self.file.name();
        let hdu = self.file.hdus();
        self.write_batch(inputs, rows, run).map_err(|error| error.at(&name, hdu))
    }

    fn write_batch(
        &mut self,
        inputs: &[ColumnInput<'_>],
        rows: u64,
        run: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let total = self.rows.checked_add(rows).filter(|total| *total <= self.most_rows());
        let Some(total) = total else {
            let expected = format!("{} rows in all", self.most_rows());
            let found = format!("{rows} after {}", self.rows);
            return Err(Error::refused(Reason::CellValues, expected, found));
        };
        let descriptors = self.write_heap(inputs, rows)?;
        let new = NewRows::new(&self.layout, inputs, &descriptors, rows, self.rows)?;
        let (row_bytes, tier) = (self.layout.row_bytes, self.file.tier());
        let first = self.rows * row_bytes;
        let report = new.make(
            run,
            tier,
            |row, bytes| self.hdu.write(&self.file, first + row * row_bytes, bytes),
            |()| Ok(()),
        )?;
        self.rows = total;
        Ok(report)
    }

    /// Maximum number of rows.
    fn most_rows(&self) -> u64 {
        let limit = tachyfits_format::Limits::default().max_data_bytes;
        self.rows_stated.unwrap_or(limit / self.layout.row_bytes.max(1))
    }

    /// Writes the arrays of variable-length columns: after the rows if the number of rows is
    /// declared, else into a temporary file.
    fn write_heap(
        &mut self,
        inputs: &[ColumnInput<'_>],
        rows: u64,
    ) -> Result<super::built_rows::Descriptors, Error> {
        let is_variable = |field: &Field| matches!(field, Field::Variable { .. });
        if !self.layout.columns.iter().any(|column| is_variable(&column.field)) {
            return Ok(Vec::new());
        }
        let tier = self.file.tier();
        let heap_begin = self.rows_stated.map(|rows| rows * self.layout.row_bytes);
        let mut heap_end = self.heap_bytes;
        let (hdu, file, heap) = (&self.hdu, &self.file, &mut self.heap);
        let mut write = |bytes: &[u8]| {
            match heap_begin {
                Some(begin) => hdu.write(file, begin + heap_end, bytes)?,
                None => {
                    let new = || SpoolWriter::new("heap", SpoolOptions::default());
                    heap.get_or_insert_with(new).write_all(bytes)?;
                }
            }
            heap_end += bytes.len() as u64;
            Ok(())
        };
        let (descriptors, longest_arrays) =
            write_arrays(&self.layout, (0, inputs), rows, self.heap_bytes, tier, &mut write)?;
        self.heap_bytes = heap_end;
        for (column, longest) in self.new.columns.iter_mut().zip(longest_arrays) {
            if let Field::Variable { most: Some(most), .. } = &mut column.field {
                *most = (*most).max(longest);
            }
        }
        Ok(descriptors)
    }

    /// Ends the table: writes heap, fill and header. Further HDUs may follow.
    ///
    /// # Errors
    /// [`Reason::CellValues`] if there are fewer rows than declared; also if the file cannot be
    /// written.
    pub fn finish(mut self) -> Result<FileWriter, Error> {
        if self.rows_stated.is_some_and(|stated| stated != self.rows) {
            let expected = format!("{} rows in all", self.most_rows());
            let refused = Error::refused(Reason::CellValues, expected, self.rows.to_string());
            return Err(refused.at(&self.file.name(), self.file.hdus()));
        }
        let heap_begin = self.rows * self.layout.row_bytes;
        if let Some(heap) = self.heap.take() {
            let heap: Arc<dyn Storage> = heap.finish()?;
            let mut piece = Vec::new();
            for at in (0..heap.bytes()).step_by(COPY_BYTES as usize) {
                let length = COPY_BYTES.min(heap.bytes() - at) as usize;
                memory::resize(&mut piece, length, 0, "a part of the heap")?;
                heap.read_exact_at(at, &mut piece)?;
                self.hdu.write(&self.file, heap_begin + at, &piece)?;
            }
        }
        let data_bytes = heap_begin + self.heap_bytes;
        let fill = if self.new.kind == TableKind::Ascii { b' ' } else { 0 };
        (self.new.rows, self.new.heap_bytes) = (self.rows, self.heap_bytes);
        let header = self.file.format_error(self.new.header(&self.carried))?;
        self.hdu.finish(&mut self.file, header, data_bytes, fill)?;
        Ok(self.file)
    }
}

/// Parses the layout of a table from its header.
pub(crate) fn layout_of(header: &Header, hdu: usize) -> Result<TableLayout, FormatError> {
    Hdu::of_header(header.clone(), hdu)?.table()
}
