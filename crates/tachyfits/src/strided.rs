//! Numbers at regular offsets of a storage: read as elements of any type, by first element and
//! count, without headers.
//!
//! For programs that already know the offsets of the pixels of an image or the fields of a column,
//! such as a library that accelerates another reader.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Fetched, Report, Storage, Tasks, fill};
use tachyfits_kernels::{
    Fields, Tier, decode_elements, decode_f32, decode_f64, finite_in_place, gather_field_bytes,
    gather_fields, native_in_place,
};

use crate::error::{Error, Reason, Refusal};
use crate::image::tier;
use crate::lines::PixelBytes;
use crate::native::{block_bytes, read_native};

#[doc(no_inline)]
pub use tachyfits_kernels::{Encoding, NullCounts, NullOutput, NullRule, PixelType};

/// Bytes per task, including gaps between elements: what a second-level cache takes at full speed.
const TASK_BYTES: u64 = 512 << 10;
/// Maximum gap between two rows of elements that is read instead of skipped.
const GAP_BYTES: u64 = 32 << 10;
/// Maximum rows of a task that are read one by one.
const TASK_ROWS: u64 = 4096;
/// Bytes of rows collected before they are decoded.
const COLLECTED_BYTES: usize = 16 << 10;
/// Elements decoded at a time if some may be BLANK.
const NULL_PIECE: usize = 32 << 10;
/// Rows of at least this many bytes are decoded without a copy.
const LONG_ROW: usize = 4 << 10;

/// An array of numbers at equal distances along each axis. Elements are counted along the first axis first.
///
/// ```
/// use tachyfits::strided::{Encoding, NullOutput, NullRule, PixelType, StridedArray};
/// use tachyfits::RunOptions;
/// # use tachyfits_io::MemoryStorage;
///
/// // Rows of three bytes; the last two are a number.
/// let storage = MemoryStorage::new("rows", vec![0, 1, 0, 0, 2, 0, 0, 3, 0]);
/// let column = StridedArray::new(1, Encoding::plain(PixelType::I16), &[(1, 2), (3, 3)]).unwrap();
/// let mut values = [0f32; 2];
/// let out = bytemuck::cast_slice_mut(&mut values);
/// let (rule, nulls) = (NullRule::Nothing, NullOutput::Value(0));
/// column.read(&storage, 1, PixelType::F32, rule, nulls, out, &RunOptions::default())?;
/// assert_eq!(values, [512.0, 768.0]);
/// # Ok::<(), tachyfits::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StridedArray {
    /// Offset of the first element.
    offset: u64,
    encoding: Encoding,
    /// (elements, bytes from one element to the next) of each axis.
    axes: Vec<(u64, u64)>,
}

/// Elements in rows: `rows` rows of `count` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rectangle {
    offset: u64,
    count: u64,
    rows: u64,
    /// Bytes from one row to the next.
    stride: u64,
}

/// Part of the output that a task fills.
struct ElementPart<'a> {
    out: &'a mut [u8],
    flags: Option<&'a mut [u8]>,
}

impl StridedArray {
    /// Creates an array whose first element begins at `offset`; axes are (elements, bytes from one
    /// element to the next).
    ///
    /// `None` if its elements overlap along the first axis, or its end exceeds 2^63.
    pub fn new(offset: u64, encoding: Encoding, axes: &[(u64, u64)]) -> Option<StridedArray> {
        let size = encoding.pixel_bytes() as u64;
        let mut end = offset.checked_add(size)?;
        let mut elements = 1u64;
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for &(count, stride) in axes {
            elements = elements.checked_mul(count)?;
            end = end.checked_add(count.saturating_sub(1).checked_mul(stride)?)?;
            match merged.last_mut() {
                _ if count == 1 => {}
                Some(last) if last.0.checked_mul(last.1) == Some(stride) => last.0 *= count,
                _ => merged.push((count, stride)),
            }
        }
        if merged.is_empty() {
            merged.push((1, size));
        }
        let is_apart = merged[0].1 >= size;
        let fits = end <= i64::MAX as u64 && elements <= i64::MAX as u64;
        (is_apart && fits).then_some(StridedArray { offset, encoding, axes: merged })
    }

