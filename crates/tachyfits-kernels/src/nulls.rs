//! Decoding with a rule for null pixels: which pixels are null, their output, and their number. For callers with a null
//! value or flags instead of NaN, and for integers of another type than the stored one.

use std::marker::PhantomData;

use crate::decode::{Float, FloatKernel};
use crate::isa::{self, Kernel, Tier};
use crate::pixel::{Pixel, PixelType, with_pixel};
use crate::source::{ByteOrder, Scaled, Source};
use crate::{Encoding, LANES, decode_f32, decode_f64, decode_native, mark_nulls};

/// Pixels decoded at a time: 8 KiB of f64, in the first-level cache.
const PIECE: usize = 1024;

/// Definition of null pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NullRule {
    /// No pixel is null: BLANK is an ordinary number, and NaN and infinities are kept.
    Nothing,
    /// NaN is null, and BLANK for integers.
    Nan,
    /// NaN and infinities are null, and BLANK for integers. Stored floats that are subnormal or -0.0 become 0, as in
    /// CFITSIO.
    NotFinite,
}

/// Output for null pixels. Numbers are the bits of an element, in the lowest bytes.
#[derive(Debug)]
pub enum NullOutput<'a> {
    /// Null elements get this number.
    Value(u64),
    /// Flags are 1 for null elements, 0 for others. Null elements get a number, or keep the
    /// previous content of the array.
    Flags {
        /// One byte per element.
        flags: &'a mut [u8],
        /// Bits of null elements.
        value: Option<u64>,
    },
}

/// Counts of one decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NullCounts {
    /// Null pixels.
    pub nulls: u64,
    /// Numbers clipped to the range of the element type.
    pub clipped: u64,
    /// Numbers without a nearby integer of the element type: NaN that is not null, and numbers whose conversion differs
    /// between processors. Their elements are unspecified.
    pub odd: u64,
}

impl NullCounts {
    /// Adds the counts of another decoding.
    #[must_use]
    pub fn plus(self, other: NullCounts) -> NullCounts {
        NullCounts {
            nulls: self.nulls + other.nulls,
            clipped: self.clipped + other.clipped,
            odd: self.odd + other.odd,
        }
    }
}

impl NullOutput<'_> {
    /// Returns the output for some of the elements.
    fn part(&mut self, first: usize, count: usize) -> NullOutput<'_> {
        match self {
            NullOutput::Value(value) => NullOutput::Value(*value),
            NullOutput::Flags { flags, value } => {
                NullOutput::Flags { flags: &mut flags[first..first + count], value: *value }
            }
        }
    }
}

/// Decodes big-endian pixels to elements of any type, in the machine's byte order. Floats are physical values, as from
/// [`decode_f64`] and [`decode_f32`]. Integers are these values truncated; values more than 0.49 beyond the range of
/// the type are clipped. Pixels of the same type as the elements keep all their bits.
///
/// ```
/// use tachyfits_kernels::{Encoding, NullOutput, NullRule, PixelType, Tier, decode_elements};
/// let encoding = Encoding { blank: Some(7), scaling: Some((2.0, 0.5)), ..Encoding::plain(PixelType::I16) };
/// let mut out = [0; 6];
/// let counts = decode_elements(
///     &[0, 1, 0, 7, 128, 0], &encoding, NullRule::Nan, PixelType::I16, NullOutput::Value(9), Tier::SCALAR, &mut out,
/// );
/// assert_eq!(out, [2i16.to_ne_bytes(), 9i16.to_ne_bytes(), i16::MIN.to_ne_bytes()].concat()[..]);
/// assert_eq!((counts.nulls, counts.clipped), (1, 1));
/// ```
///
/// # Panics
/// If the numbers of flags, pixels and elements differ.
pub fn decode_elements(
    bytes: &[u8],
    encoding: &Encoding,
    rule: NullRule,
    element: PixelType,
    nulls: NullOutput<'_>,
    tier: Tier,
    out: &mut [u8],
) -> NullCounts {
    let blank = encoding.blank.filter(|_| rule != NullRule::Nothing);
    let encoding = Encoding { blank, ..*encoding };
    let count = out.len() / element.bytes();
    assert_eq!(bytes.len(), count * encoding.pixel_bytes(), "a pixel for each element");
    if let NullOutput::Flags { flags, .. } = &nulls {
        assert_eq!(flags.len(), count, "a flag for each element");
    }
    let mut nulls = nulls;
    if encoding.scaling.is_none() && encoding.pixel == element {
        return same_type(bytes, &encoding, rule, nulls, tier, out);
    }
    if let NullOutput::Value(null) = nulls
        && let Some(nulls) = fill_blanks(bytes, &encoding, element, null, tier, out)
    {
        return NullCounts { nulls, ..NullCounts::default() };
    }
    let (size, width) = (encoding.pixel_bytes(), element.bytes());
    let mut counts = NullCounts::default();
    let (mut singles, mut doubles) = ([0.0f32; PIECE], [0.0f64; PIECE]);
    for first in (0..count).step_by(PIECE) {
        let length = PIECE.min(count - first);
        let bytes = &bytes[first * size..(first + length) * size];
        let out = &mut out[first * width..(first + length) * width];
        let nulls = nulls.part(first, length);
        let part = if element == PixelType::F32 {
            let values = &mut singles[..length];
            decode_by(bytes, &encoding, rule, tier, values, decode_f32);
            settle::<f32, f32>(values, rule, nulls, tier, out)
        } else {
            let values = &mut doubles[..length];
            decode_by(bytes, &encoding, rule, tier, values, decode_f64);
            with_pixel!(element, P => settle::<f64, P>(values, rule, nulls, tier, out))
        };
        counts = counts.plus(part);
    }
    counts
}

