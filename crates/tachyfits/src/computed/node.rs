//! Nodes of computed images: each computes the pixels of any box from those of its inputs.
//!
//! A node knows nothing of files, threads and blocks. It says which bytes it needs for a box, and makes the pixels of the
//! box from them, as big-endian bytes or as native numbers; a tree of nodes is one image, of which no part exists longer
//! than a box is worked on.

use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::{Fetched, IoError, JoinedStorage, Storage};
use tachyfits_kernels::{Encoding, Tier, decode_f32, decode_f64, encode_f64};
use tachyfits_memory as memory;

use super::tiles::usual_shape;
use super::window::Window;

/// An image that can give any box of itself.
pub(crate) trait Node: Send + Sync + std::fmt::Debug {
    /// Lengths of the axes in FITS order.
    fn axes(&self) -> &[u64];

    /// Encoding of the pixels; big-endian.
    fn encoding(&self) -> Encoding;

    /// Whether its pixels are truth values, 0 and 1.
    fn is_logical(&self) -> bool {
        false
    }

    /// Names the storages that the tree reads.
    fn sources(&self, sources: &mut Sources);

    /// Says which bytes a box needs. [`Node::fill`] and the others take them in the same order.
    fn reads(&self, window: &Window, reads: &mut Reads<'_>);

    /// Gives the pixels of a box as the bytes that [`Node::encoding`] describes.
    ///
    /// # Errors
    /// [`IoError::Values`] if a value has no place in the encoding, and what a node of its own kind cannot compute.
    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError>;

    /// If the pixels of a box are stored, returns them as pieces of the fetched bytes, one for each of
    /// the [`Window::runs`] of the box. A caller that can process pieces needs no buffer for the box.
    fn stored(&self, _window: &Window, _feed: &mut Feed<'_>) -> Option<Range<usize>> {
        None
    }

    /// Gives the physical values of a box, NaN where undefined.
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

    /// The same in f32, rounded once.
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

    /// How many pixels beyond a box are needed on each side along each axis, at the most: boxes are made long enough that
    /// these are few beside their own.
    fn halo(&self) -> Vec<u64>;

    /// About how many input pixels a pixel is computed from, without the halo: boxes have fewer
    /// pixels by this factor.
    fn expansion(&self) -> u64;

    /// The shape of the boxes in which all of it is best made.
    fn box_shape(&self) -> Vec<u64> {
        usual_shape(self.axes(), &self.halo(), self.expansion())
    }
}

/// The storages of a tree, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(Vec<Arc<dyn Storage>>);

impl Sources {
    pub(crate) fn add(&mut self, storage: &Arc<dyn Storage>) {
        if self.position(storage).is_none() {
            self.0.push(Arc::clone(storage));
        }
    }

    fn position(&self, storage: &Arc<dyn Storage>) -> Option<usize> {
        self.0.iter().position(|known| Arc::ptr_eq(known, storage))
    }

    /// The storages as one.
    pub(crate) fn joined(&self) -> JoinedStorage {
        JoinedStorage::new(self.0.clone())
    }
}

/// The ranges that a box needs, in the joined storage.
pub(crate) struct Reads<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) joined: &'a JoinedStorage,
    pub(crate) ranges: &'a mut Vec<Range<u64>>,
}

impl Reads<'_> {
    /// Asks for bytes of one of the storages.
    pub(crate) fn push(&mut self, storage: &Arc<dyn Storage>, range: Range<u64>) {
        let member =
            self.sources.position(storage).expect("a node names its storages in `sources`");
        let base = self.joined.base(member);
        self.ranges.push(base + range.start..base + range.end);
    }
}

/// The requested bytes, one range after the other, and buffers that a worker keeps from box to box.
pub(crate) struct Feed<'a> {
    pub(crate) fetched: &'a Fetched<'a>,
    pub(crate) next: usize,
    pub(crate) scratch: &'a mut NodeScratch,
    pub(crate) tier: Tier,
    /// The name of the image that is computed, for messages.
    pub(crate) name: &'a str,
}

impl<'a> Feed<'a> {
    /// The bytes of the next range.
    pub(crate) fn take(&mut self) -> &'a [u8] {
        let fetched: &'a Fetched<'a> = self.fetched;
        self.next += 1;
        fetched.piece(self.next - 1)
    }

    /// Encodes the values of a node, which has an encoding of floats.
    ///
    /// # Errors
    /// [`IoError::Values`] for finite values that float32 cannot hold.
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

/// Buffers that are used again and again.
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
                /// A buffer of this length with any content; too little memory is an error.
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
