//! Rules 1 to 10: HDUs, sizes, and bytes between and after HDUs.

use tachyfits_format::{Code, HduKind, Kind, Limits, ReadOptions};

use crate::build::{
    data, empty_primary, extension, first, header, i16s, image_of_two, primary, walk,
    walk_strictly, walk_with,
};
use crate::shared::on_both;

const NONE: [&str; 0] = [];

fn with_data(mut header: Vec<u8>, values: &[i16]) -> Vec<u8> {
    header.extend(data(&i16s(values)));
    header
}

/// Checks that the image of two pixels follows directly.
fn is_followed_by_an_image(file: &[u8]) {
    let walked = walk(file).whole();
    assert_eq!(walked.hdus.len(), 2);
    assert_eq!(walked.hdus[1].kind, HduKind::Image);
    let image = walked.hdus[1].image().unwrap();
    assert_eq!((image.axes, image.pixels, image.pixels_present), (vec![2], 2, 2));
}

#[test]
fn rule_01_a_zero_axis_means_no_data() {
    let mut built = primary(16, &[5, 0], &["EXTEND  =                    T"]);
    built.extend(image_of_two());
    on_both("naxis2_zero", &built, |file| {
        is_followed_by_an_image(file);
        let hdu = first(file);
        assert_eq!((hdu.axes, hdu.data_bytes, hdu.data_offset), (vec![5, 0], 0, 2880));
    });
}

#[test]
fn rule_01_no_axes_mean_no_data() {
    let mut built = empty_primary(&["EXTEND  =                    T"]);
    built.extend(image_of_two());
    on_both("naxis0_ext", &built, |file| {
        is_followed_by_an_image(file);
        let image = first(file).image().unwrap();
        assert_eq!((image.axes, image.pixels), (vec![], 0));
    });
}

#[test]
fn rule_01_a_first_axis_of_zero_without_groups_means_no_data() {
    let mut built = primary(16, &[0, 5], &["GROUPS  =                    F"]);
    built.extend(image_of_two());
    is_followed_by_an_image(&built);
    assert_eq!(first(&built).kind, HduKind::Primary);
}

#[test]
fn rule_02_unknown_extensions_are_skipped_by_their_size() {
    let mut built = empty_primary(&["EXTEND  =                    T"]);
    built.extend(extension("FOREIGN", 8, &[3, 2], [4, 2], &NONE));
    built.extend(data(&[0; 20]));
    built.extend(image_of_two());
    on_both("unknown_ext", &built, |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.hdus.len(), 3);
        assert_eq!(walked.hdus[1].kind, HduKind::Unknown("FOREIGN".into()));
        // 2 groups of 4 parameters and 3 x 2 values.
        assert_eq!(walked.hdus[1].data_bytes, 20);
        assert_eq!(walked.hdus[2].image().unwrap().axes, [2]);
        assert!(walked.warnings.is_empty());
    });
}

#[test]
fn rule_02_sizes_beyond_reason_are_an_error_at_once() {
    let built = primary(64, &[1 << 40, 1 << 40], &NONE);
    on_both("overflow_axes", &built, |file| {
        let walked = walk(file);
        // Only the header was read.
        assert!(walked.hdus.is_empty() && walked.bytes_read <= 2880);
        let error = walked.error();
        assert_eq!((error.code(), error.kind()), (Code::DataTooLarge, Kind::Limit));
        assert!(error.to_string().contains("1099511627776 x 1099511627776"), "{error}");
    });
}

