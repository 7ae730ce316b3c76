//! Expressions over images: arithmetic, comparisons and functions, pixel by pixel, in one pass over all inputs.
//!
//! An expression is text. It is parsed (`parse`); its names are resolved and the shape of the
//! result is derived before any pixel is read (`check`); it is compiled to a short program over
//! buffers in the first-level cache (`program`); the program is the node of a computed image
//! (`evaluate`). Arithmetic is in f64 and rounded once, at the end.
//!
//! An undefined pixel is NaN, which propagates through arithmetic. Comparisons with it are false
//! (`!=` is true), and as a truth value it counts as true, both as in NumPy; `isnan` detects it.

mod check;
mod evaluate;
pub(crate) mod language;
pub(crate) mod parse;
pub(crate) mod pattern;
pub(crate) mod problem;
pub(crate) mod program;
mod result_unit;
pub(crate) mod token;

use std::sync::Arc;

use tachyfits_format::{FormatError, Header};
use tachyfits_kernels::{Encoding, PixelType};

use crate::computed::Computed;
use crate::error::Error;
use crate::file::FitsFile;
use crate::image::{Image, tier};
use crate::number::float_encoding;
use crate::survival::{Change, Survivors};

use check::{Bound, BoundImage, Checked, check};
pub use check::{ExpressionInput, InputValue};
use evaluate::{Evaluate, Input};
pub use language::{ExpressionFunction, expression_functions};
use parse::{Expression, parse};
use program::{NameValue, Program};
use result_unit::{ResultUnit, mixed_units, unit_of};
use token::Dialect;

/// Type of the pixels of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExpressionPixels {
    /// Bytes of 0 and 1 for truth values ([`Image::is_logical`]); else float32 if every image has
    /// pixels of at most 16 bits or float32; else float64.
    #[default]
    Automatic,
    /// float32.
    Float32,
    /// float64.
    Float64,
}

/// Evaluates an expression over images. The result is a file that is computed when it is read or written.
///
/// Shapes broadcast as in NumPy, in FITS order: axes may be missing at the end, and an axis of one
/// pixel matches any length. A spectrum (one axis) lies along its named axis, or along the only
/// axis of its length. The header comes from the first image with the result's shape. BUNIT is
/// `unit` if specified (empty for none), otherwise it is kept if it is certain.
///
/// ```
/// use tachyfits::{Array, Header, RunOptions, evaluate};
/// use tachyfits::expression::{ExpressionInput, ExpressionPixels, InputValue};
/// // Three pixels: 1 4 9.
/// let image = Array::new(&[1u8, 4, 9], &[3]).to_file("example", &Header::new())?.image(0)?;
/// let inputs = [
///     ExpressionInput { name: "a".to_owned(), value: InputValue::Image(image) },
///     ExpressionInput { name: "c".to_owned(), value: InputValue::Number(10.0) },
/// ];
/// let result = evaluate("sqrt(a) + c", &inputs, ExpressionPixels::Automatic, None)?.image(0)?;
/// let (stats, _) = result.stats(&result.whole(), None, &RunOptions::default())?;
/// assert_eq!((stats[0].sum.value(), stats[0].max.unwrap().value), (36.0, 13.0));
/// # Ok::<(), tachyfits::Error>(())
/// ```
///
/// # Errors
/// [`crate::Reason::Expression`] if it is invalid, [`crate::Reason::ExpressionInput`] if a name has
/// no input, an input no name, or shapes cannot be broadcast: both show the position in the
/// expression. No pixels are read.
pub fn evaluate(
    expression: &str,
    inputs: &[ExpressionInput],
    pixels: ExpressionPixels,
    unit: Option<&str>,
) -> Result<FitsFile, Error> {
    let parsed = parse(expression, Dialect::Pixels).map_err(|problem| problem.of(expression))?;
    let checked = check(expression, &parsed, inputs)?;
    let node = node_of(&parsed, &checked, pixels)?;
    let survivors = survivors_of(expression, &parsed, &checked, unit)?;
    FitsFile::computed(Computed::new(expression.to_owned(), Arc::new(node), survivors)?)
}

/// Returns pairs of different units (BUNIT) whose values an expression adds, compares or selects.
/// Units are compared as text.
///
/// # Errors
/// As [`evaluate`].
pub fn expression_mixed_units(
    expression: &str,
    inputs: &[ExpressionInput],
) -> Result<Vec<[String; 2]>, Error> {
    let parsed = parse(expression, Dialect::Pixels).map_err(|problem| problem.of(expression))?;
    let checked = check(expression, &parsed, inputs)?;
    Ok(mixed_units(&parsed, &checked.inputs))
}

/// Checks the syntax of an expression and returns its names; names and shapes are not checked.
///
/// # Errors
/// [`crate::Reason::Expression`].
pub fn expression_names(expression: &str) -> Result<Vec<String>, Error> {
    let parsed = parse(expression, Dialect::Pixels).map_err(|problem| problem.of(expression))?;
    Ok(parsed.names.into_iter().map(|name| name.text).collect())
}

