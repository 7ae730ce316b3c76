//! Vector tiers: the instruction set for kernels, selected once per process and by name.
//!
//! A kernel is a safe struct whose `run` is one `#[inline(always)]` body. The macro below stamps one copy of a one-line
//! generic function per tier with `#[target_feature]`; the body is inlined into it and compiled for that tier. This is
//! the only file of the crate with `unsafe`: calling a `#[target_feature]` function promises that the CPU has those
//! features, and a [`Tier`] exists only after the CPU reported them. The other uses are prefetch and streaming-store
//! instructions, for which no safe functions exist.

#![cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    expect(
        unsafe_code,
        reason = "calls into functions compiled for a CPU feature set, a prefetch, and stores past the caches"
    )
)]

use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Environment variable that forces a tier by name.
pub const TIER_VARIABLE: &str = "TACHYFITS_TIER";

/// A computation that can be compiled for any tier.
pub trait Kernel {
    /// The result.
    type Output;
    /// The body. Implementations must be `#[inline(always)]`, or the tier would not reach it.
    fn run(self) -> Self::Output;
}

/// An instruction set that the running CPU has. Values exist only for sets that were detected.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tier(Level);

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Level {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    V2,
    #[cfg(target_arch = "x86_64")]
    V3,
    #[cfg(target_arch = "x86_64")]
    V4,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

/// Tier in use, see [`Tier::current`].
static CHOSEN: OnceLock<Tier> = OnceLock::new();

/// Error for a requested tier that does not exist or that this CPU lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownTier {
    /// Requested name.
    pub asked: String,
    /// Names of the tiers that this machine can run.
    pub available: Vec<&'static str>,
}

impl fmt::Display for UnknownTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid {TIER_VARIABLE} {:?}: expected one of: {}",
            self.asked,
            self.available.join(", ")
        )
    }
}

impl std::error::Error for UnknownTier {}

impl Tier {
    /// Baseline tier, which every CPU of the target architecture has. The compiler may still use what the architecture
    /// guarantees (SSE2 on x86-64).
    pub const SCALAR: Tier = Tier(Level::Scalar);

    /// Returns the tiers that this CPU can run, slowest first.
    ///
    /// ```
    /// let names: Vec<_> = tachyfits_kernels::Tier::available().iter().map(|t| t.name()).collect();
    /// assert_eq!(names[0], "scalar");
    /// ```
    pub fn available() -> Vec<Tier> {
        let mut tiers = vec![Tier::SCALAR];
        tiers.extend(detect());
        tiers
    }

    /// Returns the tier in use: the one named by `TACHYFITS_TIER`, otherwise the fastest of this CPU. Selected once. A
    /// name that this machine lacks is ignored; [`Tier::requested`] reports it.
    pub fn current() -> Tier {
        let fastest = || *Tier::available().last().unwrap_or(&Tier::SCALAR);
        *CHOSEN.get_or_init(|| Tier::requested().ok().flatten().unwrap_or_else(fastest))
    }

    /// Selects this tier, whatever `TACHYFITS_TIER` names.
    ///
    /// # Errors
    /// The tier in use, if it was selected before.
    pub fn choose(self) -> Result<(), Tier> {
        CHOSEN.set(self).map_err(|_| Tier::current())
    }

    /// Returns the tier that `TACHYFITS_TIER` names; `None` if the variable is not set.
    ///
    /// # Errors
    /// If this CPU cannot run it, or it does not exist.
    pub fn requested() -> Result<Option<Tier>, UnknownTier> {
        std::env::var_os(TIER_VARIABLE)
            .map(|name| Tier::by_name(&name.to_string_lossy()))
            .transpose()
    }

    /// Returns the tier with this name, if this CPU can run it.
    pub fn by_name(name: &str) -> Result<Tier, UnknownTier> {
        let tiers = Tier::available();
        tiers.iter().copied().find(|tier| tier.name() == name).ok_or_else(|| UnknownTier {
            asked: name.to_owned(),
            available: tiers.iter().map(|tier| tier.name()).collect(),
        })
    }

