//! Pixels in tiles, presented as the data of an HDU. Only tiles with requested pixels are decoded,
//! each once as long as it fits in the cache.
//!
//! A `PixelSource` reads one kind of tiles, such as compressed tiles in a binary table.

mod compressed_image;
mod copy_common;
mod damage;
mod restored_table;
mod table_tiles;
mod tile_cache;
mod tile_compression;
mod tile_encoder;
mod write_table_tiles;
mod write_tiles;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::{IoError, Profile, Request};
use tachyfits_kernels::RICE_LANES;
use tachyfits_memory as memory;

use crate::computed::{Window, windows_of_stretch};
use crate::hdu_storage::{MadeData, fill_pixels};
pub(crate) use compressed_image::CompressedImage;
use copy_common::{copy_common, fill_common};
pub use damage::DamagedTiles;
pub(crate) use damage::{DamageList, OnDamage};
pub(crate) use restored_table::RestoredTable;
pub use tachyfits_format::{CodecFacts, TileGrid, codec_facts, codecs};
use tile_cache::{Claims, Lookup, TileCache};
pub use tile_compression::TileCompression;
pub use write_table_tiles::TableCompression;
pub(crate) use write_tiles::write_tiles;

/// Decoded bytes per batch: they stay in the second-level cache, and a batch has many tiles.
const BATCH_BYTES: u64 = 512 << 10;
/// Maximum tiles of a batch, however small they are.
const BATCH_TILES: u64 = 256;
/// Tiles that RICE_1 decodes at a time.
const LANES: u64 = RICE_LANES as u64;
/// Larger tiles are also decoded in batches, up to this many bytes, to fill the lanes of a codec.
const LANES_BYTES: u64 = 4 << 20;
/// Whole planes up to this many bytes are read at a time, if fewer rows would share tiles with the next rows.
const PLANE_BYTES: u64 = 64 << 20;
/// Maximum bytes of cached tiles that were read in part: a band of tiles across the widest images,
/// or the tiles under a region in thousands of channels.
const CACHE_BYTES: u64 = 128 << 20;

/// Returns the number of tiles of this size decoded at a time.
fn batch_tiles(tile_bytes: u64) -> u64 {
    let in_lanes = (LANES_BYTES / tile_bytes).min(LANES);
    (BATCH_BYTES / tile_bytes).max(in_lanes).clamp(1, BATCH_TILES)
}

/// Returns the bytes of consecutive pixels that form whole tiles; as many tiles as in a batch if possible.
fn unit_bytes(grid: &TileGrid, pixel_bytes: u64) -> u64 {
    let (axes, shape) = (grid.axes(), grid.tile_shape());
    // The last axis along which a tile has several pixels.
    let last = shape.iter().rposition(|&size| size > 1).unwrap_or(0);
    let (Some(&length), Some(&size)) = (axes.get(last), shape.get(last)) else { return u64::MAX };
    let row = axes[..last].iter().product::<u64>() * pixel_bytes;
    let tiles: u64 =
        axes[..last].iter().zip(shape).map(|(axis, tile)| axis.div_ceil(*tile)).product();
    let has_more = axes[last + 1..].iter().any(|&axis| axis > 1);
    // A tile ends within this axis; its rows do not share tiles with others only if the whole axis is read.
    let is_uneven = has_more && !length.is_multiple_of(size) && row * length <= PLANE_BYTES;
    let (unit, tiles) = match is_uneven {
        true => (row * length, tiles * length.div_ceil(size)),
        false => (row * size.min(length), tiles),
    };
    let tile_bytes = grid.most_pixels() * pixel_bytes;
    if unit == 0 || tile_bytes == 0 {
        return u64::MAX;
    }
    // A multiple of the lanes.
    let batch = batch_tiles(tile_bytes);
    let batch = if batch > LANES { batch / LANES * LANES } else { batch };
    unit * (batch / tiles).max(1)
}

/// Receives the pixels of a tile, with its index in the request.
pub(crate) type TakeTile<'a> = dyn FnMut(usize, &[u8]) -> Result<(), IoError> + 'a;

/// Source of pixels in tiles, each of which is read and decoded separately.
pub(crate) trait PixelSource: Send + Sync + Debug {
    /// Division of the image into tiles.
    fn grid(&self) -> &TileGrid;

    /// Bytes of a pixel.
    fn pixel_bytes(&self) -> u64;

