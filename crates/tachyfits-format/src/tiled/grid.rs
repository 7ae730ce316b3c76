//! The tiles of an image: the box of pixels of each tile, and the tiles that overlap a box. All in FITS order, fastest
//! first, from 0.

/// Division of an array into tiles. Tile 0 is at the origin; the first axis is the fastest.
///
/// ```
/// use tachyfits_format::TileGrid;
/// let grid = TileGrid::new(vec![112, 100], vec![64, 64]);
/// assert_eq!(grid.count(), 4);
/// let corner = grid.tile(3);
/// assert_eq!((corner.first, corner.shape), (vec![64, 64], vec![48, 36]));
/// assert_eq!(grid.touching(&[70, 0], &[80, 65]).collect::<Vec<_>>(), [1, 3]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileGrid {
    axes: Vec<u64>,
    tile: Vec<u64>,
    counts: Vec<u64>,
}

/// The pixels of one tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileBox {
    /// First pixel on each axis.
    pub first: Vec<u64>,
    /// True shape: a tile at an edge contains only existing pixels.
    pub shape: Vec<u64>,
}

impl TileBox {
    /// Number of pixels.
    #[must_use]
    pub fn pixels(&self) -> u64 {
        self.shape.iter().product()
    }
}

impl TileGrid {
    /// Creates the grid of an array with these axes and tiles, which may be larger than the array.
    ///
    /// # Panics
    /// Panics if the numbers of axes differ, or a tile has an axis of 0.
    #[must_use]
    pub fn new(axes: Vec<u64>, tile: Vec<u64>) -> Self {
        assert!(axes.len() == tile.len() && !tile.contains(&0), "tiles of {tile:?} in {axes:?}");
        let counts = axes.iter().zip(&tile).map(|(axis, tile)| axis.div_ceil(*tile)).collect();
        TileGrid { axes, tile, counts }
    }

    /// Sizes of the array's axes.
    #[must_use]
    pub fn axes(&self) -> &[u64] {
        &self.axes
    }

    /// Shape of a tile that is not at an edge.
    #[must_use]
    pub fn tile_shape(&self) -> &[u64] {
        &self.tile
    }

    /// Number of tiles along each axis.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Number of tiles; 0 for an array without axes or pixels.
    #[must_use]
    pub fn count(&self) -> u64 {
        if self.counts.is_empty() {
            return 0;
        }
        self.counts.iter().product()
    }

    /// Maximum number of pixels per tile.
    #[must_use]
    pub fn most_pixels(&self) -> u64 {
        let sizes = self.axes.iter().zip(&self.tile).map(|(axis, tile)| axis.min(tile));
        if self.axes.is_empty() { 0 } else { sizes.product() }
    }

    /// Returns the pixels of a tile.
    ///
    /// # Panics
    /// Panics if the tile does not exist.
    #[must_use]
    pub fn tile(&self, index: u64) -> TileBox {
        assert!(index < self.count(), "tile {index} of {}", self.count());
        let mut rest = index;
        let mut result = TileBox::default();
        for ((&axis, &tile), &count) in self.axes.iter().zip(&self.tile).zip(&self.counts) {
            let first = rest % count * tile;
            rest /= count;
            result.first.push(first);
            result.shape.push(tile.min(axis - first));
        }
        result
    }

    /// Returns the indices of the tiles that overlap the box from `first` to `end` (exclusive), in increasing order.
    ///
    /// # Panics
    /// Panics if the box differs from the array in its number of axes, or extends beyond it.
    pub fn touching(&self, first: &[u64], end: &[u64]) -> impl Iterator<Item = u64> + use<> {
        assert!(first.len() == self.axes.len() && end.len() == self.axes.len());
        assert!(
            end.iter().zip(&self.axes).all(|(end, axis)| end <= axis),
            "{end:?} leaves the array"
        );
        let is_empty = first.is_empty() || first.iter().zip(end).any(|(first, end)| first >= end);
        let mut step = 1;
        let mut total = u64::from(!is_empty);
        // At most 999 axes.
        let mut ranges = Vec::with_capacity(first.len());
        for (axis, (&first, &end)) in
            first.iter().zip(end).enumerate().take(if is_empty { 0 } else { usize::MAX })
        {
            let tile = self.tile[axis];
            let (from, to) = (first / tile, (end - 1) / tile + 1);
            ranges.push((from, to - from, step));
            total *= to - from;
            step *= self.counts[axis];
        }
        (0..total).map(move |mut number| {
            ranges.iter().fold(0, |index, &(from, count, step)| {
                let at = from + number % count;
                number /= count;
                index + at * step
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::TileGrid;
    use proptest::prelude::*;

    fn any_grid() -> impl Strategy<Value = (TileGrid, Vec<(u64, u64)>)> {
        prop::collection::vec((1..9u64, 1..12u64, 0..9u64, 0..9u64), 1..4).prop_map(|axes| {
            let sizes = axes.iter().map(|axis| axis.0).collect();
            let tiles = axes.iter().map(|axis| axis.1).collect();
            let part = axes.iter().map(|&(size, _, a, b)| (a.min(b).min(size), a.max(b).min(size)));
            let part = part.collect();
            (TileGrid::new(sizes, tiles), part)
        })
    }

    proptest! {
        #[test]
        fn tiles_cover_each_pixel_once_and_a_box_touches_those_that_share_pixels((grid, part) in any_grid()) {
            let pixels: u64 = (0..grid.count()).map(|index| grid.tile(index).pixels()).sum();
            prop_assert_eq!(pixels, grid.axes().iter().product::<u64>());
            let (first, end): (Vec<u64>, Vec<u64>) = part.iter().copied().unzip();
            let shares = |index: &u64| {
                let tile = grid.tile(*index);
                let axes = tile.first.iter().zip(&tile.shape).zip(&part);
                part.iter().all(|(first, end)| first < end)
                    && axes.into_iter().all(|((first, size), (from, to))| first < to && from < &(first + size))
            };
            let expected: Vec<u64> = (0..grid.count()).filter(shares).collect();
            prop_assert_eq!(grid.touching(&first, &end).collect::<Vec<_>>(), expected);
            prop_assert!((0..grid.count()).all(|index| grid.tile(index).pixels() <= grid.most_pixels()));
        }
    }

    #[test]
    fn an_array_without_pixels_has_no_tiles() {
        assert_eq!(TileGrid::new(vec![], vec![]).count(), 0);
        assert_eq!(TileGrid::new(vec![5, 0], vec![5, 1]).count(), 0);
        assert_eq!(TileGrid::new(vec![], vec![]).touching(&[], &[]).count(), 0);
    }
}
