//! Headers of images in another shape: reordered axes, combined pixels, cuts along a path.

use proptest::prelude::*;
use tachyfits_format::{
    AxisBlocks, Code, Context, Hdu, Header, OffsetAxis, path_header, rebinned_header,
    reordered_header,
};

use crate::build::{hdu_of, walk};
use crate::cutouts::{close, described_image};
use crate::worlds::{ancestor, world};

/// Returns the header as parsed again from a file.
fn reread(header: &Header) -> Header {
    let bytes = header.to_bytes();
    let (header, warnings) = Header::parse(&bytes, Context::default()).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(walk(&bytes).hdus.len(), 1);
    header
}

fn reordered(hdu: &Hdu, order: &[usize]) -> Header {
    reread(&reordered_header(hdu, order).unwrap_or_else(|error| panic!("{error}")))
}

fn rebinned(hdu: &Hdu, pixels: &[u64]) -> Header {
    let blocks: Vec<_> = pixels
        .iter()
        .zip(&hdu.axes)
        .map(|(&pixels, &length)| AxisBlocks { pixels, count: length.div_ceil(pixels) })
        .collect();
    reread(&rebinned_header(hdu, &blocks, "mean").unwrap_or_else(|error| panic!("{error}")))
}

fn offsets() -> OffsetAxis {
    OffsetAxis { pixels: 5, first: 0.0, step: 0.5, unit: "deg".to_owned() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn pixels_keep_their_coordinates_in_any_order(
        (sizes, cards) in described_image(),
        at in any::<[u8; 4]>(),
        keys in any::<[u32; 4]>(),
    ) {
        let hdu = hdu_of(-32, &sizes, &cards);
        let mut order: Vec<usize> = (1..=sizes.len()).collect();
        order.sort_by_key(|&axis| keys[axis - 1]);
        let header = reordered(&hdu, &order);
        let before: Vec<f64> = at[..sizes.len()].iter().map(|&pixel| f64::from(pixel)).collect();
        let after: Vec<f64> = order.iter().map(|&axis| before[axis - 1]).collect();
        for (new, &old) in order.iter().enumerate() {
            let naxis = header.get_i64(&format!("NAXIS{}", new + 1)).unwrap();
            prop_assert_eq!(naxis, Some(sizes[old - 1] as i64));
        }
        for letter in ["", "B"] {
            let (old, new) = (world(&hdu.header, letter, &before), world(&header, letter, &after));
            for (number, &axis) in order.iter().enumerate() {
                prop_assert!(close(old[axis - 1], new[number]), "axis {axis}");
            }
        }
        let (old, new) = (ancestor(&hdu.header, &before), ancestor(&header, &after));
        for (number, &axis) in order.iter().enumerate() {
            prop_assert!(close(old[axis - 1], new[number]), "ancestor's axis {axis}");
        }
    }

    #[test]
    fn blocks_keep_their_edges(
        (sizes, cards) in described_image(),
        blocks in prop::array::uniform4(1u64..5),
        at in any::<[i8; 4]>(),
    ) {
        let hdu = hdu_of(-32, &sizes, &cards);
        let blocks = &blocks[..sizes.len()];
        let header = rebinned(&hdu, blocks);
        // A position between pixels: 0.5 is the edge of the first pixel in both images.
        let after: Vec<f64> = at[..sizes.len()].iter().map(|&edge| f64::from(edge) + 0.5).collect();
        let old_place = |(&new, &block): (&f64, &u64)| (new - 0.5) * block as f64 + 0.5;
        let before: Vec<f64> = after.iter().zip(blocks).map(old_place).collect();
        for letter in ["", "B"] {
            let described = cards.iter().any(|card| card[..8].trim_end().ends_with(letter));
            let (old, new) = (world(&hdu.header, letter, &before), world(&header, letter, &after));
            for axis in (0..sizes.len()).filter(|_| described) {
                prop_assert!(close(old[axis], new[axis]), "axis {}: {} {}", axis + 1, old[axis], new[axis]);
            }
        }
        if cards.iter().any(|card| card.starts_with("LT")) {
            let (old, new) = (ancestor(&hdu.header, &before), ancestor(&header, &after));
            for axis in 0..sizes.len() {
                prop_assert!(close(old[axis], new[axis]), "ancestor's axis {}", axis + 1);
            }
        }
    }

    #[test]
    fn the_axes_of_a_path_keep_their_coordinates((sizes, cards) in described_image(), at in any::<[u8; 2]>()) {
        let hdu = hdu_of(-32, &sizes, &cards);
        let header = match path_header(&hdu, &offsets()) {
            Ok(header) => reread(&header),
            Err(error) => {
                prop_assert!(matches!(error.code(), Code::AxisCoupled | Code::AxisNumber));
                return Ok(());
            }
        };
        let further: Vec<f64> = at.iter().map(|&pixel| f64::from(pixel)).take(sizes.len() - 2).collect();
        let before = [&[3.0, 4.0][..], &further].concat();
        let after = [&[3.0][..], &further].concat();
        for letter in ["", "B"] {
            let (old, new) = (world(&hdu.header, letter, &before), world(&header, letter, &after));
            prop_assert!(close(new[0], 1.0), "the third pixel is 2 · 0.5 from the first");
            for axis in 2..sizes.len() {
                prop_assert!(close(old[axis], new[axis - 1]), "axis {}", axis + 1);
            }
        }
    }

    #[test]
    fn shapes_of_any_numbers_never_panic(
        sizes in prop::collection::vec(any::<u64>().prop_map(|n| n >> (n % 64)), 0..4),
        order in prop::collection::vec(0usize..5, 0..5),
        blocks in prop::collection::vec((any::<u64>(), any::<u64>()), 0..4),
    ) {
        let walked = walk(&crate::build::primary(8, &sizes, &["CRPIX1  =                  1.0"]));
        let blocks: Vec<_> =
            blocks.into_iter().map(|(pixels, count)| AxisBlocks { pixels, count }).collect();
        if let Some(hdu) = walked.hdus.first() {
            let _ = reordered_header(hdu, &order);
            let _ = rebinned_header(hdu, &blocks, "mean");
            let _ = path_header(hdu, &offsets());
        }
    }
}

const CUBE: [&str; 14] = [
    "WCSAXES =                    3",
    "CTYPE1  = 'RA---TAN'           / projection",
    "CRPIX1  =                 10.5 / reference",
    "CRVAL1  =                120.0",
    "CDELT1  = -0.1",
    "CTYPE2  = 'DEC--TAN'",
    "PV2_1   =                  0.5",
    "CROTA2  =                  3.0",
    "CTYPE3  = 'FREQ    '",
    "CRPIX3  =                  2.0",
    "CTYPE3F = 'VRAD    '",
    "PC1_2F  =                  0.5",
    "BLANK   =                   -1",
    "OBJECT  = 'kept    '",
];

#[test]
fn every_keyword_of_an_axis_gets_its_new_number() {
    let hdu = hdu_of(16, &[4, 5, 6], &CUBE);
    let header = reordered(&hdu, &[3, 1, 2]);
    let value = |keyword: &str| header.get(keyword).map(ToString::to_string);
    let expected = [
        ("NAXIS1", "6"),
        ("NAXIS2", "4"),
        ("NAXIS3", "5"),
        ("CTYPE2", "RA---TAN"),
        ("CRPIX2", "10.5"),
        ("PV3_1", "0.5"),
        ("CROTA3", "3.0"),
        ("CTYPE1", "FREQ"),
        ("CTYPE1F", "VRAD"),
        ("PC2_3F", "0.5"),
        ("BLANK", "-1"),
        ("OBJECT", "kept"),
    ];
    for (keyword, text) in expected {
        let result = value(keyword).unwrap_or_default();
        assert_eq!(result.trim_matches(['\'', ' ']).trim_end(), text, "{keyword}");
    }
    assert_eq!(header.cards()[header.position("CRPIX2").unwrap()].comment(), "reference");
    let history = header.cards().last().unwrap().comment();
    assert_eq!(history, "tachyfits: axes in the order 3 1 2 of HDU 0 (0-based)");
    // Reversing the order restores the same cards except the history, in another order.
    let hdu_again = walk(&header.to_bytes()).hdus.remove(0);
    let again = reordered(&hdu_again, &[2, 3, 1]);
    for card in hdu.header.cards() {
        assert!(again.cards().contains(card), "{}", card.keyword());
    }
}

#[test]
fn an_order_names_every_axis_once() {
    let hdu = hdu_of(16, &[4, 5, 6], &CUBE);
    for order in [&[1, 2][..], &[1, 2, 2], &[0, 1, 2], &[1, 2, 4], &[1, 2, 3, 3], &[]] {
        let error = reordered_header(&hdu, order).unwrap_err();
        assert_eq!(error.code(), Code::AxisNumber, "{order:?}");
    }
}

#[test]
fn blocks_begin_within_their_axis() {
    let hdu = hdu_of(16, &[4, 5, 6], &CUBE);
    let block = |pixels, count| AxisBlocks { pixels, count };
    let all = [block(1, 4), block(1, 5)];
    for bad in [block(0, 1), block(2, 4), block(7, 2), block(1, 0), block(u64::MAX, 1)] {
        let error = rebinned_header(&hdu, &[&all[..], &[bad]].concat(), "mean").unwrap_err();
        assert_eq!(error.code(), Code::SectionRange, "{bad:?}");
    }
    assert!(rebinned_header(&hdu, &[&all[..], &[block(7, 1)]].concat(), "mean").is_ok());
}

#[test]
fn a_single_block_is_as_wide_as_its_pixels() {
    let hdu =
        hdu_of(-32, &[6], &["CDELT1  =                  2.0", "CRPIX1  =                  1.0"]);
    let header = rebinned(&hdu, &[6]);
    assert_eq!(header.get_f64("CDELT1"), Ok(Some(12.0)));
    assert_eq!(header.get_f64("CRPIX1"), Ok(Some((1.0 - 3.5) / 6.0 + 1.0)));
}

#[test]
fn distortions_stay_at_their_axes() {
    let cards =
        ["CTYPE1  = 'RA---TAN-SIP'", "CTYPE2  = 'DEC--TAN-SIP'", "A_ORDER =                    2"];
    let hdu = hdu_of(16, &[4, 5, 6], &cards);
    let error = reordered_header(&hdu, &[3, 1, 2]).unwrap_err();
    assert_eq!(error.code(), Code::AxisCoupled);
    assert!(error.to_string().contains("axis 1 as axis 2"), "{error}");
    assert!(reordered_header(&hdu, &[1, 2, 3]).is_ok());
    let block = |pixels, count| AxisBlocks { pixels, count };
    let error =
        rebinned_header(&hdu, &[block(2, 2), block(1, 5), block(1, 6)], "mean").unwrap_err();
    assert_eq!(error.code(), Code::PixelDistortion);
    assert!(rebinned_header(&hdu, &[block(1, 4), block(1, 5), block(3, 2)], "mean").is_ok());
    let cut = reread(&path_header(&hdu, &offsets()).unwrap());
    assert!(cut.get("A_ORDER").is_none());
}

#[test]
fn a_path_leaves_nothing_of_its_plane() {
    let cards =
        [&CUBE[..11], &["LONPOLE =                180.0", "CD3_3F  =                  2.0"]]
            .concat();
    let hdu = hdu_of(16, &[4, 5, 6], &cards);
    let cut = reread(&path_header(&hdu, &offsets()).unwrap());
    let keywords: Vec<&str> = cut.cards().iter().map(|card| card.keyword()).collect();
    let expected = [
        "SIMPLE", "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "WCSAXES", "CTYPE1", "CRPIX1", "CRVAL1",
        "CDELT1", "CUNIT1", "CTYPE1F", "CRPIX1F", "CRVAL1F", "CDELT1F", "CUNIT1F", "CD1_1F",
        "CTYPE2", "CRPIX2", "CTYPE2F", "CD2_2F",
    ];
    assert_eq!(keywords, expected);
    assert_eq!(cut.get_i64("WCSAXES"), Ok(Some(2)));
    let lower = hdu_of(16, &[4, 5, 6], &["wcsaxes =                    3"]);
    assert_eq!(path_header(&lower, &offsets()).unwrap().get_i64("WCSAXES"), Ok(Some(2)));
    // Among several cards the one that is read replaces all.
    let several = ["wcsaxes =                    4", "WCSAXES =                    3"];
    let cut = path_header(&hdu_of(16, &[4, 5, 6], &several), &offsets()).unwrap();
    let axes = cut.cards().iter().filter(|card| card.keyword().eq_ignore_ascii_case("WCSAXES"));
    assert_eq!((axes.count(), cut.get_i64("WCSAXES")), (1, Ok(Some(2))));
    let least = hdu_of(16, &[4, 5, 6], &["WCSAXES = -9223372036854775808"]);
    assert_eq!(path_header(&least, &offsets()).unwrap().get_i64("WCSAXES"), Ok(Some(1)));
    let coupled = hdu_of(16, &[4, 5, 6], &["PC3_1   =                  0.1"]);
    assert_eq!(path_header(&coupled, &offsets()).unwrap_err().code(), Code::AxisCoupled);
    let line = hdu_of(16, &[4], &["CRPIX1  =                  0.1"]);
    assert_eq!(path_header(&line, &offsets()).unwrap_err().code(), Code::AxisNumber);
}

#[test]
fn a_path_never_leaves_one_axis_of_the_sky() {
    let cards = [
        "CTYPE1  = 'RA---SIN'",
        "CTYPE2  = 'STOKES'",
        "CTYPE3  = 'FREQ'",
        "CTYPE4  = 'DEC--SIN'",
        "CRVAL4  =                 10.0",
        "PC4_1   =                  0.5",
        "CUNIT4  = 'deg'",
        "CTYPE1F = 'GLON-CAR'",
        "CTYPE4F = 'GLAT-CAR'",
        "CD3_3F  =                  2.0",
        "CD4_4F  =                  3.0",
    ];
    let cut = reread(&path_header(&hdu_of(16, &[4, 5, 6, 7], &cards), &offsets()).unwrap());
    for keyword in ["CTYPE3", "CRVAL3", "CUNIT3", "CTYPE3F"] {
        assert!(cut.get(keyword).is_none(), "{keyword}");
    }
    assert_eq!(cut.get_text("CTYPE2"), Ok(Some("FREQ")));
    assert_eq!((cut.get_f64("CD2_2F"), cut.get_f64("CD3_3F")), (Ok(Some(2.0)), Ok(Some(1.0))));
    // Two celestial axes after the path stay.
    let behind = ["CTYPE3  = 'RA---SIN'", "CTYPE4  = 'DEC--SIN'"];
    let cut = reread(&path_header(&hdu_of(16, &[4, 5, 6, 7], &behind), &offsets()).unwrap());
    assert_eq!(cut.get_text("CTYPE3"), Ok(Some("DEC--SIN")));
}

#[test]
fn rounding_noise_of_a_matrix_couples_no_axes() {
    let noise = hdu_of(16, &[4, 5, 6], &["PC3_1   =                1E-18", "CTYPE3  = 'FREQ'"]);
    let cut = path_header(&noise, &offsets()).unwrap();
    assert_eq!(cut.get_text("CTYPE2"), Ok(Some("FREQ")));
}
