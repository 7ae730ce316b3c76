//! Initial values of the parameters, from the moments of the residual.

use super::baseline::Orthogonal;
use super::normal::MOST;
use crate::isa::{self, Tier};

/// Clipping limit of the baseline fit, in units of the rms.
const CLIP: f64 = 2.0;
const CLIPS: usize = 5;
/// Smallest peak above rounding, for values of at most 1.
const LEAST_PEAK: f64 = 1e-13;

/// Channels of a spectrum.
#[derive(Clone, Copy)]
pub(crate) struct Channels<'a> {
    pub(crate) coordinates: &'a [f64],
    pub(crate) values: &'a [f64],
    pub(crate) weights: &'a [f64],
    pub(crate) tier: Tier,
}

impl<'a> Channels<'a> {
    /// Returns the first `count` channels, without the padding of the last lanes.
    pub(crate) fn first(&self, count: usize) -> Channels<'a> {
        let Channels { coordinates, values, weights, tier } = *self;
        let (coordinates, weights) = (&coordinates[..count], &weights[..count]);
        Channels { coordinates, values: &values[..count], weights, tier }
    }
}

/// Fits the baseline under lines: excludes channels far from it and repeats the fit. `columns` has room for four
/// columns. Returns `None` if the channels do not determine the coefficients.
pub(crate) fn clipped_baseline(
    channels: &Channels<'_>,
    order: usize,
    columns: &mut [f64],
) -> Option<[f64; MOST]> {
    let length = channels.coordinates.len();
    let (weights, columns) = columns.split_at_mut(length);
    weights.copy_from_slice(channels.weights);
    let mut result = None;
    let mut remaining = weights.iter().sum::<f64>();
    for _ in 0..CLIPS {
        let (coordinates, values) = (channels.coordinates, channels.values);
        let fit = Orthogonal { coordinates, values, weights, order, columns: &mut *columns };
        let polynomial = isa::dispatch(channels.tier, fit)?;
        let most = CLIP * CLIP * polynomial.squares / remaining;
        result = Some(polynomial);
        for (weight, residual) in weights.iter_mut().zip(&columns[..length]) {
            *weight = if residual * residual > most { 0.0 } else { *weight };
        }
        let count = weights.iter().sum::<f64>();
        if count == remaining || count < (order + 2) as f64 {
            break;
        }
        remaining = count;
    }
    let powers = result?.powers();
    let mut coefficients = [0.0; MOST];
    for (coefficient, power) in coefficients.iter_mut().zip(&powers[..=order]) {
        *coefficient = power.0;
    }
    Some(coefficients)
}

/// Estimates amplitude, centre and standard deviation of the highest peak, positive or negative, of a residual smoothed
/// over three channels, from the moments of the channels within its full width. `columns` has room for one column.
/// Returns `None` if the residual is rounding.
pub(crate) fn peak(
    channels: &Channels<'_>,
    residual: &[f64],
    least_width: f64,
    columns: &mut [f64],
) -> Option<[f64; 3]> {
    let (u, weights) = (channels.coordinates, channels.weights);
    let length = u.len();
    let smooth = &mut columns[..length];
    let mut highest = (0.0, 0);
    for channel in 0..length {
        let near = channel.saturating_sub(1)..(channel + 2).min(length);
        let count: f64 = weights[near.clone()].iter().sum();
        let sum: f64 = residual[near].iter().sum();
        smooth[channel] = if weights[channel] > 0.0 { sum / count } else { 0.0 };
        if smooth[channel].abs() > highest.0 {
            highest = (smooth[channel].abs(), channel);
        }
    }
    let (height, at) = highest;
    if height <= LEAST_PEAK {
        return None;
    }
    let sign = smooth[at].signum();
    let (mut first, mut last) = (at, at);
    let is_inside =
        |channel: usize| weights[channel] == 0.0 || sign * smooth[channel] > height / 2.0;
    while first > 0 && is_inside(first - 1) {
        first -= 1;
    }
    while last + 1 < length && is_inside(last + 1) {
        last += 1;
    }
    let full_width =
        (u[last] - u[first]).abs() * (last - first + 1) as f64 / (last - first).max(1) as f64;
    let wider = (last - first).div_ceil(2) + 1;
    let window = first.saturating_sub(wider)..(last + wider + 1).min(length);
    let (mut sum, mut mean, mut square) = (0.0, 0.0, 0.0);
    for channel in window {
        let weight = (sign * residual[channel]).max(0.0) * weights[channel];
        let offset = u[channel] - u[at];
        sum += weight;
        mean += weight * offset;
        square += weight * offset * offset;
    }
    if sum <= 0.0 {
        return Some([sign * height, u[at], least_width]);
    }
    mean /= sum;
    let variance = square / sum - mean * mean;
    let width = variance.max(0.0).sqrt().min(full_width / 2.0).max(least_width);
    Some([sign * height, u[at] + mean, width])
}
