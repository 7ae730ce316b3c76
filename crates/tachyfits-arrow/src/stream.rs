//! Rows of a table in Arrow's representation: batches of arrays, described by a schema.
//!
//! Array cells are fixed-size lists nested in C order, cells of different lengths large lists, complex numbers lists of
//! two floats, text UTF-8. Units and descriptions are in the metadata of fields.

use std::ops::Range;
use std::sync::Arc;

use tachyfits::table::{
    CellKind, Cells, Column, ColumnOutput, Element, Field, TextEncoding, WantedColumn, significant,
};
use tachyfits::{Error, Job, PixelType, Rows, RunOptions, Table};
use tachyfits_memory::{self as memory, NoMemory};

use crate::aligned::AlignedBytes;

type Outcome<T> = Result<T, Error>;

/// Keys and values that describe a field.
pub type FieldMetadata = Vec<(String, String)>;

/// Irregular elements of a column.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnFaults {
    /// Number of elements that violate the Standard; for text, of elements outside ASCII.
    pub odd: u64,
    /// Whether some arrays of variable length do not have the shape of TDIMn.
    pub misshapen: bool,
}

/// Receives the faults of each column.
pub type Faults = Box<dyn FnOnce(&[ColumnFaults]) + Send>;

/// Default rows of a batch.
const BATCH_ROWS: u64 = 100_000;
/// Maximum bytes of the rows of a batch.
const BATCH_BYTES: u64 = 256 << 20;

/// Type, name and metadata of a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// Type, in the notation of the C data interface.
    pub(crate) format: String,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) children: Vec<Node>,
}

/// Values of a field.
#[derive(Debug)]
pub(crate) struct Values {
    pub(crate) length: u64,
    pub(crate) null_count: u64,
    /// Buffers; the first is the bitmap of non-null values, if there is one.
    pub(crate) buffers: Vec<Option<AlignedBytes>>,
    pub(crate) children: Vec<Values>,
}

/// A column of a stream.
struct Exported {
    index: usize,
    metadata: FieldMetadata,
    cells: Cells,
    /// Whether cells are arrays of variable length.
    is_variable: bool,
    /// Characters per string, for cells with a variable number of strings.
    string_width: Option<usize>,
}

/// Reads a table batch by batch.
pub struct TableStream {
    table: Arc<Table>,
    columns: Vec<Exported>,
    metadata: FieldMetadata,
    condition: Option<String>,
    rows: Range<u64>,
    batch_rows: u64,
    threads: usize,
    job: Option<Job>,
    column_faults: Vec<ColumnFaults>,
    faults: Option<Faults>,
}

/// Rows, columns and options of a stream.
#[derive(Default)]
pub struct Request {
    /// Numbers of columns; `None` for all.
    pub columns: Option<Vec<usize>>,
    /// Condition that selects rows.
    pub condition: Option<String>,
    /// The rows; the end may exceed the table.
    pub rows: Range<u64>,
    /// Rows read at a time; 0 means 100 000.
    pub batch_rows: u64,
    /// Metadata of the schema, and of each column's field; `None` uses units and descriptions of the header.
    pub metadata: Option<(FieldMetadata, Vec<FieldMetadata>)>,
    /// Called once, after the last batch.
    pub faults: Option<Faults>,
    /// Number of threads; 0 means one per core.
    pub threads: usize,
    /// Job whose cancellation ends reading.
    pub job: Option<Job>,
}

impl TableStream {
    /// Creates a stream of rows and columns. Nothing is read before the first batch.
    ///
    /// # Errors
    /// Returns an error if the table lacks a column, the condition is invalid, or the file is too short for the rows.
    pub fn new(table: Arc<Table>, request: Request) -> Outcome<TableStream> {
        let Request { columns, condition, rows, batch_rows, metadata, faults, threads, job } =
            request;
        let numbers = columns.unwrap_or_else(|| (0..table.layout().columns.len()).collect());
        let (own, mut fields) =
            metadata.map_or((Vec::new(), None), |(own, fields)| (own, Some(fields.into_iter())));
        let mut columns = memory::with_room(numbers.len(), "columns")?;
        for &index in &numbers {
            let metadata = fields.as_mut().map(|fields| fields.next().unwrap_or_default());
            columns.push(Exported::new(&table, index, metadata)?);
        }
        let count = table.layout().rows;
        let rows = rows.start.min(count)..rows.end.clamp(rows.start.min(count), count);
        table.check_rows(&Rows::Range(rows.clone()))?;
        if let Some(condition) = &condition {
            // An invalid condition is reported here, not with the first batch.
            table.rows_where(condition, rows.start..rows.start, &RunOptions::new())?;
        }
        let most = (BATCH_BYTES / table.layout().row_bytes.max(1)).max(1);
        let batch_rows = if batch_rows == 0 { BATCH_ROWS } else { batch_rows };
        let column_faults = memory::filled(columns.len(), ColumnFaults::default(), "columns")?;
        Ok(TableStream {
            columns,
            metadata: own,
            condition,
            rows,
            batch_rows: batch_rows.min(most),
            threads,
            job,
            table,
            column_faults,
            faults,
        })
    }

