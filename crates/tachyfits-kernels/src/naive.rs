//! The slow twin of each kernel: one pixel at a time, in code that a reader can verify.
//!
//! The twins are the specification. They decode with `from_be_bytes`, integers exactly, and add in the order that every
//! kernel promises: pixel `i` of a leaf goes to lane `i % LANES`; the lanes of a sum are added pairwise between runs of
//! a few chunks; the lanes of a leaf are added pairwise; leaves are added with compensation. So a kernel must return
//! the same bits as its twin on every tier. The twins use only the scalar parts of the kernels' code: [`Compensated`]
//! and [`Stats::merge`].

mod checksum;
mod columns;
mod elementwise;
mod encode;
mod noise;
mod nulls;
mod order_statistics;
mod quantised;
mod rice_lanes;
mod rows;
mod stencil;
mod transpose;

pub use checksum::ones_complement;
pub use columns::{
    decode_logical, gather_field_bytes, gather_fields, integer_of_text, mark_nulls,
    scatter_field_bytes, scatter_fields, transfer, trim_text, unpack_bits,
};
pub use elementwise::{binary, select, unary};
pub use encode::{encode_f32, encode_f64, encode_native};
pub use noise::noise;
pub use nulls::decode_elements;
pub use order_statistics::{cell_counts, deviations, key_counts, key_piece, split};
pub use quantised::{dequantise, quantise};
pub use rice_lanes::decode_rice;
pub(crate) use rows::columns;
pub use rows::{Extrema, Moments, common_rows, extrema_rows, moment_slab, spectral_rows, sum_rows};
pub use stencil::smooth_rows;
pub use transpose::transpose;

use crate::{
    ByteOrder, Common, Compensated, Encoding, Extremum, HistogramRange, LANES, LEAF_PIXELS,
    PixelType, RUN_CHUNKS, SpectralSum, Stats, Sum, Total, Unit,
};

/// Stored value of a pixel. Integers are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NaiveStored {
    Integer(i128),
    Single(f32),
    Double(f64),
}

/// Returns the bytes of one pixel, most significant first.
fn most_significant_first(bytes: &[u8], order: ByteOrder) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if order == ByteOrder::Native && cfg!(target_endian = "little") {
        bytes.reverse();
    }
    bytes
}

/// Returns the first bytes of a pixel as an array.
fn first<const BYTES: usize>(bytes: &[u8]) -> [u8; BYTES] {
    std::array::from_fn(|byte| bytes[byte])
}

/// Returns the pixel as stored, before the unsigned conventions (Standard 4.0, section 5).
fn stored(bytes: &[u8], pixel: PixelType) -> NaiveStored {
    match pixel {
        PixelType::U8 | PixelType::I8 => NaiveStored::Integer(bytes[0].into()),
        PixelType::I16 | PixelType::U16 => {
            NaiveStored::Integer(i16::from_be_bytes(first(bytes)).into())
        }
        PixelType::I32 | PixelType::U32 => {
            NaiveStored::Integer(i32::from_be_bytes(first(bytes)).into())
        }
        PixelType::I64 | PixelType::U64 => {
            NaiveStored::Integer(i64::from_be_bytes(first(bytes)).into())
        }
        PixelType::F32 => NaiveStored::Single(f32::from_be_bytes(first(bytes))),
        PixelType::F64 => NaiveStored::Double(f64::from_be_bytes(first(bytes))),
    }
}

/// Returns the offset of the unsigned and signed-byte conventions (Standard 4.0, table 11).
fn offset(pixel: PixelType) -> i128 {
    match pixel {
        PixelType::I8 => -128,
        PixelType::U16 => 1 << 15,
        PixelType::U32 => 1 << 31,
        PixelType::U64 => 1 << 63,
        _ => 0,
    }
}

/// Decodes a pixel, without scaling; `None` if it is undefined.
fn pixel(bytes: &[u8], encoding: &Encoding) -> Option<NaiveStored> {
    match stored(&most_significant_first(bytes, encoding.order), encoding.pixel) {
        NaiveStored::Integer(x) if encoding.blank.map(i128::from) == Some(x) => None,
        NaiveStored::Integer(x) => Some(NaiveStored::Integer(x + offset(encoding.pixel))),
        float => Some(float),
    }
}

/// Returns the physical value of one pixel; NaN if it is undefined.
fn value(bytes: &[u8], encoding: &Encoding) -> f64 {
    let plain = match pixel(bytes, encoding) {
        None => return f64::NAN,
        Some(NaiveStored::Integer(x)) => x as f64,
        Some(NaiveStored::Single(x)) => f64::from(x),
        Some(NaiveStored::Double(x)) => x,
    };
    match encoding.scaling {
        Some((scale, zero)) => zero + scale * plain,
        None => plain,
    }
}

