//! Columns of compressed tables (Sect. 10.3): the fields of one column in the rows of a tile, concatenated to one
//! stream; and arrays of the heap. Bytes are big-endian, as in the file.

use super::codec_error::CodecError;
use super::gzip::{shuffle, unshuffle};
use super::rice;
use super::room::{reserve, sized};
use super::tile::CodecScratch;
use crate::image::ValueType;
use crate::table::Element;

/// How a column is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlabCodec {
    /// The codec.
    pub algorithm: SlabAlgorithm,
    /// Type of the column's elements.
    pub element: Element,
}

/// The codecs of columns; `registry` has their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlabAlgorithm {
    /// RICE_1, of integers of 8, 16 and 32 bits.
    Rice,
    /// GZIP_1.
    Gzip,
    /// GZIP_2, which groups bytes of the same significance.
    ShuffledGzip,
    /// NOCOMPRESS.
    Plain,
}

/// Number of differences in a block of RICE_1.
const BLOCK: usize = 32;

impl SlabCodec {
    /// Returns the codec that fpack chooses for a column; GZIP_1 for complex numbers, because readers differ about
    /// GZIP_2.
    #[must_use]
    pub const fn of_element(element: Element) -> SlabCodec {
        use ValueType::{I8, I32, U8, U32};
        let algorithm = match element {
            Element::Number(I32 | U32) => SlabAlgorithm::Rice,
            Element::Number(U8 | I8) => SlabAlgorithm::Gzip,
            Element::Number(_) => SlabAlgorithm::ShuffledGzip,
            _ => SlabAlgorithm::Gzip,
        };
        SlabCodec { algorithm, element }
    }

