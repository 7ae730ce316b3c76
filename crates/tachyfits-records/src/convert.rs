//! Converts a file to other markers, another byte order, or reals of half the precision: streamed, and visible only
//! when complete.
//!
//! All threads convert blocks of consecutive short records; the destination of each record follows from the lengths
//! alone. Long records are converted piece by piece.

use std::path::Path;

use tachyfits_io::OutputFile;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{
    ByteOrder, Encoding, PixelType, Tier, decode_f32, decode_quads, swap_in_place,
};
use tachyfits_memory as memory;

use crate::error::{Code, Error};
use crate::file::{RecordAccess, RecordFile};
use crate::form::{ItemKind, RecordForm, RecordItem};
use crate::layout::{BLOCK_BYTES, LONG_RECORD, NumberRun, Steps};
use crate::markers::FileOrder;
use crate::payload::Payload;
use crate::stretches::{Stretch, Stretches};
use crate::write::{NewRecords, Target, parallel, stored_bytes};

tachyfits_io::options! {
    /// Options of a conversion.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Conversion {
        /// The new file.
        pub new: NewRecords,
        /// Forms of the records, in rotation: the first record has the first form, and the first form follows the last
        /// again. Not needed if bytes stay unchanged.
        pub forms: Vec<RecordForm>,
        /// Repeat the last form instead of the rotation: for a header followed by records of one kind.
        pub last_repeats: bool,
        /// Reals, and parts of complex numbers, to store with half the bytes, rounded to nearest: numbers that are too
        /// small become 0, numbers that are too large are errors.
        pub narrowing: Option<Narrowing>,
    }
}

/// Purpose of the memory, for errors.
const CONVERTED: &str = "converted records";

/// Reals that are written with half the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Narrowing {
    /// 8-byte reals become 4-byte reals.
    Single,
    /// 16-byte reals become 8-byte reals.
    Double,
}

impl Narrowing {
    /// Bytes of the reals that it converts.
    pub fn bytes(self) -> u64 {
        match self {
            Narrowing::Single => 8,
            Narrowing::Double => 16,
        }
    }
}

impl Conversion {
    /// Returns the index of a record's form, and the maximum number of consecutive records that have it.
    fn form_of(&self, record: u64) -> (usize, u64) {
        let forms = self.forms.len() as u64;
        match forms {
            0 | 1 => (0, u64::MAX),
            _ if self.last_repeats && record >= forms - 1 => (self.forms.len() - 1, u64::MAX),
            _ => ((record % forms) as usize, 1),
        }
    }
}

impl RecordFile {
    /// Writes the records as a new file.
    ///
    /// # Errors
    /// [`Code::Type`] if forms are needed but missing, [`Code::Length`] if records of direct access would differ in
    /// length, [`Code::Precision`] if a number does not fit the shorter type; errors if records do not match their
    /// forms, or if the file is damaged or cannot be read or written. An existing file of the new name stays unchanged
    /// then.
    pub fn convert(
        &self,
        path: impl AsRef<Path>,
        conversion: &Conversion,
        options: &RunOptions<'_>,
    ) -> Result<u64, Error> {
        let path = path.as_ref();
        let new = &conversion.new;
        let swap = new.order != self.order();
        if conversion.forms.is_empty() && (swap || conversion.narrowing.is_some()) {
            let expected = "the form of the records, to change byte order or precision";
            return Err(self.refused(Code::Type, expected, "none"));
        }
        let records = self.len()?;
        let markers = new.markers().map_err(|error| error.in_file(self.name()))?;
        let output = OutputFile::create(path, new.overwrite)?;
        let converter = Converter {
            file: self,
            payload: Payload::new(self.storage(), self.index()?, 0..records)?,
            conversion,
            target: Target { sink: &output, at: 0, markers, swap: false, tier: Tier::current() },
            options,
        };
        converter.run()?;
        match new.sync {
            true => output.commit_durably()?,
            false => output.commit()?,
        }
        Ok(records)
    }
}

struct Converter<'a> {
    file: &'a RecordFile,
    payload: Payload<'a>,
    conversion: &'a Conversion,
    target: Target<'a>,
    options: &'a RunOptions<'a>,
}