/// Twin of [`crate::decode_f64`].
pub fn decode_f64(bytes: &[u8], encoding: &Encoding) -> Vec<f64> {
    bytes.chunks_exact(encoding.pixel_bytes()).map(|pixel| value(pixel, encoding)).collect()
}

/// Twin of [`crate::decode_f32`]: rounded once, from the stored value if there is no scaling.
pub fn decode_f32(bytes: &[u8], encoding: &Encoding) -> Vec<f32> {
    let rounded = |bytes: &[u8]| match (encoding.scaling, pixel(bytes, encoding)) {
        (_, None) => f32::NAN,
        (None, Some(NaiveStored::Integer(x))) => x as f32,
        (None, Some(NaiveStored::Single(x))) => x,
        _ => value(bytes, encoding) as f32,
    };
    bytes.chunks_exact(encoding.pixel_bytes()).map(rounded).collect()
}

/// Twin of [`crate::decode_native`].
pub fn decode_native(bytes: &[u8], pixel: PixelType) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for bytes in bytes.chunks_exact(pixel.bytes()) {
        let native = match stored(bytes, pixel) {
            NaiveStored::Integer(x) => (x + offset(pixel)).to_le_bytes()[..pixel.bytes()].to_vec(),
            NaiveStored::Single(x) => x.to_bits().to_le_bytes().to_vec(),
            NaiveStored::Double(x) => x.to_bits().to_le_bytes().to_vec(),
        };
        // Little-endian bytes, swapped on big-endian machines.
        let swapped = native.iter().rev().copied().collect();
        out.extend(if cfg!(target_endian = "little") { native } else { swapped });
    }
    out
}

/// Twin of [`crate::gather`].
pub fn gather(bytes: &[u8], pixel_bytes: usize, step: i64, count: usize) -> Vec<u8> {
    let mut pixels: Vec<&[u8]> =
        bytes.chunks_exact(pixel_bytes).step_by(step.unsigned_abs() as usize).take(count).collect();
    if step < 0 {
        pixels.reverse();
    }
    pixels.concat()
}

/// Sums a leaf: its runs pairwise in [`LANES`] lanes, then the terms after the last whole chunk, then the lanes
/// pairwise. NaN terms are skipped.
pub(crate) fn leaf_sum(terms: &[f64]) -> f64 {
    let (whole, rest) = terms.split_at(terms.len() / LANES * LANES);
    let runs: Vec<[f64; LANES]> = whole.chunks(RUN_CHUNKS * LANES).map(lane_sums).collect();
    let mut lanes = sum_of_runs(&runs);
    for (lane, &term) in rest.iter().enumerate() {
        if !term.is_nan() {
            lanes[lane] += term;
        }
    }
    add_pairwise(lanes)
}

/// Adds runs: the sum of those before the largest power of two below their number, and the sum of the others.
fn sum_of_runs(runs: &[[f64; LANES]]) -> [f64; LANES] {
    match runs {
        [] => [0.0; LANES],
        [run] => *run,
        _ => {
            let (first, second) = runs.split_at(runs.len().next_power_of_two() / 2);
            let (first, second) = (sum_of_runs(first), sum_of_runs(second));
            std::array::from_fn(|lane| first[lane] + second[lane])
        }
    }
}

/// Adds terms in [`LANES`] lanes by their index. NaN terms are skipped.
fn lane_sums(terms: &[f64]) -> [f64; LANES] {
    let mut lanes = [0.0; LANES];
    for (index, term) in terms.iter().enumerate() {
        if !term.is_nan() {
            lanes[index % LANES] += term;
        }
    }
    lanes
}

/// Adds lanes: each of the first half adds its partner in the second half, until one is left.
fn add_pairwise(mut lanes: [f64; LANES]) -> f64 {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
    }
    lanes[0]
}

/// Exact moments of integers of up to 16 bits, with the unsigned conventions applied.
struct NaiveIntegerMoments {
    count: i128,
    sum: i128,
    squares: i128,
}

