//! Rules 26 to 36, as far as the header decides: columns of a binary table, and their positions. The engine tests
//! values.

use tachyfits_format::{
    Code, Descriptor, Element, Field, FormatError, Header, NewTable, Null, TableKind, TableLayout,
    ValueType,
};

use crate::build::{columns, i16s, table, table_file, table_hdu};
use crate::shared::on_both;

const I16: Element = Element::Number(ValueType::I16);
const I32: Element = Element::Number(ValueType::I32);

fn fixed(element: Element, repeat: u64) -> Field {
    Field::Fixed { element, repeat, width: 1 }
}

fn strings(repeat: u64, width: u64) -> Field {
    Field::Fixed { element: Element::Character, repeat, width }
}

/// Creates a binary table with these columns.
fn binary(shape: [u64; 2], cards: &[&str], bytes: &[u8]) -> Vec<u8> {
    table_file("BINTABLE", shape, 0, &columns(cards), bytes)
}

/// Creates a table of a single column, whose row has the length it needs.
pub fn one(row_bytes: u64, cards: &str) -> TableLayout {
    table(&binary([row_bytes, 0], &[cards], &[]))
}

fn refused(row_bytes: u64, cards: &str) -> FormatError {
    table_hdu(&binary([row_bytes, 0], &[cards], &[])).table().unwrap_err()
}

pub fn codes(layout: &TableLayout) -> Vec<Code> {
    layout.warnings.iter().map(|warning| warning.code()).collect()
}

pub fn fields(layout: &TableLayout) -> Vec<(u64, Field)> {
    layout.columns.iter().map(|column| (column.offset, column.field)).collect()
}

#[test]
fn rule_26_a_column_of_no_elements_takes_no_bytes() {
    let bytes: Vec<u8> = [1i32, 2].map(i32::to_be_bytes).concat();
    let built = binary([4, 2], &["TTYPE='Z' TFORM='0D'", "TTYPE='I' TFORM='J'"], &bytes);
    on_both("bt_zero_width", &built, |file| {
        let layout = table(file);
        let double = Element::Number(ValueType::F64);
        assert_eq!(fields(&layout), [(0, fixed(double, 0)), (0, fixed(I32, 1))]);
        assert!(layout.warnings.is_empty());
    });
    for (form, field) in [
        ("0A", strings(0, 0)),
        ("0X", fixed(Element::Bit, 0)),
        ("0PJ", Field::Variable { element: I32, wide: false, repeat: 0, most: None }),
    ] {
        assert_eq!(fields(&one(0, &format!("TFORM='{form}'"))), [(0, field)]);
    }
}

#[test]
fn rule_26_text_after_the_type_has_no_meaning() {
    let bytes = [&1.5f32.to_be_bytes()[..], &9i16.to_be_bytes()].concat();
    let built = binary([6, 1], &["TTYPE='A' TFORM='1E3.2'", "TTYPE='B' TFORM='I2'"], &bytes);
    on_both("bt_tform_suffix", &built, |file| {
        let layout = table(file);
        let float = Element::Number(ValueType::F32);
        assert_eq!(fields(&layout), [(0, fixed(float, 1)), (4, fixed(I16, 1))]);
        assert!(layout.warnings.is_empty());
    });
}

#[test]
fn rule_26_lower_case_is_forgiven() {
    let built = binary([4, 1], &["TTYPE='A' TFORM='1j'"], &9i32.to_be_bytes());
    on_both("bt_lower_tform", &built, |file| {
        let layout = table(file);
        assert_eq!(fields(&layout), [(0, fixed(I32, 1))]);
        assert_eq!(codes(&layout), [Code::ColumnFormIrregular]);
        assert_eq!(layout.columns[0].form, "1j");
    });
}

#[test]
fn rule_26_rows_step_by_naxis1_whatever_the_columns_add_up_to() {
    let built = binary([10, 2], &["TTYPE='A' TFORM='J'"], &[0; 20]);
    on_both("bt_naxis1_mismatch", &built, |file| {
        let layout = table(file);
        assert_eq!((layout.row_bytes, layout.rows, layout.rows_present), (10, 2, 2));
        assert_eq!(fields(&layout), [(0, fixed(I32, 1))]);
        assert_eq!(codes(&layout), [Code::RowWidth]);
    });
    let beyond = refused(3, "TFORM='1J' TTYPE='ID'");
    assert_eq!(beyond.code(), Code::ColumnOutside);
    assert!(beyond.to_string().contains("column 1 (from 1) \"ID\""), "{beyond}");
}

