//! Random expressions, compared with their twin: a tree evaluated in f64 for every pixel.

use proptest::prelude::*;
use tachyfits::expression::{ExpressionInput, ExpressionPixels, InputValue, expression_functions};
use tachyfits::{Image, evaluate};

use crate::common::{Numbers, fits, image};
use crate::{input, pixels, read};

/// An expression as a tree.
#[derive(Clone, Debug)]
enum Tree {
    Number(f64),
    Input(usize),
    Signed(&'static str, Box<Tree>),
    Between(Box<Tree>, &'static str, Box<Tree>),
    Call(&'static str, Vec<Tree>),
}

const OPERATORS: [&str; 17] =
    ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "&", "|", "and", "||"];
const OF_ONE: [&str; 20] = [
    "abs", "sqrt", "exp", "log", "log10", "sin", "cos", "tan", "asin", "arccos", "atan", "sinh",
    "cosh", "tanh", "floor", "ceil", "round", "isnan", "isfinite", "ln",
];
const OF_SEVERAL: [(&str, usize); 7] = [
    ("atan2", 2),
    ("min", 2),
    ("max", 3),
    ("where", 3),
    ("clip", 3),
    ("maximum", 2),
    ("separation", 4),
];
const NAMES: [&str; 4] = ["a", "b", "spectrum", "_4"];

fn trees() -> impl Strategy<Value = Tree> {
    let numbers = prop_oneof![
        (-40..40i32).prop_map(|x| f64::from(x) / 8.0),
        prop::sample::select(vec![1e300, 0.0, -0.0, 1e-7, 2.0]),
    ];
    let leaf = prop_oneof![
        1 => numbers.prop_map(Tree::Number),
        4 => (0..NAMES.len()).prop_map(Tree::Input),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            4 => (boxed(), prop::sample::select(OPERATORS.to_vec()), boxed())
                .prop_map(|(left, operator, right)| Tree::Between(left, operator, right)),
            1 => (prop::sample::select(vec!["-", "+", "~", "!", "not "]), boxed())
                .prop_map(|(sign, operand)| Tree::Signed(sign, operand)),
            2 => (prop::sample::select(OF_ONE.to_vec()), inner.clone())
                .prop_map(|(name, x)| Tree::Call(name, vec![x])),
            2 => (prop::sample::select(OF_SEVERAL.to_vec()), prop::collection::vec(inner, 4))
                .prop_map(|((name, count), mut all)| {
                    all.truncate(count);
                    Tree::Call(name, all)
                }),
        ]
    })
}

impl Tree {
    /// Returns the text, with brackets around every part.
    fn text(&self) -> String {
        match self {
            Tree::Number(x) if x.is_sign_negative() => format!("(-{:?})", -x),
            Tree::Number(x) => format!("{x:?}"),
            Tree::Input(number) => NAMES[*number].to_owned(),
            Tree::Signed(sign, x) => format!("({sign}{})", x.text()),
            Tree::Between(a, operator, b) => format!("({} {operator}  {})", a.text(), b.text()),
            Tree::Call(name, all) => {
                let all: Vec<String> = all.iter().map(Tree::text).collect();
                format!("{name}( {} )", all.join(","))
            }
        }
    }

    /// Returns the value for these inputs.
    fn value(&self, inputs: &[f64; 4]) -> f64 {
        match self {
            Tree::Number(x) => *x,
            Tree::Input(number) => inputs[*number],
            Tree::Signed(sign, x) => match *sign {
                "-" => -x.value(inputs),
                "+" => x.value(inputs),
                _ => truth(x.value(inputs) == 0.0),
            },
            Tree::Between(a, operator, b) => between(a.value(inputs), operator, b.value(inputs)),
            Tree::Call(name, all) => {
                call(name, &all.iter().map(|x| x.value(inputs)).collect::<Vec<_>>())
            }
        }
    }

    /// Marks the inputs that the expression names.
    fn names(&self, is_named: &mut [bool; 4]) {
        match self {
            Tree::Number(_) => {}
            Tree::Input(number) => is_named[*number] = true,
            Tree::Signed(_, x) => x.names(is_named),
            Tree::Between(a, _, b) => {
                a.names(is_named);
                b.names(is_named);
            }
            Tree::Call(_, all) => all.iter().for_each(|x| x.names(is_named)),
        }
    }
}

fn truth(is_true: bool) -> f64 {
    if is_true { 1.0 } else { 0.0 }
}

