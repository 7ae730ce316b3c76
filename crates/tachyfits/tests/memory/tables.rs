//! Memory of tables: binary, ASCII, with variable-length arrays and compressed; read, searched, written and
//! edited.

use std::path::Path;

use tachyfits::header::ValueType;
use tachyfits::table::{
    ColumnInput, ColumnOutput, CsvCells, CsvColumn, CsvValues, Element, Field, NewColumn, NewTable,
    TableKind, TableWriter, TextForm, WantedColumn, csv_rows,
};
use tachyfits::tiled::TableCompression;
use tachyfits::verify::VerifyOptions;
use tachyfits::{
    Editor, Error, FileWriter, FitsFile, Header, OpenOptions, Rows, StorageKind, Table,
    WriteOptions, verify,
};
use tempfile::TempDir;

use crate::allocator::{granted, in_child};
use crate::common::Numbers;
use crate::{RUN, check, digest};

/// A column and its cells.
struct ColumnFixture {
    new: NewColumn,
    values: Vec<u8>,
    offsets: Option<Vec<i64>>,
}

impl ColumnFixture {
    fn input(&self) -> ColumnInput<'_> {
        ColumnInput::new(&self.values).offsets(self.offsets.as_deref())
    }
}

fn fixed(name: &str, element: Element, repeat: u64, size: usize, rows: u64) -> ColumnFixture {
    let mut numbers = Numbers(repeat + size as u64);
    let length = (rows * repeat) as usize * size;
    let values = match element {
        Element::Character => (0..length).map(|_| b'a' + numbers.below(26) as u8).collect(),
        _ => (0..length).map(|_| numbers.below(100) as u8).collect(),
    };
    let width = if element == Element::Character { repeat } else { 1 };
    let new = NewColumn::new(name, Field::Fixed { element, repeat, width });
    ColumnFixture { new, values, offsets: None }
}

fn arrays(name: &str, rows: u64) -> ColumnFixture {
    let mut numbers = Numbers(rows);
    let mut offsets = vec![0i64];
    for row in 0..rows {
        let length = if row == 3 { 400_000 } else { numbers.below(5) as i64 };
        offsets.push(offsets[offsets.len() - 1] + length);
    }
    let elements = offsets[rows as usize] as usize;
    let values = (0..elements).flat_map(|n| (n as i32).to_ne_bytes()).collect();
    let element = Element::Number(ValueType::I32);
    let field = Field::Variable { element, wide: false, repeat: 1, most: None };
    ColumnFixture { new: NewColumn::new(name, field), values, offsets: Some(offsets) }
}

fn text(name: &str, form: TextForm, width: u32, decimals: u32, rows: u64) -> ColumnFixture {
    let new = NewColumn::new(name, Field::Text { text: form, width, decimals });
    let values = match form {
        TextForm::Integer => (0..rows as i64).flat_map(|n| (n % 1000).to_ne_bytes()).collect(),
        _ => (0..rows).flat_map(|n| (n as f64 / 8.0).to_ne_bytes()).collect(),
    };
    ColumnFixture { new, values, offsets: None }
}

/// (Name, kind, rows, columns) of tables: many rows, long rows, arrays, and text.
fn tables() -> Vec<(&'static str, TableKind, u64, Vec<ColumnFixture>)> {
    let number = Element::Number;
    let many = 80_000;
    vec![
        (
            "many rows",
            TableKind::Binary,
            many,
            vec![
                fixed("I", number(ValueType::I32), 1, 4, many),
                fixed("X", number(ValueType::F64), 1, 8, many),
                fixed("S", Element::Character, 7, 1, many),
                fixed("B", Element::Bit, 3, 1, many).of_bits(3, many),
            ],
        ),
        (
            "long rows",
            TableKind::Binary,
            5,
            vec![
                fixed("I", number(ValueType::I16), 1, 2, 5),
                fixed("V", number(ValueType::I32), 300_000, 4, 5),
                fixed("S", Element::Character, 1_100_000, 1, 5),
            ],
        ),
        (
            "arrays",
            TableKind::Binary,
            many,
            vec![fixed("I", number(ValueType::I32), 1, 4, many), arrays("A", many)],
        ),
        (
            "text",
            TableKind::Ascii,
            many,
            vec![
                text("I", TextForm::Integer, 12, 0, many),
                text("X", TextForm::Fixed, 16, 3, many),
            ],
        ),
    ]
}

