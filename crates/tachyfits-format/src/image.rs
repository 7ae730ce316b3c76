//! Layout and interpretation of the pixels of an image HDU: shape, stored type, scaling, BLANK,
//! unit (Sect. 4.4.2.5, 5.2.5). Does not read or decode pixels.

use crate::code::Code;
use crate::error::{FormatError, Place, Warning};
use crate::hdu::{Hdu, HduKind, StoredType};
use crate::header::Header;
use crate::value::Value;

/// Type of a pixel value after the unsigned and signed-byte conventions (Table 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// 8-bit unsigned.
    U8,
    /// 8-bit signed: BITPIX = 8, BZERO = -128.
    I8,
    /// 16-bit signed.
    I16,
    /// 16-bit unsigned: BZERO = 2^15.
    U16,
    /// 32-bit signed.
    I32,
    /// 32-bit unsigned: BZERO = 2^31.
    U32,
    /// 64-bit signed.
    I64,
    /// 64-bit unsigned: BZERO = 2^63.
    U64,
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point; also the type of all scaled values.
    F64,
}

/// Position and interpretation of the pixels of an image.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImageLayout {
    /// Sizes of the axes in FITS order, NAXIS1 first and fastest; empty when NAXIS = 0.
    pub axes: Vec<u64>,
    /// Type of the stored pixels.
    pub stored: StoredType,
    /// Type of the values.
    pub value: ValueType,
    /// BSCALE.
    pub scale: f64,
    /// BZERO.
    pub zero: f64,
    /// Values are `zero + scale * stored`, in f64; otherwise `stored`, with its sign bit flipped if
    /// `value` and `stored` differ in signedness.
    pub scaled: bool,
    /// Stored value of undefined pixels; never set for floating-point pixels, which use NaN.
    pub blank: Option<i64>,
    /// BUNIT, unless absent or blank.
    pub unit: Option<String>,
    /// Byte offset of the first pixel.
    pub data_offset: u64,
    /// Product of the axes; 0 if there are no axes or one of them is 0.
    pub pixels: u64,
    /// Whole pixels in the file, fewer than `pixels` if it is truncated.
    pub pixels_present: u64,
    /// Warnings about tolerated faults.
    pub warnings: Vec<Warning>,
}

impl ImageLayout {
    /// Whether the sign bit of values must be flipped after conversion to native byte order (Sect.
    /// 5.2.5).
    #[must_use]
    pub const fn flips_sign(&self) -> bool {
        use ValueType::{I8, U16, U32, U64};
        matches!(self.value, I8 | U16 | U32 | U64)
    }
}

impl Hdu {
    /// Returns the layout of the pixels. A primary HDU without data has no axes and no pixels.
    ///
    /// # Errors
    /// [`Code::NotAnImage`] for tables, random groups and unknown extensions;
    /// [`Code::ImageGroups`]; [`Code::NumericText`] and similar codes if BSCALE, BZERO or BLANK are
    /// not numbers: the meaning of the pixels is unknown then.
    pub fn image(&self) -> Result<ImageLayout, FormatError> {
        match self.kind {
            HduKind::Primary => {}
            HduKind::Image if self.parameter_count == 0 && self.group_count == 1 => {}
            HduKind::Image => {
                let found = format!("{} and {}", self.parameter_count, self.group_count);
                let place = self.header.place("PCOUNT");
                let expected = "PCOUNT = 0 and GCOUNT = 1";
                return Err(FormatError::new(Code::ImageGroups, place, expected, found));
            }
            _ => {
                let found = self.kind.as_str();
                return Err(FormatError::new(Code::NotAnImage, self.place(), "an image", found));
            }
        }
        let mut layout = array_layout(&self.header, self.stored, self.axes.clone())?;
        layout.data_offset = self.data_offset;
        layout.pixels_present = self.data_bytes_present / self.stored.bytes() as u64;
        Ok(layout)
    }

    /// Position of the HDU, for messages.
    pub(crate) fn place(&self) -> Place {
        Place { hdu: Some(self.index), offset: Some(self.header_offset), ..Place::default() }
    }
}

