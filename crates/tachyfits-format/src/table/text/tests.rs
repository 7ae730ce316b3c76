//! Compares the fast path with the slow path, and the slow path with the standard library.

use proptest::prelude::*;

use super::{TextError, TextForm, is_null_text, parse, slow, write};
use super::{parse_integer, parse_real, write_integer, write_real};

/// Valid and invalid contents of a field.
fn field() -> impl Strategy<Value = String> {
    let blanks = || " {0,12}";
    let real = "[+-]?[0-9]{0,22}(\\.[0-9]{0,22})?([EDed]?[+-]?[0-9]{0,4})?";
    let usual = "-?[0-9]\\.[0-9]{1,17}[ED][+-][0-3][0-9]";
    let integer = "[+-]?[0-9]{0,21}";
    let other = "[ -~]{0,12}";
    let number = prop_oneof![4 => real, 4 => usual, 4 => integer, 1 => other];
    (blanks(), number, blanks()).prop_map(|(before, number, after)| before + &number + &after)
}

fn bits(result: Result<f64, TextError>) -> Result<u64, TextError> {
    result.map(f64::to_bits)
}

/// Numbers of any magnitude, and numbers typical for tables.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        2 => any::<f64>(),
        2 => any::<f32>().prop_map(f64::from),
        3 => -1e6..1e6f64,
        1 => -1.0..1.0f64,
        1 => (any::<i32>(), 0..12i32).prop_map(|(digits, point)| f64::from(digits) / 10f64.powi(point)),
        // Halves, which round to even, and numbers next to powers of ten.
        1 => (-100_000..100_000i32, 0..6i32).prop_map(|(number, power)| f64::from(number) / 2f64.powi(power)),
        1 => (-300..300i32, -2..3i64).prop_map(|(power, beside)| {
            f64::from_bits((10f64.powi(power).to_bits() as i64 + beside) as u64)
        }),
        1 => prop::sample::select(vec![0.0, -0.0, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::NAN, f64::INFINITY]),
    ]
}

fn form() -> impl Strategy<Value = TextForm> {
    prop::sample::select(vec![TextForm::Fixed, TextForm::Exponent, TextForm::Double])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn the_fast_way_reads_as_the_plain_way(field in field(), decimals in 0..25u32) {
        let field = field.as_bytes();
        if let Some(value) = parse::integer(field) {
            prop_assert_eq!(Ok(value), slow::integer(field));
        }
        if let Some(value) = parse::real(field, decimals) {
            prop_assert_eq!(bits(Ok(value)), bits(slow::real(field, decimals)));
        }
    }

    #[test]
    fn common_fields_are_parsed_as_the_slow_path_does(
        value in number(), decimals in 0..20usize, width in 0..32usize, damage in 0..120usize, by in any::<u8>(),
    ) {
        let mut field = vec![0; width];
        if value.is_finite() && write_real(value, TextForm::Exponent, decimals as u32, &mut field).is_ok() {
            let result = parse::real(&field, decimals as u32);
            if let Some(result) = result {
                prop_assert_eq!(bits(Ok(result)), bits(slow::real(&field, decimals as u32)));
            }
            if let Some(byte) = field.get_mut(damage) {
                *byte = by;
            }
            if let Some(result) = parse::real(&field, decimals as u32) {
                prop_assert_eq!(bits(Ok(result)), bits(slow::real(&field, decimals as u32)), "{:?}", field);
            }
        }
    }

    #[test]
    fn fields_are_parsed_as_the_standard_library_does(value in number(), precision in 0..20usize, width in 0..30usize) {
        for text in [format!("{value:width$.precision$E}"), format!("{value:.precision$}"), format!("{value:?}")] {
            let expected: f64 = text.trim().parse().unwrap();
            // Without a point, decimals are implied; this test omits them.
            let result = parse_real(text.as_bytes(), 0);
            let lost = expected.is_infinite() && value.is_finite();
            if lost {
                prop_assert_eq!(result, Err(TextError::OutOfRange));
            } else {
                let (result, expected) = (result.unwrap(), expected);
                prop_assert!(result.to_bits() == expected.to_bits() || result.is_nan() && expected.is_nan(), "{}", text);
            }
        }
    }

    #[test]
    fn integers_are_written_and_read(value in any::<i64>(), shift in 0..64u32, width in 0..25usize) {
        let value = value >> shift;
        let mut field = vec![b'x'; width];
        let expected = format!("{value:width$}");
        match write_integer(value, &mut field) {
            Ok(()) => {
                prop_assert_eq!(str::from_utf8(&field).unwrap(), &expected);
                prop_assert_eq!(parse_integer(&field), Ok(value));
            }
            Err(error) => {
                prop_assert_eq!(error, TextError::TooWide);
                prop_assert!(expected.len() > width && field.iter().all(|&byte| byte == b'*'));
            }
        }
    }

    #[test]
    fn the_fast_way_writes_as_the_plain_way(value in number(), form in form(), decimals in 0..20u32, width in 1..40usize) {
        let (mut fast, mut plain) = (vec![b'x'; width], vec![b'y'; width]);
        let expected = slow::write_real(value, form, decimals, &mut plain);
        if let Some(result) = write::real(value, form, decimals, &mut fast) {
            prop_assert_eq!(result, expected);
            prop_assert_eq!(String::from_utf8(fast).unwrap(), String::from_utf8(plain).unwrap());
        }
    }

    #[test]
    fn the_plain_way_writes_as_the_standard_library(value in number(), form in form(), decimals in 0..20usize) {
        let mut field = vec![b'x'; 400];
        let result = write_real(value, form, decimals as u32, &mut field);
        if !value.is_finite() {
            prop_assert_eq!(result, Err(TextError::NotFinite));
            return Ok(());
        }
        let text = str::from_utf8(&field).unwrap().trim_start();
        let point = if decimals == 0 { "." } else { "" };
        if form == TextForm::Fixed {
            prop_assert_eq!(text, format!("{value:.decimals$}{point}"));
            return Ok(());
        }
        let notation = text.replace('D', "E");
        let (digits, power) = notation.split_once('E').unwrap();
        let std = format!("{value:.decimals$E}");
        let (std_digits, std_power) = std.split_once('E').unwrap();
        prop_assert_eq!(digits, format!("{std_digits}{point}"));
        prop_assert_eq!(power.parse::<i32>().unwrap(), std_power.parse::<i32>().unwrap());
        prop_assert!(power.len() >= 3);
    }

    #[test]
    fn seventeen_digits_come_back(value in number()) {
        let mut field = [0; 25];
        if value.is_finite() {
            write_real(value, TextForm::Double, 17, &mut field).unwrap();
            prop_assert_eq!(bits(parse_real(&field, 17)), Ok(value.to_bits()));
        }
    }

    #[test]
    fn any_bytes_are_a_number_or_not(field in prop::collection::vec(any::<u8>(), 0..40), decimals in any::<u32>()) {
        let _ = (parse_integer(&field), parse_real(&field, decimals));
    }
}

