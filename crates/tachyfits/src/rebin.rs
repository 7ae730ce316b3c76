//! Combines blocks of pixels into one pixel each: their mean, sum, median, minimum or maximum.

use std::sync::Arc;

use tachyfits_format::AxisBlocks;
use tachyfits_io::IoError;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{Common, Encoding, Extremum, PixelType, wide_integers};
use tachyfits_memory as memory;

use crate::computed::{Computed, Feed, Node, Reads, Sources, Window, usual_shape};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::image::Image;
use crate::number::{Native, float_encoding, is_exact_in_f32};
use crate::survival::Change;

/// Statistic of a block. Undefined pixels are ignored; a block of only undefined pixels is
/// undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockStatistic {
    /// The mean.
    #[default]
    Mean,
    /// The sum.
    Sum,
    /// The median; for an even number of pixels the mean of the two middle values.
    Median,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
}

tachyfits_io::options! {
    /// Options for combining blocks of pixels.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Rebinning {
        /// Pixels of a block along each axis, NAXIS1 first. The first block begins with the first pixel.
        pub block: Vec<u64>,
        /// Statistic of a block.
        pub statistic: BlockStatistic,
        /// Whether a partial block at the end of an axis becomes a pixel; otherwise its pixels are dropped,
        /// as in CASA's ia.rebin and astropy's block_reduce by default.
        pub keep_partial: bool,
    }
}

impl Rebinning {
    /// Creates options for the means of whole blocks.
    pub fn new(block: Vec<u64>) -> Rebinning {
        Rebinning { block, statistic: BlockStatistic::Mean, keep_partial: false }
    }
}

/// Maximum number of pixels of a block, which is processed in one piece: 32 MiB of f64.
const MOST_BLOCK_PIXELS: u64 = 1 << 22;
/// Maximum input of a box, in usual boxes; boxes with more input are smaller.
const INPUT_BOXES: u64 = 8;

impl Image {
    /// Returns the image with blocks of pixels combined, computed when it is read or written. Results are
    /// float32 for float32 pixels and integers of up to 16 bits, float64 for others and where float32 would
    /// overflow. Sums of integers are exact: 64-bit integers if all fit (64-bit pixels are read to check
    /// this), otherwise float64. Other values are computed in f64 in the order of the pixels and rounded
    /// once. Coordinates follow: the edge of the first pixel stays in place.
    ///
    /// ```
    /// use tachyfits::{Array, Header, OutputPixels, ReadAs, RunOptions};
    /// use tachyfits::rebin::Rebinning;
    /// let image = Array::new(&[1u8, 2, 3, 5, 9], &[5]).to_file("example", &Header::new())?.image(0)?;
    /// let pairs = Rebinning::new(vec![2]).keep_partial(true);
    /// let rebinned = image.rebin(&pairs)?.image(0)?;
    /// let mut pixels = [0.0; 3];
    /// let out = OutputPixels::Float32(&mut pixels);
    /// rebinned.read(&rebinned.whole(), ReadAs::Float32, out, &RunOptions::default())?;
    /// assert_eq!(pixels, [1.5, 4.0, 9.0]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Rebinning`] unless there is one block length per axis, all are at least 1, the image has at
    /// least one block, and a block has at most 2^22 pixels; errors of the header if coordinates cannot
    /// follow; as [`Image::stats`] for missing pixels.
    pub fn rebin(&self, rebinning: &Rebinning) -> Result<FitsFile, Error> {
        let axes = self.axes();
        let refuse = |expected: String| {
            let actual = format!("blocks of {:?} pixels for {axes:?}", rebinning.block);
            Err(self.refused(Reason::Rebinning, expected, actual))
        };
        if rebinning.block.len() != axes.len() || axes.is_empty() {
            return refuse(format!("pixels of a block along each of {} axes", axes.len()));
        }
        let blocks: Vec<AxisBlocks> =
            axes.iter().zip(&rebinning.block).map(|(&n, &b)| rebinning.blocks(n, b)).collect();
        if blocks.iter().any(|block| block.pixels == 0 || block.count == 0) {
            return refuse("from 1 pixel to those of the axis in a block".to_owned());
        }
        let pixels = blocks.iter().fold(1u64, |all, block| all.saturating_mul(block.pixels));
        if pixels > MOST_BLOCK_PIXELS {
            return refuse(format!("at most {MOST_BLOCK_PIXELS} pixels in a block"));
        }
        let statistic = format!("{:?}", rebinning.statistic).to_lowercase();
        let survivors = self.survivors(Change::Blocks(&blocks, &statistic))?;
        let name = format!("{} (rebinned)", self.file_name());
        let from = self.encoding();
        let integers = match rebinning.statistic {
            BlockStatistic::Sum => self.integer_sums(pixels)?,
            // f64 cannot represent all 64-bit integers.
            BlockStatistic::Min | BlockStatistic::Max if wide_integers::are_long(&from) => {
                Some(from)
            }
            _ => None,
        };
        let node = Rebin::new(self.node()?, &blocks, rebinning.statistic, integers);
        FitsFile::computed(Computed::new(name, Arc::new(node), survivors)?)
    }
}

