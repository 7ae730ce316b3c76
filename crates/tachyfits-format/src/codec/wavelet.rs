//! The H-transform of HCOMPRESS and its inverse: sums and differences of 2 x 2 pixels, then of the sums, and so on. The
//! rounding of each level makes the inverse exact.
//!
//! Coefficients are in one array of the tile's shape: the sums of the last level at its start, the differences of each
//! level right of and below the preceding ones. The arithmetic wraps, as in CFITSIO.

use super::codec_error::CodecError;
use super::room::resize;
use std::fmt::Debug;
use std::num::Wrapping;
use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Shl, Shr, Sub};

/// A coefficient: an integer that wraps.
pub(super) trait Coefficient:
    Copy
    + Debug
    + Default
    + Ord
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<usize, Output = Self>
    + Shr<usize, Output = Self>
{
    /// Converts the lowest bits of an integer.
    fn of(value: i64) -> Self;
    /// Returns the value as 64 bits.
    fn wide(self) -> i64;
}

impl Coefficient for Wrapping<i32> {
    #[inline(always)]
    fn of(value: i64) -> Self {
        Wrapping(value as i32)
    }

    #[inline(always)]
    fn wide(self) -> i64 {
        self.0.into()
    }
}

impl Coefficient for Wrapping<i64> {
    #[inline(always)]
    fn of(value: i64) -> Self {
        Wrapping(value)
    }

    #[inline(always)]
    fn wide(self) -> i64 {
        self.0
    }
}

/// Arrays of a transform, reused from tile to tile.
#[derive(Debug, Default)]
pub(super) struct Planes<C> {
    /// All coefficients of a tile.
    pub(super) coefficients: Vec<C>,
    /// Sums of a level, and of the next level.
    pub(super) sums: [Vec<C>; 2],
    /// The four pixels of each 2 x 2 block, in separate arrays.
    pub(super) corners: [Vec<C>; 4],
    /// Codes of a level of a quadtree, and of the next level.
    pub(super) codes: [Vec<u8>; 2],
}

/// Rows and columns of an array; the column index varies fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Extent {
    /// Returns the extent of the sums of 2 x 2 blocks.
    pub(super) const fn halved(self) -> Extent {
        Extent { rows: self.rows.div_ceil(2), columns: self.columns.div_ceil(2) }
    }

    /// Returns the extent after `levels` halvings.
    pub(super) const fn at_level(self, levels: u32) -> Extent {
        let size = 1usize << levels;
        Extent { rows: self.rows.div_ceil(size), columns: self.columns.div_ceil(size) }
    }

    /// Number of halvings to a single pixel.
    pub(super) fn levels(self) -> u32 {
        self.rows.max(self.columns).max(1).next_power_of_two().trailing_zeros()
    }

    /// Number of elements of an array.
    pub(super) const fn size(self) -> usize {
        self.rows * self.columns
    }
}

/// Rounding of differences at a level of the inverse: half of the unit of hx and hy, and of hc.
#[derive(Clone, Copy)]
struct Rounding<C> {
    bit0: C,
    bit1: C,
    half0: C,
    less_half0: C,
    half1: C,
    less_half1: C,
    /// Bits to shift sums by: 1, on the last level 2.
    shift: usize,
}

impl<C: Coefficient> Rounding<C> {
    fn of_level(level: u32) -> Self {
        let bit0 = C::of(1) << level as usize;
        let half0 = if level == 0 { C::of(0) } else { C::of(1) << (level as usize - 1) };
        Rounding {
            bit0,
            bit1: bit0 << 1,
            half0,
            less_half0: if level == 0 { C::of(0) } else { half0 - C::of(1) },
            half1: bit0,
            less_half1: bit0 - C::of(1),
            shift: if level == 0 { 2 } else { 1 },
        }
    }

    /// Rounds to a multiple of `bit1`.
    #[inline(always)]
    fn round1(&self, value: C) -> C {
        let half = if value >= C::default() { self.half1 } else { self.less_half1 };
        (value + half) & -self.bit1
    }

    /// Rounds to a multiple of `bit0`.
    #[inline(always)]
    fn round0(&self, value: C) -> C {
        let half = if value >= C::default() { self.half0 } else { self.less_half0 };
        (value + half) & -self.bit0
    }

    /// Returns the four pixels of a block: 00, 01, 10, 11 (row, column).
    #[inline(always)]
    fn block(&self, h0: C, hx: C, hy: C, hc: C) -> [C; 4] {
        let zero = C::default();
        let (hx, hy, hc) = (self.round1(hx), self.round1(hy), self.round0(hc));
        let low0 = hc & self.bit0;
        let toward = |value: C| if value >= zero { value - low0 } else { value + low0 };
        let (hx, hy) = (toward(hx), toward(hy));
        let low1 = (hc ^ hx ^ hy) & self.bit1;
        let below = if low0 == zero { low1 } else { low0 - low1 };
        let h0 = if h0 >= zero { h0 + low0 - low1 } else { h0 + below };
        [h0 - hx - hy + hc, h0 - hx + hy - hc, h0 + hx - hy - hc, h0 + hx + hy + hc]
            .map(|sum| sum >> self.shift)
    }