impl ColumnFixture {
    /// Sets the values to bits, one byte each.
    fn of_bits(mut self, bits: u64, rows: u64) -> ColumnFixture {
        self.values = (0..bits * rows).map(|n| (n % 2) as u8).collect();
        self
    }
}

fn write(path: &Path, kind: TableKind, rows: u64, columns: &[ColumnFixture]) -> Result<u64, Error> {
    let new = NewTable::new(kind, columns.iter().map(|column| column.new.clone()).collect());
    let options = WriteOptions::default().overwrite(true).checksum(true);
    let file = FileWriter::create(path, &options)?;
    let mut writer = TableWriter::new(file, new, &Header::new())?;
    let inputs: Vec<ColumnInput<'_>> = columns.iter().map(ColumnFixture::input).collect();
    writer.write_rows(&inputs, rows, &RUN)?;
    writer.finish()?.commit()?;
    Ok(granted(|| digest(&std::fs::read(path).unwrap())))
}

fn open(path: &Path) -> Result<Table, Error> {
    let options = OpenOptions::default().storage(StorageKind::Positioned);
    FitsFile::open(path, &options)?.table(1)
}

fn read(table: &Table, rows: &Rows<'_>, count: u64) -> Result<Vec<u64>, Error> {
    let mut digests = Vec::new();
    for (number, column) in table.layout().columns.iter().enumerate() {
        if matches!(column.field, Field::Variable { .. }) {
            let (arrays, _) = table.read_arrays(number, false, rows, &RUN)?;
            digests.push(digest(&arrays.values));
            continue;
        }
        let cells = table.cells(number, false)?;
        let length = (cells.kind.bytes() * cells.elements() * count) as usize;
        let (mut values, mut nulls) =
            granted(|| (vec![0; length], vec![0; (cells.elements() * count) as usize]));
        let mut out = [ColumnOutput::new(number, &mut values)];
        if cells.nullable {
            out[0].nulls = Some(&mut nulls);
        }
        table.read(&mut out, rows, &RUN)?;
        digests.push(digest(&values));
    }
    Ok(digests)
}

fn reading(path: &Path) {
    let opened = open(path).unwrap();
    let count = opened.layout().rows;
    check("all rows", || read(&open(path)?, &Rows::Range(0..count), count));
    let list: Vec<u64> = (0..count).rev().collect();
    check("rows of a list", || read(&open(path)?, &Rows::List(&list), count));
    check("rows of a condition", || {
        let (rows, _) = open(path)?.rows_where("I > 0 or I < 1", 0..count, &RUN)?;
        Ok(digest(bytemuck::cast_slice(&rows)))
    });
    check("cells of a condition", || {
        let table = open(path)?;
        let fixed = |n: &usize| !matches!(table.layout().columns[*n].field, Field::Variable { .. });
        let columns: Vec<WantedColumn> =
            (0..table.layout().columns.len()).filter(fixed).map(WantedColumn::new).collect();
        let rows = table.read_where("I > 0 or I < 1", &columns, 0..count, &RUN)?;
        Ok(rows.columns.iter().map(|column| digest(&column.values)).collect::<Vec<_>>())
    });
    check("verification", || Ok(verify(path, &VerifyOptions::default(), &RUN)?.findings.len()));
    check("comparison", || {
        let options = OpenOptions::default().storage(StorageKind::Positioned);
        let [a, b] = [FitsFile::open(path, &options)?, FitsFile::open(path, &options)?];
        Ok(tachyfits::diff(&a, &b, &Default::default(), &RUN)?.is_same())
    });
}

