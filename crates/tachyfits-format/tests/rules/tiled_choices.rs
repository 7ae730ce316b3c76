//! Choices of a writer of compressed images, compared with fpack, and compression requests in
//! headers.

use proptest::prelude::*;
use tachyfits_format::{
    Code, Directives, Dither, Header, QuantisationLevel, SeedDirective, TileDirective, TileRange,
    Value, dither_seed, hcompress_divisor, hcompress_tile_shape, suits_hcompress, tile_shape,
};

/// Returns pixel range and noise of a row of the image that `fpack` (CFITSIO 4.2.0) compressed.
fn row(number: u64, noise: f64) -> TileRange {
    let pixel = |at: u64| match (at * at * 31 + at * 7919) % 1009 {
        _ if number == 3 => 1.5,
        _ if at.is_multiple_of(53) || number == 5 => f64::NAN,
        _ if number == 6 && at < 245 => 0.0,
        value => (value as f64 - 500.0) * 0.37,
    };
    let pixels: Vec<f64> = (number * 40..(number + 1) * 40).map(pixel).collect();
    TileRange {
        pixels: pixels.len(),
        defined: pixels.iter().filter(|pixel| !pixel.is_nan()).count(),
        least: pixels.iter().copied().fold(f64::INFINITY, f64::min),
        greatest: pixels.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        has_infinite: false,
        noise,
    }
}

#[test]
fn scale_and_zero_are_those_of_fpack() {
    let quarter = QuantisationLevel::OfNoise(4.0);
    // ZSCALE and ZZERO of `fpack -q 4` and `fpack -qz 4` on doubles.
    let expected = [
        (0, 13.884886918000003, 29817567276.700367, 29817567276.700367),
        (2, 13.884886918000003, 29817567284.470367, 29817567284.470367),
        (4, 13.884886918000003, -166.61864301600002, 29817567274.110367),
        (5, 0.25, 536870909.25, 536870909.25),
        (6, 33.077933992, 71034321813.0261, 71034321813.0261),
    ];
    for (number, scale, zero, keeping_zeros) in expected {
        let range = row(number, scale * 4.0);
        let result = range.quantisation(quarter, Dither::Subtractive);
        assert_eq!(result, Some((scale, zero)), "row {number}");
        let result = range.quantisation(quarter, Dither::SubtractiveKeepingZeros);
        assert_eq!(result, Some((scale, keeping_zeros)), "row {number}");
    }
    assert_eq!(row(3, 0.0).quantisation(quarter, Dither::Subtractive), None);
    let step = QuantisationLevel::Step(0.25);
    assert_eq!(row(3, 0.0).quantisation(step, Dither::None), Some((0.25, 1.5)));
}

#[test]
fn tiles_that_integers_cannot_hold_are_not_quantised() {
    let tame = TileRange {
        pixels: 10,
        defined: 10,
        least: 0.0,
        greatest: 1.0,
        has_infinite: false,
        noise: 1.0,
    };
    let level = QuantisationLevel::OfNoise(4.0);
    let refused = |range: TileRange| range.quantisation(level, Dither::None).is_none();
    assert!(!refused(tame));
    assert!(refused(TileRange { pixels: 1, defined: 1, ..tame }));
    assert!(refused(TileRange { has_infinite: true, ..tame }));
    assert!(refused(TileRange { greatest: 1e10, ..tame }));
    assert!(refused(TileRange { noise: f64::NAN, ..tame }));
    assert!(refused(TileRange { noise: 0.0, ..tame }));
    // A range of more than 31 bits is centred.
    let wide = TileRange { least: -8e8, greatest: 2e8, ..tame };
    assert_eq!(wide.quantisation(level, Dither::None), Some((0.25, -3e8)));
}

proptest! {
    #[test]
    fn integers_never_mean_something_else(
        least in -1e6..1e6, width in 0.0..1e9, scale in 0.25..10.0,
        undefined in any::<bool>(), zeros in any::<bool>(),
    ) {
        let dither = if zeros { Dither::SubtractiveKeepingZeros } else { Dither::None };
        let range = TileRange {
            pixels: 10,
            defined: 10 - usize::from(undefined),
            least,
            greatest: least + width,
            has_infinite: false,
            noise: 0.0,
        };
        if let Some((scale, zero)) = range.quantisation(QuantisationLevel::Step(scale), dither) {
            let integer = |value: f64| ((value - zero) / scale).round();
            prop_assert!(integer(range.least) >= -2_147_483_642.0, "{}", integer(range.least));
            prop_assert!(integer(range.greatest) <= 2_147_483_647.0);
        }
    }

    #[test]
    fn tiles_of_hcompress_have_four_rows_or_more(columns in 1..100u64, rows in 1..2000u64) {
        let axes = [columns, rows];
        match hcompress_tile_shape(&axes) {
            Some(tile) => prop_assert!(suits_hcompress(&axes, &tile), "{:?}", tile),
            None => prop_assert!(columns < 4 || rows < 4),
        }
    }

    #[test]
    fn tiles_are_within_the_image_and_neither_small_nor_large(axes in prop::collection::vec(1..10_000u64, 1..5)) {
        let tile = tile_shape(&axes);
        let pixels: u64 = tile.iter().product();
        prop_assert!(tile.iter().zip(&axes).all(|(tile, axis)| *tile >= 1 && tile <= axis));
        prop_assert!(pixels <= 1 << 18);
        let plane: u64 = axes.iter().take(2).product();
        prop_assert!(pixels >= plane.min(2048), "{:?}", tile);
    }
}

