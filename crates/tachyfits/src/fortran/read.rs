//! Reading records: many of one length as one array, and reductions that need no array.

use std::ops::Range;

use tachyfits_format::FileOrder;
use tachyfits_io::{Report, Storage, Tasks};
use tachyfits_kernels::{ByteOrder, Encoding, PixelType, Stats, Tier};

use super::layout::FieldGroup;
use super::payload::Payload;
use super::views::{GroupView, ItemsView, PayloadView};
use super::{RecordField, RecordFile, RecordLayout};
use crate::error::{Error, Reason};
use crate::image::tier;
use crate::options::{Progress, RunOptions};
use crate::table::added;

/// Bytes that a thread reads at a time: what a second-level cache takes.
const BLOCK_BYTES: u64 = 256 << 10;

/// Records of several fields that are longer are read field by field.
const LONG_RECORD: u64 = 1 << 20;

/// Numbers of a piece that becomes a state of its own, as in images.
const LINE_NUMBERS: u64 = 1 << 16;

impl RecordFile {
    /// Checks that there are such records; damage before the last of them is an error.
    ///
    /// # Errors
    /// [`Reason::Records`], or what the damage is.
    pub fn check_records(&self, first: u64, count: u64) -> Result<Range<u64>, Error> {
        let index = self.index()?;
        let end = first.saturating_add(count);
        if end <= index.len() {
            return Ok(first..end);
        }
        if let Some(damage) = index.damage() {
            return Err(self.format_error(damage.clone()));
        }
        let expected = format!("records within the {} that there are", index.len());
        let found = match count {
            1 => format!("record {first} (from 0)"),
            _ => format!("records {first} to {} (from 0)", end - 1),
        };
        Err(self.refused(Reason::Records, expected, found))
    }

    /// The length that records have in common; 0 where there are none.
    ///
    /// # Errors
    /// [`Reason::RecordType`] when lengths differ, and as [`RecordFile::check_records`].
    pub fn common_bytes(&self, first: u64, count: u64) -> Result<u64, Error> {
        let records = self.check_records(first, count)?;
        let index = self.index()?;
        let Some((place, _)) = index.find(records.start).filter(|_| count > 0) else {
            return Ok(0);
        };
        let runs = index.runs()[place..].iter().take_while(|run| run.first < records.end);
        let bytes = index.runs()[place].bytes;
        for run in runs {
            if run.bytes != bytes {
                let expected = format!("records of {bytes} bytes, as record {first} (from 0) has");
                let found = format!("record {} (from 0) of {} bytes", run.first, run.bytes);
                return Err(self.refused(Reason::RecordType, expected, found));
            }
        }
        Ok(bytes)
    }

    /// Reads records of one length as items, one after the other, in the machine's byte order.
    ///
    /// # Errors
    /// [`Reason::Records`] and [`Reason::RecordType`] if there are no such records, [`Reason::Output`] if `out` is not
    /// the items of as many records.
    pub fn read(
        &self,
        first: u64,
        count: u64,
        layout: &RecordLayout,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let tier = tier()?;
        layout.check().map_err(|error| error.of_file(self.name()))?;
        let bytes = self.common_bytes(first, count)?;
        if count > 0 && bytes != layout.record_bytes {
            let expected = format!("records of {} bytes", layout.record_bytes);
            let found = format!("records of {bytes} bytes from record {first} (from 0) on");
            return Err(self.refused(Reason::RecordType, expected, found));
        }
        let wanted = u128::from(count) * u128::from(layout.item_bytes);
        if wanted != out.len() as u128 {
            let expected = format!("{wanted} bytes for {count} records");
            return Err(self.refused(Reason::Output, expected, format!("{} bytes", out.len())));
        }
        if out.is_empty() || bytes == 0 {
            return Ok(Report::default());
        }
        let payload = Payload::new(self.bytes_of(), self.index()?, first..first + count);
        let swap = self.order() != FileOrder::NATIVE;
        if let Some(size) = layout.is_plain() {
            let swap = if swap { size } else { 1 };
            let view = PayloadView { payload: &payload, swap, tier };
            return fill(&view, 0, out, whole_blocks(bytes, size), options);
        }
        let (record_bytes, item_bytes) = (layout.record_bytes, layout.item_bytes);
        if record_bytes <= LONG_RECORD {
            let fields = &layout.fields;
            let view =
                ItemsView { payload: &payload, record_bytes, item_bytes, fields, swap, tier };
            let items = (BLOCK_BYTES / record_bytes.max(item_bytes)).max(1);
            return fill(&view, 0, out, items * item_bytes, options);
        }
        let mut report = Report::default();
        let groups = layout.groups();
        for (record, item) in out.chunks_exact_mut(item_bytes as usize).enumerate() {
            let begin = record as u64 * record_bytes;
            for group in &groups {
                let range = group.in_item();
                let item = &mut item[range.start as usize..range.end as usize];
                let cost = self.read_group(&payload, begin, group, item, options)?;
                report = added(&report, &cost);
            }
        }
        Ok(report)
    }

