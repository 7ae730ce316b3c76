//! Twins of order statistics: one comparison at a time.

use crate::{Cells, KeyBins, Split, key_of};

/// Twin of [`crate::split`]: the counts, and the values between the ends.
pub fn split(values: &[f64], (low, high): (f64, f64)) -> (Split, Vec<f64>) {
    let mut counts = Split::default();
    let mut between = Vec::new();
    for &x in values {
        let count = if x.is_nan() {
            continue;
        } else if x < low {
            &mut counts.below
        } else if x == low {
            &mut counts.at_low
        } else if x < high {
            between.push(if x == 0.0 { 0.0 } else { x });
            &mut counts.between
        } else if x == high {
            &mut counts.at_high
        } else {
            &mut counts.above
        };
        *count += 1;
    }
    (counts, between)
}

/// Twin of [`crate::deviate`].
pub fn deviations(values: &[f64], center: f64) -> Vec<f64> {
    values.iter().map(|&x| (x - center).abs()).collect()
}

/// Twin of [`KeyBins::count`]: searches the bins one by one.
pub fn key_counts(values: &[f64], bins: &KeyBins) -> Vec<u64> {
    let width = 1u128 << bins.shift;
    let first = u128::from(bins.first);
    let mut counts = vec![0; bins.bins + 3];
    for &x in values {
        let key = u128::from(key_of(x));
        let holds = |&bin: &usize| {
            let begin = first + bin as u128 * width;
            begin <= key && key < begin + width
        };
        let slot = match (0..bins.bins).find(holds) {
            _ if x.is_nan() => bins.bins + 2,
            Some(bin) => bin + 1,
            None if key < first => 0,
            None => bins.bins + 1,
        };
        counts[slot] += 1;
    }
    counts
}

/// Twin of [`crate::KeyCuts::piece`]: counts the pieces that begin at or before the key.
pub fn key_piece(firsts: &[u64], key: u64) -> usize {
    firsts.iter().filter(|&&first| first <= key).count()
}

/// Twin of [`crate::CellCounts::count`].
pub fn cell_counts(values: &[f64], cells: &Cells) -> Vec<u64> {
    let mut counts = vec![0; cells.cells];
    let last = cells.cells - 1;
    for &x in values.iter().filter(|x| !x.is_nan()) {
        let place = (x - cells.low) * cells.density;
        let place = if place.is_nan() { 0.0 } else { place.clamp(0.0, last as f64) };
        counts[place.round_ties_even() as usize] += 1;
    }
    counts
}