/// Decodes unscaled floats in place with [`NullRule::NotFinite`]; returns the number of null pixels.
///
/// ```
/// use tachyfits_kernels::{PixelType, Tier, finite_in_place};
/// let mut bytes = [1.5f32, f32::INFINITY, -0.0].map(f32::to_be_bytes).concat();
/// let nulls = finite_in_place(&mut bytes, PixelType::F32, 9f32.to_bits().into(), Tier::SCALAR);
/// assert_eq!((nulls, bytes), (1, [1.5f32, 9.0, 0.0].map(f32::to_ne_bytes).concat()));
/// ```
///
/// # Panics
/// If the pixels are integers.
pub fn finite_in_place(bytes: &mut [u8], pixel: PixelType, null: u64, tier: Tier) -> u64 {
    match pixel {
        PixelType::F32 => isa::dispatch(tier, FiniteSingles { bytes, null: null as u32 }),
        PixelType::F64 => isa::dispatch(tier, FiniteDoubles { bytes, null }),
        _ => panic!("{pixel:?} is not a float"),
    }
}

/// Decodes integers whose only null value is BLANK to floats in one loop; returns the number of null pixels, or `None`
/// for other pixels.
fn fill_blanks(
    bytes: &[u8],
    encoding: &Encoding,
    element: PixelType,
    null: u64,
    tier: Tier,
    out: &mut [u8],
) -> Option<u64> {
    let (scale, zero) = encoding.scaling.unwrap_or((1.0, 0.0));
    encoding.blank?;
    // A 64-bit integer would be rounded twice on the way through f64; a scale that is not finite makes further values
    // NaN.
    let is_long = encoding.scaling.is_none() && encoding.pixel_bytes() == 8;
    let is_big_endian = encoding.order == ByteOrder::BigEndian;
    if is_long || !is_big_endian || !scale.is_finite() || !zero.is_finite() {
        return None;
    }
    let (stored, flip) = encoding.pixel.in_f64();
    macro_rules! fill {
        ($Stored:ty, $Element:ty) => {
            isa::dispatch(
                tier,
                Fill::<$Stored, $Element> {
                    bytes,
                    source: Scaled::new(encoding, flip),
                    null: <$Element as Element<f64>>::of_bits(null),
                    out,
                },
            )
        };
    }
    let nulls = match (stored, element) {
        (PixelType::U8, PixelType::F32) => fill!(u8, f32),
        (PixelType::U8, PixelType::F64) => fill!(u8, f64),
        (PixelType::I16, PixelType::F32) => fill!(i16, f32),
        (PixelType::I16, PixelType::F64) => fill!(i16, f64),
        (PixelType::I32, PixelType::F32) => fill!(i32, f32),
        (PixelType::I32, PixelType::F64) => fill!(i32, f64),
        _ => return None,
    };
    Some(nulls)
}

/// Kernel that decodes integers to floats, with BLANK as the null value.
struct Fill<'a, P, E> {
    bytes: &'a [u8],
    source: Scaled<P>,
    null: E,
    out: &'a mut [u8],
}

