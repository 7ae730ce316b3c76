//! Positions of samples along a path, and the pixels that each sample is computed from.

use std::collections::BTreeMap;
use std::ops::Range;

use tachyfits_memory::{self as memory, NoMemory};

/// Number of samples that are computed together because they need neighbouring rows.
pub(super) const CHUNK: usize = 256;

/// Samples of a path, in order.
#[derive(Debug)]
pub(super) struct Samples {
    /// Position of each sample, and the unit vector across the path there.
    places: Vec<([f64; 2], [f64; 2])>,
    width: u32,
    axes: [u64; 2],
}

/// A pixel with its weight in a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tap {
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) weight: f64,
}

/// Pixels of one row that some samples need: the first pixel and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleRow {
    pub(super) y: u64,
    pub(super) first: u64,
    pub(super) count: u64,
}

/// Samples that are computed together, and the rows they need.
#[derive(Debug)]
pub(super) struct SampleChunk {
    pub(super) samples: Range<usize>,
    /// Rows in ascending order of y.
    pub(super) rows: Vec<SampleRow>,
    /// Number of pixels in the rows before each row.
    before: Vec<usize>,
}

/// Returns the length of a path in pixels.
pub(super) fn length(points: &[[f64; 2]]) -> f64 {
    points.windows(2).map(|pair| distance(pair[0], pair[1])).sum()
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    ((b[0] - a[0]).powi(2) + (b[1] - a[1]).powi(2)).sqrt()
}

impl Samples {
    /// Creates the samples of a path with non-zero length, within an image with these two axes.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(super) fn new(
        points: &[[f64; 2]],
        width: u32,
        spacing: f64,
        axes: [u64; 2],
    ) -> Result<Samples, NoMemory> {
        let segments: Vec<_> = points
            .windows(2)
            .map(|pair| (pair[0], pair[1], distance(pair[0], pair[1])))
            .filter(|segment| segment.2 > 0.0)
            .collect();
        // A rounding error could put the last sample just beyond the end of the path.
        let count = (length(points) / spacing + 1e-9).floor() as usize + 1;
        let (mut segment, mut begin) = (0, 0.0);
        let mut places = memory::with_room(count, "the samples of a path")?;
        for number in 0..count {
            let offset = number as f64 * spacing;
            while segment + 1 < segments.len() && offset >= begin + segments[segment].2 {
                begin += segments[segment].2;
                segment += 1;
            }
            let (from, to, length) = segments[segment];
            let along = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
            let within = offset - begin;
            let place = [from[0] + along[0] * within, from[1] + along[1] * within];
            places.push((place, [-along[1], along[0]]));
        }
        Ok(Samples { places, width, axes })
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Lists the pixels of a sample that are inside the image. Their weights may add up to less than the
    /// width.
    pub(super) fn taps(&self, sample: usize, taps: &mut Vec<Tap>) {
        taps.clear();
        let (place, across) = self.places[sample];
        for number in 0..self.width {
            let offset = f64::from(number) - (f64::from(self.width) - 1.0) / 2.0;
            let [x, y] = [place[0] + across[0] * offset, place[1] + across[1] * offset];
            let (left, below) = (x.floor(), y.floor());
            for (y, by_y) in [(below, 1.0 - (y - below)), (below + 1.0, y - below)] {
                for (x, by_x) in [(left, 1.0 - (x - left)), (left + 1.0, x - left)] {
                    let weight = by_x * by_y;
                    let inside = (0.0..self.axes[0] as f64).contains(&x)
                        && (0.0..self.axes[1] as f64).contains(&y);
                    if inside && weight > 0.0 {
                        taps.push(Tap { x: x as u64, y: y as u64, weight });
                    }
                }
            }
        }
    }

    /// Returns the samples in chunks, with the rows they need.
    pub(super) fn chunks(&self) -> Vec<SampleChunk> {
        let mut taps = Vec::new();
        let chunk = |first: usize| {
            let samples = first..(first + CHUNK).min(self.len());
            let mut rows: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
            for sample in samples.clone() {
                self.taps(sample, &mut taps);
                for tap in &taps {
                    let (first, last) = rows.entry(tap.y).or_insert((tap.x, tap.x));
                    (*first, *last) = ((*first).min(tap.x), (*last).max(tap.x));
                }
            }
            let row = |(y, (first, last))| SampleRow { y, first, count: last - first + 1 };
            SampleChunk::new(samples, rows.into_iter().map(row).collect())
        };
        (0..self.len()).step_by(CHUNK).map(chunk).collect()
    }
}

