//! Numbers of ASCII tables: the text of fields to integers and floats (Standard 4.0, section 7.2.5).

use tachyfits_format::text::{TextError, is_text, parse_integer, parse_real};
use tachyfits_format::{Column, Field, Null, TextForm};

use super::rows::RowBlock;

/// Makes numbers of text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextNumbers {
    pub(crate) width: usize,
    decimals: u32,
    is_integer: bool,
    /// TSCALn and TZEROn; then all numbers are floats.
    scaling: Option<(f64, f64)>,
    /// TNULLn.
    null: Option<String>,
}

/// A field that holds no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadText {
    /// Its row in the block.
    pub(crate) row: usize,
    /// What is there.
    pub(crate) found: String,
    pub(crate) error: TextError,
}

impl TextNumbers {
    /// The numbers of a column; `None` where it holds none, or is no text.
    pub(crate) fn new(column: &Column) -> Option<TextNumbers> {
        let Field::Text { text, width, decimals } = column.field else { return None };
        let null = match &column.null {
            Some(Null::Text(null)) => Some(null.clone()),
            _ => None,
        };
        Some(TextNumbers {
            width: width as usize,
            decimals,
            is_integer: match text {
                TextForm::Characters => return None,
                TextForm::Integer => true,
                TextForm::Fixed | TextForm::Exponent | TextForm::Double => false,
            },
            scaling: column.scaled.then_some((column.scale, column.zero)),
            null,
        })
    }

    /// The numbers of the fields that begin at `offset` of each row: 64-bit integers where they are integers that nothing
    /// scales, else floats. A null integer is 0 and marked; a null float is NaN.
    pub(crate) fn decode(
        &self,
        block: &RowBlock<'_>,
        offset: usize,
        values: &mut [u8],
        nulls: Option<&mut [u8]>,
    ) -> Result<(), BadText> {
        let (values, _) = values.as_chunks_mut::<8>();
        match (self.is_integer, self.scaling) {
            (true, None) => {
                if let Some(nulls) = nulls {
                    self.each(block, offset, |row, field| {
                        nulls[row] = self.is_null(field).into();
                        Ok(())
                    })?;
                }
                self.each(block, offset, |row, field| {
                    values[row] = self.integer(field)?.unwrap_or(0).to_ne_bytes();
                    Ok(())
                })
            }
            _ => {
                if let Some(nulls) = nulls {
                    nulls.fill(0);
                }
                self.each(block, offset, |row, field| {
                    values[row] = self.real(field)?.to_ne_bytes();
                    Ok(())
                })
            }
        }
    }

    /// The numbers are integers that nothing scales.
    pub(crate) fn are_integers(&self) -> bool {
        self.is_integer && self.scaling.is_none()
    }

    /// The integer in a field; `None` if it is the null.
    #[inline]
    pub(crate) fn integer(&self, field: &[u8]) -> Result<Option<i64>, TextError> {
        if self.is_null(field) { Ok(None) } else { parse_integer(field).map(Some) }
    }

    /// The number in a field, scaled; NaN if it is the null.
    #[inline]
    pub(crate) fn real(&self, field: &[u8]) -> Result<f64, TextError> {
        if self.is_null(field) {
            return Ok(f64::NAN);
        }
        // An integer has no point that could be implied.
        let decimals = if self.is_integer { 0 } else { self.decimals };
        let value = parse_real(field, decimals)?;
        Ok(self.scaling.map_or(value, |(scale, zero)| zero + scale * value))
    }

    #[inline]
    fn is_null(&self, field: &[u8]) -> bool {
        self.null.as_deref().is_some_and(|null| is_text(field, null))
    }

    /// Goes over the fields, up to the first that holds no number.
    #[inline]
    fn each(
        &self,
        block: &RowBlock<'_>,
        offset: usize,
        mut take: impl FnMut(usize, &[u8]) -> Result<(), TextError>,
    ) -> Result<(), BadText> {
        for row in 0..block.rows {
            let field = &block.bytes[offset + row * block.stride..][..self.width];
            if let Err(error) = take(row, field) {
                let found = format!("{:?}", String::from_utf8_lossy(field));
                return Err(BadText { row, found, error });
            }
        }
        Ok(())
    }
}
