//! The unit of a result, where it is sure: that of sums and of products with numbers.

use tachyfits_kernels::{Binary, Unary};

use super::check::{Bound, BoundImage};
use super::parse::{Expression, Item};

/// Knowledge about the unit of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResultUnit {
    /// A number without a unit: a constant, a truth value, a ratio of like things.
    None,
    /// BUNIT.
    Known(String),
    Unknown,
}

/// The unit of the result of an expression.
pub(crate) fn unit_of(expression: &Expression, inputs: &[Bound<'_>]) -> ResultUnit {
    units_of(expression, inputs).swap_remove(expression.result)
}

/// Different units of values that are added, compared, or of which one is taken.
pub(crate) fn mixed_units(expression: &Expression, inputs: &[Bound<'_>]) -> Vec<[String; 2]> {
    let units = units_of(expression, inputs);
    let mut found = Vec::new();
    for item in &expression.items {
        let (left, right) = match *item {
            Item::Binary(binary, left, right) if takes_like_units(binary) => (left, right),
            Item::Select(_, left, right) => (left, right),
            _ => continue,
        };
        if let (ResultUnit::Known(left), ResultUnit::Known(right)) = (&units[left], &units[right])
            && left != right
        {
            found.push([left.clone(), right.clone()]);
        }
    }
    found
}

/// The unit of each item of an expression.
fn units_of(expression: &Expression, inputs: &[Bound<'_>]) -> Vec<ResultUnit> {
    // At most as many items as the text of an expression may have characters.
    let mut units: Vec<ResultUnit> = Vec::with_capacity(expression.items.len());
    for item in &expression.items {
        let unit = match *item {
            Item::Number(_) | Item::Text(_) | Item::Like { .. } => ResultUnit::None,
            Item::Name(name) => match &inputs[name] {
                Bound::Number(_) | Bound::Image(BoundImage { is_number: true, .. }) => {
                    ResultUnit::None
                }
                Bound::Image(bound) => match &bound.image.layout().unit {
                    Some(unit) => ResultUnit::Known(unit.clone()),
                    None => ResultUnit::Unknown,
                },
            },
            Item::Unary(unary, x) => of_unary(unary, &units[x]),
            Item::Binary(binary, a, b) => of_binary(binary, &units[a], &units[b]),
            Item::Select(_, a, b) => alike(&units[a], &units[b]),
        };
        units.push(unit);
    }
    units
}

fn takes_like_units(binary: Binary) -> bool {
    use Binary::{Add, Maximum, Minimum, Remainder, Subtract};
    use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    let adds = matches!(binary, Add | Subtract | Minimum | Maximum | Remainder);
    adds || matches!(binary, Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual)
}

fn of_unary(unary: Unary, unit: &ResultUnit) -> ResultUnit {
    use Unary::{Abs, Ceil, Floor, IsNan, Negate, Not, Round};
    match unary {
        Negate | Abs | Floor | Ceil | Round => unit.clone(),
        Not | IsNan => ResultUnit::None,
        _ if *unit == ResultUnit::None => ResultUnit::None,
        _ => ResultUnit::Unknown,
    }
}

fn of_binary(binary: Binary, left: &ResultUnit, right: &ResultUnit) -> ResultUnit {
    use Binary::{Add, Divide, FloorDivide, Maximum, Minimum, Multiply, Remainder, Subtract};
    use Binary::{And, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual, Or};
    match binary {
        Add | Subtract | Minimum | Maximum | Remainder => alike(left, right),
        Multiply => match (left, right) {
            (unit, ResultUnit::None) | (ResultUnit::None, unit) => unit.clone(),
            _ => ResultUnit::Unknown,
        },
        Divide | FloorDivide => match (left, right) {
            (unit, ResultUnit::None) => unit.clone(),
            (ResultUnit::Known(left), ResultUnit::Known(right)) if left == right => {
                ResultUnit::None
            }
            _ => ResultUnit::Unknown,
        },
        Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual | And | Or => ResultUnit::None,
        _ if [left, right] == [&ResultUnit::None; 2] => ResultUnit::None,
        _ => ResultUnit::Unknown,
    }
}

/// The unit of what is one or the other, or their sum: a number beside a quantity is taken in its unit.
fn alike(left: &ResultUnit, right: &ResultUnit) -> ResultUnit {
    match (left, right) {
        (unit, ResultUnit::None) | (ResultUnit::None, unit) => unit.clone(),
        (left, right) if left == right => left.clone(),
        _ => ResultUnit::Unknown,
    }
}
