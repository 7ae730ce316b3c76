//! The table of codes: every row can be provoked, and contains advice.

use std::collections::HashSet;

use tachyfits_format::{
    AxisSelection, Card, Code, CodecParameters, CodecScratch, FormatError, Hdu, Header, Kind,
    Limits, NewTable, PixelsMut, Place, ReadOptions, Rice, StoredType, TableKind, Tile, TileCodec,
    codes, cutout_header, tile_codec,
};

use crate::build::{
    columns, data, empty_primary, extension, first, hdu_of, header, primary, record, table,
    table_file, table_hdu, walk, walk_with,
};

const ONE: AxisSelection =
    AxisSelection { first: 0, count: 1, step: 1, keep: true, before: 0, after: 0 };

/// Warnings about cards, and about the structure of an HDU.
fn warnings() -> Vec<Code> {
    let cards = [
        "OBJECT  = 'caf\u{e9}'",
        "foo     =                    3",
        "CRVAL1  =                  NaN",
        "OPEN    = 'M 31",
        "EXPTIME =                 30.0 seconds",
        "LOWER   =              1.5e+03",
        "EXTVER  =                   1.",
        "CONTINUE  'text'",
        "TWICE   =                    1",
        "TWICE   =                    2",
        "BZERO   =32768",
        "EXTNAME =                    7",
    ];
    let mut result = walk(&primary(8, &[], &cards)).warnings;
    let mut filled = primary::<&str>(8, &[], &[]);
    filled[2879] = 0;
    result.extend(walk(&filled).warnings);
    result.extend(walk(&filled[..400]).warnings);
    let mixed = header(&[
        "SIMPLE  =                    F",
        "NAXIS   =                    0",
        "BITPIX  =                    8",
    ]);
    result.extend(walk(&mixed).warnings);
    let counts = header(&[
        "XTENSION= 'IMAGE   '",
        "BITPIX  =                    8",
        "NAXIS   =                    0",
    ]);
    result.extend(walk(&[empty_primary::<&str>(&[]), counts].concat()).warnings);
    let image = [primary::<&str>(8, &[4], &[]), data(&[1, 2, 3, 4])].concat();
    result.extend(walk(&image[..2882]).warnings);
    result.extend(walk(&image[..2884]).warnings);
    result.extend(walk(&[image, vec![0; 100]].concat()).warnings);
    let blank = hdu_of(-32, &[1], &["BLANK   =                    1"]).image().unwrap();
    result.extend(blank.warnings.iter().map(|warning| warning.code()));
    result.extend(warnings_of_columns());
    result
}

fn warnings_of_columns() -> Vec<Code> {
    let cards = [
        "TFORM='1j' TTYPE='A' TDIM='(2)'",
        "TFORM='1E' TTYPE='a' TNULL=1",
        "TFORM='1L' TSCAL=2.0",
        "TFORM='5A' TDIM='(2,2)'",
    ];
    let layout = table(&table_file("BINTABLE", [15, 0], 0, &columns(&cards), &[]));
    layout.warnings.iter().map(|warning| warning.code()).collect()
}

/// Errors of tables.
fn errors_of_columns() -> Vec<FormatError> {
    let hdu = |column: &str, theap| {
        let mut records = columns(&[column]);
        records.push(format!("THEAP   = {theap}"));
        table_hdu(&table_file("BINTABLE", [8, 1], 8, &records, &[0; 16]))
    };
    let arrays = |theap| hdu("TFORM='PI'", theap).table().unwrap();
    let descriptor = [1, 8].map(i32::to_be_bytes).concat();
    let mut new = NewTable::of(&arrays(8));
    new.kind = TableKind::Ascii;
    vec![
        new.row().unwrap_err(),
        hdu("TFORM='1Z'", 8).table().unwrap_err(),
        hdu("TFORM='3J'", 8).table().unwrap_err(),
        arrays(8).descriptor(0, 0, &descriptor).unwrap_err(),
        arrays(4).heap().unwrap_err(),
        first(&primary::<&str>(8, &[], &[])).table().unwrap_err(),
        hdu("TFORM='1J'", 8).table().unwrap().descriptor(0, 0, &[]).unwrap_err(),
    ]
}

