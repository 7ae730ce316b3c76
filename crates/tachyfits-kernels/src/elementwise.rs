//! Arithmetic on native f64, element by element. It evaluates expressions over cubes, block by block in cache.
//!
//! Results overwrite an operand, so that an expression needs as many blocks as it is deep. Truth
//! values are 1.0 and 0.0; as in NumPy, NaN is true, and a comparison with NaN is false except
//! `!=`. Vector code computes the operations of IEEE 754; exp, sin and similar functions are those
//! of the platform's mathematical library, the same on every tier.

#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

pub(crate) mod functions;

use crate::isa::{self, Kernel, Tier};
use functions::{Function, FunctionOfTwo, Reversed};
use std::marker::PhantomData;

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "most names are the documentation")]
pub enum Unary {
    Negate,
    /// 1.0 for 0.0 and -0.0, else 0.0, also for NaN.
    Not,
    Abs,
    Sqrt,
    Exp,
    /// The natural logarithm.
    Log,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Floor,
    Ceil,
    /// Rounds to the nearest integer, ties to even.
    Round,
    IsNan,
}

impl Unary {
    /// All functions.
    pub const ALL: [Unary; 20] = {
        use Unary::*;
        [
            Negate, Not, Abs, Sqrt, Exp, Log, Log10, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh,
            Tanh, Floor, Ceil, Round, IsNan,
        ]
    };
}

/// A function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "most names are the documentation")]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// Floor of the quotient, Python's `//`: quotient times divisor plus remainder gives the dividend.
    FloorDivide,
    /// The square is `x * x`, correctly rounded; other powers are those of the platform.
    Power,
    /// Has the sign of the divisor, as Python's `%`.
    Remainder,
    /// NaN if either operand is NaN.
    Minimum,
    /// NaN if either operand is NaN.
    Maximum,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
    /// Angle of the point (right, left), in radians.
    Atan2,
}

impl Binary {
    /// All functions.
    pub const ALL: [Binary; 18] = {
        use Binary::*;
        [
            Add,
            Subtract,
            Multiply,
            Divide,
            FloorDivide,
            Power,
            Remainder,
            Minimum,
            Maximum,
            Less,
            LessEqual,
            Greater,
            GreaterEqual,
            Equal,
            NotEqual,
            And,
            Or,
            Atan2,
        ]
    };
}

/// Second operand.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// One number for all elements.
    Scalar(f64),
    /// One number per element.
    Slice(&'a [f64]),
}

/// Length of the block that repeats a scalar operand: 2 KiB. One loop over slices serves both kinds of operands,
/// because a slice in the first-level cache costs next to nothing, and a second loop would double the compiled code.
const REPEATED: usize = 256;

impl Operand<'_> {
    /// Calls `each` with ranges that cover `count` elements, and the operand's elements in each range.
    #[inline(always)]
    fn for_each(self, count: usize, mut each: impl FnMut(std::ops::Range<usize>, &[f64])) {
        match self {
            Operand::Slice(slice) => {
                assert_eq!(slice.len(), count, "operands of the same length");
                each(0..count, slice);
            }
            Operand::Scalar(number) => {
                let repeated = [number; REPEATED];
                for at in (0..count).step_by(REPEATED) {
                    let end = count.min(at + REPEATED);
                    each(at..end, &repeated[..end - at]);
                }
            }
        }
    }
}

/// Replaces each value by its function value.
///
/// ```
/// use tachyfits_kernels::{Tier, Unary, unary};
/// let mut values = [4.0, 0.25];
/// unary(Unary::Sqrt, &mut values, Tier::SCALAR);
/// assert_eq!(values, [2.0, 0.5]);
/// ```
pub fn unary(function: Unary, values: &mut [f64], tier: Tier) {
    match function {
        Unary::Negate => map::<functions::Negate>(values, tier),
        Unary::Not => map::<functions::Not>(values, tier),
        Unary::Abs => map::<functions::Abs>(values, tier),
        Unary::Sqrt => map::<functions::Sqrt>(values, tier),
        Unary::Floor => map::<functions::Floor>(values, tier),
        Unary::Ceil => map::<functions::Ceil>(values, tier),
        Unary::Round => map::<functions::Round>(values, tier),
        Unary::IsNan => map::<functions::IsNan>(values, tier),
        Unary::Exp => call(values, f64::exp),
        Unary::Log => call(values, f64::ln),
        Unary::Log10 => call(values, f64::log10),
        Unary::Sin => call(values, f64::sin),
        Unary::Cos => call(values, f64::cos),
        Unary::Tan => call(values, f64::tan),
        Unary::Asin => call(values, f64::asin),
        Unary::Acos => call(values, f64::acos),
        Unary::Atan => call(values, f64::atan),
        Unary::Sinh => call(values, f64::sinh),
        Unary::Cosh => call(values, f64::cosh),
        Unary::Tanh => call(values, f64::tanh),
    }
}

