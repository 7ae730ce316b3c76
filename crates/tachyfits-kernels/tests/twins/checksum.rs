//! Checksums against their twin, known values, and the rule of the Standard.

use crate::content::tiers;
use proptest::prelude::*;
use tachyfits_kernels::{OnesComplement, Tier, add_words, encode_checksum, naive};

/// Returns the contribution of CHECKSUM's sixteen letters to the sum of an HDU: they begin three bytes into a word.
fn worth(letters: [u8; 16]) -> u32 {
    let plain = letters.map(|letter| letter - b'0');
    naive::ones_complement(3, &plain)
}

proptest! {
    #![proptest_config(crate::content::cases(256))]

    #[test]
    fn sums_are_those_of_the_twin_however_they_are_cut(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..3000),
            prop::collection::vec(prop::sample::select(vec![0u8, 255]), 0..100),
        ],
        offset in 0..9u64,
        cuts in prop::collection::vec(0.0..1.0f64, 0..4),
    ) {
        let expected = naive::ones_complement(offset, &bytes);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (cut * bytes.len() as f64) as usize).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        for tier in tiers() {
            let mut sum = OnesComplement::default();
            for cut in cuts.windows(2).rev() {
                let mut part = OnesComplement::default();
                part.accumulate(offset + cut[0] as u64, &bytes[cut[0]..cut[1]], tier);
                sum.merge(part);
            }
            prop_assert_eq!(sum.sum(), expected, "{:?}", tier);
        }
    }

    #[test]
    fn words_add_up_exactly(words in prop::collection::vec(any::<u32>(), 0..3000), shift in 0..9usize) {
        let mut bytes = vec![0; shift];
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        let exact = words.iter().map(|&word| u64::from(word)).sum::<u64>();
        for tier in tiers() {
            prop_assert_eq!(add_words(&bytes[shift..], tier), exact, "{:?}", tier);
        }
    }

    /// A sum and the letters of its complement add up to all ones, which readers check.
    #[test]
    fn letters_stand_for_the_number(sum in any::<u32>()) {
        for complement in [false, true] {
            let letters = encode_checksum(sum, complement);
            prop_assert!(letters.iter().all(u8::is_ascii_alphanumeric), "{:?}", letters);
            let mut whole = OnesComplement::from_sum(worth(letters));
            prop_assert_eq!(whole.sum(), if complement { !sum } else { sum });
            whole.merge(OnesComplement::from_sum(sum));
            prop_assert!(!complement || whole.sum() == u32::MAX);
        }
    }
}

/// The letters that CFITSIO and astropy write for these sums.
#[test]
fn known_letters() {
    let cases = [
        (868_229_149, true, "hcHjjc9ghcEghc9g"),
        (868_229_149, false, "7Bf889Z87Af877Z8"),
        (0, false, "0000000000000000"),
        (0, true, "orrrrooooooooooo"),
        (u32::MAX, true, "0000000000000000"),
        (2_503_531_142, true, "NLdAOJa2NJa9NJa9"),
        (0x1234_5678, true, "QleaTkbTQkbZQkbZ"),
    ];
    for (sum, complement, letters) in cases {
        let result = encode_checksum(sum, complement);
        assert_eq!(String::from_utf8_lossy(&result), letters, "{sum} {complement}");
    }
}

/// As in CFITSIO, a sum that comes back to zero is all ones, and a sum of zeros is zero.
#[test]
fn two_forms_of_zero() {
    let mut sum = OnesComplement::default();
    sum.accumulate(0, &[0; 2880], Tier::SCALAR);
    assert_eq!(sum.sum(), 0);
    sum.accumulate(0, &[255; 2880], Tier::SCALAR);
    assert_eq!(sum.sum(), u32::MAX);
    sum.accumulate(0, &[0; 2880], Tier::SCALAR);
    assert_eq!(sum.sum(), u32::MAX);
}
