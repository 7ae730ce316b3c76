//! Several columns of a block of rows, decoded one after another while the rows are in the first-level cache.
//!
//! Whole rows are loaded in order before the first column is extracted from them. Otherwise each
//! column would wait for cache lines that earlier columns did not need (`python -m bench --only
//! 19`).

use tachyfits_kernels::{Streaming, Tier};

use super::decode::{DecodeScratch, Decoder};
use super::read_text::BadText;
use super::row_ranges::RowBlock;

/// Bytes of rows from which columns are gathered one after another: half of a first-level cache of
/// 32 or 48 KiB, which the output of the columns passes through as well.
const CACHED_BYTES: usize = 16 << 10;
/// Minimum rows of a part; fewer do not pay for the calls.
const LEAST_ROWS: usize = 64;

/// Decoded rows of a column.
#[derive(Debug, Default)]
pub(crate) struct CellsOut<'a> {
    pub(crate) values: &'a mut [u8],
    pub(crate) nulls: Option<&'a mut [u8]>,
}

/// Position of a column's field in the rows of a block, and its decoding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedDecoder<'a> {
    pub(crate) decoder: &'a Decoder,
    pub(crate) offset: usize,
}

impl<'a> RowBlock<'a> {
    /// Splits the rows into parts, each with the number of its first row in the block, to extract
    /// `columns` columns. For several columns, a part fits in the first-level cache and is loaded
    /// there first.
    pub(crate) fn parts(self, columns: usize) -> impl Iterator<Item = (usize, RowBlock<'a>)> {
        let part_rows = match columns {
            0 | 1 => self.rows,
            _ => (CACHED_BYTES / self.stride.max(1)).max(LEAST_ROWS),
        };
        (0..self.rows).step_by(part_rows.max(1)).map(move |first| {
            let rows = part_rows.min(self.rows - first);
            let bytes = &self.bytes[first * self.stride..];
            let bytes = &bytes[..bytes.len().min(rows * self.stride)];
            if columns > 1 {
                look_at(bytes);
            }
            (first, RowBlock { bytes, rows, ..self })
        })
    }
}

/// Loads bytes into the cache in order, which suits the prefetcher best. Reads whole cache lines,
/// as kernels do: reading one byte of each was slower.
fn look_at(bytes: &[u8]) {
    const LINE: usize = 8;
    let (words, _) = bytes.as_chunks::<8>();
    let (lines, rest) = words.as_chunks::<LINE>();
    let mut bits = [0; LINE];
    for line in lines {
        for (lane, word) in bits.iter_mut().zip(line) {
            *lane ^= u64::from_ne_bytes(*word);
        }
    }
    std::hint::black_box((bits, rest.first(), bytes.last()));
}

/// Decodes columns, with streaming stores if `stores` is given; adds to `odd`, for each column, the
/// elements that violate the Standard.
///
/// # Errors
/// The column and the row of the block with text that is not a number.
pub(crate) fn decode_columns(
    block: &RowBlock<'_>,
    columns: &[PlacedDecoder<'_>],
    tier: Tier,
    scratch: &mut DecodeScratch,
    outs: &mut [CellsOut<'_>],
    odd: &mut [u64],
    stores: Option<Streaming<'_>>,
) -> Result<(), (usize, BadText)> {
    for (first, part) in block.parts(columns.len()) {
        let outs = outs.iter_mut().zip(odd.iter_mut());
        for (index, (column, (out, odd))) in columns.iter().zip(outs).enumerate() {
            let decoder = column.decoder;
            let cells = |from: usize, size: usize| from * size..(from + part.rows) * size;
            let values = &mut out.values[cells(first, decoder.cell_bytes)];
            let nulls =
                out.nulls.as_deref_mut().map(|nulls| &mut nulls[cells(first, decoder.elements)]);
            *odd += decoder
                .decode(&part, column.offset, tier, scratch, CellsOut { values, nulls }, stores)
                .map_err(|bad| (index, BadText { row: first + bad.row, ..bad }))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{CACHED_BYTES, LEAST_ROWS};
    use crate::table::row_ranges::RowBlock;
    use proptest::prelude::*;

    proptest! {
        /// The last row may end before its stride does.
        #[test]
        fn parts_are_the_rows_of_a_block_in_order(
            rows in 0usize..3000,
            (stride, missing) in (1usize..200).prop_flat_map(|stride| (Just(stride), 0..stride)),
            columns in 0usize..4,
        ) {
            let bytes: Vec<u8> = (0..rows * stride).map(|at| (at % 251) as u8).collect();
            let bytes = &bytes[..bytes.len().saturating_sub(missing)];
            let block = RowBlock { bytes, stride, rows };
            let (mut next, mut concatenated) = (0, Vec::new());
            for (first, part) in block.parts(columns) {
                prop_assert_eq!((first, part.stride), (next, stride));
                prop_assert!(part.rows > 0);
                if columns > 1 {
                    prop_assert!(part.rows <= LEAST_ROWS || part.rows * stride <= CACHED_BYTES);
                }
                next += part.rows;
                concatenated.extend_from_slice(part.bytes);
            }
            prop_assert_eq!(next, rows);
            prop_assert!(concatenated == bytes);
        }
    }
}
