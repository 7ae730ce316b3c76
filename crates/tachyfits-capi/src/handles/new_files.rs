//! New files, HDU by HDU, and changes of existing ones: all or nothing.

use std::mem;
use std::path::Path;

use tachyfits::table::{ColumnInput, Field, NewColumn, NewTable, TableKind, TableWriter};
use tachyfits::tiled::{TileCompression, codec_facts};
use tachyfits::{Array, Editor, FileWriter, Header, OpenOptions, PixelType, Value};

use super::{Call, FileHandle, Outcome};
use crate::failure::Failure;

/// A new file, which gets its name when it is committed.
pub struct WriterHandle(State);

enum State {
    /// HDUs may be begun.
    Between(Box<FileWriter>),
    /// A table takes rows.
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
    pub(crate) fn create(path: &Path, call: &Call<'_>) -> Outcome<WriterHandle> {
        let writer = FileWriter::create(path, &call.writing())?;
        Ok(WriterHandle(State::Between(Box::new(writer))))
    }

    fn misplaced(&self, expected: &str) -> Failure {
        let hint = "write one HDU after another; begin, fill and end a table";
        Failure::argument("call", self.0.words(), expected, hint)
    }

    /// Whether the next call may begin an HDU; ends a table that takes rows.
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
        codec: Option<&str>,
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
        array.write_into(self.between()?, header, None, compression.as_ref(), &run)?;
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

    pub(crate) fn copy(&mut self, file: &FileHandle, hdu: usize, call: &Call<'_>) -> Outcome<()> {
        let from = &file.0;
        let header = from.hdu(hdu)?.header.clone();
        let is_image = from.hdu(hdu)?.table().is_err();
        let writer = self.between()?;
        match is_image && from.image(hdu).is_ok_and(|image| !image.axes().is_empty()) {
            true => from.image(hdu)?.write_into(writer, None, None, &call.run()).map(drop)?,
            false => writer.copy(from, hdu, header, &call.run()).map(drop)?,
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
}

/// A column of a new table from its name, form and unit.
pub(crate) fn new_column(name: &str, form: &str, unit: Option<&str>) -> Outcome<NewColumn> {
    let field = Field::of_binary_form(form).ok_or_else(|| {
        let expected = "a form of a binary table, such as 1E, 3J, 20A or 1PD";
        let hint = "see Table 18 of the Standard; unsigned types are U, V and W, signed bytes S";
        Failure::argument("form", format!("'{form}'"), expected, hint)
    })?;
    let unit = unit.filter(|unit| !unit.is_empty()).map(str::to_owned);
    Ok(NewColumn::new(name, field).unit(unit))
}

/// Changes of a file, written together.
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

    pub(crate) fn commit(self, call: &Call<'_>) -> Outcome<()> {
        self.0.commit(false, &call.run())?;
        Ok(())
    }
}
