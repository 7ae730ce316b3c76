//! Damaged and hostile tables: each gives values, warnings or one clear error; never a panic, a hang, or an
//! excessive use of memory: this program has a limit.

use tachyfits::table::{CellKind, TextAs};
use tachyfits::{Error, ErrorKind, FitsFile, OpenOptions, Rows, Table};

use crate::common::{BLOCK, Numbers, table_file};
use crate::made::TableFixture;
use crate::model::{Scaling, Spec};
use crate::read::{Ask, ONE, read};

const NAME: &str = "made.fits";

/// Maximum number of bytes that a test allocates.
const READABLE: u128 = 1 << 20;

fn files() -> Vec<Vec<u8>> {
    let spec = |letter: char, repeat: usize, pointer: Option<char>| Spec {
        letter,
        repeat,
        scaling: if letter == 'I' { Scaling::By(0.5, 1.0) } else { Scaling::None },
        null: (letter == 'J').then_some(1),
        dimensions: if repeat == 6 { vec![3, 2] } else { Vec::new() },
        pointer,
    };
    let columns = vec![
        spec('J', 1, None),
        spec('I', 6, None),
        spec('A', 6, None),
        spec('X', 11, None),
        spec('L', 1, None),
        spec('E', 1, Some('P')),
        spec('M', 1, None),
        spec('X', 1, Some('Q')),
    ];
    let cards = [
        "TFORM1  = 'I5      '",
        "TBCOL1  =                    1",
        "TFORM2  = 'E9.2    '",
        "TBCOL2  =                    7",
        "TFORM3  = 'A3      '",
        "TBCOL3  =                    4",
        "TNULL1  = '*       '",
        "TSCAL2  =                  2.0",
    ];
    let text = b"   12  1.50E+02*      -1.5+3   ".repeat(9);
    let text = table_file("TABLE", [15, 18], 0, &cards.map(str::to_owned), &text[..270]);
    vec![TableFixture::new(columns, 20, 5).bytes(), text]
}

/// Reads everything that can be read from a file; returns the numbers of results and errors.
fn exercise(bytes: Vec<u8>) -> (usize, usize) {
    let (mut results, mut errors) = (0, 0);
    let mut take = |result: Result<(), Error>| match result {
        Ok(()) => results += 1,
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains(NAME) && text.lines().count() == 1, "{text}");
            errors += 1;
        }
    };
    match FitsFile::from_bytes(NAME, bytes, &OpenOptions::default()) {
        Err(error) => take(Err(error)),
        Ok(file) => {
            for index in 0..=file.hdus().len() {
                match file.table(index) {
                    Err(error) => take(Err(error)),
                    Ok(table) => exercise_table(&table, &mut take),
                }
            }
        }
    }
    (results, errors)
}

fn exercise_table(table: &Table, take: &mut dyn FnMut(Result<(), Error>)) {
    let count = table.layout().rows;
    let last = count.saturating_sub(1);
    let lists = [vec![last, 0, last], vec![0]];
    for column in 0..table.layout().columns.len() {
        let whole = [Rows::Range(0..count), Rows::Range(0..count.min(3))];
        for rows in whole.into_iter().chain(lists.iter().map(|list| Rows::List(list))) {
            for raw in [false, true] {
                let cells = table.cells(column, raw).unwrap();
                let wide = matches!(cells.kind, CellKind::Text { .. });
                let cell = u128::from(cells.elements()) * u128::from(cells.kind.bytes() + 1);
                if cell * u128::from(rows.len()) * if wide { 4 } else { 1 } > READABLE {
                    continue;
                }
                let ask = Ask { column, raw, text: TextAs::Ucs4, nulls: true };
                take(read(table, &[ask], &rows, &ONE).map(drop));
                take(table.read_arrays(column, raw, &rows, &ONE).map(drop));
            }
        }
    }
}

