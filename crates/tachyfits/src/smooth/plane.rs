//! Smoothing of planes: weights along x times weights along y. Undefined pixels count in two
//! dimensions: the weights of the defined pixels are summed in the same way as the pixels.
//!
//! Rows are summed along x one by one, from a copy with the values beyond the edges, and put into
//! strips of a few columns. A strip is one line whose neighbours along y lie a row further on, and
//! stays in the first-level cache while it is summed along y. Sums of weights are constant if no
//! pixel of the window and its halo is undefined.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use tachyfits_kernels::{Blanks, Encoding, Stencil, Tier, smooth_rows_f64};

use super::{Edge, Neighbour, check_weights, neighbour, policies_text, weights_text};
use crate::computed::{Computed, Feed, Node, Reads, Sources, Window};
use crate::error::Error;
use crate::file::FitsFile;
use crate::image::Image;
use crate::number::float_encoding;
use crate::survival::Change;

/// A smoothing of the planes of NAXIS1 and NAXIS2 with weights that are products.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaneSmoothing {
    /// The factors along NAXIS1, as for [`crate::Smoothing`].
    pub x: Vec<f64>,
    /// The factors along NAXIS2.
    pub y: Vec<f64>,
    /// Values of the pixels beyond the edges.
    pub edge: Edge,
    /// Treatment of undefined pixels.
    pub blanks: Blanks,
    /// Whether undefined pixels get values where their neighbours give one.
    pub fill: bool,
    /// Every result is multiplied by this number, those that [`Edge::Keep`] leaves as they are included: values per beam
    /// follow the new beam.
    pub scale: f64,
}

impl Image {
    /// The planes smoothed, computed when they are read or written. Values have the types of
    /// [`Image::smooth`]; sums are taken in f64, along x first, and rounded once. With
    /// [`Blanks::Renormalise`] a sum is divided by the weights of the defined pixels in the plane
    /// and multiplied by all weights.
    ///
    /// # Errors
    /// As [`Image::smooth`].
    pub fn smooth_planes(&self, smoothing: &PlaneSmoothing) -> Result<FitsFile, Error> {
        self.check_axis(1)?;
        for weights in [&smoothing.x, &smoothing.y] {
            check_weights(weights, 1).map_err(|error| self.place(error))?;
        }
        check_weights(&[smoothing.scale], 1).map_err(|error| self.place(error))?;
        let node = SmoothPlanes::new(self.node()?, smoothing);
        let mut survivors = self.survivors(Change::Values)?;
        let mut history = format!(
            "tachyfits: planes smoothed along x with {}, along y with {}, {}",
            weights_text(&smoothing.x),
            weights_text(&smoothing.y),
            policies_text(smoothing.edge, smoothing.blanks, smoothing.fill)
        );
        if smoothing.scale != 1.0 {
            let _ = write!(history, ", values multiplied by {}", smoothing.scale);
        }
        self.format_error(survivors.header.push_commentary("HISTORY", &history))?;
        let name = format!("{} (smoothed)", self.file_name());
        Computed::new(name, Arc::new(node), survivors)?.file()
    }
}

/// Columns of a strip: the rows of 43 weights take 11 KiB.
const STRIP: usize = 32;

/// The node of a smoothing of planes.
#[derive(Debug)]
struct SmoothPlanes {
    input: Arc<dyn Node>,
    smoothing: PlaneSmoothing,
    /// Values beyond the edges; those of [`Edge::Keep`] are computed and replaced.
    edge: Edge,
    /// Whether undefined pixels can be replaced by 0: no weight makes -0.0 of it.
    replaces: bool,
    /// The sum of all weights, in the order in which those of defined pixels are added.
    all: f64,
    encoding: Encoding,
}

