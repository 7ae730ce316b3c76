//! Expressions over images, compared with a tree that is evaluated for every pixel. The rest is checked by
//! hand: meanings of words, broadcasting of shapes, errors and their positions, units and headers.

#[path = "../common/mod.rs"]
mod common;

mod headers;
mod refused;
mod shapes;
mod twin;
mod words;

use tachyfits::expression::{ExpressionInput, ExpressionPixels, InputValue};
use tachyfits::{Error, FitsFile, Image, OutputPixels, ReadAs, RunOptions, evaluate};

/// Returns an image of f64 pixels.
fn doubles(axes: &[u64], pixels: &[f64]) -> Image {
    let data: Vec<u8> = pixels.iter().flat_map(|x| x.to_be_bytes()).collect();
    common::image(common::fits(-64, axes, &[], &data))
}

/// Returns an image with pixels 0, 1, 2, ...
fn counting(axes: &[u64]) -> Image {
    let pixels: Vec<f64> = (0..axes.iter().product::<u64>()).map(|index| index as f64).collect();
    doubles(axes, &pixels)
}

fn input(name: &str, value: InputValue) -> ExpressionInput {
    ExpressionInput { name: name.to_owned(), value }
}

fn images(pairs: &[(&str, &Image)]) -> Vec<ExpressionInput> {
    let of = |&(name, image): &(&str, &Image)| input(name, InputValue::Image(image.clone()));
    pairs.iter().map(of).collect()
}

fn result(expression: &str, inputs: &[ExpressionInput]) -> Result<FitsFile, Error> {
    evaluate(expression, inputs, ExpressionPixels::Float64, None)
}

/// Reads every pixel of a file's only image with `threads` threads.
fn pixels(file: &FitsFile, threads: usize) -> Vec<f64> {
    read(file, threads).expect("all pixels can be read")
}

fn read(file: &FitsFile, threads: usize) -> Result<Vec<f64>, Error> {
    let image = file.image(0).expect("a computed file has an image");
    let whole = image.whole();
    let mut values = vec![0.0; whole.pixels() as usize];
    let out = OutputPixels::Float64(&mut values);
    let options = RunOptions::default().threads(threads);
    image.read(&whole, ReadAs::Float64, out, &options)?;
    Ok(values)
}

/// Returns the value of an expression of numbers.
fn number(expression: &str) -> f64 {
    let inputs = images(&[("zero", &doubles(&[1], &[0.0]))]);
    let file = result(&format!("where(zero == 0, {expression}, zero)"), &inputs);
    pixels(&file.unwrap_or_else(|error| panic!("{error}")), 1)[0]
}
