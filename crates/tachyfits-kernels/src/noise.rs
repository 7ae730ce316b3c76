//! The noise of a tile, as CFITSIO measures it to choose the step of quantisation: medians of differences between
//! neighbouring pixels, so that slopes and sources do not count.

use std::cmp::Ordering;

/// The range and noise of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The least and the greatest defined pixel; infinite if there is none.
    pub least: f64,
    /// The greatest defined pixel.
    pub greatest: f64,
    /// Pixels that are not NaN.
    pub defined: usize,
    /// Some pixels are infinite.
    pub has_infinite: bool,
    /// The standard deviation of the noise: the least of three estimates that are not 0, or 0.
    pub deviation: f64,
}

/// Medians of the three differences to standard deviations, for noise of a normal distribution.
const OF_SECOND: f64 = 1.048_357_9;
const OF_THIRD: f64 = 0.605_269_7;
const OF_FIFTH: f64 = 0.177_204_8;

/// Pixels that the widest difference spans.
const SPAN: usize = 9;

/// A type of pixels whose noise can be measured. Differences are taken in the type itself.
pub trait NoisePixel: Copy + PartialEq + Sealed {
    /// The pixel is not NaN.
    fn is_defined(self) -> bool;
    /// The value.
    fn value(self) -> f64;
    /// |b - a|, |2b - a - c| and |6c - 4b - 4d + a + e| of pixels two apart.
    fn differences(pixels: [Self; 5]) -> [f64; 3];
}

/// Only this crate says what a pixel is.
pub trait Sealed {}

macro_rules! floats {
    ($($float:ty)+) => {$(
        impl Sealed for $float {}
        impl NoisePixel for $float {
            #[inline(always)]
            fn is_defined(self) -> bool {
                !self.is_nan()
            }

            #[inline(always)]
            fn value(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn differences([a, b, c, d, e]: [Self; 5]) -> [f64; 3] {
                let fifth = 6.0 * c - 4.0 * b - 4.0 * d + a + e;
                [c - d, 2.0 * c - b - d, fifth].map(|difference| difference.abs().into())
            }
        }
    )+};
}
floats! { f32 f64 }

impl Sealed for i32 {}
impl NoisePixel for i32 {
    #[inline(always)]
    fn is_defined(self) -> bool {
        true
    }

    #[inline(always)]
    fn value(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn differences(pixels: [Self; 5]) -> [f64; 3] {
        let [a, b, c, d, e] = pixels.map(i64::from);
        [c - d, 2 * c - b - d, 6 * c - 4 * b - 4 * d + a + e].map(|d| d.abs() as f64)
    }
}

/// Measures pixels in rows of `row` pixels.
///
/// # Panics
/// If `row` is 0.
///
/// ```
/// use tachyfits_kernels::noise;
/// let alternating: Vec<f32> = (0..100).map(|at| if at % 4 < 2 { 5.0 } else { 9.0 }).collect();
/// let found = noise(&alternating, 50);
/// assert_eq!((found.least, found.greatest, found.defined), (5.0, 9.0, 100));
/// assert_eq!(noise(&[1.5f32; 100], 50).deviation, 0.0);
/// ```
pub fn noise<P: NoisePixel>(pixels: &[P], row: usize) -> Noise {
    let mut found = Noise {
        least: f64::INFINITY,
        greatest: f64::NEG_INFINITY,
        defined: 0,
        has_infinite: false,
        deviation: 0.0,
    };
    // Rows that no difference fits in count as one.
    let row = if row < SPAN { pixels.len().max(1) } else { row };
    let mut medians: [Vec<f64>; 3] = Default::default();
    let mut differences: [Vec<f64>; 3] = Default::default();
    let mut defined = Vec::with_capacity(row.min(pixels.len()));
    for row in pixels.chunks(row) {
        defined.clear();
        defined.extend(row.iter().copied().filter(|pixel| pixel.is_defined()));
        for pixel in &defined {
            let value = pixel.value();
            found.least = found.least.min(value);
            found.greatest = found.greatest.max(value);
            found.has_infinite |= value.is_infinite();
        }
        found.defined += defined.len();
        measure_row(&defined, &mut differences);
        for (differences, medians) in differences.iter_mut().zip(&mut medians) {
            medians.extend(low_median(differences));
            differences.clear();
        }
    }
    let scales = [OF_SECOND, OF_THIRD, OF_FIFTH];
    let [second, third, fifth] = std::array::from_fn(|of| scales[of] * middle(&mut medians[of]));
    found.deviation = [second, fifth]
        .into_iter()
        .fold(third, |least, other| if other != 0.0 && other < least { other } else { least });
    found
}

/// The differences of the defined pixels of a row; those of pixels that are all equal do not count.
fn measure_row<P: NoisePixel>(row: &[P], differences: &mut [Vec<f64>; 3]) {
    for nine in row.windows(SPAN) {
        let [second, third, fifth] = P::differences([nine[0], nine[2], nine[4], nine[6], nine[8]]);
        let same = |pixels: &[P]| pixels.windows(2).all(|pair| pair[0] == pair[1]);
        if !same(&nine[4..7]) {
            differences[0].push(second);
        }
        if !same(&nine[2..7]) {
            differences[1].push(third);
            differences[2].push(fifth);
        }
    }
}

/// The lower of the two middle numbers.
fn low_median(numbers: &mut [f64]) -> Option<f64> {
    let middle = numbers.len().checked_sub(1)? / 2;
    let (_, median, _) = numbers.select_nth_unstable_by(middle, order);
    Some(*median)
}

/// The mean of the two middle numbers; 0 of none.
fn middle(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(order);
    match numbers.len() {
        0 => 0.0,
        count => (numbers[(count - 1) / 2] + numbers[count / 2]) / 2.0,
    }
}

fn order(a: &f64, b: &f64) -> Ordering {
    a.total_cmp(b)
}
