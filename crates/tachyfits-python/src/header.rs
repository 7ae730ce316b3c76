//! Cards of a header, with Python values.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple, PyType};
use tachyfits::error::FormatError;
use tachyfits::header::{Integer, Real};
use tachyfits::{Card, Error, Hdu, Value};

use crate::buffer;
use crate::errors::{OrRaise, argument, warn};
use crate::text::GivenText;

/// Attribute of a Python card that keeps the bytes of its records, so that a new file gets the card unchanged.
const RECORDS: &str = "_records";

/// (keyword, value, comment).
pub(crate) type Row<'py> = (Bound<'py, PyString>, Option<Bound<'py, PyAny>>, Bound<'py, PyString>);

/// Return whether a keyword belongs to a column of a table.
#[pyfunction]
pub(crate) fn column_keyword(
    keyword: &str,
    places: HashMap<usize, usize>,
) -> (bool, Option<String>) {
    let renumbered =
        tachyfits::header::column_keyword(keyword, |column| places.get(&column).copied());
    (renumbered.is_some(), renumbered.flatten())
}

/// Return the part of the comment that fits on a new card of text.
#[pyfunction]
pub(crate) fn comment_kept(
    py: Python<'_>,
    keyword: GivenText,
    value: GivenText,
    comment: GivenText,
) -> PyResult<String> {
    let file = || "a new header".to_owned();
    let card = Card::new(&keyword, &*value, &comment);
    let card = card.map_err(|error| Error::Format { file: file(), error }).or_raise(py)?;
    Ok(card.comment().to_owned())
}

/// Return the column (from 1) that a keyword belongs to, and the keyword with "#" in place of the number.
#[pyfunction]
pub(crate) fn column_pattern(keyword: GivenText) -> Option<(usize, String)> {
    let column_keyword = tachyfits::header::ColumnKeyword::of(&keyword)?;
    Some((column_keyword.column(), column_keyword.pattern()?.to_ascii_uppercase()))
}

/// The cards of one HDU, in order.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct Header(Arc<Hdu>);

impl Header {
    pub(crate) fn new(hdu: Arc<Hdu>) -> Header {
        Header(hdu)
    }

    /// Returns the first card of a keyword: one with a value if possible, otherwise a commentary card.
    fn card_of(&self, keyword: &str) -> Option<&Card> {
        let header = &self.0.header;
        match header.meant(keyword) {
            Some(at) => header.cards().get(at),
            None => header
                .cards()
                .iter()
                .find(|card| card.is_commentary() && card.keyword().eq_ignore_ascii_case(keyword)),
        }
    }
}

#[pymethods]
impl Header {
    /// Return (keyword, value, comment) of every card except END, each as a tuple of this kind.
    #[pyo3(signature = (kind=None))]
    fn cards<'py>(
        &self,
        py: Python<'py>,
        kind: Option<Bound<'py, PyType>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        rows(py, self.0.header.cards(), kind)
    }

    /// Return the header's blocks as stored in the file.
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        buffer::bytes(py, &self.0.header.to_bytes())
    }

    /// Return the value of a keyword, of its first card if it occurs twice; KeyError if it is missing.
    fn get<'py>(&self, py: Python<'py>, keyword: GivenText) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.card_of(&keyword) {
            Some(card) => value_of(py, card),
            None => Err(PyKeyError::new_err(String::from(keyword))),
        }
    }

    /// Return (keyword, value, comment) of the card that `get` reads; None if it is missing.
    fn card<'py>(&self, py: Python<'py>, keyword: GivenText) -> PyResult<Option<Row<'py>>> {
        self.card_of(&keyword).map(|card| row(py, card)).transpose()
    }

    /// Return (keyword, value, comment) of one of the cards, counted from 0; IndexError beyond the last one.
    fn card_at<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Row<'py>> {
        let card = self.0.header.cards().get(index);
        row(py, card.ok_or_else(|| PyIndexError::new_err(index))?)
    }

    fn __contains__(&self, keyword: GivenText) -> bool {
        self.card_of(&keyword).is_some()
    }

    fn __len__(&self) -> usize {
        self.0.header.cards().len()
    }

    fn __repr__(&self) -> String {
        format!("<Header of HDU {}: {} cards>", self.0.index, self.0.header.cards().len())
    }
}

