//! Values of the elements of a contiguous column: logical values, bits, text, nulls. Each
//! conversion has an inverse for writing.

#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

use crate::isa::{self, Kernel, Tier};
use crate::pixel::{Pixel, PixelType, with_pixel};

/// Converts stored logical values to 1 and 0 in place, and sets `nulls` to 1 for undefined ones,
/// else 0.
///
/// `T` is true, `F` is false, a byte of 0 is null (Standard 4.0, section 7.3.3.1). A byte of 1, which some programs
/// wrote, counts as true, any other byte as null. Returns the number of bytes that the Standard does not define.
///
/// ```
/// use tachyfits_kernels::{Tier, decode_logical};
/// let mut values = *b"TF\0\x01?";
/// let mut nulls = [9; 5];
/// let odd = decode_logical(&mut values, &mut nulls, Tier::SCALAR);
/// assert_eq!((values, nulls, odd), ([1, 0, 0, 1, 0], [0, 0, 1, 0, 1], 2));
/// ```
///
/// # Panics
/// If `nulls` and `values` have different lengths.
pub fn decode_logical(values: &mut [u8], nulls: &mut [u8], tier: Tier) -> u64 {
    assert_eq!(values.len(), nulls.len(), "a null for each value");
    // In parts small enough to count undefined bytes in 8-bit lanes.
    let parts = values.chunks_mut(128).zip(nulls.chunks_mut(128));
    parts.map(|(values, nulls)| isa::dispatch(tier, Logical { values, nulls })).sum()
}

/// Converts logical values to stored ones in place: `T` for any value except 0, `F` for 0, and a
/// byte of 0 where `nulls`, if present, is not 0.
///
/// # Panics
/// If `nulls` and `values` have different lengths.
pub fn encode_logical(values: &mut [u8], nulls: Option<&[u8]>) {
    values.iter_mut().for_each(|value| *value = if *value == 0 { b'F' } else { b'T' });
    if let Some(nulls) = nulls {
        assert_eq!(values.len(), nulls.len(), "a null for each value");
        values
            .iter_mut()
            .zip(nulls)
            .filter(|(_, null)| **null != 0)
            .for_each(|(value, _)| *value = 0);
    }
}

/// Unpacks bits, the most significant first, to bytes of 1 and 0: the first `bits` bits of each field of
/// `bits.div_ceil(8)` bytes.
///
/// ```
/// let mut out = [9; 10];
/// tachyfits_kernels::unpack_bits(&[0b1010_0000, 0b0111_1111], 10, &mut out);
/// assert_eq!(out, [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
/// ```
///
/// # Panics
/// If `bytes` has fewer fields than `out`.
pub fn unpack_bits(bytes: &[u8], bits: usize, out: &mut [u8]) {
    if bits == 0 {
        return;
    }
    let mut fields = bytes.chunks_exact(bits.div_ceil(8));
    for out in out.chunks_mut(bits) {
        let field = fields.next().expect("a field for each row");
        let (whole, rest) = out.as_chunks_mut::<8>();
        for (eight, &byte) in whole.iter_mut().zip(field) {
            *eight = std::array::from_fn(|bit| (byte >> (7 - bit)) & 1);
        }
        if let Some(&byte) = field.get(whole.len()) {
            for (bit, out) in rest.iter_mut().enumerate() {
                *out = (byte >> (7 - bit)) & 1;
            }
        }
    }
}

/// Packs bytes into bits, any byte except 0 as 1: the inverse of [`unpack_bits`]. Unused bits of a field are 0.
///
/// # Panics
/// If `out` has fewer fields than `values`.
pub fn pack_bits(values: &[u8], bits: usize, out: &mut [u8]) {
    if bits == 0 {
        return;
    }
    let mut fields = out.chunks_exact_mut(bits.div_ceil(8));
    for values in values.chunks(bits) {
        let field = fields.next().expect("a field for each row");
        for (byte, eight) in field.iter_mut().zip(values.chunks(8)) {
            let set = eight.iter().enumerate().filter(|(_, value)| **value != 0);
            *byte = set.fold(0, |byte, (bit, _)| byte | (0x80 >> bit));
        }
    }
}

/// Ends each string of `width` bytes at its first NUL, or before its trailing blanks (Standard 4.0,
/// section 7.3.3.1). The bytes after the end become NUL.
///
/// ```
/// let mut text = *b"ab  a\0zz";
/// tachyfits_kernels::trim_text(&mut text, 4);
/// assert_eq!(&text, b"ab\0\0a\0\0\0");
/// ```
pub fn trim_text(text: &mut [u8], width: usize) {
    if width == 0 {
        return;
    }
    for string in text.chunks_mut(width) {
        let end = string.iter().position(|&byte| byte == 0).unwrap_or(string.len());
        let blanks = string[..end].iter().rev().take_while(|&&byte| byte == b' ').count();
        string[end - blanks..].fill(0);
    }
}

/// Converts each byte to a UCS-4 character in the machine's byte order, reading bytes beyond ASCII as Latin-1.
///
/// # Panics
/// If `out` is not four times as long as `text`.
pub fn widen_text(text: &[u8], tier: Tier, out: &mut [u8]) {
    assert_eq!(text.len() * 4, out.len(), "four bytes for each");
    isa::dispatch(tier, WidenText { text, out });
}

