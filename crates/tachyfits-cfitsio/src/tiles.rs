//! Images that are stored as compressed tiles: read by the engine, with the rules of CFITSIO, which are not those of plain
//! images.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tachyfits::io::FileStorage;
use tachyfits::strided::{NullOutput, NullRule};
use tachyfits::{AxisRange, Image, ImageAt, Job, RunOptions};

use crate::report::Reason;
use crate::request::{Found, NullWish, Place, Request, fits};
use crate::settings::Settings;
use crate::shared::executor;

/// Arrays of fewer bytes are filled by the calling thread: decoding takes several times as long as copying.
const ONE_THREAD_BYTES: usize = 1 << 20;

/// The most axes of a run of pixels, and of a section, that CFITSIO reads.
const RUN_AXES: usize = 3;
const SECTION_AXES: usize = 6;

/// The compressions that CFITSIO reads.
const CODECS: [&str; 5] = ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1"];

/// Scaling or null values of a compressed image were changed by the program. CFITSIO does not say of which image.
static IS_OVERRIDDEN: AtomicBool = AtomicBool::new(false);

/// Notes that a program sets scaling or a null value of a compressed image.
pub(crate) fn note_override() {
    IS_OVERRIDDEN.store(true, Ordering::Relaxed);
}

/// A compressed image.
#[derive(Debug)]
pub(crate) struct TiledImage {
    image: Image,
    /// There is a value that means undefined, in the header or for each tile.
    has_blank: bool,
    /// Floats were quantised; otherwise the tiles have their bits.
    is_quantised: bool,
    /// Some tiles may have their bits although others are quantised.
    has_plain_tiles: bool,
}

impl TiledImage {
    /// The image of the HDU whose header begins at `offset`.
    pub(crate) fn open(storage: Arc<FileStorage>, offset: u64) -> Result<TiledImage, Reason> {
        let opened = Image::at(storage, 1, offset).map_err(|_| Reason::Compressed)?;
        let ImageAt { image, table: Some(table), .. } = opened else {
            return Err(Reason::Compressed);
        };
        // CFITSIO refuses others, which the engine reads.
        let codec = table.header.get_text("ZCMPTYPE").ok().flatten().unwrap_or_default();
        if !CODECS.contains(&codec) {
            return Err(Reason::Compressed);
        }
        let layout = table.tiled_image().map_err(|_| Reason::Compressed)?;
        // Such tiles are read as columns, with other rules.
        if layout.columns.plain.is_some() || layout.columns.mask.is_some() {
            return Err(Reason::Compressed);
        }
        let quantised = layout.quantisation.as_ref();
        let column = layout.blank_column.or(quantised.and_then(|quantised| quantised.blank_column));
        let states = |keyword: &str| table.header.get(keyword).is_some();
        Ok(TiledImage {
            has_blank: column.is_some() || states("ZBLANK") || states("BLANK"),
            is_quantised: quantised.is_some(),
            has_plain_tiles: layout.columns.gzip.is_some(),
            image,
        })
    }

