//! Normal equations of a few parameters, solved by Cholesky's method.

/// Maximum number of parameters: three Gaussians and six coefficients of a baseline.
pub(crate) const MOST: usize = 15;

/// Upper triangle of a symmetric matrix.
pub(crate) type Matrix = [[f64; MOST]; MOST];

/// Products of a Jacobian's columns with each other and with the residual.
#[derive(Clone, Debug)]
pub(crate) struct Normal {
    pub(crate) parameters: usize,
    pub(crate) matrix: Matrix,
    /// Half of the second derivatives of the sum of squares: `matrix` minus the products of the residual with the
    /// second derivatives of the model.
    pub(crate) curvature: Matrix,
    /// Products with the residual: the direction in which each parameter improves the fit.
    pub(crate) gradient: [f64; MOST],
    /// Sum of the squared residuals.
    pub(crate) squares: f64,
}

/// Least pivot of a matrix with a unit diagonal; below it, two parameters have the same effect to within rounding.
const LEAST_PIVOT: f64 = 1e-13;

/// Cholesky factor of a matrix scaled to a unit diagonal.
struct Factor {
    lower: [[f64; MOST]; MOST],
    scales: [f64; MOST],
}

impl Normal {
    /// Returns the changes of the parameters towards the minimum of the sum of squares, approximated by a parabola,
    /// with `damping` added to the scaled diagonal (D. W. Marquardt, J. SIAM 11, 431, 1963); 0 for fixed parameters.
    /// Returns `None` if the parabola has no minimum.
    pub(crate) fn step(&self, damping: f64, free: &[bool; MOST]) -> Option<[f64; MOST]> {
        let factor = self.factor(&self.curvature, damping, free)?;
        let mut step = [0.0; MOST];
        for (row, step) in step.iter_mut().enumerate().take(self.parameters) {
            *step = if free[row] { self.gradient[row] / factor.scales[row] } else { 0.0 };
        }
        factor.solve(&mut step, self.parameters);
        step.iter_mut().zip(&factor.scales).for_each(|(step, scale)| *step /= scale);
        Some(step)
    }

    /// Returns the inverse matrix: the covariance of the parameters for a noise of 1.
    pub(crate) fn covariance(&self) -> Option<[[f64; MOST]; MOST]> {
        let factor = self.factor(&self.matrix, 0.0, &[true; MOST])?;
        let mut inverse = [[0.0; MOST]; MOST];
        for (column, row) in inverse.iter_mut().enumerate().take(self.parameters) {
            row[column] = 1.0 / factor.scales[column];
            factor.solve(row, self.parameters);
            for (value, scale) in row.iter_mut().zip(&factor.scales).take(self.parameters) {
                *value /= scale;
            }
        }
        Some(inverse)
    }

    /// Factors a matrix, scaled so that `self.matrix` would have a unit diagonal.
    fn factor(&self, matrix: &Matrix, damping: f64, free: &[bool; MOST]) -> Option<Factor> {
        let mut factor = Factor { lower: [[0.0; MOST]; MOST], scales: [1.0; MOST] };
        let count = self.parameters;
        for (row, scale) in factor.scales.iter_mut().enumerate().take(count) {
            if free[row] {
                *scale = self.matrix[row][row].sqrt();
            }
            if !(*scale > 0.0 && scale.is_finite()) {
                return None;
            }
        }
        for row in 0..count {
            for column in 0..=row {
                let mut sum = match (row == column, free[row] && free[column]) {
                    (_, true) => matrix[column][row] / factor.scales[row] / factor.scales[column],
                    (true, false) => 1.0,
                    (false, false) => 0.0,
                };
                if row == column {
                    sum += damping;
                }
                for before in 0..column {
                    sum -= factor.lower[row][before] * factor.lower[column][before];
                }
                factor.lower[row][column] = if row > column {
                    sum / factor.lower[column][column]
                } else if sum > LEAST_PIVOT {
                    sum.sqrt()
                } else {
                    return None;
                };
            }
        }
        Some(factor)
    }
}

impl Factor {
    fn solve(&self, vector: &mut [f64; MOST], count: usize) {
        for row in 0..count {
            for before in 0..row {
                vector[row] -= self.lower[row][before] * vector[before];
            }
            vector[row] /= self.lower[row][row];
        }
        for row in (0..count).rev() {
            for after in row + 1..count {
                vector[row] -= self.lower[after][row] * vector[after];
            }
            vector[row] /= self.lower[row][row];
        }
    }
}
