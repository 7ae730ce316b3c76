//! Edits of rows, cells and columns of tables, compared with a twin that edits the cells.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cells::{Column, errors, read_all, table};
use crate::common::{BLOCK, Numbers, table_file};
use crate::made::{TableFixture, column, tables, variable_column};
use crate::model::Spec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tachyfits::edit::Committed;
use tachyfits::header::ValueType;
use tachyfits::table::{ColumnInput, Element, Field, NewColumn, NewTable, TableKind, TextForm};
use tachyfits::{Editor, FitsFile, Header, OpenOptions, Reason, Rows, RunOptions};
use tempfile::TempDir;

pub fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("edited.fits");
    fs::write(&path, bytes).unwrap();
    (directory, path)
}

pub fn open(path: &Path) -> FitsFile {
    FitsFile::open(path, &OpenOptions::default()).unwrap()
}

pub fn edit(path: &Path) -> Editor {
    Editor::open(path, &OpenOptions::default()).unwrap()
}

pub fn commit(editor: Editor) -> Committed {
    editor.commit(false, &RunOptions::default()).unwrap()
}

fn run() -> RunOptions<'static> {
    RunOptions::default()
}

fn inputs(columns: &[Column]) -> Vec<ColumnInput<'_>> {
    columns.iter().map(Column::input).collect()
}

/// Returns an image extension to follow a table.
fn image_extension() -> Vec<u8> {
    let cards = [
        "XTENSION= 'IMAGE   '",
        "BITPIX  =                    8",
        "NAXIS   =                    1",
        "NAXIS1  =                 4000",
        "PCOUNT  =                    0",
        "GCOUNT  =                    1",
        "END",
    ];
    let mut bytes: Vec<u8> =
        cards.iter().flat_map(|text| format!("{text:<80}").into_bytes()).collect();
    bytes.resize(BLOCK, b' ');
    bytes.extend([5; 4000]);
    bytes.resize(4 * BLOCK - BLOCK, 0);
    bytes
}

/// Expected table.
struct Twin {
    specs: Vec<Spec>,
    columns: Vec<Column>,
    rows: usize,
}

/// Returns cells of other rows of the same columns.
fn more(specs: &[Spec], rows: usize, seed: u64) -> Vec<Column> {
    read_all(&table(TableFixture::new(specs.to_vec(), rows, seed).bytes(), 1))
}

/// Returns a new column as a specification and as an input of the editor.
fn new_column(numbers: &mut Numbers) -> (Spec, NewColumn) {
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig::default(),
        proptest::test_runner::TestRng::from_seed(
            proptest::test_runner::RngAlgorithm::ChaCha,
            &[numbers.next() as u8; 32],
        ),
    );
    let spec = match numbers.one_in(3) {
        true => variable_column().boxed(),
        false => column().boxed(),
    };
    let spec = spec.new_tree(&mut runner).unwrap().current();
    let layout = table(TableFixture::new(vec![spec.clone()], 0, 0).bytes(), 1).layout().clone();
    let mut new = NewColumn::of(&layout.columns[0], TableKind::Binary);
    // Enough names to avoid duplicates, which would cause a warning.
    new.name = format!("NEW{}", numbers.next());
    (spec, new)
}

