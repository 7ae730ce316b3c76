//! Rows of a table as Arrow has them: batches of arrays, described by a schema.
//!
//! The layouts are those of `Table.to_arrow` in Python: array cells are fixed-size lists nested in the order of C, cells of
//! different lengths large lists, complex numbers lists of two floats, text UTF-8. Units and descriptions are in the metadata
//! of fields.

use tachyfits::table::{
    CellKind, Cells, Column, ColumnOutput, Element, Field, TextEncoding, WantedColumn, significant,
};
use tachyfits::{Job, PixelType, Rows, RunOptions, Table};
use tachyfits_memory as memory;

use super::pixels::AlignedBytes;
use super::{Call, Outcome};
use crate::failure::Failure;

/// Rows of a batch, unless the caller says how many.
const BATCH_ROWS: u64 = 100_000;
/// Most bytes of the rows of a batch.
const BATCH_BYTES: u64 = 256 << 20;

/// Type, name and metadata of a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// The type, in the letters of the C data interface.
    pub(crate) format: String,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) children: Vec<Node>,
}

/// Values of a field.
#[derive(Debug)]
pub(crate) struct Values {
    pub(crate) length: u64,
    pub(crate) null_count: u64,
    /// The first is the bitmap of values that are not null, if there is one.
    pub(crate) buffers: Vec<Option<AlignedBytes>>,
    pub(crate) children: Vec<Values>,
}

/// A column of a stream.
struct Exported {
    index: usize,
    cells: Cells,
    /// Cells are arrays of variable length.
    is_variable: bool,
    /// Characters of a string, in cells of several strings of variable number.
    string_width: Option<usize>,
}

/// A table read batch by batch.
pub(crate) struct TableStream {
    table: Table,
    columns: Vec<Exported>,
    condition: Option<String>,
    rows: std::ops::Range<u64>,
    batch_rows: u64,
    threads: usize,
    job: Option<Job>,
}

/// The part of a table that a stream gives.
pub(crate) struct Request<'a> {
    /// None for all columns.
    pub(crate) columns: Option<&'a [i32]>,
    pub(crate) condition: Option<&'a str>,
    pub(crate) first: u64,
    pub(crate) rows: u64,
    /// Rows of a batch; 0 for the default.
    pub(crate) batch_rows: u64,
}

impl TableStream {
    pub(crate) fn new(
        table: Table,
        request: &Request<'_>,
        call: &Call<'_>,
    ) -> Outcome<TableStream> {
        let count = table.layout().columns.len();
        let numbers: Vec<usize> = match request.columns {
            None => (0..count).collect(),
            // A negative number becomes one that no table has.
            Some(numbers) => numbers.iter().map(|&number| number as usize).collect(),
        };
        let columns: Vec<_> =
            numbers.iter().map(|&index| Exported::new(&table, index)).collect::<Outcome<_>>()?;
        let rows = table.layout().rows;
        let first = request.first.min(rows);
        let end = first + request.rows.min(rows - first);
        table.check_rows(&Rows::Range(first..end))?;
        if let Some(condition) = request.condition {
            // An invalid condition is an error of this call, not of the first batch.
            table.rows_where(condition, first..first, &RunOptions::new())?;
        }
        let most = (BATCH_BYTES / table.layout().row_bytes.max(1)).max(1);
        let batch_rows = if request.batch_rows == 0 { BATCH_ROWS } else { request.batch_rows };
        Ok(TableStream {
            columns,
            condition: request.condition.map(str::to_owned),
            rows: first..end,
            batch_rows: batch_rows.min(most),
            threads: call.run().threads,
            job: call.job.map(|job| job.0.clone()),
            table,
        })
    }

    /// The schema: a struct with a field for each column.
    pub(crate) fn schema(&self) -> Node {
        let children = self.columns.iter().map(|column| column.node(&self.table)).collect();
        Node { name: String::new(), format: "+s".to_owned(), metadata: Vec::new(), children }
    }

