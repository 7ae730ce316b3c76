//! Reads columns of the rows for which a condition is true, in one scan of the table.

use std::ops::Range;

use tachyfits_io::operation::RunOptions;
use tachyfits_io::{Report, Storage};
use tachyfits_kernels::Tier;
use tachyfits_memory as memory;

use super::Table;
use super::block::{CellsOut, PlacedDecoder, decode_columns};
use super::condition::RowSearch;
use super::decode::{DecodeScratch, Decoder, TextAs};
use super::read_columns::ColumnOutput;
use super::row_ranges::{RowBlock, RowReads, Rows};
use crate::error::Error;
use crate::image::{filled, tier};

tachyfits_io::options! {
    /// Column to read from the rows that match a condition.
    #[derive(Clone, Copy, Debug)]
    pub struct WantedColumn {
        /// The number of the column, from 0.
        pub column: usize,
        /// Whether to return the stored values: see [`Table::cells`].
        pub raw: bool,
        /// Representation of strings.
        pub text: TextAs,
    }
}

impl WantedColumn {
    /// Selects a column with scaling applied, and text as bytes.
    pub fn new(column: usize) -> WantedColumn {
        WantedColumn { column, raw: false, text: TextAs::Bytes }
    }
}

/// Rows that match a condition, with their cells in some columns.
#[derive(Debug)]
#[non_exhaustive]
pub struct FoundRows {
    /// Their numbers, from 0 and ascending.
    pub rows: Vec<u64>,
    /// The columns, in the order of the request.
    pub columns: Vec<FoundColumn>,
    /// Cost of the operation.
    pub report: Report,
}

/// Cells of a column; see [`ColumnOutput`].
#[derive(Debug)]
#[non_exhaustive]
pub struct FoundColumn {
    /// The cells one after another, in native byte order.
    pub values: Vec<u8>,
    /// One byte per element: 1 if null, else 0; `None` if no element can be null.
    pub nulls: Option<Vec<u8>>,
    /// Number of elements that violate the Standard.
    pub odd: u64,
}

