//! Position-velocity cuts: the pixels along a path through the first two axes, for every pixel of the
//! remaining axes.

mod samples;

use std::sync::Arc;

use tachyfits_format::OffsetAxis;
use tachyfits_io::IoError;
use tachyfits_kernels::Encoding;

use crate::computed::{Computed, Feed, Node, Reads, Sources, Window, usual_shape};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::image::Image;
use crate::number::float_encoding;
use crate::survival::Change;
use samples::{SampleChunk, Samples};

tachyfits_io::options! {
    /// A path through the planes of an image, and its sampling.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PathCut {
        /// Points of the path, at least two: 0-based pixels of NAXIS1 and NAXIS2, with whole numbers at pixel
        /// centres.
        pub points: Vec<[f64; 2]>,
        /// Number of pixels across the path that are averaged.
        pub width: u32,
        /// Distance of samples in pixels.
        pub spacing: f64,
        /// Unit of offsets and the size of a pixel in this unit; `None` for pixels.
        pub unit: Option<(String, f64)>,
    }
}

impl PathCut {
    /// Creates a cut that is one pixel wide, with samples one pixel apart and offsets in pixels.
    pub fn new(points: Vec<[f64; 2]>) -> PathCut {
        PathCut { points, width: 1, spacing: 1.0, unit: None }
    }
}

/// Maximum width of a path in pixels, and maximum number of samples: enough for any image, few enough to fit
/// in memory.
const MOST_WIDTH: u32 = 1024;
const MOST_SAMPLES: f64 = 1e6;
/// Maximum distance of points from the image, in pixels.
const FARTHEST: f64 = 1e6;

impl Image {
    /// Returns the image of the pixels along a path. Its first axis is the offset from the start of the path;
    /// the others are the axes after the first two. Pixels are computed when they are read or written:
    /// float32 for pixels of up to 16 bits and float32, float64 for others. Only rows near the path are read.
    ///
    /// A result is the mean of `width` samples, one pixel apart on a line across the path and centred on it.
    /// A sample is interpolated linearly between the four pixels around it. Pixels that are undefined or
    /// outside the image are ignored, and the weights of the others are normalised: Σ w v / Σ w over the
    /// defined pixels of all samples, NaN without any.
    ///
    /// # Errors
    /// [`Reason::Path`] for an image with fewer than two axes, a path without length or without a sample on
    /// the image, and numbers out of range; errors of the header if the plane's coordinates and those of
    /// other axes depend on each other; as [`Image::stats`] for missing pixels.
    pub fn cut_along(&self, cut: &PathCut) -> Result<FitsFile, Error> {
        let samples = self.samples(cut)?;
        let chunks = samples.chunks();
        if chunks.iter().all(|chunk| chunk.pixels() == 0) {
            let expected =
                format!("a path through NAXIS1 × NAXIS2 = {:?} pixels", &self.axes()[..2]);
            let (first, last) = (cut.points[0], cut.points[cut.points.len() - 1]);
            let actual = format!("{first:?} to {last:?} (0-based), no sample of which is on them");
            return Err(self.refused(Reason::Path, &expected, actual));
        }
        let (unit, pixel) = cut.unit.clone().unwrap_or((String::new(), 1.0));
        let offsets = OffsetAxis {
            pixels: samples.len() as u64,
            first: 0.0,
            step: cut.spacing * pixel,
            unit,
        };
        let mut survivors = self.survivors(Change::Path(&offsets))?;
        let points: Vec<String> = cut.points.iter().map(|[x, y]| format!("({x}, {y})")).collect();
        let history = format!(
            "tachyfits: cut along {} (0-based pixels), width {}, of HDU {} (0-based)",
            points.join(" "),
            cut.width,
            self.hdu().index
        );
        self.format_error(survivors.header.push_commentary("HISTORY", &history))?;
        let name = format!("{} (cut along a path)", self.file_name());
        FitsFile::computed(Computed::new(
            name,
            Arc::new(Path::new(self.node()?, samples, chunks)),
            survivors,
        )?)
    }

    /// Returns the samples of a cut, or an error if the cut is invalid.
    fn samples(&self, cut: &PathCut) -> Result<Samples, Error> {
        let refuse =
            |expected: &str, actual: String| Err(self.refused(Reason::Path, expected, actual));
        let [nx, ny] = match self.axes() {
            [nx, ny, ..] if self.axes().iter().all(|&length| length > 0) => [*nx, *ny],
            axes => return refuse("an image of two axes or more", format!("axes {axes:?}")),
        };
        if !(1..=MOST_WIDTH).contains(&cut.width) {
            return refuse("a width of 1 to 1024 pixels", cut.width.to_string());
        }
        if !(cut.spacing > 0.0 && cut.spacing.is_finite()) {
            return refuse("a spacing of more than 0 pixels", cut.spacing.to_string());
        }
        if let Some((unit, pixel)) =
            cut.unit.as_ref().filter(|(_, pixel)| !(*pixel > 0.0 && pixel.is_finite()))
        {
            return refuse("a length of a pixel above 0", format!("{pixel} {unit}"));
        }
        let near = |value: f64, length: u64| (-FARTHEST..length as f64 + FARTHEST).contains(&value);
        if let Some(point) =
            cut.points.iter().find(|point| !near(point[0], nx) || !near(point[1], ny))
        {
            return refuse("points within 1e6 pixels of the image", format!("{point:?}"));
        }
        let length = samples::length(&cut.points);
        if length == 0.0 {
            return refuse("two different points or more", format!("{:?}", cut.points));
        }
        if length / cut.spacing > MOST_SAMPLES {
            let actual = format!("{length} pixels in steps of {}", cut.spacing);
            return refuse("at most 1000000 samples along the path", actual);
        }
        Ok(Samples::new(&cut.points, cut.width, cut.spacing, [nx, ny])?)
    }
}

