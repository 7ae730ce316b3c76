//! The encoding of an array's bytes, and the sources that yield them as sixteen f64 at a time.
//!
//! There are two sources per pixel type: plain, and scaled with BSCALE, BZERO and BLANK. Both yield NaN for an
//! undefined pixel, so a reduction needs only one rule for NaN and BLANK.

use crate::LANES;
use crate::byte_order::{BigEndian, Native, Order};
use crate::compensated::Unit;
use crate::exact;
use crate::pixel::{Pixel, PixelType, with_source_pixel};
use std::marker::PhantomData;

/// Pixels of up to 16 bits processed at a time as integers: 64 bytes.
pub(crate) const SHORTS: usize = 2 * LANES;

/// Byte order of a pixel. FITS is always big-endian; native order is for arrays in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Most significant byte first, as in every FITS file.
    BigEndian,
    /// The machine's own order, for arrays in memory: signed integers, bytes or floats, never scaled.
    Native,
}

impl ByteOrder {
    /// Whether this is the machine's byte order.
    pub(crate) fn is_native(self) -> bool {
        self == ByteOrder::Native || cfg!(target_endian = "big")
    }
}

/// Encoding of a pixel.
///
/// The physical value is `zero + scale * pixel`, computed in f64 (Standard 4.0, section 4.4.2.5), and NaN if the stored
/// integer equals `blank`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoding {
    /// Type of a pixel, after the unsigned conventions.
    pub pixel: PixelType,
    /// Byte order of a pixel.
    pub order: ByteOrder,
    /// BSCALE and BZERO, if they are more than a sign-bit flip.
    pub scaling: Option<(f64, f64)>,
    /// BLANK as the stored value; ignored for floats.
    pub blank: Option<i64>,
}

impl Encoding {
    /// Returns the encoding of unscaled big-endian pixels.
    pub fn plain(pixel: PixelType) -> Encoding {
        Encoding { pixel, order: ByteOrder::BigEndian, scaling: None, blank: None }
    }

    /// Returns the bytes of one pixel.
    pub fn pixel_bytes(&self) -> usize {
        self.pixel.bytes()
    }

    /// Returns the encoding of the same pixels in another unit, in which f64 can represent their sums and squares.
    /// `None` if f64 can always represent the squares, and for native pixels, which are never scaled.
    #[must_use]
    pub fn in_unit(&self, unit: Unit) -> Option<Encoding> {
        let may_need_it = self.pixel == PixelType::F64 || self.scaling.is_some();
        let (scale, zero) = self.scaling.unwrap_or((1.0, 0.0));
        let scaling = Some((scale / unit.value(), zero / unit.value()));
        let is_big_endian = self.order == ByteOrder::BigEndian;
        (may_need_it && is_big_endian).then_some(Encoding { scaling, ..*self })
    }

    /// Whether sums of pixels are exact in f64 in any order: small, unscaled integers.
    pub(crate) fn adds_exactly(&self) -> bool {
        self.scaling.is_none() && !self.pixel.is_float() && self.pixel_bytes() <= 4
    }

    /// Whether pixels are scaled (including the unsigned conventions), or have a BLANK.
    pub(crate) fn is_scaled(&self) -> bool {
        // Floats have no BLANK: NaN means undefined, and unscaled pixels keep -0.0.
        let has_blank = self.blank.is_some() && !self.pixel.is_float();
        self.scaling.is_some() || has_blank || self.pixel.in_f64().1 != 0.0
    }

    /// Whether a source exists for this encoding: native pixels are signed integers, bytes or floats, and never scaled.
    pub fn is_supported(&self) -> bool {
        let stands_for_itself = self.pixel.in_f64() == (self.pixel, 0.0);
        let scaled = self.scaling.is_some() || self.blank.is_some();
        self.order == ByteOrder::BigEndian || (stands_for_itself && !scaled)
    }

    /// Calls `visitor` with the source of this encoding: the only place where run-time types become compile-time types.
    ///
    /// Every kernel is compiled once per source named here, which is most of the build time. So types that fit in f64
    /// share the source of their stored type, and native pixels are never scaled.
    ///
    /// # Panics
    /// Unless the encoding is supported.
    pub(crate) fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        let (stored, flip) = self.pixel.in_f64();
        assert!(self.is_supported(), "native pixels are not scaled: {self:?}");
        with_source_pixel!(stored, P => match (self.order, self.is_scaled()) {
            (ByteOrder::BigEndian, false) => visitor.visit(Plain::<P, BigEndian>(PhantomData)),
            (ByteOrder::Native, _) => visitor.visit(Plain::<P, Native>(PhantomData)),
            (ByteOrder::BigEndian, true) => visitor.visit(Scaled::<P>::new(self, flip)),
        })
    }
}

