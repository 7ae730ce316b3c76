//! Errors of codecs: they know the byte of the stream, and get a place in the file later.

use crate::code::Code;
use crate::error::{FormatError, Place};

/// Why a tile cannot be decoded or encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecError {
    /// Which problem it is.
    pub code: Code,
    /// Where in the stream: bytes from its start.
    pub offset: Option<u64>,
    /// The expected value, as words that follow "expected".
    pub expected: String,
    /// The value found, as words that follow "found".
    pub found: String,
}

impl CodecError {
    /// A damaged stream.
    pub(crate) fn stream(
        offset: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let (expected, found) = (expected.into(), found.into());
        CodecError { code: Code::TileStream, offset: Some(offset as u64), expected, found }
    }

    /// A stream that ends too early.
    pub(super) fn ended(bytes: usize, expected: impl Into<String>) -> Self {
        CodecError::stream(bytes, expected, "the end of the stream")
    }

    /// Pixels that cannot be stored.
    pub(crate) fn value(expected: impl Into<String>, found: impl Into<String>) -> Self {
        let (expected, found) = (expected.into(), found.into());
        CodecError { code: Code::TileValue, offset: None, expected, found }
    }

    /// Too little memory for this many numbers of a tile.
    #[must_use]
    pub fn no_memory(numbers: usize) -> Self {
        let expected = format!("memory for {numbers} numbers of a tile");
        CodecError { code: Code::NoMemory, offset: None, expected, found: "less".to_owned() }
    }

    /// The error with its place in a file: that of the tile's cell, and the byte where the stream begins.
    #[must_use]
    pub fn at(self, place: Place, stream_offset: u64) -> FormatError {
        let offset = self.offset.map(|offset| stream_offset + offset).or(place.offset);
        FormatError::new(self.code, Place { offset, ..place }, self.expected, self.found)
    }
}
