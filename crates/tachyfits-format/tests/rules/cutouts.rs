//! Headers of cutouts: a selected pixel keeps its coordinates, and a card that remains right its
//! bytes.

use proptest::prelude::*;
use tachyfits_format::{
    AxisSelection, Code, Context, Hdu, Header, coordinate_tables, cutout_header, lookup_tables,
    reordered_header,
};

use crate::build::{empty_primary, extension, first, hdu_of, primary, walk};
use crate::worlds::{ancestor, world};

fn take(first: u64, count: u64, step: i64) -> AxisSelection {
    AxisSelection { first, count, step, keep: true, before: 0, after: 0 }
}

fn leave_out(first: u64) -> AxisSelection {
    AxisSelection { first, count: 1, step: 1, keep: false, before: 0, after: 0 }
}

fn cut(hdu: &Hdu, axes: &[AxisSelection]) -> Header {
    let bytes = cutout_header(hdu, axes).unwrap_or_else(|error| panic!("{error}"));
    assert!(bytes.len().is_multiple_of(2880) && bytes.is_ascii());
    let (header, warnings) = Header::parse(&bytes, Context::default()).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    // The result is the primary header of a valid file.
    assert_eq!(walk(&bytes).hdus.len(), 1);
    header
}

fn refusal(hdu: &Hdu, axes: &[AxisSelection]) -> Code {
    cutout_header(hdu, axes).expect_err("this should be refused").code()
}

/// A description of one alternate letter.
fn description(letter: &'static str, axes: usize) -> impl Strategy<Value = Vec<String>> {
    let number = -4.0..4.0f64;
    let kind = prop_oneof![Just("CDELT"), Just("CROTA"), Just("PC"), Just("CD"), Just("OLD")];
    let cells = prop::collection::vec(prop::option::of(number.clone()), axes * axes);
    let values = prop::collection::vec(prop::option::of(number), 3 * axes);
    let wcsaxes = prop::option::of(axes..axes + 2);
    (kind, cells, values, wcsaxes, any::<bool>(), -90.0..90.0f64).prop_map(
        move |(kind, cells, values, wcsaxes, isolated, angle)| {
            let mut cards: Vec<String> = Vec::new();
            let mut set = |keyword: String, value: String| {
                cards.push(format!("{keyword:<8}= {:>20}", value.replace('e', "E")));
            };
            if let Some(count) = wcsaxes {
                set(format!("WCSAXES{letter}"), count.to_string());
            }
            for axis in 1..=axes {
                let ctype = ["'RA---SIN'", "'DEC--SIN'", "'FREQ    '", "'STOKES  '"][axis - 1];
                set(format!("CTYPE{axis}{letter}"), ctype.to_owned());
            }
            for (n, value) in values.iter().enumerate() {
                let root = ["CRPIX", "CRVAL", "CDELT"][n / axes];
                if let Some(value) = value.filter(|_| root != "CDELT" || kind != "CD") {
                    set(format!("{root}{}{letter}", n % axes + 1), format!("{value:?}"));
                }
            }
            if kind == "CROTA" && axes > 1 {
                set(format!("CROTA2{letter}"), format!("{angle:?}"));
            }
            for (n, value) in cells.iter().enumerate() {
                let (row, column) = (n / axes + 1, n % axes + 1);
                let Some(value) = value.filter(|_| !isolated || row == column) else { continue };
                match kind {
                    "PC" | "CD" => {
                        set(format!("{kind}{row}_{column}{letter}"), format!("{value:?}"));
                    }
                    "OLD" if letter.is_empty() => {
                        set(format!("PC{row:03}{column:03}"), format!("{value:?}"));
                    }
                    _ => {}
                }
            }
            cards
        },
    )
}

