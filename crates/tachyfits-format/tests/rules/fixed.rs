//! Unambiguous faults are repaired and marked as fixable, and nothing else changes.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use tachyfits_format::{
    Context, Hdu, Header, ReadOptions, Rule, Step, Walker, fixed_header, verify_header,
};

use crate::build::{extension, header};
use crate::shared::{bytes, fits_files, folder};
use crate::verified::{COLUMN, LONG, after_empty, ascii, binary, findings, image, provoked};

/// Returns the first header, repaired, and the codes of the repairs.
fn repaired(file: &[u8]) -> (Header, Vec<&'static str>) {
    let (parsed, _) = Header::parse(file, Context::default()).unwrap();
    let hdu: Option<Hdu> = {
        let mut walker = Walker::new(ReadOptions::default(), file.len() as u64);
        loop {
            match walker.step().unwrap() {
                Step::Read { offset, bytes } => walker.supply(&file[offset as usize..][..bytes]),
                Step::Hdu(hdu) => break Some(*hdu),
                Step::Done => break None,
            }
        }
    };
    let (header, fixes) = fixed_header(&parsed, hdu.as_ref());
    (header, fixes.iter().map(|fix| fix.code).collect())
}

#[test]
fn faults_that_need_no_guessing_are_repaired() {
    let file = header(&[
        "SIMPLE  = T / yes",
        "NAXIS   =                    1",
        "BITPIX  = 8",
        "NAXIS1  =    0                 / none",
        "exptime =               1.5e+3 / seconds",
        "DATE    = '28/11/95'           / of writing",
        "foo     =                    1",
        "FOO     =                    2",
        "DATE-OBS= '28/11/05'",
    ]);
    let (header, fixes) = repaired(&file);
    let lines: Vec<String> = header
        .cards()
        .iter()
        .map(|card| String::from_utf8_lossy(card.raw()).trim_end().to_owned())
        .collect();
    assert_eq!(
        lines,
        [
            "SIMPLE  =                    T / yes",
            "BITPIX  =                    8",
            "NAXIS   =                    1",
            "NAXIS1  =                    0 / none",
            "EXPTIME =               1.5E+3 / seconds",
            "DATE    = '1995-11-28'         / of writing",
            "foo     =                    1",
            "FOO     =                    2",
            "DATE-OBS= '28/11/05'",
        ]
    );
    assert_eq!(
        fixes,
        [
            "fixed-format",
            "fixed-format",
            "fixed-format",
            "illegal-keyword",
            "lower-case-exponent",
            "old-date",
            "mandatory-order"
        ]
    );
    assert_eq!(repaired(&header.to_bytes()).1, [""; 0]);
}

/// Returns a file with all its headers repaired, and the codes of the repairs; checks that no other finding is marked
/// as fixable.
fn repaired_file(file: &[u8]) -> (Vec<u8>, Vec<&'static str>) {
    let mut walker = Walker::new(ReadOptions::default(), file.len() as u64);
    let (mut repaired, mut codes, mut warned) = (Vec::new(), Vec::new(), 0);
    while let Ok(step) = walker.step() {
        match step {
            Step::Read { offset, bytes } => walker.supply(&file[offset as usize..][..bytes]),
            Step::Done => break,
            Step::Hdu(hdu) => {
                let warnings = &walker.warnings()[warned..];
                let results = verify_header(&hdu.header, Some(&hdu), warnings);
                warned = walker.warnings().len();
                let (header, fixes) = fixed_header(&hdu.header, Some(&hdu));
                let marked: HashSet<&str> = results
                    .iter()
                    .filter(|finding| finding.fixable)
                    .map(|finding| finding.code)
                    .collect();
                let fixed: HashSet<&str> = fixes.iter().map(|fix| fix.code).collect();
                assert_eq!(marked, fixed, "{results:?}");
                codes.extend(fixes.iter().map(|fix| fix.code));
                repaired.extend(header.to_bytes());
                let end = file.len().min(hdu.end_offset() as usize);
                repaired.extend(&file[(hdu.data_offset as usize).min(end)..end]);
            }
        }
    }
    (repaired, codes)
}