/// Returns the exact moments of integers; `None` if scaling them may overflow or underflow.
fn integer_moments(bytes: &[u8], encoding: &Encoding) -> Option<NaiveIntegerMoments> {
    let (scale, zero) = encoding.scaling.unwrap_or((1.0, 0.0));
    let usual = scale.abs() >= 1e-100 && scale.abs() <= 1e100 && zero.abs() <= 1e100;
    if encoding.pixel_bytes() > 2 || !usual {
        return None;
    }
    let mut moments = NaiveIntegerMoments { count: 0, sum: 0, squares: 0 };
    for bytes in bytes.chunks_exact(encoding.pixel_bytes()) {
        if let Some(NaiveStored::Integer(x)) = pixel(bytes, encoding) {
            moments.count += 1;
            moments.sum += x;
            moments.squares += x * x;
        }
    }
    Some(moments)
}

impl NaiveIntegerMoments {
    /// Returns scale times sum plus zero times count: rounded products first, then their rounding errors.
    fn scaled_sum(&self, encoding: &Encoding) -> Compensated {
        let (scale, zero) = encoding.scaling.unwrap_or((1.0, 0.0));
        let (sum, count) = (self.sum as f64, self.count as f64);
        let mut total = Compensated::default();
        total.add(scale * sum);
        total.add(zero * count);
        total.add(scale.mul_add(sum, -(scale * sum)));
        total.add(zero.mul_add(count, -(zero * count)));
        total
    }
}

/// Twin of [`Sum::accumulate`].
pub fn sum(bytes: &[u8], encoding: &Encoding) -> Sum {
    let mut state = Sum::default();
    if let Some(moments) = integer_moments(bytes, encoding) {
        state.count = moments.count as u64;
        state.nan = (bytes.len() / encoding.pixel_bytes()) as u64 - state.count;
        state.sum.merge(moments.scaled_sum(encoding).into());
        if encoding.is_scaled() {
            let values = decode_f64(bytes, encoding);
            state.common = values.iter().fold(Common::Unknown, |common, &x| common.and(x));
        }
        return state;
    }
    for leaf in decode_f64(bytes, encoding).chunks(LEAF_PIXELS) {
        for x in leaf {
            if x.is_nan() {
                state.nan += 1;
            } else {
                state.count += 1;
            }
        }
        state.sum.merge(leaf_total(leaf));
        // The sum of small integers is exact, and so is its mean.
        if !encoding.adds_exactly() || encoding.is_scaled() {
            state.common = leaf.iter().fold(state.common, |common, &x| common.and(x));
        }
    }
    state
}

/// Twin of [`Stats::accumulate`].
pub fn stats(bytes: &[u8], encoding: &Encoding, position: u64) -> Stats {
    let mut state = Stats::default();
    let values = decode_f64(bytes, encoding);
    if let Some(moments) = integer_moments(bytes, encoding) {
        state.merge(&integer_stats(&moments, &values, encoding, position));
        return state;
    }
    let mut position = position;
    for leaf in values.chunks(LEAF_PIXELS) {
        state.merge(&leaf_stats(leaf, position));
        position += leaf.len() as u64;
    }
    state
}

/// Returns the statistics of any number of pixels with exact moments.
fn integer_stats(
    moments: &NaiveIntegerMoments,
    values: &[f64],
    encoding: &Encoding,
    position: u64,
) -> Stats {
    let count = moments.count as u64;
    let sum = moments.scaled_sum(encoding);
    let mut state =
        Stats { count, nan: values.len() as u64 - count, sum: sum.into(), ..Stats::default() };
    if count == 0 {
        return state;
    }
    let n = count as f64;
    let mean = (sum.high + sum.low) / n;
    state.center = Compensated::new(mean, ((-mean).mul_add(n, sum.high) + sum.low) / n);
    let (scale, _) = encoding.scaling.unwrap_or((1.0, 0.0));
    let spread = moments.count * moments.squares - moments.sum * moments.sum;
    state.squares = Compensated { high: scale * (scale * (spread as f64 / n)), low: 0.0 };
    add_common_and_extremes(&mut state, values, position);
    state
}

/// Returns the statistics of one leaf in two passes, the second about the rounded mean of the first.
fn leaf_stats(leaf: &[f64], position: u64) -> Stats {
    let count = leaf.iter().filter(|x| !x.is_nan()).count();
    let mut state = Stats {
        count: count as u64,
        nan: (leaf.len() - count) as u64,
        sum: leaf_total(leaf),
        ..Stats::default()
    };
    if count == 0 {
        return state;
    }
    (state.center, state.squares) = leaf_moments(leaf);
    let is_finite = |(center, squares): (Compensated, Compensated)| {
        center.value().is_finite() && squares.value().is_finite()
    };
    let magnitude = leaf.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let unit = match is_finite((state.center, state.squares)) {
        false => Unit::Large,
        true if magnitude > 0.0 && magnitude < 2f64.powi(-440) => Unit::Small,
        true => Unit::One,
    };
    if unit != Unit::One {
        let moments = leaf_moments(&in_unit(leaf, unit));
        if is_finite(moments) {
            (state.center, state.squares) = moments;
            state.unit = unit;
        }
    }
    add_common_and_extremes(&mut state, leaf, position);
    state
}