impl<P: Pixel, E: Element<f64>> Kernel for Fill<'_, P, E> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let mut nulls = 0;
        // Pieces small enough for 32-bit counters, whose lanes are as wide as most elements.
        let pieces = self.bytes.chunks(PIECE * P::BYTES).zip(self.out.chunks_mut(PIECE * E::BYTES));
        for (bytes, out) in pieces {
            let mut nulls_of_piece = 0u32;
            let pixels = bytes.chunks_exact(P::BYTES).zip(out.chunks_exact_mut(E::BYTES));
            for (pixel, out) in pixels {
                let pixel = P::read_big_endian(pixel);
                let is_null = self.source.is_blank(pixel);
                let (element, _, _) = E::of(self.source.physical(pixel));
                let element = if is_null { self.null } else { element };
                element.store_native(out);
                nulls_of_piece += u32::from(is_null);
            }
            nulls += u64::from(nulls_of_piece);
        }
        nulls
    }
}

/// Decodes to values, with NaN for null pixels.
fn decode_by<F: Float>(
    bytes: &[u8],
    encoding: &Encoding,
    rule: NullRule,
    tier: Tier,
    out: &mut [F],
    decode: impl FnOnce(&[u8], &Encoding, Tier, &mut [F]),
) {
    let (scale, zero) = encoding.scaling.unwrap_or((1.0, -0.0));
    let scales = encoding.scaling.is_some();
    match (rule, encoding.pixel) {
        (NullRule::NotFinite, PixelType::F32) => {
            let source = Finite::<f32> { scale, zero, scales, pixel: PhantomData };
            isa::dispatch(tier, FloatKernel { bytes, source, out });
        }
        (NullRule::NotFinite, PixelType::F64) => {
            let source = Finite::<f64> { scale, zero, scales, pixel: PhantomData };
            isa::dispatch(tier, FloatKernel { bytes, source, out });
        }
        _ => decode(bytes, encoding, tier, out),
    }
}

/// Decodes pixels that have the type of the elements.
fn same_type(
    bytes: &[u8],
    encoding: &Encoding,
    rule: NullRule,
    nulls: NullOutput<'_>,
    tier: Tier,
    out: &mut [u8],
) -> NullCounts {
    let mut nulls = nulls;
    let (pixel, size) = (encoding.pixel, encoding.pixel_bytes());
    let mut counts = NullCounts::default();
    let (mut native, mut marks) = ([0; 8 * PIECE], [0; PIECE]);
    let pieces = bytes.chunks(PIECE * size).zip(out.chunks_mut(PIECE * size)).enumerate();
    for (piece, (bytes, out)) in pieces {
        let length = out.len() / size;
        let nulls = nulls.part(piece * PIECE, length);
        let may_be_null =
            rule != NullRule::Nothing && (pixel.is_float() || encoding.blank.is_some());
        if !may_be_null {
            decode_native(bytes, pixel, tier, out);
            if let NullOutput::Flags { flags, .. } = nulls {
                flags.fill(0);
            }
            continue;
        }
        let native = &mut native[..out.len()];
        decode_native(bytes, pixel, tier, native);
        let marks = &mut marks[..length];
        match encoding.blank {
            Some(blank) if !pixel.is_float() => mark_nulls(native, pixel, blank, tier, marks),
            _ if size == 4 => mark_singles(native, rule, marks),
            _ => mark_doubles(native, rule, marks),
        }
        counts.nulls += put_marked(native, marks, nulls, size, out);
    }
    counts
}

/// Marks floats that are null by a rule, and sets those that count as 0 to 0.
fn mark_singles(values: &mut [u8], rule: NullRule, marks: &mut [u8]) {
    for (value, mark) in values.as_chunks_mut::<4>().0.iter_mut().zip(marks) {
        let bits = u32::from_ne_bytes(*value);
        let (all, none) = (bits & F32_EXPONENT == F32_EXPONENT, bits & F32_EXPONENT == 0);
        let is_strict = rule == NullRule::NotFinite;
        *mark = u8::from(all && (is_strict || f32::from_bits(bits).is_nan()));
        if is_strict && none {
            *value = [0; 4];
        }
    }
}

