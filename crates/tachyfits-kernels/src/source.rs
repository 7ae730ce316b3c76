//! The encoding of the bytes of an array, and the sources that yield them as sixteen f64 at a time.
//!
//! There are two sources per pixel type: plain, and scaled with BSCALE, BZERO and BLANK. Both give NaN for an undefined
//! pixel, so that a reduction needs one rule for both NaN and BLANK.

use crate::LANES;
use crate::byte_order::{BigEndian, Native, Order};
use crate::compensated::Unit;
use crate::exact;
use crate::pixel::{Pixel, PixelType, with_source_pixel};
use std::marker::PhantomData;

/// Pixels of up to 16 bits that are taken at a time as integers: 64 bytes.
pub(crate) const SHORTS: usize = 2 * LANES;

/// Order of the bytes within a pixel. FITS is always big-endian; native serves arrays that are in memory already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Most significant byte first, as in every FITS file.
    BigEndian,
    /// The machine's own: arrays in memory. They are of signed integers, bytes or floats, and never scaled.
    Native,
}

impl ByteOrder {
    /// Whether numbers in this order are those of the machine.
    pub(crate) fn is_native(self) -> bool {
        self == ByteOrder::Native || cfg!(target_endian = "big")
    }
}

/// The encoding of a pixel.
///
/// The physical value is `zero + scale * pixel`, computed in f64 (Standard 4.0, section 4.4.2.5), and NaN where the
/// stored integer equals `blank`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoding {
    /// Type of a pixel, the unsigned conventions resolved.
    pub pixel: PixelType,
    /// Its byte order.
    pub order: ByteOrder,
    /// BSCALE and BZERO, where they are more than a sign-bit flip.
    pub scaling: Option<(f64, f64)>,
    /// BLANK as the stored value; ignored for floats.
    pub blank: Option<i64>,
}

impl Encoding {
    /// Big-endian pixels that stand for themselves.
    pub fn plain(pixel: PixelType) -> Encoding {
        Encoding { pixel, order: ByteOrder::BigEndian, scaling: None, blank: None }
    }

    /// Bytes of one pixel.
    pub fn pixel_bytes(&self) -> usize {
        self.pixel.bytes()
    }

    /// The same pixels in another unit, in which f64 has their sums and squares; `None` of pixels whose squares it always
    /// has, and of native ones, which are never scaled.
    #[must_use]
    pub fn in_unit(&self, unit: Unit) -> Option<Encoding> {
        let may_need_it = self.pixel == PixelType::F64 || self.scaling.is_some();
        let (scale, zero) = self.scaling.unwrap_or((1.0, 0.0));
        let scaling = Some((scale / unit.value(), zero / unit.value()));
        let is_big_endian = self.order == ByteOrder::BigEndian;
        (may_need_it && is_big_endian).then_some(Encoding { scaling, ..*self })
    }

    /// Whether sums of pixels are exact in f64, however they are added: small integers that stand for themselves.
    pub(crate) fn adds_exactly(&self) -> bool {
        self.scaling.is_none() && !self.pixel.is_float() && self.pixel_bytes() <= 4
    }

    /// Whether pixels are scaled (an unsigned convention counts), or have a BLANK.
    pub(crate) fn is_scaled(&self) -> bool {
        // A float has no BLANK: NaN says undefined, and a pixel that nothing scales keeps its -0.0.
        let has_blank = self.blank.is_some() && !self.pixel.is_float();
        self.scaling.is_some() || has_blank || self.pixel.in_f64().1 != 0.0
    }

    /// Whether there is a source for it: native pixels are of signed integers, bytes or floats, and never scaled.
    pub fn is_supported(&self) -> bool {
        let stands_for_itself = self.pixel.in_f64() == (self.pixel, 0.0);
        let scaled = self.scaling.is_some() || self.blank.is_some();
        self.order == ByteOrder::BigEndian || (stands_for_itself && !scaled)
    }

    /// Hands the source for this encoding to `visitor`: the one place where run-time types become compile-time ones.
    ///
    /// Every kernel is compiled once for each source that is named here, and that is most of a build. So types of which
    /// f64 holds every value share the source of their stored type, and native pixels, which are arrays in memory
    /// already, are never scaled.
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

/// Pixels decoded to f64, NaN where undefined.
pub trait Source: Copy {
    /// Bytes of one pixel.
    const BYTES: usize;
    /// Bytes of [`LANES`] pixels.
    const CHUNK: usize = Self::BYTES * LANES;
    /// Decodes exactly [`LANES`] pixels: for loops that keep lanes.
    fn lanes(&self, chunk: &[u8]) -> [f64; LANES];
    /// Decodes as many pixels as `out` holds: for loops over elements.
    fn values(&self, bytes: &[u8], out: &mut [f64]);
    /// The same, rounded to f32: from the pixel itself where nothing scales, else once from the f64 value.
    fn values_f32(&self, bytes: &[u8], out: &mut [f32]);

    /// The sum of a leaf, where its pixels add up exactly in any order; all of them are defined then.
    #[inline(always)]
    fn exact_sum(&self, bytes: &[u8]) -> Option<f64> {
        let _ = bytes;
        None
    }

    /// Whether stored pixels are integers of up to 16 bits.
    const IS_SHORT: bool = false;

    /// The stored values of twice [`LANES`] pixels, where they are that small.
    #[inline(always)]
    fn shorts(&self, chunk: &[u8]) -> [i16; SHORTS] {
        let _ = chunk;
        [0; SHORTS]
    }

    /// Whether pixels are f32 that stand for themselves.
    const IS_SINGLE: bool = false;

    /// [`LANES`] such pixels.
    #[inline(always)]
    fn singles(&self, chunk: &[u8]) -> [f32; LANES] {
        let _ = chunk;
        [0.0; LANES]
    }

    /// The stored value that is undefined, if there is one that a pixel can have.
    #[inline(always)]
    fn short_blank(&self) -> Option<i16> {
        None
    }

    /// Decodes the last pixels of an array, fewer than [`LANES`]; lanes beyond them are NaN.
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

/// The pixels of two chunks, as integers of 16 bits.
#[inline(always)]
fn shorts<P: Pixel, O: Order>(chunk: &[u8]) -> [i16; SHORTS] {
    let mut found = [0; SHORTS];
    if P::IS_SHORT {
        for at in 0..SHORTS {
            found[at] = O::read::<P>(&chunk[at * P::BYTES..(at + 1) * P::BYTES]).to_short();
        }
    }
    found
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
    /// Whether there is a scaling; without, f32 is rounded from the pixel itself.
    scales: bool,
}

impl<P: Pixel> Scaled<P> {
    pub(crate) fn new(encoding: &Encoding, flip: f64) -> Self {
        let blank = encoding.blank.and_then(P::from_stored);
        // Without scaling, `0 + 1 * x` gives x back bit for bit: what comes here then is an integer, which has no -0.0.
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

    /// The value of a pixel that is not blank.
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
            // Through f64 a 64-bit integer would be rounded twice.
            for at in 0..out.len() {
                let pixel = P::read_big_endian(&bytes[at * P::BYTES..(at + 1) * P::BYTES]);
                out[at] = if self.is_blank(pixel) { f32::NAN } else { pixel.to_f32() };
            }
        }
    }
}