impl Image {
    /// Returns the encoding of sums of `pixels` integers each; `None` for other pixels. Sums are 64-bit
    /// integers if all fit, otherwise f64. For 64-bit pixels the largest one decides.
    fn integer_sums(&self, pixels: u64) -> Result<Option<Encoding>, Error> {
        let from = self.encoding();
        if !wide_integers::are_integers(&from) {
            return Ok(None);
        }
        let fits = match wide_integers::are_long(&from) {
            false => true,
            true => {
                let (stats, _) = self.stats(&self.whole(), None, &RunOptions::default())?;
                let size = |extreme: Option<Extremum>| extreme.map_or(0.0, |e| e.value.abs());
                let largest = size(stats[0].min).max(size(stats[0].max));
                // Rounding of the extremes and of the product is far below this.
                largest * pixels as f64 * (1.0 + 1e-12) < 2f64.powi(63)
            }
        };
        let blank = from.blank.is_some().then_some(i64::MIN);
        Ok(Some(match fits {
            true => Encoding { blank, ..Encoding::plain(PixelType::I64) },
            false => Encoding::plain(PixelType::F64),
        }))
    }
}

impl Rebinning {
    /// Returns the blocks of an axis of `length` pixels. Blocks are at most as long as the axis.
    fn blocks(&self, length: u64, pixels: u64) -> AxisBlocks {
        match self.keep_partial {
            true => {
                let pixels = pixels.min(length);
                AxisBlocks { pixels, count: length.div_ceil(pixels.max(1)) }
            }
            false => AxisBlocks { pixels, count: length / pixels.max(1) },
        }
    }
}

/// Node that combines blocks of pixels.
#[derive(Debug)]
struct Rebin {
    input: Arc<dyn Node>,
    axes: Vec<u64>,
    /// Number of pixels of a block along each axis.
    block: Vec<u64>,
    statistic: BlockStatistic,
    encoding: Encoding,
    /// Whether results are sums or extremes of integers, and exact.
    exact: bool,
}

impl Rebin {
    /// Creates the node; `integers` is the encoding of exact integer results, `None` for float results.
    fn new(
        input: Arc<dyn Node>,
        blocks: &[AxisBlocks],
        statistic: BlockStatistic,
        integers: Option<Encoding>,
    ) -> Rebin {
        let pixels: u64 = blocks.iter().map(|block| block.pixels).product();
        let gain = if statistic == BlockStatistic::Sum { pixels as f64 } else { 1.0 };
        let encoding = integers.unwrap_or_else(|| float_encoding(&input.encoding(), gain));
        let axes = blocks.iter().map(|block| block.count).collect();
        let block = blocks.iter().map(|block| block.pixels).collect();
        Rebin { input, axes, block, statistic, encoding, exact: integers.is_some() }
    }

    /// Returns the box of the input that the blocks of a box need.
    fn needed(&self, window: &Window) -> Window {
        let mut input_box = window.clone();
        for (axis, &pixels) in self.block.iter().enumerate() {
            let begin = window.first[axis] * pixels;
            let end =
                ((window.first[axis] + window.count[axis]) * pixels).min(self.input.axes()[axis]);
            (input_box.first[axis], input_box.count[axis]) = (begin, end - begin);
        }
        input_box
    }

    fn rebin<T: Native + Into<f64>>(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let input_box = self.needed(window);
        let mut values = T::take(feed.scratch, input_box.pixels() as usize)?;
        T::values(&*self.input, &input_box, feed, &mut values)?;
        let mut results = feed.scratch.f64s(window.pixels() as usize)?;
        let rows = BlockRows { input_box: &input_box, window, block: &self.block };
        match self.statistic {
            BlockStatistic::Mean => rows.sums(&values, true, &mut results)?,
            BlockStatistic::Sum => rows.sums(&values, false, &mut results)?,
            BlockStatistic::Median => rows.medians(&values, feed, &mut results)?,
            BlockStatistic::Min => rows.extremes(&values, |new, old| new < old, &mut results),
            BlockStatistic::Max => rows.extremes(&values, |new, old| new > old, &mut results),
        }
        feed.encode(&results, &self.encoding, out)?;
        feed.scratch.give_back_f64s(results);
        T::give_back(feed.scratch, values);
        Ok(())
    }
}