#[test]
fn fixable_findings_are_repaired_and_disappear() {
    for rule in Rule::ALL {
        let Some(file) = provoked(*rule) else { continue };
        let (repaired, codes) = repaired_file(&file);
        assert_eq!(repaired_file(&repaired).1, [""; 0], "{rule:?}: {codes:?}");
    }
}

#[test]
fn forms_of_columns_are_written_as_the_standard_has_them() {
    let cases: [(Vec<u8>, &str, &[&str]); 11] = [
        (binary(&[COLUMN, "TFORM1  = '1j'"]), "TFORM1  = '1J      '", &["column-form-irregular"]),
        (
            binary(&[COLUMN, "TFORM1  = '0pe(3)' / kept", "TDISP1  = 'f8.3'"]),
            "TFORM1  = '0PE(3)  '           / kept",
            &["column-form-irregular", "display-form"],
        ),
        (binary(&[COLUMN, LONG, "TDISP1  = 'e12.5e3'"]), "TDISP1  = 'E12.5E3 '", &["display-form"]),
        // Upper case would change the meaning: strings separated by blanks, or strings of three characters.
        (binary(&[COLUMN, "TFORM1  = '4a:sstr2/032'"]), "TFORM1  = '4a:sstr2/032'", &[]),
        (binary(&[COLUMN, "TFORM1  = '4a:sstr3'"]), "TFORM1  = '4a:sstr3'", &[]),
        // An unprintable delimiter still separates strings.
        (binary(&[COLUMN, "TFORM1  = '4A:SSTR2/031'"]), "TFORM1  = '4A:SSTR2/031'", &[]),
        // Of another type, or ambiguous.
        (binary(&[COLUMN, LONG, "TDISP1  = 'a4'"]), "TDISP1  = 'a4'", &[]),
        (binary(&[COLUMN, LONG, "TDISP1  = 'f8'"]), "TDISP1  = 'f8'", &[]),
        (
            ascii(&[COLUMN, "TBCOL1  =                    1", "TFORM1  = 'e4'"]),
            "TFORM1  = 'E4.0    '",
            &["column-form-irregular"],
        ),
        (
            ascii(&[COLUMN, "TBCOL1  =                    1", "TFORM1  = 'A4 or so'"]),
            "TFORM1  = 'A4 or so'",
            &[],
        ),
        (
            after_empty(extension::<&str>("image", 8, &[2], [0, 1], &[]), &[0; 2]),
            "XTENSION= 'IMAGE   '",
            &["unregistered-extension"],
        ),
    ];
    for (file, line, expected) in cases {
        let (repaired, codes) = repaired_file(&file);
        let text = String::from_utf8_lossy(&repaired).into_owned();
        assert_eq!(codes, expected, "{line}");
        assert!(text.contains(&format!("{line:<80}")), "{line}");
        assert_eq!(repaired_file(&repaired).1, [""; 0], "{line}");
    }
}

#[test]
fn cards_come_to_their_places_and_dates_to_their_form() {
    let file = [
        image(&[
            "CTYPE1  = 'FREQ'",
            "CTYPE1A = 'VELO'",
            "WCSAXES =                    2",
            "WCSAXESA=                    2",
            "DATE    = '2026-01-02 03:04:05Z'",
            "DATE-OBS= '2026-01-02 03:04:05'",
            "DATE-END= '2026-01-02T03:04:05Z'",
            "DATE-BEG= '2026-01-02 or so'",
        ]),
        header(&[
            "XTENSION= 'IMAGE   '",
            "BITPIX  =                    8",
            "NAXIS   =                    0",
            "EXTNAME = 'A       '",
        ]),
        extension(
            "IMAGE",
            8,
            &[],
            [0, 1],
            &["EXTNAME = 'B       '", "INHERIT =                    T"],
        ),
    ]
    .concat();
    let (repaired, codes) = repaired_file(&file);
    let expected = [
        "date-form",
        "date-form",
        "wcsaxes-place",
        "wcsaxes-place",
        "mandatory-default",
        "mandatory-default",
        "inherit-place",
    ];
    assert_eq!(codes, expected);
    let records = repaired.chunks(80).map(|record| String::from_utf8_lossy(&record[..30]));
    let lines: Vec<String> = records.map(|line| line.trim_end().to_owned()).collect();
    let place = |start: &str| lines.iter().position(|line| line.starts_with(start)).unwrap();
    let first = place("WCSAXES =");
    assert!(lines[first + 1].starts_with("CTYPE1  ") && lines[first + 2].starts_with("WCSAXESA"));
    assert_eq!(lines[place("DATE    ")], "DATE    = '2026-01-02T03:04:05");
    assert_eq!(lines[place("DATE-END")], "DATE-END= '2026-01-02T03:04:05");
    let keywords: Vec<&str> =
        lines.iter().map(|line| line.split([' ', '=']).next().unwrap()).collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| line.starts_with("XTENSION"));
    for ((start, _), last) in starts.zip(["EXTNAME", "INHERIT"]) {
        let expected = ["XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", last];
        assert_eq!(keywords[start..start + 6], expected);
    }
    assert_eq!(repaired_file(&repaired).1, [""; 0]);
}

