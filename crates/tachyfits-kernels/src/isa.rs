//! Vector tiers: which instruction sets a kernel may use, chosen once and by name.
//!
//! A kernel is a safe struct whose `run` is one `#[inline(always)]` body. The macro below stamps one copy of a
//! one-line generic function per tier with `#[target_feature]`; the body is inlined into it and compiled for that tier.
//! This is the only file of the crate with `unsafe`: calling a `#[target_feature]` function promises that the CPU has
//! those features, and a [`Tier`] can only be had by asking the CPU. The other uses are the instructions that ask for
//! memory ahead, and that store past the caches, which no safe function gives.

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

/// The tier in use, see [`Tier::current`].
static CHOSEN: OnceLock<Tier> = OnceLock::new();

/// The asked-for tier does not exist or this CPU lacks it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownTier {
    /// The requested name.
    pub asked: String,
    /// Names that this machine can run.
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
    /// The tier that every CPU of the target architecture has. The compiler may still use what the architecture
    /// guarantees (SSE2 on x86-64).
    pub const SCALAR: Tier = Tier(Level::Scalar);

    /// Every tier that this CPU can run, slowest first.
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

    /// The tier in use: the one named by `TACHYFITS_TIER`, or else the fastest that the CPU has. Chosen once. A name that
    /// this machine lacks is ignored; [`Tier::requested`] reports it.
    pub fn current() -> Tier {
        let fastest = || *Tier::available().last().unwrap_or(&Tier::SCALAR);
        *CHOSEN.get_or_init(|| Tier::requested().ok().flatten().unwrap_or_else(fastest))
    }

    /// Makes this the tier in use, whatever `TACHYFITS_TIER` names.
    ///
    /// # Errors
    /// The tier in use, if one was chosen before.
    pub fn choose(self) -> Result<(), Tier> {
        CHOSEN.set(self).map_err(|_| Tier::current())
    }

    /// The tier that `TACHYFITS_TIER` names; `None` if the variable is not set.
    ///
    /// # Errors
    /// If this CPU cannot run it, or it does not exist.
    pub fn requested() -> Result<Option<Tier>, UnknownTier> {
        std::env::var_os(TIER_VARIABLE)
            .map(|name| Tier::by_name(&name.to_string_lossy()))
            .transpose()
    }

    /// The tier of that name, if this CPU can run it.
    pub fn by_name(name: &str) -> Result<Tier, UnknownTier> {
        let tiers = Tier::available();
        tiers.iter().copied().find(|tier| tier.name() == name).ok_or_else(|| UnknownTier {
            asked: name.to_owned(),
            available: tiers.iter().map(|tier| tier.name()).collect(),
        })
    }

    /// Whether its vectors multiply numbers of 64 bits and count the zeros that they begin with, each in one instruction.
    pub(crate) fn counts_in_words(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let counts = self.0 == Level::V4;
        #[cfg(not(target_arch = "x86_64"))]
        let counts = false;
        counts
    }

    /// Whether its vectors shift each of several words of 64 bits by a number of its own.
    pub(crate) fn shifts_lanes(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let shifts = self.0 >= Level::V3;
        #[cfg(not(target_arch = "x86_64"))]
        let shifts = false;
        shifts
    }

    /// Its name, as `TACHYFITS_TIER` takes it.
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

/// How far ahead loops through memory from beginning to end have it fetched: a page, at whose end the processor's own
/// prefetching stops.
pub(crate) const PAGE_AHEAD: usize = 4096;

/// Bytes of a line of the caches.
const CACHE_LINE: usize = 64;

/// Prefetches the bytes `ahead` bytes after `chunk` into the first-level cache, for loops with
/// little work per byte. It never changes a result.
#[inline(always)]
pub(crate) fn prefetch(chunk: &[u8], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..chunk.len()).step_by(CACHE_LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let there = chunk.as_ptr().wrapping_add(ahead + line);
        // SAFETY: a prefetch is a hint. It returns nothing and by definition does not fault, so the
        // address may be any. Every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(there.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (chunk, ahead);
}

/// Prefetches all of some bytes. It never changes a result.
#[inline]
pub fn prefetch_all(bytes: &[u8]) {
    bytes.chunks(CACHE_LINE).for_each(|line| prefetch(&line[..1], 0));
    // The last line, where the bytes do not begin with a line.
    if let Some(last) = bytes.last_chunk::<1>() {
        prefetch(last, 0);
    }
}

/// Results of more bytes than this are in no cache when somebody wants them: the largest that cores share have 32 MiB or a
/// little more.
pub const CACHES_BYTES: usize = 64 << 20;

/// How a kernel stores what it makes.
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
/// It is given to the work of [`streaming`], and stays there.
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
                // SAFETY: the 8 bytes at `place` are borrowed for writing, and MOVNTI, which every x86-64 processor has,
                // takes any address. This thread sees its own stores in their order; no other one sees the memory before
                // `streaming`, which alone gives values of this type, and only to this thread, has waited for the stores.
                unsafe { _mm_stream_si64(place.cast(), i64::from_ne_bytes(bytes)) };
                return;
            }
            if let Some(&bytes) = bytes.first_chunk().filter(|_| BYTES == 4) {
                // SAFETY: as above, for 4 bytes.
                unsafe { _mm_stream_si32(place.cast(), i32::from_ne_bytes(bytes)) };
                return;
            }
            if BYTES == 16 && place.addr().is_multiple_of(16) {
                // SAFETY: the 16 bytes are there, and every x86-64 processor loads them from any address.
                let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
                // SAFETY: as above, for 16 bytes and MOVNTDQ, which wants them where they are.
                unsafe { _mm_stream_si128(place.cast(), bytes) };
                return;
            }
        }
        *to = bytes;
    }
}

/// Does work that may store past the caches, and waits until other threads would see all of it: the work itself tells none of
/// them where to look.
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
            // SAFETY: every x86-64 processor has the instruction, which does nothing but wait.
            unsafe {
                std::arch::x86_64::_mm_sfence();
            }
        }
    }
    // However the work ends.
    let _wait = Wait;
    work(Streaming(PhantomData))
}

/// Runs a kernel compiled for `tier`.
#[inline]
pub fn dispatch<K: Kernel>(tier: Tier, kernel: K) -> K::Output {
    match tier.0 {
        Level::Scalar => kernel.run(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::V2` is only made by `detect`, after the CPU said that it has these features.
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

/// Where the code of a kernel for `tier` begins; `None` for the scalar tier, which has no function of its own.
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

/// One line per tier: its name here, its level, its features. Makes the stamped functions and the detection.
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
            let mut found = Vec::new();
            $(
                if true $(&& std::arch::$detected!($feature))+ {
                    found.push(Tier(Level::$level));
                }
            )+
            found
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
