//! `fits_img_decompress`: CFITSIO handles header and file, the engine decodes the pixels, and CFITSIO writes their
//! bytes.
//!
//! Nothing is written until it is certain that the image can be served. From then on the call cannot be forwarded.
//! Tiles that the engine does not decode like CFITSIO are therefore read and written one by one by CFITSIO's public
//! functions, in the order of its own loop.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tachyfits::PixelType;
use tachyfits_memory as memory;

use crate::cfitsio::{Functions, Handle, Library, TilePlace};
use crate::files;
use crate::report::Reason;
use crate::settings::Settings;
use crate::tiles::{PlainImage, note_scaling};

/// Bytes of a chunk, which is decoded and then written. A larger tile is a chunk of its own.
const CHUNK_BYTES: u64 = 8 << 20;

/// Returns the compressed image in the current HDU; an error if CFITSIO must decompress it.
pub(crate) fn plan(
    library: &Library,
    input: Handle,
    settings: &Settings,
) -> Result<PlainImage, Reason> {
    let functions = library.functions().ok_or(Reason::Library)?;
    functions.settle(input);
    if functions.is_compressed(input) != Some(true) {
        return Err(Reason::Form);
    }
    let image = files::tiled(library, functions, input)?.plain()?;
    let bytes = image.bands.pixels.saturating_mul(image.pixel.bytes() as u64);
    if bytes < settings.least as u64 {
        return Err(Reason::Small);
    }
    Ok(image)
}

/// Decompresses an image; returns the status, and the number of bytes read.
pub(crate) fn decompress(
    functions: &Functions,
    (input, output): (Handle, Handle),
    image: &PlainImage,
    status: i32,
    settings: &Settings,
) -> (i32, u64) {
    let status = functions.begin_decompression(input, output, status);
    note_scaling(1.0, 0.0);
    if status > 0 {
        return (status, 0);
    }
    // First pixel and first tile that are left to CFITSIO.
    let (rest, bytes) = (Cell::new((0, 0)), Cell::new(0));
    // After a panic, the call cannot be forwarded, because the header is already written.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        each_chunk(functions, output, image, settings, |(next, bytes_read), offset, content| {
            let is_written = functions.write(output, offset, content);
            if is_written {
                rest.set(next);
                bytes.set(bytes.get() + bytes_read);
            }
            is_written
        })
    }));
    (copy_tiles(functions, (input, output), image, rest.get()), bytes.get())
}

/// Compares CFITSIO's output with the pixels decoded by the engine; returns the bytes read, and the offset of the first
/// chunk that differs.
pub(crate) fn compare(
    functions: &Functions,
    output: Handle,
    image: &PlainImage,
    settings: &Settings,
) -> Result<(u64, Option<u64>), Reason> {
    let (mut bytes, mut differs, mut theirs) = (0, None, Vec::new());
    let is_done = each_chunk(functions, output, image, settings, |(_, read), offset, ours| {
        bytes += read;
        let room = memory::resize(&mut theirs, ours.len(), 0, "pixels of CFITSIO");
        if room.is_err() || !functions.read(output, offset, &mut theirs) || theirs != ours {
            differs = Some(offset);
        }
        differs.is_none()
    });
    match (differs, is_done) {
        (None, false) => Err(Reason::Compressed),
        _ => Ok((bytes, differs)),
    }
}

/// Decodes the image chunk by chunk and passes each chunk to `take`: the first pixel and tile after the chunk, the
/// number of bytes read, the offset in the output, and the bytes of the output. Stops when `take` returns false;
/// returns whether all chunks were processed.
fn each_chunk(
    functions: &Functions,
    output: Handle,
    image: &PlainImage,
    settings: &Settings,
    mut take: impl FnMut(((u64, u64), u64), u64, &[u8]) -> bool,
) -> bool {
    let size = image.pixel.bytes() as u64;
    let Some(data) = place_of_data(functions, output, image) else { return false };
    let (mut first, mut tile, mut buffer) = (0, 0, Vec::new());
    while first < image.bands.pixels {
        let mut next = first;
        while next < image.bands.pixels && (next == first || (next - first) * size < CHUNK_BYTES) {
            next = image.bands.next(next);
            tile += image.bands.tiles;
        }
        let Ok(length) = usize::try_from((next - first) * size) else { return false };
        buffer.truncate(length);
        if memory::resize(&mut buffer, length, 0, "decompressed pixels").is_err() {
            return false;
        }
        let Ok(bytes_read) = image.read(first, &mut buffer, settings) else { return false };
        if !take(((next, tile), bytes_read), data + first * size, &buffer) {
            return false;
        }
        first = next;
    }
    true
}

/// Returns the offset of the pixels, if the current HDU of a file is a plain image of this type and size.
fn place_of_data(functions: &Functions, file: Handle, image: &PlainImage) -> Option<u64> {
    let pixels = i64::try_from(image.bands.pixels).ok()?;
    if functions.is_compressed(file) != Some(false) {
        return None;
    }
    let facts = functions.column(file, 2, 1, 1, pixels)?;
    let code = match image.pixel {
        PixelType::U8 => 11,
        PixelType::I16 => 21,
        PixelType::I32 => 41,
        PixelType::F32 => 42,
        _ => 82,
    };
    let is_plain = (facts.hdu_type, facts.code, facts.element) == (0, code, 0)
        && (facts.scale, facts.zero) == (1.0, 0.0)
        && facts.repeat == pixels
        && facts.step == image.pixel.bytes() as i64;
    if is_plain { u64::try_from(facts.start).ok() } else { None }
}

/// Copies the remaining tiles through CFITSIO, starting at a pixel and a tile; returns the status.
fn copy_tiles(
    functions: &Functions,
    files: (Handle, Handle),
    image: &PlainImage,
    (mut pixel, tile): (u64, u64),
) -> i32 {
    let grid = image.grid();
    if tile == grid.count() {
        return 0;
    }
    let words = (grid.most_pixels() * image.pixel.bytes() as u64).div_ceil(8) as usize;
    let Ok(mut buffer) = memory::filled(words, 0u64, "a tile") else {
        return functions.report_no_memory();
    };
    let code = match image.pixel {
        PixelType::U8 => 11,
        PixelType::I16 => 21,
        PixelType::I32 => 31,
        PixelType::F32 => 42,
        _ => 82,
    };
    for tile in tile..grid.count() {
        let tile_place = grid.tile(tile);
        let place = TilePlace {
            first: tile_place.first.iter().map(|&first| first as i64 + 1).collect(),
            last: tile_place
                .first
                .iter()
                .zip(&tile_place.shape)
                .map(|(a, b)| (a + b) as i64)
                .collect(),
            element: pixel as i64 + 1,
            pixels: tile_place.pixels() as i64,
        };
        let status = functions.copy_tile(files, code, &place, image.null, &mut buffer);
        if status > 0 {
            return status;
        }
        pixel += tile_place.pixels();
    }
    0
}
