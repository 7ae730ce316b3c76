//! Histograms in equal bins. Bin `i` holds `edges[i] <= x < edges[i + 1]`, the last one also its upper edge: NumPy's
//! rule, compared with the edges themselves, so that no pixel lands beside its bin through rounding.

use crate::LANES;
use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};

/// Counters per bin, so that neighbouring pixels of one bin do not wait for each other's store.
const COLUMNS: usize = 4;

/// The bins: equal, over `low..=high`.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramRange {
    edges: Vec<f64>,
    /// Bins per unit of value.
    density: f64,
}

impl HistogramRange {
    /// `bins` equal bins. `None` unless `low < high`, both finite and their difference too, and there is a bin.
    pub fn new(low: f64, high: f64, bins: usize) -> Option<HistogramRange> {
        let width = high - low;
        if !(low < high && width.is_finite()) || bins == 0 || bins > Self::MOST_BINS {
            return None;
        }
        let step = width / bins as f64;
        let mut edges: Vec<f64> = (0..=bins).map(|bin| low + bin as f64 * step).collect();
        edges[bins] = high;
        Some(HistogramRange { edges, density: bins as f64 / width })
    }

    /// The most bins that a histogram may have.
    pub const MOST_BINS: usize = 1 << 24;

    /// The edges, one more than there are bins.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// How many bins.
    pub fn bins(&self) -> usize {
        self.edges.len() - 1
    }
}

/// Mergeable state of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    range: HistogramRange,
    /// Slots: below, the bins, above, NaN.
    slots: Vec<[u64; COLUMNS]>,
}

impl Histogram {
    /// An empty histogram.
    pub fn new(range: HistogramRange) -> Histogram {
        let slots = vec![[0; COLUMNS]; range.bins() + 3];
        Histogram { range, slots }
    }

    /// An empty histogram filled with counts that were taken out of another: the bins, then below, above and NaN.
    /// `None` when the number of bins differs.
    pub fn from_counts(range: HistogramRange, counts: &[u64], rest: [u64; 3]) -> Option<Histogram> {
        let bins = range.bins();
        if counts.len() != bins {
            return None;
        }
        let mut histogram = Histogram::new(range);
        for (slot, &count) in histogram.slots[1..].iter_mut().zip(counts) {
            slot[0] = count;
        }
        for (slot, count) in [0, bins + 1, bins + 2].into_iter().zip(rest) {
            histogram.slots[slot][0] = count;
        }
        Some(histogram)
    }

    /// Counts the pixels of `bytes`.
    pub fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        encoding.visit(OnBytes { bytes, tier, histogram: self });
    }

    /// Adds the counts of another histogram over the same range; `false`, and nothing added, when the ranges differ.
    pub fn merge(&mut self, other: &Histogram) -> bool {
        if self.range != other.range {
            return false;
        }
        for (slot, more) in self.slots.iter_mut().zip(&other.slots) {
            for (count, more) in slot.iter_mut().zip(more) {
                *count += more;
            }
        }
        true
    }

    /// The bins.
    pub fn range(&self) -> &HistogramRange {
        &self.range
    }

    /// Pixels in each bin.
    pub fn counts(&self) -> Vec<u64> {
        self.slots[1..=self.range.bins()].iter().map(|slot| slot.iter().sum()).collect()
    }

    /// Pixels below the first bin.
    pub fn below(&self) -> u64 {
        self.slots[0].iter().sum()
    }

    /// Pixels above the last bin.
    pub fn above(&self) -> u64 {
        self.slots[self.range.bins() + 1].iter().sum()
    }

    /// Pixels that are NaN or BLANK.
    pub fn nan(&self) -> u64 {
        self.slots[self.range.bins() + 2].iter().sum()
    }
}

struct OnBytes<'a> {
    bytes: &'a [u8],
    tier: Tier,
    histogram: &'a mut Histogram,
}

impl Visitor for OnBytes<'_> {
    type Output = ();
    fn visit<S: Source>(self, source: S) {
        let kernel = HistogramKernel { bytes: self.bytes, source, histogram: self.histogram };
        isa::dispatch(self.tier, kernel);
    }
}

struct HistogramKernel<'a, S> {
    bytes: &'a [u8],
    source: S,
    histogram: &'a mut Histogram,
}

impl<S: Source> Kernel for HistogramKernel<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Histogram { range, slots } = self.histogram;
        let chunks = self.bytes.chunks_exact(S::CHUNK);
        let rest = chunks.remainder();
        for chunk in chunks {
            let x = self.source.lanes(chunk);
            count(range, slots, &x, &guess(range, &x));
        }
        let x = self.source.tail(rest);
        let pixels = rest.len() / S::BYTES;
        count(range, slots, &x[..pixels], &guess(range, &x)[..pixels]);
    }
}

/// The bin by multiplication: right to within one, for a pixel inside the range.
#[inline(always)]
fn guess(range: &HistogramRange, x: &[f64; LANES]) -> [i32; LANES] {
    let low = range.edges[0];
    let last = (range.bins() - 1) as i32;
    let mut bins = [0; LANES];
    for lane in 0..LANES {
        bins[lane] = (((x[lane] - low) * range.density) as i32).clamp(0, last);
    }
    bins
}

/// Corrects each guess against the edges and counts it.
#[inline(always)]
fn count(range: &HistogramRange, slots: &mut [[u64; COLUMNS]], x: &[f64], guess: &[i32]) {
    let edges = range.edges();
    let last = range.bins() - 1;
    let (low, high) = (edges[0], edges[last + 1]);
    for (lane, (&x, &guess)) in x.iter().zip(guess).enumerate() {
        let mut bin = guess as usize;
        bin -= usize::from(bin > 0 && x < edges[bin]);
        bin += usize::from(bin < last && x >= edges[bin + 1]);
        let slot = if x.is_nan() {
            last + 3
        } else if x < low {
            0
        } else if x > high {
            last + 2
        } else {
            bin + 1
        };
        slots[slot][lane % COLUMNS] += 1;
    }
}
