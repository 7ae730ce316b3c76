//! Fits of spectra with known parameters, and equal bits on every tier.

use proptest::prelude::*;
use tachyfits_kernels::{
    BaselineFit, FitFlag, GaussianFit, GaussianModel, ParameterLimits, Tier, exponential,
};

const CHANNELS: usize = 70;

fn coordinates() -> Vec<f64> {
    (0..CHANNELS).map(|channel| 1.4e9 - 2.5e4 * channel as f64).collect()
}

fn model(components: usize, baseline: Option<usize>) -> GaussianModel {
    let limits = ParameterLimits {
        amplitude: [f64::NEG_INFINITY, f64::INFINITY],
        centre: [1.4e9 - 2.5e4 * 69.0, 1.4e9],
        sigma: [5e3, 8e5],
    };
    GaussianModel { components, baseline, limits, noise: None, iterations: 100 }
}

fn fitted(model: GaussianModel, spectrum: &[f64], tier: Tier) -> Vec<f64> {
    let mut results = Vec::new();
    let mut fit = GaussianFit::new(model, &coordinates(), tier).unwrap();
    fit.push(spectrum, &mut results);
    assert_eq!(results.len(), fit.outputs());
    results
}

fn line(amplitude: f64, centre: f64, sigma: f64) -> Vec<f64> {
    let value = |x: f64| amplitude * (-0.5 * ((x - centre) / sigma).powi(2)).exp();
    coordinates().into_iter().map(value).collect()
}

fn flag(results: &[f64]) -> f64 {
    results[results.len() - 1]
}

fn is_near(value: f64, expected: f64, share: f64) -> bool {
    (value - expected).abs() <= share * expected.abs()
}

#[test]
fn exponentials_are_exact_to_two_units() {
    for step in 0..200_000 {
        let number = -f64::from(step) * 0.0035;
        let (value, expected) = (exponential(number), number.exp());
        assert!(is_near(value, expected, 4.5e-16), "{number}: {value} {expected}");
    }
    assert_eq!(exponential(-708.5), 0.0);
    assert_eq!(exponential(f64::NEG_INFINITY), 0.0);
}

#[test]
fn several_lines_on_a_baseline_are_found() {
    let truth = [(3.0, 1.4e9 - 4e5, 5e4), (-2.0, 1.4e9 - 9e5, 8e4), (1.0, 1.4e9 - 1.3e6, 4e4)];
    let mut spectrum = vec![0.5; CHANNELS];
    for (amplitude, centre, sigma) in truth {
        spectrum.iter_mut().zip(line(amplitude, centre, sigma)).for_each(|(sum, x)| *sum += x);
    }
    let results = fitted(model(3, Some(0)), &spectrum, Tier::current());
    assert_eq!(flag(&results), 0.0);
    for (number, (amplitude, centre, sigma)) in truth.into_iter().enumerate() {
        let of_line = &results[number * 8..];
        assert!(is_near(of_line[0], amplitude, 1e-8), "{of_line:?}");
        assert!(is_near(of_line[2], centre, 1e-12), "{of_line:?}");
        assert!(is_near(of_line[4], sigma, 1e-8), "{of_line:?}");
        let area = amplitude * sigma * (2.0 * std::f64::consts::PI).sqrt();
        assert!(is_near(of_line[6], area, 1e-8), "{of_line:?}");
    }
    assert!(is_near(results[24], 0.5, 1e-8));
}

#[test]
fn hostile_spectra_have_a_flag_and_no_numbers() {
    let good = line(2.0, 1.4e9 - 8e5, 6e4);
    let few: Vec<f64> =
        good.iter().enumerate().map(|(n, x)| if n < 3 { *x } else { f64::NAN }).collect();
    let mut infinite = good.clone();
    infinite[5] = f64::NEG_INFINITY;
    let cases = [
        (vec![f64::NAN; CHANNELS], FitFlag::FewChannels),
        (few, FitFlag::FewChannels),
        (infinite, FitFlag::Infinite),
        (vec![0.0; CHANNELS], FitFlag::Undetermined),
        (vec![7.0; CHANNELS], FitFlag::Limit),
    ];
    for (spectrum, expected) in cases {
        let results = fitted(model(1, None), &spectrum, Tier::current());
        assert_eq!(flag(&results), f64::from(expected as u8));
        assert!(results[..9].iter().all(|number| number.is_nan()));
    }
    let constant = fitted(model(1, Some(1)), &[7.0; CHANNELS], Tier::current());
    assert_eq!(flag(&constant), f64::from(FitFlag::Undetermined as u8));
}

#[test]
fn scale_does_not_matter() {
    let usual = fitted(model(1, None), &line(1.0, 1.4e9 - 8e5, 6e4), Tier::current());
    for size in [2f64.powi(1000), 2f64.powi(-1000), -2f64.powi(300)] {
        let spectrum = line(size, 1.4e9 - 8e5, 6e4);
        let results = fitted(model(1, None), &spectrum, Tier::current());
        assert_eq!(flag(&results), 0.0);
        assert!(is_near(results[0] / size, usual[0], 1e-9));
        assert_eq!(results[2], usual[2]);
    }
}

proptest! {
    #[test]
    fn every_tier_has_the_same_bits(
        noise in prop::collection::vec(-0.3f64..0.3, CHANNELS), centre in 10.0f64..60.0,
        undefined in 0usize..CHANNELS, components in 1usize..4,
    ) {
        let mut spectrum = line(2.0, 1.4e9 - 2.5e4 * centre, 6e4);
        spectrum.iter_mut().zip(noise).for_each(|(value, noise)| *value += noise);
        spectrum[undefined] = f64::NAN;
        let bits = |results: &[f64]| results.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let expected = bits(&fitted(model(components, Some(1)), &spectrum, Tier::SCALAR));
        let channels = [true; CHANNELS];
        let baseline = |tier| {
            let mut fit = BaselineFit::new(4, &coordinates(), &channels, tier).unwrap();
            let mut results = Vec::new();
            fit.push(&spectrum, Some(0.1), &mut results);
            bits(&results)
        };
        for tier in Tier::available() {
            let result = bits(&fitted(model(components, Some(1)), &spectrum, tier));
            prop_assert_eq!(&result, &expected);
            prop_assert_eq!(baseline(tier), baseline(Tier::SCALAR));
        }
    }

    #[test]
    fn baselines_of_polynomials_are_these(
        coefficients in prop::collection::vec(-2.0f64..2.0, 10), undefined in 0usize..CHANNELS
    ) {
        let middle = coordinates()[CHANNELS / 2];
        let value = |x: f64| coefficients.iter().rev().fold(0.0, |sum, c| sum * (x - middle) / 8.75e5 + c);
        let mut spectrum: Vec<f64> = coordinates().into_iter().map(value).collect();
        spectrum[undefined] = f64::NAN;
        let mut fit = BaselineFit::new(9, &coordinates(), &[true; CHANNELS], Tier::current()).unwrap();
        let mut results = Vec::new();
        fit.push(&spectrum, None, &mut results);
        for (power, coefficient) in coefficients.iter().enumerate() {
            let result = results[2 * power] * 8.75e5f64.powi(power as i32);
            prop_assert!((result - coefficient).abs() < 1e-9, "{} {}", result, coefficient);
        }
    }
}
