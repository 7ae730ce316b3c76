//! Fits of the spectrum of each pixel: Gaussian lines and polynomial baselines.
//!
//! Spectra are gathered as for order statistics (`output_tiles`); the kernels fit one spectrum.

mod subtraction;

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{BaselineFit, GaussianFit, Tier};
pub use tachyfits_kernels::{
    FitFlag, GaussianModel, MOST_COMPONENTS, MOST_JOINT_ORDER, MOST_ORDER, ParameterLimits,
};
use tachyfits_memory::NoMemory;

use crate::error::{Error, Reason};
use crate::grid::Grid;
use crate::image::{Image, filled, tier};
use crate::order_statistics::{OrderLimits, Passes};
use crate::output_tiles::{OutputOperation, push_outputs};
use crate::section::Section;

/// Polynomial baseline of spectra.
#[derive(Clone, Copy, Debug)]
pub struct Baseline<'a> {
    /// Order of the polynomial, from 0 to [`MOST_ORDER`].
    pub order: usize,
    /// Coordinate of each channel.
    pub coordinates: &'a [f64],
    /// Mask of the channels used for the fit.
    pub channels: &'a [bool],
}

impl<'a> Baseline<'a> {
    /// Creates a baseline of this order, fitted to the channels of the mask.
    pub fn new(order: usize, coordinates: &'a [f64], channels: &'a [bool]) -> Baseline<'a> {
        Baseline { order, coordinates, channels }
    }
}