/// Receives the source of an [`Encoding`].
pub(crate) trait Visitor {
    type Output;
    fn visit<S: Source>(self, source: S) -> Self::Output;
}

/// Source of pixels decoded to f64, NaN where undefined.
pub trait Source: Copy {
    /// Bytes of one pixel.
    const BYTES: usize;
    /// Bytes of [`LANES`] pixels.
    const CHUNK: usize = Self::BYTES * LANES;
    /// Decodes exactly [`LANES`] pixels, for loops that keep lanes.
    fn lanes(&self, chunk: &[u8]) -> [f64; LANES];
    /// Decodes as many pixels as `out` holds, for loops over elements.
    fn values(&self, bytes: &[u8], out: &mut [f64]);
    /// Decodes pixels to f32: from the pixel itself without scaling, otherwise rounded once from the f64 value.
    fn values_f32(&self, bytes: &[u8], out: &mut [f32]);

    /// Returns the sum of a leaf if its pixels add up exactly in any order; all of them are defined then.
    #[inline(always)]
    fn exact_sum(&self, bytes: &[u8]) -> Option<f64> {
        let _ = bytes;
        None
    }

    /// Whether stored pixels are integers of up to 16 bits.
    const IS_SHORT: bool = false;

    /// Returns the stored values of twice [`LANES`] pixels, if `IS_SHORT`.
    #[inline(always)]
    fn shorts(&self, chunk: &[u8]) -> [i16; SHORTS] {
        let _ = chunk;
        [0; SHORTS]
    }

    /// Whether pixels are unscaled f32.
    const IS_SINGLE: bool = false;

    /// Returns [`LANES`] pixels, if `IS_SINGLE`.
    #[inline(always)]
    fn singles(&self, chunk: &[u8]) -> [f32; LANES] {
        let _ = chunk;
        [0.0; LANES]
    }

    /// Returns the stored value of undefined pixels, if the type can represent it.
    #[inline(always)]
    fn short_blank(&self) -> Option<i16> {
        None
    }

    /// Decodes the last pixels of an array, fewer than [`LANES`]; the remaining lanes are NaN.
    #[inline(always)]
    fn tail(&self, bytes: &[u8]) -> [f64; LANES] {
        let mut padded = [0u8; 8 * LANES];
        padded[..bytes.len()].copy_from_slice(bytes);
        let mut lanes = self.lanes(&padded[..Self::CHUNK]);
        for lane in lanes.iter_mut().skip(bytes.len() / Self::BYTES) {
            *lane = f64::NAN;
        }
        lanes
    }
}

/// Reads the pixels of two chunks as 16-bit integers.
#[inline(always)]
fn shorts<P: Pixel, O: Order>(chunk: &[u8]) -> [i16; SHORTS] {
    let mut pixels = [0; SHORTS];
    if P::IS_SHORT {
        for at in 0..SHORTS {
            pixels[at] = O::read::<P>(&chunk[at * P::BYTES..(at + 1) * P::BYTES]).to_short();
        }
    }
    pixels
}

#[derive(Clone, Copy)]
struct Plain<P, O>(PhantomData<(P, O)>);

impl<P: Pixel, O: Order> Source for Plain<P, O> {
    const BYTES: usize = P::BYTES;
    #[inline(always)]
    fn lanes(&self, chunk: &[u8]) -> [f64; LANES] {
        let pixels = O::load::<P>(chunk);
        let mut lanes = [0.0; LANES];
        for lane in 0..LANES {
            lanes[lane] = pixels[lane].to_f64();
        }
        lanes
    }

    const IS_SHORT: bool = P::IS_SHORT;
    const IS_SINGLE: bool = P::IS_SINGLE;

    #[inline(always)]
    fn shorts(&self, chunk: &[u8]) -> [i16; SHORTS] {
        shorts::<P, O>(chunk)
    }

    #[inline(always)]
    fn singles(&self, chunk: &[u8]) -> [f32; LANES] {
        let pixels = O::load::<P>(chunk);
        let mut lanes = [0.0; LANES];
        for lane in 0..LANES {
            lanes[lane] = pixels[lane].to_f32();
        }
        lanes
    }

