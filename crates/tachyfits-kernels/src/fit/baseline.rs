//! Polynomial baselines, from polynomials that are orthogonal on the channels of the spectrum (G. E. Forsythe, J. SIAM
//! 5, 74, 1957): they need no linear equations, and high orders lose no digits.

use std::collections::TryReserveError;

use super::model::dot;
use super::{FitFlag, Scale, Spectrum, room};
use crate::LANES;
use crate::isa::{self, Kernel, Tier};

/// Maximum order of a baseline.
pub const MOST_ORDER: usize = 9;
const MOST: usize = MOST_ORDER + 1;
/// Least ratio of the norms of two successive polynomials; smaller ratios are rounding errors.
const LEAST_RATIO: f64 = 1e-24;

/// Polynomials up to an order, orthogonal on some channels, and the coefficients that fit their sum to values.
#[derive(Clone, Debug)]
pub(crate) struct Polynomial {
    order: usize,
    /// Coefficients of the recurrence p' = (u - alpha) p - beta p''.
    alpha: [f64; MOST],
    beta: [f64; MOST],
    norms: [f64; MOST],
    coefficients: [f64; MOST],
    /// Sum of the squared residuals.
    pub(crate) squares: f64,
}

/// A fit of a polynomial to values, each weighted with 0 or 1.
pub(crate) struct Orthogonal<'a> {
    pub(crate) coordinates: &'a [f64],
    pub(crate) values: &'a [f64],
    pub(crate) weights: &'a [f64],
    pub(crate) order: usize,
    /// Work space of three columns as long as the coordinates; the first becomes the residual.
    pub(crate) columns: &'a mut [f64],
}

impl Kernel for Orthogonal<'_> {
    type Output = Option<Polynomial>;

    #[inline(always)]
    fn run(self) -> Option<Polynomial> {
        let Orthogonal { coordinates, values, weights, order, columns } = self;
        let zeros = [0.0; MOST];
        let (alpha, beta, norms, coefficients) = (zeros, zeros, zeros, zeros);
        let mut polynomial = Polynomial { order, alpha, beta, norms, coefficients, squares: 0.0 };
        let length = coordinates.len();
        let (rest, columns) = columns.split_at_mut(length);
        let (mut previous, columns) = columns.split_at_mut(length);
        let mut current = &mut columns[..length];
        for at in 0..length {
            rest[at] = values[at] * weights[at];
            (previous[at], current[at]) = (0.0, weights[at]);
        }
        for degree in 0..=order {
            let norm = dot(current, current);
            let least = if degree > 0 { LEAST_RATIO * polynomial.norms[degree - 1] } else { 0.0 };
            if !(norm > least && norm.is_finite()) {
                return None;
            }
            let coefficient = dot(rest, current) / norm;
            let beta = if degree > 0 { norm / polynomial.norms[degree - 1] } else { 0.0 };
            let mut sums = [0.0; LANES];
            for at in (0..length).step_by(LANES) {
                for lane in 0..LANES {
                    let value = current[at + lane];
                    rest[at + lane] -= coefficient * value;
                    sums[lane] += coordinates[at + lane] * value * value;
                }
            }
            let alpha = crate::fold::add_lanes(&sums) / norm;
            for at in 0..length {
                let next = (coordinates[at] - alpha) * current[at] - beta * previous[at];
                previous[at] = next;
            }
            (previous, current) = (current, previous);
            (polynomial.alpha[degree], polynomial.beta[degree]) = (alpha, beta);
            (polynomial.norms[degree], polynomial.coefficients[degree]) = (norm, coefficient);
        }
        polynomial.squares = dot(rest, rest);
        Some(polynomial)
    }
}

impl Polynomial {
    /// Returns, for each power of the coordinate, the coefficient and its variance for a noise of 1.
    pub(crate) fn powers(&self) -> [(f64, f64); MOST] {
        let mut powers = [(0.0, 0.0); MOST];
        let (mut previous, mut current) = ([0.0; MOST], [0.0; MOST]);
        current[0] = 1.0;
        for degree in 0..=self.order {
            let (coefficient, norm) = (self.coefficients[degree], self.norms[degree]);
            let mut next = [0.0; MOST];
            for power in 0..=degree {
                let factor = current[power];
                powers[power].0 += coefficient * factor;
                powers[power].1 += factor * factor / norm;
                next[power] -= self.alpha[degree] * factor + self.beta[degree] * previous[power];
                if power + 1 < MOST {
                    next[power + 1] += factor;
                }
            }
            (previous, current) = (current, next);
        }
        powers
    }
}

