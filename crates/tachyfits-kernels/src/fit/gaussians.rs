//! Gaussian lines with a polynomial baseline, by the method of Levenberg and Marquardt with analytic first and second
//! derivatives. With first derivatives only, fits of lines with another shape take hundreds of steps.

use std::collections::TryReserveError;

use super::guess::{Channels, clipped_baseline, peak};
use super::model::{Equations, OF_LINE};
use super::normal::{MOST, Normal};
use super::{FitFlag, Scale, Spectrum, room};
use crate::isa::{self, Tier};

/// Maximum order of a baseline that is fitted together with Gaussians.
pub const MOST_JOINT_ORDER: usize = 5;

/// Damping of the first step, and the damping at which a fit gives up.
const FIRST_DAMPING: f64 = 1e-3;
const LEAST_DAMPING: f64 = 1e-12;
const MOST_DAMPING: f64 = 1e10;
/// A fit has converged if the next step would change chi² by less than this, in squares of the noise: the parameters
/// are then within a ten-millionth of their errors.
const GAIN: f64 = 1e-14;
/// The same limit once rounding prevents any step from improving the fit.
const STALLED_GAIN: f64 = 1e-6;
/// Largest gain due to rounding, relative to the sum of squared values.
const ROUNDING: f64 = 1e-26;

/// Least and greatest values of parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterLimits {
    /// Limits of each amplitude.
    pub amplitude: [f64; 2],
    /// Limits of each centre.
    pub centre: [f64; 2],
    /// Limits of each standard deviation; the lower one is above 0.
    pub sigma: [f64; 2],
}

/// Model of a spectrum.
#[derive(Clone, Copy, Debug)]
pub struct GaussianModel {
    /// Number of Gaussians, from 1 to [`MOST_COMPONENTS`](super::MOST_COMPONENTS).
    pub components: usize,
    /// Order of the baseline, at most [`MOST_JOINT_ORDER`]; `None` without baseline.
    pub baseline: Option<usize>,
    /// Limits of the parameters.
    pub limits: ParameterLimits,
    /// Noise of a channel; `None`: estimated from the residuals.
    pub noise: Option<f64>,
    /// Maximum number of steps.
    pub iterations: usize,
}

impl GaussianModel {
    fn coefficients(&self) -> usize {
        self.baseline.map_or(0, |order| order + 1)
    }
}

/// Fit of Gaussians to spectra with the same channels.
///
/// ```
/// use tachyfits_kernels::{GaussianFit, GaussianModel, ParameterLimits, Tier};
/// let coordinates: Vec<f64> = (0..40).map(f64::from).collect();
/// let spectrum: Vec<f64> = coordinates.iter().map(|x| 2.0 * (-0.5 * (x - 17.3f64).powi(2) / 9.0).exp()).collect();
/// let limits = ParameterLimits { amplitude: [f64::NEG_INFINITY, f64::INFINITY], centre: [0.0, 39.0], sigma: [0.2, 20.0] };
/// let model = GaussianModel { components: 1, baseline: None, limits, noise: None, iterations: 100 };
/// let (mut fit, mut results) = (GaussianFit::new(model, &coordinates, Tier::SCALAR)?, Vec::new());
/// fit.push(&spectrum, &mut results);
/// assert!((results[0] - 2.0).abs() < 1e-9 && (results[2] - 17.3).abs() < 1e-9 && (results[4] - 3.0).abs() < 1e-9);
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GaussianFit {
    model: GaussianModel,
    scale: Scale,
    coordinates: Vec<f64>,
    /// Channels of a spectrum; the vectors are padded to whole lanes.
    channels: usize,
    tier: Tier,
    spectrum: Spectrum,
    columns: Vec<f64>,
    residual: Vec<f64>,
}

/// Parameters of a fit with this number of lines.
#[derive(Clone, Copy)]
struct Attempt {
    lines: usize,
    parameters: [f64; MOST],
}

/// Result of a fit.
struct Minimum {
    attempt: Attempt,
    normal: Normal,
    flag: FitFlag,
}