fn editing(path: &Path, columns: &[ColumnFixture], rows: u64) {
    let copy = path.with_file_name("edited.fits");
    type Change<'a> = Box<dyn Fn(&mut Editor) -> Result<(), Error> + 'a>;
    let inputs: Vec<ColumnInput<'_>> = columns.iter().map(ColumnFixture::input).collect();
    let part = rows.min(3);
    let first = inputs[0];
    let cells = &columns[0].values[..columns[0].values.len() / rows as usize * part as usize];
    let is_ascii = matches!(columns[0].new.field, Field::Text { .. });
    let new = fixed("NEW", Element::Number(ValueType::F64), 1, 8, rows);
    let new = if is_ascii { text("NEW", TextForm::Fixed, 16, 3, rows) } else { new };
    let wide = fixed("WIDE", Element::Number(ValueType::F64), 200_000, 8, rows.min(5));
    let has_arrays = columns.iter().any(|column| column.offsets.is_some());
    let changes: Vec<(&str, Change<'_>)> = vec![
        ("appended rows", Box::new(|editor| editor.append_rows(1, &inputs, rows, &RUN))),
        ("inserted rows", Box::new(|editor| editor.insert_rows(1, 1, &inputs, rows, &RUN))),
        ("deleted rows", Box::new(|editor| editor.delete_rows(1, &Rows::Range(1..rows - 1)))),
        (
            "cells",
            Box::new(|editor| editor.update_cells(1, 0, &Rows::Range(0..rows), &first, &RUN)),
        ),
        (
            "few cells",
            Box::new(|editor| {
                let list: Vec<u64> = (0..part).rev().collect();
                editor.update_cells(1, 0, &Rows::List(&list), &ColumnInput::new(cells), &RUN)
            }),
        ),
        (
            "all cells in a list",
            Box::new(|editor| {
                let list: Vec<u64> = granted(|| (0..rows).rev().collect());
                editor.update_cells(1, 0, &Rows::List(&list), &first, &RUN)
            }),
        ),
        ("a column", Box::new(|editor| editor.insert_column(1, 1, &new.new, &new.input(), &RUN))),
        (
            "a wide column",
            Box::new(|editor| match rows {
                5 => editor.insert_column(1, 1, &wide.new, &wide.input(), &RUN),
                _ => Ok(()),
            }),
        ),
        ("fewer columns", Box::new(|editor| editor.delete_columns(1, &[0]))),
        (
            "arrays",
            Box::new(|editor| match has_arrays {
                true => {
                    editor.update_cells(1, 1, &Rows::Range(0..rows), &inputs[1], &RUN)?;
                    editor.compact_heap(1).map(drop)
                }
                false => Ok(()),
            }),
        ),
        ("sums", Box::new(|editor| editor.update_checksums(1))),
        ("repairs", Box::new(|editor| editor.repair().map(drop))),
        (
            "a copy",
            Box::new(|editor| {
                let options = OpenOptions::default().storage(StorageKind::Positioned);
                editor.copy(2, &FitsFile::open(path, &options)?, 1)
            }),
        ),
    ];
    for (name, change) in &changes {
        check(&format!("edit: {name}"), || {
            granted(|| std::fs::copy(path, &copy).unwrap());
            let mut editor = Editor::open(&copy, &OpenOptions::default())?;
            change(&mut editor)?;
            editor.commit(false, &RUN)?;
            Ok(granted(|| digest(&std::fs::read(&copy).unwrap())))
        });
    }
}

#[test]
fn whole_tables() {
    in_child("tables::whole_tables", || {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("table.fits");
        for (name, kind, rows, columns) in tables() {
            check(&format!("writing {name}"), || write(&path, kind, rows, &columns));
            write(&path, kind, rows, &columns).unwrap();
            eprintln!("{name}");
            reading(&path);
        }
    });
}

#[test]
fn edited_tables() {
    in_child("tables::edited_tables", || {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("table.fits");
        for (name, kind, rows, columns) in tables() {
            write(&path, kind, rows, &columns).unwrap();
            eprintln!("{name}");
            editing(&path, &columns, rows);
        }
    });
}

#[test]
fn compressed_tables() {
    in_child("tables::compressed_tables", || {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("table.fits");
        let compressed = directory.path().join("compressed.fits");
        for (name, kind, rows, columns) in tables() {
            if kind == TableKind::Ascii {
                continue;
            }
            write(&path, kind, rows, &columns).unwrap();
            let compress = || {
                let options = WriteOptions::default().overwrite(true);
                let mut file = FileWriter::create(&compressed, &options)?;
                open(&path)?.write_compressed(&mut file, &TableCompression::default(), &RUN)?;
                file.commit()?;
                Ok(granted(|| digest(&std::fs::read(&compressed).unwrap())))
            };
            check(&format!("compressing {name}"), compress);
            compress().unwrap();
            reading(&compressed);
        }
    });
}

#[test]
fn csv() {
    in_child("tables::csv", || {
        let rows = 300_000;
        let values: Vec<f64> = (0..rows).map(|n| f64::from(n) / 7.0).collect();
        let column =
            CsvColumn { values: CsvValues::F64(&values), undefined: None, cells: CsvCells::Single };
        check("CSV", || {
            let texts = csv_rows(&[column], rows as usize, &RUN)?;
            Ok(texts.iter().map(|text| digest(text)).collect::<Vec<_>>())
        });
    });
}
