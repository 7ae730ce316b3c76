//! Files with pitfalls: expected values as text. The files were written byte by byte, without a FITS library.

use tachyfits::table::{CellKind, Cells, TextAs};
use tachyfits::{Error, FitsFile, OpenOptions, PixelType, Rows, Table};

use crate::read::{Ask, ONE, read};
use crate::shared::folder;

/// Opens the table of a file with pitfalls; `None` if the files are missing.
fn trap(name: &str) -> Option<Result<Table, Error>> {
    let path = folder()?.join("traps").join(format!("{name}.fits"));
    Some(FitsFile::open(&path, &OpenOptions::default()).and_then(|file| file.table(1)))
}

/// Formats elements as text, null as `-`.
fn shown(cells: &Cells, values: &[u8], nulls: Option<&[u8]>) -> String {
    let size = cells.kind.bytes() as usize;
    let elements: Vec<String> = values
        .chunks(size.max(1))
        .enumerate()
        .map(|(index, bytes)| match nulls.map(|nulls| nulls[index]) {
            Some(1) => "-".to_owned(),
            _ => one(cells.kind, bytes),
        })
        .collect();
    elements.join(" ")
}

fn one(kind: CellKind, bytes: &[u8]) -> String {
    let float = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().unwrap());
    let single = |bytes: &[u8]| f32::from_ne_bytes(bytes.try_into().unwrap());
    match kind {
        CellKind::Bool => if bytes[0] == 1 { "T" } else { "F" }.to_owned(),
        CellKind::Text { .. } => {
            format!("{:?}", String::from_utf8_lossy(bytes).trim_end_matches('\0'))
        }
        CellKind::Complex32 => format!("{}+{}i", single(&bytes[..4]), single(&bytes[4..])),
        CellKind::Complex64 => format!("{}+{}i", float(&bytes[..8]), float(&bytes[8..])),
        CellKind::Number(pixel) => match pixel {
            PixelType::U8 => bytes[0].to_string(),
            PixelType::I8 => (bytes[0] as i8).to_string(),
            PixelType::I16 => i16::from_ne_bytes(bytes.try_into().unwrap()).to_string(),
            PixelType::U16 => u16::from_ne_bytes(bytes.try_into().unwrap()).to_string(),
            PixelType::I32 => i32::from_ne_bytes(bytes.try_into().unwrap()).to_string(),
            PixelType::U32 => u32::from_ne_bytes(bytes.try_into().unwrap()).to_string(),
            PixelType::I64 => i64::from_ne_bytes(bytes.try_into().unwrap()).to_string(),
            PixelType::U64 => u64::from_ne_bytes(bytes.try_into().unwrap()).to_string(),
            PixelType::F32 => single(bytes).to_string(),
            PixelType::F64 => format!("{:?}", float(bytes)),
        },
    }
}

/// Returns all rows of a column as text.
fn column(table: &Table, column: usize) -> Result<String, Error> {
    let rows = Rows::Range(0..table.layout().rows);
    let ask = Ask { column, raw: false, text: TextAs::Bytes, nulls: true };
    let answers = read(table, &[ask], &rows, &ONE)?;
    let cells = table.cells(column, false)?;
    Ok(shown(&cells, &answers[0].0, answers[0].1.as_deref()))
}

/// Returns the arrays of a column as text, one row after another.
fn arrays(table: &Table, column: usize) -> Result<String, Error> {
    let rows = Rows::Range(0..table.layout().rows);
    let (arrays, _) = table.read_arrays(column, false, &rows, &ONE)?;
    let size = arrays.cells.kind.bytes() as usize;
    let row = |pair: &[i64]| {
        let bytes = &arrays.values[pair[0] as usize * size..pair[1] as usize * size];
        shown(&arrays.cells, bytes, None)
    };
    Ok(arrays.offsets.windows(2).map(row).collect::<Vec<_>>().join("; "))
}

