//! Histograms in equal bins. Bin `i` contains `edges[i] <= x < edges[i + 1]`, the last one also its upper edge: the
//! rule of NumPy, applied to the edges themselves, so that rounding moves no pixel to a neighbouring bin.

use std::collections::TryReserveError;
use std::sync::Arc;

use crate::isa::{self, Kernel, Tier};
use crate::source::{Encoding, Source, Visitor};

/// Counters per bin, so that neighbouring pixels of the same bin do not wait for each other's store.
const COLUMNS: usize = 4;

/// Pixels decoded and assigned to bins at a time.
const DECODED: usize = 256;

/// Equal bins over `low..=high`. Copies share their memory.
#[derive(Clone, Debug)]
pub struct HistogramRange {
    edges: Arc<Vec<f64>>,
    /// Bins per unit of value.
    density: f64,
    /// Per slot: its smallest pixel, and the smallest pixel of the next slot.
    limits: Arc<Vec<[f64; 2]>>,
    /// Distance from an edge, in bins, within which the multiplied position may be in the neighbouring bin.
    unsure: f64,
}

impl HistogramRange {
    /// Returns `bins` equal bins. `None` unless `low < high` with both and their difference finite, `bins` is from 1 to
    /// [`HistogramRange::MOST_BINS`], and the bins are wide enough for f64 to distinguish their edges.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn new(
        low: f64,
        high: f64,
        bins: usize,
    ) -> Result<Option<HistogramRange>, TryReserveError> {
        let width = high - low;
        let finite = low < high && width.is_finite();
        if !finite || bins == 0 || bins > Self::MOST_BINS {
            return Ok(None);
        }
        let step = width / bins as f64;
        let mut edges = room(bins + 1)?;
        edges.extend((0..bins).map(|bin| low + bin as f64 * step));
        edges.push(high);
        let density = bins as f64 / width;
        let limits = Arc::new(limits(&edges)?);
        let mut range = HistogramRange { edges: Arc::new(edges), density, limits, unsure: 0.0 };
        let Some(error) = range.largest_error() else { return Ok(None) };
        range.unsure = error + 1e-9;
        Ok((range.unsure < 0.25).then_some(range))
    }

    /// Returns the largest distance, in bins, by which the position of a pixel may lie outside its slot; `None` if
    /// edges do not
    /// increase. Positions increase with pixel values, so checking the first and last pixel of each slot is enough.
    fn largest_error(&self) -> Option<f64> {
        let mut largest = 0.0;
        for (slot, &[begin, next]) in self.limits[..=self.bins() + 1].iter().enumerate() {
            let last = if next.is_nan() { f64::INFINITY } else { next.next_down() };
            let increases = begin <= last;
            if !increases {
                return None;
            }
            let (from, to) = (slot as f64, (slot + 1) as f64);
            for error in [from - self.place(begin), self.place(last) - to] {
                largest = if error > largest || error.is_nan() { error } else { largest };
            }
        }
        Some(largest)
    }

    /// Returns the position of a pixel in slots: 3.25 is a quarter into slot 3. Pixels outside the range get the middle
    /// of their slot. The result for NaN is arbitrary.
    #[inline(always)]
    fn place(&self, x: f64) -> f64 {
        let place = (x - self.edges[0]) * self.density + 1.0;
        let place = if place > 0.5 { place } else { 0.5 };
        let above = self.edges.len() as f64 + 0.5;
        if place < above { place } else { above }
    }

    /// Maximum number of bins of a histogram.
    pub const MOST_BINS: usize = 1 << 24;

    /// Returns the edges, one more than bins.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// Returns the number of bins.
    pub fn bins(&self) -> usize {
        self.edges.len() - 1
    }
}

/// Returns the limits of the slots: below, the bins, above, NaN. The last bin includes its upper edge, so the slot
/// above begins at the next f64. A pixel in the last slot stays there, because comparisons with NaN are false.
fn limits(edges: &[f64]) -> Result<Vec<[f64; 2]>, TryReserveError> {
    let (&last, inner) = edges.split_last().expect("a bin has two edges");
    let mut limits = room(edges.len() + 2)?;
    let mut begin = f64::NEG_INFINITY;
    for next in inner.iter().copied().chain([last.next_up(), f64::NAN, f64::NAN]) {
        limits.push([begin, next]);
        begin = next;
    }
    Ok(limits)
}

/// Returns an empty vector with capacity.
fn room<T>(count: usize) -> Result<Vec<T>, TryReserveError> {
    let mut room = Vec::new();
    room.try_reserve_exact(count)?;
    Ok(room)
}

/// Ranges are equal if their edges are.
impl PartialEq for HistogramRange {
    fn eq(&self, other: &Self) -> bool {
        self.edges == other.edges
    }
}

