//! Operands of a condition: numbers or truth values decoded from stored rows.

use std::ops::Range;

use tachyfits_kernels::{Binary, Encoding, Fields, Tier, decode_f64, gather_field_bytes};

use super::super::Table;
use super::super::row_ranges::RowBlock;
use super::side::{
    Text, TextField, Whole, compare_long, compare_texts, have_no_text, holds, match_texts,
};
use crate::error::Error;
use crate::expression::pattern::Pattern;

/// Source of a number per row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ConditionLeaf {
    /// The number of the row, from 1.
    Row,
    /// A number of a binary table; NaN if null.
    Number { at: u64, encoding: Encoding },
    /// A number of an ASCII table; NaN if null.
    Parsed(TextField),
    /// 1 or 0; NaN if null.
    Logical { at: u64 },
    /// A bit of a byte.
    Bit { at: u64, mask: u8 },
    /// Whether a comparison of integers holds.
    Wholes(Binary, [Whole; 2]),
    /// An integer, rounded to the nearest float; NaN if null.
    Whole(Whole),
    /// Difference between an integer and the nearest float; NaN if null.
    Rest(Whole),
    /// Whether a comparison of strings holds.
    Texts(Binary, [Text; 2]),
    /// Whether a string matches a pattern, or does not match; both are false for a null.
    Like { text: Text, pattern: Pattern, is_like: bool },
    /// Whether a string is null or empty.
    NoText(Text),
}

/// A chunk of rows.
pub(super) struct RowChunk<'a> {
    pub(super) table: &'a Table,
    pub(super) bytes: &'a [u8],
    /// Bytes from one row to the next in `bytes`.
    pub(super) stride: usize,
    /// Number of the first row, from 0.
    pub(super) row: u64,
    /// Maps a byte of a stored row to its offset in a row of `bytes`.
    pub(super) offset: &'a dyn Fn(u64) -> usize,
}

/// Buffers reused for each chunk.
pub(super) struct ConditionScratch {
    /// The buffers of the program.
    pub(super) slots: Vec<Vec<f64>>,
    /// The packed fields of each leaf, if they have a few bytes.
    fields: Vec<Vec<u8>>,
    wholes: [Vec<Option<i128>>; 2],
}

impl ConditionScratch {
    pub(super) fn new(slots: usize, rows: usize, leaves: usize) -> ConditionScratch {
        // At most a chunk of rows per operand.
        let slots = vec![vec![0.0; rows]; slots];
        ConditionScratch { slots, fields: vec![Vec::new(); leaves], wholes: Default::default() }
    }

    /// Packs the fields of all leaves while the rows are in the first-level cache.
    pub(super) fn gather(
        &mut self,
        block: &RowBlock<'_>,
        leaves: &[ConditionLeaf],
        offset: &dyn Fn(u64) -> usize,
    ) {
        let targets = leaves.iter().zip(&mut self.fields);
        let mut targets: Vec<_> = targets
            .filter_map(|(leaf, bytes)| {
                let (at, width) = leaf.gathers()?;
                // At most a chunk of numbers.
                bytes.resize(block.rows * width, 0);
                Some((offset(at), width, bytes))
            })
            .collect();
        for (first, part) in block.parts(leaves.len()) {
            for (offset, width, bytes) in &mut targets {
                let fields = Fields { offset: *offset, stride: part.stride, elements: *width };
                let out = &mut bytes[first * *width..(first + part.rows) * *width];
                gather_field_bytes(part.bytes, fields, out);
            }
        }
    }

    /// Returns the buffers of the program, and a loader that fills them.
    pub(super) fn split(&mut self) -> (&mut [Vec<f64>], Loader<'_>) {
        (&mut self.slots, Loader { fields: &self.fields, wholes: &mut self.wholes })
    }
}

/// Loads the numbers of leaves.
pub(super) struct Loader<'a> {
    fields: &'a [Vec<u8>],
    wholes: &'a mut [Vec<Option<i128>>; 2],
}

impl RowChunk<'_> {
    /// Iterates over fields of `count` rows, each `width` bytes from byte `at` of the row.
    pub(super) fn fields(
        &self,
        at: u64,
        width: usize,
        count: usize,
    ) -> impl Iterator<Item = &[u8]> {
        // An empty field may lie outside the bytes of the row.
        let start = if width == 0 { 0 } else { (self.offset)(at) };
        let stride = if width == 0 { 0 } else { self.stride };
        (0..count).map(move |row| &self.bytes[row * stride + start..][..width])
    }
}

