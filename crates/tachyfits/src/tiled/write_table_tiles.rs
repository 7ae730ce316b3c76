//! Writes a table in compressed tiles. The columns of each tile are compressed in parallel; their
//! streams follow the rows of the new table in the order of the tiles.

use std::ops::Range;

use tachyfits_format::{
    Code, CodecError, CodecScratch, Directives, Element, Field, Header, NewCompressedTable,
    SlabAlgorithm, SlabCodec, TableKind, TableLayout, codec_names, encode_descriptors,
};
use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Report, Storage, Tasks, fetch};
use tachyfits_kernels::OnesComplement;
use tachyfits_memory as memory;

use super::write_tiles::refusal;
use crate::byte_sums::{sum_of_range, update_checksums};
use crate::error::{Error, Reason};
use crate::file_writer::FileWriter;
use crate::hdu_writer::HduWriter;
use crate::table::Table;

/// Bytes of arrays compressed at a time.
const BATCH_BYTES: u64 = 1 << 20;
/// Maximum arrays compressed at a time.
const BATCH_ARRAYS: usize = 1 << 15;
/// Approximate maximum bytes of arrays per tile, which a worker holds in memory.
const TILE_ARRAY_BYTES: u64 = 64 << 20;
/// Bytes of a descriptor of the new table.
const DESCRIPTOR_BYTES: u64 = 16;

tachyfits_io::options! {
    /// Settings for compressing a table.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct TableCompression {
        /// ZTILELEN; `None` selects the number of rows in 10 MB, as fpack does.
        pub rows: Option<u64>,
        /// ZCTYPn by column number, from 0: "RICE_1", "GZIP_1", "GZIP_2" or "NOCOMPRESS". Other
        /// columns use the codec that fpack selects, except complex numbers, which readers
        /// interpret differently.
        pub codecs: Vec<(usize, String)>,
        /// Whether to follow FZTILELN and FZALGn in the header of the table, unless other fields override them.
        pub directives: bool,
    }
}

impl Table {
    /// Writes the table as the next HDU of a new file, in compressed tiles. Bytes of the heap
    /// outside all arrays are lost.
    ///
    /// # Errors
    /// [`Reason::TileCompression`] for an ASCII table, or a codec that does not support a column;
    /// if the file does not have all of the data, or reading or writing fails.
    pub fn write_compressed(
        &self,
        file: &mut FileWriter,
        how: &TableCompression,
        run: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let (layout, hdu) = (self.layout(), self.hdu());
        if layout.kind != TableKind::Binary {
            let expected = "a binary table to compress";
            return Err(self.refused(Reason::TileCompression, expected, "an ASCII table"));
        }
        if hdu.data_bytes_present < hdu.data_bytes {
            let expected = format!("{} bytes of data", hdu.data_bytes);
            let found = format!("{} bytes, then the end of the file", hdu.data_bytes_present);
            return Err(self.refused(Reason::DataMissing, expected, found));
        }
        file.begin_extension()?;
        let storage = self.bytes_of_all();
        let mut original = hdu.header.clone();
        let mut sum_report = Report::default();
        if file.updates_checksums() {
            let data = hdu.data_offset..hdu.data_offset + hdu.data_bytes;
            let (sum, report) = sum_of_range(&**storage, data.start, data, run, file.tier())?;
            file.format_error(update_checksums(&mut original, sum, file.tier()))?;
            sum_report = report;
        }
        let new = self.compression(how)?;
        let tasks = TileTasks { layout, tile_rows: new.tile_rows };
        let mut output = TableOutput::begin(file, &original, new)?;
        let columns = output.new.columns.clone();
        let progress = Progress { options: *run, total: layout.rows * layout.row_bytes };
        let report = tachyfits_io::run(
            &**storage,
            &tasks,
            &progress.run_options(),
            CodecScratch::new,
            |scratch, tile, fetched| {
                let first = tile * tasks.tile_rows;
                let rows = fetched.piece(0);
                let encode = |(number, codec): (usize, &SlabCodec)| {
                    self.encode_column(&**storage, number, *codec, first, rows, scratch)
                };
                columns.iter().enumerate().map(encode).collect::<Result<Vec<_>, _>>()
            },
            |tile, encoded| output.add(tile, encoded),
        )?;
        output.finish()?;
        Ok(sum_report.followed_by(&report))
    }