#[test]
fn rule_26_every_form() {
    use ValueType::{F32, F64, I64, U8};
    let number = |value| fixed(Element::Number(value), 3);
    for (letter, field, bytes) in [
        ("L", fixed(Element::Logical, 3), 3),
        ("X", fixed(Element::Bit, 3), 1),
        ("B", number(U8), 3),
        ("I", fixed(I16, 3), 6),
        ("J", fixed(I32, 3), 12),
        ("K", number(I64), 24),
        ("A", strings(3, 3), 3),
        ("E", number(F32), 12),
        ("D", number(F64), 24),
        ("C", fixed(Element::Complex32, 3), 24),
        ("M", fixed(Element::Complex64, 3), 48),
    ] {
        let layout = one(bytes, &format!("TFORM='3{letter}__'"));
        assert_eq!(fields(&layout), [(0, field)]);
        assert!(layout.warnings.is_empty());
        let layout = one(bytes, &format!("TFORM='_3{letter}'"));
        assert_eq!(fields(&layout), [(0, field)]);
        assert_eq!(codes(&layout), [Code::ColumnFormIrregular]);
        assert_eq!(layout.columns[0].form, format!("3{letter}"));
    }
    assert_eq!(fields(&one(2, "TFORM='16X'")), [(0, fixed(Element::Bit, 16))]);
    assert_eq!(fields(&one(3, "TFORM='17X'")), [(0, fixed(Element::Bit, 17))]);
    for (form, wide, repeat, most) in [
        ("PI", false, 1, None),
        ("1PI()", false, 1, None),
        ("1PI(5)", false, 1, Some(5)),
        ("QI(_5_)", true, 1, Some(5)),
        ("0QI(5", true, 0, Some(5)),
        ("PI5", false, 1, None),
    ] {
        let bytes = repeat * if wide { 16 } else { 8 };
        let field = Field::Variable { element: I16, wide, repeat, most };
        assert_eq!(fields(&one(bytes, &format!("TFORM='{form}'"))), [(0, field)], "{form}");
    }
}

#[test]
fn rule_26_invalid_forms() {
    for form in ["", "1", "1Z", "J1_2PJ", "2PJ", "P", "PZ", "PP", "-1J", "1.5E", "*"] {
        let error = table_hdu(&binary([16, 0], &[&format!("TFORM='{form}'")], &[])).table();
        match form {
            // The type comes first; the rest is ignored.
            "J1_2PJ" => assert!(error.is_ok()),
            _ => assert_eq!(error.unwrap_err().code(), Code::ColumnForm, "{form}"),
        }
    }
    for form in ["99999999999999999999J", "4611686018427387904J", "2305843009213693952D"] {
        assert_eq!(refused(16, &format!("TFORM='{form}'")).code(), Code::ColumnForm, "{form}");
    }
    // The sum does not fit 64 bits.
    let large = ["TFORM='9223372036854775807A'"; 3];
    let error = table_hdu(&binary([16, 0], &large, &[])).table().unwrap_err();
    assert_eq!(error.code(), Code::ColumnOutside);
    assert_eq!(refused(4, "TFORM=4").code(), Code::KeywordType);
    assert_eq!(refused(4, "TTYPE='A'").code(), Code::KeywordMissing);
}

#[test]
fn rule_27_columns_need_no_names() {
    let built = table_file("BINTABLE", [4, 1], 0, &columns(&["TFORM='I'", "TFORM='I'"]), &[0; 4]);
    on_both("bt_no_ttype", &built, |file| {
        let layout = table(file);
        let names: Vec<_> = layout.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["col1", "col2"][..names.len()]);
        assert!(layout.columns.iter().all(|column| !column.is_named));
        assert_eq!(layout.column("COL1"), Some(0));
    });
    let cards = ["TTYPE='____' TFORM='1J'", "TTYPE='B' TFORM='1I'"];
    on_both("bt_blank_ttype", &binary([6, 1], &cards, &[0; 6]), |file| {
        let layout = table(file);
        assert!(!layout.columns[0].is_named && layout.columns[1].is_named);
        assert_eq!((layout.column("col1"), layout.column("b")), (Some(0), Some(1)));
    });
    // A name from a card takes precedence over a generated name.
    let mixed = binary([4, 0], &["TFORM='I'", "TTYPE='Col1' TFORM='I'"], &[]);
    assert_eq!(table(&mixed).column("col1"), Some(1));
    let number = one(4, "TTYPE=5 TFORM='J'");
    assert_eq!(
        (number.columns[0].name.as_str(), codes(&number)),
        ("col1", vec![Code::ReservedType])
    );
}

