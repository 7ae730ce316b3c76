//! The rules that verification adds to what reading notices: each is provoked, nothing is found in a header that is
//! right, and what can be put right is.

use std::collections::{HashMap, HashSet};

use tachyfits_format::{
    Context, Finding, Hdu, Header, ReadOptions, Rule, Severity, Step, Walker, fixed_header,
    verify_header,
};

use crate::build::{data, empty_primary, extension, header, primary};
use crate::shared::{bytes, fits_files, folder};

/// The findings of every header of a file that can be walked over.
fn findings(file: &[u8]) -> Vec<Finding> {
    let mut walker = Walker::new(ReadOptions::default(), file.len() as u64);
    let mut found = Vec::new();
    let mut warned = 0;
    loop {
        match walker.step() {
            Ok(Step::Read { offset, bytes }) => walker.supply(&file[offset as usize..][..bytes]),
            Ok(Step::Hdu(hdu)) => {
                found.extend(verify_header(&hdu.header, Some(&hdu), &walker.warnings()[warned..]));
                warned = walker.warnings().len();
            }
            Ok(Step::Done) => break,
            Err(error) => {
                found.push(Finding::of_problem(error.problem()));
                break;
            }
        }
    }
    found.extend(
        walker.warnings()[warned..].iter().map(|warning| Finding::of_problem(warning.problem())),
    );
    found
}

fn codes(file: &[u8]) -> Vec<&'static str> {
    findings(file).iter().map(|finding| finding.code).collect()
}

fn image(cards: &[&str]) -> Vec<u8> {
    [primary(16, &[2, 2], cards), data(&[0; 8])].concat()
}

fn after_empty(next: Vec<u8>, content: &[u8]) -> Vec<u8> {
    [empty_primary::<&str>(&[]), next, data(content)].concat()
}

fn binary(cards: &[&str]) -> Vec<u8> {
    let mut all = vec!["TFIELDS =                    1"];
    all.extend(cards);
    after_empty(extension("BINTABLE", 8, &[4, 2], [0, 1], &all), &[0; 8])
}

fn ascii(cards: &[&str]) -> Vec<u8> {
    let mut all = vec!["TFIELDS =                    1"];
    all.extend(cards);
    after_empty(extension("TABLE", 8, &[4, 2], [0, 1], &all), &[b' '; 8])
}

const COLUMN: &str = "TTYPE1  = 'A       '";
const LONG: &str = "TFORM1  = 'J       '";

/// A file that breaks the rule; some break others as well.
fn provoked(rule: Rule) -> Option<Vec<u8>> {
    Some(match rule {
        Rule::FixedFormat => header(&[
            "SIMPLE  = T",
            "BITPIX  =                    8",
            "NAXIS   =                    0",
        ]),
        Rule::XtensionPadding => after_empty(
            header(&[
                "XTENSION= 'IMAGE'",
                "BITPIX  =                    8",
                "NAXIS   =                    0",
                "PCOUNT  =                    0",
                "GCOUNT  =                    1",
            ]),
            &[],
        ),
        Rule::IndexZeros => image(&["CRPIX01 =                  1.0"]),
        Rule::ContinueForbidden => image(&["OBJECT  = 'M 31 &'", "CONTINUE  'and its companions'"]),
        Rule::UndefinedValue => image(&["OBJECT  ="]),
        Rule::DateForm => image(&["DATE-OBS= '2026-02-30'"]),
        Rule::OldDate => image(&["DATE    = '06/02/02'"]),
        Rule::Deprecated => image(&["EPOCH   =               1950.0"]),
        Rule::UnitBrackets => image(&["BUNIT   = 'erg/(s cm**2'"]),
        Rule::ValueRange => image(&["CDELT1  =                  0.0"]),
        Rule::ReservedValue => image(&["OBJECT  =                   31"]),
        other => return provoked_by_structure(other),
    })
}

