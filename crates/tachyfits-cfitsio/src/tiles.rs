//! Images stored in compressed tiles: read by the engine, by CFITSIO's rules for them, which differ from those for
//! plain images.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tachyfits::io::FileStorage;
use tachyfits::strided::{NullOutput, NullRule};
use tachyfits::tiled::TileGrid;
use tachyfits::{AxisRange, Image, ImageAt, Job, PixelType, RunOptions};

use crate::cfitsio::{Functions, Handle};
use crate::report::Reason;
use crate::request::{Found, NULL_DOUBLE, NULL_SINGLE, NullWish, Place, Request, fits};
use crate::settings::Settings;
use crate::shared::executor;

/// Size below which the calling thread fills the array alone: decoding takes several times as long as copying.
const ONE_THREAD_BYTES: usize = 1 << 20;

/// Maximum number of axes of a run of pixels, and of a section, that CFITSIO reads.
const RUN_AXES: usize = 3;
const SECTION_AXES: usize = 6;

/// Compression types that CFITSIO reads.
const CODECS: [&str; 5] = ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1"];

/// Maximum number of axes of an image that CFITSIO decompresses.
const MOST_AXES: usize = 6;

/// Pixels of a row that are compared with CFITSIO's, to determine the scaling that it uses.
const SAMPLE_PIXELS: usize = 4096;

/// Changes that programs made to compressed images. CFITSIO does not report to which image, or whether they still
/// apply.
static CHANGES: AtomicU8 = AtomicU8::new(NOTHING);
const NOTHING: u8 = 0;
/// Some image is read without scaling.
const UNSCALED: u8 = 1;
/// Some image has another scaling or null value.
const OTHER: u8 = 2;

/// Records that a program sets the scaling of a compressed image.
pub(crate) fn note_scaling(scale: f64, zero: f64) {
    let change = if (scale, zero) == (1.0, 0.0) { UNSCALED } else { OTHER };
    CHANGES.fetch_max(change, Ordering::Relaxed);
}

/// Records that a program sets the null value of a compressed image.
pub(crate) fn note_null_value() {
    CHANGES.fetch_max(OTHER, Ordering::Relaxed);
}

/// A compressed image.
#[derive(Debug)]
pub(crate) struct TiledImage {
    image: Image,
    /// The same image without BSCALE and BZERO.
    unscaled: Image,
    grid: TileGrid,
    /// Whether a value means undefined, according to the header or for each tile.
    has_blank: bool,
    /// Whether floats were quantised; otherwise the tiles contain their bits.
    is_quantised: bool,
    /// Whether some tiles may contain the bits of floats although others are quantised.
    has_plain_tiles: bool,
}

