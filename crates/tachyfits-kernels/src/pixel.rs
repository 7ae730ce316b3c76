//! Pixel types, and how sixteen pixels are loaded. The table at the end is the only list of types; a new type needs an
//! implementation and a row there.
//!
//! The unsigned and signed-byte conventions of FITS (Standard 4.0, section 4.4.2.5: BZERO of 2^15, 2^31, 2^63, or -128
//! for bytes, with BSCALE 1) are separate pixel types, decoded by flipping the sign bit.

use crate::LANES;

/// Stored pixel, loaded sixteen at a time.
pub trait Pixel: Copy + PartialEq + Send + Sync + 'static {
    /// Bytes of one pixel.
    const BYTES: usize;
    /// Zero pixel, the initial value of buffers.
    const ZERO: Self;
    /// Whether a leaf of pixels adds up in f64 without rounding: then every order of addition gives the same bits, and
    /// pixels are added as integers.
    const ADDS_EXACTLY: bool;
    /// Whether the stored integer has a sign.
    const IS_SIGNED: bool;
    /// Whether pixels are f32.
    const IS_SINGLE: bool;
    /// Whether every pixel is an integer of 16 bits.
    const IS_SHORT: bool;
    /// Returns the pixel as a 16-bit integer, for types with `IS_SHORT`.
    fn to_short(self) -> i16;
    /// Returns the pixel as an integer, for types with `ADDS_EXACTLY`.
    fn widen(self) -> i64;
    /// Loads [`LANES`] big-endian pixels; `chunk` has exactly `LANES * BYTES` bytes.
    fn load_big_endian(chunk: &[u8]) -> [Self; LANES];
    /// Loads [`LANES`] pixels in the machine's own byte order.
    fn load_native(chunk: &[u8]) -> [Self; LANES];
    /// Reads one big-endian pixel of exactly `BYTES` bytes.
    fn read_big_endian(pixel: &[u8]) -> Self;
    /// Reads one pixel in the machine's own byte order.
    fn read_native(pixel: &[u8]) -> Self;
    /// Returns the value, rounded once if it has more than 53 bits.
    fn to_f64(self) -> f64;
    /// Returns the value, rounded once to f32.
    fn to_f32(self) -> f32;
    /// Converts a stored integer, such as BLANK, to a pixel. `None` if it does not fit the type, or for floats, for
    /// which the Standard ignores BLANK.
    fn from_stored(stored: i64) -> Option<Self>;
    /// Writes the pixel in the machine's own byte order, bit for bit; `out` has `BYTES` bytes.
    fn store_native(self, out: &mut [u8]);
}

/// Defines the four loading functions from two functions that read one pixel.
macro_rules! pixel_loads {
    ($bytes:literal, $from_big_endian:expr, $from_native:expr) => {
        #[inline(always)]
        fn load_big_endian(chunk: &[u8]) -> [Self; LANES] {
            load::<Self, $bytes>(chunk, $from_big_endian)
        }
        #[inline(always)]
        fn load_native(chunk: &[u8]) -> [Self; LANES] {
            load::<Self, $bytes>(chunk, $from_native)
        }
        #[inline(always)]
        fn read_big_endian(pixel: &[u8]) -> Self {
            read::<Self, $bytes>(pixel, $from_big_endian)
        }
        #[inline(always)]
        fn read_native(pixel: &[u8]) -> Self {
            read::<Self, $bytes>(pixel, $from_native)
        }
    };
}

macro_rules! integer_pixel {
    ($value:ty, $stored:ty, $bytes:literal, $flip:expr) => {
        impl Pixel for $value {
            const BYTES: usize = $bytes;
            const ZERO: Self = 0;
            const ADDS_EXACTLY: bool = $bytes <= 4;
            const IS_SIGNED: bool = <$stored>::MIN != 0;
            const IS_SHORT: bool =
                <$value>::BITS < 16 || (<$value>::BITS == 16 && <$value>::MIN != 0);
            const IS_SINGLE: bool = false;
            #[inline(always)]
            fn to_short(self) -> i16 {
                self as i16
            }
            #[inline(always)]
            fn widen(self) -> i64 {
                self as i64
            }
            pixel_loads!(
                $bytes,
                |bytes| <$stored>::from_be_bytes(bytes) as $value ^ $flip,
                |bytes| <$stored>::from_ne_bytes(bytes) as $value ^ $flip
            );
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            fn from_stored(stored: i64) -> Option<Self> {
                <$stored>::try_from(stored).ok().map(|stored| stored as $value ^ $flip)
            }
            #[inline(always)]
            fn store_native(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_ne_bytes());
            }
        }
    };
}