/// Replaces each value of `left` by the function of it and the value of `right`.
///
/// ```
/// use tachyfits_kernels::{Binary, Operand, Tier, binary};
/// let mut left = [1.0, 2.0];
/// binary(Binary::Add, &mut left, Operand::Slice(&[10.0, 20.0]), Tier::SCALAR);
/// binary(Binary::Divide, &mut left, Operand::Scalar(2.0), Tier::SCALAR);
/// assert_eq!(left, [5.5, 11.0]);
/// ```
///
/// # Panics
/// If the operands have different lengths.
pub fn binary(function: Binary, left: &mut [f64], right: Operand<'_>, tier: Tier) {
    right.for_each(left.len(), |range, right| {
        let left = &mut left[range];
        match function {
            Binary::Add => zip::<functions::Add>(left, right, tier),
            Binary::Subtract => zip::<functions::Subtract>(left, right, tier),
            Binary::Multiply => zip::<functions::Multiply>(left, right, tier),
            Binary::Divide => zip::<functions::Divide>(left, right, tier),
            Binary::Minimum => zip::<functions::Minimum>(left, right, tier),
            Binary::Maximum => zip::<functions::Maximum>(left, right, tier),
            Binary::Less => zip::<functions::Less>(left, right, tier),
            Binary::LessEqual => zip::<functions::LessEqual>(left, right, tier),
            Binary::Greater => zip::<functions::Greater>(left, right, tier),
            Binary::GreaterEqual => zip::<functions::GreaterEqual>(left, right, tier),
            Binary::Equal => zip::<functions::Equal>(left, right, tier),
            Binary::NotEqual => zip::<functions::NotEqual>(left, right, tier),
            Binary::And => zip::<functions::And>(left, right, tier),
            Binary::Or => zip::<functions::Or>(left, right, tier),
            Binary::FloorDivide => call_two(left, right, functions::floor_divide),
            Binary::Power => call_two(left, right, functions::power),
            Binary::Remainder => call_two(left, right, functions::remainder),
            Binary::Atan2 => call_two(left, right, f64::atan2),
        }
    });
}

/// Replaces each value of `right` by the function of the value of `left` and itself: for expressions like `1 - x`.
///
/// # Panics
/// If the operands have different lengths.
pub fn binary_reversed(function: Binary, left: Operand<'_>, right: &mut [f64], tier: Tier) {
    left.for_each(right.len(), |range, left| {
        let right = &mut right[range];
        let mirrored = match function {
            Binary::Subtract => return zip::<Reversed<functions::Subtract>>(right, left, tier),
            Binary::Divide => return zip::<Reversed<functions::Divide>>(right, left, tier),
            // Of equal operands the left one is returned; it may be a zero of another sign.
            Binary::Minimum => return zip::<Reversed<functions::Minimum>>(right, left, tier),
            Binary::Maximum => return zip::<Reversed<functions::Maximum>>(right, left, tier),
            Binary::FloorDivide => {
                return call_two(right, left, |y, x| functions::floor_divide(x, y));
            }
            Binary::Power => return call_two(right, left, |y, x| functions::power(x, y)),
            Binary::Remainder => return call_two(right, left, |y, x| functions::remainder(x, y)),
            Binary::Atan2 => return call_two(right, left, |y, x| x.atan2(y)),
            Binary::Less => Binary::Greater,
            Binary::LessEqual => Binary::GreaterEqual,
            Binary::Greater => Binary::Less,
            Binary::GreaterEqual => Binary::LessEqual,
            symmetric => symmetric,
        };
        binary(mirrored, right, Operand::Slice(left), tier);
    });
}

