//! ASCII tables, compared with a twin: the standard library formats and parses the numbers.

use proptest::prelude::*;
use tachyfits::Rows;
use tachyfits::table::TextAs;

use crate::common::{Numbers, table, table_file};
use crate::read::{Ask, ONE, read};

/// Returns the value of a field, applying the rules one by one (Standard 4.0, sections 7.2.1 and 7.2.5).
fn float(field: &str, decimals: usize) -> f64 {
    let text = field.trim();
    if text.is_empty() {
        return 0.0;
    }
    let text = text.replace(['D', 'd', 'e'], "E");
    // The letter of an exponent is optional.
    let sign = text[1..].find(['+', '-']).map(|at| at + 1);
    let text = match sign {
        Some(at) if !text.contains('E') => format!("{}E{}", &text[..at], &text[at..]),
        _ => text,
    };
    let (digits, exponent) = text.split_once('E').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap();
    let implied = if digits.contains('.') { 0 } else { decimals as i32 };
    format!("{digits}E{}", exponent - implied).parse().unwrap()
}

fn field(kind: u64, width: usize, numbers: &mut Numbers) -> String {
    let integer = numbers.next() as i64 >> numbers.below(60);
    let decimal = integer as f64 / 1e5;
    let text = match kind {
        0 => String::new(),
        1 => "***".to_owned(),
        2 => integer.to_string(),
        3 => format!("{decimal:.3}"),
        4 => format!("{decimal:.4E}").replace('E', "D"),
        5 => format!("{:.2e}", decimal * 1e-20),
        6 => format!("{:.3}+{}", decimal % 100.0, numbers.below(20)),
        _ => "-0.0".to_owned(),
    };
    // Justified on either side, except for the text of null, whose position counts; text that is too wide is
    // replaced.
    match (text.len() > width, kind != 1 && numbers.one_in(2)) {
        (true, _) => format!("{:width$}", 7),
        (_, true) => format!("{text:>width$}"),
        (_, false) => format!("{text:<width$}"),
    }
}

/// Returns the columns of the twin's table: an integer, a word, a real number.
fn cards(decimals: usize, has_null: bool, scaled: bool) -> Vec<String> {
    let mut cards = ["TFORM1  = 'I20'", "TBCOL1  = 1", "TFORM2  = 'A4'", "TBCOL2  = 22"]
        .map(str::to_owned)
        .to_vec();
    cards.push(format!("TFORM3  = 'E24.{decimals}'"));
    cards.push("TBCOL3  = 27".to_owned());
    if has_null {
        cards.extend(["TNULL1  = '***'", "TNULL3  = '***'"].map(str::to_owned));
    }
    if scaled {
        cards.extend(["TSCAL3  = 0.5", "TZERO3  = 1.25"].map(str::to_owned));
    }
    cards
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn numbers_are_those_of_the_twin(
        rows in prop_oneof![0..5usize, 0..900usize],
        decimals in 0..6usize,
        scaled in any::<bool>(),
        has_null in any::<bool>(),
        seed in any::<u64>(),
        threads in 1..4usize,
    ) {
        let mut numbers = Numbers(seed);
        let (mut data, mut reals, mut integers, mut words) =
            (String::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            let real = match numbers.below(8) {
                1 if !has_null => 2,
                kind => kind,
            };
            let real = field(real, 24, &mut numbers);
            let kind = [0, 2, 2, if has_null { 1 } else { 2 }][numbers.below(4) as usize];
            let integer = field(kind, 20, &mut numbers);
            let word = &["ab  ", " cd ", "    ", "e  f"][numbers.below(4) as usize];
            data.push_str(&format!("{integer}|{word}\n{real}"));
            reals.push(real);
            integers.push(integer);
            words.push(word.trim_end().to_owned());
        }
        let cards = cards(decimals, has_null, scaled);
        let table = table(table_file("TABLE", [50, rows as u64], 0, &cards, data.as_bytes()));
        let ask = |column| Ask { column, raw: false, text: TextAs::Bytes, nulls: true };
        let options = ONE.threads(threads);
        let whole = Rows::Range(0..rows as u64);
        let answers = read(&table, &[ask(0), ask(1), ask(2)], &whole, &options).unwrap();
        let is_null = |field: &String| has_null && field.trim_end() == "***";
        for row in 0..rows {
            let number = |column: usize| {
                answers[column].0[8 * row..][..8].try_into().unwrap()
            };
            let nulls = [0, 1, 2].map(|column| answers[column].1.as_ref().unwrap()[row]);
            let (real, integer) = (&reals[row], &integers[row]);
            // Only a field that begins with the text of TNULL is null: leading blanks count.
            prop_assert_eq!(nulls, [u8::from(is_null(integer)), 0, 0]);
            if nulls[0] == 0 && !integer.contains('*') {
                let text = integer.trim();
                let expected = if text.is_empty() { 0 } else { text.parse::<i64>().unwrap() };
                prop_assert_eq!(i64::from_ne_bytes(number(0)), expected);
            }
            let actual = f64::from_ne_bytes(number(2));
            if is_null(real) {
                prop_assert!(actual.is_nan());
            } else {
                let value = float(real, decimals);
                let expected = if scaled { 1.25 + 0.5 * value } else { value };
                prop_assert_eq!(actual.to_bits(), expected.to_bits(), "{:?}", real);
            }
            let word = &answers[1].0[4 * row..][..4];
            prop_assert_eq!(std::str::from_utf8(word).unwrap().trim_end_matches('\0'), &words[row]);
        }
    }
}

#[test]
fn a_field_without_a_number_is_named() {
    let cards = ["TFORM1  = 'F6.2'", "TBCOL1  = 1", "TTYPE1  = 'MAG'"].map(str::to_owned);
    let mut data = b"  1.25".repeat(20_000);
    data[6 * 17_000..][..6].copy_from_slice(b" 1.2x ");
    data[6 * 18_000..][..6].copy_from_slice(b" bad  ");
    let table = table(table_file("TABLE", [6, 20_000], 0, &cards, &data));
    let ask = |raw| Ask { column: 0, raw, text: TextAs::Bytes, nulls: false };
    for threads in [1, 2, 4] {
        let options = ONE.threads(threads);
        let error = read(&table, &[ask(false)], &Rows::Range(0..20_000), &options).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.code(), "cell-text");
        assert!(text.contains("row 17001 (from 1) of column 1 (MAG)"), "{text}");
        assert!(text.contains("\" 1.2x \", not a number"), "{text}");
    }
    let error = read(&table, &[ask(false)], &Rows::List(&[18_000, 3]), &ONE).unwrap_err();
    assert!(error.to_string().contains("row 18001"), "{error}");
    assert!(read(&table, &[ask(false)], &Rows::Range(0..17_000), &ONE).is_ok());
    let raw = read(&table, &[ask(true)], &Rows::Range(17_000..17_001), &ONE).unwrap();
    assert_eq!(raw[0].0, b" 1.2x ");
}