impl TiledImage {
    /// Opens the image of the HDU whose header begins at `offset`.
    pub(crate) fn open(storage: Arc<FileStorage>, offset: u64) -> Result<TiledImage, Reason> {
        let opened = Image::at(storage, 1, offset).map_err(|_| Reason::Compressed)?;
        let ImageAt { image, table: Some(table), .. } = opened else {
            return Err(Reason::Compressed);
        };
        // CFITSIO rejects others, which the engine reads.
        let codec = table.header.get_text("ZCMPTYPE").ok().flatten().unwrap_or_default();
        if !CODECS.contains(&codec) {
            return Err(Reason::Compressed);
        }
        let layout = table.tiled_image().map_err(|_| Reason::Compressed)?;
        // CFITSIO reads these tiles as columns, with other rules.
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
            unscaled: image.unscaled(),
            grid: layout.grid,
            image,
        })
    }

    /// Returns the image with the scaling that CFITSIO uses now.
    fn in_force(&self, functions: &Functions, file: Handle) -> Result<&Image, Reason> {
        let is_scaled = self.image.stored_encoding() != self.unscaled.stored_encoding();
        match (CHANGES.load(Ordering::Relaxed), is_scaled) {
            (NOTHING, _) | (UNSCALED, false) => return Ok(&self.image),
            (UNSCALED, true) => {}
            _ => return Err(Reason::Compressed),
        }
        // CFITSIO caches tiles that are not rows, and reads them differently the next time.
        let (axes, shape) = (self.grid.axes(), self.grid.tile_shape());
        let is_row = shape[0] >= axes[0] && shape[1..].iter().all(|&size| size == 1);
        if !is_row || self.image.stored_encoding().pixel.is_float() {
            return Err(Reason::Compressed);
        }
        let count = SAMPLE_PIXELS.min(usize::try_from(axes[0]).unwrap_or(SAMPLE_PIXELS));
        // At most SAMPLE_PIXELS.
        let (mut theirs, mut ours) = (vec![0f64; count], vec![0f64; count]);
        if !functions.first_pixels(file, &mut theirs) {
            return Err(Reason::Compressed);
        }
        let mut is_alike = |image: &Image| {
            let (out, options) =
                (bytemuck::cast_slice_mut(&mut ours), RunOptions::new().threads(1));
            let (rule, nulls) = (NullRule::Nothing, NullOutput::Value(0));
            let result = image.read_run(0, PixelType::F64, rule, nulls, out, &options);
            result.map_err(|_| Reason::Reading)?;
            Ok(ours.iter().zip(&theirs).all(|(ours, theirs)| ours.to_bits() == theirs.to_bits()))
        };
        match (is_alike(&self.image)?, is_alike(&self.unscaled)?) {
            (true, false) => Ok(&self.image),
            (false, true) => Ok(&self.unscaled),
            _ => Err(Reason::Compressed),
        }
    }

    /// Serves a request; returns an error if CFITSIO must do it.
    pub(crate) fn serve(
        &self,
        functions: &Functions,
        file: Handle,
        request: &Request,
        values: &mut [u8],
        flags: Option<&mut [u8]>,
        settings: &Settings,
    ) -> Result<Found, Reason> {
        let image = self.in_force(functions, file)?;
        let (rule, may_be_null) = self.rule(image, request)?;
        let nulls = match (request.nulls, flags) {
            (NullWish::Value(value), _) => NullOutput::Value(value),
            (NullWish::Flags, Some(flags)) => NullOutput::Flags { flags, value: None },
            (NullWish::Ignore, _) | (NullWish::Flags, None) => NullOutput::Value(0),
        };
        let threads = if values.len() < ONE_THREAD_BYTES { 1 } else { settings.threads };
        let executor = executor(settings.threads).ok_or(Reason::Busy)?;
        let job = Job::on(&executor);
        let options = RunOptions::new().threads(threads).job(Some(&job));
        let axes = image.axes();
        let result = match &request.place {
            Place::Run { first, .. } if axes.len() <= RUN_AXES => {
                let first = u64::try_from(first - 1).map_err(|_| Reason::Arguments)?;
                image.read_run(first, request.kind, rule, nulls, values, &options)
            }
            Place::Pixels { first, count } if axes.len() <= RUN_AXES => {
                if let [width, height, _] = axes {
                    // CFITSIO reads rows of several planes as a box.
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
                image.read_run(number, request.kind, rule, nulls, values, &options)
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
                let section = image.section(&ranges).map_err(|_| Reason::Arguments)?;
                image.read_elements(&section, request.kind, rule, nulls, values, &options)
            }
            _ => return Err(Reason::Arguments),
        };
        let (report, counts) = result.map_err(|_| Reason::Reading)?;
        if counts.odd + counts.clipped > 0 || (counts.nulls > 0 && !may_be_null) {
            return Err(Reason::Value);
        }
        Ok(Found { any_null: counts.nulls > 0, overflow: false, bytes: report.bytes })
    }

    /// Returns the rule for null pixels, and whether a null pixel can be returned as CFITSIO does.
    fn rule(&self, image: &Image, request: &Request) -> Result<(NullRule, bool), Reason> {
        if request.is_block {
            return Err(Reason::Compressed);
        }
        let kind = request.kind;
        let encoding = image.stored_encoding();
        let is_part =
            request.place.count() != usize::try_from(image.axes().iter().product::<u64>()).ok();
        if is_part && self.has_blank && request.nulls != NullWish::Ignore {
            // CFITSIO reports null pixels of a tile even outside of the requested part.
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
                // Flagged null pixels have undefined content in CFITSIO.
                (true, Some(_)) => Ok((NullRule::Nan, request.nulls != NullWish::Flags)),
                (true, None) => Err(Reason::Compressed),
            };
        }
        if encoding.scaling.is_some() || !kind.is_float() {
            return Err(Reason::Type);
        }
        if !self.is_quantised {
            return match (has_wish && self.has_blank, self.has_plain_tiles) {
                // Without a value that means undefined, CFITSIO checks for null pixels only in these tiles.
                (_, true) => Err(Reason::Compressed),
                (false, false) => Ok((NullRule::Nothing, false)),
                (true, false) if request.nulls == NullWish::Flags => Err(Reason::Compressed),
                (true, false) => Ok((NullRule::NotFinite, true)),
            };
        }
        if kind.bytes() > encoding.pixel_bytes() {
            // CFITSIO computes doubles without rounding them to floats first.
            return Err(Reason::Type);
        }
        Ok(match request.nulls {
            // The quantised number that means undefined is then an ordinary number.
            NullWish::Ignore => (NullRule::Nan, false),
            NullWish::Flags => (NullRule::NotFinite, false),
            NullWish::Value(_) => (NullRule::NotFinite, self.has_blank),
        })
    }
    /// Returns the image for writing as a plain one; an error if CFITSIO must do it.
    pub(crate) fn plain(self: &Arc<Self>) -> Result<PlainImage, Reason> {
        let pixel = self.unscaled.stored_type();
        let pixels: u64 = self.grid.axes().iter().product();
        let count = i64::try_from(pixels).map_err(|_| Reason::Form)?;
        let has_form = count > 0 && self.grid.axes().len() <= MOST_AXES;
        if CHANGES.load(Ordering::Relaxed) == OTHER || !has_form {
            return Err(Reason::Compressed);
        }
        let null = match pixel {
            PixelType::F32 => NULL_SINGLE.to_bits().into(),
            PixelType::F64 => NULL_DOUBLE.to_bits(),
            PixelType::U8 | PixelType::I16 | PixelType::I32 => 0,
            // CFITSIO does not decompress other types.
            _ => return Err(Reason::Type),
        };
        let nulls = if pixel.is_float() { NullWish::Value(null) } else { NullWish::Ignore };
        let place = Place::Run { group: 1, first: 1, count };
        let request = Request { place, kind: pixel, is_long: false, nulls, is_block: false };
        let (rule, may_be_null) = self.rule(&self.unscaled, &request)?;
        let bands = Bands::new(&self.grid);
        if pixel.is_float() && bands.tiles > 1 {
            // CFITSIO writes tiles with null pixels consecutively, not at their positions.
            return Err(Reason::Compressed);
        }
        let has_nulls = rule == NullRule::NotFinite;
        Ok(PlainImage { tiled: Arc::clone(self), pixel, null, has_nulls, may_be_null, bands })
    }
}

