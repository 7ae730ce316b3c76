//! Rules 5 and 11 to 18: content of a card.

use tachyfits_format::{Code, Header, Value};

use crate::build::{data, first, i16s, primary, walk, walk_strictly};
use crate::shared::on_both;

/// Creates an image of these pixels with these cards.
fn file<T: AsRef<[u8]>>(pixels: &[i16], records: &[T]) -> Vec<u8> {
    let mut file = primary(16, &[pixels.len() as u64], records);
    file.extend(data(&i16s(pixels)));
    file
}

fn text(header: &Header, keyword: &str) -> Option<String> {
    header.get_text(keyword).unwrap().map(str::to_owned)
}

/// Checks that the header is written as it was read.
fn is_kept(file: &[u8]) {
    assert!(file.starts_with(&first(file).header.to_bytes()), "the header's bytes are not kept");
}

#[test]
fn rule_05_bytes_outside_ascii_are_read_and_kept() {
    let records: [&[u8]; 2] =
        [b"OBJECT  = 'caf\xe9'          / na\xefve", b"OK      =                    1"];
    on_both("nonascii", &file(&[1, 2], &records), |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.warnings, [Code::IllegalByte]);
        let header = &walked.hdus[0].header;
        assert_eq!(text(header, "OBJECT").as_deref(), Some("café"));
        assert_eq!(header.get_i64("OK"), Ok(Some(1)));
        assert_eq!(walk_strictly(file).error().code(), Code::IllegalByte);
        is_kept(file);
        let mut copy = header.clone();
        copy.set("OBJECT", "tea", "").unwrap();
        let record = b"OBJECT  = 'tea     '           / na\xefve".as_slice();
        assert!(copy.to_bytes().windows(record.len()).any(|bytes| bytes == record));
    });
}

#[test]
fn rule_05_nul_bytes_are_read_and_kept() {
    let records: [&[u8]; 2] = [b"OBJECT  = 'a\0b'", b"OK      =                    1"];
    on_both("nul_header", &file(&[1, 2], &records), |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.warnings, [Code::IllegalByte]);
        let header = &walked.hdus[0].header;
        assert_eq!(text(header, "OBJECT").as_deref(), Some("a\0b"));
        assert_eq!(header.get_i64("OK"), Ok(Some(1)));
        is_kept(file);
    });
}

#[test]
fn rule_05_tabs_and_nuls_count_as_blanks_around_fields() {
    let records: [&[u8]; 3] =
        [b"TABBED  =\t\t42\t/\tanswer\t", b"FILLED\0\0=                    7\0\0", b"END\0TAIL"];
    let hdu = first(&file(&[1], &records[..2]));
    assert_eq!(hdu.header.get_i64("TABBED"), Ok(Some(42)));
    assert_eq!(hdu.header.get_i64("FILLED"), Ok(Some(7)));
    assert_eq!(hdu.header.cards()[4].comment(), "answer");
    // END followed by NULs in its field ends a header like END with blanks; END with letters does
    // not.
    assert_eq!(first(&file(&[1], &records)).header.cards().len(), 7);
}

#[test]
fn rule_11_the_value_indicator_is_equals_and_blank() {
    let records = ["FOO     =5", "BAR      = 6", "HISTORY = 'x'"];
    on_both("noval_ind", &file(&[1], &records), |file| {
        let header = first(file).header;
        assert_eq!(
            (header.get("FOO"), header.get("BAR"), header.get("HISTORY")),
            (None, None, None)
        );
        assert!(header.cards()[4..].iter().all(|card| card.is_commentary()));
    });
    // A warning is given if this changes the pixels.
    assert_eq!(walk(&file(&[1], &["BZERO   =32768"])).warnings, [Code::ValueIndicator]);
}

#[test]
fn rule_12_null_empty_and_undefined_differ() {
    let records = [
        "NULLS   = ''",
        "EMPTYS  = ' '",
        "LEAD    = '  x  '",
        "UNDEF   =                      / undefined",
        "SLASH   = 'a/b' / c",
        "NOCMT   = 5/tight",
    ];
    on_both("strings", &file(&[1], &records), |file| {
        let header = first(file).header;
        assert_eq!(header.get("NULLS"), Some(&Value::Text(String::new())));
        assert_eq!(header.get("EMPTYS"), Some(&Value::Text(" ".into())));
        assert_eq!(header.get("LEAD"), Some(&Value::Text("  x".into())));
        assert_eq!(header.get("UNDEF"), Some(&Value::Undefined));
        assert_eq!(header.get("ABSENT"), None);
        assert_eq!(header.get("SLASH"), Some(&Value::Text("a/b".into())));
        assert_eq!(header.cards()[header.position("SLASH").unwrap()].comment(), "c");
        assert_eq!(header.get_i64("NOCMT"), Ok(Some(5)));
        assert_eq!(header.cards()[header.position("NOCMT").unwrap()].comment(), "tight");
    });
}