/// Converts each UCS-4 character to a byte: the inverse of [`widen_text`]. Characters beyond ASCII become `?`; returns
/// their number.
///
/// # Panics
/// If `text` is not four times as long as `out`.
pub fn narrow_text(text: &[u8], out: &mut [u8]) -> u64 {
    assert_eq!(text.len(), out.len() * 4, "four bytes for each");
    let mut odd = 0;
    for (character, byte) in text.as_chunks().0.iter().zip(out) {
        let code = u32::from_ne_bytes(*character);
        let is_ascii = code < 128;
        *byte = if is_ascii { code as u8 } else { b'?' };
        odd += u64::from(!is_ascii);
    }
    odd
}

/// Marks the null elements of a contiguous native column: 1 where the integer in the file, before the unsigned
/// conventions of `pixel`, is `stored` (TNULL), otherwise 0. Columns of floats, and of types too narrow for `stored`,
/// have no null elements.
///
/// ```
/// use tachyfits_kernels::{PixelType, Tier, mark_nulls};
/// let values = [0u16, 7].map(u16::to_ne_bytes).concat();
/// let mut nulls = [9; 2];
/// mark_nulls(&values, PixelType::U16, -32_768, Tier::SCALAR, &mut nulls);
/// assert_eq!(nulls, [1, 0]);
/// ```
///
/// # Panics
/// If `nulls` and `values` have different numbers of elements.
pub fn mark_nulls(values: &[u8], pixel: PixelType, stored: i64, tier: Tier, nulls: &mut [u8]) {
    assert_eq!(values.len(), nulls.len() * pixel.bytes(), "a null for each value");
    match null_bits(pixel, stored) {
        None => nulls.fill(0),
        Some(null) => match pixel.bytes() {
            1 => isa::dispatch(tier, MarkNulls { values, null: null as u8, nulls }),
            2 => isa::dispatch(tier, MarkNulls { values, null: null as u16, nulls }),
            4 => isa::dispatch(tier, MarkNulls { values, null: null as u32, nulls }),
            _ => isa::dispatch(tier, MarkNulls { values, null, nulls }),
        },
    }
}

/// Writes the null value where `nulls` is not 0, into a contiguous native column: the inverse of
/// [`mark_nulls`].
///
/// # Panics
/// If `nulls` and `values` have different numbers of elements.
pub fn put_nulls(values: &mut [u8], pixel: PixelType, stored: i64, nulls: &[u8]) {
    assert_eq!(values.len(), nulls.len() * pixel.bytes(), "a null for each value");
    with_pixel!(pixel, P => if let Some(null) = P::from_stored(stored) {
        let values = values.chunks_exact_mut(P::BYTES).zip(nulls);
        values.filter(|(_, null)| **null != 0).for_each(|(value, _)| null.store_native(value));
    });
}

/// Adds `zero` to the real parts of complex numbers (the even elements of `values`): TZERO of scaled complex columns.
pub fn add_to_real_parts(values: &mut [f64], zero: f64) {
    values.iter_mut().step_by(2).for_each(|real| *real += zero);
}

/// Returns the bits of the native element that represents null.
fn null_bits(pixel: PixelType, stored: i64) -> Option<u64> {
    with_pixel!(pixel, P => P::from_stored(stored).map(|null| {
        let mut bytes = [0; 8];
        // On little-endian machines the value's own bytes come first.
        null.store_native(&mut bytes[..P::BYTES]);
        match P::BYTES {
            1 => u64::from(bytes[0]),
            2 => u64::from(u16::from_ne_bytes([bytes[0], bytes[1]])),
            4 => u64::from(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            _ => u64::from_ne_bytes(bytes),
        }
    }))
}

/// Kernel that decodes at most 128 logical values.
struct Logical<'a> {
    values: &'a mut [u8],
    nulls: &'a mut [u8],
}

impl Kernel for Logical<'_> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let nulls = &mut self.nulls[..self.values.len()];
        let mut odd = 0u8;
        for at in 0..self.values.len() {
            let byte = self.values[at];
            let (is_true, is_false, is_one) = (byte == b'T', byte == b'F', byte == 1);
            self.values[at] = u8::from(is_true | is_one);
            nulls[at] = u8::from(!(is_true | is_false | is_one));
            odd += u8::from(!(is_true | is_false | (byte == 0)));
        }
        u64::from(odd)
    }
}

/// Kernel that widens characters to four bytes.
pub(crate) struct WidenText<'a> {
    text: &'a [u8],
    out: &'a mut [u8],
}

impl Kernel for WidenText<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (out, _) = self.out.as_chunks_mut::<4>();
        let text = &self.text[..out.len()];
        for at in 0..out.len() {
            out[at] = u32::from(text[at]).to_ne_bytes();
        }
    }
}

/// Kernel that compares elements with the null value.
pub(crate) struct MarkNulls<'a, T> {
    values: &'a [u8],
    null: T,
    nulls: &'a mut [u8],
}

macro_rules! mark_nulls {
    ($($type:ty, $bytes:literal;)+) => {
        $(impl Kernel for MarkNulls<'_, $type> {
            type Output = ();

            #[inline(always)]
            fn run(self) {
                let (values, _) = self.values.as_chunks::<$bytes>();
                let nulls = &mut self.nulls[..values.len()];
                for at in 0..values.len() {
                    nulls[at] = u8::from(<$type>::from_ne_bytes(values[at]) == self.null);
                }
            }
        })+
    };
}
mark_nulls! { u8, 1; u16, 2; u32, 4; u64, 8; }
