//! Images with permuted axes and unchanged pixels.

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
    /// Returns the image with permuted axes, computed when it is read or written: the new axis n is axis
    /// `order[n]`; 0 is NAXIS1. Pixels keep their bits, BSCALE, BZERO and BLANK; keywords of axes are
    /// renumbered.
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
    /// [`Reason::AxisOrder`] unless `order` names every axis once; errors of the header if coordinates cannot
    /// follow their axes; as [`Image::stats`] for missing pixels.
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

/// Node that permutes axes.
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

    /// Returns the box of the input that contains the pixels of a box.
    fn needed(&self, window: &Window) -> Window {
        let mut input_box = window.clone();
        for (new, &old) in self.order.iter().enumerate() {
            input_box.first[old] = window.first[new];
            input_box.count[old] = window.count[new];
        }
        input_box
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
        let input_box = self.needed(window);
        let size = self.encoding().pixel_bytes();
        if let Some(pieces_of_box) = self.input.stored(&input_box, feed) {
            let fetched = feed.fetched;
            let piece = |index: usize| fetched.piece(pieces_of_box.start + index);
            let length = out.len() / size / pieces_of_box.len().max(1);
            permute(&BoxPieces { piece, length }, &input_box.count, &self.order, size, out);
            return Ok(());
        }
        let mut pixels = feed.scratch.bytes(out.len())?;
        self.input.fill(&input_box, feed, &mut pixels)?;
        let pieces = BoxPieces { piece: |_| &pixels[..], length: out.len() / size };
        permute(&pieces, &input_box.count, &self.order, size, out);
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
