//! Smoothing of planes with products of weights along x and along y. Undefined pixels are handled in two
//! dimensions: the weights of the defined pixels are summed in the same way as the pixels.
//!
//! Rows are summed along x one by one, from a copy padded with the values beyond the edges, into strips of a
//! few columns. A strip is one line whose neighbours along y are one row apart. It contains the rows of one
//! band of results, and keeps the rows that the next band needs. Weights are summed only if a pixel around a
//! band is undefined.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::IoError;
use tachyfits_kernels::{
    BLOCK, Blanks, Blocks, Encoding, Stencil, Tier, decode_f64, smooth_blocks_f64, smooth_rows_f64,
};
use tachyfits_memory as memory;

use super::{
    Edge, Neighbour, check_planes, check_weights, neighbour, plane_place, policies_text,
    weights_text,
};
use crate::computed::{Computed, Feed, Node, NodeScratch, Reads, Sources, Window, usual_shape};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::image::Image;
use crate::number::float_encoding;
use crate::survival::Change;

tachyfits_io::options! {
    /// Options of a smoothing of the planes of NAXIS1 and NAXIS2 with separable weights.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PlaneSmoothing {
        /// Weights along NAXIS1, as for [`crate::smooth::Smoothing`].
        pub x: Vec<f64>,
        /// Weights along NAXIS2.
        pub y: Vec<f64>,
        /// Values of the pixels beyond the edges.
        pub edge: Edge,
        /// Treatment of undefined pixels.
        pub blanks: Blanks,
        /// Whether undefined pixels get values if a neighbour is defined.
        pub fill: bool,
        /// Axes along which the scales vary; 0 is NAXIS1. The first two axes are not allowed.
        pub axes: Vec<usize>,
        /// Factors of the planes' results, including pixels kept by [`Edge::Keep`]: they convert values per
        /// beam to the new beam. NaN makes a plane undefined. The first axis varies fastest; a single factor
        /// if no axis varies.
        pub scales: Vec<f64>,
    }
}

impl PlaneSmoothing {
    /// Creates a smoothing of every plane that repeats the pixels at the edges, ignores undefined pixels and
    /// keeps the scale.
    pub fn new(x: Vec<f64>, y: Vec<f64>) -> PlaneSmoothing {
        let (edge, blanks) = (Edge::Repeat, Blanks::Renormalise);
        PlaneSmoothing { x, y, edge, blanks, fill: false, axes: Vec::new(), scales: vec![1.0] }
    }
}

impl Image {
    /// Returns the smoothed planes; pixels are computed when they are read or written. Values have the types
    /// of [`Image::smooth`]; sums are taken in f64, along x first, and rounded once. With
    /// [`Blanks::Renormalise`] a sum is divided by the weights of the defined pixels in the plane and
    /// multiplied by all weights.
    ///
    /// # Errors
    /// As [`Image::smooth`].
    pub fn smooth_planes(&self, smoothing: &PlaneSmoothing) -> Result<FitsFile, Error> {
        self.check_axis(1)?;
        for weights in [&smoothing.x, &smoothing.y] {
            check_weights(weights, 1).map_err(|error| self.place(error))?;
        }
        for &axis in &smoothing.axes {
            self.check_axis(axis)?;
        }
        check_scales(smoothing, self.axes()).map_err(|error| self.place(error))?;
        let node = SmoothPlanes::new(self.node()?, smoothing);
        let mut survivors = self.survivors(Change::Values)?;
        let mut history = format!(
            "tachyfits: planes smoothed along x with {}, along y with {}, {}",
            weights_text(&smoothing.x),
            weights_text(&smoothing.y),
            policies_text(smoothing.edge, smoothing.blanks, smoothing.fill)
        );
        match smoothing.scales[..] {
            [1.0] => {}
            [scale] => {
                let _ = write!(history, ", values multiplied by {scale}");
            }
            _ => history.push_str(", values of each plane multiplied by a number"),
        }
        self.format_error(survivors.header.push_commentary("HISTORY", &history))?;
        let name = format!("{} (smoothed)", self.file_name());
        FitsFile::computed(Computed::new(name, Arc::new(node), survivors)?)
    }
}

