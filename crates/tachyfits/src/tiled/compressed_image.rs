//! Decodes the tiles of a compressed image: reads their rows and streams from the table,
//! decompresses and dequantises them.

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

/// Pixel source of a compressed image.
#[derive(Debug)]
pub(crate) struct CompressedImage {
    storage: Arc<dyn Storage>,
    layout: TiledLayout,
    tier: Tier,
    on_damage: OnDamage,
    /// Buffers that threads reuse.
    scratch: Mutex<Vec<TileScratch>>,
}

/// Where the pixels of tiles go.
enum Destination<'a, 'b> {
    Take(&'a mut TakeTile<'b>),
    /// A buffer for each tile, and the tiles without pixels.
    Buffers(&'a mut [&'b mut [u8]], Vec<usize>),
}

impl<'b> Destination<'_, 'b> {
    /// Takes the buffer of a tile, to be filled with numbers of `size` bytes and given back, if there is one.
    fn lend(&mut self, place: usize, size: usize) -> Option<&'b mut [u8]> {
        let Destination::Buffers(buffers, _) = self else { return None };
        let is_aligned = buffers[place].as_ptr().align_offset(size) == 0;
        is_aligned.then(|| std::mem::take(&mut buffers[place]))
    }

    fn give_back(&mut self, place: usize, buffer: &'b mut [u8]) {
        if let Destination::Buffers(buffers, _) = self {
            buffers[place] = buffer;
        }
    }

    /// Takes the pixels of a tile that are elsewhere; none for a damaged tile.
    fn take(&mut self, place: usize, pixels: &[u8]) -> Result<(), IoError> {
        match self {
            Destination::Take(take) => return take(place, pixels),
            Destination::Buffers(_, without) if pixels.is_empty() => without.push(place),
            Destination::Buffers(buffers, _) => buffers[place].copy_from_slice(pixels),
        }
        Ok(())
    }
}

/// Buffers for a batch of tiles.
#[derive(Debug, Default)]
struct TileScratch {
    codec: CodecScratch,
    /// The decoded numbers; each tile begins at a whole word.
    numbers: Vec<u64>,
    /// The pixels of a dequantised tile.
    pixels: Vec<u64>,
    mask: Vec<u8>,
}

