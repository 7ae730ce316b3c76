//! Writing records: into a new file, which appears when it is complete, or after those of an
//! existing one.
//!
//! Records of numbers of one kind go, markers and all, through blocks of the file that lie in memory: `write_plain.rs`.
//! Short ones of several fields are made in blocks by all threads; how those are written that are long, or of several
//! subrecords, is the business of `write_long.rs`. One thread writes: the kernel lets no second one into the same file.

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

/// Blocks that may be made and wait for an earlier one to be written.
const WAITING_BLOCKS: usize = 3;

thread_local! {
    /// The block of this thread: new memory for each batch of a few records would cost more than they do.
    static BLOCK: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

tachyfits_io::options! {
    /// How a new file is written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct NewRecords {
        /// For which access.
        pub access: RecordAccess,
        /// Bytes of a marker, 4 or 8.
        pub marker_bytes: usize,
        /// The order of bytes.
        pub order: FileOrder,
        /// Replace an older file of the name.
        pub overwrite: bool,
        /// Return from finishing only when the file survives a loss of power.
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
    /// The markers, for sequential access.
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

/// Records of one layout: items in memory, one after the other, in the machine's byte order.
#[derive(Clone, Copy, Debug)]
pub struct RecordPart<'a> {
    /// The items.
    pub items: &'a [u8],
    /// How many records.
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
    /// Begins a file.
    ///
    /// # Errors
    /// As [`OutputFile::create`], and [`Code::Type`] for invalid markers.
    pub fn create(path: impl AsRef<Path>, new: &NewRecords) -> Result<RecordWriter, Error> {
        let path = path.as_ref();
        let markers = new.markers()?;
        let output = OutputFile::create(path, new.overwrite)?;
        Ok(RecordWriter { output, new: *new, markers, end: AppendBlock::new(0), records: 0 })
    }

    /// Writes records after the last ones.
    ///
    /// # Errors
    /// [`Code::Array`] if the items do not match the layout, [`Code::Length`] if its
    /// records are not direct-access records; also if the disk is full or fails. Discard the file
    /// then.
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

    /// How many records were written.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// As [`OutputFile::commit`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.end.flush(|offset, bytes| self.output.write_all_at(offset, bytes))?;
        match self.new.sync {
            true => self.output.commit_durably()?,
            false => self.output.commit()?,
        }
        Ok(())
    }
}

/// Appends records to a file, which stays unchanged if the append is not completed. Markers and
/// byte order are those of the file; `options` give them if they cannot be detected. Returns
/// notices about the file, such as an interrupted append that was undone first.
///
/// # Errors
/// If the file is damaged, cut short or not a file of such records, or cannot be written.
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
    let wanted = u128::from(*count) * u128::from(layout.item_bytes);
    if wanted != items.len() as u128 {
        let expected = format!("{wanted} bytes of items for {count} records");
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

/// Bytes of a record in the file.
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

/// Where records are written, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) sink: &'a dyn Sink,
    /// Where the first one begins.
    pub(crate) at: u64,
    pub(crate) markers: Option<RecordMarkers>,
    pub(crate) swap: bool,
    pub(crate) tier: Tier,
}

impl Target<'_> {
    /// Writes records where `end` is.
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

    /// Records of several fields, many of which fit in a block.
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
            // Markers and gaps stay from block to block.
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

    /// Puts the fields of items to their places in a block of records.
    fn put(&self, items: &[u8], block: &mut [u8], layout: &RecordLayout, count: u64, stored: u64) {
        let width = self.markers.map_or(0, RecordMarkers::bytes) as u64;
        for field in &layout.fields {
            let from = (items, field.in_items(layout.item_bytes));
            let to = (&mut *block, field.in_records(width, stored));
            field.run(count, self.swap, from, to, self.tier);
        }
    }

    /// Puts the markers of records into a block of them.
    pub(crate) fn mark(&self, block: &mut [u8], record_bytes: u64, stored: u64) {
        let Some(markers) = self.markers else { return };
        let marker = markers.write(record_bytes as i64);
        // Of a length that is known to the compiler: a call for each marker would cost more than a short record.
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

/// Makes blocks, and writes them one at a time, in order: a file takes one writer at a time anyway,
/// and threads that wait for it spin. `make` learns whether it has a block for the first time,
/// whose bytes may be arbitrary, and returns its share of the work, for the progress.
///
/// Where numbers are only copied or swapped, `light`, one thread does both: waking another one for a block takes as long as
/// making it does.
pub(crate) fn in_turn(
    options: &RunOptions<'_>,
    light: bool,
    (tasks, total): (u64, u64),
    make: impl Fn(&mut Vec<u8>, bool, u64) -> Result<u64, Error> + Sync,
    mut place: impl FnMut(u64, &[u8]) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let mut done = 0;
    if light || options.threads == 1 || tasks < 2 {
        // Taken from its place, as a report of progress may write records, too.
        let mut block = BLOCK.take();
        let written = (0..tasks).try_for_each(|task| {
            done += make(&mut block, task == 0, task)?;
            place(task, &block)?;
            options.check(done, total).map_err(Error::from)
        });
        BLOCK.set(block);
        return written;
    }
    let run = tachyfits_io::PipelineOptions::default()
        .threads(options.threads)
        .waiting(WAITING_BLOCKS)
        .job(options.job);
    // Blocks that were written: markers and gaps stay in them for later ones.
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

/// Does tasks on all threads; each gives the bytes that it has done, for the progress.
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
