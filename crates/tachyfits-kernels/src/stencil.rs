//! Weighted sums of rows: the core of smoothing along any axis.
//!
//! Each output is the sum of its pixels in the rows, one per row, times the weights. Along z or y the rows come from
//! neighbouring planes or lines; along x they are copies of one line, each shifted by one pixel. The rows are native
//! numbers, NaN where undefined; a policy determines how a sum treats undefined pixels.
//!
//! Outputs are first summed as if every pixel were defined. An undefined pixel makes its sum NaN, so the kernel checks
//! sixteen sums at a time. If one is NaN, it sums all sixteen again by the policy, and keeps the earlier sums that are
//! not NaN.

#![expect(
    clippy::needless_range_loop,
    reason = "indexed loops become vector code on every tier; some iterators of std are not inlined across codegen units"
)]

use crate::LANES;
use crate::isa::{self, Kernel, Tier};

/// Policy of a weighted sum for undefined pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blanks {
    /// Skips undefined pixels, and multiplies the sum by (sum of all weights) / (sum of the weights of the defined
    /// pixels). Undefined if no pixel is defined, or if the weights of the defined pixels add up to 0.
    Renormalise,
    /// An undefined pixel makes the sum undefined.
    Propagate,
    /// Undefined pixels count as 0.
    Zero,
}

/// Operation on the rows.
#[derive(Clone, Copy, Debug)]
pub struct Stencil<'a> {
    /// Weight of each row; an odd number of weights, unless undefined pixels are filled.
    pub weights: &'a [f64],
    /// Policy for undefined pixels.
    pub blanks: Blanks,
    /// Whether to compute outputs whose own pixel, in the middle row, is undefined. Otherwise they stay undefined.
    pub fill: bool,
}

/// Sums rows of f32: `out[i]` is the sum of `weights[j] * rows[j][i]` over j, in f64, in the order of j, rounded once.
///
/// Rows may be longer than `out`, and may overlap.
///
/// ```
/// use tachyfits_kernels::{Blanks, Stencil, Tier, smooth_rows_f32};
/// let hanning = Stencil { weights: &[0.25, 0.5, 0.25], blanks: Blanks::Renormalise, fill: false };
/// let line = [1.0, 3.0, 1.0, f32::NAN];
/// let mut out = [0.0; 2];
/// smooth_rows_f32(&[&line, &line[1..], &line[2..]], &hanning, Tier::SCALAR, &mut out);
/// assert_eq!(out, [2.0, (0.5 + 0.75) / 0.75]);
/// ```
///
/// # Panics
/// If the numbers of rows and weights differ, if the number is even although undefined pixels are not filled,
/// or if a row is shorter than `out`.
pub fn smooth_rows_f32(rows: &[&[f32]], stencil: &Stencil<'_>, tier: Tier, out: &mut [f32]) {
    smooth_rows(rows, stencil, tier, out);
}

/// Sums rows of f64, as [`smooth_rows_f32`] does.
pub fn smooth_rows_f64(rows: &[&[f64]], stencil: &Stencil<'_>, tier: Tier, out: &mut [f64]) {
    smooth_rows(rows, stencil, tier, out);
}

/// Sums rows of big-endian f32, as stored in a FITS file, to big-endian f32: the same as
/// [`smooth_rows_f32`] without native copies.
///
/// ```
/// use tachyfits_kernels::{Blanks, Stencil, Tier, smooth_rows_big_endian_f32};
/// let mean = Stencil { weights: &[0.5, 0.0, 0.5], blanks: Blanks::Propagate, fill: true };
/// let [one, two, four] = [1.0f32, 2.0, 4.0].map(|x| [x.to_be_bytes()]);
/// let mut out = [[0; 4]];
/// smooth_rows_big_endian_f32(&[&one, &two, &four], &mean, Tier::SCALAR, &mut out);
/// assert_eq!(f32::from_be_bytes(out[0]), 2.5);
/// ```
///
/// # Panics
/// As [`smooth_rows_f32`].
pub fn smooth_rows_big_endian_f32(
    rows: &[&[[u8; 4]]],
    stencil: &Stencil<'_>,
    tier: Tier,
    out: &mut [[u8; 4]],
) {
    smooth_rows(rows, stencil, tier, out);
}