fn transformation(axes: usize) -> impl Strategy<Value = Vec<String>> {
    let value = prop::option::of(0.25..4.0f64);
    prop::collection::vec(value, 2 * axes).prop_map(move |values| {
        let keyword = |n: usize| match n / axes {
            0 => format!("LTV{}", n % axes + 1),
            _ => format!("LTM{0}_{0}", n % axes + 1),
        };
        let card = |(n, value): (usize, &Option<f64>)| {
            value.map(|value| format!("{:<8}= {:>20}", keyword(n), format!("{value:?}")))
        };
        values.iter().enumerate().filter_map(card).collect()
    })
}

/// A selection from an axis of `size` pixels, with margins or without.
fn selection(size: u64) -> impl Strategy<Value = AxisSelection> {
    let margins = prop_oneof![Just((0, 0)), (0..4u64, 0..4u64)];
    (0..size, 0..size, 1..4i64, any::<bool>(), margins).prop_map(
        |(from, to, step, leave, (before, after))| {
            let count = from.abs_diff(to) / step as u64 + 1;
            let step = if from > to { -step } else { step };
            let keep = count + before + after > 1 || !leave;
            AxisSelection { first: from, count, step, keep, before, after }
        },
    )
}

type Case = (Vec<u64>, Vec<String>, Vec<AxisSelection>);

/// The sizes of an image, and cards that describe its coordinates in every notation.
pub fn described_image() -> impl Strategy<Value = (Vec<u64>, Vec<String>)> {
    prop::collection::vec(1..9u64, 1..=4).prop_flat_map(|sizes| {
        let axes = sizes.len();
        let cards = (description("", axes), description("B", axes), transformation(axes));
        (Just(sizes), cards.prop_map(|(a, b, ltm)| [a, b, ltm].concat()))
    })
}

fn case() -> impl Strategy<Value = Case> {
    described_image().prop_flat_map(|(sizes, cards)| {
        let selections: Vec<_> = sizes.iter().map(|&size| selection(size)).collect();
        (Just(sizes), Just(cards), selections)
    })
}

/// Returns the axes in their new order: kept axes, then left-out axes.
fn new_order(axes: &[AxisSelection]) -> Vec<usize> {
    let group = |keep: bool| (0..axes.len()).filter(move |&axis| axes[axis].keep == keep);
    group(true).chain(group(false)).collect()
}

