//! The parameters of a codec in a header, found by name, and the pixels that it is used for.

use crate::code::Code;
use crate::error::{FormatError, quoted};
use crate::hdu::StoredType;
use crate::header::Header;
use crate::value::Value;

/// The parameters of a codec as ZNAMEi and ZVALi of a header give them, and the stored type of the pixels.
#[derive(Clone, Debug)]
pub struct CodecParameters<'a> {
    header: &'a Header,
    /// ZNAMEi in upper case, and the keyword of its value.
    named: Vec<(String, String)>,
    /// ZBITPIX, or the type of a column.
    pub stored: StoredType,
    /// The width of numbers of RICE_1 where BYTEPIX is absent.
    pub(super) byte_pix: i64,
    /// Stored numbers stand for unsigned ones: BZERO is 2^15 or 2^31.
    pub unsigned: bool,
}

/// More parameters than any codec has.
const MOST_PARAMETERS: usize = 99;

impl<'a> CodecParameters<'a> {
    /// Reads ZNAMEi and ZVALi; a name without a value does not count.
    ///
    /// # Errors
    /// [`Code::KeywordType`] if a name is not a string.
    pub fn of(header: &'a Header, stored: StoredType, unsigned: bool) -> Result<Self, FormatError> {
        let mut named = Vec::new();
        for number in 1..=MOST_PARAMETERS {
            let Some(name) = header.get_text(&format!("ZNAME{number}"))? else { break };
            named.push((name.trim().to_ascii_uppercase(), format!("ZVAL{number}")));
        }
        Ok(CodecParameters { header, named, stored, byte_pix: 4, unsigned })
    }

    /// No parameters, for a codec of masks or of a table's columns, whose numbers have the width of their type.
    #[must_use]
    pub fn none(header: &'a Header, stored: StoredType) -> Self {
        let byte_pix = stored.bytes() as i64;
        CodecParameters { header, named: Vec::new(), stored, byte_pix, unsigned: false }
    }

    fn keyword(&self, name: &str) -> Option<&str> {
        let found = self.named.iter().find(|(own, _)| own == name);
        found.map(|(_, keyword)| keyword.as_str())
    }

    /// The integer of this name.
    ///
    /// # Errors
    /// [`Code::KeywordType`] and the like if it is not an integer.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, FormatError> {
        self.keyword(name).map_or(Ok(None), |keyword| self.header.get_i64(keyword))
    }

    /// The number of this name.
    ///
    /// # Errors
    /// [`Code::KeywordType`] and the like if it is not a number.
    pub fn number(&self, name: &str) -> Result<Option<f64>, FormatError> {
        self.keyword(name).map_or(Ok(None), |keyword| self.header.get_f64(keyword))
    }

    /// The error about a value that the codec does not take.
    pub(super) fn refused(&self, name: &str, expected: &str) -> FormatError {
        let keyword = self.keyword(name).unwrap_or(name);
        let found =
            self.header.get(keyword).map_or_else(|| "no value".to_owned(), Value::to_string);
        let (place, expected) = (self.header.place(keyword), format!("{name} of {expected}"));
        FormatError::new(Code::CodecUnknown, place, expected, found)
    }

    /// The error about a codec that is not known, or that cannot be used for these pixels.
    pub(super) fn unknown(&self, keyword: &str, expected: &str, name: &str) -> FormatError {
        FormatError::new(Code::CodecUnknown, self.header.place(keyword), expected, quoted(name))
    }
}
