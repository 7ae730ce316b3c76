//! A new file, written HDU by HDU; tables are written in batches.

use std::mem;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use tachyfits::header::is_structural;
use tachyfits::table::{NewColumn, NewTable, TableKind, TableWriter};
use tachyfits::tiled::TableCompression;
use tachyfits::{Array, Card, Error, Header, OpenOptions, WriteOptions};

use crate::buffer;
use crate::compression::{GivenCompression, engine_compression};
use crate::computed::new_pixels;
use crate::errors::{OrRaise, argument, not_negative};
use crate::file::FitsFile;
use crate::header::{Cards, engine_header};
use crate::image::Image;
use crate::new_columns::{CellsGiven, ColumnGiven, inputs};
use crate::section::place;
use crate::table::Table;
use crate::text::GivenText;
use crate::{options, progress};

/// A new file of consecutive HDUs, which gets its name when `commit` is called.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct FileWriter(Mutex<WriterState>);

/// State of the writer.
enum WriterState {
    /// HDUs can be added.
    File(Box<tachyfits::FileWriter>),
    /// A table is being written.
    Table(Box<TableWriter>),
    /// The file is complete, or writing it failed.
    Over,
}

impl WriterState {
    fn words(&self) -> &'static str {
        match self {
            WriterState::File(_) => "a file between two HDUs",
            WriterState::Table(_) => "a file in a table that takes rows",
            WriterState::Over => "a file that is finished, or failed",
        }
    }
}

impl FileWriter {
    /// Takes the state. The caller sets the next one, or none after a failure.
    fn take(&self) -> WriterState {
        mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), WriterState::Over)
    }

    fn put(&self, state: WriterState) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Returns the error for a call that the state does not allow, and keeps the state.
    fn unfit(&self, py: Python<'_>, expected: &str, state: WriterState) -> PyErr {
        let error = argument(py, expected, state.words(), "write HDUs one after another");
        self.put(state);
        error
    }

    fn file(&self, py: Python<'_>) -> PyResult<Box<tachyfits::FileWriter>> {
        match self.take() {
            WriterState::File(file) => Ok(file),
            other => Err(self.unfit(py, "a file between two HDUs", other)),
        }
    }

    fn table(&self, py: Python<'_>) -> PyResult<Box<TableWriter>> {
        match self.take() {
            WriterState::Table(table) => Ok(table),
            other => Err(self.unfit(py, "a table that takes rows", other)),
        }
    }

    fn begin(&self, py: Python<'_>, new: NewTable, header: Header) -> PyResult<()> {
        let file = self.file(py)?;
        let table = py.detach(|| TableWriter::new(*file, new, &header)).or_raise(py)?;
        self.put(WriterState::Table(Box::new(table)));
        Ok(())
    }
}

