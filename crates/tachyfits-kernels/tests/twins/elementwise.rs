//! Elementwise arithmetic against its twins, and against Python and NumPy.

use crate::content::{all_bits, bits, tiers};
use crate::values::{single_bits, values};
use proptest::prelude::*;
use tachyfits_kernels::{
    Binary, Operand, Tier, Unary, binary, binary_reversed, naive, round_to_f32, select, unary,
    unify_nan,
};

/// Generates two or three arrays of the same length.
fn arrays(count: usize) -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop_oneof![0..40usize, 250..260usize, 0..700usize]
        .prop_flat_map(move |length| prop::collection::vec(values(length), count))
}

/// Applies the twin to pairs.
fn pairs(function: Binary, left: &[f64], right: &[f64]) -> Vec<u64> {
    left.iter().zip(right).map(|(&x, &y)| bits(naive::binary(function, x, y))).collect()
}

proptest! {
    #![proptest_config(crate::content::cases(128))]

    #[test]
    fn functions_of_one_number_are_those_of_the_twin(values in values(0..600), shift in 0..5usize) {
        let values = &values[shift.min(values.len())..];
        for function in Unary::ALL {
            let expected: Vec<u64> =
                values.iter().map(|&x| bits(naive::unary(function, x))).collect();
            for tier in tiers() {
                let mut result = values.to_vec();
                unary(function, &mut result, tier);
                prop_assert_eq!(&all_bits(&result), &expected, "{:?} {:?}", function, tier);
            }
        }
    }

    #[test]
    fn functions_of_two_numbers_are_those_of_the_twin(arrays in arrays(2), number in values(1)) {
        let (left, right) = (&arrays[0], &arrays[1]);
        let number = number[0];
        let repeated = vec![number; left.len()];
        for function in Binary::ALL {
            let both = pairs(function, left, right);
            let number_right = pairs(function, left, &repeated);
            let number_left = pairs(function, &repeated, left);
            for tier in tiers() {
                let mut result = left.clone();
                binary(function, &mut result, Operand::Slice(right), tier);
                prop_assert_eq!(&all_bits(&result), &both, "{:?} {:?}", function, tier);
                let mut result = right.clone();
                binary_reversed(function, Operand::Slice(left), &mut result, tier);
                prop_assert_eq!(&all_bits(&result), &both, "{:?} reversed {:?}", function, tier);
                let mut result = left.clone();
                binary(function, &mut result, Operand::Scalar(number), tier);
                prop_assert_eq!(&all_bits(&result), &number_right, "{:?} {} {:?}", function, number, tier);
                let mut result = left.clone();
                binary_reversed(function, Operand::Scalar(number), &mut result, tier);
                prop_assert_eq!(&all_bits(&result), &number_left, "{} {:?} {:?}", number, function, tier);
            }
        }
    }

    #[test]
    fn selections_are_those_of_the_twin(arrays in arrays(3), numbers in values(2)) {
        let length = arrays[0].len();
        let operand = |which: usize, scalar: bool| {
            if scalar { Operand::Scalar(numbers[which - 1]) } else { Operand::Slice(&arrays[which]) }
        };
        let at = |operand: Operand<'_>, index: usize| match operand {
            Operand::Scalar(number) => number,
            Operand::Slice(slice) => slice[index],
        };
        for scalars in 0..4 {
            let (then, otherwise) = (operand(1, scalars & 1 == 1), operand(2, scalars & 2 == 2));
            let expected: Vec<f64> = (0..length)
                .map(|index| {
                    naive::select(arrays[0][index], at(then, index), at(otherwise, index))
                })
                .collect();
            for tier in tiers() {
                let mut result = arrays[0].clone();
                select(&mut result, then, otherwise, tier);
                prop_assert_eq!(all_bits(&result), all_bits(&expected), "{:?}", tier);
            }
        }
    }

    #[test]
    fn every_nan_becomes_the_same(values in values(0..600)) {
        let unified = |&x: &f64| if x.is_nan() { f64::NAN } else { x };
        let expected: Vec<u64> = values.iter().map(|x| unified(x).to_bits()).collect();
        for tier in tiers() {
            let mut result = values.clone();
            unify_nan(&mut result, tier);
            let result: Vec<u64> = result.iter().map(|x| x.to_bits()).collect();
            prop_assert_eq!(&result, &expected, "{:?}", tier);
        }
    }

    #[test]
    fn rounding_to_f32_is_that_of_the_language(values in values(0..600)) {
        let expected: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        for tier in tiers() {
            let mut result = vec![1.0; values.len()];
            round_to_f32(&values, tier, &mut result);
            prop_assert_eq!(single_bits(&result), single_bits(&expected), "{:?}", tier);
        }
    }
}

/// `numpy.remainder`, `numpy.minimum` and others define results that other libraries define differently.
#[test]
fn results_agree_with_numpy() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let cases = [
        (Binary::Remainder, -7.0, 3.0, 2.0),
        (Binary::Remainder, 7.0, -3.0, -2.0),
        (Binary::Remainder, -6.0, 3.0, 0.0),
        (Binary::Remainder, 6.0, -3.0, -0.0),
        (Binary::Remainder, -1.0, inf, inf),
        (Binary::Remainder, 1.0, 0.0, nan),
        (Binary::FloorDivide, -7.0, 3.0, -3.0),
        (Binary::FloorDivide, 7.0, -3.0, -3.0),
        (Binary::FloorDivide, 1.0, 0.1, 9.0),
        (Binary::FloorDivide, -1.0, inf, -1.0),
        (Binary::FloorDivide, -0.0, 3.0, -0.0),
        (Binary::FloorDivide, 1.0, 0.0, inf),
        (Binary::FloorDivide, inf, 1.0, nan),
        (Binary::Minimum, nan, 1.0, nan),
        (Binary::Maximum, 1.0, nan, nan),
        (Binary::NotEqual, nan, nan, 1.0),
        (Binary::Equal, nan, nan, 0.0),
        (Binary::Less, nan, 1.0, 0.0),
        (Binary::And, nan, 1.0, 1.0),
        (Binary::Or, -0.0, nan, 1.0),
        (Binary::Power, -8.0, 2.0, 64.0),
        (Binary::Power, -8.0, 0.5, nan),
        (Binary::Power, nan, 0.0, 1.0),
        (Binary::Atan2, 1.0, -0.0, std::f64::consts::FRAC_PI_2),
    ];
    for (function, x, y, expected) in cases {
        let mut result = [x];
        binary(function, &mut result, Operand::Scalar(y), Tier::SCALAR);
        assert_eq!(bits(result[0]), bits(expected), "{function:?} {x} {y}");
    }
    let unary_cases = [(Unary::Not, nan, 0.0), (Unary::Not, -0.0, 1.0), (Unary::Round, 2.5, 2.0)];
    for (function, x, expected) in unary_cases {
        let mut result = [x];
        unary(function, &mut result, Tier::SCALAR);
        assert_eq!(bits(result[0]), bits(expected), "{function:?} {x}");
    }
}