impl Table {
    /// Reads columns of the rows among `rows` for which a condition is true: the result of
    /// [`Table::rows_where`] followed by [`Table::read`], in one scan. If rows are long and the
    /// columns far apart, it selects the rows first.
    ///
    /// ```
    /// use tachyfits::{FitsFile, OpenOptions, RunOptions};
    /// use tachyfits::table::WantedColumn;
    /// let primary = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", "END"];
    /// let cards = [
    ///     "XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 3", "NAXIS2  = 3", "PCOUNT  = 0", "GCOUNT  = 1",
    ///     "TFIELDS = 2", "TTYPE1  = 'FLAG'", "TFORM1  = 'B'", "TTYPE2  = 'COUNT'", "TFORM2  = 'I'", "END",
    /// ];
    /// let mut bytes = Vec::new();
    /// for header in [&primary[..], &cards] {
    ///     bytes.extend(header.iter().flat_map(|card| format!("{card:<80}").into_bytes()));
    ///     bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    /// # }
    /// bytes.extend([9, 0, 10, 8, 0, 20, 7, 1, 0]);
    /// bytes.resize(8640, 0);
    /// // Rows of a byte, FLAG, and a 16-bit integer, COUNT: (9, 10), (8, 20), (7, 256).
    /// let table = FitsFile::from_bytes("example", bytes, &OpenOptions::default())?.table(1)?;
    /// let flag = WantedColumn::new(0);
    /// let result = table.read_where("COUNT > 15", &[flag], 0..3, &RunOptions::default())?;
    /// assert_eq!((result.rows, &result.columns[0].values), (vec![1, 2], &vec![8, 7]));
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Table::rows_where`] and [`Table::read`].
    pub fn read_where(
        &self,
        condition: &str,
        columns: &[WantedColumn],
        rows: Range<u64>,
        options: &RunOptions<'_>,
    ) -> Result<FoundRows, Error> {
        let search = self.search(condition)?;
        let reader = FoundReader::new(self, columns)?;
        self.check_rows(&Rows::Range(rows.clone()))?;
        let mut fields = search.fields();
        let is_read = |fields: &[Range<u64>]| fields.iter().any(|field| !field.is_empty());
        if rows.is_empty() || !is_read(&fields) {
            let (rows, report) = match rows.is_empty() {
                true => (Vec::new(), Report::default()),
                false => search.rows(rows, options)?,
            };
            return reader.read(rows, report, options);
        }
        fields.extend(reader.decoders.iter().map(|decoder| decoder.field.clone()));
        let reads = RowReads::new(&self.layout, Rows::Range(rows.clone()), &fields);
        if !reads.is_near() {
            let (rows, report) = search.rows(rows, options)?;
            return reader.read(rows, report, options);
        }
        let storage = self.bytes_of(&fields);
        reader.scan(&search, (&*storage, &reads), options)
    }
}

/// Reads columns of the rows that match a condition.
struct FoundReader<'a> {
    table: &'a Table,
    requests: &'a [WantedColumn],
    decoders: Vec<Decoder>,
    nullable: Vec<bool>,
    tier: Tier,
}

/// Buffers of a thread, reused for each block.
#[derive(Default)]
struct FoundScratch {
    packed: Vec<u8>,
    decoding: DecodeScratch,
}

impl<'a> FoundReader<'a> {
    fn new(table: &'a Table, requests: &'a [WantedColumn]) -> Result<FoundReader<'a>, Error> {
        let decoder =
            |request: &WantedColumn| table.decoder(request.column, request.raw, request.text);
        let nullable =
            |request: &WantedColumn| Ok(table.cells(request.column, request.raw)?.nullable);
        Ok(FoundReader {
            table,
            requests,
            decoders: requests.iter().map(decoder).collect::<Result<_, _>>()?,
            nullable: requests.iter().map(nullable).collect::<Result<_, Error>>()?,
            tier: tier(),
        })
    }

    /// Allocates memory for the cells of some rows.
    fn columns(&self, rows: usize) -> Result<Vec<FoundColumn>, Error> {
        let of = |size: usize| {
            filled((rows as u64).saturating_mul(size as u64), 0u8, "the cells of the rows found")
        };
        let columns = self.decoders.iter().zip(&self.nullable).map(|(decoder, &nullable)| {
            let nulls = nullable.then(|| of(decoder.elements)).transpose()?;
            Ok(FoundColumn { values: of(decoder.cell_bytes)?, nulls, odd: 0 })
        });
        columns.collect()
    }

    /// Reads the columns of rows that are already selected.
    fn read(
        &self,
        rows: Vec<u64>,
        search_report: Report,
        options: &RunOptions<'_>,
    ) -> Result<FoundRows, Error> {
        let mut columns = self.columns(rows.len())?;
        let mut outputs: Vec<ColumnOutput<'_>> = self
            .requests
            .iter()
            .zip(&mut columns)
            .map(|(&WantedColumn { column, raw, text }, cells)| {
                let FoundColumn { values, nulls, odd } = cells;
                ColumnOutput { column, raw, values, nulls: nulls.as_deref_mut(), text, odd: *odd }
            })
            .collect();
        let report = self.table.read(&mut outputs, &Rows::List(&rows), options)?;
        let odd: Vec<u64> = outputs.into_iter().map(|output| output.odd).collect();
        columns.iter_mut().zip(odd).for_each(|(column, odd)| column.odd = odd);
        Ok(FoundRows { rows, columns, report: search_report.followed_by(&report) })
    }

    /// Selects rows and decodes their columns in one scan.
    fn scan(
        &self,
        search: &RowSearch<'_>,
        (storage, reads): (&dyn Storage, &RowReads<'_>),
        options: &RunOptions<'_>,
    ) -> Result<FoundRows, Error> {
        let mut all =
            FoundRows { rows: Vec::new(), columns: self.columns(0)?, report: Report::default() };
        let take =
            |scratch: &mut FoundScratch, block: &RowBlock<'_>, rows: Vec<u64>, first: u64| {
                let columns = self.decode(scratch, reads, block, &rows, first)?;
                Ok((rows, columns))
            };
        let report = search.scan((storage, reads), options, take, |(mut rows, columns)| {
            search.append(&mut all.rows, &mut rows)?;
            for (all, part) in all.columns.iter_mut().zip(columns) {
                self.append(&mut all.values, &part.values)?;
                if let (Some(all), Some(part)) = (&mut all.nulls, &part.nulls) {
                    self.append(all, part)?;
                }
                all.odd += part.odd;
            }
            Ok(())
        })?;
        for (request, column) in self.requests.iter().zip(&mut all.columns) {
            if column.odd > 0 && request.text == TextAs::Ucs4 {
                self.table.decode_utf8(request.column, &mut column.values)?;
            }
        }
        Ok(FoundRows { report, ..all })
    }

    fn append(&self, all: &mut Vec<u8>, part: &[u8]) -> Result<(), Error> {
        Ok(memory::extend(all, part, "the cells of the rows found")?)
    }

    /// Decodes the cells of `rows` from a block that begins with row `first`.
    fn decode(
        &self,
        scratch: &mut FoundScratch,
        reads: &RowReads<'_>,
        block: &RowBlock<'_>,
        rows: &[u64],
        first: u64,
    ) -> Result<Vec<FoundColumn>, Error> {
        let mut columns = self.columns(rows.len())?;
        if rows.is_empty() {
            return Ok(columns);
        }
        let FoundScratch { packed, decoding } = scratch;
        let offset = |decoder: &Decoder| reads.offset(decoder.field.start);
        let start = self.decoders.iter().map(offset).min().unwrap_or(0);
        let (rows_of, start) = match rows.len() == block.rows {
            true => (*block, 0),
            false => {
                let bytes = |decoder: &Decoder| decoder.field.end - decoder.field.start;
                let ends =
                    self.decoders.iter().map(|decoder| offset(decoder) + bytes(decoder) as usize);
                let stride = ends.max().unwrap_or(start).saturating_sub(start);
                packed.clear();
                memory::reserve(packed, rows.len().saturating_mul(stride), "the rows found")?;
                for row in rows {
                    let at = (row - first) as usize * block.stride + start;
                    packed.extend_from_slice(&block.bytes[at..at + stride]);
                }
                (RowBlock { bytes: packed, stride, rows: rows.len() }, start)
            }
        };
        let decoders: Vec<PlacedDecoder<'_>> = self
            .decoders
            .iter()
            .map(|decoder| PlacedDecoder { decoder, offset: offset(decoder) - start })
            .collect();
        for column in &decoders {
            decoding.reserve(column.decoder, rows.len())?;
        }
        let mut odd = vec![0; decoders.len()];
        let mut outs: Vec<CellsOut<'_>> = columns
            .iter_mut()
            .map(|cells| CellsOut { values: &mut cells.values, nulls: cells.nulls.as_deref_mut() })
            .collect();
        decode_columns(&rows_of, &decoders, self.tier, decoding, &mut outs, &mut odd, None)
            .map_err(|(column, bad)| {
                self.table.bad_text(self.requests[column].column, rows[bad.row], &bad)
            })?;
        columns.iter_mut().zip(odd).for_each(|(column, odd)| column.odd = odd);
        Ok(columns)
    }
}
