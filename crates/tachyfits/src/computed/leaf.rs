//! Leaves of a tree: the pixels of an image in a storage.

use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::{IoError, Storage};
use tachyfits_kernels::{Encoding, decode_f32, decode_f64};

use super::node::{Feed, Node, Reads, Sources};
use super::window::Window;
use crate::lines::PixelBytes;

/// Pixels of an image as stored.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) axes: Vec<u64>,
    pub(crate) pixels: PixelBytes,
    pub(crate) encoding: Encoding,
    /// For pixels that are not contiguous: the length of a contiguous group, and the distance between the
    /// starts of groups.
    pub(crate) groups: Option<(u64, u64)>,
}

impl Leaf {
    /// Returns the contiguous runs of a box in the file: the start of each, counted in pixels, and its
    /// length.
    fn runs(&self, window: &Window) -> Vec<(u64, u64)> {
        let Some((size, pitch)) = self.groups else {
            return window.runs(&self.axes).collect();
        };
        let mut runs = Vec::new();
        for (first, count) in window.runs(&self.axes) {
            let (mut at, end) = (first, first + count);
            while at < end {
                let within = at % size;
                let part = (size - within).min(end - at);
                runs.push((at / size * pitch + within, part));
                at += part;
            }
        }
        runs
    }
}

impl Node for Leaf {
    fn axes(&self) -> &[u64] {
        &self.axes
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn sources(&self, sources: &mut Sources) {
        sources.add(&self.storage);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        let PixelBytes { offset, size, .. } = self.pixels;
        for (first, count) in self.runs(window) {
            reads.push(&self.storage, offset + first * size..offset + (first + count) * size);
        }
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        let mut filled = 0;
        for _ in self.runs(window) {
            let piece = feed.take();
            out[filled..filled + piece.len()].copy_from_slice(piece);
            filled += piece.len();
        }
        Ok(())
    }

    fn stored(&self, window: &Window, feed: &mut Feed<'_>) -> Option<Range<usize>> {
        if self.groups.is_some() {
            // Runs of the box are split at the ends of groups.
            return None;
        }
        let first = feed.next;
        feed.next += self.runs(window).len();
        Some(first..feed.next)
    }

    fn values_f64(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [f64],
    ) -> Result<(), IoError> {
        let mut rest = out;
        for (_, count) in self.runs(window) {
            let (values, later) = rest.split_at_mut(count as usize);
            decode_f64(feed.take(), &self.encoding, feed.tier, values);
            rest = later;
        }
        Ok(())
    }

    fn values_f32(
        &self,
        window: &Window,
        feed: &mut Feed<'_>,
        out: &mut [f32],
    ) -> Result<(), IoError> {
        let mut rest = out;
        for (_, count) in self.runs(window) {
            let (values, later) = rest.split_at_mut(count as usize);
            decode_f32(feed.take(), &self.encoding, feed.tier, values);
            rest = later;
        }
        Ok(())
    }

    fn halo(&self) -> Vec<u64> {
        vec![0; self.axes.len()]
    }

    fn expansion(&self) -> u64 {
        1
    }
}