macro_rules! float_pixel {
    ($value:ty, $bits:ty, $bytes:literal) => {
        impl Pixel for $value {
            const BYTES: usize = $bytes;
            const ZERO: Self = 0.0;
            const ADDS_EXACTLY: bool = false;
            const IS_SIGNED: bool = false;
            const IS_SHORT: bool = false;
            const IS_SINGLE: bool = $bytes == 4;
            #[inline(always)]
            fn to_short(self) -> i16 {
                self as i16
            }
            #[inline(always)]
            fn widen(self) -> i64 {
                self as i64
            }
            pixel_loads!($bytes, <$value>::from_be_bytes, <$value>::from_ne_bytes);
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            fn from_stored(_: i64) -> Option<Self> {
                None
            }
            #[inline(always)]
            fn store_native(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_ne_bytes());
            }
        }
    };
}

/// Splits a chunk into [`LANES`] pixels and reads each.
#[inline(always)]
fn load<T: Pixel, const BYTES: usize>(chunk: &[u8], read: impl Fn([u8; BYTES]) -> T) -> [T; LANES] {
    let (pixels, _) = chunk.as_chunks::<BYTES>();
    let pixels = &pixels[..LANES];
    let mut lanes = [T::ZERO; LANES];
    for lane in 0..LANES {
        lanes[lane] = read(pixels[lane]);
    }
    lanes
}

/// Reads one pixel from exactly as many bytes as it has.
#[inline(always)]
fn read<T: Pixel, const BYTES: usize>(pixel: &[u8], read: impl Fn([u8; BYTES]) -> T) -> T {
    let (bytes, _) = pixel.as_chunks::<BYTES>();
    read(bytes[0])
}

/// Expands to a match with one arm per type; each arm runs the block with `$P` as the Rust type.
macro_rules! pixel_arms {
    ($pixel:expr, $P:ident => $body:expr, $($name:ident $type:ty),+ $(; $rest:pat => $otherwise:expr)?) => {
        match $pixel {
            $($crate::PixelType::$name => {
                type $P = $type;
                $body
            })+
            $($rest => $otherwise,)?
        }
    };
}
pub(crate) use pixel_arms;

/// Runs a block with `$P` as the Rust type of a [`PixelType`].
macro_rules! with_pixel {
    ($pixel:expr, $P:ident => $body:expr) => {
        $crate::pixel::pixel_arms!(
            $pixel, $P => $body,
            U8 u8, I8 i8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64
        )
    };
}
pub(crate) use with_pixel;

/// Does the same for the types that [`PixelType::in_f64`] returns, which have their own sources.
macro_rules! with_source_pixel {
    ($pixel:expr, $P:ident => $body:expr) => {
        $crate::pixel::pixel_arms!(
            $pixel, $P => $body,
            U8 u8, I16 i16, I32 i32, I64 i64, U64 u64, F32 f32, F64 f64;
            _ => unreachable!("PixelType::in_f64 gives none of the others")
        )
    };
}
pub(crate) use with_source_pixel;

integer_pixel!(u8, u8, 1, 0);
integer_pixel!(i8, u8, 1, i8::MIN);
integer_pixel!(i16, i16, 2, 0);
integer_pixel!(u16, i16, 2, 1 << 15);
integer_pixel!(i32, i32, 4, 0);
integer_pixel!(u32, i32, 4, 1 << 31);
integer_pixel!(i64, i64, 8, 0);
integer_pixel!(u64, i64, 8, 1 << 63);
float_pixel!(f32, u32, 4);
float_pixel!(f64, u64, 8);

/// Pixel types by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum PixelType {
    U8,
    I8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl PixelType {
    /// All pixel types.
    pub const ALL: [PixelType; 10] = [
        PixelType::U8,
        PixelType::I8,
        PixelType::I16,
        PixelType::U16,
        PixelType::I32,
        PixelType::U32,
        PixelType::I64,
        PixelType::U64,
        PixelType::F32,
        PixelType::F64,
    ];

    /// Returns the bytes of one pixel.
    pub fn bytes(self) -> usize {
        with_pixel!(self, P => P::BYTES)
    }

    /// Returns a type and an offset: in f64, values of that type plus the offset equal values of this type. An offset
    /// of -0.0 changes no number, not even the sign of a zero.
    pub(crate) fn in_f64(self) -> (PixelType, f64) {
        match self {
            PixelType::I8 => (PixelType::U8, -128.0),
            PixelType::U16 => (PixelType::I16, 32_768.0),
            PixelType::U32 => (PixelType::I32, 2_147_483_648.0),
            other => (other, -0.0),
        }
    }

    /// Whether this is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, PixelType::F32 | PixelType::F64)
    }
}