    /// Whether the tier's vector code multiplies 64-bit numbers and counts their leading zeros with one instruction
    /// each.
    pub(crate) fn counts_in_words(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let counts = self.0 == Level::V4;
        #[cfg(not(target_arch = "x86_64"))]
        let counts = false;
        counts
    }

    /// Whether the tier's vector code shifts each 64-bit lane by its own count.
    pub(crate) fn shifts_lanes(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let shifts = self.0 >= Level::V3;
        #[cfg(not(target_arch = "x86_64"))]
        let shifts = false;
        shifts
    }

    /// Returns the tier's name, as in `TACHYFITS_TIER`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Level::V2 => "x86-64-v2",
            #[cfg(target_arch = "x86_64")]
            Level::V3 => "x86-64-v3",
            #[cfg(target_arch = "x86_64")]
            Level::V4 => "x86-64-v4",
            #[cfg(target_arch = "aarch64")]
            Level::Neon => "neon",
        }
    }
}

impl fmt::Debug for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Prefetch distance of sequential loops: a page, because the processor's own prefetching stops at page ends.
pub(crate) const PAGE_AHEAD: usize = 4096;

/// Bytes of a cache line.
const CACHE_LINE: usize = 64;

/// Prefetches the bytes `ahead` bytes after `chunk` into the first-level cache, for loops with
/// little work per byte. It never changes a result.
#[inline(always)]
pub(crate) fn prefetch(chunk: &[u8], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..chunk.len()).step_by(CACHE_LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = chunk.as_ptr().wrapping_add(ahead + line);
        // SAFETY: a prefetch is a hint. It returns nothing and by definition does not fault, so the
        // address may be any. Every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (chunk, ahead);
}

/// Prefetches all bytes of a slice. It never changes a result.
#[inline]
pub fn prefetch_all(bytes: &[u8]) {
    bytes.chunks(CACHE_LINE).for_each(|line| prefetch(&line[..1], 0));
    // The last line, if the bytes do not begin at a line.
    if let Some(last) = bytes.last_chunk::<1>() {
        prefetch(last, 0);
    }
}

/// Size of results, in bytes, above which no cache holds them when they are read: the largest shared caches have 32 MiB
/// or slightly more.
pub const CACHES_BYTES: usize = 64 << 20;

/// Kind of store for a kernel's results.
pub(crate) trait Stores: Copy {
    /// Stores an element.
    fn put<const BYTES: usize>(self, to: &mut [u8; BYTES], bytes: [u8; BYTES]);
}

/// Ordinary stores: a cache line is loaded before it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cached;

impl Stores for Cached {
    #[inline(always)]
    fn put<const BYTES: usize>(self, to: &mut [u8; BYTES], bytes: [u8; BYTES]) {
        *to = bytes;
    }
}

/// Stores past the caches, for results larger than any cache. Lines that are written whole need not
/// be loaded first. Values of 4, 8 and 16 bytes are stored this way (16 only at a multiple of 16);
/// all others use ordinary stores, because no such instruction exists.
///
/// [`streaming`] passes it to its closure, which cannot keep it.
#[derive(Clone, Copy, Debug)]
pub struct Streaming<'a>(PhantomData<*const &'a ()>);

impl Stores for Streaming<'_> {
    #[inline(always)]
    fn put<const BYTES: usize>(self, to: &mut [u8; BYTES], bytes: [u8; BYTES]) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{
                _mm_loadu_si128, _mm_stream_si32, _mm_stream_si64, _mm_stream_si128,
            };
            let place = to.as_mut_ptr();
            if let Some(&bytes) = bytes.first_chunk().filter(|_| BYTES == 8) {
                // SAFETY: the 8 bytes at `place` are borrowed for writing, and MOVNTI, which every x86-64 processor
                // has, takes any address. This thread sees its own stores in order. No other thread sees the memory
                // before `streaming` has waited for the stores: only that function creates values of this type, and
                // only for this thread.
                unsafe { _mm_stream_si64(place.cast(), i64::from_ne_bytes(bytes)) };
                return;
            }
            if let Some(&bytes) = bytes.first_chunk().filter(|_| BYTES == 4) {
                // SAFETY: as above, for 4 bytes.
                unsafe { _mm_stream_si32(place.cast(), i32::from_ne_bytes(bytes)) };
                return;
            }
            if BYTES == 16 && place.addr().is_multiple_of(16) {
                // SAFETY: the 16 bytes exist, and every x86-64 processor loads them from any address.
                let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
                // SAFETY: as above, for 16 bytes and MOVNTDQ, whose alignment was checked.
                unsafe { _mm_stream_si128(place.cast(), bytes) };
                return;
            }
        }
        *to = bytes;
    }
}

