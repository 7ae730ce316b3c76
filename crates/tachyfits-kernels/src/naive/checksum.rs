//! Twins of checksums.

/// Twin of [`crate::OnesComplement`]: sums bytes that follow `offset` zeros, and adds the carry of each addition at
/// once.
pub fn ones_complement(offset: u64, bytes: &[u8]) -> u32 {
    let mut padded = vec![0; (offset % 4) as usize];
    padded.extend(bytes);
    padded.resize(padded.len().next_multiple_of(4), 0);
    let mut sum = 0u32;
    for word in padded.chunks_exact(4) {
        let word = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
        let (wrapped, carry) = sum.overflowing_add(word);
        sum = wrapped + u32::from(carry);
    }
    sum
}