    #[inline(always)]
    fn exact_sum(&self, bytes: &[u8]) -> Option<f64> {
        if P::ADDS_EXACTLY { Some(exact::sum::<P, O>(bytes) as f64) } else { None }
    }

    #[inline(always)]
    fn values(&self, bytes: &[u8], out: &mut [f64]) {
        let bytes = &bytes[..out.len() * P::BYTES];
        for at in 0..out.len() {
            out[at] = O::read::<P>(&bytes[at * P::BYTES..(at + 1) * P::BYTES]).to_f64();
        }
    }

    #[inline(always)]
    fn values_f32(&self, bytes: &[u8], out: &mut [f32]) {
        let bytes = &bytes[..out.len() * P::BYTES];
        for at in 0..out.len() {
            out[at] = O::read::<P>(&bytes[at * P::BYTES..(at + 1) * P::BYTES]).to_f32();
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Scaled<P> {
    /// Offset of the unsigned and signed-byte conventions; exact in f64.
    flip: f64,
    scale: f64,
    zero: f64,
    blank: P,
    has_blank: bool,
    /// Whether there is a scaling; without it, f32 is rounded from the pixel itself.
    scales: bool,
}

impl<P: Pixel> Scaled<P> {
    pub(crate) fn new(encoding: &Encoding, flip: f64) -> Self {
        let blank = encoding.blank.and_then(P::from_stored);
        // Without scaling, `0 + 1 * x` returns x bit for bit: x is an integer here, which has no -0.0.
        let (scale, zero) = encoding.scaling.unwrap_or((1.0, 0.0));
        Scaled {
            flip,
            scale,
            zero,
            blank: blank.unwrap_or(P::ZERO),
            has_blank: blank.is_some(),
            scales: encoding.scaling.is_some() || flip != 0.0,
        }
    }

    #[inline(always)]
    fn value(&self, pixel: P) -> f64 {
        if self.is_blank(pixel) { f64::NAN } else { self.physical(pixel) }
    }

    /// Returns the value of a pixel that is not blank.
    #[inline(always)]
    pub(crate) fn physical(&self, pixel: P) -> f64 {
        self.zero + self.scale * (pixel.to_f64() + self.flip)
    }

    #[inline(always)]
    pub(crate) fn is_blank(&self, pixel: P) -> bool {
        self.has_blank & (pixel == self.blank)
    }
}

impl<P: Pixel> Source for Scaled<P> {
    const BYTES: usize = P::BYTES;
    const IS_SHORT: bool = P::IS_SHORT;

    #[inline(always)]
    fn shorts(&self, chunk: &[u8]) -> [i16; SHORTS] {
        shorts::<P, BigEndian>(chunk)
    }

    #[inline(always)]
    fn short_blank(&self) -> Option<i16> {
        self.has_blank.then(|| self.blank.to_short())
    }

    #[inline(always)]
    fn lanes(&self, chunk: &[u8]) -> [f64; LANES] {
        let pixels = P::load_big_endian(chunk);
        let mut lanes = [0.0; LANES];
        for lane in 0..LANES {
            lanes[lane] = self.value(pixels[lane]);
        }
        lanes
    }
    #[inline(always)]
    fn values(&self, bytes: &[u8], out: &mut [f64]) {
        let bytes = &bytes[..out.len() * P::BYTES];
        for at in 0..out.len() {
            let pixel = P::read_big_endian(&bytes[at * P::BYTES..(at + 1) * P::BYTES]);
            out[at] = self.value(pixel);
        }
    }

    #[inline(always)]
    fn values_f32(&self, bytes: &[u8], out: &mut [f32]) {
        let bytes = &bytes[..out.len() * P::BYTES];
        if self.scales {
            for at in 0..out.len() {
                let pixel = P::read_big_endian(&bytes[at * P::BYTES..(at + 1) * P::BYTES]);
                out[at] = self.value(pixel) as f32;
            }
        } else {
            // A 64-bit integer would be rounded twice on the way through f64.
            for at in 0..out.len() {
                let pixel = P::read_big_endian(&bytes[at * P::BYTES..(at + 1) * P::BYTES]);
                out[at] = if self.is_blank(pixel) { f32::NAN } else { pixel.to_f32() };
            }
        }
    }
}