impl ConditionLeaf {
    /// Appends the byte ranges of a row that it needs.
    pub(super) fn fields(&self, fields: &mut Vec<Range<u64>>) {
        let mut field = |at: u64, width: usize| fields.push(at..at + width as u64);
        match self {
            ConditionLeaf::Row => {}
            ConditionLeaf::Number { at, encoding } => field(*at, encoding.pixel_bytes()),
            ConditionLeaf::Parsed(parsed) => field(parsed.at, parsed.numbers.width),
            ConditionLeaf::Logical { at } | ConditionLeaf::Bit { at, .. } => field(*at, 1),
            ConditionLeaf::Whole(whole) | ConditionLeaf::Rest(whole) => whole.fields(&mut field),
            ConditionLeaf::Wholes(_, sides) => {
                sides.iter().for_each(|side| side.fields(&mut field))
            }
            ConditionLeaf::Texts(_, sides) => {
                sides.iter().filter_map(Text::field).for_each(|text| field(text.at, text.width));
            }
            ConditionLeaf::NoText(text) | ConditionLeaf::Like { text, .. } => {
                text.field().into_iter().for_each(|text| field(text.at, text.width));
            }
        }
    }

    /// Returns the offset and size of the field to pack, if any.
    fn gathers(&self) -> Option<(u64, usize)> {
        match self {
            ConditionLeaf::Number { at, encoding } => Some((*at, encoding.pixel_bytes())),
            ConditionLeaf::Logical { at } | ConditionLeaf::Bit { at, .. } => Some((*at, 1)),
            ConditionLeaf::Row
            | ConditionLeaf::Parsed(_)
            | ConditionLeaf::Wholes(..)
            | ConditionLeaf::Whole(_)
            | ConditionLeaf::Rest(_)
            | ConditionLeaf::Texts(..)
            | ConditionLeaf::Like { .. }
            | ConditionLeaf::NoText(_) => None,
        }
    }
}

impl Loader<'_> {
    /// Loads the numbers of leaf `index` for the rows of a chunk into `out`, one per row.
    pub(super) fn load(
        &mut self,
        leaf: &ConditionLeaf,
        index: usize,
        chunk: &RowChunk<'_>,
        tier: Tier,
        out: &mut [f64],
    ) -> Result<(), Error> {
        let fields = &self.fields[index];
        match leaf {
            ConditionLeaf::Row => {
                let first = chunk.row + 1;
                out.iter_mut().zip(first..).for_each(|(out, row)| *out = row as f64);
            }
            ConditionLeaf::Number { encoding, .. } => decode_f64(fields, encoding, tier, out),
            ConditionLeaf::Parsed(field) => field.values(chunk, out)?,
            ConditionLeaf::Logical { .. } => {
                let values = fields.iter().map(|&byte| LOGICAL[usize::from(byte)]);
                out.iter_mut().zip(values).for_each(|(out, value)| *out = value);
            }
            ConditionLeaf::Bit { mask, .. } => {
                let bit = |byte: u8| f64::from(u8::from(byte & mask != 0));
                out.iter_mut().zip(fields).for_each(|(out, &byte)| *out = bit(byte));
            }
            ConditionLeaf::Wholes(comparison, sides)
                if compare_long(chunk, *comparison, sides, out) => {}
            ConditionLeaf::Wholes(comparison, sides) => {
                for (side, values) in sides.iter().zip(self.wholes.iter_mut()) {
                    side.values(chunk, values, out.len())?;
                }
                let [left, right] = &*self.wholes;
                for (out, sides) in out.iter_mut().zip(left.iter().zip(right)) {
                    let truth = match sides {
                        (Some(left), Some(right)) => holds(*comparison, left.cmp(right)),
                        _ => false,
                    };
                    *out = f64::from(u8::from(truth));
                }
            }
            ConditionLeaf::Whole(whole) | ConditionLeaf::Rest(whole) => {
                let [values, _] = &mut *self.wholes;
                whole.values(chunk, values, out.len())?;
                let part: fn(i128) -> f64 = match leaf {
                    ConditionLeaf::Rest(_) => |value| (value - value as f64 as i128) as f64,
                    _ => |value| value as f64,
                };
                let numbers = values.iter().map(|value| value.map_or(f64::NAN, part));
                out.iter_mut().zip(numbers).for_each(|(out, number)| *out = number);
            }
            ConditionLeaf::Texts(comparison, [left, right]) => {
                compare_texts(chunk, *comparison, [left, right], out);
            }
            ConditionLeaf::Like { text, pattern, is_like } => {
                match_texts(chunk, text, (pattern, *is_like), out);
            }
            ConditionLeaf::NoText(text) => have_no_text(chunk, text, out),
        }
        Ok(())
    }
}

/// Value of each byte of a logical field: T, F, and 1, which some programs write for T. All others are null.
const LOGICAL: [f64; 256] = {
    let mut values = [f64::NAN; 256];
    values[b'T' as usize] = 1.0;
    values[1] = 1.0;
    values[b'F' as usize] = 0.0;
    values
};
