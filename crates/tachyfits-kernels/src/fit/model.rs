//! Model of a spectrum and its derivatives: Gaussians with amplitude, centre and standard deviation, followed by the
//! coefficients of a polynomial.

use super::exponential::exponentials;
use super::normal::{MOST, Normal};
use crate::LANES;
use crate::fold::add_lanes;
use crate::isa::Kernel;

/// Parameters per Gaussian.
pub(crate) const OF_LINE: usize = 3;
/// Maximum number of Gaussians.
pub const MOST_COMPONENTS: usize = 3;

/// Normal equations of the model for some parameters.
pub(crate) struct Equations<'a> {
    pub(crate) coordinates: &'a [f64],
    pub(crate) values: &'a [f64],
    pub(crate) weights: &'a [f64],
    /// Parameters of the Gaussians, followed by those of the polynomial.
    pub(crate) parameters: &'a [f64],
    pub(crate) lines: usize,
    /// Work space for one column per parameter and one for the residual, each as long as the coordinates.
    pub(crate) columns: &'a mut [f64],
}

impl Kernel for Equations<'_> {
    type Output = Normal;

    #[inline(always)]
    fn run(self) -> Normal {
        let Equations { coordinates, values, weights, parameters, lines, columns } = self;
        let (length, count) = (coordinates.len(), parameters.len());
        // Per line: sums of residual times shape times powers of the offset.
        let mut powers = [[[0.0; LANES]; 5]; MOST_COMPONENTS];
        for at in (0..length).step_by(LANES) {
            let (mut u, mut w, mut rest) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            u.copy_from_slice(&coordinates[at..at + LANES]);
            w.copy_from_slice(&weights[at..at + LANES]);
            rest.copy_from_slice(&values[at..at + LANES]);
            for line in 0..lines {
                let first = line * OF_LINE;
                let (amplitude, centre) = (parameters[first], parameters[first + 1]);
                let inverse = 1.0 / parameters[first + 2];
                let (mut offset, mut square) = ([0.0; LANES], [0.0; LANES]);
                for lane in 0..LANES {
                    offset[lane] = (u[lane] - centre) * inverse;
                    square[lane] = -0.5 * offset[lane] * offset[lane];
                }
                let mut shape = exponentials(&square);
                for lane in 0..LANES {
                    shape[lane] *= w[lane];
                    rest[lane] -= amplitude * shape[lane];
                }
                for lane in 0..LANES {
                    let slope = amplitude * shape[lane] * offset[lane] * inverse;
                    columns[first * length + at + lane] = shape[lane];
                    columns[(first + 1) * length + at + lane] = slope;
                    columns[(first + 2) * length + at + lane] = slope * offset[lane];
                }
            }
            let mut power = w;
            for parameter in lines * OF_LINE..count {
                for lane in 0..LANES {
                    columns[parameter * length + at + lane] = power[lane];
                    rest[lane] -= parameters[parameter] * power[lane];
                    power[lane] *= u[lane];
                }
            }
            columns[count * length + at..][..LANES].copy_from_slice(&rest);
            for (line, powers) in powers.iter_mut().enumerate().take(lines) {
                let first = line * OF_LINE;
                let (centre, inverse) = (parameters[first + 1], 1.0 / parameters[first + 2]);
                let mut term = [0.0; LANES];
                for lane in 0..LANES {
                    term[lane] = rest[lane] * columns[first * length + at + lane];
                }
                for sums in powers {
                    for lane in 0..LANES {
                        sums[lane] += term[lane];
                        term[lane] *= (u[lane] - centre) * inverse;
                    }
                }
            }
        }
        let product = |one: usize, other: usize| {
            dot(&columns[one * length..][..length], &columns[other * length..][..length])
        };
        let mut normal = Normal {
            parameters: count,
            matrix: [[0.0; MOST]; MOST],
            curvature: [[0.0; MOST]; MOST],
            gradient: [0.0; MOST],
            squares: product(count, count),
        };
        for row in 0..count {
            for column in row..count {
                normal.matrix[row][column] = product(row, column);
            }
            normal.gradient[row] = product(row, count);
        }
        normal.curvature = normal.matrix;
        for (line, powers) in powers.iter().enumerate().take(lines) {
            let first = line * OF_LINE;
            let (amplitude, inverse) = (parameters[first], 1.0 / parameters[first + 2]);
            let [m0, m1, m2, m3, m4] = powers.map(|lanes| add_lanes(&lanes));
            let square = amplitude * inverse * inverse;
            let of_line = &mut normal.curvature[first..first + OF_LINE];
            of_line[0][first + 1] -= m1 * inverse;
            of_line[0][first + 2] -= m2 * inverse;
            of_line[1][first + 1] -= (m2 - m0) * square;
            of_line[1][first + 2] -= (m3 - 2.0 * m1) * square;
            of_line[2][first + 2] -= (m4 - 3.0 * m2) * square;
        }
        normal
    }
}

/// Sums the products of two columns, whose length is a multiple of [`LANES`].
#[inline(always)]
pub(crate) fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for (left, right) in left.as_chunks::<LANES>().0.iter().zip(right.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            lanes[lane] += left[lane] * right[lane];
        }
    }
    add_lanes(&lanes)
}
