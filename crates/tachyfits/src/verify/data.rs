//! Checks the data of one HDU: runs the passes that its rules need. [`super::fields`] checks rows.

use std::ops::Range;

use tachyfits_format::{Finding, Hdu, HduKind, Place, Rule, TableLayout};
use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Storage, Tasks};
use tachyfits_kernels::{OnesComplement, Tier};
use tachyfits_memory as memory;

use super::fields::RowCheck;
use super::heap::check_heap;
use super::tally::Tally;
use crate::byte_sums::sum_of_range;
use crate::checksum::{Agreement, Checksum};
use crate::error::Error;

/// Bytes of rows checked together.
const TASK_BYTES: u64 = 512 << 10;
/// Longer rows are checked field by field.
const LONGEST_ROW: u64 = 8 << 20;
/// Longer fields are not checked.
const LONGEST_FIELD: u64 = 64 << 20;

/// Inputs for checking the data of an HDU.
pub(super) struct DataCheck<'a> {
    pub(super) storage: &'a dyn Storage,
    pub(super) hdu: &'a Hdu,
    pub(super) run: &'a RunOptions<'a>,
    pub(super) tier: Tier,
}

impl DataCheck<'_> {
    pub(super) fn check(&self, findings: &mut Vec<Finding>) -> Result<(), Error> {
        let layout = self.hdu.table().ok();
        let rows = match &layout {
            Some(layout) => self.check_table(layout, findings)?,
            None => None,
        };
        if self.hdu.data_bytes_present == self.hdu.data_bytes {
            self.check_fill(findings)?;
            self.check_sums(rows, findings)?;
        }
        Ok(())
    }

    /// Whether the header has a checksum, so that one must be computed.
    fn updates_checksums(&self) -> bool {
        let header = &self.hdu.header;
        ["DATASUM", "CHECKSUM"].iter().any(|keyword| header.get(keyword).is_some())
    }

    /// Checks the rows and the heap; returns the sum of the rows if it was computed.
    fn check_table(
        &self,
        layout: &TableLayout,
        findings: &mut Vec<Finding>,
    ) -> Result<Option<OnesComplement>, Error> {
        let check = RowCheck::new(layout);
        if check.is_empty() || layout.rows_present == 0 || layout.row_bytes == 0 {
            return Ok(None);
        }
        let mut tally = Tally::new(check.len());
        let sum = match layout.row_bytes <= LONGEST_ROW {
            true => Some(self.check_rows(layout, &check, &mut tally)?),
            false => {
                self.check_pieces(layout, &check, &mut tally, findings)?;
                None
            }
        };
        let hdu = self.hdu;
        check_heap(self.storage, hdu, layout, &check, self.run, &mut tally, findings)?;
        findings.extend(tally.findings(&check));
        // The sum of incomplete rows is not compared.
        Ok(sum.filter(|_| layout.rows_present == layout.rows))
    }

    /// Checks whole rows; bytes that are both checked and summed are read once.
    fn check_rows(
        &self,
        layout: &TableLayout,
        check: &RowCheck<'_>,
        tally: &mut Tally,
    ) -> Result<OnesComplement, Error> {
        let task_rows = (TASK_BYTES / layout.row_bytes).max(1);
        let (row_bytes, rows) = (layout.row_bytes, layout.rows_present);
        let tasks = RowTasks { offset: layout.data_offset, row_bytes, rows, task_rows };
        let progress = Progress { options: *self.run, total: rows * row_bytes };
        let sums = self.updates_checksums();
        let mut sum = OnesComplement::default();
        tachyfits_io::run(
            self.storage,
            &tasks,
            &progress.run_options(),
            || (),
            |(), task, fetched| {
                let bytes = fetched.piece(0);
                let first = task * task_rows;
                let mut part_tally = Tally::new(check.len());
                for (row, bytes) in (first..).zip(bytes.chunks(row_bytes as usize)) {
                    check.row(row, bytes, &mut part_tally);
                }
                let mut part = OnesComplement::default();
                if sums {
                    part.accumulate(first * row_bytes, bytes, self.tier);
                }
                Ok::<_, Error>((part_tally, part))
            },
            |_task, (part_tally, part)| {
                tally.merge(part_tally);
                sum.merge(part);
                Ok(())
            },
        )?;
        Ok(sum)
    }

    /// Checks rows too long for memory, a field at a time.
    fn check_pieces(
        &self,
        layout: &TableLayout,
        check: &RowCheck<'_>,
        tally: &mut Tally,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        if check.has_gaps() {
            let place = self.hdu.header.place("NAXIS1");
            let expected =
                format!("rows of at most {LONGEST_ROW} bytes, to check gaps between fields");
            let found = format!("{} bytes", layout.row_bytes);
            findings.push(Finding::of_rule(Rule::NotChecked, place, expected, found));
        }
        for (at, field) in check.fields() {
            let bytes = field.end - field.start;
            if bytes > LONGEST_FIELD {
                let place = layout.place(at.column, None);
                let expected = format!("fields of at most {LONGEST_FIELD} bytes");
                let found = format!("one of {bytes}");
                findings.push(Finding::of_rule(Rule::NotChecked, place, expected, found));
                continue;
            }
            let (row_bytes, rows) = (layout.row_bytes, layout.rows_present);
            let tasks =
                FieldTasks { offset: layout.data_offset + field.start, bytes, row_bytes, rows };
            let progress = Progress { options: *self.run, total: rows * bytes };
            tachyfits_io::run(
                self.storage,
                &tasks,
                &progress.run_options(),
                || (),
                |(), row, fetched| {
                    let mut part_tally = Tally::new(check.len());
                    check.field(at, row, fetched.piece(0), &mut part_tally);
                    Ok::<_, Error>(part_tally)
                },
                |_row, part_tally| {
                    tally.merge(part_tally);
                    Ok(())
                },
            )?;
        }
        Ok(())
    }

    /// Checks the fill of the last block: zeros, or blanks for an ASCII table.
    fn check_fill(&self, findings: &mut Vec<Finding>) -> Result<(), Error> {
        let begin = self.hdu.data_offset + self.hdu.data_bytes;
        let end = self.hdu.end_offset().min(self.storage.bytes());
        let bytes = read_range(self.storage, begin..end)?;
        let (fill, words) = match self.hdu.kind {
            HduKind::AsciiTable => (b' ', "blanks up to the end of the block"),
            _ => (0, "zeros up to the end of the block"),
        };
        let Some(at) = bytes.iter().position(|&byte| byte != fill) else { return Ok(()) };
        let place = Place {
            hdu: Some(self.hdu.index),
            offset: Some(begin + at as u64),
            ..Place::default()
        };
        let found = format!("0x{:02x}", bytes[at]);
        let mut finding = Finding::of_rule(Rule::DataFill, place, words, found);
        finding.repeats = bytes[at + 1..].iter().filter(|&&byte| byte != fill).count() as u64;
        findings.push(finding);
        Ok(())
    }

    /// Checks the sums in the header; `rows` is the sum of the rows if already computed.
    fn check_sums(
        &self,
        rows: Option<OnesComplement>,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        if !self.updates_checksums() {
            return Ok(());
        }
        let hdu = self.hdu;
        let begin = match rows {
            Some(_) => hdu.data_offset + hdu.axes.iter().product::<u64>(),
            None => hdu.data_offset,
        };
        let end = hdu.end_offset().min(self.storage.bytes()).max(begin);
        let (mut data, _) =
            sum_of_range(self.storage, hdu.data_offset, begin..end, self.run, self.tier)?;
        data.merge(rows.unwrap_or_default());
        let bytes = read_range(self.storage, hdu.header_offset..hdu.data_offset)?;
        let mut header = OnesComplement::default();
        header.accumulate(0, &bytes, self.tier);
        let sums = Checksum::compared(hdu, data, header);
        let mut push = |rule, keyword, expected: String, found: String| {
            findings.push(Finding::of_rule(rule, hdu.header.place(keyword), expected, found));
        };
        let quoted = |text: &Option<String>| format!("{:?}", text.as_deref().unwrap_or_default());
        if sums.data.is_bad() {
            let expected = format!("DATASUM = '{}', the sum of the data", sums.datasum);
            push(Rule::Datasum, "DATASUM", expected, quoted(&sums.stated_datasum));
        }
        if sums.whole.is_bad() {
            let expected = match sums.whole {
                Agreement::Unreadable => "a checksum of 16 characters".to_owned(),
                _ => "a sum of the HDU of all ones".to_owned(),
            };
            let found = format!("{}, a sum of {:#010x}", quoted(&sums.stated_checksum), sums.sum);
            push(Rule::Checksum, "CHECKSUM", expected, found);
        }
        Ok(())
    }
}

