//! Twins of elementwise arithmetic: one number at a time.

use crate::{Binary, Unary};
use std::cmp::Ordering;

/// Twin of [`crate::unary`] for one number.
pub fn unary(function: Unary, x: f64) -> f64 {
    match function {
        Unary::Negate => -x,
        Unary::Not => truth(!is_true(x)),
        Unary::Abs => x.abs(),
        Unary::Sqrt => x.sqrt(),
        Unary::Exp => x.exp(),
        Unary::Log => x.ln(),
        Unary::Log10 => x.log10(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tan => x.tan(),
        Unary::Asin => x.asin(),
        Unary::Acos => x.acos(),
        Unary::Atan => x.atan(),
        Unary::Sinh => x.sinh(),
        Unary::Cosh => x.cosh(),
        Unary::Tanh => x.tanh(),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round_ties_even(),
        Unary::IsNan => truth(x.is_nan()),
    }
}

/// Twin of [`crate::binary`] for one pair of numbers.
pub fn binary(function: Binary, x: f64, y: f64) -> f64 {
    let order = x.partial_cmp(&y);
    match function {
        Binary::Add => x + y,
        Binary::Subtract => x - y,
        Binary::Multiply => x * y,
        Binary::Divide => x / y,
        Binary::FloorDivide => floor_divide(x, y),
        Binary::Power if y == 2.0 => x * x,
        Binary::Power => x.powf(y),
        Binary::Remainder => remainder(x, y),
        Binary::Minimum => match order {
            None => f64::NAN,
            Some(Ordering::Greater) => y,
            Some(_) => x,
        },
        Binary::Maximum => match order {
            None => f64::NAN,
            Some(Ordering::Less) => y,
            Some(_) => x,
        },
        Binary::Less => truth(order == Some(Ordering::Less)),
        Binary::LessEqual => truth(matches!(order, Some(Ordering::Less | Ordering::Equal))),
        Binary::Greater => truth(order == Some(Ordering::Greater)),
        Binary::GreaterEqual => truth(matches!(order, Some(Ordering::Greater | Ordering::Equal))),
        Binary::Equal => truth(order == Some(Ordering::Equal)),
        Binary::NotEqual => truth(order != Some(Ordering::Equal)),
        Binary::And => truth(is_true(x) && is_true(y)),
        Binary::Or => truth(is_true(x) || is_true(y)),
        Binary::Atan2 => x.atan2(y),
    }
}

/// Twin of [`crate::select`] for one element.
pub fn select(condition: f64, then: f64, otherwise: f64) -> f64 {
    if is_true(condition) { then } else { otherwise }
}

/// Returns the remainder of a division that rounds down, as in Python: between 0 and `y`, a zero with the sign of `y`.
fn remainder(x: f64, y: f64) -> f64 {
    let truncated = x % y;
    let signs_differ = truncated.is_sign_negative() != y.is_sign_negative();
    match truncated {
        0.0 => {
            if y.is_sign_negative() {
                -0.0
            } else {
                0.0
            }
        }
        rest if signs_differ => rest + y,
        rest => rest,
    }
}

/// Returns the floor of `x / y`, from the remainder; the quotient of IEEE 754 if the remainder is NaN.
fn floor_divide(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return x / y;
    }
    let truncated = x % y;
    let signs_differ = truncated.is_sign_negative() != y.is_sign_negative();
    let below = if truncated != 0.0 && signs_differ { 1.0 } else { 0.0 };
    let times = (x - truncated) / y - below;
    match times {
        0.0 => 0.0 * (x / y).signum(),
        // An integer except for the rounding of the division.
        times if times - times.floor() > 0.5 => times.ceil(),
        times => times.floor(),
    }
}

/// NaN is true, as in NumPy.
fn is_true(x: f64) -> bool {
    x.is_nan() || x.abs() > 0.0
}

fn truth(x: bool) -> f64 {
    f64::from(u8::from(x))
}