fn between(a: f64, operator: &str, b: f64) -> f64 {
    match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "//" => floor_divide(a, b),
        "%" => remainder(a, b),
        // The square is defined as a product.
        "**" if b == 2.0 => a * a,
        "**" => a.powf(b),
        "<" => truth(a < b),
        "<=" => truth(a <= b),
        ">" => truth(a > b),
        ">=" => truth(a >= b),
        "==" => truth(a == b),
        "!=" => truth(a != b),
        "&" | "and" => truth(a != 0.0 && b != 0.0),
        "|" | "||" => truth(a != 0.0 || b != 0.0),
        other => panic!("{other}"),
    }
}

fn remainder(a: f64, b: f64) -> f64 {
    let remainder = a % b;
    match () {
        () if remainder == 0.0 => 0f64.copysign(b),
        () if (remainder < 0.0) != (b < 0.0) => remainder + b,
        () => remainder,
    }
}

/// Computes NumPy's `npy_floor_divide`.
fn floor_divide(a: f64, b: f64) -> f64 {
    if b == 0.0 {
        return a / b;
    }
    let remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder != 0.0 && (remainder < 0.0) != (b < 0.0) {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return 0f64.copysign(a / b);
    }
    let below = quotient.floor();
    if quotient - below > 0.5 { below + 1.0 } else { below }
}

fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a <= b { a } else { b }
}

fn greatest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a >= b { a } else { b }
}

fn call(name: &str, arguments: &[f64]) -> f64 {
    let x = arguments[0];
    match (name, arguments) {
        ("abs", _) => x.abs(),
        ("sqrt", _) => x.sqrt(),
        ("exp", _) => x.exp(),
        ("log" | "ln", _) => x.ln(),
        ("log10", _) => x.log10(),
        ("sin", _) => x.sin(),
        ("cos", _) => x.cos(),
        ("tan", _) => x.tan(),
        ("asin" | "arcsin", _) => x.asin(),
        ("acos" | "arccos", _) => x.acos(),
        ("atan" | "arctan", _) => x.atan(),
        ("atan2" | "arctan2", [y, x]) => y.atan2(*x),
        ("sinh", _) => x.sinh(),
        ("cosh", _) => x.cosh(),
        ("tanh", _) => x.tanh(),
        ("floor", _) => x.floor(),
        ("ceil", _) => x.ceil(),
        ("round", _) => x.round_ties_even(),
        ("isnan", _) => truth(x.is_nan()),
        ("isfinite", _) => truth(x.is_finite()),
        ("where", [condition, a, b]) => {
            if *condition == 0.0 {
                *b
            } else {
                *a
            }
        }
        ("clip", [x, low, high]) => least(greatest(*x, *low), *high),
        ("separation", [longitude, latitude, longitude2, latitude2]) => {
            let degree = std::f64::consts::PI / 180.0;
            let (difference, b1, b2) =
                ((longitude2 - longitude) * degree, latitude * degree, latitude2 * degree);
            let across = b2.cos() * difference.sin();
            let along = b1.cos() * b2.sin() - b1.sin() * b2.cos() * difference.cos();
            let cosine = b1.sin() * b2.sin() + b1.cos() * b2.cos() * difference.cos();
            (across * across + along * along).sqrt().atan2(cosine) / degree
        }
        ("min" | "minimum", all) => all[1..].iter().fold(x, |a, &b| least(a, b)),
        ("max" | "maximum", all) => all[1..].iter().fold(x, |a, &b| greatest(a, b)),
        other => panic!("{other:?}"),
    }
}

/// Returns an image of a type with edge cases among its numbers, and its values.
fn picture(kind: u8, axes: &[u64], numbers: &mut Numbers) -> (Image, Vec<f64>) {
    let count = axes.iter().product::<u64>();
    let (mut data, mut values) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 2.0];
        let float = match numbers.below(24) {
            edge @ 0..6 => special[edge as usize],
            _ => (numbers.next() as i32 >> 16) as f64 / 4096.0,
        };
        match kind {
            0 => {
                data.extend((float as f32).to_be_bytes());
                values.push(f64::from(float as f32));
            }
            1 => {
                data.extend(float.to_be_bytes());
                values.push(float);
            }
            _ => {
                let integer = numbers.below(40) as i16 - 20;
                data.extend(integer.to_be_bytes());
                values.push(if integer == 7 { f64::NAN } else { 0.5 + 0.1 * f64::from(integer) });
            }
        }
    }
    let scaled = [
        "BSCALE  =                  0.1",
        "BZERO   =                  0.5",
        "BLANK   =                    7",
    ];
    let (bitpix, cards): (_, &[&str]) = match kind {
        0 => (-32, &[]),
        1 => (-64, &[]),
        _ => (16, &scaled),
    };
    let cards: Vec<String> = cards.iter().map(|&card| card.to_owned()).collect();
    (image(fits(bitpix, axes, &cards, &data)), values)
}