/// Node that samples a path.
#[derive(Debug)]
struct Path {
    input: Arc<dyn Node>,
    axes: Vec<u64>,
    samples: Samples,
    chunks: Vec<SampleChunk>,
    encoding: Encoding,
}

impl Path {
    fn new(input: Arc<dyn Node>, samples: Samples, chunks: Vec<SampleChunk>) -> Path {
        let encoding = float_encoding(&input.encoding(), 1.0);
        let mut axes = vec![samples.len() as u64];
        axes.extend_from_slice(&input.axes()[2..]);
        Path { input, axes, samples, chunks, encoding }
    }

    /// Returns the chunks that contain the samples of a box.
    fn chunks(&self, window: &Window) -> &[SampleChunk] {
        let (first, last) = (window.first[0], window.first[0] + window.count[0] - 1);
        let size = samples::CHUNK as u64;
        &self.chunks[(first / size) as usize..=(last / size) as usize]
    }

    /// Returns the boxes of the input that a chunk needs for a box: a part of each row, for every pixel of
    /// the remaining axes.
    fn rows<'a>(
        &self,
        chunk: &'a SampleChunk,
        window: &'a Window,
    ) -> impl Iterator<Item = Window> + 'a {
        chunk.rows.iter().map(|row| {
            let mut input_box = Window { first: vec![row.first, row.y], count: vec![row.count, 1] };
            input_box.first.extend_from_slice(&window.first[1..]);
            input_box.count.extend_from_slice(&window.count[1..]);
            input_box
        })
    }

    /// Computes the results of a chunk's samples within a box.
    fn results(
        &self,
        chunk: &SampleChunk,
        window: &Window,
        feed: &Feed<'_>,
        values: &[f64],
        results: &mut [f64],
    ) -> Result<(), IoError> {
        let planes: usize = window.count[1..].iter().product::<u64>() as usize;
        let (begin, width) = (window.first[0] as usize, window.count[0] as usize);
        let mut taps = Vec::new();
        for sample in chunk.samples.start.max(begin)..chunk.samples.end.min(begin + width) {
            if feed.fetched.is_cancelled() {
                return Err(IoError::Cancelled);
            }
            self.samples.taps(sample, &mut taps);
            let weights: Vec<(usize, usize, f64)> = taps
                .iter()
                .map(|tap| {
                    let (before, row) = chunk.row(tap.y);
                    // Rows are contiguous, each with the pixels of every plane.
                    let at = before * planes + (tap.x - row.first) as usize;
                    (at, row.count as usize, tap.weight)
                })
                .collect();
            for plane in 0..planes {
                let (mut sum, mut good) = (0.0, 0.0);
                for &(at, pitch, weight) in &weights {
                    let value = values[at + plane * pitch];
                    if !value.is_nan() {
                        sum += weight * value;
                        good += weight;
                    }
                }
                // 0 / 0 if no pixel is defined.
                results[plane * width + (sample - begin)] = sum / good;
            }
        }
        Ok(())
    }
}

impl Node for Path {
    fn axes(&self) -> &[u64] {
        &self.axes
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn sources(&self, sources: &mut Sources) {
        self.input.sources(sources);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        for chunk in self.chunks(window) {
            for row in self.rows(chunk, window) {
                self.input.reads(&row, reads);
            }
        }
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        let mut results = feed.scratch.f64s(window.pixels() as usize)?;
        for chunk in self.chunks(window) {
            let planes = window.count[1..].iter().product::<u64>() as usize;
            let mut values = feed.scratch.f64s(chunk.pixels() * planes)?;
            let mut filled = 0;
            for row in self.rows(chunk, window) {
                let end = filled + row.pixels() as usize;
                self.input.values_f64(&row, feed, &mut values[filled..end])?;
                filled = end;
            }
            self.results(chunk, window, feed, &values, &mut results)?;
            feed.scratch.give_back_f64s(values);
        }
        feed.encode(&results, &self.encoding, out)?;
        feed.scratch.give_back_f64s(results);
        Ok(())
    }

    fn halo(&self) -> Vec<u64> {
        vec![0; self.axes.len()]
    }

    fn expansion(&self) -> u64 {
        let pixels = self.chunks.iter().map(SampleChunk::pixels).max().unwrap_or(0) as u64;
        let samples = samples::CHUNK.min(self.samples.len()) as u64;
        pixels.div_ceil(samples).saturating_mul(self.input.expansion())
    }

    fn box_shape(&self) -> Vec<u64> {
        usual_shape(&self.axes, &self.halo(), self.expansion())
    }
}
