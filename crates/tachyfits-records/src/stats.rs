//! Statistics of the numbers in records, computed directly from the file's byte order, without an array.
//!
//! Numbers of FITS types are passed to the image kernels as stored. Others are converted to float64 in the cache: reals
//! of 2 and 16 bytes by decoders of this crate, complex numbers as pairs whose parts have separate statistics.

use std::ops::Range;

use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Report, Storage, Tasks};
use tachyfits_kernels::{
    ByteOrder, Encoding, PixelType, Stats, Tier, decode_f64, decode_halves, decode_quads,
    swap_in_place,
};
use tachyfits_memory as memory;

use crate::error::{Code, Error};
use crate::file::RecordFile;
use crate::layout::{FieldGroup, LONG_RECORD, RecordField, RecordLayout};
use crate::markers::FileOrder;
use crate::payload::Payload;
use crate::views::{GroupView, ItemsView, PayloadView};

/// Numbers per separate state, as for images.
const LINE_NUMBERS: u64 = 1 << 16;
/// Purpose of the memory, for errors.
const NUMBERS: &str = "numbers of records";

/// Type of the numbers of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordNumber {
    /// Integers and reals that FITS has too; unsigned integers are stored without an offset here.
    Pixel(PixelType),
    /// 2-byte reals.
    Half,
    /// 16-byte reals, rounded to float64 before the reduction.
    Quad,
}

impl From<PixelType> for RecordNumber {
    fn from(pixel: PixelType) -> RecordNumber {
        RecordNumber::Pixel(pixel)
    }
}

impl RecordNumber {
    /// Bytes per number.
    pub fn bytes(self) -> u64 {
        match self {
            RecordNumber::Pixel(pixel) => pixel.bytes() as u64,
            RecordNumber::Half => 2,
            RecordNumber::Quad => 16,
        }
    }
}

impl RecordFile {
    /// Computes full statistics of the numbers in records, directly from the file's byte order: of all numbers, if they
    /// have one type, or of fields of records of equal length. Positions count the numbers from the first.
    ///
    /// Several fields select numbers of nested groups with uneven steps: list them in the order of the record, with
    /// contiguous destinations. The destination of a single field is ignored.
    ///
    /// # Errors
    /// Returns the errors of [`RecordFile::read`].
    pub fn stats(
        &self,
        first: u64,
        count: u64,
        number: impl Into<RecordNumber>,
        fields: Option<&[RecordField]>,
        options: &RunOptions<'_>,
    ) -> Result<(Stats, Report), Error> {
        let numbers = Numbers { number: number.into(), complex: false };
        let (parts, report) =
            self.reduced(first..first.saturating_add(count), numbers, fields, options)?;
        Ok((parts[0], report))
    }

    /// Computes statistics of complex numbers: of their real and of their imaginary parts. A number with a NaN part
    /// counts as NaN for both parts.
    ///
    /// # Errors
    /// Returns the errors of [`RecordFile::read`].
    pub fn complex_stats(
        &self,
        first: u64,
        count: u64,
        part: impl Into<RecordNumber>,
        fields: Option<&[RecordField]>,
        options: &RunOptions<'_>,
    ) -> Result<([Stats; 2], Report), Error> {
        let numbers = Numbers { number: part.into(), complex: true };
        self.reduced(first..first.saturating_add(count), numbers, fields, options)
    }

    fn reduced(
        &self,
        records: Range<u64>,
        numbers: Numbers,
        fields: Option<&[RecordField]>,
        options: &RunOptions<'_>,
    ) -> Result<([Stats; 2], Report), Error> {
        let tier = Tier::current();
        let (first, count) = (records.start, records.end - records.start);
        let records = self.check_records(first, count)?;
        self.check_numbers(numbers, records.clone(), fields)?;
        let payload = Payload::new(self.storage(), self.index()?, records)?;
        let (order, swap) = match self.order() {
            order if order == FileOrder::NATIVE => (ByteOrder::Native, false),
            FileOrder::Big => (ByteOrder::BigEndian, false),
            FileOrder::Little => (ByteOrder::Native, true),
        };
        let reduction = Reduction { numbers, order, tier, options };
        let swapped = if swap { numbers.number.bytes() } else { 1 };
        let Some(fields) = fields else {
            let view = PayloadView { payload: &payload, swap: swapped, tier };
            return reduction.run(&view, 0..view.bytes(), numbers.bytes());
        };
        let record_bytes = self.common_bytes(first, count)?;
        let fields = in_items(fields);
        let item_bytes = bytes_of(&fields);
        if item_bytes == 0 || record_bytes == 0 {
            return Ok(Default::default());
        }
        if record_bytes <= LONG_RECORD {
            let fields = &fields[..];
            let view =
                ItemsView { payload: &payload, record_bytes, item_bytes, fields, swap, tier };
            return reduction.run(&view, 0..view.bytes(), item_bytes);
        }
        let groups = RecordLayout { record_bytes, item_bytes, fields }.groups();
        let (mut all, mut report): ([Stats; 2], Report) = Default::default();
        for begin in (0..count).map(|record| record * record_bytes) {
            let mut reduce = |group: &FieldGroup| {
                let (parts, cost) = reduction.of_group(&payload, begin, group, swap)?;
                merge_behind(&mut all, parts);
                report = report.followed_by(&cost);
                Ok(())
            };
            groups.iter().try_for_each(|group| group.each(false, &mut reduce))?;
        }
        Ok((all, report))
    }

