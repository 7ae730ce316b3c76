//! Sums of the pixels of regions, weighted with their shares inside, in one pass over the boxes around all
//! regions.

use std::ops::Range;

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{Encoding, PixelType, Sum, Tier, decode_f64};
use tachyfits_memory as memory;

use crate::error::{Error, Reason};
use crate::grid::Grid;
use crate::image::{Image, tier};
use crate::line_fold::{LeafRows, LineFold, fold_lines};
use crate::lines::Line;
use crate::region::{Region, RowSpan};
use crate::region_lines::RegionLines;
use crate::section::{AxisRange, Section};
use crate::shares::Shares;

/// Maximum number of shares in memory (32 MiB) and of rows, exceeded by at most one region: far below the
/// maximum number of lines of a request.
const PIXELS_AT_ONCE: u64 = 1 << 22;
const ROWS_AT_ONCE: u64 = 1 << 18;

const WHAT: &str = "weighted sums";

/// Result of [`Image::weighted`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Weighted {
    /// Lengths of the remaining axes in FITS order, followed by the number of regions.
    pub axes: Vec<u64>,
    /// Σ share × value of the defined pixels; NaN without any.
    pub sums: Vec<f64>,
    /// Σ share of the defined pixels.
    pub shares: Vec<f64>,
}

