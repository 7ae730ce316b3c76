//! Tables with arbitrary headers: a layout, a warning or an error, never a panic, and never a field or an array beyond
//! its bounds.

use proptest::prelude::*;
use tachyfits_format::{Code, Field, Hdu, Header, NewTable, TableLayout};

use crate::build::{table_file, walk};
use crate::shared;

/// Checks every guarantee of a layout.
pub fn check_layout(hdu: &Hdu, layout: &TableLayout) {
    assert!(layout.rows_present <= layout.rows && layout.columns.len() <= 999);
    let rows_end = layout.data_offset + layout.row_bytes * layout.rows;
    assert!(layout.heap.offset >= rows_end, "the heap lies among the rows");
    assert!(layout.heap.offset + layout.heap.bytes <= hdu.data_offset + hdu.data_bytes);
    assert!(layout.heap.bytes_present <= layout.heap.bytes);
    for (number, column) in layout.columns.iter().enumerate() {
        let end = column.offset + column.field.row_bytes();
        assert!(end <= layout.row_bytes, "{column:?}");
        assert!(!column.name.trim().is_empty());
        let index = layout.column(&column.name).expect("its own name is found");
        assert!(index <= number || !column.is_named, "{column:?}");
        assert_eq!(layout.column(&column.key), Some(number), "{column:?}");
        if let Field::Fixed { element, repeat, width } = column.field {
            let elements = column.dimensions.iter().product::<u64>();
            assert!(column.dimensions.is_empty() || elements <= repeat);
            assert!(width <= repeat.max(1) && element.total_bytes(repeat).is_some());
        }
        check_descriptors(layout, number);
    }
    assert!(layout.warnings.len() < 16 * 20);
    check_rewritten(layout);
}

