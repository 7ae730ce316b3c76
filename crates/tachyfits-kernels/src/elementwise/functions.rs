//! Vectorised functions, one type each, so that every loop is compiled separately and its code can be inspected by
//! name; and three scalar functions.

/// A function of one number.
pub(crate) trait Function {
    /// Returns the function value; must be `#[inline(always)]`.
    fn of(x: f64) -> f64;
}

/// A function of two numbers.
pub(crate) trait FunctionOfTwo {
    /// Returns the function value; must be `#[inline(always)]`.
    fn of(x: f64, y: f64) -> f64;
}

/// Defines function types: each line has a name and an expression.
macro_rules! functions {
    ($Trait:ident: $($Name:ident($($x:ident),+) = $value:expr;)+) => {
        $(pub(crate) struct $Name;
        impl $Trait for $Name {
            #[inline(always)]
            fn of($($x: f64),+) -> f64 {
                $value
            }
        })+
    };
}

functions! { Function:
    Negate(x) = -x;
    Not(x) = truth(x == 0.0);
    Abs(x) = x.abs();
    Sqrt(x) = x.sqrt();
    Floor(x) = x.floor();
    Ceil(x) = x.ceil();
    Round(x) = x.round_ties_even();
    IsNan(x) = truth(x.is_nan());
    UnifyNan(x) = if x.is_nan() { f64::NAN } else { x };
}

// Minimum and maximum return the left operand if both are equal, and NaN if either is NaN.
functions! { FunctionOfTwo:
    Add(x, y) = x + y;
    Subtract(x, y) = x - y;
    Multiply(x, y) = x * y;
    Divide(x, y) = x / y;
    Minimum(x, y) = if (x <= y) | x.is_nan() { x } else { y };
    Maximum(x, y) = if (x >= y) | x.is_nan() { x } else { y };
    Less(x, y) = truth(x < y);
    LessEqual(x, y) = truth(x <= y);
    Greater(x, y) = truth(x > y);
    GreaterEqual(x, y) = truth(x >= y);
    Equal(x, y) = truth(x == y);
    NotEqual(x, y) = truth(x != y);
    And(x, y) = truth((x != 0.0) & (y != 0.0));
    Or(x, y) = truth((x != 0.0) | (y != 0.0));
}

/// Function with its operands exchanged.
pub(crate) struct Reversed<F>(F);

impl<F: FunctionOfTwo> FunctionOfTwo for Reversed<F> {
    #[inline(always)]
    fn of(x: f64, y: f64) -> f64 {
        F::of(y, x)
    }
}

#[inline(always)]
fn truth(x: bool) -> f64 {
    if x { 1.0 } else { 0.0 }
}

/// Returns a power. The square, the most frequent power, is correctly rounded and needs no library call.
pub(crate) fn power(x: f64, y: f64) -> f64 {
    if y == 2.0 { x * x } else { x.powf(y) }
}

/// Returns the remainder with the sign of `y`, as in Python and NumPy, also for infinities and zeros.
pub(crate) fn remainder(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest == 0.0 {
        0.0f64.copysign(y)
    } else if (rest < 0.0) != (y < 0.0) {
        rest + y
    } else {
        rest
    }
}

/// Returns the floor of the quotient as Python and NumPy define it: computed from the remainder, so that `1 // 0.1` is
/// 9, although the rounded quotient is 10.
pub(crate) fn floor_divide(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return x / y;
    }
    let rest = x % y;
    let lower = rest != 0.0 && (rest < 0.0) != (y < 0.0);
    let quotient = (x - rest) / y - truth(lower);
    if quotient == 0.0 {
        return 0.0f64.copysign(x / y);
    }
    let floor = quotient.floor();
    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
}
