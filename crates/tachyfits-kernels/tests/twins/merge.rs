//! States that are computed in parts and merged.

use crate::content::{bits, contents, tiers};
use proptest::prelude::*;
use tachyfits_kernels::{
    Encoding, Extremum, Histogram, HistogramRange, LEAF_PIXELS, PixelType, Stats, Sum,
};

fn extremum_bits(result: Option<Extremum>) -> Option<(u64, u64)> {
    result.map(|extremum| (bits(extremum.value), extremum.position))
}

proptest! {
    #![proptest_config(crate::content::cases(64))]

    /// Counts and comparisons do not depend on the split of the pixels; sums and moments agree to
    /// rounding.
    #[test]
    fn stats_cut_at_leaves_merge_to_the_same_counts_and_extremes(
        content in contents(5),
        cuts in prop::collection::vec(0..6usize, 0..4),
        pixel in prop::sample::select(PixelType::ALL.to_vec()),
    ) {
        let encoding = Encoding { blank: Some(-99), ..Encoding::plain(pixel) };
        let bytes = content.bytes(&encoding);
        let tier = *tiers().last().unwrap();
        let mut whole = Stats::default();
        whole.accumulate(&bytes, &encoding, tier, 0);

        let mut ends: Vec<usize> =
            cuts.iter().map(|cut| (cut * LEAF_PIXELS).min(content.pixels)).collect();
        ends.push(content.pixels);
        ends.sort_unstable();
        let mut merged = Stats::default();
        let mut begin = 0;
        for end in ends {
            let mut part = Stats::default();
            let range = begin * pixel.bytes()..end * pixel.bytes();
            part.accumulate(&bytes[range], &encoding, tier, begin as u64);
            merged.merge(&part);
            begin = end;
        }
        prop_assert_eq!((merged.count, merged.nan), (whole.count, whole.nan));
        prop_assert_eq!(extremum_bits(merged.min), extremum_bits(whole.min));
        prop_assert_eq!(extremum_bits(merged.max), extremum_bits(whole.max));
        let close = |a: f64, b: f64, scale: f64| {
            bits(a) == bits(b) || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-13 * scale
        };
        let magnitude = [whole.min, whole.max].iter().flatten().map(|e| e.value.abs()).fold(0.0, f64::max);
        if (magnitude * magnitude * 1e6).is_finite() {
            prop_assert!(close(merged.mean(), whole.mean(), magnitude));
            prop_assert!(close(merged.std(0), whole.std(0), magnitude));
        }
    }

    /// Calls on consecutive whole leaves equal one call: the block size does not affect the result.
    #[test]
    fn accumulating_leaf_by_leaf_gives_the_same_bits(content in contents(4)) {
        let encoding = Encoding::plain(PixelType::F32);
        let bytes = content.bytes(&encoding);
        for tier in tiers() {
            let (mut whole, mut parts) = (Stats::default(), Stats::default());
            let (mut sum, mut sums) = (Sum::default(), Sum::default());
            whole.accumulate(&bytes, &encoding, tier, 5);
            sum.accumulate(&bytes, &encoding, tier);
            for (index, leaf) in bytes.chunks(LEAF_PIXELS * 4).enumerate() {
                parts.accumulate(leaf, &encoding, tier, (5 + index * LEAF_PIXELS) as u64);
                sums.accumulate(leaf, &encoding, tier);
            }
            prop_assert_eq!(
                format!("{:?}", crate::whole::stats_bits(&whole)),
                format!("{:?}", crate::whole::stats_bits(&parts))
            );
            prop_assert_eq!(bits(sum.sum.parts.high), bits(sums.sum.parts.high));
            prop_assert_eq!(bits(sum.sum.parts.low), bits(sums.sum.parts.low));
            prop_assert_eq!((bits(sum.sum.parts.high), bits(sum.sum.parts.low)), (bits(whole.sum.parts.high), bits(whole.sum.parts.low)));
        }
    }

    #[test]
    fn histograms_of_parts_add_up(content in contents(2), cut in 0.0..=1.0f64) {
        let encoding = Encoding::plain(PixelType::F64);
        let bytes = content.bytes(&encoding);
        let cut = (cut * content.pixels as f64) as usize * 8;
        let range = HistogramRange::new(-500.0, 500.0, 64).unwrap().unwrap();
        let tier = *tiers().last().unwrap();
        let count = |bytes: &[u8]| {
            let mut histogram = Histogram::new(range.clone()).unwrap();
            histogram.accumulate(bytes, &encoding, tier);
            histogram
        };
        let whole = count(&bytes);
        let mut merged = count(&bytes[..cut]);
        prop_assert!(merged.merge(&count(&bytes[cut..])));
        prop_assert!(merged.counts().eq(whole.counts()));
        prop_assert_eq!(
            (merged.below(), merged.above(), merged.nan()),
            (whole.below(), whole.above(), whole.nan())
        );
        let total = whole.counts().sum::<u64>() + whole.below() + whole.above() + whole.nan();
        prop_assert_eq!(total, content.pixels as u64);
    }
}
