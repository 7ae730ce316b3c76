//! Writing records: into a new file, which appears when complete, or appended to an existing file.
//!
//! Records of numbers of one size are assembled with their markers in blocks in memory: `write_plain.rs`. All threads
//! assemble blocks of short records with several fields; `write_long.rs` writes long records and records of several
//! subrecords. A single thread writes, because the kernel permits only one writer per file.

use std::cell::Cell;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tachyfits_io::operation::RunOptions;
use tachyfits_io::{AppendBlock, IoError, Notice, OutputFile, Patch, Purpose, Stamp, run_tasks};
use tachyfits_kernels::Tier;
use tachyfits_memory as memory;

use crate::error::{Code, Error};
use crate::file::{RecordAccess, RecordFile, RecordOptions};
use crate::layout::{BLOCK_BYTES, LONG_RECORD, RecordLayout};
use crate::markers::{FileOrder, RecordMarkers};

/// Maximum number of finished blocks that wait for an earlier block to be written.
const WAITING_BLOCKS: usize = 3;

thread_local! {
    /// Block of this thread: for small batches of records, allocating memory each time costs more than the records.
    static BLOCK: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

tachyfits_io::options! {
    /// Options of a new file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct NewRecords {
        /// Access method.
        pub access: RecordAccess,
        /// Bytes per marker, 4 or 8.
        pub marker_bytes: usize,
        /// Byte order.
        pub order: FileOrder,
        /// Replace an existing file of the same name.
        pub overwrite: bool,
        /// Make the file survive a power failure before finishing returns.
        pub sync: bool,
    }
}

impl Default for NewRecords {
    fn default() -> NewRecords {
        NewRecords {
            access: RecordAccess::Sequential,
            marker_bytes: 4,
            order: FileOrder::NATIVE,
            overwrite: false,
            sync: false,
        }
    }
}

impl NewRecords {
    /// Returns the markers, for sequential access.
    pub(crate) fn markers(&self) -> Result<Option<RecordMarkers>, Error> {
        if self.access != RecordAccess::Sequential {
            return Ok(None);
        }
        let markers = RecordMarkers::new(self.marker_bytes, self.order);
        let found = || format!("{} bytes", self.marker_bytes);
        markers
            .map(Some)
            .ok_or_else(|| Error::refused(Code::Type, "markers of 4 or 8 bytes", found()))
    }
}

/// Records of one layout: consecutive items in memory, in the machine's byte order.
#[derive(Clone, Copy, Debug)]
pub struct RecordPart<'a> {
    /// Bytes of the items.
    pub items: &'a [u8],
    /// Number of records.
    pub count: u64,
    /// Layout of the written records. Bytes of a record outside fields are 0.
    pub layout: &'a RecordLayout,
}

/// A new unformatted file.
///
/// ```
/// use tachyfits_records::{FileOrder, NewRecords, RecordLayout, RecordPart, RecordWriter, RunOptions};
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("new.dat");
/// let new = NewRecords::default().order(FileOrder::Big);
/// let mut writer = RecordWriter::create(&path, &new)?;
/// let layout = RecordLayout::plain(4, 2);
/// let items = bytemuck::cast_slice(&[1i16, 2]);
/// writer.write(&RecordPart { items, count: 1, layout: &layout }, &RunOptions::default())?;
/// writer.finish()?;
/// assert_eq!(std::fs::read(&path).unwrap(), [0, 0, 0, 4, 0, 1, 0, 2, 0, 0, 0, 4]);
/// # Ok::<(), tachyfits_records::Error>(())
/// ```
#[derive(Debug)]
pub struct RecordWriter {
    output: OutputFile,
    new: NewRecords,
    markers: Option<RecordMarkers>,
    end: AppendBlock,
    records: u64,
}

impl RecordWriter {
    /// Creates a file.
    ///
    /// # Errors
    /// Returns the errors of [`OutputFile::create`], and [`Code::Type`] for invalid markers.
    pub fn create(path: impl AsRef<Path>, new: &NewRecords) -> Result<RecordWriter, Error> {
        let path = path.as_ref();
        let markers = new.markers()?;
        let output = OutputFile::create(path, new.overwrite)?;
        Ok(RecordWriter { output, new: *new, markers, end: AppendBlock::new(0), records: 0 })
    }

    /// Appends records.
    ///
    /// # Errors
    /// [`Code::Array`] if the items do not match the layout, [`Code::Length`] if direct access needs another record
    /// length, and I/O errors if the disk is full or fails. Discard the file after an error.
    pub fn write(&mut self, part: &RecordPart<'_>, options: &RunOptions<'_>) -> Result<(), Error> {
        let checked = check_part(part, self.new.access);
        checked.map_err(|error| error.in_file(&self.output.path().display().to_string()))?;
        let to = Target {
            sink: &self.output,
            at: self.end.end(),
            markers: self.markers,
            swap: self.new.order != FileOrder::NATIVE,
            tier: Tier::current(),
        };
        to.write(part, &mut self.end, options)?;
        self.records += part.count;
        Ok(())
    }