impl SmoothPlanes {
    fn new(input: Arc<dyn Node>, smoothing: &PlaneSmoothing) -> SmoothPlanes {
        let PlaneSmoothing { x, y, edge, blanks, scale, .. } = smoothing;
        let size = |weights: &[f64]| weights.iter().map(|weight| weight.abs()).sum::<f64>();
        let encoding = float_encoding(&input.encoding(), size(x) * size(y) * scale.abs());
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

    /// The window of the input that a window needs, and where its pixels are along x and y.
    fn needed(&self, window: &Window) -> (Window, [Places; 2]) {
        let PlaneSmoothing { x, y, .. } = &self.smoothing;
        let places = [(0, x), (1, y)].map(|(axis, weights)| {
            let half = weights.len() / 2;
            Places::new(window.first[axis], window.count[axis], half, self.input.axes()[axis])
        });
        let mut needed = window.clone();
        for (axis, places) in places.iter().enumerate() {
            needed = needed.along(axis, places.first, places.needed as u64);
        }
        (needed, places)
    }

    fn stencil<'a>(&self, weights: &'a [f64]) -> Stencil<'a> {
        let blanks = match self.smoothing.blanks {
            Blanks::Propagate => Blanks::Propagate,
            Blanks::Renormalise | Blanks::Zero => Blanks::Zero,
        };
        Stencil { weights, blanks, fill: true }
    }

    /// Smooths the part of a plane that a window needs of it.
    fn smooth(&self, part: &Part<'_>, feed: &mut Feed<'_>, out: &mut [f64]) {
        let undefined = if self.replaces { 0.0 } else { f64::NAN };
        let beyond = Beyond { edge: self.edge, zero: 0.0, blank: undefined };
        let pixel = |&x: &f64| if x.is_nan() { undefined } else { x };
        self.sum(part, 0..part.height(), beyond, feed, out, |row, line| match part.has_nan[row] {
            true => line.iter_mut().zip(part.row(row)).for_each(|(to, from)| *to = pixel(from)),
            false => line.copy_from_slice(part.row(row)),
        });
        if self.smoothing.blanks == Blanks::Renormalise {
            self.renormalise(part, feed, out);
        }
        for row in 0..part.height() {
            let out = &mut out[row * part.width()..(row + 1) * part.width()];
            self.finish_row(part, row, out);
        }
    }

    /// Sums rows of a part: `line` gives the pixels of a row of it.
    fn sum(
        &self,
        part: &Part<'_>,
        rows: Range<usize>,
        beyond: Beyond,
        feed: &mut Feed<'_>,
        out: &mut [f64],
        line: impl Fn(usize, &mut [f64]),
    ) {
        let PlaneSmoothing { x, y, .. } = &self.smoothing;
        let width = part.width();
        let count = rows.len() + y.len() - 1;
        let mut padded = feed.scratch.f64s(width + x.len() - 1);
        let mut sums = feed.scratch.f64s(width);
        let mut strips = feed.scratch.f64s(width * count);
        let mut last = None;
        for at in 0..count {
            let place = part.y.neighbour(rows.start + at, beyond.edge);
            // Rows that are repeated are summed once.
            if last != Some(place) {
                match place {
                    Neighbour::Pixel(row) => {
                        let inside = part.x.inside();
                        line(row as usize, &mut padded[inside.clone()]);
                        part.x.pad(&mut padded, beyond);
                        smooth_line(&padded, 1, &self.stencil(x), feed.tier, &mut sums);
                    }
                    Neighbour::Beyond => sums.fill(weighted(x, beyond.zero)),
                    Neighbour::Blank => sums.fill(beyond.blank),
                }
                last = Some(place);
            }
            for (strip, sums) in strips.chunks_mut(STRIP * count).zip(sums.chunks(STRIP)) {
                strip[at * sums.len()..][..sums.len()].copy_from_slice(sums);
            }
        }
        let mut results = feed.scratch.f64s(STRIP * rows.len());
        for (strip, begin) in strips.chunks(STRIP * count).zip((0..width).step_by(STRIP)) {
            let columns = strip.len() / count;
            let results = &mut results[..columns * rows.len()];
            smooth_line(strip, columns, &self.stencil(y), feed.tier, results);
            for (out, results) in out.chunks_exact_mut(width).zip(results.chunks_exact(columns)) {
                out[begin..begin + columns].copy_from_slice(results);
            }
        }
        for buffer in [results, strips, sums, padded] {
            feed.scratch.give_back_f64s(buffer);
        }
    }

    /// Divides sums by those of the weights of defined pixels, and multiplies them by that of all.
    fn renormalise(&self, part: &Part<'_>, feed: &mut Feed<'_>, sums: &mut [f64]) {
        let width = part.width();
        let beyond = Beyond { edge: self.edge, zero: 1.0, blank: 0.0 };
        let weight = |&x: &f64| if x.is_nan() { 0.0 } else { 1.0 };
        let undefined = part.rows_with_undefined(self.smoothing.y.len(), self.edge);
        if undefined.is_empty() {
            // No buffer is taken, which would be cleared.
            return self.renormalise_defined(part, 0..part.height(), feed, sums);
        }
        let mut good = feed.scratch.f64s(sums.len());
        let mut done = 0;
        for rows in undefined {
            self.renormalise_defined(part, done..rows.start, feed, sums);
            let place = rows.start * width..rows.end * width;
            let good = &mut good[place.clone()];
            self.sum(part, rows.clone(), beyond, feed, good, |row, line| {
                line.iter_mut().zip(part.row(row)).for_each(|(to, from)| *to = weight(from));
            });
            self.divide(&mut sums[place], good);
            done = rows.end;
        }
        self.renormalise_defined(part, done..part.height(), feed, sums);
        feed.scratch.give_back_f64s(good);
    }

    /// The same for rows around which every pixel is defined: those beyond the edges along x may not be.
    fn renormalise_defined(
        &self,
        part: &Part<'_>,
        rows: Range<usize>,
        feed: &mut Feed<'_>,
        sums: &mut [f64],
    ) {
        if self.edge != Edge::Blank || rows.is_empty() {
            return;
        }
        let PlaneSmoothing { x, y, .. } = &self.smoothing;
        let mut padded = vec![1.0; part.width() + x.len() - 1];
        part.x.pad(&mut padded, Beyond { edge: self.edge, zero: 1.0, blank: 0.0 });
        let mut line = vec![0.0; part.width()];
        smooth_line(&padded, 1, &self.stencil(x), feed.tier, &mut line);
        let mut good = vec![0.0; part.width()];
        smooth_rows_f64(&vec![&line[..]; y.len()], &self.stencil(y), feed.tier, &mut good);
        let sums = &mut sums[rows.start * part.width()..rows.end * part.width()];
        sums.chunks_exact_mut(part.width()).for_each(|sums| self.divide(sums, &good));
    }

    fn divide(&self, sums: &mut [f64], good: &[f64]) {
        for (sum, &good) in sums.iter_mut().zip(good) {
            *sum = result(*sum, good, self.all);
        }
    }

    /// Puts the pixels back that stay as they are, and scales.
    fn finish_row(&self, part: &Part<'_>, row: usize, out: &mut [f64]) {
        let PlaneSmoothing { fill, scale, edge, .. } = self.smoothing;
        let row_of_pixels = part.y.pixel(row);
        let own = &part.row(row_of_pixels)[part.x.pixel(0)..][..out.len()];
        if part.has_nan[row_of_pixels] && !fill {
            for (out, &own) in out.iter_mut().zip(own) {
                *out = if own.is_nan() { own } else { *out };
            }
        }
        if edge == Edge::Keep {
            let all = part.y.is_near_end(row);
            for (at, (out, &own)) in out.iter_mut().zip(own).enumerate() {
                *out = if all || part.x.is_near_end(at) { own } else { *out };
            }
        }
        if scale != 1.0 {
            out.iter_mut().for_each(|out| *out *= scale);
        }
    }
}