/// Returns the input's pixel that corresponds to a pixel of the result.
fn place(index: u64, axes: &[u64], input_axes: &[u64]) -> usize {
    let (mut rest, mut stride, mut at) = (index, 1, 0);
    for (axis, &length) in axes.iter().enumerate() {
        let position = rest % length;
        rest /= length;
        let count = input_axes.get(axis).copied().unwrap_or(1);
        at += if count == 1 { 0 } else { position * stride };
        stride *= count;
    }
    at as usize
}

/// Returns axes that broadcast to those of the result: some of one pixel, some missing at the end.
fn part_of(axes: &[u64], numbers: &mut Numbers) -> Vec<u64> {
    let mut input_axes: Vec<u64> =
        axes.iter().map(|&length| if numbers.one_in(4) { 1 } else { length }).collect();
    while input_axes.len() > 2 && numbers.one_in(4) {
        input_axes.pop();
    }
    input_axes
}

/// Returns the bits of a number, with one pattern for all NaN.
fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

fn check(tree: &Tree, axes: &[u64], seed: u64, float32: bool) -> Result<(), TestCaseError> {
    let mut numbers = Numbers(seed);
    let mut is_named = [false; 4];
    tree.names(&mut is_named);
    // The first named input has the shape of the result.
    let Some(first) = is_named.iter().position(|&is_input| is_input) else { return Ok(()) };
    let mut inputs: Vec<ExpressionInput> = Vec::new();
    let mut values: [(Vec<u64>, Vec<f64>); 4] = Default::default();
    for number in (0..4).filter(|&number| is_named[number]) {
        if number > first && numbers.one_in(6) {
            inputs.push(input(NAMES[number], InputValue::Number(1.5)));
            values[number] = (vec![], vec![1.5]);
            continue;
        }
        let input_axes = if number == first { axes.to_vec() } else { part_of(axes, &mut numbers) };
        let (image, pixels) = picture(numbers.below(3) as u8, &input_axes, &mut numbers);
        let long = (0..input_axes.len()).find(|&axis| input_axes[axis] > 1).unwrap_or(0);
        let is_line = input_axes.iter().filter(|&&length| length > 1).count() <= 1;
        inputs.push(match is_line && number > first {
            true => input(NAMES[number], InputValue::Along(image, long)),
            false if number > first && numbers.one_in(3) => {
                input(NAMES[number], InputValue::Numbers(image))
            }
            false => input(NAMES[number], InputValue::Image(image)),
        });
        values[number] = (input_axes, pixels);
    }
    let text = tree.text();
    let kind = if float32 { ExpressionPixels::Float32 } else { ExpressionPixels::Float64 };
    let file = evaluate(&text, &inputs, kind, None).unwrap_or_else(|error| panic!("{error}"));
    let mut twin = Vec::new();
    for index in 0..axes.iter().product::<u64>() {
        let pixel_values = [0, 1, 2, 3].map(|number: usize| match is_named[number] {
            true => values[number].1[place(index, axes, &values[number].0)],
            false => f64::NAN,
        });
        twin.push((tree.value(&pixel_values), pixel_values));
    }
    if float32 && twin.iter().any(|&(value, _)| value.is_finite() && (value as f32).is_infinite()) {
        let error = read(&file, 2).expect_err("a value that float32 does not hold");
        prop_assert_eq!(error.code(), "io-values", "{}", text);
        return Ok(());
    }
    let actual = pixels(&file, 2);
    prop_assert_eq!(actual.len(), twin.len());
    for (index, (&actual, (value, pixel_values))) in actual.iter().zip(twin).enumerate() {
        let expected = if float32 { f64::from(value as f32) } else { value };
        prop_assert_eq!(bits(actual), bits(expected), "{} at {}: {:?}", text, index, pixel_values);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_expression_of_images_that_go_together(
        tree in trees(),
        axes in prop::collection::vec(1u64..7, 2..5),
        seed: u64,
        float32: bool,
    ) {
        check(&tree, &axes, seed, float32)?;
    }

    /// Images long enough for several pieces, whose ends fit no axis.
    #[test]
    fn many_pixels(tree in trees(), x in 700u64..1100, y in 1u64..5, seed: u64) {
        check(&tree, &[x, y, 2], seed, true)?;
    }
}

#[test]
fn every_function_has_its_twin() {
    let twins: Vec<&str> =
        OF_ONE.into_iter().chain(OF_SEVERAL.into_iter().map(|(name, _)| name)).collect();
    for function in expression_functions() {
        let is_tested = function.names.iter().any(|name| twins.contains(name));
        assert!(is_tested, "{:?} is in no random expression", function.names);
    }
}
