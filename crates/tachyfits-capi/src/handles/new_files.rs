//! New files, written HDU by HDU, and atomic changes of existing files.

use std::mem;
use std::path::Path;

use tachyfits::header::is_structural;
use tachyfits::table::{ColumnInput, Field, NewColumn, NewTable, TableKind, TableWriter};
use tachyfits::tiled::{TileCompression, codec_facts};
use tachyfits::{
    Array, AxisRange, Editor, FileWriter, Header, NewPixels, OpenOptions, PixelType, Rows, Value,
};
use tachyfits_arrow::AlignedBytes;

use super::pixels::read_stored;
use super::{Call, FileHandle, HeaderHandle, Outcome};
use crate::failure::Failure;
use crate::types::{TACHYFITS_STORED, code_of};

/// A new file, which appears under its name when committed.
pub struct WriterHandle(State);

enum State {
    /// No HDU is open; the next one may begin.
    Between(Box<FileWriter>),
    /// A table is open, and accepts rows.
    InTable(Box<TableWriter>),
    /// An earlier call failed.
    Failed,
}

impl State {
    fn words(&self) -> &'static str {
        match self {
            State::Between(_) => "between two HDUs",
            State::InTable(_) => "in a table that takes rows",
            State::Failed => "after a call that failed",
        }
    }
}

impl WriterHandle {
    /// Creates a file of this name, or a temporary file without a name.
    pub(crate) fn create(path: Option<&Path>, call: &Call<'_>) -> Outcome<WriterHandle> {
        let options = call.writing();
        let writer = match path {
            Some(path) => FileWriter::create(path, &options)?,
            None => FileWriter::spooled("a file without a name", options.checksum)?,
        };
        Ok(WriterHandle(State::Between(Box::new(writer))))
    }

    fn misplaced(&self, expected: &str) -> Failure {
        let hint = "write one HDU after another; begin, fill and end a table";
        Failure::argument("call", self.0.words(), expected, hint)
    }

    /// Returns the writer for the next HDU, after ending an open table.
    fn between(&mut self) -> Outcome<&mut FileWriter> {
        if matches!(self.0, State::InTable(_)) {
            self.end_table()?;
        }
        match &mut self.0 {
            State::Between(writer) => Ok(writer),
            _ => {
                let hint = "abandon the writer";
                Err(Failure::argument("call", "after a call that failed", "none", hint))
            }
        }
    }

    pub(crate) fn image(
        &mut self,
        header: &Header,
        (bytes, pixel, axes): (&[u8], PixelType, &[u64]),
        (encoding, codec): (Option<NewPixels>, Option<&str>),
        call: &Call<'_>,
    ) -> Outcome<()> {
        let compression = codec.map(|codec| {
            let facts = codec_facts(codec);
            let quantises = pixel.is_float() && facts.is_some_and(|codec| !codec.keeps_bits);
            let name = facts.map_or(codec, |codec| codec.name());
            TileCompression::default().codec(name.to_owned()).level(quantises.then_some(4.0))
        });
        let array = Array { bytes, pixel, axes };
        let run = call.run();
        array.write_into(self.between()?, header, encoding, compression.as_ref(), &run)?;
        Ok(())
    }

    pub(crate) fn begin_table(&mut self, header: &Header, columns: Vec<NewColumn>) -> Outcome<()> {
        self.between()?;
        let State::Between(writer) = mem::replace(&mut self.0, State::Failed) else {
            return Err(self.misplaced("between two HDUs"));
        };
        let table = TableWriter::new(*writer, NewTable::new(TableKind::Binary, columns), header)?;
        self.0 = State::InTable(Box::new(table));
        Ok(())
    }

