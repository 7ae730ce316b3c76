//! Twins of quantising: one pixel at a time, with the random numbers in the order of the Standard.

use crate::{Quantiser, random_numbers};

/// Returns the random number of each pixel; zeros without dither.
fn random_of(pixels: usize, dither: Option<usize>) -> Vec<f64> {
    let Some(mut block) = dither else { return vec![0.0; pixels] };
    let random = random_numbers();
    let first = |block: usize| (f64::from(random[block]) * 500.0).floor() as usize;
    let mut next = first(block);
    let mut numbers = Vec::new();
    for _ in 0..pixels {
        numbers.push(random[next].into());
        next += 1;
        if next == random.len() {
            block = (block + 1) % random.len();
            next = first(block);
        }
    }
    numbers
}

/// Twin of [`crate::dequantise_f64`]; rounded to f32, its values are those of [`crate::dequantise_f32`].
pub fn dequantise(integers: &[i32], how: &Quantiser) -> Vec<f64> {
    let random = random_of(integers.len(), how.dither);
    let value = |(&integer, random): (&i32, f64)| {
        if Some(integer) == how.blank {
            f64::NAN
        } else if how
            .exact_zero
            .is_some_and(|zero| integer == zero || integer == zero.wrapping_sub(1))
        {
            0.0
        } else if how.dither.is_some() {
            (f64::from(integer) - random + 0.5) * how.scale + how.zero
        } else {
            f64::from(integer) * how.scale + how.zero
        }
    };
    integers.iter().zip(random).map(value).collect()
}

/// Twin of [`crate::quantise_f64`] and [`crate::quantise_f32`].
pub fn quantise(pixels: &[f64], how: &Quantiser) -> Vec<i32> {
    let random = random_of(pixels.len(), how.dither);
    let integer = |(&pixel, random): (&f64, f64)| {
        if pixel.is_nan() && how.blank.is_some() {
            return how.blank.unwrap_or_default();
        }
        if pixel == 0.0 && how.exact_zero.is_some() {
            return how.exact_zero.unwrap_or_default();
        }
        let steps = (pixel - how.zero) / how.scale;
        let steps = if how.dither.is_some() { steps + random - 0.5 } else { steps };
        if steps >= 0.0 { (steps + 0.5) as i32 } else { (steps - 0.5) as i32 }
    };
    pixels.iter().zip(random).map(integer).collect()
}
