//! Least-squares fits of one spectrum: Gaussian lines with a polynomial baseline, and the baseline alone.
//!
//! A fit reads the physical values of a spectrum, NaN where undefined, and appends its results to a vector. Every sum has
//! a fixed order, and the exponential is this crate's own, so a fit has the same bits on every tier and machine.

mod baseline;
mod exponential;
mod gaussians;
mod guess;
mod model;
mod normal;

use std::collections::TryReserveError;

pub use baseline::{BaselineFit, MOST_ORDER};
pub use exponential::exponential;
pub use gaussians::{GaussianFit, GaussianModel, MOST_JOINT_ORDER, ParameterLimits};
pub use model::MOST_COMPONENTS;

use crate::LANES;

/// Outcome of a fit. All parameters are NaN unless it converged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum FitFlag {
    /// The fit found a minimum of the sum of squares.
    Converged = 0,
    /// There are no more defined channels than parameters.
    FewChannels = 1,
    /// A channel is infinite.
    Infinite = 2,
    /// The channels do not determine the parameters: no line exceeds the rounding error, or two parameters have the
    /// same effect.
    Undetermined = 3,
    /// The fit reached the maximum number of iterations.
    Iterations = 4,
    /// The best value of a parameter is outside its limits.
    Limit = 5,
}

/// Coordinates mapped to -1 to 1, so that powers of them stay comparable.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// Coordinate that is mapped to 0.
    pub(crate) middle: f64,
    /// Distance that is mapped to 1.
    pub(crate) half: f64,
}

impl Scale {
    fn new(coordinates: &[f64]) -> Scale {
        let middle = coordinates.get(coordinates.len() / 2).copied().unwrap_or(0.0);
        let half = coordinates.iter().fold(0.0, |most: f64, x| most.max((x - middle).abs()));
        Scale { middle, half: if half > 0.0 { half } else { 1.0 } }
    }

    /// Scales coordinates, and pads them with zeros to a multiple of [`LANES`].
    fn scaled(&self, coordinates: &[f64]) -> Result<Vec<f64>, TryReserveError> {
        let padded = coordinates.len().next_multiple_of(LANES);
        let mut scaled = room(padded)?;
        scaled.extend(coordinates.iter().map(|x| (x - self.middle) / self.half));
        // Within the reserved capacity.
        scaled.resize(padded, 0.0);
        Ok(scaled)
    }
}

/// Returns a vector with capacity for `count` numbers and the padding of the last lanes.
fn room(count: usize) -> Result<Vec<f64>, TryReserveError> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(count.next_multiple_of(LANES))?;
    Ok(vector)
}

/// A spectrum scaled by its greatest absolute value: values, 0 where undefined, and weights, 1 or 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spectrum {
    pub(crate) values: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    /// Greatest absolute value; 0 for a spectrum of zeros.
    pub(crate) size: f64,
    /// Number of defined channels.
    pub(crate) count: usize,
}

impl Spectrum {
    /// Reads a spectrum. `used` excludes further channels besides the undefined ones.
    ///
    /// # Errors
    /// [`FitFlag::Infinite`].
    fn read(&mut self, values: &[f64], used: Option<&[bool]>) -> Result<(), FitFlag> {
        let padded = values.len().next_multiple_of(LANES);
        for vector in [&mut self.values, &mut self.weights] {
            vector.clear();
            // Within the reserved capacity: one per coordinate.
            vector.resize(padded, 0.0);
        }
        (self.size, self.count) = (0.0, 0);
        for (channel, &value) in values.iter().enumerate() {
            if value.is_nan() || used.is_some_and(|used| !used[channel]) {
                continue;
            }
            (self.values[channel], self.weights[channel]) = (value, 1.0);
            self.size = self.size.max(value.abs());
            self.count += 1;
        }
        if self.size.is_infinite() {
            return Err(FitFlag::Infinite);
        }
        if self.size > 0.0 {
            // Division, because the reciprocal of a denormal number is infinite.
            self.values.iter_mut().for_each(|value| *value /= self.size);
        }
        Ok(())
    }
}