impl CompressedImage {
    /// Creates the source for a layout, whose table is in `storage`.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        layout: TiledLayout,
        tier: Tier,
        on_damage: OnDamage,
    ) -> CompressedImage {
        CompressedImage { storage, layout, tier, on_damage, scratch: Mutex::default() }
    }

    /// Decodes every tile to find damage, without memory for the image.
    ///
    /// # Errors
    /// If reading fails or the job is cancelled.
    pub(crate) fn decode_all(&self, run: &RunOptions<'_>) -> Result<(), IoError> {
        let (count, batch) = (self.layout.grid.count(), self.batch_tiles());
        for first in (0..count).step_by(batch as usize) {
            run.check(first, count)?;
            let tiles: Vec<u64> = (first..count.min(first + batch)).collect();
            self.decode(&tiles, &mut |_, _| Ok(()))?;
        }
        Ok(())
    }

    /// Number of tiles decoded together.
    fn batch_tiles(&self) -> u64 {
        batch_tiles(self.layout.grid.most_pixels().saturating_mul(self.pixel_bytes()).max(1))
    }

    /// Locates the streams of tiles from their rows. An inner error belongs to a damaged tile.
    fn stored(&self, tiles: &[u64]) -> Result<Vec<Result<StoredTile, FormatError>>, IoError> {
        let row_bytes = self.layout.table.row_bytes;
        let file_bytes = self.storage.bytes();
        let cut_off = |tile: u64, place| self.layout.cut_off(tile, place, file_bytes);
        let row_cut_off = |tile: u64| cut_off(tile, (self.layout.row_offset(tile), row_bytes));
        let present = tiles.partition_point(|&tile| row_cut_off(tile).is_none());
        let (tiles, missing) = tiles.split_at(present);
        // Adjacent rows form one range.
        let runs: Vec<&[u64]> = tiles.chunk_by(|a, b| a + 1 == *b).collect();
        let list = |ranges: &mut Vec<Range<u64>>| {
            ranges.extend(runs.iter().map(|run| {
                let start = self.layout.row_offset(run[0]);
                start..start + run.len() as u64 * row_bytes
            }));
        };
        let of_row = |(tile, row): (u64, &[u8])| {
            let stored = self.layout.stored_tile(tile, row)?;
            let places = [Some((stored.offset, stored.bytes)), stored.mask];
            match places.into_iter().flatten().find_map(|place| cut_off(tile, place)) {
                Some(error) => Err(error),
                None => Ok(stored),
            }
        };
        let mut stored: Vec<_> = fetch(&*self.storage, list, |fetched| {
            let rows = runs.iter().enumerate().flat_map(|(piece, run)| {
                run.iter().copied().zip(fetched.piece(piece).chunks_exact(row_bytes as usize))
            });
            rows.map(of_row).collect()
        })?;
        stored.extend(missing.iter().filter_map(|&tile| row_cut_off(tile)).map(Err));
        Ok(stored)
    }

    /// Decodes tiles from their fetched streams and masks, in this order; `places` are their indices in the request.
    fn decode_fetched(
        &self,
        stored: &[StoredTile],
        places: &[usize],
        fetched: &Fetched<'_>,
        scratch: &mut TileScratch,
        destination: &mut Destination<'_, '_>,
    ) -> Result<(), IoError> {
        let shapes: Vec<Vec<u64>> =
            stored.iter().map(|stored| self.layout.grid.tile(stored.tile).shape).collect();
        let lengths: Vec<usize> =
            shapes.iter().map(|shape| shape.iter().product::<u64>() as usize).collect();
        let mut streams = Streams::default();
        let streams: Vec<Stream<'_>> =
            stored.iter().map(|stored| streams.next(stored, fetched)).collect();
        let TileScratch { codec, numbers, pixels, mask } = scratch;
        // Pixels that need no dequantising are decoded where they are needed.
        let lent = |(stored, &place): (&StoredTile, &usize)| {
            let kind = self.layout.stream_type(stored);
            if stored.quantisation.is_some() {
                return None;
            }
            destination.lend(place, kind.bytes())
        };
        let mut lent: Vec<Option<&mut [u8]>> = stored.iter().zip(places).map(lent).collect();
        let is_lent: Vec<bool> = lent.iter().map(Option::is_some).collect();
        let words = |index: usize| {
            let bytes = lengths[index] * self.layout.stream_type(&stored[index]).bytes();
            if is_lent[index] { 0 } else { bytes.div_ceil(8) }
        };
        let numbers = self.sized(numbers, (0..stored.len()).map(words).sum())?;
        // At most the tiles of a batch, 256.
        let mut results = Vec::with_capacity(stored.len());
        let (mut rest, mut slots) = (&mut numbers[..], lent.iter_mut());
        let mut first = 0;
        let step = |tile: &StoredTile| (tile.form, tile.quantisation.is_some());
        for run in stored.chunk_by(|a, b| step(a) == step(b)) {
            // At most the tiles of a batch.
            let mut batch = Vec::with_capacity(run.len());
            for index in first..first + run.len() {
                let (own, later) = std::mem::take(&mut rest).split_at_mut(words(index));
                rest = later;
                let kind = self.layout.stream_type(&stored[index]);
                let bytes = lengths[index] * kind.bytes();
                let bytes = slots.next().map_or(&mut [][..], |slot| lent_or(slot, own, bytes));
                let pixels = numbers_of(bytes, kind);
                batch.push(Tile { stream: streams[index].bytes, shape: &shapes[index], pixels });
            }
            let (form, is_quantised) = step(&run[0]);
            let order = if is_quantised { ByteOrder::Native } else { ByteOrder::BigEndian };
            let decoder = self.layout.codec_of(form);
            results.extend(decode_tiles(decoder, &mut batch, order, self.tier, codec));
            first += run.len();
        }
        let mut rest = &mut numbers[..];
        let size = self.layout.image.stored.bytes();
        for (index, (tile, result)) in stored.iter().zip(results).enumerate() {
            let (own, later) = std::mem::take(&mut rest).split_at_mut(words(index));
            rest = later;
            let place = places[index];
            let kind = self.layout.stream_type(tile);
            let mut outcome = result.map_err(|error| self.layout.tile_error(tile, error));
            let (mut buffer, mut dequantised) = (lent[index].take(), None);
            let mut is_in_place = buffer.is_some();
            let mut bytes = lent_or(&mut buffer, own, lengths[index] * kind.bytes());
            if let Some(quantisation) = tile.quantisation.as_ref().filter(|_| outcome.is_ok()) {
                dequantised = destination.lend(place, size);
                is_in_place = dequantised.is_some();
                let count = lengths[index] * size;
                let own = self.sized(pixels, count.div_ceil(8))?;
                let out = lent_or(&mut dequantised, own, count);
                self.dequantise(bytes, quantisation, out);
                bytes = out;
            }
            if let Some(stream) = streams[index].mask.filter(|_| outcome.is_ok()) {
                let mask = self.sized(mask, lengths[index])?;
                let result = self.decode_mask(stream, &shapes[index], mask, codec);
                outcome = result.map_err(|error| self.layout.tile_error(tile, error));
                if outcome.is_ok() {
                    self.mask_out(tile, mask, bytes)?;
                }
            }
            if outcome.is_ok() {
                outcome = self.unify_blank(tile, bytes);
            }
            if outcome.is_ok() && !is_in_place {
                destination.take(place, bytes)?;
            }
            if let Some(buffer) = buffer.or(dequantised) {
                destination.give_back(place, buffer);
            }
            if let Err(error) = outcome {
                self.take_damaged(tile.tile, &error, place, destination)?;
            }
        }
        Ok(())
    }

    /// Passes on the undefined pixels of a damaged tile, if damage is not an error.
    fn take_damaged(
        &self,
        tile: u64,
        error: &FormatError,
        place: usize,
        destination: &mut Destination<'_, '_>,
    ) -> Result<(), IoError> {
        if matches!(error.code(), Code::DataTooLarge | Code::NoMemory) {
            // Too little memory does not mean that the tile is damaged.
            return Err(self.content(error.clone()));
        }
        match &self.on_damage {
            OnDamage::Refuse => return Err(self.content(error.clone())),
            OnDamage::List(list) => {
                list.add((tile, 0, None), error.clone());
            }
            OnDamage::Undefine(damaged) => {
                if self.layout.undefined_pixel().is_none() {
                    return Err(self.content(self.layout.without_blank(error)));
                }
                let is_new = !lock(damaged).contains(&tile);
                if is_new && note(&self.damage_subject(), tile, || fault(error)) {
                    lock(damaged).insert(tile);
                }
            }
        }
        destination.take(place, &[])
    }

    /// Returns the subject of notes about damaged tiles.
    fn damage_subject(&self) -> String {
        let value = match self.layout.image.blank {
            Some(blank) if !self.layout.image.stored.is_float() => format!("BLANK, {blank}"),
            _ => "NaN".to_owned(),
        };
        let (name, hdu) = (self.storage.name(), self.layout.table.hdu);
        format!("{name}: HDU {hdu} (0-based): damaged tiles, whose pixels are read as {value}")
    }

    /// Returns the first numbers of a buffer, whose old content will be overwritten.
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

    /// Converts an error in the table's content to an I/O error.
    fn content(&self, error: FormatError) -> IoError {
        IoError::Content { name: self.storage.name().to_owned(), source: Box::new(error) }
    }

    /// Whether a tile is already known to be damaged, and is read as undefined.
    fn is_known_as_damaged(&self, tile: u64) -> bool {
        matches!(&self.on_damage, OnDamage::Undefine(damaged) if lock(damaged).contains(&tile))
    }
}

