//! Errors of codecs: they contain the position in the stream; the caller adds the place in the file.

use crate::code::Code;
use crate::error::{FormatError, Place};

/// Why a tile cannot be decoded or encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecError {
    /// Which problem it is.
    pub code: Code,
    /// Position in the stream, in bytes from its start.
    pub offset: Option<u64>,
    /// The expected value, as words that follow "expected".
    pub expected: String,
    /// The value found, as words that follow "found".
    pub found: String,
}

impl CodecError {
    /// Returns the error of a damaged stream.
    pub(crate) fn stream(
        offset: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let (expected, found) = (expected.into(), found.into());
        CodecError { code: Code::TileStream, offset: Some(offset as u64), expected, found }
    }

    /// Returns the error of a stream that ends too early.
    pub(super) fn ended(bytes: usize, expected: impl Into<String>) -> Self {
        CodecError::stream(bytes, expected, "the end of the stream")
    }

    /// Returns the error of pixels that cannot be stored.
    pub(crate) fn value(expected: impl Into<String>, found: impl Into<String>) -> Self {
        let (expected, found) = (expected.into(), found.into());
        CodecError { code: Code::TileValue, offset: None, expected, found }
    }

    /// Returns the error of too little memory for `numbers` numbers of a tile.
    #[must_use]
    pub fn no_memory(numbers: usize) -> Self {
        let expected = format!("memory for {numbers} numbers of a tile");
        CodecError { code: Code::NoMemory, offset: None, expected, found: "less".to_owned() }
    }

    /// Adds the place in a file: the cell of the tile, and the byte where the stream begins.
    #[must_use]
    pub fn at(self, place: Place, stream_offset: u64) -> FormatError {
        let offset = self.offset.map(|offset| stream_offset + offset).or(place.offset);
        FormatError::new(self.code, Place { offset, ..place }, self.expected, self.found)
    }
}
