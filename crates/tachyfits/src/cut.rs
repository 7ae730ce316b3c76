//! Parts of images, computed when they are read: pixels keep their bits, and an optional margin of undefined
//! pixels surrounds them. A cutout is a part written to a file.

use std::path::Path;
use std::sync::Arc;

use tachyfits_format::AxisSelection;
use tachyfits_io::operation::RunOptions;
use tachyfits_io::{IoError, Report};
use tachyfits_kernels::Encoding;

use crate::computed::{Computed, Feed, Node, Reads, Sources, Window};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::file_writer::WriteOptions;
use crate::grid::Grid;
use crate::image::Image;
use crate::number::{Native, float_encoding};
use crate::section::{AxisRange, Section};
use crate::survival::Change;

/// Undefined pixels before the first and after the last pixel of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Margin {
    /// Number of pixels before the first pixel.
    pub before: u64,
    /// Number of pixels after the last pixel.
    pub after: u64,
}

/// Maximum number of pixels of a margin: beyond real images, and small enough for f64 to represent pixel
/// indices.
const MOST_MARGIN: u64 = 1 << 40;

impl Image {
    /// Returns a section, computed when it is read or written. Pixels keep their bits, BSCALE, BZERO and
    /// BLANK; coordinates are updated as in [`Image::cutout`]. With margins, one per axis, undefined pixels
    /// surround the section: integers without BLANK then become floats.
    ///
    /// ```
    /// use tachyfits::{Array, AxisRange, Header, OutputPixels, ReadAs, RunOptions};
    /// let image = Array::new(&[1u8, 2, 3, 4], &[4]).to_file("example", &Header::new())?.image(0)?;
    /// let section = image.section(&[AxisRange { first: 1, count: 2, step: 1 }])?;
    /// let part = image.cut(&section, &[])?.image(0)?;
    /// let mut pixels = [0.0; 2];
    /// let out = OutputPixels::Float64(&mut pixels);
    /// part.read(&part.whole(), ReadAs::Float64, out, &RunOptions::default())?;
    /// assert_eq!(pixels, [2.0, 3.0]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Section`] for a section of another image or without pixels, and if the number of margins
    /// differs from the number of axes; errors of the header if coordinates cannot follow; as
    /// [`Image::stats`] for missing pixels.
    pub fn cut(&self, section: &Section, margins: &[Margin]) -> Result<FitsFile, Error> {
        self.part(section, margins, &vec![false; self.axes().len()])
    }

    /// Writes a section, as returned by [`Image::cut`], to a new file, which appears when it is complete. The
    /// axes in `dropped` (0 is NAXIS1) must have length 1 in the section and are omitted.
    ///
    /// # Errors
    /// If the file exists and `overwrite` is not set, if it cannot be written, if an axis cannot be dropped,
    /// or as [`Image::stats`]. An existing file of that name is then unchanged.
    pub fn cutout(
        &self,
        path: impl AsRef<Path>,
        section: &Section,
        dropped: &[usize],
        overwrite: bool,
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let part = self.cut_without(section, &[], dropped)?;
        part.image(0)?.write(path, &WriteOptions::default().overwrite(overwrite), options)
    }

    /// Works like [`Image::cut`], but omits the axes in `dropped` (0 is NAXIS1), which must have length 1 in
    /// the section.
    ///
    /// # Errors
    /// If an axis cannot be dropped, and as [`Image::cut`].
    pub fn cut_without(
        &self,
        section: &Section,
        margins: &[Margin],
        dropped: &[usize],
    ) -> Result<FitsFile, Error> {
        self.part(section, margins, &self.reduced_axes(dropped)?)
    }

    /// Returns a section with margins, without the dropped axes.
    fn part(
        &self,
        section: &Section,
        margins: &[Margin],
        dropped: &[bool],
    ) -> Result<FitsFile, Error> {
        self.check_section(section)?;
        if section.pixels() == 0 {
            return Err(self.refused(Reason::Section, "at least one pixel", "an empty section"));
        }
        let fits = |margin: &Margin| margin.before.max(margin.after) <= MOST_MARGIN;
        if !(margins.is_empty() || margins.len() == self.axes().len()) || !margins.iter().all(fits)
        {
            let expected = format!("margins of {} axes", self.axes().len());
            return Err(self.refused(Reason::Section, expected, format!("{margins:?}")));
        }
        let select = |(axis, (range, &drop)): (usize, (&AxisRange, &bool))| {
            let &AxisRange { first, count, step } = range;
            let Margin { before, after } = margins.get(axis).copied().unwrap_or_default();
            AxisSelection { first, count, step, keep: !drop, before, after }
        };
        let axes: Vec<_> = section.ranges().iter().zip(dropped).enumerate().map(select).collect();
        let survivors = self.survivors(Change::Section(&axes))?;
        let last = Grid::new(self.axes(), section, dropped).last_pixel();
        let node = SectionNode::new(self.node_up_to(last)?, section, margins, dropped);
        let name = format!("{} (cut)", self.file_name());
        FitsFile::computed(Computed::new(name, Arc::new(node), survivors)?)
    }
}

