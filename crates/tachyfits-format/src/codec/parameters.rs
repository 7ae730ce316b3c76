//! Codec parameters in a header, by name, and the type of the pixels.

use crate::code::Code;
use crate::error::{FormatError, quoted};
use crate::hdu::StoredType;
use crate::header::Header;
use crate::value::Value;

/// Parameters of a codec from ZNAMEi and ZVALi of a header, and the stored type of the pixels.
#[derive(Clone, Debug)]
pub struct CodecParameters<'a> {
    header: &'a Header,
    /// ZNAMEi in upper case, and the keyword of its value.
    keywords: Vec<(String, String)>,
    /// ZBITPIX, or the type of a column.
    pub stored: StoredType,
    /// Width of RICE_1 numbers if BYTEPIX is absent.
    pub(super) byte_pix: i64,
    /// Whether stored numbers represent unsigned values: BZERO is 2^15 or 2^31.
    pub unsigned: bool,
}

/// Maximum number of parameters, more than any codec has.
const MOST_PARAMETERS: usize = 99;

impl<'a> CodecParameters<'a> {
    /// Reads ZNAMEi and ZVALi; ignores a name without a value.
    ///
    /// # Errors
    /// [`Code::KeywordType`] if a name is not a string.
    pub fn of(header: &'a Header, stored: StoredType, unsigned: bool) -> Result<Self, FormatError> {
        let mut keywords = Vec::new();
        for number in 1..=MOST_PARAMETERS {
            let Some(name) = header.get_text(&format!("ZNAME{number}"))? else { break };
            keywords.push((name.trim().to_ascii_uppercase(), format!("ZVAL{number}")));
        }
        Ok(CodecParameters { header, keywords, stored, byte_pix: 4, unsigned })
    }

    /// Returns no parameters, for a codec of masks or of table columns, whose numbers have the width of their type.
    #[must_use]
    pub fn none(header: &'a Header, stored: StoredType) -> Self {
        let byte_pix = stored.bytes() as i64;
        CodecParameters { header, keywords: Vec::new(), stored, byte_pix, unsigned: false }
    }

    fn keyword(&self, name: &str) -> Option<&str> {
        let entry = self.keywords.iter().find(|(own, _)| own == name);
        entry.map(|(_, keyword)| keyword.as_str())
    }

    /// Returns the integer of this name.
    ///
    /// # Errors
    /// [`Code::KeywordType`] and the like if it is not an integer.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, FormatError> {
        self.keyword(name).map_or(Ok(None), |keyword| self.header.get_i64(keyword))
    }

    /// Returns the number of this name.
    ///
    /// # Errors
    /// [`Code::KeywordType`] and the like if it is not a number.
    pub fn number(&self, name: &str) -> Result<Option<f64>, FormatError> {
        self.keyword(name).map_or(Ok(None), |keyword| self.header.get_f64(keyword))
    }

    /// Returns the error of a value that the codec does not support.
    pub(super) fn refused(&self, name: &str, expected: &str) -> FormatError {
        let keyword = self.keyword(name).unwrap_or(name);
        let found =
            self.header.get(keyword).map_or_else(|| "no value".to_owned(), Value::to_string);
        let (place, expected) = (self.header.place(keyword), format!("{name} of {expected}"));
        FormatError::new(Code::CodecUnknown, place, expected, found)
    }

    /// Returns the error of an unknown codec, or of one that does not support these pixels.
    pub(super) fn unknown(&self, keyword: &str, expected: &str, name: &str) -> FormatError {
        FormatError::new(Code::CodecUnknown, self.header.place(keyword), expected, quoted(name))
    }
}
