//! Encoding of numbers to file bytes: the inverse of decoding, always big-endian, as in every FITS file.
//!
//! `encode_native` moves bits and is the inverse of [`crate::decode_native`]. `encode_f64` and `encode_f32` take
//! physical values and compute the stored values of an [`Encoding`]: `(value - zero) / scale` in f64, rounded once to
//! the type of the pixel, BLANK for NaN. A value that the encoding cannot hold is counted, so that the caller can
//! refuse to write it.
//!
//! Blocks of values stay in the first-level cache: one loop divides, another rounds and stores. So the division and the
//! widening of f32 are compiled once, not once per pixel type.

#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

use crate::columns::ways::Ways;
use crate::isa::{self, Kernel, Stores, Tier};
use crate::pixel::{Pixel, PixelType};
use crate::source::Encoding;

/// Values per block: 8 KiB as f64.
const BLOCK: usize = 1024;

/// Encodes physical values; `out` has one pixel per value. The bytes are big-endian, whatever the byte order of
/// `encoding`.
///
/// Integers are rounded to nearest, ties to even; NaN becomes BLANK. Returns the number of values that the encoding
/// cannot represent, which are saturated as by Rust's `as` (NaN as 0):
///
/// * for integers, values out of range, infinities, NaN without BLANK, and numbers that would be read as BLANK;
/// * for floats, finite values that become infinite, such as 1e300 as f32, and numbers that a senseless scaling makes
///   NaN.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, Tier, encode_f64};
/// let scaled = Encoding { scaling: Some((0.5, 10.0)), ..Encoding::plain(PixelType::I16) };
/// let encoding = Encoding { blank: Some(-1), ..scaled };
/// let mut out = [0; 6];
/// let lost = encode_f64(&[11.0, f64::NAN, 1e6], &encoding, Tier::SCALAR, &mut out);
/// assert_eq!((lost, out), (1, [0, 2, 255, 255, 127, 255]));
/// ```
///
/// # Panics
/// If `out` and `values` have different numbers of pixels.
pub fn encode_f64(values: &[f64], encoding: &Encoding, tier: Tier, out: &mut [u8]) -> u64 {
    let pixel_bytes = encoding.pixel_bytes();
    assert_eq!(out.len(), values.len() * pixel_bytes, "as many pixels as values");
    let blocks = values.chunks(BLOCK).zip(out.chunks_mut(BLOCK * pixel_bytes));
    blocks.map(|(values, out)| encode_block(values, encoding, tier, out)).sum()
}

/// Encodes physical values in f32: with the result of [`encode_f64`] for the same values, and bit for bit if the file
/// stores f32 without scaling.
pub fn encode_f32(values: &[f32], encoding: &Encoding, tier: Tier, out: &mut [u8]) -> u64 {
    let pixel_bytes = encoding.pixel_bytes();
    assert_eq!(out.len(), values.len() * pixel_bytes, "as many pixels as values");
    if encoding.pixel == PixelType::F32 && encoding.scaling.is_none() {
        isa::dispatch(tier, TurnSingles { values, out });
        return 0;
    }
    let mut wide = [0.0; BLOCK];
    let mut lost = 0;
    for (values, out) in values.chunks(BLOCK).zip(out.chunks_mut(BLOCK * pixel_bytes)) {
        let wide = &mut wide[..values.len()];
        isa::dispatch(tier, Widen { values, out: wide });
        lost += encode_block(wide, encoding, tier, out);
    }
    lost
}

