//! The tiles of a compressed image: their rows and streams are read from the table, decoded, and given their meaning.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::{cast_slice, cast_slice_mut};
use tachyfits_format::{
    Code, CodecError, CodecScratch, Dither, FormatError, PixelsMut, StoredTile, StoredType, Tile,
    TileGrid, TileQuantisation, TiledLayout,
};
use tachyfits_io::operation::RunOptions;
use tachyfits_io::{Fetched, IoError, Storage, fetch, note};
use tachyfits_kernels::{ByteOrder, EXACT_ZERO, Quantiser, Tier, dequantise_f32, dequantise_f64};
use tachyfits_memory as memory;

use super::damage::OnDamage;
use super::{PixelSource, TakeTile, batch_tiles};
use crate::tile_batch::decode_tiles;

/// See the module.
#[derive(Debug)]
pub(crate) struct CompressedImage {
    storage: Arc<dyn Storage>,
    layout: TiledLayout,
    tier: Tier,
    on_damage: OnDamage,
    /// Memory that threads reuse.
    scratch: Mutex<Vec<TileScratch>>,
}

/// Memory for a batch of tiles.
#[derive(Debug, Default)]
struct TileScratch {
    codec: CodecScratch,
    /// The numbers of the streams, each tile from a whole word on.
    numbers: Vec<u64>,
    /// The pixels of a quantised tile.
    pixels: Vec<u64>,
    mask: Vec<u8>,
}

