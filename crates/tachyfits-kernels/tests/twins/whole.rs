//! Reductions of whole arrays against their twins.

use crate::content::{Content, any_scaling, bits, contents, encodings, tiers};
use proptest::prelude::*;
use tachyfits_kernels::{
    Compensated, Encoding, Extremum, Histogram, HistogramRange, Needs, OutputState, SpectralSum,
    Statistic, Stats, Sum, Total, naive,
};

fn parts(sum: Compensated) -> [u64; 2] {
    [bits(sum.high), bits(sum.low)]
}

fn total(sum: Total) -> ([u64; 2], bool) {
    (parts(sum.parts), sum.is_large)
}

/// Returns a sum in a form in which NaN equals NaN.
fn sum_bits(sum: &Sum) -> impl PartialEq + std::fmt::Debug {
    (sum.count, sum.nan, total(sum.sum), sum.common)
}

/// Returns full statistics in a form in which NaN equals NaN.
pub fn stats_bits(stats: &Stats) -> impl PartialEq + std::fmt::Debug {
    let extremum = |result: Option<Extremum>| result.map(|e| (bits(e.value), e.position));
    let moments = ([stats.center, stats.squares].map(parts), stats.unit);
    let moments = (total(stats.sum), moments);
    (stats.count, stats.nan, moments, extremum(stats.min), extremum(stats.max), stats.common)
}

fn check_sum(content: &Content, encoding: &Encoding) -> Result<(), TestCaseError> {
    let bytes = content.bytes(encoding);
    let expected = naive::sum(&bytes, encoding);
    for tier in tiers() {
        let mut sum = Sum::default();
        sum.accumulate(&bytes, encoding, tier);
        prop_assert_eq!(sum_bits(&sum), sum_bits(&expected), "{:?} {:?}", encoding, tier);
    }
    Ok(())
}

fn check_stats(content: &Content, encoding: &Encoding) -> Result<(), TestCaseError> {
    let bytes = content.bytes(encoding);
    let expected = naive::stats(&bytes, encoding, 1000);
    for tier in tiers() {
        let mut stats = Stats::default();
        stats.accumulate(&bytes, encoding, tier, 1000);
        prop_assert_eq!(stats_bits(&stats), stats_bits(&expected), "{:?} {:?}", encoding, tier);
    }
    Ok(())
}

/// Checks the states of all registered reductions.
fn check_registered(content: &Content, encoding: &Encoding) -> Result<(), TestCaseError> {
    let bytes = content.bytes(encoding);
    let mut expected = OutputState::naive(&bytes, encoding, 0);
    expected.stats = Stats::default();
    for tier in tiers() {
        let mut state = OutputState::default();
        state.accumulate(&Needs::of(Statistic::ALL), &bytes, encoding, tier, 0);
        state.stats = Stats::default();
        // Compared as text, because NaN equals NaN there.
        prop_assert_eq!(format!("{state:?}"), format!("{expected:?}"), "{:?} {:?}", encoding, tier);
    }
    Ok(())
}

fn check_histogram(
    content: &Content,
    encoding: &Encoding,
    range: &HistogramRange,
) -> Result<(), TestCaseError> {
    let bytes = content.bytes(encoding);
    let expected = naive::histogram(&bytes, encoding, range);
    for tier in tiers() {
        let mut histogram = Histogram::new(range.clone()).unwrap();
        histogram.accumulate(&bytes, encoding, tier);
        let result = naive::Counts {
            bins: histogram.counts().collect(),
            below: histogram.below(),
            above: histogram.above(),
            nan: histogram.nan(),
        };
        prop_assert_eq!(&result, &expected, "{:?} {:?}", encoding, tier);
    }
    Ok(())
}

/// Generates ranges wide and narrow, with one bin or many.
fn ranges() -> impl Strategy<Value = HistogramRange> {
    let ends = (-300.0..300.0f64, 1e-3..1e3f64, 1..400usize);
    let odd = prop::sample::select(vec![
        (0.0, 60.0, 60),
        (-1e300, 1e300, 7),
        (0.0, f64::MAX, 1),
        (1e-300, 2e-300, 3),
        (1e9, 1e9 + 1e-5, 13),
        (100.0, 115.0, 60),
    ]);
    prop_oneof![ends.prop_map(|(low, width, bins)| (low, low + width, bins)), odd].prop_map(
        |(low, high, bins)| {
            HistogramRange::new(low, high, bins)
                .unwrap()
                .unwrap_or_else(|| panic!("{low} {high} {bins}"))
        },
    )
}