    /// Number of elements.
    pub fn len(&self) -> u64 {
        self.axes.iter().map(|axis| axis.0).product()
    }

    /// Whether the array is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the range from the first to the last byte of some elements, including gaps.
    pub fn extent(&self, elements: Range<u64>) -> Range<u64> {
        match elements.end.checked_sub(1).filter(|last| *last >= elements.start) {
            None => self.offset..self.offset,
            Some(last) => {
                // Strides are positive, but a later axis may have a shorter stride than an earlier one.
                let places = [elements.start, last].map(|element| self.place(element));
                let whole =
                    self.axes.iter().map(|(count, stride)| (count - 1) * stride).sum::<u64>();
                let end = match self.is_ordered() {
                    true => places[1],
                    false => self.offset + whole,
                };
                let start = if self.is_ordered() { places[0] } else { self.offset };
                start..end + self.size()
            }
        }
    }

    /// Whether each row lies after the previous one.
    fn is_ordered(&self) -> bool {
        self.axes.windows(2).all(|pair| pair[1].1 >= pair[0].0.saturating_mul(pair[0].1))
    }

    fn size(&self) -> u64 {
        self.encoding.pixel_bytes() as u64
    }

    /// Returns the offset of an element.
    fn place(&self, element: u64) -> u64 {
        let (mut place, mut rest) = (self.offset, element);
        for &(count, stride) in &self.axes {
            place += rest % count * stride;
            rest /= count;
        }
        place
    }

    /// Reads the elements from `first` on into `out`, as many as fit, as elements of a type in
    /// native byte order. `rule` and `nulls` define null elements and their replacement: see
    /// [`decode_elements`].
    ///
    /// # Errors
    /// [`Reason::Output`] if `out` exceeds the elements, or the number of flags differs; otherwise I/O errors.
    #[expect(clippy::too_many_arguments, reason = "each says something else")]
    pub fn read(
        &self,
        storage: &dyn Storage,
        first: u64,
        element: PixelType,
        rule: NullRule,
        nulls: NullOutput<'_>,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<(Report, NullCounts), Error> {
        let width = element.bytes();
        let count = (out.len() / width) as u64;
        let flags = match &nulls {
            NullOutput::Flags { flags, .. } => Some(flags.len()),
            NullOutput::Value(_) => None,
        };
        let is_whole = out.len().is_multiple_of(width)
            && first.checked_add(count).is_some_and(|end| end <= self.len())
            && flags.is_none_or(|flags| flags as u64 == count);
        if !is_whole {
            return Err(Error::Refused(Box::new(Refusal {
                reason: Reason::Output,
                file: storage.name().to_owned(),
                hdu: None,
                expected: format!("at most {} elements of {element:?} from {first} on", self.len()),
                found: format!("{} bytes, {flags:?} flags", out.len()),
            })));
        }
        if count == 0 {
            return Ok((Report::default(), NullCounts::default()));
        }
        let tier = tier();
        if let Some(result) =
            self.read_in_place(storage, first, element, rule, &nulls, out, options)
        {
            return result;
        }
        let (value, flags) = match nulls {
            NullOutput::Value(value) => (Some(value), None),
            NullOutput::Flags { flags, value } => (value, Some(flags)),
        };
        let reads = ElementReads::new(self, first..first + count, storage);
        let parts = reads.parts(out, flags, width);
        let mut counts = NullCounts::default();
        let progress = Progress { options: *options, total: reads.bytes() };
        let report = tachyfits_io::run(
            storage,
            &reads,
            &progress.run_options(),
            Vec::new,
            |collected, task, fetched| {
                let mut part = parts[task as usize].lock().unwrap_or_else(PoisonError::into_inner);
                let decoder = ElementDecoder { array: self, element, rule, value, tier };
                Ok::<_, Error>(decoder.decode(&reads, task, fetched, &mut part, collected))
            },
            |_task, part| {
                counts = counts.plus(part);
                Ok(())
            },
        )?;
        Ok((report, counts))
    }

