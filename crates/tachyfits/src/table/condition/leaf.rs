//! The operands of a condition: numbers or truth values of some rows, from their bytes.

use std::ops::Range;

use tachyfits_kernels::{Binary, Encoding, Fields, Tier, decode_f64, gather_field_bytes};

use super::super::Table;
use super::side::{Text, TextField, Whole, compare_long, compare_texts, holds};
use crate::error::Error;

/// What gives a number for each row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Leaf {
    /// The number of the row, from 1.
    Row,
    /// A number of a binary table; NaN where it is null.
    Number { at: u64, encoding: Encoding },
    /// A number of an ASCII table; NaN where it is null.
    Parsed(TextField),
    /// 1 or 0; NaN where it is null.
    Logical { at: u64 },
    /// A bit of a byte.
    Bit { at: u64, mask: u8 },
    /// Whether a comparison of integers holds.
    Wholes(Binary, [Whole; 2]),
    /// Whether a comparison of strings holds.
    Texts(Binary, [Text; 2]),
}

/// Some rows.
pub(super) struct Chunk<'a> {
    pub(super) table: &'a Table,
    pub(super) bytes: &'a [u8],
    /// From one row to the next in `bytes`.
    pub(super) stride: usize,
    /// The number of the first one, from 0.
    pub(super) row: u64,
    /// Where a byte of a row of the file lies in a row of `bytes`.
    pub(super) offset: &'a dyn Fn(u64) -> usize,
}

/// What is kept from chunk to chunk.
pub(super) struct Scratch {
    pub(super) slots: Vec<Vec<f64>>,
    pub(super) fields: Gathered,
}

/// Fields put side by side, and integers.
#[derive(Default)]
pub(super) struct Gathered {
    bytes: Vec<u8>,
    wholes: [Vec<Option<i128>>; 2],
}

impl Scratch {
    pub(super) fn new(slots: usize, rows: usize) -> Scratch {
        Scratch { slots: vec![vec![0.0; rows]; slots], fields: Gathered::default() }
    }
}

impl Chunk<'_> {
    /// The fields of `count` rows that begin at a byte of the row.
    pub(super) fn fields(
        &self,
        at: u64,
        width: usize,
        count: usize,
    ) -> impl Iterator<Item = &[u8]> {
        // Fields without bytes need not lie in the bytes that are there.
        let start = if width == 0 { 0 } else { (self.offset)(at) };
        let stride = if width == 0 { 0 } else { self.stride };
        (0..count).map(move |row| &self.bytes[row * stride + start..][..width])
    }

    fn gather<'b>(&self, at: u64, width: usize, count: usize, bytes: &'b mut Vec<u8>) -> &'b [u8] {
        bytes.resize(count * width, 0);
        let fields = Fields { offset: (self.offset)(at), stride: self.stride, elements: width };
        gather_field_bytes(self.bytes, fields, bytes);
        bytes
    }
}

impl Leaf {
    /// Appends the bytes of a row that it needs.
    pub(super) fn fields(&self, fields: &mut Vec<Range<u64>>) {
        let mut field = |at: u64, width: usize| fields.push(at..at + width as u64);
        match self {
            Leaf::Row => {}
            Leaf::Number { at, encoding } => field(*at, encoding.pixel_bytes()),
            Leaf::Parsed(parsed) => field(parsed.at, parsed.numbers.width),
            Leaf::Logical { at } | Leaf::Bit { at, .. } => field(*at, 1),
            Leaf::Wholes(_, sides) => {
                for side in sides {
                    match side {
                        Whole::Stored { at, pixel, .. } => field(*at, pixel.bytes()),
                        Whole::Parsed(parsed) => field(parsed.at, parsed.numbers.width),
                        Whole::Constant(_) | Whole::Row => {}
                    }
                }
            }
            Leaf::Texts(_, sides) => {
                for side in sides {
                    if let Text::Field { at, width } = side {
                        field(*at, *width);
                    }
                }
            }
        }
    }

    /// Puts the numbers of the rows of a chunk into `out`, which says how many.
    pub(super) fn load(
        &self,
        chunk: &Chunk<'_>,
        tier: Tier,
        gathered: &mut Gathered,
        out: &mut [f64],
    ) -> Result<(), Error> {
        match self {
            Leaf::Row => {
                let first = chunk.row + 1;
                out.iter_mut().zip(first..).for_each(|(out, row)| *out = row as f64);
            }
            Leaf::Number { at, encoding } => {
                let bytes =
                    chunk.gather(*at, encoding.pixel_bytes(), out.len(), &mut gathered.bytes);
                decode_f64(bytes, encoding, tier, out);
            }
            Leaf::Parsed(field) => field.values(chunk, out)?,
            Leaf::Logical { at } => {
                let bytes = chunk.gather(*at, 1, out.len(), &mut gathered.bytes);
                out.iter_mut()
                    .zip(bytes)
                    .for_each(|(out, &byte)| *out = LOGICAL[usize::from(byte)]);
            }
            Leaf::Bit { at, mask } => {
                let bytes = chunk.gather(*at, 1, out.len(), &mut gathered.bytes);
                let bit = |byte: u8| f64::from(u8::from(byte & mask != 0));
                out.iter_mut().zip(bytes).for_each(|(out, &byte)| *out = bit(byte));
            }
            Leaf::Wholes(comparison, sides) if compare_long(chunk, *comparison, sides, out) => {}
            Leaf::Wholes(comparison, sides) => {
                for (side, values) in sides.iter().zip(&mut gathered.wholes) {
                    side.values(chunk, values, out.len())?;
                }
                let [left, right] = &gathered.wholes;
                for (out, sides) in out.iter_mut().zip(left.iter().zip(right)) {
                    let truth = match sides {
                        (Some(left), Some(right)) => holds(*comparison, left.cmp(right)),
                        _ => false,
                    };
                    *out = f64::from(u8::from(truth));
                }
            }
            Leaf::Texts(comparison, [left, right]) => {
                compare_texts(chunk, *comparison, [left, right], out);
            }
        }
        Ok(())
    }
}

/// The value of each byte of a logical field: T, F, and 1 as some programs write T. All others are null.
const LOGICAL: [f64; 256] = {
    let mut values = [f64::NAN; 256];
    values[b'T' as usize] = 1.0;
    values[1] = 1.0;
    values[b'F' as usize] = 0.0;
    values
};
