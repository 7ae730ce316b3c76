//! Sums weighted with powers of a coordinate, along one line of pixels: for spectral moments if the spectral axis
//! varies fastest. [`crate::SpectralRows`] computes the same for many neighbouring outputs.

#![expect(
    clippy::needless_range_loop,
    reason = "loops over lanes index several arrays of LANES alike: the form that becomes vector code on every tier"
)]

use crate::LANES;
use crate::fold::add_lanes;
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};

/// Pixels decoded at a time.
const DECODED: usize = 256;

/// Mergeable state of the weighted sums.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, SpectralSum, Tier};
/// let bytes: Vec<u8> = [1.0f32, f32::NAN, 2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
/// let mut state = SpectralSum::default();
/// state.accumulate(&bytes, &Encoding::plain(PixelType::F32), Tier::SCALAR, &[10.0, 20.0, 30.0]);
/// assert_eq!((state.count, state.sums), (2, [3.0, 70.0, 1900.0]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpectralSum {
    /// Number of defined pixels.
    pub count: u64,
    /// Sums of pixel times the coordinate to the power of 0, 1 and 2.
    pub sums: [f64; 3],
}

impl SpectralSum {
    /// Adds pixels with their coordinates; `coordinates` is at least as long as the pixels.
    pub fn accumulate(
        &mut self,
        bytes: &[u8],
        encoding: &Encoding,
        tier: Tier,
        coordinates: &[f64],
    ) {
        let lanes = encoding.visit(OnLine { bytes, tier, coordinates });
        self.count += lanes.count.iter().sum::<u64>();
        for (sum, lanes) in self.sums.iter_mut().zip(&lanes.sums) {
            *sum += add_lanes(lanes);
        }
    }

    /// Merges the state of later pixels.
    pub fn merge(&mut self, later: &SpectralSum) {
        self.count += later.count;
        for (sum, later) in self.sums.iter_mut().zip(&later.sums) {
            *sum += later;
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct SpectralLanes {
    count: [u64; LANES],
    sums: [[f64; LANES]; 3],
}

impl SpectralLanes {
    /// Adds the terms of up to sixteen pixels; lanes without a pixel are NaN.
    #[inline(always)]
    fn step(&mut self, x: &[f64; LANES], u: &[f64; LANES]) {
        for lane in 0..LANES {
            self.count[lane] += u64::from(!x[lane].is_nan());
        }
        let mut term = *x;
        for sums in &mut self.sums {
            for lane in 0..LANES {
                let sum = sums[lane] + term[lane];
                sums[lane] = if x[lane].is_nan() { sums[lane] } else { sum };
            }
            for lane in 0..LANES {
                term[lane] *= u[lane];
            }
        }
    }
}

struct OnLine<'a> {
    bytes: &'a [u8],
    tier: Tier,
    coordinates: &'a [f64],
}

impl Visitor for OnLine<'_> {
    type Output = SpectralLanes;
    fn visit<S: Source>(self, source: S) -> SpectralLanes {
        isa::dispatch(self.tier, LineKernel { line: self, source })
    }
}

pub(crate) struct LineKernel<'a, S> {
    line: OnLine<'a>,
    source: S,
}

impl<S: Source> Kernel for LineKernel<'_, S> {
    type Output = SpectralLanes;

    #[inline(always)]
    fn run(self) -> SpectralLanes {
        let mut lanes = SpectralLanes { count: [0; LANES], sums: [[0.0; LANES]; 3] };
        let mut decoded = [0.0; DECODED];
        let pieces = self.line.bytes.chunks(DECODED * S::BYTES);
        for (bytes, u) in pieces.zip(self.line.coordinates.chunks(DECODED)) {
            let pixels = bytes.len() / S::BYTES;
            let x = &mut decoded[..pixels];
            self.source.values(bytes, x);
            let (whole, rest) = x.as_chunks::<LANES>();
            let (u_whole, u_rest) = u[..pixels].as_chunks::<LANES>();
            for (x, u) in whole.iter().zip(u_whole) {
                lanes.step(x, u);
            }
            if !rest.is_empty() {
                let (mut x, mut u) = ([f64::NAN; LANES], [0.0; LANES]);
                x[..rest.len()].copy_from_slice(rest);
                u[..rest.len()].copy_from_slice(u_rest);
                lanes.step(&x, &u);
            }
        }
        lanes
    }
}
