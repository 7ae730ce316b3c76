//! The numbers that a box is smoothed from, as lines and rows.

/// Numbers one after the other, in pieces of the same length.
pub(super) struct Pieces<'a, T> {
    pub(super) pieces: Vec<&'a [T]>,
    pub(super) length: usize,
}

impl<'a, T> Pieces<'a, T> {
    /// Numbers that lie within one piece.
    pub(super) fn part(&self, first: usize, count: usize) -> &'a [T] {
        let (piece, at) = (first / self.length, first % self.length);
        &self.pieces[piece][at..at + count]
    }
}

/// The rows of a part of the input: `length` rows of `inner` pixels, the first being row `begin` of the image.
pub(super) struct Lines<'a, T> {
    pub(super) values: &'a Pieces<'a, T>,
    /// Where the part begins.
    pub(super) part: usize,
    pub(super) begin: u64,
    pub(super) inner: usize,
    pub(super) length: usize,
}

impl<'a, T> Lines<'a, T> {
    pub(super) fn row(&self, index: u64) -> &'a [T] {
        let row = (index - self.begin) as usize;
        debug_assert!(row < self.length, "the box of the input has every row that is needed");
        self.values.part(self.part + row * self.inner, self.inner)
    }
}