/// Counts how often the fast path applies: it must for typical tables.
#[test]
fn integers_about_eight_digits_are_written_in_fields_of_any_width() {
    for value in [0, 7, 9_999_999, 10_000_000, 99_999_999, 100_000_000, i64::MAX, i64::MIN] {
        for value in [value, value.wrapping_neg()] {
            for width in 0..24 {
                let mut field = vec![b'x'; width];
                let text = format!("{value:width$}");
                let fits = text.len() == width;
                let expected = if fits { text } else { "*".repeat(width) };
                assert_eq!(write_integer(value, &mut field).is_ok(), fits, "{value} in {width}");
                assert_eq!(String::from_utf8(field).unwrap(), expected);
            }
        }
    }
}

#[test]
fn usual_numbers_go_the_fast_way() {
    for text in [
        " 1.2345678E+03",
        "-1.2345678901234567D-09",
        "   123.4567  ",
        "12345",
        "       0.0",
        "1.5+3",
        "-0.0",
    ] {
        assert!(parse::real(text.as_bytes(), 3).is_some(), "{text}");
    }
    for text in ["   123456789012345678", " -7 ", "      "] {
        assert!(parse::integer(text.as_bytes()).is_some(), "{text}");
    }
    let mut field = [0; 30];
    for value in [1.5, -1234.567, 1e-9, 3.25e15, 0.0, -0.0, 1e22] {
        assert!(write::real(value, TextForm::Exponent, 7, &mut field).is_some(), "{value}");
        assert!(write::real(value, TextForm::Double, 15, &mut field).is_some(), "{value}");
    }
    for value in [1.5, -1234.567, 1e-9, 0.0] {
        assert!(write::real(value, TextForm::Fixed, 4, &mut field).is_some(), "{value}");
    }
}

