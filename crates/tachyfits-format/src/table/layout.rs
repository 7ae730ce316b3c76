//! Converts the header of a table to its layout: the columns, the position of each in a row, and the position of the
//! heap (Sect. 7.2.1, 7.3.1). [`super::column`] reads the keywords of one column.

use std::collections::HashSet;

use super::column::ColumnReader;
use super::{Column, Heap, TableKind, TableLayout};
use crate::code::Code;
use crate::error::{FormatError, Place, quoted};
use crate::hdu::{Hdu, HduKind, StoredType};

/// TTYPEn has room for three digits (Sect. 7.2.1).
pub(crate) const MOST_COLUMNS: usize = 999;

/// Maximum number of rows of 0 bytes: no bytes of the file limit them.
const MOST_EMPTY_ROWS: u64 = 1 << 20;

impl Hdu {
    /// Returns the columns of a table and the position of its rows.
    ///
    /// A wrong position of the heap is not an error here, so that columns in the rows stay readable: see
    /// [`TableLayout::heap`].
    ///
    /// # Errors
    /// [`Code::NotATable`]; [`Code::ColumnForm`] and [`Code::ColumnOutside`] if a column cannot be located;
    /// [`Code::KeywordMissing`], [`Code::NumericText`] and similar codes if a keyword that determines values is
    /// invalid.
    ///
    /// ```
    /// use tachyfits_format::{Element, Field, ReadOptions, Step, ValueType, Walker};
    /// let cards = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", "END"];
    /// let mut file: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    /// file.resize(2880, b' ');
    /// let cards = [
    ///     "XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 6", "NAXIS2  = 3", "PCOUNT  = 0", "GCOUNT  = 1",
    ///     "TFIELDS = 2", "TTYPE1  = 'ID'", "TFORM1  = 'J'", "TTYPE2  = 'COUNT'", "TFORM2  = 'I'", "TZERO2  = 32768", "END",
    /// ];
    /// file.extend(cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()));
    /// file.resize(5760, b' ');
    /// file.resize(8640, 0);
    /// let mut walker = Walker::new(ReadOptions::default(), 8640);
    /// let mut tables = Vec::new();
    /// loop {
    ///     match walker.step()? {
    ///         Step::Read { offset, bytes } => walker.supply(&file[offset as usize..][..bytes]),
    ///         Step::Hdu(hdu) => tables.extend(hdu.table()),
    ///         Step::Done => break,
    ///     }
    /// }
    /// let count = &tables[0].columns[tables[0].column("count").unwrap()];
    /// assert_eq!((count.offset, tables[0].rows), (4, 3));
    /// let unsigned = Element::Number(ValueType::U16);
    /// assert_eq!(count.field, Field::Fixed { element: unsigned, repeat: 1, width: 1 });
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn table(&self) -> Result<TableLayout, FormatError> {
        let kind = match self.kind {
            HduKind::BinaryTable => TableKind::Binary,
            HduKind::AsciiTable => TableKind::Ascii,
            _ => {
                let found = self.kind.as_str();
                return Err(FormatError::new(Code::NotATable, self.place(), "a table", found));
            }
        };
        let [row_bytes, rows] = self.table_axes()?;
        let mut reader = ColumnReader::new(&self.header, kind);
        let mut columns: Vec<Column> = (1..=self.field_count()?)
            .map(|number| reader.column(number))
            .collect::<Result<_, _>>()?;
        match kind {
            TableKind::Binary => self.place_binary(&mut columns, row_bytes, &mut reader)?,
            TableKind::Ascii => self.place_ascii(&mut columns, row_bytes)?,
        }
        give_keys(&mut columns, &mut reader);
        let whole = self.data_bytes_present.checked_div(row_bytes).unwrap_or(rows);
        let (heap, heap_error) = match kind {
            TableKind::Binary => self.heap(row_bytes * rows),
            TableKind::Ascii => {
                (Heap { offset: self.data_offset + row_bytes * rows, ..Heap::default() }, None)
            }
        };
        Ok(TableLayout {
            kind,
            columns,
            rows,
            rows_present: whole.min(rows),
            row_bytes,
            data_offset: self.data_offset,
            heap,
            heap_error,
            hdu: self.index,
            warnings: reader.warnings.into_vec(),
        })
    }

    /// Returns NAXIS1 and NAXIS2, after checking the values that the Standard fixes for a table.
    fn table_axes(&self) -> Result<[u64; 2], FormatError> {
        let Ok(axes) = <[u64; 2]>::try_from(self.axes.as_slice()) else {
            return Err(self
                .header
                .out_of_range("NAXIS", "2 axes of a table: bytes of a row, and rows"));
        };
        if self.stored != StoredType::U8 {
            return Err(self.header.out_of_range("BITPIX", "8, as every table has"));
        }
        if self.group_count != 1 {
            return Err(self.header.out_of_range("GCOUNT", "1, as every table has"));
        }
        if axes[0] == 0 && axes[1] > MOST_EMPTY_ROWS {
            let expected = format!("at most {MOST_EMPTY_ROWS} rows, as NAXIS1 = 0");
            return Err(self.header.out_of_range("NAXIS2", &expected));
        }
        Ok(axes)
    }