pub fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pixels_keep_their_coordinates((sizes, cards, axes) in case(), at in any::<[u64; 4]>()) {
        prop_assume!(axes.iter().any(|axis| axis.keep));
        let hdu = hdu_of(-32, &sizes, &cards);
        let header = cut(&hdu, &axes);
        // A pixel of the cutout, and the corresponding pixel of the image.
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (axis, random) in axes.iter().zip(at) {
            let offset = random % axis.count;
            let pixel = axis.first as f64 + offset as f64 * axis.step as f64 + 1.0;
            before.push(pixel);
            after.push((axis.before + offset) as f64 + 1.0);
        }
        for (number, axis) in (1..).zip(new_order(&axes)).take(header.get_i64("NAXIS").unwrap().unwrap() as usize) {
            let length = header.get_i64(&format!("NAXIS{number}")).unwrap();
            prop_assert_eq!(length, Some(axes[axis].pixels() as i64));
        }
        let order = new_order(&axes);
        let kept_axes = axes.iter().filter(|axis| axis.keep).count();
        let in_order: Vec<f64> = order.iter().map(|&axis| after[axis]).collect();
        for letter in ["", "B"] {
            let old = world(&hdu.header, letter, &before);
            let new = world(&header, letter, &in_order);
            // `world` handles all axes even without WCSAXES, so this is checked: WCSAXES declares left-out axes.
            let declared = header.get_i64(&format!("WCSAXES{letter}")).unwrap();
            prop_assert!(declared.is_some_and(|n| n as usize >= axes.len()) || kept_axes == axes.len());
            for (axis, &was) in order.iter().enumerate() {
                prop_assert!(close(old[was], new[axis]), "axis {}: {} {}", was + 1, old[was], new[axis]);
            }
        }
        let old = ancestor(&hdu.header, &before);
        let new = ancestor(&header, &in_order[..kept_axes]);
        let has_ancestor = cards.iter().any(|card| card.starts_with("LT"));
        for (axis, &was) in order[..kept_axes].iter().enumerate().filter(|_| has_ancestor) {
            prop_assert!(close(old[was], new[axis]), "ancestor's axis {}", was + 1);
        }
    }

    #[test]
    fn a_linear_axis_is_what_linear_algebra_says((sizes, cards, _) in case(), at in 1.0..9.0f64) {
        let hdu = hdu_of(-32, &sizes, &cards);
        for axis in 1..=sizes.len() {
            let linear = hdu.linear_axis(axis).unwrap();
            // The other axes are at their reference pixels, so that they have no effect.
            let crpix = |n: usize| hdu.header.get_f64(&format!("CRPIX{n}")).unwrap().unwrap_or(0.0);
            let mut pixel: Vec<f64> = (1..=sizes.len() + 1).map(crpix).collect();
            let is_rotated = hdu.header.get("CROTA2").is_some() && linear.coupled;
            prop_assert!(!is_rotated || axis <= 2);
            let at_reference = world(&hdu.header, "", &pixel)[axis - 1];
            prop_assert!(close(at_reference, linear.crval));
            pixel[axis - 1] = at;
            if !is_rotated {
                prop_assert!(close(world(&hdu.header, "", &pixel)[axis - 1], linear.value(at)));
            }
            // If the axis is uncoupled, other pixels have no effect.
            pixel.iter_mut().enumerate().for_each(|(n, p)| if n != axis - 1 { *p += 3.0 });
            let elsewhere = world(&hdu.header, "", &pixel)[axis - 1];
            prop_assert!(linear.coupled || close(elsewhere, linear.value(at)));
        }
    }

    #[test]
    fn selections_of_any_numbers_never_panic(
        sizes in prop::collection::vec(any::<u64>().prop_map(|n| n >> (n % 64)), 1..4),
        numbers in prop::collection::vec((any::<u64>(), any::<u64>(), any::<i64>(), any::<bool>(), any::<[u64; 2]>()), 0..4),
    ) {
        let walked = walk(&primary(8, &sizes, &["CRPIX1  =                  1.0"]));
        let axes: Vec<AxisSelection> = numbers
            .into_iter()
            .map(|(first, count, step, keep, [before, after])| {
                AxisSelection { first, count, step, keep, before, after }
            })
            .collect();
        if let Some(hdu) = walked.hdus.first() {
            let _ = cutout_header(hdu, &axes);
        }
    }
}

const PLAIN: [&str; 14] = [
    "CTYPE1  = 'RA---TAN'           / projection",
    "CRPIX1  =                 10.5 / reference",
    "CRVAL1  =                120.0",
    "CDELT1  = -0.1",
    "CTYPE2  = 'DEC--TAN'",
    "CRPIX2  =                   5. / centre",
    "CDELT2  =                 1D-1",
    "BSCALE  =                  2.0",
    "BZERO   =                 32.0",
    "BLANK   =                   -1",
    "OBJECT  = 'a string that is too long for one card and therefore goes on and on&'",
    "CONTINUE  ' in the next one' / comment",
    "COMMENT kept",
    "EXTEND  =                    T",
];