fn mark_doubles(values: &mut [u8], rule: NullRule, marks: &mut [u8]) {
    for (value, mark) in values.as_chunks_mut::<8>().0.iter_mut().zip(marks) {
        let bits = u64::from_ne_bytes(*value);
        let (all, none) = (bits & F64_EXPONENT == F64_EXPONENT, bits & F64_EXPONENT == 0);
        let is_strict = rule == NullRule::NotFinite;
        *mark = u8::from(all && (is_strict || f64::from_bits(bits).is_nan()));
        if is_strict && none {
            *value = [0; 8];
        }
    }
}

/// Copies native elements without a mark, writes the output of marked ones, and returns the number of marks.
fn put_marked(
    values: &[u8],
    marks: &[u8],
    nulls: NullOutput<'_>,
    size: usize,
    out: &mut [u8],
) -> u64 {
    let count = marks.iter().map(|&mark| u64::from(mark)).sum();
    let value = match nulls {
        NullOutput::Value(value) => Some(value),
        NullOutput::Flags { flags, value } => {
            flags.copy_from_slice(marks);
            value
        }
    };
    if count == 0 {
        out.copy_from_slice(values);
        return 0;
    }
    let bits = native_bits(value.unwrap_or_default(), size);
    let elements = values.chunks_exact(size).zip(out.chunks_exact_mut(size)).zip(marks);
    for ((element, out), &mark) in elements {
        match (mark, value) {
            (0, _) => out.copy_from_slice(element),
            (_, Some(_)) => out.copy_from_slice(&bits[..size]),
            (_, None) => {}
        }
    }
    count
}

/// Returns the lowest bytes of a word as an element in the machine's byte order.
fn native_bits(bits: u64, size: usize) -> [u8; 8] {
    let mut bytes = [0; 8];
    match size {
        1 => bytes[0] = bits as u8,
        2 => bytes[..2].copy_from_slice(&(bits as u16).to_ne_bytes()),
        4 => bytes[..4].copy_from_slice(&(bits as u32).to_ne_bytes()),
        _ => bytes = bits.to_ne_bytes(),
    }
    bytes
}

const F32_EXPONENT: u32 = 0x7f80_0000;
const F64_EXPONENT: u64 = 0x7ff0_0000_0000_0000;

/// Float with access to its exponent bits.
trait Exponent: Pixel {
    /// Whether all exponent bits are set (infinite or NaN), and whether none is (zero or subnormal).
    fn exponent(self) -> (bool, bool);
}

impl Exponent for f32 {
    #[inline(always)]
    fn exponent(self) -> (bool, bool) {
        let bits = self.to_bits() & F32_EXPONENT;
        (bits == F32_EXPONENT, bits == 0)
    }
}

impl Exponent for f64 {
    #[inline(always)]
    fn exponent(self) -> (bool, bool) {
        let bits = self.to_bits() & F64_EXPONENT;
        (bits == F64_EXPONENT, bits == 0)
    }
}

/// Source of floats that yields NaN for infinite values, and 0 for subnormal ones.
#[derive(Clone, Copy)]
struct Finite<P> {
    scale: f64,
    zero: f64,
    scales: bool,
    pixel: PhantomData<P>,
}

impl<P: Exponent> Finite<P> {
    #[inline(always)]
    fn value(&self, pixel: P) -> f64 {
        let (all, none) = pixel.exponent();
        let plain =
            if self.scales { self.zero + self.scale * pixel.to_f64() } else { pixel.to_f64() };
        let zero = if self.scales { self.zero } else { 0.0 };
        let value = if none { zero } else { plain };
        if all { f64::NAN } else { value }
    }
}

impl<P: Exponent> Source for Finite<P> {
    const BYTES: usize = P::BYTES;

    #[inline(always)]
    fn lanes(&self, chunk: &[u8]) -> [f64; LANES] {
        P::load_big_endian(chunk).map(|pixel| self.value(pixel))
    }

    #[inline(always)]
    fn values(&self, bytes: &[u8], out: &mut [f64]) {
        let bytes = &bytes[..out.len() * P::BYTES];
        for at in 0..out.len() {
            out[at] = self.value(P::read_big_endian(&bytes[at * P::BYTES..(at + 1) * P::BYTES]));
        }
    }