    /// Reads fields of a long record, which begins there in the payload.
    fn read_group(
        &self,
        payload: &Payload<'_>,
        begin: u64,
        group: &FieldGroup,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let (tier, swap) = (tier()?, self.order() != FileOrder::NATIVE);
        if let Some(size) = group.number() {
            let view = PayloadView { payload, swap: if swap { size } else { 1 }, tier };
            let from = begin + group.in_record().start;
            return fill(&view, from, out, whole_blocks(u64::MAX, size), options);
        }
        let view = GroupView { payload, begin, group, fields: &group.fields(), swap, tier };
        fill(&view, 0, out, group.items_of(BLOCK_BYTES), options)
    }

    /// Full statistics of the numbers of records, straight from the file's byte order: of all numbers of records that
    /// are of one type, or of a field of records of one length. Positions count the numbers from the first one on.
    ///
    /// # Errors
    /// As [`RecordFile::read`]; [`Reason::RecordType`] also for types that Fortran does not have.
    pub fn stats(
        &self,
        first: u64,
        count: u64,
        pixel: PixelType,
        field: Option<RecordField>,
        options: &RunOptions<'_>,
    ) -> Result<(Stats, Report), Error> {
        let tier = tier()?;
        let records = self.check_records(first, count)?;
        let size = pixel.bytes() as u64;
        self.check_numbers(pixel, records.clone(), field)?;
        let payload = Payload::new(self.bytes_of(), self.index()?, records);
        let (order, swap) = match self.order() {
            order if order == FileOrder::NATIVE => (ByteOrder::Native, false),
            FileOrder::Big => (ByteOrder::BigEndian, false),
            FileOrder::Little => (ByteOrder::Native, true),
        };
        let reduction = Reduction { pixel, order, tier, options };
        let swapped = if swap { size } else { 1 };
        let Some(field) = field else {
            let view = PayloadView { payload: &payload, swap: swapped, tier };
            return reduction.run(&view, 0..view.bytes(), size);
        };
        let record_bytes = self.common_bytes(first, count)?;
        let field = field.alone();
        let item_bytes = field.run_bytes() * field.repeats;
        if item_bytes == 0 || record_bytes == 0 {
            return Ok((Stats::default(), Report::default()));
        }
        if record_bytes <= LONG_RECORD {
            let fields = &[field][..];
            let view =
                ItemsView { payload: &payload, record_bytes, item_bytes, fields, swap, tier };
            return reduction.run(&view, 0..view.bytes(), item_bytes);
        }
        let groups = RecordLayout { record_bytes, item_bytes, fields: vec![field] }.groups();
        let (mut stats, mut report) = (Stats::default(), Report::default());
        let mut before = 0;
        for begin in (0..count).map(|record| record * record_bytes) {
            for group in &groups {
                let (mut part, cost) = if group.number().is_some() {
                    let view = PayloadView { payload: &payload, swap: swapped, tier };
                    let place = group.in_record();
                    reduction.run(&view, begin + place.start..begin + place.end, size)?
                } else {
                    let fields = &group.fields();
                    let view = GroupView { payload: &payload, begin, group, fields, swap, tier };
                    reduction.run(&view, 0..view.bytes(), group.steps().1)?
                };
                for extreme in part.min.iter_mut().chain(part.max.iter_mut()) {
                    extreme.position += before;
                }
                stats.merge(&part);
                before += part.count + part.nan;
                report = added(&report, &cost);
            }
        }
        Ok((stats, report))
    }

