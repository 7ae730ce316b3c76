//! Random conditions, compared with plain code for each row.

use std::cmp::Ordering;

use proptest::prelude::*;
use tachyfits::{FitsFile, OpenOptions, RunOptions, Table};

use crate::common::{Numbers, table, table_file};

/// Value of a cell.
#[derive(Clone, Debug)]
enum Value {
    Integer(Option<i128>),
    /// An integer literal of a condition.
    Literal(i128),
    /// A number literal with one decimal, in tenths.
    Tenths(i128),
    Real(Option<f64>),
    Truth(Option<bool>),
    Text(Vec<u8>),
}

/// Columns of the table: their names in conditions, and their cards.
const COLUMNS: [(&str, &str, &str); 15] = [
    ("B8", "B", ""),
    ("i16", "I", ""),
    ("I32", "J", "TNULL=-1"),
    ("I64", "K", ""),
    ("K64", "K", "TNULL=5"),
    ("U16", "I", "TZERO=32768"),
    ("U64", "K", "TZERO=9223372036854775808"),
    ("S8", "B", "TZERO=-128"),
    ("F32", "E", ""),
    ("F64", "D", ""),
    ("SCALED", "I", "TNULL=3 TSCAL=0.5 TZERO=1.0"),
    ("FLAG", "L", ""),
    ("`AN ODD-NAME`", "8A", ""),
    ("ARRAY[2]", "3J", ""),
    ("BITS[11]", "11X", ""),
];

/// Returns a table of `rows` rows, its values and its bytes.
fn sample_table(rows: u64, seed: u64) -> (Table, Vec<Vec<Value>>, Vec<u8>) {
    let mut cards = Vec::new();
    for (number, (name, form, more)) in (1..).zip(COLUMNS) {
        let name = name.trim_matches('`').split('[').next().unwrap_or_default();
        cards.push(format!("TTYPE{number:<3}= '{name}'"));
        cards.push(format!("TFORM{number:<3}= '{form}'"));
        for card in more.split_whitespace() {
            let (root, value) = card.split_once('=').unwrap();
            cards.push(format!("{:<8}= {value}", format!("{root}{number}")));
        }
    }
    let mut numbers = Numbers(seed);
    let (mut bytes, mut values) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        values.push(row(&mut numbers, &mut bytes));
    }
    let row_bytes = bytes.len() as u64 / rows.max(1);
    let row_bytes = if rows == 0 {
        1 + 2 + 4 + 8 + 8 + 2 + 8 + 1 + 4 + 8 + 2 + 1 + 8 + 12 + 2
    } else {
        row_bytes
    };
    let file = table_file("BINTABLE", [row_bytes, rows], 0, &cards, &bytes);
    (table(file.clone()), values, file)
}

/// Returns a small number, or one of any magnitude.
fn some(numbers: &mut Numbers) -> i64 {
    match numbers.below(4) {
        0 => numbers.next() as i64,
        1 => (1 << 53) + numbers.below(4) as i64,
        _ => numbers.below(9) as i64 - 2,
    }
}

/// Contents of strings.
const TEXTS: [&[u8; 8]; 7] = [
    b"STAR    ",
    b"STAR\0xyz",
    b"GALAXY  ",
    b"\0\0\0\0\0\0\0\0",
    b"        ",
    b"STARBUCK",
    b"it's ok ",
];

/// Patterns of strings.
const PATTERNS: [&str; 12] =
    ["STAR", "STAR  ", "S%", "%R", "_TAR", "%TA_%", "STAR_%", "", "%", "it's__k", "%A%A%", "G%_Y"];

/// Matches a pattern and a text: the first character, then the rest.
fn is_like(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], _) => text.is_empty(),
        ([b'%', pattern_rest @ ..], _) => {
            (0..=text.len()).any(|skipped| is_like(pattern_rest, &text[skipped..]))
        }
        ([b'_', pattern_rest @ ..], [_, text_rest @ ..]) => is_like(pattern_rest, text_rest),
        ([first, pattern_rest @ ..], [character, text_rest @ ..]) => {
            first == character && is_like(pattern_rest, text_rest)
        }
        _ => false,
    }
}

