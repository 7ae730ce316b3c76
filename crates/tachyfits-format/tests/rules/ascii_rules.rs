//! Rules 37 to 39, as far as the header decides: the columns of an ASCII table and their positions.
//! `text_rules` tests the values of fields.

use tachyfits_format::{Code, Field, Null, TableKind, TextForm};

use crate::build::{columns, table, table_file, table_hdu};
use crate::shared::on_both;
use crate::table_rules::{codes, fields};

fn text(text: TextForm, width: u32, decimals: u32) -> Field {
    Field::Text { text, width, decimals }
}

/// Creates an ASCII table with these columns.
fn ascii(shape: [u64; 2], cards: &[&str], bytes: &[u8]) -> Vec<u8> {
    table_file("TABLE", shape, 0, &columns(cards), bytes)
}

#[test]
fn rule_37_fields_may_overlap_and_leave_gaps() {
    let built = ascii(
        [6, 1],
        &["TTYPE='ALL' TFORM='A6' TBCOL=1", "TTYPE='P' TFORM='I3' TBCOL=2"],
        b"x123yz",
    );
    on_both("at_overlap", &built, |file| {
        let layout = table(file);
        assert_eq!(layout.kind, TableKind::Ascii);
        assert_eq!(
            fields(&layout),
            [(0, text(TextForm::Characters, 6, 0)), (1, text(TextForm::Integer, 3, 0))]
        );
        assert!(layout.warnings.is_empty());
    });
    for (cards, code) in [
        ("TFORM='I3' TBCOL=0", Code::KeywordRange),
        ("TFORM='I3' TBCOL=-4", Code::KeywordRange),
        ("TFORM='I3' TBCOL=5", Code::ColumnOutside),
        ("TFORM='I3' TBCOL=9223372036854775807", Code::ColumnOutside),
        ("TFORM='I3'", Code::KeywordMissing),
        ("TFORM='I3' TBCOL='1'", Code::NumericText),
        ("TFORM='I0' TBCOL=1", Code::ColumnForm),
        ("TFORM='1I3' TBCOL=1", Code::ColumnForm),
        ("TFORM='A' TBCOL=1", Code::ColumnForm),
        ("TFORM='F99999999999.1' TBCOL=1", Code::ColumnForm),
        ("TFORM='J3' TBCOL=1", Code::ColumnForm),
        ("TFORM='' TBCOL=1", Code::ColumnForm),
    ] {
        let error = table_hdu(&ascii([6, 1], &[cards], b"x123yz")).table().unwrap_err();
        assert_eq!(error.code(), code, "{cards}");
    }
    let beyond = table_hdu(&ascii([6, 1], &["TTYPE='P' TFORM='I3' TBCOL=5"], b"x123yz"))
        .table()
        .unwrap_err();
    assert!(beyond.to_string().contains("column 1 (from 1) \"P\""), "{beyond}");
}

#[test]
fn rule_38_forms_of_text() {
    let cards = [
        "TTYPE='I' TFORM='I5' TBCOL=1",
        "TTYPE='D' TFORM='D8.2' TBCOL=7",
        "TTYPE='F' TFORM='F8.3' TBCOL=15",
        "TTYPE='A' TFORM='A3' TBCOL=24",
        "TTYPE='N' TFORM='I3' TBCOL=28 TNULL='***'",
    ];
    on_both("at_mix", &ascii([31, 3], &cards, &[b' '; 93]), |file| {
        let layout = table(file);
        let expected = [
            (0, text(TextForm::Integer, 5, 0)),
            (6, text(TextForm::Double, 8, 2)),
            (14, text(TextForm::Fixed, 8, 3)),
            (23, text(TextForm::Characters, 3, 0)),
            (27, text(TextForm::Integer, 3, 0)),
        ];
        assert_eq!(fields(&layout), expected);
        assert_eq!(layout.columns[4].null, Some(Null::Text("***".to_owned())));
    });
    for (form, field) in [
        ("f8", text(TextForm::Fixed, 8, 0)),
        ("E8", text(TextForm::Exponent, 8, 0)),
        ("E8.3E2", text(TextForm::Exponent, 8, 3)),
        ("I8.3", text(TextForm::Integer, 8, 0)),
    ] {
        let layout = table(&ascii([8, 0], &[&format!("TFORM='{form}' TBCOL=1")], &[]));
        assert_eq!(
            (fields(&layout), codes(&layout)),
            (vec![(0, field)], vec![Code::ColumnFormIrregular]),
            "{form}"
        );
    }
    let number = table_hdu(&ascii([8, 0], &["TFORM='I8' TBCOL=1 TNULL=-1"], &[])).table();
    assert_eq!(number.unwrap_err().code(), Code::KeywordType);
    let blank = table(&ascii([8, 0], &["TFORM='I8' TBCOL=1 TNULL='___'"], &[]));
    assert_eq!(blank.columns[0].null, Some(Null::Text(String::new())));
    let long = table(&ascii([3, 0], &["TFORM='I3' TBCOL=1 TNULL='****'"], &[]));
    assert_eq!((&long.columns[0].null, codes(&long)), (&None, vec![Code::NullIgnored]));
    let shaped = table(&ascii([8, 0], &["TFORM='I8' TBCOL=1 TDIM='(1)'"], &[]));
    assert_eq!(codes(&shaped), [Code::DimensionsIgnored]);
}

#[test]
fn rule_39_text_is_scaled_too() {
    on_both(
        "at_scaled",
        &ascii([5, 2], &["TTYPE='I' TFORM='I5' TBCOL=1 TSCAL=2 TZERO=10"], b"    5   -1"),
        |file| {
            let column = &table(file).columns[0];
            assert_eq!((column.scaled, column.scale, column.zero), (true, 2.0, 10.0));
            assert_eq!(column.field, text(TextForm::Integer, 5, 0));
        },
    );
    // No convention makes text unsigned.
    let wide = table(&ascii([20, 0], &["TFORM='I20' TBCOL=1 TZERO=9223372036854775808"], &[]));
    assert!(wide.columns[0].scaled);
    // A row may be longer than its fields.
    assert!(wide.warnings.is_empty());
}