#[test]
fn rule_02_products_of_many_axes_do_not_wrap() {
    // 2^64 and 2^128 wrap to 0 in 64 and 128 bits.
    for axes in [vec![1 << 32; 2], vec![1 << 32; 4], vec![1 << 62; 999], vec![2; 128]] {
        let error = walk(&primary(8, &axes, &NONE)).error();
        assert_eq!(error.code(), Code::DataTooLarge, "{} axes", axes.len());
    }
    let largest = i64::MAX as u64;
    let counts = extension("FOREIGN", 8, &[3], [largest, largest], &NONE);
    let file = [empty_primary(&NONE), counts].concat();
    assert_eq!(walk(&file).error().code(), Code::DataTooLarge);
    // No groups, but a group size that would overflow.
    let none = [
        "GROUPS  =                    T",
        "PCOUNT  =                    0",
        "GCOUNT  =                    0",
    ];
    assert_eq!(walk(&primary(8, &[0, 1 << 40, 1 << 40], &none)).error().code(), Code::DataTooLarge);
    assert_eq!(first(&primary(8, &[0, 1 << 40], &none)).random_groups().unwrap().group_count, 0);
}

#[test]
fn rule_02_a_negative_axis_is_an_error() {
    let built = header(&[
        "SIMPLE  =                    T",
        "BITPIX  =                   16",
        "NAXIS   =                    1",
        "NAXIS1  =                   -5",
    ]);
    on_both("neg_axis", &built, |file| {
        let error = walk(file).error();
        assert_eq!(error.code(), Code::KeywordRange);
        assert_eq!(error.problem().place.keyword.as_deref(), Some("NAXIS1"));
        assert_eq!(error.problem().place.offset, Some(240));
    });
}

#[test]
fn rule_02_there_are_at_most_999_axes() {
    let built = header(&[
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                 1000",
    ]);
    on_both("naxis_1000", &built, |file| {
        let error = walk(file).error();
        assert_eq!(error.code(), Code::KeywordRange);
        assert_eq!(error.problem().expected, "0 to 999");
    });
    assert_eq!(first(&primary(8, &[1; 999], &NONE)).axes.len(), 999);
}

#[test]
fn rule_02_a_missing_size_is_an_error() {
    let file = header(&[
        "SIMPLE  =                    T",
        "BITPIX  =                   16",
        "NAXIS   =                    2",
        "NAXIS1  =                    5",
    ]);
    let error = walk(&file).error();
    assert_eq!(error.code(), Code::KeywordMissing);
    assert_eq!(error.problem().place.keyword.as_deref(), Some("NAXIS2"));
}

fn random_groups() -> Vec<u8> {
    let mut file = primary(
        -32,
        &[0, 3],
        &[
            "GROUPS  =                    T",
            "PCOUNT  =                    2",
            "GCOUNT  =                    2",
            "PTYPE1  = 'DATE    '",
            "PTYPE2  = 'DATE    '",
            "PSCAL1  =                    1",
            "PZERO1  =                  100",
        ],
    );
    let values: [f32; 10] = [1.0, 0.5, 10.0, 20.0, 30.0, 2.0, 0.25, 40.0, 50.0, 60.0];
    file.extend(data(&values.map(f32::to_be_bytes).concat()));
    file
}

#[test]
fn rule_03_group_parameters_of_one_name_are_summed() {
    on_both("rgroups", &random_groups(), |file| {
        let hdu = first(file);
        assert_eq!((hdu.kind.clone(), hdu.data_bytes), (HduKind::RandomGroups, 40));
        let groups = hdu.random_groups().unwrap();
        assert_eq!((groups.group_count, groups.group_count_present), (2, 2));
        assert_eq!((&groups.array.axes[..], groups.group_bytes), (&[3][..], 20));
        let date = |group: u64| {
            let offset = groups.group_offset(group) as usize;
            groups.parameters(&file[offset..][..groups.parameter_bytes()])
        };
        assert_eq!(date(0), [("DATE".to_owned(), 101.5)]);
        assert_eq!(date(1), [("DATE".to_owned(), 102.25)]);
        let array = groups.array.data_offset as usize;
        assert_eq!(file[array..][..4], 10f32.to_be_bytes());
    });
}