    /// Reads consecutive numbers into the output and decodes them in place, if they have its type.
    #[expect(clippy::too_many_arguments, reason = "those of `read`")]
    fn read_in_place(
        &self,
        storage: &dyn Storage,
        first: u64,
        element: PixelType,
        rule: NullRule,
        nulls: &NullOutput<'_>,
        out: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Option<Result<(Report, NullCounts), Error>> {
        let Encoding { pixel, scaling: None, .. } = self.encoding else { return None };
        let count = (out.len() / element.bytes()) as u64;
        let [(length, stride), ..] = self.axes[..] else { return None };
        let is_run = stride == self.size() && first % length + count <= length;
        let NullOutput::Value(null) = nulls else { return None };
        if pixel != element || !is_run {
            return None;
        }
        let (offset, tier) = (self.place(first), tier());
        let progress = Progress { options: *options, total: out.len() as u64 };
        let run = progress.run_options();
        if self.has_no_null(rule) {
            let report = read_native(storage, offset, out, pixel, tier, &run);
            return Some(report.map(|report| (report, NullCounts::default())).map_err(Error::from));
        }
        if !pixel.is_float() {
            return None;
        }
        let null_count = AtomicU64::new(0);
        let report = fill(storage, offset, out, block_bytes(storage), &run, |block| {
            let nulls = match rule {
                NullRule::NotFinite => finite_in_place(block, pixel, *null, tier),
                _ => {
                    native_in_place(block, pixel, tier);
                    replace_nan(block, pixel, *null)
                }
            };
            null_count.fetch_add(nulls, Ordering::Relaxed);
        });
        let mut counts = NullCounts::default();
        counts.nulls = null_count.into_inner();
        Some(report.map(|report| (report, counts)).map_err(Error::from))
    }

    /// Whether no element can be null.
    fn has_no_null(&self, rule: NullRule) -> bool {
        let Encoding { pixel, blank, .. } = self.encoding;
        rule == NullRule::Nothing || (!pixel.is_float() && blank.is_none())
    }

    /// Calls `visit` with the rectangles that contain some elements, in order.
    fn rectangles(&self, elements: Range<u64>, mut visit: impl FnMut(Rectangle)) {
        let (length, step) = self.axes[0];
        let (rows, stride) = self.axes.get(1).copied().unwrap_or((1, 0));
        let (is_near, is_dense) = (self.is_near(), self.is_dense());
        let mut at = elements.start;
        while at < elements.end {
            let (in_row, remaining) = (at % length, elements.end - at);
            let offset = self.place(at);
            let rectangle = if !is_dense {
                Rectangle { offset, count: 1, rows: 1, stride: step }
            } else if in_row > 0 || remaining < length || !is_near {
                Rectangle { offset, count: remaining.min(length - in_row), rows: 1, stride }
            } else {
                let rest = rows - at / length % rows;
                Rectangle { offset, count: length, rows: rest.min(remaining / length), stride }
            };
            at += rectangle.count * rectangle.rows;
            visit(rectangle);
        }
    }

    /// Whether gaps between two rows are read.
    fn is_near(&self) -> bool {
        let (length, step) = self.axes[0];
        let row = (length - 1) * step + self.size();
        self.axes.get(1).is_some_and(|axis| axis.1 >= row && axis.1 - row <= GAP_BYTES)
    }

    /// Whether gaps between two elements of a row are read.
    fn is_dense(&self) -> bool {
        self.axes[0].1 - self.size() <= GAP_BYTES
    }

    /// Returns the bytes of a rectangle, including gaps between its elements.
    fn bytes_of(&self, rectangle: &Rectangle) -> Range<u64> {
        let Rectangle { offset, count, rows, stride } = *rectangle;
        let last = (rows - 1) * stride + (count - 1) * self.axes[0].1;
        offset..offset + last + self.size()
    }
}

/// Replaces NaN in native floats with the bits of a null value; returns their number.
fn replace_nan(bytes: &mut [u8], pixel: PixelType, null: u64) -> u64 {
    let is_single = pixel == PixelType::F32;
    let mut nulls = 0;
    // In pieces that stay in the first-level cache.
    for piece in bytes.chunks_mut(16 << 10) {
        let count: u64 = if is_single {
            let singles = piece.as_chunks().0.iter();
            singles.map(|&bits| u32::from(f32::from_ne_bytes(bits).is_nan())).sum::<u32>().into()
        } else {
            piece
                .as_chunks()
                .0
                .iter()
                .map(|&bits| u64::from(f64::from_ne_bytes(bits).is_nan()))
                .sum()
        };
        nulls += count;
        if count > 0 && is_single {
            let singles = piece.as_chunks_mut().0.iter_mut();
            singles
                .filter(|bits| f32::from_ne_bytes(**bits).is_nan())
                .for_each(|bits| *bits = (null as u32).to_ne_bytes());
        } else if count > 0 {
            let doubles = piece.as_chunks_mut().0.iter_mut();
            doubles
                .filter(|bits| f64::from_ne_bytes(**bits).is_nan())
                .for_each(|bits| *bits = null.to_ne_bytes());
        }
    }
    nulls
}

/// Whether a big-endian integer may be BLANK.
fn has_blank(encoding: &Encoding, bytes: &[u8]) -> bool {
    let Some(blank) = encoding.blank else { return false };
    macro_rules! has {
        ($type:ty) => {{
            // A BLANK beyond the range of the type is truncated; a false positive does not change the result.
            let blank = (blank as $type).to_be();
            let same = |is_found, &bytes: &[u8; size_of::<$type>()]| {
                is_found | <$type>::from(<$type>::from_ne_bytes(bytes) == blank)
            };
            bytes.as_chunks().0.iter().fold(0, same) != 0
        }};
    }
    match encoding.pixel_bytes() {
        1 => has!(u8),
        2 => has!(u16),
        4 => has!(u32),
        _ => has!(u64),
    }
}

/// Reads of a range of elements.
struct ElementReads<'a> {
    array: &'a StridedArray,
    elements: Range<u64>,
    /// Elements per task, except the first and the last: tasks begin at multiples of it.
    task: u64,
}

