//! A computed image as a storage: the bytes of the file that it would be, computed when they are read.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tachyfits_io::{Id, IoError, Profile, Request, Storage, fetch};

use super::node::{Feed, NodeScratch, Reads};
use super::window::{Window, windows_of_stretch};
use super::{Computed, tiles};
use crate::error::Error;

/// See the module.
pub(crate) struct ComputedStorage {
    id: Id,
    image: Arc<Computed>,
    header: Vec<u8>,
    /// Bytes of a pixel.
    size: u64,
    data_bytes: u64,
    bytes: u64,
    /// The most pixels that are computed at a time.
    box_pixels: u64,
    /// Buffers that readers reuse; one per thread that reads at a time.
    scratch: Mutex<Vec<NodeScratch>>,
}

impl fmt::Debug for ComputedStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComputedStorage({:?})", self.image.name)
    }
}

impl ComputedStorage {
    pub(crate) fn new(image: Arc<Computed>) -> Result<ComputedStorage, Error> {
        let header = image.as_new().header(&image.survivors.header);
        let header = image.format_error(header)?.to_bytes();
        let size = image.node.encoding().pixel_bytes() as u64;
        let data_bytes = image.node.axes().iter().product::<u64>() * size;
        let bytes = header.len() as u64 + tachyfits_format::padded(data_bytes);
        let box_pixels = image.node.box_shape().iter().product();
        let scratch = Mutex::default();
        let id = Id::new(image.name.clone(), None);
        Ok(ComputedStorage { id, image, header, size, data_bytes, bytes, box_pixels, scratch })
    }

    /// The header from `offset` on, and zeros beyond it.
    pub(crate) fn read_header_at(&self, offset: u64, buffer: &mut [u8]) {
        let begin = usize::try_from(offset).unwrap_or(usize::MAX).min(self.header.len());
        let length = buffer.len().min(self.header.len() - begin);
        buffer[..length].copy_from_slice(&self.header[begin..begin + length]);
        buffer[length..].fill(0);
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
        let mut kept = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        kept.pop().unwrap_or_default()
    }

    /// Bytes of the data from `offset` on, which may begin and end within pixels.
    fn data(&self, offset: u64, out: &mut [u8]) -> Result<(), IoError> {
        let end = offset + out.len() as u64;
        let (first, last) = (offset / self.size, end.div_ceil(self.size));
        if offset == first * self.size && end == last * self.size {
            return self.pixels(first, out);
        }
        let mut whole = vec![0; ((last - first) * self.size) as usize];
        self.pixels(first, &mut whole)?;
        let from = (offset - first * self.size) as usize;
        out.copy_from_slice(&whole[from..from + out.len()]);
        Ok(())
    }
}

impl ComputedStorage {
    /// Fills one request.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let expected = buffer.len() as u64;
        let end =
            offset.checked_add(expected).filter(|&end| end <= self.bytes).ok_or_else(|| {
                IoError::Short { name: self.name().to_owned(), offset, expected, size: self.bytes }
            })?;
        let data_begin = self.header.len() as u64;
        let data_end = data_begin + self.data_bytes;
        let within = |range: Range<u64>| {
            let (start, stop) = (range.start.max(offset), range.end.min(end));
            (start < stop)
                .then(|| (start - range.start, (start - offset) as usize..(stop - offset) as usize))
        };
        if let Some((from, part)) = within(0..data_begin) {
            let from = from as usize;
            buffer[part.clone()].copy_from_slice(&self.header[from..from + part.len()]);
        }
        if let Some((from, part)) = within(data_begin..data_end) {
            self.data(from, &mut buffer[part])?;
        }
        if let Some((_, part)) = within(data_end..self.bytes) {
            buffer[part].fill(0);
        }
        Ok(())
    }
}

impl Storage for ComputedStorage {
    fn id(&self) -> &Id {
        &self.id
    }

    fn profile(&self) -> Profile {
        Profile::DEVICE
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.image.joined.check_unchanged()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        requests.iter_mut().try_for_each(|request| self.read_at(request.offset, request.buffer))
    }

    fn computes(&self) -> bool {
        true
    }

    fn kind(&self) -> &'static str {
        "computed"
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        // The inputs are what may not be there; where they are needed is close to the same share of the way through.
        let joined = &self.image.joined;
        let share = range.start as f64 / self.bytes.max(1) as f64;
        let at = ((joined.bytes() as f64 * share) as u64).min(joined.bytes().saturating_sub(1));
        joined.is_resident(at..at + 1)
    }
}