    /// Number of written records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// Returns the errors of [`OutputFile::commit`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.end.flush(|offset, bytes| self.output.write_all_at(offset, bytes))?;
        match self.new.sync {
            true => self.output.commit_durably()?,
            false => self.output.commit()?,
        }
        Ok(())
    }
}

/// Appends records to a file, which stays unchanged if the append is not completed. Markers and byte order are those of
/// the file; `options` specify them if they cannot be detected. Returns notices about the file, such as an interrupted
/// append that was undone first.
///
/// # Errors
/// Returns an error if the file is damaged, truncated, not a file of such records, or not writable.
pub fn append_records(
    path: impl AsRef<Path>,
    options: &RecordOptions,
    parts: &[RecordPart<'_>],
    run: &RunOptions<'_>,
) -> Result<Vec<Notice>, Error> {
    let path = path.as_ref();
    let options = RecordOptions { recover: false, ..options.clone() };
    let file = RecordFile::open_for(&path.into(), &options, Purpose::Changing)?;
    let stamp = Stamp::of(path)?;
    file.len()?;
    file.check_unchanged()?;
    let end = file.index()?.end();
    if end != stamp.bytes() {
        let expected = format!("whole records up to the end of the file at byte {}", stamp.bytes());
        let found = format!("the last whole record ends at byte {end}");
        return Err(file.refused(Code::Type, expected, found));
    }
    let mut all = end;
    for part in parts {
        check_part(part, file.access()).map_err(|error| error.in_file(file.name()))?;
        all += part.count * stored_bytes(file.markers(), part.layout.record_bytes);
    }
    let patch = Patch::begin(path, &stamp, &[], all)?;
    let mut end = AppendBlock::new(end);
    for part in parts {
        let to = Target {
            sink: &patch,
            at: end.end(),
            markers: file.markers(),
            swap: file.order() != FileOrder::NATIVE,
            tier: Tier::current(),
        };
        to.write(part, &mut end, run)?;
    }
    end.flush(|offset, bytes| patch.write_all_at(offset, bytes))?;
    patch.commit()?;
    Ok(file.notices().to_vec())
}

fn check_part(part: &RecordPart<'_>, access: RecordAccess) -> Result<(), Error> {
    let RecordPart { items, count, layout } = part;
    layout.check()?;
    let size = u128::from(*count) * u128::from(layout.item_bytes);
    if size != items.len() as u128 {
        let expected = format!("{size} bytes of items for {count} records");
        return Err(Error::refused(Code::Array, expected, format!("{} bytes", items.len())));
    }
    match access {
        RecordAccess::Direct(record_bytes) if record_bytes != layout.record_bytes => {
            let expected = format!("records of direct access of {record_bytes} bytes");
            let found = format!("records of {} bytes", layout.record_bytes);
            Err(Error::refused(Code::Length, expected, found))
        }
        _ => Ok(()),
    }
}

/// Bytes of a record in the file, its markers included.
pub(crate) fn stored_bytes(markers: Option<RecordMarkers>, record_bytes: u64) -> u64 {
    markers.map_or(record_bytes, |markers| markers.stored_bytes(record_bytes))
}

/// A target with writes at offsets.
pub(crate) trait Sink: Sync + Debug {
    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError>;
}

impl Sink for OutputFile {
    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        OutputFile::write_all_at(self, offset, bytes)
    }
}

impl Sink for Patch {
    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        Patch::write_all_at(self, offset, bytes)
    }
}

/// Destination of records, and their encoding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) sink: &'a dyn Sink,
    /// Offset of the first record.
    pub(crate) at: u64,
    pub(crate) markers: Option<RecordMarkers>,
    pub(crate) swap: bool,
    pub(crate) tier: Tier,
}