proptest! {
    #![proptest_config(crate::content::cases(24))]

    #[test]
    fn sum_gives_the_bits_of_its_twin(content in contents(3), scaling in any_scaling()) {
        for encoding in encodings(scaling) {
            check_sum(&content, &encoding)?;
        }
    }

    #[test]
    fn registered_reductions_give_the_bits_of_their_twins(
        content in contents(3),
        scaling in any_scaling(),
    ) {
        for encoding in encodings(scaling) {
            check_registered(&content, &encoding)?;
        }
    }

    #[test]
    fn stats_give_the_bits_of_their_twin(content in contents(3), scaling in any_scaling()) {
        for encoding in encodings(scaling) {
            check_stats(&content, &encoding)?;
        }
    }

    #[test]
    fn spectral_sum_gives_the_bits_of_its_twin(
        content in contents(1),
        scaling in any_scaling(),
        first in prop::sample::select(vec![-3e5, 0.0, 1e-3, f64::INFINITY]),
    ) {
        let coordinates: Vec<f64> =
            (0..content.pixels).map(|index| first - 0.7 * index as f64).collect();
        for encoding in encodings(scaling) {
            let bytes = content.bytes(&encoding);
            let expected = naive::spectral_sum(&bytes, &encoding, &coordinates);
            for tier in tiers() {
                let mut state = SpectralSum::default();
                state.accumulate(&bytes, &encoding, tier, &coordinates);
                prop_assert_eq!(state.count, expected.count, "{:?} {:?}", encoding, tier);
                prop_assert_eq!(state.sums.map(bits), expected.sums.map(bits), "{:?} {:?}", encoding, tier);
            }
        }
    }

    #[test]
    fn histogram_counts_as_its_twin(
        content in contents(1),
        scaling in any_scaling(),
        range in ranges(),
    ) {
        for encoding in encodings(scaling) {
            check_histogram(&content, &encoding, &range)?;
        }
    }

    /// Pixels at edges and at the neighbouring f64, for which a rounded multiplication selects the wrong bin.
    #[test]
    fn histogram_is_right_at_its_edges(range in ranges()) {
        let near = |edge: &f64| [edge.next_down(), *edge, edge.next_up()];
        let values: Vec<f64> = range.edges().iter().flat_map(near).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes()).collect();
        let encoding = Encoding::plain(tachyfits_kernels::PixelType::F64);
        let expected = naive::histogram(&bytes, &encoding, &range);
        for tier in tiers() {
            let mut histogram = Histogram::new(range.clone()).unwrap();
            histogram.accumulate(&bytes, &encoding, tier);
            prop_assert_eq!(&histogram.counts().collect::<Vec<_>>(), &expected.bins, "{:?}", tier);
            prop_assert_eq!(histogram.below(), expected.below);
            prop_assert_eq!(histogram.above(), expected.above);
        }
    }
}

/// Rejects bins that f64 cannot distinguish: their counts would depend on rounding.
#[test]
fn histogram_refuses_bins_narrower_than_the_numbers() {
    assert!(HistogramRange::new(1e9, 1e9 + 1e-6, 100).unwrap().is_none());
    assert!(HistogramRange::new(1.0, 1.0f64.next_up(), 2).unwrap().is_none());
    assert!(HistogramRange::new(1.0, 1.0f64.next_up(), 1).unwrap().is_some());
    assert!(HistogramRange::new(0.0, f64::INFINITY, 2).unwrap().is_none());
    assert!(HistogramRange::new(f64::MIN, f64::MAX, 2).unwrap().is_none());
    assert!(HistogramRange::new(f64::NAN, 1.0, 2).unwrap().is_none());
    assert!(HistogramRange::new(0.0, 1.0, 0).unwrap().is_none());
}
