//! Native values for the kernels that take numbers instead of bytes.

use proptest::prelude::*;

/// Numbers on both sides of a limit: the ranges of integers, rounding, finite and normal numbers.
const EDGES: [f64; 26] = [
    0.0,
    -0.0,
    0.5,
    1.5,
    2.5,
    -0.5,
    -99.0,
    127.5,
    -128.5,
    157.0,
    255.5,
    32_767.5,
    -32_768.5,
    65_535.5,
    2_147_483_647.5,
    -2_147_483_648.5,
    4_294_967_295.5,
    4_503_599_627_370_495.5,
    9_007_199_254_740_993.0,
    9_223_372_036_854_775_808.0,
    -9_223_372_036_854_775_808.0,
    18_446_744_073_709_551_616.0,
    3.4028236e38,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
];

/// Kind of numbers.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Small numbers with a fraction, none NaN.
    Tame,
    /// Like `Tame`, with one NaN in eight numbers.
    Holes,
    /// Nearly all NaN.
    Sparse,
    /// Limits and their neighbours, infinities, NaN of any payload, arbitrary bits.
    Wild,
}

/// Generates one number of a kind.
fn value(kind: Kind) -> BoxedStrategy<f64> {
    let tame = (-2000..2000i32).prop_map(|x| f64::from(x) / 8.0);
    let nan = any::<u64>().prop_map(|bits| f64::from_bits(bits | 0x7ff8 << 48));
    let edge = (prop::sample::select(EDGES.to_vec()), -2..=2i64, any::<bool>());
    let edge = edge.prop_map(|(x, step, negative)| {
        let near = f64::from_bits(x.to_bits().saturating_add_signed(step));
        if negative { -near } else { near }
    });
    let infinite = prop::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY]);
    match kind {
        Kind::Tame => tame.boxed(),
        Kind::Holes => prop_oneof![7 => tame, 1 => nan].boxed(),
        Kind::Sparse => prop_oneof![1 => tame, 15 => nan].boxed(),
        Kind::Wild => {
            prop_oneof![2 => tame, 3 => edge, 1 => nan, 1 => infinite, 1 => any::<f64>()].boxed()
        }
    }
}

/// Generates a kind, mostly the usual ones.
pub fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Tame, Kind::Holes, Kind::Sparse, Kind::Wild, Kind::Wild])
}

/// Generates `count` numbers of any one kind.
pub fn values(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<f64>> {
    let count = count.into();
    kinds().prop_flat_map(move |kind| prop::collection::vec(value(kind), count.clone()))
}

/// Returns the bits of f32, with one pattern for all NaN.
pub fn single_bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}
