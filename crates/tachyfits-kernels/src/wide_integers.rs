//! Exact sums of integer pixels, of any size: those of 64 bits do not fit f64, and neither do sums of many others.

use crate::compensated::Compensated;
use crate::isa::Tier;
use crate::pixel::PixelType;
use crate::source::{ByteOrder, Encoding};
use crate::stats::Stats;
use crate::sum::Sum;
use crate::total::Total;

/// Whether pixels are integers that stand for themselves, the unsigned conventions applied.
pub fn are_integers(encoding: &Encoding) -> bool {
    encoding.scaling.is_none() && !encoding.pixel.is_float()
}

/// Whether f64 holds fewer digits than the pixels have.
pub fn are_long(encoding: &Encoding) -> bool {
    are_integers(encoding) && encoding.pixel_bytes() == 8
}

/// Visits pixels in order: `None` for BLANK. The encoding is one of integers.
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

/// An integer as an unevaluated sum of two f64, which is exact for sums of pixels.
pub fn compensated(sum: i128) -> Compensated {
    let high = sum as f64;
    Compensated { high, low: (sum - high as i128) as f64 }
}

/// The integer that a sum of integers is.
pub fn exact(sum: Total) -> i128 {
    sum.parts.high as i128 + sum.parts.low as i128
}

/// Count and sum of pixels.
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
    /// Adds pixels, the first of which has the index `position`; the sum of 64-bit integers is exact.
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

/// Sums of outputs side by side, fed one row of pixels after the other.
#[derive(Clone, Debug)]
pub struct IntegerRows(Vec<i128>);

impl IntegerRows {
    /// Sums of 0.
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

    /// Adds the sums of later rows.
    pub fn merge(&mut self, later: &IntegerRows) {
        self.0.iter_mut().zip(&later.0).for_each(|(sum, later)| *sum += later);
    }

    /// The sum of an output.
    pub fn sum(&self, output: usize) -> i128 {
        self.0[output]
    }
}