impl Rebin {
    /// Computes sums and extremes of integers.
    fn rebin_integers(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let merge: fn(i128, i128) -> i128 = match self.statistic {
            BlockStatistic::Min => Ord::min,
            BlockStatistic::Max => Ord::max,
            _ => |sum, pixel| sum + pixel,
        };
        let input_box = self.needed(window);
        let from = self.input.encoding();
        let mut bytes = feed.scratch.bytes(input_box.pixels() as usize * from.pixel_bytes())?;
        self.input.fill(&input_box, feed, &mut bytes)?;
        let mut pixels = memory::with_room(input_box.pixels() as usize, "the pixels of blocks")?;
        wide_integers::each(&bytes, &from, |pixel| pixels.push(pixel));
        feed.scratch.give_back_bytes(bytes);
        let count = window.pixels() as usize;
        let mut results: Vec<Option<i128>> = memory::filled(count, None, "blocks of pixels")?;
        let (width, length) = (window.count[0] as usize, self.block[0] as usize);
        BlockRows { input_box: &input_box, window, block: &self.block }.each(
            &pixels,
            |row, number| {
                let results = &mut results[number * width..(number + 1) * width];
                for (block, result) in row.chunks(length).zip(results) {
                    for pixel in block.iter().copied().flatten() {
                        *result = Some(result.map_or(pixel, |result| merge(result, pixel)));
                    }
                }
            },
        );
        let zero = if self.encoding.pixel == PixelType::U64 { 1 << 63 } else { 0 };
        for (result, out) in results.iter().zip(out.as_chunks_mut::<8>().0) {
            *out = match (result, self.encoding.pixel) {
                (Some(result), PixelType::F64) => (*result as f64).to_be_bytes(),
                (None, PixelType::F64) => f64::NAN.to_be_bytes(),
                (Some(result), _) => ((*result - zero) as i64).to_be_bytes(),
                (None, _) => self.encoding.blank.unwrap_or(0).to_be_bytes(),
            };
        }
        Ok(())
    }
}

/// Rows of input pixels along x in the blocks of a box.
struct BlockRows<'a> {
    input_box: &'a Window,
    window: &'a Window,
    block: &'a [u64],
}

impl BlockRows<'_> {
    /// Visits the rows in order, each with the number of its row of results.
    fn each<'v, T>(&self, values: &'v [T], mut visit: impl FnMut(&'v [T], usize)) {
        let length = self.input_box.count[0] as usize;
        for (number, row) in (0u64..).zip(values.chunks_exact(length)) {
            let (mut rest, mut result, mut stride) = (number, 0, 1);
            for axis in 1..self.block.len() {
                result += rest % self.input_box.count[axis] / self.block[axis] * stride;
                stride *= self.window.count[axis];
                rest /= self.input_box.count[axis];
            }
            visit(row, result as usize);
        }
    }

    fn sums<T: Copy + Into<f64>>(
        &self,
        values: &[T],
        mean: bool,
        results: &mut [f64],
    ) -> Result<(), IoError> {
        let (width, pixels) = (self.window.count[0] as usize, self.block[0] as usize);
        let mut counts = memory::filled(results.len(), 0u32, "the counts of blocks")?;
        // The mean of equal pixels must be their value, which a rounded sum divided by the count may miss.
        let compared = if mean { results.len() } else { 0 };
        let mut common = memory::filled(compared, Common::Unknown, "the values of blocks")?;
        // Not 0.0, which would change the sum of a block of -0.0 to 0.0.
        results.fill(-0.0);
        self.each(values, |row, number| {
            let range = number * width..(number + 1) * width;
            if mean {
                for (block, common) in row.chunks(pixels).zip(&mut common[range.clone()]) {
                    for &value in block {
                        if *common == Common::Different {
                            break;
                        }
                        *common = common.and(value.into());
                    }
                }
            }
            let (sums, counts) = (&mut results[range.clone()], &mut counts[range]);
            if pixels == 1 {
                for ((&value, sum), count) in row.iter().zip(sums).zip(counts) {
                    add(value.into(), sum, count);
                }
                return;
            }
            for ((block, sum), count) in row.chunks(pixels).zip(sums).zip(counts) {
                for &value in block {
                    add(value.into(), sum, count);
                }
            }
        });
        for (index, (result, &count)) in results.iter_mut().zip(&counts).enumerate() {
            *result = match (count, mean) {
                (0, _) => f64::NAN,
                (count, true) => common[index].mean_or(*result / f64::from(count)),
                (_, false) => *result,
            };
        }
        Ok(())
    }

    fn extremes<T: Copy + Into<f64>>(
        &self,
        values: &[T],
        replaces: impl Fn(f64, f64) -> bool,
        results: &mut [f64],
    ) {
        let (width, pixels) = (self.window.count[0] as usize, self.block[0] as usize);
        results.fill(f64::NAN);
        self.each(values, |row, number| {
            let results = &mut results[number * width..(number + 1) * width];
            for (block, result) in row.chunks(pixels).zip(results) {
                for &value in block {
                    let value: f64 = value.into();
                    if replaces(value, *result) || result.is_nan() {
                        *result = value;
                    }
                }
            }
        });
    }

    fn medians<T: Copy + Into<f64>>(
        &self,
        values: &[T],
        feed: &mut Feed<'_>,
        results: &mut [f64],
    ) -> Result<(), IoError> {
        let (width, pixels) = (self.window.count[0] as usize, self.block[0] as usize);
        // The pixels of each block, contiguous, and their number so far.
        let most = self.block.iter().product::<u64>() as usize;
        let mut gathered = feed.scratch.f64s(most * results.len())?;
        let mut counts = memory::filled(results.len(), 0usize, "the counts of blocks")?;
        self.each(values, |row, number| {
            for (at, block) in row.chunks(pixels).enumerate() {
                let result = number * width + at;
                for &value in block {
                    let value: f64 = value.into();
                    if !value.is_nan() {
                        gathered[result * most + counts[result]] = value;
                        counts[result] += 1;
                    }
                }
            }
        });
        for (number, result) in results.iter_mut().enumerate() {
            *result = median(&mut gathered[number * most..][..counts[number]]);
        }
        feed.scratch.give_back_f64s(gathered);
        Ok(())
    }
}