/// Replaces each value of `condition` by the value of `then` if it is true (not zero; NaN is true, as in
/// `numpy.where`), otherwise by the value of `otherwise`.
///
/// ```
/// use tachyfits_kernels::{Operand, Tier, select};
/// let mut condition = [1.0, 0.0];
/// select(&mut condition, Operand::Slice(&[5.0, 6.0]), Operand::Scalar(f64::NAN), Tier::SCALAR);
/// assert!(condition[0] == 5.0 && condition[1].is_nan());
/// ```
///
/// # Panics
/// If the operands have different lengths.
pub fn select(condition: &mut [f64], then: Operand<'_>, otherwise: Operand<'_>, tier: Tier) {
    then.for_each(condition.len(), |range, then| {
        let condition = &mut condition[range.clone()];
        let otherwise = match otherwise {
            Operand::Slice(slice) => Operand::Slice(&slice[range]),
            scalar => scalar,
        };
        otherwise.for_each(condition.len(), |range, otherwise| {
            let then = &then[range.clone()];
            isa::dispatch(tier, Select { condition: &mut condition[range], then, otherwise });
        });
    });
}

/// Replaces every NaN by the same NaN. An operation on two NaN may return the sign and payload of either, so results
/// that must match bit for bit need this.
pub fn unify_nan(values: &mut [f64], tier: Tier) {
    map::<functions::UnifyNan>(values, tier);
}

/// Rounds to f32, ties to even.
///
/// # Panics
/// If `out` and `values` have different lengths.
pub fn round_to_f32(values: &[f64], tier: Tier, out: &mut [f32]) {
    assert_eq!(values.len(), out.len(), "as many numbers out as in");
    isa::dispatch(tier, Round { values, out });
}

fn map<F: Function>(values: &mut [f64], tier: Tier) {
    isa::dispatch(tier, Map { values, function: PhantomData::<F> });
}

fn zip<F: FunctionOfTwo>(into: &mut [f64], with: &[f64], tier: Tier) {
    isa::dispatch(tier, Zip { into, with, function: PhantomData::<F> });
}

/// Calls a function of the platform's library, which has no vector code.
fn call(values: &mut [f64], function: impl Fn(f64) -> f64) {
    for x in values {
        *x = function(*x);
    }
}

/// Calls a library function of two numbers.
fn call_two(into: &mut [f64], with: &[f64], function: impl Fn(f64, f64) -> f64) {
    for (x, &y) in into.iter_mut().zip(with) {
        *x = function(*x, y);
    }
}

pub(crate) struct Map<'a, F> {
    values: &'a mut [f64],
    function: PhantomData<F>,
}

impl<F: Function> Kernel for Map<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for at in 0..self.values.len() {
            self.values[at] = F::of(self.values[at]);
        }
    }
}

pub(crate) struct Zip<'a, F> {
    into: &'a mut [f64],
    with: &'a [f64],
    function: PhantomData<F>,
}

impl<F: FunctionOfTwo> Kernel for Zip<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let with = &self.with[..self.into.len()];
        for at in 0..with.len() {
            self.into[at] = F::of(self.into[at], with[at]);
        }
    }
}

pub(crate) struct Select<'a> {
    condition: &'a mut [f64],
    then: &'a [f64],
    otherwise: &'a [f64],
}

impl Kernel for Select<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let count = self.condition.len();
        let (then, otherwise) = (&self.then[..count], &self.otherwise[..count]);
        for at in 0..count {
            // Selecting bits by a mask compiles to vector code on every tier, selecting numbers does not.
            let mask = u64::from(self.condition[at] != 0.0).wrapping_neg();
            let bits = (then[at].to_bits() & mask) | (otherwise[at].to_bits() & !mask);
            self.condition[at] = f64::from_bits(bits);
        }
    }
}

pub(crate) struct Round<'a> {
    values: &'a [f64],
    out: &'a mut [f32],
}

impl Kernel for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let values = &self.values[..self.out.len()];
        for at in 0..values.len() {
            self.out[at] = values[at] as f32;
        }
    }
}