    /// Whether the codec can store elements of this type.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.algorithm != SlabAlgorithm::Rice || self.rice_width().is_some()
    }

    /// Bytes per integer of RICE_1.
    fn rice_width(&self) -> Option<usize> {
        match self.element {
            Element::Number(ValueType::F32 | ValueType::F64) => None,
            Element::Number(_) => Some(self.element.bytes() as usize).filter(|width| *width <= 4),
            _ => None,
        }
    }

    /// Width by which bytes are shuffled, in columns of fields (`is_array` is false) or in arrays of the heap. CFITSIO
    /// shuffles complex numbers of single precision only in arrays.
    fn shuffle_width(&self, is_array: bool) -> usize {
        match (self.algorithm, self.element) {
            (SlabAlgorithm::ShuffledGzip, Element::Number(_)) => self.element.bytes() as usize,
            (SlabAlgorithm::ShuffledGzip, Element::Complex32) if is_array => 8,
            _ => 1,
        }
    }

    /// Decodes the fields of a column in the rows of a tile.
    ///
    /// # Errors
    /// [`crate::Code::TileStream`] if the stream is damaged or does not have exactly these bytes.
    pub fn decode(
        &self,
        stream: &[u8],
        scratch: &mut CodecScratch,
        out: &mut [u8],
    ) -> Result<(), CodecError> {
        self.decode_as(false, stream, scratch, out)
    }

    /// Decodes an array of the heap. A stream of the same length as `out` is not compressed.
    ///
    /// # Errors
    /// See [`SlabCodec::decode`].
    pub fn decode_array(
        &self,
        stream: &[u8],
        scratch: &mut CodecScratch,
        out: &mut [u8],
    ) -> Result<(), CodecError> {
        if stream.len() == out.len() {
            out.copy_from_slice(stream);
            return Ok(());
        }
        self.decode_as(true, stream, scratch, out)
    }

    fn decode_as(
        &self,
        is_array: bool,
        stream: &[u8],
        scratch: &mut CodecScratch,
        out: &mut [u8],
    ) -> Result<(), CodecError> {
        match self.algorithm {
            SlabAlgorithm::Rice => return self.decode_rice(stream, scratch, out),
            SlabAlgorithm::Plain => return copied(stream, out),
            SlabAlgorithm::Gzip | SlabAlgorithm::ShuffledGzip => {}
        }
        let CodecScratch { inflater, bytes, .. } = scratch;
        bytes.clear();
        inflater.inflate(stream, out.len(), bytes)?;
        let width = self.shuffle_width(is_array);
        if width > 1 && bytes.len() == out.len() && out.len().is_multiple_of(width) {
            unshuffle(bytes, width, out);
            return Ok(());
        }
        copied(bytes, out)
    }

    fn decode_rice(
        &self,
        stream: &[u8],
        scratch: &mut CodecScratch,
        out: &mut [u8],
    ) -> Result<(), CodecError> {
        match self.rice_width() {
            Some(1) => rice::decode(stream, BLOCK, out),
            Some(2) => {
                let numbers = sized(&mut scratch.shorts, out.len() / 2)?;
                rice::decode(stream, BLOCK, numbers)?;
                let cells = out.as_chunks_mut().0.iter_mut().zip(numbers);
                cells.for_each(|(to, number)| *to = number.to_be_bytes());
                Ok(())
            }
            Some(_) => {
                let numbers = sized(&mut scratch.ints, out.len() / 4)?;
                rice::decode(stream, BLOCK, numbers)?;
                let cells = out.as_chunks_mut().0.iter_mut().zip(numbers);
                cells.for_each(|(to, number)| *to = number.to_be_bytes());
                Ok(())
            }
            None => Err(self.refused()),
        }
    }

    fn refused(&self) -> CodecError {
        let found = format!("elements of type {}", self.element.letter());
        CodecError::value("integers of 8, 16 or 32 bits for RICE_1", found)
    }

    /// Appends the compressed fields of a column in the rows of a tile.
    ///
    /// # Errors
    /// [`crate::Code::TileValue`] if the codec cannot store elements of this type.
    pub fn encode(
        &self,
        bytes: &[u8],
        scratch: &mut CodecScratch,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.encode_as(false, bytes, scratch, out)
    }

    /// Appends an array of the heap, compressed if that is shorter.
    ///
    /// # Errors
    /// See [`SlabCodec::encode`].
    pub fn encode_array(
        &self,
        bytes: &[u8],
        scratch: &mut CodecScratch,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let start = out.len();
        self.encode_as(true, bytes, scratch, out)?;
        if out.len() - start >= bytes.len() {
            out.truncate(start);
            reserve(out, bytes.len())?;
            out.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn encode_as(
        &self,
        is_array: bool,
        plain: &[u8],
        scratch: &mut CodecScratch,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        match (self.algorithm, self.rice_width()) {
            (SlabAlgorithm::Plain, _) => {
                reserve(out, plain.len())?;
                out.extend_from_slice(plain);
            }
            (SlabAlgorithm::Rice, None) => return Err(self.refused()),
            (SlabAlgorithm::Rice, Some(1)) => rice::encode(plain, BLOCK, out)?,
            (SlabAlgorithm::Rice, Some(2)) => {
                let numbers = &mut scratch.shorts;
                numbers.clear();
                reserve(numbers, plain.len() / 2)?;
                numbers.extend(plain.as_chunks().0.iter().map(|&cell| i16::from_be_bytes(cell)));
                rice::encode(numbers, BLOCK, out)?;
            }
            (SlabAlgorithm::Rice, Some(_)) => {
                let numbers = &mut scratch.ints;
                numbers.clear();
                reserve(numbers, plain.len() / 4)?;
                numbers.extend(plain.as_chunks().0.iter().map(|&cell| i32::from_be_bytes(cell)));
                rice::encode(numbers, BLOCK, out)?;
            }
            (SlabAlgorithm::Gzip | SlabAlgorithm::ShuffledGzip, _) => {
                let width = self.shuffle_width(is_array);
                let CodecScratch { inflater, bytes, .. } = scratch;
                let bytes = sized(bytes, plain.len())?;
                match width > 1 && plain.len().is_multiple_of(width) {
                    true => shuffle(plain, width, bytes),
                    false => bytes.copy_from_slice(plain),
                }
                inflater.deflate(bytes, out)?;
            }
        }
        Ok(())
    }
}

/// Copies a stream that must have exactly the bytes of `out`.
fn copied(bytes: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
    if bytes.len() != out.len() {
        let expected = format!("{} bytes of the column", out.len());
        return Err(CodecError::stream(0, expected, format!("{} bytes", bytes.len())));
    }
    out.copy_from_slice(bytes);
    Ok(())
}