#[test]
fn whole_tables_give_results() {
    for file in files() {
        let (results, errors) = exercise(file);
        assert!(results >= 20 && errors > 0, "{results} {errors}");
    }
}

#[test]
fn tables_cut_anywhere() {
    for file in files() {
        for length in (0..file.len()).step_by(100).chain([1, 79, 80, 81, file.len() - 1]) {
            let (results, errors) = exercise(file[..length].to_vec());
            assert!(results + errors > 0);
        }
    }
}

#[test]
fn bytes_of_tables_changed_one_by_one() {
    let mut numbers = Numbers(6);
    for file in files() {
        // Bytes of every card, and of the rows, which makes descriptors and texts arbitrary.
        let is_blank = |at: usize| file[at / 80 * 80..][..80].iter().all(|&byte| byte == b' ');
        let bytes = (BLOCK..file.len()).filter(|&at| at % 97 == 0 || !is_blank(at));
        // One byte in three: each card occurs many times.
        for at in bytes.step_by(3) {
            let mut changed = file.clone();
            changed[at] ^= if numbers.one_in(2) { 0xff } else { 1 << numbers.below(8) };
            let (results, errors) = exercise(changed);
            assert!(results + errors > 0);
        }
    }
}

#[test]
fn the_whole_rows_of_a_truncated_table_can_be_read() {
    let rows = 50u64;
    let data: Vec<u8> = (0..rows as i32).flat_map(|row| (7 * row).to_be_bytes()).collect();
    let cards = ["TFORM1  = 'J'".to_owned()];
    let whole = table_file("BINTABLE", [4, rows], 0, &cards, &data);
    for cut in [0, 1, 3, 4, 5, 99, 100, 199] {
        let bytes = whole[..2 * BLOCK + cut].to_vec();
        let file = FitsFile::from_bytes(NAME, bytes, &OpenOptions::default()).unwrap();
        let table = file.table(1).unwrap();
        let present = cut as u64 / 4;
        assert_eq!(table.layout().rows_present, present);
        for row in 0..rows {
            let ask = Ask { column: 0, raw: false, text: TextAs::Bytes, nulls: false };
            let list = [row];
            match read(&table, &[ask], &Rows::List(&list), &ONE) {
                Ok(answers) => {
                    assert!(row < present);
                    assert_eq!(answers[0].0, (7 * row as i32).to_ne_bytes());
                }
                Err(error) => {
                    assert!(row >= present);
                    assert_eq!((error.code(), error.kind()), ("data-missing", ErrorKind::Format));
                    let text = error.to_string();
                    let expected = format!("expected {} rows", row + 1);
                    let actual = format!("found {present} whole rows ({cut} bytes of data)");
                    assert!(text.contains(&expected) && text.contains(&actual), "{text}");
                }
            }
        }
    }
}

/// Headers that declare more data than possible.
#[test]
fn hostile_sizes_are_refused_at_once() {
    let huge = 1u64 << 40;
    for (form, row_bytes, rows) in [
        ("1048576D", 8 << 20, 1u64 << 30),
        ("1099511627776B", huge, 1 << 19),
        ("0B", 0, 1 << 50),
        ("1X", 1, huge),
        ("9223372036854775807X", 1 << 60, 1),
        ("1152921504606846976A", 1 << 60, 1),
    ] {
        let cards = [format!("TFORM1  = '{form}'"), "TNULL1  = 1".to_owned()];
        let (results, errors) =
            exercise(table_file("BINTABLE", [row_bytes, rows], 0, &cards, &[0; 100]));
        assert!(results + errors > 0, "{form}");
    }
    // Heaps that are declared but missing.
    for heap in [100, huge] {
        let cards = ["TFORM1  = '1QD(9)'".to_owned()];
        let data = [1i64 << 37, 0].map(i64::to_be_bytes).concat();
        let (_, errors) = exercise(table_file("BINTABLE", [16, 1], heap, &cards, &data));
        assert!(errors > 0);
    }
}