/// Appends the bytes of a row and returns its values.
fn row(numbers: &mut Numbers, bytes: &mut Vec<u8>) -> Vec<Value> {
    let mut values = Vec::new();
    let integer = |value: i64| Value::Integer(Some(i128::from(value)));
    let byte = some(numbers) as u8;
    bytes.push(byte);
    values.push(integer(i64::from(byte)));
    let short = some(numbers) as i16;
    bytes.extend(short.to_be_bytes());
    values.push(integer(i64::from(short)));
    let int = some(numbers) as i32;
    bytes.extend(int.to_be_bytes());
    values.push(Value::Integer((int != -1).then_some(i128::from(int))));
    let long = some(numbers);
    bytes.extend(long.to_be_bytes());
    values.push(integer(long));
    let long = some(numbers);
    bytes.extend(long.to_be_bytes());
    values.push(Value::Integer((long != 5).then_some(i128::from(long))));
    let short = some(numbers) as u16;
    bytes.extend((short ^ 0x8000).to_be_bytes());
    values.push(integer(i64::from(short)));
    let long = some(numbers) as u64;
    bytes.extend((long ^ 1 << 63).to_be_bytes());
    values.push(Value::Integer(Some(i128::from(long))));
    let signed = some(numbers) as i8;
    bytes.push(signed as u8 ^ 0x80);
    values.push(integer(i64::from(signed)));
    let float = if numbers.one_in(5) { f32::NAN } else { some(numbers) as f32 / 2.0 };
    bytes.extend(float.to_be_bytes());
    values.push(Value::Real(Some(f64::from(float)).filter(|value| !value.is_nan())));
    let scale = [1.0, 4.0][numbers.below(2) as usize];
    let float = if numbers.one_in(5) { f64::NAN } else { some(numbers) as f64 / scale };
    bytes.extend(float.to_be_bytes());
    values.push(Value::Real(Some(float).filter(|value| !value.is_nan())));
    let short = some(numbers) as i16;
    bytes.extend(short.to_be_bytes());
    values.push(Value::Real((short != 3).then_some(1.0 + 0.5 * f64::from(short))));
    let (flag, truth) = [(b'T', Some(true)), (b'F', Some(false)), (0, None), (1, Some(true))]
        [numbers.below(4) as usize];
    bytes.push(flag);
    values.push(Value::Truth(truth));
    let text = TEXTS[numbers.below(7) as usize];
    bytes.extend(text);
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(8);
    values.push(Value::Text(String::from_utf8_lossy(&text[..end]).trim_end().as_bytes().to_vec()));
    let array = [0; 3].map(|_: i32| some(numbers) as i32);
    bytes.extend(array.iter().flat_map(|value| value.to_be_bytes()));
    values.push(integer(i64::from(array[1])));
    let bits = numbers.next() as u16;
    bytes.extend(bits.to_be_bytes());
    values.push(Value::Truth(Some(bits & 0x20 != 0)));
    values
}

