//! Lossless conversion of numbers to another type.

use tachyfits::PixelType;

/// A type of pixels or cells, in native byte order.
trait Number: Copy {
    const BYTES: usize;
    fn load(bytes: &[u8]) -> Self;
    fn store(self, bytes: &mut [u8]);
    /// Returns the number as an integer, if it is whole.
    fn integer(self) -> Option<i128>;
    fn real(self) -> f64;
    /// Converts an integer to this type, if it fits.
    fn of_integer(integer: i128) -> Option<Self>;
    /// Converts a real number to this type, a float, with one rounding.
    fn of_real(real: f64) -> Self;
    const IS_FLOAT: bool;
}

macro_rules! bytes_of {
    ($number:ty) => {
        const BYTES: usize = size_of::<$number>();

        #[inline(always)]
        fn load(bytes: &[u8]) -> Self {
            let mut own = [0; size_of::<$number>()];
            own.copy_from_slice(bytes);
            <$number>::from_ne_bytes(own)
        }

        #[inline(always)]
        fn store(self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.to_ne_bytes());
        }

        #[inline(always)]
        fn real(self) -> f64 {
            self as f64
        }

        #[inline(always)]
        fn of_real(real: f64) -> Self {
            real as $number
        }
    };
}

macro_rules! integers {
    ($($number:ty)*) => {$(
        impl Number for $number {
            const IS_FLOAT: bool = false;
            bytes_of!($number);

            #[inline(always)]
            fn integer(self) -> Option<i128> {
                Some(i128::from(self))
            }

            #[inline(always)]
            fn of_integer(integer: i128) -> Option<Self> {
                <$number>::try_from(integer).ok()
            }
        }
    )*};
}

macro_rules! floats {
    ($($number:ty)*) => {$(
        impl Number for $number {
            const IS_FLOAT: bool = true;
            bytes_of!($number);

            // No integer type represents numbers beyond 2^64; NaN is not whole.
            #[inline(always)]
            fn integer(self) -> Option<i128> {
                let whole = self.trunc() == self && self.abs() <= 18_446_744_073_709_551_616.0;
                whole.then_some(self as i128)
            }

            #[inline(always)]
            fn of_integer(integer: i128) -> Option<Self> {
                Some(integer as $number)
            }
        }
    )*};
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64);
floats!(f32 f64);

/// Runs code with the Rust type of a pixel type.
macro_rules! with_type {
    ($pixel:expr, $number:ident => $code:expr) => {
        match $pixel {
            PixelType::U8 => with_type!(@u8, $number => $code),
            PixelType::I8 => with_type!(@i8, $number => $code),
            PixelType::U16 => with_type!(@u16, $number => $code),
            PixelType::I16 => with_type!(@i16, $number => $code),
            PixelType::U32 => with_type!(@u32, $number => $code),
            PixelType::I32 => with_type!(@i32, $number => $code),
            PixelType::U64 => with_type!(@u64, $number => $code),
            PixelType::I64 => with_type!(@i64, $number => $code),
            PixelType::F32 => with_type!(@f32, $number => $code),
            PixelType::F64 => with_type!(@f64, $number => $code),
        }
    };
    (@$own:ty, $number:ident => $code:expr) => {{
        type $number = $own;
        $code
    }};
}

/// Convert numbers to another type; return the first value that the type cannot represent as an error.
///
/// Floats accept any number. Elements marked in `nulls` become NaN in floats; in integers they keep their number, or
/// become 0 if the type cannot represent it.
pub(crate) fn convert(
    (numbers, from): (&[u8], PixelType),
    (out, to): (&mut [u8], PixelType),
    nulls: &[u8],
) -> Result<(), f64> {
    with_type!(from, From => with_type!(to, To => each::<From, To>(numbers, out, nulls)))
}