    #[inline(always)]
    fn values_f32(&self, bytes: &[u8], out: &mut [f32]) {
        let bytes = &bytes[..out.len() * P::BYTES];
        for at in 0..out.len() {
            // An unscaled float equals its value in f64, so rounding again changes nothing.
            out[at] =
                self.value(P::read_big_endian(&bytes[at * P::BYTES..(at + 1) * P::BYTES])) as f32;
        }
    }
}

/// Physical value of an element.
trait Value: Copy {
    fn is_null(self) -> bool;
}

impl Value for f32 {
    #[inline(always)]
    fn is_null(self) -> bool {
        self.is_nan()
    }
}

impl Value for f64 {
    #[inline(always)]
    fn is_null(self) -> bool {
        self.is_nan()
    }
}

/// Element computed from a value.
trait Element<V>: Pixel {
    /// Returns the element of a value that is not null, whether it was clipped, and whether the conversion is
    /// undefined.
    fn of(value: V) -> (Self, bool, bool);
    /// Returns the element with these bits.
    fn of_bits(bits: u64) -> Self;
    /// Returns the element that an array contains.
    fn kept(bytes: &[u8]) -> Self;
}

macro_rules! integer_element {
    ($($type:ty, $bits:ty, $wide:ty, $low:expr, $high:expr, $odd:expr;)+) => {
        $(impl Element<f64> for $type {
            #[inline(always)]
            fn of(value: f64) -> ($type, bool, bool) {
                // A value within half a unit of the range is truncated like any other.
                let (low, high) = (value < $low, value > $high);
                (value as $wide as $type, low | high, $odd(value))
            }

            #[inline(always)]
            fn of_bits(bits: u64) -> $type {
                bits as $bits as $type
            }

            #[inline(always)]
            fn kept(bytes: &[u8]) -> $type {
                <$type>::from_ne_bytes(bytes.as_chunks().0[0])
            }
        })+
    };
}

/// Whether a value is NaN, or its conversion to 64 bits differs between processors.
#[inline(always)]
fn is_far(value: f64) -> bool {
    // The largest f64 below 2^63.
    value.is_nan() | (value.abs() >= 9_223_372_036_854_774_784.0)
}

integer_element! {
    u8, u8, u8, -0.49, 255.49, f64::is_nan;
    i8, u8, i8, -128.49, 127.49, f64::is_nan;
    u16, u16, u16, -0.49, 65_535.49, f64::is_nan;
    i16, u16, i16, -32_768.49, 32_767.49, f64::is_nan;
    u32, u32, u32, -0.49, 4_294_967_295.49, f64::is_nan;
    i32, u32, i32, -2_147_483_648.49, 2_147_483_647.49, f64::is_nan;
    u64, u64, u64, -0.49, f64::INFINITY, is_far;
    i64, u64, i64, f64::NEG_INFINITY, f64::INFINITY, is_far;
}

impl Element<f64> for f64 {
    #[inline(always)]
    fn of(value: f64) -> (f64, bool, bool) {
        (value, false, false)
    }

    #[inline(always)]
    fn of_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    #[inline(always)]
    fn kept(bytes: &[u8]) -> f64 {
        f64::from_ne_bytes(bytes.as_chunks().0[0])
    }
}

macro_rules! single_element {
    ($($value:ty),+) => {
        $(impl Element<$value> for f32 {
            #[inline(always)]
            fn of(value: $value) -> (f32, bool, bool) {
                (value as f32, false, false)
            }

            #[inline(always)]
            fn of_bits(bits: u64) -> f32 {
                f32::from_bits(bits as u32)
            }

            #[inline(always)]
            fn kept(bytes: &[u8]) -> f32 {
                f32::from_ne_bytes(bytes.as_chunks().0[0])
            }
        })+
    };
}
single_element! { f32, f64 }

/// Converts values to elements. NaN is null unless the rule is [`NullRule::Nothing`].
fn settle<V: Value, P: Element<V>>(
    values: &[V],
    rule: NullRule,
    nulls: NullOutput<'_>,
    tier: Tier,
    out: &mut [u8],
) -> NullCounts {
    if rule == NullRule::Nothing {
        if let NullOutput::Flags { flags, .. } = nulls {
            flags.fill(0);
        }
        return isa::dispatch(tier, Convert::<V, P> { values, out, element: PhantomData });
    }
    match nulls {
        NullOutput::Value(value) => {
            let null = P::of_bits(value);
            isa::dispatch(tier, Replace::<V, P> { values, null, out })
        }
        NullOutput::Flags { flags, value } => {
            let null = value.map(P::of_bits);
            isa::dispatch(tier, Flag::<V, P> { values, null, flags, out })
        }
    }
}

