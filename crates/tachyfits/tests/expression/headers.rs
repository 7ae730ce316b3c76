//! Headers of results: coordinates, unit and history.

use tachyfits::Image;
use tachyfits::expression::{ExpressionInput, InputValue};

use crate::common::{fits, image};
use crate::{images, input, result};

fn image_with(axes: &[u64], cards: &[&str]) -> Image {
    let count = axes.iter().product::<u64>() as usize;
    let cards: Vec<String> = cards.iter().map(|&card| card.to_owned()).collect();
    image(fits(-32, axes, &cards, &vec![0; 4 * count]))
}

fn text(file: &tachyfits::FitsFile, keyword: &str) -> Option<String> {
    let image = file.image(0).unwrap();
    image.hdu().header.get_text(keyword).unwrap().map(str::to_owned)
}

fn unit(expression: &str, inputs: &[ExpressionInput]) -> Option<String> {
    text(&result(expression, inputs).unwrap(), "BUNIT")
}

#[test]
fn the_unit_stays_where_it_is_sure() {
    let (a, b) = (image_with(&[2], &["BUNIT   = 'K'"]), image_with(&[2], &["BUNIT   = 'K'"]));
    let (other, bare) = (image_with(&[2], &["BUNIT   = 'Jy/beam'"]), image_with(&[2], &[]));
    let all = [("a", &a), ("b", &b), ("other", &other), ("bare", &bare)];
    let sure = [
        "a + b",
        "a - 2 * b",
        "a / 3 + 1",
        "-a",
        "abs(a)",
        "round(a)",
        "a * (b > 1)",
        "a * (b / a)",
        "where(other > 1, a, nan)",
        "clip(a, 0, 5)",
        "max(a, b)",
        "a % 3",
        "a * sin(1)",
        "a",
        "where(bare, a, b)",
        "a * isnan(other)",
    ];
    let unsure = [
        "a * b",
        "a + other",
        "a + bare",
        "sqrt(a)",
        "a ** 2",
        "1 / a",
        "a * bare",
        "a / b",
        "a > 1",
        "exp(a)",
        "not a",
        "where(a, b, other)",
    ];
    for (expressions, expected) in [(&sure[..], Some("K")), (&unsure[..], None)] {
        for expression in expressions {
            let selected: Vec<(&str, &Image)> = all
                .iter()
                .filter(|(name, _)| {
                    expression.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == *name)
                })
                .copied()
                .collect();
            let actual = unit(expression, &images(&selected));
            assert_eq!(actual.as_deref(), expected, "{expression}");
        }
    }
    // The unit of the second image if the first has none; numbers have none either.
    let inputs = [images(&[("bare", &bare), ("a", &a)]), vec![input("c", InputValue::Number(2.0))]];
    assert_eq!(unit("where(bare > 1, c * a, 0)", &inputs.concat()).as_deref(), Some("K"));
}

#[test]
fn coordinates_are_those_of_the_first_image_of_the_shape() {
    let cube = image_with(&[2, 2, 3], &["OBJECT  = 'cube'", "CTYPE3  = 'FREQ'", "DATAMAX =   5.0"]);
    let second = image_with(&[2, 2, 3], &["OBJECT  = 'second'"]);
    let plane = image_with(&[2, 2], &["OBJECT  = 'plane'", "CTYPE1  = 'RA---SIN'"]);
    let spectrum = image_with(&[3], &["OBJECT  = 'spectrum'", "CTYPE1  = 'FREQ'"]);
    let object = |expression: &str, named: &[(&str, &Image)]| {
        text(&result(expression, &images(named)).unwrap(), "OBJECT")
    };
    let all = [("p", &plane), ("s", &spectrum), ("c", &cube), ("d", &second)];
    assert_eq!(object("p + s + c + d", &all).as_deref(), Some("cube"));
    assert_eq!(object("d + s + p + c", &all).as_deref(), Some("second"));
    // An image and a spectrum along the third axis: the coordinates of the image remain valid.
    let long = input("s", InputValue::Along(spectrum.clone(), 2));
    let flat = image_with(&[2, 2, 1], &["OBJECT  = 'flat'"]);
    let third = image_with(&[1, 1, 3], &["OBJECT  = 'third'"]);
    assert_eq!(object("p + t", &[("p", &plane), ("t", &third)]).as_deref(), Some("plane"));
    assert_eq!(object("f + t", &[("f", &flat), ("t", &third)]), None);
    let file = result("c * s", &[images(&[("c", &cube)]), vec![long]].concat()).unwrap();
    assert_eq!(text(&file, "OBJECT").as_deref(), Some("cube"));
    // Cards about the old pixels are removed.
    assert!(file.image(0).unwrap().hdu().header.get("DATAMAX").is_none());
}

#[test]
fn history_records_the_operation() {
    let cube = image_with(&[2], &["BUNIT   = 'K'"]);
    let inputs = [images(&[("a", &cube)]), vec![input("c", InputValue::Number(2.5))]].concat();
    let file = result("a **\n c", &inputs).unwrap();
    let image = file.image(0).unwrap();
    let history: Vec<&str> = image
        .hdu()
        .header
        .cards()
        .iter()
        .filter(|card| card.keyword() == "HISTORY")
        .map(|card| card.comment())
        .collect();
    assert_eq!(
        history,
        [
            "tachyfits math: a **  c",
            "  a = made.fits, HDU 0",
            "  c = 2.5",
            "  without BUNIT, because the unit is not certain",
        ]
    );
}
