//! Headers: values of cards by keyword, and new cards.

use tachyfits::header::Real;
use tachyfits::{Card, Error, Header, Value};

use super::Outcome;
use crate::failure::Failure;

/// The cards of an existing or a new HDU.
pub struct HeaderHandle(pub(crate) Header);

/// Converts a parser error to the engine's wording.
fn worded<T>(result: Result<T, tachyfits::error::FormatError>) -> Outcome<T> {
    Ok(result.map_err(|error| Error::Format { file: "the header".to_owned(), error })?)
}

impl HeaderHandle {
    pub(crate) fn integer(&self, keyword: &str) -> Outcome<i64> {
        worded(self.0.get_i64(keyword))?.ok_or(Failure::Absent)
    }

    pub(crate) fn real(&self, keyword: &str) -> Outcome<f64> {
        worded(self.0.get_f64(keyword))?.ok_or(Failure::Absent)
    }

    pub(crate) fn logical(&self, keyword: &str) -> Outcome<bool> {
        worded(self.0.get_logical(keyword))?.ok_or(Failure::Absent)
    }

    pub(crate) fn text(&self, keyword: &str) -> Outcome<&str> {
        worded(self.0.get_text(keyword))?.ok_or(Failure::Absent)
    }

    /// Returns keyword, value and comment of the card of this number.
    pub(crate) fn card(&self, number: usize) -> Outcome<[String; 3]> {
        let card = self.0.cards().get(number).ok_or(Failure::Absent)?;
        let value = match card.value() {
            Some(Value::Text(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        Ok([card.keyword().to_owned(), value, card.comment().to_owned()])
    }

    /// Formats all cards as 80 characters each, END included, for the parsers of WCSLIB.
    pub(crate) fn to_text(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    pub(crate) fn set(
        &mut self,
        keyword: &str,
        value: impl Into<Value>,
        comment: &str,
    ) -> Outcome<()> {
        worded(self.0.set(keyword, value, comment))
    }

    pub(crate) fn set_real(&mut self, keyword: &str, value: f64, comment: &str) -> Outcome<()> {
        self.set(keyword, real(keyword, value)?, comment)
    }

    pub(crate) fn add_commentary(&mut self, keyword: &str, text: &str) -> Outcome<()> {
        worded(self.0.push_commentary(keyword, text))
    }

    pub(crate) fn remove(&mut self, keyword: &str) -> usize {
        self.0.remove(keyword)
    }

    pub(crate) fn cards(&self) -> &[Card] {
        self.0.cards()
    }
}

/// Converts a number to the value of a card.
pub(crate) fn real(keyword: &str, value: f64) -> Outcome<Value> {
    let hint = "write another number, or leave the card out";
    let refused = || Failure::argument(keyword, value, "a finite number", hint);
    Ok(Value::Real(Real::from_f64(value).ok_or_else(refused)?))
}
