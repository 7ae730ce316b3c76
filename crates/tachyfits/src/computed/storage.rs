//! Pixels of a computed image as the data of the file it represents, computed when they are read.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tachyfits_io::{Id, IoError, Request, Storage, fetch};

use super::node::{Feed, NodeScratch, Reads};
use super::window::{Window, windows_of_stretch};
use super::{Computed, tiles};
use crate::error::Error;
use crate::hdu_storage::{HduStorage, MadeData, fill_pixels};

/// Pixels as data of a file; see the module.
pub(crate) struct ComputedData {
    image: Arc<Computed>,
    /// Bytes of a pixel.
    size: u64,
    bytes: u64,
    /// Maximum number of pixels computed at a time.
    box_pixels: u64,
    /// See [`MadeData::unit_bytes`].
    unit_bytes: u64,
    /// Reusable buffers, one per concurrent reader.
    scratch: Mutex<Vec<NodeScratch>>,
}

impl fmt::Debug for ComputedData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComputedData({:?})", self.image.name)
    }
}

impl ComputedData {
    /// Creates the storage of the file that an image represents.
    pub(crate) fn storage(image: Arc<Computed>) -> Result<HduStorage<ComputedData>, Error> {
        let header = image.as_new().header(&image.survivors.header);
        let header = image.format_error(header)?.to_bytes();
        let id = Id::new(image.name.clone(), None);
        let size = image.node.encoding().pixel_bytes() as u64;
        let bytes = image.node.axes().iter().product::<u64>() * size;
        let box_pixels: u64 = image.node.box_shape().iter().product();
        // Short stretches of rows would need more surrounding pixels than they have.
        let has_margins = image.node.halo().iter().take(2).any(|&halo| halo > 0);
        let unit_bytes = if has_margins { box_pixels.div_ceil(2) * size } else { u64::MAX };
        let scratch = Mutex::default();
        let data = ComputedData { image, size, bytes, box_pixels, unit_bytes, scratch };
        Ok(HduStorage::new(id, header, data))
    }

    /// Computes the pixels from linear index `first` on; `out` holds whole pixels.
    fn pixels(&self, first: u64, out: &mut [u8]) -> Result<(), IoError> {
        let mut scratch = self.take_scratch();
        let node = &self.image.node;
        let count = out.len() as u64 / self.size;
        let mut rest = out;
        for whole in windows_of_stretch(node.axes(), first, count) {
            for window in tiles::pieces(&whole, self.box_pixels) {
                let (part, later) = rest.split_at_mut((window.pixels() * self.size) as usize);
                self.window(&window, &mut scratch, part)?;
                rest = later;
            }
        }
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        Ok(())
    }

    fn window(
        &self,
        window: &Window,
        scratch: &mut NodeScratch,
        out: &mut [u8],
    ) -> Result<(), IoError> {
        let Computed { name, node, sources, joined, tier, .. } = &*self.image;
        let ask = |ranges: &mut Vec<Range<u64>>| {
            node.reads(window, &mut Reads { sources, joined, ranges });
        };
        fetch(joined, ask, |fetched| {
            node.fill(window, &mut Feed { fetched, next: 0, scratch, tier: *tier, name }, out)
        })?
    }

    fn take_scratch(&self) -> NodeScratch {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        scratch.pop().unwrap_or_default()
    }
}

impl MadeData for ComputedData {
    const KIND: &'static str = "computed";

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    fn fill(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        requests.iter_mut().try_for_each(|request| {
            fill_pixels(request, self.size, |first, out| self.pixels(first, out))
        })
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.image.joined.check_unchanged()
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        // Only the inputs may be absent from memory; a range needs inputs at about its own relative position.
        let joined = &self.image.joined;
        let share = range.start as f64 / self.bytes.max(1) as f64;
        let at = ((joined.bytes() as f64 * share) as u64).min(joined.bytes().saturating_sub(1));
        joined.is_resident(at..at + 1)
    }
}