#[test]
fn cards_that_stay_true_keep_their_bytes() {
    let hdu = hdu_of(16, &[20, 10], &PLAIN);
    let header = cut(&hdu, &[take(3, 4, 1), take(0, 10, 1)]);
    let keywords = ["NAXIS1", "CRPIX1", "HISTORY"];
    for card in hdu.header.cards().iter().filter(|card| !keywords.contains(&card.keyword())) {
        assert!(header.cards().contains(card), "{}", card.keyword());
    }
    assert_eq!(header.cards().len(), hdu.header.cards().len() + 1);
    let order = |header: &Header| -> Vec<String> {
        let cards = header.cards().iter().map(|card| card.keyword().to_owned());
        cards.filter(|keyword| keyword != "HISTORY").collect()
    };
    assert_eq!(order(&header), order(&hdu.header));
    assert_eq!(header.get_f64("CRPIX1"), Ok(Some(7.5)));
    assert_eq!(header.cards()[header.position("CRPIX1").unwrap()].comment(), "reference");
    assert_eq!(
        header.cards().last().unwrap().comment(),
        "tachyfits: pixels [4:7,1:10] of 20 x 10 of HDU 0 (0-based)"
    );
}

#[test]
fn steps_scale_the_cards_of_the_standard() {
    let hdu = hdu_of(16, &[20, 10], &PLAIN);
    let header = cut(&hdu, &[take(19, 7, -3), take(1, 4, 2)]);
    // Pixel 1 is the old pixel 20, which is 9.5 right of the reference.
    assert_eq!(header.get_f64("CRPIX1").unwrap(), Some(9.5 / 3.0 + 1.0));
    assert!(close(header.get_f64("CDELT1").unwrap().unwrap(), 0.3));
    assert_eq!(header.get_f64("CRPIX2").unwrap(), Some((5.0 - 2.0) / 2.0 + 1.0));
    assert!(close(header.get_f64("CDELT2").unwrap().unwrap(), 0.2));
    assert_eq!(header.get_i64("BLANK"), Ok(Some(-1)));
    let history = header.cards().last().unwrap().comment();
    assert!(history.contains("[20:2:3,2:8:2]"), "{history}");
}

#[test]
fn every_pixel_number_follows_a_margin() {
    let cards = [
        "CTYPE1  = 'FREQ    '",
        "CTYPE1A = 'LINEAR  '",
        "CDELT1A =                  1.0",
        "ALTRPIX =                  8.0",
        "CNPIX1  =                   12",
        "LTV1    =                 -3.0",
    ];
    let hdu = hdu_of(16, &[20], &cards);
    let whole = AxisSelection { before: 10, after: 5, ..take(0, 20, 1) };
    let header = cut(&hdu, &[whole]);
    assert_eq!(header.get_i64("NAXIS1"), Ok(Some(35)));
    for (keyword, value) in
        [("CRPIX1", 10.0), ("CRPIX1A", 10.0), ("ALTRPIX", 18.0), ("CNPIX1", 2.0), ("LTV1", 7.0)]
    {
        assert_eq!(header.get_f64(keyword), Ok(Some(value)), "{keyword}");
    }
}

#[test]
fn an_axis_that_cd_leaves_out_goes_by_its_cdelt() {
    let cards = [
        "CTYPE1  = 'RA---TAN'",
        "CTYPE2  = 'DEC--TAN'",
        "CTYPE3  = 'VRAD    '",
        "CD1_1   =                 -0.1",
        "CD2_2   =                  0.1",
        "CDELT3  =                500.0",
    ];
    let hdu = hdu_of(16, &[5, 5, 9], &cards);
    assert_eq!(hdu.linear_axis(3).unwrap().cdelt, 500.0);
    let header = cut(&hdu, &[take(0, 5, 1), take(0, 5, 1), take(0, 3, 4)]);
    assert_eq!(header.get_f64("CD3_3"), Ok(Some(2000.0)));
    assert_eq!(header.get_f64("CDELT3"), Ok(Some(2000.0)));
}