impl CompressedImage {
    /// The image of a layout, whose table `storage` has.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        layout: TiledLayout,
        tier: Tier,
        on_damage: OnDamage,
    ) -> CompressedImage {
        CompressedImage { storage, layout, tier, on_damage, scratch: Mutex::default() }
    }

    /// Decodes every tile for the damage that is found, without room for the image.
    ///
    /// # Errors
    /// If reading fails or the run is cancelled.
    pub(crate) fn decode_all(&self, run: &RunOptions<'_>) -> Result<(), IoError> {
        let (count, batch) = (self.layout.grid.count(), self.batch_tiles());
        for first in (0..count).step_by(batch as usize) {
            run.check(first, count)?;
            let tiles: Vec<u64> = (first..count.min(first + batch)).collect();
            self.decode(&tiles, &mut |_, _| Ok(()))?;
        }
        Ok(())
    }

    /// Tiles that are decoded together.
    fn batch_tiles(&self) -> u64 {
        batch_tiles(self.layout.grid.most_pixels().saturating_mul(self.pixel_bytes()).max(1))
    }

    /// Where the streams of tiles are: from their rows. An error of its own is that of a damaged tile.
    fn stored(&self, tiles: &[u64]) -> Result<Vec<Result<StoredTile, FormatError>>, IoError> {
        let row_bytes = self.layout.table.row_bytes;
        let file_bytes = self.storage.bytes();
        let cut_off = |tile: u64, place| self.layout.cut_off(tile, place, file_bytes);
        let row_cut_off = |tile: u64| cut_off(tile, (self.layout.row_offset(tile), row_bytes));
        let there = tiles.partition_point(|&tile| row_cut_off(tile).is_none());
        let (tiles, missing) = tiles.split_at(there);
        // Rows that follow each other are one range.
        let runs: Vec<&[u64]> = tiles.chunk_by(|a, b| a + 1 == *b).collect();
        let ask = |ranges: &mut Vec<Range<u64>>| {
            ranges.extend(runs.iter().map(|run| {
                let start = self.layout.row_offset(run[0]);
                start..start + run.len() as u64 * row_bytes
            }));
        };
        let of_row = |(tile, row): (u64, &[u8])| {
            let found = self.layout.stored_tile(tile, row)?;
            let places = [Some((found.offset, found.bytes)), found.mask];
            match places.into_iter().flatten().find_map(|place| cut_off(tile, place)) {
                Some(error) => Err(error),
                None => Ok(found),
            }
        };
        let mut stored: Vec<_> = fetch(&*self.storage, ask, |fetched| {
            let rows = runs.iter().enumerate().flat_map(|(piece, run)| {
                run.iter().copied().zip(fetched.piece(piece).chunks_exact(row_bytes as usize))
            });
            rows.map(of_row).collect()
        })?;
        stored.extend(missing.iter().filter_map(|&tile| row_cut_off(tile)).map(Err));
        Ok(stored)
    }

    /// Decodes tiles whose streams and masks were fetched, in this order; `places` are their places in the request.
    fn decode_fetched(
        &self,
        stored: &[StoredTile],
        places: &[usize],
        fetched: &Fetched<'_>,
        scratch: &mut TileScratch,
        take: &mut TakeTile<'_>,
    ) -> Result<(), IoError> {
        let shapes: Vec<Vec<u64>> =
            stored.iter().map(|stored| self.layout.grid.tile(stored.tile).shape).collect();
        let lengths: Vec<usize> =
            shapes.iter().map(|shape| shape.iter().product::<u64>() as usize).collect();
        let mut streams = Streams::default();
        let streams: Vec<Stream<'_>> =
            stored.iter().map(|stored| streams.next(stored, fetched)).collect();
        let TileScratch { codec, numbers, pixels, mask } = scratch;
        let words = |index: usize| {
            (lengths[index] * self.layout.stream_type(&stored[index]).bytes()).div_ceil(8)
        };
        let numbers = self.sized(numbers, (0..stored.len()).map(words).sum())?;
        // At most the tiles of a batch, 256.
        let mut results = Vec::with_capacity(stored.len());
        let mut rest = &mut numbers[..];
        let mut first = 0;
        let step = |tile: &StoredTile| (tile.form, tile.quantisation.is_some());
        for run in stored.chunk_by(|a, b| step(a) == step(b)) {
            // At most the tiles of a batch.
            let mut batch = Vec::with_capacity(run.len());
            for index in first..first + run.len() {
                let (own, later) = std::mem::take(&mut rest).split_at_mut(words(index));
                rest = later;
                let kind = self.layout.stream_type(&stored[index]);
                let pixels = pixels_of(own, kind, lengths[index]);
                batch.push(Tile { stream: streams[index].bytes, shape: &shapes[index], pixels });
            }
            let (form, is_quantised) = step(&run[0]);
            let order = if is_quantised { ByteOrder::Native } else { ByteOrder::BigEndian };
            let decoder = self.layout.codec_of(form);
            results.extend(decode_tiles(decoder, &mut batch, order, self.tier, codec));
            first += run.len();
        }
        let mut rest = &mut numbers[..];
        for (index, (stored, result)) in stored.iter().zip(results).enumerate() {
            let (own, later) = std::mem::take(&mut rest).split_at_mut(words(index));
            rest = later;
            if let Err(error) = result {
                let error = self.layout.tile_error(stored, error);
                self.take_damaged(stored.tile, &error, places[index], take)?;
                continue;
            }
            let kind = self.layout.stream_type(stored);
            let bytes = &mut bytemuck::cast_slice_mut(own)[..lengths[index] * kind.bytes()];
            let bytes = match &stored.quantisation {
                Some(how) => self.dequantised(bytes, how, pixels)?,
                None => bytes,
            };
            if let Some(stream) = streams[index].mask {
                let mask = self.sized(mask, lengths[index])?;
                if let Err(error) = self.decode_mask(stream, &shapes[index], mask, codec) {
                    let error = self.layout.tile_error(stored, error);
                    self.take_damaged(stored.tile, &error, places[index], take)?;
                    continue;
                }
                self.mask_out(stored, mask, bytes)?;
            }
            if let Err(error) = self.unify_blank(stored, bytes) {
                self.take_damaged(stored.tile, &error, places[index], take)?;
                continue;
            }
            take(places[index], bytes)?;
        }
        Ok(())
    }

    /// Hands over what is read for a damaged tile, if that is not an error.
    fn take_damaged(
        &self,
        tile: u64,
        error: &FormatError,
        place: usize,
        take: &mut TakeTile<'_>,
    ) -> Result<(), IoError> {
        if matches!(error.code(), Code::DataTooLarge | Code::NoMemory) {
            // There is too little memory: the tile is not damaged.
            return Err(self.content(error.clone()));
        }
        match &self.on_damage {
            OnDamage::Refuse => return Err(self.content(error.clone())),
            OnDamage::List(list) => {
                list.add((tile, 0, None), error.clone());
            }
            OnDamage::Undefine(known) => {
                if self.layout.undefined_pixel().is_none() {
                    return Err(self.content(self.layout.without_blank(error)));
                }
                let is_new = !lock(known).contains(&tile);
                if is_new && note(&self.damage_subject(), tile, || fault(error)) {
                    lock(known).insert(tile);
                }
            }
        }
        take(place, &[])
    }

    /// The subject of notes about damaged tiles.
    fn damage_subject(&self) -> String {
        let value = match self.layout.image.blank {
            Some(blank) if !self.layout.image.stored.is_float() => format!("BLANK, {blank}"),
            _ => "NaN".to_owned(),
        };
        let (name, hdu) = (self.storage.name(), self.layout.table.hdu);
        format!("{name}: HDU {hdu} (0-based): damaged tiles, whose pixels are read as {value}")
    }

    /// The first numbers of a buffer, whose old content is kept, because it will be overwritten.
    fn sized<'a, T: Clone + Default>(
        &self,
        numbers: &'a mut Vec<T>,
        count: usize,
    ) -> Result<&'a mut [T], IoError> {
        if numbers.len() < count {
            memory::resize(numbers, count, T::default(), "the pixels of tiles")?;
        }
        Ok(&mut numbers[..count])
    }

    /// An error of the table's content, as one of reading.
    fn content(&self, error: FormatError) -> IoError {
        IoError::Content { name: self.storage.name().to_owned(), source: Box::new(error) }
    }

    /// Whether a tile was found to be damaged before, and is read as undefined.
    fn is_known_as_damaged(&self, tile: u64) -> bool {
        matches!(&self.on_damage, OnDamage::Undefine(known) if lock(known).contains(&tile))
    }
}

