//! Twin of smoothing: one output after another.

use crate::{Blanks, Stencil};

/// Twin of [`crate::smooth_rows_f64`]; rounded once, its values are those of [`crate::smooth_rows_f32`].
pub fn smooth_rows(rows: &[Vec<f64>], stencil: &Stencil<'_>) -> Vec<f64> {
    let outputs = rows.iter().map(Vec::len).min().unwrap_or(0);
    let column = |output: usize| rows.iter().map(|row| row[output]).collect::<Vec<f64>>();
    (0..outputs).map(|output| smooth(&column(output), stencil)).collect()
}

fn smooth(pixels: &[f64], stencil: &Stencil<'_>) -> f64 {
    let terms = pixels.iter().zip(stencil.weights);
    let undefined = pixels.iter().any(|x| x.is_nan());
    if !undefined {
        return add(terms.map(|(x, weight)| weight * x));
    }
    if pixels[pixels.len() / 2].is_nan() && !stencil.fill {
        return f64::NAN;
    }
    match stencil.blanks {
        Blanks::Propagate => f64::NAN,
        Blanks::Zero => add(terms.filter(|(x, _)| !x.is_nan()).map(|(x, weight)| weight * x)) + 0.0,
        Blanks::Renormalise => {
            let defined = terms.filter(|(x, _)| !x.is_nan());
            let weight = add(defined.clone().map(|(_, &weight)| weight));
            let total = add(stencil.weights.iter().copied());
            if weight == 0.0 {
                f64::NAN
            } else {
                add(defined.map(|(x, weight)| weight * x)) * (total / weight)
            }
        }
    }
}

/// Adds terms in order, starting with the first term itself; the sum of no terms is 0.
fn add(terms: impl Iterator<Item = f64>) -> f64 {
    terms.reduce(|sum, term| sum + term).unwrap_or(0.0)
}