#[test]
fn cards_in_lower_case_are_held_against_the_rules_as_they_are_read() {
    // A keyword is converted to upper case only if no other card has that keyword; every keyword that is read is
    // checked.
    let cards = ["date    = '28/11/95'", "ctype1  = 'FREQ'", "Ctype1  = 'VELO'", "wcsaxes = 1"];
    let upper = cards.map(|card| format!("{}{}", card[..8].to_ascii_uppercase(), &card[8..]));
    for (cards, expected) in [
        (
            cards.map(str::to_owned),
            &["illegal-keyword", "old-date", "illegal-keyword", "wcsaxes-place"][..],
        ),
        (upper, &["old-date", "wcsaxes-place"]),
    ] {
        let (repaired, codes) = repaired_file(&image(&cards.each_ref().map(String::as_str)));
        assert_eq!(codes, expected);
        let records: Vec<&[u8]> = repaired.chunks(80).collect();
        let place = |start: &[u8]| {
            records.iter().position(|record| record[..8].eq_ignore_ascii_case(start)).unwrap()
        };
        assert_eq!(place(b"WCSAXES ") + 1, place(b"CTYPE1  "));
        assert_eq!(&records[place(b"DATE    ")][..22], b"DATE    = '1995-11-28'");
        assert_eq!(repaired_file(&repaired).1, [""; 0]);
    }
    let (repaired, codes) = repaired_file(&header(&[
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "naxis   = 0",
        "extend  =                    F",
        "EXTEND  =                    T",
    ]));
    assert_eq!(codes, ["illegal-keyword", "fixed-format"]);
    assert_eq!(&repaired[160..190], b"NAXIS   =                    0");
}

#[test]
fn an_extension_whose_name_is_put_right_has_its_cards_in_the_order_of_that() {
    let cards = ["TFIELDS =                    1", "INHERIT =                    T", COLUMN, LONG];
    let file = extension("bintable", 8, &[4, 2], [0, 1], &cards);
    let fixed = |header: Header| {
        let hdu = Hdu::of_header(header, 1).unwrap();
        let (header, fixes) = fixed_header(&hdu.header, Some(&hdu));
        (header, fixes.iter().map(|fix| fix.code).collect::<Vec<_>>())
    };
    let (parsed, _) = Header::parse(&file, Context::default()).unwrap();
    let (header, codes) = fixed(parsed);
    assert_eq!(codes, ["unregistered-extension"]);
    assert_eq!(fixed(header).1, [""; 0]);
}

/// Several cards of one keyword in random case, with small values.
fn spelled(
    keyword: &'static str,
    count: std::ops::Range<usize>,
    values: &'static [i64],
) -> impl Strategy<Value = Vec<String>> {
    let case = prop_oneof![
        Just(keyword.to_owned()),
        Just(keyword.to_ascii_lowercase()),
        Just(format!("{}{}", &keyword[..1], keyword[1..].to_ascii_lowercase())),
    ];
    let card = (case, proptest::sample::select(values))
        .prop_map(|(keyword, value)| format!("{keyword:<8}= {value:>20}"));
    proptest::collection::vec(card, count)
}

