//! Kernels of order statistics: they count values below, within and above a range, collect the values within it, and
//! count values in bins of their sort order.
//!
//! All of them take decoded values, one leaf at a time, so that each is compiled once per tier and not once per source.
//! NaN means undefined. -0.0 counts as 0.0, so that values and keys have the same order.

use std::ops::AddAssign;

use std::collections::TryReserveError;

use crate::isa::{self, Kernel, Tier};

/// Values compared before a branch on whether any of them is collected: few enough that, if one value in a thousand is
/// collected, most blocks have none.
const BLOCK: usize = 64;

/// Values whose slots are computed before they are counted.
const SLOTS: usize = 256;

/// Numbers of values below, inside and above a range `low..=high`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Values below `low`.
    pub below: u64,
    /// Values equal to `low`.
    pub at_low: u64,
    /// Values between `low` and `high`.
    pub between: u64,
    /// Values equal to `high`; 0 if `high` equals `low`.
    pub at_high: u64,
    /// Values above `high`.
    pub above: u64,
}

impl Split {
    /// Returns the number of defined values.
    pub fn count(&self) -> u64 {
        self.below + self.at_low + self.between + self.at_high + self.above
    }
}

impl AddAssign for Split {
    fn add_assign(&mut self, other: Split) {
        self.below += other.below;
        self.at_low += other.at_low;
        self.between += other.between;
        self.at_high += other.at_high;
        self.above += other.above;
    }
}

/// Counts the values below, inside and above a range with `low <= high`, and appends the values between its ends to
/// `kept`, if any.
///
/// ```
/// use tachyfits_kernels::{Split, Tier, split};
/// let mut kept = Vec::new();
/// let counts = split(&[3.0, 1.0, f64::NAN, 2.0, 5.0], (1.0, 4.0), Tier::SCALAR, Some(&mut kept));
/// assert_eq!(counts, Split { at_low: 1, between: 2, above: 1, ..Split::default() });
/// assert_eq!(kept, [3.0, 2.0]);
/// ```
pub fn split(
    values: &[f64],
    (low, high): (f64, f64),
    tier: Tier,
    kept: Option<&mut Vec<f64>>,
) -> Split {
    isa::dispatch(tier, SplitKernel { values, low, high, kept })
}

pub(crate) struct SplitKernel<'a> {
    values: &'a [f64],
    low: f64,
    high: f64,
    kept: Option<&'a mut Vec<f64>>,
}

/// Counts of a block's values below or up to each end: separate counts per comparison vectorise best.
#[derive(Clone, Copy, Default)]
struct Compared {
    below_low: u64,
    to_low: u64,
    below_high: u64,
    to_high: u64,
    defined: u64,
}

impl Compared {
    #[inline(always)]
    fn new(block: &[f64], low: f64, high: f64) -> Compared {
        let mut counts = Compared::default();
        for &x in block {
            counts.below_low += u64::from(x < low);
            counts.to_low += u64::from(x <= low);
            counts.below_high += u64::from(x < high);
            counts.to_high += u64::from(x <= high);
            counts.defined += u64::from(!x.is_nan());
        }
        counts
    }

    /// Returns the number of values strictly between the ends. If the ends are equal, `to_low` exceeds `below_high`.
    #[inline(always)]
    fn between(&self) -> u64 {
        self.below_high.saturating_sub(self.to_low)
    }

    #[inline(always)]
    fn split(&self) -> Split {
        Split {
            below: self.below_low,
            at_low: self.to_low - self.below_low,
            between: self.between(),
            at_high: self.to_high - self.below_high.max(self.to_low),
            above: self.defined - self.to_high,
        }
    }
}

impl Kernel for SplitKernel<'_> {
    type Output = Split;

    #[inline(always)]
    fn run(self) -> Split {
        let SplitKernel { values, low, high, mut kept } = self;
        let mut total = Split::default();
        for block in values.chunks(BLOCK) {
            let compared = Compared::new(block, low, high);
            total += compared.split();
            if let Some(kept) = &mut kept
                && compared.between() > 0
            {
                keep(block, low, high, kept);
            }
        }
        total
    }
}

