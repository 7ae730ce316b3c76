//! Images stored in files of chunks, as FITS files in memory: for example a copy of a cube with contiguous
//! lines of sight. Operations read them like any other image, so results have the same bits.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachyfits_io::{
    CachedStorage, FileStorage, Id, IoError, Lend, Profile, Request, Storage, fetch,
};
use tachyfits_kernels::{Encoding, PixelType};
use tachyfits_memory::{self as memory, NoMemory};

use crate::Header;
use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::hdu_storage::{HduStorage, MadeData, fill_pixels};
use crate::stored_type::new_image;

/// Bytes after the pixels of a chunk: the CRC-32C of the pixels, little-endian.
const SUM_BYTES: u64 = 4;
/// Maximum number of open chunks.
const MOST_OPEN: usize = 384;
/// Maximum number of chunks per read; larger reads are divided.
const TOGETHER: usize = 256;

/// Pixels in files of chunks.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Chunks<'a> {
    /// Folder of the files. Each file is named by the numbers of its chunk along the axes, NAXIS1 last, such
    /// as `0/3/1`: the keys of Zarr without the leading `c`.
    pub folder: &'a Path,
    /// Lengths of the axes in FITS order.
    pub axes: &'a [u64],
    /// Lengths of a chunk. Chunks at the ends of axes have the full size. Pixels are big-endian, NAXIS1
    /// fastest, followed by their CRC-32C.
    pub chunk: &'a [u64],
    /// Type of a pixel.
    pub pixel: PixelType,
}

impl<'a> Chunks<'a> {
    /// Describes the chunks of a folder.
    pub fn new(
        folder: &'a Path,
        axes: &'a [u64],
        chunk: &'a [u64],
        pixel: PixelType,
    ) -> Chunks<'a> {
        Chunks { folder, axes, chunk, pixel }
    }

    /// Returns the FITS file with these pixels; messages call it `name`. Chunks are opened, and their
    /// checksums compared, when their pixels are first read; a missing or damaged chunk is an error.
    ///
    /// # Errors
    /// [`Reason::Output`] unless axes and chunk have the same number of lengths, all above 0.
    pub fn to_file(&self, name: &str, header: &Header) -> Result<FitsFile, Error> {
        let bytes = |lengths: &[u64]| {
            let size = self.pixel.bytes() as u64;
            lengths.iter().try_fold(size, |bytes, &length| bytes.checked_mul(length))
        };
        let is_valid = self.axes.len() == self.chunk.len() && !self.axes.is_empty();
        let fits = |lengths| bytes(lengths).is_some_and(|bytes| bytes > 0 && bytes < 1 << 62);
        if !(is_valid && fits(self.axes) && fits(self.chunk)) {
            let actual = format!("axes {:?} and chunks {:?}", self.axes, self.chunk);
            return Err(Error::refused(Reason::Output, "as many lengths above 0", actual));
        }
        let new = new_image(self.axes, &Encoding::plain(self.pixel), false);
        let file = name.to_owned();
        let header = new.header(header).map_err(|error| Error::Format { file, error })?;
        let data = ChunkData::new(self);
        let storage = HduStorage::new(Id::new(name.to_owned(), None), header.to_bytes(), data);
        FitsFile::made(storage)
    }
}

/// An open chunk with a valid checksum; `None` until it is opened.
type Opened = Arc<Mutex<Option<Arc<CachedStorage>>>>;

/// Pixels in files of chunks; see the module.
#[derive(Debug)]
struct ChunkData {
    folder: PathBuf,
    axes: Vec<u64>,
    chunk: Vec<u64>,
    /// Number of chunks along each axis.
    counts: Vec<u64>,
    pixel_bytes: u64,
    open: Mutex<BTreeMap<u64, Opened>>,
    /// Number of reads. Every other read opens its chunks from the middle on, so that threads share the work.
    turn: AtomicUsize,
}

/// A run of pixels along NAXIS1, in consecutive chunks.
#[derive(Clone, Copy, Debug)]
struct ChunkRun {
    /// Number of the first chunk.
    chunk: u64,
    /// Number of pixels of a chunk before this row.
    before: u64,
    /// Index of the first pixel in its row of the first chunk.
    first: u64,
    pixels: u64,
}