#[test]
fn rule_27_of_one_name_the_first() {
    let cards = ["TTYPE='Time' TFORM='I'", "TTYPE='TIME' TFORM='I'"];
    on_both("bt_dup_names", &binary([4, 1], &cards, &i16s(&[1, 2])), |file| {
        let layout = table(file);
        assert_eq!(layout.column("time   "), Some(0));
        assert_eq!(layout.column("TIME"), Some(1));
        assert_eq!(layout.column(" time"), None);
        assert_eq!(codes(&layout), [Code::DuplicateColumn]);
        assert_eq!((&*layout.columns[0].name, &*layout.columns[1].name), ("Time", "TIME"));
    });
}

#[test]
fn rule_27_each_column_has_a_key_of_its_own() {
    let keys = |names: &[&str]| {
        let cards: Vec<_> = names.iter().map(|name| format!("{name} TFORM='I'")).collect();
        let cards: Vec<_> = cards.iter().map(String::as_str).collect();
        let layout = table(&binary([2 * names.len() as u64, 0], &cards, &[]));
        layout.columns.iter().map(|column| column.key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&["TTYPE='RA'", "TTYPE='F'", "TTYPE='f'"]), ["RA", "F", "f_3"]);
    // Names from cards stay, whatever names are generated for other columns.
    assert_eq!(keys(&["", "TTYPE='Col1'", ""]), ["col1_1", "Col1", "col3"]);
}

#[test]
fn rule_28_logicals_and_bits() {
    let built = binary([1, 4], &["TTYPE='L' TFORM='1L'"], b"TF\0\x01");
    on_both("bt_logical", &built, |file| {
        assert_eq!(fields(&table(file)), [(0, fixed(Element::Logical, 1))]);
    });
    let built = binary([2, 2], &["TTYPE='X' TFORM='11X'"], &[0x80, 0x20, 0xff, 0xe0]);
    on_both("bt_bits", &built, |file| {
        let layout = table(file);
        assert_eq!(fields(&layout), [(0, fixed(Element::Bit, 11))]);
        assert_eq!((layout.row_bytes, layout.columns[0].field.row_bytes()), (2, 2));
    });
}

#[test]
fn rule_29_several_strings_in_a_cell() {
    let built = binary([60, 1], &["TTYPE='S' TFORM='60A' TDIM='(5,4,3)'"], &[b'0'; 60]);
    on_both("bt_str_tdim", &built, |file| {
        let layout = table(file);
        assert_eq!(fields(&layout), [(0, strings(60, 5))]);
        assert_eq!(layout.columns[0].dimensions, [5, 4, 3]);
    });
    on_both("bt_str", &binary([8, 3], &["TTYPE='S' TFORM='8A'"], &[0; 24]), |file| {
        assert_eq!(fields(&table(file)), [(0, strings(8, 8))]);
    });
    for (form, width) in [
        ("60A5", 5),
        ("60A", 60),
        ("60A0", 60),
        ("60A61", 60),
        ("60A60", 60),
        ("60A:SSTR8/031", 60),
        ("60A:SSTR12", 12),
        ("60A:SSTR", 60),
        ("60A:SSTR61", 60),
    ] {
        assert_eq!(
            fields(&one(60, &format!("TFORM='{form}'"))),
            [(0, strings(60, width))],
            "{form}"
        );
    }
    // TDIM takes precedence over the form.
    assert_eq!(fields(&one(60, "TFORM='60A5' TDIM='(10,_6)'")), [(0, strings(60, 10))]);
}

#[test]
fn rule_29_strings_of_any_length_in_a_cell() {
    let divided = |form: &str| {
        let layout = one(60, &format!("TTYPE='S' TFORM='{form}'"));
        let odd = !layout.warnings.is_empty();
        let header = NewTable::of(&layout).header(&Header::new()).unwrap();
        let text_of = |keyword| header.get_text(keyword).unwrap().map(str::to_owned);
        assert_eq!(text_of("TFORM1").as_deref(), Some("60A"));
        let substrings = layout.columns[0].substrings;
        (substrings.map(|each| (each.most, each.delimiter)), odd, text_of("TSSTR1"))
    };
    let expected = |substrings, odd, text: Option<&str>| (substrings, odd, text.map(str::to_owned));
    assert_eq!(divided("60A:SSTR8/032"), expected(Some((8, 32)), false, Some("SSTR8/032")));
    assert_eq!(divided("60A:SSTR99/9"), expected(Some((99, 9)), true, Some("SSTR99/009")));
    for form in ["60A:SSTR8/000", "60A:SSTR8/256", "60A:SSTR8/", "60A:SSTR/032", "60A:SSTR8/032x"] {
        assert_eq!(divided(form), expected(None, false, None), "{form}");
    }
    assert_eq!(one(60, "TFORM='60A:SSTR8/032' TDIM='(10,_6)'").columns[0].substrings, None);
    let beside = |cards: &str| one(60, cards).columns[0].substrings.map(|each| each.delimiter);
    assert_eq!(beside("TFORM='60A' TSSTR='SSTR8/124'"), Some(124));
    for cards in [
        "TFORM='60A' TSSTR='8/124'",
        "TFORM='60A5' TSSTR='SSTR8/124'",
        "TFORM='60B' TSSTR='SSTR8/124'",
        "TFORM='60A' TSSTR='SSTR8/124' TDIM='(10,_6)'",
    ] {
        assert_eq!(beside(cards), None, "{cards}");
    }
}

