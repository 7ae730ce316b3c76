//! Input of a box as lines and rows.

/// Contiguous numbers, split into pieces of equal length.
pub(super) struct InputPieces<'a, T> {
    pub(super) pieces: Vec<&'a [T]>,
    pub(super) length: usize,
}

impl<'a, T> InputPieces<'a, T> {
    /// Returns numbers that lie within one piece.
    pub(super) fn part(&self, first: usize, count: usize) -> &'a [T] {
        let (piece, at) = (first / self.length, first % self.length);
        &self.pieces[piece][at..at + count]
    }
}

/// Rows of a part of the input: `length` rows of `inner` pixels; the first is row `begin` of the image.
pub(super) struct InputRows<'a, T> {
    pub(super) values: &'a InputPieces<'a, T>,
    /// Index of the part's first number.
    pub(super) part: usize,
    pub(super) begin: u64,
    pub(super) inner: usize,
    pub(super) length: usize,
}

impl<'a, T> InputRows<'a, T> {
    pub(super) fn row(&self, index: u64) -> &'a [T] {
        let row = (index - self.begin) as usize;
        debug_assert!(row < self.length, "the box of the input has every row that is needed");
        self.rows(index, 1)
    }

    /// Returns contiguous rows from `index` on.
    pub(super) fn rows(&self, index: u64, count: usize) -> &'a [T] {
        self.values.part(self.place(index), count * self.inner)
    }

    /// Returns the number of contiguous rows from `index` on.
    pub(super) fn together(&self, index: u64) -> usize {
        let row = (index - self.begin) as usize;
        let in_piece = self.values.length - self.place(index) % self.values.length;
        (in_piece / self.inner).min(self.length - row)
    }

    fn place(&self, index: u64) -> usize {
        self.part + (index - self.begin) as usize * self.inner
    }
}
