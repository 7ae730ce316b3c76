//! Computed images: results of operations on images, computed box by box on request.
//!
//! A [`Computed`] is a tree of nodes over the storages it reads, and the header of the file it represents. It
//! acts as a storage ([`ComputedData`]) with the bytes of that FITS file, so every operation on an image in a
//! file works on it as well. To write it, boxes are computed in parallel, each once.

mod leaf;
mod node;
mod storage;
mod tiles;
mod window;

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tachyfits_format::NewImage;
use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{IoError, JoinedStorage, PlacedBuffer, Report, fetch};
use tachyfits_kernels::Tier;

use crate::error::Error;
use crate::stored_type::new_image;
use crate::survival::Survivors;

pub(crate) use leaf::Leaf;
pub(crate) use node::{Feed, Node, NodeScratch, Reads, Sources};
pub(crate) use storage::ComputedData;
use tiles::TileReads;
pub(crate) use tiles::{Tiles, reordered_shape, usual_shape};
pub(crate) use window::{Window, windows_of_stretch};

/// Maximum number of boxes waiting to be written: enough to keep the writer busy without using much memory.
const WAITING_BOXES: usize = 2;

/// An image that is computed when its pixels are requested.
#[derive(Debug)]
pub(crate) struct Computed {
    name: String,
    node: Arc<dyn Node>,
    sources: Sources,
    joined: JoinedStorage,
    survivors: Survivors,
    tier: Tier,
}

impl Computed {
    /// Creates the image of `node`, with the header and units that survive from its inputs; messages call it
    /// `name`.
    pub(crate) fn new(
        name: String,
        node: Arc<dyn Node>,
        survivors: Survivors,
    ) -> Result<Arc<Computed>, Error> {
        let mut sources = Sources::default();
        node.sources(&mut sources);
        let joined = sources.joined();
        Ok(Arc::new(Computed { name, node, sources, joined, survivors, tier: Tier::current() }))
    }

    pub(crate) fn node(&self) -> &Arc<dyn Node> {
        &self.node
    }

    pub(crate) fn tier(&self) -> Tier {
        self.tier
    }

    pub(crate) fn survivors(&self) -> &Survivors {
        &self.survivors
    }

    fn as_new(&self) -> NewImage {
        new_image(self.node.axes(), &self.node.encoding(), false)
    }

    pub(crate) fn format_error<T>(
        &self,
        result: Result<T, tachyfits_format::FormatError>,
    ) -> Result<T, Error> {
        result.map_err(|error| Error::Format { file: self.name.clone(), error })
    }

    /// Computes every box on several threads, and passes the boxes to `place` one at a time, in order:
    /// threads that do not write continue to compute. A file accepts one writer at a time, and threads that
    /// wait for it spin. The pixels will begin at byte `begin` of a file, with `pixel_bytes` each. The
    /// returned report lists the time of `place` separately.
    pub(crate) fn make(
        &self,
        (begin, pixel_bytes): (u64, u64),
        options: &RunOptions<'_>,
        make: impl Fn(&Window, &mut Feed<'_>, &mut [u8]) -> Result<(), Error> + Sync,
        mut place: impl FnMut(&Window, &[u8]) -> Result<(), Error> + Send,
    ) -> Result<Report, Error> {
        let axes = self.node.axes();
        let tiles = Tiles::new(axes, self.node.box_shape(), &self.node.halo(), begin, pixel_bytes);
        // Buffers of written boxes, reused for later ones.
        let spare: Mutex<Vec<PlacedBuffer>> = Mutex::default();
        self.each_box(
            &tiles,
            options,
            |window, feed| {
                let mut out = lock(&spare).pop().unwrap_or_default();
                let offset = begin + window.first_index(axes) * pixel_bytes;
                let bytes = window.pixels() * pixel_bytes;
                let room = out.prepare(offset, bytes as usize);
                let no_memory = || IoError::Memory { name: self.name.clone(), bytes };
                make(window, feed, room.ok_or_else(no_memory)?)?;
                Ok(out)
            },
            |window, out| {
                place(window, out.bytes())?;
                lock(&spare).push(out);
                Ok(())
            },
        )
    }

    /// Computes a single box on the calling thread.
    pub(crate) fn one_box<R>(
        &self,
        window: &Window,
        make: impl FnOnce(&mut Feed<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let (sources, joined) = (&self.sources, &self.joined);
        let ask = |ranges: &mut Vec<Range<u64>>| {
            self.node.reads(window, &mut Reads { sources, joined, ranges });
        };
        let scratch = &mut NodeScratch::default();
        fetch(joined, ask, |fetched| {
            make(&mut Feed { fetched, next: 0, scratch, tier: self.tier, name: &self.name })
        })?
    }

    /// Processes every box on several threads, and passes the results to `place` one at a time, in order. The
    /// returned report lists the time of `place` separately.
    pub(crate) fn each_box<R: Send>(
        &self,
        tiles: &Tiles,
        options: &RunOptions<'_>,
        make: impl Fn(&Window, &mut Feed<'_>) -> Result<R, Error> + Sync,
        mut place: impl FnMut(&Window, R) -> Result<(), Error> + Send,
    ) -> Result<Report, Error> {
        let (sources, joined) = (&self.sources, &self.joined);
        let reads = TileReads { tiles, node: &*self.node, sources, joined };
        let progress = Progress { options: *options, total: reads.bytes() };
        let mut write_time = Duration::ZERO;
        let mut report = tachyfits_io::run(
            &self.joined,
            &reads,
            &progress.run_options().waiting(WAITING_BOXES),
            NodeScratch::default,
            |scratch, index, fetched| {
                let (tier, name) = (self.tier, &*self.name);
                let mut feed = Feed { fetched, next: 0, scratch, tier, name };
                make(&tiles.window(index), &mut feed)
            },
            |index, result| {
                let begun = Instant::now();
                place(&tiles.window(index), result)?;
                write_time += begun.elapsed();
                Ok::<(), Error>(())
            },
        )?;
        report.write_seconds = write_time.as_secs_f64() / report.threads as f64;
        report.compute_seconds = (report.compute_seconds - report.write_seconds).max(0.0);
        Ok(report)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
