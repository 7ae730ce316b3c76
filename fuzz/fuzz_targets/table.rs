//! Any bytes as the header of a table and its data: a layout or an error, with fields and arrays in
//! range; a header that was read can be written with the same meaning. Fields of text are numbers
//! or errors.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits_format::{Field, Hdu, Header, NewTable, TableLayout, text};
use tachyfits_fuzz::{file_of_extension, walk};

fuzz_target!(|bytes: &[u8]| {
    let file = file_of_extension(bytes);
    for hdu in walk(&file) {
        if let Ok(layout) = hdu.table() {
            check(&hdu, &layout);
            rows(&layout, &file);
            rewritten(&layout);
        }
    }
});

fn check(hdu: &Hdu, layout: &TableLayout) {
    assert!(layout.rows_present <= layout.rows && layout.columns.len() <= 999);
    assert!(layout.heap.offset >= layout.data_offset + layout.row_bytes * layout.rows);
    assert!(layout.heap.offset + layout.heap.bytes <= hdu.data_offset + hdu.data_bytes);
    for column in &layout.columns {
        assert!(column.offset + column.field.row_bytes() <= layout.row_bytes);
        assert!(layout.column(&column.name).is_some());
        if let Field::Fixed { repeat, .. } = column.field {
            let product = column.dimensions.iter().product::<u64>();
            assert!(column.dimensions.is_empty() || product <= repeat);
        }
    }
}

/// Reads the first rows.
fn rows(layout: &TableLayout, file: &[u8]) {
    let step = layout.row_bytes as usize;
    for row in 0..layout.rows_present.min(8) {
        let start = layout.data_offset as usize + row as usize * step;
        for (number, column) in layout.columns.iter().enumerate() {
            let field =
                &file[start + column.offset as usize..][..column.field.row_bytes() as usize];
            match column.field {
                Field::Variable { element, .. } => {
                    if let Ok(found) = layout.descriptor(number, row, field) {
                        let bytes = element.total_bytes(found.count).expect("it was checked");
                        assert!(found.offset + bytes <= layout.heap.bytes);
                    }
                }
                Field::Text { decimals, .. } => {
                    let _ = (text::parse_integer(field), text::parse_real(field, decimals));
                }
                Field::Fixed { .. } => {}
            }
        }
    }
}

fn rewritten(layout: &TableLayout) {
    // Names may have bytes that a new header must not have.
    let Ok(header) = NewTable::of(layout).header(&Header::new()) else { return };
    let file = file_of_extension(&header.to_bytes());
    let again = walk(&file).remove(1).table().expect("a header of ours is right");
    for (old, new) in layout.columns.iter().zip(&again.columns) {
        assert_eq!((old.offset, old.field, &old.null), (new.offset, new.field, &new.null));
    }
}
