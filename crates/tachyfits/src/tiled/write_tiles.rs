//! Writes an image in compressed tiles. The tiles are computed in parallel, each once; their
//! streams follow the rows of the table in the order of the tiles.

use std::sync::{Mutex, PoisonError};

use tachyfits_format::{
    Code, CodecError, Dither, Header, NewImage, NewQuantisation, NewTiledImage, StoredType,
    TileGrid, codec_facts, codec_names, dither_seed, sized,
};
use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{Encoding, OnesComplement};

use super::copy_common::copy_common;
use super::tile_compression::TileCompression;
use super::tile_encoder::{BLANK, EncodedTile, EncoderScratch, TileEncoder};
use crate::byte_sums::update_checksums;
use crate::computed::{Computed, Feed, Tiles, Window};
use crate::error::{Error, Reason};
use crate::file_writer::FileWriter;
use crate::hdu_writer::HduWriter;
use crate::image::no_memory;

/// Pixels computed at a time: several tiles, whose pixels stay in the second-level cache.
const BOX_PIXELS: u64 = 1 << 17;
/// A heap that may exceed this size gets 64-bit descriptors.
const WIDE_HEAP: u64 = 1 << 31;

/// Source of the pixels of a new image: fills a box with pixels as stored in a file.
pub(crate) type FillBox<'a> =
    dyn Fn(&Window, &mut Feed<'_>, &mut [u8]) -> Result<(), Error> + Sync + 'a;

/// Writes a computed image in tiles as the next HDU of a file. `fill` returns its pixels in the
/// encoding `to`; the report has the largest difference due to compression.
pub(crate) fn write_tiles(
    image: &Computed,
    (new, header): (&NewImage, Header),
    to: &Encoding,
    settings: &TileCompression,
    file: &mut FileWriter,
    run: &RunOptions<'_>,
    fill: &FillBox<'_>,
) -> Result<Report, Error> {
    let header = file.header_in_place(header)?;
    file.begin_extension()?;
    let is_quantised = settings.quantising(new.stored, 1).is_some();
    check_values(new, settings)?;
    let codec = settings.tile_codec(new, is_quantised)?;
    let shape = settings.tile_shape(&new.axes, &*codec)?;
    let grid = TileGrid::new(new.axes.clone(), shape.clone());
    let seed = match settings.seed {
        Some(seed) if (1..=10_000).contains(&seed) => seed,
        Some(seed) => {
            let expected = "a dither seed from 1 to 10000";
            return Err(Error::refused(Reason::TileCompression, expected, seed.to_string()));
        }
        None if is_quantised && grid.count() > 0 => first_seed(image, &grid, to, fill)?,
        None => 1,
    };
    let quantising = settings.quantising(new.stored, seed);
    let encoder = TileEncoder { stored: new.stored, codec, quantising, tier: file.tier() };
    let sums = file.updates_checksums();
    let mut table = TileTable::begin(file, new, header, &encoder, &grid)?;
    let tiles = Tiles::of_shape(&new.axes, box_shape(&grid));
    let scratch: Mutex<Vec<Scratch>> = Mutex::default();
    let report = image.each_box(
        &tiles,
        run,
        |window, feed| {
            let mut buffers = lock(&scratch).pop().unwrap_or_default();
            let encoded = encode_box(&encoder, &grid, window, to, feed, &mut buffers, fill, sums);
            lock(&scratch).push(buffers);
            encoded
        },
        |_window, (encoded, sum)| {
            table.plain_sum.merge(sum);
            table.add(&encoded)
        },
    )?;
    let step = new.scaling.map_or(1.0, |(scale, _)| scale.abs());
    Ok(report.with_rounding(step * table.finish()?))
}

/// Buffers of a worker.
#[derive(Debug, Default)]
struct Scratch {
    pixels: Vec<u8>,
    words: Vec<u64>,
    encoder: EncoderScratch,
}

#[expect(clippy::too_many_arguments, reason = "a step of `write_tiles`, with its values")]
/// Compresses the tiles of a box, in order, and sums its pixels for DATASUM of the original.
fn encode_box(
    encoder: &TileEncoder,
    grid: &TileGrid,
    window: &Window,
    to: &Encoding,
    feed: &mut Feed<'_>,
    scratch: &mut Scratch,
    fill: &FillBox<'_>,
    sums: bool,
) -> Result<(Vec<(u64, EncodedTile)>, OnesComplement), Error> {
    let size = to.pixel_bytes();
    let Scratch { pixels, words, encoder: own } = scratch;
    let pixels = room(pixels, window.pixels() as usize * size)?;
    fill(window, feed, pixels)?;
    let mut sum = OnesComplement::default();
    if sums {
        let mut rest = &pixels[..];
        for (first, count) in window.runs(grid.axes()) {
            let (run, later) = rest.split_at(count as usize * size);
            sum.accumulate(first * size as u64, run, encoder.tier);
            rest = later;
        }
    }
    let mut encoded = Vec::new();
    for tile in grid.touching(&window.first, &window.end()) {
        let position = grid.tile(tile);
        let bytes = position.pixels() as usize * size;
        let words = room(words, bytes.div_ceil(8))?;
        let tile_window = Window { first: position.first, count: position.shape };
        let out = &mut bytemuck::cast_slice_mut::<u64, u8>(words)[..bytes];
        copy_common(size as u64, (window, pixels), (&tile_window, out));
        let result = encoder.encode(tile, &tile_window.count, words, own);
        encoded.push((tile, result.map_err(|error| of_tile(tile, error))?));
    }
    Ok((encoded, sum))
}

/// Returns the first numbers of a buffer; fails if memory is short.
fn room<T: Clone + Default>(buffer: &mut Vec<T>, count: usize) -> Result<&mut [T], Error> {
    let bytes = count as u128 * size_of::<T>() as u128;
    sized(buffer, count).map_err(|_| no_memory("a tile to compress", bytes))
}

fn of_tile(tile: u64, error: CodecError) -> Error {
    refusal(error, &format!("tile {} (from 1)", tile + 1))
}

/// Creates the error for content that a codec cannot encode, or for too little memory.
pub(super) fn refusal(error: CodecError, place: &str) -> Error {
    if error.code == Code::NoMemory {
        return Error::refused(Reason::Memory, error.expected, error.found);
    }
    let found = format!("{} in {place}", error.found);
    Error::refused(Reason::TileCompression, error.expected, found)
}

/// Derives the seed of the dither from the pixels of the first tile.
fn first_seed(
    image: &Computed,
    grid: &TileGrid,
    to: &Encoding,
    fill: &FillBox<'_>,
) -> Result<u64, Error> {
    let first = grid.tile(0);
    let window = Window { first: first.first, count: first.shape };
    let mut bytes = Vec::new();
    let bytes = room(&mut bytes, window.pixels() as usize * to.pixel_bytes())?;
    image.one_box(&window, |feed| fill(&window, feed, bytes))?;
    let mut sum = OnesComplement::default();
    sum.accumulate(0, bytes, image.tier());
    Ok(dither_seed(sum.sum()))
}

/// Rejects settings that would not restore the pixels as requested.
fn check_values(new: &NewImage, settings: &TileCompression) -> Result<(), Error> {
    let refused = |expected: &str, found: String| {
        Err(Error::refused(Reason::TileCompression, expected, found))
    };
    let name = settings.codec.to_ascii_uppercase();
    let keeps_bits = codec_facts(&name).is_some_and(|codec| codec.keeps_bits);
    let keeping_bits = || codec_names(|codec| codec.keeps_bits);
    let is_quantised = settings.quantising(new.stored, 1).is_some();
    if new.stored.is_float() && !is_quantised && !keeps_bits {
        let expected = format!("{} for floats that keep every bit", keeping_bits());
        return refused(&expected, name);
    }
    if new.stored.is_float() && name == "PLIO_1" {
        return refused("another codec than PLIO_1 for floats", name);
    }
    if new.stored == StoredType::I64 && !keeps_bits {
        let expected = format!("{} for integers of 64 bits", keeping_bits());
        return refused(&expected, name);
    }
    if name == "HCOMPRESS_1" && is_quantised && settings.dither == Dither::SubtractiveKeepingZeros {
        return refused("another dither for HCOMPRESS_1", settings.dither.as_str().to_owned());
    }
    if name == "HCOMPRESS_1" && settings.scale != 0 && (is_quantised || new.blank.is_some()) {
        // Lossy compression would change the integers that represent NaN or BLANK.
        let expected = "scale 0 of HCOMPRESS_1 for pixels that may be undefined";
        return refused(expected, format!("scale {}", settings.scale));
    }
    Ok(())
}

/// Returns the shape of the boxes to compress: whole tiles, as many as fit in a cache. A box
/// extends along an axis only if it spans all previous axes, so that tile numbers ascend over all
/// boxes.
fn box_shape(grid: &TileGrid) -> Vec<u64> {
    let mut shape: Vec<u64> = grid
        .tile_shape()
        .iter()
        .zip(grid.axes())
        .map(|(&tile, &axis)| tile.min(axis.max(1)))
        .collect();
    for axis in 0..shape.len() {
        let pixels: u64 = shape.iter().product();
        let more = (BOX_PIXELS / pixels.max(1)).max(1);
        shape[axis] = (shape[axis] * more).min(grid.axes()[axis].max(1));
        if shape[axis] < grid.axes()[axis] {
            break;
        }
    }
    shape
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the streams of this many pixels may need 64-bit descriptors.
fn may_be_wide(pixels: u64, stored: StoredType, tiles: u64) -> bool {
    // A pixel may need three 16-bit words in PLIO_1; other streams exceed their pixels by at most an eighth.
    let most_bytes = pixels * (stored.bytes() as u64).max(6);
    most_bytes + most_bytes / 8 + tiles * 64 > WIDE_HEAP
}

/// Writer of the table of tiles.
struct TileTable<'a> {
    file: &'a mut FileWriter,
    hdu: HduWriter,
    image_header: Header,
    new: NewTiledImage<'a>,
    tiles: u64,
    row_bytes: u64,
    /// Bytes of the heap so far.
    heap_bytes: u64,
    /// Checksum of the uncompressed pixels.
    plain_sum: OnesComplement,
    largest: f64,
}

impl<'a> TileTable<'a> {
    fn begin(
        file: &'a mut FileWriter,
        new: &NewImage,
        image_header: Header,
        encoder: &'a TileEncoder,
        grid: &TileGrid,
    ) -> Result<TileTable<'a>, Error> {
        let tiles = grid.count();
        let wide = may_be_wide(grid.axes().iter().product(), new.stored, tiles);
        let quantisation = encoder.quantising.map(|quantising| NewQuantisation {
            dither: quantising.dither,
            seed: quantising.seed,
            blank: Some(i64::from(BLANK)),
        });
        let new = NewTiledImage {
            tile: grid.tile_shape().to_vec(),
            codec: &*encoder.codec,
            quantisation,
            gzip_column: quantisation.is_some(),
            mask: None,
            tiles,
            heap_bytes: 0,
            wide,
            checksum: file.updates_checksums(),
        };
        let header = file.format_error(new.header(&image_header))?;
        let arrays = 1 + u64::from(new.gzip_column);
        let numbers = if new.quantisation.is_some() { 2 } else { 0 };
        let row_bytes = arrays * if wide { 16 } else { 8 } + numbers * 8;
        let hdu = HduWriter::begin(file, &header, tiles * row_bytes)?;
        let plain_sum = OnesComplement::default();
        let (heap_bytes, largest) = (0, 0.0);
        Ok(TileTable {
            file,
            hdu,
            image_header,
            new,
            tiles,
            row_bytes,
            heap_bytes,
            plain_sum,
            largest,
        })
    }

    /// Appends consecutive tiles.
    fn add(&mut self, tiles: &[(u64, EncodedTile)]) -> Result<(), Error> {
        let Some(&(first, _)) = tiles.first() else { return Ok(()) };
        let mut rows = Vec::new();
        let mut heap_end = self.heap_bytes;
        let element = if self.new.codec.name() == "PLIO_1" { 2 } else { 1 };
        for (_, encoded) in tiles {
            self.largest = self.largest.max(encoded.error);
            let count = encoded.stream.len() as u64 / element;
            let place = heap_end;
            heap_end += encoded.stream.len() as u64;
            self.descriptor(&mut rows, if encoded.is_plain_gzip { 0 } else { count }, place);
            if self.new.gzip_column {
                self.descriptor(&mut rows, if encoded.is_plain_gzip { count } else { 0 }, place);
            }
            if let Some((scale, zero)) = encoded.scaling {
                rows.extend(scale.to_be_bytes());
                rows.extend(zero.to_be_bytes());
            }
        }
        self.hdu.write(self.file, first * self.row_bytes, &rows)?;
        let heap = self.tiles * self.row_bytes;
        if let [(_, only)] = tiles {
            self.hdu.write(self.file, heap + self.heap_bytes, &only.stream)?;
        } else {
            let streams: Vec<&[u8]> = tiles.iter().map(|(_, encoded)| &*encoded.stream).collect();
            self.hdu.write(self.file, heap + self.heap_bytes, &streams.concat())?;
        }
        self.heap_bytes = heap_end;
        Ok(())
    }

    fn descriptor(&self, row: &mut Vec<u8>, count: u64, place: u64) {
        for number in [count, if count > 0 { place } else { 0 }] {
            match self.new.wide {
                true => row.extend((number as i64).to_be_bytes()),
                false => row.extend((number as i32).to_be_bytes()),
            }
        }
    }

    /// Ends the table; returns the largest difference due to compression.
    fn finish(mut self) -> Result<f64, Error> {
        self.new.heap_bytes = self.heap_bytes;
        if self.file.updates_checksums() {
            let (header, tier) = (&mut self.image_header, self.file.tier());
            let result = update_checksums(header, self.plain_sum, tier);
            self.file.format_error(result)?;
        }
        let header = self.file.format_error(self.new.header(&self.image_header))?;
        let data_bytes = self.tiles * self.row_bytes + self.heap_bytes;
        self.hdu.finish(self.file, header, data_bytes, 0)?;
        Ok(self.largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_of_masks_that_change_at_each_pixel_have_wide_descriptors() {
        // A PLIO_1 list has up to 6 bytes per 2-byte pixel.
        assert!(may_be_wide(1 << 29, StoredType::I16, 1 << 14));
        assert!(!may_be_wide(1 << 28, StoredType::I16, 1 << 14));
        assert!(may_be_wide(1 << 29, StoredType::I32, 1 << 14));
    }
}