fn lock(damaged: &Mutex<BTreeSet<u64>>) -> MutexGuard<'_, BTreeSet<u64>> {
    damaged.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Describes the damage of a tile in one line, without its HDU.
fn fault(error: &FormatError) -> String {
    let mut problem = error.problem().clone();
    problem.place.hdu = None;
    let text = problem.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// Fetched bytes of a tile.
struct Stream<'a> {
    bytes: &'a [u8],
    mask: Option<&'a [u8]>,
}

/// Iterator over fetched pieces.
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

/// Returns a buffer, or as many bytes of these words.
fn lent_or<'a>(
    buffer: &'a mut Option<&mut [u8]>,
    words: &'a mut [u64],
    bytes: usize,
) -> &'a mut [u8] {
    match buffer {
        Some(buffer) => buffer,
        None => &mut cast_slice_mut(words)[..bytes],
    }
}

/// Views whole words as the numbers of a stream.
pub(super) fn pixels_of(words: &mut [u64], kind: StoredType, count: usize) -> PixelsMut<'_> {
    numbers_of(&mut cast_slice_mut(words)[..count * kind.bytes()], kind)
}

/// Views aligned bytes as the numbers of a stream.
fn numbers_of(bytes: &mut [u8], kind: StoredType) -> PixelsMut<'_> {
    match kind {
        StoredType::U8 => PixelsMut::U8(cast_slice_mut(bytes)),
        StoredType::I16 => PixelsMut::I16(cast_slice_mut(bytes)),
        StoredType::I32 => PixelsMut::I32(cast_slice_mut(bytes)),
        StoredType::I64 => PixelsMut::I64(cast_slice_mut(bytes)),
        StoredType::F32 => PixelsMut::F32(cast_slice_mut(bytes)),
        StoredType::F64 => PixelsMut::F64(cast_slice_mut(bytes)),
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
        self.decode_to(tiles, &mut Destination::Take(take))
    }

    fn decode_into(&self, tiles: &[u64], outs: &mut [&mut [u8]]) -> Result<Vec<usize>, IoError> {
        let mut destination = Destination::Buffers(outs, Vec::new());
        self.decode_to(tiles, &mut destination)?;
        match destination {
            Destination::Buffers(_, without_pixels) => Ok(without_pixels),
            Destination::Take(_) => Ok(Vec::new()),
        }
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.storage.check_unchanged()
    }

    fn is_resident(&self, tiles: Range<u64>) -> bool {
        // The stream of a tile lies roughly at its share of the heap.
        let table = &self.layout.table;
        let (begin, bytes) = (table.heap.offset, table.heap.bytes);
        let place =
            |tile: u64| begin + (bytes as f64 * tile as f64 / table.rows.max(1) as f64) as u64;
        self.storage.is_resident(place(tiles.start)..place(tiles.end).max(place(tiles.start) + 1))
    }
}