/// Positions of blocks of [`BLOCK`] neighbouring numbers.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// The number of blocks.
    pub count: usize,
    /// Distance between the first pixels of successive blocks.
    pub pitch: usize,
    /// Distance between the pixels of successive weights: 1 along a line.
    pub step: usize,
    /// Distance between the first outputs of successive blocks.
    pub out_pitch: usize,
}

/// Sums blocks of f64 as [`smooth_rows_f64`] does rows: `out[b * out_pitch + i]` is the sum of
/// `weights[j] * pixels[b * pitch + j * step + i]`, for i below
/// [`BLOCK`]. Returns whether a sum was NaN and needed the policy for blanks; otherwise no pixel is
/// NaN.
///
/// ```
/// use tachyfits_kernels::{BLOCK, Blanks, Blocks, Stencil, Tier, smooth_blocks_f64};
/// let hanning = Stencil { weights: &[0.25, 0.5, 0.25], blanks: Blanks::Zero, fill: true };
/// let line: Vec<f64> = (0..BLOCK + 2).map(|at| at as f64).collect();
/// let mut out = [0.0; BLOCK];
/// let one = Blocks { count: 1, pitch: BLOCK, step: 1, out_pitch: BLOCK };
/// assert!(!smooth_blocks_f64(&line, one, &hanning, Tier::SCALAR, &mut out));
/// assert_eq!(out[..], line[1..=BLOCK]);
/// ```
///
/// # Panics
/// Unless there is an odd number of weights, and `pixels` and `out` hold all blocks.
pub fn smooth_blocks_f64(
    pixels: &[f64],
    blocks: Blocks,
    stencil: &Stencil<'_>,
    tier: Tier,
    out: &mut [f64],
) -> bool {
    assert!(
        stencil.weights.len() % 2 == 1,
        "an odd number of weights, so that one is in the middle"
    );
    let total = total(stencil.weights);
    isa::dispatch(tier, BlockRows { pixels, blocks, stencil, total, out })
}

fn smooth_rows<T: Number>(rows: &[&[T]], stencil: &Stencil<'_>, tier: Tier, out: &mut [T]) {
    assert_eq!(rows.len(), stencil.weights.len(), "a weight for each row");
    assert!(
        stencil.fill || rows.len() % 2 == 1,
        "an odd number of rows, so that one is in the middle"
    );
    let total = total(stencil.weights);
    let task = Task { rows, stencil, total, out };
    if task.out.len() < LANES {
        isa::dispatch(tier, FewOutputs(task));
        return;
    }
    match rows.len() {
        3 => isa::dispatch(tier, FewRows::<T, 3>(task)),
        5 => isa::dispatch(tier, FewRows::<T, 5>(task)),
        _ => isa::dispatch(tier, ManyRows(task)),
    }
}

/// Adds weights in order.
fn total(weights: &[f64]) -> f64 {
    weights.iter().fold(START, |total, weight| total + weight)
}

/// Pixel type, NaN where undefined: native numbers, or big-endian bytes of f32, swapped in a register.
pub(crate) trait Number: Copy {
    fn to_f64(self) -> f64;
    fn from_f64(x: f64) -> Self;
}

impl Number for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
}

impl Number for f64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }
}

impl Number for [u8; 4] {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f32::from_be_bytes(self).into()
    }
    #[inline(always)]
    fn from_f64(x: f64) -> [u8; 4] {
        (x as f32).to_be_bytes()
    }
}

/// Input and output of a kernel.
pub(crate) struct Task<'a, T> {
    rows: &'a [&'a [T]],
    stencil: &'a Stencil<'a>,
    /// Sum of all weights.
    total: f64,
    out: &'a mut [T],
}

/// Kernel for a number of rows known at compile time: rows and weights stay in registers, for sixteen outputs at a
/// time. Needs at least sixteen outputs.
pub(crate) struct FewRows<'a, T, const N: usize>(Task<'a, T>);

impl<T: Number, const N: usize> Kernel for FewRows<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Task { rows, stencil, total, out } = self.0;
        let near: [&[T]; N] = std::array::from_fn(|row| &rows[row][..out.len()]);
        let weights: [f64; N] = std::array::from_fn(|row| stencil.weights[row]);
        for at in starts(out.len()) {
            let pixels = near.map(|row| &row[at..at + LANES]);
            let mut sum = [START; LANES];
            for lane in 0..LANES {
                let mut output = START;
                for row in 0..N {
                    output += weights[row] * pixels[row][lane].to_f64();
                }
                sum[lane] = output;
            }
            if any_nan(&sum) {
                careful_sum(&mut sum, stencil, total, |row| load(rows[row], at));
            }
            store(&sum, &mut out[at..at + LANES]);
        }
    }
}