impl Twin {
    /// Applies a random edit to the twin and to the file.
    fn step(&mut self, editor: &mut Editor, numbers: &mut Numbers) {
        let (all, count) = (self.rows, numbers.below(40) as usize);
        let at = numbers.below(all as u64 + 1) as usize;
        match numbers.below(8) {
            0 | 1 => {
                let at = if numbers.one_in(2) { all } else { at };
                let new = more(&self.specs, count, numbers.next());
                editor.insert_rows(1, at as u64, &inputs(&new), count as u64, &run()).unwrap();
                for (column, new) in self.columns.iter_mut().zip(&new) {
                    *column = column.insert(at, new, all);
                }
                self.rows += count;
            }
            2 => {
                let end = (at + count).min(all);
                let range = at as u64..end as u64;
                editor.delete_rows(1, &Rows::Range(range)).unwrap();
                self.delete(|row| (at..end).contains(&row));
            }
            3 if all > 0 => {
                let list: Vec<u64> = (0..count).map(|_| numbers.below(all as u64)).collect();
                editor.delete_rows(1, &Rows::List(&list)).unwrap();
                self.delete(|row| list.contains(&(row as u64)));
            }
            4 | 5 if all > 0 => self.update(editor, numbers),
            6 if self.specs.len() < 12 => {
                let place = numbers.below(self.specs.len() as u64 + 1) as usize;
                let (spec, new) = new_column(numbers);
                let cells = more(std::slice::from_ref(&spec), all, numbers.next()).remove(0);
                editor.insert_column(1, place, &new, &cells.input(), &run()).unwrap();
                self.specs.insert(place, spec);
                self.columns.insert(place, cells);
            }
            7 if self.specs.len() > 1 => {
                let column = numbers.below(self.specs.len() as u64) as usize;
                editor.delete_columns(1, &[column]).unwrap();
                self.specs.remove(column);
                self.columns.remove(column);
            }
            _ => {}
        }
    }

    fn update(&mut self, editor: &mut Editor, numbers: &mut Numbers) {
        let column = numbers.below(self.specs.len() as u64) as usize;
        let spec = std::slice::from_ref(&self.specs[column]);
        let rows: Vec<usize> = if numbers.one_in(2) {
            let first = numbers.below(self.rows as u64) as usize;
            (first..(first + 1 + numbers.below(60) as usize).min(self.rows)).collect()
        } else {
            (0..numbers.below(30)).map(|_| numbers.below(self.rows as u64) as usize).collect()
        };
        let cells = more(spec, rows.len(), numbers.next()).remove(0);
        let list: Vec<u64> = rows.iter().map(|&row| row as u64).collect();
        let follow = !rows.is_empty() && rows.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let which = match follow {
            true => Rows::Range(list[0]..list[0] + list.len() as u64),
            false => Rows::List(&list),
        };
        editor.update_cells(1, column, &which, &cells.input(), &run()).unwrap();
        self.columns[column] = self.columns[column].update(&rows, &cells, self.rows);
    }

