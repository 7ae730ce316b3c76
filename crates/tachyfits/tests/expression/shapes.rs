//! Broadcasting of shapes.

use tachyfits::expression::{ExpressionPixels, InputValue};
use tachyfits::{Image, PixelType, evaluate};

use crate::common::{fits, image};
use crate::{counting, images, input, pixels, result};

fn axes(file: &tachyfits::FitsFile) -> Vec<u64> {
    file.image(0).unwrap().axes().to_vec()
}

#[test]
fn an_image_goes_over_the_channels_of_a_cube() {
    let (cube, plane) = (counting(&[3, 2, 2]), counting(&[3, 2]));
    let file = result("cube - plane", &images(&[("cube", &cube), ("plane", &plane)])).unwrap();
    assert_eq!(axes(&file), [3, 2, 2]);
    assert_eq!(pixels(&file, 1), [[0.0; 6], [6.0; 6]].concat());
}

#[test]
fn an_axis_of_one_pixel_serves_any_length() {
    let (row, column) = (counting(&[3, 1]), counting(&[1, 2]));
    let file = result("10 * c + r", &images(&[("r", &row), ("c", &column)])).unwrap();
    assert_eq!(axes(&file), [3, 2]);
    assert_eq!(pixels(&file, 1), [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
}

#[test]
fn a_spectrum_lies_along_the_given_axis() {
    let square = counting(&[2, 2]);
    for (axis, expected) in [(0, [0.0, 2.0, 2.0, 4.0]), (1, [0.0, 1.0, 3.0, 4.0])] {
        for spectrum in [counting(&[2]), counting(&[1, 2, 1])] {
            let along = input("s", InputValue::Along(spectrum, axis));
            let inputs = [images(&[("a", &square)]), vec![along]].concat();
            let file = result("a + s", &inputs).unwrap();
            assert_eq!((axes(&file), pixels(&file, 1)), (vec![2, 2], expected.to_vec()));
        }
    }
}

#[test]
fn numbers_along_an_axis_decide_neither_the_type_nor_the_unit() {
    let pixels: Vec<u8> = (0..6).flat_map(|index| (index as f32).to_be_bytes()).collect();
    let cube = image(fits(-32, &[2, 1, 3], &["BUNIT   = 'Jy/beam'".to_owned()], &pixels));
    let factors = crate::doubles(&[1, 1, 3], &[0.1, 10.0, 1e3]);
    let factors_input = input("f", InputValue::Numbers(factors));
    let inputs = [images(&[("c", &cube)]), vec![factors_input]].concat();
    let file = evaluate("c * f", &inputs, ExpressionPixels::Automatic, None).unwrap();
    let result_image = file.image(0).unwrap();
    assert_eq!(result_image.stored_type(), PixelType::F32);
    assert_eq!(result_image.layout().unit.as_deref(), Some("Jy/beam"));
    let expected = [0.0, f64::from(0.1_f32), 20.0, 30.0, 4e3, 5e3];
    assert_eq!(crate::pixels(&file, 2), expected);
    let history: Vec<&str> =
        result_image.hdu().header.cards().iter().map(|card| card.comment()).collect();
    assert!(history.contains(&"  f = numbers that vary along NAXIS3"), "{history:?}");
}

#[test]
fn a_spectrum_finds_the_only_axis_of_its_length() {
    let cube = counting(&[3, 2, 4]);
    let file = result("a * 0 + s", &images(&[("a", &cube), ("s", &counting(&[4]))])).unwrap();
    let expected: Vec<f64> = (0..24).map(|index| f64::from(index / 6)).collect();
    assert_eq!(pixels(&file, 2), expected);
    // One pixel is the same along every axis.
    let file = result("a + s", &images(&[("a", &cube), ("s", &counting(&[1]))])).unwrap();
    assert_eq!(pixels(&file, 2)[23], 23.0);
}

#[test]
fn images_of_one_axis_go_pixel_by_pixel() {
    let file = result("a * b", &images(&[("a", &counting(&[3])), ("b", &counting(&[3]))]));
    assert_eq!(pixels(&file.unwrap(), 1), [0.0, 1.0, 4.0]);
}

#[test]
fn empty_images_give_empty_images() {
    let empty = image(fits(-32, &[0, 3], &[], &[]));
    let file = result("a + 1", &images(&[("a", &empty)])).unwrap();
    assert_eq!((axes(&file), pixels(&file, 1)), (vec![0, 3], vec![]));
}

/// Results are float32 if float32 represents all inputs, otherwise float64.
#[test]
fn the_type_follows_the_inputs() {
    let of = |bitpix: i64| {
        let bytes = vec![0; 2 * bitpix.unsigned_abs() as usize / 8];
        image(fits(bitpix, &[2], &[], &bytes))
    };
    let kind = |pairs: &[(&str, &Image)], pixels| {
        let names: Vec<&str> = pairs.iter().map(|(name, _)| *name).collect();
        let file = evaluate(&names.join("+"), &images(pairs), pixels, None).unwrap();
        file.image(0).unwrap().stored_type()
    };
    let (byte, short, long) = (of(8), of(16), of(32));
    let (single, double) = (of(-32), of(-64));
    let automatic = ExpressionPixels::Automatic;
    assert_eq!(kind(&[("a", &byte), ("b", &short), ("c", &single)], automatic), PixelType::F32);
    assert_eq!(kind(&[("a", &single), ("b", &long)], automatic), PixelType::F64);
    assert_eq!(kind(&[("a", &single), ("b", &double)], automatic), PixelType::F64);
    assert_eq!(kind(&[("a", &double)], ExpressionPixels::Float32), PixelType::F32);
    assert_eq!(kind(&[("a", &byte)], ExpressionPixels::Float64), PixelType::F64);
}

/// Expressions over images that are computed themselves, for any number of threads.
#[test]
fn results_are_images_like_others() {
    let cube = counting(&[60, 50, 40]);
    let plane = counting(&[60, 50]);
    let inner = result("cube / 3 - plane", &images(&[("cube", &cube), ("plane", &plane)])).unwrap();
    let inner = inner.image(0).unwrap();
    let inputs = images(&[("i", &inner), ("plane", &plane), ("cube", &cube)]);
    let file = result("3 * (i + plane) - cube", &inputs).unwrap();
    let values = pixels(&file, 1);
    assert!(values.iter().all(|x| x.abs() < 1e-9));
    assert_eq!(values, pixels(&file, 3));
}