    /// Checks that records consist of such numbers.
    fn check_numbers(
        &self,
        numbers: Numbers,
        records: Range<u64>,
        fields: Option<&[RecordField]>,
    ) -> Result<(), Error> {
        let size = numbers.bytes();
        if let Some(fields) = fields {
            let record_bytes = self.common_bytes(records.start, records.end - records.start)?;
            if record_bytes > 0 {
                let layout =
                    |item_bytes| RecordLayout { record_bytes, item_bytes, fields: fields.to_vec() };
                let anywhere = layout(u64::MAX).check();
                let checked = anywhere.and_then(|()| match fields {
                    [_] => Ok(()),
                    several => layout(bytes_of(several)).check(),
                });
                checked.map_err(|error| error.in_file(self.name()))?;
            }
            let is_odd = |field: &&RecordField| {
                field.size != numbers.number.bytes()
                    || numbers.complex && !field.elements.is_multiple_of(2)
            };
            if let Some(field) = fields.iter().find(is_odd) {
                let found =
                    format!("a field of {} numbers of {} bytes", field.elements, field.size);
                return Err(self.refused(Code::Type, numbers.expected("fields"), found));
            }
            let in_order = |field: &RecordField, next: &RecordField| {
                field.offset < next.offset && field.to < next.to
            };
            if !fields.is_sorted_by(in_order) {
                let expected = "fields in the order of the record and of the items";
                let found = "others before them".to_owned();
                return Err(self.refused(Code::Type, expected.to_owned(), found));
            }
            return Ok(());
        }
        let index = self.index()?;
        let first = index.find(records.start).map_or(0, |(place, _)| place);
        let runs = index.runs()[first..].iter().take_while(|run| run.first < records.end);
        for run in runs {
            if run.bytes % size != 0 {
                let found = format!("record {} (from 0) of {} bytes", run.first, run.bytes);
                return Err(self.refused(Code::Type, numbers.expected("records"), found));
            }
        }
        Ok(())
    }
}

/// Fields for items that contain nothing else.
fn in_items(fields: &[RecordField]) -> Vec<RecordField> {
    match fields {
        [field] => vec![field.alone()],
        several => several.to_vec(),
    }
}

/// Bytes of all numbers in fields.
fn bytes_of(fields: &[RecordField]) -> u64 {
    fields.iter().map(|field| field.run_bytes() * field.repeats).sum()
}

/// Merges parts whose positions continue after the numbers in `all`.
fn merge_behind(all: &mut [Stats; 2], parts: [Stats; 2]) {
    for (all, mut part) in all.iter_mut().zip(parts) {
        for extreme in part.min.iter_mut().chain(part.max.iter_mut()) {
            extreme.position += all.count + all.nan;
        }
        all.merge(&part);
    }
}

/// Type of numbers, single or in complex pairs.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    number: RecordNumber,
    complex: bool,
}

impl Numbers {
    /// Bytes per number, for complex numbers of both parts.
    fn bytes(self) -> u64 {
        self.number.bytes() * if self.complex { 2 } else { 1 }
    }

    fn expected(self, of: &str) -> String {
        let pairs = if self.complex { ", two parts each" } else { "" };
        format!("{of} of whole numbers of {} bytes{pairs}", self.bytes())
    }
}

/// Statistics of the numbers in a view, piece by piece.
struct Reduction<'a> {
    numbers: Numbers,
    order: ByteOrder,
    tier: Tier,
    options: &'a RunOptions<'a>,
}

/// State of a worker.
#[derive(Default)]
struct StatsBuffers {
    flipped: Vec<u8>,
    wide: Vec<f64>,
    parts: [Vec<f64>; 2],
}

