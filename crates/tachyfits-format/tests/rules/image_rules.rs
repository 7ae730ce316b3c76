//! Rules 20 to 25: interpretation of the pixels of an image.

use tachyfits_format::{Code, Hdu, StoredType, ValueType};

use crate::build::{data, first, i16s, image, primary};
use crate::shared::on_both;

/// Creates an image from header records and the bytes of pixels.
fn file(bitpix: i64, pixels: u64, records: &[&str], bytes: &[u8]) -> Vec<u8> {
    let mut file = primary(bitpix, &[pixels], records);
    file.extend(data(bytes));
    file
}

fn warnings(hdu: &Hdu) -> Vec<Code> {
    hdu.image().unwrap().warnings.iter().map(|warning| warning.code()).collect()
}

#[test]
fn rule_20_scaling_is_kept_in_double() {
    let records = [
        "BSCALE  =                  2.0",
        "BZERO   =                100.0",
        "BLANK   =               -32768",
    ];
    let built = file(16, 4, &records, &i16s(&[-32768, -1, 0, 5]));
    on_both("i16_scaled_blank", &built, |file| {
        let image = image(file);
        assert_eq!((image.scale, image.zero, image.scaled), (2.0, 100.0, true));
        assert_eq!((image.value, image.blank), (ValueType::F64, Some(-32768)));
    });
    let fine = first(&primary(16, &[1], &["BSCALE  = 1.00000000000000022"])).image().unwrap();
    assert_eq!((fine.scale, fine.scaled), (1.0 + f64::EPSILON, true));
}

#[test]
fn rule_21_blank_is_the_stored_value() {
    let records = [
        "BZERO   =                32768",
        "BSCALE  =                    1",
        "BLANK   =               -32768",
    ];
    let built = file(16, 4, &records, &i16s(&[-32768, -32767, 0, 32767]));
    on_both("u16_blank", &built, |file| {
        let image = image(file);
        assert_eq!((image.value, image.blank), (ValueType::U16, Some(-32768)));
        assert!(image.flips_sign() && !image.scaled);
    });
}

#[test]
fn rule_21_blank_of_floats_is_ignored() {
    let bytes: Vec<u8> = [-1f32, 0.0, 1.0, f32::NAN].map(f32::to_be_bytes).concat();
    let built = file(-32, 4, &["BLANK   =                   -1"], &bytes);
    on_both("f32_blank_kw", &built, |file| {
        let hdu = first(file);
        assert_eq!(hdu.image().unwrap().blank, None);
        assert_eq!(warnings(&hdu), [Code::BlankIgnored]);
    });
}

#[test]
fn rule_21_blank_may_be_written_as_a_whole_real() {
    let blank = |bitpix, text: &str| {
        first(&primary(bitpix, &[1], &[format!("BLANK   = {text:>20}")])).image()
    };
    assert_eq!(blank(16, "-32768.0").unwrap().blank, Some(-32768));
    assert_eq!(blank(32, "-2.147483648D9").unwrap().blank, Some(-2_147_483_648));
    assert_eq!(blank(16, "1.5").unwrap_err().code(), Code::KeywordType);
    assert_eq!(blank(16, "'-32768'").unwrap_err().code(), Code::NumericText);
    // No pixel can have this value.
    let ignored = blank(16, "40000").unwrap();
    assert_eq!((ignored.blank, ignored.warnings[0].code()), (None, Code::BlankIgnored));
    assert_eq!(blank(8, "255").unwrap().blank, Some(255));
    assert_eq!(blank(64, "-9223372036854775808").unwrap().blank, Some(i64::MIN));
}

#[test]
fn rule_21_floats_that_nothing_scales_keep_their_bits() {
    let bits: [u32; 6] = [1 << 31, 0x7fc0_0001, 0x7f80_0001, 1, 0x7f80_0000, 0xffc1_2345];
    let built = file(-32, 6, &[], &bits.map(u32::to_be_bytes).concat());
    on_both("f32_special", &built, |file| {
        let image = image(file);
        assert_eq!((image.value, image.scaled, image.blank), (ValueType::F32, false, None));
    });
    let records = ["BSCALE  =                  2.0", "BZERO   =                 10.0"];
    let bytes: Vec<u8> = [-1f32, 0.0, 1.0, f32::NAN].map(f32::to_be_bytes).concat();
    on_both("f32_scaled", &file(-32, 4, &records, &bytes), |file| {
        let image = image(file);
        assert_eq!((image.value, image.scaled), (ValueType::F64, true));
    });
}