/// The rules of what may stand in a header of its kind, of columns and of coordinates.
fn provoked_by_structure(rule: Rule) -> Option<Vec<u8>> {
    Some(match rule {
        Rule::ForbiddenKeyword => after_empty(
            extension("IMAGE", 8, &[], [0, 1], &["SIMPLE  =                    T"]),
            &[],
        ),
        Rule::MisplacedKeyword => image(&["TTYPE1  = 'A'"]),
        Rule::IndexRange => image(&["NAXIS3  =                    1"]),
        Rule::ExtensionShape => after_empty(
            extension("TABLE", 8, &[1, 1], [4, 1], &["TFIELDS =                    0"]),
            &[b' '; 5],
        ),
        Rule::FieldsPlace => binary_with_late_fields(),
        Rule::InheritPlace => after_empty(
            extension(
                "IMAGE",
                8,
                &[],
                [0, 1],
                &["EXTNAME = 'A'", "INHERIT =                    T"],
            ),
            &[],
        ),
        Rule::UnregisteredExtension => after_empty(extension("NOVEL", 8, &[], [0, 1], &[""]), &[]),
        Rule::CompressedKeyword => binary(&[COLUMN, LONG, "ZIMAGE  =                    T"]),
        Rule::ColumnForm => binary(&[COLUMN, "TFORM1  = '1Y      '"]),
        Rule::ColumnUnnamed => binary(&[LONG]),
        Rule::ColumnName => binary(&[LONG, "TTYPE1  = 'A-B     '"]),
        Rule::DisplayForm => binary(&[LONG, COLUMN, "TDISP1  = 'A4      '"]),
        Rule::HeapKeyword => binary(&[LONG, COLUMN, "THEAP   =                    8"]),
        Rule::HeapUnused => after_empty(
            extension(
                "BINTABLE",
                8,
                &[4, 1],
                [4, 1],
                &["TFIELDS =                    1", LONG, COLUMN],
            ),
            &[0; 8],
        ),
        Rule::ScaleZero => binary(&[LONG, COLUMN, "TSCAL1  =                  0.0"]),
        Rule::WcsAxesPlace => image(&["CTYPE1  = 'FREQ'", "WCSAXES =                    2"]),
        Rule::WcsMatrices => image(&[
            "PC1_1   =                  1.0",
            "CD1_2   =                  1.0",
            "CD2_1   =                  1.0",
        ]),
        Rule::WcsSingular => image(&["CD1_1   =                  1.0"]),
        Rule::WcsType => image(&["CTYPE1  = 'RA---TAN'"]),
        Rule::WcsUnit => {
            image(&["CTYPE1  = 'RA---TAN'", "CTYPE2  = 'DEC--TAN'", "CUNIT1  = 'arcsec'"])
        }
        Rule::WcsAlternate => image(&["CTYPE1A = 'FREQ'"]),
        _ => return None,
    })
}

fn binary_with_late_fields() -> Vec<u8> {
    let cards = [COLUMN, LONG, "TFIELDS =                    1"];
    after_empty(extension("BINTABLE", 8, &[4, 2], [0, 1], &cards), &[0; 8])
}

#[test]
fn a_header_may_end_with_gcount() {
    let shape = |name, axes: &[&'static str], also: &[&'static str]| {
        let start = [name, "BITPIX  =                    8"];
        let gcount = ["PCOUNT  =                    0", "GCOUNT  =                    1"];
        after_empty(header(&[&start, axes, also, &gcount].concat()), &[])
    };
    let no_axes = ["NAXIS   =                    0"];
    let image = shape("XTENSION= 'IMAGE   '", &no_axes, &["INHERIT =                    T"]);
    assert!(codes(&image).contains(&Rule::InheritPlace.as_str()));
    let axes = [
        "NAXIS   =                    2",
        "NAXIS1  =                    0",
        "NAXIS2  =                    0",
    ];
    let table = shape("XTENSION= 'BINTABLE'", &axes, &["TFIELDS =                    0"]);
    let found = findings(&table);
    let found = found.iter().find(|finding| finding.code == Rule::FieldsPlace.as_str());
    assert!(found.unwrap().to_string().contains("the end of the header there"));
}

