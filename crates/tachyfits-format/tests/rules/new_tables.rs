//! Headers of new tables: parsing restores the requested columns.

use proptest::prelude::*;
use tachyfits_format::{
    Code, Element, Field, Header, NewColumn, NewTable, Null, Substrings, TableKind, TextForm,
    Value, ValueType,
};

use crate::build::{empty_primary, walk_strictly};

fn element() -> impl Strategy<Value = Element> {
    use ValueType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let number = prop::sample::select(vec![U8, I8, I16, U16, I32, U32, I64, U64, F32, F64]);
    prop_oneof![
        4 => number.prop_map(Element::Number),
        1 => prop::sample::select(vec![
            Element::Logical, Element::Bit, Element::Character, Element::Complex32, Element::Complex64,
        ]),
    ]
}

fn binary_field() -> impl Strategy<Value = Field> {
    let fixed = (element(), 0..300u64, 1..9u64).prop_map(|(element, repeat, width)| {
        let width = match element {
            Element::Character if width <= repeat && repeat % width == 0 => width,
            Element::Character => repeat,
            _ => 1,
        };
        Field::Fixed { element, repeat, width }
    });
    let variable = (element(), any::<bool>(), 0..2u64, prop::option::of(any::<u64>()))
        .prop_map(|(element, wide, repeat, most)| Field::Variable { element, wide, repeat, most });
    prop_oneof![3 => fixed, 1 => variable]
}

fn text_field() -> impl Strategy<Value = Field> {
    let forms = vec![
        TextForm::Characters,
        TextForm::Integer,
        TextForm::Fixed,
        TextForm::Exponent,
        TextForm::Double,
    ];
    (prop::sample::select(forms), 1..40u32, 0..20u32).prop_map(|(text, width, decimals)| {
        let decimals = if text.has_decimals() { decimals.min(width - 1) } else { 0 };
        Field::Text { text, width, decimals }
    })
}

/// A valid column with a field and random properties.
fn column(field: Field) -> impl Strategy<Value = NewColumn> {
    let words = || prop::option::of("[!-&(-~][ -&(-~]{0,10}[!-&(-~]");
    let scaling = prop_oneof![
        Just(None),
        (any::<f64>(), any::<f64>()).prop_map(Some),
        (-100..100i32, -70_000..70_000i32)
            .prop_map(|(scale, zero)| Some((scale.into(), zero.into()))),
    ];
    let start = prop::option::of(0..1000u64);
    let dimensions = prop::collection::vec(1..6u64, 1..4);
    (words(), scaling, any::<Option<i64>>(), prop::option::of(dimensions), words(), words(), start).prop_map(
        move |(name, scaling, null, dimensions, unit, display, start)| {
            let mut column = NewColumn::new(&name.unwrap_or_default(), field).unit(unit).display(display);
            let convention = |element: Element| element.convention().is_some();
            let own = matches!(field, Field::Fixed { element, .. } | Field::Variable { element, .. } if convention(element));
            column.scaling = scaling.filter(|(scale, zero)| {
                let changes = *scale != 1.0 || *zero != 0.0;
                field.is_number() && !own && scale.is_finite() && zero.is_finite() && changes && !unsigned(*scale, *zero)
            });
            column.null = null.and_then(|null| null_of(field, null));
            if let (Field::Fixed { element, repeat, .. }, Some(sizes)) = (field, dimensions)
                && sizes.iter().product::<u64>() <= repeat
                // Characters outside the dimensions give a warning.
                && (element != Element::Character || sizes.iter().product::<u64>() == repeat)
            {
                if element == Element::Character {
                    column.field = Field::Fixed { element, repeat, width: sizes[0] };
                }
                column.dimensions = sizes;
            }
            if matches!(field, Field::Text { .. }) {
                column.start = start;
            }
            column
        },
    )
}

/// Whether scale and zero are those of a convention.
fn unsigned(scale: f64, zero: f64) -> bool {
    scale == 1.0 && [-128.0, 32768.0, 2147483648.0, 9223372036854775808.0].contains(&zero)
}

