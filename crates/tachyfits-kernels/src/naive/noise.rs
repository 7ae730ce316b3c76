//! Twin of the noise measurement: the differences of each row, sorted.

use crate::{Noise, NoiseKey, NoisePixel};

/// Twin of [`crate::NoiseMeter::measure`].
///
/// # Panics
/// If `row` is 0.
pub fn noise<P: NoisePixel>(pixels: &[P], row: usize) -> Noise {
    let row = if row < 9 { pixels.len().max(1) } else { row };
    let defined = |pixel: &&P| pixel.is_defined();
    let mut medians: [Vec<f64>; 3] = Default::default();
    for row in pixels.chunks(row) {
        let row: Vec<P> = row.iter().filter(defined).copied().collect();
        let mut differences: [Vec<f64>; 3] = Default::default();
        for nine in row.windows(9) {
            let keys = P::differences([nine[0], nine[2], nine[4], nine[6], nine[8]]);
            let same = |pixels: &[P]| pixels.windows(2).all(|pair| pair[0] == pair[1]);
            let counts = [!same(&nine[4..7]), !same(&nine[2..7]), !same(&nine[2..7])];
            for kind in (0..3).filter(|&kind| counts[kind]) {
                differences[kind].push(keys[kind].value());
            }
        }
        for (differences, medians) in differences.iter_mut().zip(&mut medians) {
            differences.sort_by(f64::total_cmp);
            medians.extend(differences.get(differences.len().saturating_sub(1) / 2));
        }
    }
    let [second, third, fifth] = medians.map(|mut medians| {
        medians.sort_by(f64::total_cmp);
        let count = medians.len();
        let middle = |at: usize| medians.get(at).copied().unwrap_or(0.0);
        (middle(count.saturating_sub(1) / 2) + middle(count / 2)) / 2.0
    });
    let estimates = [second * 1.048_357_9, third * 0.605_269_7, fifth * 0.177_204_8];
    let mut deviation = estimates[1];
    for other in [estimates[0], estimates[2]] {
        if other != 0.0 && other < deviation {
            deviation = other;
        }
    }
    let values: Vec<f64> = pixels.iter().filter(defined).map(|pixel| pixel.value()).collect();
    Noise {
        least: values.iter().copied().fold(f64::INFINITY, f64::min),
        greatest: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        defined: values.len(),
        has_infinite: values.iter().any(|value| value.is_infinite()),
        deviation,
    }
}
