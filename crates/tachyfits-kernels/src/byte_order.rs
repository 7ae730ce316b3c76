//! Loading pixels of either byte order.

use crate::LANES;
use crate::pixel::Pixel;

/// Byte order of a pixel.
pub(crate) trait Order: Copy + Send + Sync + 'static {
    /// Whether the most significant byte comes first.
    const HIGH_FIRST: bool;
    fn load<P: Pixel>(chunk: &[u8]) -> [P; LANES];
    fn read<P: Pixel>(pixel: &[u8]) -> P;
}

#[derive(Clone, Copy)]
pub(crate) struct BigEndian;
impl Order for BigEndian {
    const HIGH_FIRST: bool = true;

    #[inline(always)]
    fn load<P: Pixel>(chunk: &[u8]) -> [P; LANES] {
        P::load_big_endian(chunk)
    }

    #[inline(always)]
    fn read<P: Pixel>(pixel: &[u8]) -> P {
        P::read_big_endian(pixel)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Native;
impl Order for Native {
    const HIGH_FIRST: bool = cfg!(target_endian = "big");

    #[inline(always)]
    fn load<P: Pixel>(chunk: &[u8]) -> [P; LANES] {
        P::load_native(chunk)
    }

    #[inline(always)]
    fn read<P: Pixel>(pixel: &[u8]) -> P {
        P::read_native(pixel)
    }
}