/// Pixels along one axis of a part.
#[derive(Clone, Copy, Debug)]
struct PartAxis {
    range: AxisRange,
    before: u64,
    /// Whether the axis is omitted; it has one pixel.
    dropped: bool,
    /// Whether pixels are read one by one because they are far apart.
    is_sparse: bool,
}

/// Node that takes a part of an image.
#[derive(Debug)]
struct SectionNode {
    input: Arc<dyn Node>,
    /// Lengths of the remaining axes.
    axes: Vec<u64>,
    /// All axes of the input.
    parts: Vec<PartAxis>,
    encoding: Encoding,
    /// Whether the part is a box of the input without a margin.
    is_box: bool,
}

impl SectionNode {
    fn new(
        input: Arc<dyn Node>,
        section: &Section,
        margins: &[Margin],
        dropped: &[bool],
    ) -> SectionNode {
        let margin = |axis: usize| margins.get(axis).copied().unwrap_or_default();
        let halo = input.halo();
        let ranges = section.ranges().iter().enumerate();
        let length = |(axis, range): (usize, &AxisRange)| {
            let Margin { before, after } = margin(axis);
            (!dropped[axis]).then_some(before + range.count + after)
        };
        let axes: Vec<u64> = ranges.clone().filter_map(length).collect();
        let part = |(axis, &range): (usize, &AxisRange)| PartAxis {
            range,
            before: margin(axis).before,
            dropped: dropped[axis],
            is_sparse: axis > 0
                && range.count > 1
                && range.step.unsigned_abs() > 2 * halo[axis] + 1,
        };
        let parts: Vec<PartAxis> = ranges.map(part).collect();
        let has_margin = margins.iter().any(|margin| *margin != Margin::default());
        let from = input.encoding();
        let encoding = match has_margin && !from.pixel.is_float() && from.blank.is_none() {
            true => float_encoding(&from, 1.0),
            false => from,
        };
        let is_step = |part: &PartAxis| part.range.step == 1 || part.range.count == 1;
        let is_box = !has_margin && parts.iter().all(is_step);
        SectionNode { input, axes, parts, encoding, is_box }
    }

    /// Returns the same box with the dropped axes.
    fn with_dropped(&self, window: &Window) -> Window {
        let mut axes = window.first.iter().zip(&window.count);
        let axis = |part: &PartAxis| match part.dropped {
            true => (0, 1),
            false => axes.next().map_or((0, 1), |(&first, &count)| (first, count)),
        };
        let (first, count) = self.parts.iter().map(axis).unzip();
        Window { first, count }
    }

    /// Divides the part of a box without the margin into boxes, each with the box of the input that contains
    /// its pixels: one box, or one per plane or row if these are far apart, or none for a box in the margin.
    /// Returns their number first.
    fn pieces(&self, window: &Window) -> (u64, impl Iterator<Item = (Window, Window)>) {
        let whole = self.needed(window).map(|(inner, _)| inner);
        let is_sparse = |&axis: &usize| self.parts[axis].is_sparse;
        let sparse: Vec<usize> = (0..self.parts.len()).filter(is_sparse).collect();
        let count_of = |whole: &Window| sparse.iter().map(|&axis| whole.count[axis]).product();
        let count = whole.as_ref().map_or(0, count_of);
        let pieces = (0..count).filter_map(move |number| {
            let whole = whole.as_ref()?;
            let (mut piece, mut rest) = (whole.clone(), number);
            for &axis in sparse.iter().rev() {
                piece.first[axis] += rest % whole.count[axis];
                piece.count[axis] = 1;
                rest /= whole.count[axis];
            }
            self.needed(&piece)
        });
        (count, pieces)
    }

    /// Returns the part of a box without the margin, and the box of the input that contains its pixels;
    /// `None` for a box in the margin.
    fn needed(&self, window: &Window) -> Option<(Window, Window)> {
        let (mut inner, mut input_box) = (window.clone(), window.clone());
        for (axis, &PartAxis { range, before, .. }) in self.parts.iter().enumerate() {
            let first = window.first[axis].max(before);
            let end = (window.first[axis] + window.count[axis]).min(before + range.count);
            if first >= end {
                return None;
            }
            let steps = range.step.unsigned_abs();
            let pixel =
                |index: u64| range.first.wrapping_add_signed((index - before) as i64 * range.step);
            (inner.first[axis], inner.count[axis]) = (first, end - first);
            input_box.first[axis] = pixel(first).min(pixel(end - 1));
            input_box.count[axis] = (end - 1 - first) * steps + 1;
        }
        Some((inner, input_box))
    }