/// Appends the values of a block between the ends, without a branch per value.
#[inline(always)]
fn keep(block: &[f64], low: f64, high: f64, kept: &mut Vec<f64>) {
    let mut values = [0.0; BLOCK];
    let mut count = 0;
    for &x in block {
        values[count % BLOCK] = x + 0.0;
        count += usize::from((x > low) & (x < high));
    }
    kept.extend_from_slice(&values[..count]);
}

/// Replaces each value by |value - center|; NaN stays.
pub fn deviate(values: &mut [f64], center: f64, tier: Tier) {
    isa::dispatch(tier, DeviateKernel { values, center });
}

pub(crate) struct DeviateKernel<'a> {
    values: &'a mut [f64],
    center: f64,
}

impl Kernel for DeviateKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for at in 0..self.values.len() {
            self.values[at] = (self.values[at] - self.center).abs();
        }
    }
}

const SIGN: u64 = 1 << 63;

/// Returns the sort key of a value: keys compare as the values do. Keys of NaN are outside the range of the infinities.
///
/// ```
/// use tachyfits_kernels::{key_of, value_of_key};
/// assert!(key_of(-2.0) < key_of(-1.0) && key_of(-0.0) == key_of(0.0));
/// assert_eq!(value_of_key(key_of(-2.5)), -2.5);
/// ```
#[inline(always)]
pub fn key_of(value: f64) -> u64 {
    // The bits of positive numbers ascend, those of negative numbers descend. Adding 0.0 turns -0.0 into 0.0.
    let bits = (value + 0.0).to_bits();
    let negative = ((bits as i64) >> 63) as u64;
    bits ^ (negative | SIGN)
}

/// Returns the value of a key.
pub fn value_of_key(key: u64) -> f64 {
    f64::from_bits(if key & SIGN != 0 { key ^ SIGN } else { !key })
}

/// Bins of equally many keys: each bin is `2^shift` keys wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBins {
    /// First key of the first bin.
    pub first: u64,
    /// Width of a bin, as a power of two; at most 63.
    pub shift: u32,
    /// Number of bins; below 2^32 - 2.
    pub bins: usize,
}

impl KeyBins {
    /// Returns at least 2 and at most `most` bins that cover the keys `first..=last`.
    pub fn covering(first: u64, last: u64, most: usize) -> KeyBins {
        let shift = (0..64).find(|&shift| (last - first) >> shift < most as u64).unwrap_or(63);
        KeyBins { first, shift, bins: ((last - first) >> shift) as usize + 1 }
    }

    /// Returns the slot of a key: 0 below the bins, 1 and up within them, `bins + 1` above.
    #[inline(always)]
    fn slot(&self, key: u64) -> u64 {
        let place = (key.wrapping_sub(self.first) >> self.shift).min(self.bins as u64) + 1;
        if key < self.first { 0 } else { place }
    }

    /// Counts values: `counts` has one slot for values below the bins, one per bin, one for values above, and one for
    /// NaN.
    ///
    /// ```
    /// use tachyfits_kernels::{KeyBins, Tier, key_of};
    /// let bins = KeyBins::covering(key_of(1.0), key_of(2.0), 2);
    /// let mut counts = [0; 5];
    /// bins.count(&[0.5, 1.0, 1.2, 2.0, 9.0, f64::NAN], Tier::SCALAR, &mut counts);
    /// assert_eq!((bins.bins, counts), (2, [1, 2, 1, 1, 1]));
    /// ```
    pub fn count(&self, values: &[f64], tier: Tier, counts: &mut [u64]) {
        assert_eq!(counts.len(), self.bins + 3, "a slot per bin, and three");
        isa::dispatch(tier, KeyKernel { values, bins: *self, counts });
    }
}

