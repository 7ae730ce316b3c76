//! Computed images: results of operations on images, computed box by box on request.
//!
//! A [`Computed`] is a tree of nodes over the storages that it reads, and the header that it has as a file. It is a
//! storage itself ([`ComputedData`]): its bytes are those of the FITS file that it would be, so everything that can be
//! done with an image in a file can be done with it. It is written by making its boxes in parallel, each once.

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

/// How many boxes may wait to be written: enough that the writer finds one, few enough for the memory.
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
    /// The image that `node` gives, with what survives of the images that it is made of; `name` stands for it in messages.
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

    /// Makes every box, on several threads, and hands them to `place` one at a time, in order: the threads that do not
    /// write go on computing meanwhile. A file takes one writer at a time anyway, and threads that wait for it spin.
    /// The pixels will begin at byte `begin` of a file, with `pixel_bytes` each. The returned report has the time that
    /// `place` took apart.
    pub(crate) fn make(
        &self,
        (begin, pixel_bytes): (u64, u64),
        options: &RunOptions<'_>,
        make: impl Fn(&Window, &mut Feed<'_>, &mut [u8]) -> Result<(), Error> + Sync,
        mut place: impl FnMut(&Window, &[u8]) -> Result<(), Error> + Send,
    ) -> Result<Report, Error> {
        let axes = self.node.axes();
        let tiles = Tiles::new(axes, self.node.box_shape(), &self.node.halo(), begin, pixel_bytes);
        // Boxes that were written: their memory serves for later ones.
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

    /// Makes one box here and now.
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

    /// Makes something of every box, on several threads, and hands it to `place`, one at a time, in order. The returned
    /// report has the time that `place` took apart.
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
        let mut written = Duration::ZERO;
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
            |index, made| {
                let begun = Instant::now();
                place(&tiles.window(index), made)?;
                written += begun.elapsed();
                Ok::<(), Error>(())
            },
        )?;
        report.write_seconds = written.as_secs_f64() / report.threads as f64;
        report.compute_seconds = (report.compute_seconds - report.write_seconds).max(0.0);
        Ok(report)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