    /// Copies the pixels of `input_box`, each of `size` items, to their places in a box of this image.
    fn place<T: Copy>(
        &self,
        window: &Window,
        (inner, input_box): (&Window, &Window),
        size: usize,
        pixels: &[T],
        out: &mut [T],
    ) {
        let step = |axis: usize| self.parts[axis].range.step;
        let rows: u64 = inner.count[1..].iter().product();
        for row in 0..rows {
            let (mut rest, mut from, mut to) = (row, 0, 0);
            let (mut from_stride, mut to_stride) = (input_box.count[0], window.count[0]);
            for axis in 1..self.parts.len() {
                let index = rest % inner.count[axis];
                rest /= inner.count[axis];
                from += self.source(axis, index, inner) * from_stride;
                to += (inner.first[axis] - window.first[axis] + index) * to_stride;
                from_stride *= input_box.count[axis];
                to_stride *= window.count[axis];
            }
            to += inner.first[0] - window.first[0];
            let (from, to, count) = (from as usize, to as usize, inner.count[0] as usize);
            let target = &mut out[to * size..(to + count) * size];
            if step(0) == 1 || count == 1 {
                target.copy_from_slice(&pixels[from * size..(from + count) * size]);
                continue;
            }
            for (index, pixel) in target.chunks_exact_mut(size).enumerate() {
                let at = from + self.source(0, index as u64, inner) as usize;
                pixel.copy_from_slice(&pixels[at * size..(at + 1) * size]);
            }
        }
    }

    /// Returns the position, along an axis of the input's box, of pixel `index` of `inner`.
    fn source(&self, axis: usize, index: u64, inner: &Window) -> u64 {
        let step = self.parts[axis].range.step;
        let index = if step < 0 { inner.count[axis] - 1 - index } else { index };
        index * step.unsigned_abs()
    }

    /// Computes the values of a box, NaN in the margin.
    fn values<T: Native>(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [T],
    ) -> Result<(), IoError> {
        let outer = self.with_dropped(window);
        let (count, mut pieces) = self.pieces(&outer);
        if self.is_box
            && count == 1
            && let Some((_, input_box)) = pieces.next()
        {
            return T::values(&*self.input, &input_box, feed, out);
        }
        out.fill(T::NAN);
        for (inner, input_box) in pieces {
            let mut values = T::take(feed.scratch, input_box.pixels() as usize)?;
            T::values(&*self.input, &input_box, feed, &mut values)?;
            self.place(&outer, (&inner, &input_box), 1, &values, out);
            T::give_back(feed.scratch, values);
        }
        Ok(())
    }

    /// Returns the bytes of an undefined pixel.
    fn undefined(&self) -> Vec<u8> {
        let size = self.encoding.pixel_bytes();
        match (self.encoding.pixel.is_float(), size) {
            (true, 4) => f32::NAN.to_be_bytes().to_vec(),
            (true, _) => f64::NAN.to_be_bytes().to_vec(),
            // The low bytes of BLANK, in the stored type.
            _ => self.encoding.blank.unwrap_or(0).to_be_bytes()[8 - size..].to_vec(),
        }
    }
}

impl Node for SectionNode {
    fn axes(&self) -> &[u64] {
        &self.axes
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn is_logical(&self) -> bool {
        self.input.is_logical() && self.encoding == self.input.encoding()
    }

    fn sources(&self, sources: &mut Sources) {
        self.input.sources(sources);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        for (_, input_box) in self.pieces(&self.with_dropped(window)).1 {
            self.input.reads(&input_box, reads);
        }
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        let outer = self.with_dropped(window);
        let (count, mut pieces) = self.pieces(&outer);
        if self.is_box
            && count == 1
            && let Some((_, input_box)) = pieces.next()
        {
            return self.input.fill(&input_box, feed, out);
        }
        if self.encoding != self.input.encoding() {
            let mut values = feed.scratch.f64s(window.pixels() as usize)?;
            self.values_f64(window, feed, &mut values)?;
            feed.encode(&values, &self.encoding, out)?;
            feed.scratch.give_back_f64s(values);
            return Ok(());
        }
        let size = self.encoding.pixel_bytes();
        let undefined = self.undefined();
        out.chunks_exact_mut(size).for_each(|pixel| pixel.copy_from_slice(&undefined));
        for (inner, input_box) in pieces {
            let mut pixels = feed.scratch.bytes(input_box.pixels() as usize * size)?;
            self.input.fill(&input_box, feed, &mut pixels)?;
            self.place(&outer, (&inner, &input_box), size, &pixels, out);
            feed.scratch.give_back_bytes(pixels);
        }
        Ok(())
    }

    fn values_f64(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [f64],
    ) -> Result<(), IoError> {
        self.values(window, feed, out)
    }

    fn values_f32(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [f32],
    ) -> Result<(), IoError> {
        self.values(window, feed, out)
    }

    fn halo(&self) -> Vec<u64> {
        let halos = self.input.halo().into_iter().zip(&self.parts);
        halos.filter_map(|(halo, part)| (!part.dropped).then_some(halo)).collect()
    }

    fn expansion(&self) -> u64 {
        let steps = self.parts.iter().map(|part| match part.range.count {
            _ if part.is_sparse => 1,
            1 => 1,
            _ => part.range.step.unsigned_abs(),
        });
        steps.fold(self.input.expansion(), u64::saturating_mul)
    }
}