    pub(crate) fn rows(
        &mut self,
        inputs: &[ColumnInput<'_>],
        rows: u64,
        call: &Call<'_>,
    ) -> Outcome<()> {
        match &mut self.0 {
            State::InTable(table) => Ok(table.write_rows(inputs, rows, &call.run()).map(drop)?),
            _ => Err(self.misplaced("in a table that takes rows")),
        }
    }

    pub(crate) fn end_table(&mut self) -> Outcome<()> {
        match mem::replace(&mut self.0, State::Failed) {
            State::InTable(table) => {
                self.0 = State::Between(Box::new(table.finish()?));
                Ok(())
            }
            other => {
                self.0 = other;
                Err(self.misplaced("in a table that takes rows"))
            }
        }
    }

    /// Number of elements in a cell of the open table's column; 1 without an open table.
    pub(crate) fn elements(&self, column: usize) -> u64 {
        match &self.0 {
            State::InTable(table) if column < table.layout().columns.len() => {
                table.cells(column).elements()
            }
            _ => 1,
        }
    }

    /// Copies an HDU; `header` replaces its cards, except those of its structure and scaling.
    pub(crate) fn copy(
        &mut self,
        (file, hdu): (&FileHandle, usize),
        header: Option<&HeaderHandle>,
        call: &Call<'_>,
    ) -> Outcome<()> {
        let from = &file.0;
        let own = &from.hdu(hdu)?.header;
        let is_image = from.hdu(hdu)?.table().is_err();
        let image = if is_image { from.image(hdu).ok() } else { None };
        let writer = self.between()?;
        match (image, header) {
            (Some(image), _) if image.axes().is_empty() => {
                writer.write_empty(header.map_or(own, |header| &header.0))?;
            }
            (Some(image), Some(header)) => {
                let header = with_structure(own, &header.0);
                image.write_restored_into(header, writer, &call.run())?;
            }
            (Some(image), None) => {
                image.write_into(writer, None, None, &call.run())?;
            }
            (None, header) => {
                let header = header.map_or(own.clone(), |header| with_structure(own, &header.0));
                writer.copy(from, hdu, header, &call.run())?;
            }
        }
        Ok(())
    }

    pub(crate) fn commit(mut self) -> Outcome<()> {
        self.between()?;
        match self.0 {
            State::Between(writer) => Ok(writer.commit()?),
            _ => Err(self.misplaced("between two HDUs")),
        }
    }

    /// Completes the file and opens it.
    pub(crate) fn open(mut self) -> Outcome<FileHandle> {
        self.between()?;
        match self.0 {
            State::Between(writer) => Ok(FileHandle(writer.into_file()?)),
            _ => Err(self.misplaced("between two HDUs")),
        }
    }
}

/// Combines cards of the structure from `own` with the other cards of `header`.
fn with_structure(own: &Header, header: &Header) -> Header {
    let is_fixed =
        |card: &tachyfits::Card| is_structural(card.keyword()) || is_of_values(card.keyword());
    let mut merged = own.clone();
    merged.retain(is_fixed);
    for card in header.cards().iter().filter(|card| !is_fixed(card)) {
        merged.push(card.clone());
    }
    merged
}

/// Whether a card defines how pixels or table cells are stored.
fn is_of_values(keyword: &str) -> bool {
    let keyword = keyword.to_ascii_uppercase();
    let is_of_pixels = matches!(&*keyword, "BSCALE" | "BZERO" | "BLANK");
    is_of_pixels
        || ["TFORM", "TBCOL", "TDIM", "TSCAL", "TZERO", "TNULL"].iter().any(|name| {
            let number = keyword.strip_prefix(name);
            number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
        })
}

/// Converts cells to the input type of their column.
pub(crate) fn cells_input<'a>(
    values: &'a [u8],
    nulls: Option<&'a [u8]>,
    offsets: Option<&'a [i64]>,
) -> ColumnInput<'a> {
    ColumnInput::new(values).nulls(nulls).offsets(offsets)
}

/// Creates a column of a new table from its name, form and unit.
pub(crate) fn new_column(name: &str, form: &str, unit: Option<&str>) -> Outcome<NewColumn> {
    let field = Field::of_binary_form(form).ok_or_else(|| {
        let expected = "a form of a binary table, such as 1E, 3J, 20A or 1PD";
        let hint = "see Table 18 of the Standard; unsigned types are U, V and W, signed bytes S";
        Failure::argument("form", format!("'{form}'"), expected, hint)
    })?;
    let unit = unit.filter(|unit| !unit.is_empty()).map(str::to_owned);
    Ok(NewColumn::new(name, field).unit(unit))
}

