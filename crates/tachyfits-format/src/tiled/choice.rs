//! Default choices of a writer: shape of tiles, quantisation step, divisor of HCOMPRESS. They follow fpack if it makes
//! the same choice, because users compare.

use super::quantised::Dither;

/// Minimum pixels of a row that becomes a tile.
const LONG_ROW: u64 = 2048;
/// Maximum pixels of a row that becomes one tile.
const LONGEST_ROW: u64 = 1 << 18;
/// The side of square tiles.
const SIDE: u64 = 256;

/// Candidate rows of HCOMPRESS tiles, in the order in which CFITSIO tries them; the last tile must have 4 rows or more.
const HCOMPRESS_ROWS: [u64; 9] = [16, 24, 20, 30, 28, 26, 22, 18, 14];
/// Rows that CFITSIO uses if no candidate fits.
const OTHER_HCOMPRESS_ROWS: u64 = 17;
/// Maximum rows of an image that is one HCOMPRESS tile.
const FEW_ROWS: u64 = 30;
/// Minimum pixels of an HCOMPRESS tile along each axis.
const LEAST_HCOMPRESS_SIDE: u64 = 4;

/// Chooses the shape of tiles for an image: long rows, or squares of a plane if rows are short. A cube has tiles of one
/// plane, so that a plane, a region and a spectrum each need few of them.
///
/// ```
/// use tachyfits_format::tile_shape;
/// assert_eq!(tile_shape(&[4096, 4096, 10]), [4096, 1, 1]);
/// assert_eq!(tile_shape(&[500, 400]), [256, 256]);
/// assert_eq!(tile_shape(&[100, 2000]), [100, 655]);
/// assert_eq!(tile_shape(&[1000, 3]), [1000, 3]);
/// ```
#[must_use]
pub fn tile_shape(axes: &[u64]) -> Vec<u64> {
    let mut tile = vec![1; axes.len()];
    let Some(&columns) = axes.first() else { return tile };
    match axes.get(1) {
        Some(&rows) if columns < LONG_ROW => {
            // A few short rows are one tile.
            tile[0] = columns.clamp(1, if rows < LONG_ROW / SIDE { LONG_ROW } else { SIDE });
            tile[1] = rows.clamp(1, SIDE * SIDE / tile[0]);
        }
        _ => tile[0] = if columns > LONGEST_ROW { SIDE * SIDE } else { columns.max(1) },
    }
    tile
}

/// Chooses the shape of HCOMPRESS tiles like CFITSIO; `None` for an image that is too narrow, or has one axis.
///
/// ```
/// use tachyfits_format::hcompress_tile_shape;
/// assert_eq!(hcompress_tile_shape(&[100, 37, 9]), Some(vec![100, 16, 1]));
/// assert_eq!(hcompress_tile_shape(&[100, 30]), Some(vec![100, 30]));
/// assert_eq!(hcompress_tile_shape(&[3, 100]), None);
/// ```
#[must_use]
pub fn hcompress_tile_shape(axes: &[u64]) -> Option<Vec<u64>> {
    let (&columns, &rows) = axes.first().zip(axes.get(1))?;
    if columns < LEAST_HCOMPRESS_SIDE || rows < LEAST_HCOMPRESS_SIDE {
        return None;
    }
    let fits = |tile: &u64| rows % tile == 0 || rows % tile >= LEAST_HCOMPRESS_SIDE;
    let several = HCOMPRESS_ROWS.into_iter().find(fits).unwrap_or(OTHER_HCOMPRESS_ROWS);
    let mut tile = vec![1; axes.len()];
    (tile[0], tile[1]) = (columns, if rows <= FEW_ROWS { rows } else { several });
    Some(tile)
}

/// Whether HCOMPRESS supports tiles of this shape: every tile, also at an edge, needs 4 or more pixels along two axes.
#[must_use]
pub fn suits_hcompress(axes: &[u64], tile: &[u64]) -> bool {
    let side = |(&axis, &tile): (&u64, &u64)| match axis % tile {
        0 => tile.min(axis),
        rest => rest.min(tile),
    };
    let long = axes.iter().zip(tile).filter(|(axis, tile)| **axis.min(tile) > 1);
    let sides: Vec<u64> = long.map(side).collect();
    sides.len() == 2 && sides.iter().all(|&side| side >= LEAST_HCOMPRESS_SIDE)
}

