//! Detects the encoding of each text column; reading and conditions need it for bytes outside ASCII.

use tachyfits_format::text::significant;
use tachyfits_format::{Element, Field, TextEncoding};
use tachyfits_io::operation::RunOptions;

use super::read_columns::ColumnOutput;
use super::row_ranges::Rows;
use super::{CellKind, Table};
use crate::error::Error;
use crate::image::filled;

/// Bytes of rows to inspect: the start of a table shows which encoding its writer used.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes of a column decoded per step.
const TOGETHER: u64 = 4 << 20;

impl Table {
    /// Returns the encoding of a text column, the same for all of its cells: UTF-8 if the text of
    /// the first 64 MiB of rows is valid, else Latin-1.
    ///
    /// # Errors
    /// [`crate::Reason::Column`], or an I/O error.
    pub fn text_encoding(&self, column: usize) -> Result<TextEncoding, Error> {
        let field = self.column_at(column)?.field;
        let cache = &self.encodings[column];
        if let Some(encoding) = cache.get() {
            return Ok(*encoding);
        }
        let rows = (MOST_BYTES / self.layout.row_bytes.max(1)).max(1).min(self.layout.rows_present);
        let encoding = match field {
            Field::Variable { element: Element::Character, .. } => self.of_heap(column, rows)?,
            Field::Variable { .. } => TextEncoding::default(),
            _ => self.of_rows(column, rows)?,
        };
        Ok(*cache.get_or_init(|| encoding))
    }

    /// Decodes UTF-8 in strings that were widened as Latin-1 to UCS-4, in a column with bytes outside ASCII.
    pub(super) fn decode_utf8(&self, column: usize, values: &mut [u8]) -> Result<(), Error> {
        let CellKind::Text { width } = self.cells(column, false)?.kind else { return Ok(()) };
        if self.text_encoding(column)? == TextEncoding::Latin1 {
            return Ok(());
        }
        let (characters, _) = values.as_chunks_mut::<4>();
        let mut bytes = Vec::new();
        for string in characters.chunks_mut((width as usize).max(1)) {
            let codes = string.iter().map(|code| u32::from_ne_bytes(*code));
            if codes.clone().all(|code| code < 128) {
                continue;
            }
            bytes.clear();
            bytes.extend(codes.map(|code| code as u8));
            let text = TextEncoding::Utf8.decode(significant(&bytes));
            let codes = text.chars().map(u32::from).chain(std::iter::repeat(0));
            string.iter_mut().zip(codes).for_each(|(out, code)| *out = code.to_ne_bytes());
        }
        Ok(())
    }

    fn of_rows(&self, column: usize, rows: u64) -> Result<TextEncoding, Error> {
        let cells = self.cells(column, false)?;
        let CellKind::Text { width } = cells.kind else { return Ok(TextEncoding::default()) };
        let cell = width.saturating_mul(cells.elements());
        let Some(together) = TOGETHER.checked_div(cell) else { return Ok(TextEncoding::default()) };
        let mut first = 0;
        while first < rows {
            let end = rows.min(first + together.max(1));
            let mut values = filled((end - first).saturating_mul(cell), 0u8, "text of a column")?;
            let output = ColumnOutput::new(column, &mut values);
            let result = self.read(&mut [output], &Rows::Range(first..end), &RunOptions::default());
            match result {
                Ok(_) => {}
                Err(Error::Io(error)) => return Err(Error::Io(error)),
                // Only the rows before damage count.
                Err(_) => break,
            }
            let texts = values.chunks(width as usize).map(significant);
            if TextEncoding::of(texts) == TextEncoding::Latin1 {
                return Ok(TextEncoding::Latin1);
            }
            first = end;
        }
        Ok(TextEncoding::Utf8)
    }

    /// Detects the encoding of a column of character arrays. Starts with few rows, because arrays
    /// may have any length.
    fn of_heap(&self, column: usize, rows: u64) -> Result<TextEncoding, Error> {
        let (mut first, mut count, mut decoded) = (0, 1, 0);
        // TDIMn has the length of a string if there are several.
        let several = Some(&self.column_at(column)?.dimensions).filter(|sizes| sizes.len() > 1);
        let width = several.map(|sizes| usize::try_from(sizes[0]).unwrap_or(usize::MAX));
        while first < rows && decoded < MOST_BYTES {
            let end = rows.min(first + count);
            let options = RunOptions::default();
            let result = self.read_arrays(column, false, &Rows::Range(first..end), &options);
            let (arrays, _) = match result {
                Ok(result) => result,
                Err(Error::Io(error)) => return Err(Error::Io(error)),
                Err(_) => break,
            };
            let cells = arrays.offsets.windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
            let texts = cells.flat_map(|cell| {
                let cell = &arrays.values[cell];
                cell.chunks(width.unwrap_or(cell.len()).max(1)).map(significant)
            });
            if TextEncoding::of(texts) == TextEncoding::Latin1 {
                return Ok(TextEncoding::Latin1);
            }
            let bytes = arrays.values.len() as u64;
            decoded += bytes;
            // About as many rows as fit in one step.
            let each = bytes.div_ceil(end - first).max(1);
            (first, count) = (end, (TOGETHER / each).clamp(1, 1 << 20));
        }
        Ok(TextEncoding::Utf8)
    }
}
