//! Memory for bytes that are written to some offset of a file, or read from there, with the same offset within a page
//! as in the file.
//!
//! The kernel then copies each page from start to start, in calls that end at multiples of 256 KiB, as
//! [`OutputFile`](crate::OutputFile) makes them. Large vectors begin 16 bytes after a page start, which makes writing
//! slower (`python -m bench --only 22`).

use std::ops::Range;

use crate::aligned::{AlignedBuffer, PAGE};

/// Reusable buffer whose alignment matches a file offset.
///
/// ```
/// let mut buffer = tachyfits_io::PlacedBuffer::default();
/// buffer.prepare(5760, 3).expect("there is memory").copy_from_slice(b"one");
/// assert_eq!(buffer.bytes(), b"one");
/// assert_eq!(buffer.bytes().as_ptr().addr() % 4096, 5760 % 4096);
/// ```
#[derive(Debug, Default)]
pub struct PlacedBuffer {
    memory: AlignedBuffer,
    used: Range<usize>,
}

impl PlacedBuffer {
    /// Returns a buffer for bytes at an offset, with arbitrary content; `None` if there is not enough memory.
    pub fn prepare(&mut self, offset: u64, length: usize) -> Option<&mut [u8]> {
        let begin = (offset % PAGE as u64) as usize;
        self.used = 0..0;
        if !self.memory.ensure(length.checked_add(PAGE)?, PAGE) {
            return None;
        }
        self.used = begin..begin + length;
        Some(self.memory.part_mut(self.used.clone()))
    }

    /// Returns the bytes of the buffer.
    pub fn bytes(&self) -> &[u8] {
        &self.memory.bytes()[self.used.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::PlacedBuffer;

    #[test]
    fn bytes_have_the_offset_of_the_file_on_every_use() {
        let mut buffer = PlacedBuffer::default();
        for (offset, length) in [(0, 10), (5760, 100_000), (4095, 1), (1 << 40, 0), (4097, 99_999)]
        {
            let room = buffer.prepare(offset, length).unwrap();
            assert_eq!(room.as_ptr().addr() as u64 % 4096, offset % 4096);
            room.fill(7);
            assert!(buffer.bytes() == vec![7; length]);
        }
        assert!(buffer.prepare(0, usize::MAX).is_none());
        assert!(buffer.prepare(0, isize::MAX as usize).is_none());
        assert!(buffer.bytes().is_empty());
    }
}