impl Reduction<'_> {
    /// Computes statistics of a group of fields in one long record, which begins at `begin` in the payload.
    fn of_group(
        &self,
        payload: &Payload<'_>,
        begin: u64,
        group: &FieldGroup,
        swap: bool,
    ) -> Result<([Stats; 2], Report), Error> {
        if let Some(size) = group.number() {
            let swap = if swap { size } else { 1 };
            let view = PayloadView { payload, swap, tier: self.tier };
            let place = group.in_record();
            return self.run(&view, begin + place.start..begin + place.end, self.numbers.bytes());
        }
        let fields = &group.fields();
        let view = GroupView { payload, begin, group, fields, swap, tier: self.tier };
        self.run(&view, 0..view.bytes(), group.steps().1)
    }

    /// Computes statistics of a range of bytes, read in multiples of `unit` bytes.
    fn run(
        &self,
        view: &dyn Storage,
        range: Range<u64>,
        unit: u64,
    ) -> Result<([Stats; 2], Report), Error> {
        let size = self.numbers.number.bytes();
        let piece = (LINE_NUMBERS * size / unit).max(1) * unit;
        let progress = Progress { options: *self.options, total: range.end - range.start };
        let mut all = <[Stats; 2]>::default();
        let report = tachyfits_io::run(
            view,
            &NumberTasks { range, piece },
            &progress.run_options(),
            StatsBuffers::default,
            |buffers: &mut StatsBuffers, task, fetched| {
                let first = task * piece / self.numbers.bytes();
                self.of_bytes(fetched.piece(0), first, buffers)
            },
            |_task, parts| {
                all.iter_mut().zip(&parts).for_each(|(all, part)| all.merge(part));
                Ok(())
            },
        )?;
        Ok((all, report))
    }

    /// Computes statistics of bytes whose first number has position `first`.
    fn of_bytes(
        &self,
        bytes: &[u8],
        first: u64,
        buffers: &mut StatsBuffers,
    ) -> Result<[Stats; 2], Error> {
        let mut parts = <[Stats; 2]>::default();
        let wide = Encoding { order: ByteOrder::Native, ..Encoding::plain(PixelType::F64) };
        let StatsBuffers { flipped, wide: values, parts: [real, imaginary] } = buffers;
        match self.numbers.number {
            RecordNumber::Pixel(pixel) if !self.numbers.complex => {
                let (order, bytes) = self.as_in_fits(pixel, bytes, flipped)?;
                let encoding = Encoding { order, ..Encoding::plain(pixel) };
                parts[0].accumulate_exactly(bytes, &encoding, self.tier, first);
                return Ok(parts);
            }
            number => {
                memory::resize(values, bytes.len() / number.bytes() as usize, 0.0, NUMBERS)?;
                self.widen(number, bytes, values);
            }
        }
        if !self.numbers.complex {
            parts[0].accumulate(bytemuck::cast_slice(values), &wide, self.tier, first);
            return Ok(parts);
        }
        real.clear();
        imaginary.clear();
        memory::reserve(real, values.len() / 2, NUMBERS)?;
        memory::reserve(imaginary, values.len() / 2, NUMBERS)?;
        for &[x, y] in values.as_chunks::<2>().0 {
            let is_nan = x.is_nan() || y.is_nan();
            real.push(if is_nan { f64::NAN } else { x });
            imaginary.push(if is_nan { f64::NAN } else { y });
        }
        for (part, values) in parts.iter_mut().zip([real, imaginary]) {
            part.accumulate(bytemuck::cast_slice(values), &wide, self.tier, first);
        }
        Ok(parts)
    }

    /// Converts integers to their FITS form; returns them with their byte order. The kernels expect unsigned numbers and
    /// signed bytes with the highest bit flipped, and big-endian.
    fn as_in_fits<'b>(
        &self,
        pixel: PixelType,
        bytes: &'b [u8],
        flipped: &'b mut Vec<u8>,
    ) -> Result<(ByteOrder, &'b [u8]), Error> {
        use PixelType::{I8, U16, U32, U64};
        if !matches!(pixel, I8 | U16 | U32 | U64) {
            return Ok((self.order, bytes));
        }
        flipped.clear();
        memory::extend(flipped, bytes, NUMBERS)?;
        let is_high_first = self.order == ByteOrder::BigEndian || cfg!(target_endian = "big");
        if !is_high_first {
            swap_in_place(flipped, pixel.bytes(), self.tier);
        }
        flipped.iter_mut().step_by(pixel.bytes()).for_each(|byte| *byte ^= 0x80);
        Ok((ByteOrder::BigEndian, flipped))
    }

    /// Converts numbers, or the parts of pairs, to float64.
    fn widen(&self, number: RecordNumber, bytes: &[u8], values: &mut [f64]) {
        match number {
            RecordNumber::Half => decode_halves(bytes, self.order, values),
            RecordNumber::Quad => decode_quads(bytes, self.order, values),
            RecordNumber::Pixel(pixel) => {
                let encoding = Encoding { order: self.order, ..Encoding::plain(pixel) };
                decode_f64(bytes, &encoding, self.tier, values);
            }
        }
    }
}

/// Tasks: the pieces of a range.
struct NumberTasks {
    range: Range<u64>,
    piece: u64,
}

impl Tasks for NumberTasks {
    fn len(&self) -> u64 {
        (self.range.end - self.range.start).div_ceil(self.piece)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let start = self.range.start + index * self.piece;
        ranges.push(start..self.range.end.min(start + self.piece));
    }
}
