//! Any text as an expression: it is understood or refused with a place within it, and what is understood gives a number for
//! every pixel.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits::{Error, FitsFile, Image, OpenOptions, RunOptions, evaluate};
use tachyfits::expression::{ExpressionInput, ExpressionPixels, InputValue, expression_names};

fuzz_target!(|text: &str| {
    let names = match expression_names(text) {
        Ok(names) => names,
        Err(error) => return check(&error, text),
    };
    let inputs: Vec<ExpressionInput> =
        names.into_iter().enumerate().map(|(number, name)| input(number, name)).collect();
    match evaluate(text, &inputs, ExpressionPixels::Automatic, None) {
        Ok(file) => {
            let image = file.image(0).expect("what is computed is an image");
            match image.stats(&image.whole(), None, &RunOptions::default().threads(1)) {
                Ok((stats, _)) => assert_eq!(stats[0].count + stats[0].nan, 6),
                // Numbers may be too large for float32.
                Err(error) => assert_eq!(error.code(), "io-values", "{error}"),
            }
        }
        Err(error) => check(&error, text),
    }
});

/// Images of several shapes, and numbers.
fn input(number: usize, name: String) -> ExpressionInput {
    let value = match number % 4 {
        0 => InputValue::Image(image(&[3, 2])),
        1 => InputValue::Image(image(&[1, 2])),
        2 => InputValue::Number(-2.5),
        _ => InputValue::Along(image(&[3]), 0),
    };
    ExpressionInput { name, value }
}

fn image(axes: &[u64]) -> Image {
    let mut cards = vec![
        "SIMPLE  =                    T".to_owned(),
        "BITPIX  =                   16".to_owned(),
        format!("NAXIS   = {:>20}", axes.len()),
    ];
    cards.extend((1..).zip(axes).map(|(n, length)| format!("NAXIS{n}  = {length:>20}")));
    cards.push("END".to_owned());
    let mut bytes: Vec<u8> =
        cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    bytes.resize(2880, b' ');
    bytes.extend((0..axes.iter().product::<u64>()).flat_map(|x| (x as i16 - 2).to_be_bytes()));
    bytes.resize(5760, 0);
    let file = FitsFile::from_bytes("fuzz", bytes, &OpenOptions::default());
    file.and_then(|file| file.image(0)).expect("the file is well made")
}

/// The place is within the text, and the words can be written.
fn check(error: &Error, text: &str) {
    let Error::Expression(found) = error else { panic!("another error: {error}") };
    assert!(found.at.start <= found.at.end && found.at.end <= text.len(), "{error}");
    assert!(text.get(found.at.clone()).is_some(), "{error}");
    assert!(format!("{error:#}").lines().count() >= 3, "{error}");
}