/// Fit of a polynomial to spectra with the same channels.
///
/// ```
/// use tachyfits_kernels::{BaselineFit, Tier};
/// let coordinates = [0.0, 1.0, 2.0, 3.0, 4.0];
/// let line_free = [true, true, false, true, true];
/// let mut fit = BaselineFit::new(1, &coordinates, &line_free, Tier::SCALAR)?;
/// let (mut spectrum, mut coefficients) = ([1.0, 2.0, 9.0, 4.0, 5.0], [0.0; 2]);
/// fit.find(&spectrum, &mut coefficients);
/// fit.subtract(&mut spectrum, (0, 1), &coefficients, 0);
/// assert!(spectrum.iter().zip([0.0, 0.0, 6.0, 0.0, 0.0]).all(|(x, y)| (x - y).abs() < 1e-14));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct BaselineFit {
    order: usize,
    scale: Scale,
    coordinates: Vec<f64>,
    used: Vec<bool>,
    tier: Tier,
    spectrum: Spectrum,
    columns: Vec<f64>,
}

impl BaselineFit {
    /// Returns a fit of this order, at most [`MOST_ORDER`], to the channels for which `used`, one flag per coordinate,
    /// is true.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn new(
        order: usize,
        coordinates: &[f64],
        used: &[bool],
        tier: Tier,
    ) -> Result<BaselineFit, TryReserveError> {
        let scale = Scale::new(coordinates);
        let scaled = scale.scaled(coordinates)?;
        let mut columns = room(scaled.len() * 3)?;
        // Within the reserved capacity.
        columns.resize(scaled.len() * 3, 0.0);
        let (values, weights) = (room(scaled.len())?, room(scaled.len())?);
        let spectrum = Spectrum { values, weights, ..Spectrum::default() };
        let used = used.to_vec();
        let order = order.min(MOST_ORDER);
        Ok(BaselineFit { order, scale, coordinates: scaled, used, tier, spectrum, columns })
    }

    /// Returns the reference coordinate of the coefficients.
    pub fn reference(&self) -> f64 {
        self.scale.middle
    }

    /// Returns the number of values that [`BaselineFit::push`] appends.
    pub fn outputs(&self) -> usize {
        2 * (self.order + 1) + 3
    }

    fn fit(&mut self, values: &[f64]) -> Result<Polynomial, FitFlag> {
        self.spectrum.read(values, Some(&self.used))?;
        if self.spectrum.count <= self.order {
            return Err(FitFlag::FewChannels);
        }
        let fit = Orthogonal {
            coordinates: &self.coordinates,
            values: &self.spectrum.values,
            weights: &self.spectrum.weights,
            order: self.order,
            columns: &mut self.columns,
        };
        isa::dispatch(self.tier, fit).ok_or(FitFlag::Undetermined)
    }

    /// Appends, for each power of the distance to the reference, the coefficient and its standard error; then the
    /// square root of the sum of squared residuals, the number of channels and the flag. The errors are based on
    /// `noise`, or on the residuals if it is `None`; they are NaN if too few channels remain to estimate it.
    pub fn push(&mut self, values: &[f64], noise: Option<f64>, results: &mut Vec<f64>) {
        let fit = self.fit(values);
        let (size, count) = (self.spectrum.size, self.spectrum.count);
        let flag = match fit {
            Ok(polynomial) => {
                let freedom = count - self.order - 1;
                let noise =
                    noise.unwrap_or_else(|| (polynomial.squares / freedom as f64).sqrt() * size);
                let mut unit = 1.0;
                for (value, variance) in &polynomial.powers()[..=self.order] {
                    results.extend([value * size / unit, variance.sqrt() * noise / unit]);
                    unit *= self.scale.half;
                }
                results.push(polynomial.squares.sqrt() * size);
                FitFlag::Converged
            }
            Err(flag) => {
                results.extend(std::iter::repeat_n(f64::NAN, self.outputs() - 2));
                flag
            }
        };
        results.extend([count as f64, f64::from(flag as u8)]);
    }

    /// Returns the number of coefficients of a baseline.
    pub fn coefficients(&self) -> usize {
        self.order + 1
    }

    /// Writes the coefficients of a spectrum's baseline, for [`BaselineFit::subtract`]; NaN if the fit fails.
    pub fn find(&mut self, values: &[f64], coefficients: &mut [f64]) {
        match self.fit(values) {
            Ok(polynomial) => {
                for (coefficient, (power, _)) in coefficients.iter_mut().zip(polynomial.powers()) {
                    *coefficient = power * self.spectrum.size;
                }
            }
            Err(_) => coefficients.fill(f64::NAN),
        }
    }

    /// Subtracts baselines from values of one channel, or of successive channels: from one value to the next, the
    /// channel advances by `step` and the coefficients by `stride`.
    pub fn subtract(
        &self,
        values: &mut [f64],
        (channel, step): (usize, usize),
        coefficients: &[f64],
        stride: usize,
    ) {
        let count = self.coefficients();
        for (number, value) in values.iter_mut().enumerate() {
            let of_value = &coefficients[number * stride..][..count];
            let u = self.coordinates[channel + number * step];
            let sum = of_value.iter().rev().fold(0.0, |sum, coefficient| sum * u + coefficient);
            *value -= sum;
        }
    }
}