/// Reads the bytes of a range, up to the end of the file.
pub(super) fn read_range(storage: &dyn Storage, range: Range<u64>) -> Result<Vec<u8>, Error> {
    let bytes = range.end.min(storage.bytes()).saturating_sub(range.start);
    let mut buffer = memory::filled(bytes as usize, 0, "bytes to verify")?;
    if bytes > 0 {
        storage.read_exact_at(range.start, &mut buffer)?;
    }
    Ok(buffer)
}

/// Tasks: blocks of whole rows.
struct RowTasks {
    offset: u64,
    row_bytes: u64,
    rows: u64,
    task_rows: u64,
}

impl Tasks for RowTasks {
    fn len(&self) -> u64 {
        self.rows.div_ceil(self.task_rows)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let first = index * self.task_rows;
        let end = self.rows.min(first + self.task_rows);
        ranges.push(self.offset + first * self.row_bytes..self.offset + end * self.row_bytes);
    }
}

/// Tasks: one field of one row each.
struct FieldTasks {
    offset: u64,
    bytes: u64,
    row_bytes: u64,
    rows: u64,
}

impl Tasks for FieldTasks {
    fn len(&self) -> u64 {
        self.rows
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let begin = self.offset + index * self.row_bytes;
        ranges.push(begin..begin + self.bytes);
    }
}