    fn delete(&mut self, is_deleted: impl Fn(usize) -> bool) {
        let all = self.rows;
        self.rows = (0..all).filter(|&row| !is_deleted(row)).count();
        for column in &mut self.columns {
            *column = column.without(&is_deleted, all);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Edits in any order, written in several commits, give the same cells as the same edits of the twin.
    #[test]
    fn tables_are_what_their_cells_are(
        fixture in tables(), seed: u64, commits in 1usize..4, sums: bool, last: bool
    ) {
        let mut bytes = fixture.bytes();
        if !last {
            bytes.extend(image_extension());
        }
        let (_directory, path) = file(&bytes);
        let columns = read_all(&table(bytes, 1));
        let mut twin = Twin { specs: fixture.columns.clone(), columns, rows: fixture.rows };
        let mut numbers = Numbers(seed);
        let errors_before = errors(&open(&path));
        for number in 0..commits {
            let mut editor = edit(&path);
            if sums && number == 0 {
                editor.update_checksums(1).unwrap();
            }
            for _ in 0..numbers.below(8) {
                twin.step(&mut editor, &mut numbers);
            }
            let preview = editor.preview().unwrap();
            prop_assert_eq!(&read_all(&preview.table(1).unwrap()), &twin.columns);
            drop(preview);
            let committed = commit(editor);
            let file = open(&path);
            prop_assert_eq!(committed.bytes, file.bytes());
            prop_assert!(file.warnings().is_empty(), "{:?}", file.warnings());
            let edited = file.table(1).unwrap();
            prop_assert!(edited.layout().warnings.is_empty(), "{:?}", edited.layout().warnings);
            prop_assert_eq!(edited.layout().rows, twin.rows as u64);
            prop_assert_eq!(&read_all(&edited), &twin.columns);
            // The random bytes of text and logical values are not all valid.
            let new: Vec<_> = errors(&file).difference(&errors_before).copied().collect();
            prop_assert!(new.is_empty(), "{:?}", new);
            let (sum, _) = file.checksum(1, &RunOptions::default()).unwrap();
            prop_assert!(sum.is_good() && sum.stated_datasum.is_some() == sums, "{:?}", sum);
            if !last {
                let bytes = fs::read(&path).unwrap();
                prop_assert!(bytes.ends_with(&image_extension()));
            }
        }
    }
}

/// Returns a table of 1000 rows with an integer and an array, and 2000 bytes of heap.
fn plain() -> (TempDir, PathBuf, TableFixture) {
    let fixed = Spec {
        letter: 'J',
        repeat: 1,
        scaling: crate::model::Scaling::None,
        null: None,
        dimensions: Vec::new(),
        pointer: None,
    };
    let fixture = TableFixture::new(vec![fixed.clone(), Spec { repeat: 40, ..fixed }], 1000, 5);
    let (directory, path) = file(&fixture.bytes());
    (directory, path, fixture)
}

#[test]
fn appended_rows_are_all_that_is_written() {
    let (_directory, path, fixture) = plain();
    let new = more(&fixture.columns, 10, 9);
    let mut editor = edit(&path);
    editor.append_rows(1, &inputs(&new), 10, &run()).unwrap();
    let committed = commit(editor);
    // The header, ten rows of 164 bytes and the fill.
    assert!(
        committed.in_place && committed.bytes_written < 2880 + 1640 + 2 * 2880,
        "{committed:?}"
    );
}

#[test]
fn updated_cells_are_all_that_is_written() {
    let (_directory, path, _) = plain();
    let before = fs::read(&path).unwrap();
    let mut editor = edit(&path);
    let values = [7i32, 8].map(i32::to_ne_bytes).concat();
    let rows = Rows::List(&[900, 3]);
    editor.update_cells(1, 0, &rows, &ColumnInput::new(&values), &run()).unwrap();
    let committed = commit(editor);
    assert_eq!((committed.in_place, committed.bytes_written), (true, 8));
    let after = fs::read(&path).unwrap();
    let at = |row: usize| 2 * 2880 + row * 164;
    let differ: Vec<usize> = (0..before.len()).filter(|&at| before[at] != after[at]).collect();
    assert!(
        differ
            .iter()
            .all(|byte| (at(3)..at(3) + 4).contains(byte) || (at(900)..at(900) + 4).contains(byte))
    );
    assert_eq!(
        (&after[at(3)..at(3) + 4], &after[at(900)..at(900) + 4]),
        (&[0, 0, 0, 8][..], &[0, 0, 0, 7][..])
    );
}

#[test]
fn very_many_single_updates_are_one_after_the_other() {
    let (_directory, path, _) = plain();
    let mut editor = edit(&path);
    let mut twin = read_all(&open(&path).table(1).unwrap());
    let mut numbers = Numbers(3);
    let mut values: Vec<[u8; 4]> =
        twin[0].values.chunks(4).map(|v| v.try_into().unwrap()).collect();
    for number in 0..20_000i32 {
        let row = numbers.below(1000);
        values[row as usize] = number.to_ne_bytes();
        let new = number.to_ne_bytes();
        editor.update_cells(1, 0, &Rows::List(&[row]), &ColumnInput::new(&new), &run()).unwrap();
    }
    // Inserted and deleted rows between the updates stack many sources.
    for number in 0..200u64 {
        let new = [1i32.to_ne_bytes().to_vec(), vec![0; 160]];
        let inputs = [ColumnInput::new(&new[0]), ColumnInput::new(&new[1])];
        editor.append_rows(1, &inputs, 1, &run()).unwrap();
        editor
            .update_cells(1, 0, &Rows::List(&[number]), &ColumnInput::new(&[9; 4]), &run())
            .unwrap();
        editor.delete_rows(1, &Rows::List(&[1000])).unwrap();
        values[number as usize] = [9; 4];
    }
    commit(editor);
    twin[0].values = values.concat();
    assert_eq!(read_all(&open(&path).table(1).unwrap()), twin);
}

#[test]
fn keywords_of_columns_follow_them_with_their_comments() {
    let cards = [
        "TTYPE1  = 'A       '           / the first",
        "TFORM1  = '1J      '",
        "TTYPE2  = 'B       '           / the second",
        "TFORM2  = '1E      '           / a float",
        "TUNIT2  = 'mag     '",
        "TLMIN2  =                  1.0 / least",
        "TCTYP2  = 'RA---TAN'",
        "TEMP2   =                    4 / of a user",
        "COMMENT about TTYPE2",
        "TTYPE3  = 'C       '",
        "TFORM3  = '1B      '",
        "TCRPX3  =                  5.0",
    ];
    let cards: Vec<String> = cards.iter().map(|&card| card.to_owned()).collect();
    let bytes = table_file("BINTABLE", [9, 2], 0, &cards, &[1; 18]);
    let (_directory, path) = file(&bytes);
    let mut editor = edit(&path);
    editor.delete_columns(1, &[0]).unwrap();
    let element = Element::Number(ValueType::U16);
    let field = Field::Fixed { element, repeat: 1, width: 1 };
    let new = NewColumn::new("N", field).unit(Some("count".into()));
    let values = [7u16, 8].map(u16::to_ne_bytes).concat();
    editor.insert_column(1, 1, &new, &ColumnInput::new(&values), &run()).unwrap();
    editor.rename_column(1, 0, "MAG").unwrap();
    commit(editor);
    let file = open(&path);
    let header = &file.hdus()[1].header;
    let comment =
        |keyword: &str| header.cards()[header.position(keyword).unwrap()].comment().to_owned();
    assert_eq!(
        (header.get_text("TTYPE1"), comment("TTYPE1")),
        (Ok(Some("MAG")), "the second".into())
    );
    assert_eq!((header.get_text("TFORM1"), comment("TFORM1")), (Ok(Some("1E")), "a float".into()));
    assert_eq!((header.get_f64("TLMIN1"), comment("TLMIN1")), (Ok(Some(1.0)), "least".into()));
    assert_eq!(header.get_text("TCTYP1"), Ok(Some("RA---TAN")));
    assert_eq!((header.get_i64("TEMP2"), comment("TEMP2")), (Ok(Some(4)), "of a user".into()));
    assert_eq!(
        (header.get_text("TTYPE2"), header.get_i64("TZERO2")),
        (Ok(Some("N")), Ok(Some(32768)))
    );
    assert_eq!(
        (header.get_text("TTYPE3"), header.get_f64("TCRPX3")),
        (Ok(Some("C")), Ok(Some(5.0)))
    );
    assert_eq!((header.get_i64("TFIELDS"), header.get_i64("NAXIS1")), (Ok(Some(3)), Ok(Some(7))));
    assert!(file.warnings().is_empty());
    assert_eq!(read_all(&file.table(1).unwrap())[1].values, values);
}

#[test]
fn a_gap_before_the_heap_stays() {
    let cards =
        ["TFORM1  = '1PB(3)  '", "THEAP   =                   30 / after a gap"].map(str::to_owned);
    let row = |count: i32, offset: i32| [count.to_be_bytes(), offset.to_be_bytes()].concat();
    let data = [row(3, 2), row(2, 2), vec![0xee; 14], (0..6).collect()].concat();
    let bytes = table_file("BINTABLE", [8, 2], 20, &cards, &data);
    let (_directory, path) = file(&bytes);
    let mut editor = edit(&path);
    let input = ColumnInput::new(&[9, 8, 7, 6]).offsets(Some(&[0, 4]));
    editor.append_rows(1, &[input], 1, &run()).unwrap();
    let input = ColumnInput::new(&[5]).offsets(Some(&[0, 1]));
    editor.update_cells(1, 0, &Rows::List(&[0]), &input, &run()).unwrap();
    commit(editor);
    let file = open(&path);
    let header = &file.hdus()[1].header;
    assert_eq!((header.get_i64("THEAP"), header.get_i64("PCOUNT")), (Ok(Some(38)), Ok(Some(25))));
    assert_eq!(header.get_text("TFORM1"), Ok(Some("1PB(4)")));
    let cells = read_all(&file.table(1).unwrap()).remove(0);
    assert_eq!(cells.values, [5, 2, 3, 9, 8, 7, 6]);
    assert_eq!(cells.offsets, Some(vec![0, 1, 3, 7]));
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole[5760 + 24..5760 + 38], [0xee; 14]);
    assert_eq!(whole[5760 + 38..5760 + 49], [0, 1, 2, 3, 4, 5, 9, 8, 7, 6, 5]);
}

#[test]
fn an_ascii_table_is_edited_too() {
    let cards = [
        "TBCOL1  =                    1",
        "TFORM1  = 'I4      '",
        "TTYPE1  = 'N       '",
        "TBCOL2  =                    6",
        "TFORM2  = 'A3      '",
        "TTYPE2  = 'T       '",
    ]
    .map(str::to_owned);
    let bytes = table_file("TABLE", [8, 2], 0, &cards, b"   1 abc   2 def");
    let (_directory, path) = file(&bytes);
    let mut editor = edit(&path);
    let numbers = [3i64, 4].map(i64::to_ne_bytes).concat();
    let new = [ColumnInput::new(&numbers), ColumnInput::new(b"ghij\0\0")];
    editor.insert_rows(1, 1, &new, 2, &run()).unwrap();
    editor.update_cells(1, 1, &Rows::List(&[3]), &ColumnInput::new(b"z\0\0"), &run()).unwrap();
    let field = Field::Text { text: TextForm::Fixed, width: 5, decimals: 1 };
    let reals = [0.5f64, 1.5, 2.5, 3.5].map(f64::to_ne_bytes).concat();
    editor
        .insert_column(1, 0, &NewColumn::new("X", field), &ColumnInput::new(&reals), &run())
        .unwrap();
    commit(editor);
    let rows = |path: &Path| {
        let layout = open(path).table(1).unwrap().layout().clone();
        let whole = fs::read(path).unwrap();
        let data =
            &whole[layout.data_offset as usize..][..(layout.rows * layout.row_bytes) as usize];
        let rows = data.chunks(layout.row_bytes as usize);
        rows.map(|row| String::from_utf8(row.to_vec()).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        rows(&path),
        ["  0.5    1 abc", "  1.5    3 ghi", "  2.5    4 j  ", "  3.5    2 z  "]
    );
    let file = open(&path);
    let names: Vec<_> =
        file.table(1).unwrap().layout().columns.iter().map(|column| column.name.clone()).collect();
    assert_eq!(names, ["X", "N", "T"]);
    assert!(file.warnings().is_empty());
    let mut editor = edit(&path);
    editor.delete_columns(1, &[1]).unwrap();
    editor.delete_rows(1, &Rows::Range(0..2)).unwrap();
    commit(editor);
    assert_eq!(rows(&path), ["  2.5  j  ", "  3.5  z  "]);
    assert_eq!(fs::read(&path).unwrap().last(), Some(&b' '));
    let header = open(&path).hdus()[1].header.clone();
    assert_eq!((header.get_i64("TBCOL1"), header.get_i64("TBCOL2")), (Ok(Some(1)), Ok(Some(8))));
}

#[test]
fn a_new_field_of_an_ascii_table_divides_no_other() {
    let cards = [
        "TBCOL1  =                    1",
        "TFORM1  = 'A6      '",
        "TBCOL2  =                    3",
        "TFORM2  = 'A2      '",
    ]
    .map(str::to_owned);
    let (_directory, path) = file(&table_file("TABLE", [6, 1], 0, &cards, b"abcdef"));
    let mut editor = edit(&path);
    let field = Field::Text { text: TextForm::Characters, width: 1, decimals: 0 };
    let new = NewColumn::new("X", field);
    editor.insert_column(1, 1, &new, &ColumnInput::new(b"x"), &run()).unwrap();
    commit(editor);
    let table = open(&path).table(1).unwrap();
    let offsets: Vec<_> = table.layout().columns.iter().map(|each| each.offset).collect();
    assert_eq!(offsets, [0, 7, 2]);
    assert_eq!(fs::read(&path).unwrap()[5760..5768], *b"abcdef x");
}

#[test]
fn a_table_that_is_refused_an_edit_is_as_it_was() {
    let (_directory, path, fixture) = plain();
    let before = fs::read(&path).unwrap();
    let mut editor = edit(&path);
    let new = more(&fixture.columns, 2, 9);
    let cell = ColumnInput::new(&[0; 4]);
    let number = NewColumn::new(
        "N",
        Field::Fixed { element: Element::Number(ValueType::I32), repeat: 1, width: 1 },
    );
    let reason = |error: tachyfits::Error| match error {
        tachyfits::Error::Refused(refusal) => refusal.reason,
        other => panic!("{other}"),
    };
    let rows = editor.insert_rows(1, 1001, &inputs(&new), 2, &run()).unwrap_err();
    assert_eq!(reason(rows), Reason::Rows);
    assert_eq!(
        reason(editor.append_rows(1, &inputs(&new), 3, &run()).unwrap_err()),
        Reason::CellValues
    );
    assert_eq!(
        reason(editor.append_rows(1, &inputs(&new[..1]), 2, &run()).unwrap_err()),
        Reason::CellValues
    );
    assert_eq!(reason(editor.delete_rows(1, &Rows::List(&[5, 1000])).unwrap_err()), Reason::Rows);
    assert_eq!(reason(editor.delete_rows(1, &Rows::Range(0..1001)).unwrap_err()), Reason::Rows);
    let result = editor.update_cells(1, 2, &Rows::List(&[0]), &cell, &run());
    assert_eq!(reason(result.unwrap_err()), Reason::Column);
    let result = editor.update_cells(1, 0, &Rows::List(&[u64::MAX]), &cell, &run());
    assert_eq!(reason(result.unwrap_err()), Reason::Rows);
    let result = editor.update_cells(1, 0, &Rows::List(&[0, 1]), &cell, &run());
    assert_eq!(reason(result.unwrap_err()), Reason::CellValues);
    assert_eq!(reason(editor.delete_columns(1, &[0, 2]).unwrap_err()), Reason::Column);
    assert_eq!(
        reason(editor.insert_column(1, 3, &number, &cell, &run()).unwrap_err()),
        Reason::Column
    );
    assert_eq!(
        reason(editor.insert_column(1, 0, &number, &cell, &run()).unwrap_err()),
        Reason::CellValues
    );
    assert_eq!(reason(editor.rename_column(1, 2, "X").unwrap_err()), Reason::Column);
    assert!(editor.append_rows(0, &[], 0, &run()).is_err());
    assert_eq!(commit(editor).bytes_written, 0);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_new_table_is_put_between_others() {
    let (_directory, path, fixture) = plain();
    let columns = more(&fixture.columns, 30, 4);
    let layout = open(&path).table(1).unwrap().layout().clone();
    let mut new = NewTable::of(&layout).rows(30).name(Some("NEW".into())).checksum(true);
    let field = Field::Variable {
        element: Element::Number(ValueType::I16),
        wide: true,
        repeat: 1,
        most: None,
    };
    new.columns.push(NewColumn::new("V", field));
    let mut offsets = vec![0; 31];
    offsets[20..].fill(3);
    let values = [1i16, 2, 3].map(i16::to_ne_bytes).concat();
    let mut inputs = inputs(&columns);
    inputs.push(ColumnInput::new(&values).offsets(Some(&offsets)));
    let mut editor = edit(&path);
    editor.insert_table(0, &new, &Header::new(), &inputs, &run()).unwrap();
    let short = editor.insert_table(9, &new, &Header::new(), &inputs[1..], &run()).unwrap_err();
    assert_eq!(short.code(), "cell-values");
    assert_eq!(editor.hdus(), 4);
    commit(editor);
    let file = open(&path);
    let kinds: Vec<_> = file.hdus().iter().map(|hdu| hdu.kind.as_str().to_owned()).collect();
    assert_eq!(kinds, ["primary", "binary table", "image", "binary table"]);
    assert_eq!(file.hdus()[1].extname.as_deref(), Some("NEW"));
    let columns_read = read_all(&file.table(1).unwrap());
    assert_eq!(columns_read[..2], columns);
    assert_eq!(
        (&columns_read[2].values, columns_read[2].offsets.as_ref()),
        (&values, Some(&offsets))
    );
    assert_eq!(file.hdus()[1].header.get_text("TFORM3"), Ok(Some("1QI(3)")));
    let (sum, _) = file.checksum(1, &run()).unwrap();
    assert!(sum.is_good() && sum.stated_checksum.is_some());
    assert!(errors(&file).is_empty(), "{:?}", errors(&file));
}
