//! Meanings of words and operators, checked by hand with values from CPython and NumPy.

use crate::{counting, images, number, pixels, result};

#[test]
fn operators_bind_as_in_python() {
    let cases = [
        ("2 + 3 * 4", 14.0),
        ("(2 + 3) * 4", 20.0),
        ("2 - 3 - 4", -5.0),
        ("24 / 4 / 2", 3.0),
        ("-2 ** 2", -4.0),
        ("2 ** -1", 0.5),
        ("2 ** 3 ** 2", 512.0),
        ("-3 % 5", 2.0),
        ("-7 // 2", -4.0),
        ("7 % -3 * 2", -4.0),
        ("1 // 0.1", 9.0),
        ("+-+3", -3.0),
        ("2 > 1", 1.0),
        ("2 > 1 and 1 > 2", 0.0),
        ("1 or 0 and 0", 1.0),
        ("1 || 0 && 0", 1.0),
        ("not 1 == 2", 1.0),
        ("not not 5", 1.0),
        ("!0 + 1", 2.0),
        ("~3", 0.0),
        ("3 & 4", 1.0),
        ("0 | 4 & 0", 0.0),
        ("(2 > 1) & (3 > 2)", 1.0),
        ("2 > 1 && 3 > 2", 1.0),
        ("1 < 2 + 3", 1.0),
        ("5 == 5.0", 1.0),
        ("1e3 + .5 + 5. + 1E-1", 1005.6),
        ("2 * pi - e", 2.0 * std::f64::consts::PI - std::f64::consts::E),
    ];
    for (expression, expected) in cases {
        assert_eq!(number(expression), expected, "{expression}");
    }
}

#[test]
fn functions_are_those_of_numpy() {
    let cases = [
        ("round(0.5) + round(1.5) + round(-2.5)", 0.0),
        ("floor(-0.5)", -1.0),
        ("ceil(0.2)", 1.0),
        ("clip(5, 0, 3)", 3.0),
        ("clip(-5, 0, 3)", 0.0),
        ("min(3, 1, 2)", 1.0),
        ("max(3, 1, 7, 2)", 7.0),
        ("log(e)", 1.0),
        ("ln(e ** 2)", 2.0),
        ("log10(1000)", 3.0),
        ("atan2(1, -1)", 0.75 * std::f64::consts::PI),
        ("isnan(nan) + isnan(inf) + isnan(0)", 1.0),
        ("isfinite(nan) + isfinite(-inf) + isfinite(0)", 1.0),
        ("where(nan, 1, 2)", 1.0),
        ("nan == nan", 0.0),
        ("nan != nan", 1.0),
        ("nan < 1", 0.0),
        ("not nan", 0.0),
        ("1 / 0", f64::INFINITY),
        ("log(0)", f64::NEG_INFINITY),
    ];
    for (expression, expected) in cases {
        assert_eq!(number(expression), expected, "{expression}");
    }
    for expression in
        ["min(1, nan)", "max(nan, 1)", "clip(nan, 0, 1)", "sqrt(-1)", "0 / 0", "asin(2)"]
    {
        assert!(number(expression).is_nan(), "{expression}");
    }
}

#[test]
fn separations_are_angles_on_a_sphere() {
    for (expression, expected) in [
        ("separation(10, 0, 12, 0)", 2.0),
        // From a pole, across longitude zero, at the far side, and very close.
        ("separation(77, 90, 12, 60)", 30.0),
        ("separation(359, 0, 1, 0)", 2.0),
        ("separation(0, 0, 180, 0)", 180.0),
        ("separation(0, 60, 1e-9, 60)", 0.5e-9),
    ] {
        let actual = number(expression);
        assert!((actual - expected).abs() <= 1e-14 * expected, "{expression}: {actual}");
    }
    assert!(number("separation(nan, 0, 1, 0)").is_nan());
}

#[test]
fn repeated_parts_are_the_same() {
    let a = counting(&[5]);
    let inputs = images(&[("a", &a), ("same", &a)]);
    let file = result("(a + 1) * (a + 1) - (same + 1) * (1 + a) + a * a / a", &inputs).unwrap();
    let actual = pixels(&file, 1);
    assert!(actual[0].is_nan());
    assert_eq!(actual[1..], [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn constants_are_folded_and_branches_taken() {
    let a = counting(&[3]);
    let inputs = images(&[("a", &a)]);
    for (expression, expected) in [
        ("where(1 > 2, a, 7)", [7.0; 3]),
        ("where(a > 0, 1, 0)", [0.0, 1.0, 1.0]),
        ("where(a, 2 - a, a)", [0.0, 1.0, 0.0]),
        ("where(a == 1, a, a)", [0.0, 1.0, 2.0]),
        ("10 - a", [10.0, 9.0, 8.0]),
        ("2 ** a", [1.0, 2.0, 4.0]),
        ("2 > a", [1.0, 1.0, 0.0]),
        ("max(1, a)", [1.0, 1.0, 2.0]),
        ("a", [0.0, 1.0, 2.0]),
        ("a - a", [0.0; 3]),
        ("0 * a + 5", [5.0; 3]),
    ] {
        assert_eq!(pixels(&result(expression, &inputs).unwrap(), 1), expected, "{expression}");
    }
}

/// Sums of very many terms are parsed and computed without recursion.
#[test]
fn long_sums() {
    let a = counting(&[3]);
    let text = vec!["a"; 4000].join(" + ");
    let actual = pixels(&result(&text, &images(&[("a", &a)])).unwrap(), 1);
    assert_eq!(actual, [0.0, 4000.0, 8000.0]);
}