/// Compressed image to be written as a plain one, with its stored numbers.
#[derive(Clone, Debug)]
pub(crate) struct PlainImage {
    tiled: Arc<TiledImage>,
    pub(crate) pixel: PixelType,
    /// Bits of CFITSIO's null value, which no pixel should have.
    pub(crate) null: u64,
    /// Whether floats that are not finite are null.
    has_nulls: bool,
    may_be_null: bool,
    pub(crate) bands: Bands,
}

impl PlainImage {
    pub(crate) fn grid(&self) -> &TileGrid {
        &self.tiled.grid
    }

    /// Reads pixels from number `first` on, big-endian, null ones as NaN; returns an error if CFITSIO may return
    /// others.
    pub(crate) fn read(
        &self,
        first: u64,
        out: &mut [u8],
        settings: &Settings,
    ) -> Result<u64, Reason> {
        let threads = if out.len() < ONE_THREAD_BYTES { 1 } else { settings.threads };
        let executor = executor(settings.threads).ok_or(Reason::Busy)?;
        let job = Job::on(&executor);
        let options = RunOptions::new().threads(threads).job(Some(&job));
        let nan = self.has_nulls.then_some(u64::MAX);
        let result = self.tiled.unscaled.read_stored(first, nan, out, &options);
        let (report, nulls) = result.map_err(|_| Reason::Reading)?;
        if nulls > 0 && (!self.may_be_null || self.has_null_value(out)) {
            return Err(Reason::Value);
        }
        Ok(report.bytes)
    }

