//! Transposition of parts of arrays of pixels, for reordering the axes of a cube.
//!
//! Visiting a page of memory costs more than moving a cache line: with rows of 4 KiB, each line of 64 bytes is in
//! another page. So the pixels are processed in blocks: long runs of each row are copied to a buffer, tiles as wide as
//! a cache line on both sides are transposed, and each row of the result is written in one run. On 1024 x 1024 pixels
//! of 4 bytes, tiles alone were up to ten times slower.

/// Bytes of a cache line.
const LINE: usize = 64;
/// Rows and columns of a block: runs of up to 1 KiB and 2 KiB, and a buffer of at most 256 KiB for pixels of 8 bytes.
const BLOCK_ROWS: usize = 256;
const BLOCK_COLUMNS: usize = 128;

/// Transposes `rows` by `columns` pixels of 1, 2, 4 or 8 bytes, in any byte order: `out[column][row]` becomes
/// `bytes[row][column]`.
///
/// `row` returns the bytes of a row, which may continue after its pixels. It is called once per row, in order, so rows
/// need not be in one array. A row of `out` begins `out_pitch` pixels after the one before; the gap stays unchanged.
///
/// ```
/// use tachyfits_kernels::transpose;
/// let mut out = [0; 6];
/// transpose(|row| [&[1, 2, 3], &[4, 5, 6]][row], 2, 3, 1, &mut out, 2);
/// assert_eq!(out, [1, 4, 2, 5, 3, 6]);
/// ```
///
/// # Panics
/// If pixels have another size, the pitch is smaller than a row, or a row or `out` is too short.
pub fn transpose<'a>(
    row: impl FnMut(usize) -> &'a [u8],
    rows: usize,
    columns: usize,
    pixel_bytes: usize,
    out: &mut [u8],
    out_pitch: usize,
) {
    assert!(out_pitch >= rows, "rows do not overlap");
    let part = Extent { rows, columns, out_pitch };
    match pixel_bytes {
        1 => part.transpose::<1, { LINE }>(row, out),
        2 => part.transpose::<2, { LINE / 2 }>(row, out),
        4 => part.transpose::<4, { LINE / 4 }>(row, out),
        8 => part.transpose::<8, { LINE / 8 }>(row, out),
        _ => panic!("pixels of 1, 2, 4 or 8 bytes, not {pixel_bytes}"),
    }
}

/// Size of the transposition, and pitch of the rows of the result, in pixels.
#[derive(Clone, Copy)]
struct Extent {
    rows: usize,
    columns: usize,
    out_pitch: usize,
}

impl Extent {
    /// Transposes block after block of pixels of `BYTES` bytes, in tiles of `SIDE` by `SIDE`.
    fn transpose<'a, const BYTES: usize, const SIDE: usize>(
        self,
        mut row: impl FnMut(usize) -> &'a [u8],
        out: &mut [u8],
    ) {
        let (out, _) = out.as_chunks_mut::<BYTES>();
        let pitch = self.columns.min(BLOCK_COLUMNS);
        let mut buffer = vec![[0; BYTES]; self.rows.min(BLOCK_ROWS) * pitch];
        let mut lines: [&[[u8; BYTES]]; BLOCK_ROWS] = [&[]; BLOCK_ROWS];
        for first in (0..self.rows).step_by(BLOCK_ROWS) {
            let rows = BLOCK_ROWS.min(self.rows - first);
            for (number, line) in lines[..rows].iter_mut().enumerate() {
                *line = row(first + number).as_chunks().0;
            }
            for column in (0..self.columns).step_by(BLOCK_COLUMNS) {
                let columns = BLOCK_COLUMNS.min(self.columns - column);
                for (line, part) in lines[..rows].iter().zip(buffer.chunks_exact_mut(pitch)) {
                    part[..columns].copy_from_slice(&line[column..column + columns]);
                }
                let block = Extent { rows, columns, ..self };
                block.tiles::<BYTES, SIDE>(
                    &buffer,
                    pitch,
                    &mut out[column * self.out_pitch + first..],
                );
            }
        }
    }

    /// Transposes tile after tile along the rows of the result.
    fn tiles<const BYTES: usize, const SIDE: usize>(
        self,
        pixels: &[[u8; BYTES]],
        pitch: usize,
        out: &mut [[u8; BYTES]],
    ) {
        for column in (0..self.columns).step_by(SIDE) {
            for row in (0..self.rows).step_by(SIDE) {
                let height = SIDE.min(self.rows - row);
                let width = SIDE.min(self.columns - column);
                let from = &pixels[row * pitch + column..];
                let to = &mut out[column * self.out_pitch + row..];
                if height == SIDE && width == SIDE {
                    self.whole_tile::<BYTES, SIDE>(from, pitch, to);
                } else {
                    self.partial_tile(from, pitch, (height, width), to);
                }
            }
        }
    }

    #[inline(always)]
    fn whole_tile<const BYTES: usize, const SIDE: usize>(
        self,
        from: &[[u8; BYTES]],
        pitch: usize,
        to: &mut [[u8; BYTES]],
    ) {
        let mut tile = [[[0; BYTES]; SIDE]; SIDE];
        for row in 0..SIDE {
            tile[row].copy_from_slice(&from[row * pitch..][..SIDE]);
        }
        for column in 0..SIDE {
            let line: [[u8; BYTES]; SIDE] = std::array::from_fn(|row| tile[row][column]);
            to[column * self.out_pitch..][..SIDE].copy_from_slice(&line);
        }
    }

    fn partial_tile<const BYTES: usize>(
        self,
        from: &[[u8; BYTES]],
        pitch: usize,
        (height, width): (usize, usize),
        to: &mut [[u8; BYTES]],
    ) {
        for column in 0..width {
            for row in 0..height {
                to[column * self.out_pitch + row] = from[row * pitch + column];
            }
        }
    }
}