#[inline(always)]
fn add(value: f64, sum: &mut f64, count: &mut u32) {
    let good = !value.is_nan();
    // -0.0 leaves every sum unchanged.
    *sum += if good { value } else { -0.0 };
    *count += u32::from(good);
}

/// Returns the median, reordering the numbers; NaN for none.
fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return f64::NAN;
    }
    let even = values.len().is_multiple_of(2);
    let (lower, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return upper;
    }
    let lower = lower.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
    0.5 * lower + 0.5 * upper
}

impl Node for Rebin {
    fn axes(&self) -> &[u64] {
        &self.axes
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn sources(&self, sources: &mut Sources) {
        self.input.sources(sources);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        self.input.reads(&self.needed(window), reads);
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        if self.exact {
            return self.rebin_integers(window, feed, out);
        }
        match is_exact_in_f32(&self.input.encoding()) {
            true => self.rebin::<f32>(window, feed, out),
            false => self.rebin::<f64>(window, feed, out),
        }
    }

    fn halo(&self) -> Vec<u64> {
        let halo = self.input.halo();
        halo.iter().zip(&self.block).map(|(halo, pixels)| halo.div_ceil(*pixels)).collect()
    }

    fn expansion(&self) -> u64 {
        let pixels: u64 = self.block.iter().product();
        pixels.saturating_mul(self.input.expansion())
    }

    fn box_shape(&self) -> Vec<u64> {
        usual_shape(&self.axes, &self.halo(), self.expansion() / INPUT_BOXES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::OpenOptions;
    use crate::smooth::Smoothing;

    /// Creates an image of 64 x 64 x 4096 bytes.
    fn cube() -> Image {
        let cards = ["BITPIX", "8", "NAXIS", "3", "NAXIS1", "64", "NAXIS2", "64", "NAXIS3", "4096"];
        let cards = cards.chunks(2).map(|card| format!("{:<8}= {:>20}", card[0], card[1]));
        let first = [format!("{:<8}= {:>20}", "SIMPLE", "T")];
        let all = first.into_iter().chain(cards).chain(["END".to_owned()]);
        let mut bytes: Vec<u8> = all.flat_map(|card| format!("{card:<80}").into_bytes()).collect();
        bytes.resize(2880, b' ');
        bytes.resize(2880 + tachyfits_format::padded(64 * 64 * 4096) as usize, 0);
        FitsFile::from_bytes("cube", bytes, &OpenOptions::default()).unwrap().image(0).unwrap()
    }

    #[test]
    fn rebinned_images_use_smaller_boxes() {
        let block = vec![1, 1, 2048];
        let rebinning = Rebinning { block, statistic: BlockStatistic::Median, keep_partial: false };
        let rebinned = cube().rebin(&rebinning).unwrap().image(0).unwrap();
        let smoothing = Smoothing::new(0, vec![0.25, 0.5, 0.25]);
        let files = [
            rebinned.smooth(&smoothing).unwrap(),
            rebinned.reorder(&[2, 0, 1]).unwrap(),
            rebinned.smooth(&smoothing).unwrap().image(0).unwrap().reorder(&[1, 0, 2]).unwrap(),
        ];
        for image in files.map(|file| file.image(0).unwrap()).iter().chain([&rebinned]) {
            let node = image.node().unwrap();
            assert_eq!(node.expansion(), 2048);
            let pixels: u64 = node.box_shape().iter().product();
            // At most 4 Mi pixels of the input.
            assert!(pixels <= 2048, "{:?}", node.box_shape());
        }
    }
}
