//! Results have the same bits for any number of threads, storage, buffering and vector tier, on a table of
//! many tasks.
//!
//! The tier is read once per process, so this program restarts itself for the digests of each tier.

#![allow(clippy::disallowed_methods, reason = "the test makes files of its own")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use tachyfits::io::Buffering;
use tachyfits::table::{CellKind, Cells, TextAs};
use tachyfits::{FitsFile, OpenOptions, PixelType, Rows, RunOptions, StorageKind, Table, Tier};

use crate::common::Numbers;
use crate::made::TableFixture;
use crate::model::{Scaling, Spec};
use crate::read::{Ask, read};

/// Environment variable of child processes started for a tier: the file to read.
const CHILD: &str = "TACHYFITS_TEST_SAME_TABLE";

const ROWS: usize = 20_000;

/// Returns a table of every type: plain, flipped and scaled columns, few and many elements, and arrays in the
/// heap.
fn fixture() -> TableFixture {
    let spec = |letter: char, repeat: usize, scaling: Scaling, pointer: Option<char>| Spec {
        letter,
        repeat,
        scaling,
        null: "BIJK".contains(letter).then_some(2),
        dimensions: Vec::new(),
        pointer,
    };
    let mut columns = Vec::new();
    for letter in "LXABIJKEDCM".chars() {
        columns.push(spec(letter, 1, Scaling::None, None));
        if !"LXA".contains(letter) {
            columns.push(spec(letter, 1, Scaling::By(0.1, 0.7), None));
        }
        if "BIJK".contains(letter) {
            columns.push(spec(letter, 3, Scaling::Flipped, None));
        }
    }
    columns.extend(
        ["I", "D", "A", "X"]
            .map(|letter| spec(letter.chars().next().unwrap_or('I'), 37, Scaling::None, None)),
    );
    columns.push(spec('E', 1, Scaling::None, Some('P')));
    columns.push(spec('I', 1, Scaling::Flipped, Some('Q')));
    columns.push(spec('X', 1, Scaling::None, Some('P')));
    TableFixture::new(columns, ROWS, 11)
}

/// Returns the FNV-1a hash of bytes; computed NaN count as equal, because their sign and payload are
/// arbitrary.
fn digest(cells: &Cells, values: &[u8], nulls: &[u8]) -> u64 {
    let computed = matches!(cells.kind, CellKind::Number(PixelType::F64) | CellKind::Complex64);
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let start = nulls.iter().fold(0xcbf2_9ce4_8422_2325, hash);
    if !computed {
        return values.iter().fold(start, hash);
    }
    values.chunks(8).fold(start, |all, bytes| {
        let is_nan = f64::from_ne_bytes(bytes.try_into().unwrap()).is_nan();
        if is_nan { all.wrapping_mul(31) } else { bytes.iter().fold(all, hash) }
    })
}

/// Returns one line for each column of the table, for all rows and for some.
fn results(table: &Table, options: &RunOptions<'_>) -> String {
    let mut lines = String::new();
    let mut numbers = Numbers(8);
    let mut some: Vec<u64> = (0..3000).map(|_| numbers.below(ROWS as u64)).collect();
    let mixed = some.clone();
    some.sort_unstable();
    let all = Rows::Range(0..ROWS as u64);
    for (name, rows) in [("all", all), ("some", Rows::List(&some)), ("mixed", Rows::List(&mixed))] {
        for raw in [false, true] {
            let fixed = |column: &usize| {
                table.cells(*column, raw).is_ok() && (raw || !is_array(table, *column))
            };
            let columns: Vec<usize> = (0..table.layout().columns.len()).filter(fixed).collect();
            let ask = |&column: &usize| Ask { column, raw, text: TextAs::Ucs4, nulls: true };
            let asks: Vec<Ask> = columns.iter().map(ask).collect();
            let answers = read(table, &asks, &rows, options).unwrap();
            for (column, (values, nulls, odd)) in columns.iter().zip(answers) {
                let cells = table.cells(*column, raw).unwrap();
                let digest = digest(&cells, &values, &nulls.unwrap());
                writeln!(lines, "{name} {raw} {column} {digest:016x} {odd}").unwrap();
            }
            for column in
                (0..table.layout().columns.len()).filter(|&column| is_array(table, column))
            {
                let arrays = table.read_arrays(column, raw, &rows, options).unwrap().0;
                let nulls = arrays.nulls.unwrap_or_default();
                let digest = digest(&arrays.cells, &arrays.values, &nulls);
                let last = arrays.offsets.last();
                writeln!(lines, "{name} {raw} {column} {digest:016x} {last:?}").unwrap();
            }
        }
    }
    lines
}

fn is_array(table: &Table, column: usize) -> bool {
    matches!(table.layout().columns[column].form.as_bytes(), [.., b'P' | b'Q', _])
}

fn open(path: &Path, storage: StorageKind) -> Table {
    let options = OpenOptions::default().storage(storage);
    FitsFile::open(path, &options).unwrap().table(1).unwrap()
}

fn with_threads(threads: usize, buffering: Buffering) -> RunOptions<'static> {
    RunOptions::default().threads(threads).buffering(buffering)
}

/// Prints the results if this process was started for a tier; otherwise does nothing.
#[test]
fn results_for_the_tier_of_this_process() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let table = open(path.as_ref(), StorageKind::Positioned);
    print!("BEGIN\n{}END\n", results(&table, &with_threads(2, Buffering::Single)));
}

/// Returns the results of this program with a tier.
fn results_of_tier(path: &Path, tier: Tier) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "same::results_for_the_tier_of_this_process", "--nocapture"])
        .env("TACHYFITS_TIER", tier.name())
        .env(CHILD, path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{tier:?}: {text}");
    let begin = text.find("BEGIN\n").expect("the results begin") + "BEGIN\n".len();
    text[begin..text.find("END\n").expect("the results end")].to_owned()
}

fn same(results: &str, expected: &str, what: &str) {
    for (line, expected) in results.lines().zip(expected.lines()) {
        assert_eq!(line, expected, "{what}");
    }
    assert_eq!(results.lines().count(), expected.lines().count());
}

#[test]
fn bits_do_not_depend_on_how_they_were_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.fits");
    std::fs::write(&path, fixture().bytes()).unwrap();
    let table = open(&path, StorageKind::Positioned);
    let expected = results(&table, &with_threads(1, Buffering::Single));
    assert!(expected.lines().count() >= 150);
    for storage in [StorageKind::Positioned, StorageKind::Mapped, StorageKind::Memory] {
        let table = open(&path, storage);
        // Bytes in memory are lent instead of read, so buffering has no effect.
        let bufferings = match storage {
            StorageKind::Positioned => &[Buffering::Single, Buffering::Double][..],
            _ => &[Buffering::Auto],
        };
        for threads in [1, 2, 8] {
            for &buffering in bufferings {
                let what = format!("{storage:?} {threads} threads {buffering:?}");
                same(&results(&table, &with_threads(threads, buffering)), &expected, &what);
            }
        }
    }
    for tier in Tier::available() {
        same(&results_of_tier(&path, tier), &expected, &format!("{tier:?}"));
    }
}