/// Outputs whose sums stay in registers over all rows: eight vectors of four numbers, or four of eight. With only
/// sixteen outputs, each addition would wait for the one before.
pub const BLOCK: usize = 2 * LANES;

/// Kernel for blocks of outputs, one block after another.
pub(crate) struct BlockRows<'a> {
    pixels: &'a [f64],
    blocks: Blocks,
    stencil: &'a Stencil<'a>,
    total: f64,
    out: &'a mut [f64],
}

impl Kernel for BlockRows<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let BlockRows { pixels, blocks, stencil, total, out } = self;
        let mut any = false;
        for block in 0..blocks.count {
            let pixels = &pixels[block * blocks.pitch..];
            let out = &mut out[block * blocks.out_pitch..][..BLOCK];
            let near = |row: usize| &pixels[row * blocks.step..][..BLOCK];
            any |= smooth_block(stencil, total, near, out);
        }
        any
    }
}

/// Kernel for any number of rows, one block of outputs after another. Needs at least sixteen outputs.
pub(crate) struct ManyRows<'a, T>(Task<'a, T>);

impl<T: Number> Kernel for ManyRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Task { rows, stencil, total, out } = self.0;
        let mut at = 0;
        while at + BLOCK <= out.len() {
            let near = |row: usize| &rows[row][at..at + BLOCK];
            smooth_block(stencil, total, near, &mut out[at..at + BLOCK]);
            at += BLOCK;
        }
        // The last sixteen outputs may overlap outputs that are already computed.
        while at < out.len() {
            let begin = at.min(out.len() - LANES);
            let near = |row: usize| &rows[row][begin..begin + LANES];
            let mut sum = sum_rows::<T, LANES>(stencil.weights, near);
            if any_nan(&sum) {
                careful_sum(&mut sum, stencil, total, |row| load(rows[row], begin));
            }
            store(&sum, &mut out[begin..begin + LANES]);
            at = begin + LANES;
        }
    }
}

/// Smooths a block; returns whether a sum was NaN. `near` returns the block's pixels in a row.
#[inline(always)]
fn smooth_block<'a, T: Number + 'a>(
    stencil: &Stencil<'_>,
    total: f64,
    near: impl Fn(usize) -> &'a [T],
    out: &mut [T],
) -> bool {
    let mut any = false;
    let sums = sum_rows::<T, BLOCK>(stencil.weights, &near);
    for start in (0..BLOCK).step_by(LANES) {
        let mut sum = [START; LANES];
        sum.copy_from_slice(&sums[start..start + LANES]);
        if any_nan(&sum) {
            any = true;
            careful_sum(&mut sum, stencil, total, |row| load(near(row), start));
        }
        store(&sum, &mut out[start..start + LANES]);
    }
    any
}

/// Sums `N` outputs as if every pixel were defined. `near` returns their pixels in a row.
#[inline(always)]
fn sum_rows<'a, T: Number + 'a, const N: usize>(
    weights: &[f64],
    near: impl Fn(usize) -> &'a [T],
) -> [f64; N] {
    let mut sum = [START; N];
    let (fours, last) = weights.as_chunks::<4>();
    for four in 0..fours.len() {
        let first = 4 * four;
        let pixels = [near(first), near(first + 1), near(first + 2), near(first + 3)];
        let pixels = [&pixels[0][..N], &pixels[1][..N], &pixels[2][..N], &pixels[3][..N]];
        for lane in 0..N {
            let mut output = sum[lane];
            for row in 0..4 {
                output += fours[four][row] * pixels[row][lane].to_f64();
            }
            sum[lane] = output;
        }
    }
    for row in 0..last.len() {
        let pixels = &near(4 * fours.len() + row)[..N];
        for lane in 0..N {
            sum[lane] += last[row] * pixels[lane].to_f64();
        }
    }
    sum
}

/// Kernel for fewer than sixteen outputs: the remaining lanes are unused.
pub(crate) struct FewOutputs<'a, T>(Task<'a, T>);

