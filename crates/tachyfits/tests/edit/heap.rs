//! Heaps of edited tables: they must not grow under arrays that reach beyond their end, and unreferenced
//! bytes can be removed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tables::{commit, edit, file, open};
use tachyfits::header::ValueType;
use tachyfits::table::{ColumnInput, Element, Field, NewColumn};
use tachyfits::{Rows, RunOptions};
use tempfile::TempDir;

/// Returns a table of two rows of int16 arrays; the array of the first row has 3 elements, but the heap only
/// 1.
fn reaching_beyond() -> (TempDir, PathBuf) {
    table_of([3, 2, 1, 0], "")
}

/// Returns a table of two rows of int16 arrays with these descriptors, a heap of two elements, and one
/// additional card.
fn table_of(descriptors: [u32; 4], card: &str) -> (TempDir, PathBuf) {
    let primary =
        ["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   = 0", "END"];
    let cards = [
        "XTENSION= 'BINTABLE'",
        "BITPIX  =                    8",
        "NAXIS   =                    2",
        "NAXIS1  =                    8",
        "NAXIS2  =                    2",
        "PCOUNT  =                    4",
        "GCOUNT  =                    1",
        "TFIELDS =                    1",
        "TFORM1  = '1PI(3)  '",
        "TTYPE1  = 'V       '",
        card,
        "END",
    ];
    let mut bytes = Vec::new();
    for header in [&primary[..], &cards] {
        bytes.extend(header.iter().flat_map(|card| format!("{card:<80}").into_bytes()));
        bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    }
    for number in descriptors {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend([0, 4, 0, 5]);
    bytes.resize(8640, 0);
    file(&bytes)
}

fn first_array(path: &Path) -> Result<Vec<u8>, String> {
    let table = open(path).table(1).unwrap();
    let arrays = table.read_arrays(0, false, &Rows::Range(0..1), &RunOptions::default());
    arrays.map(|(arrays, _)| arrays.values).map_err(|error| error.code().to_owned())
}

#[test]
fn new_arrays_do_not_become_those_of_a_descriptor_that_reaches_beyond_the_heap() {
    let (_directory, path) = reaching_beyond();
    assert_eq!(first_array(&path), Err("descriptor-range".to_owned()));
    let before = fs::read(&path).unwrap();
    let run = RunOptions::default();
    let values = [7i16, 8, 9].map(i16::to_ne_bytes).concat();
    let one_row = ColumnInput::new(&values).offsets(Some(&[0, 3]));
    let two_rows = one_row.offsets(Some(&[0, 3, 3]));
    let element = Element::Number(ValueType::I16);
    let field = Field::Variable { element, wide: false, repeat: 1, most: None };
    let mut editor = edit(&path);
    for result in [
        editor.append_rows(1, &[one_row], 1, &run),
        editor.insert_column(1, 1, &NewColumn::new("W", field), &two_rows, &run),
        editor.update_cells(1, 0, &Rows::Range(1..2), &one_row, &run),
        editor.update_cells(1, 0, &Rows::List(&[1]), &one_row, &run),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.code(), "descriptor-range");
        assert!(error.to_string().contains("row 1"), "{error}");
    }
    assert_eq!(commit(editor).bytes_written, 0);
    assert_eq!(fs::read(&path).unwrap(), before);
    // A refusal is not permanent: changes that do not use the heap work, and so does repairing the row
    // itself.
    let mut editor = edit(&path);
    editor.delete_rows(1, &Rows::List(&[1])).unwrap();
    editor.update_cells(1, 0, &Rows::List(&[0]), &one_row, &run).unwrap();
    editor.append_rows(1, &[one_row], 1, &run).unwrap();
    commit(editor);
    assert_eq!(first_array(&path), Ok(values));
}

#[test]
fn a_heap_goes_with_the_last_column_of_arrays() {
    let (_directory, path) = reaching_beyond();
    let numbers = [1i32, 2].map(i32::to_ne_bytes).concat();
    let field = Field::Fixed { element: Element::Number(ValueType::I32), repeat: 1, width: 1 };
    let mut editor = edit(&path);
    let new = NewColumn::new("N", field);
    editor.insert_column(1, 0, &new, &ColumnInput::new(&numbers), &RunOptions::default()).unwrap();
    editor.delete_columns(1, &[1]).unwrap();
    commit(editor);
    let file = open(&path);
    let header = &file.hdus()[1].header;
    assert_eq!(header.get_i64("PCOUNT"), Ok(Some(0)));
    assert_eq!(file.hdus()[1].data_bytes, 8);
}

#[test]
fn a_compressed_table_keeps_arrays_of_compressed_descriptors() {
    let flag = "ZTABLE  =                    T";
    let (_directory, path) = table_of([1, 0, 0, 0], flag);
    let before = fs::read(&path).unwrap();
    let mut editor = edit(&path);
    let error = editor.compact_heap(1).unwrap_err();
    assert_eq!(error.code(), "edit");
    assert!(error.to_string().contains("a table that is not compressed"), "{error}");
    assert_eq!(commit(editor).bytes_written, 0);
    assert_eq!(fs::read(&path).unwrap(), before);
    // A table that only has the keyword is an ordinary one; in a compressed image each array belongs to a
    // cell.
    for card in [flag.replace(" T", " F"), flag.replace("ZTABLE", "ZIMAGE")] {
        let (_directory, path) = table_of([1, 0, 0, 0], &card);
        let mut editor = edit(&path);
        assert_eq!(editor.compact_heap(1).unwrap(), 2);
    }
}