impl<'a> ElementReads<'a> {
    fn new(
        array: &'a StridedArray,
        elements: Range<u64>,
        storage: &dyn Storage,
    ) -> ElementReads<'a> {
        // Whole tiles, if the storage has tiles.
        let unit = PixelBytes::of(storage, array.offset, array.size()).unit;
        let (length, step) = array.axes[0];
        let row = length.saturating_mul(step);
        let task = if !array.is_dense() {
            TASK_ROWS
        } else if row >= TASK_BYTES {
            TASK_BYTES / step.min(TASK_BYTES)
        } else if array.is_near() {
            length * (TASK_BYTES / array.axes[1].1.max(1)).max(1)
        } else {
            length * (TASK_BYTES / row.max(1)).clamp(1, TASK_ROWS)
        };
        let task = match array.axes.get(1) {
            None if step == array.size() && unit > 1 => unit,
            Some(axis) if array.is_near() => {
                task.max(length * (unit * array.size() / axis.1.max(1)))
            }
            _ => task,
        };
        ElementReads { array, elements, task: task.max(1) }
    }

    /// Returns the number of bytes to read.
    fn bytes(&self) -> u64 {
        let mut bytes = 0;
        let elements = self.elements.clone();
        self.array.rectangles(elements, |rectangle| {
            let range = self.array.bytes_of(&rectangle);
            bytes += range.end - range.start;
        });
        bytes
    }

    /// Returns the elements of a task.
    fn of(&self, task: u64) -> Range<u64> {
        let first = (self.elements.start / self.task + task) * self.task;
        first.max(self.elements.start)..(first + self.task).min(self.elements.end)
    }

    /// Splits the output by task.
    fn parts<'o>(
        &self,
        out: &'o mut [u8],
        flags: Option<&'o mut [u8]>,
        width: usize,
    ) -> Vec<Mutex<ElementPart<'o>>> {
        let (mut out, mut flags) = (out, flags);
        (0..self.len())
            .map(|task| {
                let elements = self.of(task);
                let count = (elements.end - elements.start) as usize;
                let (part, later) = std::mem::take(&mut out).split_at_mut(count * width);
                out = later;
                let marks = flags.take().map(|flags| flags.split_at_mut(count));
                let (marks, later) = marks.unzip();
                flags = later;
                Mutex::new(ElementPart { out: part, flags: marks })
            })
            .collect()
    }
}