    /// Serves a request; an error if CFITSIO has to.
    pub(crate) fn serve(
        &self,
        request: &Request,
        values: &mut [u8],
        flags: Option<&mut [u8]>,
        settings: &Settings,
    ) -> Result<Found, Reason> {
        let (rule, may_be_null) = self.rule(request)?;
        let nulls = match (request.nulls, flags) {
            (NullWish::Value(value), _) => NullOutput::Value(value),
            (NullWish::Flags, Some(flags)) => NullOutput::Flags { flags, value: None },
            (NullWish::Ignore, _) | (NullWish::Flags, None) => NullOutput::Value(0),
        };
        let threads = if values.len() < ONE_THREAD_BYTES { 1 } else { settings.threads };
        let executor = executor(settings.threads).ok_or(Reason::Busy)?;
        let job = Job::on(&executor);
        let options = RunOptions::new().threads(threads).job(Some(&job));
        let axes = self.image.axes();
        let read = match &request.place {
            Place::Run { first, .. } if axes.len() <= RUN_AXES => {
                let first = u64::try_from(first - 1).map_err(|_| Reason::Arguments)?;
                self.image.read_run(first, request.kind, rule, nulls, values, &options)
            }
            Place::Pixels { first, count } if axes.len() <= RUN_AXES => {
                if let [width, height, _] = axes {
                    // CFITSIO takes rows of several planes as a box.
                    let plane = width.saturating_mul(*height);
                    let is_whole = first[..2] == [1, 1] && (*count as u64).is_multiple_of(plane);
                    let row = (first[1] as u64 - 1).saturating_mul(*width) + first[0] as u64 - 1;
                    if !is_whole && row.saturating_add(*count as u64) > plane {
                        return Err(Reason::Arguments);
                    }
                }
                let (mut number, mut step) = (0u64, 1u64);
                for (&first, &length) in first.iter().zip(axes) {
                    let first = u64::try_from(first - 1).map_err(|_| Reason::Arguments)?;
                    number = number.saturating_add(first.saturating_mul(step));
                    step = step.saturating_mul(length);
                }
                self.image.read_run(number, request.kind, rule, nulls, values, &options)
            }
            Place::Section { first, last, step, axes: stated, .. }
                if axes.len() <= SECTION_AXES && first.len() == axes.len() =>
            {
                let is_stated = stated.as_ref().is_none_or(|stated| {
                    stated.iter().zip(axes).all(|(&stated, &length)| stated as u64 == length)
                });
                let ends = first.iter().zip(last).zip(step).zip(axes);
                let mut ranges = Vec::new();
                for (((&first, &last), &step), &length) in ends {
                    let (from, to) = (first as u64 - 1, last as u64 - 1);
                    if to >= length || !is_stated {
                        return Err(Reason::Arguments);
                    }
                    let count = (to - from) / step as u64 + 1;
                    ranges.push(AxisRange { first: from, count, step });
                }
                let section = self.image.section(&ranges).map_err(|_| Reason::Arguments)?;
                self.image.read_elements(&section, request.kind, rule, nulls, values, &options)
            }
            _ => return Err(Reason::Arguments),
        };
        let (report, counts) = read.map_err(|_| Reason::Reading)?;
        if counts.odd + counts.clipped > 0 || (counts.nulls > 0 && !may_be_null) {
            return Err(Reason::Value);
        }
        Ok(Found { any_null: counts.nulls > 0, overflow: false, bytes: report.bytes })
    }

    /// Which pixels are null, and whether a null one can be given as CFITSIO gives it.
    fn rule(&self, request: &Request) -> Result<(NullRule, bool), Reason> {
        if IS_OVERRIDDEN.load(Ordering::Relaxed) || request.is_block {
            return Err(Reason::Compressed);
        }
        let kind = request.kind;
        let encoding = self.image.stored_encoding();
        let is_part = request.place.count()
            != usize::try_from(self.image.axes().iter().product::<u64>()).ok();
        if is_part && self.has_blank && request.nulls != NullWish::Ignore {
            // CFITSIO reports null pixels of a tile wherever they are in it.
            return Err(Reason::Compressed);
        }
        let is_long_long = kind.bytes() == 8 && !kind.is_float() && !request.is_long;
        if is_long_long || !fits(&encoding, kind) {
            return Err(Reason::Type);
        }
        let has_wish = request.nulls != NullWish::Ignore;
        if !encoding.pixel.is_float() {
            return match (has_wish && self.has_blank, encoding.blank) {
                (false, _) => Ok((NullRule::Nothing, false)),
                // Null pixels that are marked have what memory had.
                (true, Some(_)) => Ok((NullRule::Nan, request.nulls != NullWish::Flags)),
                (true, None) => Err(Reason::Compressed),
            };
        }
        if encoding.scaling.is_some() || !kind.is_float() {
            return Err(Reason::Type);
        }
        if !self.is_quantised {
            return match (has_wish && self.has_blank, self.has_plain_tiles) {
                // Without a value that means undefined CFITSIO looks for no null pixels, except in such tiles.
                (_, true) => Err(Reason::Compressed),
                (false, false) => Ok((NullRule::Nothing, false)),
                (true, false) if request.nulls == NullWish::Flags => Err(Reason::Compressed),
                (true, false) => Ok((NullRule::NotFinite, true)),
            };
        }
        if kind.bytes() > encoding.pixel_bytes() {
            // CFITSIO computes doubles, without rounding them to floats first.
            return Err(Reason::Type);
        }
        Ok(match request.nulls {
            // The quantised number that means undefined is a number as any other then.
            NullWish::Ignore => (NullRule::Nan, false),
            NullWish::Flags => (NullRule::NotFinite, false),
            NullWish::Value(_) => (NullRule::NotFinite, self.has_blank),
        })
    }
}