#[test]
fn rule_13_numbers_of_every_form_are_exact() {
    let records = [
        "DEXP    =             1.5D+03",
        "LOWE    =             1.5e+03",
        "BIGI    = 123456789012345678901234567890",
        "DOT     =                   1.",
        "PDOT    =                  +.5",
        "LZ      =                00012",
        "CPLX    = (1.5, -2)",
        "FREEI   =   7",
        "MZERO   =                 -0.0",
        "TR      =                    T",
    ];
    on_both("numbers", &file(&[1], &records), |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.warnings, [Code::LowerCaseExponent]);
        let header = &walked.hdus[0].header;
        let real = |keyword: &str| header.get_f64(keyword).unwrap().unwrap();
        assert_eq!(
            (real("DEXP"), real("LOWE"), real("DOT"), real("PDOT")),
            (1500.0, 1500.0, 1.0, 0.5)
        );
        let Some(Value::Integer(big)) = header.get("BIGI") else { panic!("BIGI is an integer") };
        assert_eq!(big.as_i128(), Some(123_456_789_012_345_678_901_234_567_890));
        assert_eq!(big.text(), "123456789012345678901234567890");
        assert_eq!(header.get_i64("BIGI").unwrap_err().code(), Code::KeywordRange);
        assert_eq!(header.get_i64("LZ"), Ok(Some(12)));
        assert_eq!(header.get("CPLX").unwrap().to_string(), "(1.5, -2)");
        assert_eq!(header.get_i64("FREEI"), Ok(Some(7)));
        assert!(real("MZERO") == 0.0 && real("MZERO").is_sign_negative());
        assert_eq!(header.get_logical("TR"), Ok(Some(true)));
    });
}

#[test]
fn rule_14_the_first_of_duplicates_counts_and_both_are_kept() {
    let records = ["FOO     =                    1", "FOO     =                    2"];
    on_both("dup_kw", &file(&[1], &records), |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.warnings, [Code::DuplicateKeyword]);
        let header = &walked.hdus[0].header;
        assert_eq!(header.get_i64("FOO"), Ok(Some(1)));
        assert_eq!(header.cards().iter().filter(|card| card.keyword() == "FOO").count(), 2);
        is_kept(file);
        assert_eq!(walk_strictly(file).error().code(), Code::DuplicateKeyword);
    });
}

#[test]
fn rule_15_illegal_keywords_are_readable_and_kept() {
    let records = ["foo     =                    3", "A.B     =                    4"];
    on_both("lower_kw", &file(&[1], &records), |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.warnings, [Code::IllegalKeyword; 2]);
        let header = &walked.hdus[0].header;
        assert_eq!(header.get_i64("foo"), Ok(Some(3)));
        assert_eq!(header.get_i64("FOO"), Ok(Some(3)));
        assert_eq!(header.get_i64("A.B"), Ok(Some(4)));
        is_kept(file);
    });
}

#[test]
fn rule_16_strings_continue() {
    let records = [
        "LONGS   = 'It''s a &'",
        "CONTINUE  'long ''quoted'' &'",
        "CONTINUE  'end' / cmt",
        "AMP     = 'ends with &'",
        "NEXT    =                    5",
        "CONTINUE  'orphan'",
        "EMPT    = 'abc&'",
        "CONTINUE  '' / only comment",
    ];
    on_both("continue", &file(&[1], &records), |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.warnings, [Code::OrphanContinue]);
        let header = &walked.hdus[0].header;
        assert_eq!(text(header, "LONGS").as_deref(), Some("It's a long 'quoted' end"));
        assert_eq!(header.cards()[header.position("LONGS").unwrap()].comment(), "cmt");
        assert_eq!(text(header, "AMP").as_deref(), Some("ends with &"));
        assert_eq!(header.get_i64("NEXT"), Ok(Some(5)));
        assert_eq!(text(header, "EMPT").as_deref(), Some("abc"));
        is_kept(file);
    });
}

#[test]
fn rule_16_mandatory_keywords_do_not_continue() {
    let file = [
        crate::build::empty_primary::<&str>(&[]),
        crate::build::header(&[
            "XTENSION= 'IMAGE&  '",
            "CONTINUE  'MORE'",
            "BITPIX  =                    8",
            "NAXIS   =                    0",
            "PCOUNT  =                    0",
            "GCOUNT  =                    1",
        ]),
    ]
    .concat();
    let walked = walk(&file).whole();
    assert_eq!(walked.hdus[1].kind.as_str(), "IMAGE&");
    assert!(walked.warnings.contains(&Code::OrphanContinue));
}

#[test]
fn rule_17_hierarch_keywords_are_their_words() {
    let records = ["HIERARCH ESO DET CHIP1 ID = 'abc' / id", "HIERARCH  ESO TEL  X=3.5"];
    on_both("hierarch", &file(&[1], &records), |file| {
        let header = first(file).header;
        assert_eq!(text(&header, "ESO DET CHIP1 ID").as_deref(), Some("abc"));
        assert_eq!(text(&header, "HIERARCH ESO DET CHIP1 ID").as_deref(), Some("abc"));
        assert_eq!(header.get_f64("ESO TEL X"), Ok(Some(3.5)));
        is_kept(file);
    });
}

#[test]
fn rule_17_hierarch_before_the_words_is_no_part_of_the_keyword() {
    let file = file(&[1], &["HIERARCH  HIERARCH ESO INS  ID = 4"]);
    let header = first(&file).header;
    for card in header.cards() {
        assert_eq!(header.get(card.keyword()), card.value(), "{card:?}");
    }
    assert_eq!(header.get_f64("ESO INS ID"), Ok(Some(4.0)));
    is_kept(&file);
}

#[test]
fn rule_18_blank_cards_before_end_are_space_for_more() {
    let records = ["OBJECT  = 'M 31    '", "", "", ""];
    let file = file(&[1], &records);
    let mut header = first(&file).header;
    is_kept(&file);
    let before = header.cards().len();
    header.set("EXPTIME", 30.0, "").unwrap();
    header.set("OBSERVER", "somebody", "").unwrap();
    assert_eq!(header.cards().len(), before, "the blank cards were used");
    assert_eq!(header.cards()[5].keyword(), "EXPTIME");
    assert_eq!(header.cards().iter().filter(|card| card.is_blank()).count(), 1);
    assert_eq!(header.to_bytes().len(), 2880);
}
