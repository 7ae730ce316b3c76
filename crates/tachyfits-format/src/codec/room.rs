//! Memory for a number of elements that a file or a request states: an allocation failure is an error and does not
//! abort.

use tachyfits_memory as memory;

use super::codec_error::CodecError;

/// Returns the first `len` numbers of a buffer, resized if needed; old content is kept, because it will be overwritten.
///
/// # Errors
/// [`crate::Code::NoMemory`].
pub fn sized<T: Clone + Default>(buffer: &mut Vec<T>, len: usize) -> Result<&mut [T], CodecError> {
    if buffer.len() < len {
        resize(buffer, len)?;
    }
    Ok(&mut buffer[..len])
}

/// Resizes a buffer for pixels whose number the file states; returns an error if memory is short.
pub(super) fn resize<T: Clone + Default>(
    buffer: &mut Vec<T>,
    len: usize,
) -> Result<(), CodecError> {
    let more = len.saturating_sub(buffer.len());
    let resized = memory::resize(buffer, len, T::default(), "a tile");
    resized.map_err(|_| CodecError::no_memory(more))
}

/// Reserves memory for `more` numbers, so that appending them cannot abort.
pub(super) fn reserve<T>(buffer: &mut Vec<T>, more: usize) -> Result<(), CodecError> {
    memory::reserve_exact(buffer, more, "a tile").map_err(|_| CodecError::no_memory(more))
}