/// Returns an error unless the scales are valid.
fn check_scales(smoothing: &PlaneSmoothing, axes: &[u64]) -> Result<(), Error> {
    check_planes(&smoothing.axes, smoothing.scales.len(), axes, "a scale")?;
    match smoothing.scales.iter().find(|scale| scale.is_infinite()) {
        Some(scale) => {
            let expected = "a finite scale, or NaN for a plane without one".to_owned();
            Err(Error::refused(Reason::Smoothing, expected, scale.to_string()))
        }
        None => Ok(()),
    }
}

/// Rows of results per band: sums along x of a band of 1024 columns and 43 weights take 850 KB.
const BAND: usize = 64;

/// Node that smooths planes.
#[derive(Debug)]
struct SmoothPlanes {
    input: Arc<dyn Node>,
    smoothing: PlaneSmoothing,
    /// Edge used for the computation; results are replaced afterwards for [`Edge::Keep`].
    edge: Edge,
    /// Whether undefined pixels can be replaced by 0, because no weight makes it -0.0.
    replaces: bool,
    /// Sum of all weights, added in the same order as the weights of defined pixels.
    all: f64,
    encoding: Encoding,
}

impl SmoothPlanes {
    fn new(input: Arc<dyn Node>, smoothing: &PlaneSmoothing) -> SmoothPlanes {
        let PlaneSmoothing { x, y, edge, blanks, scales, .. } = smoothing;
        let scale = scales.iter().map(|scale| scale.abs()).fold(0.0, f64::max);
        let size = |weights: &[f64]| weights.iter().map(|weight| weight.abs()).sum::<f64>();
        let encoding = float_encoding(&input.encoding(), size(x) * size(y) * scale);
        SmoothPlanes {
            input,
            edge: if *edge == Edge::Keep { Edge::Repeat } else { *edge },
            replaces: *blanks != Blanks::Propagate
                && x.iter().chain(y).all(|weight| weight.is_sign_positive()),
            all: weighted(y, weighted(x, 1.0)),
            smoothing: smoothing.clone(),
            encoding,
        }
    }

    /// Returns the window of the input that a window of results needs, and the positions of its pixels along
    /// x and y.
    fn needed(&self, window: &Window) -> (Window, [Places; 2]) {
        let PlaneSmoothing { x, y, .. } = &self.smoothing;
        let places = [(0, x), (1, y)].map(|(axis, weights)| {
            let half = weights.len() / 2;
            Places::new(window.first[axis], window.count[axis], half, self.input.axes()[axis])
        });
        let mut input_window = window.clone();
        for (axis, places) in places.iter().enumerate() {
            input_window = input_window.along(axis, places.first, places.needed as u64);
        }
        (input_window, places)
    }