impl GaussianFit {
    /// Returns a fit of a model to spectra with these coordinates, which are finite.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn new(
        model: GaussianModel,
        coordinates: &[f64],
        tier: Tier,
    ) -> Result<GaussianFit, TryReserveError> {
        let scale = Scale::new(coordinates);
        let scaled = scale.scaled(coordinates)?;
        let parameters = model.components * OF_LINE + model.coefficients();
        // The first guess of a baseline needs four.
        let count = scaled.len() * (parameters + 1).max(4);
        let mut columns = room(count)?;
        // Within the reserved capacity.
        columns.resize(count, 0.0);
        let residual = room(scaled.len())?;
        let (values, weights) = (room(scaled.len())?, room(scaled.len())?);
        let spectrum = Spectrum { values, weights, ..Spectrum::default() };
        Ok(GaussianFit {
            model,
            scale,
            coordinates: scaled,
            channels: coordinates.len(),
            tier,
            spectrum,
            columns,
            residual,
        })
    }

    /// Returns the reference coordinate of the baseline's coefficients.
    pub fn reference(&self) -> f64 {
        self.scale.middle
    }

    /// Returns the number of values that [`GaussianFit::push`] appends.
    pub fn outputs(&self) -> usize {
        8 * self.model.components + 2 * self.model.coefficients() + 3
    }

    /// Appends the results of a spectrum, whose undefined channels are NaN.
    ///
    /// For each Gaussian, in order of decreasing absolute amplitude: amplitude, centre, standard deviation and
    /// integral, each followed by its standard error. For each power of the distance to the reference: the coefficient
    /// and its error. Then the square root of the sum of squared residuals, the number of channels, and the flag. All
    /// except the last two are NaN unless the fit converged.
    pub fn push(&mut self, values: &[f64], results: &mut Vec<f64>) {
        let begin = results.len();
        let outcome = self.fit(values).and_then(|minimum| match minimum.flag {
            FitFlag::Converged => self.push_parameters(&minimum, results),
            flag => Err(flag),
        });
        let flag = match outcome {
            Ok(()) => FitFlag::Converged,
            Err(flag) => {
                results.truncate(begin);
                // At most the results of three Gaussians and a baseline.
                results.resize(begin + self.outputs() - 2, f64::NAN);
                flag
            }
        };
        results.extend([self.spectrum.count as f64, f64::from(flag as u8)]);
    }

    fn push_parameters(&self, minimum: &Minimum, results: &mut Vec<f64>) -> Result<(), FitFlag> {
        let Minimum { attempt, normal, .. } = minimum;
        let covariance = normal.covariance().ok_or(FitFlag::Undetermined)?;
        let (size, half) = (self.spectrum.size, self.scale.half);
        let freedom = (self.spectrum.count - normal.parameters) as f64;
        let noise = self.model.noise.unwrap_or_else(|| (normal.squares / freedom).sqrt() * size);
        // Error of a scaled parameter.
        let error = |variance: f64| variance.max(0.0).sqrt() * (noise / size);
        let parameters = &attempt.parameters;
        let mut order = [0, 1, 2];
        let height = |line: &usize| parameters[line * OF_LINE].abs();
        order[..attempt.lines].sort_by(|one, other| height(other).total_cmp(&height(one)));
        for line in &order[..attempt.lines] {
            let [at, of_centre, of_width] = [0, 1, 2].map(|number| line * OF_LINE + number);
            let (amplitude, width) = (parameters[at], parameters[of_width]);
            let area = (2.0 * std::f64::consts::PI).sqrt();
            let of_area = width * width * covariance[at][at]
                + amplitude * amplitude * covariance[of_width][of_width]
                + 2.0 * amplitude * width * covariance[at][of_width];
            results.extend([
                amplitude * size,
                error(covariance[at][at]) * size,
                self.scale.middle + parameters[of_centre] * half,
                error(covariance[of_centre][of_centre]) * half,
                width * half,
                error(covariance[of_width][of_width]) * half,
                area * amplitude * width * size * half,
                area * error(of_area) * size * half,
            ]);
        }
        let mut unit = 1.0;
        for at in attempt.lines * OF_LINE..normal.parameters {
            results.extend([parameters[at] * size / unit, error(covariance[at][at]) * size / unit]);
            unit *= half;
        }
        results.push(normal.squares.sqrt() * size);
        Ok(())
    }

    fn channels(&self) -> Channels<'_> {
        let Spectrum { values, weights, .. } = &self.spectrum;
        Channels { coordinates: &self.coordinates, values, weights, tier: self.tier }
    }

    /// Returns the limits of a parameter, in scaled units.
    fn limits(&self, attempt: &Attempt, parameter: usize) -> [f64; 2] {
        let ParameterLimits { amplitude, centre, sigma } = self.model.limits;
        let Scale { middle, half } = self.scale;
        if parameter >= attempt.lines * OF_LINE {
            return [f64::NEG_INFINITY, f64::INFINITY];
        }
        match parameter % OF_LINE {
            0 => amplitude.map(|limit| limit / self.spectrum.size),
            1 => centre.map(|limit| (limit - middle) / half),
            _ => sigma.map(|limit| limit / half),
        }
    }

    fn fit(&mut self, values: &[f64]) -> Result<Minimum, FitFlag> {
        self.spectrum.read(values, None)?;
        let (components, coefficients) = (self.model.components, self.model.coefficients());
        if self.spectrum.count <= components * OF_LINE + coefficients {
            return Err(FitFlag::FewChannels);
        }
        if self.spectrum.size == 0.0 {
            return Err(FitFlag::Undetermined);
        }
        let mut attempt = Attempt { lines: 0, parameters: [0.0; MOST] };
        let mut columns = std::mem::take(&mut self.columns);
        if let Some(order) = self.model.baseline {
            let baseline = clipped_baseline(&self.channels(), order, &mut columns);
            let Some(baseline) = baseline else {
                self.columns = columns;
                return Err(FitFlag::Undetermined);
            };
            attempt.parameters = baseline;
        }
        self.columns = columns;
        // Add one line at a time: each begins at the highest peak of the residual, or at half of the widest line.
        let mut best = None;
        for _ in 0..components {
            let Some(next) = self.with_line(&attempt) else {
                return Err(FitFlag::Undetermined);
            };
            let mut minimum = self.minimise(next);
            if let Some(split) = self.with_split_line(&attempt) {
                let other = self.minimise(split);
                let is_better = other.normal.squares < minimum.normal.squares;
                let converged =
                    (other.flag == FitFlag::Converged, minimum.flag == FitFlag::Converged);
                if converged == (true, false) || (converged.0 == converged.1 && is_better) {
                    minimum = other;
                }
            }
            attempt = minimum.attempt;
            best = Some(minimum);
        }
        best.ok_or(FitFlag::Undetermined)
    }

    /// Adds a line at the highest peak of the residual.
    fn with_line(&mut self, attempt: &Attempt) -> Option<Attempt> {
        let _ = self.equations(attempt);
        let (length, count) = (self.coordinates.len(), self.parameters(attempt));
        self.residual.clear();
        self.residual.extend_from_slice(&self.columns[count * length..][..self.channels]);
        let mut columns = std::mem::take(&mut self.columns);
        let least = self.model.limits.sigma[0] / self.scale.half;
        let line = peak(&self.channels().first(self.channels), &self.residual, least, &mut columns);
        self.columns = columns;
        Some(self.added(attempt, line?))
    }

    /// Splits the widest line in two.
    fn with_split_line(&self, attempt: &Attempt) -> Option<Attempt> {
        let width = |line: usize| attempt.parameters[line * OF_LINE + 2];
        let widest =
            (0..attempt.lines).max_by(|&one, &other| width(one).total_cmp(&width(other)))?;
        let mut split = *attempt;
        let at = widest * OF_LINE;
        let [amplitude, centre, sigma] =
            [at, at + 1, at + 2].map(|number| attempt.parameters[number]);
        split.parameters[at..at + OF_LINE].copy_from_slice(&[
            0.8 * amplitude,
            centre - 0.8 * sigma,
            0.6 * sigma,
        ]);
        Some(self.added(&split, [0.8 * amplitude, centre + 0.8 * sigma, 0.6 * sigma]))
    }

    fn added(&self, attempt: &Attempt, line: [f64; OF_LINE]) -> Attempt {
        let mut next = Attempt { lines: attempt.lines + 1, ..*attempt };
        let (at, count) = (attempt.lines * OF_LINE, self.parameters(attempt));
        next.parameters.copy_within(at..count, at + OF_LINE);
        next.parameters[at..at + OF_LINE].copy_from_slice(&line);
        for parameter in 0..next.lines * OF_LINE {
            let [least, greatest] = self.limits(&next, parameter);
            let value = &mut next.parameters[parameter];
            *value = value.max(least).min(greatest);
        }
        next
    }

    fn parameters(&self, attempt: &Attempt) -> usize {
        attempt.lines * OF_LINE + self.model.coefficients()
    }

    fn equations(&mut self, attempt: &Attempt) -> Normal {
        let count = self.parameters(attempt);
        let equations = Equations {
            coordinates: &self.coordinates,
            values: &self.spectrum.values,
            weights: &self.spectrum.weights,
            parameters: &attempt.parameters[..count],
            lines: attempt.lines,
            columns: &mut self.columns,
        };
        isa::dispatch(self.tier, equations)
    }

    fn minimise(&mut self, first: Attempt) -> Minimum {
        let mut attempt = first;
        let count = self.parameters(&attempt);
        let mut normal = self.equations(&attempt);
        let freedom = (self.spectrum.count.saturating_sub(count)).max(1) as f64;
        let rounding =
            ROUNDING * self.spectrum.values.iter().map(|value| value * value).sum::<f64>();
        let (mut damping, mut raise) = (FIRST_DAMPING, 4.0);
        let mut flag = FitFlag::Iterations;
        for _ in 0..self.model.iterations {
            let mut free = [true; MOST];
            for (parameter, free) in free.iter_mut().enumerate().take(count) {
                let [least, greatest] = self.limits(&attempt, parameter);
                let (value, up) = (attempt.parameters[parameter], normal.gradient[parameter]);
                *free = !((value <= least && up < 0.0) || (value >= greatest && up > 0.0));
            }
            let gain = normal.step(0.0, &free).map(|step| {
                let gains = step.iter().zip(&normal.gradient).take(count);
                gains.map(|(step, gradient)| step * gradient).sum::<f64>()
            });
            let noise = normal.squares / freedom;
            let is_end = |most: f64| gain.is_some_and(|gain| gain <= most * noise + rounding);
            if is_end(GAIN) {
                flag = if free[..count].contains(&false) {
                    FitFlag::Limit
                } else {
                    FitFlag::Converged
                };
                break;
            }
            let Some(step) = normal.step(damping, &free) else {
                // Not near a minimum: more damping turns the step towards the gradient.
                damping = (damping * 10.0).max(FIRST_DAMPING);
                if damping > MOST_DAMPING {
                    flag = FitFlag::Undetermined;
                    break;
                }
                continue;
            };
            let mut next = attempt;
            for (parameter, step) in step.iter().enumerate().take(count) {
                let [least, greatest] = self.limits(&attempt, parameter);
                let value = attempt.parameters[parameter] + step;
                next.parameters[parameter] = value.max(least).min(greatest);
            }
            let trial = self.equations(&next);
            if trial.squares < normal.squares {
                // Ratio of actual to predicted improvement (K. Madsen, H. B. Nielsen and O. Tingleff, "Methods for
                // non-linear least squares problems", 2004).
                let expected: f64 = (0..count)
                    .map(|at| {
                        let damped = damping * normal.matrix[at][at] * step[at];
                        step[at] * (normal.gradient[at] + damped)
                    })
                    .sum();
                let share = (normal.squares - trial.squares) / expected;
                damping *= (1.0 - (2.0 * share - 1.0).powi(3)).clamp(0.1, 2.0);
                damping = damping.max(LEAST_DAMPING);
                raise = 4.0;
                (attempt, normal) = (next, trial);
                continue;
            }
            damping *= raise;
            raise *= 2.0;
            if damping > MOST_DAMPING {
                let at_limit = free[..count].contains(&false);
                flag = match (is_end(STALLED_GAIN), at_limit) {
                    (true, true) => FitFlag::Limit,
                    (true, false) => FitFlag::Converged,
                    (false, _) => FitFlag::Undetermined,
                };
                break;
            }
        }
        Minimum { attempt, normal, flag }
    }
}