struct KeyKernel<'a> {
    values: &'a [f64],
    bins: KeyBins,
    counts: &'a mut [u64],
}

impl Kernel for KeyKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let nan = self.bins.bins as u64 + 2;
        let mut slots = [0u32; SLOTS];
        for piece in self.values.chunks(SLOTS) {
            let slots = &mut slots[..piece.len()];
            for at in 0..piece.len() {
                let x = piece[at];
                let slot = self.bins.slot(key_of(x));
                slots[at] = if x.is_nan() { nan } else { slot } as u32;
            }
            for &slot in &*slots {
                self.counts[slot as usize] += 1;
            }
        }
    }
}

/// Division of the range of all keys into pieces of any width.
///
/// ```
/// use tachyfits_kernels::{KeyCuts, key_of};
/// let cuts = KeyCuts::new(vec![key_of(1.0), key_of(2.0)]);
/// assert_eq!([0.5, 1.0, 1.5, 2.0].map(|x| cuts.piece(key_of(x))), [0, 1, 1, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct KeyCuts {
    /// First keys of all pieces except the lowest, in ascending order.
    firsts: Vec<u64>,
    bins: KeyBins,
    /// Number of first keys before each bin: the start of the search for a key.
    before: Vec<u32>,
}

impl KeyCuts {
    /// Number of bins that narrow the search for a piece.
    const BINS: usize = 1 << 14;

    /// Returns pieces that begin at these ascending keys, and one piece below all of them.
    ///
    /// # Panics
    /// If there are no keys, or 2^32 or more.
    pub fn new(firsts: Vec<u64>) -> KeyCuts {
        assert!(firsts.is_sorted() && u32::try_from(firsts.len()).is_ok(), "rising keys");
        let (first, last) = (firsts[0], firsts[firsts.len() - 1]);
        let bins = KeyBins::covering(first, last, Self::BINS);
        let begin = |bin: usize| u128::from(first) + ((bin as u128) << bins.shift);
        let before = |bin| firsts.partition_point(|&key| u128::from(key) < begin(bin)) as u32;
        let slots = std::iter::once(0).chain((0..=bins.bins).map(before));
        let before = slots.chain([firsts.len() as u32]).collect();
        KeyCuts { firsts, bins, before }
    }

    /// Returns the first keys of the pieces from the second on.
    pub fn firsts(&self) -> &[u64] {
        &self.firsts
    }

    /// Returns the index of the piece that contains a key.
    #[inline]
    pub fn piece(&self, key: u64) -> usize {
        let slot = self.bins.slot(key) as usize;
        let (from, to) = (self.before[slot] as usize, self.before[slot + 1] as usize);
        from + self.firsts[from..to].partition_point(|&first| first <= key)
    }
}

/// Cells of equal width centred on `low`, `low + 1 / density`, ...; the first and the last cell
/// also count the values beyond the ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cells {
    /// Centre of the first cell.
    pub low: f64,
    /// Cells per unit of value.
    pub density: f64,
    /// Number of cells; at least 1, at most 2^24.
    pub cells: usize,
}

/// Counters per cell, so that neighbouring pixels of the same cell do not wait for each other's store.
const COLUMNS: usize = 2;

/// Counts per cell of [`Cells`].
///
/// Millions of cells are visited at random, so their counters are small: 32-bit counters are added to 64-bit ones
/// before any can overflow.
#[derive(Clone, Debug, Default)]
pub struct CellCounts {
    /// Counters per cell, and one more cell for NaN.
    slots: Vec<[u32; COLUMNS]>,
    /// Upper bound for the sum of a cell's counters.
    most: u64,
    /// Earlier counts of each cell; empty if there are none.
    earlier: Vec<u64>,
}