/// Returns the divisor of HCOMPRESS for a tile: FZHSCALE times its noise, or the magnitude of a negative FZHSCALE.
#[must_use]
pub fn hcompress_divisor(scale: f64, noise: f64) -> i32 {
    let divisor = if scale > 0.0 { scale * noise } else { -scale };
    (divisor + 0.5) as i32
}

/// Step of quantisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QuantisationLevel {
    /// A fraction of each tile's noise: 4 means a step of a quarter of it.
    OfNoise(f64),
    /// A step of this size.
    Step(f64),
}

impl QuantisationLevel {
    /// Returns the level that fpack chooses for a dither.
    #[must_use]
    pub const fn of_dither(dither: Dither) -> QuantisationLevel {
        QuantisationLevel::OfNoise(match dither {
            Dither::None => 16.0,
            _ => 4.0,
        })
    }

    /// Returns the level of FZQVALUE, or `fpack -q`: a negative number is a step, 0 means no quantisation.
    #[must_use]
    pub fn of_number(number: f64) -> Option<QuantisationLevel> {
        match number {
            _ if number > 0.0 => Some(QuantisationLevel::OfNoise(number)),
            _ if number < 0.0 => Some(QuantisationLevel::Step(-number)),
            _ => None,
        }
    }

    /// Returns the number that represents the level in FZQVALUE.
    #[must_use]
    pub const fn number(self) -> f64 {
        match self {
            QuantisationLevel::OfNoise(part) => part,
            QuantisationLevel::Step(step) => -step,
        }
    }
}

/// Statistics of a tile that determine its quantisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileRange {
    /// Number of pixels.
    pub pixels: usize,
    /// Number of pixels that are not NaN.
    pub defined: usize,
    /// Smallest of them.
    pub least: f64,
    /// Largest of them.
    pub greatest: f64,
    /// Whether some are infinite.
    pub has_infinite: bool,
    /// Standard deviation of the noise.
    pub noise: f64,
}

/// Number of integers reserved for NaN, 0.0 and future use.
const RESERVED: f64 = 10.0;
/// Largest 32-bit integer.
const GREATEST: f64 = 2_147_483_647.0;

impl TileRange {
    /// Returns ZSCALE and ZZERO of the tile; `None` if its pixels must be stored unquantised: without noise, with
    /// infinite pixels, or with a range beyond 32-bit integers.
    ///
    /// ```
    /// use tachyfits_format::{Dither, QuantisationLevel, TileRange};
    /// let range = TileRange {
    ///     pixels: 100, defined: 100, least: -10.3, greatest: 12.0, has_infinite: false, noise: 2.0,
    /// };
    /// let level = QuantisationLevel::OfNoise(4.0);
    /// assert_eq!(range.quantisation(level, Dither::Subtractive), Some((0.5, -10.0)));
    /// ```
    #[must_use]
    pub fn quantisation(&self, level: QuantisationLevel, dither: Dither) -> Option<(f64, f64)> {
        if self.pixels < 2 || self.has_infinite {
            return None;
        }
        // In a tile without defined pixels all integers are blank.
        let (least, greatest, noise) = match self.defined {
            0 => (0.0, 1.0, 1.0),
            _ => (self.least, self.greatest, self.noise),
        };
        let scale = match level {
            QuantisationLevel::OfNoise(parts) => noise / parts,
            QuantisationLevel::Step(step) => step,
        };
        let steps = (greatest - least) / scale;
        // Also rejects NaN, the result for a scale of 0.
        if !(scale > 0.0 && scale.is_finite() && steps <= 2.0 * GREATEST - RESERVED) {
            return None;
        }
        let keeps_integers =
            self.defined < self.pixels || dither == Dither::SubtractiveKeepingZeros;
        let zero = if keeps_integers {
            // All integers are just above the reserved ones.
            least + scale * (GREATEST - RESERVED)
        } else if steps < GREATEST - RESERVED {
            // A multiple of the scale, so that compressing the tile again gives the same integers.
            (least / scale + 0.5).trunc() * scale
        } else {
            (least + greatest) / 2.0
        };
        zero.is_finite().then_some((scale, zero))
    }
}

/// Returns ZDITHER0 for data with this checksum: the same for the same data.
#[must_use]
pub const fn dither_seed(sum: u32) -> u64 {
    sum as u64 % 10_000 + 1
}