    /// Whether a pixel equals CFITSIO's null value, which becomes NaN if null pixels are present.
    fn has_null_value(&self, bytes: &[u8]) -> bool {
        match self.pixel {
            PixelType::F32 => bytes.as_chunks().0.contains(&(self.null as u32).to_be_bytes()),
            _ => bytes.as_chunks().0.contains(&self.null.to_be_bytes()),
        }
    }
}

/// Bands of an image: consecutive pixels that consist of whole tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bands {
    /// Pixels of a line: a pixel, a row, or a plane. A band has several lines.
    line: u64,
    /// Lines of the image before the tiles start again.
    length: u64,
    /// Lines of a band, except for the last band of `length`.
    size: u64,
    /// Tiles per band.
    pub(crate) tiles: u64,
    /// Pixels of the image.
    pub(crate) pixels: u64,
}

impl Bands {
    fn new(grid: &TileGrid) -> Bands {
        let (axes, shape) = (grid.axes(), grid.tile_shape());
        // The last axis along which a tile has several pixels.
        let last = shape.iter().zip(axes).rposition(|(&size, &axis)| size.min(axis) > 1);
        let last = last.unwrap_or(0);
        let line: u64 = axes[..last].iter().product();
        Bands {
            line,
            length: axes[last],
            size: shape[last].min(axes[last]),
            tiles: grid.counts()[..last].iter().product(),
            pixels: axes.iter().product(),
        }
    }

    /// Returns the first pixel after a band that begins at a pixel.
    pub(crate) fn next(&self, pixel: u64) -> u64 {
        let line = pixel / self.line;
        let remaining = self.length - line % self.length;
        pixel + self.size.min(remaining) * self.line
    }
}

#[cfg(test)]
mod tests {
    use super::Bands;
    use tachyfits::tiled::TileGrid;

    #[test]
    fn bands_are_whole_tiles() {
        let starts = |axes: &[u64], tile: &[u64]| {
            let bands = Bands::new(&TileGrid::new(axes.to_vec(), tile.to_vec()));
            let next = |pixel: &u64| Some(bands.next(*pixel)).filter(|&next| next < bands.pixels);
            (bands.tiles, std::iter::successors(Some(0), next).collect::<Vec<u64>>())
        };
        assert_eq!(starts(&[10, 3], &[10, 1]), (1, vec![0, 10, 20]));
        assert_eq!(starts(&[10, 5], &[10, 2]), (1, vec![0, 20, 40]));
        assert_eq!(starts(&[10, 5, 2], &[4, 3, 1]), (3, vec![0, 30, 50, 80]));
        assert_eq!(starts(&[10, 2, 5], &[10, 1, 2]), (2, vec![0, 40, 80]));
        assert_eq!(starts(&[10], &[3]), (1, vec![0, 3, 6, 9]));
    }
}
