//! Invalid expressions: position of the error and helpful message.

use tachyfits::error::ExpressionError;
use tachyfits::expression::{ExpressionInput, InputValue};
use tachyfits::{Error, ErrorKind};

use crate::{counting, images, input, result};

fn refusal(expression: &str, inputs: &[ExpressionInput]) -> ExpressionError {
    match result(expression, inputs) {
        Err(Error::Expression(error)) => *error,
        other => panic!("{expression}: {other:?}"),
    }
}

/// (Expression with the error position between « and », words of the expectation, words of the hint.)
const MISTAKES: [(&str, &str, &str); 36] = [
    ("«»", "a number, a name or \"(\"", ""),
    ("a +«»", "a number, a name or \"(\"", ""),
    ("a + «)»", "a number, a name or \"(\"", ""),
    ("(a + 1«»", "an operator or \")\"", ""),
    ("a «b»", "an operator or the end", ""),
    ("a«)»", "an operator or the end", ""),
    ("2«a»", "an operator or the end", ""),
    ("a «^» 2", "", "write ** for powers"),
    ("a «=» 2", "", "write == to compare"),
    ("a«[»1]", "", "round brackets"),
    ("a + «é»", "a number, a name or an operator", ""),
    ("a «$» 2", "a number, a name or an operator", ""),
    ("«1e999» * a", "within the range of f64", "inf"),
    ("a < a «<» a", "one comparison", "(a < b) & (b < c)"),
    ("a «>» 1 & a", "brackets", "(a > 1) & (b > 2)"),
    ("a & 1 «>» 2", "brackets", "a > 1 && b > 2"),
    ("~a «>» 2", "brackets", "~(a > b)"),
    ("!a «==» 2", "brackets", "~(a > b)"),
    ("a + «not» a", "a number, a name", ""),
    ("a «not» a", "an operator or the end", ""),
    ("«and» a", "a number, a name", ""),
    ("«foo»(a)", "the name of a function", "use one of abs"),
    ("«Sqrt»(a)", "the name of a function", "write sqrt in lower case"),
    ("«pow»(a, 2)", "the name of a function", "a ** b"),
    ("«median»(a)", "the name of a function", "pixel by pixel"),
    ("sqrt «+» a", "the arguments of sqrt", ""),
    ("«sqrt()»", "sqrt(x)", ""),
    ("«sqrt(a, a)»", "sqrt(x)", ""),
    ("1 + «where(a, 1)»", "where(condition, a, b)", ""),
    ("«min(a)»", "min(a, b, ...)", ""),
    ("min(a«»", "an operator, \",\" or \")\"", ""),
    ("min(a, «)»", "a number, a name", ""),
    ("a // «*» 2", "a number, a name", ""),
    // Features that only conditions on table rows have.
    ("a == «'»STAR'", "a number, a name or an operator", "conditions on table rows"),
    ("a == «\"»STAR\"", "a number, a name or an operator", "conditions on table rows"),
    ("«`»a` + 1", "a number, a name or an operator", ""),
];

#[test]
fn mistakes_are_shown_where_they_are() {
    let inputs = images(&[("a", &counting(&[2])), ("b", &counting(&[2]))]);
    for (marked, expected, hint) in MISTAKES {
        let text = marked.replace(['«', '»'], "");
        let error = refusal(&text, &inputs);
        let begin = marked.find('«').unwrap();
        let end = marked.find('»').unwrap() - '«'.len_utf8();
        assert_eq!(error.at, begin..end, "{marked}: {error}");
        assert!(error.expected.contains(expected), "{marked}: {error}");
        assert!(error.hint.contains(hint), "{marked}: {error}");
        assert_eq!(error.reason.code(), "expression");
    }
}

