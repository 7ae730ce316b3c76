//! Smoothing of planes: weights along x times weights along y. Each factor is a [`Smooth`]; what is undefined is taken into
//! account in two dimensions, by smoothing what is good as well.

use std::fmt::Write as _;
use std::sync::Arc;

use tachyfits_kernels::{Blanks, Encoding, PixelType, encode_f64};

use super::{Edge, Smooth, Smoothing, check_weights, policies_text, weights_text};
use crate::computed::{Computed, Feed, Node, Reads, Sources, Window};
use crate::error::Error;
use crate::file::FitsFile;
use crate::image::Image;
use crate::number::float_encoding;

/// A smoothing of the planes of NAXIS1 and NAXIS2 with weights that are products.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaneSmoothing {
    /// The factors along NAXIS1, as for [`Smoothing`].
    pub x: Vec<f64>,
    /// The factors along NAXIS2.
    pub y: Vec<f64>,
    /// What stands for the pixels beyond the edges.
    pub edge: Edge,
    /// What undefined pixels count for.
    pub blanks: Blanks,
    /// Whether undefined pixels get values where their neighbours give one.
    pub fill: bool,
    /// Every result is multiplied by this number, those that [`Edge::Keep`] leaves as they are included: values per beam
    /// follow the new beam.
    pub scale: f64,
}

impl Image {
    /// The planes smoothed, computed when they are read or written. Values are of the types that [`Image::smooth`] gives;
    /// sums are taken in f64, along x first, and rounded once. With [`Blanks::Renormalise`] a sum is divided by that of
    /// the weights of the good pixels in the plane and multiplied by that of all.
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
        let mut header = self.carried_header();
        let mut history = format!(
            "tachyfits: planes smoothed along x with {}, along y with {}, {}",
            weights_text(&smoothing.x),
            weights_text(&smoothing.y),
            policies_text(smoothing.edge, smoothing.blanks, smoothing.fill)
        );
        if smoothing.scale != 1.0 {
            let _ = write!(history, ", values multiplied by {}", smoothing.scale);
        }
        self.format_error(header.push_commentary("HISTORY", &history))?;
        let name = format!("{} (smoothed)", self.file_name());
        Computed::new(name, Arc::new(node), header)?.file()
    }
}

/// The node of a smoothing of planes.
#[derive(Debug)]
struct SmoothPlanes {
    input: Arc<dyn Node>,
    /// The weighted sums, undefined pixels counting as 0 unless they propagate.
    sums: Arc<dyn Node>,
    /// The sums of the weights of good pixels, where sums are to be renormalised.
    weights: Option<Arc<dyn Node>>,
    /// The sum of the weights of all pixels, in the order in which `weights` adds them.
    all: f64,
    scale: f64,
    fill: bool,
    /// Pixels whose neighbours would lie beyond the edges stay as they are: how near they are, along x and y.
    kept: Option<[u64; 2]>,
    encoding: Encoding,
}

impl SmoothPlanes {
    fn new(input: Arc<dyn Node>, smoothing: &PlaneSmoothing) -> SmoothPlanes {
        let encoding = float_encoding(&input.encoding());
        let blanks = match smoothing.blanks {
            Blanks::Propagate => Blanks::Propagate,
            Blanks::Renormalise | Blanks::Zero => Blanks::Zero,
        };
        let edge = if smoothing.edge == Edge::Keep { Edge::Repeat } else { smoothing.edge };
        let both = |input: Arc<dyn Node>, beyond: f64| {
            let along = |input: Arc<dyn Node>, axis, weights: &Vec<f64>, beyond| -> Arc<dyn Node> {
                let weights = weights.clone();
                let one = Smoothing { axis, weights, edge, blanks, fill: true, every: 1 };
                Arc::new(Smooth::wide(input, one, beyond))
            };
            // Rows beyond the edges along y have been smoothed along x as well.
            let rows = weighted(&smoothing.x, beyond);
            along(along(input, 0, &smoothing.x, beyond), 1, &smoothing.y, rows)
        };
        let renormalises = smoothing.blanks == Blanks::Renormalise;
        let weights = renormalises.then(|| both(Arc::new(Good(Arc::clone(&input))), 1.0));
        let half = |weights: &Vec<f64>| weights.len() as u64 / 2;
        SmoothPlanes {
            sums: both(Arc::clone(&input), 0.0),
            weights,
            input,
            all: weighted(&smoothing.y, weighted(&smoothing.x, 1.0)),
            scale: smoothing.scale,
            fill: smoothing.fill,
            kept: (smoothing.edge == Edge::Keep).then(|| [half(&smoothing.x), half(&smoothing.y)]),
            encoding,
        }
    }