/// Converts cards to Python: to plain tuples, or to tuples of a kind that keeps the records.
pub(crate) fn rows<'py>(
    py: Python<'py>,
    cards: &[Card],
    kind: Option<Bound<'py, PyType>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let make = py.get_type::<PyTuple>().getattr("__new__")?;
    // One by one, so that the garbage collector never has many plain tuples to check.
    let objects = cards.iter().map(|card| {
        let row = row(py, card)?;
        let Some(kind) = &kind else { return Ok(row.into_pyobject(py)?.into_any()) };
        let object = make.call1((kind, row))?;
        object.setattr(pyo3::intern!(py, RECORDS), PyBytes::new(py, card.raw()))?;
        Ok(object)
    });
    PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)
}

fn row<'py>(py: Python<'py>, card: &Card) -> PyResult<Row<'py>> {
    let [keyword, comment] = [card.keyword(), comment_of(card)].map(|text| PyString::new(py, text));
    Ok((keyword, value_of(py, card)?, comment))
}

fn value_of<'py>(py: Python<'py>, card: &Card) -> PyResult<Option<Bound<'py, PyAny>>> {
    match card.value() {
        Some(value) => python_value(py, value),
        None => Ok(Some(card.comment().into_pyobject(py)?.into_any())),
    }
}

/// Returns the comment; a commentary card has its text in place of a value.
fn comment_of(card: &Card) -> &str {
    if card.is_commentary() { "" } else { card.comment() }
}

fn python_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Option<Bound<'py, PyAny>>> {
    let complex = |re, im| PyComplex::from_doubles(py, re, im).into_any();
    Ok(Some(match value {
        Value::Logical(logical) => logical.into_pyobject(py)?.to_owned().into_any(),
        Value::Integer(integer) => python_integer(py, integer)?,
        Value::Real(real) => real.as_f64().into_pyobject(py)?.into_any(),
        Value::ComplexInteger(re, im) => complex(re.as_f64(), im.as_f64()),
        Value::Complex(re, im) => complex(re.as_f64(), im.as_f64()),
        Value::Text(text) | Value::Invalid(text) => text.into_pyobject(py)?.into_any(),
        Value::Undefined => return Ok(None),
    }))
}

/// Converts an integer of any length exactly.
fn python_integer<'py>(py: Python<'py>, integer: &Integer) -> PyResult<Bound<'py, PyAny>> {
    match integer.as_i64() {
        Some(small) => Ok(small.into_pyobject(py)?.into_any()),
        None => py.get_type::<PyInt>().call1((integer.text(),)),
    }
}

/// A card from Python, with a value as [`Header`] returns it.
pub(crate) struct GivenCard<'py> {
    row: Row<'py>,
    /// Records of a card that comes unchanged from a file.
    records: Option<Bound<'py, PyBytes>>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for GivenCard<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<GivenCard<'py>> {
        let records = match object.is_exact_instance_of::<PyTuple>() {
            true => None,
            false => object.getattr_opt(pyo3::intern!(object.py(), RECORDS))?,
        };
        let records = records.and_then(|records| records.cast_into().ok());
        Ok(GivenCard { row: object.extract()?, records })
    }
}