/// Errors of tiles.
fn errors_of_tiles() -> Vec<FormatError> {
    let decoded = |stream: &[u8]| {
        let mut out = [0];
        let mut tile = Tile { stream, shape: &[1], pixels: PixelsMut::U8(&mut out) };
        let codec = Rice::for_width(4);
        codec.decode(&mut tile, &mut CodecScratch::new()).unwrap_err().at(Place::default(), 0)
    };
    let header = Header::new();
    let parameters = CodecParameters::none(&header, StoredType::U8);
    vec![
        decoded(&[]),
        decoded(&[0, 0, 1, 0, 0]),
        tile_codec("ZCMPTYPE", "BZIP2_1", &parameters).unwrap_err(),
    ]
}

/// Errors of the walk.
fn structure() -> Vec<FormatError> {
    let file = |records: &[&str]| walk(&header(records)).error();
    let limited =
        |bytes: &[u8], limits| walk_with(bytes, ReadOptions::default().limits(limits)).error();
    let simple = "SIMPLE  =                    T";
    let blocks = Limits::default().max_header_blocks(1);
    let hdus = Limits::default().max_hdus(1);
    let next = extension::<&str>("IMAGE", 8, &[], [0, 1], &[]);
    let endless = [record(simple), vec![b' '; 2880 * 3]].concat();
    let two = [empty_primary::<&str>(&[]), next].concat();
    vec![
        walk(b"\x1f\x8b and so on").error(),
        walk(&simple.as_bytes().repeat(3)).error(),
        file(&[simple]),
        file(&[simple, "BITPIX  =                 16.5"]),
        file(&[simple, "BITPIX  =                   12"]),
        file(&[simple, "BITPIX  = '16      '"]),
        walk(&primary::<&str>(8, &[1 << 40, 1 << 40], &[])).error(),
        limited(&endless, blocks),
        limited(&two, hdus),
    ]
}

/// Errors of requests.
fn requests() -> Vec<FormatError> {
    let a_table = |counts| {
        let table = extension("BINTABLE", 8, &[2, 2], counts, &[""]);
        walk(&[empty_primary::<&str>(&[]), table].concat()).hdus.remove(1)
    };
    let image = extension("IMAGE", 8, &[2, 2], [4, 1], &[""]);
    let image = walk(&[empty_primary::<&str>(&[]), image].concat()).hdus.remove(1);
    let groups = first(&primary(
        8,
        &[0],
        &[
            "GROUPS  =                    T",
            "PCOUNT  =                 1000",
            "GCOUNT  =                    1",
        ],
    ));
    let cut = |hdu: &Hdu, axes: &[AxisSelection]| cutout_header(hdu, axes).unwrap_err();
    let left_out = AxisSelection { keep: false, ..ONE };
    let sip = hdu_of(8, &[2, 2], &["A_ORDER =                    2"]);
    vec![
        image.image().unwrap_err(),
        groups.random_groups().unwrap_err(),
        a_table([0, 1]).image().unwrap_err(),
        a_table([0, 1]).random_groups().unwrap_err(),
        cut(&sip, &[ONE]),
        sip.linear_axis(3).unwrap_err(),
        cut(&sip, &[left_out; 2]),
        cut(&sip, &[left_out, ONE]),
        cut(&sip, &[ONE, AxisSelection { count: 2, first: 1, step: -1, ..ONE }]),
        Card::new("object", 1, "").unwrap_err(),
        Card::new(&format!("ESO {}", "A".repeat(75)), 1, "").unwrap_err(),
    ]
}

#[test]
fn every_code_can_be_provoked() {
    let mut found: HashSet<Code> = warnings().into_iter().collect();
    let errors = [structure(), requests(), errors_of_columns(), errors_of_tiles()];
    for error in errors.into_iter().flatten() {
        assert!(error.kind() != Kind::Warning);
        let message = format!("{error:#}");
        assert_eq!(error.to_string(), message.lines().next().unwrap());
        assert!(message.contains("expected ") && message.contains(", found "), "{message}");
        assert!(message.ends_with(&format!("\nhint: {}", error.hint())), "{message}");
        found.insert(error.code());
    }
    // Tests of the engine refuse memory; these tests cannot.
    found.insert(Code::NoMemory);
    let missing: Vec<&str> =
        codes().iter().filter(|code| !found.contains(code)).map(|code| code.as_str()).collect();
    assert!(missing.is_empty(), "nothing raises {missing:?}");
}

#[test]
fn every_code_is_explained() {
    let mut names = HashSet::new();
    for code in codes() {
        assert!(names.insert(code.as_str()), "{} is listed twice", code.as_str());
        assert!(code.meaning().ends_with('.') && !code.example().is_empty());
        assert!(!code.hint().is_empty() && !code.hint().contains("  "), "{}", code.as_str());
        assert!(!code.kind().as_str().is_empty());
    }
}
