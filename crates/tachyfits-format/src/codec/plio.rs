//! PLIO_1: masks as a list of instructions about runs of pixels, in big-endian 16-bit words (Sect. 10.4.3).
//!
//! The list has a "high value", initially 1. Instructions change it, and write runs of it or of zero.

use super::codec_error::CodecError;
use super::parameters::CodecParameters;
use super::room::{reserve, sized};
use super::tile::{CodecScratch, Misfit, Pixels, PixelsMut, PlainTile, Tile, TileCodec};
use crate::error::FormatError;
use crate::hdu::StoredType;

/// PLIO_1: integers from 0 to 2^24 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plio {
    /// The list contains the values plus 32768: for BITPIX 16 and BZERO 32768 CFITSIO encodes physical values.
    pub unsigned_16: bool,
}

/// The largest value of a mask.
const MOST: i32 = (1 << 24) - 1;

/// Number of header words, and the mark.
const HEADER: usize = 7;
const MARK: i16 = -100;

/// The highest operand of an instruction.
const OPERAND: i32 = 0xfff;

/// Added to pixels of BZERO 32768.
const OFFSET: i32 = 32_768;

/// Maximum number of pixels for a list of any length. Instructions of IRAF and CFITSIO write all pixels, except that
/// zeros at the end may be omitted.
const UNWRITTEN: u64 = 1 << 24;

// Operations: the four high bits of an instruction.
const ZEROS: i32 = 0;
const SET_HIGH: i32 = 1;
const RAISE: i32 = 2;
const LOWER: i32 = 3;
const HIGHS: i32 = 4;
const ZEROS_THEN_HIGH: i32 = 5;
const RAISE_AND_PUT: i32 = 6;
const LOWER_AND_PUT: i32 = 7;

pub(super) fn make(parameters: &CodecParameters<'_>) -> Result<Box<dyn TileCodec>, FormatError> {
    let unsigned_16 = parameters.unsigned && parameters.stored == StoredType::I16;
    Ok(Box::new(Plio { unsigned_16 }))
}

impl TileCodec for Plio {
    fn name(&self) -> &'static str {
        "PLIO_1"
    }

    /// An instruction has two bytes and writes at most as many pixels as its operand.
    fn most_pixels(&self, stream_bytes: u64) -> u64 {
        (stream_bytes / 2).saturating_mul(OPERAND as u64).max(UNWRITTEN)
    }

    fn decode(&self, tile: &mut Tile<'_>, scratch: &mut CodecScratch) -> Result<(), CodecError> {
        let offset = if self.unsigned_16 { OFFSET } else { 0 };
        let (stored, len) = (tile.pixels.stored(), tile.pixels.len());
        if let PixelsMut::I32(out) = &mut tile.pixels {
            return decode(tile.stream, offset, out);
        }
        let values = sized(&mut scratch.ints, len)?;
        decode(tile.stream, offset, values)?;
        tile.pixels.put(values).map_err(|misfit| misfit.error(stored))
    }

    fn encode(
        &self,
        tile: &PlainTile<'_>,
        scratch: &mut CodecScratch,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let offset = if self.unsigned_16 { OFFSET } else { 0 };
        let values = &mut scratch.ints;
        values.clear();
        reserve(values, tile.pixels.len())?;
        match tile.pixels {
            Pixels::U8(pixels) => {
                values.extend(pixels.iter().map(|&pixel| i32::from(pixel) + offset));
            }
            Pixels::I16(pixels) => {
                values.extend(pixels.iter().map(|&pixel| i32::from(pixel) + offset));
            }
            Pixels::I32(pixels) => {
                values.extend(pixels.iter().map(|pixel| pixel.saturating_add(offset)));
            }
            other => return Err(Misfit::Float.error(other.stored())),
        }
        if let Some(at) = values.iter().position(|value| !(0..=MOST).contains(value)) {
            let found = format!("{} at pixel {at} (0-based) of the tile", values[at]);
            return Err(CodecError::value(format!("values from 0 to {MOST}"), found));
        }
        encode(values, out)
    }
}

