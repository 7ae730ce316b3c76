//! Comparison of files: equal values are equal in any notation, and differences are reported with their
//! position, for any number of threads.

mod common;

use common::{Numbers, fits, header};
use tachyfits::diff::{CardChange, DataDifference, DiffOptions, FileDifference, ValuesDifference};
use tachyfits::{FitsFile, OpenOptions, RunOptions, diff};

fn open(bytes: &[u8]) -> FitsFile {
    FitsFile::from_bytes("made.fits", bytes.to_vec(), &OpenOptions::default()).unwrap()
}

fn compared(a: &[u8], b: &[u8], options: &DiffOptions) -> FileDifference {
    diff(&open(a), &open(b), options, &RunOptions::default()).unwrap()
}

fn plain(a: &[u8], b: &[u8]) -> FileDifference {
    compared(a, b, &DiffOptions::default())
}

/// Returns the only difference of values.
fn values(difference: &FileDifference) -> &ValuesDifference {
    match &difference.hdus[0].data[..] {
        [DataDifference::Values(values)] => values,
        other => panic!("{other:?}"),
    }
}

fn cards(a: &[&str], b: &[&str]) -> Vec<(String, CardChange)> {
    let file = |cards: &[&str]| {
        fits(8, &[1], &cards.iter().map(|&card| card.to_owned()).collect::<Vec<_>>(), &[0])
    };
    let difference = plain(&file(a), &file(b));
    let differences = difference.hdus.into_iter().flat_map(|hdu| hdu.cards);
    differences.map(|card| (card.keyword, card.change)).collect()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

#[test]
fn a_file_is_the_same_as_itself() {
    let file = fits(-32, &[3], &["OBJECT  = 'M 31'".to_owned()], &floats(&[1.0, f32::NAN, -0.0]));
    let difference = plain(&file, &file);
    assert!(difference.is_same());
    assert_eq!(difference.compared, 1);
}

#[test]
fn cards_are_compared_by_value_in_any_order() {
    let none: [(String, CardChange); 0] = [];
    assert_eq!(
        cards(&["A       = 1", "B       = 2.0"], &["B       = 2.E0", "A       =   01"]),
        none
    );
    assert_eq!(cards(&["COMMENT a", "COMMENT b", ""], &["COMMENT b", "COMMENT a"]), none);
    let changes = |pairs: &[(&str, CardChange)]| -> Vec<(String, CardChange)> {
        pairs.iter().map(|(keyword, change)| ((*keyword).to_owned(), *change)).collect()
    };
    let actual = cards(
        &[
            "A       = 1",
            "B       = 2 / old",
            "C       = 3",
            "HISTORY one",
            "E       = 9007199254740993",
        ],
        &[
            "A       = 2",
            "B       = 2 / new",
            "D       = 3",
            "HISTORY two",
            "E       = 9007199254740992",
        ],
    );
    let expected = [
        ("A", CardChange::Value),
        ("B", CardChange::Comment),
        ("C", CardChange::Removed),
        ("HISTORY", CardChange::Removed),
        ("HISTORY", CardChange::Added),
        ("E", CardChange::Value),
        ("D", CardChange::Added),
    ];
    assert_eq!(actual, changes(&expected));
}

#[test]
fn integers_of_cards_are_not_the_reals_that_they_round_to() {
    let pairs = [
        ("9007199254740993", "9007199254740992.0", false),
        ("9007199254740993", "9.007199254740992D15", false),
        ("9007199254740992", "9007199254740992.0", true),
        ("1", "1.0", true),
        ("1267650600228229401496703205376", "1267650600228229401496703205376.", true),
        ("1267650600228229401496703205377", "1267650600228229401496703205376.", false),
        // More than 128 bits.
        ("1000000000000000000000000000000000000000000", "1E42", true),
        (
            "1000000000000000000000000000000000000000001",
            "1000000000000000000000000000000000000000000",
            false,
        ),
    ];
    for (integer, real, same) in pairs {
        let [a, b] = [integer, real].map(|text| format!("A       = {text}"));
        for (a, b) in [(&a, &b), (&b, &a)] {
            assert_eq!(cards(&[a], &[b]).is_empty(), same, "{a} {b}");
        }
    }
    let [a, b] = ["9007199254740993", "9007199254740992.0"]
        .map(|text| fits(8, &[1], &[format!("A       = {text}")], &[0]));
    let loose = DiffOptions::default().absolute(1.0);
    assert!(compared(&a, &b, &loose).is_same());
}

#[test]
fn keywords_and_comments_can_be_left_out() {
    let file = |card: &str| fits(8, &[1], &[card.to_owned(), "DATE-X  = 1".to_owned()], &[0]);
    let (a, b) = (file("DATE    = 'a' / one"), file("DATE    = 'b' / two"));
    assert_eq!(plain(&a, &b).hdus[0].cards.len(), 1);
    for ignore in ["DATE", "date*", "D*"] {
        let options = DiffOptions::default().ignore(vec![ignore.to_owned()]);
        assert!(compared(&a, &b, &options).is_same(), "{ignore}");
    }
    let (a, b) = (file("DATE    = 'a' / one"), file("DATE    = 'a' / two"));
    let options = DiffOptions::default().ignore_comments(true);
    assert!(!plain(&a, &b).is_same() && compared(&a, &b, &options).is_same());
}

#[test]
fn pixels_are_compared_within_tolerances() {
    let file = |values: &[f32]| fits(-32, &[3, 2], &[], &floats(values));
    let a = file(&[1.0, 2.0, f32::NAN, 100.0, f32::NAN, f32::INFINITY]);
    let b = file(&[1.0, 2.5, f32::NAN, 101.0, 5.0, f32::INFINITY]);
    let difference = plain(&a, &b);
    let difference = values(&difference);
    assert_eq!((difference.compared, difference.different, difference.undefined), (6, 3, 1));
    assert_eq!((difference.largest, &difference.largest_at[..]), (1.0, &[0, 1][..]));
    assert_eq!(difference.places[0].at, [1, 0]);
    assert_eq!(difference.places[0].values, ["2.0", "2.5"]);
    assert_eq!(difference.places[2].values, ["NaN", "5.0"]);
    let different = |absolute, relative| {
        let options = DiffOptions::default().absolute(absolute).relative(relative);
        values(&compared(&a, &b, &options)).different
    };
    assert_eq!((different(0.5, 0.0), different(1.0, 0.0), different(0.0, 0.01)), (2, 1, 2));
}

#[test]
fn pixels_of_other_types_are_compared_by_value() {
    let a = fits(16, &[3], &["BLANK   = -1".to_owned()], &[0, 1, 0, 2, 255, 255]);
    let b = fits(-32, &[3], &[], &floats(&[1.0, 2.0, f32::NAN]));
    let difference = plain(&a, &b);
    assert_eq!(difference.hdus[0].data, []);
    assert_eq!(difference.hdus[0].cards.len(), 2);
}

#[test]
fn wide_integers_are_compared_exactly() {
    let file = |value: i64| fits(64, &[1], &[], &value.to_be_bytes());
    let difference = plain(&file((1 << 53) + 1), &file(1 << 53));
    assert_eq!((values(&difference).different, values(&difference).largest), (1, 1.0));
    assert_eq!(values(&difference).places[0].values[0], "9007199254740993");
    let loose = DiffOptions::default().absolute(1.0);
    assert!(compared(&file((1 << 53) + 1), &file(1 << 53), &loose).is_same());
}

#[test]
fn integers_are_not_the_floats_that_they_round_to() {
    let integer = |value: i64| fits(64, &[1], &[], &value.to_be_bytes());
    let float = |value: f64| fits(-64, &[1], &[], &value.to_be_bytes());
    let difference = plain(&integer((1 << 53) + 1), &float(9007199254740992.0));
    assert_eq!(values(&difference).largest, 1.0);
    assert_eq!(values(&difference).places[0].values, ["9007199254740993", "9007199254740992.0"]);
    assert_eq!(plain(&integer(1 << 53), &float(9007199254740992.0)).hdus[0].data, []);
    let difference = plain(&float(0.5), &integer(0));
    assert_eq!(values(&difference).largest, 0.5);
    let cells = |form: &str, bytes: [u8; 8]| table(&[form], &bytes, 1, 0);
    let difference = plain(
        &cells("K", ((1_i64 << 53) + 1).to_be_bytes()),
        &cells("D", 9007199254740992.0_f64.to_be_bytes()),
    );
    assert!(
        matches!(difference.hdus[0].data[..], [DataDifference::Values(ref values)] if values.largest == 1.0)
    );
    let loose = DiffOptions::default().absolute(f64::MAX);
    let infinite = compared(&integer(1), &float(f64::INFINITY), &loose);
    assert_eq!(values(&infinite).different, 1);
}

#[test]
fn floats_of_two_widths_have_the_digits_of_the_wider() {
    let single = fits(-32, &[1], &[], &floats(&[0.1]));
    let double = fits(-64, &[1], &[], &0.1_f64.to_be_bytes());
    let difference = plain(&single, &double);
    assert_eq!(values(&difference).places[0].values, ["0.10000000149011612", "0.1"]);
}

#[test]
fn differences_are_the_same_for_any_number_of_threads() {
    let mut numbers = Numbers(3);
    let pixels = 400_000;
    let a: Vec<u8> = (0..pixels).map(|_| numbers.next() as u8).collect();
    let mut b = a.clone();
    for _ in 0..5000 {
        b[numbers.below(pixels) as usize] = numbers.next() as u8;
    }
    let (first, second) =
        (open(&fits(8, &[1000, 400], &[], &a)), open(&fits(8, &[1000, 400], &[], &b)));
    let options = DiffOptions::default().places(25);
    let run = |threads| {
        let run = RunOptions::default().threads(threads);
        diff(&first, &second, &options, &run).unwrap()
    };
    let difference = run(1);
    let different = a.iter().zip(&b).filter(|(a, b)| a != b).count();
    assert_eq!(values(&difference).different, different as u64);
    let largest = a.iter().zip(&b).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
    assert_eq!(values(&difference).largest, f64::from(largest));
    assert_eq!(values(&difference).places.len(), 25);
    for threads in [2, 7] {
        assert_eq!(run(threads), difference);
    }
}

#[test]
fn different_shapes_and_kinds_are_reported() {
    let shape = plain(&fits(8, &[2, 2], &[], &[0; 4]), &fits(8, &[4], &[], &[0; 4]));
    assert_eq!(shape.hdus[0].data, [DataDifference::Shape([vec![2, 2], vec![4]])]);
    let image = [header(8, &[], &[]), extension("IMAGE", &[1], 0, &[], &[7])].concat();
    let table = table(&["B"], &[7], 1, 0);
    let kinds = plain(&image, &table);
    let expected = ["image".to_owned(), "binary table".to_owned()];
    assert!(kinds.hdus.iter().any(|hdu| hdu.data == [DataDifference::Kind(expected.clone())]));
}

fn extension(xtension: &str, axes: &[u64], heap: usize, cards: &[String], data: &[u8]) -> Vec<u8> {
    let mut all = vec![
        format!("XTENSION= '{xtension:<8}'"),
        format!("BITPIX  = {:>20}", 8),
        format!("NAXIS   = {:>20}", axes.len()),
    ];
    all.extend((1..).zip(axes).map(|(n, axis)| format!("{:<8}= {axis:>20}", format!("NAXIS{n}"))));
    all.push(format!("PCOUNT  = {heap:>20}"));
    all.push(format!("GCOUNT  = {:>20}", 1));
    all.extend_from_slice(cards);
    all.push("END".to_owned());
    let mut bytes: Vec<u8> =
        all.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(2880), 0);
    bytes
}