    fn stencil<'a>(&self, weights: &'a [f64]) -> Stencil<'a> {
        let blanks = match self.smoothing.blanks {
            Blanks::Propagate => Blanks::Propagate,
            Blanks::Renormalise | Blanks::Zero => Blanks::Zero,
        };
        Stencil { weights, blanks, fill: true }
    }

    /// Smooths a part of a plane, band after band, and multiplies it by `scale`.
    fn smooth(
        &self,
        (part, scale): (&PlanePart<'_>, f64),
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let (width, tier) = (part.width(), feed.tier);
        let row_bytes = width * self.encoding.pixel_bytes();
        let renormalises = self.smoothing.blanks == Blanks::Renormalise;
        let mut has_nan = memory::filled(part.y.needed, false, "the rows of a plane")?;
        let mut sums = PlaneSums::new(self, part, feed.scratch)?;
        let mut good: Option<PlaneSums> = None;
        let mut pixels = feed.scratch.f64s(part.x.needed)?;
        for (band, out) in out.chunks_mut(BAND * row_bytes).enumerate() {
            if feed.fetched.is_cancelled() {
                return Err(IoError::Cancelled);
            }
            let rows = band * BAND..band * BAND + out.len() / row_bytes;
            self.sum(part, Of::Pixels, &rows, &mut sums, &mut has_nan, tier);
            if renormalises && part.has_undefined(&rows, self.edge, &has_nan) {
                if good.is_none() {
                    good = Some(PlaneSums::new(self, part, feed.scratch)?);
                }
                let Some(good) = &mut good else { unreachable!("set above") };
                self.sum(part, Of::Weights, &rows, good, &mut has_nan, tier);
                self.divide(sums.results(), good.results());
            } else if renormalises && self.edge == Edge::Blank {
                let good = self.weights_of_defined(part, tier)?;
                let pitch = sums.count * BLOCK;
                sums.results().chunks_mut(pitch).for_each(|sums| self.divide(sums, &good));
            }
            let pitch = sums.count * BLOCK;
            let results = sums.results().chunks_mut(pitch);
            for ((row, results), out) in rows.zip(results).zip(out.chunks_exact_mut(row_bytes)) {
                let results = &mut results[..width];
                self.finish_row(part, row, &has_nan, &mut pixels, tier, results);
                if scale != 1.0 {
                    results.iter_mut().for_each(|out| *out *= scale);
                }
                feed.encode(results, &self.encoding, out)?;
            }
        }
        feed.scratch.give_back_f64s(pixels);
        for sums in good.into_iter().chain([sums]) {
            sums.give_back(feed.scratch);
        }
        Ok(())
    }

    /// Sums pixels or weights around rows of results that follow the rows of the last call.
    fn sum(
        &self,
        part: &PlanePart<'_>,
        of: Of,
        results: &Range<usize>,
        sums: &mut PlaneSums,
        has_nan: &mut [bool],
        tier: Tier,
    ) {
        let PlaneSmoothing { x, y, .. } = &self.smoothing;
        let (edge, undefined) = (self.edge, if self.replaces { 0.0 } else { f64::NAN });
        let beyond = match of {
            Of::Pixels => Beyond { edge, zero: 0.0, blank: undefined },
            Of::Weights => Beyond { edge, zero: 1.0, blank: 0.0 },
        };
        sums.keep_from(results.start);
        let (first, length, stencil) = (sums.rows.start, sums.length, self.stencil(x));
        for at in sums.rows.end..results.end + y.len() - 1 {
            let place = part.y.neighbour(at, edge);
            let row = at - first;
            if row > 0 && place == part.y.neighbour(at - 1, edge) {
                // Repeated rows are summed once.
                sums.repeat(row);
                continue;
            }
            match place {
                Neighbour::Pixel(pixels) => {
                    let sum = |sums: &mut PlaneSums| {
                        part.x.pad(&mut sums.line[..length], beyond);
                        sums.along_x(row, &stencil, tier)
                    };
                    let pixels = pixels as usize;
                    if of == Of::Pixels {
                        self.sum_pixels(part, pixels, sums, has_nan, tier, sum);
                    } else {
                        put_weights(part, pixels, has_nan[pixels], &mut sums.line, tier);
                        sum(sums);
                    }
                }
                Neighbour::Beyond => sums.fill(row, weighted(x, beyond.zero)),
                Neighbour::Blank => sums.fill(row, beyond.blank),
            }
        }
        sums.rows.end = results.end + y.len() - 1;
        sums.along_y(results.len(), &self.stencil(y), tier);
    }

    /// Sums the pixels of a row along x and records whether one is undefined.
    fn sum_pixels(
        &self,
        part: &PlanePart<'_>,
        row: usize,
        sums: &mut PlaneSums,
        has_nan: &mut [bool],
        tier: Tier,
        sum: impl Fn(&mut PlaneSums) -> bool,
    ) {
        let inside = part.x.inside();
        part.row(row, tier, &mut sums.line[inside.clone()]);
        // A row after a row with undefined pixels probably has some as well.
        let expected = row > 0 && has_nan[row - 1];
        if !expected && !sum(sums) {
            return;
        }
        let pixels = &mut sums.line[inside];
        has_nan[row] = pixels.iter().fold(false, |nan, x| nan | x.is_nan());
        if has_nan[row] && self.replaces {
            pixels.iter_mut().for_each(|x| *x = if x.is_nan() { 0.0 } else { *x });
        } else if !expected {
            return;
        }
        sum(sums);
    }

    /// Returns the sums of weights for a row whose surrounding pixels are all defined, except for those
    /// beyond the edges along x.
    fn weights_of_defined(&self, part: &PlanePart<'_>, tier: Tier) -> Result<Vec<f64>, IoError> {
        const WHAT: &str = "the weights of a row";
        let PlaneSmoothing { x, y, .. } = &self.smoothing;
        let mut padded = memory::filled(part.width() + x.len() - 1, 1.0, WHAT)?;
        part.x.pad(&mut padded, Beyond { edge: self.edge, zero: 1.0, blank: 0.0 });
        let near: Vec<&[f64]> = (0..x.len()).map(|row| &padded[row..]).collect();
        let mut line = memory::filled(part.width(), 0.0, WHAT)?;
        smooth_rows_f64(&near, &self.stencil(x), tier, &mut line);
        let mut good = memory::filled(part.width(), 0.0, WHAT)?;
        // At most MOST_WEIGHTS rows.
        smooth_rows_f64(&vec![&line[..]; y.len()], &self.stencil(y), tier, &mut good);
        Ok(good)
    }

    fn divide(&self, sums: &mut [f64], good: &[f64]) {
        for (sum, &good) in sums.iter_mut().zip(good) {
            *sum = result(*sum, good, self.all);
        }
    }

    /// Restores pixels that keep their values; `pixels` is a buffer for the pixels of a row.
    fn finish_row(
        &self,
        part: &PlanePart<'_>,
        row: usize,
        has_nan: &[bool],
        pixels: &mut [f64],
        tier: Tier,
        out: &mut [f64],
    ) {
        let PlaneSmoothing { fill, edge, .. } = self.smoothing;
        let row_of_pixels = part.y.pixel(row);
        let stays_undefined = has_nan[row_of_pixels] && !fill;
        if stays_undefined || edge == Edge::Keep {
            part.row(row_of_pixels, tier, pixels);
        }
        let pixels = &pixels[part.x.pixel(0)..][..out.len()];
        if stays_undefined {
            for (out, &pixel) in out.iter_mut().zip(pixels) {
                *out = if pixel.is_nan() { pixel } else { *out };
            }
        }
        if edge == Edge::Keep {
            let all = part.y.is_near_end(row);
            for (at, (out, &pixel)) in out.iter_mut().zip(pixels).enumerate() {
                *out = if all || part.x.is_near_end(at) { pixel } else { *out };
            }
        }
    }
}

