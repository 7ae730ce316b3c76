//! Images with undefined channels: the pixels of these channels are not read.

use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::IoError;
use tachyfits_kernels::{Encoding, PixelType};
use tachyfits_memory as memory;

use crate::computed::{Computed, Feed, Node, Reads, Sources, Window};
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::image::Image;
use crate::survival::Change;

impl Image {
    /// Returns the image with NaN in all pixels along `axis` (0 is NAXIS1) except those that `inside` marks.
    /// Pixels are computed when they are read or written.
    ///
    /// ```
    /// use tachyfits::{Array, Header, RunOptions};
    /// let image = Array::new(&[1.0f32, 2.0, 6.0], &[3]).to_file("three", &Header::new())?.image(0)?;
    /// let ends = image.with_channels(0, &[true, false, true])?.image(0)?;
    /// let (stats, _) = ends.stats(&ends.whole(), None, &RunOptions::default())?;
    /// assert_eq!((stats[0].count, stats[0].nan, stats[0].mean()), (2, 1, 3.5));
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::NoSuchAxis`]; [`Reason::Section`] if the number of marks differs from the length of the
    /// axis; [`Reason::NewPixels`] for integer pixels, which cannot be NaN.
    pub fn with_channels(&self, axis: usize, inside: &[bool]) -> Result<FitsFile, Error> {
        self.check_axis(axis)?;
        let length = self.axes()[axis];
        if inside.len() as u64 != length {
            let expected = format!("{length} marks, one for each pixel along the axis");
            return Err(self.refused(Reason::Section, expected, inside.len().to_string()));
        }
        let encoding = self.encoding();
        if !matches!(encoding.pixel, PixelType::F32 | PixelType::F64) {
            return Err(self.refused(Reason::NewPixels, "pixels of floats", "integers"));
        }
        let inside = memory::copied(inside, "the channels of an image")?;
        let survivors = self.survivors(Change::Values)?;
        let name = format!("{} (some channels)", self.file_name());
        let node = Arc::new(ChannelGaps { input: self.node()?, axis, inside, encoding });
        FitsFile::computed(Computed::new(name, node, survivors)?)
    }
}

/// Node of an image with undefined channels.
#[derive(Debug)]
struct ChannelGaps {
    input: Arc<dyn Node>,
    axis: usize,
    inside: Vec<bool>,
    encoding: Encoding,
}

impl ChannelGaps {
    /// Returns the runs of channels of a box, relative to the box, each with a flag whether it is inside.
    fn runs(&self, window: &Window) -> impl Iterator<Item = (Range<u64>, bool)> {
        let first = window.first[self.axis] as usize;
        let channels = &self.inside[first..first + window.count[self.axis] as usize];
        let mut begin = 0;
        channels.chunk_by(|a, b| a == b).map(move |run| {
            let start = begin;
            begin += run.len() as u64;
            (start..begin, run[0])
        })
    }

    fn part(&self, window: &Window, run: &Range<u64>) -> Window {
        window.along(self.axis, window.first[self.axis] + run.start, run.end - run.start)
    }
}

impl Node for ChannelGaps {
    fn axes(&self) -> &[u64] {
        self.input.axes()
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn sources(&self, sources: &mut Sources) {
        self.input.sources(sources);
    }

    fn reads(&self, window: &Window, reads: &mut Reads<'_>) {
        for (run, _) in self.runs(window).filter(|(_, is_inside)| *is_inside) {
            self.input.reads(&self.part(window, &run), reads);
        }
    }

    fn fill(&self, window: &Window, feed: &mut Feed<'_>, out: &mut [u8]) -> Result<(), IoError> {
        let size = self.encoding.pixel_bytes();
        let (inner, channels, outer) = window.around(self.axis);
        let channel = inner * size;
        for (run, is_inside) in self.runs(window) {
            let bytes = run.start as usize * channel..run.end as usize * channel;
            let blocks = |out: &mut [u8], each: &mut dyn FnMut(usize, &mut [u8])| {
                let blocks = out.chunks_mut((channels * channel).max(1)).enumerate();
                blocks.for_each(|(number, block)| each(number, &mut block[bytes.clone()]));
            };
            if !is_inside {
                blocks(out, &mut |_, block| match size {
                    4 => block.as_chunks_mut().0.fill(f32::NAN.to_be_bytes()),
                    _ => block.as_chunks_mut().0.fill(f64::NAN.to_be_bytes()),
                });
            } else if outer == 1 {
                self.input.fill(&self.part(window, &run), feed, &mut out[bytes])?;
            } else {
                let mut pixels = feed.scratch.bytes(bytes.len() * outer)?;
                self.input.fill(&self.part(window, &run), feed, &mut pixels)?;
                let length = bytes.len();
                blocks(out, &mut |number, block| {
                    block.copy_from_slice(&pixels[number * length..(number + 1) * length]);
                });
                feed.scratch.give_back_bytes(pixels);
            }
        }
        Ok(())
    }

    fn halo(&self) -> Vec<u64> {
        self.input.halo()
    }

    fn expansion(&self) -> u64 {
        self.input.expansion()
    }

    fn box_shape(&self) -> Vec<u64> {
        self.input.box_shape()
    }
}