impl GivenCard<'_> {
    /// Returns the card derived from a file's card with the same comment: unchanged, or with another keyword or value
    /// if the comment is not ASCII, so that only the bytes of the file contain it.
    fn stored(&self, py: Python<'_>) -> PyResult<Option<Result<Card, FormatError>>> {
        let records = self.records.as_ref().map(|records| records.as_bytes());
        let Some(card) = records.and_then(Card::from_records) else { return Ok(None) };
        let (keyword, value, comment) = &self.row;
        let (keyword, comment) = (GivenText::of(keyword), GivenText::of(comment));
        if comment_of(&card) != &*comment {
            return Ok(None);
        }
        let is_same_value = match (value_of(py, &card)?, value) {
            (None, None) => true,
            (Some(old), Some(new)) => old.get_type().is(new.get_type()) && old.eq(new)?,
            _ => false,
        };
        if is_same_value && card.keyword() == &*keyword {
            return Ok(Some(Ok(card)));
        }
        if comment.is_ascii() || card.is_commentary() {
            return Ok(None);
        }
        let value = engine_value(py, &keyword, value.clone())?;
        Ok(Some(card.with_value(&keyword, value)))
    }
}

/// Cards from Python.
pub(crate) type Cards<'py> = Vec<GivenCard<'py>>;

/// Returns a header with these cards, for a file that does not exist yet.
pub(crate) fn engine_header(py: Python<'_>, cards: Cards<'_>) -> PyResult<tachyfits::Header> {
    header_for(py, "a new header", cards, true)
}

/// Returns a header with these cards; messages refer to `file`. `warns`: whether to warn of truncated comments.
pub(crate) fn header_for(
    py: Python<'_>,
    file: &str,
    cards: Cards<'_>,
    warns: bool,
) -> PyResult<tachyfits::Header> {
    let mut header_cards = Vec::new();
    let mut cut = Vec::new();
    for given_card in cards {
        let error_of = |error| Error::Format { file: file.to_owned(), error };
        if let Some(card) = given_card.stored(py)? {
            header_cards.push(card.map_err(error_of).or_raise(py)?);
            continue;
        }
        let (keyword, value, comment) = given_card.row;
        let (keyword, comment) = (GivenText::of(&keyword), GivenText::of(&comment));
        if matches!(&*keyword, "" | "COMMENT" | "HISTORY") {
            let text =
                value.map_or(Ok(String::new()), |value| value.str().map(|t| t.to_string()))?;
            header_cards.extend(Card::commentary(&keyword, &text).map_err(error_of).or_raise(py)?);
        } else {
            let value = engine_value(py, &keyword, value)?;
            let card = Card::new(&keyword, value, &comment).map_err(error_of).or_raise(py)?;
            if card.cuts(&comment) {
                cut.push((String::from(keyword), card.comment().to_owned(), String::from(comment)));
            }
            header_cards.push(card);
        }
    }
    if warns && !cut.is_empty() {
        warn_of_cuts(py, file, &cut)?;
    }
    Ok(tachyfits::Header::from_cards(header_cards))
}

/// Warns of truncated comments: the keyword, the rest and the original of each.
fn warn_of_cuts(py: Python<'_>, file: &str, cut: &[(String, String, String)]) -> PyResult<()> {
    const MOST_NAMED: usize = 16;
    let lines = cut.iter().take(MOST_NAMED).map(|(keyword, rest, was)| {
        format!("\n  - the comment of {keyword} is cut to fit the card, {rest:?}; it was {was:?}")
    });
    let lines: String = lines.collect();
    let more = match cut.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!("\n  - and {more} more"),
    };
    warn(py, format!("{file}:{lines}{more}"))
}

pub(crate) fn engine_value(
    py: Python<'_>,
    keyword: &str,
    value: Option<Bound<'_, PyAny>>,
) -> PyResult<Value> {
    let Some(value) = value else { return Ok(Value::Undefined) };
    let unfit = || {
        let hint = "header values are bool, int, float (finite), str, complex or None";
        argument(py, &format!("a value for {keyword}"), &value.to_string(), hint)
    };
    let real = |number: f64| Real::from_f64(number).ok_or_else(unfit);
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Logical(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return Integer::parse(&value.to_string()).map(Value::Integer).ok_or_else(unfit);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Real(real(value.extract()?)?));
    }
    if let Ok(complex) = value.cast::<PyComplex>() {
        return Ok(Value::Complex(real(complex.real())?, real(complex.imag())?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::from(String::from(value.extract::<GivenText>()?)));
    }
    Err(unfit())
}
