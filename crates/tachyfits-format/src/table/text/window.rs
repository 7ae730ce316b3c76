//! Eight characters of a field at a time, as one 64-bit number whose lowest byte is the first character.

/// Eight blanks; eight digits 0.
const BLANKS: u64 = 0x2020_2020_2020_2020;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Reads a field from its start to its end.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    field: &'a [u8],
    /// Index of the next character.
    at: usize,
}

impl<'a> Window<'a> {
    pub(super) const fn new(field: &'a [u8]) -> Self {
        Window { field, at: 0 }
    }

    /// Returns the next eight characters; NULs beyond the end.
    #[inline(always)]
    fn word(&self) -> u64 {
        let (field, at) = (self.field, self.at);
        if let Some(word) = field.get(at..).and_then(<[u8]>::first_chunk) {
            return u64::from_le_bytes(*word);
        }
        let rest = field.len() - at;
        if rest == 0 {
            return 0;
        }
        match field.last_chunk() {
            Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * rest),
            None => short(field) >> (8 * at),
        }
    }

    #[inline(always)]
    pub(super) fn skip_blanks(&mut self) {
        while self.at < self.field.len() {
            let non_blanks = self.word() ^ BLANKS;
            self.at += (non_blanks.trailing_zeros() / 8) as usize;
            if non_blanks != 0 {
                return;
            }
        }
    }

    #[inline(always)]
    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.field.len()
    }

    /// Returns the next character; NUL at the end.
    #[inline(always)]
    pub(super) fn peek(&self) -> u8 {
        self.field.get(self.at).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// Skips a sign, if there is one; returns whether it is a minus.
    #[inline(always)]
    pub(super) fn sign(&mut self) -> bool {
        let next = self.peek();
        let minus = next == b'-';
        self.at += usize::from(minus || next == b'+');
        minus
    }

    /// Appends the next digits to `number`, which wraps around beyond 64 bits; returns their count.
    #[inline(always)]
    pub(super) fn digits(&mut self, number: &mut u64) -> usize {
        let start = self.at;
        loop {
            let digits = self.word() ^ ZEROS;
            // Sets the high bit of each byte that is not a digit; bits after the first of them may be wrong.
            let non_digits =
                (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
            let count = (non_digits.trailing_zeros() / 8) as usize;
            if count == 0 {
                return self.at - start;
            }
            *number =
                number.wrapping_mul(POWERS[count]).wrapping_add(value(digits << (64 - 8 * count)));
            self.at += count;
            if count < 8 {
                return self.at - start;
            }
        }
    }
}

/// Parses the last `count` digits of `field`, which must have at least eight characters; `None` if they are not digits.
#[inline(always)]
pub(super) fn last_digits(field: &[u8], count: usize) -> Option<u64> {
    let digits = u64::from_le_bytes(*field.last_chunk()?) ^ ZEROS;
    let digits = digits & (u64::MAX << (8 * (8 - count)));
    let non_digits = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    (non_digits == 0).then(|| value(digits))
}

const POWERS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Loads fewer than eight characters.
#[inline(always)]
fn short(field: &[u8]) -> u64 {
    let count = field.len();
    if let (Some(first), Some(last)) = (field.first_chunk(), field.last_chunk()) {
        let [first, last] = [first, last].map(|four| u64::from(u32::from_le_bytes(*four)));
        return first | last << (8 * (count - 4));
    }
    let at = |index: usize| u64::from(field[index]) << (8 * index);
    if count == 0 { 0 } else { at(0) | at(count / 2) | at(count - 1) }
}

/// Converts eight digits, the first in the lowest byte, to a number: combines digits to pairs, pairs to fours, fours to
/// eight.
#[inline(always)]
const fn value(digits: u64) -> u64 {
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}