    /// Returns the two pixels of half a block at an edge.
    #[inline(always)]
    fn pair(&self, h0: C, difference: C) -> [C; 2] {
        let difference = self.round1(difference);
        let low1 = difference & self.bit1;
        let h0 = if h0 >= C::default() { h0 - low1 } else { h0 + low1 };
        [h0 - difference, h0 + difference].map(|sum| sum >> self.shift)
    }
}

/// Inverts the transform of `planes.coefficients`, and leaves the pixels in `planes.sums[0]`. `smoothing` is the scale
/// of the stream if the result is to be smoothed.
pub(super) fn invert<C: Coefficient>(
    planes: &mut Planes<C>,
    extent: Extent,
    smoothing: Option<i64>,
) -> Result<(), CodecError> {
    let Planes { coefficients, sums: [sums, next], .. } = planes;
    resize(sums, extent.size())?;
    resize(next, extent.size())?;
    let levels = extent.levels();
    sums[0] = coefficients[0];
    if levels > 0 {
        // Rounded to a multiple of the unit of the first level.
        let half = C::of(1) << levels as usize;
        let less = if sums[0] >= C::default() { half } else { half - C::of(1) };
        sums[0] = (sums[0] + less) & -(half << 1);
    }
    for level in (0..levels).rev() {
        let out = extent.at_level(level);
        if let Some(scale) = smoothing {
            smooth(sums, coefficients, extent.columns, out, C::of(scale >> 1));
        }
        invert_level(sums, coefficients, extent.columns, out, &Rounding::of_level(level), next);
        std::mem::swap(sums, next);
    }
    Ok(())
}

/// Inverts one level: converts sums and differences to an array of extent `out`.
fn invert_level<C: Coefficient>(
    sums: &[C],
    coefficients: &[C],
    stride: usize,
    out: Extent,
    rounding: &Rounding<C>,
    pixels: &mut [C],
) {
    let half = out.halved();
    let (pairs, odd) = (out.columns / 2, out.columns % 2 == 1);
    for row in 0..half.rows {
        let h0 = &sums[row * half.columns..][..half.columns];
        let hy = &coefficients[row * stride + half.columns..][..pairs];
        let at = 2 * row * out.columns;
        if 2 * row + 1 == out.rows {
            // The last row of an odd number of rows.
            let to = &mut pixels[at..at + out.columns];
            for ((to, &h0), &hy) in to.as_chunks_mut().0.iter_mut().zip(h0).zip(hy) {
                *to = rounding.pair(h0, hy);
            }
            if odd {
                to[out.columns - 1] = h0[pairs] >> rounding.shift;
            }
            continue;
        }
        let below = &coefficients[(half.rows + row) * stride..][..out.columns];
        let (hx, hc) = below.split_at(half.columns);
        let (first, second) = pixels[at..at + 2 * out.columns].split_at_mut(out.columns);
        let (firsts, seconds) = (first.as_chunks_mut::<2>().0, second.as_chunks_mut::<2>().0);
        let (hx_pairs, h0_pairs) = (&hx[..pairs], &h0[..pairs]);
        let (firsts, seconds, hc) = (&mut firsts[..pairs], &mut seconds[..pairs], &hc[..pairs]);
        for at in 0..pairs {
            let [a, b, c, d] = rounding.block(h0_pairs[at], hx_pairs[at], hy[at], hc[at]);
            firsts[at] = [a, b];
            seconds[at] = [c, d];
        }
        if odd {
            let [a, b] = rounding.pair(h0[pairs], hx[pairs]);
            first[out.columns - 1] = a;
            second[out.columns - 1] = b;
        }
    }
}

/// Moves differences towards the slope of the neighbouring sums, by at most `most`.
fn smooth<C: Coefficient>(sums: &[C], coefficients: &mut [C], stride: usize, out: Extent, most: C) {
    if most <= C::default() {
        return;
    }
    let half = out.halved();
    let sum = |row: usize, column: usize| sums[row * half.columns + column];
    // Blocks with a neighbour on each side along an axis of this length.
    let inner = |length: usize| 1..(length.saturating_sub(2)).div_ceil(2).max(1);
    for row in inner(out.rows) {
        for column in 0..half.columns {
            let (before, here, after) =
                (sum(row - 1, column), sum(row, column), sum(row + 1, column));
            let hx = &mut coefficients[(half.rows + row) * stride + column];
            *hx = sloped(*hx, before, here, after, most);
        }
    }
    for row in 0..half.rows {
        for column in inner(out.columns) {
            let (before, here, after) =
                (sum(row, column - 1), sum(row, column), sum(row, column + 1));
            let hy = &mut coefficients[row * stride + half.columns + column];
            *hy = sloped(*hy, before, here, after, most);
        }
    }
    for row in inner(out.rows) {
        for column in inner(out.columns) {
            let corners = [
                sum(row - 1, column - 1),
                sum(row + 1, column - 1),
                sum(row - 1, column + 1),
                sum(row + 1, column + 1),
            ];
            let hx = coefficients[(half.rows + row) * stride + column];
            let hy = coefficients[row * stride + half.columns + column];
            let hc = &mut coefficients[(half.rows + row) * stride + half.columns + column];
            *hc = curved(*hc, sum(row, column), corners, hx << 1, hy << 1, most);
        }
    }
}

