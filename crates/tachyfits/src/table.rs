//! A table: its columns, and the conversion of rows to native arrays.
//!
//! Rows, columns and elements count from 0 here; messages count rows from 1, as headers count columns.

mod arrays;
mod block;
pub(crate) mod built_rows;
mod cells;
mod condition;
mod csv;
mod decode;
pub(crate) mod encode;
mod encodings;
mod found_rows;
mod read_columns;
mod read_text;
mod row_ranges;
pub(crate) mod table_writer;
mod write_text;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub use tachyfits_format::text::significant;
pub use tachyfits_format::{
    Column, Element, Field, NewColumn, NewTable, Null, Substrings, TableKind, TableLayout,
    TextEncoding, TextForm,
};
use tachyfits_format::{FormatError, Hdu};
use tachyfits_io::Storage;

use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::tiled::RestoredTable;

pub use arrays::Arrays;
pub use cells::{CellKind, Cells};
pub use csv::{CsvCells, CsvColumn, CsvValues, csv_rows};
pub use decode::TextAs;
pub use encode::ColumnInput;
pub use found_rows::{FoundColumn, FoundRows, WantedColumn};
pub use read_columns::ColumnOutput;
pub use row_ranges::Rows;
pub use table_writer::TableWriter;

/// The rows of one HDU, read on request.
#[derive(Clone, Debug)]
pub struct Table {
    storage: Arc<dyn Storage>,
    /// The decompressor behind `storage`, if the table is compressed.
    restored: Option<RestoredTable>,
    hdu: Arc<Hdu>,
    layout: Arc<TableLayout>,
    /// Encoding of the text of each column, once detected.
    encodings: Arc<[OnceLock<TextEncoding>]>,
}

impl FitsFile {
    /// Returns the table of an HDU.
    ///
    /// # Errors
    /// If the HDU does not exist, it has no table, or its header describes the columns ambiguously.
    pub fn table(&self, index: usize) -> Result<Table, Error> {
        if let Some(table) = self.tables.get(index).and_then(OnceLock::get) {
            return Ok(table.clone());
        }
        let hdu = self.hdu(index)?;
        let layout =
            hdu.table().map_err(|error| Error::Format { file: self.name().to_owned(), error })?;
        let table = Table {
            storage: Arc::clone(self.storage_of(index)),
            restored: self.restored_table(index),
            hdu: Arc::clone(hdu),
            encodings: layout.columns.iter().map(|_| OnceLock::new()).collect(),
            layout: Arc::new(layout),
        };
        Ok(match self.tables.get(index) {
            Some(place) => place.get_or_init(|| table).clone(),
            None => table,
        })
    }
}

impl Table {
    /// Header information about the columns.
    pub fn layout(&self) -> &TableLayout {
        &self.layout
    }

    /// Returns the table with the whole field of each column as its cell, for copies: TDIMn and the
    /// width of strings may exclude bytes at the end of a field.
    #[must_use]
    pub fn with_whole_fields(&self) -> Table {
        Table { layout: Arc::new(self.layout.with_whole_fields()), ..self.clone() }
    }

    /// The HDU of the table.
    pub fn hdu(&self) -> &Hdu {
        &self.hdu
    }

    /// Name of the file.
    pub fn file_name(&self) -> &str {
        self.storage.name()
    }

    /// Returns the number of the column with this name or key, ignoring trailing blanks: the first
    /// exact match, else the first match in upper or lower case.
    ///
    /// # Errors
    /// [`Reason::Column`].
    pub fn column(&self, name: &str) -> Result<usize, Error> {
        self.layout.column(name).ok_or_else(|| {
            self.refused(Reason::Column, a_column_of(&self.layout), format!("{name:?}"))
        })
    }

    /// Returns the column with this number, from 0.
    pub(crate) fn column_at(&self, column: usize) -> Result<&Column, Error> {
        self.layout.columns.get(column).ok_or_else(|| {
            let expected = match self.layout.columns.len() {
                0 => "a column, of which there is none".to_owned(),
                count => format!("a column from 0 to {}", count - 1),
            };
            self.refused(Reason::Column, expected, column.to_string())
        })
    }

    pub(crate) fn refused(
        &self,
        reason: Reason,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        Error::refused(reason, expected, found).at(self.file_name(), self.hdu.index)
    }

    /// Adds the name of the file to an error.
    pub(crate) fn format_error(&self, error: FormatError) -> Error {
        Error::Format { file: self.file_name().to_owned(), error }
    }

    /// Storage of the whole table.
    pub(crate) fn bytes_of_all(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Storage for reading these byte ranges of rows and the arrays that they refer to; in a
    /// compressed table, other columns are not decoded.
    pub(crate) fn bytes_of(&self, fields: &[Range<u64>]) -> Arc<dyn Storage> {
        match &self.restored {
            Some(restored) => restored.storage(Some(fields)),
            None => Arc::clone(&self.storage),
        }
    }
}

/// Describes the expected names: the columns, or the first of many.
fn a_column_of(layout: &TableLayout) -> String {
    const MOST: usize = 30;
    let keys: Vec<&str> =
        layout.columns.iter().take(MOST).map(|column| column.key.as_str()).collect();
    match layout.columns.len() - keys.len() {
        _ if keys.is_empty() => "a column, of which there is none".to_owned(),
        0 => format!("one of the columns {}", keys.join(", ")),
        more => format!("one of the columns {} and {more} more", keys.join(", ")),
    }
}