/// Values beyond the edges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beyond {
    pub(super) edge: Edge,
    /// For [`Edge::Zero`].
    pub(super) zero: f64,
    /// For [`Edge::Blank`].
    pub(super) blank: f64,
}

/// Positions along one axis of the pixels that some results need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    /// First result, number of results, and number of neighbours on either side of each.
    pub(super) result: u64,
    pub(super) results: usize,
    half: usize,
    /// First needed pixel, and number of needed pixels.
    pub(super) first: u64,
    pub(super) needed: usize,
    /// Number of pixels of the axis.
    length: u64,
}

impl Places {
    pub(super) fn new(result: u64, results: u64, half: usize, length: u64) -> Places {
        let first = result.saturating_sub(half as u64);
        let needed = ((result + results + half as u64).min(length) - first) as usize;
        Places { result, results: results as usize, half, first, needed, length }
    }

    /// Returns a neighbour of a result by index; pixels are counted from the first needed one.
    pub(super) fn neighbour(&self, at: usize, edge: Edge) -> Neighbour {
        let index = self.result as i64 + at as i64 - self.half as i64;
        match neighbour(index, self.length, edge) {
            Neighbour::Pixel(index) => Neighbour::Pixel(index - self.first),
            beyond => beyond,
        }
    }

    /// Returns the range of the needed pixels in a padded line.
    pub(super) fn inside(&self) -> Range<usize> {
        let begin = self.first as usize + self.half - self.result as usize;
        begin..begin + self.needed
    }