fn null_of(field: Field, null: i64) -> Option<Null> {
    use ValueType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    match field {
        Field::Text { width, .. } => {
            let digits = null.to_string();
            Some(Null::Text(digits[..digits.len().min(width as usize)].to_owned()))
        }
        Field::Fixed { element: Element::Number(value), .. }
        | Field::Variable { element: Element::Number(value), .. } => match value {
            U8 | I8 => Some(Null::Stored(i64::from(null as u8))),
            I16 | U16 => Some(Null::Stored(i64::from(null as i16))),
            I32 | U32 => Some(Null::Stored(i64::from(null as i32))),
            I64 | U64 => Some(Null::Stored(null)),
            F32 | F64 => None,
        },
        _ => None,
    }
}

fn new_table() -> impl Strategy<Value = NewTable> {
    let binary = prop::collection::vec(binary_field().prop_flat_map(column), 0..12);
    let ascii = prop::collection::vec(text_field().prop_flat_map(column), 0..12);
    let columns = prop_oneof![
        2 => binary.prop_map(|columns| (TableKind::Binary, columns)),
        1 => ascii.prop_map(|columns| (TableKind::Ascii, columns)),
    ];
    (columns, 0..100u64, 0..50u64, 0..50u64, any::<bool>()).prop_map(
        |((kind, mut columns), rows, gap, heap, checksum)| {
            for (number, column) in columns.iter_mut().enumerate() {
                // Names must be distinct: a repeated name gives a warning.
                if !column.name.is_empty() {
                    column.name = format!("{number}{}", column.name);
                }
            }
            let binary = kind == TableKind::Binary;
            let (heap_gap, heap_bytes) = if binary && heap > 0 { (gap, heap) } else { (0, 0) };
            let name = Some("A NAME".to_owned());
            NewTable::new(kind, columns)
                .name(name)
                .rows(rows)
                .heap_gap(heap_gap)
                .heap_bytes(heap_bytes)
                .checksum(checksum)
        },
    )
}

/// Creates a file of the table, with zeros as data.
fn file(table: &NewTable, carried: &Header) -> Vec<u8> {
    let header = table.header(carried).unwrap_or_else(|error| panic!("{error}")).to_bytes();
    let (_, row_bytes) = table.row().unwrap();
    let bytes = row_bytes * table.rows + table.heap_gap + table.heap_bytes;
    [empty_primary::<&str>(&[]), header, crate::build::data(&vec![0; bytes as usize])].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn requested_columns_are_read_back_unchanged(mut table in new_table()) {
        let (offsets, row_bytes) = table.row().unwrap();
        let hdu = walk_strictly(&file(&table, &Header::new())).whole().hdus.remove(1);
        let layout = hdu.table().unwrap();
        prop_assert_eq!(&layout.warnings, &[]);
        prop_assert_eq!((layout.rows, layout.row_bytes), (table.rows, row_bytes));
        prop_assert_eq!(layout.columns.iter().map(|column| column.offset).collect::<Vec<_>>(), offsets.clone());
        prop_assert_eq!(hdu.extname.as_deref(), Some("A NAME"));
        prop_assert_eq!(hdu.header.get("CHECKSUM").is_some(), table.checksum);
        if table.kind == TableKind::Ascii {
            for (column, offset) in table.columns.iter_mut().zip(offsets) {
                column.start = Some(offset);
            }
        }
        let again = NewTable::of(&layout).name(table.name.clone()).row_bytes(None).checksum(table.checksum);
        prop_assert_eq!(&again, &table);
        // A header written from the parsed one is equal, card by card.
        let header = again.header(&hdu.header).unwrap();
        prop_assert_eq!(header.cards(), hdu.header.cards());
    }
}

fn one(column: NewColumn) -> NewTable {
    let kind = match column.field {
        Field::Text { .. } => TableKind::Ascii,
        _ => TableKind::Binary,
    };
    NewTable::new(kind, vec![column]).rows(2)
}

fn integers(repeat: u64) -> NewColumn {
    let element = Element::Number(ValueType::I16);
    NewColumn::new("A", Field::Fixed { element, repeat, width: 1 })
}

