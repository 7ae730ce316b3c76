//! Writing an image in compressed tiles: the tiles are made in parallel, each once, and their streams follow the rows of the
//! table in the order of the tiles.

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

/// Pixels of the boxes that are made at a time: several tiles, whose pixels stay in the second-level cache.
const BOX_PIXELS: u64 = 1 << 17;
/// A heap that may be larger than this has descriptors of 64 bits.
const WIDE_HEAP: u64 = 1 << 31;

/// Where the pixels of a new image come from: fills a box with what the file would have.
pub(crate) type FillBox<'a> =
    dyn Fn(&Window, &mut Feed<'_>, &mut [u8]) -> Result<(), Error> + Sync + 'a;

/// Writes a computed image in tiles as the next HDU of a file. `fill` gives its pixels as `to` encodes them; the returned
/// report has the largest difference that compression makes.
pub(crate) fn write_tiles(
    image: &Computed,
    (new, header): (&NewImage, Header),
    to: &Encoding,
    how: &TileCompression,
    file: &mut FileWriter,
    run: &RunOptions<'_>,
    fill: &FillBox<'_>,
) -> Result<Report, Error> {
    let header = file.header_in_place(header)?;
    file.begin_extension()?;
    let quantised = how.quantising(new.stored, 1).is_some();
    check_values(new, how)?;
    let codec = how.tile_codec(new, quantised)?;
    let shape = how.tile_shape(&new.axes, &*codec)?;
    let grid = TileGrid::new(new.axes.clone(), shape.clone());
    let seed = match how.seed {
        Some(seed) if (1..=10_000).contains(&seed) => seed,
        Some(seed) => {
            let expected = "a dither seed from 1 to 10000";
            return Err(Error::refused(Reason::TileCompression, expected, seed.to_string()));
        }
        None if quantised && grid.count() > 0 => first_seed(image, &grid, to, fill)?,
        None => 1,
    };
    let quantising = how.quantising(new.stored, seed);
    let encoder = TileEncoder { stored: new.stored, codec, quantising, tier: file.tier() };
    let sums = file.updates_checksums();
    let mut table = TileTable::begin(file, new, header, &encoder, &grid)?;
    let tiles = Tiles::of_shape(&new.axes, box_shape(&grid));
    let scratch: Mutex<Vec<Scratch>> = Mutex::default();
    let report = image.each_box(
        &tiles,
        run,
        |window, feed| {
            let mut own = lock(&scratch).pop().unwrap_or_default();
            let encoded = encode_box(&encoder, &grid, window, to, feed, &mut own, fill, sums);
            lock(&scratch).push(own);
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

/// Memory of a worker.
#[derive(Debug, Default)]
struct Scratch {
    pixels: Vec<u8>,
    words: Vec<u64>,
    encoder: EncoderScratch,
}

#[expect(clippy::too_many_arguments, reason = "a step of `write_tiles`, with its values")]
/// Compresses the tiles of a box, in their order, and sums its pixels for DATASUM of the original.
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
        let found = grid.tile(tile);
        let bytes = found.pixels() as usize * size;
        let words = room(words, bytes.div_ceil(8))?;
        let tile_window = Window { first: found.first, count: found.shape };
        let out = &mut bytemuck::cast_slice_mut::<u64, u8>(words)[..bytes];
        copy_common(size as u64, (window, pixels), (&tile_window, out));
        let made = encoder.encode(tile, &tile_window.count, words, own);
        encoded.push((tile, made.map_err(|error| of_tile(tile, error))?));
    }
    Ok((encoded, sum))
}

/// The first numbers of a buffer; too little memory is an error.
fn room<T: Clone + Default>(buffer: &mut Vec<T>, count: usize) -> Result<&mut [T], Error> {
    let bytes = count as u128 * size_of::<T>() as u128;
    sized(buffer, count).map_err(|_| no_memory("a tile to compress", bytes))
}

fn of_tile(tile: u64, error: CodecError) -> Error {
    refusal(error, &format!("tile {} (from 1)", tile + 1))
}

/// The error for what a codec cannot encode, or has too little memory for.
pub(super) fn refusal(error: CodecError, place: &str) -> Error {
    if error.code == Code::NoMemory {
        return Error::refused(Reason::Memory, error.expected, error.found);
    }
    let found = format!("{} in {place}", error.found);
    Error::refused(Reason::TileCompression, error.expected, found)
}

/// The seed for the random numbers of the dither, from the pixels of the first tile.
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

/// Refuses what would not come back as it was.
fn check_values(new: &NewImage, how: &TileCompression) -> Result<(), Error> {
    let refused = |expected: &str, found: String| {
        Err(Error::refused(Reason::TileCompression, expected, found))
    };
    let name = how.codec.to_ascii_uppercase();
    let keeps_bits = codec_facts(&name).is_some_and(|codec| codec.keeps_bits);
    let keeping_bits = || codec_names(|codec| codec.keeps_bits);
    let quantised = how.quantising(new.stored, 1).is_some();
    if new.stored.is_float() && !quantised && !keeps_bits {
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
    if name == "HCOMPRESS_1" && quantised && how.dither == Dither::SubtractiveKeepingZeros {
        return refused("another dither for HCOMPRESS_1", how.dither.as_str().to_owned());
    }
    if name == "HCOMPRESS_1" && how.scale != 0 && (quantised || new.blank.is_some()) {
        // The integers that mean NaN or BLANK would become others.
        let expected = "scale 0 of HCOMPRESS_1 for pixels that may be undefined";
        return refused(expected, format!("scale {}", how.scale));
    }
    Ok(())
}

/// The shape of the boxes in which tiles are made: whole tiles, as many as stay in a cache. A box goes on along an axis only
/// if it has all of the axes before, so that the tiles of all boxes ascend.
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

/// Whether the streams of this many pixels may need descriptors of 64 bits.
fn may_be_wide(pixels: u64, stored: StoredType, tiles: u64) -> bool {
    // A pixel takes up to three words of PLIO_1; other streams are at most an eighth longer than their pixels.
    let most_bytes = pixels * (stored.bytes() as u64).max(6);
    most_bytes + most_bytes / 8 + tiles * 64 > WIDE_HEAP
}

/// The table that is being written.
struct TileTable<'a> {
    file: &'a mut FileWriter,
    hdu: HduWriter,
    image_header: Header,
    new: NewTiledImage<'a>,
    tiles: u64,
    row_bytes: u64,
    /// Bytes of the heap so far.
    reached: u64,
    /// The sum of the pixels as the original has them.
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
        let quantisation = encoder.quantising.map(|how| NewQuantisation {
            dither: how.dither,
            seed: how.seed,
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
        let (reached, largest) = (0, 0.0);
        Ok(TileTable {
            file,
            hdu,
            image_header,
            new,
            tiles,
            row_bytes,
            reached,
            plain_sum,
            largest,
        })
    }

    /// Adds tiles that follow each other, and those that were added before.
    fn add(&mut self, tiles: &[(u64, EncodedTile)]) -> Result<(), Error> {
        let Some(&(first, _)) = tiles.first() else { return Ok(()) };
        let mut rows = Vec::new();
        let mut next = self.reached;
        let element = if self.new.codec.name() == "PLIO_1" { 2 } else { 1 };
        for (_, encoded) in tiles {
            self.largest = self.largest.max(encoded.error);
            let count = encoded.stream.len() as u64 / element;
            let place = next;
            next += encoded.stream.len() as u64;
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
            self.hdu.write(self.file, heap + self.reached, &only.stream)?;
        } else {
            let streams: Vec<&[u8]> = tiles.iter().map(|(_, encoded)| &*encoded.stream).collect();
            self.hdu.write(self.file, heap + self.reached, &streams.concat())?;
        }
        self.reached = next;
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

    /// Ends the table; gives the largest difference that compression makes.
    fn finish(mut self) -> Result<f64, Error> {
        self.new.heap_bytes = self.reached;
        if self.file.updates_checksums() {
            let (header, tier) = (&mut self.image_header, self.file.tier());
            let stated = update_checksums(header, self.plain_sum, tier);
            self.file.format_error(stated)?;
        }
        let header = self.file.format_error(self.new.header(&self.image_header))?;
        let data_bytes = self.tiles * self.row_bytes + self.reached;
        self.hdu.finish(self.file, header, data_bytes, 0)?;
        Ok(self.largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_of_masks_that_change_at_each_pixel_have_wide_descriptors() {
        // A list of PLIO_1 has up to 6 bytes for a pixel of 2.
        assert!(may_be_wide(1 << 29, StoredType::I16, 1 << 14));
        assert!(!may_be_wide(1 << 28, StoredType::I16, 1 << 14));
        assert!(may_be_wide(1 << 29, StoredType::I32, 1 << 14));
    }
}