#[test]
fn rule_30_null_is_the_stored_integer() {
    let cards = ["TTYPE='U16' TFORM='1I' TZERO=32768 TNULL=-32768", "TTYPE='J' TFORM='J' TNULL=-1"];
    on_both("bt_unsigned_null", &binary([6, 3], &cards, &[0; 18]), |file| {
        let layout = table(file);
        let unsigned = Element::Number(ValueType::U16);
        assert_eq!(fields(&layout), [(0, fixed(unsigned, 1)), (2, fixed(I32, 1))]);
        assert!(layout.columns.iter().all(|column| !column.scaled));
        assert_eq!(layout.columns[0].null, Some(Null::Stored(-32768)));
        assert_eq!(layout.columns[1].null, Some(Null::Stored(-1)));
    });
    for (bytes, cards) in [
        (4, "TFORM='1E' TNULL=-1"),
        (8, "TFORM='8A' TNULL='x'"),
        (1, "TFORM='1L' TNULL=0"),
        (1, "TFORM='1B' TNULL=-1"),
        (2, "TFORM='1I' TNULL=32768"),
        (8, "TFORM='1PE' TNULL=0"),
        (8, "TFORM='1K' TNULL=9223372036854775808"),
    ] {
        let layout = one(bytes, cards);
        assert_eq!(
            (&layout.columns[0].null, codes(&layout)),
            (&None, vec![Code::NullIgnored]),
            "{cards}"
        );
    }
    let array = one(8, "TFORM='1PI' TNULL=-5.");
    assert_eq!(array.columns[0].null, Some(Null::Stored(-5)));
    assert_eq!(refused(2, "TFORM='1I' TNULL='-1'").code(), Code::NumericText);
}

#[test]
fn rule_31_unsigned_integers_also_in_the_heap() {
    let built = table_file(
        "BINTABLE",
        [16, 1],
        6,
        &columns(&["TTYPE='V' TFORM='1QI(3)' TZERO=32768"]),
        &[&[0; 7][..], &[3], &[0; 8], &i16s(&[-32768, 0, 32767])].concat(),
    );
    on_both("bt_vla_q_unsigned", &built, |file| {
        let layout = table(file);
        let element = Element::Number(ValueType::U16);
        let field = Field::Variable { element, wide: true, repeat: 1, most: Some(3) };
        assert_eq!((fields(&layout), layout.columns[0].scaled), (vec![(0, field)], false));
        let descriptor = &file[layout.data_offset as usize..];
        let result = layout.descriptor(0, 0, descriptor).unwrap();
        assert_eq!(result, Descriptor { count: 3, offset: 0 });
    });
    on_both(
        "bt_scaled_byte",
        &binary([1, 3], &["TTYPE='B' TFORM='B' TZERO=-128"], &[0, 128, 255]),
        |file| {
            let signed = Element::Number(ValueType::I8);
            assert_eq!(fields(&table(file)), [(0, fixed(signed, 1))]);
        },
    );
    let long = one(8, "TFORM='1K' TZERO=9.223372036854775808E18 TSCAL=1.0");
    assert_eq!(fields(&long), [(0, fixed(Element::Number(ValueType::U64), 1))]);
    for (bytes, cards) in [
        (8, "TFORM='1K' TZERO=9223372036854775807"),
        (2, "TFORM='1I' TZERO=32768 TSCAL=2"),
        (4, "TFORM='1E' TZERO=32768"),
        (8, "TFORM='1PJ' TSCAL=0.5"),
    ] {
        let column = &one(bytes, cards).columns[0];
        assert!(column.scaled, "{cards}");
    }
}

