//! Numbers that only need their bytes swapped: read directly into the target array and swapped
//! there, or on the way.

use tachyfits_io::{IoError, PipelineOptions, Report, Storage, fill_either_way};
use tachyfits_kernels::{
    Fields, PixelType, Tier, is_past_caches, native_in_place, stream_fields, streaming,
};

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
    let stream = |offset, block: &mut [u8]| stream_native(storage, offset, block, pixel, tier);
    let lent = is_past_caches(out.len()).then_some(&stream as _);
    // A storage that decodes tiles is read by whole tiles.
    let unit_bytes = storage.profile().request_bytes;
    let is_made = storage.computes() && unit_bytes != u64::MAX;
    let block_bytes = if is_made { unit_bytes as usize } else { BLOCK_BYTES };
    fill_either_way(storage, offset, out, block_bytes, options, turn, lent)
}

/// The same from bytes that the storage has in the page cache, past the caches of the processor; gives whether it lends them.
fn stream_native(
    storage: &dyn Storage,
    offset: u64,
    out: &mut [u8],
    pixel: PixelType,
    tier: Tier,
) -> Result<bool, IoError> {
    let range = offset..offset + out.len() as u64;
    let Some(lent) = storage.cached(range.clone()) else { return Ok(false) };
    let elements = out.len() / pixel.bytes();
    let all = Fields { offset: 0, stride: out.len(), elements };
    streaming(|stores| stream_fields(lent, all, pixel, tier, out, stores));
    storage.intact(range)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tachyfits_io::{CachedStorage, FileStorage};

    use super::*;

    #[test]
    fn missing_bytes_of_a_map_are_an_error_not_zeros() {
        let mut out = [0; 50_000];
        // Within a page, of which no signal tells, and before it.
        for bytes in [99_990, 10_000] {
            let mut written = tempfile::NamedTempFile::new().unwrap();
            written.write_all(&[1; 100_000]).unwrap();
            let file = FileStorage::open(written.path()).unwrap();
            let storage = CachedStorage::mapped(written.path(), file).unwrap();
            let mut stream =
                |offset| stream_native(&storage, offset, &mut out, PixelType::U16, Tier::SCALAR);
            assert!(stream(50_000).unwrap());
            written.as_file().set_len(bytes).unwrap();
            assert_eq!(stream(50_000).unwrap_err().code(), "io-short");
        }
    }
}