fn lock(known: &Mutex<BTreeSet<u64>>) -> MutexGuard<'_, BTreeSet<u64>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The damage of a tile in a line, without its HDU.
fn fault(error: &FormatError) -> String {
    let mut problem = error.problem().clone();
    problem.place.hdu = None;
    let text = problem.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// The bytes of a tile that were fetched.
struct Stream<'a> {
    bytes: &'a [u8],
    mask: Option<&'a [u8]>,
}

/// Fetched pieces, one after the other.
#[derive(Default)]
struct Streams {
    next: usize,
}

impl Streams {
    fn next<'a>(&mut self, stored: &StoredTile, fetched: &'a Fetched<'_>) -> Stream<'a> {
        let mut piece = || {
            self.next += 1;
            fetched.piece(self.next - 1)
        };
        Stream { bytes: piece(), mask: stored.mask.map(|_| piece()) }
    }
}

/// Room for the numbers of a stream in whole words.
pub(super) fn pixels_of(words: &mut [u64], kind: StoredType, count: usize) -> PixelsMut<'_> {
    match kind {
        StoredType::U8 => PixelsMut::U8(&mut cast_slice_mut(words)[..count]),
        StoredType::I16 => PixelsMut::I16(&mut cast_slice_mut(words)[..count]),
        StoredType::I32 => PixelsMut::I32(&mut cast_slice_mut(words)[..count]),
        StoredType::I64 => PixelsMut::I64(&mut cast_slice_mut(words)[..count]),
        StoredType::F32 => PixelsMut::F32(&mut cast_slice_mut(words)[..count]),
        StoredType::F64 => PixelsMut::F64(&mut cast_slice_mut(words)[..count]),
    }
}

impl PixelSource for CompressedImage {
    fn grid(&self) -> &TileGrid {
        &self.layout.grid
    }

    fn pixel_bytes(&self) -> u64 {
        self.layout.image.stored.bytes() as u64
    }

    fn undefined_pixel(&self) -> Option<Vec<u8>> {
        self.layout.undefined_pixel()
    }

    fn decode(&self, tiles: &[u64], take: &mut TakeTile<'_>) -> Result<(), IoError> {
        let (mut places, mut wanted) = (Vec::new(), Vec::new());
        for (place, &tile) in tiles.iter().enumerate() {
            if self.is_known_as_damaged(tile) {
                take(place, &[])?;
            } else {
                places.push(place);
                wanted.push(tile);
            }
        }
        let (mut stored, mut stored_places) = (Vec::new(), Vec::new());
        for (found, (place, tile)) in
            self.stored(&wanted)?.into_iter().zip(places.iter().zip(&wanted))
        {
            match found {
                Ok(found) => {
                    stored.push(found);
                    stored_places.push(*place);
                }
                Err(error) => self.take_damaged(*tile, &error, *place, take)?,
            }
        }
        let ask = |ranges: &mut Vec<Range<u64>>| {
            for tile in &stored {
                ranges.push(tile.offset..tile.offset + tile.bytes);
                ranges.extend(tile.mask.map(|(offset, bytes)| offset..offset + bytes));
            }
        };
        let mut scratch = {
            let mut kept = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
            kept.pop().unwrap_or_default()
        };
        let decoded = fetch(&*self.storage, ask, |fetched| {
            self.decode_fetched(&stored, &stored_places, fetched, &mut scratch, take)
        });
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        decoded?
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.storage.check_unchanged()
    }