    /// Decodes tiles, in ascending order, and passes the pixels of each to `take` with its index in
    /// `tiles`: big-endian, x fastest, in the shape of the tile. A damaged tile has no pixels.
    ///
    /// # Errors
    /// If a tile cannot be read or is damaged; earlier tiles were passed to `take`.
    fn decode(&self, tiles: &[u64], take: &mut TakeTile<'_>) -> Result<(), IoError>;

    /// Does the same, into a buffer for each tile. Returns the indices of tiles without pixels.
    ///
    /// # Errors
    /// As [`PixelSource::decode`].
    fn decode_into(&self, tiles: &[u64], outs: &mut [&mut [u8]]) -> Result<Vec<usize>, IoError> {
        let mut without_pixels = Vec::new();
        self.decode(tiles, &mut |index, pixels| {
            match pixels.is_empty() {
                true => without_pixels.push(index),
                false => outs[index].copy_from_slice(pixels),
            }
            Ok(())
        })?;
        Ok(without_pixels)
    }

    /// The big-endian pixel of damaged tiles; `None` if their pixels are arbitrary.
    fn undefined_pixel(&self) -> Option<Vec<u8>> {
        None
    }

    /// As [`tachyfits_io::Storage::check_unchanged`].
    fn check_unchanged(&self) -> Result<(), IoError>;

    /// As [`tachyfits_io::Storage::is_resident`], for a range of tiles.
    fn is_resident(&self, tiles: Range<u64>) -> bool;
}

/// The data of an HDU, decoded from the tiles of a source.
#[derive(Debug)]
pub(crate) struct TiledData<S> {
    source: S,
    cache: TileCache,
}

/// Requested pixels: a box of the image, and the output.
struct WantedBox<'a> {
    window: Window,
    out: &'a mut [u8],
}

/// The pixels that a tile and a part share.
struct Piece {
    tile: u64,
    part: usize,
}

impl<S: PixelSource> TiledData<S> {
    pub(crate) fn new(source: S) -> TiledData<S> {
        TiledData { source, cache: TileCache::new(CACHE_BYTES) }
    }