#[test]
fn rule_03_a_cut_off_group_is_not_counted() {
    let file = random_groups();
    let groups = first(&file[..2880 + 39]).random_groups().unwrap();
    assert_eq!((groups.group_count, groups.group_count_present), (2, 1));
    // Parameters beyond the end of the bytes are NaN.
    assert!(groups.parameters(&[]).iter().all(|(_, value)| value.is_nan()));
}

#[test]
fn rule_04_padding_of_data_is_not_checked() {
    let mut file = with_data(primary(16, &[2], &NONE), &[1, 2]);
    file[2880 + 4..].fill(0xa5);
    file.extend(image_of_two());
    is_followed_by_an_image(&file);
    assert!(walk(&file).warnings.is_empty());
}

#[test]
fn rule_05_bytes_after_end_are_ignored_with_a_warning() {
    let mut built = with_data(primary(16, &[2], &NONE), &[1, 2]);
    built[400..2400].fill(0);
    on_both("header_zero_fill", &built, |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.warnings, [Code::HeaderFill]);
        assert_eq!(walked.hdus[0].image().unwrap().pixels_present, 2);
        assert_eq!(walked.hdus[0].header.to_bytes(), &file[..2880], "bytes are kept");
        assert_eq!(walk_strictly(file).error().code(), Code::HeaderFill);
    });
}

#[test]
fn rule_06_data_without_padding_are_whole() {
    let mut built = with_data(primary(16, &[4], &NONE), &[1, 2, 3, 4]);
    built.truncate(2880 + 8);
    on_both("no_pad", &built, |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.warnings, [Code::DataPadding]);
        assert_eq!(walked.hdus[0].image().unwrap().pixels_present, 4);
    });
}

#[test]
fn rule_06_truncated_data_are_named_with_both_sizes() {
    let built = with_data(primary(16, &[2000], &NONE), &[1; 2000])[..2880 + 1000].to_vec();
    on_both("trunc_data", &built, |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.warnings, [Code::TruncatedData]);
        let image = walked.hdus[0].image().unwrap();
        assert_eq!((image.pixels, image.pixels_present), (2000, 500));
        let message = format!("{:#}", walk_strictly(file).error());
        assert!(message.contains("HDU 0 (0-based)"), "{message}");
        assert!(message.contains("4000 bytes of data from byte 2880"), "{message}");
        assert!(message.contains("found 1000 bytes"), "{message}");
        assert!(message.contains("\nhint: "), "{message}");
    });
}

#[test]
fn rule_07_bytes_after_the_last_hdu_are_ignored_with_a_warning() {
    let image = with_data(primary(16, &[4], &NONE), &[1, 2, 3, 4]);
    let trailing: [(&str, Vec<u8>); 3] = [
        ("trail_junk", vec![0x1a; 100]),
        ("trail_block", b"JUNKJUNK".repeat(360)),
        ("trail_zero", vec![0; 2880]),
    ];
    for (name, bytes) in trailing {
        on_both(name, &[image.clone(), bytes].concat(), |file| {
            let walked = walk(file).whole();
            assert_eq!((walked.hdus.len(), &walked.warnings[..]), (1, &[Code::TrailingBytes][..]));
        });
    }
}

#[test]
fn rule_08_a_missing_end_is_an_error_of_its_hdu_alone() {
    let built = with_data(without_end(primary(16, &[2], &NONE)), &[7, 8]);
    on_both("no_end", &built, |file| {
        let error = walk(file).error();
        assert_eq!((error.code(), error.problem().place.hdu), (Code::EndMissing, Some(0)));
    });
    let second = without_end(image_of_two());
    let walked = walk(&[with_data(primary(16, &[1], &NONE), &[5]), second].concat());
    assert_eq!(walked.hdus.len(), 1, "the HDU before it stays readable");
    let error = walked.error();
    assert_eq!((error.code(), error.problem().place.hdu), (Code::EndMissing, Some(1)));
}