impl<T: Number> Kernel for FewOutputs<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Task { rows, stencil, total, out } = self.0;
        let padded = |row: &[T]| {
            let mut lanes = [0.0; LANES];
            for lane in 0..out.len() {
                lanes[lane] = row[lane].to_f64();
            }
            lanes
        };
        let mut sum = [START; LANES];
        for row in 0..rows.len() {
            add(&mut sum, stencil.weights[row], &padded(rows[row]));
        }
        careful_sum(&mut sum, stencil, total, |row| padded(rows[row]));
        store(&sum, out);
    }
}

/// Initial value of a sum: -0.0, which does not change any number added to it.
const START: f64 = -0.0;

/// Returns the start of each group of sixteen outputs; the last group may overlap the one before.
#[inline(always)]
fn starts(outputs: usize) -> impl Iterator<Item = usize> {
    let last = outputs - LANES;
    (0..outputs.div_ceil(LANES)).map(move |block| last.min(block * LANES))
}

#[inline(always)]
fn load<T: Number>(row: &[T], at: usize) -> [f64; LANES] {
    let row = &row[at..at + LANES];
    let mut lanes = [0.0; LANES];
    for lane in 0..LANES {
        lanes[lane] = row[lane].to_f64();
    }
    lanes
}

#[inline(always)]
fn store<T: Number>(lanes: &[f64; LANES], out: &mut [T]) {
    for lane in 0..out.len().min(LANES) {
        out[lane] = T::from_f64(lanes[lane]);
    }
}

/// Adds the terms of a row.
#[inline(always)]
fn add(sum: &mut [f64; LANES], weight: f64, x: &[f64; LANES]) {
    for lane in 0..LANES {
        sum[lane] += weight * x[lane];
    }
}

#[inline(always)]
fn any_nan(lanes: &[f64; LANES]) -> bool {
    let mut nan = false;
    for lane in 0..LANES {
        nan |= lanes[lane].is_nan();
    }
    nan
}

/// Replaces sums that are NaN by the policy's result. `load` returns the pixels in a row.
#[inline(always)]
fn careful_sum(
    sum: &mut [f64; LANES],
    stencil: &Stencil<'_>,
    total: f64,
    load: impl Fn(usize) -> [f64; LANES],
) {
    let weights = stencil.weights;
    let mut careful = Careful::new();
    for row in 0..weights.len() {
        careful.add(weights[row], &load(row), stencil.blanks);
    }
    careful.finish(sum, &load(weights.len() / 2), stencil, total);
}

/// Sums that check each pixel.
struct Careful {
    /// Sum of the terms of defined pixels; NaN if an undefined pixel is to be propagated.
    sum: [f64; LANES],
    /// Sum of the weights of defined pixels.
    weight: [f64; LANES],
}

impl Careful {
    #[inline(always)]
    fn new() -> Careful {
        Careful { sum: [START; LANES], weight: [START; LANES] }
    }

    #[inline(always)]
    fn add(&mut self, weight: f64, x: &[f64; LANES], blanks: Blanks) {
        let undefined = if blanks == Blanks::Propagate { f64::NAN } else { START };
        for lane in 0..LANES {
            self.sum[lane] += if x[lane].is_nan() { undefined } else { weight * x[lane] };
        }
        for lane in 0..LANES {
            self.weight[lane] += if x[lane].is_nan() { START } else { weight };
        }
    }

    /// Replaces sums that are NaN by the policy's sums; `middle` contains the pixels of the middle row.
    #[inline(always)]
    fn finish(
        self,
        sum: &mut [f64; LANES],
        middle: &[f64; LANES],
        stencil: &Stencil<'_>,
        total: f64,
    ) {
        let renormalise = stencil.blanks == Blanks::Renormalise;
        for lane in 0..LANES {
            let ratio = total / self.weight[lane];
            let scaled = if self.weight[lane] == 0.0 { f64::NAN } else { self.sum[lane] * ratio };
            // A sum without terms is 0, not its initial value -0.0.
            let careful = if renormalise { scaled } else { self.sum[lane] + 0.0 };
            let stays_undefined = middle[lane].is_nan() & !stencil.fill;
            let careful = if stays_undefined { f64::NAN } else { careful };
            sum[lane] = if sum[lane].is_nan() { careful } else { sum[lane] };
        }
    }
}