    /// Returns the schema: a struct with a field for each column.
    pub(crate) fn schema(&self) -> Node {
        let children = self.columns.iter().map(|column| column.node(&self.table)).collect();
        let (name, metadata) = (String::new(), self.metadata.clone());
        Node { name, format: "+s".to_owned(), metadata, children }
    }

    /// Reads the next batch; `None` after the last one.
    pub(crate) fn next(&mut self) -> Outcome<Option<Values>> {
        while !self.rows.is_empty() {
            let end = self.rows.end.min(self.rows.start.saturating_add(self.batch_rows));
            let batch = self.read(self.rows.start..end)?;
            self.rows.start = end;
            if batch.length > 0 {
                return Ok(Some(batch));
            }
        }
        if let Some(faults) = self.faults.take() {
            faults(&self.column_faults);
        }
        Ok(None)
    }

    fn read(&mut self, rows: Range<u64>) -> Outcome<Values> {
        let run = RunOptions::new().threads(self.threads).job(self.job.as_ref());
        let fixed: Vec<&Exported> =
            self.columns.iter().filter(|column| !column.is_variable).collect();
        let (numbers, mut cells) = match &self.condition {
            Some(condition) => {
                let requests: Vec<_> =
                    fixed.iter().map(|column| WantedColumn::new(column.index)).collect();
                let result = self.table.read_where(condition, &requests, rows.clone(), &run)?;
                let mut cells = memory::with_room(fixed.len(), "columns")?;
                for column in result.columns {
                    let values = AlignedBytes::copy_of(&column.values)?;
                    cells.push(FixedCells { values, nulls: column.nulls, odd: column.odd });
                }
                (Some(result.rows), cells)
            }
            None => (None, self.read_fixed(&fixed, rows.clone(), &run)?),
        };
        let selection = match &numbers {
            Some(numbers) => Rows::List(numbers),
            None => Rows::Range(rows),
        };
        let length = selection.len();
        cells.reverse();
        let mut children = memory::with_room(self.columns.len(), "columns")?;
        for (column, faults) in self.columns.iter().zip(&mut self.column_faults) {
            let (values, now) = match column.is_variable {
                true => column.arrays(&self.table, &selection, &run)?,
                false => match cells.pop() {
                    Some(cells) => {
                        let now = ColumnFaults { odd: cells.odd, misshapen: false };
                        (column.values(&self.table, cells, length)?, now)
                    }
                    None => continue,
                },
            };
            faults.odd += now.odd;
            faults.misshapen |= now.misshapen;
            children.push(values);
        }
        Ok(Values { length, null_count: 0, buffers: vec![None], children })
    }

    fn read_fixed(
        &self,
        columns: &[&Exported],
        rows: Range<u64>,
        run: &RunOptions<'_>,
    ) -> Outcome<Vec<FixedCells>> {
        let count = rows.end - rows.start;
        let mut cells = memory::with_room(columns.len(), "columns")?;
        for column in columns {
            let elements = count.saturating_mul(column.cells.elements());
            let bytes = elements.saturating_mul(column.cells.kind.bytes());
            let marks = usize::try_from(elements).unwrap_or(usize::MAX);
            let nulls = match column.cells.nullable {
                true => Some(memory::filled(marks, 0, "marks of undefined cells")?),
                false => None,
            };
            cells.push(FixedCells { values: AlignedBytes::zeros(bytes)?, nulls, odd: 0 });
        }
        let outputs = columns.iter().zip(&mut cells);
        let mut outputs: Vec<_> = outputs
            .map(|(column, cells)| {
                let nulls = cells.nulls.as_deref_mut();
                ColumnOutput::new(column.index, cells.values.bytes_mut()).nulls(nulls)
            })
            .collect();
        self.table.read(&mut outputs, &Rows::Range(rows), run)?;
        let odd: Vec<u64> = outputs.iter().map(|output| output.odd).collect();
        cells.iter_mut().zip(odd).for_each(|(cells, odd)| cells.odd = odd);
        Ok(cells)
    }
}

/// Cells of a column of fixed size.
struct FixedCells {
    values: AlignedBytes,
    nulls: Option<Vec<u8>>,
    /// Number of elements that violate the Standard; for text, of elements outside ASCII.
    odd: u64,
}