    fn field_count(&self) -> Result<usize, FormatError> {
        let Some(count) = self.header.get_i64("TFIELDS")? else {
            return Err(self.header.missing("TFIELDS", "the number of columns"));
        };
        let count = usize::try_from(count).ok().filter(|count| *count <= MOST_COLUMNS);
        count.ok_or_else(|| self.header.out_of_range("TFIELDS", &format!("0 to {MOST_COLUMNS}")))
    }

    /// Computes the offsets of a binary table's fields, which are contiguous; NAXIS1 is the step from row to row even
    /// if it differs from their sum.
    fn place_binary(
        &self,
        columns: &mut [Column],
        row_bytes: u64,
        reader: &mut ColumnReader<'_>,
    ) -> Result<(), FormatError> {
        let mut offset = 0u64;
        for (number, column) in (1..).zip(columns) {
            column.offset = offset;
            offset = self.field_end("TFORM", number, column, row_bytes)?;
        }
        if offset != row_bytes {
            let expected = format!("{offset}, the bytes of the columns");
            reader.warn(Code::RowWidth, "NAXIS1", &expected, row_bytes.to_string());
        }
        Ok(())
    }

    /// Reads the positions of an ASCII table's fields from TBCOLn: in any order, with gaps or overlaps.
    fn place_ascii(&self, columns: &mut [Column], row_bytes: u64) -> Result<(), FormatError> {
        for (number, column) in (1..).zip(columns) {
            let keyword = format!("TBCOL{number}");
            let Some(first) = self.header.get_i64(&keyword)? else {
                let expected = "the first character of the column, from 1";
                return Err(self.header.missing(&keyword, expected));
            };
            let Some(offset) = u64::try_from(first).ok().and_then(|first| first.checked_sub(1))
            else {
                return Err(self.header.out_of_range(&keyword, "1 or more"));
            };
            column.offset = offset;
            self.field_end("TBCOL", number, column, row_bytes)?;
        }
        Ok(())
    }

    /// Returns the end of the field in the row.
    fn field_end(
        &self,
        root: &str,
        number: usize,
        column: &Column,
        row_bytes: u64,
    ) -> Result<u64, FormatError> {
        let width = column.field.row_bytes();
        let end = column.offset.checked_add(width);
        end.filter(|end| *end <= row_bytes).ok_or_else(|| {
            let place = Place {
                column: Some((number, column.name.clone())),
                ..self.header.place(&format!("{root}{number}"))
            };
            let found = format!("bytes {} and {width} more ({})", column.offset, column.form);
            let expected = format!("a field within the row of {row_bytes} bytes (NAXIS1)");
            FormatError::new(Code::ColumnOutside, place, expected, found)
        })
    }

    /// Locates the heap; returns an empty heap and the error if the header states an invalid place.
    fn heap(&self, table_bytes: u64) -> (Heap, Option<FormatError>) {
        // The walk has checked the size of all data.
        let data_bytes = table_bytes + self.parameter_count;
        let start = self.header.get_i64("THEAP").and_then(|start| {
            let Some(start) = start else { return Ok(table_bytes) };
            let within = u64::try_from(start)
                .ok()
                .filter(|start| (table_bytes..=data_bytes).contains(start));
            within.ok_or_else(|| {
                let expected =
                    format!("{table_bytes} (NAXIS1 x NAXIS2) to {data_bytes} (with PCOUNT)");
                let place = self.header.place("THEAP");
                FormatError::new(Code::HeapPlace, place, expected, start.to_string())
            })
        });
        match start {
            Ok(start) => {
                let bytes = data_bytes - start;
                let bytes_present = self.data_bytes_present.saturating_sub(start).min(bytes);
                (Heap { offset: self.data_offset + start, bytes, bytes_present }, None)
            }
            Err(error) => {
                (Heap { offset: self.data_offset + data_bytes, ..Heap::default() }, Some(error))
            }
        }
    }
}

/// Sets the keys of columns. Names that differ only in case are equal (Sect. 7.3.1); the first column keeps the name.
fn give_keys(columns: &mut [Column], reader: &mut ColumnReader<'_>) {
    let mut keys = HashSet::new();
    let mut rest = Vec::new();
    for (number, column) in (1..).zip(columns) {
        if column.is_named && keys.insert(column.name.to_ascii_lowercase()) {
            column.key.clone_from(&column.name);
            continue;
        }
        if column.is_named {
            let keyword = format!("TTYPE{number}");
            reader.warn(Code::DuplicateColumn, &keyword, "a name of its own", quoted(&column.name));
        }
        rest.push((number, column));
    }
    for (number, column) in rest {
        column.key.clone_from(&column.name);
        while !keys.insert(column.key.to_ascii_lowercase()) {
            column.key = format!("{}_{number}", column.key);
        }
    }
}
