//! Rows whose fields have new positions, because columns were inserted or removed. The rows are
//! rebuilt when they are read.

use std::fmt;
use std::ops::Range;

use tachyfits_io::{Id, IoError, Profile, Storage};
use tachyfits_memory::{self as memory, NoMemory};

use super::content::{KeptBytes, Rope, Source};

/// Bytes of old rows processed together.
const BLOCK_BYTES: u64 = 256 << 10;

/// Rows whose fields have new positions.
pub(crate) struct Restride {
    base: Rope,
    old_row_bytes: u64,
    row_bytes: u64,
    rows: u64,
    /// Runs of bytes of an old row, and their new positions.
    runs: Vec<Run>,
    /// A new field: its offset in the row, its width, and the contiguous fields.
    field: Option<(u64, u64, Rope)>,
    /// Fill byte of a row.
    fill: u8,
}

/// Bytes of a row that move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) bytes: u64,
}

impl fmt::Debug for Restride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Restride({:?}, rows of {} bytes)", self.base, self.row_bytes)
    }
}

impl Restride {
    /// Rebuilds `rows` rows of `old_row_bytes` bytes as rows of `row_bytes` bytes.
    pub(crate) fn new(
        base: Rope,
        rows: u64,
        (old_row_bytes, row_bytes): (u64, u64),
        runs: Vec<Run>,
        fill: u8,
    ) -> Restride {
        Restride { base, old_row_bytes, row_bytes, rows, runs, field: None, fill }
    }

    /// Adds a new field to the rows.
    pub(crate) fn with_field(mut self, at: u64, width: u64, fields: Rope) -> Restride {
        self.field = Some((at, width, fields));
        self
    }

    /// Builds whole rows.
    fn make(&self, rows: Range<u64>, out: &mut [u8]) -> Result<(), IoError> {
        out.fill(self.fill);
        let count = rows.end - rows.start;
        let length = (count * self.old_row_bytes) as usize;
        let mut old = memory::filled(length, 0, "rows of the old table")?;
        if !self.runs.is_empty() {
            self.base.read(rows.start * self.old_row_bytes, &mut old)?;
        }
        let stride = self.row_bytes as usize;
        let mut copy = |from: &[u8], from_stride: usize, run: &Run| {
            let (at, to, length) = (run.from as usize, run.to as usize, run.bytes as usize);
            for (from, row) in from.chunks_exact(from_stride).zip(out.chunks_exact_mut(stride)) {
                row[to..to + length].copy_from_slice(&from[at..at + length]);
            }
        };
        for run in self.runs.iter().filter(|run| run.bytes > 0) {
            copy(&old, self.old_row_bytes as usize, run);
        }
        if let Some((at, width, fields)) = self.field.as_ref().filter(|(_, width, _)| *width > 0) {
            let mut new = memory::filled((count * width) as usize, 0, "fields of a new column")?;
            fields.read(rows.start * width, &mut new)?;
            copy(&new, *width as usize, &Run { from: 0, to: *at, bytes: *width });
        }
        Ok(())
    }
}

impl Storage for Restride {
    fn id(&self) -> &Id {
        static ID: Id = Id::named("rows with other columns");
        &ID
    }

    fn profile(&self) -> Profile {
        Profile::DEVICE
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.base.check_unchanged()
    }

    fn bytes(&self) -> u64 {
        self.rows * self.row_bytes
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let end = offset + buffer.len() as u64;
        let block = (BLOCK_BYTES / self.row_bytes.max(self.old_row_bytes).max(1)).max(1);
        let mut rows_buffer = Vec::new();
        let mut at = offset;
        while at < end {
            let first = at / self.row_bytes;
            let rows = first..(first + block).min(end.div_ceil(self.row_bytes));
            let (begin, stop) = (first * self.row_bytes, rows.end * self.row_bytes);
            let (out_begin, out_end) = ((at - offset) as usize, (stop.min(end) - offset) as usize);
            let out = &mut buffer[out_begin..out_end];
            if begin == at && stop <= end {
                self.make(rows, out)?;
            } else {
                memory::resize(
                    &mut rows_buffer,
                    (stop - begin) as usize,
                    0,
                    "rows of the new table",
                )?;
                self.make(rows, &mut rows_buffer)?;
                let from = (at - begin) as usize;
                let length = out.len();
                out.copy_from_slice(&rows_buffer[from..from + length]);
            }
            at = stop.min(end);
        }
        Ok(())
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        let first = range.start / self.row_bytes.max(1);
        let begin = (first * self.old_row_bytes).min(self.base.bytes());
        self.base.is_resident(begin..(begin + self.old_row_bytes).min(self.base.bytes()))
    }
}

impl Source for Restride {
    fn kept(&self, _range: Range<u64>, _parts: &mut Vec<KeptBytes>) -> Result<(), NoMemory> {
        Ok(())
    }

    fn reads_own(&self) -> bool {
        self.base.reads_own(0..self.base.bytes())
            || self.field.as_ref().is_some_and(|(_, _, fields)| fields.reads_own(0..fields.bytes()))
    }

    fn depth(&self) -> usize {
        let fields = self.field.as_ref().map_or(0, |(_, _, fields)| fields.depth());
        self.base.depth().max(fields) + 1
    }
}
