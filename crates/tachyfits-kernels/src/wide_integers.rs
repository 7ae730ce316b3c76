//! Exact sums of integer pixels of any size: 64-bit integers do not fit in f64, and neither do sums of many smaller
//! ones.

use crate::compensated::Compensated;
use crate::isa::Tier;
use crate::pixel::PixelType;
use crate::source::{ByteOrder, Encoding};
use crate::stats::Stats;
use crate::sum::Sum;
use crate::total::Total;

/// Whether pixels are unscaled integers (after the unsigned conventions).
pub fn are_integers(encoding: &Encoding) -> bool {
    encoding.scaling.is_none() && !encoding.pixel.is_float()
}

/// Whether pixels have more digits than f64.
pub fn are_long(encoding: &Encoding) -> bool {
    are_integers(encoding) && encoding.pixel_bytes() == 8
}

/// Calls `visit` with each pixel in order, `None` for BLANK. The encoding must have integers.
#[inline]
pub fn each(bytes: &[u8], encoding: &Encoding, mut visit: impl FnMut(Option<i128>)) {
    let blank = encoding.blank;
    let is_big = encoding.order == ByteOrder::BigEndian || cfg!(target_endian = "big");
    macro_rules! stored {
        ($type:ty, $offset:expr) => {
            for chunk in bytes.as_chunks::<{ size_of::<$type>() }>().0 {
                let stored = <$type>::from_be_bytes(*chunk);
                let stored = if is_big { stored } else { stored.swap_bytes() };
                let undefined = blank.is_some_and(|blank| i128::from(blank) == i128::from(stored));
                visit((!undefined).then(|| i128::from(stored) + $offset));
            }
        };
    }
    match encoding.pixel {
        PixelType::U8 => stored!(u8, 0),
        PixelType::I8 => stored!(u8, -128),
        PixelType::I16 => stored!(i16, 0),
        PixelType::U16 => stored!(i16, 1 << 15),
        PixelType::I32 => stored!(i32, 0),
        PixelType::U32 => stored!(i32, 1 << 31),
        PixelType::I64 => stored!(i64, 0),
        PixelType::U64 => stored!(i64, 1 << 63),
        PixelType::F32 | PixelType::F64 => unreachable!("the pixels are integers"),
    }
}

/// Converts an integer to an unevaluated sum of two f64, which is exact for sums of pixels.
pub fn compensated(sum: i128) -> Compensated {
    let high = sum as f64;
    Compensated { high, low: (sum - high as i128) as f64 }
}

/// Converts a sum of integers back to an integer.
pub fn exact(sum: Total) -> i128 {
    sum.parts.high as i128 + sum.parts.low as i128
}

/// Returns count and sum of pixels.
pub fn sum(bytes: &[u8], encoding: &Encoding) -> Sum {
    let (mut count, mut nan, mut sum) = (0, 0, 0i128);
    each(bytes, encoding, |pixel| match pixel {
        Some(pixel) => (count, sum) = (count + 1, sum + pixel),
        None => nan += 1,
    });
    Sum { count, nan, sum: compensated(sum).into(), ..Sum::default() }
}

impl Sum {
    /// Adds pixels; the sum of 64-bit integers is exact.
    pub fn accumulate_exactly(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier) {
        match are_long(encoding) {
            true => self.merge(&sum(bytes, encoding)),
            false => self.accumulate(bytes, encoding, tier),
        }
    }
}

impl Stats {
    /// Adds pixels, the first with the index `position`; the sum of 64-bit integers is exact.
    pub fn accumulate_exactly(
        &mut self,
        bytes: &[u8],
        encoding: &Encoding,
        tier: Tier,
        position: u64,
    ) {
        if !are_long(encoding) {
            return self.accumulate(bytes, encoding, tier, position);
        }
        let mut line = Stats::default();
        line.accumulate(bytes, encoding, tier, position);
        line.sum = sum(bytes, encoding).sum;
        self.merge(&line);
    }
}

/// Sums of many outputs, fed one row of pixels after another.
#[derive(Clone, Debug)]
pub struct IntegerRows(Vec<i128>);

impl IntegerRows {
    /// Returns sums of 0.
    pub fn new(outputs: usize) -> IntegerRows {
        IntegerRows(vec![0; outputs])
    }

    /// Adds a row.
    pub fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding) {
        let mut sums = self.0.iter_mut();
        each(bytes, encoding, |pixel| {
            if let (Some(sum), Some(pixel)) = (sums.next(), pixel) {
                *sum += pixel;
            }
        });
    }

    /// Merges the sums of later rows.
    pub fn merge(&mut self, later: &IntegerRows) {
        self.0.iter_mut().zip(&later.0).for_each(|(sum, later)| *sum += later);
    }

    /// Returns the sum of an output.
    pub fn sum(&self, output: usize) -> i128 {
        self.0[output]
    }
}