#[test]
fn rule_38_texts() {
    for (text, decimals, value) in [
        ("1.5D+02", 2, 150.0),
        ("1.5+3", 2, 1500.0),
        ("1.5-3", 2, 0.0015),
        ("-1.5E-1", 2, -0.15),
        ("12345", 3, 12.345),
        ("-5", 2, -0.05),
        ("5E2", 1, 50.0),
        ("1.5e1", 0, 15.0),
        ("1.", 5, 1.0),
        (".5", 5, 0.5),
        ("+.5", 5, 0.5),
        ("", 2, 0.0),
        ("\0\0", 2, 0.0),
        ("0E99999", 0, 0.0),
        ("1E-99999999999", 0, 0.0),
        ("00000000000000000000000000000000001.5", 0, 1.5),
        ("9007199254740993", 0, 9007199254740992.0),
        ("9007199254740992.99999999999999999999", 0, 9007199254740992.0),
        ("9007199254740993.00000000000000000001", 0, 9007199254740994.0),
    ] {
        for text in [
            text.to_owned(),
            format!("   {text}"),
            format!("{text}      "),
            format!(" {text:^40} "),
        ] {
            assert_eq!(parse_real(text.as_bytes(), decimals), Ok(value), "{text:?}");
        }
    }
    assert_eq!(bits(parse_real(b" -0.0", 0)), Ok((-0.0f64).to_bits()));
    assert!(parse_real(b" NaN", 0).unwrap().is_nan());
    assert_eq!(parse_real(b"-INF ", 0), Ok(f64::NEG_INFINITY));
    for text in [
        "*", "1 2", "- 5", "1.5E", "1.5E+", "E5", ".", "+", "-.", "1.5.", "1,5", "0x10", "1.5E 3",
        "1.5F3", "1e5e5", "nana", "1\u{e9}",
    ] {
        assert_eq!(parse_real(text.as_bytes(), 0), Err(TextError::NotANumber), "{text}");
    }
    assert_eq!(parse_real(b"1E400", 0), Err(TextError::OutOfRange));
    let many = [&b"1"[..], &[b'0'; 2000], b"E-2000"].concat();
    assert_eq!(parse_real(&many, 0), Ok(1.0));
}

#[test]
fn integers() {
    for (text, value) in [
        ("9223372036854775807", Ok(i64::MAX)),
        ("-9223372036854775808", Ok(i64::MIN)),
        ("9223372036854775808", Err(TextError::OutOfRange)),
        ("-99999999999999999999", Err(TextError::OutOfRange)),
        ("+00000000000000000000000000007", Ok(7)),
        ("1.5", Err(TextError::NotANumber)),
        ("1E3", Err(TextError::NotANumber)),
        ("1 2", Err(TextError::NotANumber)),
        ("-", Err(TextError::NotANumber)),
        ("***", Err(TextError::NotANumber)),
        ("\t7\0", Ok(7)),
    ] {
        assert_eq!(parse_integer(text.as_bytes()), value, "{text}");
    }
}

#[test]
fn numbers_are_formatted_for_their_field() {
    let write = |value, form, decimals, width: usize| {
        let mut field = vec![0; width];
        let result = write_real(value, form, decimals, &mut field);
        (String::from_utf8(field).unwrap(), result)
    };
    let fixed = |value, decimals, width| write(value, TextForm::Fixed, decimals, width);
    assert_eq!(fixed(-12.5, 3, 9), ("  -12.500".to_owned(), Ok(())));
    assert_eq!(fixed(0.5, 1, 2), (".5".to_owned(), Ok(())));
    assert_eq!(fixed(-0.5, 1, 3), ("-.5".to_owned(), Ok(())));
    assert_eq!(fixed(0.96, 1, 2), ("**".to_owned(), Err(TextError::TooWide)));
    assert_eq!(fixed(2.5, 0, 2), ("2.".to_owned(), Ok(())));
    assert_eq!(fixed(0.0, 0, 4), ("  0.".to_owned(), Ok(())));
    assert_eq!(fixed(-25.0, 0, 4), ("-25.".to_owned(), Ok(())));
    // The point is left out only if there is no room; readers of the form then imply it.
    assert_eq!(fixed(-25.0, 0, 3), ("-25".to_owned(), Ok(())));
    assert_eq!(fixed(125.0, 0, 3), ("125".to_owned(), Ok(())));
    assert_eq!(fixed(-0.001, 2, 6), (" -0.00".to_owned(), Ok(())));
    assert_eq!(fixed(f64::NAN, 2, 3), ("***".to_owned(), Err(TextError::NotFinite)));
    assert_eq!(fixed(1.0, u32::MAX, 6).1, Err(TextError::TooWide));
    let exponent = |value, decimals, width| write(value, TextForm::Exponent, decimals, width);
    assert_eq!(exponent(9.9996, 3, 9), ("1.000E+01".to_owned(), Ok(())));
    assert_eq!(exponent(9.9994, 3, 9), ("9.999E+00".to_owned(), Ok(())));
    assert_eq!(exponent(-1e-300, 2, 10), (" -1.00E-300".to_owned()[1..].to_owned(), Ok(())));
    assert_eq!(exponent(5.0, 0, 6), ("5.E+00".to_owned(), Ok(())));
    assert_eq!(exponent(-5.0, 0, 6), ("-5E+00".to_owned(), Ok(())));
    assert_eq!(exponent(0.0, 2, 8), ("0.00E+00".to_owned(), Ok(())));
    let (text, _) = exponent(5e-324, 1300, 1400);
    assert_eq!((text.trim_start().len(), text.ends_with("0E-324")), (1300 + 7, true));
    let (text, _) = fixed(f64::MAX, 1300, 1700);
    assert_eq!(text.trim_start().len(), 309 + 1301);
    assert!(!is_null_text(b"**", "***") && is_null_text(b"    ", ""));
}
