//! Commits an edit: in place if little changes and the rest keeps its position, else as a new file
//! that replaces the old one when it is complete.

use std::ops::Range;
use std::path::Path;

use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{
    IoError, OutputFile, Patch, Report, SpoolOptions, SpoolWriter, Stamp, Storage, Tasks,
};
use tachyfits_memory as memory;

use super::plan::EditPlan;
use crate::error::Error;

/// Bytes per task.
const PIECE_BYTES: u64 = 1 << 20;
/// Purpose of the allocation, for error messages.
const PART: &str = "a part of an edited file";

/// Result of [`super::Editor::commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Whether the file was changed in place; otherwise a new file replaced it.
    pub in_place: bool,
    /// Bytes written.
    pub bytes_written: u64,
    /// Size of the file after the commit.
    pub bytes: u64,
}

/// Writes the plan to the file.
pub(crate) fn commit(
    path: &Path,
    stamp: &Stamp,
    plan: &EditPlan,
    sync: bool,
    run: &RunOptions<'_>,
) -> Result<Committed, Error> {
    let dirty = plan.dirty()?;
    let bytes = plan.bytes();
    if dirty.is_empty() && bytes == stamp.bytes() {
        return Ok(Committed { in_place: true, bytes_written: 0, bytes });
    }
    let cost = plan.cost(&dirty);
    let changed = Committed { in_place: true, bytes_written: cost.written, bytes };
    let rebuilt = Committed { in_place: false, bytes_written: bytes, bytes };
    // A new file would leave other names (hard links) with the old content.
    if stamp.has_other_names() {
        return in_place(path, stamp, plan, &dirty, run).map(|()| changed);
    }
    // A new file costs one read and one write of all bytes.
    if cost.in_place() <= 2 * bytes {
        return match in_place(path, stamp, plan, &dirty, run) {
            // The journal cannot be created: another user's file has its name, or the name is too long.
            Err(Error::Io(IoError::Create { .. })) => {
                rebuild(path, stamp, plan, sync, run).map(|()| rebuilt)
            }
            outcome => outcome.map(|()| changed),
        };
    }
    match rebuild(path, stamp, plan, sync, run) {
        // A new file with this owner and permissions cannot be created, but the old one may be writable.
        Err(Error::Io(IoError::Create { .. })) => {
            in_place(path, stamp, plan, &dirty, run).map(|()| changed)
        }
        outcome => outcome.map(|()| rebuilt),
    }
}

fn in_place(
    path: &Path,
    stamp: &Stamp,
    plan: &EditPlan,
    dirty: &[Range<u64>],
    run: &RunOptions<'_>,
) -> Result<(), Error> {
    // Read parts that come from the file itself before writing to it.
    let mut spool = SpoolWriter::new(plan.name(), SpoolOptions::default());
    let mut piece = Vec::new();
    let is_own = |range: &Range<u64>| plan.rope.reads_own(range.clone());
    for range in dirty.iter().filter(|range| is_own(range)) {
        for part in pieces(range) {
            memory::resize(&mut piece, (part.end - part.start) as usize, 0, PART)?;
            plan.read_exact_at(part.start, &mut piece)?;
            spool.write_all(&piece)?;
        }
    }
    let spool = spool.finish()?;
    // Check before writing: new pixels that are computed from this file would fail the check afterwards.
    plan.rope.check_unchanged()?;
    let patch = Patch::begin(path, stamp, dirty, plan.bytes())?;
    let mut position = 0;
    for range in dirty {
        if !is_own(range) {
            copy(plan, range.clone(), run, |at, bytes| Ok(patch.write_all_at(at, bytes)?))?;
            continue;
        }
        for part in pieces(range) {
            memory::resize(&mut piece, (part.end - part.start) as usize, 0, PART)?;
            spool.read_exact_at(position, &mut piece)?;
            position += piece.len() as u64;
            patch.write_all_at(part.start, &piece)?;
        }
    }
    Ok(patch.commit()?)
}

fn rebuild(
    path: &Path,
    stamp: &Stamp,
    plan: &EditPlan,
    sync: bool,
    run: &RunOptions<'_>,
) -> Result<(), Error> {
    let _lock = stamp.hold(path)?;
    let mut output = OutputFile::succeed(path)?;
    output.reserve(plan.bytes())?;
    copy(plan, 0..plan.bytes(), run, |at, bytes| Ok(output.write_all_at(at, bytes)?))?;
    plan.rope.check_unchanged()?;
    stamp.check(path)?;
    match sync {
        true => output.commit_durably()?,
        false => output.commit()?,
    }
    Ok(())
}

/// Passes a range to `write`, piece by piece, on several threads.
fn copy(
    plan: &EditPlan,
    range: Range<u64>,
    options: &RunOptions<'_>,
    write: impl Fn(u64, &[u8]) -> Result<(), Error> + Sync,
) -> Result<Report, Error> {
    let progress = Progress { options: *options, total: range.end - range.start };
    let begin = range.start;
    tachyfits_io::run(
        plan,
        &CommitTasks(range),
        &progress.run_options(),
        || (),
        |(), task, fetched| write(begin + task * PIECE_BYTES, fetched.piece(0)),
        |_task, ()| Ok(()),
    )
}

/// Tasks: a range in pieces.
struct CommitTasks(Range<u64>);

impl Tasks for CommitTasks {
    fn len(&self) -> u64 {
        (self.0.end - self.0.start).div_ceil(PIECE_BYTES)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let begin = self.0.start + index * PIECE_BYTES;
        ranges.push(begin..self.0.end.min(begin + PIECE_BYTES));
    }
}

fn pieces(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let range = range.clone();
    let count = (range.end - range.start).div_ceil(PIECE_BYTES);
    (0..count).map(move |index| {
        let begin = range.start + index * PIECE_BYTES;
        begin..range.end.min(begin + PIECE_BYTES)
    })
}
