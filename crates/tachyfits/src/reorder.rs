//! Axes in another order, pixels as they are stored.

mod permute;

use std::sync::Arc;

use tachyfits_io::{IoError, Storage};
use tachyfits_kernels::Encoding;

use crate::computed::{Computed, Feed, Node, Reads, Sources, Window, reordered_shape};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::image::Image;
use crate::survival::Change;
use permute::{BoxPieces, permute};

impl Image {
    /// The image with its axes in another order, computed when it is read or written: the new axis n is the axis
    /// `order[n]`, 0 for NAXIS1. Pixels keep their bits, BSCALE, BZERO and BLANK; every keyword of an axis gets its new
    /// number.
    ///
    /// ```
    /// use tachyfits::{Array, Header, OutputPixels, ReadAs, RunOptions};
    /// // Two rows: 1 2 3 and 4 5 6.
    /// let image = Array::new(&[1u8, 2, 3, 4, 5, 6], &[3, 2]).to_file("example", &Header::new())?.image(0)?;
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
        let survivors = self.survivors(Change::Order(order))?;
        let name = format!("{} (reordered)", self.file_name());
        FitsFile::computed(Computed::new(
            name,
            Arc::new(Reorder::new(self.node()?, order)),
            survivors,
        )?)
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

    fn is_logical(&self) -> bool {
        self.input.is_logical()
    }

    fn sources(&self, sources: &mut Sources) {
        self.input.sources(sources);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        self.input.reads(&self.needed(window), reads);
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        let needed = self.needed(window);
        let size = self.encoding().pixel_bytes();
        if let Some(stored) = self.input.stored(&needed, feed) {
            let fetched = feed.fetched;
            let piece = |index: usize| fetched.piece(stored.start + index);
            let length = out.len() / size / stored.len().max(1);
            permute(&BoxPieces { piece, length }, &needed.count, &self.order, size, out);
            return Ok(());
        }
        let mut pixels = feed.scratch.bytes(out.len())?;
        self.input.fill(&needed, feed, &mut pixels)?;
        let pieces = BoxPieces { piece: |_| &pixels[..], length: out.len() / size };
        permute(&pieces, &needed.count, &self.order, size, out);
        feed.scratch.give_back_bytes(pixels);
        Ok(())
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
        // Pixels that depend on many inputs take longer to compute than to read and write.
        let in_memory = self.expansion() == 1 && input.is_resident(0..input.bytes());
        let bytes = bytes.saturating_mul(self.expansion());
        reordered_shape(&self.axes, &self.order, bytes, in_memory)
    }
}