#[test]
fn hcompress_rows_are_those_of_cfitsio() {
    let rows = |rows| hcompress_tile_shape(&[100, rows]).unwrap()[1];
    assert_eq!([30, 31, 32, 33, 35, 49, 50].map(rows), [30, 16, 16, 24, 24, 20, 20]);
    assert!(!suits_hcompress(&[100, 100], &[100, 33]));
    assert!(!suits_hcompress(&[100, 100, 100], &[10, 10, 10]));
    assert!(suits_hcompress(&[100, 1, 50], &[25, 1, 10]));
    assert_eq!((hcompress_divisor(2.0, 3.3), hcompress_divisor(-5.0, 9.0)), (7, 5));
    assert_eq!((dither_seed(0), dither_seed(9_999), dither_seed(10_000)), (1, 10_000, 1));
}

fn header(cards: &[(&str, Value)]) -> Header {
    let mut header = Header::new();
    for (keyword, value) in cards {
        header.set(keyword, value.clone(), "").unwrap();
    }
    header
}

#[test]
fn directives_are_read() {
    let directives = Directives::of(&header(&[
        ("FZALGOR", "hcompress_1".into()),
        ("FZTILE", "ROW".into()),
        ("FZQVALUE", (-0.5).into()),
        ("FZQMETHD", "subtractive_dither_2".into()),
        ("FZDTHRSD", "77".into()),
        ("FZI2F", true.into()),
        ("FZHSCALE", 2.5.into()),
        ("FZTILELN", 1000.into()),
        ("FZALG3", "gzip_2".into()),
    ]));
    let expected = Directives {
        codec: Some("HCOMPRESS_1".into()),
        tile: Some(TileDirective::Row),
        level: Some(Some(QuantisationLevel::Step(0.5))),
        dither: Some(Dither::SubtractiveKeepingZeros),
        seed: Some(SeedDirective::Fixed(77)),
        integers_as_floats: Some(true),
        hcompress_scale: Some(2.5),
        table_rows: Some(1000),
    };
    assert_eq!(directives, Ok(expected));
    assert_eq!(Directives::of(&Header::new()), Ok(Directives::default()));
    let column = header(&[("FZALG3", "gzip_2".into())]);
    assert_eq!(Directives::column_codec(&column, 3), Ok(Some("GZIP_2".into())));
    assert_eq!(Directives::column_codec(&column, 2), Ok(None));
    let no_quantisation = Directives::of(&header(&[("FZQVALUE", 0.into())])).unwrap();
    assert_eq!(no_quantisation.level, Some(None));
    let clock = Directives::of(&header(&[("FZDTHRSD", "clock".into())])).unwrap();
    assert_eq!(clock.seed, Some(SeedDirective::OfData));
    let levels = [Dither::None, Dither::Subtractive].map(QuantisationLevel::of_dither);
    assert_eq!(levels, [16.0, 4.0].map(QuantisationLevel::OfNoise));
}

#[test]
fn wrong_directives_are_errors() {
    let cases: [(&str, Value, Code); 8] = [
        ("FZALGOR", 5.into(), Code::KeywordType),
        ("FZTILE", "column".into(), Code::KeywordRange),
        ("FZTILE", "(10,0)".into(), Code::KeywordRange),
        ("FZQMETHD", "dither".into(), Code::KeywordRange),
        ("FZDTHRSD", 10_001.into(), Code::KeywordRange),
        ("FZDTHRSD", "soon".into(), Code::KeywordRange),
        ("FZTILELN", 0.into(), Code::KeywordRange),
        ("FZQVALUE", "4".into(), Code::NumericText),
    ];
    for (keyword, value, code) in cases {
        let error = Directives::of(&header(&[(keyword, value)])).unwrap_err();
        let found = error.problem().place.keyword.as_deref();
        assert_eq!((error.code(), found), (code, Some(keyword)));
    }
}
