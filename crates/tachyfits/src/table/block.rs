//! Several columns of a block of rows: decoded one after another while the rows are in the first-level cache.

use tachyfits_kernels::Tier;

use super::decode::{Decoder, Scratch};
use super::rows::RowBlock;
use super::text::BadText;

/// Bytes of rows that columns are gathered from one after another: half of a first-level cache of 32 or 48 KiB, which the
/// columns' ends pass through as well.
const CACHED_BYTES: usize = 16 << 10;
/// The fewest rows of a part: fewer are not worth the calls.
const LEAST_ROWS: usize = 64;

/// What some rows of a column become.
#[derive(Debug, Default)]
pub(crate) struct CellsOut<'a> {
    pub(crate) values: &'a mut [u8],
    pub(crate) nulls: Option<&'a mut [u8]>,
}

/// Where the field of a column stands in the rows of a block, and how it is decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedDecoder<'a> {
    pub(crate) decoder: &'a Decoder,
    pub(crate) offset: usize,
}

/// Decodes columns; `odd` counts, for each, the elements that the Standard does not have.
///
/// # Errors
/// Where text is no number: which column, and which row of the block.
pub(crate) fn decode_columns(
    block: &RowBlock<'_>,
    columns: &[PlacedDecoder<'_>],
    tier: Tier,
    scratch: &mut Scratch,
    outs: &mut [CellsOut<'_>],
    odd: &mut [u64],
) -> Result<(), (usize, BadText)> {
    let part_rows = match columns.len() {
        1 => block.rows,
        _ => (CACHED_BYTES / block.stride.max(1)).max(LEAST_ROWS),
    };
    for first in (0..block.rows).step_by(part_rows.max(1)) {
        let rows = part_rows.min(block.rows - first);
        let bytes = &block.bytes[first * block.stride..];
        let part = RowBlock { bytes, rows, ..*block };
        let outs = outs.iter_mut().zip(odd.iter_mut());
        for (index, (column, (out, odd))) in columns.iter().zip(outs).enumerate() {
            let decoder = column.decoder;
            let cells = |from: usize, size: usize| from * size..(from + rows) * size;
            let values = &mut out.values[cells(first, decoder.cell_bytes)];
            let nulls =
                out.nulls.as_deref_mut().map(|nulls| &mut nulls[cells(first, decoder.elements)]);
            *odd += decoder
                .decode(&part, column.offset, tier, scratch, values, nulls)
                .map_err(|bad| (index, BadText { row: first + bad.row, ..bad }))?;
        }
    }
    Ok(())
}
