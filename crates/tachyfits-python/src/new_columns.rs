//! Columns of new tables, as described by Python, and their values.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use tachyfits::header::ValueType;
use tachyfits::table::{
    ColumnInput, Element, Field, NewColumn, Null, Substrings, TextAs, TextForm,
};

use crate::errors::argument;
use crate::text::GivenText;

/// A new column, from a dictionary in Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ColumnGiven {
    name: GivenText,
    /// Type of the elements: NumPy's name of a number, "bool", "bit" or "text"; in an ASCII table a form such as "I6"
    /// or "F8.3".
    element: String,
    /// Number of elements per cell; for text, of characters.
    repeat: u64,
    /// Characters of one string, if a cell has several.
    width: u64,
    /// "P" or "Q" descriptors, if cells are arrays of different lengths.
    variable: Option<String>,
    null: Option<NullGiven>,
    /// Dimensions in FITS order.
    dimensions: Vec<u64>,
    /// For variable-length strings in a field of characters: the maximum length of one string, and the code of the
    /// separator.
    substrings: Option<(u64, u8)>,
    unit: Option<GivenText>,
    display: Option<GivenText>,
    scaling: Option<(f64, f64)>,
}

/// TNULLn: a stored integer, or the text of a field in an ASCII table.
#[derive(FromPyObject)]
enum NullGiven {
    #[pyo3(transparent)]
    Stored(i64),
    #[pyo3(transparent)]
    Text(GivenText),
}

impl ColumnGiven {
    /// Converts the column for the engine.
    pub(crate) fn engine(self, py: Python<'_>, is_ascii: bool) -> PyResult<NewColumn> {
        let field = if is_ascii { text_field(py, &self.element)? } else { self.field(py)? };
        let null = self.null.map(|null| match null {
            NullGiven::Stored(value) => Null::Stored(value),
            NullGiven::Text(text) => Null::Text(text.into()),
        });
        let substrings = self.substrings.map(|(most, delimiter)| Substrings { most, delimiter });
        let ColumnGiven { name, dimensions, unit, display, scaling, .. } = self;
        let unit = unit.map(String::from);
        // Values may have another type than in the original column: bits become truth values.
        let display = display.map(String::from).filter(|display| field.takes_display(display));
        let column = NewColumn::new(&name, field).unit(unit).display(display);
        Ok(column.scaling(scaling).null(null).dimensions(dimensions).substrings(substrings))
    }

    fn field(&self, py: Python<'_>) -> PyResult<Field> {
        let element = element(py, &self.element)?;
        let (repeat, width) = (self.repeat, self.width);
        Ok(match self.variable.as_deref() {
            None => Field::Fixed { element, repeat, width },
            Some(letter) => Field::Variable { element, wide: letter == "Q", repeat: 1, most: None },
        })
    }
}

/// Returns the element type of a name.
fn element(py: Python<'_>, name: &str) -> PyResult<Element> {
    Ok(match name {
        "bool" => Element::Logical,
        "bit" => Element::Bit,
        "text" => Element::Character,
        "uint8" => Element::Number(ValueType::U8),
        "int8" => Element::Number(ValueType::I8),
        "int16" => Element::Number(ValueType::I16),
        "uint16" => Element::Number(ValueType::U16),
        "int32" => Element::Number(ValueType::I32),
        "uint32" => Element::Number(ValueType::U32),
        "int64" => Element::Number(ValueType::I64),
        "uint64" => Element::Number(ValueType::U64),
        "float32" => Element::Number(ValueType::F32),
        "float64" => Element::Number(ValueType::F64),
        "complex64" => Element::Complex32,
        "complex128" => Element::Complex64,
        other => {
            let expected = "elements of a column: a number type of NumPy, bool, bit or text";
            return Err(argument(py, expected, &format!("{other:?}"), "give one of these"));
        }
    })
}

/// Returns the field of an ASCII table for a form such as "A10", "I6", "F8.3", "E15.7" or "D25.17".
fn text_field(py: Python<'_>, form: &str) -> PyResult<Field> {
    let unfit = || {
        let hint = "a form is Aw, Iw, Fw.d, Ew.d or Dw.d: w characters, d of them decimals";
        argument(py, "a form of an ASCII table", &format!("{form:?}"), hint)
    };
    let text = match form.chars().next() {
        Some('A') => TextForm::Characters,
        Some('I') => TextForm::Integer,
        Some('F') => TextForm::Fixed,
        Some('E') => TextForm::Exponent,
        Some('D') => TextForm::Double,
        _ => return Err(unfit()),
    };
    let (width, decimals) = form[1..].split_once('.').unwrap_or((&form[1..], "0"));
    let number = |digits: &str| digits.parse::<u32>().map_err(|_| unfit());
    Ok(Field::Text { text, width: number(width)?, decimals: number(decimals)? })
}

/// Cells of one column for some rows: bytes of native values, offsets of arrays, null flags.
pub(crate) type CellsGiven<'py> = (
    PyReadonlyArray1<'py, u8>,
    Option<PyReadonlyArray1<'py, i64>>,
    Option<PyReadonlyArray1<'py, u8>>,
);

/// Converts cells for the engine; text is passed as bytes.
pub(crate) fn inputs<'a>(cells: &'a [CellsGiven<'_>], raw: bool) -> PyResult<Vec<ColumnInput<'a>>> {
    cells
        .iter()
        .map(|(values, offsets, nulls)| {
            Ok(ColumnInput::new(values.as_slice()?)
                .offsets(offsets.as_ref().map(|offsets| offsets.as_slice()).transpose()?)
                .nulls(nulls.as_ref().map(|nulls| nulls.as_slice()).transpose()?)
                .raw(raw)
                .text(TextAs::Bytes))
        })
        .collect()
}
