//! Transposing parts of arrays of pixels: what reordering the axes of a cube comes down to.
//!
//! A page of memory that is visited costs more than a cache line that is moved: with rows of 4 KiB, each line of 64 bytes
//! lies in another page. So a part is taken in blocks, whose rows are copied to a buffer in long runs, and written from
//! there so that each row of the result gets its run at once; in between, tiles as wide as a cache line on both sides are
//! turned. On 1024 x 1024 pixels of 4 bytes, tiles alone were up to ten times slower.

/// Bytes of a cache line.
const LINE: usize = 64;
/// Rows and columns of a block: runs of up to 1 KiB and 2 KiB, and a buffer of at most 256 KiB for pixels of 8 bytes.
const BLOCK_ROWS: usize = 256;
const BLOCK_COLUMNS: usize = 128;

/// `out[column][row] = bytes[row][column]` for `rows` by `columns` pixels of 1, 2, 4 or 8 bytes, in any byte order.
///
/// The part may lie in larger arrays: a row of `bytes` begins `in_pitch` pixels after the one before, one of `out`
/// `out_pitch` pixels. What lies between rows is not touched.
///
/// ```
/// use tachyfits_kernels::transpose;
/// let mut out = [0; 6];
/// transpose(&[1, 2, 3, 4, 5, 6], 2, 3, 1, 3, &mut out, 2);
/// assert_eq!(out, [1, 4, 2, 5, 3, 6]);
/// ```
///
/// # Panics
/// If pixels have another size, a pitch is smaller than a row, or an array does not hold its rows.
pub fn transpose(
    bytes: &[u8],
    rows: usize,
    columns: usize,
    pixel_bytes: usize,
    in_pitch: usize,
    out: &mut [u8],
    out_pitch: usize,
) {
    assert!(in_pitch >= columns && out_pitch >= rows, "rows do not overlap");
    let part = Part { rows, columns, in_pitch, out_pitch };
    match pixel_bytes {
        1 => part.transpose::<1, { LINE }>(bytes, out),
        2 => part.transpose::<2, { LINE / 2 }>(bytes, out),
        4 => part.transpose::<4, { LINE / 4 }>(bytes, out),
        8 => part.transpose::<8, { LINE / 8 }>(bytes, out),
        _ => panic!("pixels of 1, 2, 4 or 8 bytes, not {pixel_bytes}"),
    }
}

/// Where the pixels are, in pixels.
#[derive(Clone, Copy)]
struct Part {
    rows: usize,
    columns: usize,
    in_pitch: usize,
    out_pitch: usize,
}

impl Part {
    /// Block after block of pixels of `BYTES` bytes, in tiles of `SIDE` by `SIDE`.
    fn transpose<const BYTES: usize, const SIDE: usize>(self, bytes: &[u8], out: &mut [u8]) {
        let (pixels, _) = bytes.as_chunks::<BYTES>();
        let (out, _) = out.as_chunks_mut::<BYTES>();
        let pitch = self.columns.min(BLOCK_COLUMNS);
        let mut buffer = vec![[0; BYTES]; self.rows.min(BLOCK_ROWS) * pitch];
        for row in (0..self.rows).step_by(BLOCK_ROWS) {
            for column in (0..self.columns).step_by(BLOCK_COLUMNS) {
                let block = Part {
                    rows: BLOCK_ROWS.min(self.rows - row),
                    columns: BLOCK_COLUMNS.min(self.columns - column),
                    in_pitch: pitch,
                    out_pitch: self.out_pitch,
                };
                let from = &pixels[row * self.in_pitch + column..];
                for row in 0..block.rows {
                    buffer[row * pitch..][..block.columns]
                        .copy_from_slice(&from[row * self.in_pitch..][..block.columns]);
                }
                block.tiles::<BYTES, SIDE>(&buffer, &mut out[column * self.out_pitch + row..]);
            }
        }
    }

    /// Tile after tile along the rows of the result.
    fn tiles<const BYTES: usize, const SIDE: usize>(
        self,
        pixels: &[[u8; BYTES]],
        out: &mut [[u8; BYTES]],
    ) {
        for column in (0..self.columns).step_by(SIDE) {
            for row in (0..self.rows).step_by(SIDE) {
                let height = SIDE.min(self.rows - row);
                let width = SIDE.min(self.columns - column);
                let from = &pixels[row * self.in_pitch + column..];
                let to = &mut out[column * self.out_pitch + row..];
                if height == SIDE && width == SIDE {
                    self.whole_tile::<BYTES, SIDE>(from, to);
                } else {
                    self.partial_tile(from, height, width, to);
                }
            }
        }
    }

    #[inline(always)]
    fn whole_tile<const BYTES: usize, const SIDE: usize>(
        self,
        from: &[[u8; BYTES]],
        to: &mut [[u8; BYTES]],
    ) {
        let mut tile = [[[0; BYTES]; SIDE]; SIDE];
        for row in 0..SIDE {
            tile[row].copy_from_slice(&from[row * self.in_pitch..][..SIDE]);
        }
        for column in 0..SIDE {
            let line: [[u8; BYTES]; SIDE] = std::array::from_fn(|row| tile[row][column]);
            to[column * self.out_pitch..][..SIDE].copy_from_slice(&line);
        }
    }

    fn partial_tile<const BYTES: usize>(
        self,
        from: &[[u8; BYTES]],
        height: usize,
        width: usize,
        to: &mut [[u8; BYTES]],
    ) {
        for column in 0..width {
            for row in 0..height {
                to[column * self.out_pitch + row] = from[row * self.in_pitch + column];
            }
        }
    }
}