/// Returns a table with columns C1, C2, ... after an empty primary HDU.
fn table(forms: &[&str], data: &[u8], rows: usize, heap: usize) -> Vec<u8> {
    named(
        &forms
            .iter()
            .enumerate()
            .map(|(n, form)| (format!("C{}", n + 1), *form))
            .collect::<Vec<_>>(),
        data,
        rows,
        heap,
    )
}

fn named(columns: &[(String, &str)], data: &[u8], rows: usize, heap: usize) -> Vec<u8> {
    let mut cards = vec![format!("TFIELDS = {:>20}", columns.len())];
    for (number, (name, form)) in (1..).zip(columns) {
        cards.push(format!("{:<8}= '{name:<8}'", format!("TTYPE{number}")));
        cards.push(format!("{:<8}= '{form:<8}'", format!("TFORM{number}")));
    }
    let row = (data.len() - heap) / rows;
    let bytes = extension("BINTABLE", &[row as u64, rows as u64], heap, &cards, data);
    [header(8, &[], &[]), bytes].concat()
}

#[test]
fn cells_are_compared_column_by_column() {
    let a = table(&["2I", "3A", "L"], b"\0\x01\0\x02abcT\0\x03\0\x04de\0F", 2, 0);
    let b = table(&["2I", "3A", "L"], b"\0\x01\0\x05abcT\0\x03\0\x04xe\0\0", 2, 0);
    assert!(plain(&a, &a).is_same());
    let file_difference = plain(&a, &b);
    let actual: Vec<_> = file_difference.hdus[0]
        .data
        .iter()
        .map(|difference| match difference {
            DataDifference::Values(values) => {
                let place = &values.places[0];
                (
                    values.column.clone().unwrap(),
                    values.compared,
                    place.at.clone(),
                    place.values.clone(),
                )
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let text = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
    assert_eq!(
        actual,
        [
            ("C1".to_owned(), 4, vec![0, 1], text("2", "5")),
            ("C2".to_owned(), 2, vec![1, 0], text("\"de\"", "\"xe\"")),
            ("C3".to_owned(), 2, vec![1, 0], text("F", "undefined")),
        ]
    );
}

#[test]
fn columns_go_together_by_name_and_rows_that_both_have_are_compared() {
    let column = |name: &str| (name.to_owned(), "B");
    let a = named(&[column("A"), column("B")], &[1, 2, 3, 4], 2, 0);
    let b = named(&[column("b"), column("C")], &[2, 0, 9, 0, 5, 0], 3, 0);
    let difference = plain(&a, &b);
    let [rows, columns, DataDifference::Values(values)] = &difference.hdus[0].data[..] else {
        panic!("{difference:?}")
    };
    assert_eq!(*rows, DataDifference::Rows([2, 3]));
    assert_eq!(*columns, DataDifference::Columns([vec!["A".to_owned()], vec!["C".to_owned()]]));
    assert_eq!((values.compared, values.different, &values.places[0].at[..]), (2, 1, &[1, 0][..]));
    // Exact matches take precedence.
    let a = named(&[column("N"), column("n"), column("X")], &[1, 2, 3], 1, 0);
    let b = named(&[column("x"), column("n")], &[3, 2], 1, 0);
    let keys = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect();
    let only = DataDifference::Columns([keys(&["N"]), keys(&[])]);
    let order = DataDifference::Order([keys(&["N", "n_2", "X"]), keys(&["x", "n"])]);
    assert_eq!(plain(&a, &b).hdus[0].data, [only, order]);
}

#[test]
fn cards_of_columns_are_named_and_ignored_by_the_number_in_the_first_table() {
    let table = |columns: [(&str, &[&str]); 2]| {
        let mut cards = vec![format!("TFIELDS = {:>20}", 2)];
        for (number, (name, others)) in (1..).zip(columns) {
            cards.extend([format!("TTYPE{number}  = '{name}'"), format!("TFORM{number}  = 'B'")]);
            cards.extend(others.iter().map(|card| card.replacen('#', &number.to_string(), 1)));
        }
        let columns = extension("BINTABLE", &[2, 1], 0, &cards, &[7, 7]);
        [header(8, &[], &[]), columns].concat()
    };
    let a = table([("A", &["TUNIT#  = 'm'"]), ("B", &["TUNIT#  = 's'"])]);
    let b = table([("B", &["TUNIT#  = 'kg'"]), ("A", &["TUNIT#  = 'm'", "TDISP#  = 'I3'"])]);
    let changes = |ignore: &[&str]| {
        let ignore = ignore.iter().map(|&keyword| keyword.to_owned()).collect();
        let options = DiffOptions::default().ignore(ignore);
        let difference = compared(&a, &b, &options);
        difference.hdus[0].cards.iter().map(|card| (card.keyword.clone(), card.change)).collect()
    };
    let both = [("TUNIT2".to_owned(), CardChange::Value), ("TDISP1".to_owned(), CardChange::Added)];
    for (ignore, expected) in [
        (&[][..], &both[..]),
        (&["TUNIT1", "TDISP2"], &both),
        (&["TUNIT2"], &both[1..]),
        (&["TDISP1"], &both[..1]),
        (&["TUNIT*"], &both[1..]),
    ] {
        let actual: Vec<_> = changes(ignore);
        assert_eq!(actual, expected, "{ignore:?}");
    }
}

#[test]
fn cards_of_missing_columns_are_compared_with_each_other() {
    let table = |names: &[&str], unit: &str| {
        let mut cards = vec![format!("TFIELDS = {:>20}", names.len())];
        for (number, name) in (1..).zip(names) {
            cards.extend([format!("TTYPE{number}  = '{name}'"), format!("TFORM{number}  = 'B'")]);
        }
        cards.extend([unit.to_owned(), format!("TUNIT{}  = 's'", names.len())]);
        let width = names.len() as u64;
        let columns = extension("BINTABLE", &[width, 1], 0, &cards, &vec![7; names.len()]);
        [header(8, &[], &[]), columns].concat()
    };
    let a = table(&["A", "B", "C"], "TUNIT4  = 'm'");
    let b = table(&["A", "C"], "TUNIT3  = 'm'");
    let keywords = |difference: FileDifference| -> Vec<String> {
        difference.hdus[0].cards.iter().map(|card| card.keyword.clone()).collect()
    };
    assert_eq!(keywords(plain(&a, &b)), ["NAXIS1", "TFIELDS"]);
    assert_eq!(keywords(plain(&b, &a)), ["NAXIS1", "TFIELDS"]);
}

#[test]
fn variable_length_arrays_are_compared_by_content() {
    let file = |descriptors: &[[u8; 2]], heap: &[u8]| {
        let rows: Vec<u8> = descriptors
            .iter()
            .flat_map(|[count, offset]| [0, 0, 0, *count, 0, 0, 0, *offset])
            .collect();
        table(&["PB(3)"], &[rows, heap.to_vec()].concat(), descriptors.len(), heap.len())
    };
    // The same arrays at other offsets of the heap.
    assert!(
        plain(&file(&[[2, 0], [1, 2]], &[7, 8, 9]), &file(&[[2, 1], [1, 0]], &[9, 7, 8]))
            .hdus
            .is_empty()
    );
    let difference =
        plain(&file(&[[2, 0], [1, 2]], &[7, 8, 9]), &file(&[[2, 0], [0, 2]], &[7, 6, 9]));
    let values = values(&difference);
    assert_eq!((values.different, values.largest), (2, 2.0));
    assert_eq!(values.places[0].at, [0, 1]);
    assert_eq!(values.places[1].values, ["\"1 elements\"", "\"0 elements\""]);
    let other = plain(&file(&[[1, 0]], &[7]), &table(&["B"], &[7], 1, 0));
    assert!(matches!(&other.hdus[0].data[..], [DataDifference::Cells { .. }]));
}

#[test]
fn hdus_go_together_by_name_and_then_by_number() {
    let image = |name: &str, pixel: u8| {
        let cards = if name.is_empty() { vec![] } else { vec![format!("EXTNAME = '{name}'")] };
        extension("IMAGE", &[1], 0, &cards, &[pixel])
    };
    let primary = header(8, &[], &[]);
    let a = [primary.clone(), image("SCI", 1), image("ERR", 2), image("", 3)].concat();
    let b = [primary.clone(), image("ERR", 2), image("SCI", 1), image("", 4)].concat();
    let difference = plain(&a, &b);
    assert_eq!((difference.compared, difference.hdus.len()), (4, 1));
    assert_eq!(difference.hdus[0].labels.each_ref().map(|label| label.index), [3, 3]);
    let c = [primary, image("SCI", 1)].concat();
    let difference = plain(&a, &c);
    assert_eq!(difference.only[0].iter().map(|label| label.index).collect::<Vec<_>>(), [2, 3]);
    assert!(difference.hdus.is_empty() && !difference.is_same());
}

#[test]
fn data_that_are_cut_short_are_an_error() {
    let file = fits(16, &[4], &[], &[0; 8]);
    let result =
        diff(&open(&file), &open(&file[..2882]), &DiffOptions::default(), &RunOptions::default());
    assert_eq!(result.unwrap_err().code(), "data-missing");
}