/// Runs a closure that may store past the caches, and waits until other threads would see its stores. The closure
/// itself must not publish the memory to other threads.
///
/// ```
/// use tachyfits_kernels::{Fields, PixelType, Tier, stream_fields, streaming};
/// let fields = Fields { offset: 0, stride: 4, elements: 1 };
/// let mut out = [0; 4];
/// streaming(|stores| stream_fields(&[0, 0, 1, 2], fields, PixelType::I32, Tier::SCALAR, &mut out, stores));
/// assert_eq!(out, 258i32.to_ne_bytes());
/// ```
pub fn streaming<R>(work: impl for<'a> FnOnce(Streaming<'a>) -> R) -> R {
    struct Wait;
    impl Drop for Wait {
        fn drop(&mut self) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: every x86-64 processor has the instruction, which only waits.
            unsafe {
                std::arch::x86_64::_mm_sfence();
            }
        }
    }
    // Waits even if the closure panics.
    let _wait = Wait;
    work(Streaming(PhantomData))
}

/// Runs a kernel compiled for `tier`.
#[inline]
pub fn dispatch<K: Kernel>(tier: Tier, kernel: K) -> K::Output {
    match tier.0 {
        Level::Scalar => kernel.run(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: only `detect` creates `Level::V2`, after the CPU reported these features.
        Level::V2 => unsafe { stamped::v2(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above, for `Level::V3`.
        Level::V3 => unsafe { stamped::v3(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above, for `Level::V4`.
        Level::V4 => unsafe { stamped::v4(kernel) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above, for `Level::Neon`.
        Level::Neon => unsafe { stamped::neon(kernel) },
    }
}

/// Returns the address of a kernel's code for `tier`; `None` for the scalar tier, which has no function of its own.
#[cfg(target_arch = "x86_64")]
pub(crate) fn address<K: Kernel>(tier: Tier) -> Option<usize> {
    let function: unsafe fn(K) -> K::Output = match tier.0 {
        Level::Scalar => return None,
        Level::V2 => stamped::v2,
        Level::V3 => stamped::v3,
        Level::V4 => stamped::v4,
    };
    Some(function as usize)
}

/// Defines the stamped functions and the detection: one line per tier with its name here, its level and its features.
macro_rules! tiers {
    ($arch:literal, $detected:ident, $($function:ident $level:ident [$($feature:tt),+])+) => {
        #[cfg(target_arch = $arch)]
        mod stamped {
            use super::Kernel;
            $(
                #[target_feature($(enable = $feature),+)]
                pub(super) fn $function<K: Kernel>(kernel: K) -> K::Output {
                    kernel.run()
                }
            )+
        }

        #[cfg(target_arch = $arch)]
        fn detect() -> Vec<Tier> {
            let mut tiers = Vec::new();
            $(
                if true $(&& std::arch::$detected!($feature))+ {
                    tiers.push(Tier(Level::$level));
                }
            )+
            tiers
        }
    };
}

tiers! { "x86_64", is_x86_feature_detected,
    v2 V2 ["sse3", "ssse3", "sse4.1", "sse4.2", "popcnt"]
    v3 V3 ["sse4.2", "popcnt", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe"]
    v4 V4 ["sse4.2", "popcnt", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe",
           "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]
}

tiers! { "aarch64", is_aarch64_feature_detected, neon Neon ["neon"] }

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detect() -> Vec<Tier> {
    Vec::new()
}