impl Tasks for ElementReads<'_> {
    fn len(&self) -> u64 {
        let Range { start, end } = self.elements;
        end.div_ceil(self.task) - start / self.task
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        self.array.rectangles(self.of(index), |rectangle| {
            ranges.push(self.array.bytes_of(&rectangle));
        });
    }
}

/// Decoder of elements.
struct ElementDecoder<'a> {
    array: &'a StridedArray,
    element: PixelType,
    rule: NullRule,
    /// Bits of null elements.
    value: Option<u64>,
    tier: Tier,
}

impl ElementDecoder<'_> {
    /// Decodes the elements of a task.
    fn decode(
        &self,
        reads: &ElementReads<'_>,
        task: u64,
        fetched: &Fetched<'_>,
        part: &mut ElementPart<'_>,
        collected: &mut Vec<u8>,
    ) -> NullCounts {
        let (mut piece, mut done) = (0, 0);
        let mut counts = NullCounts::default();
        self.array.rectangles(reads.of(task), |rectangle| {
            let count = (rectangle.count * rectangle.rows) as usize;
            let bytes = fetched.piece(piece);
            counts = counts.plus(self.rectangle(&rectangle, bytes, part, done, collected));
            piece += 1;
            done += count;
        });
        counts
    }

    /// Decodes a rectangle into the part from element `done` on.
    fn rectangle(
        &self,
        rectangle: &Rectangle,
        bytes: &[u8],
        part: &mut ElementPart<'_>,
        done: usize,
        collected: &mut Vec<u8>,
    ) -> NullCounts {
        let (size, width) = (self.array.size() as usize, self.element.bytes());
        let (count, rows) = (rectangle.count as usize, rectangle.rows as usize);
        let (step, stride) = (self.array.axes[0].1 as usize, rectangle.stride as usize);
        let row = count * size;
        let mut counts = NullCounts::default();
        let is_moved = self.is_plain() && part.flags.is_none();
        let mut decode = |bytes: &[u8], first: usize| {
            counts = counts.plus(self.run(bytes, part, done + first));
        };
        if is_moved && if step == size { row < LONG_ROW } else { rows == 1 } {
            // Short rows, or elements of a row with gaps between them.
            let (stride, elements) =
                if step == size { (stride.max(row), count) } else { (step, 1) };
            let fields = Fields { offset: 0, stride, elements };
            let out = &mut part.out[done * width..(done + rows * count) * width];
            gather_fields(bytes, fields, self.element, self.tier, out);
        } else if step != size {
            // Element by element.
            let most = (COLLECTED_BYTES / size).max(1);
            for at in 0..rows {
                for first in (0..count).step_by(most) {
                    let some = most.min(count - first);
                    let offset = at * stride + first * step;
                    // At most COLLECTED_BYTES.
                    collected.resize(some * size, 0);
                    let fields = Fields { offset, stride: step, elements: size };
                    gather_field_bytes(bytes, fields, collected);
                    decode(collected, at * count + first);
                }
            }
        } else if rows == 1 {
            decode(&bytes[..row], 0);
        } else if row >= LONG_ROW {
            for at in 0..rows {
                decode(&bytes[at * stride..at * stride + row], at * count);
            }
        } else {
            let most = (COLLECTED_BYTES / row).max(1);
            for first in (0..rows).step_by(most) {
                let some = most.min(rows - first);
                // At most COLLECTED_BYTES.
                collected.resize(some * row, 0);
                let fields = Fields { offset: first * stride, stride, elements: row };
                gather_field_bytes(bytes, fields, collected);
                decode(collected, first * count);
            }
        }
        counts
    }

    /// Decodes floats of another type than stored, or scaled, without an intermediate copy. Returns
    /// false if some may be null, or the array is not aligned.
    fn decode_floats(&self, bytes: &[u8], has_blank: bool, out: &mut [u8]) -> bool {
        let encoding = Encoding { blank: None, ..self.array.encoding };
        let is_copied = encoding.scaling.is_none() && encoding.pixel == self.element;
        let may_be_null =
            has_blank || (encoding.pixel.is_float() && self.rule != NullRule::Nothing);
        if is_copied || may_be_null {
            return false;
        }
        match self.element {
            PixelType::F32 => bytemuck::try_cast_slice_mut(out)
                .map(|out| decode_f32(bytes, &encoding, self.tier, out))
                .is_ok(),
            PixelType::F64 => bytemuck::try_cast_slice_mut(out)
                .map(|out| decode_f64(bytes, &encoding, self.tier, out))
                .is_ok(),
            _ => false,
        }
    }

    /// Whether elements equal the stored numbers and are never null.
    fn is_plain(&self) -> bool {
        let Encoding { pixel, scaling, .. } = self.array.encoding;
        scaling.is_none() && pixel == self.element && self.array.has_no_null(self.rule)
    }

    /// Decodes consecutive elements into the part from element `first` on.
    fn run(&self, bytes: &[u8], part: &mut ElementPart<'_>, first: usize) -> NullCounts {
        let size = self.array.size() as usize;
        let is_checked = self.rule != NullRule::Nothing
            && self.array.encoding.blank.is_some()
            && !self.array.encoding.pixel.is_float();
        let piece = if is_checked { NULL_PIECE * size } else { bytes.len().max(1) };
        let (mut counts, mut had_blank) = (NullCounts::default(), false);
        for (at, bytes) in bytes.chunks(piece).enumerate() {
            // After a piece with BLANK, the next one probably has some, so it is not searched.
            let may_have = is_checked && (had_blank || has_blank(&self.array.encoding, bytes));
            let part_counts = self.decode_run(bytes, may_have, part, first + at * NULL_PIECE);
            had_blank = part_counts.nulls > 0;
            counts = counts.plus(part_counts);
        }
        counts
    }

    /// Decodes a run of elements; `has_blank` if integers among them may be BLANK.
    fn decode_run(
        &self,
        bytes: &[u8],
        has_blank: bool,
        part: &mut ElementPart<'_>,
        first: usize,
    ) -> NullCounts {
        let (width, count) = (self.element.bytes(), bytes.len() / self.array.size() as usize);
        let out = &mut part.out[first * width..(first + count) * width];
        if self.decode_floats(bytes, has_blank, out) {
            if let Some(flags) = &mut part.flags {
                flags[first..first + count].fill(0);
            }
            return NullCounts::default();
        }
        let nulls = match (&mut part.flags, self.value) {
            (Some(flags), value) => {
                NullOutput::Flags { flags: &mut flags[first..first + count], value }
            }
            (None, value) => NullOutput::Value(value.unwrap_or_default()),
        };
        decode_elements(bytes, &self.array.encoding, self.rule, self.element, nulls, self.tier, out)
    }
}