    /// Fills a line around its pixels with the values beyond the edges.
    pub(super) fn pad(&self, line: &mut [f64], beyond: Beyond) {
        let inside = self.inside();
        for at in (0..inside.start).chain(inside.end..line.len()) {
            line[at] = match self.neighbour(at, beyond.edge) {
                Neighbour::Pixel(pixel) => line[inside.start + pixel as usize],
                Neighbour::Beyond => beyond.zero,
                Neighbour::Blank => beyond.blank,
            };
        }
    }

    /// Returns the index of a result's central pixel among the needed pixels.
    fn pixel(&self, result: usize) -> usize {
        (self.result - self.first) as usize + result
    }

    /// Whether a result has neighbours beyond the ends.
    fn is_near_end(&self, result: usize) -> bool {
        self.is_within(result, self.half)
    }

    /// Whether a result is within `half` pixels of an end.
    pub(super) fn is_within(&self, result: usize, half: usize) -> bool {
        let (index, half) = (self.result + result as u64, half as u64);
        index < half || index + half >= self.length
    }
}

/// Pixels of a window of the input.
pub(super) enum PlanePixels<'a> {
    /// Pixels as stored, in pieces of whole rows: each row is decoded when needed.
    Stored {
        pieces: Vec<&'a [u8]>,
        encoding: Encoding,
    },
    Values(Vec<f64>),
}

impl<'a> PlanePixels<'a> {
    pub(super) fn new(
        input: &dyn Node,
        window: &Window,
        feed: &mut Feed<'a>,
    ) -> Result<PlanePixels<'a>, IoError> {
        let (encoding, next, fetched) = (input.encoding(), feed.next, feed.fetched);
        let row_bytes = window.count[0] as usize * encoding.pixel_bytes();
        if let Some(pieces) = input.stored(window, feed) {
            let pieces: Vec<&[u8]> = pieces.map(|piece| fetched.piece(piece)).collect();
            if pieces.iter().all(|piece| piece.len().is_multiple_of(row_bytes)) {
                return Ok(PlanePixels::Stored { pieces, encoding });
            }
            feed.next = next;
        }
        let mut values = feed.scratch.f64s(window.pixels() as usize)?;
        input.values_f64(window, feed, &mut values)?;
        Ok(PlanePixels::Values(values))
    }

    /// Copies the values of a row, NaN for undefined pixels.
    pub(super) fn row(&self, row: usize, tier: Tier, out: &mut [f64]) {
        match self {
            PlanePixels::Values(values) => {
                out.copy_from_slice(&values[row * out.len()..][..out.len()])
            }
            PlanePixels::Stored { pieces, encoding } => {
                let row_bytes = out.len() * encoding.pixel_bytes();
                let rows = pieces[0].len() / row_bytes;
                let bytes = &pieces[row / rows][row % rows * row_bytes..][..row_bytes];
                decode_f64(bytes, encoding, tier, out);
            }
        }
    }
}

/// Pixels of a plane that some results need.
struct PlanePart<'a> {
    pixels: &'a PlanePixels<'a>,
    /// Index of the first row of the part.
    first: usize,
    x: Places,
    y: Places,
}