/// Changes of a file, committed together.
pub struct EditorHandle(Editor);

impl EditorHandle {
    pub(crate) fn open(path: &Path) -> Outcome<EditorHandle> {
        Ok(EditorHandle(Editor::open(path, &OpenOptions::default())?))
    }

    pub(crate) fn set(
        &mut self,
        hdu: usize,
        keyword: &str,
        value: impl Into<Value>,
        comment: &str,
    ) -> Outcome<()> {
        Ok(self.0.set(hdu, keyword, value, comment)?)
    }

    pub(crate) fn remove(&mut self, hdu: usize, keyword: &str) -> Outcome<usize> {
        Ok(self.0.delete(hdu, keyword)?)
    }

    /// Replaces the pixels of a section: values of the image's own type or, for any image, physical values in floats.
    pub(crate) fn pixels(
        &mut self,
        (hdu, ranges): (usize, Option<&[AxisRange]>),
        (bytes, pixel): (&[u8], PixelType),
        call: &Call<'_>,
    ) -> Outcome<()> {
        let image = self.0.preview()?.image(hdu)?;
        let layout = image.layout();
        let section = match ranges {
            Some(ranges) => image.section(ranges)?,
            None => image.whole(),
        };
        let axes: Vec<_> = section.ranges().iter().map(|range| range.count).collect();
        let stored = image.stored_type();
        let is_own = match call.has(TACHYFITS_STORED) {
            true => pixel == stored,
            false => pixel == image.pixel_type() && !layout.scaled,
        };
        if !is_own && (call.has(TACHYFITS_STORED) || !pixel.is_float()) {
            let expected = "the type of the pixels, TACHYFITS_FLOAT or TACHYFITS_DOUBLE";
            let hint = "see pixel_type and stored_type of tachyfits_describe";
            return Err(Failure::argument("type", code_of(pixel), expected, hint));
        }
        let array = Array { bytes, pixel, axes: &axes };
        // Encodes the pixels with the encoder of new files, as a file of one image.
        let mut file = FileWriter::spooled("new pixels", false)?;
        let encoding = NewPixels::new(image.pixel_type())
            .scaling(layout.scaled.then_some((layout.scale, layout.zero)))
            .blank(layout.blank);
        let encoding = (!is_own).then_some(encoding);
        array.write_into(&mut file, &Header::new(), encoding, None, &call.run())?;
        let encoded = file.into_file()?.image(0)?;
        let mut bytes = AlignedBytes::zeros(section.pixels() * stored.bytes() as u64)?;
        read_stored(&encoded, bytes.bytes_mut(), call)?;
        if cfg!(target_endian = "little") {
            bytes.bytes_mut().chunks_exact_mut(stored.bytes()).for_each(<[u8]>::reverse);
        }
        self.0.update_pixels(hdu, section.ranges(), bytes.bytes())?;
        // These keywords describe the old values.
        for keyword in ["DATAMIN", "DATAMAX"] {
            self.0.delete(hdu, keyword)?;
        }
        Ok(())
    }

    /// Number of elements in a cell of a column.
    pub(crate) fn elements(&self, hdu: usize, column: usize) -> Outcome<u64> {
        Ok(self.0.preview()?.table(hdu)?.cells(column, false)?.elements())
    }

    /// Replaces cells of a column.
    pub(crate) fn cells(
        &mut self,
        (hdu, column): (usize, usize),
        rows: &Rows<'_>,
        input: &ColumnInput<'_>,
        call: &Call<'_>,
    ) -> Outcome<()> {
        Ok(self.0.update_cells(hdu, column, rows, input, &call.run())?)
    }

    pub(crate) fn append_rows(
        &mut self,
        hdu: usize,
        inputs: &[ColumnInput<'_>],
        rows: u64,
        call: &Call<'_>,
    ) -> Outcome<()> {
        Ok(self.0.append_rows(hdu, inputs, rows, &call.run())?)
    }

    pub(crate) fn commit(self, call: &Call<'_>) -> Outcome<()> {
        self.0.commit(false, &call.run())?;
        Ok(())
    }
}