impl SampleChunk {
    fn new(samples: Range<usize>, rows: Vec<SampleRow>) -> SampleChunk {
        // At most two rows for each pixel across each of CHUNK samples.
        let mut before = Vec::with_capacity(rows.len());
        let mut pixels = 0;
        for row in &rows {
            before.push(pixels);
            pixels += row.count as usize;
        }
        SampleChunk { samples, rows, before }
    }

    /// Returns the number of pixels of a plane in the rows.
    pub(super) fn pixels(&self) -> usize {
        self.before.last().zip(self.rows.last()).map_or(0, |(n, row)| n + row.count as usize)
    }

    /// Returns a needed row and the number of pixels before it.
    pub(super) fn row(&self, y: u64) -> (usize, SampleRow) {
        let number = self.rows.partition_point(|row| row.y < y);
        (self.before[number], self.rows[number])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(points: &[[f64; 2]], spacing: f64) -> Vec<[f64; 2]> {
        let samples = Samples::new(points, 1, spacing, [100, 100]).unwrap();
        samples.places.iter().map(|place| place.0).collect()
    }

    #[test]
    fn samples_follow_the_path_round_its_corners() {
        let corner = [[1.0, 1.0], [3.0, 1.0], [3.0, 1.0], [3.0, 2.5]];
        let expected = [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [3.0, 2.0]];
        assert_eq!(places(&corner, 1.0), expected);
        assert_eq!(places(&[[0.0, 0.0], [0.0, 0.3]], 0.1).len(), 4);
        let samples = Samples::new(&corner, 1, 1.0, [100, 100]).unwrap();
        assert_eq!(samples.places[1].1, [0.0, 1.0]);
        assert_eq!(samples.places[3].1, [-1.0, 0.0]);
    }

    #[test]
    fn a_sample_on_a_pixel_is_that_pixel() {
        let samples = Samples::new(&[[2.0, 3.0], [5.0, 3.0]], 1, 1.0, [100, 100]).unwrap();
        let mut taps = Vec::new();
        samples.taps(2, &mut taps);
        assert_eq!(taps, [Tap { x: 4, y: 3, weight: 1.0 }]);
    }

    #[test]
    fn a_wide_sample_is_centred_and_ignores_pixels_outside() {
        let samples = Samples::new(&[[0.5, 0.0], [5.0, 0.0]], 3, 1.0, [100, 100]).unwrap();
        let mut taps = Vec::new();
        samples.taps(0, &mut taps);
        let tap = |x, y| Tap { x, y, weight: 0.5 };
        assert_eq!(taps, [tap(0, 0), tap(1, 0), tap(0, 1), tap(1, 1)]);
    }

    #[test]
    fn chunks_have_the_rows_of_their_samples() {
        let samples = Samples::new(&[[0.0, 0.0], [300.0, 300.0]], 2, 1.0, [200, 400]).unwrap();
        let chunks = samples.chunks();
        assert_eq!(chunks.len(), 2);
        let mut taps = Vec::new();
        for chunk in &chunks {
            let mut pixels = 0;
            for row in &chunk.rows {
                assert_eq!(chunk.row(row.y), (pixels, *row));
                pixels += row.count as usize;
            }
            assert_eq!(chunk.pixels(), pixels);
            for sample in chunk.samples.clone() {
                samples.taps(sample, &mut taps);
                for tap in &taps {
                    let (_, row) = chunk.row(tap.y);
                    assert!(row.y == tap.y && (row.first..row.first + row.count).contains(&tap.x));
                }
            }
        }
        // Samples beyond the image need no pixels.
        let outside = Samples::new(&[[500.0, 0.0], [510.0, 0.0]], 1, 1.0, [200, 400]).unwrap();
        assert_eq!(outside.chunks()[0].pixels(), 0);
    }
}