impl PlanePart<'_> {
    fn width(&self) -> usize {
        self.x.results
    }

    fn row(&self, row: usize, tier: Tier, out: &mut [f64]) {
        self.pixels.row(self.first + row, tier, out);
    }

    /// Whether any row around these results has undefined pixels.
    fn has_undefined(&self, results: &Range<usize>, edge: Edge, has_nan: &[bool]) -> bool {
        (results.start..results.end + 2 * self.y.half).any(|at| match self.y.neighbour(at, edge) {
            Neighbour::Pixel(row) => has_nan[row as usize],
            Neighbour::Beyond => false,
            Neighbour::Blank => true,
        })
    }
}

/// Writes the weights of a row's pixels to a line.
fn put_weights(part: &PlanePart<'_>, row: usize, has_nan: bool, line: &mut [f64], tier: Tier) {
    let weights = &mut line[part.x.inside()];
    if has_nan {
        part.row(row, tier, weights);
        weights.iter_mut().for_each(|x| *x = if x.is_nan() { 0.0 } else { 1.0 });
    } else {
        weights.fill(1.0);
    }
}

/// Operands of sums.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Pixels,
    /// 1 for a defined pixel, 0 for an undefined one.
    Weights,
}

/// Sums of one band of results after another.
struct PlaneSums {
    /// Pixels of a row and the values beyond its ends, then zeros for the last strip.
    line: Vec<f64>,
    /// Length of the line without these zeros.
    length: usize,
    /// Sums along x, in strips of [`BLOCK`] columns, row by row.
    strips: Aligned,
    /// Positions along y of the rows in the strips.
    rows: Range<usize>,
    /// Sums along both axes, row by row.
    band: Aligned,
    /// Number of strips, and capacity of each in rows.
    count: usize,
    room: usize,
}

impl PlaneSums {
    fn new(
        node: &SmoothPlanes,
        part: &PlanePart<'_>,
        scratch: &mut NodeScratch,
    ) -> Result<PlaneSums, IoError> {
        let PlaneSmoothing { x, y, .. } = &node.smoothing;
        let count = part.width().div_ceil(BLOCK);
        let room = BAND + y.len() - 1;
        let length = part.width() + x.len() - 1;
        let mut line = scratch.f64s(count * BLOCK + x.len() - 1)?;
        line[length..].fill(0.0);
        Ok(PlaneSums {
            line,
            length,
            strips: Aligned::new(scratch, count * room * BLOCK)?,
            rows: 0..0,
            band: Aligned::new(scratch, count * BLOCK * BAND)?,
            count,
            room,
        })
    }

    fn give_back(self, scratch: &mut NodeScratch) {
        for buffer in [self.band.buffer, self.strips.buffer, self.line] {
            scratch.give_back_f64s(buffer);
        }
    }

    /// Returns the results of a band, row by row; the length of a row is the width of all strips.
    fn results(&mut self) -> &mut [f64] {
        self.band.get()
    }

    /// Drops the rows before a position.
    fn keep_from(&mut self, place: usize) {
        let rows = if self.rows.contains(&place) { place..self.rows.end } else { place..place };
        if !rows.is_empty() {
            let from = (rows.start - self.rows.start) * BLOCK..(rows.end - self.rows.start) * BLOCK;
            for strip in self.strips.get().chunks_exact_mut(self.room * BLOCK) {
                strip.copy_within(from.clone(), 0);
            }
        }
        self.rows = rows;
    }

    /// Copies the previous row to a row.
    fn repeat(&mut self, row: usize) {
        for strip in self.strips.get().chunks_exact_mut(self.room * BLOCK) {
            strip.copy_within((row - 1) * BLOCK..row * BLOCK, row * BLOCK);
        }
    }

    /// Sets every sum of a row to the same value.
    fn fill(&mut self, row: usize, sum: f64) {
        for strip in self.strips.get().chunks_exact_mut(self.room * BLOCK) {
            strip[row * BLOCK..(row + 1) * BLOCK].fill(sum);
        }
    }