/// Returns the layout of an array with these axes and the header's scaling, at offset 0 and with no
/// pixels present.
pub(crate) fn array_layout(
    header: &Header,
    stored: StoredType,
    axes: Vec<u64>,
) -> Result<ImageLayout, FormatError> {
    let scale = header.get_f64("BSCALE")?.unwrap_or(1.0);
    let zero = header.get_f64("BZERO")?.unwrap_or(0.0);
    let native = native_type(stored);
    let convention = converted_type(stored, scale, header.get("BZERO"));
    let (value, scaled) = match convention {
        Some(value) => (value, false),
        None if scale == 1.0 && zero == 0.0 => (native, false),
        None => (ValueType::F64, true),
    };
    let mut warnings = Vec::new();
    let blank = blank(header, stored, &mut warnings)?;
    let unit = header.get_text("BUNIT").unwrap_or_else(|error| {
        let problem = error.problem();
        let (expected, found) = (problem.expected.as_str(), problem.found.as_str());
        warnings.push(Warning::new(Code::ReservedType, header.place("BUNIT"), expected, found));
        None
    });
    let unit = unit.map(str::trim).filter(|unit| !unit.is_empty()).map(str::to_owned);
    // The walk has compared the product with its limit.
    let pixels = if axes.is_empty() || axes.contains(&0) { 0 } else { axes.iter().product() };
    Ok(ImageLayout {
        axes,
        stored,
        value,
        scale,
        zero,
        scaled,
        blank,
        unit,
        data_offset: 0,
        pixels,
        pixels_present: 0,
        warnings,
    })
}

pub(crate) const fn native_type(stored: StoredType) -> ValueType {
    match stored {
        StoredType::U8 => ValueType::U8,
        StoredType::I16 => ValueType::I16,
        StoredType::I32 => ValueType::I32,
        StoredType::I64 => ValueType::I64,
        StoredType::F32 => ValueType::F32,
        StoredType::F64 => ValueType::F64,
    }
}

/// Returns the type declared by BZERO = 2^15, 2^31, 2^63 or -128 with BSCALE = 1 (Table 11). An
/// integer must equal that number; a real such as `9.223372036854775808E18` is compared as f64,
/// which represents these powers of two exactly.
pub(crate) fn converted_type(
    stored: StoredType,
    scale: f64,
    zero: Option<&Value>,
) -> Option<ValueType> {
    let (offset, value) = match stored {
        StoredType::U8 => (-128i128, ValueType::I8),
        StoredType::I16 => (1 << 15, ValueType::U16),
        StoredType::I32 => (1 << 31, ValueType::U32),
        StoredType::I64 => (1 << 63, ValueType::U64),
        StoredType::F32 | StoredType::F64 => return None,
    };
    let is_offset = match zero? {
        Value::Integer(integer) => integer.as_i128() == Some(offset),
        Value::Real(real) => real.as_f64() == offset as f64,
        _ => false,
    };
    (scale == 1.0 && is_offset).then_some(value)
}

/// Returns BLANK of integer pixels as the stored value (Sect. 4.4.2.5); ignores a value that no
/// pixel can have.
fn blank(
    header: &Header,
    stored: StoredType,
    warnings: &mut Vec<Warning>,
) -> Result<Option<i64>, FormatError> {
    let Some((least, greatest)) = stored.integer_range() else {
        if let Some(value) = header.get("BLANK") {
            let found = format!("BLANK = {value} with BITPIX = {}", stored.bitpix());
            let expected = "no BLANK for floating-point pixels";
            let place = header.place("BLANK");
            warnings.push(Warning::new(Code::BlankIgnored, place, expected, found));
        }
        return Ok(None);
    };
    let value = match header.get("BLANK") {
        None | Some(Value::Undefined) => return Ok(None),
        Some(value) => stored_integer(header, "BLANK", value)?,
    };
    let in_range = value.filter(|value| (least..=greatest).contains(value));
    if in_range.is_none() {
        let found = header.get("BLANK").map_or_else(String::new, Value::to_string);
        let expected = format!("BLANK from {least} to {greatest}");
        warnings.push(Warning::new(Code::BlankIgnored, header.place("BLANK"), expected, found));
    }
    Ok(in_range)
}

/// Returns the integer of BLANK or TNULLn; `None` beyond 64 bits.
pub(crate) fn stored_integer(
    header: &Header,
    keyword: &str,
    value: &Value,
) -> Result<Option<i64>, FormatError> {
    match (value.as_whole(), value) {
        (None, Value::Integer(_)) => Ok(None),
        // Some programs write "-32768.".
        (Some(whole), _) => Ok(Some(whole)),
        (None, other) => Err(header.wrong_type(keyword, "an integer", other)),
    }
}
