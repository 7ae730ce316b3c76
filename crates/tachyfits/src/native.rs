//! Reads numbers that only need their bytes swapped directly into the output, and swaps them there.

use tachyfits_io::{IoError, PipelineOptions, Report, Storage, fill};
use tachyfits_kernels::{PixelType, Tier, native_in_place};

/// Size of a block that is read and swapped in place: it stays in the second-level cache meanwhile.
const BLOCK_BYTES: usize = 256 << 10;

/// Reads contiguous numbers of one type.
///
/// An intermediate block would cost another pass through memory, because the processor reads what it overwrites.
pub(crate) fn read_native(
    storage: &dyn Storage,
    offset: u64,
    out: &mut [u8],
    pixel: PixelType,
    tier: Tier,
    options: &PipelineOptions<'_>,
) -> Result<Report, IoError> {
    let swap = |block: &mut [u8]| native_in_place(block, pixel, tier);
    fill(storage, offset, out, block_bytes(storage), options, swap)
}

/// Bytes read and decoded in place at a time; whole tiles of a storage that decodes tiles.
pub(crate) fn block_bytes(storage: &dyn Storage) -> usize {
    let unit_bytes = storage.profile().request_bytes;
    let is_computed = storage.computes() && unit_bytes != u64::MAX;
    if is_computed { unit_bytes as usize } else { BLOCK_BYTES }
}
