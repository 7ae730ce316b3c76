//! Order statistics against their twins, and keys against the order of values.

use crate::content::{all_bits, contents, tiers};
use proptest::prelude::*;
use tachyfits_kernels::{
    CellCounts, Cells, Encoding, KeyBins, KeyCuts, PixelType, deviate, key_of, naive, split,
    value_of_key,
};

/// Returns a bound: one of the values, a number among them, or an infinity.
fn bound(values: &[f64], choice: u64) -> f64 {
    let any = values.get(choice as usize % values.len().max(1)).copied();
    let among = any.filter(|x| !x.is_nan()).unwrap_or(0.0);
    match choice >> 32 & 7 {
        0 => f64::NEG_INFINITY,
        1 => f64::INFINITY,
        2 => among * 1.001,
        _ => among,
    }
}

proptest! {
    #![proptest_config(crate::content::cases(64))]

    #[test]
    fn order_loops_give_what_their_twins_give(
        content in contents(1),
        choices in any::<[u64; 2]>(),
        most in 2..5000usize,
    ) {
        for pixel in [PixelType::F64, PixelType::F32, PixelType::I16] {
            let encoding = Encoding::plain(pixel);
            let values = naive::decode_f64(&content.bytes(&encoding), &encoding);
            let ends = choices.map(|choice| bound(&values, choice));
            let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            let (counts, between) = naive::split(&values, (low, high));
            let bins = KeyBins::covering(key_of(low), key_of(high), most);
            prop_assert!(bins.bins <= most);
            let in_bins = naive::key_counts(&values, &bins);
            let mut firsts: Vec<u64> =
                values.iter().step_by(3).filter(|x| !x.is_nan()).map(|&x| key_of(x)).collect();
            firsts.extend([bins.first, key_of(high).saturating_add(1)]);
            firsts.sort_unstable();
            let cuts = KeyCuts::new(firsts.clone());
            for key in values.iter().map(|&x| key_of(x)).chain([0, 1, u64::MAX]).chain(choices) {
                prop_assert_eq!(cuts.piece(key), naive::key_piece(&firsts, key));
            }
            let density = if high > low { most as f64 / (high - low) } else { 1.0 };
            let cells = Cells { low, density, cells: most };
            let in_cells = naive::cell_counts(&values, &cells);
            for tier in tiers() {
                let mut result = vec![-1.0];
                prop_assert_eq!(split(&values, (low, high), tier, Some(&mut result)), counts);
                prop_assert_eq!(all_bits(&result[1..]), all_bits(&between));
                prop_assert_eq!(split(&values, (low, high), tier, None), counts);
                let mut bin_counts = vec![0; bins.bins + 3];
                bins.count(&values, tier, &mut bin_counts);
                prop_assert_eq!(&bin_counts, &in_bins);
                let mut counter = CellCounts::default();
                counter.reset(most).unwrap();
                counter.count(&values, &cells, tier);
                prop_assert_eq!(counter.cells().collect::<Vec<_>>(), in_cells.clone());
                let mut distances = values.clone();
                deviate(&mut distances, low, tier);
                prop_assert_eq!(all_bits(&distances), all_bits(&naive::deviations(&values, low)));
            }
        }
    }

    #[test]
    fn keys_have_the_order_of_values(bits in any::<[u64; 2]>()) {
        let [a, b] = bits.map(f64::from_bits);
        if a.is_nan() || b.is_nan() {
            return Ok(());
        }
        prop_assert_eq!(a.partial_cmp(&b), Some(key_of(a).cmp(&key_of(b))));
        prop_assert_eq!(value_of_key(key_of(a)).to_bits(), (a + 0.0).to_bits());
    }
}

#[test]
fn keys_of_nan_lie_beyond_those_of_the_infinities() {
    assert_eq!(key_of(-0.0), key_of(0.0));
    assert!(key_of(f64::NAN.copysign(1.0)) > key_of(f64::INFINITY));
    assert!(key_of(f64::NAN.copysign(-1.0)) < key_of(f64::NEG_INFINITY));
}

#[test]
fn merged_cells_are_those_of_all_values() {
    let cells = Cells { low: 0.0, density: 1.0, cells: 4 };
    let count = |values: &[f64]| {
        let mut counts = CellCounts::default();
        counts.reset(4).unwrap();
        counts.count(values, &cells, tiers()[0]);
        counts
    };
    let mut merged = count(&[0.0, 1.0, 1.0]);
    merged.merge(&count(&[1.0, 3.0]));
    assert_eq!(merged.cells().collect::<Vec<_>>(), [1, 3, 0, 1]);
}

/// The counters in use have 32 bits.
#[test]
fn counts_go_on_where_those_of_32_bits_end() {
    let cells = Cells { low: 0.0, density: 1.0, cells: 3 };
    for tier in tiers() {
        let mut counts = CellCounts::default();
        counts.reset(3).unwrap();
        counts.count(&[0.0, 1.0, 1.0, 1.0, f64::NAN], &cells, tier);
        for doubled in 1..=40 {
            let other = counts.clone();
            counts.merge(&other);
            assert_eq!(counts.cells().collect::<Vec<_>>(), [1 << doubled, 3 << doubled, 0]);
        }
        counts.count(&[2.0; 7], &cells, tier);
        assert_eq!(counts.cells().collect::<Vec<_>>(), [1 << 40, 3 << 40, 7]);
        counts.reset(3).unwrap();
        assert_eq!(counts.cells().collect::<Vec<_>>(), [0; 3]);
    }
}