    /// Fills all parts.
    fn fill_parts(&self, parts: &mut [WantedBox<'_>]) -> Result<(), IoError> {
        let grid = self.source.grid();
        let mut pieces = Vec::new();
        for (part, WantedBox { window, .. }) in parts.iter().enumerate() {
            let touched = grid.touching(&window.first, &window.end());
            pieces.extend(touched.map(|tile| Piece { tile, part }));
        }
        // Stable: parts stay in order within a tile.
        pieces.sort_by_key(|piece| piece.tile);
        let tiles: Vec<&[Piece]> = pieces.chunk_by(|a, b| a.tile == b.tile).collect();
        let mut under_way = Vec::new();
        for tiles in tiles.chunks(batch_tiles(self.tile_bytes()) as usize) {
            self.fill_from(tiles, parts, &mut under_way)?;
        }
        // All claims of this thread are settled before it waits, so that no two threads wait for each other.
        for pieces in under_way {
            match self.cache.wait(pieces[0].tile) {
                Some(pixels) => self.place(pieces, &pixels, parts),
                None => self.decode(&[pieces], parts, &mut Claims::new(&self.cache))?,
            }
        }
        Ok(())
    }

    /// Bytes of the largest tile.
    fn tile_bytes(&self) -> u64 {
        (self.source.grid().most_pixels() * self.source.pixel_bytes()).max(1)
    }

    /// Fills the parts from a few tiles. Adds tiles that other threads are decoding to `under_way` instead.
    fn fill_from<'p>(
        &self,
        tiles: &[&'p [Piece]],
        parts: &mut [WantedBox<'_>],
        under_way: &mut Vec<&'p [Piece]>,
    ) -> Result<(), IoError> {
        let mut claims = Claims::new(&self.cache);
        let mut missing = Vec::new();
        for &pieces in tiles {
            let tile = pieces[0].tile;
            if self.is_whole(pieces, parts) {
                // Later reads need nothing else of this tile, so it is not cached.
                match self.cache.get(tile) {
                    Some(pixels) => self.place(pieces, &pixels, parts),
                    None => missing.push(pieces),
                }
                continue;
            }
            match self.cache.claim(tile) {
                Lookup::Decoded(pixels) => self.place(pieces, &pixels, parts),
                Lookup::UnderWay => under_way.push(pieces),
                Lookup::Claimed => {
                    claims.add(tile);
                    missing.push(pieces);
                }
            }
        }
        self.decode(&missing, parts, &mut claims)
    }

    /// Decodes tiles and copies their pixels to the parts; claimed tiles are cached.
    fn decode(
        &self,
        tiles: &[&[Piece]],
        parts: &mut [WantedBox<'_>],
        claims: &mut Claims<'_>,
    ) -> Result<(), IoError> {
        if tiles.is_empty() {
            return Ok(());
        }
        let numbers: Vec<u64> = tiles.iter().map(|pieces| pieces[0].tile).collect();
        if claims.is_empty()
            && let Some(mut outs) = self.places(tiles, parts)
        {
            let without_pixels = self.source.decode_into(&numbers, &mut outs)?;
            if let Some(undefined) = self.source.undefined_pixel() {
                for index in without_pixels {
                    let pixels = outs[index].chunks_exact_mut(undefined.len());
                    pixels.for_each(|pixel| pixel.copy_from_slice(&undefined));
                }
            }
            return Ok(());
        }
        self.source.decode(&numbers, &mut |index, pixels| {
            self.place(tiles[index], pixels, parts);
            claims.settle(numbers[index], || copy_of(pixels).map(Arc::new));
            Ok(())
        })
    }

    /// Returns where the pixels of each tile lie in the parts; `None` unless each tile is one run of the pixels of one
    /// part.
    fn places<'a>(
        &self,
        tiles: &[&[Piece]],
        parts: &'a mut [WantedBox<'_>],
    ) -> Option<Vec<&'a mut [u8]>> {
        let size = self.source.pixel_bytes();
        // Part, first byte, bytes and index of each tile. At most the tiles of a batch.
        let mut runs = Vec::with_capacity(tiles.len());
        for (index, pieces) in tiles.iter().enumerate() {
            let [Piece { tile, part }] = *pieces else { return None };
            let tile = self.window(*tile);
            let first = parts[*part].window.run_of(&tile)?;
            runs.push((*part, (first * size) as usize, (tile.pixels() * size) as usize, index));
        }
        runs.sort_unstable();
        let mut outs: Vec<&mut [u8]> = runs.iter().map(|_| &mut [][..]).collect();
        let mut runs = runs.into_iter().peekable();
        for (number, part) in parts.iter_mut().enumerate() {
            let (mut rest, mut done) = (&mut part.out[..], 0);
            while let Some((_, first, bytes, index)) = runs.next_if(|(of, ..)| *of == number) {
                let (out, later) =
                    rest.split_off_mut(first - done..)?.split_at_mut_checked(bytes)?;
                (outs[index], rest, done) = (out, later, first + bytes);
            }
        }
        Some(outs)
    }

    /// Whether the parts cover every pixel of a tile.
    fn is_whole(&self, pieces: &[Piece], parts: &[WantedBox<'_>]) -> bool {
        let tile = self.window(pieces[0].tile);
        let counts = pieces.iter().map(|piece| tile.common_pixels(&parts[piece.part].window));
        counts.sum::<u64>() >= tile.pixels()
    }

    /// Copies the pixels of a tile to the boxes that request them; a tile without pixels is undefined there.
    fn place(&self, pieces: &[Piece], pixels: &[u8], parts: &mut [WantedBox<'_>]) {
        let tile = self.window(pieces[0].tile);
        let undefined = if pixels.is_empty() { self.source.undefined_pixel() } else { None };
        for piece in pieces {
            let WantedBox { window, out } = &mut parts[piece.part];
            match &undefined {
                Some(pixel) => fill_common(pixel, &tile, (window, out)),
                None if pixels.is_empty() => {}
                None => copy_common(self.source.pixel_bytes(), (&tile, pixels), (window, out)),
            }
        }
    }

    /// Returns the box of a tile.
    fn window(&self, tile: u64) -> Window {
        let position = self.source.grid().tile(tile);
        Window { first: position.first, count: position.shape }
    }

    /// Returns the tile that contains a byte.
    fn tile_of(&self, byte: u64) -> u64 {
        let axes = self.source.grid().axes();
        let mut rest = byte / self.source.pixel_bytes();
        let mut first = Vec::with_capacity(axes.len());
        for axis in axes {
            first.push(rest % axis);
            rest /= axis;
        }
        let end: Vec<u64> = first.iter().map(|first| first + 1).collect();
        self.source.grid().touching(&first, &end).next().unwrap_or(0)
    }

    /// Returns the boxes that cover the pixels from linear index `first` on.
    fn parts_of<'a>(&self, first: u64, out: &'a mut [u8]) -> Vec<WantedBox<'a>> {
        let size = self.source.pixel_bytes();
        let axes = self.source.grid().axes();
        let windows = windows_of_stretch(axes, first, out.len() as u64 / size);
        let mut rest = out;
        let part = |window: Window| {
            let bytes = (window.pixels() * size) as usize;
            let (out, later) = std::mem::take(&mut rest).split_at_mut(bytes);
            rest = later;
            WantedBox { window, out }
        };
        windows.into_iter().map(part).collect()
    }
}