#[test]
fn the_text_has_a_line_under_the_place() {
    let inputs = images(&[("a", &counting(&[2]))]);
    let error = result("2 * (a\n+ medan(a))", &inputs).unwrap_err();
    let text = format!("{error:#}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(error.to_string(), lines[0]);
    assert_eq!(
        lines[..3],
        [
            "expression, character 10 (from 1): expected the name of a function, found \"medan\" [expression]",
            "    2 * (a + medan(a))",
            "             ^^^^^",
        ]
    );
    assert!(lines[3].starts_with("hint: use one of abs, sqrt"), "{text}");
    // In a long expression, only the text around the position is shown; columns count visible characters.
    let long = format!("{} + «a»", vec!["a"; 100].join(" + ")).replace('«', "é");
    let text = format!("{:#}", result(&long, &inputs).unwrap_err());
    let lines: Vec<&str> = text.lines().collect();
    let column = lines[2].chars().position(|c| c == '^').unwrap();
    assert_eq!(lines[1].chars().nth(column), Some('é'), "{text}");
    assert!(lines[1].chars().count() < 120, "{text}");
}

#[test]
fn inputs_and_names_must_agree() {
    let a = counting(&[3, 2]);
    let number = |name| input(name, InputValue::Number(1.0));
    let inputs_of_a = images(&[("a", &a)]);
    let with = |more: Vec<ExpressionInput>| [inputs_of_a.clone(), more].concat();
    let cases: [(&str, Vec<ExpressionInput>, &str, &str); 11] = [
        ("a + b", inputs_of_a.clone(), "one of the inputs: a", "\"b\""),
        ("a + b", vec![], "inputs for the names", "\"a\""),
        ("a", with(vec![number("b")]), "inputs that the expression names", "\"b\""),
        ("a + b", with(vec![number("b"), number("b")]), "each name once", "\"b\" twice"),
        ("a", with(vec![number("pi")]), "is a constant", "\"pi\""),
        ("a", with(vec![number("sqrt")]), "is a function", "\"sqrt\""),
        ("a", with(vec![number("and")]), "is an operator", "\"and\""),
        ("a", with(vec![number("1x")]), "letters, digits and _", "\"1x\""),
        ("a", with(vec![number("")]), "letters, digits and _", "\"\""),
        ("c + 1", vec![number("c")], "an image among the inputs", "numbers"),
        ("1 + 1", vec![], "an image among the inputs", "no inputs"),
    ];
    for (expression, inputs, expected, actual) in cases {
        let error = refusal(expression, &inputs);
        assert_eq!(error.reason.code(), "expression-input");
        assert!(error.expected.contains(expected) && error.found.contains(actual), "{error}");
    }
    let error = refusal("a * a + b", &inputs_of_a);
    assert_eq!(error.at, 8..9, "{error}");
}

#[test]
fn shapes_must_go_together() {
    let cube = counting(&[3, 2, 3]);
    let along = |spectrum, axis| input("s", InputValue::Along(spectrum, axis));
    let image = |axes: &[u64]| images(&[("s", &counting(axes))]).remove(0);
    let cases = [
        (image(&[3, 3]), "NAXIS2 = 2 as in a, or 1", "s of 3 x 3 (NAXIS1 first) pixels"),
        (image(&[2]), "", ""),
        (image(&[3]), "one axis of 3 pixels for s", "NAXIS1 and NAXIS3"),
        (image(&[5]), "an axis of 5 pixels for the spectrum s", "axes of 3 x 2 x 3"),
        (along(counting(&[4]), 2), "NAXIS3 = 3 pixels, or 1, in s", "4"),
        (along(counting(&[3]), 3), "one of the axes", "NAXIS4"),
        (along(counting(&[3, 2]), 0), "a spectrum: one axis of several pixels", "3 x 2"),
    ];
    for (spectrum, expected, actual) in cases {
        let inputs = [images(&[("a", &cube)]), vec![spectrum]].concat();
        if expected.is_empty() {
            assert!(result("a + s", &inputs).is_ok());
            continue;
        }
        let error = refusal("a + s", &inputs);
        assert_eq!((error.reason.code(), error.at.clone()), ("expression-input", 4..5), "{error}");
        assert!(error.expected.contains(expected) && error.found.contains(actual), "{error}");
    }
    let only = [along(counting(&[3]), 0)];
    assert!(refusal("s", &only).expected.contains("an image among the inputs"));
}

/// Hostile expressions exhaust neither the stack nor the memory.
#[test]
fn hostile_expressions_are_refused() {
    let inputs = images(&[("a", &counting(&[2]))]);
    for (open, close) in
        [("(", ")"), ("-", ""), ("~", ""), ("sqrt(", ")"), ("a**", ""), ("not ", "")]
    {
        let text = format!("{}a{}", open.repeat(2000), close.repeat(2000));
        let error = refusal(&text, &inputs);
        assert!(error.expected.contains("within each other"), "{error}");
        assert_eq!(Error::Expression(Box::new(error)).kind(), ErrorKind::Usage);
    }
    let error = refusal(&"a+".repeat(10_000), &inputs);
    assert!(error.expected.contains("at most 16384 bytes"), "{error}");
    // The maximum depth.
    let text = format!("{}a{}", "(".repeat(199), ")".repeat(199));
    assert!(result(&text, &inputs).is_ok());
}
