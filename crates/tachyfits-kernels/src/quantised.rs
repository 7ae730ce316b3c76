//! Quantisation of floating-point pixels: a scale, a zero, and random numbers that are added before rounding and
//! subtracted when pixels are read (FITS Standard 4.0, section 10.2).
//!
//! Every step rounds as CFITSIO does without fused multiply-add: in f64, and once to f32.

use crate::isa::{self, Kernel, Tier};
use crate::source::ByteOrder;

/// Quantisation of the pixels of one tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiser {
    /// Step between integers.
    pub scale: f64,
    /// Value of the integer 0.
    pub zero: f64,
    /// Integer that means NaN, if there is one.
    pub blank: Option<i32>,
    /// Integer that means exactly 0.0, if there is one. On reading, the integer below it means 0.0 as well, unless it
    /// is `blank`: the Standard prints that number.
    pub exact_zero: Option<i32>,
    /// Index of the random number at which the tile starts, below [`RANDOM_NUMBERS`]; `None` for tiles without dither.
    pub dither: Option<usize>,
}

/// Integer that means exactly 0.0 in SUBTRACTIVE_DITHER_2.
pub const EXACT_ZERO: i32 = -2_147_483_646;

/// Length of the table of random numbers, which repeats.
pub const RANDOM_NUMBERS: usize = 10_000;

/// Random numbers of the Standard (appendix I), between 0 and 1.
static RANDOM: [f32; RANDOM_NUMBERS] = {
    const MULTIPLIER: u64 = 16_807;
    const MODULUS: u64 = 2_147_483_647;
    let mut numbers = [0.0; RANDOM_NUMBERS];
    let (mut seed, mut at) = (1, 0);
    while at < RANDOM_NUMBERS {
        seed = seed * MULTIPLIER % MODULUS;
        numbers[at] = (seed as f64 / MODULUS as f64) as f32;
        at += 1;
    }
    assert!(seed == 1_043_618_065);
    numbers
};

/// Returns the [`RANDOM_NUMBERS`] random numbers of the Standard.
#[must_use]
pub fn random_numbers() -> &'static [f32] {
    &RANDOM
}

/// Decodes integers to f32 pixels in the byte order `order`.
///
/// # Panics
/// If the slices differ in length, or `dither` is outside the table.
///
/// ```
/// use tachyfits_kernels::{ByteOrder, Quantiser, Tier, dequantise_f32};
/// let plain = Quantiser { scale: 0.5, zero: 10.0, blank: Some(-1), exact_zero: None, dither: None };
/// let mut out = [0.0; 3];
/// dequantise_f32(&[1, -1, 4], &plain, ByteOrder::Native, Tier::SCALAR, &mut out);
/// assert!(out[0] == 10.5 && out[1].is_nan() && out[2] == 12.0);
/// ```
pub fn dequantise_f32(
    integers: &[i32],
    how: &Quantiser,
    order: ByteOrder,
    tier: Tier,
    out: &mut [f32],
) {
    dequantise(integers, how, order, tier, out);
}

/// Decodes integers to f64 pixels; see [`dequantise_f32`].
///
/// # Panics
/// If the slices differ in length, or `dither` is outside the table.
pub fn dequantise_f64(
    integers: &[i32],
    how: &Quantiser,
    order: ByteOrder,
    tier: Tier,
    out: &mut [f64],
) {
    dequantise(integers, how, order, tier, out);
}

fn dequantise<F: Real>(
    integers: &[i32],
    how: &Quantiser,
    order: ByteOrder,
    tier: Tier,
    out: &mut [F],
) {
    assert_eq!(integers.len(), out.len());
    match order.is_native() {
        true => dequantise_turned::<F, false>(integers, how, tier, out),
        false => dequantise_turned::<F, true>(integers, how, tier, out),
    }
}

/// Decodes to pixels in the machine's byte order, or the opposite one.
fn dequantise_turned<F: Real, const TURNED: bool>(
    integers: &[i32],
    how: &Quantiser,
    tier: Tier,
    out: &mut [F],
) {
    let Some(block) = how.dither else {
        let random = NoRandom;
        return isa::dispatch(tier, Dequantise::<_, _, TURNED> { integers, random, how, out });
    };
    let mut at = 0;
    for random in RandomRuns::new(block, integers.len()) {
        let end = at + random.len();
        let (integers, out) = (&integers[at..end], &mut out[at..end]);
        isa::dispatch(tier, Dequantise::<_, _, TURNED> { integers, random, how, out });
        at = end;
    }
}