    /// Selects the codecs and tiles of the new table.
    fn compression(&self, how: &TableCompression) -> Result<NewCompressedTable<'_>, Error> {
        let (layout, header) = (self.layout(), &self.hdu().header);
        let mut new = NewCompressedTable::of(layout);
        if let Some(arrays) = layout.heap.bytes.checked_div(layout.rows).filter(|&bytes| bytes > 0)
        {
            new.tile_rows = new.tile_rows.min((TILE_ARRAY_BYTES / arrays).max(1));
        }
        if how.directives {
            let directives = Directives::of(header).map_err(|error| self.format_error(error))?;
            new.tile_rows = directives.table_rows.unwrap_or(new.tile_rows);
            for (number, codec) in new.columns.iter_mut().enumerate() {
                let name = Directives::column_codec(header, number + 1);
                let name = name.map_err(|error| self.format_error(error))?;
                let directive = name.and_then(|name| SlabAlgorithm::of_name(&name));
                let directive = directive.map(|algorithm| SlabCodec { algorithm, ..*codec });
                // As fpack, which uses its default if the codec does not support the column.
                *codec = directive.filter(SlabCodec::is_possible).unwrap_or(*codec);
            }
        }
        new.tile_rows = how.rows.unwrap_or(new.tile_rows).min(layout.rows.max(1));
        if new.tile_rows == 0 {
            let expected = "tiles of 1 row or more";
            return Err(self.refused(Reason::TileCompression, expected, "0 rows"));
        }
        for (number, name) in &how.codecs {
            let column = self.column_at(*number)?;
            let codec = &mut new.columns[*number];
            let request = SlabAlgorithm::of_name(name);
            let request = request.map(|algorithm| SlabCodec { algorithm, ..*codec });
            *codec = request.filter(SlabCodec::is_possible).ok_or_else(|| {
                let names = codec_names(|codec| codec.of_columns);
                let expected = format!("{names} (RICE_1 of integers of up to 32 bits)");
                let found = format!("{name} for {} ({})", self.words(*number), column.form);
                self.refused(Reason::TileCompression, expected, found)
            })?;
        }
        for codec in &mut new.columns {
            let is_shuffled =
                matches!(codec.element, Element::Number(_)) && codec.element.bytes() > 1;
            if codec.algorithm == SlabAlgorithm::ShuffledGzip && !is_shuffled {
                // Shuffling single bytes changes nothing; funpack rejects GZIP_2 for them and for complex numbers.
                codec.algorithm = SlabAlgorithm::Gzip;
            }
        }
        Ok(new)
    }

    /// Compresses a column of a tile, whose rows begin with row `first`.
    fn encode_column(
        &self,
        storage: &dyn Storage,
        number: usize,
        codec: SlabCodec,
        first: u64,
        rows: &[u8],
        scratch: &mut CodecScratch,
    ) -> Result<EncodedColumn, Error> {
        let layout = self.layout();
        let column = &layout.columns[number];
        let width = column.field.row_bytes() as usize;
        if width == 0 {
            return Ok(EncodedColumn::default());
        }
        let start = column.offset as usize;
        let fields = rows.chunks_exact(layout.row_bytes as usize);
        let mut column_bytes = room(rows.len() / layout.row_bytes as usize * width)?;
        fields.for_each(|row| column_bytes.extend_from_slice(&row[start..start + width]));
        let fields = column_bytes;
        let refused = |error: CodecError| {
            if error.code == Code::NoMemory {
                return self.refused(Reason::Memory, error.expected, error.found);
            }
            let found = format!("{} in {}", error.found, self.words(number));
            self.refused(Reason::TileCompression, error.expected, found)
        };
        let mut encoded = EncodedColumn::default();
        let Field::Variable { element, .. } = column.field else {
            codec.encode(&fields, scratch, &mut encoded.stream).map_err(refused)?;
            return Ok(encoded);
        };
        layout.heap().map_err(|error| self.format_error(error))?;
        let mut places = room(fields.len() / width)?;
        encoded.stored = room(fields.len() / width)?;
        for (row, field) in (first..).zip(fields.chunks_exact(width)) {
            let array = layout.descriptor(number, row, field);
            let array = array.map_err(|error| self.format_error(error))?;
            let bytes = element.total_bytes(array.count).unwrap_or(u64::MAX);
            let at = layout.heap.offset + array.offset;
            places.push(at..at.saturating_add(bytes));
        }
        let mut rest = &places[..];
        while !rest.is_empty() {
            let mut bytes = 0;
            let whole = rest.iter().take_while(|place| {
                bytes += place.end - place.start;
                bytes <= BATCH_BYTES
            });
            let whole = whole.take(BATCH_ARRAYS);
            let (batch, later) = rest.split_at(whole.count().max(1));
            rest = later;
            let with_bytes = || batch.iter().filter(|place| !place.is_empty());
            let list = |ranges: &mut Vec<Range<u64>>| ranges.extend(with_bytes().cloned());
            fetch(storage, list, |fetched| {
                let mut piece = 0;
                for place in batch {
                    let begin = encoded.arrays.len();
                    if !place.is_empty() {
                        let array = fetched.piece(piece);
                        codec.encode_array(array, scratch, &mut encoded.arrays).map_err(refused)?;
                        piece += 1;
                    }
                    encoded.stored.push((encoded.arrays.len() - begin) as u64);
                }
                Ok::<(), Error>(())
            })??;
        }
        encoded.fields = fields;
        Ok(encoded)
    }
}

