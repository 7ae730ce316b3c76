//! Fields of records, moved from one stride to another with optional byte swapping.
//!
//! Unlike the columns of FITS tables, these fields have either byte order, elements of up to 16 bytes and no
//! conventions for their values. Source and target may both be strided: records of a Fortran program to rows of a
//! structured array, and back. Swapping is its own inverse, so one function serves both directions.

use std::marker::PhantomData;

use super::runs::Make;
#[cfg(target_arch = "x86_64")]
use super::runs::Runs;
use super::ways::{Fields, LONG_FIELD, Ways};
use crate::isa::{self, Cached, Kernel, Tier};

/// Description of a move of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Bytes of an element: 1, 2, 4, 8 or 16 if elements are swapped, otherwise any number.
    pub size: usize,
    /// Whether to swap the bytes of each element.
    pub swap: bool,
    /// Number of fields: one per record.
    pub count: usize,
    /// Position of the source fields; `elements` counts elements of `size` bytes.
    pub from: Fields,
    /// Position of the target fields, with the same number of elements.
    pub to: Fields,
}

impl Transfer {
    /// Moves the fields. Bytes between the target fields stay unchanged.
    ///
    /// ```
    /// use tachyfits_kernels::{Fields, Tier, Transfer};
    /// // Read the integers of two big-endian records, each a byte and a 16-bit integer.
    /// let records = [7, 1, 2, 8, 3, 4];
    /// let from = Fields { offset: 1, stride: 3, elements: 1 };
    /// let to = Fields { offset: 0, stride: 2, elements: 1 };
    /// let transfer = Transfer { size: 2, swap: true, count: 2, from, to };
    /// let mut out = [0; 4];
    /// transfer.run(&records, &mut out, Tier::SCALAR);
    /// assert_eq!(out, [2, 1, 4, 3]);
    /// ```
    ///
    /// # Panics
    /// If the bytes are too short for the fields, fields overlap the next ones, or elements of another size
    /// are to be swapped.
    pub fn run(&self, from: &[u8], to: &mut [u8], tier: Tier) {
        let Some((ways, from, to)) = self.ways(from, to) else { return };
        match (self.swap, self.size) {
            (false, _) | (true, 1) => ways.copy(from, to),
            (true, 2) => ways.swap::<u16>(from, to, tier),
            (true, 4) => ways.swap::<u32>(from, to, tier),
            (true, 8) => ways.swap::<u64>(from, to, tier),
            (true, size) => {
                assert_eq!(size, 16, "elements that can be swapped");
                ways.swap::<u128>(from, to, tier);
            }
        }
    }

    /// Returns the strides of the fields, and both sides from the first field on; `None` without fields.
    fn ways<'a>(&self, from: &'a [u8], to: &'a mut [u8]) -> Option<(Ways, &'a [u8], &'a mut [u8])> {
        assert_eq!(self.from.elements, self.to.elements, "as many elements");
        let run = self.size.checked_mul(self.from.elements).expect("a field fits in memory");
        if run == 0 || self.count == 0 {
            return None;
        }
        let (from_stride, to_stride) = (self.from.stride, self.to.stride);
        assert!(
            self.count == 1 || (from_stride >= run && to_stride >= run),
            "fields do not overlap"
        );
        let ways = match self.count {
            1 => Ways { from_stride: run, to_stride: run, run, count: 1 },
            count => Ways { from_stride, to_stride, run, count }.joined(),
        };
        Some((ways, &from[self.from.offset..], &mut to[self.to.offset..]))
    }
}

/// Swaps the bytes of elements of 1, 2, 4, 8 or 16 bytes in place.
///
/// ```
/// use tachyfits_kernels::{Tier, swap_in_place};
/// let mut bytes = [1, 2, 3, 4];
/// swap_in_place(&mut bytes, 2, Tier::SCALAR);
/// assert_eq!(bytes, [2, 1, 4, 3]);
/// ```
///
/// # Panics
/// If elements have another size.
pub fn swap_in_place(bytes: &mut [u8], size: usize, tier: Tier) {
    match size {
        1 => {}
        2 => u16::swap_there(bytes, tier),
        4 => u32::swap_there(bytes, tier),
        8 => u64::swap_there(bytes, tier),
        _ => {
            assert_eq!(size, 16, "elements that can be swapped");
            u128::swap_there(bytes, tier);
        }
    }
}

impl Ways {
    fn swap<T: Swap>(self, from: &[u8], to: &mut [u8], tier: Tier) {
        let (from, to) = self.cut(from, to);
        if self.run >= LONG_FIELD {
            return self.runs(Swapped::<T>(PhantomData), from, to, tier);
        }
        for at in (0..self.run).step_by(size_of::<T>()) {
            T::swap_each(self, &from[at..], &mut to[at..]);
        }
    }
}

/// Conversion that swaps the bytes of each element.
#[derive(Clone, Copy)]
pub(crate) struct Swapped<T>(pub(crate) PhantomData<T>);

impl<T: Swap> Make for Swapped<T> {
    const BYTES: usize = size_of::<T>();

    #[inline(always)]
    fn make(self, from: &[u8], to: &mut [u8]) {
        T::swap_run(from, to);
    }
}

/// Unsigned integer of the size of an element, used for its bits.
pub(crate) trait Swap: Copy {
    /// Swaps the elements of a run.
    fn swap_run(from: &[u8], to: &mut [u8]);
    /// Swaps the first element of each run.
    fn swap_each(ways: Ways, from: &[u8], to: &mut [u8]);
    /// Swaps elements in place.
    fn swap_there(bytes: &mut [u8], tier: Tier);
}

macro_rules! swap {
    ($($type:ty, $bytes:literal;)+) => {
        $(impl Swap for $type {
            #[inline(always)]
            fn swap_run(from: &[u8], to: &mut [u8]) {
                let ((from, _), (to, _)) = (from.as_chunks::<$bytes>(), to.as_chunks_mut());
                let from = &from[..to.len()];
                for at in 0..to.len() {
                    to[at] = <$type>::from_ne_bytes(from[at]).swap_bytes().to_ne_bytes();
                }
            }

            fn swap_each(ways: Ways, from: &[u8], to: &mut [u8]) {
                let swap = |bytes| <$type>::from_ne_bytes(bytes).swap_bytes().to_ne_bytes();
                ways.each(from, to, swap, Cached);
            }

            fn swap_there(bytes: &mut [u8], tier: Tier) {
                let (elements, _) = bytes.as_chunks_mut::<$bytes>();
                isa::dispatch(tier, SwapThere { elements });
            }
        }

        impl Kernel for SwapThere<'_, $bytes> {
            type Output = ();

            #[inline(always)]
            fn run(self) {
                for element in self.elements {
                    *element = <$type>::from_ne_bytes(*element).swap_bytes().to_ne_bytes();
                }
            }
        })+
    };
}
swap! { u16, 2; u32, 4; u64, 8; u128, 16; }

/// Kernel that swaps elements in place.
struct SwapThere<'a, const BYTES: usize> {
    elements: &'a mut [[u8; BYTES]],
}

/// Returns the address of the code that swaps runs of elements of `bytes` bytes.
#[cfg(target_arch = "x86_64")]
pub(crate) fn swapping(bytes: usize, tier: Tier) -> Option<usize> {
    match bytes {
        2 => isa::address::<Runs<'static, Swapped<u16>>>(tier),
        4 => isa::address::<Runs<'static, Swapped<u32>>>(tier),
        _ => isa::address::<Runs<'static, Swapped<u64>>>(tier),
    }
}