fn node_of(
    parsed: &Expression,
    checked: &Checked<'_>,
    pixels: ExpressionPixels,
) -> Result<Evaluate, Error> {
    let names: Vec<NameValue> = (0..checked.inputs.len())
        .map(|number| match &checked.inputs[number] {
            Bound::Number(value) => NameValue::Number(*value),
            Bound::Image(_) => NameValue::Pixels(checked.first_alike(number)),
        })
        .collect();
    let (program, operands) = Program::new(parsed, &names, tier());
    let mut inputs = Vec::new();
    for number in operands {
        if let Bound::Image(bound) = &checked.inputs[number] {
            inputs.push(Input { node: bound.image.node()?, axes: bound.axes.clone() });
        }
    }
    let is_logical = pixels == ExpressionPixels::Automatic && parsed.is_logical();
    let pixel = match pixels {
        _ if is_logical => PixelType::U8,
        ExpressionPixels::Float32 => PixelType::F32,
        ExpressionPixels::Float64 => PixelType::F64,
        ExpressionPixels::Automatic
            if checked.images().all(|bound| bound.is_number || is_short(bound.image)) =>
        {
            PixelType::F32
        }
        ExpressionPixels::Automatic => PixelType::F64,
    };
    let encoding = Encoding::plain(pixel);
    Ok(Evaluate { axes: checked.axes.clone(), inputs, program, encoding, is_logical })
}

/// Whether float32 is precise enough for these pixels: at most 16 bits or float32, scaled within its range.
fn is_short(image: &Image) -> bool {
    float_encoding(&image.encoding(), 1.0).pixel == PixelType::F32
}

/// Returns the cards and companion of an input with the change applied.
fn survivors_of(
    expression: &str,
    parsed: &Expression,
    checked: &Checked<'_>,
    unit: Option<&str>,
) -> Result<Survivors, Error> {
    let describe = |header: &mut Header| described(header, expression, parsed, checked, unit);
    let Some(bound) = carrier(checked) else {
        let survivors = Survivors::of_header(Header::new()).change(describe);
        return survivors.map_err(|error| Error::Format { file: expression.to_owned(), error });
    };
    let survivors = bound.image.survivors(Change::Values)?;
    bound.image.format_error(survivors.change(describe))
}

/// Returns the image whose coordinates the result has: the first of the same shape; else the first
/// that shares the most leading axes, if more than one.
fn carrier<'a>(checked: &'a Checked<'_>) -> Option<&'a BoundImage<'a>> {
    let mut best: Option<&BoundImage<'_>> = None;
    for bound in checked.images().filter(|bound| !bound.is_number) {
        let axes = bound.image.axes();
        let least = best.map_or(1, |best| best.image.axes().len());
        if axes == checked.axes {
            return Some(bound);
        }
        if axes.len() > least && checked.axes.starts_with(axes) {
            best = Some(bound);
        }
    }
    best
}

/// Updates a header with the unit of the result and its history.
fn described(
    header: &mut Header,
    expression: &str,
    parsed: &Expression,
    checked: &Checked<'_>,
    request: Option<&str>,
) -> Result<(), FormatError> {
    let unit = match request.map(str::trim) {
        Some("") => ResultUnit::None,
        Some(text) => ResultUnit::Known(text.to_owned()),
        None => unit_of(parsed, &checked.inputs),
    };
    let carried = header.get_text("BUNIT")?.map(str::trim).unwrap_or_default().to_owned();
    if unit != ResultUnit::Known(carried.clone()) {
        // BTYPE names the quantity of the input, which has changed.
        header.remove("BTYPE");
    }
    match &unit {
        // A unit that does not fit in a card is an error if it was requested, and otherwise left out.
        ResultUnit::Known(unit) if request.is_some() && *unit != carried => {
            header.set("BUNIT", &**unit, "")?
        }
        ResultUnit::Known(unit) if *unit != carried && header.set("BUNIT", &**unit, "").is_ok() => {
        }
        ResultUnit::Known(unit) if *unit == carried => {}
        _ => drop(header.remove("BUNIT")),
    }
    header.push_commentary("HISTORY", &printable(&format!("tachyfits math: {expression}")))?;
    for (name, input) in parsed.names.iter().zip(&checked.inputs) {
        let what = match input {
            Bound::Number(value) => value.to_string(),
            Bound::Image(bound) if bound.is_number => varying(bound),
            Bound::Image(bound) => {
                format!("{}, HDU {}", bound.image.file_name(), bound.image.hdu().index)
            }
        };
        header.push_commentary("HISTORY", &printable(&format!("  {} = {what}", name.text)))?;
    }
    if unit == ResultUnit::Unknown
        && checked.images().any(|bound| bound.image.layout().unit.is_some())
    {
        header.push_commentary("HISTORY", "  without BUNIT, because the unit is not certain")?;
    }
    Ok(())
}

/// Describes numbers that vary along axes, for HISTORY.
fn varying(bound: &BoundImage<'_>) -> String {
    let varies = |place: &Option<usize>| place.is_some_and(|own| bound.image.axes()[own] > 1);
    let along = bound.axes.iter().enumerate().filter(|(_, place)| varies(place));
    let axes: Vec<String> = along.map(|(axis, _)| format!("NAXIS{}", axis + 1)).collect();
    match axes.is_empty() {
        true => "a number".to_owned(),
        false => format!("numbers that vary along {}", axes.join(" and ")),
    }
}

/// Replaces the characters that a card cannot contain.
fn printable(text: &str) -> String {
    let fit = |character: char| match character {
        ' '..='~' => character,
        _ if character.is_whitespace() => ' ',
        _ => '?',
    };
    text.chars().map(fit).collect()
}
