//! Buffers with an aligned start, without `unsafe`: a byte vector slightly longer than needed, sliced at the first
//! aligned byte.
//!
//! A buffer grows but never shrinks. Each byte is set to zero once, when it is allocated, and not cleared between uses.

use std::ops::Range;

use tachyfits_memory as memory;

/// Size of a cache line: the alignment of ordinary buffers.
pub(crate) const CACHE_LINE: usize = 64;

/// Size of a large memory page, which the system allocates, clears and maps as a whole.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// Alignment of offsets, lengths and memory for direct I/O: the page size, a multiple of every common block size.
pub(crate) const PAGE: usize = 4096;

/// Bytes with an aligned start.
#[derive(Debug, Default)]
pub(crate) struct AlignedBuffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// Makes at least `length` bytes available, the first at a multiple of `alignment`. Returns false if there is not
    /// enough memory.
    ///
    /// The old content is lost when the buffer grows.
    pub(crate) fn ensure(&mut self, length: usize, alignment: usize) -> bool {
        if length <= self.length && self.address().is_multiple_of(alignment) {
            return true;
        }
        let Some(total) = length.checked_add(alignment) else { return false };
        self.length = 0;
        self.start = 0;
        self.bytes = Vec::new();
        let Ok(bytes) = memory::filled(total, 0, "a buffer") else { return false };
        self.bytes = bytes;
        self.start = self.address().next_multiple_of(alignment) - self.address();
        self.length = total - self.start;
        true
    }

    /// Returns the available bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    /// Returns a part of the bytes, for writing.
    pub(crate) fn part_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length][range]
    }

    fn address(&self) -> usize {
        self.bytes.as_ptr().addr() + self.start
    }
}

#[cfg(test)]
mod tests {
    use super::{AlignedBuffer, CACHE_LINE, PAGE};

    #[test]
    fn starts_aligned_and_grows_only_when_needed() {
        let mut buffer = AlignedBuffer::default();
        assert!(buffer.bytes().is_empty());
        for (length, alignment) in
            [(1, CACHE_LINE), (100_000, PAGE), (10, CACHE_LINE), (200_000, PAGE)]
        {
            assert!(buffer.ensure(length, alignment));
            assert!(buffer.bytes().len() >= length);
            assert!(buffer.bytes().as_ptr().addr().is_multiple_of(alignment));
        }
        let before = buffer.bytes().as_ptr();
        assert!(buffer.ensure(200_000, PAGE));
        assert_eq!(before, buffer.bytes().as_ptr());
    }

    #[test]
    fn an_impossible_size_is_refused() {
        assert!(!AlignedBuffer::default().ensure(usize::MAX - 4096, PAGE));
        assert!(!AlignedBuffer::default().ensure(isize::MAX as usize, PAGE));
    }
}