/// Sums pixels of a line that lie `step` apart.
fn smooth_line(line: &[f64], step: usize, stencil: &Stencil<'_>, tier: Tier, out: &mut [f64]) {
    let rows: Vec<&[f64]> = (0..stencil.weights.len()).map(|row| &line[row * step..]).collect();
    smooth_rows_f64(&rows, stencil, tier, out);
}

/// Values beyond the edges.
#[derive(Clone, Copy, Debug)]
struct Beyond {
    edge: Edge,
    /// For [`Edge::Zero`].
    zero: f64,
    /// For [`Edge::Blank`].
    blank: f64,
}

/// Where the pixels along an axis are that some results need.
#[derive(Clone, Copy, Debug)]
struct Places {
    /// The first result, how many there are, and how many neighbours each has on either side.
    result: u64,
    results: usize,
    half: usize,
    /// The first pixel that is needed, and how many there are.
    first: u64,
    needed: usize,
    /// How many pixels the axis has.
    length: u64,
}

impl Places {
    fn new(result: u64, results: u64, half: usize, length: u64) -> Places {
        let first = result.saturating_sub(half as u64);
        let needed = ((result + results + half as u64).min(length) - first) as usize;
        Places { result, results: results as usize, half, first, needed, length }
    }

    /// The neighbour of a result at an index: pixels count from the first needed one.
    fn neighbour(&self, at: usize, edge: Edge) -> Neighbour {
        let index = self.result as i64 + at as i64 - self.half as i64;
        match neighbour(index, self.length, edge) {
            Neighbour::Pixel(index) => Neighbour::Pixel(index - self.first),
            beyond => beyond,
        }
    }

