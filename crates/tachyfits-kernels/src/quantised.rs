//! Floating-point pixels as integers and back: a scale, a zero, and random numbers that are added before rounding and
//! subtracted when pixels are read (FITS Standard 4.0, section 10.2).
//!
//! Every step is rounded as in CFITSIO without fused multiply-add: in f64, and once to f32.

use crate::isa::{self, Kernel, Tier};
use crate::source::ByteOrder;

/// How the pixels of one tile are quantised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiser {
    /// The step between integers.
    pub scale: f64,
    /// The value of the integer 0.
    pub zero: f64,
    /// The integer that means NaN, if there is one.
    pub blank: Option<i32>,
    /// The integer that means exactly 0.0, if there is one. So does the integer below it when pixels are read, unless it is
    /// `blank`: the Standard prints that one.
    pub exact_zero: Option<i32>,
    /// For dithered tiles: the index of the random number, below [`RANDOM_NUMBERS`], that says where the random numbers
    /// of the tile begin.
    pub dither: Option<usize>,
}

/// The integer that means exactly 0.0 in SUBTRACTIVE_DITHER_2.
pub const EXACT_ZERO: i32 = -2_147_483_646;

/// How many random numbers there are. They repeat.
pub const RANDOM_NUMBERS: usize = 10_000;

/// The random numbers of the Standard (appendix I): between 0 and 1.
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

/// The random numbers of the Standard, as many as [`RANDOM_NUMBERS`].
#[must_use]
pub fn random_numbers() -> &'static [f32] {
    &RANDOM
}

/// The pixels of these integers, as f32 whose bytes are in an order.
///
/// # Panics
/// If the slices differ in length, or there is no such random number.
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

/// The pixels of these integers, as f64; see [`dequantise_f32`].
///
/// # Panics
/// If the slices differ in length, or there is no such random number.
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

/// Gives pixels in the machine's byte order, or the other one.
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

/// The random numbers of consecutive pixels, as slices of the table.
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

/// Where the random numbers of a block begin: in the first 500, as another random number says.
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
    /// The random numbers of the first `count` pixels.
    fn first(self, count: usize) -> Self;
    /// An integer without the random number of its pixel.
    fn removed(self, at: usize, integer: f64) -> f64;
    /// A number of steps with the random number of its pixel.
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

/// A floating-point type of pixels.
pub(crate) trait Real: Copy {
    const NAN: Self;
    const ZERO: Self;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
    /// The number with its bytes in reverse.
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

/// An integer that no test finds, for those that do not exist: the other of the two that the test is about.
#[inline(always)]
fn or_never(integer: Option<i32>) -> (i32, bool) {
    (integer.unwrap_or(0), integer.is_some())
}

/// Integers that stand for something else: NaN first, then zero.
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

/// The integers of these pixels, rounded to the nearest, half away from zero; NaN as `blank` and zeros as `exact_zero`,
/// where these are given.
///
/// Pixels must be so near to `zero` that their integers fit 32 bits, else the nearest integer is stored.
///
/// # Panics
/// If the slices differ in length, or there is no such random number.
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

/// The integers of these pixels; see [`quantise_f32`].
///
/// # Panics
/// If the slices differ in length, or there is no such random number.
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

/// `value as i32`, by additions and comparisons: vectors of no processor convert f64 as that does.
#[inline(always)]
fn truncated(value: f64) -> i32 {
    // Numbers near it are whole, and their lowest bits are those of the integer.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let value = if value.is_nan() { 0.0 } else { value };
    let value = if value < f64::from(i32::MIN) { f64::from(i32::MIN) } else { value };
    let value = if value > f64::from(i32::MAX) { f64::from(i32::MAX) } else { value };
    let nearest = (value + SHIFT) - SHIFT;
    let back = if nearest.abs() > value.abs() { 1f64.copysign(value) } else { 0.0 };
    (nearest - back + SHIFT).to_bits() as i32
}

/// The nearest integer, half away from zero, as a C program rounds by adding a half.
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
