//! New tables: values read back are equal to those written, for any columns, batches and threads.

use std::fs;
use std::path::Path;

use crate::cells::{Column, errors, read_all, table};
use crate::common::{Numbers, fits, image};
use crate::made::tables;
use proptest::prelude::*;
use tachyfits::header::ValueType;
use tachyfits::table::{
    ColumnInput, Element, Field, NewColumn, NewTable, Null, TableKind, TableWriter, TextAs,
    TextForm,
};
use tachyfits::verify::VerifyOptions;
use tachyfits::{
    Array, Error, FileWriter, FitsFile, Header, OpenOptions, PixelType, RunOptions, WriteOptions,
};

fn new_table(kind: TableKind, columns: Vec<NewColumn>) -> NewTable {
    NewTable::new(kind, columns)
}

fn open(path: &Path) -> FitsFile {
    FitsFile::open(path, &OpenOptions::default()).unwrap()
}

fn inputs(columns: &[Column]) -> Vec<ColumnInput<'_>> {
    columns.iter().map(Column::input).collect()
}

fn check_sums(file: &FitsFile) {
    for hdu in 0..file.hdus().len() {
        let (sum, _) = file.checksum(hdu, &RunOptions::default()).unwrap();
        assert!(sum.is_good(), "HDU {hdu}: {sum:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn written_tables_are_read_back_unchanged(
        fixture in tables(), seed: u64, checksum: bool, stated: bool, threads in 1usize..4
    ) {
        let source = table(fixture.bytes(), 1);
        let columns = read_all(&source);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.fits");
        let options = WriteOptions::default().checksum(checksum);
        let run = RunOptions::default().threads(threads);
        let mut new = NewTable::of(source.layout());
        (new.rows, new.name) = (if stated { fixture.rows as u64 } else { 0 }, Some("COPY".to_owned()));
        let file = FileWriter::create(&path, &options).unwrap();
        let mut writer = TableWriter::new(file, new, &Header::new()).unwrap();
        let mut numbers = Numbers(seed);
        let mut rows_written = 0;
        while rows_written < fixture.rows {
            let count = (1 + numbers.below(fixture.rows as u64 + 20) as usize).min(fixture.rows - rows_written);
            let part: Vec<Column> =
                columns.iter().map(|column| column.rows(rows_written, count, fixture.rows)).collect();
            writer.write_rows(&inputs(&part), count as u64, &run).unwrap();
            rows_written += count;
        }
        writer.finish().unwrap().commit().unwrap();
        let file = open(&path);
        prop_assert!(file.warnings().is_empty(), "{:?}", file.warnings());
        prop_assert!(file.bytes().is_multiple_of(2880));
        let copy = file.table(1).unwrap();
        prop_assert!(copy.layout().warnings.is_empty(), "{:?}", copy.layout().warnings);
        prop_assert_eq!(copy.layout().rows, fixture.rows as u64);
        prop_assert_eq!(file.hdus()[1].extname.as_deref(), Some("COPY"));
        prop_assert_eq!(&read_all(&copy), &columns);
        prop_assert!(errors(&file).is_empty(), "{:?}", errors(&file));
        for (old, new) in source.layout().columns.iter().zip(&copy.layout().columns) {
            prop_assert_eq!((&old.null, &old.dimensions), (&new.null, &new.dimensions));
            prop_assert_eq!((old.scale, old.zero, old.scaled), (new.scale, new.zero, new.scaled));
        }
        if checksum {
            check_sums(&file);
        }
    }
}

fn ascii_columns() -> Vec<NewColumn> {
    let field = |text, width, decimals| Field::Text { text, width, decimals };
    vec![
        NewColumn::new("I", field(TextForm::Integer, 12, 0)).null(Some(Null::Text("*".into()))),
        NewColumn::new("F", field(TextForm::Fixed, 14, 3)),
        NewColumn::new("E", field(TextForm::Exponent, 24, 16)),
        NewColumn::new("D", field(TextForm::Double, 24, 16)).null(Some(Null::Text("NaN".into()))),
        NewColumn::new("A", field(TextForm::Characters, 7, 0)),
        NewColumn::new("S", field(TextForm::Integer, 12, 0)).scaling(Some((0.5, 10.0))),
    ]
}

/// Returns a random number with a two-digit exponent, so that it fits an E field.
fn real_of_two_digits(numbers: &mut Numbers) -> f64 {
    loop {
        let real = f64::from_bits(numbers.next());
        if real.is_finite() && real.abs() < 1e90 && real.abs() > 1e-90 {
            return real;
        }
    }
}

#[test]
fn an_ascii_table_says_the_numbers_in_text() {
    let rows = 5000;
    let mut numbers = Numbers(7);
    let integers: Vec<i64> = (0..rows).map(|_| numbers.next() as i32 as i64).collect();
    let fixed: Vec<f64> = integers.iter().map(|n| *n as f64 / 1000.0).collect();
    let reals: Vec<f64> = (0..rows).map(|_| real_of_two_digits(&mut numbers)).collect();
    let halves: Vec<f64> = integers.iter().map(|n| (*n as f64).mul_add(0.5, 10.0)).collect();
    let nulls: Vec<u8> = (0..rows).map(|n| u8::from(n % 7 == 0)).collect();
    let text: Vec<u8> = (0..rows).flat_map(|n| format!("{n:\0<7}").into_bytes()).collect();
    let as_bytes =
        |values: &[f64]| values.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
    let columns = [
        integers.iter().flat_map(|v| v.to_ne_bytes()).collect(),
        as_bytes(&fixed),
        as_bytes(&reals),
        as_bytes(&reals),
        text,
        as_bytes(&halves),
    ];
    let mut inputs: Vec<_> = columns.iter().map(|values| ColumnInput::new(values)).collect();
    inputs[0].nulls = Some(&nulls);
    inputs[3].nulls = Some(&nulls);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.fits");
    let options = WriteOptions::default().checksum(true);
    let file = FileWriter::create(&path, &options).unwrap();
    let new = new_table(TableKind::Ascii, ascii_columns());
    let mut writer = TableWriter::new(file, new, &Header::new()).unwrap();
    writer.write_rows(&inputs, rows as u64, &RunOptions::default()).unwrap();
    writer.finish().unwrap().commit().unwrap();
    let file = open(&path);
    assert!(file.warnings().is_empty(), "{:?}", file.warnings());
    check_sums(&file);
    assert!(errors(&file).is_empty(), "{:?}", errors(&file));
    // The text of each field, read without our own reader.
    let (bytes, layout) = (fs::read(&path).unwrap(), file.table(1).unwrap().layout().clone());
    assert_eq!(*bytes.last().unwrap(), b' ', "an ASCII table is filled with blanks");
    let cell = |column: usize, row: usize| {
        let column = &layout.columns[column];
        let begin = layout.data_offset + row as u64 * layout.row_bytes + column.offset;
        let field = &bytes[begin as usize..][..column.field.row_bytes() as usize];
        std::str::from_utf8(field).unwrap().trim().replace('D', "E")
    };
    for row in 0..rows {
        if nulls[row] == 0 {
            assert_eq!(cell(0, row), integers[row].to_string());
            assert_eq!(cell(3, row).parse::<f64>().unwrap().to_bits(), reals[row].to_bits());
        } else {
            assert_eq!((&*cell(0, row), &*cell(3, row)), ("*", "NaN"));
        }
        assert_eq!(cell(1, row), format!("{:.3}", fixed[row]));
        assert_eq!(cell(2, row).parse::<f64>().unwrap().to_bits(), reals[row].to_bits());
        assert_eq!(cell(4, row), row.to_string());
        assert_eq!(cell(5, row), integers[row].to_string());
    }
}

/// Returns the error of writing one row of one column.
fn refused(kind: TableKind, column: NewColumn, input: ColumnInput<'_>, rows: u64) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.fits");
    let file = FileWriter::create(&path, &WriteOptions::default()).unwrap();
    let mut writer = TableWriter::new(file, new_table(kind, vec![column]), &Header::new()).unwrap();
    let error: Error = writer.write_rows(&[input], rows, &RunOptions::default()).unwrap_err();
    assert_eq!(error.code(), "cell-values");
    drop(writer);
    assert!(!path.exists() && fs::read_dir(directory.path()).unwrap().count() == 0);
    error.to_string()
}

fn fixed(element: Element, repeat: u64) -> Field {
    Field::Fixed { element, repeat, width: if element == Element::Character { repeat } else { 1 } }
}

#[test]
fn values_out_of_range_are_refused_with_the_row() {
    let short = Element::Number(ValueType::I16);
    let plain = NewColumn::new("N", fixed(short, 1));
    let with_null = plain.clone().null(Some(Null::Stored(-9)));
    let scaled = plain.clone().scaling(Some((0.5, 0.0)));
    let values = [5i16, -9].map(i16::to_ne_bytes).concat();
    let large = [1.0f64, 1e9].map(f64::to_ne_bytes).concat();
    let input = ColumnInput::new(&values);
    let nulls = input.nulls(Some(&[0, 1]));
    let binary = TableKind::Binary;
    for (column, input, rows, message) in [
        (
            &plain,
            input,
            3,
            "expected 6 bytes, 2 for each row, found 4 bytes for column 1 (from 1) \"N\"",
        ),
        (
            &plain,
            nulls,
            2,
            "expected no undefined values, because the column has no TNULL, found a null in row 2",
        ),
        (
            &with_null,
            input,
            2,
            "expected values other than TNULL, -9 as it is stored, found it in row 2",
        ),
        (&plain, input.nulls(Some(&[0])), 2, "expected 2 marks of nulls"),
        (&scaled, ColumnInput::new(&large), 2, "found 1 others in rows 1 to 2"),
    ] {
        let text = refused(binary, column.clone(), input, rows);
        assert!(text.contains(message), "{text}");
        assert!(text.contains("out.fits: HDU 1 (0-based): "), "{text}");
    }
    let text = NewColumn::new("TEXT", fixed(Element::Character, 4));
    let error = refused(binary, text.clone(), ColumnInput::new(b"ab\0\0caf\xe9"), 2);
    assert!(
        error.contains("expected text of printable ASCII, found other characters in row 2"),
        "{error}"
    );
    let wide: Vec<u8> = "caf\u{e9}".chars().flat_map(|c| (c as u32).to_ne_bytes()).collect();
    let error = refused(binary, text, ColumnInput::new(&wide).text(TextAs::Ucs4), 1);
    assert!(error.contains("printable ASCII"), "{error}");
    let field = Field::Variable { element: short, wide: false, repeat: 1, most: None };
    for (offsets, message) in [
        (None, "expected offsets of the arrays, found none"),
        (Some(&[0i64, 2][..]), "expected 3 offsets"),
        (Some(&[0, 3, 2]), "rising offsets"),
        (Some(&[0, 1, 1]), "rising offsets"),
        (Some(&[1, 1, 2]), "rising offsets"),
    ] {
        let text = refused(binary, NewColumn::new("V", field), input.offsets(offsets), 2);
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn values_wider_than_a_text_field_are_refused_with_the_row() {
    let field = |text, width, decimals| Field::Text { text, width, decimals };
    let integer = NewColumn::new("N", field(TextForm::Integer, 3, 0));
    let with_null = integer.clone().null(Some(Null::Text(" -9".into())));
    let real = NewColumn::new("X", field(TextForm::Fixed, 6, 2));
    let integers = [5i64, -9].map(i64::to_ne_bytes).concat();
    let wide = [5i64, 1000].map(i64::to_ne_bytes).concat();
    let reals = [5.0f64, f64::NAN].map(f64::to_ne_bytes).concat();
    let far = [1e9f64, 0.0].map(f64::to_ne_bytes).concat();
    for (column, values, message) in [
        (
            &integer,
            &wide,
            "numbers that 3 characters hold, found 1000, wider than the field in row 2",
        ),
        (&with_null, &integers, "numbers other than TNULL, found -9 in row 2"),
        (&real, &reals, "finite numbers, because the column has no TNULL, found NaN in row 2"),
        (&real, &far, "found 1000000000, wider than the field in row 1"),
    ] {
        let text = refused(TableKind::Ascii, column.clone(), ColumnInput::new(values), 2);
        assert!(text.contains(message), "{text}");
    }
    let input = ColumnInput::new(&integers).nulls(Some(&[1, 0]));
    let text = refused(TableKind::Ascii, integer, input, 2);
    assert!(text.contains("found a null in row 1"), "{text}");
}

#[test]
fn the_number_of_rows_must_match_the_declared_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.fits");
    let column = NewColumn::new("N", fixed(Element::Number(ValueType::U8), 1));
    let new = new_table(TableKind::Binary, vec![column]).rows(3);
    let begin = || {
        let file = FileWriter::create(&path, &WriteOptions::default()).unwrap();
        TableWriter::new(file, new.clone(), &Header::new()).unwrap()
    };
    let run = RunOptions::default();
    let mut writer = begin();
    writer.write_rows(&[ColumnInput::new(b"ab")], 2, &run).unwrap();
    let error = writer.write_rows(&[ColumnInput::new(b"cd")], 2, &run).unwrap_err();
    assert!(error.to_string().contains("expected 3 rows in all, found 2 after 2"), "{error}");
    let mut writer = begin();
    writer.write_rows(&[ColumnInput::new(b"ab")], 2, &run).unwrap();
    assert_eq!(writer.finish().unwrap_err().code(), "cell-values");
    let error = begin().write_rows(&[], 1, &run).unwrap_err();
    assert!(error.to_string().contains("cells for 1 columns"), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_file_takes_images_and_tables() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.fits");
    let options = WriteOptions::default().checksum(true);
    let run = RunOptions::default();
    let column = || NewColumn::new("N", fixed(Element::Number(ValueType::U16), 1));
    let new = || new_table(TableKind::Binary, vec![column()]);
    let values = [7u16, 40_000].map(u16::to_ne_bytes).concat();
    let mut file = FileWriter::create(&path, &options).unwrap();
    // Cards of an image that was alone in its file.
    let cards = [("EXTEND", "F"), ("NEXTEND", "0")];
    let cards = cards.map(|(keyword, value)| format!("{keyword:<8}= {value:>20}"));
    image(fits(16, &[2], &cards, &[0, 1, 0, 2])).write_into(&mut file, None, None, &run).unwrap();
    let mut writer = TableWriter::new(file, new(), &Header::new()).unwrap();
    writer.write_rows(&[ColumnInput::new(&values)], 2, &run).unwrap();
    let mut file = writer.finish().unwrap();
    let mut header = Header::new();
    header.set("EXTNAME", "LAST", "").unwrap();
    let pixels = [1.5f32, 2.5].map(f32::to_ne_bytes).concat();
    let array = Array { bytes: &pixels, axes: &[2], pixel: PixelType::F32 };
    array.write_into(&mut file, &header, None, None, &run).unwrap();
    assert_eq!(file.hdus(), 3);
    file.commit().unwrap();
    let file = open(&path);
    let kinds: Vec<_> = file.hdus().iter().map(|hdu| hdu.kind.as_str().to_owned()).collect();
    assert_eq!(kinds, ["primary", "binary table", "image"]);
    assert_eq!(file.hdus()[2].extname.as_deref(), Some("LAST"));
    assert!(file.warnings().is_empty(), "{:?}", file.warnings());
    check_sums(&file);
    assert_eq!(file.verify(&VerifyOptions::default(), &run).unwrap().findings, []);
    assert_eq!(read_all(&file.table(1).unwrap())[0].values, values);
    // A writer without any HDU writes the smallest file.
    let empty = directory.path().join("empty.fits");
    FileWriter::create(&empty, &options).unwrap().commit().unwrap();
    check_sums(&open(&empty));
    assert_eq!(open(&empty).bytes(), 2880);
}

#[test]
fn carried_cards_stay_and_the_longest_array_is_declared() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.fits");
    let element = Element::Number(ValueType::I32);
    let field = Field::Variable { element, wide: false, repeat: 1, most: None };
    let mut carried = Header::new();
    carried.set("TELESCOP", "a telescope", "kept").unwrap();
    let file = FileWriter::create(&path, &WriteOptions::default()).unwrap();
    let new = new_table(TableKind::Binary, vec![NewColumn::new("V", field)]);
    let mut writer = TableWriter::new(file, new, &carried).unwrap();
    let run = RunOptions::default();
    for counts in [[1usize, 0], [12, 300]] {
        let values = vec![1; 4 * (counts[0] + counts[1])];
        let offsets = [0, counts[0] as i64, (counts[0] + counts[1]) as i64];
        let input = ColumnInput::new(&values).offsets(Some(&offsets));
        writer.write_rows(&[input], 2, &run).unwrap();
    }
    writer.finish().unwrap().commit().unwrap();
    let file = open(&path);
    let header = &file.hdus()[1].header;
    assert_eq!(header.get_text("TFORM1"), Ok(Some("1PJ(300)")));
    assert_eq!(header.get_i64("PCOUNT"), Ok(Some(4 * 313)));
    assert_eq!(header.get_i64("NAXIS2"), Ok(Some(4)));
    assert_eq!(header.get_text("TELESCOP"), Ok(Some("a telescope")));
}