#[test]
fn every_rule_of_headers_can_be_provoked() {
    /// Rules of data and of whole files, which the engine provokes.
    const ENGINE: [Rule; 11] = [
        Rule::NameRepeated,
        Rule::LogicalValue,
        Rule::TextValue,
        Rule::DescriptorLength,
        Rule::AsciiEntry,
        Rule::AsciiText,
        Rule::AsciiGap,
        Rule::DataFill,
        Rule::Datasum,
        Rule::Checksum,
        Rule::NotChecked,
    ];
    for &rule in Rule::ALL {
        match provoked(rule) {
            Some(file) => {
                let found = codes(&file);
                assert!(found.contains(&rule.as_str()), "{rule:?} is not among {found:?}");
            }
            None => assert!(ENGINE.contains(&rule), "nothing provokes {rule:?}"),
        }
    }
}

#[test]
fn every_rule_is_explained() {
    let mut names = HashSet::new();
    for rule in Rule::ALL {
        assert!(names.insert(rule.as_str()), "{rule:?} stands twice");
        assert!(rule.meaning().ends_with('.') && !rule.hint().is_empty(), "{rule:?}");
        assert!(!rule.hint().contains("  "), "{rule:?}");
    }
}

#[test]
fn nothing_is_found_in_headers_that_are_right() {
    let celestial = [
        "BSCALE  =                  2.0",
        "BZERO   =                  1.0",
        "BUNIT   = 'erg/(s cm**2)'",
        "BLANK   =               -32768",
        "OBJECT  = 'M 31    '",
        "DATE    = '2026-11-22T03:00:00.5'",
        "WCSAXES =                    3",
        "CTYPE1  = 'RA---TAN'",
        "CTYPE2  = 'DEC--TAN'",
        "CTYPE3  = 'WAVE-F2W'",
        "CUNIT1  = 'deg     '",
        "CRPIX1  =                  1.0",
        "CDELT1  =                -0.01",
        "PC1_1   =                  0.8",
        "PC1_2   =                 -0.6",
        "PC2_1   =                  0.6",
        "PC2_2   =                  0.8",
        "CTYPE1A = 'LINEAR  '",
        "MYKEY   = 'a &     '",
        "CONTINUE  'longer string'",
        "COMMENT any text",
        "",
    ];
    assert_eq!(codes(&image(&celestial)), [""; 0]);
    let columns = [
        LONG,
        COLUMN,
        "TNULL1  =                   -1",
        "TDISP1  = 'I8.2    '",
        "TUNIT1  = 'm/s     '",
        "TSCAL1  =                  0.5",
        "TDIM1   = '(1)     '",
    ];
    assert_eq!(codes(&binary(&columns)), [""; 0]);
    let columns =
        ["TBCOL1  =                    1", "TFORM1  = 'I4      '", COLUMN, "TNULL1  = '***     '"];
    assert_eq!(codes(&ascii(&columns)), [""; 0]);
}

#[test]
fn one_finding_does_not_hide_another() {
    let file = binary(&[
        "TFORM1  = '1Y      '",
        "EPOCH   = 'B1950'",
        "DATE    = 'today'",
        "TDISP1  = 'F8'",
    ]);
    let found = codes(&file);
    for code in [
        "column-form",
        "column-unnamed",
        "deprecated-keyword",
        "numeric-text",
        "date-form",
        "display-form",
    ] {
        assert!(found.contains(&code), "{code} is not among {found:?}");
    }
    assert_eq!(found.iter().filter(|code| **code == "column-form").count(), 1);
}

#[test]
fn findings_of_a_kind_are_counted_when_there_are_many() {
    let cards: Vec<String> = (0..100).map(|n| format!("KEY{n:<5}=")).collect();
    let cards: Vec<&str> = cards.iter().map(String::as_str).collect();
    let found = findings(&image(&cards));
    assert_eq!(found.len(), 16);
    assert_eq!(found.iter().map(|finding| finding.repeats + 1).sum::<u64>(), 100);
}

#[test]
fn findings_say_where_and_what_to_do() {
    let found = findings(&binary(&[LONG, COLUMN, "TDISP1  = 'A4      '"]));
    assert_eq!(
        found[0].to_string(),
        "error: HDU 1 (0-based), keyword TDISP1, card 10 (0-based), byte 3680: expected a format of numbers, \
         found \"A4\" [display-form]\nhint: use Aw, Lw, Iw.m, Bw.m, Ow.m, Zw.m, Fw.d, Ew.dEe, ENw.d, ESw.d, Gw.dEe or Dw.dEe"
    );
    assert_eq!((found[0].section, found[0].fixable), ("7.2.2, 7.3.4", false));
}

