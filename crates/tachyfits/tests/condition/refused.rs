//! Invalid conditions: position of the error and helpful message.

use proptest::prelude::*;
use tachyfits::error::ExpressionError;
use tachyfits::{Error, FitsFile, OpenOptions, RunOptions};

use crate::common::{table, table_file};
use crate::rows;
use crate::words::catalog;

fn refusal(condition: &str) -> ExpressionError {
    match rows(&catalog(), condition) {
        Err(Error::Expression(error)) => *error,
        other => panic!("{condition}: {other:?}"),
    }
}

/// (Condition with the error position between « and », code, words of the expectation, words of the hint.)
const MISTAKES: [(&str, &str, &str, &str); 49] = [
    ("«»", "expression", "a number, a name", ""),
    ("«MAG»", "expression", "a truth value", "compare it"),
    ("MAG «+» 1", "expression", "a truth value", "compare it"),
    ("«CLASS»", "expression", "a truth value", ""),
    ("GOOD && «MAG»", "expression", "a truth value", ""),
    ("!«MAG»", "expression", "a truth value", ""),
    ("MAG < 20 «&» GOOD", "", "", ""),
    ("CLASS «==» 3", "expression", "strings on both sides", "in quotes"),
    ("MAG «<» 'x'", "expression", "strings on both sides", "in quotes"),
    ("«CLASS» + 1 > 2", "expression", "a number", "compare strings only"),
    ("-«CLASS» > 2", "expression", "a number", ""),
    ("sqrt(«'x'») > 2", "expression", "a number", ""),
    ("where(GOOD, «CLASS», 1) > 2", "expression", "a number", ""),
    ("where(«MAG», 1, 2) > 1", "expression", "a truth value", ""),
    ("CLASS == «'STAR»", "expression", "a ' at the end", ""),
    ("«`MAG»", "expression", "a ` at the end", ""),
    ("«MAGG» < 2", "expression-input", "one of the columns MAG, CLASS", "in either case"),
    ("«#FOO» < 2", "expression-input", "one of the columns", ""),
    ("CLASS == «STAR»", "expression-input", "one of the columns", "put strings into quotes"),
    ("«e» < 2", "expression-input", "an unambiguous name", "`e` in backquotes"),
    ("GOOD == «T»", "expression-input", "an unambiguous name", "backquotes"),
    ("«C» == 1", "expression-input", "not complex", ""),
    ("«V» == 1", "expression-input", "in the rows", ""),
    ("«XY» == 1", "expression-input", "XY[1] to XY[2]", ""),
    ("«XY»[3] == 1", "expression-input", "XY[1] to XY[2]", ""),
    ("XY[«0»] == 1", "expression", "from 1", ""),
    ("XY[«MAG»] == 1", "expression", "from 1", ""),
    ("XY[1«,» 2] == 1", "expression", "\"]\"", "in one number"),
    ("«MAG»[2] == 1", "expression-input", "MAG[1] to MAG[1]", ""),
    ("«ROW»[2] == 1", "expression-input", "a column of arrays", ""),
    ("«NAMES» == 'a'", "expression-input", "NAMES[1] to NAMES[2]", ""),
    ("MAG «=» 3", "expression", "", "write == to compare"),
    ("GOOD «AND» MAG > 1", "expression", "an operator", "write &&"),
    ("CLASS in «3»", "expression", "\"(\" and the values", "write x in (1, 2)"),
    ("MAG «like» 'S%'", "expression", "a string before like", "compare numbers"),
    ("CLASS LIKE «S»", "expression", "a pattern in quotes", "write x like 'NGC%'"),
    ("CLASS not like «3»", "expression", "a pattern in quotes", "write x like 'NGC%'"),
    ("CLASS LIKE 'S%' ESCAPE «'ab'»", "expression", "one character in quotes", "escape '!'"),
    ("CLASS LIKE 'S%' ESCAPE «»", "expression", "one character in quotes", "escape '!'"),
    ("CLASS LIKE «'S!b'» ESCAPE '!'", "expression", "%, _ or the escape character", "twice"),
    ("CLASS LIKE 'S%' «LIKE» 'S%'", "expression", "one comparison", ""),
    ("(LIKE «'S%'»)", "expression", "an operator or", ""),
    ("MAG «is» null", "expression", "an operator", "isnull(x)"),
    ("GOOD «.»AND. GOOD", "expression", "an operator", "write &&"),
    ("MAG >«>» 3", "expression", "", ""),
    ("MAG <«>» 3", "expression", "", "write !="),
    ("(«MAG» & 1) == 0", "expression", "an integer, which has bits", "compare them"),
    ("«foo»(MAG) > 1", "expression", "the name of a function", "use one of"),
    ("1 < MAG «<» 3", "expression", "one comparison", ""),
];