/// Converts pixels of type `pixel` from the machine's byte order to their stored form, bit for bit; `out` is as long as
/// `bytes`. The inverse of [`crate::decode_native`].
///
/// ```
/// use tachyfits_kernels::{PixelType, Tier, encode_native};
/// let mut out = [0; 2];
/// encode_native(&32_769u16.to_ne_bytes(), PixelType::U16, Tier::SCALAR, &mut out);
/// assert_eq!(i16::from_be_bytes(out), 1);
/// ```
pub fn encode_native(bytes: &[u8], pixel: PixelType, tier: Tier, out: &mut [u8]) {
    let flips = matches!(pixel, PixelType::I8 | PixelType::U16 | PixelType::U32 | PixelType::U64);
    // The unsigned conventions flip the highest bit of a pixel.
    let flip = u64::from(flips) << (8 * pixel.bytes() - 1);
    match pixel.bytes() {
        1 => isa::dispatch(tier, Turn { bytes, flip: flip as u8, out }),
        2 => isa::dispatch(tier, Turn { bytes, flip: flip as u16, out }),
        4 => isa::dispatch(tier, Turn { bytes, flip: flip as u32, out }),
        _ => isa::dispatch(tier, Turn { bytes, flip, out }),
    }
}

/// A match with one arm per stored type: runs the block with `$T` and `$BYTES` standing for the type and its size.
macro_rules! with_stored {
    ($pixel:expr, $T:ident $BYTES:ident => $body:expr) => {{
        macro_rules! as_type {
            ($type:ty, $bytes:literal) => {{
                type $T = $type;
                const $BYTES: usize = $bytes;
                $body
            }};
        }
        match $pixel {
            PixelType::U8 | PixelType::I8 => as_type!(u8, 1),
            PixelType::I16 | PixelType::U16 => as_type!(i16, 2),
            PixelType::I32 | PixelType::U32 => as_type!(i32, 4),
            PixelType::I64 => as_type!(i64, 8),
            PixelType::U64 => as_type!(u64, 8),
            PixelType::F32 => as_type!(f32, 4),
            PixelType::F64 => as_type!(f64, 8),
        }
    }};
}

/// Encodes at most [`BLOCK`] values.
fn encode_block(values: &[f64], encoding: &Encoding, tier: Tier, out: &mut [u8]) -> u64 {
    let mut quotients = [0.0; BLOCK];
    let unscaled = match encoding.scaling {
        None => values,
        Some((scale, zero)) => {
            let quotients = &mut quotients[..values.len()];
            isa::dispatch(tier, Unscale { values, scale, zero, out: quotients });
            quotients
        }
    };
    let block = EncodedBlock { values, unscaled, out };
    with_stored!(encoding.pixel, T BYTES => block.encode::<T, BYTES>(encoding, tier))
}

/// Returns the address of the code that encodes values as a type.
#[cfg(target_arch = "x86_64")]
pub(crate) fn address(pixel: PixelType, tier: Tier) -> Option<usize> {
    with_stored!(pixel, T BYTES => isa::address::<EncodeKernel<'static, T, BYTES>>(tier))
}

/// Returns the address of the code that encodes native pixels.
#[cfg(target_arch = "x86_64")]
pub(crate) fn native_address(pixel: PixelType, tier: Tier) -> Option<usize> {
    match pixel.bytes() {
        1 => isa::address::<Turn<'static, u8>>(tier),
        2 => isa::address::<Turn<'static, u16>>(tier),
        4 => isa::address::<Turn<'static, u32>>(tier),
        _ => isa::address::<Turn<'static, u64>>(tier),
    }
}

/// Values, the values with the scaling removed, and the bytes of their pixels.
struct EncodedBlock<'a> {
    values: &'a [f64],
    unscaled: &'a [f64],
    out: &'a mut [u8],
}

impl EncodedBlock<'_> {
    fn encode<T: Stored<BYTES>, const BYTES: usize>(self, encoding: &Encoding, tier: Tier) -> u64 {
        let blank = encoding.blank.and_then(T::from_stored);
        let rule = EncodeRule {
            flip: encoding.pixel.in_f64().1,
            blank: blank.unwrap_or(T::ZERO),
            has_blank: blank.is_some(),
        };
        isa::dispatch(tier, EncodeKernel { block: self, rule })
    }
}

/// Properties of the encoding that the bytes of a pixel type depend on.
#[derive(Clone, Copy)]
pub(crate) struct EncodeRule<T> {
    /// Offset of the unsigned and signed-byte conventions.
    flip: f64,
    blank: T,
    has_blank: bool,
}

