//! Axes in another order, pixels as they are stored.

mod permute;

use std::sync::Arc;

use tachyfits_format::reordered_header;
use tachyfits_io::Storage;
use tachyfits_kernels::Encoding;

use crate::computed::{Computed, Feed, Node, Reads, Sources, Window, reordered_shape};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::image::Image;
use permute::permute;

/// How many pixels are written at a time for each that is read at a time, where the input is in memory: reading a run of
/// 1 KiB takes half a microsecond there, writing one costs more than that for each of its ends. The axes of 1024 x 1024 x
/// 1024 pixels of f32 were turned round in 3.9 s with runs four times as long, and in 2.1 so; those of 128 x 128 x 65536 in
/// 3.6 and 2.8 (Zen 5, ext4, Linux 6.18). What is brought from the disk is read in long runs for that: 11 s, and 16 with
/// runs four times as long.
const LONGER_IN_MEMORY: u64 = 16;

impl Image {
    /// The image with its axes in another order, computed when it is read or written: the new axis n is the axis
    /// `order[n]`, 0 for NAXIS1. Pixels keep their bits, BSCALE, BZERO and BLANK; every keyword of an axis gets its new
    /// number.
    ///
    /// ```
    /// # let cards = ["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    2",
    /// #     "NAXIS1  =                    3", "NAXIS2  =                    2", "END"];
    /// # let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    /// # bytes.resize(2880, b' ');
    /// # bytes.extend([1, 2, 3, 4, 5, 6]);
    /// # bytes.resize(5760, 0);
    /// use tachyfits::{FitsFile, OpenOptions, OutputPixels, ReadAs, RunOptions};
    /// // Two rows: 1 2 3 and 4 5 6.
    /// let image = FitsFile::from_bytes("example", bytes, &OpenOptions::default())?.image(0)?;
    /// let turned = image.reorder(&[1, 0])?.image(0)?;
    /// assert_eq!(turned.axes(), [2, 3]);
    /// let mut pixels = [0.0; 6];
    /// let out = OutputPixels::Float64(&mut pixels);
    /// turned.read(&turned.whole(), ReadAs::Float64, out, &RunOptions::default())?;
    /// assert_eq!(pixels, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::AxisOrder`] unless every axis is named once; what the header says about the coordinates when their axes
    /// cannot be moved; as [`Image::stats`] for pixels that are not there.
    pub fn reorder(&self, order: &[usize]) -> Result<FitsFile, Error> {
        let axes = self.axes().len();
        let named_once = (0..axes).all(|axis| order.contains(&axis));
        if order.len() != axes || !named_once {
            let expected = format!("each of the {axes} axes once (0 is NAXIS1)");
            return Err(self.refused(Reason::AxisOrder, expected, format!("{order:?}")));
        }
        let numbers: Vec<usize> = order.iter().map(|axis| axis + 1).collect();
        let header = self.format_error(reordered_header(self.hdu(), &numbers))?;
        let name = format!("{} (reordered)", self.file_name());
        Computed::new(name, Arc::new(Reorder::new(self.node()?, order)), header)?.file()
    }
}

/// The node of another order.
#[derive(Debug)]
struct Reorder {
    input: Arc<dyn Node>,
    axes: Vec<u64>,
    order: Vec<usize>,
}

impl Reorder {
    fn new(input: Arc<dyn Node>, order: &[usize]) -> Reorder {
        let axes = order.iter().map(|&axis| input.axes()[axis]).collect();
        Reorder { input, axes, order: order.to_vec() }
    }

    /// The box of the input that has the pixels of a box.
    fn needed(&self, window: &Window) -> Window {
        let mut needed = window.clone();
        for (new, &old) in self.order.iter().enumerate() {
            needed.first[old] = window.first[new];
            needed.count[old] = window.count[new];
        }
        needed
    }
}

impl Node for Reorder {
    fn axes(&self) -> &[u64] {
        &self.axes
    }

    fn encoding(&self) -> Encoding {
        self.input.encoding()
    }

    fn sources(&self, sources: &mut Sources) {
        self.input.sources(sources);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        self.input.reads(&self.needed(window), reads);
    }

    fn bytes(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) {
        let needed = self.needed(window);
        let mut pixels = feed.scratch.bytes(out.len());
        self.input.bytes(&needed, feed, &mut pixels);
        permute(&pixels, &needed.count, &self.order, self.encoding().pixel_bytes(), out);
        feed.scratch.give_back_bytes(pixels);
    }

    fn halo(&self) -> Vec<u64> {
        let halo = self.input.halo();
        self.order.iter().map(|&axis| halo[axis]).collect()
    }

    fn expansion(&self) -> u64 {
        self.input.expansion()
    }

    fn box_shape(&self) -> Vec<u64> {
        let bytes = self.encoding().pixel_bytes() as u64;
        let mut sources = Sources::default();
        self.sources(&mut sources);
        let input = sources.joined();
        let longer = if input.is_resident(0..input.bytes()) { LONGER_IN_MEMORY } else { 1 };
        let bytes = bytes.saturating_mul(self.expansion());
        reordered_shape(&self.axes, &self.order, bytes, longer)
    }
}
