//! Rules 34 and 35, and the descriptors of rule 31: positions of variable-length arrays.

use tachyfits_format::{Code, Descriptor, FormatError, TableLayout};

use crate::build::{columns, table, table_file};
use crate::shared::on_both;
use crate::table_rules::one;

/// Returns the descriptors of all rows of the first column.
fn descriptors(layout: &TableLayout, file: &[u8]) -> Result<Vec<Descriptor>, FormatError> {
    let end = layout.data_offset + layout.row_bytes * layout.rows;
    let rows = &file[layout.data_offset as usize..end as usize];
    let mut result = Vec::new();
    layout.descriptors(0, 0, rows, layout.row_bytes as usize, &mut result)?;
    for (row, descriptor) in (0..).zip(&result) {
        let bytes = &rows[row as usize * layout.row_bytes as usize..];
        assert_eq!(layout.descriptor(0, row, bytes), Ok(*descriptor));
    }
    Ok(result)
}

fn pairs(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// Creates a table of arrays of 16-bit integers.
fn arrays(form: &str, more: &[&str], gap: u64, heap: u64, numbers: &[i32]) -> Vec<u8> {
    let rows = numbers.len() as u64 / 2;
    let mut records = columns(&[&format!("TTYPE='V' TFORM='{form}'")]);
    records.extend(more.iter().map(|record| record.to_string()));
    let bytes = [pairs(numbers), vec![0xee; (gap + heap) as usize]].concat();
    table_file("BINTABLE", [8, rows], gap + heap, &records, &bytes)
}

#[test]
fn rule_34_arrays_may_share_and_leave_gaps() {
    let built = arrays("1PI(3)", &["THEAP   = 40"], 16, 10, &[3, 0, 2, 6, 0, 999]);
    on_both("bt_vla_gap", &built, |file| {
        let layout = table(file);
        let heap = layout.heap().unwrap();
        assert_eq!(
            (heap.offset - layout.data_offset, heap.bytes, heap.bytes_present),
            (40, 10, 10)
        );
        let expected = [(3, 0), (2, 6), (0, 0)].map(|(count, offset)| Descriptor { count, offset });
        assert_eq!(descriptors(&layout, file).unwrap(), expected);
    });
    on_both("bt_vla_alias", &arrays("PI", &[], 0, 10, &[3, 2, 5, 0]), |file| {
        let expected = [(3, 2), (5, 0)].map(|(count, offset)| Descriptor { count, offset });
        assert_eq!(descriptors(&table(file), file).unwrap(), expected);
    });
    let bits = arrays("1PX(11)", &[], 0, 2, &[11, 0]);
    on_both("bt_vla_px", &bits, |file| {
        let expected = [Descriptor { count: 11, offset: 0 }];
        assert_eq!(descriptors(&table(file), file).unwrap(), expected);
    });
    let bits = arrays("1PX(11)", &[], 0, 2, &[17, 0]);
    assert_eq!(descriptors(&table(&bits), &bits).unwrap_err().code(), Code::DescriptorRange);
}

#[test]
fn rule_34_arrays_lie_in_the_heap() {
    on_both("bt_vla_bad", &arrays("PI(5)", &[], 0, 10, &[3, 8, -1, -4]), |file| {
        let layout = table(file);
        let error = descriptors(&layout, file).unwrap_err();
        assert_eq!(error.code(), Code::DescriptorRange);
        let place = &error.problem().place;
        assert_eq!((place.row, &place.column), (Some(1), &Some((1, "V".to_owned()))));
        assert_eq!(place.offset, Some(layout.data_offset));
        let message = error.to_string();
        assert!(
            message.contains("row 1 (from 1)") && message.contains("heap of 10 bytes"),
            "{message}"
        );
        let second = layout.descriptor(0, 1, &pairs(&[-1, -4])).unwrap_err();
        assert_eq!(second.problem().place.row, Some(2));
    });
    let layout = table(&arrays("PI", &[], 0, 10, &[0, 0]));
    for (numbers, right) in [
        ([5, 0], true),
        ([5, 1], false),
        ([1, 8], true),
        ([1, -1], false),
        ([0, -7], true),
        ([-1, 0], false),
        ([i32::MAX, 0], false),
    ] {
        assert_eq!(layout.descriptor(0, 0, &pairs(&numbers)).is_ok(), right, "{numbers:?}");
    }
    let wide = table(&table_file("BINTABLE", [16, 0], 10, &columns(&["TFORM='QD'"]), &[0; 10]));
    let numbers = [i64::MAX / 4, 1].map(i64::to_be_bytes).concat();
    assert_eq!(wide.descriptor(0, 0, &numbers).unwrap_err().code(), Code::DescriptorRange);
    let fixed = one(4, "TFORM='1J'");
    assert_eq!(fixed.descriptor(0, 0, &[0; 4]).unwrap_err().code(), Code::NotVariable);
}

#[test]
fn rule_35_a_heap_among_the_rows_is_refused_and_the_rows_are_not() {
    let built = arrays("1PI(3)", &["THEAP   = 4"], 0, 6, &[3, 0]);
    on_both("bt_vla_theap_low", &built, |file| {
        let layout = table(file);
        assert_eq!((layout.rows, layout.columns.len(), layout.heap.bytes), (1, 1, 0));
        let error = layout.heap().unwrap_err();
        assert_eq!(error.code(), Code::HeapPlace);
        assert_eq!(descriptors(&layout, file).unwrap_err(), error);
    });
    for (theap, code) in [
        ("15", Code::HeapPlace),
        ("-1", Code::HeapPlace),
        ("'8'", Code::NumericText),
        ("8.5", Code::KeywordType),
    ] {
        let file = arrays("1PI(3)", &[&format!("THEAP   = {theap}")], 0, 6, &[3, 0]);
        assert_eq!(table(&file).heap().unwrap_err().code(), code, "{theap}");
    }
    let end = arrays("1PI(3)", &["THEAP   = 14"], 0, 6, &[0, 0]);
    assert_eq!(table(&end).heap().unwrap().bytes, 0);
}

#[test]
fn rule_35_a_heap_that_is_cut_off() {
    let file = arrays("1PI(3)", &[], 0, 6, &[3, 0]);
    let data = table(&file).data_offset as usize;
    let cut = table(&file[..data + 10]);
    assert_eq!((cut.rows_present, cut.heap.bytes, cut.heap.bytes_present), (1, 6, 2));
    let cut = table(&file[..data + 5]);
    assert_eq!((cut.rows, cut.rows_present, cut.heap.bytes_present), (1, 0, 0));
}