#[test]
fn carried_cards_keep_their_comments() {
    let mut carried = Header::new();
    for (keyword, value, comment) in [
        ("XTENSION", Value::from("IMAGE"), "old"),
        ("NAXIS1", Value::from(7), "old"),
        ("TTYPE1", Value::from("A"), "what it is"),
        ("TFORM1", Value::from("1J"), "old"),
        ("TTYPE2", Value::from("gone"), "old"),
        ("THEAP", Value::from(5), "old"),
        ("EXTNAME", Value::from("TABLE"), "its name"),
        ("TLMIN1", Value::from(0), "least"),
        ("OBJECT", Value::from("M 31"), ""),
        ("DATASUM", Value::from("7"), "old"),
    ] {
        carried.set(keyword, value, comment).unwrap();
    }
    let header = one(integers(1)).header(&carried).unwrap();
    assert!(header.cards().iter().all(|card| card.comment() != "old"));
    let comment = |keyword| header.cards()[header.position(keyword).unwrap()].comment();
    assert_eq!(
        (comment("TTYPE1"), comment("EXTNAME"), comment("TLMIN1")),
        ("what it is", "its name", "least")
    );
    assert_eq!(header.get_text("OBJECT"), Ok(Some("M 31")));
    assert_eq!(header.get_text("TFORM1"), Ok(Some("1I")));
    let table = one(integers(1)).name(Some("NEW".to_owned()));
    let header = table.header(&carried).unwrap();
    assert_eq!(header.get_text("EXTNAME"), Ok(Some("NEW")));
    assert_eq!(header.cards().iter().filter(|card| card.keyword() == "EXTNAME").count(), 1);
}

#[test]
fn invalid_columns_are_refused() {
    let unsigned = Field::Fixed { element: Element::Number(ValueType::U16), repeat: 1, width: 1 };
    let characters = Field::Fixed { element: Element::Character, repeat: 8, width: 8 };
    let wide =
        Field::Fixed { element: Element::Number(ValueType::F64), repeat: u64::MAX, width: 1 };
    let text = |width| Field::Text { text: TextForm::Integer, width, decimals: 0 };
    let substrings = Some(Substrings { most: 8, delimiter: b',' });
    let by_nul = Some(Substrings { most: 8, delimiter: 0 });
    for column in [
        NewColumn::new("S", characters).substrings(by_nul),
        NewColumn::new("U", unsigned).scaling(Some((2.0, 0.0))),
        NewColumn::new("S", characters).scaling(Some((2.0, 0.0))),
        integers(1).null(Some(Null::Stored(32768))),
        integers(1).null(Some(Null::Text("x".into()))),
        NewColumn::new("S", characters).null(Some(Null::Stored(0))),
        NewColumn::new("T", text(3)).null(Some(Null::Text("****".into()))),
        integers(3).dimensions(vec![2, 2]),
        NewColumn::new("T", text(3)).dimensions(vec![1]),
        integers(1).substrings(substrings),
        NewColumn::new("S", characters).substrings(substrings).dimensions(vec![4, 2]),
        NewColumn::new("W", wide),
        NewColumn::new("T", text(0)),
    ] {
        let error = one(column.clone()).header(&Header::new()).unwrap_err();
        assert_eq!(error.code(), Code::NewColumn, "{column:?}");
        assert!(error.to_string().contains("column 1 (from 1)"), "{error}");
    }
    let mixed = one(integers(1)).kind(TableKind::Ascii);
    assert_eq!(mixed.header(&Header::new()).unwrap_err().code(), Code::NewColumn);
    let many = one(integers(1)).columns(vec![integers(1); 1000]);
    assert_eq!(many.header(&Header::new()).unwrap_err().code(), Code::NewColumn);
    let name = integers(1).name("caf\u{e9}".to_owned());
    assert_eq!(one(name).header(&Header::new()).unwrap_err().code(), Code::CardText);
    let scale = integers(1).scaling(Some((f64::NAN, 0.0)));
    assert_eq!(one(scale).header(&Header::new()).unwrap_err().code(), Code::KeywordRange);
}