struct Convert<'a, V, P> {
    values: &'a [V],
    out: &'a mut [u8],
    element: PhantomData<P>,
}

impl<V: Value, P: Element<V>> Kernel for Convert<'_, V, P> {
    type Output = NullCounts;

    #[inline(always)]
    fn run(self) -> NullCounts {
        // The counts of a piece fit in 32 bits, whose lanes are as wide as most elements.
        let (mut clipped, mut odd) = (0u32, 0u32);
        // An indexed loop would handle one element at a time.
        for (&value, out) in self.values.iter().zip(self.out.chunks_exact_mut(P::BYTES)) {
            let (element, is_clipped, is_odd) = P::of(value);
            element.store_native(out);
            clipped += u32::from(is_clipped);
            odd += u32::from(is_odd);
        }
        NullCounts { nulls: 0, clipped: clipped.into(), odd: odd.into() }
    }
}

struct Replace<'a, V, P> {
    values: &'a [V],
    null: P,
    out: &'a mut [u8],
}

impl<V: Value, P: Element<V>> Kernel for Replace<'_, V, P> {
    type Output = NullCounts;

    #[inline(always)]
    fn run(self) -> NullCounts {
        let (mut nulls, mut clipped, mut odd) = (0u32, 0u32, 0u32);
        for (&value, out) in self.values.iter().zip(self.out.chunks_exact_mut(P::BYTES)) {
            let is_null = value.is_null();
            let (element, is_clipped, is_odd) = P::of(value);
            let element = if is_null { self.null } else { element };
            element.store_native(out);
            nulls += u32::from(is_null);
            clipped += u32::from(is_clipped & !is_null);
            odd += u32::from(is_odd & !is_null);
        }
        NullCounts { nulls: nulls.into(), clipped: clipped.into(), odd: odd.into() }
    }
}

struct Flag<'a, V, P> {
    values: &'a [V],
    /// Element for null values; `None` keeps the content of `out`.
    null: Option<P>,
    flags: &'a mut [u8],
    out: &'a mut [u8],
}

impl<V: Value, P: Element<V>> Kernel for Flag<'_, V, P> {
    type Output = NullCounts;

    #[inline(always)]
    fn run(self) -> NullCounts {
        let (mut nulls, mut clipped, mut odd) = (0u32, 0u32, 0u32);
        let elements = self.values.iter().zip(self.out.chunks_exact_mut(P::BYTES));
        for ((&value, out), flag) in elements.zip(self.flags) {
            let is_null = value.is_null();
            let (element, is_clipped, is_odd) = P::of(value);
            let null = self.null.unwrap_or_else(|| P::kept(out));
            let element = if is_null { null } else { element };
            element.store_native(out);
            *flag = u8::from(is_null);
            nulls += u32::from(is_null);
            clipped += u32::from(is_clipped & !is_null);
            odd += u32::from(is_odd & !is_null);
        }
        NullCounts { nulls: nulls.into(), clipped: clipped.into(), odd: odd.into() }
    }
}

struct FiniteSingles<'a> {
    bytes: &'a mut [u8],
    null: u32,
}

struct FiniteDoubles<'a> {
    bytes: &'a mut [u8],
    null: u64,
}

macro_rules! finite_in_place {
    ($($kernel:ident $bits:ty, $bytes:literal, $exponent:expr;)+) => {
        $(impl Kernel for $kernel<'_> {
            type Output = u64;

            #[inline(always)]
            fn run(self) -> u64 {
                let (pixels, _) = self.bytes.as_chunks_mut::<$bytes>();
                let mut nulls: $bits = 0;
                for at in 0..pixels.len() {
                    let bits = <$bits>::from_be_bytes(pixels[at]);
                    let exponent = bits & $exponent;
                    let bits = if exponent == 0 { 0 } else { bits };
                    let is_null = exponent == $exponent;
                    let bits = if is_null { self.null } else { bits };
                    pixels[at] = bits.to_ne_bytes();
                    nulls += <$bits>::from(is_null);
                }
                nulls as u64
            }
        })+
    };
}
finite_in_place! {
    FiniteSingles u32, 4, F32_EXPONENT;
    FiniteDoubles u64, 8, F64_EXPONENT;
}
