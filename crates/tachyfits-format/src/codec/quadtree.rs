//! The bit planes of HCOMPRESS coefficients: each plane is a quadtree of four-bit codes, or plain if that is shorter.

use super::bits::{BitReader, BitWriter};
use super::codec_error::CodecError;
use super::room::{reserve, resize};
use super::wavelet::{Coefficient, Extent, Planes};

/// Huffman codes of the values 0 to 15, and their lengths in bits.
const CODES: [(u32, u32); 16] = [
    (0x3e, 6),
    (0x00, 3),
    (0x01, 3),
    (0x08, 4),
    (0x02, 3),
    (0x09, 4),
    (0x1a, 5),
    (0x1b, 5),
    (0x03, 3),
    (0x1c, 5),
    (0x0a, 4),
    (0x1d, 5),
    (0x0b, 4),
    (0x1e, 5),
    (0x3f, 6),
    (0x0c, 4),
];

/// Value and length of the code at the start of each six-bit prefix.
const DECODED: [(u8, u8); 64] = {
    let mut table = [(0, 0); 64];
    let mut value = 0;
    while value < 16 {
        let (code, bits) = CODES[value];
        let first = code << (6 - bits);
        let mut more = 0;
        while more < 1 << (6 - bits) {
            table[(first + more) as usize] = (value as u8, bits as u8);
            more += 1;
        }
        value += 1;
    }
    table
};

/// Form of a plane, its first four bits.
const PLAIN: u32 = 0;
const TREE: u32 = 15;

/// One of the four quadrants of the coefficients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quadrant {
    /// Index of its first coefficient.
    pub(super) start: usize,
    /// Its rows and columns.
    pub(super) extent: Extent,
    /// Index among the three numbers of planes.
    pub(super) planes: usize,
}

/// The quadrants in the order of the stream.
pub(super) fn quadrants(whole: Extent) -> [Quadrant; 4] {
    let half = whole.halved();
    let (rows, columns) = (whole.rows / 2, whole.columns / 2);
    let below = whole.columns * half.rows;
    let quadrant =
        |start, rows, columns, planes| Quadrant { start, extent: Extent { rows, columns }, planes };
    [
        quadrant(0, half.rows, half.columns, 0),
        quadrant(half.columns, half.rows, columns, 1),
        quadrant(below, rows, half.columns, 1),
        quadrant(below + half.columns, rows, columns, 2),
    ]
}

#[inline(always)]
fn code(bits: &mut BitReader<'_>) -> u8 {
    if bits.count < 6 {
        bits.refill();
    }
    let (value, length) = DECODED[(bits.buffer >> 58) as usize];
    bits.skip(u32::from(length));
    value
}

/// Reads the magnitudes of a quadrant into `planes.coefficients`, whose rows begin `stride` elements apart.
pub(super) fn read_quadrant<C: Coefficient>(
    bits: &mut BitReader<'_>,
    planes: &mut Planes<C>,
    stride: usize,
    quadrant: Quadrant,
    count: u32,
) -> Result<(), CodecError> {
    let Planes { coefficients, corners, codes: [codes, next], .. } = planes;
    let blocks = quadrant.extent.halved();
    let size = blocks.size();
    for corner in corners.iter_mut() {
        corner.clear();
        resize(corner, size)?;
    }
    resize(codes, size.max(1))?;
    resize(next, size.max(1))?;
    for plane in (0..count).rev() {
        let form = bits.take(4);
        match form {
            PLAIN => {
                for code in &mut codes[..size] {
                    *code = bits.take(4) as u8;
                }
            }
            TREE => read_tree(bits, codes, next, quadrant.extent),
            _ => {
                let expected = "a bit plane that begins with 0 or 15";
                return Err(CodecError::stream(bits.offset(), expected, form.to_string()));
            }
        }
        for (bit, corner) in [3, 2, 1, 0].into_iter().zip(corners.iter_mut()) {
            for (value, &code) in corner.iter_mut().zip(&*codes) {
                *value = *value | C::of(i64::from(code >> bit & 1)) << plane as usize;
            }
        }
        if bits.overrun() {
            return Err(CodecError::ended(bits.offset(), "more bit planes"));
        }
    }
    let columns = quadrant.extent.columns;
    for row in 0..quadrant.extent.rows {
        let [even, odd] =
            if row % 2 == 0 { [&corners[0], &corners[1]] } else { [&corners[2], &corners[3]] };
        let from = row / 2 * blocks.columns;
        let (even, odd) = (&even[from..from + blocks.columns], &odd[from..from + blocks.columns]);
        let to = &mut coefficients[quadrant.start + row * stride..][..columns];
        let (pairs, last) = to.as_chunks_mut::<2>();
        for ((pair, &even), &odd) in pairs.iter_mut().zip(even).zip(odd) {
            *pair = [even, odd];
        }
        if let [last] = last {
            *last = even[blocks.columns - 1];
        }
    }
    Ok(())
}