/// Moves a difference along one axis towards the slope of the sums, unless the sums have an extremum.
fn sloped<C: Coefficient>(difference: C, before: C, here: C, after: C, most: C) -> C {
    let zero = C::default();
    let (ahead, behind) = (after - here, here - before);
    let greatest = ahead.min(behind).max(zero) << 2;
    let least = ahead.max(behind).min(zero) << 2;
    if least >= greatest {
        return difference;
    }
    let slope = (after - before).min(greatest).max(least);
    difference + divided(slope - (difference << 3), 3).min(most).max(-most)
}

/// Moves the difference of the diagonals; `corners` are the sums before and after along the rows, at the preceding and
/// the following column.
fn curved<C: Coefficient>(
    difference: C,
    here: C,
    [mm, pm, mp, pp]: [C; 4],
    hx2: C,
    hy2: C,
    most: C,
) -> C {
    let zero = C::default();
    let positive = |value: C| value.max(zero);
    let negative = |value: C| value.min(zero);
    let greatest = {
        let first = (positive(pp - here) - hx2 - hy2).min(positive(here - pm) + hx2 - hy2);
        let second = (positive(here - mp) - hx2 + hy2).min(positive(mm - here) + hx2 + hy2);
        first.min(second) << 4
    };
    let least = {
        let first = (negative(pp - here) - hx2 - hy2).max(negative(here - pm) + hx2 - hy2);
        let second = (negative(here - mp) - hx2 + hy2).max(negative(mm - here) + hx2 + hy2);
        first.max(second) << 4
    };
    if least >= greatest {
        return difference;
    }
    let curvature = (pp + mm - mp - pm).min(greatest).max(least);
    difference + divided(curvature - (difference << 6), 6).min(most).max(-most)
}

/// Divides by 2^bits, rounding towards zero.
fn divided<C: Coefficient>(value: C, bits: usize) -> C {
    match value >= C::default() {
        true => value >> bits,
        false => (value + C::of((1 << bits) - 1)) >> bits,
    }
}

/// Transforms the pixels in `planes.sums[0]` into `planes.coefficients`.
pub(super) fn transform<C: Coefficient>(
    planes: &mut Planes<C>,
    extent: Extent,
) -> Result<(), CodecError> {
    let Planes { coefficients, sums: [sums, next], .. } = planes;
    resize(coefficients, extent.size())?;
    resize(next, extent.size())?;
    for level in 0..extent.levels() {
        transform_level(sums, extent.at_level(level), level, next, coefficients, extent.columns);
        std::mem::swap(sums, next);
    }
    coefficients[0] = sums[0];
    Ok(())
}

fn transform_level<C: Coefficient>(
    pixels: &[C],
    from: Extent,
    level: u32,
    sums: &mut [C],
    coefficients: &mut [C],
    stride: usize,
) {
    let zero = C::default();
    let unit = C::of(1) << level as usize;
    let double = unit << 1;
    let shift = usize::from(level > 0);
    let up = 1 - shift;
    let rounded = |value: C| (if value >= zero { value + unit } else { value }) & -double;
    let rounded_sum = |value: C| {
        (if value >= zero { value + double } else { value + double - C::of(1) }) & -(double << 1)
    };
    let half = from.halved();
    for row in 0..half.rows {
        let first = &pixels[2 * row * from.columns..][..from.columns];
        let is_last = 2 * row + 1 == from.rows;
        let second = if is_last { first } else { &pixels[(2 * row + 1) * from.columns..] };
        for column in 0..half.columns {
            let at = 2 * column;
            let (hx_at, hy_at) =
                ((half.rows + row) * stride + column, row * stride + half.columns + column);
            let sum = match (is_last, at + 1 == from.columns) {
                (false, false) => {
                    let (a, b, c, d) = (first[at], first[at + 1], second[at], second[at + 1]);
                    coefficients[hx_at] = rounded((d + c - b - a) >> shift);
                    coefficients[hy_at] = rounded((d - c + b - a) >> shift);
                    coefficients[hx_at + half.columns] = (d - c - b + a) >> shift;
                    (d + c + b + a) >> shift
                }
                (false, true) => {
                    coefficients[hx_at] = rounded((second[at] - first[at]) << up);
                    (second[at] + first[at]) << up
                }
                (true, false) => {
                    coefficients[hy_at] = rounded((first[at + 1] - first[at]) << up);
                    (first[at + 1] + first[at]) << up
                }
                (true, true) => first[at] << (2 - shift),
            };
            sums[row * half.columns + column] = rounded_sum(sum);
        }
    }
}