/// Returns an empty vector with room for `count` values; fails if memory is short.
fn room<T>(count: usize) -> Result<Vec<T>, Error> {
    Ok(memory::with_room(count, "a tile of a table")?)
}

/// A compressed column of a tile.
#[derive(Debug, Default)]
struct EncodedColumn {
    /// The stream of its cell; for a column of arrays, encoded once the offsets of the arrays are known.
    stream: Vec<u8>,
    /// For a column of arrays: its descriptors in the original table.
    fields: Vec<u8>,
    /// For a column of arrays: the compressed arrays, contiguous.
    arrays: Vec<u8>,
    /// For a column of arrays: the bytes of each compressed array.
    stored: Vec<u64>,
}

/// The rows of each tile.
struct TileTasks<'a> {
    layout: &'a TableLayout,
    tile_rows: u64,
}

impl Tasks for TileTasks<'_> {
    fn len(&self) -> u64 {
        self.layout.rows.div_ceil(self.tile_rows)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let first = index * self.tile_rows;
        let end = self.layout.rows.min(first + self.tile_rows);
        let at = |row: u64| self.layout.data_offset + row * self.layout.row_bytes;
        ranges.push(at(first)..at(end));
    }
}

/// Writer of a compressed table.
struct TableOutput<'a> {
    file: &'a mut FileWriter,
    hdu: HduWriter,
    original: &'a Header,
    new: NewCompressedTable<'a>,
    scratch: CodecScratch,
    /// Bytes of the heap so far.
    heap_bytes: u64,
}

impl<'a> TableOutput<'a> {
    fn begin(
        file: &'a mut FileWriter,
        original: &'a Header,
        new: NewCompressedTable<'a>,
    ) -> Result<TableOutput<'a>, Error> {
        let mut header = file.format_error(new.header(original))?;
        if file.updates_checksums() {
            // Room for the cards.
            let result = update_checksums(&mut header, OnesComplement::default(), file.tier());
            file.format_error(result)?;
        }
        let row_bytes = new.columns.len() as u64 * DESCRIPTOR_BYTES;
        let hdu = HduWriter::begin(file, &header, new.tiles() * row_bytes)?;
        Ok(TableOutput { file, hdu, original, new, scratch: CodecScratch::new(), heap_bytes: 0 })
    }

    /// Bytes of the rows.
    fn rows_bytes(&self) -> u64 {
        self.new.tiles() * self.new.columns.len() as u64 * DESCRIPTOR_BYTES
    }

    /// Appends the next tile.
    fn add(&mut self, tile: u64, columns: Vec<EncodedColumn>) -> Result<(), Error> {
        let mut row = Vec::with_capacity(columns.len() * DESCRIPTOR_BYTES as usize);
        let at = tile * columns.len() as u64 * DESCRIPTOR_BYTES;
        for mut column in columns {
            if !column.fields.is_empty() {
                let mut heap_end = self.heap_bytes;
                let place = |&bytes: &u64| {
                    heap_end += bytes;
                    (bytes, if bytes > 0 { heap_end - bytes } else { 0 })
                };
                let places =
                    memory::collected(column.stored.iter().map(place), "a tile of a table")?;
                self.append(&column.arrays)?;
                let stream = &mut column.stream;
                encode_descriptors(&column.fields, &places, &mut self.scratch, stream)
                    .map_err(|error| refusal(error, "the descriptors of a column"))?;
            }
            let bytes = column.stream.len() as u64;
            let start = if bytes > 0 { self.heap_bytes } else { 0 };
            row.extend([bytes, start].into_iter().flat_map(u64::to_be_bytes));
            self.append(&column.stream)?;
        }
        self.hdu.write(self.file, at, &row)
    }

    /// Appends bytes to the heap.
    fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.hdu.write(self.file, self.rows_bytes() + self.heap_bytes, bytes)?;
        self.heap_bytes += bytes.len() as u64;
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        self.new.heap_bytes = self.heap_bytes;
        let header = self.file.format_error(self.new.header(self.original))?;
        let bytes = self.rows_bytes() + self.heap_bytes;
        self.hdu.finish(self.file, header, bytes, 0)
    }
}