/// The first header, put right, and its HDU.
fn mended(file: &[u8]) -> (Header, Vec<&'static str>) {
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
fn what_needs_no_guessing_is_put_right() {
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
    let (header, fixes) = mended(&file);
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
    assert_eq!(mended(&header.to_bytes()).1, [""; 0]);
}

/// A file with all its headers put right, and the codes of what was; nothing else may have been marked as fixable.
fn mended_file(file: &[u8]) -> (Vec<u8>, Vec<&'static str>) {
    let mut walker = Walker::new(ReadOptions::default(), file.len() as u64);
    let (mut mended, mut codes, mut warned) = (Vec::new(), Vec::new(), 0);
    while let Ok(step) = walker.step() {
        match step {
            Step::Read { offset, bytes } => walker.supply(&file[offset as usize..][..bytes]),
            Step::Done => break,
            Step::Hdu(hdu) => {
                let warnings = &walker.warnings()[warned..];
                let found = verify_header(&hdu.header, Some(&hdu), warnings);
                warned = walker.warnings().len();
                let (header, fixes) = fixed_header(&hdu.header, Some(&hdu));
                let marked: HashSet<&str> =
                    found.iter().filter(|one| one.fixable).map(|one| one.code).collect();
                let fixed: HashSet<&str> = fixes.iter().map(|fix| fix.code).collect();
                assert_eq!(marked, fixed, "{found:?}");
                codes.extend(fixes.iter().map(|fix| fix.code));
                mended.extend(header.to_bytes());
                let end = file.len().min(hdu.end_offset() as usize);
                mended.extend(&file[(hdu.data_offset as usize).min(end)..end]);
            }
        }
    }
    (mended, codes)
}

#[test]
fn what_is_marked_as_fixable_is_put_right_and_is_gone_then() {
    for rule in Rule::ALL {
        let Some(file) = provoked(*rule) else { continue };
        let (mended, codes) = mended_file(&file);
        assert_eq!(mended_file(&mended).1, [""; 0], "{rule:?}: {codes:?}");
    }
}

#[test]
fn forms_of_columns_are_written_as_the_standard_has_them() {
    let cases: [(Vec<u8>, &str, &[&str]); 8] = [
        (binary(&[COLUMN, "TFORM1  = '1j'"]), "TFORM1  = '1J      '", &["column-form-irregular"]),
        (
            binary(&[COLUMN, "TFORM1  = '0pe(3)' / kept", "TDISP1  = 'f8.3'"]),
            "TFORM1  = '0PE(3)  '           / kept",
            &["column-form-irregular", "display-form"],
        ),
        (binary(&[COLUMN, LONG, "TDISP1  = 'e12.5e3'"]), "TDISP1  = 'E12.5E3 '", &["display-form"]),
        // Of another type, or not to be guessed.
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
        let (mended, codes) = mended_file(&file);
        let text = String::from_utf8_lossy(&mended).into_owned();
        assert_eq!(codes, expected, "{line}");
        assert!(text.contains(&format!("{line:<80}")), "{line}");
        assert_eq!(mended_file(&mended).1, [""; 0], "{line}");
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
    let (mended, codes) = mended_file(&file);
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
    let records = mended.chunks(80).map(|record| String::from_utf8_lossy(&record[..30]));
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
    assert_eq!(mended_file(&mended).1, [""; 0]);
}

#[test]
fn a_header_that_is_right_keeps_its_bytes() {
    let file = image(&["OBJECT  =   'free format'", "", "", "COMMENT kept"]);
    let (header, fixes) = mended(&file);
    assert_eq!(fixes, [""; 0]);
    assert_eq!(header.to_bytes(), file[..2880]);
}

#[test]
fn a_number_that_is_too_long_for_its_place_is_left_there() {
    // Without the card that says how many bytes there are no data, and so an HDU.
    let file = header(&["SIMPLE  = T", "NAXIS2  = 123456789012345678901234567890"]);
    let (parsed, _) = Header::parse(&file, Context::default()).unwrap();
    let (mended, fixes) = fixed_header(&parsed, None);
    let keywords: Vec<_> = fixes.iter().map(|fix| fix.place.keyword.as_deref()).collect();
    assert_eq!(keywords, [Some("SIMPLE")]);
    assert_eq!(mended.cards()[1], parsed.cards()[1]);
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
    assert_eq!(mended(&file).1, ["fixed-format", "header-fill"]);
}

#[test]
fn mended_headers_mean_the_same_and_are_stable() {
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

#[test]
fn the_trap_files_have_the_findings_that_they_were_made_for() {
    let Some(folder) = folder() else { return };
    let expected: [(&str, &[(&str, Severity)]); 12] = [
        ("bt_lower_tform", &[("column-form-irregular", Severity::Error)]),
        (
            "bt_no_ttype",
            &[("column-unnamed", Severity::Warning), ("column-unnamed", Severity::Warning)],
        ),
        ("bt_blank_ttype", &[("column-unnamed", Severity::Warning)]),
        ("bt_dup_names", &[("duplicate-column", Severity::Warning)]),
        ("bt_tdim_short", &[]),
        ("bt_tform_suffix", &[]),
        ("bt_vla_theap_low", &[("heap-place", Severity::Error)]),
        ("bzero_string", &[("numeric-text", Severity::Error), ("numeric-text", Severity::Error)]),
        ("f32_blank_kw", &[("blank-ignored", Severity::Error)]),
        ("numbers", &[("lower-case-exponent", Severity::Error)]),
        ("strings", &[("undefined-value", Severity::Warning)]),
        ("unknown_ext", &[]),
    ];
    for (name, expected) in expected {
        let found = findings(&bytes(&folder.join("traps").join(format!("{name}.fits"))));
        let found: Vec<_> = found.iter().map(|finding| (finding.code, finding.severity)).collect();
        assert_eq!(found, expected, "{name}");
    }
}

/// Numbers without pattern (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % count
    }
}

#[test]
fn damaged_headers_end_in_findings_and_are_mended_at_once() {
    let whole = header(&[
        "SIMPLE  = T / free",
        "BITPIX  =                    8",
        "NAXIS   =                    0",
        "exptime =              1.5e+03 / seconds",
        "DATE    = '28/11/95'",
        "CTYPE1  = 'RA---TAN'",
        "PC1_1   =                  1.0",
        "TDISP1  = 'E12.5E3 '",
        "LONG    = 'begins &'",
        "CONTINUE  'and ends' / here",
        "CDELT1  =               0.0D+0",
    ]);
    let mut numbers = Numbers(5);
    for _ in 0..4000 {
        let mut damaged = whole.clone();
        for _ in 0..1 + numbers.below(8) {
            let at = numbers.below(11 * 80) as usize;
            damaged[at] = match numbers.below(4) {
                0 => b" '/=&.-+"[numbers.below(8) as usize],
                1 => b'0' + numbers.below(10) as u8,
                2 => b"TFEeDdAaZz"[numbers.below(10) as usize],
                _ => numbers.below(256) as u8,
            };
        }
        let Ok((parsed, warnings)) = Header::parse(&damaged, Context::default()) else { continue };
        let found = verify_header(&parsed, None, &warnings);
        assert!(found.iter().all(|finding| !finding.advice.is_empty()));
        let (mended, _) = fixed_header(&parsed, None);
        let text = || String::from_utf8_lossy(&damaged[..880]).into_owned();
        assert_eq!(mended.cards().len(), parsed.cards().len(), "{}", text());
        assert_eq!(fixed_header(&mended, None).1, [], "{}", text());
        // What was put right reads as before, but for keywords and the digits of dates.
        for (before, after) in parsed.cards().iter().zip(mended.cards()) {
            let number =
                |card: &tachyfits_format::Card| card.value().and_then(|value| value.as_f64());
            assert_eq!(
                number(before).map(f64::to_bits),
                number(after).map(f64::to_bits),
                "{}",
                text()
            );
            assert_eq!(before.comment(), after.comment(), "{}", text());
        }
    }
}
