//! Sums of integers in 128 bits.

use tachyfits_kernels::wide_integers::{exact, sum};
use tachyfits_kernels::{Encoding, PixelType};

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
        let mut merged = sum(&bytes, &encoding);
        assert_eq!((merged.count, exact(merged.sum)), (1001, 1001 * value), "{pixel:?}");
        merged.merge(&sum(&bytes, &encoding));
        assert_eq!(exact(merged.sum), 2002 * value, "{pixel:?}");
    }
    let blank = Encoding { blank: Some(-1), ..Encoding::plain(PixelType::U64) };
    let result = sum(&[0xff; 24], &blank);
    assert_eq!((result.count, result.nan, exact(result.sum)), (0, 3, 0));
}