impl Exported {
    fn new(table: &Table, index: usize, metadata: Option<FieldMetadata>) -> Outcome<Exported> {
        let cells = table.cells(index, false)?;
        let column = &table.layout().columns[index];
        let is_text = matches!(column.field, Field::Variable { element: Element::Character, .. });
        let is_several = is_text && column.dimensions.len() > 1;
        Ok(Exported {
            index,
            metadata: metadata.unwrap_or_else(|| said(table, index, column, &cells)),
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
            (true, true, Some(_)) => list("+L", plain("U")),
            (true, ..) => list("+L", element),
            (false, ..) if self.cells.shape.contains(&0) => list("+L", element),
            (false, ..) => self
                .cells
                .shape
                .iter()
                .fold(element, |inner, length| list(&format!("+w:{length}"), inner)),
        };
        node.name.clone_from(&column.key);
        node.metadata.clone_from(&self.metadata);
        node
    }

    /// Converts cells of fixed size.
    fn values(&self, table: &Table, cells: FixedCells, rows: u64) -> Outcome<Values> {
        let count = rows * self.cells.elements();
        // ASCII is the same in every encoding; otherwise detecting the encoding requires reading the whole column.
        let encoding = match self.is_text() && cells.odd > 0 {
            true => table.text_encoding(self.index)?,
            false => TextEncoding::default(),
        };
        let nulls = cells.nulls.as_deref();
        let mut values = elements(self.cells.kind, cells.values, nulls, count, encoding)?;
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

    /// Reads cells that are arrays of variable length, and counts their irregular elements.
    fn arrays(
        &self,
        table: &Table,
        rows: &Rows<'_>,
        run: &RunOptions<'_>,
    ) -> Outcome<(Values, ColumnFaults)> {
        let (arrays, _) = table.read_arrays(self.index, false, rows, run)?;
        let count = arrays.offsets.last().map_or(0, |&end| end as u64);
        if !self.is_text() {
            let values = AlignedBytes::copy_of(&arrays.values)?;
            let nulls = arrays.nulls.as_deref();
            let values = elements(self.cells.kind, values, nulls, count, TextEncoding::default())?;
            let lists = list_values(offsets_of(&arrays.offsets)?, rows.len(), values);
            let size = table.layout().columns[self.index].dimensions.iter().product::<u64>();
            let mut lengths = arrays.offsets.windows(2).map(|at| at[1].abs_diff(at[0]));
            let has_shape = !table.layout().columns[self.index].dimensions.is_empty();
            let misshapen = has_shape && lengths.any(|length| length != 0 && length != size);
            return Ok((lists, ColumnFaults { odd: arrays.odd, misshapen }));
        }
        let is_ascii = arrays.values.is_ascii();
        let encoding = match is_ascii {
            true => TextEncoding::default(),
            false => table.text_encoding(self.index)?,
        };
        let faults = ColumnFaults { odd: u64::from(!is_ascii), misshapen: false };
        let cells =
            arrays.offsets.windows(2).map(|at| &arrays.values[at[0] as usize..at[1] as usize]);
        let Some(width) = self.string_width else {
            return Ok((large_texts(cells, encoding)?, faults));
        };
        let (mut ends, mut strings) = (vec![0], Vec::new());
        for cell in cells {
            strings.extend(cell.chunks(width));
            ends.push(strings.len() as i64);
        }
        let strings = large_texts(strings.into_iter(), encoding)?;
        Ok((list_values(offsets_of(&ends)?, rows.len(), strings), faults))
    }
}

/// Returns unit and description of a column under the keys that Arrow users expect, and its FITS cards.
fn said(table: &Table, index: usize, column: &Column, cells: &Cells) -> FieldMetadata {
    let comment = format!("TCOMM{}", index + 1);
    let description = table.hdu().header.get_text(&comment).ok().flatten();
    let is_variable = matches!(column.field, Field::Variable { .. });
    let is_text = matches!(cells.kind, CellKind::Text { .. });
    let shape = match (is_variable, is_text) {
        (false, _) => &[][..],
        (true, true) => column.dimensions.get(1..).unwrap_or_default(),
        (true, false) => &column.dimensions[..],
    };
    let lengths: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let shape = (!lengths.is_empty()).then(|| format!("({})", lengths.join(",")));
    let is_complex = matches!(cells.kind, CellKind::Complex32 | CellKind::Complex64);
    let entries = [
        ("unit", column.unit.clone()),
        ("description", description.map(|text| text.trim_end().to_owned())),
        ("fits.TFORM", Some(column.form.clone())),
        ("fits.TDISP", column.display.clone()),
        ("fits.TDIM", shape),
        ("fits.complex", is_complex.then(|| "re,im".to_owned())),
    ];
    let present = entries.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?)));
    present.filter(|(_, text)| !text.is_empty()).collect()
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

/// Converts consecutive elements of a column.
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

/// Returns the bitmap of non-null values, and the number of nulls; no bitmap if there are no nulls.
fn validity(nulls: Option<&[u8]>) -> Outcome<(Option<AlignedBytes>, u64)> {
    let count = nulls.map_or(0, |nulls| nulls.iter().filter(|null| **null != 0).count());
    match nulls {
        Some(nulls) if count > 0 => {
            Ok((Some(bits(nulls.iter().map(|null| *null == 0))?), count as u64))
        }
        _ => Ok((None, 0)),
    }
}

/// Packs one bit per value, from the lowest bit of each byte.
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

/// Concatenates the strings of cells as UTF-8; returns the text and the end of each string.
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
    let what = "the text of a batch, which may have 2 GiB: read fewer rows at a time";
    let small = small.map_err(|_| NoMemory { what, bytes: text.len() as u128 })?;
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