/// Checks that arrays are within the heap for any content of the rows.
fn check_descriptors(layout: &TableLayout, column: usize) {
    let bytes: Vec<u8> = (0..32).map(|byte| if byte % 4 == 3 { byte } else { 0 }).collect();
    for bytes in [&bytes[..], &[0; 32], &[0xff; 32], &[0x7f; 32]] {
        match layout.descriptor(column, 0, bytes) {
            Ok(array) => {
                let Field::Variable { element, .. } = layout.columns[column].field else {
                    panic!("a descriptor of a column without")
                };
                let end = element.total_bytes(array.count).unwrap() + array.offset;
                assert!(end <= layout.heap.bytes);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Checks that a parsed header can be written with the same meaning.
fn check_rewritten(layout: &TableLayout) {
    let new = NewTable::of(layout);
    let header = match new.header(&Header::new()) {
        Ok(header) => header,
        // Bytes that are illegal in a header.
        Err(error) if error.code() == Code::CardText => return,
        Err(error) => panic!("{error}"),
    };
    let primary = crate::build::empty_primary::<&str>(&[]);
    let again = walk(&[primary, header.to_bytes()].concat()).hdus.remove(1).table().unwrap();
    for (old, new) in layout.columns.iter().zip(&again.columns) {
        assert_eq!((old.offset, old.field, old.scaled), (new.offset, new.field, new.scaled));
        assert_eq!((&old.null, &old.dimensions), (&new.null, &new.dimensions));
    }
}

fn ask(file: &[u8]) {
    for hdu in walk(file).hdus {
        match hdu.table() {
            Ok(layout) => check_layout(&hdu, &layout),
            Err(error) => assert!(format!("{error:#}").contains("\nhint: ")),
        }
    }
}

/// A card of a column, nearly valid so that it passes early checks.
fn card() -> impl Strategy<Value = String> {
    let number = prop_oneof![8 => 1..5u32, 1 => 0..1200u32];
    let form = prop_oneof![
        4 => "[0-9]{0,2}[LXBIJKAEDCM]",
        2 => "[01]?[PQ][LXBIJKAEDCM](\\([0-9]{0,3}\\))?",
        1 => "[0-9]{0,2}A[0-9]{1,2}",
        2 => "[AIFED][0-9]{1,2}(\\.[0-9])?",
        1 => "[0-9]{15,22}[XABD]",
        1 => "[ -&(-~]{0,6}",
    ];
    let keyword_value = prop_oneof![
        6 => form.prop_map(|form| ("TFORM", format!("'{form}'"))),
        3 => (0..40u32).prop_map(|first| ("TBCOL", first.to_string())),
        1 => "-?[0-9]{1,20}".prop_map(|first| ("TBCOL", first)),
        2 => "'[a-c ]{0,2}'".prop_map(|name| ("TTYPE", name)),
        2 => "'\\([0-9]{0,2}(,[0-9]{1,2}){0,3}\\)'".prop_map(|sizes| ("TDIM", sizes)),
        1 => "'\\([0-9]{15,22},[0-9]{15,22}\\)'".prop_map(|sizes| ("TDIM", sizes)),
        2 => "-?[0-9]{1,20}\\.?".prop_map(|null| ("TNULL", null)),
        1 => "'[ -&(-~]{0,8}'".prop_map(|null| ("TNULL", null)),
        2 => "-?[0-9]{1,3}(\\.[0-9])?([ED][0-9]{1,3})?".prop_map(|scale| ("TSCAL", scale)),
        2 => "(-128|32768|2147483648|9223372036854775808|9.223372036854775808E18|0)"
            .prop_map(|zero| ("TZERO", zero)),
        1 => "[ -~]{0,20}".prop_map(|unit| ("TUNIT", unit)),
    ];
    (number, keyword_value).prop_map(|(number, (root, value))| {
        format!("{:<8}= {value:>20}", format!("{root}{number}"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_header_of_a_table_is_a_layout_or_an_error(
        is_ascii in any::<bool>(),
        shape in (0..80u64, 0..4u64),
        heap in 0..60u64,
        fields in prop_oneof![6 => 0..5u64, 1 => 0..1200u64],
        theap in prop::option::of(-20..400i64),
        cards in prop::collection::vec(card(), 0..16),
        cut in 0..2880usize,
    ) {
        let mut records = vec![format!("TFIELDS = {fields:>20}")];
        records.extend(theap.map(|theap| format!("THEAP   = {theap:>20}")));
        records.extend(cards.iter().map(|card| card[..card.len().min(80)].to_owned()));
        let kind = if is_ascii { "TABLE" } else { "BINTABLE" };
        let file = table_file(kind, [shape.0, shape.1], heap, &records, &[0; 400]);
        ask(&file);
        ask(&file[..file.len() - cut]);
    }
}

#[test]
fn table_traps_with_any_byte_changed_are_read_or_refused() {
    let Some(folder) = shared::folder() else { return };
    let mut tried = 0;
    for path in shared::fits_files(&folder.join("traps")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("bt_") && !name.starts_with("at_") {
            continue;
        }
        tried += 1;
        let mut file = shared::bytes(&path);
        ask(&file);
        // Text records of the table's header.
        for at in (2880..2880 + 80 * 24).filter(|at| at % 80 < 32) {
            let was = file[at];
            for byte in [was ^ 1, was ^ 0x80, b' '] {
                file[at] = byte;
                ask(&file);
            }
            file[at] = was;
        }
    }
    assert!(tried >= 25, "{tried} files");
}

#[test]
fn real_tables_have_columns() {
    let Some(folder) = shared::folder() else { return };
    for path in shared::fits_files(&folder.join("data/tables")) {
        let file = shared::bytes(&path);
        let mut tables = 0;
        for hdu in walk(&file).whole().hdus {
            if let Ok(layout) = hdu.table() {
                check_layout(&hdu, &layout);
                assert!(layout.warnings.is_empty(), "{:?}", layout.warnings);
                assert_eq!(
                    layout.columns.len() as i64,
                    hdu.header.get_i64("TFIELDS").unwrap().unwrap()
                );
                tables += 1;
            }
        }
        assert!(tables > 0, "{}", path.display());
    }
}