/// Random numbers of consecutive pixels, as slices of the table.
struct RandomRuns {
    block: usize,
    next: usize,
    left: usize,
}

impl RandomRuns {
    fn new(block: usize, pixels: usize) -> RandomRuns {
        RandomRuns { block, next: first_of(block), left: pixels }
    }
}

/// Returns the start of a block's random numbers: one of the first 500, selected by another random number.
fn first_of(block: usize) -> usize {
    (f64::from(RANDOM[block]) * 500.0) as usize
}

impl Iterator for RandomRuns {
    type Item = &'static [f32];

    fn next(&mut self) -> Option<&'static [f32]> {
        if self.left == 0 {
            return None;
        }
        let count = self.left.min(RANDOM_NUMBERS - self.next);
        let run = &RANDOM[self.next..self.next + count];
        self.left -= count;
        self.block = (self.block + 1) % RANDOM_NUMBERS;
        self.next = first_of(self.block);
        Some(run)
    }
}

/// Random numbers of pixels, or none.
pub(crate) trait Random: Copy {
    /// Returns the random numbers of the first `count` pixels.
    fn first(self, count: usize) -> Self;
    /// Subtracts the random number of a pixel from its integer.
    fn removed(self, at: usize, integer: f64) -> f64;
    /// Adds the random number of a pixel to a number of steps.
    fn added(self, at: usize, steps: f64) -> f64;
}

impl Random for &[f32] {
    #[inline(always)]
    fn first(self, count: usize) -> Self {
        &self[..count]
    }

    #[inline(always)]
    fn removed(self, at: usize, integer: f64) -> f64 {
        integer - f64::from(self[at]) + 0.5
    }

    #[inline(always)]
    fn added(self, at: usize, steps: f64) -> f64 {
        steps + f64::from(self[at]) - 0.5
    }
}

/// Pixels without dither.
#[derive(Clone, Copy)]
pub(crate) struct NoRandom;

impl Random for NoRandom {
    #[inline(always)]
    fn first(self, _count: usize) -> Self {
        self
    }

    #[inline(always)]
    fn removed(self, _at: usize, integer: f64) -> f64 {
        integer
    }

    #[inline(always)]
    fn added(self, _at: usize, steps: f64) -> f64 {
        steps
    }
}

/// Floating-point pixel type.
pub(crate) trait Real: Copy {
    const NAN: Self;
    const ZERO: Self;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
    /// Returns the number with its bytes reversed.
    fn turned(self) -> Self;
}

macro_rules! reals {
    ($($real:ty)+) => {$(
        impl Real for $real {
            const NAN: Self = <$real>::NAN;
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $real
            }

            #[inline(always)]
            fn wide(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn turned(self) -> Self {
                <$real>::from_bits(self.to_bits().swap_bytes())
            }
        }
    )+};
}
reals! { f32 f64 }

/// Returns an integer and whether it is in use; an unused one is 0.
#[inline(always)]
fn or_never(integer: Option<i32>) -> (i32, bool) {
    (integer.unwrap_or(0), integer.is_some())
}

/// Returns a function that replaces reserved integers: NaN first, then zero.
#[inline(always)]
fn reserved<F: Real>(how: &Quantiser) -> impl Fn(i32, F) -> F + use<F> {
    let ((blank, has_blank), (zero, has_zero)) = (or_never(how.blank), or_never(how.exact_zero));
    let below = zero.wrapping_sub(1);
    move |integer, value| {
        let is_zero = (integer == zero) | (integer == below);
        let value = if is_zero & has_zero { F::ZERO } else { value };
        if (integer == blank) & has_blank { F::NAN } else { value }
    }
}

pub(crate) struct Dequantise<'a, F, R, const TURNED: bool> {
    integers: &'a [i32],
    random: R,
    how: &'a Quantiser,
    out: &'a mut [F],
}

