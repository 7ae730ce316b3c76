//! Reading records: many records of equal length as one array.

use std::ops::Range;

use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{IoError, Report, Storage};
use tachyfits_kernels::Tier;

use crate::error::{Code, Error};
use crate::file::RecordFile;
use crate::index::RecordIndex;
use crate::layout::{BLOCK_BYTES, FieldGroup, LONG_RECORD, RecordLayout};
use crate::markers::FileOrder;
use crate::payload::Payload;
use crate::views::{GroupView, ItemsView, PayloadView};

impl RecordFile {
    /// Checks that the records exist; damage before the last of them is an error.
    ///
    /// # Errors
    /// [`Code::Records`], or the damage.
    pub fn check_records(&self, first: u64, count: u64) -> Result<Range<u64>, Error> {
        let index = self.index()?;
        let end = first.saturating_add(count);
        if end <= index.len() {
            return Ok(first..end);
        }
        if let Some(damage) = index.damage() {
            return Err(damage.clone().in_file(self.name()).into());
        }
        let expected = format!("records below {}", index.len());
        let found = match count {
            1 => format!("record {first} (from 0)"),
            _ => format!("records {first} to {} (from 0)", end - 1),
        };
        Err(self.refused(Code::Records, expected, found))
    }

    /// Returns the common length of records; 0 if there are none.
    ///
    /// # Errors
    /// [`Code::Type`] if lengths differ, and the errors of [`RecordFile::check_records`].
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
                return Err(self.refused(Code::Type, expected, found));
            }
        }
        Ok(bytes)
    }

    /// Reads records of equal length as consecutive items, in the machine's byte order.
    ///
    /// # Errors
    /// [`Code::Records`] and [`Code::Type`] if records are missing or differ in length, [`Code::Array`] if `out` does
    /// not match the number of items.
    pub fn read(
        &self,
        first: u64,
        count: u64,
        layout: &RecordLayout,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        layout.check().map_err(|error| error.in_file(self.name()))?;
        let bytes = self.common_bytes(first, count)?;
        if count > 0 && bytes != layout.record_bytes {
            let expected = format!("records of {} bytes", layout.record_bytes);
            let found = format!("records of {bytes} bytes from record {first} (from 0) on");
            return Err(self.refused(Code::Type, expected, found));
        }
        self.read_records(self.index()?, first..first + count, layout, out, options)
    }

    /// Reads every `step`th record from the first, like [`RecordFile::read`]: skipped records may have other lengths.
    ///
    /// # Errors
    /// Returns the errors of [`RecordFile::read`].
    pub fn read_every(
        &self,
        first: u64,
        step: u64,
        count: u64,
        layout: &RecordLayout,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        layout.check().map_err(|error| error.in_file(self.name()))?;
        let last = count.saturating_sub(1).saturating_mul(step.max(1)).saturating_add(first);
        self.check_records(last, count.min(1))?;
        let selection = self.index()?.every(first, step, count)?;
        if let Some(run) = selection.runs().iter().find(|run| run.bytes != layout.record_bytes) {
            let expected = format!("records of {} bytes", layout.record_bytes);
            let record = first + run.first * step;
            let found = format!("record {record} (from 0) of {} bytes", run.bytes);
            return Err(self.refused(Code::Type, expected, found));
        }
        self.read_records(&selection, 0..count, layout, out, options)
    }

    /// Reads records of an index, all of the layout's length.
    fn read_records(
        &self,
        index: &RecordIndex,
        records: Range<u64>,
        layout: &RecordLayout,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let tier = Tier::current();
        let (count, bytes) = (records.end - records.start, layout.record_bytes);
        let out_bytes = u128::from(count) * u128::from(layout.item_bytes);
        if out_bytes != out.len() as u128 {
            let expected = format!("{out_bytes} bytes for {count} records");
            return Err(self.refused(Code::Array, expected, format!("{} bytes", out.len())));
        }
        if out.is_empty() || bytes == 0 {
            return Ok(Report::default());
        }
        let payload = Payload::new(self.storage(), index, records)?;
        let swap = self.order() != FileOrder::NATIVE;
        if let Some(size) = layout.is_plain() {
            let swap = if swap { size } else { 1 };
            let view = PayloadView { payload: &payload, swap, tier };
            return Ok(fill(&view, 0, out, whole_blocks(bytes, size), options)?);
        }
        let (record_bytes, item_bytes) = (layout.record_bytes, layout.item_bytes);
        if record_bytes <= LONG_RECORD {
            let fields = &layout.fields;
            let view =
                ItemsView { payload: &payload, record_bytes, item_bytes, fields, swap, tier };
            let items = (BLOCK_BYTES / record_bytes.max(item_bytes)).max(1);
            return Ok(fill(&view, 0, out, items * item_bytes, options)?);
        }
        let mut report = Report::default();
        let groups = layout.groups();
        for (record, item) in out.chunks_exact_mut(item_bytes as usize).enumerate() {
            let begin = record as u64 * record_bytes;
            let mut read = |group: &FieldGroup| {
                let range = group.in_item();
                let item = &mut item[range.start as usize..range.end as usize];
                let cost = self.read_group(&payload, begin, group, item, options)?;
                report = report.followed_by(&cost);
                Ok(())
            };
            groups.iter().try_for_each(|group| group.each(false, &mut read))?;
        }
        Ok(report)
    }

    /// Reads fields of a long record, which begins at `begin` in the payload.
    fn read_group(
        &self,
        payload: &Payload<'_>,
        begin: u64,
        group: &FieldGroup,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let (tier, swap) = (Tier::current(), self.order() != FileOrder::NATIVE);
        if let Some(size) = group.number() {
            let view = PayloadView { payload, swap: if swap { size } else { 1 }, tier };
            let from = begin + group.in_record().start;
            return Ok(fill(&view, from, out, whole_blocks(u64::MAX, size), options)?);
        }
        let view = GroupView { payload, begin, group, fields: &group.fields(), swap, tier };
        Ok(fill(&view, 0, out, group.items_of(BLOCK_BYTES), options)?)
    }
}

/// Bytes per block: whole records if they are short, otherwise whole numbers.
fn whole_blocks(record_bytes: u64, size: u64) -> u64 {
    let unit = if record_bytes <= BLOCK_BYTES { record_bytes } else { size };
    (BLOCK_BYTES / unit.max(1)).max(1) * unit
}

/// Fills memory from a view.
pub(crate) fn fill(
    view: &dyn Storage,
    offset: u64,
    out: &mut [u8],
    block: u64,
    options: &RunOptions<'_>,
) -> Result<Report, IoError> {
    let progress = Progress { options: *options, total: out.len() as u64 };
    let run = progress.run_options();
    tachyfits_io::fill(view, offset, out, block as usize, &run, |_| ())
}
