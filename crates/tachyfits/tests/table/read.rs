//! Columns compared with the twin: any combination of columns, any rows, any number of threads.

use proptest::prelude::*;
use tachyfits::io::Buffering;
use tachyfits::table::{ColumnOutput, TextAs};
use tachyfits::{Error, Rows, RunOptions, Table};

use crate::common::table;
use crate::made::{TableFixture, tables};
use crate::model::{Spec, same_values};

pub const ONE: RunOptions<'static> = RunOptions::new().threads(1).buffering(Buffering::Single);

/// A request for a column.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub column: usize,
    pub raw: bool,
    pub text: TextAs,
    pub nulls: bool,
}

/// Values and nulls of each requested column, and the number of invalid elements.
pub type Answers = Vec<(Vec<u8>, Option<Vec<u8>>, u64)>;

/// Reads columns into arrays of the right size, which are first filled with other bytes.
pub fn read(
    table: &Table,
    asks: &[Ask],
    rows: &Rows<'_>,
    options: &RunOptions<'_>,
) -> Result<Answers, Error> {
    let mut answers: Answers = Vec::new();
    for ask in asks {
        let cells = table.cells(ask.column, ask.raw)?;
        let wide = matches!(cells.kind, tachyfits::table::CellKind::Text { .. })
            && ask.text == TextAs::Ucs4;
        let elements = (cells.elements() * rows.len()) as usize;
        let bytes = elements * cells.kind.bytes() as usize * if wide { 4 } else { 1 };
        answers.push((vec![0x5a; bytes], ask.nulls.then(|| vec![0x5a; elements]), 0));
    }
    let mut columns: Vec<ColumnOutput<'_>> = answers
        .iter_mut()
        .zip(asks)
        .map(|((values, nulls, _), ask)| {
            let Ask { column, raw, text, .. } = *ask;
            ColumnOutput::new(column, values).raw(raw).nulls(nulls.as_deref_mut()).text(text).odd(9)
        })
        .collect();
    table.read(&mut columns, rows, options)?;
    let odd: Vec<u64> = columns.iter().map(|column| column.odd).collect();
    answers.iter_mut().zip(odd).for_each(|(answer, odd)| answer.2 = odd);
    Ok(answers)
}

/// Returns the result of the twin for some rows of a column.
fn expected(fixture: &TableFixture, ask: Ask, rows: &[u64]) -> (Vec<u8>, Vec<u8>, u64) {
    let column = &fixture.columns[ask.column];
    let (mut values, mut nulls, mut odd) = (Vec::new(), Vec::new(), 0);
    for &row in rows {
        let field = fixture.field(ask.column, row as usize);
        let cell = match column.pointer {
            None => column.cell(field, ask.raw, ask.text),
            // The descriptor as two signed integers.
            Some(pointer) => {
                let letter = if pointer == 'P' { 'J' } else { 'K' };
                let repeat = 2 * column.repeat;
                let pair = Spec { letter, repeat, pointer: None, ..column.clone() };
                (pair.elements(field, repeat, true).0, vec![0; repeat])
            }
        };
        values.extend(cell.0);
        nulls.extend(cell.1);
        if column.letter == 'A' && column.pointer.is_none() && !ask.raw {
            odd += column.odd_strings(field);
        }
        if column.letter == 'L' && !ask.raw {
            // Elements beyond the dimensions are not read.
            let length = column.dimensions.iter().product::<usize>();
            let length = if column.dimensions.is_empty() { field.len() } else { length };
            odd += field[..length].iter().filter(|byte| !b"TF\0".contains(byte)).count() as u64;
        }
    }
    (values, nulls, odd)
}

/// Selected rows: a range, or a list in any order, as numbers to scale.
#[derive(Clone, Debug)]
enum Choice {
    Range(u64, u64),
    List(Vec<u64>),
}

