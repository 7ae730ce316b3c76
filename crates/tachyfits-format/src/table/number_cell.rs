//! A single number of a row, for code that needs only a few. Kernels process whole columns.

use super::{Column, Field, Null};
use crate::code::Code;
use crate::error::{FormatError, Place};
use crate::hdu::StoredType;

/// Position and encoding of the number of a binary table's column in a row. For a field of several numbers, the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberCell {
    offset: usize,
    stored: StoredType,
    /// Offset of the unsigned and signed-byte conventions, added to the stored integer.
    convention: i128,
    /// TSCALn and TZEROn, if the column is scaled.
    scaling: Option<(f64, f64)>,
    null: Option<i64>,
}

impl NumberCell {
    /// Returns the cell of a column; `None` unless each row has a number.
    #[must_use]
    pub fn of(column: &Column) -> Option<NumberCell> {
        let Field::Fixed { element, repeat: 1.., .. } = column.field else { return None };
        Some(NumberCell {
            offset: usize::try_from(column.offset).ok()?,
            stored: element.stored()?,
            convention: element.convention().unwrap_or(0.0) as i128,
            scaling: column.scaled.then_some((column.scale, column.zero)),
            null: match column.null {
                Some(Null::Stored(null)) => Some(null),
                _ => None,
            },
        })
    }

    /// Returns the value, rounded to f64; `None` if it is undefined (TNULLn) or the row is too short.
    #[must_use]
    pub fn get(self, row: &[u8]) -> Option<f64> {
        let bytes = row.get(self.offset..)?;
        let number = match self.stored.integer(bytes) {
            integer if integer.is_some() && integer == self.null => return None,
            Some(integer) => (i128::from(integer) + self.convention) as f64,
            None => self.stored.number(bytes)?,
        };
        Some(self.scaling.map_or(number, |(scale, zero)| zero + scale * number))
    }

    /// Returns the exact integer; `None` if it is undefined, scaled, not an integer or beyond 64 bits.
    pub(crate) fn integer(self, row: &[u8]) -> Option<i64> {
        let integer = self.stored.integer(row.get(self.offset..)?)?;
        let is_defined = Some(integer) != self.null && self.scaling.is_none();
        let value = i128::from(integer) + self.convention;
        is_defined.then(|| i64::try_from(value).ok())?
    }

    /// Stores a value, rounded to the type of the column.
    ///
    /// # Errors
    /// [`Code::ColumnForm`] if the type cannot represent the number, or the row is too short.
    pub fn put(self, row: &mut [u8], value: f64) -> Result<(), FormatError> {
        let number = self.scaling.map_or(value, |(scale, zero)| (value - zero) / scale);
        let size = self.stored.bytes();
        let bytes = row.get_mut(self.offset..).and_then(|bytes| bytes.get_mut(..size));
        match (bytes, self.stored, self.stored.integer_range()) {
            (Some(bytes), StoredType::F32, _) => {
                bytes.copy_from_slice(&(number as f32).to_be_bytes());
                return Ok(());
            }
            (Some(bytes), _, None) => {
                bytes.copy_from_slice(&number.to_be_bytes());
                return Ok(());
            }
            (Some(bytes), _, Some((least, most))) if number.is_finite() => {
                let number = (number.round() as i128).saturating_sub(self.convention);
                if (i128::from(least)..=i128::from(most)).contains(&number) {
                    bytes.copy_from_slice(&number.to_be_bytes()[16 - size..]);
                    return Ok(());
                }
            }
            _ => {}
        }
        let expected = format!("a column that can have {value}");
        let found = format!("one of {size} bytes");
        Err(FormatError::new(Code::ColumnForm, Place::default(), expected, found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::ValueType;
    use crate::table::Element;

    fn column(value: ValueType) -> Column {
        let field = Field::Fixed { element: Element::Number(value), repeat: 1, width: 1 };
        Column {
            name: "X".into(),
            is_named: true,
            key: "X".into(),
            form: String::new(),
            offset: 1,
            field,
            scale: 1.0,
            zero: 0.0,
            scaled: false,
            null: None,
            dimensions: Vec::new(),
            substrings: None,
            unit: None,
            display: None,
        }
    }

    #[test]
    fn numbers_of_every_type_come_back() {
        use ValueType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let cases = [
            (U8, 0.0, 255.0),
            (I8, -128.0, 127.0),
            (I16, -32_768.0, 32_767.0),
            (U16, 0.0, 65_535.0),
            (I32, -2_147_483_648.0, 2_147_483_647.0),
            (U32, 0.0, 4_294_967_295.0),
            (I64, -1e18, 1e18),
            (U64, 0.0, 1e18),
            (F32, -0.5, 1.5),
            (F64, -0.1, 1e300),
        ];
        for (value, least, most) in cases {
            let cell = NumberCell::of(&column(value)).unwrap();
            for number in [least, 1.0, most] {
                let mut row = [0xa5; 9];
                cell.put(&mut row, number).unwrap();
                assert_eq!(cell.get(&row), Some(number), "{value:?}");
                assert_eq!(row[0], 0xa5);
            }
            if value != F32 && value != F64 {
                assert!(cell.put(&mut [0; 9], least - 1e19).is_err(), "{value:?}");
                assert!(cell.put(&mut [0; 9], f64::NAN).is_err(), "{value:?}");
            }
            assert_eq!(cell.get(&[0]), None);
        }
    }

    #[test]
    fn scaling_and_undefined_cells_are_those_of_the_column() {
        let scaled = Column {
            scale: 0.001,
            zero: 2.0,
            scaled: true,
            null: Some(Null::Stored(-1)),
            ..column(ValueType::I16)
        };
        let cell = NumberCell::of(&scaled).unwrap();
        assert_eq!(cell.get(&[0, 0, 250]), Some(2.25));
        assert_eq!(cell.get(&[0, 0xff, 0xff]), None);
        let mut row = [0; 3];
        cell.put(&mut row, 2.25).unwrap();
        assert_eq!(row, [0, 0, 250]);
        let unsigned = Column { null: Some(Null::Stored(0)), ..column(ValueType::U16) };
        let cell = NumberCell::of(&unsigned).unwrap();
        assert_eq!((cell.get(&[0, 0, 0]), cell.get(&[0, 0x80, 0])), (None, Some(0.0)));
        let text = Field::Fixed { element: Element::Character, repeat: 4, width: 4 };
        assert_eq!(NumberCell::of(&Column { field: text, ..column(ValueType::U8) }), None);
    }
}