    fn is_resident(&self, tiles: Range<u64>) -> bool {
        // Streams are about where their share of the heap is.
        let table = &self.layout.table;
        let (begin, bytes) = (table.heap.offset, table.heap.bytes);
        let place =
            |tile: u64| begin + (bytes as f64 * tile as f64 / table.rows.max(1) as f64) as u64;
        self.storage.is_resident(place(tiles.start)..place(tiles.end).max(place(tiles.start) + 1))
    }
}

impl CompressedImage {
    /// The pixels of quantised numbers, big-endian.
    fn dequantised<'a>(
        &self,
        numbers: &[u8],
        how: &TileQuantisation,
        pixels: &'a mut Vec<u64>,
    ) -> Result<&'a mut [u8], IoError> {
        let numbers: &[i32] = cast_slice(numbers);
        let bytes = numbers.len() * self.layout.image.stored.bytes();
        let pixels = self.sized(pixels, bytes.div_ceil(8))?;
        let how = Quantiser {
            scale: how.scale,
            zero: how.zero,
            blank: how.blank,
            exact_zero: (how.dither == Dither::SubtractiveKeepingZeros).then_some(EXACT_ZERO),
            dither: (how.dither != Dither::None).then_some(how.first_random),
        };
        let (order, out) = (ByteOrder::BigEndian, &mut cast_slice_mut::<u64, u8>(pixels)[..bytes]);
        match self.layout.image.stored {
            StoredType::F64 => dequantise_f64(numbers, &how, order, self.tier, cast_slice_mut(out)),
            _ => dequantise_f32(numbers, &how, order, self.tier, cast_slice_mut(out)),
        }
        Ok(out)
    }

    /// Decodes the mask of a tile: 1 where a pixel is undefined.
    fn decode_mask(
        &self,
        stream: &[u8],
        shape: &[u64],
        mask: &mut [u8],
        codec: &mut CodecScratch,
    ) -> Result<(), CodecError> {
        let Some(mask_codec) = &self.layout.mask_codec else { return Ok(()) };
        let pixels = PixelsMut::U8(mask);
        mask_codec.decode(&mut Tile { stream, shape, pixels }, codec)
    }

    /// Gives undefined pixels of an integer tile, whose value the column ZBLANK has, the BLANK of the whole image. A defined
    /// pixel of that value would become undefined, which is an error.
    fn unify_blank(&self, stored: &StoredTile, bytes: &mut [u8]) -> Result<(), FormatError> {
        let (Some(own), Some(common)) = (stored.blank, self.layout.image.blank) else {
            return Ok(());
        };
        if own == common {
            return Ok(());
        }
        let size = self.layout.image.stored.bytes();
        let [own, common] = [own, common].map(i64::to_be_bytes);
        let [own, common] = [&own[8 - size..], &common[8 - size..]];
        let blank_of_header = self.layout.states_blank();
        for pixel in bytes.chunks_exact_mut(size) {
            if pixel == own {
                pixel.copy_from_slice(common);
            } else if pixel == common && !blank_of_header {
                let expected = "one ZBLANK for all tiles, or BLANK that no tile has as a pixel";
                let error = CodecError {
                    code: Code::TileValue,
                    offset: None,
                    expected: expected.to_owned(),
                    found: "a pixel that is undefined in other tiles only".to_owned(),
                };
                return Err(self.layout.tile_error(stored, error));
            }
        }
        Ok(())
    }

    /// Makes masked pixels, which are big-endian, undefined: NaN, or BLANK.
    fn mask_out(&self, stored: &StoredTile, mask: &[u8], bytes: &mut [u8]) -> Result<(), IoError> {
        let Some(undefined) = self.layout.undefined_pixel() else {
            if mask.iter().all(|&masked| masked == 0) {
                return Ok(());
            }
            let error = CodecError {
                code: Code::TileValue,
                offset: None,
                expected: "BLANK in the header, for pixels that a mask marks".to_owned(),
                found: "no BLANK".to_owned(),
            };
            return Err(self.content(self.layout.tile_error(stored, error)));
        };
        for (pixel, &masked) in bytes.chunks_exact_mut(undefined.len()).zip(mask) {
            if masked != 0 {
                pixel.copy_from_slice(&undefined);
            }
        }
        Ok(())
    }
}