#[pymethods]
impl FileWriter {
    #[new]
    #[pyo3(signature = (path, *, overwrite=false, checksum=false, sync=false))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        overwrite: bool,
        checksum: bool,
        sync: bool,
    ) -> PyResult<FileWriter> {
        let options = WriteOptions::default().overwrite(overwrite).checksum(checksum).sync(sync);
        let file = tachyfits::FileWriter::create(&path, &options).or_raise(py)?;
        Ok(FileWriter(Mutex::new(WriterState::File(Box::new(file)))))
    }

    /// Create a temporary file without a name, which `open` opens; errors refer to it as ``name``.
    #[staticmethod]
    #[pyo3(signature = (name, *, checksum=false))]
    fn spooled(py: Python<'_>, name: &str, checksum: bool) -> PyResult<FileWriter> {
        let file = tachyfits::FileWriter::spooled(name, checksum).or_raise(py)?;
        Ok(FileWriter(Mutex::new(WriterState::File(Box::new(file)))))
    }

    /// Begin a table of columns, each a dictionary; `rows` is 0 if their number is not known yet.
    #[pyo3(signature = (columns, cards, *, kind="binary", name=None, rows=0))]
    fn begin_table(
        &self,
        py: Python<'_>,
        columns: Vec<ColumnGiven>,
        cards: Cards<'_>,
        kind: &str,
        name: Option<GivenText>,
        rows: u64,
    ) -> PyResult<()> {
        let kind = table_kind(py, kind)?;
        let is_ascii = kind == TableKind::Ascii;
        let columns: PyResult<Vec<NewColumn>> =
            columns.into_iter().map(|column| column.engine(py, is_ascii)).collect();
        self.begin(
            py,
            new_table(kind, columns?, name.map(String::from), rows),
            engine_header(py, cards)?,
        )
    }

    /// Begin a table with columns of another one, to be written with ``raw`` values of whole fields.
    #[pyo3(signature = (table, columns, cards, *, without=Vec::new(), rows=0),
           text_signature = "($self, table, columns, cards, *, without=(), rows=0)")]
    fn begin_table_like(
        &self,
        py: Python<'_>,
        table: &Table,
        columns: Vec<usize>,
        cards: Cards<'_>,
        without: Vec<GivenText>,
        rows: u64,
    ) -> PyResult<()> {
        let layout = table.engine().layout();
        let mut new_columns = Vec::with_capacity(columns.len());
        for column in columns {
            // The engine has the message for a missing column.
            table.engine().cells(column, true).or_raise(py)?;
            new_columns.push(NewColumn::of(&layout.columns[column], layout.kind).start(None));
        }
        let mut carried = engine_header(py, cards)?.cards().to_vec();
        let theirs = table.engine().hdu().header.cards().iter();
        let is_out =
            |card: &Card| without.iter().any(|name| name.eq_ignore_ascii_case(card.keyword()));
        carried.extend(theirs.filter(|card| !is_out(card)).cloned());
        self.begin(
            py,
            new_table(layout.kind, new_columns, None, rows),
            Header::from_cards(carried),
        )?;
        let mut table = self.table(py)?;
        table.take_whole_fields();
        self.put(WriterState::Table(table));
        Ok(())
    }

    /// Write rows of the current table.
    #[pyo3(signature = (cells, rows, *, raw=false, threads=0, progress=None))]
    fn write_rows(
        &self,
        py: Python<'_>,
        cells: Vec<CellsGiven<'_>>,
        rows: u64,
        raw: bool,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let threads = not_negative(py, "threads", threads)?;
        let inputs = inputs(&cells, raw)?;
        let mut table = self.table(py)?;
        progress::run(py, threads, progress, |run| table.write_rows(&inputs, rows, run))?;
        self.put(WriterState::Table(table));
        Ok(())
    }

    /// End the table.
    fn end_table(&self, py: Python<'_>) -> PyResult<()> {
        let table = self.table(py)?;
        let file = py.detach(|| table.finish()).or_raise(py)?;
        self.put(WriterState::File(Box::new(file)));
        Ok(())
    }

    /// Write a binary table as the next HDU, in compressed tiles.
    #[pyo3(signature = (table, *, tile_rows=None, codecs=Vec::new(), directives=false, threads=0, progress=None),
           text_signature = "($self, table, *, tile_rows=None, codecs=(), directives=False, threads=0, progress=None)")]
    #[expect(clippy::too_many_arguments, reason = "arguments by name in Python")]
    fn write_compressed_table(
        &self,
        py: Python<'_>,
        table: &Table,
        tile_rows: Option<u64>,
        codecs: Vec<(usize, String)>,
        directives: bool,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let threads = not_negative(py, "threads", threads)?;
        let how = TableCompression::default().rows(tile_rows).codecs(codecs).directives(directives);
        let mut file = self.file(py)?;
        progress::run(py, threads, progress, |run| {
            table.engine().write_compressed(&mut file, &how, run).map(drop)
        })?;
        self.put(WriterState::File(file));
        Ok(())
    }

    /// Write an array as the next HDU; return the largest rounding error.
    #[pyo3(signature = (
        array, cards, *, pixel=None, scaling=None, blank=None, compression=None, threads=0, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "arguments by name in Python")]
    fn write_array(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyUntypedArray>,
        cards: Cards<'_>,
        pixel: Option<&str>,
        scaling: Option<(f64, f64)>,
        blank: Option<i64>,
        compression: Option<GivenCompression>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<f64> {
        let compression = engine_compression(py, compression)?;
        let header = engine_header(py, cards)?;
        let axes: Vec<u64> = array.shape().iter().rev().map(|&length| length as u64).collect();
        let threads = not_negative(py, "threads", threads)?;
        let mut file = self.file(py)?;
        let name = file.name();
        let mut rounding = 0.0;
        let place = (name.as_str(), None);
        buffer::with_bytes(py, array, place, |bytes, stored| {
            let pixels = new_pixels(py, pixel, scaling, blank, stored, place)?;
            let array = Array { bytes, pixel: stored, axes: &axes };
            rounding = progress::written(py, threads, progress, |run| {
                let report =
                    array.write_into(&mut file, &header, pixels, compression.as_ref(), run)?;
                Ok((file.hdus() - 1, report))
            })?;
            Ok(())
        })?;
        self.put(WriterState::File(file));
        Ok(rounding)
    }

    /// Write an HDU without data (NAXIS = 0): a primary one, or an IMAGE extension. Structural cards are skipped.
    fn write_empty(&self, py: Python<'_>, cards: Cards<'_>) -> PyResult<()> {
        let header = engine_header(py, cards)?;
        let mut file = self.file(py)?;
        py.detach(|| file.write_empty(&header)).or_raise(py)?;
        self.put(WriterState::File(file));
        Ok(())
    }

    /// Write a compressed primary array as an uncompressed one; return the keywords that differ in its empty HDU.
    #[pyo3(signature = (file, *, threads=0, progress=None))]
    fn write_restored(
        &self,
        py: Python<'_>,
        file: &FitsFile,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<String>> {
        let threads = not_negative(py, "threads", threads)?;
        let from = file.engine();
        let Some((header, keywords)) = from.restored_primary().or_raise(py)? else {
            let expected = "a compressed primary array in HDU 1";
            return Err(argument(py, expected, "none", "write the HDUs as they are"));
        };
        let image = from.image(1).or_raise(py)?;
        let mut new = self.file(py)?;
        progress::run(py, threads, progress, |run| {
            image.write_restored_into(header, &mut new, run).map(drop)
        })?;
        self.put(WriterState::File(new));
        Ok(keywords)
    }

    /// Write an image as the next HDU; return the largest rounding error.
    #[pyo3(signature = (
        image, *, pixel=None, scaling=None, blank=None, compression=None, buffering="auto", threads=0, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "arguments by name in Python")]
    fn write_image(
        &self,
        py: Python<'_>,
        image: &Image,
        pixel: Option<&str>,
        scaling: Option<(f64, f64)>,
        blank: Option<i64>,
        compression: Option<GivenCompression>,
        buffering: &str,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<f64> {
        let image = image.engine();
        let pixels = new_pixels(py, pixel, scaling, blank, image.stored_type(), place(image))?;
        let compression = engine_compression(py, compression)?;
        let buffering = options::buffering(py, buffering)?;
        let threads = not_negative(py, "threads", threads)?;
        let mut file = self.file(py)?;
        let rounding = progress::written(py, threads, progress, |run| {
            let run = run.buffering(buffering);
            let report = image.write_into(&mut file, pixels, compression.as_ref(), &run)?;
            Ok((file.hdus() - 1, report))
        })?;
        self.put(WriterState::File(file));
        Ok(rounding)
    }

    /// Write an HDU of another file as the next HDU, its data byte by byte.
    #[pyo3(signature = (file, hdu, cards, *, without=Vec::new(), threads=0, progress=None),
           text_signature = "($self, file, hdu, cards, *, without=(), threads=0, progress=None)")]
    #[expect(clippy::too_many_arguments, reason = "arguments by name in Python")]
    fn copy(
        &self,
        py: Python<'_>,
        file: &FitsFile,
        hdu: usize,
        cards: Cards<'_>,
        without: Vec<GivenText>,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let threads = not_negative(py, "threads", threads)?;
        let from = file.engine();
        let new_header = engine_header(py, cards)?;
        let mut header = from.hdu(hdu).or_raise(py)?.header.clone();
        for keyword in without.iter().filter(|keyword| !is_structural(keyword)) {
            header.remove(keyword);
        }
        for card in new_header.cards().iter().filter(|card| !is_structural(card.keyword())) {
            match card.value() {
                Some(value) => {
                    let set = header.set(card.keyword(), value.clone(), card.comment());
                    let error_of = |error| Error::Format { file: "a new header".to_owned(), error };
                    set.map_err(error_of).or_raise(py)?;
                }
                None => header.push(card.clone()),
            }
        }
        let mut writer = self.file(py)?;
        progress::run(py, threads, progress, |run| writer.copy(from, hdu, header, run).map(drop))?;
        self.put(WriterState::File(writer));
        Ok(())
    }

    /// Give the file its name.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let file = self.file(py)?;
        py.detach(|| file.commit()).or_raise(py)
    }

    /// Complete the file and open it; `raw`: compressed HDUs as stored.
    #[pyo3(signature = (*, raw=false))]
    fn open(&self, py: Python<'_>, raw: bool) -> PyResult<FitsFile> {
        let file = self.file(py)?;
        let options = OpenOptions::default().raw(raw);
        Ok(FitsFile::new(py.detach(|| file.into_file_with(&options)).or_raise(py)?))
    }

    /// Discard the file.
    fn discard(&self) {
        drop(self.take());
    }

    fn __repr__(&self) -> String {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        format!("<FileWriter: {}>", state.words())
    }
}

fn table_kind(py: Python<'_>, kind: &str) -> PyResult<TableKind> {
    match kind {
        "binary" => Ok(TableKind::Binary),
        "ascii" => Ok(TableKind::Ascii),
        other => {
            let (expected, found) = ("kind to be \"binary\" or \"ascii\"", format!("{other:?}"));
            Err(argument(py, expected, &found, "leave kind out for a binary table"))
        }
    }
}

fn new_table(
    kind: TableKind,
    columns: Vec<NewColumn>,
    name: Option<String>,
    rows: u64,
) -> NewTable {
    NewTable::new(kind, columns).name(name).rows(rows)
}