/// State of a worker.
#[derive(Default)]
struct ConvertBuffers {
    payload: Vec<u8>,
    native: Vec<u8>,
    double: Vec<f64>,
    single: Vec<f32>,
    halves: Vec<u8>,
    block: Vec<u8>,
}

/// Source and destination of items: records, or groups, with nested repetitions.
struct Move<'a> {
    /// Number of the first record.
    record: u64,
    steps: Vec<Steps>,
    payload: &'a [u8],
    out: &'a mut [u8],
    buffers: &'a mut ConvertBuffers,
}

impl Converter<'_> {
    fn run(&self) -> Result<(), Error> {
        let mut stretches = Stretches::default();
        let (mut position, mut at, mut done) = (0, 0, 0);
        for run in self.file.index()?.runs() {
            let mut within = 0;
            while within < run.count {
                let record = run.first + within;
                let (form, of_form) = self.conversion.form_of(record);
                let (bytes, new_bytes) = (run.bytes, self.new_bytes(record, run.bytes, form)?);
                let stored = stored_bytes(self.target.markers, new_bytes);
                let together = of_form.min(run.count - within);
                let stretch =
                    |count| Stretch { record, count, bytes, new_bytes, stored, form, position, at };
                if bytes.max(stored) > LONG_RECORD {
                    self.convert_planned(&mut stretches, &mut done)?;
                    self.convert_long(&stretch(1))?;
                    done += bytes;
                    (within, position, at) = (within + 1, position + bytes, at + stored);
                    continue;
                }
                let room = BLOCK_BYTES / bytes.max(stored).max(1);
                let count = together.min(room.max(1));
                stretches.push(stretch(count));
                (within, position, at) =
                    (within + count, position + count * bytes, at + count * stored);
                if stretches.are_many() {
                    self.convert_planned(&mut stretches, &mut done)?;
                }
            }
        }
        self.convert_planned(&mut stretches, &mut done)
    }

    /// Bytes of a converted record.
    fn new_bytes(&self, record: u64, bytes: u64, form: usize) -> Result<u64, Error> {
        let new_bytes = match self.conversion.narrowing {
            None => bytes,
            Some(_) => {
                self.items(record, bytes, form)?.iter().map(|item| self.bytes_of(item)).sum()
            }
        };
        match self.conversion.new.access {
            RecordAccess::Direct(record_bytes) if record_bytes != new_bytes => {
                let expected = format!("records of direct access of {record_bytes} bytes");
                let found = format!("record {record} (from 0), which becomes one of {new_bytes}");
                Err(self.file.refused(Code::Length, expected, found))
            }
            _ => Ok(new_bytes),
        }
    }

    /// Items of a record; a single item of bytes if the record has no form.
    fn items(&self, record: u64, bytes: u64, form: usize) -> Result<Vec<RecordItem>, Error> {
        let Some(form) = self.conversion.forms.get(form) else {
            let kind = ItemKind::Character;
            let parts = Vec::new();
            return Ok(vec![RecordItem { kind, size: 1, count: bytes, offset: 0, parts }]);
        };
        form.items(bytes).map_err(|error| {
            let place = format!("{}: record {record} (from 0)", self.file.name());
            error.in_file(&place).into()
        })
    }

    fn narrows(&self, item: &RecordItem) -> Option<Narrowing> {
        let floating = matches!(item.kind, ItemKind::Real | ItemKind::Complex);
        let narrowing = self.conversion.narrowing.filter(|_| floating);
        narrowing.filter(|narrowing| narrowing.bytes() == item.number_bytes())
    }

    /// Bytes of a converted element of an item or a group.
    fn size_of(&self, item: &RecordItem) -> u64 {
        match item.kind {
            ItemKind::Group => item.parts.iter().map(|part| self.bytes_of(part)).sum(),
            _ if self.narrows(item).is_some() => item.size / 2,
            _ => item.size,
        }
    }

    /// Bytes of a converted item.
    fn bytes_of(&self, item: &RecordItem) -> u64 {
        item.count * self.size_of(item)
    }

    /// Whether the bytes of an item's numbers are swapped.
    fn swaps(&self, item: &RecordItem) -> bool {
        self.conversion.new.order != self.file.order() && item.number_bytes() > 1
    }

    fn convert_planned(&self, stretches: &mut Stretches, done: &mut u64) -> Result<(), Error> {
        let stretches = stretches.take();
        let start = *done;
        let total = self.payload.bytes();
        let tell = |now: u64, _: u64| {
            if let Some(progress) = self.options.progress {
                progress((start + now).min(total), total);
            }
        };
        let options = self.options.progress(Some(&tell));
        let in_all = stretches.iter().flatten().map(|stretch| stretch.count * stretch.bytes).sum();
        parallel(
            &options,
            stretches.len() as u64,
            in_all,
            ConvertBuffers::default,
            |buffers, task| self.convert_block(&stretches[task as usize], buffers),
        )?;
        *done += in_all;
        Ok(())
    }

    /// Converts consecutive stretches, and writes them at once.
    fn convert_block(
        &self,
        stretches: &[Stretch],
        buffers: &mut ConvertBuffers,
    ) -> Result<u64, Error> {
        let mut total = 0;
        let mut block = std::mem::take(&mut buffers.block);
        let Some(first) = stretches.first() else { return Ok(0) };
        let end = stretches.last().map_or(0, |last| last.at + last.count * last.stored);
        block.clear();
        memory::resize(&mut block, (end - first.at) as usize, 0, CONVERTED)?;
        for stretch in stretches {
            let out = (stretch.at - first.at) as usize;
            let out = &mut block[out..out + (stretch.count * stretch.stored) as usize];
            if stretch.stored > 0 {
                self.target.mark(out, stretch.new_bytes, stretch.stored);
            }
            let bytes = stretch.count * stretch.bytes;
            let mut payload = std::mem::take(&mut buffers.payload);
            memory::resize(&mut payload, bytes as usize, 0, CONVERTED)?;
            self.payload.read(stretch.position, &mut payload, 1, self.target.tier)?;
            let result = self.convert_stretch(stretch, &payload, out, buffers);
            buffers.payload = payload;
            result?;
            total += bytes;
        }
        self.target.sink.write_all_at(first.at, &block)?;
        buffers.block = block;
        Ok(total)
    }

    /// Converts the records of a stretch, item by item, to their places in the file.
    fn convert_stretch(
        &self,
        stretch: &Stretch,
        payload: &[u8],
        out: &mut [u8],
        buffers: &mut ConvertBuffers,
    ) -> Result<(), Error> {
        let width = self.target.markers.map_or(0, |markers| markers.bytes());
        let items = self.items(stretch.record, stretch.bytes, stretch.form)?;
        let records = Steps { count: stretch.count, from: stretch.bytes, to: stretch.stored };
        let mut move_ =
            Move { record: stretch.record, steps: vec![records], payload, out, buffers };
        self.convert_items(&items, (0, width as u64), &mut move_)
    }

    /// Converts items, given the offsets of the first record or group in source and destination.
    fn convert_items(
        &self,
        items: &[RecordItem],
        (from, to): (u64, u64),
        move_: &mut Move<'_>,
    ) -> Result<(), Error> {
        let mut to = to;
        for item in items.iter().filter(|item| item.bytes() > 0) {
            let place = (from + item.offset, to);
            match item.kind {
                ItemKind::Group => {
                    let (count, from, to) = (item.count, item.size, self.size_of(item));
                    move_.steps.push(Steps { count, from, to });
                    self.convert_items(&item.parts, place, move_)?;
                    move_.steps.pop();
                }
                _ => self.convert_item(item, place, move_)?,
            }
            to += self.bytes_of(item);
        }
        Ok(())
    }

    /// Converts an item that is not a group.
    fn convert_item(
        &self,
        item: &RecordItem,
        (from, to): (u64, u64),
        move_: &mut Move<'_>,
    ) -> Result<(), Error> {
        let Move { record, steps, payload, out, buffers } = move_;
        let (size, tier) = (item.number_bytes(), self.target.tier);
        let elements = item.bytes() / size;
        let Some(narrowing) = self.narrows(item) else {
            let numbers = NumberRun { size, elements, swap: self.swaps(item) };
            numbers.run(steps, (payload, from), (out, to), tier);
            return Ok(());
        };
        // Element positions in a contiguous intermediate buffer.
        let mut count = 1;
        // At most the nesting depth of groups.
        let mut aside = Vec::with_capacity(steps.len());
        for steps in steps.iter().rev() {
            aside.push(count);
            count *= steps.count;
        }
        aside.reverse();
        let each = || steps.iter().zip(&aside);
        let take = each().map(|(steps, aside)| Steps { to: aside * item.bytes(), ..*steps });
        let put = each().map(|(steps, aside)| Steps { from: aside * item.bytes() / 2, ..*steps });
        let (take, put): (Vec<_>, Vec<_>) = (take.collect(), put.collect());
        memory::resize(&mut buffers.native, (item.bytes() * count) as usize, 0, CONVERTED)?;
        let wide = NumberRun { size, elements, swap: false };
        wide.run(&take, (payload, from), (&mut buffers.native, 0), tier);
        self.narrow(narrowing, *record, buffers)?;
        let narrow = NumberRun { size: size / 2, ..wide };
        narrow.run(&put, (&buffers.halves, 0), (out, to), tier);
        Ok(())
    }

    /// Rounds the reals in `buffers.native`, in file byte order, to half the bytes, in `buffers.turned`.
    fn narrow(
        &self,
        narrowing: Narrowing,
        record: u64,
        buffers: &mut ConvertBuffers,
    ) -> Result<(), Error> {
        let ConvertBuffers { native, double, single, halves, .. } = buffers;
        let (order, tier) = (self.file.order(), self.target.tier);
        if order != FileOrder::NATIVE {
            swap_in_place(native, narrowing.bytes() as usize, tier);
        }
        halves.clear();
        let lost = match narrowing {
            Narrowing::Single => {
                memory::resize(single, native.len() / 8, 0.0, CONVERTED)?;
                let encoding =
                    Encoding { order: ByteOrder::Native, ..Encoding::plain(PixelType::F64) };
                decode_f32(native, &encoding, tier, single);
                memory::extend(halves, bytemuck::cast_slice(single), CONVERTED)?;
                let mut pairs = single.iter().zip(native.as_chunks().0);
                let wide = |bytes: &[u8; 8]| f64::from_ne_bytes(*bytes);
                let overflow = pairs.find(|&(x, bytes)| x.is_infinite() && wide(bytes).is_finite());
                overflow.map(|(_, bytes)| format!("{:e}", wide(bytes)))
            }
            Narrowing::Double => {
                memory::resize(double, native.len() / 16, 0.0, CONVERTED)?;
                decode_quads(native, ByteOrder::Native, double);
                memory::extend(halves, bytemuck::cast_slice(double), CONVERTED)?;
                let mut pairs = double.iter().zip(native.as_chunks().0);
                let overflow =
                    pairs.find(|&(x, bytes)| x.is_infinite() && quad_power(bytes).is_finite());
                overflow.map(|(_, bytes)| {
                    let power = quad_power(bytes);
                    format!("one of about {:.1}e{}", 10f64.powf(power.fract()), power.trunc())
                })
            }
        };
        if let Some(lost) = lost {
            let expected = format!("numbers that real({}) can hold", narrowing.bytes() / 2);
            let found = format!("{lost} in record {record} (from 0) or one of those after it");
            return Err(self.file.refused(Code::Precision, expected, found));
        }
        if self.conversion.new.order != FileOrder::NATIVE {
            swap_in_place(halves, narrowing.bytes() as usize / 2, tier);
        }
        Ok(())
    }

    /// Converts one record piece by piece.
    fn convert_long(&self, stretch: &Stretch) -> Result<(), Error> {
        let target = Target { at: stretch.at, ..self.target };
        target.write_markers(stretch.new_bytes)?;
        let items = self.items(stretch.record, stretch.bytes, stretch.form)?;
        self.convert_long_items(&items, stretch.record, (stretch.position, 0), &target)
    }

    /// Converts items, given the position of their record or group in the payload and in the new record.
    fn convert_long_items(
        &self,
        items: &[RecordItem],
        record: u64,
        (position, to): (u64, u64),
        target: &Target<'_>,
    ) -> Result<(), Error> {
        let mut to = to;
        for item in items {
            let from = position + item.offset;
            if item.kind == ItemKind::Group && item.size > BLOCK_BYTES {
                let new_size = self.size_of(item);
                for n in 0..item.count {
                    let place = (from + n * item.size, to + n * new_size);
                    self.convert_long_items(&item.parts, record, place, target)?;
                }
            } else {
                self.convert_pieces(item, record, (from, to), target)?;
            }
            to += self.bytes_of(item);
        }
        Ok(())
    }

    /// Converts an item block by block, each with as many bytes or groups as fit.
    fn convert_pieces(
        &self,
        item: &RecordItem,
        record: u64,
        (from, to): (u64, u64),
        target: &Target<'_>,
    ) -> Result<(), Error> {
        let narrows = self.narrows(item);
        let is_group = item.kind == ItemKind::Group;
        // Bytes of the unit of conversion, before and after.
        let (unit, new_unit) = match narrows {
            Some(narrowing) => (narrowing.bytes(), narrowing.bytes() / 2),
            None if is_group => (item.size, self.size_of(item)),
            None => (1, 1),
        };
        let in_block = BLOCK_BYTES / unit;
        let units = item.bytes() / unit;
        let (total, tell) = (self.payload.bytes(), self.options.progress);
        let tell = |now: u64, _: u64| {
            if let Some(progress) = tell {
                progress((from + now).min(total), total);
            }
        };
        let options = self.options.progress(Some(&tell));
        let tasks = units.div_ceil(in_block);
        parallel(&options, tasks, item.bytes(), ConvertBuffers::default, |buffers, task| {
            let first = task * in_block;
            let count = in_block.min(units - first);
            let (from, to) = (from + first * unit, to + first * new_unit);
            memory::resize(&mut buffers.native, (count * unit) as usize, 0, CONVERTED)?;
            self.payload.read(from, &mut buffers.native, 1, target.tier)?;
            if is_group {
                let groups = Steps { count, from: unit, to: new_unit };
                self.convert_groups(&item.parts, record, groups, buffers)?;
                target.write_payload(to, &buffers.block)?;
            } else if let Some(narrowing) = narrows {
                self.narrow(narrowing, record, buffers)?;
                target.write_payload(to, &buffers.halves)?;
            } else {
                if self.swaps(item) {
                    let size = item.number_bytes() as usize;
                    swap_in_place(&mut buffers.native, size, target.tier);
                }
                target.write_payload(to, &buffers.native)?;
            }
            Ok(count * unit)
        })
    }

    /// Converts the groups in `buffers.native` to `buffers.block`.
    fn convert_groups(
        &self,
        parts: &[RecordItem],
        record: u64,
        groups: Steps,
        buffers: &mut ConvertBuffers,
    ) -> Result<(), Error> {
        let payload = std::mem::take(&mut buffers.native);
        let mut out = std::mem::take(&mut buffers.block);
        memory::resize(&mut out, (groups.count * groups.to) as usize, 0, CONVERTED)?;
        let (steps, payload_of, out_of) = (vec![groups], &payload[..], &mut out[..]);
        let mut move_ = Move { record, steps, payload: payload_of, out: out_of, buffers };
        let result = self.convert_items(parts, (0, 0), &mut move_);
        (buffers.payload, buffers.block) = (payload, out);
        result
    }
}

/// Returns the decimal logarithm of a large 16-byte number; infinite for infinity and NaN, whose exponent bits are all
/// set.
fn quad_power(bytes: &[u8; 16]) -> f64 {
    let bits = u128::from_ne_bytes(*bytes);
    let (exponent, fraction) = ((bits >> 112) as i32 & 0x7fff, bits << 16);
    match exponent {
        0x7fff => f64::INFINITY,
        exponent => {
            let significand = 1.0 + fraction as f64 / 2f64.powi(128);
            f64::from(exponent - 0x3fff) * std::f64::consts::LOG10_2 + significand.log10()
        }
    }
}