/// Copies bytes; `None` if memory is short.
fn copy_of(bytes: &[u8]) -> Option<Vec<u8>> {
    memory::copied(bytes, "a tile").ok()
}

impl<S: PixelSource> MadeData for TiledData<S> {
    const KIND: &'static str = "decompressed";
    /// No gaps: the pixels between two rows may be in tiles without any requested pixel.
    const PROFILE: Profile = Profile { gap_bytes: 0, ..Profile::DEVICE };

    fn bytes(&self) -> u64 {
        let grid = self.source.grid();
        if grid.count() == 0 {
            0
        } else {
            grid.axes().iter().product::<u64>() * self.source.pixel_bytes()
        }
    }

    fn unit_bytes(&self) -> u64 {
        unit_bytes(self.source.grid(), self.source.pixel_bytes())
    }

    fn fill(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        let size = self.source.pixel_bytes();
        let mut parts = memory::with_room(requests.len(), "the parts of tiles")?;
        for request in requests {
            let length = request.buffer.len() as u64;
            if !request.offset.is_multiple_of(size) || !length.is_multiple_of(size) {
                fill_pixels(request, size, |first, out| {
                    self.fill_parts(&mut self.parts_of(first, out))
                })?;
                continue;
            }
            parts.extend(self.parts_of(request.offset / size, request.buffer));
        }
        self.fill_parts(&mut parts)
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.source.check_unchanged()
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        let Some(last) = self.bytes().checked_sub(1) else { return true };
        let first = self.tile_of(range.start.min(last));
        let end = self.tile_of(range.end.saturating_sub(1).min(last));
        self.source.is_resident(first..end.max(first) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Consecutive 2-byte numbers as pixels, in tiles.
    #[derive(Debug)]
    struct Counting {
        grid: TileGrid,
        decoded: AtomicU64,
        damaged: Option<u64>,
        /// Decoded tiles, in order.
        order: Mutex<Vec<u64>>,
    }

    impl Counting {
        fn new(axes: &[u64], tile: &[u64]) -> Counting {
            let grid = TileGrid::new(axes.to_vec(), tile.to_vec());
            Counting { grid, decoded: AtomicU64::new(0), damaged: None, order: Mutex::default() }
        }
    }

    impl PixelSource for Counting {
        fn grid(&self) -> &TileGrid {
            &self.grid
        }

        fn pixel_bytes(&self) -> u64 {
            2
        }

        fn decode(&self, tiles: &[u64], take: &mut TakeTile<'_>) -> Result<(), IoError> {
            for (index, &tile) in tiles.iter().enumerate() {
                if self.damaged == Some(tile) {
                    let source = format!("row {}", tile + 1).into();
                    return Err(IoError::Content { name: "counting".to_owned(), source });
                }
                self.decoded.fetch_add(1, Ordering::Relaxed);
                self.order.lock().unwrap().push(tile);
                let position = self.grid.tile(tile);
                let window = Window { first: position.first, count: position.shape };
                let pixels: Vec<u8> = window
                    .runs(self.grid.axes())
                    .flat_map(|(first, count)| first..first + count)
                    .flat_map(|pixel| (pixel as u16).to_be_bytes())
                    .collect();
                take(index, &pixels)?;
            }
            Ok(())
        }

        fn check_unchanged(&self) -> Result<(), IoError> {
            Ok(())
        }

        fn is_resident(&self, _tiles: Range<u64>) -> bool {
            true
        }
    }

    /// The uncompressed bytes.
    fn plain(axes: &[u64]) -> Vec<u8> {
        let pixels = axes.iter().product::<u64>();
        (0..pixels).flat_map(|pixel| (pixel as u16).to_be_bytes()).collect()
    }

    fn image() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
        prop::collection::vec((1u64..9, 1u64..11), 1..5).prop_map(|axes| axes.into_iter().unzip())
    }

    proptest! {
        #[test]
        fn any_bytes_are_those_of_the_plain_image(
            (axes, tile) in image(),
            reads in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
        ) {
            let data = TiledData::new(Counting::new(&axes, &tile));
            let expected = plain(&axes);
            prop_assert_eq!(data.bytes(), expected.len() as u64);
            let ends = reads.iter().map(|(a, b)| {
                let (a, b) = (a.index(expected.len() + 1), b.index(expected.len() + 1));
                a.min(b)..a.max(b)
            });
            let ranges: Vec<Range<usize>> = ends.collect();
            let mut buffers: Vec<Vec<u8>> = ranges.iter().map(|range| vec![0; range.len()]).collect();
            let mut requests: Vec<Request<'_>> = ranges
                .iter()
                .zip(&mut buffers)
                .map(|(range, buffer)| Request { offset: range.start as u64, buffer })
                .collect();
            data.fill(&mut requests).unwrap();
            for (range, buffer) in ranges.iter().zip(&buffers) {
                prop_assert_eq!(&expected[range.clone()], &buffer[..]);
            }
        }
    }

    #[test]
    fn units_have_whole_tiles() {
        let bytes = |axes: &[u64], tile: &[u64]| {
            unit_bytes(&TileGrid::new(axes.to_vec(), tile.to_vec()), 2)
        };
        // Rows of 6000 bytes, 80 at a time; bands of 12 tiles; one band of 16 and more.
        assert_eq!(bytes(&[3000, 3000], &[3000, 1]), 80 * 6000);
        assert_eq!(bytes(&[3000, 3000], &[256, 256]), 256 * 6000);
        assert_eq!(bytes(&[512, 512], &[256, 256]), 8 * 256 * 1024);
        // Planes whose last band is narrower than the others.
        assert_eq!(bytes(&[3000, 3000, 4], &[256, 256, 1]), 3000 * 6000);
        assert_eq!(bytes(&[512, 512, 4], &[256, 256, 1]), 8 * 256 * 1024);
        assert_eq!(bytes(&[30_000, 30_000], &[30_000, 30_000]), 2 * 30_000 * 30_000);
        assert_eq!(bytes(&[5, 0], &[5, 1]), u64::MAX);
        assert_eq!(bytes(&[], &[]), u64::MAX);
    }

    #[test]
    fn rows_of_an_image_decode_each_tile_once() {
        let axes = [40, 30, 2];
        let data = TiledData::new(Counting::new(&axes, &[16, 16, 1]));
        let expected = plain(&axes);
        for (row, expected) in expected.chunks(80).enumerate() {
            let mut buffer = vec![0; 80];
            let request = Request { offset: row as u64 * 80, buffer: &mut buffer };
            data.fill(&mut [request]).unwrap();
            assert_eq!(buffer, expected);
        }
        assert_eq!(data.source.decoded.load(Ordering::Relaxed), 12);
        // In a single read, every tile is whole, and none is cached.
        let data = TiledData::new(Counting::new(&axes, &[16, 16, 1]));
        let mut buffer = vec![0; expected.len()];
        data.fill(&mut [Request { offset: 0, buffer: &mut buffer }]).unwrap();
        assert_eq!(buffer, expected);
        assert!((0..12).all(|tile| data.cache.get(tile).is_none()));
        assert_eq!(*data.source.order.lock().unwrap(), (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn threads_share_tiles_and_a_damaged_one_is_an_error_for_each() {
        let axes = [64, 64];
        let expected = plain(&axes);
        let whole = TiledData::new(Counting::new(&axes, &[64, 64]));
        let damaged =
            TiledData::new(Counting { damaged: Some(0), ..Counting::new(&axes, &[64, 64]) });
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (whole, damaged, expected) = (&whole, &damaged, &expected);
                scope.spawn(move || {
                    for row in (thread..64).step_by(4) {
                        let mut buffer = vec![0; 128];
                        let offset = row as u64 * 128;
                        whole.fill(&mut [Request { offset, buffer: &mut buffer }]).unwrap();
                        assert_eq!(buffer, expected[row * 128..][..128]);
                        let result = damaged.fill(&mut [Request { offset, buffer: &mut buffer }]);
                        assert!(matches!(result, Err(IoError::Content { .. })));
                    }
                });
            }
        });
        assert_eq!(whole.source.decoded.load(Ordering::Relaxed), 1);
    }
}