/// Mergeable counts of a histogram.
///
/// ```
/// use tachyfits_kernels::{Encoding, Histogram, HistogramRange, PixelType, Tier};
/// let mut histogram = Histogram::new(HistogramRange::new(0.0, 4.0, 2)?.unwrap())?;
/// histogram.accumulate(&[0, 1, 2, 4, 5], &Encoding::plain(PixelType::U8), Tier::SCALAR);
/// assert_eq!((histogram.counts().collect::<Vec<_>>(), histogram.above()), (vec![2, 2], 1));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    range: HistogramRange,
    /// Counters of the slots: below, the bins, above, NaN.
    slots: Vec<[u64; COLUMNS]>,
}

impl Histogram {
    /// Returns an empty histogram.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn new(range: HistogramRange) -> Result<Histogram, TryReserveError> {
        let mut slots = room(range.bins() + 3)?;
        // Within the reserved capacity.
        slots.resize(range.bins() + 3, [0; COLUMNS]);
        Ok(Histogram { range, slots })
    }

    /// Returns a histogram with the counts of another one: the bins, then below, above and NaN. `None` if the number of
    /// bins differs.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn from_counts(
        range: HistogramRange,
        counts: &[u64],
        rest: [u64; 3],
    ) -> Result<Option<Histogram>, TryReserveError> {
        let bins = range.bins();
        if counts.len() != bins {
            return Ok(None);
        }
        let mut histogram = Histogram::new(range)?;
        for (slot, &count) in histogram.slots[1..].iter_mut().zip(counts) {
            slot[0] = count;
        }
        for (slot, count) in [0, bins + 1, bins + 2].into_iter().zip(rest) {
            histogram.slots[slot][0] = count;
        }
        Ok(Some(histogram))
    }

    /// Counts the pixels of `bytes`.
    pub fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        encoding.visit(HistogramOnBytes { bytes, tier, histogram: self });
    }

    /// Adds the counts of another histogram over the same range. Returns `false` and adds nothing if the ranges differ.
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

    /// Returns the bins.
    pub fn range(&self) -> &HistogramRange {
        &self.range
    }

    /// Returns the number of pixels in each bin.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = u64> {
        self.slots[1..=self.range.bins()].iter().map(|slot| slot.iter().sum())
    }

    /// Returns the number of pixels below the first bin.
    pub fn below(&self) -> u64 {
        self.slots[0].iter().sum()
    }

    /// Returns the number of pixels above the last bin.
    pub fn above(&self) -> u64 {
        self.slots[self.range.bins() + 1].iter().sum()
    }

    /// Returns the number of pixels that are NaN or BLANK.
    pub fn nan(&self) -> u64 {
        self.slots[self.range.bins() + 2].iter().sum()
    }
}

struct HistogramOnBytes<'a> {
    bytes: &'a [u8],
    tier: Tier,
    histogram: &'a mut Histogram,
}

impl Visitor for HistogramOnBytes<'_> {
    type Output = ();
    fn visit<S: Source>(self, source: S) {
        let kernel = HistogramKernel { bytes: self.bytes, source, histogram: self.histogram };
        isa::dispatch(self.tier, kernel);
    }
}

pub(crate) struct HistogramKernel<'a, S> {
    bytes: &'a [u8],
    source: S,
    histogram: &'a mut Histogram,
}

impl<S: Source> Kernel for HistogramKernel<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Histogram { range, slots } = self.histogram;
        let mut decoded = [0.0; DECODED];
        let mut guesses = [0; DECODED];
        for piece in self.bytes.chunks(DECODED * S::BYTES) {
            let pixels = piece.len() / S::BYTES;
            let (decoded, guesses) = (&mut decoded[..pixels], &mut guesses[..pixels]);
            self.source.values(piece, decoded);
            if guess(range, decoded, guesses) {
                correct(range, decoded, guesses);
            }
            for (index, &slot) in guesses.iter().enumerate() {
                slots[slot as usize][index % COLUMNS] += 1;
            }
        }
    }
}

/// Computes the slot of each pixel by multiplication, exact to within one slot. Returns whether a pixel is so close to
/// an edge that its slot may be wrong.
#[inline(always)]
fn guess(range: &HistogramRange, x: &[f64], slots: &mut [u32]) -> bool {
    // Adding 2^52 rounds to an integer in the low bits of the number: one addition instead of the five operations of a
    // saturating conversion. Subtracting half a slot makes it round down.
    const MAGIC: f64 = (1u64 << 52) as f64;
    let nan = range.bins() as u32 + 2;
    let mut unsure = false;
    let slots = &mut slots[..x.len()];
    for at in 0..x.len() {
        let x = x[at];
        let place = range.place(x);
        let rounded = place - 0.5 + MAGIC;
        let into = place - (rounded - MAGIC);
        unsure |= (into <= range.unsure) | (into >= 1.0 - range.unsure);
        slots[at] = if x.is_nan() { nan } else { rounded.to_bits() as u32 };
    }
    unsure
}

/// Corrects the slots by comparing with the edges.
fn correct(range: &HistogramRange, x: &[f64], slots: &mut [u32]) {
    for (&x, slot) in x.iter().zip(slots) {
        let [begin, next] = range.limits[*slot as usize];
        *slot = *slot + u32::from(x >= next) - u32::from(x < begin);
    }
}
