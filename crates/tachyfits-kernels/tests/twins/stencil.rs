//! Smoothing against its twin.

use crate::content::{all_bits, tiers};
use crate::values::{single_bits, values};
use proptest::prelude::*;
use tachyfits_kernels::{
    BLOCK, Blanks, Blocks, Stencil, naive, smooth_blocks_f64, smooth_rows_big_endian_f32,
    smooth_rows_f32, smooth_rows_f64,
};

const POLICIES: [Blanks; 3] = [Blanks::Renormalise, Blanks::Propagate, Blanks::Zero];

/// Generates weights for smoothing, for differences, and arbitrary ones; an odd number of them.
fn weights() -> impl Strategy<Value = Vec<f64>> {
    let any = (0..25usize).prop_flat_map(|half| {
        prop::collection::vec(prop_oneof![-2.0..2.0f64, Just(0.0), Just(-0.0)], 2 * half + 1)
    });
    prop_oneof![
        Just(vec![0.25, 0.5, 0.25]),
        Just(vec![0.2; 5]),
        Just(vec![-1.0, 0.0, 1.0]),
        Just(vec![f64::INFINITY, 1.0, 1.0]),
        any,
    ]
}

/// Returns every policy with these weights.
fn stencils(weights: &[f64]) -> Vec<Stencil<'_>> {
    let mut result = Vec::new();
    for blanks in POLICIES {
        for fill in [false, true] {
            result.push(Stencil { weights, blanks, fill });
        }
    }
    result
}

/// Generates rows of equal length.
fn rows(count: usize) -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop_oneof![0..40usize, 0..400usize, 500..530usize]
        .prop_flat_map(move |pixels| prop::collection::vec(values(pixels), count))
}

fn weights_and_rows() -> impl Strategy<Value = (Vec<f64>, Vec<Vec<f64>>)> {
    weights().prop_flat_map(|weights| {
        let count = weights.len();
        (Just(weights), rows(count))
    })
}

proptest! {
    #![proptest_config(crate::content::cases(128))]

    #[test]
    fn smoothing_gives_the_bits_of_its_twin((weights, rows) in weights_and_rows()) {
        let singles: Vec<Vec<f32>> =
            rows.iter().map(|row| row.iter().map(|&x| x as f32).collect()).collect();
        let widened: Vec<Vec<f64>> =
            singles.iter().map(|row| row.iter().map(|&x| x.into()).collect()).collect();
        for stencil in stencils(&weights) {
            let doubles = naive::smooth_rows(&rows, &stencil);
            let rounded: Vec<f32> =
                naive::smooth_rows(&widened, &stencil).iter().map(|&x| x as f32).collect();
            for tier in tiers() {
                let slices: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
                let mut out = vec![1.0; rows[0].len()];
                smooth_rows_f64(&slices, &stencil, tier, &mut out);
                prop_assert_eq!(all_bits(&out), all_bits(&doubles), "{:?} {:?}", stencil, tier);
                let slices: Vec<&[f32]> = singles.iter().map(Vec::as_slice).collect();
                let mut out = vec![1.0; rows[0].len()];
                smooth_rows_f32(&slices, &stencil, tier, &mut out);
                prop_assert_eq!(single_bits(&out), single_bits(&rounded), "{:?} {:?}", stencil, tier);
                let stored: Vec<Vec<[u8; 4]>> =
                    singles.iter().map(|row| row.iter().map(|x| x.to_be_bytes()).collect()).collect();
                let slices: Vec<&[[u8; 4]]> = stored.iter().map(Vec::as_slice).collect();
                let mut out = vec![[1; 4]; rows[0].len()];
                smooth_rows_big_endian_f32(&slices, &stencil, tier, &mut out);
                let out: Vec<f32> = out.into_iter().map(f32::from_be_bytes).collect();
                prop_assert_eq!(single_bits(&out), single_bits(&rounded), "{:?} {:?}", stencil, tier);
            }
        }
    }

    /// Along a line, the rows are the line itself, shifted.
    #[test]
    fn rows_may_overlap(weights in weights(), line in values(49..300)) {
        let outputs = line.len() + 1 - weights.len();
        let slices: Vec<&[f64]> = (0..weights.len()).map(|shift| &line[shift..]).collect();
        let rows: Vec<Vec<f64>> =
            slices.iter().map(|row| row[..outputs].to_vec()).collect();
        for stencil in stencils(&weights) {
            let expected = naive::smooth_rows(&rows, &stencil);
            for tier in tiers() {
                let mut out = vec![1.0; outputs];
                smooth_rows_f64(&slices, &stencil, tier, &mut out);
                prop_assert_eq!(all_bits(&out), all_bits(&expected), "{:?} {:?}", stencil, tier);
            }
        }
    }
}