    /// The places of the pixels that are needed.
    fn inside(&self) -> Range<usize> {
        let begin = self.first as usize + self.half - self.result as usize;
        begin..begin + self.needed
    }

    /// Puts what is beyond the edges around the pixels of a line.
    fn pad(&self, line: &mut [f64], beyond: Beyond) {
        let inside = self.inside();
        for at in (0..inside.start).chain(inside.end..line.len()) {
            line[at] = match self.neighbour(at, beyond.edge) {
                Neighbour::Pixel(pixel) => line[inside.start + pixel as usize],
                Neighbour::Beyond => beyond.zero,
                Neighbour::Blank => beyond.blank,
            };
        }
    }

    /// Which of the pixels that are needed is in the middle of a result.
    fn pixel(&self, result: usize) -> usize {
        (self.result - self.first) as usize + result
    }

    /// Whether a result has neighbours beyond the ends.
    fn is_near_end(&self, result: usize) -> bool {
        let (index, half) = (self.result + result as u64, self.half as u64);
        index < half || index + half >= self.length
    }
}

/// The pixels of a plane that some results need.
struct Part<'a> {
    pixels: &'a [f64],
    x: Places,
    y: Places,
    /// Which rows have undefined pixels.
    has_nan: Vec<bool>,
}

impl<'a> Part<'a> {
    fn new(pixels: &'a [f64], [x, y]: [Places; 2]) -> Part<'a> {
        let rows = pixels.chunks_exact(x.needed);
        let has_nan = rows.map(|row| row.iter().fold(false, |nan, x| nan | x.is_nan())).collect();
        Part { pixels, x, y, has_nan }
    }

    fn width(&self) -> usize {
        self.x.results
    }

    fn height(&self) -> usize {
        self.y.results
    }

    fn row(&self, row: usize) -> &'a [f64] {
        &self.pixels[row * self.x.needed..(row + 1) * self.x.needed]
    }

    /// The runs of rows of results that have undefined pixels among the rows around them.
    fn rows_with_undefined(&self, weights: usize, edge: Edge) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for at in 0..self.height() + weights - 1 {
            let undefined = match self.y.neighbour(at, edge) {
                Neighbour::Pixel(row) => self.has_nan[row as usize],
                Neighbour::Beyond => false,
                Neighbour::Blank => true,
            };
            if undefined {
                let rows = (at + 1).saturating_sub(weights)..(at + 1).min(self.height());
                match found.last_mut() {
                    Some(last) if last.end >= rows.start => last.end = rows.end,
                    _ => found.push(rows),
                }
            }
        }
        found
    }
}

/// The weighted sum of pixels that are all the same, added in the order of the weights.
fn weighted(weights: &[f64], pixel: f64) -> f64 {
    weights.iter().fold(-0.0, |sum, weight| sum + weight * pixel)
}

/// Return the renormalised sum: `good` is the sum of the weights of defined pixels, `all` that of all weights.
fn result(sum: f64, good: f64, all: f64) -> f64 {
    let grown = if good == all { sum } else { sum * (all / good) };
    if good == 0.0 { f64::NAN } else { grown }
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

    fn bytes(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) {
        let (needed, places) = self.needed(window);
        let mut pixels = feed.scratch.f64s(needed.pixels() as usize);
        let mut sums = feed.scratch.f64s(window.pixels() as usize);
        self.input.values_f64(&needed, feed, &mut pixels);
        let [plane, results] = [&needed, window].map(|w| (w.count[0] * w.count[1]) as usize);
        if results > 0 {
            let planes = pixels.chunks_exact(plane).zip(sums.chunks_exact_mut(results));
            planes.for_each(|(plane, sums)| self.smooth(&Part::new(plane, places), feed, sums));
        }
        feed.encode(&sums, &self.encoding, out);
        feed.scratch.give_back_f64s(sums);
        feed.scratch.give_back_f64s(pixels);
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
}