/// Reads the codes of a plane, from the root to the codes of 2 x 2 blocks.
fn read_tree(bits: &mut BitReader<'_>, codes: &mut Vec<u8>, next: &mut Vec<u8>, extent: Extent) {
    codes[0] = code(bits);
    for level in (1..extent.levels()).rev() {
        let grid = extent.at_level(level);
        let parents = grid.halved();
        for row in (0..grid.rows).rev() {
            let parents = &codes[row / 2 * parents.columns..][..parents.columns];
            let children = &mut next[row * grid.columns..][..grid.columns];
            let shift = if row % 2 == 0 { 2 } else { 0 };
            read_children(bits, parents, shift, children);
        }
        std::mem::swap(codes, next);
    }
}

/// Reads a row of codes: only children whose bit is set in their parent. The stream has codes from last to first.
#[inline(always)]
fn read_children(bits: &mut BitReader<'_>, parents: &[u8], shift: u32, children: &mut [u8]) {
    let (pairs, last) = children.as_chunks_mut::<2>();
    if let [last] = last {
        *last = if parents[pairs.len()] >> shift & 2 != 0 { code(bits) } else { 0 };
    }
    for (pair, parent) in pairs.iter_mut().zip(parents).rev() {
        let flags = parent >> shift & 3;
        if flags == 0 {
            *pair = [0, 0];
            continue;
        }
        let second = if flags & 1 != 0 { code(bits) } else { 0 };
        let first = if flags & 2 != 0 { code(bits) } else { 0 };
        *pair = [first, second];
    }
}

/// Writes the magnitudes of a quadrant.
pub(super) fn write_quadrant<C: Coefficient>(
    bits: &mut BitWriter<'_>,
    coefficients: &[C],
    stride: usize,
    quadrant: Quadrant,
    count: u32,
) -> Result<(), CodecError> {
    let extent = quadrant.extent;
    let (mut codes, mut grid) = (Vec::new(), Vec::new());
    for plane in (0..count).rev() {
        let blocks = extent.halved();
        grid.clear();
        resize(&mut grid, blocks.size().max(1))?;
        for row in 0..extent.rows {
            let values = &coefficients[quadrant.start + row * stride..][..extent.columns];
            for (column, value) in values.iter().enumerate() {
                let bit = (value.wide() >> plane & 1) as u8;
                let place = 3 - (row % 2 * 2 + column % 2);
                grid[row / 2 * blocks.columns + column / 2] |= bit << place;
            }
        }
        let plain_bits = 4 * blocks.size();
        codes.clear();
        tree_codes(&grid, extent, &mut codes)?;
        let tree_bits: usize = codes.iter().map(|&code| CODES[usize::from(code)].1 as usize).sum();
        if tree_bits >= plain_bits && plain_bits > 0 {
            bits.put(PLAIN, 4);
            grid.iter().for_each(|&code| bits.put(code.into(), 4));
            continue;
        }
        bits.put(TREE, 4);
        if codes.is_empty() {
            codes.push(0);
        }
        for &code in codes.iter().rev() {
            let (code, length) = CODES[usize::from(code)];
            bits.put(code, length);
        }
    }
    Ok(())
}

/// Collects the codes that are not 0, from those of 2 x 2 blocks to the root.
fn tree_codes(finest: &[u8], extent: Extent, codes: &mut Vec<u8>) -> Result<(), CodecError> {
    let non_zero =
        |grid: &[u8], codes: &mut Vec<u8>| codes.extend(grid.iter().filter(|&&code| code != 0));
    // Each level has a quarter of the blocks of the preceding level, and at least one.
    reserve(codes, finest.len() * 3 / 2 + 64)?;
    non_zero(finest, codes);
    let mut grid = Vec::new();
    reserve(&mut grid, finest.len())?;
    grid.extend_from_slice(finest);
    let mut size = extent.halved();
    for _ in 1..extent.levels() {
        let parents = size.halved();
        let mut above = Vec::new();
        resize(&mut above, parents.size())?;
        for row in 0..size.rows {
            for column in 0..size.columns {
                let is_set = u8::from(grid[row * size.columns + column] != 0);
                let place = 3 - (row % 2 * 2 + column % 2);
                above[row / 2 * parents.columns + column / 2] |= is_set << place;
            }
        }
        (grid, size) = (above, parents);
        non_zero(&grid, codes);
    }
    Ok(())
}