impl CompressedImage {
    /// Decodes tiles, in ascending order.
    fn decode_to(
        &self,
        tiles: &[u64],
        destination: &mut Destination<'_, '_>,
    ) -> Result<(), IoError> {
        let (mut places, mut intact) = (Vec::new(), Vec::new());
        for (place, &tile) in tiles.iter().enumerate() {
            if self.is_known_as_damaged(tile) {
                destination.take(place, &[])?;
            } else {
                places.push(place);
                intact.push(tile);
            }
        }
        let (mut stored, mut stored_places) = (Vec::new(), Vec::new());
        for (result, (place, tile)) in
            self.stored(&intact)?.into_iter().zip(places.iter().zip(&intact))
        {
            match result {
                Ok(tile) => {
                    stored.push(tile);
                    stored_places.push(*place);
                }
                Err(error) => self.take_damaged(*tile, &error, *place, destination)?,
            }
        }
        let list = |ranges: &mut Vec<Range<u64>>| {
            for tile in &stored {
                ranges.push(tile.offset..tile.offset + tile.bytes);
                ranges.extend(tile.mask.map(|(offset, bytes)| offset..offset + bytes));
            }
        };
        let mut scratch = {
            let mut pool = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
            pool.pop().unwrap_or_default()
        };
        let result = fetch(&*self.storage, list, |fetched| {
            self.decode_fetched(&stored, &stored_places, fetched, &mut scratch, destination)
        });
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        result?
    }

    /// Dequantises numbers into big-endian pixels.
    fn dequantise(&self, numbers: &[u8], quantisation: &TileQuantisation, out: &mut [u8]) {
        let numbers: &[i32] = cast_slice(numbers);
        let quantiser = Quantiser {
            scale: quantisation.scale,
            zero: quantisation.zero,
            blank: quantisation.blank,
            exact_zero: (quantisation.dither == Dither::SubtractiveKeepingZeros)
                .then_some(EXACT_ZERO),
            dither: (quantisation.dither != Dither::None).then_some(quantisation.first_random),
        };
        let order = ByteOrder::BigEndian;
        match self.layout.image.stored {
            StoredType::F64 => {
                dequantise_f64(numbers, &quantiser, order, self.tier, cast_slice_mut(out))
            }
            _ => dequantise_f32(numbers, &quantiser, order, self.tier, cast_slice_mut(out)),
        }
    }

    /// Decodes the mask of a tile: 1 for undefined pixels.
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

    /// Replaces the ZBLANK value of an integer tile with the BLANK of the image. A defined pixel of
    /// that value would become undefined, which is an error.
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

    /// Sets masked big-endian pixels to NaN or BLANK.
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
