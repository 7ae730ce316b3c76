//! Checksums of FITS (Standard 4.0, section 4.4.2.7 and appendix J): ones' complement sums of big-endian 32-bit words, and
//! their ASCII form.
//!
//! Words are added as plain u64, in any order, by vector code; the carries are folded back at the end, because 2^32 = 1
//! (mod 2^32 - 1). So several threads can sum the bytes in pieces, while writing them.

use crate::isa::{self, Kernel, Tier};

/// Sums the big-endian 32-bit words of `bytes`, fewer than 2^32 words; ignores trailing bytes that do not fill a word.
pub fn add_words(bytes: &[u8], tier: Tier) -> u64 {
    isa::dispatch(tier, AddWords { bytes })
}

pub(crate) struct AddWords<'a> {
    bytes: &'a [u8],
}

impl Kernel for AddWords<'_> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let (words, _) = self.bytes.as_chunks::<4>();
        let mut sum = 0u64;
        for &word in words {
            sum = sum.wrapping_add(u64::from(u32::from_be_bytes(word)));
        }
        sum
    }
}

/// A ones' complement sum of 32-bit words: the carry out of the highest bit is added to the lowest. The order of the
/// terms makes no difference.
///
/// ```
/// use tachyfits_kernels::{OnesComplement, Tier};
/// let mut whole = OnesComplement::default();
/// whole.accumulate(0, b"SIMPLE  =", Tier::SCALAR);
/// let mut parts = OnesComplement::default();
/// parts.accumulate(6, b"  =", Tier::SCALAR);
/// parts.accumulate(0, b"SIMPLE", Tier::SCALAR);
/// assert_eq!(whole, parts);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OnesComplement(u32);

impl OnesComplement {
    /// Continues from a sum, such as the value of DATASUM.
    pub fn from_sum(sum: u32) -> OnesComplement {
        OnesComplement(sum)
    }

    /// Adds the result of [`add_words`].
    pub fn add(&mut self, words: u64) {
        self.0 = fold(fold(words) + u64::from(self.0)) as u32;
    }

    /// Adds bytes whose first byte has the offset `offset` in the summed data. Neither the offset nor the length need
    /// be a multiple of the word size; missing bytes of a word count as 0.
    pub fn accumulate(&mut self, offset: u64, bytes: &[u8], tier: Tier) {
        // Few enough bytes for one call of `add_words`, and a multiple of the word size.
        const CALL: usize = 1 << 30;
        let mut part = OnesComplement::default();
        for bytes in bytes.chunks(CALL) {
            let (whole, rest) = bytes.split_at(bytes.len() / 4 * 4);
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            part.add(add_words(whole, tier));
            part.add(u32::from_be_bytes(last).into());
        }
        // Each further byte position divides by 2^8, which is a rotation (mod 2^32 - 1).
        self.add(part.0.rotate_right(8 * (offset % 4) as u32).into());
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: OnesComplement) {
        self.add(other.0.into());
    }

    /// Returns the sum as DATASUM states it. It is 0 only if all words are 0; a sum that comes back to 0 is all ones,
    /// the other form of 0.
    pub fn sum(self) -> u32 {
        self.0
    }
}

/// Folds the carries back until the number has 32 bits.
fn fold(mut sum: u64) -> u64 {
    while sum >> 32 != 0 {
        sum = (sum & u64::from(u32::MAX)) + (sum >> 32);
    }
    sum
}

/// Encodes a sum in ASCII (Standard 4.0, appendix J). With `complement` the result is the value of CHECKSUM, which
/// makes the sum of the whole HDU all ones.
///
/// ```
/// assert_eq!(&tachyfits_kernels::encode_checksum(868_229_149, true), b"hcHjjc9ghcEghc9g");
/// ```
pub fn encode_checksum(sum: u32, complement: bool) -> [u8; 16] {
    let sum = if complement { !sum } else { sum };
    let mut columns = [0; 16];
    for (place, byte) in sum.to_be_bytes().into_iter().enumerate() {
        for (row, letter) in spread(byte).into_iter().enumerate() {
            columns[4 * row + place] = letter;
        }
    }
    // The value begins in column 12 of its card, three bytes into a word.
    columns.rotate_right(1);
    columns
}

/// Returns four letters or digits whose distances from '0' add up to `byte`.
fn spread(byte: u8) -> [u8; 4] {
    let quarter = byte / 4 + b'0';
    let mut letters = [quarter + byte % 4, quarter, quarter, quarter];
    // Increment one letter of a pair and decrement the other until neither is punctuation.
    while !letters.iter().all(u8::is_ascii_alphanumeric) {
        for pair in letters.as_chunks_mut::<2>().0 {
            if !pair.iter().all(u8::is_ascii_alphanumeric) {
                pair[0] += 1;
                pair[1] -= 1;
            }
        }
    }
    letters
}