    /// The next batch; none after the last one.
    pub(crate) fn next(&mut self) -> Outcome<Option<Values>> {
        while !self.rows.is_empty() {
            let end = self.rows.end.min(self.rows.start.saturating_add(self.batch_rows));
            let batch = self.read(self.rows.start..end)?;
            self.rows.start = end;
            if batch.length > 0 {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn read(&self, rows: std::ops::Range<u64>) -> Outcome<Values> {
        let run = RunOptions::new().threads(self.threads).job(self.job.as_ref());
        let fixed: Vec<&Exported> = self.columns.iter().filter(|one| !one.is_variable).collect();
        let (numbers, mut cells) = match &self.condition {
            Some(condition) => {
                let wanted: Vec<_> = fixed.iter().map(|one| WantedColumn::new(one.index)).collect();
                let found = self.table.read_where(condition, &wanted, rows.clone(), &run)?;
                let columns = found.columns.into_iter();
                let cells = columns.map(|one| Ok((AlignedBytes::copy_of(&one.values)?, one.nulls)));
                (Some(found.rows), cells.collect::<Outcome<Vec<_>>>()?)
            }
            None => (None, self.read_fixed(&fixed, rows.clone(), &run)?),
        };
        let chosen = match &numbers {
            Some(numbers) => Rows::List(numbers),
            None => Rows::Range(rows),
        };
        let length = chosen.len();
        cells.reverse();
        let mut children = Vec::new();
        for column in &self.columns {
            children.push(match (column.is_variable, length) {
                (true, _) => column.arrays(&self.table, &chosen, &run)?,
                (false, _) => match cells.pop() {
                    Some((values, nulls)) => column.values(&self.table, values, nulls, length)?,
                    None => continue,
                },
            });
        }
        Ok(Values { length, null_count: 0, buffers: vec![None], children })
    }

    fn read_fixed(
        &self,
        columns: &[&Exported],
        rows: std::ops::Range<u64>,
        run: &RunOptions<'_>,
    ) -> Outcome<Vec<(AlignedBytes, Option<Vec<u8>>)>> {
        let count = rows.end - rows.start;
        let mut memory = Vec::new();
        for column in columns {
            let elements = count.saturating_mul(column.cells.elements());
            let bytes = elements.saturating_mul(column.cells.kind.bytes());
            let nulls = match column.cells.nullable {
                true => Some(AlignedBytes::zeros(elements)?.bytes().to_vec()),
                false => None,
            };
            memory.push((AlignedBytes::zeros(bytes)?, nulls));
        }
        let outputs = columns.iter().zip(&mut memory);
        let mut outputs: Vec<_> = outputs
            .map(|(column, (values, nulls))| {
                ColumnOutput::new(column.index, values.bytes_mut()).nulls(nulls.as_deref_mut())
            })
            .collect();
        self.table.read(&mut outputs, &Rows::Range(rows), run)?;
        Ok(memory)
    }
}

impl Exported {
    fn new(table: &Table, index: usize) -> Outcome<Exported> {
        let cells = table.cells(index, false)?;
        let column = &table.layout().columns[index];
        let is_text = matches!(column.field, Field::Variable { element: Element::Character, .. });
        let is_several = is_text && column.dimensions.len() > 1;
        Ok(Exported {
            index,
            cells,
            is_variable: matches!(column.field, Field::Variable { .. }),
            string_width: is_several.then(|| column.dimensions[0].max(1) as usize),
        })
    }

    fn is_text(&self) -> bool {
        matches!(self.cells.kind, CellKind::Text { .. })
    }

    fn node(&self, table: &Table) -> Node {
        let column = &table.layout().columns[self.index];
        let element = element_node(self.cells.kind);
        let mut node = match (self.is_variable, self.is_text(), self.string_width) {
            (true, true, None) => plain("U"),
            (true, ..) => list("+L", element),
            (false, ..) if self.cells.shape.contains(&0) => list("+L", element),
            (false, ..) => self
                .cells
                .shape
                .iter()
                .fold(element, |inner, length| list(&format!("+w:{length}"), inner)),
        };
        node.name.clone_from(&column.key);
        node.metadata = self.metadata(table, column);
        node
    }

    fn metadata(&self, table: &Table, column: &Column) -> Vec<(String, String)> {
        let comment = format!("TCOMM{}", self.index + 1);
        let description = table.hdu().header.get_text(&comment).ok().flatten();
        let shape = match (self.is_variable, self.is_text()) {
            (false, _) => &[][..],
            (true, true) => column.dimensions.get(1..).unwrap_or_default(),
            (true, false) => &column.dimensions[..],
        };
        let lengths: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let shape = (!lengths.is_empty()).then(|| format!("({})", lengths.join(",")));
        let is_complex = matches!(self.cells.kind, CellKind::Complex32 | CellKind::Complex64);
        let entries = [
            ("unit", column.unit.clone()),
            ("description", description.map(|text| text.trim_end().to_owned())),
            ("fits.TFORM", Some(column.form.clone())),
            ("fits.TDISP", column.display.clone()),
            ("fits.TDIM", shape),
            ("fits.complex", is_complex.then(|| "re,im".to_owned())),
        ];
        let known = entries.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?)));
        known.filter(|(_, text)| !text.is_empty()).collect()
    }