/// Type that the file stores, or that flipping the sign bit makes one (u64).
pub(crate) trait Stored<const BYTES: usize>: Pixel {
    /// Returns the bytes of a value, whose stored form before rounding is `unscaled`, and whether the value is lost.
    fn encode(value: f64, unscaled: f64, rule: &EncodeRule<Self>) -> ([u8; BYTES], bool);
}

/// Adding this to a number below 2^51 in magnitude leaves no room for a fraction: the sum is rounded to an integer,
/// ties to
/// even, and its low bits are those of the integer. This is vector code on every tier; conversions to integers are not.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Integers of up to 32 bits: f64 represents each of them, so the arithmetic is in f64 up to the last step.
macro_rules! narrow_integer {
    ($type:ty, $bits:ty, $bytes:literal) => {
        impl Stored<$bytes> for $type {
            #[inline(always)]
            fn encode(value: f64, unscaled: f64, rule: &EncodeRule<Self>) -> ([u8; $bytes], bool) {
                const { assert!(<$type>::BITS <= 32) };
                const FAR: f64 = (1u64 << 40) as f64;
                let (least, most) = (<$type>::MIN as f64, <$type>::MAX as f64);
                let near = if unscaled > FAR { FAR } else { unscaled };
                let near = if near < -FAR { -FAR } else { near };
                let stored = ((near + ROUND) - ROUND) - rule.flip;
                let fits = (stored >= least) & (stored <= most);
                let stored = if stored < least { least } else { stored };
                let stored = if stored > most { most } else { stored };
                let stored = if unscaled.is_nan() { -rule.flip } else { stored };
                let blank = f64::from(rule.blank);
                let reads_blank = rule.has_blank & (stored == blank);
                let is_missing = value.is_nan();
                let stored = if is_missing & rule.has_blank { blank } else { stored };
                let is_lost =
                    (is_missing & !rule.has_blank) | (!is_missing & (!fits | reads_blank));
                (((stored + ROUND).to_bits() as $bits).to_be_bytes(), is_lost)
            }
        }
    };
}
narrow_integer!(u8, u8, 1);
narrow_integer!(i16, u16, 2);
narrow_integer!(i32, u32, 4);

/// Rounds to an integer, ties to even; the sign of a zero may be lost.
#[inline(always)]
fn round_ties_even(x: f64) -> f64 {
    // Numbers of at least this magnitude have no fraction.
    const WHOLE: f64 = (1u64 << 52) as f64;
    let round = WHOLE.copysign(x);
    if x.abs() < WHOLE { (x + round) - round } else { x }
}

/// Integers of 64 bits, some of which f64 cannot represent: converted to signed or unsigned integers, then flipped.
macro_rules! wide_integer {
    ($type:ty, $flip:expr) => {
        impl Stored<8> for $type {
            #[inline(always)]
            fn encode(value: f64, unscaled: f64, rule: &EncodeRule<Self>) -> ([u8; 8], bool) {
                // First number above the range: f64 cannot represent MAX itself.
                const ABOVE: f64 = ((<$type>::MAX / 2 + 1) as f64) * 2.0;
                let rounded = round_ties_even(unscaled);
                let fits = (rounded >= <$type>::MIN as f64) & (rounded < ABOVE);
                let pixel = rounded as $type;
                let reads_blank = rule.has_blank & (pixel == rule.blank);
                let is_missing = value.is_nan();
                let pixel = if is_missing & rule.has_blank { rule.blank } else { pixel };
                let is_lost =
                    (is_missing & !rule.has_blank) | (!is_missing & (!fits | reads_blank));
                ((pixel ^ $flip).to_be_bytes(), is_lost)
            }
        }
    };
}
wide_integer!(i64, 0);
wide_integer!(u64, 1 << 63);

impl Stored<4> for f32 {
    #[inline(always)]
    fn encode(value: f64, unscaled: f64, _: &EncodeRule<f32>) -> ([u8; 4], bool) {
        let rounded = unscaled as f32;
        (rounded.to_bits().to_be_bytes(), is_lost(value, rounded.into()))
    }
}

