//! Reductions across rows against their twins.

use crate::content::{Content, Shifted, all_bits, any_scaling, bits, contents, encodings, tiers};
use proptest::prelude::*;
use tachyfits_kernels::{
    Common, Encoding, ExtremaRows, MomentRows, Needs, PixelType, Reduction, ReductionRows, Shape,
    SpectralRows, Statistic, SumRows, Tier, naive,
};

/// A few rows with the same number of pixels each.
#[derive(Clone, Debug)]
struct Slab {
    content: Content,
    rows: u64,
}

fn slabs() -> impl Strategy<Value = Slab> {
    // Kernels process 512 outputs together.
    let pixels = prop_oneof![0..40usize, 510..515usize, 1022..1027usize, 0..3000usize];
    (contents(1), pixels, 0..12u64).prop_map(|(mut content, pixels, rows)| {
        content.pixels = pixels;
        Slab { content, rows }
    })
}

impl Slab {
    fn rows(&self, encoding: &Encoding) -> Vec<Shifted> {
        (0..self.rows)
            .map(|row| {
                let seed = self.content.seed.wrapping_add(row.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                Content { seed, ..self.content.clone() }.bytes(encoding)
            })
            .collect()
    }

    fn outputs(&self) -> usize {
        self.content.pixels
    }
}

/// Runs `check` with the rows of a slab, for every encoding and tier.
fn for_each(
    slab: &Slab,
    scaling: usize,
    check: impl Fn(&[&[u8]], &Encoding, Tier) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for encoding in encodings(scaling) {
        let rows = slab.rows(&encoding);
        let rows: Vec<&[u8]> = rows.iter().map(|row| &**row).collect();
        for tier in tiers() {
            check(&rows, &encoding, tier)?;
        }
    }
    Ok(())
}

/// Returns the outputs of the twin, which returns none if there are no rows.
fn padded<T: Copy>(empty: T, slab: &Slab, mut twin: Vec<T>) -> Vec<T> {
    twin.resize(slab.outputs(), empty);
    twin
}

#[test]
fn pixels_that_differ_after_the_first_rows_have_no_common_value() {
    const HOLE: f32 = f32::NAN;
    // Outputs as columns; more than one vector has lanes.
    let outputs =
        [[5.0; 6], [5.0, 5.0, 5.0, 5.0, 5.0, 6.0], [HOLE, HOLE, HOLE, HOLE, HOLE, 7.0], [HOLE; 6]];
    let expected = [Common::Value(5.0), Common::Different, Common::Value(7.0), Common::Unknown];
    let row = |row: usize| -> Vec<u8> {
        (0..20).flat_map(|output: usize| outputs[output % 4][row].to_be_bytes()).collect()
    };
    let rows: Vec<Vec<u8>> = (0..6).map(row).collect();
    let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
    for tier in tiers() {
        let sums = SumRows::slab(20, &rows, &Encoding::plain(PixelType::F32), tier);
        for output in 0..20 {
            assert_eq!(sums.common(output), expected[output % 4], "output {output} {tier:?}");
        }
    }
}

proptest! {
    #![proptest_config(crate::content::cases(24))]

    #[test]
    fn sum_rows_give_the_bits_of_their_twin(slab in slabs(), scaling in any_scaling()) {
        for_each(&slab, scaling, |rows, encoding, tier| {
            let state = SumRows::slab(slab.outputs(), rows, encoding, tier);
            let twin = padded((0, 0.0), &slab, naive::sum_rows(rows, encoding));
            let common = padded(Common::Unknown, &slab, naive::common_rows(rows, encoding));
            for (output, &(count, sum)) in twin.iter().enumerate() {
                prop_assert_eq!(state.count()[output], count, "{:?} {:?}", encoding, tier);
                prop_assert_eq!(bits(state.sum()[output]), bits(sum), "{:?} {:?}", encoding, tier);
                // Infinite pixels count as different, and small integers are not compared, because
                // neither needs the common value.
                if let Common::Value(value) = state.common(output) {
                    prop_assert_eq!(Common::Value(value), common[output], "{:?}", encoding);
                } else if let Common::Value(value) = common[output] {
                    let exact = !encoding.pixel.is_float() && encoding.scaling.is_none();
                    prop_assert!(value.is_infinite() || exact, "{:?} {}", encoding, value);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn moment_slabs_give_the_bits_of_their_twin_and_merge_as_it_does(
        slab in slabs(),
        cut in 0.0..1.0f64,
        scaling in any_scaling(),
    ) {
        let outputs = slab.outputs();
        for_each(&slab, scaling, |rows, encoding, tier| {
            let (first, second) = rows.split_at((cut * rows.len() as f64) as usize);
            let mut state = MomentRows::new(outputs);
            let mut twin: Option<Vec<naive::Moments>> = None;
            for rows in [first, second] {
                state.merge(&MomentRows::slab(outputs, rows, encoding, tier));
                let later = naive::moment_slab(rows, encoding);
                match &mut twin {
                    _ if rows.is_empty() => {}
                    None => twin = Some(later),
                    Some(twin) => twin.iter_mut().zip(&later).for_each(|(a, b)| a.merge(b)),
                }
            }
            let squares: Vec<f64> = state.squares().collect();
            for (output, twin) in twin.unwrap_or_default().iter().enumerate() {
                let result = (state.sums().count()[output], bits(state.sums().sum()[output]));
                prop_assert_eq!(result, (twin.count, bits(twin.sum)), "{:?} {:?}", encoding, tier);
                let result = [state.center()[output], squares[output]].map(bits);
                let squares = if twin.squares < 0.0 { 0.0 } else { twin.squares };
                prop_assert_eq!(result, [twin.center.high, squares].map(bits), "{:?} {:?}", encoding, tier);
            }
            Ok(())
        })?;
    }

    #[test]
    fn registered_reductions_of_rows_give_the_bits_of_their_twins(
        slab in slabs(),
        scaling in any_scaling(),
    ) {
        let needs = Needs::of(Statistic::ALL);
        for_each(&slab, scaling, |rows, encoding, tier| {
            let states = ReductionRows::slab(&needs, slab.outputs(), rows, encoding, tier);
            if !rows.is_empty() {
                let expected = ReductionRows::naive(rows, encoding);
                // Compared as text, because NaN equals NaN there.
                prop_assert_eq!(format!("{states:?}"), format!("{expected:?}"), "{:?} {:?}", encoding, tier);
            }
            Ok(())
        })?;
    }

    #[test]
    fn shape_rows_are_those_of_each_output_alone(slab in slabs(), scaling in any_scaling()) {
        let outputs = slab.outputs();
        for_each(&slab, scaling, |rows, encoding, tier| {
            let states = Shape::slab(outputs, rows, encoding, tier);
            for output in 0..outputs {
                let pixels = rows.iter().map(|row| {
                    let bytes = encoding.pixel_bytes();
                    naive::decode_f64(&row[output * bytes..(output + 1) * bytes], encoding)[0]
                });
                let good: Vec<f64> = pixels.filter(|x| !x.is_nan()).collect();
                let n = good.len() as f64;
                let result = &states[output];
                prop_assert_eq!(result.count, good.len() as u64);
                let size = good.iter().fold(0.0f64, |size, x| size.max(x.abs()));
                if good.is_empty() || !size.is_finite() {
                    continue;
                }
                // A power of two, as a unit in which nothing overflows.
                let unit = f64::from_bits(size.max(f64::MIN_POSITIVE).to_bits() & (0x7ff << 52));
                let (good, size): (Vec<f64>, f64) =
                    (good.iter().map(|x| x / unit).collect(), size / unit);
                let mean = good.iter().sum::<f64>() / n;
                let moment = |power: i32| good.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
                prop_assert!((result.mean() / unit - mean).abs() <= 1e-13 * size);
                let spread = moment(2).sqrt();
                if spread > 1e-6 * size {
                    let skewness = moment(3) / spread.powi(3);
                    let kurtosis = moment(4) / spread.powi(4) - 3.0;
                    prop_assert!((result.skewness() - skewness).abs() < 1e-6, "{} {}", result.skewness(), skewness);
                    prop_assert!((result.kurtosis() - kurtosis).abs() < 1e-6, "{} {}", result.kurtosis(), kurtosis);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn extrema_rows_give_the_bits_of_their_twin_and_merge(
        slab in slabs(),
        cut in 0.0..1.0f64,
        scaling in any_scaling(),
    ) {
        const NONE: naive::Extrema = naive::Extrema {
            min: f64::NAN,
            min_row: ExtremaRows::NO_ROW,
            max: f64::NAN,
            max_row: ExtremaRows::NO_ROW,
        };
        for_each(&slab, scaling, |rows, encoding, tier| {
            let cut = (cut * rows.len() as f64) as usize;
            let numbers: Vec<u64> = (70..70 + rows.len() as u64).collect();
            let pieces = [(&rows[..cut], &numbers[..cut]), (&rows[cut..], &numbers[cut..])];
            let [mut state, later] = pieces.map(|(rows, numbers)| {
                ExtremaRows::slab(slab.outputs(), rows, numbers, encoding, tier)
            });
            state.merge(&later);
            let twin = padded(NONE, &slab, naive::extrema_rows(rows, encoding, 70));
            for (output, twin) in twin.iter().enumerate() {
                let min = (bits(state.min()[output]), state.min_row()[output]);
                let max = (bits(state.max()[output]), state.max_row()[output]);
                prop_assert_eq!(min, (bits(twin.min), twin.min_row), "{:?} {:?}", encoding, tier);
                prop_assert_eq!(max, (bits(twin.max), twin.max_row), "{:?} {:?}", encoding, tier);
            }
            Ok(())
        })?;
    }

    #[test]
    fn spectral_slabs_give_the_bits_of_their_twin_and_merge(
        slab in slabs(),
        cut in 0.0..1.0f64,
        scaling in any_scaling(),
        u in prop::collection::vec(
            prop_oneof![4 => -1e3..1e3f64, 1 => prop::sample::select(vec![0.0, -0.0, f64::INFINITY])],
            12,
        ),
    ) {
        for_each(&slab, scaling, |rows, encoding, tier| {
            let outputs = slab.outputs();
            let cut = (cut * rows.len() as f64) as usize;
            let pieces = [(&rows[..cut], &u[..cut]), (&rows[cut..], &u[cut..rows.len()])];
            let states = pieces.map(|(rows, u)| SpectralRows::slab(outputs, rows, u, encoding, tier));
            let [mut state, later] = states;
            let twins = pieces.map(|(rows, u)| naive::spectral_rows(rows, encoding, u));
            let [twin, later_twin] = twins.map(|twin| padded((0, [0.0; 3]), &slab, twin));
            state.merge(&later);
            for (output, (first, second)) in twin.iter().zip(&later_twin).enumerate() {
                let result = [0, 1, 2].map(|power| state.sum(power)[output]);
                let sums = [0, 1, 2].map(|power| first.1[power] + second.1[power]);
                let count = first.0 + second.0;
                prop_assert_eq!(state.count()[output], count, "{:?} {:?}", encoding, tier);
                prop_assert_eq!(all_bits(&result), all_bits(&sums), "{:?} {:?}", encoding, tier);
            }
            Ok(())
        })?;
    }
}