fn choices() -> impl Strategy<Value = Choice> {
    let list = prop::collection::vec(any::<u64>(), 0..300);
    let ascending = list.clone().prop_map(|mut rows| {
        rows.sort_unstable();
        Choice::List(rows)
    });
    prop_oneof![
        2 => (any::<u64>(), any::<u64>()).prop_map(|(first, last)| Choice::Range(first, last)),
        1 => Just(Choice::Range(0, u64::MAX)),
        1 => ascending,
        1 => list.prop_map(Choice::List),
    ]
}

impl Choice {
    /// Returns the numbers of the selected rows of a table with `count` rows.
    fn rows(&self, count: u64) -> Vec<u64> {
        // Scaling keeps the order of numbers.
        let within = |x: u64| ((u128::from(x) * u128::from(count)) >> 64) as u64;
        match self {
            Choice::Range(first, last) => {
                let end = if *last == u64::MAX { count } else { within(*last) };
                (within(*first).min(end)..end).collect()
            }
            Choice::List(_) if count == 0 => Vec::new(),
            Choice::List(rows) => rows.iter().map(|&row| within(row)).collect(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn columns_are_those_of_the_twin(
        fixture in tables(),
        picks in prop::collection::vec((any::<u64>(), 0..8u8), 1..6),
        choice in choices(),
        threads in 1..4usize,
    ) {
        let table = table(fixture.bytes());
        let asks: Vec<Ask> = picks
            .iter()
            .map(|&(pick, flags)| {
                let column = (pick % fixture.columns.len() as u64) as usize;
                // Arrays in the heap can only be read as descriptors.
                let raw = flags & 1 != 0 || fixture.columns[column].pointer.is_some();
                let text = if flags & 2 != 0 { TextAs::Ucs4 } else { TextAs::Bytes };
                Ask { column, raw, text, nulls: flags & 4 != 0 }
            })
            .collect();
        let rows = choice.rows(fixture.rows as u64);
        let selection = match (&choice, rows.first()) {
            (Choice::Range(..), None) => Rows::Range(0..0),
            (Choice::Range(..), Some(&first)) => Rows::Range(first..first + rows.len() as u64),
            (Choice::List(_), _) => Rows::List(&rows),
        };
        let options = ONE.threads(threads);
        let answers = read(&table, &asks, &selection, &options).unwrap();
        for (ask, (values, nulls, odd)) in asks.iter().zip(answers) {
            let (expected_values, expected_nulls, expected_odd) = expected(&fixture, *ask, &rows);
            let spec = &fixture.columns[ask.column];
            let raw = Spec { scaling: crate::model::Scaling::None, ..spec.clone() };
            let as_read = if ask.raw { &raw } else { spec };
            prop_assert!(same_values(as_read, &values, &expected_values), "{:?} {:?}", ask, spec);
            if let Some(nulls) = nulls {
                prop_assert_eq!(nulls, expected_nulls, "{:?} {:?}", ask, spec);
            }
            prop_assert_eq!(odd, expected_odd);
        }
    }
}

/// Rows so long that columns are read separately, and lists that skip most of the file.
#[test]
fn long_rows_and_scattered_rows() {
    let wide = |letter: char, repeat: usize| Spec {
        letter,
        repeat,
        scaling: crate::model::Scaling::None,
        null: None,
        dimensions: Vec::new(),
        pointer: None,
    };
    for filler in [300, 5_000, 40_000, 70_000] {
        let columns = vec![
            wide('I', 1),
            wide('B', filler),
            wide('E', 3),
            wide('D', filler / 8),
            wide('J', 1),
        ];
        let fixture = TableFixture::new(columns, 57, filler as u64);
        let table = table(fixture.bytes());
        let all: Vec<u64> = (0..57).collect();
        let some = [0, 1, 2, 9, 9, 40, 56];
        let mixed = [56, 3, 3, 0, 41];
        let selections = [
            (Rows::Range(0..57), &all[..]),
            (Rows::List(&some), &some[..]),
            (Rows::List(&mixed), &mixed[..]),
        ];
        for columns in [&[0][..], &[0, 4], &[4, 2], &[1, 3], &[0, 1, 2, 3, 4], &[1]] {
            let ask = |&column| Ask { column, raw: false, text: TextAs::Bytes, nulls: true };
            let asks: Vec<Ask> = columns.iter().map(ask).collect();
            for (rows, numbers) in &selections {
                for threads in [1, 3] {
                    let options = ONE.threads(threads);
                    let answers = read(&table, &asks, rows, &options).unwrap();
                    for (ask, (values, nulls, _)) in asks.iter().zip(answers) {
                        let (expected, no_nulls, _) = expected(&fixture, *ask, numbers);
                        assert!(values == expected, "{filler} {ask:?} {rows:?}");
                        assert_eq!(nulls.unwrap(), no_nulls);
                    }
                }
            }
        }
    }
}

#[test]
fn arrays_of_another_size_and_rows_that_are_not_there() {
    let fixture = TableFixture::new(
        vec![Spec {
            letter: 'J',
            repeat: 2,
            scaling: crate::model::Scaling::None,
            null: Some(1),
            dimensions: Vec::new(),
            pointer: None,
        }],
        5,
        1,
    );
    let table = table(fixture.bytes());
    let code = |rows: Rows<'_>, values: usize, nulls: Option<usize>| {
        let (mut values, mut nulls) = (vec![0; values], nulls.map(|count| vec![0; count]));
        let column =
            ColumnOutput::new(0, &mut values).nulls(nulls.as_deref_mut()).text(TextAs::Bytes);
        table.read(&mut [column], &rows, &ONE).map(drop).map_err(|error| error.code())
    };
    assert_eq!(code(Rows::Range(0..5), 40, Some(10)), Ok(()));
    assert_eq!(code(Rows::Range(0..5), 39, None), Err("output"));
    assert_eq!(code(Rows::Range(0..5), 40, Some(5)), Err("output"));
    assert_eq!(code(Rows::Range(5..5), 0, Some(0)), Ok(()));
    assert_eq!(code(Rows::Range(4..6), 16, None), Err("rows"));
    assert_eq!(code(Rows::List(&[0, u64::MAX]), 16, None), Err("rows"));
    #[expect(
        clippy::reversed_empty_ranges,
        reason = "a range that ends before it begins has no rows"
    )]
    let backwards = Rows::Range(7..3);
    assert_eq!(code(backwards, 0, None), Ok(()));
    assert_eq!(table.cells(1, false).unwrap_err().code(), "column");
}