impl Stored<8> for f64 {
    #[inline(always)]
    fn encode(value: f64, unscaled: f64, _: &EncodeRule<f64>) -> ([u8; 8], bool) {
        (unscaled.to_bits().to_be_bytes(), is_lost(value, unscaled))
    }
}

/// Whether the stored value is no longer finite, or no longer a number.
#[inline(always)]
fn is_lost(value: f64, stored: f64) -> bool {
    (value.is_finite() & !stored.is_finite()) | (!value.is_nan() & stored.is_nan())
}

pub(crate) struct EncodeKernel<'a, T, const BYTES: usize> {
    block: EncodedBlock<'a>,
    rule: EncodeRule<T>,
}

impl<T: Stored<BYTES>, const BYTES: usize> Kernel for EncodeKernel<'_, T, BYTES> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let EncodedBlock { values, unscaled, out } = self.block;
        let (pixels, _) = out.as_chunks_mut::<BYTES>();
        let (values, unscaled) = (&values[..pixels.len()], &unscaled[..pixels.len()]);
        let mut lost = 0u64;
        for at in 0..pixels.len() {
            let (bytes, is_lost) = T::encode(values[at], unscaled[at], &self.rule);
            pixels[at] = bytes;
            lost = lost.wrapping_add(u64::from(is_lost));
        }
        lost
    }
}

/// Kernel that removes the scaling.
pub(crate) struct Unscale<'a> {
    values: &'a [f64],
    scale: f64,
    zero: f64,
    out: &'a mut [f64],
}

impl Kernel for Unscale<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let values = &self.values[..self.out.len()];
        for at in 0..values.len() {
            self.out[at] = (values[at] - self.zero) / self.scale;
        }
    }
}

/// Kernel that widens f32 to f64.
pub(crate) struct Widen<'a> {
    values: &'a [f32],
    out: &'a mut [f64],
}

impl Kernel for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let values = &self.values[..self.out.len()];
        for at in 0..values.len() {
            self.out[at] = f64::from(values[at]);
        }
    }
}

/// Kernel that stores f32 without conversion.
pub(crate) struct TurnSingles<'a> {
    values: &'a [f32],
    out: &'a mut [u8],
}

impl Kernel for TurnSingles<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (pixels, _) = self.out.as_chunks_mut::<4>();
        let values = &self.values[..pixels.len()];
        for at in 0..pixels.len() {
            pixels[at] = values[at].to_bits().to_be_bytes();
        }
    }
}

/// Unsigned integer of the size of a pixel, used for its bits.
pub(crate) trait Bits: Copy {
    /// Flips bits of native elements, then swaps their bytes to file order.
    fn turn(bytes: &[u8], flip: Self, out: &mut [u8]);
    /// Does the same for the first element of each run of a table column.
    fn turn_each(ways: Ways, from: &[u8], flip: Self, to: &mut [u8], stores: impl Stores);
}

macro_rules! bits {
    ($($type:ty, $bytes:literal;)+) => {
        $(impl Bits for $type {
            #[inline(always)]
            fn turn(bytes: &[u8], flip: $type, out: &mut [u8]) {
                let ((from, _), (to, _)) = (bytes.as_chunks::<$bytes>(), out.as_chunks_mut());
                let from = &from[..to.len()];
                for at in 0..to.len() {
                    to[at] = (<$type>::from_ne_bytes(from[at]) ^ flip).to_be_bytes();
                }
            }

            fn turn_each(
                ways: Ways,
                from: &[u8],
                flip: $type,
                to: &mut [u8],
                stores: impl Stores,
            ) {
                let turn = |bytes| (<$type>::from_ne_bytes(bytes) ^ flip).to_be_bytes();
                ways.each(from, to, turn, stores);
            }
        })+
    };
}
bits! { u8, 1; u16, 2; u32, 4; u64, 8; }

pub(crate) struct Turn<'a, T> {
    bytes: &'a [u8],
    flip: T,
    out: &'a mut [u8],
}

impl<T: Bits> Kernel for Turn<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        T::turn(self.bytes, self.flip, self.out);
    }
}
