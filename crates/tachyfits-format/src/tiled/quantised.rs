//! Quantisation of floating-point pixels to integers (Sect. 10.2): scale and zero for each tile, and the dither.

use crate::code::Code;
use crate::error::{FormatError, Place, quoted};
use crate::header::Header;
use crate::table::{Element, Field, NumberCell, TableLayout};

/// Random numbers added to pixels before rounding, and subtracted by the reader (ZQUANTIZ).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dither {
    /// NO_DITHER.
    None,
    /// SUBTRACTIVE_DITHER_1.
    Subtractive,
    /// SUBTRACTIVE_DITHER_2: the integer -2147483646 represents exactly 0.0.
    SubtractiveKeepingZeros,
}

impl Dither {
    /// Value of ZQUANTIZ.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Dither::None => "NO_DITHER",
            Dither::Subtractive => "SUBTRACTIVE_DITHER_1",
            Dither::SubtractiveKeepingZeros => "SUBTRACTIVE_DITHER_2",
        }
    }

    /// Returns the dither of this name; empty and NONE, which some programs write, mean no dither.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Dither> {
        Some(match name.trim().to_ascii_uppercase().as_str() {
            "NO_DITHER" | "NONE" | "" => Dither::None,
            "SUBTRACTIVE_DITHER_1" => Dither::Subtractive,
            "SUBTRACTIVE_DITHER_2" => Dither::SubtractiveKeepingZeros,
            _ => return None,
        })
    }
}

/// Source of the value of each tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TileValue<T> {
    /// The column of this index.
    Column(usize),
    /// A keyword, for all tiles.
    Same(T),
    /// No source.
    Absent,
}

/// Quantisation of the pixels of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantisation {
    /// The dither.
    pub dither: Dither,
    /// ZDITHER0, 1 if absent. The Standard permits 1 to 10000; for 0 the first two tiles have the same random numbers,
    /// as in CFITSIO and astropy.
    pub seed: u64,
    /// ZSCALE.
    pub scale: TileValue<f64>,
    /// ZZERO.
    pub zero: TileValue<f64>,
    /// Column ZBLANK: the integer that represents NaN in each tile.
    pub blank_column: Option<usize>,
    /// Integer that represents NaN in tiles without a value in the column: ZBLANK, or BLANK.
    pub blank: Option<i64>,
}

/// Quantisation of the pixels of one tile: the value is `zero + scale * (q - r + 0.5)`, with a random number `r` for
/// each pixel, or `zero + scale * q` without dither.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileQuantisation {
    /// ZSCALE.
    pub scale: f64,
    /// ZZERO.
    pub zero: f64,
    /// Integer that represents NaN; `None` if no integer does.
    pub blank: Option<i32>,
    /// The dither.
    pub dither: Dither,
    /// Index, from 0, of the one of the 10 000 random numbers that determines the start of the tile's sequence.
    pub first_random: usize,
}

/// Numbers of the random sequence (Sect. 10.2.1).
const RANDOM_NUMBERS: u64 = 10_000;

impl Quantisation {
    /// Returns the quantisation of floating-point tiles; `None` if they are lossless, whatever ZQUANTIZ says.
    pub(super) fn of(
        header: &Header,
        table: &TableLayout,
    ) -> Result<Option<Quantisation>, FormatError> {
        let scale = number(header, table, "ZSCALE")?;
        let zero = number(header, table, "ZZERO")?;
        let absent = match (scale, zero) {
            (TileValue::Absent, TileValue::Absent) => return Ok(None),
            (TileValue::Absent, _) => "ZSCALE",
            (_, TileValue::Absent) => "ZZERO",
            _ => "",
        };
        if !absent.is_empty() {
            let expected = "ZSCALE and ZZERO, as columns or keywords";
            let found = format!("no {absent}");
            return Err(FormatError::new(
                Code::KeywordMissing,
                header.place(absent),
                expected,
                found,
            ));
        }
        let name = header.get_text("ZQUANTIZ")?.unwrap_or_default();
        let Some(dither) = Dither::of_name(name) else {
            let expected = "NO_DITHER, SUBTRACTIVE_DITHER_1 or SUBTRACTIVE_DITHER_2";
            let place = header.place("ZQUANTIZ");
            return Err(FormatError::new(Code::CodecUnknown, place, expected, quoted(name)));
        };
        let seed = header.get_i64("ZDITHER0")?.unwrap_or(1);
        let Ok(seed) = u64::try_from(seed) else {
            return Err(header.out_of_range("ZDITHER0", "1 to 10000"));
        };
        let blank_column = column(table, "ZBLANK")?;
        // Defaults to BLANK, as in astropy: floating-point pixels have no BLANK of their own.
        let blank = match header.get_i64("ZBLANK")? {
            Some(blank) => Some(blank),
            None => header.get_i64("BLANK").ok().flatten(),
        };
        Ok(Some(Quantisation { dither, seed, scale, zero, blank_column, blank }))
    }

    /// Returns the quantisation of the tile in `row` (from 0), from the bytes of that row.
    pub(super) fn of_tile(
        &self,
        table: &TableLayout,
        row: u64,
        bytes: &[u8],
    ) -> Result<TileQuantisation, FormatError> {
        let cell = |column: usize| NumberCell::of(&table.columns[column])?.get(bytes);
        let value = |value: TileValue<f64>| match value {
            TileValue::Column(column) => cell(column).unwrap_or(f64::NAN),
            TileValue::Same(same) => same,
            TileValue::Absent => unreachable!("checked for the whole image"),
        };
        let blank = self.blank_column.and_then(|column| blank_of(table, column, bytes));
        let blank = blank.or(self.blank);
        let (scale, zero) = (value(self.scale), value(self.zero));
        if !scale.is_finite() || !zero.is_finite() {
            let place = match self.scale {
                TileValue::Column(column) => table.place(column, Some(row)),
                _ => Place { hdu: Some(table.hdu), row: Some(row + 1), ..Place::default() },
            };
            let found = format!("ZSCALE = {scale}, ZZERO = {zero}");
            return Err(FormatError::new(Code::TileStream, place, "finite numbers", found));
        }
        Ok(TileQuantisation {
            scale,
            zero,
            blank: blank.and_then(|blank| i32::try_from(blank).ok()),
            dither: self.dither,
            first_random: ((row + self.seed).saturating_sub(1) % RANDOM_NUMBERS) as usize,
        })
    }
}

/// Finds the value of each tile; a column takes precedence over a keyword.
fn number(header: &Header, table: &TableLayout, name: &str) -> Result<TileValue<f64>, FormatError> {
    match column(table, name)? {
        Some(column) => Ok(TileValue::Column(column)),
        None => Ok(header.get_f64(name)?.map_or(TileValue::Absent, TileValue::Same)),
    }
}

/// Returns the integer of column ZBLANK in the row of a tile; `None` if that is undefined.
pub(super) fn blank_of(table: &TableLayout, column: usize, row: &[u8]) -> Option<i64> {
    NumberCell::of(&table.columns[column])?.integer(row)
}

/// Returns the index of the column of this name, which must contain numbers in the rows.
pub(super) fn column(table: &TableLayout, name: &str) -> Result<Option<usize>, FormatError> {
    let Some(index) = table.column(name) else { return Ok(None) };
    match table.columns[index].field {
        Field::Fixed { element: Element::Number(_), repeat: 1.., .. } => Ok(Some(index)),
        _ => {
            let (place, form) = (table.place(index, None), &table.columns[index].form);
            Err(FormatError::new(Code::ColumnForm, place, "a column of one number", quoted(form)))
        }
    }
}