    /// The pixel at this place of the plane stays as it is.
    fn keeps(&self, x: u64, y: u64) -> bool {
        let near =
            |at: u64, half: u64, axis: usize| at < half || at + half >= self.input.axes()[axis];
        self.kept.is_some_and(|[half_x, half_y]| near(x, half_x, 0) || near(y, half_y, 1))
    }
}

/// The weighted sum of pixels that are all the same, added in the order of the weights.
fn weighted(weights: &[f64], pixel: f64) -> f64 {
    weights.iter().fold(-0.0, |sum, weight| sum + weight * pixel)
}

/// Return the renormalised sum: `good` is the sum of the weights of defined pixels, `all` that of all weights.
fn result(sum: f64, good: f64, all: f64) -> f64 {
    if good == 0.0 {
        f64::NAN
    } else if good == all {
        sum
    } else {
        sum * (all / good)
    }
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
        self.input.reads(window, reads);
        self.sums.reads(window, reads);
        if let Some(weights) = &self.weights {
            weights.reads(window, reads);
        }
    }

    fn bytes(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) {
        let pixels = window.pixels() as usize;
        let mut own = feed.scratch.f64s(pixels);
        let mut sums = feed.scratch.f64s(pixels);
        self.input.values_f64(window, feed, &mut own);
        self.sums.values_f64(window, feed, &mut sums);
        if let Some(weights) = &self.weights {
            let mut good = feed.scratch.f64s(pixels);
            weights.values_f64(window, feed, &mut good);
            for (sum, good) in sums.iter_mut().zip(&good) {
                *sum = result(*sum, *good, self.all);
            }
            feed.scratch.give_back_f64s(good);
        }
        let (width, height) = (window.count[0], window.count[1]);
        for (index, (sum, own)) in (0u64..).zip(sums.iter_mut().zip(&own)) {
            let (x, y) = (index % width, index / width % height);
            let stays = self.keeps(window.first[0] + x, window.first[1] + y);
            if stays || (own.is_nan() && !self.fill) {
                *sum = *own;
            }
            *sum *= self.scale;
        }
        let refused = encode_f64(&sums, &self.encoding, feed.tier, out);
        debug_assert_eq!(refused, 0, "every number has a floating-point encoding");
        feed.scratch.give_back_f64s(sums);
        feed.scratch.give_back_f64s(own);
    }

    fn halo(&self) -> Vec<u64> {
        self.sums.halo()
    }

    fn expansion(&self) -> u64 {
        self.sums.expansion()
    }
}

/// 1 where the input is defined, 0 where it is not.
#[derive(Debug)]
struct Good(Arc<dyn Node>);

impl Node for Good {
    fn axes(&self) -> &[u64] {
        self.0.axes()
    }

    fn encoding(&self) -> Encoding {
        Encoding::plain(PixelType::F64)
    }

    fn sources(&self, sources: &mut Sources) {
        self.0.sources(sources);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        self.0.reads(window, reads);
    }

    fn bytes(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) {
        let mut values = feed.scratch.f64s(window.pixels() as usize);
        self.values_f64(window, feed, &mut values);
        let refused = encode_f64(&values, &self.encoding(), feed.tier, out);
        debug_assert_eq!(refused, 0, "every number has a floating-point encoding");
        feed.scratch.give_back_f64s(values);
    }

    fn values_f64(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [f64]) {
        self.0.values_f64(window, feed, out);
        for value in out {
            *value = if value.is_nan() { 0.0 } else { 1.0 };
        }
    }

    fn halo(&self) -> Vec<u64> {
        self.0.halo()
    }

    fn expansion(&self) -> u64 {
        self.0.expansion()
    }
}
