//! Bit streams; the most significant bit of each byte is first.

/// Reads bits. The next bit is the highest of `buffer`. After the end of the stream all bits are 0, and
/// [`BitReader::overrun`] returns true.
#[derive(Clone, Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// Bytes read into the buffer so far; may count bytes after the end.
    at: usize,
    /// Bits below the `count` highest may be set: they belong to the following bytes.
    pub(super) buffer: u64,
    pub(super) count: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        BitReader { bytes, at, buffer: 0, count: 0 }
    }

    /// Fills the buffer to at least 56 bits.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        let next = match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()) {
            Some(&next) => next,
            None => self.last_bytes(),
        };
        self.buffer |= u64::from_be_bytes(next) >> self.count;
        self.at += ((63 - self.count) >> 3) as usize;
        self.count |= 56;
    }

    /// Returns the fewer than eight last bytes of a stream, padded with zeros.
    #[cold]
    fn last_bytes(&self) -> [u8; 8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let mut bytes = [0; 8];
        bytes[..rest.len()].copy_from_slice(rest);
        bytes
    }

    /// Drops fewer than 64 bits, all of which are in the buffer.
    #[inline(always)]
    pub(super) fn skip(&mut self, bits: u32) {
        self.buffer <<= bits;
        self.count -= bits;
    }

    /// Reads the next 1 to 32 bits.
    #[inline(always)]
    pub(super) fn take(&mut self, bits: u32) -> u32 {
        if self.count < bits {
            self.refill();
        }
        let value = (self.buffer >> (64 - bits)) as u32;
        self.skip(bits);
        value
    }

    /// Counts the 0 bits before the next 1, and reads that as well; `None` if there are more than `most`.
    #[inline]
    pub(super) fn zeros(&mut self, most: u64) -> Option<u64> {
        let mut zeros = 0u64;
        loop {
            self.refill();
            let run = self.buffer.leading_zeros();
            if run < self.count {
                self.skip(run + 1);
                zeros += u64::from(run);
                return (zeros <= most).then_some(zeros);
            }
            zeros += u64::from(self.count);
            self.skip(self.count);
            if zeros > most || self.overrun() {
                return None;
            }
        }
    }

    /// Offset of the byte with the next bit; the end of the stream after an overrun.
    pub(super) fn offset(&self) -> usize {
        ((self.at * 8 - self.count as usize) / 8).min(self.bytes.len())
    }

    /// Whether bits were read after the end.
    pub(super) fn overrun(&self) -> bool {
        self.at * 8 - self.count as usize > self.bytes.len() * 8
    }

    /// Skips to the next whole byte; returns its offset.
    pub(super) fn align(&mut self) -> usize {
        self.skip(self.count % 8);
        self.offset()
    }
}

/// Appends bits to bytes.
#[derive(Debug)]
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// The lowest `count` bits, fewer than 32, are not written yet.
    buffer: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        BitWriter { out, buffer: 0, count: 0 }
    }

    /// Writes the lowest `bits` bits of `value`, at most 32; the higher bits must be 0.
    #[inline(always)]
    pub(super) fn put(&mut self, value: u32, bits: u32) {
        self.buffer = self.buffer << bits | u64::from(value);
        self.count += bits;
        if self.count >= 32 {
            self.count -= 32;
            self.out.extend(((self.buffer >> self.count) as u32).to_be_bytes());
        }
    }

    /// Writes whole bytes; fewer than 8 bits remain in the buffer.
    #[inline(always)]
    pub(super) fn put_bytes(&mut self) {
        let first = self.buffer << 1 << (63 - self.count);
        let (end, bytes) = (self.out.len(), (self.count / 8) as usize);
        self.out.extend_from_slice(&first.to_be_bytes());
        self.out.truncate(end + bytes);
        self.count %= 8;
    }

    /// Writes the lowest `bits` bits of `value`, at most 56, without a branch. Requires, and leaves, fewer than 8 bits
    /// in the buffer.
    #[inline(always)]
    pub(super) fn put_many(&mut self, value: u64, bits: u32) {
        debug_assert!(self.count < 8 && bits <= 56);
        self.buffer = self.buffer << bits | value;
        self.count += bits;
        self.put_bytes();
    }

    /// Writes `bits` 0 bits.
    #[inline(always)]
    pub(super) fn put_zeros(&mut self, mut bits: u32) {
        while bits > 32 {
            self.put(0, 32);
            bits -= 32;
        }
        self.put(0, bits);
    }

    /// Writes the rest of the buffer, padded with 0 bits to whole bytes.
    pub(super) fn finish(self) {
        let bytes = self.count.div_ceil(8);
        let rest = (self.buffer << (64 - self.count).min(63)) << u32::from(self.count == 0);
        self.out.extend(&rest.to_be_bytes()[..bytes as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::{BitReader, BitWriter};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_read_as_they_were_written(fields in prop::collection::vec((any::<u32>(), 1..=32u32), 0..200)) {
            let mut bytes = Vec::new();
            let mut writer = BitWriter::new(&mut bytes);
            for &(value, bits) in &fields {
                writer.put(value >> (32 - bits), bits);
            }
            writer.finish();
            let total: u32 = fields.iter().map(|field| field.1).sum();
            prop_assert_eq!(bytes.len(), total.div_ceil(8) as usize);
            let mut reader = BitReader::new(&bytes, 0);
            for &(value, bits) in &fields {
                prop_assert_eq!(reader.take(bits), value >> (32 - bits));
            }
            prop_assert!(!reader.overrun());
            reader.take(9);
            prop_assert!(reader.overrun());
        }

        #[test]
        fn many_bits_are_written_as_few(fields in prop::collection::vec((any::<u64>(), 1..=56u32), 0..50)) {
            let (mut bytes, mut expected) = (Vec::new(), Vec::new());
            let (mut writer, mut single) = (BitWriter::new(&mut bytes), BitWriter::new(&mut expected));
            for &(value, bits) in &fields {
                let value = value >> (64 - bits);
                writer.put_bytes();
                writer.put_many(value, bits);
                writer.put(1, 3);
                (0..bits).rev().for_each(|bit| single.put((value >> bit & 1) as u32, 1));
                single.put(1, 3);
            }
            writer.finish();
            single.finish();
            prop_assert_eq!(bytes, expected);
        }

        #[test]
        fn runs_of_zeros_are_counted(runs in prop::collection::vec(0..200u32, 0..50)) {
            let mut bytes = Vec::new();
            let mut writer = BitWriter::new(&mut bytes);
            for &run in &runs {
                writer.put_zeros(run);
                writer.put(1, 1);
            }
            writer.finish();
            let mut reader = BitReader::new(&bytes, 0);
            for &run in &runs {
                prop_assert_eq!(reader.zeros(199), Some(u64::from(run)));
            }
            prop_assert_eq!(reader.zeros(1000), None);
        }
    }

    #[test]
    fn alignment_skips_to_the_next_byte() {
        let mut reader = BitReader::new(&[0xff, 1, 2, 3], 1);
        assert_eq!((reader.take(3), reader.offset()), (0, 1));
        assert_eq!(reader.align(), 2);
        assert_eq!((reader.take(8), reader.align()), (2, 3));
    }
}