/// Executes the instructions; unwritten pixels are 0.
fn decode(stream: &[u8], offset: i32, out: &mut [i32]) -> Result<(), CodecError> {
    let (words, _) = stream.as_chunks::<2>();
    let word = |at: usize| words.get(at).map(|word| i32::from(i16::from_be_bytes(*word)));
    let end_error = || CodecError::ended(stream.len(), "more words of a list of instructions");
    let (first, end) = extent(&word).ok_or_else(end_error)?;
    if end > words.len() || first > end {
        let found = format!("instructions in words {first} to {end} (0-based)");
        let expected = format!("a list within {} words", words.len());
        return Err(CodecError::stream(0, expected, found));
    }
    let (mut at, mut pixel, mut high) = (first, 0usize, 1i32);
    while at < end {
        let instruction = word(at).ok_or_else(end_error)?;
        let (operation, operand) = (instruction >> 12, instruction & OPERAND);
        let run = operand as usize;
        let room = out.len() - pixel;
        let place = at * 2;
        let wrong = |found: String| CodecError::stream(place, "an instruction of PLIO_1", found);
        let put = match operation {
            ZEROS => (run, None),
            HIGHS => (0, Some(run)),
            ZEROS_THEN_HIGH if run > 0 => (run - 1, Some(1)),
            SET_HIGH => {
                at += 1;
                let upper = words.get(at).filter(|_| at < end).ok_or_else(end_error)?;
                high = i32::from(u16::from_be_bytes(*upper)) << 12 | operand;
                (0, None)
            }
            RAISE | RAISE_AND_PUT => {
                high += operand;
                (0, (operation == RAISE_AND_PUT).then_some(1))
            }
            LOWER | LOWER_AND_PUT => {
                high -= operand;
                (0, (operation == LOWER_AND_PUT).then_some(1))
            }
            _ => return Err(wrong(format!("{instruction}"))),
        };
        if !(0..1 << 28).contains(&high) {
            return Err(wrong(format!("a high value of {high}")));
        }
        let (zeros, highs) = (put.0, put.1.unwrap_or(0));
        if zeros + highs > room {
            return Err(wrong(format!("a run of {} pixels where {room} remain", zeros + highs)));
        }
        out[pixel..pixel + zeros].fill(-offset);
        pixel += zeros;
        out[pixel..pixel + highs].fill(high - offset);
        pixel += highs;
        at += 1;
    }
    out[pixel..].fill(-offset);
    Ok(())
}

/// Returns the range of the instruction words.
fn extent(word: &impl Fn(usize) -> Option<i32>) -> Option<(usize, usize)> {
    let second = word(2)?;
    // The old form has the length of the list in the third word, and a header of three words.
    let (first, length) = match second > 0 {
        true => (3, second),
        false => (word(1)?, word(3)? + (word(4)? << 15)),
    };
    Some((usize::try_from(first).ok()?, usize::try_from(length).ok()?))
}

/// Appends the list of these values, with the same instructions as IRAF.
fn encode(values: &[i32], out: &mut Vec<u8>) -> Result<(), CodecError> {
    let start = out.len();
    let mut list = List { out, high: 1, is_short: false };
    (0..HEADER).for_each(|_| list.word(0));
    let (mut at, mut zeros) = (0, 0);
    while at < values.len() {
        let value = values[at];
        let run = values[at..].iter().take_while(|&&other| other == value).count();
        at += run;
        if value == 0 {
            zeros = run;
            // Zeros at the end are written too, so that the list covers the tile.
            if at == values.len() {
                list.zeros(zeros);
            }
            continue;
        }
        list.run(zeros, value, run);
        zeros = 0;
    }
    if list.is_short {
        return Err(CodecError::no_memory(values.len()));
    }
    let words = (out.len() - start) / 2;
    let Ok(upper) = i16::try_from(words >> 15) else {
        return Err(CodecError::value("a list of less than 2^30 words", format!("{words} words")));
    };
    let lower = (words & 0x7fff) as i16;
    let header = [0, HEADER as i16, MARK, lower, upper, 0, 0];
    for (to, word) in out[start..].as_chunks_mut::<2>().0.iter_mut().zip(header) {
        *to = word.to_be_bytes();
    }
    Ok(())
}

struct List<'a> {
    out: &'a mut Vec<u8>,
    high: i32,
    /// Whether memory for a word was refused.
    is_short: bool,
}

impl List<'_> {
    fn word(&mut self, word: i32) {
        match self.out.try_reserve(2) {
            Ok(()) => self.out.extend((word as u16).to_be_bytes()),
            Err(_) => self.is_short = true,
        }
    }

    fn instruction(&mut self, operation: i32, operand: i32) {
        self.word(operation << 12 | operand);
    }

    fn zeros(&mut self, mut count: usize) {
        while count > 0 {
            let part = count.min(OPERAND as usize);
            self.instruction(ZEROS, part as i32);
            count -= part;
        }
    }

    /// Appends `zeros` zeros, then `count` times `value`.
    fn run(&mut self, zeros: usize, value: i32, mut count: usize) {
        let change = value - self.high;
        self.high = value;
        if change.abs() > OPERAND {
            self.instruction(SET_HIGH, value & OPERAND);
            self.word(value >> 12);
        } else if change != 0 {
            let alone = count == 1 && zeros == 0;
            let operation = match (change < 0, alone) {
                (false, false) => RAISE,
                (true, false) => LOWER,
                (false, true) => RAISE_AND_PUT,
                (true, true) => LOWER_AND_PUT,
            };
            self.instruction(operation, change.abs());
            if alone {
                return;
            }
        }
        if count == 1 && zeros > 0 {
            // Combines the last zeros and the value in one instruction, if its operand has room for both.
            let last = (zeros - 1) % OPERAND as usize + 1;
            if last < OPERAND as usize {
                self.zeros(zeros - last);
                self.instruction(ZEROS_THEN_HIGH, last as i32 + 1);
                return;
            }
        }
        self.zeros(zeros);
        while count > 0 {
            let part = count.min(OPERAND as usize);
            self.instruction(HIGHS, part as i32);
            count -= part;
        }
    }
}