impl Target<'_> {
    /// Writes records at `end`.
    fn write(
        &self,
        part: &RecordPart<'_>,
        end: &mut AppendBlock,
        options: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let stored = stored_bytes(self.markers, part.layout.record_bytes);
        let whole = self.markers.is_none_or(|of| part.layout.record_bytes <= of.longest());
        if let Some(size) = part.layout.is_plain().filter(|_| whole) {
            return self.write_plain(part, size, end, options);
        }
        end.flush(|offset, bytes| self.sink.write_all_at(offset, bytes))?;
        if stored <= LONG_RECORD {
            self.write_short(part, stored, options)?;
        } else {
            for record in 0..part.count {
                let item = part.layout.item_bytes as usize;
                let items = &part.items[record as usize * item..][..item];
                let at = self.at + record * stored;
                Target { at, ..*self }.write_long(items, part.layout, options)?;
            }
        }
        end.go_on_at(self.at + part.count * stored);
        Ok(())
    }

    /// Writes records of several fields, many of which fit in a block.
    fn write_short(
        &self,
        part: &RecordPart<'_>,
        stored: u64,
        options: &RunOptions<'_>,
    ) -> Result<(), Error> {
        if stored == 0 || part.count == 0 {
            return Ok(());
        }
        let layout = part.layout;
        let in_block = (BLOCK_BYTES / stored).clamp(1, part.count);
        let tasks = part.count.div_ceil(in_block);
        let records = |task: u64| in_block.min(part.count - task * in_block);
        let make = |block: &mut Vec<u8>, fresh: bool, task: u64| {
            let count = records(task);
            // Reused blocks keep their markers and gaps.
            if fresh {
                block.clear();
                memory::resize(block, (in_block * stored) as usize, 0, "records to write")?;
                self.mark(block, layout.record_bytes, stored);
            }
            let items = &part.items[(task * in_block * layout.item_bytes) as usize..];
            self.put(items, block, layout, count, stored);
            Ok(count * layout.item_bytes)
        };
        let all = (tasks, part.items.len() as u64);
        in_turn(options, false, all, make, |task, block| {
            let block = &block[..(records(task) * stored) as usize];
            Ok(self.sink.write_all_at(self.at + task * in_block * stored, block)?)
        })
    }

    /// Copies the fields of items to their places in a block of records.
    fn put(&self, items: &[u8], block: &mut [u8], layout: &RecordLayout, count: u64, stored: u64) {
        let width = self.markers.map_or(0, RecordMarkers::bytes) as u64;
        for field in &layout.fields {
            let from = (items, field.in_items(layout.item_bytes));
            let to = (&mut *block, field.in_records(width, stored));
            field.run(count, self.swap, from, to, self.tier);
        }
    }

    /// Writes the markers of records into a block.
    pub(crate) fn mark(&self, block: &mut [u8], record_bytes: u64, stored: u64) {
        let Some(markers) = self.markers else { return };
        let marker = markers.write(record_bytes as i64);
        // A width known to the compiler avoids a call per marker, which would cost more than a short record.
        match markers.bytes() {
            4 => mark_as(block, stored, *marker.first_chunk::<4>().expect("8 bytes")),
            _ => mark_as(block, stored, marker),
        }
    }
}

fn mark_as<const WIDTH: usize>(block: &mut [u8], stored: u64, marker: [u8; WIDTH]) {
    for record in block.chunks_exact_mut(stored as usize) {
        *record.first_chunk_mut().expect("a record with markers") = marker;
        *record.last_chunk_mut().expect("a record with markers") = marker;
    }
}

/// Assembles blocks in parallel, and writes them one at a time in order: a file permits one writer, and waiting threads
/// would spin. `make` learns whether its block is new, with arbitrary bytes, and returns the number of bytes done, for
/// the progress.
///
/// If numbers are only copied or swapped (`light`), one thread does both: waking another thread for a block takes as
/// long as assembling it.
pub(crate) fn in_turn(
    options: &RunOptions<'_>,
    light: bool,
    (tasks, total): (u64, u64),
    make: impl Fn(&mut Vec<u8>, bool, u64) -> Result<u64, Error> + Sync,
    mut place: impl FnMut(u64, &[u8]) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let mut done = 0;
    if light || options.threads == 1 || tasks < 2 {
        // The block is taken from its cell, because a progress callback may write records too.
        let mut block = BLOCK.take();
        let result = (0..tasks).try_for_each(|task| {
            done += make(&mut block, task == 0, task)?;
            place(task, &block)?;
            options.check(done, total).map_err(Error::from)
        });
        BLOCK.set(block);
        return result;
    }
    let run = tachyfits_io::PipelineOptions::default()
        .threads(options.threads)
        .waiting(WAITING_BLOCKS)
        .job(options.job);
    // Written blocks, reused with their markers and gaps.
    let spare: Mutex<Vec<Vec<u8>>> = Mutex::default();
    let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    run_tasks(
        tasks,
        &run,
        || (),
        |(), task| {
            let used = spare().pop();
            let fresh = used.is_none();
            let mut block = used.unwrap_or_default();
            let bytes = make(&mut block, fresh, task)?;
            Ok((block, bytes))
        },
        |task, (block, bytes)| {
            place(task, &block)?;
            spare().push(block);
            done += bytes;
            options.check(done, total).map_err(Error::from)
        },
    )?;
    Ok(())
}

/// Runs tasks on all threads; each returns the number of bytes done, for the progress.
pub(crate) fn parallel<W>(
    options: &RunOptions<'_>,
    tasks: u64,
    total: u64,
    scratch: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, u64) -> Result<u64, Error> + Sync,
) -> Result<(), Error> {
    let run = tachyfits_io::PipelineOptions::default().threads(options.threads).job(options.job);
    let mut done = 0;
    run_tasks(tasks, &run, scratch, work, |_task, bytes| {
        done += bytes;
        options.check(done, total).map_err(Error::from)
    })?;
    Ok(())
}