    /// Sums the line along x as a row; returns whether a pixel may be undefined.
    fn along_x(&mut self, row: usize, stencil: &Stencil<'_>, tier: Tier) -> bool {
        let out_pitch = self.room * BLOCK;
        let blocks = Blocks { count: self.count, pitch: BLOCK, step: 1, out_pitch };
        let out = &mut self.strips.get()[row * BLOCK..];
        smooth_blocks_f64(&self.line, blocks, stencil, tier, out)
    }

    /// Sums the rows of a band along y.
    fn along_y(&mut self, rows: usize, stencil: &Stencil<'_>, tier: Tier) {
        let out_pitch = self.count * BLOCK;
        let blocks = Blocks { count: rows, pitch: BLOCK, step: BLOCK, out_pitch };
        let strips = self.strips.get().chunks_exact(self.room * BLOCK);
        for (number, strip) in strips.enumerate() {
            let out = &mut self.band.get()[number * BLOCK..];
            smooth_blocks_f64(strip, blocks, stencil, tier, out);
        }
    }
}

/// A buffer that begins at a cache line: vectors that cross the boundary of cache lines cost two accesses.
struct Aligned {
    buffer: Vec<f64>,
    length: usize,
}

impl Aligned {
    const LINE: usize = 64 / size_of::<f64>();

    fn new(scratch: &mut NodeScratch, length: usize) -> Result<Aligned, IoError> {
        Ok(Aligned { buffer: scratch.f64s(length + Self::LINE)?, length })
    }

    fn get(&mut self) -> &mut [f64] {
        let first = self.buffer.as_ptr().align_offset(64).min(Self::LINE);
        &mut self.buffer[first..first + self.length]
    }
}

/// Returns the weighted sum of equal pixels, added in the order of the weights.
fn weighted(weights: &[f64], pixel: f64) -> f64 {
    weights.iter().fold(-0.0, |sum, weight| sum + weight * pixel)
}

/// Returns the renormalised sum; `good` is the sum of the weights of defined pixels, `all` the sum of all
/// weights.
pub(super) fn result(sum: f64, good: f64, all: f64) -> f64 {
    let scaled = if good == all { sum } else { sum * (all / good) };
    if good == 0.0 { f64::NAN } else { scaled }
}

impl Node for SmoothPlanes {
    fn axes(&self) -> &[u64] {
        self.input.axes()
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn sources(&self, sources: &mut Sources) {
        self.input.sources(sources);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        self.input.reads(&self.needed(window).0, reads);
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        let (input_window, [x, y]) = self.needed(window);
        let pixels = PlanePixels::new(&*self.input, &input_window, feed)?;
        let plane = x.results * y.results * self.encoding.pixel_bytes();
        if plane > 0 {
            for (number, out) in out.chunks_exact_mut(plane).enumerate() {
                let part = PlanePart { pixels: &pixels, first: number * y.needed, x, y };
                let place = plane_place(window, number, &self.smoothing.axes, self.axes());
                self.smooth((&part, self.smoothing.scales[place]), feed, out)?;
            }
        }
        if let PlanePixels::Values(values) = pixels {
            feed.scratch.give_back_f64s(values);
        }
        Ok(())
    }

    fn halo(&self) -> Vec<u64> {
        let mut halo = self.input.halo();
        halo[0] += self.smoothing.x.len() as u64 / 2;
        halo[1] += self.smoothing.y.len() as u64 / 2;
        halo
    }

    fn expansion(&self) -> u64 {
        self.input.expansion()
    }

    fn box_shape(&self) -> Vec<u64> {
        // A row beyond a box costs as much as half a row of results.
        let halo: Vec<u64> = self.halo().iter().map(|halo| 3 * halo).collect();
        usual_shape(self.axes(), &halo, self.expansion())
    }
}