/// A file, its columns, and their shapes in FITS order.
type Expected = (&'static str, &'static [&'static str], &'static [&'static [u64]]);

const COLUMNS: &[Expected] = &[
    ("bt_unsigned_null", &["- 32768 65535", "- 5 6"], &[&[], &[]]),
    ("bt_logical", &["T F - T"], &[&[]]),
    ("bt_bits", &["T F F F F F F F F F T T T T T T T T T T T T"], &[&[11]]),
    ("bt_str", &["\"abc\" \"abc\" \"\""], &[&[]]),
    (
        "bt_str_tdim",
        &[
            "\"00000\" \"00001\" \"00002\" \"00003\" \"00004\" \"00005\" \"00006\" \"00007\" \"00008\" \"00009\" \
           \"00010\" \"00011\"",
        ],
        &[&[4, 3]],
    ),
    ("bt_zero_width", &["", "1 2"], &[&[0], &[]]),
    ("bt_tdim_short", &["1 2 3 4"], &[&[2, 2]]),
    ("bt_complex", &["12+4i NaN+2i"], &[&[]]),
    ("bt_lower_tform", &["9"], &[&[]]),
    ("bt_tform_suffix", &["1.5", "9"], &[&[], &[]]),
    ("bt_dup_names", &["1", "2"], &[&[], &[]]),
    ("bt_naxis1_mismatch", &["1 2"], &[&[]]),
    ("bt_norows", &[""], &[&[]]),
    ("bt_scaled_byte", &["-128 0 127"], &[&[]]),
    (
        "at_mix",
        &["12 0 -3", "150.0 1500.0 -0.15", "12.345 -0.0 1.25", "\"bc\" \"d\" \"yz\"", "- -7 4"],
        &[&[], &[], &[], &[], &[]],
    ),
    ("at_overlap", &["\"x123yz\"", "123"], &[&[], &[]]),
    ("at_scaled", &["20.0 8.0"], &[&[]]),
];

#[test]
fn columns_of_the_trap_files() {
    for (name, columns, shapes) in COLUMNS {
        let Some(table) = trap(name) else { return };
        let table = table.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(table.layout().columns.len(), columns.len(), "{name}");
        for (index, (expected, shape)) in columns.iter().zip(*shapes).enumerate() {
            let actual = column(&table, index).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(actual, *expected, "{name}, column {index}");
            assert_eq!(table.cells(index, false).unwrap().shape, *shape, "{name}");
        }
    }
}

#[test]
fn arrays_of_the_trap_files() {
    let expected = [
        ("bt_vla_gap", "1 2 3; 4 5; "),
        ("bt_vla_alias", "2 3 4; 1 2 3 4 5"),
        ("bt_vla_q_unsigned", "0 32768 65535"),
        ("bt_vla_px", "T F F F F F F F F F T"),
    ];
    for (name, expected) in expected {
        let Some(table) = trap(name) else { return };
        let actual = table.and_then(|table| arrays(&table, 0));
        assert_eq!(actual.unwrap_or_else(|error| panic!("{name}: {error}")), expected, "{name}");
    }
}

#[test]
fn arrays_that_must_not_be_read() {
    let Some(table) = trap("bt_vla_bad") else { return };
    let text = arrays(&table.unwrap(), 0).unwrap_err().to_string();
    assert!(text.contains("row 1 (from 1)") && text.contains("heap of 10 bytes"), "{text}");
    let Some(table) = trap("bt_vla_theap_low") else { return };
    let text = arrays(&table.unwrap(), 0).unwrap_err().to_string();
    assert!(text.contains("THEAP"), "{text}");
}

#[test]
fn names_of_the_trap_files() {
    for name in ["bt_no_ttype", "bt_blank_ttype"] {
        let Some(table) = trap(name) else { return };
        let table = table.unwrap();
        assert_eq!(table.column("COL1").unwrap(), 0, "{name}");
    }
    let Some(table) = trap("bt_dup_names") else { return };
    assert_eq!(table.unwrap().column("tiME ").unwrap(), 0);
}

/// A byte of 1 in a logical column is read as invalid, and counted.
#[test]
fn odd_logical_values_are_counted() {
    let Some(table) = trap("bt_logical") else { return };
    let ask = Ask { column: 0, raw: false, text: TextAs::Bytes, nulls: false };
    let answers = read(&table.unwrap(), &[ask], &Rows::Range(0..4), &ONE).unwrap();
    assert_eq!(answers[0].2, 1);
}
