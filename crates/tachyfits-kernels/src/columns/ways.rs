//! Positions of fields in rows, and strided runs of bytes to move.

use crate::isa::Stores;

/// Smallest field, in bytes, that is swapped row by row in vector code.
pub(crate) const LONG_FIELD: usize = 32;

/// Position of a column's fields in the bytes of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Offset of the first row's field, in bytes.
    pub offset: usize,
    /// Distance between rows, in bytes.
    pub stride: usize,
    /// Elements per field.
    pub elements: usize,
}

impl Fields {
    /// Returns the strides from the fields to a contiguous column of `bytes`, and the rows from the first field on;
    /// `None` without fields.
    pub(crate) fn gathered<'a>(
        &self,
        rows: &'a [u8],
        bytes: usize,
        size: usize,
    ) -> Option<(Ways, &'a [u8])> {
        let (count, run) = self.rows_in(bytes, size)?;
        let ways = Ways { from_stride: self.stride, to_stride: run, run, count };
        Some((ways, &rows[self.offset..]))
    }

    /// Returns the number of rows in a contiguous column of `bytes`, and the bytes per field; `None` without fields.
    pub(crate) fn rows_in(&self, bytes: usize, size: usize) -> Option<(usize, usize)> {
        let run = self.elements.checked_mul(size).expect("a field fits in memory");
        if bytes == 0 || run == 0 {
            assert_eq!(bytes, 0, "fields without bytes make no column");
            return None;
        }
        assert!(bytes.is_multiple_of(run), "a whole number of fields");
        assert!(self.stride >= run, "fields do not overlap");
        Some((bytes / run, run))
    }
}

/// Runs of bytes to move, each side with its own stride.
#[derive(Clone, Copy)]
pub(crate) struct Ways {
    pub(crate) from_stride: usize,
    pub(crate) to_stride: usize,
    pub(crate) run: usize,
    pub(crate) count: usize,
}

impl Ways {
    /// Merges runs that are contiguous on both sides into one run.
    pub(crate) fn joined(self) -> Ways {
        let Ways { from_stride, to_stride, run, count } = self;
        if from_stride != run || to_stride != run {
            return self;
        }
        let run = run * count;
        Ways { from_stride: run, to_stride: run, run, count: 1 }
    }

    /// Cuts both sides at the end of the last run.
    pub(crate) fn cut<'a>(self, from: &'a [u8], to: &'a mut [u8]) -> (&'a [u8], &'a mut [u8]) {
        let last = self.count - 1;
        let to_end = last * self.to_stride + self.run;
        (&from[..last * self.from_stride + self.run], &mut to[..to_end])
    }

    /// Moves and converts the first element of each run.
    #[inline(always)]
    pub(crate) fn each<const BYTES: usize>(
        self,
        from: &[u8],
        to: &mut [u8],
        make: impl Fn([u8; BYTES]) -> [u8; BYTES],
        stores: impl Stores,
    ) {
        let Ways { from_stride, to_stride, count, .. } = self;
        // Checked here so that the loop needs no checks.
        assert!(from_stride >= BYTES && to_stride >= BYTES, "elements do not overlap");
        // The last run may end with the bytes, without a full stride.
        let last = count - 1;
        let (from, last_from) = from.split_at(last * from_stride);
        let (to, last_to) = to.split_at_mut(last * to_stride);
        for (from, to) in from.chunks_exact(from_stride).zip(to.chunks_exact_mut(to_stride)) {
            put(from, to, &make, stores);
        }
        put(last_from, last_to, &make, stores);
    }
}

/// Moves the first element of `from`.
#[inline(always)]
fn put<const BYTES: usize>(
    from: &[u8],
    to: &mut [u8],
    make: &impl Fn([u8; BYTES]) -> [u8; BYTES],
    stores: impl Stores,
) {
    let (from, to) = (from.first_chunk(), to.first_chunk_mut());
    if let (Some(from), Some(to)) = (from, to) {
        stores.put(to, make(*from));
    }
}