#[test]
fn an_extension_becomes_a_primary_array() {
    let records = [
        "EXTNAME = 'SCI     '",
        "EXTVER  =                    2",
        "INHERIT =                    T",
        "CHECKSUM= 'abcdabcdabcdabcd'",
        "DATASUM = '1       '",
        "DATAMIN =                  0.0",
        "DATAMAX =                  1.0",
        "BLOCKED =                    T",
        "NEXTEND =                    3",
        "BLANK   =                   -1",
        "NAXIS9  =                    4",
    ];
    let file =
        [empty_primary::<&str>(&[]), extension("IMAGE", -32, &[4, 4], [0, 1], &records)].concat();
    let hdu = walk(&file).whole().hdus.remove(1);
    let header = cut(&hdu, &[take(0, 4, 1), take(1, 2, 1)]);
    let keywords: Vec<&str> = header.cards().iter().map(|card| card.keyword()).collect();
    let expected =
        ["SIMPLE", "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "EXTNAME", "EXTVER", "HISTORY"];
    assert_eq!(keywords, expected);
    let history = header.cards().last().unwrap().comment();
    assert!(history.ends_with("of HDU 1 (0-based)"), "{history}");
}

#[test]
fn an_axis_left_out_keeps_its_coordinate_behind_the_others() {
    let cards = [
        "CTYPE1  = 'RA---TAN'",
        "CTYPE2  = 'STOKES  '",
        "CRVAL2  =                  1.0",
        "CRPIX2  =                  1.0",
        "CTYPE3  = 'DEC--TAN'",
        "PV3_1   =                  0.5",
        "PC1_3   =                  0.1",
        "CROTA3  =                  0.0",
    ];
    let hdu = hdu_of(16, &[5, 4, 5], &cards);
    let header = cut(&hdu, &[take(0, 5, 1), leave_out(2), take(0, 5, 1)]);
    assert_eq!(header.get_i64("NAXIS"), Ok(Some(2)));
    assert_eq!(header.get_i64("WCSAXES"), Ok(Some(3)));
    let at = |keyword: &str| header.position(keyword).unwrap_or(usize::MAX);
    assert!(at("WCSAXES") < at("CTYPE1"), "WCSAXES precedes the keywords it applies to");
    assert_eq!(header.get_text("CTYPE2"), Ok(Some("DEC--TAN")));
    assert_eq!(header.get_text("CTYPE3"), Ok(Some("STOKES")));
    assert_eq!(header.get_f64("CRPIX3"), Ok(Some(-1.0)));
    for keyword in ["PV2_1", "PC1_2", "CROTA2"] {
        assert!(header.get(keyword).is_some(), "{keyword}");
    }
    assert_eq!(hdu_of(16, &[5, 5], &cards).linear_axis(3).unwrap_err().code(), Code::AxisNumber);
    let cut_file = cutout_header(&hdu, &[take(0, 5, 1), leave_out(2), take(0, 5, 1)]).unwrap();
    let stokes = first(&cut_file).linear_axis(3).unwrap();
    assert_eq!((stokes.ctype.as_str(), stokes.value(1.0)), ("STOKES", 3.0));
}

#[test]
fn pixels_that_other_programs_count_follow() {
    let cards = [
        "CTYPE1  = 'FREQ    '",
        "ALTRPIX =                  8.0",
        "ALTRVAL =               1000.0",
        "CNPIX1  =                12042 / corner",
        "AMDX1   =                 67.2",
        "XPIXELSZ=              25.2844",
        "LTV1    =                 -9.0",
    ];
    let hdu = hdu_of(16, &[20, 3], &cards);
    let header = cut(&hdu, &[take(4, 5, 1), take(0, 3, 1)]);
    assert_eq!(header.get_f64("ALTRPIX"), Ok(Some(4.0)));
    assert_eq!(header.get_i64("CNPIX1"), Ok(Some(12046)));
    assert_eq!(header.get_f64("LTV1"), Ok(Some(-13.0)));
    assert!(header.cards().contains(&hdu.header.cards()[hdu.header.position("XPIXELSZ").unwrap()]));
    let in_lower = cards.map(|card| card.replace("FREQ", "freq"));
    let in_lower = cut(&hdu_of(16, &[20, 3], &in_lower), &[take(4, 5, 1), take(0, 3, 1)]);
    assert_eq!(in_lower.get_f64("ALTRPIX"), Ok(Some(4.0)));
    let header = cut(&hdu, &[take(4, 5, 2), take(0, 3, 1)]);
    // (x + CNPIX1 - 0.5) * XPIXELSZ is the position on the plate; that of pixel 5 is now that of
    // pixel 1.
    let place = |header: &Header, pixel: f64| {
        let number = |keyword: &str| header.get_f64(keyword).unwrap().unwrap();
        (pixel + number("CNPIX1") - 0.5) * number("XPIXELSZ")
    };
    assert!(close(place(&header, 1.0), place(&hdu.header, 5.0)));
    assert!(close(place(&header, 3.0), place(&hdu.header, 9.0)));
    assert_eq!(header.get_f64("LTM1_1"), Ok(Some(0.5)));
    assert_eq!(refusal(&hdu, &[leave_out(0), take(0, 3, 1)]), Code::AxisCoupled);
    let lower = cards.map(|card| format!("{}{}", card[..8].to_ascii_lowercase(), &card[8..]));
    let lower = cut_unchecked(&hdu_of(16, &[20, 3], &lower), &[take(4, 5, 2), take(0, 3, 1)]);
    for keyword in ["ALTRPIX", "CNPIX1", "XPIXELSZ", "LTV1"] {
        assert_eq!(lower.get_f64(keyword), header.get_f64(keyword), "{keyword}");
    }
}

#[test]
fn distortions_that_would_not_fit_are_refused() {
    let whole = [take(0, 5, 1), take(0, 5, 1), take(0, 5, 1)];
    let sip = hdu_of(16, &[5, 5, 5], &["A_ORDER =                    2"]);
    let header = cut(&sip, &[take(2, 2, 1), take(0, 5, 1), take(0, 2, 3)]);
    assert_eq!(header.get_i64("A_ORDER"), Ok(Some(2)));
    assert_eq!(refusal(&sip, &[take(0, 2, 2), whole[1], whole[2]]), Code::PixelDistortion);
    assert_eq!(refusal(&sip, &[leave_out(0), whole[1], whole[2]]), Code::AxisCoupled);
    cut(&sip, &[whole[0], whole[1], leave_out(3)]);
    for card in ["CPDIS1  = 'POLYNOMIAL'", "CQDIS2A = 'TPD'"] {
        let hdu = hdu_of(16, &[5, 5, 5], &[card]);
        cut(&hdu, &whole);
        assert_eq!(refusal(&hdu, &[take(1, 4, 1), whole[1], whole[2]]), Code::PixelDistortion);
    }
    for card in ["CPDIS1  = 'Lookup'", "D2IMDIS2= 'LOOKUP'", "AXISCORR=                    1"] {
        let hdu = hdu_of(16, &[5, 5, 5], &[card]);
        cut(&hdu, &[take(1, 4, 1), take(2, 1, 1), leave_out(1)]);
        for first in [take(0, 2, 2), leave_out(0)] {
            let code = refusal(&hdu, &[first, whole[1], whole[2]]);
            assert_eq!(code, Code::PixelDistortion, "{card}");
        }
    }
    let tpv = ["CTYPE1  = 'RA---TPV'", "CTYPE2  = 'DEC--TPV'", "PV1_1   =                  1.0"];
    let tan = ["CTYPE1  = 'RA---TAN'", "CTYPE2  = 'DEC--TAN'", "PV1_7   =                  1.0"];
    for cards in [tpv, tan] {
        let sky = hdu_of(16, &[5, 5, 5], &cards);
        let header = cut(&sky, &[take(4, 2, -2), take(0, 2, 2), take(0, 2, 3)]);
        assert!(header.get_f64(&cards[2][..5]).is_ok_and(|value| value == Some(1.0)));
        cut(&sky, &[whole[0], whole[1], leave_out(3)]);
        assert_eq!(refusal(&sky, &[leave_out(0), whole[1], whole[2]]), Code::AxisCoupled);
        assert!(reordered_header(&sky, &[1, 2, 3]).is_ok());
        for order in [[2, 1, 3], [3, 1, 2]] {
            assert_eq!(reordered_header(&sky, &order).unwrap_err().code(), Code::AxisCoupled);
        }
    }
    let mixed = hdu_of(16, &[5, 5, 5], &["LTM1_3  =                  0.5"]);
    assert_eq!(refusal(&mixed, &[whole[0], whole[1], leave_out(0)]), Code::AxisCoupled);
}

#[test]
fn images_of_corrections_are_named_by_the_records_of_their_axis() {
    let cards = [
        "CPDIS1  = 'LOOKUP'",
        "DP1     = 'NAXES: 2.0'",
        "DP1     = 'EXTVER: 3.0'",
        "CPDIS2  = 'lookup'",
        "D2IMDIS2= 'Lookup'",
        "D2IM2   = 'EXTVER: 1.0'",
        "CPDIS2A = 'LOOKUP'",
        "AXISCORR=                    2",
    ];
    let expected = [("WCSDVARR", 3), ("WCSDVARR", 1), ("D2IMARR", 1)];
    let expected = expected.map(|(name, version)| (name.to_owned(), version));
    assert_eq!(lookup_tables(&hdu_of(16, &[5, 5], &cards).header), expected);
}

#[test]
fn axes_with_tables_of_coordinates_keep_them() {
    let cards = [
        "CTYPE2  = 'WAVE-TAB'",
        "PS2_0   = 'TABLE'",
        "CRPIX2  =                  1.0",
        "CTYPE1A = 'FREQ-TAB'",
        "PS1_0A  = 'TABLE'",
        "PV1_1A  =                    2",
        "PS3_0   = 'OTHER'",
    ];
    let hdu = hdu_of(16, &[6, 5, 4], &cards);
    let tables = [("TABLE".to_owned(), 1), ("TABLE".to_owned(), 2)];
    let mut header = cut(&hdu, &[take(0, 6, 1), take(2, 1, 1), take(0, 4, 1)]);
    assert_eq!(header.get_f64("CRPIX2"), Ok(Some(-1.0)));
    assert_eq!(coordinate_tables(&header), tables);
    // A left-out axis keeps the coordinate of its single pixel.
    header = cut(&hdu, &[take(0, 6, 1), leave_out(2), take(0, 4, 1)]);
    assert_eq!(header.get_text("PS3_0"), Ok(Some("TABLE")));
    assert_eq!(coordinate_tables(&header), tables);
}

#[test]
fn sections_outside_the_image_are_refused() {
    let hdu = hdu_of(16, &[10], &["CRPIX1  =                  1.0"]);
    for axis in [
        take(10, 1, 1),
        take(0, 11, 1),
        take(0, 0, 1),
        take(0, 6, 2),
        take(4, 6, -1),
        take(0, 1, 0),
        take(0, 3, i64::MAX),
        take(9, 3, i64::MIN),
        take(u64::MAX, 1, 1),
        take(0, u64::MAX, 1),
        take(1, u64::MAX, -1),
    ] {
        assert_eq!(refusal(&hdu, &[axis]), Code::SectionRange, "{axis:?}");
    }
    assert_eq!(refusal(&hdu, &[]), Code::SectionRange);
    assert_eq!(refusal(&hdu, &[take(0, 1, 1); 2]), Code::SectionRange);
    assert_eq!(refusal(&hdu, &[leave_out(0)]), Code::AxisKept);
    let several = AxisSelection { keep: false, ..take(0, 2, 1) };
    assert_eq!(refusal(&hdu_of(16, &[2, 2], &[""]), &[take(0, 1, 1), several]), Code::AxisKept);
    assert_eq!(refusal(&hdu_of(16, &[], &[""]), &[]), Code::SectionRange);
    assert_eq!(refusal(&hdu_of(16, &[5, 0], &[""]), &[take(0, 1, 1); 2]), Code::SectionRange);
    // A single pixel has no step.
    let header = cut(&hdu, &[take(9, 1, -7)]);
    assert_eq!(header.get_f64("CRPIX1"), Ok(Some(-8.0)));
}

#[test]
fn coordinates_other_than_numbers_are_refused() {
    let refused = |card: &str| refusal(&hdu_of(16, &[10], &[card]), &[take(1, 2, 3)]);
    assert_eq!(refused("CRPIX1  = '5       '"), Code::NumericText);
    assert_eq!(refused("CDELT1A =                    T"), Code::KeywordType);
    assert_eq!(refused("CRPIX1  =                1E999"), Code::KeywordRange);
    assert_eq!(refused("CDELT1  =              1.5E308"), Code::KeywordRange);
    // An empty value is the default.
    let header = cut(&hdu_of(16, &[10], &["CRPIX1  ="]), &[take(1, 2, 3)]);
    assert_eq!(header.get_f64("CRPIX1").unwrap(), Some(-2.0 / 3.0 + 1.0));
    assert_eq!(header.get_f64("CDELT1"), Ok(Some(3.0)));
    // CRPIX99A has no room for another digit.
    let mut axes = [take(0, 1, 1); 120];
    axes[98] = leave_out(0);
    let hdu = hdu_of(16, &[1; 120], &["CRPIX99A=                  1.0"]);
    assert_eq!(refusal(&hdu, &axes), Code::CardText);
}

#[test]
fn bytes_outside_ascii_do_not_change_the_value_of_a_card() {
    let records: [&[u8]; 4] = [
        b"OBJECT  = 'caf\xe9'",
        b"BZERO\x01  =                   7",
        b"END\x01    =                   7",
        b"TABBED  =\t1",
    ];
    let hdu = hdu_of(16, &[10], &records);
    let header = cut_unchecked(&hdu, &[take(0, 10, 1)]);
    assert_eq!(header.get_text("OBJECT"), Ok(Some("café")));
    assert!(header.to_bytes().windows(5).any(|bytes| bytes == b"'caf\xe9"));
    assert_eq!(header.get("BZERO"), None);
    assert_eq!(header.get_i64("TABBED"), Ok(Some(1)));
    assert_eq!(header.cards().len(), 4 + records.len() + 1);
}

/// Like [`cut`], with the warnings that an unusual keyword causes.
fn cut_unchecked(hdu: &Hdu, axes: &[AxisSelection]) -> Header {
    let bytes = cutout_header(hdu, axes).unwrap();
    Header::parse(&bytes, Context::default()).unwrap().0
}

#[test]
fn tables_and_groups_have_no_cutout() {
    let groups = primary(
        16,
        &[0, 3],
        &[
            "GROUPS  =                    T",
            "PCOUNT  =                    0",
            "GCOUNT  =                    1",
        ],
    );
    assert_eq!(refusal(&first(&groups), &[take(0, 1, 1); 2]), Code::NotAnImage);
    let table = extension("BINTABLE", 8, &[3, 2], [0, 1], &["TFIELDS =                    0"]);
    let hdu = walk(&[empty_primary::<&str>(&[]), table].concat()).hdus.remove(1);
    assert_eq!(refusal(&hdu, &[take(0, 1, 1); 2]), Code::NotAnImage);
}

#[test]
fn blank_cards_still_keep_space() {
    let hdu = hdu_of(16, &[10], &["OBJECT  = 'M 31    '", "", ""]);
    let header = cut(&hdu, &[take(0, 5, 1)]);
    assert_eq!(header.cards().iter().rev().take_while(|card| card.is_blank()).count(), 2);
}