/// Checks that values have this type, and that the sign bit of stored values is flipped.
fn is_flipped(file: &[u8], value: ValueType) {
    let image = image(file);
    assert_eq!(image.value, value);
    assert!(image.flips_sign() && !image.scaled);
}

#[test]
fn rule_22_unsigned_and_signed_bytes_by_their_bzero() {
    let bytes: Vec<u8> = [i32::MIN, 0, i32::MAX].map(i32::to_be_bytes).concat();
    let built = file(32, 3, &["BZERO   =           2147483648"], &bytes);
    on_both("u32", &built, |file| is_flipped(file, ValueType::U32));

    let built = file(8, 4, &["BZERO   =                 -128"], &[0, 1, 128, 255]);
    on_both("i8_bzero", &built, |file| is_flipped(file, ValueType::I8));

    let bytes: Vec<u8> = [i64::MIN, 0, i64::MAX].map(i64::to_be_bytes).concat();
    let built = file(64, 3, &["BZERO   =  9223372036854775808"], &bytes);
    on_both("u64", &built, |file| is_flipped(file, ValueType::U64));
    let built = file(64, 3, &["BZERO   =  9.223372036854775808E18"], &bytes);
    on_both("u64_float_bzero", &built, |file| is_flipped(file, ValueType::U64));
}

#[test]
fn rule_22_every_way_to_write_two_to_the_63() {
    for text in [
        "9223372036854775808",
        "9223372036854775808.",
        "9223372036854775808.0",
        "9.223372036854775808D+18",
        "9.223372036854775808D18",
        "9.2233720368547758E18",
        "09223372036854775808",
    ] {
        let records = [format!("BZERO   = {text:>20}")];
        let image = first(&primary(64, &[1], &records)).image().unwrap();
        assert_eq!(image.value, ValueType::U64, "{text}");
    }
    // The neighbouring numbers are ordinary offsets; the integer is not rounded to 2^63 first.
    for text in ["9223372036854775807", "9223372036854775809", "9.2233720368547748E18"] {
        let records = [format!("BZERO   = {text:>20}")];
        let image = first(&primary(64, &[1], &records)).image().unwrap();
        assert_eq!((image.value, image.scaled), (ValueType::F64, true), "{text}");
    }
    let other_scale = ["BZERO   =                32768", "BSCALE  =                    2"];
    assert!(first(&primary(16, &[1], &other_scale)).image().unwrap().scaled);
}

#[test]
fn rule_23_integers_of_64_bits_are_exact_unless_scaled() {
    let bytes: Vec<u8> = [(1i64 << 53) + 1, i64::MIN, i64::MAX].map(i64::to_be_bytes).concat();
    on_both("i64_big", &file(64, 3, &[], &bytes), |file| {
        let image = image(file);
        assert_eq!((image.stored, image.value), (StoredType::I64, ValueType::I64));
    });
    let bytes: Vec<u8> = [(1i64 << 53) + 1, 3].map(i64::to_be_bytes).concat();
    on_both("i64_scaled", &file(64, 2, &["BSCALE  =                  0.5"], &bytes), |file| {
        let image = image(file);
        assert_eq!((image.value, image.scale, image.scaled), (ValueType::F64, 0.5, true));
    });
}

#[test]
fn rule_24_a_number_in_quotes_is_an_error() {
    let records = ["BZERO   = '32768   '", "BSCALE  = '1       '"];
    on_both("bzero_string", &file(16, 3, &records, &i16s(&[-32768, 0, 1])), |file| {
        let error = first(file).image().unwrap_err();
        assert_eq!(error.code(), Code::NumericText);
        let place = &error.problem().place;
        assert!(matches!(place.keyword.as_deref(), Some("BZERO" | "BSCALE")), "{error}");
        assert!(error.hint().contains("quotes"));
    });
    let text = first(&primary(16, &[1], &["BSCALE  =                  NaN"])).image().unwrap_err();
    assert_eq!(text.code(), Code::KeywordType);
}

#[test]
fn rule_25_the_first_axis_is_the_fastest() {
    let image = image(&[primary(16, &[3, 2], &[""; 0]), data(&i16s(&[1, 2, 3, 4, 5, 6]))].concat());
    assert_eq!((image.axes, image.pixels, image.data_offset), (vec![3, 2], 6, 2880));
}