    /// Cells of one size.
    fn values(
        &self,
        table: &Table,
        values: AlignedBytes,
        nulls: Option<Vec<u8>>,
        rows: u64,
    ) -> Outcome<Values> {
        let count = rows * self.cells.elements();
        let encoding = self.encoding(table)?;
        let mut values = elements(self.cells.kind, values, nulls.as_deref(), count, encoding)?;
        if self.cells.shape.contains(&0) {
            let offsets = memory::filled(rows as usize + 1, 0, "offsets of empty arrays")?;
            let offsets = offsets_of(&offsets)?;
            return Ok(list_values(offsets, rows, values));
        }
        let mut length = count;
        for &each in &self.cells.shape {
            length /= each;
            values = Values { length, null_count: 0, buffers: vec![None], children: vec![values] };
        }
        Ok(values)
    }

    /// Cells that are arrays of variable length.
    fn arrays(&self, table: &Table, rows: &Rows<'_>, run: &RunOptions<'_>) -> Outcome<Values> {
        let (arrays, _) = table.read_arrays(self.index, false, rows, run)?;
        let count = arrays.offsets.last().map_or(0, |&end| end as u64);
        if !self.is_text() {
            let values = AlignedBytes::copy_of(&arrays.values)?;
            let nulls = arrays.nulls.as_deref();
            let values = elements(self.cells.kind, values, nulls, count, TextEncoding::default())?;
            return Ok(list_values(offsets_of(&arrays.offsets)?, rows.len(), values));
        }
        let encoding = self.encoding(table)?;
        let cells =
            arrays.offsets.windows(2).map(|at| &arrays.values[at[0] as usize..at[1] as usize]);
        let Some(width) = self.string_width else {
            return large_texts(cells, encoding);
        };
        let (mut ends, mut strings) = (vec![0], Vec::new());
        for cell in cells {
            strings.extend(cell.chunks(width));
            ends.push(strings.len() as i64);
        }
        let strings = texts(strings.into_iter(), None, encoding)?;
        Ok(list_values(offsets_of(&ends)?, rows.len(), strings))
    }

    fn encoding(&self, table: &Table) -> Outcome<TextEncoding> {
        match self.is_text() {
            true => Ok(table.text_encoding(self.index)?),
            false => Ok(TextEncoding::default()),
        }
    }
}

fn plain(format: &str) -> Node {
    let (name, metadata, children) = (String::new(), Vec::new(), Vec::new());
    Node { name, format: format.to_owned(), metadata, children }
}

fn list(format: &str, mut inner: Node) -> Node {
    inner.name = "item".to_owned();
    Node { children: vec![inner], ..plain(format) }
}

fn element_node(kind: CellKind) -> Node {
    match kind {
        CellKind::Bool => plain("b"),
        CellKind::Text { .. } => plain("u"),
        CellKind::Complex32 => list("+w:2", plain("f")),
        CellKind::Complex64 => list("+w:2", plain("g")),
        CellKind::Number(pixel) => plain(match pixel {
            PixelType::U8 => "C",
            PixelType::I8 => "c",
            PixelType::U16 => "S",
            PixelType::I16 => "s",
            PixelType::U32 => "I",
            PixelType::I32 => "i",
            PixelType::U64 => "L",
            PixelType::I64 => "l",
            PixelType::F32 => "f",
            PixelType::F64 => "g",
        }),
    }
}

/// Elements of a column, one after another.
fn elements(
    kind: CellKind,
    values: AlignedBytes,
    nulls: Option<&[u8]>,
    count: u64,
    encoding: TextEncoding,
) -> Outcome<Values> {
    let buffer = match kind {
        CellKind::Bool => bits(values.bytes().iter().map(|byte| *byte != 0))?,
        CellKind::Number(_) => values,
        CellKind::Complex32 | CellKind::Complex64 => {
            let parts = plain_values(2 * count, values, None)?;
            let (length, children) = (count, vec![parts]);
            return Ok(Values { length, null_count: 0, buffers: vec![None], children });
        }
        CellKind::Text { width } => {
            let width = width as usize;
            let cells = (0..count as usize).map(|at| &values.bytes()[at * width..(at + 1) * width]);
            return texts(cells, nulls, encoding);
        }
    };
    plain_values(count, buffer, nulls)
}

