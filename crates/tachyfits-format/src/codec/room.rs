//! Room for numbers whose count a file or a request states: too little memory is an error, and aborts nothing.

use tachyfits_memory as memory;

use super::codec_error::CodecError;

/// The first `len` numbers of a buffer; old content is kept, because it will be overwritten.
///
/// # Errors
/// [`crate::Code::NoMemory`].
pub fn sized<T: Clone + Default>(buffer: &mut Vec<T>, len: usize) -> Result<&mut [T], CodecError> {
    if buffer.len() < len {
        resize(buffer, len)?;
    }
    Ok(&mut buffer[..len])
}

/// Resizes a buffer for pixels whose number the file states: too little memory is an error.
pub(super) fn resize<T: Clone + Default>(
    buffer: &mut Vec<T>,
    len: usize,
) -> Result<(), CodecError> {
    let more = len.saturating_sub(buffer.len());
    let resized = memory::resize(buffer, len, T::default(), "a tile");
    resized.map_err(|_| CodecError::no_memory(more))
}

/// Reserves room for more numbers, so that appending them cannot abort for lack of memory.
pub(super) fn reserve<T>(buffer: &mut Vec<T>, more: usize) -> Result<(), CodecError> {
    memory::reserve_exact(buffer, more, "a tile").map_err(|_| CodecError::no_memory(more))
}