impl CellCounts {
    /// Removes all counters.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.earlier.clear();
        self.most = 0;
    }

    /// Whether there are no counters.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Resets to one empty counter per cell.
    ///
    /// # Errors
    /// If there is too little memory; no counters are left then.
    pub fn reset(&mut self, cells: usize) -> Result<(), TryReserveError> {
        self.clear();
        self.slots.try_reserve_exact(cells + 1)?;
        // Not touched unless 32-bit counters would overflow.
        self.earlier.try_reserve_exact(cells + 1)?;
        // Within the reserved capacity.
        self.slots.resize(cells + 1, [0; COLUMNS]);
        Ok(())
    }

    /// Counts values. Call [`CellCounts::reset`] first, with the number of cells.
    ///
    /// ```
    /// use tachyfits_kernels::{CellCounts, Cells, Tier};
    /// let mut counts = CellCounts::default();
    /// counts.reset(3)?;
    /// let cells = Cells { low: 0.0, density: 1.0, cells: 3 };
    /// counts.count(&[-7.0, 0.4, 0.6, 1.0, f64::NAN], &cells, Tier::SCALAR);
    /// assert_eq!(counts.cells().collect::<Vec<_>>(), [2, 2, 0]);
    /// # Ok::<(), std::collections::TryReserveError>(())
    /// ```
    pub fn count(&mut self, values: &[f64], cells: &Cells, tier: Tier) {
        assert_eq!(self.slots.len(), cells.cells + 1, "a counter per cell, and one");
        for values in values.chunks(1 << 30) {
            self.make_room(values.len() as u64);
            isa::dispatch(tier, CellKernel { values, cells: *cells, slots: &mut self.slots });
        }
    }

    /// Adds the counts of another instance with the same cells.
    pub fn merge(&mut self, other: &CellCounts) {
        assert_eq!(self.slots.len(), other.slots.len(), "the same cells");
        self.make_room(other.most);
        for (slot, more) in self.slots.iter_mut().zip(&other.slots) {
            slot[0] += more[0] + more[1];
        }
        if !other.earlier.is_empty() {
            // Within the reserved capacity.
            self.earlier.resize(self.slots.len(), 0);
            self.earlier.iter_mut().zip(&other.earlier).for_each(|(count, more)| *count += more);
        }
    }

    /// Returns the count of each cell.
    pub fn cells(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator {
        let cells = self.slots.len().saturating_sub(1);
        (0..cells).map(|cell| {
            let [first, second] = self.slots[cell];
            u64::from(first + second) + self.earlier.get(cell).copied().unwrap_or(0)
        })
    }

    /// Ensures that every cell can count `values` more values.
    fn make_room(&mut self, values: u64) {
        if self.most + values > u64::from(u32::MAX) {
            // Within the reserved capacity.
            self.earlier.resize(self.slots.len(), 0);
            for (count, slot) in self.earlier.iter_mut().zip(&mut self.slots) {
                *count += u64::from(slot[0] + slot[1]);
                *slot = [0; COLUMNS];
            }
            self.most = 0;
        }
        self.most += values;
    }
}

pub(crate) struct CellKernel<'a> {
    values: &'a [f64],
    cells: Cells,
    slots: &'a mut [[u32; COLUMNS]],
}

impl Kernel for CellKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Adding 2^52 rounds to the nearest integer, ties to even, and leaves it in the low bits of the number.
        const MAGIC: f64 = (1u64 << 52) as f64;
        let Cells { low, density, cells } = self.cells;
        let last = (cells - 1) as f64;
        let mut slots = [0u32; SLOTS];
        for piece in self.values.chunks(SLOTS) {
            let slots = &mut slots[..piece.len()];
            for at in 0..piece.len() {
                let x = piece[at];
                let place = (x - low) * density;
                // Comparisons with NaN are false, so infinity times 0 goes to the first cell.
                let place = if place > 0.0 { place } else { 0.0 };
                let place = if place < last { place } else { last };
                let slot = (place + MAGIC).to_bits() as u32;
                slots[at] = if x.is_nan() { cells as u32 } else { slot };
            }
            for (index, &slot) in slots.iter().enumerate() {
                self.slots[slot as usize][index % COLUMNS] += 1;
            }
        }
    }
}