#[test]
fn rule_08_end_needs_its_keyword_field_alone() {
    // These records do not end a header; END after a long header does, at any position.
    let mut records = vec![
        "SIMPLE  =                    T".to_owned(),
        "BITPIX  =                    8".to_owned(),
        "NAXIS   =                    0".to_owned(),
        "ENDING  =                    1".to_owned(),
        "COMMENT END".to_owned(),
        " END".to_owned(),
        "end".to_owned(),
    ];
    for extra in [0, 28, 29, 64, 65] {
        records.resize(7 + extra, "FILL    =                    0".to_owned());
        let mut file = header(&records);
        file.extend(image_of_two());
        let walked = walk(&file).whole();
        assert_eq!(walked.hdus.len(), 2, "{extra} more cards");
        assert_eq!(walked.hdus[0].header.cards().len(), 7 + extra);
    }
}

#[test]
fn rule_09_simple_false_is_read_with_a_warning() {
    let built = with_data(
        header(&[
            "SIMPLE  =                    F",
            "BITPIX  =                   16",
            "NAXIS   =                    1",
            "NAXIS1  =                    2",
        ]),
        &[7, 8],
    );
    on_both("simple_F", &built, |file| {
        let walked = walk(file).whole();
        assert_eq!(walked.warnings, [Code::SimpleFalse]);
        assert_eq!(walked.hdus[0].image().unwrap().pixels_present, 2);
        assert_eq!(walk_strictly(file).error().code(), Code::SimpleFalse);
    });
}

#[test]
fn rule_09_extend_decides_nothing() {
    let mut false_extend = empty_primary(&["EXTEND  =                    F"]);
    let mut no_extend = empty_primary(&NONE);
    false_extend.extend(image_of_two());
    no_extend.extend(image_of_two());
    on_both("extend_F", &false_extend, is_followed_by_an_image);
    on_both("no_extend", &no_extend, is_followed_by_an_image);
}

#[test]
fn rule_10_old_names_of_extensions_are_known() {
    for (xtension, kind) in [
        ("IUEIMAGE", HduKind::Image),
        ("IMAGE", HduKind::Image),
        ("A3DTABLE", HduKind::BinaryTable),
        ("BINTABLE", HduKind::BinaryTable),
        ("TABLE", HduKind::AsciiTable),
    ] {
        let next = extension(xtension, 8, &[4, 1], [0, 1], &["EXTNAME = 'Events  '"]);
        let walked = walk(&[empty_primary(&NONE), next, data(&[0; 4])].concat()).whole();
        let hdu = &walked.hdus[1];
        assert_eq!((&hdu.kind, hdu.extver, hdu.extlevel), (&kind, 1, 1));
        assert!(hdu.is_named("EVENTS") && hdu.is_named("events ") && !hdu.is_named("event"));
    }
}

#[test]
fn limits_are_checked_before_anything_is_read() {
    let options = |limits: Limits| ReadOptions::default().limits(limits);
    let endless = [without_end(primary(8, &[], &NONE)), vec![b' '; 2880 * 100]].concat();
    let limits = Limits::default().max_header_blocks(10);
    let walked = walk_with(&endless, options(limits));
    assert!(walked.bytes_read <= 10 * 2880);
    assert_eq!(walked.error().code(), Code::HeaderTooLong);

    let many = [empty_primary(&NONE), image_of_two().repeat(5)].concat();
    let limits = Limits::default().max_hdus(3);
    let walked = walk_with(&many, options(limits));
    assert_eq!(walked.hdus.len(), 3);
    assert_eq!(walked.error().code(), Code::TooManyHdus);
}

/// Returns the header without its END card.
fn without_end(mut header: Vec<u8>) -> Vec<u8> {
    for at in (0..header.len()).step_by(80) {
        if header[at..].starts_with(b"END") {
            header[at..at + 3].fill(b' ');
        }
    }
    header
}