impl Image {
    /// Sums physical values along axes (0 is NAXIS1), for each region separately. Pixels are weighted with
    /// their shares inside ([`Region::shares`]). NAXIS1 and NAXIS2 must be reduced, and complete in the
    /// section. The bits of a region's result do not depend on other regions.
    ///
    /// ```
    /// use tachyfits::{Array, Header, Region, RunOptions};
    /// let image = Array::new(&[1i16, 2, 6], &[3, 1]).to_file("three pixels", &Header::new())?.image(0)?;
    /// let region = Region::rectangle(1.0, 0.0, 2.0, 1.0, 0.0)?;
    /// let (weighted, _) = image.weighted(&[0, 1], &image.whole(), &[region], &RunOptions::default())?;
    /// assert_eq!((weighted.sums, weighted.shares), (vec![5.5], vec![2.0]));
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Image::reduce`] and [`Region::shares`].
    pub fn weighted(
        &self,
        axes: &[usize],
        section: &Section,
        regions: &[Region],
        options: &RunOptions<'_>,
    ) -> Result<(Weighted, Report), Error> {
        let reduced = self.reduced_axes(axes)?;
        self.check_section(section)?;
        let plane = match (self.axes(), &reduced[..]) {
            ([width, height, ..], [true, true, ..]) => [*width, *height],
            _ => return Err(self.refused(Reason::Region, "NAXIS1 and NAXIS2 reduced", "others")),
        };
        for (axis, &length) in plane.iter().enumerate() {
            if section.ranges()[axis] != (AxisRange { first: 0, count: length, step: 1 }) {
                return Err(self.refused(Reason::Section, "whole planes for weights", "a section"));
            }
        }
        let outputs = Grid::new(self.axes(), section, &reduced).outputs;
        let remaining = section.ranges().iter().zip(&reduced).filter(|(_, reduced)| !**reduced);
        let mut axes: Vec<u64> = remaining.map(|(range, _)| range.count).collect();
        axes.push(regions.len() as u64);
        let length = usize::try_from(outputs).unwrap_or(usize::MAX).saturating_mul(regions.len());
        let mut sums = memory::with_room(length, WHAT)?;
        let mut shares = memory::with_room(length, WHAT)?;
        let mut report: Option<Report> = None;
        let mut remaining_regions = regions.iter();
        while outputs > 0 && !remaining_regions.as_slice().is_empty() {
            let mut batch = memory::with_room(remaining_regions.len(), WHAT)?;
            let (mut pixels, mut rows) = (0, 0);
            while pixels < PIXELS_AT_ONCE
                && rows < ROWS_AT_ONCE
                && let Some(region) = remaining_regions.next()
            {
                let region_shares = region
                    .shares(plane[0], plane[1], options)
                    .map_err(|error| self.place(error))?;
                pixels += region_shares.values.len() as u64;
                rows += region_shares.height;
                batch.push(region_shares);
            }
            let boxes: Result<Vec<Region>, Error> = batch.iter().map(box_of).collect();
            let lines = RegionLines::new(self, section, &reduced, &boxes?, false, options)?;
            self.check_present(lines.last_pixel())?;
            let batch_outputs = outputs * batch.len() as u64;
            let fold = WeightedFold {
                encoding: self.encoding(),
                tier: tier(),
                plane,
                outputs,
                shares: batch,
            };
            let batch_report =
                fold_lines(self, &lines, &fold, batch_outputs, options, |state: &WeightedSum| {
                    let is_defined = state.products.count > 0;
                    sums.push(if is_defined { state.products.sum.value() } else { f64::NAN });
                    shares.push(state.shares.sum.value());
                })?;
            report = Some(report.map_or(batch_report, |before| before.followed_by(&batch_report)));
        }
        Ok((Weighted { axes, sums, shares }, report.unwrap_or_default()))
    }
}

/// Returns the box of shares as a region.
fn box_of(shares: &Shares) -> Result<Region, Error> {
    let rows: Range<u64> = if shares.width > 0 { shares.y..shares.y + shares.height } else { 0..0 };
    let mut spans = memory::with_room((rows.end - rows.start) as usize, WHAT)?;
    spans.extend(rows.map(|y| RowSpan { y, first: shares.x, last: shares.x + shares.width - 1 }));
    Region::of_spans(spans)
}

/// Sums products of pixels and shares, and the shares of defined pixels.
struct WeightedFold {
    encoding: Encoding,
    tier: Tier,
    plane: [u64; 2],
    /// Number of outputs of a region.
    outputs: u64,
    shares: Vec<Shares>,
}

#[derive(Clone, Default)]
struct WeightedSum {
    products: Sum,
    shares: Sum,
}

/// Type of the products and shares, big-endian as in computed images.
const SUMMED: PixelType = PixelType::F64;
const BYTES: usize = 8;

impl LineFold for WeightedFold {
    type State = WeightedSum;
    const HAS_POSITIONS: bool = false;

    /// Returns the product and the share of each pixel: NaN if the share is 0 or the pixel undefined, and 0
    /// as the share of an undefined pixel.
    fn pixels<'a>(&self, line: &Line, bytes: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        // At most the pixels of a line, 512 KiB of f64.
        let mut values = vec![0.0; line.stretch.count as usize];
        decode_f64(bytes, &self.encoding, self.tier, &mut values);
        let plane_index = line.position % (self.plane[0] * self.plane[1]);
        let (x, y) = (plane_index % self.plane[0], plane_index / self.plane[0]);
        let shares = self.shares[(line.output / self.outputs) as usize].from(x, y);
        buffer.clear();
        // At most twice the size of the values.
        buffer.reserve(2 * BYTES * values.len());
        for (value, &share) in values.iter().zip(shares) {
            let product = if share > 0.0 { value * share } else { f64::NAN };
            let share = if value.is_nan() { 0.0 } else { share };
            buffer.extend_from_slice(&product.to_be_bytes());
            buffer.extend_from_slice(&share.to_be_bytes());
        }
        buffer
    }

    fn accumulate(&self, state: &mut WeightedSum, bytes: &[u8], _position: u64) {
        let encoding = Encoding::plain(SUMMED);
        let mut half = Vec::new();
        for (sum, first) in [(&mut state.products, 0), (&mut state.shares, BYTES)] {
            half.clear();
            // At most a line, 512 KiB.
            half.reserve(bytes.len() / 2);
            let pairs = bytes.chunks_exact(2 * BYTES);
            pairs.for_each(|pair| half.extend_from_slice(&pair[first..first + BYTES]));
            sum.accumulate_exactly(&half, &encoding, self.tier);
        }
    }

    fn merge(&self, state: &mut WeightedSum, later: &WeightedSum) {
        state.products.merge(&later.products);
        state.shares.merge(&later.shares);
    }

    fn place(&self, _state: &mut WeightedSum, _rows: &LeafRows) {}
}