/// Converts pixels to a unit that leaves room for their squares.
fn in_unit(leaf: &[f64], unit: Unit) -> Vec<f64> {
    leaf.iter().map(|x| x / unit.value()).collect()
}

/// Sums a leaf, in large units if the sum exceeds f64.
fn leaf_total(leaf: &[f64]) -> Total {
    let (sum, large) = (leaf_sum(leaf), leaf_sum(&in_unit(leaf, Unit::Large)));
    let is_large = !sum.is_finite() && large.is_finite();
    Total { parts: Compensated { high: if is_large { large } else { sum }, low: 0.0 }, is_large }
}

/// Returns mean and squares of a leaf that has defined pixels.
fn leaf_moments(leaf: &[f64]) -> (Compensated, Compensated) {
    let n = leaf.iter().filter(|x| !x.is_nan()).count() as f64;
    let mean = leaf_sum(leaf) / n;
    // The difference of a defined pixel from an infinite mean may be NaN, which must remain: only undefined pixels are
    // skipped.
    let difference = |&x: &f64| if x.is_nan() { 0.0 } else { x - mean };
    let differences = plain_sum(leaf.iter().map(difference));
    let squares = plain_sum(leaf.iter().map(|x| difference(x) * difference(x)));
    let squares = Compensated { high: squares - differences * differences / n, low: 0.0 };
    (Compensated::new(mean, differences / n), squares)
}

/// Adds the common value, and the first of the smallest and of the largest values.
fn add_common_and_extremes(state: &mut Stats, values: &[f64], position: u64) {
    state.common = values.iter().fold(Common::Unknown, |common, &x| common.and(x));
    for (index, &value) in values.iter().enumerate() {
        let extremum = Some(Extremum { value, position: position + index as u64 });
        if !value.is_nan() && state.min.is_none_or(|min| value < min.value) {
            state.min = extremum;
        }
        if !value.is_nan() && state.max.is_none_or(|max| value > max.value) {
            state.max = extremum;
        }
    }
}

/// Sums a leaf in its second pass: lanes without runs, in which a NaN term makes the sum NaN.
pub(crate) fn plain_sum(terms: impl Iterator<Item = f64>) -> f64 {
    let terms: Vec<f64> = terms.collect();
    if terms.iter().any(|term| term.is_nan()) { f64::NAN } else { add_pairwise(lane_sums(&terms)) }
}

/// Twin of [`SpectralSum::accumulate`]: one line of any length, in lanes.
pub fn spectral_sum(bytes: &[u8], encoding: &Encoding, coordinates: &[f64]) -> SpectralSum {
    let mut count = 0;
    let mut lanes = [[0.0; LANES]; 3];
    let pixels = decode_f64(bytes, encoding);
    for (index, (&x, &u)) in pixels.iter().zip(coordinates).enumerate() {
        if !x.is_nan() {
            count += 1;
            for (lanes, term) in lanes.iter_mut().zip([x, x * u, x * u * u]) {
                lanes[index % LANES] += term;
            }
        }
    }
    SpectralSum { count, sums: lanes.map(add_pairwise) }
}

/// Result of [`histogram`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pixels in each bin.
    pub bins: Vec<u64>,
    /// Pixels below the first bin.
    pub below: u64,
    /// Pixels above the last bin.
    pub above: u64,
    /// Undefined pixels.
    pub nan: u64,
}

/// Twin of [`crate::Histogram::accumulate`]: searches the edges one by one.
pub fn histogram(bytes: &[u8], encoding: &Encoding, range: &HistogramRange) -> Counts {
    let edges = range.edges();
    let last = range.bins() - 1;
    let mut counts = Counts { bins: vec![0; range.bins()], ..Counts::default() };
    for x in decode_f64(bytes, encoding) {
        if x.is_nan() {
            counts.nan += 1;
        } else if x < edges[0] {
            counts.below += 1;
        } else if x > edges[last + 1] {
            counts.above += 1;
        } else if x == edges[last + 1] {
            counts.bins[last] += 1;
        } else {
            let bin = (0..=last).find(|&bin| edges[bin] <= x && x < edges[bin + 1]);
            counts.bins[bin.expect("the edges cover the range")] += 1;
        }
    }
    counts
}
