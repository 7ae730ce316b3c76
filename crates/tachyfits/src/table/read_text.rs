//! Parses the text of ASCII table fields into integers and floats (Standard 4.0, section 7.2.5).

use tachyfits_format::text::{TextError, is_null_text, parse_integer, parse_real};
use tachyfits_format::{Column, Field, Null, TextForm};
use tachyfits_kernels::{Fields, TEXT_INTEGER_WIDTH, Tier, integers_of_text};

use super::row_ranges::RowBlock;

/// Integers parsed at a time; they stay in the first-level cache.
const PIECE: usize = 512;

/// Parser of the numbers in a text column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextNumbers {
    pub(crate) width: usize,
    decimals: u32,
    is_integer: bool,
    /// TSCALn and TZEROn; with scaling, all numbers are floats.
    scaling: Option<(f64, f64)>,
    /// TNULLn.
    null: Option<String>,
}

/// A field that is not a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadText {
    /// Its row in the block.
    pub(crate) row: usize,
    /// Text of the field, for messages.
    pub(crate) found: String,
    pub(crate) error: TextError,
}

impl TextNumbers {
    /// Creates the parser of a column; `None` if it is not a text column of numbers.
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

    /// Parses the fields at `offset` of each row: into 64-bit integers if they are unscaled
    /// integers, else into floats. A null integer is 0 and marked; a null float is NaN.
    pub(crate) fn decode(
        &self,
        block: &RowBlock<'_>,
        offset: usize,
        tier: Tier,
        values: &mut [u8],
        nulls: Option<&mut [u8]>,
    ) -> Result<(), BadText> {
        let (values, _) = values.as_chunks_mut::<8>();
        if self.are_integers() {
            return self.integers(block, offset, tier, values, nulls);
        }
        if let Some(nulls) = nulls {
            nulls.fill(0);
        }
        self.each(block, offset, |row, field| {
            values[row] = self.real(field)?.to_ne_bytes();
            Ok(())
        })
    }

    /// Parses integers in pieces, many fields at a time if they have the usual form.
    fn integers(
        &self,
        block: &RowBlock<'_>,
        offset: usize,
        tier: Tier,
        values: &mut [[u8; 8]],
        mut nulls: Option<&mut [u8]>,
    ) -> Result<(), BadText> {
        let usual = (1..=TEXT_INTEGER_WIDTH).contains(&self.width);
        for (piece, values) in values.chunks_mut(PIECE).enumerate() {
            let first = piece * PIECE;
            let bytes = &block.bytes[first * block.stride..];
            let rows = RowBlock { bytes, rows: values.len(), ..*block };
            let of_piece = |bad: BadText| BadText { row: first + bad.row, ..bad };
            let fields = Fields { offset, stride: block.stride, elements: self.width };
            if !(usual && integers_of_text(bytes, fields, tier, values)) {
                let result = self.each(&rows, offset, |row, field| {
                    values[row] = self.integer(field)?.unwrap_or(0).to_ne_bytes();
                    Ok(())
                });
                result.map_err(of_piece)?;
            }
            if self.null.is_some() {
                let result = self.each(&rows, offset, |row, field| {
                    let is_null = self.is_null(field);
                    if let Some(nulls) = nulls.as_deref_mut() {
                        nulls[first + row] = is_null.into();
                    }
                    if is_null {
                        values[row] = [0; 8];
                    }
                    Ok(())
                });
                result.map_err(of_piece)?;
            }
        }
        if let Some(nulls) = nulls.filter(|_| self.null.is_none()) {
            nulls.fill(0);
        }
        Ok(())
    }

    /// Whether the numbers are unscaled integers.
    pub(crate) fn are_integers(&self) -> bool {
        self.is_integer && self.scaling.is_none()
    }

    /// Parses the integer in a field; `None` if null.
    #[inline]
    pub(crate) fn integer(&self, field: &[u8]) -> Result<Option<i64>, TextError> {
        if self.is_null(field) { Ok(None) } else { parse_integer(field).map(Some) }
    }

    /// Parses and scales the number in a field; NaN if null.
    #[inline]
    pub(crate) fn real(&self, field: &[u8]) -> Result<f64, TextError> {
        if self.is_null(field) {
            return Ok(f64::NAN);
        }
        // An integer has no implied decimal point.
        let decimals = if self.is_integer { 0 } else { self.decimals };
        let value = parse_real(field, decimals)?;
        Ok(self.scaling.map_or(value, |(scale, zero)| zero + scale * value))
    }

    #[inline]
    fn is_null(&self, field: &[u8]) -> bool {
        self.null.as_deref().is_some_and(|null| is_null_text(field, null))
    }

    /// Calls `take` for each field, up to the first that is not a number.
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