proptest! {
    #![proptest_config(crate::content::cases(128))]

    /// Blocks with any distance between the pixels of successive weights, stored with gaps.
    #[test]
    fn blocks_give_the_bits_of_rows(
        weights in weights(),
        (count, pitch, step, gap) in (0..5usize, 0..70usize, 0..40usize, 0..9usize),
        pixels in values(4 * 70 + 48 * 40 + BLOCK),
    ) {
        let out_pitch = BLOCK + gap;
        let blocks = Blocks { count, pitch, step, out_pitch };
        let begins = (0..count).map(|block| block * pitch);
        let rows: Vec<Vec<Vec<f64>>> = begins
            .map(|begin| {
                let row = |row| pixels[begin + row * step..][..BLOCK].to_vec();
                (0..weights.len()).map(row).collect()
            })
            .collect();
        let has_nan = rows.iter().flatten().flatten().any(|x| x.is_nan());
        for stencil in stencils(&weights) {
            let mut expected = vec![1.0; count * out_pitch];
            for (out, rows) in expected.chunks_exact_mut(out_pitch).zip(&rows) {
                out[..BLOCK].copy_from_slice(&naive::smooth_rows(rows, &stencil));
            }
            for tier in tiers() {
                let mut out = vec![1.0; count * out_pitch];
                let had_nan = smooth_blocks_f64(&pixels, blocks, &stencil, tier, &mut out);
                prop_assert_eq!(all_bits(&out), all_bits(&expected), "{:?} {:?}", stencil, tier);
                prop_assert!(had_nan || !has_nan);
            }
        }
    }
}

/// Explicit results of the policies, for an output next to an undefined pixel and for one that is itself undefined.
#[test]
fn policies_have_their_documented_effect() {
    let nan = f64::NAN;
    let rows = [vec![4.0, 4.0, nan, -0.0], vec![8.0, nan, nan, -0.0], vec![nan, 2.0, nan, -0.0]];
    let slices: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let cases = [
        (Blanks::Renormalise, false, [5.0 * (1.0 / 0.75), nan, nan, -0.0]),
        (Blanks::Renormalise, true, [5.0 * (1.0 / 0.75), 3.0, nan, -0.0]),
        (Blanks::Propagate, false, [nan, nan, nan, -0.0]),
        (Blanks::Propagate, true, [nan, nan, nan, -0.0]),
        (Blanks::Zero, false, [5.0, nan, nan, -0.0]),
        (Blanks::Zero, true, [5.0, 1.5, 0.0, -0.0]),
    ];
    for (blanks, fill, expected) in cases {
        let stencil = Stencil { weights: &[0.25, 0.5, 0.25], blanks, fill };
        for tier in tiers() {
            let mut out = [1.0; 4];
            smooth_rows_f64(&slices, &stencil, tier, &mut out);
            assert_eq!(all_bits(&out), all_bits(&expected), "{stencil:?} {tier:?}");
        }
    }
}

#[test]
#[should_panic(expected = "an odd number of rows")]
fn a_stencil_has_a_middle() {
    let stencil = Stencil { weights: &[0.5, 0.5], blanks: Blanks::Zero, fill: false };
    smooth_rows_f64(&[&[1.0], &[2.0]], &stencil, tiers()[0], &mut [0.0]);
}