impl<F: Real, R: Random, const TURNED: bool> Kernel for Dequantise<'_, F, R, TURNED> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Quantiser { scale, zero, .. } = *self.how;
        let reserved = reserved::<F>(self.how);
        let out = self.out;
        let (integers, random) = (&self.integers[..out.len()], self.random.first(out.len()));
        for at in 0..out.len() {
            let integer = integers[at];
            let value = random.removed(at, integer.into()) * scale + zero;
            let pixel = reserved(integer, F::of(value));
            out[at] = if TURNED { pixel.turned() } else { pixel };
        }
    }
}

/// Quantises pixels to integers, rounded to nearest, half away from zero. NaN becomes `blank` and zeros `exact_zero`,
/// if these are set.
///
/// Integers that exceed 32 bits are clipped.
///
/// # Panics
/// If the slices differ in length, or `dither` is outside the table.
///
/// ```
/// use tachyfits_kernels::{Quantiser, Tier, quantise_f32};
/// let plain = Quantiser { scale: 0.5, zero: 10.0, blank: Some(-1), exact_zero: None, dither: None };
/// let mut out = [0; 3];
/// quantise_f32(&[10.3, f32::NAN, 9.25], &plain, Tier::SCALAR, &mut out);
/// assert_eq!(out, [1, -1, -2]);
/// ```
pub fn quantise_f32(pixels: &[f32], how: &Quantiser, tier: Tier, out: &mut [i32]) {
    quantise(pixels, how, tier, out);
}

/// Quantises f64 pixels; see [`quantise_f32`].
///
/// # Panics
/// If the slices differ in length, or `dither` is outside the table.
pub fn quantise_f64(pixels: &[f64], how: &Quantiser, tier: Tier, out: &mut [i32]) {
    quantise(pixels, how, tier, out);
}

fn quantise<F: Real>(pixels: &[F], how: &Quantiser, tier: Tier, out: &mut [i32]) {
    assert_eq!(pixels.len(), out.len());
    let Some(block) = how.dither else {
        return isa::dispatch(tier, Quantise { pixels, random: NoRandom, how, out });
    };
    let mut at = 0;
    for random in RandomRuns::new(block, pixels.len()) {
        let end = at + random.len();
        let (pixels, out) = (&pixels[at..end], &mut out[at..end]);
        isa::dispatch(tier, Quantise { pixels, random, how, out });
        at = end;
    }
}

/// Computes `value as i32` by additions and comparisons: no processor has a vector instruction with these semantics.
#[inline(always)]
fn truncated(value: f64) -> i32 {
    // Numbers near SHIFT are whole, and their lowest bits are those of the integer.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let value = if value.is_nan() { 0.0 } else { value };
    let value = if value < f64::from(i32::MIN) { f64::from(i32::MIN) } else { value };
    let value = if value > f64::from(i32::MAX) { f64::from(i32::MAX) } else { value };
    let nearest = (value + SHIFT) - SHIFT;
    let back = if nearest.abs() > value.abs() { 1f64.copysign(value) } else { 0.0 };
    (nearest - back + SHIFT).to_bits() as i32
}

/// Returns the nearest integer, half away from zero, as a C program rounds by adding a half.
#[inline(always)]
fn rounded(value: f64, pixel: f64, how: &Quantiser) -> i32 {
    let integer = truncated(value + 0.5f64.copysign(value));
    let integer = match how.exact_zero {
        Some(zero) if pixel == 0.0 => zero,
        _ => integer,
    };
    match how.blank {
        Some(blank) if pixel.is_nan() => blank,
        _ => integer,
    }
}

pub(crate) struct Quantise<'a, F, R> {
    pixels: &'a [F],
    random: R,
    how: &'a Quantiser,
    out: &'a mut [i32],
}

impl<F: Real, R: Random> Kernel for Quantise<'_, F, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let how = *self.how;
        let out = self.out;
        let (pixels, random) = (&self.pixels[..out.len()], self.random.first(out.len()));
        for at in 0..out.len() {
            let pixel = pixels[at].wide();
            let steps = random.added(at, (pixel - how.zero) / how.scale);
            out[at] = rounded(steps, pixel, &how);
        }
    }
}