fn plain_values(length: u64, values: AlignedBytes, nulls: Option<&[u8]>) -> Outcome<Values> {
    let (validity, null_count) = validity(nulls)?;
    let buffers = vec![validity, Some(values)];
    Ok(Values { length, null_count, buffers, children: Vec::new() })
}

fn list_values(offsets: AlignedBytes, length: u64, values: Values) -> Values {
    let buffers = vec![None, Some(offsets)];
    Values { length, null_count: 0, buffers, children: vec![values] }
}

/// The bitmap of values that are not null, and the number of nulls; none without nulls.
fn validity(nulls: Option<&[u8]>) -> Outcome<(Option<AlignedBytes>, u64)> {
    let count = nulls.map_or(0, |nulls| nulls.iter().filter(|null| **null != 0).count());
    match nulls {
        Some(nulls) if count > 0 => {
            Ok((Some(bits(nulls.iter().map(|null| *null == 0))?), count as u64))
        }
        _ => Ok((None, 0)),
    }
}

/// A bit for each value, the lowest of each byte first.
fn bits(values: impl ExactSizeIterator<Item = bool>) -> Outcome<AlignedBytes> {
    let mut bits = AlignedBytes::zeros((values.len() as u64).div_ceil(8))?;
    let bytes = bits.bytes_mut();
    for (at, value) in values.enumerate() {
        bytes[at / 8] |= u8::from(value) << (at % 8);
    }
    Ok(bits)
}

fn offsets_of(offsets: &[i64]) -> Outcome<AlignedBytes> {
    AlignedBytes::copy_of(bytemuck::cast_slice(offsets))
}

/// The strings of cells as UTF-8, one after another, and where each ends.
fn joined<'a>(cells: impl Iterator<Item = &'a [u8]>, encoding: TextEncoding) -> (String, Vec<i64>) {
    let (mut text, mut ends) = (String::new(), vec![0]);
    for cell in cells {
        text.push_str(&encoding.decode(significant(cell)));
        ends.push(text.len() as i64);
    }
    (text, ends)
}

fn texts<'a>(
    cells: impl Iterator<Item = &'a [u8]>,
    nulls: Option<&[u8]>,
    encoding: TextEncoding,
) -> Outcome<Values> {
    let (text, ends) = joined(cells, encoding);
    let small: Result<Vec<i32>, _> = ends.iter().map(|&end| i32::try_from(end)).collect();
    let small = small.map_err(|_| {
        let hint = "give a smaller batch_rows";
        let shown = format!("with {} bytes of text", text.len());
        Failure::argument("batch", shown, "less than 2147483648 bytes of text", hint)
    })?;
    let (validity, null_count) = validity(nulls)?;
    let offsets = AlignedBytes::copy_of(bytemuck::cast_slice(&small))?;
    let buffers = vec![validity, Some(offsets), Some(AlignedBytes::copy_of(text.as_bytes())?)];
    Ok(Values { length: small.len() as u64 - 1, null_count, buffers, children: Vec::new() })
}

fn large_texts<'a>(
    cells: impl Iterator<Item = &'a [u8]>,
    encoding: TextEncoding,
) -> Outcome<Values> {
    let (text, ends) = joined(cells, encoding);
    let length = ends.len() as u64 - 1;
    let text = Some(AlignedBytes::copy_of(text.as_bytes())?);
    let buffers = vec![None, Some(offsets_of(&ends)?), text];
    Ok(Values { length, null_count: 0, buffers, children: Vec::new() })
}

/// The number of an operating system's error for a failure, as Arrow's streams return it.
pub(crate) fn errno(failure: &Failure) -> i32 {
    let (io, memory, cancelled, invalid) = (5, 12, 125, 22);
    match failure.number() {
        crate::types::TACHYFITS_ERROR_IO => io,
        crate::types::TACHYFITS_ERROR_LIMIT => memory,
        crate::types::TACHYFITS_ERROR_CANCELLED => cancelled,
        _ => invalid,
    }
}
