//! Words of the language: functions, constants, and reserved names.

use tachyfits_kernels::{Binary, Unary};

/// A function of expressions, as listed in the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpressionFunction {
    /// Names of the function; the first is preferred.
    pub names: &'static [&'static str],
    /// Arguments, as shown in the documentation.
    pub arguments: &'static str,
    /// Description of the result.
    pub meaning: &'static str,
    pub(crate) rule: Rule,
}

/// Translation of a call into operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Unary(Unary),
    Binary(Binary),
    /// A function of two or more arguments, applied from the left.
    Several(Binary),
    IsFinite,
    Where,
    Clip,
    Separation,
}

impl Rule {
    /// Minimum and maximum number of arguments.
    pub(crate) fn arguments(self) -> (usize, usize) {
        match self {
            Rule::Unary(_) | Rule::IsFinite => (1, 1),
            Rule::Binary(_) => (2, 2),
            Rule::Several(_) => (2, usize::MAX),
            Rule::Where | Rule::Clip => (3, 3),
            Rule::Separation => (4, 4),
        }
    }
}

const fn of_one(
    names: &'static [&'static str],
    meaning: &'static str,
    unary: Unary,
) -> ExpressionFunction {
    ExpressionFunction { names, arguments: "x", meaning, rule: Rule::Unary(unary) }
}

/// All functions.
pub(crate) const FUNCTIONS: &[ExpressionFunction] = &[
    of_one(&["abs"], "absolute value", Unary::Abs),
    of_one(&["sqrt"], "square root; NaN below 0", Unary::Sqrt),
    of_one(&["exp"], "e to the power x", Unary::Exp),
    of_one(&["log", "ln"], "natural logarithm; NaN below 0, -inf at 0", Unary::Log),
    of_one(&["log10"], "logarithm to base 10", Unary::Log10),
    of_one(&["sin"], "sine of x in radians", Unary::Sin),
    of_one(&["cos"], "cosine", Unary::Cos),
    of_one(&["tan"], "tangent", Unary::Tan),
    of_one(&["asin", "arcsin"], "inverse sine, in radians; NaN beyond -1 to 1", Unary::Asin),
    of_one(&["acos", "arccos"], "inverse cosine", Unary::Acos),
    of_one(&["atan", "arctan"], "inverse tangent", Unary::Atan),
    ExpressionFunction {
        names: &["atan2", "arctan2"],
        arguments: "y, x",
        meaning: "angle of the point (x, y), from -pi to pi",
        rule: Rule::Binary(Binary::Atan2),
    },
    of_one(&["sinh"], "hyperbolic sine", Unary::Sinh),
    of_one(&["cosh"], "hyperbolic cosine", Unary::Cosh),
    of_one(&["tanh"], "hyperbolic tangent", Unary::Tanh),
    of_one(&["floor"], "the nearest integer below", Unary::Floor),
    of_one(&["ceil"], "the nearest integer above", Unary::Ceil),
    of_one(&["round"], "the nearest integer, halves to the even one", Unary::Round),
    of_one(
        &["isnan", "isnull"],
        "1 where x is undefined (NaN, BLANK, or null in a table), else 0",
        Unary::IsNan,
    ),
    ExpressionFunction {
        names: &["isfinite"],
        arguments: "x",
        meaning: "1 where x is neither NaN nor infinite, else 0",
        rule: Rule::IsFinite,
    },
    ExpressionFunction {
        names: &["where"],
        arguments: "condition, a, b",
        meaning: "a where the condition is not 0 (NaN is not 0), b elsewhere",
        rule: Rule::Where,
    },
    ExpressionFunction {
        names: &["clip"],
        arguments: "x, low, high",
        meaning: "x limited to low and high; NaN stays NaN",
        rule: Rule::Clip,
    },
    ExpressionFunction {
        names: &["separation"],
        arguments: "lon, lat, lon2, lat2",
        meaning: "angle between two positions on a sphere; all in degrees",
        rule: Rule::Separation,
    },
    ExpressionFunction {
        names: &["min", "minimum"],
        arguments: "a, b, ...",
        meaning: "minimum; NaN if any is NaN",
        rule: Rule::Several(Binary::Minimum),
    },
    ExpressionFunction {
        names: &["max", "maximum"],
        arguments: "a, b, ...",
        meaning: "maximum; NaN if any is NaN",
        rule: Rule::Several(Binary::Maximum),
    },
];

/// All constants, with their values.
pub(crate) const CONSTANTS: &[(&str, f64)] = &[
    ("pi", std::f64::consts::PI),
    ("e", std::f64::consts::E),
    ("nan", f64::NAN),
    ("inf", f64::INFINITY),
];

/// Returns the functions of expressions, in the order of the documentation.
///
/// ```
/// let functions = tachyfits::expression::expression_functions();
/// assert!(functions.iter().any(|function| function.names.contains(&"where")));
/// ```
pub fn expression_functions() -> &'static [ExpressionFunction] {
    FUNCTIONS
}

/// Returns the function with a name.
pub(crate) fn function(name: &str) -> Option<&'static ExpressionFunction> {
    FUNCTIONS.iter().find(|function| function.names.contains(&name))
}

/// Returns the constant with a name.
pub(crate) fn constant(name: &str) -> Option<f64> {
    CONSTANTS.iter().find(|(constant, _)| *constant == name).map(|(_, value)| *value)
}

/// Returns what a reserved word means; an input cannot have it as its name.
pub(crate) fn reserved(name: &str) -> Option<&'static str> {
    if ["and", "or", "not"].contains(&name) {
        Some("an operator")
    } else if constant(name).is_some() {
        Some("a constant")
    } else if function(name).is_some() {
        Some("a function")
    } else {
        None
    }
}

/// Whether a text is a valid name: a letter or an underscore, followed by letters, digits or underscores.
pub(crate) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(begins_name) && characters.all(continues_name)
}

pub(crate) fn begins_name(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

pub(crate) fn continues_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