impl ChunkRun {
    /// Returns the chunks that the run touches; `width` is the width of a chunk.
    fn chunks(&self, width: u64) -> Range<u64> {
        self.chunk..self.chunk + (self.first + self.pixels).div_ceil(width)
    }
}

/// Position of a plane, computed once for all its rows: the divisions take as long as copying a row.
#[derive(Clone, Debug, Default)]
struct PlaneInChunks {
    /// Rows of the plane, counted through the image.
    rows: Range<u64>,
    /// Number of the chunk with its first pixel.
    chunk: u64,
    /// Number of pixels of a chunk before the plane.
    before: u64,
}

impl ChunkData {
    fn new(chunks: &Chunks<'_>) -> ChunkData {
        let counts = chunks.axes.iter().zip(chunks.chunk).map(|(axis, size)| axis.div_ceil(*size));
        ChunkData {
            folder: chunks.folder.to_owned(),
            axes: chunks.axes.to_vec(),
            chunk: chunks.chunk.to_vec(),
            counts: counts.collect(),
            pixel_bytes: chunks.pixel.bytes() as u64,
            open: Mutex::default(),
            turn: AtomicUsize::new(0),
        }
    }

    fn chunk_bytes(&self) -> u64 {
        self.chunk.iter().product::<u64>() * self.pixel_bytes
    }

    /// Returns the plane of a row, which is counted through the image.
    fn plane_of(&self, row: u64) -> PlaneInChunks {
        let height = self.axes.get(1).copied().unwrap_or(1);
        let number = row / height;
        let (mut rest, mut chunk, mut before) = (number, 0, 0);
        let mut chunks_below = self.counts.iter().take(2).product::<u64>();
        let mut pixels_below = self.chunk.iter().take(2).product::<u64>();
        for axis in 2..self.axes.len() {
            let at = rest % self.axes[axis];
            rest /= self.axes[axis];
            chunk += at / self.chunk[axis] * chunks_below;
            before += at % self.chunk[axis] * pixels_below;
            chunks_below *= self.counts[axis];
            pixels_below *= self.chunk[axis];
        }
        PlaneInChunks { rows: number * height..(number + 1) * height, chunk, before }
    }

    /// Appends the runs of pixels from a linear index on; `plane` is the plane of the previous runs.
    fn add_runs(
        &self,
        mut pixel: u64,
        mut pixels: u64,
        plane: &mut PlaneInChunks,
        runs: &mut Vec<ChunkRun>,
    ) {
        let (width, wide) = (self.axes[0], self.chunk[0]);
        let tall = self.chunk.get(1).copied().unwrap_or(1);
        while pixels > 0 {
            let row = pixel / width;
            if !plane.rows.contains(&row) {
                *plane = self.plane_of(row);
            }
            let (x, y) = (pixel - row * width, row - plane.rows.start);
            let (column, band) = (x / wide, y / tall);
            let count = pixels.min(width - x);
            runs.push(ChunkRun {
                chunk: plane.chunk + band * self.counts[0] + column,
                before: plane.before + (y - band * tall) * wide,
                first: x - column * wide,
                pixels: count,
            });
            (pixel, pixels) = (pixel + count, pixels - count);
        }
    }

