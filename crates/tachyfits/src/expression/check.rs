//! Checks names and shapes: resolves each name of an expression, and derives the shape of the
//! result. No pixels are read here.
//!
//! Shapes broadcast as in NumPy, in FITS order: missing axes follow the last one, and an axis of
//! one pixel matches any length. A spectrum, which has one axis, lies along the axis that the
//! caller names, or along the only axis of its length.

use super::language::{is_name, reserved};
use super::parse::{Expression, Name};
use super::problem::ExpressionProblem;
use crate::error::Error;
use crate::image::Image;

/// Value of a name in an expression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum InputValue {
    /// An image of any rank.
    Image(Image),
    /// A spectrum, and the axis of the result along which it lies; 0 is NAXIS1.
    Along(Image, usize),
    /// Numbers that vary along axes, such as a factor per channel: shaped as an image, but like a
    /// number without a unit and without effect on the type of the result.
    Numbers(Image),
    /// A number.
    Number(f64),
}

/// A name in an expression, and its value.
#[derive(Clone, Debug)]
pub struct ExpressionInput {
    /// The name: letters, digits and underscores.
    pub name: String,
    /// Its value.
    pub value: InputValue,
}

/// Value of a name after checking.
#[derive(Debug)]
pub(crate) enum Bound<'a> {
    Number(f64),
    Image(BoundImage<'a>),
}

/// An input image, and its axes in the result.
#[derive(Debug)]
pub(crate) struct BoundImage<'a> {
    pub(crate) image: &'a Image,
    /// For each axis of the result, the matching axis of the image; `None` if the image is constant along it.
    pub(crate) axes: Vec<Option<usize>>,
    /// Whether it is [`InputValue::Numbers`].
    pub(crate) is_number: bool,
}

/// Inputs of an expression, in the order of their names, and the axes of the result.
#[derive(Debug)]
pub(crate) struct Checked<'a> {
    pub(crate) inputs: Vec<Bound<'a>>,
    pub(crate) axes: Vec<u64>,
}

impl<'a> Checked<'a> {
    /// Iterates over the images, in the order in which the expression names them.
    pub(crate) fn images(&self) -> impl Iterator<Item = &BoundImage<'a>> {
        self.inputs.iter().filter_map(|input| match input {
            Bound::Image(image) => Some(image),
            Bound::Number(_) => None,
        })
    }

    /// Returns the first input that is the same image with the same axes, to avoid reading it twice.
    pub(crate) fn first_alike(&self, number: usize) -> usize {
        let Bound::Image(this) = &self.inputs[number] else { return number };
        let alike = |input: &Bound<'_>| match input {
            Bound::Image(other) => other.axes == this.axes && other.image.is_same(this.image),
            Bound::Number(_) => false,
        };
        self.inputs.iter().position(alike).unwrap_or(number)
    }
}

/// Resolves the names of an expression, and derives the shape of the result.
pub(crate) fn check<'a>(
    text: &str,
    expression: &Expression,
    inputs: &'a [ExpressionInput],
) -> Result<Checked<'a>, Error> {
    check_names(expression, inputs).map_err(|problem| problem.of(text))?;
    let values: Vec<(&Name, &InputValue)> = expression
        .names
        .iter()
        .filter_map(|name| Some((name, &value_of(inputs, name)?.value)))
        .collect();
    let axes = result_axes(&values).map_err(|problem| problem.of(text))?;
    let mut bound = Vec::new();
    for (name, value) in values {
        bound.push(bind(name, value, &axes).map_err(|problem| problem.of(text))?);
    }
    Ok(Checked { inputs: bound, axes })
}

fn value_of<'a>(inputs: &'a [ExpressionInput], name: &Name) -> Option<&'a ExpressionInput> {
    inputs.iter().find(|input| input.name == name.text)
}