#[test]
fn mistakes_are_shown_where_they_are() {
    for (marked, code, expected, hint) in MISTAKES.iter().filter(|row| !row.1.is_empty()) {
        let condition = marked.replace(['«', '»'], "");
        let error = refusal(&condition);
        let begin = marked.find('«').unwrap();
        let end = marked.find('»').unwrap() - '«'.len_utf8();
        assert_eq!(error.at, begin..end, "{marked}: {error}");
        assert_eq!(error.reason.code(), *code, "{marked}: {error}");
        assert!(error.expected.contains(expected), "{marked}: {error}");
        assert!(error.hint.contains(hint), "{marked}: {error}");
    }
}

#[test]
fn brackets_are_asked_for_as_in_images() {
    assert!(refusal("MAG < 20 & GOOD").hint.contains("&&"));
}

#[test]
fn rows_must_be_there() {
    let table = catalog();
    let code = |result: Result<_, Error>| result.map(drop).unwrap_err().code();
    assert_eq!(code(table.rows_where("GOOD", 0..5, &RunOptions::default())), "rows");
    let empty = table.rows_where("GOOD", 9..9, &RunOptions::default()).unwrap();
    assert!(empty.0.is_empty());
    // An error in the condition is reported even if no row is read.
    assert_eq!(code(table.rows_where("FOO", 0..0, &RunOptions::default())), "expression-input");
    let cards = ["TFORM1  = 'J'".to_owned()];
    let whole = table_file("BINTABLE", [4, 2000], 0, &cards, &[0; 8000]);
    let cut = crate::common::table(whole[..whole.len() - 2880].to_vec());
    assert_eq!(code(cut.rows_where("col1 == 0", 0..2000, &RunOptions::default())), "data-missing");
    let present = cut.layout().rows_present;
    assert!(present < 2000);
    let rows = cut.rows_where("col1 == 0", 0..present, &RunOptions::default()).unwrap().0;
    assert_eq!(rows.len() as u64, present);
}

#[test]
fn a_table_without_columns_of_very_many_rows_is_refused() {
    let open = |rows| {
        let bytes = table_file("BINTABLE", [0, rows], 0, &[], &[]);
        FitsFile::from_bytes("made.fits", bytes, &OpenOptions::default())?.table(1)
    };
    assert_eq!(open(1 << 59).unwrap_err().code(), "keyword-range");
    let table = open(1 << 20).unwrap();
    let (rows, _) = table.rows_where("ROW < 3", 0..100_000, &RunOptions::default()).unwrap();
    assert_eq!(rows, [0, 1]);
}

#[test]
fn text_that_is_not_a_number_is_shown() {
    let cards = ["TTYPE1  = 'N'", "TFORM1  = 'I3'", "TBCOL1  = 1"].map(str::to_owned);
    let table = table(table_file("TABLE", [3, 3], 0, &cards, b" 12x y  3"));
    let error = rows(&table, "N > 3").unwrap_err();
    assert_eq!(error.code(), "cell-text");
    let text = error.to_string();
    assert!(text.contains("row 2 (from 1) of column 1 (N)") && text.contains("\"x y\""), "{text}");
    let part = table.rows_where("N > 3", 0..1, &RunOptions::default()).unwrap();
    assert_eq!(part.0, [0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_text_is_a_condition_or_refused(
        condition in "(MAG|CLASS|GOOD|ID|XY|`T`|'a'|\"|'|`|1|2\\.5|\\[1\\]|==|<|!=|&&|\\||!|not \
                      |\\(|\\)|,|where|isnull| like | escape |'%_'|#ROW| |[ -~é]){0,14}",
    ) {
        match rows(&catalog(), &condition) {
            Ok(rows) => prop_assert!(rows.iter().all(|row| *row < 4) && rows.is_sorted()),
            Err(Error::Expression(error)) => {
                prop_assert!(error.at.start <= error.at.end && error.at.end <= condition.len());
                prop_assert!(condition.get(error.at.clone()).is_some(), "{}", error);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}
