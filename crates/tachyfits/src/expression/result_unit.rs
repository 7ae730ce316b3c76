//! Derives the unit of a result if it is certain: for sums, and for products with numbers.

use tachyfits_kernels::{Binary, Unary};

use super::check::{Bound, BoundImage};
use super::parse::{Expression, Item};

/// Unit of a value, as far as known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResultUnit {
    /// A number without a unit: a constant, a truth value, a ratio of equal units.
    None,
    /// BUNIT.
    Known(String),
    Unknown,
}

/// Returns the unit of the result of an expression.
pub(crate) fn unit_of(expression: &Expression, inputs: &[Bound<'_>]) -> ResultUnit {
    units_of(expression, inputs).swap_remove(expression.result)
}

/// Returns pairs of different units whose values are added, compared or selected.
pub(crate) fn mixed_units(expression: &Expression, inputs: &[Bound<'_>]) -> Vec<[String; 2]> {
    let units = units_of(expression, inputs);
    let mut pairs = Vec::new();
    for item in &expression.items {
        let (left, right) = match *item {
            Item::Binary(binary, left, right) if takes_like_units(binary) => (left, right),
            Item::Select(_, left, right) => (left, right),
            _ => continue,
        };
        if let (ResultUnit::Known(left), ResultUnit::Known(right)) = (&units[left], &units[right])
            && left != right
        {
            pairs.push([left.clone(), right.clone()]);
        }
    }
    pairs
}

/// Returns the unit of each item of an expression.
fn units_of(expression: &Expression, inputs: &[Bound<'_>]) -> Vec<ResultUnit> {
    // At most an item per character of the expression, whose length is limited.
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

/// Returns the common unit of two values that are added or selected; a number beside a quantity takes its unit.
fn alike(left: &ResultUnit, right: &ResultUnit) -> ResultUnit {
    match (left, right) {
        (unit, ResultUnit::None) | (ResultUnit::None, unit) => unit.clone(),
        (left, right) if left == right => left.clone(),
        _ => ResultUnit::Unknown,
    }
}
