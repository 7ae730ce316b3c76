//! Formats numbers as text in the fields of an ASCII table.

use tachyfits_format::TextForm;
use tachyfits_format::text::{TextError, is_null_text, write_integer, write_real};

use super::encode::{EncodedRows, EncodedValues};

/// A field of an ASCII table with a number.
#[derive(Clone, Debug)]
pub(crate) struct WrittenField {
    pub(crate) form: TextForm,
    pub(crate) width: usize,
    pub(crate) decimals: u32,
    /// TSCALn and TZEROn.
    pub(crate) scaling: Option<(f64, f64)>,
    /// TNULLn.
    pub(crate) null: Option<String>,
}

/// A value that does not fit: row within the block, expected and actual value.
pub(crate) type Misfit = (u64, String, String);

/// Writes one number into each row, at `offset`.
pub(crate) fn write_text(
    field: &WrittenField,
    input: EncodedValues<'_>,
    offset: usize,
    block: &mut EncodedRows<'_>,
) -> Result<(), Misfit> {
    let (values, _) = input.values.as_chunks::<8>();
    let rows = block.bytes.chunks_mut(block.stride).zip(values);
    let as_integer = field.form == TextForm::Integer && field.scaling.is_none();
    for (row, (bytes, value)) in rows.enumerate() {
        let text = &mut bytes[offset..offset + field.width];
        let is_null = input.nulls.is_some_and(|nulls| nulls[row] != 0);
        let result = match as_integer {
            _ if is_null => Err(TextError::NotFinite),
            true => write_integer(i64::from_ne_bytes(*value), text),
            false => field.write_real(f64::from_ne_bytes(*value), text),
        };
        let number = || match as_integer {
            true => i64::from_ne_bytes(*value).to_string(),
            false => f64::from_ne_bytes(*value).to_string(),
        };
        match result {
            Ok(()) if field.null.as_ref().is_some_and(|null| is_null_text(text, null)) => {
                let expected = "numbers other than TNULL".to_owned();
                return Err((row as u64, expected, number()));
            }
            Ok(()) => {}
            Err(TextError::NotFinite) => field.write_null(text).map_err(|expected| {
                let found = if is_null { "a null".to_owned() } else { number() };
                (row as u64, expected, found)
            })?,
            Err(error) => {
                let expected = format!("numbers that {} characters hold", field.width);
                return Err((row as u64, expected, format!("{}, {error}", number())));
            }
        }
    }
    Ok(())
}

impl WrittenField {
    fn write_real(&self, value: f64, text: &mut [u8]) -> Result<(), TextError> {
        let value = match self.scaling {
            Some((scale, zero)) => (value - zero) / scale,
            None => value,
        };
        if self.form != TextForm::Integer {
            return write_real(value, self.form, self.decimals, text);
        }
        if !value.is_finite() {
            return Err(TextError::NotFinite);
        }
        let rounded = value.round_ties_even();
        // -2^63 is the least integer, 2^63 is just above the greatest.
        if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
            return Err(TextError::OutOfRange);
        }
        write_integer(rounded as i64, text)
    }

    /// Writes TNULLn, padded with blanks.
    fn write_null(&self, text: &mut [u8]) -> Result<(), String> {
        let Some(null) = &self.null else {
            return Err("finite numbers, because the column has no TNULL".to_owned());
        };
        if null.len() > text.len() {
            return Err("a TNULL that fits the field".to_owned());
        }
        text.fill(b' ');
        text[..null.len()].copy_from_slice(null.as_bytes());
        Ok(())
    }
}
