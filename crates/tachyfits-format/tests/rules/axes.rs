//! Linear axes: defaults, units, rest frequencies.

use tachyfits_format::{Code, LinearAxis};

use crate::build::hdu_of;

fn axis(records: &[&str], number: usize) -> LinearAxis {
    hdu_of(-32, &[4, 4, 4], records).linear_axis(number).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn absent_keywords_have_their_defaults() {
    let axis = axis(&[], 2);
    assert_eq!((&*axis.ctype, &*axis.cunit), ("", ""));
    assert_eq!((axis.crval, axis.crpix, axis.cdelt), (0.0, 0.0, 1.0));
    assert_eq!((axis.restfrq, axis.velref), (None, None));
    assert_eq!((&axis.specsys, axis.coupled), (&None, false));
    assert_eq!(axis.value(7.0), 7.0);
}

#[test]
fn the_increment_comes_from_pc_cd_or_cdelt() {
    let cdelt = "CDELT3  =                  4.0";
    assert_eq!(axis(&[cdelt], 3).cdelt, 4.0);
    assert_eq!(axis(&[cdelt, "PC3_3   =                  0.5"], 3).cdelt, 2.0);
    assert_eq!(axis(&[cdelt, "PC003003=                  0.5"], 3).cdelt, 2.0);
    assert_eq!(axis(&[cdelt, "PC1_1   =                  0.5"], 3).cdelt, 4.0);
    assert_eq!(axis(&[cdelt, "CD3_3   =                  0.5"], 3).cdelt, 0.5);
    assert_eq!(axis(&[cdelt, "CD3_1   =                  0.5"], 3).cdelt, 0.0);
    // Alternate descriptions have no effect.
    assert_eq!(axis(&[cdelt, "CD3_3A  =                  0.5"], 3).cdelt, 4.0);
    // Lower-case keywords are read like any others.
    assert_eq!(axis(&["cdelt3  =                  4.0"], 3).cdelt, 4.0);
}

#[test]
fn an_axis_is_coupled_when_other_pixels_matter() {
    let coupled = |records: &[&str], number| axis(records, number).coupled;
    assert!(coupled(&["PC1_3   =                  0.5"], 1));
    assert!(!coupled(&["PC1_3   =                  0.5"], 3));
    assert!(!coupled(&["PC1_3   =                  0.0"], 1));
    assert!(coupled(&["CD3_2   =                  0.5"], 3));
    let sky = ["CTYPE1  = 'RA---TAN'", "CTYPE2  = 'DEC--TAN'", "CTYPE3  = 'FREQ'"];
    let with = |card| [&sky[..], &[card]].concat();
    for (number, expected) in [(1, true), (2, true), (3, false)] {
        assert_eq!(coupled(&with("CROTA2  =                 30.0"), number), expected);
        assert!(!coupled(&with("CROTA2  =                  0.0"), number));
        assert!(!coupled(&with("CROTA3  =                 30.0"), number));
    }
    // If there is a matrix, CROTA serves readers that do not support it.
    let mut both = with("CROTA2  =                 30.0");
    both.push("CD1_1   =                  1.0");
    assert!(!coupled(&both, 1));
}

#[test]
fn the_rest_frequency_has_three_names() {
    let rest = |records: &[&str]| axis(records, 1).restfrq;
    assert_eq!(rest(&["RESTFRQ =             1.42E+09"]), Some(1.42e9));
    assert_eq!(rest(&["RESTFREQ=             1.42D+09"]), Some(1.42e9));
    assert_eq!(rest(&["RESTWAV =                  0.5"]), Some(2.0 * 299_792_458.0));
    assert_eq!(
        rest(&["RESTFRQ =                  0.0", "RESTFREQ=                  3.0"]),
        Some(3.0)
    );
    assert_eq!(rest(&["RESTFRQ =                  0.0"]), None);
    assert_eq!(rest(&["RESTWAV =               1E-320"]), None);
    assert_eq!(rest(&["RESTFRQ ="]), None);
}

#[test]
fn texts_and_frames_are_given_without_their_padding() {
    let records = [
        "CTYPE1  = 'VRAD    '",
        "CUNIT1  = 'm/s     '",
        "SPECSYS = 'LSRK    '",
        "VELREF  =                  257",
    ];
    let axis = axis(&records, 1);
    assert_eq!((axis.ctype.as_str(), axis.cunit.as_str()), ("VRAD", "m/s"));
    assert_eq!((axis.specsys.as_deref(), axis.velref), (Some("LSRK"), Some(257)));
}

#[test]
fn axes_that_do_not_exist_are_refused() {
    let hdu = hdu_of(-32, &[4], &["WCSAXES =                    3"]);
    assert!(hdu.linear_axis(3).is_ok());
    for axis in [0, 4, usize::MAX] {
        assert_eq!(hdu.linear_axis(axis).unwrap_err().code(), Code::AxisNumber);
    }
    let text = hdu_of(-32, &[4], &["CRVAL1  = '5       '"]).linear_axis(1).unwrap_err();
    assert_eq!((text.code(), text.problem().place.card), (Code::NumericText, Some(4)));
}
