//! Numbers that only need their bytes swapped: read directly into the target array and swapped
//! there.

use tachyfits_io::{IoError, PipelineOptions, Report, Storage, fill};
use tachyfits_kernels::{PixelType, Tier, native_in_place};

/// A block that is read and turned in place: it stays in the second-level cache meanwhile.
const BLOCK_BYTES: usize = 256 << 10;

/// Reads contiguous numbers of one type.
///
/// Through a block they would cross memory once more: the processor reads what it is going to overwrite.
pub(crate) fn read_native(
    storage: &dyn Storage,
    offset: u64,
    out: &mut [u8],
    pixel: PixelType,
    tier: Tier,
    options: &PipelineOptions<'_>,
) -> Result<Report, IoError> {
    let turn = |block: &mut [u8]| native_in_place(block, pixel, tier);
    fill(storage, offset, out, block_bytes(storage), options, turn)
}

/// Bytes that are read and decoded in place at a time: of a storage that decodes tiles whole ones.
pub(crate) fn block_bytes(storage: &dyn Storage) -> usize {
    let unit_bytes = storage.profile().request_bytes;
    let is_made = storage.computes() && unit_bytes != u64::MAX;
    if is_made { unit_bytes as usize } else { BLOCK_BYTES }
}