fn each<From: Number, To: Number>(numbers: &[u8], out: &mut [u8], nulls: &[u8]) -> Result<(), f64> {
    let pairs = numbers.chunks_exact(From::BYTES).zip(out.chunks_exact_mut(To::BYTES));
    if nulls.is_empty() {
        for (number, place) in pairs {
            converted::<From, To>(From::load(number))?.store(place);
        }
        return Ok(());
    }
    for ((number, place), null) in pairs.zip(nulls) {
        let number = From::load(number);
        match *null != 0 {
            false => converted::<From, To>(number)?,
            true if To::IS_FLOAT => To::of_real(f64::NAN),
            true => converted::<From, To>(number).unwrap_or(To::of_real(0.0)),
        }
        .store(place);
    }
    Ok(())
}

#[inline(always)]
fn converted<From: Number, To: Number>(number: From) -> Result<To, f64> {
    match To::IS_FLOAT {
        true => Ok(To::of_real(number.real())),
        false => number.integer().and_then(To::of_integer).ok_or_else(|| number.real()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts through decimal text, independently of the tested conversion.
    fn by_text(number: &str, to: PixelType) -> Option<String> {
        let (low, high): (i128, i128) = match to {
            PixelType::U8 => (0, 255),
            PixelType::I8 => (-128, 127),
            PixelType::U16 => (0, 65_535),
            PixelType::I16 => (-32_768, 32_767),
            PixelType::U32 => (0, 4_294_967_295),
            PixelType::I32 => (-2_147_483_648, 2_147_483_647),
            PixelType::U64 => (0, 18_446_744_073_709_551_615),
            PixelType::I64 => (-9_223_372_036_854_775_808, 9_223_372_036_854_775_807),
            PixelType::F32 => return Some(number.parse::<f64>().unwrap().to_string()),
            PixelType::F64 => return Some(number.parse::<f64>().unwrap().to_string()),
        };
        let whole: i128 = number.parse().ok()?;
        (low..=high).contains(&whole).then(|| whole.to_string())
    }

    const TYPES: [PixelType; 10] = [
        PixelType::U8,
        PixelType::I8,
        PixelType::U16,
        PixelType::I16,
        PixelType::U32,
        PixelType::I32,
        PixelType::U64,
        PixelType::I64,
        PixelType::F32,
        PixelType::F64,
    ];

    #[test]
    fn every_type_to_every_other_is_exact_or_refused() {
        for from in TYPES {
            for to in TYPES {
                with_type!(from, From => with_type!(to, To => {
                    let edges: [i128; 13] = [
                        0, 1, -1, 127, 128, -129, 255, 65_536, -32_769, 1 << 31, 1 << 32, 1 << 63,
                        (1 << 64) - 1,
                    ];
                    for number in edges.into_iter().filter_map(<From as Number>::of_integer) {
                        let mut cell = vec![0; From::BYTES];
                        number.store(&mut cell);
                        let mut out = vec![0; To::BYTES];
                        let outcome = convert((&cell, from), (&mut out, to), &[]);
                        // {:.0} writes whole floats with all digits, so that they parse as integers.
                        let expected = by_text(&format!("{number:.0}"), to);
                        let single = to == PixelType::F32;
                        match expected {
                            Some(_) if single => assert_eq!(outcome, Ok(())),
                            Some(text) => {
                                assert_eq!(outcome, Ok(()), "{number} from {from:?} to {to:?}");
                                assert_eq!(To::load(&out).to_string(), text);
                            }
                            None => assert_eq!(outcome, Err(number.real())),
                        }
                    }
                }));
            }
        }
    }

    #[test]
    fn fractions_and_nan_are_refused_as_integers_unless_null() {
        let cells: Vec<u8> = [1.5f64, f64::NAN].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let mut out = [9u8; 2];
        let integers = |out: &mut [u8], nulls: &[u8]| {
            convert((&cells, PixelType::F64), (out, PixelType::U8), nulls)
        };
        assert_eq!(integers(&mut out, &[]), Err(1.5));
        assert_eq!(integers(&mut out, &[0, 1]), Err(1.5));
        assert_eq!(integers(&mut out, &[1, 1]), Ok(()));
        assert_eq!(out, [0, 0]);
        let mut real = [0u8; 4];
        let outcome = convert((&[7], PixelType::U8), (&mut real, PixelType::F32), &[1]);
        assert!(outcome.is_ok() && f32::from_ne_bytes(real).is_nan());
    }
}