/// Checks that each name has an input, and each input a name.
fn check_names(
    expression: &Expression,
    inputs: &[ExpressionInput],
) -> Result<(), ExpressionProblem> {
    for (number, input) in inputs.iter().enumerate() {
        let name = &input.name;
        let found = format!("{name:?}");
        if !is_name(name) {
            let expected = "names of inputs with letters, digits and _, not beginning with a digit";
            return Err(ExpressionProblem::input(0..0, expected, found));
        }
        if let Some(what) = reserved(name) {
            let expected = format!("another name for an input: {name:?} is {what}");
            return Err(ExpressionProblem::input(0..0, expected, found));
        }
        if inputs[..number].iter().any(|other| other.name == *name) {
            return Err(ExpressionProblem::input(0..0, "each name once", format!("{found} twice")));
        }
    }
    for name in &expression.names {
        if value_of(inputs, name).is_none() {
            let names: Vec<&str> = inputs.iter().map(|input| &*input.name).collect();
            let expected = match names.is_empty() {
                true => "inputs for the names of the expression".to_owned(),
                false => format!("one of the inputs: {}", names.join(", ")),
            };
            return Err(ExpressionProblem::input(
                name.at.clone(),
                expected,
                format!("{:?}", name.text),
            )
            .hint(format!("give an image or a number for {}", name.text)));
        }
    }
    let unused =
        inputs.iter().find(|input| expression.names.iter().all(|name| name.text != input.name));
    if let Some(input) = unused {
        let found = format!("{:?}, which is not in it", input.name);
        return Err(ExpressionProblem::input(0..0, "inputs that the expression names", found)
            .hint("leave it out, or correct its name"));
    }
    Ok(())
}

/// Returns the axes of the result, from the images whose shape determines their axes.
fn result_axes(values: &[(&Name, &InputValue)]) -> Result<Vec<u64>, ExpressionProblem> {
    let mut axes: Vec<u64> = Vec::new();
    // The name that determines the length of each axis.
    let mut owners: Vec<&Name> = Vec::new();
    let rank = values.iter().map(|(_, value)| placed_axes(value).len()).max().unwrap_or(0);
    for (name, value) in values {
        let (InputValue::Image(image) | InputValue::Numbers(image)) = value else { continue };
        if image.axes().is_empty() {
            return Err(ExpressionProblem::input(
                name.at.clone(),
                "an image with pixels",
                "no axes",
            ));
        }
        // A spectrum beside images of more axes lies along one of their axes.
        if image.axes().len() == 1 && rank > 1 {
            continue;
        }
        for (axis, &length) in image.axes().iter().enumerate() {
            if axis == axes.len() {
                axes.push(length);
                owners.push(name);
            } else if axes[axis] == 1 {
                (axes[axis], owners[axis]) = (length, name);
            } else if length != 1 && length != axes[axis] {
                return Err(mismatch(name, image, axis, axes[axis], owners[axis]));
            }
        }
    }
    if axes.is_empty() {
        let found = match values.is_empty() {
            true => "no inputs",
            false => "numbers, or spectra without an image",
        };
        return Err(ExpressionProblem::input(0..0, "an image among the inputs", found));
    }
    match pixels(&axes) {
        Some(_) => Ok(axes),
        None => {
            Err(ExpressionProblem::input(0..0, "a result of at most 2^63 pixels", shape(&axes)))
        }
    }
}

/// Returns the axes of an image whose shape determines its position.
fn placed_axes(value: &InputValue) -> &[u64] {
    match value {
        InputValue::Image(image) | InputValue::Numbers(image) => image.axes(),
        InputValue::Along(..) | InputValue::Number(_) => &[],
    }
}

/// Returns the number of pixels; `None` if there are too many.
fn pixels(axes: &[u64]) -> Option<u64> {
    let product = axes.iter().try_fold(1u64, |product, &length| product.checked_mul(length))?;
    (product < 1 << 60).then_some(product)
}