impl Image {
    /// Fits Gaussians and a baseline to the spectrum of each pixel along `axis` (0 is NAXIS1). Returns one
    /// vector per number of a fit, with the outputs in the order of the remaining axes.
    ///
    /// The numbers are, for each Gaussian by descending absolute amplitude: amplitude, centre, standard
    /// deviation and integral, each followed by its standard error. Then, for each power of the distance to
    /// [`reference()`], the coefficient of the baseline and its error. Then the square root of the sum of
    /// squared residuals, the number of channels, and the [`FitFlag`] as a number. Channels that are NaN or
    /// BLANK are ignored. All but the last two numbers are NaN unless the fit converged.
    ///
    /// ```
    /// use tachyfits::fit::{GaussianModel, ParameterLimits};
    /// use tachyfits::{Array, Header, RunOptions};
    /// // 4 exp(-(x - 3)² / 2), rounded.
    /// let image = Array::new(&[0.044f32, 0.541, 2.426, 4.0, 2.426, 0.541, 0.044], &[7]).to_file("line", &Header::new())?.image(0)?;
    /// let limits = ParameterLimits { amplitude: [0.0, 10.0], centre: [0.0, 6.0], sigma: [0.2, 3.0] };
    /// let model = GaussianModel { components: 1, baseline: None, limits, noise: None, iterations: 100 };
    /// let coordinates = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let (numbers, _) =
    ///     image.fit_gaussians(&model, 0, &coordinates, &image.whole(), &RunOptions::default())?;
    /// assert!((numbers[2][0] - 3.0).abs() < 1e-6 && (numbers[4][0] - 1.0).abs() < 1e-3);
    /// assert_eq!((numbers[9][0], numbers[10][0]), (7.0, 0.0));
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Fit`] for too many Gaussians, too high an order, limits that are not in ascending order,
    /// non-finite coordinates, or a number of coordinates that differs from the number of channels; otherwise
    /// as [`Image::moments`].
    pub fn fit_gaussians(
        &self,
        model: &GaussianModel,
        axis: usize,
        coordinates: &[f64],
        section: &Section,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<Vec<f64>>, Report), Error> {
        check_model(model).map_err(|error| self.place(error))?;
        let fit = Gaussians { model, coordinates, tier: tier() };
        self.fit(&fit, axis, coordinates, section, options)
    }

    /// Fits a baseline to the spectrum of each pixel, as [`Image::fit_gaussians`] does for lines. The numbers
    /// are the coefficient and its error for each power of the distance to [`reference()`], the square root
    /// of the sum of squared residuals, the number of channels and the flag. `noise` is the noise of a
    /// channel; `None` estimates it from the residuals.
    ///
    /// # Errors
    /// As [`Image::fit_gaussians`].
    pub fn fit_baseline(
        &self,
        baseline: &Baseline<'_>,
        axis: usize,
        noise: Option<f64>,
        section: &Section,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<Vec<f64>>, Report), Error> {
        check_baseline(baseline).map_err(|error| self.place(error))?;
        let fit = Polynomials { baseline: *baseline, noise, tier: tier() };
        self.fit(&fit, axis, baseline.coordinates, section, options)
    }

    fn fit<O: OutputOperation>(
        &self,
        operation: &O,
        axis: usize,
        coordinates: &[f64],
        section: &Section,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<Vec<f64>>, Report), Error> {
        let reduced = self.reduced_axes(&[axis])?;
        self.check_section(section)?;
        check_coordinates(coordinates, section.ranges()[axis].count)
            .map_err(|error| self.place(error))?;
        let grid = Grid::new(self.axes(), section, &reduced);
        self.check_present(grid.last_pixel())?;
        let empty = || {
            let mut values = filled(grid.outputs, f64::NAN, "the result")?;
            values.clear();
            Ok(values)
        };
        let results: Result<Vec<Vec<f64>>, Error> =
            (0..operation.values()).map(|_| empty()).collect();
        let mut results = results.map_err(|error| self.place(error))?;
        let total = section.pixels().saturating_mul(self.pixel_bytes().size);
        let mut passes = Passes::new(options, total);
        if grid.outputs > 0 && grid.reduced > 0 {
            let tile_bytes = OrderLimits::default().tile_bytes;
            push_outputs(self, &grid, tier(), tile_bytes, operation, &mut passes, &mut results)?;
        } else {
            // No more than the number of outputs that memory was reserved for.
            results.iter_mut().for_each(|values| values.resize(grid.outputs as usize, f64::NAN));
        }
        Ok((results, passes.finish()))
    }
}

/// Fits Gaussians to spectra in memory, one after the other. Returns the numbers of [`Image::fit_gaussians`]
/// for each.
///
/// # Errors
/// As [`Image::fit_gaussians`].
pub fn fit_gaussians(
    model: &GaussianModel,
    coordinates: &[f64],
    spectra: &[f64],
) -> Result<Vec<f64>, Error> {
    check_model(model)?;
    check_coordinates(coordinates, coordinates.len() as u64)?;
    let operation = Gaussians { model, coordinates, tier: tier() };
    let mut results = Vec::new();
    if !coordinates.is_empty() {
        let mut fit = operation.scratch(coordinates.len())?;
        spectra.chunks_exact(coordinates.len()).for_each(|values| fit.push(values, &mut results));
    }
    Ok(results)
}

/// Returns the reference coordinate of a baseline's coefficients: the coordinate of the middle channel.
pub fn reference(coordinates: &[f64]) -> f64 {
    coordinates.get(coordinates.len() / 2).copied().unwrap_or(0.0)
}

/// Fits of Gaussians as an output operation.
struct Gaussians<'a> {
    model: &'a GaussianModel,
    coordinates: &'a [f64],
    tier: Tier,
}

impl OutputOperation for Gaussians<'_> {
    type Scratch = GaussianFit;

    fn values(&self) -> usize {
        let coefficients = self.model.baseline.map_or(0, |order| order + 1);
        8 * self.model.components + 2 * coefficients + 3
    }

    fn scratch(&self, pixels: usize) -> Result<GaussianFit, NoMemory> {
        GaussianFit::new(*self.model, self.coordinates, self.tier)
            .map_err(|_| NoMemory::of::<f64>(pixels, "the fit of a spectrum"))
    }

    fn push(&self, fit: &mut GaussianFit, pixels: &mut [f64], values: &mut Vec<f64>) {
        fit.push(pixels, values);
    }
}

/// Fits of baselines as an output operation.
struct Polynomials<'a> {
    baseline: Baseline<'a>,
    noise: Option<f64>,
    tier: Tier,
}

impl OutputOperation for Polynomials<'_> {
    type Scratch = BaselineFit;

    fn values(&self) -> usize {
        2 * (self.baseline.order + 1) + 3
    }

    fn scratch(&self, pixels: usize) -> Result<BaselineFit, NoMemory> {
        let Baseline { order, coordinates, channels } = self.baseline;
        BaselineFit::new(order, coordinates, channels, self.tier)
            .map_err(|_| NoMemory::of::<f64>(pixels, "the fit of a spectrum"))
    }

    fn push(&self, fit: &mut BaselineFit, pixels: &mut [f64], values: &mut Vec<f64>) {
        fit.push(pixels, self.noise, values);
    }
}

fn refused(expected: impl Into<String>, actual: impl ToString) -> Result<(), Error> {
    Err(Error::refused(Reason::Fit, expected, actual.to_string()))
}

fn check_model(model: &GaussianModel) -> Result<(), Error> {
    let ParameterLimits { amplitude, centre, sigma } = model.limits;
    let in_order = |limits: &[f64; 2]| limits[0] <= limits[1];
    if !(1..=MOST_COMPONENTS).contains(&model.components) {
        refused(format!("from 1 to {MOST_COMPONENTS} Gaussians"), model.components)
    } else if model.baseline.is_some_and(|order| order > MOST_JOINT_ORDER) {
        let order = model.baseline.unwrap_or_default();
        refused(format!("a baseline of an order from 0 to {MOST_JOINT_ORDER}"), order)
    } else if ![amplitude, centre, sigma].iter().all(in_order) || sigma[0] <= 0.0 {
        let actual = format!("amplitude {amplitude:?}, centre {centre:?}, sigma {sigma:?}");
        refused("limits from low to high, and a width above 0", actual)
    } else {
        Ok(())
    }
}

fn check_baseline(baseline: &Baseline<'_>) -> Result<(), Error> {
    let (channels, coordinates) = (baseline.channels.len(), baseline.coordinates.len());
    if baseline.order > MOST_ORDER {
        refused(format!("an order from 0 to {MOST_ORDER}"), baseline.order)
    } else if channels != coordinates {
        refused(format!("{coordinates} chosen channels, one per coordinate"), channels)
    } else {
        Ok(())
    }
}

fn check_coordinates(coordinates: &[f64], channels: u64) -> Result<(), Error> {
    if coordinates.len() as u64 != channels {
        refused(format!("{channels} coordinates, one per channel"), coordinates.len())
    } else if let Some(value) = coordinates.iter().find(|value| !value.is_finite()) {
        refused("finite coordinates", value)
    } else {
        Ok(())
    }
}