#[test]
fn rule_32_complex_numbers_are_scaled() {
    let built = binary([8, 2], &["TTYPE='C' TFORM='C' TSCAL=2.0 TZERO=10.0"], &[0; 16]);
    on_both("bt_complex", &built, |file| {
        let column = &table(file).columns[0];
        assert_eq!((column.field, column.scaled), (fixed(Element::Complex32, 1), true));
        assert_eq!((column.scale, column.zero), (2.0, 10.0));
    });
    let text = one(8, "TFORM='8A' TSCAL=2.0 TZERO=0");
    assert_eq!((text.columns[0].scaled, codes(&text)), (false, vec![Code::ScalingIgnored]));
    assert_eq!(refused(2, "TFORM='1I' TZERO='32768'").code(), Code::NumericText);
}

#[test]
fn rule_33_dimensions_may_take_less_than_the_column_has() {
    let bytes = i16s(&[1, 2, 3, 4, 5, 6]);
    on_both(
        "bt_tdim_short",
        &binary([12, 1], &["TTYPE='A' TFORM='6I' TDIM='(2,2)'"], &bytes),
        |file| {
            let layout = table(file);
            assert_eq!(
                (fields(&layout), &layout.columns[0].dimensions),
                (vec![(0, fixed(I16, 6))], &vec![2, 2])
            );
            assert!(layout.warnings.is_empty());
        },
    );
    for tdim in ["(3,3)", "(7)", "2,3", "()", "(2,-3)", "(2,x)", "(0,3)", "(4294967296,4294967296)"]
    {
        let layout = one(12, &format!("TFORM='6I' TDIM='{tdim}'"));
        assert_eq!(
            (layout.columns[0].dimensions.len(), codes(&layout)),
            (0, vec![Code::DimensionsIgnored]),
            "{tdim}"
        );
    }
    let empty = one(0, "TFORM='0I' TDIM='(0,3)'");
    assert_eq!((&empty.columns[0].dimensions, codes(&empty)), (&vec![0, 3], vec![]));
    let array = one(8, "TFORM='PI(6)' TDIM='(2,3)'");
    assert_eq!(array.columns[0].dimensions, [2, 3]);
}

#[test]
fn rule_36_no_rows_and_no_columns() {
    on_both("bt_norows", &binary([4, 0], &["TTYPE='A' TFORM='J'"], &[]), |file| {
        let layout = table(file);
        assert_eq!((layout.kind, layout.rows, layout.rows_present), (TableKind::Binary, 0, 0));
        assert_eq!(fields(&layout), [(0, fixed(I32, 1))]);
    });
    assert_eq!(table(&binary([0, 5], &[], &[])).rows_present, 5);
    let column = one(4, "TFORM='J' TUNIT='_km/s_' TDISP='I5'").columns.remove(0);
    assert_eq!((column.unit.as_deref(), column.display.as_deref()), (Some("km/s"), Some("I5")));
    let column = one(4, "TFORM='J' TUNIT='__' TDISP=''").columns.remove(0);
    assert_eq!((column.unit, column.display), (None, None));
}

#[test]
fn cards_of_every_table() {
    let with = |records: &[String], axes: &[u64], bitpix, counts| {
        let header = crate::build::extension("BINTABLE", bitpix, axes, counts, records);
        let file = [crate::build::empty_primary::<&str>(&[]), header, vec![0; 28800]].concat();
        table_hdu(&file).table().map(|_| ()).map_err(|error| error.code())
    };
    let good = columns(&["TFORM='J'"]);
    assert_eq!(with(&good, &[4, 2], 8, [0, 1]), Ok(()));
    assert_eq!(with(&good, &[4, 2, 1], 8, [0, 1]), Err(Code::KeywordRange));
    assert_eq!(with(&good, &[4], 8, [0, 1]), Err(Code::KeywordRange));
    assert_eq!(with(&good, &[4, 2], 16, [0, 1]), Err(Code::KeywordRange));
    assert_eq!(with(&good, &[4, 2], 8, [0, 2]), Err(Code::KeywordRange));
    assert_eq!(with(&[], &[4, 2], 8, [0, 1]), Err(Code::KeywordMissing));
    for (count, expected) in [
        ("1000", Err(Code::KeywordRange)),
        ("-1", Err(Code::KeywordRange)),
        ("0", Ok(())),
        ("'1'", Err(Code::NumericText)),
    ] {
        assert_eq!(with(&[format!("TFIELDS = {count}")], &[0, 2], 8, [0, 1]), expected);
    }
    let all = vec!["TFORM='J'"; 999];
    assert_eq!(table(&binary([3996, 0], &all, &[])).columns.len(), 999);
}
