//! Decoding of file bytes to native arrays.
//!
//! `decode_native` moves bits: pixels of the file's type, with swapped bytes and the sign-bit
//! conventions applied, so NaN payloads and -0.0 are preserved. `decode_f64` and `decode_f32` give
//! physical values, and NaN for undefined pixels.

use crate::isa::{self, Kernel, Tier};
use crate::pixel::{Pixel, PixelType, with_pixel};
use crate::source::{Encoding, Source, Visitor};
use std::marker::PhantomData;

/// Decodes to physical values in f64; `bytes` and `out` have the same number of pixels.
///
/// ```
/// use tachyfits_kernels::{Encoding, PixelType, Tier, decode_f64};
/// let encoding = Encoding { scaling: Some((0.5, 10.0)), ..Encoding::plain(PixelType::I16) };
/// let mut out = [0.0; 2];
/// decode_f64(&[0, 2, 255, 254], &encoding, Tier::SCALAR, &mut out);
/// assert_eq!(out, [11.0, 9.0]);
/// ```
pub fn decode_f64(bytes: &[u8], encoding: &Encoding, tier: Tier, out: &mut [f64]) {
    encoding.visit(ToFloats { bytes, tier, out });
}

/// Decodes to physical values in f32, computed in f64 and rounded once; sizes as for [`decode_f64`].
pub fn decode_f32(bytes: &[u8], encoding: &Encoding, tier: Tier, out: &mut [f32]) {
    encoding.visit(ToFloats { bytes, tier, out });
}

/// Converts big-endian pixels of type `pixel` to the machine's byte order, bit for bit; `out` is as long as `bytes`.
pub fn decode_native(bytes: &[u8], pixel: PixelType, tier: Tier, out: &mut [u8]) {
    if pixel == PixelType::U8 {
        // Single bytes have no byte order.
        out.copy_from_slice(&bytes[..out.len()]);
        return;
    }
    with_pixel!(pixel, P => {
        isa::dispatch(tier, NativeKernel { bytes, out, pixel: PhantomData::<P> });
    });
}

/// Does the same as [`decode_native`] in place.
///
/// ```
/// use tachyfits_kernels::{PixelType, Tier, native_in_place};
/// let mut bytes = 258i16.to_be_bytes();
/// native_in_place(&mut bytes, PixelType::I16, Tier::SCALAR);
/// assert_eq!(i16::from_ne_bytes(bytes), 258);
/// ```
pub fn native_in_place(bytes: &mut [u8], pixel: PixelType, tier: Tier) {
    // Single bytes have no byte order.
    if pixel != PixelType::U8 {
        with_pixel!(pixel, P => {
            isa::dispatch(tier, InPlaceKernel { bytes, pixel: PhantomData::<P> });
        });
    }
}

/// Copies every `step`-th pixel of `bytes` to `out`, starting with the first one (with the last one, backwards, if
/// `step` is negative). The length of `out` gives their number. Bytes are not swapped: a strided section becomes a
/// contiguous one.
pub fn gather(bytes: &[u8], pixel_bytes: usize, step: i64, out: &mut [u8]) {
    match pixel_bytes {
        1 => gather_of::<1>(bytes, step, out),
        2 => gather_of::<2>(bytes, step, out),
        4 => gather_of::<4>(bytes, step, out),
        _ => gather_of::<8>(bytes, step, out),
    }
}

/// Does the same as [`gather`] for a pixel size known at compile time: each pixel is a load and a store without a call.
fn gather_of<const BYTES: usize>(bytes: &[u8], step: i64, out: &mut [u8]) {
    let stride = step.unsigned_abs() as usize * BYTES;
    let (pixels, _) = out.as_chunks_mut::<BYTES>();
    let copy =
        |(pixel, at): (&mut [u8; BYTES], usize)| pixel.copy_from_slice(&bytes[at..at + BYTES]);
    let places = (0..).step_by(stride.max(1));
    match step < 0 {
        true => pixels.iter_mut().rev().zip(places).for_each(copy),
        false => pixels.iter_mut().zip(places).for_each(copy),
    }
}

/// Returns the address of the code of [`decode_native`].
#[cfg(target_arch = "x86_64")]
pub(crate) fn native_address(pixel: PixelType, tier: Tier) -> Option<usize> {
    with_pixel!(pixel, P => isa::address::<NativeKernel<'static, P>>(tier))
}

/// Float type that values can be decoded to.
pub(crate) trait Float: Copy {
    fn values<S: Source>(source: &S, bytes: &[u8], out: &mut [Self]);
}

impl Float for f64 {
    #[inline(always)]
    fn values<S: Source>(source: &S, bytes: &[u8], out: &mut [f64]) {
        source.values(bytes, out);
    }
}

impl Float for f32 {
    #[inline(always)]
    fn values<S: Source>(source: &S, bytes: &[u8], out: &mut [f32]) {
        source.values_f32(bytes, out);
    }
}

struct ToFloats<'a, F> {
    bytes: &'a [u8],
    tier: Tier,
    out: &'a mut [F],
}

impl<F: Float> Visitor for ToFloats<'_, F> {
    type Output = ();
    fn visit<S: Source>(self, source: S) {
        isa::dispatch(self.tier, FloatKernel { bytes: self.bytes, source, out: self.out });
    }
}

pub(crate) struct FloatKernel<'a, S, F> {
    pub(crate) bytes: &'a [u8],
    pub(crate) source: S,
    pub(crate) out: &'a mut [F],
}

impl<S: Source, F: Float> Kernel for FloatKernel<'_, S, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        F::values(&self.source, self.bytes, self.out);
    }
}

pub(crate) struct NativeKernel<'a, P> {
    bytes: &'a [u8],
    out: &'a mut [u8],
    pixel: PhantomData<P>,
}

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

impl<P: Pixel> Kernel for NativeKernel<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Wide stores that cross the end of a cache line write two lines.
        let ahead = self.out.as_ptr().align_offset(LINE_BYTES) / P::BYTES * P::BYTES;
        let ahead = ahead.min(self.out.len());
        turn::<P>(&self.bytes[..ahead], &mut self.out[..ahead]);
        turn::<P>(&self.bytes[ahead..], &mut self.out[ahead..]);
    }
}

/// Swaps the bytes of pixels. An indexed loop would handle one pixel at a time.
#[inline(always)]
fn turn<P: Pixel>(bytes: &[u8], out: &mut [u8]) {
    for (pixel, out) in bytes.chunks_exact(P::BYTES).zip(out.chunks_exact_mut(P::BYTES)) {
        P::read_big_endian(pixel).store_native(out);
    }
}

struct InPlaceKernel<'a, P> {
    bytes: &'a mut [u8],
    pixel: PhantomData<P>,
}

impl<P: Pixel> Kernel for InPlaceKernel<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for pixel in self.bytes.chunks_exact_mut(P::BYTES) {
            P::read_big_endian(pixel).store_native(pixel);
        }
    }
}
