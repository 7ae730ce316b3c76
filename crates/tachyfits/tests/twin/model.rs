//! The twin of the statistics: definitions with exact sums.

use tachyfits::{Statistic, Stats, Values};
use tachyfits_kernels::{Encoding, Needs, OutputState, PixelType, StatisticValue};

use crate::common::exact_sum;

/// A set of pixels in order: linear index, and value or `None` if undefined.
pub type Pixels = Vec<(u64, Option<f64>)>;

/// Expected results for a set of pixels.
#[derive(Clone, Debug)]
pub struct Expected {
    pub count: u64,
    pub nan: u64,
    pub sum: f64,
    pub mean: f64,
    pub rms: f64,
    /// Sum of squared differences from the mean.
    squares: f64,
    /// Skewness and kurtosis; `None` if the pixels differ too little for significant digits.
    shape: Option<[f64; 2]>,
    pub min: Option<(f64, u64)>,
    pub max: Option<(f64, u64)>,
    pixels: Pixels,
    /// Sum of magnitudes, which bounds rounding errors of sums.
    magnitude: f64,
    largest: f64,
}

impl Expected {
    pub fn of(pixels: &Pixels) -> Expected {
        let good: Vec<f64> = pixels.iter().filter_map(|pixel| pixel.1).collect();
        let n = good.len() as f64;
        let finite = good.iter().all(|x| x.is_finite());
        let sum = if finite { exact_sum(good.clone()) } else { good.iter().sum() };
        let mean = sum / n;
        // The mean in twice the precision makes the differences exact to the last bit.
        let correction = exact_sum(good.iter().copied().chain([-mean; 1].repeat(good.len()))) / n;
        let squares = exact_sum(good.iter().map(|x| ((x - mean) - correction).powi(2)));
        let moment = |power: i32| {
            exact_sum(
                good.iter()
                    .map(|x| ((x - mean) - correction).powi(power))
                    .filter(|x| x.is_finite()),
            ) / n
        };
        let largest = good.iter().fold(0.0f64, |a, x| a.max(x.abs()));
        let spread = moment(2).sqrt();
        let is_clear = finite && largest < 1e70 && spread > 1e-70 && spread > 1e-5 * largest;
        let shape =
            is_clear.then(|| [moment(3) / spread.powi(3), moment(4) / spread.powi(4) - 3.0]);
        let rms = (exact_sum(good.iter().map(|x| x * x)) / n).sqrt();
        Expected {
            count: good.len() as u64,
            nan: (pixels.len() - good.len()) as u64,
            sum,
            mean,
            rms: if finite { rms } else { f64::INFINITY },
            shape,
            squares: if finite { squares } else { f64::NAN },
            min: first(pixels, |x, best| x < best),
            max: first(pixels, |x, best| x > best),
            pixels: pixels.clone(),
            magnitude: good.iter().map(|x| x.abs()).sum(),
            largest,
        }
    }

    /// Returns the state of all pixels as one line.
    fn twin(&self) -> OutputState {
        let values = self.pixels.iter().map(|pixel| pixel.1.unwrap_or(f64::NAN));
        let bytes: Vec<u8> = values.flat_map(f64::to_be_bytes).collect();
        OutputState::naive(&bytes, &Encoding::plain(PixelType::F64), 0)
    }

    fn std(&self, ddof: u64) -> f64 {
        if self.count <= ddof {
            f64::NAN
        } else {
            (self.squares / (self.count - ddof) as f64).sqrt()
        }
    }

    /// Checks a complete state.
    pub fn check(&self, stats: &Stats) {
        let mut state = OutputState::default();
        state.stats = *stats;
        for statistic in Statistic::ALL {
            if Needs::of(&[*statistic]).has_other_states() {
                continue;
            }
            for ddof in 0..3 {
                self.check_value(*statistic, ddof, value(&state, *statistic, ddof));
            }
        }
    }

    /// Checks output number `output` of a reduction.
    pub fn check_output(&self, statistic: Statistic, ddof: u64, values: &Values, output: usize) {
        let value = match values {
            Values::Integers(values) => values[output] as f64,
            Values::Floats(values) => values[output],
        };
        self.check_value(statistic, ddof, value);
    }

    fn check_value(&self, statistic: Statistic, ddof: u64, value: f64) {
        // Exact, except for rounding errors of sums with cancelling terms.
        let (expected, slack) = match statistic.name() {
            "skewness" | "kurtosis" => match self.shape {
                Some([skewness, _]) if statistic.name() == "skewness" => (skewness, 1e-8),
                Some([_, kurtosis]) => (kurtosis, 1e-8),
                None => return,
            },
            "count" => (self.count as f64, 0.0),
            "nan" => (self.nan as f64, 0.0),
            "sum" if self.count == 0 => (f64::NAN, 0.0),
            "sum" => (self.sum, 1e-14 * self.magnitude),
            "mean" => (self.mean, 1e-14 * self.magnitude / self.count as f64),
            "rms" => (self.rms, 1e-14 * self.largest),
            "std" => (self.std(ddof), 1e-14 * self.largest),
            "min" => return check_bits(self.min, value),
            "max" => return check_bits(self.max, value),
            "min_position" => (self.min.map_or(-1.0, |min| min.1 as f64), 0.0),
            "max_position" => (self.max.map_or(-1.0, |max| max.1 as f64), 0.0),
            // The state of all pixels at once, from the twin of the register.
            _ => (self::value(&self.twin(), statistic, ddof), 1e-14 * self.largest),
        };
        let relative = if slack == 0.0 { 0.0 } else { 1e-12 };
        let what = format!("{} of {self:?}", statistic.name());
        check_close(value, expected, relative, slack, &what);
    }
}

fn value(state: &OutputState, statistic: Statistic, ddof: u64) -> f64 {
    match state.value(statistic, ddof) {
        StatisticValue::Integer(value) => value as f64,
        StatisticValue::Float(value) => value,
    }
}

/// Checks that a number is within a relative plus an absolute error; NaN and infinities must be equal.
pub fn check_close(value: f64, expected: f64, relative: f64, slack: f64, what: &str) {
    let close = (value - expected).abs() <= relative * expected.abs() + slack;
    let same = value == expected || (value.is_nan() && expected.is_nan());
    assert!(same || close && expected.is_finite(), "{value:e} instead of {expected:e}: {what}");
}

/// An extreme is the value of a pixel, including the sign of zero.
fn check_bits(expected: Option<(f64, u64)>, value: f64) {
    match expected {
        Some((expected, _)) => assert_eq!(value.to_bits(), expected.to_bits()),
        None => assert!(value.is_nan()),
    }
}

fn first(pixels: &Pixels, beats: impl Fn(f64, f64) -> bool) -> Option<(f64, u64)> {
    let mut best: Option<(f64, u64)> = None;
    for &(position, value) in pixels {
        if let Some(x) = value
            && best.is_none_or(|best| beats(x, best.0))
        {
            best = Some((x, position));
        }
    }
    best
}