    /// Returns the runs of all requests, in order.
    fn runs(&self, requests: &[Request<'_>]) -> Result<Vec<ChunkRun>, NoMemory> {
        let mut plane = PlaneInChunks::default();
        let mut runs = memory::with_room(requests.len(), "the runs of chunks")?;
        for Request { offset, buffer } in requests {
            let pixels = buffer.len() as u64 / self.pixel_bytes;
            self.add_runs(offset / self.pixel_bytes, pixels, &mut plane, &mut runs);
        }
        Ok(runs)
    }

    /// Fills requests of whole pixels.
    fn fill_whole(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        let runs = self.runs(requests)?;
        let mut numbers: Vec<Range<u64>> =
            runs.iter().map(|run| run.chunks(self.chunk[0])).collect();
        numbers.dedup();
        let mut numbers: Vec<u64> = numbers.into_iter().flatten().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.chunks(TOGETHER).try_for_each(|some| self.fill_from(some, &runs, requests))
    }

    /// Copies the pixels that are in some chunks, with ascending numbers, to requests.
    fn fill_from(
        &self,
        numbers: &[u64],
        runs: &[ChunkRun],
        requests: &mut [Request<'_>],
    ) -> Result<(), IoError> {
        let (size, wide) = (self.pixel_bytes, self.chunk[0]);
        let (Some(&first_chunk), Some(&last_chunk)) = (numbers.first(), numbers.last()) else {
            return Ok(());
        };
        let opened = self.opened(numbers)?;
        if let Some(chunk) = opened.first() {
            chunk.prepare_to_lend();
        }
        let lent: Vec<Option<&[u8]>> = opened.iter().map(|chunk| chunk.all_mapped()).collect();
        let (mut begin, mut place) = (u64::MAX, 0);
        let mut runs = runs.iter();
        for request in requests {
            let mut out = &mut request.buffer[..];
            while !out.is_empty() {
                let Some(run) = runs.next() else { break };
                // The chunks of a run are consecutive, and so are their indices.
                let from = run.chunk.max(first_chunk);
                if begin != from {
                    begin = from;
                    place = numbers.partition_point(|&number| number < begin);
                }
                let (mut number, mut first, mut remaining) = (run.chunk, run.first, run.pixels);
                while remaining > 0 {
                    let pixels = remaining.min(wide - first);
                    let (piece, later) = out.split_at_mut((pixels * size) as usize);
                    if (first_chunk..=last_chunk).contains(&number) {
                        let index = place + (number - begin) as usize;
                        let at = (run.before + first) * size;
                        match lent[index] {
                            Some(bytes) => copy_piece(piece, &bytes[at as usize..]),
                            None => opened[index].read_exact_at(at, piece)?,
                        }
                    }
                    (out, number, first, remaining) = (later, number + 1, 0, remaining - pixels);
                }
            }
        }
        // Pages that went missing meanwhile were read as zeros.
        opened.iter().zip(&lent).try_for_each(|(chunk, lent)| {
            match lent.is_some() && chunk.all_mapped().is_none() {
                true => chunk.intact(0..chunk.bytes()),
                false => Ok(()),
            }
        })
    }

    /// Returns the path of a chunk.
    fn path(&self, mut number: u64) -> PathBuf {
        let mut names = Vec::with_capacity(self.counts.len());
        for count in &self.counts {
            names.push((number % count).to_string());
            number /= count;
        }
        names.iter().rev().fold(self.folder.clone(), |path, name| path.join(name))
    }

    fn open_chunks(&self) -> MutexGuard<'_, BTreeMap<u64, Opened>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens chunks, or returns them if they are open.
    fn opened(&self, numbers: &[u64]) -> Result<Vec<Arc<CachedStorage>>, IoError> {
        let cells: Vec<Opened> = {
            let mut open = self.open_chunks();
            let new = numbers.iter().filter(|number| !open.contains_key(number)).count();
            if open.len() + new > MOST_OPEN {
                open.clear();
            }
            numbers.iter().map(|&number| Arc::clone(open.entry(number).or_default())).collect()
        };
        // At most TOGETHER chunks.
        let mut chunks: Vec<Option<Arc<CachedStorage>>> = vec![None; numbers.len()];
        let middle = self.turn.fetch_add(1, Ordering::Relaxed) % 2 * (numbers.len() / 2);
        for index in (middle..numbers.len()).chain(0..middle) {
            let mut chunk = cells[index].lock().unwrap_or_else(PoisonError::into_inner);
            if chunk.is_none() {
                *chunk = Some(Arc::new(self.checked(numbers[index])?));
            }
            chunks[index].clone_from(&chunk);
        }
        Ok(chunks.into_iter().flatten().collect())
    }

    /// Opens a chunk and compares its checksum.
    fn checked(&self, number: u64) -> Result<CachedStorage, IoError> {
        let path = self.path(number);
        let file = CachedStorage::new(FileStorage::open(&path)?);
        let (bytes, file_bytes) = (self.chunk_bytes(), file.bytes());
        let damaged = |what: String| IoError::Content {
            name: path.display().to_string(),
            source: what.into(),
        };
        if file_bytes != bytes + SUM_BYTES {
            return Err(damaged(format!(
                "expected {} bytes, found {file_bytes}",
                bytes + SUM_BYTES
            )));
        }
        file.will_need(0..file_bytes);
        let ask = |ranges: &mut Vec<Range<u64>>| ranges.push(0..file_bytes);
        let is_intact = fetch(&file, ask, |fetched| {
            let (pixels, sum) = fetched.piece(0).split_at(bytes as usize);
            crc32c::crc32c(pixels).to_le_bytes() == *sum
        })?;
        if is_intact { Ok(file) } else { Err(damaged("the checksum differs".to_owned())) }
    }
}

impl MadeData for ChunkData {
    const KIND: &'static str = "chunks";
    /// No gaps are read: pixels between two rows may be in chunks without any requested pixel.
    const PROFILE: Profile = Profile { gap_bytes: 0, ..Profile::DEVICE };

    fn bytes(&self) -> u64 {
        self.axes.iter().product::<u64>() * self.pixel_bytes
    }

    fn fill(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        let size = self.pixel_bytes;
        let is_whole = |Request { offset, buffer }: &Request<'_>| {
            offset.is_multiple_of(size) && (buffer.len() as u64).is_multiple_of(size)
        };
        if requests.iter().all(is_whole) {
            return self.fill_whole(requests);
        }
        requests.iter_mut().try_for_each(|request| {
            fill_pixels(request, size, |first, buffer| {
                self.fill_whole(&mut [Request { offset: first * size, buffer }])
            })
        })
    }

    /// Files of a complete copy do not change in normal operation.
    fn check_unchanged(&self) -> Result<(), IoError> {
        let open: Vec<Opened> = self.open_chunks().values().cloned().collect();
        open.iter().try_for_each(|chunk| {
            let chunk = chunk.lock().unwrap_or_else(PoisonError::into_inner).clone();
            chunk.map_or(Ok(()), |chunk| chunk.check_unchanged())
        })
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        let mut run = Vec::new();
        self.add_runs(range.start / self.pixel_bytes, 1, &mut PlaneInChunks::default(), &mut run);
        run.first().is_none_or(|&ChunkRun { chunk, .. }| {
            let file = || FileStorage::open(&self.path(chunk));
            self.open_chunks().contains_key(&chunk)
                || file().is_ok_and(|file| file.is_resident(0..self.chunk_bytes()))
        })
    }
}

/// Copies the first bytes of a row of a chunk: a single cache line in most copies.
#[inline(always)]
fn copy_piece(to: &mut [u8], from: &[u8]) {
    let from = &from[..to.len()];
    match (<&mut [u8; 64]>::try_from(&mut *to), <&[u8; 64]>::try_from(from)) {
        (Ok(to), Ok(from)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes the files that it reads")]
mod tests {
    use super::*;
    use crate::{Array, AxisRange, Region, RunOptions, Statistic};
    use proptest::prelude::*;

    /// Distinct pixels, as an array and as chunks of a folder.
    struct ChunkedCube {
        folder: tempfile::TempDir,
        axes: Vec<u64>,
        chunk: Vec<u64>,
        pixels: Vec<f32>,
    }

    impl ChunkedCube {
        fn new(axes: &[u64], chunk: &[u64]) -> ChunkedCube {
            let count = axes.iter().product::<u64>();
            let pixels: Vec<f32> = (0..count).map(|n| (n as f32 * 0.7).sin() * 1e3).collect();
            let folder = tempfile::tempdir().unwrap();
            let cube = ChunkedCube { folder, axes: axes.to_vec(), chunk: chunk.to_vec(), pixels };
            let data = ChunkData::new(&cube.chunks());
            for number in 0..data.counts.iter().product() {
                let path = data.path(number);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                let mut bytes = cube.chunk_of(&data, number);
                bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
                std::fs::write(path, bytes).unwrap();
            }
            cube
        }

        fn chunks(&self) -> Chunks<'_> {
            Chunks::new(self.folder.path(), &self.axes, &self.chunk, PixelType::F32)
        }

        /// Returns the pixels of a chunk, computed one by one; NaN beyond the image.
        fn chunk_of(&self, data: &ChunkData, number: u64) -> Vec<u8> {
            let mut bytes = Vec::new();
            for inner in 0..self.chunk.iter().product() {
                let (mut number, mut inner, mut pixel, mut below) = (number, inner, 0, 1);
                let mut is_inside = true;
                for (axis, &length) in self.axes.iter().enumerate() {
                    let (count, size) = (data.counts[axis], self.chunk[axis]);
                    let at = number % count * size + inner % size;
                    (number, inner) = (number / count, inner / size);
                    is_inside &= at < length;
                    pixel += at * below;
                    below *= length;
                }
                let value = if is_inside { self.pixels[pixel as usize] } else { f32::NAN };
                bytes.extend(value.to_be_bytes());
            }
            bytes
        }

        fn images(&self) -> [crate::Image; 2] {
            let header = Header::new();
            let plain = Array::new(&self.pixels, &self.axes).to_file("plain", &header).unwrap();
            let chunks = self.chunks().to_file("chunks", &header).unwrap();
            [plain, chunks].map(|file| file.image(0).unwrap())
        }
    }

    fn shapes() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
        prop::collection::vec((1u64..20, 1u64..9), 2..5).prop_map(|axes| axes.into_iter().unzip())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
        #[test]
        fn results_have_the_bits_of_the_plain_image(
            (axes, chunk) in shapes(), ends in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 4),
        ) {
            let cube = ChunkedCube::new(&axes, &chunk);
            let [plain, chunks] = cube.images();
            let run = RunOptions::default();
            let mut section = plain.whole();
            for (axis, [a, b]) in ends.iter().enumerate().take(axes.len()) {
                let (a, b) = (a.index(axes[axis] as usize) as u64, b.index(axes[axis] as usize) as u64);
                section = section.with(axis, AxisRange::from(a.min(b)..a.max(b) + 1)).unwrap();
            }
            let read = |image: &crate::Image| image.read_vec::<f32>(&section, &run).unwrap().0;
            prop_assert_eq!(read(&plain), read(&chunks));
            let sum = |image: &crate::Image| image.total(&section, &run).unwrap().0.sum.value();
            prop_assert_eq!(sum(&plain).to_bits(), sum(&chunks).to_bits());
        }
    }

    #[test]
    fn spectra_have_the_bits_of_the_plain_image() {
        for (axes, chunk) in [([70, 60, 30], [16, 16, 30]), ([33, 40, 17], [16, 16, 5])] {
            let cube = ChunkedCube::new(&axes, &chunk);
            let [plain, chunks] = cube.images();
            for region in [
                Region::circle(17.3, 20.0, 14.5).unwrap(),
                Region::rectangle(0.0, 0.0, 32.0, 39.0, 0.0).unwrap(),
            ] {
                for statistic in [Statistic::SUM, Statistic::MEAN, Statistic::STD] {
                    let spectrum = |image: &crate::Image| {
                        image.spectrum(&region, statistic, &RunOptions::default()).unwrap().0
                    };
                    let bits =
                        |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
                    assert_eq!(bits(spectrum(&plain)), bits(spectrum(&chunks)));
                }
            }
        }
    }

    #[test]
    fn damaged_and_missing_chunks_are_errors_that_name_the_file() {
        let sum = |cube: &ChunkedCube| {
            let image = cube.chunks().to_file("chunks", &Header::new()).unwrap().image(0).unwrap();
            image.total(&image.whole(), &RunOptions::default())
        };
        let cube = ChunkedCube::new(&[20, 20, 4], &[16, 16, 4]);
        assert!(sum(&cube).is_ok());
        let path = cube.folder.path().join("0/1/0");
        let whole = std::fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[1000] ^= 1;
        for content in [&flipped[..], &whole[..whole.len() - 1], b""] {
            std::fs::write(&path, content).unwrap();
            let error = sum(&cube).unwrap_err().to_string();
            assert!(error.contains("0/1/0"), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(sum(&cube).unwrap_err().to_string().contains("0/1/0"));
    }

    #[test]
    fn more_chunks_than_stay_open_are_read_some_at_a_time() {
        let cube = ChunkedCube::new(&[40, 40], &[1, 1]);
        let [plain, chunks] = cube.images();
        let all = |image: &crate::Image| {
            image.read_vec::<f32>(&image.whole(), &RunOptions::default()).unwrap().0
        };
        assert_eq!(all(&plain), all(&chunks));
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let folder = Path::new("none");
        let vast: &[u64] = &[1 << 40, 1 << 40];
        for (axes, chunk) in
            [(&[4u64, 4][..], &[2u64][..]), (&[], &[]), (&[4, 4], &[0, 2]), (vast, &[1, 1])]
        {
            let chunks = Chunks::new(folder, axes, chunk, PixelType::F32);
            let error = chunks.to_file("chunks", &Header::new()).unwrap_err();
            assert!(matches!(error, Error::Refused { .. }), "{error}");
        }
    }
}