/// Columns that are read directly into the output: whole rows, and cells of megabytes.
#[test]
fn columns_swapped_in_place() {
    let plain = |letter: char, repeat: usize| Spec {
        letter,
        repeat,
        scaling: crate::model::Scaling::None,
        null: None,
        dimensions: Vec::new(),
        pointer: None,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.fits");
    for (columns, rows) in [
        (vec![plain('J', 1)], 300_001),
        (vec![plain('C', 3)], 5_000),
        (vec![plain('I', 3), plain('D', 600_000), plain('B', 1)], 3),
    ] {
        let wide_column = columns.len() / 2;
        let fixture = TableFixture::new(columns, rows, 17);
        #[expect(clippy::disallowed_methods, reason = "the test makes a file of its own")]
        std::fs::write(&path, fixture.bytes()).unwrap();
        let file = tachyfits::FitsFile::open(&path, &tachyfits::OpenOptions::default()).unwrap();
        let table = file.table(1).unwrap();
        let last = rows as u64;
        for (first, last) in [(0, last), (1, last), (1, last - 1)] {
            let numbers: Vec<u64> = (first..last).collect();
            let ask = Ask { column: wide_column, raw: false, text: TextAs::Bytes, nulls: true };
            let (expected, no_nulls, _) = expected(&fixture, ask, &numbers);
            for threads in [1, 3] {
                let options = ONE.threads(threads);
                let answers = read(&table, &[ask], &Rows::Range(first..last), &options).unwrap();
                assert!(answers[0].0 == expected, "{first} to {last}");
                assert_eq!(answers[0].1.as_ref(), Some(&no_nulls));
            }
        }
    }
}