proptest! {
    /// Among several cards of a keyword, case and position decide which one is read: repairs must not change that.
    #[test]
    fn fixes_keep_the_shape_of_the_data(
        cards in (
            spelled("BITPIX", 1..3, &[8, 16]),
            spelled("NAXIS", 1..3, &[1, 2]),
            spelled("NAXIS1", 1..3, &[0, 3, 40]),
            spelled("NAXIS2", 1..3, &[0, 3, 40]),
            spelled("PCOUNT", 0..4, &[0, 4, 4000]),
            spelled("GCOUNT", 0..4, &[1, 2]),
            spelled("TFIELDS", 0..3, &[0]),
        )
            .prop_map(|(a, b, c, d, e, f, g)| [a, b, c, d, e, f, g].concat())
            .prop_shuffle(),
    ) {
        let cards: Vec<String> = std::iter::once("XTENSION= 'BINTABLE'".to_owned()).chain(cards).collect();
        let (parsed, _) = Header::parse(&header(&cards), Context::default()).unwrap();
        let sizes = |hdu: &Hdu| (hdu.stored, hdu.axes.clone(), hdu.parameter_count, hdu.group_count);
        let before = Hdu::of_header(parsed, 1).unwrap();
        let (repaired, _) = fixed_header(&before.header, Some(&before));
        let after = Hdu::of_header(repaired, 1).unwrap();
        prop_assert_eq!(sizes(&before), sizes(&after));
        prop_assert_eq!(fixed_header(&after.header, Some(&after)).1, []);
    }
}

#[test]
fn a_header_that_is_right_keeps_its_bytes() {
    let file = image(&["OBJECT  =   'free format'", "", "", "COMMENT kept"]);
    let (header, fixes) = repaired(&file);
    assert_eq!(fixes, [""; 0]);
    assert_eq!(header.to_bytes(), file[..2880]);
}

#[test]
fn a_number_that_is_too_long_for_its_place_is_left_there() {
    // Without a valid card for the size there are no data, and so no HDU.
    let file = header(&["SIMPLE  = T", "NAXIS2  = 123456789012345678901234567890"]);
    let (parsed, _) = Header::parse(&file, Context::default()).unwrap();
    let (repaired, fixes) = fixed_header(&parsed, None);
    let keywords: Vec<_> = fixes.iter().map(|fix| fix.place.keyword.as_deref()).collect();
    assert_eq!(keywords, [Some("SIMPLE")]);
    assert_eq!(repaired.cards()[1], parsed.cards()[1]);
}

#[test]
fn findings_that_can_be_put_right_are_marked() {
    let mut file = header(&[
        "SIMPLE  = T",
        "BITPIX  =                    8",
        "NAXIS   =                    0",
        "OBJECT  = 'caf\u{e9}'",
    ]);
    file[2800] = 0;
    let marked: HashMap<&str, bool> =
        findings(&file).iter().map(|finding| (finding.code, finding.fixable)).collect();
    let expected = [("fixed-format", true), ("header-fill", true), ("illegal-byte", false)];
    assert_eq!(marked, HashMap::from(expected));
    assert_eq!(repaired(&file).1, ["fixed-format", "header-fill"]);
}

#[test]
fn repaired_headers_mean_the_same_and_are_stable() {
    let Some(folder) = folder() else { return };
    for path in fits_files(folder) {
        let file = bytes(&path);
        let Ok((before, _)) = Header::parse(&file, Context::default()) else { continue };
        let (after, fixes) = fixed_header(&before, None);
        let number =
            |header: &Header, at: usize| header.cards()[at].value().and_then(|v| v.as_f64());
        assert_eq!(before.cards().len(), after.cards().len());
        for at in 0..before.cards().len() {
            assert_eq!(number(&before, at), number(&after, at), "{}", path.display());
        }
        let codes: Vec<&str> = fixes.iter().map(|fix| fix.code).collect();
        assert_eq!(fixed_header(&after, None).1, [], "{}: {codes:?}", path.display());
    }
}
