//! Exact sums of integer pixels, of any size: those of 64 bits do not fit f64, and neither do sums of many others.

use tachyfits_kernels::{ByteOrder, Compensated, Encoding, PixelType, Sum};

/// Whether pixels are integers that stand for themselves, the unsigned conventions applied.
pub(crate) fn are_integers(encoding: &Encoding) -> bool {
    encoding.scaling.is_none() && !encoding.pixel.is_float()
}

/// Whether f64 holds fewer digits than the pixels have.
pub(crate) fn are_long(encoding: &Encoding) -> bool {
    are_integers(encoding) && encoding.pixel_bytes() == 8
}

/// Visits pixels in order: `None` for BLANK. The encoding is one of integers.
#[inline]
pub(crate) fn each(bytes: &[u8], encoding: &Encoding, mut visit: impl FnMut(Option<i128>)) {
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
pub(crate) fn compensated(sum: i128) -> Compensated {
    let high = sum as f64;
    Compensated { high, low: (sum - high as i128) as f64 }
}

/// The integer that a sum of integers is.
pub(crate) fn exact(sum: Compensated) -> i128 {
    sum.high as i128 + sum.low as i128
}

/// Count and sum of pixels.
pub(crate) fn sum(bytes: &[u8], encoding: &Encoding) -> Sum {
    let (mut count, mut nan, mut sum) = (0, 0, 0i128);
    each(bytes, encoding, |pixel| match pixel {
        Some(pixel) => (count, sum) = (count + 1, sum + pixel),
        None => nan += 1,
    });
    Sum { count, nan, sum: compensated(sum), ..Sum::default() }
}

/// Sums of outputs side by side, fed one row of pixels after the other.
#[derive(Clone, Debug)]
pub(crate) struct IntegerRows(Vec<i128>);

impl IntegerRows {
    pub(crate) fn new(outputs: usize) -> IntegerRows {
        IntegerRows(vec![0; outputs])
    }

    pub(crate) fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding) {
        let mut sums = self.0.iter_mut();
        each(bytes, encoding, |pixel| {
            if let (Some(sum), Some(pixel)) = (sums.next(), pixel) {
                *sum += pixel;
            }
        });
    }

    pub(crate) fn merge(&mut self, later: &IntegerRows) {
        self.0.iter_mut().zip(&later.0).for_each(|(sum, later)| *sum += later);
    }

    pub(crate) fn sum(&self, output: usize) -> i128 {
        self.0[output]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_the_largest_numbers_are_exact() {
        for (pixel, byte, value) in [
            (PixelType::I64, 0x7f_u8, i128::from(0x7f7f_7f7f_7f7f_7f7f_i64)),
            (PixelType::U64, 0x7f, (1 << 63) + 0x7f7f_7f7f_7f7f_7f7f_i128),
            (PixelType::U16, 0xff, 32767),
            (PixelType::I8, 0x00, -128),
        ] {
            let encoding = Encoding::plain(pixel);
            let bytes = vec![byte; 1001 * pixel.bytes()];
            let mut both = sum(&bytes, &encoding);
            assert_eq!((both.count, exact(both.sum)), (1001, 1001 * value), "{pixel:?}");
            both.merge(&sum(&bytes, &encoding));
            assert_eq!(exact(both.sum), 2002 * value, "{pixel:?}");
        }
        let blank = Encoding { blank: Some(-1), ..Encoding::plain(PixelType::U64) };
        let found = sum(&[0xff; 24], &blank);
        assert_eq!((found.count, found.nan, exact(found.sum)), (0, 3, 0));
    }
}