    /// Checks that records are made of numbers of a type.
    fn check_numbers(
        &self,
        pixel: PixelType,
        records: Range<u64>,
        field: Option<RecordField>,
    ) -> Result<(), Error> {
        let size = pixel.bytes() as u64;
        if matches!(pixel, PixelType::U16 | PixelType::U32 | PixelType::U64) {
            let expected = "integers with a sign, or reals, as Fortran has them";
            return Err(self.refused(Reason::RecordType, expected, format!("{pixel:?}")));
        }
        if let Some(field) = field {
            let record_bytes = self.common_bytes(records.start, records.end - records.start)?;
            let fields = vec![field];
            let item_bytes = u64::MAX;
            let layout = RecordLayout { record_bytes, item_bytes, fields };
            if record_bytes > 0 {
                layout.check().map_err(|error| error.of_file(self.name()))?;
            }
            return match field.size == size {
                true => Ok(()),
                false => {
                    let found = format!("a field of numbers of {} bytes", field.size);
                    Err(self.refused(Reason::RecordType, format!("numbers of {size} bytes"), found))
                }
            };
        }
        let index = self.index()?;
        let first = index.find(records.start).map_or(0, |(place, _)| place);
        let runs = index.runs()[first..].iter().take_while(|run| run.first < records.end);
        for run in runs {
            if run.bytes % size != 0 {
                let expected = format!("records of whole numbers of {size} bytes");
                let found = format!("record {} (from 0) of {} bytes", run.first, run.bytes);
                return Err(self.refused(Reason::RecordType, expected, found));
            }
        }
        Ok(())
    }

    pub(crate) fn bytes_of(&self) -> &dyn Storage {
        &*self.storage
    }
}

/// Bytes of a block: whole records, where they are short, else whole numbers.
fn whole_blocks(record_bytes: u64, size: u64) -> u64 {
    let unit = if record_bytes <= BLOCK_BYTES { record_bytes } else { size };
    (BLOCK_BYTES / unit.max(1)).max(1) * unit
}

fn fill(
    view: &dyn Storage,
    offset: u64,
    out: &mut [u8],
    block: u64,
    options: &RunOptions<'_>,
) -> Result<Report, Error> {
    let progress = Progress { options: *options, total: out.len() as u64 };
    let run = progress.run_options();
    Ok(tachyfits_io::fill(view, offset, out, block as usize, &run, |_| ())?)
}

/// Statistics of the numbers of a view, piece by piece.
struct Reduction<'a> {
    pixel: PixelType,
    order: ByteOrder,
    tier: Tier,
    options: &'a RunOptions<'a>,
}

impl Reduction<'_> {
    /// Those of a range of bytes, which is read in multiples of `unit` bytes.
    fn run(
        &self,
        view: &dyn Storage,
        range: Range<u64>,
        unit: u64,
    ) -> Result<(Stats, Report), Error> {
        // A signed byte is, to the kernels, one whose highest bit the file has flipped.
        let signed_byte = self.pixel == PixelType::I8;
        let order = if signed_byte { ByteOrder::BigEndian } else { self.order };
        let encoding = Encoding { order, ..Encoding::plain(self.pixel) };
        let size = self.pixel.bytes() as u64;
        let piece = (LINE_NUMBERS * size / unit).max(1) * unit;
        let progress = Progress { options: *self.options, total: range.end - range.start };
        let mut all = Stats::default();
        let report = tachyfits_io::run(
            view,
            &Pieces { range, piece },
            &progress.run_options(),
            Vec::new,
            |flipped: &mut Vec<u8>, task, fetched| {
                let mut bytes = fetched.piece(0);
                if signed_byte {
                    flipped.clear();
                    flipped.extend(bytes.iter().map(|byte| byte ^ 0x80));
                    bytes = flipped;
                }
                let mut stats = Stats::default();
                stats.accumulate(bytes, &encoding, self.tier, task * piece / size);
                Ok::<_, Error>(stats)
            },
            |_task, stats| {
                all.merge(&stats);
                Ok(())
            },
        )?;
        Ok((all, report))
    }
}

/// Pieces of a range.
struct Pieces {
    range: Range<u64>,
    piece: u64,
}

impl Tasks for Pieces {
    fn len(&self) -> u64 {
        (self.range.end - self.range.start).div_ceil(self.piece)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let start = self.range.start + index * self.piece;
        ranges.push(start..self.range.end.min(start + self.piece));
    }
}
