//! Nodes of computed images: each computes the pixels of any box from the pixels of its inputs.
//!
//! A node is independent of files, threads and blocks. It requests the bytes that a box needs, and computes
//! the pixels of the box from them, as big-endian bytes or as native numbers. A tree of nodes is one image,
//! and exists in memory only box by box.

use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::{Fetched, IoError, JoinedStorage, Storage};
use tachyfits_kernels::{Encoding, Tier, decode_f32, decode_f64, encode_f64};
use tachyfits_memory as memory;

use super::tiles::usual_shape;
use super::window::Window;

/// An image that can compute any box of its pixels.
pub(crate) trait Node: Send + Sync + std::fmt::Debug {
    /// Lengths of the axes in FITS order.
    fn axes(&self) -> &[u64];

    /// Encoding of the pixels; always big-endian.
    fn encoding(&self) -> Encoding;

    /// Whether the pixels are logical values, 0 and 1.
    fn is_logical(&self) -> bool {
        false
    }

    /// Registers the storages that the tree reads.
    fn sources(&self, sources: &mut Sources);

    /// Requests the bytes that a box needs. [`Node::fill`] and the other methods consume them in the same
    /// order.
    fn reads(&self, window: &Window, reads: &mut Reads<'_>);

    /// Computes the pixels of a box as the bytes that [`Node::encoding`] describes.
    ///
    /// # Errors
    /// [`IoError::Values`] if the encoding cannot represent a value, and errors specific to the node.
    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError>;

    /// Returns the pixels of a box as pieces of the fetched bytes, one for each of the [`Window::runs`] of
    /// the box, if they are stored. A caller that can process pieces needs no buffer for the box.
    fn stored(&self, _window: &Window, _feed: &mut Feed<'_>) -> Option<Range<usize>> {
        None
    }

    /// Computes the physical values of a box, NaN for undefined pixels.
    ///
    /// # Errors
    /// As [`Node::fill`].
    fn values_f64(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [f64],
    ) -> Result<(), IoError> {
        let mut bytes = feed.scratch.bytes(out.len() * self.encoding().pixel_bytes())?;
        self.fill(window, feed, &mut bytes)?;
        decode_f64(&bytes, &self.encoding(), feed.tier, out);
        feed.scratch.give_back_bytes(bytes);
        Ok(())
    }

    /// Computes the values in f32, rounded once.
    ///
    /// # Errors
    /// As [`Node::fill`].
    fn values_f32(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [f32],
    ) -> Result<(), IoError> {
        let mut bytes = feed.scratch.bytes(out.len() * self.encoding().pixel_bytes())?;
        self.fill(window, feed, &mut bytes)?;
        decode_f32(&bytes, &self.encoding(), feed.tier, out);
        feed.scratch.give_back_bytes(bytes);
        Ok(())
    }

    /// Returns the maximum number of pixels that a box needs beyond its sides along each axis: boxes are long
    /// enough that these are few in comparison.
    fn halo(&self) -> Vec<u64>;

    /// Returns the approximate number of input pixels per pixel, without the halo: boxes have fewer pixels by
    /// this factor.
    fn expansion(&self) -> u64;

    /// Returns the best shape of boxes for computing all of the image.
    fn box_shape(&self) -> Vec<u64> {
        usual_shape(self.axes(), &self.halo(), self.expansion())
    }
}

/// The distinct storages of a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(Vec<Arc<dyn Storage>>);

impl Sources {
    pub(crate) fn add(&mut self, storage: &Arc<dyn Storage>) {
        if self.position(storage).is_none() {
            self.0.push(Arc::clone(storage));
        }
    }

    fn position(&self, storage: &Arc<dyn Storage>) -> Option<usize> {
        self.0.iter().position(|source| Arc::ptr_eq(source, storage))
    }

    /// Returns the storages joined into one.
    pub(crate) fn joined(&self) -> JoinedStorage {
        JoinedStorage::new(self.0.clone())
    }
}

/// Ranges that a box needs, in the joined storage.
pub(crate) struct Reads<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) joined: &'a JoinedStorage,
    pub(crate) ranges: &'a mut Vec<Range<u64>>,
}

impl Reads<'_> {
    /// Requests bytes of one of the storages.
    pub(crate) fn push(&mut self, storage: &Arc<dyn Storage>, range: Range<u64>) {
        let member =
            self.sources.position(storage).expect("a node names its storages in `sources`");
        let base = self.joined.base(member);
        self.ranges.push(base + range.start..base + range.end);
    }
}

/// Requested bytes, in order of the requests, and buffers that a worker reuses between boxes.
pub(crate) struct Feed<'a> {
    pub(crate) fetched: &'a Fetched<'a>,
    pub(crate) next: usize,
    pub(crate) scratch: &'a mut NodeScratch,
    pub(crate) tier: Tier,
    /// Name of the computed image, for messages.
    pub(crate) name: &'a str,
}

impl<'a> Feed<'a> {
    /// Returns the bytes of the next range.
    pub(crate) fn take(&mut self) -> &'a [u8] {
        let fetched: &'a Fetched<'a> = self.fetched;
        self.next += 1;
        fetched.piece(self.next - 1)
    }

    /// Encodes the values of a node whose encoding is a float type.
    ///
    /// # Errors
    /// [`IoError::Values`] if finite values exceed the range of float32.
    pub(crate) fn encode(
        &mut self,
        values: &[f64],
        encoding: &Encoding,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        match encode_f64(values, encoding, self.tier, out) {
            0 => Ok(()),
            count => Err(IoError::Values { name: self.name.to_owned(), count }),
        }
    }
}

/// Reusable buffers.
#[derive(Debug, Default)]
pub(crate) struct NodeScratch {
    bytes: Vec<Vec<u8>>,
    f32s: Vec<Vec<f32>>,
    f64s: Vec<Vec<f64>>,
    big_endian_f32s: Vec<Vec<[u8; 4]>>,
}

macro_rules! buffers {
    ($($take:ident $give_back:ident $field:ident $type:ty;)+) => {
        impl NodeScratch {
            $(
                /// Returns a buffer of this length with arbitrary contents, or an error if memory is
                /// insufficient.
                pub(crate) fn $take(&mut self, length: usize) -> Result<Vec<$type>, IoError> {
                    let mut buffer = self.$field.pop().unwrap_or_default();
                    let zero = <$type>::default();
                    memory::resize(&mut buffer, length, zero, "a computed image")?;
                    Ok(buffer)
                }

                pub(crate) fn $give_back(&mut self, buffer: Vec<$type>) {
                    self.$field.push(buffer);
                }
            )+
        }
    };
}

buffers! {
    bytes give_back_bytes bytes u8;
    f32s give_back_f32s f32s f32;
    f64s give_back_f64s f64s f64;
    big_endian_f32s give_back_big_endian_f32s big_endian_f32s [u8; 4];
}
