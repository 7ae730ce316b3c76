//! Rules that verification adds to those of parsing: each is provoked, and a correct header has no
//! finding. [`crate::fixed`] tests repairs.

use std::collections::HashSet;

use tachyfits_format::{
    Context, Finding, Header, ReadOptions, Rule, Severity, Step, Walker, fixed_header,
    verify_header,
};

use crate::build::{data, empty_primary, extension, header, primary};
use crate::shared::{bytes, folder};

/// Returns the findings of every header of a file that can be walked over.
pub fn findings(file: &[u8]) -> Vec<Finding> {
    let mut walker = Walker::new(ReadOptions::default(), file.len() as u64);
    let mut result = Vec::new();
    let mut warned = 0;
    loop {
        match walker.step() {
            Ok(Step::Read { offset, bytes }) => walker.supply(&file[offset as usize..][..bytes]),
            Ok(Step::Hdu(hdu)) => {
                result.extend(verify_header(&hdu.header, Some(&hdu), &walker.warnings()[warned..]));
                warned = walker.warnings().len();
            }
            Ok(Step::Done) => break,
            Err(error) => {
                result.push(Finding::of_problem(error.problem()));
                break;
            }
        }
    }
    result.extend(
        walker.warnings()[warned..].iter().map(|warning| Finding::of_problem(warning.problem())),
    );
    result
}

fn codes(file: &[u8]) -> Vec<&'static str> {
    findings(file).iter().map(|finding| finding.code).collect()
}

pub fn image(cards: &[&str]) -> Vec<u8> {
    [primary(16, &[2, 2], cards), data(&[0; 8])].concat()
}

pub fn after_empty(next: Vec<u8>, content: &[u8]) -> Vec<u8> {
    [empty_primary::<&str>(&[]), next, data(content)].concat()
}

pub fn binary(cards: &[&str]) -> Vec<u8> {
    let mut all = vec!["TFIELDS =                    1"];
    all.extend(cards);
    after_empty(extension("BINTABLE", 8, &[4, 2], [0, 1], &all), &[0; 8])
}

pub fn ascii(cards: &[&str]) -> Vec<u8> {
    let mut all = vec!["TFIELDS =                    1"];
    all.extend(cards);
    after_empty(extension("TABLE", 8, &[4, 2], [0, 1], &all), &[b' '; 8])
}

pub const COLUMN: &str = "TTYPE1  = 'A       '";
pub const LONG: &str = "TFORM1  = 'J       '";

/// Returns a file that breaks the rule; some files break others as well.
pub fn provoked(rule: Rule) -> Option<Vec<u8>> {
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
        Rule::RepeatedKeyword => image(&["OBJECT  = 'M 31'", "OBJECT  = 'M 31'"]),
        Rule::DateForm => image(&["DATE-OBS= '2026-02-30'"]),
        Rule::OldDate => image(&["DATE    = '06/02/02'"]),
        Rule::Deprecated => image(&["EPOCH   =               1950.0"]),
        Rule::UnitBrackets => image(&["BUNIT   = 'erg/(s cm**2'"]),
        Rule::ValueRange => image(&["CDELT1  =                  0.0"]),
        Rule::ReservedValue => image(&["OBJECT  =                   31"]),
        other => return provoked_by_structure(other),
    })
}

/// Rules about keywords of other kinds of header, columns and coordinates.
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
        Rule::DimensionsForm => binary(&[LONG, COLUMN, "TDIM1   = ' (1)    '"]),
        Rule::ColumnKeyword => {
            binary(&["TFORM1  = '4A      '", COLUMN, "TSCAL1  =                  1.0"])
        }
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
    let result = findings(&table);
    let result = result.iter().find(|finding| finding.code == Rule::FieldsPlace.as_str());
    assert!(result.unwrap().to_string().contains("the end of the header there"));
}

#[test]
fn every_rule_of_headers_can_be_provoked() {
    /// Rules about data and whole files, which tests of the engine provoke.
    const ENGINE: [Rule; 16] = [
        Rule::NameRepeated,
        Rule::ExtensionsDenied,
        Rule::ExtensionCount,
        Rule::LogicalValue,
        Rule::BitFill,
        Rule::TextValue,
        Rule::DescriptorLength,
        Rule::AsciiEntry,
        Rule::AsciiPoint,
        Rule::AsciiText,
        Rule::AsciiGap,
        Rule::DataFill,
        Rule::Datasum,
        Rule::DecodedSum,
        Rule::Checksum,
        Rule::NotChecked,
    ];
    for &rule in Rule::ALL {
        match provoked(rule) {
            Some(file) => {
                let result = codes(&file);
                assert!(result.contains(&rule.as_str()), "{rule:?} is not among {result:?}");
            }
            None => assert!(ENGINE.contains(&rule), "nothing provokes {rule:?}"),
        }
    }
}

#[test]
fn every_rule_is_explained() {
    let mut names = HashSet::new();
    for rule in Rule::ALL {
        assert!(names.insert(rule.as_str()), "{rule:?} is listed twice");
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
    let result = codes(&file);
    for code in [
        "column-form",
        "column-unnamed",
        "deprecated-keyword",
        "numeric-text",
        "date-form",
        "display-form",
    ] {
        assert!(result.contains(&code), "{code} is not among {result:?}");
    }
    assert_eq!(result.iter().filter(|code| **code == "column-form").count(), 1);
}

#[test]
fn findings_of_a_kind_are_counted_when_there_are_many() {
    let cards: Vec<String> = (0..100).map(|n| format!("KEY{n:<5}=")).collect();
    let cards: Vec<&str> = cards.iter().map(String::as_str).collect();
    let result = findings(&image(&cards));
    assert_eq!(result.len(), 16);
    assert_eq!(result.iter().map(|finding| finding.repeats + 1).sum::<u64>(), 100);
}

#[test]
fn findings_have_a_place_and_a_hint() {
    let result = findings(&binary(&[LONG, COLUMN, "TDISP1  = 'A4      '"]));
    assert_eq!(
        format!("{:#}", result[0]),
        "error: HDU 1 (0-based), keyword TDISP1, card 10 (0-based), byte 3680: expected a format of numbers, \
         found \"A4\" [display-form]\nhint: use Aw, Lw, Iw.m, Bw.m, Ow.m, Zw.m, Fw.d, Ew.dEe, ENw.d, ESw.d, Gw.dEe or Dw.dEe"
    );
    assert_eq!((result[0].section, result[0].fixable), ("7.2.2, 7.3.4", false));
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
        let result = findings(&bytes(&folder.join("traps").join(format!("{name}.fits"))));
        let result: Vec<_> =
            result.iter().map(|finding| (finding.code, finding.severity)).collect();
        assert_eq!(result, expected, "{name}");
    }
}

/// Pseudo-random numbers (SplitMix64).
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
fn damaged_headers_give_findings_and_are_repaired_in_one_pass() {
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
        let result = verify_header(&parsed, None, &warnings);
        assert!(result.iter().all(|finding| !finding.advice.is_empty()));
        let (repaired, _) = fixed_header(&parsed, None);
        let text = || String::from_utf8_lossy(&damaged[..880]).into_owned();
        assert_eq!(repaired.cards().len(), parsed.cards().len(), "{}", text());
        assert_eq!(fixed_header(&repaired, None).1, [], "{}", text());
        // Repaired cards parse to the same values, except keywords and the digits of dates.
        for (before, after) in parsed.cards().iter().zip(repaired.cards()) {
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
