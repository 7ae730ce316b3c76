//! Checksums of ranges of bytes, computed piece by piece on all threads, and their cards.

use std::ops::Range;

use tachyfits_format::{FormatError, Header, NO_CHECKSUM};
use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Report, Storage, Tasks};
use tachyfits_kernels::{OnesComplement, Tier, encode_checksum};

use crate::error::Error;

/// Bytes per task: a multiple of the 4 bytes of a word.
const TASK_BYTES: u64 = 1 << 20;

/// Writes DATASUM, and CHECKSUM, which makes the sum of the whole HDU all ones. Comments stay.
pub(crate) fn update_checksums(
    header: &mut Header,
    data: OnesComplement,
    tier: Tier,
) -> Result<(), FormatError> {
    header.set("DATASUM", data.sum().to_string(), "")?;
    header.set("CHECKSUM", NO_CHECKSUM, "")?;
    let mut whole = data;
    whole.accumulate(0, &header.to_bytes(), tier);
    let checksum = encode_checksum(whole.sum(), true);
    header.set("CHECKSUM", String::from_utf8_lossy(&checksum).as_ref(), "")
}

/// Returns the sum of a range of bytes. The first word of the sum begins at offset `base`.
pub(crate) fn sum_of_range(
    storage: &dyn Storage,
    base: u64,
    range: Range<u64>,
    options: &RunOptions<'_>,
    tier: Tier,
) -> Result<(OnesComplement, Report), Error> {
    let mut sum = OnesComplement::default();
    let before = range.start - base;
    let of_piece = |at, piece: &[u8]| {
        let mut part = OnesComplement::default();
        part.accumulate(before + at, piece, tier);
        Ok(part)
    };
    let report = each_piece(storage, range, options, of_piece, |part| sum.merge(part))?;
    Ok((sum, report))
}

/// Passes a range of bytes to `work`, piece by piece, on all threads, each with its offset in the
/// range; passes the results to `take`, in order.
pub(crate) fn each_piece<T: Send>(
    storage: &dyn Storage,
    range: Range<u64>,
    options: &RunOptions<'_>,
    work: impl Fn(u64, &[u8]) -> Result<T, Error> + Sync,
    mut take: impl FnMut(T) + Send,
) -> Result<Report, Error> {
    let progress = Progress { options: *options, total: range.end - range.start };
    tachyfits_io::run(
        storage,
        &SumTasks(range),
        &progress.run_options(),
        || (),
        |(), task, fetched| work(task * TASK_BYTES, fetched.piece(0)),
        |_task, part| {
            take(part);
            Ok(())
        },
    )
}

/// Tasks: a range of bytes in pieces of equal size.
struct SumTasks(Range<u64>);

impl Tasks for SumTasks {
    fn len(&self) -> u64 {
        (self.0.end - self.0.start).div_ceil(TASK_BYTES)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let begin = self.0.start + index * TASK_BYTES;
        ranges.push(begin..self.0.end.min(begin + TASK_BYTES));
    }
}