fn mismatch(
    name: &Name,
    image: &Image,
    axis: usize,
    length: u64,
    owner: &Name,
) -> ExpressionProblem {
    let number = axis + 1;
    let expected = format!("NAXIS{number} = {length} as in {}, or 1", owner.text);
    let found = format!("{} of {} pixels", name.text, shape(image.axes()));
    ExpressionProblem::input(name.at.clone(), expected, found).hint(
        "use sections of equal shape, or images whose axes have 1 pixel or are missing at the end",
    )
}

/// Formats a shape in FITS order for messages.
fn shape(axes: &[u64]) -> String {
    let lengths: Vec<String> = axes.iter().map(u64::to_string).collect();
    format!("{} (NAXIS1 first)", lengths.join(" x "))
}

fn bind<'a>(
    name: &Name,
    value: &'a InputValue,
    axes: &[u64],
) -> Result<Bound<'a>, ExpressionProblem> {
    let is_number = matches!(value, InputValue::Numbers(_));
    let image = |image, axes| Ok(Bound::Image(BoundImage { image, axes, is_number }));
    match value {
        InputValue::Number(number) => Ok(Bound::Number(*number)),
        InputValue::Along(spectrum, axis) => image(spectrum, along(name, spectrum, *axis, axes)?),
        InputValue::Image(spectrum) | InputValue::Numbers(spectrum)
            if spectrum.axes().len() == 1 && axes.len() > 1 =>
        {
            let axis = only_axis(name, spectrum.axes()[0], axes)?;
            image(spectrum, along(name, spectrum, axis, axes)?)
        }
        InputValue::Image(input) | InputValue::Numbers(input) => {
            let own = |axis| input.axes().get(axis).is_some_and(|&length| length == axes[axis]);
            image(input, (0..axes.len()).map(|axis| own(axis).then_some(axis)).collect())
        }
    }
}

/// Places a spectrum along an axis of the result.
fn along(
    name: &Name,
    spectrum: &Image,
    axis: usize,
    axes: &[u64],
) -> Result<Vec<Option<usize>>, ExpressionProblem> {
    let problem = |expected, found| Err(ExpressionProblem::input(name.at.clone(), expected, found));
    let own = spectrum.axes();
    let long = own.iter().position(|&length| length != 1);
    let others = own.iter().enumerate().any(|(axis, &length)| length != 1 && Some(axis) != long);
    if own.is_empty() || others {
        return problem("a spectrum: one axis of several pixels".to_owned(), shape(own));
    }
    let Some(&length) = axes.get(axis) else {
        let expected = format!("one of the axes x to NAXIS{} for {}", axes.len(), name.text);
        return problem(expected, format!("NAXIS{}", axis + 1));
    };
    let mut places = vec![None; axes.len()];
    // A single pixel matches every axis.
    let long = long.unwrap_or(0);
    if own[long] == length {
        places[axis] = Some(long);
    } else if own[long] != 1 {
        let expected = format!("NAXIS{} = {length} pixels, or 1, in {}", axis + 1, name.text);
        return problem(expected, own[long].to_string());
    }
    Ok(places)
}

/// Returns the only axis with this length, for a spectrum without a named axis.
fn only_axis(name: &Name, length: u64, axes: &[u64]) -> Result<usize, ExpressionProblem> {
    let fits: Vec<usize> = (0..axes.len()).filter(|&axis| axes[axis] == length).collect();
    match fits[..] {
        [axis] => Ok(axis),
        // A single pixel is the same along every axis.
        _ if length == 1 => Ok(0),
        [] => {
            let expected = format!("an axis of {length} pixels for the spectrum {}", name.text);
            Err(ExpressionProblem::input(
                name.at.clone(),
                expected,
                format!("axes of {}", shape(axes)),
            ))
        }
        _ => {
            let numbers: Vec<String> =
                fits.iter().map(|axis| format!("NAXIS{}", axis + 1)).collect();
            let expected = format!("one axis of {length} pixels for {}", name.text);
            Err(ExpressionProblem::input(name.at.clone(), expected, numbers.join(" and ")).hint(
                "name the axis of the spectrum: {tachyfits.along(spectrum, \
                       \"z\")|s=spectrum.fits@z}",
            ))
        }
    }
}