/// A condition or a part of one.
#[derive(Clone, Debug)]
enum Condition {
    Compare(&'static str, Side, Side),
    And(&'static str, Box<Condition>, Box<Condition>),
    Or(&'static str, Box<Condition>, Box<Condition>),
    Not(&'static str, Box<Condition>),
    /// A logical column as a condition.
    Column(usize),
    IsNull(&'static str, usize),
    /// A text matches a pattern, or does not.
    Like(&'static str, bool),
}

/// A side of a comparison.
#[derive(Clone, Debug)]
enum Side {
    Column(usize),
    Row,
    Integer(i128),
    Real(f64),
    /// A number with one decimal, in tenths.
    Tenths(i128),
    /// Infinity and NaN, which are names.
    Odd(&'static str, f64),
    /// Sum of a column and a number.
    Sum(usize, f64),
    /// Bits of an integer column and a number.
    Bits(&'static str, usize, i128),
    Text(&'static str),
}

const NUMBERS: usize = 11;
/// The first of the numeric columns are integers.
const INTEGERS: usize = 8;
const FLAG: usize = 11;
const TEXT: usize = 12;
const ARRAY: usize = 13;
const BIT: usize = 14;

fn side() -> impl Strategy<Value = Side> {
    let column = || prop_oneof![NUMBERS as u32 => 0..NUMBERS, 1 => Just(ARRAY)];
    let near = (1i128 << 53) - 2..(1i128 << 53) + 5;
    prop_oneof![
        6 => column().prop_map(Side::Column),
        1 => Just(Side::Row),
        2 => (-4..9i128).prop_map(Side::Integer),
        1 => near.prop_map(Side::Integer),
        1 => any::<i64>().prop_map(|value| Side::Integer(value.into())),
        1 => any::<u64>().prop_map(|value| Side::Integer(value.into())),
        2 => (-8..20i32).prop_map(|value| Side::Real(f64::from(value) / 4.0)),
        2 => (-100..100i128).prop_map(|add| Side::Tenths((1 << 53) * 10 + add)),
        1 => (any::<i64>(), 0..30i128)
            .prop_map(|(value, add)| Side::Tenths(i128::from(value) * 10 + add)),
        1 => (any::<u64>(), 0..30i128)
            .prop_map(|(value, add)| Side::Tenths(i128::from(value) * 10 + add)),
        1 => any::<i64>().prop_map(|value| Side::Tenths(i128::from(value) * (1 << 40))),
        1 => prop::sample::select(vec![("nan", f64::NAN), ("inf", f64::INFINITY)])
            .prop_map(|(name, value)| Side::Odd(name, value)),
        1 => (column(), -8..8i32).prop_map(|(column, add)| Side::Sum(column, f64::from(add) / 2.0)),
        1 => (prop::sample::select(vec!["&", "|"]), 0..INTEGERS, -9..1i128 << 20)
            .prop_map(|(symbol, column, bits)| Side::Bits(symbol, column, bits)),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let operator = || prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]);
    let text = || {
        prop::sample::select(vec![
            "STAR",
            "GALAXY",
            "",
            "  ",
            "STAR  ",
            "it's ok",
            "STARB",
            "STARBUCKS",
        ])
    };
    let leaf = prop_oneof![
        6 => (operator(), side(), side()).prop_map(|(operator, a, b)| Condition::Compare(operator, a, b)),
        2 => (operator(), text(), any::<bool>()).prop_map(|(operator, text, swap)| {
            let sides = [Side::Column(TEXT), Side::Text(text)];
            let [a, b] = if swap { let [a, b] = sides; [b, a] } else { sides };
            Condition::Compare(operator, a, b)
        }),
        2 => (prop::sample::select(PATTERNS.to_vec()), any::<bool>())
            .prop_map(|(pattern, is_like)| Condition::Like(pattern, is_like)),
        1 => prop::sample::select(vec![FLAG, BIT]).prop_map(Condition::Column),
        1 => (prop::sample::select(vec!["isnull", "isnan"]), 0..COLUMNS.len())
            .prop_map(|(name, column)| Condition::IsNull(name, column)),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let two = || (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        prop_oneof![
            (prop::sample::select(vec!["&&", "and", "&"]), two())
                .prop_map(|(word, (a, b))| Condition::And(word, a, b)),
            (prop::sample::select(vec!["||", "or", "|"]), two())
                .prop_map(|(word, (a, b))| Condition::Or(word, a, b)),
            (prop::sample::select(vec!["!", "not ", "~"]), inner.prop_map(Box::new))
                .prop_map(|(word, a)| Condition::Not(word, a)),
        ]
    })
}

fn name(column: usize) -> &'static str {
    COLUMNS[column].0
}

impl Side {
    fn text(&self) -> String {
        match self {
            Side::Column(column) => name(*column).to_owned(),
            Side::Row => "ROW".to_owned(),
            Side::Integer(value) => value.to_string(),
            Side::Real(value) => format!("{value:?}"),
            Side::Tenths(tenths) => {
                let sign = if *tenths < 0 { "-" } else { "" };
                let tenths = tenths.unsigned_abs();
                match tenths % 3 {
                    0 => format!("{sign}{tenths}e-1"),
                    1 => format!("{sign}0.00{tenths:040}00E+41"),
                    _ => format!("{sign}{}.{}", tenths / 10, tenths % 10),
                }
            }
            Side::Odd(name, _) => (*name).to_owned(),
            Side::Sum(column, value) => format!("{} + {value:?}", name(*column)),
            Side::Bits(symbol, column, bits) => format!("({} {symbol} {bits})", name(*column)),
            Side::Text(text) if text.contains('\'') => format!("\"{text}\""),
            Side::Text(text) => format!("'{text}'"),
        }
    }

    fn value(&self, row: usize, values: &[Value]) -> Value {
        match self {
            Side::Column(column) => values[*column].clone(),
            Side::Row => Value::Integer(Some(row as i128 + 1)),
            Side::Integer(value) => Value::Literal(*value),
            Side::Real(value) => Value::Real(Some(*value)),
            Side::Tenths(tenths) => Value::Tenths(*tenths),
            Side::Odd(_, value) => Value::Real(Some(*value)),
            Side::Sum(column, value) => Value::Real(real(&values[*column]).map(|x| x + value)),
            Side::Bits(symbol, column, bits) => {
                let Value::Integer(value) = values[*column] else { panic!("an integer") };
                let both = |value: i128| if *symbol == "&" { value & bits } else { value | bits };
                Value::Integer(value.map(both))
            }
            Side::Text(text) => Value::Text(text.trim_end().as_bytes().to_vec()),
        }
    }
}

fn real(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => value.map(|value| value as f64),
        Value::Literal(value) => Some(*value as f64),
        Value::Tenths(tenths) => format!("{tenths}e-1").parse().ok(),
        Value::Real(value) => *value,
        other => panic!("{other:?} is no number"),
    }
}

/// Compares two values: integers exactly, other numbers in f64.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Integer(a), Value::Integer(b)) => a.zip(*b).map(|(a, b)| a.cmp(&b)),
        (Value::Literal(a), Value::Literal(b)) => Some(a.cmp(b)),
        (Value::Integer(a), Value::Literal(b)) => a.map(|a| a.cmp(b)),
        (Value::Integer(a), Value::Tenths(b)) => a.map(|a| (a * 10).cmp(b)),
        (Value::Integer(a), Value::Real(b)) => a.zip(*b).and_then(|(a, b)| exact_order(a, b)),
        (_, Value::Integer(_)) => order(b, a).map(Ordering::reverse),
        _ => real(a).zip(real(b)).and_then(|(a, b)| a.partial_cmp(&b)),
    }
}

/// Compares an integer with a number.
fn exact_order(a: i128, b: f64) -> Option<Ordering> {
    if b.is_nan() || b.abs() > 1e30 {
        return 0.0.partial_cmp(&b);
    }
    let floor = b.floor();
    Some(a.cmp(&(floor as i128)).then(if floor < b { Ordering::Less } else { Ordering::Equal }))
}

fn holds(operator: &str, order: Option<Ordering>) -> bool {
    order.is_some_and(|order| match operator {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        "==" => order.is_eq(),
        _ => order.is_ne(),
    })
}

impl Condition {
    fn text(&self) -> String {
        match self {
            Condition::Compare(operator, a, b) => format!("{} {operator} {}", a.text(), b.text()),
            Condition::And(word, a, b) | Condition::Or(word, a, b) => {
                format!("({}) {word} ({})", a.text(), b.text())
            }
            Condition::Not(word, a) => format!("{word}({})", a.text()),
            Condition::Column(column) => name(*column).to_lowercase(),
            Condition::IsNull(word, column) => format!("{word}({})", name(*column)),
            Condition::Like(pattern, is_like) => {
                let word = if *is_like { "LIKE" } else { "not like" };
                format!("{} {word} {}", name(TEXT), Side::Text(pattern).text())
            }
        }
    }

    fn holds(&self, row: usize, values: &[Value]) -> bool {
        match self {
            Condition::Compare(operator, a, b) => {
                holds(operator, order(&a.value(row, values), &b.value(row, values)))
            }
            Condition::And(_, a, b) => a.holds(row, values) && b.holds(row, values),
            Condition::Or(_, a, b) => a.holds(row, values) || b.holds(row, values),
            Condition::Not(_, a) => !a.holds(row, values),
            Condition::Column(column) => matches!(values[*column], Value::Truth(Some(true))),
            Condition::Like(pattern, expected) => {
                let Value::Text(text) = &values[TEXT] else { panic!("a text") };
                is_like(pattern.trim_end().as_bytes(), text) == *expected
            }
            Condition::IsNull(_, column) => match &values[*column] {
                Value::Integer(value) => value.is_none(),
                Value::Real(value) => value.is_none(),
                Value::Truth(value) => value.is_none(),
                Value::Text(text) => text.is_empty(),
                Value::Literal(_) | Value::Tenths(_) => false,
            },
        }
    }
}

/// Returns the rows that match the condition.
fn naive(condition: &Condition, values: &[Vec<Value>]) -> Vec<u64> {
    let rows = (0..).zip(values);
    rows.filter(|(row, values)| condition.holds(*row as usize, values))
        .map(|(row, _)| row)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn conditions_choose_the_rows_that_the_plain_way_chooses(
        condition in condition(), rows in 0..3000u64, seed in any::<u64>(), first in 0..100u64,
    ) {
        let (table, values, _) = sample_table(rows, seed);
        let expected = naive(&condition, &values);
        let rows_found = crate::rows(&table, &condition.text()).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(&rows_found, &expected, "{}", condition.text());
        let part = first.min(rows)..rows - rows / 3;
        let (rows_found, _) = table.rows_where(&condition.text(), part.clone(), &RunOptions::default()).unwrap();
        let expected: Vec<u64> = expected.into_iter().filter(|row| part.contains(row)).collect();
        prop_assert_eq!(rows_found, expected);
    }
}

/// Rows are in ascending order for any number of threads, from files and from memory.
#[test]
fn threads_and_storages_find_the_same() {
    let (table, values, bytes) = sample_table(60_000, 7);
    let condition =
        "I32 > 0 && (F64 < 2.0 || `an odd-name` == 'STAR') && !(U64 >= 9007199254740993)";
    let expected = crate::rows(&table, condition).unwrap();
    assert!(expected.len() > 1000 && expected.len() < 50_000 && expected.is_sorted());
    assert_eq!(values.len(), 60_000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.fits");
    #[expect(clippy::disallowed_methods, reason = "a file to open, of bytes made here")]
    std::fs::write(&path, bytes).unwrap();
    let from_file = FitsFile::open(&path, &OpenOptions::default()).unwrap().table(1).unwrap();
    for threads in [1, 2, 5] {
        for table in [&table, &from_file] {
            let options = RunOptions::default().threads(threads);
            let (rows, report) = table.rows_where(condition, 0..60_000, &options).unwrap();
            assert!(rows == expected, "{threads} threads");
            assert!(report.bytes > 0);
        }
    }
}

/// Only the needed columns of very long rows are read.
#[test]
fn long_rows_are_read_in_parts() {
    let cards = ["TFORM1  = 'J'", "TFORM2  = '100000A'", "TFORM3  = 'I'"].map(str::to_owned);
    let rows = 37u64;
    let mut bytes = Vec::new();
    for row in 0..rows as i32 {
        bytes.extend((row % 5).to_be_bytes());
        bytes.extend([b'x'; 100_000]);
        bytes.extend((row as i16).to_be_bytes());
    }
    let table = table(table_file("BINTABLE", [100_006, rows], 0, &cards, &bytes));
    let rows = crate::rows(&table, "col1 == 3 && col3 > 10").unwrap();
    assert_eq!(rows, [13, 18, 23, 28, 33]);
    assert_eq!(
        crate::rows(&table, "col2[1] > 'x' && col1 == 4").unwrap(),
        [4, 9, 14, 19, 24, 29, 34]
    );
}
